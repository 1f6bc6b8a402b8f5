# Code shared by the plots of engines: arguments, and pictures of several
# engines.

#' @srrstats {BS6.1} `plot()` of each engine.
#' @srrstats {BS6.2} `plot(type = "trace")`: the warmup is not kept, and the
#'   axis says that it begins after it.
#' @srrstats {BS6.3} `plot(type = "k")` and `plot()`; bayesplot takes
#'   `as_draws()`.
#' @srrstats {RE6.0} `plot()` of each engine.
#' @srrstats {RE6.1} They are methods of `plot()`.
#' @srrstats {RE6.2} The default is the curve of fitted values with bands, or
#'   observed against fitted responses with intervals.
#' @srrstats {RE6.3} The curve ends where the data end: nothing extrapolated is
#'   drawn with it. Forecasts of `kbr_forecast()` are objects with a plot of
#'   their own.
#' @noRd
NULL

# Arguments --------------------------------------------------------------------

# Titles, limits and axes only: the others would be ignored by some types
check_plot_dots <- function(dots) {
  given <- rlang::names2(dots)
  known <- c(
    "main", "sub", "xlab", "ylab", "xlim", "ylim", "log", "axes", "ann",
    "frame.plot", "asp", "panel.first", "panel.last", "adj", "bty", "family",
    "fg", "lab", "las", "mgp", "tck", "tcl",
    outer(c("xax", "yax"), c("p", "s", "t"), paste0),
    outer(c("cex", "col", "font"), c("axis", "lab", "main", "sub"),
      paste, sep = "."
    )
  )
  unknown <- given[!given %in% known]
  if (length(unknown) > 0) {
    unknown[unknown == ""] <- "(unnamed)"
    kb_abort(c(
      "Unknown argument{?s}: {.arg {unknown}}.",
      i = "You can set titles, limits and axes, for example {.arg main},
           {.arg xlab} or {.arg ylim}."
    ), "unknown_argument", argument = unknown)
  }
}

# Curves and rows --------------------------------------------------------------

# Fitted values: along the only predictor, or observed against fitted
fit_picture <- function(x, level, n) {
  if (is_multinomial(x)) {
    return(fields_picture(x, n))
  }
  if (is.null(n)) n <- 200
  if (has_classes(x)) {
    classes_picture(x, level, n)
  } else if (has_one_input(x)) {
    curve_picture(x, level, n)
  } else {
    observed_picture(x, level)
  }
}

# Is the function one of a single predictor, and of nothing else?
has_one_input <- function(x) {
  ncol(x$data$x) == 1 && !has_terms_beside(x)
}

curve_picture <- function(x, level, n) {
  at <- training_x(x)[, 1]
  grid <- curve_grid(x, at, n)
  if (is_prior_only(x)) {
    return(prior_curve_picture(x, level, at, grid))
  }
  f <- predicted(x, grid, interval = "credible", level = level)
  new <- if (has_quantiles(x)) {
    predicted(x, grid, interval = "prediction", level = level)
  }
  new_picture(panel(
    colnames(x$data$x), response_label(x),
    if (!is.null(new)) {
      band_layer(grid, new,
        alpha = 0.25, label = percent_label(level, "prediction interval")
      )
    },
    band_layer(grid, f,
      alpha = 0.6, label = percent_label(level, "credible interval of the mean")
    ),
    points_layer(at, shown_response(x), colour = "grey", alpha = 0.8),
    lines_layer(grid, f[, "fit"], lwd = 2, label = "mean"),
    centre_ticks(x)
  ))
}

# Of successes their share
response_label <- function(x) {
  name <- x$mould$outcome_name
  if (identical(x$mould$outcome, "trials")) paste("share,", name) else name
}

# Along a single predictor; at the rows if there is no grid
predicted <- function(x, grid, ...) {
  if (is.null(grid)) {
    return(stats::predict(x, ...))
  }
  stats::predict(x, grid_points(x, grid), ...)
}

grid_points <- function(x, grid) {
  matrix(grid, dimnames = list(NULL, colnames(x$data$x)))
}

#' Points of the curve; around the data if they have no range, or a range too
#' small for numbers of this size
#' @param column The predictor.
#' @noRd
curve_grid <- function(x, at, n, column = 1) {
  ends <- range(at)
  if (diff(ends) == 0) {
    ends <- ends + c(-3, 3) * x$settings$scaling$x_scale[[column]]
  }
  apart_grid(ends, n)
}

