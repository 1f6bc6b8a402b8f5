# Work in other processes and threads: the choice among them, and independent
# tasks other than samplers. For samplers see R/run.R.

#' Threads and workers
#'
#' `mirai::daemons(2)` before a call, and its chains, replicates, folds or batches
#' run on two workers: other R processes on this machine or others. The result is the
#' same to the last bit, with workers, threads of this process or neither.
#' @section Threads:
#' Without workers, two chains or ladders at a time run in threads of this
#' process. Set another number by `mcmc_control(threads = )`, or for all calls by
#' `options(mc.cores = )`. Particles of [srvm()] use `smc_control(threads = )`, by
#' default 1.
#' @section Workers:
#' You choose workers with the packages mirai or future, once for all calls:
#' ```r
#' mirai::daemons(2)
#' future::plan("multisession", workers = 2)
#' ```
#' If at least two daemons of mirai are connected, they are used; otherwise the
#' plan of future, if it has at least two workers; otherwise this process. The package
#' must be installed on workers. If daemons are set but none is connected, a message
#' (`kb_message_workers`) says that this process does the work.
#'
#' | parts | of |
#' |---|---|
#' | chains | [bark()], [kgs()], `srvm(method = "mcmc")`, [select_kernel()] |
#' | ladders | [evidence()] of [bark()] and [kgs()], [select_kernel()] |
#' | replicates, kernels, orders | [srvm()], [tdsmc()], [order_spread()] |
#' | folds, settings | [cross_validate()], [calibrate()] |
#' | folds, settings | [tune_kbr()], [tune_kbr_hmm()] |
#' | chunks, batches | [kbr_chunks()], [kbr_simulate()] |
#'
#' Data are sent once to each worker. Chains and replicates work in rounds of
#' about five seconds, and each draw comes back once. The progress bar shows finished
#' rounds and tasks.
#' @section Interrupts and lost workers:
#' Ctrl-C and time limits end a call as they do without workers: the draws and tasks
#' that have come back are kept. Checkpoints are written by this process. The work of
#' a worker that is lost (killed, out of memory, a cancelled job) is repeated
#' elsewhere with the same result and a warning (`kb_warning_worker`). This process
#' does the work itself if no worker is left, or if three in a row did not survive
#' it.
#' @examples
#' data <- sim_sinc(40, seed = 1)
#' fit <- function(threads) {
#'   control <- mcmc_control(chains = 2, warmup = 100, iter = 100, threads = threads)
#'   bark(y ~ x, data, control = control, seed = 1)
#' }
#' identical(fitted(fit(1)), fitted(fit(2)))
#' @name kb_workers
NULL

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

#' Apply an internal function to each task
#'
#' The task of a lost worker is repeated. An interrupt ends the current tasks;
#' finished tasks are kept.
#' @param tasks List; only these and `shared` are sent to workers.
#' @param name Name of an internal function of a task and `shared`.
#' @param shared Data that all tasks need.
#' @param progress TRUE or FALSE; `label` precedes the bar.
#' @param backend NULL: this process does the work.
#' @return List of `values`, in the order of the tasks, and which of them are
#'   `done`: all, unless there was an interrupt.
#' @noRd
map_tasks <- function(tasks, name, shared, progress = FALSE,
                      label = "Working",
                      backend = if (length(tasks) > 1) find_backend()) {
  bar <- task_bar(length(tasks), progress, label)
  on.exit(bar$close())
  out <- list(
    values = vector("list", length(tasks)), done = logical(length(tasks))
  )
  if (!is.null(backend)) {
    suspendInterrupts({
      out <- tasks_there(backend, tasks, name, shared, bar)
    })
    if (out$interrupted) {
      return(out)
    }
  }
  tasks_here(out, tasks, name, shared, bar)
}

