# Plots with base graphics: one function per kind of layer, limits, axes and the
# legend.

#' Draw a picture
#'
#' On a page divided by the caller, panels use the next fields.
#' @param .object The value of `plot()`, unless the picture has its own.
#' @param ... Titles, limits and axes of the caller, see `check_plot_dots()`.
#' @noRd
draw_picture <- function(.picture, .object = NULL, ...) {
  dots <- list(...)
  # Before the picture, which is a promise, is evaluated.
  check_plot_dots(dots)
  panels <- .picture$panels
  if (length(panels) > 1 && all(graphics::par("mfrow") == 1)) {
    old <- graphics::par("mar", "mfrow")
    on.exit(graphics::par(old))
    columns <- .picture$columns
    rows <- ceiling(length(panels) / columns)
    graphics::layout(
      matrix(seq_len(rows * columns), rows, byrow = TRUE),
      widths = if (is.null(.picture$strips)) rep(1, columns) else c(3, 1)
    )
    graphics::par(mar = c(4.2, 4.1, 1.6, if (columns > 1) 0.6 else 1))
  }
  for (panel in panels) {
    draw_panel(panel, dots[setdiff(names(dots), panel$shared)])
  }
  invisible(if (is.null(.picture$value)) .object else .picture$value)
}

#' @param dots Arguments of the caller.
#' @noRd
draw_panel <- function(panel, dots) {
  limits <- dots$ylim
  if (panel$root) {
    if (is.null(limits)) limits <- panel_limits(panel, "y")
    dots$ylim <- sqrt(pmax(limits, 0))
    panel <- root_panel(panel)
  }
  open_panel(panel, dots)
  for (layer in panel$layers) draw_layer(layer)
  if (!isFALSE(dots$axes)) draw_axes(panel, limits, dots)
  if (panel$tight) graphics::box(bty = "l")
  if (panel$key) key_above(base_key(panel))
}

# An empty panel; arguments of the caller replace its settings
open_panel <- function(panel, dots) {
  xlim <- panel_limits(panel, "x")
  ylim <- panel_limits(panel, "y")
  settings <- list(
    type = "n", xlab = panel$xlab, ylab = panel$ylab, xlim = xlim, ylim = ylim,
    log = panel$log, bty = "l", mgp = c(3, 0.7, 0)
  )
  if (panel$tight) settings[c("xaxs", "yaxs")] <- "i"
  if (!is.null(panel$ticks)) settings$xaxt <- "n"
  if (panel$root) settings$yaxt <- "n"
  settings[names(dots)] <- dots
  refuse_infinite_plot(settings)
  if (is.null(dots$las)) {
    # Long labels would run into the title of their axis.
    ticks <- trimws(format(pretty(settings$ylim)))
    settings$las <- if (max(nchar(ticks)) > 4) 0 else 1
  }
  do.call(graphics::plot, c(list(xlim, ylim), settings))
}

refuse_infinite_plot <- function(settings) {
  # The width must be finite, too.
  finite <- vapply(settings[c("xlim", "ylim")], function(limits) {
    !is.numeric(limits) || is.finite(diff(range(limits, na.rm = TRUE)))
  }, NA)
  if (!all(finite)) {
    kb_abort(c(
      "The {c('x', 'y')[!finite]} axis of the plot would not be finite.",
      i = "The data are too large for double precision: rescale them (or use
           {.code scale = TRUE})."
    ), "precision", call = NULL)
  }
}

# Layers -----------------------------------------------------------------------

draw_layer <- function(layer) {
  draw <- base_kinds[[layer$kind]]
  if (layer$kind == "tiles") {
    return(draw(layer$data, layer$look, tile_colours(layer)))
  }
  for (part in split_groups(layer)) {
    draw(part$data, part$look, paint(part$look$colour, part$look$alpha))
  }
}

