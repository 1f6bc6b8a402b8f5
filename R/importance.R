# Which predictors matter.

#' Which predictors matter
#'
#' The scale \eqn{\lambda_l}{lambda_l} of a predictor in the kernel
#' \eqn{\exp(-\sum_l \lambda_l (x_l - c_l)^2)}{exp(-sum_l lambda_l (x_l -
#' c_l)^2)} says how fast the function changes along it: one of scale 0 has no
#' effect. Scales belong to the predictors as the model sees them; standardised
#' ones (`scale = TRUE`) can be compared.
#'
#' @param object A fit of [bark()].
#' @param level Probability inside the equal-tailed intervals.
#' @param x An object of class `kb_importance`.
#' @param type What to draw: the `"scale"` of each predictor as a box (median,
#'   quartiles, and whiskers at the ends of the interval), its `"inclusion"`
#'   probability as a bar, or `"both"`, one above the other. `NULL`: both for
#'   priors that select, else the scales.
#' @param transform The axis of the scales: `"sqrt"`, or `"none"`.
#' @param n The number of predictors shown, those of the largest inclusion
#'   probability and mean, in the order of the columns.
#' @param digits Number of significant digits.
#' @param ... For `plot()` titles, limits and axes, as in
#'   [graphics::plot.default()]; otherwise not used: unknown arguments are
#'   errors.
#'
#' @return A data frame of class `kb_importance` with one line a column of the
#'   predictors (an indicator for each level of a factor), in their order:
#'   `variable`, `mean` of the scale, `lower`, `q25`, `median`, `q75`, `upper`,
#'   and `inclusion`, the posterior probability that the predictor is in the
#'   kernel (1 for priors that do not select). Where a predictor is not in the
#'   kernel its scale counts as 0. With `bark_prior(own_scales = TRUE)` the
#'   scale is the mean over the kernels, and `inclusion` the posterior mean of
#'   the share of kernels that the predictor is in; kernels (but the intercept)
#'   count by the size of their coefficients. `print()` shows the `n` that matter most;
#'   `plot()` returns `x`, invisibly.
#' @section Errors: `kb_error_not_defined` for other objects.
#' @references
#' Ouyang, Z., Clyde, M. A. and Wolpert, R. L. (2008). *Bayesian additive
#' regression kernels*. Department of Statistical Science, Duke University;
#' figures 1 to 3 are such boxes.
#' @examples
#' data <- sim_friedman(60, p = 7, seed = 1)[c("y", paste0("x", 1:7))]
#' fit <- bark(y ~ ., data,
#'   control = mcmc_control(chains = 2, warmup = 200, iter = 90), seed = 1
#' )
#' importance(fit)
#' plot(importance(fit))
#' @export
importance <- function(object, ...) UseMethod("importance")

#' @export
importance.default <- function(object, ...) not_defined("importance", object)

#' @rdname importance
#' @export
importance.kb_bark <- function(object, level = 0.9, ...) {
  check_no_dots(...)
  object <- migrate_fit(object)
  level <- check_number(level, 0, 1, open = TRUE)
  pool <- bark_pool(object)
  scales <- bark_scales(object, pool)
  included <- bark_included(object, pool)
  scale_table(object, scales, included, level)
}

#' @param scales,included A row a draw and a column a predictor.
#' @noRd
scale_table <- function(object, scales, included, level) {
  ends <- interval_ends(level)
  q <- apply(scales, 2, stats::quantile,
    c(ends[[1]], 0.25, 0.5, 0.75, ends[[2]]),
    names = FALSE
  )
  structure(
    data.frame(
      variable = object$mould$x_names, mean = colMeans(scales),
      lower = q[1, ], q25 = q[2, ], median = q[3, ], q75 = q[4, ],
      upper = q[5, ],
      inclusion = colMeans(included)
    ),
    level = level, selects = bark_selects(object$settings$prior$type),
    class = c("kb_importance", "data.frame")
  )
}

#' The lines that matter most, the first at the top
#' @noRd
most_important <- function(x, n) {
  order <- order(-x$inclusion, -x$mean)
  order[seq_len(min(n, length(order)))]
}

#' Does the prior select? Parts of the table no longer know
#' @noRd
tells_inclusion <- function(x) {
  isTRUE(attr(x, "selects")) || any(x$inclusion < 1)
}

#' @rdname importance
#' @export
print.kb_importance <- function(x, n = 10, digits = 3, ...) {
  check_no_dots(...)
  columns <- c("variable", "mean", "lower", "median", "upper", "inclusion")
  if (!all(columns %in% names(x))) {
    # Columns were taken out of it.
    return(invisible(print(as.data.frame(x), digits = digits)))
  }
  if (!tells_inclusion(x)) columns <- setdiff(columns, "inclusion")
  chosen <- most_important(x, check_count(n, 1))
  cat("Scales of the predictors", if (!is.null(attr(x, "level"))) {
    paste0(" (", 100 * attr(x, "level"), "% intervals)")
  }, "\n", sep = "")
  plain <- as.data.frame(unclass(x)[columns])[chosen, ]
  scales <- setdiff(columns, c("variable", "inclusion"))
  plain[scales] <- format_alike(plain[scales], digits)
  print(plain, digits = digits, row.names = FALSE)
  if (length(chosen) < nrow(x)) {
    cat("and", counted(nrow(x) - length(chosen), "more predictor"), "\n")
  }
  invisible(x)
}

