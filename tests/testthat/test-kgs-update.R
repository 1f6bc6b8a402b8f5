# update() of kgs() fits: further rows, and more of the same chains.
#
# Seen to fail, one mutant at a time:
# - posterior: new labels in the wrong order; with a nugget, only the
#   information on the old features;
# - lifted states: axes of rows in the order of the rows; old axes last, or
#   reversed; the old length kept;
# - basis: coordinates of new pivots in the wrong order; a first pivot that is
#   only rounding; no limit of the rank.

moons <- sim_moons(60, flips = 0.1, seed = 1)
old <- 1:40
new <- 41:60
quick <- mcmc_control(chains = 2, warmup = 50, iter = 100)

quiet <- function(expr) {
  muffle <- function(w) invokeRestart("muffleWarning")
  withCallingHandlers(expr,
    kb_warning_convergence = muffle, kb_warning_rank = muffle
  )
}

fit_moons <- function(rows = old, ..., nugget = 0, control = quick,
                      data = moons) {
  quiet(kgs(y ~ x1 + x2, data[rows, ],
    kernel = kernel_gaussian(0.7), control = control, scale = FALSE, seed = 1,
    progress = FALSE, nugget = nugget, ...
  ))
}

add_rows <- function(fit, rows = new, ..., data = moons) {
  quiet(update(fit, newdata = data[rows, ], ..., progress = FALSE))
}

#' Draws at a few points and of the noise: one matrix each, one column per chain
#'
#' Probabilities; for three classes, whose draws are 0 or 1 and may be rare, the
#' first function minus the second.
watched_draws <- function(fit) {
  x <- cbind(x1 = c(0, 1, 2, -1), x2 = c(0, 0.5, -1, 1))
  pool <- posterior_pool(fit)
  v <- if (fit$settings$classes == 2) {
    class_draws(fit, x, pool, complement = TRUE)[, , 1]
  } else {
    f <- kgs_function(fit, kgs_features(fit, x), pool)
    f[, , 1] - f[, , 2]
  }
  by_chain <- function(v) matrix(v, ncol = length(fit$runs))
  points <- lapply(seq_len(nrow(x)), function(i) by_chain(v[i, ]))
  c(points, list(by_chain(pool$rates[, 1])))
}

z_scores <- function(a, b) {
  mean_error <- function(draws) vapply(draws, posterior::mcse_mean, 0)
  a <- watched_draws(a)
  b <- watched_draws(b)
  (vapply(a, mean, 0) - vapply(b, mean, 0)) /
    sqrt(mean_error(a)^2 + mean_error(b)^2)
}

# The posterior ----------------------------------------------------------------

test_that("the posterior equals that of all rows at once", {
  # Null: means of two long runs with the same posterior; normal z, 1e-4 over
  # all settings and quantities (Bonferroni).
  long <- mcmc_control(chains = 4, warmup = 300, iter = 3000)
  start <- mcmc_control(chains = 4, warmup = 300, iter = 10)
  spheres <- sim_sphere(60, flips = 0.1, seed = 2)[c("x1", "x2", "x3")]
  three <- moons
  three$y <- cut(moons$x1 + moons$x2, c(-Inf, 0, 2, Inf), c("a", "b", "c"))
  settings <- list(
    list(method = "hmc"), list(method = "coordinate"),
    list(nugget = 0.3, method = "block"), list(nugget = 0.3, method = "hmc"),
    list(data = three), list(data = three, nugget = 0.2, method = "hmc"),
    list(noise = noise_class(1, 4)),
    list(noise = 0.15, method = "circle")
  )
  limit <- stats::qnorm(1e-4 / (5 * length(settings)) / 2, lower.tail = FALSE)
  for (one in settings) {
    fit <- function(rows, control) {
      do.call(fit_moons, c(list(rows, control = control), one))
    }
    data <- if (is.null(one$data)) moons else one$data
    both <- add_rows(fit(old, start), data = data, iter = 3000, warmup = 300)
    z <- z_scores(both, fit(c(old, new), long))
    if (is.numeric(one$noise)) z <- z[-5]
    expect_lt(max(abs(z)), limit, label = paste(names(one), collapse = " "))
  }
})

test_that("the fit has old and new rows, under frozen settings", {
  fit <- quiet(kgs(y ~ x1 + x2, moons[old, ],
    kernel = kernel_gaussian("median"), control = quick, seed = 1,
    progress = FALSE, nugget = 0
  ))
  both <- add_rows(fit)
  frozen <- c("kernel", "scaling", "noise", "bias", "method", "classes")
  expect_identical(both$settings[frozen], fit$settings[frozen])
  expect_identical(both$time, 60L)
  expect_identical(nobs(both), 60L)
  expect_identical(both$sequence, 1:60)
  expect_identical(both$mould$n_rows, 60L)
  expect_identical(both$data$y, moons$y)
  x <- as.matrix(moons[c("x1", "x2")])
  expect_identical(unname(both$data$x), unname(x))
  expect_identical(both$status, "complete")
  expect_identical(draws_in(both), c(100L, 100L))
  expect_length(predict(both), 60)
})

