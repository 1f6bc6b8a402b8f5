# Work in other processes: functions of the package called on the workers of the
# future plan, and independent tasks other than samplers. For samplers see
# R/run.R.

has_workers <- function() {
  requireNamespace("future", quietly = TRUE) &&
    !inherits(future::plan(), "sequential")
}

# The number of tasks that can run in parallel
worker_count <- function() if (has_workers()) future::nbrOfWorkers() else 1L

#' The number of chains that run at the same time in threads of this process
#' @param asked A number, or NULL: two by default. A worker has one core.
#' @noRd
threads_at_once <- function(asked) {
  if (!is.null(asked)) {
    return(asked)
  }
  if (is_worker()) {
    return(1)
  }
  cores <- getOption("mc.cores", 2)
  fine <- is.numeric(cores) && length(cores) == 1 && isTRUE(cores >= 1)
  if (!fine) bad_argument(cores, "mc.cores", "a number of threads")
  cores
}

# Does another process wait for this one?
is_worker <- function() isTRUE(this_process$is_worker)

# What this process knows of itself
this_process <- new.env(parent = emptyenv())

#' Apply an internal function to each task
#'
#' The task of a lost worker is repeated. An interrupt ends the current tasks;
#' finished tasks are kept.
#'
#' @param tasks List; only these and `shared` are sent to workers.
#' @param name Name of an internal function of a task and `shared`.
#' @param shared Data that all tasks need.
#' @param progress TRUE or FALSE; `label` precedes the bar.
#' @return List of `values`, in the order of the tasks, and which of them are
#'   `done`: all, unless there was an interrupt.
#' @noRd
map_tasks <- function(tasks, name, shared, progress = FALSE,
                      label = "Working") {
  bar <- task_bar(length(tasks), progress, label)
  on.exit(bar$close())
  out <- list(
    values = vector("list", length(tasks)), done = logical(length(tasks))
  )
  if (length(tasks) > 1 && has_workers()) {
    suspendInterrupts({
      out <- call_on_workers(
        name, lapply(tasks, list, shared), again = TRUE, took = bar$advance
      )
    })
    if (out$interrupted) {
      return(out)
    }
  }
  tasks_here(out, tasks, name, shared, bar)
}

# The unfinished tasks, one after the other in this process
tasks_here <- function(out, tasks, name, shared, bar) {
  work <- get(name, asNamespace("kernelbayes"))
  suspendInterrupts(for (i in which(!out$done)) {
    value <- tryCatch(allowInterrupts(list(work(tasks[[i]], shared))),
      interrupt = function(condition) NULL
    )
    if (is.null(value)) break
    out$values[i] <- value
    out$done[[i]] <- TRUE
    bar$advance()
  })
  out
}

# End the current task of `map_tasks()`, as an interrupt does
stop_task <- function() {
  signalCondition(structure(list(), class = c("interrupt", "condition")))
}

#' Report an interrupt, if there was one
#' @param done,all Numbers of pieces.
#' @param what Name of a piece; `made` says how the finished ones are used.
#' @noRd
report_tasks <- function(done, all, what, made) {
  if (done == all) {
    return(invisible())
  }
  if (done == 0) {
    kb_abort(c(
      "Stopped before the first {what} was finished: interrupted.",
      i = "No result is available."
    ), "interrupted")
  }
  kb_warn(c(
    "Stopped after {done} of {all} {what}s: interrupted.",
    i = made
  ), "interrupted")
}

# Futures ---------------------------------------------------------------------

#' Call an internal function on workers, once per worker at a time
#'
#' R takes interrupts whenever it waits, even if they are suspended. So it
#' sleeps instead of waiting for messages, because half a message makes a worker
#' useless.
#' @param arguments List of lists of arguments, one for each call.
#' @param again Are lost calls sent again, as long as some workers are left?
#' @param took Function called when a value is received.
#' @param told Was there already a warning of a lost worker?
#' @return List of `values`, which of them are `done`, whether there was an
#'   interrupt (`interrupted`), and whether a worker was `lost`.
#' @noRd
call_on_workers <- function(name, arguments, again = FALSE,
                            took = function() NULL, told = FALSE) {
  old <- options(future.resolved.timeout = 0)
  on.exit(options(old))
  calls <- new_calls(name, arguments, again, took, told)
  asleep <- FALSE
  interrupted <- FALSE
  tryCatch(
    while (!interrupted && send_calls(calls)) {
      asleep <- TRUE
      Sys.sleep(0.005)
      asleep <- FALSE
      collect_calls(calls)
      interrupted <- interrupt_pending()
    },
    interrupt = function(condition) {
      interrupted <<- TRUE
      if (!asleep) warn_worker("An interrupt came in the middle of a message.")
    }
  )
  list(
    values = calls$values, done = calls$done, lost = calls$lost,
    interrupted = interrupted
  )
}

