# Student's noise: the sampler against enumeration of sets with quadrature over
# the latent weights (helper-student.R), and results that depend on the noise.

# Null: the sampler is unbiased on the natural scale, so each z-score below is
# nearly t with 39 degrees of freedom. |z| > 6.5 has probability 1.0e-7; with
# fewer than 300 scores in this file a false alarm is rarer than 1e-4.
limit <- 6.5

xs <- c(0.3, -1.7, 2.1, -0.4)
ys <- c(1.05, 0.21, -0.32, 0.86)
# For known variances: if they are learned, a surprise gives weights whose mean
# is too far from normal for the null, with normal noise as well.
surprise <- c(1.05, 0.21, -1.32, 0.86)
at <- as.matrix(c(-1, 0.5))

#' Runs with n rows agree with the exact answers
#' @noRd
expect_student <- function(control, df = 5, x = xs, y = ys, n = length(x),
                           noise = fixed_variance(0.1), coef = 0.6, kmax = 5,
                           intercept = TRUE) {
  x <- x[seq_len(n)]
  y <- y[seq_len(n)]
  value <- mean(y) + c(-0.3, 0.4)
  tau2 <- if (is.numeric(coef)) {
    coef
  } else {
    oracle_nodes(unclass(coef), coef$shape + 0.5, coef$shape - 0.5,
      log(sum(y^2)), 0.75, 14)
  }
  exact <- oracle_student(
    x, y, df, for_oracle(noise), tau2, at, value, kmax = kmax,
    intercept = intercept
  )
  z <- student_scores(
    function(fit) exact, x, y, at, value, control,
    srvm_prior(1.3, kmax,
      noise = noise, coef = if (is.numeric(coef)) fixed_variance(coef) else coef,
      df = df
    ), intercept
  )
  expect_lt(max(abs(z)), limit)
}

test_that("the oracle is right if only the noise remains", {
  none <- oracle_student(
    xs, ys, 5, list(fixed = 0.1), 0.6, at, c(0, 1), kmax = 0,
    intercept = FALSE
  )
  exact <- sum(stats::dt(ys / sqrt(0.1), 5, log = TRUE) - log(0.1) / 2)
  expect_lt(abs(none$log_evidence - exact), 1e-4)
  density <- stats::dt(c(0, 1) / sqrt(0.1), 5) / sqrt(0.1)
  expect_equal(none$answers[14:15], density, tolerance = 1e-4)
})

test_that("runs agree with known variances, without moves", {
  expect_student(smc_control(400, n_moves = 0), y = surprise)
})

test_that("runs agree with moves, every step resampled, far from zero", {
  control <- smc_control(400,
    n_moves = 4, resample_every_step = TRUE, resampling = "multinomial"
  )
  expect_student(control, y = surprise + 2)
})

test_that("runs agree with heavy tails", {
  expect_student(
    smc_control(400, n_moves = 4), df = 1.5, y = surprise, n = 3,
    intercept = FALSE
  )
  expect_student(
    smc_control(400, n_moves = 0), df = 1.5, y = surprise, n = 3
  )
})

test_that("runs agree with unknown noise", {
  expect_student(
    smc_control(400, n_moves = 4), noise = ig(3, 0.3), n = 3,
    intercept = FALSE
  )
  expect_student(
    smc_control(400, n_moves = 0), noise = ig(3, 0.3), n = 3, y = ys + 2
  )
})

test_that("runs agree with both variances unknown", {
  expect_student(
    smc_control(400, n_moves = 4), df = 8, noise = ig(3, 0.3),
    coef = ig(3, 2), n = 3, kmax = 1
  )
})

test_that("runs agree with repeated points", {
  expect_student(
    smc_control(400, n_moves = 4), x = c(0.3, 0.3, -1.7), y = ys[1:3],
    noise = ig(3, 0.3)
  )
})

