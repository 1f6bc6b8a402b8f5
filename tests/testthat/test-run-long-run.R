# Messages about a run that will take long.

units <- function(total) {
  structure(list(total = total), class = c("kb_engine_units", "kb_engine"))
}

local({
  methods <- list(
    engine_total = function(engine) engine$total,
    engine_done = function(engine, state) if (is.null(state)) 0 else state
  )
  for (generic in names(methods)) {
    registerS3method(
      generic, "kb_engine_units", methods[[generic]], asNamespace("kernelbayes")
    )
  }
})

# The messages of a notice when the clock shows `seconds` and `n` more are done.
said <- function(seconds, n, time_limit = Inf, total = 1000,
                 states = list(NULL), class = NULL) {
  time <- 100
  clock <- list(left = function() time_limit - (time - 100))
  engine <- units(total)
  class(engine) <- c(class(engine), class)
  notice <- long_run_notice(engine, states, clock, time = function() time)
  out <- character()
  withCallingHandlers(
    for (i in seq_along(seconds)) {
      time <- 100 + seconds[[i]]
      notice(n[[i]])
    },
    kb_message_long_run = function(message) {
      out <<- c(out, conditionMessage(message))
      invokeRestart("muffleMessage")
    }
  )
  out
}

test_that("a run with a long time to go says so, once", {
  # 10 of 1000 units in 10 seconds: 990 seconds to go.
  out <- said(c(10, 20), c(10, 10))
  expect_length(out, 1)
  expect_match(out, "At least 16 min to go")
  expect_match(said(10, 10, class = "kb_engine_chain"), "About 16 min to go")
})

test_that("nothing is said for short runs, too early, or without need", {
  expect_length(said(10, 20), 0)
  expect_length(said(4, 1), 0)
  expect_length(said(10, 0), 0)
  # Late is better than never: work may become slower.
  expect_length(said(c(10, 100), c(20, 1)), 1)
})

test_that("a time limit that comes first is already known to the user", {
  expect_length(said(10, 10, time_limit = 500), 0)
  expect_length(said(10, 10, time_limit = 5000), 1)
})

test_that("all runs count, and earlier work counts as done", {
  expect_match(
    said(10, 10, states = list(NULL, NULL)), "At least 33 min"
  )
  # 910 units were there: 80 of the other 90 remain after 10 seconds.
  expect_length(said(10, 10, states = list(910)), 0)
  # 100 were there: 890 remain, at one per second.
  expect_match(said(10, 10, states = list(100)), "At least 15 min")
})

test_that("every fit can say so, by an option that is checked", {
  run <- function(...) {
    srvm(y ~ x, sim_sinc(12, seed = 1),
      kernel = kernel_gaussian(0.2), seed = 1,
      control = smc_control(particles = 5), ...
    )
  }
  expect_null(rlang::catch_cnd(run(), "kb_message_long_run"))
  quiet <- run()
  old <- options(kernelbayes.long_run = 0)
  on.exit(options(old))
  expect_message(loud <- run(), "to go", class = "kb_message_long_run")
  expect_identical(predict(loud), predict(quiet))
  options(kernelbayes.long_run = "never")
  expect_error(run(), "kernelbayes.long_run", class = "kb_error_argument")
})

test_that("a run on workers says it, too", {
  skip_if_not_installed("future")
  skip_unless_extended()
  old <- options(kernelbayes.long_run = 0)
  on.exit(options(old))
  plan <- future::plan("multisession", workers = 2)
  on.exit(future::plan(plan), add = TRUE)
  expect_message(
    bark(y ~ x, sim_sinc(30, seed = 1),
      seed = 1, control = mcmc_control(chains = 2, warmup = 5e4, iter = 5e4)
    ),
    "About",
    class = "kb_message_long_run"
  )
})

test_that("a ladder says so from a minute on, and what Ctrl-C would leave", {
  ladder <- c("kb_engine_chain", "kb_engine_ladder")
  # 100 of 1000 units in 10 seconds: 90 seconds to go.
  expect_length(said(10, 100, class = "kb_engine_chain"), 0)
  out <- said(10, 100, class = ladder)
  expect_match(out, "About 90 s")
  expect_match(out, "evidence from the sweeps so far")
  expect_length(said(10, 300, class = ladder), 0)
})

test_that("for srvm() with all rows in memory a bounded one is named", {
  said <- function(...) {
    fit <- srvm(y ~ x, sim_sinc(12, seed = 1),
      memory = srvm_memory(...), kernel = kernel_gaussian(0.5),
      control = smc_control(particles = 5), seed = 1
    )
    engine <- fit_engine(fit)
    paste(
      capture.output(inform_long_run(1000, engine), type = "message"),
      collapse = " "
    )
  }
  expect_match(said(), "srvm_memory(candidates = 300)", fixed = TRUE)
  expect_no_match(said(candidates = 5), "srvm_memory")
})
