# Plots of kdr().

#' Plot directions of kernel dimension reduction
#'
#' @param x A result of [kdr()].
#' @param type `"values"`: the eigenvalues of M as shares of its trace, those of
#'   the directions in blue. `"choice"`: for `k = "auto"` the error by the
#'   number of directions, with standard errors of the difference from the least
#'   error.
#'   `"columns"`: the root mean square gradient along each column, the largest
#'   first.
#' @param n The largest number of eigenvalues or columns shown, at least 1.
#' @param ... Titles, limits and axes, see [graphics::plot.default()].
#' @return `x`, invisibly.
#' @section Errors: `kb_error_argument` for arguments outside their range, and
#'   for `"choice"` where `k` was given.
#' @examples
#' set.seed(1)
#' y <- matrix(rnorm(2000), 200)
#' found <- kdr(y[, 1] * y[, 2] + 0.1 * rnorm(200), y, k = 2)
#' plot(found)
#' plot(found, "columns")
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
