# marginaleffects: draws of predictions, registered when it is loaded.

#' Predictions, comparisons and slopes of marginaleffects
#'
#' Methods with which `predictions()`, `comparisons()`, `slopes()`, their
#' `avg_*()` and `plot_*()` forms and `get_draws()` of
#' [marginaleffects](https://marginaleffects.com/) work with fits. They use the
#' draws of the fit: estimates are posterior medians, intervals are
#' equal-tailed, and there are no p values. [partial_dependence()] and
#' [exposure_effects()] need no other package.
#'
#' @param model A fit of [srvm()], [bark()] or [kgs()].
#' @param newdata A data frame.
#' @param type `"response"` for `rstantools::posterior_epred()`, of two classes
#'   the probability of the second, of more those of each; `"link"` for
#'   `posterior_linpred()`; `"prediction"` for `posterior_predict()`.
#' @param ndraws,re_formula See [posterior_predict.kb_srvm].
#' @param vcov `NULL`, `TRUE` or `FALSE`: draws need no covariance matrix.
#' @param ... Not used.
#' @return `get_predict()`: a data frame with the columns `rowid`, `group` and
#'   `estimate`, and the draws as the attribute `posterior_draws`, a row per
#'   estimate. `get_vcov()`: `NULL`.
#' @examplesIf requireNamespace("marginaleffects", quietly = TRUE)
#' fit <- srvm(dist ~ speed, cars, seed = 1)
#' # marginaleffects needs R 4.4 and the package collapse for draws.
#' if (getRversion() >= "4.4" && nzchar(system.file(package = "collapse"))) {
#'   print(marginaleffects::avg_comparisons(fit, variables = "speed"))
#'   new <- data.frame(speed = c(10, 20))
#'   print(marginaleffects::slopes(fit, newdata = new))
#' }
#' @name get_predict.kb_fit
NULL

#' @rdname get_predict.kb_fit
#' @exportS3Method marginaleffects::get_predict
get_predict.kb_fit <- function(model, newdata = NULL, type = "response",
                               ndraws = NULL, re_formula = NULL, ...) {
  model <- checked_fit(model)
  need_likelihood(model, "get_predict")
  type <- check_choice(type, c("response", "link", "prediction"))
  ask <- switch(type,
    response = rstantools::posterior_epred,
    link = rstantools::posterior_linpred,
    prediction = rstantools::posterior_predict
  )
  draws <- ask(model,
    newdata = newdata, ndraws = ndraws, re_formula = re_formula
  )
  estimates_of_draws(draws, newdata$rowid)
}

# A row per row of the data and class, as marginaleffects wants it
estimates_of_draws <- function(draws, rowid) {
  classes <- dimnames(draws)[[3]]
  rows <- dim(draws)[[2]]
  if (is.null(rowid)) rowid <- seq_len(rows)
  group <- if (is.null(classes)) "main_marginaleffect" else {
    factor(rep(classes, each = rows), classes)
  }
  draws <- t(matrix(draws, dim(draws)[[1]]))
  out <- data.frame(
    rowid = rowid, group = group, estimate = apply(draws, 1, stats::median)
  )
  attr(out, "posterior_draws") <- draws
  out
}

#' @rdname get_predict.kb_fit
#' @exportS3Method marginaleffects::get_vcov
get_vcov.kb_fit <- function(model, vcov = NULL, ...) {
  checked_fit(model)
  if (!is.null(vcov) && !is.logical(vcov)) {
    kb_abort(c(
      "{.arg vcov} must be left out.",
      i = "Intervals come from the draws of the fit."
    ), "argument", argument = "vcov")
  }
  NULL
}

# marginaleffects refuses classes that it does not know, or that are not named
# in this option.
allow_marginaleffects <- function() {
  known <- getOption("marginaleffects_model_classes")
  options(marginaleffects_model_classes = union(known, "kb_fit"))
}

# insight: the predictors and the data of a fit, which marginaleffects asks for.
# Registered when it is loaded.

