# Times differ between machines and moments, so tests cover the form of
# estimates, which does not. tools/bench/cost.R compares the times.

# A call, and what its estimate says beside the time
data <- sim_sinc(60, seed = 1)
circle <- sim_circle(60, seed = 1)
problem <- centre_problem()
long <- mcmc_control(2, warmup = 50, iter = 1e6)
open <- mcmc_control(3, warmup = 100, iter = 100, until = convergence())
cases <- list(
  list(
    quote(tdsmc(problem$target, problem$moves, problem$data,
      control = smc_control(100, replicates = 2)
    )),
    unit = "step", units = 4, runs = 2, at_once = 1, at_least = TRUE
  ),
  list(
    quote(srvm(y ~ x, data,
      kernel = kernel_gaussian(0.3), control = smc_control(50)
    )),
    unit = "step", units = 60, runs = 1, at_once = 1, at_least = TRUE
  ),
  list(
    quote(srvm(y ~ x, data, method = "mcmc", control = long)),
    unit = "iteration", units = 1e6 + 50, runs = 2, at_once = 2,
    at_least = FALSE
  ),
  list(
    quote(bark(y ~ x, data, control = long)),
    unit = "iteration", units = 1e6 + 50, runs = 2, at_once = 2,
    at_least = FALSE
  ),
  list(
    quote(kgs(y ~ ., circle, control = open)),
    unit = "iteration", units = 200, runs = 3, at_once = 2, at_least = TRUE
  )
)

test_that("the whole call takes as long as its first part, or more", {
  for (case in cases) {
    call <- case[[1]]
    call$seed <- 1
    cost <- estimate_cost(call, pilot = 0.05)
    expect_s3_class(cost, "kb_cost")
    expect_equal(cost[names(case)[-1]], case[-1])
    # The set-up is done once.
    turns <- cost$runs / cost$at_once * cost$units / cost$pilot$units
    expect_gt(cost$seconds, 0)
    expect_lte(cost$seconds, cost$pilot$seconds * turns * (1 + 1e-9))
    expect_output(print(cost), if (case$at_least) "at least" else "about")
  }
  default <- estimate_cost(quote(bark(y ~ x, data, seed = 1)), pilot = 0.05)
  expect_true(default$at_least)
  expect_equal(default$runs, 8)
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
