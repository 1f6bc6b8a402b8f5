#' Pivoted incomplete Cholesky factor of a kernel matrix
#'
#' G ~ R R'. Only the columns of the pivots are evaluated, except for custom
#' kernels, which need all of G. Ties between residuals are broken by the data,
#' so permuted points give the permuted result.
#' @param kernel A kernel.
#' @param x Points, n x d.
#' @param rank The largest rank; NULL for n.
#' @param tol Stop when the trace of G - R R' is at most `tol` times that of G.
#' @return A list: `pivots` (row indices in order of choice), `factor` (R,
#'   n x rank), `residual` (trace of G - R R'), `trace` (of G), and `kernel`
#'   (resolved) and `points` (x at the pivots) for new points.
#' @noRd
incomplete_cholesky <- function(kernel, x, rank = NULL, tol = 1e-8) {
  kernel <- check_kernel(kernel)
  x <- check_points(x)
  check_kernel_dimension(kernel, ncol(x))
  rank <- largest_rank(rank, nrow(x))
  tol <- check_number(tol, lower = 0, upper = 1)
  kernel <- kernel_resolve(kernel, x)
  check_memory(
    as.double(nrow(x)) * min(rank, nrow(x)), "The features",
    "Use a smaller {.arg rank}."
  )
  source <- kernel
  if (!kernel_is_builtin(kernel)) {
    source <- kernel_evaluate(kernel, x)
    check_diagonal(source, "kernel")
  }
  result <- core_value(incomplete_cholesky_cpp(source, x, rank, tol))
  c(result, list(kernel = kernel, points = x[result$pivots, , drop = FALSE]))
}

#' The same for a Gram matrix
#' @param gram G: n x n, symmetric, positive semidefinite.
#' @param x The points it belongs to, or something else that distinguishes them,
#'   to break ties; without them the largest row sum goes first, and remaining
#'   ties are broken by index.
#' @param rank,tol As in `incomplete_cholesky()`.
#' @return As `incomplete_cholesky()`, `kernel` and `points` NULL.
#' @noRd
incomplete_cholesky_gram <- function(gram, x = NULL, rank = NULL, tol = 1e-8) {
  gram <- check_gram(gram)
  if (!is.null(x)) x <- check_gram_points(x, nrow(gram))
  rank <- largest_rank(rank, nrow(gram))
  tol <- check_number(tol, lower = 0, upper = 1)
  result <- core_value(incomplete_cholesky_cpp(gram, x, rank, tol))
  c(result, list(kernel = NULL, points = NULL))
}

#' Features of new points, phi(z) = L^-1 k(pivots, z), in rows
#' @param ic From `incomplete_cholesky()` or `incomplete_cholesky_gram()`.
#' @param z Points; for a Gram matrix their kernel values with all n points of
#'   the sample, one column per point.
#' @noRd
incomplete_cholesky_features <- function(ic, z) {
  z <- check_points(z)
  if (is.null(ic$kernel)) {
    return(features_from_values(ic, pivot_values(ic, z)))
  }
  check_same_columns(ic$points, z)
  if (!kernel_is_builtin(ic$kernel)) {
    values <- kernel_evaluate(ic$kernel, z, ic$points)
    return(features_from_values(ic, values))
  }
  incomplete_cholesky_features_cpp(ic$kernel, ic$points, pivot_factor(ic), z)
}

pivot_factor <- function(ic) {
  ic$factor[ic$pivots, , drop = FALSE]
}

# Columns of the pivots of kernel values with the whole sample
pivot_values <- function(ic, z) {
  n <- nrow(ic$factor)
  if (ncol(z) != n) {
    kb_abort(c(
      "Kernel values of new points must have {n} columns, one per point of the
       sample.",
      x = "They have {ncol(z)}."
    ), "dimension")
  }
  z[, ic$pivots, drop = FALSE]
}

