# From a formula and a data frame, or from x and y, to a numeric matrix and a
# response; and the same way for new data. hardhat evaluates formulas; what it
# leaves open (missing and infinite values, levels, matching by position) is
# settled here, the same for every engine.
#
# Classes of the errors: kb_error_data (not a table, names, types),
# kb_error_formula, kb_error_outcome, kb_error_columns (new data do not have
# the columns of the fit), kb_error_missing, kb_error_infinite, kb_error_rows.

# The mould -------------------------------------------------------------------

#' Mould a formula and a data frame
#'
#' @param outcome What the engine models, "numeric" or "factor".
#' @return List of class `kb_mould`, plain data only: `x` (numeric matrix with
#'   column names, without intercept), `y` (numeric or factor), `interface`,
#'   `blueprint` (hardhat's; NULL for x/y), `columns` (kind and levels of each
#'   predictor given), `pinned` (terms computed in the formula whose levels are
#'   frozen), `x_names`, `positional`, `n_rows` (given), `omitted` (their
#'   indices), `outcome`, `outcome_name`, `outcome_columns`, `outcome_terms`,
#'   `formula`, `levels`.
#' @noRd
mould_formula <- function(formula, data, na_action = c("fail", "omit"),
                          outcome = c("numeric", "factor"),
                          call = rlang::caller_env()) {
  na_action <- check_choice(na_action, c("fail", "omit"), call = call)
  outcome <- check_choice(outcome, c("numeric", "factor"), call = call)
  data <- check_table(data, "data", call)
  parts <- read_formula(formula, data, call)
  data <- data[unique(c(parts$outcomes, parts$predictors))]
  check_columns(data, parts$bare, "data", call)
  refuse_infinite(data, "data", call)
  keep <- which(rows_kept(data, na_action, "data", call))
  data <- data[keep, , drop = FALSE]
  columns <- learn_columns(data[parts$predictors], parts$bare)
  data[parts$predictors] <- clean_columns(
    data[parts$predictors], columns, "data", call
  )

  molded <- mold_pinned(parts$formula, data, call)
  response <- mold_outcome(parts$response, data, call)
  x <- molded$x
  y <- check_outcome(
    response$y, outcome, parts$outcome_name, nrow(x), call = call
  )
  finished <- finish_rows(x, y, na_action, "data", parts$outcome_name, call)
  new_mould(
    x[finished, , drop = FALSE], y[finished], "formula", outcome,
    blueprint = molded$blueprint, columns = columns, pinned = molded$pinned,
    kept = keep[finished], n_rows = parts$n_rows,
    outcome_name = parts$outcome_name, outcome_columns = parts$outcomes,
    outcome_terms = response$terms, formula = parts$given
  )
}

#' Mould predictors and a response
#'
#' `x` is a numeric matrix, a data frame (factors, characters and logicals
#' welcome) or a numeric vector for one column.
#' @noRd
mould_xy <- function(x, y, na_action = c("fail", "omit"),
                     outcome = c("numeric", "factor"),
                     call = rlang::caller_env()) {
  na_action <- check_choice(na_action, c("fail", "omit"), call = call)
  outcome <- check_choice(outcome, c("numeric", "factor"), call = call)
  x <- check_predictors(x, "x", call)
  n_rows <- nrow(x)
  positional <- is.null(colnames(x))
  if (positional) {
    colnames(x) <- position_names(ncol(x))
  }
  y <- check_outcome(y, outcome, "y", n_rows, "x", call = call)
  check_columns(x, colnames(x), "x", call)
  refuse_infinite(x, "x", call)
  kept <- which(rows_kept(x, na_action, "x", call) &
    rows_kept(name_outcome(y, "y"), na_action, "y", call))
  x <- x[kept, , drop = FALSE]
  refuse_no_rows(x, "x", call)
  columns <- learn_columns(x, colnames(x))
  x <- indicator_matrix(clean_columns(x, columns, "x", call))
  finished <- finish_rows(x, y[kept], na_action, "x", "y", call)
  new_mould(
    x[finished, , drop = FALSE], y[kept][finished], "xy", outcome,
    columns = columns, positional = positional, kept = kept[finished],
    n_rows = n_rows, outcome_name = "y"
  )
}

