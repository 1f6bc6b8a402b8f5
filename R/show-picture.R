# Pictures as plain data. Each is made by one function, which depends on the
# engine; R/show-base.R and R/show-ggplot.R draw it and are independent of
# engines.

#' A picture: panels of layers
#' @param panels List of `panel()`, or one of them.
#' @param columns Number of columns that the panels fill row by row.
#' @param strips For a table of traces and the like, in which panels of a row
#'   share y and those of a column x: names of its `rows` and `columns`. The
#'   first column is three times as wide.
#' @param apart Does ggplot2 show the groups in facets?
#' @param value The value of `plot()` instead of its object.
#' @noRd
new_picture <- function(panels, columns = 1, strips = NULL, apart = FALSE,
                        value = NULL) {
  if (!is.null(panels$layers)) panels <- list(panels)
  structure(list(
    panels = panels, columns = columns, strips = strips, apart = apart,
    value = value
  ), class = "kb_picture")
}

#' A panel
#' @param ... Layers in the order in which they are drawn; NULL is none.
#' @param xlim,ylim Values that the axes include in addition to those of the
#'   layers.
#' @param log `"x"` or `"xy"`; `root` for the square root of y.
#' @param ticks Labels of x = 1, 2, ..., or `"whole"`: at whole numbers only.
#' @param tight Do the axes end where the layers do?
#' @param shared Titles and limits in the `...` of `plot()` that apply to the
#'   first panel only, not to this one.
#' @param key Does the panel have a legend, or share that of the previous panel?
#' @param crop NULL, or where the y axis ends, whatever the layers have.
#' @noRd
panel <- function(xlab, ylab, ..., xlim = NULL, ylim = NULL, log = "",
                  root = FALSE, ticks = NULL, tight = FALSE, shared = NULL,
                  key = TRUE, crop = NULL) {
  layers <- Filter(Negate(is.null), list(...))
  if (!is.null(crop)) {
    layers <- lapply(layers, function(layer) {
      at <- intersect(c("y", "ymin", "ymax"), names(layer$data))
      layer$data[at] <- lapply(layer$data[at], pull_in, crop)
      layer
    })
  }
  list(
    xlab = xlab, ylab = ylab, layers = layers,
    xlim = xlim, ylim = ylim, log = log, root = root, ticks = ticks,
    tight = tight, shared = shared, key = key, crop = crop
  )
}

#' A layer
#'
#' | kind | columns of its data |
#' |---|---|
#' | lines | x, y; `line` where there are several |
#' | ribbon | x, ymin, ymax |
#' | points | x, y; perhaps size |
#' | ranges | x, ymin, ymax: vertical lines |
#' | bars | x, y |
#' | boxes | x, ymin, lower, middle, upper, ymax |
#' | rules | x or y, or slope: lines across the panel |
#' | rug | x; perhaps height, as a share of the panel |
#' | tiles | x, y and z, or group and alpha |
#' | contours | x, y, z |
#' | text | x, y, text |
#' @param data Data frame of these columns and, with `by`, of `group`.
#' @param ... The style: `colour` (of `kb_colour()`, or any), `alpha`, `lwd`,
#'   `lty`, `shape`, `size`, `fill`, `side`, `levels`, `palette`, `limits`.
#' @param by `groups()` with different styles.
#' @param label Name of the layer in the legend; NULL: none.
#' @noRd
layer <- function(kind, data, ..., by = NULL, label = NULL) {
  look <- utils::modifyList(list(
    colour = "blue", alpha = 1, lwd = 1, lty = 1, shape = 16, size = 0.7
  ), list(...))
  list(kind = kind, data = data, look = look, by = by, label = label)
}

