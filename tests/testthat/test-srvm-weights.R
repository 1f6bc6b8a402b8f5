# Weights and offsets of rows in srvm(): whole runs against enumeration of all
# sets with quadrature, then identities that do not depend on chance.
#
# Seen to fail with faults made on purpose: weights left out of the sum of squares,
# of the normaliser, of the density of a row that leaves, of the intercept (in the
# new row, in sums over rows, in a row that leaves or counts in part), of columns
# that are computed again or on demand, or of Student's sums; the offset left out
# of the latent draws, of a row's weight, or of the density of a class that leaves.

x <- c(0.3, -1.7, 2.1, -0.4, 1.2, 0.8)
x_repeated <- c(0.3, -1.7, 0.3, 2.1, -0.4, -1.7)
y <- c(1.05, 0.21, -0.32, 0.86, 0.55, 0.71)
# Not 1 for the rows that leave windows, taken together.
w <- c(3, 0.5, 1.5, 2, 0.2, 1)

by_degrees <- function(n_moves, particles = 100, ...) {
  smc_control(particles, n_moves = n_moves, powers = c(0.1, 0.4, 1), ...)
}

# The oracle -------------------------------------------------------------------

test_that("the oracle with weights is the dense marginal likelihood", {
  K <- kern(x, x)
  sets <- enumerate_subsets(6, 3)
  log_p <- vapply(sets, function(S) {
    phi <- oracle_design(K, S)
    v <- diag(0.1 / w) + 0.5 * tcrossprod(phi)
    oracle_log_prior_set(length(S), 6, 1.3, 3) - 3 * log(2 * pi) -
      determinant(v)$modulus / 2 - sum(y * solve(v, y)) / 2
  }, 0)
  exact <- oracle_posterior(x, y, kern, 1.3, 3,
    noise = list(fixed = 0.1), coef = list(fixed = 0.5), precision = w
  )
  expect_equal(exact$log_evidence, log_sum_exp(log_p))
  expect_equal(unname(exact$p_set), exp(log_p - log_sum_exp(log_p)))
  # A row of weight 3 is three rows, apart from a constant given the noise.
  thrice <- c(1, 1, 1:6)
  more <- oracle_posterior(x[thrice], y[thrice], kern, 1.3, 3,
    noise = list(fixed = 0.1), coef = list(fixed = 0.5),
    precision = c(1, 1, 1, w[-1])
  )
  expect_equal(more$p_set, exact$p_set)
  expect_equal(
    more$log_evidence, exact$log_evidence - log(2 * pi * 0.1) - log(3) / 2
  )
})

# Whole runs -------------------------------------------------------------------

# Null: with fixed powers, estimates are unbiased on the natural scale, so each
# z-score is nearly t with 39 degrees of freedom: |z| > 6.5 has probability
# 1.0e-7; with fewer than 600 scores a false alarm is rarer than 1e-4.
expect_scores <- function(z) expect_lt(max(abs(z)), 6.5)

expect_exact <- function(control, ..., at = x, of = y) {
  expect_scores(run_against_oracle(at, of, control, ..., weights = w))
}

test_that("runs with weights agree under known variances", {
  for (n_moves in c(0, 4)) {
    expect_exact(by_degrees(n_moves), noise = fixed_variance(0.1), coef = fixed_variance(0.5))
  }
})

test_that("runs with weights agree under unknown variances", {
  expect_exact(smc_control(400, n_moves = 0))
  expect_exact(by_degrees(4), at = x_repeated, intercept = FALSE)
  expect_exact(smc_control(800, n_moves = 4), of = y + 4)
})

test_that("runs with weights agree in the scaled form", {
  expect_exact(by_degrees(4), scaled = TRUE, coef = ig(3, 12))
})

test_that("runs of blind proposals with weights agree", {
  expect_exact(by_degrees(4, proposal = "birth_death"),
    at = x_repeated, noise = fixed_variance(0.3), coef = fixed_variance(0.5)
  )
})

