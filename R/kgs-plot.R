#' Plots of Bayesian kernel classification
#'
#' @param x A fit of [kgs()].
#' @param type What to draw:
#' * `"boundary"`: with one predictor the probabilities of the true class along
#'   it; otherwise, over the plane of two predictors (all others at their
#'   median), the most probable true class in its colour, fainter if less
#'   certain, and the boundary between classes (for two classes with dotted
#'   lines where its probability is 0.1 and 0.9). Points are the training rows;
#'   a circle marks labels that are more likely wrong than right.
#' * `"reject"`: error rate among the decided rows against their share, see
#'   [reject_curve()].
#' * `"noise"`: the labels most likely wrong, see [label_noise()].
#' * `"trace"`: number and rate of wrong labels at each kept iteration, one line
#'   per chain (with [noise_class()] both rates; f at a row if the rate is
#'   known). The warmup is not kept; the axis begins after it.
#' * `"trace_density"`: the same, with the distribution of each chain's draws
#'   beside it: shares of whole numbers, kernel density estimates of others.
#' * `"f"`: f with a credible band along a single predictor, for two classes; f
#'   at the training rows in increasing order with credible intervals otherwise,
#'   with more than two classes f of the first.
#' @param variable For `"boundary"`: the names of two columns of the predictors
#'   (for factors an indicator, such as `colourred`); `NULL`: the first two.
#' @param complement For `"boundary"` and `"reject"`: see [predict.kb_kgs()];
#'   `FALSE` draws the votes, as in the paper.
#' @param newdata,newy For `"reject"`: the rows, see [reject_curve()]; `NULL`:
#'   the training rows.
#' @param level Probability inside bands and intervals, for `"f"`.
#' @param n Number of points of a curve; `NULL`: 200. For a plane along each
#'   side; `NULL`: 70.
#' @param ... Titles, limits and axes, as in [graphics::plot.default()], for
#'   example `main`, `xlab`, `ylim` or `cex.axis`; others are errors.
#'
#' @details Curves and planes average over at most 400 draws.
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
                        variable = NULL, complement = NULL, newdata = NULL,
                        newy = NULL, level = 0.9, n = NULL, ...) {
  draw_picture(kgs_picture(
    x, type, variable, complement, newdata, newy, level, n,
    c(complement = !missing(complement), level = !missing(level))
  ), x, ...)
}

#' @rdname autoplot.kb_srvm
#' @exportS3Method ggplot2::autoplot
autoplot.kb_kgs <- autoplot_of(plot.kb_kgs)

#' @param given Which of the arguments with defaults the caller has given.
#' @noRd
kgs_picture <- function(x, type, variable, complement, newdata, newy, level, n,
                        given) {
  x <- checked_fit(x)
  type <- check_choice(type, eval(formals(plot.kb_kgs)$type))
  used <- switch(type,
    boundary = c("variable", "complement", "n"),
    reject = c("complement", "newdata", "newy"),
    f = c("level", "n")
  )
  refuse_ignored(type, "none", c(
    given,
    variable = !is.null(variable), newdata = !is.null(newdata),
    newy = !is.null(newy), n = !is.null(n)
  ), used, "plot.kb_kgs")
  complement <- check_complement(complement, x)
  level <- check_number(level, 0, 1, open = TRUE)
  if (!is.null(n)) n <- check_count(n, 2)
  switch(type,
    boundary = boundary_picture(x, variable, complement, n),
    reject = reject_picture(plotted_rejects(x, newdata, newy, complement)),
    noise = flips_picture(label_noise(x)),
    trace = chains_picture(x, kgs_trace_labels(x)),
    trace_density = chains_picture(x, kgs_trace_labels(x), TRUE),
    f = function_picture(x, level, if (is.null(n)) 200 else n)
  )
}

plotted_rejects <- function(x, newdata, newy, complement) {
  if (is.null(newdata)) {
    return(reject_curve(x, newy = newy, complement = complement))
  }
  reject_curve(x, newdata, newy, complement)
}

kgs_trace_labels <- function(x) {
  rates <- kgs_rate_names(x)
  if (length(rates) == 2) {
    classes <- gsub("^q\\[|\\]$", "", rates)
    return(stats::setNames(paste("wrong share of", classes), rates))
  }
  second <- if (length(rates) == 1) rates else names(watched_functions(x))[[1]]
  label <- if (length(rates) == 1) "rate of wrong labels" else second
  stats::setNames(c("wrong labels", label), c("errors", second))
}

# Classes ----------------------------------------------------------------------

# Probabilities along the only predictor, or the boundaries in a plane of two,
# with circles about the labels that are more likely wrong
boundary_picture <- function(x, variable, complement, n) {
  probability <- function(points) drawn_probability(x, points, complement)
  at <- training_x(x)
  if (ncol(at) == 1 && is.null(variable)) {
    wrong <- wrong_labels(x, at[, 1], class_heights(x))
    return(class_curves_picture(x, n, probability, wrong))
  }
  plane <- check_plane(x, variable)
  wrong <- wrong_labels(x, at[, plane[[1]]], at[, plane[[2]]])
  plane_picture(x, plane, if (is.null(n)) 70 else n, probability, wrong)
}

