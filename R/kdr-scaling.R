# Scaling of columns for kdr(): monotone maps, learned once.

#' @param scale `"normal"`, `"median"`, `"sd"` or `"none"`.
#' @return List of `scale` and, for `"normal"`, `knots`, a list with `at` and
#'   `score` for each column; otherwise `center` and `unit`.
#' @noRd
kdr_scaling <- function(y, scale) {
  columns <- seq_len(ncol(y))
  if (scale == "normal") {
    return(list(
      scale = scale, knots = lapply(columns, function(j) score_knots(y[, j]))
    ))
  }
  moments <- switch(scale,
    none = list(center = rep(0, ncol(y)), scale = rep(1, ncol(y))),
    column_moments(y)
  )
  if (scale == "median") {
    spread <- apply(y, 2, stats::mad)
    moments$center <- apply(y, 2, stats::median)
    moments$scale <- ifelse(spread > 0, spread, moments$scale)
  }
  list(scale = scale, center = unname(moments$center), unit = moments$scale)
}

# Normal scores at up to 200 of the distinct values; ties share their mean rank
score_knots <- function(v, most = 200) {
  at <- sort(unique(v))
  rank <- cumsum(tabulate(match(v, at), length(at)))
  middle <- (c(0, rank[-length(at)]) + rank) / 2
  kept <- unique(round(seq(1, length(at), length.out = most)))
  list(at = at[kept], score = stats::qnorm(middle[kept] / length(v)))
}

kdr_scaled <- function(scaling, y) {
  if (scaling$scale == "normal") {
    out <- vapply(seq_len(ncol(y)), function(j) {
      normal_score(scaling$knots[[j]], y[, j])
    }, numeric(nrow(y)))
    return(matrix(out, nrow(y)))
  }
  out <- sweep(sweep(unname(y), 2, scaling$center), 2, scaling$unit, "/")
  if (scaling$scale == "median") out <- pmin(pmax(out, -3), 3)
  out
}

# Beyond the data the score is that of the last value
normal_score <- function(knots, v) {
  if (length(knots$at) == 1) {
    return(rep(0, length(v)))
  }
  stats::approx(knots$at, knots$score, v, rule = 2)$y
}
