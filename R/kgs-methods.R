# Methods of kgs fits, apart from predict() and plot().

#' @export
print.kb_kgs <- function(x, digits = 3, ...) {
  x <- checked_fit(x, ...)
  print_chains(x, "Bayesian kernel classification under label noise",
    function(x, show) paste0(describe_kgs(x, show), describe_noise(x, show)),
    digits, paste0(", ", x$settings$method)
  )
}

# The lines of print() on data and features
describe_kgs <- function(x, show) {
  settings <- x$settings
  left <- settings$basis$unexplained
  paste0(
    formula_line(x),
    "  rows:         ", x$time,
    if (!is.null(x$data$weights)) " weighted", ", ",
    counted(ncol(x$data$x), "predictor"),
    if (!isFALSE(settings$scale)) ", standardised", omitted_part(x), "\n",
    logs_line(x),
    classes_line(x),
    "  kernel:       ", shorten(format(settings$kernel)), ", bias ",
    show(settings$bias), "\n",
    kgs_bandwidths_line(x, show), nugget_line(x, show),
    "  rank:         ", kgs_rank(x),
    if (left > 1e-4) paste0(", ", show(100 * left), "% unexplained"), "\n"
  )
}

# Learned: the median and the middle 90 percent
nugget_line <- function(x, show) {
  if (identical(x$settings$nugget, 0)) {
    return(NULL)
  }
  value <- show(x$settings$nugget)
  if (learns_nugget(x$settings)) {
    ends <- exp(stats::quantile(
      chain_matrices(x)$log_nugget, c(0.5, 0.05, 0.95),
      names = FALSE
    ))
    value <- paste0(
      show(ends[[1]]), " (", show(ends[[2]]), " to ", show(ends[[3]]), ")"
    )
  }
  paste0("  nugget:       ", value, "\n")
}

# Learned: medians in units of the scaled predictors
kgs_bandwidths_line <- function(x, show) {
  if (is.null(x$settings$noisy$learned)) {
    return(NULL)
  }
  medians <- exp(-apply(posterior_pool(x)$log_inverse, 1, stats::median))
  if (x$settings$kernel$bandwidth == "learn") {
    return(paste0("  bandwidth:    ", show(medians[[1]]), "\n"))
  }
  bandwidths_text(medians, colnames(x$data$x), show)
}

# The lines of print() on wrong labels
describe_noise <- function(x, show) {
  chains <- chain_matrices(x)
  range <- function(v) {
    ends <- stats::quantile(v, c(0.05, 0.95), names = FALSE)
    paste0(show(mean(v)), " (", show(ends[[1]]), " to ", show(ends[[2]]), ")")
  }
  rates <- kgs_rate_names(x)
  paste0(
    "  label noise:  ",
    if (length(rates) == 0) {
      show(x$settings$noise$rate)
    } else {
      paste(rates, vapply(chains[rates], range, ""), collapse = ", ")
    },
    "\n  wrong labels: ", range(chains$errors), " of ", x$time,
    ", expected\n"
  )
}

# Summary ----------------------------------------------------------------------

#' Summary, coefficients and log likelihood of a kgs fit
#'
#' `summary(fit)` has the parameters and the labels that are most likely wrong.
#' @param object A fit of [kgs()].
#' @param level Probability of the intervals.
#' @param ... Not used: unknown arguments are errors.
#' @return
#' * `summary()`: a list of class `summary.kb_kgs`: `fit`, `level`, `parameters` (as
#'   [tidy()][tidy.kb_kgs]), `confusion` (table of the training labels by the
#'   most probable class), `label_noise` (see [label_noise()]), `diagnostics`.
#' * `coef()`: a vector named by training rows (with more than two classes a matrix,
#'   one column per class): f at the Bayes point is the sum of coefficients
#'   times the kernel, its bias included, with these rows, see [bayes_point()].
#'   At high rank only their sum is meaningful.
#' * `logLik()`: the log likelihood of the training labels, including wrong ones,
#'   under the posterior predictive probabilities; `df` is the dimension of the
#'   span's sphere plus the number of learned rates. To compare models use
#'   `evidence()`.
#' @examples
#' moons <- sim_moons(80, flips = 0.1, seed = 1)
#' fit <- kgs(y ~ x1 + x2, moons, kernel = kernel_gaussian(0.5), seed = 1)
#' summary(fit)
#' head(coef(fit))
#' logLik(fit)
#' @export
summary.kb_kgs <- function(object, level = 0.9, ...) {
  object <- checked_fit(object, ...)
  level <- check_number(level, 0, 1, open = TRUE)
  structure(
    list(
      fit = object, level = level,
      parameters = generics::tidy(object, conf.level = level),
      confusion = table(
        label = training_response(object), class = stats::fitted(object)
      ),
      label_noise = label_noise(object), diagnostics = diagnostics(object)
    ),
    class = "summary.kb_kgs"
  )
}

