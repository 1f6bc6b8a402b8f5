# Chains of bark() and kgs() on two PSOCK workers: the draws of this process,
# and progress that comes home. srvm(), tdsmc() and kbr_chunks() have such tests
# in their own files.

moons <- sim_moons(30, flips = 0.1, seed = 1)
moons$three <- cut(moons$x1, c(-Inf, 0, 1.5, Inf), c("low", "mid", "high"))
short <- mcmc_control(chains = 3, warmup = 20, iter = 20)

quiet <- function(expr) suppressWarnings(expr, classes = "kb_warning")

#' The fits of all engines of chains
chain_fits <- function(progress = FALSE) {
  quiet(list(
    bark = bark(x1 ~ x2, moons, control = short, seed = 1, progress = progress),
    probit = bark(y ~ x1 + x2, moons,
      control = short, seed = 1, progress = progress
    ),
    fields = bark(three ~ x2, moons,
      control = short, seed = 1, progress = progress
    ),
    hmc = kgs(y ~ x1 + x2, moons,
      control = short, method = "hmc", seed = 1, progress = progress
    ),
    several = kgs(three ~ x1 + x2, moons,
      control = short, seed = 1, progress = progress
    )
  ))
}

test_that("chains on workers are those of this process", {
  skip_without_workers()
  here <- chain_fits()
  local_workers()
  expect_identical(worker_count(), 2L)
  there <- chain_fits()
  for (name in names(here)) {
    expect_same_fit(there[[name]], here[[name]])
    expect_identical(
      suppressWarnings(as_draws(there[[name]])),
      suppressWarnings(as_draws(here[[name]]))
    )
  }
})

test_that("so are the ladders of their evidence, and folds", {
  skip_without_workers()
  short <- mcmc_control(chains = 2, warmup = 20, iter = 20)
  ask <- function() {
    line <- quiet(bark(x1 ~ x2, moons, control = short, seed = 1))
    labels <- quiet(kgs(y ~ x1, moons, control = short, seed = 1))
    quiet(list(
      bark = evidence(line,
        n_temps = 3, warmup = 20, iter = 20, chains = 2, seed = 2
      )[c("log_evidence", "mc_se")],
      kgs = evidence(labels,
        n_temps = 3, warmup = 20, iter = 20, chains = 2, seed = 2
      )[c("log_evidence", "mc_se")],
      folds = cross_validate(labels, folds = 3, seed = 3)
    ))
  }
  here <- ask()
  local_workers()
  expect_identical(ask(), here)
})

test_that("progress of chains comes home from workers", {
  skip_if_not_installed("progressr")
  local_workers()
  heard <- 0
  steps <- 0
  withCallingHandlers(
    chain_fits(TRUE),
    progression = function(p) {
      if (p$type == "initiate") steps <<- steps + p$steps
      if (p$type == "update") heard <<- heard + p$amount
    }
  )
  # Five fits of three chains of 40 iterations.
  expect_equal(steps, 5 * 3 * 40)
  expect_equal(heard, steps)
})
