# Several kernel means on the same points: their modes and draws. All
# predictions of states by kernel Bayes' rule use this file.

#' Points whose weighted kernels are posteriors' kernel means
#'
#' @param signed The rule's weights, or those of the nearest probability?
#' @return List of `points` (P x d), `scaled` (as their kernel sees them),
#'   `weights` (means x P; a row is NA where weights cancelled) and `value` (P x
#'   means, of the kernel means at the points).
#' @noRd
kernel_mean_points <- function(fit, seen, signed = TRUE) {
  UseMethod("kernel_mean_points")
}

#' The mode of each mean, sought from its highest point and from its centre
#'
#' @param centre Means x columns of the scaled points.
#' @return List of `x` (scaled, means x columns) and `converged`.
#' @noRd
kernel_modes <- function(mean, kernel, centre) {
  modes <- lapply(seq_len(nrow(mean$weights)), function(i) {
    w <- mean$weights[i, ]
    if (!all(is.finite(w))) {
      return(list(x = rep(NA_real_, ncol(mean$scaled)), converged = NA))
    }
    embedding_mode(mean$scaled, w, kernel,
      start = rbind(mean$scaled[which.max(mean$value[, i]), ], centre[i, ])
    )
  })
  list(
    x = matrix(as.double(unlist(lapply(modes, `[[`, "x"))), length(modes),
      ncol(mean$scaled),
      byrow = TRUE
    ),
    converged = vapply(modes, `[[`, NA, "converged")
  )
}

# Points herded from each mean: ndraws x d x means
herded_points <- function(mean, kernel, ndraws) {
  column <- function(i) {
    as.vector(kernel_evaluate(
      kernel, mean$scaled, mean$scaled[i, , drop = FALSE]
    ))
  }
  d <- ncol(mean$points)
  draws <- vapply(seq_len(ncol(mean$value)), function(i) {
    if (anyNA(mean$value[, i])) {
      return(matrix(NA_real_, ndraws, d))
    }
    chosen <- herd_indices(mean$value[, i], column, ndraws)
    unname(mean$points[chosen, , drop = FALSE])
  }, matrix(0, ndraws, d))
  array(draws, c(ndraws, d, ncol(mean$value)))
}

#' Kernel herding: the candidates that it chooses, by number
#'
#' @param value The embedding at the candidates.
#' @param columns A function of i: the kernel of all candidates with candidate
#'   i.
#' @param cells The largest number of kernel values kept for candidates that
#'   are chosen again.
#' @noRd
herd_indices <- function(value, columns, n, cells = 5e6) {
  chosen <- integer(n)
  kept <- vector("list", length(value))
  room <- floor(cells / length(value))
  score <- value # t times the criterion, (K14)
  for (t in seq_len(n)) {
    best <- which.max(score)
    column <- kept[[best]]
    if (is.null(column)) {
      column <- as.double(columns(best))
      if (room > 0) kept[[best]] <- column
      room <- room - 1
    }
    chosen[[t]] <- best
    score <- score + (value - column)
  }
  chosen
}