#' @noRd
new_mould <- function(x, y, interface, outcome, blueprint = NULL, columns,
                      pinned = character(), positional = FALSE, kept, n_rows,
                      outcome_name, outcome_columns = NULL,
                      outcome_terms = NULL, formula = NULL) {
  dimnames(x) <- list(NULL, make.unique(colnames(x)))
  if (is.factor(y)) {
    y <- droplevels(y)
  }
  structure(
    list(
      x = x, y = y, interface = interface, blueprint = blueprint,
      columns = columns, pinned = pinned, x_names = colnames(x),
      positional = positional, n_rows = n_rows,
      omitted = setdiff(seq_len(n_rows), kept), outcome = outcome,
      outcome_name = outcome_name, outcome_columns = outcome_columns,
      outcome_terms = outcome_terms, formula = formula, levels = levels(y)
    ),
    class = "kb_mould"
  )
}

#' The mould without its rows: all that `mould_forge()` needs
#' @noRd
mould_empty <- function(mould) {
  # Not removed: `mould$x` would then match `mould$x_names` in part.
  mould[c("x", "y")] <- list(NULL)
  mould
}

# New data --------------------------------------------------------------------

#' Bring new data into the shape of a mould
#'
#' @param outcome Also the response (formula moulds): for `update()`.
#' @return List of `x` (matrix with as many rows as `newdata`; a row with a
#'   missing value or a novel level is NA throughout), `y` (or NULL) and
#'   `complete` (logical, one per row).
#' @noRd
mould_forge <- function(mould, newdata, outcome = FALSE, arg = "newdata",
                        call = rlang::caller_env()) {
  if (mould$interface == "formula") {
    return(forge_formula(mould, newdata, outcome, arg, call))
  }
  if (outcome) {
    kb_abort(c(
      "{.arg {arg}} cannot hold the response: the model was fitted to x and y.",
      i = "Give the new rows as {.arg newx} and {.arg newy}."
    ), "interface", call = call)
  }
  forge_xy(mould, newdata, arg, call)
}

#' New rows given as predictors and response, for `update()`
#' @noRd
mould_forge_xy <- function(mould, newx, newy, call = rlang::caller_env()) {
  transformed <- mould$interface == "formula" &&
    !identical(mould$outcome_name, mould$outcome_columns)
  if (transformed) {
    kb_abort(c(
      "{.arg newy} is ambiguous: the response is {.code {mould$outcome_name}}.",
      i = "Give the new rows as {.arg newdata}, a data frame with the columns
           {.val {mould$outcome_columns}}."
    ), "interface", call = call)
  }
  forged <- mould_forge(mould, newx, arg = "newx", call = call)
  forged$y <- check_outcome(newy, mould$outcome, "newy", nrow(forged$x),
    "newx",
    levels = mould$levels, call = call
  )
  forged$complete <- forged$complete & !is.na(forged$y)
  forged
}

#' @noRd
forge_formula <- function(mould, newdata, outcome, arg, call) {
  if (is.matrix(newdata) && !is.null(colnames(newdata))) {
    newdata <- as.data.frame(newdata)
  }
  newdata <- check_table(newdata, arg, call)
  needed <- names(mould$columns)
  wanted <- c(needed, if (outcome) mould$outcome_columns)
  newdata <- pick_columns(newdata, unique(wanted), arg, call)
  check_columns(newdata, character(), arg, call)
  refuse_infinite(newdata, arg, call)
  newdata[needed] <- clean_columns(newdata[needed], mould$columns, arg, call)
  complete <- stats::complete.cases(newdata)
  forged <- forge_complete(
    mould, newdata[complete, , drop = FALSE], outcome, arg, call
  )
  x <- matrix(NA_real_, nrow(newdata), length(mould$x_names),
    dimnames = list(NULL, mould$x_names)
  )
  x[complete, ] <- forged$x
  y <- forged$y[match(seq_len(nrow(x)), which(complete))]
  complete <- stats::complete.cases(x)
  if (outcome) {
    complete <- complete & !is.na(y)
  }
  list(x = blank_rows(x), y = y, complete = complete)
}

