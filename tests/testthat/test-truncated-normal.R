# Truncated normals and log Phi (inst/include/kernelbayes), in both tails.
#
# Seen to fail, one mutant at a time: the rate a instead of the best one, all
# proposals of the tail accepted, the centre of acceptance at 0, log(erfc / 2)
# in the upper tail, the last term of the series dropped.

test_that("draws beyond any truncation have the exact moments", {
  # Null: 1e5 independent draws; nearly standard normal scores of mean and
  # second moment, |z| > 6 in 20 of them. Moments of X - a from the hazard, by
  # its asymptotic series if the difference would cancel.
  for (a in c(-1e6, -8, -1, 0, 0.3, 0.5, 0.7, 2, 8, 20, 40, 1e4)) {
    u <- normal_excess_cpp(a, 1e5, 5)
    expect_gt(min(u), 0)
    tail <- stats::pnorm(a, lower.tail = FALSE, log.p = TRUE)
    first <- if (a < 100) {
      exp(stats::dnorm(a, log = TRUE) - tail) - a
    } else {
      1 / a - 2 / a^3
    }
    second <- if (a < 5) {
      1 - a * first
    } else {
      stats::integrate(function(e) {
        e^2 * exp(-e - e^2 / (2 * a^2))
      }, 0, Inf, rel.tol = 1e-10)$value / stats::integrate(function(e) {
        exp(-e - e^2 / (2 * a^2))
      }, 0, Inf, rel.tol = 1e-10)$value / a^2
    }
    sd <- sqrt(second - first^2)
    # In units of the sd: at -1e6 the second moment is only that of the shift.
    expect_lt(abs(mean(u) - first) / sd * sqrt(1e5), 6, label = paste(a))
    square <- ((u - first) / sd)^2
    expect_lt(abs(mean(square) - 1) / stats::sd(square) * sqrt(1e5), 6,
      label = paste(a, "squared")
    )
  }
})

test_that("an impossible draw is an error, not an endless loop", {
  for (a in c(NaN, Inf, -Inf)) {
    expect_error(normal_excess_cpp(a, 1, 1), class = "C++Error")
  }
})

test_that("log Phi keeps its digits in both tails", {
  x <- c(-1e8, -1e3, seq(-45, 37, by = 0.37), -37, -36.999, -37.001, 0)
  exact <- stats::pnorm(x, log.p = TRUE)
  expect_lt(max(abs(log_normal_cdf_cpp(x) / exact - 1)), 1e-12)
  expect_identical(log_normal_cdf_cpp(c(50, Inf, -Inf)), c(0, 0, -Inf))
})

test_that("draws between two points have the exact distribution", {
  # Null: 2e4 independent draws per case; the scores of the mean and of the
  # second moment of uniform variables, |z| > 6 in 32 of them.
  cases <- list(
    c(0, 1, -1, 0.5), c(0, 1, -0.2, 3), c(0, 1, -3, 2.9), c(0, 1, 0.1, 0.2),
    c(0, 1, 0.3, 4), c(0, 1, 6, 7), c(0, 1, -7, -6), c(0, 1, 6, 6.01),
    c(0, 1, -37.1, -37), c(5, 0.1, 4.9, 5.4), c(-3, 2, 0, 8), c(0, 1, 1, 30),
    c(0, 1, -30, -1), c(0, 1, 2, Inf), c(1, 2, -Inf, -3), c(0, 1, -2.4, 0)
  )
  for (case in cases) {
    draws <- normal_between_cpp(case[1], case[2], case[3], case[4], 2e4, 3)
    expect_true(all(draws >= case[3] & draws <= case[4]))
    # On the side of the interval on which the tail keeps its digits.
    side <- if (sum(case[3:4]) > 2 * case[1]) -1 else 1
    z <- sort(side * (case[3:4] - case[1]) / case[2])
    at <- stats::pnorm(side * (draws - case[1]) / case[2], log.p = TRUE)
    ends <- stats::pnorm(z, log.p = TRUE)
    u <- (exp(at - ends[2]) - exp(ends[1] - ends[2])) /
      -expm1(ends[1] - ends[2])
    score <- c(mean(u) - 1 / 2, mean(u^2) - 1 / 3) /
      sqrt(c(1 / 12, 4 / 45)) * sqrt(2e4)
    expect_lt(max(abs(score)), 6, label = toString(case))
  }
  # Too narrow for a distribution function, and of no width at all.
  narrow <- normal_between_cpp(0, 1, 3, 3 + 1e-12, 100, 1)
  expect_true(all(narrow >= 3 & narrow <= 3 + 1e-12))
  expect_identical(normal_between_cpp(0, 1, 50, 50, 2, 1), c(50, 50))
})

test_that("log probabilities of intervals keep their digits", {
  from <- c(-1, -40, 5, -8, 1e-3, 30, -2, -Inf, 2, -30.001, 0, -6)
  to <- c(2, 40, 6, -7.5, 2e-3, 31, -1.9999, -3, Inf, -30, 1e-9, 6)
  exact <- log(mapply(function(from, to) {
    # The density relative to its largest value, in tails.
    at <- if (from > 0) from else if (to < 0) to else 0
    ends <- pmin(pmax(c(from, to), at - 40), at + 40)
    pieces <- seq(ends[1], ends[2], length.out = 161)
    sum(mapply(function(a, b) {
      stats::integrate(function(x) exp(-(x^2 - at^2) / 2), a, b,
        rel.tol = 1e-12
      )$value
    }, pieces[-161], pieces[-1]))
  }, from, to))
  at <- ifelse(from > 0, from, ifelse(to < 0, to, 0))
  exact <- exact - at^2 / 2 - log(2 * pi) / 2
  expect_lt(max(abs(log_normal_between_cpp(from, to) - exact)), 1e-8)
  expect_identical(log_normal_between_cpp(1, 1), -Inf)
  # Infinite ends: nothing on either side, and everything.
  expect_identical(
    log_normal_between_cpp(c(-Inf, Inf, -Inf), c(-Inf, Inf, Inf)),
    c(-Inf, -Inf, 0)
  )
})
