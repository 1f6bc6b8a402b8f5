# The prior of bark(): what the user says, and what the sampler is told once
# the data are known.

# In the order of the default of `type`.
bark_types <- c("select_different", "equal", "different", "select_equal")

#' Prior of Bayesian additive regression kernels
#'
#' The function is a sum of kernels, \eqn{f(x) = \sum_j \beta_j K(x, \chi_j)},
#' where \eqn{K(x, \chi) = \exp(-\sum_l \lambda_l (x_l - \chi_l)^2)}. The
#' number of kernels J, with multiplicity, is Poisson with mean nu, the centres
#' are rows of the data or the intercept, and the coefficients have t
#' distributions with `alpha` degrees of freedom and scale `eps`: a finite
#' approximation of a symmetric alpha-stable Levy random field.
#'
#' @param type Prior of the kernels' scales \eqn{\lambda_1, \ldots,
#'   \lambda_p}{lambda_1, ..., lambda_p}, whose sum S has the same prior in all
#'   four.
#'   * `"equal"`: all are S / p.
#'   * `"different"`: independent gamma variables of shape A / p, rate B.
#'   * `"select_equal"`: d of the p predictors are in the kernel, each with
#'     scale S / d; the others have scale 0.
#'   * `"select_different"`: d of the p predictors are in the kernel, with
#'     independent scales of shape A / d, rate B.
#' @param alpha Index of the stable process, strictly between 0 and 2; 1 makes
#'   the coefficients Cauchy variables.
#' @param eps Scale of the coefficients, which is also the threshold below
#'   which the stable process is thinned out; a positive number in units of the
#'   response that the model sees (standardised if `scale = TRUE`).
#' @param gamma Intensity of the stable process, a positive number.
#' @param n_kernels,discrepancy The expected number of kernels nu and the
#'   expected squared discrepancy D (see Details), positive numbers. Both
#'   together stand for `eps` and `gamma`, which are solved for.
#' @param scales Shape A and rate B of the gamma prior of S, two positive
#'   numbers.
#' @param selection Parameters a and b of the beta prior of the probability
#'   that a predictor is in the kernel, two positive numbers; a alone if
#'   `n_signals` is given. For the types that select only.
#' @param n_signals `NULL`, or the expected number of predictors in the kernel,
#'   a number between 0 and p: it determines b by p a / (a + b) = `n_signals`
#'   once p is known (Ley and Steel, 2009). For the types that select only.
#' @param noise Prior of the noise, in squared units of the response that the
#'   model sees: [noise_gamma()], [fixed()], or [ig()], which is the same law
#'   as `noise_gamma()`. `NULL` is `noise_gamma(1.5, rate)`, with the rate at
#'   which the noise has probability 0.9 of being less than the residuals of
#'   the linear regression of the response on the predictors (the rule of
#'   Chipman, George and McCulloch, 2010). Probit models have no such
#'   parameter.
#'
#' @details
#' The expected number of kernels is
#' \deqn{\nu = \gamma (2 / \epsilon)^\alpha \alpha^{-\alpha / 2}
#' \Gamma(1 + \alpha / 2) / \Gamma(1 - \alpha / 2).}{nu = gamma (2 / eps)^alpha
#' alpha^(-alpha / 2) Gamma(1 + alpha / 2) / Gamma(1 - alpha / 2).}
#' It counts the copies: several may sit on one centre, where they act as one
#' kernel.
#'
#' Approximation comes at a price. For the field \eqn{L} and its approximation
#' \eqn{L_\epsilon}{L_eps}, \eqn{E |L[g] - L_\epsilon[g]|^2 = D \|g\|^2}{E
#' |L[g] - L_eps[g]|^2 = D |g|^2}, where exactly
#' \deqn{D = \nu \alpha \epsilon^2 / (2 - \alpha).}{D = nu alpha eps^2 /
#' (2 - alpha).}
#' With `alpha = 1`, nu is `gamma / eps` and D is `gamma * eps`. The defaults,
#' those of the paper's experiments, thus expect 20 kernels and a squared
#' discrepancy of 5 times that of the kernel (not 5%): they describe the finite
#' sum of kernels, which is a model in its own right, and no close
#' approximation of the stable field. The pair that the paper elicits,
#' `bark_prior(n_kernels = 20, discrepancy = 0.05)`, is `gamma = 1`,
#' `eps = 0.05`: the same number of kernels with coefficients ten times
#' smaller. The paper's general inequality for D is no bound for `alpha` below
#' 0.52 and is not used.
#'
#' With `selection = c(1, 1)` the number d of predictors in the kernel is
#' uniform on 0, ..., p. The expected d is p a / (a + b).
#'
#' @return An object of class `kb_bark_prior`, a list. What depends on the data
#'   (the default noise, `n_signals`) is filled in by the fit.
#' @section Errors: An argument outside its range, one that does not apply to
#'   the `type`, and an incomplete or doubled choice of `eps` and `gamma` are
#'   errors of class `kb_error_argument`.
#' @references
#' Ouyang, Z., Clyde, M. A. and Wolpert, R. L. (2008). *Bayesian additive
#' regression kernels*. Department of Statistical Science, Duke University.
#'
#' Ley, E. and Steel, M. F. J. (2009). On the effect of prior assumptions in
#' Bayesian model averaging with applications to growth regression. *Journal of
#' Applied Econometrics* 24, 651-674. \doi{10.1002/jae.1057}
#'
#' Chipman, H. A., George, E. I. and McCulloch, R. E. (2010). BART: Bayesian
#' additive regression trees. *Annals of Applied Statistics* 4, 266-298.
#' \doi{10.1214/09-AOAS285}
#' @examples
#' bark_prior()
#' bark_prior("select_equal", n_kernels = 20, discrepancy = 0.05)
#' bark_prior(n_signals = 3, noise = noise_gamma(2, 0.1))
#' @noRd
bark_prior <- function(type = c(
                         "select_different", "equal", "different",
                         "select_equal"
                       ), alpha = 1, eps = 0.5, gamma = 10, n_kernels = NULL,
                       discrepancy = NULL, scales = c(1, 1),
                       selection = c(1, 1), n_signals = NULL, noise = NULL) {
  type <- check_choice(type, bark_types)
  alpha <- check_number(alpha, 0, 2, open = TRUE)
  given <- c(gamma = !missing(gamma), eps = !missing(eps))
  levy <- if (check_elicitation(n_kernels, discrepancy, given)) {
    bark_elicit(
      alpha, check_number(n_kernels, 0, open = TRUE),
      check_number(discrepancy, 0, open = TRUE)
    )
  } else {
    list(
      eps = check_number(eps, 0, open = TRUE),
      gamma = check_number(gamma, 0, open = TRUE)
    )
  }
  check_levy(alpha, levy)
  structure(
    list(
      type = type, alpha = alpha, eps = levy$eps, gamma = levy$gamma,
      scales = check_pair(scales, c("shape", "rate")),
      selection = check_selection(
        type, if (!missing(selection)) selection, n_signals
      ),
      n_signals = check_n_signals(type, n_signals),
      noise = if (!is.null(noise)) check_noise(noise)
    ),
    class = "kb_bark_prior"
  )
}

