# The steps of tdsmc(), as an engine of run_engine(): the same order as in the
# C++ core (inst/include/kernelbayes/smc.hpp).

#' @export
fit_engine.kb_tdsmc <- function(fit) {
  structure(
    fit[c("target", "moves", "data", "steps", "control", "seed")],
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

# Random numbers --------------------------------------------------------------

# The stream of the core for a step and a purpose
td_key <- function(engine, index, t, purpose) {
  sprintf("%.0f", c(engine$seed, 8 * t + purpose, index))
}

# A seed for R's generator at each step, so that an interrupted and continued
# run equals an uninterrupted one
td_seed <- function(engine, index, t) {
  u <- stream_uniform_cpp(td_key(engine, index, t, 0))
  floor(u * .Machine$integer.max)
}

# Steps -----------------------------------------------------------------------

td_start <- function(engine, index) {
  n <- engine$control$particles
  states <- with_local_seed(
    td_seed(engine, index, 0),
    user_states(
      engine$target$initial, of_target("initial"), n, 0, n, engine$data
    )
  )
  list(
    time = 0L, states = states, log_weights = numeric(n),
    weights = rep(1 / n, n), log_density = rep(NA_real_, n),
    log_evidence = 0, relative_variance = NA_real_,
    genealogy = new_genealogy(n), ancestors = integer(), history = list(),
    path = list(
      log_increment = numeric(), ess = numeric(), founders = integer(),
      resampled = logical(), particles = integer(), chosen = integer(),
      share = numeric()
    ),
    seconds = 0
  )
}

# One step: resample, rejuvenate, extend and weight
td_step <- function(engine, handle, t) {
  state <- handle$state
  resampled <- FALSE
  if (t > 1) {
    resampled <- td_low_ess(engine$control, state$weights)
    ancestors <- seq_along(state$weights)
    if (resampled) {
      ancestors <- td_ancestors(engine, handle$index, t, state$weights)
      state <- td_adopt(state, ancestors, engine$control)
    }
    if (engine$control$ancestry != "summary") {
      state$ancestors <- c(state$ancestors, ancestors)
    }
    state <- td_rejuvenate(engine, td_bury(state), t)
  }
  td_record(engine, td_extend(engine, state, t), t, resampled)
}

td_low_ess <- function(control, weights) {
  control$resample_every_step ||
    1 / sum(weights^2) < control$ess_threshold * length(weights)
}

td_ancestors <- function(engine, index, t, weights) {
  counts <- resample_cpp(
    engine$control$resampling, weights, length(weights),
    td_key(engine, index, t, 1), 1
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
  state$log_weights[] <- 0
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
  }
  state
}

# Leaves the target of step t - 1 invariant
td_rejuvenate <- function(engine, state, t) {
  rejuvenate <- engine$target$rejuvenate
  if (is.null(rejuvenate)) {
    return(state)
  }
  state$states <- user_states(
    rejuvenate, of_target("rejuvenate"), length(state$weights), t - 1,
    state$states, t - 1, engine$data
  )
  state$log_density[] <- NA
  state
}

# Extend every particle by its chosen move and weight it
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
  before <- state$log_density
  after <- rep(NA_real_, length(move))
  increment <- numeric(length(move))
  law <- move %in% which(vapply(engine$moves, function(m) {
    is.null(m$log_weight)
  }, TRUE))
  order <- order(unlist(groups, use.names = FALSE))
  states <- particle_subset(particle_bind(new), order)
  before <- td_log_density(engine, state$states, t - 1, before, law)
  after <- td_log_density(engine, states, t, after, law)
  check_living(before[law], t - 1)
  for (g in seq_along(groups)) {
    i <- groups[[g]]
    increment[i] <- td_log_weight(
      engine$moves[[names[[g]]]], names[[g]], old[[g]], new[[g]], t,
      engine$data, before[i], after[i], chance[cbind(i, move[i])]
    )
  }
  state$states <- states
  state$log_density <- after
  state$log_weights <- state$log_weights + increment
  state$move <- move
  state
}

# Probabilities of all moves: one row per particle, one column per move
td_probabilities <- function(moves, states, t, data) {
  n <- particle_count(states)
  chance <- vapply(names(moves), function(name) {
    user_probabilities(
      moves[[name]]$probability, of_move("probability", name), n, t,
      states, t, data
    )
  }, numeric(n))
  chance <- matrix(chance, n, dimnames = list(NULL, names(moves)))
  worst <- which.max(abs(rowSums(chance) - 1))
  if (abs(sum(chance[worst, ]) - 1) > 1e-8) {
    values <- paste(
      names(moves), format(chance[worst, ], digits = 4), collapse = ", "
    )
    kb_abort(c(
      "The probabilities of the moves must sum to 1, at step {t}.",
      x = "For one particle they sum to {format(sum(chance[worst, ]))}:
           {values}."
    ), "user_function", user_function = "probability", step = t, call = NULL)
  }
  chance
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
td_log_density <- function(engine, states, t, known, wanted) {
  i <- which(wanted & is.na(known))
  if (length(i) > 0) {
    known[i] <- user_logs(
      engine$target$log_density, of_target("log_density"), length(i), t,
      particle_subset(states, i), t, engine$data
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

#' The weight of a move, by `log_weight` or by the general formula, (T1)
#' @param before,after,chance log gamma_{t-1}(old), log gamma_t(new) and alpha.
#' @noRd
td_log_weight <- function(move, name, old, new, t, data, before, after,
                          chance) {
  n <- particle_count(old)
  if (!is.null(move$log_weight)) {
    return(user_logs(
      move$log_weight, of_move("log_weight", name), n, t, new, old, t, data
    ))
  }
  forward <- user_logs(
    move$log_forward, of_move("log_forward", name), n, t, new, old, t, data
  )
  if (any(forward == -Inf)) {
    refuse_value(
      of_move("log_forward", name), t,
      "finite numbers at states that `propose()` drew", "the number -Inf"
    )
  }
  back <- user_probabilities(
    move$reverse_probability, of_move("reverse_probability", name), n, t,
    new, t, data
  )
  reverse <- user_logs(
    move$log_reverse, of_move("log_reverse", name), n, t, old, new, t, data
  )
  after + log(back) + reverse - before - log(chance) - forward
}

# Normalise the weights and record the step
td_record <- function(engine, state, t, resampled) {
  # The previous weights are computed from the previous log weights, so that the
  # sum of the new weights over that of the old is the factor of the evidence.
  n <- length(state$log_weights)
  top <- max(state$log_weights)
  if (top == -Inf) {
    kb_abort(c(
      "All {n} particles have weight zero at step {t}.",
      i = "Use more particles, or moves that come closer to the target;
           {.fn check_moves} finds moves that cannot reach it."
    ), "weights", step = t, call = NULL)
  }
  w <- exp(state$log_weights - top)
  increment <- top + log(sum(w))
  # Log weights are kept normalised: their sum before this step was 1.
  if (t == 1 || resampled) increment <- increment - log(n)
  state$weights <- w / sum(w)
  state$log_weights <- state$log_weights - (top + log(sum(w)))
  state$log_evidence <- state$log_evidence + increment
  state$time <- t
  state$relative_variance <- genealogy_variance(state$genealogy, state$weights)
  moves <- length(engine$moves)
  note <- list(
    log_increment = increment, ess = 1 / sum(state$weights^2),
    founders = length(unique(state$genealogy$founders)),
    resampled = resampled, particles = n,
    chosen = tabulate(state$move, moves),
    share = vapply(seq_len(moves), function(i) {
      sum(state$weights[state$move == i])
    }, 0)
  )
  state$path <- Map(c, state$path, note[names(state$path)])
  state$move <- NULL
  if (engine$control$ancestry == "full") {
    state$history <- c(state$history, list(state[c("states", "weights")]))
  }
  state
}
