#' Plots of a trans-dimensional sequential Monte Carlo run
#'
#' @param x A fit of [tdsmc()].
#' @param type What to draw, against steps:
#' * `"ess"`: effective sample size, with the steps before which particles were
#'   resampled;
#' * `"evidence"`: log evidence;
#' * `"moves"`: the share of particles that have chosen each move, dashed, and
#'   their share of the weight, solid. If the two differ much, the move is
#'   proposed too often or too rarely.
#' @param ... Titles, limits and axes, as in [graphics::plot.default()]; others
#'   are errors.
#' @return `x`, invisibly.
#' @examples
#' target <- td_target(
#'   log_density = function(states, t, data) {
#'     y <- data[seq_len(t)]
#'     dnorm(states, log = TRUE) +
#'       vapply(states, function(x) sum(dnorm(y, x, log = TRUE)), 0)
#'   },
#'   initial = function(n, data) rnorm(n)
#' )
#' none <- function(new, old, t, data) numeric(length(new))
#' stay <- td_move(function(states, t, data) states, none, none)
#' fit <- tdsmc(target, list(stay = stay), c(1.2, 0.7, 0.9), seed = 1)
#' plot(fit)
#' plot(fit, type = "evidence")
#' @export
plot.kb_tdsmc <- function(x, type = c("ess", "evidence", "moves"), ...) {
  draw_picture(tdsmc_picture(x, type), x, ...)
}

#' @rdname autoplot.kb_srvm
#' @exportS3Method ggplot2::autoplot
autoplot.kb_tdsmc <- autoplot_of(plot.kb_tdsmc)

tdsmc_picture <- function(x, type) {
  x <- checked_fit(x)
  type <- check_choice(type, c("ess", "evidence", "moves"))
  if (x$time == 0) {
    kb_abort("No step has been done: there is nothing to draw.", "not_defined")
  }
  switch(type,
    ess = ess_picture(x, "step"),
    evidence = evidence_picture(x, "step"),
    moves = moves_picture(x)
  )
}

moves_picture <- function(x) {
  moves <- td_moves(x)
  names <- names(x$moves)
  lines <- function(values, ...) {
    layer("lines", matrix_lines(seq_len(x$time), values, names),
      lwd = 1.5, by = groups(NULL, names, dashes = FALSE), ...
    )
  }
  new_picture(panel(
    "step", "share of particles",
    lines(moves$chosen / rowSums(moves$chosen), lty = 2, label = "chosen by"),
    lines(moves$share, label = "weight of"),
    ylim = 0:1
  ))
}
