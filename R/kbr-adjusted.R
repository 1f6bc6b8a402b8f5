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