test_that("runs agree with a bounded number of candidates", {
  value <- mean(ys) + c(-0.3, 0.4)
  known <- new.env()
  # The candidate rows depend on the seed.
  exact <- function(fit) {
    rows <- if (is.null(fit)) 1:2 else srvm_pool(fit)$rows
    key <- set_key(rows)
    if (is.null(known[[key]])) {
      known[[key]] <- oracle_student(
        xs, ys, 5, list(fixed = 0.1), 0.6, at, value,
        candidates = sort(rows)
      )
    }
    known[[key]]
  }
  for (n_moves in c(0, 4)) {
    z <- student_scores(
      exact, xs, ys, at, value, smc_control(400, n_moves = n_moves),
      srvm_prior(1.3, 5, noise = fixed_variance(0.1), coef = fixed_variance(0.6), df = 5),
      memory = srvm_memory(candidates = 2)
    )
    expect_lt(max(abs(z)), limit)
  }
})

test_that("many degrees of freedom give the normal model", {
  y <- c(ys, 0.55, 0.71)
  x <- c(xs, 1.2, 0.8)
  value <- mean(y) + c(-0.3, 0.4)
  normal <- oracle_posterior(
    x, y, kern, 1.3, 5, "subset", list(shape = 3, scale = 0.3),
    list(shape = 3, scale = 2)
  )
  there <- oracle_predict(normal, at, value)
  k <- as.numeric(names(normal$p_k))
  exact <- list(
    log_evidence = normal$log_evidence, rows = normal$rows,
    answers = student_answers(
      sum(k * normal$p_k), normal$p_k[["0"]], normal$inclusion,
      c(normal$sigma, normal$sigma2, normal$tau2),
      cbind(there$mean, there$var_f + there$mean^2, there$density)
    )
  )
  z <- student_scores(
    function(fit) exact, x, y, at, value, smc_control(400, n_moves = 4),
    srvm_prior(1.3, 5, noise = ig(3, 0.3), coef = ig(3, 2), df = 1e8)
  )
  expect_lt(max(abs(z)), limit)
})

# A fit -------------------------------------------------------------------

data <- sim_sinc(40, seed = 5)
data$y[c(4, 21)] <- c(5, -4)
robust <- function(data, ..., df = 4, seed = 2) {
  srvm(y ~ x, data,
    kernel = kernel_gaussian(0.2), prior = srvm_prior(df = df),
    control = smc_control(60, n_moves = 3, ...), seed = seed
  )
}
fit <- robust(data)
new <- data.frame(x = c(-3.3, 0, 8), y = c(0, 1, 4))

test_that("the result depends on neither threads nor the split", {
  same <- function(a, b) {
    expect_identical(evidence(a), evidence(b))
    expect_identical(predict(a, new), predict(b, new))
    expect_identical(
      predict(a, new, type = "log_score"), predict(b, new, type = "log_score")
    )
  }
  same(fit, robust(data, threads = 2))
  for (cut in c(1, 17, 39)) {
    part <- srvm(y ~ x, data[seq_len(cut), ],
      control = fit$control, seed = 2, reference = fit
    )
    same(fit, update(part, newdata = data[-seq_len(cut), ]))
  }
  steps <- srvm(y ~ x, data[1:20, ],
    control = fit$control, seed = 2, reference = fit
  )
  for (i in 21:40) steps <- suppressWarnings(update(steps, newdata = data[i, ]))
  same(fit, steps)
  file <- withr::local_tempfile()
  saveRDS(fit, file)
  expect_identical(predict(readRDS(file), new), predict(fit, new))
  more <- update(fit, n_moves = 5)
  again <- update(readRDS(file), n_moves = 5)
  expect_identical(more$runs[[1]]$sums, again$runs[[1]]$sums)
  expect_identical(predict(more, new), predict(again, new))
})

test_that("the response's unit does not matter", {
  other <- data
  other$y <- 1024 * other$y - 512
  same <- robust(other)
  expect_equal(
    evidence(same)$log_evidence, evidence(fit)$log_evidence - 40 * log(1024)
  )
  expect_equal(sigma(same), 1024 * sigma(fit))
  expect_equal(
    predict(same, new, interval = "prediction"),
    1024 * predict(fit, new, interval = "prediction") - 512
  )
})

