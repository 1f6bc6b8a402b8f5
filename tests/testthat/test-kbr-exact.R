# kbr() against dense linear algebra, against Bayes' rule where it is known, and
# against itself where different forms must agree.

pairs <- kbr_pairs(100)
new <- normal_points(7, 2, 5)

# Dense algebra ----------------------------------------------------------------

test_that("low rank is the dense rule on the same factors", {
  for (prior in kbr_priors(pairs$x)) {
    fit <- suppressWarnings(
      kbr_rule(pairs$x, pairs$y, prior = prior$given, rank = 15)
    )
    expect_identical(dim(fit$features$observations$factor), c(100L, 15L))
    dense <- dense_of_fit(fit, prior, new)
    expect_close(fit$mu, dense$mu, 1e-10)
    raw <- predict(update(fit, normalize = FALSE), new, type = "weights")
    expect_close(raw, t(dense$w), 1e-10)
    w <- t(dense$w) / colSums(dense$w)
    expect_close(predict(fit, new, type = "weights"), w, 1e-10)
  }
})

test_that("those tests have indefinite matrices, and mu of both signs", {
  for (prior in kbr_priors(pairs$x)[c("sample", "weighted", "signed")]) {
    fit <- suppressWarnings(
      kbr_rule(pairs$x, pairs$y, prior = prior$given, rank = 15)
    )
    expect_gt(negative_mass(fit$mu), 0.005)
    expect_lt(min(fit$posterior$spectrum), -1e-4)
    expect_gt(max(fit$posterior$spectrum), 1e-2)
  }
})

test_that("if the raw sum is negative, weights still sum to one", {
  prior <- kbr_priors(pairs$x)$sample
  fit <- suppressWarnings(
    kbr_rule(pairs$x, pairs$y, prior = prior$given, rank = 15, delta = 1e-8)
  )
  # It would be read as the nearest observation.
  fit$far <- NULL
  fit <- sealed(fit)
  at <- t(c(6, -3))
  w <- suppressWarnings(predict(fit, at, type = "weights"))
  dense <- dense_of_fit(fit, prior, at)$w
  expect_lt(sum(dense), -0.01)
  expect_equal(sum(w), 1)
  # The dense inverse has lost digits at this delta.
  expect_close(w, t(dense) / sum(dense), 1e-6)
})

test_that("moments agree with the dense weights", {
  # Squares are around the states' mean, which does not affect the result.
  x <- sweep(pairs$x, 2, c(3, -20), "+")
  f <- function(x) cbind(a = x[, 1] * x[, 2], b = x[, 1] > 3)
  for (prior in kbr_priors(x)) {
    fit <- suppressWarnings(kbr_rule(x, pairs$y, prior = prior$given, rank = 15))
    dense <- t(dense_of_fit(fit, prior, new)$w)
    w <- dense / rowSums(dense)
    expect_close(predict(fit, new), w %*% x, 1e-10)
    variance <- w %*% x^2 - (w %*% x)^2
    found <- kbr_variance(fit, kbr_seen(fit, new))
    expect_close(found, variance, 1e-8 * max(abs(variance)))
    sd <- predict(fit, new, type = "sd")
    found <- predict(fit, new, type = "expectation", f = f)
    expect_close(found, w %*% f(x), 1e-10)
    expect_identical(colnames(found), c("a", "b"))
    raw <- suppressWarnings(update(fit, normalize = FALSE))
    expect_close(predict(raw, new), dense %*% x, 1e-10)
    expect_close(
      predict(raw, new, type = "expectation", f = f), dense %*% f(x), 1e-10
    )
    expect_identical(
      suppressWarnings(predict(raw, new, type = "sd")), sd
    )
  }
})

