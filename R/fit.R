# Generics and methods that all engines share.

#' Extract results from a fit
#'
#' `evidence(fit)`, `ess(fit)` and others, for the fits of all samplers, as far as
#' they apply.
#' @aliases kb_fit
#' @param object A fit, see [srvm()], [tdsmc()], [bark()] and [kgs()].
#' @param ... Not used: unknown arguments are errors.
#' @return
#' * `evidence()`: list of class `kb_evidence`. `log_evidence` is the log marginal
#'   likelihood of the response in its own units, averaged over kernels if there are
#'   several ([kernel_posterior()] has that of each). `mc_se` is its Monte-Carlo
#'   standard error from the genealogy of the particles (Lee and Whiteley, 2018; over
#'   stretches of the run, Olsson and Douc, 2019), `NA` for a single particle or
#'   where the estimate of the variance is negative. It is reliable only if well
#'   below 1, and too small where the effective sample size fell to a few particles,
#'   where few founders are left and particles hardly move, and where bandwidths are
#'   learned. Before you compare models whose evidence differs by a few nats, look at
#'   the spread of `replicates` (`smc_control(replicates = )`), or at
#'   [order_spread()]. `mc_se_replicates` is the relative standard error of the mean
#'   evidence from it. `note` is `NULL`, or a caution, as that the number is no
#'   evidence (`proposal = "paper"`, [srvm_prior_paper()]). `path` is a data frame
#'   with one line per row of data in the order of processing: `row`,
#'   `log_predictive` (the log density of the response given those before it, see
#'   [prequential()]) and `log_evidence`; for [tdsmc()] per step, the former being
#'   the change in the latter.
#' * `inclusion()`: data frame with one line per training row: `row` and
#'   `probability`, the posterior probability that the row is a kernel centre.
#'   [srvm()] counts duplicated rows at the one that was processed first; in [bark()]
#'   each is a separate location. For [srvm()] also `change`, which ranks the centres:
#'   the posterior expectation of the change of f without the centre (0 where the row
#'   is none), a root mean square over the rows in units of the response (for two
#'   classes of f), when the other coefficients are fitted again. With a
#'   [kernel_dictionary()] the columns `kernel1`,
#'   `kernel2` and so on have the probability of each kernel at the row. Not
#'   defined if the centres of [bark()] are not rows.
#' * `model_size()`: data frame `k`, `probability`: the posterior of the number
#'   of centres. For [bark()] `probability` is that of the number of kernels J,
#'   which counts kernels with the same centre separately, and the column
#'   `centres` that of the number of different centres (the intercept is one).
#' * `ess()`: data frame with one line per row of data: `row`, `ess` (effective
#'   sample size before resampling), `fraction` (of the particles at that row),
#'   `lowest` (its minimum while the row entered gradually), `founders` (distinct
#'   ancestors at the start) and `resampled` (before the row entered). Replicates are
#'   summed, kernels averaged by their probability after that row. For Markov chains
#'   one row per quantity: `variable`, `ess_bulk`, `ess_tail`, `rhat`.
#' * `timings()`: list of seconds: `sampler` (in the C++ sampler), `shared` (the
#'   part of these spent on sums over the data that all particles share),
#'   `total` (the whole call). For batch fits `sampler`, `chains` (of each) and
#'   `total`.
#' * `diagnostics()`: list of class `kb_diagnostics`: `ess_min`, the lowest
#'   effective size of the whole run, and `ess_final`, the last (fractions of
#'   the particles), `ess_min_row` (of [tdsmc()] `ess_min_step`), the row of the
#'   lowest, `resamplings`, `founders`, and `acceptance` (birth, death, swap;
#'   `NaN` if none was tried). For batch fits `convergence` (as `ess()`),
#'   `chains`, `draws` of each, and `acceptance` after the warmup. `ancestry()` is not
#'   defined for them; of `evidence()` see [evidence.kb_bark()] and [evidence.kb_kgs()].
#' * `ancestry()`: the history kept by `smc_control(ancestry = )`, a list with
#'   one element per replicate (with several kernels one for each kernel of the
#'   first replicate, then of the second). With `"genealogy"`: `ancestors`, an
#'   integer matrix with a row for each row of data from the second on and one
#'   column per particle: its ancestor among the particles at the previous row.
#'   With `"full"` also, for each row of data, the particles' `weights`
#'   (matrix), number of centres `k` (matrix) and `sets` (list of lists of
#'   training rows; with a dictionary a row appears once for each of its
#'   centres).
#' @section Fits from others:
#' A fit is as trustworthy as its source. Reading it ([read_checkpoint()]), `print()`,
#' `summary()`, `plot()` and `update()` check what it holds and run no code from it.
#' `predict()` of new data and methods that use it evaluate the terms of its formula:
#' whoever made the fit may have put any code there.
#' @section Monitored quantities:
#' For Markov chains `ess()`, `diagnostics()`, `print()`, [convergence()] and
#' the warning about chains that have not mixed look at
#' * the parameters: `sigma`, `J`, `log_lik` and cut points of [bark()];
#'   `sigma`, `tau`, `k` and `log_lik` of [srvm()]; the number of wrong
#'   labels, their rates and `log_lik` of [kgs()];
#' * `f[i]`, f at training row i, for 20 rows evenly spaced along the first principal
#'   direction of the predictors; for several classes `p[class,i]`, the probability of
#'   each, and for [kgs()] `f[class,i]`, the function of each;
#' * for [bark()] with `sigma` `sigma[i]`, the standard deviation of the noise at
#'   row i for weight 1, for 5 of these rows;
#' * for [bark()] `log_lambda[l]`, the logarithm of the scale of predictor l
#'   (for several unordered classes `log_lambda[class,l]`), at least log(1e-6), and
#'   `delta[l]`, whether it is in the kernel, for priors that select. With
#'   kernel-specific scales these are means over the kernels. With directions they are
#'   `log_lambda` of the sum of their scales, `share[l]` of each predictor, and `d`, the
#'   number of directions in the kernel.
#'
#' A warning (`kb_warning_convergence`) is given where the Monte Carlo error of f or
#' probabilities (root mean square), or of a parameter, is above 25% of the posterior
#' standard deviation, see [convergence()]; scales, inclusion, `J`, `k` and `log_lik` do
#' not warn, and quantities whose draws are all equal do not count. With fewer than 100
#' draws per chain and 400 in all, or a single chain, a message (`kb_message_few_draws`)
#' says that mixing cannot be judged.
#' @references
#' Lee, A. and Whiteley, N. (2018). Variance estimation in the particle filter.
#' Biometrika 105, 609-625.
#'
#' Olsson, J. and Douc, R. (2019). Numerically stable online estimation of
#' variance in particle filters. Bernoulli 25, 1504-1535.
#' @examples
#' data <- sim_sinc(30, seed = 1)
#' fit <- srvm(y ~ x, data, kernel = kernel_gaussian(0.2), seed = 1)
#' evidence(fit)
#' model_size(fit)
#' head(inclusion(fit))
#' diagnostics(fit)
#' timings(fit)$sampler
#' @name evidence
NULL

