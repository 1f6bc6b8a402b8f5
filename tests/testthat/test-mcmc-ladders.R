# Stopped ladders: they leave what shorter ladders would give.

moons <- sim_moons(30, flips = 0.1, seed = 1)
short <- mcmc_control(chains = 1, warmup = 10, iter = 20)
quiet <- function(expr) suppressWarnings(expr, classes = "kb_warning")

#' Evidence from ladders interrupted when the slowest has `at` sweeps
stop_at <- function(at, ask) {
  advance <- run_slice
  cut <- function(engine, group, states, clock, advance, checkpoint,
                  total = engine_total(engine), ...) {
    out <- advance_slice(
      engine, group, states, clock, advance, checkpoint, min(at, total)
    )
    if (total > at) out$status <- "interrupted"
    out
  }
  environment(cut) <- list2env(
    list(advance_slice = advance, at = at), parent = asNamespace("kernelbayes")
  )
  local_mocked(run_slice = cut)
  ask()
}

test_that("an interrupt leaves the evidence from the sweeps so far", {
  line <- quiet(bark(x1 ~ x2, moons, control = short, seed = 1))
  moons$third <- cut(moons$x1, 3)
  several <- quiet(bark(third ~ x2, moons,
    family = "multinomial", control = short, seed = 1
  ))
  for (fit in list(line, several)) {
    ask <- function(iter) {
      evidence(fit, n_temps = 3, warmup = 10, iter = iter, chains = 2, seed = 2)
    }
    told <- NULL
    part <- withCallingHandlers(stop_at(40, function() ask(1000)),
      kb_warning_interrupted = function(w) {
        told <<- conditionMessage(w)
        invokeRestart("muffleWarning")
      }
    )
    expect_match(told, "30 of 1000 sweeps of 2 ladders")
    expect_equal(unclass(part), unclass(ask(30)), tolerance = 0)
    expect_error(stop_at(29, function() ask(1000)),
      class = "kb_error_interrupted"
    )
  }
})

test_that("an interrupt before the ladders is an error with a class", {
  skip_on_os("windows")
  fit <- quiet(bark(x1 ~ x2, moons, control = short, seed = 1))
  local_interrupt_at("student_base", 1)
  expect_error(evidence(fit, seed = 2), "in the quadrature",
    class = "kb_error_interrupted"
  )
})

test_that("so does an interrupt of kgs(), after a full pilot run", {
  labels <- quiet(kgs(y ~ x1, moons, control = short, seed = 1, nugget = 0))
  ask <- function(iter) {
    quiet(evidence(labels,
      n_temps = 3, warmup = 10, iter = iter, chains = 2, seed = 2
    ))
  }
  # The pilot run has 150 iterations.
  part <- stop_at(160, function() ask(1000))
  whole <- ask(150)
  expect_identical(part$status, "interrupted")
  expect_identical(part$log_evidence, whole$log_evidence)
  expect_identical(part$levels, whole$levels)
  expect_error(stop_at(100, function() ask(1000)),
    class = "kb_error_interrupted"
  )
})

test_that("an interrupt while the quality is assessed leaves the fit", {
  skip_on_os("windows")
  wanted <- quiet(bark(x1 ~ x2, moons, control = short, seed = 1))
  slow <- function(fit, call) {
    tools::pskill(Sys.getpid(), tools::SIGINT)
    Sys.sleep(5)
    stop("not stopped")
  }
  local_mocked(inform_memory = slow)
  fit <- expect_warning(
    bark(x1 ~ x2, moons, control = short, seed = 1),
    class = "kb_warning_interrupted"
  )
  fit <- quiet(bark(x1 ~ x2, moons, control = short, seed = 1))
  expect_same_fit(fit, wanted)
})
