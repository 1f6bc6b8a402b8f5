# Generics of base R and of posterior for fits of all samplers.

#' Fits as draws, intervals and other accessors of models
#'
#' What users of other models expect, as far as it has a meaning here.
#' @param x,object A fit of [srvm()], [bark()], [kgs()] or [tdsmc()].
#' @param parm Names of parameters; by default all.
#' @param level Probability of the intervals.
#' @param row.names,optional Not used: arguments of the generic.
#' @param ... For fits of [tdsmc()], the function `f` of [tidy()][tidy.kb_tdsmc].
#'   Unknown arguments are errors.
#' @return
#' * `as.matrix()`, `as.data.frame()`: draws of the parameters, one row per draw
#'   and one column per parameter, those of [posterior::as_draws()].
#'   `variables()`, `nvariables()`, `ndraws()`, `nchains()` and `niterations()`
#'   of posterior refer to the same draws.
#' * `confint()`: matrix with the limits of equal-tailed posterior intervals, one
#'   row per parameter of [tidy()][tidy.kb_bark]. `rstantools::posterior_interval()`
#'   has those of all draws.
#' * `vcov()`: the posterior covariance matrix of the coefficients of linear
#'   terms of [bark()].
#' * `family()`: the family of the responses, an object of class `family`. For
#'   families that [stats::family()] has, that is the one.
#' * `variable.names()`: names of the columns that kernels see: a factor has one
#'   per level.
#' * `na.action()`: numbers of the rows that were left out, as from [lm()], or
#'   `NULL`.
#' * `weights()`: the weights of the training rows, or `NULL`; see [kb_weights].
#' @section Errors: `kb_error_not_defined` for `AIC()`, `BIC()`, `deviance()`,
#'   `df.residual()` and `anova()`, because the number of parameters is not fixed
#'   (`loo::loo()`, [evidence()] and [cross_validate()] compare models).
#' @examples
#' data <- sim_sinc(30, seed = 1)
#' fit <- srvm(y ~ x, data, kernel = kernel_gaussian(0.2), seed = 1)
#' head(as.data.frame(fit))
#' confint(fit)
#' family(fit)
#' @name confint.kb_fit
NULL

# Draws ------------------------------------------------------------------------

#' @rdname confint.kb_fit
#' @export
as.matrix.kb_fit <- function(x, ...) {
  x <- checked_fit(x)
  draws <- unclass(posterior::as_draws_matrix(as_draws(x, ...)))
  matrix(draws, nrow(draws), dimnames = list(NULL, colnames(draws)))
}

#' @rdname confint.kb_fit
#' @export
as.data.frame.kb_fit <- function(x, row.names = NULL, optional = FALSE, ...) {
  as.data.frame(as.matrix(x, ...))
}

#' @rdname confint.kb_fit
#' @method ndraws kb_fit
#' @exportS3Method posterior::ndraws kb_fit
ndraws.kb_fit <- function(x) posterior::ndraws(as_draws(checked_fit(x)))

#' @rdname confint.kb_fit
#' @method nchains kb_fit
#' @exportS3Method posterior::nchains kb_fit
nchains.kb_fit <- function(x) posterior::nchains(as_draws(checked_fit(x)))

#' @rdname confint.kb_fit
#' @method niterations kb_fit
#' @exportS3Method posterior::niterations kb_fit
niterations.kb_fit <- function(x) {
  posterior::niterations(as_draws(checked_fit(x)))
}

#' @rdname confint.kb_fit
#' @method nvariables kb_fit
#' @exportS3Method posterior::nvariables kb_fit
nvariables.kb_fit <- function(x, ...) {
  posterior::nvariables(as_draws(checked_fit(x), ...))
}

#' @rdname confint.kb_fit
#' @method variables kb_fit
#' @exportS3Method posterior::variables kb_fit
variables.kb_fit <- function(x, ...) {
  posterior::variables(as_draws(checked_fit(x), ...))
}

# Parameters -------------------------------------------------------------------

#' @rdname confint.kb_fit
#' @importFrom stats confint
#' @export
confint.kb_fit <- function(object, parm = NULL, level = 0.9, ...) {
  object <- checked_fit(object)
  level <- check_number(level, 0, 1, open = TRUE)
  found <- tidy(object, ..., conf.level = level)
  out <- as.matrix(found[c("conf.low", "conf.high")])
  # Of kbr() also the row
  names <- found$term
  if (!is.null(found$row)) names <- paste0(names, "[", found$row, "]")
  dimnames(out) <- list(names, paste0(
    format(100 * interval_ends(level), trim = TRUE), "%"
  ))
  if (is.null(parm)) {
    return(out)
  }
  out[check_parameter_names(parm, names, "parm"), , drop = FALSE]
}