test_that("densities, quantiles and draws of responses have the same law", {
  # An exact average over f: the particles' draws of f are one sample of it.
  draws <- predict(fit, new, type = "draws")[, 3]
  scale <- srvm_sigma_draws(fit, srvm_pool(fit))
  expect_equal(
    predict(fit, new, type = "log_score")[[3]],
    log(mean(stats::dt((new$y[[3]] - draws) / scale, 4) / scale)),
    tolerance = 0.1
  )
  total <- stats::integrate(Vectorize(function(y) {
    exp(predict(fit, data.frame(x = 0, y = y), type = "log_score"))
  }), -Inf, Inf)$value
  expect_lt(abs(total - 1), 1e-3)
  limits <- predict(fit, new[2, ], type = "quantile", probs = c(0.05, 0.7))
  mass <- stats::integrate(Vectorize(function(y) {
    exp(predict(fit, data.frame(x = 0, y = y), type = "log_score"))
  }), limits[[1]], limits[[2]], rel.tol = 1e-6)$value
  expect_lt(abs(mass - 0.65), 1e-4)
})

test_that("log_lik() and draws of responses follow Student's t", {
  skip_if_not_installed("rstantools")
  pool <- srvm_pool(fit)
  f <- predict(fit, new, type = "draws")
  scale <- srvm_sigma_draws(fit, pool)
  expect_equal(
    rstantools::log_lik(fit, new),
    matrix(
      stats::dt((rep(new$y, each = 60) - f) / scale, 4, log = TRUE) -
        log(scale), 60
    )
  )
  y <- rstantools::posterior_predict(fit, new, ndraws = 2000, seed = 1)
  f <- predict(fit, new, type = "draws", ndraws = 2000)
  scale <- srvm_sigma_draws(fit, pool, equal_weight_draws(fit, pool, 2000))
  # Under the null p is uniform: a false alarm has probability 1e-5.
  p <- stats::ks.test((y - f) / scale, "pt", df = 4)$p.value
  expect_gt(p, 1e-5)
  expect_lt(stats::ks.test((y - f) / scale, "pnorm")$p.value, 1e-8)
  wide <- as.matrix(simulate(fit, 400, seed = 1)) - fitted(fit)
  expect_gt(stats::quantile(abs(wide), 0.995) / stats::quantile(abs(wide), 0.5),
    stats::qnorm(0.9975) / stats::qnorm(0.75) * 1.4
  )
  expect_equal(
    as.numeric(logLik(fit)),
    sum(stats::dt(residuals(fit) / sigma(fit), 4, log = TRUE)) -
      40 * log(sigma(fit))
  )
})

test_that("credible intervals are those of f", {
  credible <- predict(fit, new, interval = "credible")
  draws <- predict(fit, new, type = "draws")
  prediction <- predict(fit, new, interval = "prediction")
  expect_true(all(credible[, "lwr"] > prediction[, "lwr"]))
  moments <- srvm_moments(fit, fit$data$x[1:2, , drop = FALSE], srvm_pool(fit))
  limits <- mixture_quantiles_cpp(
    moments$mean, moments$variance, NULL, srvm_pool(fit)$weights, Inf,
    c(0.05, 0.95)
  )
  expect_equal(
    predict(fit, interval = "credible")[1:2, 2:3],
    unscale_mean(fit$settings$scaling, limits),
    ignore_attr = TRUE
  )
  expect_equal(augment(fit)$.lower, predict(fit, interval = "prediction")[, 2])
})

