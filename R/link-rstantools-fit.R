# rstantools: methods other than predictions (which are in link-rstantools.R),
# registered when that package is loaded.

#' Linear predictor, predictive intervals, R squared and prior of a fit
#'
#' Methods of generics of rstantools, for fits with a likelihood.
#' @param object A fit of [srvm()], [bark()] or [kgs()].
#' @param transform For `posterior_linpred()`: on the scale of the response?
#'   That is `rstantools::posterior_epred()`.
#' @param newdata New predictors; `NULL`: the training rows.
#' @param ndraws Number of draws S; by default the number of particles, or all
#'   kept draws of the chains.
#' @param re_formula `NULL` or `NA`, for models without groups.
#' @param prob Probability of the intervals.
#' @param pars Names of parameters; by default all.
#' @param newy For `predictive_error()` of a fit to x and y with `newdata`: the
#'   responses.
#' @param seed For `predictive_error()`: see [simulate()][simulate.kb_fit].
#' @param ... For fits of [bark()]: arguments `linear`, `groups`, `offset` and
#'   `re_formula` of [predict()][predict.kb_bark]. Unknown arguments are errors.
#' @return
#' * `posterior_linpred()`: draws of the latent function f, a matrix S x n (an
#'   array if f has several components): `predict(type = "draws")`.
#' * `predictive_interval()`: for numeric responses, a matrix n x 2 of
#'   equal-tailed limits for new responses.
#' * `posterior_interval()`: for each parameter of [as.matrix()][confint.kb_fit]
#'   equal-tailed limits, a matrix.
#' * `predictive_error()`: responses minus draws of new ones, a matrix S x n; two
#'   classes count as 0 and 1.
#' * `bayes_R2()`: a vector of S draws of \eqn{v_f / (v_f + v_e)}{v_f / (v_f + v_e)}
#'   (Gelman and others, 2019), v_f the variance over the training rows of the
#'   expected responses and v_e that of the noise, or for two classes the mean of p
#'   (1 - p).
#' * `prior_summary()`: the prior of the fit with all numbers resolved, a list
#'   of class `kb_prior_summary` with a print method.
#' @section Errors: `kb_error_not_defined` for `predictive_interval()` with classes,
#'   and for `bayes_R2()` with more than two classes or with t noise without a
#'   variance.
#' @references
#' Gelman, A., Goodrich, B., Gabry, J. and Vehtari, A. (2019). R-squared for
#' Bayesian regression models. *The American Statistician* 73, 307-309.
#' \doi{10.1080/00031305.2018.1549100}
#' @examplesIf requireNamespace("rstantools", quietly = TRUE)
#' data <- sim_sinc(30, seed = 1)
#' fit <- srvm(y ~ x, data, kernel = kernel_gaussian(0.3), seed = 1)
#' rstantools::predictive_interval(fit, newdata = data.frame(x = 0:2))
#' median(rstantools::bayes_R2(fit))
#' rstantools::prior_summary(fit)
#' @name posterior_linpred.kb_fit
NULL

#' @rdname posterior_linpred.kb_fit
#' @exportS3Method rstantools::posterior_linpred
posterior_linpred.kb_fit <- function(object, transform = FALSE, newdata = NULL,
                                     ndraws = NULL, re_formula = NULL, ...) {
  object <- without_groups(checked_fit(object, ...), re_formula)
  linear_predictor(object, transform, newdata, ndraws)
}

# Further arguments are those of predict(), which refuses what it does not know
#' @rdname posterior_linpred.kb_fit
#' @exportS3Method rstantools::posterior_linpred
posterior_linpred.kb_bark <- function(object, transform = FALSE, newdata = NULL,
                                      ndraws = NULL, ...) {
  linear_predictor(checked_fit(object), transform, newdata, ndraws, ...)
}

linear_predictor <- function(object, transform, newdata, ndraws, ...) {
  need_likelihood(object, "posterior_linpred")
  if (check_flag(transform)) {
    return(rstantools::posterior_epred(object, newdata, ndraws = ndraws, ...))
  }
  arguments <- list(object, type = "draws", ndraws = ndraws, ...)
  if (!is.null(newdata)) arguments$newdata <- newdata
  do.call(stats::predict, arguments)
}

