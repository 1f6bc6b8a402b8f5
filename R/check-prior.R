# prior_predictive_check(): is an observation like those of the fit?

#' Is an observation like those of the simulations?
#'
#' `prior_predictive_check(fit, observed)` compares observations with those of the
#' fit: a posterior at an observation that the simulator would never give says
#' nothing about reality.
#' @section P-value:
#' Up to 1000 observations of the fit, at even steps, are references, which give all
#' directions unit variance. The outlier factor f of an observation is its distance
#' to the 15th nearest reference, relative to the mean of the same distances of these
#' 15 references (Breunig and others, 2000). It is compared with those of the other
#' observations of the fit (up to 10000), \deqn{p = \frac{1 + \#\{f_i \ge f\}}{1 +
#' m}.}{p = (1 + #(f_i >= f)) / (1 + m).} The null hypothesis is that the new
#' observation and those of the fit are exchangeable, whatever the prior of the fit
#' is: then P(p <= a) <= a for any sample size, distribution and dimension. The
#' smallest possible p is 1 / (1 + m): with fewer than 197 pairs it is above 0.01.
#' The p-values of the columns are two-sided and of one column at a time; some
#' misfits show in no single column.
#' @param object A fit of [kbr()].
#' @param newdata Observations, one per row, see [predict.kb_kbr()].
#' @param x An object of class `kb_prior_predictive_check`.
#' @param n Number of rows to print, those with the smallest p first.
#' @param digits Number of significant digits.
#' @param ... Not used: unknown arguments are errors.
#' @return An object of class `kb_prior_predictive_check`: a list of
#' * `observations`: data frame with one line per row of `newdata`: `row`,
#'   `factor` (1: as near to others as they are to each other) and `p`; `NA`
#'   for rows with missing values.
#' * `columns`: matrix of the p-values of columns, one row per row of `newdata`.
#' * `references`, `others`: numbers of observations of the fit that are
#'   references, and that are compared.
#' @section Warnings: `kb_warning_misspecified` where p is 0.01 or less.
#' @section Errors: `kb_error_not_defined` for fits of [chunks][kbr_chunks] and of
#'   kernel matrices; `kb_error_argument` for fewer than 20 pairs.
#' @references
#' Breunig, M. M., Kriegel, H.-P., Ng, R. T. and Sander, J. (2000). LOF:
#' identifying density-based local outliers. *ACM SIGMOD Conference on
#' Management of Data*, 93-104.
#' @seealso [posterior_predictive_check()], [calibrate()].
#' @examples
#' pairs <- kbr_simulate(
#'   function(n) rnorm(n),
#'   function(x) cbind(u = x, v = 2 * x) + rnorm(length(x)),
#'   n = 400, seed = 1
#' )
#' fit <- kbr(pairs)
#' prior_predictive_check(fit, c(u = 1, v = 1.5))
#' # each value is usual, but not both together
#' suppressWarnings(prior_predictive_check(fit, c(u = 2, v = -3)))
#' @export
prior_predictive_check <- function(object, ...) {
  UseMethod("prior_predictive_check")
}

#' @export
prior_predictive_check.default <- function(object, ...) {
  not_defined("prior_predictive_check", object, "kbr")
}

#' @rdname prior_predictive_check
#' @export
prior_predictive_check.kb_kbr <- function(object, newdata, ...) {
  object <- checked_fit(object, ...)
  need_observations(object, "prior_predictive_check")
  known <- object$data$observations
  if (missing(newdata)) bad_argument(NULL, "newdata", "observations")
  if (nrow(known) < least_pairs) {
    bad_argument(object, "object", paste("a fit of", least_pairs, "pairs"))
  }
  y <- new_observations(object, newdata)
  complete <- stats::complete.cases(y)
  found <- neighbour_p(y[complete, , drop = FALSE], known)
  at <- match(seq_along(complete), which(complete))
  out <- structure(list(
    observations = data.frame(
      row = seq_along(complete), factor = found$factor[at], p = found$p[at]
    ),
    columns = column_p(y[complete, , drop = FALSE], known)[at, , drop = FALSE],
    references = found$references, others = found$others
  ), class = "kb_prior_predictive_check")
  warn_misspecified(out)
  out
}

