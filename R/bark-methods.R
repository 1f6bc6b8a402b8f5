# Methods of bark fits, apart from predict() and plot().

#' @export
print.kb_bark <- function(x, digits = 3, ...) {
  x <- checked_fit(x, ...)
  print_chains(x, paste0(
    "Bayesian additive regression kernels", family_of(x)$title,
    if (x$settings$prior_only) ", PRIOR ONLY"
  ), describe_bark, digits)
}

is_prior_only <- function(fit) isTRUE(fit$settings$prior_only)

# Before it has seen data f has no mean, nor has what depends on it but
# probabilities; and exp(f) has none afterwards: coefficients of kernels, and
# standard deviations of groups, have tails that fall like powers, which the data
# cut off at their rows only. Medians are shown instead.
lacks_mean <- function(fit, type) {
  if (is_prior_only(fit)) {
    return(type == "link" || has_quantiles(fit))
  }
  type == "response" && inherits(fit, "kb_bark") &&
    isTRUE(family_of(fit)$exponential)
}

# The lines of print() on data, prior and posterior
describe_bark <- function(x, show) {
  paste0(
    describe_bark_model(x, show),
    if (is_multinomial(x)) {
      describe_fields(x, show)
    } else {
      describe_posterior(x, show)
    },
    if (ncol(x$data$x) > 1) {
      paste0("  inputs:       ", inputs_line(x, show), "\n")
    }
  )
}

describe_bark_model <- function(x, show) {
  w <- x$data$weights
  paste0(
    formula_line(x),
    "  rows:         ", x$time, if (!is.null(w)) " weighted", ", ",
    predictors_part(x),
    if (!isFALSE(x$settings$scale)) ", standardised", omitted_part(x), "\n",
    if (has_kernels(x)) kernels_prior_lines(x, show),
    student_line(x$settings$prior, "  noise:        ", "\n")
  )
}

# In words; `summary()` has the settings
kernels_prior_lines <- function(x, show) {
  paste0(
    "  prior:        ", in_column(paste0(
      show(x$settings$prior$nu), " kernels expected",
      if (is_multinomial(x)) " in each of the fields", ", ", scales_words(x)
    )), "\n", directions_line(x)
  )
}

scales_words <- function(x) {
  type <- x$settings$prior$type
  paste0(
    if (has_clusters(x)) {
      "with scales of their own or shared"
    } else if (has_own_scales(x)) {
      "each with scales of its own"
    } else if (type %in% c("equal", "select_equal")) {
      "with one scale"
    } else {
      paste("with a scale per", if (has_directions(x)) "direction" else "predictor")
    },
    if (bark_selects(type)) " that may be 0"
  )
}

# The settings of the prior of kernels, for `summary()`
prior_settings_lines <- function(x, digits) {
  prior <- x$settings$prior
  show <- function(name) paste(name, format(prior[[name]], digits = digits))
  paste0(
    "Prior: ", prior$type, ", ", show("alpha"), ", ", show("gamma"), ", ",
    show("eps"), if (is_truncated(x)) ", truncation",
    ";\n  squared ", show("discrepancy"), ", P(intercept) ",
    format(intercept_expected(prior, nrow(x$data$x)), digits = digits), "\n"
  )
}

describe_posterior <- function(x, show) {
  chains <- chain_matrices(x)
  paste0(
    if (has_mixed(x)) mixed_lines(x, show),
    if (has_kernels(x)) kernels_lines(x, chains$J, show),
    linear_line(x),
    if (has_classes(x)) {
      paste0(classes_line(x), if (is_ordered(x)) cuts_line(x, show))
    },
    counted_line(x),
    if (has_varying_noise(x)) {
      varying_line(x, show)
    } else if (has_noise(x)) {
      noise_line(x, chains$sigma, show)
    },
    paste(parameter_lines(x, show), collapse = ""),
    logs_line(x)
  )
}

