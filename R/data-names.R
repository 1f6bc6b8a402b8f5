# Row names: from the data to results.

# The row names of the data, or NULL
#
# Numbers do not count as names: they come from the order of a table ("5.1" from
# a repeated row). Names of a vector do not count either, since it may be one
# row.
given_row_names <- function(x) {
  names <- if (is.data.frame(x)) {
    attr(x, "row.names")
  } else if (is.matrix(x)) {
    rownames(x)
  }
  if (!is.character(names) || all(grepl("^[0-9.]+$", names))) {
    return(NULL)
  }
  ifelse(is.na(names), "", names)
}

# Names of the training rows processed so far, or NULL
training_names <- function(fit) fit$mould$row_names[training_rows(fit)]

#' The mould with the names and variables of further rows, as in `rbind()`: rows
#' without a name get their number
#' @param numbers,more Numbers of the existing and of the further rows.
#' @param rows The further rows: `names` and `variables`, or NULL.
#' @noRd
append_to_mould <- function(mould, numbers, rows, more) {
  mould["variables"] <- list(append_variables(mould$variables, rows$variables))
  old <- mould$row_names
  new <- rows$names
  if (!is.null(old) || !is.null(new)) {
    if (is.null(old)) old <- as.character(numbers)
    if (is.null(new)) new <- as.character(more)
    mould$row_names <- c(old, new)
  }
  mould
}

append_variables <- function(old, new) {
  if (!is.null(old)) {
    frame_of(Map(function(v, more) {
      if (is.matrix(v)) rbind(v, more) else c(v, more)
    }, old, new[names(old)]), nrow(old) + nrow(new))
  }
}

#' Name the rows of a result
#' @param out A vector, a matrix, or an array whose first dimension is the rows.
#' @param names NULL, or a name for each row.
#' @noRd
name_rows <- function(out, names) {
  if (is.null(names)) {
    return(out)
  }
  rank <- length(dim(out))
  if (rank == 0) {
    names(out) <- names
    return(out)
  }
  if (is.null(dimnames(out))) dimnames(out) <- vector("list", rank)
  dimnames(out)[[1]] <- names
  out
}

# Name the rows of a value of `predict()`; in draws, rows are draws
name_predictions <- function(out, type, names) {
  if (type == "draws") out else name_rows(out, names)
}

# The training rows as the data had them: variables of the formula, or the
# columns of `x`, and the response
training_frame <- function(fit) {
  out <- if (is.null(fit$mould$formula)) {
    cbind(
      given_columns(fit$mould, training_x(fit)),
      response_frame(fit, ".response")
    )
  } else {
    formula_frame(fit)
  }
  out <- restore_columns(out, fit$mould$columns)
  names(out) <- make.unique(names(out))
  names <- training_names(fit)
  if (!is.null(names)) rownames(out) <- make.unique(names)
  out
}

# The response as one column, or as many as it has
response_frame <- function(fit, name) {
  y <- pick_rows(fit$data$y, training_rows(fit))
  if (is.matrix(y)) {
    return(as.data.frame(y, row.names = seq_len(nrow(y))))
  }
  stats::setNames(data.frame(y), name)
}

# The model frame, with the terms beside kernels; the fit's matrix where it does
# not keep a variable
formula_frame <- function(fit) {
  inputs <- tryCatch({
    out <- stats::model.frame(fit)
    attr(out, "terms") <- NULL
    out[-1]
  }, kb_error_not_defined = function(cnd) as.data.frame(training_x(fit)))
  beside <- fit$data$mixed[training_rows(fit), , drop = FALSE]
  beside <- mixed_frame_of(fit$mould$mixed, beside)
  out <- cbind(response_frame(fit, fit$mould$outcome_name), inputs)
  more <- setdiff(names(beside), names(out))
  out[more] <- beside[more]
  out
}

# Columns of `x` from its indicators
given_columns <- function(mould, x) {
  widths <- column_widths(mould$columns)
  ends <- cumsum(widths)
  out <- Map(function(column, end, width) {
    from_columns(x[, end - width + seq_len(width), drop = FALSE], column$levels)
  }, mould$columns, ends, widths)
  as.data.frame(out, optional = TRUE)
}

