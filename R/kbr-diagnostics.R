# Diagnostics of the weights of kbr().

#' Diagnostics of kernel Bayes' rule
#'
#' `diagnostics(fit)` says what was chosen by the method `"adjusted"`, and for the other
#' methods how negative the weights are and how much the prior counts.
#' @section Prior sensitivity:
#' If a prior is tilted, \eqn{\pi_h(x) \propto \pi(x) \exp(h x)}{pi_h(x) ~ pi(x)
#' exp(h x)}, then Bayes' rule moves the posterior mean by the posterior variance
#' times h, whatever the likelihood. `sensitivity` is the movement of the estimate
#' divided by h times its own posterior variance, summed over the observations: 1 if
#' the prior has the correct influence, 0 if it is ignored, as happens with a small
#' `delta`. Observations with a non-positive variance are omitted.
#' @section The method "adjusted":
#' The list has `observations` (`row`; `ess`, the effective number of pairs; `near`),
#' `r_squared` of the states, left out, one per column; `scores`, a data frame of the
#' energy scores of left-out pairs for all choices of `varying`, `space` and `width`;
#' `choice`; and `rank` and `unexplained` of the observations. `sensitivity` has no
#' effect.
#' @param object A fit of [kbr()].
#' @param newdata Observations as in [`predict()`][predict.kb_kbr]; `NULL`: up to 50.
#' @param sensitivity Compute the prior sensitivity, by two updates per column of the
#'   states? Not defined if `kernel_x` is a matrix.
#' @param ... Not used: unknown arguments are errors.
#' @return List of class `kb_kbr_diagnostics`:
#' * `observations`: data frame with one line per complete observation: `row`,
#'   `sum` (of the raw weights), `negative` (share of the absolute mass that is
#'   negative), `ess` (\eqn{(\sum w)^2 / \sum w^2}{(sum w)^2 / sum w^2}),
#'   `distance` (from the kernel mean to that of the nearest probability, by the
#'   norm of the first; `NA` where weights cancel), `near` (share of k(y, y)
#'   that the features explain; near 0 far from all observations of the fit).
#' * `rank`: of states and observations, `unexplained` (shares of the kernels'
#'   traces), `effective_rank`: \eqn{\sum_k d_k^2 / (d_k^2 +
#'   \delta)}{sum_k d_k^2 / (d_k^2 + delta)}, d the eigenvalues of R' diag(mu) R
#'   (\eqn{\sum_k d_k / (d_k + \delta)}{sum_k d_k / (d_k + delta)} for `"iw"`).
#' * `mu`: sum and share of negative mass of the prior's weights on the states.
#' * `sensitivity`: one number per column of the states, `NA` where no variance
#'   is positive, or `NULL`.
#' @section Warnings: `kb_warning_prior` where a sensitivity is outside 0.5 to
#'   2, `kb_warning_weights` where more than 40 percent of the weights' mass is
#'   negative at the median observation.
#' @examples
#' x <- rnorm(400)
#' fit <- kbr(x, x + 0.7 * rnorm(400))
#' diagnostics(fit)
#' @export
diagnostics.kb_kbr <- function(object, newdata = NULL, sensitivity = TRUE,
                               ...) {
  object <- checked_fit(object, ...)
  sensitivity <- check_flag(sensitivity)
  seen <- diagnosed_observations(object, newdata)
  out <- structure(
    list(
      observations = weight_facts(object, seen),
      rank = c(
        states = ncol(object$features$states$factor),
        observations = ncol(object$features$observations$factor)
      ),
      unexplained = vapply(object$features, unexplained, 0),
      effective_rank = effective_rank(object),
      mu = c(sum = sum(object$mu), negative = negative_mass(object$mu)),
      sensitivity = if (sensitivity) prior_sensitivity(object, seen)
    ),
    class = "kb_kbr_diagnostics"
  )
  warn_kbr_quality(out)
  out
}

