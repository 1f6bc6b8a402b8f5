# Exact answers for small problems by enumeration and quadrature, in base R
# and independent of the package: dense formulas, every subset of centres.
#
# Sets are sorted integer vectors of candidate numbers. The candidates are the
# distinct rows of x in order of first occurrence, m_t of them among rows
# 1..t; `oracle_candidates(x)$rows[S]` turns a set into row indices.
# `lambda` is the Poisson rate or, for any other p(k), a function that gives
# log p(k) up to a constant.
#
# The scaled form has beta ~ N(0, sigma2 ratio I): `tau2` is then the ratio,
# and at fixed ratio sigma2 ~ IG(shape, scale) is integrated out.
#
# Fixed psi: oracle_model(), oracle_log_gamma(), oracle_transition_*() and
# oracle_transition_defect(). Unknown psi: oracle_posterior() (about t <= 7)
# and oracle_predict().

# Utilities ------------------------------------------------------------------

log_sum_exp <- function(v) {
  top <- max(v)
  if (is.finite(top)) top + log(sum(exp(v - top))) else top
}

#' 1/2 sum |p - q| of two vectors, each normalised first
#' @noRd
total_variation <- function(p, q) sum(abs(p / sum(p) - q / sum(q))) / 2

#' Total variation between exact probabilities (named by key) and a weighted
#' sample of keys; a key unknown to `exact` counts as probability zero.
#' @noRd
weighted_tv <- function(exact, key, weight = rep(1, length(key))) {
  keys <- union(names(exact), key)
  p <- ifelse(keys %in% names(exact), exact[match(keys, names(exact))], 0)
  q <- vapply(keys, function(a) sum(weight[key == a]), 0)
  total_variation(p, q)
}

#' Standard score of a Monte Carlo estimate
#' @noRd
mc_z <- function(estimate, se, exact) {
  ifelse(estimate == exact, 0, (estimate - exact) / se)
}

set_key <- function(set) paste(set[order(set)], collapse = "-")

oracle_kernel_gaussian <- function(bandwidth) {
  function(a, b) {
    a <- as.matrix(a)
    b <- as.matrix(b)
    r2 <- outer(rowSums(a^2), rowSums(b^2), `+`) - 2 * tcrossprod(a, b)
    exp(-pmax(r2, 0) / (2 * bandwidth^2))
  }
}

#' All subsets of 1..m with at most kmax members
#' @noRd
enumerate_subsets <- function(m, kmax) {
  sizes <- seq(0, min(kmax, m))
  unlist(lapply(sizes, function(k) {
    utils::combn(seq_len(m), k, simplify = FALSE)
  }), recursive = FALSE)
}

# Prior and marginal likelihood ----------------------------------------------

oracle_candidates <- function(x) {
  x <- as.matrix(x)
  first <- vapply(seq_len(nrow(x)), function(i) {
    which(colSums(t(x) != x[i, ]) == 0)[1]
  }, 1L)
  rows <- unique(first)
  list(rows = rows, id = match(first, rows), m = cummax(match(first, rows)))
}

oracle_log_pk <- function(k, lambda) {
  if (is.function(lambda)) lambda(k) else k * log(lambda) - lfactorial(k)
}

#' Log prior of one set of size k, before normalisation
#' @noRd
oracle_log_set <- function(k, m, lambda, centres) {
  each <- if (centres == "subset") {
    -lchoose(m, k)
  } else {
    lfactorial(k) - ifelse(k == 0, 0, k * log(m))
  }
  oracle_log_pk(k, lambda) + each
}

#' log c_t (subset) or log d_t (iid): the sum over all sets of the above
#' @noRd
oracle_log_norm <- function(m, lambda, kmax, centres) {
  k <- seq(0, min(kmax, m))
  log_sum_exp(lchoose(m, k) + oracle_log_set(k, m, lambda, centres))
}

#' Normalised log prior of ONE set of size k (vectorised over k)
#' @noRd
oracle_log_prior_set <- function(k, m, lambda, kmax, centres = "subset") {
  out <- rep(-Inf, length(k))
  ok <- k <= min(kmax, m)
  out[ok] <- oracle_log_set(k[ok], m, lambda, centres) -
    oracle_log_norm(m, lambda, kmax, centres)
  out
}

