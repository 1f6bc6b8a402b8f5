# The posterior that an srvm fit holds: particles of all replicates, their
# weights and coefficients.

#' The particles of the most advanced runs, pooled with weights proportional to
#' their evidence
#'
#' With several kernels a candidate is a point with a kernel: candidates of the
#' first kernel come first, then those of the second. For a dictionary they are
#' ordered by row.
#' @return List: `k`, `sets` (candidates), `noise`, `coef`, `factor`, `z` (as
#'   in a state), `draws`, `weights` (sum to 1), `kernel` (of each particle, by
#'   number), `bandwidths` (those that are learned, p x particles), `spread` (of
#'   each centre in `sets`, where coefficients have t priors; coefficients in
#'   `draws` are those of kernels, `factor` and `z` those of kernels times its root),
#'   `df` (if they are learned), `rows` (the row of the fit's data of each
#'   candidate).
#' @noRd
srvm_pool <- function(fit) {
  runs <- fit_runs(fit)
  glue <- function(name) unlist(lapply(runs, `[[`, name), use.names = FALSE)
  draws <- lapply(runs, `[[`, "draws")
  draws <- list(
    beta = unlist(lapply(draws, `[[`, "beta")),
    noise = unlist(lapply(draws, `[[`, "noise")),
    coef = unlist(lapply(draws, `[[`, "coef"))
  )
  # The scaled form integrates the noise out: a state does not contain it.
  scaled <- is_scaled(fit$settings)
  rows <- fit$sequence[runs[[1]]$candidate_rows - n_past(fit)]
  k <- glue("k")
  sets <- glue("sets")
  kernel <- rep(run_kernels(fit, runs), lengths(lapply(runs, `[[`, "k")))
  if (is_averaged(fit)) {
    sets <- sets + rep((kernel - 1L) * length(rows), k)
    rows <- rep(rows, n_kernels(fit$settings))
  }
  list(
    k = k, sets = sets, kernel = kernel,
    bandwidths = if (learns_scales(fit$settings)) {
      exp(-matrix(glue("log_inverse"), ncol(fit$data$x)))
    },
    spread = glue("spread"),
    noise = if (scaled) draws$noise else glue("noise"),
    coef = glue("coef"), factor = glue("factor"), z = glue("z"),
    df = if (learns_df(fit)) glue("df"),
    draws = draws, weights = particle_weights(fit, runs),
    rows = rows
  )
}

#' @export
fit_runs.kb_srvm <- function(fit) {
  at_time <- which(replicate_times(fit) == fit$time)
  if (length(at_time) == 0) {
    all <- if (is_averaged(fit)) " with every kernel" else ""
    kb_abort(c(
      "The fit was stopped before it processed a row{all}: it has no posterior
       yet.",
      i = "{.code update(fit)} continues it."
    ), "not_defined")
  }
  fit$runs[unlist(run_groups(fit)[at_time])]
}

# Normalised weights of all particles of these runs
particle_weights <- function(fit, runs) UseMethod("particle_weights")

#' @export
particle_weights.kb_srvm <- function(fit, runs) {
  share <- evidence_share(runs, run_log_prior(fit, runs))
  weights <- unlist(Map(function(run, s) s * run$weights, runs, share))
  weights / sum(weights)
}

#' @param log_prior Of each run, see `run_log_prior()`.
#' @noRd
evidence_share <- function(runs, log_prior = 0) {
  log_z <- vapply(runs, `[[`, 0, "log_evidence") + log_prior
  share <- exp(log_z - max(log_z))
  share / sum(share)
}

# The candidates of a run: numbers without one are NA
n_candidates <- function(run) sum(!is.na(run$candidate_rows))

# The prior of the number of centres given the candidates so far
srvm_prior_k <- function(fit) {
  prior <- fit$settings$prior
  m <- n_candidates(fit_runs(fit)[[1]])
  k <- seq(0, min(prior$kmax, m))
  log_p <- log_prior_count(k, prior$lambda)
  if (prior$centres == "iid") {
    # p(k) k! / m^k each, for choose(m, k) sets.
    log_p <- log_p + lchoose(m, k) + lfactorial(k) - k * log(m)
  }
  p <- exp(log_p - max(log_p))
  data.frame(k = k, probability = p / sum(p))
}

# Log p(k) before truncation, up to a constant: (S2)
log_prior_count <- function(k, lambda) {
  if (!inherits(lambda, "kb_lambda_gamma")) {
    return(stats::dpois(k, lambda, log = TRUE))
  }
  apply(log_prior_parts(k, lambda), 1, log_sum_exp)
}

