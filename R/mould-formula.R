# Formulas of the mould: read and checked here, evaluated by hardhat.

#' @srrstats {RE1.0} Fit functions have formula methods.
#' @srrstats {RE1.1} Formulas are evaluated by hardhat, with a column for each
#'   level of a factor; said in `?srvm`.
#' @noRd
NULL

# Formulas --------------------------------------------------------------------

#' Check a formula and take it apart
#'
#' @return List of `formula` (one-sided, simplified: dots expanded, `- x`
#'   carried out), `response` (an expression), `predictors` and `outcomes`
#'   (columns of `data` that it needs), `bare` (predictors that enter as they
#'   are), `outcome_name`, `n_rows`.
#' @noRd
read_formula <- function(formula, data, call) {
  if (!rlang::is_formula(formula, lhs = TRUE)) {
    came <- if (rlang::is_formula(formula)) {
      "It has no response"
    } else {
      paste("It is", describe(formula))
    }
    refuse_formula("It must be a formula such as y ~ x.", came, call)
  }
  full <- inline_constants(formula, data)
  terms <- tryCatch(
    stats::terms(full, data = data, simplify = TRUE),
    error = function(cnd) {
      refuse_formula("It cannot be read.", conditionMessage(cnd), call)
    }
  )
  check_terms(terms, call)
  lhs <- rlang::f_lhs(full)
  rhs <- rlang::f_rhs(stats::formula(terms))
  found <- list(predictors = all.vars(rhs), outcomes = all.vars(lhs))
  check_variables(found, data, call)
  variables <- as.list(attr(terms, "variables"))[-(1:2)]
  c(found, list(
    formula = rlang::new_formula(NULL, rhs), response = lhs,
    bare = as.character(Filter(is.symbol, variables)),
    outcome_name = outcome_label(rlang::f_lhs(formula)), n_rows = nrow(data)
  ))
}

#' A formula as it came, without the environment that it came from
#' @noRd
plain_formula <- function(formula) {
  environment(formula) <- globalenv()
  formula
}

#' `a + b ~ x` as `cbind(a, b) ~ x`; anything else as it is
#' @noRd
bind_outcomes <- function(formula) {
  if (!rlang::is_formula(formula, lhs = TRUE)) {
    return(formula)
  }
  parts <- added_terms(rlang::f_lhs(formula))
  labels <- vapply(parts, outcome_label, "")
  labels[vapply(parts, is_cbind, NA)] <- ""
  names(parts) <- labels
  rlang::f_lhs(formula) <- as.call(c(quote(cbind), parts))
  formula
}

#' @noRd
is_cbind <- function(e) rlang::is_call(e, c("cbind", "as.matrix"))

#' The terms of a sum, in order
#' @noRd
added_terms <- function(e) {
  if (rlang::is_call(e, "+", n = 2)) {
    return(c(added_terms(e[[2]]), list(e[[3]])))
  }
  list(e)
}

#' @noRd
refuse_formula <- function(wanted, came, call, hint = NULL) {
  kb_abort(c(
    "{.arg formula} cannot be used: {wanted}",
    x = if (!is.null(came)) "{came}.",
    i = hint
  ), "formula", call = call)
}

#' @noRd
check_terms <- function(terms, call) {
  if (attr(terms, "intercept") == 0) {
    refuse_formula(
      "the intercept is not part of the predictors.", "It has -1 or +0", call,
      "Leave it out; {.fn srvm} has {.code intercept = FALSE}."
    )
  }
  if (!is.null(attr(terms, "offset"))) {
    refuse_formula(
      "offsets are not supported.", "It has offset()", call,
      "Subtract the offset from the response instead."
    )
  }
  if (length(attr(terms, "term.labels")) == 0) {
    refuse_formula("it must have predictors.", "It has none", call)
  }
  variables <- as.list(attr(terms, "variables"))[-1]
  bars <- Filter(function(v) rlang::is_call(v, c("|", "||")), variables)
  if (length(bars) > 0) {
    refuse_formula(
      "groups are not supported.", paste("It has", deparse1(bars[[1]])), call,
      "Write {.code I(a | b)} for the logical operation."
    )
  }
  variables <- as.character(variables)
  factors <- attr(terms, "factors")
  if (attr(terms, "response") == 0 || any(factors[1, ] > 0)) {
    refuse_formula(
      "the response must not be a predictor.",
      paste(variables[[1]], "is on both sides"), call
    )
  }
}

