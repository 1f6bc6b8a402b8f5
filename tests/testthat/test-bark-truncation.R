# bark() under the truncation approximation: its chains against the prior, and
# against importance sampling from it; and the results of its fits.
#
# Seen to fail, one mutant at a time: as many births as there are kernels, no
# refresh, latent responses or amplitudes lost on the way, steps that adapt
# after the warmup, one coefficient instead of the sum at a location, the
# density of latent responses for that of classes, the ratio of stepping stones
# without its denominator, a lowest rung that does not move.

truncated_x <- matrix(c(0.3, -1.2, 1.1, -0.2, 0.9, 0.4, -1, -0.6), 4)
truncated_y <- c(0.8, -0.9, 0.4, 0.1)

truncated_tiny <- function(type = "different", alpha = 1, chains = 2,
                           iter = 60, warmup = 40, n_temps = 1, thin = 1,
                           x = truncated_x, y = truncated_y, ...) {
  suppressWarnings(bark(x, y,
    prior = truncated_prior(type,
      alpha = alpha, eps = 0.5, gamma = 2,
      noise = if (is.numeric(y)) noise_gamma(3, 1)
    ),
    control = mcmc_control(chains, warmup, iter, thin, n_temps = n_temps),
    scale = FALSE, seed = 1, ...
  ))
}

without_seconds <- function(fit) {
  lapply(fit$runs, function(run) run[setdiff(names(run), "seconds")])
}

# Laws -------------------------------------------------------------------------

test_that("chains of the prior alone have its laws", {
  # Null: nearly standard normal scores, at most 25 per setting: |z| > 6.
  for (type in bark_types) {
    for (alpha in c(1, 1.5)) {
      fit <- prior_only_fit(truncated_prior(type,
        alpha = alpha, n_kernels = 6, discrepancy = 3, scales = c(1.2, 0.8),
        noise = noise_gamma(3, 0.5)
      ), n = 10, iter = 2500)
      prior <- fit$settings$prior
      expect_equal(prior$nu, 6)
      count <- slot_sums(fit, function(d) d$copies)
      alone <- function(of) slot_sums(fit, function(d) of(d) * (d$copies == 1))
      u <- function(d) (prior$eps / abs(d$beta))^alpha - 0.5
      z <- c(
        scale_prior_scores(fit), J = mean_score(count, 6),
        spread = mean_score((count - 6)^2, 6),
        intercept = mean_score(
          slot_sums(fit, function(d) d$copies * (d$location == 0)), 6 / 11
        ),
        last = mean_score(
          slot_sums(fit, function(d) d$copies * (d$location == 10)), 6 / 11
        ),
        m = mean_score(
          slot_sums(fit, function(d) d$copies > 0), 11 * (1 - exp(-6 / 11))
        ),
        size = mean_score(alone(u)),
        size_spread = mean_score(alone(function(d) u(d)^2 - 1 / 12)),
        sign = mean_score(alone(function(d) sign(d$beta)))
      )
      expect_lt(max(abs(z)), 6, label = paste(
        names(which.max(abs(z))), type, alpha
      ))
    }
  }
})

