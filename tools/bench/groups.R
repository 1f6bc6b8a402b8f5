# Regression with groups: bark() beside lme4::lmer(), mgcv::gam() with random
# effects as smooths, stan4bart::stan4bart() and dbarts::rbart_vi().
#
#   Rscript tools/bench/groups.R            seeds 1 to 3 of each data set; the
#                                           report has 1 of the two large ones
#   --sets=sleepstudy,InstEval,simulated
#   --methods=bark,lmer
#   --repeats=3         the first ones; --tuning: seeds from 101, on which
#                       choices may be made
#   --quick             a tenth of the groups, to see that everything runs
#   --results=groups    folder for finished fits, so that a stopped run can
#                       continue. Delete the files of a method when its code
#                       changes
#
# Data, all of which depends on the seed:
#   sleepstudy  of lme4, 18 subjects with 10 days each; two random days of every
#               subject are held out. Intercepts and slopes of the subjects.
#   InstEval    of lme4, the rows of 400 random students; ratings of lecturers,
#               with intercepts of students (s) and lecturers (d), crossed.
#   simulated   10 000 rows in 2000 groups: Friedman's function of x1 to x5 with
#               standard deviation 2, z1 - z2 / 2, intercepts of the groups and
#               noise with standard deviation 1.
# Of the last two, a random tenth of the rows is held out; some of their groups
# may be new.
#
# Methods, with the defaults of their packages, on one thread:
#   bark         the predictors that others smooth in kernels(); its noise is
#                Student's t, as that of bark_linear; that of all others is
#                normal
#   bark_linear  without kernels, bark_prior(gamma = 0): the terms of lmer
#   bark_normal  with normal noise too, bark_prior(gamma = 0, df = Inf): the
#                model of lmer
#   lmer         linear in all predictors, also where the truth is not
#   gam          method = "REML"; a smooth per predictor without interactions,
#                of which Friedman's function has one. bam(discrete = TRUE) if
#                there are more than 100 groups: gam() takes more than a minute
#                for a tenth of InstEval
#   stan4bart    trees for the predictors in kernels(), otherwise as bark
#   rbart_vi     trees for all predictors, and intercepts of one factor only: no
#                slopes in sleepstudy, only students in InstEval
#
# Prints markdown. RMSE and density (mean of the log predictive density): of
# rows held out. The density of lmer is normal, with the variance of its
# predictions given the estimated standard deviations of groups and noise; gam
# likewise. CPU: seconds of the processor for the fit and predictions, children
# included; the profiles that give lmer its intervals are not in it. sd: of
# intercepts of groups, with its 95% interval, all means over seeds; cover: how
# many intervals hold the truth, 1. In the first table, numbers in parentheses
# are standard errors over seeds; excess is the mean, over the seeds that a
# method shares with bark, of the difference of its RMSE to that of bark, in
# percent.

library(kernelbayes)

script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1])
tools <- dirname(dirname(normalizePath(gsub("~+~", " ", script, fixed = TRUE))))
source(file.path(tools, "bench", "cells.R"))

refuse_unknown(
  c("tuning", "quick"), c("sets", "methods", "repeats", "results")
)

# ---- data -------------------------------------------------------------------

# Which rows are held out, and the true standard deviation of intercepts
sets <- list(
  sleepstudy = function(share) {
    data <- as.data.frame(lme4::sleepstudy)
    rows <- split(seq_len(nrow(data)), data$Subject)
    list(
      data = data, factors = "Subject", truth = NA,
      test = unlist(lapply(rows, sample, 2), use.names = FALSE)
    )
  },
  InstEval = function(share) {
    data <- as.data.frame(lme4::InstEval)
    data <- data[data$s %in% sample(levels(data$s), 400 * share), ]
    for (name in c("studage", "lectage")) {
      data[[name]] <- as.numeric(as.character(data[[name]]))
    }
    list(
      data = droplevels(data), factors = c("s", "d"), truth = NA,
      test = tenth(nrow(data))
    )
  },
  simulated = function(share) {
    n <- 10000 * share
    x <- matrix(runif(5 * n), n, dimnames = list(NULL, paste0("x", 1:5)))
    z <- matrix(rnorm(2 * n), n, dimnames = list(NULL, c("z1", "z2")))
    g <- sample(n / 5, n, TRUE)
    f <- kernelbayes:::friedman_function(x, 1)
    y <- 2 * drop(scale(f)) + drop(z %*% c(1, -0.5)) + rnorm(n / 5)[g] +
      rnorm(n)
    list(
      data = data.frame(y, x, z, g = factor(g)), factors = "g", truth = 1,
      test = tenth(n)
    )
  }
)

