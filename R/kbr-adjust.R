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
  axes <- eigen(crossprod_cpp(f, weights = w), symmetric = TRUE)
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

# Fits of kbr() with the method "adjusted": at an observation each state is
# moved to where its residual would put it, (K45).

# Observations -----------------------------------------------------------------

#' @export
observe.kb_kbr_adjusted <- function(fit, y) {
  features <- fit$features$observations
  phi <- incomplete_cholesky_features(features, y)
  adjusted_at(fit, phi, y, explained_share(phi, self_kernel(features, y)))
}

#' @export
observe_rows.kb_kbr_adjusted <- function(fit, rows) {
  y <- scaled_observations(fit, fit$data$observations[rows, , drop = FALSE])
  phi <- fit$features$observations$factor[rows, , drop = FALSE]
  adjusted_at(fit, phi, y, rep(1, length(rows)))
}

#' @return List of `mean` and `sd` of the states on the line (rows x d),
#'   `coordinates` (rows x k) and `near`.
#' @noRd
adjusted_at <- function(fit, phi, y, near) {
  adjustment <- fit$adjustment
  f <- regressors(phi, y)
  limits <- adjustment_limits(fit)
  mean <- kept_between(
    ridge_predict(adjustment$mean, f), limits[1, ], limits[2, ]
  )
  sd <- if (adjustment$choice$varying) {
    sd <- exp(ridge_predict(adjustment$log_variance, f) / 2)
    sweep(kept_between(sd, 0, limits[3, ]), 2, adjustment$scale, "*")
  } else {
    array(1, dim(mean))
  }
  list(
    mean = mean, sd = sd, coordinates = coordinates_at(adjustment, f, y),
    near = near
  )
}

# Regressions are not extrapolated, see (K42). Fits of earlier versions have no
# limits.
adjustment_limits <- function(fit) {
  limits <- fit$adjustment$limits
  if (is.null(limits)) {
    limits <- matrix(c(-Inf, Inf, Inf), 3, ncol(fit$data$states))
  }
  limits
}

# The columns of a matrix between their ends
kept_between <- function(v, lower, upper) {
  n <- nrow(v)
  v[] <- pmin(pmax(v, rep(lower, each = n)), rep(upper, each = n))
  v
}

# The posterior at one observation ---------------------------------------------

#' A fit whose states are where the posterior has them
#' @return A fit of class `kb_kbr_at` with `line` (the states on the line),
#'   `weights` (1 x n) and the prior's points in `prior`.
#' @noRd
posterior_at <- function(fit, seen, i) {
  adjustment <- fit$adjustment
  line <- sweep(
    sweep(adjustment$residual, 2, seen$sd[i, ], "*"), 2, seen$mean[i, ], "+"
  )
  weights <- local_weights(
    distances_to(adjustment$coordinates, seen$coordinates[i, ]),
    adjustment$weights, adjustment$choice$width
  )
  fit$prior <- prior_sample(fit)
  moved <- states_from_line(fit, line)
  fit$data$states <- moved
  fit$posterior <- list(center = colSums(weights * moved))
  fit$line <- line
  fit$weights <- matrix(weights, 1)
  class(fit) <- c("kb_kbr_at", "kb_kbr", "kb_fit")
  fit
}

over_observations <- function(fit, seen, f) {
  lapply(seq_along(seen$near), function(i) f(posterior_at(fit, seen, i)))
}

#' @export
kbr_values.kb_kbr_adjusted <- function(fit, seen, type, given) {
  each <- over_observations(fit, seen, function(at) {
    kbr_values(at, NULL, type, given)
  })
  bind_values(each, type, fit, given)
}

# Values of single observations as those of several
bind_values <- function(each, type, fit, given) {
  if (type == "embedding") {
    return(lapply(each, `[[`, 1))
  }
  if (length(each) == 0) {
    # The shape is that of any observation.
    one <- observe_rows(fit, 1)
    each <- over_observations(fit, one, function(at) {
      kbr_values(at, NULL, type, given)
    })
    return(take_rows(bind_values(each, type, fit, given), integer()))
  }
  size <- dim(each[[1]])
  n <- length(each)
  if (type == "draws") {
    out <- array(unlist(each), c(size[1:2], n), dimnames(each[[1]]))
    return(structure(out, rows = "last"))
  }
  if (type == "quantile") {
    out <- aperm(array(unlist(each), c(size[2:3], n)), c(3, 1, 2))
    dimnames(out) <- dimnames(each[[1]])
    return(out)
  }
  out <- do.call(rbind, each)
  if (type == "map") {
    attr(out, "converged") <- vapply(each, attr, NA, "converged")
  }
  out
}

#' @export
kbr_mean.kb_kbr_at <- function(fit, seen) {
  state_names(fit$weights %*% fit$data$states, fit)
}

#' @export
kbr_weights.kb_kbr_at <- function(fit, seen, normalize = TRUE) fit$weights

#' @export
probability_weights.kb_kbr_at <- function(fit, seen) fit$weights

#' @export
kbr_expectation.kb_kbr_at <- function(fit, seen, f) {
  fit$weights %*% check_function_values(f, fit$data$states)
}

#' @export
warn_cancelled.kb_kbr_at <- function(fit, seen) invisible()

# The kernel mean of so many equally likely states, not of all
mode_points <- 1000

