# Kernel means: weighted points as an element of the kernel's Hilbert space.

#' Kernel mean
#'
#' `kernel_mean(x, kernel)` is the embedding of a distribution, given by weighted
#' points, in the Hilbert space of a kernel: the function \eqn{m = \sum_i w_i
#' k(\cdot, x_i)}{m = sum_i w_i k(., x_i)}. With the default weights 1 / n it is the
#' mean of the kernel over a sample. Weights may be negative and need not sum to one.
#'
#' `inner_product()` is the inner product of the Hilbert space, \eqn{\sum_{ij}
#' v_i w_j k(x_i, y_j)}{sum_ij v_i w_j k(x_i, y_j)}. `mmd()` is the distance of
#' two kernel means, the maximum mean discrepancy: the largest difference
#' between the two expectations of a function of norm one. It is exactly zero for equal
#' means; distances below about 1e-8 of the norms cannot be distinguished from zero.
#'
#' Two kernel means belong to one space only if they have the same kernel: give the
#' second mean the kernel of the first, as in the example. Memory is O(n).
#' @param x Points, a numeric matrix (n x d) or a vector. For the methods a kernel mean.
#' @param kernel A kernel, see [kb_kernels]; a bandwidth `"median"` is
#'   [bandwidth_median()] of the points.
#' @param weights `NULL` for 1 / n, or n finite numbers.
#' @param object,a,b Kernel means.
#' @param newdata Points, m x d, at which the embedding is evaluated; by default
#'   its own points.
#' @inheritParams label_noise
#' @param n Number of points of the curve, or of each side of the plane;
#'   `NULL`: 200 or 60.
#' @return `kernel_mean()`: a list of class `kb_kernel_mean`, plain R data:
#'   `points` (n x d), `weights` and `kernel` (its bandwidth a number).
#'
#'   `predict()`: a vector, the embedding at each row of `newdata`, in units of
#'   the kernel. `mean()`: the weighted mean of the points, a vector of length d
#'   in their units; weights are divided by their sum. `inner_product()` and
#'   `mmd()`: a number, in units of the kernel and of its square root. `plot()`
#'   draws the embedding of points of one or two columns, and returns `x`,
#'   invisibly.
#' @section Errors: `kb_error_kernel` for two means with different kernels;
#'   `kb_error_not_defined` for the mean where weights sum to zero, and for plots in
#'   three or more dimensions.
#' @references
#' Gretton, A., Borgwardt, K. M., Rasch, M. J., Schölkopf, B. and Smola, A.
#' (2012). A kernel two-sample test. *Journal of Machine Learning Research* 13,
#' 723-773.
#'
#' Muandet, K., Fukumizu, K., Sriperumbudur, B. and Schölkopf, B. (2017).
#' Kernel mean embedding of distributions: a review and beyond. *Foundations
#' and Trends in Machine Learning* 10, 1-141. \doi{10.1561/2200000060}
#' @seealso [cond_embedding()] and [kernel_sum_rule()].
#' @examples
#' eruptions <- kernel_mean(faithful$eruptions, kernel_gaussian(0.3))
#' eruptions
#' predict(eruptions, c(2, 3, 4.5))
#' plot(eruptions)
#'
#' early <- kernel_mean(faithful$eruptions[1:136])
#' late <- kernel_mean(faithful$eruptions[137:272], kernel = early$kernel)
#' mmd(early, late)
#' inner_product(early, late)
#' @order 1
#' @export
kernel_mean <- function(x, kernel = kernel_gaussian(), weights = NULL) {
  x <- check_some_points(x)
  kernel <- check_kernel(kernel)
  check_kernel_dimension(kernel, ncol(x))
  weights <- check_signed_weights(weights, nrow(x))
  new_kernel_mean(x, weights, kernel_resolve(kernel, x))
}

#' @param points Checked, n x d.
#' @param kernel Resolved.
#' @noRd
new_kernel_mean <- function(points, weights, kernel) {
  sealed(structure(
    list(points = drop_row_names(points), weights = weights, kernel = kernel),
    class = "kb_kernel_mean"
  ))
}

