# srvm(): the sequential relevance vector machine.

#' Sequential Bayesian kernel regression
#'
#' `srvm()` fits the sparse kernel regression of Vermaak, Godsill and Doucet
#' (2003),
#' \deqn{y_s = \beta_0 + \sum_{j \in S} \beta_j K(x_s, x_j) + \epsilon_s,} by
#' trans-dimensional sequential Monte Carlo: rows are processed one at a time,
#' and each particle is a hypothesis about the set \eqn{S} of kernel centres, a
#' subset of the rows seen so far. The number of centres, the noise and the
#' scale of the coefficients are learned, and so is a bandwidth for each predictor.
#' By default there is a linear part, too. The coefficients are integrated out of
#' every weight.
#'
#' @section The model:
#' \eqn{\epsilon_s \sim N(0, \sigma^2)} (or Student's t, see below),
#' \eqn{\beta_j \sim N(0, \tau^2)}
#' independently (the intercept too), \eqn{\sigma^2} and \eqn{\tau^2} inverse
#' gamma or fixed; the prior of \eqn{S} is in [srvm_prior()].
#'
#' @section Two classes:
#' With a factor of two classes the model is probit regression: the second level
#' has probability \eqn{\Phi(f(x))}, with the same prior on f and no noise to
#' learn. Every particle holds a latent normal response for each row; a row's
#' weight is the predictive probability of its class, with the latent response
#' integrated out (and drawn afterwards), and all latent responses are refreshed
#' before every step. A step therefore costs O(N t k) at row t, unless `memory`
#' bounds it.
#'
#' @section Outliers:
#' With `srvm_prior(df = )` the noise is Student's t with that many degrees of
#' freedom, as \eqn{\epsilon_s \sim N(0, \sigma^2 / \omega_s)},
#' \eqn{\omega_s \sim Gamma(\nu / 2, \nu / 2)}: \eqn{\sigma} is then its scale,
#' and its standard deviation is \eqn{\sigma \sqrt{\nu / (\nu - 2)}} where
#' \eqn{\nu > 2} and is undefined otherwise. The weights \eqn{\omega} are
#' integrated by simulation: when a row arrives each particle draws its own,
#' with probability 1/2 each from the prior and given the row's residual (the
#' particle's weight accounts for that), and all are refreshed by a Gibbs step
#' before every step. A step costs O(N t k^2) at row t. New responses
#' (prediction intervals, densities, simulations) have Student-t noise.
#'
#' In 20 data sets of [sim_sinc()] with 5 of 50 responses moved by 1 to 3 (the
#' noise has standard deviation 0.1), the mean root mean squared error of f was
#' 0.285 with normal noise, 0.052 with `df = 4` and 0.046 with `df = 2`; without
#' outliers it was 0.038 with normal noise and 0.040 with `df = 4`.
#'
#' With `df = "learn"` every particle or chain has its own degrees of freedom, which
#' move together with \eqn{\sigma}, the weights \eqn{\omega} integrated out; results
#' average over them, and [`tidy()`][tidy.kb_srvm] and
#' [`as_draws()`][as_draws.kb_srvm] report them.
#'
#' @section Weights and offsets:
#' With `weights` w the noise of row s has the variance \eqn{\sigma^2 / w_s}, or
#' for Student-t noise the scale \eqn{\sigma / \sqrt{w_s}}. The weights are part
#' of the likelihood, in every particle's weight and every move. `sigma()` is the
#' noise of a row of weight 1. A row of any weight counts as one row, in `memory`
#' too. The default prior of the noise suits the mean weight of the first call;
#' the response is standardised without weights.
#'
#' An offset is a known part of f: `y ~ x + offset(o)`, or `offset` with `x` and
#' `y`. It is in units of the response, which is modelled minus the offset; with
#' two classes it is added to f. [predict()][predict.kb_srvm] and
#' [update()][update.kb_srvm] need the offsets of their rows. Results by row
#' have it, but not `coef()`.
#'
#' @section A bandwidth for each predictor:
#' With `kernel_matern("ard")`, the default, or another stationary kernel with this
#' bandwidth (automatic relevance determination; not the periodic one), each
#' predictor l has a bandwidth b_l of its own, all learned with the rest: every
#' particle or chain has its own, and predictors that do not matter get large ones.
#' The inverse bandwidths 1/b_l have independent half-t priors, see `ard` of
#' [srvm_prior()], which shrink them towards 0. They move by Metropolis steps in
#' their logarithms, with the coefficients integrated out; particles size the steps
#' for each other. The rest of the sampler is as below, and the evidence is that of
#' the model with the bandwidths integrated out.
#'
#' A particle's columns are its own. A step of the sequential sampler costs O(N t k
#' (p + k)) at row t and takes N t k numbers of memory. Moves follow every row up to
#' the 200th, then every second, from the 300th on every third, and so on. With a
#' bounded `memory` bandwidths are learned from the first rows and then fixed, see
#' [srvm_memory()]. [`tidy()`][tidy.kb_srvm] and [`as_draws()`][as_draws.kb_srvm]
#' have the bandwidths, in units of the predictors as the model sees them;
#' [coef()][coef.kb_srvm] is not defined.
#'
#' f then has a linear part, too: p slopes on the
#' predictors as the kernel sees them, in every set, integrated out like the other
#' coefficients; `linear` of [srvm_prior()] is their scale.
#'
#' Kernel, prior and `scale` were chosen on nine data sets of the UCI repository and
#' two of [sim_friedman()], at most 200 rows and one split each. There the linear part
#' lowered the error, and `kernel_gaussian("learn")`, one bandwidth for all
#' predictors, had a much larger one. The article `league` compares the default with
#' other packages on other sets.
#'
#' @section The sampler:
#' At row t each particle's set stays as it is or gains the new row, with the
#' probabilities of the target itself. Its weight is then exact. Its mean over
#' particles estimates \eqn{p(y_t | y_1, \dots, y_{t-1})}: with fixed powers and
#' fixed moves the product of these means is unbiased for
#' \eqn{p(y_1, \dots, y_t)}; each factor, and the product with powers and steps
#' that adapt, as by default, is consistent as particles become many.
#' Particles are resampled when their effective sample size falls below a
#' threshold. A row enters gradually ([smc_control()], Details): it pauses when
#' its likelihood has the power 0.05, and there each particle is refreshed by
#' one Gibbs sweep of coefficients and variances and by `n_moves`
#' reversible-jump moves (birth, death, swap of a centre), which leave the
#' posterior of the rows so far invariant.
#'
#' [smc_control()] also offers the papers' own proposal (no change, birth or
#' death), with exact weights (`proposal = "birth_death"`) or with the weights
#' printed in the papers (`"paper"`). The printed weights do not target the
#' posterior, even with infinitely many particles: on small problems the
#' probabilities of sets are off by .1 to .5 in total variation.
#'
#' @section Several kernels:
#' Given a list of kernels, `srvm()` averages over them: each has its own
#' filter, and all see the same rows in the same order. The estimates of their
#' evidence give the posterior \eqn{p(h | y) \propto p(h) \hat{Z}_h} over
#' kernels, row by row ([kernel_posterior()]), and every result of the fit is an
#' average with these weights: predictions, densities and draws are those of the
#' mixture, and the path of `evidence()` holds the log densities of the averaged
#' one-step predictions. The average converges to the exact posterior as
#' `particles` grows; its Monte Carlo error includes that of the weights. The
#' prior weights p(h) are equal unless `srvm_prior(kernels = )` gives others.
#'
#' An error in the evidence of an improbable kernel does no harm. So each kernel
#' is first tried with a fraction `pilot` of the `particles` (see
#' [smc_control()]), and those that may be probable run again with the remaining
#' particles: with 3.7 times `particles` if only one of five is probable. The
#' others keep their results from the pilot. With the same total number of
#' particles, the standard deviation of the log evidence over 20 seeds fell from
#' 0.27 to 0.13 (`MASS::GAGurine`), from 0.43 to 0.18 (`MASS::Boston` with
#' outliers), from 0.41 to 0.31 ([sim_friedman()], 200 rows) and from 0.28 to
#' 0.22 ([sim_sinc()], 50 rows), but did not in
#' [airquality][datasets::airquality], where three kernels are probable. The
#' shares are fixed at the first call. All kernels have `particles` particles if
#' the first call has fewer than 50 rows, memory is bounded, or `pilot = 0`,
#' which suits streams whose later rows may favour another kernel. A fit that is
#' stopped while kernels run again holds the results of the pilot until
#' `update()` completes it.
#'
#' A bandwidth `"learn"`, as in `kernel_gaussian("learn")` or
#' `kernel_matern("learn") + 1`, means five kernels, with bandwidths of 1/8,
#' 1/4, 1/2, 1 and 2 times the median distance ([bandwidth_median()]). The list
#' is fixed at the first call. Time and memory grow with the number of kernels;
#' with [workers][kb_workers] the kernels run in parallel.
#'
#' A replicate of `smc_control(replicates = )` is one filter for each kernel.
#' The filters advance in turn, so that an interrupt or a time limit finds all
#' of them at the same row. Only replicates whose filters are at the same row
#' are used, since an average over some of the kernels would be a different
#' posterior. On workers they synchronise every few seconds, and a stop returns
#' to the last such point.
#'
#' @section Several kernels in one model:
#' A list of kernels averages over models of one kernel each. A
#' [kernel_dictionary()] gives one model, in which each centre has a kernel from
#' the dictionary: the function may be smooth in one place and wiggly in
#' another. [kernel_posterior()] is then the share of centres that each kernel
#' has, and [inclusion()] has a column for each kernel.
#'
#' When a row arrives, the likelihood of its response enters once, with the
#' choice on the row's candidate with the first kernel. The other candidates
#' follow one by one, each with the exact weight
#' \deqn{p_{m+1}(S') / p_m(S') + p_{m+1}(S' \cup \{j\}) / p_m(S') \;
#'   L_t(S' \cup \{j\}) / L_t(S')}
#' for the choice whether candidate j joins the set S' out of m candidates,
#' where L is the marginal likelihood of all rows so far.
#'
#' @section The batch sampler:
#' `method = "mcmc"` draws from the same posterior, given all rows at once, by
#' reversible-jump Markov chains: each iteration tries `n_moves` births, deaths
#' or swaps of a centre, makes a Metropolis step in the logarithm of the
#' coefficients' variance (coefficients integrated out; its length adapts during
#' the warmup) and refreshes coefficients and variances by a Gibbs sweep. Chains
#' start at draws from the prior. For a fixed data set it is often the more
#' efficient choice, and it is the reference for tests of the sequential
#' sampler. It gives no evidence and cannot add rows;
#' [`update(iter = )`][update.kb_mcmc] continues it. [diagnostics()] gives
#' R-hat and effective sample sizes. It takes two classes and Student-t noise too:
#' each iteration ends with draws of the latent responses or of the weights of all
#' rows. `log_lik` among the quantities that are monitored is then that given the
#' coefficients.
#'
#' @section Order, scaling and frozen settings:
#' Settings computed from the data (the scaling, the bandwidths, the default
#' priors) are computed at the first call and kept by `update()`. Fits that
#' share these settings through `reference` and take rows in the order given are
#' identical however the rows are split over calls.
#'
#' @param x A numeric matrix (rows are points), a data frame, a numeric vector
#'   (one column) or, as `formula`, a formula. Factors become indicators, one
#'   column per level.
#' @param y Response, one value per row of `x`: numbers, or a factor (or text,
#'   or logical) of two classes.
#' @param formula,data A formula such as `y ~ .` and the data frame it is
#'   evaluated in.
#' @param kernel A kernel, see [kb_kernels], a list of kernels to average over,
#'   or a [kernel_dictionary()] of kernels in one model, see below. Bandwidths
#'   are in the units of the standardised predictors if `scale = TRUE`. `NULL`:
#'   `kernel_matern("ard")`, a bandwidth for each predictor, all learned. Without
#'   moves (`n_moves = 0`), but with an unbounded memory,
#'   `kernel_gaussian("learn")`, an average over five bandwidths for all
#'   predictors; with `proposal = "paper"` or an improper prior
#'   `kernel_gaussian("median")`. A kernel from [kernel_custom()], alone or in a sum
#'   or product, needs all rows at once (`update()` cannot add rows that it does not
#'   know), an eigendecomposition of their kernel matrix, and as many coordinates
#'   as rows: it is for hundreds of rows. The kernel sees standardised
#'   predictors.
#' @param prior Prior, see [srvm_prior()].
#' @param method `"smc"`, the sequential sampler, or `"mcmc"`, the batch
#'   sampler.
#' @param control Settings of the sampler, from [smc_control()] or
#'   [mcmc_control()]. `NULL`: the defaults of `smc_control()`, or four chains with a
#'   warmup of 250 iterations that are judged after 250, 500, 1000 and 2000: they end
#'   when the Monte Carlo error of predictions and parameters is at most 25% of their
#'   posterior standard deviation (see [convergence()]).
#' @param order `"given"`, or `"random"` for an order of the rows drawn from
#'   `seed`.
#' @param scale `TRUE`: the predictors and a numeric response are standardised. With
#'   a bandwidth for each predictor the logarithm of those with a long tail is taken
#'   first, as in [bark()]; `print()` names them. `"linear"`: standardised without
#'   logarithms. Results are reported in the original units. `FALSE` leaves both
#'   untouched; the mean of the response should then not be far from 0
#'   (`kb_warning_offset`), since the intercept has the same prior as the
#'   coefficients.
#' @param intercept Include the intercept?
#' @param family `gaussian()` or `binomial("probit")`, or their names
#'   `"gaussian"`, `"probit"`. `NULL`: probit where the response is a factor,
#'   text or logical with two classes, otherwise gaussian (also for the numbers
#'   0 and 1, with a message).
#' @param memory Which rows of a stream to forget, from [srvm_memory()]; by
#'   default none.
#' @param reference A fit (or its `settings`) whose kernel, prior, scaling,
#'   intercept, family and memory are used as they are.
#' @param weights `NULL`, or positive numbers, one per row, that divide the
#'   variance of the row's noise (precision, see [kb_weights]). Numeric responses only.
#'   In the formula interface they are looked up in `data` first.
#' @param offset With `x` and `y`: `NULL`, or a number per row that is added to
#'   f. A formula has it itself.
#' @param na.action `"omit"` leaves rows with missing values, weights or offsets
#'   out and says how many, `"fail"` makes them an error. [stats::na.omit] and
#'   [stats::na.fail] mean the same.
#' @param seed Whole number that determines every draw; `NULL` takes one from
#'   R's generator. The result does not depend on `threads` or workers.
#' @param progress Show a progress bar? `NULL`: in interactive sessions.
#' @param ... Not used: unknown arguments are errors.
#'
#' @return An object of class `kb_srvm` and `kb_fit`: a list of plain R data
#'   with, among others, `settings` (the frozen settings), `runs` (one state per
#'   replicate or chain; with several kernels one for each kernel of the first
#'   replicate, then of the second), `seed`, `status` (`"complete"`,
#'   `"interrupted"` or `"time_limit"`) and `time` (rows processed). It can be
#'   saved with [saveRDS()] and used in another session, after
#'   `library(kernelbayes)`. Methods: `print`, `summary`,
#'   [`plot`][plot.kb_srvm], [`predict`][predict.kb_srvm],
#'   [`update`][update.kb_srvm], `fitted`, `residuals`, `coef`, `sigma`, `nobs`,
#'   `formula`, [`terms`][terms.kb_fit] and the model frame, `logLik`,
#'   `simulate`, `as_draws`, `tidy`, `glance`, `augment` and the
#'   [accessors][evidence]. Batch fits have the class `kb_srvm_mcmc` and
#'   `kb_mcmc` before these.
#'
#' @template formula-terms
#' @section Errors:
#' Invalid input is an error of class `kb_error` and a more specific class, e.g.
#' `kb_error_argument`, `kb_error_missing`, `kb_error_infinite`,
#' `kb_error_outcome`. Several kernels, or a bandwidth to learn, are refused
#' (`kb_error_argument`) if there is no evidence for weights, and so are
#' `weights` of classes. Columns that are constant in fitting are told, then and
#' where they vary in new rows, which count as having the same value
#' (`kb_message_constant`). An interrupt or a
#' time limit gives a warning (`kb_warning_interrupted`,
#' `kb_warning_time_limit`) and a fit of the rows or iterations so far, which
#' `update()` continues. `proposal = "paper"` warns with class
#' `kb_warning_inexact`, [srvm_prior_paper()] with `kb_warning_improper`.
#'
#' @section Warnings of the particles:
#' `kb_warning_low_ess`: the effective sample size was below 5% of the particles
#' at some row of this call, or is below 10% at the last. Estimates are then
#' noisy, and the standard error of the evidence may be too small. Raise
#' `cess_threshold` of [smc_control()] if it is below its default: with 0.5
#' instead of 0 the standard deviation of the log evidence over 20 seeds fell
#' from 0.30 to 0.21 ([sim_sinc()], 50 rows), from 0.95 to 0.42
#' ([sim_friedman()], 200 rows) and from 0.69 to 0.51 in
#' [airquality][datasets::airquality], and its mean rose by 0.2, 1.1 and 0.8.
#' Otherwise use more particles or more stops (`powers`); more moves did not
#' help in our experiments.
#'
#' These figures are for `kernel_gaussian("learn")`. There the standard error of
#' the evidence is accurate for `MASS::mcycle`, `MASS::Boston` and the simulated
#' data above: its ratio to the spread over seeds is near 1. With long-tailed
#' predictors or responses (`MASS::cpus`, `airquality`) the spread over seeds was
#' 1.3 to 1.7 times the standard error, and that of the kernels' probabilities up
#' to 2.7 times: repeat such fits with other seeds.
#'
#' With a bandwidth for each predictor, the default, the standard error from one
#' run is too small by a factor of 1.2 to 2.1: 0.92 beside a standard deviation of
#' 1.43 over 20 seeds (`sim_friedman(200, p = 5)`). Before you compare models
#' whose evidence differs by a few nats, use `smc_control(replicates = )`: the
#' standard deviation of `evidence(fit)$replicates` is free of this.
#'
#' An accurate standard error measures the spread only, not the bias: rare
#' particles that would have foreseen some row are missing from most runs, so
#' that the log evidence is more often too low than too high (Details of
#' [smc_control()]).
#'
#' `kb_warning_no_moves`: with `n_moves = 0` the particles descend from fewer
#' than 10% of those at the start. They share centres among the early rows,
#' which are never revised, and the log evidence is too low: by 3.5, 7 and 13 on
#' average in these data, and in the first by 2.8 with four times as many
#' particles.
#'
#' `kb_warning_no_spread`: one row, or responses that are all equal, do not
#' determine the scale of the response, so 1 is used.
#'
#' @references
#' Vermaak, J., Godsill, S. J. and Doucet, A. (2003). Sequential Bayesian
#' kernel regression. Advances in Neural Information Processing Systems 16.
#'
#' Vermaak, J., Godsill, S. J. and Doucet, A. (2003). Radial basis function
#' regression using trans-dimensional sequential Monte Carlo. IEEE Workshop on
#' Statistical Signal Processing.
#'
#' @examples
#' data <- sim_sinc(50, seed = 1)
#' fit <- srvm(y ~ x, data, control = smc_control(particles = 100), seed = 1)
#' fit
#' predict(fit, data.frame(x = c(-5, 0, 5)), interval = "credible")
#' plot(fit)
#'
#' # The first rows are means of four measurements.
#' n <- rep(c(4, 1), c(20, 30))
#' srvm(y ~ x, data,
#'   kernel = kernel_gaussian(0.2), weights = n,
#'   control = smc_control(particles = 100), seed = 1
#' )
#' @export
srvm <- function(x, ...) UseMethod("srvm")

