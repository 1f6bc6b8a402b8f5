# rstantools: posterior predictions, registered when that package is loaded.

#' Posterior predictions in the form of rstantools
#'
#' @param object A fit of [srvm()].
#' @param newdata New predictors as for [predict()][predict.kb_srvm]; for
#'   `log_lik()` of a formula fit with the response. `NULL`: the training rows.
#' @param newy For `log_lik()` of an x/y fit with `newdata`: the responses.
#' @param ndraws Number of draws S; by default that of the particles.
#' @param seed For `posterior_predict()`: see [simulate()].
#' @param ... Not used: unknown arguments are errors.
#' @return Matrices S x n: `posterior_epred()` draws of f, `posterior_predict()`
#'   draws of new responses, `log_lik()` log densities of the responses given
#'   each draw. Draws have equal weight.
#' @examplesIf requireNamespace("rstantools", quietly = TRUE)
#' data <- sim_sinc(30, seed = 1)
#' fit <- srvm(y ~ x, data,
#'   kernel = kernel_gaussian(0.2), control = smc_control(particles = 100),
#'   seed = 1
#' )
#' dim(rstantools::posterior_predict(fit, data.frame(x = 0:2), seed = 1))
#' @name posterior_predict.kb_srvm
NULL

#' @rdname posterior_predict.kb_srvm
#' @exportS3Method rstantools::posterior_epred
posterior_epred.kb_srvm <- function(object, newdata = NULL, ndraws = NULL,
                                    ...) {
  check_no_dots(...)
  if (is.null(newdata)) {
    return(stats::predict(object, type = "draws", ndraws = ndraws))
  }
  stats::predict(object, newdata, type = "draws", ndraws = ndraws)
}

#' @rdname posterior_predict.kb_srvm
#' @exportS3Method rstantools::posterior_predict
posterior_predict.kb_srvm <- function(object, newdata = NULL, ndraws = NULL,
                                      seed = NULL, ...) {
  check_no_dots(...)
  f <- posterior_epred.kb_srvm(object, newdata, ndraws)
  pool <- srvm_pool(object)
  chosen <- equal_weight_draws(object, pool, check_ndraws(ndraws))
  sigma <- srvm_sigma_draws(object, pool, chosen)
  with_local_seed(seed, f + sigma * stats::rnorm(length(f)))
}

#' @rdname posterior_predict.kb_srvm
#' @exportS3Method rstantools::log_lik
log_lik.kb_srvm <- function(object, newdata = NULL, newy = NULL,
                            ndraws = NULL, ...) {
  check_no_dots(...)
  rows <- prediction_rows(object, newdata, newy, is.null(newdata), TRUE)
  pool <- srvm_pool(object)
  chosen <- equal_weight_draws(object, pool, check_ndraws(ndraws))
  x <- rows$x[rows$complete, , drop = FALSE]
  f <- srvm_draws(object, x, pool, chosen)
  sigma <- srvm_sigma_draws(object, pool, chosen)
  y <- rep(rows$y[rows$complete], each = nrow(f))
  density <- matrix(stats::dnorm(y, f, sigma, log = TRUE), nrow(f))
  t(spread_rows(t(density), rows$complete))
}
