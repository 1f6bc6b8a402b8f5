# Terms beside kernels that change with an exposure

line_data <- function(n = 60) {
  withr::with_seed(3, {
    data <- data.frame(
      a = stats::rexp(n), b = stats::runif(n), z = stats::rnorm(n, 40, 5),
      sex = sample(c("f", "m", "m"), n, TRUE), g = rep(1:6, length.out = n)
    )
    data$y <- sin(data$a) + data$a + data$b * (data$sex == "m") +
      stats::rnorm(n, sd = 0.2)
    data
  })
}

line_fit <- function(formula, ...) {
  bark_quick(formula, line_data(), prior = bark_prior(), ...)
}

# Differences of draws at the medians with one exposure at two quartiles
step_of <- function(fit, name, data = line_data()) {
  rows <- data.frame(
    a = rep(median(data$a), 2), b = median(data$b), z = median(data$z),
    sex = "m", g = 1
  )
  rows[[name]] <- quantile(data[[name]], c(0.75, 0.25))
  draws <- predict(fit, rows, type = "draws", re_formula = NA)
  draws[, 1] - draws[, 2]
}

test_that("effects have the linear terms of an exposure", {
  formulas <- list(
    y ~ kernels(a, b) + a, y ~ kernels(a, b) + poly(a, 2) + log(a) + z,
    y ~ kernels(a, b) + a:b + sex, y ~ kernels(a, b) + a * sex + z,
    y ~ kernels(a, b) + I(a * b) + poly(z, 2) + (1 + a | g)
  )
  for (formula in formulas) {
    fit <- line_fit(formula)
    single <- exposure_effects(fit, "single", fixed = 0.5)
    for (name in c("a", "b")) {
      step <- step_of(fit, name)
      own <- single[single$exposure == name, ]
      expect_equal(own$mean, mean(step))
      expect_equal(own$sd, sd(step))
      expect_equal(own$lower, quantile(step, 0.05, names = FALSE))
    }
  }
})

test_that("all types have them, and so do fits to x and y", {
  data <- line_data()
  fit <- line_fit(y ~ kernels(a, b) + a)
  at <- function(p, q = p) {
    data.frame(a = quantile(data$a, p), b = quantile(data$b, q))
  }
  change <- function(rows) {
    draws <- predict(fit, rows, type = "draws")
    draws[, 1] - draws[, 2]
  }
  overall <- exposure_effects(fit, "overall", quantiles = 0.75)
  expect_equal(overall$mean, mean(change(rbind(at(0.75), at(0.5)))))
  curves <- exposure_effects(fit, exposures = "a", n = 3)
  ends <- at(0.5)[c(1, 1), ]
  ends$a[[1]] <- max(data$a)
  expect_equal(curves$mean[[3]], mean(change(ends)))
  pairs <- exposure_effects(fit, "pairs", n = 3)
  same <- pairs[pairs$exposure == "a" & pairs$quantile == 0.5, ]
  expect_equal(same$mean, curves$mean)
  # A line does not interact.
  kernels <- exposure_effects(fit, "interactions")
  steps <- lapply(c(0.75, 0.25), function(q) {
    change(rbind(at(0.75, q), at(0.25, q)))
  })
  expect_equal(kernels$mean[[1]], mean(steps[[1]] - steps[[2]]))
  matrices <- bark_quick(as.matrix(data[c("a", "b")]), data$y,
    linear = data["a"], prior = bark_prior()
  )
  expect_equal(exposure_effects(matrices, "single")$mean,
    exposure_effects(fit, "single")$mean
  )
})

test_that("an offset of an exposure counts", {
  fit <- line_fit(y ~ kernels(a, b) + offset(2 * a) + z)
  expect_equal(exposure_effects(fit, "single", fixed = 0.5)$mean[[1]],
    mean(step_of(fit, "a"))
  )
})

test_that("inputs that are functions are found in linear terms", {
  fit <- line_fit(y ~ kernels(log(a), b) + log(a) + z)
  data <- line_data()
  effect <- exposure_effects(fit, "single", fixed = 0.5)[1, ]
  rows <- data.frame(
    a = quantile(data$a, c(0.75, 0.25)), b = median(data$b), z = median(data$z)
  )
  draws <- predict(fit, rows, type = "draws")
  expect_equal(effect$mean, mean(draws[, 1] - draws[, 2]))
})

test_that("an exposure moves with all that comes of it", {
  formulas <- list(
    y ~ kernels(log(a), b) + a, y ~ kernels(a, b) + I(a * z),
    y ~ kernels(a, b) + a:poly(z, 2), y ~ kernels(a * b, a) + z,
    y ~ kernels(poly(a, 2), b), y ~ kernels(a) + kernels(a, b) + a:sex
  )
  for (formula in formulas) {
    fit <- line_fit(formula)
    single <- exposure_effects(fit, "single", fixed = 0.5)
    expect_identical(single$exposure[[1]], "a")
    expect_equal(single$mean[[1]], mean(step_of(fit, "a")))
    expect_equal(single$sd[[1]], sd(step_of(fit, "a")))
  }
  fit <- line_fit(formulas[[1]])
  expect_error(exposure_effects(fit, exposures = "log(a)"), "comes of \"a\"",
    class = "kb_error_argument"
  )
})

test_that("codes and ordered factors move among values that occur", {
  data <- line_data()
  data$k <- rep(c(1, 2, 5), 20)
  data$o <- factor(rep(c("low", "mid", "high"), 20), c("low", "mid", "high"),
    ordered = TRUE
  )
  fit <- bark_quick(y ~ kernels(factor(k), o, a) + o, data, prior = bark_prior())
  single <- exposure_effects(fit, "single", fixed = 0.5)
  rows <- data.frame(k = c(5, 1), o = "mid", a = median(data$a))
  draws <- predict(fit, rows, type = "draws")
  own <- single[single$exposure == "k", ]
  expect_equal(own$mean, mean(draws[, 1] - draws[, 2]))
  curves <- exposure_effects(fit, exposures = "o", n = 20)
  expect_equal(curves$value, 1:3)
})

test_that("print() says what linear terms and factors are at", {
  fit <- line_fit(y ~ kernels(a, b, sex) + a * z)
  effects <- exposure_effects(fit, "single")
  expect_output(print(effects), "Factors stay at sex = m.", fixed = TRUE)
  expect_output(print(effects), "Interacting variables are at z = ")
  expect_output(print(exposure_effects(fit, "inclusion")), "Of kernels only")
  # The row that is most frequent, not the medians of indicators
  expect_equal(effects$mean[[2]], mean(step_of(fit, "a")))
})
