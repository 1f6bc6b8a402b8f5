# Plots of bark fits of several classes.

#' @rdname plot.kb_bark
#' @export
plot.kb_bark_multinomial <- function(x,
                                     type = c(
                                       "fit", "importance", "k", "centres",
                                       "trace"
                                     ), level = 0.9, n = NULL, ...) {
  check_plot_dots(list(...))
  type <- check_choice(type, c("fit", "importance", "k", "centres", "trace"))
  level <- check_number(level, 0, 1, open = TRUE)
  if (!is.null(n)) n <- check_count(n, 2)
  switch(type,
    fit = if (ncol(x$data$x) == 1) {
      plot_fields_curves(x, if (is.null(n)) 200 else n, ...)
    } else {
      plot_fields_plane(x, if (is.null(n)) 50 else n, ...)
    },
    importance = plot(importance(x, level = level), ...),
    k = plot_k(x, fields_prior_k(x), "kernels", ...),
    centres = plot_centres(x, ...),
    trace = plot_chains(x, c(
      J = "number of kernels", log_lik = "log likelihood"
    ), ...)
  )
  invisible(x)
}

#' The Poisson prior of the number of kernels of all fields
#' @noRd
fields_prior_k <- function(fit) {
  nu <- fit$settings$prior$nu * length(fit$mould$levels)
  k <- seq(0, max(kernels(fit)$k) + 2)
  data.frame(k = k, probability = stats::dpois(k, nu))
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
    x, most_important(importance(x), 2), n,
    function(points) fields_drawn_probability(x, points),
    draw_fields_rows, fields_key, ...
  )
}
