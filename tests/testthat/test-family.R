# Families that are accepted or refused.

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

test_that("misspelt names are recognised, and noise that is no family", {
  data <- data.frame(x = 1:12, y = rep(0:2, 4))
  hints <- c(
    gausian = "Did you mean \"gaussian\"", poison = "Did you mean \"poisson\"",
    t = "`df` of the prior"
  )
  for (name in names(hints)) {
    expect_error(bark(y ~ x, data, family = name), hints[[name]],
      class = "kb_error_argument"
    )
  }
  expect_error(srvm(y ~ x, data, family = "probt"), "Did you mean \"probit\"")
})

test_that("negative binomial family objects are referred to the name", {
  skip_if_not_installed("MASS")
  family <- MASS::negative.binomial(2)
  data <- data.frame(x = 1:12, y = rep(0:2, 4))
  expect_error(bark(y ~ x, data, family = family),
    "family = \"negbinomial\"`, which learns the size",
    fixed = TRUE, class = "kb_error_argument"
  )
  expect_error(srvm(y ~ x, data, family = family), "`bark()` has",
    fixed = TRUE, class = "kb_error_argument"
  )
})

test_that("0 and 1 are modelled as numbers, with a message unless requested", {
  data <- data.frame(x = 1:12, y = rep(0:1, 6))
  few <- smc_control(particles = 5)
  short <- mcmc_control(chains = 1, warmup = 5, iter = 5)
  one <- kernel_gaussian(1)
  said <- "kb_message_numbers"
  # expect_no_message() of testthat 3.1.6 sees no message at all.
  expect_quiet <- function(call) expect_null(rlang::catch_cnd(call, said))
  expect_message(srvm(y ~ x, data, kernel = one, control = few),
    "factor\\(y\\)",
    class = said
  )
  expect_message(srvm(data["x"], data$y, kernel = one, control = few),
    class = said
  )
  expect_message(bark(y ~ x, data, control = short), class = said)
  expect_message(bark(data$x, data$y, control = short), class = said)
  expect_quiet(
    srvm(y ~ x, data, kernel = one, control = few, family = gaussian())
  )
  expect_quiet(bark(factor(y) ~ x, data, control = short))
  expect_quiet(bark(I(y + 1) ~ x, data, control = short))
  fit <- suppressMessages(srvm(y ~ x, data, kernel = one, control = few))
  expect_quiet(update(fit, newdata = data[1:2, ]))
  expect_quiet(cross_validate(fit, folds = 2, seed = 1))
})

test_that("three classes are referred to other engines", {
  expect_error(srvm(Species ~ ., iris), "bark", class = "kb_error_outcome")
})
