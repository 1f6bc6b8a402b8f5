# Pictures of kernel means in one and two dimensions.

#' @rdname kernel_mean
#' @export
plot.kb_kernel_mean <- function(x, n = NULL, ...) {
  check_object(x)
  check_plot_dots(list(...))
  if (!is.null(n)) n <- check_count(n, 2)
  d <- ncol(x$points)
  if (d > 2) {
    kb_abort(c(
      "A kernel mean can be drawn in one or two dimensions.",
      x = "Its points have {d}."
    ), "not_defined")
  }
  if (d == 1) draw_mean_curve(x, n, ...) else draw_mean_plane(x, n, ...)
  invisible(x)
}

#' The embedding, and the weights as ticks at its points
#' @noRd
draw_mean_curve <- function(x, n, ...) {
  grid <- embedding_grid(x$points[, 1], if (is.null(n)) 200 else n)
  value <- stats::predict(x, grid)
  ticks <- weight_ticks(x$weights, 0.25 * max(abs(value)))
  base_plot(list(
    x = grid, y = value, type = "n", xlab = point_names(x)[[1]],
    ylab = "embedding", ylim = range(0, value, ticks)
  ), ...)
  graphics::abline(h = 0, col = kb_colour("grey"), lty = 2)
  graphics::segments(x$points[, 1], 0, x$points[, 1], ticks,
    col = weight_colours(x$weights)
  )
  graphics::lines(grid, value, lwd = 2, col = kb_colour("blue"))
  key_above(c(
    list(embedding = list(lwd = 2, col = kb_colour("blue"))), weight_key(x)
  ))
}

#' Ends of ticks from zero, the longest of the given height
#' @noRd
weight_ticks <- function(weights, height) {
  largest <- max(abs(weights))
  if (largest == 0) 0 * weights else height * weights / largest
}

#' The embedding in colours, blue above zero and orange below, and the points
#' in the size of their weights
#' @noRd
draw_mean_plane <- function(x, n, ...) {
  n <- if (is.null(n)) 60 else n
  across <- embedding_grid(x$points[, 1], n)
  up <- embedding_grid(x$points[, 2], n)
  points <- as.matrix(expand.grid(across, up))
  value <- matrix(stats::predict(x, points), n)
  names <- point_names(x)
  base_plot(list(
    x = range(across), y = range(up), type = "n", xlab = names[[1]],
    ylab = names[[2]], xaxs = "i", yaxs = "i"
  ), ...)
  draw_signed_image(across, up, value)
  size <- sqrt(abs(x$weights) / max(abs(x$weights), 1e-300))
  graphics::points(x$points,
    pch = 16, cex = size, col = weight_colours(x$weights)
  )
  graphics::box(bty = "l")
  key_above(weight_key(x, pch = 16))
}

#' @noRd
draw_signed_image <- function(across, up, value) {
  limit <- max(abs(value))
  if (limit == 0) {
    return(invisible())
  }
  colours <- grDevices::colorRampPalette(
    c(kb_colour("orange"), "white", kb_colour("sky"))
  )(63)
  graphics::image(across, up, value,
    zlim = c(-limit, limit), col = colours, add = TRUE
  )
  if (diff(range(value)) > 0) {
    graphics::contour(across, up, value,
      add = TRUE, labcex = 0.8, col = kb_colour("grey")
    )
  }
}

#' @noRd
weight_colours <- function(weights) {
  ifelse(weights < 0, kb_colour("orange", 0.7), kb_colour("grey", 0.7))
}

#' @noRd
weight_key <- function(x, ...) {
  look <- if (...length() > 0) list(...) else list(lwd = 1)
  key <- list("weights" = c(look, list(col = kb_colour("grey"))))
  if (any(x$weights < 0)) {
    key[["negative weights"]] <- c(look, list(col = kb_colour("orange")))
  }
  key
}

#' Over the points and a tenth of their range beyond
#' @noRd
embedding_grid <- function(at, n) {
  ends <- range(at)
  width <- if (diff(ends) > 0) 0.1 * diff(ends) else max(1, abs(ends[[1]]))
  seq(ends[[1]] - width, ends[[2]] + width, length.out = n)
}

#' @noRd
point_names <- function(x) {
  names <- colnames(x$points)
  if (is.null(names)) {
    names <- if (ncol(x$points) == 1) "x" else paste0("x", 1:2)
  }
  names
}
