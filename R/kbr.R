# kbr(): kernel Bayes' rule.

#' Kernel Bayes' rule
#'
#' `kbr(pairs)` computes the posterior of a state given an observation when prior and
#' likelihood are known only through samples: pairs of states and observations, such as
#' those of [kbr_simulate()], and perhaps a sample from the prior. `predict(fit, y)` has
#' the means, quantiles, modes, densities and draws of the weighted sample of states. No
#' density is needed.
#' @section Adjusted states:
#' By default (`method = "adjusted"`) states move with the observation: regression
#' adjustment of approximate Bayesian computation (Beaumont, Zhang and Balding, 2002;
#' Blum and François, 2010), with kernels. Kernel ridge regression on the
#' observations gives their mean m(y) and, where that helps, their standard deviation
#' s(y). With \eqn{r_i}, the residual of pair i from a regression without it, in
#' units of s, the posterior at y consists of the states \deqn{m(y) + s(y)\,r_i,
#' \quad p_i(y) \propto \omega_i \exp(-|z_i - z(y)|^2 / (2 k h^2)),}{m(y) + s(y) r_i
#' with p_i(y) ~ omega_i exp(-|z_i - z(y)|^2 / (2 k h^2)),} \eqn{\omega}{omega} the
#' prior's weights of the pairs and z the k predicted means, or also squares, of the
#' states, or the observation. What is not given is chosen by left-out pairs:
#' `print()` says what, [diagnostics()][diagnostics.kb_kbr] has the scores, and
#' [calibrate()] tests the result. States with one bound and a long tail are adjusted
#' as logarithms; of others what lies beyond a bound is reflected there.
#'
#' The other methods leave the states where they are and weigh them. They are the
#' default for rotations, for kernel matrices, for fewer than 20 pairs, and if
#' `delta`, a schedule as `eps` or `normalize = FALSE` is given.
#' @section Bounds of the states:
#' Means, quantiles, draws, densities and plots stay within `support`. If it is
#' not given, the ends of each column at which the density of the states does
#' not fall to zero are found, as those of a uniform prior; `print()` shows them. The
#' bound is then just beyond the outermost state, at the roundest number there. Whole
#' numbers and points of a grid have their bounds half a step beyond. Columns of few
#' values have none. Positive columns with a long tail stay positive. A series that
#' swings, as a sine, has edges, because it stays longest at its turning points. The
#' article `sbi` says how edges are found, and how often one is missed or invented.
#' @section The rule:
#' With `method = "kbr"`, pairs \eqn{(X_i, Y_i)}, i = 1..n, a sample \eqn{U_j} from the
#' prior with weights \eqn{\gamma_j}, and kernel matrices \eqn{G_X}, \eqn{G_Y} and
#' \eqn{G_{XU}},
#' \deqn{\mu = (G_X + n \epsilon I)^{-1} G_{XU} \gamma, \quad
#' w(y) = L (L^2 + \delta I)^{-1} \Lambda k_Y(y), \quad
#' L = \Lambda G_Y, \; \Lambda = \mathrm{diag}(\mu)}{mu = (G_X + n eps I)^-1
#' G_XU gamma, w(y) = L (L^2 + delta I)^-1 Lambda k_Y(y), L = Lambda G_Y, Lambda
#' = diag(mu)}
#' (Fukumizu, Song and Gretton, 2013). With
#' `method = "iw"` (Xu, Chen, Doucet and Gretton, 2022) \eqn{D = \max(\mu, 0)}{D
#' = max(mu, 0)} and \eqn{w = D R (R' D R + \delta I)^{-1} \phi_Y(y)}{w = D R
#' (R'DR + delta I)^-1 phi_Y(y)}, where R holds the features of the
#' observations. The posterior's kernel mean is
#' \eqn{\sum_i w_i(y) k_X(\cdot, X_i)}{sum_i w_i(y) k_X(., X_i)}.
#'
#' **Weights of these two may be negative**: usually about half of them are, with a
#' quarter of the absolute mass, and this does not vanish with n. They are never
#' clipped unless you ask for it. Moments use weights divided by their sum.
#' [diagnostics()][diagnostics.kb_kbr] reports the negative share, and whether the
#' prior has as much influence as it should: with all features kept, the weights stop
#' depending on it as `delta` goes to 0.
#' @param x The states to be inferred, one row per pair: a numeric matrix, a
#'   data frame of numeric columns or a vector; or a formula with states on the
#'   left and observations on the right, `x1 + x2 ~ y1 + y2`; or pairs from
#'   [kbr_simulate()]. For data that do not fit into memory see [kbr_chunks].
#' @param y The observations, one per row of `x`: a numeric matrix, a data frame
#'   (factors become indicators) or a vector. Optional if `kernel_y` is a
#'   matrix.
#' @param formula,data Formula as above and the data frame it is evaluated in.
#' @param kernel_x,kernel_y Kernels of states and observations, see
#'   [kb_kernels], or their n x n kernel matrices. For rotations as states, `x`
#'   has 9 columns (the matrix, column by column) and `kernel_x` is
#'   [kernel_rotation()].
#' @param prior `NULL`: the distribution of the states themselves. Otherwise a
#'   list of `points` (J x d, as `x`) and `weights` (J numbers, divided by their
#'   sum; `NULL`: all equal), or a [kernel_mean()]. If `kernel_x` is a matrix: a
#'   list of `gram`, the n x J kernel matrix of states and prior points (`NULL`:
#'   the states themselves), and `weights`.
#' @param eps,delta Regularisation, positive numbers as in the formula; or
#'   [kbr_schedule()] as `eps`, which gives both. The defaults are `eps` = 0.1 / n,
#'   `delta` = 2 `eps`, and 1e-3 for `method = "iw"`. [tune_kbr()] chooses by
#'   cross-validation.
#' @param rank `"full"` keeps both kernels exactly, in O(n^3). A number r: features
#'   from pivoted incomplete Cholesky factors, with at most r columns, in O(n r^2)
#'   once, then O(r^2) per observation for means and standard deviations, O(n r) for
#'   weights. `"auto"`: full up to n = 300; above that until `tol` = 1e-6 of the
#'   kernel's trace is left, at most 500.
#' @param tol `NULL`, or the share of the kernel's trace, from 0 to 1, that the
#'   factorisation may leave unexplained: it alone decides, with no bound on the rank.
#' @param method `"adjusted"`, `"kbr"` or `"iw"`, see above. `NULL`: `"adjusted"`
#'   where it is defined.
#' @param support Lower and upper bounds of the states, two numbers for all
#'   columns or a matrix of two rows and d columns; `-Inf` and `Inf` where there
#'   are none. `"none"`: no bounds. `NULL`: those of `x` if it is from
#'   [kbr_simulate()] and has them; otherwise those that are found, see below.
#' @param summaries What stands for the observations: `"none"`, themselves;
#'   `"learn"`, summaries that [kdr()] learns; or a result of [kdr()] of the same
#'   columns. `NULL`: with `"adjusted"` and more than 10 columns, learned
#'   summaries if they lower the energy score of left-out pairs; otherwise
#'   `"none"`.
#' @param normalize Divide weights by their sum? `FALSE` leaves moments
#'   unnormalised.
#' @param scale Standardise states and observations before the kernels see
#'   them? Results are in the units of `x`. `NULL`: `TRUE` for `"adjusted"`,
#'   after logarithms of observations with a long tail; otherwise `FALSE`.
#' @param seed Whole number or `NULL`, as in the other fits; recorded. Only draws
#'   of `"adjusted"` use random numbers.
#' @inheritParams bark
#' @return An object of class `kb_kbr` and `kb_fit`, with `settings`, `data` (`x` and
#'   `y`), `prior`, `features` (factors of both kernels), `mu`, and `posterior` or
#'   `adjustment` (quantities used for every observation), of memory O(n r), for
#'   [`predict()`][predict.kb_kbr], [`plot()`][plot.kb_kbr],
#'   [`update()`][update.kb_kbr] (another prior, without new factors),
#'   [`diagnostics()`][diagnostics.kb_kbr], [calibrate()],
#'   [prior_predictive_check()], [posterior_predictive_check()] and other methods.
#' @template formula-terms
#' @section Conditions:
#' `kb_error_outcome` for states that are no numbers, `kb_error_gram` for matrices
#' that are no kernel matrices. A rank that leaves more than 5 percent of a kernel
#' unexplained gives a warning (`kb_warning_rank`). Observations that are constant in
#' fitting are told, then and where they vary in new rows, which count as having the
#' same value (`kb_message_constant`).
#' @references
#' Beaumont, M. A., Zhang, W. and Balding, D. J. (2002). Approximate Bayesian
#' computation in population genetics. *Genetics* 162, 2025-2035.
#'
#' Blum, M. G. B. and François, O. (2010). Non-linear regression models for
#' approximate Bayesian computation. *Statistics and Computing* 20, 63-73.
#'
#' Fukumizu, K., Song, L. and Gretton, A. (2013). Kernel Bayes' rule: Bayesian
#' inference with positive definite kernels. *Journal of Machine Learning
#' Research* 14, 3753-3783.
#'
#' Xu, L., Chen, Y., Doucet, A. and Gretton, A. (2022). Importance weighted
#' kernel Bayes' rule. *International Conference on Machine Learning* 39.
#' @examples
#' # x is standard normal, y = x + 0.7 e; at y = 1 the posterior mean is 0.67
#' pairs <- kbr_simulate(
#'   function(n) rnorm(n), function(x) x + 0.7 * rnorm(length(x)),
#'   n = 500, seed = 1
#' )
#' fit <- kbr(pairs)
#' predict(fit, 1)
#' plot(fit, 1)
#'
#' # another prior, known by a sample
#' other <- update(fit, prior = list(points = rnorm(200, 0.5, 0.5)))
#' predict(other, 1)
#' @order 1
#' @export
kbr <- function(x, ...) UseMethod("kbr")

