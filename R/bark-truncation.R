# The truncation approximation of bark(), and what is not defined for it.

is_truncated <- function(fit) is_truncated_prior(fit$settings$prior)

is_truncated_prior <- function(prior) {
  is.list(prior) && identical(prior$approximation, "truncation")
}

# Truncation has only one kind of sweep
refuse_truncated <- function(prior, control) {
  if (is_truncated_prior(prior) && control$sweep == "single") {
    kb_abort(c(
      "{.code sweep = \"single\"} is not defined for {.code approximation =
       \"truncation\"}.",
      i = "Use {.code sweep = \"full\"}; {.val single} is only for comparing
           the continuous approximation with other implementations."
    ), c("not_defined", "argument"), argument = "sweep")
  }
}

#' Refuse options that its sampler does not have
#' @param given Named flags.
#' @noRd
refuse_with_truncation <- function(used) {
  if (length(used) > 0) {
    kb_abort(c(
      "{.arg {used}} must be left out with {.code approximation =
       \"truncation\"}.",
      i = "It belongs to the continuous approximation."
    ), c("not_defined", "argument"), argument = used[[1]])
  }
}

refuse_truncated_classes <- function(prior, family) {
  if (is_truncated_prior(prior) && !response_families[[family]]$truncation) {
    kb_abort(c(
      "{.code approximation = \"truncation\"} is not defined for more than two
       classes.",
      i = "Use the continuous approximation, the default."
    ), c("not_defined", "argument"), argument = "approximation")
  }
}
