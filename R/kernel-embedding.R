# Maxima of embeddings: maximum a posteriori points, and the rotation nearest to
# a weighted mean of rotations.

#' The maximiser of an embedding, sum_i w_i k(x, x_i)
#'
#' Gaussian kernel: fixed-point iteration. Rotations: exact. Other kernels:
#' numerically, within a box about the points, because embeddings need not be
#' bounded outside.
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

# Conditional mean embeddings: kernel ridge regression of the features of y on
# x, and the kernel sum rule.

#' Conditional mean embedding
#'
#' `cond_embedding(x, y)` is the kernel mean of Y given X = x, learned from pairs:
#' weights \deqn{w(x) = (G_X + n \epsilon I)^{-1} k_X(x)}{w(x) = (G_X + n eps I)^-1
#' k_X(x)} on the \eqn{y_i}, so that E\[f(Y) | x\] is estimated by \eqn{\sum_i w_i(x)
#' f(y_i)}{sum_i w_i(x) f(y_i)} for any function f. Weights may be negative and do
#' not sum to one; far from the \eqn{x_i} they go to zero, and so do conditional
#' means.
#'
#' `kernel_sum_rule()` is the law of total probability for kernel means: with a
#' prior \eqn{\sum_j \gamma_j k_X(\cdot, u_j)}{sum_j gamma_j k_X(., u_j)} of X
#' it gives the kernel mean of Y, with weights
#' \eqn{(G_X + n \epsilon I)^{-1} G_{XU} \gamma}{(G_X + n eps I)^-1 G_XU gamma}.
#' \eqn{G_X} is replaced by \eqn{R R'}, its pivoted incomplete Cholesky factor
#' with r columns. Time is O(n r^2 + r^3) once, memory O(n r).
#' @param x,y Pairs: numeric matrices n x d_x and n x d_y, one pair per row; a
#'   vector is a matrix of one column.
#' @param kernel_x,kernel_y Kernels, see [kb_kernels]; a bandwidth `"median"` is
#'   [bandwidth_median()] of the points. `kernel_x` must be built in. `kernel_y`
#'   is the kernel of the kernel means of Y and does not affect the weights.
#' @param eps The regularisation, a positive number, as in
#'   \eqn{n \epsilon}{n eps}; `NULL`: 0.1 / n.
#' @param rank `"auto"`, `"full"`, or the largest rank r. `"auto"` is full up
#'   to 300 pairs; beyond, r is at most 500 and the trace of
#'   \eqn{G_X - R R'}{G_X - R R'} at most 1e-6 of that of \eqn{G_X}.
#' @param tol `NULL`, or the share of the trace that may be left out, between 0
#'   and 1; with `rank = "auto"` r is then limited only by n.
#' @param object A conditional embedding.
#' @param newdata Points x, N x d_x; by default the points of the pairs.
#' @param type `"mean"`, `"weights"` or `"embedding"`.
#' @param f For `"mean"`: `NULL`, or a function of the matrix of the
#'   \eqn{y_i} (n x d_y) that returns n numbers or a numeric matrix of n rows.
#' @param prior A [kernel_mean()] of X with the kernel of `object`
#'   (`object$kernel_x`).
#' @param ... Not used: unknown arguments are errors.
#' @return `cond_embedding()`: a list of class `kb_cond_embedding`, plain R
#'   data: `features` (the factor R and its pivots), `gram` (\eqn{R'R}), `x`,
#'   `y`, `kernel_x` and `kernel_y` (their bandwidths numbers) and `eps`.
#'
#'   `predict()`: `"mean"` the conditional mean of y, N x d_y in units of y, or
#'   of f(y), with one column per column of f; `"weights"` N x n; `"embedding"`
#'   a list of N kernel means of Y.
#'
#'   `kernel_sum_rule()`: a kernel mean of Y.
#' @section Errors: `kb_error_custom_kernel` where `kernel_x` is not built in;
#'   `kb_error_kernel` where the prior has another kernel; `kb_error_singular` where
#'   `eps` is too small for the equations to be solved.
#' @references
#' Song, L., Huang, J., Smola, A. and Fukumizu, K. (2009). Hilbert space
#' embeddings of conditional distributions with applications to dynamical
#' systems. *Proceedings of the 26th International Conference on Machine
#' Learning*, 961-968. \doi{10.1145/1553374.1553497}
#' @seealso [kernel_mean()], [bandwidth_median()].
#' @examples
#' geyser <- cond_embedding(
#'   faithful$eruptions, faithful$waiting, kernel_gaussian(0.5)
#' )
#' geyser
#' predict(geyser, c(2, 3, 4.5))
#' # P(waiting > 60 | eruption)
#' predict(geyser, c(2, 3, 4.5), f = function(y) y > 60)
#'
#' # waiting, if all eruptions were long
#' prior <- kernel_mean(c(4, 4.2, 4.4), geyser$kernel_x)
#' waiting <- kernel_sum_rule(geyser, prior)
#' waiting
#' mean(waiting)
#' @export
cond_embedding <- function(x, y, kernel_x = kernel_gaussian(),
                           kernel_y = kernel_gaussian(), eps = NULL,
                           rank = "auto", tol = NULL) {
  x <- check_some_points(x)
  y <- check_some_points(y)
  check_paired(x, y)
  kernel_x <- check_kernel(kernel_x)
  kernel_y <- check_kernel(kernel_y)
  check_kernel_dimension(kernel_y, ncol(y))
  n <- nrow(x)
  eps <- if (is.null(eps)) 0.1 / n else check_number(eps, 0, open = TRUE)
  features <- kernel_features(kernel_x, x, rank, tol)
  sealed(structure(
    list(
      features = features, gram = crossprod_cpp(features$factor),
      x = x, y = y, kernel_x = features$kernel,
      kernel_y = kernel_resolve(kernel_y, y), eps = eps
    ),
    class = "kb_cond_embedding"
  ))
}

