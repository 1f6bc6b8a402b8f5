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
    old <- graphics::par("mar", "oma", "mfrow", "cex")
    on.exit(graphics::par(old))
    draw_page(.picture, dots)
  } else {
    for (panel in panels) {
      draw_panel(panel, dots[setdiff(names(dots), panel$shared)])
    }
  }
  invisible(if (is.null(.picture$value)) .object else .picture$value)
}

# Pages of several panels ------------------------------------------------------

# Panels with the key, titles and labels that they share around all of them
draw_page <- function(picture, dots) {
  panels <- picture$panels
  common <- page_labels(panels, dots)
  key <- page_key(panels)
  open_page(picture, common, dots, !is.null(key))
  own <- dots[setdiff(names(dots), c("main", names(common)))]
  for (panel in panels) {
    panel[names(common)] <- ""
    if (!is.null(key)) panel$key <- FALSE
    draw_panel(panel, own[setdiff(names(own), panel$shared)])
  }
  page_titles(common, dots)
  if (!is.null(key)) {
    left <- graphics::par("omi")[[2]] + graphics::par("mai")[[2]]
    key_above(key, page = c(
      left, graphics::par("din")[[1]] - 0.05,
      graphics::par("din")[[2]] - graphics::par("omi")[[3]]
    ))
  }
}

# Labels of axes that all panels have; those of the caller come first
page_labels <- function(panels, dots) {
  out <- lapply(c(xlab = "xlab", ylab = "ylab"), function(axis) {
    if (is.null(common_label(panels, axis))) {
      return(NULL)
    }
    if (is.null(dots[[axis]])) common_label(panels, axis) else dots[[axis]]
  })
  Filter(Negate(is.null), out)
}

# The key of all panels that have one, or NULL where they differ
page_key <- function(panels) {
  keys <- lapply(Filter(function(panel) panel$key, panels), base_key)
  same <- vapply(keys, identical, NA, keys[[1]])
  if (all(same) && length(keys[[1]]) > 0) keys[[1]]
}

open_page <- function(picture, common, dots, has_key) {
  columns <- picture$columns
  rows <- ceiling(length(picture$panels) / columns)
  graphics::layout(
    matrix(seq_len(rows * columns), rows, byrow = TRUE),
    widths = if (is.null(picture$strips)) rep(1, columns) else c(3, 1)
  )
  widest <- max(vapply(picture$panels, function(panel) {
    label_lines(panel_limits(panel, "y"))
  }, 0))
  named <- vapply(picture$panels, function(p) !is.null(p$ticks), NA)
  graphics::par(
    cex = 0.83,
    oma = c(
      if (is.null(common$xlab) || common$xlab == "") 0 else 1.5,
      if (is.null(common$ylab)) 0 else 1.4,
      0.3 + 1.4 * has_key + 1.8 * !is.null(dots$main), 0.2
    ),
    mar = c(
      if (is.null(common$xlab)) 3.4 else if (any(named)) 3 else 2,
      1 + min(widest, 3) + 1.5 * is.null(common$ylab),
      if (has_key) 0.6 else 1.6, 0.8
    )
  )
}

# Titles and labels in the page's margins
page_titles <- function(common, dots) {
  style <- dots[grepl("^(cex|col|font)[.]|^family$", names(dots))]
  write <- function(line, ...) {
    do.call(graphics::title, c(list(..., outer = TRUE, line = line), style))
  }
  if (!is.null(common$xlab)) write(0.2, xlab = common$xlab)
  if (!is.null(common$ylab)) write(0.2, ylab = common$ylab)
  if (!is.null(dots$main)) {
    write(graphics::par("oma")[[3]] - 1.6, main = dots$main)
  }
}

# Panels -----------------------------------------------------------------------

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
  if (panel$key) key_above(base_key(panel), main = !is.null(dots$main))
}

