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
