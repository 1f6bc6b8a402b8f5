# The one loop that runs samplers. An engine is a plain, serialisable list of a
# class below `kb_engine`; it opens a run from saved state, advances it in C++
# and takes its state. Progress, interrupts, time limits and checkpoints are
# handled only here, workers only in run-workers.R.

#' Open a run: a handle that lives within one call
#' @param index Which of the engine's independent runs.
#' @param state A state to continue from, or NULL.
#' @noRd
engine_open <- function(engine, index, state) UseMethod("engine_open")

# Advance a handle by up to `n` units of work; returns the units done so far
engine_advance <- function(engine, handle, n) UseMethod("engine_advance")
#' @export
engine_advance.default <- function(engine, handle, n) {
  machines_advance_cpp(list(handle), n, 1)
}

# The same for handles that do not depend on each other, up to `threads` of them
# at a time
engine_advance_all <- function(engine, handles, n, threads) {
  UseMethod("engine_advance_all")
}
#' @export
engine_advance_all.default <- function(engine, handles, n, threads) {
  vapply(handles, function(handle) engine_advance(engine, handle, n), 0)
}

# The state of a handle as plain R data
engine_state <- function(engine, handle) UseMethod("engine_state")
#' @export
engine_state.default <- function(engine, handle) machine_state_cpp(handle)

# Free the memory of a handle at once, not at R's next garbage collection
engine_close <- function(engine, handle) UseMethod("engine_close")
#' @export
engine_close.default <- function(engine, handle) machine_close_cpp(handle)

# Keep for the next call quantities that are expensive to compute from a state;
# the handle is closed afterwards
engine_hold <- function(engine, index, handle, state) UseMethod("engine_hold")
#' @export
engine_hold.default <- function(engine, index, handle, state) NULL

# Units of work of one run, and how many of them a state has done
engine_total <- function(engine) UseMethod("engine_total")
engine_done <- function(engine, state) UseMethod("engine_done")

# The same for all states
runs_done <- function(engine, states) {
  begun_values(states, 0, function(state) engine_done(engine, state))
}

# A number of each state, of which there may be millions that have not begun
begun_values <- function(states, none, value) {
  out <- rep(none, length(states))
  begun <- lengths(states) > 0
  out[begun] <- vapply(states[begun], value, none)
  out
}

# Runs whose results belong together advance in turn, so that a stop finds them
# at the same unit of work: a list of their indices
engine_groups <- function(engine, n_runs) UseMethod("engine_groups")
#' @export
engine_groups.default <- function(engine, n_runs) as.list(seq_len(n_runs))

#' Run an engine's independent runs to the end, or as far as allowed
#'
#' Interrupts are suspended and taken at one place only, between chunks of work,
#' where every state is complete: no interrupt is lost, and none loses a state.
#' A checkpoint is written before the first chunk (so that a file that cannot be
#' written is an error at once, not hours later), at intervals and at the end.
#' @param states List, one per run: NULL or a state.
#' @param control For `time_limit` (seconds), `checkpoint` (file or NULL),
#'   `checkpoint_every` (seconds) and `threads`.
#' @param progress TRUE or FALSE.
#' @param save Function of the states that writes the checkpoint.
#' @param started When the time limit began; set-up time counts.
#' @param last Are these the last runs of the call?
#' @return List of `states`, `status` ("complete", "interrupted" or
#'   "time_limit") and whether it was `interrupted`, even at its end.
#' @noRd
run_engine <- function(engine, states, control, progress, save = NULL,
                       started = now(), last = TRUE) {
  keep <- function(states) NULL
  every <- Inf
  # Set-up can be interrupted: nothing is lost.
  force(engine)
  threads <- threads_at_once(control$threads)
  backend <- if (length(states) > 1) find_backend()
  suspendInterrupts({
    if (!is.null(control[["checkpoint"]])) {
      keep <- save_or_warn(save)
      # Of a run that has begun there is something to lose.
      begun <- any(runs_done(engine, states) > 0)
      if (begun) keep(states) else save(states)
      every <- control$checkpoint_every
    }
    clock <- run_clock(control$time_limit, every, started)
    out <- if (is.null(backend)) {
      run_serially(engine, states, clock, progress, keep, threads)
    } else {
      run_on_workers(engine, states, clock, progress, keep, threads, backend)
    }
    keep(out$states)
    interrupted <- interrupt_pending() || out$status == "interrupted"
  })
  if (last && length(which_pending(engine, out$states)) == 0) {
    out$status <- "complete"
    if (interrupted) warn_late_interrupt()
  } else if (interrupted) {
    out$status <- "interrupted"
  }
  out$interrupted <- interrupted
  out
}

# Groups of runs one after the other in this process; the runs of a group in
# threads
run_serially <- function(engine, states, clock, progress, save, threads) {
  reporter <- progress_reporter(engine, states, progress)
  on.exit(reporter$close())
  notice <- long_run_notice(engine, states, clock)
  advance <- function(n) {
    reporter$advance(n)
    notice(n)
  }
  status <- "complete"
  pending <- which_pending(engine, states)
  for (group in engine_groups(engine, length(states))) {
    if (!any(group %in% pending)) next
    checkpoint <- function(current) {
      states[group] <- current
      save(states)
    }
    run <- run_slice(
      engine, group, states[group], clock, advance, checkpoint,
      hold = TRUE, threads = threads
    )
    states[group] <- run$states
    status <- run$status
    if (status != "complete") break
  }
  list(states = states, status = status)
}

