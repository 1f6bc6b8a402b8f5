# generics: fits as data frames.

#' A fit as data frames
#'
#' @param x A fit of [srvm()].
#' @param data,newdata Data frame to add predictions to; by default the
#'   training rows (predictors as the model sees them before scaling).
#' @param level Probability of the intervals.
#' @param interval For `augment()`: `"prediction"` (for responses) or
#'   `"credible"` (for f).
#' @param ... Not used: unknown arguments are errors.
#' @return Data frames. `tidy()`: one line each for `sigma`, `tau` and `k`, with
#'   `estimate` (posterior mean), `std.error` (posterior sd), `conf.low` and
#'   `conf.high`. `glance()`: one line with `nobs`, `log_evidence`, `mc_se`,
#'   `k`, `sigma`, `ess_fraction`, `seconds`. `augment()`: the data with
#'   `.fitted`, `.lower`, `.upper` and, for training rows, `.resid`.
#' @examples
#' data <- sim_sinc(30, seed = 1)
#' fit <- srvm(y ~ x, data, control = smc_control(particles = 100), seed = 1)
#' tidy(fit)
#' glance(fit)
#' head(augment(fit, newdata = data))
#' @name tidy.kb_srvm
NULL

#' @rdname tidy.kb_srvm
#' @export
tidy.kb_srvm <- function(x, level = 0.9, ...) {
  check_no_dots(...)
  level <- check_number(level, 0, 1, open = TRUE)
  pool <- srvm_pool(x)
  draws <- srvm_parameters(x, pool)[c("sigma", "tau", "k")]
  tail <- (1 - level) / 2
  mean <- colSums(pool$weights * draws)
  centred <- sweep(as.matrix(draws), 2, mean)
  data.frame(
    term = names(draws), estimate = unname(mean),
    std.error = unname(sqrt(colSums(pool$weights * centred^2))),
    conf.low = vapply(draws, weighted_quantile, 0, pool$weights, tail),
    conf.high = vapply(draws, weighted_quantile, 0, pool$weights, 1 - tail),
    row.names = NULL
  )
}

#' The smallest value below which the weights reach p
#' @noRd
weighted_quantile <- function(v, weights, p) {
  order <- order(v)
  as.double(v[order][which(cumsum(weights[order]) >= p - 1e-12)[[1]]])
}

#' @rdname tidy.kb_srvm
#' @export
glance.kb_srvm <- function(x, ...) {
  check_no_dots(...)
  z <- evidence(x)
  k <- kernels(x)
  data.frame(
    nobs = x$time, log_evidence = z$log_evidence, mc_se = z$mc_se,
    k = sum(k$k * k$probability), sigma = stats::sigma(x),
    ess_fraction = diagnostics(x)$ess_final, seconds = x$seconds
  )
}

#' @rdname tidy.kb_srvm
#' @export
augment.kb_srvm <- function(x, data = NULL, newdata = NULL, level = 0.9,
                            interval = c("prediction", "credible"), ...) {
  check_no_dots(...)
  interval <- check_choice(interval, c("prediction", "credible"))
  new <- if (is.null(newdata)) data else newdata
  if (is.null(new)) {
    out <- as.data.frame(training_x(x))
    out$.response <- training_response(x)
    bands <- stats::predict(x, interval = interval, level = level)
    out$.resid <- out$.response - bands[, "fit"]
  } else {
    out <- as.data.frame(new)
    bands <- stats::predict(x, new, interval = interval, level = level)
  }
  out$.fitted <- bands[, "fit"]
  out$.lower <- bands[, "lwr"]
  out$.upper <- bands[, "upr"]
  out
}
