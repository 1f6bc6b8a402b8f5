# The columns of terms beside kernels, on the rows of the fit and on new ones.

#' The recipe of these columns, from the rows of the fit
#' @param parts From `split_formula()`; `data` the rows, as formulas read them;
#'   `given` as the user gave them.
#' @return A list, plain data only: `linear` (NULL, or a list of `terms`,
#'   `xlevels`, `contrasts`, `kept`, the columns that vary, `assign`, the term
#'   of each of these, and `constant`, see `constant_columns()`), `groups` (a
#'   list of lists: `keys`, `label`, `terms` of the slopes, `coefficients`
#'   (names), `constant`, `levels`), `offsets`
#'   (expressions), `names` (of the variables of groups), `columns` (the names
#'   of the matrix), and the numbers of its columns: `linear_columns`,
#'   `offset_column` (NULL without offset) and, for each grouping,
#'   `group_columns`.
#' @noRd
mixed_learn <- function(parts, data, arg, given = data) {
  for (e in c(parts$offsets, unlist(lapply(parts$groups, `[[`, "keys")))) {
    translate_errors(
      refuse_learned(e, e, evaluate_part(e, data), data), arg
    )
  }
  recipe <- list(
    linear = if (!is.null(parts$linear)) {
      linear_learn(parts$linear, data, arg, given)
    },
    groups = lapply(parts$groups, group_learn, data, arg),
    offsets = parts$offsets, names = parts$names$groups
  )
  matrices <- mixed_matrices(recipe, data, arg)
  widths <- c(
    ncol(matrices$linear), ncol(matrices$offset),
    vapply(matrices$groups, ncol, 1L)
  )
  ends <- cumsum(widths)
  columns <- Map(function(end, width) {
    end - width + seq_len(width)
  }, ends, widths)
  recipe$linear_columns <- columns[[1]]
  recipe$offset_column <- columns[[2]]
  recipe$group_columns <- unname(columns[-(1:2)])
  recipe$columns <- as.character(colnames(mixed_bind(matrices)))
  recipe
}

# The matrix of a recipe: linear columns, the offset, and for each grouping the
# number of the group and the multipliers of its coefficients
#
# A group that the fit does not have gets a number below 0.
mixed_matrix <- function(recipe, data, arg) {
  if (nrow(data) == 0) {
    return(matrix(0, 0, length(recipe$columns),
      dimnames = list(NULL, recipe$columns)
    ))
  }
  mixed_bind(mixed_matrices(recipe, data, arg))
}

mixed_bind <- function(matrices) {
  out <- do.call(
    cbind, c(list(matrices$linear, matrices$offset), matrices$groups)
  )
  storage.mode(out) <- "double"
  out
}

mixed_matrices <- function(recipe, data, arg) {
  n <- nrow(data)
  translate_errors({
    offset <- lapply(recipe$offsets, evaluate_part, data)
    check_offsets(offset, recipe$offsets, n)
    list(
      linear = if (is.null(recipe$linear)) {
        matrix(0, n, 0)
      } else {
        linear_matrix(recipe$linear, data, arg)
      },
      offset = if (length(offset) > 0) {
        cbind("(offset)" = Reduce(`+`, offset))
      } else {
        matrix(0, n, 0)
      },
      groups = lapply(
        recipe$groups, group_matrix, data, arg, isTRUE(recipe$off)
      )
    )
  }, arg)
}

check_offsets <- function(values, expressions, n) {
  for (i in seq_along(values)) {
    if (!is.numeric(values[[i]]) || length(values[[i]]) != n) {
      refuse("formula", "formula", "must have a number per row as offset.",
        "{.code {deparse1(expressions[[i]])}} is {describe(values[[i]])}."
      )
    }
  }
}

# Linear terms -----------------------------------------------------------------

