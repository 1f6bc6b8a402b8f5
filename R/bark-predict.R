#' Predictions of Bayesian additive regression kernels
#'
#' `predict(fit, newdata, interval = "prediction")` has the posterior mean and an
#' interval for new responses; of classes `predict(fit, newdata)` has the most
#' probable one and `type = "prob"` the probabilities.
#' @param object A fit of [bark()].
#' @inheritParams predict.kb_srvm
#' @param type What to return, see Value; `NULL`: `"response"`, for classes `"class"`.
#' @param interval Adds the limits of an equal-tailed interval: `"credible"` for
#'   f or for the probability of a class, `"prediction"` for a new response that is a
#'   number. With `"quantile"`: return quantiles of f or of a new response (by
#'   default `"prediction"`)?
#' @param ndraws For `"draws"`: the number of draws S, evenly spaced; by default
#'   all kept draws.
#' @param weights For predictions of new numeric responses and of their standard
#'   deviations: the weights of the rows of `newdata`, as in [bark()]. `NULL`: 1,
#'   or the weights of the fit for the training rows.
#' @param linear,groups,offset For fits to `x` and `y` with these arguments of
#'   [bark()]: those of the rows of `newdata`.
#' @param re_formula `NULL`: with the coefficients of groups. Groups that the fit
#'   does not have (a message, `kb_message_new_groups`) get coefficients from
#'   their distribution, and missing ones give `NA`
#'   (`kb_message_missing_groups`): integrated out in
#'   means, intervals and log scores, drawn in draws and in intervals of
#'   `"terms"` (the same for all rows of a group). `NA`: without groups.
#' @param times For `"survival"`: finite numbers, in the units of the response.
#' @return With n the rows of `newdata`, S draws and C classes; a vector of length n,
#'   or with an interval a matrix n x 3 with columns `fit`, `lwr`, `upr`; a matrix n
#'   x K, or with an interval an array n x K x 3:
#' * `"response"`: the posterior mean of f, in units of the response. For two classes
#'   the probability of the second level; of successes that of a success; other
#'   classes have no mean. Of counts the posterior median of the expected count, with
#'   limits for this or for a new count (its mean need not exist, since the prior of
#'   f has heavy tails: for a total add the draws of
#'   `rstantools::posterior_epred()`). Of times the predictive median, with limits
#'   for the median given each draw or for a new time.
#' * `"quantile"`: a matrix n x `length(probs)`.
#' * `"class"`: a factor, the most probable class (the first of equal ones).
#' * `"prob"`: posterior predictive probabilities, n x C with the levels as names.
#' * `"link"`: the posterior mean of f, of ordered classes on the scale of the cut
#'   points, of counts and times the logarithm; of several unordered classes the
#'   fields, n x C.
#' * `"sigma"`, for fits with `sigma`: the posterior mean of the standard deviation of a
#'   new response, given `weights`.
#' * `"survival"`, for responses that may be censored: probabilities that a new response
#'   is above each of `times`, n x `length(times)`.
#' * `"terms"`, for fits with terms beside kernels: posterior means of the components
#'   of the predictor, n x K with columns for the kernels (for each of several
#'   `kernels()`), each linear term and each factor of groups. Kernels are relative
#'   to their mean over the rows of the fit, linear terms to the means of their
#'   columns; the attribute `constant` is what remains of the mean of f (without an
#'   offset). Not for several unordered classes.
#' * `"draws"`: draws of f, chain by chain, S x n, or S x n x C. New responses are
#'   drawn by `rstantools::posterior_predict()`.
#' * `"log_score"`: log posterior predictive densities of the responses, or
#'   probabilities of classes, counts and intervals.
#'
#'   Where coefficients are integrated out, as for numbers and classes with a probit
#'   link without terms beside kernels, so they are in means, quantiles and
#'   densities; otherwise all is computed from draws of f. Probabilities are
#'   predictive, and so differ from the probability at the mean of f. If the
#'   posterior is very skewed, or all rows nearby are censored on one side, a mean
#'   can lie outside its interval.
#' @examples
#' data <- sim_friedman(60, p = 5, seed = 1)
#' settings <- mcmc_control(chains = 2, warmup = 100, iter = 90)
#' fit <- bark(y ~ ., data, control = settings, seed = 1)
#' new <- data[1:3, ]
#' predict(fit, new)
#' predict(fit, new, interval = "prediction", level = 0.9)
#' predict(fit, new, type = "quantile", probs = c(0.1, 0.5, 0.9))
#' dim(predict(fit, new, type = "draws"))
#' predict(fit, new, type = "log_score")
#' @order 1
#' @export
predict.kb_bark <- function(object, newdata, type = NULL,
                            interval = c("none", "credible", "prediction"),
                            level = 0.9, probs = c(0.05, 0.5, 0.95),
                            newy = NULL, ndraws = NULL, weights = NULL,
                            linear = NULL, groups = NULL, offset = NULL,
                            re_formula = NULL, times = NULL, ...) {
  object <- checked_fit(object, ...)
  at <- list(
    type = type, interval = interval, level = level, probs = probs,
    ndraws = ndraws, weights = weights, times = times
  )
  given <- c(
    level = !missing(level), probs = !missing(probs), newy = !is.null(newy),
    ndraws = !is.null(ndraws), weights = !is.null(weights), times = !is.null(times)
  )
  training <- missing(newdata)
  predict_asked(object, at, given, training, "predict.kb_bark", function(scored) {
    bark_rows(
      object, newdata, newy, training, scored, weights, linear, groups, offset,
      re_formula
    )
  })
}