#' A group of runs in chunks of about 20 ms or more, so that the loop costs
#' nothing and responds at once
#'
#' Runs that are behind go first, up to the next one, and then all together.
#' @param hold Is the next call likely to continue in this process?
#' @param threads The number of runs that advance at a time.
#' @return List of `states` and `status`, the reason to stop found after the
#'   last chunk, even at the end: other runs may wait.
#' @noRd
run_slice <- function(engine, group, states, clock, advance,
                      checkpoint = function(states) NULL,
                      total = engine_total(engine), hold = FALSE,
                      threads = 1) {
  handles <- vector("list", length(group))
  is_open <- logical(length(group))
  on.exit(for (handle in handles[is_open]) engine_close(engine, handle))
  states_now <- function() {
    states[is_open] <- lapply(handles[is_open], function(handle) {
      engine_state(engine, handle)
    })
    states
  }
  status <- "complete"
  done <- runs_done(engine, states)
  chunk <- 1
  while (status == "complete" && min(done) < total) {
    before <- done
    lowest <- min(done)
    n <- min(chunk, c(total, done[done > lowest]) - lowest)
    # A stop need not wait for all of very many runs, not even to be opened.
    behind <- utils::head(which(done == lowest), max(64, threads))
    for (j in behind[!is_open[behind]]) {
      handles[[j]] <- engine_open(engine, group[[j]], states[[j]])
      is_open[[j]] <- TRUE
    }
    clock$start()
    started <- now()
    done[behind] <- engine_advance_all(engine, handles[behind], n, threads)
    chunk <- next_chunk(chunk, now() - started)
    advance(sum(done - before))
    if (min(done) < total && clock$checkpoint_due()) {
      checkpoint(states_now())
      clock$checkpoint_done()
    }
    status <- reason_to_stop(clock)
  }
  out <- states_now()
  for (j in which(hold & is_open & lengths(states) > 0)) {
    engine_hold(engine, group[[j]], handles[[j]], out[[j]])
  }
  list(states = out, status = status)
}

# The size of the next chunk, from the seconds that this one took: work may
# become slower
next_chunk <- function(chunk, seconds) {
  if (seconds < 0.02) {
    2 * chunk
  } else if (seconds > 0.1) {
    max(chunk %/% 2, 1)
  } else {
    chunk
  }
}

which_pending <- function(engine, states) {
  total <- engine_total(engine)
  which(runs_done(engine, states) < total)
}

# Stopping --------------------------------------------------------------------

reason_to_stop <- function(clock) {
  if (interrupt_pending()) {
    "interrupted"
  } else if (clock$left() <= 0) {
    "time_limit"
  } else {
    "complete"
  }
}

# Take an interrupt that arrived while interrupts were suspended
interrupt_pending <- function() {
  tryCatch(
    {
      allowInterrupts(Sys.sleep(0))
      FALSE
    },
    interrupt = function(condition) TRUE
  )
}

#' A stage of a longer computation: an interrupt ends it, and the loop of stages
#'
#' A stage that is itself a loop may return what it finished, with a warning,
#' which the outer loop replaces by its own.
#' @return List of the `value`, NULL if there is none, and `halted`: was there
#'   an interrupt, so that no other stage may begin?
#' @noRd
run_stage <- function(expr) {
  halted <- FALSE
  halt <- function(condition) {
    halted <<- TRUE
    NULL
  }
  value <- withCallingHandlers(
    tryCatch(allowInterrupts(expr),
      kb_error_interrupted = halt, interrupt = halt
    ),
    kb_warning_interrupted = function(warning) {
      halt()
      tryInvokeRestart("muffleWarning")
    }
  )
  list(value = value, halted = halted)
}

# The value of a stage without which there is no result
whole_stage <- function(expr, what) {
  stage <- run_stage(expr)
  if (stage$halted) refuse_stop(paste("in", what))
  stage$value
}

# Nothing that was finished can be used
refuse_stop <- function(when, status = "interrupted") {
  kb_abort(c(
    "Stopped {when}: {stop_words[[status]]}.",
    i = "No result is available."
  ), status)
}

stop_words <- c(interrupted = "interrupted", time_limit = "out of time")

now <- function() proc.time()[["elapsed"]]

#' When to stop and when to save
#' @param started When the time began.
#' @param wait Does the time begin only when the first run is open?
#' @param until NULL, or the `deadline()` of the clock of the whole run, which
#'   is meaningful only on the same machine.
#' @noRd
run_clock <- function(time_limit, checkpoint_every = Inf, started = now(),
                      wait = FALSE, until = NULL) {
  force(started)
  saved <- now()
  host <- Sys.info()[["nodename"]]
  shared <- !is.null(until) && identical(until$host, host)
  seconds_left <- function() {
    left <- time_limit - (now() - started)
    if (shared) min(left, until$at - as.double(Sys.time())) else left
  }
  list(
    start = function() {
      if (wait) started <<- now()
      wait <<- FALSE
    },
    checkpoint_every = checkpoint_every,
    left = function() max(seconds_left(), 0),
    deadline = function() {
      list(at = as.double(Sys.time()) + seconds_left(), host = host)
    },
    checkpoint_due = function() now() - saved >= checkpoint_every,
    checkpoint_done = function() saved <<- now()
  )
}

warn_late_interrupt <- function(what = "fit") {
  kb_warn(c(
    "The interrupt came after the run had finished.",
    i = "The {what} is complete."
  ), "interrupted")
}

# Progress --------------------------------------------------------------------

#' A progress bar
#' @return List of functions: `advance(n)` and `close()`.
#' @noRd
progress_reporter <- function(engine, states, progress) {
  total <- as.double(length(states)) * engine_total(engine)
  done <- sum(runs_done(engine, states))
  if (!progress || total == 0) {
    return(list(advance = function(n) NULL, close = function() NULL))
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

# `progress = NULL` means: in an interactive session
check_progress <- function(progress) {
  if (is.null(progress)) {
    return(interactive())
  }
  check_flag(progress)
}
