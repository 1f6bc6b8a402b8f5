# check_moves(): are the weights of a tdsmc() problem exact? By enumeration of
# all states of a small problem.

#' Are the weights of moves exact?
#'
#' `check_moves(target, moves, states = function(t) ...)` tests the target and the moves
#' of a [tdsmc()] problem on a version small enough to list all states, and names the
#' move that is wrong.
#' @section What is tested:
#' For each step t, with S' the states of step t - 1 and S those of step t, up
#' to a relative error of 1e-8:
#' * `probability`: the probabilities of the moves sum to 1 at every S';
#' * `reverse_probability`: those of the reverse choice sum to 1 at every S;
#' * `log_forward`: \eqn{q_i(\cdot | S')}{q_i(. | S')} sums to 1 over S,
#'   wherever the move is possible;
#' * `log_reverse`: \eqn{q'_i(\cdot | S)}{q'_i(. | S)} sums to 1 over S',
#'   wherever the reverse choice has a probability;
#' * `support`: all states that the reverse choice can give can be reached
#'   forward;
#' * `weight`: the weights that move i brings to S sum to its share
#'   \eqn{\gamma_t(S) \alpha'_i(S)}{gamma_t(S) alpha'_i(S)};
#' * `identity`: summed over all moves they give \eqn{\gamma_t(S)}, which makes
#'   the weights exact. If this holds, other shares of the moves (`weight`) are
#'   not a fault. A state of density zero must get no weight.
#'
#' Then, by simulation, with exact binomial p-values corrected for their number:
#' * `propose`: draws of `propose()` have the distribution given by
#'   `log_forward`, from each S';
#' * `initial`: \eqn{\gamma_0} sums to 1 and `initial()` draws from it (if step
#'   1 is among `steps`);
#' * `rejuvenate`: states drawn from \eqn{\gamma_t} still have that distribution
#'   after three calls of `rejuvenate()`; and `rejuvenate at 0.5`, if data enter
#'   gradually, at that power. Of [td_rejuvenate()], each move is tested with the move
#'   that undoes it only, and named in `state`.
#'
#' `log_forward` and `log_reverse` are called with all pairs of states: they
#' must give `-Inf` for pairs that the move cannot connect. Moves with a
#' `log_weight` and without `log_reverse` or `reverse_probability` are tested as
#' far as possible.
#' @section If states cannot be listed:
#' Without `states` n independent particles are drawn from \eqn{\gamma_0} and extended,
#' without resampling, and at each step
#' * `probability`, `reverse_probability` are tested at every particle, as above;
#' * `propose`, `initial`: the share of draws in some region is the integral of the
#'   density over it; `log_density` and `log_forward` must be `-Inf` at states that
#'   cannot be drawn;
#' * `balance`: for every two moves i and j, the particles that i brought and those that
#'   j brought, weighted by the other's \eqn{\alpha'}{alpha'}, have the same sums over
#'   all states and parts of them. If they do not, a density of one of the two is wrong;
#' * `rejuvenate`: weighted, as many particles leave each part of the states as enter
#'   it. If not, `rejuvenate` or the weights are wrong. Of [td_rejuvenate()] each
#'   move is tested with the move that undoes it.
#'
#' If data enter gradually, `balance` and `rejuvenate` are tested at two powers.
#' Where the effective sample size is below 2% of n, a step is tested at smaller
#' powers or not at all, and later steps are not tested: `ok` is `NA` then, unless
#' there is a fault. A verdict of no fault is weaker than with a list of states; a
#' discrete version of the problem can be listed. The article `tdsmc` says what the
#' tests compare.
#' @param target,moves,data As in [tdsmc()].
#' @param states `function(t)`: all states of step t, t = 0 included, in the
#'   form used by the other functions. States of density zero may be omitted if
#'   no move leads to them. `NULL`: they cannot be listed.
#' @param steps The steps to test, whole numbers; `NULL`: all rows of `data`.
#' @param n Number of draws for each state in the simulations; 0: none. Without
#'   `states`, the number of particles, at least 100. `NULL`: 1000, or 10000
#'   particles.
#' @param level Probability of a false alarm in the simulations.
#' @param key `NULL`, or `function(states)`: a string for each state, equal for
#'   equal states, which identifies draws and names states. The default writes
#'   the numbers with 15 digits.
#' @inheritParams simulate.kb_fit
#' @param x An object of class `kb_check_moves`.
#' @return A list of class `kb_check_moves`: `ok`, which is `NA` if no fault was
#'   found but a step, or a move of `rejuvenate`, could not be tested; `wrong`, the
#'   names of the moves at fault (`"(target)"` for faults of the target, `"(all
#'   moves)"` for sums over moves); `table`, a data frame with a line for each
#'   `move`, `check` and step `t`: `discrepancy`, the largest relative error (in
#'   simulations, of a probability), `p_value` (of simulations, corrected), `ok`, and
#'   the `state` where it is worst; `worst`, a data frame of the states with the
#'   largest errors of each check that fails, with the actual value (`is`) and the
#'   correct one (`should_be`); `listed`, whether there was a list of states; `lost`,
#'   the share of draws that were not in it; `untested`, the step from which on there
#'   were too few particles, or `NA`.
#' @seealso [td_target()] for the formula of the weights
#' @examples
#' # Two coins; a state is the number of heads so far, and a move adds one.
#' target <- td_target(
#'   log_density = function(states, t, data) {
#'     dbinom(states, t, 0.3, log = TRUE)
#'   },
#'   initial = function(n, data) rep(0, n)
#' )
#' by <- function(k) {
#'   function(new, old, t, data) ifelse(new == old + k, 0, -Inf)
#' }
#' moves <- function(tails_from) {
#'   list(
#'     heads = td_move(
#'       propose = function(states, t, data) states + 1,
#'       log_forward = by(1), log_reverse = function(old, new, t, data) {
#'         ifelse(old == new - 1, 0, -Inf)
#'       },
#'       probability = 0.5,
#'       reverse_probability = function(new, t, data) new / t
#'     ),
#'     tails = td_move(
#'       propose = function(states, t, data) states,
#'       log_forward = by(0), log_reverse = function(old, new, t, data) {
#'         ifelse(old == new, 0, -Inf)
#'       },
#'       probability = 0.5, reverse_probability = tails_from
#'     )
#'   )
#' }
#' right <- moves(function(new, t, data) (t - new) / t)
#' check_moves(target, right, states = function(t) 0:t, steps = 1:3)
#' wrong <- moves(0.5)
#' check_moves(target, wrong, states = function(t) 0:t, steps = 1:3)
#' @order 1
#' @export
check_moves <- function(target, moves = NULL, data = NULL, states = NULL,
                        steps = NULL, n = NULL, level = 1e-4, key = NULL,
                        seed = NULL) {
  listed <- !is.null(states)
  if (is.null(n)) n <- if (listed) 1000 else 10000
  problem <- list(
    target = check_td_target(target), moves = check_td_moves(moves),
    data = data, states = check_function(states, optional = TRUE),
    key = check_function(key, optional = TRUE),
    n = check_size(n, if (listed) 0 else 100, each = 10),
    level = check_number(level, 0, 1, open = TRUE), listed = listed
  )
  steps <- check_step_numbers(steps, data)
  found <- with_local_seed(seed, if (listed) {
    unlist(lapply(steps, check_step, problem), recursive = FALSE)
  } else {
    simulated_checks(problem, steps)
  })
  if (listed && 1 %in% steps) found <- c(check_initial(problem, seed), found)
  new_check_moves(found, problem, steps)
}

