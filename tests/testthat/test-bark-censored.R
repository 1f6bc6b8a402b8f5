# bark() of numbers that are censored: Weibull, log-normal and normal ones.
#
# Seen to fail with these faults, by quadrature here and in test-bark-glm.R: another
# Jacobian of the prior of log sigma, no -log(sigma) in the density.

skip_if_not_installed("survival")

times <- function(n = 60) {
  withr::with_seed(4, {
    data <- data.frame(a = stats::runif(n), z = stats::rnorm(n))
    true <- exp(1 + sin(6 * data$a) + 0.5 * log(stats::rexp(n)))
    limit <- stats::rexp(n, 0.15)
    data$time <- pmin(true, limit)
    data$event <- true <= limit
    data
  })
}

surv <- survival::Surv

quick_times <- function(formula, data = times(), ...) {
  suppressWarnings(
    bark(formula, data, seed = 1, ..., control = mcmc_control(2, 100, 100)),
    classes = "kb_warning_convergence"
  )
}

time_formula <- survival::Surv(time, event) ~ a

time_fits <- local({
  fits <- NULL
  function() {
    if (is.null(fits)) {
      fits <<- list(
        weibull = quick_times(time_formula),
        lognormal = quick_times(time_formula, family = "lognormal"),
        censored = quick_times(time_formula, family = gaussian())
      )
    }
    fits
  }
})

test_that("level, slope and scale have the posterior that quadrature gives", {
  # Null: 9 means of 8000 draws with standard errors from their effective number;
  # |z| > 4.5 has probability 7e-6 each.
  data <- times(14)
  data$z <- drop(scale(data$z))
  # Of all kinds, in the units of the model
  lower <- log(data$time)
  upper <- ifelse(data$event, lower, Inf)
  upper[3:4] <- lower[3:4]
  lower[3:4] <- -Inf
  upper[5:6] <- lower[5:6] + 0.7
  noises <- list(
    weibull = list(
      cdf = function(e) 1 - exp(-exp(e)), density = function(e) exp(e - exp(e))
    ),
    lognormal = list(cdf = stats::pnorm, density = stats::dnorm),
    gaussian = list(cdf = stats::pnorm, density = stats::dnorm)
  )
  grid <- expand.grid(
    level = seq(-2, 5, length.out = 36), slope = seq(-3, 3, length.out = 31),
    log_sigma = seq(-2, 2, length.out = 33)
  )
  for (family in names(noises)) {
    to <- if (family == "gaussian") identity else exp
    frame <- data.frame(z = data$z, from = to(lower), to = to(upper))
    frame$from[3:4] <- NA
    frame$to[is.infinite(frame$to)] <- NA
    fit <- bark(survival::Surv(from, to, type = "interval2") ~ z, frame,
      family = family, scale = FALSE, seed = 3,
      prior = bark_prior(
        gamma = 0, linear_sd = 2, noise = noise_gamma(2, 1.5)
      ),
      control = mcmc_control(4, 200, 2000)
    )
    noise <- noises[[family]]
    known <- lower == upper
    log_posterior <- mapply(function(level, slope, log_sigma) {
      e <- function(y) (y - level - slope * data$z) / exp(log_sigma)
      p <- ifelse(known, noise$density(e(lower)) / exp(log_sigma),
        noise$cdf(e(upper)) - noise$cdf(e(lower))
      )
      sum(log(p))
    }, grid$level, grid$slope, grid$log_sigma) +
      stats::dgamma(exp(-2 * grid$log_sigma), 2, 1.5, log = TRUE) -
      2 * grid$log_sigma
    sd <- fit$settings$mixed$sd
    log_posterior <- log_posterior +
      stats::dnorm(grid$level, 0, sd[[1]], log = TRUE) +
      stats::dnorm(grid$slope, 0, sd[[2]], log = TRUE)
    pool <- bark_pool(fit)
    gamma <- matrix(pool$gamma, 2)
    scores <- quadrature_scores(
      list(gamma[1, ], gamma[2, ], -log(pool$noise) / 2), grid, log_posterior
    )
    expect_lt(max(abs(scores)), 4.5, label = family)
  }
})

