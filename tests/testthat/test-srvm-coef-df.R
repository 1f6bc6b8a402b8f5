# Coefficients of centres that are Student's t: (S66), spread.cpp, R/srvm-scales.R.

test_that("particles agree with enumeration and quadrature", {
  # Null: Z-hat is unbiased where powers are fixed, and so are estimates times Z-hat,
  # also those with a new point as a candidate: over 40 runs scores are nearly t with
  # 39 degrees of freedom; |z| > 6.5 has probability 1e-7, 24 times. Noise with 10000
  # degrees of freedom is nearly normal, and its particles have latent variables.
  # Seen to fail: births with a spread of 1.
  case <- spread_case()
  exact <- exact_spreads(case)
  new <- exact_spreads(case, new = case$at[[1]])
  student <- spread_case(prior = list(df = 1e4))
  # At the second power of its row a candidate may have been in the set.
  run <- function(case, particles, new = NULL, proposal = "adapted",
                  powers = c(0.2, 1)) {
    max(abs(spread_scores(case, exact, 40, new, control = smc_control(
      particles = particles, powers = powers, proposal = proposal
    ))))
  }
  expect_lt(run(case, 40, new), 6.5)
  expect_lt(run(case, 200, proposal = "birth_death", powers = 1), 6.5)
  expect_lt(run(student, 30), 6.5)
})

test_that("chains agree with enumeration and quadrature", {
  # Null: means with standard errors from their effective numbers; |z| > 5 has
  # probability 6e-7, 25 times. Seen to fail: as above; spreads drawn given the
  # coefficients of columns, or with a shape for none; without the noise in the scaled
  # form; draws with coefficients of columns; weighted sums of another column.
  y <- c(2.5, 0.1, -0.6)
  g <- seq(-3, 5, by = 0.5)
  p <- exp(-2 * g - 0.8 * exp(-g))
  cases <- list(
    known = spread_case(y = y),
    student = spread_case(y = y, prior = list(df = 1e4)),
    scaled = spread_case(
      y = y, kmax = 1, shape = 3, noise = 0.8, coef = 1.5,
      prior = list(noise = ig(3, 0.8), scaled = TRUE)
    ),
    learned = spread_case(
      y = y, kmax = 1, coef = exp(g), coef_p = p / sum(p),
      prior = list(coef = ig(2, 0.8))
    )
  )
  exact <- lapply(cases[-2], exact_spreads)
  exact$student <- exact$known
  for (name in names(cases)) {
    fit <- spread_fit(cases[[name]],
      method = "mcmc", seed = 2, control = mcmc_control(4, 500, 6000, n_moves = 3)
    )
    of <- if (name == "learned") 2:8 else 2:7
    z <- chain_scores(spread_draws(cases[[name]], fit), exact[[name]][of], 4)
    expect_lt(max(abs(z)), 5, label = name)
  }
})

test_that("classes agree with quadrature over coefficients that are t", {
  # Null: as above, 4 and 3 scores. No spread is part of these answers.
  case <- spread_case(kmax = 1, coef = 4, linear = 0, prior = list(
    noise = NULL, linear = 0
  ))
  second <- c(TRUE, TRUE, FALSE)
  exact <- exact_spread_classes(case, second)
  run <- function(...) spread_fit(case, y = factor(second), ...)
  at <- matrix(case$at, dimnames = list(NULL, "x"))
  probabilities <- function(fit, pool) {
    stats::pnorm(srvm_draws(fit, at, pool, seq_along(pool$k)))
  }
  values <- vapply(1:40, function(seed) {
    fit <- run(
      seed = seed, control = smc_control(particles = 100, cess_threshold = 0)
    )
    pool <- srvm_pool(fit)
    ratio <- exp(evidence(fit)$log_evidence - exact[[1]])
    here <- c(sum(pool$k * pool$weights), pool$weights %*% probabilities(fit, pool))
    c(ratio - 1, ratio * (here - exact[-1]))
  }, numeric(4))
  z <- rowMeans(values) / (apply(values, 1, stats::sd) / sqrt(40))
  expect_lt(max(abs(z)), 6.5)
  fit <- run(
    method = "mcmc", seed = 2, control = mcmc_control(4, 500, 3000, n_moves = 5)
  )
  pool <- srvm_pool(fit)
  draws <- cbind(pool$k, probabilities(fit, pool))
  expect_lt(max(abs(chain_scores(draws, exact[-1], 4))), 5)
})