#' @noRd
forge_complete <- function(mould, data, outcome, arg, call) {
  if (nrow(data) == 0) {
    empty <- list(
      numeric = double(), factor = factor(levels = mould$levels)
    )
    return(list(x = NULL, y = if (outcome) empty[[mould$outcome]]))
  }
  forged <- translate_errors(
    hardhat::forge(data, mould$blueprint), arg, call
  )
  x <- forged$predictors
  colnames(x) <- make.unique(plain_names(colnames(x)))
  if (!identical(colnames(x), mould$x_names)) {
    kb_abort(c(
      "The formula gives other columns on {.arg {arg}} than in fitting.",
      x = "Now: {.val {colnames(x)}}.",
      i = "In fitting: {.val {mould$x_names}}."
    ), "columns", call = call)
  }
  refuse_infinite(x, arg, call)
  warn_novel_pinned(x, mould$pinned, arg, call)
  y <- NULL
  if (outcome) {
    y <- evaluate_outcome(mould$outcome_terms, data, arg, call)$y
    y <- check_outcome(y, mould$outcome, mould$outcome_name, nrow(data),
      levels = mould$levels, call = call
    )
    refuse_infinite(name_outcome(y, mould$outcome_name), arg, call)
  }
  list(x = x, y = y)
}

#' @noRd
forge_xy <- function(mould, newdata, arg, call) {
  newdata <- check_predictors(newdata, arg, call)
  needed <- names(mould$columns)
  if (mould$positional && !all(needed %in% colnames(newdata))) {
    if (ncol(newdata) != length(needed)) {
      kb_abort(c(
        "{.arg {arg}} must have {length(needed)} column{?s}, as in fitting.",
        x = "It has {ncol(newdata)}."
      ), "columns", call = call)
    }
    colnames(newdata) <- needed
  }
  newdata <- pick_columns(newdata, needed, arg, call)
  refuse_infinite(newdata, arg, call)
  x <- indicator_matrix(clean_columns(newdata, mould$columns, arg, call))
  dimnames(x) <- list(NULL, mould$x_names)
  list(x = blank_rows(x), y = NULL, complete = stats::complete.cases(x))
}

#' A row is known or it is not: a partly missing one is NA throughout
#' @noRd
blank_rows <- function(x) {
  x[!stats::complete.cases(x), ] <- NA_real_
  x
}

# Tables ----------------------------------------------------------------------

#' A data frame with rows and distinct column names, as a plain data frame
#' @noRd
check_table <- function(data, arg, call) {
  if (!is.data.frame(data)) {
    kb_abort(c(
      "{.arg {arg}} must be a data frame.",
      x = "It is {describe(data)}."
    ), "data", call = call)
  }
  data <- as.data.frame(data)
  check_names(names(data), arg, call)
  refuse_no_rows(data, arg, call)
  data
}

#' @noRd
check_predictors <- function(x, arg, call) {
  if (is.data.frame(x)) {
    x <- check_table(x, arg, call)
  } else if (is.atomic(x) && length(dim(x)) <= 2) {
    x <- check_numeric_table(x, arg, call)
  } else {
    kb_abort(c(
      "{.arg {arg}} must be a numeric matrix, a data frame or a vector.",
      x = "It is {describe(x)}."
    ), "data", call = call)
  }
  if (ncol(x) == 0) {
    kb_abort("{.arg {arg}} has no columns: no predictors.", "data",
      call = call
    )
  }
  x
}

#' @noRd
check_numeric_table <- function(x, arg, call) {
  if (!(is.numeric(x) || is.logical(x)) || is.null(x)) {
    kb_abort(c(
      "{.arg {arg}} must be numeric when it is a matrix or a vector.",
      x = "It is {describe(x)} of type {typeof(x)}.",
      i = "Give factors and characters as columns of a data frame."
    ), "data", call = call)
  }
  names <- if (is.matrix(x)) colnames(x)
  n <- if (is.matrix(x)) nrow(x) else length(x)
  x <- matrix(as.double(x), nrow = n, ncol = if (is.matrix(x)) ncol(x) else 1)
  if (!is.null(names)) {
    check_names(names, arg, call)
    colnames(x) <- names
  }
  refuse_no_rows(x, arg, call)
  x
}

