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
#' @return Invisibly a data frame of what was drawn: `state`, `at`, `prior`,
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
  x <- migrate_fit(x)
  type <- check_choice(type, c("marginals", "joint", "weights"))
  check_plot_dots(list(...))
  asked <- asked_posterior(
    x, if (!missing(newdata)) newdata, type, columns,
    c(level = !missing(level), n = !is.null(n)), level, n, "plot.kb_kbr"
  )
  w <- asked$w
  columns <- asked$columns
  invisible(switch(type,
    marginals = plot_marginals(x, w, columns, asked$level, asked$n, ...),
    joint = plot_joint(x, w, columns, asked$n, ...),
    weights = plot_weights(x, w, columns, ...)
  ))
}

#' What both plots of the posterior at an observation need
#' @return List of weights `w`, `columns`, `level` and `n`.
#' @noRd
asked_posterior <- function(fit, newdata, type, columns, given, level, n, page,
                            call = rlang::caller_env()) {
  used <- switch(type,
    marginals = c("level", "n"),
    joint = "n"
  )
  refuse_ignored(type, "none", given, used, page, call)
  most <- c(marginals = 9, joint = 2, weights = 1)[[type]]
  usual <- if (type == "joint") 50 else 200
  list(
    w = one_observation(fit, newdata, call),
    columns = state_columns(fit, columns, most, type == "joint", call),
    level = check_number(level, 0, 1, open = TRUE, call = call),
    n = if (is.null(n)) usual else check_count(n, 10, call = call)
  )
}

#' The weights of the states at the observation, which sum to one
#' @noRd
one_observation <- function(fit, newdata, call) {
  if (is.null(newdata)) {
    bad_argument(newdata, "newdata", "one observation", call)
  }
  rows <- kbr_rows(fit, newdata, call)
  if (length(rows$complete) != 1 || !rows$complete) {
    bad_argument(newdata, "newdata", "one observation without missing values",
      call
    )
  }
  seen <- observe(fit, rows$y)
  warn_far(seen, call)
  w <- weight_shares(fit, seen)
  if (!all(is.finite(w))) {
    kb_abort("The weights cancel in their sum: there is no posterior to draw.",
      "weights",
      call = call
    )
  }
  w
}

#' @noRd
state_columns <- function(fit, columns, most, exactly, call) {
  names <- colnames(fit$data$x)
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
    ), call)
  }
  columns
}

#' @noRd
plot_marginals <- function(fit, w, columns, level, n, ...) {
  if (length(columns) > 1) {
    across <- ceiling(sqrt(length(columns)))
    old <- graphics::par(
      mfrow = c(ceiling(length(columns) / across), across),
      mar = c(4, 4, 2, 1)
    )
    on.exit(graphics::par(old))
  }
  drawn <- lapply(columns, function(column) {
    plot_marginal(fit, w, column, level, n, ...)
  })
  do.call(rbind, drawn)
}

#' @noRd
plot_marginal <- function(fit, w, column, level, n, ...) {
  drawn <- marginal(column, fit, w, n)
  base_plot(list(
    x = range(drawn$at),
    y = range(0, drawn$posterior, drawn$prior, na.rm = TRUE),
    type = "n", xlab = column, ylab = "density"
  ), ...)
  graphics::polygon(
    c(drawn$at, rev(drawn$at)), c(drawn$prior, 0 * drawn$prior),
    col = kb_colour("grey", 0.25), border = NA
  )
  graphics::lines(drawn$at, drawn$posterior, lwd = 2, col = kb_colour("blue"))
  ends <- marginal_summary(column, fit, w, level)
  height <- graphics::par("usr")[[3]]
  graphics::segments(ends$lower, height, ends$upper, height,
    lwd = 6, col = kb_colour("sky"), lend = 1, xpd = NA
  )
  graphics::points(ends$mean, height,
    pch = 19, xpd = NA, col = kb_colour("blue")
  )
  key_above(list(
    prior = list(fill = kb_colour("grey", 0.25), border = NA),
    posterior = list(lwd = 2, col = kb_colour("blue")),
    "mean and interval" = list(
      lwd = 6, pch = 19, col = kb_colour("sky")
    )
  ))
  drawn
}

