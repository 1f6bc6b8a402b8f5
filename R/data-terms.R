# Terms beside kernels in fits of bark(): their scaling and prior, and their
# part of predictions.

has_mixed <- function(fit) !is.null(fit$settings$mixed)

# On the inputs of kernels
has_linear_slopes <- function(fit) !is.null(fit$settings$prior$slope_scale)

# Beside the intercept that fits of counts always have
has_terms_beside <- function(fit) length(fit$mould$mixed$columns) > 0

has_kernels <- function(fit) fit$settings$prior$nu > 0

# What plain terms of a formula are that has no kernels()
plain_terms <- function(prior) {
  prior <- check_class(prior, "kb_bark_prior", "`bark_prior()`")
  if (prior$gamma == 0) "linear" else "kernels"
}

# Without kernels their scales have no prior
prior_of_inputs <- function(prior, p) {
  if (p > 0) {
    return(prior)
  }
  if (prior$gamma > 0) {
    refuse("formula", "formula", "must have inputs of kernels.",
      "It has terms beside them only.",
      "Write {.code kernels(x1)}, or {.code prior = bark_prior(gamma = 0)} for a
       model without kernels."
    )
  }
  prior$type <- "equal"
  prior$own_scales <- FALSE
  prior[c("n_signals", "directions", "centres", "linear")] <- list(NULL)
  prior
}

# x holds inputs of kernels
refuse_x_without_kernels <- function(prior) {
  if (plain_terms(prior) == "linear") {
    kb_abort(c(
      "A prior without kernels needs a formula.",
      x = "{.arg prior} has {.code gamma = 0}, and {.arg x} has inputs of
           kernels.",
      i = "Write for instance {.code bark(y ~ x1 + (1 | g), data, prior =
           bark_prior(gamma = 0))}."
    ), c("argument", "not_defined"), argument = "prior")
  }
}

#' @param given Named flags.
#' @param formula One with all of these terms.
#' @noRd
refuse_parts_twice <- function(given, formula) {
  if (any(given)) {
    name <- names(given)[given][[1]]
    kb_abort(c(
      "{.arg {name}} must be left out with a formula.",
      i = "A formula has all of its terms: {.code {formula}}."
    ), "argument", argument = name)
  }
}

# The numeric response without the offset, or the classes
without_offset <- function(mould, y, classes) {
  at <- mould$mixed$offset_column
  if (length(at) == 0 || classes) y else y - mould$mixed_x[, at]
}

#' Scaling and prior of the terms, from the rows of the fit
#' @return NULL, or a list of `center`, `scale` and `sd` (prior standard
#'   deviations) of linear columns, the intercept being the first, and `groups`:
#'   for each grouping `scale` of the multipliers and `sd`, the scale of the
#'   half-t priors. In units of the model.
#' @noRd
mixed_settings <- function(mould, prior, scaling, scale, classes, y, copies) {
  recipe <- mould$mixed
  if (is.null(recipe)) {
    return(NULL)
  }
  x <- mould$mixed_x
  linear <- column_moments(x[, recipe$linear_columns, drop = FALSE], copies)
  unit <- if (classes || scale) 1 else column_moments(cbind(y), copies)$scale
  linear_sd <- default_of(prior$linear_sd, if (classes) 2.5 else 10)
  q <- length(linear$scale)
  list(
    center = c(0, if (scale) linear$center else numeric(q)),
    scale = c(1, if (scale) linear$scale else rep(1, q)),
    sd = linear_sd * c(
      if (classes || scale) 1 else root_mean_square(y, copies),
      unit * (if (scale) rep(1, q) else 1 / linear$scale)
    ),
    groups = lapply(recipe$group_columns, function(columns) {
      z <- sqrt(copy_means(x[, columns[-1], drop = FALSE]^2, copies))
      z <- ifelse(z > 0, z, 1)
      list(
        scale = if (scale) unname(z) else rep(1, length(z)),
        sd = default_of(prior$group_sd, 1) * unit *
          (if (scale) rep(1, length(z)) else 1 / unname(z))
      )
    })
  )
}

default_of <- function(value, default) if (is.null(value)) default else value

