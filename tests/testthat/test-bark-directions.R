# Kernels of bark() that see the predictors along a few directions.
#
# Seen to fail, one mutant at a time:
# - moves: the ratio inverted, its power left out, steps along a vector that is
#   not orthogonal, so that the direction is not a unit vector, columns left
#   unchanged, the old direction not removed from the exponents, angles that
#   depend on the sign of a direction, steps that adapt after the warmup;
# - prior: normal numbers replaced by uniform ones, all directions equal, none
#   drawn;
# - state: directions or their steps missing from the saved state, no projection
#   along a direction that was idle;
# - predictions: predictors not projected, centres along another draw's
#   directions; partial dependence: the first point for all.
# Not visible, because right: steps along a vector that is not orthogonal,
# normalised again; at power 0, one-step invariance with another power.
# a unit vector again; at power 0, one-step invariance with another power.

direction_setting <- function(d = 1, ...) bark_setting(..., directions = d)

direction_w <- c(1, 0.1, 5, 1, 2.5)

# The projections of x along the directions of a draw.
projected <- function(fit, i, x, pool = bark_pool(fit)) {
  u <- bark_directions(fit, pool)[, , i]
  scaling_x(fit$settings$scaling, x) %*% matrix(u, ncol(fit$data$x))
}

direction_fits <- local({
  fits <- NULL
  function() {
    if (is.null(fits)) {
      data <- bark_data()
      data$grade <- cut(data$y, c(-Inf, 10, 16, Inf), ordered_result = TRUE)
      prior <- function(d, ...) bark_prior_paper(..., directions = d)
      fits <<- list(
        one = bark_quick(y ~ x1 + x2 + x4, data,
          prior = prior(1, "different")
        ),
        two = bark_quick(y ~ x1 + x2 + x4, data, prior = prior(2)),
        heavy = bark_quick(y ~ x1 + x2, data,
          prior = prior(2, "equal", df = 4)
        ),
        weighted = bark_quick(y ~ x1 + x4, data,
          prior = prior(1, "select_equal", alpha = 1.5,
            centres = centre_rows(1:30, 0.2)
          ), weights = w
        ),
        classes = bark_quick(class ~ x1 + x2 + x4, data,
          prior = prior(2, "select_equal")
        ),
        ordered = bark_quick(grade ~ x1 + x2, data,
          prior = prior(1, "different")
        )
      )
    }
    fits
  }
})

# The core ---------------------------------------------------------------------

test_that("updates keep the likelihood of dense algebra", {
  withr::local_seed(1)
  x <- matrix(stats::rnorm(60), 15)
  y <- sin(x[, 1]) + 0.3 * stats::rnorm(15)
  w <- stats::runif(15, 0.5, 2)
  for (type in c("different", "select_equal")) {
    for (alpha in c(1, 1.5)) {
      prior <- direction_setting(2, type, alpha, 6)
      walk <- bark_walk_cpp(prior, x, y, w, 40, 1, 3)
      for (state in walk) {
        dense <- dense_log_likelihood(
          state, x %*% state$directions, y, w, alpha
        )
        expect_lt(abs(state$log_likelihood - dense), 1e-8)
        expect_lt(max(abs(colSums(state$directions^2) - 1)), 1e-12)
      }
      expect_gt(length(unique(lapply(walk, `[[`, "directions"))), 20)
    }
  }
})

test_that("along the axes kernels are functions of the predictors", {
  y <- c(0.4, -1.1, 0.7, 1.9, -0.3)
  plain <- direction_setting(type = "select_different")
  plain$directions <- NULL
  along <- direction_setting(3, "select_different")
  state <- function(prior) {
    bark_state_cpp(
      prior, five_rows, y, direction_w, c(0, 2, 4), c(1, 0.2, 3),
      c(0.3, -1, 2), c(1L, 0L, 1L), 1.7, "birth_death", 50, 1
    )
  }
  found <- state(along)
  expect_identical(found$directions, diag(3))
  expect_identical(found[names(found) != "directions"], state(plain))
  for (move in c("local", "gather", "relocate", "scale_one", "flip")) {
    drawn <- lapply(list(plain, along), function(prior) {
      bark_places_cpp(
        prior, five_rows, y, c(1L, 3L), 1, 0.2, 1.5, move, 200, 4
      )
    })
    expect_identical(drawn[[1]], drawn[[2]])
  }
})

