# The one loop that runs samplers. An engine is a plain, serialisable list of
# a class below `kb_engine`; it opens a run from saved state, advances it in
# C++ and takes snapshots. Progress, interrupts, time limits, checkpoints and
# workers are settled here and nowhere else.

#' @srrstats {BS2.12} `progress` shows a bar, by default in interactive
#'   sessions.
#' @srrstats {BS2.13} `progress = FALSE` silences it and leaves warnings.
#' @noRd
NULL

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

#' Free what a handle holds: at once, not when R collects its garbage
#' @noRd
engine_close <- function(engine, handle) UseMethod("engine_close")

#' Units of work of one run, and how many of them a state has done
#' @noRd
engine_total <- function(engine) UseMethod("engine_total")
#' @noRd
engine_done <- function(engine, state) UseMethod("engine_done")

#' Runs whose answers belong together advance in turn, so that a stop finds them
#' at the same unit of work: a list of their indices
#' @noRd
engine_groups <- function(engine, n_runs) UseMethod("engine_groups")
#' @export
engine_groups.default <- function(engine, n_runs) as.list(seq_len(n_runs))

#' Run an engine's independent runs to the end, or as far as allowed
#'
#' Interrupts are held back all the way and taken at one place, between two
#' chunks of work, where every state is whole: none is lost and none loses a
#' state. A checkpoint is written before the first chunk (a file that cannot
#' be written is an error then, not hours later), at intervals and at the end.
#'
#' @param states List, one a run: NULL or a snapshot.
#' @param control For `time_limit` (seconds), `checkpoint` (file or NULL) and
#'   `checkpoint_every` (seconds).
#' @param progress TRUE or FALSE.
#' @param save Function of the states that writes the checkpoint.
#' @return List of `states`, `status` ("complete", "interrupted" or
#'   "time_limit") and whether it was `interrupted`, be it at its end.
#' @noRd
run_engine <- function(engine, states, control, progress, save = NULL,
                       call = rlang::caller_env()) {
  keep <- function(states) NULL
  every <- Inf
  run <- run_serially
  if (length(states) > 1 && has_workers()) run <- run_on_workers
  suspendInterrupts({
    if (!is.null(control[["checkpoint"]])) {
      save(states)
      keep <- save_or_warn(save, call)
      every <- control$checkpoint_every
    }
    clock <- run_clock(control$time_limit, every)
    out <- run(engine, states, clock, progress, keep)
    keep(out$states)
    interrupted <- interrupt_pending() || out$status == "interrupted"
  })
  if (length(which_pending(engine, out$states)) == 0) {
    out$status <- "complete"
    if (interrupted) warn_late_interrupt(call)
  }
  out$interrupted <- interrupted
  out
}

#' Groups of runs one after the other in this process
#' @noRd
run_serially <- function(engine, states, clock, progress, save) {
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
      engine, group, states[group], clock, advance, checkpoint
    )
    states[group] <- run$states
    status <- run$status
    if (status != "complete") break
  }
  list(states = states, status = status)
}

#' A group of runs in chunks of some 20 ms or more, so that the loop costs
#' nothing and answers at once
#'
#' Those that are behind go first, up to the next one, and then all together.
#' @return List of `states` and `status`, the reason to stop that was found
#'   after the last chunk, even if that was the end: other runs may wait.
#' @noRd
run_slice <- function(engine, group, states, clock, advance,
                      checkpoint = function(states) NULL,
                      total = engine_total(engine)) {
  handles <- list()
  on.exit(for (handle in handles) engine_close(engine, handle))
  for (j in seq_along(group)) {
    handles[[j]] <- engine_open(engine, group[[j]], states[[j]])
  }
  snapshots <- function() {
    lapply(handles, function(handle) engine_snapshot(engine, handle))
  }
  status <- "complete"
  done <- vapply(states, engine_done, 0, engine = engine)
  chunk <- 1
  clock$start()
  while (status == "complete" && min(done) < total) {
    started <- now()
    before <- done
    lowest <- min(done)
    n <- min(chunk, c(total, done[done > lowest]) - lowest)
    for (j in which(done == lowest)) {
      done[[j]] <- engine_advance(engine, handles[[j]], n)
    }
    chunk <- next_chunk(chunk, now() - started)
    advance(sum(done - before))
    if (min(done) < total && clock$checkpoint_due()) {
      checkpoint(snapshots())
      clock$checkpoint_done()
    }
    status <- reason_to_stop(clock)
  }
  list(states = snapshots(), status = status)
}

