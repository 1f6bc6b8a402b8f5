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
#' @param batches Number of parts, at most n, that are simulated independently,
#'   on [workers][kb_workers] if there are any. The pairs depend on it, and not
#'   on the workers.
#' @param seed A whole number, or `NULL`. With a number the result is the same
#'   in every session and R's own generator is left untouched; with `NULL` the
#'   random numbers come from R's generator.
#'
#' @return An object of class `kb_pairs`, for [kbr()]: a list of the numeric
#'   matrices `x` (n x d) and `y` (n x d_y). `as.data.frame()` combines them.
#' @section Errors: A function that does not return n finite rows is an error of
#'   class `kb_error_simulator`. After an interrupt the result has the finished
#'   batches (`kb_warning_interrupted`); `kb_error_interrupted` if there is none.
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
kbr_simulate <- function(prior_sampler, simulator, n, seed = NULL,
                         batches = 1) {
  for (arg in c("prior_sampler", "simulator")) {
    if (!is.function(get(arg))) {
      bad_argument(get(arg), arg, "a function")
    }
  }
  n <- check_count(n, 1)
  batches <- check_count(batches, 1, n)
  shared <- list(prior_sampler = prior_sampler, simulator = simulator)
  pairs <- if (batches == 1) {
    simulate_batch(list(n = n, seed = seed), shared)
  } else {
    simulate_batches(n, seed, batches, shared)
  }
  structure(pairs, class = "kb_pairs")
}

simulate_batch <- function(task, shared) {
  with_local_seed(task$seed, {
    states <- shared$prior_sampler(task$n)
    x <- simulated_rows(states, task$n, "prior_sampler")
    y <- simulated_rows(shared$simulator(states), task$n, "simulator")
  })
  list(x = x, y = y)
}

simulate_batches <- function(n, seed, batches, shared) {
  sizes <- as.list(tabulate(rep_len(seq_len(batches), n), batches))
  seeds <- with_local_seed(seed, sample.int(.Machine$integer.max, batches))
  tasks <- Map(function(n, seed) list(n = n, seed = seed), sizes, seeds)
  out <- map_tasks(tasks, "simulate_batch", shared)
  report_tasks(
    sum(out$done), batches, "part", "Their pairs are returned."
  )
  bind <- function(side) do.call(rbind, lapply(out$values[out$done], `[[`, side))
  list(x = bind("x"), y = bind("y"))
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
  out <- if (is.null(x$support) || "support" %in% ...names()) {
    kbr.matrix(x$x, x$y, ...)
  } else {
    kbr.matrix(x$x, x$y, support = x$support, ...)
  }
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
