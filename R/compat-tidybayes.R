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
