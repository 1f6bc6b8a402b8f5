# Code shared by the plots of engines: arguments, and pictures of several
# engines.

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
  } else if (has_one_variable(x)) {
    curve_picture(x, level, n)
  } else {
    observed_picture(x, level)
  }
}

# Is the function one of a single variable, and of nothing else?
has_one_variable <- function(x) {
  mould <- x$mould
  length(variable_names(mould)) == 1 && keeps_variables(mould) &&
    !has_terms_beside(x) && length(variable_parts(variable_frame(x))) == 1
}

curve_picture <- function(x, level, n) {
  along <- curve_along(x, n)
  if (is_prior_only(x)) {
    return(prior_curve_picture(x, level, along))
  }
  f <- predicted(x, along, interval = "credible", level = level)
  new <- if (has_quantiles(x)) {
    predicted(x, along, interval = "prediction", level = level)
  }
  new_picture(panel(
    along$label, response_label(x),
    if (!is.null(new)) {
      along_bands(along, new,
        alpha = 0.25, label = percent_label(level, "prediction interval")
      )
    },
    along_bands(along, f,
      alpha = 0.6, label = percent_label(level, "credible interval of the mean")
    ),
    points_layer(along$rows, shown_response(x), colour = "grey", alpha = 0.8),
    along_line(along, f[, "fit"], label = "mean"),
    centre_ticks(x, along),
    ticks = along$ticks, xlim = along$xlim
  ))
}

# Of successes their share
response_label <- function(x) {
  name <- x$mould$outcome_name
  if (identical(x$mould$outcome, "trials")) paste("share,", name) else name
}

# Along a variable; at the rows if there is none
predicted <- function(x, along, ...) {
  if (is.null(along)) {
    return(stats::predict(x, ...))
  }
  # A variable that was constant moves in the picture only.
  suppressMessages(
    stats::predict(x, along$points, ...), classes = "kb_message_constant"
  )
}

#' The points of a curve along a variable, the others at their medians and most
#' frequent levels
#' @param name Of the variable, or of a column of one; NULL: the first.
#' @param wider By which share of their range do numbers extend beyond the data?
#' @return List of `label`, `points` (a data frame of the variables), `at` (where
#'   they are on the axis), `rows` (where the training rows are) and, of levels,
#'   `ticks` and `xlim`.
#' @noRd
curve_along <- function(x, n, name = NULL, wider = 0) {
  frame <- variable_frame(x)
  parts <- variable_parts(frame)
  if (is.null(name)) name <- names(parts)[[1]]
  v <- parts[[name]]
  out <- list(label = name)
  if (is_measured(v) && !is_coded(x$mould, part_owner(frame, name))) {
    if (is_time(v)) out$label <- paste0(name, " (", time_unit(v), ")")
    out$rows <- as.double(v)
    held <- held_columns(x$mould, name)
    unit <- if (length(held) == 1) x$settings$scaling$x_scale[[held]] else 1
    values <- out$at <- curve_grid(out$rows, n, unit, wider)
  } else {
    values <- sort(unique(v))
    out$ticks <- shown_levels(values)
    out$at <- seq_along(values)
    out$rows <- match(v, values)
    out$xlim <- range(out$at) + c(-0.6, 0.6)
  }
  points <- typical_row(x$mould, frame)[rep(1L, length(values)), , drop = FALSE]
  out$points <- set_parts(points, stats::setNames(list(values), name))
  out
}

# Points of a curve; some units around the data if they have no range, further
# if it is too small for numbers of this size
curve_grid <- function(at, n, unit = 1, wider = 0) {
  ends <- range(at)
  if (diff(ends) == 0) ends <- ends + c(-3, 3) * unit
  if (wider > 0) ends <- range(apart_grid(ends, 2))
  apart_grid(ends + c(-wider, wider) * diff(ends), n)
}

# An empty level can be seen
shown_levels <- function(levels) {
  levels <- as.character(levels)
  ifelse(nzchar(levels), levels, "\"\"")
}

# Bands and a line along numbers, ranges and points at levels
along_bands <- function(along, bands, ...) {
  if (is.null(along$ticks)) {
    return(band_layer(along$at, bands, ...))
  }
  ranges_layer(along$at, bands[, "lwr"], bands[, "upr"],
    colour = "sky", lwd = 5, ...
  )
}

