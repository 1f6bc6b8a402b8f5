# generics: fits as data frames.

#' A fit as data frames
#'
#' `tidy(fit)` has the parameters, `glance(fit)` one line for the whole fit, and
#' `augment(fit)` the data with predictions.
#' @param x A fit of [srvm()], [bark()] or [kgs()].
#' @param data,newdata Data frame to add predictions to; by default the
#'   training rows as the formula found them: its variables and the response.
#'   Fits to `x` and `y` have the columns of `x` and `.response`.
#' @param level Probability of the intervals of `augment()`.
#' @param conf.int,conf.level For `tidy()`: add intervals? Their probability.
#' @param interval For `augment()`: `"prediction"` (for responses; with [bark()] of
#'   numbers only) or `"credible"` (for f, the expected count or the probability).
#' @param complement See [predict.kb_kgs()].
#' @param ... For `augment()` of fits of [bark()]: arguments `linear`, `groups`,
#'   `offset` and `re_formula` of [predict()][predict.kb_bark]. Unknown arguments are
#'   errors.
#' @return Data frames.
#' * `tidy()`: `term`, `estimate` (posterior mean), `std.error` (posterior sd),
#'   `conf.low` and `conf.high`; of what has long tails (degrees of freedom `df`,
#'   bandwidths) the posterior median and the median absolute deviation (times
#'   1.4826). - [srvm()]: `sigma` (not for two classes), `tau`, `k`, and where they
#'   are learned `df`, `lambda` and `bandwidth[<predictor>]`. - [bark()]: `sigma`
#'   (gaussian fits; for Student-t noise its scale), `J` (number of kernels), `df`
#'   where it is learned, for negative binomial counts `size`, for priors that select
#'   `d` (number of predictors in the kernel), cut points `cut[low|high]` (the first
#'   is 0), linear coefficients `b[term]`, standard deviations `sd[factor]` or
#'   `sd[factor,coefficient]` of groups and their correlations
#'   `cor[factor,one,other]`; of several unordered classes also `J[class]`,
#'   `d[class]` and coefficients with the class first. [importance()] has the
#'   predictors. - [kgs()]: the learned rates of wrong labels (`q`, or `q[class]`
#'   with [noise_class()]) and `errors`, the number of wrong labels.
#' * `glance()`: one line with `nobs`, `seconds` and, as far as they apply,
#'   `log_evidence`, `mc_se`, `k` or `J`, `sigma`, `ess_fraction`, `classes`, `rank`,
#'   `q` (with [noise_class()] the mean of the two), `errors`; of chains `rhat` (the
#'   largest), `ess_bulk` (the smallest) and `draws`.
#' * `augment()`: the data with `.fitted` (mean of f, expected count, or probability
#'   of the second level), `.lower`, `.upper` (rows of `newdata` have weight 1), for
#'   two classes of [bark()] `.class`, and, where the response is known, `.resid`
#'   (see [residuals.kb_fit()]). For more classes, and for [kgs()], `.class` (of
#'   [kgs()] the most probable true class) and `.prob_<level>` (of [kgs()] of the
#'   recorded label).
#' @examples
#' data <- sim_sinc(30, seed = 1)
#' fit <- srvm(y ~ x, data, kernel = kernel_gaussian(0.2), seed = 1)
#' tidy(fit)
#' glance(fit)
#' head(augment(fit, newdata = data))
#' @name tidy.kb_srvm
NULL

#' @rdname tidy.kb_srvm
#' @export
tidy.kb_srvm <- function(x, conf.int = TRUE, conf.level = 0.9,
                         ...) {
  x <- checked_fit(x, ...)
  pool <- srvm_pool(x)
  draws <- srvm_parameters(x, pool)
  shown <- c(
    if (!is_probit(x)) "sigma", "tau", "k", "df", "lambda",
    if (learns_scales(x$settings)) bandwidth_names(x)
  )
  draws <- draws[intersect(shown, names(draws))]
  tidy_weighted(
    draws, pool$weights, conf.int, conf.level, long_tailed(names(draws))
  )
}

