# Tables, rows and columns of the mould: what is accepted, what is refused,
# what is learned of each column and how new data are read by it.

#' @srrstats {G2.4} Columns become numbers, by what they are.
#' @srrstats {G2.4a} Counts become integers in `check_count()`.
#' @srrstats {G2.4b} Integers and logicals become doubles by `as.double()`.
#' @srrstats {G2.4c} Levels become strings by `as.character()`.
#' @srrstats {G2.4d} Strings become factors with the levels of the fit.
#' @srrstats {G2.4e} Factors become indicators, responses class numbers.
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
check_table <- function(data, at) {
  if (!is.data.frame(data)) {
    refuse(at, "data", "must be a data frame.", "It is {describe(data)}.")
  }
  # One that was put together by hand may have columns of any length.
  rows <- vapply(unclass(data), NROW, 1L)
  odd <- names(data)[rows != nrow(data)]
  if (length(odd) > 0) {
    refuse(at, "data", "must have columns of {nrow(data)} rows each.",
      "Of another length: {.val {odd}}.", columns = odd
    )
  }
  data <- as.data.frame(data)
  check_names(names(data), at)
  refuse_no_rows(data, at)
  data
}

#' A data frame, or a numeric matrix
#' @noRd
check_predictors <- function(x, at) {
  if (is.data.frame(x)) {
    x <- check_table(x, at)
  } else {
    if (!(is.numeric(x) || is.logical(x)) || length(dim(x)) > 2) {
      refuse(at, "data",
        "must be a numeric matrix, a data frame or a numeric vector.",
        "It is {describe(x)} of type {typeof(x)}.",
        "Give factors and characters as columns of a data frame."
      )
    }
    names <- if (is.matrix(x)) colnames(x)
    x <- matrix(as.double(x), NROW(x), NCOL(x))
    if (!is.null(names)) {
      check_names(names, at)
      colnames(x) <- names
    }
    refuse_no_rows(x, at)
  }
  if (ncol(x) == 0) refuse(at, "data", "has no columns: no predictors.")
  x
}

#' @noRd
check_names <- function(names, at) {
  bad <- unique(names[is.na(names) | names == "" | duplicated(names)])
  if (length(bad) > 0) {
    refuse(at, "data", "must have distinct names of columns, or none at all.",
      "Missing, empty or there twice: {.val {bad}}.", columns = bad
    )
  }
}

#' @noRd
position_names <- function(p, stem = "x") {
  if (!identical(stem, make.names(stem))) stem <- "x"
  if (p == 1) stem else paste0(stem, seq_len(p))
}

