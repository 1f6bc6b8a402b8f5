# A compact predictor: few kernels whose sum is close to the posterior mean of f.

#' A compact predictor
#'
#' `sparsify(fit)` finds few kernels whose sum is close to the posterior mean of f, by
#' decoupled shrinkage and selection (Hahn and Carvalho, 2015): the posterior decides
#' what f is, the loss of accuracy how many kernels it takes. Predictions
#' cost O(k) per row with k kernels, and the object holds little but their numbers.
#' @param object A fit of [srvm()].
#' @param loss Largest loss, a number above 0: the mean squared distance to the posterior
#'   mean of f at the training rows, divided by the mean posterior variance of f there.
#'   0.01 means a root mean square distance of a tenth of the posterior standard
#'   deviation.
#' @param x An object of class `kb_sparse`.
#' @param newdata New predictors in the shape that the fit was given. Rows with missing
#'   values give `NA`.
#' @param digits Number of significant digits.
#' @param ... For `plot()`: titles, limits and axes, as in [graphics::plot.default()].
#'   Otherwise not used: unknown arguments are errors.
#' @details Candidates are the rows that may be centres of the fit, with each of its
#' kernels (at most 1000, evenly spaced). One at a time is added, that which
#' reduces the loss most when all coefficients are fitted again by least squares
#' (orthogonal matching pursuit), until the loss is small enough. The intercept and a
#' linear part of the fit are always in it. Where bandwidths were learned all kernels
#' have the same: geometric means over the posterior, or the bandwidths of one of ten
#' particles if fewer centres do with these. At most 2000 rows count for the loss, evenly
#' spaced. At other rows it is not bounded.
#'
#' For two classes f is the one whose probabilities are the posterior means.
#' @return `sparsify()`: a list of class `kb_sparse`:
#' * `k`, the number of centres, and `loss`, their loss;
#' * `centres`, a data frame: the training `row` of each, its `kernel` (by number) and
#'   its `coefficient`, in units of the response as the model sees it;
#' * `path`, a data frame: the `loss` of each number of centres `k`, which `plot()` draws;
#' * `points` (the centres, k x p, as kernels see them), `fixed` (coefficients of the
#'   intercept and the linear part), `kernels`, `settings` and `mould`, for predictions.
#'
#' `predict()`: a vector with an element per row of `newdata`, the mean of the response,
#' for two classes the probability of the second level.
#' @section Errors:
#' `kb_error_argument` for a `loss` that is not a number above 0 and `kb_error_sparsify`
#' for a fit with an offset, or with a kernel from [kernel_custom()].
#' `kb_warning_loss` if all candidates together do not reach the loss.
#' @references
#' Hahn, P. R. and Carvalho, C. M. (2015). Decoupling shrinkage and selection in Bayesian
#' linear models: a posterior summary perspective. *Journal of the American Statistical
#' Association* 110(509), 435-448.
#' @seealso [inclusion()], which ranks the centres of the posterior.
#' @examples
#' data <- sim_sinc(60, seed = 1)
#' fit <- srvm(y ~ x, data, seed = 1)
#' few <- sparsify(fit)
#' few
#' predict(few, data.frame(x = c(-5, 0, 5)))
#' plot(few)
#' @export
sparsify <- function(object, loss = 0.01) {
  if (missing(object) || !inherits(object, "kb_srvm")) {
    not_defined("sparsify", object, "srvm")
  }
  object <- checked_fit(object)
  loss <- check_number(loss, 0, open = TRUE)
  refuse_sparsify(object)
  pool <- srvm_pool(object)
  aim <- sparse_aim(object, pool)
  points <- sparse_points(object, pool)
  # Those that reach the loss with the fewest centres, then with the least loss
  found <- lapply(sparse_kernels(object, pool), function(kernels) {
    values <- centre_values(kernels, points$kernel, points$x, aim$x)
    path <- matching_pursuit(aim$fixed, values, aim$f, loss * aim$variance)
    c(list(kernels = kernels), path)
  })
  last <- vapply(found, function(path) utils::tail(path$squares, 1), 0)
  size <- vapply(found, function(path) length(path$chosen), 0L)
  found <- found[[order(last > loss * aim$variance, size, last)[[1]]]]
  new_sparse(object, pool, points, aim, found, loss)
}

refuse_sparsify <- function(fit) {
  problem <- if (!is.null(fit$data$mixed)) {
    "an offset, which is no sum of kernels"
  } else if (!is.null(fit$settings$scaling$map)) {
    "a kernel from {.fn kernel_custom}, which is known at the rows only"
  }
  if (!is.null(problem)) {
    kb_abort(paste0("{.fn sparsify} is not defined for a fit with ", problem, "."),
      "sparsify"
    )
  }
}

new_sparse <- function(fit, pool, points, aim, found, loss) {
  path <- data.frame(
    k = seq_along(found$squares) - 1L, loss = found$squares / aim$variance
  )
  reached <- path$loss[[nrow(path)]]
  if (reached > loss) {
    kb_warn(c(
      "The predictor is less close to the fit than {.arg loss} asks for.",
      x = "Its loss is {signif(reached, 2)} with {counted(length(found$chosen), 'centre')};
           no further one reduces it."
    ), "loss")
  }
  chosen <- found$chosen
  fixed <- seq_len(ncol(aim$fixed))
  candidates <- points$candidates[chosen]
  sealed(new_object(
    list(
      version = fit_version, k = length(chosen), loss = reached,
      centres = data.frame(
        row = row_numbers(fit)[pool$rows[candidates]],
        kernel = points$kernel[chosen],
        coefficient = found$coefficients[length(fixed) + seq_along(chosen)]
      ),
      path = path, points = points$x[chosen, , drop = FALSE],
      fixed = found$coefficients[fixed], kernels = found$kernels,
      settings = fit$settings[c(
        "scaling", "linear", "intercept", "family", "levels"
      )],
      mould = mould_empty(fit$mould, rows = FALSE)
    ),
    class = "kb_sparse"
  ))
}