# Names of parameters, or their numbers
check_parameter_names <- function(x, terms, arg) {
  if (is.numeric(x) && all(x %in% seq_along(terms))) x <- terms[x]
  if (!is.character(x) || !all(x %in% terms)) {
    bad_argument(x, arg, paste("names of parameters:", toString(terms)))
  }
  x
}

#' @rdname confint.kb_fit
#' @importFrom stats vcov
#' @export
vcov.kb_fit <- function(object, ...) {
  object <- checked_fit(object, ...)
  linear <- object$mould$mixed$linear_columns
  if (length(linear) == 0) {
    refuse_meaning("vcov", "The fit has no linear coefficients.",
      "{.code cov(as.matrix(fit))} has the covariances of all parameters."
    )
  }
  draws <- coefficient_draws(object)
  if (is.list(draws)) lapply(draws, stats::cov) else stats::cov(draws)
}

# Draws of linear coefficients, of several classes a list
coefficient_draws <- function(fit) for_each_field(fit, function(pool) {
  linear_draws(fit, pool)
})

#' @rdname confint.kb_fit
#' @importFrom stats family
#' @export
family.kb_fit <- function(object, ...) {
  object <- checked_fit(object, ...)
  if (inherits(object, "kb_kgs")) {
    refuse_meaning("family",
      "A label is the sign of a function unless it is wrong: there is no link.",
      "{.fn label_noise} describes the labels."
    )
  }
  name <- object$settings$family
  if (is.null(name)) {
    refuse_meaning("family", "The model has no responses of a family.",
      "{.fn print} describes it."
    )
  }
  if (name == "gaussian" && is_student_prior(object$settings$prior)) {
    return(new_family("Student's t", "identity"))
  }
  known_family(name)
}

# The family object, made if R has none
known_family <- function(name) {
  row <- response_families[[name]]
  if (!is.null(row$derived)) row <- response_families[[row$derived]]
  found <- if (is.null(row$object)) row$called else row$object
  if (names(found) %in% c("gaussian", "binomial", "poisson")) {
    return(do.call(getExportedValue("stats", names(found)), list(link = unname(found))))
  }
  new_family(names(found), unname(found))
}

new_family <- function(family, link) {
  structure(list(family = family, link = link), class = "family")
}

#' @rdname confint.kb_fit
#' @importFrom stats variable.names
#' @export
variable.names.kb_fit <- function(object, ...) {
  checked_fit(object, ...)$mould$x_names
}

# Rows -------------------------------------------------------------------------

#' @rdname confint.kb_fit
#' @importFrom stats na.action
#' @export
na.action.kb_fit <- function(object, ...) {
  omitted <- checked_fit(object, ...)$mould$omitted
  if (length(omitted) > 0) structure(omitted, class = "omit")
}

#' @rdname confint.kb_fit
#' @export
weights.kb_fit <- function(object, ...) {
  object <- checked_fit(object, ...)
  object$data$weights[training_rows(object)]
}

# Without a meaning ------------------------------------------------------------

refuse_meaning <- function(what, why, instead) {
  kb_abort(c("{.fn {what}} is not defined.", x = why, i = instead),
    "not_defined"
  )
}

not_fixed <- function(what, object, ...) {
  checked_fit(object, ...)
  refuse_meaning(what, "The number of parameters is not fixed.",
    "{.fn loo::loo}, {.fn loo::waic}, {.fn evidence} and {.fn cross_validate}
     compare models."
  )
}

#' @importFrom stats deviance
#' @export
deviance.kb_fit <- function(object, ...) not_fixed("deviance", object, ...)

#' @importFrom stats df.residual
#' @export
df.residual.kb_fit <- function(object, ...) {
  not_fixed("df.residual", object, ...)
}

#' @importFrom stats anova
#' @export
anova.kb_fit <- function(object, ...) not_fixed("anova", object)

#' @importFrom stats AIC
#' @export
AIC.kb_fit <- function(object, ..., k = 2) not_fixed("AIC", object)

#' @importFrom stats BIC
#' @export
BIC.kb_fit <- function(object, ...) not_fixed("BIC", object)
