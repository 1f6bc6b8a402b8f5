#' Pivoted incomplete Cholesky factor of a kernel matrix
#'
#' G ~ R R' with columns of G evaluated only for the pivots. Ties between
#' residuals are broken by the data, so permuted points give the permuted
#' result.
#'
#' @param kernel A built-in kernel.
#' @param x Points, n x d.
#' @param rank The largest rank; NULL for n.
#' @param tol Stop when the trace of G - R R' is at most `tol` times that of G.
#' @return A list: `pivots` (row indices in order of choice), `factor` (R,
#'   n x rank), `residual` (trace of G - R R'), `trace` (of G), and `kernel`
#'   (resolved) and `points` (x at the pivots) for new points.
#' @noRd
incomplete_cholesky <- function(kernel, x, rank = NULL, tol = 1e-8,
                                call = rlang::caller_env()) {
  check_kernel(kernel, call = call)
  x <- check_points(x, call = call)
  check_kernel_dimension(kernel, ncol(x), call = call)
  rank <- if (is.null(rank)) nrow(x) else check_count(rank, 1, call = call)
  tol <- check_number(tol, lower = 0, upper = 1, call = call)
  if (!kernel_is_builtin(kernel)) {
    kb_abort(c(
      "An incomplete Cholesky factor needs a built-in kernel.",
      x = "{.code {format(kernel)}} has a custom part."
    ), "custom_kernel", call = call)
  }
  kernel <- kernel_resolve(kernel, x)
  result <- incomplete_cholesky_cpp(kernel, x, rank, tol)
  c(result, list(kernel = kernel, points = x[result$pivots, , drop = FALSE]))
}

#' Features of new points, phi(z) = L^-1 k(points, z), in rows
#'
#' @param ic From `incomplete_cholesky()`.
#' @param z Points.
#' @noRd
incomplete_cholesky_features <- function(ic, z, call = rlang::caller_env()) {
  z <- check_points(z, call = call)
  check_same_columns(ic$points, z, call = call)
  incomplete_cholesky_features_cpp(
    ic$kernel, ic$points, ic$factor[ic$pivots, , drop = FALSE], z
  )
}
