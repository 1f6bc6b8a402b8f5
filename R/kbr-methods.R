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

#' @rdname tidy.kb_kbr
#' @param object A fit of [kbr()].
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
#' `tidy(fit, newdata = observed)` has means and intervals of the states.
#' @param x A fit of [kbr()].
#' @param newdata Observations, see [predict.kb_kbr()]; `NULL`: those of the
#'   fit.
#' @param data As `newdata`.
#' @inheritParams tidy.kb_srvm
#' @param ... Not used: unknown arguments are errors.
#' @param level Probability of the intervals of `augment()`. Limits are quantiles.
#' @return Data frames. `tidy()`: one line per observation and state, with `row`,
#'   `term`, `estimate` (posterior mean), `std.error` (posterior sd), `conf.low` and
#'   `conf.high`. `glance()`: one line with `nobs`, `rank_x`, `rank_y`,
#'   `effective_rank`, `eps`, `delta`, `seconds`. `augment()`: the observations with
#'   `.fitted_<state>`, `.lower_<state>` and `.upper_<state>`. `summary()`: a list of
#'   class `summary.kb_kbr`: `fit`, `states` (a data frame with one line per column
#'   of states: `prior_mean`, `prior_sd`, `rmse` of the posterior means at the fit's
#'   own observations and `posterior_sd`) and `diagnostics`, see
#'   [diagnostics()][diagnostics.kb_kbr].
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

# Predictions of kbr(): the posterior of the state at observations.

kbr_types <- c(
  "mean", "map", "sd", "quantile", "weights", "probability", "expectation",
  "draws", "density", "embedding"
)

#' The posterior of the state at observations
#'
#' `predict(fit, newdata)` has posterior means, one row per observation; `type` chooses
#' quantiles, draws and others.
#' @param object A fit of [kbr()].
#' @param newdata Observations, one per row: a matrix, a data frame or a vector (of one
#'   column: several observations). Where `kernel_y` is a matrix: kernel values of
#'   observations (rows) and all n of the sample (columns). `NULL`: those of the fit.
#' @param type What to return, see below.
#' @param f For `"expectation"`: a function of the matrix of states, n x d,
#'   that returns a vector of length n or a matrix of n rows.
#' @param probs For `"quantile"`: probabilities between 0 and 1.
#' @param ndraws For `"draws"`: number of draws, at least 1.
#' @param at For `"density"`: points, M x d.
#' @param bandwidth For `"density"`: standard deviations of the smoothing
#'   kernel, one or d positive numbers in the units of the states. `NULL`:
#'   \eqn{s (4 / ((d + 2) m))^{1 / (d + 4)}}{s (4 / ((d + 2) m))^(1 / (d + 4))},
#'   s the posterior's standard deviation (half of the central 68 percent
#'   interval where that is not defined) and m the effective sample size.
#' @param ... Not used: unknown arguments are errors.
#' @return With N rows of `newdata`, d columns of states and n pairs:
#' * `"mean"`, `"sd"`: N x d. With the rotation kernel the mean is the rotation
#'   nearest to the weighted mean of the matrices. For a fit of
#'   [chunks][kbr_chunks] the variance is that of the signed weights: if it is
#'   negative, `"sd"` is `NA` with a warning of class `kb_warning_weights`.
#' * `"map"`: N x d, the mode of the kernel mean, with the attribute `converged`
#'   (logical, one per row).
#' * `"quantile"`: N x d x probabilities.
#' * `"weights"`: N x n. They sum to one with `normalize = TRUE`, and may be
#'   negative.
#' * `"probability"`: N x n, weights that are not negative and sum to one.
#' * `"expectation"`: N x columns of f: sums of weights times f at the states.
#' * `"draws"`: `ndraws` x d x N; with `"kbr"` and `"iw"` states chosen by
#'   kernel herding (Chen, Welling and Smola, 2010): equally weighted and not
#'   random.
#' * `"density"`: N x M, probabilities times a Gaussian density about each
#'   state.
#' * `"embedding"`: a list of N [kernel means][kernel_mean], whose points are
#'   as `kernel_x` sees them: standardised with `scale = TRUE`.
#'
#' With the method `"adjusted"` all types are those of one distribution:
#' non-negative weights of states that have moved to the observation.
#' `"weights"` and `"probability"` are then the same, embeddings have the moved
#' states as their points, and `"draws"` and `"density"` are of a smooth density
#' through them, within the support of the states; draws are random, with the
#' seed of the fit. `"map"` is the mode of the kernel mean of up to 1000 states.
#' With a dozen bounded states the density may be refused (`kb_error_argument`): give
#' `bandwidth` then.
#'
#' With the other methods means and expectations use the signed weights. A distribution
#' cannot have negative weights: standard deviations, quantiles, densities, draws and
#' plots use the probability on the states whose kernel mean is nearest;
#' [diagnostics()][diagnostics.kb_kbr] has the distance. `normalize = FALSE` applies to
#' `"mean"`, `"weights"`, `"expectation"` and `"embedding"` only.
#'
#' Row names are kept, except in `"draws"`. Rows with missing values give `NA`
#' (`NULL` in lists). An observation that is far from those of the fit gives
#' a warning of class `kb_warning_far`, and the result for the nearest of them. So
#' do those that a narrow kernel does not know, for which nothing takes their
#' place; any other whose weights cancel in their sum gives one of class
#' `kb_warning_weights`. If weights cancel, results are `NA`.
#' @section Far observations:
#' An observation is far if its distance from the nearest of the fit's is larger than
#' those of 1000 observations of the fit from their own nearest: a new observation
#' from the same distribution is so with a probability below 1 in 1000 (Vovk,
#' Gammerman and Shafer, 2005). Distances do not depend on the kernel: columns with a
#' long tail are logarithms, quartiles of each are as far apart as those of a
#' standard normal distribution. With n < 1000 the largest distance is multiplied by
#' \eqn{(1000 / n)^{g}}{(1000 / n)^g}, g the estimate of Hill (1975) from the largest
#' distances, at least 0.3 (after Weissman, 1978), which is only about right
#' (`tools/bench/kbr-checks.R`). Copies of an observation do not count as its
#' neighbours. Fewer than 20 distances say nothing.
#' @references
#' Chen, Y., Welling, M. and Smola, A. (2010). Super-samples from kernel
#' herding. *Proceedings of the 26th Conference on Uncertainty in Artificial
#' Intelligence*, 109-116.
#'
#' Hill, B. M. (1975). A simple general approach to inference about the tail of a
#' distribution. *Annals of Statistics* 3, 1163-1174.
#'
#' Vovk, V., Gammerman, A. and Shafer, G. (2005). *Algorithmic Learning in a Random
#' World*. Springer.
#'
#' Weissman, I. (1978). Estimation of parameters and large quantiles based on the k
#' largest observations. *Journal of the American Statistical Association* 73,
#' 812-815.
#' @examples
#' pairs <- kbr_simulate(
#'   function(n) matrix(rnorm(2 * n), n),
#'   function(x) cbind(x[, 1] + x[, 2], x[, 1] * x[, 2]) + 0.3 * rnorm(nrow(x)),
#'   n = 400, seed = 1
#' )
#' fit <- kbr(pairs)
#' new <- rbind(c(1, 0), c(0, -1))
#' predict(fit, new)
#' predict(fit, new, type = "sd")
#' predict(fit, new, type = "quantile", probs = c(0.05, 0.95))
#' predict(fit, new, type = "expectation", f = function(x) x[, 1] > x[, 2])
#' @export
predict.kb_kbr <- function(object, newdata = NULL,
                           type = c(
                             "mean", "map", "sd", "quantile", "weights",
                             "probability", "expectation", "draws", "density",
                             "embedding"
                           ), f = NULL, probs = NULL, ndraws = NULL,
                           at = NULL, bandwidth = NULL, ...) {
  object <- checked_fit(object, ...)
  type <- check_choice(type, kbr_types)
  check_type_defined(object, type)
  given <- list(
    f = f, probs = probs, ndraws = ndraws, at = at, bandwidth = bandwidth
  )
  refuse_type_arguments(given, type, kbr_type_arguments)
  seen <- kbr_seen(object, newdata)
  warn_far(seen)
  out <- place_rows(kbr_values(object, seen, type, given), seen$complete)
  names <- if (is.null(newdata)) {
    object$mould$row_names
  } else {
    given_row_names(newdata)
  }
  name_predictions(out, type, names)
}

