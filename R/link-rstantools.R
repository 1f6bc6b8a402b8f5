# rstantools: posterior predictions, registered when that package is loaded.

#' Posterior predictions in the form of rstantools
#'
#' `rstantools::posterior_predict(fit, newdata)` has draws of new responses.
#' @param object A fit of [srvm()], [bark()] or [kgs()].
#' @param newdata New predictors as for [predict()][predict.kb_srvm]; for
#'   `log_lik()` of a formula fit with the response. `NULL`: the training rows.
#' @param newy For `log_lik()` of an x/y fit with `newdata`: the responses.
#' @param weights Weights of the rows of `newdata`, see [kb_weights]: for numeric
#'   responses of [bark()] and [srvm()]; for `log_lik()` also those that count copies.
#' @param ndraws Number of draws S; by default the number of particles, or all
#'   kept draws of the chains.
#' @param linear,groups,offset For fits of [bark()]: see
#'   [predict()][predict.kb_bark].
#' @param re_formula `NA`: without the coefficients of groups, see
#'   [predict()][predict.kb_bark]. It changes nothing where there are none.
#' @param seed For `posterior_predict()`: see [simulate()][simulate.kb_fit].
#' @param ... Not used: unknown arguments are errors.
#' @return Matrices S x n: `posterior_epred()` draws of the expected response (f, or
#'   the probability of the second of two classes), `posterior_predict()` draws of
#'   new responses (1 for the second class, 0 for the first; of C classes their
#'   number from 1, and `posterior_epred()` is then an array S x n x C of their
#'   probabilities with the levels as names), `log_lik()` log densities or
#'   probabilities of the responses given each draw, of all copies of a row if
#'   weights count them. Draws have equal weight and are ordered chain by chain.
#'   Labels of [kgs()] are the recorded ones, right or wrong. Counts whose mean is
#'   too large for R's generators are `NA`.
#' @examplesIf requireNamespace("rstantools", quietly = TRUE)
#' data <- sim_sinc(30, seed = 1)
#' fit <- srvm(y ~ x, data, kernel = kernel_gaussian(0.2), seed = 1)
#' dim(rstantools::posterior_predict(fit, data.frame(x = 0:2), seed = 1))
#' @name posterior_predict.kb_srvm
NULL

# Shared by the methods -------------------------------------------------------

# Noise scales (where it is normal, standard deviations) of draws, in the
# response's units
noise_draws <- function(fit, pool, chosen) UseMethod("noise_draws")

#' @export
noise_draws.kb_srvm <- function(fit, pool, chosen) {
  srvm_sigma_draws(fit, pool, chosen)
}

#' @export
noise_draws.kb_bark <- function(fit, pool, chosen) {
  unscale_sd(fit$settings$scaling, 1 / sqrt(pool$noise[chosen]))
}

# Draws of f at rows, S x n; NA where rows are not complete
function_draws <- function(fit, rows, pool, chosen) {
  x <- rows$x[rows$complete, , drop = FALSE]
  t(spread_rows(t(posterior_draws(fit, x, pool, chosen)), rows$complete))
}

#' Draws of new responses at rows, S x n, from R's generator: numbers, of two
#' classes 1 for the second and 0 for the first, of more the number of the class
#' @param rows From `prediction_rows()`.
#' @noRd
response_draws <- function(fit, rows, pool, chosen) {
  UseMethod("response_draws")
}

#' @export
response_draws.default <- function(fit, rows, pool, chosen) {
  f <- function_draws(fit, rows, pool, chosen)
  family_of(fit)$respond(fit, f, rows, pool, chosen)
}

# `f` of rows, given draws of equal weight
given_draws <- function(object, rows, ndraws, f, pool = posterior_pool(object)) {
  chosen <- equal_weight_draws(object, pool, check_ndraws(ndraws))
  f(object, rows, pool, chosen)
}

#' Expected responses given draws at rows, S x n (of two classes the probability
#' of the second), or S x n x C
#' @param rows From `prediction_rows()`.
#' @noRd
expected_draws <- function(fit, rows, pool, chosen) {
  UseMethod("expected_draws")
}

#' @export
expected_draws.default <- function(fit, rows, pool, chosen) {
  f <- function_draws(fit, rows, pool, chosen)
  family_of(fit)$expected(fit, f, pool, chosen)
}

# Probabilities S x n x C; of two classes that of the second, S x n
second_or_all <- function(p, levels) {
  if (dim(p)[[3]] == 2) {
    return(last_slice(p))
  }
  dimnames(p) <- list(NULL, NULL, levels)
  p
}

