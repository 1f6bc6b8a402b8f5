# Neighbours' generics: posterior, generics (broom), rstantools, loo.

data <- sim_sinc(30, seed = 51, truth = TRUE)
new <- data.frame(x = c(-6, 0.2, 3), y = c(0, 1, 0))
quick <- smc_control(particles = 40, n_moves = 2)
#' Fits of one kernel
srvm <- function(..., kernel = kernel_gaussian()) {
  kernelbayes::srvm(..., kernel = kernel)
}
line <- srvm(y ~ x, data, control = quick, seed = 1)
xy <- srvm(data$x, data$y, control = quick, seed = 1)
bare <- srvm(y ~ x, data, control = quick, seed = 1, intercept = FALSE)
pooled <- srvm(y ~ x, data, seed = 1,
  control = smc_control(particles = 15, n_moves = 2, replicates = 3)
)
one <- suppressWarnings(
  srvm(y ~ x, data[1, ], control = quick, seed = 1),
  classes = "kb_warning_no_spread"
)
single <- srvm(y ~ x, data, seed = 1, control = smc_control(particles = 1))
none <- srvm(y ~ x, data, seed = 1, prior = srvm_prior(kmax = 0))
fits <- list(line, xy, bare, pooled, one, none)

#' Weighted mean and standard deviation
weighted_moments <- function(v, w) {
  mean <- sum(w * v)
  c(mean, sqrt(sum(w * (v - mean)^2)))
}

# posterior --------------------------------------------------------------------

test_that("as_draws gives sigma, tau, k and the intercept", {
  for (fit in fits) {
    draws <- as_draws(fit)
    expect_s3_class(draws, "draws_df")
    n <- sum(lengths(lapply(fit$runs, `[[`, "k")))
    expect_identical(posterior::ndraws(draws), n)
    expect_identical(posterior::variables(draws), c(
      "sigma", "tau", "k", if (fit$settings$intercept) "Intercept"
    ))
    expect_true(all(draws$sigma > 0 & draws$tau > 0))
    expect_true(all(draws$k == round(draws$k)))
    expect_identical(as_draws(fit), draws)
    expect_identical(posterior::as_draws_df(fit), draws)
    for (as in list(
      posterior::as_draws_matrix, posterior::as_draws_array,
      posterior::as_draws_rvars, posterior::as_draws_list
    )) {
      expect_identical(posterior::ndraws(as(fit)), n)
    }
  }
})

test_that("posterior summarises them", {
  s <- posterior::summarise_draws(as_draws(line))
  expect_identical(s$variable, c("sigma", "tau", "k", "Intercept"))
  for (weighted in c(FALSE, TRUE)) {
    s <- posterior::summarise_draws(as_draws(line, weighted = weighted))
    chain <- s[c("rhat", "ess_bulk", "ess_tail")]
    expect_true(all(is.na(as.matrix(chain))))
  }
  s <- posterior::summarise_draws(as_draws(line))
  # R-hat and effective sample sizes are for chains, not for particles.
  laws <- c("mean", "median", "sd", "mad", "q5", "q95")
  expect_true(all(is.finite(as.matrix(s[, laws]))))
  # Older versions of posterior have a class for printing numbers.
  expect_equal(as.double(s$mean)[[1]], sigma(line), tolerance = 0.1)
  s <- posterior::summarise_draws(as_draws(single))
  expect_equal(as.double(s$mean), as.double(s$median))
})

test_that("weighted draws carry the particles' weights", {
  for (fit in fits) {
    pool <- srvm_pool(fit)
    draws <- as_draws(fit, weighted = TRUE)
    expect_equal(as.vector(stats::weights(draws)), pool$weights)
    expect_identical(draws$k, as.double(pool$k))
    unit <- fit$settings$scaling$y_scale
    expect_equal(draws$sigma, unit * sqrt(pool$draws$noise))
    expect_equal(draws$tau, unit * sqrt(pool$draws$coef))
    k <- model_size(fit)
    expect_equal(
      sum(pool$weights * draws$k), sum(k$k * k$probability)
    )
    # Equal-weight draws repeat these; each count is within one of its share.
    equal <- as_draws(fit)
    expect_true(all(equal$sigma %in% draws$sigma))
    n <- nrow(draws)
    count <- vapply(draws$sigma, function(s) sum(equal$sigma == s), 0)
    share <- vapply(draws$sigma, function(s) {
      n * sum(pool$weights[draws$sigma == s])
    }, 0)
    expect_lt(max(abs(count - share)), 1 + 1e-8)
    expect_identical(
      posterior::ndraws(posterior::resample_draws(draws)), n
    )
  }
  expect_error(as_draws(line, weighted = 1), "`weighted`",
    class = "kb_error_argument"
  )
  expect_error(as_draws(line, weigthed = TRUE), "`weigthed`",
    class = "kb_error_unknown_argument"
  )
})