test_that("narrow intervals are numbers", {
  data <- times()
  data$event <- TRUE
  known <- quick_times(time_formula, data)
  expect_equal(
    fitted(quick_times(time ~ a, data, family = "weibull")), fitted(known)
  )
  # Up to rounding, which chains magnify: short ones.
  short <- mcmc_control(1, 5, 5)
  fit <- function(formula) {
    suppressWarnings(bark(formula, data,
      family = "lognormal", seed = 1, control = short
    ))
  }
  data$from <- data$time * (1 - 1e-7)
  data$to <- data$time * (1 + 1e-7)
  expect_equal(
    fitted(fit(survival::Surv(from, to, type = "interval2") ~ a)),
    fitted(fit(time ~ a)),
    tolerance = 1e-4
  )
})

test_that("other units of time change no result", {
  fit <- time_fits()$weibull
  other <- quick_times(
    survival::Surv(1000 * time, event) ~ a, family = "weibull"
  )
  expect_equal(fitted(other), 1000 * fitted(fit), tolerance = 1e-6)
  expect_equal(sigma(other), sigma(fit), tolerance = 1e-6)
  events <- sum(times()$event)
  expect_equal(
    mean(chain_matrices(other)$log_lik),
    mean(chain_matrices(fit)$log_lik) - events * log(1000),
    tolerance = 1e-6
  )
})

test_that("survival, quantiles and densities agree", {
  data <- times()[1:5, ]
  for (name in names(time_fits())) {
    fit <- time_fits()[[name]]
    q <- predict(fit, data, type = "quantile", probs = c(0.2, 0.7))
    survival <- vapply(1:5, function(i) {
      predict(fit, data[i, ], type = "survival", times = q[i, ])
    }, numeric(2))
    expect_equal(t(survival), matrix(c(0.8, 0.3), 5, 2, byrow = TRUE),
      tolerance = 1e-6
    )
    # The derivative of survival is minus the density.
    h <- 1e-4
    for (i in 1:5) {
      at <- q[i, 1]
      ends <- predict(fit, data[i, ],
        type = "survival", times = at + c(-h, h)
      )
      event <- transform(data[i, ], time = at, event = TRUE)
      expect_equal(predict(fit, event, type = "log_score"),
        log(-diff(c(ends)) / (2 * h)),
        tolerance = 1e-5
      )
      later <- transform(event, event = FALSE)
      expect_equal(predict(fit, later, type = "log_score"),
        log(c(predict(fit, later, type = "survival", times = at)))
      )
    }
    bands <- predict(fit, data,
      type = "survival", times = c(1, 3), interval = "credible"
    )
    expect_identical(dim(bands), c(5L, 2L, 3L))
    expect_true(all(bands[, , "lwr"] <= bands[, , "upr"]))
    expect_equal(bands[, , "fit"],
      predict(fit, data, type = "survival", times = c(1, 3))
    )
    limits <- predict(fit, data, interval = "prediction")
    expect_equal(unname(limits[, 2:3]), unname(
      predict(fit, data, type = "quantile", probs = c(0.05, 0.95))
    ))
    # Null: means of 20 000 draws; |z| > 4.5 has probability 7e-6 each.
    y <- withr::with_seed(1, {
      do.call(rbind, lapply(1:100, function(i) {
        rstantools::posterior_predict(fit, newdata = data[1:2, ])
      }))
    })
    below <- colMeans(t(t(y) < q[1:2, 2]))
    expect_lt(max(abs(below - 0.7)) / sqrt(0.21 / 20000), 4.5)
  }
})

test_that("times are predicted by their median", {
  f <- matrix(0.3, 1, 1)
  scale <- 0.6
  fit <- time_fits()$weibull
  pool <- list(noise = 1 / (scale / fit$settings$scaling$y_scale)^2)
  expect_equal(
    response_families$weibull$expected(fit, f, pool, 1)[[1]],
    stats::qweibull(0.5, 1 / scale, exp(0.3))
  )
  expect_equal(
    response_families$lognormal$expected(fit, f, pool, 1)[[1]], exp(0.3)
  )
  new <- times()[1:3, ]
  expect_equal(
    predict(fit, new),
    predict(fit, new, type = "quantile", probs = 0.5)[, 1]
  )
})

