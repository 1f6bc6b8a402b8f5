# Ridge regression with predictions of stretches from the others.

wiggly <- function(n = 60, seed = 1) {
  set.seed(seed)
  x <- cbind(sort(runif(n, -2, 2)), rnorm(n))
  list(
    x = x, fold = rep(1:5, each = n / 5),
    t = cbind(sin(3 * x[, 1]) + 0.1 * rnorm(n), x[, 2] + 0.5 * rnorm(n))
  )
}

# By the normal equations of the other rows, with the centres of all
refit_without <- function(f, t, out, ridge) {
  f <- sweep(f, 2, colMeans(f))
  center <- colMeans(t)
  t <- sweep(t, 2, center)
  b <- solve(
    crossprod(f[-out, ]) + ridge * diag(ncol(f)), crossprod(f[-out, ], t[-out])
  )
  as.vector(f[out, ] %*% b) + center
}

test_that("left-out predictions are those of fits without the stretch", {
  d <- wiggly()
  basis <- incomplete_cholesky(kernel_gaussian(0.7), d$x, 20, 1e-5)
  f <- cbind(basis$factor, d$x)
  found <- fold_ridge(f, d$t, d$fold)
  total <- sum(sweep(f, 2, colMeans(f))^2)
  for (j in 1:2) {
    wanted <- sapply(fold_ridges, function(share) {
      unlist(lapply(1:5, function(k) {
        refit_without(f, d$t[, j, drop = FALSE], which(d$fold == k),
          share * total
        )
      }))
    })
    losses <- colMeans((wanted - d$t[, j])^2)
    expect_equal(found$loss[[j]], min(losses), tolerance = 1e-6)
    expect_equal(
      found$left_out[, j], wanted[, which.min(losses)], tolerance = 1e-6
    )
  }
})

test_that("predictions without a stretch are its left-out predictions", {
  d <- wiggly(100, 2)
  model <- fold_regression(d$x, d$t, d$fold,
    kernels_of_widths(d$x, c(0.3, 1)), 50
  )
  expect_false(is.null(model$kernel))
  for (k in 1:5) {
    out <- d$fold == k
    expect_equal(
      fold_predict(model, d$x[out, ], k), model$left_out[out, ],
      tolerance = 1e-8
    )
  }
  expect_identical(
    fold_predict(fold_trim(model), d$x), fold_predict(model, d$x)
  )
  # What is linear needs no kernel.
  d$t <- d$x %*% rbind(c(1, 2), c(-1, 0)) + 3 + 0.01 * rnorm(200)
  model <- fold_regression(d$x, d$t, d$fold,
    list(kernel_matern(0.1, 5 / 2)), 50
  )
  expect_null(model$kernel)
  expect_equal(model$sets[[1]]$slope, rbind(c(1, 2), c(-1, 0)),
    tolerance = 0.02
  )
})

test_that("fewer pivots are taken only where that loses little", {
  d <- wiggly(100, 3)
  kernel <- list(kernel_gaussian(0.5))
  model <- fold_regression(d$x, d$t, d$fold, kernel, 80)
  expect_lt(length(model$pivots), 80)
  unit <- column_moments(d$t)$scale^2
  most <- incomplete_cholesky(kernel[[1]], d$x, 80, 1e-5)
  all <- fold_ridge(cbind(most$factor, linear_share * d$x), d$t, d$fold)
  expect_lt(mean(model$loss / unit), 1.0101 * mean(all$loss / unit))
})

test_that("what is unknown is a Gaussian process's relative variance", {
  set.seed(6)
  x <- matrix(rnorm(80), 40)
  t <- cbind(sin(2 * x[, 1]), x[, 2]^2)
  fold <- rep(1:4, each = 10)
  kernel <- kernel_gaussian(1)
  # The kernel's share of the features alone: prior variance 1, noise the ridge
  model <- fold_regression(x, t, fold, list(kernel), 40, unknown = 40)
  basis <- incomplete_cholesky(kernel, x, length(model$pivots), 1e-5)
  new <- rbind(matrix(rnorm(20), 10), c(50, 50))
  variance <- function(rows, new, ridge) {
    f <- basis$factor[rows, , drop = FALSE]
    root <- basis$factor[basis$pivots, , drop = FALSE]
    at <- t(forwardsolve(root, t(kernel_matrix(kernel, new, basis$points))))
    gram <- tcrossprod(f) + ridge * diag(nrow(f))
    cross <- f %*% t(at)
    1 - colSums(cross * solve(gram, cross))
  }
  # The ridge is the geometric mean of the targets'.
  found <- fold_ridge(cbind(basis$factor, linear_share * x), t, fold)
  expect_equal(
    fold_at(model, new)$unknown,
    pmax(variance(1:40, new, found$ridge), 1e-6), tolerance = 1e-6
  )
  expect_equal(
    fold_at(model, new, 3)$unknown,
    pmax(variance(which(fold != 3), new, found$ridge), 1e-6), tolerance = 1e-6
  )
  expect_equal(fold_at(model, new)$unknown[[11]], 1)
  # Rows without their own stretches
  one <- fold_unknown(model, x, fold)
  expect_equal(one[fold == 2], fold_at(model, x[fold == 2, ], 2)$unknown)
  # A linear regression knows nothing elsewhere.
  line <- fold_regression(x, x, fold, list(), 40, unknown = 40)
  expect_equal(fold_at(line, new)$unknown, rep(1, 11))
})

test_that("the chosen kernel has more pivots where the rank was too small", {
  set.seed(7)
  x <- cbind(sort(runif(300, -3, 3)))
  t <- cbind(sin(8 * x) + 0.01 * rnorm(300))
  fold <- rep(1:10, 30)
  kernels <- list(kernel_matern(0.2, nu = 5 / 2))
  few <- fold_regression(x, t, fold, kernels, 15)
  more <- fold_regression(x, t, fold, kernels, 15, most = 120)
  expect_length(few$pivots, 15)
  expect_gt(length(more$pivots), 30)
  expect_lt(more$loss, 0.1 * few$loss)
  # As with that rank at once, ridge and all
  whole <- fold_regression(x, t, fold, kernels, length(more$pivots))
  expect_lte(more$loss, 1.02 * whole$loss)
  new <- cbind(seq(-2.9, 2.9, 0.1))
  expect_lt(mean((fold_predict(more, new) - sin(8 * new))^2), 1e-3)
  # A rank that suffices stays, or gets smaller.
  wide <- list(kernel_gaussian(3))
  same <- fold_regression(x, x^2, fold, wide, 100, most = 200)
  expect_lte(length(same$pivots), 100)
})

test_that("a stretch without rows is predicted by all rows", {
  d <- wiggly()
  fold <- factor(d$fold, 1:7)
  model <- fold_regression(d$x, d$t, fold, list(kernel_gaussian(0.7)), 30,
    unknown = 30
  )
  same <- fold_regression(d$x, d$t, d$fold, list(kernel_gaussian(0.7)), 30,
    unknown = 30
  )
  expect_identical(model$sets[1:6], same$sets)
  for (k in 6:7) {
    expect_equal(fold_at(model, d$x, k), fold_at(same, d$x))
  }
})
