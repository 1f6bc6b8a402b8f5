# kdr(): learned summaries of observations by the gradients of a regression.

#' Kernel dimension reduction: learned summaries of observations
#'
#' `kdr(x, y)` finds the directions of the observations that carry the information about
#' the states, and projects on them: a few summaries, for [kbr()] and other methods
#' that suffer from many columns. Directions are those along which the kernel
#' mean of the states given the observation changes
#' (gradient-based kernel dimension reduction, Fukumizu and Leng, 2014), so they
#' need not be linear predictors: a direction that only affects a variance
#' is found, too, if there are enough pairs.
#' @section Method:
#' Columns are scaled. The kernel mean of the states given y is estimated by
#' kernel ridge regression, as in [cond_embedding()]. With the gradients
#' \eqn{\nabla_i}{D_i} of k_Y(., y) at \eqn{y = Y_i} (n x d_y),
#' \deqn{M = \frac1n \sum_i \nabla_i' (G_Y + n\epsilon I)^{-1} G_X
#' (G_Y + n\epsilon I)^{-1} \nabla_i}{M = mean_i of D_i' (G_Y + n eps I)^-1 G_X
#' (G_Y + n eps I)^-1 D_i,}
#' where \eqn{G_X} is centred. The directions are the leading `k` eigenvectors
#' of M, orthonormal in units of the scaled columns.
#'
#' Each of the `column_steps` multiplies every column by the root mean square gradient
#' along it and begins again, as long as this lowers the error of the regression by 1
#' percent: columns without information lose their influence on the kernel. Kernels are
#' replaced by features from pivoted incomplete Cholesky factors: O(n rank^2), and 50
#' `rows` `rank` d_y per step. `k = "auto"` repeats the steps three times on up to 2000
#' rows.
#' @param x The states, one row per pair: a numeric matrix n x d_x, a data frame of
#'   numeric columns or a vector; or pairs of [kbr_simulate()]. For `plot()` a
#'   result.
#' @param y The observations, one per row of `x`: a numeric matrix n x d_y, a
#'   data frame of numeric columns or a vector.
#' @param k The number of directions, a whole number up to d_y; or a number
#'   below 1: as few as have this share of the trace of M; or `"auto"`: the
#'   smallest of 1 to 6, 8, 10, 12, 15 and 20 that explains 99 percent of the
#'   variance that the best of them explains: of the features of the states in
#'   three blocks of rows, each predicted from the others by a Gaussian kernel.
#' @param kernel_x,kernel_y Kernels of scaled states and observations, see
#'   [kb_kernels]. `kernel_y` must be smooth: Gaussian, Matern with \eqn{\nu} of
#'   3/2 or 5/2, rational quadratic, polynomial or linear, or sums and products
#'   of these. A bandwidth `"median"` is found anew at every step.
#' @param eps The regularisation, a positive number, as in
#'   \eqn{n \epsilon}{n eps}; `NULL`: chosen at every step by generalised
#'   cross-validation among 1e-7, ..., 1.
#' @param scale How columns are scaled, states and observations alike: `"normal"`,
#'   replaced by their normal scores (monotone, constant beyond the data), so that heavy
#'   tails have no influence; `"median"`, medians subtracted, divided by median absolute
#'   deviations and limited to \[-3, 3\]; `"sd"`, by means and standard deviations, so
#'   that directions are linear in y; or `"none"`.
#' @param column_steps The largest number of steps that weight columns, at least
#'   0.
#' @param direction_steps The number of steps in which the dimension is reduced
#'   from d_y to k, at least 1. Each step finds directions among those that the
#'   last step kept, with a kernel on these alone.
#' @param rank The largest number of features of each kernel, at least 1.
#' @param rows The largest number of rows at which gradients are computed, at
#'   least 1.
#' @param object,newdata A result, and observations: a matrix or data frame with
#'   d_y columns (found by name if both have names), or a vector with one
#'   observation (if d_y is 1, with one per element). `NULL`: those of the
#'   pairs.
#' @inheritParams label_noise
#' @return A list of class `kb_kdr`, plain R data: `directions` (d_y x k),
#'   `values` (all d_y eigenvalues of M, decreasing), `columns` (the root mean
#'   square gradient along each column), `steps` (a data frame with one line per
#'   step: `step`, `"columns"` or `"directions"`, `dimension`, `eps`, and
#'   `error`, the cross-validated squared error relative to the variance),
#'   `choice` (for `k = "auto"` a data frame of `k`, `error`, and `se` of the
#'   difference from the least), `summaries` (those of the pairs, n x k),
#'   `scaling` and `settings`.
#'
#'   `predict()`: the summaries, a matrix with columns `kdr1`, ..., `kdr<k>`,
#'   without units.
#' @section Errors: `kb_error_argument` also for kernels that are not smooth,
#'   `kb_error_learn` for bandwidths to be learned.
#' @references
#' Fukumizu, K. and Leng, C. (2014). Gradient-based kernel dimension reduction
#' for regression. *Journal of the American Statistical Association* 109,
#' 359-370. \doi{10.1080/01621459.2013.838167}
#'
#' Radhakrishnan, A., Beaglehole, D., Pandit, P. and Belkin, M. (2024).
#' Mechanism for feature learning in neural networks and backpropagation-free
#' machine learning models. *Science* 383, 1461-1467 (steps with the moment of
#' gradients, here of columns).
#' @seealso [kbr()].
#' @examples
#' # a state that depends on two of ten columns, whose tails are heavy
#' set.seed(1)
#' y <- matrix(rt(4000, 2), 400)
#' x <- tanh(y[, 1] - y[, 2]) + 0.2 * rnorm(400)
#' found <- kdr(x, y, k = 1)
#' found
#' summary <- predict(found)
#' plot(summary, x)
#' fit <- kbr(x, summary)
#' plot(found, "columns")
#' predict(fit, predict(found, y[1:3, ]))
#' @export
kdr <- function(x, ...) UseMethod("kdr")