test_that("full rank is the dense rule on the raw kernel matrices", {
  for (kernels in list(
    list(x = kernel_gaussian(0.8), y = kernel_gaussian(0.8)),
    list(x = kernel_laplace(1), y = kernel_polynomial(2)),
    list(x = kernel_matern(1), y = kernel_gaussian(c(1, 2)))
  )) {
    for (prior in kbr_priors(pairs$x)) {
      fit <- kbr_rule(pairs$x, pairs$y, kernels$x, kernels$y,
        prior = prior$given, rank = "full", eps = 0.002, delta = 0.003,
        normalize = FALSE
      )
      dense <- dense_kbr(
        kernel_matrix(kernels$x, pairs$x), kernel_matrix(kernels$y, pairs$y),
        kernel_matrix(kernels$x, pairs$x, prior$points), prior$weights,
        kernel_matrix(kernels$y, pairs$y, new), 0.002, 0.003
      )
      expect_close(fit$mu, dense$mu, 1e-7)
      expect_close(predict(fit, new, type = "weights"), t(dense$w), 1e-7)
    }
  }
})

test_that("the importance-weighted form is the thresholded one", {
  for (prior in kbr_priors(pairs$x)) {
    fit <- suppressWarnings(kbr(pairs$x, pairs$y,
      prior = prior$given, rank = 15, method = "iw", normalize = FALSE
    ))
    w <- predict(fit, new, type = "weights")
    dense <- dense_of_fit(fit, prior, new, dense_iw)
    expect_close(w, t(dense$w), 1e-12)
    expect_close(fit$mu, dense$mu, 1e-10)
    r_y <- fit$features$observations$factor
    phi <- dense_features(fit$features$observations, fit$features$observations$kernel, new)
    thresholded <- dense_thresholded(
      fit$mu, tcrossprod(r_y), tcrossprod(r_y, phi), 1e-3
    )
    expect_close(w, t(thresholded), 1e-12)
    expect_identical(w < 0 | w > 0, matrix(fit$mu > 0, 7, 100, byrow = TRUE))
  }
})

# Equivalent forms -------------------------------------------------------------

test_that("no prior means the states' own sample", {
  for (rank in list("full", 15)) {
    fits <- lapply(
      list(NULL, list(points = pairs$x), list(weights = rep(2, 100))),
      function(prior) {
        suppressWarnings(kbr_rule(pairs$x, pairs$y, prior = prior, rank = rank))
      }
    )
    for (fit in fits[-1]) {
      expect_close(fit$mu, fits[[1]]$mu, 1e-9)
      expect_close(predict(fit, new), predict(fits[[1]], new), 1e-9)
    }
  }
})

test_that("a prior is its points, regardless of names and order", {
  x <- pairs$x
  colnames(x) <- c("a", "b")
  u <- normal_points(20, 2, 3)
  fit <- kbr_rule(x, pairs$y, prior = list(points = u))
  named <- u
  colnames(named) <- c("a", "b")
  for (points in list(
    named, named[, c("b", "a")], as.data.frame(named)[c("b", "a")],
    cbind(other = 1, as.data.frame(named))
  )) {
    expect_identical(update(fit, prior = list(points = points))$mu, fit$mu)
  }
  mean <- kernel_mean(u, kernel_gaussian(3))
  expect_identical(update(fit, prior = mean)$mu, fit$mu)
})

test_that("kernel matrices agree with their kernels", {
  k_x <- kernel_laplace(1)
  k_y <- kernel_gaussian(0.8)
  gram_x <- kernel_matrix(k_x, pairs$x)
  gram_y <- kernel_matrix(k_y, pairs$y)
  u <- normal_points(20, 2, 3)
  w <- seq_len(20) - 4
  by_kernel <- kbr_rule(pairs$x, pairs$y, k_x, k_y,
    prior = list(points = u, weights = w)
  )
  by_gram <- kbr_rule(pairs$x, kernel_x = gram_x, kernel_y = gram_y, prior = list(
    gram = kernel_matrix(k_x, pairs$x, u), weights = w
  ))
  values <- kernel_matrix(k_y, new, pairs$y)
  expect_close(by_gram$mu, by_kernel$mu, 1e-8)
  expect_close(predict(by_gram, values), predict(by_kernel, new), 1e-7)
  expect_close(fitted(by_gram), fitted(by_kernel), 1e-7)
  own <- update(by_gram, prior = NULL)
  expect_close(own$mu, update(by_kernel, prior = NULL)$mu, 1e-8)
  on_states <- list(weights = 1:100)
  expect_close(
    predict(update(by_gram, prior = on_states), values),
    predict(update(by_kernel, prior = on_states), new), 1e-7
  )
})