#' @export
kbr.default <- function(x, ...) refuse_data(x, missing(x))

#' @rdname kbr
#' @export
kbr.formula <- function(formula, data, kernel_x = kernel_gaussian(),
                        kernel_y = kernel_gaussian(), prior = NULL, eps = NULL,
                        delta = NULL, rank = "auto", tol = NULL,
                        method = NULL, support = NULL, summaries = NULL,
                        normalize = TRUE, scale = NULL,
                        na.action = c("omit", "fail"), seed = NULL,
                        progress = NULL, ...) {
  started <- now()
  check_no_dots(...)
  mould <- mould_formula(formula, data, na.action, "matrix")
  kbr_fit(mould, given_arguments(), match.call(), started)
}

#' @rdname kbr
#' @export
kbr.matrix <- function(x, y = NULL) {
  started <- now()
  check_no_dots(...)
  mould <- mould_pairs(x, y, kernel_y, na.action)
  kbr_fit(mould, given_arguments(), match.call(), started)
}
formals(kbr.matrix) <- c(alist(x = , y = NULL), formals(kbr.formula)[-(1:2)])

#' @rdname kbr
#' @export
kbr.data.frame <- kbr.matrix

#' @rdname kbr
#' @export
kbr.numeric <- kbr.matrix

#' From a mould (`x`: observations, `y`: states) to a fit
#' @param given Arguments as in `kbr()`.
#' @noRd
kbr_fit <- function(mould, given, called, started) {
  check_progress(given$progress)
  seed <- draw_seed(given$seed)
  settings <- call_with(kbr_settings, given, mould = mould)
  fit <- new_object(
    list(
      version = fit_version, call = plain_call(called),
      mould = mould_empty(mould), settings = settings,
      data = list(states = mould$y, observations = mould$x), seed = seed,
      time = nrow(mould$y), sequence = seq_len(nrow(mould$y)),
      status = "complete"
    ),
    class = c(kbr_class(settings$method), "kb_kbr", "kb_fit")
  )
  if (!is.matrix(given$kernel_y)) fit$far <- learn_far(mould$x)
  fit <- choose_summaries(fit, given)
  fit$features <- kbr_features(fit, given$kernel_x, given$kernel_y)
  fit$gram_states <- crossprod_cpp(fit$features$states$factor)
  fit <- set_prior(fit, given$prior)
  warn_prior_mass(fit)
  fit$seconds <- now() - started
  sealed(fit)
}

