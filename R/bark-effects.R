# Whether predictors have an effect on f: a scale that is not 0 may still be
# too small to change anything.

# f has to change by this share of the standard deviation of the response.
effect_least <- 0.01

#' How much f changes with each predictor in each draw
#'
#' Its values are permuted among rows; the change is the root mean square over
#' rows. Draws take turns with `n_orders` permutations, determined by the seed of
#' the fit, the same for predictors that share a first column.
#' @param values Function of rows and draws by number: a list of matrices, one
#'   per field, points x draws. The largest change of a field counts. All inputs
#'   are permuted in one call: each call scales its rows.
#' @param chosen Draws by number; `inputs` from `permuted_inputs()`.
#' @return Matrix, `chosen` x `inputs`.
#' @noRd
changes_when_permuted <- function(fit, values, chosen, inputs) {
  x <- change_rows(fit)
  turns <- split(seq_along(chosen), permutation_turns(length(chosen)))
  orders <- with_local_seed(fit$seed, lapply(turns, function(turn) {
    matrix(replicate(ncol(x), sample.int(nrow(x))), nrow(x))
  }))
  out <- matrix(0, length(chosen), length(inputs))
  for (turn in seq_along(turns)) {
    permuted <- lapply(inputs, function(input) {
      input$permute(x, orders[[turn]][, input$first])
    })
    f <- values(do.call(rbind, c(list(x), permuted)), chosen[turns[[turn]]])
    changes <- lapply(f, mean_changes, length(inputs))
    out[turns[[turn]], ] <- t(do.call(pmax, changes))
  }
  out
}

# Root mean squares, inputs x draws, of f at rows and then at those of each input
mean_changes <- function(f, inputs) {
  f <- array(f, c(nrow(f) / (inputs + 1), inputs + 1, ncol(f)))
  moved <- f[, -1, , drop = FALSE] - as.vector(f[, rep(1, inputs), ])
  sqrt(colMeans(moved^2))
}

# The numbers of the rows among which values are permuted, and their inputs
spread_rows_of <- function(fit, most = 100) {
  copy_rows(nrow(fit$data$x), row_copies(fit), function(n) {
    spread_over(n, min(n, most))
  })
}

change_rows <- function(fit) {
  fit$data$x[spread_rows_of(fit), , drop = FALSE]
}

#' Functions that permute each variable, or each column
#' @return List, named, of lists of `permute` and `first`, the number of the
#'   first column.
#' @noRd
permuted_inputs <- function(fit, by = "variable") {
  mould <- fit$mould
  if (by == "column") {
    columns <- stats::setNames(seq_along(mould$x_names), mould$x_names)
    return(lapply(columns, permuted_together))
  }
  columns <- variable_columns(mould, beside = FALSE)
  Map(function(permute, columns) {
    list(permute = permute, first = columns[[1]])
  }, permute_variables(
    mould, pick_rows(variable_frame(fit), spread_rows_of(fit)), beside = FALSE
  ), columns)
}

permuted_together <- function(columns) {
  list(permute = permute_columns(columns), first = columns[[1]])
}

#' The change of the fields of `bark()`
#'
#' For several classes f is a field minus the mean of all fields, on which
#' probabilities depend.
#' @param pools List of pools, one per field.
#' @param class Number of the field; NULL: any of them.
#' @noRd
bark_changes <- function(fit, pools, class, chosen, inputs) {
  of <- if (is.null(class)) seq_along(pools) else class
  changes_when_permuted(fit, function(x, draws) {
    relative_fields(fit, x, pools, draws)[of]
  }, chosen, inputs)
}

# The permutation of each draw, by number
permutation_turns <- function(draws, n_orders = 20) {
  rep_len(seq_len(n_orders), draws)
}

# Standard errors: those of the chains, or of the permutations if they are
# larger, since draws with the same permutation err together
permuted_errors <- function(values, chains) {
  turns <- permutation_turns(nrow(values))
  means <- rowsum(values, turns) / as.vector(table(turns))
  between <- sqrt(apply(means, 2, stats::var) / nrow(means))
  pmax(monte_carlo_errors(values, chains), between)
}

# Whether a change is an effect: compared with a share of the standard deviation
# of the response (for classes, of the latent response)
has_effect <- function(fit, changes) {
  (changes > effect_least * response_spread(fit)) + 0
}

# Each predictor's part of the sum of squared changes; 0 if f is constant
change_shares <- function(changes) {
  total <- rowSums(changes^2)
  changes^2 / ifelse(total > 0, total, 1)
}

# f of each draw, points x draws; for several fields minus their mean
relative_fields <- function(fit, x, pools, chosen) {
  f <- lapply(pools, function(pool) {
    kernel_values(fit, x, pool, "draw", chosen)$mean
  })
  if (length(f) == 1) {
    return(f)
  }
  mean <- Reduce(`+`, f) / length(f)
  lapply(f, function(v) v - mean)
}

