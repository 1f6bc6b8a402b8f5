# Which observations are far from those of a fit: farther from the nearest one
# than 1 in 1000 would be, in units of the data, whatever bandwidths were chosen.

# So many rows of a fit are looked at: the largest of their distances is exceeded
# with a probability below 1 in 1000.
far_rows <- 1000

#' @param y Observations, n x p; `block` of each: the nearest row is looked for
#'   in other blocks.
#' @return List of `points` (some of the observations), their `scaling`, and the
#'   `limit` of the distance to the nearest one.
#' @noRd
learn_far <- function(y, block = seq_len(nrow(y))) {
  rows <- spread_over(nrow(y), min(nrow(y), far_rows))
  far <- list(
    points = unname(y[rows, , drop = FALSE]), scaling = robust_scaling(y)
  )
  z <- scaling_x(far$scaling, far$points)
  apart <- squared_distances(z, z)
  # Copies of a row tell nothing of how far others may be.
  apart[outer(block[rows], block[rows], "==") | apart < 1e-10] <- Inf
  c(far, list(limit = far_limit(sqrt(apply(apart, 1, min)))))
}

# Logarithms of columns with a long tail, quartiles apart as those of a standard
# normal distribution; columns that do not vary do not count
robust_scaling <- function(y) {
  scaling <- scaling_learn(unname(y), factor(), TRUE, TRUE)
  z <- scaling_x(scaling, unname(y))
  width <- apply(z, 2, stats::IQR) / diff(stats::qnorm(c(0.25, 0.75)))
  scaling$x_scale <- scaling$x_scale * ifelse(width > 0, width, 1)
  scaling$x_scale[apply(z, 2, function(v) all(v == v[[1]]))] <-
    .Machine$double.xmax
  scaling
}

# The largest distance, or what it would be among 1000 rows: the tail is taken as
# that of a power, with Hill's estimate, at least 0.3
far_limit <- function(d) {
  n <- length(d)
  d <- sort(d[is.finite(d)])
  if (length(d) < least_adjusted) {
    return(Inf)
  }
  k <- ceiling(sqrt(length(d)))
  tail <- utils::tail(d, k + 1)
  power <- mean(log(tail[-1] / tail[[1]]))
  max(tail) * max(1, far_rows / n)^max(power, 0.3)
}

#' @param y New rows.
#' @return List of `far`, one flag per row, and the number of the `nearest` point.
#' @noRd
find_far <- function(far, y) {
  if (is.null(far)) {
    return(list(far = rep(FALSE, nrow(y))))
  }
  points <- scaling_x(far$scaling, far$points)
  # Squares of larger numbers hide the differences of points.
  z <- pmin(pmax(scaling_x(far$scaling, unname(y)), -1e6), 1e6)
  each <- lapply(row_blocks(z, nrow(points)), function(rows) {
    apart <- squared_distances(z[rows, , drop = FALSE], points)
    nearest <- max.col(-apart, "first")
    cbind(apart[cbind(seq_along(nearest), nearest)], nearest)
  })
  each <- do.call(rbind, c(list(matrix(0, 0, 2)), each))
  list(far = sqrt(each[, 1]) > far$limit, nearest = each[, 2])
}

# State-space models: neighbours in time are alike, so that the nearest row is
# looked for in the other fifths of the training period. Of many columns the
# principal components are seen, and the distance from their span.
learn_far_rows <- function(hmm, y) {
  y <- observed_rows(y)
  learn_far(hmm_places(hmm, y), ceiling(seq_len(nrow(y)) / nrow(y) * 5))
}

hmm_places <- function(hmm, y) {
  if (is.null(hmm$scores$axes)) {
    return(y)
  }
  parts <- score_parts(hmm$scores, y)
  cbind(parts$scores, sqrt(parts$rest))
}

# One flag per row of observations, of which some may be missing
far_rows_of <- function(hmm, y) {
  seen <- which(stats::complete.cases(y))
  out <- rep(FALSE, nrow(y))
  out[seen] <- find_far(hmm$far, hmm_places(hmm, y[seen, , drop = FALSE]))$far
  out
}

warn_far_rows <- function(far, lost, total) {
  if (far > 0) {
    kb_warn(c(
      "Observations are far from all training observations, as 1 in 1000 would
       be.",
      x = "{far} of {total} observations {cli::qty(far)}{?is/are} far.",
      x = if (lost > 0) {
        "{lost} of them {cli::qty(lost)}{?was/were} treated as missing."
      },
      i = "Little is known of states that are seen so."
    ), "far")
  }
}