# States and observations as separate arguments; no observations with a kernel
# matrix
mould_pairs <- function(x, y, kernel_y, na.action) {
  if (missing(y)) y <- NULL
  if (is.null(y) && is.matrix(kernel_y)) {
    # A placeholder for each row: the kernel matrix has all the information.
    y <- matrix(seq_len(NROW(x)), dimnames = list(NULL, "row"))
  } else if (is.null(y)) {
    bad_argument(y, "y", "the observations, one per row of `x`")
  }
  mould_xy(y, x, na.action, "matrix", args = c("y", "x"))
}

kbr_class <- function(method) if (method == "adjusted") "kb_kbr_adjusted"

kbr_settings <- function(mould, eps, delta, rank, tol, method, normalize,
                         scale, support = NULL, kernel_x = NULL,
                         kernel_y = NULL) {
  normalize <- check_flag(normalize)
  obstacle <- adjustment_obstacle(
    mould, eps, delta, normalize, kernel_x, kernel_y
  )
  method <- kbr_method(method, obstacle)
  adjusted <- method == "adjusted"
  scale <- if (is.null(scale)) adjusted else check_flag(scale)
  regularisation <- kbr_regularisation(eps, delta, nrow(mould$y), method)
  found <- is.null(support)
  support <- kbr_support(support, mould$y, kernel_x)
  c(regularisation, list(
    rank = rank, tol = tol, method = method, normalize = normalize,
    support = support, found = found,
    straight = if (adjusted) straight_columns(support, mould$y),
    scale = scale,
    scaling = list(
      states = scaling_learn(mould$y, factor(), scale),
      observations = scaling_learn(
        mould$x, factor(), scale, adjusted & may_take_logs(mould)
      )
    )
  ))
}