# Functions that draw each kind of layer, of its data, its style and its colour.
base_kinds <- list(
  lines = function(d, look, col) {
    for (one in if (is.null(d$line)) list(d) else split(d, d$line)) {
      # A line needs two points: one is drawn as a point.
      type <- if (nrow(one) == 1) "p" else "l"
      graphics::lines(one$x, one$y, type,
        lwd = look$lwd, lty = look$lty, lend = 1, col = col
      )
    }
  },
  ribbon = function(d, look, col) {
    # The band has a gap where it is not known.
    known <- !is.na(d$ymin + d$ymax)
    for (one in split(d[known, ], cumsum(!known)[known])) {
      graphics::polygon(c(one$x, rev(one$x)), c(one$ymin, rev(one$ymax)),
        col = col, border = NA
      )
    }
  },
  points = function(d, look, col) {
    graphics::points(d$x, d$y,
      pch = look$shape, cex = if (is.null(d$size)) look$size else d$size,
      col = col, bg = look$fill, lwd = look$lwd
    )
  },
  ranges = function(d, look, col) {
    graphics::segments(d$x, d$ymin, d$x, d$ymax,
      lwd = look$lwd, lend = 1, col = col
    )
  },
  bars = function(d, look, col) {
    graphics::rect(d$x - 0.3, 0, d$x + 0.3, d$y, col = col, border = NA)
  },
  boxes = function(d, look, col) {
    box <- list(
      stats = t(d[c("ymin", "lower", "middle", "upper", "ymax")]),
      n = rep(1, nrow(d)), out = numeric(), group = numeric(),
      names = rep("", nrow(d))
    )
    graphics::bxp(box,
      at = d$x, add = TRUE, axes = FALSE, boxwex = 0.6, whisklty = 1,
      boxfill = look$fill, border = col, medlwd = 2, staplewex = 0.4
    )
  },
  rules = function(d, look, col) {
    graphics::abline(
      a = if (!is.null(d$slope)) 0, b = d$slope, h = d$y, v = d$x,
      lty = look$lty, col = col
    )
  },
  rug = function(d, look, col) {
    height <- if (is.null(d$height)) rep(0.03, nrow(d)) else d$height
    ends <- list(0 * height, height)
    if (identical(look$side, "top")) ends <- lapply(ends, function(e) 1 - e)
    ends <- lapply(ends, graphics::grconvertY, "npc", "user")
    graphics::segments(d$x, ends[[1]], d$x, ends[[2]],
      lwd = look$lwd, lend = 1, col = col
    )
  },
  tiles = function(d, look, col) {
    grid <- as_grid(d, match(col, unique(col)))
    graphics::image(grid$x, grid$y, grid$z,
      col = c(unique(col), "white"), add = TRUE,
      breaks = seq_len(max(grid$z) + 2) - 0.5,
      useRaster = evenly_apart(grid$x) && evenly_apart(grid$y)
    )
  },
  contours = function(d, look, col) {
    grid <- as_grid(d, d$z)
    graphics::contour(grid$x, grid$y, grid$z,
      levels = look$levels, add = TRUE, drawlabels = isTRUE(look$labels),
      labcex = 0.8, lwd = look$lwd, lty = look$lty, col = col
    )
  },
  text = function(d, look, col) {
    graphics::text(d$x, d$y, d$text, font = 2, col = col)
  }
)

# Values at points of a grid as a matrix, with both coordinates
as_grid <- function(d, z) {
  x <- sort(unique(d$x))
  y <- sort(unique(d$y))
  out <- matrix(NA_real_, length(x), length(y))
  out[cbind(match(d$x, x), match(d$y, y))] <- z
  list(x = x, y = y, z = out)
}

# The colour of each tile: along the palette, or of its group, paler for smaller
# `alpha`
tile_colours <- function(layer, z = layer$data$z) {
  look <- layer$look
  if (is.null(look$palette)) {
    by <- layer$by
    rgb <- grDevices::col2rgb(by$colours[match(layer$data$group, by$levels)])
    rgb <- 255 - layer$data$alpha * (255 - t(rgb))
    return(grDevices::rgb(rgb, maxColorValue = 255))
  }
  share <- (z - look$limits[[1]]) / max(diff(look$limits), 1e-300)
  look$palette[1 + round(share * (length(look$palette) - 1))]
}

evenly_apart <- function(at) {
  length(at) > 1 && diff(range(diff(at))) < 1e-6 * mean(diff(at))
}

# Axes -------------------------------------------------------------------------

#' Axes that plot() omitted because the panel has its own ticks
#' @param limits Of y, before the square root.
#' @noRd
draw_axes <- function(panel, limits, dots) {
  if (panel$root && is.null(dots$yaxt)) {
    ticks <- root_ticks(limits)
    graphics::axis(2, sqrt(ticks), ticks, las = 1, mgp = c(3, 0.7, 0))
  }
  ticks <- if (is.null(dots$xaxt)) panel$ticks
  if (identical(ticks, "whole")) {
    xlim <- if (is.null(dots$xlim)) panel_limits(panel, "x") else dots$xlim
    graphics::axis(1, whole_ticks(xlim), mgp = c(3, 0.7, 0))
  } else if (!is.null(ticks)) {
    variable_axis(seq_along(ticks), ticks)
  }
}

whole_ticks <- function(limits) {
  ticks <- unique(round(pretty(limits)))
  ticks[ticks >= limits[[1]] & ticks <= limits[[2]]]
}

