# Student's noise in srvm fits. Its sampler is in src/core/srvm; predictions
# find it by noise_df().

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

# What Student's noise cannot do without
refuse_student <- function(settings) {
  window <- settings$memory$window
  if (response_name(settings) == "student" && is.finite(window)) {
    kb_abort(c(
      "{.arg memory} must have no window where the noise is Student's.",
      x = "Its {.arg window} is {window}.",
      i = "{.code srvm_memory(candidates = )} bounds the number of centres;
           with {.code srvm_prior(df = Inf)} a window is possible."
    ), c("not_defined", "argument"), argument = "memory")
  }
}

# NULL where the noise is normal
student_line <- function(prior, before, after = NULL) {
  if (is.null(prior$df) || is.infinite(prior$df)) {
    return(NULL)
  }
  paste0(before, "Student's t, df ", format(prior$df), after)
}