# The Levy measure -----------------------------------------------------------

#' Expected number of kernels, eq. 8
#'
#' By Gamma(1 + x) = x Gamma(x), so that it is finite down to alpha = 0, where
#' it tends to gamma; it tends to 0 as alpha tends to 2.
#' @noRd
bark_nu <- function(alpha, gamma, eps) {
  exp(log(gamma) + alpha * (log(2) - log(eps) - log(alpha) / 2) +
    lgamma(1 + alpha / 2) - lgamma(1 - alpha / 2))
}

#' Expected squared discrepancy of the continuous approximation over |g|^2
#'
#' The integral of b^2 (|b|^(-1 - alpha) - (b^2 + alpha eps^2)^(-(1 + alpha) /
#' 2)) gamma c_alpha, of which eq. 12 means to be a bound. With the
#' reflection and duplication formulas its ratio to nu is as below.
#' @noRd
bark_discrepancy <- function(alpha, gamma, eps) {
  bark_nu(alpha, gamma, eps) * discrepancy_ratio(alpha, eps)
}

#' Discrepancy of one expected kernel: the same for both approximations
#' @noRd
discrepancy_ratio <- function(alpha, eps) {
  alpha * eps^2 / (2 - alpha)
}

#' Expected number of kernels where |beta| is truncated at eps, eq. 7
#'
#' Gamma(alpha) sin(pi alpha / 2) is written without the sine, which would lose
#' its digits near alpha = 2.
#' @noRd
bark_nu_truncated <- function(alpha, gamma, eps) {
  exp(log(gamma) + alpha * (log(2) - log(eps)) - log(pi) / 2 +
    lgamma((1 + alpha) / 2) - lgamma(1 - alpha / 2))
}

