error <- "kb_error_argument"
types <- c("select_different", "equal", "different", "select_equal")

# Oracles: the Levy measure by quadrature in log |b|, in which its tails are
# exponential. c_alpha is that of eq. 6.
levy_constant <- function(alpha) alpha / pi * gamma(alpha) * sin(pi * alpha / 2)

on_log_scale <- function(f, alpha, eps) {
  g <- function(u) exp(u) * f(exp(u))
  part <- function(from, to) {
    stats::integrate(g, from, to,
      rel.tol = 1e-11, abs.tol = 0, subdivisions = 2000L
    )$value
  }
  middle <- log(eps)
  2 * part(middle - 30 / min(1, 2 - alpha), middle) +
    2 * part(middle, middle + 30 / min(1, alpha))
}

quadrature_nu <- function(alpha, g, eps) {
  scale <- alpha * eps^2
  g * levy_constant(alpha) * on_log_scale(function(b) {
    (b^2 + scale)^(-(alpha + 1) / 2)
  }, alpha, eps)
}

# |b|^(-1 - alpha) minus the approximation, without cancellation.
quadrature_discrepancy <- function(alpha, g, eps) {
  scale <- alpha * eps^2
  g * levy_constant(alpha) * on_log_scale(function(b) {
    -b^(1 - alpha) * expm1(-(alpha + 1) / 2 * log1p(scale / b^2))
  }, alpha, eps)
}

truncated_integral <- function(power, alpha, g, eps, outside) {
  range <- if (outside) c(0, 60 / alpha) else c(-60 / (2 - alpha), 0)
  2 * g * levy_constant(alpha) * stats::integrate(function(u) {
    (eps * exp(u))^(power - alpha)
  }, range[[1]], range[[2]], rel.tol = 1e-11, subdivisions = 2000L)$value
}

paper_bound <- function(alpha, g, eps) {
  2 * g / pi * gamma(alpha + 1) * sin(pi * alpha / 2) * eps^(2 - alpha) *
    ((1 + alpha) * alpha^(alpha / 2) / 2 + alpha^(1 - alpha / 2) / (2 - alpha))
}

# The Levy measure -----------------------------------------------------------

test_that("nu and D have their known values", {
  alpha <- c(0.5, 1, 1.5)
  known <- function(f) round(f(alpha, 10, 0.5), 4)
  expect_equal(known(bark_nu), c(17.5924, 20, 14.9619))
  expect_equal(known(bark_nu_truncated), c(11.2838, 12.7324, 11.2838))
  expect_equal(known(bark_discrepancy), c(1.4660, 5, 11.2214))
  expect_equal(bark_nu(1, 1, 0.05), 20, tolerance = 1e-14)
  expect_equal(bark_discrepancy(1, 1, 0.05), 0.05, tolerance = 1e-14)
})

test_that("alpha = 1 has the Cauchy forms", {
  for (g in c(0.1, 1, 7)) for (eps in c(0.01, 0.5, 3)) {
    expect_equal(bark_nu(1, g, eps), g / eps, tolerance = 1e-14)
    expect_equal(bark_discrepancy(1, g, eps), g * eps, tolerance = 1e-14)
    expect_equal(bark_nu_truncated(1, g, eps), 2 * g / (pi * eps),
      tolerance = 1e-14
    )
    expect_equal(bark_discrepancy_truncated(1, g, eps), 2 * g * eps / pi,
      tolerance = 1e-14
    )
  }
})

test_that("nu and D are integrals of the Levy measure", {
  for (alpha in c(0.3, 0.5, 1, 1.5, 1.9)) for (eps in c(0.05, 0.5, 2)) {
    expect_equal(bark_nu(alpha, 3, eps), quadrature_nu(alpha, 3, eps),
      tolerance = 1e-9
    )
    expect_equal(
      bark_discrepancy(alpha, 3, eps), quadrature_discrepancy(alpha, 3, eps),
      tolerance = 1e-9
    )
    expect_equal(
      bark_nu_truncated(alpha, 3, eps),
      truncated_integral(0, alpha, 3, eps, outside = TRUE),
      tolerance = 1e-9
    )
    expect_equal(
      bark_discrepancy_truncated(alpha, 3, eps),
      truncated_integral(2, alpha, 3, eps, outside = FALSE),
      tolerance = 1e-9
    )
  }
})