tenth <- function(n) sort(sample(n, n %/% 10))

# ---- formulas ---------------------------------------------------------------

linear <- list(
  sleepstudy = Reaction ~ Days + (1 + Days | Subject),
  InstEval = y ~ studage + lectage + service + dept + (1 | s) + (1 | d),
  simulated = y ~ x1 + x2 + x3 + x4 + x5 + z1 + z2 + (1 | g)
)
formulas <- list(
  bark = list(
    sleepstudy = Reaction ~ kernels(Days) + (1 + Days | Subject),
    InstEval = y ~ kernels(studage, lectage) + service + dept + (1 | s) +
      (1 | d),
    simulated = y ~ kernels(x1, x2, x3, x4, x5) + z1 + z2 + (1 | g)
  ),
  bark_linear = linear,
  bark_normal = linear,
  lmer = linear,
  gam = list(
    sleepstudy = Reaction ~ s(Days) + s(Subject, bs = "re") +
      s(Subject, Days, bs = "re"),
    # The two have 4 and 6 values.
    InstEval = y ~ s(studage, k = 4) + s(lectage, k = 5) + service + dept +
      s(s, bs = "re") + s(d, bs = "re"),
    simulated = y ~ s(x1) + s(x2) + s(x3) + s(x4) + s(x5) + z1 + z2 +
      s(g, bs = "re")
  ),
  stan4bart = list(
    sleepstudy = Reaction ~ bart(Days) + (1 + Days | Subject),
    InstEval = y ~ bart(studage + lectage) + service + dept + (1 | s) + (1 | d),
    simulated = y ~ bart(x1 + x2 + x3 + x4 + x5) + z1 + z2 + (1 | g)
  ),
  rbart_vi = list(
    sleepstudy = Reaction ~ Days,
    InstEval = y ~ studage + lectage + service + dept,
    simulated = y ~ x1 + x2 + x3 + x4 + x5 + z1 + z2
  )
)

# ---- methods ----------------------------------------------------------------

# Each returns `mean` and `density` (logarithms) of the rows held out, and
# `intervals()`: a matrix with sd, lower and upper limit, a row per factor.
fit_bark <- function(prior) {
  function(formula, set, seed) {
    fit <- bark(formula, set$train,
      prior = prior, seed = seed, progress = FALSE,
      control = mcmc_control(
        warmup = NULL, iter = NULL, thin = NULL, threads = 1
      )
    )
    y <- set$new[[all.vars(formula)[[1]]]]
    list(
      mean = predict(fit, set$new),
      density = predict(fit, set$new, type = "log_score", newy = y),
      intervals = function() bark_intervals(fit, set$factors)
    )
  }
}

bark_intervals <- function(fit, factors) {
  draws <- posterior::as_draws_df(as_draws(fit))
  rows_of(lapply(factors, function(factor) {
    names <- paste0("sd[", factor, c("]", ",(Intercept)]"))
    of_draws(draws[[intersect(names, names(draws))]])
  }), factors)
}