# Fewer pairs tell too little of how states move.
least_adjusted <- 20

# In words, why states cannot be adjusted; NULL if they can
adjustment_obstacle <- function(mould, eps, delta, normalize, kernel_x,
                                kernel_y) {
  reasons <- c(
    if (nrow(mould$y) < least_adjusted) {
      paste("there are fewer than", least_adjusted, "pairs")
    },
    if (is.matrix(kernel_x)) "`kernel_x` is a matrix",
    if (is.matrix(kernel_y)) "`kernel_y` is a matrix",
    if (of_rotations(kernel_x)) "states are rotations",
    if (!is.null(delta)) "`delta` is given",
    if (inherits(eps, "kb_kbr_schedule")) "`eps` is a schedule",
    if (!normalize) "`normalize` is FALSE"
  )
  if (length(reasons) > 0) reasons[[1]]
}

# Rotations have no bounds: those of their entries depend on each other.
kbr_support <- function(support, states, kernel_x) {
  if (is.null(support) && of_rotations(kernel_x)) support <- "none"
  check_support(support, states)
}

of_rotations <- function(kernel) {
  inherits(kernel, "kb_kernel") && is_rotation_kernel(kernel)
}

kbr_method <- function(method, obstacle) {
  if (is.null(method)) {
    method <- if (is.null(obstacle)) "adjusted" else "kbr"
  }
  method <- check_choice(method, c("adjusted", "kbr", "iw"))
  if (method == "adjusted" && !is.null(obstacle)) {
    kb_abort(c(
      "{.code method = \"adjusted\"} is not possible here.",
      x = paste0("The reason: ", obstacle, "."),
      i = "{.val kbr} and {.val iw} are."
    ), "argument", argument = "method")
  }
  method
}

kbr_regularisation <- function(eps, delta, n, method) {
  if (inherits(eps, "kb_kbr_schedule")) {
    if (!is.null(delta)) {
      bad_argument(delta, "delta", "NULL where `eps` is a schedule")
    }
    eps <- check_class(eps, "kb_kbr_schedule", "`kbr_schedule()`")
    return(schedule_at(eps, n))
  }
  eps <- if (is.null(eps)) 0.1 / n else check_positive(eps, "eps")
  if (is.null(delta)) {
    delta <- if (method == "iw") 1e-3 else 2 * eps
  }
  list(eps = eps, delta = check_positive(delta, "delta"))
}

# Factors of both kernels
kbr_features <- function(fit, kernel_x, kernel_y) {
  list(
    states = sample_features(
      kernel_x, scaled_states(fit), fit$settings, "kernel_x"
    ),
    observations = observation_features(fit, kernel_y)
  )
}

observation_features <- function(fit, kernel) {
  y <- scaled_observations(fit)
  if (fit$settings$method == "adjusted") {
    kernel <- regression_kernel(
      kernel, states_to_line(fit, fit$data$states), y, fit$settings
    )
  }
  sample_features(kernel, y, fit$settings, "kernel_y")
}

