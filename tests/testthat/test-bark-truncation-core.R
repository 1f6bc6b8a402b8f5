# The core of bark()'s truncation approximation: its state against dense
# algebra, its moves by one-step invariance.
#
# Seen to fail, one mutant at a time:
# - kernels: J for J + 1, the company's prior left out of births or of deaths,
#   the residual before a death, a company's shift of the wrong sign, of kernels
#   that include the removed one, or without the remainder of the column; the
#   weight of the old coefficient, the ratio for the choice of a row, the power
#   or the amplitude left out;
# - coefficients: the halves of the mixture, its sides unweighted, alpha for 1 +
#   alpha, a step's density for |beta| instead of its logarithm, one times the
#   score for two;
# - ellipse: the spread, the hole, the power, the level's logarithm left out, a
#   mean that depends on the coefficients, L for its transpose;
# - scales: no Jacobian, no prior, a power of 1, the old likelihood, the hole
#   left out, excluded predictors in the kernel;
# - noise: n - 1, twice the squares; magnitudes: 1 + alpha for alpha, old latent
#   responses; latent responses around 0; no intercept in the prior;
# - state: a removal that leaves k'k or values, accepted scales without k'k or
#   coefficients, weights left out; exchanges without amplitude or latent
#   responses, and with a wrong ratio.

weights <- c(1, 0.1, 5, 1, 2.5)

kernel_moves <- c(
  "birth_death", "relocate", "local", "coefficient", "walk", "sign",
  "ellipse", "ellipse_some"
)
scale_moves <- c(
  "scale_all", "scale_one", "scale_refresh", "scale_pair", "flip", "swap"
)
pairs <- if (extended()) 60000 else 4000

test_that("updates keep residual and likelihood of dense algebra", {
  withr::local_seed(1)
  x <- matrix(stats::rnorm(45), 15)
  y <- sin(x[, 1]) + 0.3 * stats::rnorm(15)
  w <- stats::runif(15, 0.5, 2)
  check <- function(state, w, amplitude) {
    k <- slot_columns(state, x)
    f <- sqrt(amplitude) * if (length(state$beta)) drop(k %*% state$beta) else 0
    expect_equal(state$residual, state$response - sqrt(w) * f,
      tolerance = 1e-8
    )
    expect_equal(state$log_likelihood, sum(stats::dnorm(
      state$response / sqrt(w), f, 1 / sqrt(w * state$noise),
      log = TRUE
    )), tolerance = 1e-8)
    expect_true(all(abs(state$beta) >= 0.5))
    if (length(state$beta) == 0) {
      return()
    }
    seen <- sqrt(amplitude * w) * k
    precision <- state$noise * colSums(seen^2)
    expect_equal(state$precision, precision, tolerance = 1e-8)
    score <- state$noise * drop(crossprod(seen, state$residual)) +
      precision * state$beta
    expect_equal(state$score, score, tolerance = 1e-6)
  }
  for (type in bark_types) {
    walk <- bark_truncated_walk_cpp(
      bark_setting(type, 1.2, 6), x, y, w, 15, 1, 3
    )
    for (state in walk) {
      expect_equal(state$response, y * sqrt(w))
      check(state, w, 1)
    }
    probit <- bark_setting(type, 1, 6, noise_fixed = TRUE, noise_precision = 1)
    walk <- bark_truncated_walk_cpp(
      probit, x, sign(y), rep(1, 15), 15, 1, 3, "probit", 0.4
    )
    for (state in walk) {
      expect_identical(sign(state$response), sign(y))
      check(state, rep(1, 15), 0.4)
    }
  }
})

test_that("draws of a coefficient have the right weights", {
  # Null: the mean weight is the integral of prior times likelihood, and the
  # mean of weight times a function is the integral with that function: 24
  # scores, |z| > 6.
  cases <- list(
    c(0, 0), c(0.5, 1), c(4, -6), c(400, 300), c(400, 20), c(1e4, -4800),
    c(1e-13, 0), c(3, 0)
  )
  integrals <- function(alpha, precision, score) {
    of <- function(g) {
      part <- function(side) {
        stats::integrate(function(u) {
          # |beta| = eps u^(-1 / alpha)
          b <- side * 0.5 * u^(-1 / alpha)
          exp(score * b - precision * b^2 / 2 - top) * g(b) / 2
        }, 0, 1, rel.tol = 1e-9, subdivisions = 5000)$value
      }
      part(1) + part(-1)
    }
    c(of(function(b) 1), of(function(b) b > 0), of(function(b) abs(b) < 1))
  }
  for (alpha in c(1, 1.5)) {
    for (case in cases) {
      top <- if (case[[1]] > 1e-6) case[[2]]^2 / case[[1]] / 2 else 0
      exact <- integrals(alpha, case[[1]], case[[2]])
      out <- bark_truncated_proposal_cpp(
        bark_setting(alpha = alpha), case[[1]], case[[2]], 20000, 3
      )
      expect_gte(min(abs(out$beta)), 0.5)
      w <- exp(out$log_weight - top)
      answers <- rbind(w, w * (out$beta > 0), w * (abs(out$beta) < 1))
      se <- apply(answers, 1, stats::sd) / sqrt(20000)
      z <- (rowMeans(answers) - exact) / pmax(se, 1e-9 * exact, 1e-12)
      expect_lt(max(abs(z)), 6, label = paste("score", toString(case)))
    }
  }
})