#' Scores of chains' means against importance sampling
truncated_scores <- function(type, alpha, n_temps = 1, y = truncated_y,
                             weights = NULL, chains = 24) {
  fit <- truncated_tiny(type, alpha, chains,
    iter = 500, warmup = 100, n_temps = n_temps, y = y, weights = weights
  )
  at <- matrix(c(0.2, -0.4), 1)
  engine <- fit_engine(fit)
  draws <- withr::with_seed(
    5, draw_truncated_prior(fit$settings$prior, truncated_x, at, 4e4)
  )
  log_l <- truncated_log_likelihood(
    draws, engine$y, engine$weights, is_class_fit(fit)
  )
  w <- exp(log_l) / sum(exp(log_l))
  squash <- function(f) f / (1 + abs(f))
  answers <- cbind(
    draws$J, draws$d, squash(draws$f[, 5]), squash(draws$f[, 1]),
    abs(draws$f[, 2]) < 0.5, 1 / (1 + draws$noise)
  )
  exact <- colSums(w * answers)
  se <- sqrt(colSums((w * (answers - rep(exact, each = 4e4)))^2))
  own <- vapply(fit$runs, function(run) {
    one <- fit
    one$runs <- list(run)
    one <- sealed(one)
    f <- predict(one, rbind(at, truncated_x[1:2, ]), type = "draws")
    c(
      mean(chain_matrices(one)$J),
      mean(colSums(matrix(run$draws$included, 2))),
      mean(squash(f[, 1])), mean(squash(f[, 2])), mean(abs(f[, 3]) < 0.5),
      mean(1 / (1 + run$draws$noise))
    )
  }, numeric(6))
  spread <- apply(own, 1, stats::sd) / sqrt(chains)
  (rowMeans(own) - exact) / pmax(sqrt(se^2 + spread^2), 1e-9)
}

test_that("chains agree with importance sampling from the prior", {
  # Null: t with 23 degrees of freedom at worst, |z| > 7.5 has probability
  # 1e-7; 48 scores.
  classes <- factor(c("b", "a", "b", "b"))
  cases <- list(
    list("equal", 1), list("different", 1.5), list("select_equal", 1, 3),
    list("select_different", 1.5, 2),
    list("select_different", 1, weights = c(1, 0.3, 4, 2)),
    list("equal", 1.5, y = classes), list("select_different", 1, y = classes),
    list("different", 1, 3, y = classes)
  )
  for (case in cases) {
    z <- do.call(truncated_scores, case)
    expect_lt(max(abs(z)), 7.5, label = toString(unlist(case)))
  }
})

test_that("the evidence agrees with importance sampling from the prior", {
  # Null: as above, from the spread of 20 ladders: |t| > 8 has probability 2e-7.
  classes <- factor(c("b", "a", "b", "b"))
  for (y in list(truncated_y, classes)) {
    fit <- truncated_tiny("select_different", iter = 2, y = y)
    engine <- fit_engine(fit)
    draws <- withr::with_seed(8, draw_truncated_prior(
      fit$settings$prior, truncated_x, NULL, 1e5
    ))
    log_l <- truncated_log_likelihood(
      draws, engine$y, engine$weights, is_class_fit(fit)
    )
    w <- exp(log_l)
    z <- evidence(fit,
      n_temps = 6, warmup = 20, iter = 300, chains = 20, seed = 3
    )
    se <- stats::sd(w) / mean(w) / sqrt(1e5)
    own <- stats::sd(z$replicates) / sqrt(20)
    score <- (z$log_evidence - log(mean(w))) / sqrt(own^2 + se^2)
    expect_lt(abs(score), 8)
    expect_lt(own, 0.1)
  }
})

test_that("one coin has probability 1/2, and without kernels f is 0", {
  x <- matrix(0.3)
  fit <- truncated_tiny("equal", x = x, y = 1.5, iter = 200)
  expect_true(all(is.finite(predict(fit, type = "draws"))))
  none <- bark(matrix(1:5), c(2, 1, 2, 3, 2),
    prior = truncated_prior("equal", gamma = 1e-9),
    control = mcmc_control(2, 10, 30), seed = 1
  )
  expect_true(all(none$runs[[1]]$draws$m == 0))
  expect_equal(fitted(none), rep(2, 5))
  expect_equal(
    predict(none, interval = "credible"), cbind(fit = 2, lwr = 2, upr = 2)[
      rep(1, 5), ]
  )
  expect_s3_class(as_draws(none), "draws_df")
  expect_silent(invisible(head_draws(none, none$runs[[1]], 3)))
  flat <- bark(matrix(stats::rnorm(6), 3), rep(1, 3),
    prior = truncated_prior(), control = mcmc_control(1, 50, 50), seed = 1
  )
  expect_true(all(is.finite(fitted(flat))))
})

# Runs -------------------------------------------------------------------------

