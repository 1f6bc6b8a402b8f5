# Probit models of bark(): latent responses by one-step invariance and exact
# moments, chains of tiny problems against importance sampling from the prior.
#
# Seen to fail, one mutant at a time:
# - Holmes and Held: z_i left in its own mean, variance 1, q not updated; given
#   the coefficients: their mean instead of a draw;
# - scale: n + 1 degrees of freedom, the prior left out of Q;
# - magnitude: alpha left out of the power, no power, the exponent's factor g
#   for g^2, latent responses not redrawn, or redrawn at the old f;
# - amplitude: left out when slots are placed, added, scored, or scored after
#   another change (test-bark-core.R: "two slots become one"); not handed over
#   in an exchange; exchanges always accepted, or with half of their ratio;
# - latent responses not restored; the likelihood kept at the mean of the
#   coefficients.

#' An engine of run_engine() without a fit around it
probit_engine <- function(x, y, prior = probit_setting(), warmup = 20,
                          iter = 40, n_temps = 1, seed = 1, thin = 1,
                          prior_only = FALSE) {
  structure(
    list(
      config = list(
        prior = prior, seed = seed, prior_only = prior_only,
        family = "probit", warmup = warmup, iter = iter, thin = thin,
        n_temps = n_temps, sweep = "full"
      ),
      x = x, y = y, weights = rep(1, length(y))
    ),
    class = c("kb_engine_bark", "kb_engine_chain", "kb_engine")
  )
}

run_whole <- function(engine, index = 1) {
  run_parts(engine, engine_total(engine), index)
}

# Likelihood ------------------------------------------------------------------

test_that("updates agree with dense algebra of the latent responses", {
  y <- c(1, -1, 1, 1, -1)
  for (type in bark_types) {
    for (amplitude in c(1, 0.1)) {
      walk <- bark_walk_cpp(
        probit_setting(type, if (amplitude == 1) 1 else 1.5, 6), five_rows, y,
        rep(1, 5), 40, 1, 3, "probit", amplitude
      )
      alpha <- if (amplitude == 1) 1 else 1.5
      for (state in walk) {
        expect_true(all(state$response * y > 0))
        at <- function(amplitude) {
          lowered <- state
          lowered$varphi <- state$varphi / amplitude
          lowered
        }
        dense <- function(state) {
          z <- state$response
          dense_log_likelihood(state, five_rows, z, rep(1, 5), alpha)
        }
        expect_lt(abs(state$log_likelihood - dense(at(amplitude))), 1e-8)
        expect_lt(abs(state$at_half - dense(at(amplitude / 2))), 1e-8)
        if (length(state$location) == 0) next
        k <- slot_columns(state, five_rows)
        v <- slot_variances(at(amplitude), alpha)
        mean <- drop(
          solve(crossprod(k) + diag(1 / v, length(v)), tol = 0) %*%
            crossprod(k, state$response)
        )
        expect_lt(max(abs(state$mean - mean) / sqrt(v)), 1e-7)
      }
    }
  }
})

# Latent responses ------------------------------------------------------------

#' E[z1^a z2^b] of N(0, cov) on the positive quadrant, by one quadrature: in
#' polar coordinates the radius integrates out.
quadrant_moment <- function(cov, a, b) {
  precision <- solve(cov)
  integral <- function(a, b) {
    k <- a + b
    stats::integrate(function(angle) {
      u <- rbind(cos(angle), sin(angle))
      u[1, ]^a * u[2, ]^b * colSums(u * (precision %*% u))^(-(k + 2) / 2)
    }, 0, pi / 2, rel.tol = 1e-10)$value * gamma((k + 2) / 2) * 2^(k / 2)
  }
  integral(a, b) / integral(0, 0)
}

