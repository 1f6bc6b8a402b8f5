#' Pivoted incomplete Cholesky factor of a kernel matrix
#'
#' G ~ R R'. Only the columns of the pivots are evaluated, except for custom
#' kernels, which need all of G. Ties between residuals are broken by the data,
#' so permuted points give the permuted result.
#'
#' @param kernel A kernel.
#' @param x Points, n x d.
#' @param rank The largest rank; NULL for n.
#' @param tol Stop when the trace of G - R R' is at most `tol` times that of G.
#' @return A list: `pivots` (row indices in order of choice), `factor` (R,
#'   n x rank), `residual` (trace of G - R R'), `trace` (of G), and `kernel`
#'   (resolved) and `points` (x at the pivots) for new points.
#' @noRd
incomplete_cholesky <- function(kernel, x, rank = NULL, tol = 1e-8) {
  kernel <- check_kernel(kernel)
  x <- check_points(x)
  check_kernel_dimension(kernel, ncol(x))
  rank <- largest_rank(rank, nrow(x))
  tol <- check_number(tol, lower = 0, upper = 1)
  kernel <- kernel_resolve(kernel, x)
  check_memory(
    as.double(nrow(x)) * min(rank, nrow(x)), "The features",
    "Use a smaller {.arg rank}."
  )
  result <- if (kernel_is_builtin(kernel)) {
    core_value(incomplete_cholesky_cpp(kernel, x, rank, tol))
  } else {
    gram <- kernel_evaluate(kernel, x)
    check_diagonal(gram, "kernel")
    core_value(incomplete_cholesky_gram_cpp(gram, x, rank, tol))
  }
  c(result, list(kernel = kernel, points = x[result$pivots, , drop = FALSE]))
}

#' The same for a Gram matrix
#'
#' @param gram G: n x n, symmetric, positive semidefinite.
#' @param x The points it belongs to, or something else that distinguishes them,
#'   to break ties; without them the largest row sum goes first, and remaining
#'   ties are broken by index.
#' @param rank,tol As in `incomplete_cholesky()`.
#' @return As `incomplete_cholesky()`, `kernel` and `points` NULL.
#' @noRd
incomplete_cholesky_gram <- function(gram, x = NULL, rank = NULL, tol = 1e-8) {
  gram <- check_gram(gram)
  if (!is.null(x)) x <- check_gram_points(x, nrow(gram))
  rank <- largest_rank(rank, nrow(gram))
  tol <- check_number(tol, lower = 0, upper = 1)
  result <- core_value(incomplete_cholesky_gram_cpp(gram, x, rank, tol))
  c(result, list(kernel = NULL, points = NULL))
}

#' Features of new points, phi(z) = L^-1 k(pivots, z), in rows
#'
#' @param ic From `incomplete_cholesky()` or `incomplete_cholesky_gram()`.
#' @param z Points; for a Gram matrix their kernel values with all n points of
#'   the sample, one column per point.
#' @noRd
incomplete_cholesky_features <- function(ic, z) {
  z <- check_points(z)
  if (is.null(ic$kernel)) {
    return(features_from_values(ic, pivot_values(ic, z)))
  }
  check_same_columns(ic$points, z)
  if (!kernel_is_builtin(ic$kernel)) {
    values <- kernel_evaluate(ic$kernel, z, ic$points)
    return(features_from_values(ic, values))
  }
  incomplete_cholesky_features_cpp(ic$kernel, ic$points, pivot_factor(ic), z)
}

pivot_factor <- function(ic) {
  ic$factor[ic$pivots, , drop = FALSE]
}

# Columns of the pivots of kernel values with the whole sample
pivot_values <- function(ic, z) {
  n <- nrow(ic$factor)
  if (ncol(z) != n) {
    kb_abort(c(
      "Kernel values of new points must have {n} columns, one per point of the
       sample.",
      x = "They have {ncol(z)}."
    ), "dimension")
  }
  z[, ic$pivots, drop = FALSE]
}

# L^-1 of kernel values with the pivots
features_from_values <- function(ic, values) {
  if (length(ic$pivots) == 0) {
    return(matrix(0, nrow(values), 0))
  }
  t(forwardsolve(pivot_factor(ic), t(unname(values))))
}

# (gram + ridge I)^-1 moments: coefficients along features
ridge_coefficients <- function(gram, moments, ridge) {
  tryCatch(
    ridge_coefficients_cpp(gram, moments, ridge),
    "C++Error" = function(error) {
      kb_abort(c(
        "The equations of the features cannot be solved.",
        x = "{conditionMessage(error)}.",
        i = "Use a larger {.arg eps}."
      ), "singular", parent = error)
    }
  )
}

# Checks ---------------------------------------------------------------------

largest_rank <- function(rank, n) {
  if (is.null(rank)) n else check_count(rank, 1, arg = "rank")
}

# A Gram matrix: square, finite, symmetric, without negative diagonal elements
#
# That it is positive semidefinite is not checked.
check_gram <- function(gram, arg = rlang::caller_arg(gram)) {
  gram <- check_points(gram, arg = arg)
  if (nrow(gram) != ncol(gram)) {
    kb_abort(c(
      "{.arg {arg}} must be square.",
      x = "It is {nrow(gram)} x {ncol(gram)}."
    ), "dimension", argument = arg)
  }
  gap <- asymmetry_cpp(gram)
  if (gap > 1e-8 * max(abs(gram))) {
    kb_abort(c(
      "{.arg {arg}} must be symmetric.",
      x = "Entries that should agree differ by up to {signif(gap, 3)}."
    ), "not_symmetric", argument = arg)
  }
  check_diagonal(gram, arg)
  gram
}

#' @param arg The argument that the matrix is or comes from.
#' @noRd
check_diagonal <- function(gram, arg) {
  least <- min(diag(gram), Inf)
  if (least < 0) {
    kb_abort(c(
      "{.arg {arg}} must be positive semidefinite.",
      x = "The smallest value on the diagonal is {signif(least, 3)}."
    ), "not_positive", argument = arg)
  }
}

check_gram_points <- function(x, n) {
  x <- check_points(x, arg = "x")
  if (nrow(x) != n) {
    kb_abort(c(
      "{.arg x} must have a row for each row of the Gram matrix.",
      x = "They have {nrow(x)} and {n}."
    ), "dimension", argument = "x")
  }
  x
}
