# predict(): against closed forms if everything is deterministic, and against
# dense formulas in plain R given a fit's own particles.

data <- sim_sinc(30, seed = 11)
new <- data.frame(x = c(-7.5, -0.3, 0, 4.1, 25), y = c(0, 1, 0.9, -0.2, 2))
quick <- smc_control(particles = 40, n_moves = 2)

#' Posterior of the coefficients given one particle, by dense algebra
#' @param K Kernel between the training rows and themselves (any units).
dense_particle <- function(K, y, set, noise, coef, intercept) {
  phi <- oracle_design(K, set, intercept)
  if (ncol(phi) == 0) {
    return(list(mean = numeric(), covariance = matrix(0, 0, 0)))
  }
  covariance <- solve(crossprod(phi) / noise + diag(1 / coef, ncol(phi)))
  list(
    mean = drop(covariance %*% crossprod(phi, y)) / noise,
    covariance = covariance
  )
}

#' Mean and variance of f given each particle, points x particles, in the
#' model's units; only from the fit's stored sets and variances
dense_moments <- function(fit, x, kernel_fun) {
  settings <- fit$settings
  pool <- srvm_pool(fit)
  rows <- training_rows(fit)
  xs <- scaling_x(settings$scaling, fit$data$x)
  ys <- scaling_y(settings$scaling, fit$data$y)[rows]
  at <- scaling_x(settings$scaling, x)
  K <- kernel_fun(xs[rows, , drop = FALSE], xs)
  K_new <- kernel_fun(at, xs)
  owner <- rep(seq_along(pool$k), pool$k)
  sets <- split(pool$rows[pool$sets], factor(owner, seq_along(pool$k)))
  out <- lapply(seq_along(sets), function(i) {
    beta <- dense_particle(
      K, ys, sets[[i]], pool$noise[[i]], pool$coef[[i]], settings$intercept
    )
    phi <- oracle_design(K_new, sets[[i]], settings$intercept)
    list(
      mean = drop(phi %*% beta$mean),
      variance = rowSums((phi %*% beta$covariance) * phi)
    )
  })
  list(
    mean = do.call(cbind, lapply(out, `[[`, "mean")),
    variance = do.call(cbind, lapply(out, `[[`, "variance")),
    weights = pool$weights, noise = pool$noise
  )
}

#' The quantile of a normal mixture by root finding
mixture_quantile <- function(p, mean, sd, weights) {
  cdf <- function(v) sum(weights * stats::pnorm(v, mean, sd)) - p
  range <- range(mean + 12 * sd, mean - 12 * sd)
  stats::uniroot(cdf, range, tol = 1e-13)$root
}

expect_close <- function(object, expected, tolerance) {
  testthat::expect_identical(dim(object), dim(expected))
  testthat::expect_lt(max(abs(object - expected)), tolerance)
}

# Only the intercept, in closed form -------------------------------------------

#' A fit in which nothing is random: no centres, both variances known
intercept_only <- function(y, noise, coef, ...) {
  srvm(seq_along(y), y,
    kernel = kernel_gaussian(),
    prior = srvm_prior(kmax = 0, noise = fixed_variance(noise), coef = fixed_variance(coef)),
    control = smc_control(particles = 5, n_moves = 0), seed = 1, ...
  )
}

#' Its posterior mean and variance of f, and the log evidence
intercept_exact <- function(y, noise, coef) {
  n <- length(y)
  V <- diag(noise, n) + coef
  variance <- 1 / (n / noise + 1 / coef)
  R <- chol(V)
  list(
    mean = variance * sum(y) / noise, variance = variance,
    log_evidence = -n / 2 * log(2 * pi) - sum(log(diag(R))) -
      sum(backsolve(R, y, transpose = TRUE)^2) / 2
  )
}

