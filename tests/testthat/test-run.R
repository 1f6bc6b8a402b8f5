# The loop that runs samplers: first with a toy engine, then with srvm().

# A toy engine ----------------------------------------------------------------

# Sums 1, 2, ..., total. It notes its requests in `log` (an environment, which
# real engines do not have); `seconds` is the duration of a unit of work.
toy <- function(total, seconds = 0, fails_at = Inf, at = NULL) {
  log <- new.env()
  log$chunks <- log$runs <- log$states <- log$closed <- numeric()
  structure(
    list(
      total = total, seconds = seconds, fails_at = fails_at, at = at, log = log
    ),
    class = c("kb_engine_toy", "kb_engine")
  )
}

local({
  methods <- list(
    engine_open = function(engine, index, state) {
      engine$log$runs <- c(engine$log$runs, index)
      handle <- new.env()
      handle$index <- index
      handle$done <- engine_done(engine, state)
      handle$sum <- if (is.null(state)) 100 * index else state$sum
      handle
    },
    engine_advance = function(engine, handle, n) {
      engine$log$chunks <- c(engine$log$chunks, n)
      if (handle$done + n >= engine$fails_at) stop("the toy is broken")
      # Busy, not asleep: C++ does not check for interrupts either.
      end <- now() + engine$seconds * n
      while (now() < end) NULL
      if (!is.null(engine$at)) engine$at(handle)
      handle$sum <- handle$sum + sum(handle$done + seq_len(n))
      handle$done <- handle$done + n
    },
    engine_state = function(engine, handle) {
      engine$log$states <- c(engine$log$states, handle$done)
      list(done = handle$done, sum = handle$sum)
    },
    engine_close = function(engine, handle) {
      engine$log$closed <- c(engine$log$closed, handle$index)
    },
    engine_total = function(engine) engine$total,
    engine_done = function(engine, state) {
      if (is.null(state)) 0 else state$done
    }
  )
  for (generic in names(methods)) {
    registerS3method(
      generic, "kb_engine_toy", methods[[generic]], asNamespace("kernelbayes")
    )
  }
})

toy_control <- function(time_limit = Inf, checkpoint = NULL,
                        checkpoint_every = 60) {
  list(
    time_limit = time_limit, checkpoint = checkpoint,
    checkpoint_every = checkpoint_every
  )
}

run_toy <- function(engine, n_runs = 1, states = vector("list", n_runs), ...,
                    save = NULL) {
  tryCatch(
    run_engine(engine, states, toy_control(...), FALSE, save),
    interrupt = function(condition) stop("an interrupt came through")
  )
}

toy_end <- function(total, run = 1) {
  list(done = total, sum = 100 * run + total * (total + 1) / 2)
}

test_that("a run goes to its end", {
  out <- run_toy(toy(1000))
  expect_identical(out, list(
    states = list(toy_end(1000)), status = "complete", interrupted = FALSE
  ))
})

test_that("chunks grow from one unit to about 20 ms, and no further", {
  fast <- toy(1000)
  run_toy(fast)
  chunks <- fast$log$chunks
  expect_identical(chunks[[1]], 1)
  expect_true(all(chunks[-1] <= 2 * chunks[-length(chunks)]))
  expect_gt(max(chunks), 30)
  slow <- toy(60, seconds = 0.005)
  run_toy(slow)
  # 8 units take 40 ms on any machine.
  expect_lte(max(slow$log$chunks), 8)
})

test_that("the last chunk is the remainder", {
  for (total in c(6, 10, 100)) {
    engine <- toy(total)
    run_toy(engine)
    expect_identical(sum(engine$log$chunks), total)
  }
})

test_that("a time limit need not wait until very many runs are open", {
  registerS3method("engine_groups", "kb_engine_toy_all",
    function(engine, n_runs) list(seq_len(n_runs)), asNamespace("kernelbayes")
  )
  together <- function(...) {
    engine <- toy(...)
    class(engine) <- c("kb_engine_toy_all", class(engine))
    engine
  }
  engine <- together(10, seconds = 1e-4)
  out <- run_toy(engine, n_runs = 1e5, time_limit = 0.2)
  expect_identical(out$status, "time_limit")
  # Those that were opened have done work, and were closed.
  opened <- length(engine$log$runs)
  expect_true(opened >= 64 && opened < 1e5)
  expect_identical(sum(lengths(out$states) > 0), opened)
  expect_setequal(engine$log$closed, engine$log$runs)
  # Together they reach the end in the same states.
  few <- run_toy(together(10), n_runs = 200)
  expect_identical(few$states, lapply(1:200, toy_end, total = 10))
})

