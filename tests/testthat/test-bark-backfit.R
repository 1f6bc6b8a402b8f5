# Moves given the coefficients of the other kernels, for many rows.
#
# Seen to fail, one fault at a time: one kernel more in the odds of births; the
# score of a kernel, or of one in its place, without its own part; residuals after
# a death with half of the kernel; squares of the column before a move; normal
# draws of half the size; varphi of the state 1.2 times as large; the second stage
# without the first; a glimpse of a kernel, or of one in its place, without its own
# part; local moves without the sums of weights, or among the wrong rows; the noise
# with n - 1; row weights from weighted residuals, or none handed on; these moves on
# tempered rungs. Not visible:
# with terms, a glimpse of columns that have T (the difference is small); the glimpse
# of the new place only, which satisfies detailed balance where glimpses are
# proportional to the weights from all rows.

backfit_moves <- paste0(
  "backfit_", c("birth_death", "relocate", "local", "scales", "flips")
)

backfit_pairs <- if (extended()) 40000 else 1500

backfit_settings <- list(
  own = list(own_scales = TRUE),
  uneven = list(
    own_scales = TRUE, centre_weights = c(0.35, 0.05, 0.1, 0.2, 0.2, 0.1)
  ),
  near = list(own_scales = TRUE, centre_sd = 0.4),
  # Little noise: glimpses then tell places apart.
  sharp = list(own_scales = TRUE, noise_rate = 0.01)
)

backfit_scores <- function(move, prior, family = "gaussian") {
  out <- bark_invariance_cpp(
    prior, five_rows, c(1, 0.1, 5, 1, 2.5), move, 4, backfit_pairs, 1, 7, family
  )
  paired_scores(out)
}

test_that("moves leave the joint law of parameters and data invariant", {
  # Null: nearly standard normal scores, at most 299 per call and 50 calls: |z| >
  # 6.2 somewhere has probability 9e-6.
  for (name in names(backfit_settings)) {
    for (alpha in c(1, 1.5)) {
      prior <- do.call(bark_setting, c(
        list("select_different", alpha), backfit_settings[[name]]
      ))
      for (move in backfit_moves) {
        z <- backfit_scores(move, prior)
        expect_lt(max(abs(c(z, 0))), 6.2, label = paste(move, name, alpha))
      }
    }
  }
  student <- bark_setting("different", own_scales = TRUE, df = c(3, 30))
  for (move in backfit_moves[-5]) {
    z <- backfit_scores(move, student, "student")
    expect_lt(max(abs(c(z, 0))), 6.2, label = paste(move, "student"))
  }
})

# States of a walk of moves on 20 rows, each with the response sqrt(w) y
backfit_walk <- function(seed) {
  withr::local_seed(seed)
  x <- matrix(stats::rnorm(60), 20)
  y <- sin(x[, 1]) + 0.3 * stats::rnorm(20)
  w <- stats::runif(20, 0.5, 2)
  prior <- bark_setting("select_different", 1, 6, own_scales = TRUE)
  lapply(bark_backfit_cpp(prior, x, y, w, 40, 3), c, list(y = sqrt(w) * y))
}

test_that("residuals and information are those of dense algebra", {
  walk <- backfit_walk(2)
  expect_gt(length(walk), 20)
  for (state in walk) {
    left <- state$y - drop(state$columns %*% state$beta)
    expect_equal(state$residuals, left)
    without <- left + state$columns[, 1] * state$beta[[1]]
    information <- function(k, r) state$noise * c(sum(k^2), sum(k * r))
    expect_equal(state$first, information(state$columns[, 1], without))
    expect_equal(state$replaced, state$first)
    expect_equal(state$more, information(state$candidate, left))
    expect_equal(state$instead, information(state$candidate, without))
  }
})

# The law of varphi has no closed form: the integral of its prior times the
# likelihood, by quadrature over log v.
weight_of <- function(precision, score, eps = 0.5) {
  integrand <- function(x) {
    v <- exp(x)
    likelihood <- score^2 * v / (1 + precision * v) - log1p(precision * v)
    shape <- 0.5
    stats::dgamma(1 / v, shape, eps^2 / 2) / v * exp(likelihood / 2)
  }
  log(stats::integrate(integrand, -30, 60, rel.tol = 1e-8)$value)
}

test_that("a glimpse is the weight of a kernel at some of the rows", {
  # Two of 20 rows, ten apart, with the root of ten as the power.
  for (state in backfit_walk(3)) {
    rows <- state$stretches + 1
    expect_identical(diff(rows), 10)
    without <- state$residuals + state$columns[, 1] * state$beta[[1]]
    glimpse <- function(k) {
      scale <- sqrt(10) * state$noise
      weight_of(scale * sum(k[rows]^2), scale * sum(k[rows] * without[rows]))
    }
    expect_equal(state$glimpses[[1]], state$glimpses[[2]])
    # The sampler's integral is a sum over bins.
    found <- c(glimpse(state$columns[, 1]), glimpse(state$candidate))
    expect_lt(max(abs(state$glimpses[-1] - found)), 0.01)
  }
})

test_that("moves of places leave the prior invariant in long runs", {
  # Null: as above, 2 calls. With large noise the data say nothing, and moves are
  # quick.
  for (move in c("backfit_local", "backfit_birth_death")) {
    prior <- bark_setting(
      "select_different", 1, 6, own_scales = TRUE, noise_rate = 1e6,
      centre_weights = c(1, 12, 1, 1, 1, 4)
    )
    out <- bark_invariance_cpp(
      prior, five_rows, rep(1, 5), move, 40, 4000, 1, 7, "gaussian"
    )
    expect_lt(max(abs(paired_scores(out))), 6.2, label = move)
  }
})

