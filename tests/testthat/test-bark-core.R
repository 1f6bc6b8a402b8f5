# The core of bark(): its likelihood against dense algebra, its moves by
# one-step invariance. The model and every ratio are in src/core/bark.
#
# Seen to fail, one mutant at a time:
# - birth and death: J for J + 1 either way, unequal halves, no birth at J = 0,
#   intercept left out, a slot chosen instead of a copy, the first copy removed
#   instead of the chosen one (6.5: per copy, shared slots, power 1 only);
# - relocate: no cross term (to a new slot: "kernels are where"; to an occupied
#   one: "two slots become one"; neither disturbs invariance enough), one term
#   of it, the column before a removal, the removal's ratio left out, varphi
#   carried along;
# - copies and rescale: n for n + 1 (of copies, of locations), n - 1 on the way
#   down, no Jacobian, no exponential factor, the ratio not squared;
# - the variance of a coefficient: Voigt's function with the residue of |x| at a
#   negative x, without residues, with nodes next to x; b twice as large, a without
#   copies; draws that are NaN for infinite information; no tail, chords taken for
#   the density, (B142) without the ratio of priors or the share of the prior;
# - varphi: alpha for alpha / 2, no Jacobian, wrong rates; in all places at once
#   alpha missing from the rate: only the moments of prior draws;
# - scales: a dropped, no Jacobian, S of one predictor, shapes a or a / (d + 1)
#   for a / d, unequal shapes of a pair, always the first predictors;
# - flip: reverse not negated, A, exp and density factors dropped or inverted, d
#   for d + 1, the shape at d = 0, constants of the Dirichlet, its power
#   dropped, shares of the larger state, Beta shapes swapped, others not
#   rescaled, kind of flip or predictor chosen unevenly; swap: scale left, the
#   next predictor always;
# - noise: shape minus 1, n - 1, weights left out, the mean or a wrong factor
#   instead of draws; prior: shapes, a_p for b_p, fixed inclusion, no intercept;
# - state: kappa, a removal that leaves gram row, products or values, undo that
#   forgets values, gram, products, covariance or what it kept, excluded
#   predictors in the kernel, QR left out, used only if Cholesky fails, its
#   signs, its weights, the volume's sign, Sig from the wrong factor.
# Not visible, because right: varphi of a shared slot, or of another of its
# copies, redrawn when a copy is relocated to its own place. Exponents that are
# not moved or not restored: nothing reads them.

weights <- c(1, 0.1, 5, 1, 2.5)

# Likelihood ------------------------------------------------------------------

test_that("updates keep the likelihood, covariance and mean of dense algebra", {
  withr::local_seed(1)
  x <- matrix(stats::rnorm(60), 15)
  y <- sin(x[, 1]) + 0.3 * stats::rnorm(15)
  w <- stats::runif(15, 0.5, 2)
  for (type in bark_types) {
    for (alpha in c(1, 1.5)) {
      walk <- bark_walk_cpp(bark_setting(type, alpha, 6), x, y, w, 60, 1, 3)
      for (state in walk) {
        dense <- dense_log_likelihood(state, x, y, w, alpha)
        expect_lt(abs(state$log_likelihood - dense), 1e-8)
        if (length(state$location) == 0) next
        k <- slot_columns(state, x)
        v <- slot_variances(state, alpha)
        precision <- state$noise * crossprod(k, w * k) + diag(1 / v, length(v))
        # In units of the prior, whose variances can have any size.
        unit <- sqrt(outer(v, v))
        expect_lt(
          max(abs(state$covariance - solve(precision, tol = 0)) / unit), 1e-7
        )
        mean <- state$noise * state$covariance %*% crossprod(k, w * y)
        expect_lt(max(abs(state$mean - mean) / sqrt(v)), 1e-7)
      }
      expect_gt(length(unique(lapply(walk, `[[`, "location"))), 20)
    }
  }
})

