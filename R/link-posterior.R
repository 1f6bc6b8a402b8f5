# posterior: draws of the parameters.

#' Draws of the parameters of a fit
#'
#' `posterior::summarise_draws(as_draws(fit))` summarises them.
#' @param x A fit of [srvm()], [bark()] or [kgs()].
#' @param weighted For fits by particles. `FALSE`: draws of equal weight, resampled
#'   under the fit's seed. `TRUE`: every particle's draw with its weight, see
#'   [posterior::weight_draws()].
#' @param ... Not used: unknown arguments are errors.
#' @return A [posterior::draws_df] with the chains and iterations that the draws come
#'   from. Each particle is a chain of one iteration: R-hat, `ess_bulk` and
#'   `ess_tail` of posterior are therefore `NA`; see [ess()] and [diagnostics()].
#'   [posterior::merge_chains()] combines them into one chain.
#' @section Variables of srvm():
#' `sigma` (noise standard deviation), `tau` (standard deviation of the
#' coefficients), `k` (number of centres), `Intercept` if the model has one, `df`
#' (degrees of freedom of the noise), `lambda` (rate of the number of centres) and
#' `bandwidth[<predictor>]` (in units of the predictor as the model sees it) if they
#' are learned, `kernel` (its number, as in [kernel_posterior()]) if kernels are
#' averaged, and with a [kernel_dictionary()] `k_kernel[h]` (number of centres with
#' its kernel h); `sigma`, `tau` and `Intercept` in units of the response.
#' @section Variables of bark():
#' * `sigma`: noise standard deviation of a row of weight 1, in units of the
#'   response (for Student-t noise its scale; where it varies, the root of the
#'   mean variance over the rows; 1 in classification);
#' * `J`: number of kernels, with their multiplicity (of several classes those of all
#'   fields; `J[class]` of one);
#' * `log_lik`: log likelihood of all responses, in their units, with the
#'   coefficients integrated out; for classes, Student-t noise, `sigma` and the
#'   truncation approximation given the coefficients;
#' * `df`: degrees of freedom of the noise, if they are learned;
#' * `cut[low|high]`: for ordered classes the cut point between the
#'   neighbouring levels `low` and `high`; the first is 0;
#' * with terms beside kernels the linear coefficients `b[term]` (see
#'   [fixef.kb_bark()]), standard deviations `sd[factor]` or
#'   `sd[factor,coefficient]` of groups and their correlations
#'   `cor[factor,one,other]`;
#' * `lambda[l]`: scale of column l of the predictors as the model sees them; 0 where
#'   the predictor is not in the kernel; `delta[l]`, for priors that select: 1 where
#'   it is in the kernel (of several classes `lambda[class,l]`, `delta[class,l]`).
#'   With kernel-specific scales these are means over the kernels, weighted by the
#'   absolute coefficients. With `bark_prior(directions = )` they belong to direction
#'   l, and `directions[i,l]` is its component along column i; do not expect an R-hat
#'   near 1.
#' @section Variables of kgs():
#' * `q`: rate of wrong labels, a constant where it is known; with
#'   [noise_class()] `q[class]`, one for each class;
#' * `errors`: the number of wrong labels expected given f and the rate, which
#'   varies less than the number itself;
#' * `log_lik`: log likelihood of all labels given f and the rate;
#' * `log_nugget`, where it is learned, and `log_bandwidth[i]` likewise;
#' * `f[i]`: f at row i for a direction of unit length, for at most ten
#'   training rows (with more than two classes f of the first class).
#' @examples
#' data <- sim_sinc(30, seed = 1)
#' fit <- srvm(y ~ x, data, kernel = kernel_gaussian(0.2), seed = 1)
#' posterior::summarise_draws(as_draws(fit), "mean", "sd")
#' moons <- sim_moons(80, flips = 0.1, seed = 1)
#' fit <- kgs(y ~ x1 + x2, moons, kernel = kernel_gaussian(0.5), seed = 1)
#' posterior::summarise_draws(as_draws(fit), "mean", "sd", "rhat")
#' @export
as_draws.kb_srvm <- function(x, weighted = FALSE, ...) {
  x <- checked_fit(x, ...)
  weighted <- check_flag(weighted)
  pool <- srvm_pool(x)
  draws <- srvm_parameters(x, pool)
  if (!weighted) {
    draws <- draws[equal_weight_draws(x, pool), , drop = FALSE]
  }
  particle_draws(draws, if (weighted) pool$weights)
}