# A variable from its columns: a vector, a matrix, or a factor if it has levels,
# those of the largest column
from_columns <- function(x, levels) {
  if (ncol(x) == 1) {
    return(unname(x[, 1]))
  }
  if (is.null(levels)) x else factor(levels[max.col(x, "first")], levels)
}

# Scores as ordered factors, numbers as times
restore_columns <- function(out, columns) {
  for (name in intersect(names(out), names(columns))) {
    column <- columns[[name]]
    v <- out[[name]]
    if (column$kind == "ordered") {
      v <- if (is.factor(v)) as.character(v) else column$levels[v]
      out[[name]] <- factor(v, column$levels, ordered = TRUE)
    } else if (is_time(column$like) && is.numeric(v)) {
      out[[name]] <- time_like(v, column$like)
    }
  }
  out
}

# Linear columns, groups and the offset
mixed_frame_of <- function(recipe, columns) {
  if (is.null(recipe)) {
    return(NULL)
  }
  groups <- Map(function(group, at) {
    factor(group$levels[columns[, at[[1]]]], group$levels)
  }, recipe$groups, recipe$group_columns)
  names(groups) <- vapply(recipe$groups, `[[`, "", "label")
  groups <- groups[!duplicated(names(groups))]
  factors <- linear_factors(recipe$linear, columns)
  others <- colnames(columns)[c(recipe$linear_columns, recipe$offset_column)]
  others <- setdiff(others, unlist(lapply(factors, attr, "columns")))
  factors <- lapply(factors, structure, columns = NULL)
  out <- c(as.list(as.data.frame(columns[, others, drop = FALSE])),
    factors, groups
  )
  if (length(out) > 0) as.data.frame(out, optional = TRUE)
}

# Factors of linear terms, from their contrasts
linear_factors <- function(linear, columns) {
  found <- lapply(names(linear$contrasts), function(name) {
    levels <- linear$xlevels[[name]]
    coding <- linear_coding(linear, name)
    wanted <- colnames(coding)
    if (all(wanted %in% colnames(columns))) {
      apart <- squared_distances(columns[, wanted, drop = FALSE], coding)
      structure(from_columns(-apart, levels), columns = wanted)
    }
  })
  names(found) <- names(linear$contrasts)
  Filter(Negate(is.null), found)
}

# The linear columns of a factor, one row per level, or NULL
linear_coding <- function(linear, name) {
  given <- linear$contrasts[[name]]
  if (!is.null(given)) {
    levels <- linear$xlevels[[name]]
    coding <- if (is.matrix(given)) given else match.fun(given)(levels)
    # As model.matrix() names them
    columns <- colnames(coding)
    if (is.null(columns)) columns <- seq_len(ncol(coding))
    dimnames(coding) <- list(levels, paste0(name, columns))
    coding
  }
}

# The training rows as evaluated by a formula: terms, model frame, model matrix.

#' Formula, terms and rows of a fit
#'
#' `formula(fit)`, `terms(fit)`, `model.frame(fit)` and `model.matrix(fit)`.
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
#' `model.matrix()` have the inputs of kernels only. Rows are those that the fit holds.
#' @section Errors: `kb_error_not_defined` for the first three if the fit was
#'   given `x` and `y`; for `model.frame()` if a variable appears only in
#'   interactions; and for [tdsmc()] and [kbr_chunks()].
#' @examples
#' data <- data.frame(x = 1:20, g = rep(c("a", "b"), 10))
#' data$y <- sin(data$x / 4) + (data$g == "b")
#' fit <- srvm(y ~ splines::ns(x, 3) + g, data, kernel = kernel_gaussian(1), seed = 1)
#' terms(fit)
#' head(model.frame(fit))
#' head(model.matrix(fit))
#' @name terms.kb_fit
NULL

#' @rdname terms.kb_fit
#' @export
formula.kb_fit <- function(x, ...) {
  x <- checked_fit(x, ...)
  refuse_where(x, "formula", "no_formula")
  x$mould$formula
}

#' @rdname terms.kb_fit
#' @export
terms.kb_fit <- function(x, ...) {
  x <- checked_fit(x, ...)
  refuse_where(x, "formula", "no_formula")
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
  refuse_where(fit, "formula", "no_formula")
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

training_x <- function(object) {
  object$data$x[training_rows(object), , drop = FALSE]
}
