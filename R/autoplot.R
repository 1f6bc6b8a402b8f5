# ggplot2: the pictures of plot() as objects that can be changed, registered
# when that package is loaded.

#' Pictures by ggplot2
#'
#' Methods of [ggplot2::autoplot()]: what the base graphics of `plot()` show, as
#' objects to which scales, themes, facets and layers can be added. Colours are
#' those of Okabe and Ito, which colour-blind readers tell apart.
#'
#' @param object A fit of [srvm()], [bark()], [kgs()] or [kbr()], or what
#'   [kbr_filter()], [importance()], [partial_dependence()], [reject_curve()] and
#'   [label_noise()] return.
#' @param type For fits of `srvm()` and `bark()`: `"fit"`, `"k"` or `"trace"`;
#'   of `srvm()` also `"ess"` and `"evidence"` (sequential fits), of `bark()`
#'   `"importance"`; for fits of `kgs()`: `"boundary"` or `"trace"`. The first
#'   is the default. They are described in [plot.kb_srvm()], [plot.kb_bark()]
#'   and [plot.kb_kgs()].
#' @param level Probability of intervals.
#' @param n Number of points of a curve, or along each side of a grid.
#' @param variable For `"boundary"`: the names of two predictors; the others are
#'   at their median.
#' @param newdata For `kbr()` fits: one observation.
#' @param columns For `kbr()` and its filters: columns of the states, names or
#'   numbers.
#' @param ... Not used: unknown arguments are errors.
#' @return A ggplot object.
#' @section Errors: `kb_error_package` without ggplot2, others as `plot()`.
#' @examplesIf requireNamespace("ggplot2", quietly = TRUE)
#' data <- sim_sinc(50, seed = 1)
#' fit <- srvm(y ~ x, data,
#'   kernel = kernel_gaussian(0.3), control = smc_control(particles = 100),
#'   seed = 1
#' )
#' ggplot2::autoplot(fit) + ggplot2::theme_minimal()
#' ggplot2::autoplot(fit, "ess")
#' @name autoplot.kb_srvm
NULL

#' @importFrom rlang .data
NULL

# Common parts -----------------------------------------------------------------

#' @noRd
gg_start <- function(data, ..., call = rlang::caller_env()) {
  need_package("ggplot2", "`autoplot()`", call = call)
  ggplot2::ggplot(data, ggplot2::aes(...)) +
    ggplot2::theme_bw() +
    ggplot2::theme(panel.grid.minor = ggplot2::element_blank())
}

# srvm, bark -------------------------------------------------------------------

#' @rdname autoplot.kb_srvm
#' @exportS3Method ggplot2::autoplot
autoplot.kb_srvm <- function(object,
                             type = c("fit", "k", "trace", "ess", "evidence"),
                             level = 0.9, n = 200, ...) {
  check_no_dots(...)
  object <- migrate_fit(object)
  need_package("ggplot2", "`autoplot()`")
  type <- check_choice(type, c("fit", "k", "trace", "ess", "evidence"))
  batch <- inherits(object, "kb_srvm_mcmc")
  if (batch && type %in% c("ess", "evidence")) {
    refuse_batch(
      paste0("autoplot(type = \"", type, "\")"),
      "It shows the sequential sampler"
    )
  }
  switch(type,
    fit = gg_fit(object, level, n),
    k = gg_k(object, srvm_prior_k(object), "centres"),
    trace = if (batch) {
      gg_chains(object, c(k = "k", sigma = "noise sd"))
    } else {
      gg_path(object)
    },
    ess = gg_ess(object),
    evidence = gg_line(
      evidence(object)$path$log_evidence, "rows taken in", "log evidence"
    )
  )
}

