#' kernelbayes: Bayesian kernel regression, classification and filtering
#'
#' Bayesian regression and classification with kernels, on one C++ core. Each
#' engine is one function that returns a plain R object with `print`,
#' `summary`, `plot`, `predict` and `update` methods.
#'
#' * [srvm()]: sequential Bayesian kernel regression;
#' * [tdsmc()]: its sampler for your own targets and moves;
#' * [bark()]: additive kernels with a scale for each predictor, for numbers,
#'   counts and classes;
#' * [kgs()]: classification under label noise;
#' * [kbr()]: posteriors from simulations, without a likelihood;
#'   [kbr_hmm()]: filter, forecasts and smoother.
#'
#' Start with `vignette("kernelbayes")`. Kernels are described in [kb_kernels].
#'
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
#'
#' @section Strings:
#' Arguments with a choice of strings, such as `type`, and names of columns and
#' levels are case sensitive.
#'
#' @section Far from the data:
#' Intervals are wider where there are no data. Kernels that vanish at large
#' distances, such as the Gaussian, leave only the intercept there: the
#' intervals of [srvm()] grow to the uncertainty of the intercept; those of
#' [bark()], whose kernels may be wide, first grow and then shrink to it. These
#' intervals assume the model and ignore effects that it cannot represent.
#' Probabilities of [kgs()] with `complement = TRUE` become equal; [kbr()] warns
#' and gives `NA` where its kernel vanishes; forecasts of [kbr_forecast()] widen
#' towards the stationary distribution.
#'
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
