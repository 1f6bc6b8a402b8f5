#' Predictions of a sequential relevance vector machine
#'
#' @param object A fit of [srvm()].
#' @param newdata New predictors in the shape that the fit was given: a data
#'   frame for formula fits (columns in any order), a matrix, data frame or
#'   vector otherwise. Missing: the training rows, in the order given. Rows
#'   with missing values give `NA`.
#' @param type What to return, see Value; `NULL`: `"response"`, for two classes
#'   `"class"`.
#' @param interval Adds to `"response"` the limits of an equal-tailed interval:
#'   `"credible"` for f, `"prediction"` for a new response. For `"quantile"`:
#'   return quantiles of f or of a new response (by default `"prediction"`)?
#' @param level Probability inside the interval.
#' @param probs Probabilities of `"quantile"`.
#' @param newy For `"log_score"`: the responses. Formula fits take them from
#'   `newdata`.
#' @param ndraws For `"draws"`: the number of draws S; by default the number of
#'   particles.
#' @param weights For predictions of new numeric responses: the weights of the
#'   rows of `newdata`, as in [srvm()]. `NULL`: 1, or the weights of the fit for
#'   the training rows.
#' @param offset For fits to `x` and `y` with an offset: that of the rows of
#'   `newdata`. Formula fits take it from `newdata`.
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
#' For two classes `"response"` is the probability of the second level (with
#' `interval = "credible"` n x 3), and there are `"class"` (the more probable
#' class, a factor), `"prob"` (n x 2, columns named by the levels; with
#' `interval = "credible"` n x 2 x 3) and `"link"` (f); `"log_score"` are log
#' predictive probabilities of the classes. There are no prediction intervals
#' and no `"quantile"`.
#'
#' The offset is part of f.
#'
#' @section New points:
#' A row may be a centre when it arrives, and so may a new point: its prediction is
#' that of the model with the point as one candidate more, given the same responses.
#' It mixes, for each particle, f without and with a kernel at the point. Without
#' this f would be too certain far from all centres. On the nine UCI sets named in
#' [srvm()], another split of at most 200 rows, the log density of new responses rose
#' by .04 on average (by .17, .10 and .07 in three, and it fell by at most .004), and
#' errors fell by .7%. A new point costs about as much as a move of each particle: a
#' second for 1000 points, 200 rows and 10 predictors. Chains use at most 250 draws for
#' this. A point is new unless it is a row up to rounding: each predictor, as the kernel
#' sees it, within 1e-9 of its range.
#'
#' Draws (`"draws"`, `rstantools::posterior_predict()`), [partial_dependence()] and
#' [prequential()] are of functions with centres among the rows alone, and so are all
#' predictions with two classes, Student-t noise, a bounded memory, a
#' [kernel_dictionary()], improper priors and `proposal = "paper"`.
#'
#' Means, quantiles and densities integrate over the coefficients exactly given
#' each particle; only sets and variances are Monte Carlo. With Student-t noise
#' the density and quantiles of a new response come from quadrature with a
#' relative error below 1e-6.
#'
#' @references
#' Rasmussen, C. E. and Quinonero-Candela, J. (2005). Healing the relevance vector
#' machine through augmentation. Proceedings of the 22nd International Conference on
#' Machine Learning, 689-696.
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
                            type = NULL,
                            interval = c("none", "credible", "prediction"),
                            level = 0.9, probs = c(0.05, 0.5, 0.95),
                            newy = NULL, ndraws = NULL, weights = NULL,
                            offset = NULL, ...) {
  object <- checked_fit(object, ...)
  type <- check_prediction_type(object, type)
  interval <- check_choice(interval, c("none", "credible", "prediction"))
  used <- bark_arguments(object, type, interval)
  refuse_ignored(type, interval, c(
    interval = interval != "none", level = !missing(level),
    probs = !missing(probs), newy = !is.null(newy), ndraws = !is.null(ndraws),
    weights = !is.null(weights)
  ), used, "predict.kb_srvm", object)
  tell_weights(object, used, missing(newdata), weights)
  level <- check_number(level, 0, 1, open = TRUE)
  mixed <- check_new_mixed(object, NULL, NULL, offset)
  rows <- prediction_rows(
    object, newdata, newy, missing(newdata), type == "log_score", weights,
    mixed
  )
  if (is_probit(object)) {
    out <- predict_classes(object, rows, type, interval, level, ndraws)
  } else {
    out <- predict_regression(
      object, rows, type, interval, level, probs, ndraws
    )
  }
  name_predictions(out, type, rows$names)
}
