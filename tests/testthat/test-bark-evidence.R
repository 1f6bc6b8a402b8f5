# The evidence of bark() against importance sampling from the prior.
#
# Seen to fail, one mutant at a time: the ratio's denominator left out, the
# state of the next rung in it, the probability of the classes at rung 0 left
# out, a wrong standard error. Not visible, because right: rungs at other
# places, and latent responses of the lowest rung left as exchanges brought
# them.

evidence_x <- matrix(c(
  0.3, -1.2, 1.1, -0.2, 0.9, 0.1, 0.4, -1, -0.6, 1.3, -0.5, 0.7
), 6)
evidence_y <- c(0.8, -0.9, 0.4, 0.1, 1.2, -0.3)

evidence_fit <- function(type = "different", alpha = 1, y = evidence_y,
                         noise = noise_gamma(3, 1), scale = FALSE) {
  suppressWarnings(bark(evidence_x, y,
    prior = bark_prior_paper(type,
      alpha = alpha, eps = 0.5, gamma = 1.5, noise = noise
    ),
    control = mcmc_control(1, 1, 2), scale = scale, seed = 1
  ))
}

#' A fit of a Gaussian model turned into one of a probit model
as_probit <- function(fit, classes) {
  fit$data$y <- factor(classes)
  fit$mould$levels <- levels(fit$data$y)
  fit$settings$family <- "probit"
  fit$settings$prior <- utils::modifyList(
    fit$settings$prior, list(noise_fixed = TRUE, noise_precision = 1)
  )
  fit <- sealed(fit)
  fit
}

#' log of the mean likelihood over draws from the prior, and its standard error
#'
#' In a probit model the coefficients are drawn: a product of bounded factors.
evidence_by_importance <- function(fit, n) {
  prior <- fit$settings$prior
  y <- fit_engine(fit)$y
  log_l <- if (is.factor(fit$data$y)) {
    draws <- draw_bark_functions(prior, evidence_x, NULL, n)
    rowSums(stats::pnorm(rep(y, each = n) * draws$f, log.p = TRUE))
  } else {
    draw_bark_densities(prior, evidence_x, y, c(0, 0), n)$log_l
  }
  w <- exp(log_l)
  c(log(mean(w)), stats::sd(w) / mean(w) / sqrt(n))
}

test_that("the evidence agrees with importance sampling from the prior", {
  # Null: both estimates are nearly normal, their errors 1% to 2%; the ladders'
  # errors from the spread of 20 of them, t with 19 degrees of freedom at worst:
  # |t| > 8 has probability 2e-7.
  classes <- c("a", "b", "b", "a", "b", "b")
  fits <- list(
    gaussian = evidence_fit("select_different"),
    per_copy = evidence_fit("equal", 1.5),
    fixed_noise = evidence_fit("different", noise = fixed_variance(0.4)),
    probit = as_probit(evidence_fit("select_equal"), classes),
    probit_per_copy = as_probit(evidence_fit("different", 1.5), classes)
  )
  for (name in names(fits)) {
    fit <- fits[[name]]
    if (name == "fixed_noise") {
      fit$settings$prior$noise_shape <- fit$settings$prior$noise_rate <- 1
      fit <- sealed(fit)
    }
    exact <- withr::with_seed(8, evidence_by_importance(fit, 8000))
    z <- evidence(fit,
      n_temps = 6, warmup = 20, iter = 150, chains = 20, seed = 3
    )
    own <- stats::sd(z$replicates) / sqrt(20)
    score <- (z$log_evidence - exact[[1]]) / sqrt(own^2 + exact[[2]]^2)
    expect_lt(abs(score), 8, label = name)
    expect_lt(z$mc_se, 0.05)
    # Chi-square with 19 degrees of freedom: 1e-5 on either side.
    ratio <- 19 * (own / z$mc_se)^2
    expect_gt(ratio, 0.7 * stats::qchisq(1e-5, 19), label = name)
    expect_lt(ratio, 1.5 * stats::qchisq(1 - 1e-5, 19), label = name)
  }
})

test_that("the evidence is for the response in its own units", {
  first <- evidence(evidence_fit(scale = TRUE, noise = NULL),
    n_temps = 3, warmup = 5, iter = 20, chains = 2, seed = 1
  )
  second <- evidence(evidence_fit(
    y = 100 + 7 * evidence_y, scale = TRUE, noise = NULL
  ), n_temps = 3, warmup = 5, iter = 20, chains = 2, seed = 1)
  expect_equal(second$log_evidence, first$log_evidence - 6 * log(7),
    tolerance = 1e-6
  )
})

