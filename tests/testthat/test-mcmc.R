# Warnings and advice about chains that are too short.

# The warning of a fit with an invented table of mixing, or "".
warned <- function(error, variable = "sigma", iter = 1000) {
  fit <- structure(
    list(
      status = "complete", runs = list(1, 2),
      mould = list(x_names = c("age", "sex"), levels = NULL),
      control = mcmc_control(iter = iter)
    ),
    class = c("kb_bark", "kb_mcmc", "kb_fit")
  )
  local_mocked(
    chain_mixing = function(fit) {
      data.frame(
        variable = variable, rhat = 1.2, ess_bulk = 50, ess_tail = 50,
        error = error, constant = FALSE
      )
    },
    draws_in = function(fit) 1000
  )
  warning <- rlang::catch_cnd(warn_quality(fit), "kb_warning_convergence")
  if (is.null(warning)) {
    return("")
  }
  gsub("\\s+", " ", cli::ansi_strip(conditionMessage(warning)))
}

test_that("only what users read is judged, predictions together", {
  f <- c("f[1]", "f[2]")
  expect_identical(warned(0.3), "")
  expect_match(warned(0.31), "sigma: Monte Carlo error 31%", fixed = TRUE)
  expect_match(warned(NA), "sigma: Monte Carlo error not known", fixed = TRUE)
  expect_identical(warned(c(0.1, 0.33), f), "")
  expect_match(
    warned(c(0.3, 0.4), f), "Predictions: Monte Carlo error 35%", fixed = TRUE
  )
  expect_no_match(warned(c(0.3, 0.4), f), "f[", fixed = TRUE)
  expect_match(warned(c(0.3, NA), f), "error not known", fixed = TRUE)
  for (name in c("log_lambda[1]", "delta[2]", "J", "J[a]", "k", "log_lik")) {
    expect_identical(warned(10, name), "")
  }
  for (name in c("df", "b[x]", "sd[g,(Intercept)]", "sigma[3]", "q")) {
    expect_no_match(warned(10, name), "^$")
  }
})

test_that("the recommended iterations lead to the error aimed at", {
  # A Monte Carlo error twice as large needs four times the iterations.
  expect_match(warned(0.5), "iter = 3000)", fixed = TRUE)
  # At least as many again, at most ten times as many.
  expect_match(warned(0.31), "iter = 1000)", fixed = TRUE)
  expect_match(warned(3), "iter = 10000)", fixed = TRUE)
  expect_match(warned(3, iter = 3e5), "iter = 3000000)", fixed = TRUE)
  expect_match(warned(NA), "iter = 10000)", fixed = TRUE)
})

# Time limits -----------------------------------------------------------------

endless <- function(...) {
  mcmc_control(chains = 3, warmup = 5, iter = 1e7, thin = 100, ...)
}

cut_short <- function(expr) {
  suppressWarnings(expr, classes = "kb_warning_time_limit")
}

test_that("chains that are out of time have the same number of draws", {
  moons <- sim_moons(30, seed = 1)
  control <- endless(time_limit = 1)
  fits <- cut_short(list(
    bark(x1 ~ x2, moons, control = control, seed = 1),
    kgs(y ~ x1 + x2, moons, nugget = 0, control = control, seed = 1),
    srvm(x1 ~ x2, moons,
      kernel = kernel_gaussian(), method = "mcmc", control = control, seed = 1
    )
  ))
  for (fit in fits) {
    times <- vapply(fit$runs, state_time, 0L)
    expect_identical(times, rep(times[[1]], 3))
    expect_gt(draws_in(fit)[[1]], 0)
    expect_identical(fit$status, "time_limit")
  }
})

test_that("so have chains on workers, however short the time", {
  local_workers()
  moons <- sim_moons(30, seed = 1)
  ask <- function(limit) {
    cut_short(kgs(y ~ x1 + x2, moons,
      control = endless(time_limit = limit), seed = 1
    ))
  }
  for (limit in c(1e-9, 1)) {
    times <- vapply(ask(limit)$runs, state_time, 0L)
    expect_identical(times, rep(times[[1]], 3))
    expect_gt(times[[1]], 0)
  }
})

test_that("the time limit starts with the call", {
  moons <- sim_moons(30, seed = 1)
  fit <- cut_short(kgs(y ~ x1, moons,
    control = endless(time_limit = 1e-9), seed = 1
  ))
  # Set-up took the hour before.
  late <- cut_short(run_fit(fit, FALSE, now() - 3600, time_limit = 3600))
  expect_identical(
    vapply(late$runs, state_time, 0L), vapply(fit$runs, state_time, 0L) + 1L
  )
})

test_that("the worst parameters are named, with their meaning", {
  names <- c("f[3]", "f[7]", "log_lambda[2]", "delta[1]", "sigma[2]", "df")
  said <- warned(c(0.4, 0.5, 9, 9, 0.6, 0.1), names)
  expect_match(said, "Predictions: Monte Carlo error 45%", fixed = TRUE)
  expect_match(said, "sigma[2] (noise sd at row 2): Monte Carlo error 60%",
    fixed = TRUE
  )
  for (other in c("f[", "log_lambda", "delta", "df", "n_temps")) {
    expect_no_match(said, other, fixed = TRUE)
  }
  expect_match(warned(rep(1, 7), paste0("sigma[", 1:7, "]")), "and 2 more")
})