#' Groups with different colours and symbols
#' @param name Title of the levels; NULL if they need none.
#' @param shapes NULL: all alike.
#' @param key Does the legend name the levels?
#' @param dashes Do lines differ by their type, too?
#' @noRd
groups <- function(name, levels, colours = class_colours(length(levels)),
                   shapes = NULL, key = TRUE, dashes = TRUE) {
  list(
    name = name, levels = as.character(levels), colours = colours,
    shapes = shapes, key = key,
    ltys = if (dashes) rep_len(line_types, length(levels))
  )
}

# Distinguish lines where colours cannot be seen
line_types <- c("solid", "42", "12", "6212")

# The classes of a response
class_groups <- function(x) {
  levels <- x$mould$levels
  groups(x$mould$outcome_name, levels, shapes = class_symbols(length(levels)))
}

# Layers of many pictures ----------------------------------------------

#' @param group With `by`, the group of each point.
#' @noRd
lines_layer <- function(x, y, ..., group = NULL) {
  layer("lines", columns(x = x, y = y, group = group), ...)
}

points_layer <- function(x, y, ..., group = NULL) {
  layer("points", columns(x = x, y = y, group = group), ...)
}

ranges_layer <- function(x, ymin, ymax, ..., group = NULL) {
  layer("ranges", columns(x = x, ymin = ymin, ymax = ymax, group = group), ...)
}

# A data frame of the arguments that are not NULL
columns <- function(...) as.data.frame(Filter(Negate(is.null), list(...)))

ribbon_layer <- function(x, ymin, ymax, ..., colour = "sky") {
  layer("ribbon", columns(x = x, ymin = ymin, ymax = ymax),
    colour = colour, ...
  )
}

#' @param bands Matrix with columns `lwr` and `upr`.
#' @noRd
band_layer <- function(at, bands, ...) {
  ribbon_layer(at, bands[, "lwr"], bands[, "upr"], ...)
}

#' Dashed lines across the panel
#' @param ... The `x`, the `y` or the `slope`.
#' @noRd
rule_layer <- function(..., label = NULL, lty = 2) {
  layer("rules", data.frame(...), colour = "grey", lty = lty, label = label)
}

percent_label <- function(level, what) {
  paste0(format(100 * level), "% ", what)
}

# Long series ----------------------------------------------------------------

#' Series in blocks, where single values would be noise to the eye
#' @param at,values Times, and a matrix with a column per series.
#' @param most Number of blocks.
#' @return Data frame of the middle `x` of each block, its mean `y`, `ymin`,
#'   `ymax` and `group`, the series; `attr(, "size")` values per block.
#' @noRd
series_blocks <- function(at, values, most = 60) {
  values <- as.matrix(values)
  size <- ceiling(length(at) / most)
  block <- (seq_along(at) - 1) %/% size
  of <- function(f, v) as.vector(tapply(v, block, f))
  out <- lapply(seq_len(ncol(values)), function(j) {
    data.frame(
      x = of(mean, at), y = of(mean, values[, j]), ymin = of(min, values[, j]),
      ymax = of(max, values[, j]), group = j
    )
  })
  structure(do.call(rbind, out), size = size)
}

# Lines where a surface has these levels; NULL where it has none of them
contour_layer <- function(grid, levels = pretty(ends, 10), ...) {
  ends <- range(grid$z, na.rm = TRUE)
  inside <- levels[levels > ends[[1]] & levels < ends[[2]]]
  if (length(inside) == 0) {
    return(NULL)
  }
  layer("contours", grid, levels = inside, ...)
}

#' A matrix of numbers in long form, one line per column
#' @param names Factor of the columns, or their names.
#' @noRd
matrix_lines <- function(at, values, names = seq_len(ncol(values))) {
  data.frame(
    x = rep(at, ncol(values)), y = as.vector(values),
    group = factor(rep(names, each = nrow(values)), names)
  )
}

# Colours ----------------------------------------------------------------------

