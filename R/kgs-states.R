# The density of states of kgs(): the prior probability g(e) that a classifier
# makes e errors, out of histograms of e under tempered chains.

#' Density of states by the multi-histogram equations
#'
#' Chains at inverse temperature beta_l draw e with probabilities proportional
#' to g(e) exp(-beta_l e). The g that makes all their histograms H_l most likely
#' is
#'
#'   g(e) = sum_l H_l(e) / sum_l n_l exp(-beta_l e) / Z_l,
#'   Z_l = sum_e g(e) exp(-beta_l e),   n_l = sum_e H_l(e)
#'
#' (Ferrenberg and Swendsen, 1989; Vardi, 1985), (G27). It is found as the
#' minimum of a convex function of the log Z_l, by Newton's method.
#'
#' The histograms must not include data that no classifier gets right: with z of
#' them, count e among the others, and `c(rep(-Inf, z), log_g)` is the density
#' of states of all.
#' @param counts H_l(e), a matrix with one row per level and the m + 1 columns e
#'   = 0, ..., m. Levels of equal beta are pooled, levels without counts
#'   dropped.
#' @param beta Finite inverse temperatures of the levels, the first of them 0: Z
#'   is relative to draws from the prior.
#' @param m Number of data.
#' @param mirror Does each classifier have an equally probable opposite that
#'   errs exactly where it does not? Then H_l(m - e) is also a histogram at
#'   -beta_l. True for two classes with equal costs of errors.
#' @param inefficiency A number, or one per level: number of draws of a chain
#'   equivalent to one independent draw.
#' @return log g(e), e = 0, ..., m: sum g = 1, `-Inf` where never seen.
#' @section Errors: `kb_error_overlap` if levels have no e in common,
#'   `kb_error_convergence` if the equations are not solved.
#' @noRd
density_of_states <- function(counts, beta, m, mirror = FALSE,
                              inefficiency = 1) {
  check_histograms(counts, beta, m)
  check_flag(mirror)
  check_inefficiency(inefficiency, beta)
  levels <- pool_levels(counts / inefficiency, beta, mirror)
  levels$total <- colSums(levels$counts)
  levels$drawn <- rowSums(levels$counts)
  log_z <- start_levels(levels)
  check_overlap(levels, level_shares(levels, log_z))
  log_z <- solve_levels(levels, log_z)
  log_g <- rep(-Inf, m + 1)
  log_g[levels$state + 1] <- log(levels$total) -
    log_row_sums(level_terms(levels, log_z))
  log_g - log_sum_exp(log_g)
}

# Input -----------------------------------------------------------------------

check_histograms <- function(counts, beta, m) {
  m <- check_count(m, 1)
  valid <- is.matrix(counts) && is.numeric(counts) && ncol(counts) == m + 1 &&
    all(is.finite(counts)) && all(counts >= 0)
  if (!valid) {
    bad_argument(
      counts, "counts",
      paste("a matrix of finite counts with", m + 1, "columns, e = 0 to m")
    )
  }
  if (!is.numeric(beta) || length(beta) != nrow(counts) ||
    !all(is.finite(beta))) {
    bad_argument(beta, "beta", "finite numbers, one per row of `counts`")
  }
  if (beta[[1]] != 0 || sum(counts[1, ]) == 0) {
    kb_abort(c(
      "The first element of {.arg beta} must be 0, and that level must have
       draws.",
      i = "Without draws from the prior the evidence has no scale."
    ), "argument", argument = "beta")
  }
}

check_inefficiency <- function(inefficiency, beta) {
  valid <- is.numeric(inefficiency) &&
    length(inefficiency) %in% c(1, length(beta)) &&
    all(is.finite(inefficiency)) && all(inefficiency > 0)
  if (!valid) {
    bad_argument(
      inefficiency, "inefficiency", "positive: a number, or one per level"
    )
  }
}

# Levels with their mirrors, of increasing beta, and the states that were seen
#
# The origin of e is m / 2, which makes a level and its mirror symmetric and
# keeps numbers small for large m: Z is that of exp(-beta (e - m / 2)).
pool_levels <- function(counts, beta, mirror) {
  if (mirror) {
    counts <- rbind(counts, counts[, rev(seq_len(ncol(counts))), drop = FALSE])
    beta <- c(beta, -beta)
  }
  drawn <- rowSums(counts) > 0
  counts <- unname(rowsum(counts[drawn, , drop = FALSE], beta[drawn]))
  state <- which(colSums(counts) > 0) - 1
  list(
    beta = sort(unique(beta[drawn])),
    counts = counts[, state + 1, drop = FALSE],
    state = state, origin = (ncol(counts) - 1) / 2
  )
}

# The equations ---------------------------------------------------------------

