# The contents of the package's objects, described once and checked before
# methods and C++ rely on them: an object may come from a file that was edited,
# truncated or written by something else.
#
# A layout names the fields of a list in an order in which each description can
# refer to earlier fields:
# `layout(m = integers(NULL, 0), beta = numbers(sum(m)))`. Its calls are
# evaluated when an object is checked, with the fields found so far and the
# values of the caller (`at`). Fields that a layout does not name are ignored.

#' @param ... Descriptions, unevaluated; a name that starts with a dot is not a
#'   field but a value that later descriptions use.
#' @noRd
layout <- function(...) as.list(substitute(list(...)))[-1]

# Descriptions -----------------------------------------------------------------

#' @param length NULL: any.
#' @noRd
numbers <- function(length = 1, lower = -Inf, upper = Inf) {
  list(kind = "numbers", length = length, lower = lower, upper = upper)
}

# Numbers of which some may be missing or infinite
any_numbers <- function(length = 1) list(kind = "any_numbers", length = length)

positive <- function(length = 1) numbers(length, .Machine$double.xmin)

integers <- function(length = 1, lower = -.Machine$integer.max, upper = Inf) {
  list(kind = "integers", length = length, lower = lower, upper = upper)
}

counts <- function(length = 1, lower = 0, upper = Inf) {
  integers(length, lower, upper)
}

# Counts that C++ continues: far from integer overflow
tallies <- function(length = 1, lower = 0) counts(length, lower, 1e9)

#' Finite numbers
#' @param rows,columns NULL: any.
#' @noRd
numeric_matrix <- function(rows = NULL, columns = NULL) {
  list(kind = "matrix", rows = rows, columns = columns)
}

flags <- function(length = 1) list(kind = "flags", length = length)

#' @param among The possible values, or NULL.
#' @noRd
strings <- function(length = 1, among = NULL) {
  list(kind = "strings", length = length, among = among)
}

classes <- function(length, levels) {
  list(kind = "classes", length = length, levels = levels)
}

#' A list with a layout
#' @param class NULL, or a class that it must have.
#' @noRd
holds <- function(layout, class = NULL) {
  list(kind = "holds", layout = layout, class = class)
}

# A list whose elements have the same description
each <- function(of, length = NULL) {
  list(kind = "each", of = of, length = length)
}

# NULL, or a value as described
maybe <- function(of) list(kind = "maybe", of = of)

# A value as described if `condition` holds; otherwise it is not checked
where <- function(condition, of) if (isTRUE(condition)) of else anything()

anything <- function() list(kind = "anything")

#' A value for which a function returns TRUE
#' @param wanted In words, for the message.
#' @noRd
such_that <- function(test, wanted) {
  list(kind = "such_that", test = test, wanted = wanted)
}

# Of particles
unit_weights <- function(n) {
  such_that(function(w) {
    is.double(w) && length(w) == n &&
      is_within(w, list(lower = 0, upper = 1)) && abs(sum(w) - 1) < 1e-6
  }, "weights that sum to 1")
}

is_positive_number <- function(v) {
  is.double(v) && length(v) == 1 && isTRUE(v > 0)
}

# Checks -----------------------------------------------------------------------

#' Check an object against its layout, or abort with class `kb_error_fit`
#' @param at List of values that the layout's calls need.
#' @param what Name of the object in messages.
#' @noRd
check_layout <- function(object, layout, at = list(), what = "fit") {
  trail <- new.env(parent = emptyenv())
  trail$path <- what
  at <- list2env(at, parent = topenv())
  # If a description cannot be evaluated, an earlier field is damaged.
  tryCatch(
    check_fields(object, layout, at, what, trail),
    error = function(error) {
      if (inherits(error, "kb_error")) stop(error)
      broken <- inherits(error, "kb_broken_rule")
      refuse_damage(object, trail$path,
        if (broken) conditionMessage(error) else "sound"
      )
    }
  )
}

#' @param path Position of the list, for messages.
#' @noRd
check_fields <- function(object, layout, within, path, trail) {
  if (!is.list(object)) refuse_damage(object, path, "a list")
  object <- unclass(object)
  here <- new.env(parent = within)
  here$.object <- object
  names <- names(layout)
  for (i in seq_along(layout)) {
    name <- names[[i]]
    if (startsWith(name, ".")) {
      trail$path <- path
      assign(substring(name, 2), eval(layout[[i]], here), here)
      next
    }
    value <- object[[name]]
    trail$path <- c(path, name)
    wanted <- eval(layout[[i]], here)
    refuse_namesake(object, name, wanted, trail)
    check_described(value, wanted, here, trail)
    assign(name, value, here)
  }
}

# A missing field, for which `$` would return another by partial matching
refuse_namesake <- function(object, name, wanted, trail) {
  if (wanted$kind != "anything" && !name %in% names(object) &&
    any(startsWith(names(object), name))) {
    refuse_damage(NULL, trail$path, "there")
  }
}

