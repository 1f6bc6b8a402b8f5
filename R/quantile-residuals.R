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
