# Terms beside the kernels of bark(): linear ones and groups, integrated out by
# whitening. States and draws against dense algebra, one-step invariance of the
# moves, chains against quadrature. The model is in derivations/bark.md, 5.1.
#
# Seen to fail, one mutant at a time:
# - whitening: log |V| dropped (dense likelihoods only: it cancels in moves),
#   another function of D in T, no undo, R without the noise, no weights of rows
#   (Student's too) in U, kernels' columns without T, the noise or its T from
#   before the last move;
# - chains: coarse to fine, levels without rows counted, factors that are not
#   nested in one chain, the shift of inactive ones left out; the turn not
#   stored;
# - coefficients: mean without 1 / (1 + d), not in the metric of those before,
#   the part of an inactive factor not added back;
# - covariances: degrees of freedom plus 1, half of the prior's scale matrix,
#   rate of a without nu_b, its shape for one coefficient, its prior of shape 1,
#   Bartlett's chi^2 with the same degrees of freedom;
# - scale: power nu_b + q, no prior of a, residuals or one half of Sigma not
#   changed; where data say little: coefficients not changed, no half in the
#   likelihood ratio;
# - noise: n - 1; row weights from residuals with the old row weights; draws:
#   the level from T f, f from T f.
# Not seen, because their effects are of the fourth order in a step, or nearly
# none: the part of a coefficient not changed before a second step of its scale;
# steps whose length depends on the coefficients (the law of the lengths hardly
# depends on their unit).

n_rows <- 14
terms_x <- withr::with_seed(2, matrix(stats::rnorm(2 * n_rows), n_rows))
terms_w <- rep(c(1, 0.5, 3, 1.5, 0.2, 2, 1), 2)

# Problems ---------------------------------------------------------------------

grouping <- function(group, q = 1, scale = c(0.7, 1.4)[seq_len(q)],
                     count = max(group)) {
  z <- cbind(1, terms_x[, 2], deparse.level = 0)[, seq_len(q), drop = FALSE]
  if (q == 1) z[] <- seq(0.6, 1.4, length.out = n_rows)
  list(group = as.integer(group), count = count, z = z, scale = scale)
}

terms_list <- function(..., linear = cbind(1, terms_x[, 1]),
                       sd = c(2, 0.8)[seq_len(ncol(linear))]) {
  list(
    linear = unname(linear), linear_sd = sd, groupings = list(...)
  )
}

fine <- rep(1:6, length.out = n_rows)
coarse <- c(2, 1, 3, 3, 1, 2)[fine]
crossed <- rep(1:4, c(5, 2, 3, 4))
none <- matrix(0, n_rows, 0)

# With the factors that are active at each turn.
problems <- list(
  linear = list(terms = terms_list(), active = list(integer())),
  intercepts = list(
    terms = terms_list(grouping(crossed), linear = none), active = list(1)
  ),
  slopes = list(terms = terms_list(grouping(crossed, 2)), active = list(1)),
  nested = list(
    terms = terms_list(grouping(coarse), grouping(fine, 2)),
    active = list(1:2)
  ),
  crossed = list(
    terms = terms_list(grouping(fine), grouping(crossed, 2)),
    active = list(1, 2)
  ),
  three = list(
    terms = terms_list(grouping(coarse, 2), grouping(crossed), grouping(fine)),
    active = list(c(1, 3), 2)
  ),
  # More levels than the factor that is nested in it, most of them without rows.
  empty_levels = list(
    terms = terms_list(grouping(coarse, 2, count = 9L), grouping(fine)),
    active = list(1:2)
  )
)

#' Values of all terms, fixed numbers
some_values <- function(terms) {
  withr::with_seed(5, list(
    gamma = stats::rnorm(length(terms$linear_sd)),
    factors = lapply(terms$groupings, function(g) {
      q <- ncol(g$z)
      root <- matrix(stats::rnorm(q * (q + 2)), q)
      list(
        b = matrix(stats::rnorm(q * g$count), q),
        sigma = tcrossprod(root) / 3, auxiliary = stats::rexp(q) + 0.1
      )
    })
  ))
}