#' @rdname autoplot.kb_srvm
#' @exportS3Method ggplot2::autoplot
autoplot.kb_bark <- function(object,
                             type = c("fit", "importance", "k", "trace"),
                             level = 0.9, n = 200, ...) {
  check_no_dots(...)
  object <- migrate_fit(object)
  need_package("ggplot2", "`autoplot()`")
  type <- check_choice(type, c("fit", "importance", "k", "trace"))
  switch(type,
    fit = gg_fit(object, level, n),
    importance = autoplot.kb_importance(importance(object, level = level)),
    k = gg_k(object, bark_prior_k(object), "kernels"),
    trace = gg_chains(object, bark_trace_labels(object))
  )
}

#' @rdname autoplot.kb_srvm
#' @exportS3Method ggplot2::autoplot
autoplot.kb_bark_multinomial <- function(object,
                                         type = c(
                                           "fit", "importance", "k", "trace"
                                         ), level = 0.9, n = NULL, ...) {
  check_no_dots(...)
  object <- migrate_fit(object)
  need_package("ggplot2", "`autoplot()`")
  type <- check_choice(type, c("fit", "importance", "k", "trace"))
  switch(type,
    fit = if (ncol(object$data$x) == 1) {
      gg_class_curves(object, if (is.null(n)) 200 else n)
    } else {
      gg_plane(
        object, most_important(importance(object), 2),
        check_count(if (is.null(n)) 50 else n, 2),
        function(points) fields_drawn_probability(object, points)
      )
    },
    importance = autoplot.kb_importance(importance(object, level = level)),
    k = gg_k(object, fields_prior_k(object), "kernels"),
    trace = gg_chains(object, bark_trace_labels(object))
  )
}

#' Of several classes
#' @noRd
gg_class_curves <- function(x, n) {
  at <- training_x(x)[, 1]
  grid <- curve_grid(x, at, check_count(n, 2))
  points <- matrix(grid, dimnames = list(NULL, colnames(x$data$x)))
  p <- stats::predict(x, points, type = "prob")
  levels <- colnames(p)
  lines <- data.frame(
    at = rep(grid, ncol(p)), p = as.vector(p),
    class = factor(rep(levels, each = nrow(p)), levels)
  )
  rows <- data.frame(
    at = at, class = factor(as.character(training_response(x)), levels)
  )
  gg_start(lines, x = .data$at, y = .data$p, colour = .data$class) +
    ggplot2::geom_line(linewidth = 0.9) +
    ggplot2::geom_rug(
      ggplot2::aes(x = .data$at, colour = .data$class), rows,
      inherit.aes = FALSE, sides = "b"
    ) +
    ggplot2::scale_colour_manual(
      x$mould$outcome_name,
      values = class_colours(length(levels))
    ) +
    ggplot2::labs(x = colnames(x$data$x), y = "class probability")
}

#' Rows by f, with the cut points that the classes lie between
#' @noRd
gg_ordered <- function(x, level) {
  f <- stats::predict(x, type = "link", interval = "credible", level = level)
  rows <- data.frame(f, class = training_response(x))
  rows$at <- rank(rows$fit, ties.method = "first")
  pool <- bark_pool(x)
  cuts <- rowMeans(matrix(pool$cuts, length(cut_names(x))))
  gg_start(rows, x = .data$at, y = .data$fit) +
    ggplot2::geom_linerange(
      ggplot2::aes(ymin = .data$lwr, ymax = .data$upr),
      colour = kb_colour("sky"), alpha = 0.5
    ) +
    ggplot2::geom_hline(
      yintercept = cuts, linetype = 2, colour = kb_colour("grey")
    ) +
    ggplot2::geom_point(ggplot2::aes(colour = .data$class)) +
    ggplot2::scale_colour_manual(
      x$mould$outcome_name,
      values = class_colours(nlevels(rows$class))
    ) +
    ggplot2::labs(
      x = "rows, by f", y = "f", caption = "dashed: mean cut points"
    )
}

