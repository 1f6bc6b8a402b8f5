# Bandwidths that are learned from the first rows and then fixed.

frozen_data <- function(n = 50) {
  set.seed(3)
  data <- data.frame(a = runif(n), b = runif(n))
  data$y <- sin(6 * data$a) + rnorm(n, 0, 0.1)
  data
}

few <- smc_control(particles = 20, n_moves = 2)

test_that("bounded memory: bandwidths are posterior medians of the first rows", {
  data <- frozen_data()
  memory <- srvm_memory(window = 20, bandwidth_rows = 30)
  fit <- srvm(y ~ ., data, memory = memory, control = few, seed = 2)
  free <- fit$settings
  free$memory <- srvm_memory()
  free$linear <- no_linear_part
  free$kernel <- kernel_matern("ard")
  free["bandwidth_rows"] <- NULL
  free$inverse_bandwidth <- 1 / bandwidth_median(scale(data[c("a", "b")]))
  free <- sealed(free)
  first <- srvm(y ~ ., data[1:30, ], reference = free, control = few, seed = 2)
  drawn <- as_draws(first, weighted = TRUE)
  expect_equal(fit$settings$bandwidth_rows, 30)
  for (l in 1:2) {
    value <- fit$settings$kernel$bandwidth[[l]]
    b <- drawn[[paste0("bandwidth[", c("a", "b")[[l]], "]")]]
    weights <- exp(drawn$.log_weight)
    expect_gte(sum(weights[b <= value * (1 + 1e-12)]), sum(weights) / 2)
    expect_lte(sum(weights[b < value * (1 - 1e-12)]), sum(weights) / 2)
  }
  # Then it is the fit with these numbers, from the first row on.
  given <- srvm(y ~ ., data,
    kernel = kernel_matern(fit$settings$kernel$bandwidth),
    prior = srvm_prior(lambda = "learn", linear = 3),
    memory = srvm_memory(window = 20),
    control = few, seed = 2
  )
  expect_identical(predict(fit, data), predict(given, data))
  expect_identical(evidence(fit)$log_evidence, evidence(given)$log_evidence)
})

test_that("rows come in the order of the sampler, and update() keeps bandwidths", {
  data <- frozen_data()
  memory <- srvm_memory(candidates = 10, bandwidth_rows = 15)
  random <- srvm(y ~ ., data,
    memory = memory, control = few, order = "random", seed = 2
  )
  same <- srvm(y ~ ., data[random$sequence, ],
    memory = memory, control = few, seed = 2
  )
  expect_equal(same$settings$kernel, random$settings$kernel)
  whole <- srvm(y ~ ., data, memory = memory, control = few, seed = 2)
  part <- srvm(y ~ ., data[1:10, ],
    reference = whole, control = few, seed = 2
  )
  part <- update(part, newdata = data[11:50, ])
  expect_identical(predict(part, data), predict(whole, data))
})

test_that("a stream without moves and sweeps has them while it learns", {
  data <- frozen_data()
  fit <- srvm(y ~ ., data,
    memory = srvm_memory(window = 30),
    control = smc_control(particles = 20, n_moves = 0, sweep_every = 20), seed = 2
  )
  bandwidths <- fit$settings$kernel$bandwidth
  expect_gt(bandwidths[[2]], 2 * bandwidths[[1]])
  expect_output(print(fit), "from the first 50 rows: a ")
})

test_that("two classes, and what stops the first rows", {
  data <- frozen_data()
  data$y <- factor(data$y > 0)
  fit <- srvm(y ~ ., data,
    memory = srvm_memory(window = 20, bandwidth_rows = 25), control = few, seed = 2
  )
  expect_type(fit$settings$kernel$bandwidth, "double")
  expect_error(
    srvm(y ~ ., frozen_data(400),
      memory = srvm_memory(window = 20),
      control = smc_control(particles = 2000, time_limit = 0.05), seed = 2
    ),
    class = "kb_error_time_limit"
  )
  expect_error(srvm_memory(bandwidth_rows = 0), class = "kb_error_argument")
})

test_that("NULL means a bandwidth for each predictor where moves can learn them", {
  data <- frozen_data(20)
  of <- function(...) srvm(y ~ ., data, ..., seed = 1)$settings$kernel
  short <- mcmc_control(chains = 1, warmup = 5, iter = 5)
  ard <- kernel_matern("ard")
  expect_equal(of(control = few), ard)
  expect_equal(of(method = "mcmc", control = short), ard)
  no_moves <- smc_control(particles = 20, n_moves = 0)
  expect_length(suppressWarnings(of(control = no_moves)), 5)
  paper <- smc_control(particles = 20, proposal = "paper")
  common <- suppressWarnings(of(control = paper))
  expect_equal(common, kernel_gaussian(common$bandwidth))
  expect_length(common$bandwidth, 1)
  improper <- srvm_prior_paper()
  common <- suppressWarnings(of(prior = improper, control = few))
  expect_equal(common, kernel_gaussian(common$bandwidth))
})

test_that("an interrupt while bandwidths are learned ends the call", {
  skip_on_os("windows")
  local_interrupt_at("warn_quality", 1)
  expect_error(
    srvm(y ~ x, sim_sinc(30, seed = 1),
      kernel = kernel_gaussian("ard"),
      memory = srvm_memory(window = 20, bandwidth_rows = 15),
      control = smc_control(particles = 20), seed = 1
    ),
    class = "kb_error_interrupted"
  )
})
