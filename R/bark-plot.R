#' Plots of Bayesian additive regression kernels
#'
#' @param x A fit of [bark()].
#' @param type What to draw:
#' * `"fit"`: with one predictor the posterior mean of f with its credible band
#'   and the prediction band (in probit models the probability of the second
#'   level with its credible band), the data and, as ticks of that height, the
#'   probability of each row to be a centre; with several predictors observed
#'   against fitted responses with prediction intervals (the probabilities of
#'   the rows in increasing order with credible intervals). Of ordered classes
#'   the posterior mean of f with its credible band, or of the rows in
#'   increasing order with credible intervals, and the mean cut points.
#' * `"importance"`: the scales of the predictors, see [importance()].
#' * `"k"`: posterior of the number of kernels, and its prior.
#' * `"centres"`: posterior probability of each row to be a centre (not
#'   defined, as the ticks above, where centres are no rows).
#' * `"trace"`: number of kernels and noise standard deviation (in models of
#'   classes log likelihood) at each kept iteration, a line a chain. The warmup
#'   is not kept; the axis begins after it.
#' * `"trace_density"`: the same, with the distribution of each chain's draws
#'   beside it: shares of whole numbers, kernel density estimates of others.
#'
#' With several unordered classes `"fit"` shows the probability of each class
#' along the only predictor, or over the plane of the two that matter most (all
#' others at their median) the most probable class and its boundaries, both
#' averaged over 400 draws at most; `"k"` counts the kernels of all fields, and
#' `"centres"` the rows that are a centre in any of them.
#' @param level Probability inside bands and intervals, for `"fit"` (but not of
#'   several unordered classes) and `"importance"`.
#' @param n For `"fit"`: number of points of a curve, `NULL`: 200; for a plane
#'   that of each side, `NULL`: 50.
#' @param ... Titles, limits and axes, as in [graphics::plot.default()], for
#'   example `main`, `xlab`, `ylim` or `cex.axis`; others are errors.
#'
#' @return `x`, invisibly.
#' @examples
#' data <- sim_sinc(50, seed = 1)
#' fit <- bark(y ~ x, data,
#'   control = mcmc_control(chains = 2, warmup = 200, iter = 90), seed = 1
#' )
#' plot(fit)
#' plot(fit, type = "k")
#' @export
plot.kb_bark <- function(x,
                         type = c(
                           "fit", "importance", "k", "centres", "trace",
                           "trace_density"
                         ),
                         level = 0.9, n = NULL, ...) {
  x <- migrate_fit(x)
  check_plot_dots(list(...))
  type <- check_choice(type, bark_plot_types)
  refuse_ignored(type, "none", c(
    level = !missing(level), n = !is.null(n)
  ), bark_plot_arguments(x, type), "plot.kb_bark")
  level <- check_number(level, 0, 1, open = TRUE)
  if (!is.null(n)) n <- check_count(n, 2)
  switch(type,
    fit = plot_bark_fit(x, level, n, ...),
    importance = plot(importance(x, level = level), ...),
    k = plot_k(x, bark_prior_k(x), "kernels", ...),
    centres = plot_centres(x, ...),
    trace = plot_chains(x, bark_trace_labels(x), ...),
    trace_density = plot_trace_density(x, bark_trace_labels(x), ...)
  )
  invisible(x)
}

bark_plot_types <- c(
  "fit", "importance", "k", "centres", "trace", "trace_density"
)

#' The arguments that a type uses
#' @noRd
bark_plot_arguments <- function(x, type) {
  switch(type,
    fit = c(if (!is_multinomial(x)) "level", "n"),
    importance = "level"
  )
}

#' @noRd
plot_bark_fit <- function(x, level, n, ...) {
  if (is_multinomial(x)) {
    return(plot_fields(x, n, ...))
  }
  if (is.null(n)) n <- 200
  if (is_ordered(x)) {
    plot_ordered(x, level, n, ...)
  } else if (is_probit(x)) {
    plot_classes(x, level, n, ...)
  } else {
    plot_fit(x, level, n, ...)
  }
}

#' @noRd
bark_trace_labels <- function(x) {
  c(
    J = "number of kernels",
    if (has_classes(x)) c(log_lik = "log likelihood") else c(sigma = "noise sd")
  )
}

#' The Poisson prior of the number of kernels, of several classes that of all
#' fields, as far as a plot may need it
#' @noRd
bark_prior_k <- function(fit) {
  fields <- if (is_multinomial(fit)) length(fit$mould$levels) else 1
  nu <- fit$settings$prior$nu * fields
  k <- seq(0, max(model_size(fit)$k) + 2)
  data.frame(k = k, probability = stats::dpois(k, nu))
}

#' @noRd
plot_classes <- function(x, level, n, ...) {
  if (ncol(x$data$x) == 1) {
    plot_probability_curve(x, level, n, ...)
  } else {
    plot_probabilities(x, level, ...)
  }
}

#' @noRd
probability_label <- function(x) {
  paste0("P(", x$mould$outcome_name, " = ", x$mould$levels[[2]], ")")
}

