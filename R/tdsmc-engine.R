# The steps of tdsmc(), as an engine of run_engine(): the same order as in the
# C++ core (inst/include/kernelbayes/smc.hpp).

#' @export
fit_engine.kb_tdsmc <- function(fit) {
  structure(
    fit[c("target", "moves", "data", "steps", "control", "seed", "sizes")],
    class = c("kb_engine_tdsmc", "kb_engine")
  )
}

#' @export
engine_open.kb_engine_tdsmc <- function(engine, index, state) {
  handle <- new.env(parent = emptyenv())
  handle$index <- index
  handle$state <- state
  handle
}

#' @export
engine_advance.kb_engine_tdsmc <- function(engine, handle, n) {
  started <- now()
  if (is.null(handle$state)) handle$state <- td_start(engine, handle$index)
  for (step in seq_len(n)) {
    t <- handle$state$time + 1L
    handle$state <- with_local_seed(
      td_seed(engine, handle$index, t), td_step(engine, handle, t)
    )
  }
  handle$state$seconds <- handle$state$seconds + now() - started
  handle$state$time
}

#' @export
engine_state.kb_engine_tdsmc <- function(engine, handle) handle$state

#' @export
engine_close.kb_engine_tdsmc <- function(engine, handle) {
  handle$state <- NULL
}

#' @export
engine_total.kb_engine_tdsmc <- function(engine) engine$steps

#' @export
engine_done.kb_engine_tdsmc <- function(engine, state) state_time(state)

# The number of particles of each run: update() may add runs of other sizes
run_sizes <- function(fit) {
  if (!is.null(fit$sizes)) {
    return(fit$sizes)
  }
  rep(fit$control$particles, fit$control$replicates)
}

# Random numbers --------------------------------------------------------------

# The stream of the core for a step, a purpose and an increase of the power
td_key <- function(engine, index, t, purpose, increase = 0) {
  sprintf(
    "%.0f", c(engine$seed, 8 * t + purpose + increase * 2^40, index)
  )
}

# A seed for R's generator at each step, so that an interrupted and continued
# run equals an uninterrupted one
td_seed <- function(engine, index, t) {
  u <- stream_uniform_cpp(td_key(engine, index, t, 0))
  floor(u * .Machine$integer.max)
}

# Steps -----------------------------------------------------------------------

td_start <- function(engine, index) {
  n <- run_sizes(engine)[[index]]
  states <- with_local_seed(
    td_seed(engine, index, 0),
    user_states(
      engine$target$initial, of_target("initial"), n, 0, n, engine$data
    )
  )
  list(
    time = 0L, states = states, log_weights = rep(-log(n), n),
    weights = rep(1 / n, n), log_density = rep(NA_real_, n),
    log_evidence = 0, relative_variance = NA_real_,
    genealogy = new_genealogy(n), ancestors = integer(), history = list(),
    path = td_empty_path(engine$target), seconds = 0
  )
}

td_empty_path <- function(target) {
  path <- list(
    log_increment = numeric(), ess = numeric(), founders = integer(),
    resampled = logical(), particles = integer(), chosen = integer(),
    share = numeric()
  )
  if (is_tempered(target)) {
    path <- c(path, list(ess_lowest = numeric(), increases = integer()))
  }
  if (!is.null(jump_moves(target))) {
    path <- c(path, list(tried = integer(), accepted = integer()))
  }
  path
}

# One step: resample, rejuvenate, extend and weight
td_step <- function(engine, handle, t) {
  state <- handle$state
  moves <- length(jump_moves(engine$target))
  state$step <- list(
    resampled = FALSE, increases = 0L, log_increment = 0, ess_lowest = Inf,
    tried = integer(moves), accepted = integer(moves)
  )
  if (t > 1) {
    parents <- td_resample(engine, handle$index, t, state)
    state <- parents$state
    if (engine$control$ancestry != "summary") {
      state$ancestors <- c(state$ancestors, parents$ancestors)
    }
    state <- td_bury(state)
    # If every datum stops on its way, particles are moved there and not before.
    if (!always_stops(engine)) state <- td_refresh(engine, state, t - 1, 1)
  }
  state <- td_extend(engine, state, t)
  td_record(engine, td_weigh(engine, handle$index, state, t), t)
}

always_stops <- function(engine) {
  is_tempered(engine$target) && length(engine$control$powers) > 1
}