#' Columns of `cbind()` that are predictors too: `check_terms()` sees one term
#' @noRd
refuse_shared <- function(parts, call) {
  columns <- as.character(Filter(is.symbol, as.list(parts$response)[-1]))
  shared <- intersect(columns, parts$bare)
  if (length(shared) > 0) {
    refuse_formula(
      "the response must not be a predictor.",
      paste(shared[[1]], "is on both sides"), call
    )
  }
}

#' @noRd
check_variables <- function(found, data, call) {
  lost <- setdiff(unlist(found), names(data))
  if (length(lost) > 0) {
    kb_abort(c(
      "{.arg formula} needs {length(lost)} column{?s} that {.arg data} lacks:
       {.val {lost}}.",
      i = "{.arg data} has {.val {names(data)}}."
    ), "formula", columns = lost, call = call)
  }
  if (length(found$outcomes) == 0) {
    refuse_formula("the response must be a column of `data`.", NULL, call)
  }
}

#' @noRd
outcome_label <- function(lhs) {
  if (is.symbol(lhs)) {
    return(as.character(lhs))
  }
  paste(deparse(lhs, width.cutoff = 500L), collapse = " ")
}

#' Operators that mean something else at the top of a formula
#' @noRd
arithmetic <- function() {
  c("+", "-", "*", "/", "^", ":", "(", "%in%")
}

#' Put constants (pi, or a degree held in a variable) into the formula
#'
#' hardhat takes every name in a formula for a column. Constants written into
#' it also leave nothing to look up when a saved fit predicts elsewhere. Only
#' arguments of functions qualify: a lone name must be a column.
#' @noRd
inline_constants <- function(formula, data) {
  env <- rlang::f_env(formula)
  columns <- c(names(data), ".")
  replace <- function(e, inside) {
    if (is.symbol(e) && inside && !as.character(e) %in% columns) {
      return(constant_value(e, env, nrow(data)))
    }
    if (is.call(e)) {
      below <- inside || !rlang::is_call(e, arithmetic())
      e[-1] <- lapply(as.list(e)[-1], replace, below)
      if (inside) {
        e <- hide_intercept(e)
      }
    }
    e
  }
  rlang::new_formula(
    replace(rlang::f_lhs(formula), TRUE), replace(rlang::f_rhs(formula), FALSE),
    env
  )
}

#' @noRd
constant_value <- function(symbol, env, n) {
  name <- as.character(symbol)
  if (is.null(env) || !nzchar(name)) {
    return(symbol)
  }
  value <- get0(name, env)
  constant <- is.atomic(value) && !is.null(value) && is.null(dim(value)) &&
    (length(value) == 1 || length(value) < n)
  if (constant) value else symbol
}

#' hardhat takes the -1 of `log(x - 1)` for a removed intercept: write (1)
#' @noRd
hide_intercept <- function(e) {
  if (rlang::is_call(e, c("+", "-"))) {
    e[-1] <- lapply(as.list(e)[-1], function(part) {
      mistaken <- is.numeric(part) && length(part) == 1 && part %in% 0:1
      if (mistaken) call("(", part) else part
    })
  }
  e
}

#' @noRd
plain_names <- function(names) {
  names <- gsub("([-+] ?)\\(([01])\\)", "\\1\\2", names)
  gsub("\\(([01])\\) ([-+])", "\\1 \\2", names)
}

# hardhat ---------------------------------------------------------------------

