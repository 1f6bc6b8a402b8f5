# Coordinates of the span of the training points' features, in which the prior
# of kgs() is isotropic: f = L w with L L' = G, from a pivoted Cholesky factor.

#' A basis of the span of points
#'
#' Any square root of G gives the same model: the prior is the same in all
#' orthonormal bases of the span. The root from a pivoted Cholesky factor needs
#' only the kernel at the pivots, and can be extended by further points.
#'
#' @param kernel A resolved kernel, bias included.
#' @param x Distinct points.
#' @param rank The largest rank.
#' @return List: `kernel`, `points` (the pivots, in order of choice), `factor`
#'   (their lower triangular factor, r x r), `unexplained` (the share of the
#'   kernel's trace that is not in the span).
#' @noRd
kgs_basis <- function(kernel, x, rank, tol = 1e-12) {
  if (!kernel_is_builtin(kernel)) {
    return(extend_basis(empty_basis(kernel, x), x, tol, rank))
  }
  rank <- min(rank, nrow(x))
  check_memory(
    as.double(nrow(x)) * rank, "The features",
    "Use a smaller {.arg rank}."
  )
  found <- core_value(incomplete_cholesky_cpp(kernel, x, rank, tol))
  list(
    kernel = kernel, points = x[found$pivots, , drop = FALSE],
    factor = found$factor[found$pivots, , drop = FALSE],
    unexplained = found$residual / found$trace
  )
}

empty_basis <- function(kernel, x) {
  list(kernel = kernel, points = x[0, , drop = FALSE], factor = matrix(0, 0, 0))
}

#' The basis extended by further points: existing coordinates do not change
#'
#' In blocks of points, so that memory is bounded.
#' @param limit The largest rank.
#' @noRd
extend_basis <- function(basis, x, tol = 1e-12, limit = Inf) {
  for (rows in row_blocks(x, 1000, 1e6)) {
    basis <- extend_by_block(basis, x[rows, , drop = FALSE], tol, limit)
  }
  basis$unexplained <- unexplained_share(basis, x)
  basis
}

extend_by_block <- function(basis, x, tol, limit) {
  r <- nrow(basis$factor)
  if (r >= limit) {
    return(basis)
  }
  old <- basis_features(basis, x)
  residual <- kernel_evaluate(basis$kernel, x) - tcrossprod(old)
  # chol() compares a single residual; all together may leave out a share.
  self <- kernel_self(basis$kernel, x)
  least <- max(tol * mean(self), 1e-12 * sum(self))
  # chol() always accepts the first pivot.
  if (max(diag(residual)) <= least) {
    return(basis)
  }
  root <- suppressWarnings(chol(residual, pivot = TRUE, tol = least))
  new <- seq_len(min(attr(root, "rank"), limit - r))
  pivots <- attr(root, "pivot")[new]
  factor <- matrix(0, r + length(new), r + length(new))
  factor[seq_len(r), seq_len(r)] <- basis$factor
  factor[r + new, seq_len(r)] <- old[pivots, ]
  factor[r + new, r + new] <- t(root[new, new])
  basis$points <- rbind(basis$points, x[pivots, , drop = FALSE])
  basis$factor <- factor
  basis
}

# The share of the kernel's trace at points that is not in the span
unexplained_share <- function(basis, x) {
  trace <- sum(kernel_self(basis$kernel, x))
  if (trace == 0) 0 else 1 - sum(basis_features(basis, x)^2) / trace
}

# Coordinates of points, n x r
basis_features <- function(basis, x) {
  if (nrow(basis$points) == 0) {
    return(matrix(0, nrow(x), 0))
  }
  if (kernel_is_builtin(basis$kernel)) {
    return(incomplete_cholesky_features_cpp(
      basis$kernel, basis$points, basis$factor, x
    ))
  }
  t(forwardsolve(
    basis$factor, t(kernel_evaluate(basis$kernel, x, basis$points))
  ))
}

# k(x, x) of each point
kernel_self <- function(kernel, x) {
  if (kernel_is_builtin(kernel)) {
    return(kernel_diagonal_cpp(kernel, x))
  }
  blocks <- row_blocks(x, 200, 200 * 200)
  unlist(lapply(blocks, function(rows) {
    diag(kernel_evaluate(kernel, x[rows, , drop = FALSE]))
  }))
}
