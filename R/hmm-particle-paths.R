# Filters, smoothers and forecasts of the adjusted kbr_hmm(). A path has, for
# each time, the mean of the particles and their displacements from it.

#' @export
empty_path.kb_hmm_adjusted <- function(hmm, start) {
  k <- ncol(space_minus(
    hmm$space, hmm$model$states[1, , drop = FALSE],
    hmm$model$states[1, , drop = FALSE]
  ))
  size <- hmm$settings$particles
  new_object(
    list(
      version = fit_version, hmm = hmm, start = start,
      mean = matrix(0, 0, length(hmm$space$names)),
      spread = array(0, c(size, k, 0)), ancestors = matrix(0L, size, 0),
      observations = NULL, unseen = logical(), cloud = NULL, clock = NULL
    ),
    class = c("kb_hmm_particles", "kb_kbr_filter", "kb_kbr_path")
  )
}

#' @export
hmm_rows.kb_hmm_adjusted <- function(hmm, observations) {
  given <- given_observations(hmm, observations)
  if (is.null(hmm$scores)) {
    return(list(given = given, y = given, far = 0, lost = 0))
  }
  found <- new_scores(hmm$scores, given)
  summarised <- hmm$model$observed$summary
  known <- which(stats::complete.cases(found$scores))
  scores <- found$scores[known, , drop = FALSE]
  out <- list(
    given = given, y = found$scores, far = sum(far_rows_of(hmm, given)),
    lost = found$far
  )
  if (!is.null(summarised)) {
    out$y <- matrix(NA_real_, nrow(given), length(hmm$space$names))
    out$variance <- rep(1, nrow(given))
    if (length(known) > 0) {
      found <- fold_at(summarised, scores)
      out$y[known, ] <- space_decode(hmm$space, found$mean)
      spread <- hmm$model$observed$spread
      found <- residual_variance(spread, scores, found$unknown)
      out$variance[known] <- found$variance + found$beyond * mean(spread$signal)
    }
  }
  out
}

#' @export
filter_rows.kb_hmm_particles <- function(path, rows, clock, progress) {
  hmm <- path$hmm
  total <- nrow(rows$given)
  if (total == 0) {
    return(path)
  }
  size <- dim(path$spread)
  check_memory(
    as.double(size[[1]]) * (size[[2]] + 1) * (size[[3]] + total),
    "The particles of all times", "Use fewer {.arg particles} in {.fn kbr_hmm}."
  )
  warn_far_rows(max(rows$far, rows$lost), rows$lost, total)
  clock <- filter_clock(path, clock, total)
  seen <- list(
    y = rows$y, variance = rows$variance, gap = clock$gap,
    inputs = clock$inputs
  )
  bar <- task_bar(total, progress, "Filtering")
  on.exit(bar$close())
  done <- nrow(path$mean)
  clouds <- filter_particles(
    hmm$model, seen, path$cloud, hmm$settings$particles,
    step_seeds(hmm, done + seq_len(total)), start = path$start, bar = bar
  )
  path$observations <- rbind(path$observations, rows$given)
  lost <- vapply(clouds, function(cloud) isTRUE(cloud$improbable), NA)
  warn_improbable(sum(lost), total)
  path$unseen <- c(path$unseen, !stats::complete.cases(rows$y) | lost)
  path$cloud <- clouds[[total]]
  path$clock <- clock$last
  add_clouds(path, clouds)
}

step_seeds <- function(hmm, steps) {
  (hmm$seed + steps * 7919) %% .Machine$integer.max
}

warn_improbable <- function(lost, total) {
  if (lost > 0) {
    kb_warn(c(
      "Observations that fit no possible state were treated as missing.",
      x = "{lost} of {total} observations {cli::qty(lost)}{?fits/fit} none.",
      i = "Neither the states that the filter expected nor those of the training
           period explain {cli::qty(lost)}{?it/them}."
    ), "improbable")
  }
}

# Gaps before each row, and inputs that act on them: of the row before
filter_clock <- function(path, clock, total) {
  settings <- path$hmm$settings
  last <- path$clock
  if (is.null(settings$input_names)) refuse_clock(clock["inputs"])
  inputs <- check_inputs(clock$inputs, total, settings$input_names)
  before <- if (!is.null(inputs)) {
    rbind(if (is.null(last)) inputs[1, ] else last$inputs, inputs)
  }
  times <- if (is.null(settings$unit_time)) {
    refuse_clock(clock["times"])
  } else {
    check_clock_times(clock$times, total)
  }
  from <- if (is.null(last)) times[1] - settings$unit_time else last$time
  gap <- if (is.null(times)) {
    rep(1, total)
  } else {
    diff(c(from, times)) / settings$unit_time
  }
  if (any(gap <= 0)) {
    bad_argument(clock$times, "times", "increasing")
  }
  list(
    gap = gap, inputs = before[seq_len(total), , drop = FALSE],
    last = list(
      time = times[total], inputs = before[total + 1, , drop = FALSE]
    )
  )
}

