# Bandwidths that srvm() learns, one per predictor: R/srvm-scales.R,
# own_columns.cpp, radial_kernel.cpp, scales.cpp.

test_that("particles agree with enumeration and quadrature", {
  # Null: Z-hat is unbiased where powers are fixed, and so are estimates times
  # Z-hat: over 40 runs scores are nearly t with 39 degrees of freedom; |z| > 6.5
  # has probability 1e-7. Seen to fail: the prior of bandwidths without the Jacobian
  # of its logarithm.
  case <- scale_cases()
  for (p in 1:2) {
    exact <- exact_answers(p)
    runs <- vapply(1:40, function(seed) {
      fit <- quick_scales(case, seq_len(p),
        seed = seed,
        control = smc_control(particles = 60, cess_threshold = 0)
      )
      pool <- srvm_pool(fit)
      k <- model_size(fit)
      w <- pool$weights
      c(evidence(fit)$log_evidence,
        sum(k$k * k$probability),
        of_sets(predict(fit, case$at[, seq_len(p), drop = FALSE])),
        -log(pool$bandwidths) %*% w
      )
    }, numeric(4 + p))
    ratio <- exp(runs[1, ] - exact[[1]])
    values <- rbind(ratio, t(t(runs[-1, ] - exact[-1]) * ratio))
    z <- (rowMeans(values) - c(1, rep(0, 3 + p))) /
      (apply(values, 1, stats::sd) / sqrt(40))
    expect_lt(max(abs(z)), 6.5, label = p)
  }
})

test_that("chains agree with enumeration and quadrature", {
  # Null: 4 and 5 means with standard errors from their effective numbers; |z| > 5
  # has probability 6e-7 each. Seen to fail: as above; bandwidths that never move.
  case <- scale_cases()
  for (p in 1:2) {
    exact <- exact_answers(p)
    fit <- quick_scales(case, seq_len(p),
      method = "mcmc", seed = 4, control = mcmc_control(4, 500, 3000, n_moves = 5)
    )
    at <- case$at[, seq_len(p), drop = FALSE]
    pool <- srvm_pool(fit)
    draws <- cbind(pool$k, srvm_draws(fit, at, pool, seq_along(pool$k)),
      -log(t(pool$bandwidths))
    )
    z <- vapply(seq_len(ncol(draws)), function(j) {
      v <- matrix(draws[, j], ncol = 4)
      (mean(v) - exact[[j + 1]]) / (stats::sd(v) / sqrt(posterior::ess_mean(v)))
    }, 0)
    expect_lt(max(abs(z)), 5, label = p)
    expect_equal(
      unname(of_sets(predict(fit, at))), unname(exact[3:4]), tolerance = 0.05
    )
  }
})

test_that("the evidence is the mean over the prior of that with given bandwidths", {
  # Classes, and t noise, whose particles have latent variables. Null: both sides
  # have the standard errors that their runs scatter with; |z| > 5 of a t with
  # about 10 degrees of freedom has probability 5e-4, twice. Seen to fail: sums after
  # a move of bandwidths without latent variables.
  skip_unless_extended()
  case <- scale_cases()
  y <- list(factor(case$y > 0.4), case$y)
  # One prior of the number of centres: the default depends on the bandwidth.
  prior_of <- function(...) {
    srvm_prior(10, ard = 1.5, linear = 0, coef = fixed_variance(0.7), ...)
  }
  prior <- list(prior_of(), prior_of(noise = fixed_variance(0.15), df = 3))
  scale <- 1.5 / bandwidth_median(case$x[, 1, drop = FALSE])
  w <- exp(seq(-5, 4, by = 0.25))
  density <- exp(log_prior_inverse(w, scale)) * w * 0.25
  control <- smc_control(particles = 300, cess_threshold = 0)
  for (i in 1:2) {
    log_z <- function(kernel, seed) {
      suppressWarnings(evidence(srvm(case$x[, 1, drop = FALSE], y[[i]],
        kernel = kernel, prior = prior[[i]], scale = FALSE, seed = seed,
        control = control
      ))$log_evidence)
    }
    given <- vapply(1:6, function(seed) {
      sum(density * exp(vapply(w, function(v) log_z(kernel_gaussian(1 / v), seed), 0)))
    }, 0)
    learned <- exp(vapply(1:20, function(seed) log_z(kernel_gaussian("ard"), seed), 0))
    z <- (mean(learned) - mean(given)) /
      sqrt(stats::var(learned) / 20 + stats::var(given) / 6)
    expect_lt(abs(z), 5, label = i)
  }
})

