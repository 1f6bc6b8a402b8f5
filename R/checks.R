# Checks of arguments. Each returns its argument, cleaned, or aborts with class
# `kb_error_argument`: the argument's name, its value, and what it must be.

#' @srrstats {G2.0} Each argument is checked for its length by one of these
#'   functions, which name the argument, what came and what was wanted.
#' @srrstats {G2.1} They check types in the same place.
#' @srrstats {G2.3} Strings are checked, too.
#' @srrstats {G2.3a} `check_choice()` accepts the strings of a set only.
#' @noRd
NULL

bad_argument <- function(x, arg, wanted, hint = NULL) {
  kb_abort(c(
    "{.arg {arg}} must be {wanted}.",
    x = "It is {describe(x)}.", i = hint
  ), "argument", argument = arg, value = if (!missing(x)) x)
}

# Describe a value, or an argument without one, in a few words for an error
# message
describe <- function(x) {
  if (missing(x)) {
    return("missing")
  }
  if (is.null(x)) {
    return("NULL")
  }
  if (is.function(x)) {
    return("a function")
  }
  if (is.atomic(x) && is.null(dim(x)) && length(x) == 1) {
    if (is.character(x)) {
      return(paste0('"', x, '"'))
    }
    return(paste(if (is.numeric(x)) "the number" else "the value", format(x)))
  }
  size <- if (is.null(dim(x))) {
    paste("of length", length(x))
  } else {
    paste(dim(x), collapse = " x ")
  }
  paste(class_of(x), size)
}

# "a Date"
class_of <- function(x) {
  name <- class(x)[[1]]
  paste(if (grepl("^[aeiou]", name, ignore.case = TRUE)) "an" else "a", name)
}

# A single finite number in a range
check_number <- function(x, lower = -Inf, upper = Inf, open = FALSE,
                         arg = rlang::caller_arg(x)) {
  inside <- !missing(x) && is.numeric(x) && length(x) == 1 && is.finite(x) &&
    if (open) x > lower && x < upper else x >= lower && x <= upper
  if (!isTRUE(inside)) {
    bad_argument(x, arg, number_range("a single finite number", lower, upper,
      open = open
    ))
  }
  as.double(x)
}

# A whole number in a range
check_count <- function(x, lower = 0, upper = .Machine$integer.max,
                        arg = rlang::caller_arg(x)) {
  inside <- !missing(x) && is.numeric(x) && length(x) == 1 && is.finite(x) &&
    x == round(x) && x >= lower && x <= upper
  if (!isTRUE(inside)) {
    # Mention the largest integer only if it was exceeded.
    beyond <- !missing(x) && is.numeric(x) && isTRUE(x > upper)
    if (upper == .Machine$integer.max && !beyond) upper <- Inf
    bad_argument(x, arg, number_range("a whole number", lower, upper))
  }
  as.integer(x)
}

number_range <- function(what, lower, upper, open = FALSE) {
  if (is.infinite(lower) && is.infinite(upper)) {
    return(what)
  }
  if (is.infinite(upper)) {
    return(paste(what, if (open) "above" else "of at least", format(lower)))
  }
  paste(
    what, if (open) "strictly between" else "between",
    format(lower), "and", format(upper)
  )
}

check_flag <- function(x, arg = rlang::caller_arg(x)) {
  if (missing(x) || !rlang::is_bool(x)) {
    bad_argument(x, arg, "TRUE or FALSE")
  }
  x
}

# One of a set of strings; the full set (a default) means its first element
check_choice <- function(x, choices, arg = rlang::caller_arg(x)) {
  if (missing(x)) bad_argument(x, arg, "given")
  if (identical(x, choices)) {
    return(choices[[1]])
  }
  if (!(rlang::is_string(x) && x %in% choices)) {
    near <- if (rlang::is_string(x)) nearest_name(x, choices)
    bad_argument(
      x, arg, paste("one of", paste0('"', choices, '"', collapse = ", ")),
      if (!is.null(near)) paste0('Did you mean "', near, '"?')
    )
  }
  x
}

# An object of one of the package's classes; `wanted` says how to make one
check_class <- function(x, class, wanted, arg = rlang::caller_arg(x)) {
  if (missing(x) || !inherits(x, class)) {
    bad_argument(x, arg, wanted)
  }
  check_value(x, class, wanted, arg)
  x
}

# Lists with a class can be edited: are all parts still valid?
check_value <- function(x, class, wanted, arg) {
  layout <- value_layout(class)
  if (is.null(layout)) {
    return(invisible())
  }
  tryCatch(check_layout(x, layout, what = arg), kb_error_fit = function(error) {
    kb_abort(c(
      "{.arg {arg}} must be {wanted}, with all its parts.",
      x = "Its {.code {error$field}} is {describe(error$value)}."
    ), "argument", argument = arg, value = x, parent = NULL)
  })
}

value_layout <- function(class) {
  switch(class,
    kb_mcmc_control = mcmc_control_given_layout,
    kb_smc_control = smc_control_given_layout,
    kb_convergence = convergence_layout,
    kb_srvm_prior = srvm_prior_given_layout,
    kb_bark_prior = bark_prior_given_layout,
    kb_srvm_memory = srvm_memory_layout, kb_label_noise = label_noise_layout,
    kb_srvm_settings = c(
      layout(.columns = length(.object$scaling$x_center)), srvm_settings_layout
    )
  )
}

# A file name whose folder exists, or NULL; a later `setwd()` does not change
# what it means
check_file <- function(x, arg = rlang::caller_arg(x)) {
  if (is.null(x)) {
    return(NULL)
  }
  if (!rlang::is_string(x) || !dir.exists(dirname(x))) {
    bad_argument(x, arg, "NULL or a file name in an existing folder")
  }
  absolute_path(x)
}

absolute_path <- function(file, folder = getwd()) {
  file <- path.expand(file)
  if (grepl("^([/\\\\]|[A-Za-z]:)", file)) file else file.path(folder, file)
}
