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