# Add the times of clouds to a path
#
# Displacements are stretched so that intervals hold as many states as they
# say, (K55).
add_clouds <- function(path, clouds) {
  space <- path$hmm$space
  stretch <- path$hmm$model$ends$filter
  mean <- do.call(rbind, lapply(clouds, function(cloud) {
    cloud_mean(space, cloud$states)
  }))
  spread <- vapply(seq_along(clouds), function(t) {
    states <- clouds[[t]]$states
    stretch * space_minus(
      space, states, mean[rep(t, nrow(states)), , drop = FALSE]
    )
  }, matrix(0, dim(path$spread)[[1]], dim(path$spread)[[2]]))
  ancestors <- vapply(clouds, function(cloud) {
    as.integer(cloud$ancestors)
  }, integer(nrow(path$ancestors)))
  path$mean <- rbind(path$mean, mean)
  path$spread <- array(
    c(path$spread, spread), dim(path$spread) + c(0, 0, length(clouds))
  )
  path$ancestors <- cbind(path$ancestors, ancestors)
  path
}

# Smoothing and forecasting ----------------------------------------------------

# The smoother looks ahead while so many of the particles are left.
fewest_left <- 0.1

# The particles of each time that have descendants later: (K56)
#
# As far ahead as `lag`, NULL: as was best, or until too few of them are left.
smooth_particles <- function(path, lag, bar) {
  last <- nrow(path$mean)
  space <- path$hmm$space
  ends <- path$hmm$model$ends
  ahead <- if (is.null(lag)) ends$ahead else lag
  mean <- path$mean
  for (t in seq_len(last)) {
    kept <- surviving(
      path$ancestors, t, min(t + ahead, last),
      nrow(path$ancestors) * fewest_left
    )
    spread <- spread_at(path, t, kept) / ends$filter
    states <- space_plus(
      space, path$mean[rep(t, nrow(spread)), , drop = FALSE], spread
    )
    centre <- cloud_mean(space, states)
    mean[t, ] <- centre
    path$spread[, , t] <- ends$smooth * space_minus(
      space, states, centre[rep(1, nrow(states)), , drop = FALSE]
    )
    bar$advance()
  }
  path$mean <- mean
  path$lag <- ahead
  path[c("ancestors", "cloud", "clock", "start")] <- NULL
  class(path) <- c("kb_hmm_particles", "kb_kbr_smooth", "kb_kbr_path")
  path
}

# Far ahead, their number is looked at every few steps only.
surviving <- function(ancestors, from, to, fewest, every = 5) {
  best <- kept <- seq_len(nrow(ancestors))
  for (s in seq_len(to - from)) {
    kept <- kept[ancestors[, from + s]]
    if (s < 20 || s %% every == 0 || s == to - from) {
      if (sum(tabulate(kept, length(kept)) > 0) < fewest) break
      best <- kept
    }
  }
  best
}

forecast_particles <- function(path, h, inputs) {
  hmm <- path$hmm
  steps <- nrow(path$mean) + seq_len(h)
  names <- hmm$settings$input_names
  inputs <- if (!is.null(names)) {
    rbind(path$clock$inputs, if (h > 1) check_inputs(inputs, h - 1, names))
  } else if (!is.null(inputs)) {
    refuse_clock(list(inputs = inputs))
  }
  seen <- list(
    y = matrix(NA_real_, h, 1), variance = NULL, gap = rep(1, h),
    inputs = inputs
  )
  clouds <- filter_particles(
    hmm$model, seen, path$cloud, hmm$settings$particles,
    step_seeds(hmm, steps), start = path$start
  )
  out <- add_clouds(empty_path(hmm, NULL), clouds)
  out$after <- nrow(path$mean)
  out[c("ancestors", "cloud", "clock", "unseen")] <- NULL
  class(out) <- c("kb_hmm_particles", "kb_kbr_forecast", "kb_kbr_path")
  out
}

# Methods of paths -------------------------------------------------------------

# Displacements of particles from the mean of a time
spread_at <- function(path, t, rows = TRUE) {
  matrix(path$spread[rows, , t], ncol = dim(path$spread)[[2]])
}

path_states_at <- function(path, t, rows = TRUE) {
  spread <- spread_at(path, t, rows)
  space_plus(
    path$hmm$space, path$mean[rep(t, nrow(spread)), , drop = FALSE], spread
  )
}