test_that("chunks shrink when the work becomes slower", {
  expect_identical(next_chunk(8, 0.001), 16)
  expect_identical(next_chunk(8, 0.019), 16)
  expect_identical(next_chunk(8, 0.05), 8)
  expect_identical(next_chunk(8, 0.3), 4)
  expect_identical(next_chunk(1, 10), 1)
})

test_that("runs follow one another in order, each to its end", {
  engine <- toy(10)
  out <- run_toy(engine, 3)
  expect_identical(engine$log$runs, c(1, 2, 3))
  expect_identical(engine$log$closed, engine$log$runs)
  expect_identical(out$states, lapply(1:3, toy_end, total = 10))
})

test_that("runs of a group advance in turn, the ones behind first", {
  grouped <- function(...) {
    engine <- toy(...)
    class(engine) <- c("kb_engine_toy_pairs", class(engine))
    engine
  }
  registerS3method("engine_groups", "kb_engine_toy_pairs",
    function(engine, n_runs) list(1:2, 3:4), asNamespace("kernelbayes")
  )
  out <- run_toy(grouped(50), 4)
  expect_identical(out$states, lapply(1:4, toy_end, total = 50))
  expect_identical(out$status, "complete")
  # Out of time, both runs of a pair are at one place; the next has not begun.
  out <- run_toy(grouped(1e5, 0.001), 4, time_limit = 0.1)
  expect_identical(out$status, "time_limit")
  expect_identical(out$states[[1]]$done, out$states[[2]]$done)
  expect_identical(out$states[3:4], list(NULL, NULL))
  # From different places they meet, then stay together.
  engine <- grouped(40)
  out <- run_toy(engine, states = list(
    toy_end(30), toy_end(7, 2), toy_end(40, 3), NULL
  ))
  expect_identical(out$states, lapply(1:4, toy_end, total = 40))
  chunks <- cumsum(engine$log$chunks)
  expect_identical(chunks[[which(chunks >= 23)[[1]]]], 23)
  # The third is at its end, and is not opened.
  expect_setequal(engine$log$runs, c(1, 2, 4))
  expect_setequal(engine$log$closed, c(1, 2, 4))
  # Checkpoints contain all runs.
  seen <- list()
  save <- function(states) seen[[length(seen) + 1]] <<- states
  run_toy(grouped(100, 0.001), 4,
    checkpoint = "file", checkpoint_every = 0.02, save = save
  )
  done <- vapply(seen, function(states) {
    vapply(states, function(s) if (is.null(s)) 0 else s$done, 0)
  }, numeric(4))
  expect_identical(done[1, ], done[2, ])
  expect_identical(done[3, ], done[4, ])
  expect_gt(ncol(done), 4)
})

test_that("on workers the runs of a group meet and continue together", {
  engine <- toy(100)
  at <- function(...) lapply(c(...), toy_end)
  lap <- function(laps, states) next_laps(laps, engine, states)
  laps <- lap(list(
    groups = list(1:2, 3), met = vector("list", 3), goal = numeric(3),
    step = 10, worked = 0
  ), vector("list", 3))
  expect_identical(laps$goal, c(10, 10, 100))
  expect_false(laps$moved)
  # One has arrived: it waits, and the other's work is not shown.
  laps <- lap(laps, at(10, 5, 50))
  expect_identical(laps$done < laps$goal, c(FALSE, TRUE, TRUE))
  expect_identical(laps$met, list(NULL, NULL, toy_end(50)))
  # A lap that took no time makes the next one longer.
  laps$worked <- 1e-3
  laps <- lap(laps, at(10, 10, 70))
  expect_identical(laps$met, at(10, 10, 70))
  expect_true(laps$moved)
  expect_identical(laps$goal, c(100, 100, 100))
  laps$step <- 60
  laps$goal[1:2] <- 30
  laps$worked <- 100
  laps <- lap(laps, at(30, 30, 100))
  expect_identical(laps$goal, c(60, 60, 100))
  # Out of time, it would be lost.
  laps$worked <- 1
  laps <- next_laps(laps, engine, at(60, 60, 100), left = 0.01)
  expect_identical(laps$step, 15)
  # Runs that were apart when the work began keep their work.
  laps <- lap(list(
    groups = list(1:2), met = at(10, 40), goal = numeric(2), step = 10,
    worked = 0
  ), at(10, 40))
  expect_identical(laps$goal, c(40, 40))
  laps <- lap(laps, at(30, 40))
  expect_identical(laps$met, at(30, 40))
})