# L^-1 of kernel values with the pivots
features_from_values <- function(ic, values) {
  if (length(ic$pivots) == 0) {
    return(matrix(0, nrow(values), 0))
  }
  t(forwardsolve(pivot_factor(ic), t(unname(values))))
}

# (gram + ridge I)^-1 moments: coefficients along features
ridge_coefficients <- function(gram, moments, ridge) {
  tryCatch(
    ridge_coefficients_cpp(gram, moments, ridge),
    "C++Error" = function(error) {
      kb_abort(c(
        "The equations of the features cannot be solved.",
        x = "{conditionMessage(error)}.",
        i = "Use a larger {.arg eps}."
      ), "singular", parent = error)
    }
  )
}

# Checks ---------------------------------------------------------------------

largest_rank <- function(rank, n) {
  if (is.null(rank)) n else check_count(rank, 1, arg = "rank")
}

# A Gram matrix: square, finite, symmetric, without negative diagonal elements
#
# That it is positive semidefinite is not checked.
check_gram <- function(gram, arg = rlang::caller_arg(gram)) {
  gram <- check_points(gram, arg = arg)
  if (nrow(gram) != ncol(gram)) {
    kb_abort(c(
      "{.arg {arg}} must be square.",
      x = "It is {nrow(gram)} x {ncol(gram)}."
    ), "dimension", argument = arg)
  }
  gap <- max(vapply(row_blocks(gram, nrow(gram)), function(rows) {
    max(abs(gram[rows, , drop = FALSE] - t(gram[, rows, drop = FALSE])))
  }, 0))
  if (gap > 1e-8 * max(abs(gram))) {
    kb_abort(c(
      "{.arg {arg}} must be symmetric.",
      x = "Entries that should agree differ by up to {signif(gap, 3)}."
    ), "not_symmetric", argument = arg)
  }
  check_diagonal(gram, arg)
  gram
}

#' @param arg The argument that the matrix is or comes from.
#' @noRd
check_diagonal <- function(gram, arg) {
  least <- min(diag(gram), Inf)
  if (least < 0) {
    kb_abort(c(
      "{.arg {arg}} must be positive semidefinite.",
      x = "The smallest value on the diagonal is {signif(least, 3)}."
    ), "not_positive", argument = arg)
  }
}

check_gram_points <- function(x, n) {
  x <- check_points(x, arg = "x")
  if (nrow(x) != n) {
    kb_abort(c(
      "{.arg x} must have a row for each row of the Gram matrix.",
      x = "They have {nrow(x)} and {n}."
    ), "dimension", argument = "x")
  }
  x
}

# Kernel ridge regression with predictions of rows from the other stretches of a
# series: what the adjusted kbr_hmm() learns from. Neighbours in time are alike:
# leaving out one row at a time would choose kernels that only interpolate.

# Relative to the trace of the features' Gram matrix
fold_ridges <- 10^(-9:0)

# The size of the linear features next to those of a kernel with k(x, x) = 1
linear_share <- 0.3

