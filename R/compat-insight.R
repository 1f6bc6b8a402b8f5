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