diagnosed_observations <- function(fit, newdata) {
  if (is.null(newdata)) {
    rows <- spread_over(fit$time, min(fit$time, 50))
    return(c(observe_rows(fit, rows), list(rows = rows)))
  }
  seen <- observe_complete(fit, kbr_rows(fit, newdata))
  c(seen, list(rows = which(seen$complete)))
}

weight_facts <- function(fit, seen) {
  w <- raw_weights(fit, seen)
  sums <- raw_moments(fit, seen)[1, ]
  data.frame(
    row = seen$rows, sum = sums, negative = apply(w, 1, negative_mass),
    ess = sums^2 / rowSums(w^2),
    distance = nearest_probabilities(fit, weight_shares(fit, seen))$distance,
    near = seen$near
  )
}

# After (K10)
effective_rank <- function(fit) UseMethod("effective_rank")

#' @export
effective_rank.kb_kbr <- function(fit) {
  d <- fit$posterior$spectrum
  delta <- fit$settings$delta
  if (fit$settings$method == "kbr") {
    return(sum(d^2 / (d^2 + delta)))
  }
  sum(d / (d + delta))
}

# Movement of the posterior mean under tilts of the prior, divided by its value
# under Bayes' rule, (K11); NULL if the prior's points are not known
prior_sensitivity <- function(fit, seen) {
  if (is.null(fit$features$states$kernel)) {
    return(NULL)
  }
  prior <- prior_sample(fit)
  points <- prior$points
  weights <- prior$weights
  variance <- kbr_variance(fit, seen)
  variance[which(variance <= 0)] <- NA
  vapply(stats::setNames(seq_len(ncol(points)), colnames(fit$data$states)),
    function(j) {
      # The variance under signed weights may be negative.
      spread <- weighted_sd(points[, j], abs(weights) / sum(abs(weights)))
      if (spread == 0 || all(is.na(variance[, j]))) {
        return(NA_real_)
      }
      h <- 0.05 / spread
      shifted <- lapply(c(h, -h), function(h) {
        tilt <- weights * exp(h * (points[, j] - mean(points[, j])))
        tilted <- set_prior(fit, list(points = points, weights = tilt))
        kbr_mean_column(tilted, seen, j)
      })
      move <- (shifted[[1]] - shifted[[2]]) / (2 * h)
      known <- !is.na(variance[, j]) & !is.na(move)
      sum(move[known]) / sum(variance[known, j])
    }, 0)
}

kbr_mean_column <- function(fit, seen, j) {
  seen$coef <- fit$posterior$gain %*% t(seen$phi)
  kbr_moments(fit, seen, normalize = TRUE)$first[, j]
}

weighted_sd <- function(x, w) {
  sqrt(max(sum(w * (x - sum(w * x))^2), 0))
}

warn_kbr_quality <- function(d) {
  off <- which(d$sensitivity < 0.5 | d$sensitivity > 2)
  if (length(off) > 0) {
    percent <- format(100 * d$sensitivity[off], digits = 2, trim = TRUE)
    kb_warn(c(
      "The prior does not move the posterior of {.val {names(off)}} as under
       Bayes' rule.",
      x = "It has {percent} percent of its effect.",
      i = if (any(d$sensitivity[off] < 0.5)) {
        "If that is too little, use a larger {.arg delta}."
      },
      i = "Use more pairs, or {.fn tune_kbr}."
    ), "prior")
  }
  negative <- stats::median(d$observations$negative)
  if (isTRUE(negative > 0.4)) {
    kb_warn(c(
      "Much of the weights' absolute mass is negative.",
      x = "At the median observation it is {format(100 * negative, digits = 2)}
           percent.",
      i = "Use a larger {.arg delta}."
    ), "weights")
  }
}