#' @rdname kdr
#' @export
kdr.default <- function(x, y, k = "auto", kernel_x = kernel_gaussian(),
                        kernel_y = kernel_gaussian(), eps = NULL,
                        scale = c("normal", "median", "sd", "none"),
                        column_steps = 5, direction_steps = 1, rank = 300,
                        rows = 1000, ...) {
  check_no_dots(...)
  if (missing(y)) bad_argument(NULL, "y", "the observations, one per row")
  x <- check_sample(x)
  y <- check_sample(y)
  check_paired(x, y)
  k <- check_kdr_k(k, ncol(y))
  kernel_x <- check_kernel(kernel_x)
  check_kernel_dimension(kernel_x, ncol(x))
  kernel_y <- check_smooth_kernel(kernel_y)
  check_kernel_dimension(kernel_y, ncol(y))
  settings <- list(
    kernel_x = kernel_x, kernel_y = kernel_y,
    eps = if (!is.null(eps)) check_positive(eps, "eps"),
    scale = check_choice(scale, c("normal", "median", "sd", "none")),
    column_steps = check_count(column_steps),
    direction_steps = check_size(direction_steps, 1, each = 3),
    rank = check_count(rank, 1), rows = check_count(rows, 1)
  )
  check_reduction(kernel_y, settings$direction_steps)
  kdr_fit(x, y, k, settings)
}

#' @rdname kdr
#' @export
kdr.kb_pairs <- function(x, ...) {
  refuse_second_y(...)
  kdr.default(x$x, x$y, ...)
}

# Points, at least two
check_sample <- function(x, arg = rlang::caller_arg(x)) {
  points <- check_points(x, arg)
  if (nrow(points) < 2) bad_argument(x, arg, "at least two points")
  points
}

kdr_fit <- function(x, y, k, settings) {
  names <- colnames(y)
  if (is.null(names)) names <- position_names(ncol(y), "y")
  scaling <- kdr_scaling(y, settings$scale)
  z <- kdr_scaled(scaling, y)
  states <- kdr_scaled(kdr_scaling(x, settings$scale), x)
  settings$kernel_x <- kernel_resolve(settings$kernel_x, states)
  targets <- kdr_targets(settings$kernel_x, states, settings$rank)
  choice <- if (identical(k, "auto")) kdr_choice(z, targets, settings)
  if (!is.null(choice)) k <- chosen_k(choice)
  found <- kdr_directions(z, targets, k, settings)
  rownames(found$directions) <- names(found$columns) <- names
  sealed(structure(
    c(found, list(
      choice = choice, summaries = z %*% unname(found$directions),
      scaling = scaling, settings = settings, named = !is.null(colnames(y))
    )),
    class = "kb_kdr"
  ))
}

