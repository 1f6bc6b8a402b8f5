# Do 90% bands of f cover f, and how close is its mean? Default calls of bark()
# and dbarts::bart() on simulated data:
#
#   Rscript tools/bench/bands.R            20 data sets of each kind
#   --functions=a,b     of those below
#   --rows=100,200,1000 training rows
#   --methods=bark,dbarts
#   --repeats=20        the first ones of 20
#   --results=bands     folder for finished fits, so that a stopped run can
#                       continue. Delete the files of a method when its code
#                       changes
#
# Prints markdown. cover: share of 200 new points at which f is between the 5%
# and 95% posterior quantiles; RMSE: of the posterior mean, by the standard
# deviation of f; CPU: seconds of the processor for the call and its
# predictions. Numbers in parentheses are standard errors over data sets.
#
# The functions: Friedman's three, and three that no choice was made on, all
# with irrelevant predictors: the borehole function (Harper and Gupta, 1983),
# the OTL circuit (Ben-Ari and Steinberg, 2007) and the 6-dimensional one of
# Gramacy and Lee (2009). Their noise has a fifth of the standard deviation of f.

library(kernelbayes)

script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1])
tools <- dirname(dirname(normalizePath(gsub("~+~", " ", script, fixed = TRUE))))
source(file.path(tools, "bench", "cells.R"))

refuse_unknown(
  character(), c("functions", "rows", "methods", "repeats", "results")
)

# ---- functions --------------------------------------------------------------

between <- function(u, lower, upper) lower + (upper - lower) * u

borehole <- function(u) {
  rw <- between(u[, 1], 0.05, 0.15)
  r <- between(u[, 2], 100, 50000)
  tu <- between(u[, 3], 63070, 115600)
  hu <- between(u[, 4], 990, 1110)
  tl <- between(u[, 5], 63.1, 116)
  hl <- between(u[, 6], 700, 820)
  length <- between(u[, 7], 1120, 1680)
  kw <- between(u[, 8], 9855, 12045)
  ratio <- log(r / rw)
  2 * pi * tu * (hu - hl) /
    (ratio * (1 + 2 * length * tu / (ratio * rw^2 * kw) + tu / tl))
}

otl_circuit <- function(u) {
  rb1 <- between(u[, 1], 50, 150)
  rb2 <- between(u[, 2], 25, 70)
  rf <- between(u[, 3], 0.5, 3)
  rc1 <- between(u[, 4], 1.2, 2.5)
  rc2 <- between(u[, 5], 0.25, 1.2)
  beta <- between(u[, 6], 50, 300)
  vb1 <- 12 * rb2 / (rb1 + rb2)
  all <- beta * (rc2 + 9) + rf
  (vb1 + 0.74) * beta * (rc2 + 9) / all + 11.35 * rf / all +
    0.74 * rf * beta * (rc2 + 9) / (all * rc1)
}

gramacy_lee <- function(u) {
  exp(sin((0.9 * (u[, 1] + 0.48))^10)) + u[, 2] * u[, 3] + u[, 4]
}

# Uniform predictors on the unit cube, two more than the function has.
from_cube <- function(f, p) {
  function(n, seed) {
    set.seed(seed)
    u <- matrix(runif(n * (p + 2)), n)
    colnames(u) <- paste0("x", seq_len(p + 2))
    value <- f(u)
    spread <- sd(f(matrix(runif(1e4 * p), 1e4)))
    data.frame(u, y = value + spread / 5 * rnorm(n), f = value)
  }
}

friedman <- function(which) {
  function(n, seed) sim_friedman(n, which = which, seed = seed, truth = TRUE)
}

functions <- list(
  friedman1 = friedman(1), friedman2 = friedman(2), friedman3 = friedman(3),
  borehole = from_cube(borehole, 8), otl = from_cube(otl_circuit, 6),
  gramacy_lee = from_cube(gramacy_lee, 4)
)

# ---- methods: mean and quantiles of f at new points -------------------------

by_bark <- function(x, y, new, seed) {
  fit <- bark(x, y, seed = seed, progress = FALSE)
  predict(fit, new, interval = "credible", level = 0.9)
}

by_dbarts <- function(x, y, new, seed) {
  set.seed(seed)
  fit <- dbarts::bart(x, y, new, verbose = FALSE)
  q <- apply(fit$yhat.test, 2, quantile, c(0.05, 0.95))
  cbind(fit = fit$yhat.test.mean, lwr = q[1, ], upr = q[2, ])
}

methods <- list(bark = by_bark, dbarts = by_dbarts)

# ---- one fit ----------------------------------------------------------------

# cell$set numbers the data sets, cell$fold the rows.
fit_cell <- function(cell, control) {
  n <- cell$fold
  data <- functions[[cell$data]](n + 200, 1000 * cell$set + n)
  p <- ncol(data) - 2
  x <- data[seq_len(n), seq_len(p)]
  new <- data[-seq_len(n), seq_len(p)]
  f <- data$f[-seq_len(n)]
  started <- cpu_seconds()
  bands <- suppressWarnings(suppressMessages(
    methods[[cell$method]](x, data$y[seq_len(n)], new, cell$set)
  ))
  data.frame(
    cover = mean(f >= bands[, "lwr"] & f <= bands[, "upr"]),
    rmse = sqrt(mean((bands[, "fit"] - f)^2)) / stats::sd(f),
    cpu = cpu_seconds() - started
  )
}

# ---- all of them ------------------------------------------------------------

table_of <- function(rows) {
  kinds <- unique(rows[c("data", "fold", "method")])
  cells <- lapply(seq_len(nrow(kinds)), function(i) {
    here <- merge(rows, kinds[i, ])
    data.frame(
      f = kinds$data[[i]], rows = kinds$fold[[i]], method = kinds$method[[i]],
      cover = with_error(here$cover, 3), RMSE = with_error(here$rmse, 3),
      CPU = mean(here$cpu), sets = nrow(here)
    )
  })
  do.call(rbind, cells)
}

repeats <- as.integer(option("repeats", 20))
cells <- expand.grid(
  set = seq_len(repeats), method = several("methods", names(methods)),
  fold = as.integer(several("rows", c("100", "200", "1000"))),
  data = several("functions", names(functions)), stringsAsFactors = FALSE
)
rows <- run_cells_here(cells, option("results", "bands"))
markdown(table_of(rows))
means <- stats::aggregate(cover ~ method, rows, mean)
cat("Mean cover: ", paste(means$method, format(means$cover, digits = 3),
  collapse = ", "
), "\n", sep = "")