# log n_l exp(-beta_l e) / Z_l: one row per seen state, one column per level
level_terms <- function(levels, log_z) {
  outer(levels$origin - levels$state, levels$beta) +
    rep(log(levels$drawn) - log_z, each = length(levels$state))
}

# The probability that a draw, given its state, was made at each level
level_shares <- function(levels, log_z) {
  terms <- level_terms(levels, log_z)
  exp(terms - log_row_sums(terms))
}

# Minimise sum_l n_l log Z_l + sum_e H(e) log sum_l n_l exp(-beta_l e) / Z_l:
# (G28)
#
# Its gradient, (G29), is zero where the multi-histogram equations hold.
# Newton's decrement is twice the distance to the minimum in units of the log
# likelihood, so that 1e-10 is far below any Monte Carlo error; the last step
# squares it.
solve_levels <- function(levels, log_z, max_steps = 100) {
  free <- levels$beta != 0
  if (!any(free)) {
    return(log_z)
  }
  for (step in seq_len(max_steps)) {
    shares <- level_shares(levels, log_z)
    gradient <- levels$drawn - colSums(levels$total * shares)
    curvature <- level_curvature(levels, shares)
    direction <- newton_direction(curvature, gradient, free)
    decrement <- -sum(gradient * direction)
    log_z <- log_z + direction *
      newton_size(levels, shares, direction, decrement)
    if (isTRUE(decrement < 1e-10)) {
      return(log_z)
    }
  }
  abort_unsolved()
}

abort_unsolved <- function() {
  kb_abort(c(
    "The density of states was not found: the equations did not converge.",
    i = "Use more levels, or more draws per level."
  ), "convergence")
}

# Second derivatives, (G29): a Laplacian, whose diagonal comes without
# cancellation
level_curvature <- function(levels, shares) {
  shared <- crossprod(shares, levels$total * shares)
  diag(shared) <- 0
  diag(rowSums(shared), nrow(shared)) - shared
}

# Newton's step; log Z of beta = 0 stays 0, which is sum g = 1
newton_direction <- function(curvature, gradient, free) {
  root <- tryCatch(
    chol(curvature[free, free]),
    error = function(e) abort_unsolved()
  )
  direction <- 0 * gradient
  direction[free] <- -backsolve(
    root, backsolve(root, gradient[free], transpose = TRUE)
  )
  direction
}

# The first of 1, 1/2, 1/4, ... times the step that goes down enough
newton_size <- function(levels, shares, direction, decrement) {
  change <- function(size) {
    size * sum(levels$drawn * direction) +
      sum(levels$total * log1p(drop(shares %*% expm1(-size * direction))))
  }
  size <- 1
  # Below 1e-6 rounding hides the change, and full steps are safe.
  while (decrement > 1e-6 && size > 1e-10 &&
    !isTRUE(change(size) <= -1e-4 * size * decrement)) {
    size <- size / 2
  }
  size
}

# The start -------------------------------------------------------------------

# log Z by the ratios of neighbours, each from the two of them alone
start_levels <- function(levels) {
  ratios <- vapply(seq_along(levels$beta)[-1], function(l) {
    neighbour_ratio(levels, l - 1, l)
  }, 0)
  log_z <- c(0, cumsum(ratios))
  log_z - log_z[levels$beta == 0]
}

# log Z_k / Z_l by Bennett's acceptance ratio, (G30), a root between known
# bounds
neighbour_ratio <- function(levels, l, k) {
  gap <- levels$beta[[k]] - levels$beta[[l]]
  counts <- levels$counts[l, ] + levels$counts[k, ]
  seen <- counts > 0
  counts <- counts[seen]
  log_odds <- log(levels$drawn[[k]] / levels$drawn[[l]]) +
    gap * (levels$origin - levels$state[seen])
  surplus <- function(ratio) {
    sum(counts * stats::plogis(log_odds - ratio)) - levels$drawn[[k]]
  }
  bound <- gap * levels$origin + 1
  stats::uniroot(surplus, c(-bound, bound), tol = 1e-3)$root
}

# Levels below and above each gap must share at least one draw
check_overlap <- function(levels, shares) {
  n <- length(levels$beta)
  if (n == 1) {
    return(invisible())
  }
  below <- upper.tri(diag(n), diag = TRUE)[, -n, drop = FALSE]
  shared <- colSums(
    levels$total * (shares %*% below) * (shares %*% !below)
  )
  if (min(shared) < 1) {
    at <- which.min(shared) + 0:1
    kb_abort(c(
      "The levels of beta do not overlap, so the evidence cannot be computed.",
      x = "Levels {.val {signif(levels$beta[at], 3)}} overlap by
           {signif(min(shared), 2)} effective draws.",
      i = "Add levels between them, or draw more."
    ), "overlap", beta = levels$beta[at], shared = min(shared))
  }
}

