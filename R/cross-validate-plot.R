# Pictures of cross-validation: calibration, and scores beside each other.

#' @rdname cross_validate
#' @param type `"calibration"`: for numbers how the share of rows with a PIT
#'   below each value differs from the expected one, with the band that holds
#'   the whole curve of a calibrated model in nine of ten cases; for classes the
#'   share of rows against their predicted probability, in groups of rows, with
#'   the shares expected of a calibrated model (90%). `"scores"`, for several
#'   models: the differences in elpd from the best, with two standard errors.
#' @export
plot.kb_cross_validation <- function(x, type = c("calibration", "scores"),
                                     ...) {
  draw_picture(validation_picture(x, type), x, ...)
}

#' @rdname autoplot.kb_srvm
#' @exportS3Method ggplot2::autoplot
autoplot.kb_cross_validation <- autoplot_of(plot.kb_cross_validation)

validation_picture <- function(x, type) {
  type <- check_choice(type, c("calibration", "scores"))
  models <- split(as.data.frame(x), x$model)
  if (type == "scores") {
    return(scores_picture(x))
  }
  by <- groups(NULL, names(models))
  new_picture(if ("pit" %in% names(x)) {
    pit_panel(models, by)
  } else {
    reliability_panel(models, by)
  })
}

scores_picture <- function(x) {
  table <- summary(x)
  if (nrow(table) == 1) {
    kb_abort(c(
      "There is one model: nothing to compare.",
      i = "{.fn cross_validate} takes a list of fits."
    ), "not_defined")
  }
  table <- table[order(-table$elpd), ]
  at <- seq_len(nrow(table))
  reach <- 2 * table$difference_se
  new_picture(panel(
    "", "log score, difference from the best",
    rule_layer(y = 0),
    ranges_layer(at, table$difference - reach, table$difference + reach,
      colour = "sky", lwd = 5, label = "two standard errors"
    ),
    points_layer(at, table$difference, size = 1, label = "sum over the rows"),
    ticks = table$model, xlim = c(0.4, nrow(table) + 0.6)
  ))
}

# A curve per model
curves_of <- function(models, curve) {
  do.call(rbind, Map(function(rows, name) {
    data.frame(curve(rows), group = name)
  }, models, names(models)))
}

pit_panel <- function(models, by) {
  # Kolmogorov: exceeded by chance in one of ten.
  bound <- 1.22 / sqrt(nrow(models[[1]]))
  at <- seq(0, 1, 0.01)
  panel(
    "PIT: predicted probability of a smaller response",
    "share of rows below, minus expected",
    ribbon_layer(at, pmax(-bound, -at), pmin(bound, 1 - at),
      colour = "grey", alpha = 0.2, label = "90% band if calibrated"
    ),
    rule_layer(y = 0, lty = 1),
    layer("lines", curves_of(models, pit_curve), lwd = 1.5, by = by),
    xlim = 0:1
  )
}

pit_curve <- function(rows) {
  at <- seq(0, 1, 0.01)
  data.frame(x = at, y = stats::ecdf(rows$pit)(at) - at)
}

reliability_panel <- function(models, by) {
  lines <- curves_of(models, reliability_curve)
  panel(
    "predicted probability, mean of a group of rows", "share of these rows",
    rule_layer(slope = 1, lty = 1),
    if (length(models) == 1) {
      layer("ranges", lines[c("x", "ymin", "ymax")],
        colour = "grey", alpha = 0.4, lwd = 4, label = "90% if calibrated"
      )
    },
    layer("lines", lines, lwd = 1.5, by = by),
    layer("points", lines, size = 1, by = by),
    xlim = 0:1, ylim = 0:1
  )
}

# For two classes the second, otherwise all: mean probability and share of rows
# in at most ten bins of equal size, with what calibrated probabilities give
reliability_curve <- function(rows) {
  p <- rows$probability
  hit <- diag(ncol(p))[as.integer(rows$response), , drop = FALSE]
  if (ncol(p) == 2) {
    p <- p[, 2]
    hit <- hit[, 2]
  }
  bins <- min(10, max(2, length(p) %/% 8))
  bin <- ceiling(bins * rank(p, ties.method = "first") / length(p))
  of <- function(f, v) as.vector(tapply(v, bin, f))
  n <- of(length, p)
  x <- of(mean, p)
  data.frame(
    x = x, y = of(mean, hit),
    ymin = stats::qbinom(0.05, n, x) / n, ymax = stats::qbinom(0.95, n, x) / n
  )
}
