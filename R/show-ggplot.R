# Plots with ggplot2: one function per kind of layer, scales, facets and the
# legend.

#' @importFrom rlang .data
NULL

#' The ggplot object of a picture
#' @param .object Not used; an argument of `draw_picture()`.
#' @param ... The dots of the method, which must be empty.
#' @noRd
gg_picture <- function(.picture, .object = NULL, ...) {
  # Before the picture, which is a promise, is evaluated.
  check_no_dots(..., .fn = rlang::caller_fn())
  need_package("ggplot2", "`autoplot()`")
  panels <- .picture$panels
  if (!is.null(.picture$strips)) panels <- relative_panels(panels)
  names <- panel_names(panels, .picture$strips)
  layers <- unlist(Map(placed_layers, panels, names), recursive = FALSE)
  ggplot2::ggplot() +
    ggplot2::theme_bw() +
    gg_theme() +
    lapply(layers, gg_layer) +
    gg_scales(layers) +
    gg_axes(panels) +
    gg_facets(.picture, panels) +
    gg_key(panels)
}

# Titles of legends as large as their labels
gg_theme <- function() {
  ggplot2::theme(
    panel.grid.minor = ggplot2::element_blank(),
    legend.title = ggplot2::element_text(size = ggplot2::rel(0.8)),
    legend.key.height = ggplot2::unit(1, "lines"),
    legend.spacing.x = ggplot2::unit(1.2, "lines")
  )
}

# Panels -----------------------------------------------------------------------

# The label that all panels have, or NULL
common_label <- function(panels, axis) {
  labels <- unique(vapply(panels, `[[`, "", axis))
  if (length(labels) == 1 && labels != "") labels
}

# The columns of data that give their panel; none for a single panel
panel_names <- function(panels, strips) {
  if (length(panels) == 1) {
    return(list(list()))
  }
  if (!is.null(strips)) {
    at <- expand.grid(column = strips$columns, row = strips$rows)
    return(lapply(seq_len(nrow(at)), function(i) as.list(at[i, ])))
  }
  axis <- if (is.null(common_label(panels, "ylab"))) "ylab" else "xlab"
  labels <- vapply(panels, `[[`, "", axis)
  lapply(labels, function(l) list(panel = factor(l, unique(labels))))
}

# Panels of a column share their axis: values of the second column, whose units
# differ, are relative to their maximum
relative_panels <- function(panels) {
  for (i in seq(2, length(panels), by = 2)) {
    highest <- panel_limits(panels[[i]], "x")[[2]]
    panels[[i]]$layers <- lapply(panels[[i]]$layers, function(layer) {
      layer$data$x <- layer$data$x / highest
      layer
    })
  }
  panels
}

# The layers of a panel, and the further range of its axes
placed_layers <- function(panel, name) {
  reach <- data.frame(
    x = panel_limits(panel, "x"), y = panel_limits(panel, "y")
  )
  layers <- c(panel$layers, list(layer("blank", reach)))
  lapply(layers, function(layer) {
    layer$data[names(name)] <- lapply(name, rep, nrow(layer$data))
    if (!is.null(layer$by)) {
      layer$data$group <- factor(layer$data$group, layer$by$levels)
    }
    layer$bottom <- reach$y[[1]]
    layer$height <- diff(reach$y)
    layer$width <- bar_width(1.1 * diff(reach$x))
    layer
  })
}

# Strips replace the labels of the axes
gg_facets <- function(picture, panels) {
  if (length(panels) == 1) {
    return(if (picture$apart) ggplot2::facet_wrap("group"))
  }
  wide <- is.null(common_label(panels, "xlab"))
  left <- is.null(common_label(panels, "ylab"))
  facets <- if (is.null(picture$strips)) {
    ggplot2::facet_wrap("panel",
      ncol = picture$columns, scales = if (wide) "free" else "free_y",
      strip.position = if (left) "left" else "bottom"
    )
  } else {
    ggplot2::facet_grid(
      ggplot2::vars(.data$row), ggplot2::vars(.data$column),
      scales = "free", switch = "both"
    )
  }
  list(facets, ggplot2::theme(
    strip.placement = "outside", strip.background = ggplot2::element_blank(),
    strip.text = ggplot2::element_text(size = ggplot2::rel(1))
  ))
}

# Layers -----------------------------------------------------------------------

