# The adjusted kbr_hmm(): scores of observations, choice of its settings by
# filtering stretches of the training series, and the model itself.

# Observations of more columns are seen through as many principal components.
most_components <- 20

#' Learn how observations become scores
#' @return List of `center` and `scale` (p), `axes` (p x k, or NULL), the
#'   standard deviations `size` of scores, and how far training observations
#'   `reach` from their centre and from the axes.
#' @noRd
learn_scores <- function(y, scale) {
  moments <- column_moments(y)
  many <- ncol(y) > most_components
  if (many && !scale) moments$scale[] <- 1
  scores <- list(center = moments$center, scale = moments$scale)
  if (many) {
    centred <- in_unit(scores, y)
    scores$axes <- score_axes(centred, most_components)
    size <- sqrt(sum((centred %*% scores$axes)^2) / nrow(y))
    if (size > 0) scores$axes <- scores$axes / size
  }
  parts <- score_parts(scores, y)
  scores$size <- column_moments(parts$scores)$scale
  scores$reach <- apply(score_reach(scores, parts), 2, max)
  scores
}

# Principal axes by subspace iteration: few products with the observations
score_axes <- function(x, k, rounds = 6) {
  start <- with_local_seed(1, matrix(stats::rnorm(ncol(x) * (k + 10)), ncol(x)))
  axes <- qr.Q(qr(start))
  for (i in seq_len(rounds)) {
    axes <- qr.Q(qr(crossprod(x, x %*% axes)))
  }
  axes %*% svd(x %*% axes, nu = 0, nv = k)$v
}

score_parts <- function(scores, y) {
  centred <- in_unit(scores, y)
  if (is.null(scores$axes)) {
    return(list(scores = centred, rest = numeric(nrow(y))))
  }
  found <- centred %*% scores$axes
  unit <- sum(scores$axes[, 1]^2)
  list(
    scores = found,
    rest = pmax(rowSums(centred^2) - rowSums(found^2) / unit, 0)
  )
}

# Distances from the centre, and from the axes' span
score_reach <- function(scores, parts) {
  cbind(
    sqrt(rowMeans(sweep(parts$scores, 2, scores$size, "/")^2)),
    sqrt(parts$rest)
  )
}

# Observations so many times farther than any of the training period count as
# missing.
farthest <- 3

#' @return Scores of new observations, rows that are missing or far NA, and
#'   how many are `far`.
#' @noRd
new_scores <- function(scores, y) {
  known <- stats::complete.cases(y)
  parts <- score_parts(scores, y[known, , drop = FALSE])
  reach <- score_reach(scores, parts)
  far <- rowSums(sweep(reach, 2, farthest * scores$reach, ">")) > 0
  out <- matrix(NA_real_, nrow(y), ncol(parts$scores))
  out[which(known)[!far], ] <- parts$scores[!far, , drop = FALSE]
  list(scores = out, far = sum(far))
}

# Settings ---------------------------------------------------------------------

# Moves are noisier than residuals of their regression where these persist.
inflations <- c(1, 10, 100)
# Steps of a stretch that is filtered to choose settings, and of all of them;
# particles of filters whose proposals use the observation, and of others
held_steps <- 100
all_held_steps <- 500
held_particles <- c(guided = 80, plain = 200)

#' The model that filters stretches of the training series best
#' @param wanted List of `summaries`, `lag` and `inflate`, NULL where these are
#'   to be chosen.
#' @return Model, with the `trials` and `ends`, see `held_ends()`.
#' @noRd
choose_model <- function(space, series, wanted, kernels, rank, known, seed) {
  observed <- lapply(possible_summaries(series, wanted, known), function(s) {
    learn_observed(space, series, s, kernels, rank)
  })
  moves <- if (is.null(known$transitions)) {
    lapply(possible_lags(series, wanted, known), function(lag) {
      from <- if (is.null(series$moving)) series else series$moving
      learn_moves(space, from, lag, kernels$x, rank)
    })
  }
  build <- function(o, m, inflate) {
    new_model(
      space, series, if (length(observed) > 0) observed[[o]],
      if (length(moves) > 0) moves[[m]], inflate, known
    )
  }
  simplest <- build(1, 1, if (is.null(wanted$inflate)) 1 else wanted$inflate)
  if (!can_hold_out(series, known)) {
    return(c(simplest, list(ends = no_ends)))
  }
  search_models(
    build, series, length(observed), max(length(moves), 1), wanted, seed
  )
}

