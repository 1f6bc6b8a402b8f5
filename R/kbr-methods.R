# Methods of fits of kbr(), apart from predict(), plot() and update().

#' @export
print.kb_kbr <- function(x, digits = 3, ...) {
  x <- checked_fit(x, ...)
  show <- function(v) format(v, digits = digits)
  settings <- x$settings
  cat(
    "Kernel Bayes' rule",
    switch(settings$method,
      iw = ", importance-weighted", adjusted = ", regression-adjusted"
    ), "\n",
    formula_line(x),
    "  pairs:        ", x$time, ", ",
    counted(ncol(x$data$states), "state column"),
    ", ", counted(ncol(x$data$observations), "observation column"),
    if (settings$scale) ", standardised", omitted_part(x), "\n",
    summaries_line(x),
    "  states:       ", feature_line(x$features$states, show), "\n",
    "  observations: ", feature_line(x$features$observations, show), "\n",
    "  prior:        ", prior_line(x$prior), "\n",
    bounds_line(x),
    rule_lines(x, show),
    time_line(x),
    sep = ""
  )
  invisible(x)
}

# How the fit was regularised or adjusted
rule_lines <- function(fit, show) UseMethod("rule_lines")

#' @export
rule_lines.kb_kbr <- function(fit, show) {
  settings <- fit$settings
  paste0(
    "  eps, delta:   ", show(settings$eps), ", ", show(settings$delta), "\n"
  )
}

feature_line <- function(features, show) {
  kernel <- if (is.null(features$kernel)) {
    "kernel matrix"
  } else {
    shorten(format(features$kernel))
  }
  left <- unexplained(features)
  paste0(
    kernel, ", rank ", ncol(features$factor),
    if (left > 1e-10) paste0(", ", show(100 * left), "% unexplained")
  )
}

prior_line <- function(prior) {
  if (is.null(prior)) {
    return("that of the pairs")
  }
  counted(length(prior$weights), "weighted point")
}

bounds_line <- function(fit) {
  bounds <- support_of(fit)
  finite <- which(colSums(is.finite(bounds)) > 0)
  if (length(finite) == 0) {
    return(NULL)
  }
  names <- colnames(bounds)
  if (is.null(names)) names <- rep("the state", ncol(bounds))
  words <- vapply(finite, function(j) {
    ends <- vapply(bounds[, j], format, "")
    paste(names[[j]], if (all(is.finite(bounds[, j]))) {
      paste("between", ends[[1]], "and", ends[[2]])
    } else if (is.finite(bounds[1, j])) {
      paste("above", ends[[1]])
    } else {
      paste("below", ends[[2]])
    })
  }, "")
  paste0(
    "  bounded:      ", shorten(toString(words)),
    if (isTRUE(fit$settings$found)) ", found in the draws", "\n"
  )
}

# Summary ----------------------------------------------------------------------

#' Summary of kernel Bayes' rule
#'
#' @param object A fit of [kbr()].
#' @param ... Not used: unknown arguments are errors.
#' @return A list of class `summary.kb_kbr`: `fit`, `states` (a data frame with
#'   one line per column of states: `prior_mean` and `prior_sd`, `NA` where only
#'   kernel values of the prior are known, `rmse` of the posterior means at the
#'   fit's own observations and `posterior_sd`, the root of their mean variance)
#'   and `diagnostics`, see [diagnostics()][diagnostics.kb_kbr].
#' @examples
#' pairs <- kbr_simulate(
#'   function(n) rnorm(n), function(x) x + 0.7 * rnorm(length(x)),
#'   n = 300, seed = 1
#' )
#' fit <- kbr(pairs)
#' summary(fit)
#' @export
summary.kb_kbr <- function(object, ...) {
  object <- checked_fit(object, ...)
  accuracy <- state_accuracy(object)
  prior <- prior_moments(object)
  structure(
    list(
      fit = object,
      states = data.frame(
        state = colnames(object$data$states), prior_mean = prior$mean,
        prior_sd = prior$sd, rmse = accuracy$rmse,
        posterior_sd = sqrt(pmax(accuracy$variance, 0)),
        row.names = NULL
      ),
      diagnostics = diagnostics(object)
    ),
    class = "summary.kb_kbr"
  )
}