test_that("one coin has the evidence of a coin", {
  # By symmetry exactly 1/2: scores of 10 ladders, t with 9 degrees of freedom,
  # |t| > 14 has probability 2e-7.
  fit <- as_probit(evidence_fit(), c("a", "b", "b", "a", "b", "b"))
  fit$data <- list(
    x = evidence_x[1, , drop = FALSE], y = factor("b", c("a", "b"))
  )
  fit$sequence <- fit$time <- 1L
  # Its chains are not used.
  fit$runs <- vector("list", length(fit$runs))
  fit <- sealed(fit)
  z <- evidence(fit,
    n_temps = 4, warmup = 20, iter = 200, chains = 10, seed = 1
  )
  own <- stats::sd(z$replicates) / sqrt(10)
  expect_lt(abs(z$log_evidence + log(2)) / own, 14)
})

test_that("a ladder cut anywhere continues unchanged", {
  fits <- list(
    evidence_fit("select_different"),
    as_probit(
      evidence_fit("select_equal", 1.5), c("a", "b", "b", "a", "b", "b")
    )
  )
  for (fit in fits) {
    engine <- ladder_engine(fit, 3, 10, 30, 5)
    expect_identical(
      run_parts(engine, c(7, 3, 1, 29)), run_parts(engine, 40)
    )
  }
})

test_that("stepping stones are sums of log means of any size", {
  # Two steps, ratios 1, 2, 3 ... and their reciprocals, far from 1.
  r <- rbind(log(1:40) + 2000, -log(1:40) - 2000)
  out <- stepping_stones(list(r[, 1:20], r[, 21:40]))
  expect_equal(out$steps, c(log(20.5) + 2000, log(mean(1 / 1:40)) - 2000))
  expect_equal(out$total, sum(out$steps))
  # Batches of one: the standard error of independent sums.
  off <- 1:40 / 20.5 - 1 + (1 / 1:40) / mean(1 / 1:40) - 1
  expect_equal(out$se, stats::sd(off) / sqrt(40))
  # Batches of unequal length have weights.
  uneven <- stepping_stones(list(log(matrix(1:30, 1))))
  expect_equal(uneven$total, log(15.5))
  expect_identical(stepping_stones(list(matrix(1, 1, 1)))$se, NA_real_)
})

test_that("differing ladders are noted, fits without evidence refused", {
  expect_null(ladders_differ(c(-1.1, -0.9, -1), 0.06))
  expect_null(ladders_differ(-1, 0.06))
  expect_match(ladders_differ(c(-1, -3, -2), 0.06), "not mixed")
  improper <- evidence_fit(noise = noise_improper())
  expect_error(evidence(improper), class = "kb_error_improper")
  prior_only <- evidence_fit()
  prior_only$settings$prior_only <- TRUE
  prior_only <- sealed(prior_only)
  expect_error(evidence(prior_only), class = "kb_error_not_defined")
  expect_error(evidence(evidence_fit(), steps = 2),
    class = "kb_error_unknown_argument"
  )
  expect_error(evidence(evidence_fit(), n_temps = 0),
    class = "kb_error_argument"
  )
})

test_that("the evidence of a fit of bark() prints and stores its results", {
  z <- evidence(evidence_fit(),
    n_temps = 3, warmup = 5, iter = 20, chains = 2, seed = 1
  )
  expect_output(print(z), "log evidence")
  expect_identical(nrow(z$path), 3L)
  expect_equal(z$path$to, (1:3 / 3)^4)
  expect_equal(sum(z$path$log_ratio), z$log_evidence)
  expect_length(z$replicates, 2)
  again <- evidence(evidence_fit(),
    n_temps = 3, warmup = 5, iter = 20, chains = 2, seed = 1
  )
  expect_identical(again, z)
})

test_that("rungs of a heavy-tailed model double up to 1", {
  row <- response_families$student
  rungs <- ladder_rungs(row, NULL)
  expect_identical(rungs[c(1, 35)], c(0, 1))
  expect_true(all(diff(log(rungs[-1])) < log(2)))
  expect_identical(ladder_rungs(row, 1), c(0, 1))
  expect_identical(ladder_rungs(response_families$gaussian, 2), c(0, 1 / 16, 1))
})