# The linear columns of rows, without the intercept, as the model sees them
mixed_linear <- function(settings, x) {
  if (is.null(settings)) {
    return(NULL)
  }
  columns <- seq_len(length(settings$center) - 1)
  x <- sweep(x[, columns, drop = FALSE], 2, settings$center[-1])
  sweep(x, 2, settings$scale[-1], "/")
}

# The same with the intercept
mixed_design <- function(fit, x) {
  cbind("(Intercept)" = rep(1, nrow(x)), mixed_linear(fit$settings$mixed, x))
}

# The terms as the sampler gets them
mixed_config <- function(fit) {
  settings <- fit$settings$mixed
  recipe <- fit$mould$mixed
  x <- fit$data$mixed
  offset <- mixed_offset(fit)
  c(list(
    linear = mixed_design(fit, x), linear_sd = settings$sd,
    groupings = Map(function(group, columns, own) {
      list(
        group = as.integer(x[, columns[[1]]]), count = length(group$levels),
        z = sweep(x[, columns[-1], drop = FALSE], 2, own$scale, "/"),
        scale = own$sd
      )
    }, recipe$groups, recipe$group_columns, settings$groups)
  ), list(linear_mean = linear_mean(fit))[is_glm(fit)],
  if (!has_noise(fit) && length(offset) > 1) list(offset = offset))
}

# The offset of the rows of the fit, in the units of the response
mixed_offset <- function(fit) {
  at <- fit$mould$mixed$offset_column
  if (length(at) > 0) fit$data$mixed[, at] else 0
}

# The offset of such rows as predictions take them; 0 if they have only the
# inputs of kernels
row_offset <- function(fit, x) {
  at <- ncol(fit$data$x) + fit$mould$mixed$offset_column
  if (length(at) > 0 && ncol(x) >= at) x[, at] else 0
}

# Rows of the fit as predictions take them: kernels, then other terms
wide_x <- function(fit, rows = NULL) {
  x <- fit$data$x
  if (!is.null(fit$data$mixed)) x <- cbind(x, fit$data$mixed)
  if (is.null(rows)) x else x[rows, , drop = FALSE]
}

# Rows over which effects are averaged
effect_x <- function(fit) {
  if (inherits(fit, "kb_kbr")) {
    return(fit$data$observations)
  }
  wide_x(fit, training_rows(fit))
}

# The parts of such rows
kernel_part <- function(fit, x) {
  if (is.null(fit$data$mixed)) {
    return(x)
  }
  x[, seq_len(ncol(fit$data$x)), drop = FALSE]
}
mixed_part <- function(fit, x) {
  x[, ncol(fit$data$x) + seq_len(ncol(fit$data$mixed)), drop = FALSE]
}

# Linear coefficients, and variances and covariances of groups
mixed_df <- function(fit) {
  if (!has_mixed(fit)) {
    return(0)
  }
  q <- vapply(fit$mould$mixed$groups, function(g) length(g$coefficients), 1)
  length(fit$settings$mixed$sd) + sum(q * (q + 1) / 2)
}

#' Coefficients of a grouping in the units of the model
#' @return Array, coefficients x groups x draws.
#' @noRd
group_effects <- function(fit, pool, k, chosen = seq_along(pool$m)) {
  groups <- fit$mould$mixed$groups
  sizes <- vapply(groups, function(g) {
    length(g$coefficients) * length(g$levels)
  }, 1)
  block <- matrix(pool$effects, sum(sizes))
  at <- sum(sizes[seq_len(k - 1)]) + seq_len(sizes[[k]])
  array(block[at, chosen], c(
    length(groups[[k]]$coefficients), length(groups[[k]]$levels),
    length(chosen)
  ))
}

# Their covariances, coefficients x coefficients x draws
group_covariances <- function(fit, pool, k, chosen = seq_along(pool$m)) {
  q <- vapply(fit$mould$mixed$groups, function(g) length(g$coefficients), 1L)
  block <- matrix(pool$covariances, sum(q^2))
  at <- sum(q[seq_len(k - 1)]^2) + seq_len(q[[k]]^2)
  array(block[at, chosen], c(q[[k]], q[[k]], length(chosen)))
}

