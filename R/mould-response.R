# Responses of the rows: checks, and the stored form.

#' @srrstats {G2.2} Several columns are an error where one is wanted.
#' @srrstats {G2.5} Ordered factors are ordered classes to `bark()`, see
#'   `?bark`; `?srvm` and `?kgs` say what the levels mean.
#' @srrstats {G2.6} A vector and a matrix or table of one column are the same.
#' @noRd
NULL

outcome_kinds <- c("numeric", "factor", "ordered", "either", "any", "matrix")

# The kind of response, for engines that accept several
#
# Ordered classes are the levels of an ordered factor, if more than two.
outcome_kind <- function(y, outcome) {
  y <- single_column(y)
  many <- is.factor(y) && length(setdiff(levels(y), NA)) > 2
  classes <- is.factor(y) || is.character(y) || is.logical(y)
  switch(outcome,
    ordered = if (is.factor(y) && !many) "factor" else "ordered",
    any = if (is.ordered(y) && many) "ordered" else outcome_kind(y, "either"),
    either = if (classes) "factor" else "numeric",
    outcome
  )
}

single_column <- function(y) {
  if (is.data.frame(y) && ncol(y) == 1) y <- y[[1]]
  if (length(dim(y)) == 2 && ncol(y) == 1) y[, 1] else y
}

#' A numeric vector, a factor or a numeric matrix with one value per row
#' @param arg Its name for the user.
#' @param rows_of The user's name for the predictors.
#' @param levels Levels of the fit; NULL in fitting.
#' @noRd
check_outcome <- function(y, outcome, arg, n, rows_of, levels = NULL) {
  value <- if (outcome == "matrix") y else single_column(y)
  if (is.data.frame(value) && all(vapply(value, is.numeric, NA))) {
    value <- as.matrix(value)
  }
  fits <- switch(outcome,
    numeric = , matrix = is.numeric(value), ordered = is.factor(value),
    factor = outcome_kind(value, "either") == "factor"
  )
  most <- if (outcome == "matrix") 2 else 1
  if (!fits || length(dim(value)) > most || NCOL(value) == 0) {
    refuse_outcome(y, outcome, arg)
  }
  if (NROW(value) != n) {
    refuse(arg, "outcome",
      "must have one value per row of {.arg {rows_of}}: {n}.",
      "It has {NROW(value)}."
    )
  }
  value <- switch(outcome,
    numeric = as.double(value), matrix = outcome_matrix(value, arg),
    ordered = factor(value, setdiff(levels(value), NA), ordered = TRUE),
    factor = outcome_classes(value, levels, arg)
  )
  refuse_infinite(value, arg)
  value
}

outcome_matrix <- function(y, arg) {
  default <- position_names(NCOL(y), arg)
  names <- if (is.matrix(y) && !is.null(colnames(y))) colnames(y) else default
  names <- make.unique(ifelse(names == "", default, names))
  matrix(as.double(y), NROW(y), NCOL(y), dimnames = list(NULL, names))
}

outcome_classes <- function(y, levels, arg) {
  if (is.null(levels)) {
    if (is.character(y)) y <- factor(y, known_levels(y))
    return(factor(y, ordered = FALSE))
  }
  novel <- setdiff(as.character(y), c(levels, NA))
  if (length(novel) > 0) {
    refuse(arg, "outcome", "must have the classes of the fit: {.val {levels}}.",
      "It also has {.val {novel}}.", levels = novel
    )
  }
  factor(as.character(y), levels = levels)
}

refuse_outcome <- function(y, outcome, arg) {
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
  refuse(arg, "outcome", "is the response and must be {wanted}.",
    "It is {describe(y)}{type}.", hint
  )
}

#' Refuse responses that are not numbers: `cbind()` takes the codes of factors
#' and dates
#' @param response A call of `cbind()`.
#' @noRd
refuse_codes <- function(response, data, arg) {
  for (term in as.list(response)[-1]) {
    if (rlang::is_call(term, "cbind")) {
      refuse_codes(term, data, arg)
    } else {
      value <- translate_errors(eval(term, data, formula_scope()), arg)
      if (is.data.frame(value)) value <- value[[1]]
      if (!is.numeric(value)) {
        refuse_outcome(value, "matrix", outcome_label(term))
      }
    }
  }
}
