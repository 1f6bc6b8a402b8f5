# Pictures by ggplot2: one function per kind of layer, scales, facets and the
# key.

#' @importFrom rlang .data
NULL

#' The ggplot object of a picture
#' @noRd
gg_picture <- function(picture, call = rlang::caller_env()) {
  need_package("ggplot2", "`autoplot()`", call = call)
  panels <- picture$panels
  if (!is.null(picture$strips)) panels <- relative_panels(panels)
  layers <- unlist(
    Map(placed_layers, panels, panel_names(panels, picture$strips)),
    recursive = FALSE
  )
  ggplot2::ggplot() +
    ggplot2::theme_bw() +
    ggplot2::theme(panel.grid.minor = ggplot2::element_blank()) +
    lapply(joined_layers(layers), function(l) gg_kinds[[l$kind]](l)) +
    gg_group_scales(layers) +
    gg_axes(panels) +
    gg_facets(picture, panels) +
    gg_key(panels)
}

# Panels -----------------------------------------------------------------------

#' The label that all panels have, or NULL
#' @noRd
common_label <- function(panels, axis) {
  labels <- unique(vapply(panels, `[[`, "", axis))
  if (length(labels) == 1 && labels != "") labels
}

#' The columns of data that say in which panel they are; one alone needs none
#' @noRd
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

#' Panels of a column share their axis: those of the second, whose units differ,
#' are relative to their highest
#' @noRd
relative_panels <- function(panels) {
  for (i in seq(2, length(panels), by = 2)) {
    highest <- panel_limits(panels[[i]], "x")[[2]]
    panels[[i]]$layers <- lapply(panels[[i]]$layers, function(layer) {
      layer$data$x <- layer$data$x / highest
      layer
    })
    panels[[i]]$xlim <- panels[[i]]$xlim / highest
  }
  panels
}

#' The layers of a panel, with what its axes reach besides
#' @noRd
placed_layers <- function(panel, name) {
  reach <- data.frame(x = panel_limits(panel, "x"), y = panel_limits(panel, "y"))
  layers <- c(panel$layers, list(layer("blank", reach)))
  lapply(layers, function(layer) {
    layer$data[names(name)] <- name
    if (!is.null(layer$by)) {
      layer$data$group <- factor(layer$data$group, layer$by$levels)
    }
    layer$bottom <- reach$y[[1]]
    layer$height <- diff(reach$y)
    layer
  })
}

#' One layer of ggplot2 of those that differ in their panel alone
#' @noRd
joined_layers <- function(layers) {
  place <- intersect(c("panel", "row"), names(layers[[1]]$data))
  if (length(place) == 0) {
    return(layers)
  }
  alike <- lapply(layers, function(layer) {
    list(layer$kind, layer$look, layer$by, names(layer$data))
  })
  unname(lapply(split(layers, match(alike, alike)), function(same) {
    same[[1]]$data <- do.call(rbind, lapply(same, `[[`, "data"))
    same[[1]]
  }))
}

#' Strips stand where the labels of the axes would
#' @noRd
gg_facets <- function(picture, panels) {
  if (length(panels) == 1) {
    return(NULL)
  }
  facets <- if (!is.null(picture$strips)) {
    ggplot2::facet_grid(
      ggplot2::vars(.data$row), ggplot2::vars(.data$column),
      scales = "free", switch = "both"
    )
  } else {
    ggplot2::facet_wrap("panel",
      ncol = picture$columns,
      scales = if (is.null(common_label(panels, "xlab"))) "free" else "free_y",
      strip.position = if (is.null(common_label(panels, "ylab"))) {
        "left"
      } else {
        "bottom"
      }
    )
  }
  list(facets, ggplot2::theme(
    strip.placement = "outside", strip.background = ggplot2::element_blank()
  ))
}

# Layers -----------------------------------------------------------------------

#' A geom of columns of the layer's data and of its look
#' @param columns Named by aesthetics where these have other names.
#' @param look Aesthetics, the first of which the groups have of their own.
#' @noRd
gg_geom <- function(geom, layer, columns, look, ...) {
  plain <- rlang::names2(columns) == ""
  names(columns)[plain] <- columns[plain]
  if (!is.null(layer$data$line)) columns[["group"]] <- "line"
  if (!is.null(layer$by)) {
    own <- c(look[[1]], if (!is.null(layer$by$shapes)) "shape")
    columns[intersect(own, look)] <- "group"
  }
  mapping <- lapply(columns, function(column) rlang::expr(.data[[!!column]]))
  do.call(geom, c(
    list(ggplot2::aes(!!!mapping), layer$data, ...),
    gg_look(layer$look)[setdiff(look, names(columns))]
  ))
}