invariance <- function(move, prior, power = 1, repeats = 6, n = pairs,
                       x = five_rows) {
  out <- bark_truncated_invariance_cpp(
    prior, x, weights, move, repeats, n, power, 7
  )
  # At power 0 the data are not used.
  paired_scores(out, if (power == 0) 1:11 else 1:13)
}

# Null below: nearly standard normal scores, at most 152 per setting, about 150
# settings: |z| > 6 somewhere has probability 5e-5.

test_that("every move leaves the joint law of parameters and data invariant", {
  for (type in bark_types) {
    for (alpha in c(1, 1.5)) {
      moves <- c(scale_moves, if (type == "different") c(kernel_moves, "noise"))
      for (move in moves) {
        z <- invariance(move, bark_setting(type, alpha))
        expect_lt(max(abs(c(z, 0))), 6, label = paste(move, type, alpha))
      }
    }
  }
})

test_that("moves do so at powers below 1, with many kernels per location", {
  for (move in kernel_moves) {
    for (power in c(0, 0.3)) {
      z <- invariance(move, bark_setting(), power)
      expect_lt(max(abs(c(z, 0))), 6, label = paste(move, power))
    }
    z <- invariance(move, bark_setting("equal", 1.5, 9), repeats = 12)
    expect_lt(max(abs(c(z, 0))), 6, label = paste(move, "many"))
  }
  for (move in scale_moves) {
    z <- invariance(move, bark_setting("select_different"), 0.3)
    expect_lt(max(abs(c(z, 0))), 6, label = paste(move, "at 0.3"))
  }
  z <- invariance("noise", bark_setting(), 0)
  expect_lt(max(abs(c(z, 0))), 6, label = "noise")
})

test_that("moves with adjusted coefficients do so when these are well known", {
  # Little noise and similar columns; otherwise the Jacobian, or the remainder
  # of a column, hardly matters.
  known <- function(...) {
    bark_setting("equal", ...,
      A = 2, B = 0.7, noise_shape = 20, noise_rate = 0.02
    )
  }
  x <- 0.3 * five_rows
  z <- invariance("scale_all", known(0.7, 6, eps = 0.05), 1, 8, 3 * pairs, x)
  expect_lt(max(abs(z)), 6)
  z <- invariance(
    "birth_death", known(0.6, 4, eps = 0.02), 1, 8, 4 * pairs, x
  )
  expect_lt(max(abs(z)), 6)
})

test_that("latent responses and magnitudes leave the joint law invariant", {
  prior <- bark_setting(
    "select_different", 1.5,
    noise_fixed = TRUE, noise_precision = 1
  )
  x <- rbind(five_rows, five_rows + 0.3)
  for (move in c("latent", "magnitude", "coefficient", "birth_death")) {
    for (amplitude in c(1, 0.3)) {
      out <- bark_truncated_invariance_cpp(
        prior, x, rep(1, 10), move, 3, pairs, 1, 7, "probit", amplitude
      )
      z <- paired_scores(out, c(1:10, 12:16))
      expect_lt(max(abs(c(z, 0))), 6, label = paste(move, amplitude))
    }
  }
})

test_that("exchanges leave both laws invariant", {
  x <- five_rows[1:3, ]
  prior <- bark_setting("select_different")
  out <- bark_truncated_exchange_cpp(prior, x, "gaussian", 0, 4 * pairs, 1)
  z <- paired_scores(out, c(1:10, 16 + 1:10))
  expect_lt(max(abs(z)), 6)
  expect_gt(mean(out$before[2, ] != out$after[2, ]), 0.03)
  prior$noise_fixed <- TRUE
  out <- bark_truncated_exchange_cpp(prior, x, "probit", 0.2, 4 * pairs, 1)
  z <- paired_scores(out, c(1:10, 12:15, 16 + c(1:10, 12:15)))
  expect_lt(max(abs(z)), 6)
  expect_gt(mean(out$before[2, ] != out$after[2, ]), 0.1)
})

test_that("sweeps leave the joint law of parameters and data invariant", {
  for (type in bark_types) {
    for (family in c("gaussian", "probit")) {
      alpha <- if (type == "equal") 1.5 else 1
      prior <- bark_setting(type, alpha, 6, A = 4, B = 8)
      if (family == "probit") {
        prior$noise_fixed <- TRUE
      }
      out <- bark_truncated_geweke_cpp(
        prior, five_rows, if (family == "probit") rep(1, 5) else weights,
        if (extended()) 10 else 2, if (extended()) 20000 else 1500, 1, family
      )
      z <- paired_scores(out, c(1:10, 11:12, 14:16))
      expect_lt(max(abs(z)), 6, label = paste("score", type, family))
    }
  }
})
