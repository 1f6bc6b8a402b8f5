# bark(sigma = ): noise that varies. Its sampler is in test-bark-noise-core.R.

noise_data <- function(n = 80) {
  withr::with_seed(3, {
    data <- data.frame(
      x = stats::runif(n), z = stats::runif(n), w = stats::runif(n, 0.5, 2),
      f = factor(sample(letters[1:3], n, TRUE)), g = factor(rep_len(1:8, n))
    )
    sd <- exp(-2.5 + 2.5 * data$x) / sqrt(data$w)
    data$y <- 10 + 5 * sin(6 * data$x) + 5 * sd * stats::rnorm(n)
    data
  })
}

# Normal noise, unless `prior` says otherwise
quick_noise <- function(..., prior = bark_prior(df = Inf),
                        control = mcmc_control(2, 100, 100)) {
  suppressWarnings(bark(..., prior = prior, seed = 1, control = control),
    classes = "kb_warning_convergence"
  )
}

noise_fits <- local({
  fits <- NULL
  function() {
    if (is.null(fits)) {
      data <- noise_data()
      fits <<- list(
        data = data,
        plain = quick_noise(y ~ x + z + f, data, sigma = ~ x + f, weights = w),
        mixed = quick_noise(y ~ kernels(x, z) + f + (1 | g) + offset(w), data,
          sigma = ~x
        )
      )
    }
    fits
  }
})

test_that("without sigma draws are those of before", {
  data <- noise_data(30)
  one <- quick_noise(y ~ x, data)
  expect_null(one$settings$varying)
  expect_identical(
    quick_noise(y ~ x, data, sigma = NULL)$runs[[1]]$draws, one$runs[[1]]$draws
  )
})

test_that("predictions are those of mixtures over draws of f and g", {
  new <- noise_fits()$data[1:5, ]
  for (name in c("plain", "mixed")) {
    fit <- noise_fits()[[name]]
    w <- c(1, 2, 0.5, 1, 4)
    pool <- bark_pool(fit)
    x <- bark_rows(
      fit, new, NULL, FALSE, FALSE, NULL, NULL, NULL, NULL, NULL
    )$x
    moments <- bark_moments(fit, x, pool)
    f <- t(unscale_mean(fit$settings$scaling, moments$mean))
    sd <- t(varying_sd(fit, x, pool, weights = w))
    total <- sqrt(sd^2 + t(unscale_sd(fit$settings$scaling, sqrt(moments$variance)))^2)
    expect_equal(predict(fit, new), colMeans(f))
    expect_equal(predict(fit, new, type = "sigma", weights = w), colMeans(sd))
    bands <- predict(fit, new, type = "sigma", weights = w,
      interval = "credible", level = 0.8
    )
    expect_equal(bands[, "fit"], colMeans(sd))
    expect_equal(bands[, "upr"], apply(sd, 2, stats::quantile, 0.9, names = FALSE))
    y <- rep(new$y, each = nrow(f))
    score <- log(colMeans(matrix(stats::dnorm(y, f, total), nrow(f))))
    expect_equal(
      predict(fit, new, type = "log_score", weights = w), score
    )
    limits <- predict(fit, new, interval = "prediction", weights = w)
    for (i in 1:5) {
      below <- vapply(limits[i, 2:3], function(v) {
        mean(stats::pnorm(v, f[, i], total[, i]))
      }, 0)
      expect_equal(unname(below), c(0.05, 0.95), tolerance = 1e-6)
    }
    skip_if_not_installed("rstantools")
    f <- predict(fit, new, type = "draws")
    expect_equal(
      rstantools::log_lik(fit, new, weights = w),
      matrix(stats::dnorm(y, f, sd, log = TRUE), nrow(f))
    )
    expect_equal(
      rowSums(rstantools::log_lik(fit)), as.double(chain_matrices(fit)$log_lik)
    )
  }
})