test_that("runs with weights and bounded memory agree", {
  expect_stream <- function(memory, control, ..., at = x) {
    expect_scores(
      stream_against_oracle(at, y, control, memory, ..., weights = w)
    )
  }
  expect_stream(srvm_memory(window = 3), by_degrees(4), at = x_repeated)
  expect_stream(srvm_memory(window = 4), by_degrees(0),
    scaled = TRUE, coef = ig(3, 12)
  )
  expect_stream(srvm_memory(candidates = 3), by_degrees(0))
  expect_stream(srvm_memory(window = 4, forgetting = 0.8), by_degrees(2))
})

test_that("runs with weights and Student's noise agree", {
  at <- as.matrix(c(-1, 0.5))
  surprise <- c(1.05, 0.21, -1.32)
  value <- mean(surprise) + c(-0.3, 0.4)
  expect_student <- function(noise, n_moves) {
    exact <- oracle_student(
      x[1:3], surprise, 5, for_oracle(noise), 0.6, at, value,
      kmax = 2, precision = w[1:3]
    )
    expect_scores(student_scores(
      function(fit) exact, x[1:3], surprise, at, value, by_degrees(n_moves),
      srvm_prior(1.3, 2, noise = noise, coef = fixed_variance(0.6), df = 5),
      weights = w[1:3]
    ))
  }
  expect_student(fixed_variance(0.1), 0)
  expect_student(ig(3, 0.3), 4)
})

test_that("runs of two classes with an offset agree", {
  signs <- c(1, -1, 1, -1)
  offset <- c(0.8, -0.3, -1.2, 0.5)
  expect_probit <- function(...) {
    expect_scores(probit_against_oracle(x[1:4], signs, ..., offset = offset))
  }
  expect_probit(by_degrees(0))
  expect_probit(by_degrees(4), coef = ig(3, 2), kmax = 2)
  expect_probit(by_degrees(2), memory = srvm_memory(window = 3), kmax = 2)
  expect_probit(by_degrees(3), intercept = FALSE, kmax = 2)
})

# Identities -------------------------------------------------------------------

data <- withr::with_seed(7, {
  x <- round(stats::runif(40, -3, 3), 2)
  data.frame(
    x = x, w = stats::rexp(40) + 0.1, o = stats::rnorm(40),
    y = sin(x) + stats::rnorm(40, sd = 0.2)
  )
})
data$class <- factor(ifelse(data$y + data$o > 0, "yes", "no"), c("no", "yes"))

fit_rows <- function(formula = y ~ x, rows = 1:40, ..., of = data, n_moves = 2) {
  few_particles(srvm(formula, of[rows, ],
    control = smc_control(60, n_moves = n_moves), seed = 3, ...
  ))
}

plain_runs <- function(fit) {
  lapply(fit$runs, function(run) {
    run[setdiff(names(run), c("seconds", "shared_seconds"))]
  })
}

expect_same_fit <- function(a, b) {
  expect_identical(plain_runs(a), plain_runs(b))
  expect_identical(evidence(a), evidence(b))
  expect_identical(a$data, b$data)
}

kernel <- kernel_gaussian(0.7)

test_that("weights of 1 and offsets of 0 change no bit", {
  for (extra in list(
    list(), list(prior = srvm_prior(scaled = TRUE)),
    list(prior = srvm_prior(df = 4)), list(memory = srvm_memory(window = 10)),
    list(memory = srvm_memory(forgetting = 0.9), scale = FALSE)
  )) {
    plain <- do.call(fit_rows, c(list(kernel = kernel), extra))
    one <- do.call(fit_rows, c(
      list(kernel = kernel, weights = rep(1, 40)), extra
    ))
    expect_identical(plain_runs(one), plain_runs(plain))
    expect_identical(evidence(one), evidence(plain))
    expect_identical(fitted(one), fitted(plain))
  }
  zero <- transform(data, o = 0)
  expect_identical(
    plain_runs(fit_rows(class ~ x + offset(o), kernel = kernel, of = zero)),
    plain_runs(fit_rows(class ~ x, kernel = kernel))
  )
})

