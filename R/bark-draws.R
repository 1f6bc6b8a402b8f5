# The draws that chains of bark() hold.

#' @export
draws_in.kb_bark <- function(fit) {
  vapply(fit$runs, function(run) length(run$draws$m), 0L)
}

#' @export
head_draws.kb_bark <- function(fit, run, n) {
  m <- run$draws$m[seq_len(n)]
  p <- n_inputs(fit)
  slots <- sum(m)
  shared <- if (has_own_scales(fit)) 0 else n * p
  sizes <- c(
    m = n, location = slots, copies = slots, included = shared,
    log_lambda = shared, noise = n, log_likelihood = n, variance = slots,
    beta = slots, factor = sum(m * (m + 1) / 2), z = slots
  )
  if (learns_df(fit)) sizes[["df"]] <- n
  if (has_terms(fit)) sizes <- c(sizes, n * mixed_sizes(fit))
  if (is_ordered(fit)) sizes[["cuts"]] <- n * length(cut_names(fit))
  if (has_directions(fit)) sizes[["directions"]] <- n * p * ncol(fit$data$x)
  sizes <- c(sizes, shape_sizes(fit, slots))
  if (keeps_coefficients(fit)) sizes[c("variance", "factor", "z")] <- 0
  if (is_glm(fit)) {
    sizes[["parameters"]] <- n * length(family_of(fit)$parameters)
  }
  run$draws[names(sizes)] <- Map(
    function(v, n) v[seq_len(n)], run$draws[names(sizes)], sizes
  )
  if (has_varying_noise(fit)) {
    run$draws$varying <- head_varying(fit, run$draws$varying, n)
  }
  run
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

# Numbers that every draw has several of, one matrix (draws x chains) per name
interleaved_chains <- function(draws, element, names) {
  n <- length(draws[[1]][[element]]) %/% length(names)
  out <- lapply(seq_along(names), function(k) {
    v <- vapply(draws, function(d) {
      d[[element]][seq(k, length(d[[element]]), by = length(names))]
    }, numeric(n))
    matrix(v, ncol = length(draws))
  })
  stats::setNames(out, names)
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
