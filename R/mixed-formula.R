# Terms beside kernels in a formula of bark(): linear ones, groups, offsets.

#' Split a formula into kernels, linear terms, groups and offsets
#'
#' @param plain What plain terms are if the formula has no `kernels()`:
#'   `"kernels"` or `"linear"`.
#' @return NULL if all of its terms are inputs of kernels. Otherwise a list of
#'   `kernels` (a formula with the response; its right side is 1 if there are no
#'   kernels), `linear` (a formula without response, or NULL), `groups` (a list,
#'   see `read_bar()`), `offsets` (expressions), `fields` (NULL, or a formula
#'   without response for each of several `kernels()`) and `names` (of the variables of
#'   linear terms, slopes and offsets, and of groups).
#' @noRd
split_formula <- function(formula, data, plain = "kernels") {
  if (!rlang::is_formula(formula, lhs = TRUE)) {
    return(NULL)
  }
  pieces <- formula_pieces(rlang::f_rhs(formula))
  kind <- vapply(pieces, piece_kind, "")
  special <- kind != "plain"
  if (!any(special) && plain == "kernels") {
    return(NULL)
  }
  pieces <- expand_dots(pieces, rlang::f_lhs(formula), data)
  kind <- vapply(pieces, piece_kind, "")
  fields <- lapply(pieces[kind == "kernels"], function(e) as.list(e)[-1])
  inputs <- unlist(fields, recursive = FALSE)
  refuse_idle_kernels(inputs, kind, plain)
  if (!any(kind == "kernels") && plain == "kernels") {
    inputs <- pieces[kind == "plain"]
    kind[kind == "plain"] <- "input"
  }
  groups <- unlist(
    lapply(pieces[kind == "groups"], read_bar), recursive = FALSE
  )
  linear <- pieces[kind == "plain" & !vapply(pieces, identical, NA, 1)]
  out <- list(
    kernels = rlang::new_formula(
      rlang::f_lhs(formula), sum_of(inputs), rlang::f_env(formula)
    ),
    linear = if (length(linear) > 0) {
      rlang::new_formula(NULL, sum_of(linear), rlang::f_env(formula))
    },
    groups = groups, offsets = lapply(pieces[kind == "offset"], `[[`, 2),
    fields = if (length(fields) > 1) {
      stats::setNames(
        lapply(fields, function(field) one_sided(sum_of(field))),
        vapply(pieces[kind == "kernels"], deparse1, "")
      )
    }
  )
  out$names <- list(
    plain = unique(c(
      all.vars(out$linear), unlist(lapply(out$offsets, all.vars)),
      unlist(lapply(groups, function(group) all.vars(group$slopes)))
    )),
    groups = unique(unlist(lapply(groups, function(group) {
      unlist(lapply(group$keys, all.vars))
    })))
  )
  out
}

# The terms of a sum, `a - b` being a and -b
formula_pieces <- function(e) {
  if (rlang::is_call(e, "(") && !rlang::is_call(e[[2]], c("|", "||"))) {
    return(formula_pieces(e[[2]]))
  }
  if (rlang::is_call(e, "(")) {
    return(list(e[[2]]))
  }
  if (rlang::is_call(e, "+", n = 2)) {
    return(c(formula_pieces(e[[2]]), formula_pieces(e[[3]])))
  }
  if (rlang::is_call(e, "-", n = 2)) {
    return(c(formula_pieces(e[[2]]), list(call("-", e[[3]]))))
  }
  list(e)
}

piece_kind <- function(e) {
  if (rlang::is_call(e, "kernels")) "kernels" else
    if (rlang::is_call(e, c("|", "||"))) "groups" else
      if (rlang::is_call(e, "offset")) "offset" else "plain"
}

sum_of <- function(pieces) {
  if (length(pieces) == 0) {
    return(1)
  }
  Reduce(function(sum, e) {
    if (rlang::is_call(e, "-", n = 1)) call("-", sum, e[[2]]) else
      call("+", sum, e)
  }, pieces)
}

one_sided <- function(e) rlang::new_formula(NULL, e, globalenv())

# A dot is all columns that appear nowhere else
expand_dots <- function(pieces, response, data) {
  used <- unique(c(all.vars(response), unlist(lapply(pieces, all.vars))))
  rest <- lapply(setdiff(names(data), used), as.symbol)
  expand <- function(parts) {
    unlist(lapply(parts, function(e) {
      if (identical(e, quote(.))) rest else list(e)
    }), recursive = FALSE)
  }
  pieces <- lapply(pieces, function(e) {
    if (!rlang::is_call(e, "kernels")) {
      return(e)
    }
    as.call(c(quote(kernels), expand(as.list(e)[-1])))
  })
  expand(pieces)
}

# One grouping per factor: `(1 | a/b)` has a and a:b, `(z || a)` one for the
# intercept and one for z
#' @return A list of lists: `keys` (expressions whose combinations are the
#'   groups), `label`, `slopes` (a formula without response).
#' @noRd
read_bar <- function(e) {
  keys <- group_keys(e[[3]])
  slopes <- one_sided(e[[2]])
  if (rlang::is_call(e, "||")) {
    slopes <- lapply(formula_pieces(e[[2]]), function(piece) {
      alone <- if (is.numeric(piece)) piece else call("+", 0, piece)
      one_sided(alone)
    })
    numbers <- vapply(formula_pieces(e[[2]]), is.numeric, NA)
    if (!any(numbers)) slopes <- c(list(one_formula()), slopes)
    zero <- vapply(slopes, function(s) identical(rlang::f_rhs(s), 0), NA)
    slopes <- slopes[!zero]
  } else {
    slopes <- list(slopes)
  }
  unlist(lapply(keys, function(key) {
    lapply(slopes, function(one) {
      list(keys = key, label = group_label(key), slopes = one)
    })
  }), recursive = FALSE)
}

group_label <- function(keys) {
  paste(vapply(keys, deparse1, ""), collapse = ":")
}

group_keys <- function(e) {
  if (rlang::is_call(e, "(")) {
    return(group_keys(e[[2]]))
  }
  if (rlang::is_call(e, "/")) {
    outer <- group_keys(e[[2]])
    inner <- c(outer[[length(outer)]], group_keys(e[[3]])[[1]])
    return(c(outer, list(inner)))
  }
  if (rlang::is_call(e, c(":", "*"))) {
    both <- c(group_keys(e[[2]])[[1]], group_keys(e[[3]])[[1]])
    return(list(both))
  }
  list(list(e))
}

refuse_idle_kernels <- function(inputs, kind, plain) {
  if (any(kind == "kernels") && length(inputs) == 0) {
    refuse("formula", "formula", "must have inputs in {.code kernels()}.",
      hint = "Write for instance {.code kernels(x1, x2)}."
    )
  }
  if (plain == "linear" && any(kind == "kernels")) {
    refuse("formula", "formula",
      "cannot have {.code kernels()} with a prior without kernels.",
      "{.arg prior} has {.code gamma = 0}."
    )
  }
}
