# Layouts of tdsmc fits: see fit-layout.R. States have any form that the user's
# functions give them; there is one per particle.

tdsmc_layout <- layout(
  control = holds(smc_control_layout), steps = counts(1, 1),
  target = holds(layout(
    log_density = such_that(is.function, "a function"),
    initial = such_that(is.function, "a function"),
    rejuvenate = such_that(is_rejuvenate, "a function or moves")
  ), "kb_td_target"),
  .gradual = rule(
    !is_tempered(target) || are_powers(control), "of powers of the data"
  ),
  moves = each(holds(td_move_layout, "kb_td_move")),
  .named = rule(
    length(moves) > 0 && is.character(names(moves)) && !anyNA(names(moves)),
    "of named moves"
  ),
  sizes = maybe(counts(control$replicates, 1)),
  seed = counts(), time = counts(1, 0, steps),
  status = strings(1, c("started", "complete", "interrupted", "time_limit")),
  seconds = numbers(1, 0),
  runs = each(maybe(holds(tdsmc_run_layout))),
  .some = rule(length(runs) > 0, "of a run at least"),
  .all = rule(
    length(runs) == control$replicates, "of as many runs as replicates"
  )
)

are_powers <- function(control) {
  c <- control$cess_threshold
  w <- control$powers
  is.numeric(c) && length(c) == 1 && isTRUE(c >= 0 && c <= 1) &&
    is.numeric(w) && !anyNA(w) && all(w > 0 & w <= 1)
}

is_rejuvenate <- function(x) {
  if (!inherits(x, "kb_td_rejuvenate")) {
    return(is.null(x) || is.function(x))
  }
  names <- names(x$moves)
  is.list(x$moves) && is.character(names) &&
    all(vapply(x$moves, is_jump, TRUE)) &&
    is.character(x$reverse) && setequal(names(x$reverse), names) &&
    all(x$reverse %in% names) &&
    is.numeric(x$rounds) && length(x$rounds) == 1 && is.finite(x$rounds) &&
    x$rounds >= 1
}

is_jump <- function(move) {
  is.list(move) && is.function(move$propose) &&
    is.function(move$log_forward) && is_move_probability(move$probability)
}

td_move_layout <- layout(
  .weighed = !is.null(.object$log_weight),
  propose = such_that(is.function, "a function"),
  log_forward = where(!weighed, such_that(is.function, "a function")),
  log_reverse = where(!weighed, such_that(is.function, "a function")),
  probability = such_that(is_move_probability, "a function or a number"),
  reverse_probability = where(!weighed, such_that(
    is_move_probability, "a function or a number"
  )),
  log_weight = maybe(such_that(is.function, "a function"))
)

tdsmc_run_layout <- layout(
  time = counts(1, 0, steps), .n = length(.object$weights),
  .some = rule(n > 0, "of a particle at least"),
  .whole = rule(particle_count(.object$states) == n, "of as many states"),
  log_weights = such_that(function(v) {
    is.double(v) && length(v) == n && !anyNA(v) && is.finite(max(v))
  }, "log weights"),
  weights = unit_weights(n),
  log_density = any_numbers(n), log_evidence = numbers(),
  relative_variance = any_numbers(),
  genealogy = holds(layout(
    founders = counts(n, 1, n), correction = any_numbers(NULL),
    families = counts(n * length(correction), 1, n),
    resamplings = tallies(), closed = any_numbers()
  )),
  ancestors = where(
    control$ancestry != "summary", counts(n * max(time - 1, 0), 1, n)
  ),
  path = holds(layout(
    log_increment = numbers(time), ess = numbers(time, 0),
    founders = counts(time), resampled = flags(time),
    particles = counts(time, 1), chosen = counts(time * length(moves)),
    share = numbers(time * length(moves)),
    .powers = is_tempered(target), .jumps = length(jump_moves(target)),
    ess_lowest = where(powers, numbers(time, 0)),
    increases = where(powers, counts(time, 1)),
    tried = where(jumps > 0, counts(time * jumps)),
    accepted = where(jumps > 0, counts(time * jumps))
  )),
  seconds = numbers(1, 0)
)