test_that("the short forms agree with eqs. 7 and 8", {
  for (alpha in c(0.1, 0.3, 0.7, 1, 1.4, 1.9)) {
    expect_equal(
      bark_nu(alpha, 2, 0.3),
      2 * alpha^(1 - alpha / 2) * gamma(alpha / 2) /
        (2^(1 - alpha) * 0.3^alpha * gamma(1 - alpha / 2)),
      tolerance = 1e-12
    )
    expect_equal(
      bark_nu_truncated(alpha, 2, 0.3),
      4 * gamma(alpha) * sin(pi * alpha / 2) / (pi * 0.3^alpha),
      tolerance = 1e-12
    )
    expect_equal(
      bark_discrepancy_truncated(alpha, 2, 0.3),
      4 * gamma(alpha + 1) * sin(pi * alpha / 2) * 0.3^(2 - alpha) /
        (pi * (2 - alpha)),
      tolerance = 1e-12
    )
  }
})

test_that("near the ends of alpha nu and D are finite, and have their limits", {
  ends <- c(1e-300, 1e-12, 2 - 1e-12, 2 - 2^-52)
  for (f in c(
    bark_nu, bark_nu_truncated, bark_discrepancy, bark_discrepancy_truncated
  )) {
    expect_true(all(is.finite(f(ends, 3, 0.5)) & f(ends, 3, 0.5) > 0))
  }
  # alpha = 0: nu is gamma. alpha = 2: a Brownian field of variance 2 gamma,
  # which is lost entirely.
  expect_equal(bark_nu(1e-12, 3, 0.5), 3, tolerance = 1e-9)
  expect_equal(bark_nu_truncated(1e-12, 3, 0.5), 3, tolerance = 1e-9)
  expect_equal(bark_discrepancy(2 - 1e-12, 3, 0.5), 6, tolerance = 1e-9)
  expect_equal(bark_discrepancy_truncated(2 - 1e-12, 3, 0.5), 6,
    tolerance = 1e-9
  )
})

test_that("eq. 12 does not bound the discrepancy for small alpha", {
  expect_equal(round(paper_bound(c(0.5, 0.3), 10, 0.5), 4), c(1.4487, 0.6020))
  expect_equal(
    round(bark_discrepancy(c(0.5, 0.3), 10, 0.5), 4), c(1.4660, 0.6718)
  )
  above <- function(alpha) {
    bark_discrepancy(alpha, 10, 0.5) - paper_bound(alpha, 10, 0.5)
  }
  expect_true(all(above(c(0.05, 0.1, 0.3, 0.5)) > 0))
  expect_true(all(above(c(0.53, 1, 1.5, 1.9)) < 0))
  crossing <- stats::uniroot(above, c(0.4, 0.6), tol = 1e-8)$root
  expect_equal(round(crossing, 3), 0.522)
})

# Elicitation ----------------------------------------------------------------

test_that("the number of kernels and the discrepancy give gamma and eps", {
  prior <- bark_prior(n_kernels = 20, discrepancy = 0.05)
  expect_equal(c(prior$gamma, prior$eps), c(1, 0.05), tolerance = 1e-14)
  prior <- bark_prior(n_kernels = 20, discrepancy = 5)
  expect_equal(c(prior$gamma, prior$eps), c(10, 0.5), tolerance = 1e-14)
  # alpha = 1: gamma = sqrt(N q), eps = sqrt(q / N).
  prior <- bark_prior(n_kernels = 7, discrepancy = 0.3)
  expect_equal(c(prior$gamma, prior$eps), sqrt(c(2.1, 0.3 / 7)))
})

test_that("elicitation can be inverted for every alpha", {
  for (alpha in c(1e-6, 0.3, 0.5, 1, 1.5, 1.9, 2 - 1e-6)) {
    prior <- bark_prior(alpha = alpha, n_kernels = 15, discrepancy = 0.2)
    expect_equal(bark_nu(alpha, prior$gamma, prior$eps), 15, tolerance = 1e-12)
    expect_equal(bark_discrepancy(alpha, prior$gamma, prior$eps), 0.2,
      tolerance = 1e-12
    )
    back <- bark_elicit(
      alpha, bark_nu(alpha, 4, 0.3), bark_discrepancy(alpha, 4, 0.3)
    )
    expect_equal(back, list(eps = 0.3, gamma = 4), tolerance = 1e-12)
  }
})

test_that("only degrees of freedom that are numbers or learned are accepted", {
  expect_error(bark_prior(df = "learn"), "\"learned\"", class = error)
})