#' Draws of particles, each a chain of one iteration: particles are not in the
#' order of a chain, so that R-hat and effective sample sizes of chains are NA
#' @param draws Matrix or data frame, a row per particle.
#' @noRd
particle_draws <- function(draws, weights = NULL) {
  draws <- as.data.frame(as.matrix(draws))
  draws$.chain <- seq_len(nrow(draws))
  draws$.iteration <- 1L
  draws <- posterior::as_draws_df(draws)
  if (!is.null(weights)) {
    draws <- posterior::weight_draws(draws, weights, log = FALSE)
  }
  draws
}

#' @rdname as_draws.kb_srvm
#' @importFrom posterior as_draws_df
#' @export
as_draws_df.kb_srvm <- as_draws.kb_srvm

# The draw that belongs to each particle
srvm_parameters <- function(fit, pool) {
  scaling <- fit$settings$scaling
  out <- data.frame(
    sigma = unscale_sd(scaling, sqrt(pool$draws$noise)),
    tau = unscale_sd(scaling, sqrt(pool$draws$coef)), k = pool$k
  )
  if (fit$settings$intercept) {
    index <- coefficient_index(pool, fit$settings)
    first <- pool$draws$beta[index$candidate == 0]
    out$Intercept <- unscale_mean(scaling, first)
  }
  prior <- fit$settings$prior
  if (learns_df(fit)) out$df <- pool$df
  if (is_learned_lambda(prior)) {
    # After (S2).
    out$lambda <- with_local_seed(fit$seed, draw_lambda(pool$k, prior$lambda))
  }
  if (learns_scales(fit$settings)) out <- cbind(out, bandwidth_columns(fit, pool))
  if (is_averaged(fit)) out$kernel <- pool$kernel
  if (has_dictionary(fit)) out <- cbind(out, dictionary_parameters(fit, pool))
  out
}

# bark -------------------------------------------------------------------------

#' @rdname as_draws.kb_srvm
#' @export
as_draws.kb_bark <- function(x, ...) {
  x <- checked_fit(x, ...)
  chains <- chain_matrices(x)
  pool <- bark_pool(x)
  scales <- if (has_kernels(x)) scale_columns(x, pool)
  if (has_directions(x)) scales <- cbind(scales, direction_columns(x, pool))
  if (is_ordered(x)) scales <- cbind(bark_cuts(x, pool), scales)
  sigma <- if (has_noise(x)) chains$sigma else 1 + 0 * chains$J
  parameters <- family_of(x)$parameters
  if (length(parameters) > 0) {
    scales <- cbind(do.call(cbind, lapply(chains[parameters], as.vector)), scales)
  }
  if (learns_df(x)) scales <- cbind(df = pool$df, scales)
  if (has_mixed(x)) scales <- cbind(mixed_columns(chains), scales)
  draws <- data.frame(
    sigma = as.vector(sigma), J = as.vector(chains$J),
    log_lik = as.vector(chains$log_lik), check.names = FALSE
  )
  if (!is.null(scales)) draws <- cbind(draws, scales)
  draws$.chain <- as.vector(col(chains$J))
  draws$.iteration <- as.vector(row(chains$J))
  posterior::as_draws_df(draws)
}

# Scales and inclusion of predictors, one row per draw
scale_columns <- function(fit, pool) {
  scales <- bark_scales(fit, pool)
  index <- seq_len(ncol(scales))
  colnames(scales) <- paste0("lambda[", index, "]")
  if (!bark_selects(fit$settings$prior$type)) {
    return(scales)
  }
  delta <- bark_included(fit, pool)
  colnames(delta) <- paste0("delta[", index, "]")
  cbind(scales, delta)
}

#' @rdname as_draws.kb_srvm
#' @export
as_draws_df.kb_bark <- as_draws.kb_bark

# kgs --------------------------------------------------------------------------

