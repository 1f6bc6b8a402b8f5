# Settings and prior, which the first call of srvm() fixes.

# Settings -------------------------------------------------------------------

# Settings that are determined by the data at the first call
srvm_settings <- function(mould, kernel, prior, scale, intercept, memory,
                          control) {
  prior <- check_class(prior, "kb_srvm_prior", "`srvm_prior()`")
  memory <- check_class(memory, "kb_srvm_memory", "`srvm_memory()`")
  scale <- check_scale(scale)
  intercept <- check_flag(intercept)
  if (is.null(kernel)) kernel <- default_kernel(prior, control, memory)
  classes <- mould$outcome == "factor"
  # The noise at weight 1
  unit <- if (is.null(mould$weights) || classes) 1 else mean(mould$weights)
  given <- without_offset(mould, mould$y, classes)
  if (classes) {
    check_two_classes(mould$y, mould$outcome_name)
    prior <- probit_prior(prior)
  }
  # A linear kernel is to be linear in the predictors.
  if (!is_dictionary(kernel)) {
    kernels <- check_kernels(kernel)
    kernel <- if (inherits(kernel, "kb_kernel")) kernels[[1]] else kernels
  }
  logs <- isTRUE(scale) && !is_dictionary(kernel) &&
    any(vapply(kernels, is_ard, NA))
  scaling <- scaling_learn(
    mould$x, given, !isFALSE(scale),
    logs & may_take_logs(mould)
  )
  if (is_custom(kernel)) {
    scaling$map <- custom_map(kernel, scaling_x(scaling, mould$x))
    kernel <- kernel_linear()
  }
  x <- scaling_x(scaling, mould$x)
  y <- if (classes) numeric() else scaling_y(scaling, given)
  if (isFALSE(scale) && !classes) warn_offset(y)
  if (!classes && (is.null(prior$noise) || is.null(prior$coef))) {
    warn_no_spread(given, srvm_spread_advice)
  }
  kernel <- srvm_kernels(kernel, x)
  check_coef_df_use(prior, kernel, memory)
  prior$kernels <- kernel_prior_resolve(
    prior$kernels, n_kernels(list(kernel = kernel))
  )
  limits <- variance_limits(y, prior$scaled, unit)
  check_fixed(prior, "noise", limits)
  check_fixed(prior, "coef", limits)
  structure(
    list(
      kernel = kernel, prior = prior_resolve(prior, y, unit, kernel, ncol(x)),
      scale = scale, scaling = scaling, intercept = intercept,
      limits = limits,
      # Squares of y lose digits when its mean is far from 0.
      shift = if (intercept && isFALSE(scale) && !classes) mean(y) else 0,
      family = if (classes) "probit" else "gaussian",
      levels = mould$levels, memory = memory,
      linear = linear_part(prior, kernel, x),
      inverse_bandwidth = if (learns_scales(list(kernel = kernel))) {
        inverse_bandwidth_scale(prior, x)
      }
    ),
    class = "kb_srvm_settings"
  )
}

# The prior for a latent response with noise of variance 1
probit_prior <- function(prior) {
  problem <- if (!is.null(prior$noise)) {
    "{.arg noise} of {.arg prior} must be NULL for classification."
  } else if (prior$scaled) {
    "{.arg scaled} of {.arg prior} must be FALSE for classification."
  } else if (is_student(list(prior = prior))) {
    "{.arg df} of {.arg prior} must be Inf for classification."
  }
  if (!is.null(problem)) {
    kb_abort(c(
      problem,
      i = "The noise of a latent response has variance 1."
    ), "argument", argument = "prior")
  }
  prior$noise <- fixed_variance(1)
  prior
}

# Warn of a mean that is improbable under the prior of f
warn_offset <- function(y) {
  offset <- abs(mean(y)) / sqrt(response_variance(y))
  if (offset <= 10) {
    return(invisible())
  }
  kb_warn(c(
    "The mean of the response is far from 0.",
    x = "It is {format(offset, digits = 2)} standard deviations away.",
    i = "The prior of the regression function, including the intercept, is
         centred at 0: subtract a constant from the response or use
         {.code scale = TRUE}."
  ), "offset")
}

# Warn if the data do not determine the spread of responses
warn_no_spread <- function(y, advice) {
  if (any(y != y[[1]])) {
    return(invisible())
  }
  kb_warn(c(
    if (length(y) == 1) {
      "One row does not determine the scale of the response."
    } else {
      "All responses are equal: they do not determine the scale of the response."
    },
    x = if (length(y) > 1) "All {length(y)} responses are {y[[1]]}.",
    "*" = "Priors assume a standard deviation of 1, also for later rows:
           intervals are unreliable.",
    i = advice
  ), "no_spread")
}

