# Many draws at once from the prior of bark() under the truncation
# approximation, and importance sampling with them.

#' @param at Rows at which f is requested, besides those of x.
#' @return `f` (draws x rows of x, then of `at`), `J`, `d`, `noise`.
draw_truncated_prior <- function(prior, x, at, n) {
  p <- ncol(x)
  scales <- draw_scales(prior, p, n)
  lambda <- scales$lambda
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
  list(f = f, J = count, d = scales$d, noise = draw_noise(prior, n))
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

truncated_prior <- function(...) bark_prior_paper(..., approximation = "truncation")
