# Kernels of bark() with their own centres or scales, and locations that are not
# equally likely.
#
# Seen to fail, one mutant at a time:
# - locations: drawn evenly, Po(nu / (n + 1)) copies, no ratio of probabilities
#   in local moves or among candidates, the ratio of one copy for several,
#   another intercept at the start (birth and death);
# - candidates: a slot's candidate not updated, a place not marked as taken
#   (both: chains of the prior), half of them copies of another;
# - centres: no ratio of densities, a density with the variance halved or with
#   equally likely rows, draws 1.5 times as far, steps that depend on the
#   centre;
# - scales: no ratio of priors, changes or shifts that are not made, all
#   predictors included at birth;
# - state: a kernel's own centre or scales ignored; runs: the shape of the first
#   kernel given to all; draws: nothing recorded of the intercept; predictions
#   with common scales.
# Not visible, because right: a new place with its own scales or with new ones.

uneven <- c(0.35, 0.05, 0.1, 0, 0.2, 0.3)

shape_settings <- list(
  uneven = list(centre_weights = uneven),
  near = list(centre_sd = 0.4),
  near_uneven = list(centre_sd = 0.7, centre_weights = uneven),
  own = list(own_scales = TRUE),
  both = list(own_scales = TRUE, centre_sd = 0.4, centre_weights = uneven)
)
uneven_own <- list(own_scales = TRUE, centre_weights = uneven)

shape_pairs <- if (extended()) 40000 else 1000

# Moves ------------------------------------------------------------------------

place_moves <- c("birth_death", "relocate", "local", "varphi")
own_moves <- c(
  "scale_all", "scale_any", "scale_refresh", "scale_pair", "flip", "swap"
)

test_that("moves leave the joint law invariant, for all shapes of kernels", {
  # Null: nearly standard normal scores, at most 153 per call and 90 calls; |z|
  # > 6.2 somewhere has a probability of 8e-6.
  for (name in names(shape_settings)) {
    more <- shape_settings[[name]]
    shaped <- !is.null(more$centre_sd) || !is.null(more$own_scales)
    own <- isTRUE(more$own_scales)
    moves <- c(
      place_moves, if (!shaped) c("copies", "rescale"),
      if (own) own_moves else "gather",
      if (!own && shaped) c("scale_all", "scale_refresh", "flip")
    )
    for (alpha in c(1, 1.5)) {
      prior <- do.call(
        bark_setting, c(list("select_different", alpha), more)
      )
      for (move in moves) {
        z <- shape_invariance(move, prior, shape_pairs)
        expect_lt(max(abs(c(z, 0))), 6.2, label = paste(move, name, alpha))
      }
    }
  }
})

test_that("moves of places and shapes leave the prior invariant in long runs", {
  # Null: as above; 12 calls. Without the data, moves are quick and their errors
  # are most visible.
  heavy <- list(centre_sd = 0.6, centre_weights = c(1, 12, 1, 1, 1, 4))
  cases <- list(
    list("local", shape_settings$near, 10000, 40),
    list("local", heavy, 10000, 40), list("local", uneven_own, 4000, 40),
    list("gather", shape_settings$near, 2500, 16),
    list("gather", shape_settings$uneven, 5000, 16),
    list("flip", shape_settings$own, 6000, 16),
    list("swap", shape_settings$own, 3000, 16),
    list("scale_all", shape_settings$own, 6000, 16),
    list("scale_any", shape_settings$own, 6000, 16),
    list("scale_pair", shape_settings$own, 6000, 16)
  )
  for (case in cases) {
    prior <- do.call(
      bark_setting, c(list("select_different", 1, 6), case[[2]])
    )
    z <- shape_invariance(case[[1]], prior, case[[3]], 0, case[[4]])
    expect_lt(max(abs(c(z, 0))), 6.2, label = case[[1]])
  }
})

# Likelihood -------------------------------------------------------------------

