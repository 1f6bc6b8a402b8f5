# Checks of tables of data (a data frame or a numeric matrix) and of their rows.
# Vectors that belong to the rows, a response or weights, are checked in the
# same way.
#
# Classes of the errors: kb_error_data (not a table, names, types),
# kb_error_formula, kb_error_outcome, kb_error_columns (new data do not have
# the columns of the fit), kb_error_missing, kb_error_infinite, kb_error_rows.

#' An error about an argument: "`data` must have rows."
#' @param arg Its name for the user.
#' @param wanted The sentence without its subject.
#' @noRd
refuse <- function(arg, class, wanted, came = NULL, hint = NULL, ...) {
  frame <- rlang::env(rlang::caller_env(), subject = arg)
  kb_abort(c(paste("{.arg {subject}}", wanted), x = came, i = hint), class,
    argument = arg, ..., .envir = frame
  )
}

# Tables ----------------------------------------------------------------------

#' A data frame with rows and distinct column names, as a plain data frame
#' @param empty May it have no rows?
#' @param used The columns that matter; NULL: all.
#' @noRd
check_table <- function(data, arg, empty = FALSE, used = NULL) {
  if (!is.data.frame(data)) {
    refuse(arg, "data", "must be a data frame.", "It is {describe(data)}.")
  }
  # A data frame made by hand may have columns of any length.
  rows <- vapply(unclass(data), NROW, 1L)
  odd <- names(data)[rows != nrow(data)]
  if (length(odd) > 0) {
    refuse(arg, "data", "must have columns of {nrow(data)} rows each.",
      "Of another length: {.val {odd}}.", columns = odd
    )
  }
  data <- as.data.frame(data)
  idle <- bad_names(names(data)) & !is.null(used) & !names(data) %in% used
  check_names(names(data)[!idle], arg)
  data <- plain_numbers(if (any(idle)) data[!idle] else data)
  if (!empty) refuse_no_rows(data, arg)
  data
}

# A data frame, or a numeric matrix
check_predictors <- function(x, arg, empty = FALSE) {
  if (is.data.frame(x)) {
    x <- check_table(x, arg, empty)
  } else {
    x <- plain_number(x)
    if (!(is.numeric(x) || is.logical(x)) || length(dim(x)) > 2) {
      refuse(arg, "data",
        "must be a numeric matrix, a data frame or a numeric vector.",
        "It is {describe(x)} of type {typeof(x)}.",
        "Give factors and characters as columns of a data frame."
      )
    }
    names <- if (is.matrix(x)) colnames(x)
    x <- matrix(as.double(x), NROW(x), NCOL(x))
    if (!is.null(names)) {
      check_names(names, arg)
      colnames(x) <- names
    }
    if (!empty) refuse_no_rows(x, arg)
  }
  if (ncol(x) == 0) refuse(arg, "data", "has no columns: no predictors.")
  x
}

bad_names <- function(names) {
  is.na(names) | names == "" | names %in% names[duplicated(names)]
}

check_names <- function(names, arg) {
  bad <- unique(names[bad_names(names)])
  if (length(bad) > 0) {
    refuse(arg, "data", "must have distinct column names, or none at all.",
      "Missing, empty or duplicate: {.val {bad}}.", columns = bad
    )
  }
}

position_names <- function(p, stem = "x") {
  if (!identical(stem, make.names(stem))) stem <- "x"
  if (p == 1) stem else paste0(stem, seq_len(p))
}

pick_columns <- function(data, wanted, arg) {
  lost <- setdiff(wanted, colnames(data))
  if (length(lost) > 0) {
    refuse(arg, "columns",
      "lacks {length(lost)} column{?s} of the fit: {.val {lost}}.",
      if (is.null(colnames(data))) "It is a table without column names." else
        "It has columns {.val {colnames(data)}}.",
      columns = lost
    )
  }
  data[, wanted, drop = FALSE]
}

# Rows ------------------------------------------------------------------------

# Rows of a vector or a table
pick_rows <- function(x, rows) {
  if (identical(rows, seq_len(NROW(x)))) {
    return(x)
  }
  if (length(dim(x)) == 2) x[rows, , drop = FALSE] else x[rows]
}

refuse_no_rows <- function(x, arg) {
  if (nrow(x) == 0) {
    refuse(arg, "rows", "must have at least one row.",
      "It has none."
    )
  }
}

# Names of the columns for which a test is true; a vector has the name `arg`
columns_where <- function(x, test, arg) {
  if (is.data.frame(x)) {
    names(x)[vapply(x, test, NA)]
  } else if (is.matrix(x)) {
    at_all <- if (test(x)) seq_len(ncol(x))
    colnames(x)[vapply(at_all, function(j) test(x[, j]), NA)]
  } else {
    arg[test(x)]
  }
}

refuse_infinite <- function(x, arg) {
  columns <- columns_where(x, function(v) {
    (is.double(v) && !all(is.finite(v)) || is.complex(v)) &&
      any(is.infinite(v) | is.nan(v))
  }, arg)
  if (length(columns) > 0) {
    refuse(arg, "infinite", "must be finite (NA marks a missing value).",
      "Inf or NaN in {.val {columns}}.", columns = columns
    )
  }
}

# Raw vectors, which functions of a formula may need, have no missing values
complete_cases <- function(x) {
  if (is.data.frame(x)) x <- x[!vapply(x, is.raw, NA)]
  if (length(x) == 0 || is.raw(x)) {
    return(rep(TRUE, NROW(x)))
  }
  stats::complete.cases(x)
}

# "omit" or "fail", also as functions or names of the stats package
check_na_action <- function(na.action) {
  # Of functions without the argument
  if (identical(na.action, "never")) {
    return(na.action)
  }
  known <- c("omit", "fail")
  for (name in known) {
    f <- paste0("na.", name)
    same <- identical(na.action, getExportedValue("stats", f))
    if (same || identical(na.action, f)) na.action <- name
  }
  if (identical(na.action, stats::na.exclude) ||
    identical(na.action, "na.exclude")) {
    kb_abort(c(
      "{.arg na.action} cannot be {.code na.exclude}.",
      i = "{.code na.omit}, the default, gives the same fit; then
           {.code predict(fit, data)} has a row for each row of the data, with
           {.val NA} where predictors are missing."
    ), "argument", argument = "na.action")
  }
  check_choice(na.action, known)
}

#' @param rows Which of `n` rows are left out; `columns` in which values are
#'   missing, if known.
#' @noRd
inform_omitted <- function(rows, n, columns = NULL) {
  if (length(rows) > 0) {
    kb_inform(c(
      "Missing values: {length(rows)} of {n} rows {cli::qty(length(rows))}
       {?is/are} left out.",
      i = if (length(columns) > 0) "Missing in {.val {columns}}."
    ), "omitted", rows = rows)
  }
}

#' Which rows stay: all (or an error) for "fail", the complete for "omit"
#' @param x A table, a vector, or NULL.
#' @noRd
rows_kept <- function(x, na.action, arg) {
  complete <- if (is.null(x)) TRUE else complete_cases(x)
  if (na.action != "omit" && !all(complete)) {
    columns <- columns_where(x, anyNA, arg)
    rows <- which(!complete)
    refuse(arg, "missing",
      "has missing values in {length(rows)} of {NROW(x)} row{?s}.",
      "Missing in {.val {columns}}.",
      if (na.action == "fail") {
        "Use {.code na.action = \"omit\"} to drop these rows."
      },
      columns = columns, rows = rows
    )
  }
  complete
}