check_kdr_k <- function(k, d) {
  fine <- identical(k, "auto") || is.numeric(k) && length(k) == 1 &&
    is.finite(k) && k > 0 && k <= d && (k < 1 || k == round(k))
  if (!isTRUE(fine)) {
    bad_argument(k, "k", paste0(
      '"auto", a whole number from 1 to ', d, ", the number of columns, or a ",
      "share between 0 and 1"
    ))
  }
  k
}

# Projections have fewer columns: no bandwidths by column
check_reduction <- function(kernel, steps) {
  if (steps > 1 && !takes_any_dimension(kernel)) {
    kb_abort(c(
      "{.arg direction_steps} above 1 needs one bandwidth for all columns.",
      x = "{.arg kernel_y} is {.code {format(kernel)}}."
    ), "argument", argument = "direction_steps", value = steps)
  }
}

takes_any_dimension <- function(kernel) {
  if (is_combined(kernel)) {
    return(all(vapply(kernel$parts, takes_any_dimension, NA)))
  }
  kernel$type != "rotation" && length(kernel$bandwidth) <= 1
}

# Methods ----------------------------------------------------------------------

#' @rdname kdr
#' @export
predict.kb_kdr <- function(object, newdata = NULL, ...) {
  check_no_dots(...)
  check_object(object)
  if (is.null(newdata)) {
    out <- object$summaries
  } else {
    y <- kdr_newdata(object, newdata)
    out <- kdr_scaled(object$scaling, y) %*% unname(object$directions)
    rownames(out) <- rownames(y)
  }
  colnames(out) <- paste0("kdr", seq_len(ncol(out)))
  out
}

kdr_newdata <- function(object, newdata) {
  d <- nrow(object$directions)
  if (is.numeric(newdata) && is.null(dim(newdata)) && d > 1) {
    newdata <- matrix(newdata, 1, dimnames = list(NULL, names(newdata)))
  }
  names <- rownames(object$directions)
  if (object$named && !is.null(colnames(newdata))) {
    newdata <- pick_columns(newdata, names, "newdata")
  }
  check_points_like(newdata, matrix(0, 1, d), "newdata")
}

#' @export
print.kb_kdr <- function(x, digits = 3, ...) {
  check_no_dots(...)
  check_object(x)
  show <- function(v) format(v, digits = digits)
  k <- ncol(x$directions)
  last <- x$steps[nrow(x$steps), ]
  share <- sum(x$values[seq_len(k)]) / sum(x$values)
  cat(
    "Kernel dimension reduction: ", counted(k, "direction"), " of ",
    counted(nrow(x$directions), "column"), ", from ",
    counted(nrow(x$summaries), "pair"), "\n",
    "  share of M:   ", show(100 * share), "%\n",
    "  steps:        ", nrow(x$steps), ", eps ", show(last$eps),
    ", relative error ", show(last$error), "\n",
    if (!is.null(x$choice)) {
      paste0("  k chosen from: ", toString(x$choice$k), "\n")
    },
    sep = ""
  )
  for (j in seq_len(min(k, 5))) {
    cat("  kdr", j, ": ", leading_columns(x$directions[, j], show), "\n",
      sep = ""
    )
  }
  if (k > 5) cat("  and", k - 5, "more\n")
  invisible(x)
}

# The largest elements of a direction, with their names
leading_columns <- function(direction, show, most = 4) {
  top <- utils::head(order(-abs(direction)), most)
  text <- paste(show(round(direction[top], 3)), names(direction)[top])
  if (length(direction) > most) text <- c(text, "...")
  toString(text)
}

# The directions of kdr(): its steps, and the choice of their number.

