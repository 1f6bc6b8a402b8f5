# Many draws from the prior of bark() at once, and importance sampling with
# them: matrices have one row per draw. In base R, from the definitions.

#' Numbers of included predictors and scales, 0 for excluded ones
draw_scales <- function(prior, p, n) {
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
  list(d = d, lambda = lambda * included)
}

draw_noise <- function(prior, n) {
  if (isTRUE(prior$noise_fixed)) {
    return(rep(prior$noise_precision, n))
  }
  stats::rgamma(n, prior$noise_shape, prior$noise_rate)
}

#' Variances of the coefficients, one column per location (the intercept first),
#' 0 without a kernel; the number `J` of copies, `d`, `lambda`, `noise`
draw_bark_priors <- function(prior, locations, p, n) {
  copies <- matrix(stats::rpois(n * locations, prior$nu / locations), n)
  rate <- prior$alpha * prior$eps^2 / 2
  v <- 0 * copies
  if (prior$alpha == 1) {
    v[] <- copies^2 / stats::rgamma(length(copies), 0.5, rate)
  } else {
    slot <- rep(seq_along(copies), copies)
    each <- 1 / stats::rgamma(length(slot), prior$alpha / 2, rate)
    v[unique(slot)] <- rowsum(each, slot)
  }
  c(
    list(v = v, J = rowSums(copies), noise = draw_noise(prior, n)),
    draw_scales(prior, p, n), list(slope_sd = draw_slope_sd(prior, n))
  )
}

#' Half-t with 3 degrees of freedom; 0 without slopes
draw_slope_sd <- function(prior, n) {
  if (is.null(prior$slope_scale)) {
    return(numeric(n))
  }
  prior$slope_scale * abs(stats::rt(n, 3))
}

#' K at `points`, draws x points x locations
kernels_of_draws <- function(draws, x, points) {
  out <- array(1, c(nrow(draws$lambda), nrow(points), nrow(x) + 1))
  for (l in seq_len(nrow(x))) {
    out[, , l + 1] <- exp(-draws$lambda %*% (t(points) - x[l, ])^2)
  }
  out
}

#' Draws with values `f` at the rows of x, then of `at`
draw_bark_functions <- function(prior, x, at, n) {
  draws <- draw_bark_priors(prior, nrow(x) + 1, ncol(x), n)
  k <- kernels_of_draws(draws, x, rbind(x, at))
  beta <- sqrt(draws$v) * stats::rnorm(length(draws$v))
  draws$f <- vapply(seq_len(dim(k)[[2]]), function(i) {
    rowSums(k[, i, ] * beta)
  }, numeric(n))
  slopes <- draws$slope_sd * matrix(stats::rnorm(n * ncol(x)), n)
  draws$f <- draws$f + slopes %*% t(rbind(x, at))
  draws
}

#' Draws with the log density of y, coefficients integrated out, and the mean of
#' f at `at` given y
draw_bark_densities <- function(prior, x, y, at, n) {
  draws <- draw_bark_priors(prior, nrow(x) + 1, ncol(x), n)
  k <- kernels_of_draws(draws, x, rbind(x, at))
  squares <- tcrossprod(rbind(x, at))
  covariance <- function(i, j) {
    rowSums(draws$v * k[, i, ] * k[, j, ]) + draws$slope_sd^2 * squares[i, j]
  }
  rows <- seq_along(y)
  C <- matrix(list(), length(y), length(y))
  for (j in rows) for (i in rows) C[[i, j]] <- covariance(i, j)
  L <- factor_many(C, matrix(1 / draws$noise, n, length(y)))
  z <- solve_many(L, y)
  log_det <- Reduce(`+`, lapply(rows, function(j) log(L[[j, j]])))
  draws$log_l <- -log_det - dot_many(z, z) / 2 - length(y) / 2 * log(2 * pi)
  h <- solve_many(L, lapply(rows, covariance, length(y) + 1))
  draws$mean <- dot_many(h, z)
  draws
}

#' Weights and results of draws of everything from the prior
#' @param likelihood Function of f at the rows and the draws: log likelihood,
#'   further results, one row per draw.
response_importance <- function(prior, x, at, n, likelihood) {
  draws <- draw_bark_functions(prior, x, at, n)
  of <- likelihood(draws$f[, seq_len(nrow(x)), drop = FALSE], draws)
  answers <- cbind(
    draws$J, draws$d, squashed(draws$f[, nrow(x) + 1]), squashed(of[, 1]),
    of[, -1]
  )
  list(weight = exp(of[, 1]), answers = t(answers))
}