test_that("moves leave the joint law of parameters and data invariant", {
  # Null: nearly standard normal scores, at most 135 per call and 16 calls; |z|
  # above 6 somewhere has a probability of 4e-6.
  pairs <- if (extended()) 60000 else 3000
  score <- function(move, prior, pairs, power = 1, repeats = 4, ...) {
    out <- bark_invariance_cpp(
      prior, five_rows, direction_w, move, repeats, pairs, power, 7, ...
    )
    z <- paired_scores(out, c(if (power == 0) 1:10 else 1:11, 15:18))
    expect_lt(max(abs(c(z, 0))), 6, label = paste(move, prior$type, power))
  }
  for (move in c("rotate", "redirect", "scale_all", "flip", "gather")) {
    for (type in c("equal", "select_different")) {
      score(move, direction_setting(2, type), pairs)
    }
  }
  for (move in c("rotate", "redirect")) {
    score(move, direction_setting(1, alpha = 1.5), pairs)
    score(move, direction_setting(3, "select_equal"), 4 * pairs, 0, 16)
    score(move, direction_setting(2, nu = 8), pairs)
  }
})

test_that("moves do so with latent responses and row weights, too", {
  # Null: as above, at most 171 scores per call and 4 calls.
  pairs <- if (extended()) 40000 else 2000
  for (family in c("probit", "student")) {
    prior <- direction_setting(2, df = 3,
      noise_fixed = family == "probit", noise_precision = 1
    )
    for (move in c("rotate", "redirect")) {
      out <- bark_invariance_cpp(
        prior, five_rows, rep(1, 5), move, 4, pairs, 1, 7, family, 0.6
      )
      rows <- if (family == "probit") c(1:9, 11:18) else 1:20
      z <- paired_scores(out, rows)
      expect_lt(max(abs(c(z, 0))), 6, label = paste(move, family))
    }
  }
})

test_that("a direction in the plane has the density of its angle", {
  # Everything else is fixed: the posterior of the angle is its likelihood, by
  # quadrature. Null: nearly standard normal scores, |z| > 6 in 32 of them.
  x <- matrix(c(0, 1.2, -0.7, 0.4, 0.9, -1, 0.3, -1.4), 4)
  y <- c(1.2, -0.8, 0.9, -0.2)
  angle <- (seq_len(400) - 0.5) * pi / 400
  density <- vapply(angle, function(a) {
    state <- list(
      location = c(0, 1, 3), copies = rep(1, 3), varphi = rep(0.7, 3),
      log_lambda = 0.4, included = 1, noise = 4
    )
    exp(dense_log_likelihood(state, x %*% c(cos(a), sin(a)), y, rep(1, 4), 1))
  }, 0)
  part <- cut(angle, seq(0, pi, length.out = 9), labels = FALSE)
  exact <- drop(rowsum(density, part)) / sum(density)
  # The density is far from flat, so that more than the prior is tested.
  expect_gt(max(exact) / min(exact), 10)
  for (move in c("rotate", "redirect")) {
    u <- bark_turns_cpp(
      direction_setting(), x, y, c(0L, 1L, 3L), 0.7, 0.4, 4, move, 40000, 5
    )
    drawn <- findInterval(atan2(u[2, ], u[1, ]) %% pi, (1:7) * pi / 8) + 1
    z <- vapply(1:8, function(k) mean_score(drawn == k, exact[[k]]), 0)
    expect_lt(max(abs(z)), 6, label = paste(move, toString(round(z, 1))))
    # Both signs are equally likely, and so are both ways.
    z <- c(mean_score(u[1, ] > 0, 0.5), mean_score(u[2, ] > 0, 0.5))
    if (move == "redirect") expect_lt(max(abs(z)), 6)
  }
})

# Laws -------------------------------------------------------------------------