#' @export
print.kb_kbr_diagnostics <- function(x, digits = 3, ...) {
  check_no_dots(...)
  percent <- function(v) paste0(format(100 * v, digits = 2), "%")
  middle <- function(v) format(stats::median(v), digits = digits)
  o <- x$observations
  cat(
    "at ", nrow(o), " observations, medians: sum of weights ", middle(o$sum),
    ", negative mass ", percent(stats::median(o$negative)),
    ", effective sample size ", middle(o$ess), ", distance to a probability ",
    percent(stats::median(o$distance, na.rm = TRUE)), "\n",
    "rank: ", x$rank[["states"]], " of states, ", x$rank[["observations"]],
    " of observations, of these effective ",
    format(x$effective_rank, digits = digits), "; unexplained ",
    percent(max(x$unexplained)), "\n",
    "prior's weights on the states: sum ",
    format(x$mu[["sum"]], digits = digits),
    ", negative mass ", percent(x$mu[["negative"]]), "\n",
    if (!is.null(x$sensitivity)) {
      paste0(
        "prior sensitivity (1 is exact): ",
        paste(names(x$sensitivity), format(x$sensitivity, digits = 2),
          collapse = ", "
        ), "\n"
      )
    },
    sep = ""
  )
  invisible(x)
}

# Plots of kbr(): the posterior at one observation.

#' Plot the posterior of kernel Bayes' rule
#'
#' `plot(fit, observed)` shows prior and posterior of each column of the states.
#' @param x A fit of [kbr()].
#' @param newdata One observation, see [predict.kb_kbr()].
#' @param type `"marginals"`: prior (grey) and posterior density of up to nine
#'   columns of the states, with the posterior mean and interval. `"joint"`: the
#'   states of two columns, in grey, and contours of the posterior density.
#'   `"weights"`: the weights of the states, against one column.
#' @param columns Which columns of the states: names or numbers. `NULL`: the
#'   first nine, two or one.
#' @param level Probability of the interval, for `"marginals"`.
#' @param n Number of points of a curve, or along each side of the grid of
#'   `"joint"`; at least 10. `NULL`: 200, or 50.
#' @inheritParams plot.kb_srvm
#' @return Invisibly a data frame of the plotted values: `state`, `at`, `prior`,
#'   `posterior`; for `"joint"` `at_1`, `at_2`, `posterior`; for `"weights"`
#'   `state`, `weight`.
#' @examples
#' pairs <- kbr_simulate(
#'   function(n) matrix(rnorm(2 * n), n),
#'   function(x) x[, 1] * x[, 2] + 0.2 * rnorm(nrow(x)),
#'   n = 500, seed = 1
#' )
#' fit <- kbr(pairs)
#' plot(fit, 1.5)
#' plot(fit, 1.5, type = "joint")
#' @export
plot.kb_kbr <- function(x, newdata, type = c("marginals", "joint", "weights"),
                        columns = NULL, level = 0.9, n = NULL, ...) {
  draw_picture(kbr_picture(
    x, if (!missing(newdata)) newdata, type, columns, level, n,
    !missing(level)
  ), x, ...)
}

#' @rdname autoplot.kb_srvm
#' @exportS3Method ggplot2::autoplot
autoplot.kb_kbr <- autoplot_of(plot.kb_kbr)

#' @param given Has the caller given the level?
#' @noRd
kbr_picture <- function(fit, newdata, type, columns, level, n, given) {
  fit <- checked_fit(fit)
  type <- check_choice(type, c("marginals", "joint", "weights"))
  used <- switch(type,
    marginals = c("level", "n"),
    joint = "n"
  )
  given <- c(level = given, n = !is.null(n))
  refuse_ignored(type, given, used, "plot.kb_kbr")
  most <- c(marginals = 9, joint = 2, weights = 1)[[type]]
  here <- one_observation(fit, newdata)
  columns <- state_columns(fit, columns, most, type == "joint")
  level <- check_number(level, 0, 1, open = TRUE)
  if (!is.null(n)) n <- check_size(n, 10, each = if (type == "joint") n else 3)
  p <- if (type != "weights") {
    probability_weights(here$fit, here$seen)
  }
  switch(type,
    marginals = marginals_picture(
      here$fit, here$w, p, columns, level, if (is.null(n)) 200 else n
    ),
    joint = joint_picture(
      here$fit, here$w, p, columns, if (is.null(n)) 50 else n
    ),
    weights = weights_picture(here$fit, here$w, columns)
  )
}

