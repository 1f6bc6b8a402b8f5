# The sampler of noise that varies: moves of the mean given the variances, of the
# log variance given residuals, and sweeps of both.
#
# Seen to fail, one fault at a time: see each test.

noise_pairs <- if (extended()) 40000 else 5000

# Coefficients with tails so light that variances stay moderate
noise_prior <- function(...) {
  bark_setting("select_different", own_scales = TRUE, alpha = 8, eps = 1, ...)
}

noise_config <- function(family) {
  list(
    family = family, weights = c(0.5, 2, 1, 3, 0.2),
    terms = list(
      linear = cbind(1, c(0.5, -1, 1, 0.2, -0.7)), linear_sd = c(1, 0.6),
      linear_mean = c(0.4, 0), groupings = list()
    )
  )
}

grouped_noise_config <- function() {
  config <- noise_config("known_variance")
  config$terms$groupings <- list(
    list(group = c(1, 1, 2, 2, 2), count = 2, z = matrix(1, 5), scale = 0.7)
  )
  config
}

one_scores <- function(config, prior, move, turns = 30, again = FALSE) {
  paired_scores(bark_glm_pairs_cpp(
    config, prior, five_rows, move, turns, noise_pairs, 5, again
  ))
}

both_scores <- function(prior = noise_prior(nu = 3),
                        noise = noise_prior(nu = 2, groups = list(c(1, 3))),
                        terms = noise_config("gaussian")$terms) {
  config <- list(
    family = "gaussian", varying = list(prior = noise, mean = -0.5, sd = 1)
  )
  config$terms <- terms
  paired_scores(bark_varying_pairs_cpp(
    config, prior, five_rows, c(0.5, 2, 1, 3, 0.2), 5, noise_pairs, 3
  ))
}

test_that("each move leaves the joint law of parameters and data invariant", {
  # Null: sums over independent pairs over their root mean square are normal, up
  # to rare large terms; about 77 per call in 16 calls. |z| > 6.2 has probability
  # 6e-10 each.
  moves <- c(
    "birth_death", "relocate", "local", "scales", "flips", "coefficients"
  )
  for (family in c("known_variance", "log_variance")) {
    for (move in moves) {
      z <- one_scores(noise_config(family), noise_prior(nu = 3), move)
      expect_lt(max(abs(c(0, z))), 6.2, label = paste(family, move))
    }
    z <- one_scores(noise_config(family), noise_prior(nu = 3), "sweep", 5, TRUE)
    expect_lt(max(abs(z)), 6.2, label = paste(family, "sweep"))
  }
  z <- one_scores(grouped_noise_config(), noise_prior(nu = 3), "groups")
  expect_lt(max(abs(z)), 6.2)
})

test_that("sweeps of the mean and of the noise together leave it invariant", {
  # Null: as above, 3 calls with about 150 scores each.
  expect_lt(max(abs(both_scores())), 6.2)
  expect_lt(max(abs(both_scores(terms = NULL))), 6.2)
  cauchy <- bark_setting("select_different", own_scales = TRUE, nu = 2)
  # Variances overflow where their logarithms have tails as heavy.
  lighter <- bark_setting("equal", own_scales = TRUE, nu = 2, alpha = 3)
  expect_lt(max(abs(both_scores(cauchy, lighter))), 6.2)
})

test_that("log densities and their derivatives are right", {
  f <- c(-3, -0.5, 0, 0.7, 2, 4)
  y <- c(0.1, -2, 1, 0.3, 2.2, -6)
  weights <- c(0.5, 2, 1, 3, 0.2, 1)
  densities <- list(
    function(f) stats::dnorm(y, f, 1 / sqrt(weights), log = TRUE),
    function(f) stats::dnorm(y, 0, exp(f / 2) / sqrt(weights), log = TRUE)
  )
  for (noise in c(FALSE, TRUE)) {
    density <- densities[[noise + 1]]
    rows <- bark_varying_rows_cpp(noise, y, f, weights)
    expect_equal(rows[, 1], density(f))
    h <- 1e-4
    up <- density(f + h)
    down <- density(f - h)
    expect_equal(rows[, 2], (up - down) / (2 * h), tolerance = 1e-5)
    expect_equal(rows[, 3], -(up - 2 * density(f) + down) / h^2,
      tolerance = 1e-3
    )
  }
  far <- bark_varying_rows_cpp(TRUE, c(1, 1), c(-600, 900), c(1, 1))
  expect_true(all(is.finite(far)))
})
