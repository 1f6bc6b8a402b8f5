#' kernelbayes: exact and fast Bayesian kernel methods
#'
#' Bayesian regression and classification with kernels, on one C++ core. Each
#' engine is one function that returns a plain R object with `print`,
#' `summary`, `plot`, `predict` and `update` methods.
#'
#' Start with [srvm()], sequential Bayesian kernel regression, and the vignette
#' `vignette("kernelbayes")`. Kernels are described in [kb_kernels].
#'
#' @keywords internal
#' @importFrom Rcpp sourceCpp
#' @importFrom stats coef fitted formula logLik nobs predict residuals sigma
#' @importFrom stats simulate update
#' @importFrom graphics plot
#' @useDynLib kernelbayes, .registration = TRUE
"_PACKAGE"
