# Variables of the data: what users know, and what moves in
# `partial_dependence()`, `importance()`, `exposure_effects()` and curves, with
# all columns that come of it. The mould keeps those that the columns of its
# rows do not hold as they are.

# The variables that a fit was given
variable_names <- function(mould) {
  recipe <- mould$mixed
  unique(c(names(mould$columns), recipe$names, if (mould$interface == "xy") {
    c(all.vars(recipe$linear$terms), unlist(lapply(recipe$offsets, all.vars)))
  }))
}

#' The variables that each column of the rows comes from
#' @return List of names, one for each column of `wide_x()`.
#' @noRd
column_sources <- function(mould) {
  sources <- if (is.null(mould$terms)) {
    rep(as.list(names(mould$columns)), column_widths(mould$columns))
  } else {
    term_sources(mould$terms)[mould$assign]
  }
  recipe <- mould$mixed
  if (!is.null(recipe)) {
    beside <- vector("list", length(recipe$columns))
    beside[recipe$linear_columns] <-
      term_sources(recipe$linear$terms)[recipe$linear$assign]
    beside[recipe$offset_column] <- list(unlist(lapply(
      recipe$offsets, all.vars
    )))
    for (i in seq_along(recipe$groups)) {
      own <- recipe$group_columns[[i]]
      group <- recipe$groups[[i]]
      beside[own[[1]]] <- list(unlist(lapply(group$keys, all.vars)))
      beside[own[-1]] <- list(all.vars(group$terms))
    }
    sources <- c(sources, beside)
  }
  # Arguments may be names of functions.
  lapply(sources, intersect, variable_names(mould))
}

term_sources <- function(terms) {
  factors <- attr(terms, "factors")
  variables <- lapply(as.list(attr(terms, "variables"))[-1], all.vars)
  lapply(seq_len(NCOL(factors)), function(term) {
    unlist(variables[factors[, term] > 0])
  })
}

#' Numbers of the columns that come of each variable, of those that have any
#' @param beside Also columns beside kernels?
#' @noRd
variable_columns <- function(mould, beside = TRUE) {
  sources <- column_sources(mould)
  if (!beside) sources <- sources[seq_along(mould$x_names)]
  names <- stats::setNames(nm = variable_names(mould))
  out <- lapply(names, function(name) {
    which(vapply(sources, function(from) name %in% from, NA))
  })
  out[lengths(out) > 0]
}

# Rows -------------------------------------------------------------------------

# Columns that hold a variable as it is: those of a term of its own
held_columns <- function(mould, name) {
  if (is.null(mould$terms)) {
    of <- rep(names(mould$columns), column_widths(mould$columns))
    held <- which(of == name)
  } else {
    held <- which(mould$assign %in% own_term(mould$terms, name))
  }
  linear <- mould$mixed$linear
  term <- if (length(held) == 0) own_term(linear$terms, name, "numeric")
  if (length(term) == 0) {
    return(held)
  }
  own <- mould$mixed$linear_columns[linear$assign %in% term]
  length(mould$x_names) + own
}

#' @param class NULL, or one that the variable must have.
#' @noRd
own_term <- function(terms, name, class = NULL) {
  factors <- attr(terms, "factors") > 0
  variables <- as.list(attr(terms, "variables"))[-1]
  own <- which(vapply(variables, identical, NA, as.symbol(name)))
  known <- is.null(class) || attr(terms, "dataClasses")[own] %in% class
  if (length(own) == 1 && known && length(factors) > 0) {
    which(factors[own, ] & colSums(factors) == 1)
  }
}

#' The variables that the columns of the rows do not hold, or NULL
#' @param data A data frame with them; `rows` of it stay.
#' @noRd
kept_variables <- function(mould, data, rows) {
  lost <- Filter(function(name) {
    length(held_columns(mould, name)) == 0
  }, variable_names(mould))
  if (length(lost) > 0) {
    frame_of(Map(function(v, column) {
      # A factor with one level is a constant by now.
      one <- identical(column$kind, "factor") && !is.factor(v)
      if (one) v <- factor(column$levels[v], column$levels)
      pick_rows(v, rows)
    }, as.list(data)[lost], mould$columns[lost]), length(rows))
  }
}