drop_row_names <- function(x) {
  dimnames(x) <- if (!is.null(colnames(x))) list(NULL, colnames(x))
  x
}

#' sum_i w_i k(., x_i) at points
#' @param at Checked points, m x d.
#' @noRd
embedding_values <- function(points, weights, kernel, at) {
  blocks <- lapply(row_blocks(at, nrow(points)), function(rows) {
    kernel_evaluate(kernel, at[rows, , drop = FALSE], points) %*% weights
  })
  as.double(unlist(blocks))
}

# Methods ----------------------------------------------------------------------

#' @rdname kernel_mean
#' @export
predict.kb_kernel_mean <- function(object, newdata = object$points, ...) {
  check_no_dots(...)
  check_object(object)
  newdata <- check_points_like(newdata, object$points)
  embedding_values(object$points, object$weights, object$kernel, newdata)
}

#' @rdname kernel_mean
#' @export
mean.kb_kernel_mean <- function(x, ...) {
  check_no_dots(...)
  check_object(x)
  total <- sum(x$weights)
  if (!sums_to_something(x$weights)) {
    kb_abort(c(
      "The mean is not defined: the weights sum to zero.",
      i = "{.fn mean} divides by the sum of the weights."
    ), "not_defined")
  }
  colSums(x$weights * x$points) / total
}

# Is the sum of the weights more than rounding error?
sums_to_something <- function(weights) {
  error <- length(weights) * .Machine$double.eps * sum(abs(weights))
  abs(sum(weights)) > error
}

#' @rdname kernel_mean
#' @export
print.kb_kernel_mean <- function(x, digits = 3, ...) {
  check_no_dots(...)
  check_object(x)
  negative <- negative_mass(x$weights)
  cat(
    "Kernel mean of ", counted(nrow(x$points), "point"), " in ",
    counted(ncol(x$points), "dimension"), "\n",
    "  kernel:  ", shorten(format(x$kernel)), "\n",
    "  weights: sum ", format(sum(x$weights), digits = digits),
    if (negative == 0) {
      ", none negative"
    } else {
      paste0(", negative mass ", format(100 * negative, digits = digits), "%")
    },
    "\n",
    sep = ""
  )
  invisible(x)
}

# Share of the absolute weights that is negative
negative_mass <- function(weights) {
  total <- sum(abs(weights))
  if (total == 0) 0 else sum(abs(weights[weights < 0])) / total
}

# Two means --------------------------------------------------------------------

#' @rdname kernel_mean
#' @export
inner_product <- function(a, b) {
  check_same_space(a, b)
  sum(a$weights * embedding_values(b$points, b$weights, b$kernel, a$points))
}

#' @rdname kernel_mean
#' @export
mmd <- function(a, b) {
  check_same_space(a, b)
  both <- merge_points(
    rbind(unname(a$points), unname(b$points)), c(a$weights, -b$weights)
  )
  values <- embedding_values(both$points, both$weights, a$kernel, both$points)
  # Rounding can leave a small negative number where the means are close.
  sqrt(max(0, sum(both$weights * values)))
}

# Equal points combined, with the sum of their weights; without points of weight
# zero
merge_points <- function(points, weights) {
  rows <- distinct_rows(points)
  weights <- as.double(rowsum(weights, rows$kind))
  used <- weights != 0
  list(points = points[rows$first[used], , drop = FALSE], weights = weights[used])
}

# Checks -----------------------------------------------------------------------

# Points, at least one
check_some_points <- function(x, arg = rlang::caller_arg(x)) {
  points <- check_points(x, arg)
  if (nrow(points) == 0) bad_argument(x, arg, "at least one point")
  points
}