possible_summaries <- function(series, wanted, known) {
  if (!is.null(known$log_likelihood)) {
    return(list())
  }
  if (!is.null(wanted$summaries)) {
    return(list(wanted$summaries))
  }
  list(FALSE, TRUE)
}

possible_lags <- function(series, wanted, known) {
  if (!is.null(known$pairs)) {
    return(list(0L))
  }
  # Rows with a move before and a move after
  both <- any((series$first + 1L) %in% series$first)
  if (is.null(wanted$lag)) {
    return(if (both) list(0L, 1L) else list(0L))
  }
  if (wanted$lag > 0 && !both) {
    kb_abort(c(
      "{.arg lag} must be 0 where no three rows follow one another.",
      i = "The first of two moves predicts the second."
    ), "rows")
  }
  list(wanted$lag)
}

can_hold_out <- function(series, known) {
  is.null(known$log_likelihood) && is.null(known$pairs) &&
    max(series$fold) > 1 && length(series$first) > 20
}

#' Settings in order: summaries or not, each with the first two inflations;
#' larger ones; and lag 1 with each
#'
#' Of those that are not worse than the best by more than a standard error, the
#' one that trusts moves least is taken: what holds for stretches among the
#' training rows may not hold far from them.
#' @param build Function of the numbers of an observation model and of a model
#'   of moves, and of an inflation.
#' @noRd
search_models <- function(build, series, n_observed, n_moves, wanted, seed) {
  inflate <- if (is.null(wanted$inflate)) inflations else wanted$inflate
  first <- seq_len(min(2, length(inflate)))
  models <- list()
  held <- list()
  try <- function(o, m, i) {
    model <- build(o, m, inflate[[i]])
    models <<- c(models, list(model))
    held <<- c(held, list(held_scores(model, series, seed)))
  }
  score_of <- function(k) mean(held[[k]][, "score"])
  for (o in seq_len(n_observed)) for (i in first) try(o, 1, i)
  scores <- vapply(seq_along(held), score_of, 0)
  best <- (which.min(scores) - 1) %/% length(first) + 1
  for (i in seq_along(inflate)[-first]) try(best, 1, i)
  if (n_moves > 1) for (i in seq_along(inflate)) try(best, 2, i)
  trials <- do.call(rbind, Map(trial_line, models, held))
  order <- order(trials$lag, -trials$inflate)
  scores <- vapply(held, function(h) h[, "score"], held[[1]][, "score"])
  scores <- matrix(scores, ncol = length(held))
  chosen <- order[[simplest_choice(scores[, order, drop = FALSE], 1)]]
  model <- models[[chosen]]
  trials$chosen <- seq_along(models) == chosen
  held <- held_ends(model, series, seed)
  model$evidence <- held$evidence
  c(model, list(ends = held$ends, trials = trials))
}

trial_line <- function(model, held) {
  data.frame(
    summaries = !is.null(model$observed$summary),
    lag = as.double(c(model$moves$lag, NA)[[1]]),
    inflate = model$inflate, score = mean(held[, "score"]),
    error = mean(held[, "error"])
  )
}

new_model <- function(space, series, observed, moves, inflate, known) {
  list(
    space = space, states = series$states, unit = series$unit,
    fold = series$fold, observed = observed, moves = moves, inflate = inflate,
    transitions = known$transitions, log_likelihood = known$log_likelihood,
    evidence = no_evidence,
    guided = !is.null(observed$summary) && !is.null(moves)
  )
}