test_that("half of a pair, or both pairs, are refused", {
  expect_error(bark_prior(n_kernels = 20), "discrepancy` is missing",
    class = error
  )
  expect_error(bark_prior(discrepancy = 1), "n_kernels` is missing",
    class = error
  )
  expect_error(bark_prior(gamma = 1, n_kernels = 20, discrepancy = 1),
    "one pair only",
    class = error
  )
  expect_error(bark_prior(eps = 1, n_kernels = 20), "one pair only",
    class = error
  )
  for (bad in list(0, -1, NA, Inf, "a", c(1, 2))) {
    expect_error(bark_prior(n_kernels = bad, discrepancy = 1), "n_kernels",
      class = error
    )
    expect_error(bark_prior(n_kernels = 1, discrepancy = bad), "discrepancy",
      class = error
    )
  }
})

# The prior ------------------------------------------------------------------

test_that("the defaults agree with the paper's experiments", {
  prior <- bark_prior_paper()
  expect_s3_class(prior, "kb_bark_prior")
  expect_identical(prior[c("type", "alpha", "eps", "gamma")], list(
    type = "select_different", alpha = 1, eps = NULL, gamma = 10
  ))
  expect_identical(prior_for(prior, "gaussian")$eps, 0.5)
  expect_identical(prior$df, Inf)
  expect_false(prior$own_scales)
  expect_identical(prior_for(prior, "gaussian")$scales, c(1, 1))
  expect_identical(prior$selection, c(1, 1))
  for (type in types) expect_identical(bark_prior(type)$type, type)
})

test_that("bad arguments are named", {
  positive <- list(0, -1, NA_real_, Inf, "a", c(1, 2), NULL)
  for (bad in c(positive, 2, 2.5)) {
    expect_error(bark_prior(alpha = bad), "alpha", class = error)
  }
  for (bad in positive[-7]) {
    expect_error(bark_prior(eps = bad), "eps", class = error)
  }
  # Without kernels it is 0.
  for (bad in positive[-1]) {
    expect_error(bark_prior(gamma = bad), "gamma", class = error)
  }
  for (bad in list(1, c(1, 0), c(1, NA), c(1, Inf), "a", 1:3)) {
    expect_error(bark_prior(scales = bad), "scales", class = error)
  }
  for (bad in list(1, c(1, 0), c(1, NA), c(1, Inf), "a", 1:3)) {
    expect_error(bark_prior(selection = bad), "selection", class = error)
  }
  for (bad in list(0, -1, NA, Inf, "a", c(1, 2))) {
    expect_error(bark_prior(n_signals = bad), "n_signals", class = error)
  }
  expect_error(bark_prior("both"), "type", class = error)
  for (bad in list(1, "ig", list(shape = 1, rate = 1))) {
    expect_error(bark_prior(noise = bad), "noise", class = error)
  }
})

test_that("names of a pair must agree with its order", {
  expect_identical(bark_prior(scales = c(shape = 2, rate = 3))$scales, c(2, 3))
  expect_error(bark_prior(scales = c(rate = 3, shape = 2)), "in this order",
    class = error
  )
})

test_that("a number of kernels too large for any sampler is refused", {
  expect_error(bark_prior(eps = 1e-10), "expected number", class = error)
  expect_error(bark_prior(alpha = 1.9, eps = 1e-200), class = error)
  expect_error(bark_prior(alpha = 1.9, eps = 1e200, gamma = 1e-50),
    class = error
  )
})

test_that("arguments that a type does not use are refused", {
  for (type in c("equal", "different")) {
    expect_error(bark_prior(type, selection = c(1, 2)), "selection",
      class = error
    )
    expect_error(bark_prior(type, n_signals = 2), "n_signals", class = error)
  }
  expect_error(bark_prior(selection = c(1, 2), n_signals = 2), "one number",
    class = error
  )
})

test_that("print shows the implications of the prior", {
  print_has <- function(prior, ...) {
    for (text in c(...)) expect_output(print(prior), text, fixed = TRUE)
  }
  print_has(
    bark_prior(), "select_different", "alpha = 1, gamma = 10, eps = 0.5",
    "number of kernels: 20", "5 times |K|^2 (500%)",
    "numeric responses:", "scales: each kernel has its own", "df learned",
    "Be(1, 1), E[d] = 0.5 p", "P(sd < residual sd of lm) = 0.75",
    "linear part: sd of slopes half-t, scale 0.3"
  )
  print_has(
    bark_prior("select_equal", n_kernels = 20, discrepancy = 0.05),
    "gamma = 1, eps = 0.05", "0.05 times |K|^2 (5%)"
  )
  print_has(
    bark_prior(n_signals = 3, selection = 2, noise = fixed_variance(0.2)),
    "Be(2, b), E[d] = 3", "noise: fixed_variance(0.2)"
  )
  print_has(bark_prior(selection = c(1, 4)), "Be(1, 4), E[d] = 0.2 p")
  print_has(
    bark_prior(noise = noise_gamma(2, 0.5)),
    "noise_gamma(shape = 2, rate = 0.5)"
  )
  print_has(bark_prior(noise = noise_improper()), "improper 1 / phi")
  printed <- capture.output(out <- withVisible(print(bark_prior("equal"))))
  expect_false(any(grepl("selection", printed)))
  expect_false(out$visible)
  expect_lte(length(printed), 15)
})