# Points with as many columns as others have
check_points_like <- function(x, others, arg = rlang::caller_arg(x)) {
  points <- check_points(x, arg)
  if (ncol(points) != ncol(others)) {
    kb_abort(c(
      "{.arg {arg}} must have {ncol(others)} column{?s}, like the points.",
      x = "It has {ncol(points)}."
    ), "dimension", argument = arg)
  }
  points
}

# Finite weights of any sign; NULL for 1 / n
check_signed_weights <- function(weights, n, arg = rlang::caller_arg(weights)) {
  if (is.null(weights)) {
    return(rep(1 / n, n))
  }
  fine <- is.numeric(weights) && is.null(dim(weights)) &&
    length(weights) == n && all(is.finite(weights))
  if (!fine) {
    bad_argument(weights, arg, paste(
      "NULL or finite numbers, one for each of the", counted(n, "point")
    ))
  }
  as.double(weights)
}

# Two kernel means with the same kernel and points of the same dimension
check_same_space <- function(a, b) {
  check_kernel_mean(a)
  check_kernel_mean(b)
  check_same_kernel(a$kernel, b$kernel, c("a", "b"))
  check_points_like(b$points, a$points, "b")
}

check_kernel_mean <- function(x, arg = rlang::caller_arg(x)) {
  check_class(x, "kb_kernel_mean", "a kernel mean, see `?kernel_mean`", arg)
  check_object(x)
  invisible(x)
}

#' @param of The arguments that have the kernels.
#' @noRd
check_same_kernel <- function(first, second, of) {
  if (!identical(first, second)) {
    kb_abort(c(
      "{.arg {of[[1]]}} and {.arg {of[[2]]}} must have the same kernel.",
      x = "They have {.code {format(first)}} and {.code {format(second)}}.",
      i = "A bandwidth \"median\" depends on the points: use the kernel of one
           mean for the other."
    ), "kernel")
  }
}

# Several kernel means on the same points: their modes and draws. All
# predictions of states by kernel Bayes' rule use this file.

#' Points whose weighted kernels are posteriors' kernel means
#' @param signed The rule's weights, or those of the nearest probability?
#' @return List of `points` (P x d), `scaled` (as their kernel sees them),
#'   `weights` (means x P; a row is NA where weights cancelled) and `value` (P x
#'   means, of the kernel means at the points).
#' @noRd
kernel_mean_points <- function(fit, seen, signed = TRUE) {
  UseMethod("kernel_mean_points")
}

#' The mode of each mean, sought from its highest point and from its centre
#' @param centre Means x columns of the scaled points.
#' @return List of `x` (scaled, means x columns) and `converged`.
#' @noRd
kernel_modes <- function(mean, kernel, centre) {
  modes <- lapply(seq_len(nrow(mean$weights)), function(i) {
    w <- mean$weights[i, ]
    if (!all(is.finite(w))) {
      return(list(x = rep(NA_real_, ncol(mean$scaled)), converged = NA))
    }
    embedding_mode(mean$scaled, w, kernel,
      start = rbind(mean$scaled[which.max(mean$value[, i]), ], centre[i, ])
    )
  })
  list(
    x = matrix(as.double(unlist(lapply(modes, `[[`, "x"))), length(modes),
      ncol(mean$scaled),
      byrow = TRUE
    ),
    converged = vapply(modes, `[[`, NA, "converged")
  )
}

# Points herded from each mean: ndraws x d x means
herded_points <- function(mean, kernel, ndraws) {
  column <- function(i) {
    as.vector(kernel_evaluate(
      kernel, mean$scaled, mean$scaled[i, , drop = FALSE]
    ))
  }
  d <- ncol(mean$points)
  draws <- vapply(seq_len(ncol(mean$value)), function(i) {
    if (anyNA(mean$value[, i])) {
      return(matrix(NA_real_, ndraws, d))
    }
    chosen <- herd_indices(mean$value[, i], column, ndraws)
    unname(mean$points[chosen, , drop = FALSE])
  }, matrix(0, ndraws, d))
  array(draws, c(ndraws, d, ncol(mean$value)))
}

