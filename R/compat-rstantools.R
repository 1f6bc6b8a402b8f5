# rstantools: posterior predictions, registered when that package is loaded.

#' Posterior predictions in the form of rstantools
#'
#' @param object A fit of [srvm()] or [bark()].
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
#' @return Matrices S x n: `posterior_epred()` draws of the expected response
#'   (f, or the probability of the second of two classes), `posterior_predict()`
#'   draws of new responses (1 for the second class, 0 for the first; of C
#'   classes of [bark()] their number from 1, and `posterior_epred()` is then an
#'   array S x n x C of their probabilities with the levels as names),
#'   `log_lik()` log densities or probabilities of the responses given each
#'   draw, of all copies of a row if weights count them. Draws have equal weight and
#'   are ordered chain by chain. Counts whose mean is too large for R's generators
#'   are `NA`.
#' @examplesIf requireNamespace("rstantools", quietly = TRUE)
#' data <- sim_sinc(30, seed = 1)
#' fit <- srvm(y ~ x, data,
#'   kernel = kernel_gaussian(0.2), control = smc_control(particles = 100),
#'   seed = 1
#' )
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
given_draws <- function(object, rows, ndraws, f) {
  pool <- posterior_pool(object)
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

#' Posterior predictions of kgs fits in the form of rstantools
#'
#' @param object A fit of [kgs()].
#' @param newdata New predictors as for [predict()][predict.kb_kgs]; for
#'   `log_lik()` of a formula fit with the labels. `NULL`: the training rows.
#' @param newy For `log_lik()` of an x/y fit with `newdata`: the labels.
#' @param ndraws Number of draws S, chosen evenly; by default all kept draws.
#' @param seed For `posterior_predict()`: a whole number, or `NULL` to draw from
#'   R's generator.
#' @param re_formula `NULL` or `NA`, as for other models: there are no groups.
#' @param ... Not used: unknown arguments are errors.
#' @return All refer to the recorded labels, right or wrong; draws are ordered
#'   chain by chain. For two classes matrices S x n: `posterior_epred()` the
#'   probability of the second level given each draw, `posterior_predict()`
#'   labels (1 for the second level, 0 for the first), `log_lik()` log
#'   probabilities of the labels. For C classes `posterior_epred()` is an array
#'   S x n x C with the levels as names, `posterior_predict()` the numbers of
#'   levels from 1. The means of `posterior_epred()` are those of
#'   [`predict(type = "prob")`][predict.kb_kgs].
#' @examplesIf requireNamespace("rstantools", quietly = TRUE)
#' moons <- sim_moons(80, flips = 0.1, seed = 1)
#' fit <- kgs(y ~ x1 + x2, moons, kernel = kernel_gaussian(0.5), seed = 1)
#' new <- data.frame(x1 = c(0, 1), x2 = 0)
#' colMeans(rstantools::posterior_epred(fit, new))
#' rstantools::posterior_predict(fit, new, ndraws = 3, seed = 1)
#' @name posterior_predict.kb_kgs
NULL

#' @rdname posterior_predict.kb_kgs
#' @exportS3Method rstantools::posterior_epred
posterior_epred.kb_kgs <- posterior_epred.kb_srvm

#' @export
expected_draws.kb_kgs <- function(fit, rows, pool, chosen) {
  p <- label_probability(fit, rows, pool, chosen)
  second_or_all(p, fit$mould$levels)
}

#' @rdname posterior_predict.kb_kgs
#' @exportS3Method rstantools::posterior_predict
posterior_predict.kb_kgs <- function(object, newdata = NULL, ndraws = NULL,
                                      seed = NULL, re_formula = NULL, ...) {
  object <- without_groups(checked_fit(object, ...), re_formula)
  rows <- prediction_rows(object, newdata, NULL, is.null(newdata), FALSE)
  drawn_responses(object, rows, ndraws, seed)
}

#' @rdname posterior_predict.kb_kgs
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
