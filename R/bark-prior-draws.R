# Independent draws from the prior of bark() of all that f depends on, in the
# form of `bark_pool()`: chains of the prior alone would take long to mix.

# Degrees of freedom of the half-t prior of the standard deviation of slopes
slope_df <- 3

#' @param n Number of draws, from R's generator.
#' @return List that `bark_values()` takes with `what = "draw"`.
#' @noRd
draw_bark_pool <- function(fit, n) {
  prior <- fit$settings$prior
  m <- stats::rpois(n, prior$nu)
  location <- draw_locations(prior, nrow(fit$data$x), sum(m))
  out <- list(
    m = m, location = location, beta = draw_coefficients_of(prior, sum(m)),
    factor = numeric(), z = numeric(), weights = rep(1 / n, n)
  )
  own <- has_own_scales(fit)
  scales <- if (!is.null(prior$pool)) {
    draw_pooled_scales(prior, n_inputs(fit), m)
  } else if (!is.null(prior$groups)) {
    draw_group_scales(prior, n_inputs(fit), sum(m))
  } else {
    draw_prior_scales(prior, n_inputs(fit), if (own) sum(m) else n)
  }
  if (has_clusters(fit)) {
    scales <- share_scales(scales, m, n_inputs(fit))
  }
  names(scales) <- paste0(if (own) "own_", names(scales))
  out[c("included", "log_lambda")] <- list(integer(), numeric())
  out[names(scales)] <- scales
  p <- ncol(fit$data$x)
  if (has_own_centres(fit)) {
    at <- scaling_x(fit$settings$scaling, fit$data$x)
    at <- t(rbind(0, at)[location + 1, , drop = FALSE])
    out$centre <- as.double(at + prior$centre_sd * stats::rnorm(length(at)))
  }
  if (has_linear_slopes(fit)) {
    sd <- prior$slope_scale * abs(stats::rt(n, slope_df))
    out$slopes <- stats::rnorm(p * n) * rep(sd, each = p)
  }
  if (has_directions(fit)) {
    u <- matrix(stats::rnorm(n * p * n_inputs(fit)), p)
    out$directions <- as.double(sweep(u, 2, sqrt(colSums(u^2)), "/"))
  }
  out
}

# 0 is the intercept
draw_locations <- function(prior, rows, size) {
  weights <- prior$centre_weights
  if (is.null(weights)) weights <- rep(1, rows + 1)
  sample.int(rows + 1, size, TRUE, weights) - 1L
}

# Coefficients of single kernels, see ?bark_prior: normal ones with a gamma
# precision, or jumps of the stable process above eps
draw_coefficients_of <- function(prior, size) {
  if (is_truncated_prior(prior)) {
    return(prior$eps * stats::runif(size)^(-1 / prior$alpha) *
      sample(c(-1, 1), size, TRUE))
  }
  precision <- stats::rgamma(
    size, prior$alpha / 2, prior$alpha * prior$eps^2 / 2
  )
  stats::rnorm(size) / sqrt(precision)
}

# Pooled scales of the m kernels of each draw, (B79) and (B80)
draw_pooled_scales <- function(prior, p, m) {
  pool <- prior$pool
  n <- length(m)
  draw <- rep(seq_len(n), m)
  level <- stats::rnorm(n, pool[[1]], pool[[2]])
  spread <- pool[[4]] * abs(stats::rnorm(n))
  centre <- matrix(stats::rnorm(p * n, rep(level, each = p), pool[[3]]), p)
  included <- matrix(1L, p, length(draw))
  if (bark_selects(prior$type)) {
    share <- matrix(stats::rbeta(p * n, prior$a_p, prior$b_p), p)
    included[] <- stats::rbinom(length(included), 1, share[, draw])
  }
  list(
    included = as.integer(included),
    log_lambda = stats::rnorm(
      length(included), centre[, draw], rep(spread[draw], each = p)
    )
  )
}

# The scales of kernels in clusters: those of the first of each, (B109)
share_scales <- function(scales, m, p) {
  first <- unlist(lapply(seq_along(m), function(i) {
    cluster_firsts(m[[i]], sample(concentrations, 1)) + sum(m[seq_len(i - 1)])
  }))
  lapply(scales, function(v) as.vector(matrix(v, p)[, first, drop = FALSE]))
}

cluster_firsts <- function(size, concentration) {
  out <- integer(size)
  for (j in seq_len(size)) {
    joins <- stats::runif(1) * (j - 1 + concentration) < j - 1
    out[[j]] <- if (joins) out[[sample.int(j - 1, 1)]] else j
  }
  out
}

# Sets of scales of kernels that each use one group of inputs
draw_group_scales <- function(prior, p, size) {
  included <- matrix(0L, p, size)
  log_lambda <- matrix(0, p, size)
  group <- sample.int(length(prior$groups), size, TRUE)
  for (k in seq_along(prior$groups)) {
    inputs <- prior$groups[[k]]
    own <- which(group == k)
    scales <- draw_prior_scales(prior, length(inputs), length(own))
    included[inputs, own] <- scales$included
    log_lambda[inputs, own] <- scales$log_lambda
  }
  list(included = as.integer(included), log_lambda = as.double(log_lambda))
}