#' @noRd
bark_discrepancy_truncated <- function(alpha, gamma, eps) {
  bark_nu_truncated(alpha, gamma, eps) * discrepancy_ratio(alpha, eps)
}

#' The eps and gamma of a number of kernels and a discrepancy
#'
#' Their ratio determines eps, and nu is proportional to gamma.
#' @noRd
bark_elicit <- function(alpha, n_kernels, discrepancy) {
  eps <- sqrt(discrepancy / n_kernels * (2 - alpha) / alpha)
  list(eps = eps, gamma = n_kernels / bark_nu(alpha, 1, eps))
}

# Checks ---------------------------------------------------------------------

#' Whether n_kernels and discrepancy take the place of eps and gamma
#' @noRd
check_elicitation <- function(n_kernels, discrepancy, given,
                              call = rlang::caller_env()) {
  elicited <- c(
    n_kernels = !is.null(n_kernels), discrepancy = !is.null(discrepancy)
  )
  if (!any(elicited)) {
    return(FALSE)
  }
  came <- names(which(elicited))
  if (any(given)) {
    kb_abort(c(
      "{.arg n_kernels} and {.arg discrepancy} take the place of
       {.arg gamma} and {.arg eps}: give one pair only.",
      x = "Given were {.arg {c(names(which(given)), came)}}."
    ), "argument", argument = came[[1]], call = call)
  }
  if (!all(elicited)) {
    absent <- setdiff(names(elicited), came)
    kb_abort(c(
      "{.arg n_kernels} and {.arg discrepancy} must be given together.",
      x = "{.arg {absent}} is missing.",
      i = "The two determine {.arg gamma} and {.arg eps}."
    ), "argument", argument = absent, call = call)
  }
  TRUE
}

#' The expected number of kernels must be one that a sampler can hold
#' @noRd
check_levy <- function(alpha, levy, call = rlang::caller_env()) {
  nu <- bark_nu(alpha, levy$gamma, levy$eps)
  size <- c(levy$eps, levy$gamma, bark_discrepancy(alpha, levy$gamma, levy$eps))
  fine <- nu > 0 && nu <= .Machine$integer.max && all(is.finite(size)) &&
    all(size > 0)
  if (!isTRUE(fine)) {
    kb_abort(c(
      "The expected number of kernels must be a positive number below 2^31,
       and the discrepancy positive and finite.",
      x = "{.code alpha = {format(alpha)}}, {.code gamma = {format(levy$gamma)}}
           and {.code eps = {format(levy$eps)}} make them {format(nu)} and
           {format(size[[3]])}."
    ), "argument", argument = "gamma", call = call)
  }
}

#' Two positive numbers; names, if there are any, must say the same order
#' @noRd
check_pair <- function(x, names, arg = rlang::caller_arg(x),
                       call = rlang::caller_env()) {
  positive <- is.numeric(x) && length(x) == 2 && all(is.finite(x)) && all(x > 0)
  in_order <- is.null(names(x)) || identical(names(x), names)
  if (!(positive && in_order)) {
    bad_argument(x, arg, paste0(
      "two positive finite numbers, ", names[[1]], " and ", names[[2]],
      " in this order"
    ), call)
  }
  as.double(x)
}

