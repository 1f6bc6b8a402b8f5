# Responses of the rows: checks, and the stored form.

outcome_kinds <- c(
  "numeric", "factor", "ordered", "either", "any", "matrix", "binomial",
  "number", "trials", "interval"
)

# The kind of response, for engines that accept several
#
# Ordered classes are the levels of an ordered factor, if more than two. Binomial
# responses are two classes, or successes of trials.
outcome_kind <- function(y, outcome) {
  y <- single_column(y)
  many <- is.factor(y) && length(setdiff(levels(y), NA)) > 2
  classes <- is.factor(y) || is.character(y) || is.logical(y)
  switch(outcome,
    ordered = if (is.factor(y) && !many) "factor" else "ordered",
    any = if (is.ordered(y) && many) {
      "ordered"
    } else if (inherits(y, "Surv")) {
      "interval"
    } else {
      outcome_kind(y, "either")
    },
    binomial = if (classes) "factor" else "trials",
    number = if (inherits(y, "Surv") || is_limits(y)) {
      "interval"
    } else {
      "numeric"
    },
    either = if (classes) "factor" else "numeric",
    outcome
  )
}

single_column <- function(y) {
  if (is.data.frame(y) && ncol(y) == 1) y <- y[[1]]
  if (NCOL(y) > 1) y <- flags_as_numbers(y)
  if (length(dim(y)) == 2 && ncol(y) == 1) y[, 1] else y
}

# TRUE and FALSE in columns beside others
flags_as_numbers <- function(y) {
  if (is.data.frame(y)) {
    y[] <- lapply(y, flags_as_numbers)
  } else if (is.logical(y)) {
    storage.mode(y) <- "double"
  }
  y
}

#' A numeric vector, a factor or a numeric matrix with one value per row
#' @param arg Its name for the user.
#' @param rows_of The user's name for the predictors.
#' @param levels Levels of the fit; NULL in fitting.
#' @noRd
check_outcome <- function(y, outcome, arg, n, rows_of, levels = NULL) {
  value <- if (outcome == "matrix") flags_as_numbers(y) else single_column(y)
  value <- if (is.data.frame(value)) plain_numbers(value) else
    plain_number(value)
  if (is.data.frame(value) && all(vapply(value, is.numeric, NA))) {
    value <- as.matrix(value)
  }
  fits <- switch(outcome,
    trials = is.numeric(value) && !inherits(value, "Surv"),
    interval = is_interval(value),
    numeric = , matrix = is.numeric(value), ordered = is.factor(value),
    factor = outcome_kind(value, "either") == "factor"
  )
  most <- if (outcome %in% c("matrix", "trials", "interval")) 2 else 1
  if (!fits || length(dim(value)) > most || NCOL(value) == 0) {
    refuse_outcome(y, outcome, arg)
  }
  if (NROW(value) != n) {
    refuse(arg, "outcome",
      "must have one value per row of {.arg {rows_of}}: {n}.",
      "It has {NROW(value)}."
    )
  }
  if (outcome == "interval") {
    return(outcome_interval(value, arg))
  }
  value <- switch(outcome,
    trials = outcome_trials(value, arg),
    numeric = as.double(value), matrix = outcome_matrix(value, arg),
    ordered = factor(value, setdiff(levels(value), NA), ordered = TRUE),
    factor = outcome_classes(value, levels, arg)
  )
  refuse_infinite(value, arg)
  value
}

outcome_matrix <- function(y, arg) {
  default <- position_names(NCOL(y), arg)
  names <- if (is.matrix(y) && !is.null(colnames(y))) colnames(y) else default
  names <- make.unique(ifelse(names == "", default, names))
  matrix(as.double(y), NROW(y), NCOL(y), dimnames = list(NULL, names))
}

outcome_classes <- function(y, levels, arg) {
  if (is.null(levels)) {
    if (is.character(y)) {
      tell_text(y, arg)
      y <- factor(y, known_levels(y))
    }
    return(factor(y, ordered = FALSE))
  }
  novel <- setdiff(as.character(y), c(levels, NA))
  if (length(novel) > 0) {
    refuse(arg, "outcome", "must have the classes of the fit: {.val {levels}}.",
      "It also has {.val {novel}}.", levels = novel
    )
  }
  factor(as.character(y), levels = levels)
}

# Numbers are read as text where one of them cannot be read
tell_text <- function(y, arg) {
  y <- y[!is.na(y)]
  numbers <- suppressWarnings(!is.na(as.numeric(y)))
  classes <- length(unique(y))
  if (classes > 2 && mean(numbers) >= 0.9) {
    odd <- utils::head(unique(y[!numbers]), 3)
    kb_inform(c(
      "The response {.arg {arg}} is text, and so has {classes} classes, but
       looks like numbers.",
      x = if (length(odd) > 0) "These are not numbers: {.val {odd}}.",
      i = "{.fn as.numeric} makes numbers of text, {.fn factor} confirms
           classes."
    ), "text")
  }
}

