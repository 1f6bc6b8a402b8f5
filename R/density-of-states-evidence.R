# The evidence of kgs() for every error rate, out of one density of states.

#' Log evidence given the rate of label errors
#'
#' log p(D | q) = log sum_e g(e) (q / (C - 1))^e (1 - q)^(m - e), (G23), with C
#' classes.
#' At q = 0 it is log g(0), the log volume of version space.
#'
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
#'
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
#'
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