# n different points
apart_grid <- function(ends, n) {
  least <- 2 * n * .Machine$double.eps * max(abs(ends))
  if (diff(ends) < least) ends <- mean(ends) + c(-0.5, 0.5) * least
  seq(ends[[1]], ends[[2]], length.out = n)
}

# Ticks at the bottom as high as each row's probability of being a centre; NULL
# for kernels of bark() whose centres are not rows, for draws from the prior, and
# for so many rows that ticks run together
centre_ticks <- function(x, most = 200) {
  if ((inherits(x, "kb_bark") && has_own_centres(x)) || is_prior_only(x) ||
    nrow(x$data$x) > most) {
    return(NULL)
  }
  probability <- inclusion(x)$probability
  used <- which(probability > 0)
  layer("rug",
    data.frame(x = x$data$x[used, 1], height = 0.1 * probability[used]),
    colour = "orange", lwd = 2, label = "probability of a centre"
  )
}

# Intervals of new shares of successes, of as many trials as there were
share_bands <- function(x, level) {
  rows <- prediction_rows(x, NULL, NULL, TRUE, TRUE)
  pool <- posterior_pool(x)
  f <- posterior_draws(x, rows$x, pool, seq_along(pool$weights))
  ends <- response_quantiles(x, f, pool, interval_ends(level), rows)
  cbind(fit = stats::predict(x), lwr = ends[, 1], upr = ends[, 2]) /
    cbind(1, rowSums(rows$y), rowSums(rows$y))
}

observed_picture <- function(x, level) {
  if (is_prior_only(x)) {
    return(prior_rows_picture(x, level))
  }
  y <- shown_response(x)
  bands <- if (has_quantiles(x)) {
    stats::predict(x, interval = "prediction", level = level)
  } else {
    share_bands(x, level)
  }
  fit <- bands[, "fit"]
  inside <- y >= bands[, "lwr"] & y <= bands[, "upr"]
  name <- response_label(x)
  new_picture(panel(
    paste("fitted", name), paste("observed", name),
    ranges_layer(fit, bands[, "lwr"], bands[, "upr"],
      colour = "sky", alpha = 0.5,
      label = percent_label(level, "prediction interval")
    ),
    rule_layer(slope = 1, label = "observed = fitted"),
    points_layer(fit, y,
      group = ifelse(inside, "inside", "outside"),
      by = groups("training rows", c("inside", "outside"), shapes = c(16, 17))
    )
  ))
}

# For two classes the probability of the second, for ordered classes f: along
# the only predictor, or at the rows in increasing order
classes_picture <- function(x, level, n) {
  one <- has_one_input(x)
  at <- if (one) training_x(x)[, 1]
  grid <- if (one) curve_grid(x, at, n)
  ordered <- is_ordered(x)
  bands <- predicted(x, grid,
    type = if (ordered) "link" else "response", interval = "credible",
    level = level
  )
  limits <- if (ordered) colMeans(bark_cuts(x, bark_pool(x))) else 0.5
  label <- if (ordered) "cut points"
  ylab <- if (ordered) "latent f" else probability_label(x)
  ylim <- if (!ordered) 0:1
  if (!one) {
    by <- if (ordered) "f" else "probability"
    return(rows_picture(x, bands, limits, level, by, ylab, label, ylim))
  }
  y <- training_response(x)
  prior <- is_prior_only(x)
  curves <- if (prior) prior_curves(x, grid, ordered)
  crop <- if (prior && ordered) latent_limits(limits, curves)
  new_picture(panel(
    noted_label(colnames(x$data$x), curves, crop), ylab,
    if (!prior) {
      band_layer(grid, bands,
        alpha = 0.6, label = percent_label(level, "credible interval")
      )
    },
    if (ordered) rule_layer(y = limits, label = label),
    if (ordered) {
      layer("rug", data.frame(x = at, group = y), by = class_groups(x))
    } else {
      points_layer(at, as.integer(y) - 1, colour = "grey", alpha = 0.5)
    },
    if (prior) drawn_curves_layer(grid, curves),
    lines_layer(grid, bands[, "fit"],
      lwd = 2, label = paste0(
        if (ordered) "mean of f" else "probability", if (prior) " (prior)"
      )
    ),
    if (!ordered) centre_ticks(x),
    ylim = ylim, crop = crop
  ))
}

probability_label <- function(x) {
  # Recorded labels may be wrong: the curves of kgs() are for true classes.
  of <- if (inherits(x, "kb_kgs")) "true "
  paste0("P(", of, x$mould$outcome_name, " = ", x$mould$levels[[2]], ")")
}

