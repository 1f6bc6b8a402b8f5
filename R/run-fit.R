# The run of a fit: code shared by all engines, and the generics that engines
# implement. A fit holds `runs`, one state for each replicate or chain (NULL
# before it has begun).

# An error of the C++ core as a condition of the package
refuse_sampler <- function(error) {
  is_a <- function(type) grepl(type, class(error)[[1]], fixed = TRUE)
  if (is_a("NotSeparable")) refuse_inseparable(error)
  if (is_a("DamagedState")) refuse_damaged_state(conditionMessage(error))
  refuse_to_go_on("sampler", conditionMessage(error), "sampler", error)
}

# Run a fit to the end of its data
run_fit <- function(fit, progress, started = now(), time_limit = NULL) {
  force(started)
  since <- fit$time
  suspendInterrupts({
    fit <- advance_fit(fit, progress, started, time_limit)$fit
    tell_of_fit(fit, since)
  })
  fit
}

#' The warnings of a fit; an interrupt during the check of its quality does not
#' lose the fit
#' @param since Rows processed before, which were already reported.
#' @noRd
tell_of_fit <- function(fit, since = 0L) {
  warn_status(fit)
  tell_of_quality(fit, since)
}

tell_of_quality <- function(fit, since) {
  stage <- run_stage(warn_quality(fit, since))
  if (stage$halted || interrupt_pending()) {
    kb_warn(c(
      "The interrupt came during the check of the fit's quality.",
      i = "The fit is complete; check it with {.fn diagnostics}."
    ), "interrupted")
  }
}

#' A run without its warnings
#' @param started When the time limit began.
#' @return List of the `fit` and whether the run was `interrupted`, even at its
#'   end.
#' @noRd
advance_fit <- function(fit, progress, started, time_limit) {
  if (fit$status == "complete" && is_complete(fit)) {
    return(list(fit = fit, interrupted = FALSE))
  }
  check_run_memory(fit)
  control <- fit$control
  # The limit of one call is not stored in the fit.
  if (!is.null(time_limit)) control$time_limit <- time_limit
  if (!is.null(control$checkpoint)) check_checkpoint(fit)
  before <- fit$seconds - started
  repeat {
    out <- advance_stage(fit, control, progress, started, before)
    fit <- out$fit
    if (fit$status != "complete" || !has_next_stage(fit)) break
    fit <- next_stage(fit)
  }
  # Its methods need not check an object that was just made.
  note_checked(fit)
  out
}

#' The runs of a fit, or of a stage of it
#' @param before Seconds that it had taken, minus the start of this call.
#' @noRd
advance_stage <- function(fit, control, progress, started, before) {
  finish <- function(states) finish_fit(fit, states, before + now())
  save <- function(states) {
    write_checkpoint(finish(states), fit$control$checkpoint)
  }
  # Before the first iteration there is nothing to lose.
  engine <- if (has_begun(fit)) fit_engine(fit) else {
    allowInterrupts(fit_engine(fit))
  }
  out <- tell_once(tryCatch(
    run_engine(engine, states_under_way(fit), control, progress, save, started,
      last = !has_next_stage(fit)
    ),
    "C++Error" = function(error) refuse_sampler(error)
  ))
  fit <- finish(out$states)
  fit$status <- out$status
  list(fit = fit, interrupted = out$interrupted)
}

# The error of an engine's generic for anything but data or a formula
refuse_data <- function(x, absent) {
  came <- if (absent) "missing" else describe(x)
  kb_abort(c(
    "{.arg x} must be a formula, a matrix, a data frame or a numeric vector.",
    x = "It is {came}."
  ), "argument", argument = "x")
}

# The call without the objects and environments that `do.call()` inserts
plain_call <- function(call) {
  call[] <- lapply(call, function(argument) {
    if (inherits(argument, "formula")) {
      attributes(argument) <- NULL
    }
    if (is.language(argument) || length(argument) <= 1 && is.atomic(argument)) {
      argument
    } else {
      as.name(class(argument)[[1]])
    }
  })
  call
}

# Generics of engines --------------------------------------------

# The engine of `run_engine()`: plain data, so that workers can have it
fit_engine <- function(fit) UseMethod("fit_engine")

# Put states into a fit
finish_fit <- function(fit, states, seconds) UseMethod("finish_fit")

# Does another stage follow the current one, and the fit at its start
has_next_stage <- function(fit) UseMethod("has_next_stage")
#' @export
has_next_stage.default <- function(fit) FALSE
next_stage <- function(fit) UseMethod("next_stage")

# Is every run finished?
is_complete <- function(fit) UseMethod("is_complete")

# The runs that form the posterior
fit_runs <- function(fit) UseMethod("fit_runs")

# Warn of a stopped run
warn_status <- function(fit) UseMethod("warn_status")

#' Warn of a posterior that cannot be trusted yet
#' @param since As in `tell_of_fit()`.
#' @noRd
warn_quality <- function(fit, since = 0L) UseMethod("warn_quality")

# The time of each run
run_times <- function(fit) begun_values(fit$runs, 0L, state_time)

state_time <- function(state) {
  if (is.null(state)) 0L else state$time
}
