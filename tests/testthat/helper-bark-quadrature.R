# Posteriors of a few numbers by quadrature, beside draws.

#' Scores of means of draws
#' @param draws List of vectors of draws, chain by chain.
#' @param grid A column for each, a row per point.
#' @param log_posterior Its value per point, up to a constant.
quadrature_scores <- function(draws, grid, log_posterior, chains = 4) {
  weight <- exp(log_posterior - max(log_posterior))
  truth <- colSums(weight * as.matrix(grid)) / sum(weight)
  vapply(seq_along(draws), function(k) {
    v <- matrix(draws[[k]], ncol = chains)
    se <- stats::sd(v) / sqrt(posterior::ess_mean(v))
    (mean(v) - truth[[k]]) / se
  }, 0)
}
