# Chains that run until they have converged.

line <- sim_sinc(30, seed = 1)

batch <- function(iter, chains = 2, ...) {
  suppressWarnings(srvm(y ~ x, line,
    kernel = kernel_gaussian(0.3), method = "mcmc",
    control = mcmc_control(chains, 50, iter, ...), seed = 1
  ), classes = "kb_warning_convergence")
}

#' The result of the sampler, without its time
made <- function(fit) {
  lapply(fit$runs, function(run) run[setdiff(names(run), "seconds")])
}

within <- function(fit, until) {
  table <- diagnostics(fit)$convergence
  all(table$rhat <= until$rhat, table$ess_bulk >= until$ess,
    table$ess_tail >= until$ess,
    na.rm = TRUE
  )
}

test_that("chains of every engine end within the thresholds, doubled", {
  until <- convergence(rhat = 1.05, ess = 100)
  moons <- sim_moons(40, flips = 0.1, seed = 1)
  control <- mcmc_control(chains = 2, warmup = 50, iter = 20)
  short <- suppressWarnings(list(
    batch(20),
    bark(y ~ x, line, control = control, seed = 1),
    kgs(y ~ x1 + x2, moons,
      kernel = kernel_gaussian(0.5), control = control, seed = 1
    )
  ))
  for (fit in short) {
    expect_false(within(fit, until))
    expect_no_warning(long <- update(fit, until = until))
    expect_true(within(long, until))
    looks <- log2(long$control$iter / 20)
    expect_gt(looks, 0)
    expect_identical(looks, round(looks))
    # The check before was not the last.
    half <- suppressWarnings(update(fit, iter = long$control$iter / 2 - 20))
    expect_false(within(half, until))
    # The draws are those of a run of that length.
    same <- suppressWarnings(update(fit, iter = long$control$iter - 20))
    expect_identical(made(long), made(same))
    expect_identical(long$control, same$control)
    expect_identical(update(long, until = until), long)
  }
})

test_that("stricter thresholds make longer runs", {
  lengths <- function(...) {
    vapply(list(...), function(until) {
      update(batch(20), until = until, iter = 20)$control$iter
    }, 0L)
  }
  ess <- lengths(
    convergence(2, 50), convergence(2, 200), convergence(2, 800)
  )
  expect_true(all(diff(ess) > 0))
  rhat <- lengths(
    convergence(1.5, 1), convergence(1.02, 1), convergence(1.002, 1)
  )
  expect_true(all(diff(rhat) > 0))
})

test_that("posterior means agree with a run of fixed length", {
  skip_unless_extended()
  # Null: means of 20 pairs of independent runs differ only by chance, so that
  # the paired t has 19 degrees of freedom, except for the bias of stopping,
  # which is far below the spread here. |t| > 6 has probability 9e-6.
  pairs <- vapply(1:20, function(seed) {
    fit <- function(iter, seed) {
      suppressWarnings(srvm(y ~ x, line,
        kernel = kernel_gaussian(0.3), method = "mcmc",
        control = mcmc_control(2, 100, iter), seed = seed
      ))
    }
    stopped <- update(fit(100, seed), until = convergence(1.05, 200))
    c(
      mean(chain_matrices(stopped)$k),
      mean(chain_matrices(fit(600, seed + 1000))$k)
    )
  }, c(0, 0))
  difference <- pairs[1, ] - pairs[2, ]
  expect_lt(abs(mean(difference)) / (sd(difference) / sqrt(20)), 6)
})

test_that("max_iter ends a run that has not converged, and says so", {
  until <- convergence(ess = 1e6, max_iter = 70)
  warning <- expect_warning(
    long <- update(batch(20), until = until), class = "kb_warning_convergence"
  )
  expect_match(conditionMessage(warning), "70 iterations.*max_iter")
  expect_setequal(warning$variables, diagnostics(long)$convergence$variable)
  expect_identical(made(long), made(batch(70)))
  # A longer fit stays as it is.
  expect_warning(
    same <- update(long, until = convergence(ess = 1e6, max_iter = 10)),
    class = "kb_warning_convergence"
  )
  expect_identical(made(same), made(long))
})