#' Directions of z that predict the targets
#'
#' A stage is the regression on z times `map` (d x m) with its M.
#' @param k A whole number, or a share of the trace of M.
#' @return List of `directions`, `values`, `columns` and `steps`.
#' @noRd
kdr_directions <- function(z, targets, k, settings) {
  found <- weight_columns(z, targets, settings)
  stage <- found$stage
  steps <- found$steps
  if (k < 1) k <- share_count(eigen_values(stage$moment), k)
  kept <- reduced_dimensions(ncol(z), k, settings$direction_steps)
  for (dimension in kept) {
    inside <- leading_axes(stage$inner, dimension)
    stage <- kdr_stage(z, targets, stage$map %*% inside, settings)
    steps <- rbind(steps, step_line("directions", stage))
  }
  list(
    directions = signed(leading_axes(stage$moment, k)),
    values = eigen_values(stage$moment), columns = sqrt(diag(stage$moment)),
    steps = steps
  )
}

kdr_stage <- function(z, targets, map, settings) {
  mapped <- z %*% map
  kernel <- kernel_resolve(settings$kernel_y, mapped)
  fit <- kdr_ridge(mapped, targets, kernel, settings$rank, settings$eps)
  n <- nrow(z)
  at <- if (n > settings$rows) spread_over(n, settings$rows) else seq_len(n)
  inner <- gradient_moment(fit, mapped[at, , drop = FALSE])
  # Gradients in z are `map` times those in its image.
  list(
    map = map, inner = inner, moment = map %*% inner %*% t(map),
    error = fit$error, eps = fit$eps
  )
}

# Steps with column weights, (K37), while the error falls by a hundredth
weight_columns <- function(z, targets, settings) {
  stage <- kdr_stage(z, targets, diag(ncol(z)), settings)
  steps <- step_line("columns", stage)
  for (i in seq_len(settings$column_steps)) {
    relevance <- sqrt(diag(stage$moment))
    if (max(relevance) == 0) break
    map <- diag(relevance / max(relevance), ncol(z))
    tried <- kdr_stage(z, targets, map, settings)
    if (tried$error > 0.99 * stage$error) break
    stage <- tried
    steps <- rbind(steps, step_line("columns", stage))
  }
  list(stage = stage, steps = steps)
}

step_line <- function(step, stage) {
  data.frame(
    step = step, dimension = ncol(stage$map), eps = stage$eps,
    error = stage$error
  )
}

# Dimensions between d and k, both left out, in equal ratios
reduced_dimensions <- function(d, k, steps) {
  at <- round(d * (k / d)^(seq_len(steps - 1) / steps))
  unique(at[at > k & at < d])
}

# Eigenvectors of the largest eigenvalues
leading_axes <- function(moment, k) {
  eigen(moment, symmetric = TRUE)$vectors[, seq_len(k), drop = FALSE]
}

eigen_values <- function(moment) {
  pmax(eigen(moment, symmetric = TRUE, only.values = TRUE)$values, 0)
}

# The largest element of each direction is positive
signed <- function(directions) {
  sign <- apply(directions, 2, function(v) sign(v[which.max(abs(v))]))
  sweep(directions, 2, sign, "*")
}

share_count <- function(values, share) {
  max(1, sum(cumsum(values) < share * sum(values)) + 1)
}

# The number of directions -----------------------------------------------------

#' Errors of numbers of directions on rows that did not find them
#'
#' Three blocks of rows; each is predicted from the others.
#' @return Data frame of `k`, `error` (relative to the variance) and `se`, of
#'   the difference from the least error.
#' @noRd
kdr_choice <- function(z, targets, settings, folds = 3, most = 2000) {
  n <- nrow(z)
  at <- if (n > most) spread_over(n, most) else seq_len(n)
  z <- z[at, , drop = FALSE]
  targets <- targets[at, , drop = FALSE]
  ks <- c(1:6, 8, 10, 12, 15, 20)
  ks <- ks[ks <= ncol(z)]
  settings$rows <- min(settings$rows, 500)
  settings$rank <- min(settings$rank, 150)
  fold <- sort(rep_len(seq_len(min(folds, nrow(z))), nrow(z)))
  losses <- lapply(unique(fold), function(i) {
    fold_losses(z, targets, fold == i, ks, settings)
  })
  losses <- do.call(rbind, losses)
  apart <- losses - losses[, which.min(colMeans(losses))]
  data.frame(
    k = ks, error = colMeans(losses) / mean(rowSums(targets^2)),
    se = apply(apart, 2, stats::sd) / sqrt(nrow(z)) / mean(rowSums(targets^2))
  )
}

