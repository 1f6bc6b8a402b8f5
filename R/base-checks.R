# Checks of arguments. Each returns its argument, cleaned, or aborts with class
# `kb_error_argument`: the argument's name, its value, and what it must be.

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

# One positive number or several
check_positive_vector <- function(x, arg = rlang::caller_arg(x)) {
  good <- !missing(x) && is.numeric(x) && length(x) > 0 &&
    all(is.finite(x) & x > 0)
  if (!isTRUE(good)) bad_argument(x, arg, "positive finite numbers")
  as.double(x)
}

# A number above 0
check_share <- function(x, most, arg = rlang::caller_arg(x)) {
  inside <- is.numeric(x) && length(x) == 1 && isTRUE(x > 0 && x <= most)
  if (!inside) {
    bad_argument(x, arg, paste("a single number above 0 and at most", format(most)))
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

#' A whole number of things, which are made only if they fit into memory
#' @param each Numbers that each takes, at least.
#' @noRd
check_size <- function(x, lower = 0, each = 1, arg = rlang::caller_arg(x)) {
  x <- check_count(x, lower, arg = arg)
  check_memory(each * as.double(x), sprintf("`%s = %.0f`", arg, x),
    paste0("Use a smaller {.arg ", arg, "}.")
  )
  x
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
  check_value(x, wanted, arg)
}

# Lists with a class can be edited: their parts are made again by the
# constructor, which checks them
check_value <- function(x, wanted, arg) {
  tryCatch(remade(x), error = function(error) {
    reason <- paste(c(error$message, error$body), collapse = " ")
    kb_abort(c(
      "{.arg {arg}} must be {wanted}, with all its parts.", x = "{reason}"
    ), "argument", argument = arg, value = x, parent = NULL)
  })
}

remade <- function(x) {
  if (inherits(x, "kb_srvm_settings")) check_object(x, "reference")
  maker <- Find(Negate(is.null), lapply(class(x), settings_maker))
  if (is.null(maker)) {
    return(x)
  }
  settled <- settled_parts(x)
  parts <- unclass(x)[setdiff(names(x), settled)]
  arguments <- intersect(names(parts), names(formals(maker)))
  made <- unclass(do.call(maker, as_given(parts[arguments]), quote = TRUE))
  made <- made[setdiff(names(made), settled)]
  refuse_edited(parts, made, arguments)
  x[names(made)] <- made
  x
}

# Parts that constructors set themselves, and misspelled ones
refuse_edited <- function(parts, made, arguments) {
  constant <- setdiff(intersect(names(parts), names(made)), arguments)
  edited <- !mapply(identical, parts[constant], made[constant])
  if (any(edited)) {
    kb_abort("{.arg {constant[edited]}} must be left as it is.", "argument")
  }
  for (name in setdiff(names(parts), c(arguments, constant))) {
    near <- nearest_name(name, names(made))
    if (!is.null(near)) {
      kb_abort("There is no {.arg {name}}: did you mean {.arg {near}}?",
        "argument"
      )
    }
  }
}

# Constructors by class
settings_maker <- function(class) {
  switch(class,
    kb_mcmc_control = mcmc_control, kb_smc_control = smc_control,
    kb_convergence = convergence, kb_srvm_memory = srvm_memory,
    kb_srvm_prior = srvm_prior, kb_lambda_gamma = lambda_gamma,
    kb_ig = ig, kb_fixed = fixed_variance,
    kb_ig_improper = function(start, multiple) ig_improper(start, multiple),
    kb_bark_prior = bark_prior, kb_noise_gamma = noise_gamma,
    kb_noise_improper = noise_improper,
    kb_centres = function(weights, intercept, sd) {
      if (is.null(sd)) return(centre_rows(weights, intercept))
      centre_near_rows(sd, weights, intercept)
    },
    kb_kgs_prior = kgs_prior, kb_noise_beta = noise_beta,
    kb_noise_class = noise_class,
    kb_kbr_schedule = function(alpha, nu, eps, delta) {
      kbr_schedule(alpha, nu, eps, delta)
    },
    kb_kernel_gaussian = kernel_gaussian, kb_kernel_laplace = kernel_laplace,
    kb_kernel_matern = kernel_matern,
    kb_kernel_rational_quadratic = kernel_rational_quadratic,
    kb_kernel_periodic = kernel_periodic,
    kb_kernel_polynomial = kernel_polynomial,
    kb_kernel_linear = kernel_linear, kb_kernel_rotation = kernel_rotation,
    kb_kernel_constant = kernel_constant, kb_kernel_custom = kernel_custom,
    kb_kernel_sum = kernel_of_parts("sum"),
    kb_kernel_product = kernel_of_parts("product"),
    kb_kernel_dictionary = function(parts) {
      do.call(kernel_dictionary, check_parts(parts))
    },
    kb_td_target = td_target, kb_td_move = td_move,
    kb_td_rejuvenate = td_rejuvenate
  )
}

# Parts that stay as they are, though they are no arguments: degrees of freedom
# that are learned; those that earlier priors lack, which says that they have no
# lines; and files, whose folders are missed when they are written
settled_parts <- function(x) {
  c(
    if (length(x$df) > 1 && is_df(x$df)) "df",
    if (inherits(x, "kb_srvm_prior")) setdiff("coef_df", names(x)),
    if (rlang::is_string(x$checkpoint)) "checkpoint"
  )
}

# Of selection, the second number may be left to `n_signals`, and both to their
# default; no powers are NULL.
as_given <- function(parts) {
  if (identical(parts$powers, numeric())) parts["powers"] <- list(NULL)
  odds <- parts$selection
  if (is.double(odds) && length(odds) == 2) {
    if (is.na(odds[[2]])) parts$selection <- odds[[1]]
    if (identical(odds[[1]], 1) && odds[[2]] %in% c(1, NA)) {
      parts$selection <- NULL
    }
  }
  parts
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

# Unknown arguments: hints on what the user may have meant.

# `...` of an exported function must be empty: unknown arguments are errors
check_no_dots <- function(..., .fn = rlang::caller_fn()) {
  if (...length() == 0) {
    return(invisible())
  }
  unknown <- ...names()
  unknown <- if (is.null(unknown)) "(unnamed)" else unknown
  unknown[unknown == "" | is.na(unknown)] <- "(unnamed)"
  hints <- unknown_argument_hints(unknown, .fn)
  kb_abort(c(
    "Unknown argument{?s}: {.arg {unknown}}.", hints
  ), "unknown_argument", argument = unknown)
}

#' A hint for each argument that resembles another or belongs elsewhere;
#' otherwise the list of arguments
#' @param f The function that was called, or NULL.
#' @noRd
unknown_argument_hints <- function(unknown, f) {
  known <- setdiff(names(formals(f)), c("...", "x", "object"))
  hints <- unlist(lapply(unknown, argument_hint, known, argument_makers(f)))
  if (length(hints) == 0 && length(known) > 0) {
    listed <- paste0("{.arg ", known, "}", collapse = ", ")
    hints <- paste0("Its arguments are ", listed, ".")
  }
  if (length(hints) > 0) stats::setNames(hints, rep("i", length(hints)))
}

argument_hint <- function(name, known, makers) {
  near <- nearest_name(name, known)
  if (!is.null(near)) {
    return(paste0("Did you mean {.arg ", near, "}?"))
  }
  for (argument in names(makers)) {
    inside <- nearest_name(name, names(formals(makers[[argument]])))
    if (!is.null(inside)) {
      return(paste0(
        "Write {.code ", argument, " = ", makers[[argument]], "(", inside,
        " = )}."
      ))
    }
  }
  if (name == "subset" && "data" %in% known) {
    return("Choose rows by {.code data = subset(data, ...)}.")
  }
  # A kernel of the user's own needs its derivatives and scales.
  if (name == "kernel" && identical(makers$prior, "bark_prior")) {
    return("{.fn bark} has gaussian kernels only: it learns a scale for each
      predictor. {.fn srvm} and {.fn kgs} take kernels.")
  }
  NULL
}

# The most similar name, ignoring `.` and `_`, or NULL
nearest_name <- function(name, known) {
  if (length(known) == 0) {
    return(NULL)
  }
  plain <- function(s) tolower(gsub("[._]", "", s))
  distance <- utils::adist(plain(name), plain(known))[1, ]
  # A short name resembles too many others.
  if (min(distance) <= (nchar(name) >= 4) + (nchar(name) >= 8)) {
    known[[which.min(distance)]]
  }
}

# Functions of this package that make the arguments `control` and `prior`
argument_makers <- function(f) {
  defaults <- as.list(formals(f))
  defaults <- Filter(is.call, defaults[names(defaults) %in% maker_arguments])
  makers <- lapply(defaults, function(default) as.character(default[[1]]))
  # For srvm() it depends on the method.
  if ("method" %in% names(formals(f)) && is.null(makers$control)) {
    makers$control <- "smc_control"
  }
  Filter(function(maker) maker %in% getNamespaceExports("kernelbayes"), makers)
}

maker_arguments <- c("control", "prior")

check_positive <- function(x, arg) {
  check_number(x, 0, Inf, open = TRUE, arg = arg)
}

check_function <- function(x, optional = FALSE, arg = rlang::caller_arg(x)) {
  if (!missing(x) && (is.function(x) || optional && is.null(x))) {
    return(x)
  }
  bad_argument(x, arg, if (optional) "NULL or a function" else "a function")
}

check_probability <- function(x, optional = FALSE, arg = rlang::caller_arg(x)) {
  if (!missing(x) && (is_move_probability(x) || optional && is.null(x))) {
    return(x)
  }
  bad_argument(x, arg, "a function or a number between 0 and 1")
}

is_move_probability <- function(x) {
  is.function(x) ||
    is.numeric(x) && length(x) == 1 && isTRUE(x >= 0 && x <= 1)
}

is_df <- function(df) {
  is.null(df) || is.double(df) && length(df) > 0 && isTRUE(all(df > 0)) &&
    (length(df) == 1 || all(is.finite(df)))
}

# Options --------------------------------------------------------------------

# Options of settings and priors: tables with one row each, from which their makers,
# print() and prior_summary() follow.
#
# * `check`: a function of the value, of all options and of the option's name. It
#   returns the cleaned value, and in place of NULL what the user left open.
# * `word`: what print() and prior_summary() call it, if anything.
# * `show`: what print() says after the word, a function of the value and of all
#   options; NULL: print() omits it.
#
# Options that others depend on come first. Their defaults, and the choices of
# strings, are those of the maker's arguments.

option <- function(check, word = NULL, show = as_text) {
  list(check = check, word = word, show = show)
}

as_text <- function(value, all) if (!is.null(value)) toString(format(value))

#' A check of one value for a row
#' @param check A function of the value that aborts or returns it cleaned.
#' @param ... Its further arguments.
#' @param null NULL if the value must be given, or a function of all options that
#'   returns what it is in place of NULL.
#' @noRd
check_by <- function(check, ..., null = NULL) {
  force(null)
  named <- "arg" %in% names(formals(check))
  function(value, all, name) {
    if (is.null(value) && !is.null(null)) {
      return(null(all))
    }
    if (named) check(value, ..., arg = name) else check(value, ...)
  }
}

# One of the strings that are the default of the maker's argument
choice_of <- function(maker) {
  force(maker)
  function(value, all, name) check_choice(value, eval(formals(maker)[[name]]), name)
}

# NULL stays, for the fit to decide
left_open <- function(all) NULL

# The arguments of the function that calls this, checked, in their order
given_options <- function(rows) {
  names <- intersect(names(formals(rlang::caller_fn())), names(rows))
  check_options(rows, mget(names, rlang::caller_env()))
}

check_options <- function(rows, values) {
  for (name in names(rows)) {
    values[name] <- list(rows[[name]]$check(values[[name]], values, name))
  }
  values
}

print_options <- function(x, rows) {
  title <- sub("^kb_", "", class(x)[[1]])
  cat("<", title, ">\n", option_lines(x, rows), sep = "")
  invisible(x)
}

# NULL if there are none
option_lines <- function(values, rows) {
  unlist(lapply(names(rows), function(name) {
    row <- rows[[name]]
    shown <- if (!is.null(row$word)) row$show(values[[name]], values)
    if (!is.null(shown)) paste0("  ", row$word, ": ", shown, "\n")
  }))
}

# Named by the options
option_words <- function(rows) unlist(lapply(rows, `[[`, "word"))
