# The help page of the plots with ggplot2. Each method is next to its plot() and
# is registered when ggplot2 is loaded.

#' Plots with ggplot2
#'
#' `ggplot2::autoplot(fit)` is the same plot as `plot(fit)`, as an object to which
#' scales, themes, facets and layers can be added, in the colours of Okabe and Ito.
#' @param object A fit of [srvm()], [bark()], [kgs()], [kbr()] or [tdsmc()], or
#'   the result of [kbr_filter()], [importance()], [partial_dependence()],
#'   [reject_curve()], [label_noise()], [cross_validate()], [order_spread()],
#'   [select_kernel()], [tune_kbr()], [kdr()], [calibrate()],
#'   [posterior_predictive_check()], [kernel_mean()] or
#'   [`evidence()`][evidence.kb_kgs] of a fit of `kgs()`.
#' @param type The types of `plot()`, described in [plot.kb_srvm()], [plot.kb_bark()],
#'   [plot.kb_kgs()], [plot.kb_kbr()], [plot.kb_tdsmc()], [importance()],
#'   [select_kernel()] and [kdr()]. The first is the default.
#' @param level Probability of intervals.
#' @param n Number of points of a curve, or along each side of a grid; `NULL`:
#'   as `plot()`. For tables the number of lines shown.
#' @param variable,complement,newy See [plot.kb_kgs()].
#' @param newdata For `kbr()` fits one observation; for `kgs()` see
#'   [plot.kb_kgs()].
#' @param columns For `kbr()` and its filters: columns of the states, names or
#'   numbers.
#' @param truth For `kbr_filter()` the true states, see [plot.kb_kbr_path()].
#' @param ... Not used: unknown arguments are errors.
#' @return A ggplot object.
#' @examplesIf requireNamespace("ggplot2", quietly = TRUE)
#' data <- sim_sinc(50, seed = 1)
#' fit <- srvm(y ~ x, data, kernel = kernel_gaussian(0.3), seed = 1)
#' ggplot2::autoplot(fit) + ggplot2::theme_minimal()
#' ggplot2::autoplot(fit, "ess")
#' @name autoplot.kb_srvm
NULL

# The method of autoplot() for a method of plot(), with the same arguments and
# the same picture
autoplot_of <- function(plot) {
  names(formals(plot))[[1]] <- "object"
  body(plot) <- do.call(substitute, list(body(plot), list(
    x = quote(object), draw_picture = quote(gg_picture)
  )))
  plot
}
