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
# at b: differences, or the logarithm of b'a for rotations
space_minus <- function(space, a, b) UseMethod("space_minus")

# Where one gets from states b by such a displacement
space_plus <- function(space, b, v) UseMethod("space_plus")

#' Coordinates for plots: columns, angles in radians
#' @return Matrix with column names; its attribute `circular` says which
#'   columns are angles.
#' @noRd
space_coordinates <- function(space, x) UseMethod("space_coordinates")

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
  rotation_log(rotation_product(b, a, transpose = TRUE))
}
#' @export
space_plus.kb_space_rotation <- function(space, b, v) {
  out <- rotation_product(b, rotation_exp(v))
  dimnames(out) <- list(NULL, space$names)
  out
}

# A B or A'B, row by row
rotation_product <- function(a, b, transpose = FALSE) {
  out <- matrix(0, nrow(a), 9)
  for (i in 1:3) {
    row <- if (transpose) 3 * i - 2:0 else c(i, i + 3, i + 6)
    for (j in 1:3) {
      out[, i + 3 * (j - 1)] <- rowSums(
        a[, row, drop = FALSE] * b[, 3 * j - 2:0, drop = FALSE]
      )
    }
  }
  out
}

# Axis times angle of rotations, rows of three; near a half turn the axis is
# that of (M + M') / 2
rotation_log <- function(m) {
  v <- cbind(m[, 6] - m[, 8], m[, 7] - m[, 3], m[, 2] - m[, 4]) / 2
  sine <- sqrt(rowSums(v^2))
  angle <- atan2(sine, (m[, 1] + m[, 5] + m[, 9] - 1) / 2)
  out <- v * ifelse(sine > 1e-8, angle / sine, 1)
  for (i in which(angle > pi - 1e-4)) {
    axis <- eigen(matrix(m[i, ] + m[i, c(1, 4, 7, 2, 5, 8, 3, 6, 9)], 3),
      symmetric = TRUE
    )$vectors[, 1]
    out[i, ] <- angle[[i]] * axis * if (sum(axis * v[i, ]) < 0) -1 else 1
  }
  out
}

# Rodrigues' formula
rotation_exp <- function(v) {
  angle <- sqrt(rowSums(v^2))
  a <- ifelse(angle > 1e-8, sin(angle) / angle, 1)
  b <- ifelse(angle > 1e-4, (1 - cos(angle)) / angle^2, 0.5)
  x <- v[, 1]
  y <- v[, 2]
  z <- v[, 3]
  cbind(
    1 - b * (y^2 + z^2), a * z + b * x * y, b * x * z - a * y,
    b * x * y - a * z, 1 - b * (x^2 + z^2), a * x + b * y * z,
    a * y + b * x * z, b * y * z - a * x, 1 - b * (x^2 + y^2)
  )
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
