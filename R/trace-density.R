# Traces of chains with the densities of their draws beside them, by base
# graphics and by ggplot2.

#' @srrstats {BS6.5} `plot(type = "trace_density")` and `autoplot()`.
#' @noRd
NULL

#' The draws of each chain as a distribution
#'
#' Of whole numbers the share of each, of others a kernel density estimate.
#' @param values Matrix, a column a chain.
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

#' Counts; not the many values of a large one
#' @noRd
are_whole <- function(values) {
  all(values == round(values)) && diff(range(values)) <= 1000
}

#' Two rows of a trace and its density, which share their vertical axis
#'
#' In a page that the caller has divided, the next four fields.
#' @param labels Named by the quantities of `traced()`.
#' @noRd
plot_trace_density <- function(x, labels, ...) {
  if (all(graphics::par("mfrow") == 1)) {
    old <- graphics::par("mar", "mfrow")
    on.exit(graphics::par(old))
    graphics::layout(matrix(1:4, 2, byrow = TRUE), widths = c(3, 1))
    graphics::par(mar = c(4.2, 4.1, 1.6, 0.6))
  }
  chains <- traced(x, names(labels))
  title <- list(...)$main
  for (name in names(labels)) {
    curves <- chain_density(chains[[name]])
    ylim <- range(chains[[name]], curves$value)
    dots <- utils::modifyList(list(...), list(main = title))
    limits <- if (is.null(dots$ylim)) list(ylim = ylim)
    do.call(panel_trace, c(
      list(x, chains[[name]], labels[[name]]), limits, dots
    ))
    known <- c("main", "sub", "xlab", "ylab", "xlim")
    do.call(panel_density, c(
      list(curves, if (are_whole(chains[[name]])) "share" else "density"),
      limits, dots[setdiff(names(dots), known)]
    ))
    title <- NULL
  }
}

#' @noRd
chain_colours <- function(n) class_colours(n, alpha = 0.7)

#' @noRd
panel_trace <- function(x, values, label, ...) {
  at <- x$control$thin * seq_len(nrow(values))
  base_plot(list(
    x = at, y = values[, 1], type = "n", ylab = label, ylim = range(values),
    xlab = "iteration after the warmup"
  ), ...)
  graphics::matlines(at, values,
    lty = 1, lwd = 0.7, col = chain_colours(ncol(values))
  )
}

#' @noRd
panel_density <- function(curves, label, ...) {
  n <- max(curves$chain)
  base_plot(list(
    x = c(0, max(curves$density)), y = range(curves$value), type = "n",
    xlab = label, ylab = ""
  ), ...)
  for (chain in seq_len(n)) {
    one <- curves[curves$chain == chain, ]
    graphics::lines(one$density, one$value,
      lwd = 1.5, col = chain_colours(n)[[chain]]
    )
  }
}

#' Densities of all quantities share an axis: each is relative to its highest
#' @noRd
gg_trace_density <- function(x, labels) {
  chains <- traced(x, names(labels))
  n <- ncol(chains[[1]])
  beside <- c("iteration after the warmup", "density, highest = 1")
  part <- function(panel, name, data) {
    data.frame(data,
      panel = factor(panel, beside), quantity = factor(labels[[name]], labels)
    )
  }
  traces <- do.call(rbind, lapply(names(labels), function(name) {
    values <- chains[[name]]
    part(beside[[1]], name, data.frame(
      chain = as.vector(col(values)), value = as.vector(values),
      at = x$control$thin * as.vector(row(values))
    ))
  }))
  curves <- do.call(rbind, lapply(names(labels), function(name) {
    curve <- chain_density(chains[[name]])
    curve$at <- curve$density / max(curve$density)
    curve$density <- NULL
    part(beside[[2]], name, curve)
  }))
  gg_start(traces, x = .data$at, y = .data$value) +
    ggplot2::aes(colour = factor(.data$chain)) +
    ggplot2::geom_line(linewidth = 0.3, alpha = 0.8) +
    ggplot2::geom_path(data = curves) +
    ggplot2::scale_colour_manual("chain", values = class_colours(n)) +
    ggplot2::facet_grid(
      ggplot2::vars(.data$quantity), ggplot2::vars(.data$panel),
      scales = "free", switch = "both"
    ) +
    ggplot2::theme(
      strip.placement = "outside",
      strip.background = ggplot2::element_blank()
    ) +
    ggplot2::labs(x = NULL, y = NULL)
}
