# The number of features of a kernel: the only code that interprets `rank` and
# `tol`.

#' Features of points under a kernel, G ~ R R'
#'
#' @param rank `"auto"`, `"full"`, or the largest number of features. `"auto"`
#'   is full up to 300 points; beyond, at most 500 features at the tolerance
#'   1e-6.
#' @param tol `NULL`, or the share of the trace of G that may be left out; with
#'   `rank = "auto"` it alone determines the number of features. Without it a
#'   full or given rank stops early only at rounding error.
#' @return The value of `incomplete_cholesky()`.
#' @noRd
kernel_features <- function(kernel, x, rank = "auto", tol = NULL) {
  x <- check_points(x)
  limits <- feature_limits(nrow(x), rank, tol)
  incomplete_cholesky(kernel, x, limits$rank, limits$tol)
}

# The largest rank and the tolerance for n points
feature_limits <- function(n, rank, tol) {
  given <- !is.null(tol)
  tol <- if (given) check_number(tol, 0, 1) else 0
  if (is.numeric(rank)) {
    return(list(rank = check_count(rank, 1), tol = tol))
  }
  if (!rlang::is_string(rank) || !rank %in% c("auto", "full")) {
    bad_argument(rank, "rank", '"auto", "full" or a whole number')
  }
  if (given && rank == "full") {
    kb_abort(c(
      "{.arg tol} would have no effect with {.code rank = \"full\"}.",
      i = "{.code rank = \"auto\"} takes as many features as {.arg tol} needs."
    ), "argument", argument = "tol")
  }
  if (given || rank == "full" || n <= 300) {
    return(list(rank = max(n, 1), tol = tol))
  }
  list(rank = 500, tol = 1e-6)
}

# The same for a kernel matrix
gram_features <- function(gram, rank = "auto", tol = NULL) {
  limits <- feature_limits(nrow(gram), rank, tol)
  incomplete_cholesky_gram(gram, rank = limits$rank, tol = limits$tol)
}
