# Ordinary differential equations, many sets of parameters at a time, for
# simulators.

#' Solve equations for all rows of a matrix of parameters
#'
#' The classical Runge-Kutta method of order 4, with steps of one size for a
#' row. Steps are halved for the rows that the last halving has changed, so that
#' few rows need small steps. The error after a halving is about 1/15 of the
#' change: with the default `tolerance` below 1e-4.
#'
#' States are logarithms in the models here: populations stay positive, and a
#' change is a relative one.
#' @param rate A function of rows of `theta` that returns a function from states
#'   (a row each) to their rates of change.
#' @param start The state at time 0, the same for all rows.
#' @param span Time from one output to the next; there are `times` of them, the
#'   first at time 0.
#' @param steps The first number of steps for a span.
#' @param halvings How many at most. Of 1e5 draws from the priors of the models
#'   here none needs more than 5.
#' @return A list of matrices, one for each coordinate of the state: a row for
#'   each set of parameters, a column for each time. A row that is not finite or
#'   still changes after all `halvings` is NA.
#' @noRd
solve_ode <- function(rate, theta, start, span, times, steps,
                      tolerance = 3e-4, halvings = 6) {
  rows <- seq_len(nrow(theta))
  out <- runge_kutta(rate(theta), length(rows), start, span, times, steps)
  for (i in seq_len(halvings)) {
    steps <- 2 * steps
    finer <- runge_kutta(
      rate(theta[rows, , drop = FALSE]), length(rows), start, span, times, steps
    )
    change <- apply(abs(finer - out[rows, , drop = FALSE]), 1, max)
    out[rows, ] <- finer
    rows <- rows[is.na(change) | change > tolerance]
    if (length(rows) == 0) break
  }
  out[rows, ] <- NA
  coordinate <- rep(seq_along(start), times)
  lapply(seq_along(start), function(j) out[, coordinate == j, drop = FALSE])
}

runge_kutta <- function(rate, n, start, span, times, steps) {
  state <- matrix(start, n, length(start), byrow = TRUE)
  out <- vector("list", times)
  out[[1]] <- state
  h <- span / steps
  for (time in seq_len(times)[-1]) {
    for (i in seq_len(steps)) {
      k1 <- rate(state)
      k2 <- rate(state + h / 2 * k1)
      k3 <- rate(state + h / 2 * k2)
      k4 <- rate(state + h * k3)
      state <- state + h / 6 * (k1 + 2 * (k2 + k3) + k4)
    }
    out[[time]] <- state
  }
  do.call(cbind, out)
}
