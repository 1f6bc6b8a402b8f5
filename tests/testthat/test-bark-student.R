# Student's noise in bark(): row weights by one-step invariance, chains of tiny
# problems against importance sampling from the prior, the lowest rung and the
# evidence against quadrature.
#
# Seen to fail, one mutant at a time:
# - row weights: df / 2 for (df + 1) / 2, the residual left out or taken from
#   the weighted row, the mean of the coefficients instead of a draw;
# - state: an old K'WK, the given weights or the determinant of the row weights
#   left out; row weights not restored;
# - the log likelihood kept without the given weights;
# - the lowest rung: noise from its prior, row weights or noise left alone;
# - learned df: the precision kept, its prior or the matching factor left out,
#   row weights not integrated out.

student_setting <- function(...) bark_setting(..., df = 3)
student_y <- c(0.8, -0.9, 4, 0.1, 1.2)
student_w <- c(1, 0.5, 3, 1, 2)

test_that("updates agree with dense algebra given row weights", {
  for (type in bark_types) {
    for (amplitude in c(1, 0.1)) {
      alpha <- if (amplitude == 1) 1 else 1.5
      walk <- bark_walk_cpp(
        student_setting(type, alpha, 6), five_rows, student_y, student_w, 40,
        1, 3, "student", amplitude
      )
      for (state in walk) {
        w <- student_w * state$row_weights
        at <- function(amplitude) {
          utils::modifyList(state, list(varphi = state$varphi / amplitude))
        }
        dense <- function(state) {
          dense_log_likelihood(state, five_rows, student_y, w, alpha)
        }
        expect_lt(abs(state$log_likelihood - dense(at(amplitude))), 1e-8)
        expect_lt(abs(state$at_half - dense(at(amplitude / 2))), 1e-8)
      }
    }
  }
})

test_that("every move leaves the joint law with row weights invariant", {
  # Null: at most 152 scores per call, each nearly standard normal; 30 calls
  # (152 in the extended suite): |z| > 6 somewhere has probability 5e-5 at most.
  moves <- setdiff(bark_moves_cpp(), "none")
  types <- if (extended()) bark_types else "select_different"
  for (type in types) {
    for (alpha in if (extended()) c(1, 1.5) else 1) {
      for (move in moves) {
        own <- move == "row_weights"
        pairs <- if (extended()) 40000 else if (own) 20000 else 2000
        z <- paired_scores(bark_invariance_cpp(
          student_setting(type, alpha), five_rows, student_w, move, 4, pairs,
          1, 7, "student", if (alpha == 1) 1 else 0.2
        ))
        expect_lt(max(abs(c(z, 0))), 6, label = paste(move, type, alpha))
      }
    }
  }
})

test_that("full sweeps and single moves leave the joint law invariant", {
  # Null: 152 nearly standard normal scores per setting.
  pairs <- if (extended()) 20000 else 1500
  x <- withr::with_seed(3, matrix(stats::rnorm(36), 12))
  for (single in c(FALSE, TRUE)) {
    z <- paired_scores(bark_geweke_cpp(
      student_setting("select_different", nu = 8), x, rep(c(1, 0.5, 3), 4),
      if (single) 20 else 3, pairs, 1, "student", single
    ))
    expect_lt(max(abs(z)), 6)
  }
})

test_that("a chain cut anywhere continues unchanged", {
  for (n_temps in c(1, 3)) {
    for (sweep in c("full", "single")) {
      engine <- response_engine("student", five_rows, student_y,
        student_setting("select_different", 1.5), n_temps = n_temps, thin = 2,
        sweep = sweep, weights = student_w
      )
      expect_identical(run_parts(engine, c(7, 20, 1, 32)), run_to_end(engine))
    }
  }
})

test_that("the stored log likelihood is for the drawn coefficients", {
  engine <- response_engine("student", five_rows, student_y,
    student_setting("select_different"), weights = student_w
  )
  draws <- run_to_end(engine)$draws
  f <- bark_values_cpp(
    draws, five_rows, five_rows, "draw", seq_along(draws$m)
  )$mean
  scale <- 1 / sqrt(outer(student_w, draws$noise))
  density <- stats::dt((student_y - f) / scale, 3, log = TRUE) - log(scale)
  expect_equal(draws$log_likelihood, colSums(density), tolerance = 1e-10)
})

