# Exact answers under Student's noise for up to five rows: all sets, with the
# weights omega of the rows on a tensor grid. In base R and independent of the
# package; the rest is in helper-enumerate.R and helper-srvm-oracle.R.

#' Nodes of omega ~ Gamma(df / 2, df / 2): the trapezoid rule in its logarithm
#' @noRd
student_nodes <- function(df, refine = 1) {
  a <- df / 2
  step <- min(0.65, 1 / sqrt(a + 0.5)) / refine
  end <- function(side) {
    excess <- function(d) a * (exp(side * d) - 1 - side * d) - 12 * refine
    stats::uniroot(excess, c(0, 30 * refine + 12 * refine / a))$root
  }
  u <- seq(-end(-1), end(1), by = step)
  list(omega = exp(u), weight = step * stats::dgamma(exp(u), a, a) * exp(u))
}

#' The Cholesky factors of many matrices C + diag(D[i, ]), entry by entry
#' @param C One matrix, or one whose entries are vectors, one element per
#'   matrix.
#' @noRd
factor_many <- function(C, D) {
  n <- ncol(D)
  L <- matrix(list(), n, n)
  for (j in seq_len(n)) {
    for (i in j:n) {
      sum <- C[[i, j]] + if (i == j) D[, j] else 0
      for (k in seq_len(j - 1)) sum <- sum - L[[i, k]] * L[[j, k]]
      L[[i, j]] <- if (i == j) sqrt(sum) else sum / L[[j, j]]
    }
  }
  L
}

solve_many <- function(L, b) {
  z <- list()
  for (j in seq_len(nrow(L))) {
    sum <- b[[j]]
    for (k in seq_len(j - 1)) sum <- sum - L[[j, k]] * z[[k]]
    z[[j]] <- sum / L[[j, j]]
  }
  z
}

dot_many <- function(a, b) Reduce(`+`, Map(`*`, a, b))

#' Given one set and one noise variance: sums over the grid of omega of the
#' likelihood, alone and times f, f^2 and the density of a new response at each
#' point
#' @noRd
student_sums <- function(y, phi, phi_at, D, weight, sigma2, tau2, new,
                         value) {
  n <- length(y)
  L <- factor_many(tau2 * tcrossprod(phi), sigma2 * D)
  z <- solve_many(L, y)
  log_det <- Reduce(`+`, lapply(seq_len(n), function(j) log(L[[j, j]])))
  w <- weight * exp(-log_det - dot_many(z, z) / 2 - n / 2 * log(2 * pi))
  out <- sum(w)
  for (i in seq_len(nrow(phi_at))) {
    h <- solve_many(L, tau2 * drop(phi %*% phi_at[i, ]))
    mean <- dot_many(h, z)
    variance <- tau2 * sum(phi_at[i, ]^2) - dot_many(h, h)
    density <- 0
    for (l in seq_along(new$omega)) {
      sd <- sqrt(variance + sigma2 / new$omega[[l]])
      density <- density + new$weight[[l]] * stats::dnorm(value[[i]], mean, sd)
    }
    out <- rbind(out, c(sum(w * mean), sum(w * (variance + mean^2)),
      sum(w * density)))
  }
  list(z = out[1, 1], moments = out[-1, , drop = FALSE])
}

