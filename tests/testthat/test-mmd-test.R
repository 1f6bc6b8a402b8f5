# The two-sample test: its statistic, its p-value and its size.

sample_of <- function(n, d = 1, shift = 0, seed = 1) {
  withr::with_seed(seed, matrix(rnorm(n * d, shift), n, d))
}

#' The statistic from its double sums
plain_mmd <- function(kernel, x, y, unbiased) {
  average <- function(a) {
    k <- kernel_matrix(kernel, a)
    if (unbiased) mean(k[row(k) != col(k)]) else mean(k)
  }
  average(x) + average(y) - 2 * mean(kernel_matrix(kernel, x, y))
}

test_that("the statistic is its double sum", {
  x <- sample_of(12, 2)
  y <- sample_of(17, 2, 0.5, seed = 2)
  for (kernel in list(
    kernel_gaussian(0.8), kernel_laplace(2), kernel_polynomial(2),
    kernel_custom(function(x, y) 1 + tcrossprod(x, y)^2)
  )) {
    for (unbiased in c(TRUE, FALSE)) {
      test <- mmd_test(x, y, kernel, 9, unbiased, seed = 1)
      expect_equal(
        test$statistic, c(`MMD^2` = plain_mmd(kernel, x, y, unbiased)),
        tolerance = 1e-10
      )
    }
    expect_equal(test$statistic[[1]],
      mmd(kernel_mean(x, kernel), kernel_mean(y, kernel))^2,
      tolerance = 1e-10
    )
  }
})

test_that("each permuted value is the statistic of the exchanged samples", {
  x <- sample_of(6, 2)
  y <- sample_of(9, 2, 1, seed = 2)
  kernel <- kernel_gaussian(1)
  for (unbiased in c(TRUE, FALSE)) {
    test <- mmd_test(x, y, kernel, 20, unbiased, seed = 3)
    both <- rbind(x, y)
    plain <- withr::with_seed(3, replicate(20, {
      first <- sample.int(15) <= 6
      plain_mmd(kernel, both[first, ], both[!first, ], unbiased)
    }))
    expect_equal(test$permuted, plain, tolerance = 1e-10)
    at_least <- sum(plain >= test$statistic)
    expect_equal(test$p.value, (1 + at_least) / 21)
  }
})

test_that("the bandwidth is the median of both samples", {
  x <- sample_of(12)
  y <- sample_of(7, shift = 3)
  test <- mmd_test(x, y, permutations = 1)
  expect_identical(test$kernel, kernel_gaussian(bandwidth_median(rbind(x, y))))
})

test_that("for tiny samples the p-value is that of all exchanges", {
  x <- c(0.1, 1.3, 0.4, 2.2)
  y <- c(1.7, 2.9, 1.1, 2.5)
  both <- matrix(c(x, y))
  kernel <- kernel_gaussian(1)
  values <- apply(utils::combn(8, 4), 2, function(first) {
    plain_mmd(kernel, both[first, ], both[-first, ], TRUE)
  })
  exact <- mean(values >= plain_mmd(kernel, x, y, TRUE) - 1e-12)
  expect_gt(exact, 0.05)
  expect_lt(exact, 0.5)
  permutations <- 20000
  count <- mmd_test(x, y, kernel, permutations, seed = 1)$p.value *
    (permutations + 1) - 1
  # Binomial given the exact value: false alarm below 1e-4.
  expect_gte(count, qbinom(5e-5, permutations, exact))
  expect_lte(count, qbinom(1 - 5e-5, permutations, exact))
})

test_that("relabelling the samples or their rows changes no statistic", {
  x <- sample_of(8, 2)
  y <- sample_of(11, 2, 1, seed = 2)
  kernel <- kernel_laplace(1)
  t <- mmd_test(x, y, kernel, 99, seed = 1)
  swapped <- mmd_test(y, x, kernel, 99, seed = 1)
  turned <- mmd_test(x[8:1, ], y[11:1, ], kernel, 99, seed = 1)
  expect_equal(swapped$statistic, t$statistic, tolerance = 1e-12)
  expect_equal(turned$statistic, t$statistic, tolerance = 1e-12)
  scaled <- mmd_test(x, y, 1 + 3 * kernel, 99, seed = 1)
  expect_equal(scaled$statistic, 3 * t$statistic, tolerance = 1e-12)
  expect_identical(scaled$p.value, t$p.value)
})