# Values of `response_draws()` as classes; numbers as they are
as_classes <- function(fit, draws) {
  levels <- fit$mould$levels
  if (is_ordered(fit)) {
    draws[] <- lapply(draws, ordered_class, fit)
  } else if (!is.null(levels)) {
    first <- if (length(levels) == 2) 1L else 0L
    draws[] <- lapply(draws, function(v) factor(levels[v + first], levels))
  }
  draws
}

# New responses at rows, from the generator with this seed
drawn_responses <- function(object, rows, ndraws, seed) {
  given_draws(object, rows, ndraws, function(...) {
    with_local_seed(seed, response_draws(...))
  })
}

#' Log densities or probabilities of the responses given draws, S x n
#' @param rows From `prediction_rows()`, with the response.
#' @noRd
response_log_lik <- function(fit, rows, pool, chosen) {
  UseMethod("response_log_lik")
}

#' @export
response_log_lik.default <- function(fit, rows, pool, chosen) {
  f <- function_draws(fit, rows, pool, chosen)
  matrix(family_of(fit)$log_lik(fit, f, rows, pool, chosen), nrow(f))
}

# srvm -------------------------------------------------------------------------

#' @rdname posterior_predict.kb_srvm
#' @exportS3Method rstantools::posterior_epred
posterior_epred.kb_srvm <- function(object, newdata = NULL, ndraws = NULL,
                                    re_formula = NULL, ...) {
  object <- without_groups(checked_fit(object, ...), re_formula)
  rows <- prediction_rows(object, newdata, NULL, is.null(newdata), FALSE)
  given_draws(object, rows, ndraws, expected_draws)
}

#' @rdname posterior_predict.kb_srvm
#' @exportS3Method rstantools::posterior_predict
posterior_predict.kb_srvm <- function(object, newdata = NULL, ndraws = NULL,
                                      seed = NULL, weights = NULL,
                                      re_formula = NULL, ...) {
  object <- without_groups(checked_fit(object, ...), re_formula)
  refuse_row_weights(object, weights)
  rows <- prediction_rows(
    object, newdata, NULL, is.null(newdata), FALSE, weights
  )
  drawn_responses(object, rows, ndraws, seed)
}

#' @rdname posterior_predict.kb_srvm
#' @exportS3Method rstantools::log_lik
log_lik.kb_srvm <- function(object, newdata = NULL, newy = NULL,
                            ndraws = NULL, weights = NULL, ...) {
  object <- checked_fit(object, ...)
  refuse_row_weights(object, weights, scored = TRUE)
  rows <- prediction_rows(
    object, newdata, newy, is.null(newdata), TRUE, weights
  )
  given_draws(object, rows, ndraws, copies_log_lik)
}

# bark -------------------------------------------------------------------------

#' @rdname posterior_predict.kb_srvm
#' @exportS3Method rstantools::posterior_epred
posterior_epred.kb_bark <- function(object, newdata = NULL, ndraws = NULL,
                                    linear = NULL, groups = NULL,
                                    offset = NULL, re_formula = NULL, ...) {
  object <- checked_fit(object, ...)
  rows <- bark_rows(
    object, newdata, NULL, is.null(newdata), FALSE, NULL,
    linear, groups, offset, re_formula
  )
  given_draws(object, rows, ndraws, expected_draws)
}

#' @rdname posterior_predict.kb_srvm
#' @exportS3Method rstantools::posterior_predict
posterior_predict.kb_bark <- function(object, newdata = NULL, ndraws = NULL,
                                      seed = NULL, weights = NULL,
                                      linear = NULL, groups = NULL,
                                      offset = NULL, re_formula = NULL, ...) {
  object <- checked_fit(object, ...)
  refuse_row_weights(object, weights)
  trials <- identical(object$mould$outcome, "trials")
  if (trials && !is.null(newdata)) refuse_unknown_trials(object)
  rows <- bark_rows(
    object, newdata, NULL, is.null(newdata), trials, weights,
    linear, groups, offset, re_formula
  )
  drawn_responses(object, rows, ndraws, seed)
}

