# From a formula and a data frame, or from x and y, to a numeric matrix and a
# response; and the same way for new data. hardhat evaluates formulas; what it
# leaves open (missing and infinite values, levels, matching by position) is
# settled here, the same for every engine. Tables, rows and columns are in
# mould-columns.R, formulas in mould-formula.R, responses and weights in
# mould-response.R.
#
# Classes of the errors: kb_error_data (not a table, names, types),
# kb_error_formula, kb_error_outcome, kb_error_columns (new data do not have
# the columns of the fit), kb_error_missing, kb_error_infinite, kb_error_rows.

#' @srrstats {G2.8} All engines take formulas, matrices, data frames and vectors
#'   through this one way.
#' @srrstats {G2.13} Missing values are found here, before any engine sees the
#'   data.
#' @srrstats {G2.14} `na_action` of all fit functions.
#' @srrstats {G2.14a} `na_action = "fail"`, the default, is an error that names
#'   rows and columns.
#' @srrstats {G2.14b} `na_action = "omit"` leaves rows out; the fit knows which.
#' @srrstats {G2.15} No function assumes complete data: fit functions check
#'   them, rows with `NA` predict `NA`.
#' @srrstats {G2.16} `Inf` and `NaN` are errors that name the column.
#' @srrstats {BS2.1} Numbers of rows of predictors, response and weights are
#'   compared.
#' @srrstats {BS3.0} Help pages of all fit functions say what happens to missing
#'   values, under `na_action`.
#' @srrstats {RE2.0} Indicators of factors are said in `?srvm`; `scale = FALSE`
#'   leaves the data untouched.
#' @srrstats {RE2.1} `na_action` for `NA`; `Inf` and `NaN` are errors.
#' @srrstats {RE2.2} Rows whose response is missing are left out in fitting and
#'   can be predicted; in `update()` likewise.
#' @srrstats {RE4.12} The scaling is part of the fit and undone in all that it
#'   gives.
#' @srrstats {RE4.13} The mould of the predictors and the rows themselves are
#'   part of the fit.
#' @noRd
NULL

# The mould -------------------------------------------------------------------

#' Mould a formula and a data frame
#'
#' @param outcome What the engine models, "numeric", "factor" or "ordered",
#'   "any" of the three, "matrix", or "either":
#'   the mould then says which it is; or "matrix": numeric columns, in a formula
#'   `a + b ~ x`.
#' @param weights NULL, or a quosure that gives the rows' weights from `data`.
#' @return List of class `kb_mould`, plain data only: `x` (numeric matrix with
#'   column names, without intercept), `y` (numeric or factor), `weights` (or
#'   NULL), `interface`,
#'   `blueprint` (hardhat's; NULL for x/y), `columns` (kind and levels of each
#'   predictor given), `pinned` (terms computed in the formula whose levels are
#'   frozen), `x_names`, `positional`, `n_rows` (given), `omitted` (their
#'   indices), `row_names` (of the rows of `x`, or NULL), `outcome`,
#'   `outcome_name`, `outcome_columns`, `outcome_terms`, `formula`, `levels`.
#' @noRd
mould_formula <- function(formula, data, na_action = c("fail", "omit"),
                          outcome = outcome_kinds,
                          weights = NULL, call = rlang::caller_env()) {
  na_action <- check_choice(na_action, c("fail", "omit"), call = call)
  outcome <- check_choice(outcome, outcome_kinds, call = call)
  if (missing(data)) {
    kb_abort(c(
      "{.arg data} is missing.",
      i = "It must be a data frame with the columns of {.arg formula}."
    ), "data", call = call)
  }
  data <- check_table(data, "data", call)
  row_names <- given_row_names(data)
  parts <- read_formula(
    if (outcome == "matrix") bind_outcomes(formula) else formula, data, call
  )
  parts$outcome_name <- outcome_label(rlang::f_lhs(formula))
  weights <- evaluate_weights(weights, data, call)
  data <- data[unique(c(parts$outcomes, parts$predictors))]
  check_columns(data, parts$bare, "data", call)
  refuse_infinite(data, "data", call)
  keep <- which(rows_kept(data, na_action, "data", call) &
    weights_kept(weights, na_action, call))
  data <- data[keep, , drop = FALSE]
  columns <- learn_columns(data[parts$predictors], parts$bare)
  check_levels(columns, nrow(data), "data", call)
  data[parts$predictors] <- clean_columns(
    data[parts$predictors], columns, "data", call
  )

  molded <- mold_pinned(parts$formula, data, call)
  if (outcome == "matrix") {
    refuse_shared(parts, call)
    refuse_codes(parts$response, data, call)
  }
  response <- mold_outcome(parts$response, data, call)
  x <- molded$x
  outcome <- outcome_kind(response$y, outcome)
  y <- check_outcome(
    response$y, outcome, parts$outcome_name, nrow(x), call = call
  )
  finished <- finish_rows(x, y, na_action, "data", parts$outcome_name, call)
  new_mould(
    x[finished, , drop = FALSE], outcome_rows(y, finished), "formula", outcome,
    weights = weights[keep][finished], blueprint = molded$blueprint,
    columns = columns, pinned = molded$pinned,
    kept = keep[finished], n_rows = parts$n_rows, row_names = row_names,
    outcome_name = parts$outcome_name, outcome_columns = parts$outcomes,
    outcome_terms = response$terms, formula = plain_formula(formula)
  )
}

