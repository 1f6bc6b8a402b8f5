# Filtering with kbr_hmm(): one observation after the other.

#' Filter observations
#'
#' `kbr_filter(model, observations)` computes the posterior of the state at each time
#' given the observations up to that time.
#' @param object A model of [kbr_hmm()]; for `update()`, which adds observations, a
#'   filter.
#' @param observations Observations in order of time, one per row, with the
#'   columns of the model. A row with a missing value is a step without an
#'   observation.
#' @param start `NULL`: the first state is as likely as those of the training
#'   period (for `"kbr"` its posterior is the regression of states on
#'   observations). Or its prior: a list of `points` and `weights` as in
#'   [kbr()].
#' @param times,inputs Of each row, as in [kbr_hmm()], if the model was learned
#'   with them. Inputs act on the move to the next row.
#' @inheritParams bark
#' @return An object of class `kb_kbr_filter` and `kb_kbr_path`, of plain R
#'   data: [`predict()`][predict.kb_kbr_path], [`plot()`][plot.kb_kbr_path],
#'   `summary()`, `augment()`, `as_draws()`, [`update()`][update.kb_kbr_filter]
#'   with further observations, [kbr_forecast()] and [kbr_smooth()].
#' @section Warnings:
#' `kb_warning_far` if observations are far from all of the training period (as 1 in
#' 1000 would be, see [predict.kb_kbr()]; of series that wander slowly more are);
#' `kb_warning_improbable` if they fit no state that the filter or the training
#' period knows (`"adjusted"` without summaries); `kb_warning_weights` if the sum of
#' the weights of `"kbr"` cancelled: they are then treated as missing. Far
#' observations are missing for `"kbr"` and `"iw"`; `"adjusted"` uses those that are
#' at most three times as far from the centre as any in training.
#' @examples
#' seen <- sim_linear_hmm(100, seed = 1)
#' hmm <- kbr_hmm(seen$states, seen$observations)
#' filtered <- kbr_filter(hmm, c(0.3, NA, 0.9))
#' predict(filtered)
#' filtered <- update(filtered, 1.1)
#' predict(filtered)
#' @export
kbr_filter <- function(object, observations, start = NULL, times = NULL,
                       inputs = NULL, progress = NULL, ...) {
  check_class(object, "kb_kbr_hmm", "a model of `kbr_hmm()`")
  object <- checked_fit(object, ...)
  rows <- hmm_rows(object, observations)
  path <- empty_path(object, check_start(start, object))
  sealed(tell_once(filter_rows(
    path, rows, list(times = times, inputs = inputs), check_progress(progress)
  )))
}

# A path without times
empty_path <- function(hmm, start) UseMethod("empty_path")

#' Go on with a path
#' @param rows Of `hmm_rows()`; `clock` list of `times` and `inputs`, as given.
#' @noRd
filter_rows <- function(path, rows, clock, progress) UseMethod("filter_rows")

# What filters see of observations: list of `given` (as moulded) and what the
# method needs
hmm_rows <- function(hmm, observations) UseMethod("hmm_rows")

#' @export
empty_path.kb_kbr_hmm <- function(hmm, start) {
  new_object(
    list(
      version = fit_version, hmm = hmm, kind = character(),
      coef = matrix(0, ncol(hmm$pairs$from), 0),
      along = matrix(0, observation_rank(hmm), 0),
      features = matrix(0, ncol(hmm$pairs$from), 0), sum = numeric(),
      observations = NULL, start = start_features(start, hmm)
    ),
    class = c("kb_kbr_filter", "kb_kbr_path")
  )
}

#' @rdname kbr_filter
#' @export
update.kb_kbr_filter <- function(object, observations, times = NULL,
                                 inputs = NULL, progress = NULL, ...) {
  object <- checked_fit(object, ...)
  rows <- hmm_rows(object$hmm, observations)
  sealed(tell_once(filter_rows(
    object, rows, list(times = times, inputs = inputs), check_progress(progress)
  )))
}