test_that("latent responses have the exact moments of a truncated normal", {
  # Two rows of the classes 1, -1: z y is normal on the positive quadrant. 200
  # independent runs; null: t scores with 199 degrees of freedom, |t| > 6.5 has
  # probability 6e-10 each; 4 cases of 5 scores.
  x <- matrix(c(0, 0.8), 2)
  y <- c(1, -1)
  cases <- list(
    list("latent", c(0.5, 2)), list("latent_given_coefficients", c(0.5, 2)),
    list(c("latent", "latent_scale"), c(1e-4, 0.01)),
    list(c("latent_given_coefficients", "latent_scale"), c(2, 2))
  )
  location <- c(0, 2)
  k <- cbind(1, exp(-0.7 * (x[, 1] - x[2, 1])^2))
  for (case in cases) {
    cov <- (diag(2) + k %*% (1 / case[[2]] * t(k))) * outer(y, y)
    powers <- cbind(c(1, 0, 2, 0, 1), c(0, 1, 0, 2, 1))
    exact <- apply(powers, 1, function(p) quadrant_moment(cov, p[1], p[2]))
    means <- vapply(1:200, function(seed) {
      z <- y * bark_latent_cpp(
        probit_setting("different"), x, y, location, case[[2]], log(0.7),
        case[[1]], 140, seed
      )[, -(1:40)]
      apply(powers, 1, function(p) mean(z[1, ]^p[1] * z[2, ]^p[2]))
    }, numeric(5))
    score <- (rowMeans(means) - exact) / apply(means, 1, stats::sd) * sqrt(200)
    expect_lt(max(abs(score)), 6.5, label = toString(unlist(case)))
  }
})

test_that("the scale of latent responses is drawn exactly, at any variance", {
  # After the move z'(I + K V K')^-1 z of n rows is chi-square with n degrees of
  # freedom, regardless of the state before: independent draws, |score| > 6 in
  # 12.
  y <- c(1, -1, 1, 1, -1)
  for (varphi in c(1, 1e-6, 1e-10)) {
    location <- c(0, 3)
    z <- bark_latent_cpp(
      probit_setting("different"), five_rows, y, location, rep(varphi, 2),
      rep(-1, 3), c("latent", "latent_scale"), 4000, 2
    )
    lambda <- rep(exp(-1), 3)
    k <- cbind(1, exp(-colSums(lambda * (t(five_rows) - five_rows[3, ])^2)))
    # By Woodbury's formula, which inverts a matrix of two rows.
    rest <- qr.resid(qr(rbind(k, diag(sqrt(varphi), 2))), rbind(z, 0, 0))
    q <- colSums(rest^2)
    expect_lt(abs(mean(q) - 5) / sqrt(10) * sqrt(4000), 6)
    square <- (q - 5)^2
    expect_lt(abs(mean(square) - 10) / stats::sd(square) * sqrt(4000), 6)
    expect_true(all(z * y > 0))
  }
})

test_that("responses that determine one another are drawn correctly", {
  # v = 1e6: independent draws of a half normal for one row. v = 1e12, where 1 -
  # H is rounding: given the coefficients, and by the exact scale.
  for (v in c(1e6, 1e12, 1e18)) {
    moves <- c("latent", if (v > 1e6) "latent_scale")
    z <- drop(bark_latent_cpp(
      probit_setting("different"), matrix(0.4), 1, 0, 1 / v, 0, moves, 4000, 3
    )) / sqrt(1 + v)
    expect_gt(min(z), 0)
    expect_lt(abs(mean(z) - sqrt(2 / pi)) / sqrt(1 - 2 / pi) * sqrt(4000), 6)
    expect_lt(abs(mean(z^2) - 1) / sqrt(2) * sqrt(4000), 6)
  }
})

# Moves -----------------------------------------------------------------------

