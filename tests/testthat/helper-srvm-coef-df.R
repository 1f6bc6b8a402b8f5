# Exact answers of srvm() with coefficients of centres that are Student's t.

#' Exact answers by enumeration of all sets and quadrature over the bandwidth, the
#' spreads of the set's centres and the variance of coefficients
#' @param case See `spread_case()`.
#' @param new A point that may be a centre, too.
#' @return Log evidence, the means of k and of f at `at`, the probability that f is
#'   above 1 at the first point, the means of the log inverse bandwidth, of the sum of
#'   logs of spreads and of the log of `coef`.
#' @noRd
exact_spreads <- function(case, new = NULL, step = 0.4, v_step = 1) {
  log_w <- seq(-8, 4, by = step)
  log_v <- if (is.finite(case$df)) seq(-3, 11, by = v_step) else 0
  p_v <- if (is.finite(case$df)) exp(-case$df / 2 * (log_v + exp(-log_v))) else 1
  p_v <- p_v / sum(p_v)
  always <- function(x) {
    cbind(rep(1, length(x)), if (case$linear > 0) case$linear * (x - mean(case$x)))
  }
  centres <- c(case$x, new)
  m <- length(centres)
  all <- list()
  for (u in log_w) {
    kernels <- function(x) exp(-exp(2 * u) * outer(x, centres, `-`)^2 / 2)
    here <- cbind(always(case$x), kernels(case$x))
    there <- cbind(always(case$at), kernels(case$at))
    fixed <- ncol(here) - m
    log_p_w <- log_prior_inverse(exp(u), case$scale) + u + log(step)
    for (k in 0:case$kmax) {
      log_p <- log_p_w + stats::dpois(k, case$lambda, log = TRUE) -
        log(stats::ppois(case$kmax, case$lambda)) - lchoose(m, k)
      nodes <- as.matrix(expand.grid(rep(list(seq_along(log_v)), k)))
      if (k == 0) nodes <- matrix(0, 1, 0)
      for (s in utils::combn(m, k, simplify = FALSE)) {
        for (i in seq_len(nrow(nodes))) {
          v <- rep(0, m)
          v[s] <- exp(log_v[nodes[i, ]])
          factor <- c(rep(1, fixed), sqrt(v))
          each <- spread_answers(case,
            here * rep(factor, each = nrow(here)),
            there * rep(factor, each = nrow(there)),
            log_p + sum(log(p_v[nodes[i, ]]))
          )
          all[[length(all) + 1]] <- rbind(
            each, k, u, sum(log_v[nodes[i, ]]), log(case$coef)
          )
        }
      }
    }
  }
  all <- do.call(cbind, all)
  log_z <- log_sum_exp(all[1, ])
  out <- drop(all[-1, ] %*% exp(all[1, ] - log_z))
  n_at <- length(case$at)
  c(
    log_z = log_z, k = out[[n_at + 2]], f = out[seq_len(n_at)],
    above = out[[n_at + 1]], u = out[[n_at + 3]], v = out[[n_at + 4]],
    coef = out[[n_at + 5]]
  )
}

# Given a design at the rows and at the points, one column for each value of `coef`:
# the log likelihood plus a prior, the mean of f, the first's probability above 1
spread_answers <- function(case, here, there, log_p) {
  squares <- tcrossprod(here)
  across <- tcrossprod(here, there)
  own <- sum(there[1, ]^2)
  out <- matrix(0, 2 + ncol(across), length(case$coef))
  for (i in seq_along(case$coef)) {
    coef <- case$coef[[i]]
    out[, i] <- spread_answer(case, coef * squares, coef * across, coef * own)
    out[1, i] <- out[1, i] + log_p + log(case$coef_p[[i]])
  }
  out
}

# Given the covariances of f at the rows, with the points, and its variance at the
# first
spread_answer <- function(case, v, across, own) {
  scaled <- !is.null(case$shape)
  n <- length(case$y)
  diag(v) <- diag(v) + if (scaled) 1 else case$noise
  root <- chol.default(v)
  z <- backsolve(root, case$y, transpose = TRUE)
  cross <- backsolve(root, across, transpose = TRUE)
  f <- drop(crossprod(cross, z))
  variance <- max(own - sum(cross[, 1]^2), 1e-12)
  misfit <- sum(z^2) / 2
  log_l <- -misfit
  above <- stats::pnorm((f[[1]] - 1) / sqrt(variance))
  if (scaled) {
    shape <- case$shape + n / 2
    unit <- (case$noise + misfit) / shape
    above <- stats::pt((f[[1]] - 1) / sqrt(unit * variance), 2 * shape)
    log_l <- case$shape * log(case$noise) - lgamma(case$shape) + lgamma(shape) -
      shape * log(case$noise + misfit)
  }
  c(log_l - sum(log(diag(root))) - n / 2 * log(2 * pi), f, above)
}