# The basis and the start ------------------------------------------------------

test_that("the basis keeps its axes and spans the new points", {
  fit <- fit_moons()
  both <- add_rows(fit)
  r <- kgs_rank(fit)
  basis <- both$settings$basis
  expect_identical(basis$points[1:r, ], fit$settings$basis$points)
  expect_identical(basis$factor[1:r, 1:r], fit$settings$basis$factor)
  x <- as.matrix(moons[c("x1", "x2")])
  gram <- kernel_evaluate(basis$kernel, x)
  expect_lt(max(abs(tcrossprod(basis_features(basis, x)) - gram)), 1e-10)
  expect_lt(abs(basis$unexplained), 1e-10)
})

test_that("points in the span add no axes", {
  fit <- fit_moons()
  for (copies in list(3, c(5, 5, 7), old)) {
    expect_identical(kgs_rank(add_rows(fit, copies)), kgs_rank(fit))
  }
  # A linear kernel of two columns with a bias has three dimensions.
  linear <- quiet(kgs(y ~ x1 + x2, moons[1:2, ],
    kernel = kernel_linear(), control = quick, seed = 1, progress = FALSE,
    nugget = 0
  ))
  expect_identical(kgs_rank(linear), 2L)
  full <- add_rows(linear)
  expect_identical(kgs_rank(full), 3L)
  for (row in 1:20) expect_identical(kgs_rank(add_rows(full, row)), 3L)
})

test_that("the requested rank limits later rows", {
  reached <- fit_moons(rank = 10)
  expect_identical(
    add_rows(reached)$settings$basis$factor, reached$settings$basis$factor
  )
  expect_warning(
    update(reached, newdata = moons[new, ], progress = FALSE),
    class = "kb_warning_rank"
  ) |> quiet()
  room <- add_rows(fit_moons(rank = 45))
  expect_identical(kgs_rank(room), 45L)
  x <- as.matrix(moons[c("x1", "x2")])
  basis <- room$settings$basis
  left <- 1 - sum(basis_features(basis, x)^2) /
    sum(diag(kernel_evaluate(basis$kernel, x)))
  expect_equal(basis$unexplained, left)
  expect_identical(kgs_rank(add_rows(fit_moons())), 60L)
})

test_that("custom kernels can add rows, too", {
  custom <- kernel_custom(function(x, y) {
    exp(-abs(outer(x[, 1], y[, 1], "-")) - abs(outer(x[, 2], y[, 2], "-")))
  })
  fit <- quiet(kgs(y ~ x1 + x2, moons[old, ],
    kernel = custom, control = quick, seed = 1, progress = FALSE, nugget = 0
  ))
  expect_identical(kgs_rank(add_rows(fit)), 60L)
})

test_that("chains start from their last states on the old rows", {
  x <- as.matrix(moons[c("x1", "x2")])
  at_rows <- function(fit, g) {
    data <- kgs_data(fit)
    g <- matrix(g, ncol = kgs_functions(fit))
    (data$features %*% g)[data$point, , drop = FALSE]
  }
  three <- moons
  three$y <- cut(moons$x1 + moons$x2, c(-Inf, 0, 2, Inf), c("a", "b", "c"))
  settings <- list(
    list(), list(nugget = 0.3, method = "hmc"), list(data = three),
    list(data = three, nugget = 0.2, method = "hmc"),
    list(rank = 10, nugget = 0.2, method = "circle"), list(method = "circle")
  )
  for (one in settings) {
    fit <- do.call(fit_moons, one)
    data <- if (is.null(one$data)) moons else one$data
    both <- add_rows(fit, data = data)
    for (chain in 1:2) {
      before <- at_rows(fit, fit$runs[[chain]]$levels[[1]]$g)
      lifted <- at_rows(both, both$starts[[chain]])[old, , drop = FALSE]
      ratio <- lifted / before
      expect_gt(min(ratio), 0)
      expect_lt(diff(range(ratio)) / mean(ratio), 1e-6)
    }
  }
})

test_that("new axes of a start are draws from the prior", {
  # Null: 2000 standard normal numbers, and 200 chi-squared lengths with 5
  # degrees of freedom; each fails with probability 1e-5.
  axes <- list(from = 1:5, to = c(2, 1, 3:5), size = 15)
  starts <- withr::with_seed(1, replicate(200, lift(c(9, 1:4), axes, 1)))
  expect_gt(stats::ks.test(starts[6:15, ], "pnorm")$p.value, 1e-5)
  squared <- colSums(starts[1:5, ]^2)
  expect_gt(stats::ks.test(squared, "pchisq", 5)$p.value, 1e-5)
  expect_equal(starts[2, ] / starts[1, ], rep(9, 200))
})

# Reproducibility and continuation ---------------------------------------------

