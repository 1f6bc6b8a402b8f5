# The posterior of kbr() as a probability on the states: the nearest one to its
# signed weights, (K30).

# Relative to the kernel's trace. The kernel means of very different
# probabilities agree up to this: the one whose weights are nearest to the
# signed ones is taken.
probability_ridge <- 1e-5

#' Weights that are not negative and sum to one
#' @param w Signed weights that sum to one, rows x n.
#' @return List of `weights` (rows x n, `NA` where `w` is) and `distance`: that
#'   of the kernel means, as a share of the norm of the signed one, one per row.
#' @noRd
nearest_probabilities <- function(fit, w) {
  states <- fit$features$states
  ridge <- probability_ridge * states$trace
  distance <- rep(NA_real_, nrow(w))
  for (i in which(stats::complete.cases(w))) {
    found <- nearest_probability(states$factor, w[i, ], ridge)
    w[i, ] <- found$weights
    distance[[i]] <- found$distance
  }
  list(weights = w, distance = distance)
}

nearest_probability <- function(factor, w, ridge) {
  norm <- sqrt(sum(crossprod(factor, w)^2))
  # A kernel that is zero on all states tells nothing of them.
  if (ridge == 0 || norm == 0) ridge <- 1
  found <- kbr_probability_cpp(factor, w, ridge)
  found$distance <- if (norm > 0) found$distance / norm else 0
  found
}

probability_weights <- function(fit, seen) UseMethod("probability_weights")

#' @export
probability_weights.kb_kbr <- function(fit, seen) {
  nearest_probabilities(fit, weight_shares(fit, seen))$weights
}

# Standard deviations of probabilities p of the states (rows x n), rows x d
probability_sd <- function(fit, p) {
  x <- sweep(fit$data$states, 2, fit$posterior$center)
  state_names(sqrt(pmax(p %*% x^2 - (p %*% x)^2, 0)), fit)
}

# Rows x d x probs
probability_quantiles <- function(fit, p, probs) {
  x <- fit$data$states
  out <- array(0, c(nrow(p), ncol(x), length(probs)), list(
    NULL, colnames(x), paste0(100 * probs, "%")
  ))
  for (j in seq_len(ncol(x))) {
    order <- order(x[, j])
    for (i in seq_len(nrow(p))) {
      out[i, j, ] <- signed_quantiles(x[order, j], p[i, order], probs)
    }
  }
  out
}