fit_lmer <- function(formula, set, seed) {
  fit <- lme4::lmer(formula, set$train)
  # The mixed model equations of both parts, groups of new rows included
  all <- lme4::lFormula(formula, rbind(set$train, set$new))
  old <- seq_len(nrow(set$train))
  spread <- all$reTrms$Lambdat
  spread@x <- lme4::getME(fit, "theta")[all$reTrms$Lind]
  fixed <- ncol(all$X)
  w <- cbind(
    methods::as(all$X, "CsparseMatrix"), Matrix::t(spread %*% all$reTrms$Zt)
  )
  penalty <- Matrix::Diagonal(x = rep(0:1, c(fixed, ncol(w) - fixed)))
  factor <- Matrix::Cholesky(
    Matrix::forceSymmetric(Matrix::crossprod(w[old, ]) + penalty)
  )
  new <- Matrix::t(w[-old, ])
  y <- stats::model.response(all$fr)
  b <- Matrix::solve(factor, Matrix::crossprod(w[old, ], y[old]))
  variance <- Matrix::colSums(new * Matrix::solve(factor, new))
  mean <- as.vector(Matrix::crossprod(new, b))
  list(
    mean = mean,
    density = dnorm(y[-old], mean, sigma(fit) * sqrt(1 + variance), log = TRUE),
    intervals = function() lmer_intervals(fit, set$factors)
  )
}

lmer_intervals <- function(fit, factors) {
  limits <- confint(fit, "theta_", oldNames = FALSE, quiet = TRUE)
  rows_of(lapply(factors, function(factor) {
    c(
      attr(lme4::VarCorr(fit)[[factor]], "stddev")[["(Intercept)"]],
      limits[paste0("sd_(Intercept)|", factor), ]
    )
  }), factors)
}

fit_gam <- function(formula, set, seed) {
  y <- all.vars(formula)[[1]]
  many <- any(vapply(set$train[set$factors], nlevels, 1L) > 100)
  # mgcv looks for s() by its name.
  environment(formula) <- asNamespace("mgcv")
  fit <- if (many) {
    mgcv::bam(formula,
      data = set$train, discrete = TRUE, drop.unused.levels = FALSE
    )
  } else {
    mgcv::gam(formula,
      data = set$train, method = "REML", drop.unused.levels = FALSE
    )
  }
  new <- predict(fit, set$new, se.fit = TRUE)
  sd <- sqrt(fit$sig2 + as.vector(new$se.fit)^2)
  list(
    mean = as.vector(new$fit),
    density = dnorm(set$new[[y]], new$fit, sd, log = TRUE),
    intervals = function() gam_intervals(fit, set$factors)
  )
}

gam_intervals <- function(fit, factors) {
  utils::capture.output(spread <- mgcv::gam.vcomp(fit))
  spread <- if (is.list(spread)) spread$vc else spread
  spread <- if (is.matrix(spread)) spread else cbind(spread, NA, NA)
  rows_of(
    lapply(factors, function(factor) spread[paste0("s(", factor, ")"), ]),
    factors
  )
}

fit_stan4bart <- function(formula, set, seed) {
  y <- set$new[[all.vars(formula)[[1]]]]
  # It looks for a formula, not for a name, to take bart() out of it.
  fit <- do.call(stan4bart::stan4bart, list(formula, set$train,
    test = set$new, cores = 1, seed = seed, verbose = -1
  ))
  draws <- dbarts::extract(fit, "ev", "test")
  sigma <- dbarts::extract(fit, "sigma")
  c(of_normals(draws, sigma, y), intervals = function() {
    spread <- dbarts::extract(fit, "Sigma")
    rows_of(lapply(set$factors, function(factor) {
      of_draws(sqrt(spread[[factor]]["(Intercept)", "(Intercept)", ]))
    }), set$factors)
  })
}

fit_rbart <- function(formula, set, seed) {
  y <- set$new[[all.vars(formula)[[1]]]]
  factor <- set$factors[[1]]
  set$train$.group <- set$train[[factor]]
  fit <- dbarts::rbart_vi(formula, set$train,
    group.by = .group, n.threads = 1, verbose = FALSE, seed = seed
  )
  # With chains combined it stops at new groups.
  draws <- predict(fit, set$new, droplevels(set$new[[factor]]),
    combineChains = FALSE
  )
  draws <- t(matrix(draws, ncol = length(y)))
  c(of_normals(draws, as.vector(fit$sigma), y), intervals = function() {
    rows_of(list(of_draws(as.vector(fit$tau))), factor)
  })
}