test_that("by default the noise is Student's, its df learned", {
  data <- noise_data()
  fit <- quick_noise(y ~ x + z, data, sigma = ~x, prior = bark_prior())
  expect_true(all(bark_pool(fit)$df %in% learned_df))
  expect_gt(length(unique(bark_pool(fit)$df)), 1)
  table <- tidy(fit)
  expect_equal(
    unlist(table[table$term == "df", c("estimate", "std.error")]),
    c(stats::median(bark_pool(fit)$df), stats::mad(bark_pool(fit)$df)),
    ignore_attr = TRUE
  )
  expect_output(print(fit), "noise scale.*\\n.*Student's t, median df")
  new <- data[1:4, ]
  # The density is the derivative of the distribution function.
  p <- c(0.1, 0.101, 0.7, 0.701)
  q <- predict(fit, new, type = "quantile", probs = p)
  for (k in c(1, 3)) {
    at <- transform(new, y = (q[, k] + q[, k + 1]) / 2)
    expect_equal(
      exp(predict(fit, at, type = "log_score")),
      (p[[k + 1]] - p[[k]]) / unname(q[, k + 1] - q[, k]),
      tolerance = 1e-3
    )
  }
  f <- predict(fit, new, type = "draws")
  sd <- varying_sd(fit, bark_rows(
    fit, new, NULL, FALSE, FALSE, NULL, NULL, NULL, NULL, NULL
  )$x, bark_pool(fit))
  e <- (rep(new$y, each = nrow(f)) - f) / t(sd)
  expect_equal(
    rstantools::log_lik(fit, new),
    stats::dt(e, bark_pool(fit)$df, log = TRUE) - log(t(sd))
  )
  expect_equal(
    rowSums(rstantools::log_lik(fit)), as.double(chain_matrices(fit)$log_lik)
  )
  more <- suppressWarnings(update(fit, iter = 20))
  whole <- quick_noise(y ~ x + z, data,
    sigma = ~x, prior = bark_prior(), control = mcmc_control(2, 100, 120)
  )
  expect_equal(fitted(more), fitted(whole))
  expect_identical(
    checked_fit(unserialize(serialize(more, NULL)))$runs, more$runs
  )
})

test_that("ties do not make the variance anything", {
  data <- withr::with_seed(4, data.frame(x = stats::runif(100)))
  noise <- withr::with_seed(5, 0.3 * stats::rnorm(100))
  data$y <- ifelse(data$x < 0.3, 0, sin(6 * data$x) + noise)
  for (seed in 1:4) {
    fit <- bark(y ~ x, data, sigma = ~x, prior = bark_prior(), seed = seed,
      control = mcmc_control(2, 300, 300)
    )
    sd <- predict(fit, data.frame(x = c(0.1, 0.5, 0.9)), type = "sigma")
    expect_lt(sd[[1]], 0.05)
    expect_true(all(sd[2:3] > 0.1 & sd[2:3] < 1))
  }
})

test_that("draws of new responses have the predictive quantiles", {
  # Null: shares of 20 000 independent draws given those of the chain, a mean over
  # which cannot vary more than a binomial; |z| > 4.5 has probability 7e-6 each.
  skip_if_not_installed("rstantools")
  fit <- noise_fits()$plain
  new <- noise_fits()$data[1:2, ]
  q <- predict(fit, new, type = "quantile", probs = c(0.1, 0.8), weights = c(1, 3))
  y <- do.call(rbind, lapply(1:100, function(s) {
    rstantools::posterior_predict(fit, new, weights = c(1, 3), seed = s)
  }))
  for (i in 1:2) {
    z <- (colMeans(outer(y[, i], q[i, ], `<`)) - c(0.1, 0.8)) /
      sqrt(c(0.09, 0.16) / nrow(y))
    expect_lt(max(abs(z)), 4.5)
  }
})

test_that("weights divide the variance", {
  fit <- noise_fits()$plain
  new <- noise_fits()$data[1:3, ]
  expect_equal(
    predict(fit, new, type = "sigma", weights = rep(4, 3)),
    predict(fit, new, type = "sigma") / 2
  )
  data <- noise_fits()$data
  expect_equal(
    predict(fit, type = "sigma"), predict(fit, data, type = "sigma", weights = data$w)
  )
  # In other units the intercept of g changes, and nothing else.
  heavy <- quick_noise(y ~ x + z + f, transform(data, w = 100 * w),
    sigma = ~ x + f, weights = w
  )
  expect_equal(fitted(heavy), fitted(fit), tolerance = 1e-6)
  expect_equal(
    predict(heavy, type = "sigma"), predict(fit, type = "sigma"),
    tolerance = 1e-6
  )
})

