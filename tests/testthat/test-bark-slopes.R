# The linear part of bark(): slopes on the inputs of kernels with one standard
# deviation, integrated out with the other terms. One-step invariance for every
# family, posteriors and evidences against importance sampling and quadrature,
# predictions from the definition. The model is (B143) to (B145). Seen to fail: the
# degrees of freedom of the standard deviation without the number of slopes; squares
# of slopes not halved; (B144) without the length of the step; slopes of sampled
# coefficients that do not follow their standard deviation; (B145) without the power.
# Not seen: integrated slopes that do not follow it, which no later move reads; their
# squares not divided by the amplitude; (B145) without the prior of the noise.

slope_terms <- list(
  linear = matrix(0, 8, 0), linear_sd = numeric(), groupings = list()
)
slope_group <- list(
  group = rep(1:3, length.out = 8), count = 3L,
  z = matrix(seq(0.6, 1.4, length.out = 8)), scale = 0.7
)
slope_x <- withr::with_seed(2, matrix(stats::rnorm(16), 8))
slope_weights <- rep(c(1, 0.5, 3, 1.5), 2)

slope_law <- function(move, family = "gaussian", repeats = 4, pairs = 4000,
                      groups = FALSE, redraw = move %in% c("full", "single"),
                      ...) {
  terms <- slope_terms
  if (groups) {
    terms$linear <- matrix(1, 8)
    terms$linear_sd <- 0.8
    terms$groupings <- list(slope_group)
  }
  paired_scores(bark_terms_law_cpp(
    bark_setting("equal", 1, 1.5, slope_scale = 0.8, ...), slope_x,
    slope_weights, terms, move, repeats, redraw, pairs * (1 + 9 * extended()),
    4, family
  ))
}

# Laws -------------------------------------------------------------------------

test_that("moves of numeric responses leave the joint law invariant", {
  # Null: at most 250 nearly standard normal scores per call, 8 calls: |z| > 6
  # somewhere has a probability of 4e-6.
  for (groups in c(FALSE, TRUE)) {
    for (move in c("terms", "full")) {
      z <- slope_law(move, groups = groups)
      expect_lt(max(abs(z)), 6, label = paste(move, groups))
    }
  }
  for (move in c("terms", "single")) {
    z <- slope_law(move, "student", 6, df = c(2, 5, 1000))
    expect_lt(max(abs(z)), 6, label = paste("student", move))
  }
  z <- slope_law("birth_death")
  expect_lt(max(abs(z)), 6)
  z <- slope_law("many_rows",
    repeats = 2, pairs = 1000, redraw = TRUE, own_scales = TRUE,
    noise_rate = 0.01
  )
  expect_lt(max(abs(z)), 6)
})

test_that("moves of classes do so, too", {
  # Null: as above, 5 calls.
  setting <- probit_setting("equal", alpha = 1, nu = 1.5, slope_scale = 0.8)
  pairs <- 2000 * (1 + 9 * extended())
  for (family in c("probit", "ordered")) {
    for (move in c("full", "latent_scale")) {
      out <- bark_terms_classes_cpp(
        setting, slope_x, slope_terms, family, 3, move, 3, move == "full",
        pairs, 4
      )
      expect_identical(out$wrong, 0L)
      expect_lt(max(abs(paired_scores(out))), 6, label = paste(family, move))
    }
  }
  out <- bark_terms_fields_cpp(
    setting, slope_x, slope_terms, 3, "full", 2, TRUE, pairs / 2, 4
  )
  expect_lt(max(abs(paired_scores(out))), 6)
})

test_that("moves of families without a latent normal form do so, too", {
  # Null: sums over independent pairs over their root mean square; about 100 per
  # call, 1000 for several classes; 5 calls. |z| > 6.2 has a probability of
  # 6e-10 each. The half-t prior has heavy tails: binomial responses.
  prior <- bark_setting("select_different",
    own_scales = TRUE, alpha = 8, eps = 1, nu = 3, slope_scale = 0.5
  )
  terms <- list(linear = matrix(1, 5), linear_sd = 1, groupings = list())
  config <- list(family = "binomial_logit", trials = rep(20, 5), terms = terms)
  pairs <- if (extended()) 40000 else 5000
  for (move in c("slopes", "coefficients", "sweep")) {
    again <- move == "sweep"
    out <- bark_glm_pairs_cpp(
      config, prior, five_rows, move, if (again) 5 else 30, pairs, 5, again
    )
    expect_lt(out$stale, 1e-7)
    expect_lt(max(abs(paired_scores(out))), 6.2, label = move)
  }
  for (move in c("shift", "sweep")) {
    out <- bark_glm_fields_pairs_cpp(
      terms, prior, five_rows, 3, move, if (move == "shift") 1 else 3,
      pairs / 2, 5, move == "sweep"
    )
    expect_lt(max(abs(paired_scores(out))), 6.2, label = paste("fields", move))
  }
})

# Exact posteriors -------------------------------------------------------------

