# order_spread(): runs in random orders, and their joint results.

data <- sim_sinc(20, seed = 3)
small <- smc_control(particles = 40, n_moves = 2)

fit_small <- function(..., control = small) {
  few_particles(srvm(y ~ x, data,
    kernel = kernel_gaussian(0.3), control = control, seed = 5,
    progress = FALSE, ...
  ))
}

test_that("every order is a fit of the rows in that order", {
  fit <- fit_small()
  spread <- order_spread(fit, orders = 3, seed = 7)
  expect_s3_class(spread, "kb_order_spread")
  expect_identical(spread$status, "complete")
  expect_identical(spread$orders$order, 1:3)
  expect_identical(dim(spread$predictions), c(20L, 3L))
  expect_identical(anyDuplicated(spread$orders$log_evidence), 0L)
  # The first order, fitted by srvm() under the same settings and seed.
  first <- with_local_seed(7, sample.int(20))
  same <- few_particles(srvm(y ~ x, data[first, ],
    control = small, reference = fit, seed = 7, progress = FALSE
  ))
  z <- evidence(same)
  k <- model_size(same)
  expect_identical(spread$orders$log_evidence[[1]], z$log_evidence)
  expect_identical(spread$orders$mc_se[[1]], z$mc_se)
  expect_equal(spread$orders$k[[1]], sum(k$k * k$probability))
  expect_identical(spread$orders$sigma[[1]], sigma(same))
  expect_identical(spread$orders$ess_fraction[[1]], tail(ess(same)$fraction, 1))
  expect_equal(spread$predictions[, 1], predict(same, data))
  # Summaries over all of them.
  expect_equal(spread$sd_log_evidence, sd(spread$orders$log_evidence))
  expect_equal(
    spread$rms_spread, sqrt(mean(apply(spread$predictions, 1, var)))
  )
  se <- spread$orders$mc_se
  if (!anyNA(se)) expect_equal(spread$rms_mc_se, sqrt(mean(se^2)))
})

test_that("one seed gives one result, NULL one from R's generator", {
  fit <- fit_small()
  spread <- order_spread(fit, orders = 3, seed = 7)
  expect_identical(order_spread(fit, orders = 3, seed = 7), spread)
  # More orders extend the existing ones.
  more <- order_spread(fit, orders = 4, seed = 7)
  expect_identical(more$orders[1:3, ], spread$orders)
  expect_false(identical(
    order_spread(fit, orders = 3, seed = 8)$orders, spread$orders
  ))
  withr::local_preserve_seed()
  set.seed(1)
  before <- .Random.seed
  order_spread(fit, orders = 2, seed = 7)
  expect_identical(.Random.seed, before)
  drawn <- order_spread(fit, orders = 2)
  expect_false(identical(.Random.seed, before))
  expect_identical(order_spread(fit, orders = 2, seed = drawn$seed), drawn)
})

test_that("it does not matter how the fit was made", {
  spread <- order_spread(fit_small(), orders = 2, seed = 7)
  others <- list(
    fit_small(order = "random"),
    fit_small(control = smc_control(
      particles = 40, n_moves = 2, replicates = 2, ancestry = "full",
      threads = 2, checkpoint = file.path(local_folder(), "fit.rds")
    ))
  )
  for (fit in others) {
    file <- fit$control$checkpoint
    written <- if (!is.null(file)) file.mtime(file)
    expect_identical(order_spread(fit, orders = 2, seed = 7), spread)
    if (!is.null(file)) expect_identical(file.mtime(file), written)
  }
})

test_that("newdata is predicted, NA for rows with missing values", {
  fit <- fit_small()
  new <- data.frame(x = c(0, NA, 2))
  spread <- order_spread(fit, orders = 2, newdata = new, seed = 7)
  expect_identical(dim(spread$predictions), c(3L, 2L))
  expect_true(all(is.na(spread$predictions[2, ])))
  training <- order_spread(fit, orders = 2, newdata = data, seed = 7)
  expect_equal(
    training$predictions, order_spread(fit, 2, seed = 7)$predictions
  )
  expect_true(is.finite(spread$rms_spread))
  one <- order_spread(fit, 2, newdata = new[1, , drop = FALSE], seed = 7)
  expect_equal(one$predictions, spread$predictions[1, , drop = FALSE])
})

test_that("only the processed rows are used", {
  fit <- fit_small()
  part <- few_particles(srvm(y ~ x, data[1:12, ],
    control = small, reference = fit, seed = 5
  ))
  spread <- order_spread(part, orders = 2, seed = 7)
  longer <- append_rows(part, list(x = fit$data$x[13:20, , drop = FALSE],
    y = fit$data$y[13:20]
  ))
  longer <- sealed(longer)
  expect_identical(order_spread(longer, orders = 2, seed = 7), spread)
  expect_identical(spread$n, 12L)
})

test_that("bad input is refused by class", {
  fit <- fit_small()
  expect_error(order_spread(lm(1 ~ 1)), class = "kb_error_not_defined")
  expect_error(order_spread(fit, 1), "orders", class = "kb_error_argument")
  expect_error(order_spread(fit, 2.5), class = "kb_error_argument")
  expect_error(order_spread(fit, seed = "a"), class = "kb_error_argument")
  expect_error(order_spread(fit, progress = 1), class = "kb_error_argument")
  expect_error(
    order_spread(fit, rows = 1), class = "kb_error_unknown_argument"
  )
  expect_error(
    order_spread(fit, newdata = data.frame(z = 1)), class = "kb_error_columns"
  )
  unborn <- fit
  unborn$time <- 0L
  unborn$runs <- list(NULL)
  unborn <- sealed(unborn)
  expect_error(order_spread(unborn), class = "kb_error_not_defined")
})

