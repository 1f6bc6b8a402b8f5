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
