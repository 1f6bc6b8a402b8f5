# Columns of the mould: what fitting records about each predictor, for reading
# new data.

# Numbers to a model, told once in fitting: days, seconds, or the unit that a
# difference has
is_time <- function(v) inherits(v, c("Date", "POSIXt", "difftime"))

# Columns of type integer64 as doubles, whose bits are others; times that are
# lists as numbers
plain_numbers <- function(data) {
  for (name in names(data)) data[[name]] <- plain_number(data[[name]])
  data
}

plain_number <- function(v) {
  if (inherits(v, "POSIXlt")) {
    return(as.POSIXct(v))
  }
  if (!inherits(v, "integer64")) {
    return(v)
  }
  rlang::check_installed("bit64", "to read numbers of type integer64.")
  to_double <- getExportedValue("bit64", "as.double.integer64")
  if (is.matrix(v)) matrix(to_double(v), nrow(v)) else to_double(v)
}

# Say what columns of times become
tell_times <- function(x, bare) {
  times <- Filter(is_time, if (is.data.frame(x)) x[intersect(names(x), bare)])
  if (length(times) > 0) {
    unit <- vapply(times, time_unit, "")
    kb_inform(c(
      "Times are used as numbers: {.val {names(times)}} in {unit}.",
      i = "For weekdays or months, add factors made from them."
    ), "times", columns = names(times))
  }
}

# Say what kernels see of ordered factors
tell_ordered <- function(frame) {
  ordered <- names(Filter(is.ordered, if (is.data.frame(frame)) frame))
  if (length(ordered) > 0) {
    kb_inform(c(
      "Kernels see the scores 1, 2, ... of the levels of ordered factors:
       {.val {ordered}}.",
      i = "{.code factor(x, ordered = FALSE)} gives one column per level."
    ), "ordered", columns = ordered)
  }
}

time_unit <- function(v) {
  if (inherits(v, "difftime")) {
    units(v)
  } else if (inherits(v, "Date")) {
    "days since 1970"
  } else {
    "seconds since 1970"
  }
}

