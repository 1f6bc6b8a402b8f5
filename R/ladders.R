# Ladders of chains between the prior and the posterior, from which the evidence
# is: what those of all engines share.

is_ladder <- function(engine) inherits(engine, "kb_engine_ladder")

#' Run independent ladders, in turn
#'
#' Each sweep of all rungs is as good as the next, so that of ladders that were
#' stopped the sweeps so far are used. A ladder with less than half as many as
#' the longest is left out.
#' @return List of `states` of the ladders that are used, how many `sweeps`
#'   after the warmup each of them has, how many were `done` by each (what it
#'   counted is of these), and the `status`.
#' @noRd
run_ladder_engine <- function(engine, chains, progress) {
  out <- tryCatch(
    run_engine(
      engine, vector("list", chains), list(time_limit = Inf), progress
    ),
    "C++Error" = function(error) refuse_sampler(error)
  )
  time <- vapply(out$states, engine_done, 0, engine = engine)
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
      i = "There is nothing to report."
    ), status)
  }
  kb_warn(c(
    "Stopped after {sweeps} of {iter} sweeps of {ladders} ladder{?s}.",
    i = "The evidence is that by those."
  ), status)
}

# Evaluate what follows a run with interrupts held back: it takes a moment, and
# an interrupt would lose the run
keep_run <- function(expr) {
  suspendInterrupts({
    value <- expr
    if (interrupt_pending()) warn_late_interrupt("result")
  })
  value
}
