# Independent pieces of work that are not samplers: on the workers of the future
# plan, or one after the other. Samplers have R/run.R.

#' Apply an internal function to each task
#'
#' @param tasks List; only these and `shared` are sent to workers.
#' @param name Name of an internal function of a task and `shared`.
#' @param shared What all tasks need.
#' @param progress TRUE or FALSE; `label` stands before the bar.
#' @return List of values, in the order of the tasks.
#' @noRd
map_tasks <- function(tasks, name, shared, progress = FALSE,
                      label = "Working") {
  bar <- task_bar(length(tasks), progress, label)
  on.exit(bar$close())
  if (length(tasks) < 2 || !has_workers()) {
    work <- get(name, asNamespace("kernelbayes"))
    return(lapply(tasks, function(task) {
      value <- work(task, shared)
      bar$advance()
      value
    }))
  }
  futures <- lapply(tasks, start_task, name = name, shared = shared)
  lapply(futures, function(task) {
    value <- future::value(task)
    bar$advance()
    value
  })
}

#' @noRd
start_task <- function(task, name, shared) {
  future::future(
    utils::getFromNamespace(name, "kernelbayes")(task, shared),
    globals = list(name = name, task = task, shared = shared), seed = NULL
  )
}

#' @noRd
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

#' How many pieces of work can be done at the same time
#' @noRd
worker_count <- function() if (has_workers()) future::nbrOfWorkers() else 1L
