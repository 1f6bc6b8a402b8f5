# Fits of bark() of families without a latent normal form: their settings and
# predictions. Coefficients are in the draws, and f has an intercept.

is_glm_family <- function(name) !is.null(response_families[[name]]$intercept)

is_glm <- function(fit) is_glm_family(fit$settings$family)

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
  if (is.null(prior$own_scales)) {
    own <- response_families[[family]]$own_scales
    prior$own_scales <- if (can_pool(prior, mould) && !is.null(own)) own else TRUE
  }
  noisy <- isTRUE(response_families[[family]]$noise)
  if (noisy && is.null(prior$df)) prior$df <- Inf
  odd <- c(
    latent_options(prior), if (!is.null(prior$noise) && !noisy) "noise",
    if (!is.null(prior$df) && !(noisy && identical(prior$df, Inf))) "df"
  )
  if (length(odd) > 0) {
    kb_abort(c(
      "{.code {odd[[1]]}} of {.fn bark_prior} is not defined for
       {.code family = \"{given_name(family)}\"}.",
      i = "Its kernels have scales of their own, and its responses no noise with a
           Student t distribution. Use {.fn bark_prior}, not
           {.fn bark_prior_paper}."
    ), c("not_defined", "argument"), argument = "prior")
  }
  prior
}

# Are pooled scales defined?
can_pool <- function(prior, mould) {
  !endsWith(prior$type, "equal") && is.null(prior$scales) &&
    is.null(mould$fields)
}

# Options of the prior that only samplers with latent normal responses have
latent_options <- function(prior) {
  own <- prior$own_scales
  c(
    if (!(is.null(own) || isTRUE(own) || identical(own, "pooled"))) {
      paste0("own_scales = ", deparse(own))
    },
    if (!is.null(prior$directions)) "directions",
    if (is_truncated_prior(prior)) "approximation = \"truncation\""
  )
}

# The prior of the paper has normal noise, which latent responses have
needs_latent <- function(given) {
  length(latent_options(given$prior)) > 0 || !is.null(given$prior$df) ||
    given$control$n_temps > 1
}

refuse_glm_weights <- function(family) {
  kb_abort(c(
    "{.arg weights} must be NULL for {.code family = \"{given_name(family)}\"}.",
    i = "They count copies of rows, and no prediction depends on them."
  ), "argument", argument = "weights")
}

# The prior means of linear coefficients
linear_mean <- function(fit) {
  if (!is_glm(fit)) {
    return(NULL)
  }
  y <- fit$data$y
  offset <- rep(mixed_offset(fit), length.out = NROW(y))
  level <- family_of(fit)$intercept(y, offset, row_weights(fit))
  c(level, numeric(length(fit$settings$mixed$sd) - 1))
}

# Predictions ------------------------------------------------------------------

# Call f(draws, rows) on blocks of rows, with all draws of f, S x rows
in_draw_blocks <- function(fit, at, f) {
  every <- seq_along(at$pool$m)
  in_shaped_blocks(fit, at, function(x, rows) {
    f(posterior_draws(fit, x, at$pool, every), rows)
  })
}

# The values of f(x, rows) on blocks of rows, bound together
in_shaped_blocks <- function(fit, at, f) {
  # Without rows the first one tells the shape.
  none <- nrow(at$x) == 0
  x <- if (none) wide_x(fit, 1) else at$x
  blocks <- lapply(row_blocks(x, length(at$pool$m)), function(rows) {
    f(x[rows, , drop = FALSE], rows)
  })
  out <- do.call(if (is.matrix(blocks[[1]])) rbind else c, blocks)
  if (none) pick_rows(out, integer()) else out
}

glm_values <- function(fit, at) {
  in_draw_blocks(fit, at, function(f, rows) glm_block(fit, f, at))
}

glm_log_score <- function(fit, at) {
  if (nrow(at$x) == 0) {
    return(numeric())
  }
  check <- family_of(fit)$check_values
  if (!is.null(check)) check(at$y, "newy")
  in_draw_blocks(fit, at, function(f, rows) {
    here <- list(y = pick_rows(at$y, rows))
    column_log_means(
      family_of(fit)$log_lik(fit, f, here, at$pool, seq_len(nrow(f)))
    )
  })
}

# Of some rows, given all draws f, S x n
glm_block <- function(fit, f, at) {
  family <- family_of(fit)
  pool <- at$pool
  type <- at$type
  if (type == "survival") {
    return(survival_block(fit, f, pool, at$times, at$interval, at$level))
  }
  value <- if (type == "link") f else family$expected(fit, f, pool, seq_len(nrow(f)))
  limits <- function(probs) {
    if (at$interval == "prediction") {
      return(response_quantiles(fit, f, pool, probs))
    }
    column_quantiles(value, probs)
  }
  if (type == "quantile") {
    return(limits(at$probs))
  }
  # Times have no mean: the prior of f has heavy tails.
  mean <- if (isTRUE(family$logs) && type == "response") {
    response_quantiles(fit, f, pool, 0.5)[, 1]
  } else if (lacks_mean(fit, type)) {
    column_quantiles(value, 0.5)[, 1]
  } else {
    colMeans(value)
  }
  if (at$interval == "none") {
    return(mean)
  }
  ends <- limits(interval_ends(at$level))
  cbind(fit = mean, lwr = ends[, 1], upr = ends[, 2])
}