#' hardhat::mold(), with the levels of computed factors frozen
#'
#' hardhat knows the levels of columns, not those of terms such as
#' `factor(x)` or `cut(x, b)`: on new rows these would have other columns. The
#' call that `model.frame()` evaluates is changed to one with fixed levels.
#' @noRd
mold_pinned <- function(formula, data, call) {
  blueprint <- hardhat::default_formula_blueprint(
    intercept = FALSE, indicators = "one_hot", composition = "matrix"
  )
  data <- data[all.vars(formula)]
  molded <- translate_errors(
    hardhat::mold(formula, data, blueprint = blueprint), "data", call
  )
  blueprint <- molded$blueprint
  kinds <- attr(blueprint$terms$predictors, "dataClasses")
  computed <- setdiff(
    names(kinds)[kinds %in% c("factor", "ordered", "character", "logical")],
    names(data)
  )
  x <- molded$predictors
  if (length(computed) > 0) {
    blueprint$terms$predictors <- pin_terms(
      blueprint$terms$predictors, computed, data
    )
    x <- translate_errors(hardhat::forge(data, blueprint), "data", call)
    x <- x$predictors
  }
  colnames(x) <- plain_names(colnames(x))
  list(x = x, blueprint = blueprint, pinned = plain_names(computed))
}

#' The response of a formula, and terms that give it again on new rows
#'
#' Not through hardhat, which refuses `y / 2`, `log(2 * y)` and the like.
#' `model.frame()` freezes what a transformation learns, as in `scale(y)`.
#' @noRd
mold_outcome <- function(response, data, call) {
  formula <- rlang::new_formula(NULL, call("I", response), globalenv())
  if (is.symbol(response) || !rlang::is_call(response, arithmetic())) {
    formula <- rlang::new_formula(NULL, response, globalenv())
  }
  evaluate_outcome(stats::terms(formula), data, "data", call)
}

#' @noRd
evaluate_outcome <- function(terms, data, arg, call) {
  environment(terms) <- parent.env(globalenv())
  frame <- translate_errors(
    stats::model.frame(terms, data, na.action = stats::na.pass), arg, call
  )
  terms <- attr(frame, "terms")
  attr(terms, ".Environment") <- NULL
  y <- frame[[1]]
  list(y = if (inherits(y, "AsIs")) unclass(y) else y, terms = terms)
}

#' @noRd
pin_terms <- function(terms, computed, data) {
  calls <- attr(terms, "predvars")
  where <- match(computed, names(attr(terms, "dataClasses")))
  for (i in where + 1) {
    value <- eval(calls[[i]], data, parent.env(globalenv()))
    calls[[i]] <- if (is.logical(value)) {
      call("as.numeric", calls[[i]])
    } else {
      levels <- levels(as.factor(value))
      if (length(levels) > 1) {
        call("factor", call("as.character", calls[[i]]), levels = levels)
      } else {
        bquote(as.numeric(match(as.character(.(calls[[i]])), .(levels))))
      }
    }
  }
  attr(terms, "predvars") <- calls
  terms
}

#' @noRd
warn_novel_pinned <- function(x, pinned, arg, call) {
  if (length(pinned) == 0 || !anyNA(x)) {
    return(invisible())
  }
  lost <- colnames(x)[colSums(is.na(x)) > 0]
  terms <- pinned[vapply(pinned, function(p) any(startsWith(lost, p)), NA)]
  kb_warn(c(
    "On {.arg {arg}}, {.code {terms}} ha{?s/ve} levels not seen in fitting.",
    i = "Rows with such a level give NA."
  ), "novel_level", columns = terms, call = call)
}

#' Errors and warnings of hardhat and of the functions in the formula
#' @noRd
translate_errors <- function(expr, arg, call) {
  withCallingHandlers(
    tryCatch(expr, error = function(cnd) {
      if (inherits(cnd, "kb_error")) {
        stop(cnd)
      }
      message <- cli::ansi_strip(conditionMessage(cnd))
      hint <- if (grepl("could not find function", message, fixed = TRUE)) {
        "Name its package, as in {.code splines::ns(x, 3)}. Of a function of
         your own, compute the column in the data instead, so that a saved fit
         can predict elsewhere."
      }
      kb_abort(c(
        "{.arg formula} cannot be evaluated on {.arg {arg}}.",
        x = "{message}", i = hint
      ), "formula", call = call)
    }),
    warning = function(cnd) {
      if (any(grepl("novel_level", class(cnd), fixed = TRUE))) {
        message <- cli::ansi_strip(conditionMessage(cnd))
        kb_warn("{.arg {arg}}: {message}", "novel_level", call = call)
        invokeRestart("muffleWarning")
      }
    }
  )
}
