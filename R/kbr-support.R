# Supports of states: bounded ones are mapped to the line, where residuals are
# added, and back, (K40).

# NULL, or `lower` and `upper` for each column of the states
check_support <- function(support, states) {
  names <- colnames(states)
  if (is.null(support)) {
    return(guess_support(states))
  }
  wanted <- paste0(
    "lower and upper bounds of the states: two numbers, or a matrix of two ",
    "rows and ", ncol(states), " column", if (ncol(states) != 1) "s"
  )
  shape <- is.numeric(support) && !anyNA(support) && length(support) %in%
    c(2, 2 * ncol(states)) && (is.null(dim(support)) || nrow(support) == 2)
  if (!isTRUE(shape)) bad_argument(support, "support", wanted)
  bounds <- matrix(as.double(support), 2, ncol(states),
    dimnames = list(c("lower", "upper"), names)
  )
  if (any(bounds[1, ] >= bounds[2, ])) bad_argument(support, "support", wanted)
  outside <- which(t(states) < bounds[1, ] | t(states) > bounds[2, ],
    arr.ind = TRUE
  )
  if (nrow(outside) > 0) {
    kb_abort(c(
      "States lie outside of {.arg support}.",
      x = "{.val {unique(names[outside[, 1]])}}: {nrow(outside)} value{?s}."
    ), "argument", argument = "support")
  }
  bounds
}

# Positive states with a long tail are kept positive; others are not bounded
guess_support <- function(states) {
  tail <- logs_learn(states)
  positive <- tail$side == 1 & apply(states, 2, min) > 0
  bounds <- rbind(
    lower = rep(-Inf, ncol(states)), upper = rep(Inf, ncol(states))
  )
  bounds[1, which(positive)] <- 0
  colnames(bounds) <- colnames(states)
  bounds
}

# Bounds of standardised states
scaled_bounds <- function(fit) {
  scaling <- fit$settings$scaling$states
  (fit$settings$support - rep(scaling$x_center, each = 2)) /
    rep(scaling$x_scale, each = 2)
}

# States of the fit's columns, or back; rounding cannot leave the support
states_to_line <- function(fit, x) {
  support_to_line(
    scaled_bounds(fit), scaling_x(fit$settings$scaling$states, x)
  )
}

states_from_line <- function(fit, t) {
  x <- unscale_states(fit, support_from_line(scaled_bounds(fit), t))
  support <- fit$settings$support
  for (j in seq_len(ncol(x))) {
    x[, j] <- pmin(pmax(x[, j], support[1, j]), support[2, j])
  }
  state_names(x, fit)
}

# Distances from a bound, relative to the largest, are at least this: a state on
# the bound itself would be at infinity.
bound_gap <- 1e-6

#' States on the line: logarithms of the distance from one bound, log odds
#' between two
#' @param x Rows x d.
#' @noRd
support_to_line <- function(bounds, x) {
  for (j in seq_len(ncol(x))) {
    x[, j] <- to_line(x[, j], bounds[1, j], bounds[2, j])
  }
  x
}

to_line <- function(x, lower, upper) {
  if (is.finite(lower) && is.finite(upper)) {
    u <- (x - lower) / (upper - lower)
    return(stats::qlogis(pmin(pmax(u, bound_gap), 1 - bound_gap)))
  }
  if (is.finite(lower)) {
    return(log_gap(x - lower))
  }
  if (is.finite(upper)) {
    return(-log_gap(upper - x))
  }
  x
}

log_gap <- function(gap) {
  log(pmax(gap, bound_gap * max(gap, .Machine$double.xmin)))
}

support_from_line <- function(bounds, t) {
  for (j in seq_len(ncol(t))) {
    t[, j] <- from_line(t[, j], bounds[1, j], bounds[2, j])
  }
  t
}

from_line <- function(t, lower, upper) {
  if (is.finite(lower) && is.finite(upper)) {
    return(lower + (upper - lower) * stats::plogis(t))
  }
  if (is.finite(lower)) {
    return(lower + exp(t))
  }
  if (is.finite(upper)) {
    return(upper - exp(-t))
  }
  t
}

# log |dt / dx| at t, summed over columns
line_log_slope <- function(bounds, t) {
  each <- vapply(seq_len(ncol(t)), function(j) {
    finite <- is.finite(bounds[, j])
    if (all(finite)) {
      return(-log(diff(bounds[, j])) -
        stats::dlogis(t[, j], log = TRUE))
    }
    if (finite[[1]]) -t[, j] else if (finite[[2]]) t[, j] else 0 * t[, j]
  }, numeric(nrow(t)))
  rowSums(matrix(each, nrow(t)))
}