#' Likelihood, covariance and mean by the singular values of A = (phi W)^(1/2)
#' K s: M = I + A'A is never formed
singular_reference <- function(state, x, y, weights) {
  v <- slot_variances(state, 1)
  root <- sqrt(state$noise * weights)
  a <- root * t(sqrt(v) * t(slot_columns(state, x)))
  parts <- svd(a, nv = ncol(a))
  d <- c(parts$d, numeric(ncol(a) - length(parts$d)))
  z <- root * y
  along <- drop(crossprod(parts$u, z))
  rest <- z - parts$u %*% along
  scaled <- parts$v[, seq_along(along), drop = FALSE] %*%
    (parts$d / (1 + parts$d^2) * along)
  list(
    log_likelihood = sum(log(root)) - length(y) / 2 * log(2 * pi) -
      sum(log1p(d^2)) / 2 - sum(rest^2) / 2 -
      sum(along^2 / (1 + parts$d^2)) / 2,
    # In units of the prior.
    covariance = parts$v %*% (t(parts$v) / (1 + d^2)),
    mean = drop(scaled)
  )
}

test_that("collinear columns of huge variance lose no digits", {
  # Columns that are equal (no predictor included) or nearly so, and one
  # different column: the Gram form is wrong or fails, and the QR factor takes
  # over.
  y <- c(0.4, -1.1, 0.7, 1.9, -0.3)
  gram_error <- c()
  for (v in 10^c(6, 8, 10, 12, 14, 20)) {
    for (case in list(
      list(log_lambda = rep(0, 3), included = rep(0L, 3), at = c(0, 2, 4)),
      list(log_lambda = rep(-25, 3), included = rep(1L, 3), at = c(0, 2, 4)),
      list(log_lambda = rep(-40, 3), included = rep(1L, 3), at = 0:5),
      list(log_lambda = c(1, -25, 0), included = c(0L, 1L, 0L), at = c(1, 3))
    )) {
      varphi <- seq(1, 3, length.out = length(case$at)) / v
      state <- bark_state_cpp(
        bark_setting("select_different"), five_rows, y, weights, case$at,
        varphi,
        case$log_lambda, case$included, 1.7, "none", 0, 1
      )
      exact <- singular_reference(state, five_rows, y, weights)
      # Compared with 80 digits, core and reference: up to 1e8 (Gram form) 3e-7;
      # beyond, likelihood 2e-15 (1e10), 1e-11 (1e14), 2e-6 (1e20), means 5e-9
      # (1e14).
      tol <- if (v <= 1e8) 1e-6 else 1e-14 * sqrt(v)
      expect_lt(abs(state$log_likelihood - exact$log_likelihood), tol)
      unit <- sqrt(slot_variances(state, 1))
      expect_lt(
        max(abs(state$covariance / outer(unit, unit) - exact$covariance)), tol
      )
      expect_lt(max(abs(state$mean / unit - exact$mean)), tol)
      dense <- tryCatch(
        {
          k <- slot_columns(state, five_rows)
          s <- unit * t(k * sqrt(1.7 * weights))
          r <- chol(diag(length(unit)) + tcrossprod(s))
          q <- backsolve(
            r, s %*% (sqrt(1.7 * weights) * y),
            transpose = TRUE
          )
          sum(log(1.7 * weights)) / 2 - 5 / 2 * log(2 * pi) -
            sum(log(diag(r))) - 1.7 * sum(weights * y^2) / 2 + sum(q^2) / 2
        },
        error = function(e) Inf
      )
      gram_error <- c(gram_error, abs(dense - exact$log_likelihood))
    }
  }
  # Equal columns: the law of the fit, by draws of coefficients of any size.
  # Null: 20 000 normal draws; mean and variance at |z| > 6.
  for (v in 10^c(6, 12, 16)) {
    varphi <- 1:3 / v
    state <- bark_state_cpp(
      bark_setting("select_different"), five_rows, y, weights, c(0, 2, 4),
      varphi,
      rep(0, 3), rep(0L, 3), 1.7, "none", 20000, 1
    )
    fit <- colSums(state$coefficients)
    precision <- 1.7 * sum(weights) + 1 / sum(1 / varphi)
    z <- (fit - 1.7 * sum(weights * y) / precision) * sqrt(precision)
    expect_lt(abs(mean(z)) * sqrt(20000), 6)
    expect_lt(abs(mean(z^2) - 1) * sqrt(20000 / 2), 6)
  }
  # The tested cases are not ones that the Gram form would get right.
  expect_gt(sum(gram_error > 1e-4), 8)
})

# The variance of one coefficient ----------------------------------------------

