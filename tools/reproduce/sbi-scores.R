# How far draws are from those of a reference posterior. Sourced by sbi.R. Both
# scores are those of Lueckmann et al. (2021).

# C2ST: the accuracy of a classifier of reference against draws, by five-fold
# cross-validation. 0.5: the same; 1: easily told apart. The classifier is a
# network of two hidden layers of 10 d rectified linear units, trained by Adam.
# Columns are standardised by the reference. 1600 steps of 200 rows each, if
# there are at least 2000 draws.
c2st <- function(reference, draws, folds = 5) {
  x <- rbind(reference, draws)
  x <- scale(x, colMeans(reference), apply(reference, 2, stats::sd))
  y <- rep(0:1, c(nrow(reference), nrow(draws)))
  set.seed(1)
  fold <- sample(rep_len(seq_len(folds), length(y)))
  mean(vapply(seq_len(folds), function(k) {
    network <- ANN2::neuralnetwork(
      x[fold != k, , drop = FALSE], y[fold != k],
      hidden.layers = rep(10 * ncol(x), 2), activ.functions = "relu",
      optim.type = "adam", learn.rates = 1e-3, L2 = 0, batch.size = 200,
      n.epochs = max(50, round(2e5 / nrow(draws))), val.prop = 0,
      standardize = FALSE, verbose = FALSE, random.seed = k
    )
    found <- stats::predict(network, x[fold == k, , drop = FALSE])$predictions
    mean(found == y[fold == k])
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