# Resample if the effective size is low
td_resample <- function(engine, index, t, state) {
  ancestors <- seq_along(state$weights)
  if (td_low_ess(engine$control, state$weights)) {
    ancestors <- td_ancestors(
      engine, index, t, state$weights, state$step$increases
    )
    state <- td_adopt(state, ancestors, engine$control)
    state$step$resampled <- TRUE
  }
  list(state = state, ancestors = ancestors)
}

td_low_ess <- function(control, weights) {
  control$resample_every_step ||
    1 / sum(weights^2) < control$ess_threshold * length(weights)
}

td_ancestors <- function(engine, index, t, weights, increase) {
  counts <- resample_cpp(
    engine$control$resampling, weights, length(weights),
    td_key(engine, index, t, 1, increase), 1
  )
  ancestors_in_place_cpp(counts[, 1]) + 1L
}

td_adopt <- function(state, ancestors, control) {
  state$genealogy <- genealogy_resample(
    state$genealogy, ancestors, state$weights,
    control$resampling == "multinomial"
  )
  state$states <- particle_subset(state$states, ancestors)
  state$log_density <- state$log_density[ancestors]
  state$move <- state$move[ancestors]
  state$log_weights[] <- -log(length(ancestors))
  state$weights[] <- 1 / length(ancestors)
  state
}

# Particles of weight zero get the state of a particle with positive weight, and
# keep their weight: the user's functions never see a state of density zero
td_bury <- function(state) {
  dead <- state$log_weights == -Inf
  if (any(dead)) {
    at <- seq_along(dead)
    at[dead] <- which.max(state$log_weights)
    state$states <- particle_subset(state$states, at)
    state$log_density <- state$log_density[at]
    state$move <- state$move[at]
  }
  state
}

# Move the particles; the target of step t at a power stays invariant
td_refresh <- function(engine, state, t, power) {
  if (is.null(engine$target$rejuvenate)) {
    return(state)
  }
  cloud <- state[c("states", "log_density", "weights")]
  moved <- rejuvenated(engine$target, cloud, t, power, engine$data)
  state[c("states", "log_density")] <- moved[c("states", "log_density")]
  for (name in c("tried", "accepted")) {
    if (!is.null(moved[[name]])) {
      state$step[[name]] <- state$step[[name]] + moved[[name]]
    }
  }
  state
}

# Extend every particle by its chosen move; `log_rest` is the part of its log
# weight without the target of step t (`law`), or all of it
td_extend <- function(engine, state, t) {
  chance <- td_probabilities(engine$moves, state$states, t, engine$data)
  move <- choose_move(chance)
  groups <- split(seq_along(move), factor(move, seq_len(ncol(chance))))
  groups <- groups[lengths(groups) > 0]
  old <- lapply(groups, function(i) particle_subset(state$states, i))
  names <- names(engine$moves)[as.integer(names(groups))]
  new <- Map(function(name, old) {
    user_states(
      engine$moves[[name]]$propose, of_move("propose", name),
      particle_count(old), t, old, t, engine$data
    )
  }, names, old)
  check_shapes(new, names, t)
  rest <- numeric(length(move))
  law <- move %in% which(vapply(engine$moves, function(m) {
    is.null(m$log_weight)
  }, TRUE))
  order <- order(unlist(groups, use.names = FALSE))
  states <- particle_subset(particle_bind(new), order)
  before <- td_log_density(
    engine, state$states, t - 1, state$log_density, law
  )
  check_living(before[law], t - 1)
  for (g in seq_along(groups)) {
    i <- groups[[g]]
    rest[i] <- td_log_weight(
      engine$moves[[names[[g]]]], names[[g]], old[[g]], new[[g]], t,
      engine$data, before[i], chance[cbind(i, move[i])]
    )
  }
  state$states <- states
  state$log_density <- rep(NA_real_, length(move))
  state$move <- move
  state$step <- c(state$step, list(
    log_rest = rest, law = law, chosen = tabulate(move, length(engine$moves))
  ))
  state
}

# Weight the extended particles. A datum that enters gradually does so by
# increases of its power, with moves between them: (T4).
td_weigh <- function(engine, index, state, t) {
  if (!is_tempered(engine$target)) {
    state$log_density <- td_log_density(
      engine, state$states, t, state$log_density, state$step$law
    )
    after <- ifelse(state$step$law, state$log_density, 0)
    return(td_reweight(state, after + state$step$log_rest, t))
  }
  power <- 0
  # Minus what the weight has besides the target at the new power
  from <- -state$step$log_rest
  repeat {
    if (power > 0) {
      state <- td_stop(engine, index, state, t, power)
      from <- td_log_density(
        engine, state$states, t, state$log_density, power = power
      )
    }
    found <- td_next_power(engine, state, from, power, t)
    power <- found$power
    state$log_density <- found$log_density
    state <- td_reweight(state, found$log_density - from, t)
    if (power == 1) {
      return(state)
    }
  }
}

