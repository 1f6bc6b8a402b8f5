# marginaleffects: draws of predictions, registered when it is loaded.

#' Fits with marginaleffects, insight, DALEX and tidybayes
#'
#' Functions of these packages work with fits of [srvm()], [bark()] and [kgs()]:
#' * [marginaleffects](https://marginaleffects.com/): `predictions()`,
#'   `comparisons()`, `slopes()`, their `avg_*()` and `plot_*()` forms and
#'   `get_draws()`. They use the draws: estimates are posterior medians, intervals
#'   are equal-tailed, and there are no p values. [partial_dependence()] and
#'   [exposure_effects()] need no other package.
#' * [insight](https://easystats.github.io/insight/): `find_predictors()`, names of
#'   columns, in a list with `conditional` and, of groups, `random`; `get_data()`,
#'   the training rows as a data frame, an error (`kb_error_not_defined`) if a
#'   formula transforms variables and the data of the call are gone, or have changed.
#'   For fits to `x` and `y`, too.
#' * [DALEX](https://modeloriented.github.io/DALEX/): `DALEX::explain()` needs a fit,
#'   the predictors and the response, and a `label`, such as `"bark"`: by default it
#'   is `"kb_fit"` for all fits. Means, in units of the response; for two classes the
#'   probability of the second, so that `y` is 0 and 1, or of the class given as
#'   `predict_function_target_column`; for more a column for each.
#' * [tidybayes](https://mjskay.github.io/tidybayes/): `epred_draws()`,
#'   `linpred_draws()` and `predicted_draws()`, their `add_*` forms, and the random
#'   variables of `epred_rvars()`, `linpred_rvars()` and `predicted_rvars()`, with
#'   the draws of [rstantools::posterior_epred()][posterior_predict.kb_srvm] and the
#'   like; `tidy_draws()`, `spread_draws()` and `gather_draws()` have those of
#'   [posterior::as_draws()][as_draws.kb_srvm].
#' @param model,x,object,X.model A fit of [srvm()], [bark()] or [kgs()].
#' @param newdata A data frame of predictors; for DALEX also a matrix.
#' @param type `"response"` for `rstantools::posterior_epred()`, of two classes
#'   the probability of the second, of more those of each; `"link"` for
#'   `posterior_linpred()`; `"prediction"` for `posterior_predict()`.
#' @param ndraws,re_formula See [posterior_predict.kb_srvm].
#' @param vcov `NULL`, `TRUE` or `FALSE`: draws need no covariance matrix.
#' @param effects `"fixed"`: without the groups of terms such as `(1 | g)`;
#'   `"random"`: only these; `"all"`.
#' @param flatten A vector rather than a list?
#' @param is_multiclass Not used: taken from the fit.
#' @param category Name of the column of classes, if there are more than two.
#' @param ... For `yhat()` passed on to [predict()][predict.kb_srvm]; for draws those of
#'   tidybayes (`value`, `seed`), `ndraws` and `re_formula`; otherwise not used.
#' @return `get_predict()`: a data frame with the columns `rowid`, `group` and
#'   `estimate`, and the draws as the attribute `posterior_draws`, a row per
#'   estimate. `get_vcov()`: `NULL`. `yhat()`: numbers, or a matrix of probabilities.
#'   `model_info()`: a list of class `model_info`: `package`, `ver` and `type`. Draws: a
#'   grouped data frame, a row per row of `newdata`, class and draw, with the column
#'   `.epred`, or `.linpred`.
#' @examplesIf requireNamespace("insight", quietly = TRUE)
#' fit <- srvm(dist ~ speed, cars, seed = 1)
#' insight::find_predictors(fit)
#' # marginaleffects needs R 4.4 and the package collapse for draws.
#' if (getRversion() >= "4.4" && nzchar(system.file(package = "collapse")) &&
#'   requireNamespace("marginaleffects", quietly = TRUE)) {
#'   print(marginaleffects::avg_comparisons(fit, variables = "speed"))
#' }
#' if (requireNamespace("DALEX", quietly = TRUE)) {
#'   explainer <- DALEX::explain(fit, cars["speed"], cars$dist,
#'     label = "srvm", verbose = FALSE
#'   )
#'   print(DALEX::predict_parts(explainer, cars[20, ]))
#' }
#' if (requireNamespace("tidybayes", quietly = TRUE)) {
#'   print(tidybayes::epred_draws(fit, cars[c(1, 50), ], ndraws = 3))
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

#' @rdname get_predict.kb_fit
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

#' @rdname get_predict.kb_fit
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

#' @rdname get_predict.kb_fit
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

#' @rdname get_predict.kb_fit
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

#' @rdname get_predict.kb_fit
#' @exportS3Method tidybayes::epred_draws
epred_draws.kb_fit <- function(object, newdata, ...,
                               category = ".category") {
  checked_fit(object)
  NextMethod(category = category)
}

#' @rdname get_predict.kb_fit
#' @exportS3Method tidybayes::linpred_draws
linpred_draws.kb_fit <- epred_draws.kb_fit
