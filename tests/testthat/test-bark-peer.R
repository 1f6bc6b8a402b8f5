# Chains against the package bark 1.0.5, whose moves are right without selection
# (extended). It always has a kernel: J >= 1. Its prior of the noise precision
# phi is 1 / phi; here it is Ga(0.5, 0.05), and the peer's draws get weights
# phi^0.5 exp(-0.05 phi). Both packages standardise x and y.

peer_data <- function(n = 60) {
  withr::with_seed(11, {
    x <- matrix(stats::rnorm(2 * n), n)
    data.frame(
      x1 = x[, 1], x2 = x[, 2],
      y = sin(1.5 * x[, 1]) + 0.3 * x[, 2] + 0.5 * stats::rnorm(n)
    )
  })
}

#' Quantities that are compared: matrices with one column per chain
compared <- function(count, m, phi, lambda) {
  list(
    J = count, J2 = count^2, m = m, log_phi = log(phi), log_phi2 = log(phi)^2,
    log_S = log(lambda[[1]] + lambda[[2]]), log_lambda1 = log(lambda[[1]]),
    log_lambda2 = log(lambda[[2]]), log_lambda2_2 = log(lambda[[2]])^2
  )
}

peer_draws <- function(type, data, iter, thin = 10) {
  chains <- lapply(1:4, function(chain) {
    withr::with_seed(chain, bark::bark(y ~ ., data,
      selection = FALSE, common_lambdas = type == "equal", keepevery = thin,
      nburn = iter / thin / 10, nkeep = iter / thin,
      fixed = list(eps = 0.5, gam = 2.5, la = 1, lb = 1)
    ))
  })
  each <- function(f) vapply(chains, f, numeric(iter / thin))
  phi <- each(function(chain) chain$theta.phi[, 1])
  list(
    values = compared(
      each(function(chain) rowSums(chain$theta.nvec)),
      each(function(chain) rowSums(chain$theta.nvec > 0)), phi,
      lapply(1:2, function(l) each(function(chain) chain$theta.lambda[, l]))
    ),
    weights = sqrt(phi) * exp(-0.05 * phi)
  )
}

own_draws <- function(type, data) {
  fit <- bark(y ~ ., data,
    prior = bark_prior_paper(type,
      eps = 0.5, gamma = 2.5, noise = noise_gamma(0.5, 0.05)
    ), seed = 3, control = mcmc_control(4, 500, 10000, 1)
  )
  each <- function(f) {
    vapply(fit$runs, function(run) f(run$draws), numeric(10000))
  }
  count <- slot_sums(fit, function(d) d$copies)
  list(
    values = compared(
      count, each(function(d) as.double(d$m)), each(function(d) d$noise),
      lapply(1:2, function(l) {
        each(function(d) exp(matrix(d$log_lambda, 2)[l, ]))
      })
    ),
    weights = 1 * (count >= 1)
  )
}

#' A weighted mean and its Monte Carlo standard error
weighted_estimate <- function(values, weights) {
  mean <- sum(weights * values) / sum(weights)
  excess <- weights * (values - mean) / mean(weights)
  c(mean, posterior::mcse_mean(excess))
}

test_that("posteriors without selection agree with the package bark", {
  skip_unless_extended()
  skip_if_not_installed("bark", "1.0.5")
  # Null: nearly standard normal scores, 18 of them, with errors known from at
  # least 500 effective draws of the peer: |z| > 5.5 has probability 7e-7.
  data <- peer_data()
  for (type in c("equal", "different")) {
    theirs <- peer_draws(type, data, 40000)
    ours <- own_draws(type, data)
    for (name in names(ours$values)) {
      a <- weighted_estimate(theirs$values[[name]], theirs$weights)
      b <- weighted_estimate(ours$values[[name]], ours$weights)
      z <- (a[[1]] - b[[1]]) / sqrt(a[[2]]^2 + b[[2]]^2)
      expect_lt(abs(z), 5.5, label = paste("score of", name, type))
    }
  }
})
