# kbr_hmm(method = "adjusted"): from arguments to a model.

#' @param sources List of `transitions` and `group`, as given; `kernels` list of
#'   `x` and `y`; `given` other arguments.
#' @noRd
learn_adjusted <- function(hmm, mould, sources, kernels, rank, scale, given) {
  known <- known_parts(hmm, mould$y, sources)
  y <- if (is.null(hmm$log_likelihood)) mould$x
  if (!is.null(y)) hmm$scores <- learn_scores(observed_rows(y), scale)
  first <- if (is.null(sources$transitions)) {
    successive_rows(nrow(mould$y), sources$group)
  } else {
    integer()
  }
  clock <- training_clock(given, nrow(mould$y), first)
  series <- new_series(hmm$space, mould$y,
    if (!is.null(y)) score_parts(hmm$scores, y)$scores, first, clock$gap,
    clock$inputs
  )
  if (is.list(known$pairs)) {
    series <- with_pairs(series, hmm$space, known$pairs)
  }
  wanted <- check_wanted(given)
  kernels <- list(
    x = check_hmm_kernel(kernels$x, "kernel_x"),
    y = check_hmm_kernel(kernels$y, "kernel_y")
  )
  model <- choose_model(
    hmm$space, series, wanted, kernels, check_hmm_rank(rank), known, hmm$seed
  )
  hmm$trials <- model$trials
  hmm$model <- trim_model(model)
  particles <- if (is.null(wanted$particles)) {
    if (model$guided) 200L else 1000L
  } else {
    wanted$particles
  }
  hmm$settings <- list(
    method = "adjusted", scale = scale, particles = particles,
    unit_time = clock$unit, input_names = colnames(clock$inputs)
  )
  hmm
}

trim_model <- function(model) {
  model$trials <- NULL
  for (name in c("summary", "error", "spread")) {
    if (!is.null(model$observed[[name]])) {
      model$observed[[name]] <- fold_trim(model$observed[[name]])
    }
  }
  if (!is.null(model$moves)) {
    model$moves$regression <- fold_trim(model$moves$regression)
  }
  model$observed[c("seen", "variance")] <- NULL
  model$fold <- NULL
  model
}

# What the user knows: a simulator of transitions, pairs, a log likelihood
known_parts <- function(hmm, states, sources) {
  out <- list(log_likelihood = hmm$log_likelihood)
  if (is.function(sources$transitions)) {
    out$transitions <- sources$transitions
    check_simulated(
      with_local_seed(hmm$seed, simulate_next(sources$transitions, states)),
      states
    )
  } else if (!is.null(sources$transitions)) {
    out$pairs <- transition_pairs(
      states, hmm$space, sources$transitions, hmm$seed
    )
  }
  out
}

of_transitions <- function() of_argument("transitions", errors = "argument")

simulate_next <- function(transitions, states) {
  call_user(transitions, of_transitions(), NULL, states)
}

check_simulated <- function(to, from) {
  if (!is.matrix(to)) to <- as.matrix(to)
  if (!is.numeric(to) || !all(dim(to) == dim(from)) || anyNA(to)) {
    refuse_value(of_transitions(), NULL, paste0(
      "a next state for each of ", counted(nrow(from), "state"), " (",
      counted(ncol(from), "column"), ")"
    ), describe(to))
  }
  dimnames(to) <- dimnames(from)
  to
}

# Pairs of states follow the series, each a sequence of its own
with_pairs <- function(series, space, pairs) {
  n <- nrow(pairs$from)
  series$moving <- new_series(
    space, rbind(pairs$from, pairs$to)[rep(seq_len(n), each = 2) +
      c(0, n), , drop = FALSE], NULL, 2 * seq_len(n) - 1, rep(1, 2 * n), NULL
  )
  series$moving$unit <- series$unit
  series
}

# Settings that the user fixes
check_wanted <- function(given) {
  lag <- given$lag
  if (!is.null(lag)) lag <- check_count(lag, 0, 1, arg = "lag")
  summaries <- given$summaries
  if (!is.null(summaries)) summaries <- check_flag(summaries, "summaries")
  inflate <- given$inflate
  if (!is.null(inflate)) {
    inflate <- check_number(inflate, 1e-6, 1e6, arg = "inflate")
  }
  particles <- given$particles
  if (!is.null(particles)) {
    particles <- check_count(particles, 10, arg = "particles")
  }
  list(
    summaries = summaries, lag = lag, inflate = inflate, particles = particles
  )
}

