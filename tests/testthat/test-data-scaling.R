test_that("columns and response get mean 0 and sd 1", {
  x <- cbind(a = c(1, 5, 9, 2), b = c(-3, 0, 1, 1))
  y <- c(10, 20, 15, 0)
  s <- scaling_learn(x, y, TRUE)
  z <- scaling_x(s, x)
  expect_equal(unname(colMeans(z)), c(0, 0))
  expect_equal(unname(apply(z, 2, sd)), c(1, 1))
  expect_identical(colnames(z), c("a", "b"))
  expect_equal(unname(s$x_scale), unname(apply(x, 2, sd)))
  expect_equal(s$y_center, mean(y))
  expect_equal(s$y_scale, sd(y))
  expect_equal(unscale_mean(s, scaling_y(s, y)), y)
  expect_equal(unscale_sd(s, 2), 2 * sd(y))
})

test_that("scale = FALSE leaves everything bit for bit", {
  x <- matrix(c(0.1, 0.2, 0.3), 3, dimnames = list(NULL, "x"))
  y <- c(1e10 + 0.5, 2, 3)
  s <- scaling_learn(x, y, FALSE)
  expect_identical(scaling_x(s, x), x)
  expect_identical(scaling_y(s, y), y)
  expect_identical(unscale_mean(s, y), y)
  expect_identical(unscale_sd(s, y), y)
})

test_that("a factor response is left alone", {
  y <- factor(c("a", "b"))
  s <- scaling_learn(matrix(1:2, 2), y, TRUE)
  expect_identical(c(s$y_center, s$y_scale), c(0, 1))
  expect_identical(scaling_y(s, y), y)
})

test_that("constant columns and single rows get scale 1", {
  x <- cbind(a = rep(7, 5), b = 1:5, c = rep(0, 5))
  s <- scaling_learn(x, rep(3, 5), TRUE)
  expect_identical(unname(s$x_scale[c("a", "c")]), c(1, 1))
  expect_identical(s$y_scale, 1)
  expect_identical(unname(scaling_x(s, x)[, "a"]), rep(0, 5))
  one <- scaling_learn(x[1, , drop = FALSE], 3, TRUE)
  expect_identical(unname(one$x_scale), c(1, 1, 1))
  expect_identical(scaling_y(one, 3), 0)
})

test_that("constant is relative: rounding is no variation, a small sd is", {
  rounding <- 0.1 + 0.2 - c(0, 5.551115e-17, 0)
  s <- scaling_learn(cbind(1e8 * rounding, c(1e-20, 2e-20, 4e-20)), 1:3, TRUE)
  expect_identical(s$x_scale[[1]], 1)
  expect_equal(s$x_scale[[2]], sd(c(1, 2, 4)) * 1e-20)
})

test_that("huge values do not overflow", {
  s <- scaling_learn(matrix(c(-1e300, 1e300, 1e300)), 1:3, TRUE)
  expect_equal(s$x_scale, sd(c(-1, 1, 1)) * 1e300)
})

test_that("indicators are standardised and later rows use the same numbers", {
  m <- mould_xy(data.frame(f = c("a", "b", "b"), v = 1:3), 1:3)
  s <- scaling_learn(m$x, m$y, TRUE)
  expect_equal(unname(apply(scaling_x(s, m$x), 2, sd)), rep(1, 3))
  new <- mould_forge(m, data.frame(v = 2, f = "a"))$x
  expect_equal(unname(scaling_x(s, new)[, "v"]), 0)
  expect_identical(dim(scaling_x(s, new)), c(1L, 3L))
})

test_that("NA rows stay NA", {
  s <- scaling_learn(cbind(1:3, 4:6), 1:3, TRUE)
  expect_true(all(is.na(scaling_x(s, cbind(NA_real_, NA_real_)))))
})
