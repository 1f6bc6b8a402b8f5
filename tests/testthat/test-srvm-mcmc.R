# The batch sampler. Exact answers come from enumeration and quadrature
# (helper-enumerate.R).
#
# Null of the runs below: chains are independent and, after the warmup,
# stationary, so that each score is nearly t with 39 degrees of freedom. |z| > 6
# has probability 5e-7; with fewer than 120 scores a false alarm is rarer than
# 1e-4. Seen to fail with the moves broken on purpose: coef_move without the
# Jacobian of the log, with the prior of coef left out, or with the likelihood's
# volume at the old coef; Gibbs draws of the noise with one degree of freedom
# too many; a swap that is always accepted.

limit <- 6
kern <- oracle_kernel_gaussian(0.9)
xs <- c(0.3, -1.7, 2.1, -0.4, 1.2, 0.8)
ys <- c(1.05, 0.21, -0.32, 0.86, 0.55, 0.71)

batch <- function(x, y, ..., chains = 2, warmup = 100, iter = 200, thin = 1,
                  n_moves = 4, move_fraction = 0.25, threads = 1) {
  suppressWarnings(
    srvm(as.matrix(x), y,
      kernel = kernel_gaussian(0.9), scale = FALSE, method = "mcmc",
      control = mcmc_control(
        chains, warmup, iter, thin, n_moves, move_fraction, threads = threads
      ), ...
    ),
    classes = "kb_warning_convergence"
  )
}

#' Scores of the chains' means against enumeration
chains_against_oracle <- function(x = xs, y = ys, kmax = 5,
                                  centres = "subset", noise = ig(3, 0.3),
                                  coef = ig(3, 2), intercept = TRUE,
                                  chains = 40, seed = 1, weights = NULL, ...) {
  for_oracle <- function(prior) {
    if (inherits(prior, "kb_fixed")) {
      list(fixed = prior$variance)
    } else {
      unclass(prior)
    }
  }
  exact <- oracle_posterior(
    x, y, kern, 1.3, kmax, centres, for_oracle(noise), for_oracle(coef),
    intercept,
    precision = if (is.null(weights)) rep(1, length(y)) else weights
  )
  at <- as.matrix(c(-1, 0.5))
  truth <- c(
    sum(as.numeric(names(exact$p_k)) * exact$p_k), exact$p_k[["0"]],
    exact$inclusion, exact$sigma, oracle_predict(exact, at)$mean
  )
  fit <- batch(x, y,
    prior = srvm_prior(1.3, kmax, centres, noise, coef),
    intercept = intercept, chains = chains, iter = 1500, seed = seed,
    weights = weights, ...
  )
  estimates <- vapply(fit$runs, function(run) {
    one <- fit
    one$runs <- list(run)
    one <- sealed(one)
    k <- model_size(one)
    c(
      sum(k$k * k$probability), sum(k$probability[k$k == 0]),
      inclusion(one)$probability[exact$rows], sigma(one),
      of_sets(predict(one, at))
    )
  }, numeric(length(truth)))
  se <- apply(estimates, 1, stats::sd) / sqrt(chains)
  mc_z(rowMeans(estimates), pmax(se, 1e-14), truth)
}

test_that("chains agree with enumeration and quadrature", {
  expect_lt(max(abs(chains_against_oracle())), limit)
})

test_that("chains agree with i.i.d. centres, a small kmax and large steps", {
  z <- chains_against_oracle(centres = "iid", kmax = 2, move_fraction = 0.5)
  expect_lt(max(abs(z)), limit)
})

test_that("chains agree with repeated points and no intercept", {
  z <- chains_against_oracle(
    x = c(0.3, -1.7, 0.3, 2.1, -0.4, -1.7), intercept = FALSE
  )
  expect_lt(max(abs(z)), limit)
})

