# Exact answers for fits that forget and for two classes, in addition to
# helper-enumerate.R: the posterior given the rows that count, with the
# candidates of a fit; and probit models by quadrature over f.

# Bounded memory -------------------------------------------------------------

#' Indices of the last `window` of t rows
#' @noRd
last_rows <- function(t, window) seq(max(1, t - window + 1), t)

#' The candidate rows of a fit's only run
#' @noRd
candidates_of_fit <- function(fit) {
  rows <- fit$runs[[1]]$candidate_rows
  fit$sequence[sort(rows[!is.na(rows)])]
}

#' Inclusion probabilities of points: a repeated point belongs to one of its
#' rows
#' @noRd
inclusion_at <- function(fit, points) {
  x <- drop(fit$data$x)
  p <- inclusion(fit)$probability
  vapply(points, function(point) sum(p[x == point]), 0)
}

#' z-scores of srvm's answers given the last rows, against quadrature over psi
#' and all sets: run_against_oracle() for a bounded memory
#'
#' The fit says which rows are candidates; the oracle gives their posterior.
#' @noRd
stream_against_oracle <- function(x, y, control, memory, kmax = 5,
                                  centres = "subset", noise = ig(3, 0.3),
                                  coef = ig(3, 2), intercept = TRUE,
                                  scaled = FALSE, runs = 40, seed = 1,
                                  lambda = 1.3, weights = NULL, linear = 0) {
  t <- length(y)
  counted <- last_rows(t, memory$window)
  weight <- memory$forgetting^(t - seq_len(t)) * (seq_len(t) %in% counted)
  at <- as.matrix(c(-1, 0.5))
  value <- mean(y) + c(-0.3, 0.1)
  known <- list()
  precision <- if (is.null(weights)) rep(1, t) else weights
  # When rows are forgotten, their normalising constants are not.
  forgotten <- if (memory$forgetting < 1) {
    sum((1 - weight) * log(precision)) / 2
  } else {
    0
  }
  solve <- function(rows) {
    key <- paste(rows, collapse = "-")
    if (is.null(known[[key]])) {
      exact <- oracle_posterior(
        x, y, kern_beside(x, linear), lambda, kmax, centres,
        for_oracle(noise), for_oracle(coef), intercept,
        scaled = scaled, centre_rows = rows, row_weights = weight,
        precision = precision
      )
      known[[key]] <<- list(
        log_evidence = exact$log_evidence + forgotten,
        truth = answers_of_oracle(exact, at, value)
      )
    }
    known[[key]]
  }
  bounded <- is.finite(memory$candidates)
  fits <- independent_fits(function(control, seed) {
    srvm(as.matrix(x), y,
      kernel = kernel_gaussian(0.9), scale = FALSE, intercept = intercept,
      prior = srvm_prior(
        for_package(lambda), kmax, centres, noise, coef, scaled,
        linear = linear
      ),
      memory = memory, control = control, seed = seed, weights = weights
    )
  }, control, runs, seed, apart = bounded)
  estimates <- lapply(fits, function(fit) {
    rows <- candidates_of_fit(fit)
    exact <- solve(rows)
    ratio <- exp(evidence(fit)$log_evidence - exact$log_evidence)
    # If the number of candidates is bounded, those in use differ between seeds:
    # their inclusion probabilities are averaged.
    own <- 3:(2 + length(rows))
    answers <- answers_of_fit(fit, at, value, rows)
    answers[own] <- inclusion_at(fit, x[rows])
    off <- answers - exact$truth
    if (bounded) {
      off <- c(off[-own], sum(off[own]), sum(off[own] * cos(rows)))
    }
    c(ratio, ratio * off)
  })
  estimates <- do.call(cbind, estimates)
  se <- apply(estimates, 1, stats::sd) / sqrt(runs)
  mc_z(
    rowMeans(estimates), pmax(se, 1e-13), c(1, rep(0, nrow(estimates) - 1))
  )
}

# Two classes ----------------------------------------------------------------

