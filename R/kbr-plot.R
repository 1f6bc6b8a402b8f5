# Plots of kbr(): the posterior at one observation.

#' Plot the posterior of kernel Bayes' rule
#'
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
#' @param ... Titles, limits and axes, see [graphics::plot.default()].
#'
#' @return Invisibly a data frame of the plotted values: `state`, `at`, `prior`,
#'   `posterior`; for `"joint"` `at_1`, `at_2`, `posterior`; for `"weights"`
#'   `state`, `weight`.
#' @section Errors: As in [predict.kb_kbr()]; more than one observation is an
#'   error of class `kb_error_argument`.
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
  refuse_ignored(type, "none", given, used, "plot.kb_kbr")
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
