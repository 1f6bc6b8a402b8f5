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

# What draws hold numbers of, beside one draw: kernels, their coefficients, the
# triangle of these; or of all draws together
numbers_per <- list(
  kernel = c(
    "location", "copies", "variance", "centre", "own_log_lambda", "own_included",
    "sets", "spread"
  ),
  coefficient = c("beta", "z"), triangle = "factor", run = "flipped"
)

# The run with its first n draws
head_draws <- function(fit, run, n) {
  fit["runs"] <- list(list(run))
  per <- list(
    draw = rep(1, draws_in(fit)),
    fixed = if (inherits(fit, "kb_srvm")) n_fixed(fit$settings) else 0
  )
  # Draws of srvm() are not apart from the rest of a run.
  drawn <- intersect(c("draws", if (!is.null(run$k)) srvm_drawn), names(run))
  run[drawn] <- head_of(run[drawn], n, per)
  run
}

#' The same for a list of drawn quantities
#' @param per How many numbers each draw has, by unit.
#' @noRd
head_of <- function(draws, n, per) {
  kernels <- if (is.null(draws$m)) draws$k else draws$m
  if (!is.null(kernels)) {
    size <- kernels + per$fixed
    per[c("kernel", "coefficient", "triangle")] <- list(
      kernels, size, size * (size + 1) / 2
    )
  }
  Map(function(v, name) {
    if (is.list(v)) {
      return(head_of(v, n, per))
    }
    unit <- names(Filter(function(names) name %in% names, numbers_per))
    if (identical(unit, "run") || length(v) == 0) {
      return(v)
    }
    each <- per[[c(unit, "draw")[[1]]]]
    v[seq_len(length(v) / sum(each) * sum(each[seq_len(n)]))]
  }, draws, if (is.null(names(draws))) "" else names(draws))
}

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
#' `update(fit, until = convergence())` continues chains until they have converged.
#' @param object A fit by Markov chains: of [bark()], or of [srvm()] with
#'   `method = "mcmc"`. Fits of [kgs()] have [their own method][update.kb_kgs].
#' @param iter Number of further iterations of each chain, after the warmup;
#'   the result is identical to one run of the total length. `NULL`: an
#'   interrupted fit is run to its end, a complete fit is returned unchanged.
#'   With `until` the number of iterations between checks of the diagnostics;
#'   `NULL`: as many as the chains have, which doubles them.
#' @inheritParams update.kb_kgs
#' @param until `NULL`, or [convergence()]: the chains continue until all
#'   quantities of `diagnostics(object)$convergence` are within its thresholds,
#'   or `max_iter` iterations or the time limit are reached.
#' @param ... Not used: unknown arguments are errors. Rows can be added only to
#'   [sequential fits][update.kb_srvm].
#' @return A fit with all draws. With `until` they are identical to those of one
#'   run of the same length.
#' @section Warnings: `kb_warning_convergence` names the quantities of chains that
#'   have not converged. Messages report few draws (`kb_message_few_draws`) and draws
#'   of more than 1 GB (`kb_message_memory`).
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

# Ladders of chains between the prior and the posterior, for the evidence: code
# shared by all engines.

is_ladder <- function(engine) inherits(engine, "kb_engine_ladder")

#' Run independent ladders, together
#'
#' All sweeps are equivalent, so stopped ladders contribute the sweeps so far. A
#' ladder with less than half as many as the longest is omitted.
#' @return List of `states` of the ladders that are used, how many `sweeps`
#'   after the warmup each of them has, how many were `done` by each (its counts
#'   refer to these), and the `status`.
#' @noRd
run_ladder_engine <- function(engine, chains, progress) {
  config <- engine$config
  check_count(config$iter, 1, .Machine$integer.max - config$warmup, "iter")
  check_memory(
    as.double(chains) * length(c(config$rungs, config$beta)) *
      (50 + config$iter), "The ladders", "Use fewer {.arg chains}, or a
      smaller {.arg n_temps} or {.arg iter}."
  )
  out <- tryCatch(
    run_engine(
      engine, vector("list", chains), list(time_limit = Inf), progress
    ),
    "C++Error" = function(error) refuse_sampler(error)
  )
  time <- runs_done(engine, out$states)
  done <- pmax(time - engine$config$warmup, 0)
  kept <- done > 0 & done >= max(done) / 2
  sweeps <- if (any(kept)) min(done[kept]) else 0
  if (out$status != "complete") {
    report_ladders(sweeps, engine$config$iter, sum(kept), out$status)
  }
  list(
    states = out$states[kept], sweeps = sweeps, done = done[kept],
    status = out$status
  )
}

# Standard errors are from 20 batches
report_ladders <- function(sweeps, iter, ladders, status) {
  if (sweeps < min(20, iter)) {
    kb_abort(c(
      "Stopped before the ladders had 20 sweeps after the warmup.",
      i = "No result is available."
    ), status)
  }
  kb_warn(c(
    "Stopped before all sweeps of the ladders were done.",
    x = "There are {sweeps} of {iter} sweeps of {ladders} ladder{?s}.",
    i = "The evidence uses only those sweeps."
  ), status)
}

# Evaluate the code after a run with interrupts held back: it is short, and an
# interrupt would lose the run
keep_run <- function(expr) {
  suspendInterrupts({
    value <- expr
    if (interrupt_pending()) warn_late_interrupt("result")
  })
  value
}

# Numbers that every draw has several of, one matrix (draws x chains) per name
interleaved_chains <- function(draws, element, names) {
  n <- length(draws[[1]][[element]]) %/% length(names)
  out <- lapply(seq_along(names), function(k) {
    v <- vapply(draws, function(d) {
      d[[element]][seq(k, length(d[[element]]), by = length(names))]
    }, numeric(n))
    matrix(v, ncol = length(draws))
  })
  stats::setNames(out, names)
}
