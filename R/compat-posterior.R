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
#'   centres), `Intercept` if the model has one, `df` (degrees of freedom of the
#'   noise), `lambda` (rate of the number of centres) and `bandwidth[<predictor>]` (in
#'   units of the predictor as the model sees it) if they are learned, `kernel` (its
#'   number, as in [kernel_posterior()]) if kernels are averaged, and with a
#'   [kernel_dictionary()] `k_kernel[h]` (number of centres with its kernel h);
#'   `sigma`, `tau` and `Intercept` in units of the response.
#'
#'   Each particle is stored as a chain of one iteration, since particles are
#'   not in the order of a chain. R-hat, `ess_bulk` and `ess_tail` of posterior,
#'   which are for chains, are therefore `NA`; for the effective sample size of
#'   particles see [ess()] and [diagnostics()]. [posterior::merge_chains()]
#'   combines them into one chain.
#' @examples
#' data <- sim_sinc(30, seed = 1)
#' fit <- srvm(y ~ x, data,
#'   kernel = kernel_gaussian(0.2), control = smc_control(particles = 100),
#'   seed = 1
#' )
#' posterior::summarise_draws(as_draws(fit), "mean", "sd")
#' tail(ess(fit), 1)
#' @export
as_draws.kb_srvm <- function(x, weighted = FALSE, ...) {
  x <- checked_fit(x, ...)
  weighted <- check_flag(weighted)
  pool <- srvm_pool(x)
  draws <- srvm_parameters(x, pool)
  if (!weighted) {
    draws <- draws[equal_weight_draws(x, pool), , drop = FALSE]
  }
  particle_draws(draws, if (weighted) pool$weights)
}

#' Draws of particles, each a chain of one iteration: particles are not in the
#' order of a chain, so that R-hat and effective sample sizes of chains are NA
#' @param draws Matrix or data frame, a row per particle.
#' @noRd
particle_draws <- function(draws, weights = NULL) {
  draws <- as.data.frame(as.matrix(draws))
  draws$.chain <- seq_len(nrow(draws))
  draws$.iteration <- 1L
  draws <- posterior::as_draws_df(draws)
  if (!is.null(weights)) {
    draws <- posterior::weight_draws(draws, weights, log = FALSE)
  }
  draws
}

#' @rdname as_draws.kb_srvm
#' @importFrom posterior as_draws_df
#' @export
as_draws_df.kb_srvm <- as_draws.kb_srvm

# The draw that belongs to each particle
srvm_parameters <- function(fit, pool) {
  scaling <- fit$settings$scaling
  out <- data.frame(
    sigma = unscale_sd(scaling, sqrt(pool$draws$noise)),
    tau = unscale_sd(scaling, sqrt(pool$draws$coef)), k = pool$k
  )
  if (fit$settings$intercept) {
    index <- coefficient_index(pool, fit$settings)
    first <- pool$draws$beta[index$candidate == 0]
    out$Intercept <- unscale_mean(scaling, first)
  }
  prior <- fit$settings$prior
  if (learns_df(fit)) out$df <- pool$df
  if (is_learned_lambda(prior)) {
    # After (S2).
    out$lambda <- with_local_seed(fit$seed, stats::rgamma(
      length(pool$k), prior$lambda$shape + pool$k, prior$lambda$rate + 1
    ))
  }
  if (learns_scales(fit$settings)) out <- cbind(out, bandwidth_columns(fit, pool))
  if (is_averaged(fit)) out$kernel <- pool$kernel
  if (has_dictionary(fit)) out <- cbind(out, dictionary_parameters(fit, pool))
  out
}

# bark -------------------------------------------------------------------------