slope_y <- withr::with_seed(3, drop(slope_x %*% c(0.8, -0.3)) + stats::rnorm(8) / 2)

test_that("the standard deviation of slopes has its exact posterior", {
  # No kernels, known noise: a sum over a grid. Null: 3 scores of means over
  # 20 000 draws of a chain, nearly standard normal; |z| > 6.
  prior <- bark_setting(
    nu = 0, noise_fixed = TRUE, noise_precision = 2, slope_scale = 0.3
  )
  sd <- exp(seq(-8, 4, length.out = 400))
  log_posterior <- vapply(sd, function(s) {
    r <- chol(s^2 * tcrossprod(slope_x) + diag(8) / 2)
    z <- backsolve(r, slope_y, transpose = TRUE)
    stats::dt(s / 0.3, 3, log = TRUE) + log(s) - sum(log(diag(r))) - sum(z^2) / 2
  }, 1)
  p <- exp(log_posterior - log_sum_exp(log_posterior))
  run <- run_to_end(response_engine("gaussian", slope_x, slope_y, prior,
    warmup = 100, iter = 20000
  ))
  drawn <- run$draws$slope_sd
  expect_length(drawn, 20000)
  z <- c(
    mean_score(squashed(log(drawn)), sum(p * squashed(log(sd)))),
    mean_score(squashed(drawn), sum(p * squashed(sd))),
    mean_score(drawn < 0.3, sum(p * (sd < 0.3)))
  )
  expect_lt(max(abs(z)), 6)
})

test_that("chains of the prior only have the prior of slopes", {
  # Null: 4000 independent draws, half-t with 3 degrees of freedom; |z| > 6.
  run <- run_to_end(response_engine("gaussian", slope_x, slope_y,
    bark_setting(nu = 1, slope_scale = 0.3),
    warmup = 1, iter = 4000, prior_only = TRUE
  ))
  u <- 2 * stats::pt(run$draws$slope_sd / 0.3, 3) - 1
  expect_lt(max(abs(uniform_scores(u))), 6)
  slopes <- matrix(run$draws$slopes, 2)
  z <- normal_scores(
    sweep(slopes, 2, run$draws$slope_sd, "/"), c(0, 0), diag(2)
  )
  expect_lt(max(abs(z)), 6)
})

test_that("chains agree with importance sampling from the prior", {
  # Null: t scores with 19 degrees of freedom at worst; |t| > 8 has a probability
  # of 2e-7; 5 scores of 6 chains.
  x <- five_rows[1:4, 1:2]
  y <- c(1.4, -2, 1.1, 0.3)
  at <- matrix(c(0.2, -0.4), 1)
  n <- if (extended()) 40000 else 10000
  prior <- bark_setting("select_different", 1, slope_scale = 0.6)
  none <- function(draws) 0
  precision <- function(draws) mean(squashed(log(draws$noise)))
  normal <- function(f, draws) {
    off <- (rep(y, each = n) - f) * sqrt(draws$noise)
    log_l <- -rowSums(off^2) / 2 + 2 * log(draws$noise / (2 * pi))
    cbind(log_l, squashed(log(draws$noise)))
  }
  student <- function(f, draws) {
    scale <- 1 / sqrt(outer(draws$noise, rep(1, 4)))
    off <- (rep(y, each = n) - f) / scale
    cbind(
      rowSums(stats::dt(off, 3, log = TRUE) - log(scale)),
      squashed(log(draws$noise))
    )
  }
  probit <- function(f, draws) {
    cbind(rowSums(stats::pnorm(rep(sign(y), each = n) * f, log.p = TRUE)), 0)
  }
  cases <- list(
    gaussian = list(prior, y, normal, precision),
    student = list(c(prior, df = 3), y, student, precision),
    probit = list(
      probit_setting("select_different", slope_scale = 0.6), sign(y), probit, none
    )
  )
  for (family in names(cases)) {
    case <- cases[[family]]
    exact <- withr::with_seed(6, response_importance(
      case[[1]], x, drop(at), n, case[[3]]
    ))
    for (n_temps in 1:2) {
      engine <- response_engine(family, x, case[[2]], case[[1]], 100, 600, n_temps)
      z <- response_scores(engine, exact, at, case[[4]])
      expect_lt(max(abs(z)), 8, label = paste(family, n_temps))
    }
  }
})

