# Chains in threads of this process: the draws do not depend on them.

moons <- sim_moons(30, flips = 0.1, seed = 1)
moons$three <- cut(moons$x1, c(-Inf, 0, 1.5, Inf), c("low", "mid", "high"))

quiet <- function(expr) {
  suppressMessages(suppressWarnings(expr, classes = "kb_warning"))
}

#' Three chains, so that two threads cannot share them equally
chain_fits <- function(threads) {
  control <- mcmc_control(
    chains = 3, warmup = 20, iter = 40, threads = threads
  )
  quiet(list(
    bark = bark(x1 ~ x2, moons, control = control, seed = 1),
    student = bark(x1 ~ x2, moons,
      prior = bark_prior_paper(df = 4), control = control, seed = 1
    ),
    truncated = bark(x1 ~ x2, moons,
      prior = bark_prior_paper(approximation = "truncation"), control = control,
      seed = 1
    ),
    probit = bark(y ~ x1 + x2, moons, control = control, seed = 1),
    fields = bark(three ~ x2, moons, control = control, seed = 1),
    block = kgs(y ~ x1 + x2, moons,
      nugget = 0.1, control = control, method = "block", seed = 1
    ),
    hmc = kgs(y ~ x1 + x2, moons, control = control, method = "hmc", seed = 1),
    srvm = srvm(x1 ~ x2, moons,
      kernel = kernel_gaussian(), method = "mcmc", control = control, seed = 1
    )
  ))
}

test_that("draws do not depend on the number of threads", {
  one <- chain_fits(1)
  for (threads in list(NULL, 2, 8)) {
    fits <- chain_fits(threads)
    for (name in names(one)) expect_same_fit(fits[[name]], one[[name]])
  }
})

test_that("nor does the evidence of ladders, nor a fit that goes on", {
  ask <- function() {
    fit <- chain_fits(NULL)$bark
    quiet(list(
      evidence(fit,
        n_temps = 3, warmup = 20, iter = 20, chains = 3, seed = 2
      )[c("log_evidence", "mc_se")],
      as_draws(update(fit, iter = 10))
    ))
  }
  two <- ask()
  withr::local_options(mc.cores = 1)
  expect_identical(ask(), two)
})

test_that("two threads are used, or as many as asked for", {
  expect_identical(threads_at_once(NULL), 2)
  expect_identical(threads_at_once(3L), 3L)
  local({
    withr::local_options(mc.cores = 4)
    expect_identical(threads_at_once(NULL), 4)
    expect_identical(threads_at_once(1L), 1L)
  })
  withr::local_options(mc.cores = "all")
  expect_error(threads_at_once(NULL), "mc.cores", class = "kb_error_argument")
})

test_that("a worker uses one thread", {
  answer <- answer_message(list(
    name = "threads_at_once", arguments = list(), parcel = list(
      key = "a", data = list(asked = NULL)
    )
  ))
  expect_identical(answer$value, 1)
  expect_false(is_worker())
})

# Which machine a thread takes -------------------------------------------------

test_that("every machine does its units, whatever their speeds", {
  for (threads in 1:4) {
    for (n in c(1, 7, 64)) {
      # Microseconds per unit.
      expect_identical(
        advance_counters_cpp(c(50, 0, 200, 10, 0), n, threads, -1),
        rep(as.integer(n), 5)
      )
    }
  }
})

test_that("an error in a thread comes back when all threads have ended", {
  for (threads in 1:3) {
    expect_error(
      advance_counters_cpp(c(10, 10, 10), 20, threads, 5), "machine 5"
    )
  }
})
