# Methods of kgs fits, apart from predict() and plot().

#' @export
print.kb_kgs <- function(x, digits = 3, ...) {
  x <- checked_fit(x, ...)
  print_chains(x, "Bayesian kernel classification under label noise",
    function(x, show) paste0(describe_kgs(x, show), describe_noise(x, show)),
    digits, paste0(", ", x$settings$method)
  )
}

# The lines of print() on data and features
describe_kgs <- function(x, show) {
  settings <- x$settings
  left <- settings$basis$unexplained
  paste0(
    formula_line(x),
    "  rows:         ", x$time,
    if (!is.null(x$data$weights)) " weighted", ", ",
    counted(ncol(x$data$x), "predictor"),
    if (!isFALSE(settings$scale)) ", standardised", omitted_part(x), "\n",
    logs_line(x),
    classes_line(x),
    "  kernel:       ", shorten(format(settings$kernel)), ", bias ",
    show(settings$bias), "\n",
    kgs_bandwidths_line(x, show), nugget_line(x, show),
    "  rank:         ", kgs_rank(x),
    if (left > 1e-4) paste0(", ", show(100 * left), "% unexplained"), "\n"
  )
}

# Learned: the median and the middle 90 percent
nugget_line <- function(x, show) {
  if (identical(x$settings$nugget, 0)) {
    return(NULL)
  }
  value <- show(x$settings$nugget)
  if (learns_nugget(x$settings)) {
    ends <- exp(stats::quantile(
      chain_matrices(x)$log_nugget, c(0.5, 0.05, 0.95),
      names = FALSE
    ))
    value <- paste0(
      show(ends[[1]]), " (", show(ends[[2]]), " to ", show(ends[[3]]), ")"
    )
  }
  paste0("  nugget:       ", value, "\n")
}

# Learned: medians in units of the scaled predictors
kgs_bandwidths_line <- function(x, show) {
  if (is.null(x$settings$noisy$learned)) {
    return(NULL)
  }
  medians <- exp(-apply(posterior_pool(x)$log_inverse, 1, stats::median))
  if (x$settings$kernel$bandwidth == "learn") {
    return(paste0("  bandwidth:    ", show(medians[[1]]), "\n"))
  }
  bandwidths_text(medians, colnames(x$data$x), show)
}

# The lines of print() on wrong labels
describe_noise <- function(x, show) {
  chains <- chain_matrices(x)
  range <- function(v) {
    ends <- stats::quantile(v, c(0.05, 0.95), names = FALSE)
    paste0(show(mean(v)), " (", show(ends[[1]]), " to ", show(ends[[2]]), ")")
  }
  rates <- kgs_rate_names(x)
  paste0(
    "  label noise:  ",
    if (length(rates) == 0) {
      show(x$settings$noise$rate)
    } else {
      paste(rates, vapply(chains[rates], range, ""), collapse = ", ")
    },
    "\n  wrong labels: ", range(chains$errors), " of ", x$time,
    ", expected\n"
  )
}

# Summary ----------------------------------------------------------------------

#' Summary of Bayesian kernel classification
#'
#' @param object A fit of [kgs()].
#' @param level Probability of the intervals.
#' @param ... Not used: unknown arguments are errors.
#' @return A list of class `summary.kb_kgs`: `fit`, `level`, `parameters` (as
#'   [tidy()][tidy.kb_kgs]), `confusion` (table of the training labels by the
#'   most probable class), `label_noise` (see [label_noise()]), `diagnostics`.
#' @examples
#' moons <- sim_moons(80, flips = 0.1, seed = 1)
#' fit <- kgs(y ~ x1 + x2, moons, kernel = kernel_gaussian(0.5), seed = 1)
#' summary(fit)
#' @export
summary.kb_kgs <- function(object, level = 0.9, ...) {
  object <- checked_fit(object, ...)
  level <- check_number(level, 0, 1, open = TRUE)
  structure(
    list(
      fit = object, level = level,
      parameters = generics::tidy(object, conf.level = level),
      confusion = table(
        label = training_response(object), class = stats::fitted(object)
      ),
      label_noise = label_noise(object), diagnostics = diagnostics(object)
    ),
    class = "summary.kb_kgs"
  )
}

#' @export
print.summary.kb_kgs <- function(x, digits = 3, ...) {
  check_no_dots(...)
  print_posterior(x, digits)
  cat("\nTraining rows\n")
  print(x$confusion)
  cat("\n")
  print(x$label_noise, n = 5, digits = digits)
  cat("\n")
  print(x$diagnostics, digits = digits)
  invisible(x)
}

# Methods of stats -------------------------------------------------------------

#' Log likelihood of the labels
#'
#' The log likelihood of the training labels, including wrong ones, under the
#' posterior predictive probabilities. The log likelihood of each draw is
#' `log_lik` in [as_draws()][as_draws.kb_kgs].
#'
#' @param object A fit of [kgs()].
#' @param ... Not used: unknown arguments are errors.
#' @return An object of class `logLik`; `df` is the dimension of the span's
#'   sphere plus the number of learned rates, without allowance for the prior.
#'   To compare models use `evidence()`.
#' @examples
#' moons <- sim_moons(80, flips = 0.1, seed = 1)
#' fit <- kgs(y ~ x1 + x2, moons, kernel = kernel_gaussian(0.5), seed = 1)
#' logLik(fit)
#' @export
logLik.kb_kgs <- function(object, ...) {
  object <- checked_fit(object, ...)
  coordinates <- kgs_rank(object) * kgs_functions(object)
  structure(
    sum_copies(object, stats::predict(object, type = "log_score")),
    df = coordinates - 1 + length(kgs_rate_names(object)),
    nobs = stats::nobs(object), class = "logLik"
  )
}