test_that("equal weights are another unit of the noise", {
  two <- list(kernel, kernel_gaussian(2))
  for (case in list(
    list(kernel = kernel), list(kernel = two),
    list(kernel = do.call(kernel_dictionary, two)),
    list(kernel = kernel, prior = srvm_prior(scaled = TRUE)),
    list(kernel = kernel, prior = srvm_prior(df = 4))
  )) {
    one <- do.call(fit_rows, case)
    four <- do.call(fit_rows, c(case, list(weights = rep(4, 40))))
    expect_equal(sigma(four), 2 * sigma(one))
    expect_equal(fitted(four), fitted(one))
    expect_equal(evidence(four)$path, evidence(one)$path)
    expect_equal(logLik(four), logLik(one))
    expect_equal(
      predict(four, data, interval = "prediction", weights = rep(4, 40)),
      predict(one, data, interval = "prediction")
    )
  }
})

test_that("a row of weight 2 is two rows if the noise is known", {
  chain <- function(rows, weights) {
    few_draws(srvm(rows["x"], rows$y,
      kernel = kernel, scale = FALSE, seed = 1,
      prior = srvm_prior(noise = fixed_variance(0.04), coef = ig(1, 1)),
      method = "mcmc", weights = weights,
      control = mcmc_control(1, 5, 25, 1, n_moves = 4)
    ))
  }
  # Without all pairs of the kernel matrix, too.
  for (n in c(40, 500)) {
    rows <- withr::with_seed(8, data.frame(x = stats::runif(n, -3, 3)))
    rows$y <- cos(rows$x) + 0.1
    twice <- rep(seq_len(n), rep(1:2, length.out = n))
    a <- chain(rows, rep(1:2, length.out = n))$runs[[1]]
    b <- chain(rows[twice, ], NULL)$runs[[1]]
    expect_identical(a$k, b$k)
    expect_gt(stats::var(a$k), 0)
    expect_equal(a$draws, b$draws)
  }
})

test_that("an offset of numbers is subtracted", {
  minus <- transform(data, y = y - o)
  for (extra in list(
    list(), list(prior = srvm_prior(df = 4)), list(scale = FALSE),
    list(weights = data$w), list(memory = srvm_memory(window = 10))
  )) {
    off <- do.call(fit_rows, c(list(y ~ x + offset(o), kernel = kernel), extra))
    by <- do.call(fit_rows, c(list(kernel = kernel, of = minus), extra))
    xy <- do.call(srvm, c(list(data["x"], data$y,
      offset = data$o, kernel = kernel, control = off$control, seed = 3
    ), extra))
    expect_identical(plain_runs(off), plain_runs(by))
    expect_identical(plain_runs(xy), plain_runs(by))
    expect_identical(evidence(off), evidence(by))
    new <- data.frame(x = c(-1, 0.5, 2), o = c(1, -2, 0.3), y = c(0, 1, 2))
    lower <- transform(new, y = y - o)
    expect_equal(predict(off, new), predict(by, new) + new$o)
    expect_equal(
      predict(xy, new["x"], offset = new$o, interval = "prediction"),
      predict(by, new, interval = "prediction") + new$o
    )
    expect_equal(
      predict(off, new, type = "draws"),
      sweep(predict(by, new, type = "draws"), 2, new$o, `+`)
    )
    expect_equal(
      predict(off, new, type = "log_score"),
      predict(by, lower, type = "log_score")
    )
    expect_equal(fitted(off), fitted(by) + data$o)
    expect_equal(residuals(off), residuals(by))
    expect_equal(logLik(off), logLik(by))
    expect_identical(coef(off), coef(by))
  }
})

test_that("chains with an offset and weights have the dense likelihood", {
  fit <- few_draws(srvm(y ~ x + offset(o), data[1:12, ],
    kernel = kernel, scale = FALSE, weights = w, method = "mcmc", seed = 1,
    control = mcmc_control(1, 10, 20, 1)
  ))
  pool <- srvm_pool(fit)
  index <- split(pool$sets, factor(rep(seq_along(pool$k), pool$k),
    levels = seq_along(pool$k)
  ))
  rows <- data[1:12, ]
  K <- kernel_matrix(kernel, as.matrix(rows$x), as.matrix(rows$x))
  dense <- vapply(seq_along(pool$k), function(i) {
    phi <- oracle_design(K, pool$rows[index[[i]]])
    v <- diag(pool$noise[[i]] / rows$w) + pool$coef[[i]] * tcrossprod(phi)
    r <- backsolve(chol(v), rows$y - rows$o, transpose = TRUE)
    -6 * log(2 * pi) - determinant(v)$modulus / 2 - sum(r^2) / 2
  }, 0)
  expect_equal(drop(chain_matrices(fit)$log_lik), dense)
})