#' @rdname evidence
#' @export
evidence <- function(object, ...) UseMethod("evidence")

#' @rdname evidence
#' @export
inclusion <- function(object, ...) UseMethod("inclusion")

#' @rdname evidence
#' @export
model_size <- function(object, ...) UseMethod("model_size")

#' @rdname evidence
#' @export
ess <- function(object, ...) UseMethod("ess")

#' @rdname evidence
#' @export
timings <- function(object, ...) UseMethod("timings")

#' @rdname evidence
#' @export
diagnostics <- function(object, ...) UseMethod("diagnostics")

#' @rdname evidence
#' @export
ancestry <- function(object, ...) UseMethod("ancestry")

#' @export
evidence.default <- function(object, ...) not_defined("evidence", object)
#' @export
inclusion.default <- function(object, ...) not_defined("inclusion", object)
#' @export
model_size.default <- function(object, ...) not_defined("model_size", object)
#' @export
ess.default <- function(object, ...) not_defined("ess", object)
#' @export
timings.default <- function(object, ...) not_defined("timings", object)
#' @export
diagnostics.default <- function(object, ...) {
  not_defined("diagnostics", object)
}

#' @export
ancestry.default <- function(object, ...) not_defined("ancestry", object)

not_defined <- function(what, object, of = c("srvm", "bark")) {
  kb_abort(c(
    "{.fn {what}} is not defined for this object.",
    x = "It is {describe(object)}.",
    i = "Supply a fit, for example from {.or {.fn {of}}}."
  ), "not_defined")
}

