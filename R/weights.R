# Weights of the rows, which some engines accept. What they mean is told by the
# element `weights` of the row of the family (R/family.R); those of kgs() count
# copies. Weights that mean copies give what that many copies of their rows
# give, in every number: all that sums, averages or sorts over rows asks here.

#' What weights of rows mean
#'
#' @format Copies: row i stands for \eqn{w_i}{w[i]} equal rows (case or
#'   frequency weights). Precision: the variance of the noise of row i is
#'   \eqn{\sigma^2 / w_i}{sigma^2 / w[i]}, that of the mean of \eqn{w_i}{w[i]}
#'   responses.
#'
#' | fit | weights |
#' |---|---|
#' | [bark()]: `gaussian()`, with `sigma` and Student's noise too | precision |
#' | [bark()]: `poisson()`, `"negbinomial"` | copies |
#' | [bark()]: `binomial()`, successes with `binomial("probit")` | copies |
#' | [bark()]: `"multinomial_logit"`, `"ordered"` (see below) | copies |
#' | [bark()]: `"weibull"`, `"lognormal"`, `gaussian()` of `Surv()` | copies |
#' | [bark()]: classes with `binomial("probit")`, `"multinomial"` | none |
#' | [srvm()]: `gaussian()` | precision |
#' | [srvm()]: `binomial("probit")` | none |
#' | [kgs()] with a nugget (`class_weights` too) | copies |
#' | [kbr()], [kbr_hmm()], [tdsmc()] | none; the prior of [kbr()] has weights |
#'
#' Ordered classes with weights have a model of their own: the repeated rows
#' that give the same have weights of 1. Weights are positive numbers; leave
#' rows of weight 0 out. Rows with missing weights are left out as those with
#' other missing values.
#'
#' @section Copies:
#' A fit with weights that mean copies is the fit to the repeated rows in every
#' number: standardisation of predictors and responses, priors that depend on
#' the data, the prior of the centres of kernels (a row is \eqn{w_i}{w[i]}
#' locations), likelihood and posterior, `nobs()`, `logLik()`,
#' `rstantools::log_lik()` (a column per row, of all its copies), `loo::loo()`,
#' `loo::waic()`, means over rows, quantiles of exposures and the expectation of
#' permutation importance. So 60 rows of weight 100 tell as much as 6000 rows:
#' rescale weights that only say how important rows are, for instance to mean 1.
#' What has a row per row, as `fitted()` and `predict(type = "log_score")`, is
#' that of one copy. Two things are by rows: the length that chains have by
#' default, and folds of [cross_validate()], in which all copies of a row are
#' left out together (its sums and means are over copies).
#'
#' `loo::loo()` leaves out one copy while the others of its row stay: a row
#' contributes \eqn{w_i}{w[i]} times the log density of one. Where weights are
#' whole numbers, and at most a million in all, `pointwise` has a line for each
#' copy, so that standard errors of comparisons are those of copies; otherwise
#' a line for each row, multiplied by its weight. A row with many copies is
#' hardly left out in this way: to leave out whole rows, use [cross_validate()].
#' @examples
#' counts <- data.frame(x = 1:5, y = c(0, 1, 1, 3, 4), n = c(9, 7, 5, 8, 3))
#' settings <- mcmc_control(chains = 1, warmup = 50, iter = 50)
#' fit <- bark(y ~ x, counts,
#'   family = poisson(), weights = n, control = settings, seed = 1
#' )
#' nobs(fit)
#' @name kb_weights
NULL

# Weights of the rows: looked up in the data first, as by `lm()`
evaluate_weights <- function(weights, data, rows_of = "data") {
  value <- tryCatch(rlang::eval_tidy(weights, data), error = function(error) {
    kb_abort(c(
      "{.arg weights} cannot be evaluated.",
      x = "{conditionMessage(error)}."
    ), "argument", argument = "weights")
  })
  check_weights(value, nrow(data), rows_of)
}

# Those of the rows of a fit
row_weights <- function(fit) {
  w <- fit$data$weights
  if (is.null(w)) rep(1, nrow(fit$data$x)) else w
}

