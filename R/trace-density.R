# Traces of chains, alone and with the densities of their draws beside them.

# Draws of these quantities: parameters, or other monitored quantities
traced <- function(fit, names) {
  chains <- chain_matrices(fit)
  if (!all(names %in% names(chains))) chains <- watched_matrices(fit)
  chains[names]
}

#' Traces of quantities, one line per chain
#' @param labels Named by the quantities of `traced()`.
#' @param densities Are their densities beside them?
#' @noRd
chains_picture <- function(x, labels, densities = FALSE) {
  chains <- traced(x, names(labels))
  panels <- lapply(seq_along(labels), function(i) {
    at <- x$control$thin * seq_len(nrow(chains[[i]]))
    c(
      list(trace_panel(at, chains[[i]], labels[[i]], i == 1)),
      if (densities) list(density_panel(chains[[i]]))
    )
  })
  above <- c("iteration after the warmup", "density, highest = 1")
  new_picture(unlist(panels, recursive = FALSE),
    columns = 1 + densities,
    strips = if (densities) list(rows = labels, columns = above)
  )
}

trace_panel <- function(at, values, label, first) {
  by <- chain_groups(values)
  many <- nrow(values) > 100
  panel(
    "iteration after the warmup", label,
    layer("lines", matrix_lines(at, values),
      lwd = 0.7, alpha = if (many) 0.3 else 0.7, by = by
    ),
    if (many) mean_lines(at, values, by),
    shared = if (!first) "main", key = first
  )
}

# Means of blocks, which show drift and chains that differ
mean_lines <- function(at, values, by) {
  blocks <- series_blocks(at, values, 30)
  layer("lines", blocks[c("x", "y", "group")],
    lwd = 2, by = by, label = paste("mean of", attr(blocks, "size"), "draws")
  )
}

# Colours that differ in lightness, too
chain_groups <- function(values) {
  n <- ncol(values)
  groups("chain", seq_len(n), ordered_colours(n), dashes = FALSE)
}

density_panel <- function(values) {
  curves <- chain_density(values)
  panel(
    if (are_whole(values)) "share" else "density", "",
    lines_layer(curves$density, curves$value,
      group = curves$chain, by = chain_groups(values), lwd = 1.5, alpha = 0.8
    ),
    xlim = 0, key = FALSE, shared = c("main", "sub", "xlab", "ylab", "xlim")
  )
}

#' The draws of each chain as a distribution
#'
#' For whole numbers the share of each, for others a kernel density estimate.
#' @param values Matrix, a column per chain.
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

# Are they counts with few distinct values?
are_whole <- function(values) {
  all(values == round(values)) && diff(range(values)) <= 1000
}
