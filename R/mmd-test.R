# Two samples: the maximum mean discrepancy with its permutation test.

#' Kernel two-sample test
#'
#' Tests whether two samples come from the same distribution, using the squared
#' distance between their kernel means. The p-value is computed from B =
#' `permutations` random exchanges of the rows between the samples,
#' \deqn{p = \frac{1 + \#\{T_b \ge T\}}{1 + B},}{p = (1 + #(T_b >= T)) / (1 +
#' B),} so that \eqn{P(p \le \alpha) \le \alpha}{P(p <= alpha) <= alpha} for any
#' sample sizes if the distributions are equal.
#'
#' With characteristic kernels, such as the Gaussian, the test detects any
#' difference if the samples are large enough; other kernels compare only
#' certain moments (the linear kernel: means).
#'
#' The kernel matrix of both samples, with N rows together, is computed once:
#' memory is O(N^2), time O(N^2) per permutation.
#'
#' @param x,y Samples: numeric matrices n x d and m x d, one observation per
#'   row; a vector is a matrix of one column. At least two rows each.
#' @param kernel A kernel, see [kb_kernels]; a bandwidth `"median"` is
#'   [bandwidth_median()] of both samples together.
#' @param permutations The number B of permutations, at least 1.
#' @param unbiased `TRUE`: the estimate of the squared distance without the
#'   pairs of a point with itself, which can be negative; `FALSE`: with them,
#'   the squared [mmd()] of the two samples.
#' @template args-seed
#'
#' @return An object of class `htest`: a list with, among others, `statistic`
#'   (`MMD^2`, in units of the kernel), `p.value`, `parameter` (B), `permuted`
#'   (the B values of the statistic) and `kernel` (its bandwidth a number).
#' @section Errors:
#' `kb_error_argument` for arguments outside their range and samples of fewer
#' than two rows; `kb_error_not_finite` for missing or infinite values;
#' `kb_error_dimension` where numbers of columns disagree; after an interrupt as
#' in [hsic_test()].
#' @references
#' Gretton, A., Borgwardt, K. M., Rasch, M. J., Schölkopf, B. and Smola, A.
#' (2012). A kernel two-sample test. *Journal of Machine Learning Research* 13,
#' 723-773.
#' @seealso [hsic_test()], [kernel_mean()].
#' @examples
#' setosa <- iris[iris$Species == "setosa", 1:4]
#' virginica <- iris[iris$Species == "virginica", 1:4]
#' mmd_test(setosa[1:25, ], virginica[1:25, ], seed = 1)
#' mmd_test(setosa[1:25, ], setosa[26:50, ], seed = 1)
#' @export
mmd_test <- function(x, y, kernel = kernel_gaussian(), permutations = 999,
                     unbiased = TRUE, seed = NULL) {
  data_name <- paste(deparse1(substitute(x)), "and", deparse1(substitute(y)))
  x <- check_sample(x)
  y <- check_sample(y)
  check_same_columns(x, y)
  kernel <- check_kernel(kernel)
  check_kernel_dimension(kernel, ncol(x))
  permutations <- check_size(permutations, 1, each = 3)
  unbiased <- check_flag(unbiased)
  sizes <- c(nrow(x), nrow(y))
  both <- rbind(unname(x), unname(y))
  kernel <- kernel_resolve(kernel, both)
  gram <- kernel_evaluate(kernel, both)
  scale <- max(abs(gram))
  gram <- centre_gram(gram)
  statistic <- function(order) mmd_statistics(gram, order, sizes, unbiased)
  new_permutation_test(
    c(`MMD^2` = statistic(matrix(seq_len(sum(sizes))))),
    with_local_seed(
      seed, permuted_statistics(sum(sizes), permutations, statistic)
    ),
    scale,
    alternative = "the two distributions differ",
    method = "Kernel two-sample test (maximum mean discrepancy)",
    data.name = data_name, kernel = kernel
  )
}

#' Squared discrepancies of splits of one sample in two
#'
#' (K15), from sums over pairs within and across the parts; only products of the
#' Gram matrix with indicators of the first part are needed.
#' @param order Permutations, one per column: the first part has the numbers up
#'   to `sizes[[1]]`.
#' @noRd
mmd_statistics <- function(gram, order, sizes, unbiased) {
  if (unbiased) diag(gram) <- 0
  first <- matrix(as.double(order <= sizes[[1]]), nrow(order))
  product <- gram %*% first
  within <- colSums(first * product)
  across <- colSums(product) - within
  second <- sum(gram) - within - 2 * across
  pairs <- if (unbiased) sizes * (sizes - 1) else sizes^2
  within / pairs[[1]] + second / pairs[[2]] - 2 * across / prod(sizes)
}

# Points, at least two
check_sample <- function(x, arg = rlang::caller_arg(x)) {
  points <- check_points(x, arg)
  if (nrow(points) < 2) bad_argument(x, arg, "at least two points")
  points
}
