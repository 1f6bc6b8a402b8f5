# Particles shared among the kernels of an average: by a pilot, which is part of
# the fit, can be stopped and is never lost.

data <- sim_sinc(60, seed = 5)
few <- smc_control(100, n_moves = 2)

fit_shared <- function(..., rows = data, control = few, seed = 1,
                       kernel = kernel_gaussian("learn")) {
  suppressWarnings(
    srvm(y ~ x, rows,
      kernel = kernel, control = control, seed = seed, ...
    ),
    classes = c("kb_warning_low_ess", "kb_warning_time_limit")
  )
}

state_of <- function(fit) {
  lapply(fit$runs, function(run) {
    run[setdiff(names(run), c("seconds", "shared_seconds"))]
  })
}

test_that("probable kernels get the particles, others keep the pilot's", {
  fit <- fit_shared()
  n <- lengths(lapply(fit$runs, `[[`, "k"))
  expect_identical(n, kernel_particles(fit))
  p <- kernel_posterior(fit)$probability
  expect_identical(which.max(n), which.max(p))
  # 5 x 100 in all, half of which went into the pilot.
  expect_identical(min(n), 50L)
  again <- n > 50
  expect_lte(abs(sum(n[again]) - 250), 2)
  expect_gt(max(n), 100)
  expect_match(
    capture.output(print(fit)),
    paste0(sum(n), " for 5 kernels \\(50 to ", max(n), "\\)"),
    all = FALSE
  )
  # The remainder of the pilot equals a run with its particles.
  alone <- fit_shared(control = smc_control(50, n_moves = 2, pilot = 0))
  expect_identical(state_of(fit)[!again], state_of(alone)[!again])
})

test_that("a kernel runs again if only bad luck made it improbable", {
  shares <- function(difference, se) {
    withr::with_seed(1, {
      shares_by_evidence(c(-difference, 0, -80), rep(se^2, 3), 0.25)
    })
  }
  # Standard errors of 1.2 are as good as ones of 2.4: two in ten pilots in
  # which kernels of equal evidence are at least 4.5 apart.
  # kernels of equal evidence are 4.5 apart or more.
  expect_identical(shares(4.5, 1.2) > 0.25, c(TRUE, TRUE, FALSE))
  expect_identical(shares(15, 1.2) > 0.25, c(FALSE, TRUE, FALSE))
  expect_equal(sum(shares(4.5, 1.2)[1:2]), 3 * 0.75)
})

test_that("`pilot = 0`, few rows or particles, bounded memory share none", {
  shares <- function(...) fit_shared(...)$settings$shares
  expect_null(shares(control = smc_control(100, 2, pilot = 0)))
  expect_null(shares(rows = data[1:49, ]))
  expect_null(shares(control = smc_control(99, 2)))
  expect_null(shares(memory = srvm_memory(20)))
  expect_null(shares(kernel = kernel_gaussian(0.3)))
  expect_length(shares(), 5)
})

test_that("indistinguishable kernels have equal numbers", {
  noise <- data.frame(x = data$x, y = rep(c(-1, 1), 30))
  fit <- fit_shared(
    rows = noise, kernel = list(kernel_gaussian(5), kernel_gaussian(5.1))
  )
  expect_identical(fit$settings$shares, c(1, 1))
  expect_identical(
    state_of(fit),
    state_of(fit_shared(
      rows = noise, kernel = list(kernel_gaussian(5), kernel_gaussian(5.1)),
      control = smc_control(100, n_moves = 2, pilot = 0)
    ))
  )
})

test_that("a repeatedly stopped fit equals an uninterrupted one", {
  whole <- fit_shared()
  fit <- fit_shared(control = smc_control(100, n_moves = 2, time_limit = 1e-6))
  expect_identical(fit$status, "time_limit")
  stages <- logical()
  for (call in 1:1000) {
    if (fit$status == "complete") break
    stages <- c(stages, is_running_again(fit))
    fit <- suppressWarnings(update(fit, time_limit = 0.005))
  }
  # It was stopped in both stages.
  expect_true(any(stages) && !all(stages))
  expect_identical(state_of(fit), state_of(whole))
  expect_identical(fit$settings, whole$settings)
  expect_null(fit[["sharing"]])
})

