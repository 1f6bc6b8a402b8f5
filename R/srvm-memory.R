# How much of the past an srvm fit remembers.

#' Memory of a sequential relevance vector machine
#'
#' By default all rows count alike and each can be a centre. A stream whose law
#' drifts, or that is long, wants less.
#'
#' With a `window` of W rows the fit is at every time the posterior given the
#' last W rows, with centres among these; the prior, its scaling included, does
#' not change. With `forgetting` \eqn{\phi}, a row of age a (0 for the latest)
#' counts with its likelihood to the power \eqn{\phi^a}, about
#' \eqn{1 / (1 - \phi)} rows in all; rows whose weight is below
#' \eqn{10^{-16}} go. Both together are possible. `candidates` bounds the
#' number of rows that may be centres: with a window or forgetting, one row of
#' every so many is drawn, with neither they are a uniform sample of all rows so
#' far (Vitter, 1985, algorithm R). Which rows depends on the seed alone, so
#' that weights stay exact: the posterior is that of a prior on subsets of the
#' candidates.
#'
#' In a window the sums over its rows are computed anew every W rows, so that
#' nothing is left of the rounding of a row whose values were huge.
#'
#' A row or candidate that goes divides the weights by what it contributed.
#' When candidate j goes, every set S becomes S' = S without j, with the exact
#' weight
#' \deqn{\frac{\gamma_t(S')}{\gamma_{t-1}(S') + \gamma_{t-1}(S' \cup
#'   \{j\})}.}{gamma_t(S') / [gamma_(t-1)(S') + gamma_(t-1)(S' + j)].}
#'
#' A step costs O(N k^2) for N particles of k centres, plus O(W U) for the U
#' centres that are in use, whatever the length of the stream; with
#' reversible-jump moves (`n_moves` in [smc_control()]) also O(C^2) for C
#' candidates.
#'
#' [evidence()] is then that of the rows in the window; under forgetting there
#' is none. The log predictive density of each row given those before it is
#' there in every case: see [prequential()].
#'
#' @param window Number of rows W that count, `Inf` for all.
#' @param forgetting The factor \eqn{\phi}, above 0 and at most 1.
#' @param candidates Largest number of candidate centres (with a window or
#'   forgetting there may be one more), `Inf` for all rows that count. With a
#'   [kernel_dictionary()], of rows that are candidates, each with all kernels.
#' @param keep_rows How many of the last rows a fit with a window or forgetting
#'   keeps, with what was recorded of them; those that count are always kept,
#'   `Inf` keeps all. See below.
#'
#' @section What a fit keeps:
#' With a window or forgetting the size of a fit does not grow with the number
#' of rows: it holds the last `keep_rows` of them, or those that count where
#' these are more, and up to a tenth as many besides. [predict()][predict.kb_srvm] without new data, `fitted()`,
#' `residuals()`, [inclusion()], `augment()` and everything by row (the paths of
#' [evidence()], [prequential()], [ess()], [kernel_posterior()] and plots) are
#' of these rows, which have their numbers in the whole stream. `nobs()`, the
#' evidence, the cumulative score of [prequential()], [diagnostics()] and the
#' lowest effective size are of all rows. [order_spread()] and
#' [cross_validate()], which run the rows again, are refused
#' (`kb_error_not_defined`) when some are gone. With
#' `smc_control(ancestry = )` other than `"summary"` all rows are kept; so they
#' are with `candidates` alone, since all of them count.
#'
#' @return An object of class `kb_srvm_memory`.
#' @section Errors: A value outside its range is an error of class
#'   `kb_error_argument`. A bounded memory wants the `"adapted"` proposal and
#'   the sequential sampler, Student's and probit responses know no
#'   forgetting, and Student's no window either.
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
                        keep_rows = 1000) {
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
      keep_rows = count(keep_rows, "keep_rows")
    ),
    class = "kb_srvm_memory"
  )
}

is_bounded <- function(memory) {
  is.finite(memory$window) || is.finite(memory$candidates) ||
    memory$forgetting < 1
}

# What a bounded memory needs
refuse_memory <- function(settings, method, control) {
  memory <- settings$memory
  if (!is_bounded(memory)) {
    return(invisible())
  }
  problem <- if (method == "mcmc") {
    "The batch sampler takes in all rows at once."
  } else if (control$proposal != "adapted") {
    "{.code proposal = \"{control$proposal}\"} knows no rows that leave."
  } else if (memory$forgetting < 1 && response_name(settings) != "gaussian") {
    "Forgetting is for a normal response."
  }
  if (!is.null(problem)) {
    kb_abort(c(
      "{.arg memory} must be unbounded here.",
      x = paste0("It is: ", format(memory), ". ", problem)
    ), "argument", argument = "memory")
  }
}

# What a latent response needs
refuse_latent <- function(settings, method, control) {
  response <- response_name(settings)
  if (response == "gaussian") {
    return(invisible())
  }
  problem <- if (method == "mcmc") {
    "the batch sampler knows numeric responses with normal noise only"
  } else if (control$proposal != "adapted") {
    "it needs {.code proposal = \"adapted\"}"
  }
  if (!is.null(problem)) {
    kb_abort(c(
      paste0("A ", response, " model is not defined here: ", problem, "."),
      i = if (method == "mcmc") "Use {.code method = \"smc\"}."
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
#' given those before it, what a forecaster who only looks ahead is judged by
#' (Dawid, 1984). It compares models of any kind on one stream, also where
#' there is no evidence.
#'
#' It is the density that [predict()][predict.kb_srvm] gives at the new point
#' from the fit of the rows before, with the particles refreshed once more. The
#' sum is not the log evidence: the prior of [srvm()] is one of subsets of the
#' rows so far, and changes when a row becomes a candidate.
#'
#' @param object A fit of [srvm()] by the sequential sampler.
#' @return Data frame with one line per row of data in the order in which they
#'   were taken in: `row`, `log_predictive` (in the response's own units, with
#'   several kernels of their average) and `cumulative`, its sum.
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
  if (!inherits(object, "kb_srvm")) not_defined("prequential", object)
  object <- checked_fit(object)
  path <- evidence(object)$path
  data.frame(
    path[setdiff(names(path), "log_evidence")],
    cumulative = running_sums(path$log_predictive, object$past$cumulative)
  )
}