#' @noRd
gg_look <- function(look) {
  colour <- paint(look$colour)
  list(
    colour = colour, fill = if (is.null(look$fill)) colour else look$fill,
    alpha = look$alpha, linewidth = 0.45 * look$lwd, linetype = look$lty,
    shape = look$shape, size = 2.4 * look$size
  )
}

#' Heights that are shares of the panel, from its lower edge
#' @noRd
with_heights <- function(layer, height = layer$data$height) {
  if (is.null(height)) height <- 0.03
  # Axes of numbers reach a twentieth further than their limits.
  share <- if (identical(layer$look$side, "top")) 1.05 - 1.1 * height else
    1.1 * height - 0.05
  layer$data$end <- layer$bottom + share * layer$height
  layer$data$edge <- if (identical(layer$look$side, "top")) Inf else -Inf
  layer
}

# How each kind of layer is drawn: functions of it.
gg_kinds <- list(
  lines = function(l) {
    look <- c("colour", "alpha", "linewidth", "linetype")
    place <- intersect(
      c("line", "group", "panel", "row", "column"), names(l$data)
    )
    of <- do.call(paste, c(list(rep("", nrow(l$data))), l$data[place]))
    alone <- l
    alone$data <- l$data[!duplicated(of) & !duplicated(of, fromLast = TRUE), ]
    list(
      gg_geom(ggplot2::geom_path, l, c("x", "y"), look),
      # A line needs two points: one is drawn as a point.
      if (nrow(alone$data) > 0) {
        gg_geom(ggplot2::geom_point, alone, c("x", "y"), "colour")
      }
    )
  },
  steps = function(l) {
    gg_geom(ggplot2::geom_step, l, c("x", "y"),
      c("colour", "linewidth", "linetype")
    )
  },
  ribbon = function(l) {
    gg_geom(ggplot2::geom_ribbon, l, c("x", "ymin", "ymax"),
      c("fill", "alpha"), na.rm = TRUE
    )
  },
  area = function(l) {
    gg_geom(ggplot2::geom_ribbon, with_heights(l),
      c("x", ymin = "edge", ymax = "end"), c("fill", "alpha")
    )
  },
  points = function(l) {
    look <- c("colour", "shape", "alpha", if (!is.null(l$look$fill)) "fill")
    size <- if (is.null(l$data$size)) l$look$size else l$data$size
    gg_geom(ggplot2::geom_point, l, c("x", "y"), look, size = 2.4 * size)
  },
  ranges = function(l) {
    gg_geom(ggplot2::geom_linerange, l, c("x", "ymin", "ymax"),
      c("colour", "alpha", "linewidth")
    )
  },
  spans = function(l) {
    gg_geom(ggplot2::geom_segment, l,
      c("y", yend = "y", x = "xmin", xend = "xmax"),
      c("colour", "alpha", "linewidth")
    )
  },
  bars = function(l) {
    gg_geom(ggplot2::geom_col, l, c("x", "y"), "fill", width = 0.6)
  },
  boxes = function(l) {
    gg_geom(ggplot2::geom_boxplot, l,
      c("x", "ymin", "lower", "middle", "upper", "ymax", group = "x"),
      c("fill", "colour"), stat = "identity", width = 0.6
    )
  },
  rules = function(l) {
    look <- c("colour", "linetype")
    if (!is.null(l$data$slope)) {
      l$data$intercept <- 0
      return(gg_geom(ggplot2::geom_abline, l, c("slope", "intercept"), look))
    }
    if (is.null(l$data$x)) {
      gg_geom(ggplot2::geom_hline, l, c(yintercept = "y"), look)
    } else {
      gg_geom(ggplot2::geom_vline, l, c(xintercept = "x"), look)
    }
  },
  rug = function(l) {
    gg_geom(ggplot2::geom_linerange, with_heights(l),
      c("x", ymin = "edge", ymax = "end"), c("colour", "linewidth")
    )
  },
  tiles = function(l) {
    even <- evenly_apart(sort(unique(l$data$x))) &&
      evenly_apart(sort(unique(l$data$y)))
    l$data[c("xmin", "xmax")] <- cell_edges(l$data$x)
    l$data[c("ymin", "ymax")] <- cell_edges(l$data$y)
    columns <- if (even) c("x", "y") else c("xmin", "xmax", "ymin", "ymax")
    geom <- if (even) ggplot2::geom_raster else ggplot2::geom_rect
    if (is.null(l$look$palette)) {
      return(list(
        gg_geom(geom, l, c(columns, "alpha"), "fill"),
        ggplot2::scale_alpha_identity()
      ))
    }
    list(
      gg_geom(geom, l, c(columns, fill = "z"), character()),
      ggplot2::scale_fill_gradientn(l$label,
        colours = l$look$palette, limits = l$look$limits
      )
    )
  },
  contours = function(l) {
    gg_geom(ggplot2::geom_contour, l, c("x", "y", "z"),
      c("colour", "linewidth", "linetype"), breaks = l$look$levels
    )
  },
  text = function(l) {
    gg_geom(ggplot2::geom_text, l, c("x", "y", label = "text"), "colour",
      fontface = "bold", show.legend = FALSE
    )
  },
  blank = function(l) {
    gg_geom(ggplot2::geom_blank, l, c("x", "y"), character())
  }
)