test_that("chains agree with importance sampling from the prior", {
  # Null: t scores with 19 degrees of freedom at worst; |t| > 8 has probability
  # 2e-7; 5 scores of 2 chains (5 in the extended suite).
  cases <- list(
    list("select_different", 1, 1), list("equal", 1.5, 2),
    list("select_different", 1, 3), list("equal", 1.5, 1),
    list("different", 1, 1)
  )
  if (!extended()) cases <- cases[1:2]
  rows <- 1:4
  y <- student_y[rows]
  w <- student_w[rows]
  for (case in cases) {
    prior <- student_setting(case[[1]], case[[2]])
    x <- five_rows[rows, 1:2]
    at <- matrix(c(0.2, -0.4), 1)
    n <- if (extended()) 20000 else 5000
    exact <- withr::with_seed(6, response_importance(
      prior, x, drop(at), n, function(f, draws) {
        scale <- 1 / sqrt(outer(draws$noise, w))
        off <- rep(y, each = n) - f
        density <- stats::dt(off / scale, 3, log = TRUE) - log(scale)
        cbind(rowSums(density), squashed(log(draws$noise)))
      }
    ))
    for (n_temps in case[[3]]) {
      engine <- response_engine("student", x, y, prior, 100, 400, n_temps,
        weights = w
      )
      z <- response_scores(engine, exact, at, function(draws) {
        mean(squashed(log(draws$noise)))
      })
      label <- toString(unlist(c(case[1:2], n_temps)))
      expect_lt(max(abs(z)), 8, label = label)
    }
  }
})

# Evidence ---------------------------------------------------------------------

#' The density of y if f is 0, as a function of the noise precision
without_function <- function(phi, prior, y, w) {
  vapply(phi, function(phi) {
    scale <- 1 / sqrt(phi * w)
    prod(stats::dt(y / scale, prior$df) / scale) *
      stats::dgamma(phi, prior$noise_shape, prior$noise_rate)
  }, 0)
}

test_that("the base of the evidence agrees with quadrature", {
  prior <- student_setting()
  engine <- list(y = student_y, weights = student_w, config = list(
    prior = prior, family = "student"
  ))
  exact <- stats::integrate(without_function, 0, Inf, prior, student_y,
    student_w,
    rel.tol = 1e-10
  )$value
  expect_equal(student_base(engine), log(exact), tolerance = 1e-7)
  # Far from 1, and for many rows, from the known density of two rows raised to
  # a power: the integrand is that of one row, raised to a power.
  engine$y <- 1e4 * student_y
  scaled <- engine
  scaled$config$prior$noise_rate <- 1e8
  expect_equal(student_base(scaled), log(exact) - 5 * log(1e4),
    tolerance = 1e-7
  )
  engine$config$prior$noise_fixed <- TRUE
  engine$config$prior$noise_precision <- 2
  scale <- 1 / sqrt(2 * student_w)
  expect_equal(student_base(engine), sum(
    stats::dt(engine$y / scale, 3, log = TRUE) - log(scale)
  ))
})

test_that("the quadrature finds narrow and wide integrands with few points", {
  for (sd in c(1e-4, 1, 50)) {
    points <- 0
    value <- log_integral(function(x) {
      points <<- points + length(x)
      stats::dnorm(x, 3.3, sd, log = TRUE)
    }, c(-600, 600))
    expect_equal(value, 0, tolerance = 1e-10)
    expect_lt(points, 1000)
  }
})

test_that("the lowest rung has the law of the noise without a function", {
  # A ladder of this rung only. Null: t scores of 20 independent ladders, |t| >
  # 8 has probability 2e-7; 4 of them.
  prior <- student_setting()
  engine <- as_ladder(
    response_engine("student", five_rows, student_y, prior, 5, 1000,
      weights = student_w
    ), c(0, 1)
  )
  answers <- function(phi, omega) {
    c(squashed(log(phi)), squashed(log(phi))^2, squashed(log(omega)))
  }
  total <- stats::integrate(without_function, 0, Inf, prior, student_y,
    student_w,
    rel.tol = 1e-10
  )$value
  mean_of <- function(g) {
    stats::integrate(function(phi) {
      g(phi) * without_function(phi, prior, student_y, student_w)
    }, 0, Inf, rel.tol = 1e-8)$value / total
  }
  # The outlier's omega given phi is a gamma variable.
  of_omega <- function(phi) {
    vapply(phi, function(phi) {
      stats::integrate(function(omega) {
        squashed(log(omega)) * stats::dgamma(
          omega, 2, (3 + phi * student_w[[3]] * student_y[[3]]^2) / 2
        )
      }, 0, Inf, rel.tol = 1e-8)$value
    }, 0)
  }
  exact <- c(
    mean_of(function(phi) squashed(log(phi))),
    mean_of(function(phi) squashed(log(phi))^2), mean_of(of_omega)
  )
  means <- vapply(1:20, function(index) {
    state <- NULL
    rowMeans(vapply(1:80, function(i) {
      handle <- engine_open(engine, index, state)
      engine_advance(engine, handle, if (i == 1) 6 else 2)
      state <<- engine_state(engine, handle)
      engine_close(engine, handle)
      rung <- state$levels[[1]]
      answers(rung$phi, rung$row_weights[[3]])
    }, exact))
  }, exact)
  z <- (rowMeans(means) - exact) / apply(means, 1, stats::sd) * sqrt(20)
  expect_lt(max(abs(z)), 8)
})

