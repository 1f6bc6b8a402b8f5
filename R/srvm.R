# srvm(): the sequential relevance vector machine.

#' Sequential Bayesian kernel regression
#'
#' `srvm(y ~ ., data)` fits a sparse kernel regression to rows that arrive one at a time
#' (Vermaak, Godsill and Doucet, 2003),
#' \deqn{y_s = \beta_0 + \sum_{j \in S} \beta_j K(x_s, x_j) + \epsilon_s.}
#' Each particle of a sequential Monte Carlo sampler is a hypothesis about the set
#' \eqn{S} of kernel centres, a subset of the rows seen so far. The number of
#' centres, the noise, the scale of the coefficients and a bandwidth for each predictor
#' are learned, by default beside a linear part. The coefficients are integrated out.
#' [`update(fit, newdata = )`][update.kb_srvm] takes in further rows.
#' @section The model:
#' \eqn{\epsilon_s \sim N(0, \sigma^2 / w_s)} with `weights` w,
#' \eqn{\beta_j \sim N(0, \tau^2)} independently (the intercept too), \eqn{\sigma^2} and
#' \eqn{\tau^2} inverse gamma or fixed; the prior of \eqn{S} is in [srvm_prior()].
#'
#' By default, with `kernel_matern("ard")`, each predictor l has a bandwidth b_l of its
#' own; any other stationary kernel with the bandwidth `"ard"` does the same, except the
#' periodic one. Predictors that do not matter get large ones. The inverse bandwidths
#' have independent half-t priors (`ard` of [srvm_prior()]); f then has a linear part,
#' too, with p slopes on the predictors as the kernel sees them (`linear`).
#' [`tidy()`][tidy.kb_srvm] and [`as_draws()`][as_draws.kb_srvm] have the bandwidths, in
#' units of the predictors as the model sees them; [coef()][coef.kb_srvm] is not
#' defined. With a bounded `memory` bandwidths are learned from the first rows and then
#' fixed, see [srvm_memory()]. A step costs O(N t k (p + k)) at row t with N particles.
#'
#' With a factor of two classes the model is probit regression: the second level
#' has probability \eqn{\Phi(f(x))}. Every particle holds a latent response for each
#' row, and all are refreshed before every step, which costs O(N t k) unless `memory`
#' bounds it.
#'
#' With `srvm_prior(df = )` the noise is Student's t with that many degrees of freedom,
#' or with `df = "learn"` unknown ones: \eqn{\sigma} is then its scale. Every particle
#' holds a weight for each row, refreshed before every step, which costs O(N t k^2).
#'
#' Sparse means that each hypothesis has few centres where few explain the data: a priori
#' their number is few or many, and the data decide ([srvm_prior()]).
#' f is an average over hypotheses; [sparsify()] finds one small set of kernels for it,
#' and [inclusion()] ranks the centres. Where many responses are the same number, which
#' `print()` says, the noise may be learned as too small for the others.
#'
#' `sigma()` is the noise of a row of weight 1. A row of any weight counts as one
#' row, in `memory` too. The default prior of the noise suits the mean weight of the
#' first call; the response is standardised without weights. An offset, `y ~ x +
#' offset(o)`, is a known part of f, in units of the response (for two classes of f).
#' [predict()][predict.kb_srvm] and [update()][update.kb_srvm] need the weights and
#' offsets of their rows. Results by row have the offset, but not `coef()`.
#' @section The sampler:
#' At row t each particle's set stays as it is or gains the new row, with the
#' probabilities of the target itself. Its weight is then exact: the product over
#' rows of mean weights estimates the evidence. Particles are resampled when their
#' effective sample size falls below a threshold. A row enters gradually: it pauses
#' when its likelihood has the power 0.05, and there each particle is refreshed by a
#' Gibbs sweep and by reversible-jump moves, which leave the posterior invariant (with
#' learned bandwidths by about 50/t rounds at row t: at most late rows by none).
#' [smc_control()] has the settings and other proposals; the article `srvm-steps`
#' says how far to trust the result.
#'
#' `method = "mcmc"` draws from the same posterior, given all rows at once, by
#' reversible-jump Markov chains: each iteration tries `n_moves` births, deaths or swaps
#' of a centre, moves the coefficients' variance and refreshes coefficients, variances,
#' latent responses and weights of rows. Chains start at draws from the prior. They give
#' no evidence and cannot add rows; [`update(iter = )`][update.kb_mcmc] continues them,
#' and [diagnostics()] has R-hat and effective sample sizes. For a fixed data set they
#' are often the more efficient choice.
#' @section Several kernels:
#' Given a list of kernels, `srvm()` averages over them: each has its own filter, and
#' the estimates of their evidence give the posterior
#' \eqn{p(h | y) \propto p(h) \hat{Z}_h} over kernels, row by row
#' ([kernel_posterior()]). Every result of the fit is an average with these weights, the
#' path of `evidence()` too. The prior weights p(h) are equal unless
#' `srvm_prior(kernels = )` gives others. A bandwidth `"learn"`, as in
#' `kernel_gaussian("learn")`, means five kernels, with bandwidths of 1/8, 1/4, 1/2, 1
#' and 2 times the median distance ([bandwidth_median()]), fixed at the first call.
#'
#' Each kernel is first tried with a fraction `pilot` of the particles (see
#' [smc_control()]); those that may be probable run again with the remaining ones.
#' All have `particles` particles if the first call has fewer than 50 rows, memory is
#' bounded, or `pilot = 0`, which suits streams whose later rows may favour another
#' kernel. A fit that is stopped while kernels run again holds the results of the
#' pilot until `update()` completes it. Kernels run in parallel on
#' [workers][kb_workers]. A replicate is one filter for each kernel; only replicates
#' whose filters are at the same row are used.
#'
#' A [kernel_dictionary()] is one model instead, in which each centre has a kernel from
#' the dictionary: the function may be smooth in one place and wiggly in another.
#' [kernel_posterior()] is then the share of centres that each kernel has, and
#' [inclusion()] has a column for each kernel.
#' @inheritParams bark
#' @param y Response, one value per row of `x`: numbers, or a factor (or text,
#'   or logical) of two classes.
#' @param formula,data A formula such as `y ~ .` and the data frame of its variables.
#' @param kernel A kernel, see [kb_kernels], a list of kernels to average over,
#'   or a [kernel_dictionary()] of kernels in one model. Bandwidths are in the units of
#'   the standardised predictors if `scale = TRUE`. `NULL`: `kernel_matern("ard")`.
#'   Without moves (`n_moves = 0`), but with an unbounded memory,
#'   `kernel_gaussian("learn")`; with `proposal = "paper"` or an improper prior
#'   `kernel_gaussian("median")`. A kernel from [kernel_custom()], alone or in a sum
#'   or product, needs all rows at once (`update()` cannot add rows that it does not
#'   know), and as many coordinates as rows: it is for hundreds of rows. The kernel
#'   sees standardised predictors.
#' @param prior Prior, see [srvm_prior()].
#' @param method `"smc"`, the sequential sampler, or `"mcmc"`, the batch sampler.
#' @param control Settings of the sampler, from [smc_control()] or
#'   [mcmc_control()]. `NULL`: the defaults of `smc_control()`, or four chains with a
#'   warmup of 250 iterations that are judged after 250, 500, 1000 and 2000, as in
#'   [bark()] (see [convergence()]).
#' @param order `"given"`, or `"random"`: an order of the rows drawn from `seed`.
#' @param scale `TRUE`: the predictors and a numeric response are standardised, with
#'   a bandwidth for each predictor after logarithms as in [bark()]. `"linear"`:
#'   standardised without logarithms. Results are in the original units. `FALSE` leaves
#'   both untouched; the mean of the response should then not be far from 0
#'   (`kb_warning_offset`), since the intercept has the same prior as the coefficients.
#' @param intercept Include the intercept?
#' @param family `gaussian()` or `binomial("probit")`, or their names `"gaussian"`,
#'   `"probit"`. `NULL`: probit for two classes, otherwise gaussian (also for the
#'   numbers 0 and 1, with a message).
#' @param memory Which rows of a stream to forget, from [srvm_memory()]; default none.
#' @param reference A fit (or its `settings`) whose kernel, prior, scaling,
#'   intercept, family and memory are used as they are. They are computed at the
#'   first call and kept by `update()`: fits that share them and take rows in the
#'   order given are identical however the rows are split over calls.
#' @param weights `NULL`, or positive numbers, one per row, that divide the
#'   variance of the row's noise (precision, see [kb_weights]). Numeric responses only.
#'   In the formula interface they are looked up in `data` first.
#' @param offset With `x` and `y`: `NULL`, or a number per row that is added to
#'   f. A formula has it itself.
#' @return An object of class `kb_srvm` and `kb_fit` (of chains `kb_srvm_mcmc` and
#'   `kb_mcmc` before these), with, among others, `settings` (the frozen settings),
#'   `runs` (one state per replicate or chain; with several kernels one for each
#'   kernel of the first replicate, then of the second), `seed`, `status`
#'   (`"complete"`, `"interrupted"` or `"time_limit"`) and `time` (rows processed),
#'   for [`predict`][predict.kb_srvm], [`plot`][plot.kb_srvm],
#'   [`update`][update.kb_srvm], the [accessors][evidence] and other methods.
#' @template formula-terms
#' @template errors-fit
#' @section Further conditions:
#' [kb_combinations] lists what is refused. `proposal = "paper"` warns with class
#' `kb_warning_inexact`, [srvm_prior_paper()] with `kb_warning_improper`.
#' * `kb_warning_low_ess`: the effective sample size was below 5% of the particles
#'   at some row of this call, or is below 10% at the last. Estimates are then noisy,
#'   and the standard error of the evidence may be too small. Raise `cess_threshold` of
#'   [smc_control()] if it is below its default; otherwise use more particles or more
#'   stops (`powers`).
#' * `kb_warning_no_moves`: with `n_moves = 0` the particles descend from fewer than
#'   10% of those at the start. They share centres among the early rows, which are never
#'   revised, and the log evidence is too low.
#' * `kb_warning_no_spread`: one row, or responses that are all equal, do not determine
#'   the scale of the response, so 1 is used.
#' @references
#' Vermaak, J., Godsill, S. J. and Doucet, A. (2003). Sequential Bayesian
#' kernel regression. Advances in Neural Information Processing Systems 16.
#'
#' Vermaak, J., Godsill, S. J. and Doucet, A. (2003). Radial basis function
#' regression using trans-dimensional sequential Monte Carlo. IEEE Workshop on
#' Statistical Signal Processing.
#' @examples
#' data <- sim_sinc(50, seed = 1)
#' fit <- srvm(y ~ x, data, control = smc_control(particles = 100), seed = 1)
#' fit
#' predict(fit, data.frame(x = c(-5, 0, 5)), interval = "credible")
#' plot(fit)
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