# k by the parts of a mixture
log_prior_parts <- function(k, lambda) {
  at <- expand.grid(k = k, part = seq_along(lambda$shape))
  rate <- lambda$rate[at$part]
  log_p <- log(lambda_weights(lambda)[at$part]) +
    stats::dnbinom(at$k, lambda$shape[at$part], rate / (rate + 1), log = TRUE)
  matrix(log_p, length(k))
}

# Draws of the rate given k, after (S2): a part, then its gamma distribution
draw_lambda <- function(k, lambda) {
  log_p <- log_prior_parts(k, lambda)
  part <- if (ncol(log_p) == 1) rep(1L, length(k)) else {
    # The largest of Gumbel variables around log_p
    max.col(log_p - log(stats::rexp(length(log_p))))
  }
  stats::rgamma(length(k), lambda$shape[part] + k, lambda$rate[part] + 1)
}

# Columns that every set has: the intercept and those of the linear part
n_fixed <- function(settings) {
  settings$intercept + length(settings$linear$centre)
}

# These columns at points as kernels see them
fixed_columns <- function(settings, x) {
  always <- matrix(1, nrow(x), settings$intercept)
  if (!has_linear_part(settings)) {
    return(always)
  }
  linear <- settings$linear
  unname(cbind(always, linear$scale * sweep(x, 2, linear$centre)))
}

# The numbers that stand for them beside candidates: 0 for the intercept, -1, -2,
# ... for the linear part
fixed_numbers <- function(settings) {
  settings$intercept - seq_len(n_fixed(settings))
}

# The particle and the candidate of each coefficient of a flat vector
coefficient_index <- function(pool, settings) {
  fixed <- n_fixed(settings)
  size <- pool$k + fixed
  particle <- rep(seq_along(pool$k), size)
  place <- sequence(size)
  candidate <- settings$intercept - place
  candidate[place > fixed] <- pool$sets
  list(particle = particle, candidate = candidate)
}

#' Posterior mean coefficients, coefficients integrated out given each set
#' @return List: `fixed`, of the fixed columns, and `candidates` with their
#'   `values`.
#' @noRd
srvm_mean_coefficients <- function(fit, pool = srvm_pool(fit)) {
  settings <- fit$settings
  beta <- srvm_coefficients_cpp(
    pool, n_fixed(settings), settings$intercept, settings$shift
  )
  index <- coefficient_index(pool, settings)
  if (length(beta) == 0) {
    return(list(
      fixed = numeric(), candidates = integer(), values = numeric()
    ))
  }
  sums <- rowsum(pool$weights[index$particle] * beta, index$candidate)
  candidate <- as.integer(rownames(sums))
  list(
    fixed = sums[match(fixed_numbers(settings), candidate), ],
    candidates = candidate[candidate > 0],
    values = sums[candidate > 0, ]
  )
}

#' The columns of coefficients at points
#' @param x Moulded predictors in their own units, as `wide_x()` has them.
#' @return List of matrices with a row per point: `fixed` columns, and kernel
#'   `values`, a column per candidate.
#' @noRd
srvm_columns <- function(fit, x, candidates, pool) {
  x <- scaling_x(fit$settings$scaling, kernel_part(fit, x))
  list(
    fixed = fixed_columns(fit$settings, x),
    values = srvm_values(fit, x, candidates, pool)
  )
}

srvm_values <- function(fit, x, candidates, pool) {
  if (length(candidates) == 0 || nrow(x) == 0) {
    return(matrix(0, nrow(x), length(candidates)))
  }
  kernels <- candidate_kernel_list(fit$settings)
  centres <- scaling_x(
    fit$settings$scaling, fit$data$x[pool$rows[candidates], , drop = FALSE]
  )
  centre_values(kernels, candidate_kernels(fit, candidates, pool), centres, x)
}

# Kernels between points and centres, each centre with the kernel of its number
centre_values <- function(kernels, number, centres, x) {
  if (length(kernels) == 1) {
    return(kernel_matrix(kernels[[1]], x, centres))
  }
  out <- matrix(0, nrow(x), nrow(centres))
  for (h in unique(number)) {
    own <- number == h
    out[, own] <- kernel_matrix(kernels[[h]], x, centres[own, , drop = FALSE])
  }
  out
}

# The kernel, by number, that candidates of a pool belong to
candidate_kernels <- function(fit, candidates, pool) {
  if (has_dictionary(fit)) {
    return((candidates - 1L) %% kernels_a_row(fit$settings) + 1L)
  }
  points <- length(pool$rows) %/% n_kernels(fit$settings)
  (candidates - 1L) %/% points + 1L
}

