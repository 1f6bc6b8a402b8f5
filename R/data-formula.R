# Formulas of the mould: read, checked, and evaluated by base R.

#' Check a formula and take it apart
#' @param many May the response have several columns, `a + b ~ x`?
#' @return List of `terms` (of the formula with dots expanded, `- x` carried out
#'   and constants written in), `predictors` and `outcomes` (columns of `data`
#'   that it needs), `bare` (predictors that enter without a function) and
#'   `outcome_name`.
#' @noRd
read_formula <- function(formula, data, many) {
  arg <- "formula"
  if (!rlang::is_formula(formula, lhs = TRUE)) {
    refuse(arg, "formula", "must have a response, as in y ~ x.",
      "It is {describe(formula)}."
    )
  }
  full <- inline_constants(if (many) bind_outcomes(formula) else formula, data)
  terms <- tryCatch(
    # A second time, because the first still evaluates the x of `. - x`.
    stats::terms(stats::formula(
      stats::terms(full, data = data, simplify = TRUE)
    )),
    error = function(cnd) {
      refuse(arg, "formula", "cannot be read.", "{conditionMessage(cnd)}.")
    }
  )
  bare <- symbols_in(attr(terms, "variables")[-(1:2)])
  check_terms(terms, if (many) symbols_in(terms[[2]][-1]), bare, arg)
  out <- list(
    terms = terms, predictors = all.vars(terms[[3]]),
    outcomes = all.vars(terms[[2]]), bare = bare,
    outcome_name = outcome_label(rlang::f_lhs(formula))
  )
  refuse_lost(c(out$predictors, out$outcomes), data, arg)
  out
}

# The same for a formula with terms beside kernels, from `split_formula()`
read_formula_parts <- function(parts, data) {
  arg <- "formula"
  core <- parts$kernels
  none <- identical(rlang::f_rhs(core), 1)
  out <- if (none) read_response(core, data) else {
    read_formula(core, data, FALSE)
  }
  refuse_lost(c(unlist(parts$names)), data, arg)
  used <- unlist(parts$names)
  both <- intersect(used, out$outcomes)
  if (length(both) > 0) refuse_both_sides(both[[1]], arg)
  plain <- lapply(list(parts$linear), function(f) {
    if (!is.null(f)) symbols_in(attr(stats::terms(f), "variables")[-1])
  })
  out$predictors <- unique(c(out$predictors, parts$names$plain))
  out$bare <- unique(c(out$bare, unlist(plain)))
  out
}

# A formula without kernels
read_response <- function(core, data) {
  terms <- stats::terms(inline_constants(core, data))
  out <- list(
    terms = terms, predictors = character(), outcomes = all.vars(terms[[2]]),
    bare = character(), outcome_name = outcome_label(rlang::f_lhs(core))
  )
  if (length(out$outcomes) == 0) {
    refuse("formula", "formula",
      "must have a column of {.arg data} as response."
    )
  }
  refuse_lost(out$outcomes, data, "formula")
  out
}

refuse_lost <- function(needed, data, arg) {
  lost <- setdiff(needed, names(data))
  if (length(lost) > 0) {
    refuse(arg, "formula",
      "needs {length(lost)} column{?s} that {.arg data} lacks: {.val {lost}}.",
      hint = "{.arg data} has {.val {names(data)}}.", columns = lost
    )
  }
}

refuse_both_sides <- function(name, arg) {
  refuse(arg, "formula", "cannot have its response as a predictor.",
    "{.code {name}} is on both sides."
  )
}

