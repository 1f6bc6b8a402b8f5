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