# Sets of scales, one after the other
draw_prior_scales <- function(prior, p, size) {
  included <- matrix(1L, p, size)
  if (bark_selects(prior$type)) {
    share <- stats::rbeta(size, prior$a_p, prior$b_p)
    included[] <- stats::rbinom(p * size, 1, rep(share, each = p))
  }
  d <- pmax(colSums(included), 1)
  lambda <- if (endsWith(prior$type, "equal")) {
    rep(stats::rgamma(size, prior$A, d * prior$B), each = p)
  } else {
    stats::rgamma(p * size, rep(prior$A / d, each = p), prior$B)
  }
  # Scales that underflow have no effect.
  list(included = as.integer(included), log_lambda = log(pmax(lambda, 1e-300)))
}

# The Levy measure of bark(): quantities implied by its parameters, and the
# parameters implied by a number of kernels and a discrepancy.

# Expected number of kernels: (B2), eq. 8 of the paper
#
# By Gamma(1 + x) = x Gamma(x), so that it is finite down to alpha = 0, where
# it tends to gamma; it tends to 0 as alpha tends to 2.
bark_nu <- function(alpha, gamma, eps) {
  exp(log(gamma) + alpha * (log(2) - log(eps) - log(alpha) / 2) +
    lgamma(1 + alpha / 2) - lgamma(1 - alpha / 2))
}

# Expected squared discrepancy of the continuous approximation over |g|^2
#
# The integral of b^2 (|b|^(-1 - alpha) - (b^2 + alpha eps^2)^(-(1 + alpha) /
# 2)) gamma c_alpha, for which eq. 12 of the paper is intended as a bound: (B4).
bark_discrepancy <- function(alpha, gamma, eps) {
  bark_nu(alpha, gamma, eps) * discrepancy_ratio(alpha, eps)
}

# Discrepancy of one expected kernel, (B4): the same for both approximations
discrepancy_ratio <- function(alpha, eps) {
  alpha * eps^2 / (2 - alpha)
}

# Expected number of kernels where |beta| is truncated at eps: (B3)
#
# Gamma(alpha) sin(pi alpha / 2) is written without the sine, which would lose
# its digits near alpha = 2.
bark_nu_truncated <- function(alpha, gamma, eps) {
  exp(log(gamma) + alpha * (log(2) - log(eps)) - log(pi) / 2 +
    lgamma((1 + alpha) / 2) - lgamma(1 - alpha / 2))
}

bark_discrepancy_truncated <- function(alpha, gamma, eps) {
  bark_nu_truncated(alpha, gamma, eps) * discrepancy_ratio(alpha, eps)
}

# Expected number of kernels and discrepancy of either approximation
levy_size <- function(alpha, gamma, eps, approximation = NULL) {
  if (identical(approximation, "truncation")) {
    list(
      nu = bark_nu_truncated(alpha, gamma, eps),
      discrepancy = bark_discrepancy_truncated(alpha, gamma, eps)
    )
  } else {
    list(
      nu = bark_nu(alpha, gamma, eps),
      discrepancy = bark_discrepancy(alpha, gamma, eps)
    )
  }
}

# The eps and gamma of a number of kernels and a discrepancy
#
# Their ratio determines eps, (B5), and nu is proportional to gamma.
bark_elicit <- function(alpha, n_kernels, discrepancy, approximation = NULL) {
  eps <- sqrt(discrepancy / n_kernels * (2 - alpha) / alpha)
  nu <- levy_size(alpha, 1, eps, approximation)$nu
  list(eps = eps, gamma = n_kernels / nu)
}

# Checks ---------------------------------------------------------------------

# Do n_kernels and discrepancy replace eps and gamma?
check_elicitation <- function(n_kernels, discrepancy, given) {
  elicited <- c(
    n_kernels = !is.null(n_kernels), discrepancy = !is.null(discrepancy)
  )
  if (!any(elicited)) {
    return(FALSE)
  }
  came <- names(which(elicited))
  if (any(given)) {
    kb_abort(c(
      "{.arg n_kernels} and {.arg discrepancy} replace {.arg gamma} and
       {.arg eps}: give one pair only.",
      x = "You gave {.arg {c(names(which(given)), came)}}."
    ), "argument", argument = came[[1]])
  }
  if (!all(elicited)) {
    absent <- setdiff(names(elicited), came)
    kb_abort(c(
      "{.arg n_kernels} and {.arg discrepancy} must be given together.",
      x = "{.arg {absent}} is missing.",
      i = "The two determine {.arg gamma} and {.arg eps}."
    ), "argument", argument = absent)
  }
  TRUE
}

# The expected number of kernels must be one that a sampler can hold
check_levy <- function(alpha, levy, approximation = NULL) {
  implied <- levy_size(alpha, levy$gamma, levy$eps, approximation)
  nu <- implied$nu
  size <- c(levy$eps, levy$gamma, implied$discrepancy)
  fine <- nu > 0 && nu <= .Machine$integer.max && all(is.finite(size)) &&
    all(size > 0)
  if (!isTRUE(fine)) {
    kb_abort(c(
      "The expected number of kernels must be a positive number below 2^31,
       and the discrepancy positive and finite.",
      x = "{.code alpha = {format(alpha)}}, {.code gamma = {format(levy$gamma)}}
           and {.code eps = {format(levy$eps)}} make them {format(nu)} and
           {format(size[[3]])}."
    ), "argument", argument = "gamma")
  }
}