test_that("the time limit ends a run, which can be continued", {
  until <- convergence(ess = 1e9, max_iter = 1e9)
  expect_warning(
    stopped <- suppressWarnings(
      update(batch(20), until = until, time_limit = 0.1),
      classes = "kb_warning_time_limit"
    ),
    class = "kb_warning_convergence"
  )
  expect_lt(stopped$control$iter, 1e9)
  ended <- suppressWarnings(update(stopped))
  expect_identical(ended$status, "complete")
  expect_identical(made(ended), made(batch(ended$control$iter)))
})

test_that("kgs fits with new rows continue, too", {
  moons <- sim_moons(50, flips = 0.1, seed = 1)
  fit <- suppressWarnings(kgs(y ~ x1 + x2, moons[1:40, ],
    kernel = kernel_gaussian(0.5), seed = 1,
    control = mcmc_control(chains = 2, warmup = 50, iter = 20)
  ))
  until <- convergence(1.1, 60)
  long <- update(fit, newdata = moons[41:50, ], until = until)
  expect_true(within(long, until))
  expect_identical(nobs(long), 50L)
  same <- suppressWarnings(update(fit,
    newdata = moons[41:50, ], iter = long$control$iter
  ))
  expect_identical(made(long), made(same))
})

test_that("constant quantities do not count, unless all are constant", {
  until <- convergence(1.05, 100)
  table <- data.frame(
    variable = c("good", "tails", "rhat", "bulk", "discrete", "few", "same"),
    rhat = c(1.05, 1, 1.06, 1, 1, NA, NA),
    ess_bulk = c(100, 200, 200, 99, 200, NA, NA),
    ess_tail = c(100, 99, 200, 200, NA, NA, NA)
  )
  table$constant <- table$variable == "same"
  expect_identical(
    beyond_thresholds(table, until)$variable, c("tails", "rhat", "bulk", "few")
  )
  expect_identical(beyond_thresholds(table[7, ], until)$variable, "same")
})

test_that("with an error only what users read counts", {
  until <- convergence(error = 0.2)
  table <- data.frame(
    variable = c("f[1]", "f[2]", "f[3]", "sigma", "b[x]", "J", "log_lambda[1]"),
    rhat = 2, ess_bulk = 3, ess_tail = 3,
    error = c(0.1, 0.1, NA, 0.2, 0.21, 9, 9),
    constant = c(FALSE, FALSE, TRUE, FALSE, FALSE, FALSE, FALSE)
  )
  expect_identical(beyond_reading(table, until)$variable, "b[x]")
  table$error[[2]] <- 0.3
  expect_identical(
    beyond_reading(table, until)$variable, c("f[1]", "f[2]", "b[x]")
  )
  expect_equal(prediction_error(table), sqrt(0.05))
  fit <- update(batch(20, 4), until = convergence(error = 0.1))
  expect_lte(prediction_error(chain_mixing(fit)), 0.1)
  expect_lt(
    update(batch(20, 4), until = convergence(error = 0.3))$control$iter,
    fit$control$iter
  )
  long <- expect_warning(
    update(batch(20), until = convergence(error = 1e-4, max_iter = 50)),
    "Predictions: Monte Carlo error", class = "kb_warning_convergence"
  )
  expect_output(print(until), "Monte Carlo error .* at most 20%")
  expect_output(print(mcmc_control(until = until)), "at most 20%")
  expect_error(convergence(error = 0), "`error`", class = "kb_error_argument")
})

test_that("thresholds are checked and printed", {
  for (rhat in list(1, NA, "a", c(1.1, 1.2), Inf)) {
    expect_error(convergence(rhat), "`rhat`", class = "kb_error_argument")
  }
  expect_error(convergence(ess = 0), "`ess`", class = "kb_error_argument")
  expect_error(
    convergence(max_iter = 1.5), "`max_iter`", class = "kb_error_argument"
  )
  expect_output(print(convergence(1.05, 99)), "1.05.*99.*100,000 iterations")
  fit <- batch(20)
  expect_error(
    update(fit, until = 1.01), "`until`", class = "kb_error_argument"
  )
  broken <- convergence()
  broken$ess <- "a"
  expect_error(update(fit, until = broken), class = "kb_error_argument")
  expect_error(
    update(fit, until = convergence(), iter = 0), "`iter`",
    class = "kb_error_argument"
  )
})

# In the control ---------------------------------------------------------------