#' Draws of the parameters of a bark fit
#'
#' @param x A fit of [bark()].
#' @param ... Not used: unknown arguments are errors.
#' @return A [posterior::draws_df] with the chains and iterations that the draws
#'   come from and the variables
#'   * `sigma`: noise standard deviation of a row of weight 1, in units of the
#'     response (for Student-t noise its scale; where it varies, the root of the
#'     mean variance over the rows; 1 in classification);
#'   * `J`: number of kernels, with their multiplicity;
#'   * `log_lik`: log likelihood of all responses, in their units, with the
#'     coefficients integrated out; for classes, Student-t noise, `sigma` and the
#'     truncation approximation given the coefficients;
#'   * `df`: degrees of freedom of the noise, with `bark_prior(df = "learned")`;
#'   * `cut[low|high]`: for ordered classes the cut point between the
#'     neighbouring levels `low` and `high`; the first is 0;
#'   * with terms beside kernels the linear coefficients `b[term]` (see
#'     [fixef.kb_bark()]), standard deviations `sd[factor]` or
#'     `sd[factor,coefficient]` of groups and their correlations
#'     `cor[factor,one,other]`;
#'   * `lambda[l]`: scale of column l of the predictors, for standardised
#'     predictors if `scale = TRUE`; 0 where the predictor is not in the kernel;
#'   * `delta[l]`, for priors that select: 1 where it is in the kernel.
#'
#'   With `bark_prior(directions = )` `lambda[l]` and `delta[l]` belong to
#'   direction l, and `directions[i,l]` is its component along column i of the
#'   predictors (standardised if `scale = TRUE`). The signs of directions are
#'   not identified, and their numbering only in part, so do not expect an R-hat
#'   near 1 for them. With kernel-specific scales `lambda[l]` is their mean and
#'   `delta[l]` the share of kernels with the predictor, both weighted by the
#'   absolute coefficients. With several classes `J` counts the kernels of all
#'   fields and `J[class]` those of one; the others are `lambda[class,l]` and
#'   `delta[class,l]`.
#' @examples
#' data <- sim_friedman(40, p = 5, seed = 1)
#' fit <- bark(y ~ ., data,
#'   control = mcmc_control(chains = 2, warmup = 100, iter = 90), seed = 1
#' )
#' posterior::summarise_draws(as_draws(fit), "mean", "sd", "rhat")
#' @order 1
#' @export
as_draws.kb_bark <- function(x, ...) {
  x <- checked_fit(x, ...)
  chains <- chain_matrices(x)
  pool <- bark_pool(x)
  scales <- if (has_kernels(x)) scale_columns(x, pool)
  if (has_directions(x)) scales <- cbind(scales, direction_columns(x, pool))
  if (is_ordered(x)) scales <- cbind(bark_cuts(x, pool), scales)
  sigma <- if (has_noise(x)) chains$sigma else 1 + 0 * chains$J
  parameters <- family_of(x)$parameters
  if (length(parameters) > 0) {
    scales <- cbind(do.call(cbind, lapply(chains[parameters], as.vector)), scales)
  }
  if (learns_df(x)) scales <- cbind(df = pool$df, scales)
  if (has_mixed(x)) scales <- cbind(mixed_columns(chains), scales)
  draws <- data.frame(
    sigma = as.vector(sigma), J = as.vector(chains$J),
    log_lik = as.vector(chains$log_lik), check.names = FALSE
  )
  if (!is.null(scales)) draws <- cbind(draws, scales)
  draws$.chain <- as.vector(col(chains$J))
  draws$.iteration <- as.vector(row(chains$J))
  posterior::as_draws_df(draws)
}

# Scales and inclusion of predictors, one row per draw
scale_columns <- function(fit, pool) {
  scales <- bark_scales(fit, pool)
  index <- seq_len(ncol(scales))
  colnames(scales) <- paste0("lambda[", index, "]")
  if (!bark_selects(fit$settings$prior$type)) {
    return(scales)
  }
  delta <- bark_included(fit, pool)
  colnames(delta) <- paste0("delta[", index, "]")
  cbind(scales, delta)
}

#' @rdname as_draws.kb_bark
#' @export
as_draws_df.kb_bark <- as_draws.kb_bark

# kgs --------------------------------------------------------------------------

#' Draws of the parameters of a kgs fit
#'
#' @param x A fit of [kgs()].
#' @param ... Not used: unknown arguments are errors.
#' @return A [posterior::draws_df] with the chains and iterations that the draws
#'   come from and the variables
#'   * `q`: rate of wrong labels, a constant where it is known; with
#'     [noise_class()] `q[class]`, one for each class;
#'   * `errors`: the number of wrong labels expected given f and the rate, which
#'     varies less than the number itself;
#'   * `log_lik`: log likelihood of all labels given f and the rate;
#'   * `log_nugget`, where it is learned, and `log_bandwidth[i]` likewise;
#'   * `f[i]`: f at row i for a direction of unit length, for at most ten
#'     training rows (with more than two classes f of the first class);
#'     [`predict(type = "draws")`][predict.kb_kgs] gives all.
#' @examples
#' moons <- sim_moons(80, flips = 0.1, seed = 1)
#' fit <- kgs(y ~ x1 + x2, moons, kernel = kernel_gaussian(0.5), seed = 1)
#' posterior::summarise_draws(as_draws(fit), "mean", "sd", "rhat")
#' @export
as_draws.kb_kgs <- function(x, ...) {
  x <- checked_fit(x, ...)
  chains <- chain_matrices(x)
  chains <- c(
    kgs_rates(x, chains), chains[setdiff(names(chains), kgs_rate_names(x))],
    watched_scales(x), first_function(x)
  )
  draws <- data.frame(lapply(chains, as.vector), check.names = FALSE)
  draws$.chain <- as.vector(col(chains$errors))
  draws$.iteration <- as.vector(row(chains$errors))
  posterior::as_draws_df(draws)
}

# Rates of wrong labels, known ones as well: matrices with one column per chain
kgs_rates <- function(fit, chains = chain_matrices(fit)) {
  known <- fit$settings$noise$rate
  if (!is.null(known)) {
    return(list(q = known + 0 * chains$errors))
  }
  chains[kgs_rate_names(fit)]
}

#' @rdname as_draws.kb_kgs
#' @export
as_draws_df.kb_kgs <- as_draws.kb_kgs