# Tasks on workers: one per call, but several if a new process does each call
tasks_there <- function(backend, tasks, name, shared, bar) {
  n <- length(tasks)
  calls <- if (backend$keeps()) n else min(n, 2 * backend$workers())
  bundles <- unname(split(seq_len(n), sort(rep_len(seq_len(calls), n))))
  out <- call_on_workers(
    backend, "do_tasks",
    lapply(bundles, function(i) list(tasks = tasks[i], name = name)),
    new_parcel(list(shared = shared)),
    again = TRUE, took = function(i) bar$advance(length(bundles[[i]]))
  )
  out$values <- unlist(
    Map(function(i, values) {
      if (is.null(values)) vector("list", length(i)) else values
    }, bundles, out$values),
    recursive = FALSE
  )
  out$done <- rep(out$done, lengths(bundles))
  out
}

do_tasks <- function(tasks, name, shared) {
  unname(lapply(tasks, get(name, asNamespace("kernelbayes")), shared))
}

# The unfinished tasks, one after the other in this process
tasks_here <- function(out, tasks, name, shared, bar) {
  work <- get(name, asNamespace("kernelbayes"))
  suspendInterrupts(for (i in which(!out$done)) {
    stage <- run_stage(list(work(tasks[[i]], shared)))
    if (stage$halted) break
    out$values[i] <- stage$value
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
report_tasks <- function(done, all, what, made, plural = paste0(what, "s")) {
  if (done == all) {
    return(invisible())
  }
  if (done == 0) refuse_stop(paste("before the first", what, "was finished"))
  kb_warn(c(
    "Stopped before all {plural} were finished: interrupted.",
    x = "There are {done} of {all} {plural}.", i = made
  ), "interrupted")
}

task_bar <- function(total, progress, label) {
  if (!progress) {
    return(list(advance = function(n = 1) NULL, close = function() NULL))
  }
  bar <- cli::cli_progress_bar(label,
    total = total, clear = TRUE, .auto_close = FALSE
  )
  list(
    advance = function(n = 1) cli::cli_progress_update(inc = n, id = bar),
    close = function() cli::cli_progress_done(id = bar)
  )
}

# Calls of internal functions on workers, whatever the backend.

#' Call an internal function on workers, once per worker at a time
#'
#' R takes interrupts whenever it waits, even if they are suspended. So it
#' sleeps instead of waiting for messages, because half a message makes a worker
#' useless.
#' @param backend Of `find_backend()`.
#' @param arguments List of lists of arguments, one for each call.
#' @param parcel Of `new_parcel()`; the calls of a run share it.
#' @param again Are lost calls sent again, as long as some workers are left?
#' @param took Function of the number of a call whose value was received.
#' @param told Was there already a warning of a lost worker?
#' @return List of `values`, which of them are `done`, whether there was an
#'   interrupt (`interrupted`), and whether a worker was `lost`.
#' @noRd
call_on_workers <- function(backend, name, arguments, parcel, again = FALSE,
                            took = function(i) NULL, told = FALSE) {
  old <- options(future.resolved.timeout = 0)
  on.exit(options(old))
  calls <- new_calls(backend, name, arguments, parcel, again, took, told)
  on.exit(backend$cancel(calls$running), add = TRUE)
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
new_calls <- function(backend, name, arguments, parcel, again, took, told) {
  n <- length(arguments)
  list2env(list(
    backend = backend, name = name, arguments = arguments, parcel = parcel,
    again = again, took = took, told = told, values = vector("list", n),
    done = logical(n), lost = FALSE, waiting = seq_len(n), running = list(),
    workers = max(backend$workers(), 1), losses = 0, lost_by = integer(n),
    without = integer(), seen = now(),
    needed = needed_by(c(arguments[1], parcel$data))
  ))
}

# Send as many calls as possible; is any running?
send_calls <- function(calls) {
  while (length(calls$waiting) > 0 && length(calls$running) < calls$workers) {
    i <- calls$waiting[[1]]
    calls$waiting <- calls$waiting[-1]
    task <- calls$backend$start(message_of(calls, i), calls$needed)
    if (inherits(task, "error")) {
      lose_call(calls, i, task)
    } else {
      calls$running[[as.character(i)]] <- task
    }
  }
  length(calls$running) > 0
}

# Every worker is sent the shared data when it gets its first call; which worker
# that is nobody knows, so one without them asks for them
message_of <- function(calls, i) {
  parcel <- calls$parcel
  whole <- !calls$backend$keeps() || parcel$sent < calls$workers ||
    i %in% calls$without
  if (whole) parcel$sent <- parcel$sent + 1
  list(
    name = calls$name, arguments = calls$arguments[[i]],
    parcel = mget(if (whole) c("key", "data") else "key", parcel),
    packages = calls$needed$packages
  )
}

# Collect finished calls
collect_calls <- function(calls) {
  home <- names(calls$running)[vapply(calls$running, calls$backend$is_home, NA)]
  for (key in home) {
    task <- calls$running[[key]]
    calls$running[[key]] <- NULL
    take_answer(calls, as.integer(key), calls$backend$value(task))
  }
  give_up_lost(calls)
}

take_answer <- function(calls, i, answer) {
  if (inherits(answer, "error")) {
    return(lose_call(calls, i, answer))
  }
  if (isTRUE(answer$missing)) {
    calls$without <- c(calls$without, i)
    calls$waiting <- c(i, calls$waiting)
    return()
  }
  for (signal in answer$signals) {
    if (inherits(signal, "warning")) warning(signal) else message(signal)
  }
  # An error of the call itself belongs to the caller.
  if (!is.null(answer$error)) stop(answer$error)
  calls$losses <- 0
  calls$values[i] <- list(answer$value)
  calls$done[[i]] <- TRUE
  calls$took(i)
}

# When as many calls in a row are lost as there are workers, no worker is left;
# and a call that three workers did not survive is not sent again
lose_call <- function(calls, i, error) {
  if (!calls$told) warn_worker(conditionMessage(error))
  calls$told <- calls$lost <- TRUE
  calls$losses <- calls$losses + 1
  calls$lost_by[[i]] <- calls$lost_by[[i]] + 1L
  if (calls$again && calls$lost_by[[i]] < 3) {
    calls$without <- c(calls$without, i)
    calls$waiting <- c(calls$waiting, i)
  }
  if (calls$losses >= max(2, min(calls$workers, 20))) {
    calls$waiting <- integer()
  }
}

# Tasks wait for ever if no worker is left and none comes
give_up_lost <- function(calls, patience = 10) {
  if (length(calls$running) == 0 || now() - calls$seen < 1) {
    return()
  }
  if (calls$backend$workers() > 0) {
    calls$seen <- now()
  } else if (now() - calls$seen >= patience) {
    calls$backend$cancel(calls$running)
    calls$waiting <- integer()
    for (key in names(calls$running)) {
      lose_call(calls, as.integer(key), simpleError("No worker is connected."))
    }
    calls$running <- list()
    calls$waiting <- integer()
  }
}

warn_worker <- function(problem) {
  kb_warn(c(
    "A worker may be lost.",
    x = "{problem}",
    i = "Its work is repeated, with the same result. Before the next use start
         workers again, for example by {.code future::plan(\"multisession\")}
         or {.code mirai::daemons(2)}."
  ), "worker", call = NULL)
}

# What users' functions need ---------------------------------------------------

#' The requirements of users' functions among the arguments: objects of the
#' workspace, and attached packages
#' @return List of `globals`, a named list, and `packages`.
#' @noRd
needed_by <- function(arguments) {
  out <- list(globals = list(), packages = character())
  own <- user_functions(arguments)
  while (length(own) > 0) {
    names <- unique(unlist(lapply(own, codetools::findGlobals)))
    names <- setdiff(names, names(out$globals))
    found <- mget(names, globalenv(), ifnotfound = list(NULL))
    found <- found[vapply(names, exists, NA, globalenv(), inherits = FALSE)]
    out$globals <- c(out$globals, found)
    out$packages <- union(
      out$packages, attached_homes(setdiff(names, names(found)))
    )
    own <- user_functions(found)
  }
  out
}

# The attached packages, beside those of R, in which R finds the names
attached_homes <- function(names) {
  homes <- unlist(lapply(names, function(name) utils::find(name)[1]))
  homes <- sub("package:", "", grep("^package:", homes, value = TRUE))
  setdiff(homes, c("base", "methods", getOption("defaultPackages")))
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
