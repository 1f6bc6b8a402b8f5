# Predictions at new points, which may be centres as every row may:
# R/srvm-engine.R, new_point.cpp.

kern <- oracle_kernel_gaussian(0.9)
x <- c(-1.6, -0.5, 0.2, 1.1, 1.9)
y <- c(0.4, -0.3, 0.5, 1.2, 0.1)
at <- -1
value <- 0.3

#' The posterior given the rows where the new point is a candidate, by enumeration
#' and quadrature: a row without weight
exact_at_new <- function(..., precision = rep(1, 5)) {
  post <- oracle_posterior(c(x, at), c(y, 0), kern, 1.3, ...,
    row_weights = c(1, 1, 1, 1, 1, 0), precision = c(precision, 1)
  )
  there <- oracle_predict(post, at, value)
  c(
    log_z = post$log_evidence, mean = there$mean,
    square = there$var_f + there$mean^2, density = there$density, cdf = there$cdf
  )
}

#' Log of the sum of unnormalised weights, and expectations, of a fit
answers_at_new <- function(fit) {
  pool <- srvm_pool(fit)
  joined <- moments_at_new(
    fit, wide_matrix(fit, at), pool, seq_along(pool$weights)
  )
  w <- joined$weights[, 1]
  sd <- sqrt(joined$variance + joined$noise)
  c(
    joined$log_total, sum(w * joined$mean),
    sum(w * (joined$variance + joined$mean^2)),
    sum(w * stats::dnorm(value, joined$mean, sd)),
    sum(w * stats::pnorm(value, joined$mean, sd))
  )
}

wide_matrix <- function(fit, at) matrix(at, 1, dimnames = list(NULL, "x"))

fit_runs_of <- function(runs, ...) {
  vapply(seq_len(runs), function(seed) {
    fit <- few_particles(srvm(cbind(x = x), y,
      scale = FALSE, kernel = kernel_gaussian(0.9), seed = seed,
      control = smc_control(200, n_moves = 2, cess_threshold = 0), ...
    ))
    c(evidence(fit)$log_evidence, answers_at_new(fit))
  }, numeric(6))
}

test_that("particles agree with enumeration where the new point is a candidate", {
  # Null: Z-hat times the mean of a particle's unnormalised weights is unbiased for
  # the evidence with one candidate more, and so are its products with estimates:
  # scores are nearly t with 39 degrees of freedom; |z| > 6.5 has probability 1e-7,
  # 15 times. Seen to fail: without the prior's factor of a set that stays, with it
  # for one that is joined, a likelihood without its determinant, and columns of the
  # new point without the roots of rows' weights.
  prior <- function(...) {
    srvm_prior(1.3, noise = ig(3, 0.3), coef = ig(3, 2), ...)
  }
  w <- c(1, 0.5, 2, 1, 3)
  psi <- list(
    noise = list(shape = 3, scale = 0.3), coef = list(shape = 3, scale = 2)
  )
  cases <- list(
    list(list(prior = prior(kmax = 5)), list(kmax = 5, centres = "subset")),
    list(
      list(prior = prior(kmax = 2, centres = "iid"), weights = w),
      list(kmax = 2, centres = "iid", precision = w)
    ),
    list(
      list(prior = prior(kmax = 4, scaled = TRUE), intercept = FALSE),
      list(kmax = 4, centres = "subset", scaled = TRUE, intercept = FALSE)
    )
  )
  for (case in cases) {
    runs <- do.call(fit_runs_of, c(list(40), case[[1]]))
    exact <- do.call(exact_at_new, c(case[[2]], psi))
    ratio <- exp(runs[1, ] + runs[2, ] - exact[[1]])
    off <- rbind(ratio - 1, t(t(runs[3:6, ] - exact[-1]) * ratio))
    z <- rowMeans(off) / (apply(off, 1, stats::sd) / sqrt(40))
    expect_lt(max(abs(z)), 6.5)
  }
})