test_that("updates keep the likelihood of dense algebra", {
  withr::local_seed(1)
  x <- matrix(stats::rnorm(45), 15)
  y <- sin(x[, 1]) + 0.3 * stats::rnorm(15)
  w <- stats::runif(15, 0.5, 2)
  for (more in shape_settings[-1]) {
    more$centre_weights <- NULL
    for (type in c("equal", "select_different")) {
      prior <- do.call(bark_setting, c(list(type, 1.5, 6), more))
      for (state in bark_walk_cpp(prior, x, y, w, 15, 1, 3)) {
        dense <- shaped_posterior(shaped_state(state, x), x, y, w)
        expect_lt(abs(state$log_likelihood - dense$log_likelihood), 1e-8)
        mean <- (state$mean - dense$mean) * sqrt(state$varphi)
        expect_lt(max(abs(c(mean, 0))), 1e-7)
      }
    }
  }
})

# Laws -------------------------------------------------------------------------

shape_sums <- function(fit, values) {
  vapply(fit$runs, function(run) {
    n <- length(run$draws$m)
    draw <- c(rep(seq_len(n), run$draws$m), seq_len(n))
    drop(rowsum(c(values(run$draws), numeric(n)), draw))
  }, numeric(length(fit$runs[[1]]$draws$m)))
}

test_that("chains of the prior alone have its laws of places and shapes", {
  # Null: nearly standard normal scores, 15 of them: |z| > 5.5 somewhere has
  # probability 6e-7.
  weights <- c(1, 2, 0, 1)
  at <- c(0.3, 0.7 * weights / 4)
  fit <- shaped_tiny("equal",
    centres = centre_rows(weights, 0.3), iter = 6000, prior_only = TRUE
  )
  copies <- function(i) {
    shape_sums(fit, function(d) d$copies * (d$location == i))
  }
  z <- vapply(0:4, function(i) mean_score(copies(i), 3 * at[[i + 1]]), 0)
  z <- c(z, mean_score(copies(0) == 0, exp(-3 * 0.3)))
  expect_lt(max(abs(z)), 5.5)
  expect_identical(max(copies(3)), 0)

  sd <- 0.4
  fit <- shaped_tiny("select_different",
    centres = centre_near_rows(sd, weights, 0.3), own_scales = TRUE,
    iter = 6000, prior_only = TRUE
  )
  kernel <- function(d) d$location != 0
  centre <- function(d, l) matrix(d$centre, 2)[l, ]
  rows <- weights / 4
  x <- tiny_shape_x
  density <- function(c) drop(rows %*% outer(x[, 1], c, stats::dnorm, sd = sd))
  inside <- stats::integrate(density, 0, 1)$value
  lambda <- function(d) {
    colSums(exp(matrix(d$own_log_lambda, 2)) * matrix(d$own_included, 2))
  }
  number <- function(d) colSums(matrix(d$own_included, 2))
  z <- vapply(list(
    list(function(d) d$copies, 3), list(function(d) d$location == 0, 0.9),
    list(function(d) kernel(d) * centre(d, 1), 2.1 * sum(rows * x[, 1])),
    list(
      function(d) kernel(d) * centre(d, 1) * centre(d, 2),
      2.1 * sum(rows * x[, 1] * x[, 2])
    ),
    list(
      function(d) kernel(d) * centre(d, 2)^2,
      2.1 * (sum(rows * x[, 2]^2) + sd^2)
    ),
    list(
      function(d) kernel(d) * (centre(d, 1) > 0 & centre(d, 1) < 1),
      2.1 * inside
    ),
    # d is uniform on 0, 1, 2, and S ~ Ga(1, 1) unless it is 0.
    list(function(d) number(d) == 2, 0.7),
    list(function(d) kernel(d) * (number(d) == 0), 0.7),
    list(function(d) exp(-lambda(d)) * (number(d) > 0), 1.4 / 2)
  ), function(one) mean_score(shape_sums(fit, one[[1]]), one[[2]]), 0)
  expect_lt(max(abs(z)), 5.5, label = toString(round(z, 1)))
})

