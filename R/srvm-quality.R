# Quality of particles: the lowest effective size and the founders of the whole
# run, for print(), diagnostics(), evidence() and warnings.

# Below these shares of the particles estimates are unreliable: see ?srvm,
# section Warnings of the particles.
trusted_particles <- list(lowest = 0.05, final = 0.1, founders = 0.1)

# The lowest effective size of a run's particles while each row entered
run_lowest <- function(run) {
  lowest <- run$path$ess_lowest
  # No record: rows that enter at once.
  if (is.null(lowest)) run$path$ess else lowest
}

#' The lowest effective size, as a fraction of the particles, and where it was
#' @param since Rows or steps that do not count.
#' @noRd
lowest_ess <- function(fit, since = 0, path = ess(fit)) {
  path <- path[fit$time - rev(seq_len(nrow(path))) >= since, ]
  at <- which.min(path$lowest)
  lowest <- list(fraction = 1, at = NA_integer_)
  if (length(at) == 1) {
    lowest <- list(fraction = path$lowest[[at]], at = path[[1]][[at]])
  }
  # For the rows dropped by a bounded memory.
  before <- fit[["past"]]$lowest
  counts <- !is.null(before) && isTRUE(before$at > since)
  if (counts && before$fraction <= lowest$fraction) before else lowest
}

# The number of particles at each row of ess()
particles_in <- function(path) path$ess / path$fraction

# Lowest and last effective size, resamplings and founders
path_diagnostics <- function(fit) {
  path <- if (fit$time > 0) ess(fit)
  lowest <- if (is.null(path)) {
    list(fraction = 1, at = NA_integer_)
  } else {
    lowest_ess(fit, path = path)
  }
  at <- stats::setNames(list(lowest$at), paste0("ess_min_", path_unit(fit)))
  c(list(ess_min = lowest$fraction), at, list(
    ess_final = if (is.null(path)) 1 else utils::tail(path$fraction, 1),
    resamplings = sum(vapply(
      fit_runs(fit), function(run) run$genealogy$resamplings, 0L
    )),
    founders = if (is.null(path)) NA else utils::tail(path$founders, 1)
  ))
}

path_unit <- function(fit) if (inherits(fit, "kb_tdsmc")) "step" else "row"

# " (row 7)": the position of the lowest size in diagnostics()
lowest_words <- function(x, before = " (", after = ")") {
  at <- x[grepl("^ess_min_", names(x))]
  if (length(at) == 1 && !is.na(at)) {
    paste0(before, sub("ess_min_", "", names(at)), " ", at[[1]], after)
  }
}

# The words of print() for the effective size
ess_words <- function(fit) {
  found <- path_diagnostics(fit)
  paste0(
    "ESS ", percent(found$ess_final), " (lowest ", percent(found$ess_min),
    lowest_words(found, " at ", ""), ")"
  )
}

#' Are there few founders, and no moves that revise their descendants?
#'
#' Copies then stay identical, and the evidence is too low: more particles help
#' little.
#' @param time Number of rows or steps.
#' @noRd
is_unmoved <- function(fit, time = fit$time, path = ess(fit)) {
  if (time == 0 || !lacks_moves(fit)) {
    return(FALSE)
  }
  share <- path$founders / particles_in(path)
  share[[time]] < trusted_particles$founders
}

# Does the fit lack moves that revise what its particles share?
#
# Printed weights give no evidence anyway; with a bounded memory shared history
# is forgotten, as it may be under the targets of tdsmc().
lacks_moves <- function(fit) {
  inherits(fit, "kb_srvm") && fit$control$n_moves == 0 &&
    fit$control$proposal != "paper" &&
    !is_bounded(fit$settings$memory)
}

# Why an estimate of the evidence may be bad: lines, or NULL
evidence_doubts <- function(fit) {
  path <- ess(fit)
  lowest <- lowest_ess(fit, path = path)
  lines <- c(
    if (lowest$fraction < trusted_particles$lowest) {
      paste0(
        "ESS fell to ", format(100 * lowest$fraction, digits = 1), "% at ",
        path_unit(fit), " ", lowest$at, ": more likely too low than too high, ",
        "the error larger than the se"
      )
    },
    if (is_unmoved(fit, path = path)) {
      paste0(
        counted(round(utils::tail(path$founders, 1)), "founder"),
        " left, and no moves: probably too low, the error larger than the se"
      )
    }
  )
  if (length(lines) > 0) paste(lines, collapse = "; ")
}

# Warnings -------------------------------------------------------------------

# Warn of particles that have collapsed in this call, or that are never moved
#' @export
warn_quality.kb_srvm <- function(fit, since = 0L) {
  if (fit$time == 0) {
    return(invisible())
  }
  path <- ess(fit)
  lowest <- lowest_ess(fit, since, path)
  share <- utils::tail(path$fraction, 1)
  if (lowest$fraction < trusted_particles$lowest) {
    warn_low_ess(fit, lowest)
  } else if (share < trusted_particles$final) {
    last <- list(fraction = share, at = utils::tail(path[[1]], 1))
    warn_low_ess(fit, last)
  }
  if (is_unmoved(fit, path = path) && !is_unmoved(fit, since, path)) {
    warn_unmoved(utils::tail(path, 1))
  }
}

#' @export
warn_quality.kb_tdsmc <- warn_quality.kb_srvm

warn_low_ess <- function(fit, lowest) {
  kb_warn(c(
    "The effective sample size fell to few particles.",
    x = "It is {format(100 * lowest$fraction, digits = 2)}% of them at
         {path_unit(fit)} {lowest$at}.",
    "*" = "Estimates are noisy, and the standard error of the evidence may be
           too small.",
    i = particle_advice(fit)
  ), "low_ess")
}

# Advice for particles that have collapsed: a line
particle_advice <- function(fit) UseMethod("particle_advice")

#' @export
particle_advice.kb_srvm <- function(fit) {
  usual <- smc_control()$cess_threshold
  if (fit$control$cess_threshold < usual && fit$control$proposal != "paper") {
    paste0(
      "Raise {.arg cess_threshold} in {.fn smc_control} (by default ", usual,
      "): such rows then enter gradually."
    )
  } else {
    "Raise {.arg particles} in {.fn smc_control}."
  }
}

#' @export
particle_advice.kb_tdsmc <- function(fit) {
  paste(
    "Raise {.arg particles} in {.fn smc_control}, or find moves that come",
    "closer to the target."
  )
}

warn_unmoved <- function(last) {
  kb_warn(c(
    "The particles descend from few, and no moves make them differ.",
    x = "They descend from {round(last$founders, 1)} of
         {round(particles_in(last))}.",
    "*" = "The log evidence is probably too low, by more than its standard
           error.",
    i = "Raise {.arg n_moves} in {.fn smc_control}, by default
         {smc_control()$n_moves}."
  ), "no_moves")
}
