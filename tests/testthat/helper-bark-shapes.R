# Kernels with their own centres or scales, in plain R.

#' One draw of the parameters from the prior: one kernel per column of `centre`,
#' `lambda` and `included` (the intercept's are not used)
draw_shaped_prior <- function(prior, x) {
  n <- nrow(x)
  p <- ncol(x)
  m <- stats::rpois(1, prior$nu)
  weights <- prior$centre_weights
  if (is.null(weights)) weights <- rep(1, n + 1)
  location <- sample.int(n + 1, m, TRUE, weights) - 1
  centre <- rbind(0, x)[location + 1, , drop = FALSE]
  if (!is.null(prior$centre_sd)) {
    centre <- centre + prior$centre_sd * stats::rnorm(m * p)
  }
  own <- isTRUE(prior$own_scales)
  scales <- replicate(if (own) m else 1, draw_bark_prior(prior, 1, p), FALSE)
  lambda <- vapply(scales, function(s) exp(s$log_lambda) * s$included, 0 * 1:p)
  if (!own) lambda <- rep(lambda, m)
  list(
    location = location, centre = t(centre),
    lambda = matrix(lambda, p, m),
    v = 1 / stats::rgamma(m, prior$alpha / 2, prior$alpha * prior$eps^2 / 2),
    noise = stats::rgamma(1, prior$noise_shape, prior$noise_rate)
  )
}

#' K at the rows of x, one column per kernel
shaped_columns <- function(state, x) {
  out <- vapply(seq_along(state$location), function(j) {
    if (state$location[[j]] == 0) {
      return(rep(1, nrow(x)))
    }
    exp(-colSums(state$lambda[, j] * (t(x) - state$centre[, j])^2))
  }, numeric(nrow(x)))
  matrix(out, nrow(x))
}

#' A state of the core in this form: shared parameters and each kernel's own
shaped_state <- function(state, x) {
  p <- ncol(x)
  m <- length(state$location)
  kernel <- which(state$location != 0)
  centre <- t(rbind(0, x)[pmax(state$location, 0) + 1, , drop = FALSE])
  lambda <- matrix(exp(state$log_lambda) * state$included, p, m)
  if (length(state$centre) > 0) centre[, kernel] <- state$centre
  if (length(state$own_included) > 0) {
    lambda[, kernel] <- exp(state$own_log_lambda) * state$own_included
  }
  list(
    location = state$location, centre = centre, lambda = lambda,
    v = 1 / state$varphi, noise = state$noise
  )
}

#' The same of draw i of a fit
shaped_draw <- function(fit, i, pool = bark_pool(fit)) {
  x <- scaling_x(fit$settings$scaling, fit$data$x)
  p <- ncol(x)
  slots <- sum(pool$m[seq_len(i - 1)]) + seq_len(pool$m[[i]])
  numbers <- (slots[1] - 1) * p + seq_len(length(slots) * p)
  state <- list(
    location = pool$location[slots], varphi = 1 / pool$variance[slots],
    noise = pool$noise[[i]], log_lambda = 0, included = 0
  )
  if (!has_own_scales(fit)) {
    state$log_lambda <- pool$log_lambda[(i - 1) * p + seq_len(p)]
    state$included <- pool$included[(i - 1) * p + seq_len(p)]
  }
  out <- shaped_state(state, x)
  if (has_own_centres(fit)) out$centre[] <- pool$centre[numbers]
  if (has_own_scales(fit)) {
    out$lambda[] <- exp(pool$own_log_lambda[numbers]) *
      pool$own_included[numbers]
  }
  c(out, list(beta = pool$beta[slots]))
}

#' log density of y, its coefficients integrated out, and their mean
shaped_posterior <- function(state, x, y, weights = 1) {
  k <- shaped_columns(state, x)
  total <- diag(1 / (state$noise * weights), length(y)) +
    k %*% (state$v * t(k))
  r <- chol(total)
  z <- backsolve(r, y, transpose = TRUE)
  list(
    log_likelihood = -sum(log(diag(r))) - sum(z^2) / 2 -
      length(y) / 2 * log(2 * pi),
    mean = state$v * drop(crossprod(k, backsolve(r, z)))
  )
}

#' Short chains with shapes, on a problem of four rows
shaped_tiny <- function(type = "select_different", alpha = 1, centres = NULL,
                        own_scales = FALSE, chains = 2, iter = 60,
                        warmup = 40, ..., x = tiny_shape_x,
                        y = c(0.8, -0.9, 0.4, 0.1), prior_only = FALSE) {
  suppressWarnings(bark(x, y,
    prior = bark_prior_paper(type,
      alpha = alpha, eps = 0.5, gamma = 1.5,
      centres = centres, own_scales = own_scales, scales = c(1, 1),
      noise = if (!is.factor(y)) noise_gamma(3, 1)
    ),
    control = mcmc_control(chains, warmup, iter, ...), scale = FALSE, seed = 1,
    prior_only = prior_only
  ))
}

tiny_shape_x <- matrix(c(0.3, -1.2, 1.1, -0.2, 0.9, 0.4, -1, -0.6), 4)
