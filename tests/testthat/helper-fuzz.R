# Random edits of valid arguments and fits, and the permitted outcomes: a value,
# or a condition with a class that callers can handle.

#' Positions of the leaves of a list: a list of paths
leaves <- function(x, path = list()) {
  inner <- is.list(x) && length(x) > 0 && !is.data.frame(x)
  if (!inner) {
    return(list(path))
  }
  steps <- if (is.null(names(x))) seq_along(x) else names(x)
  unlist(lapply(steps, function(step) {
    leaves(unclass(x)[[step]], c(path, list(step)))
  }), recursive = FALSE)
}

#' A copy with another value at a path, or without the path
put_leaf <- function(x, path, change) {
  kind <- oldClass(x)
  x <- unclass(x)
  step <- path[[1]]
  if (length(path) > 1) {
    x[[step]] <- put_leaf(x[[step]], path[-1], change)
  } else {
    x[step] <- list(change(x[[step]]))
    if (is.character(step) && is.null(x[[step]])) x[[step]] <- NULL
  }
  class(x) <- kind
  x
}

pick <- function(x) x[[sample.int(length(x), 1)]]

one_place <- function(v, value) {
  if (length(v) == 0) {
    return(value)
  }
  v[[sample.int(length(v), 1)]] <- value
  v
}

#' Ways to damage a leaf
damages <- list(
  drop = function(v) NULL,
  truncate = function(v) utils::head(v, length(v) %/% 2),
  empty = function(v) v[0],
  extend = function(v) c(v, v),
  negate = function(v) if (is.numeric(v)) -v else NULL,
  negative = function(v) if (is.numeric(v)) one_place(v, -1) else NULL,
  nan = function(v) if (is.numeric(v)) one_place(v, NaN) else NA,
  infinite = function(v) if (is.numeric(v)) one_place(v, Inf) else Inf,
  large = function(v) {
    if (is.integer(v)) one_place(v, .Machine$integer.max) else 1e300
  },
  zero = function(v) if (is.numeric(v)) one_place(v, 0L) else 0,
  type = function(v) {
    if (is.atomic(v) && !is.null(v)) as.character(v) else "text"
  },
  list = function(v) as.list(v), number = function(v) 3,
  shuffle = function(v) if (length(v) > 1) v[sample.int(length(v))] else v,
  matrix = function(v) if (is.atomic(v)) as.matrix(unclass(v)) else v
)

#' Any value instead of an argument
hostile <- list(
  NULL, NA, NaN, Inf, -Inf, -1, 0, 0.5, 1e300, 2^31, -2^31, 3L,
  .Machine$integer.max, "", "text", NA_character_, TRUE, c(TRUE, NA),
  character(), numeric(), integer(), list(), list(1, "a"), factor("a"),
  factor(c("a", "b")), data.frame(), data.frame(x = 1), matrix(0, 0, 0),
  matrix(NaN, 2, 2), matrix("a", 2, 2), 1:3, c(1, NA), function(x) x,
  quote(a + b), y ~ x, 1i, as.raw(1), Sys.Date(), new.env(), NULL
)

#' Run `f()`: returns "" if it ends well, otherwise the error
outcome_of <- function(f) {
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  problem <- tryCatch(
    {
      utils::capture.output(suppressWarnings(suppressMessages(f())))
      NULL
    },
    error = function(error) error
  )
  fine <- is.null(problem) ||
    inherits(problem, c("kb_error", "vctrs_error")) ||
    inherits(problem, "rlib_error_dots_nonempty")
  if (fine) "" else {
    paste0(
      "<", class(problem)[[1]], "> ", cli::ansi_strip(conditionMessage(problem)),
      " in ", paste(deparse(conditionCall(problem))[[1]], collapse = " ")
    )
  }
}

amounts <- c(
  "n_moves", "threads", "particles", "iter", "iter", "warmup", "chains",
  "replicates", "n_temps"
)

#' Number of inputs: few in the fast tests
fuzz_size <- function(fast = 40, full = 2000) {
  size <- Sys.getenv("KERNELBAYES_FUZZ_SIZE")
  if (nzchar(size)) {
    return(as.integer(size))
  }
  if (extended()) full else fast
}

