# Chains of bark() start and move under any prior.

start_fit <- function(prior) {
  data <- withr::with_seed(8, {
    x <- matrix(stats::rnorm(40), 20)
    list(x = x, y = sin(2 * x[, 1]) + 0.3 * stats::rnorm(20))
  })
  suppressWarnings(bark(data$x, data$y,
    prior = prior, scale = FALSE, seed = 1,
    control = mcmc_control(1, 100, 200)
  ))
}

expect_moving <- function(fit) {
  chains <- chain_matrices(fit)
  expect_true(all(is.finite(chains$sigma)))
  expect_true(all(is.finite(chains$log_lik)))
  expect_gt(length(unique(as.vector(chains$sigma))), 20)
}

test_that("chains under an improper prior of the noise have a start", {
  # There are no draws from the prior to start from.
  expect_moving(start_fit(bark_prior_paper("different", noise = noise_improper())))
})

test_that("priors of the noise that underflow give a start", {
  # Most draws from Ga(1e-4, 1) are 0 in double precision.
  expect_moving(start_fit(
    bark_prior_paper("different", noise = noise_gamma(1e-4, 1))
  ))
})

test_that("an improper prior has no draws", {
  expect_error(
    bark(matrix(1:5), c(1, 3, 2, 5, 4),
      prior = bark_prior_paper(noise = noise_improper()), prior_only = TRUE
    ),
    class = "kb_error_improper"
  )
})