# Dense algebra ----------------------------------------------------------------

#' One column per group and coefficient, in the order of b
group_design <- function(g) {
  q <- ncol(g$z)
  out <- matrix(0, nrow(g$z), q * g$count)
  for (i in seq_len(nrow(g$z))) {
    out[i, (g$group[i] - 1) * q + seq_len(q)] <- g$z[i, ]
  }
  out
}

#' Design and prior covariance of gamma and of the b of some factors
joint_design <- function(terms, values, factors) {
  blocks <- c(
    list(diag(terms$linear_sd^2, length(terms$linear_sd))),
    lapply(factors, function(k) {
      kronecker(diag(terms$groupings[[k]]$count), values$factors[[k]]$sigma)
    })
  )
  sizes <- vapply(blocks, nrow, 1L)
  prior <- matrix(0, sum(sizes), sum(sizes))
  for (k in seq_along(blocks)) {
    at <- sum(sizes[seq_len(k - 1)]) + seq_len(sizes[[k]])
    prior[at, at] <- blocks[[k]]
  }
  list(
    columns = do.call(cbind, c(
      list(terms$linear), lapply(terms$groupings[factors], group_design)
    )),
    prior = prior
  )
}

inactive_fit <- function(terms, values, active) {
  out <- numeric(nrow(terms$linear))
  for (k in setdiff(seq_along(terms$groupings), active)) {
    out <- out + drop(
      group_design(terms$groupings[[k]]) %*% c(values$factors[[k]]$b)
    )
  }
  out
}

#' Covariance of the response without kernels, and what is fixed
dense_terms <- function(terms, values, active, noise, weights) {
  joint <- joint_design(terms, values, active)
  list(
    covariance = joint$columns %*% joint$prior %*% t(joint$columns) +
      diag(1 / (noise * weights)),
    shift = inactive_fit(terms, values, active)
  )
}

# States -----------------------------------------------------------------------

kernels <- list(location = c(0, 3, 8), varphi = c(0.4, 2, 0.9))
kernel_columns <- slot_columns(list(
  location = kernels$location, log_lambda = c(-0.5, 0.2), included = c(1, 1)
), terms_x)
terms_y <- withr::with_seed(8, stats::rnorm(n_rows, 1, 2))
omega <- withr::with_seed(9, stats::rgamma(n_rows, 2, 2))
terms_f <- sin(terms_x[, 1])

terms_state <- function(problem, turn = 1, weights = terms_w, draws = 0,
                        family = "gaussian") {
  terms <- problem$terms
  bark_terms_state_cpp(
    bark_setting(df = 4), terms_x, terms_y, weights, terms, some_values(terms),
    kernels$location, kernels$varphi, c(-0.5, 0.2), 1.7, turn - 1, terms_f,
    draws, 3, family, if (family == "student") omega else numeric()
  )
}

#' Calls f with each problem, turn, weights (in all) and family
each_state <- function(f) {
  for (name in names(problems)) {
    problem <- problems[[name]]
    for (turn in seq_along(problem$active)) {
      f(problem, turn, rep(1, n_rows), "gaussian", rep(1, n_rows), name)
      f(problem, turn, terms_w, "gaussian", terms_w, name)
      f(problem, turn, terms_w, "student", terms_w * omega, name)
    }
  }
}

test_that("states with terms have dense likelihoods, covariances and means", {
  each_state(function(problem, turn, weights, family, all_weights, name) {
    state <- terms_state(problem, turn, weights, family = family)
    values <- some_values(problem$terms)
    dense <- dense_terms(
      problem$terms, values, problem$active[[turn]], 1.7, all_weights
    )
    k <- kernel_columns
    total <- dense$covariance + k %*% (t(k) / kernels$varphi)
    r <- chol(total)
    z <- backsolve(r, terms_y - dense$shift, transpose = TRUE)
    exact <- -sum(log(diag(r))) - sum(z^2) / 2 - n_rows / 2 * log(2 * pi)
    expect_lt(abs(state$log_likelihood - exact), 1e-9, label = name)
    precision <- crossprod(k, solve(dense$covariance, k)) + diag(kernels$varphi)
    expect_equal(state$covariance, solve(precision),
      tolerance = 1e-9, info = name
    )
    mean <- solve(precision, crossprod(
      k, solve(dense$covariance, terms_y - dense$shift)
    ))
    expect_equal(state$mean, drop(mean), tolerance = 1e-9, info = name)
    expect_equal(state$shift, dense$shift, tolerance = 1e-12, info = name)
    # T'T is the inverse of V, and the inverse of T is that.
    expect_equal(1.7 * crossprod(state$map), solve(dense$covariance),
      tolerance = 1e-9, info = name
    )
    expect_equal(state$back, diag(sqrt(all_weights)),
      tolerance = 1e-12, info = name
    )
  })
})