#' Values of a type at complete observations
#' @param given Arguments of types.
#' @noRd
kbr_values <- function(fit, seen, type, given) UseMethod("kbr_values")

#' @export
kbr_values.kb_kbr <- function(fit, seen, type, given) {
  values <- switch(type,
    mean = kbr_mean(fit, seen),
    map = kbr_map(fit, seen),
    sd = kbr_sd(fit, seen),
    quantile = probability_quantiles(
      fit, probability_weights(fit, seen), check_kbr_probs(given$probs)
    ),
    weights = kbr_weights(fit, seen),
    probability = probability_weights(fit, seen),
    expectation = kbr_expectation(fit, seen, given$f),
    draws = kbr_draws(fit, seen, given$ndraws),
    density = kbr_density(fit, seen, given$at, given$bandwidth),
    embedding = kbr_embeddings(fit, seen)
  )
  raw <- !fit$settings$normalize && type %in% kbr_raw_types
  if (!raw) warn_cancelled(fit, seen)
  values
}

check_type_defined <- function(fit, type) {
  kept <- c("mean", "sd", "expectation", "map", "draws")
  if (inherits(fit, "kb_kbr_chunked") && !type %in% kept) {
    kb_abort(c(
      "{.code type = \"{type}\"} is not defined for a fit of chunks.",
      x = "It needs the weights of all states, which were not kept.",
      i = "Defined are {.val {kept}}."
    ), "not_defined")
  }
}

# Types that leave the weights as they are with `normalize = FALSE`.
kbr_raw_types <- c("mean", "weights", "expectation", "embedding")

kbr_type_arguments <- list(
  f = "expectation", probs = "quantile", ndraws = "draws", at = "density",
  bandwidth = "density"
)

# Arguments that a type does not have are errors, not ignored
refuse_type_arguments <- function(given, type, types) {
  for (name in names(given)) {
    if (!is.null(given[[name]]) && !type %in% types[[name]]) {
      kb_abort(c(
        "{.arg {name}} is for {.code type = \"{types[[name]]}\"}.",
        x = "The type is {.val {type}}."
      ), "argument", argument = name)
    }
  }
}
