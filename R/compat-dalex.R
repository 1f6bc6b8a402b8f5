# DALEX: methods that its explainers need, registered when it is loaded.

#' Explainers of DALEX
#'
#' Methods for [DALEX](https://modeloriented.github.io/DALEX/):
#' `DALEX::explain()` needs a fit, the predictors and the response, but no
#' prediction function. Its break-down plots, Shapley values, permutation
#' importance and profiles refer to the posterior mean, or the predictive
#' probabilities of classes; [importance()] and [partial_dependence()] also give
#' their uncertainty.
#'
#' Give each explainer its `label`, such as `"bark"`, to tell them apart in
#' plots: by default DALEX takes the last class of a model, which is `"kb_fit"`
#' for all fits.
#'
#' @param X.model,model A fit of [srvm()], [bark()] or [kgs()].
#' @param newdata A data frame of predictors, or a matrix.
#' @param is_multiclass Not used: taken from the fit.
#' @param ... Passed on to [predict()][predict.kb_srvm].
#' @return `yhat()`: for a numeric response means, in its units; for two classes
#'   the probability of the second, so that `y` is 0 and 1 in
#'   `DALEX::explain()`, or of the class given as
#'   `predict_function_target_column`; for more classes, also ordered ones, a
#'   matrix of probabilities with a column for each. `model_info()`: a list of
#'   class `model_info`: `package`, `ver` and `type`, `"regression"`,
#'   `"classification"` or `"multiclass"`.
#' @section Errors: Those of `predict()`.
#' @examplesIf requireNamespace("DALEX", quietly = TRUE)
#' fit <- srvm(dist ~ speed, cars, seed = 1)
#' explainer <- DALEX::explain(fit, cars["speed"], cars$dist,
#'   label = "srvm", verbose = FALSE
#' )
#' DALEX::model_performance(explainer)
#' DALEX::predict_parts(explainer, cars[20, ])
#' @name dalex_methods
NULL

#' @rdname dalex_methods
#' @exportS3Method DALEX::yhat
yhat.kb_fit <- function(X.model, newdata, ...) { # nolint: object_name_linter.
  fit <- checked_fit(X.model)
  if (is.null(fit$mould$levels)) {
    return(stats::predict(fit, newdata, ...))
  }
  p <- stats::predict(fit, newdata, type = "prob", ...)
  # explain() stores its arguments here.
  column <- attr(X.model, "predict_function_target_column")
  if (is.null(column) && ncol(p) == 2) column <- 2
  if (is.null(column)) p else p[, column]
}

#' @rdname dalex_methods
#' @exportS3Method DALEX::model_info
model_info.kb_fit <- function(model, is_multiclass = FALSE, ...) {
  fit <- checked_fit(model)
  type <- switch(min(length(fit$mould$levels), 3) + 1,
    "regression", "regression", "classification", "multiclass"
  )
  structure(
    list(
      package = "kernelbayes",
      ver = as.character(utils::packageVersion("kernelbayes")), type = type
    ),
    class = "model_info"
  )
}
