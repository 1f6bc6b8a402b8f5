# The packages that run work in other processes. A backend is a list of
# functions:
# * `workers()`: how many there are now;
# * `start(message, needed)`: a task that answers a message, see
#   worker-side.R, with the objects and packages of `needed_by()`;
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

#' The backend in use, or NULL: this process
#'
#' The rule is that of the package tune: the daemons of mirai if at least two
#' are connected, otherwise the plan of future if it has at least two workers.
#' @noRd
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
