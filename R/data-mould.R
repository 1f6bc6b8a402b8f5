# From a formula and a data frame, or from x and y, to a numeric matrix and a
# response; and the same way for new data. Formulas go through base R's terms(),
# model.frame() and model.matrix(), in data-formula.R; the rest (missing and
# infinite values, levels, matching by position) is handled in the same way for
# every engine, in tables.R, data-columns.R and data-response.R.

#' Mould a formula and a data frame
#' @param outcome The response of the engine, "numeric", "factor" or "ordered",
#'   "any" of the three, or "either" of the first two (the mould then records
#'   which); or "matrix": numeric columns, in a formula `a + b ~ x`.
#' @param weights NULL, or a quosure that gives the rows' weights from `data`.
#' @param plain May there be terms beside kernels? If so what plain terms are,
#'   see `split_formula()`; "offset": offsets only; NULL: no.
#' @return List of class `kb_mould`, plain data only: `x` (numeric matrix, named
#'   columns, no intercept), `y` (numeric, factor or matrix), `weights` (or
#'   NULL), `interface`, `columns` (the kind of each predictor, see
#'   `learn_column()`), `x_names`, `positional`, `n_rows` (given), `omitted`
#'   (their numbers), `row_names` (of `x`, or NULL), `variables` (NULL, or a
#'   data frame of those that `x` does not hold as they are), `outcome`,
#'   `outcome_name`, `outcome_columns`, `levels`, `constant` (values of columns
#'   of `x` that do not vary, named, or NULL). For formulas also `formula`, `terms`
#'   (with what transformations learned), `xlevels` (of factors among the variables)
#'   and `assign` (the term of each column of `x`). If there are terms beside
#'   kernels also `mixed`, see `mixed_learn()`, and their columns `mixed_x`.
#' @noRd
mould_formula <- function(formula, data, na.action = c("omit", "fail"),
                          outcome = outcome_kinds, weights = NULL,
                          plain = NULL) {
  na.action <- check_na_action(na.action)
  arg <- "data"
  if (missing(data)) {
    refuse(arg, "data", "is missing.",
      hint = "It must be a data frame with the columns of {.arg formula}."
    )
  }
  data <- check_table(data, arg, used = used_names(formula, weights))
  names <- given_row_names(data)
  parts <- if (!is.null(plain)) split_formula(formula, data, plain)
  given <- if (is.null(parts)) {
    read_formula(formula, data, identical(outcome, "matrix"))
  } else {
    read_formula_parts(parts, data)
  }
  weights <- evaluate_weights(weights, data)
  settled <- settle_rows(
    data[unique(c(given$outcomes, given$predictors, parts$names$groups))],
    given$predictors, given$bare, list(weights = weights), na.action, arg,
    open_columns(given)
  )
  if (identical(outcome, "matrix")) {
    refuse_codes(given$terms[[2]], settled$data, arg)
  }
  found <- evaluate_formula(given$terms, settled$data, NULL, arg)
  outcome <- outcome_kind(found$y, outcome[[1]])
  y <- check_outcome(found$y, outcome, given$outcome_name, nrow(found$x), arg)
  new_mould(found$x, found$indicators, y, weights, settled, names, na.action, arg,
    interface = "formula", positional = FALSE, outcome = outcome,
    outcome_name = given$outcome_name, outcome_columns = given$outcomes,
    formula = plain_formula(formula), terms = found$terms,
    xlevels = found$xlevels, assign = found$assign,
    mixed = if (!is.null(parts)) {
      mixed_learn(parts, settled$data, arg, pick_rows(data, settled$kept))
    },
    given = settled$data,
    fields = kernel_fields(parts$fields, found, settled$data)
  )
}

# The names that a formula and weights use; NULL if a dot may stand for any
used_names <- function(formula, weights) {
  used <- if (rlang::is_formula(formula)) all.vars(formula) else "."
  if (!"." %in% used) unique(c(used, all.vars(weights)))
}

# The columns of each of several kernels(), or NULL
kernel_fields <- function(fields, found, data) {
  if (is.null(fields)) {
    return(NULL)
  }
  labels <- attr(found$terms, "term.labels")
  lapply(fields, function(formula) {
    terms <- stats::terms(inline_one_side(formula, data))
    which(found$assign %in% match(attr(terms, "term.labels"), labels))
  })
}

