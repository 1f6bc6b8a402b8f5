#' Plots of Bayesian kernel classification
#'
#' @param x A fit of [kgs()].
#' @param type What to draw:
#' * `"boundary"`: with one predictor the class probabilities along it; else
#'   over the plane of two predictors, all others at their median, the most
#'   probable class in its colour, the fainter the less certain, and the line
#'   where it changes (for two classes dotted lines at 0.1 and 0.9). Points
#'   are the training rows, those with a circle more likely labelled wrongly
#'   than not.
#' * `"reject"`: error among the rows that are decided against their share, see
#'   [reject_curve()].
#' * `"noise"`: the labels most likely wrong, see [label_noise()].
#' * `"trace"`: number and rate of wrong labels at each kept iteration, a line a
#'   chain (the two rates of [noise_class()]; f at a row where the rate is
#'   known). The warmup is not kept; the axis begins after it.
#' * `"trace_density"`: the same, with the distribution of each chain's draws
#'   beside it: shares of whole numbers, kernel density estimates of others.
#' * `"f"`: f with a credible band along a single predictor, for two classes; f
#'   at the training rows in increasing order with credible intervals
#'   otherwise, with more than two classes that of the first.
#' @param variable For `"boundary"`: the names of two columns of the predictors
#'   (of factors an indicator, such as `colourred`); `NULL`: the first two.
#' @param complement For `"boundary"` and `"reject"`: see [predict.kb_kgs()];
#'   `FALSE` draws the votes, as in the paper.
#' @param newdata,newy For `"reject"`: the rows, see [reject_curve()]; `NULL`:
#'   the training rows.
#' @param level Probability inside bands and intervals, for `"f"`.
#' @param n Number of points of a curve; `NULL`: 200. For a plane that of each
#'   side; `NULL`: 70.
#' @param ... Titles, limits and axes, as in [graphics::plot.default()], for
#'   example `main`, `xlab`, `ylim` or `cex.axis`; others are errors.
#'
#' @details Curves and planes average over 400 draws at most.
#' @return `x`, invisibly.
#' @examples
#' moons <- sim_moons(80, flips = 0.1, seed = 1)
#' fit <- kgs(y ~ x1 + x2, moons, kernel = kernel_gaussian(0.5), seed = 1)
#' plot(fit)
#' plot(fit, type = "noise")
#' plot(fit, type = "reject", newdata = sim_moons(500, seed = 2))
#' @export
plot.kb_kgs <- function(x,
                        type = c(
                          "boundary", "reject", "noise", "trace", "f",
                          "trace_density"
                        ),
                        variable = NULL, complement = TRUE, newdata = NULL,
                        newy = NULL, level = 0.9, n = NULL, ...) {
  check_plot_dots(list(...))
  x <- migrate_fit(x)
  type <- check_choice(type, kgs_plot_types)
  refuse_ignored(type, "none", c(
    variable = !is.null(variable), complement = !missing(complement),
    newdata = !is.null(newdata), newy = !is.null(newy),
    level = !missing(level), n = !is.null(n)
  ), kgs_plot_arguments(type), "plot.kb_kgs")
  complement <- check_flag(complement)
  level <- check_number(level, 0, 1, open = TRUE)
  if (!is.null(n)) n <- check_count(n, 2)
  switch(type,
    boundary = if (ncol(x$data$x) == 1 && is.null(variable)) {
      plot_class_curves(x, complement, n, ...)
    } else {
      plot_boundary(x, check_plane(x, variable), complement, n, ...)
    },
    reject = plot(plotted_rejects(x, newdata, newy, complement), ...),
    noise = plot(label_noise(x), ...),
    trace = plot_chains(x, kgs_trace_labels(x), ...),
    trace_density = plot_trace_density(x, kgs_trace_labels(x), ...),
    f = if (ncol(x$data$x) == 1 && kgs_functions(x) == 1) {
      plot_function_curve(x, level, n, ...)
    } else {
      plot_function_rows(x, level, ...)
    }
  )
  invisible(x)
}

kgs_plot_types <- c(
  "boundary", "reject", "noise", "trace", "f", "trace_density"
)

#' @noRd
kgs_plot_arguments <- function(type) {
  switch(type,
    boundary = c("variable", "complement", "n"),
    reject = c("complement", "newdata", "newy"),
    f = c("level", "n")
  )
}

#' @noRd
plotted_rejects <- function(x, newdata, newy, complement) {
  if (is.null(newdata)) {
    return(reject_curve(x, newy = newy, complement = complement))
  }
  reject_curve(x, newdata, newy, complement)
}

#' @noRd
kgs_trace_labels <- function(x) {
  rates <- kgs_rate_names(x)
  if (length(rates) == 2) {
    return(stats::setNames(paste("rate", rates), rates))
  }
  second <- if (length(rates) == 1) rates else names(watched_functions(x))[[1]]
  stats::setNames(c("wrong labels", second), c("errors", second))
}

# Classes ----------------------------------------------------------------------

#' @noRd
class_colours <- function(n, alpha = 1) {
  names <- rep_len(c("blue", "orange", "green", "sky", "grey"), n)
  vapply(names, kb_colour, "", alpha = alpha, USE.NAMES = FALSE)
}

