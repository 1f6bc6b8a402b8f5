# Priors of the noise precision, and their values given the data.

#' Priors of the noise precision
#'
#' `bark_prior(noise = noise_gamma(1.5, 0.1))` changes the prior of the noise
#' precision, one over the variance; `noise_improper()` is the improper limit, for
#' reproduction only.
#'
#' The density of `noise_gamma(shape, rate)` at the precision phi is
#' proportional to \eqn{\phi^{shape - 1} \exp(-rate \phi)}{phi^(shape - 1)
#' exp(-rate phi)}. It is the same distribution as `ig(shape, rate)` for the
#' variance. Precisions are in inverse squared units of the response that the
#' model sees: with `scale = TRUE` in units of the inverse variance of the
#' response.
#'
#' `noise_improper()` is the density 1 / phi that the paper on Bayesian additive
#' regression kernels recommends. The posterior is improper for any number of distinct
#' rows: with as many different kernels as rows the likelihood tends to a positive
#' constant as phi grows. The results of a sampler depend on how long it runs, and the
#' evidence is not defined. A fit under it warns with class `kb_warning_improper`.
#' @param shape,rate Positive numbers.
#' @return An object of class `kb_noise_gamma` or `kb_noise_improper`, and
#'   `kb_noise_prior`.
#' @section Errors: A rate of 0 also has the class `kb_error_improper`.
#' @seealso [bark_prior()], which uses them; [fixed_variance()] for a known
#'   variance.
#' @examples
#' noise_gamma(1.5, 0.1)
#' @name noise_prior
NULL

#' @rdname noise_prior
#' @export
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

#' @rdname noise_prior
#' @export
noise_improper <- function() {
  structure(
    list(shape = 0, rate = 0),
    class = c("kb_noise_improper", "kb_noise_prior")
  )
}

refuse_improper <- function(rate) {
  if (!missing(rate) && is.numeric(rate) && length(rate) == 1 && rate %in% 0) {
    kb_abort(c(
      "{.arg rate} must be above 0: with 0 the posterior is improper for any
       number of distinct rows.",
      x = "The number of kernels is unbounded, and with as many kernels as rows
           the likelihood does not vanish as the precision grows.",
      i = "For reproduction only, {.fn noise_improper} is the limit 1 / phi."
    ), c("improper", "argument"), argument = "rate")
  }
}