# Its parts ------------------------------------------------------------------

#' What is to be approximated
#' @return `f` at the rows, in the units of the model, its mean posterior `variance`, the
#'   rows `x` as kernels see them, and their `fixed` columns.
#' @noRd
sparse_aim <- function(fit, pool, most = 2000) {
  rows <- training_rows(fit)
  rows <- rows[spread_over(length(rows), min(length(rows), most))]
  x <- wide_x(fit, rows)
  moments <- set_moments(fit, x, pool)
  average <- function(values) drop(values %*% pool$weights)
  mean <- average(moments$mean)
  variance <- average(moments$variance + moments$mean^2) - mean^2
  x <- scaling_x(fit$settings$scaling, x)
  list(
    f = if (!is_probit(fit)) mean else {
      stats::qnorm(average(stats::pnorm(moments$mean / sqrt(1 + moments$variance))))
    },
    variance = mean(variance), x = x, fixed = fixed_columns(fit$settings, x)
  )
}

sparse_points <- function(fit, pool, most = 1000) {
  candidates <- which(!is.na(pool$rows))
  candidates <- candidates[spread_over(length(candidates), min(length(candidates), most))]
  x <- fit$data$x[pool$rows[candidates], , drop = FALSE]
  list(
    candidates = candidates, x = scaling_x(fit$settings$scaling, x),
    kernel = candidate_kernels(fit, candidates, pool)
  )
}

# Lists of kernels to choose from: those of the fit, or one for each set of bandwidths
sparse_kernels <- function(fit, pool, particles = 10) {
  if (!learns_scales(fit$settings)) {
    return(list(candidate_kernel_list(fit$settings)))
  }
  some <- equal_weight_draws(fit, pool)
  some <- some[spread_over(length(some), min(length(some), particles))]
  bandwidths <- cbind(
    exp(drop(log(pool$bandwidths) %*% pool$weights)), pool$bandwidths[, some, drop = FALSE]
  )
  lapply(seq_len(ncol(bandwidths)), function(i) {
    list(kernel_fill(fit$settings$kernel, "ard", bandwidths[, i]))
  })
}

#' Orthogonal matching pursuit
#' @param fixed,values Columns that are always there, and those to choose from.
#' @param least The mean square at which it stops.
#' @return `chosen` columns of `values`, the mean `squares` of what is left without any
#'   and after each, and least squares `coefficients` of `fixed` and the chosen.
#' @noRd
matching_pursuit <- function(fixed, values, f, least) {
  basis <- qr(fixed)
  left <- qr.resid(basis, f)
  others <- qr.resid(basis, values)
  # Columns that are combinations of those before are not chosen.
  negligible <- 1e-10 * colSums(values^2)
  chosen <- integer()
  squares <- mean(left^2)
  while (utils::tail(squares, 1) > least) {
    length <- colSums(others^2)
    gain <- drop(crossprod(others, left))^2 / length
    gain[length <= negligible] <- 0
    best <- which.max(gain)
    if (gain[[best]] <= 0) break
    direction <- others[, best] / sqrt(length[[best]])
    left <- left - direction * sum(direction * left)
    others <- others - tcrossprod(direction, drop(crossprod(others, direction)))
    chosen <- c(chosen, best)
    squares <- c(squares, mean(left^2))
  }
  design <- cbind(fixed, values[, chosen, drop = FALSE])
  list(
    chosen = chosen, squares = squares,
    coefficients = unname(qr.coef(qr(design, tol = 1e-14), f))
  )
}

# Methods --------------------------------------------------------------------

#' @rdname sparsify
#' @export
predict.kb_sparse <- function(object, newdata, ...) {
  object <- checked_fit(object, ...)
  rows <- prediction_rows(object, newdata, NULL, FALSE, FALSE)
  settings <- object$settings
  x <- scaling_x(settings$scaling, rows$x[rows$complete, , drop = FALSE])
  values <- centre_values(object$kernels, object$centres$kernel, object$points, x)
  f <- drop(fixed_columns(settings, x) %*% object$fixed) +
    drop(values %*% object$centres$coefficient)
  out <- if (is_probit(object)) stats::pnorm(f) else unscale_mean(settings$scaling, f)
  name_rows(spread_rows(as.double(out), rows$complete), rows$names)
}

#' @rdname sparsify
#' @export
print.kb_sparse <- function(x, digits = 3, ...) {
  x <- checked_fit(x, ...)
  cat(
    "Compact predictor: ", counted(x$k, "centre"), ", loss ",
    format(x$loss, digits = digits), "\n",
    sep = ""
  )
  if (x$k > 0) {
    cat("  rows: ", shorten(paste(x$centres$row, collapse = ", ")), "\n", sep = "")
  }
  invisible(x)
}

#' @rdname sparsify
#' @export
plot.kb_sparse <- function(x, ...) draw_picture(sparse_picture(x), x, ...)

#' @rdname autoplot.kb_srvm
#' @exportS3Method ggplot2::autoplot
autoplot.kb_sparse <- autoplot_of(plot.kb_sparse)

sparse_picture <- function(x) {
  x <- checked_fit(x)
  new_picture(panel(
    "number of centres", "log10 of the loss",
    lines_layer(x$path$k, log10(x$path$loss), lwd = 1.5),
    points_layer(x$path$k, log10(x$path$loss), size = 0.7),
    ticks = "whole"
  ))
}