#' Mould predictors and a response
#'
#' `x` is a numeric matrix, a data frame, or a numeric vector for one column.
#' @param args The user's names for predictors and response.
#' @param mixed NULL, or terms beside kernels, see `mixed_frame()`.
#' @noRd
mould_xy <- function(x, y, na.action = c("omit", "fail"),
                     outcome = outcome_kinds, weights = NULL,
                     args = c("x", "y"), mixed = NULL) {
  na.action <- check_na_action(na.action)
  arg <- args[[1]]
  if (missing(y)) {
    refuse(args[[2]], "outcome", "is missing.",
      hint = "It must have one value per row of {.arg {args[[1]]}}."
    )
  }
  names <- given_row_names(x)
  if (is.null(names)) names <- given_row_names(y)
  x <- check_predictors(x, arg)
  positional <- is.null(colnames(x))
  if (positional) colnames(x) <- position_names(ncol(x), arg)
  outcome <- outcome_kind(y, outcome[[1]])
  y <- check_outcome(y, outcome, args[[2]], nrow(x), arg)
  weights <- check_weights(weights, nrow(x), arg)
  mixed <- if (!is.null(mixed)) mixed_frame(mixed, nrow(x))
  parts <- if (!is.null(mixed)) frame_parts(mixed)
  others <- stats::setNames(list(y, weights), c(args[[2]], "weights"))
  settled <- settle_rows(
    x, colnames(x), colnames(x), c(others, mixed), na.action, arg
  )
  mixed <- if (!is.null(mixed)) pick_rows(mixed, settled$kept)
  tell_ordered(settled$data)
  new_mould(
    indicator_matrix(settled$data), indicators_among(settled$columns),
    pick_rows(y, settled$kept), weights, settled, names, na.action, arg,
    interface = "xy", positional = positional, outcome = outcome,
    outcome_name = args[[2]],
    mixed = if (!is.null(mixed)) mixed_learn(parts, mixed, arg),
    given = mixed
  )
}

# Limits of intervals, which Surv() reads from missing or infinite values
open_columns <- function(given) {
  surv <- "Surv" %in% all.names(given$terms[[2]])
  if (surv) setdiff(given$outcomes, given$predictors)
}

without_columns <- function(data, columns) {
  if (length(columns) == 0) {
    return(data)
  }
  data[, setdiff(colnames(data), columns), drop = FALSE]
}

#' The usable rows, and the kinds of their columns
#' @param open Columns that only the response judges.
#' @param others Other data of these rows, by name: vectors, matrices or NULL.
#' @return List of `n` (how many rows were given), `kept` (which stay),
#'   `missing` (where values are, or NULL), `data` (the kept rows, as engines and
#'   formulas read them) and `columns` (of the predictors).
#' @noRd
settle_rows <- function(data, predictors, bare, others, na.action, arg,
                        open = character()) {
  check_columns(data, bare, arg)
  tell_times(data, bare)
  judged <- without_columns(data, open)
  refuse_infinite(judged, arg)
  kept <- rows_kept(judged, na.action, arg)
  for (name in names(others)) {
    kept <- kept & rows_kept(others[[name]], na.action, name)
  }
  out <- list(n = nrow(data), kept = which(kept))
  if (!all(kept)) {
    others <- others[vapply(others, anyNA, NA)]
    out$missing <- c(columns_where(judged, anyNA, arg), names(others))
  }
  data <- pick_rows(data, out$kept)
  if (length(out$kept) == 0 && out$n > 0) {
    refuse(arg, "rows", "must have at least one row without missing values.",
      "Values are missing in {.val {out$missing}}."
    )
  }
  refuse_no_rows(data, arg)
  out$columns <- learn_columns(data, predictors, bare)
  check_levels(out$columns, data, arg)
  out$data <- clean_columns(data, out$columns, arg)
  out
}

