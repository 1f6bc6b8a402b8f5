#' Plots of Bayesian kernel classification
#'
#' @param x A fit of [kgs()].
#' @param type What to draw:
#' * `"boundary"`: with one predictor the probabilities of the true class along
#'   it; otherwise, over the plane of two predictors (all others at their
#'   median or most frequent level), the most probable true class in its colour, fainter
#'   if less certain, and the boundary between classes (for two classes with dotted
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
#' @param variable For `"boundary"`: the names of two variables that are numbers;
#'   `NULL`: those along which f changes most when their values are permuted. With
#'   fewer than two numbers the probabilities are drawn along the variable, or
#'   at the levels of the factor, that matters most.
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
  if (!is.null(n)) {
    n <- check_size(n, 2, each = if (type == "boundary") n else 3)
  }
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
  frame <- variable_frame(x)
  parts <- variable_parts(frame)
  if (length(parts) == 1 && is.null(variable)) {
    along <- curve_along(x, if (is.null(n)) 200 else n)
    wrong <- wrong_labels(x, along$rows, class_heights(x))
    return(class_curves_picture(x, along, probability, wrong))
  }
  leading <- if (is.null(variable)) leading_of_functions(x) else {
    check_variables(x$mould, variable, names(numeric_parts(x$mould, frame)), 2)
  }
  leading_picture(x, leading, n, 70, probability, function(across, up) {
    wrong_labels(x, across, up)
  })
}

# The variables along which f changes most
leading_of_functions <- function(x) {
  pool <- posterior_pool(x)
  draws <- length(pool$weights)
  inputs <- permuted_inputs(x)
  changes <- changes_when_permuted(x, function(points, chosen) {
    f <- latent_draws(x, points, pool, chosen)
    lapply(seq_len(dim(f)[[3]]), function(k) matrix(f[, , k], nrow(points)))
  }, spread_over(draws, min(draws, 100)), inputs)
  share <- colMeans(change_shares(changes))
  names(inputs)[order(-share)]
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

# Numbers and times that are no codes of levels
numeric_parts <- function(mould, frame) {
  parts <- variable_parts(frame)
  parts[vapply(names(parts), function(name) {
    is_measured(parts[[name]]) && !is_coded(mould, part_owner(frame, name))
  }, NA)]
}

#' Classes over the plane of the first two numbers, or their probabilities along
#' the first variable
#' @param leading Names of variables.
#' @param usual Points along each side of the plane if n is NULL.
#' @param marks Function of the coordinates of rows: a layer or NULL.
#' @noRd
leading_picture <- function(x, leading, n, usual, probability,
                            marks = function(across, up) NULL) {
  frame <- variable_frame(x)
  numbers <- names(numeric_parts(x$mould, frame))
  owners <- vapply(numbers, part_owner, "", frame = frame)
  rank <- ifelse(numbers %in% leading, numbers, owners)
  plane <- numbers[order(match(rank, leading))]
  if (length(plane) > 1) {
    return(plane_picture(
      x, plane[1:2], if (is.null(n)) usual else n, probability, marks
    ))
  }
  known <- setdiff(leading, names(frame)[vapply(frame, is.matrix, NA)])
  along <- curve_along(x, if (is.null(n)) 200 else n, c(plane, known)[[1]])
  class_curves_picture(x, along, probability,
    marks(along$rows, class_heights(x))
  )
}

#' The most probable class over a plane of two variables in its colour, white
#' where all are equally probable, with boundaries and the rows
#' @param plane Names of two numbers.
#' @param probability Function of points.
#' @noRd
plane_picture <- function(x, plane, n, probability,
                          marks = function(across, up) NULL) {
  across <- curve_along(x, n, plane[[1]], 0.05)
  up <- curve_along(x, n, plane[[2]], 0.05)
  points <- across$points[rep(seq_len(n), n), , drop = FALSE]
  points <- set_parts(points, stats::setNames(
    list(rep(up$at, each = n)), plane[[2]]
  ))
  p <- probability(rows_of_variables(x$mould, points))
  least <- 1 / ncol(p)
  by <- class_groups(x)
  cells <- expand.grid(x = across$at, y = up$at)
  tiles <- data.frame(cells,
    group = by$levels[max.col(p, ties.method = "first")],
    alpha = 0.4 * (apply(p, 1, max) - least) / (1 - least)
  )
  new_picture(do.call(panel, c(
    list(across$label, up$label),
    list(layer("tiles", tiles, by = utils::modifyList(by, list(key = FALSE)))),
    boundary_layers(p, cells),
    list(points_layer(across$rows, up$rows,
      group = training_response(x), by = by
    )),
    list(marks(across$rows, up$rows)),
    list(xlim = range(across$at), ylim = range(up$at), tight = TRUE)
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
  if (!has_one_variable(x) || kgs_functions(x) > 1) {
    of <- if (x$settings$classes > 2) paste(" of", x$mould$levels[[1]])
    bands <- function_bands(x, training_x(x), level)
    return(rows_picture(x, bands, 0, level, "f", paste0("latent f", of)))
  }
  along <- curve_along(x, n)
  points <- rows_of_variables(x$mould, along$points)
  bands <- function_bands(x, points, level)
  rug <- function(class, side) {
    rows <- training_response(x) == x$mould$levels[[class]]
    ends <- data.frame(x = along$rows[rows], group = training_response(x)[rows])
    layer("rug", ends, side = side, by = class_groups(x))
  }
  new_picture(panel(
    along$label, "latent f",
    along_bands(along, bands,
      alpha = 0.5, label = percent_label(level, "credible interval")
    ),
    rule_layer(y = 0),
    along_line(along, bands[, "fit"], label = "median of f"),
    rug(1, "bottom"), rug(2, "top"),
    ticks = along$ticks, xlim = along$xlim
  ))
}