#' @noRd
bark_selects <- function(type) {
  type %in% c("select_equal", "select_different")
}

#' The parameters a and b of the inclusion probability; n_signals stands for b
#' @param given What the user gave as `selection`, or NULL.
#' @noRd
check_selection <- function(type, given, n_signals,
                            call = rlang::caller_env()) {
  if (is.null(given)) {
    return(c(1, if (is.null(n_signals)) 1 else NA))
  }
  refuse_unused("selection", type, call)
  if (is.null(n_signals)) {
    return(check_pair(given, c("a", "b"), "selection", call))
  }
  if (is.numeric(given) && length(given) == 2) {
    kb_abort(c(
      "{.arg selection} must be one number beside {.arg n_signals}, which
       determines the second parameter.",
      x = "It is {describe(given)}."
    ), "argument", argument = "selection", call = call)
  }
  c(check_number(given, 0, open = TRUE, arg = "selection", call = call), NA)
}

#' @noRd
check_n_signals <- function(type, n_signals, call = rlang::caller_env()) {
  if (is.null(n_signals)) {
    return(NULL)
  }
  refuse_unused("n_signals", type, call)
  check_number(n_signals, 0, open = TRUE, call = call)
}

#' @noRd
refuse_unused <- function(arg, type, call) {
  if (!bark_selects(type)) {
    kb_abort(c(
      "{.arg {arg}} must be left out with {.code type = \"{type}\"}, where all
       predictors are in the kernel.",
      i = "It belongs to {.val select_equal} and {.val select_different}."
    ), "argument", argument = arg, call = call)
  }
}

# Noise ----------------------------------------------------------------------

#' Priors of the noise precision
#'
#' `noise_gamma()` is the gamma distribution of the noise precision, one over
#' the variance; `noise_improper()` its improper limit, for reproduction only.
#'
#' The density of `noise_gamma(shape, rate)` at the precision phi is
#' proportional to \eqn{\phi^{shape - 1} \exp(-rate \phi)}{phi^(shape - 1)
#' exp(-rate phi)}. It is the same law as `ig(shape, rate)` for the variance.
#' Precisions are in one over squared units of the response that the model
#' sees: where the response is standardised (`scale = TRUE`), in units of one
#' over its variance.
#'
#' `noise_improper()` is the density 1 / phi that the paper on Bayesian
#' additive regression kernels recommends as giving a proper posterior. It does
#' not, for any number of distinct rows: the number of kernels is unbounded, and
#' with as many different kernels as rows the likelihood tends to a positive
#' constant as phi grows, so that the integral of the posterior diverges. (Only
#' rows that have equal predictors and different responses bound phi.) What a
#' sampler gives depends on how long it runs, and no evidence is defined. A fit
#' under it warns with class `kb_warning_improper`.
#'
#' @param shape,rate Positive numbers.
#'
#' @return An object of class `kb_noise_gamma` or `kb_noise_improper`, and
#'   `kb_noise_prior`.
#' @section Errors: Numbers that are not positive and finite are an error of
#'   class `kb_error_argument`; a rate of 0 is one of class
#'   `kb_error_improper` as well.
#' @seealso [bark_prior()], which uses them; [fixed()] for a known variance.
#' @examples
#' noise_gamma(1.5, 0.1)
#' @name noise_prior
#' @noRd
NULL

#' @noRd
noise_gamma <- function(shape, rate) {
  refuse_improper(rate)
  structure(
    list(
      shape = check_number(shape, 0, open = TRUE),
      rate = check_number(rate, 0, open = TRUE)
    ),
    class = c("kb_noise_gamma", "kb_noise_prior")
  )
}

#' @noRd
noise_improper <- function() {
  structure(
    list(shape = 0, rate = 0),
    class = c("kb_noise_improper", "kb_noise_prior")
  )
}

#' @noRd
refuse_improper <- function(rate, call = rlang::caller_env()) {
  if (is.numeric(rate) && length(rate) == 1 && rate %in% 0) {
    kb_abort(c(
      "{.arg rate} must be above 0: with 0 the posterior is improper for any
       number of distinct rows.",
      x = "The number of kernels is unbounded, and with as many kernels as rows
           the likelihood does not vanish as the precision grows.",
      i = "For reproduction only, {.fn noise_improper} has the limit 1 / phi."
    ), c("improper", "argument"), argument = "rate", call = call)
  }
}