#' The terms at rows, for each chosen draw, in the units of the model
#'
#' Coefficients of groups that the fit does not have are integrated out, which
#' gives a variance, or drawn; rows with group 0 have none.
#' @param x From `mixed_part()`.
#' @return List of `mean` and `variance`, rows x draws.
#' @noRd
mixed_values <- function(fit, x, pool, chosen, drawn) {
  gamma <- matrix(pool$gamma, ncol = length(pool$m))[, chosen, drop = FALSE]
  mean <- mixed_design(fit, x) %*% gamma
  variance <- matrix(0, nrow(mean), ncol(mean))
  at <- fit$mould$mixed$offset_column
  if (length(at) > 0) mean <- mean + x[, at] / fit$settings$scaling$y_scale
  for (k in seq_along(fit$mould$mixed$groups)) {
    part <- group_values(fit, x, pool, k, chosen, drawn)
    mean <- mean + part$mean
    variance <- variance + part$variance
  }
  list(mean = mean, variance = variance)
}

group_values <- function(fit, x, pool, k, chosen, drawn) {
  columns <- fit$mould$mixed$group_columns[[k]]
  number <- x[, columns[[1]]]
  z <- sweep(x[, columns[-1], drop = FALSE], 2,
    fit$settings$mixed$groups[[k]]$scale, "/"
  )
  mean <- matrix(0, nrow(x), length(chosen))
  known <- which(number > 0)
  effects <- group_effects(fit, pool, k, chosen)
  for (l in seq_len(ncol(z))) {
    b <- matrix(effects[l, , ], dim(effects)[[2]])
    mean[known, ] <- mean[known, ] +
      z[known, l] * b[number[known], , drop = FALSE]
  }
  variance <- matrix(0, nrow(x), length(chosen))
  new <- which(number < 0)
  if (length(new) > 0) {
    part <- new_group_values(fit, pool, k, chosen, -number[new],
      z[new, , drop = FALSE], drawn
    )
    mean[new, ] <- part$mean
    variance[new, ] <- part$variance
  }
  list(mean = mean, variance = variance)
}

# Each new group has its own stream of draws, whichever rows are asked for
new_group_values <- function(fit, pool, k, chosen, number, z, drawn) {
  sigma <- group_covariances(fit, pool, k, chosen)
  q <- ncol(z)
  if (!drawn) {
    each <- vapply(seq_along(chosen), function(s) {
      rowSums((z %*% matrix(sigma[, , s], q)) * z)
    }, numeric(nrow(z)))
    return(list(mean = 0, variance = matrix(each, nrow(z))))
  }
  roots <- array(apply(sigma, 3, function(v) chol(matrix(v, q))), dim(sigma))
  out <- matrix(0, nrow(z), length(chosen))
  for (group in unique(number)) {
    rows <- which(number == group)
    seed <- (as.double(fit$seed) + 1e6 * k + group) %% .Machine$integer.max
    normal <- with_local_seed(as.integer(seed), {
      matrix(stats::rnorm(q * length(pool$m)), q)[, chosen, drop = FALSE]
    })
    b <- vapply(seq_along(chosen), function(s) {
      drop(crossprod(matrix(roots[, , s], q), normal[, s]))
    }, numeric(q))
    out[rows, ] <- z[rows, , drop = FALSE] %*% matrix(b, q)
  }
  list(mean = out, variance = 0)
}

# Arguments of predict() --------------------------------------------------------

# Terms of new rows, where the fit was given x and y with such terms
check_new_mixed <- function(fit, linear, groups, offset) {
  given <- list(linear = linear, groups = groups, offset = offset)
  given <- given[!vapply(given, is.null, NA)]
  known <- if (fit$mould$interface == "xy") {
    recipe <- fit$mould$mixed
    c(
      if (!is.null(recipe$linear)) "linear",
      if (length(recipe$groups) > 0) "groups",
      if (length(recipe$offsets) > 0) "offset"
    )
  }
  odd <- setdiff(names(given), known)
  if (length(odd) > 0) {
    kb_abort(c(
      "{.arg {odd[[1]]}} must be left out.",
      x = if (fit$mould$interface == "formula") {
        "The model was fitted to a formula: {.arg newdata} has all of its terms."
      } else {
        "The model was fitted without {.arg {odd[[1]]}}."
      }
    ), "argument", argument = odd[[1]])
  }
  if (length(given) > 0) given
}