test_that("Voigt's function is right", {
  # The average of exp(-t^2) over Cauchy t, by its quantiles; known values at
  # x = 0; and in 34 digits (the trapezoidal rule with half the step, in
  # quadruple precision), where the integral cannot be trusted.
  by_quantiles <- function(x, y) {
    f <- function(angle) exp(-(x + y * tan(angle))^2)
    stats::integrate(f, -pi / 2, pi / 2, rel.tol = 1e-11, subdivisions = 2000L)
  }
  for (x in c(0, 0.1, 0.125, 0.37, 0.5, 1.9, 4, 7.3)) {
    for (y in c(0.3, 1, 3, 6.2, 6.4, 50)) {
      expect_equal(
        bark_voigt_cpp(x, y), by_quantiles(x, y)$value / pi,
        tolerance = 1e-9
      )
    }
  }
  y <- c(1e-6, 0.01, 0.4, 2, 6)
  expect_equal(
    bark_voigt_cpp(0 * y, y), 2 * exp(y^2) * stats::pnorm(-y * sqrt(2)),
    tolerance = 1e-12
  )
  known <- rbind(
    c(1, 1e-08, 0.36787944203080473),
    c(3, 1e-09, 0.00012340988265141468),
    c(5, 1e-06, 2.4094339157716459e-08),
    c(5.8, 1e-09, 1.7583970061635257e-11),
    c(6.1, 1e-07, 1.5819010246960546e-09),
    c(8, 1e-09, 9.0306208161815005e-12),
    c(30, 1e-05, 6.2792502413102354e-09),
    c(200, 0.001, 1.4105268549136697e-08),
    c(0.25, 1e-09, 0.93941306182041138),
    c(2.625, 0.02, 0.0032797947277242347),
    c(3, 6.2, 0.073531476749898075),
    c(1, 10000, 5.641895750849128e-05)
  )
  expect_lt(
    max(abs(bark_voigt_cpp(known[, 1], known[, 2]) / known[, 3] - 1)), 1e-13
  )
  expect_identical(bark_voigt_cpp(-0.7, 0.2), bark_voigt_cpp(0.7, 0.2))
  # Where |z| is large: y / (sqrt(pi) |z|^2).
  x <- c(3, 1e90, 1e7, 1e10, 1e-3)
  y <- c(1e90, 2, 1e-3, 1e-3, 1e150)
  large <- y / pmax(x, y)^2 / sqrt(pi)
  expect_equal(bark_voigt_cpp(x, y) / large, rep(1, 5), tolerance = 1e-12)
})

# Precision and score, from none to decisive.
coefficient_cases <- list(
  c(0, 0), c(1e-9, 1e-5), c(0.3, 0), c(2, 5), c(50, -3), c(50, 60),
  c(4000, 900), c(1e5, 2e4)
)

#' log of the density of log varphi, times the likelihood
log_varphi_density <- function(at, alpha, eps, copies, case, power = 1) {
  v <- copies^2 * exp(-at)
  scaled <- 1 + case[1] * v
  stats::dgamma(exp(at), alpha / 2, alpha * eps^2 / 2, log = TRUE) + at +
    power * 0.5 * (case[2]^2 * v / scaled - log(scaled))
}

# On a fine grid, on which its mass ends.
varphi_grid <- seq(-140, 30, by = 0.002)

test_that("varphi is drawn from its full conditional distribution", {
  # Null: p-values of Kolmogorov and Smirnov, below 1e-6 in 24 with a
  # probability of 2e-5.
  for (eps in c(0.05, 0.5, 2)) {
    for (case in coefficient_cases) {
      copies <- if (case[1] > 10) 3L else 1L
      made <- bark_variance_cpp(1, eps, copies, case[1], case[2], 1, 5000, 1)
      log_density <- log_varphi_density(varphi_grid, 1, eps, copies, case)
      mass <- exp(log_density - max(log_density))
      expect_equal(
        made$log_evidence, log(sum(mass) * 0.002) + max(log_density),
        tolerance = 1e-7
      )
      expect_identical(made$proposed, made$there)
      expect_identical(made$there, rep(made$log_evidence, 5000))
      below <- stats::approxfun(varphi_grid + 0.001, cumsum(mass) / sum(mass))
      test <- suppressWarnings(stats::ks.test(log(made$varphi), below))
      expect_gt(test$p.value, 1e-6)
    }
  }
})

