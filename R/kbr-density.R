# Quantiles and densities of a state under a posterior of kbr().

check_kbr_probs <- function(probs) {
  check_probs(if (is.null(probs)) c(0.05, 0.5, 0.95) else probs)
}

# Quantiles of increasing points with weights of any sign: (K9)
#
# Equal points have one value of the distribution function, whatever their
# order.
signed_quantiles <- function(x, w, probs) {
  if (!all(is.finite(w))) {
    return(rep(NA_real_, length(probs)))
  }
  distribution <- isotonic_cpp(cumsum(w)[findInterval(x, x)])
  distribution <- pmin(pmax(distribution, 0), 1)
  at <- findInterval(probs, distribution, left.open = TRUE) + 1
  x[pmin(at, length(x))]
}

kbr_density <- function(fit, seen, at, bandwidth) UseMethod("kbr_density")

#' @export
kbr_density.kb_kbr <- function(fit, seen, at, bandwidth) {
  x <- fit$data$states
  at <- check_points_like(at, x, "at")
  w <- probability_weights(fit, seen)
  widths <- density_bandwidth(x, w, bandwidth)
  out <- vapply(seq_len(nrow(w)), function(i) {
    if (anyNA(w[i, ])) {
      return(rep(NA_real_, nrow(at)))
    }
    reflected_density(x, w[i, ], widths[i, ], at, support_of(fit))
  }, numeric(nrow(at)))
  matrix(out, nrow(w), nrow(at), byrow = TRUE)
}

# A Gaussian density of weighted points; what would lie beyond a bound is
# reflected there. With its images it is a product over columns.
reflected_density <- function(x, w, widths, at, bounds) {
  values <- lapply(row_blocks(at, nrow(x)), function(rows) {
    each <- lapply(seq_len(ncol(x)), function(j) {
      reflected_kernel(at[rows, j], x[, j], widths[[j]], bounds[, j])
    })
    drop(Reduce(`*`, each) %*% w)
  })
  is_within_bounds(at, bounds) * unlist(values)
}

# Of one column, at x points; grids repeat their values
reflected_kernel <- function(at, x, width, bounds) {
  values <- unique(at)
  kernel <- function(centre) stats::dnorm(outer(centre, x, "-"), sd = width)
  out <- kernel(values)
  for (bound in bounds[is.finite(bounds)]) {
    near <- which(abs(values - bound) < 8 * width)
    out[near, ] <- out[near, ] + kernel(2 * bound - values[near])
  }
  out[match(at, values), , drop = FALSE]
}

is_within_bounds <- function(x, bounds) {
  colSums(t(x) < bounds[1, ] | t(x) > bounds[2, ]) == 0
}

# A point has so many images at most, and so many are seen at once.
most_images <- 1e5

#' Sums of a density over points and their images beyond bounds, (K60)
#'
#' Where it is no product over columns, each bound that is near doubles the
#' images.
#' @param bounds,reach Matrices, 2 x d: images farther from their point than
#'   twice the reach do not count.
#' @param f The density, a function of points.
#' @noRd
reflected_sum <- function(at, bounds, reach, f) {
  counts <- rep(1, nrow(at))
  for (j in seq_len(ncol(at))) {
    counts <- counts * (1 + rowSums(near_bounds(at[, j], bounds[, j], reach[, j])))
  }
  if (max(counts, 0) > most_images) refuse_images(max(counts), bounds)
  blocks <- split(seq_len(nrow(at)), ceiling(cumsum(counts) / most_images))
  unlist(lapply(unname(blocks), function(rows) {
    seen <- reflected_points(at[rows, , drop = FALSE], bounds, reach)
    as.vector(rowsum(f(seen$points), seen$row))
  }))
}

near_bounds <- function(x, bounds, reach) {
  abs(outer(x, bounds, "-")) < rep(reach, each = length(x))
}

