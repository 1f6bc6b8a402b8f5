# Independence: the Hilbert-Schmidt independence criterion, (K16), with its
# permutation test.

#' Kernel test of independence
#'
#' Tests whether the columns of x and those of y are independent, using the
#' Hilbert-Schmidt independence criterion of pairs,
#' \deqn{\frac{1}{n^2} \mathrm{Tr}(K H L H),}{Tr(K H L H) / n^2,} the squared
#' distance between the kernel means of the joint distribution and of the
#' product of its margins; K and L are the kernel matrices of x and y and H = I
#' - 1 1' / n. The p-value is computed from B = `permutations` random pairings
#' of the rows,
#' \deqn{p = \frac{1 + \#\{T_b \ge T\}}{1 + B},}{p = (1 + #(T_b >= T)) / (1 +
#' B),} so that \eqn{P(p \le \alpha) \le \alpha}{P(p <= alpha) <= alpha} for any
#' n under independence.
#'
#' With characteristic kernels, such as the Gaussian, the test detects any
#' dependence if n is large enough; linear kernels detect only correlation.
#'
#' Memory is O(n^2), time O(n^2) per permutation.
#'
#' @param x,y Pairs: numeric matrices n x d_x and n x d_y, one pair per row; a
#'   vector is a matrix of one column. At least two rows.
#' @param kernel_x,kernel_y Kernels, see [kb_kernels]; a bandwidth `"median"`
#'   is [bandwidth_median()] of x or of y.
#' @param permutations The number B of permutations, at least 1.
#' @template args-seed
#'
#' @return An object of class `htest`: a list with, among others, `statistic`
#'   (`HSIC`, in units of the product of the kernels), `p.value`, `parameter`
#'   (B), `permuted` (the B values of the statistic), `kernel_x` and `kernel_y`
#'   (their bandwidths numbers).
#' @section Errors:
#' `kb_error_argument` for arguments outside their range and fewer than two
#' rows; `kb_error_not_finite` for missing or infinite values;
#' `kb_error_dimension` if x and y have different numbers of rows, or a number
#' of columns does not suit its kernel. After an interrupt the test uses the
#' finished permutations (`kb_warning_interrupted`); `kb_error_interrupted` if
#' there is none.
#' @references
#' Gretton, A., Fukumizu, K., Teo, C. H., Song, L., Schölkopf, B. and Smola, A.
#' (2008). A kernel statistical test of independence. *Advances in Neural
#' Information Processing Systems* 20, 585-592.
#' @seealso [mmd_test()], [kernel_mean()].
#' @examples
#' # Uncorrelated, but not independent
#' set.seed(1)
#' x <- runif(60, -1, 1)
#' y <- x^2 + 0.1 * rnorm(60)
#' cor.test(x, y)$p.value
#' hsic_test(x, y, seed = 1)
#' @export
hsic_test <- function(x, y, kernel_x = kernel_gaussian(),
                      kernel_y = kernel_gaussian(), permutations = 999,
                      seed = NULL) {
  data_name <- paste(deparse1(substitute(x)), "and", deparse1(substitute(y)))
  x <- check_sample(x)
  y <- check_sample(y)
  check_paired(x, y)
  kernel_x <- sample_kernel(kernel_x, x, "kernel_x")
  kernel_y <- sample_kernel(kernel_y, y, "kernel_y")
  permutations <- check_size(permutations, 1, each = 3)
  n <- nrow(x)
  gram_x <- kernel_evaluate(kernel_x, x)
  gram_y <- kernel_evaluate(kernel_y, y)
  scale <- max(abs(gram_x)) * max(abs(gram_y))
  gram_x <- centre_gram(gram_x)
  gram_y <- centre_gram(gram_y)
  statistic <- function(order) permuted_trace_cpp(gram_x, gram_y, order) / n^2
  new_permutation_test(
    c(HSIC = statistic(matrix(seq_len(n)))),
    with_local_seed(seed, permuted_statistics(n, permutations, statistic)),
    scale,
    alternative = "x and y are not independent",
    method = "Kernel test of independence (Hilbert-Schmidt criterion)",
    data.name = data_name, kernel_x = kernel_x, kernel_y = kernel_y
  )
}