shape_importance <- function(prior, x, y, at, n) {
  out <- replicate(n, {
    state <- draw_shaped_prior(prior, x)
    m <- length(state$location)
    if (m == 0) {
      return(c(
        sum(stats::dnorm(y, 0, 1 / sqrt(state$noise), log = TRUE)),
        0, 1 / sqrt(state$noise), 0, 0
      ))
    }
    dense <- shaped_posterior(state, x, y)
    kernel <- state$location != 0
    c(
      dense$log_likelihood, m, 1 / sqrt(state$noise),
      sum(kernel), shaped_columns(state, t(at)) %*% dense$mean
    )
  })
  list(log_l = out[1, ], answers = out[-1, ])
}

shape_cases <- list(
  list("select_different", 1.5, NULL, TRUE),
  list("select_equal", 1, centre_near_rows(0.8, 1:4, 0.3), FALSE),
  list("select_different", 1, centre_near_rows(0.5), TRUE),
  list("select_different", 1, centre_rows(1:4, 0.4), FALSE),
  list("equal", 1, NULL, TRUE), list("different", 1.5, centre_near_rows(), TRUE)
)
if (!extended()) shape_cases <- shape_cases[1:4]
shape_draws <- if (extended()) 20000 else 3000
shape_at <- c(0.2, -0.4)

shape_fit <- function(case, ...) {
  shaped_tiny(case[[1]], case[[2]], case[[3]], case[[4]], ...)
}

#' Draws from the prior of a case, made once
shape_exact <- local({
  kept <- list()
  function(i, fit) {
    if (i > length(kept) || is.null(kept[[i]])) {
      kept[[i]] <<- withr::with_seed(5, shape_importance(
        fit$settings$prior, tiny_shape_x, fit$data$y, shape_at, shape_draws
      ))
    }
    kept[[i]]
  }
})

test_that("chains agree with importance sampling from the prior", {
  # Null: as in test-bark-chain.R, t with 23 degrees of freedom at worst: |z| >
  # 7.5 has probability 1e-7; 24 scores.
  for (i in seq_along(shape_cases)) {
    case <- shape_cases[[i]]
    fit <- shape_fit(case, chains = 24, iter = 200, warmup = 40)
    exact <- shape_exact(i, fit)
    w <- exp(exact$log_l)
    w <- w / sum(w)
    mean <- drop(exact$answers %*% w)
    se <- sqrt(drop((exact$answers - mean)^2 %*% w^2))
    estimates <- vapply(fit$runs, function(run) {
      one <- fit
      one$runs <- list(run)
      one <- sealed(one)
      pool <- bark_pool(one)
      c(
        mean(chain_matrices(one)$J), mean(chain_matrices(one)$sigma),
        sum((pool$location != 0) * pool$copies) / length(pool$m),
        predict(one, t(shape_at))
      )
    }, numeric(4))
    own <- apply(estimates, 1, stats::sd) / sqrt(24)
    z <- (rowMeans(estimates) - mean) / sqrt(own^2 + se^2)
    expect_lt(max(abs(z)), 7.5, label = toString(c(
      unlist(case[c(1, 2, 4)]), format(case[[3]]), round(z, 1)
    )))
  }
})

test_that("the evidence agrees with importance sampling", {
  # Null: as in test-bark-evidence.R, t with 19 degrees of freedom at worst: |t|
  # > 8 has probability 2e-7.
  fit <- shape_fit(shape_cases[[3]], chains = 1, iter = 2, warmup = 1)
  w <- exp(shape_exact(3, fit)$log_l)
  z <- evidence(fit,
    n_temps = 6, warmup = 20, iter = 80, chains = 20, seed = 3
  )
  own <- stats::sd(z$replicates) / sqrt(20)
  t <- (z$log_evidence - log(mean(w))) /
    sqrt(own^2 + (stats::sd(w) / mean(w))^2 / shape_draws)
  expect_lt(abs(t), 8)
})

