# Truncated normals and log Phi (inst/include/kernelbayes), in both tails.
#
# Seen to fail, one mutant at a time: the rate a in place of the best one, all
# proposals of the tail accepted, the centre of acceptance at 0, log(erfc / 2)
# in the upper tail, the last term of the series dropped.

test_that("draws beyond any truncation have the exact moments", {
  # Null: 1e5 independent draws; nearly standard normal scores of mean and
  # second moment, |z| > 6 in 20 of them. Moments of X - a from the hazard, by
  # its asymptotic series where the difference would cancel.
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
    # In units of the sd: at -1e6 the second moment is that of the shift alone.
    expect_lt(abs(mean(u) - first) / sd * sqrt(1e5), 6, label = paste(a))
    square <- ((u - first) / sd)^2
    expect_lt(abs(mean(square) - 1) / stats::sd(square) * sqrt(1e5), 6,
      label = paste(a, "squared")
    )
  }
})

test_that("what cannot be drawn is an error, not an endless loop", {
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