#' Scores of directions against the uniform law on the sphere: u_i^2 ~ Be(1 / 2,
#' (p - 1) / 2), and two of them independent
sphere_scores <- function(fit) {
  u <- bark_directions(fit)
  p <- dim(u)[[1]]
  column <- function(v) matrix(v, ncol = length(fit$runs))
  beta <- function(v) stats::pbeta(v^2, 0.5, (p - 1) / 2)
  each <- unlist(lapply(seq_len(p), function(i) {
    c(
      uniform_scores(column(beta(u[i, 1, ]))),
      uniform_scores(column(beta(u[i, 2, ]))), mean_score(column(u[i, 1, ]))
    )
  }))
  inner <- colSums(u[, 1, ] * u[, 2, ])
  c(each,
    inner = uniform_scores(column(beta(inner))),
    product = mean_score(column(u[1, 1, ] * u[2, 1, ]))
  )
}

test_that("chains of the prior alone have directions uniform on the sphere", {
  # Null: nearly standard normal scores, 30 per setting, 3 settings: |z| > 5.5
  # somewhere has probability 4e-6.
  for (type in c("equal", "different", "select_different")) {
    fit <- prior_only_fit(
      bark_prior_paper(type,
        n_kernels = 6, discrepancy = 3, noise = noise_gamma(3, 0.5),
        directions = 2
      ),
      n = 12, p = 3, iter = if (extended()) 40000 else 3000, warmup = 50
    )
    z <- sphere_scores(fit)
    d <- vapply(fit$runs, function(run) {
      colSums(matrix(run$draws$included, 2))
    }, numeric(length(fit$runs[[1]]$draws$m)))
    z <- c(z, if (bark_selects(type)) inclusion_scores(d, 2))
    total <- matrix(rowSums(bark_scales(fit)), ncol = 2)
    z <- c(z, S = uniform_scores(stats::pgamma(total, 1, 1), d > 0))
    expect_lt(max(abs(z)), 5.5, label = paste(type, names(which.max(abs(z)))))
  }
})

direction_importance <- function(prior, x, y, at, n) {
  out <- replicate(n, {
    state <- draw_bark_prior(prior, nrow(x), prior$directions)
    u <- matrix(stats::rnorm(ncol(x) * prior$directions), ncol(x))
    u <- u / rep(sqrt(colSums(u^2)), each = ncol(x))
    z <- x %*% u
    v <- slot_variances(state, prior$alpha)
    mean <- 0
    if (length(v) > 0) {
      k <- slot_columns(state, z)
      lambda <- exp(state$log_lambda) * state$included
      k_at <- vapply(state$location, function(l) {
        if (l == 0) 1 else exp(-sum(lambda * (at %*% u - z[l, ])^2))
      }, 0)
      total <- k %*% (v * t(k)) + diag(1 / state$noise, nrow(x))
      mean <- sum(k_at * v * crossprod(k, solve(total, y)))
      log_l <- dense_log_likelihood(state, z, y, rep(1, nrow(x)), prior$alpha)
    } else {
      log_l <- sum(stats::dnorm(y, 0, 1 / sqrt(state$noise), log = TRUE))
    }
    c(log_l, sum(state$copies), mean, u[1, 1]^2, u[1, 1] * u[2, 1])
  })
  list(weight = exp(out[1, ]), answers = out[-1, ])
}

direction_y <- c(1.4, -1.2, 0.9, -0.2)

direction_tiny <- function(d, type, chains, iter, warmup = 40, ...) {
  suppressWarnings(bark(tiny_shape_x, direction_y,
    prior = bark_prior_paper(type,
      eps = 0.5, gamma = 1.5, noise = noise_gamma(6, 0.5), directions = d
    ),
    control = mcmc_control(chains, warmup, iter, ...), scale = FALSE, seed = 1
  ))
}

