# Student-t noise in srvm fits. Its sampler is in src/core/srvm; predictions use
# noise_df(). Degrees of freedom that are learned have the values, and the prior, of
# bark().

#' @return Degrees of freedom, several if they are learned.
#' @noRd
check_df <- function(df, scaled, learn = "learn") {
  given <- df
  if (identical(df, learn)) {
    df <- learned_df
  } else if (is.character(df)) {
    bad_argument(df, "df", sprintf("a number above 0, Inf or \"%s\"", learn))
  } else if (!identical(df, Inf)) {
    df <- check_number(df, 0, open = TRUE)
  }
  if (scaled && !identical(df, Inf)) {
    kb_abort(c(
      "{.arg df} must be Inf in the scaled form, which integrates the noise
       variance out.",
      x = "It is {format(given)}.",
      i = "Use {.code scaled = FALSE}."
    ), "argument", argument = "df")
  }
  df
}

# Requirements of Student-t noise
refuse_student <- function(settings) {
  window <- settings$memory$window
  if (response_name(settings) == "student" && is.finite(window)) {
    kb_abort(c(
      "{.arg window} of {.arg memory} must be Inf with Student-t noise.",
      x = "Its {.arg window} is {window}.",
      i = "{.code srvm_memory(candidates = )} bounds the number of centres;
           with {.code srvm_prior(df = Inf)} a window is possible."
    ), c("not_defined", "argument"), argument = "memory")
  }
}

# What print() of a fit adds to its noise
student_words <- function(fit, show) {
  if (!learns_df(fit)) {
    return(student_line(fit$settings$prior, ", "))
  }
  pool <- srvm_pool(fit)
  median <- weighted_quantile(pool$df, pool$weights, 0.5)
  paste0(", Student's t, median df ", show(median))
}

# NULL if the noise is normal
student_line <- function(prior, before, after = NULL) {
  if (length(prior$df) > 1) {
    return(paste0(before, "Student's t, df learned", after))
  }
  if (is.null(prior$df) || is.infinite(prior$df)) {
    return(NULL)
  }
  paste0(before, "Student's t, df ", format(prior$df), after)
}
