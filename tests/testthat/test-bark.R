# Input of bark(): interfaces, families, weights and unusual data.

data <- bark_data()

#' Everything that a chain drew
runs_of <- function(fit) {
  lapply(fit$runs, function(run) run[setdiff(names(run), "seconds")])
}

test_that("formula, matrix, data frame and vector are one model", {
  formula <- bark_quick(y ~ x1 + x4, data)
  for (x in list(as.matrix(data[c("x1", "x4")]), data[c("x1", "x4")])) {
    expect_identical(runs_of(bark_quick(x, data$y)), runs_of(formula))
  }
  vector <- bark_quick(data$x1, data$y)
  expect_identical(runs_of(vector), runs_of(bark_quick(y ~ x1, data)))
  flag <- bark_quick(data$x1 > 0.5, data$y)
  expect_identical(dim(flag$data$x), c(30L, 1L))
})

test_that("input that is not data is refused", {
  expect_error(bark("y ~ x"), "`x`", class = "kb_error_argument")
  expect_error(bark(), "missing", class = "kb_error_argument")
  expect_error(bark(y ~ x1, data, colour = 1), "colour",
    class = "kb_error_unknown_argument"
  )
  expect_error(bark(y ~ x1), "`data`", class = "kb_error_data")
  expect_error(bark(data$x1), "`y`", class = "kb_error_outcome")
  expect_error(bark(data[0, 1:2], data$y[0]), class = "kb_error_rows")
  expect_error(bark(matrix(0, 3, 0), 1:3), "no columns",
    class = "kb_error_data"
  )
  expect_error(bark(y ~ x1, data, control = smc_control()), "mcmc_control",
    class = "kb_error_argument"
  )
  expect_error(bark(y ~ x1, data, prior = srvm_prior()), "bark_prior",
    class = "kb_error_argument"
  )
  expect_error(bark(c(1, Inf, 2), 1:3), class = "kb_error_infinite")
  expect_error(bark(c(1, NA, 2), 1:3, na.action = "fail"),
    class = "kb_error_missing"
  )
})

# Families ---------------------------------------------------------------------

test_that("the response decides the family, unless it is given", {
  expect_identical(bark_fits()$plane$settings$family, "gaussian")
  expect_identical(bark_fits()$classes$settings$family, "probit")
  text <- bark_quick(data["x1"], as.character(data$class))
  flag <- bark_quick(data["x1"], data$class == "up")
  given <- bark_quick(class ~ x1, data, family = binomial("probit"))
  expect_identical(runs_of(text), runs_of(given))
  expect_identical(runs_of(flag), runs_of(given))
  expect_identical(text$mould$levels, c("down", "up"))
  expect_identical(flag$mould$levels, c("FALSE", "TRUE"))
  expect_error(bark(class ~ x1, data, family = gaussian()), "numeric",
    class = "kb_error_outcome"
  )
  expect_error(bark(y ~ x1, data, family = "probit"), "classes",
    class = "kb_error_outcome"
  )
  logit <- bark(class ~ x1, data,
    family = binomial(), prior_only = TRUE, control = mcmc_control(1, 2, 2)
  ) |> suppressMessages()
  expect_identical(logit$settings$family, "logit")
})

test_that("two classes are required; levels without rows do not count", {
  expect_error(bark(data["x1"], rep("a", 30)), "two classes",
    class = "kb_error_outcome"
  )
  expect_error(bark(data["x1"], data$g, family = "probit"), "It has 3",
    class = "kb_error_outcome"
  )
  wide <- factor(data$class, c("none", "up", "down"))
  fit <- bark_quick(data["x1"], wide)
  # The order of the levels is kept: now "down" is the second.
  expect_identical(fit$mould$levels, c("up", "down"))
  expect_equal(fit_engine(fit)$y, ifelse(data$class == "down", 1, -1))
})

test_that("the signs of the classes follow the levels", {
  expect_identical(class_signs(factor(c("b", "a", "b"))), c(1, -1, 1))
  expect_equal(
    fit_engine(bark_fits()$classes)$y, ifelse(data$class == "up", 1, -1)
  )
})

