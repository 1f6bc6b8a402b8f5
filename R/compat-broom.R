# generics: fits as data frames.

#' A fit as data frames
#'
#' @param x A fit of [srvm()].
#' @param data,newdata Data frame to add predictions to; by default the
#'   training rows (`.response` and the predictors as the model sees them
#'   before scaling).
#' @param level Probability of the intervals.
#' @param interval For `augment()`: `"prediction"` (for responses) or
#'   `"credible"` (for f).
#' @param ... Not used: unknown arguments are errors.
#' @return Data frames. `tidy()`: one line each for `sigma`, `tau` and `k`, with
#'   `estimate` (posterior mean), `std.error` (posterior sd), `conf.low` and
#'   `conf.high`. `glance()`: one line with `nobs`, `log_evidence`, `mc_se`,
#'   `k`, `sigma`, `ess_fraction`, `seconds` (batch fits: `nobs`, `k`, `sigma`,
#'   `rhat`, `ess_bulk`, `draws`, `seconds`). `augment()`: the data with
#'   `.fitted`, `.lower`, `.upper` and, where the response is known, `.resid`
#'   (the training rows, and data of a formula fit that hold the response).
#' @examples
#' data <- sim_sinc(30, seed = 1)
#' fit <- srvm(y ~ x, data,
#'   kernel = kernel_gaussian(0.2), control = smc_control(particles = 100),
#'   seed = 1
#' )
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
  defined <- !is_no_evidence(z)
  k <- kernels(x)
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
                            interval = c("prediction", "credible"), ...) {
  check_no_dots(...)
  interval <- check_choice(interval, c("prediction", "credible"))
  level <- check_number(level, 0, 1, open = TRUE)
  if (!is.null(data) && !is.null(newdata)) {
    kb_abort("Give {.arg data} or {.arg newdata}, not both.", "argument",
      argument = "newdata"
    )
  }
  new <- if (is.null(newdata)) data else newdata
  if (is.null(new)) {
    out <- as.data.frame(training_x(x))
    out$.response <- y <- training_response(x)
    bands <- stats::predict(x, interval = interval, level = level)
  } else {
    bands <- stats::predict(x, new, interval = interval, level = level)
    out <- augment_table(x, new)
    y <- augment_response(x, new)
  }
  out$.fitted <- bands[, "fit"]
  out$.lower <- bands[, "lwr"]
  out$.upper <- bands[, "upr"]
  if (!is.null(y)) out$.resid <- y - out$.fitted
  out
}

#' The data as a data frame; a table without names gets those of the fit
#' @noRd
augment_table <- function(x, new) {
  out <- as.data.frame(new)
  if (is.null(colnames(new))) names(out) <- names(x$mould$columns)
  out
}

#' The response that a formula finds in the data, or NULL
#' @noRd
augment_response <- function(x, new) {
  wanted <- x$mould$outcome_columns
  if (is.null(wanted) || !all(wanted %in% colnames(new))) {
    return(NULL)
  }
  suppressWarnings(
    mould_forge(x$mould, new, outcome = TRUE)$y,
    classes = "kb_warning_novel_level"
  )
}