#' Coefficients of the Bayes point
#'
#' @param object A fit of [kgs()].
#' @param ... Not used: unknown arguments are errors.
#' @return A vector named by training rows (with more than two classes a matrix,
#'   one column per class): f at the Bayes point is the sum of coefficients
#'   times the kernel, its bias included, with these rows, see [bayes_point()].
#'   The rows are those that span the features (the first of equal rows). At
#'   high rank they are nearly collinear: individual coefficients are then
#'   large, and only their sum is meaningful.
#' @examples
#' moons <- sim_moons(80, flips = 0.1, seed = 1)
#' fit <- kgs(y ~ x1 + x2, moons, kernel = kernel_gaussian(0.5), seed = 1)
#' head(coef(fit))
#' @export
coef.kb_kgs <- function(object, ...) {
  object <- checked_fit(object, ...)
  alpha <- stats::coef(bayes_point(object))
  x <- scaling_x(object$settings$scaling, object$data$x)
  rows <- order(which_pivot(object$settings$basis, x))
  rows <- rows[seq_len(NROW(alpha))]
  if (is.matrix(alpha)) rownames(alpha) <- rows else names(alpha) <- rows
  alpha
}

#' @export
sigma.kb_kgs <- function(object, ...) {
  object <- checked_fit(object)
  kb_abort(c(
    "{.fn sigma} is not defined for classes.",
    i = "{.fn tidy} has the rate of wrong labels."
  ), "not_defined")
}

#' Probabilities of labels given draws, wrong ones included
#' @param rows From `prediction_rows()`.
#' @return Array S x N x C, NA where rows are not complete.
#' @noRd
label_probability <- function(fit, rows, pool, chosen) {
  x <- rows$x[rows$complete, , drop = FALSE]
  pool <- pool_subset(pool, chosen)
  p <- class_draws(fit, x, pool, check_complement(NULL, fit))
  p <- noisy_draws(fit, p, pool)
  size <- dim(p)
  p <- spread_rows(matrix(p, size[[1]]), rows$complete)
  aperm(array(p, c(nrow(p), size[-1])), c(2, 1, 3))
}

pool_subset <- function(pool, chosen) {
  if (!is.null(pool$log_s)) {
    return(noisy_pool_subset(pool, chosen))
  }
  list(
    w = pool$w[chosen, , , drop = FALSE],
    rates = pool$rates[chosen, , drop = FALSE],
    wrong = pool$wrong[chosen, , drop = FALSE],
    weights = rep(1 / length(chosen), length(chosen))
  )
}

#' @export
response_draws.kb_kgs <- function(fit, rows, pool, chosen) {
  label_draws(label_probability(fit, rows, pool, chosen))
}

#' As `response_draws()`
#' @param p As in `draw_labels()`.
#' @noRd
label_draws <- function(p) {
  labels <- draw_labels(p)
  if (dim(p)[[3]] == 2) labels - 1L else labels
}

#' A label for each of S x N, from R's generator
#' @param p Array S x N x C.
#' @return Integer matrix, the number of the level.
#' @noRd
draw_labels <- function(p) {
  size <- dim(p)
  u <- matrix(stats::runif(prod(size[1:2])), size[[1]], size[[2]])
  below <- 0 * u
  out <- 1L + 0L * (u > 2)
  for (c in seq_len(size[[3]] - 1)) {
    below <- below + matrix(p[, , c], size[[1]], size[[2]])
    out <- out + (u > below)
  }
  out
}

# Accessors --------------------------------------------------------------------

#' @export
inclusion.kb_kgs <- function(object, ...) no_sparse_centres("inclusion")

#' @export
model_size.kb_kgs <- function(object, ...) no_sparse_centres("model_size")

no_sparse_centres <- function(what) {
  kb_abort(c(
    "{.fn {what}} is not defined for fits of {.fn kgs}.",
    x = "Every training point contributes to each draw.",
    i = "{.fn bayes_point} with {.arg centres} keeps a few points."
  ), "not_defined")
}

#' @export
ancestry.kb_kgs <- function(object, ...) {
  object <- checked_fit(object)
  kb_abort("{.fn ancestry} is not defined for chains: they have no genealogy.",
    "not_defined"
  )
}

# Log likelihood of all labels given each draw, one column per chain
label_log_likelihood <- function(fit) {
  classes <- fit$settings$classes
  total <- as.vector(table(fit$data$y))
  draws <- lapply(fit_runs(fit), `[[`, "draws")
  by_class <- fit$settings$noise$kind == "class"
  of_chain <- function(d) {
    wrong <- matrix(d$wrong, classes)
    if (!by_class) {
      wrong <- colSums(wrong)
      return(count_log(sum(total) - wrong, 1 - d$rates) +
        count_log(wrong, d$rates / (classes - 1)))
    }
    rates <- matrix(d$rates, 2)
    # A wrong label of one class belongs to a point of the other.
    colSums(count_log(total - wrong, 1 - rates) +
      count_log(wrong, rates[2:1, , drop = FALSE]))
  }
  n <- length(draws[[1]]$wrong) / classes
  matrix(vapply(draws, of_chain, numeric(n)), n)
}

# n log p, with 0 log 0 = 0
count_log <- function(n, p) ifelse(n == 0, 0, n * log(p))
