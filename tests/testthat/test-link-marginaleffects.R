# marginaleffects: its numbers are those of rstantools::posterior_epred().

for (package in c("marginaleffects", "collapse", "insight", "rstantools")) {
  skip_if_not_installed(package)
}

# marginaleffects uses an operator that base R has since 4.4.
local_operator <- function(env = parent.frame()) {
  if (!exists("%||%", baseenv())) {
    withr::local_package("rlang", .local_envir = env)
  }
}

quietly <- function(expr) {
  suppressMessages(suppressWarnings(expr, classes = "kb_warning"))
}

short <- mcmc_control(chains = 2, warmup = 30, iter = 40)
data <- bark_data()
data$h <- factor(rep(c("u", "v"), 15))
data$n <- rep(0:4, 6)
fits <- quietly(list(
  bark = bark(y ~ x1 + x4 + g, data, control = short, seed = 1),
  srvm = srvm(y ~ x1 + x4 + g, data, kernel_gaussian(1),
    control = smc_control(40), seed = 1
  ),
  logit = bark(class ~ x1 + x4 + g, data, control = short, seed = 1),
  kgs = kgs(class ~ x1 + x4 + g, data, kernel_gaussian(1),
    control = short, seed = 1
  ),
  fields = bark(g ~ x1 + x4, data, control = short, seed = 1)
))
two <- fits[names(fits) != "fields"]
new <- data[1:3, ]

#' Draws with columns of the data set to other values
epred <- function(fit, data, ...) {
  values <- list(...)
  data[names(values)] <- values
  rstantools::posterior_epred(fit, data)
}

draws_of <- function(found) {
  unname(marginaleffects::get_draws(found, shape = "DxP"))
}

test_that("predictions() has the draws of posterior_epred()", {
  local_operator()
  for (fit in two) {
    expected <- rstantools::posterior_epred(fit, new)
    found <- marginaleffects::predictions(fit, newdata = new)
    expect_equal(draws_of(found), expected)
    expect_equal(found$estimate, apply(expected, 2, stats::median))
    expect_equal(
      rbind(found$conf.low, found$conf.high),
      unname(apply(expected, 2, stats::quantile, c(0.025, 0.975)))
    )
    expect_equal(
      draws_of(marginaleffects::predictions(fit)),
      rstantools::posterior_epred(fit)
    )
    link <- marginaleffects::predictions(fit, newdata = new, type = "link")
    expect_equal(
      draws_of(link), rstantools::posterior_linpred(fit, newdata = new)
    )
    set.seed(1)
    drawn <- marginaleffects::predictions(fit,
      newdata = new, type = "prediction"
    )
    set.seed(1)
    expect_equal(draws_of(drawn), rstantools::posterior_predict(fit, new))
  }
})

test_that("of several classes each has its rows", {
  local_operator()
  found <- marginaleffects::predictions(fits$fields, newdata = new)
  expected <- rstantools::posterior_epred(fits$fields, new)
  expect_identical(found$group, factor(rep(c("a", "b", "c"), each = 3)))
  expect_equal(draws_of(found), matrix(expected, nrow(expected)))
  change <- marginaleffects::avg_comparisons(fits$fields,
    variables = list(x1 = c(0.2, 0.7))
  )
  at <- function(v) apply(epred(fits$fields, data, x1 = v), c(1, 3), mean)
  expect_equal(draws_of(change), unname(at(0.7) - at(0.2)))
})

test_that("comparisons are differences of posterior_epred()", {
  local_operator()
  for (fit in two) {
    found <- marginaleffects::avg_comparisons(fit,
      variables = list(x1 = c(0.2, 0.7))
    )
    difference <- epred(fit, data, x1 = 0.7) - epred(fit, data, x1 = 0.2)
    expect_equal(draws_of(found), cbind(rowMeans(difference)))
    found <- marginaleffects::comparisons(fit, newdata = new, variables = "g")
    at <- function(level) epred(fit, new, g = factor(level, levels(data$g)))
    expected <- cbind(at("b") - at("a"), at("c") - at("a"))
    expect_identical(found$contrast, rep(c("b - a", "c - a"), each = 3))
    expect_equal(draws_of(found), expected)
  }
})