# The fit for rows whose groups are not looked at
without_groups <- function(fit, re_formula) {
  if (!(is.null(re_formula) || identical(re_formula, NA))) {
    bad_argument(re_formula, "re_formula", "NULL (with groups) or NA (without)")
  }
  if (identical(re_formula, NA) && has_mixed(fit)) fit$mould$mixed$off <- TRUE
  fit
}

# Rows with or without the coefficients of groups
with_groups <- function(fit, x, re_formula) {
  if (is.null(re_formula) || !has_mixed(fit)) {
    return(x)
  }
  first <- vapply(fit$mould$mixed$group_columns, `[[`, 1L, 1)
  x[, ncol(fit$data$x) + first] <- 0
  x
}

# Parameters in the units of the data ------------------------------------------

# Coefficients of linear terms, one row per draw
#
# The intercept is the mean over the rows of the fit where all linear predictors
# are 0, kernels included: the data do not tell its constant from that of the
# kernels.
linear_draws <- function(fit, pool = bark_pool(fit)) {
  settings <- fit$settings$mixed
  gamma <- matrix(pool$gamma, length(settings$sd))
  b <- t(gamma / settings$scale)
  b[, 1] <- b[, 1] - b[, -1, drop = FALSE] %*% settings$center[-1] + pool$level
  b <- unscale_sd(fit$settings$scaling, b)
  b[, 1] <- b[, 1] + fit$settings$scaling$y_center
  columns <- fit$mould$mixed$columns[fit$mould$mixed$linear_columns]
  colnames(b) <- c("(Intercept)", columns)
  b
}

# Units of the coefficients of a grouping
group_units <- function(fit, k) {
  fit$settings$scaling$y_scale / fit$settings$mixed$groups[[k]]$scale
}

# Covariances of a grouping, coefficients x coefficients x draws
covariance_draws <- function(fit, k, pool = bark_pool(fit)) {
  units <- group_units(fit, k)
  group_covariances(fit, pool, k) * as.vector(outer(units, units))
}

# Standard deviations and correlations of groups, one row per draw
spread_draws_of_groups <- function(fit, pool = bark_pool(fit)) {
  parts <- lapply(seq_along(fit$mould$mixed$groups), function(k) {
    group <- fit$mould$mixed$groups[[k]]
    names <- group$coefficients
    v <- covariance_draws(fit, k, pool)
    q <- length(names)
    sd <- t(sqrt(pmax(matrix(v, q^2)[seq(1, q^2, q + 1), , drop = FALSE], 0)))
    colnames(sd) <- paste0("sd[", group$label, ",", names, "]")
    if (identical(names, "(Intercept)")) {
      colnames(sd) <- paste0("sd[", group$label, "]")
    }
    pairs <- which(lower.tri(diag(q)), arr.ind = TRUE)
    cor <- vapply(seq_len(nrow(pairs)), function(i) {
      v[pairs[i, 1], pairs[i, 2], ] / (sd[, pairs[i, 1]] * sd[, pairs[i, 2]])
    }, numeric(nrow(sd)))
    cor <- matrix(cor, nrow(sd))
    colnames(cor) <- if (nrow(pairs) > 0) {
      paste0("cor[", group$label, ",", names[pairs[, 2]], ",",
        names[pairs[, 1]], "]"
      )
    }
    cbind(sd, cor)
  })
  do.call(cbind, parts)
}

# Linear coefficients and spreads of groups among these, one row per draw
mixed_columns <- function(chains) {
  chosen <- grepl("^(b|sd|cor)\\[", names(chains))
  vapply(chains[chosen], as.vector, numeric(length(chains$J)))
}

# The same with linear coefficients, as `chain_matrices()` has them
mixed_chains <- function(fit, draws) {
  pool <- lapply(
    stats::setNames(nm = c("m", "gamma", "covariances", "level")),
    function(name) unlist(lapply(draws, `[[`, name), use.names = FALSE)
  )
  pool_chains(fit, pool, length(draws))
}