test_that("quantiles are right where draws differ by orders of magnitude", {
  data <- data.frame(
    x = seq(0, 1, length.out = 60), time = 1, event = rep(1:0, c(3, 57))
  )
  data$time[1:3] <- c(0.2, 0.5, 0.9)
  for (family in c("weibull", "lognormal")) {
    fit <- quick_times(survival::Surv(time, event) ~ x, data, family = family)
    q <- predict(fit, data[1:2, ], type = "quantile", probs = c(0.05, 0.5))
    below <- vapply(1:2, function(k) {
      1 - diag(predict(fit, data[1:2, ], type = "survival", times = q[, k]))
    }, numeric(2))
    expect_equal(below, matrix(c(0.05, 0.5), 2, 2, byrow = TRUE),
      tolerance = 1e-6
    )
    expect_true(all(is.finite(predict(fit))))
  }
})

test_that("time 0 and open limits say what they say", {
  data <- times()
  data$time[1:2] <- 0
  data$event[1:2] <- FALSE
  fit <- quick_times(time_formula, data, family = "weibull")
  expect_equal(predict(fit, data[1:2, ], type = "log_score"), c(0, 0))
  data <- transform(times(), from = time, to = ifelse(event, time, NA))
  data$from[3:4] <- NA
  data$to[3:4] <- data$time[3:4]
  limits <- quick_times(survival::Surv(from, to, type = "interval2") ~ a, data)
  score <- predict(limits, data, type = "log_score")
  expect_true(all(is.finite(score)))
  expect_equal(score[[3]],
    log(1 - c(predict(limits, data[3, ], type = "survival", times = data$to[[3]])))
  )
  expect_error(
    predict(fit, transform(data, event = TRUE, time = 0), type = "log_score"),
    class = "kb_error_outcome"
  )
  none <- transform(data, time = NA_real_)
  expect_true(all(is.na(predict(fit, none, type = "log_score"))))
})

test_that("log densities of intervals lose no digits in tails", {
  far <- log_between(normal_noise, c(10, -11, 9), c(11, -10, Inf))
  expect_equal(far[[1]], far[[2]])
  expect_equal(far[[3]],
    stats::pnorm(9, lower.tail = FALSE, log.p = TRUE)
  )
  expect_true(is.finite(far[[1]]))
  expect_equal(log_between(extreme_noise, -Inf, -40), -40)
})

test_that("limits of detection, left and interval censoring are read", {
  y <- survival::Surv(c(1, 2, 3), c(TRUE, FALSE, TRUE), type = "left")
  expect_equal(unname(outcome_interval(y, "y")),
    cbind(c(1, -Inf, 3), c(1, 2, 3))
  )
  y <- survival::Surv(c(1, NA, 3, 4), c(1, 2, NA, 6), type = "interval2")
  expect_equal(unname(outcome_interval(y, "y")),
    cbind(c(1, -Inf, 3, 4), c(1, 2, Inf, 6))
  )
  y <- survival::Surv(c(1, 2, 3, 4), c(0, 0, 0, 6), c(1, 0, 2, 3),
    type = "interval"
  )
  expect_equal(unname(outcome_interval(y, "y")),
    cbind(c(1, 2, -Inf, 4), c(1, Inf, 3, 6))
  )
})

test_that("methods know what is censored", {
  data <- times()
  fit <- time_fits()$weibull
  expect_identical(is.na(residuals(fit)), !data$event)
  expect_output(print(fit), "kernels, Weibull")
  expect_output(print(fit), "noise scale")
  expect_no_error(plot(fit))
  expect_no_error(partial_dependence(fit, "a"))
  expect_true(all(is.finite(rstantools::log_lik(fit))))
  more <- suppressWarnings(update(fit, iter = 20))
  expect_identical(nrow(predict(more, data[1:2, ], type = "draws")), 240L)
  expect_error(rstantools::bayes_R2(fit), class = "kb_error_not_defined")
  expect_error(predict(fit, data, type = "survival"),
    class = "kb_error_argument"
  )
})

test_that("other responses are errors that say what is taken", {
  data <- times()
  bad <- function(formula, class = "kb_error_outcome", ...) {
    expect_error(bark(formula, data, ...), class = class)
  }
  data$event0 <- FALSE
  bad(survival::Surv(time, event0) ~ a)
  bad(survival::Surv(time - 2, event) ~ a)
  bad(survival::Surv(time, time + 1, event) ~ a)
  bad(event ~ a, family = "weibull")
  bad(survival::Surv(time, event) ~ a, family = "poisson")
  bad(survival::Surv(time, event) ~ a, "kb_error_argument",
    prior = bark_prior(df = 4)
  )
})
