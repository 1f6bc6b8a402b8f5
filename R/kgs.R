# kgs(): the Kernel Gibbs Sampler.

#' Bayesian kernel classification under label noise
#'
#' `kgs()` classifies when classes overlap and some training labels are wrong,
#' and tells the two apart; it finds the labels that are probably wrong, see
#' [label_noise()]. It extends the classifier of Graepel and Herbrich (2001),
#' which `nugget = 0` fits.
#'
#' @section The model:
#' f is a Gaussian process with kernel `kernel` plus the constant `bias`, on the
#' span of the training points' features. A point's class is the sign of f plus
#' noise, whose variance is the nugget, and its label is wrong with probability
#' q, independently for each row:
#' \deqn{p(y | f) = q + (1 - 2 q) \Phi(y f / \sqrt{nugget}).}{p(y | f) = q +
#' (1 - 2 q) Phi(y f / sqrt(nugget)).} The noise is for classes that overlap, q
#' for labels that contradict their surroundings. By default both are learned,
#' and with two classes so are the bandwidths of a Gaussian kernel, one for each
#' predictor (`kernel_gaussian("ard")`; one for all, `"learn"`, if there are
#' more than 20); their priors are [kgs_prior()] and `noise`.
#'
#' With C > 2 classes each has its own function, and a point belongs to the
#' class whose function plus noise is largest. The noise then has Gumbel's
#' distribution: probabilities are a softmax. A wrong label is any of the other
#' classes with the same probability, q / (C - 1). By default there is one
#' bandwidth, `kernel_gaussian("evidence")`: the most probable one, found before
#' the chains start from at most 1000 random rows. `"ard"` and `"learn"` are
#' also possible, but their chains mix slowly.
#'
#' `predict(type = "prob")` is the probability of the label as it would be
#' recorded, wrong labels included: what scores such as the log loss compare
#' with data. `type = "true_prob"` is that of the true class.
#'
#' @section The paper's model:
#' `nugget = 0` is the model of Graepel and Herbrich: a point's class is the
#' sign of \eqn{f(x) = \langle w, \phi(x) \rangle}{f(x) = <w, phi(x)>}, w
#' uniform on the unit sphere of the span, so that with e wrong labels among m
#' the likelihood is \deqn{q^e (1 - q)^{m - e}.}{q^e (1 - q)^(m - e).} It
#' depends on signs only: f has no scale, and the classifier no margin. With
#' q = 0 the posterior is uniform on the version space, the set of directions
#' that make no error. Where classes overlap, this model takes overlap for wrong
#' labels: its classes are good, but the probabilities of true classes are too
#' extreme.
#'
#' @section The samplers:
#' With a nugget, which it may learn, as well as bandwidths:
#' * `"leapfrog"`: Hamiltonian trajectories of f around a normal approximation
#'   of its posterior; slice sampling of the nugget and of rates, also along
#'   lines that f follows; Metropolis steps of bandwidths with which all else
#'   moves along. The approximation is found before the chains start, at the
#'   mode or, for bandwidths, by a short chain of at most 1000 random rows, and
#'   improved in the warmup. `"auto"` chooses it unless `nugget = 0`.
#' * `"block"`: for two classes with a known nugget and kernel, alternates f and
#'   the noise.
#'
#' With `nugget = 0`:
#' * `"hmc"`: exact trajectories that are refracted or reflected where a label
#'   turns from right to wrong, with no step size to tune. By far the fastest
#'   per effective draw up to a few thousand points. `"auto"` chooses it as far
#'   as the memory allows: beyond, an error of class `kb_error_memory` says what
#'   to do.
#' * `"circle"`: the paper's sampler, along great circles in random directions;
#'   `"ellipse"`: along ellipses through a draw from the prior. An iteration
#'   costs O(m r + m log m) with m points and rank r.
#' * `"coordinate"`: along lines in the directions of the principal axes of the
#'   posterior, estimated during the warmup; an iteration uses a tenth of them.
#'
#' @section Many points:
#' The features are spanned by at most `rank` of the points, chosen by pivoted
#' Cholesky factorisation: time and memory are O(m rank). `print()` shows the
#' share of the kernel that the span leaves unexplained; above 5 percent a
#' warning of class `kb_warning_rank` says that the fitted model differs from
#' that of the kernel. [diagnostics()] has R-hat of f at 20 training rows, of
#' bandwidths, q, the number of errors and the log likelihood. If the chains do
#' not agree, do not trust the probabilities: [`update()`][update.kb_kgs]
#' continues them.
#'
#' With `nugget = 0` and many more points than `rank` the posterior is rugged.
#' `"coordinate"` needs very many iterations to cross it: expect the warning
#' (`kb_warning_convergence`). The classes are then those of good classifiers,
#' but the probabilities are too extreme. `method = "hmc"` mixes within a
#' hundred iterations even then, but stores a Gram matrix of all points (8 m^2
#' bytes) and takes time of order m^2 per iteration: a second at m = 10 000.
#'
#' @param x A numeric matrix (rows are points), a data frame, a numeric vector
#'   (one column) or, as `formula`, a formula. Factors become indicators, one
#'   column per level.
#' @param y Classes: a factor, character or logical vector, one value per row of
#'   `x`. With two classes f is positive for the second level (`TRUE`, the last
#'   string).
#' @param formula,data A formula such as `class ~ .` and the data frame it is
#'   evaluated in.
#' @param kernel A kernel, see [kb_kernels]. `NULL`: a Gaussian kernel with
#'   bandwidth `"ard"`, with more than 20 predictors `"learn"` and with more
#'   than two classes `"evidence"`, see "The model"; with `nugget = 0` that of
#'   the median distance.
#' @param noise Prior of the rate of wrong labels, see [noise_beta()], or a
#'   known rate: a number from 0 to below (C - 1) / C. `NULL`: `noise_beta(1,
#'   9)`, or with `nugget = 0` a uniform prior, `noise_beta()`.
#' @param bias Constant added to the kernel, at least 0: the prior variance of
#'   an intercept where k(x, x) = 1.
#' @param nugget Variance of the noise of f, at least 0, or `"learn"`. `NULL`:
#'   `"learn"`, or 0 for a `method` that cannot learn it.
#' @param prior Priors of a nugget and of bandwidths that are learned, see
#'   [kgs_prior()].
#' @param weights `NULL`, or positive numbers, one per row, looked up in `data`
#'   first: row i stands for `weights[i]` rows (copies, see [kb_weights]). Only with
#'   the sampler `"leapfrog"`.
#' @param class_weights `NULL`, or a positive number for each class, by its
#'   name: its rows count as many times, which makes it more probable. Only with
#'   the sampler `"leapfrog"`.
#' @param method Sampler, see below.
#' @param rank Largest rank of the features: a whole number, or `NULL`: full
#'   rank for up to 1500 distinct points, 200 for more. With `"leapfrog"` 200,
#'   or 100 where the chains learn bandwidths, not with `"evidence"`; it uses as
#'   many as leave out a hundredth of a nugget that is small by its prior.
#' @param control Settings of the sampler, see [mcmc_control()]. Where lengths are
#'   left open, as by default, chains run on until the Monte Carlo error of
#'   predictions and parameters is at most 25% of their posterior standard deviation
#'   (see [convergence()]). With `"leapfrog"` they have a warmup of 200 iterations and
#'   are judged after 200, 400 and, if rows times (classes - 1) are at most 500, 800;
#'   with the other samplers after a warmup of 250 and 250, 500, 1000 and 2000.
#' @param scale `TRUE`: the predictors are standardised. Where bandwidths are
#'   learned the logarithm of those with a long tail is taken first, as in
#'   [bark()]; `print()` names them. `"linear"`: standardised without
#'   logarithms. `FALSE` leaves them untouched.
#' @param na.action `"omit"` leaves rows with missing values out and says how
#'   many, `"fail"` makes them an error. [stats::na.omit] and [stats::na.fail]
#'   mean the same.
#' @param seed Whole number that determines every draw; `NULL` takes one from
#'   R's generator. The result does not depend on the workers that run the
#'   chains.
#' @param progress Show a progress bar? `NULL`: in interactive sessions.
#' @param ... Not used: unknown arguments are errors.
#'
#' @return An object of class `kb_kgs`, `kb_mcmc` and `kb_fit`: a list of plain
#'   R data with, among others, `settings` (the frozen settings: scaling,
#'   kernel, basis), `runs` (one state per chain, with its draws), `seed` and
#'   `status` (`"complete"`, `"interrupted"` or `"time_limit"`). It can be saved
#'   with [saveRDS()] and used in another session, after `library(kernelbayes)`.
#'   Chains run in threads, or on [workers][kb_workers].
#'
#'   Methods: [`predict()`][predict.kb_kgs], [`plot()`][plot.kb_kgs],
#'   [`summary()`][summary.kb_kgs], [label_noise()], [bayes_point()],
#'   [reject_curve()], [`tidy()`][tidy.kb_kgs], `glance()` and `augment()`,
#'   [`as_draws()`][as_draws.kb_kgs], [`simulate()`][simulate.kb_fit],
#'   [`residuals()`][residuals.kb_fit] and `fitted()`,
#'   [`coef()`][coef.kb_kgs], [`logLik()`][logLik.kb_kgs], `nobs()`,
#'   `formula()`, [ess()], [diagnostics()], [timings()], and those of
#'   [rstantools][posterior_predict.kb_kgs].
#'
#' @template formula-terms
#' @section Errors:
#' Invalid input is an error of class `kb_error` and a more specific class, e.g.
#' `kb_error_argument`, `kb_error_missing`, `kb_error_infinite`,
#' `kb_error_outcome`; `kb_error_not_separable` where `noise = 0` and every
#' direction makes an error. A factor with more than 50 levels and more than
#' half as many levels as rows may identify the rows: it gives a warning
#' (`kb_warning_levels`). Columns that are constant in fitting are told, then and
#' where they vary in new rows, which count as having the same value
#' (`kb_message_constant`). An
#' interrupt or a time limit gives a warning (`kb_warning_interrupted`,
#' `kb_warning_time_limit`) and a fit with the draws so far, which
#' [`update()`][update.kb_kgs] continues.
#'
#' @references
#' Graepel, T. and Herbrich, R. (2001). The kernel Gibbs sampler. *Advances in
#' Neural Information Processing Systems* 13.
#'
#' Pakman, A. and Paninski, L. (2014). Exact Hamiltonian Monte Carlo for
#' truncated multivariate Gaussians. *Journal of Computational and Graphical
#' Statistics* 23, 518-542.
#'
#' Mohasel Afshar, H. and Domke, J. (2015). Reflection, refraction, and
#' Hamiltonian Monte Carlo. *Advances in Neural Information Processing Systems*
#' 28.
#'
#' @examples
#' moons <- sim_moons(80, flips = 0.1, seed = 1)
#' fit <- kgs(y ~ x1 + x2, moons, kernel = kernel_gaussian(0.5), seed = 1)
#' fit
#' predict(fit, moons[1:3, ], type = "prob")
#' @export
kgs <- function(x, ...) UseMethod("kgs")

