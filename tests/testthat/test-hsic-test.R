# The test of independence: its statistic, its p-value and its size.

sample_of <- function(n, d = 1, seed = 1) {
  withr::with_seed(seed, matrix(rnorm(n * d), n, d))
}

#' The criterion from its sums over pairs, triples and quadruples
plain_hsic <- function(k, l) {
  n <- nrow(k)
  sum(k * l) / n^2 + sum(k) * sum(l) / n^4 -
    2 * sum(rowSums(k) * rowSums(l)) / n^3
}

all_orders <- function(n) {
  if (n == 1) {
    return(matrix(1))
  }
  shorter <- all_orders(n - 1)
  do.call(cbind, lapply(seq_len(n), function(first) {
    rbind(first, shorter + (shorter >= first))
  }))
}

test_that("the statistic is as defined by its sums", {
  x <- sample_of(15, 2)
  y <- cbind(x[, 1]^2, sample_of(15, seed = 2))
  for (kernel in list(
    kernel_gaussian(0.8), kernel_laplace(2), kernel_polynomial(2)
  )) {
    test <- hsic_test(x, y, kernel, kernel_gaussian(1), 9, seed = 1)
    k <- kernel_matrix(kernel, x)
    l <- kernel_matrix(kernel_gaussian(1), y)
    expect_equal(test$statistic, c(HSIC = plain_hsic(k, l)), tolerance = 1e-11)
    h <- diag(15) - 1 / 15
    trace <- sum(diag(k %*% h %*% l %*% h))
    expect_equal(test$statistic[[1]], trace / 15^2, tolerance = 1e-11)
  }
  x <- x[, 1]
  linear <- hsic_test(x, y[, 1], kernel_linear(), kernel_linear(), 9)
  covariance <- mean((x - mean(x)) * (y[, 1] - mean(y[, 1])))
  expect_equal(linear$statistic[[1]], covariance^2, tolerance = 1e-11)
})

test_that("it is the distance of the joint mean and the product of margins", {
  x <- sample_of(9)
  y <- x^2 + 0.2 * sample_of(9, seed = 2)
  both <- as.matrix(expand.grid(x = x, y = y))
  kernel <- kernel_gaussian(c(0.7, 1.3))
  distance <- mmd(kernel_mean(cbind(x, y), kernel), kernel_mean(both, kernel))
  test <- hsic_test(x, y, kernel_gaussian(0.7), kernel_gaussian(1.3), 9)
  expect_equal(test$statistic[[1]], distance^2, tolerance = 1e-11)
})

test_that("each permuted value is the statistic of the permuted pairs", {
  x <- sample_of(14, 2)
  y <- sample_of(14, 3, seed = 2)
  test <- hsic_test(x, y, kernel_laplace(1), kernel_gaussian(1), 25, seed = 3)
  k <- kernel_matrix(kernel_laplace(1), x)
  l <- kernel_matrix(kernel_gaussian(1), y)
  plain <- withr::with_seed(3, replicate(25, {
    order <- sample.int(14)
    plain_hsic(k, l[order, order])
  }))
  expect_equal(test$permuted, plain, tolerance = 1e-11)
  expect_equal(test$p.value, (1 + sum(plain >= test$statistic)) / 26)
})

test_that("bandwidths are the medians of x and of y", {
  x <- sample_of(12)
  y <- 5 * sample_of(12, 2, seed = 2)
  test <- hsic_test(x, y, permutations = 1)
  expect_identical(test$kernel_x, kernel_gaussian(bandwidth_median(x)))
  expect_identical(test$kernel_y, kernel_gaussian(bandwidth_median(y)))
})

test_that("for tiny samples the p-value is that of all pairings", {
  x <- c(0.1, 1.3, 0.4, 2.2, 3.1)
  y <- c(0.3, 1.7, 1.2, 1.1, 2.5)
  k <- kernel_matrix(kernel_gaussian(1), x)
  l <- kernel_matrix(kernel_gaussian(1), y)
  values <- apply(all_orders(5), 2, function(p) plain_hsic(k, l[p, p]))
  expect_length(values, 120)
  exact <- mean(values >= plain_hsic(k, l) - 1e-12)
  expect_gt(exact, 0.01)
  expect_lt(exact, 0.5)
  permutations <- 20000
  test <- hsic_test(x, y, kernel_gaussian(1), kernel_gaussian(1), permutations,
    seed = 1
  )
  count <- test$p.value * (permutations + 1) - 1
  # Binomial given the exact value: false alarm below 1e-4.
  expect_gte(count, qbinom(5e-5, permutations, exact))
  expect_lte(count, qbinom(1 - 5e-5, permutations, exact))
})

