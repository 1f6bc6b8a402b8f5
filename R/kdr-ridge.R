# Kernel ridge regression of features of the states on transformed
# observations, with its gradients: one stage of kdr().

#' Features of the states: centred, the leading principal ones
#' @return Matrix n x q.
#' @noRd
kdr_targets <- function(kernel, x, rank, most = 50) {
  found <- kdr_features(kernel, x, rank)
  centred <- sweep(found$factor, 2, colMeans(found$factor))
  axes <- eigen(features_gram_cpp(centred, NULL), symmetric = TRUE)$vectors
  centred %*% axes[, seq_len(min(most, ncol(axes))), drop = FALSE]
}

kdr_features <- function(kernel, x, rank) {
  incomplete_cholesky(kernel, x, min(rank, nrow(x)), 1e-7)
}

#' Ridge regression of the targets on features of z
#' @param eps A number, or NULL for generalised cross-validation, (K36).
#' @return List of `features` (without its factor), `coefficients` (r x q, of
#'   the features), `eps` and `error`, the score of (K36) relative to the
#'   targets' mean square.
#' @noRd
kdr_ridge <- function(z, targets, kernel, rank, eps) {
  n <- nrow(z)
  features <- kdr_features(kernel, z, rank)
  spectrum <- ridge_spectrum(features$factor, targets)
  grid <- if (is.null(eps)) ridge_grid else eps
  scores <- ridge_scores(spectrum, sum(targets^2), n, grid)
  best <- which.min(scores)
  features$factor <- features$factor[features$pivots, , drop = FALSE]
  features$pivots <- seq_along(features$pivots)
  shrink <- 1 / (spectrum$lambda + n * grid[[best]])
  list(
    features = features, eps = grid[[best]], error = scores[[best]],
    coefficients = spectrum$vectors %*% (shrink * spectrum$moments)
  )
}

ridge_grid <- 10^seq(-7, 0, by = 0.5)

# R'R = Q diag(lambda) Q' and Q'R'T
ridge_spectrum <- function(factor, targets) {
  found <- eigen(features_gram_cpp(factor, NULL), symmetric = TRUE)
  moments <- features_cross_cpp(factor, targets, rep(1, nrow(factor)))
  list(
    vectors = found$vectors, lambda = pmax(found$values, 0),
    moments = crossprod(found$vectors, moments)
  )
}

ridge_scores <- function(spectrum, total, n, grid) {
  moments <- rowSums(spectrum$moments^2)
  vapply(grid, function(eps) {
    gcv_score(spectrum$lambda, moments, total, n, n * eps)
  }, 0)
}

# (K36), relative to the mean square of the targets. Effective parameters count
# 1.4 times: otherwise a few rows far from the others may be interpolated.
gcv_score <- function(lambda, moments, total, n, ridge) {
  s <- 1 / (lambda + ridge)
  residual <- total - sum((2 * s - s^2 * lambda) * moments)
  free <- n - 1.4 * sum(s * lambda)
  # States that are all equal have no error.
  if (free > 0) residual * n^2 / (max(total, 1e-300) * free^2) else Inf
}

kdr_predict <- function(fit, z) {
  incomplete_cholesky_features(fit$features, z) %*% fit$coefficients
}

#' M, the mean over the rows of z of gradients times themselves, (K35)
#'
#' Targets are rotated first; those that are nearly constant are left out.
#' @noRd
gradient_moment <- function(fit, z, share = 1 - 1e-4) {
  basis <- svd(fit$coefficients, nv = 0)
  kept <- seq_len(min(share_count(basis$d^2, share), length(basis$d)))
  scaled <- sweep(basis$u[, kept, drop = FALSE], 2, basis$d[kept], "*")
  slopes <- backsolve(t(fit$features$factor), scaled)
  points <- fit$features$points
  terms <- kernel_slopes(fit$features$kernel, z, points)
  moment <- matrix(0, ncol(z), ncol(z))
  terms <- lapply(terms, function(term) {
    c(term, list(across = t(term$weight), level = term$weight %*% slopes))
  })
  for (l in kept) {
    gradient <- matrix(0, nrow(z), ncol(z))
    for (term in terms) {
      gradient <- gradient + term_gradient(term, slopes[, l], l, points, z)
    }
    moment <- moment + features_gram_cpp(gradient, NULL)
  }
  moment / nrow(z)
}

# The gradients, n x d, of the function sum_p slope[p] k(z_p, .), one term
term_gradient <- function(term, slope, l, points, z) {
  from <- features_cross_cpp(
    term$across, slope * points, rep(1, nrow(points))
  )
  sweep(from, 2, term$from, "*") - sweep(z * term$level[, l], 2, term$to, "*")
}
