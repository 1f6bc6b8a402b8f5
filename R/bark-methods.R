# Methods of bark fits, apart from predict() and plot().

#' @export
print.kb_bark <- function(x, digits = 3, ...) {
  x <- migrate_fit(x)
  cat(
    "Bayesian additive regression kernels", if (has_classes(x)) ", probit",
    if (is_ordered(x)) " of ordered classes",
    if (x$settings$prior_only) ", PRIOR ONLY", "\n",
    sep = ""
  )
  if (all(draws_in(x) == 0)) {
    cat(incomplete_line(x))
    return(invisible(x))
  }
  show <- function(v) format(v, digits = digits)
  cat(
    describe_bark(x, show),
    describe_posterior(x, show),
    "  chains:       ", length(x$runs), ", ",
    counted(x$control$iter, "iteration"), " after ", x$control$warmup, "\n",
    mixing_line(x, show),
    "  time:         ", format(round(timings(x)$sampler, 3)), " s\n",
    incomplete_line(x),
    sep = ""
  )
  invisible(x)
}

#' The lines of print() on data and prior
#' @noRd
describe_bark <- function(x, show) {
  prior <- x$settings$prior
  w <- x$data$weights
  paste0(
    if (!is.null(x$mould$formula)) {
      paste0("  formula:      ", one_line(x$mould$formula), "\n")
    },
    "  rows:         ", x$time, if (!is.null(w)) " weighted", ", ",
    counted(ncol(x$data$x), "predictor"),
    if (x$settings$scale) ", standardised", "\n",
    "  prior:        ", prior$type, ", alpha ", show(prior$alpha), ", gamma ",
    show(prior$gamma), ", eps ", show(prior$eps),
    if (is_truncated(x)) ", truncation", ":\n                ",
    show(prior$nu), " kernels expected, squared discrepancy ",
    show(prior$discrepancy), "\n",
    student_line(prior, "  noise:        ", "\n")
  )
}

#' The lines of print() on what was learned
#' @noRd
describe_posterior <- function(x, show) {
  range <- function(v) {
    ends <- stats::quantile(v, c(0.05, 0.95), names = FALSE)
    paste0("(", show(ends[[1]]), " to ", show(ends[[2]]), ")")
  }
  chains <- chain_matrices(x)
  counts <- table(x$data$y)
  paste0(
    "  kernels:      ", show(mean(chains$J)), " on average ", range(chains$J),
    if (!has_own_centres(x) && !has_own_scales(x)) {
      paste0(", at ", show(mean(bark_pool(x)$m)), " centres")
    }, "\n",
    centres_line(x, show),
    if (has_classes(x)) {
      paste0("  classes:      ", paste0(
        names(counts), " (", as.vector(counts), ")",
        collapse = ", "
      ), "\n", if (is_ordered(x)) cuts_line(x, show))
    } else {
      paste0(
        "  noise ", if (is.finite(noise_df(x))) "scale:  " else "sd:     ",
        show(mean(chains$sigma)), " ", range(chains$sigma),
        "\n"
      )
    },
    if (ncol(x$data$x) > 1) {
      paste0("  inputs:       ", inputs_line(x, show), "\n")
    }
  )
}

#' Where kernels are, if not simply at rows
#' @noRd
centres_line <- function(x, show) {
  prior <- x$settings$prior
  plain <- is.null(prior$centre_weights) && !has_own_centres(x)
  n <- nrow(x$data$x)
  if (plain && !has_own_scales(x)) {
    return(NULL)
  }
  paste0(
    "  centres:      ", if (has_own_centres(x)) {
      paste0("near rows, sd ", show(prior$centre_sd))
    } else {
      "rows"
    }, ", P(intercept) ", show(bark_location_probability(x)[[1]]), ", prior ",
    show(intercept_expected(prior, n)), "\n",
    if (has_own_scales(x)) "                each with scales of its own\n"
  )
}

#' The predictors that matter most, with their scale and inclusion
#' @noRd
inputs_line <- function(x, show, most = 4) {
  table <- importance(x)
  table <- table[order(-table$inclusion, -table$mean), ]
  table <- table[seq_len(min(most, nrow(table))), ]
  selects <- bark_selects(x$settings$prior$type)
  # Equal scales without selection tell no predictor from another.
  if (!selects && x$settings$prior$type == "equal") {
    return(paste("equal scales of", show(table$mean[[1]])))
  }
  value <- if (selects) table$inclusion else table$mean
  line <- paste0(
    if (!selects) {
      "mean lambda: "
    } else if (has_own_scales(x)) {
      "share of kernels: "
    } else {
      "P(included): "
    },
    paste(table$variable, vapply(value, show, ""), collapse = ", ")
  )
  shorten(line)
}

