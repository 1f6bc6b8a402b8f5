# Pictures of draws from the prior on the scale of the response. Coefficients have
# heavy tails, so the axis cannot show all draws: it says how many it leaves out.

# The data and the central half of the draws, as far as two ranges of the data
# beyond them
prior_limits <- function(y, draws) {
  y <- range(y, na.rm = TRUE)
  half <- stats::quantile(draws, c(0.25, 0.75), names = FALSE)
  # Where the data have no range, the draws decide.
  far <- if (diff(y) > 0) y + c(-2, 2) * diff(y) else c(-1e100, 1e100)
  c(min(y, max(half[[1]], far[[1]])), max(y, min(half[[2]], far[[2]])))
}

# What of the draws is not within the limits, or NULL
beyond_words <- function(draws, limits, what) {
  shares <- c(below = mean(draws < limits[[1]]), above = mean(draws > limits[[2]]))
  shares <- shares[shares > 0]
  if (length(shares) == 0) {
    return(NULL)
  }
  percent <- format_percent(shares)
  paste0(
    "Not shown: ", paste(percent, "of", what, names(shares), collapse = " and "),
    " the axis"
  )
}

format_percent <- function(share) {
  ifelse(share < 0.01, "less than 1%", paste0(round(100 * share), "%"))
}

# Numbers far outside the limits, at a distance from which nothing is seen
pull_in <- function(values, limits) {
  width <- max(diff(limits), 1)
  values[] <- pmin(pmax(values, limits[[1]] - width), limits[[2]] + width)
  values
}

# Curves ------------------------------------------------------------------------

#' Draws of what a curve shows the bands of, at points of a grid
#' @param link Of f instead of the expected response?
#' @noRd
prior_curves <- function(x, grid, link = FALSE) {
  f <- predicted(x, grid, type = "draws")
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
    colour = "orange", alpha = 0.8, label = paste(length(some), "draws")
  )
}

# Names of what is drawn
of_prior <- function(x, label) {
  if (is_prior_only(x)) paste(label, "(prior)") else label
}

# Several predictors: intervals of the prior at the rows, which it can hardly tell
# apart, by what was observed
prior_rows_picture <- function(x, level) {
  y <- shown_response(x)
  known <- which(!is.na(y))
  y <- y[known]
  at <- rank(y, ties.method = "first")
  bands <- stats::predict(x, interval = "credible", level = level)[known, ]
  draws <- bands[, c("lwr", "upr"), drop = FALSE]
  crop <- prior_limits(y, draws)
  name <- response_label(x)
  what <- if (is_glm(x)) "expected" else "f"
  new_picture(panel(
    paste("rows, by observed", name), name,
    ranges_layer(at, draws[, 1], draws[, 2],
      colour = "sky", alpha = 0.5,
      label = of_prior(x, percent_label(level, what))
    ),
    points_layer(at, bands[, "fit"], colour = "blue", shape = 3,
      label = of_prior(x, "median")
    ),
    points_layer(at, y, colour = "grey", label = "observed"),
    crop = crop, note = if (any(draws < crop[[1]] | draws > crop[[2]])) {
      "Intervals go on beyond the axis"
    }
  ))
}
