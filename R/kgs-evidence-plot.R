# The evidence of kgs() against the rate of wrong labels.

#' Plot the evidence against the label noise
#'
#' The log evidence at each rate q of wrong labels and, in a second panel, the
#' posterior density of q under the fit's prior. The rate with the highest
#' evidence, or the known rate, is marked.
#'
#' @param x The value of [`evidence()`][evidence.kb_kgs] of a fit of [kgs()].
#' @param ... Titles, limits and axes, as in [graphics::plot.default()], for
#'   example `main`, `xlab`, `ylim` or `cex.axis`; others are errors.
#' @return `x`, invisibly.
#' @examples
#' moons <- sim_moons(40, flips = 0.1, seed = 1)
#' fit <- kgs(y ~ x1 + x2, moons,
#'   kernel = kernel_gaussian(0.5), nugget = 0, seed = 1
#' )
#' plot(evidence(fit, chains = 2, iter = 200, seed = 1))
#' @export
plot.kb_evidence_kgs <- function(x, ...) {
  draw_picture(evidence_kgs_picture(x), x, ...)
}

#' @rdname autoplot.kb_srvm
#' @exportS3Method ggplot2::autoplot
autoplot.kb_evidence_kgs <- autoplot_of(plot.kb_evidence_kgs)

evidence_kgs_picture <- function(x) {
  curve <- evidence_curve(x)
  learned <- x$noise$kind == "beta"
  # At the ends it may fall without bound.
  high <- max(curve$log_evidence)
  shown <- curve$log_evidence > high - 20
  at_rate <- rule_layer(
    x = if (learned) x$rate_mode else x$noise$rate,
    label = if (learned) "rate of the highest evidence" else "known rate"
  )
  log_evidence <- panel(
    "rate of wrong labels", "log evidence", at_rate,
    layer("lines", data.frame(x = curve$q, y = curve$log_evidence)[shown, ],
      lwd = 2
    ),
    xlim = range(curve$q)
  )
  if (!learned) {
    return(new_picture(log_evidence))
  }
  new_picture(list(log_evidence, panel(
    "rate of wrong labels", "posterior density", at_rate,
    ribbon_layer(curve$q, 0, curve$posterior, alpha = 0.5),
    xlim = range(curve$q), shared = c("main", "ylim")
  )))
}

# Log evidence and posterior density on a fine grid of rates
evidence_curve <- function(x, n = 400) {
  top <- (x$classes - 1) / x$classes
  m <- length(x$log_g) - 1
  # Ends may have densities without bound.
  q <- top * (seq_len(n) - 0.5) / n
  out <- data.frame(
    q = q, log_evidence = log_evidence_rate(x$log_g, m, q, x$classes)
  )
  if (x$noise$kind == "beta") {
    out$posterior <- posterior_of_rate(
      x$log_g, m, q, x$noise$a, x$noise$b, x$classes
    )
  }
  out
}