test_that("sums are those of columns times roots of spreads", {
  # Seen to fail: a candidate that left the set and joined it again, at the next
  # power of its row, with another spread.
  case <- spread_case()
  fit <- spread_fit(case,
    seed = 1, control = smc_control(particles = 200, powers = c(0.2, 1))
  )
  pool <- srvm_pool(fit)
  of <- rep(seq_along(pool$k), pool$k)
  part <- fit$settings$linear
  gram <- lapply(seq_along(pool$k), function(i) {
    centres <- case$x[pool$rows[pool$sets[of == i]]]
    kernels <- exp(-outer(case$x, centres, `-`)^2 / (2 * pool$bandwidths[1, i]^2))
    design <- cbind(
      1, part$scale * (case$x - part$centre),
      kernels * rep(sqrt(pool$spread[of == i]), each = length(case$x))
    )
    g <- crossprod(design)
    g[lower.tri(g, diag = TRUE)]
  })
  expect_equal(fit$runs[[1]]$sums$gram, unlist(gram), tolerance = 1e-9)
})

spread_data <- function() sim_friedman(45, p = 5, seed = 1)[c("y", "x1", "x2", "x4")]

spread_fits <- local({
  fits <- NULL
  function() {
    if (is.null(fits)) {
      prior <- srvm_prior(coef_df = 3)
      fits <<- list(
        smc = srvm(y ~ ., spread_data(),
          kernel = kernel_matern("ard"), prior = prior, seed = 1,
          control = smc_control(particles = 60)
        ),
        mcmc = srvm(y ~ ., spread_data(),
          kernel = kernel_matern("ard"), prior = prior, seed = 1, method = "mcmc",
          control = mcmc_control(2, 100, 60)
        )
      ) |> suppressWarnings() |> suppressMessages()
    }
    fits
  }
})

test_that("update() in parts is one run, in both samplers", {
  data <- spread_data()
  fits <- spread_fits()
  part <- suppressWarnings(srvm(y ~ ., data[1:30, ],
    reference = fits$smc, seed = 1, control = smc_control(particles = 60)
  ))
  both <- suppressWarnings(update(part, newdata = data[31:45, ]))
  state <- c("log_evidence", "k", "sets", "log_inverse", "spread", "z", "draws")
  expect_identical(both$runs[[1]][state], fits$smc$runs[[1]][state])
  # Seen to fail: a new row's candidate with the spread of an earlier one. Anywhere: a
  # chain goes on from columns that are evaluated again.
  run <- function(iter) {
    suppressMessages(suppressWarnings(srvm(y ~ x, sim_sinc(25, seed = 1),
      kernel = kernel_gaussian("ard"), method = "mcmc", seed = 3,
      prior = srvm_prior(coef_df = 2), control = mcmc_control(1, 50, iter)
    )))
  }
  whole <- run(12)$runs[[1]]
  state <- c("z", "noise", "factor", "log_inverse", "spread")
  for (cut in 1:11) {
    longer <- suppressMessages(suppressWarnings(update(run(cut), iter = 12 - cut)))
    expect_identical(longer$runs[[1]][state], whole[state], label = cut)
  }
  expect_identical(
    head_draws(fits$mcmc, fits$mcmc$runs[[1]], 20)$spread,
    utils::head(fits$mcmc$runs[[1]]$spread, sum(fits$mcmc$runs[[1]]$k[1:20]))
  )
})

