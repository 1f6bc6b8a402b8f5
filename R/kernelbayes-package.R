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
#' @keywords internal
#' @importFrom Rcpp sourceCpp
#' @importFrom stats coef fitted formula logLik nobs predict residuals sigma
#' @importFrom stats simulate update
#' @importFrom graphics plot
#' @useDynLib kernelbayes, .registration = TRUE
"_PACKAGE"

.onLoad <- function(libname, pkgname) register_specs_when_loaded()
