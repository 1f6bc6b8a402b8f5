# The Bayes point: one function instead of all draws, for deployment.

#' The Bayes point of a fit
#'
#' `bayes_point(fit)` is the mean of the posterior's directions. Its classifier is
#' close to the vote of all draws (Herbrich, Graepel and Campbell, 2001) and needs
#' one coefficient per centre instead of the draws: \eqn{f(x) = \sum_j \alpha_j k(x,
#' c_j)}{f(x) = sum_j alpha_j k(x, c_j)}, the kernel's bias included. The centres are
#' training points, standardised as `object` does; a smaller number is chosen
#' greedily, so that the projection of f on their span is closest to f in the
#' kernel's norm.
#' @param object A fit of [kgs()]; for `predict()` a Bayes point.
#' @param centres The largest number of centres, a whole number; `NULL`: all.
#' @param newdata New predictors, as in [predict.kb_kgs()].
#' @param type `"class"` or `"link"`, the function itself.
#' @param ... Not used: unknown arguments are errors.
#' @return `bayes_point()`: a list of class `kb_bayes_point`, plain R data:
#'   `kernel` (with its bias), `points` (the centres, one per row, as the kernel
#'   sees them), `alpha` (coefficients: centres x functions, one function for
#'   two classes), `explained` (share of the squared norm of f that the centres
#'   retain), `scaling`, `levels`, `mould` (how new data are read) and
#'   `version`.
#'
#'   `predict()`: `"class"` a factor with one value per row; `"link"` a vector,
#'   f (with more than two classes a matrix, one column per class). Rows with
#'   missing values give `NA`. `coef()`: `alpha`, as a vector for two classes.
#' @references
#' Herbrich, R., Graepel, T. and Campbell, C. (2001). Bayes point machines.
#' *Journal of Machine Learning Research* 1, 245-279.
#' @examples
#' moons <- sim_moons(80, flips = 0.1, seed = 1)
#' fit <- kgs(y ~ x1 + x2, moons, kernel = kernel_gaussian(0.5), seed = 1)
#' point <- bayes_point(fit, centres = 15)
#' point
#' predict(point, data.frame(x1 = c(0, 1), x2 = 0))
#' mean(predict(point, moons) == predict(fit, type = "bpm"))
#' @export
bayes_point <- function(object, ...) UseMethod("bayes_point")

#' @export
bayes_point.default <- function(object, ...) {
  not_defined("bayes_point", object, "kgs")
}

#' @rdname bayes_point
#' @export
bayes_point.kb_kgs <- function(object, centres = NULL, ...) {
  object <- checked_fit(object, ...)
  basis <- object$settings$basis
  w <- bayes_point_direction(object)
  chosen <- seq_len(nrow(basis$factor))
  if (!is.null(centres)) {
    centres <- check_count(centres, 1)
    if (centres < length(chosen)) {
      chosen <- nearest_centres(basis$factor, w, centres)
    }
  }
  solved <- centre_coefficients(basis$factor, w, chosen)
  sealed(structure(
    list(
      version = fit_version, kernel = basis$kernel,
      points = unname(basis$points[chosen, , drop = FALSE]),
      alpha = solved$alpha, explained = solved$explained,
      scaling = object$settings$scaling, levels = object$mould$levels,
      mould = object$mould
    ),
    class = "kb_bayes_point"
  ))
}

# Coefficients of the projection of w on some rows of the factor
#
# Row j of the factor L is the feature of centre j: the projection is
# L' alpha. With all rows L' alpha = w.
centre_coefficients <- function(factor, w, chosen) {
  if (length(chosen) == nrow(factor)) {
    return(list(alpha = backsolve(t(factor), w), explained = 1))
  }
  root <- qr(t(factor[chosen, , drop = FALSE]), tol = 1e-14)
  list(
    alpha = qr.coef(root, w),
    explained = sum(qr.fitted(root, w)^2) / sum(w^2)
  )
}

#' Orthogonal least squares: the rows whose span is closest to w, chosen
#' greedily
#' @return Row numbers in increasing order.
#' @noRd
nearest_centres <- function(factor, w, n) {
  left <- factor
  size <- rowSums(factor^2)
  chosen <- integer()
  while (length(chosen) < n) {
    norm <- rowSums(left^2)
    gain <- rowSums((left %*% w)^2) / norm
    # The residual of a row in the span is rounding error.
    gain[norm < 1e-10 * size] <- -1
    gain[chosen] <- -1
    best <- which.max(gain)
    if (gain[[best]] <= 0) break
    axis <- left[best, ] / sqrt(norm[[best]])
    w <- w - tcrossprod(axis, crossprod(w, axis))
    left <- left - tcrossprod(left %*% axis, axis)
    chosen <- c(chosen, best)
  }
  sort(chosen)
}