#' Regression of targets on points, with the kernel that loses least
#'
#' Candidates are linear regression and linear regression plus each kernel.
#' @param x Points, n x p, columns of unit size; `t` targets, n x d.
#' @param fold The stretch of each row, 1, 2, ..., or a factor where some may
#'   have no rows.
#' @param kernels List of kernels, may be empty; `rank` their largest rank.
#' @param most Largest rank of the chosen kernel, if `rank` is too small for it.
#' @param unknown With how many pivots to learn how little is known at points.
#' @return List of `kernel` (or NULL), `points` (its r `pivots`), `sets` of
#'   coefficients, of all rows and without each fold (lists of `along`, r x d,
#'   `slope`, p x d, and `intercept`, d), `left_out` (n x d) and `loss`, mean
#'   squares of left-out residuals.
#' @noRd
fold_regression <- function(x, t, fold, kernels, rank, most = rank,
                            unknown = 0) {
  unit <- pmax(column_moments(t)$scale^2, 1e-300)
  best <- NULL
  for (kernel in c(list(NULL), kernels)) {
    basis <- if (!is.null(kernel)) incomplete_cholesky(kernel, x, rank, 1e-5)
    found <- fold_ridge(cbind(basis$factor, linear_share * x), t, fold)
    found$score <- mean(found$loss / unit)
    if (is.null(best) || found$score < best$score) {
      best <- c(found, list(basis = basis))
    }
  }
  best <- if (rank < most && length(best$basis$pivots) == rank) {
    more_pivots(best, x, t, fold, unit, most)
  } else {
    fewer_pivots(best, x, t, fold, unit)
  }
  out <- at_pivots(best, ncol(x))
  if (unknown > 0 && !is.null(best$basis)) {
    basis <- first_pivots(best$basis, min(length(best$basis$pivots), unknown))
    out$unknown <- learn_unknown(basis, best$ridge, fold)
  }
  out
}

# Half the pivots, and so on, while that loses at most a hundredth: predictions
# cost less
fewer_pivots <- function(best, x, t, fold, unit) {
  least <- 1.01 * best$score
  repeat {
    r <- length(best$basis$pivots) %/% 2
    if (r < 10) {
      return(best)
    }
    basis <- first_pivots(best$basis, r)
    found <- fold_ridge(cbind(basis$factor, linear_share * x), t, fold)
    found$score <- mean(found$loss / unit)
    if (found$score > least) {
      return(best)
    }
    best <- c(found, list(basis = basis))
  }
}

# Twice the pivots, and so on, while that gains a twentieth. Ridges shrink then.
more_pivots <- function(best, x, t, fold, unit, most) {
  repeat {
    r <- min(2 * length(best$basis$pivots), most)
    basis <- incomplete_cholesky(best$basis$kernel, x, r, 1e-5)
    near <- log10(range(best$shares))
    found <- fold_ridge(
      cbind(basis$factor, linear_share * x), t, fold,
      fold_ridges[fold_ridges >= 0.99 * 10^(near[[1]] - 2) &
        fold_ridges <= 1.01 * 10^near[[2]]]
    )
    found$score <- mean(found$loss / unit)
    if (found$score > 0.95 * best$score) {
      return(best)
    }
    best <- c(found, list(basis = basis))
    if (length(basis$pivots) < r || r == most) {
      return(best)
    }
  }
}

first_pivots <- function(basis, r) {
  first <- seq_len(r)
  list(
    factor = basis$factor[, first, drop = FALSE], pivots = basis$pivots[first],
    points = basis$points[first, , drop = FALSE], kernel = basis$kernel
  )
}

#' @param f Features, n x q; `shares` ridges, relative to their Gram matrix's
#'   trace.
#' @return List of `left_out`, `loss`, `coefficients` (a list of q x d matrices:
#'   of all rows, then without each fold) and the centres, which are those of
#'   all rows.
#' @noRd
fold_ridge <- function(f, t, fold, shares = fold_ridges) {
  centers <- list(f = colMeans(f), t = colMeans(t))
  f <- minus_each(f, centers$f)
  t <- minus_each(t, centers$t)
  gram <- crossprod_cpp(f)
  moments <- crossprod_cpp(f, t)
  ridges <- sum(diag(gram)) * shares + .Machine$double.xmin
  left <- array(0, c(nrow(f), ncol(t), length(ridges)))
  equations <- list(list(gram = gram, moments = moments))
  for (out in fold_rows(fold)) {
    some <- f[out, , drop = FALSE]
    without <- list(
      gram = gram - crossprod_cpp(some),
      moments = moments - crossprod(some, t[out, , drop = FALSE])
    )
    for (l in seq_along(ridges)) {
      left[out, , l] <- some %*% ridge_solution(without, ridges[[l]])
    }
    equations <- c(equations, list(without))
  }
  losses <- apply((left - as.vector(t))^2, 2:3, mean)
  best <- apply(losses, 1, which.min)
  columns <- seq_along(best)
  left <- vapply(columns, function(j) left[, j, best[[j]]], numeric(nrow(f)))
  list(
    left_out = minus_each(matrix(left, nrow(f)), -centers$t),
    loss = losses[cbind(columns, best)],
    coefficients = lapply(equations, ridge_solution, ridges[best]),
    ridge = exp(mean(log(ridges[best]))), shares = shares[best],
    centers = centers
  )
}