#' @rdname as_draws.kb_srvm
#' @export
as_draws.kb_kgs <- function(x, ...) {
  x <- checked_fit(x, ...)
  chains <- chain_matrices(x)
  chains <- c(
    kgs_rates(x, chains), chains[setdiff(names(chains), kgs_rate_names(x))],
    watched_scales(x), first_function(x)
  )
  draws <- data.frame(lapply(chains, as.vector), check.names = FALSE)
  draws$.chain <- as.vector(col(chains$errors))
  draws$.iteration <- as.vector(row(chains$errors))
  posterior::as_draws_df(draws)
}

# Rates of wrong labels, known ones as well: matrices with one column per chain
kgs_rates <- function(fit, chains = chain_matrices(fit)) {
  known <- fit$settings$noise$rate
  if (!is.null(known)) {
    return(list(q = known + 0 * chains$errors))
  }
  chains[kgs_rate_names(fit)]
}

#' @rdname as_draws.kb_srvm
#' @export
as_draws_df.kb_kgs <- as_draws.kb_kgs

# bayesplot: posterior predictive checks, registered when it is loaded.

#' Posterior predictive checks
#'
#' `pp_check(fit)` compares the training responses with draws of new responses for
#' the same rows in a plot from bayesplot. Of a fit of [bark()] with `prior_only =
#' TRUE` draws are from the prior; the axis has the data and the central 80% of the
#' drawn responses, at most two ranges of the data beyond the data, and the subtitle
#' says what lies beyond.
#' @param object A fit of [srvm()], [bark()] or [kgs()].
#' @param type The name of a plot of [bayesplot](https://mc-stan.org/bayesplot/)
#'   without the prefix `ppc_`, such as `"dens_overlay"`, `"ecdf_overlay"`,
#'   `"stat"`, `"intervals"`, `"bars"`, `"loo_pit_qq"` (not every plot suits
#'   every response). `NULL`: `"dens_overlay"` for numbers (`"ecdf_overlay"` if
#'   draws are from the prior), `"km_overlay"` where they are censored, `"bars"`
#'   for classes. Draws from the prior have the plots that suit their tails; the error
#'   names them.
#' @param ndraws Number of draws. `NULL`: 8 for plots with a panel or a box per
#'   draw, 50 for those with a line per draw, otherwise 200.
#' @param seed For the new responses, see [simulate()][simulate.kb_fit].
#' @param ... Passed on to the plot, such as `stat`, `group` or `x`.
#' @return A ggplot object. Classes are numbered from 1, in the order of their
#'   levels.
#' @examplesIf rlang::is_installed(c("bayesplot", "dplyr (>= 1.1.0)"))
#' if (requireNamespace("rstantools", quietly = TRUE)) {
#'   data <- sim_sinc(50, seed = 1)
#'   fit <- srvm(y ~ x, data, kernel = kernel_gaussian(0.3), seed = 1)
#'   print(bayesplot::pp_check(fit, seed = 1))
#'   print(bayesplot::pp_check(fit, "intervals", x = data$x, seed = 1))
#'
#'   # What does the prior expect?
#'   prior <- bark(y ~ x, data, prior_only = TRUE, seed = 1,
#'     control = mcmc_control(chains = 2, warmup = 100, iter = 200)
#'   )
#'   bayesplot::pp_check(prior, seed = 1)
#' }
#' @exportS3Method bayesplot::pp_check
pp_check.kb_fit <- function(object, type = NULL, ndraws = NULL, seed = NULL,
                            ...) {
  object <- checked_fit(object)
  need_likelihood(object, "pp_check")
  need_package("bayesplot", "`pp_check()`")
  need_package("rstantools", "`pp_check()`")
  y <- training_response(object)
  if (is.null(type)) type <- default_ppc(object, y)
  ppc <- find_ppc(type)
  if (is.null(ndraws)) ndraws <- default_ndraws(type)
  available <- length(equal_weight_draws(object, posterior_pool(object)))
  new <- rstantools::posterior_predict(object,
    ndraws = min(check_ndraws(ndraws), available), seed = seed
  )
  if (is.factor(y)) {
    # Two classes are 0 and 1.
    if (nlevels(y) == 2 && !is_ordered(object)) new <- new + 1L
    y <- as.integer(y)
  }
  if (is_prior_only(object) && startsWith(type, "ecdf")) ppc <- in_steps(ppc)
  draw <- function(new) {
    switch(object$mould$outcome,
      trials = ppc(y[, 1], new, ...),
      interval = ppc_censored(ppc, y, type, new, ...), ppc(y, new, ...)
    )
  }
  if (is_prior_only(object)) {
    return(prior_check(draw, object, y, new, type))
  }
  draw(new)
}