refuse_images <- function(count, bounds) {
  d <- sum(colSums(is.finite(bounds)) > 0)
  kb_abort(c(
    "The density of {d} bounded states together takes too long: each bound that
     is near doubles the work.",
    x = "A point has {count} images beyond the bounds; at most {most_images} are
         computed.",
    i = "Give {.arg bandwidth}: each state is then smoothed by itself, whatever
         their number. {.code support = \"none\"} of {.fn kbr} has no bounds."
  ), c("argument", "not_defined"), argument = "bandwidth")
}

# Points with their images, and the row of `at` that each comes of
reflected_points <- function(at, bounds, reach) {
  points <- at
  row <- seq_len(nrow(at))
  for (j in seq_len(ncol(at))) {
    near <- near_bounds(points[, j], bounds[, j], reach[, j])
    from <- points
    of <- row
    for (i in 1:2) {
      image <- from[near[, i], , drop = FALSE]
      image[, j] <- 2 * bounds[i, j] - image[, j]
      points <- rbind(points, image)
      row <- c(row, of[near[, i]])
    }
  }
  list(points = points, row = row)
}

# Standard deviations of the smoothing, (K10), rows x d
density_bandwidth <- function(x, w, bandwidth) {
  d <- ncol(x)
  if (!is.null(bandwidth)) {
    if (!is.numeric(bandwidth) || !length(bandwidth) %in% c(1, d) ||
      !all(is.finite(bandwidth) & bandwidth > 0)) {
      bad_argument(
        bandwidth, "bandwidth", paste("a positive number, or", d, "of them")
      )
    }
    return(matrix(bandwidth, nrow(w), d, byrow = TRUE))
  }
  m <- 1 / rowSums(w^2)
  x <- sweep(x, 2, colMeans(x))
  variance <- w %*% x^2 - (w %*% x)^2
  whole <- colMeans(x^2)
  whole[whole == 0] <- 1
  low <- which(sweep(variance, 2, 1e-6 * whole, "<"), arr.ind = TRUE)
  for (k in seq_len(nrow(low))) {
    i <- low[k, 1]
    j <- low[k, 2]
    variance[i, j] <- quantile_variance(x[, j], w[i, ], whole[[j]])
  }
  sqrt(variance) * (4 / ((d + 2) * pmax(m, 1)))^(1 / (d + 4))
}

# If signed weights give no variance: that of a normal distribution with the
# same central interval; `usual` if the interval is a point
quantile_variance <- function(x, w, usual) {
  order <- order(x)
  ends <- signed_quantiles(x[order], w[order], stats::pnorm(c(-1, 1)))
  if (isTRUE(ends[[2]] > ends[[1]])) (diff(ends) / 2)^2 else usual
}

# A smooth density through weighted states at an observation, on the line: for
# draws and densities, (K46).

smoothing_points <- 300
smoothing_factors <- c(1, 0.7, 0.5, 0.35, 0.25, 0.18, 0.12, 0.08)

# Widths of single points: these factors of the distance of so near a neighbour
near_rank <- 8
near_factors <- c(1, 0.7, 0.5, 0.35, 0.25)

#' Gaussian smoothing of weighted points, with the width of largest left-out
#' likelihood, (K46), or a width for each point, (K49)
#' @param t Points, n x d; `w` their weights, which sum to one.
#' @return List of `root` (d x d: the upper Cholesky factor of the covariance of
#'   the points), `mean` (d), `width` (relative to it) and `spread` (by how
#'   much the smoothing would widen them); `near`, if points have widths of
#'   their own: some `points`, whitened, and the `factor`.
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
  out <- list(
    root = root, mean = mean, width = usual, spread = sqrt(1 + usual^2)
  )
  if (length(rows) <= 2) {
    return(out)
  }
  squares <- as.matrix(stats::dist(z))^2
  share <- counts / sum(counts)
  fixed <- best_left_out(squares, share, as.list(usual * smoothing_factors), d)
  out$width <- fixed$width
  out$spread <- sqrt(1 + fixed$width^2)
  if (length(rows) < 2 * near_rank) {
    return(out)
  }
  reach <- neighbour_distances(squares)
  near <- best_left_out(
    squares, share, lapply(near_factors, function(c) c * reach), d
  )
  if (clearly_more(near$values - fixed$values, share)) {
    out$near <- list(points = z, factor = near_factors[[near$which]])
    out$spread <- sqrt(1 + sum(share * near$width^2))
  }
  out
}

#' The best of some widths, each a number or one per point
#' @return List of `width`, `which`, and `values`: log densities of left-out
#'   points.
#' @noRd
best_left_out <- function(squares, w, widths, d) {
  values <- lapply(widths, function(width) left_out_log(squares, w, width, d))
  best <- which.max(vapply(values, function(v) sum(w * v), 0))
  list(width = widths[[best]], which = best, values = values[[best]])
}

# By more than two standard errors
clearly_more <- function(gain, w) {
  mean <- sum(w * gain)
  mean > 2 * sqrt(sum(w * (gain - mean)^2) / length(gain))
}

# Of the neighbour of a given rank in each row; points that coincide are none
neighbour_distances <- function(squares) {
  squares[squares < 1e-12] <- Inf
  k <- min(near_rank, ncol(squares))
  sqrt(apply(squares, 1, function(v) sort(v, partial = k)[[k]]))
}