# With one ridge, or one for each target
ridge_solution <- function(equations, ridges) {
  out <- equations$moments
  for (ridge in unique(ridges)) {
    which <- if (length(ridges) == 1) TRUE else ridges == ridge
    out[, which] <- ridge_coefficients(
      equations$gram, equations$moments[, which, drop = FALSE], ridge
    )
  }
  out
}

minus_each <- function(x, center) x - rep(center, each = nrow(x))

# Coefficients of kernel values at the pivots instead of features, so that a
# prediction needs no triangular system
at_pivots <- function(found, p) {
  basis <- found$basis
  r <- length(basis$pivots)
  sets <- lapply(found$coefficients, function(b) {
    along <- if (r > 0) {
      backsolve(t(pivot_factor(basis)), b[seq_len(r), , drop = FALSE])
    } else {
      matrix(0, 0, ncol(b))
    }
    list(
      along = along, slope = linear_share * b[r + seq_len(p), , drop = FALSE],
      intercept = found$centers$t - as.vector(found$centers$f %*% b)
    )
  })
  list(
    kernel = basis$kernel, points = basis$points, pivots = basis$pivots,
    sets = sets, left_out = found$left_out, loss = found$loss
  )
}

#' How little the rows tell about a function elsewhere: the relative variance of
#' a Gaussian process with features of these pivots, 1 - k' B k / k(x, x), (K57)
#' @return List of matrices B: of all rows, then without each fold.
#' @noRd
learn_unknown <- function(basis, ridge, fold) {
  f <- basis$factor
  root <- t(pivot_factor(basis))
  gram <- crossprod_cpp(f)
  part <- function(rows) {
    if (length(rows) > 0) {
      gram <- gram - crossprod_cpp(f[rows, , drop = FALSE])
    }
    share <- ridge_coefficients(gram, gram, ridge)
    backsolve(root, t(backsolve(root, t(share))))
  }
  c(list(part(NULL)), lapply(fold_rows(fold), part))
}

# Rows of each stretch, none of those that a factor's levels name alone
fold_rows <- function(fold) unname(split(seq_along(fold), fold))

#' Predictions at points, and how little is known there
#' @param fold 0, or the stretch that is left out.
#' @return List of `mean` (rows of `x` x d) and `unknown`, from 0 to 1; 1 with a
#'   linear regression.
#' @noRd
fold_at <- function(model, x, fold = 0) {
  values <- if (!is.null(model$kernel)) fold_values(model, x)
  list(
    mean = fold_mean(model, x, values, fold),
    unknown = fold_unknown(model, x, fold, values)
  )
}

fold_predict <- function(model, x, fold = 0) {
  fold_mean(model, x, if (!is.null(model$kernel)) fold_values(model, x), fold)
}

fold_mean <- function(model, x, values, fold) {
  set <- model$sets[[fold + 1]]
  out <- x %*% set$slope + rep(set$intercept, each = nrow(x))
  if (is.null(values)) out else out + values %*% set$along
}

# `fold` may also be the stretch of each row.
fold_unknown <- function(model, x, fold, values = fold_values(model, x)) {
  if (is.null(model$unknown)) {
    return(rep(1, nrow(x)))
  }
  values <- values[, seq_len(nrow(model$unknown[[1]])), drop = FALSE]
  out <- numeric(nrow(x))
  for (k in unique(fold)) {
    rows <- if (length(fold) == 1) TRUE else fold == k
    v <- values[rows, , drop = FALSE]
    out[rows] <- rowSums((v %*% model$unknown[[k + 1]]) * v)
  }
  whole <- pmax(kernel_self(model$kernel, x), .Machine$double.xmin)
  pmin(pmax(1 - out / whole, 1e-6), 1)
}

