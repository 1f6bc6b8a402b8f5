# Memory of srvm fits: windows, forgetting and bounded candidates.

#' Memory of a sequential relevance vector machine
#'
#' By default all rows count equally and each can be a centre. For long streams,
#' or streams whose distribution drifts, restrict the memory.
#'
#' With a `window` of W rows the fit is always the posterior given the last W
#' rows, with centres among these; the prior, including its scaling, does not
#' change. With `forgetting` \eqn{\phi}, a row of age a (0 for the latest)
#' counts with its likelihood to the power \eqn{\phi^a}, about
#' \eqn{1 / (1 - \phi)} rows in total; rows whose weight is below \eqn{10^{-16}}
#' are dropped. Both can be combined. `candidates` bounds the number of rows
#' that may be centres: with a window or forgetting, one row is drawn from each
#' block of rows; otherwise they are a uniform sample of all rows so far
#' (Vitter, 1985, algorithm R). The choice depends only on the seed, so weights
#' stay exact: the posterior is that of a prior on subsets of the candidates.
#'
#' In a window the sums over its rows are recomputed every W rows, to remove
#' rounding errors from rows with huge values.
#'
#' When a row or candidate leaves, the weights are divided by its contribution.
#' When candidate j leaves, every set S becomes S' = S without j, with the exact
#' weight
#' \deqn{\frac{\gamma_t(S')}{\gamma_{t-1}(S') + \gamma_{t-1}(S' \cup
#'   \{j\})}.}{gamma_t(S') / [gamma_(t-1)(S') + gamma_(t-1)(S' + j)].}
#'
#' A step costs O(N k^2) for N particles of k centres, plus O(W U) for the U
#' centres in use, whatever the length of the stream; with reversible-jump moves
#' (`n_moves` in [smc_control()]) also O(C^2) for C candidates.
#'
#' [evidence()] then refers to the rows in the window; under forgetting it is
#' not defined. The log predictive density of each row given those before it is
#' always available: see [prequential()].
#'
#' @param window Number of rows W that count, `Inf` for all.
#' @param forgetting The factor \eqn{\phi}, above 0 and at most 1.
#' @param candidates Largest number of candidate centres (with a window or
#'   forgetting there may be one more), `Inf` for all rows that count. With a
#'   [kernel_dictionary()], the number of candidate rows, each with all kernels.
#' @param keep_rows Number of last rows that a fit with a window or forgetting
#'   keeps, with their records; rows that count are always kept, `Inf` keeps
#'   all. See below.
#' @param bandwidth_rows Number of first rows from which the bandwidths of a kernel
#'   such as `kernel_matern("ard")` are learned, `Inf` for all of the first call. See
#'   below.
#'
#' @section Bandwidths that are learned:
#' A bandwidth for each predictor (`"ard"`, the default of [srvm()]) can only move
#' while all rows are at hand. With a bounded memory they are therefore learned by a
#' fit of the first `bandwidth_rows` rows of the first call, without a bound and
#' without the linear part (beside which they are half as wide on [sim_friedman()], so
#' that a bounded number of kernels approximates f less well), and then
#' fixed at its posterior medians for the fit itself, which begins at the first row
#' again; `print()` shows them. Give the first call that many rows if you can. The
#' evidence and the scores of [prequential()] are then those of a model with known
#' bandwidths: leave the first rows out when you compare it with others.
#'
#' @section What a fit keeps:
#' With a window or forgetting the size of a fit does not grow with the number
#' of rows: it holds the last `keep_rows` of them, or the rows that count if
#' these are more, and up to a tenth more. [predict()][predict.kb_srvm] without
#' new data, `fitted()`, `residuals()`, [inclusion()], `augment()` and all
#' results by row (the paths of [evidence()], [prequential()], [ess()],
#' [kernel_posterior()] and plots) cover these rows, numbered as in the whole
#' stream. `nobs()`, the evidence, the cumulative score of [prequential()],
#' [diagnostics()] and the lowest effective size cover all rows.
#' [order_spread()] and [cross_validate()], which process the rows again, are
#' refused (`kb_error_not_defined`) once some have been dropped. All rows are
#' kept with `smc_control(ancestry = )` other than `"summary"`, and with
#' `candidates` alone, since then all rows count.
#'
#' @return An object of class `kb_srvm_memory`.
#' @section Errors: A value outside its range is an error of class
#'   `kb_error_argument`. A bounded memory needs the `"adapted"` proposal and
#'   the sequential sampler. Student-t noise and probit responses do not support
#'   forgetting, and Student-t noise does not support a window either.
#' @references
#' Vitter, J. S. (1985). Random sampling with a reservoir. ACM Transactions on
#' Mathematical Software 11, 37-57.
#' @seealso [srvm()]
#' @examples
#' srvm_memory(window = 500)
#' srvm_memory(window = 1000, candidates = 100)
#' srvm_memory(forgetting = 0.99)
#' @export
srvm_memory <- function(window = Inf, forgetting = 1, candidates = Inf,
                        keep_rows = 1000, bandwidth_rows = 500) {
  count <- function(x, arg) {
    if (identical(x, Inf)) Inf else check_count(x, 1, arg = arg)
  }
  forgetting <- check_number(forgetting, 0, 1)
  if (forgetting == 0) {
    bad_argument(forgetting, "forgetting", "above 0 and at most 1")
  }
  structure(
    list(
      window = count(window, "window"), forgetting = forgetting,
      candidates = count(candidates, "candidates"),
      keep_rows = count(keep_rows, "keep_rows"),
      bandwidth_rows = count(bandwidth_rows, "bandwidth_rows")
    ),
    class = "kb_srvm_memory"
  )
}