#' A case with known variances
#' @return List: `x` (one column), `y`, `at` (points), `noise`, `coef` (a vector of
#'   values), `coef_p` (their prior probabilities), `lambda`, `kmax`, `df` of the
#'   coefficients, `scale` (of inverse bandwidths), `linear` (the scale of the linear
#'   part) and `prior`, the same for srvm(). With `shape` it has the scaled form:
#'   `noise` is then the scale of an inverse gamma.
#' @noRd
spread_case <- function(...) {
  x <- c(0.3, -1.7, 2.1)
  unit <- 1 / bandwidth_median(matrix(x))
  case <- utils::modifyList(list(
    x = x, y = c(1.4, 0.1, -0.6), at = c(-0.4, 1.5), noise = 0.3, coef = 0.5,
    coef_p = 1, lambda = 1.5, kmax = 2, df = 2, scale = 1.5 * unit, linear = unit
  ), list(...))
  prior <- list(
    lambda = case$lambda, kmax = case$kmax, noise = fixed_variance(case$noise),
    coef = fixed_variance(case$coef[[1]]), ard = 1.5, linear = 1, coef_df = case$df
  )
  prior[names(case$prior)] <- case$prior
  case$prior <- prior
  case
}

spread_fit <- function(case, ..., y = case$y) {
  suppressMessages(suppressWarnings(srvm(cbind(x = case$x), y,
    kernel = kernel_gaussian("ard"), scale = FALSE,
    prior = do.call(srvm_prior, case$prior), ...
  )))
}

#' Scores of sequential runs: of Z-hat, and of it times the errors of k, f at the
#' points, whether it is above 1 at the first, the log inverse bandwidth, and the sum
#' of logs of spreads; with `new`, also those with the first point as a candidate:
#' Z-hat, f, above 1
#' @param exact,new Answers of `exact_spreads()`.
#' @noRd
spread_scores <- function(case, exact, runs, new = NULL, ...) {
  at <- matrix(case$at, dimnames = list(NULL, "x"))
  values <- vapply(seq_len(runs), function(seed) {
    fit <- spread_fit(case, seed = seed, ...)
    pool <- srvm_pool(fit)
    w <- pool$weights
    sums <- function(m, w) {
      above <- stats::pnorm((m$mean - 1) / sqrt(m$variance))
      c(drop(m$mean %*% w), sum(w * above[1, ]))
    }
    log_z <- evidence(fit)$log_evidence
    ratio <- exp(log_z - exact[[1]])
    out <- c(ratio - 1, ratio * (c(
      sum(pool$k * w), sums(set_moments(fit, at, pool), w),
      -sum(log(pool$bandwidths) * w), sum(log_spreads(pool) * w)
    ) - exact[2:7]))
    if (is.null(new)) {
      return(out)
    }
    there <- moments_at_new(fit, at[1, , drop = FALSE], pool, seq_along(w))
    ratio <- exp(log_z + there$log_total - new[[1]])
    c(out, ratio - 1, ratio * (sums(there, there$weights[, 1]) - new[c(3, 5)]))
  }, numeric(if (is.null(new)) 7 else 10))
  rowMeans(values) / (apply(values, 1, stats::sd) / sqrt(runs))
}

#' Scores of the means of columns of draws of chains
#' @noRd
chain_scores <- function(draws, exact, chains) {
  vapply(seq_along(exact), function(j) {
    v <- matrix(draws[, j], ncol = chains)
    (mean(v) - exact[[j]]) / (stats::sd(v) / sqrt(posterior::ess_mean(v)))
  }, 0)
}

# Draws of a chain for what `exact_spreads()` answers
spread_draws <- function(case, fit) {
  pool <- srvm_pool(fit)
  f <- srvm_draws(fit, matrix(case$at, dimnames = list(NULL, "x")), pool,
    seq_along(pool$k)
  )
  cbind(pool$k, f, f[, 1] > 1, -log(t(pool$bandwidths)), log_spreads(pool),
    log(pool$coef)
  )
}

# The sums of the logs of each particle's spreads
log_spreads <- function(pool) {
  of <- factor(rep(seq_along(pool$k), pool$k), seq_along(pool$k))
  as.double(tapply(log(pool$spread), of, sum, default = 0))
}

#' Exact answers for two classes, with one centre at most: an integral over the
#' coefficients, which are Student's t
#' @return Log evidence, the means of k and of the probabilities at the points.
#' @noRd
exact_spread_classes <- function(case, second) {
  b0 <- stats::qnorm(seq(0.01, 0.99, by = 0.02)) * sqrt(case$coef)
  b1 <- stats::qt(seq(0.0025, 0.9975, by = 0.005), case$df) * sqrt(case$coef)
  log_p_k <- stats::dpois(0:1, case$lambda, log = TRUE) -
    log(stats::ppois(1, case$lambda))
  total <- c(0, 0, 0, 0)
  add <- function(weight, k, b1, kernel, kernel_at) {
    f <- function(value) as.vector(outer(b0, b1 * value, `+`))
    each <- weight / (length(b0) * length(b1))
    for (s in seq_along(case$x)) {
      side <- if (second[[s]]) 1 else -1
      each <- each * stats::pnorm(side * f(kernel[[s]]))
    }
    at <- vapply(kernel_at, function(v) sum(each * stats::pnorm(f(v))), 0)
    total <<- total + c(sum(each), k * sum(each), at)
  }
  add(exp(log_p_k[[1]]), 0, 0, 0 * case$x, 0 * case$at)
  for (u in seq(-8, 4, by = 0.3)) {
    p_u <- exp(log_prior_inverse(exp(u), case$scale) + u) * 0.3
    kernel <- function(x, centre) exp(-exp(2 * u) * (x - centre)^2 / 2)
    for (centre in case$x) {
      add(p_u * exp(log_p_k[[2]]) / length(case$x), 1, b1, kernel(case$x, centre), kernel(case$at, centre))
    }
  }
  c(log(total[[1]]), total[-1] / total[[1]])
}
