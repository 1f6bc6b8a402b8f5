# Plots of kernel means in one and two dimensions.

#' @rdname kernel_mean
#' @export
plot.kb_kernel_mean <- function(x, n = NULL, ...) {
  draw_picture(kernel_mean_picture(x, n), x, ...)
}

#' @rdname autoplot.kb_srvm
#' @exportS3Method ggplot2::autoplot
autoplot.kb_kernel_mean <- autoplot_of(plot.kb_kernel_mean)

kernel_mean_picture <- function(x, n) {
  check_object(x)
  d <- ncol(x$points)
  if (!is.null(n)) n <- check_size(n, 2, each = if (d == 1) 3 else n)
  if (d > 2) {
    kb_abort(c(
      "A kernel mean can be drawn in one or two dimensions.",
      x = "Its points have {d}."
    ), "not_defined")
  }
  draw <- if (d == 1) mean_curve_panel else mean_plane_panel
  new_picture(draw(x, if (is.null(n)) c(200, 60)[[d]] else n))
}

# The embedding, and the weights as ticks at its points, the longest a quarter
# as high
mean_curve_panel <- function(x, n) {
  grid <- embedding_grid(x$points[, 1], n)
  value <- stats::predict(x, grid)
  w <- x$weights
  ticks <- 0.25 * max(abs(value)) * w / max(abs(w), 1e-300)
  panel(
    point_names(x)[[1]], "embedding",
    rule_layer(y = 0),
    weights_layer("ranges", w, data.frame(
      x = x$points[, 1], ymin = pmin(ticks, 0), ymax = pmax(ticks, 0)
    ), "grey", lwd = 2),
    lines_layer(grid, value, lwd = 2, label = "embedding")
  )
}

# The embedding in colours, blue above zero and orange below, and points sized
# by their weights
mean_plane_panel <- function(x, n) {
  across <- embedding_grid(x$points[, 1], n)
  up <- embedding_grid(x$points[, 2], n)
  cells <- expand.grid(x = across, y = up)
  cells$z <- stats::predict(x, as.matrix(cells))
  highest <- max(abs(cells$z))
  size <- sqrt(abs(x$weights) / max(abs(x$weights), 1e-300))
  names <- point_names(x)
  panel(
    names[[1]], names[[2]],
    if (highest > 0) surface_layer(cells, "embedding", c(-1, 1) * highest,
      c(kb_colour("orange"), "white", kb_colour("sky"))
    ),
    contour_layer(cells, colour = "#303030", labels = TRUE, on_tiles = TRUE),
    weights_layer("points", x$weights,
      data.frame(x = x$points[, 1], y = x$points[, 2], size = size), "grey"
    ),
    xlim = range(across), ylim = range(up), tight = TRUE
  )
}

# Over the points and a tenth of their range beyond
embedding_grid <- function(at, n) {
  ends <- range(at)
  width <- if (diff(ends) > 0) 0.1 * diff(ends) else max(1, abs(ends[[1]]))
  seq(ends[[1]] - width, ends[[2]] + width, length.out = n)
}

point_names <- function(x) {
  names <- colnames(x$points)
  if (is.null(names)) {
    names <- if (ncol(x$points) == 1) "x" else paste0("x", 1:2)
  }
  names
}
