# How the states move with the observation: kernel ridge regression of states
# and of the size of their residuals, left out in closed form, (K41) and (K42).

#' Features with weights, turned to their principal axes
#' @param f Features, n x q.
#' @param w Weights of rows that sum to one.
#' @return List of `scores` (n x k), their `spectrum` (weighted variances) and
#'   `weights`; `center` (q) and `rotation` (q x k) for new rows.
#' @noRd
regression_space <- function(f, w) {
  center <- colSums(w * f)
  f <- sweep(f, 2, center)
  axes <- eigen(features_gram_cpp(f, w), symmetric = TRUE)
  kept <- axes$values > 1e-12 * max(axes$values, 0)
  rotation <- axes$vectors[, kept, drop = FALSE]
  list(
    scores = f %*% rotation, spectrum = axes$values[kept], weights = w,
    center = center, rotation = rotation
  )
}

# Relative to the sum of the spectrum
adjustment_ridges <- 10^seq(-8, 0, by = 0.5)

# The ridge is chosen by the losses of so many rows.
ridge_rows <- 2e4

#' Ridge regression in that space, with the ridge of each response that loses
#' least when rows are left out, (K41)
#' @param t Responses, n x d.
#' @return List of `left_out` (predictions of each row by the others, n x d),
#'   `loss` (weighted mean of squared left-out residuals, d), `coefficients` (q
#'   x d) and `intercept` (d).
#' @noRd
ridge_left_out <- function(space, t) {
  w <- space$weights
  center <- colSums(w * t)
  t <- sweep(t, 2, center)
  moments <- crossprod(space$scores * w, t)
  ridges <- sum(space$spectrum) * adjustment_ridges
  gains <- 1 / outer(space$spectrum, ridges, "+")
  rows <- spread_over(nrow(t), min(nrow(t), ridge_rows))
  some <- space$scores[rows, , drop = FALSE]
  spare <- spare_shares(some, w[rows], gains)
  best <- vapply(seq_len(ncol(t)), function(j) {
    residual <- (t[rows, j] - some %*% (gains * moments[, j])) / spare
    which.min(colSums(w[rows] * residual^2))
  }, 0L)
  gains <- gains[, best, drop = FALSE]
  along <- gains * moments
  residual <- (t - space$scores %*% along) /
    spare_shares(space$scores, w, gains)
  coefficients <- space$rotation %*% along
  list(
    left_out = sweep(t - residual, 2, center, "+"),
    loss = colSums(w * residual^2), coefficients = coefficients,
    intercept = as.vector(center - space$center %*% coefficients)
  )
}

# One less the leverage of each row, per column of `gains`
spare_shares <- function(scores, w, gains) {
  pmax(1 - w * (1 + scores^2 %*% gains), 1e-8)
}

# Predictions at features, rows x d
ridge_predict <- function(model, f) {
  sweep(f %*% model$coefficients, 2, model$intercept, "+")
}

# The widths of `kernel_y` that are tried, in medians of distances
kernel_widths <- c(0.25, 0.5, 1, 2, 4)
width_rows <- 1500

#' The kernel of the observations: its median bandwidth times the factor with
#' which regression of the states loses least, on some of the pairs
#' @param kernel As given.
#' @param t States on the line; `y` observations as the kernel sees them.
#' @noRd
regression_kernel <- function(kernel, t, y, settings) {
  kernel <- check_kernel(kernel, "kernel_y")
  check_kernel_dimension(kernel, ncol(y))
  if (!kernel_has(kernel, "median")) {
    return(kernel)
  }
  kernel <- kernel_resolve(kernel, y)
  rows <- spread_over(nrow(y), min(nrow(y), width_rows))
  y <- y[rows, , drop = FALSE]
  t <- t[rows, , drop = FALSE]
  variance <- pmax(apply(t, 2, stats::var), .Machine$double.xmin)
  losses <- vapply(kernel_widths, function(factor) {
    features <- kernel_features(
      kernel_widen(kernel, factor), y, settings$rank, settings$tol
    )
    space <- regression_space(
      regressors(features$factor, y), rep(1 / nrow(y), nrow(y))
    )
    mean(ridge_left_out(space, t)$loss / variance)
  }, 0)
  if (!all(is.finite(losses))) {
    refuse_precision("regression of the states overflows", NULL)
  }
  kernel_widen(kernel, kernel_widths[[which.min(losses)]])
}