test_that("so do particles with bandwidths of their own", {
  # As above, for one and two predictors. Seen to fail: columns of the new point
  # with the first particle's bandwidths.
  case <- scale_cases()
  for (p in 1:2) {
    exact <- exact_answers(p, joined = TRUE)
    there <- case$at[1, seq_len(p), drop = FALSE]
    runs <- vapply(1:40, function(seed) {
      fit <- quick_scales(case, seq_len(p),
        seed = seed, control = smc_control(particles = 60, cess_threshold = 0)
      )
      pool <- srvm_pool(fit)
      joined <- moments_at_new(fit, there, pool, seq_along(pool$weights))
      c(
        evidence(fit)$log_evidence + joined$log_total,
        sum(joined$weights * t(joined$mean))
      )
    }, numeric(2))
    ratio <- exp(runs[1, ] - exact[[1]])
    off <- rbind(ratio - 1, (runs[2, ] - exact[[3]]) * ratio)
    z <- rowMeans(off) / (apply(off, 1, stats::sd) / sqrt(40))
    expect_lt(max(abs(z)), 6.5, label = p)
  }
})

test_that("predict() mixes these components, and those of kernels", {
  data <- sim_sinc(30, seed = 1)
  fit <- few_particles(srvm(y ~ x, data,
    kernel = list(kernel_gaussian(0.3), kernel_laplace(0.5)), seed = 1,
    control = smc_control(particles = 40, n_moves = 2, pilot = 0)
  ))
  new <- data.frame(x = c(0.123, 4.5), y = c(1, 0))
  pool <- srvm_pool(fit)
  joined <- moments_at_new(fit, as.matrix(new["x"]), pool, seq_along(pool$weights))
  scaling <- fit$settings$scaling
  w <- t(joined$weights)
  expect_equal(predict(fit, new), unscale_mean(scaling, rowSums(w * joined$mean)))
  sd <- sqrt(joined$variance + joined$noise)
  density <- stats::dnorm(scaling_y(scaling, new$y), joined$mean, sd)
  expect_equal(
    predict(fit, new, type = "log_score"),
    log(rowSums(w * density)) - log(scaling$y_scale)
  )
  limits <- predict(fit, new, interval = "prediction", level = 0.8)
  below <- rowSums(w * stats::pnorm(
    scaling_y(scaling, limits[, "lwr"]), joined$mean, sd
  ))
  expect_equal(below, c(0.1, 0.1))
  # Rows of the fit are candidates already, whatever is beside them.
  both <- rbind(data[c(3, 8), c("x", "y")], new)
  expect_equal(predict(fit, both)[1:2], fitted(fit)[c(3, 8)])
  expect_equal(predict(fit, both)[3:4], predict(fit, new))
})

test_that("chains use as many draws as cost little, rows of the fit use all", {
  data <- sim_sinc(30, seed = 1)
  fit <- suppressWarnings(srvm(y ~ x, data,
    kernel = kernel_gaussian(0.3), method = "mcmc", seed = 1,
    control = mcmc_control(chains = 2, warmup = 100, iter = 300)
  ))
  both <- rbind(data[c(3, 8), c("x", "y")], data.frame(x = 0.123, y = 0))
  expect_equal(predict(fit, both)[1:2], fitted(fit)[c(3, 8)])
  expect_equal(predict(fit, both)[[3]], predict(fit, both[3, ])[[1]])
  every <- predict(fit, both, interval = "prediction")
  expect_equal(every[3, ], predict(fit, both[3, ], interval = "prediction")[1, ])
})

test_that("sets alone predict where new rows cannot be counted", {
  data <- sim_sinc(30, seed = 1)
  new <- data.frame(x = 0.123)
  quick <- function(...) {
    few_particles(srvm(y ~ x, data,
      kernel = kernel_gaussian(0.3), seed = 1,
      control = smc_control(particles = 30, n_moves = 2), ...
    ))
  }
  for (fit in list(
    quick(memory = srvm_memory(window = 20)), quick(prior = srvm_prior(df = 4))
  )) {
    expect_identical(predict(fit, new), of_sets(predict(fit, new)))
  }
  expect_false(identical(predict(quick(), new), of_sets(predict(quick(), new))))
})
