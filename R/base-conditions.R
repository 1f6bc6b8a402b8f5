# All conditions of the package are signalled here. Each has its own class below
# `kb_error` or `kb_warning`, so that callers can handle it by class.

#' Abort with a classed error
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

# Functions of the user's, all called here: an error, or a value that does not
# fit, says how the function is called and shows one that works. Warnings are
# told once, with their number. Interrupts pass.

# By its role: what the function is called with and must return, and an example
user_roles <- list(
  prior_sampler = c(
    "once, with the number n, and must return n states",
    "function(n) cbind(a = rnorm(n), b = runif(n))"
  ),
  simulator = c(
    "once, with all states, the rows of a matrix unless `prior_sampler` gives
     another form, and must return one row for each",
    "function(x) t(apply(x, 1, one))",
    "where `one` simulates from a single state, a row of the matrix; of a vector
     of states `function(x) t(sapply(x, one))`"
  ),
  kernel = c(
    "with two matrices of points, n x d and m x d, and must return an n x m
     matrix",
    "function(x, z) (1 + tcrossprod(x, z))^2"
  ),
  points = c(
    "once, with a matrix of points, one per row, and must return a number, or a
     row of numbers, for each",
    "function(x) x[, 1]^2"
  ),
  transitions = c(
    "with a matrix of states, one per row, and must return the next state of
     each",
    "function(x) 0.9 * x + 0.1 * rnorm(length(x))"
  ),
  log_likelihood = c(
    "with one observation, a vector, and a matrix of states, one per row, and
     must return one number for each state",
    "function(y, x) dnorm(y[1], x[, 1], 0.5, log = TRUE)"
  ),
  read = c(
    "with the number of a chunk, and must return a list of its states x and
     observations y",
    "function(i) list(x = rnorm(9, i), y = rnorm(9, i))"
  ),
  initial = c(
    "with the number n of particles and the data, and must return n states",
    "function(n, data) rnorm(n)"
  ),
  log_density = c(
    "with the states of all particles, the step t and the data, and must return
     one number for each",
    "function(states, t, data) dnorm(states, log = TRUE)"
  ),
  propose = c(
    "with the states of some particles, the step t and the data, and must return
     a state for each",
    "function(states, t, data) states + rnorm(length(states))"
  ),
  f = c(
    "once, with the states of all particles, and must return a number, or a row
     of numbers, for each",
    "function(states) states^2"
  )
)
user_roles$rejuvenate <- user_roles$propose

#' The name of a user's function in messages
#' @param role A name of `user_roles`, or of none.
#' @param errors Classes of its errors besides "user_function".
#' @noRd
of_argument <- function(arg, role = arg, errors = NULL) {
  structure(paste0("`", arg, "`"), role = role, errors = errors, arg = arg)
}

of_target <- function(name) {
  structure(paste0("`", name, "()` of the target"), role = name)
}

of_move <- function(name, move) {
  structure(paste0("`", name, "()` of the move \"", move, "\""), role = name)
}

#' Call a function of the user's
#' @param what As of `of_argument()`, `of_target()` or `of_move()`.
#' @param t The step, or NULL.
#' @noRd
call_user <- function(f, what, t, ...) {
  said <- character()
  on.exit(for (text in unique(said)) {
    warn_user(as.character(what), text, sum(said == text))
  })
  withCallingHandlers(
    tryCatch(f(...), error = function(error) {
      if (inherits(error, "kb_error_interrupted")) stop(error)
      refuse_user(
        what, paste0("failed", at_step(t)), conditionMessage(error), t,
        parent = error
      )
    }),
    warning = function(w) {
      if (!inherits(w, "kb_warning")) {
        said <<- c(said, conditionMessage(w))
        tryInvokeRestart("muffleWarning")
      }
    }
  )
}

at_step <- function(t) if (!is.null(t)) paste(" at step", t)

# A value that does not fit
refuse_value <- function(what, t, wanted, came) {
  comma <- if (!is.null(t)) ","
  refuse_user(
    what, paste0("must return ", wanted, comma, at_step(t)),
    paste0("It returned ", came, "."), t
  )
}

refuse_user <- function(what, problem, detail, t, ...) {
  name <- as.character(what)
  role <- user_roles[[c(attr(what, "role"), "none")[[1]]]]
  kb_abort(c(
    "{name} {problem}.",
    x = "{detail}",
    i = if (!is.null(role)) "It is called {role[[1]]}.",
    i = if (!is.null(role)) "For example {.code {role[[2]]}}{role_more(role)}."
  ), c(attr(what, "errors"), "user_function"), ...,
  user_function = name, argument = attr(what, "arg"), step = t,
  call = if (is.null(t)) user_frame())
}

role_more <- function(role) if (length(role) > 2) paste0(", ", role[[3]])

warn_user <- function(name, text, count) {
  kb_warn(c(
    "A function of yours gave warnings.",
    x = "{name} gave {count} warning{?s}: {text}"
  ), "user_function", user_function = name, text = text, count = count)
}

# Warnings of users' functions once each, however often they are called
tell_once <- function(expr) {
  seen <- list()
  value <- withCallingHandlers(expr, kb_warning_user_function = function(w) {
    key <- paste(w$user_function, w$text)
    if (is.null(seen[[key]]) && length(seen) == 10) key <- "others"
    count <- w$count + if (is.null(seen[[key]])) 0 else seen[[key]]$count
    seen[[key]] <<- list(
      name = w$user_function,
      text = if (key == "others") "Various warnings." else w$text,
      count = count
    )
    tryInvokeRestart("muffleWarning")
  })
  for (one in seen) do.call(warn_user, one)
  value
}

takes <- function(f, name) name %in% names(formals(f))

# Words that print() and messages share ----------------------------------------

shorten <- function(text, most = 62) {
  if (nchar(text) > most) paste0(substr(text, 1, most - 3), "...") else text
}

# As many whole items as fit on one line: a truncated number would be wrong
as_many_as_fit <- function(items, what = "", most = 62) {
  fits <- nchar(what) + cumsum(nchar(items) + 2) - 2 <= most
  shorten(paste0(what, paste(items[fits | !any(fits)], collapse = ", ")), most)
}

percent <- function(v) {
  paste0(vapply(100 * v, format, "", digits = 2), "%")
}

counted <- function(n, what) paste0(n, " ", what, if (n != 1) "s")

# Texts that continue below each other, beside the labels
in_column <- function(lines) {
  paste(
    unlist(lapply(lines, strwrap, width = 64)),
    collapse = "\n                "
  )
}

format_bytes <- function(bytes) {
  if (!is.finite(bytes)) {
    return("any size")
  }
  unit <- c("bytes", "kB", "MB", "GB", "TB", "PB")
  power <- min(max(floor(log(max(bytes, 1), 1000)), 0), length(unit) - 1)
  paste(format(bytes / 1000^power, digits = 2), unit[[power + 1]])
}
