# The prior of bark(): as the user specifies it, and as the sampler needs it
# once the data are known.

# In the order of the default of `type`.
bark_types <- c("select_different", "equal", "different", "select_equal")

#' Prior of Bayesian additive regression kernels
#'
#' `bark(y ~ ., data, prior = bark_prior(eps = 0.2))` changes a part of the prior; what
#' is left out depends on the response (the article `defaults` says how, and why).
#' The function is a sum of kernels, \eqn{f(x) = \sum_j \beta_j K(x, \chi_j)} with
#' \eqn{K(x, \chi) = \exp(-\sum_l \lambda_l (x_l - \chi_l)^2)}. Their number J, with
#' multiplicity, is Poisson with mean nu, centres are rows of the data or the
#' intercept, and coefficients have t distributions with `alpha` degrees of freedom
#' and scale `eps`: a finite approximation of a symmetric alpha-stable Levy random
#' field. `bark_prior_paper()`, with `scale = "linear"` in [bark()], is the model of
#' Ouyang, Clyde and Wolpert (2008): all kernels have the same scales, the noise is
#' normal, and there is no linear part.
#' @param type Prior of the kernels' scales
#'   \eqn{\lambda_1, \ldots, \lambda_p}{lambda_1, ..., lambda_p}, whose sum S
#'   has the same prior under all four types.
#'   * `"equal"`: all are S / p.
#'   * `"different"`: independent gamma variables of shape A / p, rate B.
#'   * `"select_equal"`: d of the p predictors are in the kernel, each with
#'     scale S / d; the others have scale 0.
#'   * `"select_different"`: d of the p predictors are in the kernel, with
#'     independent scales of shape A / d, rate B.
#' @param alpha Index of the stable process, strictly between 0 and 2; 1 makes
#'   the coefficients Cauchy variables.
#' @param eps Scale of the coefficients, a positive number in units of the response
#'   that the model sees (standardised if `scale = TRUE`). `NULL`: 0.5, or 1 with
#'   `own_scales = "clustered"`.
#' @param gamma Intensity of the stable process, a positive number; or 0, for a
#'   model without kernels: plain terms of a formula are then linear.
#' @param n_kernels,discrepancy The expected number of kernels nu and the
#'   expected squared discrepancy D (see Details), positive numbers. Together
#'   they replace `eps` and `gamma`, which are computed from them.
#' @param scales Shape A and rate B of the gamma prior of S, two positive
#'   numbers. `NULL`: 1 and 1 for common scales, 0.5 and 0.05 for
#'   kernel-specific ones, 1 and 0.3 for those of clusters.
#' @param selection Parameters a and b of the beta prior of the probability that
#'   a predictor is in the kernel, two positive numbers; only a if `n_signals`
#'   is given. Only for the types that select.
#' @param n_signals `NULL`, or the expected number of predictors in the kernel,
#'   a number between 0 and p: it determines b by p a / (a + b) = `n_signals`
#'   once p is known (Ley and Steel, 2009). Only for the types that select.
#' @param noise Prior of the noise, in squared units of the response that the
#'   model sees: [noise_gamma()], [fixed_variance()], or [ig()], which is the
#'   same distribution as `noise_gamma()`. `NULL` is `noise_gamma(1.5, rate)`: the
#'   noise standard deviation is below the residual one of a linear regression (on all
#'   predictors, within groups where rows are enough) with probability 0.9, or 0.75 if
#'   f has a linear part (Chipman, George and McCulloch, 2010). Classification has no
#'   such parameter.
#' @param df Degrees of freedom of the noise, which is Student's t with a scale
#'   whose square has the prior `noise`: a number above 0, taken as known, `Inf` for
#'   normal noise, or `"learned"`: 2.5, 3, 4, 5, 6, 8, 11, 16, 32, 64 or 1000, equally
#'   probable. `NULL`: `"learned"` for numeric responses, except with
#'   `approximation = "truncation"`.
#' @param centres Locations of the kernels: [centre_rows()], at rows of the data
#'   or the intercept, equally likely by default, or [centre_near_rows()].
#'   `NULL` is `centre_rows()`, or `centre_near_rows(1)` with `own_scales =
#'   "clustered"`.
#' @param own_scales `FALSE`: all kernels have the same scales. `TRUE`: each has
#'   its own. `"clustered"`: kernels share scales with some of the others, for
#'   numeric responses. `"pooled"`: each has its own, which vary around common
#'   ones. `NULL`: for numeric responses `"clustered"` if there are linear terms
#'   or groups and fewer than 20 000 rows, otherwise `TRUE`; `"pooled"` for
#'   counts, successes, classes with a logit link, ordered classes with `weights`,
#'   and responses that may be censored; `FALSE` for other classes, with `directions`
#'   and with `approximation = "truncation"`.
#' @param directions `NULL`: kernels use the predictors as they are. A whole
#'   number d, from 1 to p: they use d unknown linear combinations of them.
#' @param linear Scale of a linear part of f beside the kernels, in standard
#'   deviations of the response per standard deviation of a predictor (as for
#'   `linear_sd`): slopes on all predictors of kernels are normal with mean 0 and one
#'   unknown standard deviation, half-t with 3 degrees of freedom and this scale. 0: no
#'   linear part. `NULL`: 0.3 with fewer than 5000 rows and at most 30 predictors,
#'   without `directions`, truncation, linear terms and groups; otherwise 0.
#'   Predictions, effects and importance include it; `print()` shows its share of the
#'   variance of f over the rows.
#' @param linear_sd Prior standard deviation of the coefficients of linear terms
#'   and of their intercept, in standard deviations of the response per standard
#'   deviation of the predictor; for classes, of the latent response, whose noise
#'   has standard deviation 1; for counts, of the log of the mean. `NULL`: 10, for
#'   classes and counts 2.5.
#' @param group_sd Scale of the half-t priors (3 degrees of freedom) of the
#'   standard deviations of groups, in the same units, for slopes per root mean
#'   square of the predictor. `NULL`: 1.
#' @param approximation Finite approximation of the stable process:
#'   `"continuous"`, with t distributed coefficients, or `"truncation"`, without
#'   coefficients of size `eps` or less. See Details.
#' @details
#' The expected number of kernels is
#' \deqn{\nu = \gamma (2 / \epsilon)^\alpha \alpha^{-\alpha / 2}
#' \Gamma(1 + \alpha / 2) / \Gamma(1 - \alpha / 2).}{nu = gamma (2 / eps)^alpha
#' alpha^(-alpha / 2) Gamma(1 + alpha / 2) / Gamma(1 - alpha / 2).}
#' It counts copies: several kernels may share one centre, where they act as
#' one. For the field \eqn{L} and its approximation \eqn{L_\epsilon}{L_eps},
#' \eqn{E |L[g] - L_\epsilon[g]|^2 = D \|g\|^2}{E |L[g] - L_eps[g]|^2 = D |g|^2}
#' with \eqn{D = \nu \alpha \epsilon^2 / (2 - \alpha)}{D = nu alpha eps^2 / (2 -
#' alpha)}. With `alpha = 1`, nu is `gamma / eps` and D is `gamma * eps`: the defaults
#' imply 20 expected kernels and D = 5. They define a model in its own right, not a
#' close approximation of the stable field.
#'
#' With `approximation = "truncation"` coefficients have the density
#' \eqn{\alpha \epsilon^\alpha |\beta|^{-1 - \alpha} / 2}{alpha eps^alpha
#' |beta|^(-1 - alpha) / 2} on \eqn{|\beta| > \epsilon}{|beta| > eps}, that of
#' the stable process itself, and
#' \deqn{\nu = \gamma (2 / \epsilon)^\alpha \pi^{-1/2} \Gamma((1 + \alpha) / 2)
#' / \Gamma(1 - \alpha / 2),}{nu = gamma (2 / eps)^alpha pi^(-1/2) Gamma((1 +
#' alpha) / 2) / Gamma(1 - alpha / 2),} `2 * gamma / (pi * eps)` with `alpha = 1`.
#' These coefficients are part of the chain's state, which needs more iterations.
#'
#' With `selection = c(1, 1)` the number d of predictors in the kernel is
#' uniform on 0, ..., p. The expected d is p a / (a + b).
#' @section Kernel-specific scales:
#' With `own_scales = TRUE` the inclusion and the scales of each kernel are an
#' independent draw from the prior given by `type`; with a `type` that selects, each
#' kernel depends on only some of the predictors. The function may then be rough in one
#' place and smooth in another. Chains mix more slowly than with common scales.
#'
#' With `own_scales = "pooled"` kernels share what they have in common: predictor
#' l is in a kernel with probability \eqn{w_l}{w[l]}, and its log scale there is
#' normal with mean \eqn{\mu_l}{mu[l]} and standard deviation s. All are learned:
#' \eqn{w_l}{w[l]} has the beta distribution given by `selection`;
#' \eqn{\mu_l}{mu[l]} is normal with standard deviation 1 around a level that is
#' N(-2, 1.5^2); s is the absolute value of a standard normal variable. For the types
#' `"select_different"` and `"different"`; `scales` is not used.
#'
#' With `own_scales = "clustered"` kernels come in clusters with the same
#' predictors and scales, each from the prior given by `type`. Which kernels are
#' together is a draw from a Chinese restaurant process: a kernel joins one of k
#' others, each with probability 1 / (k + c), or begins a cluster. The
#' concentration c is learned; a priori it is 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30
#' or 100. It also changes the defaults of `centres`, `scales` and `eps`.
#'
#' In these models [importance()] weights kernels by the absolute size of their
#' coefficients, and kernels at the same centre are separate kernels, not copies.
#' @section Directions:
#' With `directions = d` (as Cook and Lee, 1999) all kernels use \eqn{z = U^T x}{z =
#' U'x}, where the d columns of U (p x d) are unit vectors,
#' \deqn{K(x, \chi) = \exp\Big(-\sum_{l = 1}^d \lambda_l (u_l^T (x -
#' \chi))^2\Big).}{K(x, chi) = exp(-sum_{l <= d} lambda_l (u_l'(x - chi))^2).}
#' A priori the \eqn{u_l}{u_l} are independent and uniform on the sphere, in terms of
#' the predictors that the model sees. `type` says how the scales of the d directions
#' are distributed, with d for p: `n_signals` must be less than d. The data determine
#' neither the sign of a direction nor their order; [importance()] has the share of
#' each predictor. Not with `own_scales`, [centre_near_rows()], `"truncation"` and for
#' several classes without an order.
#' @section Linear terms and groups:
#' Coefficients of linear terms are independent normal variables with mean 0, of
#' predictors that the model sees centred and divided by their standard
#' deviations (`scale = TRUE`). The coefficients of a group, an intercept or slopes, are
#' normal with mean 0 and a covariance matrix that groups of a factor share, with the
#' prior of Huang and Wand (2013): each standard deviation is half-t with 3 degrees of
#' freedom and scale `group_sd`, and for two coefficients the correlation r has a
#' density proportional to \eqn{(1 - r^2)^{1/2}}{(1 - r^2)^(1/2)}. Slopes are not
#' centred: the intercept of a group is its effect where the predictor is 0.
#' @return An object of class `kb_bark_prior`, a list. Settings that depend on
#'   the data (the default noise, `n_signals`) are filled in by the fit.
#' @references
#' Cook, R. D. and Lee, H. (1999). Dimension reduction in binary response
#' regression. *Journal of the American Statistical Association* 94, 1187-1200.
#'
#' Ley, E. and Steel, M. F. J. (2009). On the effect of prior assumptions in
#' Bayesian model averaging with applications to growth regression. *Journal of
#' Applied Econometrics* 24, 651-674. \doi{10.1002/jae.1057}
#'
#' Huang, A. and Wand, M. P. (2013). Simple marginally noninformative prior
#' distributions for covariance matrices. *Bayesian Analysis* 8, 439-452.
#' \doi{10.1214/13-BA815}
#'
#' Chipman, H. A., George, E. I. and McCulloch, R. E. (2010). BART: Bayesian
#' additive regression trees. *Annals of Applied Statistics* 4, 266-298.
#' \doi{10.1214/09-AOAS285}
#' @examples
#' bark_prior()
#' bark_prior_paper("different")
#' bark_prior("select_equal", n_kernels = 20, discrepancy = 0.05)
#' bark_prior(n_signals = 3, noise = noise_gamma(2, 0.1))
#' bark_prior(centres = centre_near_rows(0.5), own_scales = TRUE)
#' bark_prior("different", directions = 2)
#' bark_prior(
#'   n_kernels = 20, discrepancy = 0.05, approximation = "truncation"
#' )
#' @export
bark_prior <- function(type = c(
                         "select_different", "equal", "different",
                         "select_equal"
                       ), alpha = 1, eps = NULL, gamma = 10, n_kernels = NULL,
                       discrepancy = NULL,
                       scales = NULL,
                       selection = c(1, 1), n_signals = NULL, noise = NULL,
                       df = NULL, centres = NULL, own_scales = NULL,
                       directions = NULL, linear = NULL, linear_sd = NULL,
                       group_sd = NULL,
                       approximation = c("continuous", "truncation")) {
  type <- check_choice(type, bark_types)
  options <- given_options(bark_options)
  if (options$approximation == "truncation") {
    refuse_with_truncation(options_where(options, "truncation", FALSE))
  }
  check_pooled(type, options$own_scales, !is.null(scales))
  alpha <- check_number(alpha, 0, 2, open = TRUE)
  given <- c(gamma = !missing(gamma), eps = !missing(eps))
  levy <- if (check_elicitation(n_kernels, discrepancy, given)) {
    bark_elicit(
      alpha, check_number(n_kernels, 0, open = TRUE),
      check_number(discrepancy, 0, open = TRUE), options$approximation
    )
  } else {
    list(
      eps = if (!is.null(eps)) check_number(eps, 0, open = TRUE),
      gamma = check_number(gamma, 0)
    )
  }
  if (levy$gamma > 0) {
    check_levy(alpha, with_eps(levy), options$approximation)
  }
  structure(
    c(list(
      type = type, alpha = alpha, eps = levy$eps, gamma = levy$gamma,
      scales = if (!is.null(scales)) check_pair(scales, c("shape", "rate")),
      selection = check_selection(
        type, if (!missing(selection)) selection, n_signals
      ),
      n_signals = check_n_signals(type, n_signals),
      noise = if (!is.null(noise)) check_noise(noise)
    ), options),
    class = "kb_bark_prior"
  )
}

