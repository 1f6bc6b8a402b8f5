# The particle filter of the adjusted kbr_hmm().
#
# A cloud has N equally likely particles: `states` (N x d), `last` (the move
# before, N x k) and `residual` (of the observation before, over its spread);
# with an observation the `evidence` for it, the log of its mean density, and
# without one how many steps are `unseen`; `improbable` if it was not used.

#' @param model Of `hmm_model()`.
#' @param seen List of `y` (T x p: summaries or scores, rows that are not used
#'   hold NA), `variance` (T, with summaries), `gap` (T, the time since the row
#'   before), `inputs` (T x k, of the row before, or NULL).
#' @param cloud Where the filter goes on, or NULL.
#' @param fold 0, or the stretch of the training rows that is filtered.
#' @param seeds One per row, or NULL: draws go on with R's generator.
#' @return List of clouds, each with the `ancestors` in the one before.
#' @noRd
filter_particles <- function(model, seen, cloud, size, seeds, fold = 0,
                             start = NULL, bar = NULL) {
  noise <- joint_axes(model)
  out <- vector("list", nrow(seen$y))
  for (t in seq_along(out)) {
    now <- list(
      y = seen$y[t, , drop = FALSE], variance = seen$variance[t],
      gap = seen$gap[[t]], inputs = seen$inputs[rep(t, size), , drop = FALSE]
    )
    if (anyNA(now$y)) now["y"] <- list(NULL)
    cloud <- with_local_seed(seeds[t], if (is.null(cloud)) {
      judged_start(model, now, size, fold, start)
    } else {
      next_cloud(model, cloud, now, noise, fold)
    })
    out[[t]] <- cloud
    if (!is.null(bar)) bar$advance()
  }
  out
}

# The noise of moves, and for proposals that use the observation its axes
joint_axes <- function(model) {
  if (is.null(model$moves)) {
    return(NULL)
  }
  moves <- chol_of(model$inflate * model$moves$cov)
  c(list(moves = moves), if (model$guided) guided_axes(model, moves))
}

#' Axes in which the noise of moves and of observations are independent, (K54)
#' @param moves Upper root of the covariance of moves.
#' @return List of `from` (d x d: errors to axes), `to` (axes to moves) and
#'   `slope`, of errors on moves along the axes.
#' @noRd
guided_axes <- function(model, moves) {
  root <- chol_of(model$observed$cov)
  whiten <- backsolve(root, diag(ncol(root)))
  found <- svd(moves %*% t(model$observed$gain) %*% whiten)
  list(
    from = whiten %*% found$v, to = crossprod(found$u, moves), slope = found$d
  )
}

# Of a covariance matrix that may be singular
chol_of <- function(cov) {
  size <- max(diag(cov), 1e-300)
  chol(cov + diag(1e-10 * size, nrow(cov)))
}

# Steps ------------------------------------------------------------------------

next_cloud <- function(model, cloud, now, noise, fold) {
  ahead <- predict_move(model, cloud, now, fold)
  if (is.null(now$y)) {
    return(unseen_cloud(model, cloud, ahead, now, noise))
  }
  there <- if (model$guided) {
    guided_cloud(model, cloud, ahead, now, noise, fold)
  } else {
    plain_cloud(model, cloud, ahead, now, noise, fold)
  }
  if (there$evidence >= model$evidence[["low"]]) {
    return(there)
  }
  there <- start_again(there, first_cloud(model, now, nrow(there$states), fold))
  # Summaries of observations unlike others lie among the states: they vary more
  # instead, (K52).
  if (model$guided || there$evidence >= model$evidence[["least"]]) {
    return(there)
  }
  c(unseen_cloud(model, cloud, ahead, now, noise), list(improbable = TRUE))
}

plain_cloud <- function(model, cloud, ahead, now, noise, fold) {
  there <- propagate(model, ahead, now, noise)
  found <- observation_error(model, there$states, now, cloud, fold)
  drawn <- resample(found$log_likelihood)
  kept <- drawn$kept
  list(
    states = there$states[kept, , drop = FALSE],
    last = there$last[kept, , drop = FALSE],
    residual = found$residual[kept, , drop = FALSE], ancestors = kept,
    evidence = drawn$evidence
  )
}

# The prior probability of a move that the regression knows nothing of
chance_of_start <- 0.01

#' Particles of which some start again, (K58)
#' @param fresh Particles of the prior given the observation.
#' @noRd
start_again <- function(cloud, fresh) {
  both <- c(log1p(-chance_of_start), log(chance_of_start)) +
    c(cloud$evidence, fresh$evidence)
  most <- max(both)
  evidence <- most + log(sum(exp(both - most)))
  share <- exp(both[[2]] - evidence)
  if (is.nan(share)) {
    return(cloud)
  }
  size <- nrow(cloud$states)
  # Spread over both clouds, whose particles are in order of their ancestors.
  # Particles that start again may have come from anywhere.
  rows <- spread_over(size, floor(size * share + stats::runif(1)))
  ancestors <- cloud$ancestors
  ancestors[rows] <- rows
  sorted <- order(ancestors)
  for (name in c("states", "last", "residual")) {
    if (!is.null(fresh[[name]])) cloud[[name]][rows, ] <- fresh[[name]][rows, ]
    if (!is.null(cloud[[name]])) {
      cloud[[name]] <- cloud[[name]][sorted, , drop = FALSE]
    }
  }
  cloud$ancestors <- ancestors[sorted]
  cloud$evidence <- evidence
  cloud
}

