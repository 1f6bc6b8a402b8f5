# Bandwidths of srvm() that are learned, one per predictor.

is_ard <- function(kernel) identical(kernel$bandwidth, "ard")

learns_scales <- function(settings) {
  inherits(settings$kernel, "kb_kernel") && is_ard(settings$kernel)
}

# The only kernel of the list, whose bandwidths are learned
check_ard <- function(kernels) {
  if (length(kernels) > 1 || !is_ard(kernels[[1]])) refuse_ard_part()
  kernels[[1]]
}

refuse_ard_part <- function(word = "ard") {
  kb_abort(c(
    "A kernel with {.code bandwidth = \"{word}\"} must be the only one: not a
     part of a sum, a product, a list or a dictionary.",
    i = "{.code kernel_matern(\"{word}\")} is such a kernel."
  ), "argument", argument = "kernel")
}

# The scale of the prior of inverse bandwidths
inverse_bandwidth_scale <- function(prior, x) {
  ard <- if (is.null(prior$ard)) 1 else prior$ard
  ard / bandwidth_median(x)
}

# Coefficients of centres ------------------------------------------------------

# Degrees of freedom of their t priors, Inf where they are normal; in fits from
# before there were others they are
coef_df <- function(prior) if (is.null(prior$coef_df)) Inf else prior$coef_df

#' A rule for integrals over the spread v of one coefficient
#'
#' v is inverse gamma with shape and rate df / 2, (S66). Equally spaced values of
#' log v, whose density is analytic and vanishes at both ends; of few degrees of
#' freedom the core cuts off the upper one.
#' @return Matrix of values and their probabilities.
#' @noRd
spread_rule <- function(df) {
  if (is.infinite(df)) {
    return(cbind(1, 1))
  }
  ends <- -log(stats::qgamma(c(1 - 1e-4, 1e-4), df / 2, df / 2))
  # The bound of the core
  log_v <- seq(ends[[1]], min(ends[[2]], log(1e6)), length.out = 11)
  log_p <- -df / 2 * (log_v + exp(-log_v))
  p <- exp(log_p - max(log_p))
  if (ends[[2]] > log(1e6)) p[[11]] <- p[[11]] / 2
  cbind(exp(log_v), p / sum(p))
}

check_coef_df <- function(df) {
  fine <- is.numeric(df) && length(df) == 1 && isTRUE(df >= 0.5)
  if (!fine) bad_argument(df, "coef_df", "a number of at least 0.5, or Inf")
  as.double(df)
}

# Each particle needs columns of its own
check_coef_df_use <- function(prior, kernel, memory) {
  problem <- if (!learns_scales(list(kernel = kernel))) {
    "a kernel that does not learn a bandwidth for each predictor"
  } else if (is_bounded(memory)) {
    "a bounded memory"
  }
  if (is.infinite(coef_df(prior)) || is.null(problem)) {
    return(invisible())
  }
  kb_abort(c(
    "{.arg coef_df} of {.arg prior} must be Inf with {problem}.",
    x = "It is {coef_df(prior)}.",
    i = "It may be finite with {.code kernel = kernel_matern(\"ard\")}, which is the
         default if there are moves, and an unbounded {.arg memory}."
  ), "argument", argument = "prior")
}

# Linear part -----------------------------------------------------------------

# Columns (x - centre) times the scale
linear_part <- function(prior, kernel, x) {
  learned <- learns_scales(list(kernel = kernel))
  scale <- prior$linear
  # Priors from before `coef_df` hold a default that is not for given kernels.
  if (!learned && !"coef_df" %in% names(prior)) scale <- 0
  if (is.null(scale)) scale <- if (learned) 3 else 0
  if (scale == 0) {
    return(no_linear_part)
  }
  list(
    centre = unname(colMeans(x)), scale = scale / bandwidth_median(x)
  )
}

no_linear_part <- list(centre = numeric(), scale = 0)

has_linear_part <- function(settings) length(settings$linear$centre) > 0

# Posterior -------------------------------------------------------------------

# Points and candidates as the kernels see them
own_points <- function(fit, x, pool) {
  scaling <- fit$settings$scaling
  list(
    x = scaling_x(scaling, kernel_part(fit, x)),
    centres = scaling_x(scaling, fit$data$x[pool$rows, , drop = FALSE])
  )
}

#' As `srvm_moments_of()`, where each particle has its own kernel
#' @param averaged Of the mean of f over x?
#' @noRd
own_moments <- function(fit, x, pool, averaged = FALSE) {
  at <- own_points(fit, x, pool)
  settings <- fit$settings
  moments <- srvm_own_moments_cpp(
    model_config(settings), pool, pool$bandwidths, at$x, at$centres, averaged
  )
  if (is_scaled(settings)) {
    moments$variance <- sweep(moments$variance, 2, pool$noise, "*")
  }
  moments
}

# f of the chosen draws, S x n, in the units of the model
own_draws <- function(fit, x, pool, chosen) {
  at <- own_points(fit, x, pool)
  settings <- fit$settings
  used <- sort(unique(chosen))
  of <- rep(seq_along(pool$k), pool$k)
  beta_of <- rep(seq_along(pool$k), pool$k + n_fixed(settings))
  f <- srvm_own_draws_cpp(
    model_config(settings), pool$k[used], pool$sets[of %in% used],
    pool$draws$beta[beta_of %in% used],
    pool$bandwidths[, used, drop = FALSE], at$x, at$centres
  )
  t(f)[match(chosen, used), , drop = FALSE]
}

# Results ---------------------------------------------------------------------

bandwidth_names <- function(fit) paste0("bandwidth[", colnames(fit$data$x), "]")

# One column per predictor, one row per particle or draw
bandwidth_columns <- function(fit, pool) {
  out <- as.data.frame(t(pool$bandwidths))
  stats::setNames(out, bandwidth_names(fit))
}

#' @export
watched_scales.kb_srvm_mcmc <- function(fit) {
  if (!learns_scales(fit$settings)) {
    return(list())
  }
  names <- paste0("log_bandwidth[", seq_len(ncol(fit$data$x)), "]")
  lapply(interleaved_chains(fit_runs(fit), "log_inverse", names), `-`)
}

median_bandwidths <- function(fit) {
  pool <- srvm_pool(fit)
  unname(apply(pool$bandwidths, 1, weighted_quantile, pool$weights, 0.5))
}

# For print(), the smallest first; NULL where none were learned
bandwidths_line <- function(x, show) {
  rows <- x$settings$bandwidth_rows
  b <- if (learns_scales(x$settings)) {
    median_bandwidths(x)
  } else if (!is.null(rows)) {
    rep_len(x$settings$kernel$bandwidth, ncol(x$data$x))
  } else {
    return(NULL)
  }
  bandwidths_text(b, colnames(x$data$x), show,
    what = if (is.null(rows)) {
      "medians: "
    } else {
      paste0("from the first ", rows, " rows: ")
    }
  )
}

bandwidths_text <- function(b, names, show, what = "") {
  first <- order(b)
  each <- paste(names[first], vapply(b[first], show, ""))
  paste0("  bandwidths:   ", as_many_as_fit(each, what = what), "\n")
}

refuse_ard <- function(fit, what) {
  if (learns_scales(fit$settings)) {
    kb_abort(c(
      "{.fn {what}} is not defined for kernels whose bandwidths are learned.",
      x = "Each particle has kernels of its own, to which its coefficients belong."
    ), "not_defined")
  }
}
