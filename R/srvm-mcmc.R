# Fits of srvm(method = "mcmc"): what differs from the sequential ones.

# The run ---------------------------------------------------------------------

#' @noRd
chain_length <- function(fit) fit$control$warmup + fit$control$iter

#' @export
srvm_finish.kb_srvm_mcmc <- function(fit, states, seconds) {
  fit$runs <- states
  # All rows are in the model from the first iteration on.
  fit$time <- nrow(fit$data$x)
  fit$status <- if (is_complete(fit)) "complete" else "interrupted"
  fit$seconds <- seconds
  fit
}

#' @export
is_complete.kb_srvm_mcmc <- function(fit) {
  all(vapply(fit$runs, state_time, 0L) == chain_length(fit))
}

#' The chains that have come far enough, cut to the shortest of them
#'
#' Of a run that was stopped, chains with less than half as many draws as the
#' longest are left out: they would cost the others more than they give.
#' @export
#' @noRd
srvm_runs.kb_srvm_mcmc <- function(fit, call = rlang::caller_env()) {
  draws <- lengths(lapply(fit$runs, `[[`, "k"))
  kept <- draws > 0 & draws >= max(draws) / 2
  if (!any(kept)) {
    kb_abort(c(
      "The fit was stopped before its first draw: it has no posterior yet.",
      i = "{.code update(fit)} continues it."
    ), "not_defined", call = call)
  }
  lapply(fit$runs[kept], head_draws,
    n = min(draws[kept]), intercept = fit$settings$intercept
  )
}

#' The first n draws of a chain
#' @noRd
head_draws <- function(run, n, intercept) {
  if (n == length(run$k)) {
    return(run)
  }
  k <- run$k[seq_len(n)]
  p <- sum(k + intercept)
  entries <- sum((k + intercept) * (k + intercept + 1) / 2)
  cut <- function(v, n) v[seq_len(n)]
  sizes <- c(
    k = n, sets = sum(k), noise = n, coef = n, factor = entries, z = p
  )
  run[names(sizes)] <- Map(cut, run[names(sizes)], sizes)
  run$draws <- Map(cut, run$draws[c("beta", "noise", "coef")], c(p, n, n))
  run
}

#' @export
particle_weights.kb_srvm_mcmc <- function(fit, runs) {
  draws <- sum(lengths(lapply(runs, `[[`, "k")))
  rep(1 / draws, draws)
}

#' @export
warn_status.kb_srvm_mcmc <- function(fit, call) {
  if (fit$status == "complete") {
    return(invisible())
  }
  reason <- c(interrupted = "interrupted", time_limit = "out of time")
  done <- vapply(fit$runs, state_time, 0L)
  draws <- lengths(lapply(fit$runs, `[[`, "k"))
  used <- sum(draws > 0 & draws >= max(draws) / 2)
  kb_warn(c(
    "Stopped after {toString(done)} of {chain_length(fit)} iterations of the
     chains: {reason[[fit$status]]}.",
    "*" = "{used} of {length(done)} have come far enough to be used.",
    i = "The draws so far can be used; {.code update(fit)} continues."
  ), fit$status, call = call)
}

#' @export
warn_quality.kb_srvm_mcmc <- function(fit, call) {
  if (fit$status != "complete") {
    return(invisible())
  }
  warn_memory(fit, call)
  table <- chain_mixing(fit)
  rhat <- worst(max, table$rhat)
  size <- worst(min, table$ess_bulk)
  # Few kept draws were asked for: nothing to be surprised at.
  few <- fit$control$iter %/% fit$control$thin < 100
  if (few || is.na(rhat) || rhat <= 1.05 && size >= 100) {
    return(invisible())
  }
  kb_warn(c(
    "The chains have not mixed well: R-hat is up to
     {format(rhat, digits = 3)}, the effective sample size down to
     {format(size, digits = 3)}.",
    i = "{.code update(fit, n_iter = )} goes on; a larger {.arg n_moves} in
         {.fn mcmc_control} makes each iteration move further."
  ), "convergence", call = call)
}

#' @noRd
worst <- function(of, x) {
  x <- x[!is.na(x)]
  if (length(x) == 0) NA_real_ else of(x)
}

#' Draws are never thinned silently
#' @noRd
warn_memory <- function(fit, call) {
  bytes <- 8 * sum(vapply(fit$runs, function(run) length(run$factor), 0))
  if (bytes <= 1e9) {
    return(invisible())
  }
  kb_warn(c(
    "The draws take {format(bytes / 1e9, digits = 2)} GB.",
    i = "{.arg thin} in {.fn mcmc_control} keeps fewer."
  ), "memory", call = call)
}

