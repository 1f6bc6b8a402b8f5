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
  check_value(fit$control, "settings of a run", "control")
  if (fit$status == "complete" && is_complete(fit)) {
    return(list(fit = sealed(fit), interrupted = FALSE))
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
  out$fit <- sealed(fit)
  out
}

#' The runs of a fit, or of a stage of it
#' @param before Seconds that it had taken, minus the start of this call.
#' @noRd
advance_stage <- function(fit, control, progress, started, before) {
  finish <- function(states) finish_fit(fit, states, before + now())
  save <- function(states) {
    write_checkpoint(sealed(finish(states)), fit$control$checkpoint)
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

# A message, given once, about a run that will take long.

# The number of seconds from which the rest of a run is long
long_run_rest <- function() {
  rest <- getOption("kernelbayes.long_run", 600)
  if (!(is.numeric(rest) && length(rest) == 1 && isTRUE(rest >= 0))) {
    bad_argument(rest, "kernelbayes.long_run", "a number of seconds, or Inf")
  }
  rest
}

#' A function that takes the units of work done since it was last called, and
#' says how long the rest will take if that is long
#'
#' Not if a time limit comes first: the user knows it.
#' @param time Function that gives the time in seconds.
#' @noRd
long_run_notice <- function(engine, states, clock, time = now,
                            rest = long_run_rest()) {
  total <- as.double(length(states)) * engine_total(engine)
  before <- sum(runs_done(engine, states))
  done <- before
  started <- time()
  said <- FALSE
  # Users expect a fit to take some time.
  if (is_ladder(engine)) rest <- rest / 10
  function(n) {
    done <<- done + n
    seconds <- time() - started
    if (said || seconds < min(5, rest / 10) || done == before) {
      return(invisible())
    }
    left <- time_to_go(seconds, done - before, total - done)
    if (left >= rest && left <= clock$left()) {
      said <<- TRUE
      inform_long_run(left, engine)
    }
  }
}

# The seconds of the units that are left, at the speed of those done
time_to_go <- function(seconds, done, left) seconds * left / done

# Do later units of a run take longer than the first?
run_grows <- function(engine) !inherits(engine, "kb_engine_chain")

# What makes runs of this kind shorter, a line of that message; NULL: nothing in
# particular
shortcut <- function(engine) UseMethod("shortcut")
#' @export
shortcut.default <- function(engine) NULL

inform_long_run <- function(seconds, engine) {
  bound <- if (run_grows(engine)) "At least" else "About"
  about <- paste(bound, format_seconds(seconds))
  kb_inform(c(
    "{about} to go at the current speed.",
    i = if (is_ladder(engine)) {
      "Ctrl-C stops it and returns the evidence from the sweeps so far."
    } else {
      "{.arg time_limit} of the control function, or Ctrl-C, stops it and
       returns the results so far, which {.fn update} continues."
    },
    i = shortcut(engine),
    i = if (!is_ladder(engine)) {
      "{.fn estimate_cost} estimates the time of a call beforehand."
    }
  ), "long_run")
}

# Code that the methods of the fit functions for formulas and for x and y share.
# The arguments of an engine are listed once, in its method for formulas; the
# method for x and y takes them from there.

# Arguments that describe the data, and arguments of a run rather than of the
# model.
data_arguments <- c(
  "formula", "data", "x", "y", "weights", "offset", "na.action", "..."
)
run_arguments <- c("control", "seed", "progress", "keep_data")

#' The arguments of the calling method, except those of the data
#' @return Named list of their values, given or by default.
#' @noRd
given_arguments <- function() {
  method <- sys.function(sys.parent())
  own <- setdiff(names(formals(method)), data_arguments)
  mget(own, envir = parent.frame())
}

#' Call a function with those of the given arguments that it has
#' @param ... Further arguments, by name.
#' @noRd
call_with <- function(f, given, ...) {
  used <- c(given[intersect(names(given), names(formals(f)))], list(...))
  do.call(f, used, quote = TRUE)
}

# The arguments that a fit keeps: all that a fit to other rows needs
fit_request <- function(given) given[setdiff(names(given), run_arguments)]

# Allocations that cannot fit are refused before they are tried: R's own error
# comes late, or the system ends the process.

#' Refuse an array with more numbers than the limit allows
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

