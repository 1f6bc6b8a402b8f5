# The ranked score of a mixture of normal variables plus noise, against integrals
# of its distribution function.

sum_cdf <- function(x, m, v, noise, df) {
  scale <- sqrt(noise)
  if (v == 0) {
    return(stats::pt((x - m) / scale, df))
  }
  z <- seq(-9, 9, length.out = 1001)
  weight <- stats::dnorm(z) * (z[[2]] - z[[1]])
  vapply(x, function(x) {
    sum(weight * stats::pt((x - m - sqrt(v) * z) / scale, df))
  }, 0)
}

# Its integral over one side of y, by Simpson's rule in asinh(x)
crps_side <- function(cdf, y, sign) {
  u <- seq(asinh(y), sign * 12, length.out = 401)
  p <- cdf(sinh(u))
  if (sign > 0) p <- 1 - p
  weight <- abs(u[[2]] - u[[1]]) / 3 * c(1, rep(c(4, 2), 199), 4, 1)
  sum(weight * cosh(u) * p^2)
}

test_that("it is the integral of the squared distance of the two functions", {
  m <- c(-1, 1)
  w <- c(0.3, 0.7)
  for (df in c(1.5, 2.5, 6, Inf)) {
    for (v in c(0, 0.2, 30)) {
      cdf <- function(x) {
        0.3 * sum_cdf(x, -1, v, 1, df) + 0.7 * sum_cdf(x, 1, v / 4, 0.5, df)
      }
      y <- c(0.5, -20)
      n <- length(y)
      got <- mixture_crps_cpp(
        matrix(m, n, 2, TRUE), matrix(c(v, v / 4), n, 2, TRUE),
        rbind(c(1, 0.5)), w, df, y
      )
      exact <- vapply(y, function(y) {
        crps_side(cdf, y, -1) + crps_side(cdf, y, 1)
      }, 0)
      expect_lt(max(abs(got[, 1] / exact - 1)), 2e-4)
      expect_lt(max(abs(got[, 2] - cdf(y))), 5e-5)
    }
  }
})

test_that("it is that of a normal variable", {
  y <- c(-30, -1, 0, 0.1, 2, 400)
  n <- length(y)
  got <- mixture_crps_cpp(
    matrix(0, n, 1), matrix(3, n, 1), matrix(1, 1, 1), 1, Inf, 2 * y
  )
  # Gneiting and Raftery (2007), equation 21
  exact <- 2 * (y * (2 * stats::pnorm(y) - 1) + 2 * stats::dnorm(y) - 1 / sqrt(pi))
  expect_lt(max(abs(got[, 1] / exact - 1)), 1e-4)
  expect_lt(max(abs(got[, 2] - stats::pnorm(y))), 1e-5)
})

test_that("narrow components far from each other are resolved", {
  m <- c(-100, 0, 3000)
  w <- c(0.2, 0.5, 0.3)
  y <- c(-100, 1, 500, 1e5)
  n <- length(y)
  got <- mixture_crps_cpp(
    matrix(m, n, 3, TRUE), matrix(1e-6, n, 3), matrix(1e-6, 1, 3), w, Inf, y
  )
  gap <- abs(outer(m, m, "-"))
  exact <- colSums(w * abs(outer(m, y, "-"))) - drop(w %*% gap %*% w) / 2
  expect_lt(max(abs(got[, 1] / exact - 1)), 1e-3)
})

test_that("noise may have a variance, and degrees of freedom, of its own", {
  withr::with_seed(1, {
    m <- matrix(stats::rnorm(8), 2)
    v <- matrix(stats::rexp(8), 2)
    noise <- matrix(stats::rexp(8), 2)
  })
  w <- rep(0.25, 4)
  df <- c(3, 5, 3, 8)
  y <- c(0.3, -1)
  p <- c(0.1, 0.7)
  for (i in 1:2) {
    one <- function(f, ...) {
      f(m[i, , drop = FALSE], v[i, , drop = FALSE], rbind(noise[i, ]), w, df, ...)
    }
    expect_equal(
      mixture_crps_cpp(m, v, noise, w, df, y)[i, ],
      one(mixture_crps_cpp, y[[i]])[1, ]
    )
    expect_equal(
      mixture_quantiles_cpp(m, v, noise, w, df, p)[i, ],
      one(mixture_quantiles_cpp, p)[1, ]
    )
    expect_equal(
      mixture_log_density_cpp(m, v, noise, w, df, y)[[i]],
      one(mixture_log_density_cpp, y[[i]])
    )
  }
})

test_that("without a mean of absolute values it is infinite", {
  one <- matrix(1, 1, 1)
  expect_identical(mixture_crps_cpp(one, one, one, 1, 0.5, 0)[[1]], Inf)
})