student_data <- function() {
  data.frame(
    x1 = evidence_points[, 1], x2 = evidence_points[, 2],
    y = c(0.8, -0.9, 5, 0.1, 1.2, -0.3)
  )
}
evidence_points <- matrix(c(
  0.3, -1.2, 1.1, -0.2, 0.9, 0.1, 0.4, -1, -0.6, 1.3, -0.5, 0.7
), 6)

student_fit <- function(..., type = "different", alpha = 1, df = 3,
                        noise = noise_gamma(3, 1), scale = FALSE,
                        control = mcmc_control(1, 1, 2)) {
  suppressWarnings(bark(y ~ x1 + x2, student_data(),
    prior = bark_prior_paper(type,
      alpha = alpha, eps = 0.5, gamma = 1.5, noise = noise, df = df
    ), control = control, scale = scale, seed = 1, ...
  ))
}

test_that("the evidence agrees with importance sampling from the prior", {
  # Null: as in test-bark-evidence.R; |t| > 8 has probability 2e-7.
  w <- c(1, 0.5, 3, 1, 2, 1)
  fits <- list(
    weighted = student_fit(weights = w),
    fixed = student_fit(type = "select_equal", alpha = 1.5, noise = fixed_variance(0.4))
  )
  for (name in names(fits)[seq_len(1 + extended())]) {
    fit <- fits[[name]]
    prior <- fit$settings$prior
    known <- prior$noise_fixed
    if (known) prior$noise_shape <- prior$noise_rate <- 1
    engine <- fit_engine(fit)
    exact <- withr::with_seed(8, response_importance(
      prior, engine$x, c(0, 0), 6000, function(f, draws) {
        scale <- 1 / sqrt(outer(draws$noise, engine$weights))
        off <- rep(engine$y, each = 6000) - f
        cbind(rowSums(stats::dt(off / scale, 3, log = TRUE) - log(scale)))
      }
    ))$weight
    z <- evidence(fit,
      n_temps = 5, warmup = 20, iter = 100, chains = 20, seed = 3
    )
    own <- stats::sd(z$replicates) / sqrt(20)
    se <- stats::sd(exact) / mean(exact) / sqrt(length(exact))
    score <- (z$log_evidence - log(mean(exact))) / sqrt(own^2 + se^2)
    expect_lt(abs(score), 8, label = name)
  }
})

test_that("learned degrees of freedom leave the joint law invariant", {
  # Null: at most 170 nearly standard normal scores per call, 9 calls: |z| > 6
  # somewhere has probability 3e-6.
  setting <- bark_setting("select_different", df = c(8, 0.5, 3, 40))
  for (move in c("row_weights", "noise", "noise_gibbs", "birth_death")) {
    pairs <- if (extended()) 60000 else if (move == "row_weights") 20000 else 2000
    z <- paired_scores(bark_invariance_cpp(
      setting, five_rows, student_w, move, 4, pairs, 1, 7, "student", 1
    ))
    expect_lt(max(abs(z)), 6, label = move)
  }
  fixed <- utils::modifyList(setting, list(noise_fixed = TRUE))
  z <- paired_scores(bark_invariance_cpp(
    fixed, five_rows, student_w, "row_weights", 4, 4000, 1, 7, "student", 0.3
  ))
  expect_lt(max(abs(z)), 6)
  x <- withr::with_seed(3, matrix(stats::rnorm(36), 12))
  z <- paired_scores(bark_geweke_cpp(
    utils::modifyList(setting, list(nu = 8)), x, rep(c(1, 0.5, 3), 4), 3,
    if (extended()) 20000 else 1500, 1, "student", FALSE
  ))
  expect_lt(max(abs(z)), 6)
})

