# Data at the limits of double precision: an answer, not a crash.

test_that("data with little or no noise are fitted", {
  for (sd in c(0, 1e-6)) {
    fit <- srvm(y ~ x, sim_sinc(200, sd = sd, seed = 1), seed = 1)
    expect_identical(fit$status, "complete")
    expect_true(is.finite(evidence(fit)$log_evidence))
    expect_true(all(is.finite(predict(fit, interval = "prediction"))))
  }
})

test_that("a fixed noise far below the misfit is fitted", {
  fit <- srvm(y ~ x, sim_sinc(60, seed = 1),
    prior = srvm_prior(noise = fixed_variance(1e-3), kmax = 10), seed = 1
  ) |> suppressWarnings()
  expect_true(is.finite(evidence(fit)$log_evidence))
})

test_that("vague inverse gammas start from finite variances", {
  for (a in c(0.1, 0.01, 0.001)) {
    prior <- srvm_prior(noise = ig(a, a), coef = ig(a, a))
    fit <- suppressWarnings(
      srvm(y ~ x, sim_sinc(40, seed = 1), prior = prior, seed = 1)
    )
    pool <- srvm_pool(fit)
    limits <- fit$settings$limits
    expect_true(all(pool$noise >= limits$noise[[1]]))
    expect_true(all(pool$noise <= limits$noise[[2]]))
    expect_true(all(pool$coef <= limits$coef[[2]]))
  }
})

test_that("the bounds of the variances move with the response's unit", {
  y <- sim_sinc(30, seed = 1)$y
  expect_equal(variance_limits(1000 * y)$coef, 1e6 * variance_limits(y)$coef)
  expect_equal(
    variance_limits(rep(0, 5)), list(noise = c(1e-8, 1e8), coef = c(1e-8, 1e4))
  )
})

test_that("the log likelihood of the particles stays accurate", {
  # Against dense algebra on the data themselves, not on their Gram matrix.
  data <- sim_sinc(150, sd = 0.001, seed = 1)
  control <- smc_control(50, n_moves = 5)
  one <- srvm(y ~ x, data,
    kernel = kernel_gaussian(), control = control, seed = 1
  )
  moments <- srvm_moments(one, one$data$x[1:5, , drop = FALSE], srvm_pool(one))
  pool <- srvm_pool(one)
  x <- scaling_x(one$settings$scaling, one$data$x)
  y <- scaling_y(one$settings$scaling, one$data$y)
  first <- pool$rows[pool$sets[seq_len(pool$k[[1]])]]
  phi <- cbind(1, kernel_matrix(one$settings$kernel, x, x[first, , drop = FALSE]))
  stacked <- rbind(phi, diag(sqrt(pool$noise[[1]] / pool$coef[[1]]), ncol(phi)))
  beta <- qr.solve(stacked, c(y, rep(0, ncol(phi))))
  expect_equal(moments$mean[, 1], drop(phi[1:5, ] %*% beta), tolerance = 1e-6)
})

test_that("a mean far from zero without scaling gives a warning", {
  data <- sim_sinc(20, seed = 1)
  data$y <- data$y + 100
  expect_warning(
    srvm(y ~ x, data,
      scale = FALSE, seed = 1, control = smc_control(100)
    ) |> withCallingHandlers(
      kb_warning_low_ess = function(w) invokeRestart("muffleWarning")
    ),
    class = "kb_warning_offset"
  )
  expect_no_warning(srvm(y ~ x, data, seed = 1))
})