is_bounded <- function(memory) {
  is.finite(memory$window) || is.finite(memory$candidates) ||
    memory$forgetting < 1
}

# Requirements of a bounded memory
refuse_memory <- function(settings, method, control) {
  memory <- settings$memory
  if (!is_bounded(memory)) {
    return(invisible())
  }
  problem <- if (method == "mcmc") {
    "The batch sampler uses all rows at once."
  } else if (control$proposal != "adapted") {
    "{.code proposal = \"{control$proposal}\"} does not support dropping rows."
  } else if (memory$forgetting < 1 && response_name(settings) != "gaussian") {
    "Forgetting is for normal noise only."
  }
  if (!is.null(problem)) {
    kb_abort(c(
      "{.arg memory} must be unbounded here.",
      x = paste0("It is: ", format(memory), ". ", problem)
    ), "argument", argument = "memory")
  }
}

# Requirements of a latent response
refuse_latent <- function(settings, method, control) {
  if (is_latent(settings) && method == "smc" && control$proposal != "adapted") {
    kb_abort(c(
      "{.arg proposal} of {.arg control} must be {.val adapted} for a
       {response_name(settings)} model.",
      x = "It is {.val {control$proposal}}."
    ), c("not_defined", "argument"), argument = "control")
  }
}

#' @export
format.kb_srvm_memory <- function(x, ...) {
  parts <- c(
    if (is.finite(x$window)) paste("the last", x$window, "rows"),
    if (x$forgetting < 1) paste("forgetting", format(x$forgetting)),
    if (is.finite(x$candidates)) paste("up to", x$candidates, "candidates")
  )
  if (length(parts) == 0) "all rows" else paste(parts, collapse = ", ")
}

#' @export
print.kb_srvm_memory <- function(x, ...) {
  cat("<srvm_memory>\n  ", format(x), "\n", sep = "")
  invisible(x)
}

#' Prequential scores
#'
#' The log predictive density (for two classes: probability) of each response
#' given those before it, which scores sequential forecasts (Dawid, 1984). It
#' compares any models on the same stream, even if there is no evidence.
#'
#' It is the density that functions with centres among the previous rows give to
#' the new one, with the particles refreshed once more. The sum is not the log evidence,
#' because the prior of [srvm()] is on subsets of the rows so far and changes when a row
#' becomes a candidate.
#'
#' @param object A fit of [srvm()] by the sequential sampler.
#' @return Data frame with one line per row of data in the order of processing:
#'   `row`, `log_predictive` (in the response's own units; with several kernels
#'   for their average) and `cumulative`, its sum.
#' @references
#' Dawid, A. P. (1984). Statistical theory: the prequential approach. Journal of
#' the Royal Statistical Society A 147, 278-292.
#' @seealso [evidence()]
#' @examples
#' data <- sim_sinc(60, seed = 1)
#' fit <- srvm(y ~ x, data,
#'   kernel = kernel_gaussian(0.2), memory = srvm_memory(window = 30),
#'   control = smc_control(particles = 100), seed = 1
#' )
#' tail(prequential(fit))
#' @export
prequential <- function(object) {
  if (missing(object) || !inherits(object, "kb_srvm")) {
    not_defined("prequential", object)
  }
  object <- checked_fit(object)
  path <- evidence(object)$path
  data.frame(
    path[setdiff(names(path), "log_evidence")],
    cumulative = running_sums(path$log_predictive, object$past$cumulative)
  )
}
