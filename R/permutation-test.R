# Code shared by permutation tests with kernels.

#' The statistic at random permutations of n rows
#'
#' @param statistic A function of a matrix of permutations, one per column, that
#'   returns the statistic of each. It costs n^2 per permutation: blocks bound
#'   memory and the time between checks for interrupts. They do not change the
#'   draws, and are divided among workers.
#' @noRd
permuted_statistics <- function(n, permutations, statistic) {
  blocks <- draw_blocks(n, permutations)
  draw <- function(block) vapply(block, function(i) sample.int(n), integer(n))
  # Each worker is sent the kernel matrices, which takes as long as some 400
  # permutations.
  there <- has_workers() && permutations >= 500 * worker_count()
  keep_run({
    out <- if (there) {
      map_tasks(lapply(blocks, draw), "permuted_block", list(
        statistic = statistic
      ))
    } else {
      map_tasks(blocks, "permuted_block", list(
        statistic = function(block) statistic(draw(block))
      ), backend = NULL)
    }
    report_tasks(
      sum(lengths(blocks)[out$done]), permutations, "permutation",
      "The test uses these: its p-value is valid, but cannot be as small."
    )
  })
  unlist(out$values[out$done], use.names = FALSE)
}

# Numbers of draws in blocks, if each holds n numbers and costs n^2
draw_blocks <- function(n, draws) {
  size <- max(1, floor(min(5e6 / n, 5e8 / n^2)))
  split(seq_len(draws), (seq_len(draws) - 1) %/% size)
}

permuted_block <- function(block, shared) shared$statistic(block)

# A kernel of points x, its bandwidths numbers
sample_kernel <- function(kernel, x, arg) {
  kernel <- check_kernel(kernel, arg)
  check_kernel_dimension(kernel, ncol(x))
  kernel_resolve(kernel, x)
}

# HGH, with H the projection on vectors that sum to zero: the Gram matrix of
# features whose mean is zero. Statistics that do not depend on the mean lose
# fewer digits with it.
centre_gram <- function(gram) {
  mean <- rowMeans(gram)
  gram - mean - rep(mean - mean(mean), each = nrow(gram))
}

#' A permutation test as an object of class htest
#'
#' The p-value is (K17).
#' @param statistic Named: the observed value.
#' @param permuted Its values at random permutations.
#' @param scale The size of the terms of the statistic: values that differ only
#'   by rounding error count as equal.
#' @param ... Other elements.
#' @noRd
new_permutation_test <- function(statistic, permuted, scale, ...) {
  as_large <- sum(permuted >= statistic - 1e-13 * scale)
  structure(
    list(
      statistic = statistic,
      parameter = c(permutations = length(permuted)),
      p.value = (1 + as_large) / (1 + length(permuted)),
      ...,
      permuted = permuted
    ),
    class = "htest"
  )
}
