# posterior_predictive_check(): does the posterior predict its observation?

#' Does the posterior predict its observation?
#'
#' `posterior_predictive_check(fit, observed, simulator)` draws states from the
#' posterior at an observation, simulates an observation from each, and compares
#' these with the one that was seen.
#' @section P-values:
#' `p` compares all columns at once, by distances to near simulated observations, as
#' [prior_predictive_check()] does. The posterior has seen the observation, so that p
#' is nearer to 1/2 if the model is right (Meng, 1994): small values are rarer than
#' they say, and mean more. Then either the simulator cannot give this observation
#' with any state, or the posterior is wrong; [prior_predictive_check()] and
#' [calibrate()] tell which. The p-values of columns are two-sided.
#' @param object A fit of [kbr()].
#' @param newdata One observation, see [predict.kb_kbr()].
#' @param simulator As in [kbr_simulate()]: a function of a matrix of states, n
#'   d, with the column names of the fit, that returns n rows with the columns of its
#'   observations. States that are whole numbers in the fit are whole numbers here.
#' @param ndraws Number of draws, at least 20.
#' @param seed A whole number, or `NULL` to draw from R's generator.
#' @inheritParams label_noise
#' @param x An object of class `kb_posterior_predictive_check`.
#' @return An object of class `kb_posterior_predictive_check`: a list of `p`;
#'   `columns`, a data frame with one line per column: `column`, `observed`,
#'   `mean` and `sd` of the simulated values, `p`; `states` (ndraws x d) and
#'   `replicated`, the simulated observations (ndraws x columns).
#'
#'   `plot()` shows the density of the simulated values of up to nine columns,
#'   with the observed one. It returns `x`, invisibly.
#' @section Errors: `kb_error_simulator` if the simulator does not return `ndraws`
#'   finite rows; `kb_error_weights` if the weights cancel; `kb_error_not_defined`
#'   for fits of [chunks][kbr_chunks] and of kernel matrices.
#' @references
#' Gelman, A., Meng, X.-L. and Stern, H. (1996). Posterior predictive assessment
#' of model fitness via realized discrepancies. *Statistica Sinica* 6, 733-807.
#'
#' Meng, X.-L. (1994). Posterior predictive p-values. *Annals of Statistics* 22,
#' 1142-1160.
#' @examples
#' simulator <- function(x) cbind(u = x, v = x^2) + 0.5 * rnorm(length(x))
#' pairs <- kbr_simulate(function(n) rnorm(n), simulator, n = 400, seed = 1)
#' fit <- kbr(pairs)
#' check <- posterior_predictive_check(
#'   fit, c(u = 1, v = 1.2), function(x) simulator(x[, 1]), seed = 1
#' )
#' check
#' plot(check)
#' @export
posterior_predictive_check <- function(object, ...) {
  UseMethod("posterior_predictive_check")
}

#' @export
posterior_predictive_check.default <- function(object, ...) {
  not_defined("posterior_predictive_check", object, "kbr")
}

#' @rdname posterior_predictive_check
#' @export
posterior_predictive_check.kb_kbr <- function(object, newdata, simulator,
                                              ndraws = 1000, seed = NULL,
                                              ...) {
  object <- checked_fit(object, ...)
  need_observations(object, "posterior_predictive_check")
  if (missing(newdata)) bad_argument(NULL, "newdata", "one observation")
  if (missing(simulator) || !is.function(simulator)) {
    bad_argument(
      if (!missing(simulator)) simulator, "simulator", "a function"
    )
  }
  ndraws <- check_size(ndraws, least_pairs, each = 4)
  here <- one_observation(object, newdata)
  with_local_seed(seed, {
    states <- posterior_states(here, ndraws)
    states <- like_whole(states, object$data$states)
    y <- simulated(simulator, "simulator", states)
    y <- simulated_rows(y, ndraws, "simulator")
  })
  new_predictive_check(
    new_observations(object, newdata), replicated_rows(object, y), states
  )
}

# States drawn independently from the posterior at one observation
posterior_states <- function(here, ndraws) {
  p <- probability_weights(here$fit, here$seen)
  at <- sample.int(length(p), ndraws, TRUE, p)
  here$fit$data$states[at, , drop = FALSE]
}

# Where states are whole numbers, so are draws: the nearest of them
like_whole <- function(draws, states) {
  whole <- which(colSums(states != round(states)) == 0)
  for (j in whole) {
    known <- sort(unique(states[, j]))
    between <- known[-1] - diff(known) / 2
    draws[, j] <- known[findInterval(draws[, j], between) + 1]
  }
  draws
}

