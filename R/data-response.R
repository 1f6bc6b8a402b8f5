# Responses of the rows: checks, and the stored form.

outcome_kinds <- c(
  "numeric", "factor", "ordered", "either", "any", "matrix", "binomial",
  "number", "trials", "interval"
)

# The kind of response, for engines that accept several
#
# Ordered classes are the levels of an ordered factor, if more than two. Binomial
# responses are two classes, or successes of trials.
outcome_kind <- function(y, outcome) {
  y <- single_column(y)
  many <- is.factor(y) && length(setdiff(levels(y), NA)) > 2
  classes <- is.factor(y) || is.character(y) || is.logical(y)
  switch(outcome,
    ordered = if (is.factor(y) && !many) "factor" else "ordered",
    any = if (is.ordered(y) && many) {
      "ordered"
    } else if (inherits(y, "Surv")) {
      "interval"
    } else {
      outcome_kind(y, "either")
    },
    binomial = if (classes) "factor" else "trials",
    number = if (inherits(y, "Surv") || is_limits(y)) {
      "interval"
    } else {
      "numeric"
    },
    either = if (classes) "factor" else "numeric",
    outcome
  )
}

single_column <- function(y) {
  if (is.data.frame(y) && ncol(y) == 1) y <- y[[1]]
  if (NCOL(y) > 1) y <- flags_as_numbers(y)
  if (length(dim(y)) == 2 && ncol(y) == 1) y[, 1] else y
}

# TRUE and FALSE in columns beside others
flags_as_numbers <- function(y) {
  if (is.data.frame(y)) {
    y[] <- lapply(y, flags_as_numbers)
  } else if (is.logical(y)) {
    storage.mode(y) <- "double"
  }
  y
}

#' A numeric vector, a factor or a numeric matrix with one value per row
#' @param arg Its name for the user.
#' @param rows_of The user's name for the predictors.
#' @param levels Levels of the fit; NULL in fitting.
#' @noRd
check_outcome <- function(y, outcome, arg, n, rows_of, levels = NULL) {
  value <- if (outcome == "matrix") flags_as_numbers(y) else single_column(y)
  value <- if (is.data.frame(value)) plain_numbers(value) else
    plain_number(value)
  if (is.data.frame(value) && all(vapply(value, is.numeric, NA))) {
    value <- as.matrix(value)
  }
  fits <- switch(outcome,
    trials = is.numeric(value) && !inherits(value, "Surv"),
    interval = is_interval(value),
    numeric = , matrix = is.numeric(value), ordered = is.factor(value),
    factor = outcome_kind(value, "either") == "factor"
  )
  most <- if (outcome %in% c("matrix", "trials", "interval")) 2 else 1
  if (!fits || length(dim(value)) > most || NCOL(value) == 0) {
    refuse_outcome(y, outcome, arg)
  }
  if (NROW(value) != n) {
    refuse(arg, "outcome",
      "must have one value per row of {.arg {rows_of}}: {n}.",
      "It has {NROW(value)}."
    )
  }
  if (outcome == "interval") {
    return(outcome_interval(value, arg))
  }
  value <- switch(outcome,
    trials = outcome_trials(value, arg),
    numeric = as.double(value), matrix = outcome_matrix(value, arg),
    ordered = factor(value, setdiff(levels(value), NA), ordered = TRUE),
    factor = outcome_classes(value, levels, arg)
  )
  refuse_infinite(value, arg)
  value
}

outcome_matrix <- function(y, arg) {
  default <- position_names(NCOL(y), arg)
  names <- if (is.matrix(y) && !is.null(colnames(y))) colnames(y) else default
  names <- make.unique(ifelse(names == "", default, names))
  matrix(as.double(y), NROW(y), NCOL(y), dimnames = list(NULL, names))
}

