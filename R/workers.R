# Work in other processes and threads: the choice among them, and independent
# tasks other than samplers. For samplers see R/run.R.

#' Threads and workers
#'
#' Independent parts of a computation run at the same time, in threads of this
#' process or on workers, which are other R processes on this machine or others.
#' The result is the same to the last bit, whichever are used and however many.
#'
#' @section Threads:
#' Without workers, two chains or ladders at a time run in threads of this
#' process. Set another number by `mcmc_control(threads = )`, or for all calls by
#' `options(mc.cores = )`. Particles of [srvm()] use `smc_control(threads = )`, by
#' default 1.
#'
#' @section Workers:
#' You choose workers with the packages mirai or future, once for all calls:
#' ```r
#' mirai::daemons(2)
#' future::plan("multisession", workers = 2)
#' ```
#' If at least two daemons of mirai are connected, they are used; otherwise the
#' plan of future, if it has at least two workers; otherwise this process. The
#' package tune has the same rule. The package must be installed on workers. If
#' daemons are set but none is connected, a message (`kb_message_workers`) says
#' that this process does the work.
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
#' about five seconds, longer where workers take long to start, and each draw
#' comes back once. The progress bar shows finished rounds and tasks.
#'
#' @section Interrupts and lost workers:
#' Ctrl-C and time limits end a call as they do without workers: the draws and
#' tasks that have come back are kept. An interrupt ends all stages of a call:
#' what is finished is returned with a warning (`kb_warning_interrupted`), or if
#' nothing can be used there is an error (`kb_error_interrupted`). Checkpoints are
#' written by this process. The work of a worker that is lost (killed, out of memory, a
#' cancelled job) is repeated elsewhere with the same result and a warning of class
#' `kb_warning_worker`: a lost chain costs at most one round. This process does
#' the work itself if no worker is left, or if three in a row did not survive
#' it.
#' @examples
#' data <- sim_sinc(40, seed = 1)
#' fit <- function(threads) {
#'   bark(y ~ x, data,
#'     control = mcmc_control(
#'       chains = 2, warmup = 100, iter = 100, threads = threads
#'     ),
#'     seed = 1
#'   )
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
#'
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