srvm_spread_advice <- "Start with more rows, or set {.arg noise} and {.arg coef}
  of {.fn srvm_prior}, or {.arg reference}, a fit to similar data."

refuse_with_reference <- function(reference, given) {
  frozen <- intersect(given, c(
    "kernel", "prior", "scale", "intercept", "family", "memory"
  ))
  if (!is.null(reference) && length(frozen) > 0) {
    kb_abort(c(
      "{.arg reference} already determines {.arg {frozen}}.",
      i = "Omit one of them."
    ), "argument", argument = "reference")
  }
}

# The settings of a reference, which may be the settings themselves; not checked
settings_in <- function(reference) {
  if (inherits(reference, "kb_srvm")) reference$settings else reference
}

reference_settings <- function(reference, mould) {
  settings <- settings_in(reference)
  check_class(settings, "kb_srvm_settings", "a fit of `srvm()` or its settings",
    arg = "reference"
  )
  wanted <- names(settings$scaling$x_center)
  if (!identical(wanted, colnames(mould$x))) {
    kb_abort(c(
      "{.arg reference} must have the same predictors.",
      x = "It has {.val {wanted}}; here they are {.val {colnames(mould$x)}}."
    ), "argument", argument = "reference")
  }
  if (!identical(settings$levels, mould$levels)) {
    kb_abort(c(
      "{.arg reference} must have the same classes.",
      x = "It has {.val {settings$levels}}; here they are
           {.val {mould$levels}}."
    ), "argument", argument = "reference")
  }
  settings
}

# Rows need not contain both classes of the reference
adopt_classes <- function(mould, reference) {
  settings <- settings_in(reference)
  levels <- if (is.list(settings)) settings$levels
  if (!is.null(levels) && all(mould$levels %in% levels)) {
    mould$y <- factor(as.character(mould$y), levels)
    mould$levels <- levels
  }
  mould
}

# The family asked for, or that of the reference
srvm_family <- function(family, reference) {
  if (is.null(reference)) {
    return(check_family(family))
  }
  settings <- settings_in(reference)
  if (is.list(settings) && identical(settings$family, "probit")) {
    "probit"
  } else {
    "gaussian"
  }
}

# Prior ----------------------------------------------------------------------

