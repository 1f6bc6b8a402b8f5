# Bugs of an earlier implementation of the model, planted anew: each check of
# bark() in test-bark-planted.R is also applied to them and must detect them.

# Coefficients ----------------------------------------------------------------

#' The posterior of coefficients with the prior precisions 1 / v added to the
#' eigenvalues of phi K'K instead of its diagonal
planted_posterior <- function(k, y, v, phi) {
  parts <- eigen(phi * crossprod(k), symmetric = TRUE)
  covariance <- parts$vectors %*%
    (t(parts$vectors) / (parts$values + 1 / v))
  list(
    covariance = covariance, mean = drop(covariance %*% crossprod(k, y)) * phi
  )
}

#' Draws of a multivariate normal vector, one per column
draw_normal <- function(n, mean, covariance) {
  r <- chol(covariance)
  mean + t(r) %*% matrix(stats::rnorm(n * length(mean)), length(mean))
}

# Selection -------------------------------------------------------------------

#' A chain of the prior of inclusion and scales, by flips; d is returned
#'
#' A flip takes one of p predictors with equal probabilities, and includes or
#' excludes it.
#' @param propose Function of a list of `included`, `lambda` and the predictor
#'   l: a list of the new scales and of `log_ratio`, the log acceptance ratio.
#' @param refresh Function of the number d: new scales of the included ones
#'   given d.
flip_chain <- function(propose, refresh, p, n) {
  included <- rep(TRUE, p)
  lambda <- refresh(p) * included
  vapply(seq_len(n), function(i) {
    l <- sample.int(p, 1)
    new <- propose(included, lambda, l)
    if (log(stats::runif(1)) < new$log_ratio) {
      included[[l]] <<- !included[[l]]
      lambda <<- new$lambda
    }
    d <- sum(included)
    if (d > 0) lambda[included] <<- refresh(d)
    d
  }, 0)
}

#' log pi(delta with one more) - log pi(delta), d of p included
log_include <- function(d, p, a = 1, b = 1) log((a + d) / (b + p - d - 1))

#' Scales that differ: a flip leaves the full set too rarely, by the square of p
#' (`leave_full = p^2`), as when 1 / p stands for p in the number of ways
differing_flip <- function(shape, rate, leave_full = 1) {
  function(included, lambda, l) {
    p <- length(included)
    comes <- !included[[l]]
    d <- sum(included) - !comes
    kept <- lambda[included & seq_len(p) != l]
    density <- function(size) {
      sum(stats::dgamma(kept, shape / size, rate, log = TRUE))
    }
    ratio <- log_include(d, p)
    if (d > 0) ratio <- ratio + density(d + 1) - density(d)
    lambda[[l]] <- if (comes) stats::rgamma(1, shape / (d + 1), rate) else 0
    full <- !comes && d == p - 1
    list(
      lambda = lambda,
      log_ratio = (if (comes) ratio else -ratio) - full * log(leave_full)
    )
  }
}

#' Equal scales, kept as they are: `late` uses the densities of d and d + 1 on
#' the way down from d, instead of those of d - 1 and d
equal_flip <- function(shape, rate, late = FALSE) {
  function(included, lambda, l) {
    p <- length(included)
    comes <- !included[[l]]
    d <- sum(included) - !comes
    scale <- max(lambda)
    density <- function(d) stats::dgamma(scale, shape, d * rate, log = TRUE)
    ratio <- log_include(d, p)
    if (!comes && late) {
      ratio <- ratio + density(d + 2) - density(d + 1)
    } else if (d > 0) {
      ratio <- ratio + density(d + 1) - density(d)
    }
    new <- if (d == 0) stats::rgamma(1, shape, rate) else scale
    lambda[[l]] <- if (comes) new else 0
    list(lambda = lambda, log_ratio = if (comes) ratio else -ratio)
  }
}

#' Numbers of included predictors, for either kind of flip, one column per chain
planted_inclusion <- function(flip, equal, p, n = 20000, shape = 1, rate = 1) {
  refresh <- if (equal) {
    function(d) rep(stats::rgamma(1, shape, d * rate), d)
  } else {
    function(d) stats::rgamma(d, shape / d, rate)
  }
  vapply(1:2, function(chain) {
    flip_chain(flip, refresh, p, n)
  }, numeric(n))
}

# Elicitation -----------------------------------------------------------------

#' Expected number of kernels, pi times too large unless alpha is 1
planted_nu <- function(alpha, gamma, eps) {
  bark_nu(alpha, gamma, eps) * if (alpha == 1) 1 else pi
}
