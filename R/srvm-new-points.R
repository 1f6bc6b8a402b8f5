# Predictions at new points. A row may be a centre when it arrives, and so may a
# new point: given each particle f is there a mixture of two normals, without and
# with the kernel at the point, (S62). Without it intervals are too short where
# centres are far away (Rasmussen and Quinonero-Candela, 2005).

# Of chains that many draws are used, evenly spaced: each costs as much as a
# particle.
most_draws_at_new <- 250

may_join <- function(fit) {
  settings <- fit$settings
  !is_latent(settings) && !is_bounded(settings$memory) &&
    !has_dictionary(fit) && !is_improper(settings$prior) &&
    !identical(fit$control$proposal, "paper")
}

#' @export
mixture_size.kb_srvm <- function(fit, pool) {
  draws <- length(pool$weights)
  if (!may_join(fit)) {
    return(draws)
  }
  used <- if (inherits(fit, "kb_mcmc")) min(draws, most_draws_at_new) else draws
  max(draws, used * (1 + nrow(spread_rule(coef_df(fit$settings$prior)))))
}

#' Which complete rows are no candidates of the pool?
#' @noRd
new_points <- function(fit, x, pool) {
  if (!may_join(fit)) {
    return(integer())
  }
  numbers <- function(x) scaling_numbers(fit$settings$scaling, x)
  known <- numbers(fit$data$x[unique(pool$rows), , drop = FALSE])
  which(is.na(match_points(numbers(kernel_part(fit, x)), known)))
}

#' Moments of all points, those of new ones being mixtures
#'
#' @param new Numbers of the new points among the rows of `x`.
#' @return The list, points x components, with `noise` of the same shape, and
#'   `weights`, components x points.
#' @noRd
moments_with_new <- function(fit, x, pool, new) {
  draws <- length(pool$weights)
  most <- if (inherits(fit, "kb_mcmc")) most_draws_at_new else draws
  joined <- moments_at_new(
    fit, x[new, , drop = FALSE], pool, spread_over(draws, min(draws, most))
  )
  if (length(new) == nrow(x)) {
    return(joined)
  }
  seen <- set_moments(fit, x[-new, , drop = FALSE], pool)
  seen$noise <- matrix(pool$noise, nrow(seen$mean), draws, byrow = TRUE)
  # Components that a point does not have are copies with weight 0.
  width <- max(draws, ncol(joined$mean))
  widen <- function(v) v[, rep_len(seq_len(ncol(v)), width), drop = FALSE]
  together <- function(name) {
    out <- matrix(0, nrow(x), width)
    out[-new, ] <- widen(seen[[name]])
    out[new, ] <- widen(joined[[name]])
    out
  }
  weights <- matrix(0, width, nrow(x))
  weights[seq_len(draws), -new] <- pool$weights
  weights[seq_len(nrow(joined$weights)), new] <- joined$weights
  list(
    mean = together("mean"), variance = together("variance"),
    noise = together("noise"), weights = weights
  )
}

# Of new points only, given the draws `used`
moments_at_new <- function(fit, x, pool, used) {
  engine <- fit_engine(fit)
  seen <- seq_len(if (inherits(fit, "kb_mcmc")) nrow(engine$x) else fit$time)
  x <- scaling_x(fit$settings$scaling, kernel_part(fit, x))
  kernels <- settings_kernels(fit$settings)
  rule <- spread_rule(coef_df(fit$settings$prior))
  copies <- 1 + nrow(rule)
  at_kernel <- function(h) {
    part <- pool_part(fit, pool, used[pool$kernel[used] == h])
    config <- model_config(fit$settings)
    config$kernel <- kernels[[h]]
    out <- srvm_new_moments_cpp(
      config, part, match(part$rows, fit$sequence), part$noise,
      if (is.null(part$bandwidths)) matrix(0, 0, 0) else part$bandwidths, rule,
      engine$x[seen, , drop = FALSE], engine$y[seen, , drop = FALSE], x
    )
    out$log_weight <- out$log_weight + log(rep(part$weights, copies))
    out$noise <- matrix(part$noise, nrow(x), copies * length(part$k),
      byrow = TRUE
    )
    out
  }
  parts <- lapply(unique(pool$kernel[used]), at_kernel)
  glue <- function(name, bind) do.call(bind, lapply(parts, `[[`, name))
  log_weight <- glue("log_weight", rbind)
  log_total <- apply(log_weight, 2, log_sum_exp)
  list(
    mean = glue("mean", cbind), variance = glue("variance", cbind),
    noise = glue("noise", cbind),
    weights = exp(sweep(log_weight, 2, log_total)), log_total = log_total
  )
}

#' Some of a pool's particles, with candidates numbered as those of one kernel
#' @param chosen Their numbers, increasing.
#' @noRd
pool_part <- function(fit, pool, chosen) {
  size <- pool$k + n_fixed(fit$settings)
  among <- function(v, sizes) v[rep(seq_along(sizes), sizes) %in% chosen]
  points <- length(pool$rows) %/% n_kernels(fit$settings)
  list(
    k = pool$k[chosen],
    sets = (among(pool$sets, pool$k) - 1L) %% points + 1L,
    kernel = pool$kernel[chosen],
    bandwidths = pool$bandwidths[, chosen, drop = FALSE],
    spread = among(pool$spread, pool$k),
    noise = pool$noise[chosen], coef = pool$coef[chosen],
    factor = among(pool$factor, size * (size + 1) / 2),
    z = among(pool$z, size), weights = pool$weights[chosen],
    rows = pool$rows[seq_len(points)]
  )
}

# Weights of components: of each row's, components x rows, or of all
component_weights <- function(moments, pool) {
  if (is.null(moments$weights)) pool$weights else as.vector(moments$weights)
}

# Means of mixtures, rows of `moments`
mixture_mean <- function(moments, pool) {
  if (is.null(moments$weights)) {
    return(drop(moments$mean %*% pool$weights))
  }
  rowSums(moments$mean * t(moments$weights))
}