# A line for each column of weighted draws; `long`: which have long tails
tidy_weighted <- function(draws, weights, conf.int, conf.level,
                          long = logical(length(draws))) {
  ends <- interval_ends(check_number(conf.level, 0, 1, open = TRUE))
  quantile <- function(v, p) weighted_quantile(v, weights, p)
  summaries <- vapply(seq_along(draws), function(i) {
    v <- as.double(draws[[i]])
    centre <- if (long[[i]]) quantile(v, 0.5) else sum(weights * v)
    spread <- if (long[[i]]) {
      1.4826 * quantile(abs(v - centre), 0.5)
    } else {
      sqrt(sum(weights * (v - centre)^2))
    }
    c(centre, spread, quantile(v, ends[[1]]), quantile(v, ends[[2]]))
  }, numeric(4))
  tidy_limits(data.frame(
    term = names(draws), estimate = summaries[1, ], std.error = summaries[2, ],
    conf.low = summaries[3, ], conf.high = summaries[4, ]
  ), conf.int)
}

# A bandwidth has no mean (the density of its inverse is positive at 0), and
# that of degrees of freedom depends on the largest that are possible: medians
# and median absolute deviations are shown
long_tailed <- function(term) {
  term == "df" | startsWith(term, "bandwidth[")
}

# With the limits or without
tidy_limits <- function(out, conf.int) {
  if (!check_flag(conf.int)) out[c("conf.low", "conf.high")] <- NULL
  out
}

# A table of this package with broom's names
tidy_columns <- function(x, names, conf.int) {
  out <- as.data.frame(unclass(x), optional = TRUE)
  names(out)[match(names(names), names(out))] <- names
  tidy_limits(out, conf.int)
}

# The smallest value below which the weights reach p
weighted_quantile <- function(v, weights, p) {
  order <- order(v)
  as.double(v[order][which(cumsum(weights[order]) >= p - 1e-12)[[1]]])
}

#' @rdname tidy.kb_srvm
#' @export
glance.kb_srvm <- function(x, ...) {
  x <- checked_fit(x, ...)
  z <- evidence(x)
  defined <- !is_no_evidence(z)
  k <- model_size(x)
  data.frame(
    nobs = x$time, log_evidence = if (defined) z$log_evidence else NA_real_,
    mc_se = if (defined) z$mc_se else NA_real_,
    k = sum(k$k * k$probability), sigma = stats::sigma(x),
    ess_fraction = diagnostics(x)$ess_final, seconds = x$seconds
  )
}

#' @rdname tidy.kb_srvm
#' @export
augment.kb_srvm <- function(x, data = NULL, newdata = NULL, level = 0.9,
                            interval = NULL, ...) {
  x <- checked_fit(x, ...)
  augment_regression(x, data, newdata, level, interval)
}

# Regression or two classes, which have no prediction interval
augment_regression <- function(x, data, newdata, level, interval, ...) {
  kinds <- c(if (has_quantiles(x)) "prediction", "credible")
  interval <- if (is.null(interval)) {
    kinds[[1]]
  } else {
    check_choice(interval, kinds)
  }
  out <- augment_fit(x, data, newdata, level, interval, ...)
  if (has_classes(x)) {
    levels <- x$mould$levels
    out$.class <- most_probable(both_classes(out$.fitted, levels), levels)
  }
  out
}

augment_fit <- function(x, data, newdata, level, interval, ...) {
  level <- check_number(level, 0, 1, open = TRUE)
  new <- augment_rows(data, newdata)
  beside <- list(...)
  bands <- function(...) {
    arguments <- list(x, ...,
      type = "response", interval = interval, level = level
    )
    do.call(stats::predict, c(arguments, beside))
  }
  if (is.null(new)) {
    out <- training_frame(x)
    y <- training_response(x)
    bands <- bands()
  } else {
    bands <- bands(new)
    out <- augment_table(x, new)
    y <- augment_response(x, new)
  }
  bands <- drop_row_names(bands)
  out$.fitted <- bands[, "fit"]
  out$.lower <- bands[, "lwr"]
  out$.upper <- bands[, "upr"]
  y <- if (is.factor(y)) as.integer(y) - 1 else shown_response(x, y)
  if (!is.null(y)) out$.resid <- y - out$.fitted
  out
}

