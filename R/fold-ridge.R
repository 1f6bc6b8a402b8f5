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
  gram <- features_gram_cpp(f, NULL)
  moments <- features_cross_cpp(f, t, rep(1, nrow(f)))
  ridges <- sum(diag(gram)) * shares + .Machine$double.xmin
  left <- array(0, c(nrow(f), ncol(t), length(ridges)))
  equations <- list(list(gram = gram, moments = moments))
  for (out in fold_rows(fold)) {
    some <- f[out, , drop = FALSE]
    without <- list(
      gram = gram - features_gram_cpp(some, NULL),
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
  gram <- features_gram_cpp(f, NULL)
  part <- function(rows) {
    if (length(rows) > 0) {
      gram <- gram - features_gram_cpp(f[rows, , drop = FALSE], NULL)
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