test_that("a custom kernel agrees with the built-in one", {
  same <- function(bandwidth) {
    kernel_custom(function(x, y) {
      kernel_matrix(kernel_gaussian(bandwidth), x, y)
    })
  }
  for (rank in list("full", 20)) {
    built_in <- suppressWarnings(kbr_rule(
      pairs$x, pairs$y, kernel_gaussian(0.7), kernel_gaussian(0.9),
      rank = rank, prior = list(points = new)
    ))
    custom <- suppressWarnings(kbr_rule(pairs$x, pairs$y, same(0.7), same(0.9),
      rank = rank, prior = list(points = new)
    ))
    expect_close(custom$mu, built_in$mu, 1e-8)
    expect_close(predict(custom, new), predict(built_in, new), 1e-8)
  }
})

test_that("the order of the pairs does not matter", {
  order <- withr::with_seed(4, sample(100))
  prior <- list(points = normal_points(30, 2, 3))
  for (case in list(
    list(rank = "full", within = 1e-10), list(rank = 20, within = 1e-8)
  )) {
    for (method in c("kbr", "iw")) {
      fit <- suppressWarnings(kbr(pairs$x, pairs$y,
        prior = prior, rank = case$rank, method = method
      ))
      other <- suppressWarnings(kbr(pairs$x[order, ], pairs$y[order, ],
        prior = prior, rank = case$rank, method = method
      ))
      expect_close(
        predict(other, new, type = "weights"),
        predict(fit, new, type = "weights")[, order], case$within
      )
      expect_close(predict(other, new), predict(fit, new), case$within)
      expect_identical(
        predict(other, new, type = "quantile"),
        predict(fit, new, type = "quantile")
      )
    }
  }
})

test_that("update() of the prior equals a new fit", {
  prior <- list(points = normal_points(30, 2, 3), weights = 1:30)
  for (method in c("kbr", "iw")) {
    fit <- kbr(pairs$x, pairs$y, method = method)
    new_fit <- kbr(pairs$x, pairs$y,
      method = method, prior = prior, eps = 0.01, delta = 0.02,
      normalize = FALSE
    )
    updated <- update(fit,
      prior = prior, eps = 0.01, delta = 0.02, normalize = FALSE
    )
    kept <- setdiff(names(fit), c("call", "seconds", "seed", "seal"))
    expect_identical(updated[kept], new_fit[kept])
    expect_identical(update(updated)$posterior, new_fit$posterior)
    back <- update(updated,
      prior = NULL, eps = fit$settings$eps, delta = fit$settings$delta,
      normalize = TRUE
    )
    expect_identical(back[kept], fit[kept])
  }
})

test_that("scaling follows the data, and is undone", {
  x <- sweep(pairs$x, 2, c(100, 0.01), "*")
  y <- sweep(pairs$y, 2, c(3, 50), "+")
  u <- normal_points(30, 2, 3) %*% diag(c(100, 0.01))
  fit <- kbr_rule(x, y, scale = TRUE, prior = list(points = u))
  by_hand <- kbr_rule(scale(x), scale(y), prior = list(points = scale(
    u, colMeans(x), apply(x, 2, sd)
  )))
  at <- sweep(new, 2, c(3, 50), "+")
  standard <- scale(at, colMeans(y), apply(y, 2, sd))
  back <- function(m) {
    sweep(m * rep(apply(x, 2, sd), each = 7), 2, colMeans(x), "+")
  }
  expect_close(
    predict(fit, at, type = "weights"),
    predict(by_hand, standard, type = "weights"), 1e-9
  )
  expect_equal(predict(fit, at), back(predict(by_hand, standard)),
    tolerance = 1e-9, ignore_attr = TRUE
  )
  expect_equal(
    predict(fit, at, type = "map"),
    back(predict(by_hand, standard, type = "map")),
    tolerance = 1e-6, ignore_attr = TRUE
  )
  expect_equal(
    suppressWarnings(predict(fit, at, type = "sd")),
    suppressWarnings(predict(by_hand, standard, type = "sd")) *
      rep(apply(x, 2, sd), each = 7),
    tolerance = 1e-8, ignore_attr = TRUE
  )
})