# NULL, or positive finite numbers, one per row; NA where they are missing
check_weights <- function(weights, n, rows_of) {
  if (is.null(weights)) {
    return(NULL)
  }
  known <- if (is.numeric(weights)) weights[!is.na(weights)]
  fine <- is.numeric(weights) && is.null(dim(weights)) &&
    length(weights) == n && all(is.finite(known)) && all(known > 0) &&
    !any(is.nan(weights))
  if (!fine) {
    bad_argument(weights, "weights", paste0(
      "positive finite numbers, one per row of `", rows_of, "` (", n, ")"
    ), if (any(known == 0)) "Leave rows of weight 0 out.")
  }
  as.double(weights)
}

# Copies -----------------------------------------------------------------------

#' How many rows each row stands for
#' @param family The name of a family.
#' @return NULL where weights are not given, or do not mean copies.
#' @noRd
copies_of <- function(weights, family) {
  if (identical(response_families[[family]]$weights, "copies")) weights
}

# The same of rows with `y` and `weights`, those of the fit by default
row_copies <- function(fit, rows = fit$data) {
  if (inherits(fit, "kb_kgs")) {
    return(label_weights(fit$settings, rows$y, rows$weights))
  }
  family <- fit$settings$family
  if (!is.null(family)) copies_of(rows$weights, family)
}

# How many rows there are, with their copies
rows_with_copies <- function(n, copies) if (is.null(copies)) n else sum(copies)

# Rows less one; weights that sum to less than two still have a variance
spread_divisor <- function(n) max(n - 1, n / 2)

# Of numbers of the rows of a fit, the sum over all copies
sum_copies <- function(fit, v) {
  copies <- row_copies(fit)
  sum(if (is.null(copies)) v else copies * v)
}

# Means of columns over all copies
copy_means <- function(x, copies) {
  if (is.null(copies)) colMeans(x) else colSums(copies * x) / sum(copies)
}

# Their variances
copy_variances <- function(x, copies) {
  if (is.null(copies)) {
    return(apply(x, 2, stats::var))
  }
  spread <- sweep(x, 2, copy_means(x, copies))^2
  colSums(copies * spread) / spread_divisor(sum(copies))
}

# The share of each row of the fit in means over copies
copy_shares <- function(fit, n) {
  copies <- row_copies(fit)
  if (is.null(copies)) rep(1 / n, n) else copies / sum(copies)
}

# The rows of the copies with these numbers
#' @param positions A function of the number of copies.
#' @noRd
copy_rows <- function(n, copies, positions) {
  if (is.null(copies)) {
    return(positions(n))
  }
  ends <- cumsum(at_least_one(copies))
  chosen <- positions(floor(ends[[n]]))
  pmin(findInterval(chosen, ends, left.open = TRUE) + 1L, n)
}

# The row that stands in for each row when values are permuted. With copies: row
# i has row j with probability w_j / W, as its copies do on average, for the
# circle of the copies of all rows in a random order is turned to a random place.
permuted_order <- function(n, copies) {
  order <- sample.int(n)
  if (is.null(copies)) {
    return(order)
  }
  shares <- copies / sum(copies)
  at <- (cumsum(shares) - shares / 2 + stats::runif(1)) %% 1
  order[pmin(findInterval(at, cumsum(shares[order])) + 1L, n)]
}

# Shares of a row have no order.
at_least_one <- function(copies) copies / min(copies, 1)

# As stats::quantile() has those of all copies
copy_quantiles <- function(v, probs, copies) {
  if (is.null(copies)) {
    return(stats::quantile(v, probs, names = FALSE))
  }
  order <- order(v)
  ends <- cumsum(at_least_one(copies)[order])
  at <- 1 + (ends[[length(ends)]] - 1) * probs
  value <- function(k) {
    v[order][pmin(findInterval(k, ends, left.open = TRUE) + 1, length(v))]
  }
  low <- value(floor(at))
  low + (at - floor(at)) * (value(ceiling(at)) - low)
}

# Log likelihoods of the rows with all their copies, S x n
copies_log_lik <- function(fit, rows, pool, chosen) {
  out <- response_log_lik(fit, rows, pool, chosen)
  copies <- row_copies(fit, rows)
  if (is.null(copies)) out else out * rep(copies, each = nrow(out))
}
