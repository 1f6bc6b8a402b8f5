# From a prior to the quantities used for every observation: weights mu of the
# states by the kernel sum rule, (K3), the gain of (K5) or (K6), and moments
# contracted with the features of the observations: w = diag(mu) R_Y gain
# phi_Y(y).

# Give a fit a prior, and compute all that depends on it
set_prior <- function(fit, prior) {
  features <- fit$features
  # Not removed if NULL: `fit$prior` would partially match `fit$prior_mean`.
  fit["prior"] <- list(check_prior(prior, fit))
  fit$prior_mean <- prior_features(fit)
  coef <- ridge_coefficients(
    fit$gram_states, as.matrix(fit$prior_mean), fit$time * fit$settings$eps
  )
  fit$mu <- as.vector(features$states$factor %*% coef)
  learn_posterior(fit)
}

# What all observations share
learn_posterior <- function(fit) UseMethod("learn_posterior")

#' @export
learn_posterior.kb_kbr <- function(fit) {
  fit$posterior <- kbr_posterior(fit)
  fit
}

# The prior's weights on the states sum to about 1 if the kernel's functions
# include constants, at least approximately, and the states cover the prior
warn_prior_mass <- function(fit) {
  mass <- sum(fit$mu)
  if (abs(mass - 1) > 0.5) {
    kb_warn(c(
      "The prior's weights on the states do not sum to 1.",
      x = "They sum to {signif(mass, 2)}.",
      i = "Perhaps the states do not cover the prior; or the functions of
           {.arg kernel_x} lack constants (add {.code + kernel_constant()}); or
           {.arg eps} is too large."
    ), "prior")
  }
}

# Features of the prior's kernel mean
prior_features <- function(fit) {
  prior <- fit$prior
  features <- fit$features$states
  if (is.null(prior)) {
    return(colMeans(features$factor))
  }
  if (is.null(prior$points) && is.null(prior$gram)) {
    return(as.vector(crossprod(features$factor, prior$weights)))
  }
  new <- if (is.null(features$kernel)) {
    t(prior$gram)
  } else {
    scaling_x(fit$settings$scaling$states, prior$points)
  }
  blocks <- lapply(row_blocks(new, ncol(features$factor)), function(rows) {
    crossprod(
      incomplete_cholesky_features(features, new[rows, , drop = FALSE]),
      prior$weights[rows]
    )
  })
  as.vector(Reduce(`+`, blocks))
}

#' @return List: `gain` (r x r), `spectrum` (of the weighted Gram matrix of the
#'   observations' features), `center` (d), `moments` (functions of the state,
#'   weighted by mu, times features, (1 + 2 d) x r: rows are those of 1, of
#'   x - center and of its square), `mass` (see `sum_is_noise()`).
#' @noRd
kbr_posterior <- function(fit) {
  factor <- fit$features$observations$factor
  squared <- fit$settings$method == "kbr"
  mu <- fit$mu
  if (!squared) mu <- pmax(mu, 0)
  gain <- core_value(kbr_gain_cpp(
    crossprod_cpp(factor, weights = mu), fit$settings$delta, squared
  ))
  center <- colMeans(fit$data$states)
  centred <- sweep(fit$data$states, 2, center)
  list(
    gain = gain$matrix, spectrum = gain$spectrum, center = center,
    moments = crossprod_cpp(cbind(1, centred, centred^2), factor, mu),
    mass = features_mass_cpp(factor, mu)
  )
}

kbr_mu <- function(fit) {
  if (fit$settings$method == "kbr") fit$mu else pmax(fit$mu, 0)
}

# Priors -----------------------------------------------------------------------

#' @return NULL, or a list of `points` or `gram` (or neither), and `weights`.
#' @noRd
check_prior <- function(prior, fit) {
  if (is.null(prior)) {
    return(NULL)
  }
  if (inherits(prior, "kb_kernel_mean")) {
    points <- prior$points
    if (!is.null(prior$scaling)) points <- unscale(prior$scaling, points)
    prior <- list(points = points, weights = prior$weights)
  }
  by_gram <- is.null(fit$features$states$kernel)
  known <- c(if (by_gram) "gram" else "points", "weights")
  if (!is.list(prior) || is.data.frame(prior) ||
    !all(rlang::names2(prior) %in% known) || length(prior) == 0) {
    bad_argument(prior, "prior", paste0(
      "NULL, or a list of ", paste0("`", known, "`", collapse = " and ")
    ))
  }
  out <- if (by_gram) {
    prior_gram(prior$gram, fit$time)
  } else {
    prior_points(prior$points, fit)
  }
  size <- if (length(out) == 0) fit$time else NROW(out$points)
  if (!is.null(out$gram)) size <- ncol(out$gram)
  c(out, list(weights = prior_weights(prior$weights, size)))
}