#' @export
kgs.default <- function(x, ...) refuse_data(x, missing(x))

#' @rdname kgs
#' @export
kgs.formula <- function(formula, data, kernel = NULL, noise = NULL, bias = 1,
                        nugget = NULL, prior = kgs_prior(), weights = NULL,
                        class_weights = NULL, method = c(
                          "auto", "circle", "ellipse", "hmc", "block",
                          "coordinate", "leapfrog"
                        ), rank = NULL, control = mcmc_control(
                          warmup = NULL, iter = NULL
                        ), scale = TRUE, na.action = c("omit", "fail"),
                        seed = NULL, progress = NULL, ...) {
  started <- now()
  check_no_dots(...)
  mould <- mould_formula(formula, data, na.action, "factor",
    weights = rlang::enquo(weights)
  )
  kgs_fit(mould, given_arguments(), match.call(), started)
}

#' @rdname kgs
#' @export
kgs.matrix <- function(x, y) {
  started <- now()
  check_no_dots(...)
  mould <- mould_xy(x, y, na.action, "factor", weights = weights)
  kgs_fit(mould, given_arguments(), match.call(), started)
}
formals(kgs.matrix) <- c(alist(x = , y = ), formals(kgs.formula)[-(1:2)])

#' @rdname kgs
#' @export
kgs.data.frame <- kgs.matrix