test_that("updates are determined by the first seed and the calls", {
  once <- add_rows(fit_moons())
  expect_same_fit(add_rows(fit_moons()), once)
  expect_false(once$seed == fit_moons()$seed)
  keep_random_state()
  set.seed(3)
  before <- .Random.seed
  expect_same_fit(add_rows(fit_moons()), once)
  expect_identical(.Random.seed, before)
  # Two steps: other draws, the same rows.
  twice <- add_rows(add_rows(fit_moons(), 41:45), 46:60)
  expect_identical(twice$data, once$data)
  expect_identical(kgs_rank(twice), kgs_rank(once))
})

test_that("x and y give the same as a formula", {
  x <- as.matrix(moons[c("x1", "x2")])
  fit <- quiet(kgs(x[old, ], moons$y[old],
    kernel = kernel_gaussian(0.7), control = quick, scale = FALSE, seed = 1,
    progress = FALSE, nugget = 0
  ))
  both <- quiet(
    update(fit, newx = x[new, ], newy = moons$y[new], progress = FALSE)
  )
  expect_identical(both$runs[[1]]$draws, add_rows(fit_moons())$runs[[1]]$draws)
})

test_that("iterations and warmup are the first fit's unless given", {
  fit <- fit_moons(control = mcmc_control(chains = 1, warmup = 400, iter = 50))
  both <- add_rows(fit)
  expect_identical(both$control$warmup, 40L)
  expect_identical(both$control$iter, 50L)
  expect_identical(add_rows(both, 1:3)$control$warmup, 40L)
  expect_identical(add_rows(fit_moons())$control$warmup, 20L)
  both <- add_rows(fit, iter = 70, warmup = 5)
  expect_identical(both$runs[[1]]$time, 75L)
  expect_identical(draws_in(both), 70L)
  lines <- fit_moons(method = "coordinate")
  expect_identical(add_rows(lines)$control$warmup, 50L)
})

test_that("more iterations agree with a longer run", {
  longer <- mcmc_control(chains = 2, warmup = 50, iter = 160)
  fit <- fit_moons()
  expect_same_fit(
    quiet(update(fit, iter = 60, progress = FALSE)),
    fit_moons(control = longer)
  )
  both <- add_rows(fit, iter = 160)
  expect_same_fit(
    quiet(update(add_rows(fit), iter = 60, progress = FALSE)), both
  )
  expect_identical(update(fit), fit)
})

test_that("a stopped update can be continued", {
  fit <- fit_moons(control = mcmc_control(chains = 2, warmup = 50, iter = 8000))
  whole <- add_rows(fit)
  expect_warning(
    part <- update(fit, newdata = moons[new, ], time_limit = 0.02,
      progress = FALSE
    ),
    class = "kb_warning_time_limit"
  )
  expect_identical(part$status, "time_limit")
  expect_identical(part$time, 60L)
  expect_same_fit(quiet(update(part, progress = FALSE)), whole)
})

# Errors -----------------------------------------------------------------------

test_that("rows that do not fit are refused", {
  fit <- fit_moons()
  novel <- transform(moons[new, ], y = "2")
  expect_error(update(fit, newdata = novel), class = "kb_error_outcome")
  expect_error(update(fit, newx = moons[new, 1:2]), class = "kb_error_outcome")
  expect_error(update(fit, newdata = moons[new, 2:3]),
    class = "kb_error_columns"
  )
  expect_error(
    update(fit, newdata = moons, newx = moons[, 1:2], newy = moons$y),
    class = "kb_error_argument"
  )
  holes <- moons[new, ]
  holes$x1[c(2, 5)] <- NA
  expect_error(update(fit, newdata = holes, na.action = "fail"), class = "kb_error_missing")
  both <- add_rows(fit, 1:20, data = holes, na.action = "omit")
  expect_identical(both$time, 58L)
  expect_identical(both$mould$n_rows, 60L)
  expect_identical(both$mould$omitted, c(42L, 45L))
  holes$x1 <- NA_real_
  expect_identical(add_rows(fit, 1:20, data = holes, na.action = "omit"), fit)
})

test_that("arguments that would have no effect are refused", {
  fit <- fit_moons()
  expect_error(update(fit, warmup = 10), class = "kb_error_argument")
  expect_error(update(fit, newdata = moons[new, ], iter = 0),
    class = "kb_error_argument"
  )
  expect_error(update(fit, newdata = moons[new, ], warmup = -1),
    class = "kb_error_argument"
  )
  expect_error(update(fit, row = 1), class = "kb_error_unknown_argument")
})

test_that("rows that make the labels inseparable are refused", {
  rows <- moons[!duplicated(moons$x1), ]
  rows$y <- factor(as.integer(rows$x1 > 0.5), levels = c("0", "1"))
  fit <- fit_moons(noise = 0, data = rows)
  expect_true(all(add_rows(fit, data = rows)$runs[[1]]$draws$wrong == 0))
  contrary <- rows[1, ]
  contrary$y <- factor(1 - as.integer(as.character(contrary$y)), c(0, 1))
  expect_error(add_rows(fit, 1, data = contrary),
    class = "kb_error_not_separable"
  )
})
