#' Predictions of a sequential relevance vector machine
#'
#' @param object A fit of [srvm()].
#' @param newdata New predictors in the shape that the fit was given: a data
#'   frame for formula fits (columns in any order), a matrix, data frame or
#'   vector otherwise. Missing: the training rows, in the order given. Rows
#'   with missing values give `NA`.
#' @param type What to return, see Value.
#' @param interval Adds to `"response"` the limits of an equal-tailed interval:
#'   `"credible"` for f, `"prediction"` for a new response. For `"quantile"`,
#'   whose quantiles are returned (then `"prediction"` unless given).
#' @param level Probability inside the interval.
#' @param probs Probabilities of `"quantile"`.
#' @param newy For `"log_score"`: the responses. Formula fits find them in
#'   `newdata`.
#' @param ndraws For `"draws"`: the number of draws S; by default that of the
#'   particles.
#' @param ... Not used: unknown arguments are errors.
#'
#' @return In units of the response, with n the rows of `newdata`:
#' * `"response"`: the posterior mean of f, a vector of length n; with an
#'   interval a matrix n x 3 with columns `fit`, `lwr`, `upr`.
#' * `"quantile"`: a matrix n x `length(probs)`.
#' * `"draws"`: a matrix S x n of draws of f from the posterior. New responses
#'   are drawn by `rstantools::posterior_predict()`.
#' * `"log_score"`: log posterior predictive densities of the responses, a
#'   vector of length n.
#'
#' Means, quantiles and densities integrate over the coefficients exactly
#' given each particle; only sets and variances are Monte Carlo.
#'
#' @section Errors:
#' `kb_error_columns` if `newdata` lacks columns, `kb_error_infinite`,
#' `kb_error_argument` (also for arguments that the chosen `type` would
#' ignore); novel factor levels are a warning
#' (`kb_warning_novel_level`) and give `NA`.
#'
#' @examples
#' data <- sim_sinc(50, seed = 1)
#' fit <- srvm(y ~ x, data,
#'   kernel = kernel_gaussian(0.2), control = smc_control(particles = 100),
#'   seed = 1
#' )
#' new <- data.frame(x = c(-3, 0, 3), y = c(0, 1, 0))
#' predict(fit, new)
#' predict(fit, new, interval = "prediction", level = 0.9)
#' predict(fit, new, type = "quantile", probs = c(0.1, 0.5, 0.9))
#' dim(predict(fit, new, type = "draws"))
#' predict(fit, new, type = "log_score")
#' @export
predict.kb_srvm <- function(object, newdata,
                            type = c(
                              "response", "quantile", "draws", "log_score"
                            ),
                            interval = c("none", "credible", "prediction"),
                            level = 0.9, probs = c(0.05, 0.5, 0.95),
                            newy = NULL, ndraws = NULL, ...) {
  check_no_dots(...)
  object <- migrate_fit(object)
  type <- check_choice(
    type, c("response", "quantile", "draws", "log_score")
  )
  interval <- check_choice(interval, c("none", "credible", "prediction"))
  refuse_ignored(type, interval, c(
    interval = interval != "none", level = !missing(level),
    probs = !missing(probs), newy = !is.null(newy), ndraws = !is.null(ndraws)
  ))
  level <- check_number(level, 0, 1, open = TRUE)
  rows <- prediction_rows(
    object, newdata, newy, missing(newdata), type == "log_score"
  )
  x <- rows$x[rows$complete, , drop = FALSE]
  pool <- srvm_pool(object)
  out <- switch(type,
    response = srvm_response(object, x, interval, level, pool),
    quantile = srvm_quantiles(
      object, x, check_probs(probs),
      if (interval == "none") "prediction" else interval, pool
    ),
    draws = t(srvm_draws(
      object, x, pool,
      equal_weight_particles(object, pool, check_ndraws(ndraws))
    )),
    log_score = srvm_log_score(object, x, rows$y[rows$complete], pool)
  )
  if (type == "quantile") colnames(out) <- paste0(100 * probs, "%")
  out <- spread_rows(out, rows$complete)
  if (type == "draws") t(out) else out
}

#' No argument is silently ignored
#' @param given Named: which arguments the caller gave.
#' @noRd
refuse_ignored <- function(type, interval, given, call = rlang::caller_env()) {
  used <- list(
    response = c("interval", if (interval != "none") "level"),
    quantile = c("interval", "probs"), draws = "ndraws", log_score = "newy"
  )[[type]]
  ignored <- setdiff(names(given)[given], used)
  if (length(ignored) > 0) {
    setting <- paste0('type = "', type, '"')
    if (type == "response") {
      setting <- paste0(setting, ', interval = "', interval, '"')
    }
    kb_abort(c(
      "{.arg {ignored}} would have no effect with {.code {setting}}.",
      i = "{.code ?predict.kb_srvm} says what belongs to which {.arg type}."
    ), "argument", argument = ignored, call = call)
  }
}

#' @noRd
srvm_response <- function(fit, x, interval, level, pool) {
  mean <- srvm_mean(fit, x, pool)
  if (interval == "none") {
    return(mean)
  }
  tail <- (1 - level) / 2
  limits <- srvm_quantiles(fit, x, c(tail, 1 - tail), interval, pool)
  cbind(fit = mean, lwr = limits[, 1], upr = limits[, 2])
}

#' The rows to predict: moulded new data or the training rows
#' @return List of `x`, `complete` and `y` (where it is wanted).
#' @noRd
prediction_rows <- function(object, newdata, newy, training, outcome,
                            call = rlang::caller_env()) {
  if (training) {
    if (!is.null(newy)) {
      kb_abort(c(
        "{.arg newy} goes with {.arg newdata}, which is missing.",
        i = "Without both, the training rows are used."
      ), "argument", argument = "newy", call = call)
    }
    rows <- training_rows(object)
    return(list(
      x = object$data$x[rows, , drop = FALSE],
      complete = rep(TRUE, length(rows)), y = object$data$y[rows]
    ))
  }
  if (!outcome) {
    return(mould_forge(object$mould, newdata, call = call))
  }
  if (!is.null(newy)) {
    return(mould_forge_xy(object$mould, newdata, newy, call = call))
  }
  if (object$mould$interface == "xy") {
    kb_abort(c(
      "{.arg newy} must be given: the responses of {.arg newdata}.",
      i = "The model was fitted to x and y, not to a formula."
    ), "argument", argument = "newy", call = call)
  }
  mould_forge(object$mould, newdata, outcome = TRUE, call = call)
}

#' Put the results of complete rows in their places, NA elsewhere
#' @noRd
spread_rows <- function(out, complete) {
  if (all(complete)) {
    return(out)
  }
  if (is.matrix(out)) {
    full <- matrix(NA_real_, length(complete), ncol(out))
    full[complete, ] <- out
    colnames(full) <- colnames(out)
    return(full)
  }
  full <- rep(NA_real_, length(complete))
  full[complete] <- out
  full
}

#' @noRd
check_probs <- function(probs, call = rlang::caller_env()) {
  inside <- is.numeric(probs) && length(probs) > 0 && !anyNA(probs) &&
    all(probs > 0 & probs < 1)
  if (!inside) {
    bad_argument(
      probs, "probs", "numbers strictly between 0 and 1", call
    )
  }
  as.double(probs)
}

#' @noRd
check_ndraws <- function(ndraws, call = rlang::caller_env()) {
  if (is.null(ndraws)) NULL else check_count(ndraws, 1, call = call)
}