#' @param class Prefix of what is in brackets.
#' @noRd
pool_chains <- function(fit, pool, chains, class = "") {
  b <- linear_draws(fit, pool)
  colnames(b) <- paste0("b[", colnames(b), "]")
  all <- cbind(b, spread_draws_of_groups(fit, pool))
  out <- lapply(seq_len(ncol(all)), function(i) matrix(all[, i], ncol = chains))
  stats::setNames(out, sub("[", paste0("[", class), colnames(all), fixed = TRUE))
}

# Of several classes: differences from the mean over classes
mixed_field_chains <- function(fit, chains) {
  pools <- mixed_pools(fit)
  out <- Map(function(pool, class) {
    pool_chains(fit, pool, chains, paste0(class, ","))
  }, pools, names(pools))
  do.call(c, unname(out))
}

# Lines of print() for terms beside kernels in fits of bark().

predictors_part <- function(fit) {
  recipe <- fit$mould$mixed
  if (!has_terms_beside(fit)) {
    return(counted(ncol(fit$data$x), "predictor"))
  }
  sizes <- vapply(recipe$groups, function(group) {
    paste0(counted(length(group$levels), "group"), " of ", group$label)
  }, "")
  parts <- c(
    if (ncol(fit$data$x) > 0) paste(ncol(fit$data$x), "in kernels"),
    if (length(recipe$linear_columns) > 0) {
      paste(length(recipe$linear_columns), "linear")
    }, sizes, if (length(recipe$offset_column) > 0) "offset"
  )
  paste(parts, collapse = ", ")
}

range_of <- function(v, show) {
  ends <- stats::quantile(v, c(0.05, 0.95), names = FALSE)
  paste0("(", show(ends[[1]]), " to ", show(ends[[2]]), ")")
}

# The share of the linear part in the spread of f over rows of the fit: its
# variance over that plus the variance of the kernels
linear_line <- function(fit, most = 200) {
  if (!has_linear_slopes(fit) || is_multinomial(fit)) {
    return(NULL)
  }
  pool <- bark_pool(fit)
  chosen <- spread_over(length(pool$m), min(length(pool$m), most))
  x <- fit$data$x[spread_rows_of(fit, most), , drop = FALSE]
  slopes <- matrix(pool$slopes, ncol(x))[, chosen, drop = FALSE]
  linear <- scaling_x(fit$settings$scaling, x) %*% slopes
  f <- kernel_values(fit, x, pool, "draw", chosen)$mean
  spread <- function(v) colSums(sweep(v, 2, colMeans(v))^2)
  share <- spread(linear) / (spread(linear) + spread(f - linear))
  if (!all(is.finite(share))) {
    return(NULL)
  }
  percent <- function(v) paste0(round(100 * v), "%")
  paste0(
    "  linear part:  ", percent(mean(share)), " of the variation ",
    range_of(share, percent), "\n"
  )
}

# Linear coefficients and standard deviations of groups
mixed_lines <- function(fit, show, most = 4) {
  lines <- function(draws, label) {
    if (is.null(draws) || ncol(draws) == 0) {
      return(NULL)
    }
    names <- sub("^sd\\[(.*)\\]$", "\\1", colnames(draws))
    shown <- seq_len(min(most, ncol(draws)))
    parts <- vapply(shown, function(i) {
      paste0(names[[i]], " ", show(mean(draws[, i])), " ",
        range_of(draws[, i], show)
      )
    }, "")
    more <- ncol(draws) - length(shown)
    if (more > 0) parts <- c(parts, paste(more, "more"))
    paste0(
      "  ", formatC(label, width = -14),
      paste(parts, collapse = paste0("\n", strrep(" ", 16))), "\n"
    )
  }
  spread <- spread_draws_of_groups(fit)
  sds <- startsWith(as.character(colnames(spread)), "sd[")
  spread <- spread[, sds, drop = FALSE]
  paste0(
    lines(linear_draws(fit)[, -1, drop = FALSE], "linear:"),
    lines(spread, "sd of groups:")
  )
}
