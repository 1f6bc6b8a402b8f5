# Allocations that cannot fit are refused before they are tried: R's own error
# comes late, or the system ends the process.

#' Refuse an array with more numbers than the limit allows
#'
#' @param cells Numbers of 8 bytes, as a double.
#' @param what Their name, for the message.
#' @param hint What to do instead, or NULL.
#' @noRd
check_memory <- function(cells, what, hint = NULL) {
  bytes <- 8 * cells
  own <- getOption("kernelbayes.memory_limit")
  # No need to query the free memory for each small matrix.
  if (is.null(own) && bytes < 2e8) {
    return(invisible())
  }
  limit <- if (is.null(own)) free_memory() else check_limit(own)
  # Without a limit the system is asked.
  known <- is.finite(limit)
  if (if (known) bytes <= limit else can_allocate_cpp(bytes)) {
    return(invisible())
  }
  kb_abort(c(
    "{what} would take {format_bytes(bytes)}.",
    x = if (known) "The limit is {format_bytes(limit)}, {.code
         options(kernelbayes.memory_limit = )} or the free memory.",
    x = if (!known) "The system refuses it.",
    i = hint
  ), "memory", bytes = bytes, limit = limit)
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

# The least that the states of a run take: some tens of numbers for each
# particle, and for each level of a chain a value at each row besides
check_run_memory <- function(fit) {
  control <- fit$control
  if (is.null(control$particles)) {
    states <- as.double(control$chains) * control$n_temps
    check_memory(states * (50 + NROW(fit$data$x)), "The chains",
      "Use fewer {.arg chains}, or a smaller {.arg n_temps}."
    )
  } else {
    check_memory(50 * as.double(control$particles) * control$replicates,
      "The particles", "Use fewer {.arg particles} or {.arg replicates}."
    )
  }
}

# Draws of f at points, S x N for each function, and a copy on the way
check_draws_memory <- function(draws, points, functions = 1) {
  check_memory(
    2 * as.double(draws) * points * functions, "The draws of f",
    "Use a smaller {.arg ndraws}, or {.arg newdata} in parts."
  )
}

check_limit <- function(limit) {
  fine <- is.numeric(limit) && length(limit) == 1 && isTRUE(limit > 0)
  if (!fine) {
    bad_argument(limit, "kernelbayes.memory_limit",
      "a number of bytes above 0, or Inf"
    )
  }
  limit
}

# The system may refuse any function of the C++ core an allocation.
lapply(ls(pattern = "^[a-z].*_cpp$"), function(name) {
  entry <- get(name)
  body(entry) <- call("memory_value", body(entry))
  assign(name, entry, topenv())
})

# Bytes of available memory reported by the system, Inf if unknown
free_memory <- function(file = "/proc/meminfo") {
  lines <- tryCatch(
    suppressWarnings(readLines(file, 10)),
    error = function(error) character()
  )
  line <- grep("^MemAvailable:", lines, value = TRUE)
  kilobytes <- suppressWarnings(as.double(gsub("[^0-9]", "", line)))
  if (length(kilobytes) == 1 && isTRUE(kilobytes > 0)) 1024 * kilobytes else Inf
}

format_bytes <- function(bytes) {
  if (!is.finite(bytes)) {
    return("any size")
  }
  unit <- c("bytes", "kB", "MB", "GB", "TB", "PB")
  power <- min(max(floor(log(max(bytes, 1), 1000)), 0), length(unit) - 1)
  paste(format(bytes / 1000^power, digits = 2), unit[[power + 1]])
}