#' @export
srvm.default <- function(x, ...) refuse_data(x, missing(x))

#' @rdname srvm
#' @export
srvm.formula <- function(formula, data, kernel = NULL,
                         prior = srvm_prior(), method = c("smc", "mcmc"),
                         control = NULL,
                         order = c("given", "random"), scale = TRUE,
                         intercept = TRUE, family = NULL,
                         memory = srvm_memory(), reference = NULL,
                         weights = NULL, offset = NULL,
                         na.action = c("omit", "fail"), seed = NULL,
                         progress = NULL, ...) {
  started <- now()
  check_no_dots(...)
  refuse_with_reference(reference, names(match.call()))
  family <- srvm_family(family, reference)
  refuse_parts_twice(c(offset = !missing(offset)), "y ~ x + offset(o)")
  mould <- mould_formula(formula, data, na.action, family_outcome(family),
    weights = rlang::enquo(weights), plain = "offset"
  )
  note_numbers(family, mould)
  srvm_fit(mould, given_arguments(), match.call(), started)
}

#' @rdname srvm
#' @export
srvm.matrix <- function(x, y) {
  started <- now()
  check_no_dots(...)
  refuse_with_reference(reference, names(match.call()))
  family <- srvm_family(family, reference)
  mould <- mould_xy(x, y, na.action, family_outcome(family),
    weights = weights, mixed = list(offset = offset)
  )
  note_numbers(family, mould)
  srvm_fit(mould, given_arguments(), match.call(), started)
}
formals(srvm.matrix) <- c(alist(x = , y = ), formals(srvm.formula)[-(1:2)])