test_that("draws of varphi end for information of any size", {
  for (alpha in c(1, 1.5)) {
    for (q in c(0, 1e-300, 1e-41, 1e-39, 1e10, 1e290, 1e308, Inf, NaN)) {
      for (h in c(0, 1e-100, 3, 1e150, 1e300, Inf, NaN)) {
        made <- bark_variance_cpp(alpha, 0.5, 1L, q, h, 1, 3, 1)
        expect_true(all(made$varphi > 0))
      }
    }
  }
})

test_that("proposals for varphi are weighed right for all alpha and powers", {
  # The mean weight is the evidence, and weighted draws have the mean of
  # 1 / (1 + varphi) that the full conditional distribution has. Null: nearly
  # standard normal scores, |z| > 5.5 in 112 with a probability of 5e-6. Few
  # draws carry the weights if the share of the prior is needed.
  for (alpha in c(0.6, 1, 1.5, 1.9)) {
    for (power in c(0, 0.2, 0.7, 1)) {
      for (case in coefficient_cases[c(1, 3, 4, 6, 7)]) {
        made <- bark_variance_cpp(
          alpha, 0.5, 1L, case[1], case[2], power, 20000, 2
        )
        expect_equal(made$proposed, made$there, tolerance = 1e-10)
        log_density <- log_varphi_density(
          varphi_grid, alpha, 0.5, 1, case, power
        )
        top <- max(log_density)
        mass <- exp(log_density - top)
        log_evidence <- log(sum(mass) * 0.002) + top
        weight <- exp(made$there - log_evidence)
        h <- 1 / (1 + made$varphi)
        mean <- sum(mass / (1 + exp(varphi_grid))) / sum(mass)
        for (x in list(weight - 1, weight * (h - mean))) {
          se <- stats::sd(x) / sqrt(length(x))
          expect_lt(abs(mean(x)), 5.5 * se + 1e-6)
        }
        expect_gt(mean(weight)^2 / mean(weight^2), 0.1)
      }
    }
  }
})

# Moves -----------------------------------------------------------------------

#' Scores of means and mean products of the statistics after some moves, minus
#' those before, over independent draws of parameters and data
#'
#' Null: each is nearly standard normal. There are at most 77 scores per call
#' and 184 calls: |z| > 6 somewhere has a probability of about 3e-5. The seed is
#' fixed, so a failure is an error in the code.
invariance <- function(move, prior, pairs, power = 1, repeats = 4) {
  out <- bark_invariance_cpp(
    prior, five_rows, weights, move, repeats, pairs, power, 7
  )
  # At power 0 the data are not used, nor is their likelihood.
  paired_scores(out, if (power == 0) 1:10 else 1:11)
}

pairs <- if (extended()) {
  60000
} else {
  5000
}

gaussian_moves <- setdiff(bark_moves_cpp(), c(
  "none", "latent", "latent_scale", "latent_given_coefficients", "magnitude",
  "rotate", "redirect"
))
slot_moves <- c(
  "birth_death", "relocate", "local", "gather", "copies", "rescale", "varphi"
)

test_that("every move leaves the joint law of parameters and data invariant", {
  for (type in bark_types) {
    for (alpha in c(1, 1.5)) {
      for (move in gaussian_moves) {
        z <- invariance(move, bark_setting(type, alpha), pairs)
        expect_lt(max(abs(c(z, 0))), 6, label = paste(move, type, alpha))
      }
    }
  }
})

test_that("at power 0 every move leaves the prior invariant", {
  for (type in bark_types) {
    for (move in setdiff(gaussian_moves, "noise_gibbs")) {
      z <- invariance(move, bark_setting(type), pairs, power = 0)
      expect_lt(max(abs(c(z, 0))), 6, label = paste(move, type))
    }
  }
})

test_that("slots of many copies leave the prior and joint law invariant", {
  # Numbers of 2 and more at a location are rare if nu is 3.
  for (alpha in c(1, 1.5)) {
    for (move in slot_moves) {
      for (power in 0:1) {
        z <- invariance(move, bark_setting("equal", alpha, 8), pairs, power, 16)
        expect_lt(max(abs(c(z, 0))), 6, label = paste(move, alpha, power))
      }
    }
  }
})

