# Tables, rows and columns of the mould: what is accepted, what is refused,
# what is learned of each column and how new data are read by it.

#' @srrstats {G2.4} Columns become numbers, by what they are.
#' @srrstats {G2.4a} Counts become integers in `check_count()`.
#' @srrstats {G2.4b} Integers and logicals become doubles by `as.double()`.
#' @srrstats {G2.4c} Levels become strings by `as.character()`.
#' @srrstats {G2.4d} Strings become factors with the levels of the fit.
#' @srrstats {G2.4e} Factors become indicators, responses class numbers by
#'   `as.integer()`.
#' @srrstats {G2.7} Matrices, data frames, tibbles and others that inherit from
#'   them, vectors; `kbr_chunks()` takes arrow Datasets.
#' @srrstats {G2.10} Columns are taken by `[[` and `drop = FALSE`, so that
#'   tibbles and data frames are the same.
#' @srrstats {G2.11} Columns are read by type, whatever their class attribute;
#'   dates and times are errors that say what to do.
#' @srrstats {G2.12} List columns are errors that name them.
#' @srrstats {RE4.16} Novel levels in `predict()` are a warning and give `NA`.
#' @noRd
NULL

# Tables ----------------------------------------------------------------------

#' A data frame with rows and distinct column names, as a plain data frame
#' @noRd
check_table <- function(data, arg, call) {
  if (!is.data.frame(data)) {
    kb_abort(c(
      "{.arg {arg}} must be a data frame.",
      x = "It is {describe(data)}."
    ), "data", call = call)
  }
  check_table_rows(data, arg, call)
  data <- as.data.frame(data)
  check_names(names(data), arg, call)
  refuse_no_rows(data, arg, call)
  data
}

#' A data frame that was put together by hand may have columns of any length
#' @noRd
check_table_rows <- function(data, arg, call) {
  rows <- vapply(unclass(data), NROW, 1L)
  odd <- which(rows != nrow(data))
  if (length(odd) > 0) {
    name <- names(data)[[odd[[1]]]]
    kb_abort(c(
      "Columns of {.arg {arg}} must all have {nrow(data)} rows.",
      x = "{.val {name}} has {rows[[odd[[1]]]]}."
    ), "data", columns = name, call = call)
  }
}

#' @noRd
check_predictors <- function(x, arg, call) {
  if (is.data.frame(x)) {
    x <- check_table(x, arg, call)
  } else if (is.atomic(x) && length(dim(x)) <= 2) {
    x <- check_numeric_table(x, arg, call)
  } else {
    kb_abort(c(
      "{.arg {arg}} must be a numeric matrix, a data frame or a vector.",
      x = "It is {describe(x)}."
    ), "data", call = call)
  }
  if (ncol(x) == 0) {
    kb_abort("{.arg {arg}} has no columns: no predictors.", "data",
      call = call
    )
  }
  x
}

#' @noRd
check_numeric_table <- function(x, arg, call) {
  if (!(is.numeric(x) || is.logical(x)) || is.null(x)) {
    kb_abort(c(
      "{.arg {arg}} must be numeric when it is a matrix or a vector.",
      x = "It is {describe(x)} of type {typeof(x)}.",
      i = "Give factors and characters as columns of a data frame."
    ), "data", call = call)
  }
  names <- if (is.matrix(x)) colnames(x)
  n <- if (is.matrix(x)) nrow(x) else length(x)
  x <- matrix(as.double(x), nrow = n, ncol = if (is.matrix(x)) ncol(x) else 1)
  if (!is.null(names)) {
    check_names(names, arg, call)
    colnames(x) <- names
  }
  refuse_no_rows(x, arg, call)
  x
}

#' @noRd
check_names <- function(names, arg, call) {
  if (anyNA(names) || any(names == "")) {
    kb_abort(c(
      "Either all columns of {.arg {arg}} have names, or none.",
      x = "Without a name: {sum(is.na(names) | names == '')} of
           {length(names)} columns."
    ), "data", call = call)
  }
  twice <- unique(names[duplicated(names)])
  if (length(twice) > 0) {
    kb_abort(c(
      "The column names of {.arg {arg}} must be distinct.",
      x = "Found more than once: {.val {twice}}."
    ), "data", columns = twice, call = call)
  }
}

#' @noRd
position_names <- function(p, stem = "x") {
  if (!identical(stem, make.names(stem))) stem <- "x"
  if (p == 1) stem else paste0(stem, seq_len(p))
}

