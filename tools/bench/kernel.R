# Times of kernel_matrix(), compared with kernlab and with the arithmetic lower
# bound of a Gaussian kernel matrix: a matrix product and one exponential per
# entry, with the BLAS that R uses.
#
#   Rscript tools/bench/kernel.R
#
# Each ratio is of the smallest times over five alternating runs.

library(kernelbayes)

seconds <- function(f) system.time(f(), gcFirst = FALSE)[["elapsed"]]

compare <- function(d, n = 2000, m = 2000, runs = 5) {
  set.seed(1)
  x <- matrix(rnorm(n * d), n, d)
  y <- matrix(rnorm(m * d), m, d)
  b <- sqrt(d)
  kernel <- kernel_gaussian(b)
  rbf <- kernlab::rbfdot(1 / (2 * b^2))
  tasks <- list(
    kernel = function() kernel_matrix(kernel, x, y),
    half = function() kernel_matrix(kernel, x),
    kernlab = function() kernlab::kernelMatrix(rbf, x, y),
    kernlab_half = function() kernlab::kernelMatrix(rbf, x),
    product = function() exp(x %*% t(y))
  )
  times <- replicate(runs, vapply(tasks, seconds, 0))
  best <- apply(times, 1, min)
  data.frame(
    d = d, ms = 1000 * best[["kernel"]], ms_symmetric = 1000 * best[["half"]],
    ms_kernlab = 1000 * best[["kernlab"]],
    ms_product_exp = 1000 * best[["product"]],
    to_kernlab = best[["kernel"]] / best[["kernlab"]],
    symmetric_to_kernlab = best[["half"]] / best[["kernlab_half"]],
    to_product_exp = best[["kernel"]] / best[["product"]]
  )
}

cat("BLAS:", extSoftVersion()[["BLAS"]], "\n")
result <- do.call(rbind, lapply(c(1, 5, 13, 50, 200), compare))
print(format(result, digits = 2), row.names = FALSE)