#' @export
print.kb_evidence <- function(x, digits = 4, ...) {
  check_no_dots(...)
  cat(
    "log evidence: ", format(x$log_evidence, digits = digits + 2),
    " (Monte-Carlo se ", format(x$mc_se, digits = 2), ")\n",
    sep = ""
  )
  if (!is.null(x$note)) cat(strwrap(x$note, 78, prefix = "  "), sep = "\n")
  invisible(x)
}

#' @export
print.kb_diagnostics <- function(x, digits = 2, ...) {
  check_no_dots(...)
  percent <- function(v) {
    ifelse(is.na(v), "-", paste0(
      vapply(100 * v, format, "", digits = digits), "%"
    ))
  }
  cat(
    "effective sample size: ", percent(x$ess_final), " at the end, ",
    percent(x$ess_min), " at its lowest", lowest_words(x), "\n",
    "resampled ", x$resamplings, " times, ", round(x$founders, 1),
    if (x$founders == 1) " founder" else " founders", " left\n",
    if (!all(is.na(x$acceptance))) {
      paste0("accepted: ", paste(names(x$acceptance), percent(x$acceptance),
        collapse = ", "
      ), "\n")
    },
    sep = ""
  )
  invisible(x)
}

# The fit and the parameters that a summary holds
print_posterior <- function(x, digits) {
  print(x$fit, digits = digits)
  cat("\nPosterior (", 100 * x$level, "% intervals)\n", sep = "")
  print(x$parameters, digits = digits, row.names = FALSE)
}

# Methods based on an engine's predict() --------------------------------

#' @export
fitted.kb_fit <- function(object, ...) {
  object <- checked_fit(object, ...)
  stats::predict(object)
}

#' Residuals
#'
#' `residuals(fit)` has a number per training row, `fitted(fit)` what is predicted.
#' @param object A fit of [srvm()], [bark()] or [kgs()].
#' @param type `"response"`, see Value. `"quantile"`: randomised quantile
#'   residuals (Dunn and Smyth, 1996), the standard normal quantiles of the
#'   posterior predictive probabilities of a smaller response. Counts, classes
#'   (in the order of their levels) and censored responses are given a
#'   probability at random between those of their two ends. They are nearly
#'   standard normal if the model is right, for all kinds of responses.
#' @param seed For `"quantile"`: a whole number, or `NULL` to draw from R's
#'   generator.
#' @param ... Not used: unknown arguments are errors.
#' @return A vector, one number per training row. `"response"`: the response minus
#'   the posterior mean of f, the median of the expected count or of times; the
#'   share of successes minus the probability; `NA` for censored responses. For two
#'   classes 0 or 1 (the second level) minus the probability of the second level; for
#'   more, 1 minus the probability of the row's class. Probabilities are those of
#'   `predict(type = "prob")`: for [kgs()] of the recorded label. `fitted()` is
#'   `predict(object)`: means of f, medians of counts and times, or classes. For fits of
#'   [kbr()] both have one column per state. Character row names are kept in both and in
#'   the results of `predict()`.
#' @references
#' Dunn, P. K. and Smyth, G. K. (1996). Randomized quantile residuals. *Journal of
#' Computational and Graphical Statistics* 5, 236-244.
#' \doi{10.1080/10618600.1996.10474708}
#' @examples
#' data <- sim_sinc(40, seed = 1)
#' fit <- srvm(y ~ x, data, kernel = kernel_gaussian(0.3), seed = 1)
#' head(residuals(fit))
#' qqnorm(residuals(fit, type = "quantile", seed = 1))
#' head(fitted(fit))
#' @export
residuals.kb_fit <- function(object, type = c("response", "quantile"),
                             seed = NULL, ...) {
  object <- checked_fit(object, ...)
  if (check_choice(type, c("response", "quantile")) == "quantile") {
    out <- quantile_residuals(object, seed)
    return(name_rows(out, training_names(object)))
  }
  refuse_idle_seed(seed)
  y <- shown_response(object)
  if (is.factor(y)) {
    out <- class_residuals(y, stats::predict(object, type = "prob"))
  } else {
    out <- unname(y - stats::predict(object))
  }
  name_rows(out, training_names(object))
}

