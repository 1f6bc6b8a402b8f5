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
    features_gram_cpp(factor, mu), fit$settings$delta, squared
  ))
  center <- colMeans(fit$data$states)
  centred <- sweep(fit$data$states, 2, center)
  list(
    gain = gain$matrix, spectrum = gain$spectrum, center = center,
    moments = features_cross_cpp(cbind(1, centred, centred^2), factor, mu),
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
