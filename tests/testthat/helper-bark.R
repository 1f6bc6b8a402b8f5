# Dense algebra for states of bark(), from the definitions.

#' Coefficient variances of a state's slots
slot_variances <- function(state, alpha) {
  if (alpha == 1) {
    return(state$copies^2 / state$varphi)
  }
  slot <- rep(seq_along(state$copies), state$copies)
  as.vector(tapply(1 / state$varphi, slot, sum))
}

#' K, one column per slot, from its definition
slot_columns <- function(state, x) {
  lambda <- exp(state$log_lambda) * state$included
  vapply(state$location, function(location) {
    if (location == 0) {
      return(rep(1, nrow(x)))
    }
    exp(-colSums(lambda * (t(x) - x[location, ])^2))
  }, numeric(nrow(x)))
}

#' The log density of y, dense
dense_log_likelihood <- function(state, x, y, weights, alpha) {
  phi <- slot_columns(state, x)
  v <- slot_variances(state, alpha)
  cov <- diag(1 / (state$noise * weights)) + phi %*% (v * t(phi))
  r <- chol(cov)
  z <- backsolve(r, y, transpose = TRUE)
  -length(y) / 2 * log(2 * pi) - sum(log(diag(r))) - sum(z^2) / 2
}

#' One draw of the parameters from the prior, in R
draw_bark_prior <- function(prior, n, p) {
  copies <- stats::rpois(n + 1, prior$nu / (n + 1))
  location <- which(copies > 0) - 1
  copies <- copies[copies > 0]
  rate <- prior$alpha * prior$eps^2 / 2
  varphi <- if (prior$alpha == 1) {
    stats::rgamma(length(copies), 0.5, rate)
  } else {
    stats::rgamma(sum(copies), prior$alpha / 2, rate)
  }
  included <- if (startsWith(prior$type, "select")) {
    stats::rbinom(p, 1, stats::rbeta(1, prior$a_p, prior$b_p))
  } else {
    rep(1, p)
  }
  d <- sum(included)
  lambda <- switch(sub("select_", "", prior$type),
    equal = rep(stats::rgamma(1, prior$A, max(d, 1) * prior$B), p),
    different = stats::rgamma(p, prior$A / max(d, 1), prior$B)
  )
  list(
    location = location, copies = copies, varphi = varphi,
    included = included, log_lambda = log(pmax(lambda, 1e-300)),
    noise = stats::rgamma(1, prior$noise_shape, prior$noise_rate)
  )
}

# Settings of the core, and its data, for tests without a fit.
bark_setting <- function(type = "different", alpha = 1, nu = 3, ...) {
  utils::modifyList(list(
    type = type, alpha = alpha, eps = 0.5, nu = nu, A = 1.2, B = 0.8,
    a_p = 1.5, b_p = 1, noise_shape = 3, noise_rate = 1,
    noise_fixed = FALSE, noise_precision = 1
  ), list(...))
}

# Two classes: the noise of the latent responses is known.
probit_setting <- function(type = "different", ...) {
  bark_setting(
    type, ..., noise_shape = 1, noise_rate = 1, noise_fixed = TRUE
  )
}

five_rows <- matrix(c(
  0.3, -1.7, 2.1, -0.4, 1.2, 0.8, -0.6, 0.1, 1.4, -1.1, 0.5, -0.2, 0.9, -0.8,
  0.2
), 5)

# Fits shared by several test files; short, since mixing does not matter.
bark_quick <- function(..., prior = bark_prior_paper(), chains = 2, iter = 40,
                       warmup = 60) {
  suppressWarnings(
    bark(..., prior = prior, control = mcmc_control(chains, warmup, iter), seed = 1),
    classes = "kb_warning_convergence"
  )
}

bark_data <- function() {
  out <- sim_friedman(30, p = 5, seed = 2)[c("x1", "x2", "x4", "y")]
  out$g <- factor(rep(c("a", "b", "c"), 10))
  out$w <- rep(c(0.5, 1, 4), each = 10)
  out$class <- factor(ifelse(out$y > stats::median(out$y), "up", "down"))
  out
}

bark_fits <- local({
  fits <- NULL
  function() {
    if (is.null(fits)) {
      data <- bark_data()
      fits <<- list(
        plane = bark_quick(y ~ x1 + x2 + x4, data),
        line = bark_quick(data$x4, data$y, prior = bark_prior_paper("equal")),
        factor = bark_quick(y ~ x4 + g, data, prior = bark_prior_paper("different")),
        weighted = bark_quick(y ~ x1 + x4, data, weights = w),
        classes = bark_quick(class ~ x1 + x2 + x4, data),
        class_line = bark_quick(data["x4"], data$class)
      )
    }
    fits
  }
})

is_class_fit <- function(fit) fit$settings$family == "probit"

#' The state of an engine's run after parts of these lengths, each from where
#' the last one stopped
run_parts <- function(engine, parts, index = 1) {
  state <- NULL
  for (n in parts) {
    handle <- engine_open(engine, index, state)
    engine_advance(engine, handle, n)
    state <- engine_state(engine, handle)
    engine_close(engine, handle)
  }
  state[setdiff(names(state), "seconds")]
}
