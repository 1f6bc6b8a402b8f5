# The directions of kdr(): its steps, and the choice of their number.

#' Directions of z that predict the targets
#'
#' A stage is the regression on z times `map` (d x m) with its M.
#' @param k A whole number, or a share of the trace of M.
#' @return List of `directions`, `values`, `columns` and `steps`.
#' @noRd
kdr_directions <- function(z, targets, k, settings) {
  found <- weight_columns(z, targets, settings)
  stage <- found$stage
  steps <- found$steps
  if (k < 1) k <- share_count(eigen_values(stage$moment), k)
  kept <- reduced_dimensions(ncol(z), k, settings$direction_steps)
  for (dimension in kept) {
    inside <- leading_axes(stage$inner, dimension)
    stage <- kdr_stage(z, targets, stage$map %*% inside, settings)
    steps <- rbind(steps, step_line("directions", stage))
  }
  list(
    directions = signed(leading_axes(stage$moment, k)),
    values = eigen_values(stage$moment), columns = sqrt(diag(stage$moment)),
    steps = steps
  )
}

kdr_stage <- function(z, targets, map, settings) {
  mapped <- z %*% map
  kernel <- kernel_resolve(settings$kernel_y, mapped)
  fit <- kdr_ridge(mapped, targets, kernel, settings$rank, settings$eps)
  n <- nrow(z)
  at <- if (n > settings$rows) spread_over(n, settings$rows) else seq_len(n)
  inner <- gradient_moment(fit, mapped[at, , drop = FALSE])
  # Gradients in z are `map` times those in its image.
  list(
    map = map, inner = inner, moment = map %*% inner %*% t(map),
    error = fit$error, eps = fit$eps
  )
}

# Steps with column weights, (K37), while the error falls by a hundredth
weight_columns <- function(z, targets, settings) {
  stage <- kdr_stage(z, targets, diag(ncol(z)), settings)
  steps <- step_line("columns", stage)
  for (i in seq_len(settings$column_steps)) {
    relevance <- sqrt(diag(stage$moment))
    if (max(relevance) == 0) break
    map <- diag(relevance / max(relevance), ncol(z))
    tried <- kdr_stage(z, targets, map, settings)
    if (tried$error > 0.99 * stage$error) break
    stage <- tried
    steps <- rbind(steps, step_line("columns", stage))
  }
  list(stage = stage, steps = steps)
}

step_line <- function(step, stage) {
  data.frame(
    step = step, dimension = ncol(stage$map), eps = stage$eps,
    error = stage$error
  )
}

# Dimensions between d and k, both left out, in equal ratios
reduced_dimensions <- function(d, k, steps) {
  at <- round(d * (k / d)^(seq_len(steps - 1) / steps))
  unique(at[at > k & at < d])
}

# Eigenvectors of the largest eigenvalues
leading_axes <- function(moment, k) {
  eigen(moment, symmetric = TRUE)$vectors[, seq_len(k), drop = FALSE]
}

eigen_values <- function(moment) {
  pmax(eigen(moment, symmetric = TRUE, only.values = TRUE)$values, 0)
}

# The largest element of each direction is positive
signed <- function(directions) {
  sign <- apply(directions, 2, function(v) sign(v[which.max(abs(v))]))
  sweep(directions, 2, sign, "*")
}

share_count <- function(values, share) {
  max(1, sum(cumsum(values) < share * sum(values)) + 1)
}

# The number of directions -----------------------------------------------------

#' Errors of numbers of directions on rows that did not find them
#'
#' Three blocks of rows; each is predicted from the others.
#' @return Data frame of `k`, `error` (relative to the variance) and `se`, of
#'   the difference from the least error.
#' @noRd
kdr_choice <- function(z, targets, settings, folds = 3, most = 2000) {
  n <- nrow(z)
  at <- if (n > most) spread_over(n, most) else seq_len(n)
  z <- z[at, , drop = FALSE]
  targets <- targets[at, , drop = FALSE]
  ks <- c(1:6, 8, 10, 12, 15, 20)
  ks <- ks[ks <= ncol(z)]
  settings$rows <- min(settings$rows, 500)
  settings$rank <- min(settings$rank, 150)
  fold <- sort(rep_len(seq_len(min(folds, nrow(z))), nrow(z)))
  losses <- lapply(unique(fold), function(i) {
    fold_losses(z, targets, fold == i, ks, settings)
  })
  losses <- do.call(rbind, losses)
  apart <- losses - losses[, which.min(colMeans(losses))]
  data.frame(
    k = ks, error = colMeans(losses) / mean(rowSums(targets^2)),
    se = apply(apart, 2, stats::sd) / sqrt(nrow(z)) / mean(rowSums(targets^2))
  )
}

# Squared errors of the held rows, one column per number of directions
fold_losses <- function(z, targets, held, ks, settings) {
  train <- z[!held, , drop = FALSE]
  known <- targets[!held, , drop = FALSE]
  axes <- leading_axes(
    weight_columns(train, known, settings)$stage$moment, max(ks)
  )
  losses <- vapply(ks, function(k) {
    map <- axes[, seq_len(k), drop = FALSE]
    projected_losses(z %*% map, targets, held, settings)
  }, numeric(sum(held)))
  matrix(losses, sum(held))
}

# The kernel of a projection has no bandwidths by column
projected_losses <- function(z, targets, held, settings) {
  train <- z[!held, , drop = FALSE]
  kernel <- kernel_gaussian(finite_median(train))
  fit <- kdr_ridge(
    train, targets[!held, , drop = FALSE], kernel, settings$rank, settings$eps
  )
  found <- kdr_predict(fit, z[held, , drop = FALSE])
  rowSums((targets[held, , drop = FALSE] - found)^2)
}

# As few as explain nearly as much as the best number
chosen_k <- function(choice, enough = 0.99) {
  explained <- 1 - choice$error
  choice$k[[which(explained >= max(explained) - (1 - enough) *
    max(explained, 0))[[1]]]]
}