test_that("a row may enter at a power so low that its weight underflows", {
  # Seen to fail: without the least weight, some of these runs stopped.
  rough <- withr::with_seed(2, {
    x <- round(stats::runif(40, -3, 3), 2)
    data.frame(x = x, y = sin(2 * x) + stats::rt(40, 2) / 8)
  })
  for (seed in 1:15) {
    fit <- suppressMessages(suppressWarnings(srvm(y ~ x, rough,
      kernel = kernel_gaussian(0.5), prior = srvm_prior(df = 4), seed = seed,
      control = smc_control(50, n_moves = 3),
      memory = srvm_memory(candidates = 10)
    )))
    expect_true(is.finite(evidence(fit)$log_evidence), label = seed)
  }
})

test_that("outliers do little harm", {
  outliers <- sim_sinc(50, seed = 3)
  outliers$y[1:5] <- outliers$y[1:5] + c(3, -2, 2.5, -3, 2)
  grid <- sim_sinc(100, sd = 0, order = "given", seed = 1)
  error <- vapply(c(4, Inf), function(df) {
    fit <- suppressWarnings(robust(outliers, df = df))
    sqrt(mean((predict(fit, grid) - grid$y)^2))
  }, 0)
  expect_lt(error[[1]], 0.1)
  expect_gt(error[[2]], 0.2)
})

# Input -------------------------------------------------------------------

refuse <- function(expr, argument, class = "kb_error_argument") {
  cnd <- rlang::catch_cnd(expr, "error")
  expect_s3_class(cnd, class)
  expect_match(conditionMessage(cnd), argument, fixed = TRUE)
}

test_that("settings incompatible with Student's noise are refused", {
  for (bad in list(0, -1, NA, "4", c(3, 4), -Inf, NULL)) {
    refuse(srvm_prior(df = bad), "`df`")
  }
  refuse(srvm_prior(df = 4, scaled = TRUE), "`df`")
  prior <- srvm_prior(df = 4)
  for (control in list(
    smc_control(proposal = "birth_death"), smc_control(proposal = "paper")
  )) {
    expect_error(
      srvm(y ~ x, data,
        prior = srvm_prior(1, df = 4), kernel = kernel_gaussian(1),
        control = control
      ),
      class = "kb_error_not_defined"
    )
  }
  refuse(
    srvm(y ~ x, data, prior = prior, memory = srvm_memory(window = 20)),
    "window", "kb_error_not_defined"
  )
  refuse(
    srvm(y ~ x, data, prior = prior, memory = srvm_memory(forgetting = 0.9)),
    "memory"
  )
  refuse(srvm(factor(y > 0) ~ x, data, prior = prior), "`df`")
})

test_that("prior and fit report the noise", {
  expect_output(print(srvm_prior(df = 4)), "Student's t, df 4")
  expect_output(print(fit), "noise scale: .*Student's t, df 4")
  expect_identical(srvm_prior(df = Inf), srvm_prior())
  expect_no_match(capture.output(print(srvm_prior())), "Student")
})

test_that("unusual data have an answer", {
  quick <- function(x, y, ...) {
    suppressWarnings(srvm(x, y,
      kernel = kernel_gaussian(1), control = smc_control(30, n_moves = 2),
      prior = srvm_prior(df = 3, ...), seed = 1
    ))
  }
  fits <- list(
    quick(1, 2), quick(1:5, rep(3, 5)), quick(rep(1, 4), c(1, 2, 1, 9)),
    quick(1:6, c(0, 0, 1e8, 0, 1, 1)), quick(1:6, 1:6, kmax = 0)
  )
  for (one in fits) {
    answers <- c(
      predict(one, interval = "prediction"), predict(one, type = "log_score"),
      evidence(one)$log_evidence, sigma(one), predict(one, type = "draws")
    )
    expect_true(all(is.finite(answers)))
  }
  several <- suppressWarnings(srvm(data$x, data$y,
    prior = srvm_prior(df = 4), control = smc_control(30, replicates = 2),
    kernel = list(kernel_gaussian(0.2), kernel_gaussian(1)), seed = 1
  ))
  expect_true(all(is.finite(predict(several, interval = "prediction"))))
})