#' @param several Columns of a response of several, which terms() sees as one.
#' @noRd
check_terms <- function(terms, several, bare, arg) {
  variables <- as.list(attr(terms, "variables"))[-1]
  if (attr(terms, "intercept") == 0) {
    refuse(arg, "formula",
      "cannot have -1 or +0: the intercept is not a predictor.",
      hint = "{.fn srvm} has {.code intercept = FALSE}."
    )
  }
  if (length(attr(terms, "term.labels")) == 0) {
    refuse(arg, "formula", "must have predictors.")
  }
  bars <- Filter(function(v) rlang::is_call(v, c("|", "||")), variables)
  if (length(bars) > 0) {
    refuse(arg, "formula", "cannot have groups.",
      "It has {.code {deparse1(bars[[1]])}}.",
      "Only {.fn bark} has groups. Write {.code I(a | b)} for the logical
       operation."
    )
  }
  if (!is.null(attr(terms, "offset"))) {
    refuse(arg, "formula", "cannot have offset() here.",
      hint = "{.fn bark} and {.fn srvm} have offsets, as terms of their own.
              Otherwise subtract the offset from the response."
    )
  }
  shared <- attr(terms, "response") == 0 || any(attr(terms, "factors")[1, ] > 0)
  both <- c(
    if (shared) outcome_label(variables[[1]]), intersect(several, bare)
  )
  if (length(both) > 0) refuse_both_sides(both[[1]], arg)
  if (length(all.vars(terms[[2]])) == 0) {
    refuse(arg, "formula", "must have a column of {.arg data} as response.")
  }
}

# A formula, or its terms, without the environment that it came from
plain_formula <- function(formula) {
  environment(formula) <- globalenv()
  formula
}

# `Surv(time, status)` is called time.
outcome_label <- function(lhs) {
  if (rlang::is_call(lhs, "Surv", ns = c("", "survival"))) lhs <- lhs[[2]]
  if (is.symbol(lhs)) as.character(lhs) else deparse1(lhs, width.cutoff = 500L)
}

# Names that stand alone in a call
symbols_in <- function(call) as.character(Filter(is.symbol, as.list(call)))

# `a + b ~ x` as `cbind(a, b) ~ x`; anything else as it is
bind_outcomes <- function(formula) {
  first <- rlang::f_lhs(formula)
  parts <- list()
  while (rlang::is_call(first, "+", n = 2)) {
    parts <- c(list(first[[3]]), parts)
    first <- first[[2]]
  }
  parts <- c(list(first), parts)
  named <- !vapply(parts, rlang::is_call, NA, c("cbind", "as.matrix"))
  names(parts) <- ifelse(named, vapply(parts, outcome_label, ""), "")
  rlang::f_lhs(formula) <- as.call(c(quote(cbind), parts))
  formula
}

# Insert constants (pi, or a degree held in a variable) into the formula
#
# Then nothing has to be looked up when a saved fit predicts elsewhere. Only
# arguments of functions qualify: a name on its own must be a column.
inline_constants <- function(formula, data) {
  env <- rlang::f_env(formula)
  known <- c(names(data), ".", "")
  # They have another meaning at the top of a formula.
  operators <- c("+", "-", "*", "/", "^", ":", "(", "%in%")
  replace <- function(e, inside) {
    if (is.call(e)) {
      inside <- inside || !rlang::is_call(e, operators)
      e[-1] <- lapply(as.list(e)[-1], replace, inside)
    } else if (is.symbol(e) && inside && !as.character(e) %in% known) {
      value <- if (!is.null(env)) get0(as.character(e), env)
      short <- length(value) == 1 || length(value) < nrow(data)
      constant <- is.atomic(value) && !is.null(value) && is.null(dim(value))
      if (constant && short) e <- value
    }
    e
  }
  rlang::new_formula(
    replace(rlang::f_lhs(formula), TRUE), replace(rlang::f_rhs(formula), FALSE),
    env
  )
}

# Evaluation ------------------------------------------------------------------

# The scope for functions of a formula: attached packages
#
# Not the workspace, which is not available to a saved fit elsewhere.
formula_scope <- function() parent.env(globalenv())

