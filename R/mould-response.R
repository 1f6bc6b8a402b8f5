# Responses and weights of the rows: what is accepted, what is stored.

#' @srrstats {G2.2} A response of several columns is an error where one is
#'   wanted.
#' @srrstats {G2.5} Ordered factors are ordered classes to `bark()`, see
#'   `?bark`; `?srvm` and `?kgs` say what the levels mean.
#' @srrstats {G2.6} A vector of one dimension, a matrix or table of one column
#'   and their classes are the same response.
#' @noRd
NULL

outcome_kinds <- c("numeric", "factor", "ordered", "either", "any", "matrix")

# Responses -------------------------------------------------------------------

#' A numeric vector or a factor with one value a row
#'
#' @param y What came: a vector, or a table with one column.
#' @param levels Levels of the fit; NULL in fitting.
#' @noRd
check_outcome <- function(y, outcome, arg, n, rows_of = NULL, levels = NULL,
                          call) {
  if (outcome == "matrix") {
    return(check_outcome_matrix(y, arg, n, rows_of, call))
  }
  given <- y
  if (is.data.frame(y) && ncol(y) == 1) {
    y <- y[[1]]
  }
  if (length(dim(y)) == 2 && ncol(y) == 1) {
    y <- y[, 1]
  }
  fits <- if (outcome == "numeric") {
    is.numeric(y)
  } else if (outcome == "ordered") {
    is.factor(y)
  } else {
    is.factor(y) || is.character(y) || is.logical(y)
  }
  if (!fits || length(dim(y)) > 1) {
    refuse_outcome(given, outcome, arg, call)
  }
  check_outcome_rows(length(y), arg, n, rows_of, call)
  if (outcome == "numeric") {
    y <- as.double(y)
    refuse_infinite(y, arg, call)
    return(y)
  }
  if (outcome == "ordered") {
    return(factor(y, setdiff(levels(y), NA), ordered = TRUE))
  }
  check_classes(y, levels, arg, call)
}

#' @noRd
check_outcome_rows <- function(found, arg, n, rows_of, call) {
  if (found != n) {
    where <- if (is.null(rows_of)) "the data" else rows_of
    kb_abort(c(
      "{.arg {arg}} must have one value per row of {.arg {where}}: {n}.",
      x = "It has {found}."
    ), "outcome", argument = arg, call = call)
  }
}

#' Numeric columns; a vector is one
#' @noRd
check_outcome_matrix <- function(y, arg, n, rows_of, call) {
  if (is.data.frame(y) && all(vapply(y, is.numeric, NA))) y <- as.matrix(y)
  if (!is.numeric(y) || length(dim(y)) > 2 || NCOL(y) == 0) {
    refuse_outcome(y, "matrix", arg, call)
  }
  check_outcome_rows(NROW(y), arg, n, rows_of, call)
  names <- colnames(y)
  y <- matrix(as.double(y), n, NCOL(y))
  if (is.null(names)) names <- position_names(ncol(y), arg)
  empty <- names == ""
  names[empty] <- position_names(ncol(y), arg)[empty]
  colnames(y) <- make.unique(names)
  refuse_infinite(y, arg, call)
  y
}

#' Terms of a response must be numbers: `cbind()` takes the codes of factors and
#' dates
#' @param response A call of `cbind()`.
#' @noRd
refuse_codes <- function(response, data, call) {
  for (term in as.list(response)[-1]) {
    if (rlang::is_call(term, "cbind")) {
      refuse_codes(term, data, call)
      next
    }
    value <- translate_errors(
      eval(term, data, formula_scope()), "data", call
    )
    if (is.data.frame(value)) value <- value[[1]]
    if (!is.numeric(value)) {
      refuse_outcome(value, "matrix", outcome_label(term), call)
    }
  }
}

#' @noRd
refuse_outcome <- function(y, outcome, arg, call) {
  wanted <- c(
    numeric = "a numeric vector",
    factor = "a factor (or a character or logical vector)",
    ordered = "a factor, with its levels in their order",
    matrix = "numeric: a vector, or a matrix or data frame of such columns"
  )[[outcome]]
  type <- if (is.atomic(y) && !is.null(dim(y))) paste(" of type", typeof(y))
  hint <- if (outcome == "factor" && is.numeric(y)) {
    "Use {.fun factor} to make classes of numbers."
  } else if (outcome == "ordered") {
    "Use {.fun factor} with {.arg levels} and {.code ordered = TRUE}."
  }
  kb_abort(c(
    "The response {.arg {arg}} must be {wanted}.",
    x = "It is {describe(y)}{type}.", i = hint
  ), "outcome", argument = arg, call = call)
}

#' @noRd
check_classes <- function(y, levels, arg, call) {
  if (is.null(levels)) {
    if (is.character(y)) {
      return(factor(y, sort(unique(y), method = "radix")))
    }
    return(factor(y, ordered = FALSE))
  }
  novel <- setdiff(as.character(y), c(levels, NA))
  if (length(novel) > 0) {
    kb_abort(c(
      "The response {.arg {arg}} must have the classes of the fit:
       {.val {levels}}.",
      x = "It also has {.val {novel}}."
    ), "outcome", argument = arg, levels = novel, call = call)
  }
  factor(as.character(y), levels = levels)
}

#' What a response is where the engine takes both kinds, or ordered classes too
#'
#' Those are all levels of an ordered factor, if they are more than two.
#' @noRd
outcome_kind <- function(y, outcome) {
  if (is.data.frame(y) && ncol(y) == 1) y <- y[[1]]
  many <- is.factor(y) && length(setdiff(levels(y), NA)) > 2
  if (outcome == "ordered" && is.factor(y) && !many) {
    return("factor")
  }
  if (!outcome %in% c("either", "any")) {
    return(outcome)
  }
  if (outcome == "any" && is.ordered(y) && many) {
    return("ordered")
  }
  if (is.factor(y) || is.character(y) || is.logical(y)) "factor" else "numeric"
}

# Weights ----------------------------------------------------------------------

#' Weights of the rows: looked up in the data first, as by `lm()`
#' @noRd
evaluate_weights <- function(weights, data, call) {
  value <- tryCatch(rlang::eval_tidy(weights, data), error = function(error) {
    kb_abort(c(
      "{.arg weights} cannot be evaluated.",
      x = "{conditionMessage(error)}."
    ), "argument", argument = "weights", call = call)
  })
  check_weights(value, nrow(data), "data", call = call)
}

#' NULL, or positive finite numbers, one a row; NA where they are missing
#' @noRd
check_weights <- function(weights, n, rows_of, call = rlang::caller_env()) {
  if (is.null(weights)) {
    return(NULL)
  }
  known <- if (is.numeric(weights)) weights[!is.na(weights)]
  fine <- is.numeric(weights) && is.null(dim(weights)) &&
    length(weights) == n && all(is.finite(known)) && all(known > 0) &&
    !any(is.nan(weights))
  if (!fine) {
    bad_argument(weights, "weights", paste0(
      "positive finite numbers, one a row of `", rows_of, "` (", n, ")"
    ), call)
  }
  as.double(weights)
}