#' @noRd
check_noise <- function(x, arg = rlang::caller_arg(x),
                        call = rlang::caller_env()) {
  if (!inherits(x, c("kb_noise_prior", "kb_ig", "kb_fixed"))) {
    bad_argument(
      x, arg, "NULL, `noise_gamma(shape, rate)` or `fixed(variance)`", call
    )
  }
  x
}

#' @export
format.kb_noise_gamma <- function(x, digits = 4, ...) {
  paste0(
    "noise_gamma(shape = ", format(x$shape, digits = digits),
    ", rate = ", format(x$rate, digits = digits), ")"
  )
}

#' @export
format.kb_noise_improper <- function(x, ...) {
  "improper 1 / phi"
}

#' @export
print.kb_noise_prior <- function(x, ...) {
  cat(format(x, ...), "\n", sep = "")
  invisible(x)
}

# What the data determine ----------------------------------------------------

#' The prior as the sampler needs it: plain numbers, no NULL
#'
#' @param prior From `bark_prior()`.
#' @param x,y What the model sees: matrix of p columns, and the response, which
#'   only a gaussian model looks at.
#' @param family A family object or its name.
#' @param weights NULL or positive weights of the rows: the noise variance of
#'   a row is that of weight 1 over its weight.
#' @return List: `type`; `alpha`, `eps`, `gamma`, `nu`, `discrepancy`; `A`, `B`
#'   of the sum of scales; `a_p`, `b_p` (1 where nothing is selected);
#'   `noise_shape`, `noise_rate` of the precision; `noise_fixed`, and then
#'   `noise_precision` (NA otherwise); `improper`, where there is neither a
#'   draw from the prior nor an evidence.
#' @noRd
bark_prior_resolve <- function(prior, x, y, family = "gaussian",
                               weights = NULL, call = rlang::caller_env()) {
  check_class(prior, "kb_bark_prior", "`bark_prior()`", call = call)
  if (inherits(family, "family")) family <- family$family
  check_choice(family, c("gaussian", "binomial"), call = call)
  selection <- selection_resolve(prior, ncol(x), call)
  noise <- if (family == "binomial") {
    noise_probit(prior$noise, call)
  } else {
    noise_resolve(prior$noise, x, y, weights)
  }
  if (noise$improper) warn_improper_noise(call)
  c(
    list(
      type = prior$type, alpha = prior$alpha, eps = prior$eps,
      gamma = prior$gamma,
      nu = bark_nu(prior$alpha, prior$gamma, prior$eps),
      discrepancy = bark_discrepancy(prior$alpha, prior$gamma, prior$eps),
      A = prior$scales[[1]], B = prior$scales[[2]],
      a_p = selection[[1]], b_p = selection[[2]]
    ),
    noise
  )
}

#' b from E[d] = p a / (a + b) (Ley and Steel, 2009)
#' @noRd
selection_resolve <- function(prior, p, call) {
  m <- prior$n_signals
  if (is.null(m)) {
    return(prior$selection)
  }
  if (m >= p) {
    kb_abort(c(
      "{.arg n_signals} of {.arg prior} must be less than the number of
       predictors, {p}.",
      x = "It is {format(m)}.",
      i = "{.code type = \"equal\"} and {.code type = \"different\"} have all
           predictors in the kernel."
    ), "argument", argument = "n_signals", call = call)
  }
  a <- prior$selection[[1]]
  c(a, a * (p - m) / m)
}

#' @noRd
noise_list <- function(shape = NA_real_, rate = NA_real_,
                       precision = NA_real_, improper = FALSE) {
  list(
    noise_shape = shape, noise_rate = rate, noise_fixed = !is.na(precision),
    noise_precision = precision, improper = improper
  )
}