#' Mould predictors and a response
#'
#' `x` is a numeric matrix, a data frame (factors, characters and logicals
#' welcome) or a numeric vector for one column.
#' @param args What the user calls predictors and response.
#' @noRd
mould_xy <- function(x, y, na_action = c("fail", "omit"),
                     outcome = outcome_kinds, weights = NULL,
                     args = c("x", "y"), call = rlang::caller_env()) {
  na_action <- check_choice(na_action, c("fail", "omit"), call = call)
  outcome <- check_choice(outcome, outcome_kinds, call = call)
  if (missing(y)) {
    kb_abort(c(
      "{.arg {args[[2]]}} is missing.",
      i = "It must have one value per row of {.arg {args[[1]]}}."
    ), "outcome", argument = args[[2]], call = call)
  }
  row_names <- given_row_names(x)
  if (is.null(row_names)) row_names <- given_row_names(y)
  x <- check_predictors(x, args[[1]], call)
  n_rows <- nrow(x)
  positional <- is.null(colnames(x))
  if (positional) {
    colnames(x) <- position_names(ncol(x), args[[1]])
  }
  outcome <- outcome_kind(y, outcome)
  y <- check_outcome(y, outcome, args[[2]], n_rows, args[[1]], call = call)
  weights <- check_weights(weights, n_rows, args[[1]], call = call)
  check_columns(x, colnames(x), args[[1]], call)
  refuse_infinite(x, args[[1]], call)
  kept <- which(rows_kept(x, na_action, args[[1]], call) &
    rows_kept(name_outcome(y, args[[2]]), na_action, args[[2]], call) &
    weights_kept(weights, na_action, call))
  x <- x[kept, , drop = FALSE]
  refuse_no_rows(x, args[[1]], call)
  y <- outcome_rows(y, kept)
  columns <- learn_columns(x, colnames(x))
  check_levels(columns, nrow(x), args[[1]], call)
  x <- indicator_matrix(clean_columns(x, columns, args[[1]], call))
  finished <- finish_rows(x, y, na_action, args[[1]], args[[2]], call)
  new_mould(
    x[finished, , drop = FALSE], outcome_rows(y, finished), "xy", outcome,
    weights = weights[kept][finished], columns = columns,
    positional = positional, kept = kept[finished], n_rows = n_rows,
    row_names = row_names, outcome_name = args[[2]]
  )
}

#' @noRd
new_mould <- function(x, y, interface, outcome, weights = NULL,
                      blueprint = NULL, columns,
                      pinned = character(), positional = FALSE, kept, n_rows,
                      row_names = NULL, outcome_name, outcome_columns = NULL,
                      outcome_terms = NULL, formula = NULL) {
  dimnames(x) <- list(NULL, make.unique(colnames(x)))
  if (is.factor(y) && outcome != "ordered") {
    y <- droplevels(y)
  }
  # New responses are matched to the levels of the fit.
  if (outcome == "ordered") outcome <- "factor"
  structure(
    list(
      x = x, y = y, weights = weights, interface = interface,
      blueprint = blueprint, columns = columns, pinned = pinned,
      x_names = colnames(x),
      positional = positional, n_rows = n_rows,
      omitted = setdiff(seq_len(n_rows), kept), row_names = row_names[kept],
      outcome = outcome,
      outcome_name = outcome_name, outcome_columns = outcome_columns,
      outcome_terms = outcome_terms, formula = formula, levels = levels(y)
    ),
    class = "kb_mould"
  )
}

#' The mould without its rows: all that `mould_forge()` needs
#' @param rows Does the fit hold these rows, whose names are kept then?
#' @noRd
mould_empty <- function(mould, rows = TRUE) {
  # Not removed: `mould$x` would then match `mould$x_names` in part.
  mould[c("x", "y", "weights", if (!rows) "row_names")] <- list(NULL)
  mould
}

# New data --------------------------------------------------------------------

#' Bring new data into the shape of a mould
#'
#' @param outcome Also the response (formula moulds): for `update()`.
#' @return List of `x` (matrix with as many rows as `newdata`; a row with a
#'   missing value or a novel level is NA throughout), `y` (or NULL), `complete`
#'   (logical, one per row) and `names` (of the rows, or NULL).
#' @noRd
mould_forge <- function(mould, newdata, outcome = FALSE, arg = "newdata",
                        call = rlang::caller_env()) {
  forged <- if (mould$interface == "formula") {
    forge_formula(mould, newdata, outcome, arg, call)
  } else if (outcome) {
    kb_abort(c(
      "{.arg {arg}} cannot hold the response: the model was fitted to x and y.",
      i = "Give the new rows as {.arg newx} and {.arg newy}."
    ), "interface", call = call)
  } else {
    forge_xy(mould, newdata, arg, call)
  }
  c(forged, list(names = given_row_names(newdata)))
}