test_that("chains that learn the degrees of freedom agree with importance
           sampling, and so does the evidence", {
  # Null: t scores with 19 degrees of freedom at worst, 7 of them: |t| > 8 has
  # probability 2e-7 each.
  rows <- 1:4
  y <- student_y[rows]
  w <- student_w[rows]
  df <- c(4, 1.5, 20)
  prior <- bark_setting("select_different", df = df)
  x <- five_rows[rows, 1:2]
  n <- if (extended()) 20000 else 6000
  exact <- withr::with_seed(6, response_importance(
    prior, x, c(0.2, -0.4), n, function(f, draws) {
      nu <- sample(df, n, TRUE)
      scale <- 1 / sqrt(outer(draws$noise, w))
      off <- rep(y, each = n) - f
      density <- stats::dt(off / scale, nu, log = TRUE) - log(scale)
      cbind(rowSums(density), squashed(log(draws$noise)), 1 / nu)
    }
  ))
  engine <- response_engine("student", x, y, prior, 100, 400, weights = w)
  z <- response_scores(engine, exact, matrix(c(0.2, -0.4), 1), function(draws) {
    c(mean(squashed(log(draws$noise))), mean(1 / draws$df))
  })
  expect_lt(max(abs(z)), 8)
  base <- function(df) {
    engine$config$prior$df <- df
    student_base(engine)
  }
  expect_equal(base(df), log(mean(exp(vapply(df, base, 0)))))
})

test_that("rungs that rarely exchange their states are noted", {
  expect_null(rungs_apart(c(0.4, 0.02, NA)))
  expect_null(rungs_apart(NA_real_))
  expect_match(rungs_apart(c(0.4, 0.001, NA)), "too far apart")
})

test_that("a ladder cut anywhere continues unchanged", {
  engine <- ladder_engine(student_fit(), 3, 10, 30, 5)
  expect_identical(
    run_parts(engine, c(7, 3, 1, 29)), run_parts(engine, 40)
  )
})

# Fits -------------------------------------------------------------------------

test_that("predictions have Student's noise, with weights", {
  w <- c(1, 0.5, 3, 1, 2, 1)
  fit <- student_fit(
    weights = w, scale = TRUE, control = mcmc_control(2, 50, 40)
  )
  new <- student_data()[1:3, ]
  pool <- bark_pool(fit)
  unit <- fit$settings$scaling$y_scale
  center <- predict(fit, new) - unit * rowMeans(
    bark_moments(fit, as.matrix(new[1:2]), pool)$mean
  )
  moments <- bark_moments(fit, as.matrix(new[1:2]), pool)
  density <- function(i, y, weight) {
    mean(vapply(seq_along(pool$m), function(s) {
      scale <- unit / sqrt(pool$noise[[s]] * weight)
      sd <- unit * sqrt(moments$variance[i, s])
      mean <- center[[i]] + unit * moments$mean[i, s]
      stats::integrate(function(u) {
        stats::dt((y - mean - sd * u) / scale, 3) / scale * stats::dnorm(u)
      }, -8, 8, rel.tol = 1e-8)$value
    }, 0))
  }
  score <- predict(fit, new, type = "log_score", weights = c(4, 1, 0.2))
  exact <- vapply(1:3, function(i) {
    log(density(i, new$y[[i]], c(4, 1, 0.2)[[i]]))
  }, 0)
  expect_equal(score, exact, tolerance = 1e-6)
  # Tails of a prediction at both ends: P(y > q) by quadrature.
  q <- predict(fit, new[1, ],
    type = "quantile", probs = c(0.1, 0.9), weights = 4
  )
  above <- stats::integrate(function(y) {
    vapply(y, function(y) density(1, y, 4), 0)
  }, q[1, 2], q[1, 2] + 200, rel.tol = 1e-4)$value
  expect_equal(above, 0.1, tolerance = 1e-2)
  expect_lt(q[1, 1], q[1, 2])
  # f itself has no noise.
  narrow <- predict(fit, new, interval = "credible")
  wide <- predict(fit, new, interval = "prediction")
  expect_true(all(wide[, "upr"] > narrow[, "upr"]))
})