# An empty panel; arguments of the caller replace its settings
open_panel <- function(panel, dots) {
  xlim <- panel_limits(panel, "x")
  ylim <- panel_limits(panel, "y")
  settings <- list(
    type = "n", xlim = xlim, ylim = ylim, log = panel$log, bty = "l",
    mgp = c(2.1, 0.6, 0)
  )
  if (panel$tight) settings[c("xaxs", "yaxs")] <- "i"
  if (!is.null(panel$ticks)) settings$xaxt <- "n"
  if (panel$root) settings$yaxt <- "n"
  settings[names(dots)] <- dots
  refuse_infinite_plot(settings)
  titles <- settings[intersect(names(settings), c("main", "sub"))]
  settings[c("main", "sub", "xlab", "ylab")] <- NULL
  ann <- !isFALSE(settings$ann)
  settings$ann <- FALSE
  if (is.null(dots$las)) settings$las <- 1
  wide <- label_lines(settings$ylim, settings$cex.axis)
  room <- graphics::par("mar")[[2]] - 1.1
  # Labels that would run into the title of their axis, or off the page, are
  # upright.
  needed <- wide + if (panel$ylab == "") -0.3 else 0.8
  if (is.null(dots$las) && needed > room) {
    settings$las <- 0
    wide <- 1
  }
  do.call(graphics::plot, c(list(xlim, ylim), settings))
  if (ann) panel_titles(panel, settings, titles, dots, min(wide + 1.3, room))
}

# About the width of the ticks' labels of y, in lines of the margin
label_lines <- function(limits, cex = NULL) {
  ticks <- trimws(format(pretty(limits)))
  narrow <- nchar(gsub("[^-.]", "", ticks))
  max(0.5 * nchar(ticks) - 0.2 * narrow) * if (is.null(cex)) 1 else cex
}

#' Titles as near to the axes as the ticks' labels allow
#' @param line Of the title of y.
#' @noRd
panel_titles <- function(panel, settings, titles, dots, line) {
  line <- if (is.null(dots$mgp)) c(settings$mgp[[1]], line) else dots$mgp[[1]]
  if (!is.null(panel$ticks) && long_names(panel$ticks)) line[[1]] <- 3
  style <- settings[grepl("^(cex|col|font)[.]|^family$", names(settings))]
  label <- function(name) {
    if (is.null(dots[[name]])) panel[[name]] else dots[[name]]
  }
  write <- function(...) do.call(graphics::title, c(list(...), style))
  write(xlab = label("xlab"), line = line[[1]])
  write(ylab = label("ylab"), line = line[[length(line)]])
  if (length(titles) > 0) do.call(write, titles)
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
    if (!is.null(part$look$fill)) part$look$fill <- ink(part$look$fill)
    draw(part$data, part$look, layer_ink(part$look))
  }
}

# The colour of a layer; over coloured tiles it does not depend on the page
layer_ink <- function(look, alpha = look$alpha) {
  own <- if (isTRUE(look$on_tiles)) paint else ink
  own(look$colour, alpha)
}

# A colour that is readable on the page: on a dark one dark colours are light,
# and white is that of the page
ink <- function(colour, alpha = 1) {
  page <- page_colour()
  colour <- paint(colour)
  if (lightness(page) > 50) {
    return(grDevices::adjustcolor(colour, alpha))
  }
  lab <- to_lab(colour)
  white <- lab[, 1] > 99.5
  lab[, 1] <- ifelse(lab[, 1] < 60, 100 - 0.6 * lab[, 1], lab[, 1])
  rgb <- grDevices::convertColor(lab, "Lab", "sRGB")
  out <- grDevices::rgb(pmin(pmax(rgb, 0), 1))
  out[white] <- page
  grDevices::adjustcolor(out, alpha)
}

page_colour <- function() {
  page <- graphics::par("bg")
  if (page %in% c("transparent", "NA")) "white" else page
}

to_lab <- function(colour) {
  rgb <- t(grDevices::col2rgb(colour)) / 255
  matrix(grDevices::convertColor(rgb, "sRGB", "Lab"), ncol = 3)
}

