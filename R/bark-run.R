# What a fit of bark() starts with: settings that the data determine, the length
# of its chains.

# Settings that are determined by the data at the first call
bark_settings <- function(mould, family, prior, scale, prior_only,
                          sigma = NULL) {
  scale <- check_scale(scale)
  prior_only <- check_flag(prior_only)
  row <- response_families[[family]]
  copies <- copies_of(mould$weights, family)
  classes <- is_class_family(family)
  # Neither a latent response nor counts are standardised.
  unscaled <- !isTRUE(row$noise)
  prior <- prior_of_inputs(prior, ncol(mould$x))
  if (!is.null(row$check)) row$check(mould, prior)
  if (unscaled) {
    if (is.null(row$weights)) refuse_class_weights(mould$weights)
  } else if (isFALSE(scale)) {
    warn_offset(located(family, mould$y))
  }
  y <- without_offset(mould, located(family, mould$y), unscaled)
  if (!unscaled && !prior_only && is.null(prior$noise)) {
    warn_no_spread(y, "Set {.arg noise} of {.fn bark_prior}, in the units of the
      response.")
  }
  scaling <- scaling_learn(
    mould$x, if (!unscaled) y, !isFALSE(scale),
    isTRUE(scale) & may_take_logs(mould), copies
  )
  mixed <- mixed_settings(
    mould, prior, scaling, !isFALSE(scale), unscaled, y, copies
  )
  x <- scaling_x(scaling, mould$x)
  y <- scaling_y(scaling, y)
  settings <- list(
    family = family,
    prior = bark_prior_resolve(
      prior, x, y, if (unscaled) "binomial" else "gaussian", mould$weights,
      linear = mixed_linear(mixed, mould$mixed_x), groups = mould$fields,
      factors = lapply(mould$mixed$group_columns, function(columns) {
        mould$mixed_x[, columns[[1]]]
      }), copies = copies
    ),
    scaling = scaling, scale = scale, prior_only = prior_only
  )
  varying <- varying_settings(sigma, mould, x, y)
  # Without terms beside kernels fits are those of earlier versions.
  c(
    settings, if (!is.null(mixed)) list(mixed = mixed),
    if (!is.null(varying)) list(varying = varying)
  )
}

# Length -----------------------------------------------------------------------

#' The length of chains that the user leaves open
#'
#' Many short chains: what single chains get wrong is in which kernels they have
#' settled, which no affordable length changes (tools/bench/length.R).
#' @param alone Do kernels move given the coefficients of the others? Then few
#'   iterations have many moves.
#' @param prior_only Without data the only predictor of kernels with common scales
#'   moves in or out in every sweep: of every second draw one would see one of both.
#' @noRd
bark_length <- function(n, family, alone = FALSE, prior_only = FALSE) {
  if (alone) {
    # The start of a chain costs most where rows are many.
    many <- n >= 20000
    iter <- if (many) 20L else as.integer(max(120000 / n, 14))
    return(list(
      chains = if (many) 8L else 12L,
      warmup = if (many) 15L else as.integer(200000 / n), iter = iter,
      thin = 1L, until = trusted_until(iter)
    ))
  }
  few <- if (is_class_family(family)) 300 else 2000
  most <- as.integer(max(400 * (few / max(n, few))^0.7, 100))
  warmup <- response_families[[family]]$warmup
  if (is.null(warmup)) warmup <- 100L
  list(
    chains = 8L, warmup = warmup, iter = warmup,
    thin = if (prior_only) 3L else warmup %/% 50L, until = trusted_until(most)
  )
}

# The kinds of response for a family
bark_outcome <- function(family) {
  if (is.null(family)) {
    return("any")
  }
  switch(family,
    probit = , logit = "binomial", gaussian = "number", family_outcome(family)
  )
}

# The sampler of bark() as an engine of run_engine(): one run per chain.

#' @export
fit_engine.kb_bark <- function(fit) {
  settings <- fit$settings
  told <- response_numbers(fit)
  if (!is.list(told)) told <- list(y = told)
  structure(
    list(
      config = c(
        list(
          prior = settings$prior, seed = fit$seed, simd = fit$simd,
          prior_only = settings$prior_only, family = bark_response(fit),
          threads = chain_threads(fit)
        ),
        if (has_mixed(fit)) list(terms = mixed_config(fit)),
        if (has_varying_noise(fit)) settings["varying"],
        if (is_ordered(fit)) list(classes = nlevels(fit$data$y)),
        told[names(told) != "y"],
        fit$control[c("warmup", "iter", "thin", "n_temps", "sweep")]
      ),
      x = scaling_x(settings$scaling, fit$data$x),
      y = told$y,
      weights = row_weights(fit)
    ),
    class = c("kb_engine_bark", "kb_engine_chain", "kb_engine")
  )
}

# The sampler's name for the distribution of the response
bark_response <- function(fit) {
  # Noise that varies has row weights of its own.
  if (is_student_prior(fit$settings$prior) && !has_varying_noise(fit)) {
    return("student")
  }
  sampler <- family_of(fit)$sampler
  if (is.null(sampler)) fit$settings$family else sampler
}

#' @export
engine_open.kb_engine_bark <- function(engine, index, state) {
  config <- c(engine$config, list(chain = index))
  bark_open_cpp(config, engine$x, engine$y, engine$weights, state)
}

# The draws that chains of bark() hold.

#' @export
draws_in.kb_bark <- function(fit) {
  vapply(fit$runs, function(run) length(run$draws$m), 0L)
}

#' @export
chain_matrices.kb_bark <- function(fit) {
  draws <- lapply(fit_runs(fit), `[[`, "draws")
  n <- length(draws[[1]]$m)
  column <- function(get) matrix(vapply(draws, get, numeric(n)), n)
  scaling <- fit$settings$scaling
  units <- log_units(fit)
  out <- list(
    sigma = unscale_sd(scaling, 1 / sqrt(column(function(d) d$noise))),
    J = column(function(d) {
      as.double(tapply(
        c(d$copies, integer(n)), c(rep(seq_len(n), d$m), seq_len(n)), sum
      ))
    }),
    log_lik = column(function(d) d$log_likelihood) - units
  )
  if (learns_df(fit)) out$df <- column(function(d) d$df)
  # The noise of a latent response is known.
  mixed <- if (has_mixed(fit)) mixed_chains(fit, draws)
  if (has_noise(fit)) {
    return(c(out, mixed))
  }
  c(
    out[c("J", "log_lik")], parameter_chains(fit, draws), mixed,
    if (is_ordered(fit)) cut_chains(draws, fit)
  )
}

# What the log likelihood loses in the units of the response
log_units <- function(fit) {
  scaling <- fit$settings$scaling
  own <- family_of(fit)$log_units
  if (is.null(own)) {
    return(fit$time * log(scaling$y_scale))
  }
  own(fit$data$y, scaling, row_weights(fit))
}

# The number of inputs in the kernel in each draw
bark_n_included <- function(fit, pool) rowSums(bark_included(fit, pool))

# Scales of the draws, one row per draw and one column per predictor or
# direction; 0 if excluded; means over kernels if scales are kernel-specific
bark_scales <- function(fit, pool = bark_pool(fit)) {
  if (has_own_scales(fit)) {
    return(own_scales_of(fit, pool))
  }
  p <- n_inputs(fit)
  t(exp(matrix(pool$log_lambda, p)) * matrix(pool$included, p))
}

# The quantities of `tidy()` for each draw
bark_parameters <- function(fit) {
  chains <- chain_matrices(fit)
  parameters <- setdiff(names(chains), c("log_lik", cut_names(fit)))
  out <- data.frame(
    lapply(chains[parameters], as.vector), check.names = FALSE
  )
  if (!has_kernels(fit)) {
    out$J <- NULL
  } else if (bark_selects(fit$settings$prior$type)) {
    out$d <- bark_n_included(fit, bark_pool(fit))
  }
  if (is_ordered(fit)) out <- cbind(out, bark_cuts(fit, bark_pool(fit)))
  out
}