test_that("complete runs are left as they are", {
  engine <- toy(10)
  states <- list(toy_end(10, 1), NULL, toy_end(10, 3))
  out <- run_toy(engine, states = states)
  expect_identical(engine$log$runs, 2)
  expect_identical(out$states, lapply(1:3, toy_end, total = 10))
  engine <- toy(10)
  expect_identical(run_toy(engine, states = out$states), out)
  expect_identical(engine$log$runs, numeric())
})

test_that("an engine without work is complete", {
  out <- run_toy(toy(0), 2)
  expect_identical(out, list(
    states = list(NULL, NULL), status = "complete", interrupted = FALSE
  ))
})

test_that("a run continues from its state", {
  first <- run_toy(toy(10))
  longer <- run_toy(toy(25), states = first$states)
  expect_identical(longer$states, list(toy_end(25)))
})

test_that("the smallest time limit lets one chunk pass, and is kept", {
  slow <- function() toy(10, seconds = 0.002)
  out <- run_toy(slow(), 2, time_limit = 1e-9)
  expect_identical(out$status, "time_limit")
  expect_identical(out$states, list(list(done = 1, sum = 101), NULL))
  # Called repeatedly, it reaches the end.
  calls <- 1
  while (out$status != "complete" && calls < 100) {
    out <- run_toy(slow(), states = out$states, time_limit = 1e-9)
    calls <- calls + 1
  }
  expect_identical(out$states, lapply(1:2, toy_end, total = 10))
  expect_identical(calls, 20)
})

test_that("a time limit stops a run, and holds for all runs together", {
  # 10 s of work
  out <- run_toy(toy(5, seconds = 0.01), 200, time_limit = 0.5)
  expect_identical(out$status, "time_limit")
  done <- vapply(out$states, engine_done, 0, engine = toy(5))
  expect_identical(done[[1]], 5)
  expect_identical(done[[200]], 0)
})

test_that("an error of the engine reaches the caller, nothing stays open", {
  engine <- toy(10, fails_at = 5)
  expect_error(run_toy(engine), "the toy is broken")
  expect_identical(engine$log$closed, engine$log$runs)
  expect_false(.Internal(interruptsSuspended(FALSE)))
})

# Checkpoints of the toy ------------------------------------------------------

#' Records what is saved
recorder <- function() {
  saved <- list()
  list(
    save = function(states) saved[[length(saved) + 1]] <<- states,
    saved = function() saved
  )
}

test_that("a checkpoint is written first, at intervals and at the end", {
  record <- recorder()
  engine <- toy(20, seconds = 0.03)
  took <- system.time(out <- run_toy(engine,
    checkpoint = "file", checkpoint_every = 0.1, save = record$save
  ))[["elapsed"]]
  saved <- record$saved()
  done <- vapply(saved, function(states) engine_done(engine, states[[1]]), 0)
  expect_identical(done[[1]], 0)
  expect_identical(done[[length(done)]], 20)
  expect_gt(length(done), 4)
  expect_lte(length(done), took / 0.1 + 2)
  expect_false(is.unsorted(done))
  expect_identical(saved[[length(saved)]], out$states)
})

test_that("a checkpoint holds earlier runs but not later ones", {
  record <- recorder()
  run_toy(toy(5, seconds = 0.03), 3,
    checkpoint = "file", checkpoint_every = 1e-3, save = record$save
  )
  for (states in record$saved()) {
    done <- vapply(states, engine_done, 0, engine = toy(5))
    expect_false(is.unsorted(rev(done)))
  }
  expect_gt(length(record$saved()), 10)
})

test_that("nothing is saved without a checkpoint", {
  engine <- toy(20, seconds = 0.01)
  run_toy(engine, checkpoint_every = 1e-3, save = function(states) {
    stop("not wanted")
  })
  expect_identical(engine$log$states, 20)
})