#' @noRd
plot_probability_curve <- function(x, level, n, ...) {
  at <- training_x(x)[, 1]
  y <- as.integer(training_response(x)) - 1
  grid <- curve_grid(x, at, n)
  points <- matrix(grid, dimnames = list(NULL, colnames(x$data$x)))
  p <- stats::predict(x, points,
    type = "response", interval = "credible", level = level
  )
  base_plot(list(
    x = range(grid), y = 0:1, type = "n", xlab = colnames(x$data$x),
    ylab = probability_label(x), ylim = c(-0.08, 1)
  ), ...)
  draw_band(grid, p, kb_colour("sky", 0.6))
  draw_centres(x)
  graphics::points(at, y, pch = 16, cex = 0.7, col = kb_colour("grey", 0.5))
  graphics::lines(grid, p[, "fit"], lwd = 2, col = kb_colour("blue"))
  key_above(utils::head(n = 2 + shows_centres(x), stats::setNames(
    list(
      list(col = kb_colour("blue"), lwd = 2),
      list(col = kb_colour("sky", 0.6), lwd = 8),
      list(col = kb_colour("orange"), lwd = 2)
    ),
    c("probability", paste0(format(100 * level), "% credible"), "P(centre)")
  )))
}

#' The rows by their probability, coloured by their class
#' @noRd
plot_probabilities <- function(x, level, ...) {
  p <- stats::predict(x,
    type = "response", interval = "credible", level = level
  )
  order <- order(p[, "fit"])
  p <- p[order, , drop = FALSE]
  second <- (as.integer(training_response(x)) == 2)[order]
  at <- seq_along(order)
  base_plot(list(
    x = at, y = p[, "fit"], type = "n", ylab = probability_label(x),
    xlab = "rows, by probability", ylim = c(0, 1)
  ), ...)
  graphics::segments(at, p[, "lwr"], at, p[, "upr"],
    col = kb_colour("sky", 0.5)
  )
  graphics::abline(h = 0.5, col = kb_colour("grey"), lty = 2)
  graphics::points(at, p[, "fit"],
    pch = ifelse(second, 17, 16), cex = 0.7,
    col = ifelse(second, kb_colour("orange"), kb_colour("blue"))
  )
  levels <- paste(x$mould$outcome_name, "=", x$mould$levels)
  key_above(stats::setNames(
    list(
      list(pch = 16, col = kb_colour("blue")),
      list(pch = 17, col = kb_colour("orange")),
      list(col = kb_colour("sky", 0.5), lwd = 2)
    ),
    c(levels, paste0(format(100 * level), "% interval"))
  ))
}

# Ordered classes --------------------------------------------------------------

#' f and the points between classes
#' @noRd
plot_ordered <- function(x, level, n, ...) {
  if (ncol(x$data$x) == 1) {
    plot_ordered_curve(x, level, n, ...)
  } else {
    plot_ordered_rows(x, level, ...)
  }
}

#' @noRd
plot_ordered_curve <- function(x, level, n, ...) {
  at <- training_x(x)[, 1]
  grid <- curve_grid(x, at, n)
  points <- matrix(grid, dimnames = list(NULL, colnames(x$data$x)))
  bands <- stats::predict(x, points,
    type = "link", interval = "credible", level = level
  )
  cuts <- colMeans(bark_cuts(x, bark_pool(x)))
  base_plot(list(
    x = range(grid), y = range(bands, cuts), type = "n",
    xlab = colnames(x$data$x), ylab = "f"
  ), ...)
  draw_band(grid, bands, kb_colour("sky", 0.6))
  graphics::abline(h = cuts, lty = 2, col = kb_colour("grey"))
  graphics::lines(grid, bands[, "fit"], lwd = 2, col = kb_colour("blue"))
  classes <- length(x$mould$levels)
  y <- as.integer(training_response(x))
  for (k in unique(y)) {
    graphics::rug(at[y == k], col = class_colours(classes)[[k]], quiet = TRUE)
  }
  key_above(ordered_key(x, level))
}

#' @noRd
ordered_key <- function(x, level) {
  classes <- length(x$mould$levels)
  c(
    class_key(x$mould$levels, class_symbols(classes), class_colours(classes),
      x$mould$outcome_name
    ),
    stats::setNames(
      list(
        list(lwd = 8, col = kb_colour("sky", 0.6)),
        list(lty = 2, col = kb_colour("grey"))
      ),
      c(paste0(format(100 * level), "% credible"), "cut points")
    )
  )
}

#' The rows by f, coloured by their class
#' @noRd
plot_ordered_rows <- function(x, level, ...) {
  bands <- stats::predict(x,
    type = "link", interval = "credible", level = level
  )
  order <- order(bands[, "fit"])
  bands <- bands[order, , drop = FALSE]
  y <- as.integer(training_response(x))[order]
  classes <- length(x$mould$levels)
  cuts <- colMeans(bark_cuts(x, bark_pool(x)))
  at <- seq_along(order)
  base_plot(list(
    x = at, y = bands[, "fit"], type = "n", ylim = range(bands, cuts),
    xlab = "rows, by f", ylab = "f"
  ), ...)
  graphics::segments(at, bands[, "lwr"], at, bands[, "upr"],
    col = kb_colour("sky", 0.5)
  )
  graphics::abline(h = cuts, lty = 2, col = kb_colour("grey"))
  graphics::points(at, bands[, "fit"],
    pch = class_symbols(classes)[y], cex = 0.7, col = class_colours(classes)[y]
  )
  key_above(ordered_key(x, level))
}
