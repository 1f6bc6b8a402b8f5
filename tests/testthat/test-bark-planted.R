# Errors of an earlier implementation of this model: each check passes here and
# detects the bug if it is planted (helper-bark-planted.R).
#
# Null, unless stated otherwise: nearly standard normal scores. There are fewer
# than 200 in this file: |z| > 6 somewhere has probability 4e-7.
# than 200 in this file: |z| > 6 somewhere has probability 4e-7.

passes <- function(z) max(abs(z)) < 6

planted_data <- function(n = 20, p = 2) {
  withr::with_seed(8, {
    x <- matrix(stats::rnorm(n * p), n)
    list(x = x, y = sin(2 * x[, 1]) + 0.3 * stats::rnorm(n))
  })
}

planted_fit <- function(..., iter = 600, chains = 2) {
  data <- planted_data()
  suppressWarnings(bark(data$x, data$y,
    prior = bark_prior_paper(...,
      n_kernels = 6, discrepancy = 3, noise = noise_gamma(3, 0.3)
    ), scale = FALSE, seed = 2, control = mcmc_control(chains, 200, iter, 2)
  ))
}

# Coefficients and predictions ------------------------------------------------

test_that("coefficients have the posterior covariance, and its mean", {
  withr::local_seed(1)
  data <- planted_data()
  location <- c(0, 3, 7, 12)
  varphi <- c(0.05, 0.4, 2, 9)
  prior <- bark_prior_resolve(bark_prior_paper("different"), data$x, data$y)
  state <- bark_state_cpp(
    prior, data$x, data$y, rep(1, 20), location, varphi, c(-0.5, -1.5),
    c(1L, 1L), 2.5, "none", 20000, 1
  )
  state$v <- 1 / varphi
  exact <- dense_posterior(state, data$x, data$y)
  scores <- function(draws) {
    normal_scores(draws / exact$unit, exact$mean, exact$r)
  }
  expect_true(passes(scores(state$coefficients)))
  wrong <- planted_posterior(exact$columns, data$y, state$v, 2.5)
  wrong <- draw_normal(20000, wrong$mean, wrong$covariance)
  expect_false(passes(scores(wrong)))
  # Its mean only.
  expect_false(passes(scores(wrong)[1:4]))
})

test_that("coefficients belong to the parameters stored with them", {
  withr::local_seed(2)
  data <- planted_data()
  for (alpha in c(1, 1.5)) {
    states <- pool_states(bark_pool(planted_fit(alpha = alpha)), 2)
    scores <- function(states) coefficient_scores(states, data$x, data$y)
    expect_true(passes(scores(states)))
    expect_false(passes(scores(lapply(states, function(state) {
      if (length(state$v) == 0) {
        return(state)
      }
      k <- slot_columns(state, data$x)
      wrong <- planted_posterior(k, data$y, state$v, state$noise)
      state$beta <- drop(draw_normal(1, wrong$mean, wrong$covariance))
      state
    }))))
    # Drawn with the scales of another draw.
    later <- c(states[-1], states[1])
    expect_false(passes(scores(Map(function(state, after) {
      state[c("log_lambda", "included")] <- after[c("log_lambda", "included")]
      state
    }, states, later))))
  }
})

test_that("draws of f vary like f, not like its conditional means", {
  at <- matrix(c(0, 0.5, -1, 0.3, -0.7, 2), 3)
  fit <- planted_fit("select_different")
  moments <- bark_moments(fit, at, bark_pool(fit))
  draws <- t(predict(fit, at, type = "draws"))
  expect_true(passes(prediction_scores(draws, moments)))
  expect_false(passes(prediction_scores(moments$mean, moments)))
})

#' How often f at a new point is in the 90% intervals of draws, and in those of
#' conditional means, with parameters and data drawn from the model
interval_coverage <- function(sets) {
  x <- planted_data(8)$x
  at <- matrix(c(0.2, -0.4), 1)
  given <- bark_prior_paper("different",
    n_kernels = 2, discrepancy = 1, noise = noise_gamma(3, 1)
  )
  prior <- bark_prior_resolve(given, x, rep(0, 8))
  rowMeans(vapply(seq_len(sets), function(set) {
    truth <- draw_bark_prior(prior, 8, 2)
    v <- slot_variances(truth, 1)
    k <- slot_columns(truth, x)
    if (length(v) == 0) k <- matrix(0, 8, 0)
    beta <- stats::rnorm(length(v), 0, sqrt(v))
    scale <- exp(truth$log_lambda)
    # A little noise, here and below, because f = 0 without kernels.
    f <- sum(beta * vapply(truth$location, function(l) {
      if (l == 0) 1 else exp(-sum(scale * (at - x[l, ])^2))
    }, 0)) + stats::rnorm(1, 0, 1e-6)
    y <- drop(k %*% beta) + stats::rnorm(8, 0, 1 / sqrt(truth$noise))
    fit <- suppressWarnings(bark(x, y,
      prior = given, scale = FALSE, seed = set,
      control = mcmc_control(1, 100, 600, 3)
    ))
    inside <- function(draws) {
      draws <- draws + stats::rnorm(length(draws), 0, 1e-6)
      limits <- stats::quantile(draws, c(0.05, 0.95))
      limits[[1]] < f && f < limits[[2]]
    }
    moments <- bark_moments(fit, at, bark_pool(fit))
    c(inside(predict(fit, at, type = "draws")), inside(moments$mean))
  }, c(draws = TRUE, means = TRUE)))
}

