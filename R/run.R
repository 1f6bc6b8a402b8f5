# The one loop that runs samplers. An engine is a plain, serialisable list of
# a class below `kb_engine`; it opens a run from saved state, advances it in
# C++ and takes snapshots. Progress, interrupts, time limits, checkpoints and
# workers are settled here and nowhere else.

#' Open a run: a handle that lives within one call
#' @param index Which of the engine's independent runs.
#' @param state A snapshot to go on from, or NULL.
#' @noRd
engine_open <- function(engine, index, state) UseMethod("engine_open")

#' Advance a handle by up to `n` units of work; units done so far
#' @noRd
engine_advance <- function(engine, handle, n) UseMethod("engine_advance")

#' The state of a handle as plain R data
#' @noRd
engine_snapshot <- function(engine, handle) UseMethod("engine_snapshot")

#' Units of work of one run, and how many of them a state has done
#' @noRd
engine_total <- function(engine) UseMethod("engine_total")
#' @noRd
engine_done <- function(engine, state) UseMethod("engine_done")

#' Run an engine's independent runs to the end, or as far as allowed
#'
#' @param states List, one a run: NULL or a snapshot.
#' @param control For `time_limit` (seconds), `checkpoint` (file or NULL) and
#'   `checkpoint_every` (seconds).
#' @param progress TRUE or FALSE.
#' @param save Function of the states that writes the checkpoint.
#' @return List of `states` and `status`: "complete", "interrupted" or
#'   "time_limit".
#' @noRd
run_engine <- function(engine, states, control, progress, save = NULL) {
  clock <- run_clock(control$time_limit, control$checkpoint_every)
  save <- if (is.null(control$checkpoint)) function(states) NULL else save
  if (length(states) > 1 && has_workers()) {
    out <- run_on_workers(engine, states, clock, progress, save)
  } else {
    out <- run_serially(engine, states, clock, progress, save)
  }
  save(out$states)
  out
}

#' Runs one after the other, in chunks, in this process
#' @noRd
run_serially <- function(engine, states, clock, progress, save) {
  reporter <- progress_reporter(engine, states, progress)
  on.exit(reporter$close())
  status <- "complete"
  for (i in seq_along(states)) {
    if (is_done(engine, states[[i]])) next
    checkpoint <- function(state) {
      states[[i]] <- state
      save(states)
    }
    run <- run_slice(engine, i, states[[i]], clock, reporter$advance,
      checkpoint
    )
    states[[i]] <- run$state
    status <- run$status
    if (status != "complete") break
  }
  list(states = states, status = status)
}

#' One run in chunks of about 20 ms or more, so that the loop costs nothing
#' and answers at once
#'
#' Interrupts are held back while C++ or the bookkeeping works and are taken
#' at one place, between two chunks: the state is whole at that point.
#' @noRd
run_slice <- function(engine, index, state, clock, advance = function(n) NULL,
                      checkpoint = function(state) NULL) {
  status <- "complete"
  total <- engine_total(engine)
  suspendInterrupts({
    handle <- engine_open(engine, index, state)
    done <- engine_done(engine, state)
    chunk <- 1
    while (done < total) {
      started <- now()
      before <- done
      done <- engine_advance(engine, handle, chunk)
      advance(done - before)
      if (now() - started < 0.02) chunk <- min(2 * chunk, total)
      if (done < total && clock$checkpoint_due()) {
        checkpoint(engine_snapshot(engine, handle))
      }
      if (done == total) break
      if (interrupt_pending()) status <- "interrupted"
      if (clock$time_is_up()) status <- "time_limit"
      if (status != "complete") break
    }
    state <- engine_snapshot(engine, handle)
  })
  list(state = state, status = status)
}

#' Runs at the same time on the workers of the future plan, in rounds
#'
#' Each round takes every run some seconds further and brings its state home:
#' an interrupt or a lost worker costs one round.
#' @noRd
run_on_workers <- function(engine, states, clock, progress, save) {
  status <- "complete"
  reporter <- progress_reporter(engine, states, progress, workers = TRUE)
  on.exit(reporter$close())
  slice <- worker_slice(engine, reporter$advance)
  repeat {
    pending <- which(!vapply(states, is_done, TRUE, engine = engine))
    if (length(pending) == 0) break
    round <- tryCatch(
      future.apply::future_lapply(pending, slice, states = states,
        seconds = min(5, clock$seconds_left()), future.seed = NULL,
        future.packages = "kernelbayes"
      ),
      interrupt = function(condition) NULL
    )
    if (is.null(round)) {
      status <- "interrupted"
      break
    }
    states[pending] <- round
    if (clock$checkpoint_due()) save(states)
    if (clock$time_is_up()) {
      status <- "time_limit"
      break
    }
  }
  list(states = states, status = status)
}

#' The function that a worker runs
#' @noRd
worker_slice <- function(engine, advance) {
  function(index, states, seconds) {
    clock <- run_clock(seconds, Inf)
    run_slice(engine, index, states[[index]], clock, advance)$state
  }
}

#' @noRd
is_done <- function(engine, state) {
  engine_done(engine, state) >= engine_total(engine)
}

#' @noRd
has_workers <- function() {
  requireNamespace("future.apply", quietly = TRUE) &&
    !inherits(future::plan(), "sequential")
}

#' Take an interrupt that came while they were suspended
#' @noRd
interrupt_pending <- function() {
  tryCatch(
    {
      allowInterrupts(Sys.sleep(0))
      FALSE
    },
    interrupt = function(condition) TRUE
  )
}

#' @noRd
now <- function() proc.time()[["elapsed"]]

#' When to stop and when to save
#' @noRd
run_clock <- function(time_limit, checkpoint_every) {
  started <- now()
  saved <- started
  list(
    time_is_up = function() now() - started >= time_limit,
    seconds_left = function() max(time_limit - (now() - started), 0),
    checkpoint_due = function() {
      due <- now() - saved >= checkpoint_every
      if (due) saved <<- now()
      due
    }
  )
}

#' A progress bar (cli), or progressr's signals where the work is done by
#' other processes
#' @noRd
progress_reporter <- function(engine, states, progress, workers = FALSE) {
  total <- length(states) * engine_total(engine)
  done <- sum(vapply(states, engine_done, 0, engine = engine))
  silent <- list(advance = function(n) NULL, close = function() NULL)
  if (!progress || total == 0) {
    return(silent)
  }
  if (workers) {
    if (!requireNamespace("progressr", quietly = TRUE)) {
      return(silent)
    }
    step <- progressr::progressor(steps = total - done, enable = TRUE)
    return(list(advance = function(n) step(amount = n), close = silent$close))
  }
  bar <- cli::cli_progress_bar("Sampling",
    total = total, clear = TRUE, .auto_close = FALSE
  )
  cli::cli_progress_update(set = done, id = bar)
  list(
    advance = function(n) cli::cli_progress_update(inc = n, id = bar),
    close = function() cli::cli_progress_done(id = bar)
  )
}

#' `progress = NULL` means: in an interactive session
#' @noRd
check_progress <- function(progress, call = rlang::caller_env()) {
  if (is.null(progress)) {
    return(interactive())
  }
  check_flag(progress, call = call)
}
