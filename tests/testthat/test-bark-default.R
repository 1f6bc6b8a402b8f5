# What bark() does if nothing is said: for numbers kernels with their own
# scales, learned degrees of freedom and logarithms of skewed predictors.

tailed <- function(n = 60) {
  withr::with_seed(4, {
    data <- data.frame(
      right = exp(rnorm(n)), left = -exp(rnorm(n)), plain = rnorm(n),
      few = rep(c(1, 1, 1, 1, 1, 9), length.out = n)
    )
    data$y <- log(data$right) + data$plain + rnorm(n) / 5
    data
  })
}

test_that("beside terms scales are clustered, unless there are many rows", {
  prior <- prior_for(bark_prior(), "gaussian", beside = TRUE)
  expect_identical(prior$own_scales, "clustered")
  expect_identical(prior[c("eps", "scales")], list(eps = 1, scales = c(1, 0.3)))
  expect_identical(prior$centres, centre_near_rows(1))
  given <- bark_prior(eps = 0.2, scales = c(2, 2), centres = centre_rows())
  resolved <- prior_for(given, "gaussian", beside = TRUE)
  expect_identical(resolved[names(given)[3:4]], unclass(given)[3:4])
  expect_identical(resolved$scales, c(2, 2))
  expect_identical(
    prior_for(bark_prior(), "gaussian", beside = TRUE, n = most_clustered_rows),
    prior_for(bark_prior(), "gaussian", n = most_clustered_rows)
  )
  expect_false(prior_for(bark_prior(), "binomial", beside = TRUE)$own_scales)
  expect_error(
    prior_for(bark_prior(own_scales = "clustered"), "binomial"),
    "numeric responses", class = "kb_error_argument"
  )
  expect_output(
    print(bark_prior(own_scales = "clustered")), "eps = 1.*shares those of others"
  )
})

test_that("numbers have own scales and learned degrees of freedom", {
  prior <- prior_for(bark_prior(), "gaussian")
  expect_true(prior$own_scales)
  expect_identical(prior$df, "learned")
  expect_identical(prior$scales, c(0.5, 0.05))
  for (family in c("probit", "ordered", "multinomial")) {
    prior <- prior_for(bark_prior(), family)
    expect_false(prior$own_scales)
    expect_identical(prior$df, Inf)
    expect_identical(prior$scales, c(1, 1))
  }
  # Where they are not defined they are not the default.
  for (prior in list(
    bark_prior(directions = 1), bark_prior(approximation = "truncation")
  )) {
    expect_false(prior_for(prior, "gaussian")$own_scales)
  }
  truncated <- bark_prior(approximation = "truncation")
  expect_identical(prior_for(truncated, "gaussian")$df, Inf)
})

test_that("there is a linear part where it gains more than it costs", {
  expect_identical(prior_for(bark_prior(), "gaussian", n = 4999, p = 30)$linear, 0.3)
  expect_identical(prior_for(bark_prior(linear = 1), "gaussian")$linear, 1)
  # Classes and counts, too.
  expect_identical(prior_for(bark_prior(), "binomial")$linear, 0.3)
  without <- list(
    prior_for(bark_prior(), "gaussian", n = 5000),
    prior_for(bark_prior(), "gaussian", p = 31),
    prior_for(bark_prior(), "gaussian", beside = TRUE),
    prior_for(bark_prior(), "binomial", n = 5000),
    prior_for(bark_prior(), "binomial", beside = TRUE),
    prior_for(bark_prior(directions = 1), "gaussian"),
    prior_for(bark_prior(approximation = "truncation"), "gaussian"),
    prior_for(bark_prior(gamma = 0), "gaussian"),
    prior_for(bark_prior_paper(), "gaussian"),
    prior_for(bark_prior(linear = 0), "gaussian")
  )
  for (prior in without) {
    expect_false("linear" %in% used_options(prior))
    expect_identical(below_lm(prior), 0.9)
  }
  # The linear part takes the place of the noise of lm().
  expect_identical(below_lm(prior_for(bark_prior(), "gaussian")), 0.75)
  expect_output(print(bark_prior()), "P\\(sd < .*\\) = 0.75.*linear part: sd of slopes")
  expect_output(print(bark_prior_paper()), "P\\(sd < .*\\) = 0.9")
})

test_that("what is said is kept", {
  prior <- prior_for(bark_prior(df = 4, own_scales = FALSE), "gaussian")
  expect_identical(prior[c("df", "own_scales")], list(df = 4, own_scales = FALSE))
  expect_identical(
    prior_for(bark_prior_paper("equal", gamma = 3), "gaussian"),
    prior_for(
      bark_prior("equal", gamma = 3, df = Inf, own_scales = FALSE, linear = 0),
      "gaussian"
    )
  )
  expect_true(bark_prior_paper(own_scales = TRUE)$own_scales)
  expect_error(bark_prior_paper(colour = 1), "unused")
})