#' Prior of a sequential relevance vector machine
#'
#' `srvm(y ~ ., data, prior = srvm_prior(lambda = 5))` changes a part of the prior. The
#' article `defaults` says what the default means, and why it was chosen.
#' @param lambda Rate of the Poisson prior of the number of centres k: a
#'   positive number, its prior `lambda_gamma(shape, rate)`, or `"learn"`: few (mean 4)
#'   or, with probability 0.2, many (mean 5 + 2p with p predictors, at most 25), see
#'   Details. `NULL`: `"learn"` with a bandwidth for each predictor (`"ard"`), otherwise
#'   10.
#' @param kmax Largest number of centres, a whole number; 0 leaves only the
#'   intercept and the linear part.
#' @param centres Given k, `"subset"` makes every subset of k distinct rows
#'   equally likely, \eqn{p(S) = p(k) / {t \choose k}}; `"iid"` is the form in
#'   the papers, \eqn{p(S) \propto p(k) k! / t^k}. With a [kernel_dictionary()]
#'   of H kernels, H t replaces t.
#' @param noise,coef Priors of the noise variance and of the coefficients'
#'   variance, each [ig()] or [fixed_variance()], in squared units of the
#'   response that the model sees (standardised if `scale = TRUE`). `NULL`:
#'   `ig(1, 0.01 v)` and `ig(1, 0.5 v)`, where v is the variance of that response at the
#'   first call (1 if it is undefined or 0). With weights of rows the scale of `noise`
#'   is multiplied by their mean.
#' @param scaled `TRUE` for the scaled form: coefficients have the noise
#'   variance times a ratio as their variance, `coef` is the prior of that ratio
#'   (default `ig(1, 50)`; 50 is divided by the mean of any weights of rows), and
#'   the noise variance is integrated out of every weight. This is a different
#'   prior: its evidence differs from that of the plain form.
#' @param kernels Prior weights of the kernels that [srvm()] averages over:
#'   positive numbers, one per kernel, in any unit. `NULL`: all equal. Not for
#'   the kernels of a [kernel_dictionary()], which is one model.
#' @param df Degrees of freedom of the noise, which is Student's t with a
#'   scale \eqn{\sigma} whose square has the prior `noise`: a number above 0,
#'   taken as known, `Inf` for normal noise, or `"learn"`: 2.5, 3, 4, 5, 6, 8, 11,
#'   16, 32, 64 or 1000 (nearly normal noise) with equal prior probabilities, as in
#'   [bark()]. For numeric responses; not in the
#'   scaled form, with a window or forgetting, nor with a proposal other than
#'   `"adapted"` (`kb_error_argument`). See [srvm()].
#' @param ard With a bandwidth `"ard"`, such as `kernel_matern("ard")`: the
#'   scale of the prior of the inverse bandwidths, in units of 1 over the median
#'   distance of the points ([bandwidth_median()]), a positive number. They are
#'   independent half-t variables with 4 degrees of freedom.
#' @param linear Scale of the slopes of a linear part of f, in the same units: a
#'   slope is `linear` times a coefficient with the prior of those of centres. 0: no
#'   linear part. `NULL`: 3 with such a bandwidth, otherwise 0.
#' @param coef_df With such a bandwidth and an unbounded memory: degrees of
#'   freedom of the coefficients of centres, at least 0.5. They are Student's
#'   t with a scale whose square has the prior `coef` (in the scaled form times the
#'   noise variance): most can be small while some are large, as in the relevance vector
#'   machine. `Inf`: normal, with one variance, as in the papers. The intercept and the
#'   linear part stay normal. With given bandwidths or a bounded memory it must be `Inf`
#'   (`kb_error_argument`).
#' @details A rate with a gamma prior is integrated out exactly: p(k) is then
#' negative binomial with size `shape` and probability `rate / (rate + 1)`, or a mixture
#' of these. `"learn"` stands for
#' `lambda_gamma(c(4, 2), c(1, 2 / m), weights = c(0.8, 0.2))` with m = 5 + 2p, or 25 if
#' that is less: few centres where few explain the data, and many where these explain them
#' better. [`as_draws()`][as_draws.kb_srvm] has its
#' posterior. p(k) is truncated to k at most `kmax` and the number of distinct rows so
#' far, and normalised.
#'
#' The inverse gammas are truncated to \eqn{[10^{-8} v, 10^8 v]} for the noise and
#' \eqn{[10^{-8} v, 10^4 w]} for the coefficients (w is the larger of v and the
#' square of the response's mean): noise below a ten-thousandth of the response's
#' standard deviation cannot be resolved. In the scaled form the noise is not
#' truncated and the ratio is in \eqn{[10^{-8}, 10^{12}]}. (With weights of rows the
#' bounds of the noise are multiplied by their mean, and those of the ratio divided.)
#' Inverse
#' @return An object of class `kb_srvm_prior`.
#' @source Vermaak, Godsill and Doucet (2003), section 2; see [srvm()].
#' @examples
#' srvm_prior(lambda = 5, noise = fixed_variance(0.01))
#' srvm_prior(lambda = lambda_gamma(2, 0.1))
#' srvm_prior(df = 4)
#' srvm_prior(ard = 0.5)
#' srvm_prior(linear = 0)
#' srvm_prior(coef_df = 4)
#' @export
srvm_prior <- function(lambda = NULL, kmax = 100,
                       centres = c("subset", "iid"), noise = NULL,
                       coef = NULL, scaled = FALSE, kernels = NULL,
                       df = Inf, ard = 1, linear = NULL, coef_df = Inf) {
  prior <- given_options(srvm_options)
  refuse_one_improper(prior$noise, prior$coef)
  structure(prior, class = "kb_srvm_prior")
}

refuse_known_noise <- function(noise) {
  if (inherits(noise, c("kb_fixed", "kb_ig_improper"))) {
    kb_abort(c(
      "{.arg noise} must be {.fn ig} in the scaled form, which integrates it
       out.",
      x = "It is {.code {format(noise)}}.",
      i = "With known noise the two forms differ only in the unit of
           {.arg coef}: use {.code scaled = FALSE}."
    ), "argument", argument = "noise")
  }
}

refuse_one_improper <- function(noise, coef) {
  improper <- vapply(list(noise, coef), inherits, NA, "kb_ig_improper")
  if (improper[[1]] != improper[[2]]) {
    kb_abort(c(
      "{.arg noise} and {.arg coef} must be priors from {.fn ig} or
       {.fn fixed_variance}.",
      x = "{.arg {c('noise', 'coef')[improper]}} is from
           {.fn srvm_prior_paper}."
    ), "argument", argument = c("noise", "coef")[improper])
  }
}