# Simulated observations in the columns of the fit
replicated_rows <- function(fit, y) {
  names <- names(fit$mould$columns)
  if (is.null(colnames(y)) && ncol(y) == length(names)) colnames(y) <- names
  mould_forge(fit$mould, y, arg = "simulator")$x
}

new_predictive_check <- function(observed, replicated, states) {
  columns <- data.frame(
    column = colnames(replicated), observed = as.vector(observed),
    mean = colMeans(replicated), sd = apply(replicated, 2, stats::sd),
    p = as.vector(column_p(observed, replicated)), row.names = NULL
  )
  structure(list(
    p = neighbour_p(observed, replicated)$p, columns = columns,
    states = states, replicated = replicated
  ), class = "kb_posterior_predictive_check")
}

#' @rdname posterior_predictive_check
#' @export
print.kb_posterior_predictive_check <- function(x, digits = 3, ...) {
  check_no_dots(...)
  cat(
    "Posterior predictive check, ", counted(nrow(x$replicated), "draw"),
    ": p = ", format(x$p, digits = digits), "\n",
    sep = ""
  )
  print(x$columns, digits = digits, row.names = FALSE)
  cat(
    "The observation is ", if (x$p <= 0.05) "un",
    "like those that the posterior predicts.\n",
    sep = ""
  )
  invisible(x)
}

#' @rdname posterior_predictive_check
#' @export
plot.kb_posterior_predictive_check <- function(x, ...) {
  draw_picture(predictive_picture(x), x, ...)
}

#' @rdname autoplot.kb_srvm
#' @exportS3Method ggplot2::autoplot
autoplot.kb_posterior_predictive_check <- autoplot_of(
  plot.kb_posterior_predictive_check
)

predictive_picture <- function(x) {
  shown <- utils::head(x$columns, 9)
  weights <- matrix(1 / nrow(x$replicated), 1, nrow(x$replicated))
  new_picture(lapply(shown$column, function(column) {
    y <- x$replicated[, column]
    observed <- shown$observed[shown$column == column]
    at <- apart_grid(range(y, observed), 200)
    density <- marginal_density(y, weights, at)
    panel(
      column, "density",
      ribbon_layer(at, 0, density,
        colour = "grey", alpha = 0.25, label = "simulated from the posterior"
      ),
      ranges_layer(observed, 0, max(density),
        colour = "orange", lwd = 2, label = "observed"
      )
    )
  }), columns = ceiling(sqrt(nrow(shown))))
}

# Randomised quantile residuals, and the probabilities that they are made of.

# Standard normal if the model is right (Dunn and Smyth, 1996)
quantile_residuals <- function(fit, seed) {
  need_likelihood(fit, "residuals")
  y <- training_response(fit)
  ends <- if (is.factor(y)) {
    class_ends(fit, as.integer(y))
  } else {
    predictive_ends(fit, prediction_rows(fit, NULL, NULL, TRUE, TRUE))
  }
  stats::qnorm(drawn_pit(ends, seed))
}

#' Posterior predictive probabilities of a response below that of each row;
#' where it is not a single number, drawn between those of its ends
#' @param ends Of each row, from `predictive_ends()` or `class_ends()`.
#' @noRd
drawn_pit <- function(ends, seed) {
  u <- with_local_seed(seed, stats::runif(nrow(ends)))
  p <- ends[, 1] + u * (ends[, 2] - ends[, 1])
  # A response beyond all draws would be infinite.
  least <- 1e-16
  pmin(pmax(p, least), 1 - least)
}

#' Posterior predictive distribution functions at the two ends of responses
#' @param rows Complete rows with their responses.
#' @noRd
predictive_ends <- function(fit, rows) {
  family <- family_of(fit)
  ends <- family$ends(rows$y)
  pool <- posterior_pool(fit)
  chosen <- equal_weight_draws(fit, pool)
  blocks <- lapply(row_blocks(rows$x, 2 * length(chosen)), function(at) {
    here <- complete_x(
      rows$x[at, , drop = FALSE], pick_rows(rows$y, at), rows$weights[at]
    )
    f <- posterior_draws(fit, here$x, pool, chosen)
    below <- function(y) {
      colMeans(matrix(family$cdf(fit, f, here, pool, chosen, y), nrow(f)))
    }
    cbind(below(ends[at, 1]), below(ends[at, 2]))
  })
  do.call(rbind, blocks)
}