test_that("chains agree with one variance known", {
  z <- chains_against_oracle(noise = fixed_variance(0.1))
  expect_lt(max(abs(z)), limit)
  z <- chains_against_oracle(coef = fixed_variance(0.5))
  expect_lt(max(abs(z)), limit)
})

test_that("chains agree with weights of rows", {
  z <- chains_against_oracle(weights = c(2, 0.5, 1, 3, 0.2, 1))
  expect_lt(max(abs(z)), limit)
})

test_that("chains agree when the response is far from zero", {
  z <- chains_against_oracle(y = ys + 4)
  expect_lt(max(abs(z)), limit)
})

test_that("both samplers give the same posterior of a curve", {
  data <- sim_sinc(50, seed = 2)
  chain <- srvm(y ~ x, data,
    kernel = kernel_gaussian(1.6 / sqrt(2)), prior = srvm_prior(1, 50),
    scale = FALSE, method = "mcmc", seed = 1,
    control = mcmc_control(iter = 4000)
  )
  cloud <- few_particles(srvm(y ~ x, data,
    reference = chain, control = smc_control(1000), seed = 1
  ))
  grid <- data.frame(x = seq(-10, 10, length.out = 201))
  distance <- sqrt(mean((predict(chain, grid) - predict(cloud, grid))^2))
  # Over 12 pairs of seeds it was .002 to .006; up to .015 with 25 particles.
  expect_lt(distance, 0.015)
})

# Identity --------------------------------------------------------------------

sinc <- sim_sinc(40, seed = 3)

resume <- function(...) {
  suppressWarnings(update(...), classes = "kb_warning_convergence")
}

expect_same_draws <- function(a, b) {
  strip <- function(run) run[setdiff(names(run), "seconds")]
  expect_identical(lapply(a$runs, strip), lapply(b$runs, strip))
}

test_that("a seed determines every draw, threads change nothing", {
  a <- batch(sinc$x, sinc$y, seed = 5)
  expect_same_draws(a, batch(sinc$x, sinc$y, seed = 5))
  expect_same_draws(a, batch(sinc$x, sinc$y, seed = 5, threads = 2))
  b <- batch(sinc$x, sinc$y, seed = 6)
  expect_false(identical(a$runs[[1]]$k, b$runs[[1]]$k))
  expect_false(identical(a$runs[[1]]$k, a$runs[[2]]$k))
})

test_that("update(iter =) equals a run of full length from the start", {
  long <- batch(sinc$x, sinc$y, iter = 300, thin = 3, seed = 5)
  short <- batch(sinc$x, sinc$y, iter = 100, thin = 3, seed = 5)
  expect_identical(length(short$runs[[1]]$k), 33L)
  expect_same_draws(resume(short, iter = 200), long)
  file <- withr::local_tempfile()
  saveRDS(short, file)
  expect_same_draws(resume(readRDS(file), iter = 200), long)
  expect_identical(update(long), long)
})

test_that("a run stopped in the middle continues as if it had not stopped", {
  fit <- batch(sinc$x, sinc$y, seed = 5)
  engine <- fit_engine(fit)
  at <- function(n, state = NULL) {
    handle <- engine_open(engine, 1, state)
    on.exit(engine_close(engine, handle))
    engine_advance(engine, handle, n)
    engine_state(engine, handle)
  }
  part <- fit
  # In the warmup, and after it
  for (n in c(40, 170)) {
    part$runs <- list(at(n), NULL)
    part$status <- "interrupted"
    part <- sealed(part)
    expect_same_draws(resume(part, progress = FALSE), fit)
  }
  expect_output(print(part), "INCOMPLETE:   170, 0 of 300 iterations")
  expect_length(part$runs[[1]]$k, 70)
  expect_identical(dim(predict(part, as.matrix(0), type = "draws")), c(70L, 1L))
  part$runs <- list(at(40), NULL)
  part <- sealed(part)
  expect_output(print(part), "INCOMPLETE")
  expect_error(predict(part), class = "kb_error_not_defined")
})

