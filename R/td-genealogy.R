# Who descends from whom, for the standard error of the evidence: as class
# Genealogy of the C++ core (inst/include/kernelbayes/genealogy.hpp), for a
# number of particles that never changes.

#' @noRd
new_genealogy <- function(n) {
  list(
    founders = seq_len(n), families = seq_len(n), resamplings = 0L,
    stretch = 0L, closed = 0
  )
}

#' Once few families are left they are founded anew, and the variances of the
#' stretches in between are added (Olsson and Douc, 2019, on fixed lags)
#' @param weights Normalised, before resampling.
#' @noRd
genealogy_resample <- function(g, ancestors, weights) {
  n <- length(weights)
  g$founders <- g$founders[ancestors]
  g$resamplings <- g$resamplings + 1L
  if (length(unique(g$families)) < 0.25 * n) {
    g$closed <- g$closed + stretch_variance(g, weights)
    g$families <- seq_len(n)
    g$stretch <- 0L
  } else {
    g$families <- g$families[ancestors]
    g$stretch <- g$stretch + 1L
  }
  g
}

#' Relative variance of the evidence's estimate (Lee and Whiteley, 2018)
#' @noRd
genealogy_variance <- function(g, weights) {
  if (length(weights) < 2) NA_real_ else g$closed + stretch_variance(g, weights)
}

#' @noRd
stretch_variance <- function(g, weights) {
  n <- length(weights)
  same <- sum(rowsum(weights, g$families)^2)
  1 - (n / (n - 1))^(g$stretch + 1) * (1 - same)
}
