# Supports of states: those with one bound and a long tail are mapped to the line,
# where residuals are added, and back, (K40); others are reflected at their
# bounds, (K60).

# `lower` and `upper` for each column of the states, infinite where there is none
check_support <- function(support, states) {
  names <- colnames(states)
  if (is.null(support)) {
    return(found_support(states))
  }
  if (identical(support, "none")) {
    return(no_bounds(states))
  }
  wanted <- paste0(
    "NULL, \"none\", or lower and upper bounds of the states: two numbers, or ",
    "a matrix of two rows and ", counted(ncol(states), "column")
  )
  shape <- is.numeric(support) && !anyNA(support) && length(support) %in%
    c(2, 2 * ncol(states)) && (is.null(dim(support)) || nrow(support) == 2)
  if (!isTRUE(shape)) bad_argument(support, "support", wanted)
  bounds <- no_bounds(states)
  bounds[] <- as.double(support)
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

no_bounds <- function(states) {
  matrix(c(-Inf, Inf), 2, ncol(states),
    dimnames = list(c("lower", "upper"), colnames(states))
  )
}

#' Bounds that the draws of the prior show, (K59)
#'
#' The lower bound of positive columns with a long tail is 0 unless their
#' logarithms have an edge, too.
#' @noRd
found_support <- function(states) {
  bounds <- no_bounds(states)
  tail <- logs_learn(states)
  for (j in seq_len(ncol(states))) {
    x <- spread_ties(sort(states[, j]))
    bounds[, j] <- c(lower_edge(x), -lower_edge(-rev(x)))
    positive <- isTRUE(tail$side[[j]] == 1) && min(states[, j]) > 0
    if (positive && lower_edge(log(x)) == -Inf) bounds[1, j] <- 0
  }
  bounds
}

# Draws from which an edge is found, at most, and at least
edge_draws <- c(10, 200)

#' The lower end of a density that does not fall to zero there, or -Inf, (K59)
#' @param x Increasing.
#' @noRd
lower_edge <- function(x) {
  k <- min(length(x) %/% 3, edge_draws[[2]])
  if (k < edge_draws[[1]]) {
    return(-Inf)
  }
  # The mean distance of the outer draws from the next one, relative to the
  # largest
  share <- function(k) {
    mean(x[[k + 1]] - x[seq_len(k)]) / (x[[k + 1]] - x[[1]])
  }
  reach <- x[[k + 1]] - x[[1]]
  gap <- max(diff(x[seq_len(k + 1)])) / reach
  half <- k %/% 2
  edge <- share(k) > 1 / 3 + 1 / sqrt(k) + 0.2 / k &&
    # Not where half of them are fewer at the end,
    share(half) > 1 / 2 - 2.33 / sqrt(12 * half) &&
    # nor where some of them are apart from the others
    k * (1 - gap)^(k - 1) > 1e-3
  if (isTRUE(edge)) round_below(x[[1]], reach / k) else -Inf
}

# The roundest number below x that may be the end, or the unbiased estimate: the
# end is below x by an exponential variable with this mean.
round_below <- function(x, mean) {
  digits <- -ceiling(log10(max(abs(x), mean))):-floor(log10(mean))
  near <- floor(x * 10^digits) / 10^digits
  fine <- near >= x + log(0.01) * mean & near <= x - 0.01 * mean
  c(near[fine], x - mean)[[1]]
}

#' Whole numbers and points of grids stand for all values that would be rounded
#' to them
#' @param x Increasing.
#' @return None where values are few, or repeated at uneven distances.
#' @noRd
spread_ties <- function(x) {
  values <- unique(x)
  if (length(values) > length(x) / 2) {
    return(x)
  }
  steps <- diff(values)
  if (length(values) < 5 || diff(range(steps)) > 1e-6 * max(steps)) {
    return(numeric())
  }
  count <- tabulate(match(x, values))
  x + steps[[1]] * (sequence(count) - 0.5) / rep(count, count) - steps[[1]] / 2
}

# Bounded columns whose line is straight, (K60): not those with one bound and a
# long tail to the other side
straight_columns <- function(support, states) {
  sides <- colSums(is.finite(support))
  tail <- logs_learn(states)$side
  if (is.null(tail)) tail <- rep(0, ncol(states))
  to <- ifelse(is.finite(support[1, ]), 1, -1)
  sides == 2 | (sides == 1 & tail != to)
}

# Bounds of standardised states
scaled_bounds <- function(fit) {
  scaling <- fit$settings$scaling$states
  (fit$settings$support - rep(scaling$x_center, each = 2)) /
    rep(scaling$x_scale, each = 2)
}

# Those of columns that are reflected at them (straight), or of those that are
# mapped
bounds_where <- function(fit, straight) {
  bounds <- scaled_bounds(fit)
  of <- which(as.logical(fit$settings$straight))
  bounds[, (seq_len(ncol(bounds)) %in% of) != straight] <- c(-Inf, Inf)
  bounds
}

# States of the fit's columns, or back; rounding cannot leave the support
states_to_line <- function(fit, x) {
  support_to_line(
    bounds_where(fit, straight = FALSE),
    scaling_x(fit$settings$scaling$states, x)
  )
}

states_from_line <- function(fit, t) {
  bounds <- bounds_where(fit, straight = FALSE)
  x <- unscale_states(fit, support_from_line(bounds, t))
  support <- support_of(fit)
  for (j in seq_len(ncol(x))) {
    x[, j] <- pmax(x[, j], 2 * support[1, j] - x[, j])
    x[, j] <- pmin(x[, j], 2 * support[2, j] - x[, j])
  }
  state_names(within_support(fit, x), fit)
}

within_support <- function(fit, x) {
  support <- support_of(fit)
  kept_between(x, support[1, ], support[2, ])
}

# Fits of earlier versions may have none
support_of <- function(fit) {
  support <- fit$settings$support
  if (is.null(support)) no_bounds(fit$data$states) else support
}

# Distances from a bound, relative to the largest, are at least this: a state on
# the bound itself would be at infinity.
bound_gap <- 1e-6

#' States on the line: logarithms of the distance from the bound
#' @param x Rows x d; `bounds` of each column, at most one of them finite.
#' @noRd
support_to_line <- function(bounds, x) {
  for (j in seq_len(ncol(x))) {
    x[, j] <- to_line(x[, j], bounds[1, j], bounds[2, j])
  }
  x
}

to_line <- function(x, lower, upper) {
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
  drop(t %*% (is.finite(bounds[2, ]) - is.finite(bounds[1, ])))
}