test_that("the intercept-only model has its closed form", {
  y <- c(3.1, 2.2, 4.7, 3.9, 2.4, 3.3)
  noise <- 0.7
  for (scale in c(FALSE, TRUE)) {
    unit <- if (scale) stats::sd(y) else 1
    centre <- if (scale) mean(y) else 0
    fit <- intercept_only(y, noise, 2, scale = scale)
    exact <- intercept_exact((y - centre) / unit, noise, 2)
    mean <- centre + unit * exact$mean
    sd <- unit * sqrt(exact$variance + c(0, noise))
    expect_close(predict(fit), rep(mean, 6), 1e-10)
    expect_close(predict(fit, c(-3, 99)), rep(mean, 2), 1e-10)
    for (i in 1:2) {
      interval <- c("credible", "prediction")[[i]]
      bands <- predict(fit, 4, interval = interval, level = 0.8)
      expect_identical(colnames(bands), c("fit", "lwr", "upr"))
      expect_close(
        unname(bands), cbind(mean, mean - sd[[i]] * qnorm(0.9),
          mean + sd[[i]] * qnorm(0.9), deparse.level = 0
        ), 1e-10
      )
      quantiles <- predict(fit, 4, "quantile", interval, probs = c(0.3, 0.975))
      expect_identical(colnames(quantiles), c("30%", "97.5%"))
      expect_close(
        unname(quantiles), t(mean + sd[[i]] * qnorm(c(0.3, 0.975))), 1e-10
      )
    }
    expect_close(
      predict(fit, 1:3, "log_score", newy = c(1, 3, 9)),
      dnorm(c(1, 3, 9), mean, sd[[2]], log = TRUE), 1e-10
    )
    expect_close(
      evidence(fit)$log_evidence, exact$log_evidence - 6 * log(unit), 1e-10
    )
    expect_close(sigma(fit), unit * sqrt(noise), 1e-12)
    expect_close(coef(fit), c("(Intercept)" = mean), 1e-10)
  }
})

test_that("its evidence path is that of every beginning of the data", {
  y <- c(3.1, 2.2, 4.7, 3.9)
  fit <- intercept_only(y, 0.7, 2, scale = FALSE)
  path <- evidence(fit)$path
  exact <- vapply(1:4, function(t) {
    intercept_exact(y[seq_len(t)], 0.7, 2)$log_evidence
  }, 0)
  expect_close(path$log_evidence, exact, 1e-10)
  expect_close(path$log_predictive, diff(c(0, exact)), 1e-10)
  expect_lt(evidence(fit)$mc_se, 1e-7)
})

test_that("without centres and intercept f is 0", {
  y <- c(3.1, 2.2, 4.7, 3.9)
  fit <- intercept_only(y, 0.7, 2, scale = FALSE, intercept = FALSE)
  expect_identical(predict(fit), rep(0, 4))
  expect_close(
    unname(predict(fit, 1, interval = "credible")), t(rep(0, 3)), 1e-100
  )
  expect_close(
    predict(fit, 1, "log_score", newy = 2),
    dnorm(2, 0, sqrt(0.7), log = TRUE), 1e-12
  )
  expect_close(
    evidence(fit)$log_evidence, sum(dnorm(y, 0, sqrt(0.7), log = TRUE)), 1e-12
  )
  expect_identical(unique(as.vector(predict(fit, 1, "draws"))), 0)
})

# A fit's own particles, by dense formulas -------------------------------------

oracle_sum <- function(a, b) 0.5 + oracle_kernel_gaussian(0.8)(a, b)
plane <- sim_friedman(25, p = 5, seed = 3)[c("x1", "x4", "y")]

#' Fits of every kind; each with the kernel in plain R and new rows
cases <- function() {
  fit <- function(..., kernel = kernel_gaussian(0.8)) {
    srvm(..., kernel = kernel, control = quick, seed = 2)
  }
  repeated <- data[c(1:20, 3, 3, 8), ]
  at <- as.matrix(new["x"])
  gaussian <- oracle_kernel_gaussian(0.8)
  list(
    scaled = list(fit(y ~ x, data), at, gaussian),
    plain = list(fit(y ~ x, data, scale = FALSE), at, gaussian),
    shifted = list(
      fit(y ~ x, transform(data, y = y + 2), scale = FALSE), at, gaussian
    ),
    no_intercept = list(fit(y ~ x, data, intercept = FALSE), at, gaussian),
    random_order = list(fit(y ~ x, data, order = "random"), at, gaussian),
    repeated = list(fit(y ~ x, repeated), at, gaussian),
    iid = list(
      fit(y ~ x, data, prior = srvm_prior(5, centres = "iid")), at, gaussian
    ),
    sum = list(
      fit(y ~ x, data, kernel = 0.5 + kernel_gaussian(0.8)), at, oracle_sum
    ),
    plane = list(
      fit(y ~ x1 + x4, plane), as.matrix(plane[1:4, 1:2] + 0.1), gaussian
    ),
    replicates = list(
      srvm(y ~ x, data,
        kernel = kernel_gaussian(0.8), seed = 4,
        control = smc_control(particles = 15, n_moves = 2, replicates = 3)
      ), at, gaussian
    )
  )
}

