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

# Locations of the kernels of bark(), a part of bark_prior().

#' Locations of kernels
#'
#' `bark_prior(centres = centre_near_rows(1))` changes the prior of the locations of
#' kernels. Each kernel is the intercept (K = 1) with probability
#' `intercept`; otherwise a row of the data is chosen. With `centre_rows()` the
#' row is the centre; with `centre_near_rows()` the centre is normal around the
#' row, so that centres have the density
#' \deqn{p(\chi) = \sum_i \pi_i N(\chi; x_i, s^2 I).}{p(chi) = sum_i pi_i
#' N(chi; x_i, s^2 I).}
#' The number of copies at location i is Poisson with mean nu \eqn{\pi_i}{pi_i}.
#' @param weights `NULL` for equally likely rows, or numbers of at least 0, one
#'   per row of the data (without rows with missing values), proportional to the
#'   probabilities. Rows of weight 0 have no kernels.
#' @param intercept Probability that a kernel is the intercept, a number between
#'   0 and 1; `NULL` is 1 / (n + 1), as for a row when all are equally likely
#'   (copies of rows count, see [kb_weights]).
#'   With nu expected kernels the intercept is in the model with prior
#'   probability 1 - exp(-nu `intercept`).
#' @param sd Standard deviation s, one positive number for all predictors, in
#'   units of the predictors that the model sees (standardised if
#'   `scale = TRUE`).
#' @return An object of class `kb_centres`, a list.
#' @examples
#' centre_rows(intercept = 0.1)
#' bark_prior("equal", centres = centre_near_rows(sd = 0.3))
#' @export
centre_rows <- function(weights = NULL, intercept = NULL) {
  new_centres(weights, intercept)
}

#' @rdname centre_rows
#' @export
centre_near_rows <- function(sd = 0.5, weights = NULL, intercept = NULL) {
  sd <- check_number(sd, 0, open = TRUE)
  new_centres(weights, intercept, sd)
}

new_centres <- function(weights, intercept, sd = NULL) {
  structure(
    list(
      weights = if (!is.null(weights)) check_centre_weights(weights),
      intercept = if (!is.null(intercept)) {
        check_number(intercept, 0, 1, arg = "intercept")
      },
      sd = if (!is.null(sd)) check_number(sd, 0, open = TRUE)
    ),
    class = "kb_centres"
  )
}

check_centre_weights <- function(weights) {
  fine <- is.numeric(weights) && is.null(dim(weights)) &&
    length(weights) > 0 && all(is.finite(weights)) && all(weights >= 0) &&
    sum(weights) > 0 && is.finite(sum(weights))
  if (!fine) {
    bad_argument(weights, "weights", paste(
      "numbers of at least 0, one per row, and not all of them 0"
    ))
  }
  as.double(weights)
}

#' Arguments for the sampler, only if they differ from the default
#' @return List of none or some of `centre_weights` (of the intercept and the n
#'   rows) and `centre_sd`.
#' @noRd
centres_resolve <- function(centres, n) {
  rows <- centres$weights
  if (!is.null(rows) && length(rows) != n) {
    kb_abort(c(
      "{.arg weights} of {.arg centres} must be one per row of the data.",
      x = "There are {length(rows)} weights and {n} rows.",
      i = "Rows dropped for missing values do not count."
    ), "argument", argument = "centres")
  }
  out <- list()
  if (!is.null(rows) || !is.null(centres$intercept)) {
    if (is.null(rows)) rows <- rep(1, n)
    first <- centres$intercept
    if (is.null(first)) first <- 1 / (n + 1)
    out$centre_weights <- c(first, (1 - first) * rows / sum(rows))
  }
  out$centre_sd <- centres$sd
  out
}

# Each copy of a row is a location
centres_of_copies <- function(centres, copies) {
  if (is.null(copies)) {
    return(centres)
  }
  if (is.null(centres)) centres <- centre_rows()
  if (is.null(centres$intercept)) centres$intercept <- 1 / (sum(copies) + 1)
  rows <- centres$weights
  if (is.null(rows)) rows <- rep(1, length(copies))
  # Another number of them is an error.
  if (length(rows) == length(copies)) centres$weights <- rows * copies
  centres
}