# The rows given under either name, or NULL
augment_rows <- function(data, newdata) {
  if (!is.null(data) && !is.null(newdata)) {
    kb_abort("Give {.arg data} or {.arg newdata}, not both.", "argument",
      argument = "newdata"
    )
  }
  if (is.null(newdata)) data else newdata
}

# The data as a data frame; a table without names gets those of the fit
augment_table <- function(x, new) {
  out <- as.data.frame(new)
  if (is.null(colnames(new))) names(out) <- names(x$mould$columns)
  out
}

# The response that a formula finds in the data, or NULL
augment_response <- function(x, new) {
  wanted <- x$mould$outcome_columns
  if (is.null(wanted) || !all(wanted %in% colnames(new))) {
    return(NULL)
  }
  suppressWarnings(
    mould_forge(x$mould, new, outcome = TRUE, empty = TRUE)$y,
    classes = "kb_warning_novel_level"
  )
}

# bark -------------------------------------------------------------------------

#' @rdname tidy.kb_srvm
#' @order 1
#' @export
tidy.kb_bark <- function(x, conf.int = TRUE, conf.level = 0.9,
                         ...) {
  x <- checked_fit(x, ...)
  tidy_draws(bark_parameters(x), conf.int, conf.level)
}

# A line for each of named draws of equal weight
tidy_draws <- function(draws, conf.int, conf.level) {
  ends <- interval_ends(check_number(conf.level, 0, 1, open = TRUE))
  each <- function(f, ...) as.double(vapply(draws, f, 0, ...))
  long <- long_tailed(names(draws))
  tidy_limits(data.frame(
    term = names(draws),
    estimate = ifelse(long, each(stats::median), each(mean)),
    std.error = ifelse(long, each(stats::mad), each(stats::sd)),
    conf.low = each(stats::quantile, ends[[1]], names = FALSE),
    conf.high = each(stats::quantile, ends[[2]], names = FALSE)
  ), conf.int)
}

#' @rdname tidy.kb_srvm
#' @export
glance.kb_bark <- function(x, ...) {
  x <- checked_fit(x, ...)
  chains <- chain_matrices(x)
  mixing <- chain_mixing(x)
  data.frame(
    nobs = stats::nobs(x), J = mean(chains$J), sigma = stats::sigma(x),
    rhat = worst(max, mixing$rhat), ess_bulk = worst(min, mixing$ess_bulk),
    draws = length(chains$J), seconds = x$seconds
  )
}

#' @rdname tidy.kb_srvm
#' @export
augment.kb_bark <- function(x, data = NULL, newdata = NULL, level = 0.9,
                            interval = NULL, ...) {
  x <- checked_fit(x)
  if (is_ordered(x)) {
    refuse_ordered_bands(!missing(level), interval)
    return(augment_classes(x, data, newdata, ...))
  }
  augment_regression(x, data, newdata, level, interval, ...)
}

# kgs --------------------------------------------------------------------------

#' @rdname tidy.kb_srvm
#' @export
tidy.kb_kgs <- function(x, conf.int = TRUE, conf.level = 0.9,
                        ...) {
  x <- checked_fit(x, ...)
  chains <- chain_matrices(x)
  draws <- lapply(chains[c(kgs_rate_names(x), "errors")], as.vector)
  tidy_draws(draws, conf.int, conf.level)
}

#' @rdname tidy.kb_srvm
#' @export
glance.kb_kgs <- function(x, ...) {
  x <- checked_fit(x, ...)
  chains <- chain_matrices(x)
  mixing <- chain_mixing(x)
  data.frame(
    nobs = stats::nobs(x), classes = x$settings$classes, rank = kgs_rank(x),
    q = mean(unlist(kgs_rates(x, chains))), errors = mean(chains$errors),
    rhat = worst(max, mixing$rhat), ess_bulk = worst(min, mixing$ess_bulk),
    draws = length(chains$errors), seconds = x$seconds
  )
}

