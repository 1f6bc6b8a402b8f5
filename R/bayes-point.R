# The Bayes point: one function instead of all draws, for deployment.

#' The Bayes point of a fit
#'
#' The Bayes point is the mean of the posterior's directions. Its classifier is
#' close to the vote of all draws (Herbrich, Graepel and Campbell, 2001) and
#' needs one coefficient per centre instead of the draws.
#'
#' \eqn{f(x) = \sum_j \alpha_j k(x, c_j)}{f(x) = sum_j alpha_j k(x, c_j)}, the
#' kernel's bias included; the centres are training points, standardised as
#' `object` does. With all of them f is that of `type = "link"` in
#' [predict.kb_kgs()]. A smaller number is chosen greedily, so that the
#' projection of f on the span of the chosen centres is closest to f in the
#' kernel's norm (with several classes, summed over their functions).
#'
#' @param object A fit of [kgs()]; for `predict()` a Bayes point.
#' @param centres The largest number of centres, a whole number; `NULL`: all.
#' @param newdata New predictors, as in [predict.kb_kgs()].
#' @param type `"class"` or `"link"`, the function itself.
#' @param ... Not used: unknown arguments are errors.
#'
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
#' @section Errors: `kb_error_not_defined` for other objects;
#'   `kb_error_argument`, for example if `newdata` is missing; and those of
#'   [predict.kb_kgs()].
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
  structure(
    list(
      version = object$version, kernel = basis$kernel,
      points = unname(basis$points[chosen, , drop = FALSE]),
      alpha = solved$alpha, explained = solved$explained,
      scaling = object$settings$scaling, levels = object$mould$levels,
      mould = object$mould
    ),
    class = "kb_bayes_point"
  )
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