#' @noRd
pick_columns <- function(data, wanted, arg, call) {
  lost <- setdiff(wanted, colnames(data))
  if (length(lost) > 0) {
    came <- if (is.null(colnames(data))) {
      "a table without column names"
    } else {
      paste("columns", paste0('"', colnames(data), '"', collapse = ", "))
    }
    kb_abort(c(
      "{.arg {arg}} lacks {length(lost)} column{?s} of the fit:
       {.val {lost}}.",
      x = "It has {came}."
    ), "columns", columns = lost, call = call)
  }
  data[, wanted, drop = FALSE]
}

# Rows ------------------------------------------------------------------------

#' @noRd
refuse_no_rows <- function(x, arg, call) {
  if (nrow(x) == 0) {
    kb_abort(c(
      "{.arg {arg}} must have at least one row to work with.",
      x = "It has none."
    ), "rows", call = call)
  }
}

#' @noRd
refuse_infinite <- function(x, arg, call) {
  infinite <- function(v) {
    (is.double(v) || is.complex(v)) && any(is.infinite(v) | is.nan(v))
  }
  bad <- if (is.data.frame(x)) {
    vapply(x, infinite, NA)
  } else {
    colSums(is.infinite(x) | is.nan(x)) > 0
  }
  if (any(bad)) {
    columns <- colnames(x)[bad]
    kb_abort(c(
      "{.arg {arg}} must be finite (NA marks a missing value).",
      x = "Inf or NaN in {.val {columns}}."
    ), "infinite", argument = arg, columns = columns, call = call)
  }
}

#' Raw vectors, which functions of a formula may want, have no missing values
#' @noRd
complete_cases <- function(x) {
  if (is.data.frame(x)) x <- x[!vapply(x, is.raw, NA)]
  if (length(x) == 0) rep(TRUE, nrow(x)) else stats::complete.cases(x)
}

#' Which rows stay: all (or an error) for "fail", the complete for "omit"
#' @noRd
rows_kept <- function(x, na_action, arg, call) {
  complete <- complete_cases(x)
  if (na_action == "omit" || all(complete)) {
    return(complete)
  }
  bad <- if (is.data.frame(x)) vapply(x, anyNA, NA) else colSums(is.na(x)) > 0
  columns <- colnames(x)[bad]
  n_bad <- sum(!complete)
  kb_abort(c(
    "{.arg {arg}} has missing values in {n_bad} of {nrow(x)} row{?s}.",
    x = "Missing in {.val {columns}}.",
    i = "Use {.code na_action = \"omit\"} to leave these rows out."
  ), "missing", argument = arg, columns = columns, rows = which(!complete),
  call = call)
}

#' Transformations can make rows missing or infinite: check once more
#' @noRd
finish_rows <- function(x, y, na_action, arg, outcome_name, call) {
  y <- name_outcome(y, outcome_name)
  refuse_infinite(x, arg, call)
  refuse_infinite(y, outcome_name, call)
  kept <- rows_kept(x, na_action, arg, call) &
    rows_kept(y, na_action, outcome_name, call)
  refuse_no_rows(x[kept, , drop = FALSE], arg, call)
  which(kept)
}

#' The response as a table; columns of a matrix have names of their own
#' @noRd
name_outcome <- function(y, name) {
  if (is.matrix(y)) y else stats::setNames(data.frame(y), name)
}

# Columns ---------------------------------------------------------------------

#' Refuse columns that are no predictors: dates, lists, complex numbers
#'
#' A column that enters through a function of the formula may be a date.
#' @noRd
check_columns <- function(x, bare, arg, call) {
  if (is.matrix(x)) {
    return(invisible())
  }
  for (name in names(x)) {
    v <- x[[name]]
    known <- is.numeric(v) || is.logical(v) || is.factor(v) || is.character(v)
    if (!(known || is.atomic(v) && !name %in% bare)) {
      kb_abort(c(
        "Column {.val {name}} of {.arg {arg}} must be numeric, logical, a
         factor or character.",
        x = "It is {describe(v)}.",
        i = "Convert it first, for instance with {.fun as.numeric}."
      ), "data", columns = name, call = call)
    }
  }
}

#' What each predictor is, so that new data can be read the same way
#'
#' @param bare The columns that enter as they are. The others enter through a
#'   function of the formula and keep their type, unless numeric.
#' @return Named list of `kind` ("numeric", "factor", "matrix", "raw"), and
#'   `levels` or `width` where they apply.
#' @noRd
learn_columns <- function(x, bare) {
  if (is.matrix(x)) {
    return(stats::setNames(
      rep(list(list(kind = "numeric")), ncol(x)), colnames(x)
    ))
  }
  Map(function(v, name) {
    learn_column(v, name %in% bare)
  }, x, names(x))
}