test_that("a stopped run reports the finished orders", {
  fit <- fit_small()
  stopped <- fit
  stopped$control$time_limit <- 1e-9
  stopped <- sealed(stopped)
  expect_error(order_spread(stopped, 3, seed = 7),
    class = "kb_error_time_limit"
  )
  # What run_engine() returns if it is stopped within the second order.
  all <- order_spread(fit, 3, seed = 7)
  unordered <- unordered_fit(fit, 7)
  engine <- orders_engine(unordered, 3)
  out <- run_engine(engine, vector("list", 3), small, FALSE)
  out$status <- "interrupted"
  out$states[[2]]$time <- 11L
  out$states[3] <- list(NULL)
  at <- prediction_rows(fit, NULL, NULL, TRUE, FALSE)
  expect_warning(
    part <- gather_orders(unordered, engine, out, at), "1 of 3",
    class = "kb_warning_interrupted"
  )
  expect_identical(part$orders, all$orders[1, ])
  expect_identical(part$predictions, all$predictions[, 1, drop = FALSE])
  expect_identical(part$status, "interrupted")
  expect_output(print(part), "1 random order \\(of 3 requested\\)")
  expect_output(print(part), "cannot be compared")
  out$states[1] <- list(NULL)
  expect_error(gather_orders(unordered, engine, out, at),
    class = "kb_error_interrupted"
  )
})

test_that("workers agree with this process", {
  fit <- fit_small()
  serial <- order_spread(fit, 3, seed = 7)
  local_workers()
  expect_identical(order_spread(fit, 3, seed = 7), serial)
})

# Null: every order's Z-hat is an unbiased estimate of the same Z, known by
# enumeration, and Z-hat times the posterior mean of f is one of Z times that
# mean. Means over 60 orders are nearly normal and there are 28 z-scores: |z| >
# 6 has probability 1.3e-7 by t with 59 degrees of freedom. The variance of log
# Z-hat over orders, divided by the mean of the variances that the runs report,
# is nearly chi-square over 59: a factor of 4 (2 in standard deviations) has
# probability below 1e-6.
test_that("log evidence does not depend on the order", {
  x <- as.matrix(c(0.3, -1.7, 2.1, -0.4, 1.2, 0.8))
  y <- c(1.05, 0.21, -0.32, 0.86, 0.55, -0.17)
  noise <- list(shape = 3, scale = 0.3)
  coef <- list(shape = 3, scale = 2)
  for (centres in c("subset", "iid")) {
    exact <- oracle_posterior(
      x, y, oracle_kernel_gaussian(0.9), 1.3, 5, centres, noise, coef
    )
    for (n_moves in c(0, 4)) {
      fit <- few_particles(srvm(x, y,
        kernel = kernel_gaussian(0.9), scale = FALSE,
        prior = srvm_prior(1.3, 5, centres, ig(3, 0.3), ig(3, 2)),
        control = smc_control(400, n_moves), seed = 1
      ))
      spread <- order_spread(fit, 60, seed = 11)
      ratio <- exp(spread$orders$log_evidence - exact$log_evidence)
      truth <- oracle_predict(exact, x)$mean
      zero <- rbind(ratio - 1, t(ratio * t(spread$predictions - truth)))
      z <- rowMeans(zero) / (apply(zero, 1, sd) / sqrt(60))
      expect_lt(max(abs(z)), 6)
      expect_lt(abs(log(spread$sd_log_evidence / spread$rms_mc_se)), log(2))
    }
  }
})

# Printing and drawing ---------------------------------------------------------

test_that("print() says in words whether the spread agrees with mc_se", {
  spread <- order_spread(fit_small(), 4, seed = 7)
  lines <- capture.output(returned <- withVisible(print(spread)))
  expect_lte(length(lines), 15)
  expect_true(all(nchar(lines) <= 80))
  expect_identical(returned$value, spread)
  expect_false(returned$visible)
  said <- function(ratio) {
    spread$sd_log_evidence <- ratio * spread$rms_mc_se
    spread_in_words(spread)
  }
  spread$rms_mc_se <- 0.1
  expect_match(said(1), "is in line with mc_se: their ratio is 1, where")
  expect_match(said(3), "is larger than mc_se.*raise `particles`")
  expect_match(said(0.1), "is smaller than mc_se")
  spread$rms_mc_se <- NA
  expect_match(said(1), "there is no mc_se")
})

test_that("plot() draws any number of orders", {
  grDevices::pdf(NULL)
  withr::defer(grDevices::dev.off())
  spread <- order_spread(fit_small(), 12, seed = 7)
  drawn <- withVisible(plot(spread))
  expect_identical(drawn, list(value = spread, visible = FALSE))
  spread$orders <- spread$orders[1, ]
  spread$orders$mc_se <- NA
  expect_silent(plot(spread, main = "one"))
  expect_error(plot(spread, lwd = 2), class = "kb_error_unknown_argument")
  expect_equal(whole_ticks(c(0.5, 2.5)), 1:2)
  expect_equal(whole_ticks(c(0.5, 10.5)), seq(2, 10, 2))
  expect_equal(whole_ticks(c(0.5, 60.5)), seq(10, 60, 10))
})
