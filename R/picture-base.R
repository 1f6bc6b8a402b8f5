# Pictures by base graphics: one function per kind of layer, limits, axes and
# the key.

#' Draw a picture
#'
#' In a page that the caller has divided, panels take the next fields.
#' @param ... Titles, limits and axes of the caller, see `check_plot_dots()`.
#' @noRd
draw_picture <- function(picture, ...) {
  panels <- picture$panels
  if (length(panels) > 1 && all(graphics::par("mfrow") == 1)) {
    old <- graphics::par("mar", "mfrow")
    on.exit(graphics::par(old))
    columns <- picture$columns
    rows <- ceiling(length(panels) / columns)
    graphics::layout(
      matrix(seq_len(rows * columns), rows, byrow = TRUE),
      widths = if (is.null(picture$strips)) rep(1, columns) else c(3, 1)
    )
    graphics::par(mar = c(4.2, 4.1, 1.6, if (columns > 1) 0.6 else 1))
  }
  dots <- list(...)
  for (panel in panels) {
    do.call(draw_panel, c(
      list(panel), dots[setdiff(names(dots), panel$shared)]
    ))
  }
  invisible(picture$value)
}

#' @noRd
draw_panel <- function(panel, ...) {
  dots <- list(...)
  limits <- dots$ylim
  if (panel$root) {
    if (is.null(limits)) limits <- panel_limits(panel, "y")
    dots$ylim <- sqrt(pmax(limits, 0))
    panel <- root_panel(panel)
  }
  do.call(base_plot, c(list(panel_defaults(panel)), dots))
  for (layer in panel$layers) draw_layer(layer)
  if (!isFALSE(dots$axes)) draw_axes(panel, limits, dots)
  if (panel$tight) graphics::box(bty = "l")
  if (panel$key) key_above(base_key(panel))
}

#' Arguments of plot() for an empty panel
#' @noRd
panel_defaults <- function(panel) {
  xlim <- panel_limits(panel, "x")
  ylim <- panel_limits(panel, "y")
  c(
    list(
      x = xlim, y = ylim, type = "n", xlab = panel$xlab, ylab = panel$ylab,
      xlim = xlim, ylim = ylim, log = panel$log
    ),
    if (panel$tight) list(xaxs = "i", yaxs = "i"),
    if (!is.null(panel$ticks)) list(xaxt = "n"),
    if (panel$root) list(yaxt = "n")
  )
}

#' plot() with defaults that the caller's `...` replace
#' @noRd
base_plot <- function(defaults, ...) {
  given <- list(...)
  refuse_infinite_plot(defaults, given)
  limits <- if (is.null(given$ylim)) defaults$ylim else given$ylim
  # Long labels would run into the title of their axis.
  las <- if (max(nchar(trimws(format(pretty(limits))))) > 4) 0 else 1
  defaults <- c(defaults, list(las = las, bty = "l", mgp = c(3, 0.7, 0)))
  do.call(
    graphics::plot,
    c(defaults[setdiff(names(defaults), names(given))], given)
  )
}