#' [1, K[, S]], t x p; after 1 the columns in the attribute "fixed" of K
#' @noRd
oracle_design <- function(K, S, intercept = TRUE) {
  unname(cbind(
    if (intercept) rep(1, nrow(K)), attr(K, "fixed"), K[, S, drop = FALSE]
  ))
}

#' A kernel beside which all sets have slope * (x - centre)
#' @noRd
oracle_with_linear <- function(kernel_fun, slope, centre) {
  function(a, b) {
    structure(kernel_fun(a, b), fixed = slope * (as.matrix(a) - centre))
  }
}

#' log N(y; 0, sigma2 I + tau2 Phi Phi') by the Cholesky factor of that matrix
#' @noRd
oracle_log_ml <- function(y, K, S, sigma2, tau2, intercept = TRUE) {
  n <- length(y)
  if (n == 0) {
    return(0)
  }
  phi <- oracle_design(K, S, intercept)
  R <- chol(diag(sigma2, n) + tau2 * tcrossprod(phi))
  z <- backsolve(R, y, transpose = TRUE)
  -n / 2 * log(2 * pi) - sum(log(diag(R))) - sum(z^2) / 2
}

#' Log density of y when y given sigma2 is N(0, sigma2 (I + ratio Phi Phi')) and
#' sigma2 is IG(noise$shape, noise$scale): a multivariate t
#' @noRd
oracle_log_ml_scaled <- function(y, K, S, noise, ratio, intercept = TRUE) {
  n <- length(y)
  if (n == 0) {
    return(0)
  }
  a <- noise$shape
  phi <- oracle_design(K, S, intercept)
  R <- chol(noise$scale / a * (diag(n) + ratio * tcrossprod(phi)))
  z <- backsolve(R, y, transpose = TRUE)
  lgamma(a + n / 2) - lgamma(a) - n / 2 * log(2 * a * pi) -
    sum(log(diag(R))) - (a + n / 2) * log1p(sum(z^2) / (2 * a))
}

# Memoised values of log ml, by what they depend on: models with different
# priors share them.
oracle_memos <- new.env()

#' A problem at fixed psi = (sigma2, tau2): data, prior and a memo of log ml.
#' `scaled`: sigma2 is its prior, list(shape, scale), and tau2 the ratio.
#' @noRd
oracle_model <- function(x, y, kernel_fun, lambda, kmax,
                         centres = c("subset", "iid"), sigma2, tau2,
                         intercept = TRUE, scaled = FALSE) {
  x <- as.matrix(x)
  cand <- oracle_candidates(x)
  K <- kernel_fun(x, x[cand$rows, , drop = FALSE])
  likelihood <- rlang::hash(list(y, K, sigma2, tau2, intercept, scaled))
  if (is.null(oracle_memos[[likelihood]])) {
    oracle_memos[[likelihood]] <- new.env()
  }
  list(
    y = y, K = K, m = cand$m,
    lambda = lambda, kmax = kmax, centres = match.arg(centres),
    sigma2 = sigma2, tau2 = tau2, intercept = intercept, scaled = scaled,
    memo = oracle_memos[[likelihood]], priors = new.env()
  )
}

#' m_t, with m_0 = 0
#' @noRd
oracle_m <- function(t, model) if (t == 0) 0L else model$m[t]

oracle_model_log_ml <- function(S, t, model) {
  key <- paste(t, sum(2^S))
  if (is.null(model$memo[[key]])) {
    rows <- seq_len(t)
    log_ml <- if (model$scaled) oracle_log_ml_scaled else oracle_log_ml
    model$memo[[key]] <- log_ml(
      model$y[rows], model$K[rows, , drop = FALSE], S,
      model$sigma2, model$tau2, model$intercept
    )
  }
  model$memo[[key]]
}

oracle_model_log_prior <- function(k, t, model) {
  key <- paste(k, t)
  if (is.null(model$priors[[key]])) {
    model$priors[[key]] <- oracle_log_prior_set(
      k, oracle_m(t, model), model$lambda, model$kmax, model$centres
    )
  }
  model$priors[[key]]
}