test_that("sigma names columns", {
  expect_identical(noise_fits()$plain$settings$varying$columns, c(1L, 3:5))
  expect_identical(noise_fits()$plain$settings$varying$names, c("x", "f"))
  own <- matrix(bark_pool(noise_fits()$plain)$varying$own_included, 5)
  expect_true(all(own[2, ] == 0) && any(own[4, ] > 0))
  data <- noise_data(30)
  columns <- function(...) quick_noise(...)$settings$varying$columns
  expect_identical(columns(data[c("x", "f")], data$y, sigma = ~f), 2:4)
  expect_identical(columns(y ~ log(x) + z, data, sigma = ~ log(x)), 1L)
  expect_identical(columns(y ~ x + z, data, sigma = ~ . - x), 2L)
  expect_identical(columns(data$x, data$y, sigma = ~.), 1L)
  expect_output(print(noise_fits()$plain), "over the rows, varies with x, f")
})

test_that("wrong arguments are errors", {
  data <- noise_data(30)
  for (sigma in list(~q, y ~ x, "x", ~1, ~ 0 + x, ~ x:z, ~ x + offset(z), 3)) {
    expect_error(bark(y ~ x + z, data, sigma = sigma), class = "kb_error_argument")
  }
  expect_error(bark(y ~ kernels(x) + z, data, sigma = ~z), "not among them",
    class = "kb_error_argument"
  )
  expect_error(bark(y ~ x, data, sigma = ~x, prior = bark_prior(gamma = 0)),
    class = "kb_error_argument"
  )
  expect_error(bark(f ~ x, data, sigma = ~x), class = "kb_error_not_defined")
  data$k <- seq_len(30)
  expect_error(bark(k ~ x, data, family = "poisson", sigma = ~x),
    class = "kb_error_not_defined"
  )
  priors <- list(
    bark_prior(noise = noise_gamma(2, 1)), bark_prior(approximation = "truncation")
  )
  for (prior in priors) {
    expect_error(bark(y ~ x, data, sigma = ~x, prior = prior),
      class = "kb_error_not_defined"
    )
  }
  expect_error(
    bark(y ~ x, data, sigma = ~x, control = mcmc_control(n_temps = 2)),
    class = "kb_error_not_defined"
  )
  expect_error(
    bark(y ~ x, data, sigma = ~x, control = mcmc_control(sweep = "single")),
    class = "kb_error_not_defined"
  )
  fit <- noise_fits()$plain
  expect_error(evidence(fit), class = "kb_error_not_defined")
  expect_error(predict(fit, type = "sigma", interval = "prediction"),
    class = "kb_error_argument"
  )
  expect_error(predict(quick_noise(y ~ x, data), type = "sigma"),
    class = "kb_error_argument"
  )
})

test_that("all methods know noise that varies", {
  fit <- noise_fits()$plain
  data <- noise_fits()$data
  draws <- as_draws(fit)
  expect_equal(mean(draws$sigma), sigma(fit))
  expect_true("sigma[1]" %in% names(watched_matrices(fit)) ||
    any(grepl("^sigma\\[", diagnostics(fit)$convergence$variable)))
  expect_s3_class(logLik(fit), "logLik")
  expect_equal(dim(simulate(fit, 2, seed = 1)), c(80, 2))
  expect_s3_class(partial_dependence(fit, "x", n = 3), "data.frame")
  new <- data[1:3, ]
  new$x[[2]] <- NA
  expect_identical(is.na(predict(fit, new, type = "sigma")), c(FALSE, TRUE, FALSE))
  none <- predict(fit, new[2, ], type = "sigma", interval = "credible")
  expect_identical(dim(none), c(1L, 3L))
  x <- as.matrix(data[c("x", "z")])
  scored <- cross_validate(quick_noise(x, data$y, sigma = ~x), 2, seed = 1)
  expect_true(all(is.finite(scored$log_score)))
  # Draws are cut where chains have different lengths.
  for (cut in list(fit, noise_fits()$mixed)) {
    cut$runs[[1]] <- head_draws(cut, cut$runs[[1]], 20)
    cut <- sealed(cut)
    expect_length(cut$runs[[1]]$draws$varying$intercept, 20)
    expect_length(cut$runs[[1]]$draws$varying$beta,
      sum(cut$runs[[1]]$draws$varying$m)
    )
    expect_length(cut$runs[[1]]$draws$noise, 20)
  }
})