# Monte Carlo error -----------------------------------------------------------

#' Jackknife standard errors of a function of the sum of batches: (G31)
#' @param batches A list of at least two matrices `counts`, from chains or from
#'   segments of equal length that are long enough to be independent.
#' @return In nats; infinite where a value depends on states found in a single
#'   batch.
#' @noRd
jackknife_se <- function(batches, statistic) {
  n <- length(batches)
  if (!is.list(batches) || n < 2) {
    bad_argument(batches, "batches", "a list of at least two batches")
  }
  total <- Reduce(`+`, batches)
  values <- do.call(cbind, lapply(batches, function(batch) {
    statistic(total - batch)
  }))
  se <- sqrt((n - 1) / n * rowSums((values - rowMeans(values))^2))
  ifelse(is.finite(se), se, Inf)
}

# Sums of logs ----------------------------------------------------------------

# The evidence of kgs() for every error rate, out of one density of states.

#' Log evidence given the rate of label errors
#'
#' log p(D | q) = log sum_e g(e) (q / (C - 1))^e (1 - q)^(m - e), (G23), with C
#' classes.
#' At q = 0 it is log g(0), the log volume of version space.
#' @param log_g log g(e) for e = 0, ..., m, of [density_of_states()].
#' @param m Number of data.
#' @param q Rates, each from 0 to (C - 1) / C.
#' @param classes Number C of classes, at least 2.
#' @return A number for each q: `-Inf` at 0 if no state without errors was seen.
#' @noRd
log_evidence_rate <- function(log_g, m, q, classes = 2) {
  check_log_density(log_g, m)
  check_rates(q, check_count(classes, 2))
  e <- seen_states(log_g)
  vapply(q, function(q) {
    if (q == 0) {
      return(log_g[[1]])
    }
    log_sum_exp(
      log_g[e + 1] + e * log(q / (classes - 1)) + (m - e) * log1p(-q)
    )
  }, 0)
}

#' Log evidence, the rate of label errors integrated out
#'
#' The rate has a Beta(a, b) prior, truncated to (0, t), t = (C - 1) / C:
#' log sum_e g(e) (C - 1)^-e B_t(a + e, b + m - e) / B_t(a, b), (G24).
#' @inheritParams log_evidence_rate
#' @param a,b Positive numbers.
#' @return A number.
#' @noRd
log_evidence_beta <- function(log_g, m, a = 1, b = 1, classes = 2) {
  check_log_density(log_g, m)
  a <- check_number(a, 0, open = TRUE)
  b <- check_number(b, 0, open = TRUE)
  classes <- check_count(classes, 2)
  top <- (classes - 1) / classes
  e <- seen_states(log_g)
  log_sum_exp(
    log_g[e + 1] - e * log(classes - 1) +
      log_incomplete_beta(top, a + e, b + m - e)
  ) - log_incomplete_beta(top, a, b)
}

#' Posterior density of the rate of label errors under a truncated Beta prior
#' @inheritParams log_evidence_beta
#' @return The density at each q.
#' @noRd
posterior_of_rate <- function(log_g, m, q, a = 1, b = 1, classes = 2) {
  top <- (classes - 1) / classes
  log_prior <- stats::dbeta(q, a, b, log = TRUE) + lbeta(a, b) -
    log_incomplete_beta(top, a, b)
  exp(
    log_prior + log_evidence_rate(log_g, m, q, classes) -
      log_evidence_beta(log_g, m, a, b, classes)
  )
}

seen_states <- function(log_g) which(log_g > -Inf) - 1

#' log B_t(a, b), the integral of q^(a - 1) (1 - q)^(b - 1) over (0, t)
#'
#' Far above t in the tail, log(pbeta()) is wrong by up to 100 nats (R 4: a
#' above 9000, b below 40). There the sum of positive terms
#'
#'   t^a (1 - t)^b / a sum_n t^n prod_(k < n) (a + b + k) / (a + 1 + k)
#'
#' converges fast: (G25).
#' @param t A number in (0, 1).
#' @param a,b Positive vectors of one length.
#' @noRd
log_incomplete_beta <- function(t, a, b) {
  out <- numeric(length(a))
  far <- a / (a + b) > (1 + t) / 2
  out[far] <- log_beta_series(t, a[far], b[far])
  # It warns where its complement is too small to matter.
  out[!far] <- suppressWarnings(
    stats::pbeta(t, a[!far], b[!far], log.p = TRUE)
  ) + lbeta(a[!far], b[!far])
  out
}