# Not with lines to responses far outside the axis
in_steps <- function(ppc) {
  force(ppc)
  function(..., discrete = TRUE) ppc(..., discrete = discrete)
}

# Where the plots that show draws as they are have the response
prior_check_axes <- c(
  dens = "x", dens_overlay = "x", ecdf_overlay = "x", km_overlay = "x",
  hist = "x", freqpoly = "x", bars = "x", rootogram = "x", intervals = "y",
  ribbon = "y", boxplot = "y", violin = "y"
)

#' The plot of draws from the prior, with an axis that shows the data
#' @param draw The plot of draws, a function.
#' @noRd
prior_check <- function(draw, fit, y, new, type) {
  kind <- sub("(_overlay)?_grouped$", "\\1", type)
  if (!kind %in% names(prior_check_axes)) {
    kb_abort(c(
      "{.arg type} must be one of {.or {.val {names(prior_check_axes)}}} where
       {.arg prior_only} is {.code TRUE}, or the same with {.val _grouped}.",
      x = "It is {.val {type}}."
    ), c("not_defined", "argument"), argument = "type")
  }
  title <- ggplot2::ggtitle("Prior predictive draws")
  if (has_classes(fit)) {
    return(draw(new) + title)
  }
  # The mean of a count may be too large for a number.
  new[is.na(new)] <- Inf
  shown <- axis_numbers(fit, y)
  limits <- prior_limits(shown, new)
  whole <- all(shown == round(shown)) && all(new == round(new))
  if (whole) limits <- c(floor(limits[[1]]), ceiling(limits[[2]]))
  # Half a bar.
  room <- if (kind %in% c("bars", "rootogram")) 0.6 else 0
  window <- stats::setNames(
    list(limits + c(-1, 1) * room), paste0(prior_check_axes[[kind]], "lim")
  )
  note <- beyond_words(new, limits)
  if (!is.null(note)) note <- paste("Drawn responses", note)
  if (startsWith(kind, "dens")) {
    # Draws of equal responses have the highest.
    window$ylim <- c(0, 4 * max(stats::density(shown)$y))
    note <- paste(c(note, "Higher densities are cut off"), collapse = "\n")
  }
  # Some plots have a system of coordinates, which this one replaces.
  suppressMessages(draw(pull_in(new, limits)) + title +
    ggplot2::labs(subtitle = note) +
    do.call(ggplot2::coord_cartesian, window))
}

# Numbers that are censored need Kaplan and Meier's curve
ppc_censored <- function(ppc, y, type, new, ...) {
  known <- y[, 1] == y[, 2]
  if (all(known)) {
    return(ppc(y[, 1], new, ...))
  }
  if (!startsWith(type, "km_overlay") || any(!known & is.finite(y[, 2]))) {
    kb_abort(c(
      "{.fn pp_check} of censored responses is defined for
       {.code type = \"km_overlay\"} and numbers censored on the right.",
      x = "{.arg type} is {.val {type}}, and {sum(!known)} responses are
           censored."
    ), "not_defined")
  }
  ppc(y[, 1], new, status_y = as.numeric(known), ...)
}

# Some plots have a panel per draw
default_ndraws <- function(type) {
  if (type %in% c("hist", "dens", "freqpoly", "boxplot")) {
    return(8)
  }
  if (grepl("overlay", type)) 50 else 200
}

default_ppc <- function(fit, y) {
  if (is.factor(y)) {
    return("bars")
  }
  censored <- identical(fit$mould$outcome, "interval") &&
    any(y[, 1] != y[, 2])
  if (censored) {
    return("km_overlay")
  }
  # Densities of draws far apart have different heights.
  if (is_prior_only(fit)) "ecdf_overlay" else "dens_overlay"
}

find_ppc <- function(type) {
  known <- sub("^ppc_", "", grep(
    "^ppc_(?!.*_data$)", getNamespaceExports("bayesplot"),
    perl = TRUE, value = TRUE
  ))
  type <- check_choice(type, sort(known))
  utils::getFromNamespace(paste0("ppc_", type), "bayesplot")
}