test_that("update(iter =) equals a run of full length from the start", {
  withr::local_seed(2)
  x <- matrix(stats::rnorm(63), 21)
  y <- sin(x[, 1]) + 0.2 * stats::rnorm(21)
  for (response in list(y, factor(y > 0))) {
    for (n_temps in c(1, 3)) {
      fit <- function(iter) {
        truncated_tiny("select_different",
          iter = iter, n_temps = n_temps, x = x, y = response, thin = 2
        )
      }
      long <- fit(50)
      short <- suppressWarnings(update(fit(20), iter = 30))
      expect_identical(without_seconds(short), without_seconds(long))
    }
    engine <- fit_engine(long)
    expect_identical(
      run_parts(engine, c(13, 30, 20, 27)), without_seconds(long)[[1]]
    )
    # Its lowest rung is drawn afresh each time.
    lowest <- run_parts(ladder_engine(long, 1, 0, 20, 5), 20)$observed
    expect_false(anyDuplicated(lowest) > 0)
    ladder <- ladder_engine(long, 3, 10, 30, 5)
    expect_identical(run_parts(ladder, c(7, 3, 1, 29)), run_parts(ladder, 40))
  }
})

test_that("steps adapt in the warmup and not after it", {
  engine <- fit_engine(truncated_tiny("different", warmup = 80))
  steps <- lapply(c(40, 80, 140), function(n) run_parts(engine, n)$levels[[1]]$steps)
  expect_true(all(steps[[1]]$times[-(1:3)] > 0))
  expect_false(identical(steps[[1]], steps[[2]]))
  expect_identical(steps[[2]], steps[[3]])
})

# Fits -------------------------------------------------------------------------

test_that("predictions come from the draws of f", {
  fit <- truncated_tiny("select_different", chains = 3)
  at <- matrix(c(0, 0.5, -1, 0.3, -0.7, 2), 3)
  draws <- predict(fit, at, type = "draws")
  expect_identical(dim(draws), c(180L, 3L))
  pool <- bark_pool(fit)
  last <- cumsum(pool$m)
  dense <- t(vapply(seq_along(pool$m), function(i) {
    slots <- seq_len(pool$m[[i]]) + last[[i]] - pool$m[[i]]
    lambda <- exp(pool$log_lambda[2 * i - 1:0]) * pool$included[2 * i - 1:0]
    f <- numeric(3)
    for (j in slots) {
      k <- if (pool$location[[j]] == 0) {
        1
      } else {
        exp(-colSums(lambda * (t(at) - truncated_x[pool$location[[j]], ])^2))
      }
      f <- f + pool$beta[[j]] * k
    }
    f
  }, numeric(3)))
  expect_equal(unname(draws), dense, tolerance = 1e-12)
  expect_equal(predict(fit, at), colMeans(dense), tolerance = 1e-12)
  band <- predict(fit, at, interval = "credible", level = 0.8)
  inside <- vapply(1:3, function(i) {
    mean(dense[, i] >= band[i, "lwr"] - 1e-9 &
      dense[, i] <= band[i, "upr"] + 1e-9)
  }, 0)
  expect_true(all(abs(inside - 0.8) < 0.02))
  wide <- predict(fit, at, interval = "prediction", level = 0.8)
  expect_true(all(wide[, "lwr"] < band[, "lwr"]))
  exact <- vapply(1:3, function(i) {
    log(mean(stats::dnorm(0.2, dense[, i], 1 / sqrt(pool$noise))))
  }, 0)
  expect_equal(
    predict(fit, at, type = "log_score", newy = rep(0.2, 3)), exact,
    tolerance = 1e-9
  )
  # Locations are distinguished, regardless of their numbers of kernels.
  first <- rep(seq_along(pool$m), pool$m)
  expect_false(anyDuplicated(data.frame(first, pool$location)) > 0)
  expect_equal(chain_matrices(fit)$log_lik[1, 1], sum(stats::dnorm(
    truncated_y, predict(fit, type = "draws")[1, ],
    1 / sqrt(pool$noise[[1]]),
    log = TRUE
  )), tolerance = 1e-9)
})

