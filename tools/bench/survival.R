# Censored times: bark() beside survival::survreg(), linear, and
# BART::surv.bart().
#
#   Rscript tools/bench/survival.R         20 splits of each data set
#   --data=veteran,pbc,lung,weib,lnorm
#   --methods=bark_weibull,bark_lognormal,survreg_weibull,survreg_lognormal,
#             surv_bart_20; surv_bart only by name: minutes per fit
#   --repeats=20
#   --beside=bark_weibull   the method that others are compared with
#   --results=survival  folder for finished fits, so that a stopped run can
#                       continue. Delete the files of a method when its code
#                       changes
#
# Needs Rscript tools/deps.R bench_survival. Data: veteran, pbc and lung of the
# package survival, complete cases; time until death, in days. "weib" and
# "lnorm", 400 simulated rows each, about 30% of them censored, for choices. A
# fifth of the rows is held out.
#
# surv.bart has a probit model of death at each time of a grid: all distinct
# ones of the training rows, its default, or 20 quantiles of them (K = 20). Here
# its mean density is constant between neighbours of the grid, which starts at
# 0; its hazard after the last is constant, the mean of that before.
#
# Prints markdown; means over splits, with standard errors in parentheses, and
# the difference to the method --beside. Brier: (survived t - P(T > t))^2, mean
# over 50 times from 0 to the 90% quantile of the training times and over the
# rows held out, each weighted with the inverse of the probability to be not yet
# censored (Kaplan-Meier, training rows); less is better. log score: mean of the
# log density of deaths and the log survival probability of censored rows; more
# is better. CPU: seconds of the processor for the fit and its predictions.

library(kernelbayes)

script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1])
tools <- dirname(dirname(normalizePath(gsub("~+~", " ", script, fixed = TRUE))))
source(file.path(tools, "bench", "cells.R"))

refuse_unknown(
  character(), c("data", "methods", "repeats", "beside", "results")
)

# Formulas use it by its name.
Surv <- survival::Surv

# ---- data -------------------------------------------------------------------

# Inputs, `time` and `status`, 1 for a death.
complete <- function(data, status, without) {
  data$status <- as.numeric(data$status == status)
  stats::na.omit(data[setdiff(names(data), without)])
}

simulated <- function(draw, longest) {
  x <- matrix(runif(2000), 400)
  f <- 1 + sin(2 * pi * x[, 1]) + 4 * (x[, 2] - 0.5)^2
  end <- draw(f)
  censored <- runif(400, 0, longest)
  data.frame(
    time = pmin(end, censored), status = as.numeric(end <= censored), x
  )
}

sets <- list(
  veteran = function() complete(survival::veteran, 1, character()),
  pbc = function() complete(survival::pbc, 2, "id"),
  # `inst` is the number of an institution.
  lung = function() complete(survival::lung, 2, "inst"),
  weib = function() simulated(function(f) exp(f) * rweibull(400, 1.5), 15),
  lnorm = function() simulated(function(f) exp(f + 0.7 * rnorm(400)), 20)
)

# ---- methods ----------------------------------------------------------------

# Each returns `survival`, probabilities of rows held out x times, and their
# `log_score`.
by_bark <- function(family) {
  function(split, times, seed) {
    fit <- bark(survival::Surv(time, status) ~ ., split$train,
      family = family, seed = seed
    )
    list(
      survival = predict(fit, split$test, type = "survival", times = times),
      log_score = predict(fit, split$test, type = "log_score")
    )
  }
}

by_survreg <- function(distribution) {
  function(split, times, seed) {
    fit <- survival::survreg(survival::Surv(time, status) ~ ., split$train,
      dist = distribution
    )
    location <- predict(fit, split$test, type = "lp")
    # of T > t, in logarithms for the scores
    beyond <- function(t) {
      z <- (log(t) - location) / fit$scale
      if (distribution == "weibull") {
        -exp(z)
      } else {
        stats::pnorm(z, lower.tail = FALSE, log.p = TRUE)
      }
    }
    density <- survival::dsurvreg(split$test$time, location, fit$scale,
      distribution
    )
    list(
      survival = exp(vapply(times, beyond, location)),
      log_score = ifelse(
        split$test$status == 1, log(density), beyond(split$test$time)
      )
    )
  }
}