#' @noRd
gg_fit <- function(x, level, n) {
  level <- check_number(level, 0, 1, open = TRUE)
  n <- check_count(n, 2)
  if (is_ordered(x)) {
    one <- ncol(x$data$x) == 1
    return(if (one) gg_class_curves(x, n) else gg_ordered(x, level))
  }
  if (ncol(x$data$x) == 1) {
    return(gg_curve(x, level, n))
  }
  if (is_probit(x)) gg_probabilities(x, level) else gg_observed(x, level)
}

#' @noRd
gg_curve <- function(x, level, n) {
  at <- training_x(x)[, 1]
  grid <- curve_grid(x, at, n)
  points <- matrix(grid, dimnames = list(NULL, colnames(x$data$x)))
  f <- stats::predict(x, points,
    type = "response", interval = "credible", level = level
  )
  curve <- data.frame(at = grid, f)
  rows <- data.frame(at = at, y = as.numeric(training_response(x)))
  if (is_probit(x)) rows$y <- rows$y - 1
  plot <- gg_start(curve, x = .data$at, y = .data$fit)
  if (!is_probit(x)) {
    new <- stats::predict(x, points, interval = "prediction", level = level)
    plot <- plot + gg_ribbon(data.frame(at = grid, new), 0.25)
  }
  plot + gg_ribbon(curve, 0.6) +
    ggplot2::geom_point(
      ggplot2::aes(y = .data$y), rows,
      colour = kb_colour("grey"), size = 1
    ) +
    ggplot2::geom_line(colour = kb_colour("blue"), linewidth = 0.9) +
    ggplot2::labs(
      x = colnames(x$data$x),
      y = if (is_probit(x)) probability_label(x) else x$mould$outcome_name,
      caption = paste0(
        "mean and ", format(100 * level), "% intervals of ",
        if (is_probit(x)) "the probability" else "f (dark) and y (light)"
      )
    )
}

#' @noRd
gg_ribbon <- function(data, alpha) {
  ggplot2::geom_ribbon(
    ggplot2::aes(ymin = .data$lwr, ymax = .data$upr), data,
    fill = kb_colour("sky"), alpha = alpha
  )
}

#' @noRd
gg_observed <- function(x, level) {
  name <- x$mould$outcome_name
  bands <- stats::predict(x, interval = "prediction", level = level)
  rows <- data.frame(bands, y = training_response(x))
  percent <- paste0(format(100 * level), "% interval")
  inside <- rows$y >= rows$lwr & rows$y <= rows$upr
  rows$inside <- factor(
    ifelse(inside, "inside", "outside"), c("inside", "outside")
  )
  gg_start(rows, x = .data$fit, y = .data$y) +
    ggplot2::geom_linerange(
      ggplot2::aes(ymin = .data$lwr, ymax = .data$upr),
      colour = kb_colour("sky"), alpha = 0.5
    ) +
    ggplot2::geom_abline(linetype = 2, colour = kb_colour("grey")) +
    ggplot2::geom_point(
      ggplot2::aes(colour = .data$inside, shape = .data$inside)
    ) +
    gg_two_classes(percent) +
    ggplot2::labs(x = paste("fitted", name), y = paste("observed", name))
}

#' @noRd
gg_two_classes <- function(name) {
  list(
    ggplot2::scale_colour_manual(name, values = class_colours(2)),
    ggplot2::scale_shape_manual(name, values = c(16, 17))
  )
}

#' @noRd
gg_probabilities <- function(x, level) {
  p <- stats::predict(x,
    type = "response", interval = "credible", level = level
  )
  rows <- data.frame(p, class = training_response(x))
  rows$at <- rank(rows$fit, ties.method = "first")
  gg_start(rows, x = .data$at, y = .data$fit) +
    ggplot2::geom_linerange(
      ggplot2::aes(ymin = .data$lwr, ymax = .data$upr),
      colour = kb_colour("sky"), alpha = 0.5
    ) +
    ggplot2::geom_hline(
      yintercept = 0.5, linetype = 2, colour = kb_colour("grey")
    ) +
    ggplot2::geom_point(
      ggplot2::aes(colour = .data$class, shape = .data$class)
    ) +
    gg_two_classes(x$mould$outcome_name) +
    ggplot2::labs(x = "rows, by probability", y = probability_label(x))
}