prior_points <- function(points, fit) {
  if (is.null(points)) {
    return(list())
  }
  names <- colnames(fit$data$states)
  if (length(dim(points)) == 2 && all(names %in% colnames(points))) {
    points <- points[, names, drop = FALSE]
  }
  points <- check_some_points(points, "prior$points")
  points <- check_points_like(points, fit$data$states, "prior$points")
  list(points = points)
}

prior_gram <- function(gram, n) {
  if (is.null(gram)) {
    return(list())
  }
  gram <- check_points(gram, "prior$gram")
  if (nrow(gram) != n || ncol(gram) == 0) {
    kb_abort(c(
      "{.arg prior$gram} must have {n} rows, one per state, and a column for
       each point of the prior.",
      x = "It is {nrow(gram)} x {ncol(gram)}."
    ), "dimension", argument = "prior")
  }
  list(gram = gram)
}

prior_weights <- function(weights, size) {
  if (is.null(weights)) {
    return(rep(1 / size, size))
  }
  fine <- is.numeric(weights) && length(weights) == size &&
    all(is.finite(weights)) && sum(weights) > 0
  if (!isTRUE(fine)) {
    bad_argument(weights, "prior$weights", paste0(
      "finite numbers with a positive sum, one per point of the prior (", size,
      ")"
    ))
  }
  as.double(weights) / sum(weights)
}

# The prior as `points` (J x d) and `weights`; NULL where only kernel values of
# its points are known
prior_sample <- function(fit) {
  prior <- fit$prior
  if (is.null(prior)) {
    prior <- list(weights = rep(1 / fit$time, fit$time))
  }
  if (!is.null(prior$gram)) {
    return(NULL)
  }
  if (is.null(prior$points)) prior$points <- fit$data$states
  prior[c("points", "weights")]
}

# Observations -----------------------------------------------------------------

#' Features of observations: complete rows of newdata
#' @return List of `phi` (rows x r), `coef` (gain times phi, r x rows) and
#'   `near`: how much of k(y, y) the features explain.
#' @noRd
observe <- function(fit, y) UseMethod("observe")

#' @export
observe.kb_kbr <- function(fit, y) {
  features <- fit$features$observations
  phi <- incomplete_cholesky_features(features, y)
  list(
    phi = phi, coef = fit$posterior$gain %*% t(phi),
    near = explained_share(phi, self_kernel(features, y))
  )
}

# 1 if k(y, y) is 0: then there is nothing to explain
explained_share <- function(phi, self) {
  ifelse(self > 0, rowSums(phi^2) / self, 1)
}

# The same for rows of the fit, whose features are known
observe_rows <- function(fit, rows) UseMethod("observe_rows")

#' @export
observe_rows.kb_kbr <- function(fit, rows) {
  phi <- fit$features$observations$factor[rows, , drop = FALSE]
  list(
    phi = phi, coef = fit$posterior$gain %*% t(phi),
    near = rep(1, length(rows))
  )
}

self_kernel <- function(features, y) {
  if (is.null(features$kernel)) {
    # The kernel at new points is not known: that of the sample is used instead.
    return(rep(features$trace / nrow(features$factor), nrow(y)))
  }
  kernel_self(features$kernel, y)
}

# Raw sums, means and second moments: (1 + 2 d) x rows
raw_moments <- function(fit, seen) fit$posterior$moments %*% seen$coef

# Raw weights, rows x n
raw_weights <- function(fit, seen) {
  t(kbr_mu(fit) * (fit$features$observations$factor %*% seen$coef))
}

# Is the sum of weights nothing but rounding? Relative to a bound of the sum of
# their absolute values, (K8): sums of 1e-11 are fine in high dimensions
sum_is_noise <- function(fit, seen, sums) {
  bound <- fit$posterior$mass * sqrt(colSums(seen$coef^2))
  abs(sums) <= 1e-10 * bound
}

# The divisor of weights: their sums, NA if these are noise, or 1
weight_divisor <- function(fit, seen, sums,
                           normalize = fit$settings$normalize) {
  if (!normalize) {
    return(rep(1, length(sums)))
  }
  ifelse(sum_is_noise(fit, seen, sums), NA_real_, sums)
}

# Means, standard deviations and expectations under a posterior of kbr(): (K7).

# First and second moments about the centre of the states: rows x d each
kbr_moments <- function(fit, seen, normalize = fit$settings$normalize) {
  raw <- raw_moments(fit, seen)
  d <- ncol(fit$data$states)
  divisor <- weight_divisor(fit, seen, raw[1, ], normalize)
  moments <- sweep(raw, 2, divisor, "/")
  list(
    sum = moments[1, ], first = t(moments[1 + seq_len(d), , drop = FALSE]),
    second = t(moments[1 + d + seq_len(d), , drop = FALSE])
  )
}

