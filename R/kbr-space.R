# Spaces of states: vectors, angles on a circle, rotations. Kernels use a
# numeric matrix (the code), users see states.

#' @return List: `type`, `encode` (states to code) and `names` of the states.
#' @noRd
state_space <- function(type, names) {
  structure(
    list(type = type, names = names),
    class = c(paste0("kb_space_", type), "kb_space")
  )
}

# Code of checked states
space_encode <- function(space, x) UseMethod("space_encode")

# The state nearest to a mean of codes, one per row
space_decode <- function(space, code) UseMethod("space_decode")

# Distances of states, row by row, in the metric of the space
space_distance <- function(space, a, b) UseMethod("space_distance")

# How to get from states b to states a, row by row, in coordinates of the space
# at b: differences, or axis times angle of b'a for rotations
space_minus <- function(space, a, b) UseMethod("space_minus")

# Where one gets from states b by such a displacement
space_plus <- function(space, b, v) UseMethod("space_plus")

#' Coordinates for plots: columns, angles in radians
#' @return Matrix with column names; its attribute `circular` says which
#'   columns are angles.
#' @noRd
space_coordinates <- function(space, x) UseMethod("space_coordinates")

space_in_words <- function(space) {
  switch(space$type,
    euclidean = paste("vectors of", counted(length(space$names), "dimension")),
    circle = "on a circle", rotation = "rotations"
  )
}

check_space <- function(space, x, arg) {
  space <- check_choice(space, c("euclidean", "circle", "rotation"),
    arg = "space"
  )
  wanted <- c(euclidean = ncol(x), circle = 1, rotation = 9)[[space]]
  if (ncol(x) != wanted) {
    kb_abort(c(
      "With {.code space = \"{space}\"} {.arg {arg}} must have {wanted}
       column{?s}.",
      x = "It has {ncol(x)}."
    ), "dimension", argument = arg)
  }
  if (space == "rotation") check_rotations(x, arg)
  state_space(space, colnames(x))
}

check_rotations <- function(x, arg) {
  off <- rotation_errors(x)
  if (any(off > 1e-6)) {
    kb_abort(c(
      "Rows of {.arg {arg}} must be 3 x 3 rotation matrices, by columns.",
      x = "{sum(off > 1e-6)} of {length(off)} are not rotation matrices."
    ), "argument", argument = arg)
  }
}

# How far rows are from matrices with M'M = I and det M = 1
rotation_errors <- function(x) {
  column <- function(j) x[, 3 * j - 2:0, drop = FALSE]
  dot <- function(i, j) rowSums(column(i) * column(j))
  a <- column(1)
  b <- column(2)
  cross <- cbind(
    a[, 2] * b[, 3] - a[, 3] * b[, 2], a[, 3] * b[, 1] - a[, 1] * b[, 3],
    a[, 1] * b[, 2] - a[, 2] * b[, 1]
  )
  pmax(
    abs(dot(1, 1) - 1), abs(dot(2, 2) - 1), abs(dot(3, 3) - 1),
    abs(dot(1, 2)), abs(dot(1, 3)), abs(dot(2, 3)),
    abs(rowSums(cross * column(3)) - 1)
  )
}

# Vectors ----------------------------------------------------------------------

#' @export
space_encode.kb_space_euclidean <- function(space, x) x
#' @export
space_decode.kb_space_euclidean <- function(space, code) code
#' @export
space_distance.kb_space_euclidean <- function(space, a, b) {
  sqrt(rowSums((a - b)^2))
}
#' @export
space_minus.kb_space_euclidean <- function(space, a, b) a - b
#' @export
space_plus.kb_space_euclidean <- function(space, b, v) b + v
#' @export
space_coordinates.kb_space_euclidean <- function(space, x) {
  structure(x, circular = rep(FALSE, ncol(x)))
}

# Angles -----------------------------------------------------------------------

#' @export
space_encode.kb_space_circle <- function(space, x) {
  cbind(cos = cos(x[, 1]), sin = sin(x[, 1]))
}
#' @export
space_decode.kb_space_circle <- function(space, code) {
  matrix(atan2(code[, 2], code[, 1]), dimnames = list(NULL, space$names))
}
#' @export
space_distance.kb_space_circle <- function(space, a, b) {
  abs(wrap_angle(a[, 1] - b[, 1]))
}
#' @export
space_minus.kb_space_circle <- function(space, a, b) wrap_angle(a - b)
#' @export
space_plus.kb_space_circle <- function(space, b, v) wrap_angle(b + v)
#' @export
space_coordinates.kb_space_circle <- function(space, x) {
  structure(x, circular = TRUE)
}

# Angles in (-pi, pi]
wrap_angle <- function(a) pi - (pi - a) %% (2 * pi)

# Rotations --------------------------------------------------------------------

#' @export
space_encode.kb_space_rotation <- function(space, x) x
#' @export
space_decode.kb_space_rotation <- function(space, code) {
  out <- t(apply(code, 1, function(m) {
    if (anyNA(m)) m else nearest_rotation(m)$x
  }))
  dimnames(out) <- list(NULL, space$names)
  out
}
# Frobenius distance of the matrices
#' @export
space_distance.kb_space_rotation <- space_distance.kb_space_euclidean

#' @export
space_minus.kb_space_rotation <- function(space, a, b) {
  rotation_cpp(b, a)
}
#' @export
space_plus.kb_space_rotation <- function(space, b, v) {
  out <- rotation_cpp(b, v)
  dimnames(out) <- list(NULL, space$names)
  out
}

# Yaw, pitch and roll: R = Rz(yaw) Ry(pitch) Rx(roll)
#' @export
space_coordinates.kb_space_rotation <- function(space, x) {
  structure(
    cbind(
      yaw = atan2(x[, 2], x[, 1]),
      pitch = -asin(pmin(pmax(x[, 3], -1), 1)),
      roll = atan2(x[, 6], x[, 9])
    ),
    circular = rep(TRUE, 3)
  )
}

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

# Bounds that the draws of the prior show, (K59)
#
# The lower bound of positive columns with a long tail is 0 unless their
# logarithms have an edge, too.
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
  known <- fit$settings$straight
  # Fits of earlier versions mapped states with two bounds.
  mapped <- is.null(known) && fit$settings$method == "adjusted"
  if (mapped && any(is.finite(colSums(bounds)))) refuse_damage("fit", "settings")
  of <- which(as.logical(known))
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
