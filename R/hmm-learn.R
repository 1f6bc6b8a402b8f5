# The adjusted kbr_hmm(): regressions of states on observations, of observation
# errors and of moves on states, with Gaussian residuals, (K50) to (K53). A
# particle filter combines them, see hmm-particles.R.

# Stretches of the training series that are predicted from the others: of five
# times the number of rows after which states forget where they were
folds_between <- c(5, 10)
count_folds <- function(code, first) {
  wanted <- nrow(code) / (5 * memory_length(code, first))
  min(max(round(wanted), folds_between[[1]]), folds_between[[2]], nrow(code))
}

# Rows after which the correlation of states is below 1/2, by doubling
memory_length <- function(code, first) {
  n <- nrow(code)
  follows <- seq_len(n) %in% first
  code <- minus_each(code, colMeans(code))
  total <- sum(code^2) / n
  sequence <- cumsum(c(TRUE, !follows[-n]))
  lag <- 1
  while (lag < n / 4) {
    now <- which(sequence[seq_len(n - lag)] == sequence[-seq_len(lag)])
    shared <- sum(code[now, ] * code[now + lag, ]) / max(length(now), 1)
    if (length(now) == 0 || shared < total / 2) break
    lag <- 2 * lag
  }
  lag
}

#' Training series as the regressions see them
#' @param states n x d; `scores` of observations, n x p, or NULL.
#' @param first Rows that are followed by another of their sequence.
#' @param gap Time to the next row, in units of the median one; `inputs` n x k
#'   or NULL.
#' @noRd
new_series <- function(space, states, scores, first, gap, inputs) {
  n <- nrow(states)
  code <- space_encode(space, states)
  unit <- code_unit(space, code)
  if (max(abs(code)) > 1e140 || min(unit$scale) < 1e-140) {
    refuse_precision("squares of the states overflow or vanish", NULL)
  }
  list(
    states = states, scores = scores, first = first, gap = gap,
    inputs = inputs, unit = unit,
    fold = ceiling(seq_len(n) / n * count_folds(code, first))
  )
}

# Codes of vectors are standardised by column, others by one number
code_unit <- function(space, code) {
  moments <- column_moments(code)
  if (space$type != "euclidean") {
    moments$scale[] <- sqrt(mean(moments$scale^2))
  }
  moments
}

in_unit <- function(unit, code) {
  minus_each(code, unit$center) / rep(unit$scale, each = nrow(code))
}

# Observations -----------------------------------------------------------------

# For what is asked of each particle
few_pivots <- 40

#' What observations say about states
#'
#' With summaries, observations are condensed to the states that regression
#' predicts, (K50), whose errors are regressed on the states, (K51); otherwise
#' the scores are regressed on the states themselves.
#' @return List of `summary` (regression, or NULL), `error` (regression),
#'   `spread` (regression of the logarithm of the residuals' relative variance),
#'   `gain` (derivative of summaries by the state, or NULL), `cov` of residuals
#'   of unit spread, `memory`, their correlation with those one step before, and
#'   of the training rows `seen` and `variance`.
#' @noRd
learn_observed <- function(space, series, summaries, kernels, rank) {
  n <- nrow(series$states)
  rows <- which(stats::complete.cases(series$scores))
  series <- take_series(series, rows)
  at <- in_unit(series$unit, space_encode(space, series$states))
  summary <- if (summaries) {
    learn_summary(space, series, kernels$y, rank)
  }
  seen <- if (summaries) {
    space_decode(space, summary$left_out)
  } else {
    series$scores
  }
  target <- if (summaries) space_minus(space, seen, series$states) else seen
  # Summaries that leave out a stretch err more where that is the only one:
  # their errors are corrected by what is linear in the states alone.
  error <- fold_regression(at, target, series$fold,
    if (!summaries) given_kernels(kernels$x, at, c(0.25, 0.5, 1, 2)),
    min(rank, 150), unknown = if (summaries) 0 else few_pivots
  )
  residual <- target - error$left_out
  spread <- if (summaries) {
    learn_spread(residual, summary, series$scores, series)
  } else {
    learn_spread(residual, error, at, series)
  }
  variance <- exp(spread$left_out[, 1])
  scaled <- residual / sqrt(variance)
  cov <- crossprod(scaled) / nrow(scaled)
  spread[c("axes", "signal")] <- signal_axes(if (summaries) {
    space_minus(space, series$states, cloud_mean(space, series$states)[
      rep(1, nrow(series$states)), , drop = FALSE
    ])
  } else {
    seen
  }, cov)
  list(
    summary = summary, error = error, spread = spread,
    gain = if (summaries) summary_gain(space, series, error), cov = cov,
    memory = residual_memory(scaled, series),
    seen = seen[match(seq_len(n), rows), , drop = FALSE],
    variance = variance[match(seq_len(n), rows)]
  )
}

# Some rows of a series, without their moves to others
take_series <- function(series, rows) {
  for (name in c("states", "scores")) {
    series[[name]] <- series[[name]][rows, , drop = FALSE]
  }
  series$fold <- series$fold[rows]
  first <- series$first
  series$first <- match(first[first %in% rows & (first + 1) %in% rows], rows)
  series
}

