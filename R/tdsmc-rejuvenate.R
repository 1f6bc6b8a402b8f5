# Rejuvenation of the particles of tdsmc(): by a function of the user, or by
# reversible jump with td_move()s.

#' Rejuvenate particles by reversible jump
#'
#' `td_rejuvenate(moves, reverse = c(birth = "death"))` makes the `rejuvenate` of a
#' [td_target()] from [td_move()]s: a Markov chain that proposes by these moves and
#' accepts or rejects, so that it leaves the current target invariant (reversible jump,
#' Green, 1995).
#' @section Acceptance:
#' A round: a particle S chooses move i with probability \eqn{\alpha_i(S)}
#' (`probability`), is proposed to go to \eqn{S' \sim q_i(\cdot | S)}{
#' S' ~ q_i(. | S)} (`propose`), and goes there with probability
#' \deqn{\min\left(1, \frac{\gamma(S')\, \alpha_j(S')\, q_j(S | S')}{
#'   \gamma(S)\, \alpha_i(S)\, q_i(S' | S)}\right),}{
#'   min(1, [gamma(S') alpha_j(S') q_j(S | S')] /
#'   [gamma(S) alpha_i(S) q_i(S' | S)]),}
#' where j is the move that undoes i, and \eqn{\gamma} is the target of the
#' step, at the current power if data enter gradually. The \eqn{\alpha} may sum
#' to less than 1 at a state, which then stays with the rest.
#'
#' All functions of a move are called at the step of the target, with states of
#' that step: `log_forward(new, old, t, data)` with `new` and `old` exchanged
#' gives the density of the way back, and must be `-Inf` where move j does not
#' lead back. `log_reverse`, `reverse_probability` and `log_weight` are not
#' used. Densities are with respect to the reference measure of the target: a birth that
#' maps (S, u) to S' deterministically has a Jacobian in its `log_forward`, as in
#' [td_target()], and the death that undoes it has 0 for the deterministic part.
#' Functions may have the arguments `power` and `cloud` of [td_target()]; all rounds of
#' one rejuvenation see the cloud at its beginning.
#' @param moves A named list of [td_move()], or a single one.
#' @param reverse Which move undoes which: `c(birth = "death")`, names and
#'   values being names of moves; `death` is then undone by `birth`. Moves that
#'   are not mentioned undo themselves, such as random walks and exchanges.
#' @param rounds Number of rounds, at least 1: proposals per particle.
#' @return An object of class `kb_td_rejuvenate`. After a run, `summary()` of
#'   the fit has the numbers of proposals and the acceptance rates by move, and
#'   `diagnostics(fit)$acceptance` the rates.
#' @section Errors: In a run `kb_error_user_function` if a function of a move fails,
#'   returns an invalid value or the probabilities sum to more than 1, and
#'   `kb_error_argument` if a move that should undo itself never leads back.
#' @references
#' Green, P. J. (1995). Reversible jump Markov chain Monte Carlo computation and
#' Bayesian model determination. Biometrika 82, 711-732.
#' @seealso [check_moves()] tests that the target is left invariant.
#' @examples
#' # The mean of normal data is 0, with probability 1/2, or has a N(0, 1) prior.
#' none <- function(new, old, t, data) numeric(length(new))
#' moves <- list(
#'   birth = td_move(
#'     propose = function(states, t, data) as.list(rnorm(length(states))),
#'     log_forward = function(new, old, t, data) {
#'       vapply(new, function(m) sum(dnorm(m, log = TRUE)), 0)
#'     },
#'     log_reverse = none,
#'     probability = function(states, t, data) as.numeric(lengths(states) == 0)
#'   ),
#'   death = td_move(
#'     propose = function(states, t, data) rep(list(numeric()), length(states)),
#'     log_forward = none, log_reverse = none,
#'     probability = function(states, t, data) as.numeric(lengths(states) == 1)
#'   )
#' )
#' target <- td_target(
#'   log_density = function(states, t, data) {
#'     y <- data[seq_len(t)]
#'     vapply(states, function(m) {
#'       sum(dnorm(m, log = TRUE)) + log(0.5) + sum(dnorm(y, sum(m), log = TRUE))
#'     }, 0)
#'   },
#'   initial = function(n, data) lapply(rbinom(n, 1, 0.5), rnorm),
#'   rejuvenate = td_rejuvenate(moves, reverse = c(birth = "death"), rounds = 2)
#' )
#' # Particles stay as they are from step to step, and are rejuvenated.
#' fit <- tdsmc(target, data = c(0.3, 1.1, 0.4, 0.9), seed = 1)
#' predict(fit, lengths, type = "distribution")
#' diagnostics(fit)
#' @export
td_rejuvenate <- function(moves, reverse = NULL, rounds = 1) {
  if (missing(moves) || is.null(moves)) {
    bad_argument(moves, "moves", "a list of `td_move()`")
  }
  moves <- check_td_moves(moves)
  structure(
    list(
      moves = moves, reverse = check_reverse(reverse, names(moves)),
      rounds = check_count(rounds, 1)
    ),
    class = "kb_td_rejuvenate"
  )
}

