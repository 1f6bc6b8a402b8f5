# Herding against its definition.

points <- function(n, d, seed = 1) {
  withr::with_seed(seed, matrix(rnorm(n * d), n, d))
}

herd <- function(mean, n, candidates = mean$points, ...) {
  herd_indices(predict(mean, candidates), function(i) {
    kernel_matrix(mean$kernel, candidates, candidates[i, , drop = FALSE])
  }, n, ...)
}

test_that("each point is the best at its step", {
  x <- points(60, 2)
  candidates <- points(80, 2, seed = 2)
  w <- withr::with_seed(3, rnorm(60) + 0.5)
  for (m in list(
    kernel_mean(x), kernel_mean(x, kernel_laplace(1)),
    kernel_mean(x, kernel_gaussian(1), w / sum(w))
  )) {
    expect_identical(herd(m, 100), herd_plainly(m, 100))
    expect_identical(
      herd(m, 50, candidates), herd_plainly(m, 50, candidates)
    )
  }
})

test_that("the first point is the mode, ties go to the first", {
  m <- kernel_mean(c(0.5, 0, 9, -0.5), kernel_gaussian(1))
  expect_identical(herd(m, 1), 2L)
  tied <- kernel_mean(c(2, -2), kernel_gaussian(1))
  expect_identical(herd(tied, 4), c(1L, 2L, 1L, 2L))
})

test_that("with one candidate or all weight on one, it is repeated", {
  expect_identical(herd(kernel_mean(3), 4), rep(1L, 4))
  m <- kernel_mean(c(1, 2), kernel_gaussian(0.1), c(0, 1))
  expect_identical(herd(m, 2), c(2L, 2L))
})

test_that("herding comes nearer to the mean than random draws", {
  x <- points(500, 2)
  m <- kernel_mean(x, kernel_gaussian(1))
  gap <- function(chosen) mmd(m, kernel_mean(x[chosen, ], m$kernel))
  drawn <- withr::with_seed(1, replicate(50, gap(sample(500, 50))))
  expect_lt(gap(herd(m, 50)), min(drawn) / 2)
  # 1 / n, not 1 / sqrt(n)
  expect_lt(gap(herd(m, 200)), gap(herd(m, 20)) / 5)
})

test_that("a column is requested once, unless memory is limited", {
  x <- c(0, 1, 4)
  m <- kernel_mean(x, kernel_gaussian(1))
  asked <- integer()
  columns <- function(i) {
    asked <<- c(asked, i)
    kernel_matrix(m$kernel, x, x[i])
  }
  first <- herd_indices(predict(m), columns, 12)
  expect_identical(sort(asked), 1:3)
  asked <- integer()
  expect_identical(herd_indices(predict(m), columns, 12, cells = 3), first)
  expect_gt(length(asked), 3)
  expect_lt(length(asked), 12)
})
