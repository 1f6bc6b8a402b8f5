# Pictures of the tables that importance(), partial_dependence(),
# reject_curve() and label_noise() return.

#' @rdname autoplot.kb_srvm
#' @exportS3Method ggplot2::autoplot
autoplot.kb_importance <- function(object, type = NULL, n = 30, ...) {
  check_no_dots(...)
  type <- check_importance_type(object, type)
  shown <- object[sort(most_important(object, check_count(n, 1))), ]
  shown$variable <- factor(shown$variable, shown$variable)
  label <- importance_label(object)
  shown <- as.data.frame(shown)
  plot <- gg_start(shown, x = .data$variable) + ggplot2::labs(x = NULL)
  if (type %in% c("effect", "inclusion")) {
    return(plot + gg_probability_bars(shown, type) +
      ggplot2::labs(y = importance_column_label(type)) + ggplot2::ylim(0, 1))
  }
  plot <- plot + gg_scales(shown, label)
  if (type == "both") {
    return(plot + gg_probability_bars(shown, "effect") +
      ggplot2::facet_wrap("panel",
        ncol = 1, scales = "free_y", strip.position = "left"
      ) +
      ggplot2::labs(y = NULL, caption = paste(
        "diamonds: means above, P(effect) of the prior below;",
        "orange: 2 Monte Carlo errors"
      )))
  }
  plot + ggplot2::labs(y = label) +
    (if (!by_permutation(object)) ggplot2::scale_y_sqrt())
}

#' Layers of boxes, means and their errors
#' @param x Lines of an importance(), as a data frame.
#' @param panel The facet that they are in.
#' @noRd
gg_scales <- function(x, panel) {
  x$panel <- factor(panel, c(panel, importance_column_label("effect")))
  lowest <- if (all(x$lower >= 0)) 0 else -Inf
  x[c("from", "to")] <- error_bars(x$mean, x$mc_se, lowest)
  list(
    ggplot2::geom_boxplot(
      ggplot2::aes(
        ymin = .data$lower, lower = .data$q25, middle = .data$median,
        upper = .data$q75, ymax = .data$upper
      ),
      x,
      stat = "identity", fill = kb_colour("sky"), colour = kb_colour("blue"),
      width = 0.6
    ),
    gg_errors(x),
    ggplot2::geom_point(
      ggplot2::aes(y = .data$mean), x,
      shape = 18, colour = kb_colour("orange"), size = 2
    ),
    ggplot2::labs(caption = paste(
      "boxes: quartiles and interval; diamonds: means;",
      "orange: 2 Monte Carlo errors"
    ))
  )
}

#' Layers of bars of probabilities, their errors and, of effects, the prior's
#' @noRd
gg_probability_bars <- function(x, what) {
  x$panel <- factor(importance_column_label(what))
  x$value <- x[[what]]
  x[c("from", "to")] <- error_bars(x$value, x[[paste0(what, "_se")]], 0, 1)
  effect <- what == "effect"
  list(
    ggplot2::geom_col(
      ggplot2::aes(y = .data$value), x,
      fill = kb_colour("blue"), width = 0.6
    ),
    gg_errors(x),
    if (effect) {
      ggplot2::geom_point(
        ggplot2::aes(y = .data$effect_prior), x,
        shape = 23, colour = kb_colour("grey"), fill = "white", size = 2
      )
    },
    ggplot2::labs(caption = paste0(
      "orange: 2 Monte Carlo errors",
      if (effect) "; white diamonds: P(effect) of the prior"
    ))
  )
}

#' Errors that are unknown have no line
#' @noRd
gg_errors <- function(x) {
  ggplot2::geom_linerange(
    ggplot2::aes(ymin = .data$from, ymax = .data$to),
    x[!is.na(x$from + x$to), ],
    colour = kb_colour("orange"), linewidth = 0.9
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
    # States have units of their own.
    free <- if (variables[[2]] == "state") "free_y" else "fixed"
    plot <- plot + ggplot2::facet_wrap(variables[[2]], scales = free)
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