test_that("predictions of classes add the offset to f", {
  fit <- fit_rows(class ~ x + offset(o), kernel = kernel)
  xy <- few_particles(srvm(data["x"], data$class,
    offset = data$o, kernel = kernel, control = fit$control, seed = 3
  ))
  expect_identical(plain_runs(xy), plain_runs(fit))
  new <- data.frame(x = c(-1, 0.5, 2), o = c(1, -2, 0.3))
  pool <- srvm_pool(fit)
  moments <- srvm_moments(fit, as.matrix(new["x"]), pool)
  p <- pnorm((moments$mean + new$o) / sqrt(1 + moments$variance))
  expect_equal(predict(fit, new, type = "prob")[, 2], drop(p %*% pool$weights))
  expect_equal(
    predict(fit, new, type = "link"), drop(moments$mean %*% pool$weights) + new$o
  )
  expect_identical(
    predict(xy, new["x"], offset = new$o, type = "prob"),
    predict(fit, new, type = "prob")
  )
  expect_equal(
    unname(predict(fit, data, type = "prob")), unname(predict(fit, type = "prob"))
  )
})

# update() ---------------------------------------------------------------------

test_that("update() in any split equals one fit", {
  for (memory in list(
    srvm_memory(), srvm_memory(window = 6, keep_rows = 6),
    srvm_memory(candidates = 5), srvm_memory(forgetting = 0.7, keep_rows = 5)
  )) for (part in c("weights", "df", "classes")) {
    if (part != "weights" && is_bounded(memory)) {
      if (part == "df" || memory$forgetting < 1) next
    }
    formula <- if (part == "classes") class ~ x + offset(o) else y ~ x + offset(o)
    prior <- if (part == "df") srvm_prior(df = 4) else srvm_prior()
    first <- fit_rows(formula, kernel = kernel, memory = memory, prior = prior)
    take <- function(rows) {
      if (part == "classes") {
        return(fit_rows(formula, rows, reference = first))
      }
      fit_rows(formula, rows, weights = w, reference = first)
    }
    add <- function(fit, rows) {
      if (part == "classes") {
        return(few_particles(update(fit, data[rows, ])))
      }
      few_particles(update(fit, data[rows, ], weights = w))
    }
    whole <- take(1:40)
    expect_same_fit(add(add(take(1:11), 12), 13:40), whole)
    # With nothing in memory, from a file.
    part_fit <- unserialize(serialize(take(1:30), NULL))
    pools$held <- list()
    expect_same_fit(add(part_fit, 31:40), whole)
  }
})

test_that("update() of x/y fits and from a connection equals one fit", {
  whole <- fit_rows(y ~ x + offset(o), kernel = kernel, weights = w)
  start <- fit_rows(y ~ x + offset(o), 1:20, weights = w, reference = whole)
  lines <- utils::capture.output(utils::write.csv(
    format(data[21:40, c("x", "y", "o", "w")], digits = 17),
    row.names = FALSE, quote = FALSE
  ))
  stream <- textConnection(lines)
  on.exit(close(stream))
  streamed <- few_particles(update(start, stream, rows = 7, weights = w))
  expect_equal(evidence(streamed), evidence(whole))
  expect_equal(streamed$data$weights, data$w)
  xy <- few_particles(srvm(data$x[1:20], data$y[1:20],
    offset = data$o[1:20], weights = data$w[1:20],
    control = whole$control, seed = 3,
    reference = few_particles(srvm(data$x, data$y,
      offset = data$o, weights = data$w, kernel = kernel,
      control = smc_control(2, n_moves = 0), seed = 1
    ))
  ))
  xy <- few_particles(update(xy,
    newx = data$x[21:40], newy = data$y[21:40], offset = data$o[21:40],
    weights = data$w[21:40]
  ))
  expect_equal(plain_runs(xy), plain_runs(whole))
})

