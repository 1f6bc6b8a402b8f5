# What all families of bark() without a latent normal form have in common.

family_data <- function(n = 40) {
  withr::with_seed(5, {
    data <- data.frame(a = stats::runif(n))
    f <- sin(6 * data$a)
    data$k <- stats::rpois(n, exp(f))
    data$s <- stats::rbinom(n, 5, stats::plogis(f))
    data$f <- 5 - data$s
    data$class <- factor(stats::runif(n) < stats::plogis(f))
    data$time <- exp(f + 0.5 * log(stats::rexp(n)))
    data$cost <- stats::rgamma(n, 2, scale = exp(f) / 2)
    data$event <- stats::runif(n) < 0.8
    data$grade <- cut(f + stats::rnorm(n), c(-Inf, 0, 1, Inf),
      labels = c("low", "mid", "high"), ordered_result = TRUE
    )
    data
  })
}

# Formulas and families, one per row of the table; and other arguments
family_calls <- function() {
  list(
    poisson = list(k ~ a, "poisson"), negbinomial = list(k ~ a, "negbinomial"),
    gamma = list(cost ~ a, stats::Gamma("log")),
    logit = list(class ~ a, "logit"),
    trials_logit = list(cbind(s, f) ~ a, "logit"),
    trials_probit = list(cbind(s, f) ~ a, "probit"),
    ordered_probit = list(grade ~ a, "ordered", weights = rep(1, 40)),
    weibull = list(survival::Surv(time, event) ~ a, "weibull"),
    lognormal = list(survival::Surv(time, event) ~ a, "lognormal"),
    censored = list(survival::Surv(time, event) ~ a, "gaussian")
  )
}

test_that("the calls are those of the table", {
  glm <- Filter(is_glm_family, names(response_families))
  # Several classes are in test-bark-fields-logit.R.
  expect_setequal(names(family_calls()), setdiff(glm, multinomial_families))
})

quick_family <- function(name, data = family_data(), iter = 100, ...) {
  call <- family_calls()[[name]]
  names(call)[1:2] <- c("formula", "family")
  call <- utils::modifyList(call, list(...))
  suppressMessages(suppressWarnings(do.call(bark, c(call, list(
    data = data, seed = 1, control = mcmc_control(2, iter, iter)
  )))))
}

# The engine with these rows, each of weight 1
engine_rows <- function(engine, rows) {
  engine$x <- engine$x[rows, , drop = FALSE]
  engine$y <- engine$y[rows]
  engine$weights <- rep(1, length(rows))
  engine$config$terms$linear <- engine$config$terms$linear[rows, , drop = FALSE]
  for (name in intersect(c("trials", "upper"), names(engine$config))) {
    engine$config[[name]] <- engine$config[[name]][rows]
  }
  engine
}

test_that("a row of weight 2 is two rows", {
  skip_if_not_installed("survival")
  # Without kernels, whose centres are numbers of rows.
  data <- family_data(20)
  twice <- rep(c(FALSE, TRUE), 10)
  for (name in names(family_calls())) {
    fit <- quick_family(name, data, 10,
      weights = ifelse(twice, 2, 1), prior = bark_prior(gamma = 0)
    )
    engine <- fit_engine(fit)
    one <- run_to_end(engine)$draws
    both <- run_to_end(engine_rows(engine, c(1:20, which(twice))))$draws
    for (of in c("gamma", "log_likelihood", "noise", "parameters", "cuts")) {
      expect_equal(one[[of]], both[[of]], tolerance = 1e-6, label = name)
    }
  }
})

test_that("quantile residuals are standard normal, for all families", {
  # Null: nearly normal with variance 1 at most; |z| > 4.5 of a mean and of a
  # variance of 40 has probability 7e-6 each.
  skip_if_not_installed("survival")
  for (name in names(family_calls())) {
    fit <- quick_family(name)
    z <- residuals(fit, type = "quantile", seed = 1)
    expect_length(z, 40)
    expect_lt(abs(mean(z)) * sqrt(40), 4.5, label = name)
    expect_lt(var(z), 1 + 4.5 * sqrt(2 / 39), label = name)
    expect_identical(z, residuals(fit, type = "quantile", seed = 1))
  }
  expect_error(residuals(fit, seed = 1), class = "kb_error_argument")
})

test_that("quantile residuals are what the distribution function says", {
  data <- family_data()
  # Gaussian: the same as the pit of exact quantiles.
  fit <- suppressMessages(suppressWarnings(bark(time ~ a, data,
    seed = 1, control = mcmc_control(2, 100, 400)
  )))
  p <- stats::pnorm(residuals(fit, type = "quantile"))
  for (i in 1:3) {
    q <- predict(fit, data[i, ], type = "quantile", probs = p[[i]])
    expect_equal(q[[1]], data$time[[i]], tolerance = 0.02)
  }
  counts <- quick_family("poisson")
  f <- predict(counts, type = "draws")
  p <- stats::pnorm(residuals(counts, type = "quantile", seed = 2))
  upper <- colMeans(matrix(stats::ppois(rep(data$k, each = nrow(f)), exp(f)), nrow(f)))
  lower <- colMeans(matrix(stats::ppois(rep(data$k - 1, each = nrow(f)), exp(f)), nrow(f)))
  expect_true(all(p >= lower - 1e-12 & p <= upper + 1e-12))
  classes <- quick_family("logit")
  p <- stats::pnorm(residuals(classes, type = "quantile", seed = 2))
  no <- predict(classes, type = "prob")[, 1]
  first <- data$class == levels(data$class)[[1]]
  expect_true(all(ifelse(first, p <= no, p >= no)))
})

test_that("cross-validation scores rows left out", {
  skip_if_not_installed("survival")
  for (name in names(family_calls())) {
    fit <- quick_family(name, iter = 20)
    out <- cross_validate(fit, folds = 2, seed = 1)
    expect_identical(nrow(out), 40L)
    expect_true(all(is.finite(out$log_score)), label = name)
    if (!is.factor(fit$data$y)) {
      expect_true(all(out$pit > 0 & out$pit < 1), label = name)
    }
    expect_output(print(out), "elpd")
  }
  data <- transform(family_data(), o = a / 2)
  offset <- suppressMessages(suppressWarnings(bark(k ~ a + offset(o), data,
    family = "poisson", seed = 1, control = mcmc_control(1, 20, 20)
  )))
  expect_identical(nrow(cross_validate(offset, folds = 2, seed = 1)), 40L)
})