refuse_outcome <- function(y, outcome, arg) {
  wanted <- c(
    numeric = "a numeric vector",
    factor = "a factor (or a character or logical vector)",
    ordered = "a factor, with its levels in their order",
    trials = "classes, zeros and ones, or a matrix of successes and failures",
    interval = paste(
      "numeric, a Surv object of the survival package with the type",
      paste0(toString(surv_types[-4]), " or ", surv_types[[4]])
    ),
    matrix = "numeric: a vector, or a matrix or data frame of such columns"
  )[[outcome]]
  type <- if (is.atomic(y) && !is.null(dim(y))) paste(" of type", typeof(y))
  hint <- if (outcome == "factor" && is.numeric(y)) {
    "Use {.fun factor} to make classes of numbers."
  } else if (outcome == "numeric" && NCOL(y) == 2) {
    "{.code bark(family = binomial())} takes successes and failures."
  } else if (outcome == "ordered") {
    "Use {.fun factor} with {.arg levels} and {.code ordered = TRUE}."
  }
  refuse(arg, "outcome", "is the response and must be {wanted}.",
    "It is {describe(y)}{type}.", hint
  )
}

#' Refuse responses that are not numbers: `cbind()` takes the codes of factors
#' and dates
#' @param response A call of `cbind()`.
#' @noRd
refuse_codes <- function(response, data, arg) {
  for (term in as.list(response)[-1]) {
    if (rlang::is_call(term, "cbind")) {
      refuse_codes(term, data, arg)
    } else {
      value <- translate_errors(eval(term, data, formula_scope()), arg)
      if (is.data.frame(value)) value <- value[[1]]
      if (!is.numeric(value) && !is.logical(value)) {
        refuse_outcome(value, "matrix", outcome_label(term))
      }
    }
  }
}

# Successes and failures --------------------------------------------------------

# A matrix of two columns
outcome_trials <- function(y, arg) {
  if (NCOL(y) == 1) {
    odd <- which(!y %in% c(0, 1, NA))
    if (length(odd) > 0) {
      refuse(arg, "outcome",
        "must be classes, zeros and ones, or a matrix of successes and failures.",
        "Element {odd[[1]]} is {format(y[[odd[[1]]]])}.",
        "Write {.code cbind(successes, trials - successes) ~ x}."
      )
    }
    y <- cbind(y, 1 - y)
  }
  if (ncol(y) != 2) {
    refuse(arg, "outcome", "must have two columns, successes and failures.",
      "It has {ncol(y)}."
    )
  }
  odd <- which(y < 0 | y != round(y), arr.ind = TRUE)
  if (length(odd) > 0) {
    at <- odd[1, ]
    refuse(arg, "outcome",
      "must have numbers of successes and of failures: whole, at least 0.",
      "Row {at[[1]]} has {format(y[at[[1]], at[[2]]])}
       {c('successes', 'failures')[at[[2]]]}.",
      "The second column is {.code trials - successes}."
    )
  }
  matrix(as.double(y), nrow(y),
    dimnames = list(NULL, c("successes", "failures"))
  )
}

# Censored numbers --------------------------------------------------------------

# Types of survival::Surv()
surv_types <- c("right", "left", "interval", "interval2")

is_interval <- function(y) {
  if (inherits(y, "Surv")) {
    return(attr(y, "type") %in% surv_types)
  }
  is.numeric(y) && (NCOL(y) == 1 || is_limits(y))
}

# Limits as fits hold them
is_limits <- function(y) {
  is.matrix(y) && identical(colnames(y), c("lower", "upper"))
}

#' Limits of numbers known up to an interval
#'
#' Surv() stores its types "interval" and "interval2" alike: start, end and
#' status, which is 0 for right, 1 for none, 2 for left and 3 for interval
#' censoring; other types have the number and the status.
#' @return Matrix of two columns, equal where a number is known.
#' @noRd
outcome_interval <- function(y, arg) {
  names <- list(NULL, c("lower", "upper"))
  if (is_limits(y)) {
    return(check_limits(y, arg))
  }
  if (!inherits(y, "Surv")) {
    refuse_infinite(y, arg)
    return(matrix(as.double(y), length(y), 2, dimnames = names))
  }
  status <- y[, "status"]
  type <- attr(y, "type")
  start <- as.double(y[, if ("time1" %in% colnames(y)) "time1" else "time"])
  end <- if ("time2" %in% colnames(y)) as.double(y[, "time2"]) else start
  if (type == "left") status <- ifelse(status == 0, 2, status)
  out <- cbind(
    ifelse(status == 2, -Inf, start),
    ifelse(status == 0, Inf, ifelse(status == 3, end, start))
  )
  dimnames(out) <- names
  check_limits(out, arg)
}

check_limits <- function(y, arg) {
  odd <- which(y[, 1] > y[, 2] | (is.infinite(y[, 1]) & y[, 1] == y[, 2]))
  if (length(odd) > 0) {
    refuse(arg, "outcome", "must have finite numbers, or limits in their order.",
      "Row {odd[[1]]} is from {format(y[odd[[1]], 1])} to
       {format(y[odd[[1]], 2])}."
    )
  }
  y
}