test_that("every move leaves the joint law with latent responses invariant", {
  # Null: at most 119 scores per call, each nearly standard normal, 76 calls
  # (224 in the extended suite): |z| > 6 somewhere has a probability of 5e-5 at
  # most.
  moves <- setdiff(bark_moves_cpp(), c("none", "noise", "noise_gibbs"))
  # The effect of latent responses on the others does not depend on scales.
  own <- c(
    "latent", "latent_scale", "latent_given_coefficients", "magnitude"
  )
  cases <- expand.grid(
    move = moves, type = bark_types, alpha = c(1, 1.5), amplitude = c(1, 0.2),
    stringsAsFactors = FALSE
  )
  fast <- (cases$move %in% own | cases$type == "select_different") &
    (cases$amplitude == 1) == (cases$alpha == 1)
  for (i in which(fast | extended())) {
    case <- cases[i, ]
    z <- paired_scores(bark_invariance_cpp(
      probit_setting(case$type, case$alpha), five_rows, rep(1, 5), case$move, 4,
      if (extended()) 60000 else 5000, 1, 7, "probit", case$amplitude
    ))
    expect_lt(max(abs(c(z, 0))), 6, label = paste(case, collapse = " "))
  }
})

test_that("exchanges of rungs leave the law of both states invariant", {
  # Null: at most 56 scores per case, nearly standard normal; |z| > 6.
  cases <- list(
    list("probit", 0.1, probit_setting("select_different")),
    list("probit", 0, probit_setting("equal", 1.5)),
    list("gaussian", 0, probit_setting("different", noise_fixed = FALSE))
  )
  for (case in cases) {
    out <- bark_exchange_cpp(
      case[[3]], five_rows[1:3, ], case[[1]], case[[2]], 20000, 4
    )
    # If the likelihood is not used, neither is the response.
    rows <- if (case[[1]] == "gaussian") c(1:11, 15:24) else 1:28
    before <- out$before[rows, ]
    after <- out$after[rows, ]
    expect_gt(mean(before[1, ] != after[1, ]), 0.2)
    d <- rbind(after, after^2) - rbind(before, before^2)
    z <- rowMeans(d) / sqrt(rowMeans(d^2)) * sqrt(ncol(d))
    expect_lt(max(abs(z), na.rm = TRUE), 6, label = toString(case[1:2]))
  }
})

# Chains ----------------------------------------------------------------------

test_that("a probit chain cut anywhere continues unchanged", {
  y <- c(1, -1, 1, 1, -1)
  for (n_temps in c(1, 3)) {
    for (alpha in c(1, 1.5)) {
      engine <- probit_engine(five_rows, y,
        probit_setting("select_different", alpha), n_temps = n_temps, thin = 2
      )
      expect_identical(run_parts(engine, c(7, 20, 1, 32)), run_whole(engine))
    }
  }
})

test_that("the stored log likelihood is for the drawn coefficients", {
  y <- c(1, -1, 1, 1, -1)
  engine <- probit_engine(five_rows, y, probit_setting("select_different"))
  draws <- run_whole(engine)$draws
  f <- bark_values_cpp(
    draws, five_rows, five_rows, "draw", seq_along(draws$m)
  )$mean
  expect_equal(
    draws$log_likelihood, colSums(stats::pnorm(y * f, log.p = TRUE)),
    tolerance = 1e-10
  )
})

#' Draws from the prior with their weights: coefficients are drawn too, so that
#' the density of y is a product of bounded factors
probit_importance <- function(prior, x, y, at, n) {
  draws <- draw_bark_functions(prior, x, at, n)
  f <- draws$f[, seq_along(y)]
  weight <- exp(rowSums(stats::pnorm(rep(y, each = n) * f, log.p = TRUE)))
  at_point <- stats::pnorm(draws$f[, length(y) + 1])
  list(weight = weight, answers = rbind(draws$J, draws$d, weight, at_point))
}

#' The same for a run: numbers of kernels and of predictors, the likelihood of
#' the drawn coefficients, P(y = 1) at a point
probit_answers <- function(run, x, at) {
  draws <- run$draws
  moments <- bark_values_cpp(draws, at, x, "moments", seq_along(draws$m))
  c(
    sum(draws$copies) / length(draws$m),
    sum(draws$included) / length(draws$m), mean(exp(draws$log_likelihood)),
    mean(stats::pnorm(moments$mean / sqrt(1 + moments$variance)))
  )
}

