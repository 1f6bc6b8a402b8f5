# The reject option: error against coverage.

#' Error rate among decided rows
#'
#' A classifier that may leave rows undecided makes fewer errors on the others.
#' The curve covers all thresholds for the largest probability of a true class:
#' rows below the threshold are left undecided, see `threshold` of
#' [predict.kb_kgs()].
#'
#' @param object A fit of [kgs()].
#' @param newdata New rows, in the form given to the fit. Missing: the training
#'   rows, whose labels the fit has already used.
#' @param newy The classes of `newdata`; formula fits take them from `newdata`.
#'   Rows with missing values are dropped.
#' @param complement See [predict.kb_kgs()].
#' @param x An object of class `kb_reject_curve`.
#' @param digits Number of significant digits.
#' @param ... For `plot()` titles, limits and axes, as in
#'   [graphics::plot.default()]; otherwise not used: unknown arguments are
#'   errors.
#'
#' @return A data frame of class `kb_reject_curve` with one line for each value
#'   of the largest probability among the rows, starting with the most certain:
#'   `coverage`, the share of the rows that are decided; `error`, the share of
#'   these whose class differs from the label as given; `threshold`. `print()`
#'   shows the coverages just above 10%, 20%, ...; `plot()` draws the curve and
#'   returns `x`, invisibly.
#' @section Errors: `kb_error_not_defined` for other objects; `kb_error_outcome`
#'   if there is no complete row; and those of [predict.kb_kgs()].
#' @examples
#' moons <- sim_moons(80, flips = 0.1, seed = 1)
#' fit <- kgs(y ~ x1 + x2, moons, kernel = kernel_gaussian(0.5), seed = 1)
#' new <- sim_moons(500, seed = 2)
#' curve <- reject_curve(fit, new)
#' curve
#' plot(curve)
#' @export
reject_curve <- function(object, ...) UseMethod("reject_curve")

#' @export
reject_curve.default <- function(object, ...) {
  not_defined("reject_curve", object, "kgs")
}

#' @rdname reject_curve
#' @export
reject_curve.kb_kgs <- function(object, newdata, newy = NULL,
                                complement = NULL, ...) {
  object <- checked_fit(object, ...)
  complement <- check_complement(complement, object)
  rows <- prediction_rows(object, newdata, newy, missing(newdata), TRUE)
  if (!any(rows$complete)) {
    kb_abort("{.arg newdata} has no row without missing values.", "outcome",
      argument = "newdata"
    )
  }
  x <- rows$x[rows$complete, , drop = FALSE]
  p <- kgs_probability(object, x, complement, recorded = FALSE)
  wrong <- most_probable(p, object$mould$levels) != rows$y[rows$complete]
  error_by_certainty(apply(p, 1, max), wrong)
}

error_by_certainty <- function(certain, wrong) {
  order <- order(-certain)
  certain <- certain[order]
  # Rows that are equally certain are decided together.
  last <- which(c(diff(certain) != 0, TRUE))
  structure(
    data.frame(
      coverage = last / length(certain),
      error = cumsum(wrong[order])[last] / last,
      threshold = certain[last]
    ),
    class = c("kb_reject_curve", "data.frame")
  )
}

#' @rdname reject_curve
#' @export
print.kb_reject_curve <- function(x, digits = 3, ...) {
  check_no_dots(...)
  plain <- as.data.frame(unclass(x))
  if (!is.null(x$coverage)) {
    wanted <- vapply(seq(0.1, 1, 0.1), function(share) {
      # 0.1 + ... + 0.1 may miss a coverage by rounding.
      which(x$coverage >= share - 1e-9)[1]
    }, 0L)
    plain <- plain[unique(wanted[!is.na(wanted)]), , drop = FALSE]
  }
  print(plain, digits = digits, row.names = FALSE)
  invisible(x)
}

#' @rdname reject_curve
#' @export
plot.kb_reject_curve <- function(x, ...) draw_picture(reject_picture(x), x, ...)

#' @rdname autoplot.kb_srvm
#' @exportS3Method ggplot2::autoplot
autoplot.kb_reject_curve <- autoplot_of(plot.kb_reject_curve)

reject_picture <- function(x) {
  new_picture(panel(
    "share of rows decided, the most certain first", "error among the decided",
    rule_layer(y = x$error[[nrow(x)]], label = "error where all are decided"),
    lines_layer(x$coverage, x$error, lwd = 2),
    xlim = 0:1, ylim = c(0, 0.01)
  ))
}
