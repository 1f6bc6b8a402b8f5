# Code shared by fits of Markov chains (class kb_mcmc): the run, mixing,
# update().

# The run ---------------------------------------------------------------------

chain_length <- function(fit) fit$control$warmup + fit$control$iter

# Threads of one chain: those asked for beyond one per chain
chain_threads <- function(fit) {
  max(1, fit$control$threads %/% length(fit$runs))
}

#' @export
engine_total.kb_engine_chain <- function(engine) {
  engine$config$warmup + engine$config$iter
}

#' @export
engine_done.kb_engine_chain <- function(engine, state) state_time(state)

#' @export
engine_advance_all.kb_engine_chain <- function(engine, handles, n, threads) {
  machines_advance_cpp(handles, n, min(threads, length(handles)))
}

# Chains advance together, so that stopped chains have the same number of draws
#' @export
engine_groups.kb_engine_chain <- function(engine, n_runs) {
  list(seq_len(n_runs))
}

#' @export
finish_fit.kb_mcmc <- function(fit, states, seconds) {
  fit$runs <- states
  # All rows are in the model from the first iteration on.
  fit$time <- nrow(fit$data$x)
  fit$status <- if (is_complete(fit)) "complete" else "interrupted"
  fit$seconds <- seconds
  fit
}

#' @export
has_next_stage.kb_mcmc <- function(fit) {
  until <- fit$control$until
  if (is.null(until) || fit$control$iter >= until$max_iter) {
    return(FALSE)
  }
  # Before the end of a stage nobody knows.
  !is_complete(fit) || nrow(unmet_convergence(fit, until)) > 0
}

#' @export
next_stage.kb_mcmc <- function(fit) {
  longer <- min(2 * as.double(fit$control$iter), fit$control$until$max_iter)
  fit$control$iter <- as.integer(longer)
  fit
}

#' @export
is_complete.kb_mcmc <- function(fit) {
  all(run_times(fit) == chain_length(fit))
}

# The chains that are long enough, truncated to the shortest of them
#
# Of a stopped run, chains with less than half as many draws as the longest are
# omitted: truncating the others to their length would lose more.
#' @export
fit_runs.kb_mcmc <- function(fit) {
  draws <- draws_in(fit)
  kept <- draws > 0 & draws >= max(draws) / 2
  if (!any(kept)) {
    kb_abort(c(
      "The fit was stopped before its first draw, so it has no posterior yet.",
      i = "{.code update(fit)} continues it."
    ), "not_defined")
  }
  n <- min(draws[kept])
  Map(
    function(run, draws) if (draws == n) run else head_draws(fit, run, n),
    fit$runs[kept], draws[kept]
  )
}

# The number of kept draws of each run
draws_in <- function(fit) UseMethod("draws_in")

# The run with its first n draws
head_draws <- function(fit, run, n) UseMethod("head_draws")

# Draws of the parameters: named matrices, a row per draw and a column per
# chain
chain_matrices <- function(fit) UseMethod("chain_matrices")

#' @export
warn_status.kb_mcmc <- function(fit) {
  if (fit$status == "complete") {
    return(invisible())
  }
  done <- run_times(fit)
  draws <- draws_in(fit)
  used <- sum(draws > 0 & draws >= max(draws) / 2)
  kb_warn(c(
    "Stopped before the chains were finished: {stop_words[[fit$status]]}.",
    x = "There are {times_words(done)} of {chain_length(fit)} iterations.",
    "*" = "{used} of {length(done)} {?is/are} long enough to be used.",
    i = if (used > 0) {
      "You can use the draws so far; {.code update(fit)} continues."
    } else {
      "There are no draws yet: {.code update(fit)} continues."
    }
  ), fit$status)
}

# The times of chains, of which there may be many
times_words <- function(done) {
  if (length(done) <= 8) {
    return(toString(done))
  }
  paste(range(done), collapse = " to ")
}

# Draws are never thinned silently
inform_memory <- function(fit) {
  bytes <- as.double(utils::object.size(fit$runs))
  if (bytes <= 1e9) {
    return(invisible())
  }
  kb_inform(c(
    "The draws take {format(bytes / 1e9, digits = 2)} GB.",
    i = "{.arg thin} in {.fn mcmc_control} keeps fewer."
  ), "memory")
}

