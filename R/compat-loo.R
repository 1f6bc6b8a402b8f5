# loo: leave-one-out cross-validation by importance sampling, registered when
# that package is loaded.

#' Leave-one-out cross-validation and WAIC
#'
#' Methods of [loo::loo()] and [loo::waic()] for fits with a likelihood.
#'
#' With normal noise `loo()` integrates over the coefficients of the kernels
#' exactly: it weights the draws of all other parameters \eqn{\theta}{ theta} by
#' the inverse of \eqn{p(y_i | y_{-i}, \theta)}{p(y_i | y_-i, theta)}, which
#' follows from the mean m and variance v of f at row i given
#' \eqn{\theta}{theta} and the noise variance s: a normal density of mean (m - h
#' y) / (1 - h) and variance s / (1 - h), h = v / s. Otherwise few draws would
#' dominate the weights of rows that are centres of kernels. For classes, for t
#' noise, and for `waic()` the log likelihood given each draw of the
#' coefficients is used, `rstantools::log_lik()`. If Pareto k is above 0.7,
#' `loo()` warns that its estimate is unreliable.
#'
#' The relative efficiency of the draws, which enters the smoothing of the
#' largest weights and the standard errors, is computed from the chains; in
#' sequential fits it is the effective number of particles over their number.
#'
#' Rows with weights that mean copies (see [kb_weights]) count as their copies, of
#' which one is left out at a time.
#'
#' @param x A fit of [srvm()], [bark()] or [kgs()].
#' @param ... Passed on to [loo::loo.matrix()] or [loo::waic.matrix()], such as
#'   `cores`.
#' @return An object of class `loo` (`psis_loo`, or `waic`), for
#'   [loo::loo_compare()] and [loo::loo_model_weights()]. Compare only models of
#'   the same response on the same scale.
#' @section Errors: `kb_error_not_defined` for fits without a likelihood
#'   ([kbr()], [kbr_hmm()]) and for those that have forgotten rows
#'   ([srvm_memory()]).
#' @references
#' Vehtari, A., Gelman, A. and Gabry, J. (2017). Practical Bayesian model
#' evaluation using leave-one-out cross-validation and WAIC. *Statistics and
#' Computing* 27, 1413-1432. \doi{10.1007/s11222-016-9696-4}
#'
#' Vehtari, A., Mononen, T., Tolvanen, V., Sivula, T. and Winther, O. (2016).
#' Bayesian leave-one-out cross-validation approximations for Gaussian latent
#' variable models. *Journal of Machine Learning Research* 17(103), 1-38.
#' @examplesIf rlang::is_installed(c("loo", "rstantools"))
#' data <- sim_sinc(30, seed = 1)
#' narrow <- srvm(y ~ x, data, kernel = kernel_gaussian(0.3), seed = 1)
#' wide <- srvm(y ~ x, data, kernel = kernel_gaussian(3), seed = 1)
#' loo::loo_compare(loo::loo(narrow), loo::loo(wide))
#' @name loo.kb_fit
NULL

#' @rdname loo.kb_fit
#' @exportS3Method loo::loo
loo.kb_fit <- function(x, ...) {
  x <- checked_fit(x)
  check_loo(x, "loo")
  log_lik <- if (is_conjugate(x)) loo_log_density(x) else one_log_lik(x)
  out <- loo::loo(log_lik, r_eff = relative_efficiency(x, log_lik), ...)
  criteria_of_copies(out, row_copies(x))
}

#' @rdname loo.kb_fit
#' @exportS3Method loo::waic
waic.kb_fit <- function(x, ...) {
  x <- checked_fit(x)
  check_loo(x, "waic")
  criteria_of_copies(loo::waic(one_log_lik(x), ...), row_copies(x))
}

# Of one copy of each row
one_log_lik <- function(fit) {
  rows <- prediction_rows(fit, NULL, NULL, TRUE, TRUE)
  given_draws(fit, rows, NULL, response_log_lik)
}

#' What `loo()` and `waic()` give for the copies of rows
#'
#' Each copy has the criteria of its row. Copies that cannot be counted, or that
#' are many, stay together in a line of `pointwise`.
#' @param out Of one copy of each row.
#' @noRd
criteria_of_copies <- function(out, copies, most = 1e6) {
  if (is.null(copies)) {
    return(out)
  }
  names <- rownames(out$estimates)
  n <- sum(copies)
  mean <- copy_means(out$pointwise[, names], copies)
  spread <- copies * sweep(out$pointwise[, names], 2, mean)^2
  out$estimates[] <- c(n * mean, sqrt(n * colSums(spread) / spread_divisor(n)))
  # The same under the names of earlier versions of loo
  out[names] <- out$estimates[, 1]
  out[paste0("se_", names)] <- out$estimates[, 2]
  if (all(copies == round(copies)) && n <= most) {
    rows <- rep(seq_along(copies), copies)
    out$pointwise <- out$pointwise[rows, ]
    out$diagnostics[] <- lapply(out$diagnostics, `[`, rows)
    attr(out, "dims")[[2]] <- length(rows)
  } else {
    sums <- colnames(out$pointwise) != "influence_pareto_k"
    out$pointwise[, sums] <- copies * out$pointwise[, sums]
  }
  out
}

check_loo <- function(x, what) {
  need_likelihood(x, what)
  need_package("rstantools", paste0("`", what, "()`"))
  memory <- x$settings$memory
  if (!is.null(memory) && (memory$window < x$time || memory$forgetting < 1)) {
    kb_abort(c(
      "{.fn {what}} is not defined for a fit that has forgotten rows.",
      i = "{.fn prequential} scores each row before it is used."
    ), "not_defined")
  }
}

# Is f normal at a row given all but the coefficients and the other rows?
is_conjugate <- function(fit) {
  inherits(fit, c("kb_srvm", "kb_bark")) &&
    !has_student_noise(noise_df(fit, posterior_pool(fit))) &&
    identical(fit$settings$family, "gaussian")
}

# Log density of each response given the others and each draw of the
# parameters, the coefficients integrated out, S x n
loo_log_density <- function(fit) {
  pool <- posterior_pool(fit)
  rows <- prediction_rows(fit, NULL, NULL, TRUE, TRUE)
  scaling <- fit$settings$scaling
  moments <- posterior_moments(fit, rows$x, pool)
  noise <- predictive_variance(fit, moments, "prediction", pool, rows$weights) -
    moments$variance
  left <- pmax(1 - moments$variance / noise, 1e-10)
  residual <- (scaling_y(scaling, rows$y) - moments$mean) / left
  density <- stats::dnorm(residual, 0, sqrt(noise / left), log = TRUE)
  t(density)[equal_weight_draws(fit, pool), , drop = FALSE] -
    log(scaling$y_scale)
}

# Effective draws over draws, of each row's likelihood
relative_efficiency <- function(fit, log_lik) {
  if (inherits(fit, "kb_mcmc")) {
    chains <- length(fit_runs(fit))
    chain <- rep(seq_len(chains), each = nrow(log_lik) / chains)
    return(loo::relative_eff(exp(log_lik), chain_id = chain))
  }
  weights <- posterior_pool(fit)$weights
  rep(1 / (length(weights) * sum(weights^2)), ncol(log_lik))
}