test_that("a time limit gives a fit that can be continued", {
  control <- mcmc_control(2, 50, 1e5, 100, time_limit = 0.05)
  expect_warning(
    part <- srvm(y ~ x, sinc, method = "mcmc", control = control, seed = 1),
    class = "kb_warning_time_limit"
  )
  expect_identical(part$status, "time_limit")
  expect_lt(state_time(part$runs[[2]]), 1e5)
})

test_that("sums on demand give the same draws as all pairs", {
  data <- sim_sinc(500, seed = 3)
  # 20 iterations do not justify the Gram matrix; 2000 do.
  few <- batch(data$x, data$y, chains = 1, warmup = 0, iter = 20, seed = 5)
  many <- batch(data$x, data$y, chains = 1, warmup = 0, iter = 2000, seed = 5)
  expect_identical(few$runs[[1]]$k, many$runs[[1]]$k[1:20])
  expect_identical(few$runs[[1]]$draws$noise, many$runs[[1]]$draws$noise[1:20])
  expect_same_draws(
    resume(few, iter = 20),
    batch(data$x, data$y, chains = 1, warmup = 0, iter = 40, seed = 5)
  )
})

test_that("chains on a cluster's workers equal those in this process", {
  skip_without_workers()
  here <- batch(sinc$x, sinc$y, seed = 5)
  local_workers()
  expect_same_draws(batch(sinc$x, sinc$y, seed = 5), here)
})

# Results of a batch fit ------------------------------------------------------

fit <- batch(sinc$x, sinc$y, chains = 3, seed = 7)

test_that("predictions have the shapes of all fits", {
  at <- as.matrix(c(-1, 0, 2))
  expect_length(predict(fit, at), 3)
  bands <- predict(fit, at, interval = "prediction")
  expect_identical(colnames(bands), c("fit", "lwr", "upr"))
  expect_true(all(bands[, "lwr"] < bands[, "fit"]))
  draws <- predict(fit, at, type = "draws")
  expect_identical(dim(draws), c(600L, 3L))
  # Rows are ordered by chain.
  one <- fit
  one$runs <- fit$runs[2]
  one <- sealed(one)
  expect_identical(draws[201:400, ], predict(one, at, type = "draws"))
  expect_identical(
    predict(fit, at, type = "draws", ndraws = 3), draws[c(100, 300, 500), ]
  )
  # The mean of draws given sets and variances equals the mean of the draws.
  gap <- colMeans(draws) - predict(fit, at)
  expect_lt(max(abs(gap) / (apply(draws, 2, sd) / sqrt(600))), 6)
  expect_true(all(is.finite(predict(fit, at, type = "log_score", newy = 1:3))))
})

test_that("the log likelihood is the density, coefficients integrated out", {
  data <- transform(sim_sinc(30, seed = 1), y = y + 3)
  for (scaled in c(FALSE, TRUE)) {
    for (intercept in c(FALSE, TRUE)) {
      fit <- suppressMessages(srvm(y ~ x, data,
        kernel = kernel_gaussian(0.3), method = "mcmc", intercept = intercept,
        prior = srvm_prior(scaled = scaled), scale = !intercept, seed = 1,
        control = mcmc_control(chains = 2, warmup = 50, iter = 10)
      ))
      scaling <- fit$settings$scaling
      pool <- srvm_pool(fit)
      k <- kernel_matrix(fit$settings$kernel, scaling_x(scaling, fit$data$x))
      last <- cumsum(pool$k)
      exact <- vapply(1:20, function(i) {
        set <- pool$sets[last[[i]] - pool$k[[i]] + seq_len(pool$k[[i]])]
        x <- cbind(rep(1, intercept * 30), k[, pool$rows[set]])
        share <- if (scaled) pool$noise[[i]] else 1
        r <- chol(
          diag(pool$noise[[i]], 30) + share * pool$coef[[i]] * tcrossprod(x)
        )
        z <- backsolve(r, scaling_y(scaling, data$y), transpose = TRUE)
        -sum(log(diag(r))) - sum(z^2) / 2 - 15 * log(2 * pi) -
          30 * log(scaling$y_scale)
      }, 0)
      expect_equal(as.vector(chain_matrices(fit)$log_lik), exact)
    }
  }
})