#' @noRd
class_symbols <- function(n) rep_len(c(16, 17, 15, 18, 3, 4, 8), n)

#' @noRd
class_key <- function(levels, symbols, colours, what) {
  entries <- Map(
    function(pch, col) list(pch = pch, col = col), symbols, colours
  )
  stats::setNames(entries, paste(what, "=", levels))
}

#' Training labels, and circles about those that are more likely wrong
#' @noRd
draw_labels_at <- function(x, across, up) {
  y <- as.integer(training_response(x))
  classes <- x$settings$classes
  graphics::points(across, up,
    pch = class_symbols(classes)[y], cex = 0.7, col = class_colours(classes)[y]
  )
  wrong <- flip_probability(x) > 0.5
  graphics::points(across[wrong], up[wrong], pch = 1, cex = 1.7, lwd = 1.5)
}

#' @noRd
boundary_key <- function(x) {
  classes <- x$settings$classes
  c(
    class_key(x$mould$levels, class_symbols(classes), class_colours(classes),
      x$mould$outcome_name
    ),
    list("label likely wrong" = list(pch = 1, pt.lwd = 1.5))
  )
}

#' Class probabilities at points in their own units, from some of the draws
#' @noRd
drawn_probability <- function(x, points, complement, most = 400) {
  pool <- posterior_pool(x)
  draws <- length(pool$weights)
  pool <- pool_subset(pool, spread_over(draws, min(draws, most)))
  blocks <- lapply(row_blocks(points, length(pool$weights)), function(rows) {
    p <- class_draws(x, points[rows, , drop = FALSE], pool, complement)
    apply(p, c(1, 3), mean)
  })
  do.call(rbind, blocks)
}

#' @noRd
plot_class_curves <- function(x, complement, n, ...) {
  at <- training_x(x)[, 1]
  grid <- curve_grid(x, at, if (is.null(n)) 200 else n)
  points <- matrix(grid, dimnames = list(NULL, colnames(x$data$x)))
  p <- drawn_probability(x, points, complement)
  classes <- ncol(p)
  shown <- if (classes == 2) 2 else seq_len(classes)
  base_plot(list(
    x = range(grid), y = 0:1, type = "n", xlab = colnames(x$data$x),
    ylab = if (classes == 2) probability_label(x) else "class probability",
    ylim = c(-0.05, 1.05)
  ), ...)
  graphics::abline(h = 0.5, lty = 2, col = kb_colour("grey"))
  graphics::matlines(grid, p[, shown],
    lty = 1, lwd = 2,
    col = if (classes == 2) kb_colour("grey") else class_colours(classes)
  )
  y <- as.integer(training_response(x))
  up <- if (classes == 2) y - 1 else 1 + 0 * y
  draw_labels_at(x, at, 1.04 * up - 0.04 * (1 - up))
  key_above(boundary_key(x))
}

#' @noRd
plot_boundary <- function(x, plane, complement, n, ...) {
  plot_plane(
    x, plane, if (is.null(n)) 70 else n,
    function(points) drawn_probability(x, points, complement),
    draw_labels_at, boundary_key, ...
  )
}

#' The most probable class over a plane of two predictors
#' @param probability Function of points.
#' @param draw Function of the fit and of both coordinates of its rows.
#' @param key Function of the fit, see `key_above()`.
#' @noRd
plot_plane <- function(x, plane, n, probability, draw, key, ...) {
  at <- training_x(x)[, plane, drop = FALSE]
  across <- plane_grid(x, plane[[1]], n)
  up <- plane_grid(x, plane[[2]], n)
  p <- probability(plane_points(x, plane, across, up))
  base_plot(list(
    x = range(across), y = range(up), type = "n", xlab = colnames(at)[[1]],
    ylab = colnames(at)[[2]], xaxs = "i", yaxs = "i"
  ), ...)
  draw_certainty(p, across, up)
  draw_boundaries(p, across, up)
  draw(x, at[, 1], at[, 2])
  graphics::box(bty = "l")
  key_above(key(x))
}

#' The most probable class in its colour: white where all are equally probable
#' @noRd
draw_certainty <- function(p, across, up) {
  classes <- ncol(p)
  best <- max.col(p, ties.method = "first")
  certainty <- (apply(p, 1, max) - 1 / classes) / (1 - 1 / classes)
  rgb <- t(grDevices::col2rgb(class_colours(classes)[best]))
  rgb <- 255 - 0.4 * certainty * (255 - rgb)
  cells <- grDevices::rgb(rgb[, 1], rgb[, 2], rgb[, 3], maxColorValue = 255)
  n <- length(across)
  # Rows of a raster come from the top.
  cells <- t(matrix(cells, n))[rev(seq_along(up)), ]
  half <- c(diff(across[1:2]), diff(up[1:2])) / 2
  graphics::rasterImage(grDevices::as.raster(cells),
    across[[1]] - half[[1]], up[[1]] - half[[2]], across[[n]] + half[[1]],
    up[[length(up)]] + half[[2]],
    interpolate = FALSE
  )
}