#' Nodes and weights for a standard normal variable (Golub and Welsch, 1969)
#' @noRd
gauss_hermite <- function(n) {
  jacobi <- matrix(0, n, n)
  off <- cbind(seq_len(n - 1), seq_len(n - 1) + 1)
  jacobi[off] <- jacobi[off[, 2:1]] <- sqrt(seq_len(n - 1))
  e <- eigen(jacobi, symmetric = TRUE)
  list(x = e$values, w = e$vectors[1, ]^2)
}

#' Grid of the product rule in r dimensions
#' @noRd
normal_grid <- function(r, n) {
  one <- gauss_hermite(n)
  if (r == 0) {
    return(list(x = matrix(0, 1, 0), w = 1))
  }
  index <- as.matrix(expand.grid(rep(list(seq_len(n)), r)))
  list(
    x = matrix(one$x[index], ncol = r),
    w = apply(matrix(one$w[index], ncol = r), 1, prod)
  )
}

#' Integrals of g(f) P(y | f) for f = phi beta, beta ~ N(0, coef I): of 1, and
#' for each row of `phi_new` of f, f^2 and Phi(f)
#'
#' Only the row space of phi affects the data: the rest of f is normal.
#' @param y Signs.
#' @param offset Added to f at the rows of phi.
#' @noRd
probit_integrals <- function(y, phi, coef, phi_new = NULL, nodes = 20,
                             offset = numeric(length(y))) {
  if (ncol(phi) == 0) {
    p <- prod(stats::pnorm(y * offset))
    return(c(p, rep(c(0, 0, p / 2), NROW(phi_new))))
  }
  s <- svd(phi, nu = 0, nv = ncol(phi))
  r <- sum(s$d > 1e-10)
  own <- s$v[, seq_len(r), drop = FALSE]
  grid <- normal_grid(r, nodes)
  b <- sqrt(coef) * grid$x
  f <- sweep(b %*% t(phi %*% own), 2, offset, `+`)
  log_p <- rowSums(stats::pnorm(sweep(f, 2, y, `*`), log.p = TRUE))
  w <- grid$w * exp(log_p)
  out <- sum(w)
  for (i in seq_len(NROW(phi_new))) {
    u <- phi_new[i, ]
    mean <- drop(b %*% crossprod(own, u))
    rest <- coef * (sum(u^2) - sum(crossprod(own, u)^2))
    p <- stats::pnorm(mean / sqrt(1 + rest))
    out <- c(out, sum(w * mean), sum(w * (mean^2 + rest)), sum(w * p))
  }
  out
}

#' The exact posterior of a probit model: all subsets, product quadrature over
#' f, and over the coefficients' variance unless it is fixed
#'
#' @return List: `log_evidence`, `k` (mean), `p_0`, `inclusion`, `coef` (mean)
#'   and, at the points `at`, `f`, `square`, `p`.
#' @noRd
probit_posterior <- function(x, y, lambda, kmax, coef, at = NULL,
                             centres = "subset", intercept = TRUE, nodes = 20,
                             centre_rows = oracle_candidates(x)$rows,
                             refine = 1, offset = numeric(length(y))) {
  x <- as.matrix(x)
  centre_x <- x[centre_rows, , drop = FALSE]
  K <- kern(x, centre_x)
  K_new <- if (!is.null(at)) kern(as.matrix(at), centre_x)
  sets <- enumerate_subsets(length(centre_rows), kmax)
  k <- lengths(sets)
  prior <- oracle_log_prior_set(
    k, length(centre_rows), lambda, kmax, centres
  )
  v <- oracle_nodes(coef, coef$shape + 2, coef$shape - 0.5, 0, refine, 18)
  each <- lapply(seq_along(sets), function(i) {
    phi <- oracle_design(K, sets[[i]], intercept)
    phi_new <- if (!is.null(at)) oracle_design(K_new, sets[[i]], intercept)
    by_node <- vapply(v$v, function(one) {
      c(probit_integrals(y, phi, one, phi_new, nodes, offset), 0)
    }, numeric(2 + 3 * NROW(phi_new)))
    by_node[nrow(by_node), ] <- by_node[1, ] * v$v
    exp(prior[[i]]) * drop(by_node %*% exp(v$log_w))
  })
  each <- do.call(cbind, each)
  z <- sum(each[1, ])
  p_set <- each[1, ] / z
  there <- rowSums(each) / z
  new <- matrix(there[-c(1, length(there))], 3)
  list(
    log_evidence = log(z), k = sum(k * p_set), p_0 = p_set[[1]],
    inclusion = vapply(seq_along(centre_rows), function(j) {
      sum(p_set[vapply(sets, function(S) j %in% S, NA)])
    }, 0),
    f = new[1, ], square = new[2, ], p = new[3, ],
    coef = there[[length(there)]], rows = centre_rows
  )
}

