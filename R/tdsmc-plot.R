#' Plots of a trans-dimensional sequential Monte Carlo run
#'
#' @param x A fit of [tdsmc()].
#' @param type What to draw, against steps:
#' * `"ess"`: effective sample size, with the steps before which particles were
#'   resampled;
#' * `"evidence"`: log evidence;
#' * `"moves"`: the share of particles that have chosen each move, dashed, and
#'   their share of the weight, solid. Where the two are far apart the move is
#'   proposed too often or too seldom.
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
  x <- migrate_fit(x)
  check_plot_dots(list(...))
  type <- check_choice(type, c("ess", "evidence", "moves"))
  refuse_no_step(x)
  switch(type,
    ess = plot_ess(x, unit = "step", ...),
    evidence = plot_evidence(x, unit = "step", ...),
    moves = plot_moves(x, ...)
  )
  invisible(x)
}

#' @noRd
refuse_no_step <- function(x, call = rlang::caller_env()) {
  if (x$time == 0) {
    kb_abort("No step has been made: there is nothing to draw.",
      "not_defined",
      call = call
    )
  }
}

#' @noRd
plot_moves <- function(x, ...) {
  moves <- td_moves(x)
  colours <- rep_len(
    c("blue", "orange", "green", "sky", "grey"), length(x$moves)
  )
  colours <- vapply(colours, kb_colour, "", USE.NAMES = FALSE)
  base_plot(list(
    x = seq_len(x$time), y = moves$share[, 1], type = "n", ylim = c(0, 1),
    xlab = "step", ylab = "share of particles"
  ), ...)
  draw <- function(values, lty) {
    graphics::matlines(seq_len(x$time), values,
      lty = lty, lwd = 1.5, pch = 1, type = path_type(x), col = colours
    )
  }
  draw(moves$chosen / rowSums(moves$chosen), 2)
  draw(moves$share, 1)
  entries <- lapply(colours, function(colour) list(col = colour, lwd = 1.5))
  key_above(c(
    stats::setNames(entries, names(x$moves)),
    list(chosen = list(col = kb_colour("grey"), lty = 2))
  ))
}