#' @export
hmm_rows.kb_kbr_hmm <- function(hmm, observations) {
  given <- given_observations(hmm, observations)
  far <- is.null(hmm$log_likelihood) & far_rows_of(hmm, given)
  complete <- stats::complete.cases(given) & !far
  y <- if (is.null(hmm$log_likelihood)) {
    scaling_x(
      hmm$settings$scaling$observations, given[complete, , drop = FALSE]
    )
  }
  list(given = given, y = y, complete = complete, far = sum(far))
}

given_observations <- function(hmm, observations) {
  if (!is.null(hmm$log_likelihood)) {
    return(free_observations(observations))
  }
  mould_forge(hmm$mould, observation_rows(hmm, observations),
    arg = "observations"
  )$x
}

# Observations with a log likelihood given as a function
free_observations <- function(observations) {
  if (is.data.frame(observations)) observations <- as.matrix(observations)
  if (!is.numeric(observations) || length(dim(observations)) > 2) {
    bad_argument(observations, "observations", "a numeric matrix or vector")
  }
  as.matrix(observations)
}

observation_rank <- function(hmm) {
  if (is.null(hmm$pairs$observations)) 0L else ncol(hmm$pairs$observations)
}

# The prior of the first state: list of `points` and `weights`, or NULL
check_start <- function(start, hmm) {
  if (is.null(start)) {
    return(NULL)
  }
  if (!is.list(start) || is.null(start$points) ||
    !all(names(start) %in% c("points", "weights"))) {
    bad_argument(start, "start", "NULL or a list of `points` and `weights`")
  }
  points <- check_points(start$points, "start$points")
  if (ncol(points) != length(hmm$space$names)) {
    kb_abort(c(
      "{.arg start$points} must have {length(hmm$space$names)} column{?s}, as
       the states.",
      x = "It has {ncol(points)}."
    ), "dimension", argument = "start")
  }
  if (hmm$space$type == "rotation") check_rotations(points, "start$points")
  list(points = points, weights = prior_weights(start$weights, nrow(points)))
}

start_features <- function(start, hmm) {
  if (is.null(start)) {
    return(NULL)
  }
  code <- space_encode(hmm$space, start$points)
  features <- incomplete_cholesky_features(
    hmm$basis_states, scaling_x(hmm$settings$scaling$states, code)
  )
  as.vector(crossprod(features, start$weights))
}

# Steps ------------------------------------------------------------------------

#' @export
filter_rows.kb_kbr_filter <- function(path, rows, clock, progress) {
  hmm <- path$hmm
  refuse_clock(clock)
  path$observations <- rbind(path$observations, rows$given)
  total <- length(rows$complete)
  phi <- if (is.null(hmm$log_likelihood) && any(rows$complete)) {
    incomplete_cholesky_features(hmm$basis_observations, rows$y)
  }
  at <- cumsum(rows$complete)
  s <- if (ncol(path$features) > 0) path$features[, ncol(path$features)]
  bar <- task_bar(total, progress, "Filtering")
  on.exit(bar$close())
  steps <- vector("list", total)
  for (t in seq_len(total)) {
    seen <- if (!rows$complete[[t]]) {
      NULL
    } else if (is.null(hmm$log_likelihood)) {
      phi[at[[t]], ]
    } else {
      rows$given[t, ]
    }
    steps[[t]] <- filter_step(hmm, s, seen, path$start)
    s <- steps[[t]]$features
    bar$advance()
  }
  warn_cancelled_steps(steps)
  warn_far_rows(rows$far, rows$far, total)
  add_steps(path, steps)
}

refuse_clock <- function(clock) {
  for (name in names(clock)) {
    if (!is.null(clock[[name]])) {
      bad_argument(clock[[name]], name,
        "NULL: the model was learned without it"
      )
    }
  }
}

