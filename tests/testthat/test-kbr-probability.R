# The nearest probability to signed weights, (K30), and what predict() takes
# from it.
#
# Nothing is random but the data. The optimum is known by its conditions, and by
# all supports of five points. Seen to fail: the ridge left out of p(a), twice
# the ridge in the steps, rows not centred, a simplex whose sum is 1.01,
# distances that are not relative.

signed_weights <- function(n) {
  w <- stats::rnorm(n, 1 / n, 3 / n)
  w / sum(w)
}

nearest <- function(factor, w, ridge) {
  kbr_probability_cpp(factor, w, ridge)$weights
}

# The slope of |R'(p - w)|^2 / 2 + ridge |p - w|^2 / 2
slope_at <- function(factor, w, ridge, p) {
  as.vector(factor %*% crossprod(factor, p - w)) + ridge * (p - w)
}

test_that("no other probability is nearer: the conditions of an optimum", {
  withr::local_seed(1)
  for (size in list(c(40, 40), c(40, 5), c(300, 20), c(30, 100))) {
    factor <- matrix(stats::rnorm(prod(size)), size[[1]])
    for (ridge in c(1e-3, 1, 100)) {
      w <- signed_weights(size[[1]])
      p <- nearest(factor, w, ridge)
      expect_equal(sum(p), 1, tolerance = 1e-12)
      expect_gte(min(p), 0)
      slope <- slope_at(factor, w, ridge, p)
      least <- mean(slope[p > 0])
      scale <- max(abs(slope)) + sqrt(sum(crossprod(factor, w)^2))
      expect_lt(max(abs(slope[p > 0] - least)), 1e-7 * scale)
      expect_gt(min(slope - least), -1e-7 * scale)
    }
  }
})

test_that("it is the best over all supports of five points", {
  withr::local_seed(2)
  ridge <- 0.1
  for (trial in 1:10) {
    factor <- matrix(stats::rnorm(15), 5)
    w <- signed_weights(5)
    gram <- tcrossprod(factor) + diag(ridge, 5)
    loss <- function(p) sum((p - w) * (gram %*% (p - w)))
    best <- Inf
    for (pattern in 1:31) {
      on <- which(bitwAnd(pattern, 2^(0:4)) > 0)
      # The nearest weights on this support that sum to one
      ends <- rbind(cbind(gram[on, on], 1), c(rep(1, length(on)), 0))
      q <- solve(ends, c((gram %*% w)[on], 1))[seq_along(on)]
      p <- replace(numeric(5), on, q)
      if (all(q >= 0)) best <- min(best, loss(p))
    }
    expect_equal(loss(nearest(factor, w, ridge)), best, tolerance = 1e-10)
  }
})

test_that("a probability is its own nearest one", {
  withr::local_seed(3)
  factor <- matrix(stats::rnorm(60), 20)
  p <- stats::rexp(20)
  p <- p / sum(p)
  expect_equal(nearest(factor, p, 0.1), p, tolerance = 1e-10)
  expect_equal(kbr_probability_cpp(factor, p, 0.1)$distance, 0)
})

# A mixture of narrow and wide modes, which signed weights describe badly
mixture_fit <- function(...) {
  pairs <- kbr_simulate(
    function(n) stats::runif(n, -10, 10),
    function(x) {
      x + sample(c(1, 0.1), length(x), TRUE) * stats::rnorm(length(x))
    },
    n = 500, seed = 4
  )
  kbr_rule(pairs, ...)
}

test_that("distributions have no negative parts", {
  fit <- mixture_fit(delta = 1e-7)
  at <- seq(-9, 9, length.out = 7)
  expect_lt(min(predict(fit, at, type = "weights")), 0)
  p <- predict(fit, at, type = "probability")
  expect_gte(min(p), 0)
  expect_equal(rowSums(p), rep(1, 7))
  sd <- predict(fit, at, type = "sd")
  expect_false(anyNA(sd))
  x <- fit$data$states
  expect_equal(
    as.vector(sd), as.vector(sqrt(p %*% x^2 - (p %*% x)^2)),
    tolerance = 1e-8
  )
  probs <- seq(0.01, 0.99, by = 0.01)
  quantiles <- predict(fit, at, type = "quantile", probs = probs)
  expect_true(all(apply(quantiles, c(1, 2), diff) >= 0))
  order <- order(x)
  expect_identical(
    quantiles[3, 1, "50%"],
    x[order][[which(cumsum(p[3, order]) >= 0.5)[[1]]]]
  )
  grid <- matrix(seq(-10, 10, length.out = 100))
  expect_gte(min(predict(fit, at, type = "density", at = grid)), 0)
  drawn <- plot(fit, 0)
  expect_gte(min(drawn$posterior), 0)
})

test_that("means and expectations are those of the signed weights", {
  fit <- mixture_fit()
  at <- c(-3, 0.2)
  w <- predict(fit, at, type = "weights")
  expect_equal(
    predict(fit, at), w %*% fit$data$states,
    tolerance = 1e-12, ignore_attr = TRUE
  )
  expect_equal(
    as.vector(predict(fit, at, type = "expectation", f = function(x) x^2)),
    as.vector(w %*% fit$data$states^2),
    tolerance = 1e-10
  )
})

test_that("diagnostics() has the distance of the kernel means", {
  fit <- mixture_fit(delta = 1e-7)
  at <- c(-3, 0.2)
  found <- suppressWarnings(diagnostics(fit, at))$observations$distance
  gram <- kernel_matrix(fit$features$states$kernel, fit$data$states)
  w <- predict(fit, at, type = "weights")
  gap <- predict(fit, at, type = "probability") - w
  norm <- function(v) sqrt(rowSums((v %*% gram) * v))
  expect_equal(found, norm(gap) / norm(w), tolerance = 1e-4)
  expect_output(
    print(suppressWarnings(diagnostics(fit, at))), "distance to a probability"
  )
})

test_that("a kernel that is zero on the states gives a probability", {
  found <- nearest_probability(matrix(0, 20, 1), rep(1 / 20, 20), 0)
  expect_equal(found$weights, rep(1 / 20, 20))
  expect_identical(found$distance, 0)
})