#' @rdname bayes_point
#' @export
predict.kb_bayes_point <- function(object, newdata, type = c("class", "link"),
                                   ...) {
  object <- checked_fit(object, ...)
  type <- check_choice(type, c("class", "link"))
  if (missing(newdata)) {
    kb_abort(c(
      "{.arg newdata} must be given.",
      i = "A Bayes point keeps only its centres, not the training rows."
    ), "argument", argument = "newdata")
  }
  rows <- prediction_rows(object, newdata, NULL, FALSE, FALSE)
  f <- centre_function(object, rows$x[rows$complete, , drop = FALSE])
  out <- if (type == "class") most_probable(f, object$levels) else drop_one(f)
  name_rows(spread_rows(out, rows$complete), rows$names)
}

# f at points in their own units, n x functions
centre_function <- function(point, x) {
  x <- scaling_x(point$scaling, x)
  out <- matrix(0, nrow(x), ncol(point$alpha))
  for (rows in row_blocks(x, nrow(point$points))) {
    out[rows, ] <- kernel_evaluate(
      point$kernel, x[rows, , drop = FALSE], point$points
    ) %*% point$alpha
  }
  if (ncol(out) > 1) colnames(out) <- point$levels
  out
}

#' @rdname bayes_point
#' @export
coef.kb_bayes_point <- function(object, ...) {
  object <- checked_fit(object, ...)
  alpha <- object$alpha
  if (ncol(alpha) > 1) colnames(alpha) <- object$levels
  drop_one(alpha)
}

#' @export
print.kb_bayes_point <- function(x, digits = 3, ...) {
  x <- checked_fit(x, ...)
  cat(
    "Bayes point of ", counted(nrow(x$points), "centre"), "\n",
    "  classes:   ", shorten(toString(x$levels)), "\n",
    "  kernel:    ", shorten(format(x$kernel)), "\n",
    if (x$explained < 1) {
      paste0(
        "  explained: ", format(100 * x$explained, digits = digits),
        "% of the squared norm\n"
      )
    },
    sep = ""
  )
  invisible(x)
}

# Transduction: joint labels of a working set.

#' Label a working set jointly
#'
#' `transduce(fit, newdata)` draws the true classes of a set of new points from their
#' joint posterior, and derives labels: for each point by majority vote, and for the
#' set as a whole. The part of f at the new points that the training points do not
#' determine is drawn jointly, once per posterior draw, under the fit's seed. Similar
#' points have the same label in most draws, even if that label is uncertain. With a
#' nugget each point has its own term. With N points time is O(N^3 + S N^2) and
#' memory O(N (N + S)), where S is the number of draws.
#' @param fit A fit of [kgs()].
#' @param newdata The working set: predictors in the form given to the fit. Rows
#'   with missing values give `NA`.
#' @param ndraws The number of draws S, evenly spaced; by default all kept
#'   draws.
#' @param ... Not used: unknown arguments are errors.
#' @return A list of class `kb_transduction`, with N the rows of `newdata`:
#' * `class`: a factor of length N, the majority vote for each point;
#' * `probability`: the shares of the votes, N x C with the levels as names;
#'   they estimate [`predict(type = "true_prob")`][predict.kb_kgs];
#' * `labels`: the draws, an integer matrix S x N of numbers of `levels`;
#' * `most_probable`: a factor of length N, the most frequent joint labelling
#'   among the draws; of equal ones the most central;
#' * `frequency`: its share of the draws;
#' * `levels`.
#' @references
#' Graepel, T., Herbrich, R. and Obermayer, K. (2000). Bayesian transduction.
#' *Advances in Neural Information Processing Systems* 12, 456-462.
#' @examples
#' moons <- sim_moons(80, flips = 0.1, seed = 1)
#' fit <- kgs(y ~ x1 + x2, moons, kernel = kernel_gaussian(0.5), seed = 1)
#' new <- sim_moons(10, seed = 2)
#' out <- transduce(fit, new)
#' out
#' # How often do two points have the same label?
#' mean(out$labels[, 1] == out$labels[, 2])
#' @export
transduce <- function(fit, ...) UseMethod("transduce")

#' @export
transduce.default <- function(fit, ...) not_defined("transduce", fit)

#' @rdname transduce
#' @export
transduce.kb_kgs <- function(fit, newdata, ndraws = NULL, ...) {
  fit <- checked_fit(fit, ...)
  if (missing(newdata)) {
    kb_abort("{.arg newdata} must be given: the points to label.", "argument",
      argument = "newdata"
    )
  }
  rows <- mould_forge(fit$mould, newdata)
  pool <- posterior_pool(fit)
  chosen <- equal_weight_draws(fit, pool, check_ndraws(ndraws))
  x <- rows$x[rows$complete, , drop = FALSE]
  votes <- joint_votes(fit, x, pool, chosen)
  new_transduction(votes, rows$complete, fit$mould$levels)
}

#' @param votes Numbers of classes, complete points x draws.
#' @noRd
new_transduction <- function(votes, complete, levels) {
  share <- vote_shares(votes, levels)
  central <- central_labelling(votes, share)
  put <- function(out) spread_rows(out, complete)
  structure(
    list(
      class = put(most_probable(share, levels)), probability = put(share),
      labels = t(put(votes)),
      most_probable = put(factor(levels[votes[, central$draw]], levels)),
      frequency = central$frequency, levels = levels
    ),
    class = "kb_transduction"
  )
}