#' @rdname srvm
#' @export
srvm.data.frame <- srvm.matrix

#' @rdname srvm
#' @export
srvm.numeric <- srvm.matrix

#' @rdname srvm
#' @export
srvm.logical <- srvm.matrix

#' From a mould to a fit
#' @param given Arguments as in `srvm()`.
#' @noRd
srvm_fit <- function(mould, given, called, started) {
  method <- check_choice(given$method, c("smc", "mcmc"), arg = "method")
  control <- check_srvm_control(given$control, method)
  order <- check_choice(given$order, c("given", "random"), arg = "order")
  progress <- check_progress(given$progress)
  seed <- draw_seed(given$seed)
  batch <- method == "mcmc"
  settings <- if (is.null(given$reference)) {
    call_with(srvm_settings, replace(given, "control", list(control)),
      mould = mould
    )
  } else {
    mould <- adopt_classes(mould, given$reference)
    reference_settings(given$reference, mould)
  }
  refuse_unmapped(settings, mould$x)
  # With an improper prior, part of the first row gives no proper posterior.
  if (!batch && is_improper(settings$prior)) control$powers <- numeric()
  check_printed_weights(control, settings$prior)
  refuse_clashes("srvm", list(
    settings = settings, method = method, control = control
  ))
  if (mould$outcome == "factor") refuse_class_weights(mould$weights)
  warn_inexact(control)
  warn_improper(settings$prior)
  n <- nrow(mould$x)
  sequence <- if (order == "given") seq_len(n) else shuffle(n, seed)
  if (fixes_bandwidths(settings)) {
    settings <- fix_bandwidths(
      settings, given, control, mould, sequence, started
    )
  }
  if (!batch) control <- usual_particles(control, learns_scales(settings))
  fit <- new_object(
    list(
      version = fit_version, call = plain_call(called),
      mould = mould_empty(mould),
      settings = settings, request = srvm_request(given, settings),
      control = control, order = order,
      data = fit_data(mould),
      sequence = sequence,
      seed = seed,
      simd = if (learns_scales(settings)) choose_simd(),
      runs = vector("list", if (batch) {
        control$chains
      } else {
        control$replicates * n_kernels(settings)
      }),
      time = 0L, status = "started", seconds = 0
    ),
    class = c(if (batch) c("kb_srvm_mcmc", "kb_mcmc"), "kb_srvm", "kb_fit")
  )
  if (!batch && is.null(given$reference)) fit <- start_sharing(fit)
  run_fit(fit, progress, started)
}