# How many responses are censored, or how many trials there were
counted_line <- function(x) {
  y <- x$data$y
  big <- function(n) format(n, big.mark = ",")
  switch(x$mould$outcome,
    trials = paste0(
      "  trials:       ", big(sum(y)), ", ", big(sum(y[, 1])), " successes\n"
    ),
    interval = paste0(
      "  censored:     ", big(sum(y[, 1] != y[, 2])), " of ", big(nrow(y)),
      " rows\n"
    )
  )
}

kernels_lines <- function(x, copies, show) {
  paste0(
    "  kernels:      ", show(mean(copies)), " on average ",
    range_of(copies, show),
    if (!has_own_centres(x) && !has_own_scales(x)) {
      paste0(", at ", show(mean(bark_pool(x)$m)), " centres")
    }, "\n",
    centres_line(x, show)
  )
}

noise_line <- function(x, sigma, show) {
  paste0(
    noise_label(x), show(mean(sigma)), " ", range_of(sigma, show),
    if (learns_df(x)) df_part(x, show), "\n"
  )
}

noise_label <- function(x) {
  formatC(paste0("  ", noise_words(x), ":"), width = -16)
}

# What sigma is: of Student's and of Weibull noise no standard deviation
noise_words <- function(x) {
  weibull <- identical(x$settings$family, "weibull")
  if (weibull || is_student(x$settings)) "noise scale" else "noise sd"
}

df_part <- function(fit, show) {
  df <- stats::median(bark_pool(fit)$df)
  paste0(", Student's t, median df ", show(df))
}

# The locations of kernels, if not the default
centres_line <- function(x, show) {
  prior <- x$settings$prior
  if (has_own_centres(x)) {
    paste0("  centres:      near rows, sd ", show(prior$centre_sd), "\n")
  } else if (!is.null(prior$centre_weights)) {
    "  centres:      rows, by their weights\n"
  }
}

# The predictors that matter most: with their share of the change of f where
# kernels have their own scales, the probability of an effect on f for other
# priors that select, otherwise with their scale or share
inputs_line <- function(x, show, most = 4) {
  prior <- x$settings$prior
  fields <- is_multinomial(x)
  parts <- if (fields) {
    fields_scales(x, field_pools(x))
  } else {
    input_scales(x)
  }
  # Equal scales without selection do not distinguish predictors.
  if (!has_directions(x) && prior$type == "equal") {
    return(paste("equal scales of", show(mean(parts$scales[, 1]))))
  }
  if (!keeps_variables(x$mould)) {
    return("see importance(by = \"column\")")
  }
  if (has_own_scales(x) || bark_selects(prior$type)) {
    pools <- if (fields) unname(field_pools(x)) else list(parts$pool)
    value <- leading_inputs(x, pools, parts$scales)
    what <- if (leading_by(x) == "share") "share of change: " else "P(effect): "
  } else {
    scales <- scales_by(x, parts, "variable")$scales
    names <- names(variable_columns(x$mould, beside = FALSE))
    value <- sort(stats::setNames(colMeans(scales), names), decreasing = TRUE)
    what <- if (has_directions(x)) "share: " else "mean lambda: "
  }
  value <- utils::head(value, most)
  as_many_as_fit(paste(names(value), vapply(value, show, "")), what)
}

# Summary ----------------------------------------------------------------------

