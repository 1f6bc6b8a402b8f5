# The seal of an object: digests of what methods and C++ rely on. Methods check it
# first, because the object may come from a file that was edited, cut short or
# written by something else. States from which runs continue, and all indices, are
# checked again where C++ reads them.

# The version of the fields of a fit; raised when a field changes meaning
fit_version <- 3L

# Version 2 had no seals
read_versions <- c(2L, fit_version)

# A fit that is not sealed yet, with what the last line of it says where the
# package is not loaded
new_object <- function(parts, class) {
  structure(parts,
    class = class, note = "library(kernelbayes) prints and predicts this fit"
  )
}

# What only tells where an object came from may be edited
unsealed <- c("seal", "version", "call", "request", "seconds")

# An object with its seal: a digest for each of its elements
sealed <- function(object) {
  # They may be the reference of another fit.
  if (inherits(object$settings, "kb_srvm_settings")) {
    object$settings$seal <- seal_of(object$settings)
  }
  if (!is.null(object$version)) object$version <- fit_version
  object$seal <- seal_of(object)
  note_checked(object)
  object
}

seal_of <- function(object) {
  parts <- unclass(object)[setdiff(names(object), unsealed)]
  stats::setNames(seal_cpp(parts), names(parts))
}

#' The fit of a method, after a check of its version and its seal
#'
#' The first call of every method.
#' @param ... The dots of the method, which must be empty.
#' @param .file The file that it was read from, if it was.
#' @noRd
checked_fit <- function(fit, ..., .file = NULL) {
  check_no_dots(..., .fn = rlang::caller_fn())
  holder <- if (is.null(.file)) "fit" else "fit in the file"
  if (!is.list(fit)) refuse_damage(holder)
  check_version(fit, .file)
  check_object(fit, holder)
  fit
}

check_version <- function(fit, file) {
  if (any(vapply(read_versions, identical, NA, fit[["version"]]))) {
    return(invisible())
  }
  holder <- if (is.null(file)) "The fit" else "The fit in {.file {file}}"
  kb_abort(c(
    paste(holder, "has version {describe(fit[['version']])}."),
    i = "This version of the package reads versions {read_versions}."
  ), "version")
}

check_object <- function(object, what = "object") {
  if (was_checked(object)) {
    return(invisible())
  }
  wanted <- object[["seal"]]
  if (!is.null(wanted) || identical(object[["version"]], fit_version)) {
    found <- seal_of(object)
    fields <- union(names(wanted), names(found))
    if (!identical(wanted, found)) {
      refuse_damage(what, Find(function(field) {
        !identical(wanted[field], found[field])
      }, fields))
    }
  }
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

#' @param field The first that is not what it was; NULL: the whole object.
#' @noRd
refuse_damage <- function(what, field = NULL) {
  where <- paste0(what, if (!is.null(field)) paste0("$", field))
  kb_abort(c(
    "The {what} is damaged: {.code {where}} is not what it was when the {what}
     was made.",
    i = "Was it edited, cut short or written by another program?"
  ), "fit", field = where)
}

#' A state from which C++ could not continue: C++ calls this too
#' @param problem Which part is not what it must be.
#' @noRd
refuse_damaged_state <- function(problem) {
  kb_abort(c(
    "The fit is damaged: {problem}.",
    i = "Was it edited, cut short or written by another program?"
  ), "fit")
}