test_that("probit models do so, too", {
  for (more in shape_settings[c("near", "own", "both")]) {
    prior <- do.call(bark_setting, c(
      list("select_different", noise_fixed = TRUE, noise_precision = 1), more
    ))
    moves <- c(
      "birth_death", "relocate", "local", "gather", "latent", "magnitude",
      if (isTRUE(more$own_scales)) "flip"
    )
    # Null: at most 190 scores per call and 19 calls; |z| > 6 has probability
    # 7e-6.
    for (move in moves) {
      out <- bark_invariance_cpp(
        prior, five_rows, rep(1, 5), move, 4, shape_pairs, 1, 7, "probit", 0.6
      )
      z <- paired_scores(out, c(1:9, 11:20))
      expect_lt(max(abs(c(z, 0))), 6, label = move)
    }
  }
})

# Runs and fits ----------------------------------------------------------------

shape_fits <- local({
  fits <- NULL
  function() {
    if (is.null(fits)) {
      data <- bark_data()
      prior <- function(...) bark_prior_paper("select_different", ...)
      fits <<- list(
        uneven = bark_quick(y ~ x1 + x2, data,
          prior = prior(centres = centre_rows(1:30, 0.2))
        ),
        near = bark_quick(y ~ x1 + x2, data,
          prior = prior(centres = centre_near_rows(0.4))
        ),
        own = bark_quick(y ~ x1 + x2, data, prior = prior(own_scales = TRUE)),
        both = bark_quick(class ~ x1 + x2, data, prior = bark_prior_paper(
          "different",
          centres = centre_near_rows(0.4, intercept = 0.1), own_scales = TRUE
        ))
      )
    }
    fits
  }
})

test_that("runs in parts equal runs in one go", {
  for (sweep in c("full", "single")) {
    for (fit in shape_fits()) {
      engine <- fit_engine(fit)
      engine$config$sweep <- sweep
      engine$config$n_temps <- 2
      expect_identical(
        run_parts(engine, c(13, 40, 1, 46)), run_parts(engine, 100)
      )
    }
  }
  fit <- shape_fits()$both
  more <- suppressWarnings(update(fit, iter = 10))
  long <- bark_quick(class ~ x1 + x2, bark_data(), prior = bark_prior_paper(
    "different",
    centres = centre_near_rows(0.4, intercept = 0.1), own_scales = TRUE
  ), iter = 50)
  expect_identical(bark_pool(more), bark_pool(long))
})

test_that("predictions and partial dependence agree with plain R", {
  at <- matrix(c(0, 0.4, 1, 0.3, 0.7, 0.2), 3, dimnames = list(
    NULL, c("x1", "x2")
  ))
  for (fit in shape_fits()) {
    scaling <- fit$settings$scaling
    k_at <- function(i, x) {
      state <- shaped_draw(fit, i)
      drop(shaped_columns(state, scaling_x(scaling, x)) %*% state$beta)
    }
    draws <- predict(fit, as.data.frame(at), type = "draws")
    x <- fit$data$x
    x[, "x1"] <- 0.4
    for (i in c(1, 40, 80)) {
      expect_equal(
        draws[i, ], unscale_mean(scaling, k_at(i, at)),
        tolerance = 1e-10
      )
    }
    if (is_class_fit(fit)) next
    pd <- partial_dependence(fit, "x1", list(x1 = c(0.4, 0.9)))
    mean <- mean(predict(fit, as.data.frame(x)))
    expect_equal(pd$mean[[1]], mean, tolerance = 1e-8)
  }
})

