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

# Terms beside kernels ---------------------------------------------------------

# The parameters of which a test looks at the law, one row per draw
term_parameters <- function(fit) {
  chains <- chain_matrices(fit)
  pool <- bark_pool(fit)
  gamma <- fixef.kb_bark(fit, summary = FALSE)
  cbind(
    J = as.vector(chains$J), sigma = as.vector(chains$sigma),
    sd = as.vector(chains[["sd[g]"]]), gamma = gamma[, "z"],
    b = ranef.kb_bark(fit, summary = FALSE)$g[, 1, 1],
    # The sum of scales is 0 where no input is included.
    if (!has_own_scales(fit)) {
      cbind(lambda = colSums(
        matrix(exp(pool$log_lambda) * pool$included, ncol(fit$data$x))
      ))
    }
  )
}

# The fit to other responses, with the prior of `fit`
fit_again <- function(fit, y, seed, control) {
  fit$data$y[] <- y
  fit$settings$prior_only <- FALSE
  fit$control <- utils::modifyList(fit$control, control)
  fit$seed <- seed
  fit$runs <- list(NULL)
  fit$time <- 0L
  fit$status <- "started"
  fit <- sealed(fit)
  advance_fit(fit, FALSE, now(), NULL)$fit
}

test_that("bark() is calibrated for linear coefficients, groups and scales", {
  skip_unless_extended()
  # Null: as above, 11 quantities. Seen to fail with a prior of sd half as wide in
  # the fits.
  data <- withr::with_seed(4, data.frame(
    y = stats::rnorm(24), a = stats::rnorm(24), b = stats::rnorm(24),
    z = stats::rnorm(24), g = gl(6, 4)
  ))
  for (own in c(FALSE, TRUE)) {
    prior <- suppressMessages(bark(y ~ kernels(a, b) + z + (1 | g), data,
      prior = bark_prior(
        own_scales = own, noise = noise_gamma(3, 0.5), gamma = 2, df = Inf,
        linear_sd = 1, group_sd = 0.7
      ),
      scale = FALSE, prior_only = TRUE, seed = 1,
      control = mcmc_control(1, 0, 8000, 20)
    ))
    truth <- term_parameters(prior)
    y <- rstantools::posterior_predict(prior, seed = 2)
    places <- withr::with_seed(3, vapply(1:400, function(r) {
      drawn <- term_parameters(fit_again(
        prior, y[r, ], r, list(warmup = 300L, iter = 1500L, thin = 3L)
      ))
      vapply(colnames(drawn), function(name) {
        v <- drawn[, name]
        mean(v < truth[r, name]) + stats::runif(1) * mean(v == truth[r, name])
      }, 0)
    }, numeric(ncol(truth))))
    for (name in rownames(places)) {
      count <- tabulate(pmin(floor(places[name, ] * 10) + 1, 10), 10)
      expect_gt(stats::chisq.test(count)$p.value * 11, 1e-4,
        label = paste(name, if (own) "own scales" else "common scales")
      )
    }
  }
})

# Other families ---------------------------------------------------------------

# The data of a fit with other responses of its kind: times are censored at 3,
# successes are of 6 trials
calibration_response <- function(fit, y) {
  switch(fit$mould$outcome,
    interval = cbind(pmin(y, 3), ifelse(y < 3, y, Inf)),
    trials = cbind(y, 6 - y), factor = fit$mould$levels[y], y
  )
}

# Of all draws: parameters, and the predictor or the log variance of a row
family_parameters <- function(fit) {
  chains <- chain_matrices(fit)
  chains$log_lik <- NULL
  out <- vapply(chains, as.vector, numeric(length(chains$J)))
  if (is_multinomial(fit)) {
    # The responses say nothing about what all fields have in common.
    p <- fields_class_draws(
      fit, complete_x(wide_x(fit, 1:2)), posterior_pool(fit), seq_len(nrow(out))
    )
    return(cbind(out, p = matrix(p, nrow(out))[, 1:4]))
  }
  pool <- bark_pool(fit)
  if (has_varying_noise(fit)) {
    g <- log_variance(fit, wide_x(fit, 1:2), pool)
    return(cbind(out, Jg = pool$varying$m, t(g)))
  }
  cbind(out, predict(fit, type = "draws")[, 1:2])
}

test_that("bark() is calibrated for other families and noise that varies", {
  skip_unless_extended()
  skip_if_not_installed("survival")
  # Null: as above, with 200 data sets and fewer than 60 quantities. Data sets
  # whose responses are not finite, or are huge, are left out, which the responses
  # decide: the posterior given the others is what it was.
  data <- withr::with_seed(4, data.frame(
    y = stats::rnorm(20), k = rep(0:3, 5), a = stats::rnorm(20),
    z = stats::rnorm(20), class = gl(3, 1, 20)
  ))
  calls <- list(
    negbinomial = list(k ~ kernels(a) + z, family = "negbinomial"),
    logit = list(cbind(k, 6 - k) ~ kernels(a) + z, family = binomial()),
    probit = list(cbind(k, 6 - k) ~ kernels(a), family = binomial("probit")),
    weibull = list(survival::Surv(exp(y), y < 1) ~ kernels(a) + z),
    lognormal = list(
      survival::Surv(exp(y), y < 1) ~ kernels(a), family = "lognormal"
    ),
    censored = list(
      survival::Surv(y, y < 1) ~ kernels(a), family = gaussian()
    ),
    classes = list(class ~ kernels(a) + z, family = "multinomial_logit"),
    varying = list(y ~ a, sigma = ~a)
  )
  for (name in names(calls)) {
    varying <- name == "varying"
    noisy <- name %in% c("weibull", "lognormal", "censored")
    prior <- suppressMessages(do.call(bark, c(calls[[name]], list(
      data = data, scale = FALSE, prior_only = TRUE, seed = 1,
      prior = bark_prior(
        gamma = 1, linear_sd = if (!varying) 0.7,
        noise = if (noisy) noise_gamma(3, 0.5)
      ),
      control = mcmc_control(1, 0, 16000, 20)
    ))))
    truth <- family_parameters(prior)
    y <- rstantools::posterior_predict(prior, seed = 2)
    most <- if (noisy || varying) 1e8 else 1e4
    usable <- which(apply(is.finite(y) & abs(y) < most, 1, all))[1:200]
    places <- withr::with_seed(3, vapply(usable, function(r) {
      again <- calibration_response(prior, y[r, ])
      drawn <- family_parameters(fit_again(
        prior, again, r, list(warmup = 300L, iter = 1200L, thin = 3L)
      ))
      vapply(seq_len(ncol(drawn)), function(k) {
        v <- drawn[, k]
        mean(v < truth[r, k]) + stats::runif(1) * mean(v == truth[r, k])
      }, 0)
    }, numeric(ncol(truth))))
    for (k in seq_len(nrow(places))) {
      count <- tabulate(pmin(floor(places[k, ] * 10) + 1, 10), 10)
      expect_gt(stats::chisq.test(count)$p.value * 60, 1e-4,
        label = paste(name, colnames(truth)[[k]], k)
      )
    }
  }
})