#' Filter the first steps of stretches of the training series with what the
#' others say
#' @param use Function of the model, clouds and states of a stretch.
#' @return List of its values.
#' @noRd
for_stretches <- function(model, series, seed, size, use) {
  lapply(held_folds(series), function(fold) {
    rows <- middle_rows(held_rows(series, fold), held_steps)
    seen <- list(
      y = model$observed$seen[rows, , drop = FALSE],
      variance = model$observed$variance[rows],
      gap = c(1, series$gap[rows])[seq_along(rows)],
      inputs = series$inputs[pmax(rows - 1, 1), , drop = FALSE]
    )
    clouds <- with_local_seed(seed, filter_particles(
      model, seen, NULL, size, NULL, fold
    ))
    # The first states say little about moves.
    later <- if (length(rows) > 10) -seq_len(5) else TRUE
    use(model, clouds[later], series$states[rows[later], , drop = FALSE])
  })
}

#' @return Matrix, stretches x `score` (mean energy score of the states) and
#'   `error` (mean squared distance of means).
#' @noRd
held_scores <- function(model, series, seed) {
  size <- held_particles[[2 - model$guided]]
  do.call(rbind, for_stretches(model, series, seed, size, score_clouds))
}

held_folds <- function(series) {
  folds <- seq_len(max(series$fold))
  steps <- min(max(tabulate(series$fold)), held_steps)
  spread <- spread_over(
    length(folds), min(length(folds), ceiling(all_held_steps / steps))
  )
  folds[spread]
}

# Away from the ends, near which other stretches are alike
middle_rows <- function(rows, steps) {
  skipped <- max(length(rows) - steps, 0) %/% 2
  utils::head(rows[seq_along(rows) > skipped], steps)
}

# The first rows of a stretch that are of one sequence
held_rows <- function(series, fold) {
  rows <- which(series$fold == fold)
  end <- which(!rows[-length(rows)] %in% series$first)
  if (length(end) > 0) rows[seq_len(end[[1]])] else rows
}

# Means over times; columns of vectors are in standard deviations
score_clouds <- function(model, clouds, truth) {
  found <- vapply(seq_along(clouds), function(t) {
    at <- cloud_displacements(model, clouds[[t]]$states, truth[t, ,
      drop = FALSE])
    to <- at$spread - rep(at$miss, each = nrow(at$spread))
    half <- seq_len(nrow(to) %/% 2)
    apart <- to[half, , drop = FALSE] - to[length(half) + half, , drop = FALSE]
    c(
      score = mean(sqrt(rowSums(to^2))) - mean(sqrt(rowSums(apart^2))) / 2,
      error = sum(at$miss^2)
    )
  }, c(score = 0, error = 0))
  rowMeans(found)
}

# Of particles and the truth, from the particles' mean
cloud_displacements <- function(model, states, truth) {
  space <- model$space
  unit <- if (space$type == "euclidean") model$unit$scale else 1
  mean <- cloud_mean(space, states)
  spread <- space_minus(
    space, states, mean[rep(1, nrow(states)), , drop = FALSE]
  )
  list(
    spread = spread / rep(unit, each = nrow(spread)),
    miss = as.vector(space_minus(space, truth, mean)) / unit
  )
}

cloud_mean <- function(space, states) {
  space_decode(space, t(colMeans(space_encode(space, states))))
}

# Ends of intervals ------------------------------------------------------------

# How many observations ahead the smoother may look
looks_ahead <- c(0L, 1L, 2L, 5L, 10L, 20L, 40L)

no_ends <- list(filter = 1, smooth = 1, ahead = 20L)

# Filters take what they see as it is.
no_evidence <- c(low = -Inf, least = -Inf)

