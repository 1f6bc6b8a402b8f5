# Noise that depends on the inputs: bark() with a model of the standard
# deviation beside bark() without it, mgcv::gam() with the family gaulss, and
# hetGP::mleHetGP().
#
#   Rscript tools/bench/noise.R            20 splits of each data set
#   --data=mcycle,boston,waves,regimes
#   --methods=bark_sigma,bark,gaulss,hetGP
#   --repeats=20
#   --beside=bark_sigma the method that others are compared with
#   --results=noise     folder for finished fits, so that a stopped run can
#                       continue. Delete the files of a method when its code
#                       changes
#
# Needs Rscript tools/deps.R bench_noise. Data: MASS::mcycle, accel by times;
# MASS::Boston, medv by lstat; two simulated ones: "waves", 400 rows, a standard
# deviation that is smooth in the only input; "regimes", 500 rows, 0.2 or 1 by a
# threshold of one of three inputs. No choice is made on them. A fifth of the
# rows is held out.
#
# gaulss has a smooth term for each input in both formulas. hetGP has inputs on
# [0, 1]. The predictive distributions of the two are normal, with the variances
# of f and of the noise.
#
# Prints markdown. score: mean log density of the rows held out, with standard
# errors over splits in parentheses, and the difference to the method --beside.
# CPU: seconds of the processor for the fit and its predictions. cover: share of
# rows in 90% prediction intervals, all splits together; q1 to q4: by the
# quartile of the fitted mean.

library(kernelbayes)

script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1])
tools <- dirname(dirname(normalizePath(gsub("~+~", " ", script, fixed = TRUE))))
source(file.path(tools, "bench", "cells.R"))

refuse_unknown(
  character(), c("data", "methods", "repeats", "beside", "results")
)

# ---- data -------------------------------------------------------------------

sets <- list(
  mcycle = function() {
    data.frame(y = MASS::mcycle$accel, x1 = MASS::mcycle$times)
  },
  boston = function() {
    data.frame(y = MASS::Boston$medv, x1 = MASS::Boston$lstat)
  },
  waves = function() {
    x <- runif(400)
    sd <- exp(-1 + sin(2 * pi * x))
    data.frame(y = 2 * sin(3 * pi * x) + sd * rnorm(400), x1 = x)
  },
  regimes = function() {
    x <- matrix(runif(1500), 500, dimnames = list(NULL, paste0("x", 1:3)))
    f <- 2 * sin(pi * x[, 1] * x[, 2]) + x[, 3]
    sd <- ifelse(x[, 3] > 0.6, 1, 0.2)
    data.frame(y = f + sd * rnorm(500), x)
  }
)

# ---- methods ----------------------------------------------------------------

# Each returns `mean`, log `density` and the ends of 90% intervals, `lwr` and
# `upr`, of the rows held out.
by_bark <- function(...) {
  function(split, seed) {
    fit <- bark(y ~ ., split$train, seed = seed, ...)
    ends <- predict(fit, split$test, interval = "prediction", level = 0.9)
    list(
      mean = ends[, "fit"], lwr = ends[, "lwr"], upr = ends[, "upr"],
      density = predict(fit, split$test, type = "log_score")
    )
  }
}

of_normal <- function(mean, sd, y) {
  width <- stats::qnorm(0.95) * sd
  list(
    mean = mean, lwr = mean - width, upr = mean + width,
    density = dnorm(y, mean, sd, log = TRUE)
  )
}

by_gaulss <- function(split, seed) {
  inputs <- setdiff(names(split$train), "y")
  smooths <- paste0("s(", inputs, ")", collapse = " + ")
  fit <- mgcv::gam(
    list(as.formula(paste("y ~", smooths)), as.formula(paste("~", smooths))),
    family = mgcv::gaulss(), data = split$train
  )
  new <- predict(fit, split$test, type = "response", se.fit = TRUE)
  # The second column is one by the standard deviation.
  variance <- 1 / new$fit[, 2]^2 + new$se.fit[, 1]^2
  of_normal(new$fit[, 1], sqrt(variance), split$test$y)
}

by_hetgp <- function(split, seed) {
  inputs <- setdiff(names(split$train), "y")
  low <- vapply(split$train[inputs], min, 0)
  width <- vapply(split$train[inputs], max, 0) - low
  unit <- function(data) {
    x <- as.matrix(data[inputs])
    sweep(sweep(x, 2, low), 2, width, "/")
  }
  set.seed(seed)
  fit <- hetGP::mleHetGP(unit(split$train), split$train$y)
  new <- predict(fit, unit(split$test))
  of_normal(new$mean, sqrt(new$sd2 + new$nugs), split$test$y)
}

methods <- list(
  bark_sigma = by_bark(sigma = ~.), bark = by_bark(), gaulss = by_gaulss,
  hetGP = by_hetgp
)

# ---- one fit ----------------------------------------------------------------

# A row for each row held out.
fit_cell <- function(cell, control) {
  split <- split_of(sets[[cell$data]], cell$set)
  started <- cpu_seconds()
  made <- quiet(methods[[cell$method]](split, cell$set))
  cpu <- cpu_seconds() - started
  y <- split$test$y
  data.frame(
    mean = as.vector(made$mean), score = as.vector(made$density),
    inside = as.vector(made$lwr <= y & y <= made$upr), cpu = cpu
  )
}

# ---- all of them ------------------------------------------------------------

with_covers <- function(table, rows) {
  covers <- lapply(seq_len(nrow(table)), function(i) {
    here <- merge(rows, table[i, c("data", "method")])
    # Cuts between rows, so that equal means do not matter
    quarter <- ceiling(4 * rank(here$mean, ties.method = "first") / nrow(here))
    by_quarter <- tapply(here$inside, quarter, mean)
    data.frame(cover = mean(here$inside), t(by_quarter))
  })
  covers <- stats::setNames(
    do.call(rbind, covers), c("cover", paste0("q", 1:4))
  )
  cbind(table, covers)
}

rows <- run_cells_here(cells_of(methods, sets), option("results", "noise"))
means <- stats::aggregate(cbind(score, cpu) ~ set + method + data, rows, mean)
ordered <- order(match(means$data, rows$data), match(means$method, rows$method))
table <- table_beside(means[ordered, ], option("beside", "bark_sigma"), c(
  score = "score"
))
markdown(with_covers(table, rows))