# How each kind of layer is drawn: the geom, the columns of the data (named by
# aesthetics if these have other names), and the aesthetics of the style, the
# first of which varies between groups.
gg_kinds <- local({
  line <- c("colour", "linewidth", "linetype", "alpha")
  list(
    lines = list("path", c("x", "y"), line),
    ribbon = list("ribbon", c("x", "ymin", "ymax"), c("fill", "alpha")),
    points = list(
      "point", c("x", "y"), c("colour", "shape", "alpha", "fill", "size")
    ),
    ranges = list("linerange", c("x", "ymin", "ymax"), line),
    bars = list("col", c("x", "y"), c("fill", "width")),
    boxes = list(
      "boxplot",
      c("x", "ymin", "lower", "middle", "upper", "ymax", group = "x"),
      c("fill", "colour", "width", "stat")
    ),
    rules = list("hline", c(yintercept = "y"), line),
    uprights = list("vline", c(xintercept = "x"), line),
    slopes = list("abline", c("slope", "intercept"), line),
    rug = list("linerange", c("x", ymin = "edge", ymax = "end"), line),
    tiles = list("raster", c("x", "y"), "fill"),
    cells = list("rect", c("xmin", "xmax", "ymin", "ymax"), "fill"),
    contours = list("contour", c("x", "y", "z"), c(line, "breaks")),
    text = list("text", c("x", "y", label = "text"), "colour"),
    blank = list("blank", c("x", "y"), character())
  )
})

gg_layer <- function(layer) {
  layer <- gg_variant(layer)
  kind <- gg_kinds[[layer$kind]]
  columns <- kind[[2]]
  plain <- rlang::names2(columns) == ""
  names(columns)[plain] <- columns[plain]
  if (!is.null(layer$data$line)) columns[["group"]] <- "line"
  if (!is.null(layer$by)) {
    own <- c(
      kind[[3]][[1]], if (!is.null(layer$by$shapes)) "shape",
      if (has_dashes(layer)) "linetype"
    )
    columns[intersect(own, kind[[3]])] <- "group"
  }
  if (layer$kind %in% c("tiles", "cells")) {
    columns[[if (is.null(layer$by)) "fill" else "alpha"]] <-
      if (is.null(layer$by)) "z" else "alpha"
  }
  mapping <- lapply(columns, function(column) rlang::expr(.data[[!!column]]))
  geom <- getExportedValue("ggplot2", paste0("geom_", kind[[1]]))
  look <- gg_look(layer)[setdiff(kind[[3]], names(columns))]
  do.call(geom, c(
    list(ggplot2::aes(!!!mapping), layer$data), Filter(Negate(is.null), look)
  ))
}

# Kinds whose geom depends on the data
gg_variant <- function(layer) {
  d <- layer$data
  if (layer$kind == "rules") {
    if (!is.null(d$x)) layer$kind <- "uprights"
    if (!is.null(d$slope)) layer$kind <- "slopes"
    layer$data$intercept <- 0
  } else if (layer$kind == "lines" && length(unique(d$x)) == 1) {
    # A line needs two points.
    layer$kind <- "points"
  } else if (layer$kind == "tiles" &&
    !(evenly_apart(sort(unique(d$x))) && evenly_apart(sort(unique(d$y))))) {
    layer$kind <- "cells"
    layer$data[c("xmin", "xmax")] <- cell_edges(d$x)
    layer$data[c("ymin", "ymax")] <- cell_edges(d$y)
  } else if (layer$kind == "rug") {
    top <- identical(layer$look$side, "top")
    height <- if (is.null(d$height)) rep(0.03, nrow(d)) else d$height
    # Within the limits, which ticks would move.
    ends <- if (top) list(1, 1 - height) else list(0, height)
    ends <- lapply(ends, function(share) layer$bottom + share * layer$height)
    layer$data[c("edge", "end")] <- lapply(ends, rep_len, nrow(d))
  }
  layer
}

# The style in terms of ggplot2
gg_look <- function(layer) {
  look <- layer$look
  colour <- paint(look$colour)
  size <- if (is.null(layer$data$size)) look$size else layer$data$size
  list(
    colour = colour, fill = if (is.null(look$fill)) colour else look$fill,
    alpha = look$alpha, linewidth = 0.45 * look$lwd, linetype = look$lty,
    shape = look$shape, size = 2.4 * size, width = layer$width, stat = "identity",
    breaks = look$levels
  )
}

#' Cells extend half the way to the next
#' @return Data frame of lower and upper ends.
#' @noRd
cell_edges <- function(at) {
  centres <- sort(unique(at))
  half <- if (length(centres) > 1) diff(centres) / 2 else 0.5
  cell <- match(at, centres)
  data.frame(
    low = at - c(half[[1]], half)[cell],
    high = at + c(half, half[[length(half)]])[cell]
  )
}

# Scales and axes --------------------------------------------------------------

