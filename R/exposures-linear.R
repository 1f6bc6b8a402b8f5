# What exposures change beside kernels: linear terms and offsets of the same
# variables.

#' f at points, up to terms that no exposure changes
#'
#' @param points Inputs of kernels, a row per point.
#' @param plan From `linear_plan()`.
#' @return Matrix, points x draws, in the units of the model.
#' @noRd
exposure_values <- function(fit, points, plan, pool, chosen) {
  if (is.null(plan)) {
    return(kernel_values(fit, points, pool, "draw", chosen)$mean)
  }
  x <- cbind(points, beside_columns(points, plan))
  bark_values(fit, x, pool, "draw", chosen)$mean
}

#' How to evaluate the terms that exposures change
#'
#' Other variables of interactions stay at a reference: their median or most
#' frequent level.
#' @return NULL if there are none, or a list of a `recipe`, as of
#'   `mixed_learn()` but in the inputs of kernels, `still` (values of what stays
#'   where it is) and `reference` (those that matter).
#' @noRd
linear_plan <- function(fit, exposures) {
  linear <- linear_expressions(fit)
  offsets <- offset_expressions(fit)
  changed <- depend_on(fit, linear, exposures)
  shifted <- depend_on(fit, offsets, exposures)
  if (!any(changed, shifted)) {
    return(NULL)
  }
  known <- numeric_inputs(fit)
  refuse_unsettable(c(linear[changed], offsets[shifted]), known)
  settable <- vapply(linear, function(e) all(all.vars(e) %in% known), NA)
  still <- still_values(fit, names(linear)[!settable])
  needed <- intersect(
    partners(fit$mould$mixed$linear$terms, changed), names(still)
  )
  refuse_unknown_reference(needed[attr(still, "guessed")[needed]])
  linear[!settable] <- lapply(names(still), as.symbol)
  offsets[!shifted] <- list(quote(`(offset)`))
  list(
    recipe = with_expressions(fit$mould$mixed, linear, offsets),
    still = c(still, list("(offset)" = 0)), reference = still[needed]
  )
}

# Groups have no coefficients
with_expressions <- function(recipe, linear, offsets) {
  if (length(linear) > 0) {
    attr(recipe$linear$terms, "predvars") <- as.call(c(quote(list), linear))
  }
  recipe$offsets <- offsets
  recipe$off <- TRUE
  recipe
}

# Linear variables, with what `poly()` and the like learned; inputs of kernels
# such as `log(x)` are names in them
linear_expressions <- function(fit) {
  terms <- fit$mould$mixed$linear$terms
  out <- as.list(attr(terms, "predvars"))[-1]
  given <- as.list(attr(terms, "variables"))[-1]
  inputs <- fit$mould$x_names
  out <- Map(function(learned, given) {
    e <- with_inputs(given, inputs)
    if (is.symbol(e)) e else with_inputs(learned, inputs)
  }, out, given)
  # As model.matrix() names them
  stats::setNames(out, vapply(given, function(e) {
    paste(deparse(e, 500, backtick = !is.symbol(e)), collapse = " ")
  }, ""))
}

offset_expressions <- function(fit) {
  given <- fit$mould$mixed$offsets
  stats::setNames(
    lapply(given, with_inputs, fit$mould$x_names),
    vapply(given, function(e) paste0("offset(", deparse1(e), ")"), "")
  )
}

with_inputs <- function(e, inputs) {
  name <- c(
    deparse1(e, backtick = TRUE), if (is.symbol(e)) as.character(e)
  )
  found <- intersect(name, inputs)
  if (length(found) > 0) {
    return(as.symbol(found))
  }
  if (is.call(e)) e[-1] <- lapply(as.list(e)[-1], with_inputs, inputs)
  e
}

depend_on <- function(fit, expressions, exposures) {
  sources <- c(exposures, source_variables(fit, exposures))
  vapply(expressions, function(e) any(all.vars(e) %in% sources), NA)
}

# The columns of the data that inputs of kernels are made of
source_variables <- function(fit, inputs) {
  terms <- fit$mould$terms
  if (is.null(terms)) {
    return(inputs)
  }
  of <- fit$mould$assign[match(inputs, fit$mould$x_names)]
  labels <- attr(terms, "term.labels")[of]
  unlist(lapply(labels, function(label) all.vars(str2lang(label))))
}

