# Priors of the rates at which labels are wrong.

#' Priors of the rate of wrong labels
#'
#' Priors for [kgs()]: how often labels are wrong, overall or by class.
#'
#' `noise_beta()`: any label is wrong with the same unknown probability q, and
#' then each of the other classes is equally likely; the prior of q is a Beta(a,
#' b) distribution below (C - 1) / C, the rate of guessing among C classes.
#' `noise_class()`: each of two classes has its own rate, the probability that a
#' point of the first class is labelled as the second, and the reverse; both
#' have Beta(a, b) priors, and their sum is below 1. A number instead of a prior
#' is a known q.
#' @param a,b Positive numbers, the parameters of the Beta distribution. The
#'   defaults are uniform.
#' @return An object of class `kb_noise_beta` or `kb_noise_class`, and
#'   `kb_label_noise`.
#' @examples
#' noise_beta(1, 9)
#' noise_class()
#' @name label_noise_prior
NULL

#' @rdname label_noise_prior
#' @export
noise_beta <- function(a = 1, b = 1) new_label_noise(a, b, "beta")

#' @rdname label_noise_prior
#' @export
noise_class <- function(a = 1, b = 1) new_label_noise(a, b, "class")

new_label_noise <- function(a, b, kind) {
  structure(
    list(
      kind = kind, a = check_number(a, 0, open = TRUE),
      b = check_number(b, 0, open = TRUE)
    ),
    class = c(paste0("kb_noise_", kind), "kb_label_noise")
  )
}

#' A prior, or a known rate
#' @param classes Their number.
#' @return A list as the sampler reads it, with `kind`.
#' @noRd
check_label_noise <- function(noise, classes) {
  guessing <- (classes - 1) / classes
  if (inherits(noise, "kb_noise_fixed")) noise <- unclass(noise)$rate
  if (is.numeric(noise)) {
    known <- length(noise) == 1 && is.finite(noise) && noise >= 0 &&
      noise < guessing
    if (!known) {
      bad_argument(noise, "noise", paste0(
        "`noise_beta()`, `noise_class()` or a number from 0 to below ",
        format(guessing, digits = 3), ", the rate of guessing"
      ))
    }
    return(structure(list(kind = "fixed", rate = as.double(noise)),
      class = c("kb_noise_fixed", "kb_label_noise")
    ))
  }
  noise <- check_class(noise, "kb_label_noise",
    "`noise_beta()`, `noise_class()` or a number"
  )
  if (noise$kind == "class" && classes > 2) {
    kb_abort(c(
      "{.fn noise_class} is for two classes.",
      x = "The response has {classes} classes.", i = "Use {.fn noise_beta}."
    ), "argument", argument = "noise")
  }
  noise
}

#' @export
format.kb_label_noise <- function(x, digits = 3, ...) {
  if (x$kind == "fixed") {
    return(paste("known,", format(x$rate, digits = digits)))
  }
  paste0(
    "noise_", x$kind, "(", format(x$a, digits = digits), ", ",
    format(x$b, digits = digits), ")"
  )
}

#' @export
print.kb_label_noise <- function(x, ...) {
  cat(format(x, ...), "\n", sep = "")
  invisible(x)
}

# Probabilities that training labels are wrong.

#' Probability that each label is wrong
#'
#' `label_noise(fit)` has the posterior probability that each training label is
#' wrong: near 1 for labels deep in the other class, near 0 for those far from all
#' others. With a `nugget` the class of a row is the sign of f plus a term specific
#' to the row, so that a label may be surprising without being wrong.
#' @param object A fit of [kgs()].
#' @param x An object of class `kb_label_flips`.
#' @param n The number of rows shown, the most suspicious first.
#' @param digits Number of significant digits.
#' @param ... For `plot()` titles, limits and axes, as in
#'   [graphics::plot.default()]; otherwise not used: unknown arguments are
#'   errors.
#' @return A data frame of class `kb_label_flips` with one line per training
#'   row, in the order given (without omitted rows): `row`, `label` (a factor)
#'   and `probability`, the share of the draws in which the label is wrong. The
#'   sum over the rows is the posterior mean of the number of wrong labels.
#'   `plot()` draws one bar per row and returns `x`, invisibly.
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

# The reject option: error against coverage.

#' Error rate among decided rows
#'
#' `reject_curve(fit, newdata)`: a classifier that may leave rows undecided makes
#' fewer errors on the others. Rows below a threshold for the largest probability of
#' a true class are left undecided, see `threshold` of [predict.kb_kgs()].
#' @inheritParams label_noise
#' @param newdata New rows, in the form given to the fit. Missing: the training
#'   rows, whose labels the fit has already used.
#' @param newy The classes of `newdata`; formula fits take them from `newdata`.
#'   Rows with missing values are dropped.
#' @param complement See [predict.kb_kgs()].
#' @param x An object of class `kb_reject_curve`.
#' @return A data frame of class `kb_reject_curve` with one line for each value
#'   of the largest probability among the rows, starting with the most certain:
#'   `coverage`, the share of the rows that are decided; `error`, the share of
#'   these whose class differs from the label as given; `threshold`. `print()`
#'   shows the coverages just above 10%, 20%, ...; `plot()` draws the curve and
#'   returns `x`, invisibly.
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
