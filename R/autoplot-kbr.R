# Pictures of kernel Bayes' rule and its filters.

#' @rdname autoplot.kb_srvm
#' @exportS3Method ggplot2::autoplot
autoplot.kb_kbr <- function(object, newdata, columns = NULL, level = 0.9,
                            n = 200, ...) {
  check_no_dots(...)
  need_package("ggplot2", "`autoplot()`")
  call <- rlang::current_env()
  level <- check_number(level, 0, 1, open = TRUE)
  if (missing(newdata)) newdata <- NULL
  w <- one_observation(object, newdata, call)
  columns <- state_columns(object, columns, 9, exactly = FALSE, call)
  of <- function(f, ...) {
    out <- do.call(rbind, lapply(columns, f, fit = object, w = w, ...))
    out$state <- factor(out$state, columns)
    out
  }
  gg_start(of(marginal, n = check_count(n, 10)), x = .data$at) +
    ggplot2::geom_area(
      ggplot2::aes(y = .data$prior),
      fill = kb_colour("grey"), alpha = 0.25, na.rm = TRUE
    ) +
    ggplot2::geom_line(
      ggplot2::aes(y = .data$posterior),
      colour = kb_colour("blue"), linewidth = 0.9
    ) +
    gg_summaries(of(marginal_summary, level = level)) +
    ggplot2::facet_wrap("state", scales = "free") +
    ggplot2::labs(
      x = NULL, y = "density", caption = paste0(
        "grey: prior, blue: posterior, with its mean and ",
        format(100 * level), "% interval"
      )
    )
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