#' The predictors and the data of a fit, for insight
#'
#' Methods of [insight](https://easystats.github.io/insight/), on which
#' marginaleffects and others are built. Fits to `x` and `y` have them, too.
#'
#' @param x A fit of [srvm()], [bark()] or [kgs()].
#' @param effects `"fixed"`: without the groups of terms such as `(1 | g)`;
#'   `"random"`: only these; `"all"`.
#' @param flatten A vector rather than a list?
#' @param ... Not used.
#' @return `find_predictors()`: names of columns, in a list with `conditional`
#'   and, of groups, `random`. `get_data()`: the training rows as a data frame.
#' @section Errors: `kb_error_not_defined` by `get_data()` if a formula
#'   transforms variables and the data of the call are gone, or have changed:
#'   the fit keeps only what the formula made of them.
#' @examplesIf requireNamespace("insight", quietly = TRUE)
#' fit <- srvm(dist ~ ., cars, seed = 1)
#' insight::find_predictors(fit)
#' head(insight::get_data(fit))
#' @name find_predictors.kb_fit
NULL

#' @rdname find_predictors.kb_fit
#' @exportS3Method insight::find_predictors
find_predictors.kb_fit <- function(x, effects = "fixed", flatten = FALSE, ...) {
  mould <- checked_fit(x)$mould
  keys <- unlist(lapply(mould$mixed$groups, `[[`, "keys"))
  groups <- unique(unlist(lapply(keys, all.vars)))
  all <- unique(c(names(mould$columns), mould$mixed$names))
  out <- list(
    conditional = if (effects != "random") setdiff(all, groups),
    random = if (effects != "fixed") groups
  )
  out <- Filter(length, out)
  if (flatten) unlist(out, use.names = FALSE) else out
}

#' @rdname find_predictors.kb_fit
#' @exportS3Method insight::get_data
get_data.kb_fit <- function(x, ...) {
  fit <- checked_fit(x)
  own <- training_frame(fit)
  if (gives_training_rows(own, fit)) {
    return(own)
  }
  # From where the formula was written
  found <- NextMethod()
  if (gives_training_rows(found, fit)) {
    return(found)
  }
  kb_abort(c(
    "The training data of the fit cannot be restored.",
    x = "Its formula transforms variables, and the data of its call are gone or
         have changed.",
    i = "Give the data as {.arg newdata}."
  ), "not_defined")
}

gives_training_rows <- function(data, fit) {
  ask <- function(data, training) {
    unname(prediction_rows(fit, data, NULL, training, FALSE)$x)
  }
  made <- tryCatch(ask(data, FALSE), error = function(cnd) NULL)
  isTRUE(all.equal(made, ask(NULL, TRUE)))
}

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

# tidybayes: its own methods serve all fits but those with several classes,
# whose name of a column they leave out. Registered when it is loaded.

#' Draws of predictions as tidy data frames
#'
#' `epred_draws()`, `linpred_draws()` and `predicted_draws()` of
#' [tidybayes](https://mjskay.github.io/tidybayes/), their `add_*` forms, and
#' the random variables of `epred_rvars()`, `linpred_rvars()` and
#' `predicted_rvars()`, work with fits of [srvm()], [bark()] and [kgs()]. They
#' have the draws of
#' [rstantools::posterior_epred()][posterior_predict.kb_srvm] and the like;
#' `tidy_draws()`, `spread_draws()` and `gather_draws()` have those of
#' [posterior::as_draws()][as_draws.kb_bark]. Without tidybayes,
#' `posterior::rvar(rstantools::posterior_epred(fit, newdata))` is a vector of
#' random variables.
#'
#' @param object A fit of [srvm()], [bark()] or [kgs()].
#' @param newdata New predictors, a data frame.
#' @param ... Further arguments: those of tidybayes (`value`, `seed`), and of
#'   [rstantools::posterior_epred()][posterior_predict.kb_srvm] or
#'   [rstantools::posterior_linpred()][posterior_linpred.kb_fit] (`ndraws`,
#'   `re_formula`). Unknown arguments are errors.
#' @param category Name of the column of classes, if there are more than two.
#' @return A grouped data frame: a row per row of `newdata`, class and draw,
#'   with the column `.epred`, or `.linpred`.
#' @examplesIf requireNamespace("tidybayes", quietly = TRUE)
#' fit <- srvm(dist ~ speed, cars, seed = 1)
#' tidybayes::epred_draws(fit, cars[c(1, 50), ], ndraws = 3)
#' @name epred_draws.kb_fit
NULL

#' @rdname epred_draws.kb_fit
#' @exportS3Method tidybayes::epred_draws
epred_draws.kb_fit <- function(object, newdata, ...,
                               category = ".category") {
  checked_fit(object)
  NextMethod(category = category)
}

#' @rdname epred_draws.kb_fit
#' @exportS3Method tidybayes::linpred_draws
linpred_draws.kb_fit <- epred_draws.kb_fit