# The arguments with which the model can be fitted to other rows
srvm_request <- function(given, settings) {
  if (!is.null(given$reference)) {
    return(c(given[c("method", "order")], list(reference = settings)))
  }
  given$family <- settings$family
  given$reference <- NULL
  fit_request(given)
}

# The control that belongs to the method
check_srvm_control <- function(control, method) {
  if (is.null(control)) {
    control <- if (method == "smc") smc_control() else {
      mcmc_control(warmup = NULL, iter = NULL)
    }
  }
  other <- c(smc = "mcmc", mcmc = "smc")[[method]]
  if (inherits(control, paste0("kb_", other, "_control"))) {
    kb_abort(c(
      "{.arg control} must be made by {.fn {method}_control}.",
      x = "It was made by {.fn {other}_control}.",
      i = "For that sampler use {.code method = \"{other}\"}."
    ), "argument", argument = "control")
  }
  control <- check_class(control, paste0("kb_", method, "_control"),
    paste0("`", method, "_control()`"),
    arg = "control"
  )
  if (method == "mcmc" && control$n_temps > 1) {
    kb_abort(c(
      "{.arg n_temps} of {.arg control} must be 1.",
      x = "It is {control$n_temps}.",
      i = "{.fn srvm} has no parallel tempering."
    ), "argument", argument = "control")
  }
  if (method == "mcmc") settled_control(control) else control
}