#' @noRd
check_names <- function(names, arg, call) {
  if (anyNA(names) || any(names == "")) {
    kb_abort(c(
      "Either all columns of {.arg {arg}} have names, or none.",
      x = "Without a name: {sum(is.na(names) | names == '')} of
           {length(names)} columns."
    ), "data", call = call)
  }
  twice <- unique(names[duplicated(names)])
  if (length(twice) > 0) {
    kb_abort(c(
      "The column names of {.arg {arg}} must be distinct.",
      x = "Found more than once: {.val {twice}}."
    ), "data", columns = twice, call = call)
  }
}

#' @noRd
position_names <- function(p) {
  if (p == 1) "x" else paste0("x", seq_len(p))
}

#' @noRd
pick_columns <- function(data, wanted, arg, call) {
  lost <- setdiff(wanted, colnames(data))
  if (length(lost) > 0) {
    came <- if (is.null(colnames(data))) {
      "a table without column names"
    } else {
      paste("columns", paste0('"', colnames(data), '"', collapse = ", "))
    }
    kb_abort(c(
      "{.arg {arg}} lacks {length(lost)} column{?s} of the fit:
       {.val {lost}}.",
      x = "It has {came}."
    ), "columns", columns = lost, call = call)
  }
  data[, wanted, drop = FALSE]
}

# Rows ------------------------------------------------------------------------

#' @noRd
refuse_no_rows <- function(x, arg, call) {
  if (nrow(x) == 0) {
    kb_abort(c(
      "{.arg {arg}} must have at least one row to work with.",
      x = "It has none."
    ), "rows", call = call)
  }
}

#' @noRd
refuse_infinite <- function(x, arg, call) {
  infinite <- function(v) {
    (is.double(v) || is.complex(v)) && any(is.infinite(v) | is.nan(v))
  }
  bad <- if (is.data.frame(x)) {
    vapply(x, infinite, NA)
  } else {
    colSums(is.infinite(x) | is.nan(x)) > 0
  }
  if (any(bad)) {
    columns <- colnames(x)[bad]
    kb_abort(c(
      "{.arg {arg}} must be finite (NA marks a missing value).",
      x = "Inf or NaN in {.val {columns}}."
    ), "infinite", argument = arg, columns = columns, call = call)
  }
}

#' Which rows stay: all (or an error) for "fail", the complete for "omit"
#' @noRd
rows_kept <- function(x, na_action, arg, call) {
  complete <- stats::complete.cases(x)
  if (na_action == "omit" || all(complete)) {
    return(complete)
  }
  bad <- if (is.data.frame(x)) vapply(x, anyNA, NA) else colSums(is.na(x)) > 0
  columns <- colnames(x)[bad]
  n_bad <- sum(!complete)
  kb_abort(c(
    "{.arg {arg}} has missing values in {n_bad} of {nrow(x)} row{?s}.",
    x = "Missing in {.val {columns}}.",
    i = "Use {.code na_action = \"omit\"} to leave these rows out."
  ), "missing", argument = arg, columns = columns, rows = which(!complete),
  call = call)
}

#' Transformations can make rows missing or infinite: check once more
#' @noRd
finish_rows <- function(x, y, na_action, arg, outcome_name, call) {
  y <- name_outcome(y, outcome_name)
  refuse_infinite(x, arg, call)
  refuse_infinite(y, outcome_name, call)
  kept <- rows_kept(x, na_action, arg, call) &
    rows_kept(y, na_action, outcome_name, call)
  refuse_no_rows(x[kept, , drop = FALSE], arg, call)
  which(kept)
}

#' @noRd
name_outcome <- function(y, name) {
  stats::setNames(data.frame(y), name)
}

# Columns ---------------------------------------------------------------------

#' Refuse columns that are no predictors: dates, lists, complex numbers
#'
#' A column that enters through a function of the formula may be a date.
#' @noRd
check_columns <- function(x, bare, arg, call) {
  if (is.matrix(x)) {
    return(invisible())
  }
  for (name in names(x)) {
    v <- x[[name]]
    known <- is.numeric(v) || is.logical(v) || is.factor(v) || is.character(v)
    if (!(known || is.atomic(v) && !name %in% bare)) {
      kb_abort(c(
        "Column {.val {name}} of {.arg {arg}} must be numeric, logical, a
         factor or character.",
        x = "It is {describe(v)}.",
        i = "Convert it first, for instance with {.fun as.numeric}."
      ), "data", columns = name, call = call)
    }
  }
}

