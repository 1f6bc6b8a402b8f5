# All conditions of the package are signalled here. Each has its own class below
# `kb_error` or `kb_warning`, so that callers can handle it by class.

#' Abort with a classed error
#'
#' @param message Bullets for [cli::cli_abort()]: name the argument, its value
#'   and what it must be.
#' @param what The last part of the class `kb_error_<what>`.
#' @param ... Data stored in the condition.
#' @param call The frame, or the call, that the error names.
#' @param .envir Environment in which the glue in `message` is evaluated.
#' @noRd
kb_abort <- function(message, what, ..., call = user_frame(),
                     .envir = parent.frame()) {
  cli::cli_abort(ours_in(message),
    class = c(paste0("kb_error_", what), "kb_error"),
    ..., call = call, .envir = .envir
  )
}

# Warn with a classed warning; arguments as in `kb_abort()`
kb_warn <- function(message, what, ..., call = user_frame(),
                    .envir = parent.frame()) {
  cli::cli_warn(ours_in(message),
    class = c(paste0("kb_warning_", what), "kb_warning"),
    ..., call = call, .envir = .envir
  )
}

# Inform with a classed message; arguments as in `kb_abort()`
kb_inform <- function(message, what, ..., .envir = parent.frame()) {
  cli::cli_inform(ours_in(message),
    class = c(paste0("kb_message_", what), "kb_message"), ..., .envir = .envir
  )
}

# Calls of functions that other packages mask are written so that they work
# beside these: convergence() of kernlab, importance() of ranger and
# randomForest, calibrate() of rms and survey.
ours_in <- function(message) {
  masked <- "(calibrate|convergence|importance)"
  message[] <- gsub(paste0("\\{\\.fn ", masked, "\\}"),
    "{.fn kernelbayes::\\1}", message
  )
  message[] <- gsub(paste0("(^|[^.:_[:alnum:]])", masked, "\\("),
    "\\1kernelbayes::\\2(", message
  )
  message
}

# The frame of the function that the user called, which errors name: the
# package's outermost one, back to the last function of the user's own.
user_frame <- function() {
  found <- NULL
  for (i in rev(seq_len(sys.nframe() - 1))) {
    home <- environment(sys.function(i))
    if (identical(home, topenv())) {
      found <- sys.frame(i)
    } else if (!is.null(found) && identical(topenv(home), globalenv())) {
      break
    }
  }
  found
}

# A value of the C++ core, whose errors become conditions of the package
core_value <- function(expr) {
  tryCatch(expr, "C++Error" = function(error) {
    refuse_precision(conditionMessage(error), error)
  })
}

# A value whose allocation R or C++ may refuse
memory_value <- function(expr) {
  withCallingHandlers(expr, error = function(error) {
    refused <- inherits(error, "std::bad_alloc") || grepl(
      "cannot allocate|(size|length).* too large", conditionMessage(error)
    )
    if (refused && !inherits(error, "kb_error")) refuse_allocation(error)
  })
}

refuse_precision <- function(problem, error) {
  problem <- paste0(toupper(substr(problem, 1, 1)), substring(problem, 2))
  refuse_to_go_on("computation", problem, "precision", error)
}

#' @param what What cannot continue.
#' @param problem A sentence without its full stop.
#' @param class The last part of the condition's class.
#' @noRd
refuse_to_go_on <- function(what, problem, class, error) {
  if (inherits(error, "std::bad_alloc")) refuse_allocation(error)
  kb_abort(c(
    "The {what} cannot continue.",
    x = "{problem}.",
    i = "Numerical overflow or underflow is the usual cause: rescale the data
         (or use {.code scale = TRUE}), the kernel or the prior."
  ), class, parent = error)
}

# The system refused an allocation
refuse_allocation <- function(error) {
  kb_abort(c(
    "There is not enough memory.",
    x = "The system refused an allocation.",
    i = "Use fewer rows, draws or chains at a time, or a smaller {.arg rank} if
         there is one."
  ), "memory", parent = error)
}

# Abort because a Suggests package is missing
need_package <- function(package, purpose) {
  if (requireNamespace(package, quietly = TRUE)) {
    return(invisible())
  }
  kb_abort(c(
    "{purpose} needs the package {.pkg {package}}, which is not installed.",
    i = "Install it with {.code install.packages(\"{package}\")}."
  ), "package")
}
