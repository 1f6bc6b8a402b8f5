# Predictions of classes: shared code, and predictions of two classes under the
# probit link, from the normal mixture of f over draws. The second level is +1.

# The class of the largest column; the first of equal ones. One column is the
# function of two classes.
most_probable <- function(p, levels) {
  best <- if (ncol(p) == 1) {
    1 + (p[, 1] > 0)
  } else {
    max.col(p, ties.method = "first")
  }
  factor(levels[best], levels)
}

#' The value of `predict()` for two classes, or ordered classes
#' @param rows From `prediction_rows()`.
#' @noRd
predict_classes <- function(fit, rows, type, interval, level, ndraws) {
  x <- rows$x[rows$complete, , drop = FALSE]
  pool <- posterior_pool(fit)
  put <- function(out) spread_rows(out, rows$complete)
  if (type == "draws") {
    chosen <- equal_weight_draws(fit, pool, check_ndraws(ndraws))
    return(function_draws(fit, rows, pool, chosen))
  }
  if (type == "link") {
    return(put(regression_response(fit, x, interval, level, pool)))
  }
  if (is_ordered(fit)) {
    return(predict_ordered(fit, rows, x, type, interval, level, pool, put))
  }
  if (type == "log_score") {
    signs <- class_signs(rows$y[rows$complete])
    return(put(class_log_score(fit, x, signs, pool)))
  }
  p <- class_probability(fit, x, pool)
  levels <- fit$mould$levels
  if (type == "class") {
    return(put(most_probable(both_classes(p, levels), levels)))
  }
  if (interval == "credible") {
    limits <- regression_quantiles(
      fit, x, interval_ends(level), "credible", pool
    )
    p <- cbind(fit = p, lwr = stats::pnorm(limits[, 1]),
      upr = stats::pnorm(limits[, 2])
    )
  }
  p <- put(p)
  if (type == "prob") both_classes(p, levels) else p
}

# Posterior predictive probability of the second class
#
# Given a draw f ~ N(m, v): E Phi(f) = Phi(m / sqrt(1 + v)).
class_probability <- function(fit, x, pool) {
  blocks <- in_blocks(fit, x, pool, function(rows, moments) {
    p <- stats::pnorm(moments$mean / sqrt(1 + moments$variance))
    # Weights sum to 1 up to rounding, but no probability may be above 1.
    pmin(drop(p %*% pool$weights), 1)
  })
  as.double(unlist(blocks))
}

# Log predictive probability of the classes with these signs
class_log_score <- function(fit, x, signs, pool) {
  blocks <- in_blocks(fit, x, pool, function(rows, moments) {
    at <- signs[rows] * moments$mean / sqrt(1 + moments$variance)
    # Sums of logarithms: 1 - p would lose all digits of small probabilities.
    log_p <- stats::pnorm(at, log.p = TRUE)
    most <- apply(log_p, 1, max)
    most + log(drop(exp(log_p - most) %*% pool$weights))
  })
  as.double(unlist(blocks))
}

#' From the second class to both: limits of the first are those of the second
#' in reverse
#' @return Matrix n x 2, or array n x 2 x 3.
#' @noRd
both_classes <- function(p, levels) {
  if (!is.matrix(p)) {
    return(matrix(c(1 - p, p), ncol = 2, dimnames = list(NULL, levels)))
  }
  ends <- c("fit", "lwr", "upr")
  first <- 1 - p[, c("fit", "upr", "lwr"), drop = FALSE]
  out <- array(dim = c(nrow(p), 2, 3), dimnames = list(NULL, levels, ends))
  out[, 1, ] <- first
  out[, 2, ] <- p
  out
}