need_observations <- function(fit, what) {
  if (nrow(fit$data$observations) == 0 ||
    is.null(fit$features$observations$kernel)) {
    kb_abort(c(
      "{.fn {what}} is not defined for this fit.",
      x = "It has no observations: it is of chunks or of a kernel matrix."
    ), "not_defined")
  }
}

# Observations in the columns of the fit, not scaled
new_observations <- function(fit, newdata) {
  mould_forge(fit$mould, observation_rows(fit, newdata))$x
}

warn_misspecified <- function(check) {
  far <- which(check$observations$p <= 0.01)
  if (length(far) == 0) {
    return(invisible())
  }
  n <- nrow(check$observations)
  p <- apply(check$columns[far, , drop = FALSE], 2, min)
  odd <- utils::head(names(sort(p[p <= 0.01])), 3)
  kb_warn(c(
    "Observations are unlike those of the fit: p is 0.01 or less.",
    x = "{length(far)} of {n} observation{?s} {?is/are} unlike them.",
    x = if (length(odd) > 0) "Unusual column{?s}: {.val {odd}}.",
    i = "The posterior there is an extrapolation. Perhaps the simulator lacks
         something that the data have."
  ), "misspecified")
}

#' @rdname prior_predictive_check
#' @export
print.kb_prior_predictive_check <- function(x, n = 10, digits = 2, ...) {
  check_no_dots(...)
  n <- check_count(n, 1)
  seen <- x$observations
  cat(
    "Prior predictive check: ", counted(nrow(seen), "observation"),
    " among ", x$others, " of the fit\n",
    sep = ""
  )
  shown <- utils::head(order(seen$p), n)
  table <- seen[shown, ]
  least <- apply(x$columns[shown, , drop = FALSE], 1, function(p) {
    if (anyNA(p)) NA else which.min(p)
  })
  table$`most unusual column` <- colnames(x$columns)[least]
  table$`its p` <- x$columns[cbind(shown, least)]
  print(table, digits = digits, row.names = FALSE)
  far <- sum(seen$p <= 0.01, na.rm = TRUE)
  cat(if (far > 0) {
    paste("Unlike the observations of the fit (p <= 0.01):", far, "\n")
  } else {
    "None is unlike the observations of the fit (p <= 0.01).\n"
  })
  invisible(x)
}

# Pictures of draws from the prior on the scale of the response. Coefficients
# have heavy tails, so the axis cannot show all draws, but it says how many it
# leaves out.

# The data and the central 80% of the draws, at most two ranges of the data
# beyond the data
prior_limits <- function(y, draws) {
  y <- range(y, na.rm = TRUE)
  most <- stats::quantile(draws, c(0.1, 0.9), names = FALSE)
  # Where the data have no range, the draws decide.
  far <- if (diff(y) > 0) y + c(-2, 2) * diff(y) else c(-1e100, 1e100)
  out <- c(
    min(y, max(most[[1]], far[[1]])), max(y, min(most[[2]], far[[2]]))
  )
  if (min(y, draws) >= 0) out[[1]] <- 0
  out
}

# Of pictures of a fit; shares of successes have an axis of their own
picture_limits <- function(x, draws) {
  if (identical(x$mould$outcome, "trials")) {
    return(c(0, 1))
  }
  prior_limits(axis_numbers(x, training_response(x)), draws)
}

# Responses on an axis, those that are censored at their known end
axis_numbers <- function(fit, y) {
  switch(fit$mould$outcome, trials = y[, 1], interval = middle_of(y), y)
}