#' log gamma_t(S) = log p_t(S) + log L_t(S), p_t normalised
#' @noRd
oracle_log_gamma <- function(S, t, model) {
  oracle_model_log_prior(length(S), t, model) +
    oracle_model_log_ml(S, t, model)
}

# Quadrature over psi --------------------------------------------------------

#' Nodes and log weights in log v for v ~ IG(shape, scale), or the fixed value.
#'
#' The trapezoid rule on the whole line converges geometrically: the step
#' follows the width 1/sqrt(alpha) of the integrand, the ends its tails:
#' exp(-scale/v) below, v^-rate (first moments included) above.
#' @noRd
oracle_nodes <- function(prior, alpha, rate, top, refine, tail) {
  if (!is.null(prior$fixed)) {
    return(list(v = prior$fixed, log_w = 0))
  }
  a <- prior$shape
  b <- prior$scale
  step <- min(.25, .75 / sqrt(alpha)) / refine
  from <- log(b) - log(max(alpha, 1)) - 4
  u <- seq(from, max(log(b), top) + tail / rate, by = step)
  log_p <- a * log(b) - lgamma(a) - a * u - b * exp(-u)
  list(v = exp(u), log_w = log_p + log(step))
}

oracle_grid <- function(y, noise, coef, refine, tail, scaled = FALSE,
                        half = length(y) / 2) {
  top <- log(max(sum(y^2), .Machine$double.xmin))
  from_shape <- function(a, extra) max(a + extra - 1, min(a + extra, .5))
  s <- oracle_nodes(noise, noise$shape + half,
    from_shape(noise$shape, half), top, refine, tail)
  # The largest ratio is relative to the smallest noise.
  if (scaled) top <- top - log(min(s$v))
  v <- oracle_nodes(coef, coef$shape + half,
    from_shape(coef$shape, 1 / 2), top, refine, tail)
  sigma2 <- rep(s$v, times = length(v$v))
  tau2 <- rep(v$v, each = length(s$v))
  list(
    sigma2 = sigma2,
    tau2 = if (scaled) sigma2 * tau2 else tau2,
    log_w = as.vector(outer(s$log_w, v$log_w, `+`))
  )
}

#' Singular values and rotated data, so that psi enters by scalars only
#' @noRd
oracle_spectrum <- function(y, phi) {
  n <- length(y)
  p <- ncol(phi)
  if (n == 0 || p == 0) {
    return(list(d = numeric(n), g = y, V = diag(p), d_p = numeric(p),
      dg = numeric(p)))
  }
  s <- svd(phi, nu = n, nv = p)
  g <- drop(crossprod(s$u, y))
  pad <- function(v, len) c(v, numeric(len))[seq_len(len)]
  list(d = pad(s$d, n), g = g, V = s$v, d_p = pad(s$d, p),
    dg = pad(s$d * g[seq_along(s$d)], p))
}

oracle_spectrum_log_ml <- function(sp, sigma2, tau2) {
  out <- 0 * sigma2 - length(sp$g) / 2 * log(2 * pi)
  for (j in seq_along(sp$g)) {
    v <- sigma2 + tau2 * sp$d[j]^2
    out <- out - (log(v) + sp$g[j]^2 / v) / 2
  }
  out
}