# Colours and symbols of the groups, and of tiles: a picture has one kind
gg_scales <- function(layers) {
  palette <- Filter(function(layer) !is.null(layer$look$palette), layers)
  layers <- Filter(function(layer) !is.null(layer$by), layers)
  kinds <- vapply(layers, `[[`, "", "kind")
  filled <- kinds %in% c("ribbon", "bars", "tiles")
  by <- if (length(layers) > 0) layers[[1]]$by
  keys <- vapply(layers, function(layer) layer$by$key, NA)
  # Thin lines would be too pale to distinguish.
  bold <- ggplot2::guide_legend(override.aes = c(
    list(alpha = 1), if ("lines" %in% kinds) list(linewidth = 0.8)
  ))
  scale <- function(aesthetic, values, guide = bold) {
    ggplot2::scale_discrete_manual(aesthetic,
      name = by$name, values = stats::setNames(values, by$levels),
      breaks = by$levels, guide = if (any(keys)) guide else "none"
    )
  }
  list(
    if (!all(filled)) scale("colour", by$colours),
    if (any(filled)) {
      scale("fill", by$colours, if (all(filled)) bold else "none")
    },
    if (!is.null(by$shapes)) scale("shape", by$shapes, "legend"),
    if (any(vapply(layers, has_dashes, NA))) {
      scale("linetype", by$ltys, "legend")
    },
    if ("tiles" %in% kinds) ggplot2::scale_alpha_identity(),
    if (length(palette) > 0) {
      look <- palette[[1]]$look
      ggplot2::scale_fill_gradientn(palette[[1]]$label,
        colours = look$palette, limits = look$limits
      )
    }
  )
}

gg_axes <- function(panels) {
  panel <- panels[[1]]
  ticks <- panel$ticks
  list(
    ggplot2::labs(
      x = common_label(panels, "xlab"), y = common_label(panels, "ylab")
    ),
    if (identical(ticks, "whole")) {
      ggplot2::scale_x_continuous(breaks = whole_ticks)
    } else if (!is.null(ticks)) {
      long <- sum(nchar(ticks)) > 60
      ggplot2::scale_x_continuous(
        breaks = seq_along(ticks), labels = ticks,
        guide = ggplot2::guide_axis(angle = if (long) 90)
      )
    },
    if (panel$log != "") ggplot2::scale_x_log10(),
    if (panel$log == "xy") ggplot2::scale_y_log10(),
    # Facets would share the root.
    if (panel$root && length(panels) == 1) ggplot2::scale_y_sqrt(),
    if (panel$tight) ggplot2::coord_cartesian(expand = FALSE),
    if (!is.null(panel$crop)) {
      ggplot2::coord_cartesian(ylim = panel_limits(panel, "y"))
    }
  )
}

# Key --------------------------------------------------------------------------

# The names of single layers, as a legend of their marks
#
# No aesthetic differs between the layers: the legend belongs to an empty layer,
# whose `stroke` is the number of the entry.
gg_key <- function(panels) {
  key <- unlist(lapply(panels, panel_key), recursive = FALSE)
  labels <- vapply(key, `[[`, "", "label")
  size <- sum(nchar(unique(labels)) + 5)
  place <- if (length(key) > 0 && size < 110) {
    ggplot2::theme(
      legend.position = "top", legend.justification = "left",
      legend.margin = ggplot2::margin(),
      # Two lines where one would be cut off in narrow pictures
      legend.box = if (size > 50) "vertical" else "horizontal",
      legend.box.just = "left", legend.spacing.y = ggplot2::unit(0.1, "lines")
    )
  }
  single <- !vapply(key, `[[`, NA, "group") & !duplicated(labels)
  if (!any(single)) {
    return(place)
  }
  labels <- labels[single]
  marks <- lapply(key[single], function(entry) entry$marks[[1]])
  glyph <- function(data, params, size) {
    gg_mark(marks[[round(100 * data$stroke)]], data, params, size)
  }
  list(
    ggplot2::geom_point(
      ggplot2::aes(.data$x, .data$y, stroke = .data$key),
      data.frame(x = NA_real_, y = NA_real_, key = factor(labels, labels)),
      na.rm = TRUE, key_glyph = glyph
    ),
    ggplot2::scale_discrete_manual("stroke",
      name = NULL, values = seq_along(labels) / 100, breaks = labels,
      guide = ggplot2::guide_legend(order = 9)
    ), place
  )
}

gg_mark <- function(mark, data, params, size) {
  look <- Filter(function(v) length(v) == 1, gg_look(list(look = mark)))
  look$size <- max(look$size, 1.5)
  data[names(look)] <- look
  data$stroke <- 0.5
  draw <- switch(mark$kind,
    ribbon = , bars = ggplot2::draw_key_rect,
    boxes = ggplot2::draw_key_boxplot,
    points = ggplot2::draw_key_point,
    ggplot2::draw_key_path
  )
  draw(data, params, size)
}
