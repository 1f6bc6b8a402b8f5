# Arguments that a function does not have.

test_that("check_no_dots names the unknown argument", {
  f <- function(...) check_no_dots(...)
  expect_null(f())
  expect_error(f(kernal = 1), "kernal", class = "kb_error_unknown_argument")
  expect_error(f(1), "unnamed", class = "kb_error_unknown_argument")
})

hint_of <- function(call) {
  error <- expect_error(call, class = "kb_error_unknown_argument")
  gsub("\\s+", " ", cli::ansi_strip(conditionMessage(error)))
}

test_that("a misspelt argument is named", {
  data <- sim_sinc(10, seed = 1)
  expect_match(hint_of(srvm(y ~ x, data, seeed = 1)), "Did you mean `seed`?",
    fixed = TRUE
  )
  expect_match(hint_of(srvm(y ~ x, data, na_action = na.omit)),
    "Did you mean `na.action`?",
    fixed = TRUE
  )
  expect_match(hint_of(bark(data$x, data$y, famly = "gaussian")),
    "Did you mean `family`?",
    fixed = TRUE
  )
})

test_that("settings of the sampler and the prior are referred to their place", {
  data <- sim_sinc(10, seed = 1)
  expect_match(hint_of(bark(y ~ x, data, iter = 10)),
    "Write `control = mcmc_control(iter = )`",
    fixed = TRUE
  )
  expect_match(hint_of(srvm(y ~ x, data, particles = 10)),
    "Write `control = smc_control(particles = )`",
    fixed = TRUE
  )
  both <- hint_of(bark(y ~ x, data, chains = 2, n_kernels = 5))
  expect_match(both, "`control = mcmc_control(chains = )`", fixed = TRUE)
  expect_match(both, "`prior = bark_prior(n_kernels = )`", fixed = TRUE)
})

test_that("if nothing is near, the arguments are listed", {
  data <- sim_sinc(10, seed = 1)
  fit <- srvm(y ~ x, data,
    kernel = kernel_gaussian(0.2), seed = 1,
    control = smc_control(particles = 5)
  )
  listed <- hint_of(predict(fit, data, se.fit = TRUE))
  expect_match(listed, "Its arguments are `newdata`, `type`", fixed = TRUE)
  expect_match(listed, "`interval`", fixed = TRUE)
  expect_no_match(listed, "Did you mean")
})

test_that("nearest_name requires more similarity of shorter names", {
  known <- c("seed", "na.action", "k", "probability")
  expect_identical(nearest_name("NA.action", known), "na.action")
  expect_identical(nearest_name("probabilty", known), "probability")
  expect_null(nearest_name("see", known))
  expect_null(nearest_name("j", known))
  expect_null(nearest_name("weights", known))
  expect_null(nearest_name("seed", character()))
})

test_that("update() of a formula says what it does instead", {
  data <- sim_sinc(10, seed = 1)
  short <- mcmc_control(chains = 1, warmup = 5, iter = 5)
  fits <- list(
    srvm(y ~ x, data,
      kernel = kernel_gaussian(0.2), control = smc_control(particles = 5)
    ),
    bark(y ~ x, data, control = short),
    kgs(y > 0 ~ x, data, control = short)
  )
  for (fit in fits) {
    expect_error(update(fit, . ~ . + z), "cannot change its formula",
      class = "kb_error_argument"
    )
  }
})

test_that("chains say that they take no new rows", {
  data <- sim_sinc(10, seed = 1)
  fit <- suppressMessages(bark(y ~ x, data,
    control = mcmc_control(chains = 1, warmup = 5, iter = 5), seed = 1
  ))
  expect_error(update(fit, data), "`iter`.*is a data.frame 10 x 2",
    class = "kb_error_not_defined"
  )
  expect_error(update(fit, data = data), "take no new rows.*`data` was given",
    class = "kb_error_not_defined"
  )
})

test_that("rows are chosen in the data", {
  data <- sim_sinc(10, seed = 1)
  expect_match(hint_of(bark(y ~ x, data, subset = x > 0)),
    "`data = subset(data, ...)`",
    fixed = TRUE
  )
})
