# Families: what is accepted, what is refused.

test_that("family objects, their makers and the two names are accepted", {
  for (family in list("gaussian", stats::gaussian, stats::gaussian())) {
    expect_identical(check_family(family), "gaussian")
  }
  expect_identical(check_family("probit"), "probit")
  expect_identical(check_family(stats::binomial("probit")), "probit")
  expect_null(check_family(NULL))
})

test_that("other families and links are refused, the logit with a hint", {
  for (family in list("binomial", stats::binomial, stats::binomial())) {
    expect_error(check_family(family), "binomial(\"probit\")",
      fixed = TRUE, class = "kb_error_argument"
    )
  }
  for (family in list(
    stats::poisson(), stats::gaussian("log"), stats::quasi(), "logit", 1,
    function() 3, function() stop("no")
  )) {
    expect_error(check_family(family), "`family` must be",
      class = "kb_error_argument"
    )
  }
})