test_that("chains and evidence agree with importance sampling", {
  # Null: t with 19 degrees of freedom at worst: |z| > 8 has probability 2e-7;
  # 9 scores.
  at <- c(0.2, -0.4)
  for (case in list(list(1, "different", 1), list(2, "select_different", 2))) {
    fit <- direction_tiny(case[[1]], case[[2]], 20, 250, n_temps = case[[3]])
    exact <- withr::with_seed(5, direction_importance(
      fit$settings$prior, tiny_shape_x, direction_y, at,
      if (extended()) 40000 else 4000
    ))
    w <- exact$weight / sum(exact$weight)
    mean <- drop(exact$answers %*% w)
    se <- sqrt(drop((exact$answers - mean)^2 %*% w^2))
    estimates <- vapply(fit$runs, function(run) {
      one <- fit
      one$runs <- list(run)
      one <- sealed(one)
      u <- bark_directions(one)
      c(
        mean(chain_matrices(one)$J), predict(one, t(at)),
        mean(u[1, 1, ]^2), mean(u[1, 1, ] * u[2, 1, ])
      )
    }, mean)
    own <- apply(estimates, 1, stats::sd) / sqrt(20)
    z <- (rowMeans(estimates) - mean) / sqrt(own^2 + se^2)
    expect_lt(max(abs(z)), 8, label = paste(
      case[[2]], toString(round(z, 1))
    ))
  }
  found <- evidence(fit,
    n_temps = 6, warmup = 20, iter = 80, chains = 20, seed = 3
  )
  own <- stats::sd(found$replicates) / sqrt(20)
  w <- exact$weight
  z <- (found$log_evidence - log(mean(w))) /
    sqrt(own^2 + stats::var(w) / mean(w)^2 / length(w))
  expect_lt(abs(z), 8)
})

# Runs and fits ----------------------------------------------------------------

test_that("runs in parts equal runs in one go", {
  for (sweep in c("full", "single")) {
    for (fit in direction_fits()) {
      engine <- fit_engine(fit)
      engine$config$sweep <- sweep
      engine$config$n_temps <- 2
      expect_identical(
        run_parts(engine, c(13, 40, 1, 46)), run_parts(engine, 100)
      )
    }
  }
  more <- suppressWarnings(update(direction_fits()$two, iter = 10))
  long <- bark_quick(y ~ x1 + x2 + x4, bark_data(),
    prior = bark_prior_paper(directions = 2), iter = 50
  )
  expect_identical(bark_pool(more), bark_pool(long))
})

test_that("directions turn, and their steps adapt only in the warmup", {
  engine <- fit_engine(direction_fits()$two)
  states <- lapply(c(30, 60, 100), function(n) run_parts(engine, n))
  times <- lapply(states, function(s) s$levels[[1]]$steps$directions$times)
  expect_true(all(times[[1]] > 0) && all(times[[2]] > times[[1]]))
  expect_identical(times[[3]], times[[2]])
  accepted <- states[[3]]$accepted / states[[3]]$tried
  expect_gt(accepted[["rotate"]], 0.15)
  # A prior without directions has no such moves.
  plain <- run_parts(fit_engine(bark_fits()$plane), 5)
  expect_false(any(c("rotate", "redirect") %in% names(plain$tried)))
  expect_length(plain$levels[[1]]$steps$directions$times, 0)
  expect_null(plain$draws$directions)
})

test_that("predictions and partial dependence agree with plain R", {
  at <- data.frame(x1 = c(0, 0.4, 1), x2 = c(0.3, 0.7, 0.2), x4 = c(1, 0, 0.5))
  for (fit in direction_fits()) {
    new <- at[colnames(fit$data$x)]
    draws <- predict(fit, new, type = "draws")
    states <- pool_states(bark_pool(fit), n_inputs(fit))
    for (i in c(1, 40, 80)) {
      k <- slot_columns(states[[i]], rbind(
        projected(fit, i, fit$data$x), projected(fit, i, as.matrix(new))
      ))
      f <- utils::tail(drop(k %*% states[[i]]$beta), 3)
      expect_equal(
        draws[i, ], unscale_mean(fit$settings$scaling, f), tolerance = 1e-10
      )
    }
    x <- as.data.frame(fit$data$x)
    x$x1 <- 0.4
    type <- if (is_class_fit(fit)) "response" else "link"
    if (!has_classes(fit)) {
      pd <- partial_dependence(fit, "x1", list(x1 = c(0.9, 0.4)))
      mean <- mean(predict(fit, x))
    } else {
      pd <- partial_dependence(fit, "x1", list(x1 = c(0.9, 0.4)), type = type)
      f <- predict(fit, x, type = "draws")
      mean <- mean(if (is_class_fit(fit)) stats::pnorm(f) else f)
    }
    # For ordered classes the coefficients are integrated out here, not there.
    if (is_ordered(fit)) mean <- mean(predict(fit, x, type = "link"))
    expect_equal(pd$mean[[2]], mean, tolerance = 1e-8)
  }
})

