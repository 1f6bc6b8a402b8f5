# Chains of bark(): identity, prediction against dense algebra, and the
# posterior of tiny problems against importance sampling from the prior.
#
# Seen to fail: a rescaled slot that keeps its old variance; single moves
# without the noise, resumed without updates or without K'Wy, never refreshed;
# steps that adapt after the warmup, or one step for all predictors.

tiny_x <- matrix(c(0.3, -1.2, 1.1, -0.2, 0.9, 0.4, -1, -0.6), 4)
tiny_y <- c(0.8, -0.9, 0.4, 0.1)

bark_tiny <- function(type = "different", alpha = 1, chains = 2, iter = 60,
                      warmup = 40, n_temps = 1, seed = 1, x = tiny_x,
                      y = tiny_y, thin = 1, sweep = "full", ...) {
  suppressWarnings(bark(x, y,
    prior = bark_prior_paper(type,
      alpha = alpha, eps = 0.5, gamma = 1.5, noise = noise_gamma(3, 1), ...
    ),
    control = mcmc_control(
      chains, warmup, iter, thin,
      n_temps = n_temps, sweep = sweep
    ),
    scale = FALSE, seed = seed
  ))
}

strip_time <- function(fit) {
  lapply(fit$runs, function(run) run[setdiff(names(run), "seconds")])
}

test_that("update(iter =) equals a run of full length from the start", {
  for (alpha in c(1, 1.5)) {
    for (n_temps in c(1, 3)) {
      withr::local_seed(2)
      x <- matrix(stats::rnorm(63), 21)
      y <- sin(x[, 1]) + 0.2 * stats::rnorm(21)
      fit <- function(iter) {
        bark_tiny("select_different", alpha, 2, iter,
          n_temps = n_temps, x = x, y = y, thin = 2
        )
      }
      long <- fit(50)
      short <- suppressWarnings(update(fit(20), iter = 30))
      expect_identical(strip_time(short), strip_time(long))
    }
  }
})

test_that("a chain cut in the warmup and later continues unchanged", {
  fit <- bark_tiny("select_equal", n_temps = 2)
  cut <- run_parts(fit_engine(fit), c(13, 30, 20, 37))
  expect_identical(cut, strip_time(fit)[[1]])
})

test_that("a chain of many copies, cut repeatedly, continues unchanged", {
  # After a rescaling n^2 / varphi is unchanged up to rounding.
  withr::local_seed(2)
  x <- matrix(stats::rnorm(80), 40)
  y <- sin(x[, 1]) + 0.2 * stats::rnorm(40)
  for (alpha in c(1, 1.5)) {
    engine <- fit_engine(bark_tiny(alpha = alpha, chains = 1, x = x, y = y))
    engine$config$prior$nu <- 100
    expect_identical(
      run_parts(engine, rep(1, 100)), run_parts(engine, 100)
    )
  }
})

test_that("single moves continue unchanged, before and after a refresh", {
  # Refreshes are due at 1000 and 2000, and nowhere else.
  lengths <- c(7, 32, 1, 1, 458, 500, 1, 1, 499, 500, 1, 99)
  for (family in c("gaussian", "probit")) {
    for (n_temps in 1:2) {
      engine <- fit_engine(bark_tiny("select_different", n_temps = n_temps))
      engine$config[c("sweep", "iter", "family")] <-
        list("single", 2060, family)
      if (family == "probit") {
        engine$y <- c(1, -1, 1, -1)
        engine$config$prior$noise_fixed <- TRUE
        engine$config$prior$noise_precision <- 1
      }
      engine$config$prior$nu <- 12
      expect_identical(
        run_parts(engine, lengths), run_parts(engine, sum(lengths))
      )
    }
  }
})

test_that("steps adapt per predictor in the warmup, and not after it", {
  for (sweep in c("full", "single")) {
    engine <- fit_engine(bark_tiny("different", chains = 1))
    engine$config[c("sweep", "warmup")] <- list(sweep, 80)
    steps <- lapply(c(40, 80, 140), function(n) {
      run_parts(engine, n)$levels[[1]]$steps
    })
    expect_true(all(steps[[1]]$times[-(1:3)] > 0))
    expect_true(all(steps[[2]]$times[-(1:3)] > steps[[1]]$times[-(1:3)]))
    expect_identical(steps[[2]], steps[[3]])
  }
})

test_that("a refresh removes the rounding errors of updates", {
  engine <- fit_engine(bark_tiny(chains = 1))
  engine$config[c("sweep", "iter")] <- list("single", 1960)
  engine$config$prior$nu <- 12
  one_more <- function(state) {
    handle <- engine_open(engine, 1, state)
    on.exit(engine_close(engine, handle))
    engine_advance(engine, handle, 1)
    after <- engine_state(engine, handle)
    after[setdiff(names(after), "seconds")]
  }
  # One is due after 1000 moves, none after 999.
  for (time in c(999, 1000)) {
    state <- c(run_parts(engine, time), list(seconds = 0))
    worn <- state
    # The parts that a draw of the noise does not recompute.
    worn$levels[[1]]$gram <- 1.5 * state$levels[[1]]$gram
    expect_identical(
      identical(one_more(worn), one_more(state)), time == 1000,
      label = paste("all alike after a move at", time)
    )
  }
})