#' How far posterior means are from the states of the fit
#' @return List of `rmse` and `variance` (mean of posterior variances), one per
#'   column of the states.
#' @noRd
state_accuracy <- function(fit) UseMethod("state_accuracy")

#' @export
state_accuracy.kb_kbr <- function(fit) {
  seen <- observe_rows(fit, seq_len(fit$time))
  residual <- fit$data$states - kbr_mean(fit, seen)
  list(
    rmse = sqrt(colMeans(residual^2, na.rm = TRUE)),
    variance = colMeans(kbr_variance(fit, seen), na.rm = TRUE)
  )
}

# Means and standard deviations of the prior
prior_moments <- function(fit) {
  prior <- prior_sample(fit)
  if (is.null(prior)) {
    return(list(mean = NA_real_, sd = NA_real_))
  }
  list(
    mean = colSums(prior$weights * prior$points),
    sd = apply(prior$points, 2, weighted_sd, prior$weights)
  )
}

#' @export
print.summary.kb_kbr <- function(x, digits = 3, ...) {
  check_no_dots(...)
  print(x$fit, digits = digits)
  cat("\nStates, at the observations of the fit\n")
  print(x$states, digits = digits, row.names = FALSE)
  cat("\n")
  print(x$diagnostics)
  invisible(x)
}

# Methods of stats -------------------------------------------------------------

#' @export
fitted.kb_kbr <- function(object, ...) {
  object <- checked_fit(object, ...)
  fitted <- kbr_mean(object, observe_rows(object, seq_len(object$time)))
  name_rows(fitted, object$mould$row_names)
}

#' @export
residuals.kb_kbr <- function(object, ...) {
  object <- checked_fit(object, ...)
  name_rows(object$data$states - stats::fitted(object), object$mould$row_names)
}

#' @export
coef.kb_kbr <- function(object, ...) kbr_has_no("coef")

#' @export
sigma.kb_kbr <- function(object, ...) kbr_has_no("sigma")

#' @export
logLik.kb_kbr <- function(object, ...) kbr_has_no("logLik")