#' @param shape,rate Of a gamma distribution with mean `shape / rate`, positive
#'   numbers; several of each for a mixture, such as few centres or many.
#' @param weights Prior weights of the parts of a mixture: positive numbers, in any unit.
#' @rdname srvm_prior
#' @export
lambda_gamma <- function(shape, rate, weights = 1) {
  parts <- list(
    shape = check_positive_vector(shape), rate = check_positive_vector(rate),
    weights = check_positive_vector(weights)
  )
  lengths <- lengths(parts)
  odd <- lengths != 1 & lengths != max(lengths)
  if (any(odd)) {
    kb_abort(c(
      "{.arg shape}, {.arg rate} and {.arg weights} must have one length, or length 1.",
      x = "Their lengths are {lengths}."
    ), "argument", argument = names(parts)[odd][[1]])
  }
  parts <- lapply(parts, rep_len, max(lengths))
  parts$weights <- parts$weights / sum(parts$weights)
  structure(parts, class = "kb_lambda_gamma")
}

check_lambda <- function(lambda) {
  if (inherits(lambda, "kb_lambda_gamma")) {
    return(check_class(lambda, "kb_lambda_gamma", "`lambda_gamma()`"))
  }
  if (identical(lambda, "learn")) {
    return(lambda)
  }
  if (!is.numeric(lambda)) {
    bad_argument(
      lambda, "lambda",
      "a positive number, \"learn\" or `lambda_gamma(shape, rate)`"
    )
  }
  check_number(lambda, 0, open = TRUE)
}

is_learned_lambda <- function(prior) inherits(prior$lambda, "kb_lambda_gamma")

#' @export
format.kb_lambda_gamma <- function(x, ...) {
  values <- lapply(unclass(x), function(v) deparse(signif(v, 4)))
  if (length(x$weights) == 1) values$weights <- NULL
  paste0("lambda_gamma(", paste(values, collapse = ", "), ")")
}

#' @export
print.kb_lambda_gamma <- function(x, ...) {
  cat("<", format(x), ">\n", sep = "")
  invisible(x)
}

#' The papers' prior of a sequential relevance vector machine
#'
#' The values printed in the papers, for reproduction only: i.i.d. centres and
#' inverse gammas with shape and scale 0 for both variances. The posterior is
#' improper: see Details.
#' @details The papers print \eqn{\sigma^2, \tau^2 \sim IG(0, 0)}, \eqn{\lambda = 1}
#' and a largest number of centres of 50. \eqn{1 / \tau^2} makes the posterior
#' improper for any amount of data: the likelihood does not vanish as \eqn{\tau^2}
#' tends to 0. The evidence is not defined, and the limit of a long run depends on
#' the bounds of [srvm_prior()]. [srvm()] warns with class `kb_warning_improper`.
#' Nothing can be drawn from such a prior before the first row: all particles start
#' from the same two values. This prior has no scaled form.
#' @inheritParams srvm_prior
#' @param noise_start,coef_start Noise and coefficients' variance of every
#'   particle before the first row, positive numbers in squared units of the
#'   response that the model sees. `NULL`: 0.1 v and v, where v is the variance
#'   of that response at the first call (1 if it is undefined or 0).
#' @return An object of class `kb_srvm_prior`.
#' @source Vermaak, Godsill and Doucet (2003), sections 2 and 4.1; see [srvm()].
#' @seealso [srvm_prior()] for priors that give a posterior.
#' @examples
#' srvm_prior_paper()
#' @export
srvm_prior_paper <- function(lambda = 1, kmax = 50, noise_start = NULL,
                             coef_start = NULL) {
  lambda <- check_number(lambda, 0, open = TRUE)
  prior <- srvm_prior(lambda, kmax, "iid")
  prior$noise <- ig_improper(noise_start, 0.1)
  prior$coef <- ig_improper(coef_start, 1)
  prior
}

ig_improper <- function(start, multiple, arg = rlang::caller_arg(start)) {
  if (!is.null(start)) {
    start <- check_number(start, 0, open = TRUE, arg = arg)
  }
  multiple <- check_number(multiple, 0, open = TRUE)
  structure(
    c(list(shape = 0, scale = 0, multiple = multiple), list(start = start)),
    class = c("kb_ig_improper", "kb_variance_prior")
  )
}

# The variance of a response, 1 if it has none
response_variance <- function(y) {
  v <- if (length(y) > 1) stats::var(y) else 1
  if (is.finite(v) && v > 0) v else 1
}

# Bounds of the two variances: their inverse gammas are truncated to them
variance_limits <- function(y, scaled = FALSE, unit = 1) {
  if (scaled) {
    # The noise is integrated out; with bounds this would have no closed form.
    return(list(noise = c(0, Inf), coef = c(1e-8, 1e12) / unit))
  }
  v <- response_variance(y)
  # The intercept shares the coefficients' variance.
  square <- max(v, if (length(y) > 0) mean(y)^2)
  list(noise = c(1e-8, 1e8) * v * unit, coef = c(1e-8 * v, 1e4 * square))
}

