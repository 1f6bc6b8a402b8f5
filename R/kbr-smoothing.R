# A smooth density through weighted states at an observation, on the line: for
# draws and densities, (K41).

smoothing_points <- 300
smoothing_factors <- c(1, 0.7, 0.5, 0.35, 0.25, 0.18, 0.12, 0.08)

#' Gaussian smoothing of weighted points, with the width of largest left-out
#' likelihood
#' @param t Points, n x d; `w` their weights, which sum to one.
#' @return List of `root` (d x d: the upper Cholesky factor of the covariance of
#'   the points), `mean` (d) and `width` (relative to it).
#' @noRd
smoothing <- function(t, w) {
  mean <- colSums(w * t)
  centred <- sweep(t, 2, mean)
  covariance <- crossprod(centred * sqrt(w))
  root <- covariance_root(covariance)
  rows <- systematic_rows(w, smoothing_points)
  counts <- tabulate(match(rows, unique(rows)))
  rows <- unique(rows)
  z <- t(forwardsolve(t(root), t(centred[rows, , drop = FALSE])))
  d <- ncol(t)
  usual <- (4 / ((d + 2) * max(1 / sum(w^2), 1)))^(1 / (d + 4))
  width <- usual
  if (length(rows) > 2) {
    squares <- as.matrix(stats::dist(z))^2
    scores <- vapply(smoothing_factors, function(factor) {
      left_out_likelihood(squares, counts / sum(counts), usual * factor, d)
    }, 0)
    width <- usual * smoothing_factors[[which.max(scores)]]
  }
  list(root = root, mean = mean, width = width)
}

# Columns that do not vary get a little
covariance_root <- function(covariance) {
  size <- max(diag(covariance), .Machine$double.xmin)
  chol(covariance + diag(1e-10 * size, nrow(covariance)))
}

left_out_likelihood <- function(squares, w, width, d) {
  kernel <- exp(-squares / (2 * width^2))
  diag(kernel) <- 0
  density <- as.vector(kernel %*% w) / (1 - w)
  sum(w * log(pmax(density, 1e-300))) - d * log(width)
}

#' Draws from the smooth density with the mean and covariance of the points
#' @noRd
smooth_draws <- function(t, w, n) {
  s <- smoothing(t, w)
  rows <- systematic_rows(w, n)
  noise <- matrix(stats::rnorm(n * ncol(t)), n) %*% s$root
  draws <- sweep(t[rows, , drop = FALSE], 2, s$mean) + s$width * noise
  sweep(draws / sqrt(1 + s$width^2), 2, s$mean, "+")
}

#' @export
kbr_draws.kb_kbr_at <- function(fit, seen, ndraws) {
  ndraws <- if (is.null(ndraws)) 200L else check_count(ndraws, 1)
  draws <- with_local_seed(fit$seed, {
    smooth_draws(fit$line, as.vector(fit$weights), ndraws)
  })
  draws <- support_from_line(fit$adjustment$bounds, draws)
  structure(
    array(draws, c(dim(draws), 1), list(
      NULL, colnames(fit$data$states), NULL
    )),
    rows = "last"
  )
}

# With a given bandwidth a Gaussian about each state in its own units; otherwise
# the smooth density of draws
#' @export
kbr_density.kb_kbr_at <- function(fit, seen, at, bandwidth) {
  if (!is.null(bandwidth)) {
    return(NextMethod())
  }
  at <- check_points_like(at, fit$data$states, "at")
  bounds <- fit$adjustment$bounds
  inside <- colSums(t(at) < bounds[1, ] | t(at) > bounds[2, ]) == 0
  out <- rep(0, nrow(at))
  out[inside] <- smooth_density(
    fit$line, as.vector(fit$weights), bounds, at[inside, , drop = FALSE]
  )
  matrix(out, 1)
}

smooth_density <- function(t, w, bounds, at) {
  line <- support_to_line(bounds, at)
  s <- smoothing(t, w)
  shrunk <- sqrt(1 + s$width^2)
  points <- sweep(t, 2, s$mean) / shrunk
  whiten <- function(x) t(forwardsolve(t(s$root), t(x)))
  width <- s$width / shrunk
  values <- embedding_values(
    whiten(points), w, kernel_gaussian(width),
    whiten(sweep(line, 2, s$mean))
  )
  log_size <- sum(log(diag(s$root))) + ncol(t) * log(sqrt(2 * pi) * width)
  values * exp(line_log_slope(bounds, line) - log_size)
}