test_that("sums over blocks of rows are sums over all rows", {
  for (n in c(1, 511, 512, 513, 1100)) {
    r <- normal_points(n, 5, 1)
    other <- normal_points(n, 3, 2)
    w <- normal_points(n, 1, 3)[, 1]
    expect_close(crossprod_cpp(r), crossprod(r), 1e-13)
    expect_close(crossprod_cpp(r, weights = w), crossprod(r, w * r), 1e-12)
    expect_close(
      crossprod_cpp(r, other, w), crossprod(r, w * other), 1e-12
    )
    expect_true(isSymmetric(crossprod_cpp(r, weights = w), tol = 0))
  }
})

# Bayes' rule ------------------------------------------------------------------

test_that("with discrete states and observations it is Bayes' rule", {
  # Kernels that only tell values apart. Then mu has the prior's share of each
  # state, and weights are those of its pairs with that observation.
  equal <- kernel_custom(function(x, y) outer(x[, 1], y[, 1], "==") + 0)
  counts <- rbind(c(5, 1, 2), c(2, 7, 3), c(4, 4, 1), c(1, 3, 9))
  cells <- which(counts > 0, arr.ind = TRUE)
  cells <- cells[rep(seq_len(nrow(cells)), counts), ]
  prior <- c(0.1, 0.5, 0.15, 0.25)
  likelihood <- counts / rowSums(counts)
  posterior <- prior * likelihood
  posterior <- sweep(posterior, 2, colSums(posterior), "/")
  own <- sweep(counts, 2, colSums(counts), "/")
  at <- function(x) outer(x[, 1], 1:4, "==") + 0
  for (method in c("kbr", "iw")) {
    fit <- kbr(cells[, 1], cells[, 2], equal, equal,
      prior = list(points = 1:4, weights = prior), eps = 1e-12,
      delta = 1e-3, method = method
    )
    expect_identical(ncol(fit$features$states$factor), 4L)
    found <- predict(fit, 1:3, type = "expectation", f = at)
    expect_close(t(found), posterior, 1e-9)
    expect_close(t(predict(fit, 1:3)), 1:4 %*% posterior, 1e-9)
    found <- predict(update(fit, prior = NULL), 1:3,
      type = "expectation", f = at
    )
    expect_close(t(found), own, 1e-9)
    # Quantiles of few values with many ties, in any order of the pairs.
    cdf <- apply(posterior, 2, cumsum)
    probs <- c(0.05, 0.3, 0.62, 0.9)
    wanted <- sapply(probs, function(p) colSums(cdf < p) + 1)
    expect_equal(
      predict(fit, 1:3, type = "quantile", probs = probs)[, 1, ], wanted,
      ignore_attr = TRUE
    )
  }
})

test_that("conjugate normal: the mean is near Bayes' rule", {
  # X ~ N(0, I), Y = X + .7 e, the prior N(.5, .49 I): the mean is (y + .5) / 2.
  # Over 40 seeds the mean squared error has mean .0186 and standard deviation
  # .0056: the mean of five is above .03 once in 10^5. With the pairs' own prior
  # it is .12, with delta = 1 it is .4.
  error <- function(seed, prior = TRUE, ...) {
    x <- normal_points(600, 2, seed)
    y <- x + 0.7 * normal_points(600, 2, 100 + seed)
    u <- 0.5 + 0.7 * normal_points(600, 2, 200 + seed)
    at <- 0.5 + sqrt(0.98) * normal_points(100, 2, 300 + seed)
    fit <- kbr_rule(x, y,
      prior = if (prior) list(points = u), eps = 0.01 / 600, ...
    )
    mean(rowSums((predict(fit, at) - (at + 0.5) / 2)^2))
  }
  errors <- vapply(1:5, error, 0)
  expect_lt(mean(errors), 0.03)
  expect_gt(error(1, prior = FALSE), 0.08)
  expect_gt(error(1, delta = 1), 0.2)
})

