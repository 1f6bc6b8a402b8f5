# Check of an object at the start of every method, because the object may come
# from a file: its version, and the layout of its class.

#' The layout of an object
#' @return List of `layout` and `at`, the values that its calls need; or NULL.
#' @noRd
object_layout <- function(object) UseMethod("object_layout")

#' @export
object_layout.default <- function(object) NULL

#' @export
object_layout.kb_srvm <- function(object) {
  list(
    layout = srvm_layout,
    at = list(
      control_layout = smc_control_layout, layout_of_run = srvm_run_layout
    )
  )
}

#' @export
object_layout.kb_srvm_mcmc <- function(object) {
  list(
    layout = srvm_layout,
    at = list(
      control_layout = mcmc_control_layout,
      layout_of_run = srvm_chain_run_layout
    )
  )
}

#' @export
object_layout.kb_bark <- function(object) {
  list(layout = bark_layout, at = list(layout_of_run = bark_run_layout))
}

#' @export
object_layout.kb_bark_multinomial <- function(object) {
  list(layout = bark_layout, at = list(layout_of_run = bark_fields_run_layout))
}

#' @export
object_layout.kb_kgs <- function(object) {
  list(layout = kgs_layout, at = list(layout_of_run = kgs_run_layout))
}

#' @export
object_layout.kb_kgs_noisy <- function(object) {
  list(layout = kgs_layout, at = list(layout_of_run = noisy_run_layout))
}

#' @export
object_layout.kb_tdsmc <- function(object) list(layout = tdsmc_layout)

#' @export
object_layout.kb_kbr <- function(object) {
  list(layout = kbr_layout)
}

#' @export
object_layout.kb_bayes_point <- function(object) {
  list(layout = bayes_point_layout)
}

#' @export
object_layout.kb_kbr_hmm <- function(object) list(layout = kbr_hmm_layout)

#' @export
object_layout.kb_hmm_adjusted <- function(object) {
  list(layout = hmm_adjusted_layout)
}

#' @export
object_layout.kb_hmm_particles <- function(object) {
  list(
    layout = particles_layout,
    at = list(
      times = NROW(object$mean),
      type = grep("^kb_kbr_(filter|smooth|forecast)$", class(object),
        value = TRUE
      )
    )
  )
}

#' @export
object_layout.kb_kbr_filter <- function(object) {
  path_layout(object, filter_layout, length(object$kind))
}

#' @export
object_layout.kb_kbr_smooth <- function(object) {
  path_layout(object, smooth_layout, length(object$sum))
}

#' @export
object_layout.kb_kbr_forecast <- function(object) {
  path_layout(object, forecast_layout, length(object$sum))
}

path_layout <- function(object, layout, times) {
  list(layout = c(layout(
    hmm = holds(kbr_hmm_layout, "kb_kbr_hmm"),
    .rank_x = ncol(hmm$pairs$from), .rank_y = observation_rank(hmm)
  ), layout), at = list(times = times))
}

#' @export
object_layout.kb_cond_embedding <- function(object) {
  list(layout = cond_embedding_layout)
}

#' @export
object_layout.kb_kernel_mean <- function(object) {
  list(layout = kernel_mean_layout)
}

#' The fit of a method, after a check of its version and contents
#'
#' The first call of every method: see fit-layout.R. States from which runs
#' continue are checked where C++ reads them.
#' @param ... The dots of the method, which must be empty.
#' @param .file The file that it was read from, if it was.
#' @noRd
checked_fit <- function(fit, ..., .file = NULL) {
  check_no_dots(..., .fn = rlang::caller_fn())
  holder <- if (is.null(.file)) "fit" else "fit in the file"
  if (!is.list(fit)) refuse_damage(fit, holder, "a list")
  check_version(fit, .file)
  check_object(fit, holder)
  fit
}

check_version <- function(fit, file) {
  if (identical(fit$version, fit_version)) {
    return(invisible())
  }
  holder <- if (is.null(file)) "The fit" else "The fit in {.file {file}}"
  kb_abort(c(
    paste(holder, "has layout version {describe(fit$version)}."),
    i = "This version of the package reads version {fit_version}."
  ), "version")
}

# Check what an object holds against the layout of its class
check_object <- function(object, what = "object") {
  if (was_checked(object)) {
    return(invisible())
  }
  known <- object_layout(object)
  if (is.null(known)) {
    return(invisible())
  }
  at <- c(list(fit = object), known$at)
  check_layout(object, known$layout, at, what)
  note_checked(object)
}

# The last objects that passed the check. An object identical to one of them is
# not checked again: identical() of the same object costs nothing, so that
# methods called in a loop, or by each other, are checked once.
checked <- new.env(parent = emptyenv())
checked$objects <- list()

was_checked <- function(object) {
  for (known in checked$objects) {
    # Compare the runs first: there refits differ.
    if (identical(known[["runs"]], object[["runs"]]) &&
      identical(known, object)) {
      return(TRUE)
    }
  }
  FALSE
}

# Large objects are not kept alive: the check is cheap compared with their
# methods
note_checked <- function(object, most = 4, bytes = 2e7) {
  if (utils::object.size(object) > bytes) {
    return(invisible())
  }
  checked$objects <- utils::head(c(list(object), checked$objects), most)
}
