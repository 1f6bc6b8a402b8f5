# Times differ between machines and moments, so tests cover arithmetic, form and
# sizes, which do not. tools/bench/cost.R compares the times.

test_that("the law of growing costs is recovered", {
  n <- c(0, 2, 5, 9, 14, 20)
  expect_equal(growth_at(n, 3 * n + 0.5 * n^2, 100), 300 + 5000)
  expect_equal(growth_at(n, 3 * n, 100), 300)
  expect_equal(growth_at(n, 2 * n + n^1.5, 400, c(1, 1.5)), 800 + 8000)
  expect_equal(
    growth_at(n, 2 * n + 0.1 * n^3, 100, c(1, 3)), 200 + 1e5
  )
  # The cost of the first quarter is a sum, not a law.
  expect_equal(growth_at(n, 50 * (n > 0) + 2 * n + n^2, 100), 50 + 200 + 1e4)
  # Falling costs follow no law: the cost per unit of the last three quarters.
  expect_equal(
    growth_at(n, 3 * n - 0.05 * n^2, 40), 40 + 20 * (40 - 13.75) / 15
  )
  expect_equal(growth_at(c(0, 1), c(0, 2), 10), 20)
})

test_that("costs grow until the memory is full", {
  n <- c(0, 5, 8, 12, 20)
  # Unit i costs 2 i - 1 up to the tenth; then 20, the slope of n^2 there.
  seconds <- function(n) pmin(n, 10)^2 + 20 * pmax(n - 10, 0)
  expect_equal(growth_at(n, seconds(n), 1000, full = 10), seconds(1000))
  early <- c(0, 2, 3, 5, 8)
  expect_equal(growth_at(early, seconds(early), 1000, full = 10), seconds(1000))
  leaving <- function(n) pmin(n, 10)^2 + 40 * pmax(n - 10, 0)
  expect_equal(
    growth_at(n, leaving(n), 1000, full = 10, after = 2),
    leaving(1000)
  )
  data <- sim_sinc(20, seed = 1)
  law <- function(...) {
    fit <- few_particles(srvm(y ~ x, data,
      kernel = kernel_gaussian(0.3), seed = 1, ...
    ))
    cost_laws(fit_engine(fit))
  }
  still <- smc_control(5, n_moves = 0)
  expect_equal(law(control = still)$full, Inf)
  expect_null(law(control = still)$share)
  window <- srvm_memory(window = 8, candidates = 3)
  expect_equal(law(control = still, memory = window)$full, 8)
  sample <- srvm_memory(candidates = 6)
  expect_equal(law(control = still, memory = sample)$full, 6)
  # 0.5^54 is below 1e-16.
  forgets <- srvm_memory(forgetting = 0.5)
  expect_equal(law(control = still, memory = forgets)$full, 54)
  moves <- law(control = smc_control(5))
  expect_equal(moves$share$engine$config$particles, 1)
  expect_equal(moves$share$powers, c(1, 3))
})

test_that("the cost of sums that particles share has its own law", {
  n <- c(0, 10, 20, 30, 40)
  common <- function(n) n + 0.01 * n^3
  far <- seq(0, 100, 10)
  shared <- list(total = 1000, done = far, seconds = common(far))
  run <- list(
    total = 1000, done = n, grows = TRUE,
    seconds = 7 * n + 2 * n^1.5 + common(n)
  )
  laws <- list(
    powers = c(1, 1.5), full = Inf, share = list(powers = c(1, 3), full = Inf)
  )
  expect_equal(
    seconds_at(run, laws, shared), 7000 + 2 * 1000^1.5 + common(1000)
  )
  run$total <- 40
  expect_equal(seconds_at(run, laws, shared), run$seconds[[5]])
})

test_that("chains cost as much as in the second half of the pilot", {
  run <- list(
    total = 100, done = c(0, 1, 2, 4, 8), grows = FALSE,
    seconds = c(0, 4, 5, 6, 10)
  )
  laws <- list(powers = 1:2, full = Inf)
  # After 2 iterations and 5 seconds: 6 iterations in 5 seconds.
  expect_equal(seconds_at(run, laws), 10 + 92 * 5 / 6)
  run$done[[5]] <- 100
  expect_equal(seconds_at(run, laws), 10)
})

test_that("powers of the number of rows are recovered", {
  n <- c(50, 100, 200)
  expect_equal(power_at(n, 2 * n^2, 1000, 3), 2e6)
  expect_equal(power_at(n, 2 * n^4, 400, 3), 2 * 200^4 * 8)
  expect_equal(power_at(n, c(1, 1, 1), 400, 3), 2)
  expect_equal(power_at(c(50, 60), c(1, 7), 60, 3), 7)
})

test_that("sizes of fits are estimated", {
  data <- sim_sinc(60, seed = 1)
  few <- mcmc_control(chains = 2, warmup = 50, iter = 300)
  p <- centre_problem()
  calls <- list(
    quote(tdsmc(p$target, p$moves, p$data,
      control = smc_control(100, replicates = 2), seed = 1
    )),
    quote(bark(y ~ x, data, control = few, seed = 1)),
    quote(srvm(y ~ x, data, method = "mcmc", control = few, seed = 1)),
    quote(srvm(y ~ x, data,
      kernel = kernel_gaussian(0.3), control = smc_control(50), seed = 1
    )),
    quote(kgs(y ~ ., sim_circle(60, seed = 1), control = few, seed = 1)),
    quote(kbr(x ~ y, pairs_of(120), seed = 1))
  )
  for (call in calls) {
    cost <- estimate_cost(call, pilot = 0.05)
    fit <- suppressWarnings(eval(call))
    ratio <- cost$bytes / as.double(utils::object.size(fit))
    expect_gt(ratio, 1 / 3)
    expect_lt(ratio, 3)
    expect_gt(cost$seconds, 0)
    expect_equal(cost$runs, max(length(fit$runs), 1))
    expect_equal(cost$at_once, if (inherits(fit, "kb_mcmc")) 2 else 1)
    expect_output(print(cost), "Cost of")
  }
})

test_that("checkpoints are not written, random numbers are left alone", {
  folder <- local_folder()
  file <- file.path(folder, "fit.rds")
  data <- sim_sinc(20, seed = 1)
  control <- smc_control(particles = 20, checkpoint = file)
  set.seed(3)
  before <- .Random.seed
  cost <- estimate_cost(
    quote(srvm(y ~ x, data, control = control, seed = 1)), pilot = 0.02
  )
  expect_identical(.Random.seed, before)
  expect_identical(list.files(folder), character())
  expect_s3_class(cost, "kb_cost")
})

test_that("calls other than of engines are refused", {
  expect_error(estimate_cost(3), class = "kb_error_argument")
  expect_error(estimate_cost(quote(mean(1))), class = "kb_error_argument")
  expect_error(estimate_cost(quote(nothing(1))), class = "kb_error_argument")
  data <- sim_sinc(20, seed = 1)
  expect_error(
    estimate_cost(quote(bark(y ~ x, data, control = 3))),
    class = "kb_error_argument"
  )
  expect_error(
    estimate_cost(quote(bark(y ~ z, data))), class = "kb_error_formula"
  )
  expect_error(
    estimate_cost(quote(bark(y ~ x, data)), pilot = -1),
    class = "kb_error_argument"
  )
})
