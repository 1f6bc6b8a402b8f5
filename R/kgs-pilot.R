# Bandwidths of kgs() that are learned: a short chain of some rows shapes the
# proposal, and the pivots span kernels near those that it finds.

# The share of the kernel that pivots may leave out: with noise a hundredth of
# a nugget that is small by its prior
span_tolerance <- function(settings, x) {
  if (!is_noisy(settings)) {
    return(1e-12)
  }
  prior <- settings$prior
  nugget <- if (learns_nugget(settings)) {
    prior$nugget * exp(-2 * prior$nugget_sd)
  } else {
    settings$nugget
  }
  variance <- mean(kernel_self(kernel_of_basis(settings), x))
  min(max(0.01 * nugget / variance, 1e-12), 1e-4)
}

#' The posterior of bandwidths, log s and the rate by a short chain of some rows
#'
#' The mode of the approximate evidence has rates and scales that are too small:
#' it is where the chain starts.
#' @return As of `learn_noisy()`.
#' @noRd
run_pilot <- function(settings, x, y, weights) {
  few <- pilot_rows(x, y, weights)
  mode <- pilot_mode(settings, few)
  settings$basis <- pilot_basis(settings, mode, few$distinct)
  near <- learn_noisy(settings, few$x, few$y, few$weights, mode)
  draws <- pilot_draws(near, noisy_data(settings, few$x, few$y, few$weights))
  pilot_moments(near, draws, settings$classes)
}

pilot_rows <- function(x, y, weights, most = 1000) {
  rows <- if (nrow(x) <= most) seq_len(nrow(x)) else {
    with_local_seed(1, sort(sample.int(nrow(x), most)))
  }
  x <- x[rows, , drop = FALSE]
  list(
    x = x, y = y[rows], weights = weights[rows],
    distinct = x[distinct_rows(x)$first, , drop = FALSE]
  )
}

# The mode of the approximate evidence, (G42)
pilot_mode <- function(settings, few) {
  settings$basis <- pilot_spread(settings, few)
  learn_noisy(settings, few$x, few$y, few$weights)
}

pilot_spread <- function(settings, few) {
  spread_basis(settings, few$distinct, min(settings$rank_limit, 100))
}

#' The kernel whose bandwidth "evidence" is at the mode of that of some rows
#'
#' There may be several modes: searches start from the median distance and from
#' narrower kernels.
#' @noRd
evidence_kernel <- function(settings, x, y, weights) {
  kernel <- settings$kernel
  settings$kernel <- kernel_fill(kernel, "evidence", "learn")
  few <- pilot_rows(x, y, weights)
  settings$basis <- pilot_spread(settings, few)
  config <- noisy_config(settings, ncol(x))
  data <- noisy_data(settings, few$x, few$y, few$weights)
  starts <- lapply(3^(0:2), function(narrower) {
    noisy_start(config, log(narrower) / settings$prior$bandwidth_sd)
  })
  mode <- learn_proposal(config, data, best_climb(config, data, starts))
  kernel_fill(kernel, "evidence", exp(-central_log_inverse(mode)[[1]]))
}

pilot_draws <- function(noisy, data, warmup = 250, iter = 250) {
  config <- c(
    list(method = "leapfrog", seed = 1, chain = 1), noisy,
    list(warmup = warmup, iter = iter, thin = 1)
  )
  handle <- kgs_open_cpp(config, data, NULL)
  on.exit(machine_close_cpp(handle))
  machines_advance_cpp(list(handle), warmup + iter, 1)
  machine_state_cpp(handle)$draws
}

# h by its least squares solution given bandwidths; the prior of the rest of it
# is that of the posterior, and independent. A correlation is known only from
# several times as many draws as there are parameters: until then that of the
# mode counts.
pilot_moments <- function(noisy, draws, classes) {
  design <- noisy$learned$design
  n <- length(draws$log_s)
  inverse <- pseudo_inverse(design)
  h <- t(inverse %*% (matrix(draws$log_inverse, ncol = n) -
    noisy$learned$offset))
  rate <- colMeans(matrix(draws$rates, ncol = n))
  known <- cbind(
    log_s = if (noisy$scale$learned) draws$log_s,
    rate = if (noisy$noise$kind != "fixed") {
      stats::qlogis(pmin(rate * classes / (classes - 1), 0.99))
    }
  )
  all <- cbind(known, h)
  own <- ncol(all) - ncol(h) + seq_len(ncol(h))
  covariance <- stats::cov(all)
  covariance[own, own] <- covariance[own, own] + diag(1, ncol(h)) -
    inverse %*% design
  trust <- 100 / (100 + ncol(all)^2)
  before <- tcrossprod(noisy$proposal$root)
  mixed <- diag(diag(covariance), ncol(all))
  mixed[own, own] <- before
  with_proposal(
    noisy, colMeans(all), trust * covariance + (1 - trust) * mixed, classes
  )
}

pseudo_inverse <- function(x) {
  parts <- svd(x)
  parts$v %*% (t(parts$u) / parts$d)
}

# Logarithms of inverse bandwidths at the centre of the proposal, (G37)
central_log_inverse <- function(noisy) {
  noisy$learned$offset +
    as.double(noisy$learned$design %*% noisy$proposal$centre)
}

#' Pivots for bandwidths near those of a pilot, a standard deviation narrower
#' @param pilot As of `learn_noisy()`.
#' @noRd
pilot_basis <- function(settings, pilot, x) {
  proposal <- pilot$proposal
  design <- pilot$learned$design
  sd <- sqrt(rowSums((design %*% proposal$root)^2))
  kernel <- kernel_of_basis(settings, exp(-central_log_inverse(pilot) - sd))
  kgs_basis(kernel, x, settings$rank_limit, span_tolerance(settings, x))
}

#' Pivots for bandwidths that are learned
#'
#' Those that span the features of the median bandwidth, then of narrower ones,
#' which need more pivots, until the rank is reached.
#' @return As of `kgs_basis()`, of the narrowest of these kernels.
#' @noRd
spread_basis <- function(settings, x, rank, tol = 1e-6) {
  rank <- min(rank, nrow(x))
  points <- x[0, , drop = FALSE]
  for (narrower in 2^(0:4)) {
    kernel <- kernel_of_basis(settings, settings$bandwidth / narrower)
    basis <- if (nrow(points) == 0) {
      kgs_basis(kernel, x, rank, tol)
    } else {
      old <- extend_basis(empty_basis(kernel, x), points, 0)
      new <- is.na(which_pivot(old, x))
      extend_basis(old, x[new, , drop = FALSE], tol, rank)
    }
    points <- basis$points
    if (nrow(points) >= rank) break
  }
  basis
}