#' Kernel herding: the candidates that it chooses, by number
#' @param value The embedding at the candidates.
#' @param columns A function of i: the kernel of all candidates with candidate
#'   i.
#' @param cells The largest number of kernel values kept for candidates that
#'   are chosen again.
#' @noRd
herd_indices <- function(value, columns, n, cells = 5e6) {
  chosen <- integer(n)
  kept <- vector("list", length(value))
  room <- floor(cells / length(value))
  score <- value # t times the criterion, (K14)
  for (t in seq_len(n)) {
    best <- which.max(score)
    column <- kept[[best]]
    if (is.null(column)) {
      column <- as.double(columns(best))
      if (room > 0) kept[[best]] <- column
      room <- room - 1
    }
    chosen[[t]] <- best
    score <- score + (value - column)
  }
  chosen
}

# Plots of kernel means in one and two dimensions.

#' @rdname kernel_mean
#' @export
plot.kb_kernel_mean <- function(x, n = NULL, ...) {
  draw_picture(kernel_mean_picture(x, n), x, ...)
}

#' @rdname autoplot.kb_srvm
#' @exportS3Method ggplot2::autoplot
autoplot.kb_kernel_mean <- autoplot_of(plot.kb_kernel_mean)

kernel_mean_picture <- function(x, n) {
  check_object(x)
  d <- ncol(x$points)
  if (!is.null(n)) n <- check_size(n, 2, each = if (d == 1) 3 else n)
  if (d > 2) {
    kb_abort(c(
      "A kernel mean can be drawn in one or two dimensions.",
      x = "Its points have {d}."
    ), "not_defined")
  }
  draw <- if (d == 1) mean_curve_panel else mean_plane_panel
  new_picture(draw(x, if (is.null(n)) c(200, 60)[[d]] else n))
}

# The embedding, and the weights as ticks at its points, the longest a quarter
# as high
mean_curve_panel <- function(x, n) {
  grid <- embedding_grid(x$points[, 1], n)
  value <- stats::predict(x, grid)
  w <- x$weights
  ticks <- 0.25 * max(abs(value)) * w / max(abs(w), 1e-300)
  panel(
    point_names(x)[[1]], "embedding",
    rule_layer(y = 0),
    weights_layer("ranges", w, data.frame(
      x = x$points[, 1], ymin = pmin(ticks, 0), ymax = pmax(ticks, 0)
    ), "grey", lwd = 2),
    lines_layer(grid, value, lwd = 2, label = "embedding")
  )
}

# The embedding in colours, blue above zero and orange below, and points sized
# by their weights
mean_plane_panel <- function(x, n) {
  across <- embedding_grid(x$points[, 1], n)
  up <- embedding_grid(x$points[, 2], n)
  cells <- expand.grid(x = across, y = up)
  cells$z <- stats::predict(x, as.matrix(cells))
  highest <- max(abs(cells$z))
  size <- sqrt(abs(x$weights) / max(abs(x$weights), 1e-300))
  names <- point_names(x)
  panel(
    names[[1]], names[[2]],
    if (highest > 0) surface_layer(cells, "embedding", c(-1, 1) * highest,
      c(kb_colour("orange"), "white", kb_colour("sky"))
    ),
    contour_layer(cells, colour = "#303030", labels = TRUE, on_tiles = TRUE),
    weights_layer("points", x$weights,
      data.frame(x = x$points[, 1], y = x$points[, 2], size = size), "grey"
    ),
    xlim = range(across), ylim = range(up), tight = TRUE
  )
}

# Over the points and a tenth of their range beyond
embedding_grid <- function(at, n) {
  ends <- range(at)
  width <- if (diff(ends) > 0) 0.1 * diff(ends) else max(1, abs(ends[[1]]))
  seq(ends[[1]] - width, ends[[2]] + width, length.out = n)
}

point_names <- function(x) {
  names <- colnames(x$points)
  if (is.null(names)) {
    names <- if (ncol(x$points) == 1) "x" else paste0("x", 1:2)
  }
  names
}