test_that("an error of the engine leaves the last checkpoint", {
  record <- recorder()
  expect_error(run_toy(toy(20, seconds = 0.03, fails_at = 10),
    checkpoint = "file", checkpoint_every = 1e-3, save = record$save
  ), "the toy is broken")
  saved <- record$saved()
  last <- saved[[length(saved)]][[1]]
  expect_identical(last, toy_end(last$done))
  expect_gt(last$done, 0)
})

test_that("a checkpoint that cannot be written does not end a started run", {
  refuse <- function(states) kb_abort("no room", "checkpoint")
  expect_error(
    run_toy(toy(10), checkpoint = "file", save = refuse),
    class = "kb_error_checkpoint"
  )
  calls <- 0
  later <- function(states) {
    calls <<- calls + 1
    if (calls > 1) refuse(states)
  }
  expect_warning(
    out <- run_toy(toy(10), checkpoint = "file", save = later),
    class = "kb_warning_checkpoint"
  )
  expect_identical(out$states, list(toy_end(10)))
})

# Interrupts of the toy -------------------------------------------------------

# This process interrupts itself: the signal arrives while the engine works.
interrupt_at <- function(when) {
  function(handle) {
    if (handle$done %in% when) {
      tools::pskill(Sys.getpid(), tools::SIGINT)
    }
  }
}

test_that("an interrupt stops the run between two chunks", {
  skip_on_os("windows")
  engine <- toy(100, seconds = 0.03, at = interrupt_at(5))
  out <- run_toy(engine)
  expect_identical(out$status, "interrupted")
  expect_identical(out$states[[1]]$sum, toy_end(6)$sum)
  # And it continues.
  out <- run_toy(toy(100), states = out$states)
  expect_identical(out$states, list(toy_end(100)))
})

test_that("an interrupt in the last chunk loses nothing", {
  skip_on_os("windows")
  expect_warning(
    out <- run_toy(toy(6, seconds = 0.03, at = interrupt_at(5))),
    class = "kb_warning_interrupted"
  )
  expect_identical(
    out, list(
      states = list(toy_end(6)), status = "complete", interrupted = TRUE
    )
  )
})

test_that("an interrupt at the end of one run keeps it and stops the others", {
  skip_on_os("windows")
  engine <- toy(6, seconds = 0.03, at = interrupt_at(5))
  out <- run_toy(engine, 3)
  expect_identical(out$status, "interrupted")
  expect_identical(out$states, list(toy_end(6), NULL, NULL))
  expect_identical(engine$log$runs, 1)
})

test_that("an interrupt while a checkpoint is written loses nothing", {
  skip_on_os("windows")
  for (which in 1:3) {
    calls <- 0
    last <- NULL
    save <- function(states) {
      calls <<- calls + 1
      if (calls == which) interrupt_at(0)(list(done = 0))
      last <<- states
    }
    out <- run_toy(toy(10, seconds = 0.03),
      checkpoint = "file", checkpoint_every = 0.05, save = save
    )
    expect_identical(out$status, "interrupted")
    expect_gt(out$states[[1]]$done, 0)
    expect_identical(out$states[[1]], toy_end(out$states[[1]]$done))
    expect_identical(last, out$states)
  }
  final <- function(states) {
    if (!is.null(states[[1]])) interrupt_at(0)(list(done = 0))
  }
  expect_warning(
    out <- run_toy(toy(10), checkpoint = "file", save = final),
    class = "kb_warning_interrupted"
  )
  expect_identical(out$status, "complete")
})

# Time limits -----------------------------------------------------------------