test_that("equal values count as at least as large", {
  # All points equal; or all exchanges alike up to rounding.
  same <- mmd_test(rep(0.3, 5), rep(0.3, 5), permutations = 50)
  expect_identical(same$p.value, 1)
  corners <- cbind(0.1, diag(6) / 3)
  alike <- mmd_test(corners[1:3, ], corners[4:6, ], kernel_gaussian(0.7), 200,
    seed = 1
  )
  expect_identical(alike$p.value, 1)
})

test_that("the size is right and p-values are uniform", {
  p <- withr::with_seed(11, replicate(400, {
    mmd_test(rexp(8), rexp(12), permutations = 99)$p.value
  }))
  # (1 + B) level is whole: P(p <= level) = level. Six bounds, 1e-4 in all.
  for (level in c(0.05, 0.2, 0.5)) {
    expect_gte(sum(p <= level), qbinom(1e-4 / 6, 400, level))
    expect_lte(sum(p <= level), qbinom(1 - 1e-4 / 6, 400, level))
  }
})

test_that("differences in only mean or spread are found", {
  x <- sample_of(60, 2)
  expect_lte(mmd_test(x, sample_of(60, 2, 1, 2), seed = 1)$p.value, 0.001)
  wide <- 3 * sample_of(60, 2, seed = 3)
  expect_lte(mmd_test(x, wide, seed = 1)$p.value, 0.001)
  # The linear kernel sees only means.
  expect_gt(mmd_test(x, wide, kernel_linear(), seed = 1)$p.value, 0.01)
})

test_that("the power at a known shift is that of a good test", {
  # n = 30 each, shift 1: a t test has power .97, this one .916 (2000 data
  # sets). At .9 fewer than 75 of 100 rejections have probability 4e-6.
  p <- withr::with_seed(12, replicate(100, {
    mmd_test(rnorm(30), rnorm(30, 1), permutations = 99)$p.value
  }))
  expect_gte(sum(p <= 0.05), 75)
})

test_that("seeds determine the result", {
  keep_random_state()
  x <- sample_of(10)
  y <- sample_of(10, seed = 2)
  set.seed(1)
  before <- .Random.seed
  one <- mmd_test(x, y, seed = 7)
  expect_identical(.Random.seed, before)
  expect_identical(mmd_test(x, y, seed = 7), one)
  drawn <- mmd_test(x, y)
  set.seed(1)
  expect_identical(mmd_test(x, y), drawn)
})

test_that("it has the form of R's other tests", {
  first <- sample_of(10)
  second <- sample_of(10, seed = 2)
  test <- mmd_test(first, second, permutations = 19, seed = 1)
  expect_s3_class(test, "htest")
  expect_identical(test$data.name, "first and second")
  expect_identical(test$parameter, c(permutations = 19L))
  expect_output(print(test), "permutations = 19, p-value")
})

test_that("blocks do not change the draws", {
  seen <- integer()
  size <- function(order) {
    seen <<- c(seen, ncol(order))
    order[1, ]
  }
  all <- withr::with_seed(1, permuted_statistics(3000, 120, size))
  expect_identical(seen, c(55L, 55L, 10L))
  plain <- withr::with_seed(1, replicate(120, sample.int(3000)[[1]]))
  expect_identical(all, plain)
})

test_that("bad input is refused", {
  bad <- function(class, ...) {
    expect_error(mmd_test(...), class = paste0("kb_error_", class))
  }
  bad("argument", 1, 1:3)
  bad("argument", 1:3, 1)
  bad("argument", "a", 1:3)
  bad("argument", 1:3, 1:3, 2)
  bad("argument", 1:3, 1:3, permutations = 0)
  bad("argument", 1:3, 1:3, unbiased = NA)
  bad("argument", 1:3, 1:3, seed = 0.5)
  bad("not_finite", c(1, NA), 1:3)
  bad("not_finite", 1:3, c(1, Inf))
  bad("dimension", 1:3, cbind(1:3, 1))
  bad("dimension", 1:3, 1:3, kernel_rotation())
})