test_that("whole sweeps for many rows leave it invariant, too", {
  # Null: as above, 5 calls. The noise and row weights are those given f.
  x <- withr::with_seed(3, matrix(stats::rnorm(36), 12))
  pairs <- if (extended()) 20000 else 1500
  priors <- list(
    bark_setting("select_different", own_scales = TRUE, nu = 6),
    bark_setting("equal", own_scales = TRUE, nu = 6),
    bark_setting("select_different", own_scales = TRUE, nu = 6, noise_rate = 0.01)
  )
  for (prior in priors) {
    z <- paired_scores(bark_geweke_cpp(
      prior, x, rep(c(1, 0.5, 3), 4), 3, pairs, 1, many_rows = TRUE
    ))
    expect_lt(max(abs(z)), 6.2, label = paste(prior$type, prior$noise_rate))
  }
  prior <- bark_setting(
    "select_different", own_scales = TRUE, nu = 6, df = c(3, 30)
  )
  # On tempered rungs, whose kernels are smaller, these moves do not exist.
  for (amplitude in c(1, 0.3)) {
    z <- paired_scores(bark_geweke_cpp(
      prior, x, rep(1, 12), 3, pairs, 1, "student",
      many_rows = TRUE, amplitude = amplitude
    ))
    expect_lt(max(abs(z)), 6.2, label = paste("student", amplitude))
  }
})

few_predictors <- function(n, noise) {
  withr::with_seed(1, {
    data <- data.frame(a = stats::runif(n))
    data$y <- sin(6 * data$a) + 0.3 * noise(n)
    data
  })
}

test_that("threads share parts of the rows and change no bit", {
  numbers <- withr::with_seed(1, stats::rnorm(1000))
  one <- bark_row_parts_cpp(numbers, 70, 1)
  two <- bark_row_parts_cpp(numbers, 70, 2)
  expect_equal(one$sum, sum(numbers))
  expect_identical(two$sum, one$sum)
  # The number of a part among those of its thread.
  parts <- seq(1, 1000, 70)
  expect_identical(one$seen[parts], 1:15)
  expect_identical(two$seen[parts], c(1:7, 1:8))
  # Fewer than two parts per thread.
  expect_identical(
    bark_row_parts_cpp(numbers, 400, 2)$seen[c(1, 401, 801)], 1:3
  )

  skip_on_cran()
  data <- few_predictors(17000, stats::rnorm)
  fit <- function(threads) {
    suppressWarnings(bark(y ~ a, data,
      control = mcmc_control(1, 1, 2, threads = threads), seed = 1
    ))
  }
  expect_identical(fit(2)$runs[[1]]$draws, fit(1)$runs[[1]]$draws)
})

test_that("the number of moves is that of the warmup", {
  skip_on_cran()
  data <- few_predictors(many_rows, stats::rnorm)
  fit <- suppressWarnings(bark(y ~ a, data,
    control = mcmc_control(1, 3, 5), seed = 1
  ))
  rounds <- function(fit) fit$runs[[1]]$levels[[1]]$steps$rounds
  expect_gte(rounds(fit), 100)
  expect_identical(
    rounds(suppressWarnings(update(fit, iter = 5))), rounds(fit)
  )
})

test_that("rows of weight 0 have no kernels", {
  skip_on_cran()
  data <- few_predictors(many_rows, stats::rnorm)
  weights <- rep(0:1, c(4000, many_rows - 4000))
  fit <- suppressWarnings(bark(y ~ a, data,
    prior = bark_prior(centres = centre_rows(weights = weights)),
    control = mcmc_control(1, 2, 3), seed = 1
  ))
  location <- fit$runs[[1]]$draws$location
  expect_true(all(location == 0 | location > 4000))
})

test_that("row weights move", {
  skip_on_cran()
  data <- few_predictors(many_rows, function(n) stats::rt(n, 3))
  fit <- suppressWarnings(bark(y ~ a, data,
    control = mcmc_control(1, 20, 30), seed = 1
  ))
  # The posterior of the scale has a standard deviation of about 0.005.
  expect_lt(abs(sigma(fit) - 0.3), 0.015)
  weights <- fit$runs[[1]]$levels[[1]]$row_weights
  residuals <- abs(residuals(fit))
  expect_lt(stats::cor(weights, residuals, method = "spearman"), -0.3)
})

test_that("a fit to many rows starts near the data and continues", {
  skip_on_cran()
  data <- withr::with_seed(1, {
    data <- data.frame(a = stats::runif(8000), b = stats::runif(8000))
    data$y <- sin(6 * data$a) + stats::rnorm(8000, sd = 0.3)
    data
  })
  quick <- function(iter) {
    suppressWarnings(bark(y ~ a + b, data,
      control = mcmc_control(1, 10, iter), seed = 1
    ))
  }
  fit <- quick(20)
  expect_lt(abs(sigma(fit) - 0.3), 0.02)
  error <- predict(fit, data[1:500, ]) - sin(6 * data$a[1:500])
  expect_lt(sqrt(mean(error^2)), 0.05)
  longer <- suppressWarnings(update(fit, iter = 10))
  expect_equal(longer$runs[[1]]$draws, quick(30)$runs[[1]]$draws)
  expect_false("gather" %in% names(diagnostics(fit)$acceptance))
})