#' The next chunk, from the seconds that this one took: work may get slower on
#' the way
#' @noRd
next_chunk <- function(chunk, seconds) {
  if (seconds < 0.02) {
    2 * chunk
  } else if (seconds > 0.1) {
    max(chunk %/% 2, 1)
  } else {
    chunk
  }
}

#' @noRd
which_pending <- function(engine, states) {
  total <- engine_total(engine)
  which(vapply(states, engine_done, 0, engine = engine) < total)
}

# Workers ---------------------------------------------------------------------

#' @noRd
has_workers <- function() {
  requireNamespace("future", quietly = TRUE) &&
    !inherits(future::plan(), "sequential")
}

#' Runs at the same time on the workers of the future plan, in rounds
#'
#' Each round takes a run for each worker some seconds further and brings its
#' state home: an interrupt or a lost worker costs at most one round. Runs of a
#' group work towards one goal and wait there for each other; a stop, or a
#' checkpoint, gives the states at which they have met. Without its workers, the
#' work goes on in this process.
#' @noRd
run_on_workers <- function(engine, states, clock, progress, save) {
  reporter <- progress_reporter(engine, states, progress, workers = TRUE)
  on.exit(reporter$close())
  notice <- long_run_notice(engine, states, clock)
  status <- "complete"
  overhead <- 0
  laps <- list(
    groups = engine_groups(engine, length(states)), met = states,
    goal = numeric(length(states)), step = 10, since = now()
  )
  repeat {
    laps <- next_laps(laps, engine, states)
    runs <- which(laps$done < laps$goal)
    if (status != "complete" || length(runs) == 0) break
    runs <- utils::head(runs, min(future::nbrOfWorkers(), length(runs)))
    # What takes long to start (a queued job, a long state) works longer.
    seconds <- min(
      5 + 9 * overhead, clock$checkpoint_every, clock$left() - overhead
    )
    started <- now()
    round <- run_round(
      engine, runs, states[runs], laps$goal[runs], seconds, reporter$signal
    )
    overhead <- max(now() - started - seconds, 0)
    came <- runs[round$home]
    states[came] <- round$states
    notice(sum(vapply(states[came], engine_done, 0, engine = engine) -
      laps$done[came]))
    if (clock$checkpoint_due()) {
      save(next_laps(laps, engine, states)$met)
      clock$checkpoint_done()
    }
    status <- if (round$stopped) "interrupted" else reason_to_stop(clock)
    if (round$lost && status == "complete") {
      return(run_serially(engine, states, clock, progress, save))
    }
  }
  list(states = laps$met, status = status)
}

#' Where runs are, and how far they shall go before they wait for each other
#'
#' A run that is alone goes to its end. A group that has met goes on together
#' for `step` units, which shall take some seconds.
#' @param laps List of `groups`, `met` (states), `goal` and `done` (of each
#'   run), `step` and the time `since` which it is so long.
#' @noRd
next_laps <- function(laps, engine, states) {
  total <- engine_total(engine)
  laps$done <- vapply(states, engine_done, 0, engine = engine)
  arrived <- vapply(laps$groups, function(group) {
    length(group) == 1 || all(laps$done[group] >= laps$goal[group])
  }, NA)
  if (any(arrived & lengths(laps$groups) > 1)) {
    seconds <- now() - laps$since
    if (seconds < 3) laps$step <- 2 * laps$step
    if (seconds > 10) laps$step <- max(laps$step %/% 2, 1)
    laps$since <- now()
  }
  # Runs that have not met yet have nothing to fall back to.
  before <- vapply(laps$met, engine_done, 0, engine = engine)
  apart <- vapply(laps$groups, function(group) {
    length(unique(before[group])) > 1
  }, NA)
  for (group in laps$groups[arrived | apart]) laps$met[group] <- states[group]
  for (group in laps$groups[arrived]) {
    furthest <- max(laps$done[group])
    together <- all(laps$done[group] == furthest)
    laps$goal[group] <- if (length(group) == 1) {
      total
    } else if (together) {
      min(furthest + laps$step, total)
    } else {
      furthest
    }
  }
  laps
}