#' What each predictor is, so that new data can be read the same way
#'
#' @param bare The columns that enter as they are. The others enter through a
#'   function of the formula and keep their type, unless numeric.
#' @return Named list of `kind` ("numeric", "factor", "matrix", "raw"), and
#'   `levels` or `width` where they apply.
#' @noRd
learn_columns <- function(x, bare) {
  if (is.matrix(x)) {
    return(stats::setNames(
      rep(list(list(kind = "numeric")), ncol(x)), colnames(x)
    ))
  }
  Map(function(v, name) {
    learn_column(v, name %in% bare)
  }, x, names(x))
}

#' @noRd
learn_column <- function(v, bare) {
  if (is.numeric(v) && length(dim(v)) == 2 && ncol(v) > 1) {
    return(list(kind = "matrix", width = ncol(v), names = colnames(v)))
  }
  if (is.numeric(v) || (bare && is.logical(v))) {
    return(list(kind = "numeric"))
  }
  if (!bare) {
    return(list(kind = "raw"))
  }
  if (is.factor(v)) {
    return(list(kind = "factor", levels = setdiff(levels(v), NA)))
  }
  # The radix method sorts the same in every locale.
  levels <- sort(unique(as.vector(v)), method = "radix")
  list(kind = "factor", levels = levels)
}

#' @noRd
clean_columns <- function(x, columns, arg, call) {
  if (is.matrix(x) && all_numeric(columns)) {
    return(x)
  }
  x <- as.data.frame(x)
  x[] <- Map(function(v, column, name) {
    clean_column(v, column, name, arg, call)
  }, x, columns, names(x))
  x
}

#' @noRd
all_numeric <- function(columns) {
  all(vapply(columns, `[[`, "", "kind") == "numeric")
}

#' @noRd
clean_column <- function(v, column, name, arg, call) {
  unknown <- is.logical(v) && all(is.na(v))
  if (column$kind == "raw") {
    return(v)
  }
  if (column$kind == "matrix") {
    if (!is.numeric(v) || !identical(ncol(v), column$width)) {
      refuse_type(v, paste(column$width, "numeric columns"), name, arg, call)
    }
    return(matrix(as.double(v), nrow(v), dimnames = list(NULL, column$names)))
  }
  if (column$kind == "numeric") {
    plain <- (is.numeric(v) || is.logical(v)) && NCOL(v) == 1
    if (!plain) {
      refuse_type(v, "numeric", name, arg, call)
    }
    return(as.double(v))
  }
  if (!(is.factor(v) || is.character(v) || unknown)) {
    refuse_type(v, "a factor or character", name, arg, call)
  }
  clean_factor(v, column$levels, name, arg, call)
}

#' @noRd
clean_factor <- function(v, levels, name, arg, call) {
  v <- as.character(v)
  novel <- setdiff(v, c(levels, NA))
  if (length(novel) > 0) {
    warn_novel(name, novel, arg, call)
  }
  v <- factor(v, levels = levels)
  if (length(levels) > 1) {
    return(v)
  }
  # model.matrix() refuses a factor with one level: it is a constant.
  ifelse(is.na(v), NA_real_, 1)
}

#' @noRd
refuse_type <- function(v, wanted, name, arg, call) {
  kb_abort(c(
    "Column {.val {name}} of {.arg {arg}} must be {wanted}, as in fitting.",
    x = "It is {describe(v)}."
  ), "columns", columns = name, call = call)
}

#' @noRd
warn_novel <- function(name, novel, arg, call) {
  kb_warn(c(
    "Column {.val {name}} of {.arg {arg}} has {length(novel)} level{?s} not
     seen in fitting: {.val {novel}}.",
    i = "Rows with such a level give NA."
  ), "novel_level", columns = name, levels = novel, call = call)
}