#' @rdname cond_embedding
#' @export
predict.kb_cond_embedding <- function(object, newdata = object$x,
                                      type = c("mean", "weights", "embedding"),
                                      f = NULL, ...) {
  check_no_dots(...)
  check_object(object)
  type <- check_choice(type, c("mean", "weights", "embedding"))
  refuse_ignored(
    type, c(f = !is.null(f)), if (type == "mean") "f", "cond_embedding"
  )
  newdata <- check_points_like(newdata, object$x)
  if (type == "mean") {
    values <- if (is.null(f)) object$y else check_function_values(f, object$y)
    return(cond_mean(object, newdata, values))
  }
  weights <- cond_weights(object, newdata)
  if (type == "weights") weights else row_means(weights, object)
}

#' @rdname cond_embedding
#' @export
kernel_sum_rule <- function(object, prior) {
  check_class(object, "kb_cond_embedding", "a result of `cond_embedding()`")
  check_object(object)
  check_kernel_mean(prior)
  check_same_kernel(prior$kernel, object$kernel_x, c("prior", "object"))
  check_points_like(prior$points, object$x, "prior")
  moments <- matrix(0, length(object$features$pivots), 1)
  for (rows in row_blocks(prior$points, nrow(moments))) {
    phi <- features_at(object, prior$points[rows, , drop = FALSE])
    moments <- moments + crossprod(phi, prior$weights[rows])
  }
  weights <- object$features$factor %*% cond_coefficients(object, moments)
  new_kernel_mean(object$y, as.double(weights), object$kernel_y)
}

#' @export
print.kb_cond_embedding <- function(x, digits = 3, ...) {
  check_no_dots(...)
  check_object(x)
  n <- nrow(x$x)
  left <- x$features$residual / x$features$trace
  cat(
    "Conditional mean embedding from ", counted(n, "pair"), "\n",
    "  x: ", counted(ncol(x$x), "column"), ", ", shorten(format(x$kernel_x)),
    "\n",
    "  y: ", counted(ncol(x$y), "column"), ", ", shorten(format(x$kernel_y)),
    "\n",
    "  eps ", format(x$eps, digits = digits), ", rank ",
    length(x$features$pivots), " (",
    format(100 * left, digits = digits), "% of the trace left out)\n",
    sep = ""
  )
  invisible(x)
}

# Algebra ----------------------------------------------------------------------

features_at <- function(object, points) {
  incomplete_cholesky_features(object$features, points)
}

# (R'R + n eps I)^-1 moments: coefficients along the features, r x m, (K2)
cond_coefficients <- function(object, moments) {
  ridge_coefficients(object$gram, moments, nrow(object$x) * object$eps)
}

# Conditional means of values at the pairs, N x m
#
# Multiplied by the values first, which avoids an N x n matrix.
cond_mean <- function(object, newdata, values) {
  slopes <- cond_coefficients(
    object, crossprod(object$features$factor, values)
  )
  blocks <- lapply(row_blocks(newdata, nrow(slopes)), function(rows) {
    features_at(object, newdata[rows, , drop = FALSE]) %*% slopes
  })
  out <- do.call(rbind, c(list(matrix(0, 0, ncol(values))), blocks))
  colnames(out) <- colnames(values)
  drop_row_names(out)
}

# Weights of the pairs at points, N x n
cond_weights <- function(object, newdata) {
  phi <- features_at(object, newdata)
  t(object$features$factor %*% cond_coefficients(object, t(phi)))
}

row_means <- function(weights, object) {
  lapply(seq_len(nrow(weights)), function(i) {
    new_kernel_mean(object$y, weights[i, ], object$kernel_y)
  })
}

# Checks -----------------------------------------------------------------------

# As many points y as points x
check_paired <- function(x, y) {
  if (nrow(x) != nrow(y)) {
    kb_abort(c(
      "{.arg x} and {.arg y} must be pairs, with the same number of rows.",
      x = "They have {nrow(x)} and {nrow(y)} rows."
    ), "dimension")
  }
}

# f at points, as a matrix with a row for each
check_function_values <- function(f, points, arg = rlang::caller_arg(f)) {
  if (!is.function(f)) {
    bad_argument(f, arg, "NULL or a function of a matrix of points")
  }
  n <- nrow(points)
  what <- of_argument(arg, "points", "argument")
  out <- call_user(f, what, NULL, points)
  fine <- (is.numeric(out) || is.logical(out)) && NROW(out) == n &&
    length(dim(out)) <= 2 && all(is.finite(out))
  if (!fine) {
    refuse_value(
      what, NULL, paste(counted(n, "finite number"), "or as many rows"),
      describe(out)
    )
  }
  out <- as.matrix(out)
  storage.mode(out) <- "double"
  out
}