along_line <- function(along, y, ...) {
  if (is.null(along$ticks)) {
    return(lines_layer(along$at, y, lwd = 2, ...))
  }
  points_layer(along$at, y, size = 1, ...)
}

# n different points
apart_grid <- function(ends, n) {
  least <- 2 * n * .Machine$double.eps * max(abs(ends))
  if (diff(ends) < least) ends <- mean(ends) + c(-0.5, 0.5) * least
  seq(ends[[1]], ends[[2]], length.out = n)
}

# Ticks at the bottom, for srvm() as high as what f is expected to lose without the
# row as a centre, for bark() as the row's probability of being one; NULL
# for kernels of bark() whose centres are not rows, for draws from the prior, and
# for so many rows that ticks run together, or for rows at levels
centre_ticks <- function(x, along, most = 200) {
  if ((inherits(x, "kb_bark") && has_own_centres(x)) || is_prior_only(x) ||
    nrow(x$data$x) > most || !is.null(along$ticks)) {
    return(NULL)
  }
  # Of rows not processed yet nothing is known.
  centres <- inclusion(x)[training_rows(x), ]
  used <- which(centres$probability > 0)
  # Fits of bark() have no changes.
  change <- centres$change[used]
  height <- if (is.null(change)) {
    centres$probability[used]
  } else {
    change / max(change, .Machine$double.xmin)
  }
  layer("rug", data.frame(x = along$rows[used], height = 0.1 * height),
    colour = "orange", lwd = 2,
    label = if (is.null(change)) "probability of a centre" else "change without the centre"
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
  along <- if (has_one_variable(x)) curve_along(x, n)
  ordered <- is_ordered(x)
  bands <- predicted(x, along,
    type = if (ordered) "link" else "response", interval = "credible",
    level = level
  )
  limits <- if (ordered) colMeans(bark_cuts(x, bark_pool(x))) else 0.5
  label <- if (ordered) "cut points"
  ylab <- if (ordered) "latent f" else probability_label(x)
  ylim <- if (!ordered) 0:1
  if (is.null(along)) {
    by <- if (ordered) "f" else "probability"
    return(rows_picture(x, bands, limits, level, by, ylab, label, ylim))
  }
  y <- training_response(x)
  prior <- is_prior_only(x)
  curves <- if (prior) prior_curves(x, along, ordered)
  crop <- if (prior && ordered) latent_limits(limits, curves)
  new_picture(panel(
    noted_label(along$label, curves, crop), ylab,
    if (!prior) {
      along_bands(along, bands,
        alpha = 0.6, label = percent_label(level, "credible interval")
      )
    },
    if (ordered) rule_layer(y = limits, label = label),
    if (ordered) {
      layer("rug", data.frame(x = along$rows, group = y), by = class_groups(x))
    } else {
      points_layer(along$rows, as.integer(y) - 1, colour = "grey", alpha = 0.5)
    },
    if (prior) drawn_curves_layer(along$at, curves),
    along_line(along, bands[, "fit"],
      label = paste0(
        if (ordered) "mean of f" else "probability", if (prior) " (prior)"
      )
    ),
    if (!ordered) centre_ticks(x, along),
    ylim = ylim, crop = crop, ticks = along$ticks, xlim = along$xlim
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

#' Probabilities of classes along a variable (with two classes of the second),
#' with the rows at their class
#' @param probability Function of points.
#' @param along From `curve_along()`.
#' @param ... Further layers.
#' @noRd
class_curves_picture <- function(x, along, probability, ...) {
  p <- probability(rows_of_variables(x$mould, along$points))
  two <- ncol(p) == 2
  by <- class_groups(x)
  new_picture(panel(
    along$label,
    paste0(
      if (two) probability_label(x) else "class probability",
      if (is_prior_only(x)) " (prior)"
    ),
    if (two) {
      along_line(along, p[, 2], colour = "grey")
    } else {
      layer(if (is.null(along$ticks)) "lines" else "points",
        matrix_lines(along$at, p, by$levels),
        lwd = 2, by = by
      )
    },
    rule_layer(y = 0.5),
    points_layer(along$rows, class_heights(x),
      group = training_response(x), by = by
    ),
    ...,
    ylim = c(0, 1.05), ticks = along$ticks, xlim = along$xlim
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
  along <- if (has_one_variable(x)) curve_along(x, 2)
  single <- !is.null(along) && is.null(along$ticks)
  if (single) used <- used[training_rows(x), ]
  several <- inherits(x, "kb_srvm") && has_dictionary(x)
  values <- if (several) {
    as.matrix(used[startsWith(names(used), "kernel")])
  } else {
    cbind(centre_weight(used))
  }
  top <- t(apply(cbind(0, values), 1, cumsum))
  bars <- data.frame(
    x = if (single) along$rows else used$row,
    ymin = as.vector(top[, -ncol(top)]), ymax = as.vector(top[, -1]),
    group = as.vector(col(values))
  )
  kernels <- seq_len(ncol(values))
  by <- groups("kernel", kernels, ordered_colours(ncol(values)))
  new_picture(panel(
    if (single) along$label else "row",
    if (several) {
      "expected number of centres"
    } else if (is.null(used$change)) {
      "probability that the row is a centre"
    } else {
      "expected change of f without the centre"
    },
    layer("ranges", bars,
      lwd = if (nrow(used) > 100) 1 else 2,
      by = if (several) by
    ),
    ylim = c(0, if (several || is.null(used$change)) 0.1)
  ))
}

# Traces of chains, alone and with the densities of their draws beside them.

# Draws of these quantities: parameters, or other monitored quantities
traced <- function(fit, names) {
  chains <- chain_matrices(fit)
  if (!all(names %in% names(chains))) chains <- watched_matrices(fit)
  chains[names]
}

#' Traces of quantities, one line per chain
#' @param labels Named by the quantities of `traced()`.
#' @param densities Are their densities beside them?
#' @noRd
chains_picture <- function(x, labels, densities = FALSE) {
  chains <- traced(x, names(labels))
  panels <- lapply(seq_along(labels), function(i) {
    at <- x$control$thin * seq_len(nrow(chains[[i]]))
    c(
      list(trace_panel(at, chains[[i]], labels[[i]], i == 1)),
      if (densities) list(density_panel(chains[[i]]))
    )
  })
  above <- c("iteration after the warmup", "density, highest = 1")
  new_picture(unlist(panels, recursive = FALSE),
    columns = 1 + densities,
    strips = if (densities) list(rows = labels, columns = above)
  )
}

trace_panel <- function(at, values, label, first) {
  by <- chain_groups(values)
  many <- nrow(values) > 100
  panel(
    "iteration after the warmup", label,
    layer("lines", matrix_lines(at, values),
      lwd = 0.7, alpha = if (many) 0.3 else 0.7, by = by
    ),
    if (many) mean_lines(at, values, by),
    shared = if (!first) "main", key = first
  )
}

# Means of blocks, which show drift and chains that differ
mean_lines <- function(at, values, by) {
  blocks <- series_blocks(at, values, 30)
  layer("lines", blocks[c("x", "y", "group")],
    lwd = 2, by = by, label = paste("mean of", attr(blocks, "size"), "draws")
  )
}

# Colours that differ in lightness, too
chain_groups <- function(values) {
  n <- ncol(values)
  groups("chain", seq_len(n), ordered_colours(n), dashes = FALSE)
}

density_panel <- function(values) {
  curves <- chain_density(values)
  panel(
    if (are_whole(values)) "share" else "density", "",
    lines_layer(curves$density, curves$value,
      group = curves$chain, by = chain_groups(values), lwd = 1.5, alpha = 0.8
    ),
    xlim = 0, key = FALSE, shared = c("main", "sub", "xlab", "ylab", "xlim")
  )
}

#' The draws of each chain as a distribution
#'
#' For whole numbers the share of each, for others a kernel density estimate.
#' @param values Matrix, a column per chain.
#' @return Data frame of `chain`, `value` and `density`.
#' @noRd
chain_density <- function(values) {
  whole <- are_whole(values)
  levels <- if (whole) seq(min(values), max(values)) else unique(values[1, ])
  of <- function(chain) {
    v <- values[, chain]
    if (!whole && length(v) > 1) {
      curve <- stats::density(v, n = 200, from = min(v), to = max(v))
      return(data.frame(chain = chain, value = curve$x, density = curve$y))
    }
    share <- tabulate(match(v, levels), length(levels)) / length(v)
    data.frame(chain = chain, value = levels, density = share)
  }
  do.call(rbind, lapply(seq_len(ncol(values)), of))
}

# Are they counts with few distinct values?
are_whole <- function(values) {
  all(values == round(values)) && diff(range(values)) <= 1000
}