check_step_numbers <- function(steps, data) {
  if (is.null(steps)) steps <- seq_len(NROW(data))
  fine <- is.numeric(steps) && length(steps) > 0 && all(is.finite(steps)) &&
    all(steps >= 1 & steps == round(steps))
  if (!fine) {
    bad_argument(steps, "steps", "whole numbers of at least 1")
  }
  sort(unique(as.integer(steps)))
}

# Findings: one for each move, check and step. `is` and `should_be` are vectors
# over states, `p` the p-values of simulations.

finding <- function(move, check, t, is, should_be, keys, p = NULL,
                    error = abs(is / should_be - 1)) {
  error[is == should_be] <- 0
  error[is.na(error)] <- Inf
  list(
    move = move, check = check, t = t, is = is, should_be = should_be,
    keys = keys, error = error, p = p
  )
}

# The states of a step --------------------------------------------------------

enumerated <- function(problem, t) {
  states <- call_user(problem$states, "`states()`", t, t)
  n <- particle_count(states)
  keys <- state_keys(states, problem$key, t)
  if (n == 0 || anyDuplicated(keys)) {
    kb_abort(c(
      "{.arg states} must list different states, at step {t}.",
      x = if (n == 0) "There are none." else
        "Two have the key {.val {keys[anyDuplicated(keys)]}}.",
      i = "Use {.arg key} to distinguish states."
    ), "argument", argument = "states", call = NULL)
  }
  list(
    states = states, keys = keys, n = n,
    log_density = user_logs(
      with_extras(problem$target$log_density, list(power = 1)),
      of_target("log_density"), n, t, states, t, problem$data
    )
  )
}

