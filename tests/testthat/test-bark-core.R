# The core of bark(): its likelihood against dense algebra, its moves by
# one-step invariance. The model and every ratio are in src/core/bark.

setting <- function(type = "different", alpha = 1, nu = 3, ...) {
  utils::modifyList(list(
    type = type, alpha = alpha, eps = 0.5, nu = nu, A = 1.2, B = 0.8,
    a_p = 1.5, b_p = 1, noise_shape = 3, noise_rate = 1
  ), list(...))
}

x_small <- matrix(c(
  0.3, -1.7, 2.1, -0.4, 1.2, 0.8, -0.6, 0.1, 1.4, -1.1, 0.5, -0.2, 0.9, -0.8, 0.2
), 5)
weights <- c(1, 0.5, 2, 1, 1.5)
types <- c("equal", "different", "select_equal", "select_different")

# Likelihood ------------------------------------------------------------------

test_that("updates keep the likelihood, covariance and mean of dense algebra", {
  withr::local_seed(1)
  x <- matrix(stats::rnorm(60), 15)
  y <- sin(x[, 1]) + 0.3 * stats::rnorm(15)
  w <- stats::runif(15, 0.5, 2)
  for (type in types) {
    for (alpha in c(1, 1.5)) {
      walk <- bark_walk_cpp(setting(type, alpha, 6), x, y, w, 60, 1, 3)
      for (state in walk) {
        dense <- dense_log_likelihood(state, x, y, w, alpha)
        expect_lt(abs(state$log_likelihood - dense), 1e-8)
        if (length(state$location) == 0) next
        k <- slot_columns(state, x)
        v <- slot_variances(state, alpha)
        precision <- state$noise * crossprod(k, w * k) + diag(1 / v, length(v))
        # In units of the prior, whose variances are of any size.
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

# Moves -----------------------------------------------------------------------

#' Scores of means and mean squares of the statistics after four moves, less
#' those before, over independent draws of parameters and data
#'
#' Null: each is nearly standard normal. With 18 statistics, 4 priors, 2
#' values of alpha and 13 moves, at two powers, |z| > 6 somewhere has a
#' probability of about 1e-5.
invariance <- function(move, type, alpha, pairs, power = 1) {
  out <- bark_invariance_cpp(
    setting(type, alpha), x_small, weights, move, 4, pairs, power, 7
  )
  # At power 0 the data are not looked at: neither is their likelihood.
  rows <- if (power == 0) 1:8 else 1:9
  score <- function(d) {
    z <- rowMeans(d) / apply(d, 1, stats::sd) * sqrt(ncol(d))
    ifelse(is.nan(z), 0, z)
  }
  before <- out$before[rows, ]
  after <- out$after[rows, ]
  c(score(after - before), score(after^2 - before^2))
}

pairs <- if (identical(Sys.getenv("KERNELBAYES_EXTENDED_TESTS"), "true")) {
  60000
} else {
  5000
}

test_that("every move leaves the joint law of parameters and data invariant", {
  for (type in types) {
    for (alpha in c(1, 1.5)) {
      for (move in bark_moves_cpp()) {
        z <- invariance(move, type, alpha, pairs)
        expect_lt(max(abs(z)), 6, label = paste(move, type, alpha))
      }
    }
  }
})

test_that("at power 0 every move leaves the prior invariant", {
  for (type in types) {
    for (move in setdiff(bark_moves_cpp(), "noise_gibbs")) {
      z <- invariance(move, type, 1, pairs, power = 0)
      expect_lt(max(abs(z)), 6, label = paste(move, type))
    }
  }
})

test_that("draws from the prior have its moments", {
  # Null: nearly standard normal scores of 20 000 draws; |z| > 6.
  for (type in types) {
    for (alpha in c(1, 1.5)) {
      draws <- bark_invariance_cpp(
        setting(type, alpha), x_small, weights, "none", 0, 20000, 1, 9
      )$before
      locations <- 6
      z <- function(values, mean) {
        (mean(values) - mean) / stats::sd(values) * sqrt(length(values))
      }
      expect_lt(abs(z(draws[1, ], 3)), 6)
      expect_lt(abs(z(draws[2, ], locations * (1 - exp(-3 / locations)))), 6)
      expect_lt(abs(z(draws[4, ], 3 / locations)), 6)
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
