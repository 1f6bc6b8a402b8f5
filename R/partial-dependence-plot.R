# print() and plot() of partial dependence.

#' @rdname partial_dependence
#' @export
print.kb_partial_dependence <- function(x, digits = 3, ...) {
  check_no_dots(...)
  plain <- as.data.frame(unclass(x), optional = TRUE)
  numbers <- c("mean", "lower", "upper")
  if (!all(numbers %in% names(x))) {
    # Columns were taken out of it.
    return(invisible(print(plain, digits = digits)))
  }
  cat(
    "Partial dependence", if (!is.null(attr(x, "outcome"))) {
      paste0(" of ", attr(x, "outcome"))
    }, intervals_words(x), "\n",
    sep = ""
  )
  plain[numbers] <- format_alike(plain[numbers], digits)
  print(plain, digits = digits, row.names = FALSE)
  invisible(x)
}

#' @rdname partial_dependence
#' @export
plot.kb_partial_dependence <- function(x, ...) {
  draw_picture(dependence_picture(x), x, ...)
}

#' @rdname autoplot.kb_srvm
#' @exportS3Method ggplot2::autoplot
autoplot.kb_partial_dependence <- autoplot_of(plot.kb_partial_dependence)

# A curve, or ranges of levels; a curve per level of a second variable; a
# surface over two numbers
dependence_picture <- function(x) {
  variables <- dependence_variables(x)
  outcome <- attr(x, "outcome")
  if (is.null(outcome)) outcome <- "mean"
  level <- attr(x, "level")
  x <- as.data.frame(unclass(x), optional = TRUE)
  numeric <- vapply(x[variables], is_measured, NA)
  # Along a numeric variable, if there is one.
  variables <- variables[order(!numeric)]
  if (length(variables) == 2 && all(numeric)) {
    return(surface_picture(x, variables, outcome))
  }
  x <- x[order(x[[variables[[1]]]]), ]
  if (!identical(variables[2], "state")) {
    return(new_picture(effect_panel(x, variables, outcome, level),
      apart = length(variables) == 2
    ))
  }
  # Each state has its own units.
  states <- split(x, x$state, drop = TRUE)
  new_picture(lapply(names(states), function(state) {
    effect_panel(states[[state]], variables[[1]], paste("mean", state), level)
  }))
}

dependence_variables <- function(x) {
  setdiff(names(x), c("mean", "lower", "upper"))
}

# The mean and its limits along a variable, in the colour of the level of a
# second one
effect_panel <- function(x, variables, ylab, level = NULL,
                         centre = "posterior mean") {
  at <- x[[variables[[1]]]]
  # Times are numbers on an axis.
  if (is_time(at)) at <- as.double(at)
  ticks <- if (!is.numeric(at)) shown_levels(unique(at))
  if (!is.null(ticks)) at <- match(at, unique(at))
  of <- if (length(variables) == 2) factor(x[[variables[[2]]]])
  if (!is.null(of)) levels(of) <- shown_levels(levels(of))
  by <- if (!is.null(of)) groups(variables[[2]], levels(of))
  # Levels beside each other.
  if (!is.null(ticks) && !is.null(of)) {
    at <- at + 0.5 * (as.integer(of) / (nlevels(of) + 1) - 0.5)
  }
  ends <- columns(x = at, ymin = x$lower, ymax = x$upper, group = of)
  panel(
    variables[[1]], ylab,
    layer(if (is.null(ticks)) "ribbon" else "ranges", ends,
      colour = "sky", alpha = if (is.null(by)) 0.6 else 0.25, lwd = 5, by = by,
      label = if (!is.null(level)) percent_label(level, "credible interval")
    ),
    layer(if (is.null(ticks)) "lines" else "points",
      columns(x = at, y = x$mean, group = of),
      lwd = if (is.null(ticks)) 2 else 1, size = 1, by = by,
      label = if (is.null(by)) centre
    ),
    ticks = ticks, xlim = if (!is.null(ticks)) c(0.4, length(ticks) + 0.6)
  )
}

# The mean in colours, with contours
surface_picture <- function(x, variables, outcome) {
  cells <- data.frame(
    x = as.double(x[[variables[[1]]]]), y = as.double(x[[variables[[2]]]]),
    z = x$mean
  )
  flat <- length(unique(cells$x)) == 1 || length(unique(cells$y)) == 1
  new_picture(panel(
    variables[[1]], variables[[2]],
    if (!flat) {
      surface_layer(cells, outcome, range(cells$z, na.rm = TRUE),
        c("white", kb_colour("sky"), kb_colour("blue"))
      )
    },
    if (!flat) {
      contour_layer(cells, colour = "#303030", labels = TRUE, on_tiles = TRUE)
    },
    xlim = range(cells$x), ylim = range(cells$y), tight = TRUE
  ))
}

#' Numbers over a grid in colours
#' @param ends Colours of the limits, and of the middle.
#' @noRd
surface_layer <- function(cells, label, limits, ends) {
  layer("tiles", cells,
    palette = grDevices::colorRampPalette(ends)(63), limits = limits,
    label = label
  )
}
