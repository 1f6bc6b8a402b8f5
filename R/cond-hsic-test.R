# Conditional independence: the Hilbert-Schmidt criterion of residuals, (K38),
# with random signs, (K39).

#' Kernel test of conditional independence
#'
#' Tests whether x and y are independent given z. Features of x and of y are
#' regressed on z by kernel ridge regression; the statistic is the
#' Hilbert-Schmidt criterion of the residuals, weighted by the kernel of z,
#' \deqn{\frac{1}{n^2} \sum_{ij} (E_x E_x')_{ij} (E_y E_y')_{ij}
#' (K_Z)_{ij},}{sum_ij (E_x E_x')_ij (E_y E_y')_ij (K_Z)_ij / n^2,}
#' the squared norm of the covariance of residuals and functions of z. The idea
#' is that of Fukumizu et al. (2008), with the residuals of Zhang et al. (2011).
#' The p-value is computed from B = `draws` random changes of the signs of
#' the rows' contributions, scaled by a factor for the correlation of residuals,
#' \deqn{p = \frac{1 + \#\{T_b \ge T\}}{1 + B}.}{p = (1 + #(T_b >= T)) / (1 +
#' B).}
#'
#' @section Validity:
#' No test of conditional independence has the right size for all distributions
#' (Shah and Peters, 2020). This one relies on the regressions: what z explains,
#' and they miss, may look like dependence, if they miss it for both x and y.
#' `explained` has the share of the variance of the features of x and y that z
#' explains, adjusted for parameters: where it should be large and is small, do
#' not trust a small p-value. In simulations with n = 100 and 300 and a z of one
#' column, the size at the level 5 percent was 5 to 7 percent, also where x and
#' y were the same oscillating function of z with little noise. With a z of
#' three columns it was 4 to 6 percent for different functions, but 10 percent
#' (n = 100) and 25 percent (n = 300) where x and y were the same rough function
#' with little noise, which cannot be learned from so few rows.
#'
#' Memory is O(n^2), time O(n^2) per draw.
#'
#' @param x,y,z Observations: numeric matrices with n rows; a vector is a matrix
#'   of one column. At least two rows. Columns in different units should be
#'   standardised.
#' @param kernel_x,kernel_y,kernel_z Kernels, see [kb_kernels]; a bandwidth
#'   `"median"` is [bandwidth_median()] of x, y or z. The regressions use
#'   `kernel_z` with half, once or twice its bandwidth.
#' @param eps The regularisation of both regressions, a positive number, as in
#'   [cond_embedding()], with the bandwidth of `kernel_z`; `NULL`: a tenth of
#'   the choice of generalised cross-validation, separately for x and y.
#' @param draws The number B of draws of signs, at least 1.
#' @param rank The largest number of features of each kernel, at least 1.
#' @template args-seed
#'
#' @return An object of class `htest`: a list with, among others, `statistic`
#'   (`HSIC`, in units of the product of the kernels), `p.value`, `parameter`
#'   (B), `permuted` (the B values of the statistic), `explained` (for x and y),
#'   `eps` (of x and y), and `kernel_x`, `kernel_y` and `kernel_z` (their
#'   bandwidths numbers).
#' @section Errors:
#' `kb_error_argument` for arguments outside their range and fewer than two
#' rows; `kb_error_not_finite` for missing or infinite values;
#' `kb_error_dimension` if numbers of rows disagree, or a number of columns does
#' not suit its kernel.
#' @references
#' Fukumizu, K., Gretton, A., Sun, X. and Schölkopf, B. (2008). Kernel measures
#' of conditional dependence. *Advances in Neural Information Processing
#' Systems* 20, 489-496.
#'
#' Zhang, K., Peters, J., Janzing, D. and Schölkopf, B. (2011). Kernel-based
#' conditional independence test and application in causal discovery.
#' *Proceedings of the 27th Conference on Uncertainty in Artificial
#' Intelligence*, 804-813.
#'
#' Shah, R. D. and Peters, J. (2020). The hardness of conditional independence
#' testing and the generalised covariance measure. *Annals of Statistics* 48,
#' 1514-1538. \doi{10.1214/19-AOS1857}
#' @seealso [hsic_test()], [kdr()], [cond_embedding()].
#' @examples
#' # Dependent, but only through z
#' set.seed(1)
#' z <- rnorm(100)
#' x <- sin(2 * z) + 0.5 * rnorm(100)
#' y <- sin(2 * z) + 0.5 * rnorm(100)
#' hsic_test(x, y, seed = 1)$p.value
#' cond_hsic_test(x, y, z, seed = 1)
#' @export
cond_hsic_test <- function(x, y, z, kernel_x = kernel_gaussian(),
                           kernel_y = kernel_gaussian(),
                           kernel_z = kernel_gaussian(), eps = NULL,
                           draws = 999, rank = 150, seed = NULL) {
  data_name <- paste(
    deparse1(substitute(x)), "and", deparse1(substitute(y)), "given",
    deparse1(substitute(z))
  )
  x <- check_sample(x)
  y <- check_sample(y)
  z <- check_sample(z)
  check_same_rows(x, y, z)
  kernels <- list(
    kernel_x = sample_kernel(kernel_x, x, "kernel_x"),
    kernel_y = sample_kernel(kernel_y, y, "kernel_y"),
    kernel_z = sample_kernel(kernel_z, z, "kernel_z")
  )
  if (!is.null(eps)) eps <- check_positive(eps, "eps")
  draws <- check_size(draws, 1, each = 3)
  rank <- check_count(rank, 1)
  parts <- list(
    x = residuals_given(z, kdr_targets(kernels$kernel_x, x, rank), kernels, eps,
      rank
    ),
    y = residuals_given(z, kdr_targets(kernels$kernel_y, y, rank), kernels, eps,
      rank
    )
  )
  found <- signed_criterion(
    parts, kernel_evaluate(kernels$kernel_z, z), draws, seed
  )
  out <- do.call(new_permutation_test, c(
    list(c(HSIC = found$statistic), found$drawn, found$scale,
      alternative = "x and y are not independent given z",
      method = "Kernel test of conditional independence",
      data.name = data_name, explained = vapply(parts, `[[`, 0, "explained"),
      eps = vapply(parts, `[[`, 0, "eps")
    ),
    kernels
  ))
  names(out$parameter) <- "draws"
  out
}