test_that("order of pairs, exchange of x and y, and scale do not matter", {
  x <- sample_of(13, 2)
  y <- x[, 1]^2 + sample_of(13, seed = 2)
  k <- kernel_laplace(1)
  l <- kernel_gaussian(2)
  test <- hsic_test(x, y, k, l, 99, seed = 1)
  order <- 13:1
  turned <- hsic_test(x[order, ], y[order, ], k, l, 99, seed = 1)
  swapped <- hsic_test(y, x, l, k, 99, seed = 1)
  expect_equal(turned$statistic, test$statistic, tolerance = 1e-12)
  expect_equal(swapped$statistic, test$statistic, tolerance = 1e-12)
  scaled <- hsic_test(x, y, 1 + 3 * k, 2 * l, 99, seed = 1)
  expect_equal(scaled$statistic, 6 * test$statistic, tolerance = 1e-12)
  expect_identical(scaled$p.value, test$p.value)
})

test_that("a constant column is independent of everything", {
  test <- hsic_test(rep(2, 20), sample_of(20), permutations = 50)
  expect_equal(test$statistic[[1]], 0)
  expect_identical(test$p.value, 1)
})

test_that("the size is right and p-values are uniform", {
  p <- withr::with_seed(13, replicate(400, {
    hsic_test(rexp(15), rnorm(15), permutations = 99)$p.value
  }))
  # (1 + B) level is whole: P(p <= level) = level. Six bounds, 1e-4 in all.
  for (level in c(0.05, 0.2, 0.5)) {
    expect_gte(sum(p <= level), qbinom(1e-4 / 6, 400, level))
    expect_lte(sum(p <= level), qbinom(1 - 1e-4 / 6, 400, level))
  }
})

test_that("dependence without correlation is found", {
  x <- sample_of(80)
  y <- x^2 + 0.5 * sample_of(80, seed = 2)
  expect_lte(hsic_test(x, y, seed = 1)$p.value, 0.001)
  angle <- withr::with_seed(4, runif(80, 0, 2 * pi))
  expect_lte(hsic_test(cos(angle), sin(angle), seed = 1)$p.value, 0.01)
})

test_that("the power against a known correlation is that of a good test", {
  # n = 40, correlation .7: this test has power .99 (2000 data sets). At .98
  # fewer than 90 of 100 rejections have probability 6e-6.
  p <- withr::with_seed(14, replicate(100, {
    x <- rnorm(40)
    hsic_test(x, 0.7 * x + sqrt(0.51) * rnorm(40), permutations = 99)$p.value
  }))
  expect_gte(sum(p <= 0.05), 90)
})

test_that("it is seeded, and in the form of R's other tests", {
  keep_random_state()
  first <- sample_of(10)
  second <- sample_of(10, seed = 2)
  set.seed(1)
  before <- .Random.seed
  test <- hsic_test(first, second, permutations = 19, seed = 7)
  expect_identical(.Random.seed, before)
  expect_identical(
    hsic_test(first, second, permutations = 19, seed = 7), test
  )
  expect_s3_class(test, "htest")
  expect_identical(test$data.name, "first and second")
  expect_output(print(test), "permutations = 19, p-value")
  drawn <- hsic_test(first, second)
  set.seed(1)
  expect_identical(hsic_test(first, second), drawn)
})

test_that("bad input is refused", {
  bad <- function(class, ...) {
    expect_error(hsic_test(...), class = paste0("kb_error_", class))
  }
  bad("dimension", 1:3, 1:4)
  bad("argument", 1, 1)
  bad("argument", 1:3, letters[1:3])
  bad("argument", 1:3, 1:3, "gaussian")
  bad("argument", 1:3, 1:3, permutations = 0.5)
  bad("not_finite", c(1, NA, 2), 1:3)
  bad("dimension", 1:3, 1:3, kernel_gaussian(1:2))
  bad("dimension", 1:3, 1:3, kernel_y = kernel_gaussian(1:2))
})