# Waiting, running and finished calls: an environment
new_calls <- function(name, arguments, again, took, told) {
  n <- length(arguments)
  list2env(list(
    name = name, arguments = arguments, again = again, took = took,
    told = told, values = vector("list", n), done = logical(n), lost = FALSE,
    waiting = seq_len(n), running = list(), workers = worker_count(),
    losses = 0, needed = needed_by(arguments[1])
  ))
}

# Send as many calls as possible; is any running?
send_calls <- function(calls) {
  while (length(calls$waiting) > 0 && length(calls$running) < calls$workers) {
    i <- calls$waiting[[1]]
    calls$waiting <- calls$waiting[-1]
    task <- start_on_worker(calls$name, calls$arguments[[i]], calls$needed)
    if (inherits(task, "error")) {
      lose_call(calls, i, task)
    } else {
      calls$running[[as.character(i)]] <- task
    }
  }
  length(calls$running) > 0
}

# Collect finished calls
collect_calls <- function(calls) {
  home <- names(calls$running)[vapply(calls$running, is_home, NA)]
  for (key in home) {
    task <- calls$running[[key]]
    calls$running[[key]] <- NULL
    i <- as.integer(key)
    value <- value_from_worker(task)
    if (inherits(value, "error")) {
      lose_call(calls, i, value)
      next
    }
    calls$losses <- 0
    calls$values[i] <- value
    calls$done[[i]] <- TRUE
    calls$took()
  }
}

# When as many calls in a row are lost as there are workers, no worker is left
lose_call <- function(calls, i, error) {
  if (!calls$told) warn_worker(conditionMessage(error))
  calls$told <- calls$lost <- TRUE
  calls$losses <- calls$losses + 1
  if (calls$again) calls$waiting <- c(calls$waiting, i)
  if (calls$losses >= max(2, min(calls$workers, 20))) {
    calls$waiting <- integer()
  }
}

#' Call an internal function on a worker
#'
#' Only data are sent: the package is loaded when the work begins, not while
#' this process waits for the message to be read.
#' @param needed As of `needed_by()`.
#' @return The future, or the error of a lost worker or of a scheduler that
#'   accepts no jobs.
#' @noRd
start_on_worker <- function(name, arguments, needed) {
  globals <- c(
    needed$globals, list(.kb_name = name, .kb_arguments = arguments)
  )
  tryCatch(
    future::future(
      do.call(
        utils::getFromNamespace(.kb_name, "kernelbayes"), .kb_arguments
      ),
      globals = globals, packages = needed$packages, seed = NULL
    ),
    error = identity
  )
}

# Names of the objects sent with a future.
utils::globalVariables(c(".kb_name", ".kb_arguments"))

#' The requirements of users' functions among the arguments: objects of the
#' workspace, and attached packages
#' @return List of `globals`, a named list, and `packages`.
#' @noRd
needed_by <- function(arguments) {
  own <- user_functions(arguments)
  if (length(own) == 0) {
    return(list(globals = list(), packages = NULL))
  }
  names(own) <- paste0(".kb_function_", seq_along(own))
  found <- future::getGlobalsAndPackages(
    as.call(lapply(c("list", names(own)), as.name)),
    envir = list2env(own, parent = globalenv())
  )
  globals <- as.list(found$globals)
  list(
    globals = globals[setdiff(names(globals), names(own))],
    packages = found$packages
  )
}

# Functions that do not belong to a package, however deep in lists
user_functions <- function(x) {
  if (is.function(x)) {
    own <- typeof(x) == "closure" && !isNamespace(topenv(environment(x)))
    return(if (own) list(x))
  }
  if (is.list(x)) {
    do.call(c, lapply(unname(unclass(x)), user_functions))
  }
}

# Is a future finished? That of a lost worker is.
is_home <- function(task) {
  tryCatch(future::resolved(task), error = function(error) TRUE)
}

# A list with the value, or the error of a lost worker
#
# An error of the task itself belongs to the caller: it is in the result, and
# `value()` signals it. A scheduler may report that a job has disappeared a
# moment before its result is there.
value_from_worker <- function(task) {
  ask <- function() tryCatch(future::result(task), error = identity)
  result <- ask()
  if (inherits(result, "error") && !inherits(task, "ClusterFuture")) {
    Sys.sleep(1)
    result <- ask()
  }
  if (inherits(result, "error")) result else list(future::value(task))
}

warn_worker <- function(problem) {
  kb_warn(c(
    "A worker of the future plan may be lost.",
    x = "{problem}",
    i = "Its work is repeated, with the same result. Set the plan again, for
         example {.code future::plan(\"multisession\")}, before the next use."
  ), "worker", call = NULL)
}

task_bar <- function(total, progress, label) {
  if (!progress) {
    return(list(advance = function() NULL, close = function() NULL))
  }
  bar <- cli::cli_progress_bar(label,
    total = total, clear = TRUE, .auto_close = FALSE
  )
  list(
    advance = function() cli::cli_progress_update(id = bar),
    close = function() cli::cli_progress_done(id = bar)
  )
}
