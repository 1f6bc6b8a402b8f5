# Terms beside kernels in a formula of bark(): linear ones, groups, offsets.

#' Split a formula into kernels, linear terms, groups and offsets
#' @param plain What plain terms are if the formula has no `kernels()`:
#'   `"kernels"` or `"linear"`. `"offset"`: `"kernels"`, and other formulas than
#'   those with inputs and offsets are not split.
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
  if (plain == "offset") {
    named <- any(!special & !vapply(pieces, is.numeric, NA))
    if (!named || !all(kind[special] == "offset")) {
      return(NULL)
    }
    plain <- "kernels"
  }
  if (!any(special) && plain == "kernels") {
    if ("kernels" %in% all_calls(rlang::f_rhs(formula))) check_pieces(pieces)
    return(NULL)
  }
  pieces <- expand_dots(pieces, rlang::f_lhs(formula), data)
  check_pieces(pieces)
  pieces <- lapply(pieces, inline_piece, data, rlang::f_env(formula))
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
  refuse_twice(groups)
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
  columns <- function(e) columns_in(e, data)
  out$names <- list(
    plain = unique(c(
      columns(out$linear), unlist(lapply(out$offsets, columns)),
      unlist(lapply(groups, function(group) columns(group$slopes)))
    )),
    groups = unique(unlist(lapply(groups, function(group) {
      unlist(lapply(group$keys, columns))
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

# The columns that an expression needs: names that are not those of functions,
# as in `C(f, contr.sum)`
columns_in <- function(e, data) {
  names <- all.vars(e)
  known <- names %in% names(data)
  functions <- vapply(names, exists, NA, formula_scope(), mode = "function")
  names[known | !functions]
}

# Constants from outside of the data, as in `inline_constants()`
inline_piece <- function(e, data, env) {
  inline <- function(e) {
    whole <- rlang::new_formula(quote(.response), e, env)
    rlang::f_rhs(inline_constants(whole, data))
  }
  if (!rlang::is_call(e, "kernels")) {
    return(inline(e))
  }
  as.call(c(quote(kernels), lapply(as.list(e)[-1], inline)))
}

# Kernels, groups and offsets are terms of their own
check_pieces <- function(pieces) {
  for (e in pieces) {
    kind <- piece_kind(e)
    inner <- if (kind == "plain") e else as.list(e)[-1]
    within <- c(
      intersect(c("kernels", "offset"), all_calls(inner)), bars_in(inner)
    )
    if (length(within) > 0) {
      refuse("formula", "formula",
        "must have {.code {within[[1]]}} in a term of its own.",
        "It has {.code {deparse1(e)}}.",
        if (within[[1]] %in% c("|", "||")) {
          "Write groups in parentheses: {.code (1 | g)}."
        } else {
          "Write for instance {.code kernels(x1, x2) + x3 + offset(o)}."
        }
      )
    }
    refuse_piece_arguments(e, kind)
  }
  dots <- vapply(pieces, function(e) "." %in% all.vars(e), NA)
  if (any(dots)) {
    refuse("formula", "formula", "must have a dot as a term of its own.",
      "It has {.code {deparse1(pieces[dots][[1]])}}."
    )
  }
}

refuse_piece_arguments <- function(e, kind) {
  if (kind == "kernels" && any(nzchar(names(as.list(e)[-1])))) {
    refuse("formula", "formula", "must have {.code kernels()} with inputs only.",
      "It has {.code {deparse1(e)}}.", "Settings are in {.fn bark_prior}."
    )
  }
  if (kind == "offset" && length(e) != 2) {
    refuse("formula", "formula", "must have {.code offset()} of one argument.",
      "It has {.code {deparse1(e)}}."
    )
  }
}

# Bars outside of functions
bars_in <- function(e) {
  if (is.list(e)) {
    return(unlist(lapply(e, bars_in)))
  }
  if (rlang::is_call(e, c("|", "||"))) {
    return(as.character(e[[1]]))
  }
  if (rlang::is_call(e, c("+", "-", "*", "/", "^", ":", "(", "%in%"))) {
    unlist(lapply(as.list(e)[-1], bars_in))
  }
}

# The names of all functions that an expression calls
all_calls <- function(e) {
  if (is.list(e)) {
    return(unlist(lapply(e, all_calls)))
  }
  if (!is.call(e)) {
    return(NULL)
  }
  c(
    if (is.symbol(e[[1]])) as.character(e[[1]]),
    unlist(lapply(as.list(e)[-1], all_calls))
  )
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
  slopes <- if (rlang::is_call(e, "||")) {
    split_slopes(e[[2]])
  } else {
    list(one_sided(e[[2]]))
  }
  if (length(slopes) == 0) {
    refuse("formula", "groups", "must have a coefficient per group.",
      "{.code ({deparse1(e)})} has none."
    )
  }
  unlist(lapply(keys, function(key) {
    lapply(slopes, function(one) {
      list(keys = key, label = group_label(key), slopes = one)
    })
  }), recursive = FALSE)
}

# A formula for the intercept, unless it is taken out, and for each slope
split_slopes <- function(e) {
  pieces <- formula_pieces(e)
  is_any <- function(values) {
    vapply(pieces, function(e) any(vapply(values, identical, NA, e)), NA)
  }
  without <- is_any(list(0, quote(-1)))
  slopes <- pieces[!without & !is_any(list(1))]
  c(
    if (!any(without)) list(one_formula()),
    lapply(slopes, function(e) one_sided(call("+", 0, e)))
  )
}

# Two coefficients of one name cannot be told apart
refuse_twice <- function(groups) {
  names <- vapply(groups, function(group) {
    paste(deparse1(rlang::f_rhs(group$slopes)), "|", group$label)
  }, "")
  again <- names[duplicated(names)]
  if (length(again) > 0) {
    refuse("formula", "groups", "must have the same groups once.",
      "It has {.code ({again[[1]]})} twice."
    )
  }
}

group_label <- function(keys) {
  paste(vapply(keys, deparse1, ""), collapse = ":")
}

group_keys <- function(e) {
  if (rlang::is_call(e, "(")) {
    return(group_keys(e[[2]]))
  }
  if (rlang::is_call(e, c("+", "-", "^", "%in%", "|"))) {
    refuse("formula", "groups", "must have a factor, {.code a:b} or {.code a/b}
      after the bar.", "It has {.code {deparse1(e)}}.",
      "Write {.code (1 | a) + (1 | b)} for two factors."
    )
  }
  if (!rlang::is_call(e, c("/", ":", "*"), n = 2)) {
    return(list(list(e)))
  }
  left <- group_keys(e[[2]])
  right <- group_keys(e[[3]])
  both <- list(c(left[[length(left)]], right[[1]]))
  switch(as.character(e[[1]]),
    "/" = c(left, both), ":" = both, "*" = c(left, right, both)
  )
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