test_that("the intercept's draws equal f without centres", {
  expect_equal(
    as_draws(none)$Intercept, predict(none, data.frame(x = 1), "draws")[, 1]
  )
  expect_equal(as_draws(none)$k, rep(0, 250))
})

# generics ---------------------------------------------------------------------

test_that("tidy has means, standard deviations and intervals", {
  for (fit in fits) {
    out <- tidy(fit, conf.level = 0.8)
    expect_s3_class(out, "data.frame", exact = TRUE)
    expect_named(
      out, c("term", "estimate", "std.error", "conf.low", "conf.high")
    )
    expect_identical(out$term, c("sigma", "tau", "k"))
    draws <- as_draws(fit, weighted = TRUE)
    w <- as.vector(stats::weights(draws))
    for (i in 1:3) {
      v <- draws[[out$term[[i]]]]
      expect_equal(c(out$estimate[[i]], out$std.error[[i]]),
        weighted_moments(v, w)
      )
      expect_gte(sum(w[v <= out$conf.low[[i]]]), 0.1 - 1e-9)
      expect_lte(sum(w[v < out$conf.low[[i]]]), 0.1 + 1e-9)
      expect_gte(sum(w[v <= out$conf.high[[i]]]), 0.9 - 1e-9)
      expect_lte(sum(w[v < out$conf.high[[i]]]), 0.9 + 1e-9)
    }
  }
  wide <- tidy(line, conf.level = 0.99)
  narrow <- tidy(line, conf.level = 0.5)
  expect_identical(wide$estimate, narrow$estimate)
  expect_true(all(wide$conf.low <= narrow$conf.low))
  expect_true(all(wide$conf.high >= narrow$conf.high))
  expect_identical(tidy(line), tidy(line, conf.level = 0.9))
  expect_identical(tidy(single)$std.error, c(0, 0, 0))
  expect_named(tidy(line, conf.int = FALSE), c("term", "estimate", "std.error"))
  expect_error(tidy(line, conf.level = 1), "`conf.level`",
    class = "kb_error_argument"
  )
  expect_error(tidy(line, conf.int = NA), "`conf.int`",
    class = "kb_error_argument"
  )
})

test_that("weighted quantiles agree with the weighted distribution", {
  v <- c(3, 1, 2, 2)
  w <- c(0.1, 0.2, 0.3, 0.4)
  expect_identical(weighted_quantile(v, w, 0.2), 1)
  expect_identical(weighted_quantile(v, w, 0.21), 2)
  expect_identical(weighted_quantile(v, w, 0.9), 2)
  expect_identical(weighted_quantile(v, w, 0.91), 3)
  expect_identical(weighted_quantile(v, w, 1), 3)
  expect_identical(weighted_quantile(v, w, 1e-9), 1)
  expect_identical(weighted_quantile(5, 1, 0.5), 5)
  # With equal weights they are R's quantiles of type 1.
  v <- data$y
  for (p in c(0.05, 0.3, 0.5, 0.777)) {
    expect_identical(
      weighted_quantile(v, rep(1 / 30, 30), p),
      stats::quantile(v, p, type = 1, names = FALSE)
    )
  }
  # Without weight, a value does not count.
  expect_identical(weighted_quantile(c(1, 9, 2), c(0.5, 0, 0.5), 0.99), 2)
})

test_that("glance is one row", {
  for (fit in c(fits, list(single))) {
    out <- glance(fit)
    expect_s3_class(out, "data.frame", exact = TRUE)
    expect_named(out, c(
      "nobs", "log_evidence", "mc_se", "k", "sigma", "ess_fraction", "seconds"
    ))
    expect_identical(nrow(out), 1L)
    expect_identical(out$nobs, nobs(fit))
    expect_identical(out$log_evidence, evidence(fit)$log_evidence)
    expect_identical(out$sigma, sigma(fit))
    expect_equal(out$k, tidy(fit)$estimate[[3]])
    expect_identical(out$ess_fraction, diagnostics(fit)$ess_final)
    expect_identical(out$seconds, timings(fit)$total)
  }
  expect_error(glance(line, 1), class = "kb_error_unknown_argument")
})