test_that("draws of coefficients have the dense conditional law", {
  # Null: 20 000 independent draws; each score is nearly standard normal, at
  # most 377 per state, 27 states: |z| > 6 somewhere has probability 2e-5.
  draws <- 20000
  each_state(function(problem, turn, weights, family, all_weights, name) {
    terms <- problem$terms
    state <- terms_state(problem, turn, weights, draws, family)
    expect_lt(state$error, 1e-9, label = name)
    values <- some_values(terms)
    sizes <- vapply(terms$groupings, function(g) ncol(g$z) * g$count, 1)
    at <- split(seq_len(sum(sizes)) + ncol(terms$linear), rep(
      seq_along(sizes), sizes
    ))
    active <- problem$active[[turn]]
    conditional <- function(joint, rest) {
      precision <- 1.7 * crossprod(joint$columns, all_weights * joint$columns) +
        solve(joint$prior)
      list(r = chol(precision), mean = 1.7 * solve(
        precision, crossprod(joint$columns, all_weights * rest)
      ))
    }
    joint <- joint_design(terms, values, active)
    rows <- c(seq_len(ncol(terms$linear)), unlist(at[active]))
    rest <- terms_y - terms_f - inactive_fit(terms, values, active)
    law <- conditional(joint, rest)
    z <- normal_scores(state$draws[rows, , drop = FALSE], drop(law$mean), law$r)
    expect_lt(max(abs(z)), 6, label = name)
    # One inactive factor, given the draws of the others.
    inactive <- setdiff(seq_along(sizes), active)
    if (length(inactive) != 1) return()
    own <- at[[inactive]]
    others <- state$draws[rows, ]
    joint_own <- list(
      columns = group_design(terms$groupings[[inactive]]),
      prior = kronecker(
        diag(terms$groupings[[inactive]]$count),
        values$factors[[inactive]]$sigma
      )
    )
    law <- conditional(joint_own, terms_y - terms_f - joint$columns %*% others)
    z <- normal_scores(
      state$draws[own, ] - law$mean, numeric(length(own)), law$r
    )
    expect_lt(max(abs(z)), 6, label = paste(name, "inactive"))
  })
})

# Laws -------------------------------------------------------------------------

law_scores <- function(problem, move, repeats, pairs, family = "gaussian",
                       redraw = FALSE, nu = 1.5, weights = terms_w, rows = NULL,
                       ...) {
  # Likelihoods before and after must be of the same active factors.
  stopifnot(repeats %% length(problem$active) == 0 || !is.null(rows))
  out <- bark_terms_law_cpp(
    bark_setting("equal", 1, nu, ...), terms_x, weights, problem$terms, move,
    repeats, redraw, pairs * (1 + 9 * extended()), 4, family
  )
  paired_scores(out, if (is.null(rows)) seq_len(nrow(out$before)) else rows)
}

test_that("moves of terms leave the joint law invariant", {
  # Null: at most 560 nearly standard normal scores per call, 12 calls: |z| > 6
  # somewhere has a probability of 1e-5.
  for (name in setdiff(names(problems), "empty_levels")) {
    z <- law_scores(problems[[name]], "terms", 2, 10000)
    expect_lt(max(abs(z)), 6, label = name)
  }
  for (name in c("slopes", "nested", "three")) {
    for (df in list(3, c(2, 5, 1000))) {
      z <- law_scores(
        problems[[name]], "terms", 2, 10000, "student", df = df
      )
      expect_lt(max(abs(z)), 6, label = paste(name, "student", length(df)))
    }
  }
})