#' @export
kbr_map.kb_kbr_at <- function(fit, seen) {
  need_kernel_x(fit, "map")
  scaled <- scaled_states(fit)
  rows <- systematic_rows(fit$weights, min(mode_points, fit$time))
  points <- scaled[rows, , drop = FALSE]
  weights <- rep(1 / length(rows), length(rows))
  kernel <- fit$features$states$kernel
  modes <- kernel_modes(
    list(
      scaled = points, weights = matrix(weights, 1),
      value = matrix(embedding_values(points, weights, kernel, points))
    ), kernel, fit$weights %*% scaled
  )
  mode_states(fit, modes)
}

# Methods ----------------------------------------------------------------------

#' @export
learn_posterior.kb_kbr_adjusted <- function(fit) {
  fit$adjustment <- learn_adjustment(fit)
  fit
}

#' @export
kbr_mean.kb_kbr_adjusted <- function(fit, seen) {
  do.call(rbind, over_observations(fit, seen, function(at) {
    kbr_mean(at, NULL)
  }))
}

# Observations of the fit at which summaries are computed
summary_rows <- 300

#' @export
state_accuracy.kb_kbr_adjusted <- function(fit) {
  rows <- spread_over(fit$time, min(fit$time, summary_rows))
  seen <- observe_rows(fit, rows)
  each <- over_observations(fit, seen, function(at) {
    rbind(kbr_mean(at, NULL), kbr_sd(at, NULL))
  })
  mean <- do.call(rbind, lapply(each, function(v) v[1, ]))
  sd <- do.call(rbind, lapply(each, function(v) v[2, ]))
  list(
    rmse = sqrt(colMeans((fit$data$states[rows, , drop = FALSE] - mean)^2)),
    variance = colMeans(sd^2)
  )
}

#' @export
state_bands.kb_kbr_adjusted <- function(fit, newdata, level) {
  level <- check_number(level, 0, 1, open = TRUE)
  seen <- kbr_seen(fit, newdata)
  warn_far(seen)
  each <- over_observations(fit, seen, function(at) {
    ends <- probability_quantiles(at, at$weights, interval_ends(level))
    list(
      mean = kbr_mean(at, NULL), sd = kbr_sd(at, NULL),
      lower = t(ends[1, , 1]), upper = t(ends[1, , 2])
    )
  })
  parts <- c("mean", "sd", "lower", "upper")
  lapply(stats::setNames(nm = parts), function(part) {
    none <- unname(fit$data$states)[0, , drop = FALSE]
    values <- do.call(rbind, c(list(none), lapply(each, `[[`, part)))
    place_rows(state_names(values, fit), seen$complete)
  })
}

#' @export
one_observation.kb_kbr_adjusted <- function(fit, newdata) {
  at <- posterior_at(fit, observe_one(fit, newdata), 1)
  list(fit = at, seen = NULL, w = at$weights)
}

#' @export
effective_rank.kb_kbr_adjusted <- function(fit) NA_real_

#' @export
rule_lines.kb_kbr_adjusted <- function(fit, show) {
  adjustment <- fit$adjustment
  paste0(
    "  regression:   R-squared of states, left out, ",
    shorten(toString(show(pmax(adjustment$r_squared, 0)))), "\n",
    "  residuals:    ", locality_words(adjustment$choice, show), "\n"
  )
}

locality_words <- function(choice, show) {
  of <- c(
    states = "predicted states", moments = "predicted moments of states",
    observations = "observations"
  )
  paste0(
    if (choice$varying) "scaled by their variance at the observation, ",
    if (is.finite(choice$width)) {
      paste0("of pairs near in ", of[[choice$space]])
    } else {
      "of all pairs"
    }
  )
}

# Diagnostics ------------------------------------------------------------------

#' @export
diagnostics.kb_kbr_adjusted <- function(object, newdata = NULL,
                                        sensitivity = TRUE, ...) {
  object <- checked_fit(object, ...)
  seen <- diagnosed_observations(object, newdata)
  ess <- vapply(over_observations(object, seen, function(at) {
    1 / sum(at$weights^2)
  }), as.double, 0)
  adjustment <- object$adjustment
  structure(
    list(
      observations = data.frame(row = seen$rows, ess = ess, near = seen$near),
      r_squared = stats::setNames(
        adjustment$r_squared, colnames(object$data$states)
      ),
      scores = adjustment$scores, choice = adjustment$choice,
      rank = ncol(object$features$observations$factor),
      unexplained = unexplained(object$features$observations)
    ),
    class = "kb_kbr_adjusted_diagnostics"
  )
}

#' @export
print.kb_kbr_adjusted_diagnostics <- function(x, digits = 3, ...) {
  check_no_dots(...)
  show <- function(v) format(v, digits = digits)
  o <- x$observations
  plain <- x$scores$score[x$scores$width == Inf & !x$scores$varying]
  cat(
    "at ", nrow(o), " observations: effective number of pairs ",
    show(stats::median(o$ess)), " (median), ", show(min(o$ess)), " (least)\n",
    "R-squared of states, left out: ",
    paste(names(x$r_squared), show(x$r_squared), collapse = ", "), "\n",
    "residuals: ", locality_words(x$choice, show), "; energy score ",
    show(min(x$scores$score)), ", ", show(plain),
    " with the residuals of all pairs\n",
    "rank of observations: ", x$rank, "; unexplained ",
    format(100 * x$unexplained, digits = 2), "%\n",
    sep = ""
  )
  invisible(x)
}