test_that("the default fit has every method", {
  data <- tailed()
  fit <- suppressWarnings(bark(y ~ ., data,
    control = mcmc_control(2, 60, 60), seed = 1
  ))
  expect_output(print(fit), "each with scales of its own")
  expect_output(print(fit), "Student's t, median df")
  expect_output(print(fit), "logarithms: +right, left")
  expect_identical(dim(predict(fit, data[1:3, ], interval = "prediction")), c(3L, 3L))
  expect_s3_class(importance(fit), "data.frame")
  curve <- partial_dependence(fit, "right")
  expect_true(all(is.finite(curve$mean)))
  # By definition: the mean over rows of predictions with the predictor set.
  moved <- data
  moved$right <- curve$right[[3]]
  expect_equal(curve$mean[[3]], mean(predict(fit, moved)), tolerance = 1e-8)
})

test_that("the budget is said before, and its end after", {
  data <- tailed(20)
  expect_message(
    fit <- suppressWarnings(bark(y ~ ., data,
      control = mcmc_control(chains = 2, warmup = NULL, iter = NULL),
      seed = 1, progress = TRUE
    )),
    "400 iterations each", class = "kb_message_budget"
  )
  expect_output(print(fit), "after 100: (converged|budget used up)")
  fit$control$until$error <- 1e-6
  fit <- sealed(fit)
  expect_output(print(fit), "after 100: budget used up, not converged")
  fit$control$until$error <- 10
  fit <- sealed(fit)
  expect_output(print(fit), "after 100: converged")
})

test_that("chains of a given length have a verdict, too, if they can", {
  fit <- suppressWarnings(bark(y ~ ., tailed(20),
    control = mcmc_control(chains = 2, warmup = 10, iter = 100), seed = 1
  ))
  printed <- function(error) {
    local_mocked(trusted_mixing = list(error = error))
    paste(capture.output(print(fit)), collapse = "\n")
  }
  expect_match(printed(1e-6), "100 iterations after 10: not converged")
  expect_match(printed(100), "100 iterations after 10: converged")
  for (control in list(mcmc_control(1, 10, 100), mcmc_control(2, 10, 20))) {
    fit <- suppressMessages(suppressWarnings(
      bark(y ~ ., tailed(20), control = control, seed = 1)
    ))
    expect_output(print(fit), "iterations after [0-9]+\\n")
  }
})

test_that("logarithms are taken of predictors, not of bases or products", {
  mould <- mould_formula(
    y ~ right + poly(right, 2) + right:left + I(2 * right), tailed()
  )
  expect_identical(mould$x_names[may_take_logs(mould)],
    c("right", "I(2 * right)")
  )
  expect_identical(
    logged(scaling_learn(mould$x, mould$y, TRUE, may_take_logs(mould))),
    c("right", "I(2 * right)")
  )
  long <- list(settings = list(scaling = list(
    x_center = stats::setNames(1:5, rep(strrep("x", 30), 5)),
    x_log = list(side = rep(1, 5))
  )))
  expect_lte(max(nchar(strsplit(logs_line(long), "\n")[[1]])), 80)
})

test_that("a long tail is known by its skewness", {
  data <- tailed()
  fit <- function(...) {
    suppressWarnings(bark(y ~ ., data,
      control = mcmc_control(1, 2, 2), seed = 1, ...
    ))
  }
  scaling <- fit()$settings$scaling
  expect_identical(logged(scaling), c("right", "left"))
  expect_identical(scaling$x_log$side, c(1, -1, 0, 0))
  expect_null(fit(scale = "linear")$settings$scaling$x_log)
  expect_null(fit(scale = FALSE)$settings$scaling$x_log)
  for (wrong in list("log", NA, 1, c(TRUE, TRUE))) {
    expect_error(fit(scale = wrong), "`scale`", class = "kb_error_argument")
  }
})

test_that("logarithms are monotone and the same in any units", {
  x <- as.matrix(tailed()[1:4])
  s <- scaling_learn(x, numeric(nrow(x)), TRUE, TRUE)
  z <- scaling_x(s, x)
  expect_equal(colMeans(z), c(right = 0, left = 0, plain = 0, few = 0))
  expect_equal(apply(z, 2, sd), c(right = 1, left = 1, plain = 1, few = 1))
  beyond <- seq(-10, 10, length.out = 201)
  ends <- scaling_x(s, cbind(right = beyond, left = beyond, beyond, beyond))
  expect_true(all(apply(ends, 2, diff) > 0))
  # Continuous, with its slope, at the end of the data.
  at <- s$x_log$from[[1]]
  close <- scaling_x(s, cbind(at + c(-1e-6, 0, 1e-6)), 1)
  expect_equal(diff(close)[[1]], diff(close)[[2]], tolerance = 1e-5)
  for (unit in list(c(3, 100), c(-1e-5, 2))) {
    other <- x * unit[[1]] + unit[[2]]
    t <- scaling_learn(other, numeric(nrow(x)), TRUE, TRUE)
    expect_equal(scaling_x(t, other), sign(unit[[1]]) * z, tolerance = 1e-8)
  }
  expect_equal(scaling_x(s, x[, 3:2], 3:2), z[, 3:2])
})