#' @rdname bark_prior
#' @param ... Arguments of `bark_prior()`, by name.
#' @export
bark_prior_paper <- function(type = c(
                               "select_different", "equal", "different",
                               "select_equal"
                             ), ..., df = Inf, own_scales = FALSE,
                             linear = 0) {
  bark_prior(type, ..., df = df, own_scales = own_scales, linear = linear)
}

# Checks ---------------------------------------------------------------------

check_own_scales <- function(own_scales) {
  known <- isTRUE(own_scales) || isFALSE(own_scales) ||
    rlang::is_string(own_scales, c("pooled", "clustered"))
  if (!known) {
    bad_argument(
      own_scales, "own_scales", "TRUE, FALSE, \"pooled\" or \"clustered\""
    )
  }
  own_scales
}

# Pooled scales of a kernel differ between predictors, and have another prior
check_pooled <- function(type, own_scales, scales_given) {
  if (!identical(own_scales, "pooled")) {
    return(invisible())
  }
  if (endsWith(type, "equal")) {
    kb_abort(c(
      "{.arg type} must be {.val select_different} or {.val different} with
       {.code own_scales = \"pooled\"}.",
      x = "It is {.val {type}}."
    ), "argument", argument = "type")
  }
  if (scales_given) {
    kb_abort(c(
      "{.arg scales} must be left out with {.code own_scales = \"pooled\"}.",
      i = "The prior of pooled scales is in {.help bark_prior}."
    ), "argument", argument = "scales")
  }
}

# Two positive numbers; names, if any, must be in the same order
check_pair <- function(x, names, arg = rlang::caller_arg(x)) {
  positive <- is.numeric(x) && length(x) == 2 && all(is.finite(x)) && all(x > 0)
  in_order <- is.null(names(x)) || identical(names(x), names)
  if (!(positive && in_order)) {
    bad_argument(x, arg, paste0(
      "two positive finite numbers, ", names[[1]], " and ", names[[2]],
      " in this order"
    ))
  }
  as.double(x)
}

bark_selects <- function(type) {
  type %in% c("select_equal", "select_different")
}

#' The parameters a and b of the inclusion probability; n_signals replaces b
#' @param given `selection` as given by the user, or NULL.
#' @noRd
check_selection <- function(type, given, n_signals) {
  if (is.null(given)) {
    return(c(1, if (is.null(n_signals)) 1 else NA))
  }
  refuse_unused("selection", type)
  if (is.null(n_signals)) {
    return(check_pair(given, c("a", "b"), "selection"))
  }
  if (is.numeric(given) && length(given) == 2) {
    kb_abort(c(
      "{.arg selection} must be one number if {.arg n_signals} is given, which
       determines the second parameter.",
      x = "It is {describe(given)}."
    ), "argument", argument = "selection")
  }
  c(check_number(given, 0, open = TRUE, arg = "selection"), NA)
}

check_n_signals <- function(type, n_signals) {
  if (is.null(n_signals)) {
    return(NULL)
  }
  refuse_unused("n_signals", type)
  check_number(n_signals, 0, open = TRUE)
}

refuse_unused <- function(arg, type) {
  if (!bark_selects(type)) {
    kb_abort(c(
      "{.arg {arg}} must be left out with {.code type = \"{type}\"}, where all
       predictors are in the kernel.",
      i = "It belongs to {.val select_equal} and {.val select_different}."
    ), "argument", argument = arg)
  }
}

# What depends on the data ---------------------------------------------------

#' The prior with what it leaves to the data
#'
#' Numbers have kernels with their own scales and learned degrees of freedom,
#' which predict them best, and classes with latent responses common scales, see
#' also `own_scales` in R/family.R: tools/bench/league.R;
#' beside linear terms and groups scales are clustered: tools/bench/mixture.R.
#' A linear part costs O(n p) per column, and gains where rows are few:
#' tools/bench/small.R, tools/bench/classes.R, tools/bench/counts.R.
#' @param beside Are there linear terms or groups?
#' @param n,p Numbers of rows and of inputs of kernels.
#' @noRd
prior_for <- function(prior, family, beside = FALSE, n = 1, p = 1) {
  prior <- check_class(prior, "kb_bark_prior", "`bark_prior()`")
  about <- list(
    numbers = family == "gaussian" && !is_truncated_prior(prior),
    beside = beside, n = n, p = p
  )
  for (name in names(bark_options)) {
    if (!is.null(prior[[name]])) next
    prior[name] <- list(bark_options[[name]]$default(prior, about))
  }
  clustered <- identical(prior$own_scales, "clustered")
  if (clustered && !about$numbers) refuse_clusters()
  if (is.null(prior$scales)) {
    prior$scales <- if (isFALSE(prior$own_scales)) {
      c(1, 1)
    } else if (clustered) {
      c(1, 0.3)
    } else {
      c(0.5, 0.05)
    }
  }
  with_eps(prior)
}

with_eps <- function(prior) {
  if (is.null(prior$eps)) {
    prior$eps <- if (identical(prior$own_scales, "clustered")) 1 else 0.5
  }
  prior
}

refuse_clusters <- function() {
  kb_abort(c(
    "{.code own_scales = \"clustered\"} is for numeric responses.",
    i = "Leave {.arg own_scales} out, or set it to {.code TRUE} or
         {.code FALSE}."
  ), "argument", argument = "own_scales")
}

#' The prior as the sampler needs it: plain numbers, no NULL
#' @param prior From `bark_prior()`.
#' @param x,y The scaled data: matrix of p columns, and the response, used only
#'   by a gaussian model.
#' @param family A family object or its name.
#' @param weights NULL or positive weights of the rows: the noise variance of
#'   a row is that of weight 1 over its weight.
#' @param linear Further predictors for the default prior of the noise.
#' @param factors Groups of the rows, for the same purpose.
#' @param copies NULL, or how many rows each stands for: `weights` then count.
#' @param groups NULL, or the columns of each group of inputs: kernels, which
#'   have their own scales, use those of one.
#' @return List: `type`; `alpha`, `eps`, `gamma`, `nu`, `discrepancy`; `A`, `B`
#'   of the sum of scales; `a_p`, `b_p` (1 where nothing is selected);
#'   `noise_shape`, `noise_rate` of the precision; `noise_fixed`, and then
#'   `noise_precision` (NA otherwise); `improper`, where there is neither a draw
#'   from the prior nor an evidence; `df` for Student-t noise; if not the
#'   default, `own_scales`, `concentrations`, `directions`, `approximation` and
#'   the value of `centres_resolve()`.
#' @noRd
bark_prior_resolve <- function(prior, x, y, family = "gaussian",
                               weights = NULL, linear = NULL, groups = NULL,
                               factors = list(), copies = NULL) {
  if (inherits(family, "family")) family <- family$family
  check_choice(family, c("gaussian", "binomial"))
  if (!is.null(groups) && is.null(prior$own_scales) && family == "binomial") {
    prior$own_scales <- TRUE
  }
  beside <- !is.null(groups) || length(linear) > 0 || length(factors) > 0
  prior <- prior_for(prior, family, beside, nrow(x), ncol(x))
  prior$centres <- centres_of_copies(prior$centres, copies)
  told <- options_told(prior, nrow(x), ncol(x))
  selection <- selection_resolve(prior, ncol(x))
  noise <- if (family == "binomial") {
    refuse_class_df(prior)
    noise_probit(prior$noise)
  } else {
    noise_resolve(prior$noise, cbind(x, linear), y, weights, factors,
      rows_with_copies(length(y), copies), below_lm(prior)
    )
  }
  if (noise$improper) warn_improper_noise()
  size <- levy_size(prior$alpha, prior$gamma, prior$eps, prior$approximation)
  c(
    list(
      type = prior$type, alpha = prior$alpha, eps = prior$eps,
      gamma = prior$gamma,
      nu = size$nu, discrepancy = size$discrepancy,
      A = prior$scales[[1]], B = prior$scales[[2]],
      a_p = selection[[1]], b_p = selection[[2]]
    ),
    noise, told, if (!is.null(groups)) list(groups = groups)
  )
}

# b from E[d] = p a / (a + b) (Ley and Steel, 2009)
selection_resolve <- function(prior, p) {
  m <- prior$n_signals
  if (is.null(m)) {
    return(prior$selection)
  }
  inputs <- "predictors"
  if (!is.null(prior$directions)) {
    p <- prior$directions
    inputs <- "directions"
  }
  if (m >= p) {
    kb_abort(c(
      "{.arg n_signals} of {.arg prior} must be less than the number of
       {inputs}, {p}.",
      x = "It is {format(m)}.",
      i = "{.code type = \"equal\"} and {.code type = \"different\"} have all
           {inputs} in the kernel."
    ), "argument", argument = "n_signals")
  }
  a <- prior$selection[[1]]
  c(a, a * (p - m) / m)
}

# Printing -------------------------------------------------------------------

#' @export
print.kb_bark_prior <- function(x, ...) {
  number <- function(v) format(v, digits = 4)
  x <- with_eps(x)
  size <- levy_size(x$alpha, x$gamma, x$eps, x$approximation)
  nu <- size$nu
  d <- size$discrepancy
  cat(
    "<bark_prior>\n",
    "  type: ", x$type, "\n",
    "  stable process: alpha = ", number(x$alpha), ", gamma = ",
    number(x$gamma), ", eps = ", number(x$eps), "\n",
    "  expected number of kernels: ", number(nu), "\n",
    "  expected squared discrepancy: ", number(d), " times |K|^2 (",
    number(100 * d), "%)\n",
    if (!is.null(x$scales)) {
      paste0(
        "  scales: sum of lambda ~ Ga(", number(x$scales[[1]]), ", ",
        number(x$scales[[2]]), ")\n"
      )
    },
    if (bark_selects(x$type)) {
      paste0("  selection: ", format_selection(x), "\n")
    },
    "  noise: ", if (is.null(x$noise)) {
      paste(
        "noise_gamma(1.5, rate), P(sd < residual sd of lm) =",
        below_lm(prior_for(x, "gaussian"))
      )
    } else {
      format(x$noise)
    }, "\n", used_lines(x), undecided_lines(x),
    sep = ""
  )
  invisible(x)
}

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