state_keys <- function(states, key, t) {
  if (is.null(key)) {
    return(particle_keys(states))
  }
  out <- call_user(key, of_argument("key"), t, states)
  if (!is.character(out) || length(out) != particle_count(states)) {
    refuse_value(of_argument("key"), t, "a string for each state", describe(out))
  }
  out
}

# One step --------------------------------------------------------------------

check_step <- function(t, problem) {
  from <- enumerated(problem, t - 1)
  to <- enumerated(problem, t)
  # Particles are only where the previous target has positive density.
  live <- from$log_density > -Inf
  tables <- lapply(names(problem$moves), function(name) {
    move_table(problem, name, from, to, live, t)
  })
  names(tables) <- names(problem$moves)
  c(
    list(check_alpha(tables, from, live, t), check_back(tables, to, t)),
    unlist(lapply(tables, check_move, from, to, live, t), recursive = FALSE),
    check_shares(tables, to, t),
    check_draws(problem, tables, from, to, live, t),
    check_rejuvenate(problem, to, t)
  )
}

# The densities and weights of a move for all pairs of states: matrices S' x S
move_table <- function(problem, name, from, to, live, t) {
  move <- problem$moves[[name]]
  data <- problem$data
  alpha <- user_probabilities(
    move$probability, of_move("probability", name), from$n, t,
    from$states, t, data
  )
  back <- if (!is.null(move$reverse_probability)) {
    user_probabilities(
      move$reverse_probability, of_move("reverse_probability", name), to$n, t,
      to$states, t, data
    )
  }
  pairs <- function(f, what, rows, columns, swapped = FALSE) {
    all_pairs(f, of_move(what, name), from, to, rows, columns, t, data,
      swapped
    )
  }
  on <- alpha > 0 & live
  out <- list(
    name = name, alpha = alpha, back = back, on = on,
    forward = pairs(move$log_forward, "log_forward", on, rep(TRUE, to$n)),
    reverse = if (!is.null(back) && !is.null(move$log_reverse)) {
      pairs(move$log_reverse, "log_reverse", rep(TRUE, from$n), back > 0, TRUE)
    }
  )
  c(out, list(mass = move_mass(move, name, out, from, to, t, data)))
}

