# Code that the methods of the fit functions for formulas and for x and y share.
# The arguments of an engine are listed once, in its method for formulas; the
# method for x and y takes them from there.

# Arguments that describe the data, and arguments of a run rather than of the
# model.
data_arguments <- c(
  "formula", "data", "x", "y", "weights", "offset", "na.action", "..."
)
run_arguments <- c("control", "seed", "progress", "keep_data")

#' The arguments of the calling method, except those of the data
#' @return Named list of their values, given or by default.
#' @noRd
given_arguments <- function() {
  method <- sys.function(sys.parent())
  own <- setdiff(names(formals(method)), data_arguments)
  mget(own, envir = parent.frame())
}

#' Call a function with those of the given arguments that it has
#' @param ... Further arguments, by name.
#' @noRd
call_with <- function(f, given, ...) {
  used <- c(given[intersect(names(given), names(formals(f)))], list(...))
  do.call(f, used, quote = TRUE)
}

# The arguments that a fit keeps: all that a fit to other rows needs
fit_request <- function(given) given[setdiff(names(given), run_arguments)]
