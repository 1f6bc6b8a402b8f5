# Weights of the rows, which some engines accept.

# Weights of the rows: looked up in the data first, as by `lm()`
evaluate_weights <- function(weights, data, rows_of = "data") {
  value <- tryCatch(rlang::eval_tidy(weights, data), error = function(error) {
    kb_abort(c(
      "{.arg weights} cannot be evaluated.",
      x = "{conditionMessage(error)}."
    ), "argument", argument = "weights")
  })
  check_weights(value, nrow(data), rows_of)
}

# Those of the rows of a fit
row_weights <- function(fit) {
  w <- fit$data$weights
  if (is.null(w)) rep(1, nrow(fit$data$x)) else w
}

# NULL, or positive finite numbers, one per row; NA where they are missing
check_weights <- function(weights, n, rows_of) {
  if (is.null(weights)) {
    return(NULL)
  }
  known <- if (is.numeric(weights)) weights[!is.na(weights)]
  fine <- is.numeric(weights) && is.null(dim(weights)) &&
    length(weights) == n && all(is.finite(known)) && all(known > 0) &&
    !any(is.nan(weights))
  if (!fine) {
    bad_argument(weights, "weights", paste0(
      "positive finite numbers, one per row of `", rows_of, "` (", n, ")"
    ))
  }
  as.double(weights)
}
