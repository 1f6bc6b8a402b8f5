# Maxima of embeddings: maximum a posteriori points, and the rotation nearest to
# a weighted mean of rotations.

#' The maximiser of an embedding, sum_i w_i k(x, x_i)
#'
#' Gaussian kernel: fixed-point iteration. Rotations: exact. Other kernels:
#' numerically, within a box about the points, because embeddings need not be
#' bounded outside.
#'
#' @param points n x d.
#' @param weights n numbers of any sign.
#' @param kernel Resolved.
#' @param start `NULL` or points, one per row, to start from; the best of the
#'   maxima reached is returned. By default the point at which the embedding is
#'   largest and the weighted mean.
#' @return List: `x`, `value` (the embedding at x), `converged`, `iterations`.
#' @noRd
embedding_mode <- function(points, weights, kernel, start = NULL) {
  if (is_rotation_kernel(kernel)) {
    return(rotation_mode(points, weights, kernel))
  }
  if (is.null(start)) start <- mode_starts(points, weights, kernel)
  gaussian <- kernel$type == "gaussian"
  ascent <- if (gaussian) fixed_point_ascent else numeric_ascent
  runs <- lapply(seq_len(nrow(start)), function(i) {
    ascent(points, weights, kernel, unname(start[i, ]))
  })
  runs[[which.max(vapply(runs, `[[`, 0, "value"))]]
}

mode_starts <- function(points, weights, kernel) {
  values <- embedding_values(points, weights, kernel, points)
  start <- points[which.max(values), , drop = FALSE]
  if (sums_to_something(weights)) {
    start <- rbind(start, colSums(weights * points) / sum(weights))
  }
  unname(start)
}

# Fixed point of x = sum w_i k_i x_i / sum w_i k_i (Gaussian kernel)
#
# While the denominator, which is the embedding, is positive, the step goes
# uphill, (K12); it is halved until the embedding does not fall. Where the
# embedding is not positive, or all kernel values vanish, there is no step.
fixed_point_ascent <- function(points, weights, kernel, x, max_iter = 1000,
                               tol = 1e-8) {
  terms <- function(x) {
    weights * kernel_evaluate(kernel, points, matrix(x, 1))[, 1]
  }
  at_x <- terms(x)
  value <- sum(at_x)
  result <- function(converged, iterations) {
    list(x = x, value = value, converged = converged, iterations = iterations)
  }
  for (i in seq_len(max_iter)) {
    if (!(value > 0)) {
      return(result(FALSE, i - 1L))
    }
    step <- colSums(at_x * points) / value - x
    repeat {
      if (max(abs(step) / kernel$bandwidth) < tol) {
        return(result(TRUE, i))
      }
      at_new <- terms(x + step)
      if (sum(at_new) >= value) break
      step <- step / 2
    }
    x <- unname(x + step)
    at_x <- at_new
    value <- sum(at_x)
  }
  result(FALSE, max_iter)
}

# Other kernels ----------------------------------------------------------------

# Quasi-Newton steps, then a compass search, which also finds cusps (a
# Laplace kernel has one at every point)
numeric_ascent <- function(points, weights, kernel, x) {
  box <- mode_box(points)
  value <- function(z) embedding_values(points, weights, kernel, z)
  scale <- max(abs(value(matrix(x, 1))), sum(abs(weights)) * 1e-12)
  found <- stats::optim(
    x, function(x) value(matrix(x, 1)),
    function(x) central_gradient(value, x, 1e-4 * box$unit),
    method = "L-BFGS-B", lower = box$lower, upper = box$upper,
    control = list(
      fnscale = -if (scale > 0) scale else 1, parscale = box$unit,
      maxit = 200, factr = 10
    )
  )
  result <- compass_ascent(value, found$par, box)
  result$iterations <- result$iterations + found$counts[[1]]
  result
}

# The points' box, widened by its own size on each side
mode_box <- function(points) {
  lowest <- unname(apply(points, 2, min))
  highest <- unname(apply(points, 2, max))
  unit <- ifelse(highest > lowest, highest - lowest, 1)
  list(lower = lowest - unit, upper = highest + unit, unit = unit)
}

# By central differences, all values in one call
central_gradient <- function(value, x, step) {
  v <- value(compass(x, step))
  up <- seq_along(x)
  (v[up] - v[-up]) / (2 * step)
}

# The points one step up (first d rows) and down each axis
compass <- function(x, step) {
  moves <- diag(step, length(x))
  sweep(rbind(moves, -moves), 2, x, "+")
}

#' Move along an axis while that increases the value, otherwise halve the step
#' @return As `embedding_mode()`; `converged` if the step became small inside
#'   the box.
#' @noRd
compass_ascent <- function(value, x, box, step = 1e-2, tol = 1e-7,
                           max_iter = 1000L) {
  best <- value(matrix(x, 1))
  iterations <- 0L
  while (step > tol && iterations < max_iter) {
    iterations <- iterations + 1L
    tried <- compass(x, step * box$unit)
    tried <- t(pmin(pmax(t(tried), box$lower), box$upper))
    values <- value(tried)
    highest <- which.max(values)
    if (values[[highest]] > best + 1e-14 * abs(best)) {
      x <- tried[highest, ]
      best <- values[[highest]]
    } else {
      step <- step / 2
    }
  }
  inside <- all(x > box$lower & x < box$upper)
  list(
    x = x, value = best, converged = step <= tol && inside,
    iterations = iterations
  )
}

# Rotations --------------------------------------------------------------------

# Rotations maximise Tr(X M'), M = sum w_i X_i, at the projection of M
rotation_mode <- function(points, weights, kernel) {
  nearest <- nearest_rotation(colSums(weights * points))
  list(
    x = nearest$x,
    value = embedding_values(points, weights, kernel, matrix(nearest$x, 1)),
    converged = nearest$unique, iterations = 0L
  )
}

#' The rotation nearest to a 3 x 3 matrix M = U D V': U diag(1, 1, det(UV')) V',
#' (K13)
#'
#' @param m 3 x 3, flattened by columns.
#' @return List: `x`, flattened, and `unique`: is it the only nearest rotation?
#' @noRd
nearest_rotation <- function(m) {
  parts <- svd(matrix(m, 3))
  sign <- sign(det(parts$u) * det(parts$v))
  x <- parts$u %*% (c(1, 1, sign) * t(parts$v))
  gap <- parts$d[[2]] + sign * parts$d[[3]]
  list(x = as.double(x), unique = gap > 1e-10 * parts$d[[1]])
}