# A known or initial variance must be in the range where the likelihood is
# accurate
check_fixed <- function(prior, arg, limits) {
  value <- prior[[arg]]
  limits <- limits[[arg]]
  # A known variance, or a given starting value.
  number <- if (inherits(value, "kb_fixed")) value$variance else value$start
  inside <- is.null(number) || number >= limits[[1]] && number <= limits[[2]]
  if (!inside) {
    ends <- vapply(limits, format, "", digits = 2)
    unit <- if (prior$scaled) {
      "multiples of the noise variance"
    } else {
      "squared units of the response that the model sees"
    }
    kb_abort(c(
      "{.arg {arg}} of {.arg prior} must be between {ends[[1]]} and
       {ends[[2]]}.",
      x = "It is {.code {format(value)}}.",
      i = "It is in {unit}."
    ), "argument", argument = "prior")
  }
}

# Few centres, or many where the data want them, of which it takes more with several
# predictors
few_or_many <- function(p) {
  lambda_gamma(c(4, 2), c(1, 2 / (5 + 2 * min(p, 10))), weights = c(0.8, 0.2))
}

# Fill in the priors that are relative to the data; `unit` is the mean of the rows'
# weights, p the number of predictors
prior_resolve <- function(prior, y, unit = 1, kernel = NULL, p = 1) {
  v <- response_variance(y)
  if (is.null(prior$lambda)) {
    prior$lambda <- if (learns_scales(list(kernel = kernel))) "learn" else 10
  }
  if (identical(prior$lambda, "learn")) prior$lambda <- few_or_many(p)
  if (is.null(prior$noise)) prior$noise <- ig(1, 0.01 * v * unit)
  if (is.null(prior$coef)) {
    prior$coef <- if (prior$scaled) ig(1, 50 / unit) else ig(1, 0.5 * v)
  }
  prior$noise <- start_resolve(prior$noise, v * unit)
  prior$coef <- start_resolve(prior$coef, v)
  prior
}

# Is the prior of a variance improper, as in `srvm_prior_paper()`?
is_improper <- function(prior) {
  any(vapply(prior[c("noise", "coef")], inherits, NA, "kb_ig_improper"))
}

start_resolve <- function(prior, v) {
  if (inherits(prior, "kb_ig_improper") && is.null(prior$start)) {
    prior$start <- prior$multiple * v
  }
  prior
}

#' @export
print.kb_srvm_prior <- function(x, ...) print_options(x, srvm_options)

# What print() says of a prior that is left open
or_default <- function(prior, default) {
  if (is.null(prior)) default else format(prior)
}

srvm_options <- list(
  scaled = option(check_by(check_flag)),
  lambda = option(
    check_by(check_lambda, null = left_open), "number of centres",
    function(lambda, all) {
      if (is.null(lambda)) {
        "Poisson(10), or learned with a bandwidth for each predictor"
      } else if (identical(lambda, "learn")) {
        "learned, few or many"
      } else if (is_learned_lambda(all)) {
        paste("lambda ~", format(lambda))
      } else {
        paste0("Poisson(", format(lambda), ")")
      }
    }
  ),
  kmax = option(check_by(check_count, 0), "most centres"),
  centres = option(choice_of(srvm_prior), "sets of centres"),
  noise = option(function(noise, all, name) {
    if (all$scaled) refuse_known_noise(noise)
    if (!is.null(noise)) check_variance_prior(noise, name)
  }, "noise variance", function(noise, all) or_default(noise, "ig(1, 0.01 var(y))")),
  coef = option(
    check_by(check_variance_prior, null = left_open), "variance of coefficients",
    function(coef, all) {
      if (!all$scaled) {
        return(or_default(coef, "ig(1, 0.5 var(y))"))
      }
      paste("noise times", or_default(coef, "ig(1, 50)"))
    }
  ),
  kernels = option(
    check_by(check_positive_vector, null = left_open), "weights of kernels"
  ),
  df = option(function(df, all, name) check_df(df, all$scaled), "noise",
    function(df, all) student_line(all, NULL)
  ),
  ard = option(
    check_by(check_number, 0, open = TRUE), "scale of inverse bandwidths"
  ),
  linear = option(
    check_by(check_number, 0, null = left_open), "scale of slopes"
  ),
  coef_df = option(check_by(check_coef_df), "coefficients of centres",
    function(df, all) {
      if (is.finite(coef_df(all))) paste("t with", format(df), "df")
    }
  )
)
