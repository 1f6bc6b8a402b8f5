# Diagnostics of the weights of kbr().

#' Diagnostics of kernel Bayes' rule
#'
#' Weights of kernel Bayes' rule are signed, and regularisation affects how much
#' prior and observation count. These numbers measure both effects.
#'
#' @section Prior sensitivity:
#' If a prior is tilted, \eqn{\pi_h(x) \propto \pi(x) \exp(h x)}{pi_h(x) ~ pi(x)
#' exp(h x)}, then Bayes' rule moves the posterior mean by the posterior
#' variance times h, whatever the likelihood. `sensitivity` is the movement of
#' the estimate divided by h times its own posterior variance, summed over the
#' observations: 1 if the prior has the correct influence, 0 if it is ignored,
#' as happens with a small `delta` (with all features kept, the weights do not
#' depend on the prior as `delta` goes to 0). Observations with a non-positive
#' estimate of the variance are omitted. Outside 0.5 to 2 there is a warning.
#'
#' @section The method "adjusted":
#' The list has `observations` (`row`; `ess`, the effective number of pairs,
#' \eqn{1 / \sum p^2}{1 / sum p^2}; `near`), `r_squared` of the states, left out,
#' one per column, on the line where they have bounds; `scores`, a data frame of
#' the energy scores of left-out pairs for all choices of `varying`, `space` and
#' `width`, in standard deviations of residuals; `choice`; and `rank` and
#' `unexplained` of the observations. `sensitivity` has no effect.
#'
#' @param object A fit of [kbr()].
#' @param newdata Observations as in [`predict()`][predict.kb_kbr]; `NULL`: up
#'   to 50 of the fit at even steps.
#' @param sensitivity Compute the prior sensitivity? It takes two updates of the
#'   prior per column of the states. Not defined if `kernel_x` is a matrix.
#' @param ... Not used: unknown arguments are errors.
#'
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
#'
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

unexplained <- function(features) {
  if (features$trace == 0) 0 else features$residual / features$trace
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