#' @noRd
gg_k <- function(x, prior, what) {
  posterior <- kernels(x)
  posterior <- posterior[posterior$probability > 0, ]
  near <- prior$k >= min(posterior$k) - 2 & prior$k <= max(posterior$k) + 2
  gg_start(posterior, x = .data$k, y = .data$probability) +
    ggplot2::geom_col(fill = kb_colour("blue"), width = 0.6) +
    ggplot2::geom_point(
      data = prior[near, ], shape = 21, fill = "white",
      colour = kb_colour("orange")
    ) +
    ggplot2::labs(
      x = paste("number of", what), caption = "bars: posterior, circles: prior"
    )
}

#' Traces of quantities, a line a chain
#' @param labels Named by the quantities of `chain_matrices()`.
#' @noRd
gg_chains <- function(x, labels) {
  chains <- chain_matrices(x)[names(labels)]
  size <- dim(chains[[1]])
  lines <- data.frame(
    iteration = rep(x$control$thin * seq_len(size[[1]]), size[[2]]),
    chain = factor(rep(seq_len(size[[2]]), each = size[[1]])),
    quantity = factor(rep(labels, each = prod(size)), labels),
    value = unlist(lapply(chains, as.vector), use.names = FALSE)
  )
  gg_start(lines, x = .data$iteration, y = .data$value) +
    ggplot2::geom_line(
      ggplot2::aes(colour = .data$chain),
      linewidth = 0.3, alpha = 0.8
    ) +
    ggplot2::scale_colour_manual(values = class_colours(size[[2]])) +
    ggplot2::facet_wrap("quantity", ncol = 1, scales = "free_y") +
    ggplot2::labs(x = "iteration after the warmup", y = NULL)
}

#' @noRd
gg_path <- function(x) {
  runs <- fit_runs(x)
  path <- function(name) {
    unlist(lapply(runs, function(run) run$path[[name]]), use.names = FALSE)
  }
  labels <- c("mean k", if (!is_probit(x)) "mean noise sd")
  lines <- data.frame(
    row = seq_len(x$time), run = factor(rep(seq_along(runs), each = x$time)),
    quantity = factor(
      rep(labels, each = x$time * length(runs)), labels
    ),
    value = c(path("mean_k"), if (!is_probit(x)) {
      unscale_sd(x$settings$scaling, path("mean_sigma"))
    })
  )
  # The first rows leave the prior's heavy tail; they would set the scale.
  if (x$time > 20) lines <- lines[lines$row > 10, ]
  gg_start(lines, x = .data$row, y = .data$value, group = .data$run) +
    ggplot2::geom_line(colour = kb_colour("blue")) +
    ggplot2::facet_wrap("quantity", ncol = 1, scales = "free_y") +
    ggplot2::expand_limits(y = 0) +
    ggplot2::labs(x = "rows taken in", y = NULL)
}

#' @noRd
gg_line <- function(value, xlab, ylab) {
  path <- data.frame(at = seq_along(value), value = value)
  gg_start(path, x = .data$at, y = .data$value) +
    ggplot2::geom_line(colour = kb_colour("blue")) +
    ggplot2::labs(x = xlab, y = ylab)
}

#' @noRd
gg_ess <- function(x) {
  path <- ess(x)
  path$at <- seq_len(nrow(path))
  path$threshold <- x$control$ess_threshold * particles_by_row(x)
  gg_start(path, x = .data$at, y = .data$ess) +
    ggplot2::geom_line(colour = kb_colour("blue")) +
    ggplot2::geom_step(
      ggplot2::aes(y = .data$threshold),
      linetype = 2, colour = kb_colour("grey")
    ) +
    ggplot2::geom_rug(
      data = path[path$resampled, ], sides = "b", colour = kb_colour("orange")
    ) +
    ggplot2::expand_limits(y = 0) +
    ggplot2::labs(
      x = "rows taken in", y = "effective sample size",
      caption = "dashed: threshold; ticks: resampled before the row"
    )
}

