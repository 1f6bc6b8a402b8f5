# Counts: bark() beside mgcv::gam, both Poisson and negative binomial, a linear
# model, MASS::glm.nb, and trees, countSTAR::bart_star.
#
#   Rscript tools/bench/counts.R           20 splits of each data set
#   --data=bikes,doctor,quine,friedman,product,linear,zeros
#   --methods=bark_pois,bark_nb,gam_pois,gam_nb,glm_nb; bart_star only by name:
#             it needs the package countSTAR
#   --repeats=20
#   --results=counts    folder for finished fits, so that a stopped run can
#                       continue. Delete the files of a method when its code
#                       changes
#
# Data: 1000 rows of ISLR2::Bikeshare and of AER::DoctorVisits, all of
# MASS::quine; the others, 600 simulated rows each, are for choices.
# A fifth of the rows is held out. Prints markdown: mean log score of these rows,
# of bark_nb minus that of the method, and seconds of the processor; standard errors
# over splits in parentheses. gam has a smooth term for each number with more than
# ten values. The probability of a count by bart_star is the mean over its draws.

library(kernelbayes)

script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1])
tools <- dirname(dirname(normalizePath(gsub("~+~", " ", script, fixed = TRUE))))
source(file.path(tools, "bench", "cells.R"))

refuse_unknown(character(), c("data", "methods", "repeats", "results"))

# ---- data -------------------------------------------------------------------

sets <- list(
  bikes = function() {
    data <- ISLR2::Bikeshare
    data$hr <- as.numeric(as.character(data$hr))
    data$mnth <- as.integer(data$mnth)
    data$y <- data$bikers
    data[sample(nrow(data), 1000), c(
      "y", "mnth", "hr", "holiday", "workingday", "weathersit", "temp", "hum",
      "windspeed"
    )]
  },
  doctor = function() {
    here <- new.env()
    utils::data("DoctorVisits", package = "AER", envir = here)
    data <- here$DoctorVisits
    names(data)[names(data) == "visits"] <- "y"
    data[sample(nrow(data), 1000), ]
  },
  quine = function() {
    data <- MASS::quine
    names(data)[names(data) == "Days"] <- "y"
    data
  },
  friedman = function() {
    x <- matrix(runif(4800), 600)
    f <- sin(pi * x[, 1] * x[, 2]) + 2 * (x[, 3] - 0.5)^2 + x[, 4] + x[, 5] / 2
    data.frame(y = rnbinom(600, mu = exp(f), size = 4), x)
  },
  product = function() {
    x <- matrix(runif(2400), 600)
    f <- 1 + 2 * sin(6 * x[, 1]) * (x[, 2] - 0.5)
    data.frame(y = rnbinom(600, mu = exp(f), size = 4), x)
  },
  linear = function() {
    x <- matrix(rnorm(2400), 600)
    data.frame(y = rpois(600, exp(0.5 + x %*% c(0.6, -0.4, 0.2, 0))), x)
  },
  zeros = function() {
    x <- matrix(runif(3000), 600)
    data.frame(y = rpois(600, exp(-3 + 3 * x[, 1] * (x[, 2] > 0.5))), x)
  }
)

# ---- methods ----------------------------------------------------------------

# Each returns log scores of the rows held out.
bark_scores <- function(family) {
  function(split, seed) {
    fit <- bark(y ~ ., split$train, family = family, seed = seed)
    predict(fit, split$test, type = "log_score")
  }
}

gam_formula <- function(data) {
  terms <- vapply(setdiff(names(data), "y"), function(name) {
    v <- data[[name]]
    values <- length(unique(v))
    if (is.numeric(v) && values > 10) sprintf("s(%s)", name) else name
  }, "")
  as.formula(paste("y ~", paste(terms, collapse = " + ")))
}

nb_scores <- function(y, mean, size) {
  stats::dnbinom(y, size = size, mu = mean, log = TRUE)
}

methods <- list(
  bark_pois = bark_scores("poisson"), bark_nb = bark_scores("negbinomial"),
  gam_pois = function(split, seed) {
    fit <- mgcv::gam(gam_formula(split$train),
      data = split$train, family = poisson(), method = "REML"
    )
    stats::dpois(split$test$y, predict(fit, split$test, type = "response"),
      log = TRUE
    )
  },
  gam_nb = function(split, seed) {
    fit <- mgcv::gam(gam_formula(split$train),
      data = split$train, family = mgcv::nb(), method = "REML"
    )
    nb_scores(split$test$y, predict(fit, split$test, type = "response"),
      fit$family$getTheta(TRUE)
    )
  },
  glm_nb = function(split, seed) {
    fit <- MASS::glm.nb(y ~ ., split$train)
    nb_scores(split$test$y, predict(fit, split$test, type = "response"),
      fit$theta
    )
  },
  bart_star = function(split, seed) {
    both <- rbind(split$train, split$test)
    x <- stats::model.matrix(y ~ ., both)[, -1, drop = FALSE]
    train <- seq_len(nrow(split$train))
    set.seed(seed)
    fit <- countSTAR::bart_star(split$train$y, x[train, ],
      X_test = x[-train, ], y_test = split$test$y, verbose = FALSE
    )
    log(colMeans(exp(fit$post.log.pred.test)))
  }
)

# ---- one fit ----------------------------------------------------------------

fit_cell <- function(cell, control) {
  split <- split_of(sets[[cell$data]], cell$set)
  started <- cpu_seconds()
  scores <- quiet(methods[[cell$method]](split, cell$set))
  data.frame(score = mean(scores), cpu = cpu_seconds() - started)
}

# ---- all of them ------------------------------------------------------------

cells <- cells_of(methods, sets, hidden = "bart_star")
rows <- run_cells_here(cells, option("results", "counts"))
markdown(table_beside(rows, "bark_nb", c(score = "score")))