test_that("methods handle directions", {
  for (fit in direction_fits()) {
    p <- ncol(fit$data$x)
    d <- n_inputs(fit)
    out <- utils::capture.output(print(fit))
    expect_lte(length(out), 15)
    expect_match(out, paste0("directions: +", d, " of ", p), all = FALSE)
    utils::capture.output(print(summary(fit)))
    draws <- as.data.frame(as_draws(fit))
    expect_false(anyNA(draws))
    u <- bark_directions(fit)
    for (l in seq_len(d)) {
      name <- paste0("directions[", seq_len(p), ",", l, "]")
      expect_equal(unname(as.matrix(draws[name])), t(u[, l, ]))
      expect_equal(rowSums(draws[name]^2), rep(1, nrow(draws)))
    }
    lambda <- as.matrix(draws[paste0("lambda[", seq_len(d), "]")])
    squares <- apply(u^2, 1, function(v) {
      rowSums(lambda * matrix(v, nrow(lambda), byrow = TRUE))
    })
    share <- squares / pmax(rowSums(lambda), 1e-300)
    table <- importance(fit)
    expect_equal(table$mean, unname(colMeans(share)))
    expect_equal(
      table$upper, unname(apply(share, 2, stats::quantile, 0.95))
    )
    expect_equal(table$inclusion, rep(mean(rowSums(lambda) > 0), p))
    expect_output(print(table), "Shares of the predictors")
    expect_true(is.finite(logLik(fit)))
    cut <- head_draws(fit, fit$runs[[1]], 7)$draws
    expect_identical(
      cut$directions, fit$runs[[1]]$draws$directions[seq_len(7 * p * d)]
    )
    expect_length(cut$log_lambda, 7 * d)
    grDevices::pdf(NULL)
    plot(fit)
    plot(table)
    grDevices::dev.off()
  }
  # Coordinates count: one direction in space has two, and a scale.
  fit <- direction_fits()$one
  expect_equal(attr(logLik(fit), "df"), mean(bark_pool(fit)$m) + 1 + 2 + 1)
})

test_that("invalid combinations are refused, all others give a result", {
  refused <- function(...) {
    expect_error(bark_prior_paper(...), class = "kb_error_not_defined")
  }
  refused(directions = 1, own_scales = TRUE)
  refused(directions = 1, centres = centre_near_rows(0.5))
  refused(directions = 1, approximation = "truncation")
  for (bad in list(0, 1.5, -1, NA, "two", c(1, 2))) {
    expect_error(bark_prior_paper(directions = bad), class = "kb_error_argument")
  }
  data <- bark_data()
  fit <- function(formula, ...) bark_quick(formula, data, ...)
  expect_error(
    fit(y ~ x1 + x2, prior = bark_prior_paper(directions = 3)),
    class = "kb_error_argument"
  )
  expect_error(
    fit(y ~ x1 + x2 + x4, prior = bark_prior_paper(directions = 2, n_signals = 2)),
    "directions, 2", class = "kb_error_argument"
  )
  expect_error(
    fit(g ~ x1 + x2, prior = bark_prior_paper(directions = 1)),
    class = "kb_error_not_defined"
  )
  expect_output(print(bark_prior_paper(directions = 2)), "along 2 directions")
  # One predictor, whose direction is 1 or -1; no kernels at all; one row.
  line <- fit(y ~ x1, prior = bark_prior_paper("different", directions = 1))
  expect_true(all(abs(bark_pool(line)$directions) == 1))
  expect_true(all(is.finite(predict(line))))
  none <- fit(y ~ x1 + x2, prior = bark_prior_paper(
    "different",
    n_kernels = 0.01, discrepancy = 0.01, directions = 1
  ), iter = 20)
  table <- importance(none)
  numbers <- setdiff(names(table), c("variable", grep("_se$", names(table),
    value = TRUE
  )))
  expect_true(all(is.finite(as.matrix(table[numbers]))))
  one_row <- bark_quick(matrix(c(1, 2), 1), 0.3,
    prior = bark_prior_paper("different", directions = 2), iter = 20
  )
  expect_true(all(is.finite(predict(one_row, matrix(1:4, 2)))))
})