#' @rdname posterior_linpred.kb_fit
#' @exportS3Method rstantools::predictive_interval
predictive_interval.kb_fit <- function(object, prob = 0.9, newdata = NULL,
                                       ...) {
  drawn_interval(checked_fit(object, ...), prob, newdata)
}

#' @rdname posterior_linpred.kb_fit
#' @exportS3Method rstantools::predictive_interval
predictive_interval.kb_bark <- function(object, prob = 0.9, newdata = NULL,
                                        ...) {
  drawn_interval(checked_fit(object), prob, newdata, ...)
}

drawn_interval <- function(object, prob, newdata, ...) {
  need_likelihood(object, "predictive_interval")
  prob <- check_number(prob, 0, 1, open = TRUE)
  if (is.factor(training_response(object))) {
    kb_abort(c(
      "{.fn predictive_interval} is not defined for classes.",
      i = "{.code predict(type = \"prob\")} gives their probabilities."
    ), "not_defined")
  }
  if (!has_quantiles(object)) {
    kb_abort(c(
      "{.fn predictive_interval} is not defined for numbers of successes.",
      i = "{.fn posterior_predict} draws them."
    ), "not_defined")
  }
  probs <- interval_ends(prob)
  arguments <- list(object,
    type = "quantile", interval = "prediction", probs = probs, ...
  )
  if (!is.null(newdata)) arguments$newdata <- newdata
  out <- do.call(stats::predict, arguments)
  colnames(out) <- paste0(format(100 * probs, trim = TRUE), "%")
  out
}

#' @rdname posterior_linpred.kb_fit
#' @exportS3Method rstantools::posterior_interval
posterior_interval.kb_fit <- function(object, prob = 0.9, pars = NULL, ...) {
  object <- checked_fit(object)
  prob <- check_number(prob, 0, 1, open = TRUE)
  draws <- as.matrix(object, ...)
  if (!is.null(pars)) {
    pars <- check_parameter_names(pars, colnames(draws), "pars")
    draws <- draws[, pars, drop = FALSE]
  }
  rstantools::posterior_interval(draws, prob = prob)
}

#' @rdname posterior_linpred.kb_fit
#' @exportS3Method rstantools::predictive_error
predictive_error.kb_fit <- function(object, newdata = NULL, newy = NULL,
                                    ndraws = NULL, seed = NULL, ...) {
  object <- checked_fit(object, ...)
  need_likelihood(object, "predictive_error")
  kind <- object$mould$outcome
  if (kind == "interval" || length(object$mould$levels) > 2) {
    refuse_meaning("predictive_error",
      if (kind == "interval") "Responses may be censored." else
        "There are more than two classes.",
      "{.fn log_lik} scores the predictions of draws."
    )
  }
  rows <- prediction_rows(object, newdata, newy, is.null(newdata), TRUE)
  y <- switch(kind,
    factor = as.integer(rows$y) - 1, trials = rows$y[, "successes"], rows$y
  )
  draws <- drawn_responses(object, rows, ndraws, seed)
  rep(y, each = nrow(draws)) - draws
}

#' @rdname posterior_linpred.kb_fit
#' @exportS3Method rstantools::bayes_R2
bayes_R2.kb_fit <- function(object, ndraws = NULL, ...) {
  object <- checked_fit(object, ...)
  need_likelihood(object, "bayes_R2")
  epred <- rstantools::posterior_epred(object, ndraws = ndraws)
  if (length(dim(epred)) > 2) {
    kb_abort("{.fn bayes_R2} is not defined for more than two classes.",
      "not_defined"
    )
  }
  copies <- row_copies(object)
  explained <- copy_variances(t(epred), copies)
  noise <- if (is.factor(training_response(object))) {
    copy_means(t(epred * (1 - epred)), copies)
  } else if (inherits(object, "kb_bark") && is_glm(object)) {
    refuse_where(object, "bayes_R2", "censored")
    mean_count_variance(object, ndraws)
  } else {
    mean_noise_variance(object, ndraws)
  }
  explained / (explained + noise)
}

# Of counts at the training rows, one number per draw
mean_count_variance <- function(fit, ndraws) {
  rows <- prediction_rows(fit, NULL, NULL, TRUE, FALSE)
  given_draws(fit, rows, ndraws, function(fit, rows, pool, chosen) {
    f <- function_draws(fit, rows, pool, chosen)
    variance <- family_of(fit)$variance(fit, f, pool, chosen)
    copy_means(t(variance), row_copies(fit))
  })
}

