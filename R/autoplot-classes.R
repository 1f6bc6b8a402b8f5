# Pictures of classes: curves, rows by probability, and the plane of two
# predictors.

#' @rdname autoplot.kb_srvm
#' @exportS3Method ggplot2::autoplot
autoplot.kb_kgs <- function(object,
                            type = c(
                              "boundary", "reject", "noise", "trace", "f",
                              "trace_density"
                            ), variable = NULL, complement = TRUE,
                            newdata = NULL, newy = NULL, level = 0.9,
                            n = NULL, ...) {
  check_no_dots(...)
  need_package("ggplot2", "`autoplot()`")
  object <- migrate_fit(object)
  type <- check_choice(type, kgs_plot_types)
  refuse_ignored(type, "none", c(
    variable = !is.null(variable), complement = !missing(complement),
    newdata = !is.null(newdata), newy = !is.null(newy),
    level = !missing(level), n = !is.null(n)
  ), kgs_plot_arguments(type), "autoplot.kb_srvm")
  complement <- check_flag(complement)
  level <- check_number(level, 0, 1, open = TRUE)
  if (!is.null(n)) n <- check_count(n, 2)
  switch(type,
    boundary = gg_boundary(object, variable, complement, n),
    reject = autoplot.kb_reject_curve(
      plotted_rejects(object, newdata, newy, complement)
    ),
    noise = autoplot.kb_label_flips(label_noise(object)),
    trace = gg_chains(object, kgs_trace_labels(object)),
    trace_density = gg_trace_density(object, kgs_trace_labels(object)),
    f = gg_function(object, level, n)
  )
}

#' @noRd
gg_boundary <- function(x, variable, complement, n) {
  probability <- function(points) drawn_probability(x, points, complement)
  if (ncol(x$data$x) == 1 && is.null(variable)) {
    return(gg_class_curves(x, if (is.null(n)) 200 else n, probability))
  }
  plane <- check_plane(x, variable)
  gg_plane(x, plane, if (is.null(n)) 70 else n, probability) +
    ggplot2::geom_point(
      data = plane_rows(x, plane)[flip_probability(x) > 0.5, ],
      shape = 1, size = 4
    ) +
    ggplot2::labs(caption = "circles: labels that are more likely wrong")
}

#' f along a single predictor, or at the training rows in increasing order
#' @noRd
gg_function <- function(x, level, n) {
  if (ncol(x$data$x) > 1 || kgs_functions(x) > 1) {
    of <- if (kgs_functions(x) > 1) paste(" of", x$mould$levels[[1]])
    return(gg_rows(x, function_bands(x, training_x(x), level), 0) +
      ggplot2::labs(x = "rows, by f", y = paste0("f", of)))
  }
  at <- training_x(x)[, 1]
  grid <- curve_grid(x, at, if (is.null(n)) 200 else n)
  points <- matrix(grid, dimnames = list(NULL, colnames(x$data$x)))
  curve <- data.frame(at = grid, function_bands(x, points, level))
  rows <- data.frame(at = at, class = training_response(x))
  gg_start(curve, x = .data$at, y = .data$fit) +
    gg_ribbon(curve, 0.5) +
    ggplot2::geom_hline(
      yintercept = 0, linetype = 2, colour = kb_colour("grey")
    ) +
    ggplot2::geom_line(colour = kb_colour("blue"), linewidth = 0.9) +
    gg_class_rug(x, rows) +
    ggplot2::labs(x = colnames(x$data$x), y = "f")
}

#' Of several classes: curves of the probabilities, or over a plane
#' @noRd
gg_fields <- function(x, n) {
  probability <- function(points) fields_drawn_probability(x, points)
  if (!is.null(n)) n <- check_count(n, 2)
  if (ncol(x$data$x) == 1) {
    return(gg_class_curves(x, if (is.null(n)) 200 else n, probability))
  }
  plane <- unname(leading_of_fields(x)[1:2])
  gg_plane(x, plane, if (is.null(n)) 50 else n, probability)
}

#' Training rows in the plane of two predictors
#' @noRd
plane_rows <- function(x, plane) {
  at <- training_x(x)
  data.frame(
    x = at[, plane[[1]]], y = at[, plane[[2]]], class = training_response(x)
  )
}