#' The exact posterior with psi unknown: all subsets, two-dimensional
#' quadrature. `noise` and `coef` are list(shape, scale) or list(fixed);
#' `coef` is the prior of the ratio if `scaled`.
#'
#' `refine = 2` halves the step, `tail` is minus the log of what is cut off.
#' Moments that do not exist (shape + t/2 <= 1 for E[sigma2]) are meaningless.
#'
#' `row_weights`: powers w_s of the rows' likelihoods, as
#' N(y; f, sigma2)^w = N(sqrt(w) y; sqrt(w) f, sigma2) (2 pi sigma2)^((1-w)/2).
#' `centre_rows`: the rows that may be centres.
#' @noRd
oracle_posterior <- function(x, y, kernel_fun, lambda, kmax,
                             centres = "subset", noise, coef,
                             intercept = TRUE, refine = 1, tail = 30,
                             scaled = FALSE,
                             centre_rows = oracle_candidates(x)$rows,
                             row_weights = rep(1, length(y)),
                             precision = rep(1, length(y))) {
  x <- as.matrix(x)
  m <- length(centre_rows)
  centre_x <- x[centre_rows, , drop = FALSE]
  K <- kernel_fun(x, centre_x)
  sets <- enumerate_subsets(m, kmax)
  k <- lengths(sets)
  grid <- oracle_grid(
    y, noise, coef, refine, tail, scaled, sum(row_weights) / 2
  )
  root <- sqrt(row_weights * precision)
  spectra <- lapply(sets, function(S) {
    oracle_spectrum(root * y, root * oracle_design(K, S, intercept))
  })
  power <- sum(1 - row_weights) / 2 * log(2 * pi * grid$sigma2) +
    sum(row_weights * log(precision)) / 2
  log_post <- mapply(
    function(sp, lp) {
      lp + grid$log_w + power +
        oracle_spectrum_log_ml(sp, grid$sigma2, grid$tau2)
    },
    spectra, oracle_log_prior_set(k, m, lambda, kmax, centres)
  )
  log_post <- matrix(log_post, ncol = length(sets))
  log_z <- log_sum_exp(log_post)
  w <- exp(log_post - log_z)
  p_set <- stats::setNames(colSums(w), vapply(sets, set_key, ""))
  w_node <- rowSums(w)
  list(
    log_evidence = log_z, sets = sets, p_set = p_set,
    p_k = vapply(split(p_set, k), sum, 0),
    inclusion = vapply(seq_len(m), function(j) {
      sum(p_set[vapply(sets, function(S) j %in% S, NA)])
    }, 0),
    rows = centre_rows,
    sigma2 = sum(w_node * grid$sigma2), sigma = sum(w_node * sqrt(grid$sigma2)),
    tau2 = sum(w_node * grid$tau2), weights = w, nodes = grid,
    spectra = spectra, centre_x = centre_x, kernel_fun = kernel_fun,
    intercept = intercept
  )
}

#' Mean and variance of f(x*), variance of y*, and, at `value` (one per row of
#' xnew), density and cdf of y* (`density`, `cdf`) and cdf of f (`cdf_f`).
#' @noRd
oracle_predict <- function(post, xnew, value = NULL) {
  K <- post$kernel_fun(as.matrix(xnew), post$centre_x)
  out <- matrix(0, nrow(K), 5)
  for (i in seq_along(post$sets)) {
    w <- post$weights[, i]
    keep <- w > 1e-17
    s <- post$nodes$sigma2[keep]
    v <- post$nodes$tau2[keep]
    sp <- post$spectra[[i]]
    h <- oracle_design(K, post$sets[[i]], post$intercept) %*% sp$V
    for (r in seq_len(nrow(K))) {
      out[r, ] <- out[r, ] +
        oracle_predict_one(h[r, ], sp, s, v, w[keep], value[r])
    }
  }
  mean <- out[, 1]
  var_f <- out[, 2] - mean^2
  res <- list(mean = mean, var_f = var_f, var_y = var_f + post$sigma2)
  if (!is.null(value)) {
    res[c("density", "cdf", "cdf_f")] <- list(out[, 3], out[, 4], out[, 5])
  }
  res
}

#' Weighted sums over nodes for one set and one x*; beta given psi is normal
#' @noRd
oracle_predict_one <- function(h, sp, s, v, w, value) {
  mu <- 0 * s
  var <- 0 * s
  for (j in seq_along(h)) {
    shrink <- v / (s + v * sp$d_p[j]^2)
    mu <- mu + h[j] * sp$dg[j] * shrink
    var <- var + h[j]^2 * s * shrink
  }
  at <- if (is.null(value)) c(0, 0, 0) else c(
    sum(w * stats::dnorm(value, mu, sqrt(var + s))),
    sum(w * stats::pnorm(value, mu, sqrt(var + s))),
    sum(w * stats::pnorm(value, mu, sqrt(var)))
  )
  c(sum(w * mu), sum(w * (var + mu^2)), at)
}

# Transitions from t - 1 to t at fixed psi -----------------------------------
# Each returns all possible next states of S_prev: `set`, `log_prob` (move and
# choice) and `log_weight` (incremental weight).