#' The exact posterior under Student's noise of known degrees of freedom
#'
#' `noise` is list(shape, scale) or list(fixed), `tau2` known or a list of
#' nodes and weights; `candidates` are the rows that may be centres.
#' @noRd
oracle_student <- function(x, y, df, noise, tau2, at, value, lambda = 1.3,
                           kmax = 5, intercept = TRUE, refine = 1,
                           candidates = oracle_candidates(x)$rows,
                           precision = rep(1, length(y))) {
  x <- as.matrix(x)
  n <- length(y)
  rule <- student_nodes(df, refine)
  grid <- as.matrix(expand.grid(rep(list(seq_along(rule$omega)), n)))
  weight <- Reduce(`*`, lapply(seq_len(n), function(s) {
    rule$weight[grid[, s]]
  }))
  # The corners of the grid contribute nothing.
  keep <- weight > 1e-7 / refine^10 * max(weight)
  D <- matrix(1 / rule$omega[grid[keep, ]], ncol = n)
  D <- sweep(D, 2, precision, `/`)
  weight <- weight[keep]
  sigma2 <- oracle_nodes(noise, noise$shape + n / 2, noise$shape + n / 2 - 1,
    log(sum(y^2)), 0.75 * refine, 14 * refine)
  if (!is.list(tau2)) tau2 <- list(v = tau2, log_w = 0)
  sets <- enumerate_subsets(length(candidates), kmax)
  k <- lengths(sets)
  prior <- exp(oracle_log_prior_set(k, length(candidates), lambda, kmax))
  K <- kern(x, x[candidates, , drop = FALSE])
  K_at <- kern(at, x[candidates, , drop = FALSE])
  p_set <- numeric(length(sets))
  other <- numeric(3)  # sigma, sigma^2, tau^2
  moments <- 0
  for (i in seq_along(sets)) {
    phi <- oracle_design(K, sets[[i]], intercept)
    phi_at <- oracle_design(K_at, sets[[i]], intercept)
    for (a in seq_along(sigma2$v)) {
      for (b in seq_along(tau2$v)) {
        node <- prior[[i]] * exp(sigma2$log_w[[a]] + tau2$log_w[[b]])
        sums <- student_sums(
          y, phi, phi_at, D, weight, sigma2$v[[a]], tau2$v[[b]], rule, value
        )
        p_set[[i]] <- p_set[[i]] + node * sums$z
        moments <- moments + node * sums$moments
        other <- other + node * sums$z *
          c(sqrt(sigma2$v[[a]]), sigma2$v[[a]], tau2$v[[b]])
      }
    }
  }
  z <- sum(p_set)
  p_set <- p_set / z
  inclusion <- vapply(seq_along(candidates), function(j) {
    sum(p_set[vapply(sets, function(S) j %in% S, NA)])
  }, 0)
  list(
    log_evidence = log(z), rows = candidates,
    answers = student_answers(
      sum(k * p_set), p_set[[1]], inclusion, other / z, moments / z
    )
  )
}

#' Results in one order, for the oracle and for fits
#' @param other Means of sigma, sigma^2 and tau^2.
#' @param moments Of f, f^2 and the density of a response: points x 3.
#' @noRd
student_answers <- function(k, none, inclusion, other, moments) {
  c(k, none, inclusion, other, moments, moments[, 1:2])
}

#' The same for a fit; the last moments from the coefficients drawn for output
#' @noRd
student_answers_of_fit <- function(fit, at, value, rows) {
  pool <- srvm_pool(fit)
  w <- pool$weights
  k <- model_size(fit)
  moments <- srvm_moments(fit, at, pool)
  f <- srvm_draws(fit, at, pool, seq_along(w))
  c(
    sum(k$k * k$probability), sum(k$probability[k$k == 0]),
    inclusion(fit)$probability[rows], sigma(fit), sum(w * pool$draws$noise),
    sum(w * pool$draws$coef), predict(fit, at),
    drop((moments$variance + moments$mean^2) %*% w),
    exp(predict(fit, at, "log_score", newy = value)), drop(w %*% f),
    drop(w %*% f^2)
  )
}

#' z-scores of `runs` independent fits against exact answers, each weighted by
#' Z-hat / Z as in run_against_oracle()
#' @param exact A function of the fit: its evidence and answers.
#' @noRd
student_scores <- function(exact, x, y, at, value, control, prior,
                           intercept = TRUE, memory = srvm_memory(),
                           runs = 40, weights = NULL) {
  fits <- independent_fits(function(control, seed) {
    srvm(as.matrix(x), y,
      kernel = kernel_gaussian(0.9), scale = FALSE, intercept = intercept,
      prior = prior, control = control, seed = seed, memory = memory,
      weights = weights
    )
  }, control, runs, apart = is.finite(memory$candidates))
  estimates <- vapply(fits, function(fit) {
    truth <- exact(fit)
    ratio <- exp(evidence(fit)$log_evidence - truth$log_evidence)
    answers <- student_answers_of_fit(fit, at, value, truth$rows)
    c(ratio, ratio * (answers - truth$answers))
  }, numeric(1 + length(exact(NULL)$answers)))
  se <- apply(estimates, 1, stats::sd) / sqrt(runs)
  # Fixed variances are exact up to rounding.
  mc_z(rowMeans(estimates), pmax(se, 1e-12), c(1, numeric(nrow(estimates) - 1)))
}