test_that("threads and rejuvenation keep spreads", {
  data <- spread_data()
  fits <- spread_fits()
  fit <- suppressWarnings(srvm(y ~ ., data,
    reference = fits$smc, seed = 1, control = smc_control(particles = 60, threads = 2)
  ))
  expect_identical(fit$runs[[1]]$z, fits$smc$runs[[1]]$z)
  more <- suppressWarnings(update(fits$smc, particles = 90))
  expect_length(more$runs[[1]]$spread, sum(more$runs[[1]]$k))
})

test_that("predictions follow from the particles", {
  for (fit in spread_fits()) {
    new <- spread_data()[1:4, ]
    pool <- srvm_pool(fit)
    moments <- srvm_moments(fit, as.matrix(new[-1]), pool)
    expect_draws_of(moments, fit, as.matrix(new[-1]), pool)
    effects <- partial_dependence(fit, "x4", n = 3)
    at <- spread_data()
    at$x4 <- effects$x4[[2]]
    f <- unscale_mean(fit$settings$scaling, drop(
      set_moments(fit, as.matrix(at[-1]), pool)$mean %*% pool$weights
    ))
    expect_equal(effects$mean[[2]], mean(f))
  }
})

test_that("without degrees of freedom nothing changes", {
  run <- function(...) {
    suppressWarnings(srvm(y ~ ., spread_data(),
      kernel = kernel_matern("ard"), prior = srvm_prior(...), seed = 1,
      control = smc_control(particles = 20)
    ))
  }
  fit <- run()
  given <- run(coef_df = Inf)
  timeless <- function(fit) fit$runs[[1]][setdiff(names(fit$runs[[1]]), c(
    "seconds", "shared_seconds"
  ))]
  expect_identical(timeless(given), timeless(fit))
  expect_null(fit$runs[[1]]$spread)
  expect_identical(spread_rule(Inf), cbind(1, 1))
  # Fits from before
  fit$settings$prior$coef_df <- NULL
  fit <- sealed(fit)
  expect_equal(predict(checked_fit(fit)), predict(given))
})

test_that("the rule integrates over a spread", {
  for (df in c(1, 4, 50)) {
    rule <- spread_rule(df)
    for (q in c(0.3, 5)) {
      f <- function(v) 1 / sqrt(1 + q * v)
      exact <- stats::integrate(function(u) {
        f(exp(u)) * stats::dgamma(exp(-u), df / 2, df / 2) * exp(-u)
      }, -20, 40)$value
      expect_equal(sum(rule[, 2] * f(rule[, 1])), exact, tolerance = 0.02)
    }
  }
})

test_that("what has no meaning is refused", {
  expect_error(srvm_prior(coef_df = 0), "coef_df", class = "kb_error_argument")
  expect_error(srvm_prior(coef_df = "t"), class = "kb_error_argument")
  expect_error(srvm_prior(coef_df = c(1, 2)), class = "kb_error_argument")
  data <- spread_data()
  prior <- srvm_prior(coef_df = 3)
  run <- function(...) srvm(y ~ ., data, prior = prior, seed = 1, ...)
  expect_error(
    run(kernel = kernel_gaussian(1)), "coef_df.*does not learn", class = "kb_error_argument"
  )
  expect_error(
    run(kernel = kernel_dictionary(kernel_gaussian(1), kernel_gaussian(2))),
    class = "kb_error_argument"
  )
  expect_error(
    run(kernel = kernel_gaussian(1), method = "mcmc"), class = "kb_error_argument"
  )
  expect_error(
    run(kernel = kernel_matern("ard"), memory = srvm_memory(window = 20)),
    "coef_df.*memory", class = "kb_error_argument"
  )
  expect_output(print(srvm_prior(coef_df = 3)), "t with 3 df")
  expect_false(any(grepl("t with", capture.output(print(srvm_prior())))))
  for (fit in spread_fits()) expect_identical(checked_fit(fit), fit)
  broken <- spread_fits()$smc
  broken$runs[[1]]$spread <- -broken$runs[[1]]$spread
  expect_error(checked_fit(broken), "runs", class = "kb_error_fit")
})