#' @rdname posterior_predict.kb_srvm
#' @exportS3Method rstantools::log_lik
log_lik.kb_bark <- function(object, newdata = NULL, newy = NULL,
                            ndraws = NULL, weights = NULL, linear = NULL,
                            groups = NULL, offset = NULL, re_formula = NULL,
                            ...) {
  object <- checked_fit(object, ...)
  refuse_row_weights(object, weights, scored = TRUE)
  rows <- bark_rows(
    object, newdata, newy, is.null(newdata), TRUE, weights,
    linear, groups, offset, re_formula
  )
  given_draws(object, rows, ndraws, copies_log_lik)
}

# Of fits to x and y; formulas find the numbers of trials in the data
refuse_unknown_trials <- function(fit) {
  if (fit$mould$interface == "xy") {
    kb_abort(c(
      "{.fn posterior_predict} needs the numbers of trials of {.arg newdata}.",
      i = "Fit a formula, {.code cbind(successes, failures) ~ .}, or draw
           {.fn rbinom} with the probabilities of {.fn posterior_epred}."
    ), "argument", argument = "newdata")
  }
}

# Copies of rows count in their likelihood only
refuse_row_weights <- function(object, weights, scored = FALSE) {
  if (is.null(weights)) {
    return(invisible())
  }
  meaning <- family_of(object)$weights
  if (is.null(meaning)) refuse_class_weights(weights)
  if (meaning == "copies" && !scored) {
    refuse_glm_weights(object$settings$family)
  }
}

# kgs --------------------------------------------------------------------------

#' @rdname posterior_predict.kb_srvm
#' @exportS3Method rstantools::posterior_epred
posterior_epred.kb_kgs <- posterior_epred.kb_srvm

#' @export
expected_draws.kb_kgs <- function(fit, rows, pool, chosen) {
  p <- label_probability(fit, rows, pool, chosen)
  second_or_all(p, fit$mould$levels)
}

#' @rdname posterior_predict.kb_srvm
#' @exportS3Method rstantools::posterior_predict
posterior_predict.kb_kgs <- function(object, newdata = NULL, ndraws = NULL,
                                      seed = NULL, re_formula = NULL, ...) {
  object <- without_groups(checked_fit(object, ...), re_formula)
  rows <- prediction_rows(object, newdata, NULL, is.null(newdata), FALSE)
  drawn_responses(object, rows, ndraws, seed)
}

#' @rdname posterior_predict.kb_srvm
#' @exportS3Method rstantools::log_lik
log_lik.kb_kgs <- function(object, newdata = NULL, newy = NULL,
                            ndraws = NULL, ...) {
  object <- checked_fit(object, ...)
  rows <- prediction_rows(object, newdata, newy, is.null(newdata), TRUE)
  given_draws(object, rows, ndraws, copies_log_lik)
}

#' @export
response_log_lik.kb_kgs <- function(fit, rows, pool, chosen) {
  p <- label_probability(fit, rows, pool, chosen)
  first <- matrix(p[, , 1], nrow(p))
  of_row <- col(first)
  at <- cbind(c(row(first)), c(of_row), as.integer(rows$y)[of_row])
  matrix(log(p[at]), nrow(p))
}

# loo: leave-one-out cross-validation by importance sampling, registered when
# that package is loaded.

#' Leave-one-out cross-validation and WAIC
#'
#' `loo::loo(fit)`, `loo::waic(fit)` and `loo::kfold(fit)` for fits with a likelihood.
#'
#' With normal noise `loo()` integrates over the coefficients of the kernels exactly:
#' it weights the draws of all other parameters \eqn{\theta}{theta} by the inverse of
#' \eqn{p(y_i | y_{-i}, \theta)}{p(y_i | y_-i, theta)}. Otherwise few draws would
#' dominate the weights of rows that are centres of kernels. For classes, for t
#' noise, and for `waic()` the log likelihood given each draw of the coefficients is
#' used, `rstantools::log_lik()`. If Pareto k is above 0.7, `loo()` warns that its
#' estimate is unreliable. The relative efficiency of the draws is computed from the
#' chains; in sequential fits it is the effective number of particles over their
#' number. Rows with weights that mean copies (see [kb_weights]) count as their
#' copies, of which one is left out at a time.
#' @param x A fit of [srvm()], [bark()] or [kgs()].
#' @param ... Passed on to [loo::loo.matrix()] or [loo::waic.matrix()], such as
#'   `cores`.
#' @return An object of class `loo` (`psis_loo`, `waic`, or `kfold`), for
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
#' loo::kfold(narrow, K = 4, seed = 1)
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
  noise <- response_noise(fit, moments, pool, rows$weights)
  noise <- noise[rep_len(seq_len(nrow(noise)), nrow(rows$x)), , drop = FALSE]
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
