# Mixtures of normals: quantiles against root finding on the distribution
# function, log densities against base R.

#' A mixture as one row, in the form of predictions
mixture <- function(mean, sd, weight = rep(1, length(mean))) {
  list(mean = mean, sd = sd, weight = weight / sum(weight))
}

quantiles <- function(mix, p) {
  mixture_quantiles_cpp(
    rbind(mix$mean), rbind(mix$sd^2), NULL, mix$weight, Inf, p
  )[1, ]
}

log_density <- function(mix, y) {
  n <- length(y)
  rows <- function(v) matrix(v, n, length(v), byrow = TRUE)
  mixture_log_density_cpp(
    rows(mix$mean), rows(mix$sd^2), NULL, mix$weight, Inf, y
  )
}

log_mean <- function(log_terms, weight) {
  keep <- weight > 0
  log_sum_exp(log_terms[keep] + log(weight[keep]))
}

#' log cdf, or log of the upper tail: no digit is lost in either
log_cdf <- function(mix, x, lower = TRUE) {
  log_mean(stats::pnorm(x, mix$mean, mix$sd, lower, TRUE), mix$weight)
}

#' The p-quantile by root finding, from the smaller tail
root <- function(mix, p) {
  ends <- range(mix$mean + stats::qnorm(p) * mix$sd)
  if (diff(ends) == 0) {
    return(ends[[1]])
  }
  lower <- p <= 0.5
  excess <- function(x) {
    if (lower) log_cdf(mix, x) - log(p) else log1p(-p) - log_cdf(mix, x, FALSE)
  }
  margin <- 1e-9 * diff(ends)
  stats::uniroot(excess, ends + c(-1, 1) * margin, tol = 1e-300)$root
}

random_mixture <- function(n, spread = 2) {
  mixture(
    stats::rnorm(n, sd = spread), stats::rexp(n) + 0.05, stats::rexp(n)
  )
}

probabilities <- c(0.001, 0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.975)

test_that("one component gives its own quantile", {
  p <- c(1e-300, 1e-20, 0.01, 0.5, 0.9, 1 - 1e-15)
  for (n in c(1, 4)) {
    mix <- mixture(rep(1.3, n), rep(0.7, n))
    expect_equal(quantiles(mix, p), stats::qnorm(p, 1.3, 0.7),
      tolerance = 1e-12
    )
  }
})

test_that("quantiles are the roots of the distribution function", {
  withr::with_seed(1, {
    for (n in c(2, 3, 10, 250)) {
      for (i in 1:20) {
        mix <- random_mixture(n)
        exact <- vapply(probabilities, function(p) root(mix, p), 0)
        expect_lt(max(abs(quantiles(mix, probabilities) - exact)), 1e-10)
      }
    }
  })
})

test_that("steps that go to and fro are stopped", {
  # Found among 10000 such mixtures: plain Newton steps jump for ever between
  # the two sides of a narrow component.
  for (seed in c(3648, 3668, 3817, 6095, 8724)) {
    mix <- withr::with_seed(seed, random_mixture(20, 1))
    mix$sd <- mix$sd^3
    exact <- vapply(probabilities, function(p) root(mix, p), 0)
    expect_lt(max(abs(quantiles(mix, probabilities) - exact)), 1e-10)
  }
})

test_that("two well separated modes have their own quantiles", {
  for (distance in c(5, 50, 5000)) {
    mix <- mixture(c(0, distance), c(1, 2), c(0.3, 0.7))
    p <- setdiff(seq(0.01, 0.99, 0.01), 0.3)
    exact <- vapply(p, function(p) root(mix, p), 0)
    expect_lt(max(abs(quantiles(mix, p) - exact)), 1e-10 * distance)
    # Between the modes the distribution function is flat at 0.3: any point
    # there is valid.
    at <- quantiles(mix, 0.3)
    expect_lt(abs(exp(log_cdf(mix, at)) - 0.3), 1e-12)
  }
})

test_that("a nearly degenerate component keeps its jump of probability", {
  # 0.35 below 0.5, 0.3 at it, 0.35 above.
  for (sd in c(0, 1e-150, 1e-100, 1e-13)) {
    mix <- mixture(c(0.5, 0.5), c(1, sd), c(0.7, 0.3))
    inside <- quantiles(mix, c(0.36, 0.45, 0.5, 0.55, 0.64))
    expect_lt(max(abs(inside - 0.5)), 1e-12)
    p <- c(0.01, 0.2, 0.34, 0.66, 0.8, 0.99)
    exact <- stats::qnorm(ifelse(p < 0.5, p, p - 0.3) / 0.7, 0.5)
    expect_lt(max(abs(quantiles(mix, p) - exact)), 1e-10)
  }
  # Only points: steps of the empirical distribution function.
  points <- mixture(c(-1, 0.25, 3), c(0, 0, 0), c(0.2, 0.5, 0.3))
  expect_equal(
    quantiles(points, c(0.1, 0.19, 0.21, 0.69, 0.71, 0.9)),
    c(-1, -1, 0.25, 0.25, 3, 3),
    tolerance = 1e-12
  )
})

