# dials: ranges of the arguments of model specifications, for tuning.

#' Ranges of tuning parameters
#'
#' The ranges that `tune::tune_grid()` and other functions of tidymodels use for
#' arguments of [parsnip_specs] marked by `tune::tune()`. To change one,
#' `update()` the set of parameters with another `range`.
#'
#' @param range Two numbers: the lowest and the highest value; on a logarithmic
#'   scale their logarithms to base 10.
#' @param values The types, see [bark_prior()].
#'
#' @details `param_bandwidth()` (in units of the scaled predictors),
#' `param_lambda()`, `param_gamma()`, `param_bias()` and `param_nugget()` are on
#' a logarithmic scale, `param_alpha()` and `param_eps()` on their own scale;
#' `param_particles()` and `param_iter()` are whole numbers. More particles and
#' iterations cost time but do not change the model: set them rather than tune
#' them.
#'
#' Within the ranges of `alpha`, `eps` and `gamma` the expected number of
#' kernels of [bark()] is between .5 and 190.
#'
#' @return An object of class `param` of the package dials.
#' @section Errors: `kb_error_package` without dials.
#' @examplesIf requireNamespace("dials", quietly = TRUE)
#' dials::grid_regular(param_bandwidth(), levels = 3)
#' dials::grid_regular(param_bandwidth(c(-0.5, 0.5)), levels = 3)
#' @name tuning_parameters
NULL

quant_param <- function(name, label, range, type = "double", log = FALSE) {
  need_package("dials", paste0("`param_", name, "()`"))
  # A list if an end is `dials::unknown()`
  known <- Filter(Negate(is.call), as.list(range))
  numbers <- all(vapply(known, is.numeric, NA)) && !anyNA(known)
  if (!is.vector(range) || length(range) != 2 || !numbers) {
    bad_argument(range, "range", "two numbers")
  }
  # The logarithm as dials itself has it.
  trans <- if (log) dials::penalty()$trans
  dials::new_quant_param(
    type = type, range = range, inclusive = c(TRUE, TRUE), trans = trans,
    label = stats::setNames(label, name)
  )
}

#' @rdname tuning_parameters
#' @export
param_type <- function(values = c(
                         "equal", "different", "select_equal",
                         "select_different"
                       )) {
  need_package("dials", "`param_type()`")
  if (!is.character(values)) bad_argument(values, "values", "strings")
  dials::new_qual_param("character",
    values = values, label = c(type = "Type of the scales")
  )
}

#' @rdname tuning_parameters
#' @export
param_alpha <- function(range = c(0.5, 1.5)) {
  quant_param("alpha", "Index of the stable process", range)
}

#' @rdname tuning_parameters
#' @export
param_eps <- function(range = c(0.2, 1)) {
  quant_param("eps", "Scale of the coefficients", range)
}

#' @rdname tuning_parameters
#' @export
param_gamma <- function(range = c(0, 1.5)) {
  quant_param("gamma", "Intensity of the stable process", range, log = TRUE)
}

#' @rdname tuning_parameters
#' @export
param_bandwidth <- function(range = c(-1, 1)) {
  quant_param("bandwidth", "Bandwidth of the kernel", range, log = TRUE)
}

#' @rdname tuning_parameters
#' @export
param_lambda <- function(range = c(0, 2)) {
  quant_param("lambda", "Expected number of kernels", range, log = TRUE)
}

#' @rdname tuning_parameters
#' @export
param_bias <- function(range = c(-1, 1)) {
  quant_param("bias", "Bias", range, log = TRUE)
}

#' @rdname tuning_parameters
#' @export
param_nugget <- function(range = c(-3, 0)) {
  quant_param("nugget", "Nugget", range, log = TRUE)
}

#' @rdname tuning_parameters
#' @export
param_particles <- function(range = c(100L, 2000L)) {
  quant_param("particles", "Number of particles", range, "integer")
}

#' @rdname tuning_parameters
#' @export
param_iter <- function(range = c(500L, 5000L)) {
  quant_param("iter", "Number of iterations", range, "integer")
}
