# The PAC-Bayes bound against its definition, sums over states, and the error of
# classifiers whose distribution is known.
#
# Seen to fail: kl(r, rate) for kl(rate, r), the risk not divided among priors,
# the evidence added, errors that are not a share.

binary_kl <- function(p, r) {
  term <- function(a, b) if (a == 0) 0 else a * log(a / b)
  term(p, r) + term(1 - p, 1 - r)
}

test_that("the farthest rate has the given divergence", {
  for (rate in c(0, 1e-3, 0.2, 0.5, 0.9)) {
    for (most in c(1e-3, 0.05, 0.6)) {
      far <- farthest_rate(rate, most)
      expect_true(far >= rate && far <= 1)
      expect_equal(binary_kl(rate, far), most, tolerance = 1e-6)
    }
  }
  expect_equal(farthest_rate(0, 0.3), 1 - exp(-0.3))
  expect_identical(farthest_rate(1, 0.1), 1)
  expect_identical(farthest_rate(0.5, 100), 1)
})

test_that("the best of several priors pays for the choice", {
  one <- pac_bayes(0.1, 5, 200)
  expect_equal(
    binary_kl(0.1, one$bound), (5 + log(2 * sqrt(200) / 0.05)) / 200,
    tolerance = 1e-6
  )
  three <- pac_bayes(c(0.3, 0.1, 0.1), c(1, 5, 9), 200)
  expect_identical(three$divergence, 5)
  expect_equal(
    binary_kl(0.1, three$bound), (5 + log(2 * sqrt(200) / (0.05 / 3))) / 200,
    tolerance = 1e-6
  )
})

test_that("the bound holds for thresholds drawn from a posterior", {
  # Null: at most 5% of samples have an error above the bound; false alarms
  # 1e-4.
  threshold <- seq(0.01, 0.99, by = 0.02)
  error <- 0.1 + 0.8 * abs(threshold - 0.5)
  m <- 100
  sample_once <- function() {
    x <- stats::runif(m)
    label <- xor(x > 0.5, stats::runif(m) < 0.1)
    wrong <- colSums(outer(x, threshold, ">") != label)
    log_lik <- wrong * log(0.1) + (m - wrong) * log(0.9)
    q <- exp(log_lik - log_sum_exp(log_lik))
    divergence <- sum(q * log(q * length(q)))
    bound <- pac_bayes(sum(q * wrong) / m, divergence, m)$bound
    c(missed = bound < sum(q * error), bound = bound)
  }
  out <- withr::with_seed(1, replicate(500, sample_once()))
  expect_lte(sum(out["missed", ]), stats::qbinom(1 - 1e-4, 500, 0.05))
  expect_lt(mean(out["bound", ]), 0.3)
})

test_that("densities of states give errors and divergence at each rate", {
  g <- c(0.02, 0.18, 0.3, 0.3, 0.2)
  data <- list(m = 4, classes = 3)
  q <- c(0.1, 0.3)
  e <- 0:4
  direct <- vapply(q, function(q) {
    lik <- (q / 2)^e * (1 - q)^(4 - e)
    posterior <- g * lik / sum(g * lik)
    c(sum(posterior * e) / 4, sum(posterior * log(posterior / g)))
  }, numeric(2))
  found <- pac_bayes_of_states(
    log(g), q, log_evidence_rate(log(g), 4, q, 3), data
  )
  expect_equal(found, pac_bayes(direct[1, ], direct[2, ], 4))
  # At q = 0 only states without errors are left.
  zero <- pac_bayes_of_states(log(g), 0, log(g[[1]]), data)
  expect_equal(c(zero$errors, zero$divergence), c(0, -log(0.02)))
  none <- pac_bayes_of_states(c(-Inf, 0), 0, -Inf, list(m = 1, classes = 2))
  expect_null(none)
})

test_that("fits with noise give errors of draws and the divergence", {
  data <- kgs_example()
  fit <- kgs_quick(side ~ x1 + x2, data, nugget = "learn")
  z <- evidence(fit, seed = 1)
  f <- predict(fit, data, type = "draws")
  right <- (f > 0) == rep(data$side == "right", each = nrow(f))
  expect_equal(z$pac_bayes$errors, 1 - mean(right))
  expect_equal(
    z$pac_bayes$divergence,
    mean(chain_matrices(fit)$log_lik) - z$log_evidence
  )
  expect_output(print(z), "PAC-Bayes: .*at most [0-9.]+% of new")
  weighted <- kgs_quick(side ~ x1 + x2, data,
    weights = rep(1:2, 20), nugget = "learn"
  )
  expect_null(evidence(weighted, seed = 1)$pac_bayes)
})
