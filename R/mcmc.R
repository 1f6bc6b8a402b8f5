# What fits of Markov chains share (class kb_mcmc): the run, mixing, update().

#' @srrstats {BS1.4} `?convergence` has an example with and one without a check
#'   of convergence.
#' @srrstats {BS2.8} `update()` goes on where a run ended; checkpoints;
#'   `reference` for frozen settings.
#' @srrstats {BS4.3} R-hat and effective sample sizes after Vehtari and others
#'   (2021), equal to those of package posterior.
#' @srrstats {BS4.5} Warnings of chains that have not converged say what helps:
#'   more iterations, more moves.
#' @srrstats {BS5.3} `diagnostics()`, `ess()`, `glance()`, `print()`.
#' @srrstats {BS5.4} `diagnostics()` names each figure; `?evidence` says what
#'   they are.
#' @srrstats {BS5.5} `diagnostics()` and a warning of class
#'   `kb_warning_convergence`.
#' @srrstats {RE3.0} Chains that have not mixed warn (`kb_warning_convergence`),
#'   so do particles that have collapsed (`kb_warning_low_ess`).
#' @srrstats {RE3.1} The warnings have classes to be muffled by; the figures
#'   stay in `diagnostics()`.
#' @noRd
NULL

# The run ---------------------------------------------------------------------

#' @noRd
chain_length <- function(fit) fit$control$warmup + fit$control$iter

#' @export
engine_total.kb_engine_chain <- function(engine) {
  engine$config$warmup + engine$config$iter
}

#' @export
engine_done.kb_engine_chain <- function(engine, state) state_time(state)

#' Chains advance in turn: stopped, they have the same number of draws
#' @export
#' @noRd
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
is_complete.kb_mcmc <- function(fit) {
  all(vapply(fit$runs, state_time, 0L) == chain_length(fit))
}

#' The chains that have come far enough, cut to the shortest of them
#'
#' Of a run that was stopped, chains with less than half as many draws as the
#' longest are left out: they would cost the others more than they give.
#' @export
#' @noRd
fit_runs.kb_mcmc <- function(fit, call = rlang::caller_env()) {
  draws <- draws_in(fit)
  kept <- draws > 0 & draws >= max(draws) / 2
  if (!any(kept)) {
    kb_abort(c(
      "The fit was stopped before its first draw: it has no posterior yet.",
      i = "{.code update(fit)} continues it."
    ), "not_defined", call = call)
  }
  n <- min(draws[kept])
  Map(
    function(run, draws) if (draws == n) run else head_draws(fit, run, n),
    fit$runs[kept], draws[kept]
  )
}

#' The number of kept draws of each run
#' @noRd
draws_in <- function(fit) UseMethod("draws_in")

#' The run with its first n draws
#' @noRd
head_draws <- function(fit, run, n) UseMethod("head_draws")

#' Draws of the parameters: named matrices, a row per draw and a column per
#' chain
#' @noRd
chain_matrices <- function(fit) UseMethod("chain_matrices")

#' @export
warn_status.kb_mcmc <- function(fit, call) {
  if (fit$status == "complete") {
    return(invisible())
  }
  reason <- c(interrupted = "interrupted", time_limit = "out of time")
  done <- vapply(fit$runs, state_time, 0L)
  draws <- draws_in(fit)
  used <- sum(draws > 0 & draws >= max(draws) / 2)
  kb_warn(c(
    "Stopped after {toString(done)} of {chain_length(fit)} iterations of the
     chains: {reason[[fit$status]]}.",
    "*" = "{used} of {length(done)} ha{?s/ve} come far enough to be used.",
    i = if (used > 0) {
      "The draws so far can be used; {.code update(fit)} continues."
    } else {
      "There are no draws yet: {.code update(fit)} continues."
    }
  ), fit$status, call = call)
}

#' @export
warn_quality.kb_mcmc <- function(fit, call) {
  if (fit$status != "complete") {
    return(invisible())
  }
  warn_memory(fit, call)
  inform_short(fit)
  if (has_few_draws(fit)) {
    return(invisible())
  }
  poor <- beyond_thresholds(chain_mixing(fit), trusted_mixing)
  if (nrow(poor) > 0) warn_mixing(fit, poor, call)
}