#' @export
path_length.kb_hmm_particles <- function(object) nrow(object$mean)

#' @export
path_mean.kb_hmm_particles <- function(object) {
  out <- object$mean
  dimnames(out) <- list(NULL, object$hmm$space$names)
  out
}

# For circles and rotations (K27)
#' @export
path_sd.kb_hmm_particles <- function(object) {
  space <- object$hmm$space
  out <- lapply(seq_len(path_length(object)), function(t) {
    v <- spread_at(object, t)
    switch(space$type,
      euclidean = sqrt(colMeans(v^2) - colMeans(v)^2),
      circle = sqrt(-2 * log(mean(cos(v)))),
      rotation = sqrt(4 * mean(1 - cos(sqrt(rowSums(v^2)))))
    )
  })
  out <- matrix(unlist(out), length(out), byrow = TRUE)
  colnames(out) <- if (space$type == "euclidean") space$names
  out
}

#' @export
path_quantiles.kb_hmm_particles <- function(object, probs) {
  centre <- space_coordinates(object$hmm$space, path_mean(object))
  circular <- attr(centre, "circular")
  out <- empty_quantiles(centre, probs)
  for (t in seq_len(nrow(centre))) {
    at <- space_coordinates(object$hmm$space, path_states_at(object, t))
    for (j in seq_len(ncol(at))) {
      gap <- at[, j] - centre[t, j]
      if (circular[[j]]) gap <- wrap_angle(gap)
      out[t, j, ] <- centre[t, j] + stats::quantile(gap, probs, names = FALSE)
    }
  }
  out
}

# Of a normal kernel's density estimate, in displacements from the mean. Copies
# of a particle, which are neighbours, count as one of more weight.
#' @export
path_map.kb_hmm_particles <- function(object) {
  modes <- lapply(seq_len(path_length(object)), function(t) {
    v <- spread_at(object, t)
    other <- c(TRUE, rowSums(diff(v) != 0) > 0)
    weights <- tabulate(cumsum(other)) / nrow(v)
    v <- v[other, , drop = FALSE]
    width <- pmax(
      density_bandwidth(v, t(weights), NULL)[1, ], .Machine$double.eps
    )
    embedding_mode(v, weights, kernel_gaussian(width))
  })
  v <- matrix(unlist(lapply(modes, `[[`, "x")), length(modes), byrow = TRUE)
  out <- space_plus(object$hmm$space, object$mean, v)
  dimnames(out) <- list(NULL, object$hmm$space$names)
  structure(out, converged = vapply(modes, `[[`, NA, "converged"))
}

#' @export
path_draws.kb_hmm_particles <- function(object, ndraws) {
  n <- dim(object$spread)[[1]]
  rows <- with_local_seed(object$hmm$seed, if (is.null(ndraws)) {
    spread_over(n, min(n, 200))
  } else {
    sample.int(n, check_path_draws(ndraws, object), replace = ndraws > n)
  })
  names <- object$hmm$space$names
  out <- vapply(seq_len(path_length(object)), function(t) {
    unname(path_states_at(object, t, rows))
  }, matrix(0, length(rows), length(names)))
  array(out, c(length(rows), length(names), path_length(object)), list(
    NULL, names, NULL
  ))
}

#' @export
path_all_weights.kb_hmm_particles <- function(object) {
  kb_abort(c(
    "Particles have no weights of training states.",
    i = "{.code type = \"draws\"} gives them; {.code method = \"kbr\"} of
         {.fn kbr_hmm} weights."
  ), "not_defined")
}

# Angles between states and the mean, or distances from it, in radians or units
#' @export
path_radius.kb_hmm_particles <- function(object, probs) {
  out <- t(vapply(seq_len(path_length(object)), function(t) {
    v <- spread_at(object, t)
    stats::quantile(sqrt(rowSums(v^2)), probs, names = FALSE)
  }, numeric(length(probs))))
  matrix(out, path_length(object), dimnames = list(
    NULL, paste0(100 * probs, "%")
  ))
}

#' @export
path_negative.kb_hmm_particles <- function(object) NULL

#' @export
path_title.kb_hmm_particles <- function(x) {
  times <- counted(path_length(x), "time")
  if (inherits(x, "kb_kbr_forecast")) {
    return(paste0(
      "Forecast by particles: ", counted(path_length(x), "step"),
      " after time ", x$after
    ))
  }
  if (inherits(x, "kb_kbr_smooth")) {
    return(paste0(
      "Smoothed by particles: ", times,
      if (is.finite(x$lag)) paste0(", lag ", x$lag)
    ))
  }
  missing <- sum(x$unseen)
  paste0(
    "Filtered by particles: ", times,
    if (missing > 0) paste0(", ", missing, " without observation")
  )
}
