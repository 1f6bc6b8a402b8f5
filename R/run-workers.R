# Runs of an engine on workers. The engine is sent once to each worker, a state
# without the draws already received; the state and the new draws come back.

# The parts of a state that only grow: the paths of elements to which a run
# appends, and which it never reads
engine_grown <- function(engine) UseMethod("engine_grown")
#' @export
engine_grown.default <- function(engine) list()
#' @export
engine_grown.kb_engine_chain <- function(engine) {
  list(if (is_ladder(engine)) "observed" else "draws")
}

# Runs at the same time, in rounds
#
# Each round advances some runs by some seconds and returns their states: an
# interrupt or a lost worker costs at most one round. Runs of a group
# work towards one goal and wait there for each other; a stop, or a checkpoint,
# gives the states at the last common goal. The work of a lost worker is sent
# again; if two rounds in a row return nothing, the work continues in this
# process.
run_on_workers <- function(engine, states, clock, progress, save, threads,
                           backend) {
  reporter <- progress_reporter(engine, states, progress)
  on.exit(reporter$close())
  crew <- list(
    backend = backend, parcel = new_parcel(list(engine = engine)), told = FALSE
  )
  worked <- 0
  notice <- long_run_notice(engine, states, clock, time = function() worked)
  status <- "complete"
  overhead <- 0
  lost <- numeric(length(states))
  laps <- first_laps(engine, states)
  repeat {
    laps <- next_laps(laps, engine, states, clock$left(), 5 + 9 * overhead)
    runs <- which(laps$done < laps$goal)
    if (stops(status, laps) || length(runs) == 0) break
    # Runs with a common goal: workers that are ready early take the next one.
    workers <- max(backend$workers(), 1)
    turns <- if (any(lengths(laps$groups) > 1)) 4 else 1
    runs <- utils::head(runs, turns * workers)
    # Workers that take long to start (queued jobs) work longer.
    seconds <- min(
      5 + 9 * overhead, clock$left() - overhead,
      clock$checkpoint_every / ceiling(length(runs) / workers)
    )
    started <- now()
    round <- run_round(
      engine, crew, runs, states[runs], laps$goal[runs], seconds,
      clock$deadline()
    )
    came <- runs[round$done]
    states[came] <- round$states[round$done]
    if (any(round$done)) overhead <- max(now() - started - round$worked, 0)
    laps$worked <- laps$worked + round$worked
    worked <- worked + round$worked
    after <- runs_done(engine, states[came])
    reporter$advance(sum(after - laps$done[came]))
    notice(sum(after - laps$done[came]))
    if (clock$checkpoint_due()) {
      save(next_laps(laps, engine, states)$met)
      clock$checkpoint_done()
    }
    status <- if (round$interrupted) "interrupted" else reason_to_stop(clock)
    crew$told <- crew$told || round$lost
    lost[runs] <- ifelse(round$done, 0, lost[runs] + 1)
    if (status == "complete" && no_use(lost[runs])) {
      return(run_serially(engine, states, clock, progress, save, threads))
    }
  }
  list(states = laps$met, status = status)
}

# Do workers return nothing twice in a row, or does a run not survive there?
no_use <- function(lost) all(lost >= 2) || any(lost >= 3)

first_laps <- function(engine, states) {
  list(
    groups = engine_groups(engine, length(states)), met = states,
    goal = numeric(length(states)), step = 1, worked = 0
  )
}

# However short the time, runs continue until they meet for the first time, so
# that repeated calls reach the end
stops <- function(status, laps) {
  status == "interrupted" || status == "time_limit" && laps$moved
}