#' @noRd
draw_boundaries <- function(p, across, up) {
  lines <- function(z, levels, ...) {
    z <- matrix(z, length(across))
    inside <- levels > min(z) & levels < max(z)
    if (any(inside)) {
      graphics::contour(across, up, z,
        levels = levels[inside], add = TRUE, drawlabels = FALSE, ...
      )
    }
  }
  if (ncol(p) == 2) {
    lines(p[, 2], 0.5, lwd = 2)
    lines(p[, 2], c(0.1, 0.9), lty = 3)
    return(invisible())
  }
  for (c in seq_len(ncol(p))) {
    lines(p[, c] - apply(p[, -c, drop = FALSE], 1, max), 0, lwd = 1.5)
  }
}

#' @noRd
plane_grid <- function(x, column, n) {
  ends <- range(curve_grid(x, training_x(x)[, column], 2, column))
  apart_grid(ends + c(-0.05, 0.05) * diff(ends), n)
}

#' The grid's points, all other predictors at their median
#' @noRd
plane_points <- function(x, plane, across, up) {
  middle <- apply(training_x(x), 2, stats::median)
  points <- matrix(middle, length(across) * length(up), length(middle),
    byrow = TRUE, dimnames = list(NULL, names(middle))
  )
  points[, plane[[1]]] <- rep(across, length(up))
  points[, plane[[2]]] <- rep(up, each = length(across))
  points
}

#' Two different columns of the predictors, by number
#' @noRd
check_plane <- function(x, variable, call = rlang::caller_env()) {
  if (is.null(variable)) {
    return(1:2)
  }
  names <- colnames(x$data$x)
  known <- is.character(variable) && length(variable) == 2 &&
    all(variable %in% names) && anyDuplicated(variable) == 0
  if (!known) {
    some <- paste0('"', utils::head(names, 10), '"', collapse = ", ")
    if (length(names) > 10) some <- paste0(some, ", ...")
    wanted <- paste("two different ones of", some)
    bad_argument(variable, "variable", wanted, call)
  }
  match(variable, names)
}

# f ----------------------------------------------------------------------------

#' Median and credible limits of f at points, n x 3
#' @noRd
function_bands <- function(x, points, level, most = 400) {
  pool <- posterior_pool(x)
  draws <- length(pool$weights)
  chosen <- spread_over(draws, min(draws, most))
  f <- kgs_function(x, kgs_features(x, points), pool, chosen)
  f <- matrix(f[, , 1], nrow(points))
  out <- t(apply(f, 1, stats::quantile, c(0.5, interval_ends(level))))
  colnames(out) <- c("fit", "lwr", "upr")
  out
}

#' @noRd
plot_function_curve <- function(x, level, n, ...) {
  at <- training_x(x)[, 1]
  grid <- curve_grid(x, at, if (is.null(n)) 200 else n)
  points <- matrix(grid, dimnames = list(NULL, colnames(x$data$x)))
  bands <- function_bands(x, points, level)
  base_plot(list(
    x = range(grid), y = range(bands), type = "n", xlab = colnames(x$data$x),
    ylab = "f", ylim = range(bands, 0)
  ), ...)
  draw_band(grid, bands, kb_colour("sky", 0.5))
  graphics::abline(h = 0, lty = 2, col = kb_colour("grey"))
  graphics::lines(grid, bands[, "fit"], lwd = 2, col = kb_colour("blue"))
  second <- as.integer(training_response(x)) == 2
  colours <- class_colours(2)
  graphics::rug(at[!second], col = colours[[1]], quiet = TRUE)
  graphics::rug(at[second], side = 3, col = colours[[2]], quiet = TRUE)
  key_above(stats::setNames(
    list(
      list(lwd = 2, col = kb_colour("blue")),
      list(lwd = 8, col = kb_colour("sky", 0.5))
    ),
    c("median of f", paste0(format(100 * level), "% credible"))
  ))
}

#' @noRd
plot_function_rows <- function(x, level, ...) {
  bands <- function_bands(x, training_x(x), level)
  order <- order(bands[, "fit"])
  bands <- bands[order, , drop = FALSE]
  y <- as.integer(training_response(x))[order]
  classes <- x$settings$classes
  at <- seq_along(order)
  of <- if (classes > 2) paste(" of", x$mould$levels[[1]])
  base_plot(list(
    x = at, y = bands[, "fit"], type = "n", ylim = range(bands),
    xlab = "rows, by f", ylab = paste0("f", of)
  ), ...)
  graphics::segments(at, bands[, "lwr"], at, bands[, "upr"],
    col = kb_colour("sky", 0.5)
  )
  graphics::abline(h = 0, lty = 2, col = kb_colour("grey"))
  graphics::points(at, bands[, "fit"],
    pch = class_symbols(classes)[y], cex = 0.7, col = class_colours(classes)[y]
  )
  key_above(c(
    class_key(x$mould$levels, class_symbols(classes), class_colours(classes),
      x$mould$outcome_name
    ),
    stats::setNames(
      list(list(lwd = 2, col = kb_colour("sky", 0.5))),
      paste0(format(100 * level), "% interval")
    )
  ))
}