kbr_mean <- function(fit, seen) UseMethod("kbr_mean")

#' @export
kbr_mean.kb_kbr <- function(fit, seen) {
  moments <- kbr_moments(fit, seen)
  mean <- moments$first + outer(moments$sum, fit$posterior$center)
  # Signed weights can have a mean outside.
  if (fit$settings$normalize) mean <- within_support(fit, mean)
  if (has_rotations(fit)) {
    known <- which(!is.na(moments$sum))
    mean[known, ] <- t(vapply(known, function(i) {
      nearest_rotation(mean[i, ])$x
    }, numeric(9)))
  }
  state_names(mean, fit)
}

has_rotations <- function(fit) {
  kernel <- fit$features$states$kernel
  !is.null(kernel) && is_rotation_kernel(kernel)
}

state_names <- function(values, fit) {
  dimnames(values) <- list(NULL, colnames(fit$data$states))
  values
}

# Of the posterior as a probability; rows x d
kbr_sd <- function(fit, seen) UseMethod("kbr_sd")

#' @export
kbr_sd.kb_kbr <- function(fit, seen) {
  probability_sd(fit, probability_weights(fit, seen))
}

# The weights of all states were not kept: moments are those of signed ones.
#' @export
kbr_sd.kb_kbr_chunked <- function(fit, seen) {
  variance <- kbr_variance(fit, seen)
  lost <- sum(variance < 0, na.rm = TRUE)
  if (lost > 0) {
    kb_warn(c(
      "Posterior variances that are negative are NA.",
      x = "{lost} of {length(variance)} {?is/are}.",
      i = "Negative weights dominate there. A larger {.arg delta} reduces them;
           so does {.code method = \"iw\"}."
    ), "weights")
  }
  variance[variance < 0] <- NA
  state_names(sqrt(variance), fit)
}

# Variances under signed weights, rows x d; zero if only rounding error
kbr_variance <- function(fit, seen) {
  moments <- kbr_moments(fit, seen, normalize = TRUE)
  variance <- moments$second - moments$first^2
  variance[which(abs(variance) <= 1e-12 * abs(moments$second))] <- 0
  variance
}

kbr_weights <- function(fit, seen, normalize = fit$settings$normalize) {
  UseMethod("kbr_weights")
}

#' @export
kbr_weights.kb_kbr <- function(fit, seen,
                               normalize = fit$settings$normalize) {
  w <- raw_weights(fit, seen)
  w / weight_divisor(fit, seen, raw_moments(fit, seen)[1, ], normalize)
}

# Weights that sum to one, regardless of `normalize`
weight_shares <- function(fit, seen) kbr_weights(fit, seen, normalize = TRUE)

# Functions of the states, weighted by mu, times features of observations
function_moments <- function(fit, f) UseMethod("function_moments")

#' @export
function_moments.kb_kbr <- function(fit, f) {
  values <- check_function_values(f, fit$data$states)
  crossprod(values * kbr_mu(fit), fit$features$observations$factor)
}

kbr_expectation <- function(fit, seen, f) UseMethod("kbr_expectation")

#' @export
kbr_expectation.kb_kbr <- function(fit, seen, f) {
  moments <- function_moments(fit, f)
  out <- t(moments %*% seen$coef) /
    weight_divisor(fit, seen, raw_moments(fit, seen)[1, ])
  dimnames(out) <- list(NULL, rownames(moments))
  out
}

# Modes and draws from the embedding of a posterior of kbr().

need_kernel_x <- function(fit, what) {
  if (is.null(fit$features$states$kernel)) {
    kb_abort(c(
      "{.code type = \"{what}\"} needs the kernel of the states.",
      x = "{.arg kernel_x} is a matrix."
    ), "argument", argument = "type")
  }
}

#' @export
kernel_mean_points.kb_kbr <- function(fit, seen, signed = TRUE) {
  weights <- if (signed) weight_shares else probability_weights
  w <- weights(fit, seen)
  factor <- fit$features$states$factor
  list(
    points = fit$data$states, scaled = scaled_states(fit), weights = w,
    value = factor %*% crossprod(factor, t(w))
  )
}

# States as their kernel sees them
scaled_states <- function(fit) {
  scaling_x(fit$settings$scaling$states, fit$data$states)
}

scaled_observations <- function(fit, y = fit$data$observations) {
  scaling_x(fit$settings$scaling$observations, summarised(fit, y))
}

unscale_states <- function(fit, x) unscale(fit$settings$scaling$states, x)

unscale <- function(scaling, x) {
  sweep(sweep(x, 2, scaling$x_scale, "*"), 2, scaling$x_center, "+")
}

kbr_map <- function(fit, seen) UseMethod("kbr_map")

#' @export
kbr_map.kb_kbr <- function(fit, seen) {
  need_kernel_x(fit, "map")
  moments <- kbr_moments(fit, seen, normalize = TRUE)
  centre <- scaling_x(
    fit$settings$scaling$states,
    sweep(moments$first, 2, fit$posterior$center, "+")
  )
  modes <- kernel_modes(
    kernel_mean_points(fit, seen), fit$features$states$kernel, centre
  )
  mode_states(fit, modes)
}

# Modes in the units of the states
mode_states <- function(fit, modes) {
  out <- state_names(within_support(fit, unscale_states(fit, modes$x)), fit)
  attr(out, "converged") <- modes$converged
  out
}

kbr_draws <- function(fit, seen, ndraws) UseMethod("kbr_draws")

check_kbr_draws <- function(ndraws, fit, seen) {
  check_size(ndraws, 1, each = 2 * ncol(fit$data$states) * max(1, NROW(seen)))
}

#' @export
kbr_draws.kb_kbr <- function(fit, seen, ndraws) {
  ndraws <- check_kbr_draws(if (is.null(ndraws)) 200L else ndraws, fit, seen)
  need_kernel_x(fit, "draws")
  draws <- herded_points(
    kernel_mean_points(fit, seen, signed = FALSE), fit$features$states$kernel,
    ndraws
  )
  dimnames(draws) <- list(NULL, colnames(fit$data$states), NULL)
  structure(draws, rows = "last")
}

kbr_embeddings <- function(fit, seen) {
  need_kernel_x(fit, "embedding")
  w <- kbr_weights(fit, seen)
  states <- scaled_states(fit)
  lapply(seq_len(nrow(w)), function(i) {
    if (anyNA(w[i, ])) {
      return(NULL)
    }
    out <- kernel_mean(states, fit$features$states$kernel, w[i, ])
    # When used as a prior, its points are converted back to the units of the
    # states.
    if (fit$settings$scale) out$scaling <- fit$settings$scaling$states
    sealed(out)
  })
}

# The posterior of kbr() as a probability on the states: the nearest one to its
# signed weights, (K30).

# Relative to the kernel's trace. The kernel means of very different
# probabilities agree up to this: the one whose weights are nearest to the
# signed ones is taken.
probability_ridge <- 1e-5

#' Weights that are not negative and sum to one
#' @param w Signed weights that sum to one, rows x n.
#' @return List of `weights` (rows x n, `NA` where `w` is) and `distance`: that
#'   of the kernel means, as a share of the norm of the signed one, one per row.
#' @noRd
nearest_probabilities <- function(fit, w) {
  states <- fit$features$states
  ridge <- probability_ridge * states$trace
  distance <- rep(NA_real_, nrow(w))
  for (i in which(stats::complete.cases(w))) {
    found <- nearest_probability(states$factor, w[i, ], ridge)
    w[i, ] <- found$weights
    distance[[i]] <- found$distance
  }
  list(weights = w, distance = distance)
}

nearest_probability <- function(factor, w, ridge) {
  norm <- sqrt(sum(crossprod(factor, w)^2))
  # A kernel that is zero on all states tells nothing of them.
  if (ridge == 0 || norm == 0) ridge <- 1
  found <- kbr_probability_cpp(factor, w, ridge)
  found$distance <- if (norm > 0) found$distance / norm else 0
  found
}

probability_weights <- function(fit, seen) UseMethod("probability_weights")

#' @export
probability_weights.kb_kbr <- function(fit, seen) {
  nearest_probabilities(fit, weight_shares(fit, seen))$weights
}

# Standard deviations of probabilities p of the states (rows x n), rows x d
probability_sd <- function(fit, p) {
  x <- sweep(fit$data$states, 2, fit$posterior$center)
  state_names(sqrt(pmax(p %*% x^2 - (p %*% x)^2, 0)), fit)
}

# Rows x d x probs
probability_quantiles <- function(fit, p, probs) {
  x <- fit$data$states
  out <- array(0, c(nrow(p), ncol(x), length(probs)), list(
    NULL, colnames(x), paste0(100 * probs, "%")
  ))
  for (j in seq_len(ncol(x))) {
    order <- order(x[, j])
    for (i in seq_len(nrow(p))) {
      out[i, j, ] <- signed_quantiles(x[order, j], p[i, order], probs)
    }
  }
  out
}
