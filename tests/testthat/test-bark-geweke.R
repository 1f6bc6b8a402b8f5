# Geweke's joint distribution test of whole sweeps: alternating draws of data
# given parameters and coefficients, and of coefficients and parameters given
# data, must leave the joint law invariant. Many short chains, each from an
# independent draw of that law, replace a long one, which mixes so slowly
# (coefficients are Cauchy) that its errors are unknown.
#
# Seen to fail: sweeps with as many moves as the state has slots; flips that
# leave the full set p^2 times too rarely, or use the densities of d and d + 1
# on the way down from d; a_p for b_p; coefficients without noise, or from a
# wrong factor; the shape of the noise's draw minus 1/2; births with J for J + 1
# (per copy only).

geweke_scores <- function(type, alpha, turns, pairs, family = "gaussian",
                          single = FALSE) {
  x <- withr::with_seed(3, matrix(stats::rnorm(36), 12))
  prior <- list(
    type = type, alpha = alpha, eps = 0.5, nu = 8, A = 4, B = 8, a_p = 1.5,
    b_p = 1, noise_shape = 3, noise_rate = 1
  )
  weights <- rep(c(1, 0.5, 3), 4)
  if (family == "probit") {
    prior <- c(prior, noise_fixed = TRUE, noise_precision = 1)
    weights[] <- 1
  }
  paired_scores(
    bark_geweke_cpp(prior, x, weights, turns, pairs, 1, family, single)
  )
}

test_that("sweeps leave the joint law of parameters and data invariant", {
  # Null: nearly standard normal scores, 77 per setting, 8 settings: |z| > 6
  # somewhere has probability 1e-6.
  for (type in bark_types) {
    for (alpha in c(1, 1.5)) {
      z <- if (extended()) {
        geweke_scores(type, alpha, 10, 20000)
      } else {
        geweke_scores(type, alpha, 3, 2500)
      }
      expect_lt(max(abs(z)), 6, label = paste("score", type, alpha))
    }
  }
})

test_that("sweeps and single moves of a probit model do so, too", {
  # Null: as above, 6 settings.
  pairs <- if (extended()) 20000 else 2000
  for (type in bark_types) {
    alpha <- if (endsWith(type, "equal")) 1 else 1.5
    z <- geweke_scores(type, alpha, 3, pairs, "probit")
    expect_lt(max(abs(z)), 6, label = paste("score", type, alpha))
  }
  for (type in c("different", "select_equal")) {
    z <- geweke_scores(type, 1, 20, pairs, single = TRUE)
    expect_lt(max(abs(z)), 6, label = paste("score of single moves", type))
  }
})