oracle_states <- function(set, log_prob, log_weight) {
  ok <- log_prob > -Inf
  list(set = set[ok], log_prob = log_prob[ok], log_weight = log_weight[ok])
}

#' log L_t(S) - log L_{t-1}(S_prev)
#' @noRd
oracle_log_dl <- function(S, S_prev, t, model) {
  oracle_model_log_ml(S, t, model) -
    oracle_model_log_ml(S_prev, t - 1, model)
}

#' Adapted proposal: the new candidate joins or not. With m = m_t,
#' a0 = DL(S') (m - k)/m, a1 = DL(S' + m) (k + 1)/m p(k + 1)/p(k); for iid
#' ((m - 1)/m)^k and (m - 1)^k/m^(k + 1) (k + 1) p(k + 1)/p(k).
#' `broken` spoils it, to show the power of the identity.
#' @noRd
oracle_transition_adapted <- function(
    S_prev, t, model, broken = c("none", "no_c", "no_choose", "ml")) {
  broken <- match.arg(broken)
  k <- length(S_prev)
  m <- oracle_m(t, model)
  dl0 <- oracle_log_dl(S_prev, S_prev, t, model)
  if (m == oracle_m(t - 1, model)) {
    return(oracle_states(list(S_prev), 0, dl0))
  }
  iid <- model$centres == "iid"
  stay <- if (iid) ((m - 1) / m)^k else (m - k) / m
  if (broken == "no_choose") stay <- 1
  a <- c(dl0 + log(stay), -Inf)
  S_new <- c(S_prev, m)
  if (k < model$kmax) {
    dl1 <- oracle_log_dl(S_new, S_prev, t, model)
    rate <- (k + 1) * exp(diff(oracle_log_pk(k + 0:1, model$lambda)))
    join <- if (iid) (m - 1)^k / m^(k + 1) else 1 / m
    a[2] <- (if (broken == "ml") dl0 else dl1) + log(rate * join)
  }
  total <- log_sum_exp(a)
  norm <- function(m) {
    oracle_log_norm(m, model$lambda, model$kmax, model$centres)
  }
  ratio <- if (broken == "no_c") 0 else norm(m - 1) - norm(m)
  oracle_states(list(S_prev, S_new), a - total, rep(total + ratio, 2))
}

#' c min(1, p(k + by)/p(k)), zero where no such move exists
#' @noRd
oracle_alpha <- function(k, by, top, model, move_fraction) {
  if (k + by < 0 || k + by > top) {
    return(0)
  }
  pk <- oracle_log_pk(k + c(0, by), model$lambda)
  move_fraction * min(1, exp(diff(pk)))
}

#' The neighbours of S_prev under zero, birth (one per free candidate) and
#' death (one per member), with alpha q of each
#' @noRd
oracle_neighbours <- function(S_prev, t, model, move_fraction, forced) {
  k <- length(S_prev)
  m <- oracle_m(t, model)
  top <- min(model$kmax, m)
  up <- oracle_alpha(k, 1, top, model, move_fraction)
  if (forced && k == 0 && top > 0) up <- 1
  down <- oracle_alpha(k, -1, top, model, move_fraction)
  free <- setdiff(seq_len(m), S_prev)
  list(
    set = c(
      list(S_prev), lapply(free, function(j) sort(c(S_prev, j))),
      lapply(seq_len(k), function(i) S_prev[-i])
    ),
    move = rep(c("zero", "birth", "death"), c(1, m - k, k)),
    log_prob = log(c(1 - up - down, rep(up / (m - k), m - k), rep(down / k, k)))
  )
}

#' log alpha'(S) q'(S' given S). A set with the new candidate has one possible
#' ancestor; any other was left unchanged, or a birth (death) is undone by the
#' death (birth) among the states of t - 1.
#' @noRd
oracle_log_reverse <- function(S, move, t, model, move_fraction) {
  k <- length(S)
  m_prev <- oracle_m(t - 1, model)
  if (any(S > m_prev)) {
    return(0)
  }
  top <- min(model$kmax, m_prev)
  down <- oracle_alpha(k, -1, top, model, move_fraction)
  up <- oracle_alpha(k, 1, top, model, move_fraction)
  log(switch(move,
    zero = 1 - up - down, birth = down / k, death = up / (m_prev - k)
  ))
}

