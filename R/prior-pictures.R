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