# Prior probability that there is an intercept
intercept_expected <- function(prior, n) {
  weights <- prior$centre_weights
  first <- if (is.null(weights)) 1 / (n + 1) else weights[[1]]
  -expm1(-prior$nu * first)
}

#' @export
format.kb_centres <- function(x, ...) {
  paste0(
    if (is.null(x$sd)) "rows" else paste0("near rows, sd ", format(x$sd)),
    if (!is.null(x$weights)) ", weighted",
    if (!is.null(x$intercept)) {
      paste0(", the intercept with probability ", format(x$intercept))
    }
  )
}

#' @export
print.kb_centres <- function(x, ...) {
  cat("<centres> ", format(x), "\n", sep = "")
  invisible(x)
}

# Fits of bark() whose kernels use a few directions of the predictors.

has_directions <- function(fit) !is.null(fit$settings$prior$directions)

# The number of inputs that have a scale: predictors, or directions
n_inputs <- function(fit) {
  if (has_directions(fit)) {
    return(fit$settings$prior$directions)
  }
  ncol(fit$data$x)
}

# The directions of each draw, predictors x directions x draws
bark_directions <- function(fit, pool = bark_pool(fit)) {
  array(pool$directions, c(ncol(fit$data$x), n_inputs(fit), length(pool$m)))
}

# The same as columns of draws, under their names
direction_columns <- function(fit, pool) {
  u <- bark_directions(fit, pool)
  size <- dim(u)
  out <- t(matrix(u, prod(size[1:2])))
  colnames(out) <- paste0(
    "directions[", rep(seq_len(size[[1]]), size[[2]]), ",",
    rep(seq_len(size[[2]]), each = size[[1]]), "]"
  )
  out
}

# The part of each predictor in the exponent of the kernel: one row per draw,
# sum_l lambda_l u_il^2 / sum_l lambda_l; 0 where no direction is in the kernel
predictor_shares <- function(fit, pool) {
  u <- bark_directions(fit, pool)
  scales <- bark_scales(fit, pool)
  along <- vapply(seq_len(nrow(scales)), function(i) {
    drop(matrix(u[, , i]^2, dim(u)[[1]]) %*% scales[i, ])
  }, numeric(dim(u)[[1]]))
  along <- t(matrix(along, dim(u)[[1]]))
  total <- rowSums(along)
  along / ifelse(total > 0, total, 1)
}

directions_line <- function(x) {
  if (has_directions(x)) {
    paste0(
      "  directions:   ", n_inputs(x), " of ",
      counted(ncol(x$data$x), "predictor"), "\n"
    )
  }
}

# Checks -----------------------------------------------------------------------

#' @param centres,own_scales Of the prior: kernel-specific shapes are defined in
#'   terms of the predictors.
#' @noRd
check_directions <- function(directions, centres, own_scales) {
  if (is.null(directions)) {
    return(NULL)
  }
  directions <- check_count(directions, 1, arg = "directions")
  near <- inherits(centres, "kb_centres") && !is.null(centres$sd)
  with <- c(
    "own_scales"[!is.null(own_scales) && !isFALSE(own_scales)], "centres = centre_near_rows()"[near]
  )
  if (length(with) > 0) {
    kb_abort(c(
      "{.arg directions} must be left out with {.code {with[[1]]}}.",
      i = "Kernel-specific centres and scales are in terms of the predictors."
    ), c("not_defined", "argument"), argument = "directions")
  }
  directions
}

#' @param p The number of predictors.
#' @noRd
directions_resolve <- function(d, p) {
  if (d > p) {
    kb_abort(c(
      "{.arg directions} of {.arg prior} must be at most the number of
       predictors, {p}.",
      x = "It is {d}."
    ), "argument", argument = "directions")
  }
  list(directions = d)
}

# The truncation approximation of bark(), and what is not defined for it.

is_truncated <- function(fit) is_truncated_prior(fit$settings$prior)

is_truncated_prior <- function(prior) {
  is.list(prior) && identical(prior$approximation, "truncation")
}

#' Refuse options that its sampler does not have
#' @param given Named flags.
#' @noRd
refuse_with_truncation <- function(used) {
  if (length(used) > 0) {
    kb_abort(c(
      "{.arg {used}} must be left out with {.code approximation =
       \"truncation\"}.",
      i = "It belongs to the continuous approximation."
    ), c("not_defined", "argument"), argument = used[[1]])
  }
}
