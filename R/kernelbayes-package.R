#' kernelbayes: Bayesian kernel regression, classification and filtering
#'
#' Each engine is one function that returns a plain R object with `print`, `summary`,
#' `plot`, `predict` and `update` methods:
#'
#' * [srvm()]: sequential Bayesian kernel regression;
#' * [tdsmc()]: its sampler for your own targets and moves;
#' * [bark()]: additive kernels with a scale for each predictor, for numbers,
#'   counts and classes;
#' * [kgs()]: classification under label noise;
#' * [kbr()]: posteriors from simulations, without a likelihood;
#'   [kbr_hmm()]: filter, forecasts and smoother.
#'
#' A fit is a list of plain R data that can be saved with [saveRDS()] and used in
#' another session, after `library(kernelbayes)`. Start with
#' `vignette("kernelbayes")`; the article `methods` says which methods each fit has.
#' @section Data:
#' Predictors are columns of numbers, logicals, factors or strings; strings and
#' factors become an indicator for each level; novel levels in new data give
#' `NA` and a warning. Columns of a matrix without names are called `x1`, `x2`
#' and so on. Columns of other numeric classes, such as those of package units,
#' are read as plain numbers. Dates and times become numbers, with a message
#' that says in which unit. To kernels ordered factors are the scores 1, 2, ...
#' of their levels, also with a message. Columns of lists and complex numbers
#' are errors.
#'
#' Character row names of a data frame or matrix are kept in `fitted()`,
#' `residuals()`, `predict()` (except in draws) and `augment()`. Other tables
#' identify rows by number.
#' @section Strings:
#' Arguments with a choice of strings, such as `type`, and names of columns and
#' levels are case sensitive.
#' @section Conditions:
#' All errors have the class `kb_error` and one that says what is wrong:
#' `kb_error_argument` (an argument is unknown, outside its range or not used by the
#' `type` chosen), `kb_error_not_defined` (the fit has no such method or result),
#' `kb_error_columns` (`newdata` lacks columns), `kb_error_missing`,
#' `kb_error_infinite`, `kb_error_dimension` (numbers of rows or columns disagree),
#' `kb_error_package` (a suggested package is missing). Novel levels of factors are a
#' warning (`kb_warning_novel_level`) and give `NA`. An interrupt or a time limit
#' gives a warning (`kb_warning_interrupted`, `kb_warning_time_limit`) and what is
#' finished, or without any result an error (`kb_error_interrupted`,
#' `kb_error_time_limit`). Pages name other classes only.
#' @section Far from the data:
#' Intervals are wider where there are no data. Kernels that vanish at large
#' distances, such as the Gaussian, leave only the intercept there: the intervals of
#' [srvm()] grow to the uncertainty of the intercept; those of [bark()] first grow
#' and then shrink to it. Probabilities of [kgs()] with `complement = TRUE` become
#' equal; [kbr()] warns and gives `NA` where its kernel vanishes; forecasts of
#' [kbr_forecast()] widen towards the stationary distribution. All assume the model.
#' @keywords internal
#' @importFrom Rcpp sourceCpp
#' @importFrom stats coef fitted formula logLik nobs predict residuals sigma
#' @importFrom stats simulate terms update
#' @importFrom graphics plot
#' @useDynLib kernelbayes, .registration = TRUE
"_PACKAGE"

.onLoad <- function(libname, pkgname) {
  when_loaded("parsnip", register_specs)
  when_loaded("marginaleffects", allow_marginaleffects)
}

# Now if the package is loaded, otherwise when it is
when_loaded <- function(package, f) {
  if (isNamespaceLoaded(package)) {
    return(f())
  }
  setHook(packageEvent(package, "onLoad"), function(...) f())
}