# The same as `prediction_rows()`, with the terms beside kernels
bark_rows <- function(fit, newdata, newy, training, scored, weights, linear,
                      groups, offset, re_formula) {
  mixed <- check_new_mixed(fit, linear, groups, offset)
  rows <- prediction_rows(
    without_groups(fit, re_formula), newdata, newy, training, scored, weights,
    mixed
  )
  rows$x <- with_groups(fit, rows$x, re_formula)
  rows
}

# The mixture ------------------------------------------------------------------

# The draws of all chains, one after the other
bark_pool <- function(fit) {
  pool_draws(lapply(fit_runs(fit), `[[`, "draws"))
}

pool_draws <- function(draws) {
  glue <- function(name) {
    parts <- lapply(draws, `[[`, name)
    if (is.list(parts[[1]])) {
      pool_draws(parts)
    } else {
      unlist(parts, use.names = FALSE)
    }
  }
  names <- names(draws[[1]])
  pool <- stats::setNames(lapply(names, glue), names)
  n <- length(pool$m)
  pool$weights <- rep(1 / n, n)
  pool
}

#' At the rows of x, for each chosen draw, in the units of the model
#' @param x Rows as `wide_x()` has them.
#' @param what `"mean"` of f given everything except the coefficients,
#'   `"moments"` (its variance too) or `"draw"` (f with the coefficients drawn).
#' @noRd
bark_values <- function(fit, x, pool, what, chosen = seq_along(pool$m)) {
  if (!has_mixed(fit)) {
    return(kernel_values(fit, x, pool, what, chosen))
  }
  # Coefficients of kernels and of other terms depend on each other: draws.
  kernels <- kernel_values(fit, kernel_part(fit, x), pool, "draw", chosen)
  others <- mixed_values(
    fit, mixed_part(fit, x), pool, chosen, what == "draw"
  )
  list(mean = kernels$mean + others$mean, variance = others$variance)
}

kernel_values <- function(fit, x, pool, what, chosen) {
  scaling <- fit$settings$scaling
  bark_values_cpp(
    pool, scaling_x(scaling, x), scaling_x(scaling, fit$data$x), what, chosen
  )
}

bark_moments <- function(fit, x, pool, drawn = FALSE) {
  bark_values(fit, x, pool, if (drawn) "draw" else "moments")
}

