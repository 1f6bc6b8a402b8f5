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
