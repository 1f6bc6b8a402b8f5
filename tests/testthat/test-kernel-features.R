# Rank and tolerance: which decides the number of features.

points <- function(n, d, seed = 1) {
  withr::with_seed(seed, matrix(rnorm(n * d), n, d))
}

test_that("few points have all features", {
  x <- points(300, 2)
  kernel <- kernel_laplace(1)
  expect_length(kernel_features(kernel, x)$pivots, 300)
  expect_length(kernel_features(kernel, x, "full")$pivots, 300)
  smooth <- kernel_features(kernel_gaussian(2), x)
  expect_lt(smooth$residual, 1e-10 * smooth$trace)
  more <- kernel_features(kernel_gaussian(2), points(301, 2))
  expect_gt(more$residual, 1e-10 * more$trace)
  one <- kernel_features(kernel, points(1, 2))
  expect_identical(one$factor, matrix(1))
})

test_that("many points have at most 500, at the tolerance 1e-6", {
  rough <- kernel_features(kernel_laplace(1), points(600, 2))
  expect_length(rough$pivots, 500)
  smooth <- kernel_features(kernel_gaussian(2), points(600, 2))
  expect_lte(smooth$residual, 1e-6 * smooth$trace)
  expect_lt(length(smooth$pivots), 100)
})

test_that("a tolerance lifts the cap, a rank on its own is kept", {
  x <- points(600, 2)
  kernel <- kernel_laplace(1)
  fine <- kernel_features(kernel, x, tol = 1e-4)
  expect_lte(fine$residual, 1e-4 * fine$trace)
  expect_gt(length(fine$pivots), 500)
  expect_length(kernel_features(kernel_gaussian(2), x, 40)$pivots, 40)
  both <- kernel_features(kernel, x, 40, tol = 0.5)
  expect_lt(length(both$pivots), 40)
})

test_that("bad arguments are refused", {
  bad <- function(...) {
    expect_error(kernel_features(kernel_gaussian(1), 1:3, ...),
      class = "kb_error_argument"
    )
  }
  bad("half")
  bad(0)
  bad(c(1, 2))
  bad(NULL)
  bad(tol = -1)
  bad(tol = "small")
  bad("full", tol = 0.1)
})