# Conditions between fields
rule <- function(condition, wanted) {
  if (!isTRUE(condition)) {
    stop(structure(
      list(message = wanted, call = NULL),
      class = c("kb_broken_rule", "error", "condition")
    ))
  }
}

check_described <- function(value, wanted, here, trail) {
  path <- trail$path
  switch(wanted$kind,
    anything = NULL,
    maybe = if (!is.null(value)) {
      check_described(value, wanted$of, here, trail)
    },
    holds = {
      if (!is.null(wanted$class) && !inherits(value, wanted$class)) {
        refuse_damage(value, path, paste("of class", wanted$class))
      }
      check_fields(value, wanted$layout, here, path, trail)
    },
    each = {
      if (!is.list(value) || !has_length(value, wanted$length)) {
        refuse_damage(value, path, in_words(wanted))
      }
      for (i in seq_along(value)) {
        trail$path <- c(path, i)
        check_described(value[[i]], wanted$of, here, trail)
      }
    },
    if (!isTRUE(is_as_described(value, wanted))) {
      refuse_damage(value, path, in_words(wanted))
    }
  )
}

has_length <- function(value, length) {
  is.null(length) || length(value) == length
}

is_vector_of <- function(value, length) {
  is.null(dim(value)) && has_length(value, length)
}

is_as_described <- function(value, wanted) {
  switch(wanted$kind,
    numbers = is.double(value) && is_vector_of(value, wanted$length) &&
      is_within(value, wanted),
    any_numbers = is.double(value) && is_vector_of(value, wanted$length),
    integers = is.integer(value) && !is.object(value) &&
      is_vector_of(value, wanted$length) && is_within(value, wanted),
    matrix = is.double(value) && length(dim(value)) == 2 &&
      (is.null(wanted$rows) || nrow(value) == wanted$rows) &&
      (is.null(wanted$columns) || ncol(value) == wanted$columns) &&
      all_finite(value),
    flags = is.logical(value) && is_vector_of(value, wanted$length) &&
      !anyNA(value),
    strings = is.character(value) && is_vector_of(value, wanted$length) &&
      !anyNA(value) && (is.null(wanted$among) || all(value %in% wanted$among)),
    classes = is.factor(value) && has_length(value, wanted$length) &&
      identical(levels(value), wanted$levels) &&
      is_within(unclass(value), list(lower = 1, upper = length(wanted$levels))),
    such_that = tryCatch(wanted$test(value), error = function(error) FALSE)
  )
}

is_within <- function(value, wanted) {
  if (is.double(value)) {
    return(numbers_within_cpp(value, wanted$lower, wanted$upper))
  }
  length(value) == 0 ||
    isTRUE(min(value) >= wanted$lower && max(value) <= wanted$upper)
}

all_finite <- function(value) numbers_within_cpp(value, -Inf, Inf)

# Messages ---------------------------------------------------------------------

in_words <- function(wanted) {
  amount <- function(one, many) {
    n <- wanted$length
    if (is.null(n)) many else if (n == 1) one else paste(format(n), many)
  }
  bounds <- c(
    if (isTRUE(wanted$lower > -.Machine$integer.max)) {
      paste("of at least", format(wanted$lower, digits = 3))
    },
    if (isTRUE(wanted$upper < Inf)) {
      paste("up to", format(wanted$upper, digits = 3))
    }
  )
  what <- switch(wanted$kind,
    numbers = amount("a finite number", "finite numbers"),
    any_numbers = amount("a number", "numbers"),
    integers = amount("a whole number", "whole numbers"),
    matrix = paste0(
      "a matrix of finite numbers", if (!is.null(wanted$rows)) {
        paste(" with", format(wanted$rows), "rows")
      }, if (!is.null(wanted$columns)) {
        paste(" and", format(wanted$columns), "columns")
      }
    ),
    flags = amount("TRUE or FALSE", "times TRUE or FALSE"),
    strings = paste(c(
      amount("a string", "strings"),
      if (!is.null(wanted$among)) paste("among", toString(wanted$among))
    ), collapse = " "),
    classes = paste(format(wanted$length), "known classes"),
    each = if (is.null(wanted$length)) "a list" else
      paste("a list of", format(wanted$length)),
    such_that = wanted$wanted
  )
  paste(c(what, bounds), collapse = " ")
}

refuse_damage <- function(value, path, wanted) {
  where <- path_in_words(path)
  kb_abort(c(
    "The {path[[1]]} is damaged: {.code {where}} must be {wanted}.",
    x = "It is {describe(value)}.",
    i = "Was it edited, cut short or written by another program?"
  ), "fit", field = where, value = value)
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

path_in_words <- function(path) {
  index <- grepl("^[0-9]+$", path)
  steps <- ifelse(index, paste0("[[", path, "]]"), paste0("$", path))
  paste0(c(path[[1]], steps[-1]), collapse = "")
}

# Names within layouts that functions make: fields, and the value itself.
utils::globalVariables(c("hmm", ".object"))