# From Vehtari and others (2021) R-hat is 1.01 and the size 400 at best: half of
# that is no reason to warn.
trusted_mixing <- list(rhat = 1.05, ess = 100)

#' Warn of quantities whose chains differ or have few independent draws
#' @param poor Their rows of `chain_mixing()`.
#' @noRd
warn_mixing <- function(fit, poor, call) {
  rhat <- worst(max, poor$rhat)
  size <- worst(min, least_size(poor))
  shown <- lapply(list(rhat = rhat, size = size), format, digits = 3)
  all <- nrow(chain_mixing(fit))
  kb_warn(c(
    if (is.na(rhat) || rhat > trusted_mixing$rhat) {
      "The chains have not mixed well: R-hat is up to {shown$rhat}, the
       effective sample size down to {shown$size}."
    } else {
      "There are few independent draws: the effective sample size is down to
       {shown$size} (R-hat is up to {shown$rhat})."
    },
    "*" = "{nrow(poor)} of {all} quantities are affected. The worst of each
           kind:",
    mixing_bullets(fit, worst_of_kinds(poor)),
    i = "{.code update(fit, n_iter = {more_iterations(fit, size)})} continues;
         {.code update(fit, until = convergence())} until converged.",
    i = mixing_advice(fit, poor$variable)
  ), "convergence", variables = poor$variable, call = call)
}

#' @noRd
has_few_draws <- function(fit, least = 100) {
  fit$control$iter %/% fit$control$thin < least
}

#' What keeps diagnostics from telling whether chains have mixed: words, or none
#' @noRd
short_words <- function(fit) {
  n <- fit$control$iter %/% fit$control$thin
  c(
    if (has_few_draws(fit)) {
      paste(
        counted(n, "draw"), "per chain: too few to tell whether chains mix"
      )
    },
    if (length(fit$runs) == 1) "one chain: only its halves can be compared"
  )
}

#' @noRd
inform_short <- function(fit) {
  words <- short_words(fit)
  if (length(words) > 0) {
    kb_inform(c(
      paste0("There ", if (grepl("^1 |^one", words[[1]])) "is " else "are ",
        paste(words, collapse = ", and "), "."
      ),
      i = "{.arg chains} and {.arg iter} of {.fn mcmc_control} set their
           numbers; {.code update(fit, n_iter = )} continues."
    ), "few_draws")
  }
}

#' How far to go on: to an effective sample size of 400 (Vehtari et al., 2021),
#' from the size so far, which a fit that has not mixed overstates
#' @noRd
more_iterations <- function(fit, size) {
  iter <- as.double(fit$control$iter)
  wanted <- if (is.na(size)) Inf else iter * (400 / size - 1)
  format(signif(min(max(wanted, iter), 10 * iter), 1), scientific = FALSE)
}

#' @noRd
worst <- function(of, x) {
  x <- x[!is.na(x)]
  if (length(x) == 0) NA_real_ else of(x)
}

#' What else helps chains of this engine: a line, or NULL
#' @param poor Names of the quantities that do not mix.
#' @noRd
mixing_advice <- function(fit, poor) UseMethod("mixing_advice")

#' Draws are never thinned silently
#' @noRd
warn_memory <- function(fit, call) {
  bytes <- as.double(utils::object.size(fit$runs))
  if (bytes <= 1e9) {
    return(invisible())
  }
  kb_warn(c(
    "The draws take {format(bytes / 1e9, digits = 2)} GB.",
    i = "{.arg thin} in {.fn mcmc_control} keeps fewer."
  ), "memory", call = call)
}