test_that("a probit model has neither weights nor a noise prior", {
  expect_error(
    bark(class ~ x1, data, weights = w, family = binomial("probit")), "`weights`",
    class = "kb_error_argument"
  )
  expect_error(
    bark(class ~ x1, data, prior = bark_prior_paper(noise = noise_gamma(1, 1))),
    "noise",
    class = "kb_error_argument"
  )
})

# Weights ----------------------------------------------------------------------

test_that("a weight of 4 is a quarter of the variance, to the last bit", {
  # Powers of two cause no rounding.
  x <- as.matrix(data[c("x1", "x4")])
  y <- data$y - mean(data$y)
  fit <- function(variance, weights = NULL) {
    bark_quick(x, y,
      weights = weights, scale = FALSE,
      prior = bark_prior_paper(noise = fixed_variance(variance))
    )
  }
  weighted <- fit(2, rep(4, 30))
  plain <- fit(0.5)
  keep <- c("m", "location", "copies", "log_lambda", "beta", "log_likelihood")
  for (i in 1:2) {
    expect_equal(
      weighted$runs[[i]]$draws[keep], plain$runs[[i]]$draws[keep],
      tolerance = 1e-10
    )
  }
  expect_equal(predict(weighted), predict(plain), tolerance = 1e-9)
  expect_equal(2 * sigma(plain), sigma(weighted))
  # New rows have weight 1, unless given; rows of the fit have weight 4.
  bands <- function(fit, ...) predict(fit, ..., interval = "prediction")
  expect_equal(bands(weighted), bands(plain), tolerance = 1e-9)
  expect_equal(bands(weighted, x, weights = rep(4, 30)), bands(plain),
    tolerance = 1e-9
  )
  wider <- bands(weighted, x)
  expect_true(all(wider[, "upr"] > bands(plain)[, "upr"]))
})

test_that("unequal weights: predictions agree with dense algebra", {
  fit <- bark_fits()$weighted
  scaling <- fit$settings$scaling
  x <- scaling_x(scaling, fit$data$x)
  y <- scaling_y(scaling, fit$data$y)
  pool <- bark_pool(fit)
  moments <- bark_moments(fit, fit$data$x, pool)
  ends <- cumsum(pool$m)
  for (i in c(1, 17, 80)) {
    slots <- ends[[i]] - pool$m[[i]] + seq_len(pool$m[[i]])
    state <- list(
      location = pool$location[slots], included = pool$included[2 * i - 1:0],
      log_lambda = pool$log_lambda[2 * i - 1:0]
    )
    k <- slot_columns(state, x)
    prior <- k %*% (pool$variance[slots] * t(k))
    total <- diag(1 / (pool$noise[[i]] * data$w)) + prior
    expect_equal(moments$mean[, i], drop(prior %*% solve(total, y)),
      tolerance = 1e-6
    )
  }
})

test_that("weights are found in the data, and stay with their rows", {
  outside <- data$w
  expect_identical(bark_fits()$weighted$data$weights, data$w)
  fit <- bark_quick(y ~ x1 + x4, data, weights = outside)
  expect_identical(runs_of(fit), runs_of(bark_fits()$weighted))
  fit <- bark_quick(as.matrix(data[c("x1", "x4")]), data$y, weights = data$w)
  expect_identical(runs_of(fit), runs_of(bark_fits()$weighted))
  fit <- do.call(bark_quick, list(y ~ x1 + x4, data, weights = data$w))
  expect_identical(runs_of(fit), runs_of(bark_fits()$weighted))

  holes <- data
  holes$x1[[2]] <- NA
  holes$w[[5]] <- NA
  expect_error(bark(y ~ x1, holes, weights = w, na.action = "fail"), "missing",
    class = "kb_error_missing"
  )
  fit <- bark_quick(y ~ x1, holes, weights = w, na.action = "omit")
  expect_identical(fit$data$weights, data$w[-c(2, 5)])
  expect_identical(fit$mould$omitted, c(2L, 5L))
  expect_identical(fit$data$y, data$y[-c(2, 5)])
  fit <- bark_quick(holes["x1"], holes$y, weights = holes$w, na.action = "omit")
  expect_identical(fit$data$weights, data$w[-c(2, 5)])
})

