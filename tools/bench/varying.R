# bark() with noise that varies, beside the same call without `sigma` (and hetGP,
# if it is installed): held-out log density, cover of 90% prediction intervals,
# error of the mean, processor seconds.
#
#   Rscript tools/bench/varying.R                    all (half an hour)
#   Rscript tools/bench/varying.R --sets=smooth,motorcycle
#   Rscript tools/bench/varying.R --splits=3         fewer of them (5)
#
# Simulated sets have seeds from 101 on, and their sizes of training data below;
# the prior of the log variance was chosen on them. `motorcycle` and `boston` are
# for the report: four fifths of the rows are for training. Covers are also by
# quarters of the predicted mean. Run on one thread.

library(kernelbayes)

script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1])
script <- normalizePath(gsub("~+~", " ", script, fixed = TRUE))
source(file.path(dirname(dirname(script)), "arguments.R"))
refuse_unknown(character(), c("sets", "splits"))
options(mc.cores = 1)

# Sets -------------------------------------------------------------------------

friedman <- function(x) {
  10 * sin(pi * x[, 1] * x[, 2]) + 20 * (x[, 3] - 0.5)^2 + 10 * x[, 4] + 5 * x[, 5]
}

#' @param mean,sd Functions of a matrix with p columns.
simulated <- function(n, p, mean, sd, test = 1000) {
  function(seed) {
    set.seed(100 + seed)
    x <- matrix(stats::runif((n + test) * p), ncol = p)
    colnames(x) <- paste0("x", seq_len(p))
    y <- mean(x) + sd(x) * stats::rnorm(n + test)
    list(data = data.frame(x, y = y), test = n + seq_len(test))
  }
}

real <- function(data) {
  function(seed) {
    set.seed(seed)
    list(data = data, test = sample(nrow(data), round(nrow(data) / 5)))
  }
}

wave <- function(x) sin(6 * x[, 1])
sets <- list(
  smooth = simulated(200, 1, wave, function(x) exp(-2.5 + 2.5 * x[, 1])),
  small = simulated(80, 1, wave, function(x) exp(-2.5 + 2.5 * x[, 1])),
  regimes = simulated(200, 1, function(x) sin(8 * x[, 1]), function(x) {
    ifelse(x[, 1] < 0.5, 0.1, 0.5)
  }),
  bump = simulated(300, 2, function(x) wave(x) + x[, 2], function(x) {
    0.1 + 0.6 * exp(-((x[, 1] - 0.5) / 0.15)^2)
  }),
  constant = simulated(200, 1, wave, function(x) 0.3 + 0 * x[, 1]),
  friedman = simulated(300, 5, friedman, function(x) exp(-0.5 + 2 * x[, 1])),
  friedman_constant = simulated(300, 5, friedman, function(x) 1 + 0 * x[, 1]),
  motorcycle = real(
    data.frame(x1 = MASS::mcycle$times, y = MASS::mcycle$accel)
  ),
  boston = real(data.frame(x1 = MASS::Boston$lstat, y = MASS::Boston$medv))
)

# Methods ----------------------------------------------------------------------

with_bark <- function(...) {
  function(train, test) {
    fit <- suppressWarnings(suppressMessages(
      bark(y ~ ., train, ..., seed = 1, progress = FALSE)
    ))
    limits <- stats::predict(fit, test, interval = "prediction")
    list(
      mean = limits[, 1], lower = limits[, 2], upper = limits[, 3],
      score = stats::predict(fit, test, type = "log_score"),
      rhat = generics::glance(fit)$rhat
    )
  }
}

with_hetgp <- function(train, test) {
  inputs <- function(data) as.matrix(data[setdiff(names(data), "y")])
  x <- inputs(train)
  low <- apply(x, 2, min)
  width <- apply(x, 2, max) - low
  unit <- function(x) sweep(sweep(x, 2, low), 2, width, "/")
  center <- mean(train$y)
  scale <- stats::sd(train$y)
  fit <- hetGP::mleHetGP(unit(x), (train$y - center) / scale)
  at <- stats::predict(fit, unit(inputs(test)))
  mean <- center + scale * at$mean
  sd <- scale * sqrt(at$sd2 + at$nugs)
  list(
    mean = mean, lower = mean - 1.645 * sd, upper = mean + 1.645 * sd,
    score = stats::dnorm(test$y, mean, sd, log = TRUE), rhat = NA
  )
}

methods <- list(constant = with_bark(), varying = with_bark(sigma = ~.))
if (requireNamespace("hetGP", quietly = TRUE)) methods$hetGP <- with_hetgp

# Scores -----------------------------------------------------------------------

one <- function(set, method, split) {
  drawn <- sets[[set]](split)
  train <- drawn$data[-drawn$test, ]
  test <- drawn$data[drawn$test, ]
  before <- proc.time()
  out <- methods[[method]](train, test)
  cpu <- sum((proc.time() - before)[-3])
  inside <- out$lower <= test$y & test$y <= out$upper
  quarter <- ceiling(4 * rank(out$mean, ties.method = "first") / nrow(test))
  cover <- tapply(inside, factor(quarter, 1:4), mean)
  data.frame(
    set = set, method = method, split = split, score = mean(out$score),
    rmse = sqrt(mean((test$y - out$mean)^2)), cover = mean(inside),
    q1 = cover[[1]], q2 = cover[[2]], q3 = cover[[3]], q4 = cover[[4]],
    rhat = out$rhat, cpu = cpu
  )
}

splits <- as.integer(option("splits", "5"))
for (set in several("sets", names(sets))) {
  rows <- list()
  for (split in seq_len(splits)) {
    for (method in names(methods)) {
      rows[[length(rows) + 1]] <- one(set, method, split)
    }
  }
  rows <- do.call(rbind, rows)
  means <- stats::aggregate(rows[-(1:3)], rows["method"], mean)
  gain <- with(rows, score[method == "varying"] - score[method == "constant"])
  cat("\n", set, ": gain in log density ", format(mean(gain), digits = 3),
    " (se ", format(stats::sd(gain) / sqrt(length(gain)), digits = 2), ")\n",
    sep = ""
  )
  print(means, digits = 3, row.names = FALSE)
}
