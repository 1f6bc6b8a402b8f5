# print() of fits of Markov chains and of their diagnostics.

#' print() of a fit of chains
#' @param title The first line.
#' @param describe Function of the fit and of a function that formats numbers:
#'   the lines on data and posterior.
#' @param iterations More on the iterations.
#' @noRd
print_chains <- function(x, title, describe, digits, iterations = NULL) {
  cat(title, "\n", sep = "")
  if (all(draws_in(x) == 0)) {
    cat(incomplete_line(x))
    return(invisible(x))
  }
  show <- function(v) format(v, digits = digits)
  cat(
    describe(x, show),
    "  chains:       ", length(x$runs), ", ",
    counted(x$control$iter, "iteration"), " after ", x$control$warmup,
    iterations, converged_words(x), "\n",
    mixing_line(x, show),
    time_line(x),
    incomplete_line(x),
    sep = ""
  )
  invisible(x)
}

# Have the chains converged? By the thresholds of a run that goes on until then,
# otherwise by those of the warning
converged_words <- function(fit) {
  until <- fit$control$until
  fixed <- is.null(until)
  if (fit$status != "complete" || fixed && !can_judge_chains(fit)) {
    return(NULL)
  }
  if (nrow(unmet_convergence(fit, if (fixed) trusted_mixing else until)) == 0) {
    return(": converged")
  }
  if (fixed) ": not converged" else ": budget used up, not converged"
}

can_judge_chains <- function(fit) {
  length(short_words(fit)) == 0 && !all(is.na(chain_mixing(fit)$rhat))
}

# Says in advance how long such a run may take
announce_budget <- function(control) {
  until <- control$until
  if (is.null(until)) {
    return(invisible())
  }
  kb_inform(c(
    "{counted(control$chains, 'chain')} run until they have converged:
     {goal_words(until)}.",
    i = "Their budget: {until$max_iter} iterations each after a warmup of
         {control$warmup}. {.fn mcmc_control} sets another."
  ), "budget")
}

formula_line <- function(x) {
  if (!is.null(x$mould$formula)) {
    paste0("  formula:      ", one_line(x$mould$formula), "\n")
  }
}

# Of the whole call, or of all calls; `timings()` has the sampler's
time_line <- function(x) {
  paste0("  time:         ", format(round(x$seconds, 3)), " s\n")
}

# Rows that the fit left out
omitted_part <- function(x) {
  n <- length(x$mould$omitted)
  if (n > 0) paste0(", ", n, " left out")
}

# The classes of the training rows, with their numbers
classes_line <- function(x) {
  counts <- table(x$data$y)
  paste0("  classes:      ", shorten(paste0(
    names(counts), " (", as.vector(counts), ")",
    collapse = ", "
  )), "\n")
}

# The lines of print() on mixing and on stopped chains
mixing_line <- function(x, show) {
  table <- chain_mixing(x)
  short <- short_words(x)
  if (all(is.na(table$rhat)) && length(short) == 0) {
    return(NULL)
  }
  error <- prediction_error(table)
  poor <- beyond_reading(table, trusted_mixing)
  poor <- poor[watched_kind(poor$variable) != "f", ]
  poor <- poor[order(-poor$error), ]
  lines <- c(
    if (!is.na(error)) paste0("predictions: ", error_words(error)),
    if (nrow(poor) > 0) {
      paste0(
        shorten(watched_words(x, poor$variable[[1]]), 40), ": ",
        error_words(poor$error[[1]]),
        if (nrow(poor) > 1) paste0(", and ", nrow(poor) - 1, " more")
      )
    },
    short
  )
  paste0("  mixing:       ", in_column(lines), "\n")
}

# Texts that continue below each other, beside the labels
in_column <- function(lines) {
  paste(
    unlist(lapply(lines, strwrap, width = 64)),
    collapse = "\n                "
  )
}

incomplete_line <- function(x) {
  if (x$status == "complete") {
    return(NULL)
  }
  done <- run_times(x)
  paste0(
    "  INCOMPLETE:   ", times_words(done), " of ", chain_length(x),
    " iterations; update() continues\n"
  )
}

counted <- function(n, what) paste0(n, " ", what, if (n != 1) "s")

#' @export
print.kb_diagnostics_mcmc <- function(x, digits = 3, n = 10, ...) {
  check_no_dots(...)
  table <- x$convergence
  table$constant <- is.na(table$rhat)
  shown <- utils::head(worst_first(table), check_count(n, 1))
  cat(counted(x$chains, "chain"), ", ", counted(sum(x$draws), "draw"),
    if (nrow(shown) < nrow(table)) {
      paste0("; the worst ", nrow(shown), " of ", nrow(table), " quantities:")
    }, "\n",
    sep = ""
  )
  print(shown[names(x$convergence)], digits = digits, row.names = FALSE)
  tried <- x$acceptance[!is.na(x$acceptance)]
  if (length(tried) > 0) {
    accepted <- paste0(names(tried), " ", format(100 * tried, digits = 2), "%")
    cat(strwrap(paste("accepted:", toString(accepted)), 78), sep = "\n")
  }
  invisible(x)
}
