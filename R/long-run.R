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
    left <- seconds * (total - done) / (done - before)
    if (left >= rest && left <= clock$left()) {
      said <<- TRUE
      inform_long_run(left, engine)
    }
  }
}

# What makes runs of this kind shorter, a line of that message; NULL: nothing in
# particular
shortcut <- function(engine) UseMethod("shortcut")
#' @export
shortcut.default <- function(engine) NULL

inform_long_run <- function(seconds, engine) {
  grows <- !inherits(engine, "kb_engine_chain")
  about <- paste(if (grows) "At least" else "About", format_seconds(seconds))
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
