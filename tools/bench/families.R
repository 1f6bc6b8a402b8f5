# What does an effective draw of f cost in each family of bark(), beside the
# gaussian model of the same size? Default calls.
#
#   Rscript tools/bench/families.R         200 rows, 3 seeds of each family
#   --rows=200          numbers of rows, e.g. 200,800
#   --families=gaussian,sigma,probit,logit,multinomial,multinomial_logit,ordered,
#              poisson,negbinomial,trials,weibull,lognormal
#                       `sigma`: gaussian with sigma = ~ .
#   --repeats=3         seeds of data and sampler
#   --results=families  folder for finished fits, so that a stopped run can
#                       continue. Delete the files of a family when its code
#                       changes
#
# Needs posterior and survival. Data: eight uniform inputs, of which five matter;
# f is Friedman's first function with mean 0 and standard deviation 1 over its
# distribution. The noise of numbers and of logarithms of times has the scale 0.5
# (0.2 to 1.2 where it is modelled); 25 to 30% of times are censored; probabilities
# of two classes are logistic in 2 f; trials are 10 per row; three ordered classes
# are equally frequent; the fields of three others are 2 f, 2 f of the inputs in
# reverse, and 0.
#
# Prints markdown; medians over seeds. ESS: effective draws (bulk) of f at 20
# rows fixed by a seed, the worst and the median; with several classes those of
# the fields minus their mean, at each row for each class. CPU: seconds of the
# processor of the fit. "per draw": of CPU by effective draws, the multiple of the
# gaussian model's.

library(kernelbayes)

script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1])
tools <- dirname(dirname(normalizePath(gsub("~+~", " ", script, fixed = TRUE))))
source(file.path(tools, "bench", "cells.R"))

refuse_unknown(character(), c("rows", "families", "repeats", "results"))

n_watched <- 20

# ---- data -------------------------------------------------------------------

f_of <- function(x) {
  f <- 10 * sin(pi * x[, 1] * x[, 2]) + 20 * (x[, 3] - 0.5)^2 + 10 * x[, 4] +
    5 * x[, 5]
  (f - 14.4) / 4.9
}

gumbel <- function(n) log(rexp(n))

# Columns of the response, given f and the inputs
times <- function(draw) {
  function(f, x) {
    end <- exp(f + 0.5 * draw(length(f)))
    limit <- rexp(length(f), 0.25)
    data.frame(
      time = pmin(end, limit), status = as.numeric(end <= limit)
    )
  }
}

classes <- function(f, x) {
  z <- cbind(2 * f, 2 * f_of(x[, 8:1]), 0) - gumbel(3 * length(f))
  data.frame(y = factor(max.col(z)))
}

two <- function(f, x) {
  data.frame(y = factor(ifelse(runif(length(f)) < plogis(2 * f), "b", "a")))
}

number <- function(sd_of) {
  function(f, x) data.frame(y = f + 0.5 * sd_of(x) * rnorm(length(f)))
}

of_y <- function(response, ...) {
  list(response = response, formula = y ~ ., more = list(...))
}

of_times <- function(draw, family) {
  list(
    response = times(draw), formula = survival::Surv(time, status) ~ .,
    more = list(family = family)
  )
}

families <- list(
  gaussian = of_y(number(function(x) 1)),
  sigma = of_y(number(function(x) exp(1.8 * (x[, 1] - 0.5))), sigma = ~.),
  probit = of_y(two, family = "probit"), logit = of_y(two, family = "logit"),
  multinomial = of_y(classes, family = "multinomial"),
  multinomial_logit = of_y(classes, family = "multinomial_logit"),
  ordered = of_y(function(f, x) {
    data.frame(y = cut(2 * f + rnorm(length(f)), c(-Inf, -1, 1, Inf),
      ordered_result = TRUE
    ))
  }),
  poisson = of_y(function(f, x) {
    data.frame(y = rpois(length(f), exp(1 + f)))
  }, family = "poisson"),
  negbinomial = of_y(function(f, x) {
    data.frame(y = rnbinom(length(f), mu = exp(1 + f), size = 4))
  }, family = "negbinomial"),
  trials = list(
    response = function(f, x) {
      yes <- rbinom(length(f), 10, plogis(f))
      data.frame(yes = yes, no = 10 - yes)
    }, formula = cbind(yes, no) ~ ., more = list(family = binomial())
  ),
  weibull = of_times(gumbel, "weibull"),
  lognormal = of_times(rnorm, "lognormal")
)

# ---- one fit ----------------------------------------------------------------

# Draws of f, or of fields minus their mean, one column for each
draws_at <- function(fit, rows) {
  draws <- predict(fit, rows, type = "draws")
  if (length(dim(draws)) == 3) {
    draws <- sweep(draws, 1:2, apply(draws, 1:2, mean))
  }
  matrix(draws, nrow(draws))
}

fit_cell <- function(cell, control) {
  family <- families[[cell$method]]
  n <- as.integer(cell$data)
  set.seed(1000 + cell$set)
  x <- matrix(runif(8 * n), n, dimnames = list(NULL, paste0("x", 1:8)))
  data <- data.frame(family$response(f_of(x), x), x)
  watched <- sample(n, n_watched)
  call <- c(
    list(family$formula, data, seed = cell$set, progress = FALSE), family$more
  )
  started <- cpu_seconds()
  fit <- quiet(do.call(bark, call))
  cpu <- cpu_seconds() - started
  ess <- apply(draws_at(fit, data[watched, ]), 2, function(v) {
    posterior::ess_bulk(matrix(v, ncol = length(fit$runs)))
  })
  data.frame(
    iterations = fit$control$warmup + fit$control$iter, cpu = cpu,
    worst = min(ess), median = stats::median(ess)
  )
}

# ---- all of them ------------------------------------------------------------

cells <- expand.grid(
  method = several("families", names(families)),
  set = seq_len(as.integer(option("repeats", 3))), fold = 1,
  data = strsplit(option("rows", "200"), ", *")[[1]], stringsAsFactors = FALSE
)
rows <- run_cells_here(cells, option("results", "families"))
rows$per_worst <- rows$cpu / rows$worst
rows$per_median <- rows$cpu / rows$median
table <- stats::aggregate(
  cbind(iterations, cpu, worst, median, per_worst, per_median) ~
    method + data, rows, stats::median
)
table <- table[order(as.integer(table$data), match(
  table$method, names(families)
)), ]
gaussian <- table[table$method == "gaussian", ]
base <- match(table$data, gaussian$data)
markdown(data.frame(
  rows = table$data, family = table$method, iterations = table$iterations,
  CPU = table$cpu, "ESS, worst" = table$worst, "ESS, median" = table$median,
  "per draw, worst" = table$per_worst / gaussian$per_worst[base],
  "per draw, median" = table$per_median / gaussian$per_median[base],
  check.names = FALSE
))
