# prior_predictive_check(): is an observation like those of the fit?

#' Is an observation like those of the simulations?
#'
#' A posterior at an observation that the simulator would never give says
#' nothing about reality: it extrapolates, and no diagnostic of the weights may
#' notice. This check compares observations with those of the fit, which are
#' draws of the prior predictive distribution if the pairs were simulated.
#'
#' @section P-value:
#' Up to 1000 observations of the fit, at even steps, are references, which give
#' all directions unit variance. The outlier factor f of an observation is its
#' distance to the 15th nearest reference, relative to the mean of the same
#' distances of these 15 references, so that sparse regions do not count as far
#' (Breunig and others, 2000). It is compared with those of the other
#' observations of the fit (up to 10000), \deqn{p = \frac{1 + \#\{f_i \ge
#' f\}}{1 + m}.}{p = (1 + #(f_i >= f)) / (1 + m).}
#' The null hypothesis is that the new observation and those of the fit are
#' exchangeable, e.g. independent draws of one distribution: then P(p <= a) <= a
#' for any sample size, distribution and dimension. So one in a hundred right
#' observations has p <= 0.01. The smallest possible p is 1 / (1 + m): with
#' fewer than 197 pairs it is above 0.01.
#'
#' The p-values of the columns are those of two-sided tests of one column at a
#' time, among all observations of the fit. They say what is unusual; some
#' misfits show in no single column.
#'
#' The comparison is with the pairs of the fit, whatever its prior is.
#'
#' @param object A fit of [kbr()].
#' @param newdata Observations, one per row, see [predict.kb_kbr()].
#' @param x An object of class `kb_prior_predictive_check`.
#' @param n Number of rows to print, those with the smallest p first.
#' @param digits Number of significant digits.
#' @param ... Not used: unknown arguments are errors.
#'
#' @return An object of class `kb_prior_predictive_check`: a list of
#' * `observations`: data frame with one line per row of `newdata`: `row`,
#'   `factor` (1: as near to others as they are to each other) and `p`; `NA`
#'   for rows with missing values.
#' * `columns`: matrix of the p-values of columns, one row per row of `newdata`.
#' * `references`, `others`: numbers of observations of the fit that are
#'   references, and that are compared.
#' @section Warnings: `kb_warning_misspecified` where p is 0.01 or less.
#' @section Errors: As in [predict.kb_kbr()]; `kb_error_not_defined` for fits of
#'   [chunks][kbr_chunks] and of kernel matrices, whose observations are not
#'   known; `kb_error_argument` for fewer than 20 pairs.
#' @references
#' Box, G. E. P. (1980). Sampling and Bayes' inference in scientific modelling
#' and robustness. *Journal of the Royal Statistical Society A* 143, 383-430.
#'
#' Breunig, M. M., Kriegel, H.-P., Ng, R. T. and Sander, J. (2000). LOF:
#' identifying density-based local outliers. *ACM SIGMOD Conference on
#' Management of Data*, 93-104.
#'
#' Lei, J., G'Sell, M., Rinaldo, A., Tibshirani, R. J. and Wasserman, L. (2018).
#' Distribution-free predictive inference for regression. *Journal of the
#' American Statistical Association* 113, 1094-1111.
#'
#' Schmitt, M., Bürkner, P.-C., Köthe, U. and Radev, S. T. (2023). Detecting
#' model misspecification in amortized Bayesian inference with neural networks.
#' *German Conference on Pattern Recognition*.
#' @seealso [posterior_predictive_check()], [calibrate()].
#' @examples
#' pairs <- kbr_simulate(
#'   function(n) rnorm(n),
#'   function(x) cbind(u = x, v = 2 * x) + rnorm(length(x)),
#'   n = 400, seed = 1
#' )
#' fit <- kbr(pairs)
#' prior_predictive_check(fit, c(u = 1, v = 1.5))
#' # each value is usual, but not both together
#' suppressWarnings(prior_predictive_check(fit, c(u = 2, v = -3)))
#' @export
prior_predictive_check <- function(object, ...) {
  UseMethod("prior_predictive_check")
}

#' @export
prior_predictive_check.default <- function(object, ...) {
  not_defined("prior_predictive_check", object, "kbr")
}

#' @rdname prior_predictive_check
#' @export
prior_predictive_check.kb_kbr <- function(object, newdata, ...) {
  object <- checked_fit(object, ...)
  need_observations(object, "prior_predictive_check")
  known <- object$data$observations
  if (missing(newdata)) bad_argument(NULL, "newdata", "observations")
  if (nrow(known) < least_pairs) {
    bad_argument(object, "object", paste("a fit of", least_pairs, "pairs"))
  }
  y <- new_observations(object, newdata)
  complete <- stats::complete.cases(y)
  found <- neighbour_p(y[complete, , drop = FALSE], known)
  at <- match(seq_along(complete), which(complete))
  out <- structure(list(
    observations = data.frame(
      row = seq_along(complete), factor = found$factor[at], p = found$p[at]
    ),
    columns = column_p(y[complete, , drop = FALSE], known)[at, , drop = FALSE],
    references = found$references, others = found$others
  ), class = "kb_prior_predictive_check")
  warn_misspecified(out)
  out
}

need_observations <- function(fit, what) {
  if (nrow(fit$data$observations) == 0 ||
    is.null(fit$features$observations$kernel)) {
    kb_abort(c(
      "{.fn {what}} is not defined for this fit.",
      x = "It has no observations: it is of chunks or of a kernel matrix."
    ), "not_defined")
  }
}

# Observations in the columns of the fit, not scaled
new_observations <- function(fit, newdata) {
  mould_forge(fit$mould, observation_rows(fit, newdata))$x
}

warn_misspecified <- function(check) {
  far <- which(check$observations$p <= 0.01)
  if (length(far) == 0) {
    return(invisible())
  }
  n <- nrow(check$observations)
  p <- apply(check$columns[far, , drop = FALSE], 2, min)
  odd <- utils::head(names(sort(p[p <= 0.01])), 3)
  kb_warn(c(
    "Observations are unlike those of the fit: p is 0.01 or less.",
    x = "{length(far)} of {n} observation{?s} {?is/are} unlike them.",
    x = if (length(odd) > 0) "Unusual column{?s}: {.val {odd}}.",
    i = "The posterior there is an extrapolation. Perhaps the simulator lacks
         something that the data have."
  ), "misspecified")
}

#' @rdname prior_predictive_check
#' @export
print.kb_prior_predictive_check <- function(x, n = 10, digits = 2, ...) {
  check_no_dots(...)
  n <- check_count(n, 1)
  seen <- x$observations
  cat(
    "Prior predictive check: ", counted(nrow(seen), "observation"),
    " among ", x$others, " of the fit\n",
    sep = ""
  )
  shown <- utils::head(order(seen$p), n)
  table <- seen[shown, ]
  least <- apply(x$columns[shown, , drop = FALSE], 1, function(p) {
    if (anyNA(p)) NA else which.min(p)
  })
  table$`most unusual column` <- colnames(x$columns)[least]
  table$`its p` <- x$columns[cbind(shown, least)]
  print(table, digits = digits, row.names = FALSE)
  far <- sum(seen$p <= 0.01, na.rm = TRUE)
  cat(if (far > 0) {
    paste("Unlike the observations of the fit (p <= 0.01):", far, "\n")
  } else {
    "None is unlike the observations of the fit (p <= 0.01).\n"
  })
  invisible(x)
}