test_that("moments, means, quantiles and scores agree with the particles", {
  of_sets(for (case in cases()) {
    fit <- case[[1]]
    x <- case[[2]]
    pool <- srvm_pool(fit)
    dense <- dense_moments(fit, x, case[[3]])
    moments <- srvm_moments(fit, x, pool)
    unit <- fit$settings$scaling$y_scale
    centre <- fit$settings$scaling$y_center
    expect_close(moments$mean, unname(dense$mean), 1e-8)
    expect_close(moments$variance, unname(dense$variance), 1e-8)
    f <- centre + unit * unname(drop(dense$mean %*% dense$weights))
    expect_close(srvm_mean(fit, x, pool), f, 1e-8)
    expect_close(unname(predict(fit, x)), f, 1e-8)
    y <- f + 0.3
    for (interval in c("credible", "prediction")) {
      extra <- if (interval == "prediction") dense$noise else 0 * dense$noise
      sd <- sqrt(sweep(dense$variance, 2, extra, "+"))
      exact <- t(vapply(seq_along(f), function(i) {
        vapply(c(0.05, 0.5, 0.9), mixture_quantile, 0, dense$mean[i, ],
          sd[i, ], dense$weights
        )
      }, numeric(3)))
      quantiles <- predict(fit, x, "quantile", interval,
        probs = c(0.05, 0.5, 0.9)
      )
      expect_close(unname(quantiles), centre + unit * exact, 1e-8)
    }
    density <- vapply(seq_along(f), function(i) {
      sum(dense$weights * dnorm((y[i] - centre) / unit, dense$mean[i, ],
        sd[i, ]
      )) / unit
    }, 0)
    expect_close(regression_log_score(fit, x, y, pool), log(density), 1e-8)
  })
})

test_that("intervals are quantiles and contain their level", {
  fit <- srvm(y ~ x, data, control = quick, seed = 1)
  for (interval in c("credible", "prediction")) {
    narrow <- predict(fit, new, interval = interval, level = 0.5)
    wide <- predict(fit, new, interval = interval, level = 0.99)
    quantiles <- predict(fit, new, "quantile", interval, probs = c(0.25, 0.75))
    expect_equal(narrow[, 2:3], quantiles, ignore_attr = TRUE)
    expect_true(all(wide[, "lwr"] < narrow[, "lwr"]))
    expect_true(all(wide[, "upr"] > narrow[, "upr"]))
    expect_identical(narrow[, "fit"], predict(fit, new))
  }
  credible <- predict(fit, new, interval = "credible")
  prediction <- predict(fit, new, interval = "prediction")
  expect_true(all(prediction[, "upr"] > credible[, "upr"]))
  # The default level is .9, the default quantiles are for new responses.
  expect_identical(
    predict(fit, new, interval = "credible", level = 0.9), credible
  )
  expect_equal(
    predict(fit, new, "quantile")[, c(1, 3)], prediction[, 2:3],
    ignore_attr = TRUE
  )
})

test_that("extreme probabilities stay finite and in order", {
  fit <- srvm(y ~ x, data, control = quick, seed = 1)
  probs <- c(1e-300, 1e-12, 0.5, 1 - 1e-12)
  quantiles <- predict(fit, new, "quantile", probs = probs)
  expect_true(all(is.finite(quantiles)))
  expect_true(all(apply(quantiles, 1, diff) > 0))
  expect_true(is.finite(predict(fit, data.frame(x = 0, y = 1e6), "log_score")))
})