test_that("augment adds predictions to the training rows", {
  for (fit in fits) {
    out <- augment(fit)
    expect_named(out, c(
      if (identical(fit, xy)) c("x", ".response") else c("y", "x"), ".fitted", ".lower", ".upper", ".resid"
    ))
    expect_identical(nrow(out), nobs(fit))
    expect_equal(out$.fitted, fitted(fit), tolerance = 1e-12)
    expect_equal(out$.resid, residuals(fit))
    bands <- predict(fit, interval = "prediction")
    expect_identical(out$.lower, unname(bands[, "lwr"]))
    expect_identical(out$.upper, unname(bands[, "upr"]))
  }
  credible <- augment(line, interval = "credible", level = 0.5)
  bands <- predict(line, interval = "credible", level = 0.5)
  expect_identical(credible$.upper, bands[, "upr"])
})

test_that("augment adds predictions to data in every shape", {
  out <- augment(line, data)
  expect_identical(out[names(data)], data)
  expect_equal(out$.resid, data$y - predict(line, data), tolerance = 1e-12)
  expect_identical(augment(line, newdata = data), out)
  out <- augment(line, newdata = data.frame(x = c(1, NA)))
  expect_named(out, c("x", ".fitted", ".lower", ".upper"))
  expect_identical(is.na(out$.fitted), c(FALSE, TRUE))
  expect_identical(
    is.na(augment(line, newdata = data.frame(x = 1:2, y = c(NA, 1)))$.resid),
    c(TRUE, FALSE)
  )
  for (at in list(1:3, matrix(1:3), data.frame(x = 1:3), cbind(x = 1:3))) {
    out <- augment(xy, newdata = at)
    expect_named(out, c("x", ".fitted", ".lower", ".upper"))
    expect_identical(out$.fitted, predict(xy, 1:3))
  }
  plane <- srvm(unname(as.matrix(data)), data$y, control = quick, seed = 1)
  expect_named(
    augment(plane, newdata = unname(as.matrix(data[1:2, ]))),
    c("x1", "x2", "x3", ".fitted", ".lower", ".upper")
  )
  logged <- srvm(log(y + 2) ~ x, data, control = quick, seed = 1)
  expect_equal(
    augment(logged, data)$.resid, log(data$y + 2) - fitted(logged)
  )
  skip_if_not_installed("tibble")
  out <- augment(line, tibble::as_tibble(data))
  expect_equal(out, augment(line, data))
})

test_that("augment checks its arguments", {
  expect_error(augment(line, level = 2), "`level`",
    class = "kb_error_argument"
  )
  expect_error(augment(line, interval = "none"), "`interval`",
    class = "kb_error_argument"
  )
  expect_error(augment(line, data, newdata = data), "`newdata`",
    class = "kb_error_argument"
  )
  expect_error(augment(line, new_data = data), "`new_data`",
    class = "kb_error_unknown_argument"
  )
  expect_error(augment(line, data["y"]), class = "kb_error_columns")
  f <- srvm(y ~ f, transform(data, f = letters[1:3]), control = quick, seed = 1)
  expect_warning(
    out <- augment(f, data.frame(f = c("a", "z"), y = 1:2)),
    class = "kb_warning_novel_level"
  )
  expect_identical(is.na(out$.resid), c(FALSE, TRUE))
})

# rstantools and loo -----------------------------------------------------------

test_that("posterior_epred equals predict's draws", {
  skip_if_not_installed("rstantools")
  for (fit in fits) {
    f <- rstantools::posterior_epred(fit)
    expect_identical(f, predict(fit, type = "draws"))
    expect_identical(ncol(f), nobs(fit))
  }
  expect_identical(
    rstantools::posterior_epred(line, new, ndraws = 7),
    predict(line, new, "draws", ndraws = 7)
  )
  expect_error(rstantools::posterior_epred(line, draws = 3), "`draws`",
    class = "kb_error_unknown_argument"
  )
  expect_error(rstantools::posterior_epred(line, ndraws = 0), "`ndraws`",
    class = "kb_error_argument"
  )
})