test_that("shared scales, directions and clusters are as without sigma", {
  data <- noise_data(40)
  priors <- list(
    bark_prior_paper(), bark_prior(directions = 1), bark_prior(own_scales = "pooled"),
    bark_prior(own_scales = "clustered")
  )
  for (prior in priors) {
    fit <- quick_noise(y ~ x + z, data, sigma = ~x, prior = prior)
    expect_true(all(predict(fit, data, type = "sigma") > 0))
  }
  # Without sigma, kernels beside linear terms are in clusters by default.
  expect_false(is.null(noise_fits()$mixed$settings$prior$concentrations))
})

test_that("draws of counts are cut, too", {
  data <- noise_data(30)
  data$k <- withr::with_seed(1, stats::rpois(30, 5))
  fit <- quick_noise(k ~ x, data, family = "negbinomial", prior = bark_prior())
  draws <- head_draws(fit, fit$runs[[1]], 20)$draws
  expect_length(draws$z, 0)
  expect_length(draws$parameters, 20)
  expect_length(draws$beta, sum(draws$m))
})

test_that("a fit continues, is saved, and predicts without its data", {
  fit <- noise_fits()$plain
  data <- noise_fits()$data
  new <- data[1:5, ]
  longer <- suppressWarnings(update(fit, iter = 60),
    classes = "kb_warning_convergence"
  )
  whole <- quick_noise(y ~ x + z + f, data,
    sigma = ~ x + f, weights = w, control = mcmc_control(2, 100, 160)
  )
  expect_identical(
    lapply(longer$runs, `[[`, "draws"), lapply(whole$runs, `[[`, "draws")
  )
  file <- withr::local_tempfile()
  saveRDS(fit, file)
  expect_identical(
    predict(readRDS(file), new, type = "sigma"), predict(fit, new, type = "sigma")
  )
  small <- quick_noise(y ~ x + z + f, data,
    sigma = ~ x + f, weights = w, keep_data = FALSE
  )
  for (type in c("sigma", "response", "quantile")) {
    expect_equal(predict(small, new, type = type), predict(fit, new, type = type))
  }
  fit$runs[[1]]$draws$varying$location[[1]] <- 1000L
  expect_error(predict(fit, new), class = "kb_error_fit")
  expect_error(predict(sealed(fit), new, type = "sigma"), class = "kb_error_fit")
})

test_that("draws without the likelihood are from the prior", {
  # Null: independent draws, normal intercepts and Poisson numbers; |z| > 4.5 has
  # probability 7e-6 each, chi-squared beyond its quantiles 1e-6 each side.
  data <- noise_data(20)
  fit <- bark(y ~ x, data,
    sigma = ~x, prior_only = TRUE, seed = 1,
    control = mcmc_control(2, 1, 2000)
  )
  noise <- bark_pool(fit)$varying
  z <- (noise$intercept + 1) / 2
  expect_lt(abs(sum(z)) / sqrt(4000), 4.5)
  expect_gt(sum(z^2), stats::qchisq(1e-6, 4000))
  expect_lt(sum(z^2), stats::qchisq(1 - 1e-6, 4000))
  expect_lt(abs(sum(noise$m) - 4000 * 5) / sqrt(4000 * 5), 4.5)
  # Coefficients have a t distribution with 5 degrees of freedom and this scale.
  inside <- mean(abs(noise$beta) < varying_prior$eps)
  p <- 2 * stats::pt(1, 5) - 1
  expect_lt(abs(inside - p) / sqrt(p * (1 - p) / length(noise$beta)), 4.5)
})

test_that("the noise is found where it varies", {
  # Bounds are generous: a model of constant noise misses all of them.
  n <- 200
  data <- withr::with_seed(101, {
    x <- stats::runif(1200)
    data.frame(x = x, y = sin(6 * x) + exp(-2.5 + 2.5 * x) * stats::rnorm(1200))
  })
  fit <- quick_noise(y ~ x, data[1:n, ],
    sigma = ~x, control = mcmc_control(2, 200, 300)
  )
  new <- data[-(1:n), ]
  sd <- predict(fit, new, type = "sigma")
  expect_lt(sqrt(mean((log(sd) - (-2.5 + 2.5 * new$x))^2)), 0.3)
  limits <- predict(fit, new, interval = "prediction")
  inside <- limits[, 2] < new$y & new$y < limits[, 3]
  part <- cut(new$x, c(0, 0.25, 0.5, 0.75, 1))
  cover <- tapply(inside, part, mean)
  expect_true(all(cover > 0.7 & cover < 0.96))
})