outcome_classes <- function(y, levels, arg) {
  if (is.null(levels)) {
    if (is.character(y)) {
      tell_text(y, arg)
      y <- factor(y, known_levels(y))
    }
    return(factor(y, ordered = FALSE))
  }
  novel <- setdiff(as.character(y), c(levels, NA))
  if (length(novel) > 0) {
    refuse(arg, "outcome", "must have the classes of the fit: {.val {levels}}.",
      "It also has {.val {novel}}.", levels = novel
    )
  }
  factor(as.character(y), levels = levels)
}

# Numbers are read as text where one of them cannot be read
tell_text <- function(y, arg) {
  y <- y[!is.na(y)]
  numbers <- suppressWarnings(!is.na(as.numeric(y)))
  classes <- length(unique(y))
  if (classes > 2 && mean(numbers) >= 0.9) {
    odd <- utils::head(unique(y[!numbers]), 3)
    kb_inform(c(
      "The response {.arg {arg}} is text, and so has {classes} classes, but
       looks like numbers.",
      x = if (length(odd) > 0) "These are not numbers: {.val {odd}}.",
      i = "{.fn as.numeric} makes numbers of text, {.fn factor} confirms
           classes."
    ), "text")
  }
}

refuse_outcome <- function(y, outcome, arg) {
  wanted <- c(
    numeric = "a numeric vector",
    factor = "a factor (or a character or logical vector)",
    ordered = "a factor, with its levels in their order",
    trials = "classes, zeros and ones, or a matrix of successes and failures",
    interval = paste(
      "numeric, a Surv object of the survival package with the type",
      paste0(toString(surv_types[-4]), " or ", surv_types[[4]])
    ),
    matrix = "numeric: a vector, or a matrix or data frame of such columns"
  )[[outcome]]
  type <- if (is.atomic(y) && !is.null(dim(y))) paste(" of type", typeof(y))
  hint <- if (outcome == "factor" && is.numeric(y)) {
    "Use {.fun factor} to make classes of numbers."
  } else if (outcome == "numeric" && NCOL(y) == 2) {
    "{.code bark(family = binomial())} takes successes and failures."
  } else if (outcome == "ordered") {
    "Use {.fun factor} with {.arg levels} and {.code ordered = TRUE}."
  }
  refuse(arg, "outcome", "is the response and must be {wanted}.",
    "It is {describe(y)}{type}.", hint
  )
}

#' Refuse responses that are not numbers: `cbind()` takes the codes of factors
#' and dates
#' @param response A call of `cbind()`.
#' @noRd
refuse_codes <- function(response, data, arg) {
  for (term in as.list(response)[-1]) {
    if (rlang::is_call(term, "cbind")) {
      refuse_codes(term, data, arg)
    } else {
      value <- translate_errors(eval(term, data, formula_scope()), arg)
      if (is.data.frame(value)) value <- value[[1]]
      if (!is.numeric(value) && !is.logical(value)) {
        refuse_outcome(value, "matrix", outcome_label(term))
      }
    }
  }
}

# Successes and failures --------------------------------------------------------

# A matrix of two columns
outcome_trials <- function(y, arg) {
  if (NCOL(y) == 1) {
    odd <- which(!y %in% c(0, 1, NA))
    if (length(odd) > 0) {
      refuse(arg, "outcome",
        "must be classes, zeros and ones, or a matrix of successes and failures.",
        "Element {odd[[1]]} is {format(y[[odd[[1]]]])}.",
        "Write {.code cbind(successes, trials - successes) ~ x}."
      )
    }
    y <- cbind(y, 1 - y)
  }
  if (ncol(y) != 2) {
    refuse(arg, "outcome", "must have two columns, successes and failures.",
      "It has {ncol(y)}."
    )
  }
  odd <- which(y < 0 | y != round(y), arr.ind = TRUE)
  if (length(odd) > 0) {
    at <- odd[1, ]
    refuse(arg, "outcome",
      "must have numbers of successes and of failures: whole, at least 0.",
      "Row {at[[1]]} has {format(y[at[[1]], at[[2]]])}
       {c('successes', 'failures')[at[[2]]]}.",
      "The second column is {.code trials - successes}."
    )
  }
  matrix(as.double(y), nrow(y),
    dimnames = list(NULL, c("successes", "failures"))
  )
}

