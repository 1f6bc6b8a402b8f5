#' kernelbayes: exact and fast Bayesian kernel methods
#'
#' Bayesian regression and classification with kernels, on one C++ core. Each
#' engine is one function that returns a plain R object with `print`,
#' `summary`, `plot`, `predict` and `update` methods.
#'
#' * [srvm()]: sequential Bayesian kernel regression, `vignette("srvm")`;
#' * [tdsmc()]: its sampler for targets and moves of your own,
#'   `vignette("tdsmc")`;
#' * [bark()]: additive kernels with a scale for each predictor, for regression
#'   and classes, `vignette("bark")` and `vignette("bark-more")`;
#' * [kgs()]: classification under label noise, `vignette("kgs")`;
#' * [kbr()]: posteriors from simulations, without a likelihood,
#'   `vignette("kbr")`; [kbr_hmm()]: filter, forecasts and smoother,
#'   `vignette("kbr-hmm")`.
#'
#' Start with `vignette("kernelbayes")`. Kernels are described in [kb_kernels].
#'
#' @section Data:
#' Predictors are columns of numbers, logicals, factors or strings; strings and
#' factors become an indicator for each level, to which novel levels in new data
#' cannot add (they give `NA` and a warning). Columns of a matrix without names
#' are called `x1`, `x2` and so on. Columns with a class of their own, such as
#' those of package units, are read as the numbers that they are. Dates, times
#' and columns of lists are errors: convert them, for example with
#' `as.numeric()`, in the formula if you like.
#'
#' Rows of a data frame or matrix that have names (numbers are no names) keep
#' them in `fitted()`, `residuals()` and `predict()`, but in draws, and in
#' `augment()`. Other tables tell rows by their numbers.
#'
#' @section Strings:
#' Arguments that are one of several strings, such as `type`, and names of
#' columns and levels are case sensitive.
#'
#' @section Far from the data:
#' Intervals are wider where there are no rows. Kernels that end, as the
#' gaussian one does, leave only the intercept there: the intervals of [srvm()]
#' grow up to what is not known of it, those of [bark()], whose kernels may be
#' wide, grow at first and then fall to the same. They are intervals under the
#' model, and do not know of what it has no kernels for. [kgs()] goes to equal
#' probabilities with `complement = TRUE`; [kbr()] warns and gives `NA` where
#' its kernel says nothing; forecasts of [kbr_forecast()] become wider towards
#' the stationary distribution.
#'
#' @keywords internal
#' @importFrom Rcpp sourceCpp
#' @importFrom stats coef fitted formula logLik nobs predict residuals sigma
#' @importFrom stats simulate terms update
#' @importFrom graphics plot
#' @useDynLib kernelbayes, .registration = TRUE
"_PACKAGE"

.onLoad <- function(libname, pkgname) register_specs_when_loaded()

#' @srrstats {G2.0a} The help pages give the length of each argument.
#' @srrstats {G2.1a} They give its type; the section on data says what columns
#'   may be.
#' @srrstats {G2.3b} The section on strings says that they are case sensitive.
#' @srrstats {G2.9} What loses information (novel levels) is a warning, or an
#'   error (dates, units of time, other columns); what adds some (indicators of
#'   strings, names of columns without any) is said in the section on data.
#' @srrstats {RE1.2} The section on data, and `x` and `data` of each help page.
#' @srrstats {RE1.3a} The section on data says which results have names of rows
#'   and which have none.
#' @srrstats {RE4.14} Intervals and standard deviations hold for new rows
#'   wherever they are: `predict(interval = )`, `kbr_forecast()`.
#' @srrstats {RE4.15} The section on places far from the data says how wide
#'   intervals get; tests show it.
#' @noRd
NULL