test_that("draws know their chains", {
  draws <- as_draws(fit)
  expect_identical(posterior::nchains(draws), 3L)
  expect_identical(posterior::niterations(draws), 200L)
  expect_setequal(
    posterior::variables(draws), c("sigma", "tau", "k", "Intercept")
  )
  expect_error(as_draws(fit, weighted = TRUE), class = "kb_error")
  table <- ess(fit)
  sigma <- posterior::extract_variable_matrix(draws, "sigma")
  expect_equal(table$rhat[[1]], posterior::rhat(sigma))
  expect_equal(table$ess_bulk[[1]], posterior::ess_bulk(sigma))
  expect_equal(diagnostics(fit)$convergence, table)
  expect_equal(mean(draws$k), sum(model_size(fit)$k * model_size(fit)$probability))
})

test_that("print, summary, tidy, glance and timings work", {
  lines <- capture.output(print(fit))
  expect_lte(length(lines), 15)
  expect_match(lines[[1]], "batch")
  expect_output(print(summary(fit)), "ess_bulk")
  expect_identical(generics::tidy(fit)$term, c("sigma", "tau", "k"))
  expect_identical(generics::glance(fit)$draws, 600L)
  expect_length(timings(fit)$chains, 3)
  expect_identical(nrow(generics::augment(fit)), 40L)
  expect_identical(dim(simulate(fit, 2, seed = 1)), c(40L, 2L))
  expect_identical(nobs(fit), 40L)
})

test_that("plots of every meaningful type are drawn", {
  withr::local_pdf(NULL)
  for (type in c("fit", "k", "centres", "trace")) {
    expect_identical(plot(fit, type = type), fit)
  }
  for (type in c("ess", "evidence")) {
    expect_error(plot(fit, type = type), class = "kb_error_not_defined")
  }
})

test_that("requests that a chain cannot answer are refused", {
  expect_error(evidence(fit), class = "kb_error_not_defined")
  expect_error(ancestry(fit), class = "kb_error_not_defined")
  expect_error(order_spread(fit), class = "kb_error_not_defined")
  expect_error(
    update(fit, newx = 1, newy = 1),
    class = "kb_error_not_defined"
  )
  expect_error(update(fit, iter = -1), class = "kb_error_argument")
})

test_that("control and method must fit together", {
  wrong <- list(
    list(method = "mcmc", control = smc_control()),
    list(control = mcmc_control()), list(method = "gibbs"),
    list(method = "mcmc", control = mcmc_control(n_temps = 2)),
    list(method = "mcmc", control = list())
  )
  for (arguments in wrong) {
    expect_error(
      do.call(srvm, c(list(y ~ x, sinc), arguments)),
      class = "kb_error_argument"
    )
  }
  expect_error(mcmc_control(n_moves = -1), class = "kb_error_argument")
  expect_error(mcmc_control(move_fraction = 0.7), class = "kb_error_argument")
})

test_that("chains that have not mixed are reported", {
  expect_warning(
    srvm(medv ~ ., MASS::Boston,
      method = "mcmc", seed = 1,
      control = mcmc_control(2, warmup = 0, iter = 100, n_moves = 1)
    ),
    class = "kb_warning_convergence"
  )
})

