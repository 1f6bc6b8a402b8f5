# Fits of bark() with kernel-specific centres or scales.

has_own_centres <- function(fit) !is.null(fit$settings$prior$centre_sd)

# The prior (B80) of pooled scales: mean and standard deviation of the level of
# log lambda, and the standard deviations of common scales around it and of
# kernels around these
pool_prior <- c(-2, 1.5, 1, 1)

has_own_scales <- function(fit) isTRUE(fit$settings$prior$own_scales)

# The prior (B109) of the concentration of clusters: equally probable values
concentrations <- c(0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100)

has_clusters <- function(fit) !is.null(fit$settings$prior$concentrations)

# From this many rows on kernels move given the coefficients of the others, see
# Data::many_rows and backfits(): moves are then in O(n)
many_rows <- 5000

moves_alone <- function(settings, n) {
  prior <- settings$prior
  n >= many_rows && settings$family == "gaussian" && !settings$prior_only &&
    isTRUE(prior$own_scales) && is.null(prior$concentrations) && prior$nu > 0
}

# Clusters, which share columns, have no such moves
most_clustered_rows <- 20000

# How many numbers draws of shapes have, of p a slot
shape_sizes <- function(fit, slots) {
  p <- ncol(fit$data$x)
  c(
    if (has_own_centres(fit)) c(centre = slots * p),
    if (has_own_scales(fit)) {
      c(own_log_lambda = slots * p, own_included = slots * p)
    }
  )
}

#' Means over the kernels of each draw, one row per draw and one column per
#' predictor
#'
#' Kernels are weighted by the size of their coefficients: those with tiny
#' coefficients, which the data do not determine, hardly count. 0 without
#' kernels.
#' @param values p x slots.
#' @noRd
kernel_means <- function(pool, values) {
  draw <- factor(rep(seq_along(pool$m), pool$m), seq_along(pool$m))
  weight <- abs(pool$beta) * (pool$location != 0)
  sums <- function(v) {
    out <- matrix(0, nlevels(draw), ncol(v))
    found <- rowsum(v, draw)
    out[as.integer(rownames(found)), ] <- found
    out
  }
  total <- sums(cbind(weight))
  sums(t(values) * weight) / ifelse(total > 0, total, 1)[, 1]
}

# Which inputs are in the kernel: one row per draw and one column per
# predictor or
# direction, a share of the kernels where they differ
bark_included <- function(fit, pool) {
  p <- n_inputs(fit)
  if (has_own_scales(fit)) {
    return(kernel_means(pool, matrix(pool$own_included, p)))
  }
  t(matrix(pool$included, p)) + 0
}

own_scales_of <- function(fit, pool) {
  p <- ncol(fit$data$x)
  scales <- exp(matrix(pool$own_log_lambda, p)) * matrix(pool$own_included, p)
  kernel_means(pool, scales)
}

# The number of kernel-specific scales and coordinates in each draw
own_numbers <- function(fit, pool) {
  draw <- factor(rep(seq_along(pool$m), pool$m), seq_along(pool$m))
  kernel <- pool$location != 0
  p <- ncol(fit$data$x)
  each <- if (has_own_centres(fit)) p * kernel else 0 * kernel
  if (has_own_scales(fit)) {
    d <- colSums(matrix(pool$own_included, p))
    if (grepl("equal", fit$settings$prior$type)) d <- pmin(d, 1)
    if (has_clusters(fit)) {
      # A cluster has one set of scales.
      d <- d * !duplicated(cbind(draw, t(matrix(pool$own_log_lambda, p))))
    }
    each <- each + d
  }
  as.double(tapply(each, draw, sum, default = 0))
}

refuse_own_centres <- function(fit, what) {
  if (has_own_centres(fit)) {
    kb_abort(c(
      "{.fn {what}} is not defined for kernels whose centres are not rows.",
      i = "{.fn centre_rows} puts them at rows."
    ), "not_defined")
  }
}
