# Traces of chains, alone and with the densities of their draws beside them.

#' @srrstats {BS6.5} `plot(type = "trace_density")` and `autoplot()`.
#' @noRd
NULL

#' Draws of these quantities: parameters, or what else diagnostics watch
#' @noRd
traced <- function(fit, names) {
  chains <- chain_matrices(fit)
  if (!all(names %in% names(chains))) chains <- watched_matrices(fit)
  chains[names]
}

#' Traces of quantities, a line per chain
#' @param labels Named by the quantities of `traced()`.
#' @param densities Are their densities beside them?
#' @noRd
chains_picture <- function(x, labels, densities = FALSE) {
  chains <- traced(x, names(labels))
  by <- groups("chain", seq_len(ncol(chains[[1]])))
  panels <- lapply(seq_along(labels), function(i) {
    values <- chains[[i]]
    at <- x$control$thin * seq_len(nrow(values))
    curves <- if (densities) chain_density(values)
    shared <- if (i > 1) "main"
    list(
      panel(
        "iteration after the warmup", labels[[i]],
        layer("lines", matrix_lines(at, values),
          lwd = 0.7, alpha = 0.7, by = by
        ),
        ylim = curves$value, shared = shared, key = i == 1
      ),
      if (densities) {
        panel(
          if (are_whole(values)) "share" else "density", "",
          lines_layer(curves$density, curves$value,
            group = curves$chain, lwd = 1.5, alpha = 0.7, by = by
          ),
          xlim = 0, ylim = range(values), key = FALSE,
          shared = c("main", "sub", "xlab", "ylab", "xlim")
        )
      }
    )
  })
  new_picture(Filter(Negate(is.null), unlist(panels, recursive = FALSE)),
    columns = 1 + densities,
    strips = if (densities) {
      list(
        rows = labels,
        columns = c("iteration after the warmup", "density, highest = 1")
      )
    }
  )
}

#' The draws of each chain as a distribution
#'
#' Of whole numbers the share of each, of others a kernel density estimate.
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

#' Counts; not the many values of a large one
#' @noRd
are_whole <- function(values) {
  all(values == round(values)) && diff(range(values)) <= 1000
}