# Draws ------------------------------------------------------------------------

test_that("draws are S x n, of the particles' posteriors", {
  fit <- srvm(y ~ x, data,
    kernel = kernel_gaussian(),
    control = smc_control(particles = 2000, n_moves = 2), seed = 5
  )
  pool <- srvm_pool(fit)
  x <- as.matrix(new["x"])
  scaling <- fit$settings$scaling
  moments <- set_moments(fit, x, pool)
  draws <- srvm_draws(fit, x, pool, seq_along(pool$weights))
  expect_identical(dim(draws), c(2000L, 5L))
  # Given the particles each draw is normal: standardised ones are N(0, 1).
  z <- (t((draws - scaling$y_center) / scaling$y_scale) - moments$mean) /
    sqrt(moments$variance)
  for (i in seq_len(nrow(x))) {
    expect_gt(stats::ks.test(z[i, ], "pnorm")$p.value, 1e-5)
  }
  # So is their weighted mean around the posterior mean.
  sd <- scaling$y_scale * sqrt(drop(moments$variance %*% pool$weights^2))
  z <- (drop(pool$weights %*% draws) - of_sets(predict(fit, new))) / sd
  expect_lt(max(abs(z)), stats::qnorm(1 - 1e-6))
  # Equal-weight draws are these draws, resampled.
  chosen <- equal_weight_draws(fit, pool)
  expect_identical(predict(fit, new, "draws"), draws[chosen, ])
})

test_that("draws are reproducible by the seed, in any number", {
  fit <- srvm(y ~ x, data,
    kernel = kernel_gaussian(), control = quick, seed = 5
  )
  all <- predict(fit, new, "draws")
  expect_identical(predict(fit, new, type = "draws"), all)
  expect_identical(predict(fit, new[3:4, ], "draws"), all[, 3:4])
  expect_identical(dim(predict(fit, new[2, ], "draws")), c(40L, 1L))
  expect_identical(dim(predict(fit, new, "draws", ndraws = 1)), c(1L, 5L))
  many <- predict(fit, new, "draws", ndraws = 400)
  expect_identical(dim(many), c(400L, 5L))
  pool <- srvm_pool(fit)
  distinct <- srvm_draws(fit, as.matrix(new["x"]), pool, 1:40)
  expect_true(all(many[, 1] %in% distinct[, 1]))
  # Systematic resampling: each particle's count is within one of its share.
  chosen <- tabulate(equal_weight_draws(fit, pool, 400), 40)
  expect_lt(max(abs(chosen - 400 * pool$weights)), 1 + 1e-9)
  set.seed(1)
  before <- .Random.seed
  predict(fit, new, "draws")
  expect_identical(.Random.seed, before)
})

# Rows -------------------------------------------------------------------------

test_that("rows with missing values are kept as NA, for every type", {
  fit <- srvm(y ~ x, data,
    kernel = kernel_gaussian(), control = quick, seed = 1
  )
  holes <- new
  holes$x[c(2, 5)] <- NA
  holes$y[4] <- NA
  full <- c(1, 3, 4)
  expect_identical(predict(fit, holes)[full], predict(fit, new)[full])
  expect_identical(which(is.na(predict(fit, holes))), c(2L, 5L))
  bands <- predict(fit, holes, interval = "prediction")
  expect_identical(bands[full, ],
    predict(fit, new[full, ], interval = "prediction"))
  expect_true(all(is.na(bands[c(2, 5), ])))
  quantiles <- predict(fit, holes, "quantile")
  expect_identical(which(is.na(quantiles[, 2])), c(2L, 5L))
  draws <- predict(fit, holes, "draws")
  expect_identical(draws[, full], predict(fit, new[full, ], "draws"))
  expect_true(all(is.na(draws[, c(2, 5)])))
  score <- predict(fit, holes, "log_score")
  expect_identical(which(is.na(score)), c(2L, 4L, 5L))
  expect_identical(score[c(1, 3)], predict(fit, new[c(1, 3), ], "log_score"))
})

