# The incomplete Cholesky factor against dense algebra.

points <- function(n, d, seed = 1) {
  withr::with_seed(seed, matrix(rnorm(n * d), n, d))
}

test_that("at full rank the factor is exact", {
  x <- points(60, 2)
  for (kernel in list(
    kernel_laplace(1), kernel_gaussian(0.5), kernel_linear() + 1,
    kernel_polynomial(3) * kernel_matern(2, 1.5)
  )) {
    g <- kernel_matrix(kernel, x)
    ic <- incomplete_cholesky(kernel, x, tol = 0)
    expect_lt(max(abs(g - tcrossprod(ic$factor))), 1e-10 * max(g))
    expect_equal(ic$trace, sum(diag(g)))
    expect_identical(anyDuplicated(ic$pivots), 0L)
  }
  expect_identical(ncol(incomplete_cholesky(kernel_laplace(1), x)$factor), 60L)
})

test_that("it stops at the rank of the kernel", {
  x <- points(50, 3)
  expect_length(incomplete_cholesky(kernel_linear(), x, tol = 0)$pivots, 3)
  expect_length(incomplete_cholesky(1 + kernel_linear(), x, tol = 0)$pivots, 4)
  twice <- incomplete_cholesky(kernel_laplace(1), rbind(x, x), tol = 0)
  expect_length(twice$pivots, 50)
  zero <- incomplete_cholesky(kernel_constant(0), x, tol = 0)
  expect_identical(dim(zero$factor), c(50L, 0L))
})

test_that("the residual is the trace of the Schur complement", {
  x <- points(40, 2)
  kernel <- kernel_gaussian(1)
  g <- kernel_matrix(kernel, x)
  for (rank in c(1, 5, 20)) {
    ic <- incomplete_cholesky(kernel, x, rank, tol = 0)
    p <- ic$pivots
    columns <- g[, p, drop = FALSE]
    schur <- g - columns %*% solve(columns[p, ], t(columns))
    expect_length(p, rank)
    expect_equal(ic$residual, sum(diag(schur)), tolerance = 1e-8)
    expect_equal(tcrossprod(ic$factor), g - schur, tolerance = 1e-10)
    at_pivots <- ic$factor[p, , drop = FALSE]
    expect_identical(at_pivots[upper.tri(at_pivots)], numeric(choose(rank, 2)))
  }
})

test_that("it stops at the tolerance, not before and not after", {
  x <- points(100, 2)
  for (tol in c(0.5, 1e-2, 1e-6)) {
    ic <- incomplete_cholesky(kernel_gaussian(1), x, tol = tol)
    before <- incomplete_cholesky(
      kernel_gaussian(1), x, length(ic$pivots) - 1, 0
    )
    expect_lte(ic$residual, tol * ic$trace)
    expect_gt(before$residual, tol * ic$trace)
  }
})

test_that("each pivot has the largest residual", {
  x <- points(30, 2)
  kernel <- kernel_polynomial(2)
  g <- kernel_matrix(kernel, x)
  for (pivot in incomplete_cholesky(kernel, x, 6, 0)$pivots) {
    expect_equal(g[pivot, pivot], max(diag(g)))
    g <- g - tcrossprod(g[, pivot]) / g[pivot, pivot]
  }
})

test_that("ties go to the point nearest the median, then lexicographically", {
  pivot <- function(x) incomplete_cholesky(kernel_gaussian(1), x, 1)$pivots
  expect_identical(pivot(c(5, 1, 2, 9, 1.5)), 3L)
  expect_identical(pivot(c(2, 1)), 2L)
  expect_identical(pivot(cbind(c(1, 0, 0, 1), c(0, 1, 0, 1))), 3L)
})

test_that("permuted points give the permuted factor, bit by bit", {
  grid <- as.matrix(expand.grid(1:7, 1:7))
  dimnames(grid) <- NULL
  for (x in list(points(75, 2), points(600, 3), grid)) {
    for (kernel in list(kernel_gaussian(1), kernel_laplace(2) + 1)) {
      ic <- incomplete_cholesky(kernel, x, rank = 25, tol = 1e-8)
      for (seed in 1:5) {
        order <- withr::with_seed(seed, sample(nrow(x)))
        other <- incomplete_cholesky(kernel, x[order, ], rank = 25, tol = 1e-8)
        expect_identical(order[other$pivots], ic$pivots)
        expect_identical(other$factor, ic$factor[order, , drop = FALSE])
        expect_equal(other$residual, ic$residual)
      }
    }
  }
})

test_that("features extend the rows of the factor to new points", {
  x <- points(80, 2)
  z <- points(13, 2, seed = 2)
  kernel <- kernel_matern("median")
  ic <- incomplete_cholesky(kernel, x, rank = 20)
  expect_equal(incomplete_cholesky_features(ic, x), ic$factor, tolerance = 1e-9)

  phi <- incomplete_cholesky_features(ic, z)
  k <- kernel_matrix(ic$kernel, ic$points, z)
  g <- kernel_matrix(ic$kernel, ic$points)
  expect_equal(phi, t(solve(t(chol(g)), k)), tolerance = 1e-10)
  expect_equal(tcrossprod(phi), t(k) %*% solve(g, k), tolerance = 1e-10)
  one <- incomplete_cholesky_features(ic, z[1, , drop = FALSE])
  expect_equal(one, phi[1, , drop = FALSE])
})

test_that("edge cases and bad input", {
  one <- incomplete_cholesky(kernel_gaussian(), 3)
  expect_identical(one$factor, matrix(1))
  expect_identical(one$residual, 0)
  none <- incomplete_cholesky(kernel_gaussian(1), matrix(0, 0, 2))
  expect_identical(dim(none$factor), c(0L, 0L))
  same <- incomplete_cholesky(kernel_gaussian(1), rep(2, 10), tol = 0)
  expect_identical(same$factor, matrix(1, 10, 1))

  x <- points(5, 2)
  k <- kernel_gaussian(1)
  expect_error(incomplete_cholesky(k, x, 0), class = "kb_error_argument")
  expect_error(incomplete_cholesky(k, x, tol = -1), class = "kb_error_argument")
  expect_error(incomplete_cholesky(k, Inf), class = "kb_error_not_finite")
  expect_error(incomplete_cholesky(kernel_rotation(), x),
    class = "kb_error_dimension"
  )
  custom <- 1 + kernel_custom(function(x, y) x %*% t(y))
  expect_error(incomplete_cholesky(custom, x), class = "kb_error_custom_kernel")
  ic <- incomplete_cholesky(k, x)
  expect_error(
    incomplete_cholesky_features(ic, 1),
    class = "kb_error_dimension"
  )
  expect_error(
    incomplete_cholesky(kernel_polynomial(1000), 1e200), "not finite"
  )
})