#' Refuse columns that cannot be predictors: lists, complex numbers
#'
#' @param bare The columns that enter as they are; functions may take others.
#' @noRd
check_columns <- function(x, bare, arg) {
  for (name in if (is.data.frame(x)) names(x)) {
    v <- x[[name]]
    known <- is.numeric(v) || is_time(v) || NCOL(v) == 1 &&
      (is.logical(v) || is.factor(v) || is.character(v))
    if (!(known || is.atomic(v) && !name %in% bare)) {
      refuse(arg, "data", "has a column {.val {name}} that cannot be used.",
        "It is {describe(v)}: not numeric, logical, a time, a factor or
         character.",
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
#' @return List of `kind` ("numeric", "factor", "ordered", "matrix", "raw"), and
#'   `levels`, `width` and `names`, or `like` (no value of the type) where they
#'   apply.
#' @noRd
learn_column <- function(v, bare) {
  if (is.numeric(v) && NCOL(v) > 1) {
    names <- if (is.null(colnames(v))) seq_len(ncol(v)) else colnames(v)
    list(kind = "matrix", width = ncol(v), names = as.character(names))
  } else if (is_time(v)) {
    # Functions of the formula may need them as they are.
    list(kind = "raw", like = v[0])
  } else if (is.numeric(v) || (bare && is.logical(v))) {
    list(kind = "numeric")
  } else if (bare) {
    list(
      kind = if (is.ordered(v)) "ordered" else "factor",
      levels = known_levels(v)
    )
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
check_levels <- function(columns, data, arg) {
  n <- nrow(data)
  levels <- vapply(columns, function(column) {
    if (column$kind == "factor") length(column$levels) else 0L
  }, 1L)
  for (name in names(columns)[levels > 10]) {
    if (is.character(data[[name]]) && are_dates(columns[[name]]$levels)) {
      refuse(arg, "data", "has a column {.val {name}} of dates as text.",
        "Each of its {levels[[name]]} values would become a predictor.",
        "{.fn as.Date} or {.fn as.POSIXct} makes numbers of them, {.fn factor}
         confirms levels.", columns = name
      )
    }
  }
  check_memory(as.double(n) * sum(levels), "The indicators of the factors",
    "Drop columns with very many levels, or bin them."
  )
  many <- which(levels > 50 & levels > n / 2)
  for (name in names(columns)[many]) {
    kb_warn(c(
      "Column {.val {name}} of {.arg {arg}} has a level for every other row or
       more, each of which becomes a predictor.",
      x = "It has {levels[[name]]} levels in {n} rows.",
      i = "If it identifies the rows, drop it."
    ), "levels", column = name)
  }
}

# As 2024-01-05, 5.1.2024 or 1/5/24, with or without a time
are_dates <- function(text) {
  digits <- "^([0-9]{4}[-/.][0-9]{1,2}[-/.][0-9]{1,2}|"
  all(grepl(
    paste0(digits, "[0-9]{1,2}[-/.][0-9]{1,2}[-/.][0-9]{2,4})([ T].*)?$"), text
  ))
}

#' Columns that do not vary in fitting, up to rounding, and their values
#'
#' They have no unit of their own, and nothing is learned of other values: all
#' rows get this one.
#' @param except Columns that may be constant. An indicator has the unit of
#'   those of the other levels; its level may well have no rows.
#' @return A named vector, or NULL.
#' @noRd
constant_columns <- function(x, except, what = NULL) {
  if (is.null(what)) what <- "New rows count as having the same value."
  moments <- column_moments(x)
  found <- which(moments$constant & !except & nrow(x) > 1)
  if (length(found) == 0) {
    return(NULL)
  }
  names <- without_backticks(colnames(x)[found])
  kb_inform(c(
    "{cli::qty(names)}Column{?s} {.val {names}} {?is/are} constant and
     {?does/do} not distinguish rows.",
    i = paste0("{cli::qty(names)}", what)
  ), "constant", columns = names)
  stats::setNames(moments$center[found], colnames(x)[found])
}

# Which columns are indicators of several levels, for x and y
indicators_among <- function(columns) {
  many <- vapply(columns, function(column) {
    column$kind == "factor" && length(column$levels) > 1
  }, NA)
  rep(many, column_widths(columns))
}

# Rows with the values that were constant in fitting
hold_constant <- function(x, constant, arg = NULL) {
  constant <- constant[names(constant) %in% colnames(x)]
  if (length(constant) == 0) {
    return(x)
  }
  held <- matrix(constant, nrow(x), length(constant), byrow = TRUE)
  off <- abs(x[, names(constant), drop = FALSE] - held) > 1e-8 * abs(held)
  moved <- without_backticks(names(constant)[colSums(off, na.rm = TRUE) > 0])
  if (!is.null(arg) && length(moved) > 0) {
    kb_inform(c(
      "{cli::qty(moved)}Column{?s} {.val {moved}} {?was/were} constant in
       fitting: {?its/their} values in {.arg {arg}} do not count.",
      i = "A fit to rows in which {cli::qty(moved)}{?it varies/they vary} learns
           what {?it does/they do}."
    ), "constant", columns = moved)
  }
  x[, names(constant)] <- held
  x
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
  if (!is.null(column$like)) v <- cast_column(v, column$like, name, arg)
  fits <- switch(column$kind,
    numeric = (is.numeric(v) || is.logical(v)) && NCOL(v) == 1 && !is_time(v),
    matrix = is.numeric(v) && identical(ncol(v), column$width),
    factor = , ordered = is.factor(v) || is.character(v) || unknown,
    raw = identical(class(v), class(column$like)) || unknown
  )
  if (!fits) {
    wanted <- switch(column$kind,
      numeric = "numeric", matrix = paste(column$width, "numeric columns"),
      factor = , ordered = "a factor or character",
      raw = class_of(column$like)
    )
    refuse(arg, "columns",
      "has a column {.val {name}} that is not {wanted}, as in fitting.",
      "It is {describe(v)}.", columns = name
    )
  }
  switch(column$kind,
    numeric = as.double(v),
    matrix = matrix(as.double(v), nrow(v), dimnames = list(NULL, column$names)),
    factor = clean_factor(v, column$levels, name, arg),
    ordered = known_factor(v, column$levels, name, arg, TRUE), raw = v
  )
}

# A factor with the levels of the fit
known_factor <- function(v, levels, name, arg, ordered = FALSE) {
  warn_novel(v, levels, name, arg)
  factor(as.character(v), levels = levels, ordered = ordered)
}

# A column in the form that functions of the formula had in fitting: its type,
# its levels, the unit of its times
cast_column <- function(v, like, name, arg) {
  if (is_time(like) && is.numeric(v) && !is.object(v)) {
    return(time_like(v, like))
  }
  same <- c("Date", "POSIXct", "difftime")
  if (any(same %in% class(v) & same %in% class(like))) {
    if (inherits(like, "difftime")) units(v) <- units(like)
    return(time_like(as.double(v), like))
  }
  if (is.factor(like) && (is.factor(v) || is.character(v))) {
    if (!identical(attributes(v), attributes(like))) {
      v <- known_factor(v, levels(like), name, arg, is.ordered(like))
    }
  } else if (is.character(like) && is.factor(v)) {
    v <- as.character(v)
  } else if (is.logical(like) && is.numeric(v) && all(v %in% c(0, 1, NA))) {
    v <- as.logical(v)
  }
  v
}

# Numbers as times of this kind, with its unit or zone
time_like <- function(v, like) `attributes<-`(v, attributes(like))

clean_factor <- function(v, levels, name, arg) {
  if (!identical(attributes(v), list(levels = levels, class = "factor"))) {
    v <- known_factor(v, levels, name, arg)
  }
  # model.matrix() refuses a factor with one level: it is a constant.
  if (length(levels) > 1) v else ifelse(is.na(v), NA_real_, 1)
}

warn_novel <- function(v, levels, name, arg) {
  novel <- setdiff(as.character(v), c(levels, NA))
  if (length(novel) > 0) {
    kb_warn(c(
      "{.val {name}} of {.arg {arg}} has levels not seen in fitting.",
      x = "{cli::qty(novel)}Level{?s}: {.val {novel}}.",
      i = "Predictions for these rows are NA."
    ), "novel_level", columns = name, levels = novel)
  }
}

# Every level gets a column: to a kernel the levels are symmetric; if they are
# ordered, their distance counts
indicator_matrix <- function(x) {
  if (is.matrix(x)) {
    return(x)
  }
  parts <- Map(function(v, name) {
    if (is.ordered(v) || is_time(v)) v <- as.double(v)
    inner <- if (is.factor(v)) levels(v) else colnames(v)
    if (is.factor(v)) v <- outer(as.integer(v), seq_along(inner), `==`) + 0
    matrix(v, NROW(v), NCOL(v), dimnames = list(NULL, paste0(name, inner)))
  }, x, names(x))
  do.call(cbind, unname(parts))
}