#' @param p Matrix, one column per class.
#' @noRd
class_residuals <- function(y, p) {
  if (ncol(p) == 2) {
    return(as.integer(y) - 1 - unname(p[, 2]))
  }
  1 - unname(p[cbind(seq_along(y), as.integer(y))])
}

#' Simulate responses
#'
#' `simulate(fit, nsim = 2)` draws new responses of the training rows.
#' @param object A fit of [srvm()], [bark()] or [kgs()].
#' @param nsim Number of sets of responses.
#' @param seed A whole number, or `NULL` to draw from R's generator.
#' @param ... Not used: unknown arguments are errors.
#' @return A data frame with a row for each training row and the columns
#'   `sim_1`, ...: numbers, or factors of classes (for [kgs()] labels, including
#'   wrong ones). Each set is simulated from one posterior draw, given which
#'   responses are independent.
#' @examples
#' moons <- sim_moons(80, flips = 0.1, seed = 1)
#' fit <- kgs(y ~ x1 + x2, moons, kernel = kernel_gaussian(0.5), seed = 1)
#' head(simulate(fit, nsim = 2, seed = 1))
#' @export
simulate.kb_fit <- function(object, nsim = 1, seed = NULL, ...) {
  object <- checked_fit(object, ...)
  nsim <- check_count(nsim, 1)
  check_memory(2 * as.double(nsim) * stats::nobs(object), "The responses",
    "Use a smaller {.arg nsim}."
  )
  pool <- posterior_pool(object)
  rows <- prediction_rows(object, NULL, NULL, TRUE, FALSE)
  # Draws from chains have equal weight.
  share <- if (!inherits(object, "kb_mcmc")) pool$weights
  y <- with_local_seed(seed, {
    chosen <- sample.int(length(pool$weights), nsim, TRUE, share)
    response_draws(object, rows, pool, chosen)
  })
  out <- as_classes(object, as.data.frame(t(y)))
  names(out) <- paste0("sim_", seq_len(nsim))
  attr(out, "seed") <- seed
  out
}

#' @export
nobs.kb_fit <- function(object, ...) {
  object <- checked_fit(object)
  rows_with_copies(object$time, row_copies(object))
}

# The response of the rows processed so far, in the order given
training_response <- function(object) {
  unname(pick_rows(object$data$y, training_rows(object)))
}

# The same as a vector beside which expected responses can be drawn
shown_response <- function(object, y = training_response(object)) {
  shown <- if (inherits(object, "kb_bark")) family_of(object)$shown
  if (is.null(shown) || is.null(y) || is.factor(y)) y else shown(y)
}

training_rows <- function(object) {
  sort(rows_taken_in(object))
}

# Generics of other packages
# -------------------------------------------------------

#' @importFrom generics tidy
#' @export
generics::tidy

#' @importFrom generics glance
#' @export
generics::glance

#' @importFrom generics augment
#' @export
generics::augment

#' @importFrom posterior as_draws
#' @export
posterior::as_draws

#' @importFrom nlme fixef
#' @export
nlme::fixef

#' @importFrom nlme ranef
#' @export
nlme::ranef

#' @importFrom nlme VarCorr
#' @export
nlme::VarCorr

# `update(fit, . ~ . - x)`, as of lm()
refuse_new_formula <- function(given) {
  if (rlang::is_formula(given)) {
    kb_abort(c(
      "{.fn update} continues a fit and cannot change its formula.",
      x = "{.code {deparse1(given)}} was given.",
      i = "Fit again with the new formula."
    ), "argument", argument = "formula")
  }
}