#' One time step
#' @param s Features of the posterior before, NULL at the first time.
#' @param seen Features of the observation (or the observation itself where the
#'   log likelihood is known), NULL if it is missing.
#' @param start Features of the first state's prior, or NULL.
#' @return List: `kind` says how weights are made of `coef`, `along` and `sum`,
#'   see `step_weights()`; `features` of the posterior.
#' @noRd
filter_step <- function(hmm, s, seen, start) {
  prior <- if (is.null(s)) start else as.vector(hmm$model$transition %*% s)
  if (is.null(prior)) {
    return(first_step(hmm, seen))
  }
  if (is.null(seen)) {
    return(blind_step(hmm, s, prior))
  }
  if (!is.null(hmm$log_likelihood)) {
    return(likelihood_step(hmm, s, seen))
  }
  coef <- as.vector(hmm$model$inverse_seen %*% prior)
  out <- observe_state(hmm, coef, seen)
  # Weights that cancel: as without an observation.
  if (!is_sum(out$sum, sqrt(sum(coef^2) * sum(out$a^2)))) {
    return(c(blind_step(hmm, s, prior), list(cancelled = TRUE)))
  }
  list(
    kind = "update", coef = coef, along = out$a, features = out$features,
    sum = out$sum
  )
}

# Kernel Bayes' rule with the prior's weights mu = P coef
observe_state <- function(hmm, coef, phi) {
  if (!is.null(hmm$moments)) {
    return(hmm_update_by_moments_cpp(
      hmm$moments$t, hmm$moments$u, hmm$moments$v, coef, phi,
      hmm$settings$delta
    ))
  }
  hmm_update_cpp(
    hmm$pairs$seen, hmm$pairs$observations, coef, phi, hmm$settings$delta,
    hmm$settings$method == "kbr", FALSE
  )
}

# Is a sum of weights more than rounding, next to their size?
is_sum <- function(sum, size) {
  is.finite(sum) && abs(sum) > 1e-13 * size && size > 0
}

# The first observation, without a prior: regression of states on observations,
# before (K22)
first_step <- function(hmm, seen) {
  if (!is.null(hmm$log_likelihood)) {
    return(first_likelihood_step(hmm, seen))
  }
  p <- hmm$pairs$seen
  none <- numeric(ncol(p))
  if (is.null(seen)) {
    return(list(
      kind = "flat", coef = none, along = numeric(observation_rank(hmm)),
      features = colMeans(p), sum = as.double(nrow(p))
    ))
  }
  b <- hmm$pairs$observations
  along <- ridge_coefficients(
    crossprod_cpp(b), as.matrix(seen), nrow(b) * hmm$settings$eps
  )
  raw <- b %*% along
  if (!is_sum(sum(raw), sqrt(nrow(b) * sum(raw^2)))) {
    return(c(first_step(hmm, NULL), list(cancelled = TRUE)))
  }
  list(
    kind = "regression", coef = none, along = as.vector(along),
    features = as.vector(crossprod(p, raw)) / sum(raw), sum = sum(raw)
  )
}

#' A step without an observation: weights P (P'P + n eps I)^-1 s of the next
#' states, (K22)
#' @param s NULL at the first time, where the prior is a start.
#' @noRd
blind_step <- function(hmm, s, prior) {
  along <- numeric(observation_rank(hmm))
  if (is.null(s)) {
    coef <- as.vector(hmm$model$inverse_seen %*% prior)
    raw <- sum(hmm$pairs$seen %*% coef)
    return(list(
      kind = "prior", coef = coef, along = along, features = prior, sum = raw
    ))
  }
  coef <- as.vector(hmm$model$inverse %*% s)
  raw <- sum(hmm$pairs$from %*% coef)
  list(
    kind = "next", coef = coef, along = along, features = prior / raw,
    sum = raw
  )
}

# A known observation model ---------------------------------------------------

# Weights of the next states times their likelihood: (K23)
likelihood_step <- function(hmm, s, seen) {
  if (is.null(s)) {
    return(first_likelihood_step(hmm, seen))
  }
  coef <- as.vector(hmm$model$inverse %*% s)
  likelihood <- state_likelihood(hmm, seen, hmm$states$to)
  raw <- as.vector(hmm$pairs$from %*% coef) * likelihood
  list(
    kind = "likelihood", coef = coef, along = numeric(),
    features = as.vector(crossprod(hmm$pairs$to, raw)) / sum(raw),
    sum = sum(raw)
  )
}