#' Every level gets a column: to a kernel the levels are symmetric
#' @noRd
indicator_matrix <- function(x) {
  if (is.matrix(x)) {
    return(x)
  }
  parts <- Map(function(v, name) {
    if (is.factor(v)) {
      out <- outer(as.integer(v), seq_along(levels(v)), `==`) + 0
      colnames(out) <- paste0(name, levels(v))
    } else {
      out <- as.matrix(v)
      inner <- colnames(out)
      inner <- if (is.null(inner)) seq_len(ncol(out)) else inner
      colnames(out) <- if (ncol(out) == 1) name else paste0(name, inner)
    }
    out
  }, x, names(x))
  do.call(cbind, unname(parts))
}

# Formulas --------------------------------------------------------------------

#' Check a formula and take it apart
#'
#' @return List of `formula` (one-sided, simplified: dots expanded, `- x`
#'   carried out), `response` (an expression), `given` (as it came, without
#'   its environment), `predictors` and `outcomes` (columns of `data` that it
#'   needs), `bare` (predictors that enter as they are), `outcome_name`,
#'   `n_rows`.
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
  given <- formula
  environment(given) <- globalenv()
  c(found, list(
    formula = rlang::new_formula(NULL, rhs), response = lhs, given = given,
    bare = as.character(Filter(is.symbol, variables)),
    outcome_name = outcome_label(rlang::f_lhs(formula)), n_rows = nrow(data)
  ))
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
      "Use {.code intercept = FALSE} to fit without an intercept."
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
  variables <- as.character(as.list(attr(terms, "variables"))[-1])
  factors <- attr(terms, "factors")
  if (attr(terms, "response") == 0 || any(factors[1, ] > 0)) {
    refuse_formula(
      "the response must not be a predictor.",
      paste(variables[[1]], "is on both sides"), call
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
        "Functions in a formula must come from R or an attached package, so
         that a saved fit can predict elsewhere: compute the column in the
         data instead."
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

# Responses -------------------------------------------------------------------

#' A numeric vector or a factor with one value a row
#'
#' @param y What came: a vector, or a table with one column.
#' @param levels Levels of the fit; NULL in fitting.
#' @noRd
check_outcome <- function(y, outcome, arg, n, rows_of = NULL, levels = NULL,
                          call) {
  given <- y
  if (is.data.frame(y) && ncol(y) == 1) {
    y <- y[[1]]
  }
  if (length(dim(y)) == 2 && ncol(y) == 1) {
    y <- y[, 1]
  }
  fits <- if (outcome == "numeric") {
    is.numeric(y)
  } else {
    is.factor(y) || is.character(y) || is.logical(y)
  }
  if (!fits || length(dim(y)) > 1) {
    refuse_outcome(given, outcome, arg, call)
  }
  if (length(y) != n) {
    where <- if (is.null(rows_of)) "the data" else rows_of
    kb_abort(c(
      "{.arg {arg}} must have one value per row of {.arg {where}}: {n}.",
      x = "It has {length(y)}."
    ), "outcome", argument = arg, call = call)
  }
  if (outcome == "numeric") {
    y <- as.double(y)
    refuse_infinite(name_outcome(y, arg), arg, call)
    return(y)
  }
  check_classes(y, levels, arg, call)
}

#' @noRd
refuse_outcome <- function(y, outcome, arg, call) {
  wanted <- c(
    numeric = "a numeric vector",
    factor = "a factor (or a character or logical vector)"
  )[[outcome]]
  type <- if (is.atomic(y) && !is.null(dim(y))) paste(" of type", typeof(y))
  hint <- if (outcome == "factor" && is.numeric(y)) {
    "Use {.fun factor} to make classes of numbers."
  }
  kb_abort(c(
    "The response {.arg {arg}} must be {wanted}.",
    x = "It is {describe(y)}{type}.", i = hint
  ), "outcome", argument = arg, call = call)
}

#' @noRd
check_classes <- function(y, levels, arg, call) {
  if (is.null(levels)) {
    if (is.character(y)) {
      return(factor(y, sort(unique(y), method = "radix")))
    }
    return(factor(y, ordered = FALSE))
  }
  novel <- setdiff(as.character(y), c(levels, NA))
  if (length(novel) > 0) {
    kb_abort(c(
      "The response {.arg {arg}} must have the classes of the fit:
       {.val {levels}}.",
      x = "It also has {.val {novel}}."
    ), "outcome", argument = arg, levels = novel, call = call)
  }
  factor(as.character(y), levels = levels)
}