# Scores of ordered factors have no values between the levels.
numeric_inputs <- function(fit) {
  ordered <- vapply(fit$mould$columns, function(column) {
    identical(column$kind, "ordered")
  }, NA)
  setdiff(exposure_names(fit), names(fit$mould$columns)[ordered])
}

refuse_unsettable <- function(expressions, known) {
  for (term in names(expressions)) {
    others <- setdiff(all.vars(expressions[[term]]), known)
    if (length(others) > 0) {
      kb_abort(c(
        "{.fn exposure_effects} cannot follow an exposure through
         {.code {term}}, which stands beside kernels.",
        x = "It depends on {.val {others}}, which kernels do not have as a
             number.",
        i = "{.fn predict} on rows that differ in the exposure gives its
             effect; otherwise choose other {.arg exposures}."
      ), "not_defined", term = term)
    }
  }
}

refuse_unknown_reference <- function(names) {
  if (length(names) > 0) {
    kb_abort(c(
      "{.fn exposure_effects} cannot choose a value of {.code {names[[1]]}},
       which changes the effect of an exposure.",
      i = "{.fn predict} on rows that differ in the exposure gives its effect."
    ), "not_defined", term = names[[1]])
  }
}

# Variables in a term with one that changes
partners <- function(terms, changed) {
  factors <- attr(terms, "factors")
  if (!any(changed)) {
    return(character())
  }
  with <- colSums(factors[changed, , drop = FALSE]) > 0
  names(changed)[rowSums(factors[, with, drop = FALSE]) > 0 & !changed]
}

#' Values of variables that stay where they are: their median or most frequent
#' level; any where the fit does not hold them
#' @return Named list, with a named flag per value: is it `guessed`?
#' @noRd
still_values <- function(fit, names) {
  rows <- training_frame(fit)
  linear <- fit$mould$mixed$linear
  given <- vapply(names, function(name) {
    !is.null(rows[[name]]) && is.null(dim(rows[[name]]))
  }, NA)
  out <- lapply(stats::setNames(nm = names), function(name) {
    if (given[[name]]) {
      return(typical_value(rows[[name]]))
    }
    levels <- linear$xlevels[[name]]
    if (!is.null(levels)) {
      return(levels[[1]])
    }
    matrix(0, 1, variable_width(linear$terms, name))
  })
  structure(out, guessed = !given)
}

# `poly(x, 2)` has two columns.
variable_width <- function(terms, name) {
  class <- attr(terms, "dataClasses")[[name]]
  several <- startsWith(class, "nmatrix.")
  if (several) as.integer(sub("nmatrix.", "", class)) else 1
}

typical_value <- function(v) {
  if (is.numeric(v) || is_time(v)) {
    return(stats::median(v))
  }
  names(which.max(table(v)))
}

# The columns of terms beside kernels at points
beside_columns <- function(points, plan) {
  at <- as.data.frame(points, optional = TRUE)
  at[names(plan$still)] <- lapply(plan$still, pick_rows, rep(1, nrow(at)))
  mixed_matrix(plan$recipe, at, "data")
}

# What print() says ------------------------------------------------------------

effect_notes <- function(fit, exposures, plan) {
  factors <- factor_inputs(fit)
  levels <- Map(function(columns, name) {
    substring(most_frequent(fit$data$x, columns), nchar(name) + 1)
  }, factors, names(factors))
  slopes <- depend_on(
    fit, lapply(fit$mould$mixed$groups, `[[`, "terms"), exposures
  )
  c(
    if (length(levels) > 0) {
      paste0("Factors stay at ", values_words(levels), ".")
    },
    if (length(plan$reference) > 0) {
      paste0("Interacting variables are at ", values_words(plan$reference), ".")
    },
    if (any(slopes)) "Effects are those in a group whose coefficients are 0."
  )
}

inclusion_notes <- function(fit, exposures) {
  linear <- linear_expressions(fit)
  beside <- names(linear)[depend_on(fit, linear, exposures)]
  if (length(beside) > 0) {
    paste0("Of kernels only, without linear terms: ", toString(beside), ".")
  }
}

values_words <- function(values) {
  toString(paste(names(values), "=", vapply(values, format, "", digits = 3)))
}