test_that("an iterate that lands on a point mass continues from there", {
  # Started in the middle, every Newton step within a point mass is short.
  for (sd in c(0, 1e-100, 1e-13)) {
    points <- mixture(c(-1, 0, 1), rep(sd, 3), c(0.4, 0.2, 0.4))
    expect_equal(
      quantiles(points, c(0.1, 0.3, 0.39, 0.5, 0.61, 0.7, 0.9)),
      c(-1, -1, -1, 0, 1, 1, 1),
      tolerance = 1e-11
    )
    points <- mixture(c(0, 0, 1, -1), rep(sd, 4), c(0.4, 0.2, 0.1, 0.3))
    expect_equal(
      quantiles(points, c(0.1, 0.25, 0.35, 0.85, 0.91, 0.95)),
      c(-1, -1, 0, 0, 1, 1),
      tolerance = 1e-11
    )
  }
})

test_that("extreme tails are as exact as the rest", {
  p <- c(1e-300, 1e-100, 1e-50, 1e-20, 1e-12, 1e-4)
  p <- c(p, 1 - c(1e-4, 1e-8, 1e-12, 1e-15))
  withr::with_seed(2, {
    for (i in 1:20) {
      mix <- random_mixture(5)
      exact <- vapply(p, function(p) root(mix, p), 0)
      expect_lt(max(abs(quantiles(mix, p) - exact)), 1e-10)
    }
  })
})

test_that("quantiles increase with their probability", {
  p <- seq(0.0005, 0.9995, 0.0005)
  withr::with_seed(3, {
    mixes <- c(
      lapply(c(2, 5, 50), random_mixture),
      lapply(c(2, 5, 50), random_mixture, spread = 1e4),
      list(mixture(c(0.5, 0.5), c(1, 0), c(0.7, 0.3)))
    )
  })
  for (mix in mixes) {
    q <- quantiles(mix, p)
    expect_gte(min(diff(q)), -1e-11 * diff(range(q)))
  }
})

test_that("quantiles follow a change of scale and of origin", {
  mix <- withr::with_seed(4, random_mixture(7))
  plain <- quantiles(mix, probabilities)
  for (scale in c(1e-8, 1e8)) {
    scaled <- mixture(scale * (mix$mean + 3), scale * mix$sd, mix$weight)
    expect_equal(
      quantiles(scaled, probabilities), scale * (plain + 3),
      tolerance = 1e-10
    )
  }
})

test_that("components without weight have no influence", {
  mix <- mixture(c(0, 2, -100), c(1, 0.5, 1), c(0.4, 0.6, 0))
  without <- mixture(c(0, 2), c(1, 0.5), c(0.4, 0.6))
  p <- c(0.01, 0.3, 0.5, 0.99)
  expect_equal(quantiles(mix, p), quantiles(without, p), tolerance = 1e-10)
  expect_identical(
    log_density(mix, c(-100, 0, 3)), log_density(without, c(-100, 0, 3))
  )
})

test_that("rows are independent, and a missing row stays missing", {
  mix <- withr::with_seed(5, random_mixture(4))
  means <- rbind(mix$mean, NA, mix$mean + 1)
  variances <- rbind(mix$sd^2, NA, mix$sd^2)
  p <- c(0.1, 0.5)
  q <- mixture_quantiles_cpp(means, variances, NULL, mix$weight, Inf, p)
  expect_identical(q[1, ], quantiles(mix, p))
  expect_true(all(is.na(q[2, ])))
  expect_equal(q[3, ], q[1, ] + 1, tolerance = 1e-12)
})

test_that("log densities agree with base R", {
  withr::with_seed(6, {
    for (n in c(1, 2, 10, 250)) {
      mix <- random_mixture(n)
      y <- stats::rnorm(50, sd = 3)
      exact <- vapply(y, function(y) {
        log_mean(stats::dnorm(y, mix$mean, mix$sd, TRUE), mix$weight)
      }, 0)
      expect_lt(max(abs(log_density(mix, y) - exact)), 1e-12)
    }
  })
})

test_that("log densities stay finite and exact far in the tail", {
  mix <- mixture(c(-1, 0, 2), c(0.5, 1, 0.1), c(0.2, 0.5, 0.3))
  y <- c(-1e150, -1e6, -40, 40, 1e3, 1e8, 1e150)
  exact <- vapply(y, function(y) {
    log_mean(stats::dnorm(y, mix$mean, mix$sd, TRUE), mix$weight)
  }, 0)
  got <- log_density(mix, y)
  expect_true(all(is.finite(got)))
  expect_lt(max(abs(got / exact - 1)), 1e-14)
  # Only the widest component counts there: its own log density and log 0.5.
  expect_equal(got[[6]], stats::dnorm(1e8, log = TRUE) + log(0.5),
    tolerance = 1e-15
  )
})

test_that("a point mass has the density of its floor, 1e-150", {
  points <- mixture(c(0, 1), c(0, 0), c(0.25, 0.75))
  peak <- 150 * log(10) - log(2 * pi) / 2
  expect_equal(log_density(points, 0), log(0.25) + peak, tolerance = 1e-14)
  expect_equal(log_density(points, 1), log(0.75) + peak, tolerance = 1e-14)
  expect_lt(log_density(points, 0.5), -1e290)
})