# Names; vertical where they would overlap
variable_axis <- function(at, names) {
  names <- ifelse(nchar(names) > 12, paste0(substr(names, 1, 10), ".."), names)
  room <- graphics::par("pin")[[1]] / length(at)
  upright <- any(graphics::strwidth(names, "inches") > 0.9 * room)
  graphics::axis(1, at, names,
    las = if (upright) 2 else 1, mgp = c(3, if (upright) 0.5 else 0.7, 0),
    cex.axis = if (upright) 0.8 else 1
  )
}

root_panel <- function(panel) {
  values <- c("y", "ymin", "lower", "middle", "upper", "ymax")
  panel$layers <- lapply(panel$layers, function(layer) {
    known <- intersect(values, names(layer$data))
    layer$data[known] <- lapply(layer$data[known], function(v) sqrt(pmax(v, 0)))
    layer
  })
  if (!is.null(panel$ylim)) panel$ylim <- sqrt(pmax(panel$ylim, 0))
  panel
}

# Ticks at round numbers that are evenly spaced after the square root
root_ticks <- function(limits) {
  roots <- seq(sqrt(max(limits[[1]], 0)), sqrt(limits[[2]]), length.out = 6)
  unique(signif(roots^2, 1))
}

# Key --------------------------------------------------------------------------

# The entries of `key_above()`; the name of groups, or colours, comes first
base_key <- function(panel) {
  out <- list()
  title <- NULL
  for (entry in c(panel_key(panel), palette_key(panel))) {
    if (!is.null(entry$title) && !identical(entry$title, title)) {
      out <- c(out, stats::setNames(list(list()), paste0(entry$title, ":")))
    }
    title <- entry$title
    marks <- lapply(entry$marks, base_mark)
    out <- c(out, stats::setNames(
      list(Reduce(utils::modifyList, marks)), entry$label
    ))
  }
  out
}

# Numbers along the palette of tiles
palette_key <- function(panel) {
  tiles <- Filter(function(layer) !is.null(layer$look$palette), panel$layers)
  unlist(recursive = FALSE, lapply(tiles, function(layer) {
    limits <- layer$look$limits
    at <- pretty(limits, 4)
    at <- at[at >= limits[[1]] & at <= limits[[2]]]
    unname(Map(function(label, colour) list(
      label = label, title = layer$label,
      marks = list(list(kind = "tiles", colour = colour))
    ), format(at, trim = TRUE), tile_colours(layer, at)))
  }))
}

# The legend's mark for a kind of layer: arguments of graphics::legend()
base_mark <- function(mark) {
  col <- paint(mark$colour, if (mark$kind == "ribbon") mark$alpha else 1)
  out <- switch(mark$kind,
    ribbon = list(col = col, lwd = 8),
    bars = , text = list(pch = 15, col = col),
    tiles = list(pch = 22, col = paint("grey"), pt.bg = col, pt.cex = 1.3),
    boxes = list(pch = 22, col = col, pt.bg = mark$fill, pt.cex = 1.3),
    points = list(pch = mark$shape, col = col, pt.bg = mark$fill),
    list(col = col, lwd = max(mark$lwd, 1.5), lty = mark$lty)
  )
  Filter(Negate(is.null), out)
}

#' A legend in one line above the plot, where it covers no data
#'
#' In a narrow panel it is smaller, to avoid overlapping the next one.
#' @param entries Named: a list of arguments of [graphics::legend()] each.
#' @noRd
key_above <- function(entries) {
  if (length(entries) == 0) {
    return(invisible())
  }
  room <- graphics::grconvertX(1, "nfc", "npc")
  cex <- 0.8 * min(room / sum(key_widths(entries, 0.8)), 1)
  cex <- max(cex, 0.45)
  at <- cumsum(c(0, key_widths(entries, cex)))
  for (i in seq_along(entries)) key_entry(entries[i], at[[i]], cex)
}

# Draws one entry at a fraction of the plot's width; returns its width
key_entry <- function(entry, at, cex, ...) {
  box <- do.call(graphics::legend, c(
    list(
      x = graphics::grconvertX(at, "npc", "user"),
      y = graphics::grconvertY(1, "npc", "user"), legend = names(entry),
      bty = "n", cex = cex, xpd = NA, xjust = 0, yjust = 0, seg.len = 1.2,
      x.intersp = 0.6, ...
    ),
    entry[[1]]
  ))$rect
  box$w / diff(graphics::par("usr")[1:2])
}

key_widths <- function(entries, cex) {
  vapply(seq_along(entries), function(i) {
    key_entry(entries[i], 0, cex, plot = FALSE)
  }, 1)
}