# Of the classes of the training rows, by number, in the order of their levels
class_ends <- function(fit, class) {
  p <- stats::predict(fit, type = "prob")
  own <- cbind(seq_along(class), class)
  to <- t(apply(p, 1, cumsum))[own]
  cbind(to - p[own], to)
}

refuse_idle_seed <- function(seed) {
  if (!is.null(seed)) {
    kb_abort("{.arg seed} would have no effect with {.code type = \"response\"}.",
      "argument",
      argument = "seed"
    )
  }
}

# How far points are from others, as a p-value: checks of kbr()'s observations.

#' P-values of new points among others, by a local outlier factor
#'
#' Up to 1000 of the points, at even steps, are references: they define the
#' scales and are the neighbours. New points and the others are treated alike,
#' so that p is exact if they are exchangeable (split conformal prediction).
#' @param new,points Matrices with the same columns.
#' @return List of `factor` and `p`, one per row of `new`, and the numbers of
#'   `references` and `others`.
#' @noRd
neighbour_p <- function(new, points, k = 15) {
  n <- nrow(points)
  references <- spread_over(n, min(1000, n %/% 2))
  rest <- setdiff(seq_len(n), references)
  others <- rest[spread_over(length(rest), min(length(rest), 1e4))]
  factor_of <- outlier_factor(points[references, , drop = FALSE], k)
  factor <- factor_of(new)
  among <- sort(factor_of(points[others, , drop = FALSE]))
  at_least <- length(among) - findInterval(factor, among, left.open = TRUE)
  list(
    factor = factor, p = (1 + at_least) / (1 + length(among)),
    references = length(references), others = length(among)
  )
}

# A function of points: their distances to the k-th nearest reference, relative
# to the mean of the same distances of these k references
#
# So sparse regions do not count as far. A tenth of the mean distance is added
# to both, because distances may be 0.
outlier_factor <- function(references, k) {
  whiten <- whitening(references)
  near <- whiten(references)
  k <- min(k, nrow(near) - 1)
  # Each reference is its own nearest one.
  own <- sqrt(near_values(near, near, function(d) kth(d, k + 1)))
  more <- max(0.1 * mean(own), 1e-8)
  function(points) {
    near_values(whiten(points), near, function(d) {
      edge <- kth(d, k)
      (sqrt(edge) + more) / (mean(own[d <= edge]) + more)
    })
  }
}

kth <- function(d, k) sort(d, partial = k)[[k]]

# Values of a function of the squared distances of each point to the references;
# equal points have distance 0
near_values <- function(points, references, f) {
  blocks <- lapply(row_blocks(points, nrow(references)), function(rows) {
    squared <- matrix(0, nrow(references), length(rows))
    for (j in seq_len(ncol(points))) {
      squared <- squared + outer(references[, j], points[rows, j], "-")^2
    }
    apply(squared, 2, f)
  })
  as.double(unlist(blocks))
}

# A function that gives points unit covariance: that of `x` if it has many
# rows, otherwise only unit variances
#
# Directions in which x does not vary have a small scale, not none: a point
# that leaves them is far.
whitening <- function(x, least = 1e-8) {
  center <- colMeans(x)
  centred <- sweep(x, 2, center)
  size <- apply(abs(x), 2, max)
  size[size == 0] <- 1
  scale <- pmax(sqrt(colMeans(centred^2)), least * size)
  turn <- diag(1 / scale, length(scale))
  if (nrow(x) >= 5 * ncol(x)) {
    found <- eigen(crossprod(centred %*% turn) / nrow(x), symmetric = TRUE)
    spread <- sqrt(pmax(found$values, least * found$values[[1]], least))
    turn <- turn %*% sweep(found$vectors, 2, spread, "/")
  }
  function(points) sweep(points, 2, center) %*% turn
}

#' Two-sided p-values of numbers in each column among others
#' @param new,points Matrices with the same columns.
#' @noRd
column_p <- function(new, points) {
  n <- nrow(points)
  out <- vapply(seq_len(ncol(points)), function(j) {
    sorted <- sort(points[, j])
    at_most <- findInterval(new[, j], sorted)
    at_least <- n - findInterval(new[, j], sorted, left.open = TRUE)
    pmin(1, 2 * (1 + pmin(at_most, at_least)) / (n + 1))
  }, numeric(nrow(new)))
  matrix(out, nrow(new), ncol(new), dimnames = list(NULL, colnames(points)))
}