#' New rows given as predictors and response, for `update()`
#' @noRd
mould_forge_xy <- function(mould, newx, newy, call = rlang::caller_env()) {
  transformed <- mould$interface == "formula" &&
    !identical(mould$outcome_name, mould$outcome_columns)
  if (transformed) {
    kb_abort(c(
      "{.arg newy} is ambiguous: the response is {.code {mould$outcome_name}}.",
      i = "Give the new rows as {.arg newdata}, a data frame with the columns
           {.val {mould$outcome_columns}}."
    ), "interface", call = call)
  }
  forged <- mould_forge(mould, newx, arg = "newx", call = call)
  forged$y <- check_outcome(newy, mould$outcome, "newy", nrow(forged$x),
    "newx",
    levels = mould$levels, call = call
  )
  forged$complete <- forged$complete & stats::complete.cases(forged$y)
  forged
}

#' @noRd
forge_formula <- function(mould, newdata, outcome, arg, call) {
  if (is.matrix(newdata) && !is.null(colnames(newdata))) {
    newdata <- as.data.frame(newdata)
  }
  newdata <- check_table(newdata, arg, call)
  needed <- names(mould$columns)
  wanted <- c(needed, if (outcome) mould$outcome_columns)
  newdata <- pick_columns(newdata, unique(wanted), arg, call)
  check_columns(newdata, character(), arg, call)
  refuse_infinite(newdata, arg, call)
  newdata[needed] <- clean_columns(newdata[needed], mould$columns, arg, call)
  complete <- stats::complete.cases(newdata)
  forged <- forge_complete(
    mould, newdata[complete, , drop = FALSE], outcome, arg, call
  )
  x <- matrix(NA_real_, nrow(newdata), length(mould$x_names),
    dimnames = list(NULL, mould$x_names)
  )
  x[complete, ] <- forged$x
  y <- outcome_rows(forged$y, match(seq_len(nrow(x)), which(complete)))
  complete <- stats::complete.cases(x)
  if (outcome) {
    complete <- complete & stats::complete.cases(y)
  }
  list(x = blank_rows(x), y = y, complete = complete)
}

#' @noRd
forge_complete <- function(mould, data, outcome, arg, call) {
  if (nrow(data) == 0) {
    empty <- list(
      numeric = double(), factor = factor(levels = mould$levels),
      matrix = matrix(0, 0, length(mould$outcome_columns))
    )
    return(list(x = NULL, y = if (outcome) empty[[mould$outcome]]))
  }
  if (has_plain_columns(mould)) {
    x <- as.matrix(data[mould$x_names])
    storage.mode(x) <- "double"
  } else {
    x <- evaluate_predictors(mould, data, arg, call)
  }
  y <- NULL
  if (outcome) {
    y <- evaluate_outcome(mould$outcome_terms, data, arg, call)$y
    y <- check_outcome(y, mould$outcome, mould$outcome_name, nrow(data),
      levels = mould$levels, call = call
    )
    refuse_infinite(name_outcome(y, mould$outcome_name), arg, call)
  }
  list(x = x, y = y)
}

#' Are the predictors numeric columns of the data, with nothing to evaluate?
#' @noRd
has_plain_columns <- function(mould) {
  identical(names(mould$columns), mould$x_names) &&
    all(vapply(mould$columns, `[[`, "", "kind") == "numeric")
}

#' @noRd
evaluate_predictors <- function(mould, data, arg, call) {
  forged <- translate_errors(
    hardhat::forge(data, mould$blueprint), arg, call
  )
  x <- forged$predictors
  colnames(x) <- make.unique(plain_names(colnames(x)))
  if (!identical(colnames(x), mould$x_names)) {
    kb_abort(c(
      "The formula gives other columns on {.arg {arg}} than in fitting.",
      x = "Now: {.val {colnames(x)}}.",
      i = "In fitting: {.val {mould$x_names}}."
    ), "columns", call = call)
  }
  refuse_infinite(x, arg, call)
  warn_novel_pinned(x, mould$pinned, arg, call)
  x
}

#' @noRd
forge_xy <- function(mould, newdata, arg, call) {
  newdata <- check_predictors(newdata, arg, call)
  needed <- names(mould$columns)
  if (mould$positional && !all(needed %in% colnames(newdata))) {
    if (ncol(newdata) != length(needed)) {
      kb_abort(c(
        "{.arg {arg}} must have {length(needed)} column{?s}, as in fitting.",
        x = "It has {ncol(newdata)}."
      ), "columns", call = call)
    }
    colnames(newdata) <- needed
  }
  newdata <- pick_columns(newdata, needed, arg, call)
  refuse_infinite(newdata, arg, call)
  x <- indicator_matrix(clean_columns(newdata, mould$columns, arg, call))
  dimnames(x) <- list(NULL, mould$x_names)
  list(x = blank_rows(x), y = NULL, complete = stats::complete.cases(x))
}

#' A row is known or it is not: a partly missing one is NA throughout
#' @noRd
blank_rows <- function(x) {
  x[!stats::complete.cases(x), ] <- NA_real_
  x
}