#' @export
posterior_pool.kb_bark <- function(fit) bark_pool(fit)

#' @export
posterior_moments.kb_bark <- function(fit, x, pool) {
  out <- bark_moments(fit, x, pool)
  if (has_varying_noise(fit)) out$noise <- exp(log_variance(fit, x, pool))
  out
}

#' @export
posterior_mean.kb_bark <- function(fit, x, pool) {
  blocks <- lapply(row_blocks(x, length(pool$m)), function(rows) {
    rowMeans(bark_values(fit, x[rows, , drop = FALSE], pool, "mean")$mean)
  })
  unscale_mean(fit$settings$scaling, as.double(unlist(blocks)))
}

#' @export
posterior_draws.kb_bark <- function(fit, x, pool,
                                    chosen = equal_weight_draws(fit, pool)) {
  check_draws_memory(length(chosen), nrow(x))
  f <- t(bark_values(fit, x, pool, "draw", chosen)$mean)
  unscale_mean(fit$settings$scaling, f)
}

#' @export
noise_variance.kb_bark <- function(fit, pool) 1 / pool$noise

#' @export
noise_df.kb_bark <- function(fit, pool) {
  df <- fit$settings$prior$df
  if (is.null(df)) Inf else if (length(df) > 1) pool$df else df
}

# A fit of bark() without its data: what predictions need.

# `keep_data = FALSE`; a fit that was stopped keeps the data, to be continued
without_data <- function(fit) {
  if (fit$status != "complete") {
    kb_inform(c(
      "The fit keeps its data, because it was stopped.",
      i = "{.fn update} continues it."
    ), "data_kept")
    return(fit)
  }
  structure(
    list(fit = with_centres_only(fit), n = nrow(fit$data$x)),
    class = "kb_predictor"
  )
}

# Only the rows that are centres of kernels, and no states of the chains. Nothing
# that needs all rows may be given this fit.
with_centres_only <- function(fit) {
  locations <- unlist(lapply(fit$runs, function(run) {
    lapply(kernel_draws(run), `[[`, "location")
  }))
  # At least one, because nothing else expects a fit without rows.
  rows <- sort(unique(c(1L, locations[locations > 0])))
  fit$runs <- lapply(fit$runs, renumber_centres, rows)
  fit$data <- lapply(fit$data, function(part) {
    if (is.null(part)) NULL else pick_rows(part, rows)
  })
  fit$mould[c("row_names", "variables", "omitted")] <- list(
    NULL, NULL, integer()
  )
  fit$settings$prior$centre_weights <- NULL
  fit$request[c("linear", "groups")] <- list(NULL)
  fit$request$prior["centres"] <- list(NULL)
  fit$sequence <- seq_along(rows)
  fit$time <- length(rows)
  sealed(fit)
}

# The draws of the kernels, and of those of the log variance, or of each class
kernel_draws <- function(run) {
  draws <- run$draws
  if (!is.null(draws$fields)) {
    return(draws$fields)
  }
  c(list(draws), if (!is.null(draws$varying)) list(draws$varying))
}

renumber_centres <- function(run, rows) {
  moved <- lapply(kernel_draws(run), function(draws) {
    at_row <- draws$location > 0
    draws$location[at_row] <- match(draws$location[at_row], rows)
    draws
  })
  if (is.null(run$draws$fields)) {
    run$draws <- moved[[1]]
    if (length(moved) > 1) run$draws$varying <- moved[[2]]
  } else {
    run$draws$fields <- moved
  }
  run[setdiff(names(run), c("levels", "rng"))]
}

#' @export
print.kb_predictor <- function(x, ...) {
  n <- length(posterior_pool(x$fit)$weights)
  cat(
    "<kb_predictor> of a fit of bark()\n",
    "  rows of the fit: ", format(x$n, big.mark = ","), ", not kept\n",
    "  draws:           ", n, " of ", length(x$fit$runs), " chains\n",
    "  predict(object, newdata) has the predictions.\n",
    sep = ""
  )
  invisible(x)
}