# Of the kernel, with the pivots
fold_values <- function(model, x) {
  if (kernel_is_builtin(model$kernel)) {
    kernel_matrix_cpp(model$kernel, x, model$points)
  } else {
    kernel_evaluate(model$kernel, x, model$points)
  }
}

# Without what only learning needs
fold_trim <- function(model) {
  model$sets <- model$sets[1]
  model$unknown <- model$unknown[1]
  model[c("left_out", "pivots")] <- NULL
  model
}

# Kernels of several widths, in medians of the points' distances
kernels_of_widths <- function(x, widths) {
  lapply(widths * bandwidth_median(x), kernel_matern, nu = 5 / 2)
}

# Kernel ridge regression of features of the states on transformed
# observations, with its gradients: one stage of kdr().

#' Features of the states: centred, the leading principal ones
#' @return Matrix n x q.
#' @noRd
kdr_targets <- function(kernel, x, rank, most = 50) {
  found <- kdr_features(kernel, x, rank)
  centred <- sweep(found$factor, 2, colMeans(found$factor))
  axes <- eigen(crossprod_cpp(centred), symmetric = TRUE)$vectors
  centred %*% axes[, seq_len(min(most, ncol(axes))), drop = FALSE]
}

kdr_features <- function(kernel, x, rank) {
  incomplete_cholesky(kernel, x, min(rank, nrow(x)), 1e-7)
}

#' Ridge regression of the targets on features of z
#' @param eps A number, or NULL for generalised cross-validation, (K36).
#' @return List of `features` (without its factor), `coefficients` (r x q, of
#'   the features), `eps` and `error`, the score of (K36) relative to the
#'   targets' mean square.
#' @noRd
kdr_ridge <- function(z, targets, kernel, rank, eps) {
  n <- nrow(z)
  features <- kdr_features(kernel, z, rank)
  spectrum <- ridge_spectrum(features$factor, targets)
  grid <- if (is.null(eps)) ridge_grid else eps
  scores <- ridge_scores(spectrum, sum(targets^2), n, grid)
  best <- which.min(scores)
  features$factor <- features$factor[features$pivots, , drop = FALSE]
  features$pivots <- seq_along(features$pivots)
  shrink <- 1 / (spectrum$lambda + n * grid[[best]])
  list(
    features = features, eps = grid[[best]], error = scores[[best]],
    coefficients = spectrum$vectors %*% (shrink * spectrum$moments)
  )
}

ridge_grid <- 10^seq(-7, 0, by = 0.5)

# R'R = Q diag(lambda) Q' and Q'R'T
ridge_spectrum <- function(factor, targets) {
  found <- eigen(crossprod_cpp(factor), symmetric = TRUE)
  moments <- crossprod_cpp(factor, targets)
  list(
    vectors = found$vectors, lambda = pmax(found$values, 0),
    moments = crossprod(found$vectors, moments)
  )
}

ridge_scores <- function(spectrum, total, n, grid) {
  moments <- rowSums(spectrum$moments^2)
  vapply(grid, function(eps) {
    gcv_score(spectrum$lambda, moments, total, n, n * eps)
  }, 0)
}

# (K36), relative to the mean square of the targets. Effective parameters count
# 1.4 times: otherwise a few rows far from the others may be interpolated.
gcv_score <- function(lambda, moments, total, n, ridge) {
  s <- 1 / (lambda + ridge)
  residual <- total - sum((2 * s - s^2 * lambda) * moments)
  free <- n - 1.4 * sum(s * lambda)
  # States that are all equal have no error.
  if (free > 0) residual * n^2 / (max(total, 1e-300) * free^2) else Inf
}

