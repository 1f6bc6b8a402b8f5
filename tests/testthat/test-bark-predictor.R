# Fits that keep no data: predictions are those of the fit to the bit.

few <- mcmc_control(chains = 2, warmup = 20, iter = 20)
frame <- withr::with_seed(3, {
  frame <- data.frame(
    a = stats::runif(80), b = stats::runif(80), z = stats::rnorm(80),
    g = factor(sample(letters[1:5], 80, TRUE)), o = stats::rnorm(80)
  )
  frame$y <- sin(6 * frame$a) + frame$z + frame$o + stats::rnorm(80, sd = 0.2)
  frame$two <- factor(frame$y > 1)
  frame$three <- cut(frame$y, 3, labels = c("low", "mid", "high"))
  frame
})

both <- function(formula, ...) {
  fit <- function(keep_data) {
    suppressWarnings(suppressMessages(bark(formula, frame,
      control = few, seed = 1, keep_data = keep_data, ...
    )))
  }
  list(whole = fit(TRUE), slim = fit(FALSE))
}

expect_same <- function(fits, ...) {
  slim <- unserialize(serialize(fits$slim, NULL))
  expect_identical(
    predict(slim, frame[1:7, ], ...), predict(fits$whole, frame[1:7, ], ...)
  )
}

test_that("numbers, with terms and without", {
  plain <- both(y ~ a + b)
  expect_s3_class(plain$slim, "kb_predictor")
  expect_same(plain)
  expect_same(plain, interval = "prediction")
  expect_same(plain, type = "draws")
  expect_same(plain, type = "quantile", probs = 0.3)
  expect_same(plain, type = "log_score")
  mixed <- both(y ~ kernels(a, b) + z + (1 | g) + offset(o))
  expect_same(mixed)
  expect_same(mixed, re_formula = NA)
  at_rows <- both(
    y ~ kernels(a, b) + z, prior = bark_prior(own_scales = TRUE)
  )
  expect_same(at_rows, interval = "credible")
})

test_that("classes", {
  expect_same(both(two ~ a + z), type = "prob")
  fields <- both(three ~ a + z)
  expect_same(fields, type = "prob")
  expect_output(print(fields$slim), "40 of 2 chains")
  frame$three <<- factor(frame$three, ordered = TRUE)
  expect_same(both(three ~ a + z), type = "prob")
})

test_that("rows with names, linear = and groups =", {
  cars <- function(keep_data) {
    suppressWarnings(suppressMessages(bark(mpg ~ wt + hp, datasets::mtcars,
      control = few, seed = 1, keep_data = keep_data
    )))
  }
  new <- datasets::mtcars[3:5, ]
  expect_identical(predict(cars(FALSE), new), predict(cars(TRUE), new))
  parts <- function(keep_data) {
    suppressWarnings(suppressMessages(bark(
      frame[c("a", "b")], frame$y, linear = frame["z"], groups = frame["g"],
      control = few, seed = 1, keep_data = keep_data
    )))
  }
  at <- function(fit) {
    predict(fit, frame[1:5, c("a", "b")],
      linear = frame[1:5, "z", drop = FALSE],
      groups = frame[1:5, "g", drop = FALSE]
    )
  }
  slim <- parts(FALSE)
  expect_identical(at(slim), at(parts(TRUE)))
  expect_null(slim$fit$request$linear)
})

test_that("the size does not grow with the rows", {
  size <- function(n) {
    data <- withr::with_seed(1, data.frame(a = stats::runif(n)))
    data$y <- sin(6 * data$a)
    slim <- suppressMessages(suppressWarnings(bark(y ~ a, data,
      control = mcmc_control(1, 5, 5), seed = 1, keep_data = FALSE,
      prior = bark_prior(gamma = 1)
    )))
    length(serialize(slim, NULL))
  }
  # A kernel takes 300 bytes or so, and their number varies.
  expect_lt(size(8000) - size(1000), 2e4)
})

test_that("what needs the data says so", {
  slim <- both(y ~ a + b)$slim
  expect_error(predict(slim), class = "kb_error_argument")
  expect_error(
    predict(slim, frame, type = "terms"),
    class = "kb_error_not_defined"
  )
  expect_output(print(slim), "80, not kept")
  for (of in list(coef, fitted, residuals, update)) {
    expect_error(of(slim), class = "kb_error_not_defined")
  }
  expect_error(
    bark(y ~ a, frame, keep_data = 1),
    class = "kb_error_argument"
  )
  stopped <- NULL
  expect_message(
    stopped <- suppressWarnings(bark(y ~ a, frame,
      control = mcmc_control(1, 10, 10, time_limit = 1e-6), seed = 1,
      keep_data = FALSE
    )),
    class = "kb_message_data_kept"
  )
  expect_s3_class(stopped, "kb_bark")
})
