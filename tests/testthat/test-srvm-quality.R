# Warnings: collapsed particles, founders without moves, responses without
# spread.

fit_line <- function(..., data = sim_sinc(30, seed = 1), seed = 1) {
  srvm(y ~ x, data,
    kernel = kernel_gaussian(0.2), control = smc_control(particles = 100, ...),
    seed = seed
  )
}

# A late outlier, with rows after it over which the last ESS recovers.
surprise <- transform(sim_sinc(40, seed = 1), y = y + 3 * (seq_along(y) == 30))
at_once <- smc_control(particles = 100, cess_threshold = 0)

test_that("a default fit is silent", {
  expect_silent(fit <- fit_line(data = sim_sinc(50, seed = 1)))
  expect_null(evidence(fit)$note)
  # Few founders do not matter if particles are moved.
  fit$runs[[1]]$path$founders[] <- 1L
  fit <- sealed(fit)
  expect_silent(warn_quality(fit))
})

test_that("a row in the middle that killed the particles gives a warning", {
  warning <- rlang::catch_cnd(
    fit <- srvm(y ~ x, surprise,
      kernel = kernel_gaussian(0.2), control = at_once, seed = 1
    ),
    "kb_warning_low_ess"
  )
  fit <- suppressWarnings(srvm(y ~ x, surprise,
    kernel = kernel_gaussian(0.2), control = at_once, seed = 1
  ))
  lowest <- diagnostics(fit)
  expect_lt(lowest$ess_min, 0.05)
  expect_gt(lowest$ess_final, 0.1)
  expect_match(
    conditionMessage(warning),
    paste0("at row ", lowest$ess_min_row, "\\.")
  )
  expect_match(conditionMessage(warning), "Raise `cess_threshold`",
    fixed = TRUE
  )
})

test_that("a warning is not repeated for later rows", {
  part <- suppressWarnings(srvm(y ~ x, surprise[1:35, ],
    kernel = kernel_gaussian(0.2), control = at_once, seed = 1
  ))
  expect_lt(diagnostics(part)$ess_min, 0.05)
  expect_silent(both <- update(part, newdata = surprise[36:40, ]))
  expect_match(evidence(both)$note, "ESS fell")
})

test_that("the advice depends on the settings", {
  fit <- fit_line(data = sim_sinc(10, seed = 1))
  advice <- function(...) {
    fit$control <- smc_control(particles = 100, ...)
    fit <- sealed(fit)
    particle_advice(fit)
  }
  expect_match(advice(), "Raise {.arg particles}", fixed = TRUE)
  expect_match(advice(cess_threshold = 0.2), "{.arg cess_threshold}",
    fixed = TRUE
  )
  expect_match(advice(cess_threshold = 0, powers = c(0.5, 1)),
    "{.arg cess_threshold}",
    fixed = TRUE
  )
  expect_match(advice(proposal = "paper"), "Raise {.arg particles}",
    fixed = TRUE
  )
})

test_that("few founders without moves give a warning, once", {
  warning <- rlang::catch_cnd(
    fit <- fit_line(n_moves = 0, data = sim_sinc(50, seed = 1)), "kb_warning"
  )
  expect_s3_class(warning, "kb_warning_no_moves")
  expect_match(conditionMessage(warning), "Raise `n_moves`", fixed = TRUE)
  fit <- suppressWarnings(
    fit_line(n_moves = 0, data = sim_sinc(50, seed = 1))
  )
  expect_lt(diagnostics(fit)$founders, 10)
  expect_match(evidence(fit)$note, "no moves")
  # With a bounded memory the shared centres are forgotten.
  stream <- fit
  stream$settings$memory <- srvm_memory(window = 20)
  stream <- sealed(stream)
  expect_silent(warn_quality(stream))
  expect_silent(update(fit, newdata = sim_sinc(2, seed = 2)))
})

test_that("responses without spread give a warning if priors depend on it", {
  expect_warning(srvm(4, 4271, seed = 1), "One row",
    class = "kb_warning_no_spread"
  )
  expect_warning(srvm(1:4, rep(7, 4), seed = 1), "All 4 responses",
    class = "kb_warning_no_spread"
  )
  known <- srvm_prior(noise = ig(1, 1), coef = ig(1, 1))
  expect_silent(fit <- srvm(4, 4271, prior = known, seed = 1))
  expect_silent(srvm(4, 4271, reference = fit, seed = 1))
  label <- factor(c("no", "yes"))
  expect_silent(srvm(1:2, label, seed = 1))
})