#' The rows in increasing order with their intervals, coloured by their class
#' @param bands Matrix of `fit`, `lwr`, `upr`.
#' @param limits The limits between classes, and their `label` in the legend.
#' @noRd
rows_picture <- function(x, bands, limits, level, by, ylab, label = NULL,
                         ylim = NULL) {
  at <- rank(bands[, "fit"], ties.method = "first")
  prior <- is_prior_only(x)
  f <- if (prior && is_ordered(x)) stats::predict(x, type = "draws")
  crop <- if (!is.null(f)) latent_limits(limits, f)
  new_picture(panel(
    noted_label(paste("rows, by", by), f, crop), ylab,
    ranges_layer(at, bands[, "lwr"], bands[, "upr"],
      colour = "sky", alpha = 0.5, lwd = 1.2,
      label = percent_label(level, paste0(
        if (prior) "prior " else "credible ", "interval"
      ))
    ),
    rule_layer(y = limits, label = label),
    points_layer(at, bands[, "fit"],
      group = training_response(x), by = class_groups(x)
    ),
    ylim = ylim, crop = crop
  ))
}

#' Probabilities of classes along the only predictor (with two classes of the
#' second), with the rows at their class
#' @param probability Function of points.
#' @param ... Further layers.
#' @noRd
class_curves_picture <- function(x, n, probability, ...) {
  at <- training_x(x)[, 1]
  grid <- curve_grid(x, at, if (is.null(n)) 200 else n)
  p <- probability(grid_points(x, grid))
  two <- ncol(p) == 2
  by <- class_groups(x)
  new_picture(panel(
    colnames(x$data$x),
    paste0(
      if (two) probability_label(x) else "class probability",
      if (is_prior_only(x)) " (prior)"
    ),
    if (two) {
      lines_layer(grid, p[, 2], lwd = 2, colour = "grey")
    } else {
      layer("lines", matrix_lines(grid, p, by$levels), lwd = 2, by = by)
    },
    rule_layer(y = 0.5),
    points_layer(at, class_heights(x),
      group = training_response(x), by = by
    ),
    ...,
    ylim = c(0, 1.05)
  ))
}

# Above the probabilities; with two classes the first below
class_heights <- function(x) {
  first <- as.integer(training_response(x)) == 1
  ifelse(first & length(x$mould$levels) == 2, -0.04, 1.04)
}

# Centres ----------------------------------------------------------------------

#' Posterior and prior of the number of centres
#' @param prior Data frame of `k` and `probability`.
#' @noRd
k_picture <- function(x, prior, what) {
  posterior <- model_size(x)
  posterior <- posterior[posterior$probability > 0, ]
  near <- prior$k >= min(posterior$k) - 2 & prior$k <= max(posterior$k) + 2
  new_picture(panel(
    paste("number of", what), "probability",
    layer("bars", columns(x = posterior$k, y = posterior$probability),
      label = if (is_prior_only(x)) "draws" else "posterior"
    ),
    points_layer(prior$k[near], prior$probability[near],
      shape = 21, size = 1, colour = "orange", fill = "white", label = "prior"
    ),
    xlim = range(prior$k[near]) + c(-0.5, 0.5), ylim = 0, ticks = "whole"
  ))
}

# Posterior probability that each row is a centre; for a dictionary the expected
# number of centres, stacked by kernel
centres_picture <- function(x) {
  used <- inclusion(x)
  single <- ncol(x$data$x) == 1
  several <- inherits(x, "kb_srvm") && has_dictionary(x)
  values <- if (several) as.matrix(used[-(1:2)]) else cbind(used$probability)
  top <- t(apply(cbind(0, values), 1, cumsum))
  bars <- data.frame(
    x = if (single) x$data$x[, 1] else used$row,
    ymin = as.vector(top[, -ncol(top)]), ymax = as.vector(top[, -1]),
    group = as.vector(col(values))
  )
  kernels <- seq_len(ncol(values))
  by <- groups("kernel", kernels, ordered_colours(ncol(values)))
  new_picture(panel(
    if (single) colnames(x$data$x) else "row",
    if (several) {
      "expected number of centres"
    } else {
      "probability that the row is a centre"
    },
    layer("ranges", bars,
      lwd = if (nrow(used) > 100) 1 else 2,
      by = if (several) by
    ),
    ylim = c(0, 0.1)
  ))
}
