# The sampler of noise that varies: moves of the log variance given residuals,
# and of it and the mean in turns.
#
# Seen to fail, one fault at a time: residuals divided by sqrt(w) (the second test,
# z 26 to 30), -g / 2 left out of the log density (all three, z up to 58), residuals
# of the past or with the row weights still in them (the second), row weights of
# the past (that they agree), terms drawn for the noise and not kept (the second,
# with terms), a constant second derivative (the third); for Student's noise the
# degrees of freedom drawn without the constant of their density, and row factors
# that are not drawn again (the second).

noise_pairs <- if (extended()) 40000 else 5000

# Coefficients with tails so light that variances stay moderate
noise_prior <- function(...) {
  bark_setting("select_different", own_scales = TRUE, alpha = 8, eps = 1, ...)
}

noise_config <- list(
  family = "log_variance",
  terms = list(
    linear = cbind(rep(1, 5)), linear_sd = 1, linear_mean = -0.4,
    groupings = list()
  )
)

one_scores <- function(move, turns = 30, again = FALSE,
                       prior = noise_prior(nu = 3)) {
  paired_scores(bark_glm_pairs_cpp(
    noise_config, prior, five_rows, move, turns, noise_pairs, 5, again
  ))
}

# Student's noise, its degrees of freedom learned or known
student_noise <- list(c(2, 5, 30), 4)

noise_terms <- list(
  linear = cbind(1, c(0.5, -1, 1, 0.2, -0.7)), linear_sd = c(1, 0.6),
  groupings = list(
    list(group = c(1, 1, 2, 2, 2), count = 2, z = matrix(1, 5), scale = 0.7),
    list(group = c(1, 2, 3, 1, 2), count = 3, z = matrix(1, 5), scale = 0.5)
  )
)

both_scores <- function(prior = bark_setting("select_different",
                          own_scales = TRUE, nu = 3
                        ),
                        noise = noise_prior(nu = 2, groups = list(c(1, 3))),
                        terms = NULL, whole = TRUE) {
  config <- list(
    family = "gaussian", varying = list(
      prior = noise, mean = -0.5, sd = 1, floor = -1.5
    )
  )
  config$terms <- terms
  out <- bark_varying_pairs_cpp(
    config, prior, five_rows, c(0.5, 2, 1, 3, 0.2), whole, if (whole) 3 else 10,
    noise_pairs, 3
  )
  # Row weights of the past would be invariant, too.
  expect_lt(out$apart, 1e-8)
  paired_scores(out)
}

test_that("each move leaves the joint law of parameters and data invariant", {
  # Null: sums over independent pairs over their root mean square are normal, up
  # to rare large terms; about 77 per call in 7 calls. |z| > 6.2 has probability
  # 6e-10 each.
  moves <- c(
    "birth_death", "relocate", "local", "scales", "flips", "coefficients"
  )
  for (move in moves) {
    expect_lt(max(abs(c(0, one_scores(move)))), 6.2, label = move)
  }
  expect_lt(max(abs(one_scores("sweep", 5, TRUE))), 6.2, label = "sweep")
})

test_that("moves of the mean and of the noise in turns leave it invariant", {
  # Null: as above, 12 calls with at most 200 scores each.
  expect_lt(max(abs(both_scores())), 6.2)
  expect_lt(max(abs(both_scores(whole = FALSE))), 6.2)
  expect_lt(max(abs(both_scores(terms = noise_terms))), 6.2)
  expect_lt(max(abs(both_scores(terms = noise_terms, whole = FALSE))), 6.2)
  expect_lt(max(abs(both_scores(bark_setting()))), 6.2)
  for (df in student_noise) {
    prior <- bark_setting("select_different", own_scales = TRUE, nu = 3, df = df)
    expect_lt(max(abs(both_scores(prior))), 6.2)
    expect_lt(max(abs(both_scores(prior, whole = FALSE))), 6.2)
    expect_lt(max(abs(both_scores(prior, terms = noise_terms))), 6.2)
  }
  lighter <- bark_setting("equal", own_scales = TRUE, nu = 2, alpha = 3)
  expect_lt(max(abs(both_scores(noise = lighter))), 6.2)
})

test_that("log densities and their derivatives are right", {
  f <- c(-3, -0.5, 0, 0.7, 2, 4)
  y <- c(0.1, -2, 1, 0.3, 2.2, -6)
  density <- function(f) stats::dnorm(y, 0, exp(f / 2), log = TRUE)
  rows <- bark_glm_rows_cpp(
    list(family = "log_variance", trials = 1), y, y, f, numeric()
  )
  expect_equal(rows[, 1], density(f))
  h <- 1e-4
  up <- density(f + h)
  down <- density(f - h)
  expect_equal(rows[, 2], (up - down) / (2 * h), tolerance = 1e-5)
  expect_equal(rows[, 3], -(up - 2 * density(f) + down) / h^2,
    tolerance = 1e-3
  )
  density <- function(f) stats::dt(y / exp(f / 2), 3.5, log = TRUE) - f / 2
  rows <- bark_glm_rows_cpp(
    list(family = "log_variance", trials = 1, df = 3.5), y, y, f, 3.5
  )
  expect_equal(rows[, 1], density(f))
  up <- density(f + h)
  down <- density(f - h)
  expect_equal(rows[, 2], (up - down) / (2 * h), tolerance = 1e-5)
  expect_equal(rows[, 3], -(up - 2 * density(f) + down) / h^2,
    tolerance = 1e-3
  )
  far <- bark_glm_rows_cpp(
    list(family = "log_variance", trials = 1), c(1, 1), c(1, 1), c(-600, 900),
    numeric()
  )
  expect_true(all(is.finite(far)))
})
