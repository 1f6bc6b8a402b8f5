# Columns of the mould: what fitting records about each predictor, for reading
# new data.

#' @srrstats {G2.4} Columns become numbers, by what they are.
#' @srrstats {G2.4a} Counts become integers in `check_count()`.
#' @srrstats {G2.4b} Integers and logicals become doubles by `as.double()`.
#' @srrstats {G2.4c} Levels become strings by `as.character()`.
#' @srrstats {G2.4d} Strings become factors with the levels of the fit.
#' @srrstats {G2.4e} Factors become indicators, responses class numbers.
#' @srrstats {G2.11} Columns are read by type; dates and times are errors.
#' @srrstats {G2.12} List columns are errors that name them.
#' @srrstats {RE4.16} Novel levels in `predict()` are a warning and give `NA`.
#' @noRd
NULL

#' Refuse columns that cannot be predictors: dates, lists, complex numbers
#'
#' @param bare The columns that enter as they are; functions may take dates.
#' @noRd
check_columns <- function(x, bare, arg) {
  for (name in if (is.data.frame(x)) names(x)) {
    v <- x[[name]]
    known <- is.numeric(v) || NCOL(v) == 1 &&
      (is.logical(v) || is.factor(v) || is.character(v))
    if (!(known || is.atomic(v) && !name %in% bare)) {
      refuse(arg, "data", "has a column {.val {name}} that cannot be used.",
        "It is {describe(v)}: not numeric, logical, a factor or character.",
        "Convert it first, for instance with {.fun as.numeric}.", columns = name
      )
    }
  }
}

# The kind of each predictor, so that new data can be read the same way
learn_columns <- function(x, predictors, bare) {
  if (is.matrix(x)) {
    numeric <- list(list(kind = "numeric"))
    return(stats::setNames(rep(numeric, ncol(x)), predictors))
  }
  Map(learn_column, x[predictors], predictors %in% bare)
}

#' @param bare If not, functions of the formula need it with its own type.
#' @return List of `kind` ("numeric", "factor", "matrix", "raw"), and `levels`,
#'   `width` and `names`, or `like` (no value of the type) where they apply.
#' @noRd
learn_column <- function(v, bare) {
  if (is.numeric(v) && NCOL(v) > 1) {
    names <- if (is.null(colnames(v))) seq_len(ncol(v)) else colnames(v)
    list(kind = "matrix", width = ncol(v), names = as.character(names))
  } else if (is.numeric(v) || (bare && is.logical(v))) {
    list(kind = "numeric")
  } else if (bare) {
    list(kind = "factor", levels = known_levels(v))
  } else {
    list(kind = "raw", like = v[0])
  }
}

# The radix method sorts the same in every locale
known_levels <- function(v) {
  if (is.factor(v)) setdiff(levels(v), NA) else
    sort(unique(as.vector(v)), method = "radix")
}

# Each level becomes a column: a factor with a level for most rows is an
# identifier
check_levels <- function(columns, n, arg) {
  levels <- vapply(columns, function(column) length(column$levels), 1L)
  check_memory(as.double(n) * sum(levels), "The indicators of the factors",
    "Drop columns with very many levels, or bin them."
  )
  many <- which(levels > 50 & levels > n / 2)
  for (name in names(columns)[many]) {
    kb_warn(c(
      "Column {.val {name}} of {.arg {arg}} has {levels[[name]]} levels in
       {n} rows, each of which becomes a predictor.",
      i = "If it identifies the rows, drop it."
    ), "levels", column = name)
  }
}

all_numeric <- function(columns) {
  all(vapply(columns, `[[`, "", "kind") == "numeric")
}

# Predictors as engines and formulas read them; other columns stay
clean_columns <- function(x, columns, arg) {
  if (is.matrix(x) && all_numeric(columns)) {
    return(x)
  }
  x <- as.data.frame(x)
  for (name in names(columns)) {
    x[[name]] <- clean_column(x[[name]], columns[[name]], name, arg)
  }
  x
}

clean_column <- function(v, column, name, arg) {
  unknown <- is.logical(v) && all(is.na(v))
  if (column$kind == "raw") v <- cast_column(v, column$like, name, arg)
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
    refuse(arg, "columns",
      "has a column {.val {name}} that is not {wanted}, as in fitting.",
      "It is {describe(v)}.", columns = name
    )
  }
  switch(column$kind,
    numeric = as.double(v),
    matrix = matrix(as.double(v), nrow(v), dimnames = list(NULL, column$names)),
    factor = clean_factor(v, column$levels, name, arg), raw = v
  )
}

# A column in the form that functions of the formula had in fitting: its type,
# its levels, the unit of its times
cast_column <- function(v, like, name, arg) {
  if (is.factor(like) && (is.factor(v) || is.character(v))) {
    if (!identical(attributes(v), attributes(like))) {
      warn_novel(v, levels(like), name, arg)
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

clean_factor <- function(v, levels, name, arg) {
  if (!identical(attributes(v), list(levels = levels, class = "factor"))) {
    warn_novel(v, levels, name, arg)
    v <- factor(as.character(v), levels = levels)
  }
  # model.matrix() refuses a factor with one level: it is a constant.
  if (length(levels) > 1) v else ifelse(is.na(v), NA_real_, 1)
}

warn_novel <- function(v, levels, name, arg) {
  novel <- setdiff(as.character(v), c(levels, NA))
  if (length(novel) > 0) {
    kb_warn(c(
      "{.val {name}} of {.arg {arg}} has {length(novel)} level{?s} not seen
       in fitting: {.val {novel}}.",
      i = "Predictions for these rows are NA."
    ), "novel_level", columns = name, levels = novel)
  }
}

# Every level gets a column: to a kernel the levels are symmetric
indicator_matrix <- function(x) {
  if (is.matrix(x)) {
    return(x)
  }
  parts <- Map(function(v, name) {
    inner <- if (is.factor(v)) levels(v) else colnames(v)
    if (is.factor(v)) v <- outer(as.integer(v), seq_along(inner), `==`) + 0
    matrix(v, NROW(v), NCOL(v), dimnames = list(NULL, paste0(name, inner)))
  }, x, names(x))
  do.call(cbind, unname(parts))
}