#' Distance in the Hilbert space of a Gaussian kernel of bandwidth 1 between the
#' posterior of kbr() and the exact one, on the line; its integrals are known
embedding_error <- function(n, seed) {
  x <- normal_points(n, 1, seed)
  y <- x + 0.7 * normal_points(n, 1, 500 + seed)
  kernel <- kernel_gaussian(1)
  fit <- kbr_rule(x, y, kernel, kernel,
    prior = list(points = 0.5 + 0.7 * normal_points(n, 1, 900 + seed)),
    eps = 0.01 / n
  )
  at <- c(-0.5, 0.5, 1.5)
  v <- 0.245
  w <- predict(fit, at, type = "weights")
  gram <- kernel_matrix(kernel, x)
  cross <- vapply((at + 0.5) / 2, function(m) {
    exp(-(x[, 1] - m)^2 / (2 * (1 + v))) / sqrt(1 + v)
  }, numeric(n))
  square <- rowSums(w %*% gram * w) - 2 * rowSums(w * t(cross)) +
    1 / sqrt(1 + 2 * v)
  sqrt(mean(square))
}

test_that("the error in the Hilbert space falls as the root of n", {
  # Slopes of single seeds have mean -.48 and standard deviation .13, their mean
  # over 20 seeds .03: the bounds are at five of these. An embedding that does
  # not converge has slope 0.
  n <- c(100, 200, 400, 800, 1600)
  errors <- vapply(1:20, function(seed) {
    vapply(n, embedding_error, 0, seed)
  }, 0 * n)
  slope <- stats::coef(stats::lm(rowMeans(log(errors)) ~ log(n)))[[2]]
  expect_gt(slope, -0.63)
  expect_lt(slope, -0.33)
  expect_lt(mean(errors[5, ]), 0.03)
})

test_that("the prior has its right weight with many pairs, not as delta -> 0", {
  # Tilts of the prior move the mean by the posterior variance times the tilt.
  x <- normal_points(3000, 1, 1)
  y <- x + 0.7 * normal_points(3000, 1, 2)
  fit <- kbr_rule(x, y, kernel_gaussian(0.7), kernel_gaussian(0.7),
    eps = 0.01 / 3000
  )
  at <- c(-1, 0, 1)
  expect_equal(diagnostics(fit, at)$sensitivity[[1]], 1, tolerance = 0.1)
  # At full rank the weights interpolate without regularisation. A Gaussian
  # kernel on the line never has full rank in double precision.
  full <- kbr_rule(x[1:100, ], y[1:100, ], kernel_gaussian(0.7), kernel_laplace(0.5))
  expect_identical(ncol(full$features$observations$factor), 100L)
  found <- vapply(c(1e-4, 1e-7, 1e-11, 1e-13), function(delta) {
    fit <- update(full, delta = delta)
    suppressWarnings(diagnostics(fit, at))$sensitivity[[1]]
  }, 0)
  expect_true(all(diff(abs(found)) < 0))
  expect_gt(found[[1]], 0.8)
  expect_lt(abs(found[[4]]), 1e-3)
  expect_warning(
    diagnostics(update(full, delta = 1e-13), at),
    class = "kb_warning_prior"
  )
})