linear_learn <- function(formula, data, arg, given) {
  translate_errors({
    terms <- stats::terms(inline_one_side(formula, data))
    if (attr(terms, "intercept") == 0) {
      refuse("formula", "formula",
        "cannot have -1 or +0: linear terms have an intercept."
      )
    }
    frame <- variables_frame(terms, data)
    terms <- attr(frame, "terms")
    factors <- vapply(frame, function(v) is.factor(v) || is.character(v), NA)
    xlevels <- lapply(frame[factors], function(v) known_levels(droplevels(
      as.factor(v)
    )))
    recipe <- list(
      terms = plain_formula(terms), xlevels = xlevels,
      contrasts = given_contrasts(xlevels, given)
    )
    x <- linear_model_matrix(recipe, linear_frame(recipe, data, arg))
    # By name, or by their matrix.
    recipe$contrasts <- as.list(attr(x, "contrasts"))
    # Constant columns would only have their prior.
    recipe$constant <- constant_columns(x, is_intercept(x),
      "{?It is/They are} left out of the linear terms."
    )
    left_out <- is_intercept(x) | colnames(x) %in% names(recipe$constant)
    recipe$kept <- which(!left_out)
    recipe$assign <- attr(x, "assign")[recipe$kept]
    recipe
  }, arg)
}

inline_one_side <- function(formula, data) {
  rlang::f_lhs(formula) <- quote(.response)
  full <- inline_constants(formula, data)
  rlang::f_lhs(full) <- NULL
  full
}

linear_frame <- function(recipe, data, arg) {
  frame <- variables_frame(recipe$terms, data)
  for (name in names(recipe$xlevels)) {
    frame[[name]] <- clean_factor(
      frame[[name]], recipe$xlevels[[name]], name, arg
    )
  }
  for (name in names(frame)) {
    v <- frame[[name]]
    if (is.logical(v) || is_time(v)) frame[[name]] <- as.double(v)
  }
  frame
}

# Contrasts that belong to the data: of ordered factors, and as an attribute
given_contrasts <- function(xlevels, given) {
  out <- lapply(stats::setNames(nm = names(xlevels)), function(name) {
    v <- given[[name]]
    if (is.ordered(v) && is.null(attr(v, "contrasts"))) {
      # Of the levels that occur
      return(stats::contrasts(factor(
        xlevels[[name]], xlevels[[name]], ordered = TRUE
      )))
    }
    own <- !is.null(attr(v, "contrasts"))
    if (own && identical(levels(v), xlevels[[name]])) stats::contrasts(v)
  })
  Filter(Negate(is.null), out)
}

linear_model_matrix <- function(recipe, frame) {
  # A factor with one level is a constant by now.
  factors <- names(frame)[vapply(frame, is.factor, NA)]
  contrasts <- recipe$contrasts[names(recipe$contrasts) %in% factors]
  stats::model.matrix(recipe$terms, frame,
    contrasts.arg = if (length(contrasts) > 0) contrasts
  )
}

is_intercept <- function(x) colnames(x) == "(Intercept)"

# model.matrix() with contrasts and without the intercept
linear_matrix <- function(recipe, data, arg) {
  x <- linear_model_matrix(recipe, linear_frame(recipe, data, arg))
  hold_constant(x, recipe$constant, arg)
  names <- colnames(x)[recipe$kept]
  matrix(x[, recipe$kept, drop = FALSE], nrow(x), dimnames = list(NULL, names))
}

# Groups -----------------------------------------------------------------------

group_learn <- function(group, data, arg) {
  key <- translate_errors(group_key(group$keys, data), arg)
  levels <- unique(key[group_order(group$keys, data)])
  check_groups(levels, key, group$label)
  slopes <- slopes_learn(group, data, arg)
  list(
    keys = group$keys, label = group$label, terms = slopes$terms,
    coefficients = slopes$names, constant = slopes$constant, levels = levels
  )
}

group_key <- function(keys, data) {
  values <- lapply(keys, function(key) {
    v <- evaluate_part(key, data)
    if (!is.atomic(v) || length(v) != nrow(data)) {
      stop("`", deparse1(key), "` must give one group per row.")
    }
    group_names(v)
  })
  if (length(values) == 1) {
    return(values[[1]])
  }
  missing <- Reduce(`|`, lapply(values, is.na))
  ifelse(missing, NA, do.call(paste, c(values, sep = ":")))
}

# In the order of levels, of numbers, or of strings in any locale
group_order <- function(keys, data) {
  do.call(order, lapply(keys, function(key) {
    v <- evaluate_part(key, data)
    if (!is.character(v)) xtfrm(v) else
      match(v, sort(unique(v), method = "radix"))
  }))
}

