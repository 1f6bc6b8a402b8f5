# Simulation-based calibration of bark() (extended): parameters and data are
# drawn from the model, and the posterior's distribution function at the truth
# must be uniform.

#' Positions of the truth in the posterior, from one data set
bark_place <- function(type, alpha, family, seed) {
  x <- matrix(c(
    0.3, -1.2, 1.1, -0.2, 0.9, 0.4, -1, -0.6, 0.1, 1.6, -0.8, 0.5, 1.3, -1.5,
    0.7, -0.1
  ), 8)
  at <- matrix(c(0.2, -0.4), 1)
  noise <- noise_gamma(3, 0.3)
  with_noise <- bark_prior_paper(type,
    alpha = alpha, eps = 0.5, gamma = 1.5, noise = noise
  )
  prior <- bark_prior_resolve(with_noise, x, rep(0, 8))
  given <- if (family == "probit") {
    bark_prior_paper(type, alpha = alpha, eps = 0.5, gamma = 1.5)
  } else {
    with_noise
  }
  truth <- draw_bark_prior(prior, 8, 2)
  v <- slot_variances(truth, alpha)
  beta <- stats::rnorm(length(v), 0, sqrt(v))
  f <- function(x_at) {
    if (length(v) == 0) {
      return(rep(0, nrow(x_at)))
    }
    lambda <- exp(truth$log_lambda) * truth$included
    drop(vapply(truth$location, function(l) {
      if (l == 0) {
        return(rep(1, nrow(x_at)))
      }
      exp(-colSums(lambda * (t(x_at) - x[l, ])^2))
    }, numeric(nrow(x_at))) %*% beta)
  }
  y <- if (family == "probit") {
    factor(f(x) + stats::rnorm(8) > 0, c(FALSE, TRUE))
  } else {
    f(x) + stats::rnorm(8, 0, 1 / sqrt(truth$noise))
  }
  # One class alone is refused. Drawing everything again leaves the law given y
  # unchanged.
  if (is.factor(y) && length(unique(y)) == 1) {
    return(bark_place(type, alpha, family, seed))
  }
  fit <- suppressWarnings(bark(x, y,
    prior = given, scale = FALSE, seed = seed,
    control = mcmc_control(1, 200, 1200, 2)
  ))
  chains <- chain_matrices(fit)
  pool <- bark_pool(fit)
  moments <- bark_moments(fit, at, pool)
  # Ties (no kernels, or equal numbers) are broken at random.
  place <- function(draws, value) {
    mean(draws < value) + stats::runif(1) * mean(draws == value)
  }
  # A draw without kernels has f = 0 and variance 0.
  below <- ifelse(moments$variance > 0,
    stats::pnorm(f(at), moments$mean, sqrt(moments$variance)),
    (f(at) > 0) + stats::runif(1) * (f(at) == 0)
  )
  d <- colSums(matrix(pool$included, 2))
  c(
    J = place(chains$J, sum(truth$copies)),
    sigma = place(1 / sqrt(pool$noise), 1 / sqrt(truth$noise)),
    d = place(d, sum(truth$included)), f = mean(below)
  )
}

test_that("bark() is calibrated for J, sigma, d and f", {
  skip_unless_extended()
  # Null: 400 independent uniform numbers in 10 bins, up to the error of the
  # chains; chi-square, 1e-4 over all settings and quantities (Bonferroni).
  settings <- expand.grid(
    type = c("equal", "different", "select_equal", "select_different"),
    alpha = c(1, 1.5), family = c("gaussian", "probit"),
    stringsAsFactors = FALSE
  )
  for (i in seq_len(nrow(settings))) {
    u <- withr::with_seed(30, vapply(1:400, function(r) {
      bark_place(
        settings$type[[i]], settings$alpha[[i]], settings$family[[i]], r
      )
    }, numeric(4)))
    selects <- startsWith(settings$type[[i]], "select")
    noisy <- settings$family[[i]] == "gaussian"
    for (name in c("J", if (noisy) "sigma", "f", if (selects) "d")) {
      count <- tabulate(pmin(floor(u[name, ] * 10) + 1, 10), 10)
      expect_gt(stats::chisq.test(count)$p.value * 48, 1e-4,
        label = paste(c(name, settings[i, ]), collapse = " ")
      )
    }
  }
})
