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
