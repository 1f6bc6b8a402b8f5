# print() and plot() of partial dependence.

#' @rdname partial_dependence
#' @export
print.kb_partial_dependence <- function(x, digits = 3, ...) {
  check_no_dots(...)
  plain <- as.data.frame(unclass(x))
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
  check_plot_dots(list(...))
  variables <- dependence_variables(x)
  numeric <- vapply(unclass(x)[variables], is.numeric, NA)
  if (length(variables) == 1) {
    if (numeric) draw_dependence(x, ...) else draw_levels(x, ...)
  } else if (all(numeric)) {
    draw_surface(x, ...)
  } else {
    draw_groups(x, variables[order(!numeric)], ...)
  }
  invisible(x)
}

#' @noRd
dependence_variables <- function(x) {
  setdiff(names(x), c("mean", "lower", "upper"))
}

#' @noRd
draw_dependence <- function(x, ...) {
  name <- dependence_variables(x)
  x <- x[order(x[[name]]), ]
  base_plot(list(
    x = x[[name]], y = x$mean, type = "n", xlab = name,
    ylab = attr(x, "outcome"), ylim = range(x$lower, x$upper)
  ), ...)
  draw_band(x[[name]], cbind(lwr = x$lower, upr = x$upper),
    kb_colour("sky", 0.6)
  )
  graphics::lines(x[[name]], x$mean, lwd = 2, col = kb_colour("blue"))
}

#' @noRd
draw_levels <- function(x, ...) {
  at <- seq_len(nrow(x))
  base_plot(list(
    x = at, y = x$mean, type = "n", xlab = dependence_variables(x),
    ylab = attr(x, "outcome"), ylim = range(x$lower, x$upper), xaxt = "n",
    xlim = range(at) + c(-0.6, 0.6)
  ), ...)
  graphics::segments(at, x$lower, at, x$upper,
    lwd = 6, lend = 1, col = kb_colour("sky", 0.6)
  )
  graphics::points(at, x$mean, pch = 16, col = kb_colour("blue"))
  dots <- list(...)
  if (is.null(dots$xaxt) && !isFALSE(dots$axes)) {
    variable_axis(at, as.character(x[[dependence_variables(x)]]))
  }
}

#' The mean in colours, with contours
#' @noRd
draw_surface <- function(x, ...) {
  variables <- dependence_variables(x)
  x <- x[order(x[[variables[[2]]]], x[[variables[[1]]]]), ]
  across <- unique(x[[variables[[1]]]])
  up <- unique(x[[variables[[2]]]])
  mean <- matrix(x$mean, length(across))
  base_plot(list(
    x = range(across), y = range(up), type = "n", xlab = variables[[1]],
    ylab = variables[[2]], main = attr(x, "outcome"), xaxs = "i", yaxs = "i"
  ), ...)
  colours <- grDevices::colorRampPalette(
    c("white", kb_colour("sky"), kb_colour("blue"))
  )(64)
  if (length(across) > 1 && length(up) > 1) {
    graphics::image(across, up, mean, col = colours, add = TRUE)
    if (diff(range(mean)) > 0) {
      graphics::contour(across, up, mean,
        add = TRUE, labcex = 0.8, col = kb_colour("grey")
      )
    }
  }
  graphics::box(bty = "l")
}

#' A curve for each level of a factor; levels alone as one axis
#' @noRd
draw_groups <- function(x, variables, ...) {
  along <- x[[variables[[1]]]]
  groups <- split(seq_len(nrow(x)), x[[variables[[2]]]], drop = TRUE)
  at <- if (is.numeric(along)) along else as.integer(along)
  colours <- rep_len(c("blue", "orange", "green", "sky", "grey"),
    length(groups)
  )
  base_plot(list(
    x = at, y = x$mean, type = "n", xlab = variables[[1]],
    ylab = attr(x, "outcome"), ylim = range(x$lower, x$upper),
    xaxt = if (is.numeric(along)) "s" else "n"
  ), ...)
  for (i in seq_along(groups)) {
    rows <- groups[[i]][order(at[groups[[i]]])]
    draw_band(at[rows], cbind(lwr = x$lower[rows], upr = x$upper[rows]),
      kb_colour(colours[[i]], 0.2)
    )
    graphics::lines(at[rows], x$mean[rows],
      type = "o", pch = 16, cex = 0.6, lwd = 2, col = kb_colour(colours[[i]])
    )
  }
  if (!is.numeric(along)) variable_axis(seq_along(levels(along)), levels(along))
  key_above(stats::setNames(
    lapply(colours, function(colour) list(lwd = 2, col = kb_colour(colour))),
    paste(variables[[2]], names(groups))
  ))
}