# Noise ----------------------------------------------------------------------

test_that("noise_gamma takes positive numbers", {
  expect_identical(unclass(noise_gamma(2L, 3)), list(shape = 2, rate = 3))
  expect_output(print(noise_gamma(2, 3)), "noise_gamma(shape = 2, rate = 3)",
    fixed = TRUE
  )
  for (bad in list(0, -1, NA, Inf, "a", c(1, 2), NULL)) {
    expect_error(noise_gamma(bad, 1), "shape", class = error)
    expect_error(noise_gamma(1, bad), "rate", class = error)
  }
})

test_that("a rate of 0 is refused with the reason", {
  for (shape in c(0, 1)) {
    expect_error(noise_gamma(shape, 0), "improper", class = "kb_error_improper")
    expect_error(noise_gamma(shape, 0), "unbounded", class = error)
  }
})

test_that("a prior of the precision is not a prior of a variance", {
  expect_error(srvm_prior(noise = noise_gamma(1, 1)), "noise", class = error)
  expect_error(bark_prior(noise = srvm_prior_paper()$noise), class = error)
})

# Resolution -----------------------------------------------------------------

plane <- scale(as.matrix(datasets::mtcars[c("wt", "hp", "qsec")]))
mpg <- as.vector(scale(datasets::mtcars$mpg))

resolve <- function(prior = bark_prior_paper(), x = plane, y = mpg, ...) {
  bark_prior_resolve(prior, x, y, ...)
}

test_that("a resolved prior is a plain list of numbers", {
  for (type in types) {
    out <- resolve(bark_prior_paper(type, alpha = 1.5, scales = c(2, 3)))
    expect_identical(class(out), "list")
    expect_identical(names(out), c(
      "type", "alpha", "eps", "gamma", "nu", "discrepancy", "A", "B", "a_p",
      "b_p", "noise_shape", "noise_rate", "noise_fixed", "noise_precision",
      "improper"
    ))
    expect_true(all(lengths(out) == 1))
    expect_identical(out$type, type)
    expect_identical(c(out$A, out$B, out$a_p, out$b_p), c(2, 3, 1, 1))
    expect_identical(out$nu, bark_nu(1.5, 10, 0.5))
    expect_identical(out$discrepancy, bark_discrepancy(1.5, 10, 0.5))
    expect_false(out$noise_fixed || out$improper)
    expect_identical(out$noise_precision, NA_real_)
  }
})

# P(sd < s) under the gamma prior of the precision.
below <- function(out, s) {
  stats::pgamma(1 / s^2, out$noise_shape, out$noise_rate, lower.tail = FALSE)
}

test_that("the default noise is below the residual sd with probability .9", {
  out <- resolve()
  s <- summary(stats::lm(mpg ~ plane))$sigma
  expect_identical(out$noise_shape, 1.5)
  expect_equal(below(out, s), 0.9, tolerance = 1e-12)
  # The rule of BART: 3 lambda / sd^2 is chi-squared on 3 degrees of freedom.
  lambda <- s^2 * stats::qchisq(0.1, 3) / 3
  expect_equal(out$noise_rate, 3 * lambda / 2, tolerance = 1e-12)
  # With a linear part the regression may be true.
  expect_equal(below(resolve(bark_prior()), s), 0.75, tolerance = 1e-12)
  # A copied and a constant column change nothing.
  expect_equal(resolve(x = cbind(plane, plane[, 1], 1)), out)
})

test_that("with weights the rule uses the weighted regression", {
  w <- rep(c(0.5, 2), 16)
  s <- summary(stats::lm(mpg ~ plane, weights = w))$sigma
  expect_equal(below(resolve(weights = w), s), 0.9, tolerance = 1e-12)
  expect_equal(resolve(weights = rep(1, 32)), resolve())
})