# Expected moves and the factors of their noise's covariance, or states that a
# known transition simulates
predict_move <- function(model, cloud, now, fold) {
  if (is.function(model$transitions)) {
    to <- simulate_next(model$transitions, cloud$states)
    return(list(states = check_simulated(to, cloud$states), last = NULL))
  }
  at <- in_unit(model$unit, space_encode(model$space, cloud$states))
  moves <- model$moves
  x <- move_points(moves, at, cloud$last, now$gap, now$inputs)
  found <- fold_at(moves$regression, x, fold)
  beyond <- pmax(found$unknown - moves$known, 0)
  list(
    from = cloud$states, move = now$gap * found$mean,
    noise = now$gap * (1 + beyond * moves$signal / model$inflate)
  )
}

# A draw of the next states
propagate <- function(model, ahead, now, noise) {
  if (!is.null(ahead$states)) {
    return(ahead)
  }
  draws <- matrix(stats::rnorm(length(ahead$move)), nrow(ahead$move))
  move <- ahead$move + sqrt(ahead$noise) * draws %*% noise$moves
  list(
    states = space_plus(model$space, ahead$from, move), last = move / now$gap
  )
}

# Without an observation
#
# Residuals of moves that persist through h steps have the variance h^2 Q, and
# the last of these steps adds (2 h - 1) Q: as much as q Q after q / 2 steps.
unseen_cloud <- function(model, cloud, ahead, now, noise) {
  unseen <- sum(cloud$unseen) + 1L
  if (!is.null(ahead$noise)) {
    ahead$noise <- ahead$noise * min((2 * unseen - 1) / model$inflate, 1)
  }
  there <- propagate(model, ahead, now, noise)
  memory <- model$observed$memory^now$gap
  if (!is.null(cloud$residual)) {
    there$residual <- memory * cloud$residual + normal_draws(
      nrow(cloud$residual), model$observed$cov * (1 - memory^2)
    )
  }
  c(there, list(ancestors = seq_len(nrow(there$states)), unseen = unseen))
}

#' Errors of the observation at states, and its log likelihood there
#' @param cloud The particles before, or NULL: without memory.
#' @return List of `log_likelihood` and `residual` (over their spread).
#' @noRd
observation_error <- function(model, states, now, cloud, fold) {
  if (is.function(model$log_likelihood)) {
    value <- state_likelihood(model, now$y, states)
    return(list(log_likelihood = log(value)))
  }
  observed <- model$observed
  at <- in_unit(model$unit, space_encode(model$space, states))
  found <- fold_at(observed$error, at, fold)
  error <- raw_error(model, states, now, found$mean)
  spread <- if (is.null(observed$summary)) {
    residual_variance(observed$spread, at, found$unknown, fold)
  } else {
    list(variance = now$variance, beyond = numeric(nrow(states)))
  }
  # What goes beyond is not remembered.
  whole <- spread$variance + spread$beyond * mean(observed$spread$signal)
  residual <- error / sqrt(spread$variance)
  memory <- if (is.null(cloud)) 0 else observed$memory^now$gap
  news <- residual - if (memory > 0) memory * cloud$residual else 0
  white <- news %*% observed$spread$axes
  beyond <- outer(spread$beyond / spread$variance, observed$spread$signal)
  total <- 1 - memory^2 + beyond
  list(
    log_likelihood = -rowSums(white^2 / total + log(total)) / 2 -
      ncol(white) * log(spread$variance) / 2,
    residual = error / sqrt(whole)
  )
}

raw_error <- function(model, states, now, expected) {
  y <- now$y[rep(1, nrow(states)), , drop = FALSE]
  if (is.null(model$observed$summary)) {
    return(y - expected)
  }
  space_minus(model$space, y, states) - expected
}

# Of the summary, at states
summary_error <- function(model, states, now, fold) {
  at <- in_unit(model$unit, space_encode(model$space, states))
  raw_error(model, states, now, fold_predict(model$observed$error, at, fold))
}