check_noise <- function(x, arg = rlang::caller_arg(x)) {
  check_class(x, c("kb_noise_prior", "kb_ig", "kb_fixed"),
    "NULL, `noise_gamma(shape, rate)` or `fixed_variance(variance)`", arg
  )
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

# Values given the data ----------------------------------------------------

noise_list <- function(shape = NA_real_, rate = NA_real_,
                       precision = NA_real_, improper = FALSE) {
  list(
    noise_shape = shape, noise_rate = rate, noise_fixed = !is.na(precision),
    noise_precision = precision, improper = improper
  )
}

#' @param n The number of rows, with their copies.
#' @param probability That the noise is below the residual sd, if `noise` is NULL.
#' @noRd
noise_resolve <- function(noise, x, y, weights, groups = list(),
                          n = length(y), probability = 0.9) {
  if (is.null(noise)) {
    sd <- min(
      residual_sd(x, y, weights, n),
      vapply(groups, function(g) within_sd(x, y, weights, g, n), 1)
    )
    return(noise_list(1.5, noise_rate(sd, probability)))
  }
  if (inherits(noise, "kb_fixed")) {
    return(noise_list(precision = 1 / noise$variance))
  }
  rate <- if (inherits(noise, "kb_ig")) noise$scale else noise$rate
  noise_list(noise$shape, rate,
    improper = inherits(noise, "kb_noise_improper")
  )
}

# The latent response of a probit model has variance 1
noise_probit <- function(noise) {
  one <- is.null(noise) || inherits(noise, "kb_fixed") && noise$variance == 1
  if (!one) {
    kb_abort(c(
      "{.arg noise} of {.arg prior} must be NULL for classification, which has
       no noise parameter.",
      x = "It is {.code {format(noise)}}."
    ), "argument", argument = "noise")
  }
  noise_list(precision = 1)
}

# The rate at which P(noise sd < sd) = probability: derivations/bark.md,
# section 1.4
noise_rate <- function(sd, probability, shape = 1.5) {
  sd^2 * stats::qgamma(1 - probability, shape)
}

# With a linear part f may be linear, and the noise what lm() says; otherwise the
# rule of BART
below_lm <- function(prior) {
  if ("linear" %in% used_options(prior)) 0.75 else 0.9
}

# Residual sd of the linear regression, or the sd of y if there are none
#
# 1 for a constant y. At least 1e-4 of the sd of y, below which noise cannot be
# resolved: y may be linear in x, and the rate must not be 0.
residual_sd <- function(x, y, weights = NULL, n = length(y)) {
  if (is.null(weights)) weights <- rep(1, length(y))
  residual <- function(design) {
    fit <- stats::lm.wfit(design, y, weights)
    left <- n - fit$rank
    if (fit$rank == 1) left <- spread_divisor(n)
    if (left > 0) sqrt(sum(weights * fit$residuals^2) / left) else NaN
  }
  one <- matrix(1, length(y), 1)
  total <- residual(one)
  # Rounding is relative to the size of the values.
  floor <- 1e-12 * sqrt(sum(weights) / n) * max(abs(y))
  if (!(is.finite(total) && total > floor)) {
    return(1)
  }
  sd <- residual(cbind(one, x))
  if (is.finite(sd)) max(sd, 1e-4 * total) else total
}

# The same within groups, of which each may have its own intercept; Inf if they
# leave too few degrees of freedom
within_sd <- function(x, y, weights, group, n = length(y)) {
  if (is.null(weights)) weights <- rep(1, length(y))
  left <- n - length(unique(group)) - ncol(x)
  if (left < max(5, n / 10)) {
    return(Inf)
  }
  total <- as.vector(rowsum(weights, group))
  place <- match(group, sort(unique(group)))
  within <- function(v) {
    v - (rowsum(weights * v, group) / total)[place, , drop = FALSE]
  }
  fit <- stats::lm.wfit(within(x), drop(within(cbind(y))), weights)
  sd <- sqrt(sum(weights * fit$residuals^2) / left)
  if (is.finite(sd) && sd > 0) sd else Inf
}

warn_improper_noise <- function() {
  kb_warn(c(
    "The prior of the noise is improper, and so is the posterior, for any
     number of distinct rows.",
    x = "The evidence is not defined, and the draws depend on how long the
         chains run.",
    i = "It is for reproduction only: use {.fn noise_gamma}, or the default."
  ), "improper")
}

# Student-t noise in bark fits. Its sampler is in
# src/core/bark/moves/noise.cpp; predictions use noise_df().

# Degrees of freedom with equal probabilities, if they are learned. A chain of
# bark() starts with the first; the last is nearly the normal distribution.
learned_df <- c(8, 2.5, 3, 4, 5, 6, 11, 16, 32, 64, 1000)

is_student_prior <- function(prior) {
  !is.null(prior$df) && !identical(prior$df, Inf)
}

learns_df <- function(fit) length(fit$settings$prior$df) > 1

refuse_class_df <- function(prior) {
  if (is_student_prior(prior)) {
    kb_abort(c(
      "{.arg df} of {.arg prior} must be Inf for classification.",
      x = "It is {format(prior$df)}.",
      i = "The noise of a latent response is normal, with variance 1."
    ), "argument", argument = "df")
  }
}

# log of the density of the response with f = 0 and the noise integrated out
#
# Over the logarithm of its precision, where the integrand has one mode: Z_0 of
# (B62).
student_base <- function(engine) {
  dfs <- engine$config$prior$df
  each <- vapply(dfs, function(df) student_base_at(engine, df), 0)
  log_mean_exp(each)
}

student_base_at <- function(engine, df) {
  prior <- engine$config$prior
  log_density <- function(log_phi) {
    vapply(log_phi, function(l) {
      scale <- exp(-l / 2) / sqrt(engine$weights)
      sum(log_noise_density(engine$y, scale, df))
    }, 0)
  }
  if (prior$noise_fixed) {
    return(log_density(log(prior$noise_precision)))
  }
  c <- prior$noise_shape
  d <- prior$noise_rate
  log_integral(function(l) {
    c * log(d) - lgamma(c) + c * l - d * exp(l) + log_density(l)
  }, c(-600, 600))
}

# log of the integral of exp(f) over the real line, f unimodal with its mode
# in `range`: trapezoids where f is within 40 of its maximum, on a grid that
# coarse ones place
log_integral <- function(f, range, points = 401) {
  values <- function(at) {
    value <- f(at)
    replace(value, is.nan(value), -Inf)
  }
  for (pass in 1:3) {
    at <- seq(range[[1]], range[[2]], length.out = 101)
    value <- values(at)
    shown <- range(which(value >= max(value) - 40))
    range <- at[c(max(shown[[1]] - 1, 1), min(shown[[2]] + 1, 101))]
  }
  at <- seq(range[[1]], range[[2]], length.out = points)
  value <- values(at)
  top <- max(value)
  top + log(sum(exp(value - top))) + log(at[[2]] - at[[1]])
}

# Student-t noise in srvm fits. Its sampler is in src/core/srvm; predictions use
# noise_df(). Degrees of freedom that are learned have the values, and the prior, of
# bark().

#' @return Degrees of freedom, several if they are learned.
#' @noRd
check_df <- function(df, scaled, learn = "learn") {
  given <- df
  if (identical(df, learn)) {
    df <- learned_df
  } else if (is.character(df)) {
    bad_argument(df, "df", sprintf("a number above 0, Inf or \"%s\"", learn))
  } else if (!identical(df, Inf)) {
    df <- check_number(df, 0, open = TRUE)
  }
  if (scaled && !identical(df, Inf)) {
    kb_abort(c(
      "{.arg df} must be Inf in the scaled form, which integrates the noise
       variance out.",
      x = "It is {format(given)}.",
      i = "Use {.code scaled = FALSE}."
    ), "argument", argument = "df")
  }
  df
}

# What print() of a fit adds to its noise
student_words <- function(fit, show) {
  if (!learns_df(fit)) {
    return(student_line(fit$settings$prior, ", "))
  }
  pool <- srvm_pool(fit)
  median <- weighted_quantile(pool$df, pool$weights, 0.5)
  paste0(", Student's t, median df ", show(median))
}

# NULL if the noise is normal
student_line <- function(prior, before, after = NULL) {
  if (length(prior$df) > 1) {
    return(paste0(before, "Student's t, df learned", after))
  }
  if (is.null(prior$df) || is.infinite(prior$df)) {
    return(NULL)
  }
  paste0(before, "Student's t, df ", format(prior$df), after)
}