test_that("posterior_predict adds the noise of each draw", {
  skip_if_not_installed("rstantools")
  f <- rstantools::posterior_epred(line, new)
  y <- rstantools::posterior_predict(line, new, seed = 2)
  expect_identical(dim(y), dim(f))
  expect_identical(rstantools::posterior_predict(line, new, seed = 2), y)
  z <- (y - f) / as_draws(line)$sigma
  set.seed(2)
  expect_equal(as.vector(z), stats::rnorm(length(z)))
  many <- rstantools::posterior_predict(line, new, ndraws = 3000, seed = 3)
  expect_identical(dim(many), c(3000L, 3L))
  sigma <- srvm_sigma_draws(
    line, srvm_pool(line), equal_weight_draws(line, srvm_pool(line), 3000)
  )
  z <- (many - rstantools::posterior_epred(line, new, ndraws = 3000)) / sigma
  for (i in 1:3) expect_gt(stats::ks.test(z[, i], "pnorm")$p.value, 1e-5)
  expect_identical(dim(rstantools::posterior_predict(one)), c(40L, 1L))
  expect_identical(dim(rstantools::posterior_predict(single)), c(1L, 30L))
  expect_error(rstantools::posterior_predict(line, seed = "a"), "`seed`",
    class = "kb_error_argument"
  )
})

test_that("without a seed posterior_predict follows set.seed()", {
  skip_if_not_installed("rstantools")
  set.seed(4)
  a <- rstantools::posterior_predict(line, new)
  set.seed(4)
  expect_identical(rstantools::posterior_predict(line, new), a)
  before <- .Random.seed
  rstantools::posterior_predict(line, new, seed = 1)
  expect_identical(.Random.seed, before)
})

test_that("log_lik is the normal density of each draw", {
  skip_if_not_installed("rstantools")
  for (fit in fits) {
    sigma <- as_draws(fit)$sigma
    f <- rstantools::posterior_epred(fit)
    y <- rep(fit$data$y, each = nrow(f))
    expect_equal(
      rstantools::log_lik(fit), matrix(dnorm(y, f, sigma, log = TRUE), nrow(f))
    )
  }
  ll <- rstantools::log_lik(line, new, ndraws = 5)
  expect_identical(dim(ll), c(5L, 3L))
  expect_identical(
    rstantools::log_lik(xy, new$x, newy = new$y, ndraws = 5), ll
  )
  expect_identical(
    rstantools::log_lik(line, new["x"], newy = new$y, ndraws = 5), ll
  )
  # Its mean density is close to predict()'s, which has no noise of draws.
  many <- srvm(y ~ x, data, control = smc_control(particles = 2000), seed = 1)
  density <- colMeans(exp(rstantools::log_lik(many, new)))
  expect_equal(log(density), predict(many, new, "log_score"), tolerance = 0.1)
})

test_that("rows with missing values are NA in all three", {
  skip_if_not_installed("rstantools")
  holes <- data.frame(x = c(1, NA, 2), y = c(0, 0, NA))
  f <- rstantools::posterior_epred(line, holes)
  y <- rstantools::posterior_predict(line, holes, seed = 1)
  ll <- rstantools::log_lik(line, holes)
  for (out in list(f, y)) {
    expect_identical(colSums(is.na(out)), c(0, 40, 0))
  }
  expect_identical(colSums(is.na(ll)), c(0, 40, 40))
  expect_identical(ll[, 1], rstantools::log_lik(line, holes[1, ])[, 1])
})

test_that("log_lik requires the responses", {
  skip_if_not_installed("rstantools")
  expect_error(rstantools::log_lik(xy, 1:3), "`newy`",
    class = "kb_error_argument"
  )
  expect_error(rstantools::log_lik(xy, newy = 1:30), "`newy`",
    class = "kb_error_argument"
  )
  expect_error(rstantools::log_lik(line, new["x"]), "`newdata`",
    class = "kb_error_columns"
  )
  expect_error(rstantools::log_lik(line, new, n_draws = 2), "`n_draws`",
    class = "kb_error_unknown_argument"
  )
})

test_that("loo works on log_lik", {
  skip_if_not_installed("rstantools")
  skip_if_not_installed("loo")
  fit <- srvm(y ~ x, data,
    kernel = kernel_gaussian(0.2), seed = 1,
    control = smc_control(particles = 500)
  )
  out <- suppressWarnings(loo::loo(rstantools::log_lik(fit)))
  expect_s3_class(out, "psis_loo")
  expect_identical(dim(out), c(500L, 30L))
  expect_true(all(is.finite(out$pointwise)))
  # The right width is better than one that is far too large.
  wide <- srvm(y ~ x, data,
    kernel = kernel_gaussian(3), seed = 1,
    control = smc_control(particles = 500)
  )
  worse <- suppressWarnings(loo::loo(rstantools::log_lik(wide)))
  expect_gt(out$estimates["elpd_loo", 1], worse$estimates["elpd_loo", 1])
})
