# How far draws are from those of a reference posterior. Sourced by sbi.R. Both
# scores are those of Lueckmann et al. (2021).

# C2ST: the accuracy of a classifier of reference against draws, by five-fold
# cross-validation. 0.5: the same; 1: easily told apart. The classifier is a
# network of two hidden layers of 10 d units, trained until its loss no longer
# improves, as in the benchmark: see sbi-c2st.cpp. With a fixed, short training
# scores are far too kind where posteriors are thin, as in two_moons. Columns
# are standardised by the reference.
c2st <- function(reference, draws, folds = 5) {
  x <- rbind(reference, draws)
  x <- t(scale(x, colMeans(reference), apply(reference, 2, stats::sd)))
  y <- rep(0:1, c(nrow(reference), nrow(draws)))
  set.seed(1)
  fold <- sample(rep_len(seq_len(folds), length(y)))
  mean(vapply(seq_len(folds), function(k) {
    own <- fold == k
    classify(
      x[, !own, drop = FALSE], y[!own], x[, own, drop = FALSE], y[own],
      hidden = 10 * nrow(x), seed = k
    )[[1]]
  }, 0))
}

# The unbiased estimate of MMD^2 with the Gaussian kernel whose bandwidth is the
# median distance of the reference; not standardised.
mmd2 <- function(reference, draws) {
  s <- stats::median(stats::dist(reference))
  kernel <- function(a, b) {
    square <- outer(rowSums(a^2), rowSums(b^2), "+") - 2 * tcrossprod(a, b)
    exp(-square / (2 * s^2))
  }
  within <- function(a) {
    (sum(kernel(a, a)) - nrow(a)) / (nrow(a) * (nrow(a) - 1))
  }
  within(reference) + within(draws) - 2 * mean(kernel(reference, draws))
}