vote_shares <- function(votes, levels) {
  share <- vapply(seq_along(levels), function(c) rowMeans(votes == c),
    numeric(nrow(votes))
  )
  matrix(share, nrow(votes), length(levels), dimnames = list(NULL, levels))
}

#' The most frequent of the draws; ties are broken by the distance to all draws
#'
#' The shares of the votes determine the sum of Hamming distances from a
#' labelling to all draws.
#' @return List: `draw`, its number, and `frequency`.
#' @noRd
central_labelling <- function(votes, share) {
  key <- vapply(seq_len(ncol(votes)), function(draw) {
    paste(votes[, draw], collapse = " ")
  }, "")
  kind <- match(key, key)
  count <- tabulate(kind, length(kind))[kind]
  at <- cbind(as.integer(row(votes)), as.integer(votes))
  agreement <- colSums(matrix(share[at], nrow(votes), ncol(votes)))
  agreement[count < max(count)] <- -Inf
  list(draw = which.max(agreement), frequency = max(count) / length(count))
}

#' @export
print.kb_transduction <- function(x, digits = 3, ...) {
  check_no_dots(...)
  show <- function(v) format(v, digits = digits)
  counts <- table(x$class)
  sure <- apply(x$probability, 1, max)
  cat(
    "Joint labels of ", counted(length(x$class), "point"), ", ",
    counted(nrow(x$labels), "draw"), "\n",
    "  classes:      ", shorten(paste0(
      names(counts), " (", as.vector(counts), ")",
      collapse = ", "
    )), "\n",
    if (any(!is.na(sure))) {
      paste0(
        "  vote:         ", show(min(sure, na.rm = TRUE)), " to ",
        show(max(sure, na.rm = TRUE)), " for the majority's\n",
        "  labellings:   ", nrow(unique(x$labels)),
        ", the most probable with a share of ", show(x$frequency), "\n"
      )
    },
    sep = ""
  )
  invisible(x)
}

# Joint draws ------------------------------------------------------------------

# Numbers of classes, points x draws
joint_votes <- function(fit, x, pool, chosen) UseMethod("joint_votes")

#' @export
joint_votes.kb_kgs <- function(fit, x, pool, chosen) {
  largest_function(add_nugget(fit, joint_function(fit, x, pool, chosen)))
}

#' Functions at points, jointly and without nugget: draws for directions times
#' chi lengths
#' @param chosen Numbers of the draws.
#' @return Array n x S x functions.
#' @noRd
joint_function <- function(fit, x, pool, chosen, complement = TRUE) {
  features <- kgs_features(fit, x)
  f <- kgs_function(fit, features, pool, chosen)
  if (!complement) {
    return(f)
  }
  size <- dim(f)
  root <- complement_root(fit, x, features)
  with_local_seed(fit$seed, {
    length <- sqrt(stats::rchisq(size[[2]], kgs_dimension(fit)))
    normal <- stats::rnorm(ncol(root) * prod(size[-1]))
    rest <- root %*% matrix(normal, ncol(root), prod(size[-1]))
    f * rep(length, each = size[[1]]) + as.double(rest)
  })
}

# Each point's own term
add_nugget <- function(fit, f) {
  nugget <- fit$settings$nugget
  if (nugget == 0) {
    return(f)
  }
  with_local_seed(next_seed(fit$seed), {
    f + sqrt(nugget) * stats::rnorm(length(f))
  })
}

# A square root of the covariance of f given training points, without nugget: n
# x its rank
complement_root <- function(fit, x, features) {
  settings <- fit$settings
  kernel <- settings$basis$kernel
  known <- if (is.null(settings$explained)) {
    tcrossprod(features)
  } else {
    features %*% tcrossprod(settings$explained, features)
  }
  gram <- kernel_evaluate(kernel, scaling_x(settings$scaling, x))
  left <- gram - known
  # The remainder of a training point is rounding error.
  open <- which(diag(left) >= 1e-8 * diag(gram) & diag(left) > 0)
  if (length(open) == 0) {
    return(matrix(0, nrow(x), 0))
  }
  left <- left[open, open, drop = FALSE]
  factor <- suppressWarnings(
    chol(left, pivot = TRUE, tol = 1e-8 * max(diag(left)))
  )
  rank <- attr(factor, "rank")
  root <- matrix(0, nrow(x), rank)
  place <- open[attr(factor, "pivot")]
  root[place, ] <- t(factor[seq_len(rank), , drop = FALSE])
  root
}

# The number of the class whose function is largest, n x S; for two classes the
# second if the function is positive
largest_function <- function(f) {
  size <- dim(f)
  best <- if (size[[3]] == 1) {
    1L + (f > 0)
  } else {
    max.col(matrix(f, ncol = size[[3]]), ties.method = "first")
  }
  matrix(best, size[[1]], size[[2]])
}