test_that("weights must be positive numbers, one per row", {
  for (w in list(1, rep(0, 30), rep(-1, 30), c(Inf, rep(1, 29)), rep("1", 30),
    matrix(1, 30, 1), c(NaN, rep(1, 29)), TRUE
  )) {
    expect_error(bark(data["x1"], data$y, weights = w), "`weights`",
      class = "kb_error_argument"
    )
  }
  expect_error(bark(y ~ x1, data, weights = nowhere), "`weights`",
    class = "kb_error_argument"
  )
})

# Unusual data -----------------------------------------------------------------

test_that("unusual data have an answer", {
  finite <- function(fit) {
    out <- predict(fit, interval = "prediction")
    expect_true(all(is.finite(out)))
    out
  }
  one <- bark_quick(data[1, c("x1", "x4")], data$y[[1]])
  # The response is its own mean: f is 0 in its units, with noise of sd 1.
  expect_lt(abs(finite(one)[, "fit"] - data$y[[1]]), 1)
  constant <- bark_quick(data["x1"], rep(3, 30))
  expect_lt(max(abs(finite(constant)[, "fit"] - 3)), 0.5)
  dead <- cbind(data["x1"], k = 7)
  expect_message(dead <- bark_quick(dead, data$y), "\"k\" is constant",
    class = "kb_message_constant"
  )
  expect_identical(importance(dead)$variable, c("x1", "k"))
  finite(bark_quick(data[rep(1:5, 6), "x1"], data$y))
  wide <- matrix(sin(seq_len(8 * 40)^2), 8)
  finite(bark_quick(wide, cos(1:8)))
  finite(suppressWarnings(bark_quick(matrix(5, 6, 2), c(1, 2, 3, 1, 2, 3))))
  finite(bark_quick(c(-1e8, 0, 1e8, 5), 1e9 * (1:4)))
})

test_that("a mean far from 0 that is not subtracted gives a warning", {
  expect_warning(
    bark_quick(data["x1"], data$y + 1e4, scale = FALSE), "standard",
    class = "kb_warning_offset"
  )
  expect_no_warning(bark_quick(data["x1"], data$class, scale = FALSE))
})

test_that("set.seed() is honoured, and a seed leaves the generator alone", {
  fit <- function(...) {
    bark(data["x1"], data$y, control = mcmc_control(1, 5, 5), ...)
  }
  set.seed(4)
  first <- fit()
  set.seed(4)
  expect_identical(runs_of(first), runs_of(fit()))
  before <- .Random.seed
  fit(seed = 2)
  expect_identical(.Random.seed, before)
})

test_that("prior_only leaves the data out, and print shows it", {
  fit <- bark_quick(y ~ x1 + x4, data, prior_only = TRUE)
  other <- bark_quick(y ~ x1 + x4, transform(data, y = rev(y)),
    prior_only = TRUE, prior = bark_prior_paper(noise = noise_gamma(2, 1))
  )
  again <- bark_quick(y ~ x1 + x4, data,
    prior_only = TRUE, prior = bark_prior_paper(noise = noise_gamma(2, 1))
  )
  expect_identical(chain_matrices(other)$J, chain_matrices(again)$J)
  expect_output(print(fit), "PRIOR ONLY")
})

test_that("equal responses are a warning, unless they are not used", {
  expect_warning(bark_quick(data["x1"], rep(3, 30), prior = bark_prior()),
    class = "kb_warning_no_spread"
  )
  expect_no_warning(bark_quick(data["x1"], rep(3, 30),
    prior = bark_prior(), prior_only = TRUE
  ), class = "kb_warning_no_spread")
})

test_that("a stopped fit can be used and continued", {
  expect_warning(
    stopped <- bark(y ~ x1, data, prior = bark_prior_paper(),
      control = mcmc_control(2, 60, 40, time_limit = 1e-9), seed = 1
    ),
    class = "kb_warning_time_limit"
  )
  expect_output(print(stopped), "INCOMPLETE")
  expect_error(predict(stopped), class = "kb_error_not_defined")
  full <- suppressWarnings(update(stopped, time_limit = Inf))
  expect_identical(runs_of(full), runs_of(bark_quick(y ~ x1, data)))
})
