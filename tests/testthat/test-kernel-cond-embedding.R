# Conditional embeddings and the sum rule against dense linear algebra.

points <- function(n, d, seed = 1) {
  withr::with_seed(seed, matrix(rnorm(n * d), n, d))
}

pairs <- function(n, seed = 1) {
  x <- points(n, 2, seed)
  list(x = x, y = cbind(a = x[, 1]^2, b = x[, 2]) + 0.3 * points(n, 2, -seed))
}

test_that("at full rank everything agrees with dense algebra", {
  d <- pairs(80)
  z <- points(9, 2, seed = 5)
  kernel <- kernel_laplace(1.5)
  fit <- cond_embedding(d$x, d$y, kernel, eps = 0.02)
  g <- kernel_matrix(kernel, d$x) + 80 * 0.02 * diag(80)
  weights <- t(solve(g, kernel_matrix(kernel, d$x, z)))

  expect_equal(predict(fit, z, "weights"), weights, tolerance = 1e-10)
  expect_equal(predict(fit, z), weights %*% d$y, tolerance = 1e-10)
  f <- function(y) cbind(s = sin(y[, 1]), p = y[, 1] * y[, 2])
  expect_equal(predict(fit, z, f = f), weights %*% f(d$y), tolerance = 1e-10)
  above <- predict(fit, z, f = function(y) y[, 1] > 1)
  expect_equal(above, weights %*% (d$y[, 1] > 1), tolerance = 1e-10)

  means <- predict(fit, z, "embedding")
  expect_length(means, 9)
  expect_s3_class(means[[1]], "kb_kernel_mean")
  expect_identical(means[[2]]$points, d$y)
  expect_equal(means[[2]]$weights, weights[2, ], tolerance = 1e-10)
  expect_identical(means[[2]]$kernel, kernel_gaussian(bandwidth_median(d$y)))
})

test_that("the default regularisation is 0.1 / n", {
  d <- pairs(40)
  fit <- cond_embedding(d$x, d$y)
  expect_equal(fit$eps, 0.1 / 40)
  g <- kernel_matrix(kernel_gaussian(), d$x)
  expect_equal(predict(fit, type = "weights"), t(solve(g + 0.1 * diag(40), g)),
    tolerance = 1e-8
  )
})

test_that("low rank is the same algebra on the factor", {
  d <- pairs(400)
  z <- points(9, 2, seed = 5)
  kernel <- kernel_gaussian(1)
  fit <- cond_embedding(d$x, d$y, kernel, rank = 25)
  r <- fit$features$factor
  expect_identical(ncol(r), 25L)
  phi <- incomplete_cholesky_features(fit$features, z)
  dense <- t(solve(tcrossprod(r) + 0.1 * diag(400), r %*% t(phi)))
  expect_equal(predict(fit, z, "weights"), dense, tolerance = 1e-10)
  expect_equal(predict(fit, z), dense %*% d$y, tolerance = 1e-10)

  fine <- cond_embedding(d$x, d$y, kernel, tol = 1e-12)
  full <- cond_embedding(d$x, d$y, kernel, rank = "full")
  auto <- cond_embedding(d$x, d$y, kernel)
  expect_lt(length(auto$features$pivots), length(fine$features$pivots))
  expect_equal(predict(fine, z), predict(full, z), tolerance = 1e-5)
  expect_equal(predict(auto, z), predict(full, z), tolerance = 1e-2)
})

test_that("blocks of rows do not change the means", {
  d <- pairs(60)
  fit <- cond_embedding(d$x, d$y, kernel_laplace(1))
  each <- lapply(seq_len(60), function(i) predict(fit, d$x[i, , drop = FALSE]))
  expect_equal(predict(fit), do.call(rbind, each), tolerance = 1e-12)
  expect_identical(predict(fit, d$x[0, ]), matrix(0, 0, 2,
    dimnames = list(NULL, c("a", "b"))
  ))
})

test_that("the sum rule is dense algebra with the prior's mean projected", {
  d <- pairs(80)
  u <- points(50, 2, seed = 7)
  gamma <- withr::with_seed(8, rnorm(50) + 0.5)
  kernel <- kernel_laplace(1.5)
  fit <- cond_embedding(d$x, d$y, kernel, kernel_gaussian(2), eps = 0.01)
  out <- kernel_sum_rule(fit, kernel_mean(u, kernel, gamma))
  g <- kernel_matrix(kernel, d$x) + 0.8 * diag(80)
  expect_equal(out$weights,
    drop(solve(g, kernel_matrix(kernel, d$x, u) %*% gamma)),
    tolerance = 1e-10
  )
  expect_identical(out$points, d$y)
  expect_identical(out$kernel, kernel_gaussian(2))

  low <- cond_embedding(d$x, d$y, kernel, rank = 20)
  out <- kernel_sum_rule(low, kernel_mean(u, kernel, gamma))
  each <- predict(low, u, "weights")
  expect_equal(out$weights, drop(gamma %*% each), tolerance = 1e-10)
  at_one <- kernel_mean(u[1, , drop = FALSE], kernel)
  expect_equal(kernel_sum_rule(low, at_one),
    predict(low, u[1, , drop = FALSE], "embedding")[[1]],
    tolerance = 1e-12
  )
})

