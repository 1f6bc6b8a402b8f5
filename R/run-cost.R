# The time of a call, from a short run of the same code.

#' Estimate the time of a fit
#'
#' `estimate_cost(quote(bark(y ~ x, data)))` runs the call for about `pilot` seconds
#' and says how long all of it takes at that speed.
#'
#' The estimate is a lower bound, and printed as one, where later units of work
#' take longer than the first, as rows of [srvm()] with all rows in
#' [memory][srvm_memory()], and where chains go on until they have converged
#' (`until` in [mcmc_control()]). A longer pilot is nearer.
#' @param object A quoted call of [srvm()], [bark()], [kgs()] or [tdsmc()], such
#'   as `quote(bark(y ~ x, data))`. Its arguments are evaluated in `env`.
#' @param pilot Seconds that the pilot may take (a single row or iteration is
#'   always finished).
#' @param env Environment of the arguments of the call.
#' @param ... Not used: unknown arguments are errors.
#' @return A list of class `kb_cost`: `seconds`, of the whole call with the
#'   threads or [workers][kb_workers] that it would use now; whether they are
#'   what it takes `at_least`; `units`, the number of rows, steps or iterations
#'   per run; `runs`, and how many of them run `at_once`; `unit`, their name;
#'   `pilot`, a list of `units` and `seconds` of the pilot.
#' @section Memory:
#' Kernel matrices, features and draws of functions that cannot fit into memory
#' are refused by `kb_error_memory` before they are allocated. The limit is the
#' free memory reported by the system (on Linux), or
#' `options(kernelbayes.memory_limit = )`, a number of bytes. Where there is none,
#' or it is `Inf`, the system is asked for as much at once.
#' @section Long runs:
#' If a run is expected to take more than ten further minutes after its first
#' seconds, a message of class `kb_message_long_run` says so once, unless a
#' `time_limit` ends it earlier. `options(kernelbayes.long_run = )` sets another
#' number of seconds; `Inf` means never.
#' @examples
#' data <- sim_sinc(60, seed = 1)
#' estimate_cost(
#'   quote(srvm(y ~ x, data, kernel = kernel_gaussian(0.3))),
#'   pilot = 0.2
#' )
#' @export
estimate_cost <- function(object, ...) UseMethod("estimate_cost")

#' @rdname estimate_cost
#' @export
estimate_cost.default <- function(object, ...) {
  bad_argument(object, "object", cost_wanted)
}

#' @rdname estimate_cost
#' @export
estimate_cost.call <- function(object, pilot = 2, env = parent.frame(), ...) {
  check_no_dots(...)
  force(env)
  pilot <- check_seconds(pilot)
  engine <- cost_engine(object, env)
  whole_stage({
    started <- now()
    fit <- stopped_fit(object, engine, env)
    setup <- now() - started
    cost <- c(list(engine = engine), fit_cost(fit, pilot))
  }, "the pilot")
  cost$seconds <- setup + cost$seconds
  cost$pilot$seconds <- setup + cost$pilot$seconds
  structure(cost, class = "kb_cost")
}

cost_wanted <- "a quoted call of `srvm()`, `bark()`, `kgs()` or `tdsmc()`"

cost_engine <- function(object, env) {
  known <- list(srvm = srvm, bark = bark, kgs = kgs, tdsmc = tdsmc)
  f <- tryCatch(eval(object[[1]], env), error = function(error) NULL)
  found <- names(Filter(function(g) identical(f, g), known))
  if (length(found) == 0) bad_argument(object, "object", cost_wanted)
  found
}

# The call, stopped as soon as possible, without its output and messages
stopped_fit <- function(object, engine, env) {
  control <- eval(object$control, env)
  if (is.null(control)) {
    batch <- engine == "srvm" && identical(eval(object$method, env), "mcmc")
    control <- switch(engine,
      bark = eval(formals(bark.formula)$control),
      kgs = eval(formals(kgs.formula)$control),
      if (batch) mcmc_control() else smc_control()
    )
  }
  if (!inherits(control, c("kb_smc_control", "kb_mcmc_control"))) {
    bad_argument(control, "control", "made by a control function")
  }
  control$time_limit <- 1e-6
  control["checkpoint"] <- list(NULL)
  object$control <- control
  object$progress <- FALSE
  suppressMessages(suppressWarnings(
    whole_stage(eval(object, env), "the pilot")
  ))
}

# The cost of all runs, from a part of the first
fit_cost <- function(fit, pilot) {
  # All kernels have the average number of particles.
  fit$settings$shares <- fit$sharing <- NULL
  engine <- fit_engine(fit)
  started <- now()
  run <- run_slice(engine, 1, list(NULL), run_clock(pilot), function(n) NULL)
  if (run$status == "interrupted") refuse_stop("in the pilot")
  seconds <- now() - started
  done <- runs_done(engine, run$states)
  total <- engine_total(engine)
  at_once <- runs_at_once(fit)
  runs <- length(fit$runs)
  all <- seconds + time_to_go(seconds, done, total - done)
  list(
    seconds = runs / at_once * all,
    at_least = run_grows(engine) || !is.null(fit$control$until),
    units = total, runs = runs, at_once = at_once,
    unit = if (run_grows(engine)) "step" else "iteration",
    pilot = list(units = done, seconds = seconds)
  )
}

# The number of a fit's runs that threads or workers can do at a time
runs_at_once <- function(fit) {
  most <- if (has_workers()) {
    worker_count()
  } else if (inherits(fit, "kb_mcmc")) {
    threads_at_once(fit$control$threads)
  } else {
    1
  }
  min(most, length(fit$runs))
}

#' @export
print.kb_cost <- function(x, digits = 2, ...) {
  cat(
    "Cost of ", x$engine, "(): ", if (x$at_least) "at least " else "about ",
    format_seconds(x$seconds, digits), "\n",
    "  ", counted(x$runs, "run"), " of ", counted(x$units, x$unit),
    if (x$at_once > 1) paste0(", ", x$at_once, " at a time"),
    "; the pilot made ", format(x$pilot$units), " in ",
    format_seconds(x$pilot$seconds, digits), "\n",
    sep = ""
  )
  invisible(x)
}

format_seconds <- function(seconds, digits = 2) {
  unit <- c(s = 1, min = 60, hours = 3600, days = 86400)
  used <- max(which(unit <= max(seconds / 2, 1)))
  paste(format(seconds / unit[[used]], digits = digits), names(unit)[[used]])
}
