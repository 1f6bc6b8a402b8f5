# Modes of embeddings against searches over grids and over SO(3).

points <- function(n, d, seed = 1) {
  withr::with_seed(seed, matrix(rnorm(n * d), n, d))
}

signed <- function(n, seed = 2) {
  w <- withr::with_seed(seed, rnorm(n) + 0.7)
  w / sum(w)
}

rotations <- function(n, seed = 1) {
  t(apply(points(n, 9, seed), 1, function(row) {
    q <- qr.Q(qr(matrix(row, 3)))
    q * sign(det(q))
  }))
}

#' Finer and finer grids around the best point
grid_search <- function(f, lower, upper, n = 41, rounds = 8) {
  for (round in seq_len(rounds)) {
    axes <- Map(function(a, b) seq(a, b, length.out = n), lower, upper)
    grid <- as.matrix(expand.grid(axes))
    best <- grid[which.max(f(grid)), ]
    half <- 2 * (upper - lower) / (n - 1)
    lower <- best - half
    upper <- best + half
  }
  unname(best)
}

expect_mode <- function(x, w, kernel, tolerance = 1e-5) {
  f <- function(z) embedding_values(x, w, kernel, z)
  found <- embedding_mode(x, w, kernel)
  true <- grid_search(f, apply(x, 2, min) - 1, apply(x, 2, max) + 1)
  expect_true(found$converged)
  expect_equal(found$value, f(matrix(found$x, 1)), tolerance = 1e-12)
  # The grid may find another maximum, but never a higher one.
  expect_gte(found$value, f(matrix(true, 1)) * (1 - 1e-9))
  expect_lt(max(abs(found$x - true)), tolerance)
}

test_that("Gaussian kernel: the fixed point is the highest maximum", {
  for (seed in 1:4) {
    line <- points(40, 1, seed)
    plane <- points(60, 2, seed)
    expect_mode(line, rep(1 / 40, 40), kernel_gaussian(0.6))
    expect_mode(line, signed(40, seed), kernel_gaussian(1))
    expect_mode(plane, signed(60, seed), kernel_gaussian(1))
    expect_mode(plane, signed(60, seed), kernel_gaussian(c(0.8, 1.5)))
  }
})

test_that("other kernels: numeric ascent finds it, too", {
  for (seed in 1:2) {
    line <- points(40, 1, seed)
    plane <- points(60, 2, seed)
    for (kernel in list(
      kernel_matern(1, 5 / 2), kernel_laplace(1),
      kernel_gaussian(1) + 0.5 * kernel_rational_quadratic(1),
      kernel_custom(function(x, y) kernel_matrix(kernel_gaussian(1), x, y))
    )) {
      expect_mode(line, signed(40, seed), kernel)
      expect_mode(plane, signed(60, seed), kernel)
    }
  }
})

test_that("embeddings without a maximum are reported as such", {
  x <- points(30, 2)
  w <- signed(30)
  for (kernel in list(kernel_linear(), kernel_polynomial(2))) {
    found <- embedding_mode(x, w, kernel)
    expect_false(found$converged)
    expect_true(all(is.finite(found$x)))
  }
  below <- embedding_mode(x, -abs(w), kernel_gaussian(1))
  expect_false(below$converged)
  far <- embedding_mode(x, abs(w), kernel_gaussian(1), matrix(1e3, 1, 2))
  expect_identical(far[c("x", "value", "converged")], list(
    x = c(1e3, 1e3), value = 0, converged = FALSE
  ))
  few <- fixed_point_ascent(x, abs(w), kernel_gaussian(1), c(2, 2), 3)
  expect_false(few$converged)
  expect_equal(few$iterations, 3)
})

test_that("the step is halved if the embedding would fall", {
  # Negative weights: the full step from 0 reaches a point where the embedding
  # is negative.
  x <- matrix(c(-1.7, 2.8, -2.5, 0.1))
  w <- c(2, -0.3, -0.2, -0.3)
  kernel <- kernel_gaussian(1)
  f <- function(z) embedding_values(x, w, kernel, matrix(z))
  k <- w * kernel_matrix(kernel, x, 0)
  expect_lt(f(sum(k * x) / sum(k)), 0)
  for (start in c(-4.5, -2, 0)) {
    found <- fixed_point_ascent(x, w, kernel, start)
    expect_true(found$converged)
    expect_equal(found$x, grid_search(f, -3, 0), tolerance = 1e-6)
  }
})

test_that("the weighted mean is also a starting point", {
  # From the best sample point the ascent ends at a lower maximum.
  x <- matrix(c(-0.6, -1.3, 1.4, 1.9, 1.7, -2.3))
  w <- c(1, 0.9, 0.8, 0.3, 0.8, 0.4)
  kernel <- kernel_gaussian(1)
  start <- mode_starts(x, w, kernel)
  expect_equal(start, rbind(1.4, sum(w * x) / sum(w)))
  first <- embedding_mode(x, w, kernel, start[1, , drop = FALSE])
  best <- embedding_mode(x, w, kernel)
  expect_true(first$converged)
  expect_gt(best$value, first$value + 0.01)
})

