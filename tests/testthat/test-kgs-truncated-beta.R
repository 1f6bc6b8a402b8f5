# Draws of a truncated Beta variable against its distribution function.
#
# Seen to fail: a tangent without b, every proposal under it accepted, b < 1
# never treated as concave.

#' Positions of draws in the truncated distribution, uniform on (0, 1)
beta_place <- function(q, a, b, upper) {
  exp(stats::pbeta(q, a, b, log.p = TRUE) -
    stats::pbeta(upper, a, b, log.p = TRUE))
}

test_that("draws follow the truncated distribution, far tails included", {
  # Null: uniform positions, chi-square in 20 bins; 1e-4 over all (Bonferroni).
  settings <- rbind(
    c(1, 1, 0.5), c(3, 9, 0.5), c(9, 3, 0.5), c(0.5, 0.5, 0.5),
    c(0.2, 4, 0.5), c(4, 0.2, 0.5), c(60, 40, 0.5), c(400, 200, 0.5),
    c(60001, 40001, 0.5), c(100001, 1, 0.5), c(2001, 0.5, 0.5),
    c(50, 30, 0.9), c(40, 60, 0.01), c(5, 2, 2 / 3), c(900, 300, 2 / 3),
    c(2, 3, 1), c(30000, 30000.5, 0.5)
  )
  for (i in seq_len(nrow(settings))) {
    s <- settings[i, ]
    q <- kgs_truncated_beta_cpp(20000L, s[[1]], s[[2]], s[[3]], i)
    expect_true(all(q > 0 & q <= s[[3]]))
    place <- beta_place(q, s[[1]], s[[2]], s[[3]])
    count <- tabulate(pmin(floor(place * 20) + 1, 20), 20)
    expect_gt(stats::chisq.test(count)$p.value * nrow(settings), 1e-4,
      label = toString(s)
    )
  }
})

test_that("the distance to the bound is right beyond double precision", {
  # Near `upper` the density is exponential with the slope of its logarithm.
  a <- 60001
  b <- 40001
  q <- kgs_truncated_beta_cpp(40000L, a, b, 0.5, 3L)
  top <- function(q) (a - 1) * log(q) + (b - 1) * log1p(-q)
  density <- function(down) exp(top(0.5 - down) - top(0.5))
  far <- 40 / ((a - b) * 2)
  whole <- stats::integrate(density, 0, far, rel.tol = 1e-10)$value
  exact <- stats::integrate(\(d) d * density(d), 0, far, rel.tol = 1e-10)$value
  # Null: a normal mean of 40 000, two-sided 1e-4.
  z <- (mean(0.5 - q) - exact / whole) / (stats::sd(q) / sqrt(length(q)))
  expect_lt(abs(z), 3.9)
})