test_that("a fit without weights goes on with weights", {
  first <- fit_rows(kernel = kernel)
  a <- fit_rows(rows = 1:20, reference = first)
  a <- few_particles(update(a, data[21:40, ], weights = w))
  b <- fit_rows(
    reference = first, weights = c(rep(1, 20), data$w[21:40])
  )
  expect_same_fit(a, b)
})

# Results ----------------------------------------------------------------------

test_that("results use the weights of their rows", {
  fit <- fit_rows(y ~ x + offset(o), kernel = kernel, weights = w)
  expect_output(print(fit), "40 weighted")
  expect_equal(model.frame(fit)[["(weights)"]], data$w)
  pool <- srvm_pool(fit)
  f <- srvm_moments(fit, wide_x(fit), pool)
  scale <- fit$settings$scaling
  sd <- sqrt(f$variance + outer(1 / data$w, pool$noise))
  density <- dnorm(scaling_y(scale, data$y), f$mean, sd) %*% pool$weights
  expect_equal(
    predict(fit, type = "log_score"), log(drop(density)) - log(scale$y_scale)
  )
  expect_equal(
    predict(fit, data, type = "log_score", weights = data$w),
    predict(fit, type = "log_score")
  )
  expect_equal(as.double(logLik(fit)), sum(
    dnorm(data$y, fitted(fit), sigma(fit) / sqrt(data$w), log = TRUE)
  ))
  skip_if_not_installed("rstantools")
  draws <- rstantools::posterior_predict(fit, data[c(1, 1), ],
    ndraws = 4000, seed = 1, weights = c(100, 1)
  )
  # Both have the same f: null sd of the ratio below 0.02.
  sds <- apply(draws - predict(fit, data[1, ]), 2, sd)
  expect_equal(sds[[2]]^2 - sds[[1]]^2, 0.99 * sum(
    unscale_sd(scale, sqrt(pool$draws$noise))^2 * pool$weights
  ), tolerance = 0.15)
  expect_equal(
    dim(rstantools::log_lik(fit, data, weights = data$w)), c(60, 40)
  )
})

test_that("functions of fits take their weights and offsets along", {
  fit <- fit_rows(y ~ x + offset(o), kernel = kernel, weights = w)
  spread <- order_spread(fit, orders = 2, seed = 1)
  expect_equal(spread$orders$log_evidence,
    rep(evidence(fit)$log_evidence, 2), tolerance = 0.5
  )
  expect_lt(sqrt(mean((spread$predictions[, 1] - fitted(fit))^2)), 0.2)
  cv <- suppressWarnings(cross_validate(fit, folds = 4, seed = 1))
  by_hand <- few_particles(srvm(data$x[cv$fold != 1], data$y[cv$fold != 1],
    kernel = kernel, weights = data$w[cv$fold != 1],
    offset = data$o[cv$fold != 1], control = fit$control, seed = 1
  ))
  expect_equal(cv$fit[cv$fold == 1],
    predict(by_hand, data$x[cv$fold == 1], offset = data$o[cv$fold == 1]),
    tolerance = 0.3
  )
  partial <- partial_dependence(fit, "x", grid = list(c(-1, 1)))
  at <- lapply(c(-1, 1), function(v) of_sets(mean(predict(fit, transform(data, x = v)))))
  expect_equal(partial$mean, unlist(at))
  classes <- fit_rows(class ~ x + offset(o), kernel = kernel)
  partial <- partial_dependence(classes, "x", grid = list(c(-1, 1)), ndraws = 60)
  at <- vapply(c(-1, 1), function(v) {
    mean(predict(classes, transform(data, x = v), type = "prob")[, 2])
  }, 0)
  # 60 draws of particles: sd about 0.01.
  expect_equal(partial$mean, at, tolerance = 0.1)
})