# Of the training rows, one number per draw
mean_noise_variance <- function(fit, ndraws) {
  pool <- posterior_pool(fit)
  chosen <- equal_weight_draws(fit, pool, check_ndraws(ndraws))
  df <- chosen_df(fit, pool, chosen)
  if (min(df) <= 2) {
    kb_abort(c(
      "{.fn bayes_R2} is not defined where the noise has no variance.",
      x = "It has a t distribution with {format(min(df))} degrees of freedom."
    ), "not_defined")
  }
  rows <- prediction_rows(fit, NULL, NULL, TRUE, FALSE)
  inflation <- ifelse(is.finite(df), df / (df - 2), 1)
  inflation * rowMeans(response_sd(fit, rows, pool, chosen)^2)
}

# Prior ------------------------------------------------------------------------

#' @rdname posterior_linpred.kb_fit
#' @exportS3Method rstantools::prior_summary
prior_summary.kb_fit <- function(object, ...) {
  object <- checked_fit(object, ...)
  need_likelihood(object, "prior_summary")
  structure(
    list(fit = class(object)[[1]], prior = resolved_prior(object)),
    class = "kb_prior_summary"
  )
}

# Priors of all parameters as named strings and numbers
resolved_prior <- function(fit) {
  if (inherits(fit, "kb_kgs")) {
    prior <- fit$settings[c("kernel", "noise", "bias", "nugget", "prior")]
    prior$prior <- unclass(prior$prior)
    return(prior)
  }
  prior <- unclass(fit$settings$prior)
  if (inherits(fit, "kb_srvm")) {
    return(c(list(kernel = shown_kernel(fit$settings)), prior, fit$settings["intercept"]))
  }
  prior
}

#' @export
print.kb_prior_summary <- function(x, ...) {
  cat("Prior of a fit of class ", x$fit, "\n", sep = "")
  words <- prior_words(x$fit)
  for (name in names(x$prior)) {
    value <- x$prior[[name]]
    # Numbers of another form of the prior are NA.
    if (is.null(value) || identical(is.na(value), TRUE)) next
    known <- name %in% names(words)
    label <- if (known) paste0(words[[name]], " (", name, ")") else name
    cat("  ", label, ": ", prior_text(value), "\n", sep = "")
  }
  invisible(x)
}

# What the parts of a resolved prior are. That of bark() has other numbers than its
# options.
prior_words <- function(class) {
  if (class == "kb_srvm") {
    return(option_words(srvm_options))
  }
  if (startsWith(class, "kb_kgs")) {
    return(c(
      noise = "rates of wrong labels", bias = "constant of the kernel",
      nugget = "share of what kernels miss", prior = "prior of what is learned"
    ))
  }
  c(
    type = "kind of scales", alpha = "index of the stable process",
    gamma = "intensity of the process", eps = "scale of coefficients",
    nu = "expected number of kernels",
    discrepancy = "expected squared discrepancy", A = "shape of the scales",
    B = "rate of the scales", a_p = "selection, successes",
    b_p = "selection, failures", noise_shape = "shape of the noise precision",
    noise_rate = "rate of the noise precision",
    noise_fixed = "is the noise known?", noise_precision = "its precision",
    improper = "is it improper?", slope_scale = "scale of the sd of slopes",
    centre_sd = "sd of centres around rows", pool = "prior of pooled scales",
    concentrations = "concentrations of clusters", option_words(bark_options)
  )
}

prior_text <- function(value) {
  if (is.numeric(value)) {
    return(toString(format(value, digits = 4, trim = TRUE)))
  }
  if (is.character(value) || is.logical(value)) {
    return(toString(value))
  }
  if (rlang::is_bare_list(value)) {
    text <- vapply(value, prior_text, "")
    return(toString(paste0(sprintf("%s = ", names(text)), text)))
  }
  toString(format(value))
}

need_likelihood <- function(fit, what) {
  if (!inherits(fit, c("kb_srvm", "kb_bark", "kb_kgs"))) {
    kb_abort(c(
      "{.fn {what}} is not defined for a fit of class
       {.cls {class(fit)[[1]]}}.",
      x = "It has no likelihood."
    ), "not_defined")
  }
  # Scores of responses, which draws from the prior have not seen.
  if (what %in% c("loo", "waic", "cross_validate")) refuse_where(fit, what, "prior_only")
}