#' The mould of evaluated rows, which a formula can make missing or infinite
#' @param weights Of all rows given, as are their `names`.
#' @param indicators Which columns are indicators of levels?
#' @param ... Other elements of the mould; `given`: its variables (of x and y
#'   those beside kernels).
#' @noRd
new_mould <- function(x, indicators, y, weights, settled, names, na.action,
                      arg, ...) {
  mould <- list(...)
  if (is.null(mould$fields)) mould$fields <- NULL
  given <- mould$given
  mould$given <- NULL
  if (is.null(mould$mixed)) {
    mould$mixed <- NULL
  } else {
    mould$mixed_x <- mixed_matrix(mould$mixed, given, arg)
    refuse_infinite(mould$mixed_x, arg)
  }
  refuse_infinite(x, arg)
  fine <- rows_kept(x, na.action, arg) &
    rows_kept(y, na.action, mould$outcome_name)
  if (!is.null(mould$mixed)) {
    fine <- fine & rows_kept(mould$mixed_x, na.action, arg)
  }
  fine <- which(fine)
  if (!is.null(mould$mixed)) mould$mixed_x <- pick_rows(mould$mixed_x, fine)
  x <- pick_rows(x, fine)
  refuse_no_rows(x, arg)
  dimnames(x) <- list(NULL, make.unique(as.character(colnames(x))))
  constant <- constant_columns(x, indicators)
  x <- hold_constant(x, constant)
  y <- pick_rows(y, fine)
  if (is.factor(y) && mould$outcome != "ordered") y <- droplevels(y)
  # New responses are matched to the levels of the fit.
  if (mould$outcome == "ordered") mould$outcome <- "factor"
  kept <- settled$kept[fine]
  omitted <- setdiff(seq_len(settled$n), kept)
  inform_omitted(omitted, settled$n, settled$missing)
  mould <- c(list(x = x, y = y, weights = weights[kept]), mould, list(
    columns = settled$columns, x_names = as.character(colnames(x)), n_rows = settled$n,
    omitted = omitted, row_names = names[kept],
    levels = levels(y), constant = constant
  ))
  mould["variables"] <- list(kept_variables(mould, given, fine))
  structure(mould, class = "kb_mould")
}

#' The mould without its rows: all that `mould_forge()` needs
#' @param rows Does the fit hold these rows, and so their names?
#' @noRd
mould_empty <- function(mould, rows = TRUE) {
  # Not removed: `mould$x` would then partially match `mould$x_names`.
  mould[c("x", "y", "weights")] <- list(NULL)
  if (!rows) mould[c("row_names", "variables")] <- list(NULL)
  mould$mixed_x <- NULL
  mould
}

# The rows of a mould as fits with weights and terms beside kernels hold them
fit_data <- function(mould) {
  c(
    list(x = mould$x, y = mould$y, weights = mould$weights),
    if (!is.null(mould$mixed)) list(mixed = mould$mixed_x)
  )
}

# The mould with these rows in place of its own
mould_of <- function(mould, data) {
  mould[c("x", "y", "weights")] <- data[c("x", "y", "weights")]
  mould[c("row_names", "variables")] <- list(NULL)
  mould$mixed_x <- data$mixed
  mould
}

# Some of these rows
pick_data <- function(data, rows) {
  data$x <- data$x[rows, , drop = FALSE]
  data$y <- pick_rows(data$y, rows)
  data["weights"] <- list(data$weights[rows])
  data$mixed <- data$mixed[rows, , drop = FALSE]
  data
}

# New data --------------------------------------------------------------------

#' Bring new data into the shape of a mould
#' @param outcome Also the response (formula moulds): for `update()`.
#' @param mixed For x and y: terms beside kernels, see `mixed_frame()`.
#' @return List of `x` (matrix with as many rows as `newdata`; a row with a
#'   missing value or a novel level is NA throughout; the columns of terms beside
#'   kernels follow), `y` (or NULL), `complete` (logical, one per row), `names`
#'   (of the rows, or NULL) and `variables` (as in the mould, of these rows).
#' @noRd
mould_forge <- function(mould, newdata, outcome = FALSE, arg = "newdata",
                        mixed = NULL, empty = FALSE) {
  if (outcome && mould$interface == "xy") {
    refuse(arg, "interface",
      "cannot hold the response: the model was fitted to x and y.",
      hint = "Give the new rows as {.arg newx} and {.arg newy}."
    )
  }
  data <- new_table(mould, newdata, outcome, arg, empty)
  mixed <- new_mixed(mould, mixed, data)
  complete <- complete_cases(without_columns(data, limit_columns(mould)))
  if (!is.null(mixed)) {
    tell_missing_groups(mould, mixed)
    complete <- complete &
      complete_cases(without_columns(mixed, limit_columns(mould)))
  }
  whole <- which(complete)
  known <- forge_complete(mould, pick_rows(data, whole), outcome, arg)
  known$x <- hold_constant(known$x, mould$constant, arg)
  if (!is.null(mixed)) {
    columns <- mixed_matrix(mould$mixed, pick_rows(mixed, whole), arg)
    refuse_infinite(columns, arg)
    known$x <- cbind(known$x, columns)
  }
  places <- match(seq_along(complete), whole)
  x <- pick_rows(known$x, places)
  y <- if (outcome) pick_rows(known$y, places)
  complete <- stats::complete.cases(x)
  # A row is either complete or NA throughout.
  if (!all(complete)) x[!complete, ] <- NA_real_
  if (outcome) complete <- complete & stats::complete.cases(y)
  list(
    x = x, y = y, complete = complete, names = given_row_names(newdata),
    variables = if (!is.null(mould$variables)) {
      # Predictions without groups need no columns of theirs.
      frame <- as.data.frame(if (is.null(mixed)) data else mixed)
      frame[intersect(names(mould$variables), names(frame))]
    }
  )
}