#' Continue Markov chains
#'
#' @param object A fit by Markov chains: of [bark()], or of [srvm()] with
#'   `method = "mcmc"`. Fits of [kgs()] have [their own method][update.kb_kgs].
#' @param iter Number of further iterations of each chain, after the warmup;
#'   the result is identical to one run of the total length. `NULL`: an
#'   interrupted fit is run to its end, a complete fit is returned unchanged.
#'   With `until` the number of iterations between checks of the diagnostics;
#'   `NULL`: as many as the chains have, which doubles them.
#' @param time_limit Seconds after which this call stops; `NULL`: the limit in
#'   the fit's control.
#' @param progress Show a progress bar? `NULL`: in interactive sessions.
#' @param until `NULL`, or [convergence()]: the chains continue until all
#'   quantities of `diagnostics(object)$convergence` are within its thresholds,
#'   or `max_iter` iterations or the time limit are reached.
#' @param ... Not used: unknown arguments are errors. Rows can be added only to
#'   [sequential fits][update.kb_srvm].
#' @return A fit with all draws. With `until` they are identical to those of one
#'   run of the same length.
#' @section Warnings: `kb_warning_convergence` names the quantities of chains
#'   that have not converged, `kb_warning_time_limit` and
#'   `kb_warning_interrupted` report chains that were stopped. A message of class
#'   `kb_message_few_draws` reports fewer than 100 draws per chain, or a single
#'   chain, one of class `kb_message_memory` draws of more than 1 GB.
#' @examples
#' data <- sim_sinc(50, seed = 1)
#' fit <- srvm(y ~ x, data,
#'   kernel = kernel_gaussian(0.2), method = "mcmc",
#'   control = mcmc_control(chains = 2, iter = 500), seed = 1
#' )
#' update(fit, iter = 500)
#' update(fit, until = convergence(rhat = 1.05, ess = 200))
#' @export
update.kb_mcmc <- function(object, iter = NULL, time_limit = NULL,
                           progress = NULL, until = NULL, ...) {
  started <- now()
  refuse_new_formula(iter)
  refuse_rows(iter, ...)
  object <- checked_fit(object, ...)
  if (!is.null(time_limit)) time_limit <- check_seconds(time_limit)
  continue_chains(
    object, iter, check_progress(progress), started, time_limit,
    check_until(until)
  )
}

continue_chains <- function(fit, iter, progress, started, time_limit,
                            until = NULL) {
  if (!is.null(until)) {
    if (!is.null(iter)) iter <- check_count(iter, 1)
    return(keep_run(
      run_until(fit, until, iter, progress, started, time_limit)
    ))
  }
  if (!is.null(iter)) {
    # As many as asked for.
    fit$control["until"] <- list(NULL)
    most <- .Machine$integer.max - chain_length(fit)
    fit$control$iter <- fit$control$iter +
      check_count(iter, 0, most)
  }
  if (is_complete(fit)) {
    return(fit)
  }
  run_fit(fit, progress, started, time_limit)
}

refuse_rows <- function(iter, ...) {
  rows <- intersect(names(list(...)), c("newdata", "newx", "newy", "data"))
  if (length(rows) > 0 || length(dim(iter)) == 2) {
    kb_abort(c(
      "Fits of {.fn bark}, or of {.fn srvm} by Markov chains, take no new
       rows.",
      x = if (length(rows) > 0) {
        "{.arg {rows}} was given."
      } else {
        "{.arg iter}, the first argument, is {describe(iter)}."
      },
      i = "Fit all rows again, or use {.fn srvm} with {.code method = \"smc\"},
           which adds them one at a time."
    ), "not_defined")
  }
}

# Accessors -------------------------------------------------------------------

#' @export
timings.kb_mcmc <- function(object, ...) {
  object <- checked_fit(object, ...)
  seconds <- vapply(object$runs, function(run) {
    if (is.null(run)) 0 else run$seconds
  }, 0)
  list(sampler = sum(seconds), chains = seconds, total = object$seconds)
}

#' @export
diagnostics.kb_mcmc <- function(object, ...) {
  object <- checked_fit(object, ...)
  runs <- fit_runs(object)
  used <- object
  used$runs <- runs
  total <- function(name) Reduce(`+`, lapply(runs, `[[`, name))
  structure(
    list(
      convergence = ess(object), chains = length(runs),
      draws = draws_in(used),
      acceptance = total("accepted") / total("tried")
    ),
    class = "kb_diagnostics_mcmc"
  )
}