#' @noRd
noise_resolve <- function(noise, x, y, weights) {
  if (is.null(noise)) {
    return(noise_list(1.5, noise_rate(residual_sd(x, y, weights))))
  }
  if (inherits(noise, "kb_fixed")) {
    return(noise_list(precision = 1 / noise$variance))
  }
  rate <- if (inherits(noise, "kb_ig")) noise$scale else noise$rate
  noise_list(noise$shape, rate,
    improper = inherits(noise, "kb_noise_improper")
  )
}

#' The latent response of a probit model has variance 1
#' @noRd
noise_probit <- function(noise, call) {
  one <- is.null(noise) || inherits(noise, "kb_fixed") && noise$variance == 1
  if (!one) {
    kb_abort(c(
      "{.arg noise} of {.arg prior} must be NULL in a probit model, which has
       no noise parameter.",
      x = "It is {.code {format(noise)}}."
    ), "argument", argument = "noise", call = call)
  }
  noise_list(precision = 1)
}

#' The rate at which P(noise sd < sd) = 0.9, the rule of BART
#' @noRd
noise_rate <- function(sd, shape = 1.5, probability = 0.9) {
  sd^2 * stats::qgamma(1 - probability, shape)
}

#' Residual sd of the linear regression, or the sd of y where it has none
#'
#' 1 for a constant y. At least 1e-4 of the sd of y, below which noise is not
#' resolved: y may be linear in x, and the rate must not be 0.
#' @noRd
residual_sd <- function(x, y, weights = NULL) {
  if (is.null(weights)) weights <- rep(1, length(y))
  residual <- function(design) {
    fit <- stats::lm.wfit(design, y, weights)
    sqrt(sum(weights * fit$residuals^2) / fit$df.residual)
  }
  one <- matrix(1, length(y), 1)
  total <- residual(one)
  # Rounding is relative to the size of the values.
  floor <- 1e-12 * sqrt(mean(weights)) * max(abs(y))
  if (!(is.finite(total) && total > floor)) {
    return(1)
  }
  sd <- residual(cbind(one, x))
  if (is.finite(sd)) max(sd, 1e-4 * total) else total
}

#' @noRd
warn_improper_noise <- function(call) {
  kb_warn(c(
    "The prior of the noise is improper and so is the posterior, for any number
     of distinct rows.",
    x = "The evidence is not defined, and what is sampled depends on how long
         the chains run.",
    i = "It is for reproduction only: use {.fn noise_gamma}, or the default."
  ), "improper", call = call)
}

# Printing -------------------------------------------------------------------

#' @export
print.kb_bark_prior <- function(x, ...) {
  number <- function(v) format(v, digits = 4)
  nu <- bark_nu(x$alpha, x$gamma, x$eps)
  d <- bark_discrepancy(x$alpha, x$gamma, x$eps)
  cat(
    "<bark_prior>\n",
    "  type: ", x$type, "\n",
    "  stable process: alpha = ", number(x$alpha), ", gamma = ",
    number(x$gamma), ", eps = ", number(x$eps), "\n",
    "  expected number of kernels: ", number(nu), "\n",
    "  expected squared discrepancy: ", number(d), " times |K|^2 (",
    number(100 * d), "%)\n",
    "  scales: sum of lambda ~ Ga(", number(x$scales[[1]]), ", ",
    number(x$scales[[2]]), ")\n",
    if (bark_selects(x$type)) {
      paste0("  selection: ", format_selection(x), "\n")
    },
    "  noise: ", if (is.null(x$noise)) {
      "noise_gamma(1.5, rate), P(sd < residual sd of lm) = 0.9"
    } else {
      format(x$noise)
    }, "\n",
    sep = ""
  )
  invisible(x)
}

#' @noRd
format_selection <- function(x) {
  a <- x$selection[[1]]
  b <- x$selection[[2]]
  known <- !is.na(b)
  paste0(
    "inclusion probability ~ Be(", format(a, digits = 4), ", ",
    if (known) format(b, digits = 4) else "b", "), E[d] = ",
    if (known) {
      paste(format(a / (a + b), digits = 4), "p")
    } else {
      format(x$n_signals, digits = 4)
    }
  )
}