sample_features <- function(kernel, x, settings, arg) {
  if (is.matrix(kernel)) {
    check_gram_size(kernel, nrow(x), arg)
    kernel <- check_gram(kernel, arg)
    found <- gram_features(kernel, settings$rank, settings$tol)
  } else {
    kernel <- check_kernel(kernel, arg)
    refuse_scaled_rotations(kernel, settings$scale, arg)
    refuse_no_rotations(kernel, x, arg)
    found <- kernel_features(kernel, x, settings$rank, settings$tol)
  }
  warn_unexplained(found, arg)
  found
}

check_gram_size <- function(gram, n, arg) {
  if (nrow(gram) != n || ncol(gram) != n) {
    kb_abort(c(
      "{.arg {arg}} must be the kernel matrix of all pairs of rows:
       {n} x {n}.",
      x = "It is {nrow(gram)} x {ncol(gram)}."
    ), "gram", argument = arg)
  }
}

refuse_scaled_rotations <- function(kernel, scale, arg) {
  if (scale && is_rotation_kernel(kernel)) {
    kb_abort(c(
      "{.arg scale} must be FALSE where {.arg {arg}} is
       {.fn kernel_rotation}.",
      i = "Standardised rotation matrices are not rotations."
    ), "argument", argument = "scale")
  }
}

refuse_no_rotations <- function(kernel, x, arg) {
  if (!is_rotation_kernel(kernel)) {
    return(invisible())
  }
  check_kernel_dimension(kernel, ncol(x))
  check_rotations(x, c(kernel_x = "x", kernel_y = "y")[[arg]])
}

warn_unexplained <- function(features, arg) {
  share <- features$residual / features$trace
  if (isTRUE(share > 0.05)) {
    kb_warn(c(
      "The rank leaves more than 5 percent of {.arg {arg}} unexplained.",
      x = "Rank {ncol(features$factor)} leaves {format(100 * share, digits = 2)}
           percent.",
      i = "Use a larger {.arg rank} or a wider kernel."
    ), "rank", argument = arg)
  }
}

#' Rates of regularisation with a proof of consistency
#'
#' The theorem of Fukumizu, Song and Gretton (2010): with a prior mean that is
#' estimated at the rate n^-alpha, `eps` = n^(-2 alpha / 3) and `delta` =
#' n^(-max(4 alpha / 15, 4 alpha / (3 (nu + 3)))). With constants of 1 these are
#' far too strong at practical sample sizes: the posterior stays near the prior.
#' Use them to study the theory, with smaller constants.
#' @param alpha Rate of the prior's kernel mean, above 0, at most 1/2.
#' @param nu Smoothness of the conditional expectation, above 0.
#' @param constant_eps,constant_delta Positive factors.
#' @return An object of class `kb_kbr_schedule`, for the argument `eps` of
#'   [kbr()].
#' @references
#' Fukumizu, K., Song, L. and Gretton, A. (2010). Kernel method for Bayesian
#' inference. Slides, *Asian Conference on Machine Learning*.
#' @examples
#' x <- rnorm(200)
#' y <- x + rnorm(200)
#' predict(kbr(x, y, eps = kbr_schedule()), 1) # nearly the prior mean
#' predict(kbr(x, y), 1)
#' @export
kbr_schedule <- function(alpha = 0.5, nu = 1, constant_eps = 1,
                         constant_delta = 1) {
  alpha <- check_number(alpha, 0, 0.5)
  check_positive(alpha, "alpha")
  structure(
    list(
      alpha = alpha,
      nu = check_positive(nu, "nu"),
      eps = check_positive(constant_eps, "constant_eps"),
      delta = check_positive(constant_delta, "constant_delta")
    ),
    class = "kb_kbr_schedule"
  )
}

# (K29)
schedule_at <- function(schedule, n) {
  alpha <- schedule$alpha
  list(
    eps = schedule$eps * n^(-2 * alpha / 3),
    delta = schedule$delta *
      n^-max(4 * alpha / 15, 4 * alpha / (3 * (schedule$nu + 3)))
  )
}

#' @export
print.kb_kbr_schedule <- function(x, ...) {
  at <- schedule_at(x, c(1000))
  cat(
    "regularisation by rates: alpha = ", format(x$alpha), ", nu = ",
    format(x$nu), "; at n = 1000 eps = ", format(at$eps, digits = 3),
    ", delta = ", format(at$delta, digits = 3), "\n",
    sep = ""
  )
  invisible(x)
}