#' Cells reach half the way to the next
#' @return Data frame of lower and upper ends.
#' @noRd
cell_edges <- function(at) {
  centres <- sort(unique(at))
  half <- if (length(centres) > 1) diff(centres) / 2 else 0.5
  low <- centres - c(half[[1]], half)[seq_along(centres)]
  high <- centres + c(half, half[[length(half)]])[seq_along(centres)]
  cell <- match(at, centres)
  data.frame(low = low[cell], high = high[cell])
}

# Scales and axes --------------------------------------------------------------

#' Colours and symbols of the groups, of which a picture has one kind
#' @noRd
gg_group_scales <- function(layers) {
  layers <- Filter(function(layer) !is.null(layer$by), layers)
  if (length(layers) == 0) {
    return(NULL)
  }
  by <- layers[[1]]$by
  by$key <- any(vapply(layers, function(layer) layer$by$key, NA))
  kinds <- vapply(layers, `[[`, "", "kind")
  filled <- kinds %in% c("ribbon", "bars", "tiles")
  # Thin lines would be too pale to tell them apart.
  bold <- ggplot2::guide_legend(override.aes = c(
    list(alpha = 1), if ("lines" %in% kinds) list(linewidth = 0.8)
  ))
  scale <- function(aesthetic, values, guide = bold) {
    ggplot2::scale_discrete_manual(aesthetic,
      name = by$name, values = stats::setNames(values, by$levels),
      breaks = by$levels, guide = if (by$key) guide else "none"
    )
  }
  list(
    if (!all(filled)) scale("colour", by$colours),
    if (any(filled)) scale("fill", by$colours, if (all(filled)) bold else "none"),
    if (!is.null(by$shapes)) scale("shape", by$shapes, "legend")
  )
}

#' @noRd
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
    if (panel$tight) ggplot2::coord_cartesian(expand = FALSE)
  )
}

# Key --------------------------------------------------------------------------

#' What single layers are called, as a legend of their marks
#'
#' The layers have no aesthetic in which they differ: the legend is that of one
#' that draws nothing, whose `stroke` is the number of the entry.
#' @noRd
gg_key <- function(panels) {
  entries <- unlist(lapply(panels, panel_key), recursive = FALSE)
  length <- sum(vapply(entries, function(e) nchar(e$label) + 5, 1))
  place <- if (length > 0 && length < 80) {
    ggplot2::theme(
      legend.position = "top", legend.justification = "left",
      legend.margin = ggplot2::margin()
    )
  }
  single <- Filter(function(entry) !entry$group, entries)
  labels <- vapply(single, `[[`, "", "label")
  single <- single[!duplicated(labels)]
  labels <- unique(labels)
  n <- length(labels)
  if (n == 0) {
    return(place)
  }
  marks <- lapply(single, `[[`, "marks")
  glyph <- function(data, params, size) {
    gg_glyph(marks[[round(100 * data$stroke)]], data, params, size)
  }
  list(
    ggplot2::geom_point(
      ggplot2::aes(.data$x, .data$y, stroke = .data$key),
      data.frame(x = NA_real_, y = NA_real_, key = factor(labels, labels)),
      na.rm = TRUE, key_glyph = glyph
    ),
    ggplot2::scale_discrete_manual("stroke",
      name = NULL, values = seq_len(n) / 100, breaks = labels,
      guide = ggplot2::guide_legend(order = 9)
    ), place
  )
}

#' @noRd
gg_glyph <- function(marks, data, params, size) {
  kinds <- vapply(marks, `[[`, "", "kind")
  look <- gg_look(marks[[length(marks)]])
  look$size <- max(look$size, 1.5)
  data[names(look)] <- look
  data$stroke <- 0.5
  draw <- if (all(kinds %in% c("ribbon", "area", "bars"))) {
    ggplot2::draw_key_rect
  } else if (all(kinds == "boxes")) {
    ggplot2::draw_key_boxplot
  } else if (!"points" %in% kinds) {
    ggplot2::draw_key_path
  } else if (length(kinds) == 1) {
    ggplot2::draw_key_point
  } else {
    ggplot2::draw_key_pointrange
  }
  draw(data, params, size)
}
