# Likelihood-free use of kbr(): pairs from a sampler of the prior and a
# simulator of observations.

#' Simulate pairs of states and observations
#'
#' Draws states from the prior and an observation given each state, for [kbr()]
#' with a likelihood that can be simulated but not evaluated, as in approximate
#' Bayesian computation. The prior of the fit is then the prior of the
#' simulation.
#'
#' @param prior_sampler A function of the number n that returns n states: a
#'   numeric vector, or a matrix or data frame of n rows.
#' @param simulator A function of all states, in the form returned by
#'   `prior_sampler`, that returns an observation for each: a vector of length n
#'   or a matrix or data frame of n rows. Summaries of raw data are computed
#'   here.
#' @param n Number of pairs, at least 1.
#' @param seed A whole number, or `NULL`. With a number the result is the same
#'   in every session and R's own generator is left untouched; with `NULL` the
#'   random numbers come from R's generator.
#'
#' @return An object of class `kb_pairs`, for [kbr()]: a list of the numeric
#'   matrices `x` (n x d) and `y` (n x d_y). `as.data.frame()` combines them.
#' @section Errors: A function that does not return n finite rows is an error of
#'   class `kb_error_simulator`.
#' @examples
#' # the rate of a Poisson process from three summaries of its gaps
#' pairs <- kbr_simulate(
#'   prior_sampler = function(n) rexp(n),
#'   simulator = function(rate) {
#'     gaps <- matrix(rexp(20 * length(rate), rate), length(rate))
#'     cbind(mean = rowMeans(gaps), max = apply(gaps, 1, max), sd =
#'       apply(gaps, 1, sd))
#'   },
#'   n = 500, seed = 1
#' )
#' fit <- kbr(pairs, scale = TRUE)
#' predict(fit, c(mean = 0.5, max = 1.9, sd = 0.5), type = "quantile")
#' @export
kbr_simulate <- function(prior_sampler, simulator, n, seed = NULL) {
  for (arg in c("prior_sampler", "simulator")) {
    if (!is.function(get(arg))) {
      bad_argument(get(arg), arg, "a function")
    }
  }
  n <- check_count(n, 1)
  with_local_seed(seed, {
    states <- prior_sampler(n)
    x <- simulated_rows(states, n, "prior_sampler")
    y <- simulated_rows(simulator(states), n, "simulator")
  })
  structure(list(x = x, y = y), class = "kb_pairs")
}

simulated_rows <- function(value, n, arg) {
  if (is.data.frame(value) && all(vapply(value, is.numeric, NA))) {
    value <- as.matrix(value)
  }
  fine <- is.numeric(value) && length(dim(value)) <= 2 &&
    NROW(value) == n && NCOL(value) > 0 && all(is.finite(value))
  if (!isTRUE(fine)) {
    kb_abort(c(
      "{.arg {arg}} must return {n} row{?s} of finite numbers.",
      x = "It returned {describe(value)}."
    ), "simulator", argument = arg)
  }
  out <- matrix(as.double(value), n)
  colnames(out) <- colnames(value)
  out
}

#' @rdname kbr
#' @export
kbr.kb_pairs <- function(x, ...) {
  if ("y" %in% ...names()) {
    bad_argument(list(...)$y, "y", "left out: the pairs have it")
  }
  out <- kbr.matrix(x$x, x$y, ...)
  out$call <- plain_call(match.call())
  out
}

#' @export
print.kb_pairs <- function(x, ...) {
  cat(
    counted(nrow(x$x), "pair"), ": ", counted(ncol(x$x), "column"),
    " of states, ", ncol(x$y), " of observations\n",
    sep = ""
  )
  invisible(x)
}

#' @export
as.data.frame.kb_pairs <- function(x, ...) {
  name <- function(m, letter) {
    if (is.null(colnames(m))) colnames(m) <- position_names(ncol(m), letter)
    m
  }
  data.frame(name(x$x, "x"), name(x$y, "y"))
}
