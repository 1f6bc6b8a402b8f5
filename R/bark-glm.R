# Fits of bark() of families without a latent normal form: their settings and
# predictions. Coefficients are in the draws, and f has an intercept.

is_glm_family <- function(name) !is.null(response_families[[name]]$intercept)

is_glm <- function(fit) is_glm_family(fit$settings$family)

# Does the response have noise with a scale?
has_noise <- function(fit) !has_classes(fit) && !is_glm(fit)

# Settings ---------------------------------------------------------------------

# These fits always have terms, at least an intercept
with_intercept <- function(mould, family) {
  if (is_glm_family(family) && is.null(mould$mixed)) {
    rows <- as.data.frame(mould$x)
    parts <- list(groups = list(), offsets = list(), names = list())
    mould$mixed <- mixed_learn(parts, rows, "data")
    mould$mixed_x <- mixed_matrix(mould$mixed, rows, "data")
  }
  mould
}

# Options of the prior that other samplers have
glm_prior <- function(prior, family, mould) {
  if (!is_glm_family(family)) {
    return(prior)
  }
  if (is.null(prior$own_scales)) prior$own_scales <- TRUE
  odd <- c(
    if (!isTRUE(prior$own_scales)) {
      paste0("own_scales = ", deparse(prior$own_scales))
    },
    if (!is.null(prior$directions)) "directions",
    if (is_truncated_prior(prior)) "approximation = \"truncation\"",
    if (!is.null(prior$noise)) "noise", if (!is.null(prior$df)) "df"
  )
  if (length(odd) > 0) {
    kb_abort(c(
      "{.code {odd[[1]]}} of {.fn bark_prior} is not defined for
       {.code family = \"{family}\"}.",
      i = "Its kernels have their own scales, and its responses no noise. Use
           {.fn bark_prior}, not {.fn bark_prior_paper}."
    ), c("not_defined", "argument"), argument = "prior")
  }
  if (!is.null(mould$weights)) {
    refuse_count_weights(family)
  }
  prior
}

refuse_count_weights <- function(family) {
  kb_abort(c(
    "{.arg weights} must be NULL for {.code family = \"{family}\"}.",
    i = "Weights divide the variance of the noise. An exposure is
         {.code offset(log(exposure))}."
  ), "argument", argument = "weights")
}

# The prior means of linear coefficients
linear_mean <- function(fit) {
  if (!is_glm(fit)) {
    return(NULL)
  }
  y <- fit$data$y
  level <- family_of(fit)$intercept(y, mixed_offset(fit) + 0 * y)
  c(level, numeric(length(fit$settings$mixed$sd) - 1))
}

# Temperatures need a likelihood with the coefficients integrated out
refuse_glm_temperatures <- function(family, control) {
  if (is_glm_family(family) && control$n_temps > 1) {
    kb_abort(c(
      "{.code mcmc_control(n_temps = )} is not defined for
       {.code family = \"{family}\"}.",
      i = "Leave it out."
    ), c("not_defined", "argument"), argument = "n_temps")
  }
}

refuse_glm <- function(fit, what) {
  if (is_glm(fit)) {
    kb_abort(c(
      "{.fn {what}} is not defined for {.code family =
       \"{fit$settings$family}\"}.",
      i = "{.fn loo} of the loo package compares such fits."
    ), "not_defined")
  }
}

# Predictions ------------------------------------------------------------------

#' The value of `predict()`
#' @param rows From `bark_rows()`.
#' @noRd
predict_glm <- function(fit, rows, type, interval, level, probs, ndraws) {
  x <- rows$x[rows$complete, , drop = FALSE]
  pool <- bark_pool(fit)
  if (type == "draws") {
    chosen <- equal_weight_draws(fit, pool, check_ndraws(ndraws))
    return(function_draws(fit, rows, pool, chosen))
  }
  if (type == "quantile") {
    probs <- check_probs(probs)
    if (interval == "none") interval <- "prediction"
  }
  if (nrow(x) == 0) {
    return(no_predictions(length(rows$complete), type, interval, probs))
  }
  if (type == "log_score") check_counts(rows$y[rows$complete], "newy")
  blocks <- lapply(row_blocks(x, length(pool$m)), function(at) {
    f <- posterior_draws(fit, x[at, , drop = FALSE], pool, seq_along(pool$m))
    y <- rows$y[rows$complete][at]
    glm_block(fit, f, pool, y, type, interval, level, probs)
  })
  out <- do.call(if (is.matrix(blocks[[1]])) rbind else c, blocks)
  if (type == "quantile") colnames(out) <- paste0(100 * probs, "%")
  spread_rows(out, rows$complete)
}

# Of n rows none of which is complete
no_predictions <- function(n, type, interval, probs) {
  columns <- if (type == "quantile") {
    paste0(100 * probs, "%")
  } else if (interval != "none") {
    c("fit", "lwr", "upr")
  }
  if (is.null(columns)) {
    return(rep(NA_real_, n))
  }
  matrix(NA_real_, n, length(columns), dimnames = list(NULL, columns))
}

# Of some rows, given all draws f, S x n
glm_block <- function(fit, f, pool, y, type, interval, level, probs) {
  family <- family_of(fit)
  every <- seq_len(nrow(f))
  if (type == "log_score") {
    log_p <- family$log_lik(fit, f, list(y = y), pool, every)
    most <- apply(log_p, 2, max)
    return(most + log(colMeans(exp(sweep(log_p, 2, most)))))
  }
  value <- if (type == "link") f else family$expected(fit, f, pool, every)
  limits <- function(probs) {
    if (interval == "prediction") {
      return(count_quantiles(fit, f, pool, probs))
    }
    out <- apply(value, 2, stats::quantile, probs, names = FALSE)
    matrix(out, ncol = length(probs), byrow = TRUE)
  }
  if (type == "quantile") {
    return(limits(probs))
  }
  mean <- colMeans(value)
  if (interval == "none") {
    return(mean)
  }
  ends <- limits(interval_ends(level))
  cbind(fit = mean, lwr = ends[, 1], upr = ends[, 2])
}

#' Quantiles of new counts: the least whose posterior predictive distribution
#' function reaches p
#'
#' Between the least and the largest quantile given one draw; by halving, as far
#' as numbers of this size tell neighbours apart.
#' @return Rows x probs.
#' @noRd
count_quantiles <- function(fit, f, pool, probs) {
  family <- family_of(fit)
  every <- seq_len(nrow(f))
  below <- function(y) colMeans(family$cdf(fit, f, pool, every, y))
  out <- vapply(probs, function(p) {
    each <- family$quantile(fit, f, pool, every, p)
    low <- apply(each, 2, min) - 1
    high <- apply(each, 2, max)
    repeat {
      middle <- floor((low + high) / 2)
      apart <- is.finite(middle) & middle > low & middle < high
      if (!any(apart)) break
      enough <- below(middle) >= p
      up <- apart & !enough
      down <- apart & enough
      low[up] <- middle[up]
      high[down] <- middle[down]
    }
    high
  }, numeric(ncol(f)))
  matrix(out, ncol(f))
}

# Draws of the family's parameters -----------------------------------------------

parameter_chains <- function(fit, draws) {
  interleaved_chains(draws, "parameters", family_of(fit)$parameters)
}

parameter_lines <- function(fit, show) {
  chains <- chain_matrices(fit)
  vapply(family_of(fit)$parameters, function(name) {
    v <- chains[[name]]
    paste0(
      "  ", format(paste0(name, ":"), width = 14), show(mean(v)), " ",
      range_of(v, show), "\n"
    )
  }, "")
}
