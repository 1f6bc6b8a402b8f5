# bark() of numbers of successes, and of two classes with a logit link.

trial_data <- function(n = 60) {
  withr::with_seed(3, {
    data <- data.frame(a = stats::runif(n), z = stats::rnorm(n))
    data$n <- sample(0:9, n, TRUE)
    data$s <- stats::rbinom(n, data$n, stats::plogis(2 * sin(6 * data$a)))
    data$f <- data$n - data$s
    data$y <- stats::rbinom(n, 1, stats::plogis(2 * sin(6 * data$a)))
    data$class <- factor(data$y, labels = c("no", "yes"))
    data
  })
}

quick_trials <- function(formula, family, data = trial_data(), ...) {
  suppressWarnings(
    bark(formula, data, family = family, seed = 1, ...,
      control = mcmc_control(2, 100, 100)
    ),
    classes = "kb_warning_convergence"
  )
}

trial_fits <- local({
  fits <- NULL
  function() {
    if (is.null(fits)) {
      fits <<- list(
        logit = quick_trials(cbind(s, f) ~ a, binomial()),
        probit = quick_trials(cbind(s, f) ~ kernels(a) + z, binomial("probit")),
        classes = quick_trials(class ~ a, binomial())
      )
    }
    fits
  }
})

test_that("linear coefficients have the posterior that quadrature gives", {
  # Null: 4 means of 8000 draws with standard errors from their effective number;
  # |z| > 4.5 has probability 7e-6 each.
  data <- trial_data(12)
  z <- drop(scale(data$z))
  p <- (sum(data$s) + 0.5) / (sum(data$n) + 1)
  for (link in c("logit", "probit")) {
    fit <- bark(cbind(s, f) ~ z, data,
      family = binomial(link), prior = bark_prior(gamma = 0), seed = 3,
      control = mcmc_control(4, 200, 2000)
    )
    of <- stats::make.link(link)
    grid <- expand.grid(
      level = of$linkfun(p) + seq(-3, 3, length.out = 121),
      slope = seq(-3, 3, length.out = 121)
    )
    log_posterior <- mapply(function(level, slope) {
      p <- of$linkinv(level + slope * z)
      sum(stats::dbinom(data$s, data$n, p, log = TRUE))
    }, grid$level, grid$slope) +
      stats::dnorm(grid$level, of$linkfun(p), 2.5, log = TRUE) +
      stats::dnorm(grid$slope, 0, 2.5, log = TRUE)
    gamma <- matrix(bark_pool(fit)$gamma, 2)
    scores <- quadrature_scores(
      list(gamma[1, ], gamma[2, ]), grid, log_posterior
    )
    expect_lt(max(abs(scores)), 4.5, label = link)
  }
})

test_that("classes, zeros and ones, and single trials are the same", {
  data <- trial_data()
  classes <- trial_fits()$classes
  numbers <- quick_trials(y ~ a, binomial())
  pairs <- quick_trials(cbind(y, 1 - y) ~ a, "binomial")
  f <- predict(classes, type = "draws")
  expect_equal(predict(numbers, type = "draws"), f)
  expect_equal(predict(pairs, type = "draws"), f)
  expect_equal(
    predict(numbers, type = "log_score"), predict(classes, type = "log_score")
  )
  xy <- bark(data["a"], data$y,
    family = binomial(), seed = 1, control = mcmc_control(2, 100, 100)
  ) |> suppressWarnings()
  expect_equal(predict(xy, type = "draws"), f)
})

test_that("predictions are means over draws", {
  data <- trial_data()[1:6, ]
  for (name in names(trial_fits())) {
    fit <- trial_fits()[[name]]
    inverse <- if (name == "probit") stats::pnorm else stats::plogis
    f <- predict(fit, data, type = "draws")
    p <- inverse(f)
    expect_equal(predict(fit, data, type = "response"), colMeans(p))
    bands <- predict(fit, data, type = "response", interval = "credible")
    expect_equal(bands[, "lwr"],
      apply(p, 2, stats::quantile, 0.05, names = FALSE)
    )
    of <- if (name == "classes") {
      list(y = data$y, n = rep(1, 6))
    } else {
      list(y = data$s, n = data$n)
    }
    mass <- vapply(1:6, function(i) {
      mean(stats::dbinom(of$y[[i]], of$n[[i]], p[, i]))
    }, 0)
    expect_equal(predict(fit, data, type = "log_score"), log(mass))
  }
  fit <- trial_fits()$classes
  p <- predict(fit, data, type = "response")
  expect_equal(predict(fit, data, type = "prob"), cbind(no = 1 - p, yes = p))
  expect_equal(
    predict(fit, data), factor(ifelse(p > 0.5, "yes", "no"), c("no", "yes"))
  )
  both <- predict(fit, data, type = "prob", interval = "credible")
  expect_equal(both[, "yes", ],
    predict(fit, data, type = "response", interval = "credible")
  )
})

test_that("draws of successes have the trials of their rows", {
  fit <- trial_fits()$logit
  data <- trial_data()
  y <- rstantools::posterior_predict(fit, seed = 1)
  expect_true(all(t(y) <= data$n))
  # Null: means of 200 draws of 60 rows, nearly independent given f; |z| > 4.5
  # has probability 7e-6.
  p <- rstantools::posterior_epred(fit)
  sd <- sqrt(sum(t(p * (1 - p)) * data$n))
  expect_lt(abs(sum(y) - sum(t(p) * data$n)) / sd, 4.5)
  new <- rstantools::posterior_predict(fit, newdata = data[c(1, 5), ])
  expect_identical(dim(new), c(200L, 2L))
  expect_error(
    rstantools::posterior_predict(fit, newdata = data["a"]),
    class = "kb_error_columns"
  )
  pairs <- cbind(data$s, data$f)
  xy <- suppressWarnings(bark(data["a"], pairs,
    family = binomial(), control = mcmc_control(1, 20, 20)
  ))
  expect_error(
    rstantools::posterior_predict(xy, newdata = data["a"]),
    class = "kb_error_argument"
  )
})

test_that("methods know shares and classes", {
  data <- trial_data()
  fit <- trial_fits()$logit
  expect_equal(residuals(fit), data$s / data$n - fitted(fit))
  expect_identical(sigma(fit), NA_real_)
  expect_output(print(fit), "kernels, binomial, logit")
  expect_output(print(trial_fits()$classes), "kernels, logit")
  expect_identical(nrow(rstantools::log_lik(fit)), 200L)
  expect_no_error(plot(fit))
  expect_no_error(plot(trial_fits()$classes))
  more <- suppressWarnings(update(fit, iter = 20))
  expect_identical(nrow(predict(more, data[1:2, ], type = "draws")), 240L)
  augmented <- generics::augment(trial_fits()$classes)
  expect_true(all(c(".class", ".resid") %in% names(augmented)))
})

test_that("other responses are errors that say what is taken", {
  data <- trial_data()
  bad <- function(formula, data, family = binomial()) {
    expect_error(bark(formula, data, family = family),
      class = "kb_error_outcome"
    )
  }
  expect_match(
    conditionMessage(bad(cbind(s, f) ~ a, transform(data, f = f - 20))),
    "failures"
  )
  bad(cbind(s, f) ~ a, transform(data, s = s + 0.5))
  bad(s ~ a, data)
  bad(cbind(s, f, n) ~ a, data)
  expect_error(
    bark(cbind(s, f) ~ a, data, family = binomial("cloglog")),
    class = "kb_error_argument"
  )
  expect_error(
    predict(trial_fits()$logit, data, weights = data$n),
    class = "kb_error_argument"
  )
})