wrong_labels <- function(x, across, up) {
  wrong <- flip_probability(x) > 0.5
  points_layer(across[wrong], up[wrong],
    shape = 1, size = 1.7, lwd = 1.5, colour = "black",
    label = "label likely wrong"
  )
}

# Probabilities of true classes at points in their own units, from some of the
# draws
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

# Planes -----------------------------------------------------------------------

#' The most probable class over a plane of two predictors in its colour, white
#' where all are equally probable, with boundaries and the rows
#' @param probability Function of points.
#' @param ... Further layers.
#' @noRd
plane_picture <- function(x, plane, n, probability, ...) {
  at <- training_x(x)[, plane, drop = FALSE]
  across <- plane_grid(x, plane[[1]], n)
  up <- plane_grid(x, plane[[2]], n)
  p <- probability(plane_points(x, plane, across, up))
  least <- 1 / ncol(p)
  by <- class_groups(x)
  cells <- expand.grid(x = across, y = up)
  tiles <- data.frame(cells,
    group = by$levels[max.col(p, ties.method = "first")],
    alpha = 0.4 * (apply(p, 1, max) - least) / (1 - least)
  )
  new_picture(do.call(panel, c(
    list(colnames(at)[[1]], colnames(at)[[2]]),
    list(layer("tiles", tiles, by = utils::modifyList(by, list(key = FALSE)))),
    boundary_layers(p, cells),
    list(points_layer(at[, 1], at[, 2],
      group = training_response(x), by = by
    )),
    list(..., xlim = range(across), ylim = range(up), tight = TRUE)
  )))
}

boundary_layers <- function(p, cells) {
  at <- function(z, levels, ...) {
    contour_layer(cbind(cells, z = z), levels, colour = "black", ...)
  }
  if (ncol(p) == 2) {
    return(list(
      at(p[, 2], 0.5, lwd = 2, label = "boundary"),
      at(p[, 2], c(0.1, 0.9), lty = 3, label = "probability 0.1, 0.9")
    ))
  }
  lapply(seq_len(ncol(p)), function(c) {
    at(p[, c] - apply(p[, -c, drop = FALSE], 1, max), 0,
      lwd = 1.5, label = "boundary"
    )
  })
}

plane_grid <- function(x, column, n) {
  ends <- range(curve_grid(x, training_x(x)[, column], 2, column))
  apart_grid(ends + c(-0.05, 0.05) * diff(ends), n)
}

# The grid's points, all other predictors at their median
plane_points <- function(x, plane, across, up) {
  middle <- apply(training_x(x), 2, stats::median)
  points <- matrix(middle, length(across) * length(up), length(middle),
    byrow = TRUE, dimnames = list(NULL, names(middle))
  )
  points[, plane[[1]]] <- rep(across, length(up))
  points[, plane[[2]]] <- rep(up, each = length(across))
  points
}

# Two different columns of the predictors, by number
check_plane <- function(x, variable) {
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
    bad_argument(variable, "variable", wanted)
  }
  match(variable, names)
}

# f ----------------------------------------------------------------------------

# Median and credible limits of f at points, n x 3
function_bands <- function(x, points, level, most = 400) {
  pool <- posterior_pool(x)
  draws <- length(pool$weights)
  chosen <- spread_over(draws, min(draws, most))
  f <- latent_draws(x, points, pool, chosen)
  f <- matrix(f[, , 1], nrow(points))
  out <- t(apply(f, 1, stats::quantile, c(0.5, interval_ends(level))))
  colnames(out) <- c("fit", "lwr", "upr")
  out
}

# f along a single predictor, or at the training rows in increasing order
function_picture <- function(x, level, n) {
  at <- training_x(x)
  if (ncol(at) > 1 || kgs_functions(x) > 1) {
    of <- if (x$settings$classes > 2) paste(" of", x$mould$levels[[1]])
    bands <- function_bands(x, at, level)
    return(rows_picture(x, bands, 0, level, "f", paste0("latent f", of)))
  }
  grid <- curve_grid(x, at[, 1], n)
  bands <- function_bands(x, grid_points(x, grid), level)
  rug <- function(class, side) {
    rows <- training_response(x) == x$mould$levels[[class]]
    ends <- data.frame(x = at[rows, 1], group = training_response(x)[rows])
    layer("rug", ends, side = side, by = class_groups(x))
  }
  new_picture(panel(
    colnames(at), "latent f",
    band_layer(grid, bands,
      alpha = 0.5, label = percent_label(level, "credible interval")
    ),
    rule_layer(y = 0),
    lines_layer(grid, bands[, "fit"], lwd = 2, label = "median of f"),
    rug(1, "bottom"), rug(2, "top")
  ))
}