test_that("predictions agree with dense algebra, draw by draw", {
  fit <- bark_tiny("select_different", chains = 1, iter = 30)
  at <- matrix(c(0, 0.5, -1, 0.3, -0.7, 2), 3)
  pool <- bark_pool(fit)
  moments <- bark_moments(fit, at, pool)
  first <- c(0, cumsum(pool$m))
  for (i in seq_along(pool$m)) {
    slots <- first[[i]] + seq_len(pool$m[[i]])
    lambda <- exp(pool$log_lambda[2 * i - 1:0]) * pool$included[2 * i - 1:0]
    k <- function(x) {
      vapply(pool$location[slots], function(location) {
        if (location == 0) {
          return(rep(1, nrow(x)))
        }
        exp(-colSums(lambda * (t(x) - tiny_x[location, ])^2))
      }, numeric(nrow(x)))
    }
    v <- pool$variance[slots]
    phi <- k(tiny_x)
    total <- diag(1 / pool$noise[[i]], 4) + phi %*% (v * t(phi))
    cross <- k(at) %*% (v * t(phi))
    expect_equal(moments$mean[, i], drop(cross %*% solve(total, tiny_y)),
      tolerance = 1e-7
    )
    exact <- rowSums((k(at) %*% diag(v, length(v))) * k(at)) -
      rowSums((cross %*% solve(total)) * cross)
    expect_equal(moments$variance[, i], exact, tolerance = 1e-6)
    beta <- pool$beta[slots]
    drawn <- bark_moments(fit, at, pool, drawn = TRUE)$mean[, i]
    expect_equal(drawn, drop(k(at) %*% beta), tolerance = 1e-12)
  }
  expect_equal(predict(fit, at), rowMeans(moments$mean), tolerance = 1e-12)
  bands <- predict(fit, at, interval = "prediction")
  expect_true(all(bands[, "lwr"] < bands[, "fit"] &
    bands[, "fit"] < bands[, "upr"]))
  expect_identical(dim(predict(fit, at, type = "draws")), c(30L, 3L))
})

# Importance sampling from the prior -------------------------------------------

#' Weights and results of draws from the prior
importance_sample <- function(prior, x, y, at, n) {
  draws <- draw_bark_densities(prior, x, y, at, n)
  answers <- rbind(draws$J, draws$d, 1 / sqrt(draws$noise), draws$mean)
  list(weight = exp(draws$log_l), answers = answers)
}

#' Scores of the chains' means against importance sampling
chains_against_importance <- function(type, alpha, n_temps, sweep = "full",
                                      chains = 24) {
  # Single moves are much shorter than a full sweep.
  each <- if (sweep == "full") 1 else 10
  fit <- bark_tiny(type, alpha, chains,
    iter = 600 * each, warmup = 100 * each,
    n_temps = n_temps, thin = each, sweep = sweep
  )
  prior <- fit$settings$prior
  at <- c(0.2, -0.4)
  exact <- withr::with_seed(
    5, importance_sample(prior, tiny_x, tiny_y, at, 12000)
  )
  w <- exact$weight / sum(exact$weight)
  mean <- drop(exact$answers %*% w)
  se <- sqrt(drop((exact$answers - mean)^2 %*% w^2))
  estimates <- vapply(fit$runs, function(run) {
    one <- fit
    one$runs <- list(run)
    one <- sealed(one)
    pool <- bark_pool(one)
    matrices <- chain_matrices(one)
    c(
      mean(matrices$J), mean(colSums(matrix(pool$included, 2))),
      mean(matrices$sigma), predict(one, t(at))
    )
  }, numeric(4))
  own <- apply(estimates, 1, stats::sd) / sqrt(chains)
  # If all predictors are included, nothing varies.
  (rowMeans(estimates) - mean) / pmax(sqrt(own^2 + se^2), 1e-9)
}

test_that("chains agree with importance sampling from the prior", {
  # Null: chains are stationary after the warmup and independent, both errors
  # nearly normal: t with 23 degrees of freedom at worst. |z| > 7.5 has
  # probability 1e-7; 28 scores.
  cases <- list(
    list("equal", 1, 1), list("different", 1.5, 1),
    list("select_equal", 1, 3), list("select_different", 1, 1),
    list("select_different", 1.5, 2), list("different", 1, 1, "single"),
    list("select_different", 1.5, 2, "single")
  )
  for (case in cases) {
    z <- do.call(chains_against_importance, case)
    expect_lt(max(abs(z)), 7.5, label = toString(unlist(case)))
  }
})

test_that("a fit of bark() prints and returns its results", {
  fit <- bark_tiny("select_different", chains = 3)
  expect_output(print(fit), "additive regression kernels")
  draws <- as_draws(fit)
  expect_setequal(posterior::variables(draws), c(
    "sigma", "J", "log_lik", "lambda[1]", "lambda[2]", "delta[1]", "delta[2]"
  ))
  expect_identical(posterior::nchains(draws), 3L)
  expect_equal(sigma(fit), mean(draws$sigma))
  expect_identical(nobs(fit), 4L)
  expect_length(fitted(fit), 4)
  expect_named(diagnostics(fit)$acceptance)
})