test_that("new rows may all be missing", {
  fit <- srvm(y ~ x, data,
    kernel = kernel_gaussian(), control = quick, seed = 1
  )
  none <- data.frame(x = c(NA, NA), y = 1)
  expect_silent({
    expect_identical(predict(fit, none), c(NA_real_, NA_real_))
    expect_identical(
      dim(predict(fit, none, interval = "credible")), c(2L, 3L)
    )
    expect_identical(dim(predict(fit, none, "quantile")), c(2L, 3L))
    expect_identical(
      predict(fit, none, "draws"), matrix(NA_real_, 40, 2)
    )
    expect_identical(predict(fit, none, "log_score"), c(NA_real_, NA_real_))
  })
})

test_that("without newdata the training rows are in the order given", {
  given <- srvm(y ~ x, data, control = quick, seed = 1)
  random <- srvm(y ~ x, data, control = quick, seed = 1, order = "random")
  expect_false(identical(random$sequence, seq_len(30)))
  for (fit in list(given, random)) {
    expect_identical(predict(fit), predict(fit, data))
    expect_identical(
      predict(fit, interval = "prediction"),
      predict(fit, data, interval = "prediction")
    )
    expect_identical(predict(fit, type = "draws"), predict(fit, data, "draws"))
    expect_identical(
      predict(fit, type = "log_score"), predict(fit, data, "log_score")
    )
  }
})

test_that("a stopped fit predicts the rows that it processed", {
  expect_warning(
    fit <- srvm(y ~ x, data, seed = 1, order = "random",
      control = smc_control(particles = 40, n_moves = 2, time_limit = 1e-9)
    ),
    class = "kb_warning_time_limit"
  )
  rows <- sort(utils::head(fit$sequence, fit$time))
  expect_lt(fit$time, 30)
  expect_identical(predict(fit), predict(fit, data[rows, ]))
  expect_identical(
    predict(fit, type = "log_score"), predict(fit, data[rows, ], "log_score")
  )
})

test_that("columns match by name, or by position if x had no names", {
  x <- as.matrix(plane[c("x1", "x4")])
  named <- srvm(x, plane$y, control = quick, seed = 1)
  bare <- srvm(unname(x), plane$y, control = quick, seed = 1)
  formula <- srvm(y ~ ., plane, control = quick, seed = 1)
  f <- predict(named)
  expect_identical(predict(bare), f)
  expect_identical(predict(formula), f)
  expect_identical(predict(named, cbind(x[, 2:1], z = 1)), f)
  expect_identical(predict(formula, plane[3:1]), f)
  expect_identical(predict(bare, unname(x)), f)
  expect_identical(predict(bare, as.data.frame(x)), f)
  vector <- srvm(data$x, data$y, control = quick, seed = 1)
  expect_identical(predict(vector, data$x), predict(vector))
  expect_identical(predict(vector, cbind(anything = data$x)), predict(vector))
  expect_identical(
    predict(srvm(y ~ x, data, control = quick, seed = 1)), predict(vector)
  )
})

test_that("responses of log_score come from newdata or newy", {
  formula <- srvm(y ~ x, data, control = quick, seed = 1)
  xy <- srvm(data$x, data$y, control = quick, seed = 1)
  score <- predict(formula, new, "log_score")
  expect_identical(predict(formula, new["x"], "log_score", newy = new$y), score)
  expect_identical(predict(xy, new$x, "log_score", newy = new$y), score)
  expect_identical(
    which(is.na(predict(xy, new$x, "log_score", newy = c(1, NA, 3, 4, 5)))), 2L
  )
  logged <- srvm(log(y + 2) ~ x, data, control = quick, seed = 1)
  expect_identical(
    predict(logged, new, "log_score"),
    regression_log_score(
      logged, as.matrix(new["x"]), log(new$y + 2), srvm_pool(logged)
    )
  )
})

test_that("blocks of rows cover each row once", {
  for (n in c(0, 1, 7, 20)) {
    for (columns in c(0, 3, 1000)) {
      blocks <- row_blocks(matrix(0, n, 2), columns, cells = 12)
      expect_identical(unlist(blocks), if (n > 0) seq_len(n))
      expect_lte(max(lengths(blocks), 0), max(1, 12 / max(columns, 1)))
    }
  }
})

