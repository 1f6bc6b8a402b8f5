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
  rotation_minus_cpp(a, b)
}
#' @export
space_plus.kb_space_rotation <- function(space, b, v) {
  out <- rotation_plus_cpp(b, v)
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