test_that("prior sensitivity is the derivative under a tilt of the prior", {
  for (prior in kbr_priors(pairs$x)) {
    fit <- kbr_rule(pairs$x, pairs$y, prior = prior$given, delta = 0.01)
    found <- suppressWarnings(diagnostics(fit, new))$sensitivity
    w <- predict(fit, new, type = "weights")
    variance <- w %*% pairs$x^2 - (w %*% pairs$x)^2
    known <- variance > 0
    mean_at <- function(h, j) {
      tilted <- prior$weights * exp(h * prior$points[, j])
      other <- update(fit, prior = list(
        points = prior$points, weights = tilted
      ))
      sum(predict(other, new)[known[, j], j])
    }
    wanted <- vapply(1:2, function(j) {
      (mean_at(1e-4, j) - mean_at(-1e-4, j)) / 2e-4
    }, 0) / colSums(variance * known)
    expect_equal(unname(found), wanted, tolerance = 0.02)
  }
})

# Summaries of a posterior -----------------------------------------------------

fits <- list(
  kbr = kbr_rule(pairs$x, pairs$y, eps = 0.01, delta = 0.05),
  iw = kbr(pairs$x, pairs$y, method = "iw"),
  low = suppressWarnings(kbr_rule(pairs$x, pairs$y, rank = 20, eps = 0.01))
)

test_that("means without the weights equal means by the weights", {
  for (fit in fits) {
    w <- predict(fit, new, type = "weights")
    expect_equal(rowSums(w), rep(1, 7))
    expect_close(predict(fit, new), w %*% pairs$x, 1e-11)
    expect_close(fitted(fit), predict(fit, pairs$y), 1e-8)
    expect_identical(predict(fit), fitted(fit))
  }
})

test_that("an RKHS function's expectation is f' G_X w", {
  kernel <- kernel_gaussian(0.8)
  gram <- kernel_matrix(kernel, pairs$x)
  coef <- normal_points(100, 1, 8)[, 1]
  f <- function(x) kernel_matrix(kernel, x, pairs$x) %*% coef
  for (fit in fits) {
    w <- predict(fit, new, type = "weights")
    found <- predict(fit, new, type = "expectation", f = f)
    expect_close(found, w %*% gram %*% coef, 1e-11)
    # And not f' w, as printed in the slides.
    expect_gt(gap(found, w %*% coef), 0.1)
  }
})

test_that("quantiles use the increasing function nearest to F", {
  probs <- c(0.01, 0.2, 0.5, 0.77, 0.99)
  for (fit in fits) {
    w <- predict(fit, new, type = "weights")
    p <- predict(fit, new, type = "probability")
    found <- predict(fit, new, type = "quantile", probs = probs)
    expect_identical(dim(found), c(7L, 2L, 5L))
    for (j in 1:2) {
      x <- sort(pairs$x[, j])
      order <- order(pairs$x[, j])
      of_cdf <- function(cdf) {
        vapply(probs, function(p) x[[min(c(which(cdf >= p), 100))]], 0)
      }
      for (i in 1:7) {
        cdf <- stats::isoreg(cumsum(w[i, order]))$yf
        expect_equal(signed_quantiles(x, w[i, order], probs), of_cdf(cdf))
        expect_equal(
          found[i, j, ], of_cdf(cumsum(p[i, order])),
          ignore_attr = TRUE
        )
      }
    }
  }
  expect_true(any(predict(fits$kbr, new, type = "weights") < 0))
})

test_that("quantiles of ties do not depend on their order", {
  x <- c(1, 1, 1, 2, 2, 3)
  w <- c(0.6, -0.3, 0.2, 0.5, -0.2, 0.2)
  orders <- list(1:6, c(2, 1, 3, 5, 4, 6), c(3, 2, 1, 5, 4, 6))
  for (order in orders) {
    # F is 0.5 at 1, 0.8 at 2.
    expect_identical(
      signed_quantiles(x, w[order], c(0.3, 0.45, 0.55, 0.79, 0.81)),
      c(1, 1, 2, 2, 3)
    )
  }
  # The smallest x with F(x) >= p.
  expect_identical(
    signed_quantiles(c(1, 2, 4), c(0.25, 0.25, 0.5), c(0.25, 0.5, 0.6)),
    c(1, 2, 4)
  )
})

