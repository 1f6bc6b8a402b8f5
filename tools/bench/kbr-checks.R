# How often kbr() takes observations for far, and ends of the states for edges.
#
#   Rscript tools/bench/kbr-checks.R --times=1000
#   --times=1000      training sets of each kind
#
# Far: new observations from the distribution of the training set that are farther
# than 1 in 1000 would be, per 1000. Of series the new rows follow the training
# rows. Edges: ends at which one is found, percent, and the share of the prior
# beyond them, percent, where there is none.

library(kernelbayes)

script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1])
script <- normalizePath(gsub("~+~", " ", script, fixed = TRUE))
source(file.path(dirname(dirname(script)), "arguments.R"))
source(file.path(dirname(script), "report.R"))
refuse_unknown(options = "times")
times <- as.integer(option("times", "1000"))
internal <- function(name) get(name, asNamespace("kernelbayes"))

autoregression <- function(phi) {
  function(n) {
    steps <- stats::rnorm(n + 1000) * sqrt(1 - phi^2)
    matrix(stats::filter(steps, phi, "recursive")[-seq_len(1000)])
  }
}

observations <- list(
  normal = function(n) matrix(stats::rnorm(n)),
  "t, 3 df" = function(n) matrix(stats::rt(n, 3)),
  lognormal = function(n) matrix(stats::rlnorm(n)),
  "normal, 4 columns" = function(n) matrix(stats::rnorm(4 * n), n),
  "series, AR(.5)" = autoregression(0.5),
  "series, AR(.95)" = autoregression(0.95),
  "series, AR(.99)" = autoregression(0.99)
)

# Of series the nearest row is looked for in other fifths.
far_rate <- function(kind, n, new = 200) {
  series <- startsWith(kind, "series")
  block <- if (series) ceiling(seq_len(n) / n * 5) else seq_len(n)
  mean(replicate(times, {
    y <- observations[[kind]](n + new)
    far <- internal("learn_far")(y[seq_len(n), , drop = FALSE], block)
    mean(internal("find_far")(far, y[-seq_len(n), , drop = FALSE])$far)
  }))
}

# Draws, distribution functions, and whether the density has an edge at its lower end.
states <- list(
  uniform = list(draw = stats::runif, cdf = stats::punif, edge = TRUE),
  exponential = list(draw = stats::rexp, cdf = stats::pexp, edge = TRUE),
  normal = list(draw = stats::rnorm, cdf = stats::pnorm, edge = FALSE),
  triangular = list(
    draw = function(n) sqrt(stats::runif(n)),
    cdf = function(q) pmin(pmax(q, 0), 1)^2, edge = FALSE
  ),
  "Beta(2, 2)" = list(
    draw = function(n) stats::rbeta(n, 2, 2),
    cdf = function(q) stats::pbeta(q, 2, 2), edge = FALSE
  ),
  "Beta(1.5, 1.5)" = list(
    draw = function(n) stats::rbeta(n, 1.5, 1.5),
    cdf = function(q) stats::pbeta(q, 1.5, 1.5), edge = FALSE
  )
)

# The bound of the lower end, -Inf if none is found.
lower_bound <- function(x) {
  internal("found_support")(matrix(x))[1, 1]
}

edge_row <- function(kind, n) {
  of <- states[[kind]]
  bounds <- replicate(times, lower_bound(of$draw(n)))
  found <- is.finite(bounds)
  data.frame(
    states = kind, n = n, found = 100 * mean(found),
    beyond = if (!of$edge && any(found)) {
      100 * mean(of$cdf(bounds[found]))
    } else {
      NA
    }
  )
}

set.seed(1)
far <- expand.grid(
  observations = names(observations), n = c(60, 100, 300, 1000),
  stringsAsFactors = FALSE
)
far$far <- 1000 * mapply(far_rate, far$observations, far$n)
markdown(far)
edges <- expand.grid(
  states = names(states), n = c(100, 200, 400, 500, 2000),
  stringsAsFactors = FALSE
)
markdown(do.call(rbind, Map(edge_row, edges$states, edges$n)))