# Colours that colour-blind readers can distinguish (Okabe and Ito, 2008).
kb_colour <- function(name, alpha = 1) {
  colour <- c(
    blue = "#0072B2", orange = "#D55E00", green = "#009E73", sky = "#56B4E9",
    grey = "#5A5A5A"
  )[[name]]
  grDevices::adjustcolor(colour, alpha)
}

class_colours <- function(n) {
  names <- rep_len(c("blue", "orange", "green", "sky", "grey"), n)
  vapply(names, kb_colour, "", USE.NAMES = FALSE)
}

class_symbols <- function(n) rep_len(c(16, 17, 15, 18, 3, 4, 8), n)

# Colours of ordered groups such as kernels; the last is not bright yellow
ordered_colours <- function(n) {
  grDevices::hcl.colors(n + 1, "viridis")[seq_len(n)]
}

# A colour by its name in `kb_colour()`, or any other
paint <- function(colour, alpha = 1) {
  own <- colour %in% c("blue", "orange", "green", "sky", "grey")
  colour[own] <- vapply(colour[own], kb_colour, "")
  grDevices::adjustcolor(colour, alpha)
}

# Functions for both renderers
# ------------------------------------------------------

# A layer as one layer per present group, with its style, labelled by its level;
# layers without groups unchanged
split_groups <- function(layer) {
  by <- layer$by
  if (is.null(by)) {
    return(list(layer))
  }
  parts <- lapply(seq_along(by$levels), function(i) {
    rows <- as.character(layer$data$group) == by$levels[[i]]
    layer$data <- layer$data[rows, , drop = FALSE]
    layer$look$colour <- by$colours[[i]]
    if (!is.null(by$shapes)) layer$look$shape <- by$shapes[[i]]
    if (has_dashes(layer)) layer$look$lty <- by$ltys[[i]]
    layer$label <- if (by$key) by$levels[[i]]
    c(layer, title = by$name)
  })
  Filter(function(part) nrow(part$data) > 0, parts)
}

# Lines of groups, unless all are of the same other type
has_dashes <- function(layer) {
  layer$kind == "lines" && !is.null(layer$by$ltys) &&
    identical(layer$look$lty, 1)
}

# Of bars and boxes: those of a few names are not as wide as the panel
bar_width <- function(span) min(0.6, span / 8)

# The limits of a panel: the range of its layers and its own limits
panel_limits <- function(panel, axis) {
  columns <- if (axis == "x") "x" else c("y", "ymin", "ymax")
  values <- lapply(panel$layers, function(layer) {
    unlist(layer$data[intersect(columns, names(layer$data))])
  })
  out <- range(unlist(values), panel[[paste0(axis, "lim")]], na.rm = TRUE)
  if (axis == "y" && !is.null(panel$crop)) out <- panel$crop
  tall <- vapply(panel$layers, function(l) !is.null(l$data$height), NA)
  # Room for the ticks below the rest.
  if (axis == "y" && any(tall)) out[[1]] <- out[[1]] - 0.08 * diff(out)
  out
}

#' The entries of a panel's legend
#' @return List of entries: `label`, `title` (of groups), and the `marks` of its
#'   layers, each with kind and style.
#' @noRd
panel_key <- function(panel) {
  named <- lapply(panel$layers, function(layer) {
    if (is.null(layer$by)) {
      return(list(layer))
    }
    # A label for all groups has no group's colour.
    whole <- layer[names(layer) != "by"]
    whole$look$colour <- "grey"
    c(split_groups(layer), list(whole))
  })
  named <- Filter(function(layer) {
    !is.null(layer$label) && is.null(layer$look$palette)
  }, unlist(named, recursive = FALSE))
  id <- vapply(named, function(l) paste(!is.null(l$by), l$label), "")
  unname(lapply(split(named, factor(id, unique(id))), function(same) {
    marks <- lapply(same, function(layer) c(layer["kind"], layer$look))
    c(same[[1]][c("label", "title")], list(
      group = !is.null(same[[1]]$by), marks = marks
    ))
  }))
}