test_that("the nearest increasing sequence agrees with isoreg()", {
  for (seed in 1:5) {
    v <- normal_points(50, 1, seed)[, 1] + seq_len(50) / 20
    expect_equal(isotonic_cpp(v), stats::isoreg(v)$yf, tolerance = 1e-14)
  }
  expect_identical(isotonic_cpp(c(1, 2, 2, 5)), c(1, 2, 2, 5))
  expect_equal(isotonic_cpp(c(3, 2, 1)), c(2, 2, 2))
  expect_identical(isotonic_cpp(4), 4)
  expect_identical(isotonic_cpp(numeric()), numeric())
})

test_that("the density is a weighted sum of normal densities", {
  at <- normal_points(5, 2, 6)
  for (fit in fits) {
    p <- predict(fit, new, type = "probability")
    found <- predict(fit, new, type = "density", at = at, bandwidth = c(0.3, 1))
    wanted <- vapply(1:5, function(k) {
      drop(p %*% (stats::dnorm(at[k, 1], pairs$x[, 1], 0.3) *
        stats::dnorm(at[k, 2], pairs$x[, 2], 1)))
    }, numeric(7))
    expect_close(found, wanted, 1e-10)
  }
  # The same far from 0.
  moved <- kbr(pairs$x + 1e7, pairs$y, method = "iw")
  expect_close(
    predict(moved, new, type = "density", at = at + 1e7),
    predict(fits$iw, new, type = "density", at = at), 1e-6
  )
  # The default: Silverman's rule, s of the posterior, m = 1 / sum(p^2).
  fit <- fits$iw
  p <- predict(fit, new, type = "probability")
  s <- predict(fit, new, type = "sd") * rowSums(p^2)^(1 / 6)
  found <- predict(fit, new, type = "density", at = at)
  for (i in 1:7) {
    expect_equal(
      found[i, ],
      predict(fit, new, type = "density", at = at, bandwidth = s[i, ])[i, ],
      tolerance = 1e-8
    )
  }
})

test_that("draws are herded from the posterior's kernel mean", {
  for (fit in fits[c("kbr", "iw")]) {
    draws <- predict(fit, new, type = "draws", ndraws = 400)
    p <- predict(fit, new, type = "probability")
    for (i in 1:7) {
      mean <- kernel_mean(pairs$x, fit$features$states$kernel, p[i, ])
      herded <- pairs$x[herd_plainly(mean, 400), ]
      expect_equal(draws[, , i], herded, ignore_attr = TRUE)
      expect_lt(max(abs(colMeans(draws[, , i]) - p[i, ] %*% pairs$x)), 0.08)
    }
  }
  # At low rank the kernel mean is that of the features.
  draws <- predict(fits$low, new, type = "draws", ndraws = 400)
  expect_lt(max(abs(t(apply(draws, 2:3, mean)) - predict(fits$low, new))), 0.1)
})

test_that("the mode is the highest point of the embedding", {
  grid <- as.matrix(expand.grid(seq(-3, 3, 0.06), seq(-3, 3, 0.06)))
  for (fit in fits) {
    map <- predict(fit, new, type = "map")
    expect_identical(attr(map, "converged"), rep(TRUE, 7))
    means <- predict(fit, new, type = "embedding")
    for (i in 1:7) {
      on_grid <- predict(means[[i]], grid)
      at_map <- predict(means[[i]], map[i, , drop = FALSE])
      expect_gte(at_map, max(on_grid))
      expect_lt(max(abs(grid[which.max(on_grid), ] - map[i, ])), 0.06)
    }
  }
})