test_that("many rows give the same as each on its own", {
  fit <- srvm(y ~ x, data,
    kernel = kernel_gaussian(0.3), seed = 1,
    control = smc_control(particles = 1000, n_moves = 1)
  )
  # 5e6 / 1000 rows per block: these are two blocks.
  many <- data.frame(x = seq(-9, 9, length.out = 5100), y = 0)
  some <- c(1, 2500, 5000, 5001, 5100)
  expect_equal(
    predict(fit, many)[some], predict(fit, many[some, ]),
    tolerance = 1e-12
  )
  expect_equal(
    predict(fit, many, "log_score")[some],
    predict(fit, many[some, ], "log_score"),
    tolerance = 1e-12
  )
})

# Arguments --------------------------------------------------------------------

test_that("a wrong argument is named, and none is ignored silently", {
  fit <- srvm(y ~ x, data, control = quick, seed = 1)
  refused <- function(expr, argument, class = "kb_error_argument") {
    cnd <- rlang::catch_cnd(expr, "error")
    expect_s3_class(cnd, class)
    expect_match(conditionMessage(cnd), argument, fixed = TRUE)
    expect_identical(as.character(cnd$call)[[1]], "predict")
  }
  refused(predict(fit, new, "prob"), "`type`")
  refused(predict(fit, new, interval = "cred"), "`interval`")
  for (level in list(0, 1, 95, NA, "a", c(0.5, 0.9), NULL)) {
    refused(predict(fit, new, interval = "credible", level = level), "`level`")
  }
  for (probs in list(0, 1, NA_real_, "a", numeric(), NULL)) {
    refused(predict(fit, new, "quantile", probs = probs), "`probs`")
  }
  for (ndraws in list(0, 1.5, -1, NA, "a")) {
    refused(predict(fit, new, "draws", ndraws = ndraws), "`ndraws`")
  }
  refused(predict(fit, new, level = 0.5), "`level`")
  refused(predict(fit, new, "quantile", level = 0.5), "`level`")
  refused(predict(fit, new, probs = 0.5), "`probs`")
  refused(predict(fit, new, ndraws = 5), "`ndraws`")
  refused(predict(fit, new, newy = new$y), "`newy`")
  refused(predict(fit, new, "draws", "credible"), "`interval`")
  refused(predict(fit, new, "log_score", "credible"), "`interval`")
  refused(predict(fit, newy = data$y, type = "log_score"), "`newy`")
  refused(predict(fit, new, se.fit = TRUE), "`se.fit`",
    "kb_error_unknown_argument")
  xy <- srvm(data$x, data$y, control = quick, seed = 1)
  refused(predict(xy, new$x, "log_score"), "`newy`")
  refused(predict(xy, new$x, "log_score", newy = 1:2), "`newy`",
    "kb_error_outcome")
})

test_that("new data of the wrong kind are refused", {
  fit <- srvm(y ~ x, data, control = quick, seed = 1)
  refused <- function(newdata, class, ...) {
    cnd <- rlang::catch_cnd(predict(fit, newdata, ...), "error")
    expect_s3_class(cnd, class)
    expect_match(conditionMessage(cnd), "newdata", fixed = TRUE)
  }
  for (bad in list(NULL, 1:3, list(x = 1), "a", matrix(1:3))) {
    refused(bad, "kb_error_data")
  }
  refused(new[0, ], "kb_error_rows", type = "log_score")
  expect_identical(predict(fit, new[0, ]), numeric())
  expect_identical(
    dim(predict(fit, new[0, ], interval = "prediction")), c(0L, 3L)
  )
  refused(new["y"], "kb_error_columns")
  refused(new["x"], "kb_error_columns", type = "log_score")
  refused(data.frame(x = "1"), "kb_error_columns")
  refused(data.frame(x = factor(1)), "kb_error_columns")
  for (bad in c(Inf, -Inf, NaN)) {
    refused(data.frame(x = c(1, bad)), "kb_error_infinite")
  }
  fit <- srvm(cbind(data$x, data$y), data$y, control = quick, seed = 1)
  refused(1:3, "kb_error_columns")
  refused(cbind(1, 2, 3), "kb_error_columns")
})