# Censored numbers --------------------------------------------------------------

# Types of survival::Surv()
surv_types <- c("right", "left", "interval", "interval2")

is_interval <- function(y) {
  if (inherits(y, "Surv")) {
    return(attr(y, "type") %in% surv_types)
  }
  is.numeric(y) && (NCOL(y) == 1 || is_limits(y))
}

# Limits as fits hold them
is_limits <- function(y) {
  is.matrix(y) && identical(colnames(y), c("lower", "upper"))
}

#' Limits of numbers known up to an interval
#'
#' Surv() stores its types "interval" and "interval2" alike: start, end and
#' status, which is 0 for right, 1 for none, 2 for left and 3 for interval
#' censoring; other types have the number and the status.
#' @return Matrix of two columns, equal where a number is known.
#' @noRd
outcome_interval <- function(y, arg) {
  names <- list(NULL, c("lower", "upper"))
  if (is_limits(y)) {
    return(check_limits(y, arg))
  }
  if (!inherits(y, "Surv")) {
    refuse_infinite(y, arg)
    return(matrix(as.double(y), length(y), 2, dimnames = names))
  }
  status <- y[, "status"]
  type <- attr(y, "type")
  start <- as.double(y[, if ("time1" %in% colnames(y)) "time1" else "time"])
  end <- if ("time2" %in% colnames(y)) as.double(y[, "time2"]) else start
  if (type == "left") status <- ifelse(status == 0, 2, status)
  out <- cbind(
    ifelse(status == 2, -Inf, start),
    ifelse(status == 0, Inf, ifelse(status == 3, end, start))
  )
  dimnames(out) <- names
  check_limits(out, arg)
}

check_limits <- function(y, arg) {
  odd <- which(y[, 1] > y[, 2] | (is.infinite(y[, 1]) & y[, 1] == y[, 2]))
  if (length(odd) > 0) {
    refuse(arg, "outcome", "must have finite numbers, or limits in their order.",
      "Row {odd[[1]]} is from {format(y[odd[[1]], 1])} to
       {format(y[odd[[1]], 2])}."
    )
  }
  y
}

# Weights of the rows, which some engines accept. What they mean is told by the
# element `weights` of the row of the family (R/family.R); those of kgs() count
# copies. Weights that mean copies give what that many copies of their rows
# give, in every number: all that sums, averages or sorts over rows asks here.

#' What weights of rows mean
#' @format Copies: row i stands for \eqn{w_i}{w[i]} equal rows (case or
#'   frequency weights). Precision: the variance of the noise of row i is
#'   \eqn{\sigma^2 / w_i}{sigma^2 / w[i]}, that of the mean of \eqn{w_i}{w[i]}
#'   responses.
#'
#' | fit | weights |
#' |---|---|
#' | [bark()]: `gaussian()`, with `sigma` and Student's noise too | precision |
#' | [bark()]: `poisson()`, `"negbinomial"`, `Gamma("log")` | copies |
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
#' @section Copies:
#' A fit with weights that mean copies is the fit to the repeated rows in every
#' number: standardisation, priors, likelihood and posterior, `nobs()`, `logLik()`,
#' `rstantools::log_lik()` (a column per row, of all its copies), `loo::loo()`,
#' `loo::waic()`, means over rows and permutation importance. So 60 rows of weight
#' 100 tell as much as 6000 rows: rescale weights that only say how important rows
#' are, for instance to mean 1. What has a row per row, as `fitted()`, is that of one
#' copy. Two things are by rows: the length that chains have by default, and folds of
#' [cross_validate()], in which all copies of a row are left out together.
#'
#' `loo::loo()` leaves out one copy while the others of its row stay. Where weights
#' are whole numbers, and at most a million in all, `pointwise` has a line for each
#' copy; otherwise a line for each row, multiplied by its weight. To leave out whole
#' rows, use [cross_validate()].
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