test_that("moves of scales leave their prior invariant in long runs", {
  # Hardly any kernels, for speed. The two shapes best reveal flips that lack a
  # factor: S small, and shares far from even.
  moves <- c("flip", "swap", "scale_all", "scale_one", "scale_pair")
  for (type in bark_types) {
    none <- c(
      if (!startsWith(type, "select")) c("flip", "swap"),
      if (endsWith(type, "equal")) c("scale_one", "scale_pair")
    )
    for (move in setdiff(moves, none)) {
      for (prior in list(c(4, 8), c(0.6, 1))) {
        this <- bark_setting(type, 1, 0.1, A = prior[1], B = prior[2], a_p = 2)
        z <- invariance(move, this, 4 * pairs, 0, 16)
        expect_lt(max(abs(c(z, 0))), 6, label = paste(move, type, prior[1]))
      }
    }
  }
})

test_that("every predictor is chosen equally often", {
  # Invariance does not require that. Null: the first and the last predictor's
  # scales change equally often; a standard normal score, |z| > 6 in 6 of them.
  moves <- list(
    c("scale_one", "different"), c("scale_pair", "different"),
    c("scale_one", "select_different"), c("scale_pair", "select_different"),
    c("flip", "select_different"), c("swap", "select_different")
  )
  for (move in moves) {
    out <- bark_invariance_cpp(
      bark_setting(move[2], 1, 0.1), five_rows, weights, move[1], 1, 5000, 0, 7
    )
    changed <- out$after != out$before
    d <- changed[8, ] - changed[9, ]
    expect_gt(sum(changed[8, ]), 500)
    z <- mean(d) / stats::sd(d) * sqrt(length(d))
    expect_lt(abs(z), 6, label = paste(move, collapse = " "))
  }
  # The only predictor is swapped with either of two others (the last of them).
  out <- bark_invariance_cpp(
    bark_setting("select_different", 1, 0.1), five_rows, weights, "swap", 1,
    5000, 0, 7
  )
  first <- out$before[5, ] == 1 & out$before[8, ] != 0
  to_last <- out$after[9, first] != 0
  expect_gt(sum(first), 200)
  expect_lt(abs(mean(to_last) - 0.5) * 2 * sqrt(sum(first)), 6)
})

#' Log posterior, up to a constant, of each row of `places` (copies at the
#' locations, the intercept first), alpha = 1: likelihoods by dense algebra,
#' varphi by quadrature in u = log(varphi)
place_log_posterior <- function(places, prior, x, y, lambda, noise) {
  u <- seq(-14, 6, by = 0.4)
  log_prior <- stats::dgamma(exp(u), 0.5, prior$eps^2 / 2, log = TRUE) + u
  log_weight <- function(copies) {
    at <- which(copies > 0)
    grid <- as.matrix(expand.grid(rep(list(seq_along(u)), length(at))))
    log_terms <- apply(grid, 1, function(k) {
      state <- list(
        location = at - 1, copies = copies[at], varphi = exp(u[k]),
        log_lambda = log(lambda), included = 1, noise = noise
      )
      sum(log_prior[k]) + length(k) * log(0.4) +
        dense_log_likelihood(state, x, y, rep(1, nrow(x)), 1)
    })
    top <- max(log_terms)
    top + log(sum(exp(log_terms - top))) - sum(lfactorial(copies))
  }
  apply(places, 1, log_weight)
}

test_that("kernels are where the posterior wants them", {
  # Two copies, the rest fixed; only one kind of move. A ratio that treats the
  # two steps of a move as independent is far off if columns are alike and the
  # signal is strong, but leaves the joint law of parameters and data nearly
  # invariant. Null: nearly Student's t of 19 degrees of freedom, from the means
  # of 20 runs; |t| > 7 in 33 with a probability of 4e-5.
  x <- matrix(c(0, 0.3, 1.2), 3)
  prior <- bark_setting("equal")
  pairs <- t(utils::combn(4, 2, function(at) tabulate(at, 4)))
  places <- rbind(pairs, 2 * diag(4))
  keys <- apply(places, 1, paste, collapse = " ")
  # The states that each kind of move can reach.
  reached <- list(
    relocate = 1:10, gather = 1:6, local = which(pairs[, 1] == 0)
  )
  for (signal in c(1, 4)) {
    y <- signal * c(1, 0.8, -0.5)
    log_posterior <- place_log_posterior(places, prior, x, y, 1, 4)
    for (move in names(reached)) {
      at <- reached[[move]]
      exact <- exp(log_posterior[at] - log_sum_exp(log_posterior[at]))
      shares <- vapply(1:20, function(seed) {
        drawn <- bark_places_cpp(
          prior, x, y, c(1L, 2L), 1, 0, 4, move, 2200, seed
        )[, -(1:200)]
        seen <- apply(drawn, 2, paste, collapse = " ")
        expect_true(all(seen %in% keys[at]))
        tabulate(match(seen, keys[at]), length(at)) / length(seen)
      }, numeric(length(at)))
      for (i in which(exact > 0.001)) {
        t <- (mean(shares[i, ]) - exact[i]) /
          (stats::sd(shares[i, ]) / sqrt(20))
        expect_lt(abs(t), 7, label = paste("score", move, signal, i))
      }
    }
  }
})