#' One round: a future for each run
#' @param goals The units at which the runs stop.
#'
#' R takes interrupts whenever it waits, held back or not. Here it waits asleep
#' and not for messages, because half a message leaves a worker useless.
#' @return List of `home` (which runs came home), their `states`, whether the
#'   round was `stopped`, and whether a worker was `lost`.
#' @noRd
run_round <- function(engine, runs, states, goals, seconds, signal) {
  old <- options(future.resolved.timeout = 0)
  on.exit(options(old))
  home <- rep(FALSE, length(runs))
  stopped <- lost <- asleep <- FALSE
  futures <- list()
  tryCatch(
    {
      futures <- Map(start_slice, list(engine), runs, states, goals, seconds,
        MoreArgs = list(signal = signal)
      )
      while (!all(home) && !stopped) {
        asleep <- TRUE
        Sys.sleep(0.005)
        asleep <- FALSE
        home <- vapply(futures, future::resolved, TRUE)
        stopped <- interrupt_pending()
      }
    },
    interrupt = function(condition) {
      stopped <<- TRUE
      if (!asleep) warn_worker("An interrupt came in the middle of a message.")
    },
    FutureError = function(error) {
      lost <<- TRUE
      home[] <<- FALSE
      warn_worker(conditionMessage(error))
    }
  )
  list(
    home = home, states = lapply(futures[home], future::value),
    stopped = stopped, lost = lost
  )
}

#' Data are all that is sent: the package is loaded when the work begins, not
#' while this process waits for the message to be read
#' @noRd
start_slice <- function(engine, index, state, goal, seconds, signal) {
  future::future(
    utils::getFromNamespace("worker_slice", "kernelbayes")(
      engine, index, state, goal, seconds, signal
    ),
    globals = list(
      engine = engine, index = index, state = state, goal = goal,
      seconds = seconds, signal = signal
    ),
    seed = NULL
  )
}

#' What a worker does
#' @param signal progressr's progressor, or NULL.
#' @noRd
worker_slice <- function(engine, index, state, goal, seconds, signal) {
  clock <- run_clock(seconds, wait = TRUE)
  advance <- function(n) if (!is.null(signal)) signal(amount = n)
  suspendInterrupts(
    run_slice(
      engine, index, list(state), clock, advance,
      total = goal
    )$states[[1]]
  )
}

# Stopping --------------------------------------------------------------------

#' @noRd
reason_to_stop <- function(clock) {
  if (interrupt_pending()) {
    "interrupted"
  } else if (clock$left() <= 0) {
    "time_limit"
  } else {
    "complete"
  }
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
#' @param wait Does the time begin with the first run, when it is open?
#' @noRd
run_clock <- function(time_limit, checkpoint_every = Inf, wait = FALSE) {
  started <- now()
  saved <- started
  list(
    start = function() {
      if (wait) started <<- now()
      wait <<- FALSE
    },
    checkpoint_every = checkpoint_every,
    left = function() max(time_limit - (now() - started), 0),
    checkpoint_due = function() now() - saved >= checkpoint_every,
    checkpoint_done = function() saved <<- now()
  )
}

#' A checkpoint that fails on the way must not end the run
#' @noRd
save_or_warn <- function(save, call) {
  function(states) {
    tryCatch(save(states), kb_error_checkpoint = function(error) {
      kb_warn(c(
        "The run goes on without a new checkpoint.",
        x = "{conditionMessage(error)}"
      ), "checkpoint", call = call)
    })
  }
}

#' @noRd
warn_late_interrupt <- function(call) {
  kb_warn(c(
    "The interrupt came when the run had reached its end.",
    i = "The fit is complete."
  ), "interrupted", call = call)
}

#' @noRd
warn_worker <- function(problem) {
  kb_warn(c(
    "A worker of the future plan may be lost.",
    x = "{problem}",
    i = "What the others did is kept. Set the plan again, for example
         {.code future::plan(\"multisession\")}, before it is used again."
  ), "worker", call = NULL)
}

# Progress --------------------------------------------------------------------

#' A progress bar (cli), or progressr's signals where the work is done by
#' other processes
#'
#' @return List of functions: `advance(n)` and `close()`; for workers `signal`
#'   (or NULL) instead of `advance`.
#' @noRd
progress_reporter <- function(engine, states, progress, workers = FALSE) {
  total <- length(states) * engine_total(engine)
  done <- sum(vapply(states, engine_done, 0, engine = engine))
  silent <- list(advance = function(n) NULL, close = function() NULL)
  if (!progress || total == 0) {
    return(silent)
  }
  if (workers) {
    if (requireNamespace("progressr", quietly = TRUE)) {
      silent$signal <- progressr::progressor(total - done, enable = TRUE)
    }
    return(silent)
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