# The standard deviation of the response that the model sees; the noise of a
# latent one is 1
response_spread <- function(fit) {
  if (!has_noise(fit)) {
    return(1)
  }
  y <- located(fit$settings$family, fit$data$y)
  y <- cbind(scaling_y(fit$settings$scaling, y))
  if (nrow(unique(y)) == 1) 0 else column_moments(y, row_copies(fit))$scale
}

# Draws of every chain, evenly chosen: by number, chain by chain
spread_draws <- function(fit, ndraws) {
  chains <- length(fit_runs(fit))
  n <- length(posterior_pool(fit)$weights) %/% chains
  each <- spread_over(n, min(n, ceiling(ndraws / chains)))
  as.vector(outer(each, n * (seq_len(chains) - 1), `+`))
}

#' The probabilities of an effect, their Monte Carlo errors, and those of the
#' prior; and shares of the change of f
#' @param prior_draws 0: none.
#' @noRd
effect_table <- function(fit, pools, class = NULL, ndraws = 400,
                         inputs = permuted_inputs(fit),
                         prior_draws = ndraws) {
  chosen <- spread_draws(fit, ndraws)
  changes <- bark_changes(fit, pools, class, chosen, inputs)
  effect <- has_effect(fit, changes)
  share <- change_shares(changes)
  chains <- length(fit_runs(fit))
  out <- data.frame(
    share = colMeans(share), share_se = permuted_errors(share, chains),
    effect = colMeans(effect), effect_se = permuted_errors(effect, chains),
    row.names = names(inputs)
  )
  if (prior_draws > 0) {
    prior <- with_local_seed(fit$seed, {
      lapply(pools, function(pool) draw_bark_pool(fit, prior_draws))
    })
    out$effect_prior <- colMeans(has_effect(
      fit, bark_changes(fit, prior, class, seq_len(prior_draws), inputs)
    ))
  }
  out
}

#' Standard errors of means over draws, from their effective sample sizes, after
#' (B77); NA if all draws are equal
#' @param draws Matrix, all draws chain by chain x quantities.
#' @noRd
monte_carlo_errors <- function(draws, chains) {
  size <- mixing_cpp(draws, chains, NULL)[1, ]
  out <- apply(draws, 2, stats::sd) / sqrt(size)
  out[is.nan(out) | out %in% 0] <- NA
  out
}

#' The variables that matter most, with the numbers of importance(); if there are
#' many variables, of those with large scales or slopes
#' @param scales Of columns.
#' @param by `"effect"` or `"share"`.
#' @return The probability of an effect, or the share, named by variables, the
#'   first first.
#' @noRd
leading_inputs <- function(fit, pools, scales, by = leading_by(fit), most = 30) {
  x <- scaling_x(fit$settings$scaling, fit$data$x)
  variance <- colMeans(sweep(x, 2, colMeans(x))^2)
  size <- colMeans(1 - exp(-scales * rep(variance, each = nrow(scales))))
  slopes <- do.call(pmax, lapply(pools, mean_slopes, ncol(x)))
  size <- pmax(size, slopes * sqrt(variance))
  size <- vapply(variable_columns(fit$mould, FALSE), function(columns) {
    max(size[columns])
  }, 0)
  first <- utils::head(sort(size, decreasing = TRUE), most)
  inputs <- permuted_inputs(fit)
  value <- effect_table(fit, pools,
    inputs = inputs[names(inputs) %in% names(first)], prior_draws = 0
  )[[by]]
  names(value) <- intersect(names(inputs), names(first))
  value[order(-value, -first[names(value)])]
}

mean_slopes <- function(pool, p) {
  if (is.null(pool$slopes)) numeric(p) else rowMeans(matrix(abs(pool$slopes), p))
}

# Where kernels have scales of their own, most of them contain something of every
# predictor, and all probabilities of an effect are near 1.
leading_by <- function(fit) if (has_own_scales(fit)) "share" else "effect"

# The parts of the predictor of a fit of bark() with terms beside kernels.

#' Draws of the components at rows, in the units of the response
#'
#' Each is a deviation: of the kernels from their mean over the rows of the fit,
#' of a linear term from its value at the means of its columns.
#' @param x Rows as `wide_x()` has them.
#' @param new_groups Draw the coefficients of groups that the fit does not have?
#'   Otherwise they are 0, their mean.
#' @return Named list of matrices, rows x draws.
#' @noRd
component_draws <- function(fit, x, pool = bark_pool(fit),
                            chosen = seq_along(pool$m), new_groups = TRUE) {
  parts <- c(
    if (has_kernels(fit)) kernel_components(fit, x, pool, chosen),
    linear_components(fit, mixed_part(fit, x), pool, chosen),
    group_components(fit, mixed_part(fit, x), pool, chosen, new_groups)
  )
  lapply(parts, function(v) unscale_sd(fit$settings$scaling, v))
}

