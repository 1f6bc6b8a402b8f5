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
#' @param support Lower and upper bounds of the states, or `"none"`, see [kbr()].
#'   `NULL`: found in the draws of the prior.
#' @param rounds Number of rounds, each with a share of the n pairs. After the
#'   first, see below, states are drawn from where the posterior given
#'   `observation` may be.
#' @param observation With several rounds: what was observed, one row with the
#'   columns of the simulator, as in [predict.kb_kbr()].
#'
#' @return An object of class `kb_pairs`, for [kbr()]: a list of the numeric
#'   matrices `x` (n x d) and `y` (n x d_y), and, where they apply: `support`;
#'   `failed`, states for which the simulator returned missing or infinite
#'   values; with several rounds `weights` (importance weights of the pairs,
#'   with the mean 1), `observation` and `rounds` (a data frame with one line
#'   per round: `pairs` simulated, `kept` of them, `prior_share`: share of the
#'   prior where states were drawn); `status`, `"interrupted"`. `as.data.frame()`
#'   combines x and y.
#' @section Rounds:
#' After each round [kbr()] is fitted to the pairs so far. A region is found
#' that holds all but 0.1% of the posterior, and a margin: down to a tenth of
#' the density there, smoothed; and at least 0.2% of the prior. The next round
#' draws states of the prior by rejection: 90% within the region, 10% anywhere.
#' Only pairs in the last region are returned, with the weights
#' \deqn{\Big(\sum_r \frac{n_r}{n}\big(0.1 + 0.9\,1_{R_r}(x) /
#' \pi(R_r)\big)\Big)^{-1},}{1 / sum_r (n_r / n) (0.1 + 0.9 1(x in R_r) /
#' pi(R_r)),}
#' the density of the prior \eqn{\pi}{pi} relative to that of all rounds, so
#' that the fit has the prior restricted to the region. Predict only at
#' `observation`: elsewhere the posterior is not that of the prior. The prior's
#' density is not needed, but many of its draws are.
#'
#' @section Errors: A function that does not return n rows of numbers is an
#'   error of class `kb_error_simulator`, as are states that are not finite, and
#'   a simulator that fails for all states; if it fails for some there is a
#'   warning of class `kb_warning_simulator`. After an interrupt the result has
#'   the finished batches of all rounds so far (`kb_warning_interrupted`);
#'   `kb_error_interrupted` if there is none. An `observation` that the simulator
#'   could not return is an error of class `kb_error_argument`, after one
#'   simulation. Warnings of both functions are told once, with their number
#'   (`kb_warning_user_function`).
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
                         batches = 1, support = NULL, rounds = 1,
                         observation = NULL) {
  check_function(prior_sampler)
  check_function(simulator)
  n <- check_size(n, 1, each = 4)
  batches <- check_count(batches, 1, n)
  rounds <- check_rounds(rounds, n, observation)
  shared <- list(prior_sampler = prior_sampler, simulator = simulator)
  pairs <- tell_once(if (rounds == 1) {
    simulate_pairs(n, seed, batches, shared)
  } else {
    simulate_rounds(n, seed, batches, shared, support, rounds, observation)
  })
  if (!is.null(support)) pairs$support <- check_support(support, pairs$x)
  warn_failed(pairs)
  structure(pairs, class = "kb_pairs")
}

#' @param shared List of `prior_sampler` and `simulator` and, after the first
#'   round, the `region` to which states are confined.
#' @noRd
simulate_pairs <- function(n, seed, batches, shared) {
  tasks <- if (batches == 1) list(list(n = n, seed = seed)) else {
    sizes <- as.list(tabulate(rep_len(seq_len(batches), n), batches))
    seeds <- with_local_seed(seed, sample.int(.Machine$integer.max, batches))
    Map(function(n, seed) list(n = n, seed = seed), sizes, seeds)
  }
  keep_run({
    out <- map_tasks(tasks, "simulate_batch", shared)
    report_tasks(
      sum(out$done), batches, "batch", "Their pairs are returned.", "batches"
    )
    pairs <- bind_pairs(out$values[out$done])
  })
  if (!all(out$done)) pairs$status <- "interrupted"
  pairs
}