#' Continue a batch fit
#'
#' @param object A fit of [srvm()] with `method = "mcmc"`.
#' @param n_iter Number of further iterations of each chain, after the warmup;
#'   the result is identical to that of a run that was as long from the start.
#'   `NULL`: an interrupted fit is run to its end, a complete one is returned
#'   as it is.
#' @param time_limit Seconds after which this call stops; `NULL`: the limit in
#'   the fit's control.
#' @param progress Show a progress bar? `NULL`: in interactive sessions.
#' @param ... Not used: unknown arguments are errors. The batch sampler takes in
#'   no further rows; [sequential fits][update.kb_srvm] do.
#' @return A fit with all draws.
#' @examples
#' data <- sim_sinc(50, seed = 1)
#' fit <- srvm(y ~ x, data,
#'   kernel = kernel_gaussian(0.2), method = "mcmc",
#'   control = mcmc_control(chains = 2, iter = 500), seed = 1
#' )
#' update(fit, n_iter = 500)
#' @export
update.kb_srvm_mcmc <- function(object, n_iter = NULL, time_limit = NULL,
                                progress = NULL, ...) {
  started <- now()
  refuse_rows(...)
  check_no_dots(...)
  object <- migrate_fit(object)
  if (!is.null(time_limit)) time_limit <- check_seconds(time_limit)
  progress <- check_progress(progress)
  if (!is.null(n_iter)) {
    most <- .Machine$integer.max - chain_length(object)
    object$control$iter <- object$control$iter + check_count(n_iter, 0, most)
  }
  if (is_complete(object)) {
    return(object)
  }
  srvm_run(object, progress, started, time_limit)
}

#' @noRd
refuse_rows <- function(..., call = rlang::caller_env()) {
  rows <- intersect(names(list(...)), c("newdata", "newx", "newy"))
  if (length(rows) > 0) {
    kb_abort(c(
      "The batch sampler takes in no further rows.",
      x = "{.arg {rows}} was given.",
      i = "Fit all rows again, or with {.code method = \"smc\"}, which takes
           them in one at a time."
    ), "not_defined", call = call)
  }
}

# Answers ---------------------------------------------------------------------

#' @export
evidence.kb_srvm_mcmc <- function(object, ...) {
  refuse_batch("evidence()", "A Markov chain does not estimate the evidence")
}

#' @export
ancestry.kb_srvm_mcmc <- function(object, ...) {
  refuse_batch("ancestry()", "Chains have no genealogy")
}

#' @noRd
refuse_batch <- function(what, why, call = rlang::caller_env()) {
  kb_abort(c(
    "{.code {what}} is not defined for batch fits.",
    x = "{why}.",
    i = "{.code method = \"smc\"} gives it."
  ), "not_defined", call = call)
}

#' Draws of sigma, tau and k: a list of matrices, a column a chain
#' @noRd
chain_matrices <- function(fit) {
  runs <- srvm_runs(fit)
  scaling <- fit$settings$scaling
  n <- length(runs[[1]]$k)
  column <- function(get) matrix(vapply(runs, get, numeric(n)), n)
  list(
    sigma = unscale_sd(scaling, sqrt(column(function(run) run$draws$noise))),
    tau = unscale_sd(scaling, sqrt(column(function(run) run$draws$coef))),
    k = column(function(run) as.double(run$k))
  )
}

#' @export
ess.kb_srvm_mcmc <- function(object, ...) {
  check_no_dots(...)
  tail <- vapply(chain_matrices(object), posterior::ess_tail, 0)
  mixing <- chain_mixing(object)
  data.frame(
    variable = mixing$variable, ess_bulk = mixing$ess_bulk,
    ess_tail = unname(tail), rhat = mixing$rhat
  )
}

#' What print() and the warning want; tails take as long again
#' @noRd
chain_mixing <- function(fit) {
  chains <- chain_matrices(fit)
  each <- function(f) unname(vapply(chains, f, 0))
  data.frame(
    variable = names(chains), ess_bulk = each(posterior::ess_bulk),
    rhat = each(posterior::rhat)
  )
}

#' @export
timings.kb_srvm_mcmc <- function(object, ...) {
  check_no_dots(...)
  seconds <- vapply(object$runs, function(run) {
    if (is.null(run)) 0 else run$seconds
  }, 0)
  list(sampler = sum(seconds), chains = seconds, total = object$seconds)
}

#' @export
diagnostics.kb_srvm_mcmc <- function(object, ...) {
  check_no_dots(...)
  runs <- srvm_runs(object)
  total <- function(name) Reduce(`+`, lapply(runs, `[[`, name))
  structure(
    list(
      convergence = ess(object), chains = length(runs),
      draws = vapply(runs, function(run) length(run$k), 0L),
      acceptance = stats::setNames(
        total("accepted") / total("tried"), c("birth", "death", "swap")
      )
    ),
    class = "kb_diagnostics_mcmc"
  )
}