#' The positions of runs, and how far they go before they wait for each other
#'
#' A single run goes to its end. A group that has met continues together for
#' `step` units, which should take `wanted` seconds, and less than the time
#' `left`: a stop loses work beyond the last common point.
#' @param laps List of `groups`, `met` (states), `goal` and `done` (of each
#'   run), `step`, the seconds that were `worked` since they met, and whether
#'   runs have `moved` from where they began.
#' @noRd
next_laps <- function(laps, engine, states, left = Inf, wanted = 5) {
  total <- engine_total(engine)
  laps$done <- runs_done(engine, states)
  arrived <- vapply(laps$groups, function(group) {
    length(group) == 1 || all(laps$done[group] >= laps$goal[group])
  }, NA)
  if (any(arrived & lengths(laps$groups) > 1)) {
    # The time to start does not measure the time of the steps.
    seconds <- max(laps$worked, 1e-3)
    longer <- min(wanted / seconds, 0.8 * left / seconds, 16)
    if (laps$worked > 0) {
      laps$step <- max(floor(longer * laps$step), laps$step %/% 2, 1)
    }
    laps$worked <- 0
  }
  # Runs that have not met yet have nothing to fall back to.
  before <- runs_done(engine, laps$met)
  apart <- vapply(laps$groups, function(group) {
    length(unique(before[group])) > 1
  }, NA)
  for (group in laps$groups[arrived | apart]) laps$met[group] <- states[group]
  after <- runs_done(engine, laps$met)
  laps$moved <- isTRUE(laps$moved) || any(after > before)
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

#' One round: a call for each run
#' @param crew List of the `backend`, the `parcel` with the engine, and whether
#'   there was already a warning of a lost worker (`told`).
#' @param goals The units at which the runs stop.
#' @return As from `call_on_workers()`, with `states` instead of values, and the
#'   seconds that were `worked` between opening and closing.
#' @noRd
run_round <- function(engine, crew, runs, states, goals, seconds, deadline) {
  arguments <- Map(
    function(run, state, goal) {
      list(
        index = run, state = without_grown(engine, state), goal = goal,
        seconds = seconds, deadline = deadline
      )
    }, runs, states, goals
  )
  round <- call_on_workers(
    crew$backend, "worker_slice", arguments, crew$parcel, told = crew$told
  )
  round$states <- Map(
    function(before, after) with_grown(engine, before, after$state),
    states, round$values
  )
  each <- as.double(unlist(lapply(round$values, `[[`, "seconds")))
  round$worked <- max(0, each, sum(each) / max(crew$backend$workers(), 1))
  round
}

#' The work of a worker
#' @param deadline As in `run_clock()`.
#' @noRd
worker_slice <- function(engine, index, state, goal, seconds, deadline) {
  started <- now()
  clock <- run_clock(seconds, wait = TRUE, until = deadline)
  advance <- function(n) NULL
  suspendInterrupts({
    state <- run_slice(
      engine, index, list(state), clock, advance,
      total = goal
    )$states[[1]]
  })
  list(state = state, seconds = now() - started)
}

# Draws travel once -----------------------------------------------------------

# A state without what its run has appended so far
without_grown <- function(engine, state) {
  if (is.null(state)) {
    return(NULL)
  }
  for (path in engine_grown(engine)) state[[path]] <- emptied(state[[path]])
  state
}

# The state after a slice, together with the earlier elements
with_grown <- function(engine, before, after) {
  if (is.null(before) || is.null(after)) {
    return(after)
  }
  for (path in engine_grown(engine)) {
    after[[path]] <- appended(before[[path]], after[[path]])
  }
  after
}

emptied <- function(x) {
  if (!is.list(x)) {
    return(x[0])
  }
  x[] <- lapply(x, emptied)
  x
}

appended <- function(x, more) {
  if (!is.list(x)) {
    return(c(x, more))
  }
  more[] <- Map(appended, x, more)
  more
}

# The packages that run work in other processes. A backend is a list of
# functions:
# * `workers()`: how many there are now;
# * `start(message, needed)`: a task that answers a message, see
#   run-workers.R, with the objects and packages of `needed_by()`;
# * `is_home(task)`: has it ended, well or badly?
# * `value(task)`: the answer, or the error of a worker that is lost or of a
#   scheduler that accepts no jobs;
# * `cancel(tasks)`: they are not wanted any more;
# * `keeps`: are the same processes used again, so that they can keep data?

mirai_backend <- list(
  name = "mirai",
  # Daemons can be set only after the package was loaded.
  workers = function() {
    if (isNamespaceLoaded("mirai")) mirai_export("status")()$connections else 0
  },
  start = function(message, needed) {
    mirai_export("mirai")(
      utils::getFromNamespace("answer_message", "kernelbayes")(.kb_message),
      list2env(needed$globals),
      .args = list(.kb_message = message)
    )
  },
  is_home = function(task) !mirai_export("unresolved")(task),
  value = function(task) {
    value <- task$data
    if (!mirai_export("is_error_value")(value)) {
      return(value)
    }
    lost <- utils::capture.output(print(value))
    simpleError(paste0("mirai: ", paste(lost, collapse = " ")))
  },
  cancel = function(tasks) {
    for (task in tasks) mirai_export("stop_mirai")(task)
  },
  keeps = function() TRUE
)

# mirai is not in the tables of old distributions of R.
mirai_export <- function(name) getExportedValue("mirai", name)

future_backend <- list(
  name = "future",
  workers = function() {
    active <- requireNamespace("future", quietly = TRUE) &&
      !inherits(future::plan(), "sequential")
    if (active) future::nbrOfWorkers() else 0
  },
  start = function(message, needed) {
    tryCatch(
      future::future(
        utils::getFromNamespace("answer_message", "kernelbayes")(.kb_message),
        globals = c(needed$globals, list(.kb_message = message)), seed = NULL
      ),
      error = identity
    )
  },
  is_home = function(task) {
    tryCatch(future::resolved(task), error = function(error) TRUE)
  },
  value = function(task) future_value(task),
  cancel = function(tasks) NULL,
  keeps = function() inherits(future::plan(), "cluster")
)

# Names of objects on workers.
utils::globalVariables(".kb_message")

# A scheduler may report that a job has disappeared a moment before its result
# is there.
future_value <- function(task) {
  ask <- function() tryCatch(future::value(task), error = identity)
  value <- ask()
  if (inherits(value, "error") && !inherits(task, "ClusterFuture")) {
    Sys.sleep(1)
    value <- ask()
  }
  value
}

# The backend in use, or NULL: this process
#
# The rule is that of the package tune: the daemons of mirai if at least two
# are connected, otherwise the plan of future if it has at least two workers.
find_backend <- function() {
  for (backend in list(mirai_backend, future_backend)) {
    if (backend$workers() >= 2) {
      return(backend)
    }
  }
  tell_of_daemons()
  NULL
}

# Daemons in a queue, of which the user expects the work
tell_of_daemons <- function() {
  if (!isNamespaceLoaded("mirai") || !mirai_export("daemons_set")() ||
    mirai_backend$workers() > 0) {
    return(invisible())
  }
  kb_inform(c(
    "No daemon of mirai is connected: this process does the work.",
    i = "Daemons connect when they have started; {.code mirai::status()} counts
         them."
  ), "workers")
}

has_workers <- function() !is.null(find_backend())

# The number of tasks that can run in parallel
worker_count <- function() {
  backend <- find_backend()
  if (is.null(backend)) 1 else backend$workers()
}

# What happens on a worker: a message asks for a call of an internal function.
# An answer is a list, either of the `value`, or of the `error` of the call; or
# `missing = TRUE`, if the worker was not sent the data to which the message
# refers. It also has the `signals`, the warnings and messages of the call.

#' @param message List of the `name` of the function, its `arguments`, the
#'   `parcel` with further ones, see `new_parcel()`, and the `packages` that
#'   users' functions need.
#' @noRd
answer_message <- function(message) {
  before <- this_process$is_worker
  this_process$is_worker <- TRUE
  on.exit(this_process$is_worker <- before)
  shared <- open_parcel(message$parcel)
  if (is.null(shared)) {
    return(list(missing = TRUE))
  }
  for (package in message$packages) library(package, character.only = TRUE)
  work <- get(message$name, asNamespace("kernelbayes"))
  signals <- list()
  keep <- function(restart) {
    function(condition) {
      signals <<- c(signals, list(condition))
      invokeRestart(restart)
    }
  }
  answer <- withCallingHandlers(
    tryCatch(
      list(value = do.call(work, c(message$arguments, shared), quote = TRUE)),
      error = function(error) list(error = error)
    ),
    warning = keep("muffleWarning"), message = keep("muffleMessage")
  )
  c(answer, list(signals = signals))
}

# What this process knows of itself
this_process <- new.env(parent = emptyenv())

# Does another process wait for this one?
is_worker <- function() isTRUE(this_process$is_worker)

# Data that travel once per worker ---------------------------------------------

#' Arguments that all calls of a run have in common
#' @param shared Named list.
#' @return An environment: the `data`, a `key` by which they are known, and to
#'   how many workers they were `sent`.
#' @noRd
new_parcel <- function(shared) {
  list2env(list(key = rlang::hash(shared), data = shared, sent = 0))
}

# The data of a parcel, or NULL; a worker keeps those that came last
open_parcel <- function(parcel) {
  if (!is.null(parcel$data)) {
    this_process$parcel <- parcel
  }
  if (identical(this_process$parcel$key, parcel$key)) this_process$parcel$data
}