#' Computed once: runs of several kinds share a problem
#' @noRd
known_probit_posterior <- local({
  known <- list()
  function(...) {
    key <- rlang::hash(lapply(list(...), function(v) {
      if (is.function(v)) attributes(v) else v
    }))
    if (is.null(known[[key]])) known[[key]] <<- probit_posterior(...)
    known[[key]]
  }
})

answers_of_probit_fit <- function(fit, at, points) {
  pool <- srvm_pool(fit)
  w <- pool$weights
  k <- model_size(fit)
  moments <- srvm_moments(fit, at, pool)
  f <- srvm_draws(fit, at, pool, seq_along(w))
  none <- if (!is.null(fit$data$mixed)) numeric(nrow(at))
  p <- predict(fit, at, type = "prob", offset = none)[, 2]
  c(
    sum(k$k * k$probability), sum(k$probability[k$k == 0]),
    inclusion_at(fit, points), predict(fit, at, type = "link", offset = none),
    drop((moments$variance + moments$mean^2) %*% w), p,
    # Statistics that are drawn for output.
    drop(w %*% f), drop(w %*% f^2), drop(w %*% stats::pnorm(f)),
    sum(w * pool$draws$coef)
  )
}

#' z-scores of a probit fit's answers, as run_against_oracle()
#' @param y Signs.
#' @noRd
probit_against_oracle <- function(x, y, control, kmax = 3, centres = "subset",
                                  coef = fixed_variance(0.8), intercept = TRUE,
                                  memory = srvm_memory(), runs = 40, seed = 1,
                                  lambda = 1.3, nodes = 16, offset = NULL) {
  t <- length(y)
  counted <- last_rows(t, memory$window)
  at <- as.matrix(c(-1, 0.5))
  exact <- known_probit_posterior(x[counted], y[counted], lambda, kmax,
    for_oracle(coef), at, centres, intercept, nodes,
    offset = if (is.null(offset)) numeric(length(counted)) else offset[counted]
  )
  points <- x[counted][exact$rows]
  truth <- c(
    exact$k, exact$p_0, exact$inclusion, exact$f, exact$square, exact$p,
    exact$f, exact$square, exact$p, exact$coef
  )
  fits <- independent_fits(function(control, seed) {
    srvm(as.matrix(x), factor(y, c(-1, 1)),
      kernel = kernel_gaussian(0.9), scale = FALSE, intercept = intercept,
      prior = srvm_prior(for_package(lambda), kmax, centres, coef = coef),
      memory = memory, control = control, seed = seed, offset = offset
    )
  }, control, runs, seed)
  estimates <- vapply(fits, function(fit) {
    ratio <- exp(evidence(fit)$log_evidence - exact$log_evidence)
    c(ratio, ratio * (answers_of_probit_fit(fit, at, points) - truth))
  }, numeric(1 + length(truth)))
  se <- apply(estimates, 1, stats::sd) / sqrt(runs)
  mc_z(rowMeans(estimates), pmax(se, 1e-13), c(1, rep(0, length(truth))))
}

# Weights as pure functions --------------------------------------------------