kernel_components <- function(fit, x, pool, chosen) {
  x <- kernel_part(fit, x)
  f <- kernel_values(fit, x, pool, "draw", chosen)$mean
  f <- sweep(f, 2, pool$level[chosen])
  fields <- fit$mould$fields
  if (is.null(fields)) {
    return(list(kernels = f))
  }
  # All but the last; that is what is left.
  out <- lapply(seq_along(fields)[-1] - 1, function(k) {
    field_component(fit, x, field_pool(fit, pool, k), chosen)
  })
  stats::setNames(c(out, list(f - Reduce(`+`, out))), names(fields))
}

# The pool of the kernels of one of several kernels(): others are 0, as are
# those without inputs, which are constants
field_pool <- function(fit, pool, k) {
  p <- ncol(fit$data$x)
  used <- matrix(pool$own_included, p) > 0
  fits <- vapply(fit$mould$fields, function(inputs) {
    colSums(used[-inputs, , drop = FALSE]) == 0
  }, logical(ncol(used)))
  fits <- matrix(fits, ncol(used))
  first <- max.col(fits, "first")
  pool$beta <- pool$beta * (first == k & colSums(used) > 0)
  pool$slopes <- pool$slopes * seq_len(p) %in% fit$mould$fields[[k]]
  pool
}

# Around its mean over the rows of the fit, or some of many
field_component <- function(fit, x, pool, chosen, most = 2000) {
  rows <- spread_rows_of(fit, most)
  level <- colMeans(kernel_values(
    fit, fit$data$x[rows, , drop = FALSE], pool, "draw", chosen
  )$mean)
  sweep(kernel_values(fit, x, pool, "draw", chosen)$mean, 2, level)
}

linear_components <- function(fit, x, pool, chosen) {
  linear <- fit$mould$mixed$linear
  if (is.null(linear)) {
    return(NULL)
  }
  settings <- fit$settings$mixed
  gamma <- matrix(pool$gamma, length(settings$sd))[-1, chosen, drop = FALSE]
  columns <- fit$mould$mixed$linear_columns
  at <- sweep(x[, columns, drop = FALSE], 2, linear_means(fit))
  at <- sweep(at, 2, settings$scale[-1], "/")
  labels <- attr(linear$terms, "term.labels")
  out <- lapply(seq_along(labels), function(k) {
    own <- linear$assign == k
    at[, own, drop = FALSE] %*% gamma[own, , drop = FALSE]
  })
  stats::setNames(out, labels)
}

linear_means <- function(fit) {
  linear <- fit$data$mixed[, fit$mould$mixed$linear_columns, drop = FALSE]
  copy_means(linear, row_copies(fit))
}

# Groupings of one factor are one component
group_components <- function(fit, x, pool, chosen, new_groups) {
  groups <- fit$mould$mixed$groups
  labels <- vapply(groups, `[[`, "", "label")
  out <- lapply(unique(labels), function(label) {
    parts <- lapply(which(labels == label), function(k) {
      group_values(fit, x, pool, k, chosen, drawn = new_groups)$mean
    })
    Reduce(`+`, parts)
  })
  stats::setNames(out, unique(labels))
}

# The predictor where all components are 0, one number per draw
component_constant <- function(fit, pool = bark_pool(fit)) {
  b <- linear_draws(fit, pool)
  drop(b[, 1] + b[, -1, drop = FALSE] %*% linear_means(fit))
}

#' The value of `predict(type = "terms")`
#' @param rows From `prediction_rows()`.
#' @return Matrix, rows x components; with an interval an array with `fit`,
#'   `lwr`, `upr` as its last dimension.
#' @noRd
predict_components <- function(fit, rows, interval, level) {
  x <- rows$x[rows$complete, , drop = FALSE]
  pool <- bark_pool(fit)
  probs <- interval_ends(level)
  width <- if (interval == "none") 1 else 3
  blocks <- lapply(row_blocks(x, 4 * length(pool$m)), function(block) {
    draws <- component_draws(fit, x[block, , drop = FALSE], pool,
      new_groups = interval != "none"
    )
    out <- vapply(draws, function(v) {
      if (interval == "none") {
        return(matrix(rowMeans(v)))
      }
      cbind(rowMeans(v), t(apply(v, 1, stats::quantile, probs)))
    }, matrix(0, length(block), width))
    # One number is not a matrix to vapply().
    array(out, c(length(block), width, length(draws)),
      list(NULL, NULL, names(draws))
    )
  })
  names <- dimnames(blocks[[1]])[[3]]
  size <- dim(blocks[[1]])
  out <- array(NA_real_, c(nrow(rows$x), length(names), size[[2]]), list(
    rows$names, names, if (size[[2]] == 3) c("fit", "lwr", "upr")
  ))
  done <- 0L
  at <- which(rows$complete)
  for (block in blocks) {
    n <- dim(block)[[1]]
    out[at[done + seq_len(n)], , ] <- aperm(block, c(1, 3, 2))
    done <- done + n
  }
  if (interval == "none") {
    out <- matrix(out, nrow(out), dimnames = dimnames(out)[1:2])
  }
  structure(out, constant = mean(component_constant(fit, pool)))
}