test_that("defaults are those of bark(): scaling without weights", {
  fit <- fit_rows(y ~ x + offset(o), kernel = kernel, weights = w)
  expect_equal(fit$settings$scaling$y_center, mean(data$y - data$o))
  expect_equal(fit$settings$prior$noise$scale, 0.01 * mean(data$w))
})

test_that("rows without a weight or an offset are missing", {
  lost <- data
  lost$w[3] <- NA
  lost$o[5] <- NA
  expect_error(
    fit_rows(y ~ x + offset(o), of = lost, weights = w, na.action = "fail"),
    class = "kb_error_missing"
  )
  fit <- fit_rows(y ~ x + offset(o),
    of = lost, weights = w, na.action = "omit", kernel = kernel
  )
  expect_equal(nobs(fit), 38)
  expect_same_fit(fit, fit_rows(y ~ x + offset(o),
    rows = -c(3, 5), weights = w, kernel = kernel
  ))
  expect_identical(which(is.na(predict(fit, lost))), 5L)
  more <- few_particles(update(fit, lost, weights = w, na.action = "omit"))
  expect_equal(nobs(more), 76)
  expect_error(update(fit, lost, weights = w, na.action = "fail"),
    class = "kb_error_missing"
  )
})

test_that("bad weights and offsets are refused", {
  refused <- function(expr, argument) {
    cnd <- expect_error(expr, class = "kb_error_argument")
    expect_identical(cnd$argument, argument)
  }
  for (bad in list(0, -1, Inf, "a", rep(1, 39), matrix(1, 40, 1))) {
    if (length(bad) == 1) bad <- rep(bad, 40)
    refused(srvm(data$x, data$y, weights = bad), "weights")
    refused(srvm(y ~ x, data, weights = bad), "weights")
  }
  refused(srvm(y ~ x, data, weights = unknown), "weights")
  refused(srvm(class ~ x, data, weights = w), "weights")
  refused(srvm(data$x, data$y, offset = 1:3), "offset")
  refused(srvm(data$x, data$y, offset = rep("a", 40)), "offset")
  refused(srvm(y ~ x, data, offset = data$o), "offset")
  expect_error(srvm(data$x, data$y, offset = rep(Inf, 40)),
    class = "kb_error_infinite"
  )
  for (formula in c(
    y ~ offset(o), y ~ x + offset(class), y ~ x + offset(scale(o)),
    y ~ x + offset(z), y ~ x + offset(), y ~ x:offset(o)
  )) {
    expect_error(srvm(formula, data), class = "kb_error_formula")
  }
  groups <- y ~ x + (1 | class)
  expect_error(srvm(groups, data), "bark", class = "kb_error_formula")
  groups <- y ~ x + (1 | class) + offset(o)
  expect_error(srvm(groups, data), "bark", class = "kb_error_formula")
  fit <- few_particles(srvm(data$x, data$y,
    offset = data$o, weights = data$w, kernel = kernel,
    control = smc_control(10), seed = 1
  ))
  refused(predict(fit, 1:3), "offset")
  refused(predict(fit, 1:3, offset = 1:2), "offset")
  refused(predict(fit, 1:3, offset = 1:3, weights = 1:3), "weights")
  refused(update(fit, newx = 1:3, newy = 1:3, weights = 1:3), "offset")
  refused(update(fit, newx = 1:3, newy = 1:3, offset = 1:3), "weights")
  refused(update(fit, weights = 1:3), "weights")
  refused(update(fit, offset = 1:3), "offset")
  plain <- few_particles(srvm(y ~ x, data,
    kernel = kernel, control = smc_control(10), seed = 1
  ))
  refused(predict(plain, data, offset = 1:40), "offset")
  refused(predict(plain, weights = data$w, interval = "prediction"), "weights")
  offset <- fit_rows(y ~ x + offset(o), kernel = kernel)
  expect_error(predict(offset, data["x"]), class = "kb_error_columns")
  expect_error(update(offset, data[c("x", "y")]), class = "kb_error_columns")
  classes <- fit_rows(class ~ x, kernel = kernel)
  refused(update(classes, data, weights = w), "weights")
})