test_that("intervals from draws cover, those from conditional means do not", {
  # Null: 150 independent chances of 0.9; a score above 4.5 has probability
  # 7e-6, slightly more because of the error of the short chains.
  withr::local_seed(3)
  sets <- 150
  z <- (interval_coverage(sets) - 0.9) / sqrt(0.9 * 0.1 / sets)
  expect_lt(abs(z[["draws"]]), 4.5)
  expect_lt(z[["means"]], -4.5)
})

# Selection -------------------------------------------------------------------

test_that("with selection by Be(1, 1), the number included is uniform", {
  withr::local_seed(4)
  for (p in c(3, 10)) {
    for (type in c("select_equal", "select_different")) {
      prior <- bark_prior_paper(type, scales = c(4, 8), n_kernels = 0.1,
        discrepancy = 1
      )
      d <- n_included(prior_only_fit(prior, p = p, n = 5, iter = 8000))
      expect_true(passes(inclusion_scores(d, p)))
    }
  }
  scores <- function(flip, equal, n = 8000) {
    inclusion_scores(planted_inclusion(flip, equal, 3, n, 4, 8), 3)
  }
  expect_true(passes(scores(differing_flip(4, 8), FALSE)))
  expect_false(passes(scores(differing_flip(4, 8, leave_full = 9), FALSE)))
  expect_true(passes(scores(equal_flip(4, 8), TRUE)))
  expect_false(passes(scores(equal_flip(4, 8, late = TRUE), TRUE)))
})

test_that("the parameters of the inclusion probability are not swapped", {
  for (type in c("select_equal", "select_different")) {
    score <- function(selection) {
      prior <- bark_prior_paper(type,
        selection = selection, n_kernels = 0.1, discrepancy = 1
      )
      d <- n_included(prior_only_fit(prior, p = 5, n = 5, iter = 3000))
      n_included_score(d, 5, 3, 1)
    }
    expect_true(passes(score(c(3, 1))))
    expect_false(passes(score(c(1, 3))))
  }
})

# Elicitation -----------------------------------------------------------------

test_that("the expected number of kernels is the mass of the Levy measure", {
  mass <- function(alpha, gamma, eps) {
    constant <- alpha / pi * gamma(alpha) * sin(pi * alpha / 2)
    2 * gamma * constant * stats::integrate(function(b) {
      (b^2 + alpha * eps^2)^(-(alpha + 1) / 2)
    }, 0, Inf, rel.tol = 1e-9)$value
  }
  agrees <- function(nu, alpha) {
    abs(nu(alpha, 10, 0.5) / mass(alpha, 10, 0.5) - 1) < 1e-6
  }
  for (alpha in c(0.5, 1, 1.5, 1.9)) {
    expect_true(agrees(bark_nu, alpha))
    expect_identical(agrees(planted_nu, alpha), alpha == 1)
  }
})

# Data ------------------------------------------------------------------------

factor_data <- function() {
  withr::with_seed(9, {
    g <- factor(rep(c("a", "b", "c"), 8))
    x <- stats::rnorm(24)
    data.frame(g, x, y = 2 * (g == "b") - (g == "c") + 0.1 * stats::rnorm(24))
  })
}

test_that("levels of a factor are matched by name", {
  data <- factor_data()
  control <- mcmc_control(1, 100, 50)
  fit <- bark(y ~ g + x, data, control = control, seed = 1)
  design <- function(data) stats::model.matrix(~ g + x - 1, data)
  plain <- bark(design(data), data$y, control = control, seed = 1)
  ours <- function(data) predict(fit, data)
  planted <- function(data) {
    x <- design(data)
    colnames(x) <- colnames(plain$data$x)
    predict(plain, x)
  }
  turned <- data
  turned$g <- factor(data$g, c("c", "a", "b"))
  same <- function(predictions) {
    isTRUE(all.equal(predictions(data), predictions(turned)))
  }
  expect_true(same(ours))
  expect_false(same(planted))
  # A factor with only one level present.
  few <- data[data$g == "c", ]
  few$g <- droplevels(few$g)
  expect_equal(ours(few), ours(data)[data$g == "c"])
})

test_that("rows with missing predictors are kept, as missing", {
  data <- factor_data()
  fit <- bark(y ~ g + x, data, control = mcmc_control(1, 100, 50), seed = 1)
  new <- data
  new$x[c(2, 5)] <- NA
  new$g[7] <- NA
  ours <- function(data) predict(fit, data)
  planted <- function(data) predict(fit, stats::na.omit(data))
  kept <- function(predictions) {
    out <- predictions(new)
    length(out) == 24 && identical(which(is.na(out)), c(2L, 5L, 7L)) &&
      isTRUE(all.equal(out[-c(2, 5, 7)], ours(data)[-c(2, 5, 7)]))
  }
  expect_true(kept(ours))
  expect_false(kept(planted))
})

# Start -----------------------------------------------------------------------

test_that("chains do not start with each row's own kernel", {
  data <- sim_friedman(200, 100, seed = 2)
  fit <- suppressWarnings(bark(y ~ ., data,
    prior = bark_prior_paper("different"), seed = 1,
    control = mcmc_control(2, 0, 150)
  ))
  sigma <- chain_matrices(fit)$sigma / fit$settings$scaling$y_scale
  expect_lt(max(colMeans(sigma[101:150, ])), 0.75)
  engine <- fit_engine(fit)
  reaches <- function(run) {
    k <- slot_columns(run$levels[[1]], engine$x)
    k <- k[, run$levels[[1]]$location > 0]
    stats::median(k[k < 1]) > 0.01
  }
  handle <- engine_open(engine, 1, NULL)
  start <- engine_state(engine, handle)
  engine_close(engine, handle)
  expect_true(reaches(start))
  planted <- start
  planted$levels[[1]]$log_lambda[] <- 0
  expect_false(reaches(planted))
})