# Squared errors of the held rows, one column per number of directions
fold_losses <- function(z, targets, held, ks, settings) {
  train <- z[!held, , drop = FALSE]
  known <- targets[!held, , drop = FALSE]
  axes <- leading_axes(
    weight_columns(train, known, settings)$stage$moment, max(ks)
  )
  losses <- vapply(ks, function(k) {
    map <- axes[, seq_len(k), drop = FALSE]
    projected_losses(z %*% map, targets, held, settings)
  }, numeric(sum(held)))
  matrix(losses, sum(held))
}

# The kernel of a projection has no bandwidths by column
projected_losses <- function(z, targets, held, settings) {
  train <- z[!held, , drop = FALSE]
  kernel <- kernel_gaussian(finite_median(train))
  fit <- kdr_ridge(
    train, targets[!held, , drop = FALSE], kernel, settings$rank, settings$eps
  )
  found <- kdr_predict(fit, z[held, , drop = FALSE])
  rowSums((targets[held, , drop = FALSE] - found)^2)
}

# As few as explain nearly as much as the best number
chosen_k <- function(choice, enough = 0.99) {
  explained <- 1 - choice$error
  choice$k[[which(explained >= max(explained) - (1 - enough) *
    max(explained, 0))[[1]]]]
}

# Plots of kdr().

#' @rdname kdr
#' @param type For `plot()`, which returns `x`: `"values"`, the eigenvalues of M as
#'   shares of its trace, those of the directions in blue; `"choice"`, for `k =
#'   "auto"` the error by the number of directions, with standard errors of the
#'   difference from the least; `"columns"`, the root mean square gradient along each
#'   column, the largest first.
#' @param n The largest number of eigenvalues or columns shown, at least 1.
#' @export
plot.kb_kdr <- function(x, type = c("values", "choice", "columns"), n = 20,
                        ...) {
  draw_picture(kdr_picture(x, type, n), x, ...)
}

#' @rdname autoplot.kb_srvm
#' @exportS3Method ggplot2::autoplot
autoplot.kb_kdr <- autoplot_of(plot.kb_kdr)

kdr_picture <- function(x, type, n) {
  check_object(x)
  type <- check_choice(type, c("values", "choice", "columns"))
  n <- check_count(n, 1)
  if (type == "choice" && is.null(x$choice)) {
    bad_argument(type, "type", '"values" or "columns" where `k` was given')
  }
  new_picture(switch(type,
    values = kdr_values_panel(x, n),
    choice = kdr_choice_panel(x$choice, ncol(x$directions)),
    columns = kdr_columns_panel(x$columns, n)
  ))
}

kdr_values_panel <- function(x, n) {
  share <- utils::head(x$values / max(sum(x$values), 1e-300), n)
  at <- seq_along(share)
  groups <- c("directions", "left out")
  of <- groups[1 + (at > ncol(x$directions))]
  by <- groups(NULL, groups, paint(c("blue", "grey")))
  panel(
    "eigenvalue", "share of the trace",
    layer("ranges", columns(x = at, ymin = 0, ymax = share, group = of),
      lwd = 2, by = by
    ),
    points_layer(at, share, size = 1, group = of, by = by),
    ylim = 0, ticks = "whole"
  )
}

kdr_choice_panel <- function(choice, k) {
  panel(
    "number of directions", "relative error",
    rule_layer(x = k, label = "chosen"),
    ranges_layer(choice$k, choice$error - choice$se, choice$error + choice$se,
      lwd = 2, label = "one standard error"
    ),
    lines_layer(choice$k, choice$error),
    points_layer(choice$k, choice$error, size = 1),
    ticks = "whole"
  )
}

kdr_columns_panel <- function(columns, n) {
  top <- utils::head(sort(columns, decreasing = TRUE), n)
  at <- seq_along(top)
  panel(
    "", "root mean square gradient",
    layer("bars", columns(x = at, y = as.vector(top))),
    ticks = names(top), xlim = c(0.4, length(top) + 0.6), ylim = 0
  )
}