first_likelihood_step <- function(hmm, seen) {
  raw <- if (is.null(seen)) {
    rep(1, nrow(hmm$pairs$seen))
  } else {
    state_likelihood(hmm, seen, hmm$states$seen)
  }
  list(
    kind = if (is.null(seen)) "flat" else "first_likelihood",
    coef = numeric(ncol(hmm$pairs$seen)), along = numeric(),
    features = as.vector(crossprod(hmm$pairs$seen, raw)) / sum(raw),
    sum = sum(raw)
  )
}

# Likelihood at states, relative to its largest value
state_likelihood <- function(hmm, seen, states) {
  what <- of_argument("log_likelihood", errors = "likelihood")
  value <- call_user(hmm$log_likelihood, what, NULL, as.vector(seen), states)
  fine <- is.numeric(value) && length(value) == nrow(states) &&
    !anyNA(value) && all(value < Inf) && any(value > -Inf)
  if (!isTRUE(fine)) {
    refuse_value(
      what, NULL, paste(nrow(states), "numbers, not all -Inf"), describe(value)
    )
  }
  exp(as.vector(value) - max(value))
}

# The path --------------------------------------------------------------------

add_steps <- function(path, steps) {
  part <- function(name) {
    vapply(steps, function(step) step[[name]], steps[[1]][[name]])
  }
  columns <- function(name, old) {
    cbind(old, matrix(unlist(lapply(steps, `[[`, name)), nrow(old)))
  }
  if (length(steps) == 0) {
    return(path)
  }
  path$kind <- c(path$kind, part("kind"))
  path$sum <- c(path$sum, part("sum"))
  path$coef <- columns("coef", path$coef)
  path$along <- columns("along", path$along)
  path$features <- columns("features", path$features)
  path
}

warn_cancelled_steps <- function(steps) {
  lost <- sum(vapply(steps, function(step) isTRUE(step$cancelled), NA))
  if (lost > 0) {
    kb_warn(c(
      "Observations whose weights cancelled in their sum were treated as
       missing.",
      x = "Those of {lost} of {length(steps)} observation{?s} did.",
      i = "They are far from the training observations, or a larger
           {.arg delta} is needed."
    ), "weights")
  }
}

#' Weights of the states at times, times x states, and the states they belong to
#' @return List of `weights` and `location`, "seen" (states of the observation
#'   pairs) or "to" (next states of the transition pairs).
#' @noRd
step_weights <- function(path, t) {
  hmm <- path$hmm
  coef <- path$coef[, t, drop = FALSE]
  raw <- switch(path$kind[[t[[1]]]],
    update = filtered_weights(hmm, coef, path$along[, t, drop = FALSE]),
    regression = hmm$pairs$observations %*% path$along[, t, drop = FALSE],
    flat = matrix(1, nrow(hmm$pairs$seen), length(t)),
    prior = hmm$pairs$seen %*% coef,
    "next" = hmm$pairs$from %*% coef,
    likelihood = (hmm$pairs$from %*% coef) *
      likelihood_columns(path, t, hmm$states$to),
    first_likelihood = likelihood_columns(path, t, hmm$states$seen)
  )
  location <- if (on_next_states(path$kind[[t[[1]]]])) "to" else "seen"
  list(weights = t(raw) / path$sum[t], location = location)
}

on_next_states <- function(kind) kind %in% c("next", "likelihood")

filtered_weights <- function(hmm, coef, along) {
  mu <- hmm$pairs$seen %*% coef
  if (hmm$settings$method == "iw") mu <- pmax(mu, 0)
  mu * (hmm$pairs$observations %*% along)
}

likelihood_columns <- function(path, t, states) {
  vapply(t, function(at) {
    state_likelihood(path$hmm, path$observations[at, ], states)
  }, numeric(nrow(states)))
}