test_that("srvm() out of time gives a fit that can be used and continued", {
  expect_warning(
    part <- suppressWarnings(srvm(y ~ x, long_data(),
      kernel = kernel_gaussian(), seed = 1, progress = FALSE,
      control = long_control(time_limit = 0.05)
    ), classes = "kb_warning_low_ess"),
    class = "kb_warning_time_limit"
  )
  expect_identical(part$status, "time_limit")
  expect_true(part$time > 0 && part$time < 400)
  expect_true(all(is.finite(predict(part, long_data()))))
  expect_output(print(part), "INCOMPLETE")
  expect_identical(nobs(part), part$time)
  # The result is the fit of those rows; stopped there, its ESS may be low.
  first <- suppressWarnings(srvm(y ~ x, long_data()[seq_len(part$time), ],
    control = long_control(), seed = 1, reference = part, progress = FALSE
  ), classes = "kb_warning_low_ess")
  expect_identical(plain_fit(first)$runs, plain_fit(part)$runs)
  # To the end, in as many calls as necessary.
  part$control$time_limit <- 0.2
  stuck <- FALSE
  while (part$status != "complete" && !stuck) {
    before <- part$time
    part <- suppressWarnings(update(part, progress = FALSE),
      classes = c("kb_warning_time_limit", "kb_warning_low_ess")
    )
    stuck <- part$time == before
  }
  expect_same_fit(part, long_fit())
})

test_that("replicates out of time are continued, each from its state", {
  cut <- function(expr) {
    withCallingHandlers(few_particles(expr),
      kb_warning_time_limit = function(w) invokeRestart("muffleWarning")
    )
  }
  fit <- function(seconds) {
    cut(srvm(y ~ x, sim_sinc(15, seed = 2),
      control = long_control(replicates = 2, time_limit = seconds), seed = 1,
      progress = FALSE
    ))
  }
  all <- fit(Inf)
  # One chunk per call: it is cut in every replicate, and between them.
  part <- fit(1e-9)
  finished <- 0
  while (part$status != "complete" && finished < 1000) {
    part <- cut(update(part, progress = FALSE))
    finished <- finished + 1
  }
  expect_gt(finished, 10)
  expect_same_fit(part, all)
})

test_that("a fit whose first replicate is complete is not a complete fit", {
  all <- srvm(y ~ x, sim_sinc(60, seed = 2),
    control = long_control(replicates = 2), seed = 1, progress = FALSE
  )
  part <- all
  part$runs[2] <- list(NULL)
  part$status <- "interrupted"
  part <- sealed(part)
  expect_equal(predict(part), predict(part))
  expect_same_fit(update(part, progress = FALSE), all)
})

test_on_each("more runs than workers keep the time limit", function(backend) {
  local_workers(backend)
  expect_warning(
    part <- srvm(y ~ x, long_data(3000),
      kernel = kernel_gaussian(), seed = 1,
      control = long_control(replicates = 4, time_limit = 0.5),
      progress = FALSE
    ),
    class = "kb_warning_time_limit"
  )
  times <- vapply(part$runs, state_time, 0L)
  # A round has as many runs as workers: none waits for another.
  expect_true(all(times[1:2] > 0 & times[1:2] < 3000))
  expect_identical(times[3:4], c(0L, 0L))
})

# Ctrl-C ----------------------------------------------------------------------

#' Start `srvm()` on many rows in a new R process
#'
#' On return it creates the file `returned` and waits for one more interrupt:
#' the session must be as before.
start_fit <- function(returned, ..., plan = NULL, continue = FALSE, n = 400) {
  in_process(
    function(returned, arguments, start_workers, plan, continue, n) {
      library(kernelbayes)
      start_workers(plan)
      seen <- NULL
      fit <- withCallingHandlers(
        do.call(srvm, c(list(quote(y ~ x), quote(sim_sinc(n, seed = 1))),
          arguments
        )),
        warning = function(w) {
          seen <<- c(seen, class(w)[[1]])
          invokeRestart("muffleWarning")
        }
      )
      out <- list(fit = fit, warnings = seen, returned = Sys.time())
      if (continue) {
        # As stated in that warning.
        lost <- "kb_warning_worker" %in% seen
        if (lost) start_workers(plan)
        out$continued <- update(fit)
      }
      out$again <- tryCatch(
        {
          file.create(returned)
          Sys.sleep(60)
          "nothing"
        },
        interrupt = function(condition) "interrupt"
      )
      out
    },
    returned, list(kernel = kernel_gaussian(), seed = 1, ...), start_workers,
    plan, continue, n,
    background = TRUE
  )
}

#' Interrupt it when `ready()`, and once more after its return
interrupt_twice <- function(process, returned, ready) {
  withr::defer(process$kill_tree())
  wait_until(ready, process)
  sent <- Sys.time()
  process$interrupt()
  wait_until(function() file.exists(returned), process)
  process$interrupt()
  out <- value_of(process)
  out$delay <- as.double(difftime(out$returned, sent, units = "secs"))
  out
}

