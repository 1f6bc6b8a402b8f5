# The evidence of kgs() against the rate of wrong labels.

#' Plot the evidence against the label noise
#'
#' The log evidence at each rate q of wrong labels, and the posterior density of
#' q under the fit's prior. The rate of highest evidence, or the one that is
#' known, is marked.
#'
#' @param x The value of [`evidence()`][evidence.kb_kgs] of a fit of [kgs()].
#' @param ... Titles, limits and axes, as in [graphics::plot.default()], for
#'   example `main`, `xlab`, `ylim` or `cex.axis`; others are errors.
#' @return `x`, invisibly.
#' @examples
#' moons <- sim_moons(40, flips = 0.1, seed = 1)
#' fit <- kgs(y ~ x1 + x2, moons, kernel = kernel_gaussian(0.5), seed = 1)
#' plot(evidence(fit, chains = 2, iter = 200, seed = 1))
#' @export
plot.kb_evidence_kgs <- function(x, ...) {
  check_plot_dots(list(...))
  curve <- evidence_curve(x)
  high <- max(curve$log_evidence)
  # At the ends it may fall without bound.
  shown <- curve$log_evidence > high - 20
  base_plot(list(
    x = curve$q, y = curve$log_evidence, type = "n",
    xlab = "rate of wrong labels", ylab = "log evidence",
    ylim = range(curve$log_evidence[shown])
  ), ...)
  learned <- x$noise$kind == "beta"
  if (learned) draw_density(curve$q, curve$posterior)
  at <- if (learned) x$rate_mode else x$noise$rate
  graphics::abline(v = at, col = kb_colour("grey"), lty = 2)
  graphics::lines(curve$q, curve$log_evidence,
    lwd = 2, col = kb_colour("blue")
  )
  mark <- if (learned) "highest" else "known rate"
  key_above(stats::setNames(
    c(
      list(list(col = kb_colour("blue"), lwd = 2)),
      if (learned) list(list(col = kb_colour("sky", 0.4), lwd = 8)),
      list(list(lty = 2, col = kb_colour("grey")))
    ),
    c("log evidence", if (learned) "posterior of q", mark)
  ))
  invisible(x)
}

#' Log evidence and posterior density on a fine grid of rates
#' @noRd
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

#' An area as high as half of the plot
#' @noRd
draw_density <- function(at, density) {
  bottom <- graphics::grconvertY(0, "npc", "user")
  middle <- graphics::grconvertY(0.5, "npc", "user")
  height <- bottom + (middle - bottom) * density / max(density)
  graphics::polygon(
    c(at[[1]], at, at[[length(at)]]), c(bottom, height, bottom),
    col = kb_colour("sky", 0.4), border = NA
  )
}