log_beta_series <- function(t, a, b) {
  sum <- term <- rep(1, length(a))
  n <- 0
  while (any(term > 1e-17 * sum)) {
    term <- term * t * (a + b + n) / (a + 1 + n)
    sum <- sum + term
    n <- n + 1
  }
  a * log(t) + b * log1p(-t) - log(a) + log(sum)
}

# Checks ----------------------------------------------------------------------

check_log_density <- function(log_g, m) {
  m <- check_count(m, 1)
  valid <- is.numeric(log_g) && length(log_g) == m + 1 && !anyNA(log_g) &&
    all(log_g < Inf) && any(log_g > -Inf)
  if (!valid) {
    bad_argument(log_g, "log_g", paste(m + 1, "log probabilities, e = 0 to m"))
  }
}

check_rates <- function(q, classes) {
  top <- (classes - 1) / classes
  # 1 - 1 / C may come out above (C - 1) / C.
  if (!is.numeric(q) || anyNA(q) || any(q < 0 | q > top + 1e-12)) {
    bad_argument(q, "q", paste("numbers from 0 to", format(top, digits = 3)))
  }
}

# PAC-Bayes: the evidence bounds the error of a classifier that is drawn from
# the posterior.

#' A bound of the share of new labels that a random classifier gets wrong
#'
#' With probability `confidence` over samples of m rows, for all posteriors Q at
#' once, kl(errors, error) <= (KL(Q | P) + log(2 sqrt(m) / (1 - confidence))) / m
#' (Seeger, 2002; Maurer, 2004), kl between two Bernoulli distributions. KL(Q |
#' P) is the posterior mean of the log likelihood minus the log evidence.
#' @param errors Posterior mean of the share of training labels that the
#'   classifier of a draw gets wrong; a vector, if the best of the bounds of
#'   several priors is chosen.
#' @param divergence KL(Q | P) in nats, for each.
#' @param priors The number of priors that could have been chosen.
#' @return One-row data frame, the best bound.
#' @noRd
pac_bayes <- function(errors, divergence, m, priors = length(errors),
                      confidence = 0.95) {
  divergence <- pmax(divergence, 0)
  risk <- (1 - confidence) / priors
  most <- (divergence + log(2 * sqrt(m) / risk)) / m
  bound <- mapply(farthest_rate, errors, most)
  best <- which.min(bound)
  data.frame(
    errors = errors[[best]], divergence = divergence[[best]],
    bound = bound[[best]], confidence = confidence
  )
}

# The largest r with kl(rate, r) <= most
farthest_rate <- function(rate, most) {
  if (rate == 0) {
    return(-expm1(-most))
  }
  beyond <- function(r) {
    own <- rate * log(rate / r)
    other <- if (rate < 1) (1 - rate) * log((1 - rate) / (1 - r)) else 0
    own + other - most
  }
  top <- 1 - 1e-12
  if (rate >= top || beyond(top) <= 0) {
    return(1)
  }
  stats::uniroot(beyond, c(rate, top), tol = 1e-10)$root
}

# Of the model without noise of f, at each rate of wrong labels
pac_bayes_of_states <- function(log_g, q, log_evidence, data) {
  found <- is.finite(log_evidence)
  if (!any(found)) {
    return(NULL)
  }
  e <- seen_states(log_g)
  expected <- vapply(which(found), function(i) {
    log_lik <- count_log(e, q[[i]] / (data$classes - 1)) +
      count_log(data$m - e, 1 - q[[i]])
    weight <- exp(log_g[e + 1] + log_lik - log_evidence[[i]])
    used <- weight > 0
    c(sum(weight * e), sum(weight[used] * log_lik[used]))
  }, numeric(2))
  pac_bayes(
    expected[1, ] / data$m, expected[2, ] - log_evidence[found], data$m,
    length(q)
  )
}

# Not where rows count several times
pac_bayes_of_fit <- function(fit, log_evidence) {
  y <- fit$data$y
  if (length(label_weights(fit$settings, y, fit$data$weights)) > 0) {
    return(NULL)
  }
  right <- kgs_votes(fit, fit$data$x)[cbind(seq_along(y), as.integer(y))]
  log_lik <- mean(chain_matrices(fit)$log_lik)
  pac_bayes(1 - mean(right), log_lik - log_evidence, fit$time)
}

print_pac_bayes <- function(x) {
  if (is.null(x)) {
    return(invisible())
  }
  percent <- function(v) paste0(format(100 * v, digits = 3), "%")
  cat(strwrap(paste0(
    "PAC-Bayes: the classifier of a random draw gets at most ",
    percent(x$bound), " of new labels wrong, with confidence ",
    percent(x$confidence), "; on the training rows ", percent(x$errors), "."
  ), 78, prefix = "  "), sep = "\n")
}
