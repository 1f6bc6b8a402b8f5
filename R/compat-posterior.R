# posterior: draws of the parameters.

#' Draws of the parameters of an srvm fit
#'
#' @param x A fit of [srvm()].
#' @param weighted `FALSE`: draws of equal weight, resampled from the particles
#'   under the fit's seed. `TRUE`: every particle's draw with its weight, see
#'   [posterior::weight_draws()]. Not for batch fits.
#' @param ... Not used: unknown arguments are errors.
#' @return A [posterior::draws_df] (for batch fits with the chains and
#'   iterations they come from) with the variables `sigma` (noise standard
#'   deviation), `tau` (standard deviation of the coefficients), `k` (number of
#'   centres) and, in models with one, `Intercept`; all but `k` in units of the
#'   response.
#' @examples
#' data <- sim_sinc(30, seed = 1)
#' fit <- srvm(y ~ x, data,
#'   kernel = kernel_gaussian(0.2), control = smc_control(particles = 100),
#'   seed = 1
#' )
#' posterior::summarise_draws(as_draws(fit), "mean", "sd")
#' @export
as_draws.kb_srvm <- function(x, weighted = FALSE, ...) {
  check_no_dots(...)
  weighted <- check_flag(weighted)
  pool <- srvm_pool(x)
  draws <- srvm_parameters(x, pool)
  if (!weighted) {
    draws <- draws[equal_weight_draws(x, pool), , drop = FALSE]
  }
  draws <- posterior::as_draws_df(as.matrix(draws))
  if (weighted) {
    draws <- posterior::weight_draws(draws, pool$weights, log = FALSE)
  }
  draws
}

#' @rdname as_draws.kb_srvm
#' @importFrom posterior as_draws_df
#' @export
as_draws_df.kb_srvm <- as_draws.kb_srvm

#' The draw that belongs to each particle
#' @noRd
srvm_parameters <- function(fit, pool) {
  scaling <- fit$settings$scaling
  out <- data.frame(
    sigma = unscale_sd(scaling, sqrt(pool$draws$noise)),
    tau = unscale_sd(scaling, sqrt(pool$draws$coef)), k = pool$k
  )
  if (fit$settings$intercept) {
    index <- coefficient_index(pool, TRUE)
    first <- pool$draws$beta[index$candidate == 0]
    out$Intercept <- unscale_mean(scaling, first)
  }
  out
}