# Summary ----------------------------------------------------------------------

#' Summary of Bayesian additive regression kernels
#'
#' @param object A fit of [bark()].
#' @param level Probability of the intervals.
#' @param ... Not used: unknown arguments are errors.
#' @return A list of class `summary.kb_bark`: `fit`, `parameters` (as
#'   [tidy()][tidy.kb_bark]), `importance` (of the predictors, see
#'   [importance()]), `centres` (the rows most often used; `NULL` where centres
#'   are no rows), `intercept` (the
#'   probability that the intercept is among the kernels), `diagnostics`.
#' @export
summary.kb_bark <- function(object, level = 0.9, ...) {
  check_no_dots(...)
  object <- migrate_fit(object)
  level <- check_number(level, 0, 1, open = TRUE)
  structure(
    list(
      fit = object, level = level,
      parameters = generics::tidy(object, level = level),
      importance = importance(object, level = level),
      centres = if (!has_own_centres(object)) frequent_centres(object),
      intercept = bark_location_probability(object)[[1]],
      diagnostics = diagnostics(object)
    ),
    class = "summary.kb_bark"
  )
}

#' @export
print.summary.kb_bark <- function(x, digits = 3, ...) {
  print(x$fit, digits = digits)
  cat("\nPosterior (", 100 * x$level, "% intervals)\n", sep = "")
  print(x$parameters, digits = digits, row.names = FALSE)
  cat("\n")
  print(x$importance, digits = digits)
  if (!is.null(x$centres)) {
    cat("\nMost frequent centres (the intercept: ",
      format(x$intercept, digits = digits), ")\n",
      sep = ""
    )
    print(x$centres, digits = digits, row.names = FALSE)
  }
  cat("\n")
  print(x$diagnostics, digits = digits)
  invisible(x)
}

# Methods of stats -------------------------------------------------------------

#' Posterior mean of the noise standard deviation
#'
#' @param object A fit of [bark()].
#' @param ... Not used.
#' @return A number in units of the response: that of a row of weight 1. Of
#'   Student's noise it is the scale. In a model of classes the latent response
#'   has standard deviation 1.
#' @export
sigma.kb_bark <- function(object, ...) {
  check_no_dots(...)
  object <- migrate_fit(object)
  if (has_classes(object)) 1 else mean(chain_matrices(object)$sigma)
}

#' Coefficients of a draw
#'
#' The scales of the kernels differ from draw to draw, so that coefficients
#' averaged over draws belong to no function. Those of a single draw do.
#'
#' @param object A fit of [bark()].
#' @param draw Number of the draw, counted chain by chain as in
#'   [as_draws()][as_draws.kb_bark], which has the scales of the same draw.
#' @param ... Not used: unknown arguments are errors.
#' @return Named vector (with several unordered classes a list of them, one a
#'   field) in units of the response (of f in models of classes):
#'   `(Intercept)` and, for each training row that is a centre in this draw,
#'   its number. f is the intercept plus the sum of coefficients times kernel.
#'   Kernels whose centre is no row are named `kernel 1`, `kernel 2` and so on.
#' @section Errors: Without `draw`, `kb_error_not_defined`.
#' @examples
#' data <- sim_friedman(40, p = 5, seed = 1)[c("y", paste0("x", 1:5))]
#' fit <- bark(y ~ ., data,
#'   control = mcmc_control(chains = 1, warmup = 100, iter = 50), seed = 1
#' )
#' coef(fit, draw = 50)
#' @export
coef.kb_bark <- function(object, draw, ...) {
  check_no_dots(...)
  object <- migrate_fit(object)
  if (missing(draw)) refuse_mean_coefficients()
  pool <- bark_pool(object)
  draw_coefficients(object, pool, check_count(draw, 1, length(pool$m)))
}

#' @noRd
refuse_mean_coefficients <- function(call = rlang::caller_env()) {
  kb_abort(c(
    "{.fn coef} is not defined for the mean of a bark fit.",
    x = "The scales of the kernels differ from draw to draw.",
    i = "{.arg draw} chooses one; {.fn importance} and {.fn predict} average
         what has a mean."
  ), "not_defined", call = call)
}

#' @noRd
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

