# posterior_predictive_check(): does the posterior predict its observation?

#' Does the posterior predict its observation?
#'
#' Draws states from the posterior at an observation, simulates an observation
#' from each, and compares these with the one that was seen.
#'
#' @section P-values:
#' `p` compares all columns at once, by distances to near simulated
#' observations, as [prior_predictive_check()] does: half of them are
#' references, the others are compared. If the observation were a further draw
#' of the posterior predictive distribution, then P(p <= a) <= a. But the
#' posterior has seen it, so that p is nearer to 1/2 if the model is right
#' (Meng, 1994): small values are rarer than they say, and mean more. A small p
#' has two causes. Either the simulator cannot give this observation with any
#' state, or the posterior is wrong; [prior_predictive_check()] and
#' [calibrate()] tell which. The p-values of columns are two-sided.
#'
#' @param object A fit of [kbr()].
#' @param newdata One observation, see [predict.kb_kbr()].
#' @param simulator As in [kbr_simulate()]: a function of a matrix of states, n
#'   x d, with the column names of the fit, that returns n rows with the columns
#'   of its observations. Where the states of the fit are whole numbers, so are
#'   these: the nearest of them.
#' @param ndraws Number of draws, at least 20.
#' @param seed A whole number, or `NULL` to draw from R's generator.
#' @param x An object of class `kb_posterior_predictive_check`.
#' @param digits Number of significant digits.
#' @param ... For `plot()` titles, limits and axes, as in
#'   [graphics::plot.default()]; otherwise not used: unknown arguments are
#'   errors.
#'
#' @return An object of class `kb_posterior_predictive_check`: a list of `p`;
#'   `columns`, a data frame with one line per column: `column`, `observed`,
#'   `mean` and `sd` of the simulated values, `p`; `states` (ndraws x d) and
#'   `replicated`, the simulated observations (ndraws x columns).
#'
#'   `plot()` shows the density of the simulated values of up to nine columns,
#'   with the observed one. It returns `x`, invisibly.
#' @section Errors: As in [predict.kb_kbr()]; `kb_error_argument` for more than
#'   one observation, or one with missing values; `kb_error_simulator` if the
#'   simulator does not return `ndraws` finite rows; `kb_error_columns` if they
#'   do not have the columns of the fit; `kb_error_weights` if the weights
#'   cancel; `kb_error_not_defined` for fits of [chunks][kbr_chunks] and of
#'   kernel matrices.
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
