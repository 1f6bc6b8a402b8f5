# Exact answers of srvm() with bandwidths that are learned.

# Log density of inverse bandwidths: half-t with 4 degrees of freedom
log_prior_inverse <- function(w, scale) {
  log(2) + stats::dt(w / scale, 4, log = TRUE) - log(scale)
}

#' Exact answers by enumeration of all sets and quadrature over the bandwidths, for
#' known variances
#' @param grid Data frame of log inverse bandwidths, equally spaced.
#' @param new Points that may be centres too, a matrix.
#' @param linear Scale of the linear part, 0 for none.
#' @return Log evidence, the means of k, of f at `at` and of the log inverse
#'   bandwidths.
#' @noRd
exact_scales <- function(x, y, grid, step, at, noise, coef, lambda, scale,
                         new = NULL, linear = 0) {
  n <- nrow(x)
  rows <- x
  always <- function(x) {
    cbind(1, if (linear > 0) linear * sweep(x, 2, colMeans(rows)))
  }
  centres <- rbind(x, new)
  m <- nrow(centres)
  sets <- lapply(0:(2^m - 1), function(i) which(bitwAnd(i, 2^(0:(m - 1))) > 0))
  k <- lengths(sets)
  log_p <- stats::dpois(k, lambda, log = TRUE) -
    log(stats::ppois(m, lambda)) - lchoose(m, k)
  kernel <- function(a, b, w) {
    d <- 0
    for (l in seq_along(w)) d <- d + w[[l]]^2 * outer(a[, l], b[, l], `-`)^2
    exp(-d / 2)
  }
  all <- lapply(seq_len(nrow(grid)), function(g) {
    w <- exp(unlist(grid[g, ]))
    gram <- kernel(x, centres, w)
    there <- kernel(at, centres, w)
    each <- vapply(sets, function(s) {
      design <- cbind(always(x), gram[, s, drop = FALSE])
      v <- noise * diag(n) + coef * tcrossprod(design)
      root <- chol(v)
      z <- backsolve(root, y, transpose = TRUE)
      here <- coef * cbind(always(at), there[, s, drop = FALSE]) %*% t(design)
      c(
        -sum(log(diag(root))) - sum(z^2) / 2 - n / 2 * log(2 * pi),
        here %*% backsolve(root, z)
      )
    }, numeric(1 + nrow(at)))
    log_joint <- each[1, ] + log_p +
      sum(log_prior_inverse(w, scale) + log(w)) + ncol(x) * log(step)
    list(log_joint = log_joint, f = each[-1, , drop = FALSE])
  })
  log_joint <- unlist(lapply(all, `[[`, "log_joint"))
  most <- max(log_joint)
  p <- exp(log_joint - most)
  log_z <- most + log(sum(p))
  p <- matrix(p / sum(p), length(sets))
  f <- Reduce(`+`, lapply(seq_along(all), function(g) all[[g]]$f %*% p[, g]))
  c(
    log_z = log_z, k = sum(k * rowSums(p)), f = f,
    colSums(colSums(p) * as.matrix(grid))
  )
}

scale_cases <- function() {
  x <- cbind(a = c(0.3, -1.7, 2.1, -0.4, 1.2), b = c(0.5, 0.2, -1, 1.4, -0.6))
  list(
    x = x, y = c(1.1, 0.2, -0.6, 0.9, 0.3), at = cbind(a = c(0, 1.5), b = c(1, -0.5)),
    noise = 0.15, coef = 0.7, lambda = 1.5
  )
}

quick_scales <- function(case, columns, ...) {
  srvm(case$x[, columns, drop = FALSE], case$y,
    kernel = kernel_gaussian("ard"), scale = FALSE,
    prior = srvm_prior(
      lambda = case$lambda, noise = fixed_variance(case$noise), coef = fixed_variance(case$coef),
      ard = 1.5, linear = 2
    ), ...
  ) |> suppressWarnings(classes = c("kb_warning_offset", "kb_warning_convergence"))
}

#' For p predictors, at the points of the case or, where it may be a centre too, at
#' the first of them alone
exact_answers <- local({
  known <- list()
  function(p, joined = FALSE) {
    key <- paste(p, joined)
    if (is.null(known[[key]])) {
      case <- scale_cases()
      x <- case$x[, seq_len(p), drop = FALSE]
      step <- c(0.05, 0.3)[[p]]
      one <- seq(-8, 5, by = step)
      grid <- expand.grid(rep(list(one), p))
      at <- case$at[if (joined) 1 else 1:2, seq_len(p), drop = FALSE]
      known[[key]] <<- exact_scales(x, case$y, grid, step, at,
        case$noise, case$coef, case$lambda, 1.5 / bandwidth_median(x),
        new = if (joined) at, linear = 2 / bandwidth_median(x)
      )
    }
    known[[key]]
  }
})

#' Draws of f scatter around the moments given each particle
#'
#' Null: standardised they are standard normal.
#' @noRd
expect_draws_of <- function(moments, fit, x, pool) {
  draws <- srvm_draws(fit, x, pool, seq_along(pool$k))
  expect_equal(srvm_draws(fit, x, pool, c(7, 3, 7)), draws[c(7, 3, 7), ])
  centred <- (t(draws) - fit$settings$scaling$y_center) /
    fit$settings$scaling$y_scale
  z <- (centred - moments$mean) / sqrt(moments$variance)
  expect_lt(abs(mean(z)), 4.5 / sqrt(length(pool$k)))
  expect_lt(abs(mean(z^2) - 1), 0.4)
}
