# Kernel means against plain double sums, and their modes against searches.

points <- function(n, d, seed = 1) {
  withr::with_seed(seed, matrix(rnorm(n * d), n, d))
}

signed <- function(n, seed = 2) withr::with_seed(seed, rnorm(n) + 0.5)

on_paper <- function(expr) {
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  force(expr)
}

test_that("the embedding is the weighted sum of kernels", {
  x <- points(30, 2)
  z <- points(7, 2, seed = 3)
  for (kernel in list(kernel_gaussian(0.7), kernel_polynomial(2))) {
    m <- kernel_mean(x, kernel)
    expect_equal(predict(m, z), rowMeans(kernel_matrix(kernel, z, x)))
    w <- signed(30)
    m <- kernel_mean(x, kernel, w)
    k <- kernel_matrix(kernel, z, x)
    expect_equal(predict(m, z), drop(k %*% w), tolerance = 1e-13)
  }
  expect_identical(predict(m), predict(m, x))
  expect_identical(predict(m, x[0, ]), double())
  custom <- kernel_mean(x, kernel_custom(tcrossprod))
  expect_equal(predict(custom, z), drop(z %*% colMeans(x)))
})

test_that("the median bandwidth is found from the points", {
  m <- kernel_mean(c(0, 1, 3))
  expect_identical(m$kernel, kernel_gaussian(2))
  expect_identical(m$weights, rep(1 / 3, 3))
  expect_identical(m$points, matrix(c(0, 1, 3)))
})

test_that("blocks of rows do not change the values", {
  x <- points(40, 2)
  w <- signed(40)
  kernel <- kernel_laplace(1)
  by_two <- lapply(row_blocks(x, 40, cells = 80), function(rows) {
    embedding_values(x, w, kernel, x[rows, , drop = FALSE])
  })
  expect_length(by_two, 20)
  expect_equal(unlist(by_two), embedding_values(x, w, kernel, x),
    tolerance = 1e-14
  )
})

test_that("mean() divides by the sum of the weights", {
  x <- cbind(a = c(1, 2, 3), b = 4:6)
  expect_equal(mean(kernel_mean(x)), c(a = 2, b = 5))
  m <- kernel_mean(x, weights = c(2, 1, -1))
  expect_equal(mean(m), c(a = 0.5, b = 3.5))
  zero <- kernel_mean(c(1, 2, 4), weights = c(0.1, 0.2, -0.3))
  expect_error(mean(zero), class = "kb_error_not_defined")
})

test_that("inner product and distance equal their double sums", {
  x <- points(20, 2)
  y <- points(15, 2, seed = 3) + 0.5
  v <- signed(20)
  w <- signed(15, seed = 4)
  for (kernel in list(kernel_gaussian(1), kernel_linear() + 1)) {
    a <- kernel_mean(x, kernel, v)
    b <- kernel_mean(y, kernel, w)
    product <- function(x, v, y, w) {
      sum(outer(v, w) * kernel_matrix(kernel, x, y))
    }
    expect_equal(inner_product(a, b), product(x, v, y, w), tolerance = 1e-12)
    expect_equal(inner_product(a, b), inner_product(b, a), tolerance = 1e-12)
    square <- product(x, v, x, v) - 2 * product(x, v, y, w) +
      product(y, w, y, w)
    expect_equal(mmd(a, b), sqrt(square), tolerance = 1e-10)
    expect_equal(mmd(a, b), mmd(b, a))
  }
  means <- kernel_linear()
  expect_equal(
    mmd(kernel_mean(x, means), kernel_mean(y, means)),
    sqrt(sum((colMeans(x) - colMeans(y))^2))
  )
})