#' @export
print.summary.kb_kgs <- function(x, digits = 3, ...) {
  check_no_dots(...)
  print_posterior(x, digits)
  cat("\nTraining rows\n")
  print(x$confusion)
  cat("\n")
  print(x$label_noise, n = 5, digits = digits)
  cat("\n")
  print(x$diagnostics, digits = digits)
  invisible(x)
}

# Methods of stats -------------------------------------------------------------

#' @rdname summary.kb_kgs
#' @export
logLik.kb_kgs <- function(object, ...) {
  object <- checked_fit(object, ...)
  coordinates <- kgs_rank(object) * kgs_functions(object)
  structure(
    sum_copies(object, stats::predict(object, type = "log_score")),
    df = coordinates - 1 + length(kgs_rate_names(object)),
    nobs = stats::nobs(object), class = "logLik"
  )
}

#' @rdname summary.kb_kgs
#' @export
coef.kb_kgs <- function(object, ...) {
  object <- checked_fit(object, ...)
  alpha <- stats::coef(bayes_point(object))
  x <- scaling_x(object$settings$scaling, object$data$x)
  rows <- order(which_pivot(object$settings$basis, x))
  rows <- rows[seq_len(NROW(alpha))]
  if (is.matrix(alpha)) rownames(alpha) <- rows else names(alpha) <- rows
  alpha
}

#' @export
sigma.kb_kgs <- function(object, ...) {
  object <- checked_fit(object)
  kb_abort(c(
    "{.fn sigma} is not defined for classes.",
    i = "{.fn tidy} has the rate of wrong labels."
  ), "not_defined")
}

#' Probabilities of labels given draws, wrong ones included
#' @param rows From `prediction_rows()`.
#' @return Array S x N x C, NA where rows are not complete.
#' @noRd
label_probability <- function(fit, rows, pool, chosen) {
  x <- rows$x[rows$complete, , drop = FALSE]
  pool <- pool_subset(pool, chosen)
  p <- class_draws(fit, x, pool, check_complement(NULL, fit))
  p <- noisy_draws(fit, p, pool)
  size <- dim(p)
  p <- spread_rows(matrix(p, size[[1]]), rows$complete)
  aperm(array(p, c(nrow(p), size[-1])), c(2, 1, 3))
}

pool_subset <- function(pool, chosen) {
  if (!is.null(pool$log_s)) {
    return(noisy_pool_subset(pool, chosen))
  }
  list(
    w = pool$w[chosen, , , drop = FALSE],
    rates = pool$rates[chosen, , drop = FALSE],
    wrong = pool$wrong[chosen, , drop = FALSE],
    weights = rep(1 / length(chosen), length(chosen))
  )
}

#' @export
response_draws.kb_kgs <- function(fit, rows, pool, chosen) {
  label_draws(label_probability(fit, rows, pool, chosen))
}

#' As `response_draws()`
#' @param p As in `draw_labels()`.
#' @noRd
label_draws <- function(p) {
  labels <- draw_labels(p)
  if (dim(p)[[3]] == 2) labels - 1L else labels
}

#' A label for each of S x N, from R's generator
#' @param p Array S x N x C.
#' @return Integer matrix, the number of the level.
#' @noRd
draw_labels <- function(p) {
  size <- dim(p)
  u <- matrix(stats::runif(prod(size[1:2])), size[[1]], size[[2]])
  below <- 0 * u
  out <- 1L + 0L * (u > 2)
  for (c in seq_len(size[[3]] - 1)) {
    below <- below + matrix(p[, , c], size[[1]], size[[2]])
    out <- out + (u > below)
  }
  out
}

# Accessors --------------------------------------------------------------------

#' @export
inclusion.kb_kgs <- function(object, ...) no_sparse_centres("inclusion")

#' @export
model_size.kb_kgs <- function(object, ...) no_sparse_centres("model_size")

no_sparse_centres <- function(what) {
  kb_abort(c(
    "{.fn {what}} is not defined for fits of {.fn kgs}.",
    x = "Every training point contributes to each draw.",
    i = "{.fn bayes_point} with {.arg centres} keeps a few points."
  ), "not_defined")
}