#' @noRd
counted <- function(n, what) paste0(n, " ", what, if (n != 1) "s")

#' @export
print.kb_diagnostics_mcmc <- function(x, digits = 3, ...) {
  cat(counted(x$chains, "chain"), ", ", counted(sum(x$draws), "draw"), "\n",
    sep = ""
  )
  print(x$convergence, digits = digits, row.names = FALSE)
  accepted <- paste0(
    names(x$acceptance), " ", format(100 * x$acceptance, digits = 2), "%"
  )
  if (!all(is.na(x$acceptance))) {
    cat("accepted: ", toString(accepted), "\n", sep = "")
  }
  invisible(x)
}

#' @export
print.kb_srvm_mcmc <- function(x, digits = 3, ...) {
  cat("Relevance vector machine, batch reversible jump\n")
  done <- vapply(x$runs, state_time, 0L)
  incomplete <- if (x$status != "complete") {
    paste0(
      "  INCOMPLETE:   ", toString(done), " of ", chain_length(x),
      " iterations; update() continues\n"
    )
  }
  if (all(lengths(lapply(x$runs, `[[`, "k")) == 0)) {
    cat(incomplete)
    return(invisible(x))
  }
  k <- kernels(x)
  mixing <- chain_mixing(x)
  show <- function(v) format(v, digits = digits)
  cat(
    describe_model(x),
    "  centres:      ", show(sum(k$k * k$probability)), " on average (",
    min(k$k), " to ", max(k$k), ")\n",
    "  noise sd:     ", show(stats::sigma(x)), "\n",
    "  chains:       ", length(x$runs), ", ",
    counted(x$control$iter, "iteration"), " after ", x$control$warmup, ", ",
    counted(x$control$n_moves, "move"), " each\n",
    if (!all(is.na(mixing$rhat))) {
      paste0(
        "  mixing:       R-hat up to ", show(worst(max, mixing$rhat)),
        ", ESS from ", show(worst(min, mixing$ess_bulk)), "\n"
      )
    },
    "  time:         ", format(round(timings(x)$sampler, 3)), " s\n",
    incomplete,
    sep = ""
  )
  invisible(x)
}

#' @export
glance.kb_srvm_mcmc <- function(x, ...) {
  check_no_dots(...)
  k <- kernels(x)
  mixing <- chain_mixing(x)
  data.frame(
    nobs = x$time, k = sum(k$k * k$probability), sigma = stats::sigma(x),
    rhat = worst(max, mixing$rhat), ess_bulk = worst(min, mixing$ess_bulk),
    draws = sum(lengths(lapply(x$runs, `[[`, "k"))), seconds = x$seconds
  )
}

#' @rdname as_draws.kb_srvm
#' @export
as_draws.kb_srvm_mcmc <- function(x, ...) {
  if ("weighted" %in% names(list(...))) {
    kb_abort("{.arg weighted} is for sequential fits: here draws have equal
             weight.", "unknown_argument", argument = "weighted")
  }
  check_no_dots(...)
  pool <- srvm_pool(x)
  runs <- srvm_runs(x)
  n <- length(runs[[1]]$k)
  draws <- srvm_parameters(x, pool)
  draws$.chain <- rep(seq_along(runs), each = n)
  draws$.iteration <- rep(seq_len(n), length(runs))
  posterior::as_draws_df(draws)
}

#' @rdname as_draws.kb_srvm
#' @export
as_draws_df.kb_srvm_mcmc <- as_draws.kb_srvm_mcmc

#' Traces of k and of the noise standard deviation, a line a chain
#' @noRd
plot_chains <- function(x, ...) {
  if (all(graphics::par("mfrow") == 1)) {
    old <- graphics::par(mfrow = c(2, 1), mar = c(4.2, 4.1, 1.6, 1))
    on.exit(graphics::par(old))
  }
  chains <- chain_matrices(x)
  at <- x$control$thin * seq_len(nrow(chains$k))
  colours <- c("blue", "orange", "green", "sky", "grey")
  shown <- colours[(seq_len(ncol(chains$k)) - 1) %% length(colours) + 1]
  panel <- function(values, label, ...) {
    base_plot(list(
      x = at, y = values[, 1], type = "n", ylab = label, ylim = range(values),
      xlab = "iteration after the warmup"
    ), ...)
    graphics::matlines(at, values,
      lty = 1, lwd = 0.7, col = vapply(shown, kb_colour, "", alpha = 0.7)
    )
  }
  dots <- list(...)
  panel(chains$k, "k", ...)
  do.call(panel, c(
    list(chains$sigma, "noise sd"), dots[setdiff(names(dots), "main")]
  ))
}