#' @rdname tidy.kb_srvm
#' @export
augment.kb_kgs <- function(x, data = NULL, newdata = NULL, complement = NULL,
                           ...) {
  x <- checked_fit(x, ...)
  augment_classes(x, data, newdata, complement = complement)
}

#' Probabilities of more than two classes
#' @param ... Further arguments of `predict()`.
#' @noRd
augment_classes <- function(x, data, newdata, ...) {
  new <- augment_rows(data, newdata)
  asked <- c(list(x), if (!is.null(new)) list(new), list(...))
  ask <- function(type) do.call(stats::predict, c(asked, type = type))
  p <- drop_row_names(ask("prob"))
  if (is.null(new)) {
    out <- training_frame(x)
    y <- training_response(x)
  } else {
    out <- augment_table(x, new)
    y <- augment_response(x, new)
  }
  # The most probable label of kgs() is not always that of the true class.
  best <- if (inherits(x, "kb_kgs")) {
    unname(ask("class"))
  } else {
    most_probable(p, x$mould$levels)
  }
  out$.class <- if (is_ordered(x)) ordered_class(best, x) else best
  out[paste0(".prob_", x$mould$levels)] <- as.data.frame(p)
  if (!is.null(y)) out$.resid <- class_residuals(y, p)
  out
}

# tdsmc ------------------------------------------------------------------------

#' A tdsmc fit as data frames and draws
#'
#' `tidy(fit, f)` has mean and interval of a function f of the states, `as_draws(fit,
#' f)` its draws.
#' @param x A fit of [tdsmc()].
#' @param f `function(states)`: a matrix or data frame of numbers with a row for
#'   each particle and named columns, or a vector of one number each. By default the
#'   states, if they are numbers.
#' @inheritParams tidy.kb_srvm
#' @param ... Not used: unknown arguments are errors.
#' @return Data frames. `tidy()`: one line per column of f's value, with `term`,
#'   `estimate` (posterior mean), `std.error` (posterior sd), `conf.low` and
#'   `conf.high`, quantiles of the weighted particles. `glance()`: one line with
#'   `nobs` (steps), `log_evidence`, `mc_se`, `particles` (of all replicates),
#'   `ess_fraction` (at the end), `resamplings`, `seconds`. `as_draws()`: a
#'   [posterior::draws_df], whose variables are the columns of f's value, or `f`. Each
#'   particle is a chain of one iteration: see [ess()] for their effective sample size.
#' @section Errors: `kb_error_user_function` if f fails or returns something else.
#' @examples
#' target <- td_target(
#'   log_density = function(states, t, data) {
#'     y <- data[seq_len(t)]
#'     dnorm(states, log = TRUE) +
#'       vapply(states, function(x) sum(dnorm(y, x, log = TRUE)), 0)
#'   },
#'   initial = function(n, data) rnorm(n)
#' )
#' fit <- tdsmc(target, data = c(1.2, 0.7, 0.9), seed = 1)
#' tidy(fit, function(x) cbind(mean = x, square = x^2))
#' glance(fit)
#' posterior::summarise_draws(as_draws(fit, identity), "mean", "sd")
#' @name tidy.kb_tdsmc
NULL

#' @rdname tidy.kb_tdsmc
#' @export
tidy.kb_tdsmc <- function(x, f = identity, conf.int = TRUE, conf.level = 0.9,
                          ...) {
  x <- checked_fit(x, ...)
  w <- stats::weights(x)
  draws <- as.data.frame(td_columns(x, check_function(f), w))
  tidy_weighted(draws, w, conf.int, conf.level)
}

#' @rdname tidy.kb_tdsmc
#' @export
glance.kb_tdsmc <- function(x, ...) {
  x <- checked_fit(x, ...)
  z <- evidence(x)
  state <- diagnostics(x)
  data.frame(
    nobs = x$time, log_evidence = z$log_evidence, mc_se = z$mc_se,
    particles = length(stats::weights(x)), ess_fraction = state$ess_final,
    resamplings = state$resamplings, seconds = x$seconds
  )
}