#' The posterior at one observation
#' @return List of `fit`, whose states have the weights `w` (1 x n, which sum to
#'   one and may be negative), and `seen`.
#' @noRd
one_observation <- function(fit, newdata) UseMethod("one_observation")

#' @export
one_observation.kb_kbr <- function(fit, newdata) {
  seen <- observe_one(fit, newdata)
  w <- weight_shares(fit, seen)
  if (!all(is.finite(w))) {
    kb_abort("The weights cancel in their sum: no posterior can be drawn.",
      "weights"
    )
  }
  list(fit = fit, seen = seen, w = w)
}

observe_one <- function(fit, newdata) {
  if (is.null(newdata)) {
    bad_argument(newdata, "newdata", "one observation")
  }
  rows <- kbr_rows(fit, newdata)
  if (length(rows$complete) != 1 || !rows$complete) {
    bad_argument(newdata, "newdata", "one observation without missing values")
  }
  seen <- observe_complete(fit, rows)
  warn_far(seen)
  seen
}

state_columns <- function(fit, columns, most, exactly) {
  names <- colnames(fit$data$states)
  if (is.null(columns)) {
    columns <- utils::head(names, most)
  } else if (is.numeric(columns)) {
    columns <- names[columns]
  }
  fine <- length(columns) > 0 && !anyNA(columns) && all(columns %in% names) &&
    length(columns) <= most && (!exactly || length(columns) == most)
  if (!fine) {
    bad_argument(columns, "columns", paste0(
      if (exactly) "" else "up to ", most, " of the states' columns (",
      toString(names, 60), ")"
    ))
  }
  columns
}

# The mean is that of the signed weights w, the rest of the probability p
marginals_picture <- function(fit, w, p, columns, level, n) {
  drawn <- lapply(columns, marginal, fit, p, n)
  panels <- lapply(drawn, function(curves) {
    v <- fit$data$states[, curves$state[[1]]]
    order <- order(v)
    ends <- signed_quantiles(v[order], p[order], interval_ends(level))
    panel(
      curves$state[[1]], "density",
      ribbon_layer(curves$at, 0, curves$prior,
        colour = "grey", alpha = 0.25, label = "prior"
      ),
      lines_layer(curves$at, curves$posterior, lwd = 2, label = "posterior"),
      rule_layer(y = 0, lty = 1),
      lines_layer(as.vector(ends), 0,
        lwd = 5, colour = "orange", label = percent_label(level, "interval")
      ),
      points_layer(sum(w * v), 0,
        shape = 21, size = 1.1, fill = "white", label = "mean"
      )
    )
  })
  new_picture(panels,
    columns = ceiling(sqrt(length(columns))), value = do.call(rbind, drawn)
  )
}

#' Prior and posterior density of one column of the states
#' @return Data frame `state`, `at`, `prior` (NA where only kernel values of the
#'   prior's points are known), `posterior`.
#' @noRd
marginal <- function(column, fit, w, n) {
  x <- fit$data$states[, column]
  prior <- prior_sample(fit)
  here <- match(column, colnames(fit$data$states))
  u <- if (!is.null(prior)) prior$points[, here]
  v <- if (!is.null(u)) matrix(prior$weights, 1)
  bounds <- support_of(fit)[, here]
  ends <- density_ends(x, w, u, v, bounds)
  at <- seq(ends[[1]], ends[[2]], length.out = n)
  data.frame(
    state = column, at = at,
    prior = if (is.null(u)) NA_real_ else marginal_density(u, v, at, bounds),
    posterior = marginal_density(x, w, at, bounds)
  )
}

