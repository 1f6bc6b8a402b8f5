# Draws from the prior of bark() under the truncation approximation, many at
# once, and what importance sampling with them says.

#' @param at Rows at which f is wanted, besides those of x.
#' @return `f` (draws x rows of x, then of `at`), `J`, `d`, `noise`.
draw_truncated_prior <- function(prior, x, at, n) {
  p <- ncol(x)
  probability <- stats::rbeta(n, prior$a_p, prior$b_p)
  included <- matrix(
    !startsWith(prior$type, "select") | stats::runif(n * p) < probability, n
  )
  d <- rowSums(included)
  size <- pmax(d, 1)
  lambda <- if (endsWith(prior$type, "equal")) {
    matrix(stats::rgamma(n, prior$A, size * prior$B), n, p)
  } else {
    matrix(stats::rgamma(n * p, prior$A / size, prior$B), n)
  }
  lambda <- lambda * included
  count <- stats::rpois(n, prior$nu)
  draw <- rep(seq_len(n), count)
  location <- sample.int(nrow(x) + 1, length(draw), TRUE) - 1
  beta <- prior$eps * stats::runif(length(draw))^(-1 / prior$alpha) *
    sample(c(-1, 1), length(draw), TRUE)
  rows <- rbind(x, at)
  f <- vapply(seq_len(nrow(rows)), function(i) {
    exponent <- numeric(length(draw))
    for (l in seq_len(p)) {
      off <- c(0, rows[i, l] - x[, l])[location + 1]
      exponent <- exponent + lambda[draw, l] * off^2
    }
    out <- numeric(n)
    sums <- rowsum(beta * exp(-exponent), draw)
    out[as.integer(rownames(sums))] <- sums
    out
  }, numeric(n))
  noise <- if (isTRUE(prior$noise_fixed)) {
    rep(prior$noise_precision, n)
  } else {
    stats::rgamma(n, prior$noise_shape, prior$noise_rate)
  }
  list(f = f, J = count, d = d, noise = noise)
}

#' The log likelihood of each draw
truncated_log_likelihood <- function(draws, y, weights, probit) {
  Reduce(`+`, lapply(seq_along(y), function(i) {
    if (probit) {
      stats::pnorm(y[[i]] * draws$f[, i], log.p = TRUE)
    } else {
      sd <- 1 / sqrt(draws$noise * weights[[i]])
      stats::dnorm(y[[i]], draws$f[, i], sd, log = TRUE)
    }
  }))
}

truncated_prior <- function(...) bark_prior(..., approximation = "truncation")