# Posterior mean of f at complete rows, in the response's units
srvm_mean <- function(fit, x, pool) {
  if (learns_scales(fit$settings) || length(new_points(fit, x, pool)) > 0) {
    blocks <- in_blocks(fit, x, pool, function(rows, moments) {
      mixture_mean(moments, pool)
    })
    f <- as.double(unlist(blocks, use.names = FALSE))
    return(unscale_mean(fit$settings$scaling, f))
  }
  beta <- srvm_mean_coefficients(fit, pool)
  blocks <- lapply(row_blocks(x, length(beta$candidates)), function(rows) {
    at <- srvm_columns(fit, x[rows, , drop = FALSE], beta$candidates, pool)
    drop(at$fixed %*% beta$fixed) + drop(at$values %*% beta$values)
  })
  f <- as.double(unlist(blocks, use.names = FALSE))
  unscale_mean(fit$settings$scaling, f) + row_offset(fit, x)
}

# Mean and variance of f given each particle: points x components, in the
# units that the model sees
srvm_moments <- function(fit, x, pool) {
  new <- new_points(fit, x, pool)
  moments <- if (length(new) > 0) {
    moments_with_new(fit, x, pool, new)
  } else {
    set_moments(fit, x, pool)
  }
  moments$mean <- moments$mean +
    row_offset(fit, x) / fit$settings$scaling$y_scale
  moments
}

# Given the sets of particles
set_moments <- function(fit, x, pool) {
  if (learns_scales(fit$settings)) {
    return(own_moments(fit, x, pool))
  }
  candidates <- sort(unique(pool$sets))
  at <- srvm_columns(fit, x, candidates, pool)
  srvm_moments_of(fit, at$fixed, at$values, candidates, pool)
}

# The same, given the fixed columns and kernel values, points x candidates
srvm_moments_of <- function(fit, fixed, values, candidates, pool) {
  settings <- fit$settings
  column <- integer(length(pool$rows))
  column[candidates] <- seq_along(candidates)
  moments <- srvm_moments_cpp(pool, fixed, settings$shift, values, column)
  if (is_scaled(settings)) {
    moments$variance <- sweep(moments$variance, 2, pool$noise, "*")
  }
  moments
}

#' Draws of f, S x n, in the response's units
#' @param chosen Numbers of the particles.
#' @noRd
srvm_draws <- function(fit, x, pool,
                       chosen = equal_weight_draws(fit, pool)) {
  check_draws_memory(length(chosen), nrow(x))
  settings <- fit$settings
  if (learns_scales(settings)) {
    f <- own_draws(fit, x, pool, chosen)
    return(unscale_mean(settings$scaling, f) +
      rep(row_offset(fit, x), each = nrow(f)))
  }
  index <- coefficient_index(pool, settings)
  candidates <- sort(unique(pool$sets))
  columns <- c(fixed_numbers(settings), candidates)
  beta <- matrix(0, length(pool$k), length(columns))
  column <- match(index$candidate, columns)
  beta[cbind(index$particle, column)] <- pool$draws$beta
  design <- do.call(cbind, srvm_columns(fit, x, candidates, pool))
  f <- beta[chosen, , drop = FALSE] %*% t(design)
  unscale_mean(settings$scaling, unname(f)) +
    rep(row_offset(fit, x), each = nrow(f))
}

# Noise standard deviations of the same draws, in the response's units
srvm_sigma_draws <- function(fit, pool,
                             chosen = equal_weight_draws(fit, pool)) {
  unscale_sd(fit$settings$scaling, sqrt(pool$draws$noise[chosen]))
}

# Methods of the generics for predictions -------------------------------------

#' @export
posterior_pool.kb_srvm <- function(fit) srvm_pool(fit)
#' @export
posterior_mean.kb_srvm <- srvm_mean
#' @export
posterior_moments.kb_srvm <- srvm_moments
#' @export
posterior_draws.kb_srvm <- srvm_draws
#' @export
noise_variance.kb_srvm <- function(fit, pool) pool$noise
#' @export
noise_df.kb_srvm <- function(fit, pool) {
  if (learns_df(fit)) {
    pool$df
  } else if (is_student(fit$settings)) {
    fit$settings$prior$df
  } else {
    Inf
  }
}