test_that("methods handle shapes", {
  fits <- shape_fits()
  for (fit in fits) {
    out <- utils::capture.output(print(fit))
    expect_lte(length(out), 15)
    expect_output(print(summary(fit)), "P\\(intercept among the kernels\\)")
    expect_s3_class(importance(fit), "kb_importance")
    draws <- as_draws(fit)
    expect_false(anyNA(draws))
    expect_true(is.finite(logLik(fit)))
    expect_true(all(is.finite(coef(fit, 40))))
    expect_identical(length(coef(fit, 40)), 1L + sum(
      shaped_draw(fit, 40)$location != 0
    ))
    grDevices::pdf(NULL)
    plot(fit)
    plot(fit, type = "k")
    plot(importance(fit))
    grDevices::dev.off()
    pool <- bark_pool(fit)
    if (has_own_centres(fit)) expect_length(pool$centre, 2 * sum(pool$m))
    if (has_own_scales(fit)) expect_length(pool$own_included, 2 * sum(pool$m))
    # What a stopped run leaves.
    cut <- head_draws(fit, fit$runs[[1]], 7)$draws
    m <- sum(cut$m)
    expect_identical(cut$beta, fit$runs[[1]]$draws$beta[seq_len(m)])
    for (name in intersect(names(cut), c(
      "centre", "own_log_lambda", "own_included"
    ))) {
      expect_identical(
        cut[[name]], fit$runs[[1]]$draws[[name]][seq_len(2 * m)]
      )
    }
  }
  expect_error(inclusion(fits$near), class = "kb_error_not_defined")
  expect_true(all(inclusion(fits$own)$probability <= 1))
  expect_named(coef(fits$near, 3)[2], "kernel 1")
})

test_that("the share of kernels counts them by their coefficients", {
  fit <- shape_fits()$own
  i <- 60
  state <- shaped_draw(fit, i)
  w <- abs(state$beta) * (state$location != 0)
  draws <- as.data.frame(as_draws(fit))[i, ]
  expect_equal(
    unlist(draws[c("lambda[1]", "lambda[2]")], use.names = FALSE),
    drop(state$lambda %*% w) / sum(w)
  )
  expect_equal(
    unlist(draws[c("delta[1]", "delta[2]")], use.names = FALSE),
    drop((state$lambda > 0) %*% w) / sum(w)
  )
})

test_that("degenerate settings give an answer or an error", {
  only <- shaped_tiny(centres = centre_near_rows(0.5, intercept = 1))
  expect_true(all(bark_pool(only)$location == 0))
  expect_true(all(is.finite(predict(only))))
  none <- shaped_tiny(centres = centre_rows(intercept = 0))
  expect_false(any(bark_pool(none)$location == 0))
  one_row <- shaped_tiny(
    x = tiny_shape_x[1, , drop = FALSE], y = 0.8,
    centres = centre_near_rows(0.5), own_scales = TRUE
  )
  expect_true(all(is.finite(predict(one_row, tiny_shape_x))))
  line <- shaped_tiny("select_equal",
    x = c(1, 1, 2, 2), own_scales = TRUE, centres = centre_near_rows(0.1)
  )
  expect_true(all(is.finite(predict(line, c(1, 30)))))
  expect_error(centre_rows(c(1, -1)), class = "kb_error_argument")
  expect_error(centre_rows(c(0, 0)), class = "kb_error_argument")
  expect_error(centre_rows(c(1, NA)), class = "kb_error_argument")
  expect_error(centre_rows(intercept = 1.2), class = "kb_error_argument")
  expect_error(centre_near_rows(0), class = "kb_error_argument")
  expect_error(bark_prior_paper(centres = "rows"), class = "kb_error_argument")
  expect_error(bark_prior_paper(own_scales = 1), class = "kb_error_argument")
  expect_error(
    shaped_tiny(centres = centre_rows(1:3)), class = "kb_error_argument"
  )
  own <- prior_for(bark_prior_paper(own_scales = TRUE), "gaussian")
  expect_identical(own$scales, c(0.5, 0.05))
  expect_identical(bark_prior_paper(scales = 1:2, own_scales = TRUE)$scales, c(1, 2))
  expect_output(print(centre_near_rows(0.2, intercept = 0.1)), "sd 0.2")
  expect_output(print(bark_prior_paper(
    centres = centre_rows(1:3), own_scales = TRUE
  )), "weighted")
})