#' Damage one leaf of a fit and run one query, many times
#' @param questions Functions of a fit.
#' @return The errors found, by path, damage and question.
fuzz_fit <- function(fit, questions, n, seed, note = function(what) NULL) {
  set.seed(seed)
  paths <- leaves(fit)
  # The call and the request of a fit do not matter to methods.
  paths <- Filter(function(path) {
    !path[[1]] %in% c("call", "request")
  }, paths)
  found <- character()
  for (i in seq_len(n)) {
    path <- pick(paths)
    damage <- sample(names(damages), 1)
    question <- sample(names(questions), 1)
    # A step with that many moves would be valid, but long.
    if (damage == "large" && "n_moves" %in% unlist(path)) next
    what <- paste(damage, paste(path, collapse = "$"), question)
    note(what)
    spoilt <- tryCatch(put_leaf(fit, path, damages[[damage]]),
      error = function(error) NULL
    )
    if (is.null(spoilt)) next
    # States are checked by C++ too, where the seal says nothing.
    in_state <- identical(path[[1]], "runs") && !"draws" %in% unlist(path)
    if (in_state && question == "update") spoilt <- kernelbayes:::sealed(spoilt)
    problem <- outcome_of(function() questions[[question]](spoilt))
    if (nzchar(problem)) found <- c(found, paste0(what, ": ", problem))
  }
  found
}

#' R's own answers to a bad call
is_of_r <- function(problem) {
  grepl("unused argument|no applicable method|as_draws|draws format", problem)
}

#' Any exported function with any values: its first argument may be a fit, the
#' others are hostile or left out
fuzz_bad_calls <- function(fits, n, seed, note = function(what) NULL) {
  set.seed(seed)
  exports <- Filter(is.function, sapply(
    sort(getNamespaceExports("kernelbayes")), getExportedValue,
    ns = "kernelbayes"
  ))
  found <- character()
  for (i in seq_len(n)) {
    name <- sample(names(exports), 1)
    known <- setdiff(names(formals(args(exports[[name]]))), "...")
    chosen <- known[sort(sample.int(
      length(known), min(sample(0:4, 1), length(known))
    ))]
    values <- lapply(chosen, function(arg) {
      k <- sample.int(length(hostile), 1)
      large <- is.numeric(hostile[[k]]) && isTRUE(any(abs(hostile[[k]]) > 1e6))
      # Valid, but it takes for ever
      if (large && arg %in% c(amounts, "n", "nsim", "steps")) 3 else hostile[[k]]
    })
    names(values) <- chosen
    if (length(known) > 0 && stats::runif(1) < 0.4) {
      values[known[[1]]] <- list(pick(fits))
    }
    what <- paste0(name, "(", paste(names(values), vapply(values, function(v) {
      if (inherits(v, "kb_fit")) class(v)[[1]] else
        substr(paste(deparse(v), collapse = " "), 1, 40)
    }, ""), sep = " = ", collapse = ", "), ")")
    note(what)
    problem <- outcome_of(function() {
      do.call(exports[[name]], values, quote = TRUE)
    })
    if (nzchar(problem) && !is_of_r(problem)) {
      found <- c(found, paste0(what, ": ", problem))
    }
  }
  found
}

#' Replace one argument of a valid call, or damage a leaf of it
fuzz_call <- function(f, arguments, n, seed, note = function(what) NULL) {
  set.seed(seed)
  found <- character()
  for (i in seq_len(n)) {
    spoilt <- arguments
    at <- sample.int(length(arguments), 1)
    name <- c(names(arguments)[[at]], at)
    name <- name[nzchar(name)][[1]]
    value <- arguments[[at]]
    whole <- stats::runif(1) < 0.5 || !is.list(value) || length(value) == 0
    if (whole) {
      k <- sample.int(length(hostile), 1)
      # So many moves, particles or iterations are valid, but take for ever.
      huge <- is.numeric(hostile[[k]]) && isTRUE(any(hostile[[k]] > 1e6))
      if (huge && name %in% amounts) next
      spoilt[at] <- hostile[k]
      what <- paste(name, "is", paste(deparse(hostile[[k]]), collapse = " "))
    } else {
      path <- pick(leaves(unclass(value)))
      damage <- sample(names(damages), 1)
      if (damage == "large" && any(amounts %in% unlist(path))) next
      what <- paste(name, damage, paste(path, collapse = "$"))
      spoilt[at] <- list(tryCatch(put_leaf(value, path, damages[[damage]]),
        error = function(error) value
      ))
    }
    note(what)
    problem <- outcome_of(function() do.call(f, spoilt, quote = TRUE))
    if (nzchar(problem)) found <- c(found, paste0(what, ": ", problem))
  }
  found
}