# A random order drawn from the seed
shuffle <- function(n, seed) {
  with_local_seed(seed, sample.int(n))
}

# The printed weights assume a known rate
check_printed_weights <- function(control, prior) {
  if (identical(control$proposal, "paper") && is_learned_lambda(prior)) {
    kb_abort(c(
      "{.arg lambda} of {.arg prior} must be a number under
       {.code proposal = \"paper\"}.",
      x = "It is {.code {format(prior$lambda)}}, for which the papers print no
           weights.",
      i = "Give {.code srvm_prior(lambda = )} or {.fn srvm_prior_paper}."
    ), "argument", argument = "prior")
  }
}

# Warnings -------------------------------------------------------------------

warn_inexact <- function(control) {
  if (identical(control$proposal, "paper")) {
    kb_warn(c(
      "{.code proposal = \"paper\"} uses the printed weights, which do not
       target the posterior.",
      i = "They are for reproduction only: use {.code \"adapted\"}."
    ), "inexact")
  }
}

warn_improper <- function(prior) {
  if (is_improper(prior)) {
    kb_warn(c(
      "The prior is improper, and so is the posterior, whatever the data.",
      x = "The evidence is not defined, and the draws depend on where the
           variances are cut off.",
      i = "It is for reproduction only: use {.fn srvm_prior}."
    ), "improper")
  }
}
