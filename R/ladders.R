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
