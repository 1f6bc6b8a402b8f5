# A smooth density through weighted states at an observation, on the line: for
# draws and densities, (K46).

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
  z <- whiten(centred[rows, , drop = FALSE], root)
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

# Rows in units in which the covariance is one
whiten <- function(x, root) t(forwardsolve(t(root), t(x)))

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
  # In random order: copies of a point follow each other.
  rows <- systematic_rows(w, n)[sample.int(n)]
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
  draws <- states_from_line(fit, draws)
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
  support <- fit$settings$support
  inside <- colSums(t(at) < support[1, ] | t(at) > support[2, ]) == 0
  at <- at[inside, , drop = FALSE]
  line <- states_to_line(fit, at)
  slope <- line_log_slope(scaled_bounds(fit), line) -
    sum(log(fit$settings$scaling$states$x_scale))
  out <- rep(0, length(inside))
  out[inside] <- exp(slope) * smooth_density(
    fit$line, as.vector(fit$weights), line
  )
  matrix(out, 1)
}

# On the line, at rows of `at`
smooth_density <- function(t, w, at) {
  s <- smoothing(t, w)
  shrunk <- sqrt(1 + s$width^2)
  points <- sweep(t, 2, s$mean) / shrunk
  width <- s$width / shrunk
  values <- embedding_values(
    whiten(points, s$root), w, kernel_gaussian(width),
    whiten(sweep(at, 2, s$mean), s$root)
  )
  log_size <- sum(log(diag(s$root))) + ncol(t) * log(sqrt(2 * pi) * width)
  values * exp(-log_size)
}