test_that("the evidence agrees with importance sampling from the prior", {
  # Null: as in test-bark-evidence.R, 3 cases.
  n <- 20000
  x <- five_rows[, 1:2]
  y <- c(0.8, -0.9, 1.4, 0.1, 0.6)
  prior <- function(...) {
    bark_prior_paper("select_different",
      eps = 0.5, gamma = 1.5, linear = 0.6, ...
    )
  }
  fit_to <- function(y, prior, ...) {
    suppressWarnings(bark(x, y,
      prior = prior, control = mcmc_control(1, 1, 2), scale = FALSE, seed = 1, ...
    ))
  }
  fits <- list(
    gaussian = fit_to(y, prior(noise = noise_gamma(3, 1))),
    student = fit_to(y, prior(noise = noise_gamma(3, 1), df = 3)),
    probit = fit_to(factor(y > 0.5), prior())
  )
  for (name in names(fits)) {
    fit <- fits[[name]]
    known <- fit$settings$prior
    engine <- fit_engine(fit)
    log_l <- withr::with_seed(8, if (name == "gaussian") {
      draw_bark_densities(known, x, engine$y, c(0, 0), n)$log_l
    } else {
      draws <- draw_bark_functions(known, x, NULL, n)
      each <- if (name == "probit") {
        stats::pnorm(rep(engine$y, each = n) * draws$f, log.p = TRUE)
      } else {
        scale <- 1 / sqrt(outer(draws$noise, rep(1, 5)))
        stats::dt((rep(y, each = n) - draws$f) / scale, 3, log = TRUE) -
          log(scale)
      }
      rowSums(each)
    })
    w <- exp(log_l)
    se <- stats::sd(w) / mean(w) / sqrt(n)
    z <- evidence(fit,
      n_temps = if (name == "student") 20 else 6, warmup = 20, iter = 150,
      chains = 20, seed = 3
    )
    own <- stats::sd(z$replicates) / sqrt(20)
    score <- (z$log_evidence - log(mean(w))) / sqrt(own^2 + se^2)
    expect_lt(abs(score), 8, label = name)
  }
})

# Fits -------------------------------------------------------------------------

slope_data <- withr::with_seed(5, {
  data <- data.frame(a = stats::rnorm(40), b = stats::rnorm(40))
  data$y <- 2 * data$a + sin(2 * data$b) + stats::rnorm(40) / 3
  data$n <- stats::rpois(40, exp(data$a / 2 + 1))
  data$class <- factor(c("u", "v", "w"))[
    max.col(cbind(data$a, data$b, 0) + stats::rnorm(120))
  ]
  data$g <- factor(rep(1:4, 10))
  data
})

slope_fit <- function(formula, linear = 0.3, ..., iter = 60) {
  suppressWarnings(bark(formula, slope_data,
    prior = bark_prior(linear = linear),
    control = mcmc_control(2, 40, iter), seed = 1, ...
  ))
}

test_that("f is its kernels and its slopes, wherever it is computed", {
  fits <- list(
    number = slope_fit(y ~ a + b), groups = slope_fit(y ~ a + b + (1 | g)),
    count = slope_fit(n ~ a + b, family = poisson()),
    directions = suppressWarnings(bark(y ~ a + b, slope_data,
      prior = bark_prior(linear = 0.3, directions = 1),
      control = mcmc_control(2, 40, 60), seed = 1
    ))
  )
  new <- data.frame(a = c(-3, 0, 4), b = c(0, 1, 0.2), g = factor(1))
  for (name in names(fits)) {
    fit <- fits[[name]]
    pool <- bark_pool(fit)
    x <- prediction_rows(fit, new, NULL, FALSE, FALSE, NULL)$x
    with <- kernel_values(fit, kernel_part(fit, x), pool, "draw", 1:50)$mean
    without <- pool
    without$slopes <- NULL
    kernels <- kernel_values(fit, kernel_part(fit, x), without, "draw", 1:50)$mean
    slopes <- matrix(pool$slopes, 2)[, 1:50]
    scaled <- scaling_x(fit$settings$scaling, kernel_part(fit, x))
    expect_equal(with, kernels + scaled %*% slopes, tolerance = 1e-12)
    if (name == "count") next
    along <- partial_dependence(fit, "a", grid = new$a)
    means <- vapply(new$a, function(to) {
      mean(predict(fit, replace(slope_data, "a", to)))
    }, 1)
    expect_equal(along$mean, means, tolerance = 1e-8)
  }
})

test_that("fits with slopes continue to the same bits, and print their share", {
  for (formula in list(y ~ a + b, class ~ a + b, n ~ a + b)) {
    family <- if (identical(formula[[2]], quote(n))) poisson()
    long <- slope_fit(formula, family = family)
    short <- slope_fit(formula, family = family, iter = 20)
    again <- suppressWarnings(update(short, iter = 40))
    expect_identical(again$runs[[1]]$draws, long$runs[[1]]$draws)
  }
  expect_output(print(slope_fit(y ~ a + b)), "linear part: ")
  expect_no_match(capture.output(print(slope_fit(y ~ a + b, 0))), "linear part")
  expect_error(bark_prior(linear = -1), class = "kb_error_argument")
  expect_error(bark_prior(linear = "yes"), class = "kb_error_argument")
})

test_that("a linear part goes with noise that has no draws from its prior", {
  fit <- suppressWarnings(bark(y ~ a + b, slope_data,
    prior = bark_prior(noise = noise_improper()), seed = 1,
    control = mcmc_control(1, 5, 5)
  ))
  expect_true(all(is.finite(fit$runs[[1]]$draws$noise)))
})