#' A variable from the columns that hold it, as formulas read it
#' @param column From `learn_column()`; NULL: a number.
#' @noRd
held_variable <- function(x, column) {
  switch(c(column$kind, "numeric")[[1]],
    factor = factor(column$levels[max.col(x, "first")], column$levels),
    ordered = factor(column$levels[x], column$levels, ordered = TRUE),
    matrix = matrix(x, nrow(x), dimnames = list(NULL, column$names)),
    raw = time_like(x[, 1], column$like), numeric = x[, 1]
  )
}

# The training rows as a table of their variables
variable_frame <- function(fit) {
  variables <- pick_rows(fit$mould$variables, training_rows(fit))
  frame_of_rows(fit$mould, effect_x(fit), variables)
}

#' @param x As from `wide_x()`, without missing values.
#' @param variables Those that x does not hold, or NULL.
#' @noRd
frame_of_rows <- function(mould, x, variables) {
  names <- stats::setNames(nm = variable_names(mould))
  frame_of(lapply(names, function(name) {
    held <- held_columns(mould, name)
    if (length(held) > 0) {
      return(held_variable(x[, held, drop = FALSE], mould$columns[[name]]))
    }
    if (is.null(variables[[name]])) refuse_unkept(name)
    variables[[name]]
  }), nrow(x))
}

frame_of <- function(columns, n) {
  structure(columns, class = "data.frame", row.names = seq_len(n))
}

# Fits of earlier versions keep columns only
keeps_variables <- function(mould) {
  all(vapply(variable_names(mould), function(name) {
    name %in% names(mould$variables) || length(held_columns(mould, name)) > 0
  }, NA))
}

refuse_unkept <- function(name) {
  kb_abort(c(
    "The fit does not keep the variable {.val {name}}.",
    i = "It comes from an earlier version, or is a part of another fit. Fit
         again."
  ), "not_defined", variable = name)
}

#' Rows as predictions take them
#' @param frame Values of the variables, as from `variable_frame()`.
#' @param arg What the user gave.
#' @noRd
rows_of_variables <- function(mould, frame, arg = "newdata") {
  frame <- clean_columns(frame, mould$columns, arg)
  x <- forge_complete(mould, frame, FALSE, arg)$x
  x <- hold_constant(x, mould$constant)
  if (!is.null(mould$mixed)) {
    x <- cbind(x, mixed_matrix(mould$mixed, frame, arg))
  }
  odd <- colnames(x)[colSums(!is.finite(x)) > 0]
  if (length(odd) > 0) {
    refuse(arg, "infinite", "must have values at which the formula is finite.",
      "Not finite: {.code {odd}}.", columns = odd
    )
  }
  x
}

#' Rows with the values of a variable in another order
#' @param x,frame The rows, in both forms; x perhaps inputs of kernels only.
#' @noRd
permuted_rows <- function(mould, x, frame, name, order) {
  frame[[name]] <- pick_rows(frame[[name]], order)
  # Of groups within groups there may be others.
  suppressMessages(
    moved <- rows_of_variables(mould, frame), classes = "kb_message_new_groups"
  )
  moved[, seq_len(ncol(x)), drop = FALSE]
}

# Values -----------------------------------------------------------------------

# What can have one value: a variable, or a column of one that is a matrix
variable_parts <- function(frame) {
  wide <- vapply(frame, is.matrix, NA)
  columns <- lapply(names(frame)[wide], function(name) {
    v <- frame[[name]]
    stats::setNames(
      lapply(seq_len(ncol(v)), function(j) v[, j]), paste0(name, colnames(v))
    )
  })
  parts <- c(as.list(frame[!wide]), do.call(c, columns))
  parts[!duplicated(names(parts))]
}

# The variable whose part this is
part_owner <- function(frame, name) {
  if (name %in% names(frame)) {
    return(name)
  }
  Find(function(owner) {
    name %in% paste0(owner, colnames(frame[[owner]]))
  }, names(frame)[vapply(frame, is.matrix, NA)])
}