# Resample and move the particles while a datum enters
td_stop <- function(engine, index, state, t, power) {
  stopped <- td_resample(engine, index, t, state)
  # Their parents are particles of step t - 1.
  if (engine$control$ancestry != "summary" && t > 1) {
    n <- length(state$weights)
    last <- length(state$ancestors) - n + seq_len(n)
    parents <- stopped$state$ancestors[last]
    stopped$state$ancestors[last] <- parents[stopped$ancestors]
  }
  td_refresh(engine, td_bury(stopped$state), t, power)
}

# Log weights are kept normalised, so that the log of the sum of the new ones is
# the factor of the evidence: (T3)
td_reweight <- function(state, increment, t) {
  n <- length(state$log_weights)
  # A particle of weight zero keeps it, also if it is impossible now.
  increment[is.nan(increment)] <- -Inf
  state$log_weights <- state$log_weights + increment
  top <- max(state$log_weights)
  if (top == -Inf) {
    kb_abort(c(
      "All {n} particles have weight zero at step {t}.",
      i = "Use more particles, or moves that come closer to the target;
           {.fn check_moves} finds moves that cannot reach it."
    ), "weights", step = t, call = NULL)
  }
  w <- exp(state$log_weights - top)
  total <- top + log(sum(w))
  state$weights <- w / sum(w)
  state$log_weights <- state$log_weights - total
  state$step$log_increment <- state$step$log_increment + total
  state$step$increases <- state$step$increases + 1L
  state$step$ess_lowest <- min(state$step$ess_lowest, 1 / sum(state$weights^2))
  state
}

# Powers ----------------------------------------------------------------------

# The smallest increase, as in the core
least_increase <- 1e-5

#' The next power, as in the core (`next_power()` of smc.hpp), and the log
#' density at it
#' @param from Log density at the current power, or minus the rest of the
#'   weight.
#' @noRd
td_next_power <- function(engine, state, from, power, t) {
  stops <- c(engine$control$powers, 1)
  most <- stops[stops > power][[1]]
  at <- function(power) {
    list(power = power, log_density = td_log_density(
      engine, state$states, t, power = power
    ))
  }
  whole <- at(most)
  wanted <- engine$control$cess_threshold
  size <- function(log_density) {
    conditional_size(state$weights, log_density - from)
  }
  share <- size(whole$log_density)
  if (share >= wanted) {
    return(whole)
  }
  # Only rare particles predict such a datum: smaller increases let moves find
  # others.
  if (share < wanted^3) wanted <- wanted^(1 / 3)
  least <- at(power + max(least_increase, power / 8))
  if (least$power >= most) {
    return(whole)
  }
  # The cost of the change of the prior cannot be avoided.
  wanted <- wanted * size(least$log_density)
  to <- find_power(least, whole, size, wanted, power)
  if (to == least$power) least else at(to)
}

# The largest power whose conditional size is as wanted, by bisection on the log
# scale of the increase; between the two ends the log density is taken to be
# linear in the power
find_power <- function(least, most, size, wanted, power) {
  slope <- (most$log_density - least$log_density) / (most$power - least$power)
  lower <- least$power - power
  upper <- most$power - power
  for (step in 1:30) {
    if (upper <= 1.02 * lower) break
    middle <- sqrt(lower * upper)
    log_density <- least$log_density + slope * (power + middle - least$power)
    if (size(log_density) < wanted) upper <- middle else lower <- middle
  }
  power + lower
}

# Conditional effective sample size, over N: (T4)
conditional_size <- function(weights, log_increment) {
  log_increment[is.nan(log_increment)] <- -Inf
  top <- max(log_increment)
  if (top == -Inf) {
    return(0)
  }
  u <- exp(log_increment - top)
  sum(weights * u)^2 / sum(weights * u^2)
}

# Parts of a weight -----------------------------------------------------------

# Probabilities of all moves: one row per particle, one column per move
td_probabilities <- function(moves, states, t, data) {
  chance <- move_chances(moves, states, t, data)
  worst <- which.max(abs(rowSums(chance) - 1))
  if (abs(sum(chance[worst, ]) - 1) > 1e-8) {
    refuse_chances(chance[worst, ], t, "sum to 1")
  }
  chance
}

