# Evaluation of kernels: kernel_matrix(), bandwidth_median() and their checks.

#' Kernel matrix
#'
#' `kernel_matrix(kernel, x, y)` has the values of a kernel between two sets of
#' points. An entry does not depend on the other points it is computed with, nor on
#' the order of its two. A bandwidth `"median"` is [bandwidth_median()] of `x`.
#' @param kernel A kernel, see [kb_kernels].
#' @param x,y Points: numeric matrices with one point per row and the same
#'   number of columns; a vector is a matrix of one column. `y = NULL` means
#'   `x`.
#' @return The matrix of `kernel(x[i, ], y[j, ])`, `nrow(x)` x `nrow(y)`, with
#'   the row names of `x` and of `y`.
#' @section Errors: `kb_error_not_finite` for missing or infinite points,
#'   `kb_error_custom_kernel` for a custom kernel that fails or does not return the
#'   correct matrix, `kb_error_precision` for numerical overflow.
#' @examples
#' kernel_matrix(kernel_gaussian(1), c(a = 0, b = 1), c(0, 0.5, 1))
#' x <- as.matrix(trees)
#' K <- kernel_matrix(kernel_matern("median"), x)
#' range(eigen(K, symmetric = TRUE, only.values = TRUE)$values)
#' @export
kernel_matrix <- function(kernel, x, y = NULL) {
  kernel <- check_kernel(kernel)
  x <- check_points(x)
  if (!is.null(y)) {
    y <- check_points(y)
    check_same_columns(x, y)
  }
  check_kernel_dimension(kernel, ncol(x))
  out <- kernel_evaluate(kernel_resolve(kernel, x), x, y)
  columns <- rownames(if (is.null(y)) x else y)
  if (!is.null(rownames(x)) || !is.null(columns)) {
    dimnames(out) <- list(rownames(x), columns)
  }
  out
}

# The matrix of a resolved kernel at checked points
kernel_evaluate <- function(kernel, x, y = NULL) {
  check_memory(
    as.double(nrow(x)) * nrow(if (is.null(y)) x else y), "The kernel matrix",
    "Use fewer rows, or a smaller {.arg rank}."
  )
  if (!kernel_is_builtin(kernel)) {
    return(kernel_evaluate_custom(kernel, x, y))
  }
  core_value(kernel_matrix_cpp(kernel, x, y))
}

kernel_evaluate_custom <- function(kernel, x, y) {
  if (is_combined(kernel)) {
    parts <- lapply(kernel$parts, kernel_evaluate, x, y)
    return(Reduce(if (kernel$type == "sum") `+` else `*`, parts))
  }
  other <- if (is.null(y)) x else y
  what <- of_argument("kernel_custom()", "kernel", "custom_kernel")
  out <- call_user(kernel$f, what, NULL, x, other)
  check_custom_value(out, nrow(x), nrow(other), what)
  out <- matrix(as.double(out), nrow(x), nrow(other))
  if (is.null(y)) {
    out[upper.tri(out)] <- t(out)[upper.tri(out)]
  }
  out
}

check_custom_value <- function(out, n, m, what) {
  wanted <- paste("a numeric", n, "x", m, "matrix of finite values")
  if (!is.numeric(out) || !is.matrix(out) || !all(dim(out) == c(n, m))) {
    refuse_value(what, NULL, wanted, describe(out))
  }
  if (!all(is.finite(out))) {
    refuse_value(what, NULL, wanted, "missing or infinite values")
  }
}

#' Median bandwidth
#'
#' `bandwidth_median(x)` is the median of the Euclidean distances between pairs of
#' points, a common choice of the bandwidth of a kernel; with more than `max_rows`
#' points that over `max_rows` evenly spaced ones in the order given.
#' @param x Points: a numeric matrix with one point per row; a vector is a
#'   matrix of one column.
#' @param max_rows The largest number of points used, at least 2.
#' @return A positive number in the units of `x`: the median; if that is zero,
#'   the median of the nonzero distances; if there are none (one point, or all
#'   points equal), 1.
#' @references
#' Gretton, A., Borgwardt, K. M., Rasch, M. J., Schölkopf, B. and Smola, A.
#' (2012). A kernel two-sample test. *Journal of Machine Learning Research*,
#' 13, 723--773 (section 8).
#' @examples
#' bandwidth_median(c(0, 1, 3))
#' kernel_gaussian(bandwidth_median(scale(trees)))
#' @export
bandwidth_median <- function(x, max_rows = 1000) {
  x <- check_points(x)
  max_rows <- check_count(max_rows, lower = 2)
  some <- x[evenly(nrow(x), max_rows), , drop = FALSE]
  distances <- as.vector(stats::dist(some))
  out <- stats::median(distances)
  if (out %in% 0) out <- stats::median(distances[distances > 0])
  if (is.na(out)) 1 else out
}

