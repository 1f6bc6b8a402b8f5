# The incomplete Cholesky factor against dense algebra.

points <- function(n, d, seed = 1) {
  withr::with_seed(seed, matrix(rnorm(n * d), n, d))
}

#' Greedy pivoting on a dense matrix, from its definition
#'
#' @param order The points by precedence in ties.
reference <- function(g, order, rank = nrow(g), tol = 0) {
  n <- nrow(g)
  d <- diag(g)
  r <- matrix(0, n, 0)
  pivots <- integer()
  floor <- n * .Machine$double.eps * max(d)
  while (length(pivots) < rank && sum(d) > tol * sum(diag(g))) {
    p <- order[d[order] >= max(d) * (1 - 1e-12)][1]
    if (d[p] <= floor) break
    column <- g[, p]
    for (l in seq_along(pivots)) column <- column - r[, l] * r[p, l]
    column <- column / sqrt(d[p])
    column[pivots] <- 0
    column[p] <- sqrt(d[p])
    d <- pmax(d - column^2, 0)
    d[p] <- 0
    r <- unname(cbind(r, column))
    pivots <- c(pivots, p)
  }
  list(pivots = pivots, factor = r, residual = sum(d), trace = sum(diag(g)))
}

#' Points by precedence in ties
tie_order <- function(x) {
  x <- as.matrix(x)
  distance <- 0
  for (j in seq_len(ncol(x))) {
    distance <- distance + (x[, j] - stats::median(x[, j]))^2
  }
  do.call(base::order, c(list(distance), lapply(
    seq_len(ncol(x)), function(j) x[, j]
  )))
}