# The move that undoes each move
check_reverse <- function(reverse, names) {
  undone <- stats::setNames(names, names)
  if (length(reverse) == 0) {
    return(undone)
  }
  fine <- is.character(reverse) && rlang::is_named(reverse) &&
    all(c(reverse, names(reverse)) %in% names)
  if (fine) {
    pairs <- c(reverse, stats::setNames(names(reverse), reverse))
    undone[names(pairs)] <- pairs
    # One partner each, and each the partner of its partner.
    fine <- all(undone[names(pairs)] == pairs) && all(undone[undone] == names)
  }
  if (!fine) {
    bad_argument(reverse, "reverse", paste(
      "pairs of the moves", paste0("\"", names, "\"", collapse = ", "),
      "such as c(birth = \"death\"), each in one pair"
    ))
  }
  undone
}

#' @export
print.kb_td_rejuvenate <- function(x, ...) {
  check_no_dots(...)
  name <- names(x$moves)
  other <- x$reverse[name]
  pair <- ifelse(name == other, name, paste(name, other, sep = " / "))
  cat("<td_rejuvenate> ", toString(pair[match(name, other) >= seq_along(name)]),
    "; ", counted(x$rounds, "round"), "\n",
    sep = ""
  )
  invisible(x)
}

# The moves of a target's kernel, or NULL
jump_moves <- function(target) {
  if (inherits(target$rejuvenate, "kb_td_rejuvenate")) target$rejuvenate$moves
}

# A rejuvenation -------------------------------------------------------------

#' Move the particles so that the target of step t at a power stays invariant
#' @param cloud List of `states`, their log density where it is known, and
#'   normalised `weights`.
#' @return List of `states`, `log_density` and, for a kernel, the numbers of
#'   proposals `tried` and `accepted`, by move.
#' @noRd
rejuvenated <- function(target, cloud, t, power, data) {
  rejuvenate <- target$rejuvenate
  if (inherits(rejuvenate, "kb_td_rejuvenate")) {
    return(jump(target, cloud, t, power, data))
  }
  extras <- list(power = power)
  if (wants_cloud(rejuvenate)) extras$cloud <- cloud_seen(cloud, power)
  n <- particle_count(cloud$states)
  states <- user_states(
    with_extras(rejuvenate, extras), of_target("rejuvenate"), n, t,
    cloud$states, t, data
  )
  list(states = states, log_density = rep(NA_real_, n))
}

wants_cloud <- function(rejuvenate) {
  if (is.function(rejuvenate)) {
    return(takes(rejuvenate, "cloud"))
  }
  parts <- unlist(lapply(rejuvenate$moves, unclass), recursive = FALSE)
  any(vapply(Filter(is.function, parts), takes, TRUE, "cloud"))
}

# The argument `cloud` of users' functions
cloud_seen <- function(cloud, power) {
  list(
    weights = cloud$weights, log_density = cloud$log_density, power = power,
    scale = particle_scale(cloud$states, cloud$weights)
  )
}

# What the moves of a kernel of td_rejuvenate() are called with
jump_problem <- function(target, cloud, t, power, data) {
  kernel <- target$rejuvenate
  extras <- list(power = power)
  if (wants_cloud(kernel)) extras$cloud <- cloud_seen(cloud, power)
  moves <- lapply(kernel$moves, function(move) {
    functions <- vapply(move, is.function, TRUE)
    move[functions] <- lapply(move[functions], with_extras, extras)
    move
  })
  list(
    moves = moves, reverse = kernel$reverse, t = t, data = data,
    log_density = with_extras(target$log_density, extras)
  )
}