# kgs --------------------------------------------------------------------------

#' @rdname autoplot.kb_srvm
#' @exportS3Method ggplot2::autoplot
autoplot.kb_kgs <- function(object, type = c("boundary", "trace"),
                            variable = NULL, n = 70, ...) {
  check_no_dots(...)
  need_package("ggplot2", "`autoplot()`")
  object <- migrate_fit(object)
  type <- check_choice(type, c("boundary", "trace"))
  if (type == "trace") {
    return(gg_chains(object, kgs_trace_labels(object)))
  }
  if (ncol(object$data$x) == 1) {
    kb_abort(c(
      "{.code autoplot(type = \"boundary\")} needs two predictors.",
      i = "{.fn plot} draws the probabilities along one."
    ), "not_defined")
  }
  gg_plane(
    object, check_plane(object, variable), check_count(n, 2),
    function(points) drawn_probability(object, points, TRUE)
  ) +
    ggplot2::geom_point(
      data = plane_rows(object, check_plane(object, variable))[
        flip_probability(object) > 0.5,
      ],
      shape = 1, size = 4
    ) +
    ggplot2::labs(caption = "circles: labels that are more likely wrong")
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

# What other functions return ---------------------------------------------------

#' @rdname autoplot.kb_srvm
#' @exportS3Method ggplot2::autoplot
autoplot.kb_importance <- function(object, n = 30, ...) {
  check_no_dots(...)
  shown <- object[sort(most_important(object, check_count(n, 1))), ]
  shown$variable <- factor(shown$variable, shown$variable)
  gg_start(as.data.frame(shown), x = .data$variable) +
    ggplot2::geom_boxplot(
      ggplot2::aes(
        ymin = .data$lower, lower = .data$q25, middle = .data$median,
        upper = .data$q75, ymax = .data$upper
      ),
      stat = "identity", fill = kb_colour("sky"), colour = kb_colour("blue"),
      width = 0.6
    ) +
    ggplot2::geom_point(
      ggplot2::aes(y = .data$mean),
      shape = 18, colour = kb_colour("orange"), size = 2
    ) +
    ggplot2::scale_y_sqrt() +
    ggplot2::labs(
      x = NULL, y = "scale lambda",
      caption = "boxes: quartiles and interval; diamonds: means"
    )
}

#' @rdname autoplot.kb_srvm
#' @exportS3Method ggplot2::autoplot
autoplot.kb_partial_dependence <- function(object, ...) {
  check_no_dots(...)
  variables <- dependence_variables(object)
  numeric <- vapply(unclass(object)[variables], is.numeric, NA)
  variables <- variables[order(!numeric)]
  data <- as.data.frame(unclass(object))
  data$at <- data[[variables[[1]]]]
  outcome <- attr(object, "outcome")
  if (length(variables) == 2 && all(numeric)) {
    return(gg_start(data, x = .data$at, y = .data[[variables[[2]]]]) +
      ggplot2::geom_raster(ggplot2::aes(fill = .data$mean)) +
      ggplot2::scale_fill_viridis_c(outcome) +
      ggplot2::labs(x = variables[[1]], y = variables[[2]]))
  }
  plot <- gg_start(data, x = .data$at, y = .data$mean) +
    ggplot2::labs(x = variables[[1]], y = outcome)
  if (length(variables) == 2) {
    plot <- plot + ggplot2::facet_wrap(variables[[2]])
  }
  if (!any(numeric)) {
    return(plot + ggplot2::geom_pointrange(
      ggplot2::aes(ymin = .data$lower, ymax = .data$upper),
      colour = kb_colour("blue")
    ))
  }
  plot +
    ggplot2::geom_ribbon(
      ggplot2::aes(ymin = .data$lower, ymax = .data$upper),
      fill = kb_colour("sky"), alpha = 0.6
    ) +
    ggplot2::geom_line(colour = kb_colour("blue"), linewidth = 0.9)
}

#' @rdname autoplot.kb_srvm
#' @exportS3Method ggplot2::autoplot
autoplot.kb_reject_curve <- function(object, ...) {
  check_no_dots(...)
  gg_start(
    as.data.frame(unclass(object)),
    x = .data$coverage, y = .data$error
  ) +
    ggplot2::geom_hline(
      yintercept = object$error[[nrow(object)]], linetype = 2,
      colour = kb_colour("grey")
    ) +
    ggplot2::geom_line(colour = kb_colour("blue")) +
    ggplot2::expand_limits(x = 0, y = 0) +
    ggplot2::labs(
      y = "error among the decided", caption = "dashed: all decided"
    )
}

#' @rdname autoplot.kb_srvm
#' @exportS3Method ggplot2::autoplot
autoplot.kb_label_flips <- function(object, n = 30, ...) {
  check_no_dots(...)
  shown <- as.data.frame(unclass(object))[most_suspicious(object, n), ]
  shown$row <- factor(shown$row, shown$row)
  gg_start(shown, x = .data$row, y = .data$probability) +
    ggplot2::geom_col(ggplot2::aes(fill = .data$label)) +
    ggplot2::geom_hline(
      yintercept = 0.5, linetype = 2, colour = kb_colour("grey")
    ) +
    ggplot2::scale_fill_manual(values = class_colours(nlevels(shown$label))) +
    ggplot2::ylim(0, 1) +
    ggplot2::labs(
      x = "row, the most suspicious first", y = "P(label is wrong)"
    )
}

# kbr --------------------------------------------------------------------------

#' @rdname autoplot.kb_srvm
#' @exportS3Method ggplot2::autoplot
autoplot.kb_kbr <- function(object, newdata, columns = NULL, level = 0.9,
                            n = 200, ...) {
  check_no_dots(...)
  object <- migrate_fit(object)
  need_package("ggplot2", "`autoplot()`")
  # plot() returns what it draws.
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  drawn <- plot(object, newdata, columns = columns, level = level, n = n)
  gg_start(drawn, x = .data$at) +
    ggplot2::geom_line(
      ggplot2::aes(y = .data$prior),
      colour = kb_colour("grey")
    ) +
    ggplot2::geom_line(
      ggplot2::aes(y = .data$posterior),
      colour = kb_colour("blue"), linewidth = 0.9
    ) +
    ggplot2::facet_wrap("state", scales = "free") +
    ggplot2::labs(
      x = NULL, y = "density", caption = "grey: prior, blue: posterior"
    )
}

#' @rdname autoplot.kb_srvm
#' @exportS3Method ggplot2::autoplot
autoplot.kb_kbr_path <- function(object, columns = NULL, level = 0.9, ...) {
  check_no_dots(...)
  object <- migrate_fit(object)
  need_package("ggplot2", "`autoplot()`")
  bands <- path_bands(object, check_number(level, 0, 1, open = TRUE))
  names <- colnames(bands$centre)
  columns <- path_columns(columns, names, rlang::current_env())
  lines <- do.call(rbind, lapply(columns, function(column) {
    j <- match(column, names)
    band <- path_column(bands, j, NULL)
    data.frame(time = seq_along(band$centre), state = column, band)
  }))
  lines$state <- factor(lines$state, columns)
  gg_start(lines, x = .data$time, y = .data$centre) +
    ggplot2::geom_ribbon(
      ggplot2::aes(ymin = .data$lower, ymax = .data$upper),
      fill = kb_colour("sky"), alpha = 0.5
    ) +
    ggplot2::geom_line(colour = kb_colour("blue")) +
    ggplot2::facet_wrap("state", ncol = 1, scales = "free_y") +
    ggplot2::labs(y = NULL)
}
