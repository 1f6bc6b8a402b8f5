# Conditional mean embeddings: kernel ridge regression of the features of y on
# x, and the kernel sum rule.

#' Conditional mean embedding
#'
#' The kernel mean of Y given X = x, learned from pairs: weights
#' \deqn{w(x) = (G_X + n \epsilon I)^{-1} k_X(x)}{w(x) = (G_X + n eps I)^-1
#' k_X(x)}
#' on the \eqn{y_i}, so that E\[f(Y) | x\] is estimated by
#' \eqn{\sum_i w_i(x) f(y_i)}{sum_i w_i(x) f(y_i)} for any function f.
#'
#' `kernel_sum_rule()` is the law of total probability for kernel means: with a
#' prior \eqn{\sum_j \gamma_j k_X(\cdot, u_j)}{sum_j gamma_j k_X(., u_j)} of X
#' it gives the kernel mean of Y, with weights
#' \eqn{(G_X + n \epsilon I)^{-1} G_{XU} \gamma}{(G_X + n eps I)^-1 G_XU gamma}.
#'
#' Weights may be negative and do not sum to one; far from the \eqn{x_i} they go
#' to zero, and so do conditional means. They are not modified.
#'
#' \eqn{G_X} is replaced by \eqn{R R'}, its pivoted incomplete Cholesky factor
#' with r columns, and \eqn{k_X(x)} by \eqn{R \phi(x)}{R phi(x)}, where
#' \eqn{\phi(x)}{phi(x)} are the r features of x. At full rank this is exact.
#' Time is O(n r^2 + r^3) once, memory O(n r).
#'
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
#'
#' @return `cond_embedding()`: a list of class `kb_cond_embedding`, plain R
#'   data: `features` (the factor R and its pivots), `gram` (\eqn{R'R}), `x`,
#'   `y`, `kernel_x` and `kernel_y` (their bandwidths numbers) and `eps`.
#'
#'   `predict()`: `"mean"` the conditional mean of y, N x d_y in units of y, or
#'   of f(y), with one column per column of f; `"weights"` N x n; `"embedding"`
#'   a list of N kernel means of Y.
#'
#'   `kernel_sum_rule()`: a kernel mean of Y.
#' @section Errors:
#' `kb_error_argument` for arguments outside their range, no pairs and values
#' of `f` that are not n finite numbers or rows; `kb_error_not_finite` for
#' missing or infinite points; `kb_error_dimension` where numbers of rows or
#' columns disagree; `kb_error_custom_kernel` where `kernel_x` is not built in;
#' `kb_error_kernel` where the prior has another kernel; `kb_error_singular`
#' where `eps` is too small for the equations to be solved.
#' @references
#' Song, L., Huang, J., Smola, A. and Fukumizu, K. (2009). Hilbert space
#' embeddings of conditional distributions with applications to dynamical
#' systems. *Proceedings of the 26th International Conference on Machine
#' Learning*, 961-968. \doi{10.1145/1553374.1553497}
#'
#' Fukumizu, K., Song, L. and Gretton, A. (2013). Kernel Bayes' rule: Bayesian
#' inference with positive definite kernels. *Journal of Machine Learning
#' Research* 14, 3753-3783.
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
  structure(
    list(
      features = features, gram = features_gram_cpp(features$factor, NULL),
      x = x, y = y, kernel_x = features$kernel,
      kernel_y = kernel_resolve(kernel_y, y), eps = eps
    ),
    class = "kb_cond_embedding"
  )
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
    type, "none", c(f = !is.null(f)), if (type == "mean") "f", "cond_embedding"
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
