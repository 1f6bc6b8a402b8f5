# The rows at which kbr() predicts, in coordinates of the kernel, and warnings
# about rows far from the data.

#' The complete rows of newdata, or all of the fit
#' @return As `observe()`, with `complete`: a logical for each row of newdata.
#' @noRd
kbr_seen <- function(fit, newdata) {
  if (is.null(newdata)) {
    n <- nrow(fit$data$observations)
    if (n == 0) {
      bad_argument(newdata, "newdata", "given: the pairs were not kept")
    }
    return(c(observe_rows(fit, seq_len(n)), list(
      complete = rep(TRUE, n), far = rep(FALSE, n)
    )))
  }
  observe_complete(fit, kbr_rows(fit, newdata))
}

# Those that are complete
observe_complete <- function(fit, rows) {
  c(
    observe(fit, rows$y[rows$complete, , drop = FALSE]),
    rows[c("complete", "far")]
  )
}

#' Observations as the kernel sees them
#' @return List of `y`, which rows are `complete`, and which of these are `far`:
#'   the nearest observation of the fit takes their place.
#' @noRd
kbr_rows <- function(fit, newdata) {
  if (is.null(fit$features$observations$kernel)) {
    return(gram_rows(fit, newdata))
  }
  moulded_rows(fit, mould_forge(fit$mould, observation_rows(fit, newdata))$x)
}

moulded_rows <- function(fit, y) {
  complete <- stats::complete.cases(y)
  found <- find_far(fit$far, y[complete, , drop = FALSE])
  instead <- fit$far$points[found$nearest[found$far], , drop = FALSE]
  y[which(complete)[found$far], ] <- instead
  list(
    y = scaled_observations(fit, y), complete = complete, far = found$far
  )
}

# A vector is one observation where the fit has several columns, and several
# observations where it has one, whatever its name
observation_rows <- function(fit, newdata) {
  columns <- names(fit$mould$columns)
  if (!is.numeric(newdata) || !is.null(dim(newdata))) {
    return(newdata)
  }
  if (length(columns) == 1) {
    return(matrix(newdata, ncol = 1, dimnames = list(NULL, columns)))
  }
  if (length(newdata) == length(columns)) {
    return(matrix(newdata, 1, dimnames = list(NULL, names(newdata))))
  }
  newdata
}

gram_rows <- function(fit, newdata) {
  if (is.null(dim(newdata)) && length(newdata) == fit$time) {
    newdata <- t(newdata)
  }
  complete <- stats::complete.cases(newdata)
  if (is.matrix(newdata)) newdata[!complete, ] <- 0
  newdata <- check_points(newdata, "newdata")
  if (ncol(newdata) != fit$time) {
    kb_abort(c(
      "{.arg newdata} must have a kernel value for each of the {fit$time}
       observations of the fit.",
      x = "It has {ncol(newdata)} column{?s}."
    ), "columns", argument = "newdata")
  }
  list(y = newdata, complete = complete, far = rep(FALSE, sum(complete)))
}

# Results of complete rows in their positions: the first dimension, or the last
# of three
place_rows <- function(values, complete) {
  if (!all(complete)) {
    values <- take_rows(values, match(seq_along(complete), which(complete)))
  }
  attr(values, "rows") <- NULL
  values
}

take_rows <- function(values, at) {
  if (is.list(values)) {
    return(values[at])
  }
  if (identical(attr(values, "rows"), "last")) {
    out <- structure(values[, , at, drop = FALSE], rows = "last")
  } else if (length(dim(values)) == 3) {
    out <- values[at, , , drop = FALSE]
  } else {
    out <- values[at, , drop = FALSE]
  }
  if (!is.null(attr(values, "converged"))) {
    attr(out, "converged") <- attr(values, "converged")[at]
  }
  out
}

# Warnings ---------------------------------------------------------------------

# Features explain less than this share of k(y, y): nothing near.
far_share <- 1e-3

warn_far <- function(seen) {
  far <- sum(seen$far)
  if (far > 0) {
    kb_warn(c(
      "Observations are far from all of the fit, as 1 in 1000 would be: the
       nearest of the fit are used instead.",
      x = "{far} of {length(seen$far)} observation{?s} {?is/are} far.",
      i = "Do not trust their posterior. Add pairs closer to them."
    ), "far")
  }
  alone <- sum(seen$near < far_share & !seen$far)
  if (alone > 0) {
    kb_warn(c(
      "Observations are unknown to the kernel of the observations.",
      x = "{alone} of {length(seen$near)} {?is/are}. Their posterior is not determined by the data, or NA.",
      i = "Use a wider {.arg kernel_y}, or add pairs closer to them."
    ), "far")
  }
}

warn_cancelled <- function(fit, seen) UseMethod("warn_cancelled")

#' @export
warn_cancelled.kb_kbr <- function(fit, seen) {
  lost <- sum(sum_is_noise(fit, seen, raw_moments(fit, seen)[1, ]) &
    seen$near >= far_share)
  if (lost > 0) {
    kb_warn(c(
      "Observations whose weights cancel in their sum have no posterior: NA.",
      x = "Those of {lost} of {length(seen$near)} observation{?s} do.",
      i = "A larger {.arg delta} prevents cancellation."
    ), "weights")
  }
}

# A fit with some of its pairs, and all else as it was
take_pairs <- function(fit, rows) {
  fit$data <- lapply(fit$data, function(m) m[rows, , drop = FALSE])
  fit$time <- length(rows)
  fit$sequence <- seq_along(rows)
  fit
}

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

# Another prior or another regularisation for a fit of kbr().

#' Another prior, without new factors
#'
#' The factors of both kernels are kept; only quantities that depend on the
#' prior are recomputed, in O(n r^2 + r^3).
#' @param object A fit of [kbr()].
#' @param prior,eps,delta,normalize As in [kbr()]; omitted arguments keep their
#'   values. `delta` is not for the method `"adjusted"`, which learns its
#'   regression again with the weights of the prior.
#' @param ... Not used: unknown arguments are errors.
#' @return A fit of [kbr()].
#' @examples
#' x <- rnorm(300)
#' fit <- kbr(x, x + 0.5 * rnorm(300))
#' predict(fit, 1)
#' predict(update(fit, prior = list(points = rnorm(300, -1))), 1)
#' @export
update.kb_kbr <- function(object, prior, eps = NULL, delta = NULL,
                          normalize = NULL, ...) {
  object <- checked_fit(object, ...)
  started <- now()
  prior <- if (missing(prior)) object$prior else prior
  settings <- object$settings
  if (inherits(eps, "kb_kbr_schedule")) {
    changed <- kbr_regularisation(eps, delta, object$time, settings$method)
    eps <- changed$eps
    delta <- changed$delta
  }
  if (settings$method == "adjusted" && !is.null(delta)) {
    bad_argument(delta, "delta", "NULL: the method \"adjusted\" has none")
  }
  if (!is.null(eps)) settings$eps <- check_positive(eps, "eps")
  if (!is.null(delta)) settings$delta <- check_positive(delta, "delta")
  if (!is.null(normalize)) settings$normalize <- check_flag(normalize)
  object$settings <- settings
  object <- set_prior(object, prior)
  warn_prior_mass(object)
  object$call <- plain_call(match.call())
  object$seconds <- now() - started
  sealed(object)
}