# The same rows with a value, or one value per row
set_part <- function(frame, name, value) {
  owner <- part_owner(frame, name)
  if (owner == name) {
    frame[[name]] <- rep(value, length.out = nrow(frame))
  } else {
    frame[[owner]][, match(name, paste0(owner, colnames(frame[[owner]])))] <-
      value
  }
  frame
}

set_parts <- function(frame, values) {
  for (name in names(values)) {
    part <- variable_parts(frame[1, part_owner(frame, name), drop = FALSE])
    frame <- set_part(frame, name, part_like(values[[name]], part[[name]]))
  }
  frame
}

# Values in the form of a variable
part_like <- function(values, v) {
  if (is.factor(v)) {
    factor(as.character(values), levels(v), ordered = is.ordered(v))
  } else if (is_time(v)) {
    time_like(as.double(values), v)
  } else if (is.numeric(v)) {
    as.double(values)
  } else if (is.logical(v)) {
    as.logical(as.character(values))
  } else {
    as.character(values)
  }
}

is_measured <- function(v) is.numeric(v) || is_time(v)

# Does the formula take the numbers as levels, `factor(x)` or `cut(x, 3:5)`?
# Then others have none.
is_coded <- function(mould, name) {
  any(vapply(list(mould$terms, mould$mixed$linear$terms), function(terms) {
    classes <- attr(terms, "dataClasses")
    of <- lapply(as.list(attr(terms, "variables"))[-1], all.vars)
    coded <- classes %in% c("factor", "ordered", "character", "logical")
    name %in% unlist(of[coded])
  }, NA))
}

# Quantiles of numbers or times; of codes those that occur
part_quantiles <- function(v, probs, coded = FALSE) {
  stats::quantile(
    as.double(v), probs, names = FALSE, type = if (coded) 1 else 7
  )
}

# One row: medians, and the most frequent levels
typical_row <- function(mould, frame) {
  parts <- variable_parts(frame)
  typical <- lapply(stats::setNames(nm = names(parts)), function(name) {
    v <- parts[[name]]
    if (is_measured(v)) {
      part_quantiles(v, 0.5, is_coded(mould, part_owner(frame, name)))
    } else {
      names(which.max(table(v)))
    }
  })
  set_parts(frame[1, , drop = FALSE], typical)
}

# Names ------------------------------------------------------------------------

#' Names of variables that users gave, of which those of `known` are right
#'
#' Backticks, as columns have them, may stand around names.
#' @param count NULL, or how many there may be.
#' @noRd
check_variables <- function(mould, given, known, count = NULL,
                            arg = "variable") {
  if (is.character(given)) {
    bare <- without_backticks(given)
    given <- ifelse(!given %in% known & bare %in% known, bare, given)
  }
  fine <- is.character(given) && length(given) > 0 && !anyNA(given) &&
    (is.null(count) || length(given) %in% count && !anyDuplicated(given)) &&
    all(given %in% known)
  if (!fine) {
    many <- if (identical(count, 1:2)) "one or two of" else
      if (identical(count, 2)) "two different ones of" else "among"
    odd <- if (is.character(given)) setdiff(given, known)
    kb_abort(c(
      "{.arg {arg}} must be {many} {.val {known}}.",
      x = if (is.character(given)) {
        "It is {.val {given}}."
      } else {
        "It is {describe(given)}."
      }, i = column_hint(mould, odd)
    ), "argument", argument = arg, value = given)
  }
  given
}

# What a column comes of, if this is the name of one
column_hint <- function(mould, names) {
  names <- setdiff(names, variable_names(mould))
  at <- match(names, c(mould$x_names, mould$mixed$columns))
  found <- which(!is.na(at))
  if (length(found) > 0) {
    of <- column_sources(mould)[[at[[found[[1]]]]]]
    cli::format_inline(
      "{.val {names[[found[[1]]]]}} is a column that comes of {.val {of}}."
    )
  }
}