#' @export
ancestry.kb_kgs <- function(object, ...) {
  object <- checked_fit(object)
  kb_abort("{.fn ancestry} is not defined for chains: they have no genealogy.",
    "not_defined"
  )
}

# Log likelihood of all labels given each draw, one column per chain
label_log_likelihood <- function(fit) {
  classes <- fit$settings$classes
  total <- as.vector(table(fit$data$y))
  draws <- lapply(fit_runs(fit), `[[`, "draws")
  by_class <- fit$settings$noise$kind == "class"
  of_chain <- function(d) {
    wrong <- matrix(d$wrong, classes)
    if (!by_class) {
      wrong <- colSums(wrong)
      return(count_log(sum(total) - wrong, 1 - d$rates) +
        count_log(wrong, d$rates / (classes - 1)))
    }
    rates <- matrix(d$rates, 2)
    # A wrong label of one class belongs to a point of the other.
    colSums(count_log(total - wrong, 1 - rates) +
      count_log(wrong, rates[2:1, , drop = FALSE]))
  }
  n <- length(draws[[1]]$wrong) / classes
  matrix(vapply(draws, of_chain, numeric(n)), n)
}

# n log p, with 0 log 0 = 0
count_log <- function(n, p) ifelse(n == 0, 0, n * log(p))

#' Plots of Bayesian kernel classification
#'
#' `plot(fit)` shows classes over the plane, with boundaries and the rows.
#' @param x A fit of [kgs()].
#' @param type What to draw:
#' * `"boundary"`: with one predictor the probabilities of the true class along it;
#'   otherwise, over the plane of two predictors (all others at their median or most
#'   frequent level), the most probable true class in its colour, and the boundary
#'   between classes. A circle marks labels that are more likely wrong than right.
#' * `"reject"`: error rate among the decided rows against their share, see
#'   [reject_curve()].
#' * `"noise"`: the labels most likely wrong, see [label_noise()].
#' * `"trace"`: number and rate of wrong labels at each kept iteration, one line
#'   per chain (with [noise_class()] both rates; f at a row if the rate is
#'   known); the axis begins after the warmup.
#' * `"trace_density"`: the same, with the distribution of each chain's draws beside it.
#' * `"f"`: f with a credible band along a single predictor, for two classes; f
#'   at the training rows in increasing order with credible intervals otherwise,
#'   with more than two classes f of the first.
#' @param variable For `"boundary"`: the names of two variables that are numbers;
#'   `NULL`: those along which f changes most when their values are permuted. With
#'   fewer than two numbers the probabilities are drawn along the variable, or
#'   at the levels of the factor, that matters most.
#' @param complement For `"boundary"` and `"reject"`: see [predict.kb_kgs()];
#'   `FALSE` draws the votes, as in the paper.
#' @param newdata,newy For `"reject"`: the rows, see [reject_curve()]; `NULL`:
#'   the training rows.
#' @param level Probability inside bands and intervals, for `"f"`.
#' @param n Number of points of a curve; `NULL`: 200. For a plane along each
#'   side; `NULL`: 70.
#' @inheritParams plot.kb_srvm
#' @details Curves and planes average over at most 400 draws.
#' @return `x`, invisibly.
#' @examples
#' moons <- sim_moons(80, flips = 0.1, seed = 1)
#' fit <- kgs(y ~ x1 + x2, moons, kernel = kernel_gaussian(0.5), seed = 1)
#' plot(fit)
#' plot(fit, type = "noise")
#' plot(fit, type = "reject", newdata = sim_moons(500, seed = 2))
#' @export
plot.kb_kgs <- function(x,
                        type = c(
                          "boundary", "reject", "noise", "trace", "f",
                          "trace_density"
                        ),
                        variable = NULL, complement = NULL, newdata = NULL,
                        newy = NULL, level = 0.9, n = NULL, ...) {
  draw_picture(kgs_picture(
    x, type, variable, complement, newdata, newy, level, n,
    c(complement = !missing(complement), level = !missing(level))
  ), x, ...)
}

#' @rdname autoplot.kb_srvm
#' @exportS3Method ggplot2::autoplot
autoplot.kb_kgs <- autoplot_of(plot.kb_kgs)

