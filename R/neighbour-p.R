# How far points are from others, as a p-value: checks of kbr()'s observations.

#' P-values of new points among others, by a local outlier factor
#'
#' Up to 1000 of the points, at even steps, are references: they define the
#' scales and are the neighbours. New points and the others are treated alike,
#' so that p is exact if they are exchangeable (split conformal prediction).
#' @param new,points Matrices with the same columns.
#' @return List of `factor` and `p`, one per row of `new`, and the numbers of
#'   `references` and `others`.
#' @noRd
neighbour_p <- function(new, points, k = 15) {
  n <- nrow(points)
  references <- spread_over(n, min(1000, n %/% 2))
  rest <- setdiff(seq_len(n), references)
  others <- rest[spread_over(length(rest), min(length(rest), 1e4))]
  factor_of <- outlier_factor(points[references, , drop = FALSE], k)
  factor <- factor_of(new)
  among <- sort(factor_of(points[others, , drop = FALSE]))
  at_least <- length(among) - findInterval(factor, among, left.open = TRUE)
  list(
    factor = factor, p = (1 + at_least) / (1 + length(among)),
    references = length(references), others = length(among)
  )
}

#' A function of points: their distances to the k-th nearest reference, relative
#' to the mean of the same distances of these k references
#'
#' So sparse regions do not count as far. A tenth of the mean distance is added
#' to both, because distances may be 0.
#' @noRd
outlier_factor <- function(references, k) {
  whiten <- whitening(references)
  near <- whiten(references)
  k <- min(k, nrow(near) - 1)
  # Each reference is its own nearest one.
  own <- sqrt(near_values(near, near, function(d) kth(d, k + 1)))
  more <- max(0.1 * mean(own), 1e-8)
  function(points) {
    near_values(whiten(points), near, function(d) {
      edge <- kth(d, k)
      (sqrt(edge) + more) / (mean(own[d <= edge]) + more)
    })
  }
}

kth <- function(d, k) sort(d, partial = k)[[k]]

# Values of a function of the squared distances of each point to the references;
# equal points have distance 0
near_values <- function(points, references, f) {
  blocks <- lapply(row_blocks(points, nrow(references)), function(rows) {
    squared <- matrix(0, nrow(references), length(rows))
    for (j in seq_len(ncol(points))) {
      squared <- squared + outer(references[, j], points[rows, j], "-")^2
    }
    apply(squared, 2, f)
  })
  as.double(unlist(blocks))
}

#' A function that gives points unit covariance: that of `x` if it has many
#' rows, otherwise only unit variances
#'
#' Directions in which x does not vary have a small scale, not none: a point
#' that leaves them is far.
#' @noRd
whitening <- function(x, least = 1e-8) {
  center <- colMeans(x)
  centred <- sweep(x, 2, center)
  size <- apply(abs(x), 2, max)
  size[size == 0] <- 1
  scale <- pmax(sqrt(colMeans(centred^2)), least * size)
  turn <- diag(1 / scale, length(scale))
  if (nrow(x) >= 5 * ncol(x)) {
    found <- eigen(crossprod(centred %*% turn) / nrow(x), symmetric = TRUE)
    spread <- sqrt(pmax(found$values, least * found$values[[1]], least))
    turn <- turn %*% sweep(found$vectors, 2, spread, "/")
  }
  function(points) sweep(points, 2, center) %*% turn
}

#' Two-sided p-values of numbers in each column among others
#' @param new,points Matrices with the same columns.
#' @noRd
column_p <- function(new, points) {
  n <- nrow(points)
  out <- vapply(seq_len(ncol(points)), function(j) {
    sorted <- sort(points[, j])
    at_most <- findInterval(new[, j], sorted)
    at_least <- n - findInterval(new[, j], sorted, left.open = TRUE)
    pmin(1, 2 * (1 + pmin(at_most, at_least)) / (n + 1))
  }, numeric(nrow(new)))
  matrix(out, nrow(new), ncol(new), dimnames = list(NULL, colnames(points)))
}