lightness <- function(colour) to_lab(colour)[, 1]

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
    half <- bar_width(diff(graphics::par("usr")[1:2])) / 2
    graphics::rect(d$x - half, 0, d$x + half, d$y, col = col, border = NA)
  },
  boxes = function(d, look, col) {
    box <- list(
      stats = t(d[c("ymin", "lower", "middle", "upper", "ymax")]),
      n = rep(1, nrow(d)), out = numeric(), group = numeric(),
      names = rep("", nrow(d))
    )
    graphics::bxp(box,
      at = d$x, add = TRUE, axes = FALSE, whisklty = 1,
      boxwex = bar_width(diff(graphics::par("usr")[1:2])),
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
      col = c(unique(col), page_colour()), add = TRUE,
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
    page <- as.vector(grDevices::col2rgb(page_colour()))
    share <- layer$data$alpha
    rgb <- share * t(rgb) + outer(1 - share, page)
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
    graphics::axis(2, sqrt(ticks), ticks, las = 1, mgp = c(3, 0.6, 0))
  }
  ticks <- if (is.null(dots$xaxt)) panel$ticks
  if (identical(ticks, "whole")) {
    xlim <- if (is.null(dots$xlim)) panel_limits(panel, "x") else dots$xlim
    graphics::axis(1, whole_ticks(xlim), mgp = c(3, 0.6, 0))
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
  names <- short_names(names)
  upright <- long_names(names, length(at))
  graphics::axis(1, at, names,
    las = if (upright) 2 else 1, mgp = c(3, if (upright) 0.5 else 0.6, 0),
    cex.axis = if (upright) 0.85 else 1, gap.axis = 0.2
  )
}

short_names <- function(names) {
  ifelse(nchar(names) > 12, paste0(substr(names, 1, 10), ".."), names)
}

# Would names overlap side by side?
long_names <- function(names, n = length(names)) {
  if (identical(names, "whole")) {
    return(FALSE)
  }
  room <- graphics::par("pin")[[1]] / n
  any(graphics::strwidth(short_names(names), "inches") > 0.9 * room)
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
  col <- layer_ink(mark, if (mark$kind == "ribbon") mark$alpha else 1)
  out <- switch(mark$kind,
    ribbon = list(pch = 15, col = col, pt.cex = 1.9),
    bars = , text = list(pch = 15, col = col, pt.cex = 1.4),
    tiles = list(pch = 22, col = ink("grey"), pt.bg = paint(mark$colour),
      pt.cex = 1.9
    ),
    boxes = list(pch = 22, col = col, pt.bg = ink(mark$fill), pt.cex = 1.4),
    points = list(
      pch = mark$shape, col = col,
      pt.bg = if (!is.null(mark$fill)) ink(mark$fill)
    ),
    list(col = col, lwd = max(mark$lwd, 1.5), lty = mark$lty)
  )
  Filter(Negate(is.null), out)
}

#' A legend above the plot, where it covers no data
#'
#' In as many lines as there is room for, and smaller if that is not enough.
#' @param entries Named: a list of arguments of [graphics::legend()] each.
#' @param page NULL for the panel, or of several panels the ends and the bottom
#'   of the legend in inches.
#' @param main Is there a title above?
#' @noRd
key_above <- function(entries, page = NULL, main = FALSE) {
  if (length(entries) == 0) {
    return(invisible())
  }
  place <- key_place(page, main)
  set <- key_rows(entries, place$room, place$lines)
  height <- 1.25 * set$cex * graphics::par("cin")[[2]] * graphics::par("cex") /
    graphics::par("pin")[[2]]
  for (i in seq_along(entries)) {
    up <- place$bottom + height * (max(set$row) - set$row[[i]])
    key_entry(entries[i], place$left + set$at[[i]], set$cex, up)
  }
}

# Where the legend is, in widths and heights of the panel, and its lines at most
key_place <- function(page, main) {
  if (is.null(page)) {
    lines <- (graphics::par("mar")[[3]] - 1.6 * main) / 1.1
    return(list(
      left = 0, bottom = 1, room = graphics::grconvertX(1, "nfc", "npc"),
      lines = max(floor(lines), 1)
    ))
  }
  ends <- graphics::grconvertX(page[1:2], "inches", "npc")
  list(
    left = ends[[1]], bottom = graphics::grconvertY(page[[3]], "inches", "npc"),
    room = diff(ends), lines = 1
  )
}

# The row and the left end of each entry, in at most so many rows
key_rows <- function(entries, room, most, cex = 0.85) {
  repeat {
    widths <- key_widths(entries, cex)
    at <- row <- numeric(length(entries))
    line <- 1
    end <- 0
    for (i in seq_along(entries)) {
      if (end > 0 && end + widths[[i]] > room) {
        line <- line + 1
        end <- 0
      }
      at[[i]] <- end
      row[[i]] <- line
      end <- end + widths[[i]]
    }
    if ((line <= most && all(at + widths <= room)) || cex < 0.5) {
      return(list(at = at, row = row, cex = cex))
    }
    cex <- cex - 0.05
  }
}

# Draws one entry at a fraction of the plot's width and height; returns its
# width
key_entry <- function(entry, at, cex, up = 1, ...) {
  box <- do.call(graphics::legend, c(
    list(
      x = graphics::grconvertX(at, "npc", "user"),
      y = graphics::grconvertY(up, "npc", "user"), legend = names(entry),
      bty = "n", cex = cex, xpd = NA, xjust = 0, yjust = 0, seg.len = 1.8,
      x.intersp = if (is.null(entry[[1]]$lwd)) 1.1 else 0.7, y.intersp = 0.6,
      ...
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
