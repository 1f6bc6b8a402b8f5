# kgs(): the Kernel Gibbs Sampler.

#' Bayesian kernel classification under label noise
#'
#' `kgs(y ~ ., data)` classifies when classes overlap and some training labels are
#' wrong, and tells the two apart: `predict(fit, newdata, type = "prob")` has
#' probabilities, [label_noise()] the labels that are probably wrong. It extends the
#' classifier of Graepel and Herbrich (2001), which `nugget = 0` fits.
#' @section The model:
#' f is a Gaussian process with kernel `kernel` plus the constant `bias`, on the
#' span of the training points' features. A point's class is the sign of f plus
#' noise, whose variance is the nugget, and its label is wrong with probability
#' q, independently for each row:
#' \deqn{p(y | f) = q + (1 - 2 q) \Phi(y f / \sqrt{nugget}).}{p(y | f) = q +
#' (1 - 2 q) Phi(y f / sqrt(nugget)).} The noise is for classes that overlap, q
#' for labels that contradict their surroundings. By default both are learned,
#' and with two classes so are the bandwidths of a Gaussian kernel, one for each
#' predictor; their priors are [kgs_prior()] and `noise`.
#'
#' With C > 2 classes each has its own function, and a point belongs to the
#' class whose function plus noise is largest. The noise then has Gumbel's
#' distribution: probabilities are a softmax. A wrong label is any of the other
#' classes with the same probability, q / (C - 1). By default there is one
#' bandwidth, `kernel_gaussian("evidence")`: the most probable one, found before
#' the chains start from at most 1000 random rows.
#'
#' `predict(type = "prob")` is the probability of the label as it would be
#' recorded, wrong labels included: what scores such as the log loss compare
#' with data. `type = "true_prob"` is that of the true class.
#'
#' With `nugget = 0`, the paper's model, a point's class is the sign of f, and with e
#' wrong labels among m the likelihood is \eqn{q^e (1 - q)^{m - e}}{q^e (1 - q)^(m -
#' e)}. Where classes overlap it takes overlap for wrong labels: its classes are
#' good, but the probabilities of true classes are too extreme.
#' @section The samplers:
#' With a nugget, which it may learn, as well as bandwidths:
#' * `"leapfrog"`: Hamiltonian trajectories of f around a normal approximation of its
#'   posterior, slice sampling of the nugget and of rates, Metropolis steps of
#'   bandwidths. `"auto"` chooses it unless `nugget = 0`.
#' * `"block"`: for two classes with a known nugget and kernel, alternates f and
#'   the noise.
#'
#' With `nugget = 0`:
#' * `"hmc"`: exact trajectories, refracted or reflected where a label turns from right
#'   to wrong. `"auto"` chooses it as far as the memory allows (8 m^2 bytes for m
#'   points, otherwise `kb_error_memory`).
#' * `"circle"`: the paper's sampler, along great circles; `"coordinate"`: along the
#'   principal axes of the posterior, estimated during the warmup.
#'
#' The features are spanned by at most `rank` of the points, chosen by pivoted
#' Cholesky factorisation: time and memory are O(m rank). `print()` shows the share
#' of the kernel that the span leaves unexplained; above 5 percent a warning of class
#' `kb_warning_rank` says that the fitted model differs from that of the kernel. If
#' the chains do not agree ([diagnostics()]), do not trust the probabilities:
#' [`update()`][update.kb_kgs] continues them. The article `defaults` has the reasons
#' for the priors and notes on these samplers.
#' @inheritParams bark
#' @param y Classes: a factor, character or logical vector, one value per row of
#'   `x`. With two classes f is positive for the second level (`TRUE`, the last
#'   string).
#' @param formula,data A formula such as `class ~ .` and the data frame it refers to.
#' @param kernel A kernel, see [kb_kernels]. `NULL`: a Gaussian kernel with
#'   bandwidth `"ard"`, one per predictor; with more than 20 predictors `"learn"`, one
#'   for all, and with more than two classes `"evidence"`; with `nugget = 0` that of the
#'   median distance.
#' @param noise Prior of the rate of wrong labels, see [noise_beta()], or a
#'   known rate: a number from 0 to below (C - 1) / C. `NULL`: `noise_beta(1,
#'   9)`, or with `nugget = 0` a uniform prior, `noise_beta()`.
#' @param bias Constant added to the kernel, at least 0: the prior variance of
#'   an intercept where k(x, x) = 1.
#' @param nugget Variance of the noise of f, at least 0, or `"learn"`. `NULL`:
#'   `"learn"`, or 0 for a `method` that cannot learn it.
#' @param prior Priors of a nugget and of bandwidths that are learned: [kgs_prior()].
#' @param weights `NULL`, or positive numbers, one per row, looked up in `data`
#'   first: row i stands for `weights[i]` rows (copies, see [kb_weights]). Only with
#'   the sampler `"leapfrog"`.
#' @param class_weights `NULL`, or a positive number for each class, by its
#'   name: its rows count as many times, which makes it more probable. Only with
#'   the sampler `"leapfrog"`.
#' @param method Sampler, see *The samplers*.
#' @param rank Largest rank of the features: a whole number, or `NULL`: full rank for
#'   up to 1500 distinct points, 200 for more. With `"leapfrog"` at most 200, or 100
#'   where the chains learn bandwidths, not with `"evidence"`.
#' @param control Settings of the sampler, see [mcmc_control()]. Where lengths are
#'   left open, as by default, chains run on as those of [bark()] do. With
#'   `"leapfrog"` they have a warmup of 200 iterations and are judged after 200, 400
#'   and, if rows times (classes - 1) are at most 500, 800; with the other samplers
#'   after a warmup of 250 and 250, 500, 1000 and 2000.
#' @param scale `TRUE`: the predictors are standardised, where bandwidths are
#'   learned after logarithms as in [bark()]. `"linear"`: standardised without
#'   logarithms. `FALSE` leaves them untouched.
#' @return An object of class `kb_kgs`, `kb_mcmc` and `kb_fit`, with, among others,
#'   `settings` (the frozen settings: scaling, kernel, basis), `runs` (one state per
#'   chain, with its draws), `seed` and `status` (`"complete"`, `"interrupted"` or
#'   `"time_limit"`), for [`predict()`][predict.kb_kgs], [`plot()`][plot.kb_kgs],
#'   [`summary()`][summary.kb_kgs], [label_noise()], [bayes_point()],
#'   [reject_curve()] and other methods.
#' @template formula-terms
#' @template errors-fit
#' @section Further conditions:
#' `kb_error_not_separable` where `noise = 0` and every direction makes an error.
#' @references
#' Graepel, T. and Herbrich, R. (2001). The kernel Gibbs sampler. *Advances in
#' Neural Information Processing Systems* 13.
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
                          "auto", "circle", "hmc", "block", "coordinate",
                          "leapfrog"
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
#' `update(fit, newdata)` has the posterior of old and new rows together, under the
#' scaling, the kernel (including a median bandwidth), the noise prior and the
#' sampler of the first fit. The chains start from their last states; after a short
#' warmup new draws are made.
#'
#' New points also become features until `rank` is reached. The seed of the new
#' chains is derived from that of the fit. Draws of the old posterior are not kept.
#' @param object A fit of [kgs()].
#' @param newdata For formula fits: a data frame with predictors and response.
#' @param newx,newy For x/y fits: predictors and response.
#' @param iter Without new rows as in [update.kb_mcmc()]. With new rows: iterations
#'   of each chain after the warmup; `NULL`: as many as the fit has.
#' @param warmup With new rows: iterations before draws are kept, at least 0. `NULL`:
#'   a tenth of the first fit's warmup but at least 20; for `method = "coordinate"`
#'   all of it.
#' @param na.action `"omit"` leaves new rows with missing values out and says how
#'   many, `"fail"` makes them an error. [stats::na.omit] and [stats::na.fail]
#'   mean the same.
#' @param time_limit Seconds after which this call stops; `NULL`: the limit in
#'   the fit's control.
#' @param progress Show a progress bar? `NULL`: in interactive sessions.
#' @param until `NULL`, or [convergence()]: the chains (also after new rows)
#'   continue until they have converged, see [update.kb_mcmc()].
#' @param ... Not used: unknown arguments are errors.
#' @return A fit of all rows, with the new rows after the old.
#' @section Errors:
#' As in [kgs()]; `kb_error_outcome` for a new class.
#' @seealso [acquire()] to choose rows to label.
#' @examples
#' # Active learning: label the most informative rows.
#' moons <- sim_moons(100, flips = 0.1, seed = 1)
#' fit <- kgs(y ~ x1 + x2, moons[1:20, ], kernel = kernel_gaussian(0.5), seed = 1)
#' chosen <- acquire(fit, moons[21:100, ], n = 5)$row
#' update(fit, newdata = moons[20 + chosen, ])
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
