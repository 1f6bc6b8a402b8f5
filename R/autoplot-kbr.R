# Pictures of kernel Bayes' rule and its filters.

#' @rdname autoplot.kb_srvm
#' @exportS3Method ggplot2::autoplot
autoplot.kb_kbr <- function(object, newdata,
                            type = c("marginals", "joint", "weights"),
                            columns = NULL, level = 0.9, n = NULL, ...) {
  check_no_dots(...)
  object <- migrate_fit(object)
  need_package("ggplot2", "`autoplot()`")
  type <- check_choice(type, c("marginals", "joint", "weights"))
  asked <- asked_posterior(
    object, if (!missing(newdata)) newdata, type, columns,
    c(level = !missing(level), n = !is.null(n)), level, n, "autoplot.kb_srvm"
  )
  switch(type,
    marginals = gg_marginals(object, asked),
    joint = gg_joint(object, asked),
    weights = gg_weights(object, asked)
  )
}

#' @noRd
gg_marginals <- function(fit, asked) {
  of <- function(f, ...) {
    out <- do.call(rbind, lapply(
      asked$columns, f,
      fit = fit, w = asked$w, ...
    ))
    out$state <- factor(out$state, asked$columns)
    out
  }
  gg_start(of(marginal, n = asked$n), x = .data$at) +
    ggplot2::geom_area(
      ggplot2::aes(y = .data$prior),
      fill = kb_colour("grey"), alpha = 0.25, na.rm = TRUE
    ) +
    ggplot2::geom_line(
      ggplot2::aes(y = .data$posterior),
      colour = kb_colour("blue"), linewidth = 0.9
    ) +
    gg_summaries(of(marginal_summary, level = asked$level)) +
    ggplot2::facet_wrap("state", scales = "free") +
    ggplot2::labs(
      x = NULL, y = "density", caption = paste0(
        "grey: prior, blue: posterior, with its mean and ",
        format(100 * asked$level), "% interval"
      )
    )
}

#' @noRd
gg_joint <- function(fit, asked) {
  x <- fit$data$x[, asked$columns]
  drawn <- joint_density(x, asked$w, asked$n)
  shown <- spread_over(nrow(x), min(nrow(x), 2000))
  states <- data.frame(at_1 = x[shown, 1], at_2 = x[shown, 2])
  mean <- as.vector(asked$w %*% x)
  gg_start(drawn, x = .data$at_1, y = .data$at_2) +
    ggplot2::geom_point(
      data = states, colour = kb_colour("grey"), alpha = 0.3, size = 0.5
    ) +
    ggplot2::geom_contour(
      ggplot2::aes(z = .data$posterior),
      breaks = joint_levels(drawn$posterior), colour = kb_colour("blue")
    ) +
    ggplot2::geom_point(
      data = data.frame(at_1 = mean[[1]], at_2 = mean[[2]]),
      colour = kb_colour("orange"), size = 2
    ) +
    ggplot2::labs(x = asked$columns[[1]], y = asked$columns[[2]])
}

#' @noRd
gg_weights <- function(fit, asked) {
  bars <- data.frame(
    state = fit$data$x[, asked$columns], weight = as.vector(asked$w)
  )
  bars$negative <- bars$weight < 0
  gg_start(bars, x = .data$state) +
    ggplot2::geom_segment(ggplot2::aes(
      xend = .data$state, y = 0, yend = .data$weight, colour = .data$negative
    ), alpha = 0.6) +
    ggplot2::scale_colour_manual(
      values = c(`FALSE` = kb_colour("blue"), `TRUE` = kb_colour("orange")),
      guide = "none"
    ) +
    ggplot2::labs(x = asked$columns, y = "weight")
}

#' Means and intervals below the densities
#' @noRd
gg_summaries <- function(ends) {
  list(
    ggplot2::geom_segment(
      ggplot2::aes(x = .data$lower, xend = .data$upper, y = 0, yend = 0), ends,
      colour = kb_colour("sky"), linewidth = 2
    ),
    ggplot2::geom_point(
      ggplot2::aes(x = .data$mean, y = 0), ends,
      colour = kb_colour("blue")
    )
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