#' The core's configuration with a bounded memory
#' @noRd
stream_config <- function(x, y, model, memory, n_moves = 0, shift = 0,
                          seed = 1L, response = "gaussian") {
  config <- core_config(x, y, model, smc_control(n_moves = n_moves), shift)
  config$seed <- seed
  config$response <- response
  config$window <- if (is.finite(memory$window)) memory$window else 0L
  config$candidates <-
    if (is.finite(memory$candidates)) memory$candidates else 0L
  config$forgetting <- memory$forgetting
  config
}

#' log int p(beta) prod_s N(y_s; f_s, noise)^w_s by a dense factor; in the
#' scaled form the noise is integrated out
#' @noRd
weighted_log_ml <- function(y, phi, w, noise, coef, scaled = FALSE) {
  n_w <- sum(w)
  phi <- sqrt(w) * phi
  y <- sqrt(w) * y
  v <- diag(length(y)) + (if (scaled) coef else coef / noise) * tcrossprod(phi)
  R <- chol(v)
  q <- sum(backsolve(R, y, transpose = TRUE)^2)
  volume <- -n_w / 2 * log(2 * pi) - sum(log(diag(R)))
  if (!scaled) {
    return(volume - n_w / 2 * log(noise) - q / noise / 2)
  }
  a <- noise$shape + n_w / 2
  volume + noise$shape * log(noise$scale) - lgamma(noise$shape) + lgamma(a) -
    a * log(noise$scale + q / 2)
}

#' Subsets, as rows, of the candidates in `rows`
#' @noRd
row_subsets <- function(rows, kmax) {
  lapply(enumerate_subsets(length(rows), kmax), function(S) rows[S])
}

#' log gamma(S), S as rows, given rows with weights and the candidates
#' @noRd
stream_log_gamma <- function(S, x, y, w, candidates, model) {
  phi <- cbind(
    if (model$intercept) rep(1, length(y)), kern(x, x[S])
  )
  oracle_log_prior_set(length(S), length(candidates), model$lambda,
    model$kmax, model$centres
  ) + weighted_log_ml(y, phi, w, model$sigma2, model$tau2, model$scaled)
}

#' Rows as points: a repeated point belongs to one of its rows
#' @noRd
point_key <- function(x, rows) paste(sort(x[rows]), collapse = " ")

#' The identity sum_S gamma_{t-1}(S) W(S -> S') = gamma(S') when data leave
#' before row t: the largest relative error, and the error of sums and factors
#' @noRd
drop_defect <- function(x, y, t, model, memory, ...) {
  config <- stream_config(x, y, model, memory, ...)
  noise <- if (model$scaled) 7 else model$sigma2
  drop_row <- function(S) {
    srvm_drop_cpp(config, as.matrix(x), y, t, S, noise, model$tau2, numeric())
  }
  frame <- drop_row(integer())
  age <- t - 1 - seq_along(y)
  phi <- memory$forgetting
  before <- phi^age * (age >= 0 & age < memory$window)
  after <- phi^(age + 1) * (age >= 0 & age + 1 < memory$window)
  targets <- row_subsets(frame$after, model$kmax)
  gamma <- exp(vapply(targets, stream_log_gamma, 0,
    x = x, y = y, w = after, candidates = frame$after, model = model
  ))
  flow <- 0 * gamma
  key <- vapply(targets, function(S) point_key(x, S), "")
  drift <- 0
  for (S in row_subsets(frame$before, model$kmax)) {
    out <- drop_row(rev(S))
    to <- match(point_key(x, out$set), key)
    flow[[to]] <- flow[[to]] + exp(out$log_weight +
      stream_log_gamma(S, x, y, before, frame$before, model))
    phi <- cbind(if (model$intercept) rep(1, length(y)), kern(x, x[out$set]))
    gram <- crossprod(phi, after * phi)
    rhs <- crossprod(phi, after * (y - config$shift))
    off <- c(0, out$gram - gram * lower.tri(gram, TRUE), out$rhs - rhs)
    drift <- max(drift, out$drift, abs(off))
  }
  c(defect = max(abs(flow / gamma - 1)), drift = drift)
}

