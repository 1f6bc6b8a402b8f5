# The evidence from a density of states against sums and integrals written out.
#
# Seen to fail, one mutant at a time: C - 1 left out at a rate or under a prior,
# a prior or posterior that is not truncated, no rule for q = 0, a wrong factor
# in the series of the incomplete beta function, and pbeta() in its place.

#' sum_e g(e) (q / (C - 1))^e (1 - q)^(m - e), term by term
plain_evidence <- function(g, q, classes = 2) {
  m <- length(g) - 1
  vapply(q, function(q) {
    sum(g * (q / (classes - 1))^(0:m) * (1 - q)^(m - 0:m))
  }, 0)
}

#' Its mean under a Beta(a, b) prior of q, truncated to (0, (C - 1) / C)
integrated_evidence <- function(g, a, b, classes = 2) {
  top <- (classes - 1) / classes
  # In u = q^a the integrand is smooth at 0.
  integrate <- function(f) {
    stats::integrate(function(u) f(u^(1 / a)), 0, top^a, rel.tol = 1e-11)$value
  }
  integrate(function(q) {
    plain_evidence(g, q, classes) * (1 - q)^(b - 1)
  }) / integrate(function(q) (1 - q)^(b - 1))
}

humps <- 0.6 * stats::dbinom(0:12, 12, 0.2) +
  0.4 * stats::dbinom(0:12, 12, 0.9)
gaps <- replace(humps, c(1, 5, 13), 0) / sum(humps[-c(1, 5, 13)])

test_that("the evidence at a rate is the plain sum", {
  for (g in list(humps, gaps)) {
    for (classes in c(2, 3, 10)) {
      q <- c(0, 1e-6, 0.01, 0.3, 1 - 1 / classes)
      expect_equal(
        log_evidence_rate(log(g), 12, q, classes),
        log(plain_evidence(g, q, classes))
      )
    }
  }
})

test_that("at the ends it is version space, and chance", {
  expect_identical(log_evidence_rate(log(humps), 12, 0), log(humps[[1]]))
  expect_identical(log_evidence_rate(log(gaps), 12, 0), -Inf)
  # At q = (C - 1) / C all patterns of labels are equally likely.
  expect_equal(log_evidence_rate(log(humps), 12, 0.5), -12 * log(2))
  expect_equal(log_evidence_rate(log(gaps), 12, 0.75, 4), -12 * log(4))
  expect_identical(log_evidence_rate(log(humps), 12, numeric()), numeric())
})

test_that("the evidence under a prior of the rate is the integral", {
  for (g in list(humps, gaps)) {
    for (classes in c(2, 3, 10)) {
      for (shape in list(c(1, 1), c(0.3, 2.5), c(4, 1.2))) {
        expect_equal(
          log_evidence_beta(log(g), 12, shape[[1]], shape[[2]], classes),
          log(integrated_evidence(g, shape[[1]], shape[[2]], classes)),
          tolerance = 1e-9
        )
      }
    }
  }
})

test_that("a narrow prior acts like a known rate", {
  expect_equal(
    log_evidence_beta(log(humps), 12, 2e6, 8e6),
    log_evidence_rate(log(humps), 12, 0.2),
    tolerance = 1e-5
  )
})

test_that("the posterior of the rate is a density, and follows Bayes' rule", {
  for (classes in c(2, 3)) {
    top <- (classes - 1) / classes
    density <- function(q) {
      posterior_of_rate(log(gaps), 12, q, 1.5, 2, classes)
    }
    total <- stats::integrate(density, 0, top, rel.tol = 1e-10)
    expect_equal(total$value, 1)
    prior <- stats::dbeta(0.3, 1.5, 2) / stats::pbeta(top, 1.5, 2)
    expect_equal(
      density(0.3), prior * plain_evidence(gaps, 0.3, classes) /
        integrated_evidence(gaps, 1.5, 2, classes)
    )
  }
  expect_equal(
    posterior_of_rate(log(humps), 12, 0),
    2 * humps[[1]] / integrated_evidence(humps, 1, 1)
  )
})

# Large m ----------------------------------------------------------------------

test_that("the incomplete beta function is right in its tails", {
  # d(q^a (1 - q)^(b - 1)) integrated over (0, t):
  # a B(a, b) = t^a (1 - t)^(b - 1) + (b - 1) B(a + 1, b - 1).
  for (m in c(10, 1e4, 1e5)) {
    for (t in c(0.5, 2 / 3, 0.99)) {
      for (shape in list(c(1, 1), c(0.5, 3), c(30, 0.1))) {
        a <- shape[[1]] + 0:(m - 1)
        b <- shape[[2]] + m - 0:(m - 1)
        left <- log(a) + log_incomplete_beta(t, a, b)
        first <- a * log(t) + (b - 1) * log1p(-t)
        second <- log(b - 1) + log_incomplete_beta(t, a + 1, b - 1)
        top <- pmax(first, second)
        right <- top + log(exp(first - top) + exp(second - top))
        expect_lt(max(abs(left - right)), 1e-8)
      }
    }
  }
  expect_no_warning(log_incomplete_beta(0.5, 37, 99965))
  by_integral <- stats::integrate(function(q) {
    q^40 * (1 - q)^1.5
  }, 0, 0.5, rel.tol = 1e-12)$value
  expect_equal(log_incomplete_beta(0.5, 41, 2.5), log(by_integral))
})

test_that("with 100 000 data the integral over the rates gives the prior's", {
  m <- 1e5
  log_g <- stats::dnorm(0:m, m / 2, m / 20, log = TRUE)
  log_g <- log_g - log_sum_exp(log_g)
  whole <- log_evidence_beta(log_g, m)
  # Simpson's rule on q = 1 / (1 + exp(-u)), where the posterior is wide.
  u <- seq(-28, 0, length.out = 401)
  q <- stats::plogis(u)
  f <- log_evidence_rate(log_g, m, q) + log(2) + log(q) + log1p(-q)
  simpson <- c(1, rep(c(4, 2), length.out = 399), 1) * diff(u)[[1]] / 3
  expect_lt(abs(log_sum_exp(f + log(simpson)) - whole), 1e-6)
})

test_that("arguments are checked", {
  bad <- function(code) expect_error(code, class = "kb_error_argument")
  log_g <- log(humps)
  bad(log_evidence_rate(log_g, 11, 0.1))
  bad(log_evidence_rate(replace(log_g, 2, NaN), 12, 0.1))
  bad(log_evidence_rate(rep(-Inf, 13), 12, 0.1))
  bad(log_evidence_rate(log_g, 12, 0.6))
  bad(log_evidence_rate(log_g, 12, -0.1))
  bad(log_evidence_rate(log_g, 12, NA_real_))
  bad(log_evidence_rate(log_g, 12, 0.1, 1))
  bad(log_evidence_beta(log_g, 12, 0, 1))
  bad(log_evidence_beta(log_g, 12, 1, Inf))
  bad(posterior_of_rate(log_g, 12, 0.7))
})
