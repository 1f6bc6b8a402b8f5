# Degrees of freedom that are learned: R/options-noise.R, latent.cpp. Exact answers
# are averages of those with known ones (helper-student.R), weighted by evidence.

limit <- 6.5
x <- c(0.3, -1.7, 2.1)
y <- c(1.05, 0.21, -1.32)
at <- as.matrix(c(-1, 0.5))
value <- mean(y) + c(-0.3, 0.4)
# Fewer values than learned_df, so that the oracle is fast.
values <- c(2.5, 1000, 6)

prior_of <- function(noise = ig(3, 0.3)) {
  prior <- srvm_prior(1.3, 3, noise = noise, coef = fixed_variance(0.6), df = "learn")
  prior$df <- values
  prior
}

exact_df <- function(noise = ig(3, 0.3), weights = c(1, 1, 1)) {
  each <- lapply(values, function(df) {
    oracle_student(x, y, df, for_oracle(noise), 0.6, at, value,
      precision = weights
    )
  })
  log_z <- vapply(each, `[[`, 0, "log_evidence")
  p <- exp(log_z - log_sum_exp(log_z))
  answers <- vapply(each, `[[`, each[[1]]$answers, "answers")
  list(
    log_evidence = log_sum_exp(log_z) - log(3),
    answers = c(drop(answers %*% p), p)
  )
}

answers_with_df <- function(fit) {
  pool <- srvm_pool(fit)
  p <- vapply(values, function(df) sum(pool$weights[pool$df == df]), 0)
  c(student_answers_of_fit(fit, at, value, 1:3), p)
}

test_that("particles agree with averages over the degrees of freedom", {
  # Null: as in test-srvm-student.R, fewer than 60 scores.
  exact <- exact_df()
  estimates <- vapply(1:40, function(seed) {
    fit <- suppressWarnings(srvm(as.matrix(x), y,
      kernel = kernel_gaussian(0.9), scale = FALSE, prior = prior_of(),
      control = smc_control(800, n_moves = 4), seed = seed
    ))
    ratio <- exp(evidence(fit)$log_evidence - exact$log_evidence)
    c(ratio, ratio * (answers_with_df(fit) - exact$answers))
  }, numeric(1 + length(exact$answers)))
  se <- apply(estimates, 1, stats::sd) / sqrt(40)
  z <- mc_z(rowMeans(estimates), pmax(se, 1e-12), c(1, numeric(nrow(estimates) - 1)))
  expect_lt(max(abs(z)), limit)
})

test_that("chains agree with averages over the degrees of freedom", {
  # Null: chains are independent; each score is nearly t with 39 degrees of
  # freedom, |z| > 6.5 has probability 1e-7, and there are fewer than 60.
  for (weights in list(NULL, c(2, 0.5, 3))) {
    noise <- if (is.null(weights)) ig(3, 0.3) else fixed_variance(0.1)
    exact <- exact_df(noise, if (is.null(weights)) c(1, 1, 1) else weights)
    fit <- suppressWarnings(srvm(as.matrix(x), y,
      kernel = kernel_gaussian(0.9), scale = FALSE, prior = prior_of(noise),
      weights = weights, method = "mcmc", seed = 1,
      control = mcmc_control(40, 100, 1500, n_moves = 4)
    ))
    estimates <- vapply(fit$runs, function(run) {
      one <- fit
      one$runs <- list(run)
      one <- sealed(one)
      answers_with_df(one)
    }, numeric(length(exact$answers)))
    se <- apply(estimates, 1, stats::sd) / sqrt(40)
    z <- mc_z(rowMeans(estimates), pmax(se, 1e-12), exact$answers)
    expect_lt(max(abs(z)), limit, label = format(noise))
  }
})

# Fits ----------------------------------------------------------------------------

data <- withr::with_seed(2, {
  x <- round(stats::runif(40, -3, 3), 2)
  data.frame(x = x, y = sin(2 * x) + stats::rt(40, 2) / 8)
})

fit_df <- function(rows = 1:40, method = "smc", control = smc_control(50, n_moves = 3),
                   kernel = kernel_gaussian(0.5), ...) {
  suppressMessages(suppressWarnings(srvm(y ~ x, data[rows, ],
    kernel = kernel, prior = srvm_prior(df = "learn"), method = method,
    control = control, seed = 3, ...
  )))
}

chains <- function(iter = 100, ...) {
  fit_df(method = "mcmc", control = mcmc_control(2, 30, iter, n_moves = 5), ...)
}

without_time <- function(fit) {
  lapply(fit$runs, function(run) run[setdiff(names(run), c("seconds", "shared_seconds"))])
}

