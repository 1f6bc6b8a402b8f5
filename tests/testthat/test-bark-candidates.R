# The candidates of bark()'s relocations: their information on kernels elsewhere
# after many relocations, against dense algebra without the removed slot.
#
# Seen to fail, one mutant at a time: each of the updates of remove() and add()
# left out, the last slot not moved, the amplitude left out.

setting <- list(
  type = "equal", alpha = 1, eps = 0.5, nu = 6, A = 1.2, B = 0.8, a_p = 1,
  b_p = 1, noise_shape = 3, noise_rate = 1
)

#' k'C^-1 k and k'C^-1 y of a column k, C the covariance of y without slot 1
dense_information <- function(state, x, y, weights, location, alpha,
                              amplitude) {
  k <- slot_columns(state, x)[, -1, drop = FALSE]
  v <- amplitude * slot_variances(state, alpha)[-1]
  cov <- diag(1 / (state$noise * weights)) + k %*% (v * t(k))
  state$location <- location
  column <- drop(slot_columns(state, x))
  solved <- solve(cov, cbind(column, y), tol = 0)
  c(amplitude, sqrt(amplitude)) * drop(crossprod(solved, column))
}

test_that("candidates know the value of kernels after many relocations", {
  withr::local_seed(4)
  n <- 14
  x <- matrix(stats::rnorm(2 * n), n)
  y <- sin(x[, 1]) + 0.3 * stats::rnorm(n)
  weights <- stats::runif(n, 0.5, 2)
  for (alpha in c(1, 1.5)) {
    for (size in c(9, 100)) {
      for (amplitude in c(1, 0.2)) {
        prior <- utils::modifyList(setting, list(alpha = alpha))
        for (seed in 1:5) {
          state <- bark_candidates_cpp(
            prior, x, y, weights, size, 60, seed, amplitude
          )
          at <- state$candidates
          expect_length(unique(at), min(size, n + 1))
          expect_true(all(state$location %in% at))
          exact <- vapply(at, function(location) {
            dense_information(
              state, x, y, weights, location, alpha, amplitude
            )
          }, numeric(2))
          top <- state$noise * sum(weights)
          expect_lt(max(abs(state$precision - exact[1, ])) / top, 1e-8)
          expect_lt(max(abs(state$score - exact[2, ])) / top, 1e-8)
          if (length(state$location) > 2) expect_gt(state$moved, 5)
        }
      }
    }
  }
})