test_that("two slots become one as often as by dense densities", {
  # One copy each at the two rows: which one leaves has probability 1 in 2, and
  # whether for the other's place 1 in 3. Their columns are nearly equal:
  # treating the steps as independent is far off. Null: scores of 20 000 tries
  # from the same state, |z| > 6 in 12 of them.
  x <- matrix(c(0, 0.2), 2)
  prior <- bark_setting("equal")
  for (case in list(c(0.5, 1), c(3, 1), c(8, 1), c(0.5, 9), c(3, 9), c(8, 9))) {
    y <- case[1] * c(1, 0.9)
    amplitude <- case[2]
    for (varphi in list(c(1, 2), c(0.02, 0.3))) {
      tried <- bark_state_cpp(
        prior, x, y, c(1, 1), 1:2, amplitude * varphi, 0, 1L, 1, "relocate",
        20000, 3, amplitude
      )
      density <- function(copies) {
        state <- list(
          location = which(copies > 0), copies = copies[copies > 0],
          varphi = varphi[copies > 0], log_lambda = 0, included = 1, noise = 1
        )
        dense_log_likelihood(state, x, y, c(1, 1), 1)
      }
      ratio <- exp(c(density(c(2, 0)), density(c(0, 2))) - density(c(1, 1)))
      p <- sum(pmin(1, ratio)) / 6
      z <- (mean(tried$sizes == 1) - p) / sqrt(p * (1 - p) / 20000)
      expect_lt(abs(z), 6,
        label = paste("score", toString(case), varphi[1])
      )
    }
  }
})

test_that("draws from the prior have its moments", {
  # Null: nearly standard normal scores of 20 000 draws; |z| > 6.
  for (type in bark_types) {
    for (alpha in c(1, 1.5)) {
      draws <- bark_invariance_cpp(
        bark_setting(type, alpha), five_rows, weights, "none", 0, 20000, 1, 9
      )$before
      locations <- 6
      z <- function(values, mean) {
        (mean(values) - mean) / stats::sd(values) * sqrt(length(values))
      }
      expect_lt(abs(z(draws[1, ], 3)), 6)
      expect_lt(abs(z(draws[2, ], locations * (1 - exp(-3 / locations)))), 6)
      expect_lt(abs(z(draws[4, ], 3 / locations)), 6)
      expect_lt(abs(z((draws[1, ] - 3)^2, 3)), 6)
      # Sums over all varphi ~ Ga(alpha / 2, alpha eps^2 / 2), one per slot or
      # per copy; the noise precision ~ Ga(3, 1).
      squashed_log <- function(shape, rate) {
        stats::integrate(function(u) {
          u / (1 + abs(u)) * stats::dgamma(exp(u), shape, rate) * exp(u)
        }, -60, 12, rel.tol = 1e-8, subdivisions = 1000)$value
      }
      each <- if (alpha == 1) draws[2, ] else draws[1, ]
      excess <- draws[3, ] -
        each * squashed_log(alpha / 2, alpha * 0.5^2 / 2)
      expect_lt(abs(z(excess, 0)), 6)
      expect_lt(abs(z(draws[10, ], squashed_log(3, 1))), 6)
      included <- if (startsWith(type, "select")) 3 * 1.5 / 2.5 else 3
      if (startsWith(type, "select")) {
        expect_lt(abs(z(draws[5, ], included)), 6)
      }
      # S ~ Ga(1.2, 0.8) if any predictor is included.
      some <- draws[6, draws[5, ] > 0]
      s <- stats::integrate(function(s) {
        s / (1 + s) * stats::dgamma(s, 1.2, 0.8)
      }, 0, Inf, rel.tol = 1e-8)$value
      expect_lt(abs(z(some, s)), 6)
    }
  }
})
