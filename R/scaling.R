# Standardisation of predictors and response, learned once, at the first call,
# and stored in the fit: later rows use the same numbers.

#' Learn the scaling
#'
#' @param x Numeric matrix, n x p; `y` numeric vector or factor of length n.
#' @param scale `FALSE` leaves x and y untouched: no centring either.
#' @param logs Take logarithms of skewed predictors first? One flag, or one per
#'   column.
#' @param copies NULL, or how many rows each stands for, see R/weights.R.
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