#' @rdname predict.kb_bark
#' @export
predict.kb_predictor <- function(object, newdata, type = NULL, ...) {
  if (missing(newdata)) {
    refuse_without_data("predict() without newdata", "argument", "newdata")
  }
  if (identical(type, "terms")) refuse_without_data("type = \"terms\"")
  stats::predict(object$fit, newdata, type = type, ...)
}

refuse_without_data <- function(what, class = "not_defined", argument = NULL) {
  kb_abort(c(
    "{.code {what}} needs the data, which the fit has not kept.",
    i = "{.code keep_data = TRUE} of {.fn bark} keeps them."
  ), class, argument = argument)
}

#' @export
coef.kb_predictor <- function(object, ...) refuse_without_data("coef()")
#' @export
fitted.kb_predictor <- function(object, ...) refuse_without_data("fitted()")
#' @export
residuals.kb_predictor <- function(object, ...) {
  refuse_without_data("residuals()")
}
#' @export
update.kb_predictor <- function(object, ...) refuse_without_data("update()")

# Predictions of bark fits of several classes, from the normal mixtures of the
# fields over draws.

#' @rdname predict.kb_bark
#' @export
predict.kb_bark_multinomial <- function(object, newdata, type = NULL,
                                        interval = c(
                                          "none", "credible", "prediction"
                                        ), level = 0.9, probs = NULL,
                                        newy = NULL, ndraws = NULL,
                                        weights = NULL, ...) {
  object <- checked_fit(object, ...)
  at <- list(
    type = type, interval = interval, level = level, ndraws = ndraws
  )
  given <- c(
    level = !missing(level), probs = !is.null(probs), newy = !is.null(newy),
    ndraws = !is.null(ndraws), weights = !is.null(weights)
  )
  training <- missing(newdata)
  predict_asked(object, at, given, training, "predict.kb_bark", function(scored) {
    prediction_rows(object, newdata, newy, training, scored)
  })
}

# Fields ----------------------------------------------------------------------

# What `bark_values()` gives, of all fields: a list of `mean` and `variance`,
# lists of matrices points x draws
fields_values <- function(fit, x, pool, what,
                          chosen = seq_along(pool$weights)) {
  values <- lapply(pool$fields, function(field) {
    bark_values(fit, x, field, what, chosen)
  })
  list(
    mean = lapply(values, `[[`, "mean"),
    variance = lapply(values, `[[`, "variance")
  )
}

# Call f(rows, values) on blocks of rows that fit in memory
in_field_blocks <- function(fit, x, pool, what, f,
                            chosen = seq_along(pool$weights)) {
  columns <- 2 * length(pool$fields) * length(chosen)
  lapply(row_blocks(x, columns), function(rows) {
    f(rows, fields_values(fit, x[rows, , drop = FALSE], pool, what, chosen))
  })
}

# Blocks of rows as one matrix with one column per class
bind_classes <- function(fit, blocks) {
  levels <- fit$mould$levels
  out <- do.call(rbind, c(list(matrix(0, 0, length(levels))), blocks))
  colnames(out) <- levels
  out
}

# Posterior predictive probabilities of the classes, n x C
fields_probability <- function(fit, x, pool, chosen = seq_along(pool$weights)) {
  classes <- family_of(fit)$classes
  blocks <- in_field_blocks(fit, x, pool, classes$what, function(rows, at) {
    classes$mean(at$mean, at$variance)
  }, chosen)
  bind_classes(fit, blocks)
}

#' Probabilities of classes with a logit link
#' @param f The fields: a list of matrices points x draws.
#' @return Array points x draws x C.
#' @noRd
softmax <- function(f, log = FALSE) {
  most <- do.call(pmax, unname(f))
  size <- lapply(f, function(v) exp(v - most))
  total <- Reduce(`+`, size)
  p <- if (log) {
    lapply(f, function(v) v - most - log(total))
  } else {
    lapply(size, `/`, total)
  }
  array(unlist(p, use.names = FALSE), c(dim(most), length(f)))
}