test_that("methods of fits work", {
  data <- bark_data()
  control <- mcmc_control(2, 40, 40)
  prior <- truncated_prior(n_kernels = 5, discrepancy = 1)
  fit <- suppressWarnings(
    bark(y ~ x1 + x2 + x4, data, prior = prior, control = control, seed = 1)
  )
  classes <- suppressWarnings(
    bark(class ~ x1 + x4, data, prior = prior, control = control, seed = 1)
  )
  weighted <- suppressWarnings(
    bark(y ~ x1, data, weights = w, prior = prior, control = control, seed = 1)
  )
  for (one in list(fit, classes, weighted)) {
    expect_output(print(one), "5 kernels expected")
    expect_output(print(summary(one)), "truncation")
    expect_s3_class(as_draws(one), "draws_df")
    expect_s3_class(generics::tidy(one), "data.frame")
    expect_true(all(inclusion(one)$probability <= 1))
    expect_true(all(is.finite(importance(one)$mean)))
    expect_equal(sum(model_size(one)$probability), 1)
    expect_true(all(is.finite(partial_dependence(one, "x1", n = 4)$mean)))
    expect_length(residuals(one), 30)
    expect_true(is.finite(logLik(one)))
    expect_identical(nrow(simulate(one, 3, seed = 1)), 30L)
    expect_named(coef(one, draw = 3))
    file <- withr::local_tempfile()
    saveRDS(one, file)
    expect_identical(predict(readRDS(file)), predict(one))
  }
  prob <- predict(classes, type = "prob", interval = "credible")
  expect_true(all(prob >= 0 & prob <= 1))
  f <- predict(classes, type = "draws")
  y <- as.integer(data$class) * 2 - 3
  expect_equal(
    as.vector(chain_matrices(classes)$log_lik),
    colSums(stats::pnorm(y * t(f), log.p = TRUE))
  )
  expect_equal(predict(classes, type = "response"), colMeans(stats::pnorm(f)))
  curve <- partial_dependence(classes, "x1", n = 3, type = "link")
  expect_true(all(curve$lower <= curve$mean & curve$mean <= curve$upper))
})

test_that("the prior names its approximation, and is elicited for it", {
  for (alpha in c(0.5, 1, 1.6)) {
    prior <- truncated_prior(alpha = alpha, n_kernels = 20, discrepancy = 0.05)
    expect_equal(bark_nu_truncated(alpha, prior$gamma, prior$eps), 20)
    expect_equal(
      bark_discrepancy_truncated(alpha, prior$gamma, prior$eps), 0.05
    )
  }
  expect_output(print(prior), "truncation")
  expect_output(print(truncated_prior(gamma = 10, eps = 0.5)), "12.73")
  expect_false(any(grepl("truncation", utils::capture.output(bark_prior_paper()))))
  expect_error(bark_prior_paper(approximation = "none"), class = "kb_error_argument")
})

test_that("undefined requests are refused", {
  expect_error(
    bark(truncated_x, truncated_y,
      prior = truncated_prior(), control = mcmc_control(sweep = "single")
    ),
    class = "kb_error_not_defined"
  )
  fit <- truncated_tiny(prior_only = TRUE)
  expect_error(
    bark(truncated_x, truncated_y, prior = list(approximation = "truncation")),
    class = "kb_error"
  )
  expect_error(evidence(fit), class = "kb_error_not_defined")
})

test_that("arguments of the continuous approximation are refused", {
  refused <- function(...) {
    expect_error(
      bark_prior_paper(approximation = "truncation", ...),
      class = "kb_error_not_defined"
    )
  }
  refused(df = 4)
  refused(centres = centre_near_rows(0.5))
  refused(own_scales = TRUE)
  y <- factor(c("low", "mid", "high", "mid"), c("low", "mid", "high"),
    ordered = TRUE
  )
  expect_error(
    bark(truncated_x, y, prior = bark_prior_paper(approximation = "truncation")),
    class = "kb_error_not_defined"
  )
})