test_that("without residual degrees of freedom the rule uses the sd of y", {
  for (rows in list(1:4, 3:4)) {
    out <- resolve(x = plane[rows, ], y = mpg[rows])
    expect_equal(below(out, stats::sd(mpg[rows])), 0.9, tolerance = 1e-12)
  }
  wide <- matrix(sin((1:160)^2), 8)
  out <- resolve(x = wide, y = mpg[1:8])
  expect_equal(below(out, stats::sd(mpg[1:8])), 0.9, tolerance = 1e-12)
})

test_that("a constant response counts as one with sd 1", {
  for (y in list(rep(0, 32), rep(0.1, 32), rep(1e5 / 3, 32))) {
    expect_equal(below(resolve(y = y), 1), 0.9, tolerance = 1e-12)
  }
  one <- resolve(x = plane[1, , drop = FALSE], y = 0)
  expect_equal(below(one, 1), 0.9, tolerance = 1e-12)
})

test_that("a response that is linear in x leaves the prior proper", {
  for (unit in c(1e-8, 1, 1e8)) {
    y <- unit * (1 + plane[, 1])
    out <- resolve(y = y)
    expect_equal(below(out, 1e-4 * unit), 0.9, tolerance = 1e-9)
  }
})

test_that("a given noise is passed on", {
  noise <- function(x) {
    unlist(resolve(bark_prior(noise = x))[c(
      "noise_shape", "noise_rate", "noise_fixed", "noise_precision"
    )], use.names = FALSE)
  }
  expect_identical(noise(noise_gamma(2, 3)), c(2, 3, 0, NA))
  # The precision of an inverse gamma variance is gamma; its scale is the rate.
  expect_identical(noise(ig(2, 3)), c(2, 3, 0, NA))
  expect_identical(noise(fixed_variance(0.25)), c(NA, NA, 1, 4))
})

test_that("the improper noise gives a warning at the fit", {
  prior <- bark_prior(noise = noise_improper())
  expect_warning(out <- resolve(prior), class = "kb_warning_improper")
  expect_true(out$improper)
  expect_identical(c(out$noise_shape, out$noise_rate), c(0, 0))
  expect_no_warning(resolve())
})

test_that("n_signals is the expected number of predictors in the kernel", {
  for (m in c(0.5, 1, 2.9)) for (a in c(1, 2.5)) {
    out <- resolve(bark_prior(n_signals = m, selection = a))
    expect_identical(out$a_p, a)
    expect_equal(3 * a / (a + out$b_p), m, tolerance = 1e-14)
    # The mean of d under its beta-binomial law.
    d <- 0:3
    mass <- choose(3, d) * beta(a + d, out$b_p + 3 - d) / beta(a, out$b_p)
    expect_equal(sum(d * mass), m, tolerance = 1e-12)
  }
  # Ley and Steel: a = 1 and b = (p - m) / m.
  expect_equal(resolve(bark_prior(n_signals = 1))$b_p, 2)
  for (m in c(3, 4)) {
    expect_error(resolve(bark_prior(n_signals = m)), "n_signals", class = error)
  }
})

test_that("probit models have noise precision 1 and refuse others", {
  y <- factor(mpg > 0)
  for (family in list("binomial", stats::binomial("probit"))) {
    out <- resolve(bark_prior(), y = y, family = family)
    expect_true(out$noise_fixed)
    expect_identical(out$noise_precision, 1)
    expect_identical(
      resolve(bark_prior(noise = fixed_variance(1)), y = y, family = family), out
    )
    for (noise in list(noise_gamma(1, 1), fixed_variance(2), noise_improper())) {
      expect_error(
        resolve(bark_prior(noise = noise), y = y, family = family), "noise",
        class = error
      )
    }
  }
})

test_that("only a prior of bark and a known family are resolved", {
  expect_error(resolve(srvm_prior()), "prior", class = error)
  expect_error(resolve(family = "poisson"), "family", class = error)
  expect_error(resolve(family = stats::poisson()), "family", class = error)
})

test_that("errors point at the user-facing function", {
  fails <- list(
    quote(bark_prior(alpha = 2)), quote(bark_prior(n_kernels = 1)),
    quote(bark_prior(scales = 1)), quote(bark_prior(selection = 1)),
    quote(bark_prior("equal", n_signals = 2)), quote(bark_prior(eps = 1e-10)),
    quote(bark_prior(noise = 1)), quote(bark_prior(n_signals = -1))
  )
  for (fail in fails) {
    cnd <- rlang::catch_cnd(eval(fail))
    expect_identical(as.character(cnd$call)[[1]], "bark_prior")
  }
})
