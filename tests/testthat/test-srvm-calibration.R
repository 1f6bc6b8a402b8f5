# Simulation-based calibration (extended tests): parameters and data are drawn
# from the model, and the posterior's distribution function at the drawn values
# must be uniform. Every sampler is one row of `samplers`.
#
# Seen to fail with a birth/death proposal without its reverse probability, or
# with a uniform death as the reverse where the new candidate joined, with the
# prior's other kind of centres, and with a noise variance 10% too large. Finer
# faults (m for m' in one factor) are left to the exact tests.

samplers <- list(
  adapted = function(x, y, prior, seed) {
    control <- smc_control(1000, 3)
    calibrated_fit(x, y, prior, control, seed)
  },
  birth_death = function(x, y, prior, seed) {
    control <- smc_control(1500, 1, "birth_death")
    calibrated_fit(x, y, prior, control, seed)
  },
  student = function(x, y, prior, seed) {
    control <- smc_control(1500, 3)
    calibrated_fit(x, y, prior, control, seed)
  },
  batch = function(x, y, prior, seed) {
    control <- mcmc_control(1, warmup = 500, iter = 8000, thin = 4, n_moves = 5)
    calibrated_fit(x, y, prior, control, seed, method = "mcmc")
  }
)

calibrated_fit <- function(x, y, prior, control, seed, method = "smc") {
  srvm(x, y, kernel_gaussian(0.9), prior, method, control,
    scale = FALSE, seed = seed
  )
}

settings <- expand.grid(
  sampler = names(samplers), scaled = c(FALSE, TRUE),
  centres = c("subset", "iid"), stringsAsFactors = FALSE
)

# Student's noise has no scaled form.
settings <- settings[settings$sampler != "student" | !settings$scaled, ]

# Eight rows, seven candidates.
x_fixed <- as.matrix(c(0.3, -1.7, 2.1, -0.4, 0.3, 1.2, -2.6, 0.8))
x_new <- as.matrix(0.1)

prior_of <- function(scaled, centres, df = Inf) {
  srvm_prior(3, 4, centres,
    noise = ig(4, 0.3), coef = if (scaled) ig(4, 30) else ig(4, 3),
    scaled = scaled, df = df
  )
}

draw_ig <- function(prior) prior$scale / stats::rgamma(1, prior$shape)

#' Parameters and data from the prior
draw_model <- function(prior) {
  candidates <- oracle_candidates(x_fixed)
  m <- max(candidates$m)
  k <- 0:prior$kmax
  log_p <- lchoose(m, k) +
    oracle_log_prior_set(k, m, prior$lambda, prior$kmax, prior$centres)
  k <- sample(k, 1, prob = exp(log_p))
  set <- candidates$rows[sample.int(m, k)]
  noise <- draw_ig(prior$noise)
  coef <- draw_ig(prior$coef) * (if (prior$scaled) noise else 1)
  beta <- stats::rnorm(k + 1, 0, sqrt(coef))
  f <- function(x) {
    drop(cbind(1, kern(x, x_fixed)[, set, drop = FALSE]) %*% beta)
  }
  list(
    k = k, noise = noise, f = f(x_new),
    y = f(x_fixed) + sqrt(noise) * stats::rt(nrow(x_fixed), prior$df)
  )
}

#' Posterior distribution functions at the truth, at random within a step
place_of_truth <- function(fit, truth) {
  pool <- srvm_pool(fit)
  moments <- srvm_moments(fit, x_new, pool)
  c(
    k = sum(pool$weights * (pool$k < truth$k)) +
      stats::runif(1) * sum(pool$weights * (pool$k == truth$k)),
    sigma = sum(pool$weights * (pool$draws$noise < truth$noise)),
    f = sum(
      pool$weights *
        stats::pnorm(truth$f, moments$mean, sqrt(moments$variance))
    )
  )
}

calibrate <- function(setting, n, bins = 12) {
  df <- if (setting$sampler == "student") 4 else Inf
  prior <- prior_of(setting$scaled, setting$centres, df)
  u <- withr::with_seed(20, vapply(seq_len(n), function(r) {
    truth <- draw_model(prior)
    fit <- suppressWarnings(
      samplers[[setting$sampler]](x_fixed, truth$y, prior, r)
    )
    place_of_truth(fit, truth)
  }, numeric(3)))
  apply(u, 1, function(u) {
    count <- tabulate(pmin(floor(u * bins) + 1, bins), bins)
    stats::chisq.test(count)$p.value
  })
}

test_that("every sampler is calibrated for k, sigma and f", {
  skip_unless_extended()
  # Null: 1000 independent uniform numbers in 12 bins, up to the error of the
  # particles, which is of the order of 1/1000; chi-square, 1e-4 over all
  # settings and quantities (Bonferroni).
  for (i in seq_len(nrow(settings))) {
    p <- calibrate(settings[i, ], 1000)
    expect_gt(
      min(p) * length(p) * nrow(settings), 1e-4,
      label = paste(unlist(settings[i, ]), collapse = ", ")
    )
  }
})