#' Columns with as many decimals as the largest number needs
#' @noRd
format_alike <- function(columns, digits) {
  largest <- max(unlist(columns), 0)
  size <- if (largest > 0) floor(log10(largest)) else 0
  decimals <- max(0, digits - 1 - size)
  lapply(columns, function(v) formatC(v, decimals, format = "f"))
}

#' @rdname importance
#' @importFrom graphics plot
#' @export
plot.kb_importance <- function(x, type = NULL, transform = c("sqrt", "none"),
                               n = 30, ...) {
  check_plot_dots(list(...))
  types <- c("scale", "inclusion", "both")
  if (is.null(type)) {
    type <- if (tells_inclusion(x)) "both" else "scale"
  }
  type <- check_choice(type, types)
  transform <- check_choice(transform, c("sqrt", "none"))
  shown <- x[sort(most_important(x, check_count(n, 1))), ]
  if (type == "both" && all(graphics::par("mfrow") == 1)) {
    old <- graphics::par(mfrow = c(2, 1), mar = c(4.2, 4.1, 1.6, 1))
    on.exit(graphics::par(old))
  }
  if (type != "inclusion") draw_scales(shown, transform, ...)
  dots <- list(...)
  if (type == "both") dots <- dots[setdiff(names(dots), c("main", "ylim"))]
  if (type != "scale") do.call(draw_inclusion, c(list(shown), dots))
  invisible(x)
}

#' A box a predictor, whiskers at the ends of the interval
#' @noRd
draw_scales <- function(x, transform, ...) {
  root <- transform == "sqrt"
  map <- if (root) sqrt else identity
  boxes <- rbind(x$lower, x$q25, x$median, x$q75, x$upper)
  at <- seq_len(nrow(x))
  dots <- list(...)
  limits <- dots$ylim
  if (is.null(limits)) limits <- c(0, max(boxes))
  dots$ylim <- map(limits)
  do.call(base_plot, c(list(list(
    x = at, y = map(boxes[3, ]), type = "n", xlab = "", ylab = "scale lambda",
    xlim = range(at) + c(-0.6, 0.6), xaxt = "n", yaxt = "n"
  )), dots))
  graphics::bxp(
    list(
      stats = map(boxes), n = rep(1, nrow(x)), out = numeric(),
      group = numeric(), names = x$variable
    ),
    at = at, add = TRUE, axes = FALSE, boxwex = 0.6, whisklty = 1,
    boxfill = kb_colour("sky", 0.6), border = kb_colour("blue"),
    medlwd = 2, staplewex = 0.4
  )
  graphics::points(at, map(x$mean), pch = 18, col = kb_colour("orange"))
  if (isFALSE(dots$axes)) {
    return(invisible())
  }
  if (is.null(dots$yaxt)) {
    ticks <- if (root) root_ticks(limits) else pretty(limits)
    graphics::axis(2, map(ticks), ticks, las = 1, mgp = c(3, 0.7, 0))
  }
  if (is.null(dots$xaxt)) variable_axis(at, x$variable)
  key_above(list(
    median = list(lwd = 2, col = kb_colour("blue")),
    mean = list(pch = 18, col = kb_colour("orange"))
  ))
}

#' Ticks that are round numbers and evenly apart after the root
#' @noRd
root_ticks <- function(limits) {
  roots <- seq(sqrt(max(limits[[1]], 0)), sqrt(limits[[2]]), length.out = 6)
  unique(signif(roots^2, 1))
}

#' @noRd
draw_inclusion <- function(x, ...) {
  at <- seq_len(nrow(x))
  base_plot(list(
    x = at, y = x$inclusion, type = "h", xlab = "", lend = 1,
    ylab = "P(included)", ylim = c(0, 1), xaxt = "n",
    xlim = range(at) + c(-0.6, 0.6), lwd = max(2, 120 / nrow(x)),
    col = kb_colour("blue")
  ), ...)
  dots <- list(...)
  if (is.null(dots$xaxt) && !isFALSE(dots$axes)) variable_axis(at, x$variable)
}

#' Names of the predictors; upright where they would run into each other
#' @noRd
variable_axis <- function(at, names) {
  names <- ifelse(nchar(names) > 12, paste0(substr(names, 1, 10), ".."), names)
  room <- graphics::par("pin")[[1]] / length(at)
  upright <- any(graphics::strwidth(names, "inches") > 0.9 * room)
  graphics::axis(1, at, names,
    las = if (upright) 2 else 1, mgp = c(3, if (upright) 0.5 else 0.7, 0),
    cex.axis = if (upright) 0.8 else 1
  )
}
