# Kernel Bayes' rule in dense algebra, as printed: the reference for kbr().

normal_points <- function(n, d, seed = 1) {
  withr::with_seed(seed, matrix(stats::rnorm(n * d), n, d))
}

#' Two states, partly determined by an observation of two columns
kbr_pairs <- function(n, seed = 1) {
  x <- normal_points(n, 2, seed)
  y <- cbind(x[, 1] + 0.5 * x[, 2]^2, x[, 2]) +
    0.4 * normal_points(n, 2, 1000 + seed)
  list(x = x, y = y)
}

#' @param gx,gy Kernel matrices of the pairs; `gxu` for states and prior points.
#' @param ky Kernel of the pairs' observations and new ones, one per column.
#' @return List of `mu` and `w`, raw weights, one column per observation.
dense_kbr <- function(gx, gy, gxu, gamma, ky, eps, delta) {
  n <- nrow(gx)
  one <- diag(n)
  mu <- drop(solve(gx + n * eps * one, gxu %*% gamma))
  l <- mu * gy
  list(mu = mu, w = l %*% solve(l %*% l + delta * one, mu * ky))
}

#' The importance-weighted form, D G_Y pushed through: D (G_Y D + delta I)^-1 k
dense_iw <- function(gx, gy, gxu, gamma, ky, eps, delta) {
  n <- nrow(gx)
  mu <- drop(solve(gx + n * eps * diag(n), gxu %*% gamma))
  d <- pmax(mu, 0)
  list(mu = mu, w = d * solve(gy %*% diag(d) + delta * diag(n), ky))
}

#' The thresholded form of Song, Zhu and Ren: (G_Y + delta D^-1)^-1 k on the
#' states where mu is positive, nothing elsewhere
dense_thresholded <- function(mu, gy, ky, delta) {
  kept <- mu > 0
  w <- 0 * ky
  w[kept, ] <- solve(
    gy[kept, kept] + diag(delta / mu[kept]), ky[kept, , drop = FALSE]
  )
  w
}

#' Features of points from kernel values with the pivots: phi = L^-1 k
dense_features <- function(found, kernel, z) {
  pivots <- found$factor[found$pivots, , drop = FALSE]
  t(solve(pivots, t(kernel_matrix(kernel, z, found$points))))
}

#' The dense form on the factors of a fit, G := R R'
dense_of_fit <- function(fit, prior, newdata, dense = dense_kbr) {
  r_x <- fit$features$states$factor
  r_y <- fit$features$observations$factor
  phi_u <- dense_features(fit$features$states, fit$features$states$kernel, prior$points)
  phi_y <- dense_features(fit$features$observations, fit$features$observations$kernel, newdata)
  dense(
    tcrossprod(r_x), tcrossprod(r_y), tcrossprod(r_x, phi_u), prior$weights,
    tcrossprod(r_y, phi_y), fit$settings$eps, fit$settings$delta
  )
}

#' Priors of all kinds, with their points and weights
kbr_priors <- function(x, seed = 9) {
  u <- 0.4 + 0.7 * normal_points(50, ncol(x), seed)
  w <- withr::with_seed(seed, stats::rnorm(50) + 0.6)
  n <- nrow(x)
  list(
    own = list(given = NULL, points = x, weights = rep(1 / n, n)),
    sample = list(
      given = list(points = u), points = u, weights = rep(1 / 50, 50)
    ),
    weighted = list(
      given = list(points = u, weights = w^2),
      points = u, weights = w^2 / sum(w^2)
    ),
    signed = list(
      given = list(points = u, weights = w), points = u, weights = w / sum(w)
    ),
    on_states = list(
      given = list(weights = seq_len(n)), points = x,
      weights = seq_len(n) / sum(seq_len(n))
    )
  )
}

#' Largest difference relative to the largest value
gap <- function(found, wanted) {
  max(abs(unname(found) - unname(wanted))) / max(abs(wanted))
}

expect_close <- function(found, wanted, tolerance) {
  testthat::expect_lt(gap(found, wanted), tolerance)
}

#' Kernel herding by its definition: numbers of the candidates
herd_plainly <- function(mean, n, candidates = mean$points) {
  value <- predict(mean, candidates)
  gram <- kernel_matrix(mean$kernel, candidates)
  chosen <- integer()
  for (t in seq_len(n)) {
    among <- rowSums(gram[, chosen, drop = FALSE])
    chosen <- c(chosen, which.max(value - among / t))
  }
  chosen
}

#' kbr() with the method of Fukumizu, Song and Gretton (2013)
kbr_rule <- function(...) kbr(..., method = "kbr")