# Posterior means of the fields, n x C
fields_link <- function(fit, x, pool) {
  bind_classes(fit, in_field_blocks(fit, x, pool, "mean", function(rows, at) {
    matrix(vapply(at$mean, rowMeans, numeric(length(rows))), length(rows))
  }))
}

# Log predictive probabilities of the classes of this number
fields_log_score <- function(fit, x, y, pool) {
  classes <- family_of(fit)$classes
  blocks <- in_field_blocks(fit, x, pool, classes$what, function(rows, at) {
    log_p <- classes$log(at$mean, at$variance, y[rows])
    most <- apply(log_p, 1, max)
    most + log(rowMeans(exp(log_p - most)))
  })
  as.double(unlist(blocks))
}

# Draws of the fields, S x n x C; NA where rows are not complete
fields_draws <- function(fit, rows, pool, chosen) {
  x <- rows$x[rows$complete, , drop = FALSE]
  check_draws_memory(length(chosen), nrow(x), length(pool$fields))
  f <- fields_values(fit, x, pool, "draw", chosen)$mean
  f <- lapply(f, function(v) t(spread_rows(v, rows$complete)))
  array(unlist(f, use.names = FALSE),
    c(length(chosen), nrow(rows$x), length(f)),
    dimnames = list(NULL, NULL, names(f))
  )
}

# Probabilities of the classes given draws of the fields, S x n x C
fields_class_draws <- function(fit, rows, pool, chosen) {
  x <- rows$x[rows$complete, , drop = FALSE]
  check_draws_memory(length(chosen), nrow(x), length(pool$fields))
  f <- fields_values(fit, x, pool, "draw", chosen)$mean
  p <- family_of(fit)$classes$given(f)
  aperm(spread_rows(p, rows$complete), c(2, 1, 3))
}

# Intervals -------------------------------------------------------------------

# Quantiles over draws of the probability given the fields, n x C x 2
fields_probability_limits <- function(fit, x, pool, level) {
  ends <- interval_ends(level)
  blocks <- in_field_blocks(fit, x, pool, "draw", function(rows, at) {
    p <- family_of(fit)$classes$given(at$mean)
    q <- apply(p, c(1, 3), stats::quantile, ends, names = FALSE)
    t(matrix(aperm(q, c(3, 1, 2)), ncol = length(rows)))
  })
  out <- do.call(rbind, c(list(matrix(0, 0, 2 * length(pool$fields))), blocks))
  array(out, c(nrow(x), length(pool$fields), 2))
}

# Exact quantiles of the mixtures of normals that the fields are, n x C x 2;
# over draws where these have the coefficients
fields_link_limits <- function(fit, x, pool, level) {
  ends <- interval_ends(level)
  quantiles <- function(mean, variance) {
    if (what == "draw") {
      return(t(apply(mean, 1, stats::quantile, ends, names = FALSE)))
    }
    mixture_quantiles_cpp(mean, variance, NULL, pool$weights, Inf, ends)
  }
  what <- family_of(fit)$classes$what
  blocks <- in_field_blocks(fit, x, pool, what, function(rows, at) {
    q <- Map(quantiles, at$mean, at$variance)
    # Columns: the lower ends of all classes, then the upper ones.
    do.call(cbind, c(
      lapply(q, function(v) v[, 1]), lapply(q, function(v) v[, 2])
    ))
  })
  out <- do.call(rbind, c(list(matrix(0, 0, 2 * length(pool$fields))), blocks))
  array(out, c(nrow(x), length(pool$fields), 2))
}

# Values n x C, and their limits n x C x 2
with_limits <- function(fit, at, values, limits) {
  out <- values(fit, at$x, at$pool)
  if (at$interval == "none") {
    return(out)
  }
  limits <- limits(fit, at$x, at$pool, at$level)
  array(c(out, limits), c(dim(out), 3),
    list(NULL, colnames(out), c("fit", "lwr", "upr"))
  )
}
