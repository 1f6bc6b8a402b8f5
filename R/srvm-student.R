# Student-t noise in srvm fits. Its sampler is in src/core/srvm; predictions use
# noise_df().

check_df <- function(df, scaled) {
  if (!identical(df, Inf)) df <- check_number(df, 0, open = TRUE)
  if (scaled && is.finite(df)) {
    kb_abort(c(
      "{.arg df} must be Inf in the scaled form, which integrates the noise
       variance out.",
      x = "It is {format(df)}.",
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