#' Continue Markov chains
#'
#' @param object A fit by Markov chains: of [bark()], or of [srvm()] with
#'   `method = "mcmc"`. Fits of [kgs()] have [a method of their
#'   own][update.kb_kgs].
#' @param n_iter Number of further iterations of each chain, after the warmup;
#'   the result is identical to that of a run that was as long from the start.
#'   `NULL`: an interrupted fit is run to its end, a complete one is returned
#'   as it is. With `until` the number of iterations between two looks at the
#'   diagnostics; `NULL`: as many as the chains have, which doubles them.
#' @param time_limit Seconds after which this call stops; `NULL`: the limit in
#'   the fit's control.
#' @param progress Show a progress bar? `NULL`: in interactive sessions.
#' @param until `NULL`, or [convergence()]: the chains go on until all
#'   quantities of `diagnostics(object)$convergence` are within its thresholds,
#'   or `max_iter` iterations or the time limit are reached.
#' @param ... Not used: unknown arguments are errors. Chains take in no further
#'   rows; [sequential fits][update.kb_srvm] do.
#' @return A fit with all draws. With `until` they are identical to those of a
#'   run that was as long from the start.
#' @section Warnings: `kb_warning_convergence` names the quantities of chains
#'   that have not converged, `kb_warning_time_limit` and
#'   `kb_warning_interrupted` tell of chains that were stopped,
#'   `kb_warning_memory` of draws beyond 1 GB. A message of class
#'   `kb_message_few_draws` says that there are fewer than 100 draws per chain,
#'   or one chain.
#' @examples
#' data <- sim_sinc(50, seed = 1)
#' fit <- srvm(y ~ x, data,
#'   kernel = kernel_gaussian(0.2), method = "mcmc",
#'   control = mcmc_control(chains = 2, iter = 500), seed = 1
#' )
#' update(fit, n_iter = 500)
#' update(fit, until = convergence(rhat = 1.05, ess = 200))
#' @export
update.kb_mcmc <- function(object, n_iter = NULL, time_limit = NULL,
                           progress = NULL, until = NULL, ...) {
  started <- now()
  refuse_new_formula(n_iter)
  refuse_rows(...)
  check_no_dots(...)
  object <- migrate_fit(object, resume = TRUE)
  if (!is.null(time_limit)) time_limit <- check_seconds(time_limit)
  continue_chains(
    object, n_iter, check_progress(progress), started, time_limit,
    check_until(until)
  )
}

#' @noRd
continue_chains <- function(fit, n_iter, progress, started, time_limit,
                            until = NULL, call = rlang::caller_env()) {
  if (!is.null(until)) {
    if (!is.null(n_iter)) n_iter <- check_count(n_iter, 1, call = call)
    return(keep_run(
      run_until(fit, until, n_iter, progress, started, time_limit, call), call
    ))
  }
  if (!is.null(n_iter)) {
    most <- .Machine$integer.max - chain_length(fit)
    fit$control$iter <- fit$control$iter +
      check_count(n_iter, 0, most, call = call)
  }
  if (is_complete(fit)) {
    return(fit)
  }
  run_fit(fit, progress, started, time_limit, call)
}

#' @noRd
refuse_rows <- function(..., call = rlang::caller_env()) {
  rows <- intersect(names(list(...)), c("newdata", "newx", "newy"))
  if (length(rows) > 0) {
    kb_abort(c(
      "Markov chains take in no further rows.",
      x = "{.arg {rows}} was given.",
      i = "Fit all rows again, or use {.fn srvm} with {.code method = \"smc\"},
           which takes them in one at a time."
    ), "not_defined", call = call)
  }
}

# Mixing ----------------------------------------------------------------------

#' @export
ess.kb_mcmc <- function(object, ...) {
  check_no_dots(...)
  object <- migrate_fit(object)
  chain_mixing(object)[c("variable", "ess_bulk", "ess_tail", "rhat")]
}

#' `mixing_table()` of all that is watched
#'
#' The tables of the last fits are kept: print() and the warning want the same.
#' @noRd
chain_mixing <- function(fit) {
  key <- rlang::hash(list(class(fit), fit$data, fit$runs, fit$mould$levels))
  table <- mixing_memory$tables[[key]]
  if (is.null(table)) {
    table <- mixing_table(watched_matrices(fit))
    mixing_memory$tables <- utils::tail(
      c(mixing_memory$tables, stats::setNames(list(table), key)), 8
    )
  }
  table
}

mixing_memory <- new.env(parent = emptyenv())
mixing_memory$tables <- list()

