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