test_that("probit chains agree with importance sampling from the prior", {
  # Null: as for the Gaussian family, t scores with 19 degrees of freedom at
  # worst; |t| > 8 has probability 2e-7; 4 scores of 7 chains.
  tiny <- list(
    list(x = five_rows[1:4, 1:2], y = c(1, -1, 1, 1)),
    list(x = five_rows[1:3, 1, drop = FALSE], y = c(1, 1, 1)),
    list(x = five_rows[, 1:2], y = c(1, -1, 1, 1, -1))
  )
  cases <- list(
    list(1, "select_different", 1, c(1, 3)), list(1, "different", 1.5, c(1, 2)),
    list(2, "equal", 1, 1), list(3, "select_equal", 1, c(1, 3))
  )
  for (case in cases) {
    x <- tiny[[case[[1]]]]$x
    y <- tiny[[case[[1]]]]$y
    at <- matrix(c(0.2, -0.4)[seq_len(ncol(x))], 1)
    prior <- probit_setting(case[[2]], case[[3]], 4, eps = 1)
    exact <- withr::with_seed(
      6, probit_importance(prior, x, y, drop(at), 6000)
    )
    w <- exact$weight / sum(exact$weight)
    mean <- drop(exact$answers %*% w)
    se <- sqrt(drop((exact$answers - mean)^2 %*% w^2))
    for (n_temps in case[[4]]) {
      engine <- probit_engine(x, y, prior, 50, 350, n_temps)
      chains <- vapply(1:20, function(i) {
        probit_answers(run_whole(engine, i), x, at)
      }, numeric(4))
      own <- apply(chains, 1, stats::sd) / sqrt(20)
      z <- (rowMeans(chains) - mean) / pmax(sqrt(own^2 + se^2), 1e-9)
      label <- toString(unlist(c(case[1:3], n_temps)))
      expect_lt(max(abs(z)), 8, label = label)
    }
  }
})

test_that("a probit chain of the prior alone does not depend on the data", {
  # Null: 30 independent chains; J ~ Poisson(3) and the coefficient at the
  # intercept symmetric; t scores, |t| > 8.
  y <- c(1, 1, 1, 1, 1)
  engine <- probit_engine(five_rows, y, prior_only = TRUE, iter = 100)
  runs <- lapply(1:30, run_whole, engine = engine)
  score <- function(v) mean(v) / stats::sd(v) * sqrt(length(v))
  j <- vapply(runs, function(run) {
    sum(run$draws$copies) / length(run$draws$m)
  }, 0)
  expect_lt(abs(score(j - 3)), 8)
  signs <- vapply(runs, function(run) {
    mean(sign(run$draws$beta[run$draws$location == 0]))
  }, 0)
  expect_lt(abs(score(signs)), 8)
  expect_true(all(runs[[1]]$levels[[1]]$latent == 0))
})

test_that("extreme problems have finite answers", {
  edges <- list(
    list(five_rows, rep(1, 5)), # one class
    list(matrix(c(-2, -1, 1, 2)), c(-1, -1, 1, 1)), # separated
    list(matrix(0.5), -1), # one row
    list(matrix(0, 4, 2), c(1, -1, 1, -1)) # no signal
  )
  for (edge in edges) {
    for (nu in c(1e-3, 30)) {
      engine <- probit_engine(edge[[1]], edge[[2]],
        probit_setting("select_different", nu = nu, eps = 50), iter = 100
      )
      draws <- run_whole(engine)$draws
      expect_true(all(is.finite(unlist(draws))))
      expect_true(all(draws$log_likelihood <= 0))
      if (nu < 1 && sum(draws$m) == 0) {
        coins <- -length(edge[[2]]) * log(2)
        expect_equal(draws$log_likelihood, rep(coins, 100))
      }
    }
  }
})

test_that("responses other than -1 and 1 and weights are refused", {
  engine <- probit_engine(five_rows, c(0, 1, 1, 0, 1))
  expect_error(engine_open(engine, 1, NULL), "-1 and 1")
  engine <- probit_engine(five_rows, c(-1, 1, 1, -1, 1))
  engine$weights <- rep(2, 5)
  expect_error(engine_open(engine, 1, NULL), "weights 1")
})