#' Prior and posterior density of one column of the states
#' @return Data frame `state`, `at`, `prior` (NA where only kernel values of the
#'   prior's points are known), `posterior`.
#' @noRd
marginal <- function(column, fit, w, n) {
  x <- fit$data$x[, column]
  prior <- prior_sample(fit)
  u <- if (!is.null(prior)) prior$points[, match(column, colnames(fit$data$x))]
  at <- seq(min(x, u), max(x, u), length.out = n)
  data.frame(
    state = column, at = at,
    prior = if (is.null(u)) {
      NA_real_
    } else {
      marginal_density(u, matrix(prior$weights, 1), at)
    },
    posterior = marginal_density(x, w, at)
  )
}

#' Posterior mean and interval of one column of the states
#' @noRd
marginal_summary <- function(column, fit, w, level) {
  x <- fit$data$x[, column]
  order <- order(x)
  ends <- signed_quantiles(x[order], w[order], interval_ends(level))
  data.frame(
    state = column, mean = sum(w * x), lower = ends[[1]], upper = ends[[2]]
  )
}

#' @noRd
marginal_density <- function(x, w, at) {
  x <- matrix(x)
  width <- density_bandwidth(x, w, NULL, rlang::caller_env())[[1]]
  embedding_values(x, as.vector(w), kernel_gaussian(width), matrix(at)) /
    (sqrt(2 * pi) * width)
}

#' Posterior density of two columns of the states over a grid
#' @noRd
joint_density <- function(x, w, n) {
  sides <- lapply(1:2, function(j) {
    seq(min(x[, j]), max(x[, j]), length.out = n)
  })
  grid <- as.matrix(expand.grid(sides))
  widths <- density_bandwidth(x, w, NULL, rlang::caller_env())
  density <- embedding_values(
    x, as.vector(w), kernel_gaussian(as.vector(widths)), grid
  ) / (2 * pi * prod(widths))
  data.frame(at_1 = grid[, 1], at_2 = grid[, 2], posterior = density)
}

#' Where its contours are drawn
#' @noRd
joint_levels <- function(density) {
  max(density) * c(0.05, 0.1, 0.2, 0.4, 0.6, 0.8)
}

#' @noRd
plot_joint <- function(fit, w, columns, n, ...) {
  x <- fit$data$x[, columns]
  drawn <- joint_density(x, w, n)
  shown <- spread_over(nrow(x), min(nrow(x), 2000))
  base_plot(list(
    x = x[shown, 1], y = x[shown, 2], pch = 16, cex = 0.5,
    col = kb_colour("grey", 0.3), xlab = columns[[1]], ylab = columns[[2]]
  ), ...)
  graphics::contour(
    unique(drawn$at_1), unique(drawn$at_2), matrix(drawn$posterior, n),
    add = TRUE, levels = joint_levels(drawn$posterior),
    drawlabels = FALSE, col = kb_colour("blue"), lwd = 1.5
  )
  mean <- as.vector(w %*% x)
  graphics::points(mean[[1]], mean[[2]], pch = 19, col = kb_colour("orange"))
  key_above(list(
    states = list(pch = 16, col = kb_colour("grey", 0.5)),
    posterior = list(lwd = 1.5, col = kb_colour("blue")),
    mean = list(pch = 19, col = kb_colour("orange"))
  ))
  drawn
}

#' @noRd
plot_weights <- function(fit, w, column, ...) {
  x <- fit$data$x[, column]
  w <- as.vector(w)
  base_plot(list(
    x = x, y = w, type = "h", xlab = column, ylab = "weight",
    col = ifelse(w < 0, kb_colour("orange", 0.6), kb_colour("blue", 0.6))
  ), ...)
  graphics::abline(h = 0, col = kb_colour("grey", 0.5))
  data.frame(state = x, weight = w)
}
