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
  refuse_truncated_classes(prior, family)
  refuse_fields(mould$fields, prior, family)
  prior <- prior_of_inputs(prior, ncol(mould$x))
  if (!is.null(row$check)) row$check(mould, prior)
  if (unscaled) {
    if (family %in% multinomial_families) refuse_offset(mould)
    if (is.null(row$weights)) refuse_class_weights(mould$weights)
  } else if (isFALSE(scale)) {
    warn_offset(located(family, mould$y))
  }
  if (prior_only && inherits(prior$noise, "kb_noise_improper")) {
    refuse_improper_draws()
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

refuse_improper_draws <- function() {
  kb_abort(c(
    "An improper prior has no draws.",
    x = "{.arg prior_only} is {.code TRUE}, and the prior of the noise is
         {.fn noise_improper}.",
    i = "Use {.fn noise_gamma}, or the default."
  ), c("improper", "not_defined"))
}

# An offset of all fields would change no probability
refuse_offset <- function(mould) {
  if (length(mould$mixed$offset_column) > 0) {
    kb_abort(c(
      "An offset needs a numeric response, two classes or ordered ones.",
      x = "The response has {length(mould$levels)} classes without an order."
    ), "argument", argument = "offset")
  }
}

# A power of the probability of a class has no latent normal form
refuse_class_weights <- function(weights) {
  if (!is.null(weights)) {
    kb_abort(c(
      "{.arg weights} must be NULL for classes with latent responses.",
      i = "{.fn bark} takes numbers of rows as weights with {.code family =
           binomial()} for two classes, {.code \"multinomial_logit\"} for several,
           and for ordered ones."
    ), "argument", argument = "weights")
  }
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