kdr_predict <- function(fit, z) {
  incomplete_cholesky_features(fit$features, z) %*% fit$coefficients
}

# M, the mean over the rows of z of gradients times themselves, (K35)
#
# Targets are rotated first; those that are nearly constant are left out.
gradient_moment <- function(fit, z, share = 1 - 1e-4) {
  basis <- svd(fit$coefficients, nv = 0)
  kept <- seq_len(min(share_count(basis$d^2, share), length(basis$d)))
  scaled <- sweep(basis$u[, kept, drop = FALSE], 2, basis$d[kept], "*")
  slopes <- backsolve(t(fit$features$factor), scaled)
  points <- fit$features$points
  terms <- kernel_slopes(fit$features$kernel, z, points)
  moment <- matrix(0, ncol(z), ncol(z))
  terms <- lapply(terms, function(term) {
    c(term, list(across = t(term$weight), level = term$weight %*% slopes))
  })
  for (l in kept) {
    gradient <- matrix(0, nrow(z), ncol(z))
    for (term in terms) {
      gradient <- gradient + term_gradient(term, slopes[, l], l, points, z)
    }
    moment <- moment + crossprod_cpp(gradient)
  }
  moment / nrow(z)
}

# The gradients, n x d, of the function sum_p slope[p] k(z_p, .), one term
term_gradient <- function(term, slope, l, points, z) {
  from <- crossprod_cpp(term$across, slope * points)
  sweep(from, 2, term$from, "*") - sweep(z * term$level[, l], 2, term$to, "*")
}

# Scaling of columns for kdr(): monotone maps, learned once.

#' @param scale `"normal"`, `"median"`, `"sd"` or `"none"`.
#' @return List of `scale` and, for `"normal"`, `knots`, a list with `at` and
#'   `score` for each column; otherwise `center` and `unit`.
#' @noRd
kdr_scaling <- function(y, scale) {
  columns <- seq_len(ncol(y))
  if (scale == "normal") {
    return(list(
      scale = scale, knots = lapply(columns, function(j) score_knots(y[, j]))
    ))
  }
  moments <- switch(scale,
    none = list(center = rep(0, ncol(y)), scale = rep(1, ncol(y))),
    column_moments(y)
  )
  if (scale == "median") {
    spread <- apply(y, 2, stats::mad)
    moments$center <- apply(y, 2, stats::median)
    moments$scale <- ifelse(spread > 0, spread, moments$scale)
  }
  list(scale = scale, center = unname(moments$center), unit = moments$scale)
}

# Normal scores at up to 200 of the distinct values; ties share their mean rank
score_knots <- function(v, most = 200) {
  at <- sort(unique(v))
  rank <- cumsum(tabulate(match(v, at), length(at)))
  middle <- (c(0, rank[-length(at)]) + rank) / 2
  kept <- unique(round(seq(1, length(at), length.out = most)))
  list(at = at[kept], score = stats::qnorm(middle[kept] / length(v)))
}

kdr_scaled <- function(scaling, y) {
  if (scaling$scale == "normal") {
    out <- vapply(seq_len(ncol(y)), function(j) {
      normal_score(scaling$knots[[j]], y[, j])
    }, numeric(nrow(y)))
    return(matrix(out, nrow(y)))
  }
  out <- sweep(sweep(unname(y), 2, scaling$center), 2, scaling$unit, "/")
  if (scaling$scale == "median") out <- pmin(pmax(out, -3), 3)
  out
}

# Beyond the data the score is that of the last value
normal_score <- function(knots, v) {
  if (length(knots$at) == 1) {
    return(rep(0, length(v)))
  }
  stats::approx(knots$at, knots$score, v, rule = 2)$y
}

unexplained <- function(features) {
  if (features$trace == 0) 0 else features$residual / features$trace
}