test_that("scales of groups move far where data say little, and rightly", {
  # Two coefficients for each of three rows, no kernels: the residuals after all
  # terms are the noise. Null: at most 275 nearly standard normal scores:
  # |z| > 6 somewhere has a probability of 6e-7.
  terms <- list(
    linear = matrix(0, 3, 0), linear_sd = numeric(), groupings = list(list(
      group = 1:3, count = 3L, z = cbind(1, c(-1, 0.5, 1)), scale = c(4, 4)
    ))
  )
  z <- paired_scores(bark_terms_law_cpp(
    bark_setting("equal", 1, 0), terms_x[1:3, ], rep(1, 3), terms, "terms", 2,
    FALSE, 100000, 4
  ))
  expect_lt(max(abs(z)), 6)
})

test_that("moves of kernels do so, too", {
  # The statistics of kernels and their likelihood. Null: at most 44 scores per
  # call, 8 calls: |z| > 6 somewhere has a probability of 1e-6.
  for (move in c("birth_death", "relocate", "varphi", "scale_all")) {
    for (name in c("nested", "crossed")) {
      z <- law_scores(
        problems[[name]], move, 4, 4000, rows = 1:8, nu = 3
      )
      expect_lt(max(abs(z)), 6, label = paste(name, move))
    }
  }
})

test_that("sweeps leave the joint law invariant, the response drawn again", {
  # Null: as above, 6 calls.
  for (name in c("nested", "crossed", "three")) {
    z <- law_scores(problems[[name]], "full", 2, 2000, redraw = TRUE)
    expect_lt(max(abs(z)), 6, label = name)
    z <- law_scores(
      problems[[name]], "single", 10, 2500, "student", redraw = TRUE,
      df = c(2, 5, 1000)
    )
    expect_lt(max(abs(z)), 6, label = paste(name, "single"))
  }
})

test_that("sweeps for many rows do so, too", {
  # Null: as above, 2 calls.
  for (name in c("nested", "crossed")) {
    z <- law_scores(problems[[name]], "many_rows", 2, 1000,
      redraw = TRUE, own_scales = TRUE, noise_rate = 0.01
    )
    expect_lt(max(abs(z)), 6, label = name)
  }
})

# Chains -----------------------------------------------------------------------

terms_engine <- function(problem, prior, ..., family = "gaussian") {
  engine <- response_engine(family, terms_x, terms_y, prior, ...)
  engine$config$terms <- problem$terms
  engine
}

#' Variances of the groups, one row per draw
variances_of <- function(run, width) {
  t(matrix(run$draws$covariances, width))
}

test_that("standard deviations of groups have their exact posterior", {
  # No kernels, known noise: y is normal given the standard deviations, whose
  # posterior is a sum over a grid. Null: 9 scores of means over 20 000 draws of
  # a chain, nearly standard normal; |z| > 6.
  prior <- bark_setting(nu = 0, noise_fixed = TRUE, noise_precision = 2)
  for (name in c("intercepts", "twice")) {
    problem <- if (name == "twice") {
      list(terms = terms_list(grouping(fine), grouping(crossed)))
    } else {
      problems[[name]]
    }
    terms <- problem$terms
    count <- length(terms$groupings)
    u <- seq(-7, 5, length.out = if (count == 1) 200 else 50)
    grid <- as.matrix(expand.grid(rep(list(exp(u)), count)))
    log_posterior <- apply(grid, 1, function(sd) {
      values <- list(
        factors = lapply(sd, function(s) list(sigma = matrix(s^2)))
      )
      dense <- dense_terms(terms, values, seq_along(sd), 2, rep(1, n_rows))
      r <- chol(dense$covariance)
      z <- backsolve(r, terms_y, transpose = TRUE)
      scale <- vapply(terms$groupings, function(g) g$scale, 1)
      sum(stats::dt(sd / scale, 3, log = TRUE) + log(sd)) -
        sum(log(diag(r))) - sum(z^2) / 2
    })
    p <- exp(log_posterior - log_sum_exp(log_posterior))
    run <- run_to_end(
      terms_engine(problem, prior, warmup = 100, iter = 20000, thin = 1)
    )
    sds <- sqrt(variances_of(run, count))
    expect_identical(nrow(sds), 20000L)
    for (k in seq_len(count)) {
      z <- c(
        mean_score(squashed(log(sds[, k])), sum(p * squashed(log(grid[, k])))),
        mean_score(squashed(sds[, k]), sum(p * squashed(grid[, k]))),
        mean_score(sds[, k] < 0.5, sum(p * (grid[, k] < 0.5)))
      )
      expect_lt(max(abs(z)), 6, label = paste("score", name, k))
    }
  }
})