#' @rdname kgs
#' @export
kgs.numeric <- kgs.matrix

#' @rdname kgs
#' @export
kgs.logical <- kgs.matrix

#' From a mould to a fit
#' @param given Arguments as in `kgs()`.
#' @noRd
kgs_fit <- function(mould, given, called, started) {
  progress <- check_progress(given$progress)
  seed <- draw_seed(given$seed)
  given$control <- check_class(given$control, "kb_mcmc_control",
    "`mcmc_control()`", "control"
  )
  given <- kgs_defaults(given, ncol(mould$x), nlevels(mould$y))
  settings <- call_with(kgs_settings, given, mould = mould)
  control <- settled_control(
    given$control, kgs_length(settings, nrow(mould$x))
  )
  fit <- new_kgs(mould, settings, control, seed, started, called)
  check_memory(
    if (settings$method == "hmc") as.double(nrow(mould$x))^2 else 0,
    "The Gram matrix of all points",
    "With {.code nugget = \"learn\"} time and memory are of order m and chains
     mix; {.code method = \"coordinate\"} needs no matrix, but does not mix."
  )
  check_memory(
    kgs_draws_size(fit), "The draws",
    "Set {.arg thin} in {.fn mcmc_control}, or a smaller {.arg rank}."
  )
  fit$request <- fit_request(given)
  run_fit(fit, progress, started)
}

new_kgs <- function(mould, settings, control, seed, started, called) {
  new_object(
    list(
      version = fit_version, call = plain_call(called),
      mould = mould_empty(mould), settings = settings, control = control,
      data = list(x = mould$x, y = mould$y, weights = mould$weights),
      sequence = seq_len(nrow(mould$x)), seed = seed,
      runs = vector("list", control$chains), time = 0L, status = "started",
      seconds = 0
    ),
    class = c(
      if (is_noisy(settings)) "kb_kgs_noisy", "kb_kgs", "kb_mcmc", "kb_fit"
    )
  )
}

refuse_inseparable <- function(error) {
  kb_abort(c(
    "No direction classifies all points correctly, as {.code noise = 0}
     requires.",
    x = "The classes overlap under this kernel, or equal points have different
         labels.",
    i = "Learn the noise ({.fn noise_beta}, the default), give it a positive
         rate, or allow a {.arg nugget} or a narrower kernel."
  ), "not_separable", parent = error)
}

# New rows for fits of kgs(): its chains continue from their last states, in the
# span of more points.

#' Add rows, or continue the chains
#'
#' With new rows the posterior is that of old and new rows together, under the
#' scaling, the kernel (including a median bandwidth), the noise prior and the
#' sampler of the first fit. The chains start from their last states, extended
#' to the span of all rows by draws from the prior along the new directions;
#' with few new rows this is close to the new posterior. After a short warmup
#' new draws are made.
#'
#' New points also become features until `rank` is reached; beyond that they do
#' not, and their unexplained part counts in the warning of [kgs()][kgs]. The
#' seed of the new chains is derived from that of the fit: the same calls give
#' the same result. Draws of the old posterior are not kept.
#'
#' @param object A fit of [kgs()].
#' @param newdata For formula fits: a data frame with predictors and response.
#' @param newx,newy For x/y fits: predictors and response.
#' @param iter Without new rows: number of further iterations of each chain;
#'   the result is identical to one run of the total length. `NULL`: an
#'   interrupted fit is run to its end, a complete fit is returned unchanged.
#'   With new rows: iterations of each chain after the warmup; `NULL`: as many
#'   as the fit has. With `until` and without new rows: iterations between
#'   checks, see [update.kb_mcmc()].
#' @param warmup With new rows: iterations before draws are kept, at least 0.
#'   `NULL`: a tenth of the first fit's warmup but at least 20; for
#'   `method = "coordinate"`, which learns its axes in the warmup, all of it.
#' @param na.action `"omit"` leaves new rows with missing values out and says how
#'   many, `"fail"` makes them an error. [stats::na.omit] and [stats::na.fail]
#'   mean the same.
#' @param time_limit Seconds after which this call stops; `NULL`: the limit in
#'   the fit's control.
#' @param progress Show a progress bar? `NULL`: in interactive sessions.
#' @param until `NULL`, or [convergence()]: the chains (also after new rows)
#'   continue until they have converged, see [update.kb_mcmc()].
#' @param ... Not used: unknown arguments are errors.
#'
#' @return A fit of all rows, with the new rows after the old.
#'
#' @section Errors:
#' As in [kgs()]. A new class is an error of class `kb_error_outcome`; `warmup`
#' without new rows is an error of class `kb_error_argument`.
#'
#' @seealso [acquire()] to choose rows to label.
#' @examples
#' # Active learning: label the most informative rows.
#' moons <- sim_moons(200, flips = 0.1, seed = 1, truth = TRUE)
#' pool <- moons[-(1:10), ]
#' control <- mcmc_control(chains = 2, iter = 500)
#' fit <- kgs(y ~ x1 + x2, moons[1:10, ],
#'   kernel = kernel_gaussian(0.5), control = control, seed = 1
#' )
#' for (round in 1:3) {
#'   chosen <- acquire(fit, pool, n = 5)$row
#'   fit <- update(fit, newdata = pool[chosen, ])
#'   pool <- pool[-chosen, ]
#' }
#' fit
#' mean(predict(fit, pool) == pool$clean)
#' @export
update.kb_kgs <- function(object, newdata = NULL, newx = NULL, newy = NULL,
                          iter = NULL, warmup = NULL,
                          na.action = c("omit", "fail"), time_limit = NULL,
                          progress = NULL, until = NULL, ...) {
  started <- now()
  refuse_new_formula(newdata)
  object <- checked_fit(object, ...)
  if (!is.null(time_limit)) time_limit <- check_seconds(time_limit)
  na.action <- check_na_action(na.action)
  progress <- check_progress(progress)
  until <- check_until(until)
  rows <- update_rows(object, newdata, newx, newy)
  if (is.null(rows)) {
    refuse_warmup(warmup)
    return(continue_chains(
      object, iter, progress, started, time_limit, until
    ))
  }
  if (!is.null(object$data$weights)) refuse_weighted_rows()
  kept <- complete_rows(rows, na.action)
  control <- extended_control(object, iter, warmup)
  if (nrow(kept$x) == 0) {
    return(object)
  }
  fit <- extended_fit(object, kept, rows$complete)
  if (is.null(fit$first_warmup)) fit$first_warmup <- fit$control$warmup
  fit$control <- control
  if (!is.null(until)) {
    return(keep_run(run_until(fit, until, NULL, progress, started, time_limit)))
  }
  run_fit(fit, progress, started, time_limit)
}

refuse_weighted_rows <- function() {
  kb_abort(c(
    "Rows cannot be added to a fit with {.arg weights}.",
    i = "Fit all rows again with {.fn kgs}."
  ), "not_defined")
}

refuse_warmup <- function(warmup) {
  if (!is.null(warmup)) {
    kb_abort(c(
      "{.arg warmup} would have no effect without new rows.",
      i = "Continued chains have already had their warmup."
    ), "argument", argument = "warmup")
  }
}

# Lengths of the new chains
extended_control <- function(fit, iter, warmup) {
  control <- fit$control
  if (!is.null(iter)) {
    control$iter <- check_count(iter, control$thin)
  }
  # Not a tenth of the last update's warmup: a tenth of a tenth is too short.
  first <- if (is.null(fit$first_warmup)) control$warmup else fit$first_warmup
  control$warmup <- if (!is.null(warmup)) {
    check_count(warmup, 0, .Machine$integer.max - control$iter)
  } else if (fit$settings$method %in% c("coordinate", "leapfrog")) {
    first
  } else {
    max(20L, first %/% 10L)
  }
  control
}

#' A fit that has not begun, of old and new rows
#' @param complete Which of the new rows are in `rows`.
#' @noRd
extended_fit <- function(old, rows, complete) {
  fit <- old
  fit$data <- list(
    x = rbind(old$data$x, rows$x),
    # c() of factors needs R 4.1
    y = factor(c(as.character(old$data$y), as.character(rows$y)),
      levels = old$mould$levels
    )
  )
  fit$sequence <- seq_len(nrow(fit$data$x))
  fit$mould <- count_rows(old$mould, complete)
  fit$mould <- append_to_mould(
    fit$mould, seq_len(nrow(old$data$x)), rows,
    nrow(old$data$x) + seq_len(nrow(rows$x))
  )
  fit$settings <- extended_settings(old$settings, fit$data$x, fit$data$y)
  fit$seed <- next_seed(old$seed)
  fit$starts <- lifted_starts(old, fit)
  fit$runs <- vector("list", length(old$runs))
  fit$time <- 0L
  fit$status <- "started"
  fit
}

#' The frozen settings, with a basis of the span of all points
#' @param x,y All points, in their own units, and their labels.
#' @noRd
extended_settings <- function(settings, x, y) {
  x <- scaling_x(settings$scaling, x)
  distinct <- x[distinct_rows(x)$first, , drop = FALSE]
  new <- distinct[is.na(which_pivot(settings$basis, distinct)), , drop = FALSE]
  basis <- extend_basis(settings$basis, new,
    span_tolerance(settings, distinct), settings$rank_limit
  )
  basis$unexplained <- unexplained_share(basis, distinct)
  settings$basis <- basis
  settings$explained <- nugget_explained(settings, x)
  if (is_noisy(settings)) {
    settings$noisy <- learn_noisy(settings, x, y, NULL, settings$noisy)
    settings$basis$unexplained <- noisy_unexplained(settings, distinct)
  }
  check_basis(settings$basis)
  settings
}

next_seed <- function(seed) {
  with_local_seed(seed, sample.int(.Machine$integer.max, 1))
}

# Lifted states ----------------------------------------------------------------

# Starting points of the chains of a further fit: their last states and, along
# the new axes, draws from the prior
#
# The block sampler has no state in these coordinates: it starts at the labels;
# leapfrog chains start at the new mode.
lifted_starts <- function(old, new) {
  if (old$settings$method %in% c("block", "leapfrog")) {
    return(NULL)
  }
  axes <- common_axes(old, new)
  with_local_seed(new$seed, {
    lapply(old$runs, function(run) {
      if (is.null(run)) {
        return(NULL)
      }
      lift(run$levels[[1]]$g, axes, kgs_functions(old))
    })
  })
}

# The vectors of the functions one after the other, with new axes
#
# Direction and length of a standard normal vector are independent. The length
# in the circle sampler is arbitrary, so it is drawn again.
lift <- function(g, axes, functions) {
  g <- g * sqrt(stats::rchisq(1, length(g)) / sum(g^2))
  g <- matrix(g, ncol = functions)
  out <- matrix(stats::rnorm(axes$size * functions), axes$size)
  out[axes$to, ] <- g[axes$from, ]
  as.double(out)
}

#' The axes of the old features among the new
#'
#' The axes of the span keep their numbers. The axes of single rows, from the
#' nugget, follow them in the order of the points.
#' @return List: `from` and `to` of the old axes, and the new `size`.
#' @noRd
common_axes <- function(old, new) {
  span <- seq_len(kgs_rank(old))
  if (old$settings$nugget == 0) {
    return(list(from = span, to = span, size = kgs_rank(new)))
  }
  rows <- seq_len(nrow(old$data$x))
  list(
    from = c(span, kgs_rank(old) + kgs_data(old)$point),
    to = c(span, kgs_rank(new) + kgs_data(new)$point[rows]),
    size = kgs_rank(new) + nrow(new$data$x)
  )
}