methods <- list(
  bark = fit_bark(bark_prior()),
  bark_linear = fit_bark(bark_prior(gamma = 0)),
  bark_normal = fit_bark(bark_prior(gamma = 0, df = Inf)),
  lmer = fit_lmer, gam = fit_gam, stan4bart = fit_stan4bart,
  rbart_vi = fit_rbart
)

# Normal noise around draws of the mean, rows x draws
of_normals <- function(draws, sigma, y) {
  log_density <- dnorm(y, draws, rep(sigma, each = length(y)), log = TRUE)
  most <- apply(log_density, 1, max)
  list(
    mean = rowMeans(draws),
    density = most + log(rowMeans(exp(log_density - most)))
  )
}

of_draws <- function(draws) c(mean(draws), quantile(draws, c(0.025, 0.975)))

rows_of <- function(rows, factors) {
  matrix(unlist(rows), length(rows),
    byrow = TRUE, dimnames = list(factors, c("sd", "lower", "upper"))
  )
}

# ---- one fit ----------------------------------------------------------------

# cell$set is the seed. A row per factor with intercepts.
fit_cell <- function(cell, control) {
  set.seed(cell$set)
  set <- sets[[cell$data]](if (control$quick) 0.1 else 1)
  set$train <- set$data[-set$test, ]
  set$new <- set$data[set$test, ]
  formula <- formulas[[cell$method]][[cell$data]]
  started <- cpu_seconds()
  set.seed(cell$set)
  made <- quiet(methods[[cell$method]](formula, set, cell$set))
  cpu <- cpu_seconds() - started
  spread <- quiet(made$intervals())
  data.frame(
    rmse = sqrt(mean((made$mean - set$new[[all.vars(formula)[[1]]]])^2)),
    density = mean(made$density), cpu = cpu, factor = rownames(spread),
    spread, truth = set$truth
  )
}

# ---- all of them ------------------------------------------------------------

by_method <- function(rows, each) {
  groups <- split(rows, factor(rows$method, unique(rows$method)))
  do.call(rbind, lapply(groups, each))
}

table_of_errors <- function(rows) {
  rows <- rows[!duplicated(rows[c("data", "set", "method")]), ]
  by_method(rows, function(here) {
    bark <- rows[rows$method == "bark", ]
    bark <- bark$rmse[match(here$set, bark$set)]
    excess <- mean(100 * (here$rmse / bark - 1), na.rm = TRUE)
    data.frame(
      data = here$data[[1]], method = here$method[[1]],
      RMSE = with_error(here$rmse, if (mean(here$rmse) > 10) 2 else 4),
      excess = if (is.nan(excess)) "" else sprintf("%.1f", excess),
      density = with_error(here$density, 4), CPU = mean(here$cpu),
      seeds = nrow(here)
    )
  })
}

table_of_spreads <- function(rows) {
  each <- function(here) {
    limits <- sprintf("%.3g to %.3g", mean(here$lower), mean(here$upper))
    inside <- sum(here$lower <= here$truth & here$upper >= here$truth)
    data.frame(
      data = here$data[[1]], factor = here$factor[[1]],
      method = here$method[[1]], sd = mean(here$sd),
      interval = if (anyNA(here$lower)) "" else limits,
      cover = if (is.na(inside)) "" else paste(inside, "of", nrow(here))
    )
  }
  groups <- split(rows, factor(rows$factor, unique(rows$factor)))
  do.call(rbind, lapply(groups, by_method, each))
}

first <- if (flag("tuning")) 100 else 0
repeats <- as.integer(option("repeats", 3))
cells <- expand.grid(
  method = several("methods", names(methods)), set = first + seq_len(repeats),
  fold = 1, data = several("sets", names(sets)), stringsAsFactors = FALSE
)
rows <- run_cells_here(cells, option("results", "groups"),
  list(quick = flag("quick"))
)
for (data in unique(rows$data)) {
  here <- rows[rows$data == data, ]
  markdown(table_of_errors(here))
  markdown(table_of_spreads(here))
}
