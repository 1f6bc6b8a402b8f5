# Standardisation of predictors and response, learned once, at the first call,
# and stored in the fit: later rows use the same numbers.

#' @srrstats {RE2.3} `scale` and `intercept` of the fit functions.
#' @srrstats {RE4.12} The scaling is part of the fit and undone in all it gives.
#' @noRd
NULL

#' Learn the scaling
#'
#' @param x Numeric matrix, n x p; `y` numeric vector or factor of length n.
#' @param scale `FALSE` leaves x and y untouched: no centring either.
#' @return List of `x_center`, `x_scale` (length p), `y_center`, `y_scale`.
#' @noRd
scaling_learn <- function(x, y, scale = TRUE) {
  s <- list(
    x_center = rep(0, ncol(x)), x_scale = rep(1, ncol(x)),
    y_center = 0, y_scale = 1
  )
  if (scale) {
    moments <- column_moments(x)
    s$x_center <- moments$center
    s$x_scale <- moments$scale
    if (!is.factor(y)) {
      moments <- column_moments(as.matrix(y))
      s$y_center <- moments$center
      s$y_scale <- moments$scale
    }
  }
  names(s$x_center) <- names(s$x_scale) <- colnames(x)
  s
}

# Means and standard deviations (divisor n - 1) of the columns
#
# The columns are brought to a maximum of 1 first, so that no sum or square
# overflows. A constant column, or a single row, gets scale 1; "constant" is
# relative to the size of the values, as rounding is.
column_moments <- function(x) {
  size <- if (nrow(x) > 0) apply(abs(x), 2, max) else rep(0, ncol(x))
  unit <- ifelse(size > 0, size, 1)
  z <- sweep(x, 2, unit, "/")
  center <- colMeans(z)
  z <- sweep(z, 2, center)
  sd <- sqrt(colSums(z^2) / max(nrow(x) - 1, 1))
  list(
    center = unname(center * unit),
    scale = unname(ifelse(sd > 1e-12, sd * unit, 1))
  )
}

scaling_x <- function(s, x) {
  sweep(sweep(x, 2, s$x_center), 2, s$x_scale, "/")
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