by_surv_bart <- function(k) {
  function(split, times, seed) {
    inputs <- setdiff(names(split$train), c("time", "status"))
    set.seed(seed)
    fit <- BART::surv.bart(split$train[inputs],
      times = split$train$time, delta = split$train$status,
      x.test = split$test[inputs], K = k
    )
    # rows x grid
    beyond <- matrix(fit$surv.test.mean, nrow(split$test), byrow = TRUE)
    of_grid(fit$times, beyond, split$test, times)
  }
}

# The distributions with a density that is constant between times of the grid.
of_grid <- function(grid, beyond, test, times) {
  grid <- c(0, grid)
  beyond <- cbind(1, beyond)
  end <- length(grid)
  hazard <- -log(beyond[, end]) / grid[[end]]
  survival_at <- function(i, t) {
    inner <- stats::approx(grid, beyond[i, ], t, rule = 2)$y
    inner * exp(-hazard[[i]] * pmax(0, t - grid[[end]]))
  }
  rows <- seq_len(nrow(test))
  at_end <- mapply(survival_at, rows, test$time)
  after <- pmin(findInterval(test$time, grid, left.open = TRUE), end)
  last <- after == end
  below <- pmin(after, end - 1)
  density <- ifelse(last, hazard * at_end,
    (beyond[cbind(rows, below)] - beyond[cbind(rows, below + 1)]) /
      (grid[below + 1] - grid[below])
  )
  list(
    survival = t(vapply(rows, survival_at, times, t = times)),
    log_score = log(ifelse(test$status == 1, density, at_end))
  )
}

methods <- list(
  bark_weibull = by_bark("weibull"), bark_lognormal = by_bark("lognormal"),
  survreg_weibull = by_survreg("weibull"),
  survreg_lognormal = by_survreg("lognormal"),
  surv_bart_20 = by_surv_bart(20), surv_bart = by_surv_bart(NULL)
)

# ---- scores -----------------------------------------------------------------

# Kaplan-Meier probability that a row is not censored up to and including `at`,
# or just before. At ties deaths come before censored rows.
uncensored <- function(train, at, before = FALSE) {
  times <- sort(unique(train$time[train$status == 0]))
  stays <- vapply(times, function(t) {
    at_risk <- sum(train$time >= t) - sum(train$time == t & train$status == 1)
    1 - sum(train$time == t & train$status == 0) / at_risk
  }, 0)
  c(1, cumprod(stays))[findInterval(at, times, left.open = before) + 1]
}

# The mean over equally spaced times, by the trapezoidal rule.
brier <- function(survival, test, train, times) {
  at_death <- uncensored(train, test$time, before = TRUE)
  at_time <- uncensored(train, times)
  each <- vapply(seq_along(times), function(j) {
    alive <- test$time > times[[j]]
    dead <- !alive & test$status == 1
    mean(ifelse(dead, survival[, j]^2 / at_death, 0) +
      ifelse(alive, (1 - survival[, j])^2 / at_time[[j]], 0))
  }, 0)
  ends <- each[c(1, length(each))]
  (sum(each) - sum(ends) / 2) / (length(each) - 1)
}

# ---- one fit ----------------------------------------------------------------

fit_cell <- function(cell, control) {
  split <- split_of(sets[[cell$data]], cell$set)
  most <- stats::quantile(split$train$time, 0.9, names = FALSE)
  times <- seq(0, most, length.out = 50)
  started <- cpu_seconds()
  made <- quiet(methods[[cell$method]](split, times, cell$set))
  cpu <- cpu_seconds() - started
  data.frame(
    brier = brier(made$survival, split$test, split$train, times),
    log_score = mean(made$log_score), cpu = cpu
  )
}

# ---- all of them ------------------------------------------------------------

cells <- cells_of(methods, sets, hidden = "surv_bart")
rows <- run_cells_here(cells, option("results", "survival"))
markdown(table_beside(rows, option("beside", "bark_weibull"), c(
  Brier = "brier", "log score" = "log_score"
)))