test_that("a fit reports its degrees of freedom, and update() keeps them", {
  control <- mcmc_control(2, 50, 40)
  fit <- student_fit(scale = TRUE, control = control)
  expect_output(print(fit), "Student's t, df 3")
  expect_output(print(fit), "noise scale")
  expect_output(print(bark_prior_paper(df = 4)), "Student's t, df 4")
  expect_equal(sigma(fit), mean(as_draws(fit)$sigma))
  expect_true(is.finite(logLik(fit)))
  expect_named(tidy(fit), c(
    "term", "estimate", "std.error", "conf.low", "conf.high"
  ))
  long <- student_fit(scale = TRUE, control = mcmc_control(2, 50, 60))
  expect_identical(
    lapply(update(fit, iter = 20)$runs, `[[`, "draws"),
    lapply(long$runs, `[[`, "draws")
  )
  expect_identical(dim(simulate(fit, 3, seed = 1)), c(6L, 3L))
})

test_that("new responses are Student-t variables around f", {
  skip_if_not_installed("rstantools")
  fit <- student_fit(control = mcmc_control(2, 50, 400))
  w <- c(0.25, 4)
  new <- student_data()[1:2, ]
  y <- rstantools::posterior_predict(fit, new, weights = w, seed = 1)
  scale <- outer(as_draws(fit)$sigma, 1 / sqrt(w))
  # Null: 1600 independent uniform variables; scores of two moments, |z| > 6.
  u <- stats::pt((y - predict(fit, new, type = "draws")) / scale, 3)
  z <- c(mean(u) - 1 / 2, mean(u^2) - 1 / 3) / sqrt(c(1 / 12, 4 / 45)) * 40
  expect_lt(max(abs(z)), 6)
  l <- rstantools::log_lik(fit, new, weights = w)
  residual <- rep(new$y, each = 800) - predict(fit, new, type = "draws")
  expect_equal(
    l, stats::dt(residual / scale, 3, log = TRUE) - log(scale),
    tolerance = 1e-10
  )
})

test_that("an outlier moves f less, and normal noise is the default", {
  x <- seq(-2, 2, length.out = 25)
  y <- sin(x)
  y[[13]] <- 8
  fit <- function(df) {
    suppressWarnings(bark(matrix(x), y,
      prior = bark_prior_paper("equal", df = df), seed = 1,
      control = mcmc_control(2, 300, 300)
    ))
  }
  error <- vapply(c(2, Inf), function(df) {
    mean(abs(predict(fit(df)) - sin(x))[-13])
  }, 0)
  expect_lt(error[[1]], error[[2]] / 2)
  expect_null(fit(Inf)$settings$prior$df)
})

test_that("a fit averages over the degrees of freedom that it learns", {
  fit <- suppressWarnings(bark(y ~ x1 + x2, student_data(),
    prior = bark_prior_paper(df = "learned"), seed = 1,
    control = mcmc_control(2, 50, 60)
  ))
  pool <- bark_pool(fit)
  expect_true(all(pool$df %in% learned_df))
  expect_equal(as_draws(fit)$df, pool$df)
  expect_output(print(fit), "df learned")
  expect_true(is.finite(logLik(fit)))
  # Draws of one value of df predict as a fit with that value does.
  new <- student_data()[1:2, ]
  x <- as.matrix(new[1:2])
  values <- unique(pool$df)
  moments <- bark_moments(fit, x, pool)
  scaling <- fit$settings$scaling
  parts <- vapply(values, function(df) {
    these <- pool$df == df
    exp(mixture_log_density_cpp(
      moments$mean[, these, drop = FALSE],
      moments$variance[, these, drop = FALSE], rbind(1 / pool$noise[these]),
      rep(1 / sum(these), sum(these)), df, scaling_y(scaling, new$y)
    )) * mean(these)
  }, c(0, 0))
  expect_equal(
    predict(fit, new, type = "log_score"),
    log(rowSums(parts)) - log(scaling$y_scale),
    tolerance = 1e-10
  )
  q <- predict(fit, new, type = "quantile", probs = c(0.05, 0.5))
  expect_true(all(q[, 1] < q[, 2]))
  longer <- suppressWarnings(update(fit, iter = 10))
  expect_identical(head_draws(longer, longer$runs[[1]], 60)$draws$df,
    fit$runs[[1]]$draws$df
  )
})

test_that("wrong degrees of freedom are refused", {
  for (df in list(0, -1, NA, "3", c(3, 4))) {
    expect_error(bark_prior_paper(df = df), class = "kb_error_argument")
  }
  expect_error(
    bark(matrix(1:6 / 6), factor(c("a", "b", "a", "b", "a", "b")),
      prior = bark_prior_paper(df = 3)
    ),
    class = "kb_error_argument"
  )
})