check_same_rows <- function(x, y, z) {
  rows <- c(nrow(x), nrow(y), nrow(z))
  if (any(rows != rows[[1]])) {
    kb_abort(c(
      "{.arg x}, {.arg y} and {.arg z} must have the same number of rows.",
      x = "They have {rows[[1]]}, {rows[[2]]} and {rows[[3]]} rows."
    ), "dimension")
  }
}

#' Residuals of features regressed on z
#' @return List of `residuals` (n x q), `square` (P^2 of (K39), n x n), `eps`,
#'   `explained` and `size`, the largest squared length of a feature.
#' @noRd
residuals_given <- function(z, targets, kernels, eps, rank) {
  n <- nrow(z)
  total <- sum(targets^2)
  widths <- if (is.null(eps)) c(0.5, 1, 2) else 1
  tried <- lapply(widths, function(width) {
    kernel <- kernel_widen(kernels$kernel_z, width)
    factor <- kdr_features(kernel, z, rank)$factor
    spectrum <- ridge_spectrum(factor, targets)
    grid <- if (is.null(eps)) ridge_grid else eps
    scores <- ridge_scores(spectrum, total, n, grid, 1)
    c(spectrum, list(
      factor = factor, error = min(scores), eps = grid[[which.min(scores)]]
    ))
  })
  best <- tried[[which.min(vapply(tried, `[[`, 0, "error"))]]
  chosen <- if (is.null(eps)) best$eps / 10 else eps
  s <- 1 / (best$lambda + n * chosen)
  u <- best$factor %*% best$vectors
  list(
    residuals = targets - u %*% (s * best$moments),
    square = diag(n) -
      tcrossprod(sweep(u, 2, 2 * s - s^2 * best$lambda, "*"), u),
    eps = chosen, explained = if (total > 0) 1 - best$error else 0,
    size = max(rowSums(targets^2))
  )
}

# The statistic, (K38), and its values with random signs, (K39)
signed_criterion <- function(parts, gram_z, draws, seed) {
  n <- nrow(gram_z)
  square <- parts$x$square * parts$y$square * gram_z
  factor <- sum(square) / sum(diag(square))
  products <- tcrossprod(parts$x$residuals) * tcrossprod(parts$y$residuals) *
    gram_z
  drawn <- with_local_seed(seed, sign_statistics(products, draws))
  list(
    statistic = sum(products) / n^2, drawn = factor * drawn / n^2,
    scale = parts$x$size * parts$y$size * max(abs(gram_z))
  )
}

# s'Ws for random signs s, in blocks
sign_statistics <- function(products, draws) {
  n <- nrow(products)
  unlist(lapply(draw_blocks(n, draws), function(block) {
    signs <- matrix(sample(c(-1, 1), n * length(block), TRUE), n)
    colSums(signs * features_cross_cpp(products, signs, rep(1, n)))
  }), use.names = FALSE)
}