test_that("of several modes the highest is found, in any order of the pairs", {
  # Three modes, at -2, 0 and 2. The middle one, to which the mean leads, is the
  # lowest. The prior decides which of the others is highest.
  x <- seq(-3, 3, length.out = 301)
  y <- cos(pi * x) + 0.1 * normal_points(301, 1, 2)[, 1]
  kernel <- kernel_gaussian(0.3)
  for (side in c(-1L, 1L)) {
    weights <- ifelse(abs(x) < 1, 1, ifelse(x * side > 0, 1.6, 1.4))
    for (order in list(1:301, 301:1)) {
      fit <- kbr_rule(x[order], y[order], kernel, kernel,
        prior = list(points = x, weights = weights), eps = 1e-4
      )
      embedding <- predict(fit, 1, type = "embedding")[[1]]
      height <- vapply(c(-2, 0, 2), function(at) {
        max(predict(embedding, seq(at - 0.5, at + 0.5, 0.01)))
      }, 0)
      expect_identical(order(height), c(2L, 2L - side, 2L + side))
      map <- predict(fit, 1, type = "map")
      expect_gte(predict(embedding, as.vector(map)), max(height))
      expect_lt(abs(map[[1]] - 2 * side), 0.3)
      expect_lt(abs(predict(fit, 1)), 0.5)
    }
  }
})

# Rotations --------------------------------------------------------------------

#' A turn by `angle` about an axis, flattened by columns
turn <- function(axis, angle) {
  u <- axis / sqrt(sum(axis^2))
  cross <- matrix(c(0, u[3], -u[2], -u[3], 0, u[1], u[2], -u[1], 0), 3)
  as.double(diag(3) + sin(angle) * cross + (1 - cos(angle)) * cross %*% cross)
}

#' The rotation that maximises f: random starts, then smaller and smaller turns
search_rotations <- function(f, starts) {
  best <- starts[which.max(apply(starts, 1, f)), ]
  withr::with_seed(1, for (angle in 0.5 * 0.6^(0:24)) {
    for (i in 1:40) {
      tried <- as.double(matrix(best, 3) %*% matrix(turn(rnorm(3), angle), 3))
      if (f(tried) > f(best)) best <- tried
    }
  })
  best
}

expect_on_group <- function(fit, states, at) {
  w <- predict(fit, at, type = "weights")
  mean <- predict(fit, at)
  map <- predict(fit, at, type = "map")
  expect_identical(attr(map, "converged"), rep(TRUE, nrow(at)))
  for (i in seq_len(nrow(at))) {
    m <- matrix(mean[i, ], 3)
    expect_equal(crossprod(m), diag(3), tolerance = 1e-12)
    expect_equal(det(m), 1)
    weighted <- drop(w[i, ] %*% states)
    nearest <- search_rotations(function(z) -sum((z - weighted)^2), states)
    expect_lt(max(abs(mean[i, ] - nearest)), 1e-3)
    embedding <- function(z) {
      sum(w[i, ] * kernel_matrix(kernel_rotation(), states, t(z)))
    }
    highest <- search_rotations(embedding, states)
    expect_lt(max(abs(map[i, ] - highest)), 1e-3)
    expect_gte(embedding(map[i, ]), embedding(highest) - 1e-12)
  }
}

test_that("rotations: mean and mode against a search over the group", {
  angles <- normal_points(60, 3, 2)
  states <- t(apply(angles, 1, function(a) turn(a, sqrt(sum(a^2)))))
  seen <- states[, 1:3] + 0.1 * normal_points(60, 3, 3)
  # Constants are not functions of the kernel of rotations, hence a warning.
  expect_warning(
    plain <- kbr_rule(states, seen, kernel_x = kernel_rotation()),
    "kernel_constant",
    class = "kb_warning_prior"
  )
  expect_lte(ncol(plain$features$states$factor), 9)
  expect_no_warning(
    fit <- kbr_rule(states, seen, kernel_x = kernel_rotation() + kernel_constant(2))
  )
  expect_equal(sum(fit$mu), 1, tolerance = 0.01)
  for (fit in list(plain, fit)) {
    expect_on_group(fit, states, seen[1:3, ] * 0.9)
  }
  # Other kernels of matrices have no group to stay on.
  loose <- kbr_rule(states, seen, kernel_x = kernel_rotation() + kernel_gaussian(3))
  expect_false(isTRUE(all.equal(det(matrix(predict(loose, seen[1, ]), 3)), 1)))
})