#' The mean derivative of summaries by displacements of the state: the identity
#' and that of the errors, (K51)
#' @return Matrix d x d, derivatives of each coordinate in rows.
#' @noRd
summary_gain <- function(space, series, error, step = 1e-4) {
  rows <- spread_over(nrow(series$states), min(nrow(series$states), 200))
  states <- series$states[rows, , drop = FALSE]
  d <- length(error$sets[[1]]$intercept)
  moved <- function(j, by) {
    v <- matrix(0, length(rows), d)
    v[, j] <- by
    to <- space_plus(space, states, v)
    fold_predict(error, in_unit(series$unit, space_encode(space, to)))
  }
  slopes <- vapply(seq_len(d), function(j) {
    unit <- step * max(1, abs(states))
    colMeans(moved(j, unit) - moved(j, -unit)) / (2 * unit)
  }, numeric(d))
  diag(d) + matrix(slopes, d)
}

# Regression of the states on scores of observations, (K50)
learn_summary <- function(space, series, kernel, rank) {
  code <- space_encode(space, series$states)
  kernels <- given_kernels(kernel, series$scores, c(0.5, 1, 2, 4))
  # One prediction per observation, not per particle
  fold_regression(
    series$scores, code, series$fold, kernels, rank,
    most = min(4 * rank, nrow(code)), unknown = rank
  )
}

given_kernels <- function(kernel, x, widths) {
  if (is.null(kernel)) kernels_of_widths(x, widths) else list(kernel)
}

#' Regression of the logarithm of residuals' squares on points and on how little
#' a regression knows there, (K52)
#' @return Regression, with the largest `known` of the latter.
#' @noRd
learn_spread <- function(residual, regression, x, series) {
  unit <- pmax(colMeans(residual^2), 1e-300)
  size <- rowMeans(sweep(residual^2, 2, unit, "/"))
  unknown <- fold_unknown(regression, x, series$fold)
  x <- cbind(x, log(unknown))
  spread <- fold_regression(
    x, cbind(log(size + 0.01)), series$fold, kernels_of_widths(x, c(1, 4)), 100
  )
  spread$known <- max(unknown)
  spread
}

#' Axes in which residuals are independent of unit variance, and the target has
#' variances `signal`
#' @return List of `axes` (d x d, from errors) and `signal` (d).
#' @noRd
signal_axes <- function(target, cov) {
  root <- chol_of(cov)
  whiten <- backsolve(root, diag(ncol(root)))
  target <- minus_each(target, colMeans(target)) %*% whiten
  found <- eigen(crossprod(target) / nrow(target), symmetric = TRUE)
  list(axes = whiten %*% found$vectors, signal = pmax(found$values, 0))
}

#' Relative variances of residuals at points
#'
#' Where less is known than at any training row without its stretch, the target
#' is as uncertain as it varies.
#' @return List of `variance` and of the shares `beyond` of the target's.
#' @noRd
residual_variance <- function(spread, x, unknown, fold = 0) {
  x <- cbind(x, log(unknown))
  list(
    variance = exp(fold_predict(spread, x, fold)[, 1]),
    beyond = pmax(unknown - spread$known, 0)
  )
}

residual_memory <- function(residual, series) {
  now <- series$first[series$fold[series$first] ==
    series$fold[series$first + 1]]
  before <- residual[now, , drop = FALSE]
  after <- residual[now + 1, , drop = FALSE]
  found <- sum(before * after) / max(sum(before^2), 1e-300)
  min(max(found, 0), 0.99)
}

# Moves ------------------------------------------------------------------------

#' How states move: regression of moves per unit of time on the state and,
#' with lag 1, on the move before, (K53)
#' @return List of `lag`, `regression`, `cov` of the residuals per unit of time,
#'   `pace` (size of moves) and `inputs` (their moments, or NULL), `known` and
#'   `signal` as in `learn_spread()`, and of the training rows, with lag 1,
#'   `last`, the move before each.
#' @noRd
learn_moves <- function(space, series, lag, kernel, rank) {
  now <- series$first
  gap <- series$gap[now]
  move <- space_minus(space, series$states[now + 1, , drop = FALSE],
    series$states[now, , drop = FALSE]
  ) / gap
  last <- matrix(NA_real_, nrow(series$states), ncol(move))
  last[now + 1, ] <- move
  moves <- list(
    lag = lag, pace = sqrt(mean(move^2)), irregular = any(gap != gap[[1]]),
    inputs = if (!is.null(series$inputs)) column_moments(series$inputs)
  )
  if (moves$pace == 0) moves$pace <- 1
  kept <- if (lag > 0) which(!is.na(last[now, 1])) else seq_along(now)
  rows <- now[kept]
  x <- move_points(
    moves, in_unit(series$unit, space_encode(space, series$states[rows, ,
      drop = FALSE])),
    last[rows, , drop = FALSE], series$gap[rows],
    series$inputs[rows, , drop = FALSE]
  )
  target <- move[kept, , drop = FALSE]
  fold <- factor(series$fold[rows], seq_len(max(series$fold)))
  moves$regression <- fold_regression(x, target, fold,
    given_kernels(kernel, x, c(0.125, 0.25, 0.5, 1, 2)), rank,
    unknown = few_pivots
  )
  residual <- (target - moves$regression$left_out) * sqrt(gap[kept])
  moves$cov <- crossprod(residual) / nrow(residual)
  moves$known <- max(fold_unknown(moves$regression, x, series$fold[rows]))
  moves$signal <- mean(signal_axes(target, moves$cov)$signal)
  if (lag > 0) moves$last <- last
  moves
}

# What the regression of moves sees
move_points <- function(moves, at, last, gap, inputs) {
  cbind(
    at, if (moves$lag > 0) last / moves$pace,
    if (moves$irregular) log(rep_len(gap, nrow(at))),
    if (!is.null(moves$inputs)) in_unit(moves$inputs, inputs)
  )
}

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
