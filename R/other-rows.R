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

#' Sets of rows: single ones, with the smallest and largest values of the term
#' and its columns, or one per level, and some rows in another order, with a
#' half of the values of each column
#' @noRd
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