test_that("extremes have a defined answer", {
  no_spread <- function(expr) {
    suppressWarnings(expr, classes = "kb_warning_no_spread")
  }
  expect_identical(no_spread(model_size(batch(1, 2, seed = 1)))$k, 0:1)
  expect_identical(
    model_size(batch(xs, ys, prior = srvm_prior(kmax = 0), seed = 1))$k, 0L
  )
  flat <- no_spread(batch(xs, rep(2, 6), seed = 1))
  expect_true(all(is.finite(predict(flat))))
  alike <- no_spread(batch(rep(1, 6), ys, seed = 1))
  expect_lte(max(model_size(alike)$k), 1)
  fixed_set <- batch(xs, ys, n_moves = 0, seed = 1)
  expect_length(unique(fixed_set$runs[[1]]$k), 1)
  expect_true(all(is.na(diagnostics(fixed_set)$acceptance)))
  expect_output(print(fixed_set), "0 moves each")
})

# Stopped and unequal chains --------------------------------------------------

#' The fit with each chain stopped after the given number of iterations
stopped_at <- function(fit, times) {
  engine <- fit_engine(fit)
  fit$runs <- lapply(seq_along(times), function(index) {
    handle <- engine_open(engine, index, NULL)
    on.exit(engine_close(engine, handle))
    engine_advance(engine, handle, times[[index]])
    engine_state(engine, handle)
  })
  fit$status <- "interrupted"
  fit <- sealed(fit)
  fit
}

test_that("chains with almost no draws are left out, others cut alike", {
  fit <- batch(sinc$x, sinc$y, chains = 3, seed = 5)
  part <- stopped_at(fit, c(300, 250, 110))
  expect_identical(diagnostics(part)$draws, c(150L, 150L))
  draws <- as_draws(part)
  expect_identical(posterior::niterations(draws), 150L)
  at <- as.matrix(c(-1, 2))
  f <- predict(part, at, type = "draws")
  expect_identical(dim(f), c(300L, 2L))
  # Both accessors use the same draws, those of the whole chains.
  all <- predict(fit, at, type = "draws")
  expect_identical(f, all[c(1:150, 201:350), ])
  expect_identical(draws$k, as_draws(fit)$k[c(1:150, 201:350)])
  expect_true(all(is.finite(ess(part)$rhat)))
  expect_same_draws(resume(part), fit)
})

test_that("a limit of one call is not stored in the fit", {
  fit <- batch(sinc$x, sinc$y, chains = 1, seed = 5)
  later <- suppressWarnings(update(fit, iter = 1e5, time_limit = 0.05))
  expect_identical(later$status, "time_limit")
  expect_identical(later$control$time_limit, Inf)
})

test_that("a time limit holds if the sums of all pairs would take long", {
  data <- sim_sinc(3000, seed = 3)
  took <- system.time(part <- suppressWarnings(srvm(y ~ x, data,
    method = "mcmc", kernel = kernel_gaussian(0.2), seed = 1,
    control = mcmc_control(1, 0, 1e5, time_limit = 0.3)
  )))[["elapsed"]]
  expect_identical(part$status, "time_limit")
  # All pairs are 1.4e10 multiplications; one iteration is 50 moves.
  expect_gt(state_time(part$runs[[1]]), 1)
})

test_that("the papers' prior leaves an uninformed variance unchanged", {
  fit <- suppressWarnings(srvm(as.matrix(xs), ys,
    kernel = kernel_gaussian(0.9), prior = srvm_prior_paper(kmax = 0),
    scale = FALSE, intercept = FALSE, method = "mcmc", seed = 1,
    control = mcmc_control(1, 10, 50)
  ))
  expect_identical(unique(fit$runs[[1]]$draws$coef), response_variance(ys))
})

test_that("a length left open ends when predictions and parameters are precise", {
  data <- sim_sinc(40, seed = 1)
  fit <- srvm(y ~ x, data, method = "mcmc", seed = 1)
  expect_identical(fit$control$until$error, aimed_error)
  expect_identical(fit$control$warmup, 250L)
  expect_lt(fit$control$iter, 2000)
  expect_output(print(fit), "converged")
  # A length that is given is kept.
  given <- srvm(y ~ x, data,
    method = "mcmc", seed = 1, control = mcmc_control(2, 20, 30)
  )
  expect_null(given$control$until)
})
