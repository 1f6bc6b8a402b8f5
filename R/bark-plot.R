#' Plots of Bayesian additive regression kernels
#'
#' `plot(fit)` shows the function, or observed against fitted responses.
#' @param x A fit of [bark()].
#' @param type What to draw:
#' * `"fit"`: with one predictor the posterior mean of f with its credible band and
#'   the prediction band, the data and, with up to 200 rows, as the height of ticks
#'   the probability that each row is a centre; with several predictors observed
#'   against fitted responses with prediction intervals. For classes the probability
#'   of the second level, or of the rows in increasing order, with credible bands;
#'   for ordered ones f, with the mean cut points.
#' * `"importance"`: the scales of the predictors, see [importance()].
#' * `"k"`: posterior of the number of kernels, and its prior.
#' * `"centres"`: posterior probability that each row is a centre (like the
#'   ticks above not defined if centres are not rows).
#' * `"trace"`: number of kernels and noise standard deviation (for classes log
#'   likelihood) at each kept iteration, one line per chain; the axis begins after the
#'   warmup.
#' * `"trace_density"`: the same, with the distribution of each chain's draws beside it.
#'
#' With several unordered classes `"fit"` shows the probability of each class along
#' the only predictor, or the most probable class over the plane of the two
#' predictors that matter most (all others at their median); `"k"` counts the kernels
#' of all fields, and `"centres"` the rows that are a centre in any of them. Of a fit
#' with `prior_only = TRUE` `"fit"` shows the prior: bands of this level and of one
#' half with eight draws of the expected response, or of f for gaussian and ordered
#' ones, beside the data; not with several predictors and several unordered classes.
#' Its axis ends near the data, and its label says how much is beyond.
#' @param level Probability inside bands and intervals, for `"fit"` (except with
#'   several unordered classes) and `"importance"`.
#' @param n For `"fit"`: number of points of a curve, `NULL`: 200; for a plane
#'   along each side, `NULL`: 50.
#' @inheritParams plot.kb_srvm
#' @return `x`, invisibly.
#' @examples
#' data <- sim_sinc(50, seed = 1)
#' fit <- bark(y ~ x, data,
#'   control = mcmc_control(chains = 2, warmup = 200, iter = 90), seed = 1
#' )
#' plot(fit)
#' plot(fit, type = "k")
#' @export
plot.kb_bark <- function(x,
                         type = c(
                           "fit", "importance", "k", "centres", "trace",
                           "trace_density"
                         ),
                         level = 0.9, n = NULL, ...) {
  draw_picture(bark_picture(x, type, level, n, !missing(level)), x, ...)
}

#' @rdname autoplot.kb_srvm
#' @exportS3Method ggplot2::autoplot
autoplot.kb_bark <- autoplot_of(plot.kb_bark)

#' @param given Has the caller given the level?
#' @noRd
bark_picture <- function(x, type, level, n, given) {
  x <- checked_fit(x)
  type <- check_choice(type, eval(formals(plot.kb_bark)$type))
  used <- switch(type,
    fit = c(if (!is_multinomial(x)) "level", "n"),
    importance = "level"
  )
  given <- c(level = given, n = !is.null(n))
  refuse_ignored(type, given, used, "plot.kb_bark")
  level <- check_number(level, 0, 1, open = TRUE)
  if (!is.null(n)) n <- check_size(n, 2, each = 3)
  switch(type,
    fit = fit_picture(x, level, n),
    importance = importance_picture(importance(x, level = level)),
    k = k_picture(x, bark_prior_k(x), "kernels"),
    centres = centres_picture(x),
    trace = chains_picture(x, bark_trace_labels(x)),
    trace_density = chains_picture(x, bark_trace_labels(x), TRUE)
  )
}

bark_trace_labels <- function(x) {
  c(
    J = "number of kernels",
    if (has_noise(x)) {
      c(sigma = noise_words(x))
    } else if (!is_prior_only(x)) {
      c(log_lik = "log likelihood")
    }
  )
}

# The Poisson prior of the number of kernels (with several classes of all
# fields), up to the largest number that a plot may need
bark_prior_k <- function(fit) {
  fields <- if (is_multinomial(fit)) length(fit$mould$levels) else 1
  nu <- fit$settings$prior$nu * fields
  k <- seq(0, max(model_size(fit)$k) + 2)
  data.frame(k = k, probability = stats::dpois(k, nu))
}

# Several unordered classes: their probabilities along the only predictor, or
# over the plane of the two that matter most
fields_picture <- function(x, n) {
  refuse_where(x, "plot", "no_kernels")
  if (has_terms_beside(x)) {
    kb_abort(c(
      "{.fn plot} of several classes is not defined with terms beside kernels.",
      i = "{.fn partial_dependence} has probabilities along a predictor."
    ), "not_defined")
  }
  probability <- function(points) fields_drawn_probability(x, points)
  if (has_one_variable(x)) {
    along <- curve_along(x, if (is.null(n)) 200 else n)
    return(class_curves_picture(x, along, probability, centre_ticks(x, along)))
  }
  # All classes are equally probable everywhere.
  refuse_where(x, "plot", "prior_only")
  leading_picture(x, names(leading_of_fields(x)), n, 50, probability)
}

# Class probabilities at points in their own units, from some of the draws
fields_drawn_probability <- function(x, points, most = 400) {
  pool <- posterior_pool(x)
  draws <- length(pool$weights)
  fields_probability(x, points, pool, spread_over(draws, min(draws, most)))
}