#' A fit that was interrupted when its checkpoint was `ready(file)()`
#'
#' On a very fast or very busy machine a run may end before the interrupt comes:
#' it is then repeated, at most twice.
interrupted_fit <- function(ready, control, ..., attempts = 3) {
  folder <- local_folder()
  file <- control$checkpoint <- file.path(folder, "fit.rds")
  returned <- file.path(folder, "returned")
  process <- start_fit(returned, control = control, ...)
  out <- tryCatch(
    interrupt_twice(process, returned, ready(file)),
    error = identity
  )
  late <- inherits(out, "error") || out$fit$status == "complete"
  if (late && attempts > 1) {
    return(interrupted_fit(ready, control, ..., attempts = attempts - 1))
  }
  if (inherits(out, "error")) stop(out)
  out$kept <- read_checkpoint(file)
  out$files <- dir(folder)
  # Later work in this process writes no checkpoints.
  out$fit$control["checkpoint"] <- list(NULL)
  out
}

#' The first checkpoint is written just before the first chunk
begun <- function(file) {
  function() file.exists(file)
}

test_that("Ctrl-C gives a fit that can be used and continued", {
  skip_on_os("windows")
  skip_without_processes()
  out <- interrupted_fit(half_way, long_control(checkpoint_every = 0.05))
  fit <- out$fit
  # The row at which it stops may have a low ESS.
  told <- setdiff(out$warnings, "kb_warning_low_ess")
  expect_identical(told, "kb_warning_interrupted")
  expect_identical(fit$status, "interrupted")
  expect_lt(out$delay, 10)
  expect_true(fit$time > 0 && fit$time < 400)
  expect_identical(out$again, "interrupt")
  expect_true(all(is.finite(predict(fit, long_data()))))
  expect_output(print(fit), "INCOMPLETE")
  # The checkpoint is that fit, and no other file exists.
  expect_same_fit(out$kept, fit)
  expect_setequal(out$files, c("fit.rds", "returned"))
  expect_same_fit(update(fit, progress = FALSE), long_fit())
})

test_that("Ctrl-C is answered at once, with or without a progress bar", {
  skip_on_os("windows")
  skip_without_processes()
  # Uninterrupted, this takes minutes.
  out <- interrupted_fit(begun, long_control(particles = 1000),
    n = 1e4, progress = TRUE
  )
  expect_identical(out$fit$status, "interrupted")
  expect_gt(out$fit$time, 0)
  expect_lt(out$delay, 10)
  expect_identical(out$again, "interrupt")
})

test_that("Ctrl-C keeps finished replicates and the current one", {
  skip_on_os("windows")
  skip_without_processes()
  in_second <- function(file) {
    function() file.exists(file) && !is.null(read_checkpoint(file)$runs[[2]])
  }
  out <- interrupted_fit(
    in_second, long_control(replicates = 2, checkpoint_every = 0.05)
  )
  fit <- out$fit
  times <- vapply(fit$runs, state_time, 0L)
  expect_identical(times[[1]], 400L)
  expect_true(times[[2]] > 0 && times[[2]] < 400)
  expect_identical(fit$status, "interrupted")
  expect_identical(out$kept$status, "interrupted")
  expect_output(print(fit), "INCOMPLETE")
  # Until then the first replicate is the fit.
  expect_identical(predict(fit), predict(long_fit()))
  expect_same_fit(update(fit, progress = FALSE), long_fit(2))
})

test_on_each("Ctrl-C keeps what came back from workers", function(backend) {
  skip_on_os("windows")
  skip_without_workers(backend)
  out <- interrupted_fit(half_way,
    long_control(replicates = 2, checkpoint_every = 0.1),
    plan = worker_kinds[[backend]], continue = TRUE
  )
  times <- vapply(out$fit$runs, state_time, 0L)
  expect_identical(out$fit$status, "interrupted")
  expect_true(all(times > 0))
  expect_lt(min(times), 400)
  expect_true("kb_warning_interrupted" %in% out$warnings)
  expect_lt(out$delay, 10)
  expect_identical(out$again, "interrupt")
  # update() in that process, on workers again
  expect_same_fit(out$continued, long_fit(2))
})

