# ggplot2: the pictures of plot() as objects that can be changed, registered
# when that package is loaded. Here what all share, and functions of numbers.

#' Pictures by ggplot2
#'
#' Methods of [ggplot2::autoplot()]: what the base graphics of `plot()` show, as
#' objects to which scales, themes, facets and layers can be added. Colours are
#' those of Okabe and Ito, which colour-blind readers tell apart.
#'
#' @param object A fit of [srvm()], [bark()], [kgs()], [kbr()] or [tdsmc()], or
#'   what [kbr_filter()], [importance()], [partial_dependence()],
#'   [reject_curve()] and [label_noise()] return.
#' @param type The types of `plot()`, described in [plot.kb_srvm()],
#'   [plot.kb_bark()], [plot.kb_kgs()], [plot.kb_kbr()] and [plot.kb_tdsmc()].
#'   The first is the default. Of [importance()] as in its `plot()`, `NULL`
#'   included.
#' @param level Probability of intervals.
#' @param n Number of points of a curve, or along each side of a grid; `NULL`:
#'   as `plot()`. Of tables the number of lines shown.
#' @param variable,complement,newy See [plot.kb_kgs()].
#' @param newdata For `kbr()` fits one observation; for `kgs()` see
#'   [plot.kb_kgs()].
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
                             type = c(
                               "fit", "ess", "k", "evidence", "centres",
                               "trace", "kernels", "kernel_path",
                               "trace_density"
                             ), level = 0.9, n = NULL, ...) {
  check_no_dots(...)
  object <- migrate_fit(object)
  need_package("ggplot2", "`autoplot()`")
  type <- check_srvm_plot(object, type, "autoplot")
  refuse_ignored(type, "none", c(
    level = !missing(level), n = !is.null(n)
  ), srvm_plot_arguments(type), "autoplot.kb_srvm")
  switch(type,
    fit = gg_fit(object, level, n),
    ess = gg_ess(object),
    k = gg_k(object, srvm_prior_k(object), "centres"),
    evidence = gg_evidence(object),
    centres = if (has_dictionary(object)) {
      gg_dictionary_centres(object)
    } else {
      gg_centres(object)
    },
    trace_density = gg_trace_density(object, srvm_trace_labels),
    trace = if (inherits(object, "kb_srvm_mcmc")) {
      gg_chains(object, srvm_trace_labels)
    } else {
      gg_path(object)
    },
    kernels = gg_kernels(object),
    kernel_path = gg_kernel_path(object)
  )
}

#' @rdname autoplot.kb_srvm
#' @exportS3Method ggplot2::autoplot
autoplot.kb_bark <- function(object,
                             type = c(
                               "fit", "importance", "k", "centres", "trace",
                               "trace_density"
                             ), level = 0.9, n = NULL, ...) {
  check_no_dots(...)
  object <- migrate_fit(object)
  need_package("ggplot2", "`autoplot()`")
  type <- check_choice(type, bark_plot_types)
  refuse_ignored(type, "none", c(
    level = !missing(level), n = !is.null(n)
  ), bark_plot_arguments(object, type), "autoplot.kb_srvm")
  switch(type,
    fit = if (is_multinomial(object)) {
      gg_fields(object, n)
    } else {
      gg_fit(object, level, n)
    },
    importance = autoplot.kb_importance(importance(object, level = level)),
    k = gg_k(object, bark_prior_k(object), "kernels"),
    centres = gg_centres(object),
    trace = gg_chains(object, bark_trace_labels(object)),
    trace_density = gg_trace_density(object, bark_trace_labels(object))
  )
}

#' @noRd
gg_fit <- function(x, level, n) {
  level <- check_number(level, 0, 1, open = TRUE)
  n <- if (is.null(n)) 200 else check_count(n, 2)
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
    gg_classes(percent, 2) +
    ggplot2::labs(x = paste("fitted", name), y = paste("observed", name))
}

#' @noRd
gg_k <- function(x, prior, what) {
  posterior <- model_size(x)
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
#' @param labels Named by the quantities of `traced()`.
#' @noRd
gg_chains <- function(x, labels) {
  chains <- traced(x, names(labels))
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

#' Posterior probability of each row to be a centre
#' @noRd
gg_centres <- function(x) {
  used <- inclusion(x)
  single <- ncol(x$data$x) == 1
  used$at <- if (single) x$data$x[, 1] else used$row
  gg_start(used, x = .data$at) +
    ggplot2::geom_segment(
      ggplot2::aes(xend = .data$at, y = 0, yend = .data$probability),
      colour = kb_colour("blue")
    ) +
    ggplot2::labs(
      x = if (single) colnames(x$data$x) else "row",
      y = "probability to be a centre"
    )
}