# A straight line is in the model, however narrow the kernel
regressors <- function(features, y) cbind(features, y)

#' @param space,t As above.
#' @return List of `mean` and `log_variance` (models), `residual` (divided by
#'   their standard deviations, left out, n x d), `scale` (of these) and
#'   `plain` (residuals not divided).
#' @noRd
state_regression <- function(space, t) {
  mean <- ridge_left_out(space, t)
  residual <- t - mean$left_out
  floor <- pmax(1e-4 * mean$loss, .Machine$double.xmin)
  size <- log(sweep(residual^2, 2, floor, "+"))
  log_variance <- ridge_left_out(space, size)
  varying <- residual / exp(log_variance$left_out / 2)
  scale <- sqrt(colSums(space$weights * varying^2))
  scale[scale == 0] <- 1
  list(
    mean = mean, log_variance = log_variance, plain = residual,
    varying = sweep(varying, 2, scale, "/"), scale = scale
  )
}

#' Learn how states move: the part of a fit that its method "adjusted" adds
#'
#' @return List: `mean`, `moments`, `log_variance`
#'   (models; `unit`: standard deviations of residuals); `limits` (3 x d) of the
#'   states on the line and of standard deviations, beyond which nothing is
#'   extrapolated;
#'   `choice` and `scores` of the locality, `left_out` (scores of pairs with that
#'   choice); `residual` (n x d) and `coordinates` (n x k) of the pairs,
#'   `weights` of the prior.
#' @param unit In which residuals are scored; `NULL`: their standard deviations.
#' @noRd
learn_adjustment <- function(fit, unit = NULL) {
  t <- states_to_line(fit, fit$data$states)
  y <- scaled_observations(fit)
  w <- adjustment_weights(fit)
  space <- regression_space(
    regressors(fit$features$observations$factor, y), w
  )
  model <- state_regression(space, t)
  center <- colSums(w * t)
  moments <- ridge_left_out(space, sweep(t, 2, center)^2)
  spaces <- pair_coordinates(model$mean, moments, y)
  table <- locality_table()
  if (is.null(unit)) unit <- residual_unit(model$mean)
  scores <- locality_scores(model, spaces, w, table, unit)
  chosen <- simplest_choice(scores)
  choice <- table[chosen, ]
  out <- list(
    mean = for_new_rows(model$mean), moments = for_new_rows(moments),
    log_variance = for_new_rows(model$log_variance), scale = model$scale,
    limits = rbind(
      apply(t, 2, range), exp(apply(model$log_variance$left_out, 2, max) / 2)
    ),
    r_squared = 1 - model$mean$loss / pmax(
      colSums(w * sweep(t, 2, center)^2), .Machine$double.xmin
    ),
    choice = as.list(choice),
    scores = cbind(table, score = colMeans(scores)),
    left_out = scores[, chosen],
    residual = if (choice$varying) model$varying else model$plain,
    coordinates = spaces[[choice$space]], weights = w
  )
  row.names(out$scores) <- NULL
  out
}

# The prior's weights of the pairs as a probability: known if its points are the
# states, otherwise from the kernel sum rule
adjustment_weights <- function(fit) {
  prior <- fit$prior
  w <- if (is.null(prior)) {
    rep(1, fit$time)
  } else if (is.null(prior$points)) {
    pmax(prior$weights, 0)
  } else {
    pmax(fit$mu, 0)
  }
  w / sum(w)
}

for_new_rows <- function(model) {
  list(
    coefficients = model$coefficients, intercept = model$intercept,
    unit = residual_unit(model)
  )
}

residual_unit <- function(model) {
  unit <- sqrt(model$loss)
  ifelse(unit > 0, unit, 1)
}

# Left-out coordinates of pairs in each space of distances
pair_coordinates <- function(mean, moments, y) {
  in_units <- function(model) {
    sweep(model$left_out, 2, residual_unit(model), "/")
  }
  states <- in_units(mean)
  list(
    states = states, moments = cbind(states, in_units(moments)),
    observations = unname(y)
  )
}

# Coordinates of observations in the space that was chosen
coordinates_at <- function(adjustment, features, y) {
  space <- adjustment$choice$space
  if (space == "observations") {
    return(y)
  }
  in_units <- function(model) {
    sweep(ridge_predict(model, features), 2, model$unit, "/")
  }
  states <- in_units(adjustment$mean)
  if (space == "states") states else cbind(states, in_units(adjustment$moments))
}