#' Log likelihood at the posterior mean
#'
#' Of the training responses given the posterior mean of f and of the noise
#' standard deviation (of Student's noise its scale); in models of classes
#' given the posterior predictive probabilities. That of each draw is `log_lik`
#' in [as_draws()][as_draws.kb_bark].
#'
#' @param object A fit of [bark()].
#' @param ... Not used: unknown arguments are errors.
#' @return An object of class `logLik`; `df` is the posterior mean number of
#'   coefficients and scales, plus one for the noise of a gaussian model, plus
#'   the number of free cut points.
#' @export
logLik.kb_bark <- function(object, ...) {
  check_no_dots(...)
  object <- migrate_fit(object)
  density <- if (has_classes(object)) {
    stats::predict(object, type = "log_score")
  } else {
    log_noise_density(
      stats::residuals(object),
      stats::sigma(object) / sqrt(bark_weights(object)), noise_df(object)
    )
  }
  pool <- bark_pool(object)
  structure(sum(density),
    df = mean(pool$m) + mean(bark_n_scales(object, pool)) +
      !has_classes(object) + max(length(cut_names(object)) - 1, 0),
    nobs = object$time, class = "logLik"
  )
}

#' The number of scales that are free in each draw
#' @noRd
bark_n_scales <- function(fit, pool) {
  if (has_own_scales(fit)) {
    return(own_numbers(fit, pool))
  }
  d <- bark_n_included(fit, pool)
  if (grepl("equal", fit$settings$prior$type)) d <- pmin(d, 1)
  if (has_own_centres(fit)) d + own_numbers(fit, pool) else d
}

#' Residuals of srvm and bark fits
#'
#' @param object A fit of [srvm()] or [bark()].
#' @param ... Not used: unknown arguments are errors.
#' @return A vector, one number a training row: the response less the
#'   posterior mean of f; in probit models 0 or 1 (the second level) less the
#'   probability of the second level; of more classes 1 less the probability of
#'   the row's class. `fitted()` is
#'   [`predict(object)`][predict.kb_bark]: means of f, or classes.
#' @export
residuals.kb_bark <- function(object, ...) {
  check_no_dots(...)
  object <- migrate_fit(object)
  y <- training_response(object)
  if (is_ordered(object)) {
    return(class_residuals(y, stats::predict(object, type = "prob")))
  }
  if (is_probit(object)) y <- as.integer(y) - 1
  unname(y - stats::predict(object, type = "response"))
}

#' @rdname residuals.kb_bark
#' @export
residuals.kb_srvm <- residuals.kb_bark

#' Draws of 0 and 1, or of the numbers of ordered classes, as classes; other
#' numbers as they are
#' @noRd
as_classes <- function(fit, draws) {
  if (is_ordered(fit)) draws[] <- lapply(draws, ordered_class, fit)
  if (is_probit(fit)) {
    levels <- fit$mould$levels
    draws[] <- lapply(draws, function(v) factor(levels[v + 1], levels))
  }
  draws
}

#' @export
simulate.kb_bark <- function(object, nsim = 1, seed = NULL, ...) {
  check_no_dots(...)
  object <- migrate_fit(object)
  nsim <- check_count(nsim, 1)
  pool <- bark_pool(object)
  rows <- prediction_rows(object, NULL, NULL, TRUE, FALSE)
  y <- with_local_seed(seed, {
    chosen <- sample.int(length(pool$m), nsim, TRUE)
    response_draws(object, rows, pool, chosen)
  })
  out <- as_classes(object, as.data.frame(t(y)))
  names(out) <- paste0("sim_", seq_len(nsim))
  attr(out, "seed") <- seed
  out
}

# Accessors --------------------------------------------------------------------

#' Posterior probability that each location holds a kernel: the intercept,
#' then the rows (0 where kernels are at none)
#' @noRd
bark_location_probability <- function(fit, pool = bark_pool(fit)) {
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
  check_no_dots(...)
  object <- migrate_fit(object)
  refuse_own_centres(object, "inclusion")
  probability <- bark_location_probability(object)[-1]
  data.frame(row = seq_along(probability), probability = probability)
}

#' @export
ancestry.kb_bark <- function(object, ...) {
  object <- migrate_fit(object)
  kb_abort("{.fn ancestry} is not defined for chains: they have no genealogy.",
    "not_defined"
  )
}

#' @export
kernels.kb_bark <- function(object, ...) {
  check_no_dots(...)
  object <- migrate_fit(object)
  copies <- chain_matrices(object)$J
  centres <- bark_pool(object)$m
  k <- seq(min(centres), max(copies))
  share <- function(v) tabulate(v - k[[1]] + 1, length(k)) / length(v)
  data.frame(k = k, probability = share(copies), centres = share(centres))
}