#' @noRd
learn_column <- function(v, bare) {
  if (is.numeric(v) && length(dim(v)) == 2 && ncol(v) > 1) {
    return(list(kind = "matrix", width = ncol(v), names = colnames(v)))
  }
  if (is.numeric(v) || (bare && is.logical(v))) {
    return(list(kind = "numeric"))
  }
  if (!bare) {
    return(list(kind = "raw"))
  }
  if (is.factor(v)) {
    return(list(kind = "factor", levels = setdiff(levels(v), NA)))
  }
  # The radix method sorts the same in every locale.
  levels <- sort(unique(as.vector(v)), method = "radix")
  list(kind = "factor", levels = levels)
}

#' Each level becomes a column: a level for most rows is an identifier
#' @noRd
check_levels <- function(columns, n, arg, call) {
  levels <- vapply(columns, function(column) length(column$levels), 1L)
  check_memory(as.double(n) * sum(levels), "The indicators of the factors",
    "Leave out columns that have very many levels, or bin them.",
    call = call
  )
  many <- which(levels > 50 & levels > n / 2)
  for (name in names(columns)[many]) {
    kb_warn(c(
      "Column {.val {name}} of {.arg {arg}} has {levels[[name]]} levels in {n}
       rows, each of which becomes a predictor.",
      i = "If it identifies the rows, leave it out."
    ), "levels", column = name, call = call)
  }
}

#' @noRd
clean_columns <- function(x, columns, arg, call) {
  if (is.matrix(x) && all_numeric(columns)) {
    return(x)
  }
  x <- as.data.frame(x)
  x[] <- Map(function(v, column, name) {
    clean_column(v, column, name, arg, call)
  }, x, columns, names(x))
  x
}

#' @noRd
all_numeric <- function(columns) {
  all(vapply(columns, `[[`, "", "kind") == "numeric")
}

#' @noRd
clean_column <- function(v, column, name, arg, call) {
  unknown <- is.logical(v) && all(is.na(v))
  if (column$kind == "raw") {
    return(v)
  }
  if (column$kind == "matrix") {
    if (!is.numeric(v) || !identical(ncol(v), column$width)) {
      refuse_type(v, paste(column$width, "numeric columns"), name, arg, call)
    }
    return(matrix(as.double(v), nrow(v), dimnames = list(NULL, column$names)))
  }
  if (column$kind == "numeric") {
    plain <- (is.numeric(v) || is.logical(v)) && NCOL(v) == 1
    if (!plain) {
      refuse_type(v, "numeric", name, arg, call)
    }
    return(as.double(v))
  }
  if (!(is.factor(v) || is.character(v) || unknown)) {
    refuse_type(v, "a factor or character", name, arg, call)
  }
  clean_factor(v, column$levels, name, arg, call)
}

#' @noRd
clean_factor <- function(v, levels, name, arg, call) {
  v <- as.character(v)
  novel <- setdiff(v, c(levels, NA))
  if (length(novel) > 0) {
    warn_novel(name, novel, arg, call)
  }
  v <- factor(v, levels = levels)
  if (length(levels) > 1) {
    return(v)
  }
  # model.matrix() refuses a factor with one level: it is a constant.
  ifelse(is.na(v), NA_real_, 1)
}

#' @noRd
refuse_type <- function(v, wanted, name, arg, call) {
  kb_abort(c(
    "Column {.val {name}} of {.arg {arg}} must be {wanted}, as in fitting.",
    x = "It is {describe(v)}."
  ), "columns", columns = name, call = call)
}

#' @noRd
warn_novel <- function(name, novel, arg, call) {
  kb_warn(c(
    "Column {.val {name}} of {.arg {arg}} has {length(novel)} level{?s} not
     seen in fitting: {.val {novel}}.",
    i = "Rows with such a level give NA."
  ), "novel_level", columns = name, levels = novel, call = call)
}

#' Every level gets a column: to a kernel the levels are symmetric
#' @noRd
indicator_matrix <- function(x) {
  if (is.matrix(x)) {
    return(x)
  }
  parts <- Map(function(v, name) {
    if (is.factor(v)) {
      out <- outer(as.integer(v), seq_along(levels(v)), `==`) + 0
      colnames(out) <- paste0(name, levels(v))
    } else {
      out <- as.matrix(v)
      inner <- colnames(out)
      inner <- if (is.null(inner)) seq_len(ncol(out)) else inner
      colnames(out) <- if (ncol(out) == 1) name else paste0(name, inner)
    }
    out
  }, x, names(x))
  do.call(cbind, unname(parts))
}