test_that("a known conditional mean is recovered", {
  # Y = X^2 + e: E[Y | x] = x^2, and E[Y] = 1 + 4 s^2 for X ~ N(1, (2 s)^2).
  n <- 1000
  draw <- withr::with_seed(1, list(x = rnorm(n, 0, 2), e = rnorm(n)))
  fit <- cond_embedding(draw$x, draw$x^2 + draw$e, kernel_gaussian(1),
    eps = 1e-3
  )
  at <- seq(-3, 3, by = 0.5)
  expect_lt(max(abs(predict(fit, at)[, 1] - at^2)), 0.5)
  u <- stats::qnorm(ppoints(500), 1, 0.5)
  out <- kernel_sum_rule(fit, kernel_mean(u, fit$kernel_x))
  expect_equal(mean(out), 1.25, tolerance = 0.1)
  expect_equal(sum(out$weights), 1, tolerance = 0.05)
})

test_that("permuted pairs give the same answer", {
  d <- pairs(350)
  order <- withr::with_seed(2, sample(350))
  z <- points(5, 2, seed = 9)
  for (rank in list("full", 30)) {
    one <- cond_embedding(d$x, d$y, kernel_laplace(1), rank = rank)
    two <- cond_embedding(d$x[order, ], d$y[order, ], kernel_laplace(1),
      rank = rank
    )
    expect_equal(predict(one, z), predict(two, z), tolerance = 1e-10)
    expect_equal(predict(one, z, "weights")[, order],
      predict(two, z, "weights"),
      tolerance = 1e-8
    )
  }
})

test_that("one pair and equal pairs work", {
  one <- cond_embedding(2, 5)
  expect_equal(predict(one, 2)[1, 1], 5 / 1.1)
  same <- cond_embedding(rep(2, 10), rep(5, 10))
  expect_equal(predict(same, 2)[1, 1], 50 / 10.1)
})

test_that("it survives saveRDS() and prints", {
  d <- pairs(30)
  fit <- cond_embedding(d$x, d$y)
  file <- withr::local_tempfile()
  saveRDS(fit, file)
  expect_identical(predict(readRDS(file), d$x), predict(fit, d$x))
  expect_output(print(fit), "30 pairs")
  expect_output(print(fit), "rank 30")
})

test_that("a custom kernel agrees with a built-in one", {
  x <- points(5, 2)
  linear <- function(x, y) x %*% t(y) + 1
  expect_equal(
    predict(cond_embedding(x, 1:5, kernel_custom(linear)), x),
    predict(cond_embedding(x, 1:5, kernel_linear() + 1), x)
  )
})

test_that("bad input is refused", {
  x <- points(5, 2)
  bad <- function(class, ...) {
    expect_error(cond_embedding(...), class = paste0("kb_error_", class))
  }
  bad("dimension", x, 1:4)
  bad("argument", numeric(), numeric())
  bad("argument", x, letters[1:5])
  bad("argument", x, 1:5, 2)
  bad("argument", x, 1:5, eps = 0)
  bad("argument", x, 1:5, eps = -1)
  bad("argument", x, 1:5, rank = "none")
  bad("argument", x, 1:5, rank = "full", tol = 0.1)
  bad("not_finite", x, c(1, 2, NA, 4, 5))
  bad("not_finite", x / 0, 1:5)
  bad("dimension", x, 1:5, kernel_gaussian(1:3))
  bad("dimension", x, 1:5, kernel_y = kernel_gaussian(1:3))

  fit <- cond_embedding(x, 1:5, kernel_gaussian(1))
  fails <- function(class, ...) {
    expect_error(predict(fit, ...), class = paste0("kb_error_", class))
  }
  fails("dimension", 1:3)
  fails("not_finite", cbind(1, Inf))
  fails("argument", x, "median")
  fails("argument", x, "weights", f = sin)
  fails("argument", x, f = 3)
  fails("argument", x, f = function(y) y[1])
  fails("argument", x, f = function(y) y / 0)
  fails("unknown_argument", x, "mean", NULL, 3)

  expect_error(kernel_sum_rule(x, 1), class = "kb_error_argument")
  expect_error(kernel_sum_rule(fit, x), class = "kb_error_argument")
  expect_error(kernel_sum_rule(fit, kernel_mean(x)), class = "kb_error_kernel")
  expect_error(
    kernel_sum_rule(fit, kernel_mean(1:5, kernel_gaussian(1))),
    class = "kb_error_dimension"
  )
})