#' @noRd
refuse_infinite_plot <- function(defaults, given) {
  finite <- vapply(c("xlim", "ylim"), function(axis) {
    limits <- if (is.null(given[[axis]])) defaults[[axis]] else given[[axis]]
    # The width counts, too.
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

#' One call per group, with its look
#' @noRd
draw_layer <- function(layer) {
  draw <- base_kinds[[layer$kind]]
  if (is.null(layer$by) || layer$kind == "tiles") {
    return(draw(layer$data, layer$look, layer$by))
  }
  by <- present_groups(layer)
  for (i in seq_along(by$levels)) {
    rows <- as.character(layer$data$group) == by$levels[[i]]
    draw(layer$data[rows, , drop = FALSE], group_look(layer, by, i))
  }
}

# How each kind of layer is drawn: functions of its data, its look and, for
# tiles, its groups.
base_kinds <- list(
  lines = function(d, look, ...) {
    for (one in if (is.null(d$line)) list(d) else split(d, d$line)) {
      graphics::lines(one$x, one$y,
        # A line needs two points: one is drawn as a point.
        type = if (nrow(one) == 1) "p" else "l", lwd = look$lwd,
        lty = look$lty, col = paint(look$colour, look$alpha)
      )
    }
  },
  steps = function(d, look, ...) {
    graphics::lines(d$x, d$y,
      type = "s", lwd = look$lwd, lty = look$lty, col = paint(look$colour)
    )
  },
  ribbon = function(d, look, ...) {
    # Where the band is not known, it has a gap.
    known <- !is.na(d$ymin + d$ymax)
    for (one in split(d[known, ], cumsum(!known)[known])) {
      graphics::polygon(c(one$x, rev(one$x)), c(one$ymin, rev(one$ymax)),
        col = paint(look$colour, look$alpha), border = NA
      )
    }
  },
  area = function(d, look, ...) {
    height <- graphics::grconvertY(c(0, d$height, 0), "npc", "user")
    graphics::polygon(c(d$x[[1]], d$x, d$x[[nrow(d)]]), height,
      col = paint(look$colour, look$alpha), border = NA
    )
  },
  points = function(d, look, ...) {
    graphics::points(d$x, d$y,
      pch = look$shape, cex = if (is.null(d$size)) look$size else d$size,
      col = paint(look$colour, look$alpha), bg = look$fill,
      lwd = look$lwd
    )
  },
  ranges = function(d, look, ...) {
    graphics::segments(d$x, d$ymin, d$x, d$ymax,
      lwd = look$lwd, lend = 1, col = paint(look$colour, look$alpha)
    )
  },
  spans = function(d, look, ...) {
    graphics::segments(d$xmin, d$y, d$xmax, d$y,
      lwd = look$lwd, lend = 1, xpd = NA, col = paint(look$colour, look$alpha)
    )
  },
  bars = function(d, look, ...) {
    graphics::rect(d$x - 0.3, 0, d$x + 0.3, d$y,
      col = paint(look$colour), border = NA
    )
  },
  boxes = function(d, look, ...) {
    stats <- t(d[c("ymin", "lower", "middle", "upper", "ymax")])
    n <- nrow(d)
    graphics::bxp(
      list(
        stats = stats, n = rep(1, n), out = numeric(), group = numeric(),
        names = rep("", n)
      ),
      at = d$x, add = TRUE, axes = FALSE, boxwex = 0.6, whisklty = 1,
      boxfill = look$fill, border = paint(look$colour), medlwd = 2,
      staplewex = 0.4
    )
  },
  rules = function(d, look, ...) {
    graphics::abline(
      a = if (!is.null(d$slope)) 0, b = d$slope, h = d$y, v = d$x,
      lty = look$lty, col = paint(look$colour)
    )
  },
  rug = function(d, look, ...) {
    height <- if (is.null(d$height)) 0.03 else d$height
    top <- identical(look$side, "top")
    ends <- lapply(list(0, height), function(h) {
      graphics::grconvertY(if (top) 1 - h else h, "npc", "user")
    })
    graphics::segments(d$x, ends[[1]], d$x, ends[[2]],
      lwd = look$lwd, lend = 1, col = paint(look$colour)
    )
  },
  tiles = function(d, look, by) {
    across <- sort(unique(d$x))
    up <- sort(unique(d$y))
    cells <- matrix(NA_character_, length(across), length(up))
    cells[cbind(match(d$x, across), match(d$y, up))] <-
      tile_colours(d, look, by)
    colours <- unique(as.vector(cells))
    index <- matrix(match(cells, colours), length(across))
    graphics::image(across, up, index,
      zlim = c(1, max(2, length(colours))), add = TRUE,
      col = c(colours, if (length(colours) == 1) "white"),
      useRaster = evenly_apart(across) && evenly_apart(up)
    )
  },
  contours = function(d, look, ...) {
    across <- sort(unique(d$x))
    up <- sort(unique(d$y))
    z <- matrix(NA_real_, length(across), length(up))
    z[cbind(match(d$x, across), match(d$y, up))] <- d$z
    graphics::contour(across, up, z,
      levels = look$levels, add = TRUE, drawlabels = isTRUE(look$labels),
      labcex = 0.8, lwd = look$lwd, lty = look$lty, col = paint(look$colour)
    )
  },
  text = function(d, look, ...) {
    graphics::text(d$x, d$y, d$text, font = 2, col = paint(look$colour))
  }
)

#' @noRd
tile_colours <- function(d, look, by) {
  if (is.null(by)) {
    n <- length(look$palette)
    share <- (d$z - look$limits[[1]]) / max(diff(look$limits), 1e-300)
    return(look$palette[1 + round(share * (n - 1))])
  }
  rgb <- t(grDevices::col2rgb(by$colours[match(d$group, by$levels)]))
  rgb <- 255 - d$alpha * (255 - rgb)
  grDevices::rgb(rgb[, 1], rgb[, 2], rgb[, 3], maxColorValue = 255)
}

#' @noRd
evenly_apart <- function(at) {
  length(at) > 1 && diff(range(diff(at))) < 1e-6 * mean(diff(at))
}

# Axes -------------------------------------------------------------------------

#' Those that plot() has left out because the panel has ticks of its own
#' @param limits Of y, before the root.
#' @noRd
draw_axes <- function(panel, limits, dots) {
  if (panel$root && is.null(dots$yaxt)) {
    ticks <- root_ticks(limits)
    graphics::axis(2, sqrt(ticks), ticks, las = 1, mgp = c(3, 0.7, 0))
  }
  if (is.null(panel$ticks) || !is.null(dots$xaxt)) {
    return(invisible())
  }
  if (identical(panel$ticks, "whole")) {
    xlim <- if (is.null(dots$xlim)) panel_limits(panel, "x") else dots$xlim
    graphics::axis(1, whole_ticks(xlim), mgp = c(3, 0.7, 0))
  } else {
    variable_axis(seq_along(panel$ticks), panel$ticks)
  }
}

#' @noRd
whole_ticks <- function(limits) {
  ticks <- pretty(limits)
  ticks <- unique(round(ticks))
  ticks[ticks >= limits[[1]] & ticks <= limits[[2]]]
}

#' Names; upright where they would run into each other
#' @noRd
variable_axis <- function(at, names) {
  names <- ifelse(nchar(names) > 12, paste0(substr(names, 1, 10), ".."), names)
  room <- graphics::par("pin")[[1]] / length(at)
  upright <- any(graphics::strwidth(names, "inches") > 0.9 * room)
  graphics::axis(1, at, names,
    las = if (upright) 2 else 1, mgp = c(3, if (upright) 0.5 else 0.7, 0),
    cex.axis = if (upright) 0.8 else 1
  )
}

#' @noRd
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

#' Ticks that are round numbers and evenly apart after the root
#' @noRd
root_ticks <- function(limits) {
  roots <- seq(sqrt(max(limits[[1]], 0)), sqrt(limits[[2]]), length.out = 6)
  unique(signif(roots^2, 1))
}

# Key --------------------------------------------------------------------------

#' The entries of `key_above()`; before groups, or colours, their name
#' @noRd
base_key <- function(panel) {
  out <- list()
  title <- NULL
  for (entry in c(panel_key(panel), colour_entries(panel))) {
    if (!is.null(entry$title) && !identical(entry$title, title)) {
      out[[length(out) + 1]] <- list()
      names(out)[length(out)] <- paste0(entry$title, ":")
    }
    title <- entry$title
    marks <- lapply(entry$marks, function(mark) base_marks[[mark$kind]](mark))
    out[[length(out) + 1]] <- Reduce(utils::modifyList, marks)
    names(out)[length(out)] <- entry$label
  }
  out
}

#' Numbers along the palette of tiles
#' @noRd
colour_entries <- function(panel) {
  tiles <- Filter(function(layer) !is.null(layer$look$palette), panel$layers)
  unlist(lapply(tiles, function(layer) {
    limits <- layer$look$limits
    at <- pretty(limits, 4)
    at <- at[at >= limits[[1]] & at <= limits[[2]]]
    colours <- tile_colours(data.frame(z = at), layer$look, NULL)
    Map(function(at, colour) list(
      label = at, title = layer$label,
      marks = list(list(kind = "tiles", colour = colour, alpha = 1))
    ), format(at, trim = TRUE), colours)
  }), recursive = FALSE, use.names = FALSE)
}

# How the key shows each kind of layer: arguments of graphics::legend().
base_marks <- local({
  line <- function(m) {
    list(col = paint(m$colour, m$alpha), lwd = m$lwd, lty = m$lty)
  }
  thick <- function(m) list(col = paint(m$colour, m$alpha), lwd = 8)
  square <- function(m) {
    list(pch = 22, pt.bg = paint(m$colour), col = "grey", pt.cex = 1.6)
  }
  points <- function(m) {
    c(
      list(pch = m$shape, col = paint(m$colour)),
      if (!is.null(m$fill)) list(pt.bg = m$fill)
    )
  }
  list(
    lines = line, steps = line, ranges = line, rules = line, rug = line,
    contours = line, spans = line, ribbon = thick, area = thick,
    bars = square, tiles = square, text = square, points = points,
    boxes = function(m) list(pch = 22, col = paint(m$colour), pt.bg = m$fill)
  )
})

#' A legend in one line above the plot, where it covers no data
#'
#' In a narrow panel it is smaller, so as not to run into the next one.
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

#' One entry that begins at a fraction of the plot's width; its own width
#' @noRd
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

#' @noRd
key_widths <- function(entries, cex) {
  vapply(seq_along(entries), function(i) {
    key_entry(entries[i], 0, cex, plot = FALSE)
  }, 1)
}
