# From a formula and a data frame, or from x and y, to a numeric matrix and a
# response; and the same way for new data. Formulas go through base R's terms(),
# model.frame() and model.matrix(); what these leave open (missing and infinite
# values, levels, matching by position) is settled here, the same for every
# engine. Tables, rows and columns are in mould-columns.R, formulas in
# mould-formula.R, responses and weights in mould-response.R.
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
#'   "any" of the three, or "either" of the first two: the mould then says which
#'   it is; or "matrix": numeric columns, in a formula `a + b ~ x`.
#' @param weights NULL, or a quosure that gives the rows' weights from `data`.
#' @return List of class `kb_mould`, plain data only: `x` (numeric matrix with
#'   column names, without intercept), `y` (numeric, factor or matrix),
#'   `weights` (or NULL), `interface`, `columns` (what each predictor given is,
#'   see `learn_columns()`), `x_names`, `positional`, `n_rows` (given),
#'   `omitted` (their indices), `row_names` (of the rows of `x`, or NULL),
#'   `outcome`, `outcome_name`, `outcome_columns`, `levels`. Of formulas also
#'   `formula`, `terms` (with what transformations learned), `xlevels` (of the
#'   factors among their variables) and `assign` (the term of each column of
#'   `x`).
#' @noRd
mould_formula <- function(formula, data, na_action = c("fail", "omit"),
                          outcome = outcome_kinds, weights = NULL,
                          call = rlang::caller_env()) {
  na_action <- check_choice(na_action, c("fail", "omit"), call = call)
  outcome <- check_choice(outcome, outcome_kinds, call = call)
  if (missing(data)) {
    kb_abort(c(
      "{.arg data} is missing.",
      i = "It must be a data frame with the columns of {.arg formula}."
    ), "data", call = call)
  }
  data <- check_table(data, "data", call)
  rows <- list(n = nrow(data), names = given_row_names(data))
  given <- read_formula(formula, data, outcome == "matrix", call)
  weights <- evaluate_weights(weights, data, call)
  settled <- settle_rows(
    data[unique(c(given$outcomes, given$predictors))], given$predictors,
    given$bare, list(weights = weights), na_action, "data", call
  )
  rows$kept <- settled$kept
  if (outcome == "matrix") {
    refuse_codes(given$terms[[2]], settled$data, call)
  }
  found <- evaluate_formula(given$terms, settled$data, NULL, "data", call)
  outcome <- outcome_kind(found$y, outcome)
  y <- check_outcome(
    found$y, outcome, given$outcome_name, nrow(found$x), call = call
  )
  new_mould(
    found$x, y, weights[rows$kept], rows, na_action, "data", call,
    interface = "formula", columns = settled$columns, positional = FALSE,
    outcome = outcome, outcome_name = given$outcome_name,
    outcome_columns = given$outcomes, formula = plain_formula(formula),
    terms = found$terms, xlevels = found$xlevels, assign = found$assign
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
  names <- given_row_names(x)
  if (is.null(names)) names <- given_row_names(y)
  x <- check_predictors(x, args[[1]], call)
  rows <- list(n = nrow(x), names = names)
  positional <- is.null(colnames(x))
  if (positional) {
    colnames(x) <- position_names(ncol(x), args[[1]])
  }
  outcome <- outcome_kind(y, outcome)
  y <- check_outcome(y, outcome, args[[2]], rows$n, args[[1]], call = call)
  weights <- check_weights(weights, rows$n, args[[1]], call = call)
  others <- stats::setNames(list(y, weights), c(args[[2]], "weights"))
  settled <- settle_rows(
    x, colnames(x), colnames(x), others, na_action, args[[1]], call
  )
  rows$kept <- settled$kept
  new_mould(
    indicator_matrix(settled$data), pick_rows(y, rows$kept),
    weights[rows$kept], rows, na_action, args[[1]], call,
    interface = "xy", columns = settled$columns, positional = positional,
    outcome = outcome, outcome_name = args[[2]]
  )
}

#' The rows that can be used, and what their columns are
#'
#' @param others What else these rows have, by name: vectors, matrices or NULL.
#' @return List of `kept` (numbers of the rows), `data` (these rows, as engines
#'   or formulas read them) and `columns` (of the predictors).
#' @noRd
settle_rows <- function(data, predictors, bare, others, na_action, arg, call) {
  check_columns(data, bare, arg, call)
  refuse_infinite(data, arg, call)
  kept <- rows_kept(data, na_action, arg, call)
  for (name in names(others)) {
    kept <- kept & rows_kept(others[[name]], na_action, name, call)
  }
  kept <- which(kept)
  data <- pick_rows(data, kept)
  refuse_no_rows(data, arg, call)
  columns <- learn_columns(data, predictors, bare)
  check_levels(columns, nrow(data), arg, call)
  list(
    kept = kept, data = clean_columns(data, columns, arg, call),
    columns = columns
  )
}

#' The mould of evaluated rows, which a formula can make missing or infinite
#'
#' @param rows List of `n` (how many were given), `kept` (the numbers of those
#'   in `x`) and `names`.
#' @param arg What the user calls the rows.
#' @param ... What else the mould holds.
#' @noRd
new_mould <- function(x, y, weights, rows, na_action, arg, call, ...) {
  mould <- list(...)
  name <- mould$outcome_name
  refuse_infinite(x, arg, call)
  fine <- which(rows_kept(x, na_action, arg, call) &
    rows_kept(y, na_action, name, call))
  x <- pick_rows(x, fine)
  refuse_no_rows(x, arg, call)
  dimnames(x) <- list(NULL, make.unique(colnames(x)))
  y <- pick_rows(y, fine)
  if (is.factor(y) && mould$outcome != "ordered") {
    y <- droplevels(y)
  }
  # New responses are matched to the levels of the fit.
  if (mould$outcome == "ordered") mould$outcome <- "factor"
  kept <- rows$kept[fine]
  structure(c(
    list(x = x, y = y, weights = weights[fine]), mould,
    list(
      x_names = colnames(x), n_rows = rows$n,
      omitted = setdiff(seq_len(rows$n), kept), row_names = rows$names[kept],
      levels = levels(y)
    )
  ), class = "kb_mould")
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
  if (outcome && mould$interface == "xy") {
    kb_abort(c(
      "{.arg {arg}} cannot hold the response: the model was fitted to x and y.",
      i = "Give the new rows as {.arg newx} and {.arg newy}."
    ), "interface", call = call)
  }
  data <- new_table(mould, newdata, outcome, arg, call)
  complete <- complete_cases(data)
  known <- forge_complete(
    mould, pick_rows(data, which(complete)), outcome, arg, call
  )
  at <- match(seq_along(complete), which(complete))
  x <- pick_rows(known$x, at)
  y <- if (outcome) pick_rows(known$y, at)
  complete <- stats::complete.cases(x)
  # A row is known or it is not.
  if (!all(complete)) x[!complete, ] <- NA_real_
  if (outcome) complete <- complete & stats::complete.cases(y)
  list(x = x, y = y, complete = complete, names = given_row_names(newdata))
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
  forged$y <- check_outcome(
    newy, mould$outcome, "newy", nrow(forged$x), "newx", mould$levels, call
  )
  forged$complete <- forged$complete & stats::complete.cases(forged$y)
  forged
}

#' The columns of new data that a mould needs, as in fitting
#' @noRd
new_table <- function(mould, newdata, outcome, arg, call) {
  needed <- names(mould$columns)
  if (mould$interface == "formula") {
    if (is.matrix(newdata) && !is.null(colnames(newdata))) {
      newdata <- as.data.frame(newdata)
    }
    data <- check_table(newdata, arg, call)
  } else {
    data <- check_predictors(newdata, arg, call)
  }
  if (mould$positional && !all(needed %in% colnames(data))) {
    if (ncol(data) != length(needed)) {
      kb_abort(c(
        "{.arg {arg}} must have {length(needed)} column{?s}, as in fitting.",
        x = "It has {ncol(data)}."
      ), "columns", call = call)
    }
    colnames(data) <- needed
  }
  wanted <- unique(c(needed, if (outcome) mould$outcome_columns))
  data <- pick_columns(data, wanted, arg, call)
  check_columns(data, character(), arg, call)
  refuse_infinite(data, arg, call)
  clean_columns(data, mould$columns, arg, call)
}

#' Predictors, and response if asked for, of rows without missing values
#' @noRd
forge_complete <- function(mould, data, outcome, arg, call) {
  if (nrow(data) == 0) {
    y <- switch(mould$outcome,
      numeric = double(), factor = factor(levels = mould$levels),
      matrix = matrix(0, 0, length(mould$outcome_columns))
    )
    x <- matrix(0, 0, length(mould$x_names), FALSE, list(NULL, mould$x_names))
    return(list(x = x, y = y))
  }
  plain <- !outcome && all_numeric(mould$columns) &&
    identical(names(mould$columns), mould$x_names)
  if (plain || mould$interface == "xy") {
    x <- indicator_matrix(data)
    dimnames(x) <- list(NULL, mould$x_names)
    return(list(x = x))
  }
  terms <- mould$terms
  if (!outcome) terms <- stats::delete.response(terms)
  found <- evaluate_formula(terms, data, mould$xlevels, arg, call)
  colnames(found$x) <- make.unique(colnames(found$x))
  if (!identical(colnames(found$x), mould$x_names)) {
    kb_abort(c(
      "The formula gives other columns on {.arg {arg}} than in fitting.",
      x = "Now: {.val {colnames(found$x)}}.",
      i = "In fitting: {.val {mould$x_names}}."
    ), "columns", call = call)
  }
  refuse_infinite(found$x, arg, call)
  if (outcome) {
    found$y <- check_outcome(found$y, mould$outcome, mould$outcome_name,
      nrow(data), NULL, mould$levels, call
    )
  }
  found[c("x", "y")]
}