#' Mean and standard deviation of a latent response at `row` given those of
#' `others`, in the model with centres S (rows)
#' @noRd
probit_predictive <- function(S, x, z, row, others, coef, intercept = TRUE) {
  phi <- cbind(if (intercept) rep(1, length(x)), kern(x, x[S]))
  v <- diag(length(x)) + coef * tcrossprod(phi)
  gain <- v[row, others, drop = FALSE] %*% solve(v[others, others])
  list(
    mean = drop(gain %*% z[others]),
    sd = sqrt(drop(v[row, row] - gain %*% v[others, row]))
  )
}

#' log N(z; 0, I + coef Phi Phi') at `rows`
#' @noRd
probit_log_density <- function(S, x, z, rows, coef, intercept = TRUE) {
  K <- kern(x[rows], x[S])
  oracle_log_ml(z[rows], K, seq_along(S), 1, coef, intercept)
}

#' Latent responses by place
#' @noRd
by_place <- function(z, rows, window) {
  if (!is.finite(window)) {
    return(z[rows])
  }
  z[rows[order((rows - 1) %% window)]]
}

#' drop_defect() if the responses are signs and the latent ones are z
#' @noRd
drop_probit_defect <- function(x, y, z, t, model, memory, n_moves, seed = 1) {
  config <- stream_config(x, y, model, memory, n_moves,
    seed = seed, response = "probit"
  )
  now <- last_rows(t - 1, memory$window)
  left <- now[now > t - memory$window]
  out <- setdiff(now, left)
  drop_row <- function(S) {
    srvm_drop_cpp(config, as.matrix(x), y, t, S, 1, model$tau2,
      by_place(z, now, memory$window)
    )
  }
  frame <- drop_row(integer())
  log_gamma <- function(S, candidates) {
    oracle_log_prior_set(length(S), length(candidates), model$lambda,
      model$kmax, model$centres
    ) + probit_log_density(S, x, z, left, model$tau2, model$intercept)
  }
  targets <- row_subsets(frame$after, model$kmax)
  gamma <- exp(vapply(targets, log_gamma, 0, frame$after))
  key <- vapply(targets, function(S) point_key(x, S), "")
  flow <- 0 * gamma
  drift <- 0
  for (S in row_subsets(frame$before, model$kmax)) {
    result <- drop_row(rev(S))
    start <- log_gamma(S, frame$before)
    if (length(out) > 0) {
      f <- probit_predictive(S, x, z, out, left, model$tau2, model$intercept)
      # Rows that have left are summed over.
      start <- start + stats::pnorm(y[out] * f$mean / f$sd, log.p = TRUE)
    }
    to <- match(point_key(x, result$set), key)
    flow[[to]] <- flow[[to]] + exp(start + result$log_weight)
    drift <- max(drift, result$drift, abs(result$squares - sum(z[left]^2)))
  }
  c(defect = max(abs(flow / gamma - 1)), drift = drift)
}

#' The two branches of a probit step from the set S (rows) of the candidates
#' before: log of the factors by which joining and staying multiply gamma
#' @noRd
probit_branches <- function(S, x, y, z, t, candidates, model, window) {
  rows <- setdiff(last_rows(t, window), t)
  new <- if (x[t] %in% x[candidates]) integer() else t
  m <- length(candidates)
  prior <- function(k, m) {
    oracle_log_prior_set(k, m, model$lambda, model$kmax, model$centres)
  }
  k <- length(S)
  branch <- function(to) {
    f <- probit_predictive(to, x, z, t, rows, model$tau2, model$intercept)
    density <- function(S) {
      probit_log_density(S, x, z, rows, model$tau2, model$intercept)
    }
    list(
      log = prior(length(to), m + length(new)) - prior(k, m) +
        density(to) - density(S) +
        stats::pnorm(y[t] * f$mean / f$sd, log.p = TRUE),
      f = f
    )
  }
  list(
    stay = branch(S),
    join = if (length(new) > 0 && k < model$kmax) branch(c(S, t))
  )
}