# New rows given as predictors and response, for `update()`
mould_forge_xy <- function(mould, newx, newy, mixed = NULL) {
  transformed <- mould$interface == "formula" &&
    !identical(mould$outcome_name, mould$outcome_columns)
  if (transformed) {
    refuse("newy", "interface",
      "is ambiguous: the response is {.code {mould$outcome_name}}.",
      hint = "Give the new rows as {.arg newdata}, a data frame with the columns
              {.val {mould$outcome_columns}}."
    )
  }
  forged <- mould_forge(mould, newx, arg = "newx", mixed = mixed)
  forged$y <- check_outcome(newy, mould$outcome, "newy", nrow(forged$x),
    "newx", mould$levels
  )
  forged$complete <- forged$complete & stats::complete.cases(forged$y)
  forged
}

# The columns of new data that a mould needs, as in fitting
new_table <- function(mould, newdata, outcome, arg, empty) {
  needed <- names(mould$columns)
  wanted <- unique(c(
    needed, if (mould$interface == "formula" && !isTRUE(mould$mixed$off)) {
      mould$mixed$names
    },
    if (outcome) mould$outcome_columns
  ))
  if (mould$interface == "xy") {
    data <- check_predictors(newdata, arg, empty)
  } else {
    named <- is.matrix(newdata) && !is.null(colnames(newdata))
    data <- check_table(
      if (named) as.data.frame(newdata) else newdata, arg, empty, wanted
    )
  }
  if (mould$positional && !all(needed %in% colnames(data))) {
    if (ncol(data) != length(needed)) {
      refuse(arg, "columns",
        "must have {length(needed)} column{?s}, as in fitting.",
        "It has {ncol(data)}."
      )
    }
    colnames(data) <- needed
  }
  data <- pick_columns(data, wanted, arg)
  check_columns(data, character(), arg)
  refuse_infinite(without_columns(data, limit_columns(mould)), arg)
  clean_columns(data, mould$columns, arg)
}

# Columns of new data that only the response judges
limit_columns <- function(mould) {
  if (identical(mould$outcome, "interval")) {
    setdiff(mould$outcome_columns, names(mould$columns))
  }
}

# Predictors, and response if asked for, of rows without missing values
forge_complete <- function(mould, data, outcome, arg) {
  if (nrow(data) == 0) {
    names <- list(NULL, mould$x_names)
    return(list(
      x = matrix(0, 0, length(mould$x_names), dimnames = names),
      y = switch(mould$outcome,
        numeric = double(), factor = factor(levels = mould$levels),
        matrix = matrix(0, 0, length(mould$outcome_columns)),
        trials = , interval = matrix(0, 0, 2)
      )
    ))
  }
  if (length(mould$x_names) == 0 && !outcome) {
    return(list(x = matrix(0, nrow(data), 0)))
  }
  plain <- all_numeric(mould$columns) &&
    identical(names(mould$columns), mould$x_names)
  if (mould$interface == "xy" || (plain && !outcome)) {
    # Groups are not among these columns.
    if (!is.null(mould$mixed)) {
      data <- data[, names(mould$columns), drop = FALSE]
    }
    x <- indicator_matrix(data)
    dimnames(x) <- list(NULL, mould$x_names)
    return(list(x = x))
  }
  terms <- if (outcome) mould$terms else stats::delete.response(mould$terms)
  found <- evaluate_formula(terms, data, mould$xlevels, arg)
  dimnames(found$x) <- list(NULL, make.unique(as.character(colnames(found$x))))
  if (!identical(as.character(colnames(found$x)), mould$x_names)) {
    refuse(arg, "columns",
      "gives different columns for the formula than in fitting.",
      "Now: {.val {colnames(found$x)}}.",
      "In fitting: {.val {mould$x_names}}."
    )
  }
  refuse_infinite(found$x, arg)
  y <- if (outcome) {
    check_outcome(found$y, mould$outcome, mould$outcome_name, nrow(data), arg,
      mould$levels
    )
  }
  list(x = found$x, y = y)
}