# The same for moves that may leave some probability to none of them
move_chances <- function(moves, states, t, data) {
  n <- particle_count(states)
  chance <- vapply(names(moves), function(name) {
    user_probabilities(
      moves[[name]]$probability, of_move("probability", name), n, t,
      states, t, data
    )
  }, numeric(n))
  chance <- matrix(chance, n, dimnames = list(NULL, names(moves)))
  worst <- which.max(rowSums(chance))
  if (sum(chance[worst, ]) > 1 + 1e-8) {
    refuse_chances(chance[worst, ], t, "sum to 1 at most")
  }
  chance
}

refuse_chances <- function(chance, t, wanted) {
  values <- paste(
    names(chance), format(chance, digits = 4), collapse = ", "
  )
  kb_abort(c(
    "The probabilities of the moves must {wanted}, at step {t}.",
    x = "For one particle they sum to {format(sum(chance))}: {values}."
  ), "user_function", user_function = "probability", step = t, call = NULL)
}

choose_move <- function(chance) {
  moves <- ncol(chance)
  upper <- matrix(apply(chance, 1, cumsum), ncol = moves, byrow = TRUE)
  # Scaled by the last sum, a move of probability 0 can never be chosen.
  u <- stats::runif(nrow(chance)) * upper[, moves]
  as.integer(rowSums(u > upper)) + 1L
}

check_shapes <- function(new, names, t) {
  shapes <- vapply(new, particle_shape, "")
  odd <- which(shapes != shapes[[1]])
  if (length(odd) > 0) {
    refuse_value(
      of_move("propose", names[[odd[[1]]]]), t,
      paste0("states as those of \"", names[[1]], "\", ", shapes[[1]]),
      shapes[[odd[[1]]]]
    )
  }
}

# Log density of the states for which it is needed and not yet known
td_log_density <- function(engine, states, t, known = NULL, wanted = TRUE,
                           power = 1) {
  if (is.null(known)) known <- rep(NA_real_, particle_count(states))
  i <- which(wanted & is.na(known))
  if (length(i) > 0) {
    known[i] <- user_logs(
      with_extras(engine$target$log_density, list(power = power)),
      of_target("log_density"), length(i), t, particle_subset(states, i), t,
      engine$data
    )
  }
  known
}

check_living <- function(log_density, t) {
  if (any(log_density == -Inf)) {
    refuse_value(
      of_target("log_density"), t,
      paste(
        "finite numbers at states that",
        if (t == 0) "`initial()` drew" else "have a weight"
      ), "the number -Inf"
    )
  }
}

#' The weight of a move, by `log_weight`, or by the general formula, (T1),
#' without log gamma_t(new)
#' @param before,chance log gamma_{t-1}(old) and alpha.
#' @noRd
td_log_weight <- function(move, name, old, new, t, data, before, chance) {
  n <- particle_count(old)
  if (!is.null(move$log_weight)) {
    return(user_logs(
      move$log_weight, of_move("log_weight", name), n, t, new, old, t, data
    ))
  }
  forward <- forward_density(move, name, new, old, t, data)
  refuse_impossible(forward, name, t)
  back <- user_probabilities(
    move$reverse_probability, of_move("reverse_probability", name), n, t,
    new, t, data
  )
  reverse <- user_logs(
    move$log_reverse, of_move("log_reverse", name), n, t, old, new, t, data
  )
  log(back) + reverse - before - log(chance) - forward
}

refuse_impossible <- function(forward, name, t) {
  if (any(forward == -Inf)) {
    refuse_value(
      of_move("log_forward", name), t,
      "finite numbers at states that `propose()` drew", "the number -Inf"
    )
  }
}

# Record the step
td_record <- function(engine, state, t) {
  step <- state$step
  moves <- length(engine$moves)
  state$log_evidence <- state$log_evidence + step$log_increment
  state$time <- t
  state$relative_variance <- genealogy_variance(state$genealogy, state$weights)
  note <- c(step, list(
    ess = 1 / sum(state$weights^2),
    founders = length(unique(state$genealogy$founders)),
    particles = length(state$weights),
    share = vapply(seq_len(moves), function(i) {
      sum(state$weights[state$move == i])
    }, 0)
  ))
  state$path <- Map(c, state$path, note[names(state$path)])
  state[c("move", "step")] <- NULL
  if (engine$control$ancestry == "full") {
    state$history <- c(state$history, list(state[c("states", "weights")]))
  }
  state
}