test_that("a goal in the control continues chains as update() does", {
  until <- convergence(rhat = 1.05, ess = 100)
  moons <- sim_moons(40, flips = 0.1, seed = 1)
  control <- mcmc_control(2, 50, 20, until = until)
  plain <- mcmc_control(2, 50, 20)
  fits <- function(control) {
    suppressWarnings(list(
      batch(20, until = control$until),
      bark(y ~ x, line, control = control, seed = 1),
      kgs(y ~ x1 + x2, moons,
        kernel = kernel_gaussian(0.5), control = control, seed = 1
      )
    ))
  }
  Map(function(fit, short) {
    expect_true(within(fit, until))
    expect_identical(made(fit), made(update(short, until = until)))
    # A number of iterations is taken as it is.
    longer <- suppressWarnings(update(fit, iter = 1))
    expect_identical(longer$control$iter, fit$control$iter + 1L)
  }, fits(control), fits(plain))
})

test_that("a budget ends chains, and print() says so", {
  until <- convergence(rhat = 1.001, ess = 1e5, max_iter = 130)
  fit <- suppressWarnings(bark(y ~ x, line,
    control = mcmc_control(2, 20, 50, until = until), seed = 1
  ))
  expect_identical(fit$control$iter, 130L)
  expect_identical(fit$status, "complete")
  expect_output(print(fit), "budget used up, not converged")
})

test_that("a call that is stopped early continues towards its goal", {
  until <- convergence(rhat = 1.05, ess = 100)
  control <- function(...) mcmc_control(2, 50, 20, until = until, ...)
  whole <- suppressWarnings(
    bark(y ~ x, line, control = control(), seed = 1)
  )
  part <- suppressWarnings(
    bark(y ~ x, line, control = control(time_limit = 1e-6), seed = 1)
  )
  expect_identical(part$status, "time_limit")
  rest <- suppressWarnings(update(part, time_limit = Inf))
  expect_identical(made(rest), made(whole))
})

test_that("bark() chooses the length that is left open, by n and classes", {
  lengths <- vapply(c(10, 2000, 5000, 1e5), function(n) {
    length <- bark_length(n, "gaussian", n >= many_rows)
    c(length$chains, length$warmup, length$iter, length$until$max_iter)
  }, c(0L, 0L, 0L, 0L))
  expect_identical(lengths[, 1], c(8L, 100L, 100L, 400L))
  expect_identical(lengths[, 1], lengths[, 2])
  expect_identical(lengths[, 3], c(12L, 40L, 24L, 24L))
  expect_identical(lengths[, 4], c(8L, 15L, 20L, 20L))
  expect_identical(bark_length(3000, "gaussian")$until$max_iter, 301L)
  expect_identical(bark_length(10, "probit"), bark_length(10, "gaussian"))
  settings <- list(
    family = "gaussian", prior_only = FALSE,
    prior = list(own_scales = TRUE, nu = 20)
  )
  expect_true(moves_alone(settings, many_rows))
  expect_false(moves_alone(settings, many_rows - 1))
  settings$prior_only <- TRUE
  expect_false(moves_alone(settings, many_rows))
  two <- bark_length(1e4, "logit")
  expect_identical(
    c(two$warmup, two$iter, two$thin, two$until$max_iter), c(50L, 50L, 1L, 100L)
  )
  open <- mcmc_control(NULL, warmup = NULL, iter = NULL, thin = NULL)
  expect_output(print(open), "as needed")
  fit <- suppressWarnings(
    bark(y ~ x, line[1:10, ], control = open, seed = 1)
  )
  expect_length(fit$runs, 8)
  expect_identical(fit$control$warmup, 100L)
  expect_true(fit$control$iter %in% c(100L, 200L, 400L))
  expect_identical(fit$control$thin, 2L)
  # A length that is given is used.
  fit <- suppressWarnings(bark(y ~ x, line,
    control = mcmc_control(1, warmup = NULL, iter = 7, thin = NULL), seed = 1
  ))
  expect_identical(
    unlist(fit$control[c("warmup", "iter", "thin")]),
    c(warmup = 100L, iter = 7L, thin = 2L)
  )
  expect_null(fit$control$until)
  # Elsewhere chains start with 250 iterations.
  expect_identical(
    settled_control(open)[c("warmup", "iter", "thin")],
    list(warmup = 250L, iter = 250L, thin = 1L)
  )
  expect_identical(settled_control(open)$until, trusted_until(2000L))
})
