# The training rows as evaluated by a formula: terms, model frame, model matrix.

#' Formula, terms and rows of a fit
#'
#' @param x,object,formula A fit of [srvm()], [bark()], [kgs()] or [kbr()].
#' @param ... Not used: unknown arguments are errors.
#' @return
#' * `formula()`: the formula as it was given.
#' * `terms()`: its terms as from [stats::terms()], with dots expanded and
#'   constants inserted. The attribute `predvars` holds what `poly()`,
#'   `scale()`, `splines::ns()` and the like learned from the training rows, for
#'   `predict()`. Responses of [kbr()] are one matrix, `cbind(a = a, b = b)`.
#' * `model.frame()`: the response and the variables of the formula, evaluated
#'   on the training rows, a data frame with the terms as an attribute. Strings
#'   are factors and logicals are 0 and 1, as the model sees them; weights are
#'   in the column `(weights)`.
#' * `model.matrix()`: the predictors as numbers, before scaling: a column for
#'   each level of a factor, and no intercept. Its attribute `assign` has the
#'   term of each column, for fits to a formula.
#'
#' Of fits with an offset or other terms beside kernels `terms()`, `model.frame()` and
#' `model.matrix()` have the inputs of kernels only.
#'
#' Training rows are the processed rows that the fit holds, in the order given,
#' as in `fitted()`.
#' @section Errors: `kb_error_not_defined` for the first three if the fit was
#'   given `x` and `y`; for `model.frame()` if a variable appears only in
#'   interactions (a fit keeps only the columns of its matrix); and for fits
#'   without rows, [tdsmc()] and [kbr_chunks()].
#' @examples
#' data <- data.frame(x = 1:20, g = rep(c("a", "b"), 10))
#' data$y <- sin(data$x / 4) + (data$g == "b")
#' fit <- srvm(y ~ splines::ns(x, 3) + g, data,
#'   kernel = kernel_gaussian(1), control = smc_control(particles = 50),
#'   seed = 1
#' )
#' terms(fit)
#' head(model.frame(fit))
#' head(model.matrix(fit))
#' @name terms.kb_fit
NULL

#' @rdname terms.kb_fit
#' @export
formula.kb_fit <- function(x, ...) {
  x <- checked_fit(x, ...)
  refuse_no_formula(x)
  x$mould$formula
}

#' @rdname terms.kb_fit
#' @export
terms.kb_fit <- function(x, ...) {
  x <- checked_fit(x, ...)
  refuse_no_formula(x)
  x$mould$terms
}

#' @rdname terms.kb_fit
#' @importFrom stats model.matrix
#' @export
model.matrix.kb_fit <- function(object, ...) {
  object <- checked_fit(object, ...)
  x <- name_rows(model_data(object)$x, training_names(object))
  attr(x, "assign") <- object$mould$assign
  x
}

#' @rdname terms.kb_fit
#' @importFrom stats model.frame
#' @export
model.frame.kb_fit <- function(formula, ...) {
  fit <- checked_fit(formula, ...)
  refuse_no_formula(fit)
  terms <- fit$mould$terms
  data <- model_data(fit)
  names <- names(attr(terms, "dataClasses"))
  frame <- lapply(seq_along(names)[-1], function(i) {
    frame_variable(fit$mould, i, names[[i]], data$x)
  })
  frame <- stats::setNames(c(list(data$y), frame), names)
  frame[["(weights)"]] <- fit$data$weights[training_rows(fit)]
  rows <- training_names(fit)
  structure(frame,
    class = "data.frame", terms = terms,
    row.names = if (is.null(rows)) seq_len(nrow(data$x)) else make.unique(rows)
  )
}

#' A variable of the formula, from the columns of the term that it is alone
#' @param i Its number among the variables, the response included.
#' @noRd
frame_variable <- function(mould, i, name, x) {
  factors <- attr(mould$terms, "factors") > 0
  term <- which(factors[i, ] & colSums(factors) == 1)
  if (length(term) == 0) {
    kb_abort(c(
      "The fit does not keep all variables of the model frame.",
      x = "{.code {name}} appears only in interactions.",
      i = "{.fn model.matrix} gives the columns that the fit keeps."
    ), "not_defined")
  }
  columns <- x[, mould$assign == term, drop = FALSE]
  colnames(columns) <- substring(colnames(columns), nchar(name) + 1)
  from_columns(columns, mould$xlevels[[name]])
}

# Predictors and response of the training rows; of [kbr()] states are responses
model_data <- function(fit) {
  if (inherits(fit, "kb_kbr")) {
    return(list(x = fit$data$observations, y = fit$data$states))
  }
  list(x = training_x(fit), y = training_response(fit))
}

refuse_no_formula <- function(fit) {
  if (is.null(fit$mould$formula)) {
    kb_abort(c(
      "The model was fitted to x and y: it has no formula.",
      i = "{.fn model.matrix} gives its predictors."
    ), "not_defined")
  }
}