# One width for all points, or one for each
own_widths <- function(s, t) {
  if (is.null(s$near)) {
    return(s$width)
  }
  z <- whiten_about(s, t)
  squares <- outer(rowSums(z^2), rowSums(s$near$points^2), "+") -
    2 * tcrossprod(z, s$near$points)
  s$near$factor * neighbour_distances(squares)
}

# Rows in units in which the covariance is one
whiten <- function(x, root) t(forwardsolve(t(root), t(x)))

#' The same about a mean
#' @param s With the `mean` and `root` of `smoothing()`.
#' @noRd
whiten_about <- function(s, t) whiten(sweep(t, 2, s$mean), s$root)

# Columns that do not vary get a little
covariance_root <- function(covariance) {
  size <- max(diag(covariance), .Machine$double.xmin)
  chol(covariance + diag(1e-10 * size, nrow(covariance)))
}

# Log densities of points given the others; columns of the kernel are points
left_out_log <- function(squares, w, width, d) {
  least <- min(width)
  kernel <- exp(-squares / rep(2 * width^2, each = nrow(squares)))
  diag(kernel) <- 0
  density <- as.vector(kernel %*% (w * (least / width)^d)) / (1 - w)
  log(pmax(density, 1e-300)) - d * log(least)
}

# Draws from the smooth density with the mean and covariance of the points
smooth_draws <- function(t, w, n) {
  s <- smoothing(t, w)
  # In random order: copies of a point follow each other.
  rows <- systematic_rows(w, n)[sample.int(n)]
  noise <- matrix(stats::rnorm(n * ncol(t)), n) %*% s$root
  drawn <- unique(rows)
  widths <- rep_len(own_widths(s, t[drawn, , drop = FALSE]), length(drawn))
  draws <- sweep(t[rows, , drop = FALSE], 2, s$mean) +
    widths[match(rows, drawn)] * noise
  sweep(draws / s$spread, 2, s$mean, "+")
}

#' @export
kbr_draws.kb_kbr_at <- function(fit, seen, ndraws) {
  ndraws <- check_kbr_draws(if (is.null(ndraws)) 200L else ndraws, fit, seen)
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
  inside <- is_within_bounds(at, fit$settings$support)
  at <- at[inside, , drop = FALSE]
  line <- states_to_line(fit, at)
  slope <- line_log_slope(bounds_where(fit, straight = FALSE), line) -
    sum(log(fit$settings$scaling$states$x_scale))
  mirrors <- bounds_where(fit, straight = TRUE)
  w <- as.vector(fit$weights)
  s <- smoothing(fit$line, w)
  values <- reflected_sum(line, mirrors, mirror_reach(fit, mirrors), function(at) {
    smooth_density(fit$line, w, at, s)
  })
  out <- rep(0, length(inside))
  out[inside] <- exp(slope) * values
  matrix(out, 1)
}

# How far inside the bounds what lies beyond them is reflected: by states, and
# their smoothing
mirror_reach <- function(fit, mirrors) {
  t <- fit$line
  w <- as.vector(fit$weights)
  sd <- sqrt(colSums(w * sweep(t, 2, colSums(w * t))^2))
  ends <- apply(t[w > 0, , drop = FALSE], 2, range)
  beyond <- (mirrors - ends) * c(1, -1)
  pmax(beyond, 0) + rep(3 * sd, each = 2)
}

# On the line, at rows of `at`
smooth_density <- function(t, w, at, s = smoothing(t, w)) {
  if (!is.null(s$near)) {
    return(near_density(s, t, w, at))
  }
  points <- sweep(t, 2, s$mean) / s$spread
  width <- s$width / s$spread
  values <- embedding_values(
    whiten(points, s$root), w, kernel_gaussian(width),
    whiten_about(s, at)
  )
  log_size <- sum(log(diag(s$root))) + ncol(t) * log(sqrt(2 * pi) * width)
  values * exp(-log_size)
}

# Each point with its own width; of many points as many as draws would have
near_points <- 5000

near_density <- function(s, t, w, at) {
  if (nrow(t) > near_points) {
    t <- t[systematic_rows(w, near_points), , drop = FALSE]
    w <- 1 / near_points
  }
  widths <- own_widths(s, t) / s$spread
  points <- t(whiten_about(s, t)) / s$spread
  at <- whiten_about(s, at)
  size <- exp(-sum(log(diag(s$root)))) / (sqrt(2 * pi) * widths)^nrow(points)
  vapply(seq_len(nrow(at)), function(i) {
    sum(w * size * exp(-colSums((points - at[i, ])^2) / (2 * widths^2)))
  }, 0)
}