#' Zero, birth, death with the weight of the general law
#' gamma_t(S)/gamma_{t-1}(S') alpha'(S) q'(S' given S)/[alpha(S') q(S given S')]
#' @noRd
oracle_transition_birth_death <- function(S_prev, t, model,
                                          move_fraction = .25) {
  nb <- oracle_neighbours(S_prev, t, model, move_fraction, FALSE)
  log_weight <- vapply(seq_along(nb$set), function(i) {
    S <- nb$set[[i]]
    if (nb$log_prob[i] == -Inf) {
      return(-Inf)
    }
    oracle_log_gamma(S, t, model) - oracle_log_gamma(S_prev, t - 1, model) +
      oracle_log_reverse(S, nb$move[i], t, model, move_fraction) -
      nb$log_prob[i]
  }, 0)
  oracle_states(nb$set, nb$log_prob, log_weight)
}

#' The printed weights, DL lambda^(k - k') (k' - 1)!/(k - 1)!/q, (-1)! := 1,
#' without alpha; the birth is forced at k = 0. They are not exact.
#' @noRd
oracle_transition_paper <- function(S_prev, t, model, move_fraction = .25,
                                    forced = TRUE) {
  nb <- oracle_neighbours(S_prev, t, model, move_fraction, forced)
  k_prev <- length(S_prev)
  k <- lengths(nb$set)
  fact <- function(k) lfactorial(pmax(k - 1, 0))
  choices <- c(zero = 1, birth = oracle_m(t, model) - k_prev, death = k_prev)
  dl <- vapply(nb$set, function(S) {
    if (length(S) > model$kmax) -Inf else oracle_log_dl(S, S_prev, t, model)
  }, 0)
  log_weight <- dl + (k - k_prev) * log(model$lambda) +
    fact(k_prev) - fact(k) + log(choices[nb$move])
  oracle_states(nb$set, nb$log_prob, unname(log_weight))
}

#' The identity sum_{S'} gamma_{t-1}(S') alpha q W = gamma_t(S) for ALL S.
#'
#' `transition(S_prev, t)` returns the next states as above. Value: `defect`,
#' the largest relative error (Inf if mass reaches a set outside the target's
#' support); `tv`, total variation between the normalised flow and gamma_t;
#' `prob`, the largest error of a sum of proposal probabilities; and the table.
#' @noRd
oracle_transition_defect <- function(
    transition, x, y, t, lambda, kmax, centres = "subset", sigma2, tau2,
    kernel_fun = oracle_kernel_gaussian(1), intercept = TRUE,
    model = oracle_model(
      x, y, kernel_fun, lambda, kmax, centres, sigma2, tau2, intercept
    )) {
  sets <- enumerate_subsets(oracle_m(t, model), kmax)
  key <- vapply(sets, set_key, "")
  log_gamma <- vapply(sets, oracle_log_gamma, 0, t = t, model = model)
  flow <- numeric(length(sets))
  prob <- outside <- 0
  for (S_prev in enumerate_subsets(oracle_m(t - 1, model), kmax)) {
    start <- oracle_log_gamma(S_prev, t - 1, model) - max(log_gamma)
    nx <- transition(S_prev, t)
    nx <- oracle_states(nx$set, nx$log_prob, nx$log_weight)
    mass <- exp(start + nx$log_prob + nx$log_weight)
    to <- match(vapply(nx$set, set_key, ""), key)
    outside <- outside + sum(mass[is.na(to)])
    for (i in which(!is.na(to))) flow[to[i]] <- flow[to[i]] + mass[i]
    prob <- max(prob, abs(sum(exp(nx$log_prob)) - 1))
  }
  gamma <- exp(log_gamma - max(log_gamma))
  list(
    defect = if (outside > 0) Inf else max(abs(flow / gamma - 1)),
    tv = total_variation(c(flow, outside), c(gamma, 0)), prob = prob,
    table = data.frame(set = key, gamma = gamma, flow = flow)
  )
}
