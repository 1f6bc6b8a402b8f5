# Scores of draws of bark() against what they must be: nearly standard normal
# if they are right. The same checks are put to planted bugs.

#' The mean of draws (a column a chain) less what it must be, in Monte Carlo
#' standard errors; 0 if the draws are all that value
mean_score <- function(draws, expected = 0) {
  draws <- as.matrix(draws)
  if (all(draws == expected)) {
    return(0)
  }
  (mean(draws) - expected) / posterior::mcse_mean(draws)
}

#' How often d of p predictors are included, for each d
inclusion_scores <- function(d, p, a = 1, b = 1) {
  k <- 0:p
  exact <- exp(lchoose(p, k) + lbeta(a + k, b + p - k) - lbeta(a, b))
  vapply(k, function(k) mean_score(d == k, exact[[k + 1]]), 0)
}

#' The expected number of included predictors
n_included_score <- function(d, p, a, b) mean_score(d, p * a / (a + b))

#' Draws u that must be uniform given that `there` holds: mean, spread
uniform_scores <- function(u, there = TRUE) {
  u <- u - 0.5
  c(mean = mean_score(u * there), spread = mean_score((u^2 - 1 / 12) * there))
}

#' Mean and covariance of independent draws (one a column) of a normal vector,
#' turned so that each product has mean 0 or 1 and a known variance
normal_scores <- function(draws, mean, covariance) {
  m <- length(mean)
  z <- backsolve(chol(covariance), draws - mean, transpose = TRUE)
  product <- tcrossprod(z) / ncol(z) - diag(m)
  sd <- sqrt((1 + diag(m)) / ncol(z))
  c(rowMeans(z) * sqrt(ncol(z)), (product / sd)[upper.tri(diag(m), TRUE)])
}

# A chain of the prior alone -----------------------------------------------

prior_only_fit <- function(prior, n = 20, p = 3, iter = 4000, seed = 1,
                           warmup = 200, chains = 2) {
  x <- withr::with_seed(4, matrix(stats::rnorm(n * p), n))
  bark(x, sin(x[, 1]),
    prior = prior, prior_only = TRUE, scale = FALSE, seed = seed,
    control = mcmc_control(chains, warmup, iter, 1)
  )
}

#' The number of included predictors, a column a chain
n_included <- function(fit) {
  p <- ncol(fit$data$x)
  vapply(fit$runs, function(run) {
    colSums(matrix(run$draws$included, p))
  }, numeric(length(fit$runs[[1]]$draws$m)))
}

#' Sums over the slots of each draw of `values` (a function of the draws of a
#' chain, one value a slot), a column a chain
slot_sums <- function(fit, values) {
  vapply(fit$runs, function(run) {
    d <- run$draws
    draw <- factor(rep(seq_along(d$m), d$m), seq_along(d$m))
    as.vector(rowsum(c(values(d), numeric(length(d$m))), c(
      as.integer(draw), seq_along(d$m)
    )))
  }, numeric(length(fit$runs[[1]]$draws$m)))
}

#' Scores of kernels and their coefficients under the prior
kernel_prior_scores <- function(fit) {
  prior <- fit$settings$prior
  locations <- nrow(fit$data$x) + 1
  each <- prior$nu / locations
  copies_at <- function(at) {
    slot_sums(fit, function(d) d$copies * (d$location == at))
  }
  count <- slot_sums(fit, function(d) d$copies)
  # Collapsed, n^2 / v has the law of one varphi; else slots of one copy.
  collapsed <- prior$alpha == 1
  varphi <- function(d) {
    u <- stats::pgamma(
      d$copies^2 / d$variance, prior$alpha / 2, prior$alpha * prior$eps^2 / 2
    )
    (u - 0.5) * (collapsed | d$copies == 1)
  }
  c(
    J = mean_score(count, prior$nu),
    J_spread = mean_score((count - prior$nu)^2, prior$nu),
    J_low = mean_score(
      count < prior$nu - 3, stats::ppois(ceiling(prior$nu) - 4, prior$nu)
    ),
    m = mean_score(
      slot_sums(fit, function(d) d$copies > 0), locations * (1 - exp(-each))
    ),
    intercept = mean_score(copies_at(0), each),
    no_intercept = mean_score(copies_at(0) == 0, exp(-each)),
    first = mean_score(copies_at(1), each),
    last = mean_score(copies_at(locations - 1), each),
    varphi = mean_score(slot_sums(fit, varphi)),
    varphi_spread = mean_score(slot_sums(fit, function(d) {
      (varphi(d)^2 - 1 / 12) * (collapsed | d$copies == 1)
    })),
    beta = mean_score(slot_sums(fit, function(d) d$beta / sqrt(d$variance))),
    beta_spread = mean_score(
      slot_sums(fit, function(d) d$beta^2 / d$variance - 1)
    )
  )
}

#' Scores of the scales, their inclusion and the noise under the prior
scale_prior_scores <- function(fit) {
  prior <- fit$settings$prior
  p <- ncol(fit$data$x)
  d <- n_included(fit)
  lambda <- function(l) {
    vapply(fit$runs, function(run) {
      exp(matrix(run$draws$log_lambda, p)[l, ]) *
        matrix(run$draws$included, p)[l, ]
    }, numeric(nrow(d)))
  }
  each <- lapply(seq_len(p), lambda)
  equal <- endsWith(prior$type, "equal")
  out <- list(
    S = uniform_scores(
      stats::pgamma(Reduce(`+`, each), prior$A, prior$B), d > 0
    ),
    noise = uniform_scores(stats::pgamma(
      vapply(fit$runs, function(run) run$draws$noise, numeric(nrow(d))),
      prior$noise_shape, prior$noise_rate
    ))
  )
  for (l in seq_len(p)) {
    u <- if (equal) {
      stats::pgamma(each[[l]], prior$A, pmax(d, 1) * prior$B)
    } else {
      stats::pgamma(each[[l]], prior$A / pmax(d, 1), prior$B)
    }
    out[[paste0("lambda", l)]] <- uniform_scores(u, each[[l]] > 0)
    if (bark_selects(prior$type)) {
      out[[paste0("delta", l)]] <-
        mean_score(each[[l]] > 0, prior$a_p / (prior$a_p + prior$b_p))
    }
  }
  if (bark_selects(prior$type)) {
    out$d <- inclusion_scores(d, p, prior$a_p, prior$b_p)
  }
  unlist(out)
}