test_that("numeric ascent reaches cusps", {
  # In one dimension, maxima of a Laplace embedding are sample points.
  x <- points(12, 1)
  for (start in seq(-2, 2, by = 0.37)) {
    found <- numeric_ascent(x, rep(1 / 12, 12), kernel_laplace(0.3), start)
    expect_true(found$converged)
    expect_lt(min(abs(found$x - x)), 1e-6)
  }
})

test_that("the gradient of numeric ascent is correct", {
  x <- points(20, 2)
  w <- signed(20)
  z <- c(0.3, -0.4)
  kernel <- kernel_gaussian(c(0.8, 1.5))
  value <- function(z) embedding_values(x, w, kernel, z)
  k <- w * kernel_matrix(kernel, x, matrix(z, 1))[, 1]
  true <- colSums(k * sweep(x, 2, z)) / c(0.8, 1.5)^2
  expect_equal(central_gradient(value, z, c(1e-4, 2e-4)), true,
    tolerance = 1e-6
  )
})

test_that("one point, equal points and zero weights work", {
  kernel <- kernel_gaussian(1)
  expect_equal(embedding_mode(matrix(3), 1, kernel)$x, 3)
  for (k in list(kernel, kernel_laplace(1))) {
    same <- embedding_mode(matrix(2, 5, 2), rep(1, 5), k)
    expect_equal(same$x, c(2, 2))
    expect_true(same$converged)
  }
  none <- embedding_mode(points(4, 1), numeric(4), kernel)
  expect_false(none$converged)
  zero_sum <- embedding_mode(matrix(c(-1, 1)), c(-1, 1), kernel)
  expect_true(zero_sum$converged)
  expect_gt(zero_sum$x, 1)
})

# Rotations --------------------------------------------------------------------

#' Turn about an axis by an angle, as a matrix
turn <- function(axis, angle) {
  u <- axis / sqrt(sum(axis^2))
  cross <- matrix(c(0, u[3], -u[2], -u[3], 0, u[1], u[2], -u[1], 0), 3)
  diag(3) + sin(angle) * cross + (1 - cos(angle)) * cross %*% cross
}

#' Random starts, then random turns by smaller and smaller angles
search_rotations <- function(f, seed = 1) {
  starts <- rotations(2000, seed)
  best <- matrix(starts[which.max(apply(starts, 1, f)), ], 3)
  withr::with_seed(seed, for (angle in 0.3 * 0.5^(0:19)) {
    for (i in 1:60) {
      tried <- best %*% turn(rnorm(3), angle)
      if (f(as.double(tried)) > f(as.double(best))) best <- tried
    }
  })
  as.double(best)
}

test_that("the mode on SO(3) agrees with the best of a search", {
  for (seed in 1:4) {
    x <- rotations(12, seed)
    w <- withr::with_seed(seed, rnorm(12))
    f <- function(z) embedding_values(x, w, kernel_rotation(), matrix(z, 1))
    found <- embedding_mode(x, w, kernel_rotation())
    searched <- search_rotations(f, seed)
    expect_true(found$converged)
    expect_equal(crossprod(matrix(found$x, 3)), diag(3), tolerance = 1e-12)
    expect_equal(det(matrix(found$x, 3)), 1)
    expect_equal(found$value, f(found$x), tolerance = 1e-12)
    expect_gte(found$value, f(searched) - 1e-12)
    expect_lt(max(abs(found$x - searched)), 1e-3)
  }
})

test_that("both signs of the determinant occur in that test", {
  signs <- vapply(1:4, function(seed) {
    w <- withr::with_seed(seed, rnorm(12))
    sign(det(matrix(colSums(w * rotations(12, seed)), 3)))
  }, 0)
  expect_setequal(signs, c(-1, 1))
})

test_that("the mean rotation of turns about an axis is the middle turn", {
  axis <- c(1, 2, -1)
  x <- t(vapply(c(0.1, 0.5, 0.9), function(a) {
    as.double(turn(axis, a))
  }, numeric(9)))
  expect_equal(nearest_rotation(colMeans(x))$x, as.double(turn(axis, 0.5)))
  expect_equal(
    nearest_rotation(colSums(c(1, 0, 1) * x))$x, as.double(turn(axis, 0.5))
  )
  expect_equal(nearest_rotation(2 * x[1, ])$x, x[1, ])
})

test_that("an input without a nearest rotation is reported", {
  half_turns <- rbind(as.double(diag(3)), as.double(turn(c(0, 0, 1), pi)))
  expect_false(
    embedding_mode(half_turns, c(1, 1), kernel_rotation())$converged
  )
  expect_false(embedding_mode(half_turns, c(0, 0), kernel_rotation())$converged)
})

test_that("Tr(A B') is positive semidefinite, Tr(A B) is not", {
  x <- rbind(rotations(20), as.double(turn(c(0, 0, 1), pi / 2)))
  least <- function(gram) min(eigen(gram, TRUE, only.values = TRUE)$values)
  expect_gt(least(kernel_matrix(kernel_rotation(), x)), -1e-12)
  transposed <- x[, c(1, 4, 7, 2, 5, 8, 3, 6, 9)]
  printed <- x %*% t(transposed)
  expect_equal(printed[21, 21], -1)
  expect_lt(least(printed), -1)
})