# Whole numbers have the same names as integers and as doubles
group_names <- function(v) {
  if (!is.double(v) || is.object(v)) {
    return(as.character(v))
  }
  ifelse(is.na(v), NA, trimws(formatC(v, digits = 15, format = "fg")))
}

check_groups <- function(levels, key, label) {
  if (length(levels) == 1) {
    refuse("formula", "groups",
      "must have groups with two levels or more.",
      "{.code {label}} has one: {.val {levels}}.",
      "Leave out {.code (... | {label})}: the intercept does the same."
    )
  }
  if (length(levels) == length(key)) {
    refuse("formula", "groups", "must have groups with more than one row.",
      "{.code {label}} is different in each of the {length(key)} rows.",
      "Leave it out: the noise does the same, of counts that of
       {.code family = \"negbinomial\"}."
    )
  }
}

slopes_learn <- function(group, data, arg) {
  translate_errors({
    terms <- stats::terms(inline_one_side(group$slopes, data))
    frame <- variables_frame(terms, data)
    odd <- names(frame)[!vapply(frame, is.numeric, NA)]
    if (length(odd) > 0) {
      refuse("formula", "groups", "must have numbers as slopes of groups.",
        "{.code {odd[[1]]}} of {.code {group$label}} is
         {describe(frame[[odd[[1]]]])}.",
        "Write {.code (1 | {group$label}:{odd[[1]]})} for a coefficient per
         level."
      )
    }
    terms <- if (length(frame) == 0) terms else attr(frame, "terms")
    x <- stats::model.matrix(terms, if (length(frame) > 0) frame else data)
    if (ncol(x) == 0) {
      refuse("formula", "groups", "must have a coefficient per group.",
        "{.code (0 | {group$label})} has none."
      )
    }
    list(
      terms = plain_formula(terms), names = colnames(x),
      constant = constant_columns(x, is_intercept(x))
    )
  }, arg)
}

group_matrix <- function(group, data, arg, off = FALSE) {
  names <- paste0(group$label, c("", paste0(".", group$coefficients)))
  if (off) {
    return(matrix(0, nrow(data), length(names), dimnames = list(NULL, names)))
  }
  key <- group_key(group$keys, data)
  number <- match(key, group$levels)
  new <- is.na(number) & !is.na(key)
  number[new] <- -match(key[new], unique(key[new]))
  tell_new_groups(group$label, unique(key[new]))
  z <- if (identical(group$coefficients, "(Intercept)")) {
    matrix(1, nrow(data), 1)
  } else {
    frame <- variables_frame(group$terms, data)
    z <- stats::model.matrix(group$terms, frame)
    hold_constant(z, group$constant, arg)
  }
  out <- cbind(number, z)
  dimnames(out) <- list(NULL, names)
  out
}

# A group that is not known need not be missing
tell_missing_groups <- function(mould, mixed) {
  for (group in if (!isTRUE(mould$mixed$off)) mould$mixed$groups) {
    columns <- unlist(lapply(group$keys, all.vars))
    n <- sum(!complete_cases(mixed[columns]))
    if (n > 0) {
      kb_inform(c(
        "{.code {group$label}} is missing in {n} row{?s}, whose prediction is
         NA.",
        i = "A name not seen in fitting stands for an unknown group;
             {.code re_formula = NA} predicts without groups."
      ), "missing_groups")
    }
  }
}

tell_new_groups <- function(label, names) {
  if (length(names) > 0) {
    kb_inform(c(
      "{.code {label}} has {length(names)} group{?s} not seen in fitting:
       {.val {names}}.",
      i = "See {.arg re_formula} in {.help predict.kb_bark}."
    ), "new_groups")
  }
}

# x and y -----------------------------------------------------------------------

#' Terms given as data: a table of their columns
#' @param mixed List of `linear`, `groups` and `offset` as in `bark()`, some of
#'   them NULL.
#' @param names Of a vector among them.
#' @return A data frame whose attribute `parts` has the names of the columns of
#'   each; NULL if all are NULL.
#' @noRd
mixed_frame <- function(mixed, n, names = c(
                          linear = "linear", groups = "group"
                        )) {
  linear <- part_frame(mixed$linear, "linear", n, names[["linear"]])
  groups <- part_frame(mixed$groups, "groups", n, names[["groups"]])
  offset <- mixed$offset
  if (!is.null(offset) && !(is.numeric(offset) && length(offset) == n)) {
    bad_argument(offset, "offset", paste("NULL, or", n, "numbers, one per row"))
  }
  columns <- c(linear, groups, if (!is.null(offset)) {
    list("(offset)" = as.double(offset))
  })
  if (length(columns) == 0) {
    return(NULL)
  }
  check_names(names(columns), "linear and groups")
  structure(
    structure(columns, class = "data.frame", row.names = seq_len(n)),
    parts = list(
      linear = names(linear), groups = names(groups), offset = !is.null(offset)
    )
  )
}

# A vector, matrix or data frame as a list of columns
part_frame <- function(v, arg, n, name = arg) {
  if (is.null(v)) {
    return(list())
  }
  if (!is.data.frame(v)) {
    names <- colnames(v)
    if (length(dim(v)) == 2) {
      if (is.null(names)) names <- position_names(ncol(v), name)
      v <- lapply(seq_len(ncol(v)), function(j) v[, j])
    } else {
      v <- list(v)
      names <- name
    }
    names(v) <- names
  }
  fits <- vapply(v, function(column) {
    is.atomic(column) && length(column) == n
  }, NA)
  if (!all(fits)) {
    refuse(arg, "argument", "must have one row per row of the predictors: {n}.")
  }
  times <- names(v)[vapply(v, is_time, NA)]
  if (arg == "linear" && length(times) > 0) {
    refuse(arg, "argument", "must have numbers or factors, not times.",
      "{.val {times}} {?is a time/are times}.",
      "Convert {cli::qty(times)}{?it/them} with {.fun as.numeric}, or fit a
       formula."
    )
  }
  as.list(v)
}

# The parts that a formula with these columns would have
frame_parts <- function(frame) {
  parts <- attr(frame, "parts")
  names <- lapply(parts$linear, as.symbol)
  list(
    linear = if (length(names) > 0) {
      rlang::new_formula(NULL, sum_of(names), globalenv())
    },
    groups = lapply(parts$groups, function(name) {
      list(keys = list(as.symbol(name)), label = name, slopes = one_formula())
    }),
    offsets = if (parts$offset) list(as.symbol("(offset)")),
    names = list(groups = parts$groups)
  )
}

# The table of terms for new rows: given, or among the columns of the formula
new_mixed <- function(mould, mixed, data) {
  if (is.null(mould$mixed)) {
    return(NULL)
  }
  if (mould$interface == "formula") {
    return(as.data.frame(data))
  }
  wanted <- c(
    linear = !is.null(mould$mixed$linear),
    groups = length(mould$mixed$groups) > 0 && !isTRUE(mould$mixed$off),
    offset = length(mould$mixed$offsets) > 0
  )
  given <- vapply(names(wanted), function(name) !is.null(mixed[[name]]), NA)
  lost <- names(wanted)[wanted & !given]
  if (length(lost) > 0) {
    kb_abort(c(
      "{.arg {lost}} of {.arg newdata} must be given.",
      i = "The model was fitted with {.arg {lost}}. One fitted to a formula finds
           {cli::qty(lost)}{?it/them} in {.arg newdata}."
    ), "argument", argument = lost[[1]])
  }
  # A vector has the name of the only column of the fit.
  alone <- function(names, default) if (length(names) == 1) names else default
  mixed_frame(mixed, nrow(data), c(
    linear = alone(all.vars(mould$mixed$linear$terms), "linear"),
    groups = alone(mould$mixed$names, "group")
  ))
}

# `~ 1`, without the environment that it is written in
one_formula <- function() one_sided(1)

# Terms of formulas that depend on other rows: `x - mean(x)` is another number
# where a row is predicted alone. What poly(), scale() and the like learn from
# the rows of the fit is in the terms' attribute `predvars`, which keeps them
# right, see `stats::makepredictcall()`.

#' Refuse a term whose value in a row depends on other rows
#'
#' Its values on some rows alone are compared with those of all rows. A term
#' that fails on some of them, as `relevel()` does without its level, is loud for
#' new rows too.
#' @param call What is evaluated for new rows; `term` as the user wrote it.
#' @param value Of all rows.
#' @noRd
refuse_learned <- function(call, term, value, data) {
  if (rlang::is_call(call, c("cbind", "Surv"), ns = c("", "survival"))) {
    for (e in as.list(call)[-1]) {
      if (is.call(e)) refuse_learned(e, e, evaluate_part(e, data), data)
    }
    return(invisible())
  }
  if (!is.call(call) || nrow(data) < 2 || NROW(value) != nrow(data)) {
    return(invisible())
  }
  data <- as.list(data)[intersect(all.vars(call), names(data))]
  failed <- 0
  tries <- rows_to_try(value, data)
  for (rows in tries) {
    alone <- tryCatch(
      suppressMessages(suppressWarnings(
        evaluate_part(call, lapply(data, pick_rows, rows))
      )),
      error = identity
    )
    if (inherits(alone, "error")) {
      failed <- failed + 1
    } else if (!same_values(alone, value, rows)) {
      refuse_other_rows(term, "Some rows alone give other values.")
    }
  }
  if (failed == length(tries)) {
    refuse_other_rows(term, conditionMessage(alone))
  }
}

refuse_other_rows <- function(term, came) {
  inner <- if (rlang::is_call(term, "I")) term[[2]] else term
  refuse("formula", "formula",
    "must have terms that do not depend on other rows.",
    "{.code {deparse1(term)}} does. {came}",
    "Store it in a column before the call, {.code data$new <- with(data,
     {deparse1(inner)})}, and write {.code new}.",
    term = deparse1(term)
  )
}