#' Predictions of a sequential relevance vector machine
#'
#' `predict(fit, newdata, interval = "prediction")` has the posterior mean and an
#' interval for new responses; without `newdata` the rows are those of the fit.
#' @param object A fit of [srvm()].
#' @param newdata New predictors in the shape that the fit was given: a data
#'   frame for formula fits (columns in any order), a matrix, data frame or
#'   vector otherwise. Missing: the training rows, in the order given. Rows
#'   with missing values give `NA`.
#' @param type What to return, see Value; `NULL`: `"response"`, for two classes
#'   `"class"`.
#' @param interval Adds to `"response"` the limits of an equal-tailed interval:
#'   `"credible"` for f, `"prediction"` for a new response. For `"quantile"`:
#'   return quantiles of f or of a new response (by default `"prediction"`)?
#' @param level Probability inside the interval.
#' @param probs Probabilities of `"quantile"`.
#' @param newy For `"log_score"`: the responses. Formula fits take them from
#'   `newdata`.
#' @param ndraws For `"draws"`: the number of draws S; by default the number of
#'   particles.
#' @param weights For predictions of new numeric responses: the weights of the
#'   rows of `newdata`, as in [srvm()]. `NULL`: 1, or the weights of the fit for
#'   the training rows.
#' @param offset For fits to `x` and `y` with an offset: that of the rows of
#'   `newdata`. Formula fits take it from `newdata`.
#' @param ... Not used: unknown arguments are errors.
#' @return In units of the response, with n the rows of `newdata`:
#' * `"response"`: the posterior mean of f, a vector of length n; with an
#'   interval a matrix n x 3 with columns `fit`, `lwr`, `upr`.
#' * `"quantile"`: a matrix n x `length(probs)`.
#' * `"draws"`: a matrix S x n of draws of f from the posterior. New responses
#'   are drawn by `rstantools::posterior_predict()`.
#' * `"log_score"`: log posterior predictive densities of the responses, a
#'   vector of length n.
#'
#' For two classes `"response"` is the probability of the second level (with
#' `interval = "credible"` n x 3), and there are `"class"` (the more probable
#' class, a factor), `"prob"` (n x 2, columns named by the levels; with
#' `interval = "credible"` n x 2 x 3) and `"link"` (f); `"log_score"` are log
#' predictive probabilities of the classes. There are no prediction intervals
#' and no `"quantile"`.
#'
#' The offset is part of f.
#' @section New points:
#' A row may be a centre when it arrives, and so may a new point: its prediction
#' mixes, for each particle, f without and with a kernel at the point (Rasmussen and
#' Quinonero-Candela, 2005). Without this f would be too certain far from all
#' centres. A new point costs about as much as a move of each particle; chains use at
#' most 250 draws for this. A point is new unless it is a row up to rounding: each
#' predictor, as the kernel sees it, within 1e-9 of its range.
#'
#' Draws, [partial_dependence()] and [prequential()] are of functions with centres
#' among the rows alone, and so are all predictions with two classes, Student-t
#' noise, a bounded memory, a [kernel_dictionary()], improper priors and `proposal =
#' "paper"`. Only sets and variances are Monte Carlo: coefficients are integrated
#' out.
#' @references
#' Rasmussen, C. E. and Quinonero-Candela, J. (2005). Healing the relevance vector
#' machine through augmentation. Proceedings of the 22nd International Conference on
#' Machine Learning, 689-696.
#' @examples
#' data <- sim_sinc(50, seed = 1)
#' fit <- srvm(y ~ x, data, kernel = kernel_gaussian(0.2), seed = 1)
#' new <- data.frame(x = c(-3, 0, 3), y = c(0, 1, 0))
#' predict(fit, new)
#' predict(fit, new, interval = "prediction", level = 0.9)
#' predict(fit, new, type = "quantile", probs = c(0.1, 0.5, 0.9))
#' dim(predict(fit, new, type = "draws"))
#' predict(fit, new, type = "log_score")
#' @export
predict.kb_srvm <- function(object, newdata,
                            type = NULL,
                            interval = c("none", "credible", "prediction"),
                            level = 0.9, probs = c(0.05, 0.5, 0.95),
                            newy = NULL, ndraws = NULL, weights = NULL,
                            offset = NULL, ...) {
  object <- checked_fit(object, ...)
  at <- list(
    type = type, interval = interval, level = level, probs = probs,
    ndraws = ndraws, weights = weights
  )
  given <- c(
    level = !missing(level), probs = !missing(probs), newy = !is.null(newy),
    ndraws = !is.null(ndraws), weights = !is.null(weights)
  )
  training <- missing(newdata)
  predict_asked(object, at, given, training, "predict.kb_srvm", function(scored) {
    mixed <- check_new_mixed(object, NULL, NULL, offset)
    prediction_rows(object, newdata, newy, training, scored, weights, mixed)
  })
}