custom_gaussian <- function() {
  kernel_custom(function(x, y) kernel_matrix(kernel_gaussian(1), x, y))
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

test_that("blocks of pivots agree with greedy pivoting one by one", {
  x <- points(700, 3)
  lattice <- unname(as.matrix(expand.grid(1:9, 1:9, 1:9)))
  cases <- list(
    list(kernel_laplace(2), x, 300), # several pivots a block
    list(kernel_gaussian(1), x[c(1:400, 1:300), ], 150),
    list(kernel_gaussian(2) * kernel_linear(), x, 60),
    list(kernel_laplace(1), round(points(700, 1), 1), 100),
    list(kernel_periodic(1, 2), round(points(700, 1), 1), 100),
    list(kernel_gaussian(1e-3), x, 300), # all tie, all the time
    list(kernel_gaussian(1e-3) + kernel_linear(), x, 300),
    list(kernel_gaussian(0.3), lattice, 200),
    list(kernel_laplace(0.1) + kernel_periodic(1, 3), lattice, 100)
  )
  for (case in cases) {
    at <- case[[2]]
    g <- kernel_matrix(case[[1]], at)
    ic <- incomplete_cholesky(case[[1]], at, case[[3]], 0)
    plain <- reference(g, tie_order(at), case[[3]])
    expect_identical(ic$pivots, plain$pivots)
    expect_equal(ic$factor, plain$factor, tolerance = 1e-12)
    expect_equal(ic$residual, plain$residual, tolerance = 1e-12)
    parts <- c("pivots", "factor", "residual", "trace")
    expect_identical(
      incomplete_cholesky_gram(g, at, case[[3]], 0)[parts], ic[parts]
    )
  }
})

test_that("a point that starts to tie within a block is not passed over", {
  x <- (-1)^(1:700) * 1:700
  # The first ties with the rest, not with the second and third.
  d <- c(1 - 1.2e-12, 1, 1, rep(1 - 0.5e-12, 697))
  ic <- incomplete_cholesky_gram(diag(d), x, 8)
  expect_identical(ic$pivots, c(2L, 3L, 1L, 4:8))
  expect_identical(ic$pivots, reference(diag(d), tie_order(x), 8)$pivots)
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

test_that("it stops exactly at the tolerance", {
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
  for (x in list(points(75, 2), points(900, 3), grid)) {
    rank <- if (nrow(x) > 100) 150 else 25
    for (kernel in list(kernel_gaussian(1), kernel_laplace(2) + 1)) {
      ic <- incomplete_cholesky(kernel, x, rank, tol = 1e-8)
      for (seed in 1:5) {
        order <- withr::with_seed(seed, sample(nrow(x)))
        other <- incomplete_cholesky(kernel, x[order, ], rank, tol = 1e-8)
        expect_identical(order[other$pivots], ic$pivots)
        expect_identical(other$factor, ic$factor[order, , drop = FALSE])
        expect_equal(other$residual, ic$residual)
      }
    }
  }
})

test_that("a custom kernel agrees with the same built-in one", {
  x <- points(70, 2)
  z <- points(9, 2, seed = 2)
  custom <- custom_gaussian()
  builtin <- incomplete_cholesky(kernel_gaussian(1), x, 20)
  ic <- incomplete_cholesky(custom, x, 20)
  parts <- c("pivots", "factor", "residual", "trace", "points")
  expect_equal(ic[parts], builtin[parts], tolerance = 1e-14)
  expect_identical(ic$kernel, custom)
  expect_equal(
    incomplete_cholesky_features(ic, z),
    incomplete_cholesky_features(builtin, z),
    tolerance = 1e-10
  )
  sum <- incomplete_cholesky(custom + kernel_linear(), x, 20)
  expect_equal(
    sum$factor,
    incomplete_cholesky(kernel_gaussian(1) + kernel_linear(), x, 20)$factor
  )
  median <- incomplete_cholesky(1 * custom + kernel_gaussian("median"), x, 5)
  expect_identical(
    median$kernel$parts[[2]]$bandwidth, bandwidth_median(x)
  )
})

test_that("a Gram matrix agrees with its kernel", {
  x <- points(70, 2)
  z <- points(9, 2, seed = 2)
  kernel <- kernel_laplace(1)
  from_points <- incomplete_cholesky(kernel, x, 20, 0)
  ic <- incomplete_cholesky_gram(kernel_matrix(kernel, x), x, 20, 0)
  parts <- c("pivots", "factor", "residual", "trace")
  expect_identical(ic[parts], from_points[parts])
  expect_named(ic, c(parts, "kernel", "points"))
  expect_null(ic$kernel)
  expect_null(ic$points)
  expect_equal(
    incomplete_cholesky_features(ic, kernel_matrix(kernel, z, x)),
    incomplete_cholesky_features(from_points, z),
    tolerance = 1e-12
  )
  zero <- incomplete_cholesky_gram(matrix(0, 3, 3))
  expect_identical(dim(zero$factor), c(3L, 0L))
  expect_identical(
    incomplete_cholesky_features(zero, matrix(1, 2, 3)), matrix(0, 2, 0)
  )
})

test_that("ties in a Gram matrix go to the largest sum of a row", {
  g <- kernel_matrix(kernel_gaussian(1), c(4, 0, 1.5, 9))
  for (scale in c(1e-300, 1, 1e300)) {
    expect_identical(incomplete_cholesky_gram(scale * g, rank = 1)$pivots, 3L)
  }
  expect_identical(incomplete_cholesky_gram(diag(3))$pivots, 1:3)
  # A sum of doubles would depend on the order of the terms.
  g <- kernel_matrix(kernel_gaussian(2), points(120, 1))
  ic <- incomplete_cholesky_gram(g, rank = 8)
  for (seed in 1:5) {
    order <- withr::with_seed(seed, sample(120))
    other <- incomplete_cholesky_gram(g[order, order], rank = 8)
    expect_identical(order[other$pivots], ic$pivots)
    expect_identical(other$factor, ic$factor[order, ])
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

test_that("edge cases work, and bad input is refused", {
  one <- incomplete_cholesky(kernel_gaussian(), 3)
  expect_identical(one$factor, matrix(1))
  expect_identical(one$residual, 0)
  none <- incomplete_cholesky(kernel_gaussian(1), matrix(0, 0, 2))
  expect_identical(dim(none$factor), c(0L, 0L))
  same <- incomplete_cholesky(kernel_gaussian(1), rep(2, 10), tol = 0)
  expect_identical(same$factor, matrix(1, 10, 1))

  # Roots whose squares fall short.
  diagonal <- incomplete_cholesky_gram(diag(30:1), tol = 0)
  expect_identical(diagonal$residual, 0)
  expect_identical(diag(diagonal$factor), sqrt(30:1))

  x <- points(5, 2)
  k <- kernel_gaussian(1)
  expect_error(incomplete_cholesky(k, x, 0), class = "kb_error_argument")
  expect_error(incomplete_cholesky(k, x, tol = -1), class = "kb_error_argument")
  expect_error(incomplete_cholesky(k, Inf), class = "kb_error_not_finite")
  expect_error(incomplete_cholesky(kernel_rotation(), x),
    class = "kb_error_dimension"
  )
  ic <- incomplete_cholesky(k, x)
  expect_error(
    incomplete_cholesky_features(ic, 1),
    class = "kb_error_dimension"
  )
  expect_error(
    incomplete_cholesky(kernel_polynomial(1000), 1e200), "not finite"
  )
})

test_that("errors of custom kernels and of Gram matrices are reported", {
  fails <- function(class, gram, ...) {
    expect_error(incomplete_cholesky_gram(gram, ...),
      class = paste0("kb_error_", class)
    )
  }
  g <- diag(3)
  fails("argument", "a")
  fails("dimension", g[1:2, ])
  fails("dimension", g, x = 1:2)
  fails("argument", g, rank = 0)
  fails("argument", g, tol = 2)
  fails("not_finite", replace(g, 5, NA))
  fails("not_finite", g, x = c(1, Inf, 2))
  fails("not_symmetric", replace(g, 2, 2e-8))
  expect_length(incomplete_cholesky_gram(replace(g, 2, 0.5e-8))$pivots, 3)
  fails("not_positive", replace(g, 5, -1e-3))

  custom <- function(f) incomplete_cholesky(kernel_custom(f), 1:3)
  expect_error(
    custom(function(x, y) 1),
    class = "kb_error_custom_kernel"
  )
  expect_error(
    custom(function(x, y) -x %*% t(y)),
    class = "kb_error_not_positive"
  )
  ic <- incomplete_cholesky_gram(g)
  expect_error(
    incomplete_cholesky_features(ic, g[, 1:2]),
    class = "kb_error_dimension"
  )
})

test_that("it is greedy pivoting as defined", {
  x <- points(90, 2)
  repeated <- x[c(1:40, 1:40, 7, 7, 7), ]
  grid <- unname(as.matrix(expand.grid(1:6, 1:6)))
  for (kernel in list(
    kernel_gaussian(1), kernel_laplace(2), kernel_polynomial(3),
    kernel_constant(2), kernel_gaussian(3) * kernel_linear()
  )) {
    for (at in list(x, repeated, grid, x[1, , drop = FALSE])) {
      for (tol in c(0, 1e-3)) {
        ic <- incomplete_cholesky(kernel, at, 12, tol)
        plain <- reference(kernel_matrix(kernel, at), tie_order(at), 12, tol)
        expect_identical(ic$pivots, plain$pivots)
        expect_equal(ic$factor, plain$factor, tolerance = 1e-12)
        expect_equal(ic$residual, plain$residual, tolerance = 1e-10)
      }
    }
  }
})