# Of log densities S x n, the logarithms of the means of densities
column_log_means <- function(log_p) {
  most <- apply(log_p, 2, max)
  out <- most + log(colMeans(exp(sweep(log_p, 2, most))))
  ifelse(!is.na(most) & most == -Inf, -Inf, out)
}

# Columns x probs
column_quantiles <- function(draws, probs) {
  out <- apply(draws, 2, stats::quantile, probs, names = FALSE)
  matrix(out, ncol = length(probs), byrow = TRUE)
}

#' Probabilities that new responses are above each time
#' @return Matrix, rows x times; or means, then both limits over draws.
#' @noRd
survival_block <- function(fit, f, pool, times, interval, level) {
  each <- lapply(times, function(time) {
    family_of(fit)$survival(fit, f, pool, seq_len(nrow(f)), rep(time, ncol(f)))
  })
  mean <- do.call(cbind, lapply(each, colMeans))
  if (interval == "none") {
    return(mean)
  }
  ends <- lapply(each, column_quantiles, interval_ends(level))
  limits <- lapply(1:2, function(k) {
    do.call(cbind, lapply(ends, function(v) v[, k]))
  })
  cbind(mean, limits[[1]], limits[[2]])
}

# Rows x times, with limits rows x times x 3
as_survival <- function(out, times) {
  names <- list(NULL, format(times, trim = TRUE))
  if (ncol(out) == length(times)) {
    return(matrix(out, nrow(out), dimnames = names))
  }
  array(out, c(nrow(out), length(times), 3),
    c(names, list(c("fit", "lwr", "upr")))
  )
}

check_times <- function(times) {
  if (!is.numeric(times) || length(times) == 0 || !all(is.finite(times))) {
    bad_argument(times, "times", "finite numbers")
  }
  as.double(times)
}

# Are quantiles of new responses defined?
has_quantiles <- function(fit) "quantile" %in% family_of(fit)$types

#' Quantiles of new responses: the least number whose posterior predictive
#' distribution function reaches p
#'
#' Between the least and the largest quantile given one draw; by halving, of
#' counts as far as numbers of this size tell neighbours apart, of other numbers
#' to a tiny part of the first interval.
#' @param rows The rows, where numbers of trials matter.
#' @return Rows x probs.
#' @noRd
response_quantiles <- function(fit, f, pool, probs, rows = NULL) {
  family <- family_of(fit)
  continuous <- isTRUE(family$continuous)
  every <- seq_len(nrow(f))
  # Times over many orders of magnitude: by their logarithms, within those of the
  # smallest and the largest number.
  logs <- isTRUE(family$logs)
  to <- if (logs) exp else identity
  below <- function(y) colMeans(family$cdf(fit, f, rows, pool, every, to(y)))
  end <- function(p, most) {
    each <- family$quantile(fit, f, rows, pool, every, p)
    if (logs) each[] <- pmin(pmax(log(each), -745), 709)
    apply(each, 2, most)
  }
  lowest <- end(min(probs), min) - !continuous
  highest <- end(max(probs), max)
  # Halving looks at about ten numbers per probability.
  if (!continuous && max(highest - lowest) < 10 * length(probs)) {
    return(tabled_quantiles(below, lowest, highest, probs))
  }
  out <- vapply(probs, function(p) {
    low <- lowest
    high <- highest
    turns <- if (logs) 45 else if (continuous) 30 else Inf
    while (turns > 0) {
      turns <- turns - 1
      middle <- (low + high) / 2
      if (!continuous) {
        # Means of counts over many orders of magnitude
        wide <- high > 4 * pmax(low, 1)
        middle[wide] <- sqrt(pmax(low, 1) * high)[wide]
        middle <- floor(middle)
      }
      apart <- is.finite(middle) & middle > low & middle < high
      if (!any(apart)) break
      enough <- below(middle) >= p
      up <- apart & !enough
      down <- apart & enough
      low[up] <- middle[up]
      high[down] <- middle[down]
    }
    to(high)
  }, numeric(ncol(f)))
  matrix(out, ncol(f))
}

#' The same from the distribution function at all whole numbers above `low`
#' @param below A function of numbers, one per row.
#' @noRd
tabled_quantiles <- function(below, low, high, probs) {
  steps <- seq_len(max(max(high - low), 1))
  table <- vapply(steps, function(k) below(pmin(low + k, high)), low)
  table <- matrix(table, length(low))
  at <- vapply(probs, function(p) {
    enough <- table >= p
    # The largest quantile given one draw suffices, up to rounding.
    enough[, ncol(table)] <- TRUE
    max.col(enough, ties.method = "first")
  }, integer(length(low)))
  matrix(pmin(low + at, high), length(low))
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