# Sets of rows: single ones, with the smallest and largest values of the term
# and its columns, or one per level, and some rows in another order, with a
# half of the values of each column
rows_to_try <- function(value, data, most = 40, several = 100) {
  n <- NROW(value)
  columns <- lapply(c(list(value), unname(data)), value_columns)
  some <- unique(round(seq(1, n, length.out = min(n, several))))
  halves <- lapply(columns[-1], function(v) {
    by <- some[order(v[[1]][some])]
    half <- seq_len(ceiling(length(by) / 2))
    list(rev(by[half]), rev(by[-half]))
  })
  columns <- unlist(columns, recursive = FALSE)
  single <- unique(unlist(lapply(columns, extreme_rows)))
  single <- single[seq_len(min(length(single), most))]
  several <- c(list(c(some[-1], some[[1]])), unlist(halves, recursive = FALSE))
  c(as.list(single), several[lengths(several) > 0])
}

extreme_rows <- function(v, most = 20) {
  if (is.numeric(v)) {
    return(c(which.max(v), which.min(v)))
  }
  first <- which(!duplicated(v))
  first[seq_len(min(length(first), most))]
}

# Vectors of numbers or strings
value_columns <- function(v) {
  numbers <- is.numeric(unclass(v)) && !is.factor(v)
  v <- if (numbers) unclass(v) else matrix(as.character(v), NROW(v))
  lapply(seq_len(NCOL(v)), function(j) {
    as.vector(if (is.matrix(v)) v[, j] else v)
  })
}