test_on_each("an interrupt while work is sent loses nothing", function(backend) {
  skip_on_os("windows")
  skip_without_workers(backend)
  # The workers load packages at that time: this mostly cuts the connection.
  out <- interrupted_fit(begun, long_control(replicates = 2),
    plan = worker_kinds[[backend]], continue = TRUE
  )
  expect_identical(out$fit$status, "interrupted")
  expect_same_fit(out$continued, long_fit(2))
})

# Lost workers ----------------------------------------------------------------

quick_fit <- function(progress, replicates = 1) {
  srvm(y ~ x, sim_sinc(60, seed = 1),
    kernel = kernel_gaussian(),
    control = long_control(replicates = replicates), seed = 1,
    progress = progress
  )
}

test_that("the runs of a lost worker are finished without it, with a warning", {
  skip_on_os("windows")
  skip_without_workers()
  cluster <- parallel::makePSOCKcluster(2)
  withr::defer(try(parallel::stopCluster(cluster), silent = TRUE))
  parallel::clusterCall(cluster, .libPaths, .libPaths())
  old <- future::plan(future::cluster, workers = cluster)
  withr::defer(future::plan(old))
  file <- file.path(local_folder(), "fit.rds")
  killer <- in_process(
    function(file, pid) {
      library(kernelbayes)
      while (!file.exists(file) || read_checkpoint(file)$time == 0) {
        Sys.sleep(0.02)
      }
      tools::pskill(pid, tools::SIGKILL)
    },
    file, parallel::clusterCall(cluster, Sys.getpid)[[2]],
    background = TRUE
  )
  withr::defer(killer$kill())
  classes <- character()
  fit <- withCallingHandlers(
    srvm(y ~ x, long_data(),
      kernel = kernel_gaussian(), control = long_control(
        replicates = 2, checkpoint = file, checkpoint_every = 0.2
      ),
      seed = 1, progress = FALSE
    ),
    warning = function(w) {
      classes <<- c(classes, class(w)[[1]])
      invokeRestart("muffleWarning")
    }
  )
  expect_identical(classes, "kb_warning_worker")
  expect_same_fit(fit, long_fit(2))
  # The next fit finds the worker lost from the start.
  expect_warning(
    fit <- quick_fit(FALSE, replicates = 2),
    class = "kb_warning_worker"
  )
  future::plan(old)
  expect_same_fit(fit, quick_fit(FALSE, replicates = 2))
})

# Progress --------------------------------------------------------------------

test_that("progress = FALSE is silent", {
  expect_silent(quick_fit(FALSE))
  expect_silent(quick_fit(FALSE, replicates = 2))
})

test_that("progress = TRUE does no harm in any terminal", {
  for (dynamic in c(TRUE, FALSE)) {
    withr::local_options(
      cli.progress_show_after = 0, cli.dynamic = dynamic,
      cli.progress_clear = FALSE
    )
    bars <- cli::cli_progress_num()
    shown <- capture.output(fit <- quick_fit(TRUE), type = "message")
    expect_identical(cli::cli_progress_num(), bars)
    expect_same_fit(fit, quick_fit(FALSE))
  }
})

test_that("the progress bar goes from nothing to the end", {
  # cli redraws a bar on a timer; its logger records every change.
  withr::local_options(cli.progress_handlers_force = "logger")
  log <- function(progress) {
    lines <- capture.output(
      run_engine(toy(40), list(NULL), toy_control(), progress)
    )
    grep("/40", lines, value = TRUE)
  }
  lines <- log(TRUE)
  expect_match(lines[[1]], " 0/40 created")
  expect_match(lines[[length(lines)]], " 40/40 terminated")
  expect_identical(log(FALSE), character())
})

test_that("progress = NULL shows a bar only in interactive sessions", {
  rlang::with_interactive(value = FALSE, expect_false(check_progress(NULL)))
  expect_true(check_progress(TRUE))
  expect_false(check_progress(FALSE))
  expect_error(check_progress("yes"), class = "kb_error_argument")
})

test_that("an error in the sampler closes the progress bar", {
  bars <- cli::cli_progress_num()
  expect_error(
    run_engine(toy(10, fails_at = 3), list(NULL), toy_control(), TRUE),
    "the toy is broken"
  )
  expect_identical(cli::cli_progress_num(), bars)
})