# Which shares of the draws are beyond the limits, or NULL
beyond_words <- function(draws, limits) {
  shares <- c(
    smaller = mean(draws < limits[[1]]), larger = mean(draws > limits[[2]])
  )
  shares <- shares[shares > 0]
  if (length(shares) == 0) {
    return(NULL)
  }
  percent <- paste0(round(100 * shares), "%")
  percent[shares < 0.01] <- "below 1%"
  paste0("beyond the axis: ", paste(percent, names(shares), collapse = ", "))
}

# The label of x, with what the axis of y leaves out
noted_label <- function(label, draws, crop) {
  words <- if (!is.null(crop)) beyond_words(draws, crop)
  if (is.null(words)) label else paste0(label, "  (draws ", words, ")")
}

# Numbers far outside the limits, at a distance from which nothing is seen
pull_in <- function(values, limits) {
  width <- if (diff(limits) > 0) diff(limits) else 1
  values[] <- pmin(pmax(values, limits[[1]] - width), limits[[2]] + width)
  values
}

# Curves -----------------------------------------------------------------------

#' Draws of what a curve shows the bands of
#' @param along From `curve_along()`.
#' @param link Of f instead of the expected response?
#' @noRd
prior_curves <- function(x, along, link = FALSE) {
  f <- predicted(x, along, type = "draws")
  if (link) {
    return(f)
  }
  family_of(x)$expected(x, f, bark_pool(x), seq_len(nrow(f)))
}

# A few of them as lines
drawn_curves_layer <- function(grid, draws, most = 8) {
  some <- spread_over(nrow(draws), min(nrow(draws), most))
  lines <- matrix_lines(grid, t(draws[some, , drop = FALSE]))
  layer("lines", data.frame(x = lines$x, y = lines$y, line = lines$group),
    colour = "orange", alpha = 0.8, label = paste(length(some), "prior draws")
  )
}

# Of f of ordered classes, whose latent noise has a standard deviation of 1
latent_limits <- function(cuts, f) prior_limits(range(cuts) + c(-3, 3), f)

# The prior of the expected response along the only variable
prior_curve_picture <- function(x, level, along) {
  bands <- function(level) {
    predicted(x, along, interval = "credible", level = level)
  }
  curves <- prior_curves(x, along)
  y <- shown_response(x)
  crop <- picture_limits(x, curves)
  new_picture(panel(
    noted_label(along$label, curves, crop), response_label(x),
    prior_band(along, level, bands, 0.2),
    prior_band(along, 0.5, bands, 0.45),
    points_layer(along$rows, y, colour = "grey", alpha = 0.8),
    drawn_curves_layer(along$at, curves),
    along_line(along, bands(0.5)[, "fit"], label = "prior median"),
    crop = crop, ticks = along$ticks, xlim = along$xlim
  ))
}

prior_band <- function(along, level, bands, alpha) {
  along_bands(along, bands(level),
    alpha = alpha, label = paste("prior,", percent_label(level, "interval"))
  )
}

# Several predictors: at the rows, in the order of the upper end of the inner
# band; limits are those of draws at some of them
prior_rows_picture <- function(x, level, most = 500) {
  half <- stats::predict(x, interval = "credible", level = 0.5)
  rows <- order(half[, "upr"])
  at <- seq_along(rows)
  bands <- function(level) {
    bands <- stats::predict(x, interval = "credible", level = level)
    bands[rows, , drop = FALSE]
  }
  some <- rows[spread_over(length(rows), min(length(rows), most))]
  f <- posterior_draws(x, wide_x(x, some), bark_pool(x))
  draws <- family_of(x)$expected(x, f, bark_pool(x), seq_len(nrow(f)))
  crop <- picture_limits(x, draws)
  new_picture(panel(
    noted_label("rows, by their prior", draws, crop), response_label(x),
    prior_band(list(at = at), level, bands, 0.2),
    prior_band(list(at = at), 0.5, bands, 0.45),
    points_layer(at, shown_response(x)[rows],
      colour = "grey", label = "observed"
    ),
    lines_layer(at, half[rows, "fit"],
      lwd = 2, label = "prior median"
    ),
    crop = crop
  ))
}