# At most `most` of the numbers to n
evenly <- function(n, most = 1000) {
  if (n > most) round(seq(1, n, length.out = most)) else seq_len(n)
}

# Checks ---------------------------------------------------------------------

# Points as a double matrix, rows named as given
check_points <- function(x, arg = rlang::caller_arg(x)) {
  if (missing(x)) bad_argument(x, arg, "given")
  if (is.data.frame(x) && all(vapply(x, is.numeric, NA))) {
    x <- as.matrix(x)
  }
  if (!is.numeric(x) || length(dim(x)) > 2 || (is.matrix(x) && ncol(x) == 0)) {
    bad_argument(x, arg, "a numeric matrix with a column or more, or a vector")
  }
  if (!is.matrix(x)) {
    x <- matrix(x, ncol = 1, dimnames = list(names(x), NULL))
  }
  check_finite_points(x, arg)
  if (!is.double(x)) storage.mode(x) <- "double"
  x
}

check_finite_points <- function(x, arg) {
  bad <- which(!is.finite(x))
  if (length(bad) > 0) {
    first <- arrayInd(bad[[1]], dim(x))
    kb_abort(c(
      "{.arg {arg}} must not have missing or infinite values.",
      x = "It has {length(bad)}, the first ({x[bad[[1]]]}) in row {first[[1]]},
           column {first[[2]]}."
    ), "not_finite", argument = arg)
  }
}

check_same_columns <- function(x, y) {
  if (ncol(x) != ncol(y)) {
    kb_abort(c(
      "{.arg x} and {.arg y} must have the same number of columns.",
      x = "They have {ncol(x)} and {ncol(y)}."
    ), "dimension")
  }
}

# Can the kernel take points of d columns?
check_kernel_dimension <- function(kernel, d) {
  if (is_combined(kernel)) {
    for (part in kernel$parts) check_kernel_dimension(part, d)
    return(invisible())
  }
  wanted <- if (kernel$type == "rotation") 9L else length(kernel$bandwidth)
  if (wanted > 1 && wanted != d) {
    kb_abort(c(
      "{.code {format(kernel)}} is for points of {wanted} columns.",
      x = "The points have {d}."
    ), "dimension")
  }
  invisible()
}

# The number of features of a kernel: the only code that interprets `rank` and
# `tol`.

#' Features of points under a kernel, G ~ R R'
#' @param rank `"auto"`, `"full"`, or the largest number of features. `"auto"`
#'   is full up to 300 points; beyond, at most 500 features at the tolerance
#'   1e-6.
#' @param tol `NULL`, or the share of the trace of G that may be left out; with
#'   `rank = "auto"` it alone determines the number of features. Without it a
#'   full or given rank stops early only at rounding error.
#' @return The value of `incomplete_cholesky()`.
#' @noRd
kernel_features <- function(kernel, x, rank = "auto", tol = NULL) {
  x <- check_points(x)
  limits <- feature_limits(nrow(x), rank, tol)
  incomplete_cholesky(kernel, x, limits$rank, limits$tol)
}

# The largest rank and the tolerance for n points
feature_limits <- function(n, rank, tol) {
  given <- !is.null(tol)
  tol <- if (given) check_number(tol, 0, 1) else 0
  if (is.numeric(rank)) {
    return(list(rank = check_count(rank, 1), tol = tol))
  }
  if (!rlang::is_string(rank) || !rank %in% c("auto", "full")) {
    bad_argument(rank, "rank", '"auto", "full" or a whole number')
  }
  if (given && rank == "full") {
    kb_abort(c(
      "{.arg tol} would have no effect with {.code rank = \"full\"}.",
      i = "{.code rank = \"auto\"} takes as many features as {.arg tol} needs."
    ), "argument", argument = "tol")
  }
  if (given || rank == "full" || n <= 300) {
    return(list(rank = max(n, 1), tol = tol))
  }
  list(rank = 500, tol = 1e-6)
}

