# Plots of bark fits of several classes.

#' @noRd
plot_fields <- function(x, n, ...) {
  if (ncol(x$data$x) == 1) {
    plot_fields_curves(x, if (is.null(n)) 200 else n, ...)
  } else {
    plot_fields_plane(x, if (is.null(n)) 50 else n, ...)
  }
}

#' Class probabilities at points in their own units, from some of the draws
#' @noRd
fields_drawn_probability <- function(x, points, most = 400) {
  pool <- posterior_pool(x)
  draws <- length(pool$weights)
  fields_probability(x, points, pool, spread_over(draws, min(draws, most)))
}

#' @noRd
draw_fields_rows <- function(x, across, up) {
  y <- as.integer(training_response(x))
  classes <- length(x$mould$levels)
  graphics::points(across, up,
    pch = class_symbols(classes)[y], cex = 0.7, col = class_colours(classes)[y]
  )
}

#' @noRd
fields_key <- function(x) {
  classes <- length(x$mould$levels)
  class_key(
    x$mould$levels, class_symbols(classes), class_colours(classes),
    x$mould$outcome_name
  )
}

#' @noRd
plot_fields_curves <- function(x, n, ...) {
  at <- training_x(x)[, 1]
  grid <- curve_grid(x, at, n)
  points <- matrix(grid, dimnames = list(NULL, colnames(x$data$x)))
  p <- fields_drawn_probability(x, points)
  base_plot(list(
    x = range(grid), y = 0:1, type = "n", xlab = colnames(x$data$x),
    ylab = "class probability", ylim = c(-0.05, 1.05)
  ), ...)
  graphics::matlines(grid, p, lty = 1, lwd = 2, col = class_colours(ncol(p)))
  draw_centres(x)
  draw_fields_rows(x, at, rep(1.04, length(at)))
  key_above(fields_key(x))
}

#' Over the two predictors that matter most
#' @noRd
plot_fields_plane <- function(x, n, ...) {
  plot_plane(
    x, unname(leading_of_fields(x)[1:2]), n,
    function(points) fields_drawn_probability(x, points),
    draw_fields_rows, fields_key, ...
  )
}