test_that("while kernels run again the pilot answers, and says so", {
  fit <- fit_shared(control = smc_control(100, n_moves = 2, time_limit = 1e-6))
  while (!is_running_again(fit)) {
    fit <- suppressWarnings(update(fit, time_limit = 1e-6))
  }
  expect_identical(fit$status, "time_limit")
  expect_identical(fit$time, 60L)
  expect_equal(predict(fit, data), predict(fit_shared(
    control = smc_control(50, n_moves = 2, pilot = 0)
  ), data))
  expect_match(capture.output(print(fit)), "with few particles", all = FALSE)
  expect_warning(
    update(fit, time_limit = 1e-6), "while probable kernels ran again",
    class = "kb_warning_time_limit"
  )
  expect_error(update(fit, particles = 200),
    "once the fit is complete",
    class = "kb_error_argument"
  )
  # It can be saved and read, and rows can be added.
  file <- withr::local_tempfile(fileext = ".rds")
  saveRDS(fit, file)
  expect_identical(
    state_of(update(read_checkpoint(file), time_limit = Inf)),
    state_of(fit_shared())
  )
  longer <- update(fit, sim_sinc(5, seed = 6), time_limit = Inf)
  expect_identical(longer$time, 65L)
  expect_identical(longer$status, "complete")
})

test_that("checkpoints of both stages continue", {
  file <- withr::local_tempfile(fileext = ".rds")
  fit <- fit_shared(control = smc_control(100,
    n_moves = 2, checkpoint = file, checkpoint_every = 1e-6, time_limit = 1e-6
  ))
  while (!is_running_again(fit)) {
    fit <- suppressWarnings(update(fit, time_limit = 1e-6))
    expect_identical(state_of(readRDS(file)), state_of(fit))
  }
  done <- update(read_checkpoint(file), time_limit = Inf)
  expect_identical(state_of(done), state_of(fit_shared()))
  expect_identical(state_of(readRDS(file)), state_of(done))
})

test_that("a reference and update() keep the shares", {
  fit <- fit_shared()
  like_fit <- function(rows) {
    srvm(y ~ x, rows, reference = fit, control = few, seed = 1)
  }
  expect_identical(state_of(like_fit(data[1:60, ])), state_of(fit))
  part <- suppressWarnings(like_fit(data[1:20, ]))
  expect_identical(state_of(update(part, data[21:60, ])), state_of(fit))
  more <- update(fit, particles = 200)
  expect_identical(
    lengths(lapply(more$runs, `[[`, "k")),
    as.integer(round(200 * fit$settings$shares))
  )
})

test_that("replicates share alike, and order_spread() has the shares", {
  fit <- fit_shared(control = smc_control(100, n_moves = 2, replicates = 2))
  n <- lengths(lapply(fit$runs, `[[`, "k"))
  expect_identical(n[1:5], n[6:10])
  expect_s3_class(
    suppressWarnings(order_spread(fit, orders = 2, seed = 1)), "kb_order_spread"
  )
})

test_that("damaged shares are refused", {
  fit <- fit_shared()
  for (bad in list("a", -fit$settings$shares, c(1, 1), rep(NA_real_, 5))) {
    broken <- fit
    broken$settings$shares <- bad
    expect_error(predict(broken, data), class = "kb_error_fit")
  }
  broken <- fit
  broken$settings$prior$kernels <- 1
  expect_error(summary(broken), class = "kb_error_fit")
  broken <- fit
  broken$settings$shares <- rev(fit$settings$shares)
  expect_error(update(broken, data), class = "kb_error_fit")
  broken <- fit
  broken$sharing <- list(shares = fit$settings$shares, runs = fit$runs[1:2])
  expect_error(predict(broken, data), class = "kb_error_fit")
})