#' Where densities of a state end
#'
#' Beyond the points they come down where the prior has a tail; where it ends
#' at once, values beyond may be impossible.
#' @param u,v Points of the prior and their weights, or NULL.
#' @noRd
density_ends <- function(x, w, u, v, support = c(-Inf, Inf)) {
  if (is.null(u)) {
    u <- x
    v <- matrix(1 / length(x), 1, length(x))
  }
  width <- max(
    density_bandwidth(matrix(x), w, NULL), density_bandwidth(matrix(u), v, NULL)
  )
  ends <- range(x, u)
  heights <- marginal_density(u, v, seq(min(u), max(u), length.out = 50))
  tail <- heights[c(1, 50)] < 0.2 * max(heights)
  ends <- ends + c(-2.5, 2.5) * width * tail
  pmin(pmax(ends, support[[1]]), support[[2]])
}

marginal_density <- function(x, w, at, bounds = c(-Inf, Inf)) {
  x <- matrix(x)
  width <- density_bandwidth(x, w, NULL)[1, ]
  reflected_density(x, as.vector(w), width, matrix(at), cbind(bounds))
}

# Posterior density of two columns of the states over a grid
joint_density <- function(fit, columns, w, n) {
  x <- fit$data$states[, columns]
  prior <- prior_sample(fit)
  columns <- match(columns, colnames(fit$data$states))
  bounds <- support_of(fit)[, columns]
  sides <- lapply(1:2, function(j) {
    u <- if (!is.null(prior)) prior$points[, columns[[j]]]
    v <- if (!is.null(prior)) matrix(prior$weights, 1)
    ends <- density_ends(x[, j], w, u, v, bounds[, j])
    seq(ends[[1]], ends[[2]], length.out = n)
  })
  grid <- as.matrix(expand.grid(sides))
  widths <- as.vector(density_bandwidth(x, w, NULL))
  density <- reflected_density(x, as.vector(w), widths, grid, bounds)
  data.frame(at_1 = grid[, 1], at_2 = grid[, 2], posterior = density)
}

joint_picture <- function(fit, w, p, columns, n) {
  x <- fit$data$states[, columns]
  drawn <- joint_density(fit, columns, p, n)
  density <- drawn$posterior
  prior <- prior_sample(fit)$points
  shown <- if (is.null(prior)) {
    x
  } else {
    prior[, match(columns, colnames(fit$data$states))]
  }
  shown <- shown[spread_over(nrow(shown), min(nrow(shown), 2000)), ]
  mean <- as.vector(w %*% x)
  new_picture(value = drawn, panels = panel(
    columns[[1]], columns[[2]],
    points_layer(shown[, 1], shown[, 2],
      size = 0.5, colour = "grey", alpha = 0.3, label = "prior"
    ),
    contour_layer(data.frame(x = drawn$at_1, y = drawn$at_2, z = density),
      max(density) * c(0.05, 0.1, 0.2, 0.4, 0.6, 0.8),
      lwd = 1.5, label = "posterior density"
    ),
    points_layer(mean[[1]], mean[[2]],
      size = 1.2, shape = 18, colour = "orange", label = "posterior mean"
    )
  ))
}

weights_picture <- function(fit, w, column) {
  drawn <- data.frame(state = fit$data$states[, column], weight = as.vector(w))
  new_picture(value = drawn, panels = panel(
    column, "weight",
    weights_layer("ranges", drawn$weight, data.frame(
      x = drawn$state, ymin = pmin(drawn$weight, 0),
      ymax = pmax(drawn$weight, 0)
    )),
    rule_layer(y = 0, lty = 1)
  ))
}

# Weights, in orange where they are negative
weights_layer <- function(kind, weights, data, colour = "blue", ...) {
  signs <- c("weights", "negative weights")
  data$group <- signs[1 + (weights < 0)]
  layer(kind, data,
    alpha = 0.6, by = groups(NULL, signs, paint(c(colour, "orange"))), ...
  )
}