#' @param given Which of the arguments with defaults the caller has given.
#' @noRd
kgs_picture <- function(x, type, variable, complement, newdata, newy, level, n,
                        given) {
  x <- checked_fit(x)
  type <- check_choice(type, eval(formals(plot.kb_kgs)$type))
  used <- switch(type,
    boundary = c("variable", "complement", "n"),
    reject = c("complement", "newdata", "newy"),
    f = c("level", "n")
  )
  refuse_ignored(type, c(
    given,
    variable = !is.null(variable), newdata = !is.null(newdata),
    newy = !is.null(newy), n = !is.null(n)
  ), used, "plot.kb_kgs")
  complement <- check_complement(complement, x)
  level <- check_number(level, 0, 1, open = TRUE)
  if (!is.null(n)) {
    n <- check_size(n, 2, each = if (type == "boundary") n else 3)
  }
  switch(type,
    boundary = boundary_picture(x, variable, complement, n),
    reject = reject_picture(plotted_rejects(x, newdata, newy, complement)),
    noise = flips_picture(label_noise(x)),
    trace = chains_picture(x, kgs_trace_labels(x)),
    trace_density = chains_picture(x, kgs_trace_labels(x), TRUE),
    f = function_picture(x, level, if (is.null(n)) 200 else n)
  )
}

plotted_rejects <- function(x, newdata, newy, complement) {
  if (is.null(newdata)) {
    return(reject_curve(x, newy = newy, complement = complement))
  }
  reject_curve(x, newdata, newy, complement)
}

kgs_trace_labels <- function(x) {
  rates <- kgs_rate_names(x)
  if (length(rates) == 2) {
    classes <- gsub("^q\\[|\\]$", "", rates)
    return(stats::setNames(paste("wrong share of", classes), rates))
  }
  second <- if (length(rates) == 1) rates else names(watched_functions(x))[[1]]
  label <- if (length(rates) == 1) "rate of wrong labels" else second
  stats::setNames(c("wrong labels", label), c("errors", second))
}

# Classes ----------------------------------------------------------------------

# Probabilities along the only predictor, or the boundaries in a plane of two,
# with circles about the labels that are more likely wrong
boundary_picture <- function(x, variable, complement, n) {
  probability <- function(points) drawn_probability(x, points, complement)
  frame <- variable_frame(x)
  parts <- variable_parts(frame)
  if (length(parts) == 1 && is.null(variable)) {
    along <- curve_along(x, if (is.null(n)) 200 else n)
    wrong <- wrong_labels(x, along$rows, class_heights(x))
    return(class_curves_picture(x, along, probability, wrong))
  }
  leading <- if (is.null(variable)) leading_of_functions(x) else {
    check_variables(x$mould, variable, names(numeric_parts(x$mould, frame)), 2)
  }
  leading_picture(x, leading, n, 70, probability, function(across, up) {
    wrong_labels(x, across, up)
  })
}

# The variables along which f changes most
leading_of_functions <- function(x) {
  pool <- posterior_pool(x)
  draws <- length(pool$weights)
  inputs <- permuted_inputs(x)
  changes <- changes_when_permuted(x, function(points, chosen) {
    f <- latent_draws(x, points, pool, chosen)
    lapply(seq_len(dim(f)[[3]]), function(k) matrix(f[, , k], nrow(points)))
  }, spread_over(draws, min(draws, 100)), inputs)
  share <- colMeans(change_shares(changes))
  names(inputs)[order(-share)]
}

wrong_labels <- function(x, across, up) {
  wrong <- flip_probability(x) > 0.5
  points_layer(across[wrong], up[wrong],
    shape = 1, size = 1.7, lwd = 1.5, colour = "black",
    label = "label likely wrong"
  )
}

# Probabilities of true classes at points in their own units, from some of the
# draws
drawn_probability <- function(x, points, complement, most = 400) {
  pool <- posterior_pool(x)
  draws <- length(pool$weights)
  pool <- pool_subset(pool, spread_over(draws, min(draws, most)))
  blocks <- lapply(row_blocks(points, length(pool$weights)), function(rows) {
    p <- class_draws(x, points[rows, , drop = FALSE], pool, complement)
    apply(p, c(1, 3), mean)
  })
  do.call(rbind, blocks)
}

# Planes -----------------------------------------------------------------------

# Numbers and times that are no codes of levels
numeric_parts <- function(mould, frame) {
  parts <- variable_parts(frame)
  parts[vapply(names(parts), function(name) {
    is_measured(parts[[name]]) && !is_coded(mould, part_owner(frame, name))
  }, NA)]
}

