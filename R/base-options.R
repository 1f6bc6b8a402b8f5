# Options of settings and priors: tables with one row each, from which their makers,
# print() and prior_summary() follow.
#
# * `check`: a function of the value, of all options and of the option's name. It
#   returns the cleaned value, and in place of NULL what the user left open.
# * `word`: what print() and prior_summary() call it, if anything.
# * `show`: what print() says after the word, a function of the value and of all
#   options; NULL: print() omits it.
#
# Options that others depend on come first. Their defaults, and the choices of
# strings, are those of the maker's arguments.

option <- function(check, word = NULL, show = as_text) {
  list(check = check, word = word, show = show)
}

as_text <- function(value, all) if (!is.null(value)) toString(format(value))

#' A check of one value for a row
#' @param check A function of the value that aborts or returns it cleaned.
#' @param ... Its further arguments.
#' @param null NULL if the value must be given, or a function of all options that
#'   returns what it is in place of NULL.
#' @noRd
check_by <- function(check, ..., null = NULL) {
  force(null)
  named <- "arg" %in% names(formals(check))
  function(value, all, name) {
    if (is.null(value) && !is.null(null)) {
      return(null(all))
    }
    if (named) check(value, ..., arg = name) else check(value, ...)
  }
}

# One of the strings that are the default of the maker's argument
choice_of <- function(maker) {
  force(maker)
  function(value, all, name) check_choice(value, eval(formals(maker)[[name]]), name)
}

# NULL stays, for the fit to decide
left_open <- function(all) NULL

# The arguments of the function that calls this, checked, in their order
given_options <- function(rows) {
  names <- intersect(names(formals(rlang::caller_fn())), names(rows))
  check_options(rows, mget(names, rlang::caller_env()))
}

check_options <- function(rows, values) {
  for (name in names(rows)) {
    values[name] <- list(rows[[name]]$check(values[[name]], values, name))
  }
  values
}

print_options <- function(x, rows) {
  title <- sub("^kb_", "", class(x)[[1]])
  cat("<", title, ">\n", option_lines(x, rows), sep = "")
  invisible(x)
}

# NULL if there are none
option_lines <- function(values, rows) {
  unlist(lapply(names(rows), function(name) {
    row <- rows[[name]]
    shown <- if (!is.null(row$word)) row$show(values[[name]], values)
    if (!is.null(shown)) paste0("  ", row$word, ": ", shown, "\n")
  }))
}

# Named by the options
option_words <- function(rows) unlist(lapply(rows, `[[`, "word"))