test_that("slopes are differences over small steps", {
  local_operator()
  for (fit in two) {
    found <- marginaleffects::slopes(fit,
      newdata = new, variables = "x1", eps = 1e-3
    )
    step <- epred(fit, new, x1 = new$x1 + 5e-4) -
      epred(fit, new, x1 = new$x1 - 5e-4)
    expect_equal(draws_of(found), step / 1e-3, tolerance = 1e-6)
  }
})

test_that("predictors and data come from the fit", {
  local_operator()
  make <- function(formula, ..., rows = data) {
    quietly(bark(formula, rows, control = short, seed = 1, ...))
  }
  kinds <- list(
    make(y ~ ., rows = data[c("y", "x1", "g")]),
    make(y ~ kernels(x1) + x4 + (1 | g)), make(y ~ x1 * x4, weights = w),
    make(cbind(n, 5) ~ x1 + h, family = binomial()),
    make(n ~ x1, family = poisson()), make(ordered(n > 1) ~ x1),
    quietly(bark(data[c("x1", "h")], data$y, control = short, seed = 1))
  )
  for (fit in kinds) {
    expect_equal(
      draws_of(marginaleffects::predictions(fit)),
      unname(rstantools::posterior_epred(fit))
    )
    expect_no_error(marginaleffects::avg_comparisons(fit))
  }
  mixed <- kinds[[2]]
  expect_identical(
    insight::find_predictors(mixed), list(conditional = c("x1", "x4"))
  )
  expect_identical(
    insight::find_predictors(mixed, effects = "all"),
    list(conditional = c("x1", "x4"), random = "g")
  )
  expect_identical(
    insight::find_predictors(mixed, "random", flatten = TRUE), "g"
  )
  # It warns of arguments that it passes on.
  without <- suppressWarnings(
    marginaleffects::predictions(mixed, newdata = new, re_formula = NA)
  )
  expect_equal(
    draws_of(without),
    rstantools::posterior_epred(mixed, new, re_formula = NA)
  )
})

test_that("transformed variables need their data", {
  local_operator()
  fit <- local({
    rows <- data
    quietly(bark(y ~ sin(x1), rows, control = short, seed = 1))
  })
  suppressWarnings(expect_error(
    insight::get_data(fit),
    class = "kb_error_not_defined"
  ))
  found <- suppressWarnings(marginaleffects::predictions(fit, newdata = new))
  expect_equal(draws_of(found), rstantools::posterior_epred(fit, new))
  # Where they are found, and only if they are those of the fit
  name <- "data_of_log_fit"
  withr::defer(rm(list = name, envir = globalenv()))
  assign(name, data, globalenv())
  formula <- y ~ sin(x1)
  environment(formula) <- globalenv()
  fit <- quietly(eval(
    bquote(bark(.(formula), data_of_log_fit, control = short, seed = 1))
  ))
  expect_equal(insight::get_data(fit)$x1, data$x1)
  assign(name, transform(data, x1 = 2 * x1), globalenv())
  suppressWarnings(expect_error(
    insight::get_data(fit),
    class = "kb_error_not_defined"
  ))
})

test_that("what has no draws is refused", {
  local_operator()
  fit <- fits$bark
  expect_null(marginaleffects::get_vcov(fit))
  expect_error(marginaleffects::get_vcov(fit, "HC3"),
    class = "kb_error_argument"
  )
  expect_error(marginaleffects::get_predict(fit, new, type = "class"),
    class = "kb_error_argument"
  )
  expect_error(
    marginaleffects::get_predict(kbr(data["x1"], data["y"]), new),
    class = "kb_error_not_defined"
  )
  fit$runs <- list()
  fit <- sealed(fit)
  expect_error(marginaleffects::get_predict(fit, new), class = "kb_error_fit")
})

test_that("classes that a user named stay", {
  withr::local_options(marginaleffects_model_classes = "mine")
  allow_marginaleffects()
  expect_identical(
    getOption("marginaleffects_model_classes"), c("mine", "kb_fit")
  )
})