test_that("kernels have the values of their definition", {
  x <- cbind(c(0, 1, 2.5), c(1, -1, 0.3))
  b <- c(0.7, 2)
  kernels <- list(
    kernel_gaussian("ard"), kernel_laplace("ard"), kernel_matern("ard", nu = 0.5),
    kernel_matern("ard", nu = 1.5), kernel_matern("ard", nu = 2.5),
    kernel_rational_quadratic("ard", alpha = 1.3)
  )
  for (kernel in kernels) {
    # One centre of coefficient 1: f is its column.
    settings <- quick_scales(scale_cases(), 1:2, seed = 1)$settings
    settings$kernel <- kernel
    f <- srvm_own_draws_cpp(model_config(settings), 1L, 2L, c(0.5, 3, -1, 1),
      cbind(b), x, x
    )
    given <- kernel_matrix(kernel_fill(kernel, "ard", b), x, x[2, , drop = FALSE])
    part <- settings$linear
    line <- part$scale * sweep(x, 2, part$centre) %*% c(3, -1)
    expect_equal(f, 0.5 + line + given, tolerance = 1e-13, label = format(kernel))
  }
})

scale_data <- function() {
  sim_friedman(60, p = 5, seed = 1)[c("y", "x1", "x2", "x4", "x5")]
}

scale_fits <- local({
  fits <- NULL
  function() {
    if (is.null(fits)) {
      data <- scale_data()
      fits <<- list(
        smc = srvm(y ~ ., data,
          kernel = kernel_matern("ard"), seed = 1,
          control = smc_control(particles = 60)
        ),
        mcmc = suppressWarnings(srvm(y ~ ., data,
          kernel = kernel_matern("ard"), seed = 1, method = "mcmc",
          control = mcmc_control(2, 100, 60)
        ))
      )
    }
    fits
  }
})

test_that("update() in parts is one run, in both samplers", {
  data <- scale_data()
  fits <- scale_fits()
  part <- srvm(y ~ ., data[1:35, ],
    reference = fits$smc, seed = 1, control = smc_control(particles = 60)
  ) |> suppressWarnings()
  both <- suppressWarnings(update(part, newdata = data[36:60, ]))
  for (of in c("log_evidence", "k", "sets", "log_inverse", "z")) {
    expect_identical(both$runs[[1]][[of]], fits$smc$runs[[1]][[of]], label = of)
  }
  longer <- suppressWarnings(update(fits$mcmc, iter = 30))
  whole <- suppressWarnings(srvm(y ~ ., data,
    kernel = kernel_matern("ard"), seed = 1, method = "mcmc",
    control = mcmc_control(2, 100, 90)
  ))
  expect_identical(longer$runs[[1]]$log_inverse, whole$runs[[1]]$log_inverse)
  expect_identical(
    head_draws(whole, whole$runs[[1]], 60)$log_inverse,
    fits$mcmc$runs[[1]]$log_inverse
  )
})

test_that("a chain cut anywhere continues unchanged, with any instructions", {
  # Seen to fail: sums of a centre that was just born in another order of summation.
  data <- sim_sinc(25, seed = 1)
  for (simd in c("avx512", "portable")) {
    withr::local_options(kernelbayes.simd = simd)
    run <- function(iter) {
      suppressMessages(suppressWarnings(srvm(y ~ x, data,
        kernel = kernel_gaussian("ard"), method = "mcmc", seed = 3,
        control = mcmc_control(1, 50, iter, n_moves = 5)
      )))
    }
    whole <- run(26)$runs[[1]]
    for (cut in 1:25) {
      both <- suppressMessages(suppressWarnings(update(run(cut), iter = 26 - cut)))
      for (of in c("z", "noise", "factor", "log_inverse")) {
        expect_identical(both$runs[[1]][[of]], whole[[of]], label = paste(cut, of))
      }
    }
  }
})

test_that("rows that moves skip change nothing when a run is cut there", {
  data <- sim_sinc(215, seed = 2)
  small <- smc_control(particles = 5)
  whole <- suppressWarnings(srvm(y ~ x, data,
    kernel = kernel_gaussian("ard"), control = small, seed = 1
  ))
  part <- suppressWarnings(srvm(y ~ x, data[1:203, ],
    reference = whole, control = small, seed = 1
  ))
  both <- suppressWarnings(update(part, newdata = data[204:215, ]))
  expect_identical(both$runs[[1]]$z, whole$runs[[1]]$z)
  # Such runs share no sums that a session would hold.
  expect_null(pool_key(fit_engine(both), 1, both$runs[[1]]))
})

test_that("threads change nothing", {
  data <- scale_data()
  fit <- srvm(y ~ ., data,
    kernel = kernel_matern("ard"), seed = 1,
    control = smc_control(particles = 60, threads = 2)
  )
  expect_identical(fit$runs[[1]]$z, scale_fits()$smc$runs[[1]]$z)
})