#' The smaller effective sample size, of the bulk or of the tails
#' @noRd
least_size <- function(table) {
  pmin(table$ess_bulk, table$ess_tail, na.rm = TRUE)
}

#' Rows of a table of mixing, the worst first: by R-hat where it is too large,
#' then by effective sample size
#' @noRd
worst_first <- function(table) {
  rhat <- pmax(table$rhat, trusted_mixing$rhat)
  # Numbers that are not finite.
  rhat[is.na(rhat)] <- Inf
  table <- table[order(table$constant, -rhat, least_size(table)), ]
  rownames(table) <- NULL
  table
}

#' The worst of f or probabilities, of scales, of inclusion and of the rest
#' @noRd
worst_of_kinds <- function(table) {
  table <- worst_first(table)
  table[!duplicated(watched_kind(table$variable)), ]
}

#' @noRd
watched_kind <- function(variable) {
  kinds <- c(f = "f", p = "f", log_lambda = "scale", delta = "inclusion",
    share = "inclusion", d = "inclusion"
  )
  kind <- kinds[sub("\\[.*", "", variable)]
  unname(ifelse(is.na(kind), "parameter", kind))
}

#' Lines of warnings on these rows of a table of mixing
#' @noRd
mixing_bullets <- function(fit, table) {
  size <- function(v) format(v, digits = 3)
  lines <- paste0(
    watched_words(fit, table$variable), ": R-hat ",
    vapply(table$rhat, format, "", digits = 4), ", effective sample size ",
    vapply(table$ess_bulk, size, ""), " (bulk) and ",
    vapply(table$ess_tail, size, ""), " (tails)"
  )
  stats::setNames(gsub("([{}])", "\\1\\1", lines), rep("x", length(lines)))
}

#' @export
timings.kb_mcmc <- function(object, ...) {
  check_no_dots(...)
  object <- migrate_fit(object)
  seconds <- vapply(object$runs, function(run) {
    if (is.null(run)) 0 else run$seconds
  }, 0)
  list(sampler = sum(seconds), chains = seconds, total = object$seconds)
}

#' @export
diagnostics.kb_mcmc <- function(object, ...) {
  check_no_dots(...)
  object <- migrate_fit(object)
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

# Printing --------------------------------------------------------------------

#' print() of a fit of chains
#' @param title The first line.
#' @param describe Function of the fit and of what shows a number: the lines
#'   on data and posterior.
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
    iterations, "\n",
    mixing_line(x, show),
    "  time:         ", format(round(timings(x)$sampler, 3)), " s\n",
    incomplete_line(x),
    sep = ""
  )
  invisible(x)
}

#' @noRd
formula_line <- function(x) {
  if (!is.null(x$mould$formula)) {
    paste0("  formula:      ", one_line(x$mould$formula), "\n")
  }
}

#' The classes of the training rows, with their numbers
#' @noRd
classes_line <- function(x) {
  counts <- table(x$data$y)
  paste0("  classes:      ", shorten(paste0(
    names(counts), " (", as.vector(counts), ")",
    collapse = ", "
  )), "\n")
}

#' The lines of print() on mixing and on chains that were stopped
#' @noRd
mixing_line <- function(x, show) {
  table <- chain_mixing(x)
  short <- short_words(x)
  if (all(is.na(table$rhat)) && length(short) == 0) {
    return(NULL)
  }
  poor <- nrow(beyond_thresholds(table, trusted_mixing))
  at <- worst_first(table)[1, ]
  lines <- c(
    if (!is.na(at$rhat)) {
      paste0(
        "worst ", at$variable, ": R-hat ", show(at$rhat), ", ESS ",
        show(least_size(at)),
        if (poor > 1) paste0("; ", poor, " of ", nrow(table), " poor")
      )
    },
    short
  )
  paste0("  mixing:       ", paste(
    lines, collapse = "\n                "
  ), "\n")
}

#' @noRd
incomplete_line <- function(x) {
  if (x$status == "complete") {
    return(NULL)
  }
  done <- vapply(x$runs, state_time, 0L)
  paste0(
    "  INCOMPLETE:   ", toString(done), " of ", chain_length(x),
    " iterations; update() continues\n"
  )
}

#' @noRd
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
