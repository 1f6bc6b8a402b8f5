# Scores of draws of bark() against their known values: nearly standard normal
# if the draws are right. The same checks are applied to planted bugs.

#' The mean of draws (one column per chain) minus its known value, in Monte
#' Carlo standard errors; 0 if all draws equal that value
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

#' Mean and covariance of independent draws (one per column) of a normal vector
#' with the precision r'r, rotated so that the variance of each product is known
normal_scores <- function(draws, mean, r) {
  n <- ncol(draws)
  z <- r %*% (draws - mean)
  one <- diag(length(mean))
  product <- (tcrossprod(z) / n - one) * sqrt(n / (1 + one))
  c(rowMeans(z) * sqrt(n), product[upper.tri(one, TRUE)])
}

# A chain of the prior only ------------------------------------------------

prior_only_fit <- function(prior, n = 20, p = 3, iter = 4000, seed = 1,
                           warmup = 200, chains = 2) {
  x <- withr::with_seed(4, matrix(stats::rnorm(n * p), n))
  bark(x, sin(x[, 1]),
    prior = prior, prior_only = TRUE, scale = FALSE, seed = seed,
    control = mcmc_control(chains, warmup, iter, 1)
  )
}

#' The number of included predictors, one column per chain
n_included <- function(fit) {
  p <- ncol(fit$data$x)
  vapply(fit$runs, function(run) {
    colSums(matrix(run$draws$included, p))
  }, numeric(length(fit$runs[[1]]$draws$m)))
}

#' Sums over the slots of each draw of `values` (a function of the draws of a
#' chain, one value per slot), one column per chain
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
  # Collapsed, n^2 / v has the law of one varphi; otherwise slots have one copy.
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

# Draws given the parameters --------------------------------------------------

#' The parameters of each draw of a pool, in the form for dense algebra
pool_states <- function(pool, p) {
  last <- cumsum(pool$m)
  lapply(seq_along(pool$m), function(i) {
    slots <- seq_len(pool$m[[i]]) + last[[i]] - pool$m[[i]]
    scales <- (i - 1) * p + seq_len(p)
    list(
      location = pool$location[slots], v = pool$variance[slots],
      beta = pool$beta[slots], log_lambda = pool$log_lambda[scales],
      included = pool$included[scales], noise = pool$noise[[i]]
    )
  })
}

#' Posterior of a state's coefficients in units of their prior, dense: mean and
#' the factor r of the precision r'r
dense_posterior <- function(state, x, y) {
  k <- slot_columns(state, x)
  unit <- sqrt(state$v)
  columns <- k * rep(unit, each = nrow(k))
  r <- chol(state$noise * crossprod(columns) + diag(length(unit)))
  half <- backsolve(r, crossprod(columns, y), transpose = TRUE)
  list(
    unit = unit, columns = k, r = r,
    mean = drop(backsolve(r, half)) * state$noise
  )
}

#' Whether coefficients are independent draws from the posteriors given each
#' draw's own parameters: scores of their rotated mean and spread
coefficient_scores <- function(states, x, y) {
  z <- unlist(lapply(states, function(state) {
    if (length(state$v) == 0) {
      return(NULL)
    }
    exact <- dense_posterior(state, x, y)
    exact$r %*% (state$beta / exact$unit - exact$mean)
  }))
  c(
    mean = mean(z) * sqrt(length(z)),
    spread = (mean(z^2) - 1) * sqrt(length(z) / 2)
  )
}

#' Whether draws of f (one column per draw) have the normal laws of `moments`:
#' mean, spread, and how often they are below the mixture's quantiles
prediction_scores <- function(f, moments, probs = c(0.05, 0.25, 0.75, 0.95)) {
  sd <- sqrt(moments$variance)
  z <- (f - moments$mean) / sd
  quantiles <- mixture_quantiles_cpp(
    moments$mean, moments$variance, NULL, rep(1 / ncol(f), ncol(f)), Inf, probs
  )
  below <- vapply(seq_along(probs), function(i) {
    chance <- stats::pnorm(quantiles[, i], moments$mean, sd)
    rowSums((f < quantiles[, i]) - chance) /
      sqrt(rowSums(chance * (1 - chance)))
  }, numeric(nrow(f)))
  c(
    rowMeans(z) * sqrt(ncol(z)),
    (rowMeans(z^2) - 1) * sqrt(ncol(z) / 2), below
  )
}

# Pairs -----------------------------------------------------------------------

#' Scores of means and mean products of statistics (one column per pair) after
#' minus before; the pairs are independent
#'
#' With d = a - b and s = a + b, a_i a_j - b_i b_j = (d_i s_j + s_i d_j) / 2:
#' its sums and sums of squares over the pairs are products of matrices, exactly
#' 0 for statistics that a move cannot change. These are left out.
paired_scores <- function(out, rows = seq_len(nrow(out$before))) {
  d <- out$after[rows, ] - out$before[rows, ]
  s <- out$after[rows, ] + out$before[rows, ]
  upper <- upper.tri(diag(length(rows)), TRUE)
  both <- tcrossprod(d, s)
  squares <- tcrossprod(d^2, s^2)
  sum <- c(rowSums(d), ((both + t(both)) / 2)[upper])
  sum_of_squares <- c(
    rowSums(d^2), ((squares + t(squares) + 2 * tcrossprod(d * s)) / 4)[upper]
  )
  largest <- c(rowSums(d^2), ((squares + t(squares)) / 4)[upper])
  changed <- sum_of_squares > 1e-12 * largest
  sum[changed] / sqrt(sum_of_squares[changed])
}

#' Scores of a move on five rows with unequal weights, with the statistics of
#' kernels' shapes, of the pool and of clusters
shape_invariance <- function(move, prior, pairs, power = 1, repeats = 4, ...) {
  out <- bark_invariance_cpp(
    prior, five_rows, c(1, 0.1, 5, 1, 2.5), move, repeats, pairs, power, 7, ...
  )
  own <- if (nrow(out$before) > 14) 15:nrow(out$before)
  paired_scores(out, c(if (power == 0) 1:10 else 1:11, own))
}