#' Evaluate a formula on the rows of a table
#' @param xlevels Levels of the factors among its variables; NULL in fitting.
#' @return List of `x` (a column for each level of a factor), `y` (NULL where
#'   the terms have no response), `terms` (with what transformations such as
#'   `poly()` learned from these rows), `xlevels`, `assign` and `indicators`
#'   (which columns are 0 and 1 for levels).
#' @noRd
evaluate_formula <- function(terms, data, xlevels, arg) {
  translate_errors({
    frame <- variables_frame(terms, data)
    terms <- attr(frame, "terms")
    response <- attr(terms, "response")
    y <- if (response > 0) frame[[response]]
    if (is.null(xlevels)) tell_ordered(frame[setdiff(seq_along(frame), response)])
    for (name in names(frame)[setdiff(seq_along(frame), response)]) {
      v <- frame[[name]]
      if (is.ordered(v)) {
        if (is.null(xlevels[[name]])) xlevels[[name]] <- known_levels(v)
        frame[[name]] <- as.double(
          known_factor(v, xlevels[[name]], name, arg, TRUE)
        )
      } else if (is.factor(v) || is.character(v)) {
        if (is.null(xlevels[[name]])) xlevels[[name]] <- known_levels(v)
        frame[[name]] <- clean_factor(v, xlevels[[name]], name, arg)
      } else if (is.logical(v) || is_time(v)) {
        frame[[name]] <- as.double(v)
      }
    }
    x <- one_hot_matrix(terms, frame, xlevels)
    list(
      x = matrix(x, nrow(x), ncol(x), dimnames = list(NULL, colnames(x))),
      y = if (inherits(y, "AsIs")) unclass(y) else y,
      terms = plain_formula(terms), xlevels = xlevels,
      assign = attr(x, "assign"),
      indicators = factor_terms(terms, frame)[attr(x, "assign")]
    )
  }, arg)
}

# The variables of a formula
#
# In fitting its terms have no `predvars`; those of the frame do.
variables_frame <- function(terms, data) {
  fitting <- is.null(attr(terms, "predvars"))
  environment(terms) <- formula_scope()
  frame <- stats::model.frame(terms, data, na.action = stats::na.pass)
  if (length(frame) == 0) {
    return(frame)
  }
  if (nrow(frame) != nrow(data)) {
    stop("It gives ", nrow(frame), " rows for ", nrow(data), " of the data.")
  }
  if (fitting) {
    terms <- attr(frame, "terms")
    if (attr(terms, "response") > 0) {
      attr(terms, "predvars")[[2]] <- code_events(
        attr(terms, "predvars")[[2]], data
      )
      attr(frame, "terms") <- terms
    }
    Map(refuse_learned, as.list(attr(terms, "predvars"))[-1],
      as.list(attr(terms, "variables"))[-1], frame, list(data)
    )
  }
  frame
}

evaluate_part <- function(e, data) {
  eval(e, data, formula_scope())
}

# The terms that are factors, or products of factors
factor_terms <- function(terms, frame) {
  numbers <- !vapply(frame, is.factor, NA)
  factors <- attr(terms, "factors")
  if (length(factors) == 0) {
    return(logical())
  }
  colSums(factors[numbers, , drop = FALSE] > 0) == 0
}

# model.matrix() with a column for each level of each factor, no intercept
one_hot_matrix <- function(terms, frame, xlevels) {
  # A factor with one level is a constant by now, an ordered one its scores.
  xlevels <- xlevels[vapply(frame[names(xlevels)], is.factor, NA)]
  contrasts <- lapply(xlevels, stats::contr.treatment, contrasts = FALSE)
  attr(terms, "intercept") <- 0L
  stats::model.matrix(terms, frame,
    contrasts.arg = if (length(contrasts) > 0) contrasts
  )
}

# Errors of the functions in the formula
translate_errors <- function(expr, arg) {
  tryCatch(expr, error = function(cnd) {
    if (inherits(cnd, "kb_error")) {
      stop(cnd)
    }
    message <- cli::ansi_strip(conditionMessage(cnd))
    hint <- if (grepl("could not find function", message, fixed = TRUE)) {
      "Name its package, as in {.code splines::ns(x, 3)}. Store the values of
       your own functions in a column of the data."
    }
    refuse("formula", "formula", "cannot be evaluated on {.arg {arg}}.",
      "{message}", hint
    )
  })
}
