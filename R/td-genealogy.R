# Genealogy of the particles, for the standard error of the evidence: as class
# Genealogy of the C++ core (inst/include/kernelbayes/genealogy.hpp), for a
# constant number of particles.

new_genealogy <- function(n) {
  list(
    founders = seq_len(n), families = seq_len(n), # one generation after another
    correction = n / (n - 1), resamplings = 0L, closed = 0
  )
}

#' Families are founded anew once the youngest generation of them has lost half;
#' the oldest of four is closed (Olsson and Douc, 2019, on fixed lags): (T8)
#' @param weights Normalised, before resampling.
#' @param multinomial Was that the scheme?
#' @noRd
genealogy_resample <- function(g, ancestors, weights, multinomial) {
  n <- length(weights)
  g$founders <- g$founders[ancestors]
  g$resamplings <- g$resamplings + 1L
  youngest <- length(g$correction)
  due <- length(unique(generation(g, youngest, n))) < 0.5 * n
  if (due && youngest > 3) g <- close_oldest(g, weights)
  g$families <- as.vector(matrix(g$families, n)[ancestors, ])
  chance <- if (multinomial) n / (n - 1) else pair_factor(ancestors, weights)
  g$correction <- g$correction * chance
  if (due) {
    g$families <- c(g$families, seq_len(n))
    g$correction <- c(g$correction, n / (n - 1))
  }
  g
}

generation <- function(g, which, n) g$families[(which - 1) * n + seq_len(n)]

# The factor by which chance, rather than weights, reduced pairs of particles
# from different families: (T7)
pair_factor <- function(ancestors, weights) {
  n <- length(weights)
  chance <- sum((tabulate(ancestors, n) - n * weights)^2)
  pairs <- n^2 * (1 - sum(weights^2))
  if (chance < pairs / 2) 1 / (1 - chance / pairs) else n / (n - 1)
}

close_oldest <- function(g, weights) {
  g$closed <- g$closed + generation_variance(g, 1, weights) -
    generation_variance(g, 2, weights)
  g$families <- g$families[-seq_along(weights)]
  g$correction <- g$correction[-1]
  g
}

# Relative variance of the evidence's estimate (Lee and Whiteley, 2018): (T8)
genealogy_variance <- function(g, weights) {
  if (length(weights) < 2) {
    return(NA_real_)
  }
  g$closed + generation_variance(g, 1, weights)
}

# (T6)
generation_variance <- function(g, which, weights) {
  families <- generation(g, which, length(weights))
  1 - g$correction[[which]] * (1 - sum(rowsum(weights, families)^2))
}
