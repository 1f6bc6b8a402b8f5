# loo() and waic(): against dense algebra, and against models fitted without the
# row.

skip_if_not_installed("loo")
skip_if_not_installed("rstantools")

quiet_loo <- function(...) suppressWarnings(loo::loo(...))

#' log N(y_i; given all other y), from the covariance as it is
conditional_density <- function(i, y, cov) {
  weights <- solve(cov[-i, -i], cov[-i, i])
  mean <- sum(weights * y[-i])
  stats::dnorm(
    y[i], mean, sqrt(cov[i, i] - sum(weights * cov[-i, i])),
    log = TRUE
  )
}

test_that("densities without the row agree with dense algebra (bark)", {
  fit <- bark_fits()$weighted
  pool <- bark_pool(fit)
  scaling <- fit$settings$scaling
  x <- scaling_x(scaling, fit$data$x)
  y <- scaling_y(scaling, fit$data$y)
  p <- ncol(x)
  density <- loo_log_density(fit)
  expect_equal(dim(density), c(length(pool$m), length(y)))
  for (draw in c(1, 17, 80)) {
    slots <- sum(pool$m[seq_len(draw - 1)]) + seq_len(pool$m[draw])
    columns <- slot_columns(list(
      location = pool$location[slots],
      log_lambda = pool$log_lambda[(draw - 1) * p + seq_len(p)],
      included = pool$included[(draw - 1) * p + seq_len(p)]
    ), x)
    cov <- diag(1 / (pool$noise[draw] * fit$data$weights)) +
      columns %*% (pool$variance[slots] * t(columns))
    exact <- vapply(seq_along(y), conditional_density, 0, y, cov)
    expect_equal(density[draw, ], exact - log(scaling$y_scale),
      tolerance = 1e-8, ignore_attr = TRUE
    )
  }
})

test_that("elpd agrees with fits without the row (srvm)", {
  # Noise and amplitude are known. What remains is the Monte Carlo error of
  # both, and the prior, which is over subsets of one candidate fewer.
  data <- sim_sinc(12, seed = 3)
  settings <- function() {
    list(
      kernel = kernel_gaussian(2), scale = FALSE,
      prior = srvm_prior(
        lambda = 3, noise = fixed_variance(0.04), coef = fixed_variance(0.5)
      ), method = "mcmc", seed = 1
    )
  }
  fit <- do.call(srvm, c(list(y ~ x, data), settings()))
  out <- quiet_loo(fit)$pointwise[, "elpd_loo"]
  exact <- vapply(c(2, 6, 9), function(i) {
    without <- do.call(srvm, c(list(y ~ x, data[-i, ]), settings()))
    predict(without, data[i, ], type = "log_score")
  }, 0)
  expect_equal(unname(out[c(2, 6, 9)]), exact, tolerance = 0.15)
})

test_that("a kernel that is too wide is worse, for every engine", {
  data <- sim_sinc(30, seed = 1)
  narrow <- srvm(y ~ x, data, kernel = kernel_gaussian(0.3), seed = 1)
  wide <- srvm(y ~ x, data, kernel = kernel_gaussian(3), seed = 1)
  compared <- loo::loo_compare(
    list(narrow = quiet_loo(narrow), wide = quiet_loo(wide))
  )
  # The position of the names depends on the version of loo.
  best <- compared[1, ]
  name <- if ("model" %in% names(best)) best$model else rownames(compared)[[1]]
  expect_identical(as.character(name), "narrow")
  classes <- suppressWarnings(kgs(y ~ x1 + x2, sim_moons(40, seed = 1),
    control = mcmc_control(2, 50, 100), seed = 1
  ))
  expect_s3_class(quiet_loo(classes), "psis_loo")
  expect_s3_class(suppressWarnings(loo::waic(classes)), "waic")
})

test_that("integrating over the coefficients leaves fewer bad rows", {
  data <- sim_friedman(100, seed = 1)[c("y", paste0("x", 1:5))]
  fit <- suppressWarnings(srvm(y ~ ., data,
    kernel = kernel_gaussian(), method = "mcmc", seed = 1
  ))
  bad <- function(out) mean(out$diagnostics$pareto_k > 0.7)
  plain <- suppressWarnings(loo::loo(rstantools::log_lik(fit)))
  expect_lt(bad(quiet_loo(fit)), bad(plain))
})

test_that("fits without a likelihood, or a forgotten one, are refused", {
  data <- sim_sinc(30, seed = 1)
  fit <- kbr(data$x, data$y)
  expect_error(loo::loo(fit), class = "kb_error_not_defined")
  expect_error(loo::waic(fit), class = "kb_error_not_defined")
  short <- suppressWarnings(srvm(y ~ x, data,
    kernel = kernel_gaussian(0.3), memory = srvm_memory(window = 10), seed = 1
  ))
  expect_error(loo::loo(short), class = "kb_error_not_defined")
})