simulate_batch <- function(task, shared) {
  sampler <- shared$prior_sampler
  with_local_seed(task$seed, {
    states <- if (is.null(shared$region)) {
      simulated(sampler, "prior_sampler", task$n)
    } else {
      region_sampler(sampler, shared$region)(task$n)
    }
    x <- simulated_rows(states, task$n, "prior_sampler")
    y <- simulated(shared$simulator, "simulator", states)
    y <- simulated_rows(y, task$n, "simulator", finite = FALSE)
  })
  keep_failures(x, y)
}

# Rows of the simulator that are missing or infinite are kept apart
keep_failures <- function(x, y) {
  fine <- rowSums(!is.finite(y)) == 0
  list(
    x = x[fine, , drop = FALSE], y = y[fine, , drop = FALSE],
    failed = if (!all(fine)) x[!fine, , drop = FALSE]
  )
}

warn_failed <- function(pairs) {
  failed <- NROW(pairs$failed)
  if (failed > 0 && nrow(pairs$x) == 0) {
    kb_abort(c(
      "{.arg simulator} must return finite numbers.",
      x = "Every row it returned has a missing or infinite value."
    ), "simulator", argument = "simulator")
  }
  if (failed > 0) {
    kb_warn(c(
      "{.arg simulator} failed for some states: it returned missing or infinite
       values.",
      x = "{failed} of {failed + nrow(pairs$x)} states failed.",
      "*" = "They are in {.field failed}, not among the pairs, whose states follow
           the prior given success.",
      i = "If failing says something about the state, return a number for it."
    ), "simulator")
  }
}

of_simulator <- function(arg) of_argument(arg, errors = "simulator")

simulated <- function(f, arg, given) {
  call_user(f, of_simulator(arg), NULL, given)
}

# n states of the prior
prior_rows <- function(prior_sampler, n) {
  states <- simulated(prior_sampler, "prior_sampler", n)
  simulated_rows(states, n, "prior_sampler")
}

simulated_rows <- function(value, n, arg, finite = TRUE) {
  if (is.data.frame(value) && all(vapply(value, is.numeric, NA))) {
    value <- as.matrix(value)
  }
  fine <- is.numeric(value) && length(dim(value)) <= 2 &&
    NROW(value) == n && NCOL(value) > 0
  lost <- if (fine) sum(rowSums(!is.finite(as.matrix(value))) > 0) else 0
  if (!fine || finite && lost > 0) {
    refuse_value(
      of_simulator(arg), NULL,
      paste(counted(n, "row"), "of finite numbers"),
      if (!fine) describe(value) else {
        paste("missing or infinite values in", counted(lost, "row"))
      }
    )
  }
  out <- matrix(as.double(value), n)
  colnames(out) <- colnames(value)
  out
}

refuse_second_y <- function(...) {
  if ("y" %in% ...names()) {
    bad_argument(list(...)$y, "y", "left out: the pairs have it")
  }
}

#' @rdname kbr
#' @export
kbr.kb_pairs <- function(x, ...) {
  refuse_second_y(...)
  own <- list(
    support = x$support,
    prior = if (!is.null(x$weights)) list(weights = x$weights)
  )
  own <- own[!vapply(own, is.null, NA) & !names(own) %in% ...names()]
  out <- do.call(kbr.matrix, c(list(x$x, x$y), own, list(...)))
  out$call <- plain_call(match.call())
  out
}

#' @export
print.kb_pairs <- function(x, ...) {
  cat(
    counted(nrow(x$x), "pair"), ": ", counted(ncol(x$x), "column"),
    " of states, ", ncol(x$y), " of observations\n",
    if (!is.null(x$rounds)) {
      paste0(
        "kept of ", sum(x$rounds$pairs), " in ", nrow(x$rounds),
        " rounds; states are from ",
        format(100 * x$rounds$prior_share[[nrow(x$rounds)]], digits = 2),
        "% of the prior\n"
      )
    },
    if (!is.null(x$status)) "INCOMPLETE: interrupted\n",
    if (!is.null(x$failed)) {
      paste0("simulator failed for ", nrow(x$failed), " states\n")
    },
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