#' Ancestors weighted by the observation's density given each, and states drawn
#' given both: (K54)
#'
#' The error's regression is taken at the expected state, and as linear there.
#' @param cloud The particles before; without `residual` memory has no effect.
#' @noRd
guided_cloud <- function(model, cloud, ahead, now, noise, fold) {
  space <- model$space
  there <- space_plus(space, ahead$from, ahead$move)
  news <- summary_error(model, there, now, fold)
  memory <- 0
  if (!is.null(cloud$residual)) {
    memory <- model$observed$memory^now$gap
    news <- news - memory * sqrt(now$variance) * cloud$residual
  }
  news <- news %*% noise$from
  size <- nrow(there)
  # Variances along the axes: of the observation given the move, and in all
  own <- now$variance * (1 - memory^2)
  total <- outer(ahead$noise, noise$slope^2) + own
  drawn <- resample(-rowSums(news^2 / total + log(total)) / 2)
  kept <- drawn$kept
  draws <- matrix(stats::rnorm(length(news)), size)
  total <- total[kept, , drop = FALSE]
  ahead$noise <- ahead$noise[kept]
  step <- news[kept, , drop = FALSE] * outer(ahead$noise, noise$slope) / total +
    draws * sqrt(ahead$noise * own / total)
  step <- step %*% noise$to
  states <- space_plus(space, there[kept, , drop = FALSE], step)
  list(
    states = states,
    last = (ahead$move[kept, , drop = FALSE] + step) / now$gap,
    residual = summary_error(model, states, now, fold) / sqrt(now$variance),
    ancestors = kept, evidence = drawn$evidence
  )
}

#' Systematic resampling by log weights; those that are not numbers count as
#' none, and all as equal if there are no others
#' @return List of the rows `kept` and of the logarithm `evidence` of the mean
#'   weight.
#' @noRd
resample <- function(log_weights) {
  log_weights[!is.finite(log_weights)] <- -Inf
  most <- max(log_weights)
  w <- exp(log_weights - most)
  if (anyNA(w)) w <- rep(1, length(w))
  n <- length(w)
  at <- (seq_len(n) - stats::runif(1)) / n * sum(w)
  list(
    kept = pmin(findInterval(at, cumsum(w)) + 1L, n),
    evidence = most + log(mean(w))
  )
}

# The first time ---------------------------------------------------------------

# Without the observation if no state explains it
judged_start <- function(model, now, size, fold, start) {
  cloud <- first_cloud(model, now, size, fold, start)
  if (model$guided || !isTRUE(cloud$evidence < model$evidence[["least"]])) {
    return(cloud)
  }
  now["y"] <- list(NULL)
  c(first_cloud(model, now, size, fold, start), list(improbable = TRUE))
}

first_cloud <- function(model, now, size, fold, start = NULL) {
  known <- if (fold > 0) which(model$fold != fold) else TRUE
  known <- model$states[known, , drop = FALSE]
  rows <- if (is.null(start)) {
    sample.int(nrow(known), size, replace = TRUE)
  } else {
    known <- start$points
    sample.int(
      nrow(known), size, replace = TRUE, prob = pmax(start$weights, 0)
    )
  }
  states <- known[rows, , drop = FALSE]
  if (is.null(start) && model$guided && !is.null(now$y)) {
    return(guided_start(model, now, states, size, fold))
  }
  out <- list(states = states, ancestors = seq_len(size))
  if (!is.null(now$y)) {
    found <- observation_error(model, states, now, NULL, fold)
    drawn <- resample(found$log_likelihood)
    kept <- drawn$kept
    out$evidence <- drawn$evidence
    out$states <- states[kept, , drop = FALSE]
    out$residual <- found$residual[kept, , drop = FALSE]
  } else if (!is.null(model$observed)) {
    out$residual <- normal_draws(size, model$observed$cov)
  }
  out$last <- likely_moves(model, out$states, fold)
  out
}

normal_draws <- function(n, cov) {
  matrix(stats::rnorm(n * ncol(cov)), n) %*% chol_of(cov)
}

# States of the training series and normal kernels about them as the prior
guided_start <- function(model, now, known, size, fold) {
  ahead <- list(
    from = known, move = matrix(0, size, ncol(model$observed$cov)),
    noise = rep(1, size)
  )
  other <- known[sample.int(size), , drop = FALSE]
  apart <- space_minus(model$space, known, other)
  d <- ncol(apart)
  # Half the mean square of differences is the covariance; Silverman's width
  width <- crossprod(apart) / (2 * size) * (4 / (size * (d + 2)))^(2 / (d + 4))
  out <- guided_cloud(
    model, list(), ahead, now, guided_axes(model, chol_of(width)), fold
  )
  out$ancestors <- seq_len(size)
  out$last <- likely_moves(model, out$states, fold)
  out
}

# The move before: that of the nearest state of the training series
likely_moves <- function(model, states, fold) {
  if (is.null(model$moves) || model$moves$lag == 0) {
    return(NULL)
  }
  code <- function(x) in_unit(model$unit, space_encode(model$space, x))
  known <- which(!is.na(model$moves$last[, 1]))
  other <- known[model$fold[known] != fold]
  if (length(other) > 0) known <- other
  known <- known[spread_over(length(known), min(length(known), 2000))]
  near <- nearest_rows(code(states), code(model$states[known, , drop = FALSE]))
  model$moves$last[known[near], , drop = FALSE]
}

# For each row of a the number of the nearest row of b
nearest_rows <- function(a, b) {
  max.col(-squared_distances(a, b), "first")
}
