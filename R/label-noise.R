# Probabilities that training labels are wrong.

#' Probability that each label is wrong
#'
#' The posterior probability that each training label is flipped, i.e. that the
#' observed label is not the class given by f.
#'
#' Labels deep in the other class have a probability near 1, labels far from all
#' others near 0; near the boundary a label is uncertain evidence. With a
#' `nugget` the class of a row is the sign of f plus a term specific to the row,
#' so that a label may be surprising without being wrong.
#'
#' @param object A fit of [kgs()].
#' @param x An object of class `kb_label_flips`.
#' @param n The number of rows shown, the most suspicious first.
#' @param digits Number of significant digits.
#' @param ... For `plot()` titles, limits and axes, as in
#'   [graphics::plot.default()]; otherwise not used: unknown arguments are
#'   errors.
#'
#' @return A data frame of class `kb_label_flips` with one line per training
#'   row, in the order given (without omitted rows): `row`, `label` (a factor)
#'   and `probability`, the share of the draws in which the label is wrong. The
#'   sum over the rows is the posterior mean of the number of wrong labels.
#'   `plot()` draws one bar per row and returns `x`, invisibly.
#' @section Errors: `kb_error_not_defined` for other objects, and for a fit that
#'   was stopped before its first draw.
#' @examples
#' moons <- sim_moons(80, flips = 0.1, seed = 1, truth = TRUE)
#' fit <- kgs(y ~ x1 + x2, moons, kernel = kernel_gaussian(0.5), seed = 1)
#' flips <- label_noise(fit)
#' flips
#' plot(flips)
#' # The labels that the simulator flipped:
#' which(moons$y != moons$clean)
#' @export
label_noise <- function(object, ...) UseMethod("label_noise")

#' @export
label_noise.default <- function(object, ...) {
  not_defined("label_noise", object, "kgs")
}

#' @rdname label_noise
#' @export
label_noise.kb_kgs <- function(object, ...) {
  object <- checked_fit(object, ...)
  label <- training_response(object)
  structure(
    data.frame(
      row = seq_along(label), label = label,
      probability = flip_probability(object)
    ),
    class = c("kb_label_flips", "data.frame")
  )
}

# Chains that were stopped early are not truncated here: each counts its own
# draws
flip_probability <- function(fit) {
  fit_runs(fit)
  begun <- draws_in(fit) > 0
  flipped <- lapply(fit$runs[begun], function(run) run$draws$flipped)
  Reduce(`+`, flipped) / sum(draws_in(fit)[begun])
}

most_suspicious <- function(x, n) {
  utils::head(order(-x$probability), check_count(n, 1))
}

#' @rdname label_noise
#' @export
print.kb_label_flips <- function(x, n = 10, digits = 3, ...) {
  check_no_dots(...)
  if (!all(c("row", "label", "probability") %in% names(x))) {
    # Columns were taken out of it.
    return(invisible(print(as.data.frame(x), digits = digits)))
  }
  shown <- most_suspicious(x, n)
  cat(
    "Wrong labels: ", format(sum(x$probability), digits = digits), " of ",
    nrow(x), " expected, ", sum(x$probability > 0.5),
    " more likely wrong than right\n",
    sep = ""
  )
  plain <- as.data.frame(unclass(x))[shown, ]
  print(plain, digits = digits, row.names = FALSE)
  if (length(shown) < nrow(x)) {
    cat("and", counted(nrow(x) - length(shown), "more row"), "\n")
  }
  invisible(x)
}

#' @rdname label_noise
#' @export
plot.kb_label_flips <- function(x, n = 30, ...) {
  draw_picture(flips_picture(x, n), x, ...)
}

#' @rdname autoplot.kb_srvm
#' @exportS3Method ggplot2::autoplot
autoplot.kb_label_flips <- autoplot_of(plot.kb_label_flips)

flips_picture <- function(x, n = 30) {
  shown <- most_suspicious(x, check_count(n, 1))
  at <- seq_along(shown)
  new_picture(panel(
    "row, the most suspicious first", "P(label is wrong)",
    layer("bars",
      data.frame(x = at, y = x$probability[shown], group = x$label[shown]),
      by = groups("label", levels(x$label))
    ),
    rule_layer(y = 0.5),
    xlim = c(0.5, length(at) + 0.5), ylim = 0:1,
    ticks = as.character(x$row[shown])
  ))
}