test_that("predictions follow from the particles", {
  for (fit in scale_fits()) {
    new <- scale_data()[1:4, ]
    pool <- srvm_pool(fit)
    moments <- srvm_moments(fit, as.matrix(new[-1]), pool)
    f <- unscale_mean(fit$settings$scaling, drop(moments$mean %*% pool$weights))
    expect_equal(unname(predict(fit, new)), f)
    expect_draws_of(moments, fit, as.matrix(new[-1]), pool)
    effects <- partial_dependence(fit, "x4", n = 3)
    at <- scale_data()
    at$x4 <- effects$x4[[2]]
    expect_equal(effects$mean[[2]], mean(of_sets(predict(fit, at))))
  }
})

test_that("fits report their bandwidths", {
  for (fit in scale_fits()) {
    expect_output(print(fit), "bandwidths:   medians: x[0-9]")
    expect_true(all(paste0("bandwidth[x", c(1, 2, 4, 5), "]") %in%
      generics::tidy(fit)$term))
    expect_true("bandwidth[x5]" %in% names(posterior::as_draws_df(fit)))
    # A bandwidth has no mean: the table has what print() shows, the median.
    table <- generics::tidy(fit, conf.level = 0.5)
    at <- startsWith(table$term, "bandwidth[")
    expect_equal(table$estimate[at], median_bandwidths(fit))
    expect_true(all(table$std.error[at] > 0))
    pool <- srvm_pool(fit)
    expect_equal(
      table$estimate[table$term == "sigma"],
      sum(pool$weights * srvm_parameters(fit, pool)$sigma)
    )
    expect_error(coef(fit), class = "kb_error_not_defined")
    expect_identical(checked_fit(fit), fit)
  }
  names <- names(watched_matrices(scale_fits()$mcmc))
  expect_true(all(paste0("log_bandwidth[", 1:4, "]") %in% names))
  expect_identical(watched_words(fit, "log_bandwidth[2]"),
    "log_bandwidth[2] (log bandwidth of x2)"
  )
  expect_output(print(importance(scale_fits()$smc)), "x4")
})

test_that("what has no meaning is refused", {
  data <- scale_data()
  expect_error(srvm(y ~ ., data, kernel = kernel_matern("ard") + 1),
    "only one", class = "kb_error_argument"
  )
  expect_error(
    srvm(y ~ ., data, kernel = list(kernel_matern("ard"), kernel_gaussian(1))),
    "only one", class = "kb_error_argument"
  )
  expect_error(srvm(y ~ ., data, kernel = kernel_dictionary(kernel_gaussian("ard"))),
    "only one", class = "kb_error_argument"
  )
  expect_error(kernel_matrix(kernel_gaussian("ard"), 1:3), class = "kb_error_learn")
  expect_error(kernel_periodic("ard"), class = "kb_error_argument")
  expect_error(srvm_prior(ard = 0), class = "kb_error_argument")
})

test_that("predictors with a long tail enter as logarithms", {
  data <- withr::with_seed(2, {
    data.frame(a = exp(2 * stats::rnorm(40)), b = stats::runif(40))
  })
  data$y <- log(data$a) + data$b
  quick <- function(...) {
    suppressWarnings(srvm(y ~ a + b, data,
      control = smc_control(particles = 20), seed = 1, ...
    ))
  }
  fit <- quick(kernel = kernel_matern("ard"))
  expect_output(print(fit), "logarithms:   a")
  expect_identical(
    quick(kernel = list(kernel_matern("ard")))$settings, fit$settings
  )
  expect_equal(predict(fit, data), predict(fit))
  plain <- quick(kernel = kernel_matern("ard"), scale = "linear")
  expect_false(any(grepl("logarithms", capture.output(print(plain)))))
  # Other kernels see the predictors as they are.
  expect_identical(logged(quick(kernel = kernel_linear())$settings$scaling),
    character()
  )
  expect_error(quick(scale = "log"), class = "kb_error_argument")
  # The rate of centres is learned unless it is given.
  expect_true(is_learned_lambda(fit$settings$prior))
  expect_identical(quick(kernel = kernel_gaussian(1))$settings$prior$lambda, 10)
  expect_output(print(srvm_prior()), "Poisson\\(10\\), or learned")
})

test_that("bandwidths that are learned have 125 particles, fixed ones 250", {
  data <- scale_cases()
  particles <- function(...) {
    fit <- suppressWarnings(srvm(data$x, data$y, seed = 1, ...))
    fit$control$particles
  }
  two <- smc_control(n_moves = 1, threads = 2)
  expect_identical(particles(), 125L)
  expect_identical(particles(control = two), 125L)
  expect_identical(particles(control = smc_control(30, n_moves = 1)), 30L)
  expect_identical(particles(kernel = kernel_gaussian(1), control = two), 250L)
  expect_identical(
    particles(memory = srvm_memory(window = 4), control = two), 250L
  )
})