# All rounds of the kernel
jump <- function(target, cloud, t, power, data) {
  problem <- jump_problem(target, cloud, t, power, data)
  out <- list(
    states = cloud$states,
    log_density = known_log_density(problem, cloud$states, cloud$log_density),
    tried = integer(length(problem$moves)),
    accepted = integer(length(problem$moves))
  )
  for (round in seq_len(target$rejuvenate$rounds)) out <- jump_once(problem, out)
  out
}

known_log_density <- function(problem, states, known = NULL) {
  if (is.null(known)) known <- rep(NA_real_, particle_count(states))
  i <- which(is.na(known))
  if (length(i) > 0) {
    known[i] <- user_logs(
      problem$log_density, of_target("log_density"), length(i), problem$t,
      particle_subset(states, i), problem$t, problem$data
    )
  }
  known
}

# Every particle tries one move, or none
jump_once <- function(problem, now) {
  moves <- problem$moves
  chance <- move_chances(moves, now$states, problem$t, problem$data)
  chance <- cbind(chance, stay = pmax(1 - rowSums(chance), 0))
  move <- choose_move(chance)
  states <- list(now$states)
  from <- seq_along(move)
  for (m in which(tabulate(move, length(moves)) > 0)) {
    i <- which(move == m)
    tried <- try_jump(problem, names(moves)[[m]],
      particle_subset(now$states, i), now$log_density[i], chance[i, m]
    )
    accepted <- log(stats::runif(length(i))) < tried$log_ratio
    now$tried[[m]] <- now$tried[[m]] + length(i)
    now$accepted[[m]] <- now$accepted[[m]] + sum(accepted)
    now$log_density[i[accepted]] <- tried$log_density[accepted]
    before <- sum(vapply(states, particle_count, 0))
    from[i[accepted]] <- before + which(accepted)
    states <- c(states, list(tried$states))
  }
  if (length(states) > 1) {
    now$states <- particle_subset(particle_bind(states), from)
  }
  now
}

#' Proposals of one move and the logs of their acceptance ratios, (T10)
#' @param before,alpha log gamma(old), and the move's probability there.
#' @noRd
try_jump <- function(problem, name, old, before, alpha) {
  t <- problem$t
  data <- problem$data
  n <- particle_count(old)
  move <- problem$moves[[name]]
  new <- user_states(
    move$propose, of_move("propose", name), n, t, old, t, data
  )
  check_same_shape(new, old, name, t)
  forward <- forward_density(move, name, new, old, t, data)
  refuse_impossible(forward, name, t)
  after <- known_log_density(problem, new)
  list(
    states = new, log_density = after,
    log_ratio = after - before + log_way_back(problem, name, new, old, after) -
      log(alpha) - forward
  )
}

forward_density <- function(move, name, new, old, t, data) {
  user_logs(move$log_forward, of_move("log_forward", name),
    particle_count(new), t, new, old, t, data
  )
}

check_same_shape <- function(new, old, name, t) {
  shape <- particle_shape(old)
  if (particle_shape(new) != shape) {
    refuse_value(
      of_move("propose", name), t,
      paste("states as it was given,", shape), particle_shape(new)
    )
  }
}

# log alpha_j(new) q_j(old | new) of the move j that undoes this one
log_way_back <- function(problem, name, new, old, after) {
  t <- problem$t
  partner <- problem$reverse[[name]]
  move <- problem$moves[[partner]]
  out <- rep(-Inf, length(after))
  live <- which(after > -Inf)
  if (length(live) == 0) {
    return(out)
  }
  at <- particle_subset(new, live)
  alpha <- user_probabilities(
    move$probability, of_move("probability", partner), length(live), t,
    at, t, problem$data
  )
  some <- alpha > 0
  if (any(some)) {
    i <- live[some]
    out[i] <- log(alpha[some]) + forward_density(move, partner,
      particle_subset(old, i), particle_subset(new, i), t, problem$data
    )
  }
  # Of a few proposals, all may happen to be such that there is no way back.
  lost <- partner == name && length(live) >= 10 && all(out == -Inf)
  if (lost) refuse_one_way(name, t)
  out
}

refuse_one_way <- function(name, t) {
  kb_abort(c(
    "The move \"{name}\" of {.fn td_rejuvenate} must undo itself or be undone by
     a move named in {.arg reverse}.",
    x = "From none of its proposals of step {t} does it lead back.",
    i = "For example {.code reverse = c(birth = \"death\")}."
  ), "argument", argument = "reverse", step = t, call = NULL)
}