#' @noRd
pick_columns <- function(data, wanted, at) {
  lost <- setdiff(wanted, colnames(data))
  if (length(lost) > 0) {
    refuse(at, "columns",
      "lacks {length(lost)} column{?s} of the fit: {.val {lost}}.",
      if (is.null(colnames(data))) "It is a table without column names." else
        "It has columns {.val {colnames(data)}}.",
      columns = lost
    )
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
refuse_no_rows <- function(x, at) {
  if (nrow(x) == 0) {
    refuse(at, "rows", "must have at least one row to work with.",
      "It has none."
    )
  }
}

#' Names of the columns of which something is true; `at` names a vector
#' @noRd
columns_where <- function(x, test, at) {
  if (is.data.frame(x)) {
    names(x)[vapply(x, test, NA)]
  } else if (is.matrix(x)) {
    colnames(x)[vapply(seq_len(ncol(x)), function(j) test(x[, j]), NA)]
  } else {
    at$arg[test(x)]
  }
}

#' @noRd
refuse_infinite <- function(x, at) {
  columns <- columns_where(x, function(v) {
    (is.double(v) || is.complex(v)) && any(is.infinite(v) | is.nan(v))
  }, at)
  if (length(columns) > 0) {
    refuse(at, "infinite", "must be finite (NA marks a missing value).",
      "Inf or NaN in {.val {columns}}.", columns = columns
    )
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
rows_kept <- function(x, na_action, at) {
  complete <- if (is.null(x)) TRUE else complete_cases(x)
  if (na_action == "fail" && !all(complete)) {
    columns <- columns_where(x, anyNA, at)
    rows <- which(!complete)
    refuse(at, "missing",
      "has missing values in {length(rows)} of {NROW(x)} row{?s}.",
      "Missing in {.val {columns}}.",
      "Use {.code na_action = \"omit\"} to leave these rows out.",
      columns = columns, rows = rows
    )
  }
  complete
}

# Columns ---------------------------------------------------------------------

#' Refuse columns that are no predictors: dates, lists, complex numbers
#'
#' @param bare The columns that enter as they are. A column that enters through
#'   a function of the formula may be a date.
#' @noRd
check_columns <- function(x, bare, at) {
  columns_where <- if (is.data.frame(x)) names(x)
  for (name in columns_where) {
    v <- x[[name]]
    known <- is.numeric(v) || is.logical(v) || is.factor(v) || is.character(v)
    if (!(known || is.atomic(v) && !name %in% bare)) {
      refuse(at, "data", paste(
        "has a column {.val {name}} that is not numeric, logical, a factor or",
        "character."
      ), "It is {describe(v)}.",
      "Convert it first, for instance with {.fun as.numeric}.", columns = name
      )
    }
  }
}

#' What each predictor is, so that new data can be read the same way
#' @param bare The columns that enter as they are.
#' @noRd
learn_columns <- function(x, predictors, bare) {
  if (is.matrix(x)) {
    return(lapply(stats::setNames(nm = predictors), function(name) {
      list(kind = "numeric")
    }))
  }
  Map(learn_column, x[predictors], predictors %in% bare)
}

#' @param bare Does it enter as it is? Else it enters through a function of the
#'   formula and keeps its type, unless numeric.
#' @return List of `kind` ("numeric", "factor", "matrix", "raw"), and `levels`,
#'   `width` and `names`, or `like` (no value of the type) where they apply.
#' @noRd
learn_column <- function(v, bare) {
  if (is.numeric(v) && NCOL(v) > 1) {
    list(kind = "matrix", width = ncol(v), names = colnames(v))
  } else if (is.numeric(v) || (bare && is.logical(v))) {
    list(kind = "numeric")
  } else if (bare) {
    list(kind = "factor", levels = known_levels(v))
  } else {
    list(kind = "raw", like = v[0])
  }
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
check_levels <- function(columns, n, at) {
  levels <- vapply(columns, function(column) length(column$levels), 1L)
  check_memory(as.double(n) * sum(levels), "The indicators of the factors",
    "Leave out columns that have very many levels, or bin them.",
    call = at$call
  )
  many <- which(levels > 50 & levels > n / 2)
  for (name in names(columns)[many]) {
    kb_warn(c(
      "Column {.val {name}} of {.arg {at$arg}} has {levels[[name]]} levels in
       {n} rows, each of which becomes a predictor.",
      i = "If it identifies the rows, leave it out."
    ), "levels", column = name, call = at$call)
  }
}

#' @noRd
all_numeric <- function(columns) {
  all(vapply(columns, `[[`, "", "kind") == "numeric")
}

#' Predictors as engines and formulas read them; other columns stay
#' @noRd
clean_columns <- function(x, columns, at) {
  if (is.matrix(x) && all_numeric(columns)) {
    return(x)
  }
  x <- as.data.frame(x)
  for (name in names(columns)) {
    x[[name]] <- clean_column(x[[name]], columns[[name]], name, at)
  }
  x
}

#' @noRd
clean_column <- function(v, column, name, at) {
  unknown <- is.logical(v) && all(is.na(v))
  if (column$kind == "raw") v <- cast_column(v, column$like, name, at)
  fits <- switch(column$kind,
    numeric = (is.numeric(v) || is.logical(v)) && NCOL(v) == 1,
    matrix = is.numeric(v) && identical(ncol(v), column$width),
    factor = is.factor(v) || is.character(v) || unknown,
    raw = identical(class(v), class(column$like)) || unknown
  )
  if (!fits) {
    wanted <- switch(column$kind,
      numeric = "numeric", matrix = paste(column$width, "numeric columns"),
      factor = "a factor or character", raw = describe(column$like)
    )
    refuse(at, "columns",
      "has a column {.val {name}} that is not {wanted}, as in fitting.",
      "It is {describe(v)}.", columns = name
    )
  }
  switch(column$kind,
    numeric = as.double(v),
    matrix = matrix(as.double(v), nrow(v), dimnames = list(NULL, column$names)),
    factor = clean_factor(v, column$levels, name, at), raw = v
  )
}

#' A column as functions of the formula had it in fitting: its type, its levels,
#' the unit of its times
#' @noRd
cast_column <- function(v, like, name, at) {
  if (is.factor(like) && (is.factor(v) || is.character(v))) {
    if (!identical(attributes(v), attributes(like))) {
      warn_novel(v, levels(like), name, at)
      v <- factor(as.character(v), levels(like), ordered = is.ordered(like))
    }
  } else if (is.character(like) && is.factor(v)) {
    v <- as.character(v)
  } else if (is.logical(like) && is.numeric(v) && all(v %in% c(0, 1, NA))) {
    v <- as.logical(v)
  } else if (inherits(like, "difftime") && inherits(v, "difftime")) {
    units(v) <- units(like)
  } else if (inherits(like, "POSIXct") && inherits(v, "POSIXct")) {
    attr(v, "tzone") <- attr(like, "tzone")
  }
  v
}

#' @noRd
clean_factor <- function(v, levels, name, at) {
  if (!identical(attributes(v), list(levels = levels, class = "factor"))) {
    warn_novel(v, levels, name, at)
    v <- factor(as.character(v), levels = levels)
  }
  # model.matrix() refuses a factor with one level: it is a constant.
  if (length(levels) > 1) v else ifelse(is.na(v), NA_real_, 1)
}

#' @noRd
warn_novel <- function(v, levels, name, at) {
  novel <- setdiff(as.character(v), c(levels, NA))
  if (length(novel) > 0) {
    kb_warn(c(
      "{.val {name}} of {.arg {at$arg}} has {length(novel)} level{?s} not seen
       in fitting: {.val {novel}}.",
      i = "Rows with such a level give NA."
    ), "novel_level", columns = name, levels = novel, call = at$call)
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
      inner <- levels(v)
      v <- outer(as.integer(v), seq_along(inner), `==`) + 0
    } else {
      inner <- if (NCOL(v) > 1) colnames(v)
      if (is.null(inner) && NCOL(v) > 1) inner <- seq_len(NCOL(v))
    }
    matrix(v, NROW(v), NCOL(v), dimnames = list(NULL, paste0(name, inner)))
  }, x, names(x))
  do.call(cbind, unname(parts))
}