#' Summary, coefficients, noise and log likelihood of a bark fit
#'
#' `summary(fit)` has the parameters and the predictors.
#' @param object A fit of [bark()].
#' @param level Probability of the intervals.
#' @param draw Number of the draw, counted chain by chain as in
#'   [as_draws()][as_draws.kb_bark], which has the scales of the same draw.
#' @param ... Not used: unknown arguments are errors.
#' @return
#' * `summary()`: a list of class `summary.kb_bark`: `fit`, `parameters` (as
#'   [tidy()][tidy.kb_bark]), `importance` (of the predictors, see [importance()]),
#'   `centres` (the rows most often used; `NULL` if centres are not rows),
#'   `intercept` (the probability that the intercept is among the kernels),
#'   `diagnostics`.
#' * `coef()` without `draw`, for fits with terms beside kernels: the coefficients of
#'   linear terms (see [fixef.kb_bark()]); if there are groups a list with a data
#'   frame per factor, each row the coefficients of a group, linear ones included.
#' * `coef(draw = )`: coefficients of kernels, whose averages over draws define no
#'   function: a named vector (with several unordered classes a list of them) in
#'   units of the response, or of f: `(Intercept)` and, for each training row that is
#'   a centre in this draw, its number (more than once where several kernels have
#'   this centre); kernels whose centre is not a row are `kernel 1`, `kernel 2` and
#'   so on. f is the intercept plus the sum of coefficients times kernel.
#' * `sigma()`: posterior mean of the noise standard deviation in units of the
#'   response, for a row of weight 1; of Student-t noise its scale; where it varies,
#'   the root of the mean variance over the rows; 1 in classification, `NA` for
#'   counts.
#' * `logLik()`: the log likelihood given the posterior means of f and of the noise,
#'   of classes and counts given the predictive probabilities; `df` is the posterior
#'   mean number of coefficients and scales, plus one for the noise of a gaussian
#'   model or the size of a negative binomial one, plus the number of free cut
#'   points.
#' @section Errors: `kb_error_not_defined` by `coef()` without `draw` and without terms
#'   beside kernels.
#' @examples
#' data <- sim_sinc(40, seed = 1)
#' settings <- mcmc_control(chains = 2, warmup = 100, iter = 90)
#' fit <- bark(y ~ x, data, control = settings, seed = 1)
#' summary(fit)
#' sigma(fit) # the data have 0.1
#' coef(fit, draw = 50)
#' @export
summary.kb_bark <- function(object, level = 0.9, ...) {
  object <- checked_fit(object, ...)
  level <- check_number(level, 0, 1, open = TRUE)
  structure(
    list(
      fit = object, level = level,
      parameters = generics::tidy(object, conf.level = level),
      importance = if (has_kernels(object)) importance(object, level = level),
      centres = if (has_kernels(object) && !has_own_centres(object)) {
        relevant_centres(object)
      },
      intercept = bark_location_probability(object)[[1]],
      diagnostics = diagnostics(object)
    ),
    class = "summary.kb_bark"
  )
}

#' @export
print.summary.kb_bark <- function(x, digits = 3, ...) {
  check_no_dots(...)
  print_posterior(x, digits)
  if (has_kernels(x$fit)) {
    cat("\n", prior_settings_lines(x$fit, digits), "\n", sep = "")
    print(x$importance, digits = digits)
    cat("\nP(intercept among the kernels): ",
      format(x$intercept, digits = digits), "\n",
      sep = ""
    )
  }
  if (!is.null(x$centres)) {
    cat("\nMost frequent centres\n")
    print(x$centres, digits = digits, row.names = FALSE)
  }
  cat("\n")
  print(x$diagnostics, digits = digits)
  invisible(x)
}

# Methods of stats -------------------------------------------------------------

#' @rdname summary.kb_bark
#' @export
sigma.kb_bark <- function(object, ...) {
  object <- checked_fit(object, ...)
  if (has_classes(object)) {
    return(1)
  }
  if (!has_noise(object)) NA_real_ else mean(chain_matrices(object)$sigma)
}

#' @rdname summary.kb_bark
#' @export
coef.kb_bark <- function(object, draw, ...) {
  object <- checked_fit(object, ...)
  if (missing(draw)) {
    if (has_mixed(object)) {
      return(coefficient_tables(object, bark_pool(object)))
    }
    refuse_mean_coefficients()
  }
  pool <- bark_pool(object)
  draw_coefficients(object, pool, check_count(draw, 1, length(pool$m)))
}

refuse_mean_coefficients <- function() {
  kb_abort(c(
    "{.fn coef} of a bark fit needs the argument {.arg draw}.",
    x = "The scales of the kernels differ between draws, so mean coefficients
         are not defined.",
    i = "{.fn importance} and {.fn predict} give means over all draws."
  ), "not_defined")
}