#' What filters of stretches say
#' @return List of `ends`: factors with which 90% intervals of `filter` and
#'   `smooth` hold 90% of states, and how far `ahead` the smoother is best,
#'   (K55); and of `evidence`, see `usual_evidence()`.
#' @noRd
held_ends <- function(model, series, seed) {
  size <- 2 * held_particles[[2 - model$guided]]
  held <- for_stretches(model, series, seed, size, function(model, clouds, x) {
    smooth <- lapply(looks_ahead, function(lag) smooth_clouds(clouds, lag))
    list(
      score = vapply(smooth, function(clouds) {
        score_clouds(model, clouds, x)[["score"]]
      }, 0),
      ratios = lapply(smooth, function(clouds) side_ratios(model, clouds, x)),
      evidence = unlist(lapply(clouds, `[[`, "evidence"))
    )
  })
  scores <- vapply(held, `[[`, numeric(length(looks_ahead)), "score")
  best <- which.min(rowMeans(scores))
  factor <- function(k) {
    interval_factor(lapply(held, function(h) unlist(h$ratios[[k]])))
  }
  list(
    ends = list(
      filter = factor(1), smooth = factor(best), ahead = looks_ahead[[best]]
    ),
    evidence = usual_evidence(
      unlist(lapply(held, `[[`, "evidence")),
      if (!model$guided) start_evidence(model, series, seed, size)
    )
  )
}

# Evidence of single rows of the training series given none before: whatever
# else happens, a filter must be able to start again there.
start_evidence <- function(model, series, seed, size) {
  seen <- which(stats::complete.cases(model$observed$seen))
  rows <- seen[spread_over(length(seen), min(length(seen), 100))]
  with_local_seed(seed, vapply(rows, function(row) {
    now <- list(
      y = model$observed$seen[row, , drop = FALSE],
      variance = model$observed$variance[[row]], gap = 1
    )
    first_cloud(model, now, size, series$fold[[row]])$evidence
  }, 0))
}

#' Which evidence of an observation is unusual, (K58)
#' @return `low`: below it some particles start again; `least`: below it the
#'   observation counts as missing.
#' @param starting Of rows without any before, or NULL.
#' @noRd
usual_evidence <- function(evidence, starting) {
  middle <- stats::median(evidence)
  low <- stats::quantile(evidence, 0.01, names = FALSE)
  least <- min(
    middle - 5 * (middle - low), starting + 2 * log(chance_of_start)
  )
  found <- c(low = low, least = least)
  if (all(is.finite(found))) found else no_evidence
}

# The quantile over all stretches, and its standard error over stretches on top:
# a new series differs from all of them.
interval_factor <- function(ratios) {
  ratios <- lapply(ratios, function(r) r[is.finite(r)])
  ratios <- ratios[lengths(ratios) > 0]
  if (length(ratios) == 0) {
    return(1)
  }
  level <- function(r) stats::quantile(r, 0.9, names = FALSE)
  error <- stats::sd(vapply(ratios, level, 0)) / sqrt(length(ratios))
  if (is.na(error)) error <- 0
  min(max(level(unlist(ratios)) + error, 1), 3)
}

smooth_clouds <- function(clouds, lag) {
  ancestors <- vapply(clouds, `[[`, clouds[[1]]$ancestors, "ancestors")
  last <- length(clouds)
  lapply(seq_len(last), function(t) {
    kept <- surviving(
      ancestors, t, min(t + lag, last), nrow(ancestors) * fewest_left
    )
    list(states = clouds[[t]]$states[kept, , drop = FALSE])
  })
}

# Where states lie relative to the end of the 90% interval on their side
side_ratios <- function(model, clouds, truth) {
  lapply(seq_along(clouds), function(t) {
    at <- cloud_displacements(model, clouds[[t]]$states, truth[t, ,
      drop = FALSE])
    ends <- apply(at$spread, 2, ends_of)
    at$miss / ifelse(at$miss > 0, ends[2, ], ends[1, ])
  })
}

# Order statistics between which another draw falls with probability 0.9
ends_of <- function(v) {
  from <- max(round(0.05 * (length(v) + 1)), 1)
  sort(v)[c(from, length(v) + 1 - from)]
}
