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
  # One that was put together by hand may have columns of any length.
  rows <- vapply(unclass(data), NROW, 1L)
  odd <- which(rows != nrow(data))
  if (length(odd) > 0) {
    name <- names(data)[[odd[[1]]]]
    kb_abort(c(
      "Columns of {.arg {arg}} must all have {nrow(data)} rows.",
      x = "{.val {name}} has {rows[[odd[[1]]]]}."
    ), "data", columns = name, call = call)
  }
  data <- as.data.frame(data)
  check_names(names(data), arg, call)
  refuse_no_rows(data, arg, call)
  data
}

#' @noRd
check_predictors <- function(x, arg, call) {
  if (is.data.frame(x)) {
    x <- check_table(x, arg, call)
  } else {
    x <- check_numeric_table(x, arg, call)
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
  if (!(is.numeric(x) || is.logical(x)) || length(dim(x)) > 2) {
    type <- if (is.atomic(x)) paste(" of type", typeof(x))
    kb_abort(c(
      "{.arg {arg}} must be a numeric matrix, a data frame or a numeric
       vector.",
      x = "It is {describe(x)}{type}.",
      i = "Give factors and characters as columns of a data frame."
    ), "data", call = call)
  }
  names <- if (is.matrix(x)) colnames(x)
  x <- matrix(as.double(x), NROW(x), NCOL(x))
  if (!is.null(names)) {
    check_names(names, arg, call)
    colnames(x) <- names
  }
  refuse_no_rows(x, arg, call)
  x
}

#' @noRd
check_names <- function(names, arg, call) {
  none <- is.na(names) | names == ""
  if (any(none)) {
    kb_abort(c(
      "Either all columns of {.arg {arg}} have names, or none.",
      x = "Without a name: {sum(none)} of {length(names)} columns."
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

#' Rows of a vector or a table
#' @noRd
pick_rows <- function(x, rows) {
  if (identical(rows, seq_len(NROW(x)))) {
    return(x)
  }
  if (length(dim(x)) == 2) x[rows, , drop = FALSE] else x[rows]
}

#' @noRd
refuse_no_rows <- function(x, arg, call) {
  if (nrow(x) == 0) {
    kb_abort(c(
      "{.arg {arg}} must have at least one row to work with.",
      x = "It has none."
    ), "rows", call = call)
  }
}

#' Names of the columns of which something is true
#' @param x A table, or a vector, whose name is `arg`.
#' @noRd
columns_where <- function(x, test, arg) {
  if (is.matrix(x)) {
    colnames(x)[vapply(seq_len(ncol(x)), function(j) test(x[, j]), NA)]
  } else if (is.data.frame(x)) {
    names(x)[vapply(x, test, NA)]
  } else {
    arg[test(x)]
  }
}

#' @noRd
refuse_infinite <- function(x, arg, call) {
  columns <- columns_where(x, function(v) {
    (is.double(v) || is.complex(v)) && any(is.infinite(v) | is.nan(v))
  }, arg)
  if (length(columns) > 0) {
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
  if (length(x) == 0) rep(TRUE, NROW(x)) else stats::complete.cases(x)
}

#' Which rows stay: all (or an error) for "fail", the complete for "omit"
#' @param x A table, a vector, or NULL.
#' @noRd
rows_kept <- function(x, na_action, arg, call) {
  complete <- if (is.null(x)) TRUE else complete_cases(x)
  if (na_action == "omit" || all(complete)) {
    return(complete)
  }
  columns <- columns_where(x, anyNA, arg)
  kb_abort(c(
    "{.arg {arg}} has missing values in {sum(!complete)} of {NROW(x)} row{?s}.",
    x = "Missing in {.val {columns}}.",
    i = "Use {.code na_action = \"omit\"} to leave these rows out."
  ), "missing", argument = arg, columns = columns, rows = which(!complete),
  call = call)
}

# Columns ---------------------------------------------------------------------

#' Refuse columns that are no predictors: dates, lists, complex numbers
#'
#' @param bare The columns that enter as they are. A column that enters through
#'   a function of the formula may be a date.
#' @noRd
check_columns <- function(x, bare, arg, call) {
  for (name in if (is.data.frame(x)) names(x)) {
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
#'   `levels`, `width` and `names`, or `like` (no value of the type) where they
#'   apply.
#' @noRd
learn_columns <- function(x, predictors, bare) {
  if (is.matrix(x)) {
    return(lapply(stats::setNames(nm = predictors), function(name) {
      list(kind = "numeric")
    }))
  }
  Map(function(v, is_bare) {
    if (is.numeric(v) && length(dim(v)) == 2 && ncol(v) > 1) {
      list(kind = "matrix", width = ncol(v), names = colnames(v))
    } else if (is.numeric(v) || (is_bare && is.logical(v))) {
      list(kind = "numeric")
    } else if (is_bare) {
      list(kind = "factor", levels = known_levels(v))
    } else {
      list(kind = "raw", like = v[0])
    }
  }, x[predictors], predictors %in% bare)
}

#' The radix method sorts the same in every locale
#' @noRd
known_levels <- function(v) {
  if (is.factor(v)) {
    return(setdiff(levels(v), NA))
  }
  sort(unique(as.vector(v)), method = "radix")
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

#' Predictors as engines and formulas read them; other columns stay
#' @noRd
clean_columns <- function(x, columns, arg, call) {
  if (is.matrix(x) && all_numeric(columns)) {
    return(x)
  }
  x <- as.data.frame(x)
  for (name in names(columns)) {
    x[[name]] <- clean_column(x[[name]], columns[[name]], name, arg, call)
  }
  x
}

#' @noRd
all_numeric <- function(columns) {
  all(vapply(columns, `[[`, "", "kind") == "numeric")
}

#' @noRd
clean_column <- function(v, column, name, arg, call) {
  refuse_unless <- function(fits, wanted) {
    if (!fits) {
      kb_abort(c(
        "Column {.val {name}} of {.arg {arg}} must be {wanted}, as in fitting.",
        x = "It is {describe(v)}."
      ), "columns", columns = name, call = call)
    }
  }
  unknown <- is.logical(v) && all(is.na(v))
  if (column$kind == "numeric") {
    refuse_unless((is.numeric(v) || is.logical(v)) && NCOL(v) == 1, "numeric")
    as.double(v)
  } else if (column$kind == "matrix") {
    refuse_unless(is.numeric(v) && identical(ncol(v), column$width),
      paste(column$width, "numeric columns")
    )
    matrix(as.double(v), nrow(v), dimnames = list(NULL, column$names))
  } else if (column$kind == "factor") {
    refuse_unless(is.factor(v) || is.character(v) || unknown,
      "a factor or character"
    )
    clean_factor(v, column$levels, name, arg, call)
  } else {
    v <- cast_column(v, column$like, name, arg, call)
    refuse_unless(unknown || identical(class(v), class(column$like)),
      describe(column$like)
    )
    v
  }
}

#' A column as functions of the formula had it in fitting: its type, its levels,
#' the unit of its times
#' @noRd
cast_column <- function(v, like, name, arg, call) {
  if (is.factor(like) && (is.factor(v) || is.character(v))) {
    warn_novel(v, levels(like), name, arg, call)
    factor(as.character(v), levels(like), ordered = is.ordered(like))
  } else if (is.character(like) && is.factor(v)) {
    as.character(v)
  } else if (is.logical(like) && is.numeric(v) && all(v %in% c(0, 1, NA))) {
    as.logical(v)
  } else if (inherits(like, "difftime") && inherits(v, "difftime")) {
    units(v) <- units(like)
    v
  } else {
    if (inherits(v, "POSIXct")) attr(v, "tzone") <- attr(like, "tzone")
    v
  }
}

#' @noRd
clean_factor <- function(v, levels, name, arg, call) {
  if (!identical(attributes(v), list(levels = levels, class = "factor"))) {
    warn_novel(v, levels, name, arg, call)
    v <- factor(as.character(v), levels = levels)
  }
  if (length(levels) > 1) {
    return(v)
  }
  # model.matrix() refuses a factor with one level: it is a constant.
  ifelse(is.na(v), NA_real_, 1)
}

#' @noRd
warn_novel <- function(v, levels, name, arg, call) {
  novel <- setdiff(as.character(v), c(levels, NA))
  if (length(novel) > 0) {
    kb_warn(c(
      "{.val {name}} of {.arg {arg}} has {length(novel)} level{?s} not seen in
       fitting: {.val {novel}}.",
      i = "Rows with such a level give NA."
    ), "novel_level", columns = name, levels = novel, call = call)
  }
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