# log f of chosen rows and columns, -Inf elsewhere
all_pairs <- function(f, what, from, to, rows, columns, t, data,
                      swapped = FALSE) {
  out <- matrix(-Inf, from$n, to$n)
  at <- as.matrix(expand.grid(which(rows), which(columns)))
  if (nrow(at) > 0) {
    old <- particle_subset(from$states, at[, 1])
    new <- particle_subset(to$states, at[, 2])
    args <- if (swapped) list(old, new) else list(new, old)
    out[at] <- user_logs(f, what, nrow(at), t, args[[1]], args[[2]], t, data)
  }
  out
}

# log of gamma_{t-1}(S') alpha(S') q(S | S') W(S', S), over gamma_t(S)
#
# By the general law this is alpha'(S) q'(S' | S) where the way forward is
# possible. Where gamma_t(S) = 0 it is in units of the largest gamma_t.
move_mass <- function(move, name, table, from, to, t, data) {
  possible <- table$on & table$forward > -Inf
  if (is.null(move$log_weight)) {
    mass <- table$reverse + rep(log(table$back), each = from$n)
    mass[!possible | rep(to$log_density == -Inf, each = from$n)] <- -Inf
    return(mass)
  }
  mass <- matrix(-Inf, from$n, to$n)
  at <- which(possible, arr.ind = TRUE)
  if (nrow(at) == 0) {
    return(mass)
  }
  weight <- user_logs(
    move$log_weight, of_move("log_weight", name), nrow(at), t,
    particle_subset(to$states, at[, 2]), particle_subset(from$states, at[, 1]),
    t, data
  )
  unit <- to$log_density
  unit[unit == -Inf] <- max(unit)
  mass[at] <- from$log_density[at[, 1]] + log(table$alpha[at[, 1]]) +
    table$forward[at] + weight - unit[at[, 2]]
  mass
}

check_alpha <- function(tables, from, live, t) {
  total <- Reduce(`+`, lapply(tables, `[[`, "alpha"))[live]
  finding("(all moves)", "probability", t, total, rep(1, sum(live)),
    from$keys[live]
  )
}

check_back <- function(tables, to, t) {
  back <- lapply(tables, `[[`, "back")
  if (any(vapply(back, is.null, TRUE))) {
    return(NULL)
  }
  live <- to$log_density > -Inf
  finding("(all moves)", "reverse_probability", t, Reduce(`+`, back)[live],
    rep(1, sum(live)), to$keys[live]
  )
}

# Sums of forward and reverse densities, and states that cannot be reached
check_move <- function(table, from, to, live, t) {
  on <- table$on
  found <- list(finding(table$name, "log_forward", t,
    rowSums(exp(table$forward[on, , drop = FALSE])), rep(1, sum(on)),
    from$keys[on]
  ))
  if (is.null(table$reverse)) {
    return(found)
  }
  back <- table$back > 0 & to$log_density > -Inf
  reverse <- exp(table$reverse[, back, drop = FALSE])
  reached <- on & table$forward[, back, drop = FALSE] > -Inf
  total <- colSums(reverse)
  lost <- colSums(reverse * !reached)
  c(found, list(
    finding(table$name, "log_reverse", t, total, rep(1, sum(back)),
      to$keys[back]
    ),
    finding(table$name, "support", t, lost, rep(0, sum(back)), to$keys[back],
      error = lost
    )
  ))
}

# The identity, and the part of each move in it
check_shares <- function(tables, to, t) {
  live <- to$log_density > -Inf
  sums <- lapply(tables, function(table) colSums(exp(table$mass)))
  total <- Reduce(`+`, sums)
  c(
    lapply(Filter(function(table) !is.null(table$back), tables), function(m) {
      share <- ifelse(live, m$back, 0)
      finding(m$name, "weight", t, sums[[m$name]], share, to$keys,
        # Relative to the state: large errors of small shares do not matter.
        error = abs(sums[[m$name]] - share)
      )
    }),
    list(finding("(all moves)", "identity", t, total, live + 0, to$keys,
      error = abs(total - live)
    ))
  )
}