test_that("chains of the prior only have the prior of the terms", {
  # Half-t standard deviations; (1 + correlation) / 2 is a beta variable with
  # shapes 3 / 2. Null: 4000 independent draws, 24 nearly standard normal
  # scores; |z| > 6.
  problem <- problems$three
  run <- run_to_end(terms_engine(
    problem, bark_setting(nu = 1),
    warmup = 1, iter = 4000, prior_only = TRUE
  ))
  v <- variances_of(run, 6)
  sd_of <- list(v[, 1], v[, 4], v[, 5], v[, 6])
  scale <- unlist(lapply(problem$terms$groupings, `[[`, "scale"))
  for (k in 1:4) {
    u <- 2 * stats::pt(sqrt(sd_of[[k]]) / scale[[k]], 3) - 1
    expect_lt(max(abs(uniform_scores(u))), 6)
  }
  correlation <- v[, 2] / sqrt(v[, 1] * v[, 4])
  u <- stats::pbeta((1 + correlation) / 2, 1.5, 1.5)
  expect_lt(max(abs(uniform_scores(u))), 6)
  gamma <- matrix(run$draws$gamma, 2) / problem$terms$linear_sd
  expect_lt(max(abs(normal_scores(gamma, c(0, 0), diag(2)))), 6)
  sizes <- vapply(problem$terms$groupings, function(g) ncol(g$z) * g$count, 1)
  b <- matrix(run$draws$effects, sum(sizes))
  # The first group of each factor, in units of its standard deviation.
  first <- cumsum(c(1, sizes))[1:3]
  z <- b[first, ] / t(sqrt(v[, c(1, 5, 6)]))
  expect_lt(max(abs(normal_scores(z, numeric(3), diag(3)))), 6)
})

test_that("draws have the likelihood and the level that they say", {
  for (family in c("gaussian", "student")) {
    engine <- terms_engine(
      problems$three, bark_setting(nu = 3, df = 4), iter = 30,
      weights = terms_w, family = family
    )
    draws <- run_to_end(engine)$draws
    f <- bark_values_cpp(
      draws, terms_x, terms_x, "draw", seq_along(draws$m)
    )$mean
    expect_equal(draws$level, colMeans(f), tolerance = 1e-10)
    terms <- engine$config$terms
    design <- cbind(
      terms$linear, do.call(cbind, lapply(terms$groupings, group_design))
    )
    coefficients <- rbind(
      matrix(draws$gamma, 2), matrix(draws$effects, ncol = length(draws$m))
    )
    scale <- 1 / sqrt(outer(terms_w, draws$noise))
    z <- (terms_y - f - design %*% coefficients) / scale
    density <- if (family == "student") {
      stats::dt(z, 4, log = TRUE)
    } else {
      stats::dnorm(z, log = TRUE)
    }
    expect_equal(draws$log_likelihood, colSums(density - log(scale)),
      tolerance = 1e-10
    )
  }
})

test_that("a run in parts has the bits of one run", {
  for (family in c("gaussian", "student")) {
    for (sweep in c("full", "single")) {
      engine <- terms_engine(
        problems$three, bark_setting(df = c(3, 8)), warmup = 7, iter = 9,
        sweep = sweep, family = family
      )
      expect_identical(run_parts(engine, c(3, 6, 7)), run_to_end(engine))
    }
  }
})