#' The most probable class over a plane, paler where it is less certain
#' @param probability Function of points.
#' @noRd
gg_plane <- function(x, plane, n, probability) {
  across <- plane_grid(x, plane[[1]], n)
  up <- plane_grid(x, plane[[2]], n)
  p <- probability(plane_points(x, plane, across, up))
  classes <- ncol(p)
  levels <- x$mould$levels
  best <- max.col(p, ties.method = "first")
  cells <- data.frame(
    x = rep(across, n), y = rep(up, each = n),
    class = factor(levels[best], levels),
    certainty = (apply(p, 1, max) - 1 / classes) / (1 - 1 / classes)
  )
  colours <- stats::setNames(class_colours(classes), levels)
  gg_start(cells, x = .data$x, y = .data$y) +
    ggplot2::geom_raster(
      ggplot2::aes(fill = .data$class, alpha = .data$certainty)
    ) +
    ggplot2::geom_point(
      ggplot2::aes(colour = .data$class, shape = .data$class),
      plane_rows(x, plane)
    ) +
    ggplot2::scale_fill_manual(values = colours, guide = "none") +
    ggplot2::scale_colour_manual(x$mould$outcome_name, values = colours) +
    ggplot2::scale_shape_manual(
      x$mould$outcome_name,
      values = class_symbols(classes)
    ) +
    ggplot2::scale_alpha(range = c(0, 0.4), limits = 0:1, guide = "none") +
    ggplot2::coord_cartesian(expand = FALSE) +
    ggplot2::labs(
      x = colnames(training_x(x))[plane[[1]]],
      y = colnames(training_x(x))[plane[[2]]]
    )
}

# Rows and curves ------------------------------------------------------------

#' Probabilities of the classes along a single predictor
#' @param probability Function of points.
#' @noRd
gg_class_curves <- function(x, n, probability = function(points) {
                              stats::predict(x, points, type = "prob")
                            }) {
  at <- training_x(x)[, 1]
  grid <- curve_grid(x, at, n)
  p <- probability(matrix(grid, dimnames = list(NULL, colnames(x$data$x))))
  levels <- x$mould$levels
  lines <- data.frame(
    at = rep(grid, ncol(p)), p = as.vector(p),
    class = factor(rep(levels, each = nrow(p)), levels)
  )
  rows <- data.frame(
    at = at, class = factor(as.character(training_response(x)), levels)
  )
  gg_start(lines, x = .data$at, y = .data$p, colour = .data$class) +
    ggplot2::geom_line(linewidth = 0.9) +
    gg_class_rug(x, rows) +
    ggplot2::labs(x = colnames(x$data$x), y = "class probability")
}

#' @param rows Data frame of `at` and `class`.
#' @noRd
gg_class_rug <- function(x, rows) {
  list(
    ggplot2::geom_rug(
      ggplot2::aes(x = .data$at, colour = .data$class), rows,
      inherit.aes = FALSE, sides = "b"
    ),
    ggplot2::scale_colour_manual(
      x$mould$outcome_name,
      values = class_colours(nlevels(rows$class))
    )
  )
}

#' Rows by f, with the cut points that the classes lie between
#' @noRd
gg_ordered <- function(x, level) {
  f <- stats::predict(x, type = "link", interval = "credible", level = level)
  gg_rows(x, f, colMeans(bark_cuts(x, bark_pool(x)))) +
    ggplot2::labs(
      x = "rows, by f", y = "f", caption = "dashed: mean cut points"
    )
}

#' Rows by the probability of the second class
#' @noRd
gg_probabilities <- function(x, level) {
  p <- stats::predict(x,
    type = "response", interval = "credible", level = level
  )
  gg_rows(x, p, 0.5) +
    ggplot2::labs(x = "rows, by probability", y = probability_label(x))
}

#' Rows in the order of their value, coloured by their class
#' @param bands Matrix of `fit`, `lwr`, `upr`.
#' @param limits What lies between classes.
#' @noRd
gg_rows <- function(x, bands, limits) {
  rows <- data.frame(bands, class = training_response(x))
  rows$at <- rank(rows$fit, ties.method = "first")
  gg_start(rows, x = .data$at, y = .data$fit) +
    ggplot2::geom_linerange(
      ggplot2::aes(ymin = .data$lwr, ymax = .data$upr),
      colour = kb_colour("sky"), alpha = 0.5
    ) +
    ggplot2::geom_hline(
      yintercept = limits, linetype = 2, colour = kb_colour("grey")
    ) +
    ggplot2::geom_point(
      ggplot2::aes(colour = .data$class, shape = .data$class)
    ) +
    gg_classes(x$mould$outcome_name, nlevels(rows$class))
}

#' @noRd
gg_classes <- function(name, classes) {
  list(
    ggplot2::scale_colour_manual(name, values = class_colours(classes)),
    ggplot2::scale_shape_manual(name, values = class_symbols(classes))
  )
}