check_hmm_rank <- function(rank) {
  if (identical(rank, "auto")) {
    return(300L)
  }
  if (identical(rank, "full")) {
    return(.Machine$integer.max)
  }
  check_count(rank, 1, arg = "rank")
}

check_hmm_kernel <- function(kernel, arg) {
  if (is.null(kernel)) NULL else check_kernel(kernel, arg)
}

# Times and inputs -------------------------------------------------------------

#' Gaps to the next row in units of the training period's median gap
#' @return List of `gap` (n), `unit` and `inputs` (n x k, or NULL).
#' @noRd
training_clock <- function(given, n, first) {
  inputs <- check_inputs(given$inputs, n, NULL)
  if (is.null(given$times)) {
    return(list(gap = rep(1, n), unit = NULL, inputs = inputs))
  }
  times <- check_clock_times(given$times, n)
  gap <- c(diff(times), NA)
  if (any(gap[first] <= 0)) {
    bad_argument(given$times, "times", "increasing within each sequence")
  }
  unit <- stats::median(gap[first])
  gap <- gap / unit
  gap[setdiff(seq_len(n), first)] <- 1
  list(gap = gap, unit = unit, inputs = inputs)
}

check_clock_times <- function(times, n) {
  fine <- length(times) == n &&
    (is.numeric(times) || inherits(times, c("Date", "POSIXct", "difftime")))
  if (fine) times <- as.double(times)
  if (!fine || !all(is.finite(times))) {
    bad_argument(times, "times", paste0("one number per row (", n, ")"))
  }
  times
}

check_inputs <- function(inputs, n, names) {
  if (is.null(inputs) && is.null(names)) {
    return(NULL)
  }
  inputs <- check_points(inputs, "inputs")
  if (nrow(inputs) != n) {
    kb_abort(c(
      "{.arg inputs} must have {n} row{?s}, one per time.",
      x = "It has {nrow(inputs)}."
    ), "dimension", argument = "inputs")
  }
  if (is.null(colnames(inputs))) {
    colnames(inputs) <- position_names(ncol(inputs), "u")
  }
  if (!is.null(names) && ncol(inputs) != length(names)) {
    kb_abort(c(
      "{.arg inputs} must have {length(names)} column{?s}, as in training.",
      x = "It has {ncol(inputs)}."
    ), "dimension", argument = "inputs")
  }
  inputs
}

# Methods ----------------------------------------------------------------------

#' @export
print.kb_hmm_adjusted <- function(x, digits = 3, ...) {
  x <- checked_fit(x, ...)
  show <- function(v) format(v, digits = digits)
  model <- x$model
  cat(
    "State-space model by regression and particles\n",
    "  states:       ", nrow(x$model$states), ", ",
    space_in_words(x$space), "\n",
    "  moves:        ", moves_line(model), "\n",
    "  observations: ", observations_line(x), "\n",
    "  held out:     ", held_line(x, show), "\n",
    time_line(x),
    sep = ""
  )
  invisible(x)
}

moves_line <- function(model) {
  if (is.null(model$moves)) {
    return("simulated by a function")
  }
  paste0(
    "regressed on the state", if (model$moves$lag > 0) " and the last move",
    if (!is.null(model$moves$inputs)) ", inputs",
    if (model$inflate != 1) {
      paste0("; variance times ", format(model$inflate))
    }
  )
}

observations_line <- function(hmm) {
  if (!is.null(hmm$log_likelihood)) {
    return("a log likelihood")
  }
  scores <- length(hmm$scores$size)
  paste0(
    if (!is.null(hmm$scores$axes)) {
      paste(counted(scores, "principal component"), "of ")
    }, counted(length(hmm$scores$center), "column"),
    if (!is.null(hmm$model$observed$summary)) ", summarised"
  )
}

held_line <- function(hmm, show) {
  if (is.null(hmm$trials)) {
    return("nothing: settings and intervals are not checked")
  }
  best <- hmm$trials[hmm$trials$chosen, ]
  paste0(
    "energy score ", show(best$score), " of states in other stretches; 90%",
    " intervals times ", show(hmm$model$ends$filter)
  )
}
