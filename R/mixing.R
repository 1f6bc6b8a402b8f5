# R-hat and effective sample sizes of many quantities at once, after Vehtari and
# others (2021), see ?convergence. Package posterior computes them one by one,
# which takes far longer.

#' R-hat and effective sample sizes
#'
#' They are NA if all draws are equal, or if there are few. A quantity stuck at
#' a different value in each half of a chain has an infinite R-hat.
#' @param chains Named list of matrices, a row per draw and a column per chain.
#' @return Data frame with a row per quantity: `variable`, `ess_bulk`,
#'   `ess_tail`, `rhat`, `error` (of the mean, in standard deviations), and
#'   whether it is `constant`.
#' @noRd
mixing_table <- function(chains) {
  size <- dim(chains[[1]])
  draws <- matrix(
    as.double(unlist(chains, use.names = FALSE)), ncol = length(chains)
  )
  finite <- colSums(!is.finite(draws)) == 0
  same <- colSums(draws != rep(draws[1, ], each = nrow(draws))) == 0
  known <- which(finite & !same & size[[1]] >= 4)
  numbers <- matrix(NA_real_, 3, length(chains))
  numbers[, known] <- mixing_cpp(
    draws[, known, drop = FALSE], size[[2]], normal_scores(size)
  )
  numbers[is.nan(numbers)] <- NA
  data.frame(
    variable = names(chains), ess_bulk = numbers[1, ], ess_tail = numbers[2, ],
    rhat = numbers[3, ], error = mean_errors(draws, size),
    constant = finite & same %in% TRUE
  )
}

# Monte Carlo errors of means, in standard deviations, from the means of chains
# or of at least four equal parts of them: within short chains that move slowly
# nothing else is seen. Halves of these show a drift that chains share.
mean_errors <- function(draws, size) {
  parts <- ceiling(4 / size[[2]])
  pmax(
    errors_by_parts(draws, size, parts), errors_by_parts(draws, size, 2 * parts)
  )
}

errors_by_parts <- function(draws, size, parts) {
  rows <- size[[1]] %/% parts
  if (rows == 0) {
    return(rep(NA_real_, ncol(draws)))
  }
  kept <- rep(seq_len(parts * rows), size[[2]]) +
    rep(size[[1]] * (seq_len(size[[2]]) - 1), each = parts * rows)
  draws <- draws[kept, , drop = FALSE]
  means <- colMeans(array(draws, c(rows, parts * size[[2]], ncol(draws))))
  means <- matrix(means, ncol = ncol(draws))
  apply(means, 2, stats::sd) / sqrt(nrow(means)) / apply(draws, 2, stats::sd)
}

# Normal scores of the ranks 1, 3/2, 2, ... of the draws in the chains' halves,
# after (B77)
normal_scores <- function(size) {
  n <- 2 * (size[[1]] %/% 2) * size[[2]]
  rank <- if (n > 0) seq(1, n, by = 0.5)
  stats::qnorm((rank - 3 / 8) / (n + 1 / 4))
}
