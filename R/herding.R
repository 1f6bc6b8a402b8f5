# Kernel herding: points that follow a kernel mean, chosen one by one.

#' Kernel herding
#'
#' Chooses points that represent a kernel mean, greedily: the t-th maximises
#' \deqn{m(x) - \frac{1}{t} \sum_{s < t} k(x, x_s)}{m(x) - (1/t) sum_(s<t)
#' k(x, x_s)}
#' over the candidates, where m is the kernel mean. Averages over the points
#' approach expectations under m; for distributions and bounded kernels they do
#' so faster than averages over random draws.
#'
#' The points approximate m without normalisation. If its weights do not sum to
#' one, as in kernel Bayes' rule, divide them by their sum first to get points
#' from the distribution that they represent.
#'
#' No random numbers are used; the first of equally good candidates is taken.
#' With N candidates and n points time is O((n + M) N), where M is the number of
#' points of the kernel mean.
#'
#' @param object A kernel mean, from [kernel_mean()].
#' @param n The number of points to choose, at least 1.
#' @param candidates Points, N x d, to choose from; `NULL`: the points of the
#'   kernel mean.
#'
#' @return A matrix n x d: the points in the order of choice. The same
#'   candidate can be chosen again.
#' @section Errors:
#' `kb_error_argument` if `object` is not a kernel mean, `n` not a positive
#' whole number or `candidates` empty; otherwise as for [kernel_mean()].
#' @references
#' Chen, Y., Welling, M. and Smola, A. (2010). Super-samples from kernel
#' herding. *Proceedings of the 26th Conference on Uncertainty in Artificial
#' Intelligence*, 109-116.
#' @examples
#' m <- kernel_mean(faithful$eruptions, kernel_gaussian(0.3))
#' points <- herd(m, 20)
#' plot(m)
#' rug(points)
#' mmd(m, kernel_mean(points, m$kernel))
#' mmd(m, kernel_mean(faithful$eruptions[1:20], m$kernel))
#' @export
herd <- function(object, n, candidates = NULL) {
  check_kernel_mean(object)
  n <- check_size(n, 1, each = 1 + ncol(object$points))
  candidates <- if (is.null(candidates)) {
    object$points
  } else {
    check_points_like(check_some_points(candidates), object$points,
      "candidates"
    )
  }
  value <- stats::predict(object, candidates)
  columns <- function(i) {
    kernel_evaluate(object$kernel, candidates, candidates[i, , drop = FALSE])
  }
  chosen <- herd_indices(value, columns, n)
  drop_row_names(candidates[chosen, , drop = FALSE])
}

#' The candidates that herding chooses, by number
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