# Up to rounding, which R's recurrences for predictions have too
same_values <- function(alone, value, rows) {
  if (NROW(alone) != length(rows) || NCOL(alone) != NCOL(value)) {
    return(FALSE)
  }
  all(unlist(Map(function(part, whole) {
    at <- whole[rows]
    if (is.character(part) || is.character(at)) {
      return(identical(as.character(part), as.character(at)))
    }
    finite <- whole[is.finite(whole)]
    slack <- if (length(finite) > 0) {
      1e-6 * diff(range(finite)) + 1e-12 * max(abs(finite))
    }
    near <- part == at | abs(part - at) <= slack
    all(is.na(part) == is.na(at)) && all(near, na.rm = TRUE)
  }, value_columns(alone), value_columns(value))))
}

# Surv() reads a status of 1 and 2 as 0 and 1 where a 2 occurs: so must new rows
code_events <- function(call, data) {
  if (!rlang::is_call(call, "Surv", ns = c("", "survival"))) {
    return(call)
  }
  call <- match.call(survival::Surv, call)
  name <- if (is.null(call$event)) "time2" else "event"
  type <- attr(evaluate_part(call, data), "type")
  status <- if (type %in% c("right", "left")) evaluate_part(call[[name]], data)
  if (is.numeric(status) && max(0, status, na.rm = TRUE) == 2) {
    call[[name]] <- rlang::call2("-", call[[name]], 1)
  }
  call
}