#' Classes over the plane of the first two numbers, or their probabilities along
#' the first variable
#' @param leading Names of variables.
#' @param usual Points along each side of the plane if n is NULL.
#' @param marks Function of the coordinates of rows: a layer or NULL.
#' @noRd
leading_picture <- function(x, leading, n, usual, probability,
                            marks = function(across, up) NULL) {
  frame <- variable_frame(x)
  numbers <- names(numeric_parts(x$mould, frame))
  owners <- vapply(numbers, part_owner, "", frame = frame)
  rank <- ifelse(numbers %in% leading, numbers, owners)
  plane <- numbers[order(match(rank, leading))]
  if (length(plane) > 1) {
    return(plane_picture(
      x, plane[1:2], if (is.null(n)) usual else n, probability, marks
    ))
  }
  known <- setdiff(leading, names(frame)[vapply(frame, is.matrix, NA)])
  along <- curve_along(x, if (is.null(n)) 200 else n, c(plane, known)[[1]])
  class_curves_picture(x, along, probability,
    marks(along$rows, class_heights(x))
  )
}

#' The most probable class over a plane of two variables in its colour, white
#' where all are equally probable, with boundaries and the rows
#' @param plane Names of two numbers.
#' @param probability Function of points.
#' @noRd
plane_picture <- function(x, plane, n, probability,
                          marks = function(across, up) NULL) {
  across <- curve_along(x, n, plane[[1]], 0.05)
  up <- curve_along(x, n, plane[[2]], 0.05)
  points <- across$points[rep(seq_len(n), n), , drop = FALSE]
  points <- set_parts(points, stats::setNames(
    list(rep(up$at, each = n)), plane[[2]]
  ))
  p <- probability(rows_of_variables(x$mould, points))
  least <- 1 / ncol(p)
  by <- class_groups(x)
  cells <- expand.grid(x = across$at, y = up$at)
  tiles <- data.frame(cells,
    group = by$levels[max.col(p, ties.method = "first")],
    alpha = 0.4 * (apply(p, 1, max) - least) / (1 - least)
  )
  new_picture(do.call(panel, c(
    list(across$label, up$label),
    list(layer("tiles", tiles, by = utils::modifyList(by, list(key = FALSE)))),
    boundary_layers(p, cells),
    list(points_layer(across$rows, up$rows,
      group = training_response(x), by = by
    )),
    list(marks(across$rows, up$rows)),
    list(xlim = range(across$at), ylim = range(up$at), tight = TRUE)
  )))
}

boundary_layers <- function(p, cells) {
  at <- function(z, levels, ...) {
    contour_layer(cbind(cells, z = z), levels, colour = "black", ...)
  }
  if (ncol(p) == 2) {
    return(list(
      at(p[, 2], 0.5, lwd = 2, label = "boundary"),
      at(p[, 2], c(0.1, 0.9), lty = 3, label = "probability 0.1, 0.9")
    ))
  }
  lapply(seq_len(ncol(p)), function(c) {
    at(p[, c] - apply(p[, -c, drop = FALSE], 1, max), 0,
      lwd = 1.5, label = "boundary"
    )
  })
}

# f ----------------------------------------------------------------------------

# Median and credible limits of f at points, n x 3
function_bands <- function(x, points, level, most = 400) {
  pool <- posterior_pool(x)
  draws <- length(pool$weights)
  chosen <- spread_over(draws, min(draws, most))
  f <- latent_draws(x, points, pool, chosen)
  f <- matrix(f[, , 1], nrow(points))
  out <- t(apply(f, 1, stats::quantile, c(0.5, interval_ends(level))))
  colnames(out) <- c("fit", "lwr", "upr")
  out
}

# f along a single predictor, or at the training rows in increasing order
function_picture <- function(x, level, n) {
  if (!has_one_variable(x) || kgs_functions(x) > 1) {
    of <- if (x$settings$classes > 2) paste(" of", x$mould$levels[[1]])
    bands <- function_bands(x, training_x(x), level)
    return(rows_picture(x, bands, 0, level, "f", paste0("latent f", of)))
  }
  along <- curve_along(x, n)
  points <- rows_of_variables(x$mould, along$points)
  bands <- function_bands(x, points, level)
  rug <- function(class, side) {
    rows <- training_response(x) == x$mould$levels[[class]]
    ends <- data.frame(x = along$rows[rows], group = training_response(x)[rows])
    layer("rug", ends, side = side, by = class_groups(x))
  }
  new_picture(panel(
    along$label, "latent f",
    along_bands(along, bands,
      alpha = 0.5, label = percent_label(level, "credible interval")
    ),
    rule_layer(y = 0),
    along_line(along, bands[, "fit"], label = "median of f"),
    rug(1, "bottom"), rug(2, "top"),
    ticks = along$ticks, xlim = along$xlim
  ))
}
