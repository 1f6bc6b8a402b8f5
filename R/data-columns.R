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

# Standardisation of predictors and response, learned once, at the first call,
# and stored in the fit: later rows use the same numbers.

#' Learn the scaling
#' @param x Numeric matrix, n x p; `y` numeric vector or factor of length n.
#' @param scale `FALSE` leaves x and y untouched: no centring either.
#' @param logs Take logarithms of skewed predictors first? One flag, or one per
#'   column.
#' @param copies NULL, or how many rows each stands for, see R/data-response.R.
#' @return List of `x_center`, `x_scale` (length p), `y_center`, `y_scale` and,
#'   if there are any logarithms, `x_log`. With a kernel of the user's own
#'   [srvm()] adds its `map`, see `custom_map()`.
#' @noRd
scaling_learn <- function(x, y, scale = TRUE, logs = FALSE, copies = NULL) {
  s <- list(
    x_center = rep(0, ncol(x)), x_scale = rep(1, ncol(x)),
    y_center = 0, y_scale = 1
  )
  if (scale) {
    if (any(logs)) s$x_log <- logs_learn(x, logs, copies)
    x <- take_logs(s$x_log, x, seq_len(ncol(x)))
    moments <- column_moments(x, copies)
    s$x_center <- moments$center
    s$x_scale <- moments$scale
    if (!is.null(y) && !is.factor(y)) {
      moments <- column_moments(as.matrix(y), copies)
      s$y_center <- moments$center
      s$y_scale <- moments$scale
    }
  }
  names(s$x_center) <- names(s$x_scale) <- colnames(x)
  s
}

# TRUE, with logarithms of predictors with a long tail; "linear", without; FALSE
check_scale <- function(scale) {
  if (!(isTRUE(scale) || isFALSE(scale) || identical(scale, "linear"))) {
    bad_argument(scale, "scale", "TRUE, FALSE or \"linear\"")
  }
  scale
}

# Means and standard deviations (divisor n - 1) of the columns
#
# The columns are brought to a maximum of 1 first, so that no sum or square
# overflows. A constant column, or a single row, gets scale 1; "constant" is
# relative to the size of the values, as rounding is.
column_moments <- function(x, copies = NULL) {
  size <- if (nrow(x) > 0) apply(abs(x), 2, max) else rep(0, ncol(x))
  unit <- ifelse(size > 0, size, 1)
  z <- sweep(x, 2, unit, "/")
  center <- copy_means(z, copies)
  z <- sweep(z, 2, center)
  sd <- if (is.null(copies)) {
    sqrt(colSums(z^2) / max(nrow(x) - 1, 1))
  } else {
    sqrt(colSums(copies * z^2) / spread_divisor(sum(copies)))
  }
  constant <- unname(sd <= 1e-12)
  list(
    center = as.double(center * unit), constant = constant,
    scale = as.double(ifelse(constant, 1, sd * unit))
  )
}

#' @param columns The predictors in x, if it has not all of them.
#' @noRd
scaling_x <- function(s, x, columns = seq_len(ncol(x))) {
  x <- scaling_numbers(s, x, columns)
  if (is.null(s$map)) x else map_points(s$map, x)
}

# As kernels of the user's own see the predictors
scaling_numbers <- function(s, x, columns = seq_len(ncol(x))) {
  x <- take_logs(s$x_log, x, columns)
  sweep(sweep(x, 2, s$x_center[columns]), 2, s$x_scale[columns], "/")
}

# Logarithms of skewed predictors ------------------------------------------

# A predictor with a long tail, to the right (side 1) or to the left (-1),
# becomes side log(1 + u) with u = (side x - from) / unit: the distance from the
# other end of the data, relative to its median, so that the map is the same
# in any units. Beyond that end it continues as a straight line.
#
# Few values and moderate skewness are left alone.
logs_learn <- function(x, which = TRUE, copies = NULL) {
  each <- Map(function(l, may) {
    if (may) log_of(x[, l], copies) else no_log
  }, seq_len(ncol(x)), rep_len(which, ncol(x)))
  out <- list(
    side = vapply(each, `[[`, 0, 1), from = vapply(each, `[[`, 0, 2),
    unit = vapply(each, `[[`, 0, 3)
  )
  if (any(out$side != 0)) out
}

# Products of predictors and bases such as poly() are not skewed predictors
may_take_logs <- function(mould) {
  if (is.null(mould$assign)) {
    return(TRUE)
  }
  order <- attr(mould$terms, "order")
  columns <- tabulate(mould$assign, length(order))
  given <- attr(mould$terms, "term.labels") %in% names(mould$columns)
  (order == 1 & (columns == 1 | given))[mould$assign]
}

no_log <- c(0, 0, 1)

log_of <- function(v, copies = NULL, least = 1, values = 6) {
  if (length(unique(v)) < values || !is.finite(diff(range(v)))) {
    return(no_log)
  }
  before <- skewness(v, copies)
  if (abs(before) <= least) {
    return(no_log)
  }
  side <- sign(before)
  from <- min(side * v)
  unit <- copy_quantiles(side * v - from, 0.5, copies)
  if (unit == 0) unit <- copy_means(cbind(side * v - from), copies)
  after <- skewness(log1p((side * v - from) / unit), copies)
  if (abs(after) < abs(before)) c(side, from, unit) else no_log
}

skewness <- function(v, copies = NULL) {
  mean <- function(v) copy_means(cbind(v), copies)
  v <- v - mean(v)
  v <- v / max(abs(v))
  mean(v^3) / mean(v^2)^1.5
}

take_logs <- function(logs, x, columns) {
  for (i in which(logs$side[columns] != 0)) {
    l <- columns[[i]]
    u <- (logs$side[[l]] * x[, i] - logs$from[[l]]) / logs$unit[[l]]
    x[, i] <- logs$side[[l]] * ifelse(u > 0, log1p(pmax(u, 0)), u)
  }
  x
}

# The predictors of which logarithms are taken
logged <- function(s) names(s$x_center)[which(s$x_log$side != 0)]

# For print()
logs_line <- function(fit, most = 5) {
  names <- logged(fit$settings$scaling)
  if (length(names) == 0) {
    return(NULL)
  }
  more <- length(names) - most
  if (more > 0) names <- c(utils::head(names, most), paste(more, "more"))
  paste0("  logarithms:   ", in_column(toString(names)), "\n")
}

scaling_y <- function(s, y) {
  if (is.factor(y)) {
    return(y)
  }
  (y - s$y_center) / s$y_scale
}

# Convert means, quantiles or draws to the units of the response
unscale_mean <- function(s, v) {
  s$y_center + s$y_scale * v
}

# Convert standard deviations (or differences) to those units
unscale_sd <- function(s, v) {
  s$y_scale * v
}

# The number of numeric columns for each column
column_widths <- function(columns) {
  vapply(columns, function(column) {
    switch(column$kind,
      factor = length(column$levels), matrix = column$width, 1L
    )
  }, 1L)
}