# The same for a kernel matrix
gram_features <- function(gram, rank = "auto", tol = NULL) {
  limits <- feature_limits(nrow(gram), rank, tol)
  incomplete_cholesky_gram(gram, rank = limits$rank, tol = limits$tol)
}

# Gradients of kernels in their second point, (K34).

#' The gradient of k(z_p, y_i) in y_i, as a sum of terms
#'
#' Each term has the gradient `weight`\[i, p\] (`from` z_p - `to` y_i), product
#' by coordinate, which every smooth built-in kernel has.
#' @param kernel Resolved.
#' @param y,z Points, n x d and r x d.
#' @return List of terms: `weight` (n x r), `from` and `to` (length d).
#' @noRd
kernel_slopes <- function(kernel, y, z) {
  switch(kernel$type,
    sum = unlist(lapply(kernel$parts, kernel_slopes, y, z), FALSE),
    product = product_slopes(kernel$parts, y, z),
    constant = list(),
    linear = , rotation = , polynomial = inner_slopes(kernel, y, z),
    radial_slopes(kernel, y, z)
  )
}

product_slopes <- function(parts, y, z) {
  terms <- lapply(seq_along(parts), function(i) {
    others <- lapply(parts[-i], kernel_evaluate, y, z)
    lapply(kernel_slopes(parts[[i]], y, z), function(term) {
      term$weight <- Reduce(`*`, others, term$weight)
      term
    })
  })
  unlist(terms, FALSE)
}

inner_slopes <- function(kernel, y, z) {
  weight <- if (kernel$type == "polynomial") {
    m <- kernel$degree
    m * (tcrossprod(y, z) + kernel$offset)^(m - 1)
  } else {
    matrix(1, nrow(y), nrow(z))
  }
  list(list(weight = weight, from = rep(1, ncol(y)), to = rep(0, ncol(y))))
}

# Functions of s^2: the weight is -2 times the derivative
radial_slopes <- function(kernel, y, z) {
  b <- rep_len(kernel$bandwidth, ncol(y))
  s <- sqrt(squared_distances(sweep(y, 2, b, "/"), sweep(z, 2, b, "/")))
  weight <- switch(slope_type(kernel),
    gaussian = exp(-s^2 / 2),
    matern_1.5 = 3 * exp(-sqrt(3) * s),
    matern_2.5 = 5 / 3 * (1 + sqrt(5) * s) * exp(-sqrt(5) * s),
    rational_quadratic = (1 + s^2 / (2 * kernel$alpha))^(-kernel$alpha - 1)
  )
  list(list(weight = weight, from = 1 / b^2, to = 1 / b^2))
}

slope_type <- function(kernel) {
  if (kernel$type == "matern") paste0("matern_", kernel$nu) else kernel$type
}

squared_distances <- function(y, z) {
  pmax(outer(rowSums(y^2), rowSums(z^2), "+") - 2 * tcrossprod(y, z), 0)
}

# Has the kernel a gradient everywhere that kernel_slopes() knows?
check_smooth_kernel <- function(kernel, arg = rlang::caller_arg(kernel)) {
  kernel <- check_kernel(kernel, arg)
  if (!has_slopes(kernel)) {
    bad_argument(kernel, arg, paste(
      "made of smooth kernels: Gaussian, Matern with nu of 3/2 or 5/2,",
      "rational quadratic, polynomial, linear, constant"
    ))
  }
  kernel
}

has_slopes <- function(kernel) {
  if (is_combined(kernel)) {
    return(all(vapply(kernel$parts, has_slopes, NA)))
  }
  slope_type(kernel) %in% c(
    "gaussian", "matern_1.5", "matern_2.5", "rational_quadratic",
    "polynomial", "linear", "rotation", "constant"
  )
}

# k(x, x) of each point
kernel_self <- function(kernel, x) {
  if (kernel_is_builtin(kernel)) {
    return(kernel_diagonal_cpp(kernel, x))
  }
  blocks <- row_blocks(x, 200, 200 * 200)
  unlist(lapply(blocks, function(rows) {
    diag(kernel_evaluate(kernel, x[rows, , drop = FALSE]))
  }))
}