test_that("update() in parts equals one run", {
  for (kernel in list(kernel_gaussian(0.5), kernel_gaussian("ard"))) {
    all <- fit_df(kernel = kernel)
    part <- suppressWarnings(srvm(y ~ x, data[1:17, ],
      reference = all, control = all$control, seed = 3
    ))
    part <- unserialize(serialize(part, NULL))
    both <- suppressWarnings(update(part, newdata = data[18:40, ]))
    expect_identical(without_time(both), without_time(all))
    threads <- fit_df(kernel = kernel,
      control = smc_control(50, n_moves = 3, threads = 2)
    )
    expect_identical(without_time(threads), without_time(all))
    whole <- chains(12, kernel = kernel)
    for (cut in c(1, 5, 11)) {
      both <- suppressMessages(suppressWarnings(
        update(chains(cut, kernel = kernel), iter = 12 - cut)
      ))
      expect_identical(without_time(both), without_time(whole), label = cut)
    }
  }
})

test_that("results report the degrees of freedom and average over them", {
  skip_if_not_installed("rstantools")
  for (fit in list(fit_df(), chains(), chains(kernel = kernel_gaussian("ard")))) {
    expect_identical(checked_fit(fit), fit)
    pool <- srvm_pool(fit)
    expect_true(all(pool$df %in% learned_df))
    expect_gt(length(unique(pool$df)), 1)
    line <- generics::tidy(fit)
    # The weighted median: half of the weight is at or below it, no less.
    middle <- line$estimate[line$term == "df"]
    expect_gte(sum(pool$weights[pool$df <= middle]), 0.5 - 1e-9)
    expect_lt(sum(pool$weights[pool$df < middle]), 0.5)
    expect_true("df" %in% posterior::variables(posterior::as_draws_df(fit)))
    expect_output(print(fit), "Student's t, median df [0-9.]")
    new <- data.frame(x = c(-1, 2), y = c(0, 1))
    # Densities are means over the particles, each with its own.
    moments <- srvm_moments(fit, as.matrix(new["x"]), pool)
    scaling <- fit$settings$scaling
    f <- scaling_y(scaling, new$y) - moments$mean
    density <- vapply(seq_along(pool$k), function(i) {
      vapply(1:2, function(row) {
        stats::integrate(function(z) {
          stats::dnorm(z) * stats::dt(
            (f[row, i] - z * sqrt(moments$variance[row, i])) / sqrt(pool$noise[[i]]),
            pool$df[[i]]
          ) / sqrt(pool$noise[[i]])
        }, -8, 8, rel.tol = 1e-8)$value
      }, 0)
    }, numeric(2))
    expect_equal(
      unname(predict(fit, new, type = "log_score")),
      log(drop(density %*% pool$weights)) - log(scaling$y_scale), tolerance = 1e-5
    )
    expect_length(residuals(fit, type = "quantile"), 40)
    expect_true(is.finite(logLik(fit)))
    expect_identical(dim(simulate(fit, 2, seed = 1)), c(40L, 2L))
    expect_identical(dim(rstantools::posterior_predict(fit, new, seed = 1))[[2]], 2L)
    bands <- predict(fit, new, interval = "prediction")
    expect_true(all(bands[, "lwr"] < bands[, "fit"]))
  }
  fit <- chains()
  expect_equal(
    as.vector(chain_matrices(fit)$log_lik),
    unname(rowSums(rstantools::log_lik(fit)))
  )
  expect_true("df" %in% ess(fit)$variable)
  expect_length(head_draws(fit, fit$runs[[1]], 7)$df, 7)
})

test_that("several kernels, dictionaries and bounded candidates learn it too", {
  for (kernel in list(
    list(kernel_gaussian(0.5), kernel_gaussian(1)),
    kernel_dictionary(kernel_gaussian(0.5), kernel_linear())
  )) {
    fit <- fit_df(kernel = kernel, memory = srvm_memory(candidates = 10))
    expect_true(all(is.finite(predict(fit, interval = "prediction"))))
    expect_identical(checked_fit(fit), fit)
    expect_length(srvm_pool(fit)$df, length(srvm_pool(fit)$k))
  }
})

test_that("what has no meaning is refused, damage is found", {
  expect_error(srvm_prior(df = "learned"), "\"learn\"", class = "kb_error_argument")
  expect_error(srvm_prior(df = "learn", scaled = TRUE), "`df`",
    class = "kb_error_argument"
  )
  expect_output(print(srvm_prior(df = "learn")), "df learned")
  expect_error(
    srvm(factor(y > 0) ~ x, data, prior = srvm_prior(df = "learn")), "`df`",
    class = "kb_error_argument"
  )
  expect_error(
    srvm(y ~ x, data,
      prior = srvm_prior(df = "learn"), memory = srvm_memory(window = 20)
    ), "window", class = "kb_error_not_defined"
  )
  fit <- fit_df(1:30)
  fit$runs[[1]]$df[[3]] <- 7
  fit <- sealed(fit)
  expect_error(
    suppressWarnings(update(fit, newdata = data[31:40, ])), "df",
    class = "kb_error_fit"
  )
})