draw_coefficients <- function(object, pool, draw) {
  slots <- sum(pool$m[seq_len(draw - 1)]) + seq_len(pool$m[[draw]])
  location <- pool$location[slots]
  beta <- pool$beta[slots]
  rows <- order(location)[sort(location) > 0]
  names <- location[rows]
  if (has_own_centres(object)) {
    rows <- which(location != 0)
    names <- paste("kernel", seq_along(rows))
  }
  scaling <- object$settings$scaling
  c(
    "(Intercept)" = unscale_mean(scaling, sum(beta[location == 0])),
    stats::setNames(unscale_sd(scaling, beta[rows]), names)
  )
}

#' @rdname summary.kb_bark
#' @export
logLik.kb_bark <- function(object, ...) {
  object <- checked_fit(object, ...)
  refuse_where(object, "logLik", "prior_only")
  pool <- bark_pool(object)
  density <- if (!is_gaussian(object)) {
    stats::predict(object, type = "log_score")
  } else {
    # At means, of 1 / df too.
    log_noise_density(
      stats::residuals(object),
      if (has_varying_noise(object)) {
        stats::predict(object, type = "sigma")
      } else {
        stats::sigma(object) / sqrt(row_weights(object))
      },
      1 / mean(1 / noise_df(object, pool))
    )
  }
  structure(sum_copies(object, density),
    df = mean(pool$m) + mean(bark_n_scales(object, pool)) + mixed_df(object) +
      varying_df(object, pool) +
      has_noise(object) + length(family_of(object)$parameters) +
      max(length(cut_names(object)) - 1, 0),
    nobs = stats::nobs(object), class = "logLik"
  )
}

# The number of scales, and of coordinates, that are free in each draw
bark_n_scales <- function(fit, pool) {
  if (!has_kernels(fit)) {
    return(0)
  }
  if (has_own_scales(fit)) {
    return(own_numbers(fit, pool))
  }
  included <- bark_n_included(fit, pool)
  equal <- grepl("equal", fit$settings$prior$type)
  d <- if (equal) pmin(included, 1) else included
  if (has_directions(fit)) d <- d + included * (ncol(fit$data$x) - 1)
  if (has_own_centres(fit)) d + own_numbers(fit, pool) else d
}

# Accessors --------------------------------------------------------------------

location_pool <- function(fit) {
  if (!is_multinomial(fit)) {
    return(bark_pool(fit))
  }
  fields_locations(field_pools(fit))
}

# Posterior probability that each location holds a kernel: the intercept, then
# the rows (0 if no kernel is at a row)
bark_location_probability <- function(fit, pool = location_pool(fit)) {
  location <- pool$location
  if (has_own_scales(fit) || has_own_centres(fit)) {
    # Several may be at one location.
    draw <- rep(seq_along(pool$m), pool$m)
    location <- location[!duplicated(cbind(draw, location))]
  }
  tabulate(location + 1, nrow(fit$data$x) + 1) / length(pool$m)
}

#' @export
inclusion.kb_bark <- function(object, ...) {
  object <- checked_fit(object, ...)
  refuse_where(object, "inclusion", "own_centres")
  probability <- bark_location_probability(object)[-1]
  data.frame(row = seq_along(probability), probability = probability)
}

#' @export
ancestry.kb_bark <- function(object, ...) {
  object <- checked_fit(object)
  kb_abort("{.fn ancestry} is not defined for chains: they have no genealogy.",
    "not_defined"
  )
}

#' @export
model_size.kb_bark <- function(object, ...) {
  object <- checked_fit(object, ...)
  copies <- chain_matrices(object)$J
  centres <- distinct_centres(object)
  k <- seq(min(centres), max(copies))
  share <- function(v) tabulate(v - k[[1]] + 1, length(k)) / length(v)
  data.frame(k = k, probability = share(copies), centres = share(centres))
}

# The number of different centres of each draw, of all fields
distinct_centres <- function(fit) {
  pools <- if (is_multinomial(fit)) field_pools(fit) else list(bark_pool(fit))
  Reduce(`+`, lapply(pools, `[[`, "m"))
}