kbr_has_no <- function(what) {
  kb_abort(c(
    "{.fn {what}} is not defined for fits of {.fn kbr}.",
    i = "Such a fit has weights instead of parameters: see
         {.code predict(type = \"weights\")}."
  ), "not_defined")
}

#' Draws of the posterior at observations
#'
#' `simulate()` samples from 1000 draws (or `nsim`, if that is larger),
#' `as_draws()` gives the draws themselves: see
#' [`predict(type = "draws")`][predict.kb_kbr].
#'
#' @param object,x A fit of [kbr()].
#' @param nsim,ndraws Number of draws at each observation.
#' @param seed A whole number, or `NULL` to draw from R's generator.
#' @param newdata Observations, see [predict.kb_kbr()]; `NULL`: those of the
#'   fit.
#' @param ... Not used: unknown arguments are errors.
#' @return `simulate()`: an array, draws x states x observations. `as_draws()`:
#'   a [posterior::draws_matrix], with variables named after the states for one
#'   observation, and `state[i]` for several.
#' @examples
#' x <- rnorm(300)
#' fit <- kbr(x, x + 0.5 * rnorm(300))
#' as_draws(fit, newdata = 1)
#' @export
simulate.kb_kbr <- function(object, nsim = 1, seed = NULL, newdata = NULL,
                            ...) {
  object <- checked_fit(object, ...)
  nsim <- check_size(nsim, 1, each = 2 * ncol(object$data$states))
  draws <- stats::predict(object, newdata,
    type = "draws", ndraws = max(1000, nsim)
  )
  with_local_seed(seed, {
    for (i in seq_len(dim(draws)[[3]])) {
      draws[, , i] <- draws[sample.int(dim(draws)[[1]]), , i]
    }
  })
  draws[seq_len(nsim), , , drop = FALSE]
}

#' @rdname simulate.kb_kbr
#' @export
as_draws.kb_kbr <- function(x, newdata = NULL, ndraws = 200, ...) {
  x <- checked_fit(x, ...)
  draws <- stats::predict(x, newdata, type = "draws", ndraws = ndraws)
  size <- dim(draws)
  names <- rep(colnames(x$data$states), size[[3]])
  if (size[[3]] > 1) {
    names <- paste0(names, "[", rep(seq_len(size[[3]]), each = size[[2]]), "]")
  }
  posterior::as_draws_matrix(matrix(draws, size[[1]],
    dimnames = list(NULL, names)
  ))
}

#' @export
timings.kb_kbr <- function(object, ...) {
  object <- checked_fit(object, ...)
  list(total = object$seconds)
}

# generics ---------------------------------------------------------------------

#' Posteriors as data frames
#'
#' @param x A fit of [kbr()].
#' @param newdata Observations, see [predict.kb_kbr()]; `NULL`: those of the
#'   fit.
#' @param data As `newdata`.
#' @param conf.int,conf.level For `tidy()`: add intervals? Their probability.
#' @param level Probability of the intervals of `augment()`. Limits are quantiles.
#' @param ... Not used: unknown arguments are errors.
#' @return Data frames. `tidy()`: one line per observation and state, with
#'   `row`, `term`, `estimate` (posterior mean), `std.error` (posterior sd),
#'   `conf.low` and `conf.high`. `glance()`: one line with `nobs`, `rank_x`,
#'   `rank_y`, `effective_rank`, `eps`, `delta`, `seconds`. `augment()`: the
#'   observations with `.fitted_<state>`, `.lower_<state>` and `.upper_<state>`.
#' @examples
#' x <- rnorm(300)
#' fit <- kbr(x, x + 0.5 * rnorm(300))
#' tidy(fit, newdata = c(-1, 1))
#' glance(fit)
#' augment(fit, newdata = c(-1, 1))
#' @name tidy.kb_kbr
NULL

#' @rdname tidy.kb_kbr
#' @export
tidy.kb_kbr <- function(x, newdata = NULL, conf.int = TRUE, conf.level = 0.9,
                        ...) {
  x <- checked_fit(x, ...)
  bands <- state_bands(x, newdata, conf.level)
  n <- nrow(bands$mean)
  tidy_limits(data.frame(
    row = rep(seq_len(n), ncol(bands$mean)),
    term = rep(colnames(bands$mean), each = n),
    estimate = as.vector(bands$mean), std.error = as.vector(bands$sd),
    conf.low = as.vector(bands$lower), conf.high = as.vector(bands$upper)
  ), conf.int)
}

state_bands <- function(fit, newdata, level) UseMethod("state_bands")

#' @export
state_bands.kb_kbr <- function(fit, newdata, level) {
  level <- check_number(level, 0, 1, open = TRUE)
  check_type_defined(fit, "quantile")
  # Found once for quantiles and sd: it takes most of the time.
  p <- stats::predict(fit, newdata, type = "probability")
  ends <- probability_quantiles(fit, p, interval_ends(level))
  side <- function(k) matrix(ends[, , k], dim(ends)[[1]])
  list(
    mean = drop_row_names(stats::predict(fit, newdata)),
    sd = probability_sd(fit, p),
    lower = side(1), upper = side(2)
  )
}

#' @rdname tidy.kb_kbr
#' @export
glance.kb_kbr <- function(x, ...) {
  x <- checked_fit(x, ...)
  data.frame(
    nobs = x$time, rank_x = ncol(x$features$states$factor),
    rank_y = ncol(x$features$observations$factor),
    effective_rank = effective_rank(x),
    eps = x$settings$eps, delta = x$settings$delta, seconds = x$seconds
  )
}

#' @rdname tidy.kb_kbr
#' @export
augment.kb_kbr <- function(x, data = NULL, newdata = NULL, level = 0.9, ...) {
  x <- checked_fit(x, ...)
  new <- augment_rows(data, newdata)
  bands <- state_bands(x, new, level)
  out <- if (is.null(new)) {
    as.data.frame(x$data$observations)
  } else {
    augment_table(x, observation_rows(x, new))
  }
  for (j in seq_len(ncol(bands$mean))) {
    state <- colnames(bands$mean)[[j]]
    out[[paste0(".fitted_", state)]] <- bands$mean[, j]
    out[[paste0(".lower_", state)]] <- bands$lower[, j]
    out[[paste0(".upper_", state)]] <- bands$upper[, j]
  }
  out
}
