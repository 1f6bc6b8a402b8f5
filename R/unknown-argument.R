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