test_that("equal means have distance zero, near ones a small one", {
  x <- points(200, 2)
  a <- kernel_mean(x, kernel_gaussian(1))
  order <- withr::with_seed(1, sample(200))
  again <- kernel_mean(x[order, ], kernel_gaussian(1))
  expect_identical(mmd(a, a), 0)
  expect_identical(mmd(a, again), 0)
  twice <- kernel_mean(rbind(x, x), kernel_gaussian(1))
  expect_lt(mmd(a, twice), 1e-15)
  # One point moved by h: about h / n, with a kernel of bandwidth 1. The three
  # inner products have lost all its digits.
  moved <- x
  moved[1, 1] <- moved[1, 1] + 1e-6
  near <- kernel_mean(moved, kernel_gaussian(1))
  expect_equal(mmd(a, near), 1e-6 / 200, tolerance = 1e-3)
})

test_that("equal points are merged", {
  both <- merge_points(cbind(c(1, 2, 1, 0, 2), c(3, 1, 3, 0, 2)), 1:5 + 0)
  expect_identical(both$points, cbind(c(0, 1, 2, 2), c(0, 3, 1, 2)))
  expect_identical(both$weights, c(4, 4, 2, 5))
  none <- merge_points(matrix(c(1, 1)), c(1, -1))
  expect_identical(dim(none$points), c(0L, 1L))
})

test_that("means of different spaces cannot be combined", {
  a <- kernel_mean(points(5, 2), kernel_gaussian(1))
  expect_error(mmd(a, kernel_mean(points(5, 2), kernel_gaussian(2))),
    class = "kb_error_kernel"
  )
  expect_error(inner_product(a, kernel_mean(1:3, kernel_gaussian(1))),
    class = "kb_error_dimension"
  )
  expect_error(mmd(a, points(5, 2)), class = "kb_error_argument")
  expect_error(inner_product(NULL, a), class = "kb_error_argument")
})

test_that("bad input is refused", {
  bad <- function(class, ...) {
    expect_error(kernel_mean(...), class = paste0("kb_error_", class))
  }
  bad("argument", "a")
  bad("argument", numeric())
  bad("argument", 1:3, 2)
  bad("argument", 1:3, weights = c(1, 2))
  bad("argument", 1:3, weights = c(1, 2, NA))
  bad("argument", 1:3, weights = c("1", "2", "3"))
  bad("not_finite", c(1, NA))
  bad("dimension", 1:3, kernel_gaussian(c(1, 2)))
  m <- kernel_mean(1:3)
  expect_error(predict(m, cbind(1, 2)), "newdata.* must have 1 column",
    class = "kb_error_dimension"
  )
  expect_error(kernel_mean(numeric()), "`x` must be at least one point")
  expect_error(predict(m, Inf), class = "kb_error_not_finite")
  expect_error(predict(m, 1, 2), class = "kb_error_unknown_argument")
})

test_that("print names the object", {
  expect_output(print(kernel_mean(1:3, kernel_gaussian(1))), "3 points")
  expect_output(print(kernel_mean(1:3)), "none negative")
  m <- kernel_mean(cbind(1:4, 1), weights = c(1, 1, 1, -1))
  expect_output(print(m), "2 dimensions")
  expect_output(print(m), "sum 2, negative mass 25%")
  expect_identical(negative_mass(c(0, 0)), 0)
})

test_that("plot() draws one and two dimensions", {
  line <- kernel_mean(points(20, 1), weights = signed(20))
  plane <- kernel_mean(cbind(a = rnorm(5), b = rnorm(5)))
  flat <- kernel_mean(cbind(1, c(2, 2)), kernel_constant(1), c(0, 0))
  on_paper(for (m in list(line, plane, flat, kernel_mean(3))) {
    expect_silent(out <- withVisible(plot(m, n = 15)))
    expect_identical(out$value, m)
    expect_false(out$visible)
    expect_silent(plot(m, main = "title", xlab = "here"))
    expect_error(plot(m, n = 1), class = "kb_error_argument")
    expect_error(plot(m, colour = 1), class = "kb_error_unknown_argument")
  })
  expect_error(plot(kernel_mean(points(5, 3))), class = "kb_error_not_defined")
})
