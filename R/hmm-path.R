# Paths of states: code shared by filters, forecasts and smoothers. Weights of
# the training states at each time are computed from coefficients when needed.

#' Weights at times, in blocks of the same kind so that memory is bounded
#' @param use Function of `weights` (times x states), `location` and `t`.
#' @noRd
for_path <- function(object, use, times = seq_len(path_length(object))) {
  key <- path_keys(object)[times]
  runs <- split(times, cumsum(c(TRUE, key[-1] != key[-length(key)])))
  size <- nrow(object$hmm$pairs$from)
  blocks <- unlist(lapply(unname(runs), function(run) {
    unname(split(run, (seq_along(run) - 1) %/% max(1, floor(5e6 / size))))
  }), recursive = FALSE)
  lapply(blocks, function(t) {
    found <- path_weights(object, t)
    use(found$weights, found$location, t)
  })
}

path_length <- function(object) UseMethod("path_length")
path_keys <- function(object) UseMethod("path_keys")
path_weights <- function(object, t) UseMethod("path_weights")

# What predict() returns, by type
path_mean <- function(object) UseMethod("path_mean")
path_map <- function(object) UseMethod("path_map")
path_sd <- function(object) UseMethod("path_sd")
path_quantiles <- function(object, probs) UseMethod("path_quantiles")
path_radius <- function(object, probs) UseMethod("path_radius")
path_all_weights <- function(object) UseMethod("path_all_weights")
path_draws <- function(object, ndraws) UseMethod("path_draws")

# Share of the weights' absolute mass that is negative, by time, or NULL
path_negative <- function(object) UseMethod("path_negative")

#' @export
path_length.kb_kbr_filter <- function(object) length(object$kind)
#' @export
path_keys.kb_kbr_filter <- function(object) object$kind
#' @export
path_weights.kb_kbr_filter <- function(object, t) step_weights(object, t)

# States at which weights live, `location` "seen", "from" or "to"
path_states <- function(object, location) {
  object$hmm$states[[location]]
}

# Their codes, the input of the kernel
path_codes <- function(object, location) {
  object$hmm$codes[[location]]
}

#' Predicted states along a path
#'
#' `predict(filtered)` has means of the states, `plot(filtered)` shows them.
#' @param object,x Of [kbr_filter()], [kbr_forecast()] or [kbr_smooth()].
#' @param type `"mean"`, `"map"`, `"sd"`, `"quantile"`, `"radius"`, `"weights"`
#'   or `"draws"`, as in [predict.kb_kbr()], in the space of the states: means
#'   and modes of angles are angles, those of rotations are rotations. `"sd"` is
#'   the circular standard deviation for angles, and for rotations the square
#'   root of the expected squared Frobenius distance from the mean. Quantiles are
#'   those of the states' coordinates: their columns, the angle, or yaw, pitch
#'   and roll, about the mean. `"radius"` is that of the ball about the mean
#'   that holds the state with probability `probs`: distances of vectors, angles
#'   in radians. `"weights"` are those of models of kernel Bayes' rule.
#' @param probs For `"quantile"` and `"radius"` (default 0.9): probabilities
#'   between 0 and 1.
#' @param ndraws For `"draws"`: how many, at least 1.
#' @inheritParams label_noise
#' @return With T times, d columns of states and n training states: `"mean"` and
#'   `"map"` T x d (the latter with the attribute `converged`), `"sd"` T x d (T
#'   x 1 for angles and rotations), `"quantile"` T x coordinates x
#'   probabilities, `"radius"` T x probabilities, `"weights"` T x n with the
#'   attribute `locations`: for each time whether they are weights of the states
#'   that were `"seen"` with an observation, or of the transitions' states
#'   `"from"` or `"to"` (if their numbers differ, n is the larger one and `NA`
#'   fills the rest); `"draws"` draws x d x T.
#'
#'   `summary()`: a list of class `summary.kb_kbr_path`: `times`, `negative` (share
#'   of the weights' absolute mass that is negative, by time; `NULL` for particles),
#'   and with `truth` `distance` (of the means from the true states, in the space of
#'   the states: Euclidean, angle in radians, Frobenius) and `mse` (mean of its
#'   square). `augment()`: a data frame with one line per time: `time`, the
#'   observations (of filters), and for each coordinate `.fitted_<name>`,
#'   `.lower_<name>` and `.upper_<name>`.
#' @examples
#' seen <- sim_linear_hmm(100, seed = 1)
#' hmm <- kbr_hmm(seen$states, seen$observations)
#' filtered <- kbr_filter(hmm, c(0.3, 0.5, 1.2))
#' predict(filtered)
#' predict(filtered, type = "quantile")
#' summary(filtered, truth = c(0, 0.2, 0.7))
#' augment(filtered)
#' plot(filtered)
#' @export
predict.kb_kbr_path <- function(object,
                              type = c(
                                "mean", "map", "sd", "quantile", "radius",
                                "weights", "draws"
                              ), probs = NULL, ndraws = NULL, ...) {
  object <- checked_fit(object, ...)
  type <- check_choice(type, c(
    "mean", "map", "sd", "quantile", "radius", "weights", "draws"
  ))
  refuse_type_arguments(list(probs = probs, ndraws = ndraws), type,
    list(probs = c("quantile", "radius"), ndraws = "draws")
  )
  switch(type,
    mean = path_mean(object),
    map = path_map(object),
    sd = path_sd(object),
    quantile = path_quantiles(object, check_kbr_probs(probs)),
    radius = path_radius(
      object, if (is.null(probs)) 0.9 else check_probs(probs)
    ),
    weights = path_all_weights(object),
    draws = path_draws(object, ndraws)
  )
}

#' @export
path_mean.kb_kbr_path <- function(object) {
  space <- object$hmm$space
  code <- do.call(rbind, for_path(object, function(w, location, t) {
    w %*% space_encode(space, path_states(object, location))
  }))
  out <- space_decode(space, code)
  dimnames(out) <- list(NULL, space$names)
  out
}

# For circles and rotations (K27)
#' @export
path_sd.kb_kbr_path <- function(object) {
  space <- object$hmm$space
  out <- do.call(rbind, for_path(object, function(w, location, t) {
    code <- space_encode(space, path_states(object, location))
    mean <- w %*% code
    if (space$type == "euclidean") {
      return(w %*% code^2 - mean^2)
    }
    length <- rowSums(mean^2)
    if (space$type == "circle") {
      return(matrix(pmax(-log(pmin(length, 1)), 0)))
    }
    nearest <- space_decode(space, mean)
    matrix(6 - 2 * rowSums(mean * nearest))
  }))
  out[out < 0] <- NA
  colnames(out) <- if (space$type == "euclidean") space$names
  sqrt(out)
}

# What `kernel_mean_points()` returns, for weights of a path
path_mean_points <- function(object, w, location) {
  features <- object$hmm$pairs[[location]]
  list(
    points = path_states(object, location),
    scaled = path_codes(object, location), weights = w,
    value = features %*% crossprod(features, t(w))
  )
}

#' @export
path_map.kb_kbr_path <- function(object) {
  hmm <- object$hmm
  modes <- for_path(object, function(w, location, t) {
    kernel_modes(
      path_mean_points(object, w, location), hmm$basis_states$kernel,
      w %*% path_codes(object, location)
    )
  })
  scaled <- do.call(rbind, lapply(modes, `[[`, "x"))
  code <- unscale(hmm$settings$scaling$states, scaled)
  out <- space_decode(hmm$space, code)
  dimnames(out) <- list(NULL, hmm$space$names)
  structure(out, converged = unlist(lapply(modes, `[[`, "converged")))
}

#' @export
path_quantiles.kb_kbr_path <- function(object, probs) {
  space <- object$hmm$space
  centre <- space_coordinates(space, path_mean(object))
  circular <- attr(centre, "circular")
  out <- empty_quantiles(centre, probs)
  for_path(object, function(w, location, t) {
    at <- space_coordinates(space, path_states(object, location))
    for (j in seq_len(ncol(at))) {
      for (i in seq_along(t)) {
        gap <- at[, j] - centre[t[[i]], j]
        if (circular[[j]]) gap <- wrap_angle(gap)
        order <- order(gap)
        out[t[[i]], j, ] <<- centre[t[[i]], j] +
          signed_quantiles(gap[order], w[i, order], probs)
      }
    }
  })
  out
}

empty_quantiles <- function(centre, probs) {
  array(0, c(nrow(centre), ncol(centre), length(probs)), list(
    NULL, colnames(centre), paste0(100 * probs, "%")
  ))
}

#' @export
path_radius.kb_kbr_path <- function(object, probs) {
  space <- object$hmm$space
  mean <- path_mean(object)
  out <- matrix(0, nrow(mean), length(probs), dimnames = list(
    NULL, paste0(100 * probs, "%")
  ))
  for_path(object, function(w, location, t) {
    states <- path_states(object, location)
    for (i in seq_along(t)) {
      from <- mean[rep(t[[i]], nrow(states)), , drop = FALSE]
      away <- sqrt(rowSums(space_minus(space, states, from)^2))
      order <- order(away)
      out[t[[i]], ] <<- signed_quantiles(away[order], w[i, order], probs)
    }
  })
  out
}

#' @export
path_negative.kb_kbr_path <- function(object) {
  unlist(for_path(object, function(w, location, t) {
    apply(w, 1, negative_mass)
  }))
}

#' @export
path_all_weights.kb_kbr_path <- function(object) {
  most <- max(vapply(object$hmm$pairs[c("from", "seen")], nrow, 1L))
  found <- for_path(object, function(w, location, t) {
    none <- matrix(NA_real_, length(t), most - ncol(w))
    list(w = cbind(w, none), location = rep(location, length(t)))
  })
  structure(
    do.call(rbind, lapply(found, `[[`, "w")),
    locations = unlist(lapply(found, `[[`, "location"))
  )
}

#' @export
path_draws.kb_kbr_path <- function(object, ndraws) {
  ndraws <- check_path_draws(if (is.null(ndraws)) 200L else ndraws, object)
  hmm <- object$hmm
  d <- length(hmm$space$names)
  draws <- for_path(object, function(w, location, t) {
    herded_points(
      path_mean_points(object, w, location), hmm$basis_states$kernel, ndraws
    )
  })
  array(unlist(draws), c(ndraws, d, path_length(object)), list(
    NULL, hmm$space$names, NULL
  ))
}

check_path_draws <- function(ndraws, path) {
  check_size(ndraws, 1, each = 2 * length(path$hmm$space$names) *
    path_length(path))
}

# Methods ----------------------------------------------------------------------

#' @export
print.kb_kbr_path <- function(x, digits = 3, ...) {
  x <- checked_fit(x, ...)
  cat(path_title(x), "\n", sep = "")
  mean <- path_mean(x)
  shown <- utils::tail(data.frame(time = path_times(x), mean), 5)
  cat("  last means:\n")
  print(shown, digits = digits, row.names = FALSE)
  invisible(x)
}

# Forecasts go on where their filter ends
path_times <- function(object) sum(object$after) + seq_len(path_length(object))

path_title <- function(x) UseMethod("path_title")

#' @export
path_title.kb_kbr_filter <- function(x) {
  missing <- sum(x$kind %in% c("next", "flat", "prior"))
  paste0(
    "Filtered by kernel Bayes' rule: ", counted(path_length(x), "time"),
    if (missing > 0) paste0(", ", missing, " without observation")
  )
}

#' @rdname predict.kb_kbr_path
#' @param truth `NULL`, or the true states at these times, as in [kbr_hmm()].
#' @export
summary.kb_kbr_path <- function(object, truth = NULL, ...) {
  object <- checked_fit(object, ...)
  distance <- NULL
  if (!is.null(truth)) {
    truth <- check_truth(object, truth)
    distance <- space_distance(object$hmm$space, path_mean(object), truth)
  }
  structure(
    list(
      title = path_title(object), times = path_length(object),
      negative = path_negative(object), distance = distance,
      mse = if (!is.null(distance)) mean(distance^2)
    ),
    class = "summary.kb_kbr_path"
  )
}

check_truth <- function(object, truth) {
  truth <- check_points(truth, "truth")
  wanted <- c(path_length(object), length(object$hmm$space$names))
  if (!all(dim(truth) == wanted)) {
    kb_abort(c(
      "{.arg truth} must have a state for each time: {wanted[[1]]} x
       {wanted[[2]]}.",
      x = "It is {nrow(truth)} x {ncol(truth)}."
    ), "dimension", argument = "truth")
  }
  truth
}

#' @export
print.summary.kb_kbr_path <- function(x, digits = 3, ...) {
  check_no_dots(...)
  show <- function(v) format(v, digits = digits)
  cat(
    x$title, "\n",
    if (!is.null(x$negative)) {
      paste0(
        "  negative mass of the weights: ",
        show(100 * stats::median(x$negative)), "% (median)\n"
      )
    },
    if (!is.null(x$mse)) {
      paste0(
        "  distance from the truth: mean ", show(mean(x$distance)),
        ", mean square ", show(x$mse), "\n"
      )
    },
    sep = ""
  )
  invisible(x)
}

#' @export
nobs.kb_kbr_path <- function(object, ...) path_length(checked_fit(object))

#' @export
as_draws.kb_kbr_path <- function(x, ndraws = 200, ...) {
  x <- checked_fit(x, ...)
  draws <- stats::predict(x, type = "draws", ndraws = ndraws)
  size <- dim(draws)
  names <- paste0(
    rep(colnames(draws), size[[3]]), "[",
    rep(seq_len(size[[3]]), each = size[[2]]), "]"
  )
  posterior::as_draws_matrix(matrix(draws, size[[1]],
    dimnames = list(NULL, names)
  ))
}

#' @rdname predict.kb_kbr_path
#' @param level Probability of the intervals.
#' @export
augment.kb_kbr_path <- function(x, level = 0.9, ...) {
  x <- checked_fit(x, ...)
  level <- check_number(level, 0, 1, open = TRUE)
  out <- data.frame(time = path_times(x))
  if (!is.null(x$observations)) out <- cbind(out, x$observations)
  bands <- path_bands(x, level)
  for (j in seq_len(ncol(bands$centre))) {
    name <- colnames(bands$centre)[[j]]
    out[[paste0(".fitted_", name)]] <- bands$centre[, j]
    out[[paste0(".lower_", name)]] <- bands$lower[, j]
    out[[paste0(".upper_", name)]] <- bands$upper[, j]
  }
  out
}

path_bands <- function(object, level) {
  ends <- path_quantiles(object, interval_ends(level))
  centre <- space_coordinates(object$hmm$space, path_mean(object))
  side <- function(k) matrix(ends[, , k], nrow(centre))
  list(centre = centre, lower = side(1), upper = side(2))
}

#' @rdname predict.kb_kbr_path
#' @param columns For `plot()`, which shows means and intervals over time: which
#'   coordinates of the states (columns, the angle, or yaw, pitch and roll), names or
#'   numbers; `NULL`: the first four.
#' @export
plot.kb_kbr_path <- function(x, truth = NULL, columns = NULL, level = 0.9,
                             ...) {
  draw_picture(path_picture(x, truth, columns, level), x, ...)
  invisible(generics::augment(x, level = level))
}

#' @rdname autoplot.kb_srvm
#' @exportS3Method ggplot2::autoplot
autoplot.kb_kbr_path <- function(object, columns = NULL, level = 0.9,
                                 truth = NULL, ...) {
  gg_picture(path_picture(object, truth, columns, level), object, ...)
}

path_picture <- function(x, truth, columns, level) {
  x <- checked_fit(x)
  level <- check_number(level, 0, 1, open = TRUE)
  bands <- path_bands(x, level)
  if (!is.null(truth)) {
    truth <- space_coordinates(x$hmm$space, check_truth(x, truth))
  }
  names <- colnames(bands$centre)
  columns <- path_columns(columns, names)
  angle <- attr(bands$centre, "circular")
  new_picture(lapply(columns, function(column) {
    band <- path_column(bands, match(column, names), truth)
    time <- sum(x$after) + seq_along(band$centre)
    panel(
      "time", paste0(column, if (angle[[match(column, names)]]) " (radians)"),
      ribbon_layer(time, band$lower, band$upper,
        alpha = 0.5, label = percent_label(level, "interval of the state")
      ),
      lines_layer(time, band$centre, lwd = 2, label = "mean"),
      if (!is.null(truth)) {
        lines_layer(time, band$truth,
          colour = "black", lwd = 1.2, lty = "42", label = "truth"
        )
      }
    )
  }), columns = if (length(columns) > 3) 2 else 1)
}

# Names of coordinates to draw: the first four, or those chosen
path_columns <- function(columns, names) {
  if (is.null(columns)) columns <- utils::head(names, 4)
  if (is.numeric(columns)) columns <- names[columns]
  if (length(columns) == 0 || !all(columns %in% names)) {
    bad_argument(columns, "columns", paste("some of", toString(names)))
  }
  columns
}

# One coordinate; angles without jumps: band and truth follow the mean
path_column <- function(bands, j, truth) {
  centre <- bands$centre[, j]
  out <- list(
    centre = centre, lower = bands$lower[, j], upper = bands$upper[, j]
  )
  out$truth <- if (!is.null(truth)) truth[, j]
  if (attr(bands$centre, "circular")[[j]]) {
    followed <- follow_angle(centre)
    out[c("lower", "upper")] <- lapply(
      out[c("lower", "upper")], function(v) followed + v - centre
    )
    if (!is.null(truth)) {
      out$truth <- followed + wrap_angle(out$truth - centre)
    }
    out$centre <- followed
  }
  out
}

# Angles without jumps by a full turn
follow_angle <- function(a) cumsum(c(a[[1]], wrap_angle(diff(a))))

# Generics of stats whose default methods would return NULL.

#' @export
coef.kb_kbr_path <- function(object, ...) path_has_no("coef")

#' @export
fitted.kb_kbr_path <- function(object, ...) path_has_no("fitted")

#' @export
residuals.kb_kbr_path <- function(object, ...) path_has_no("residuals")

#' @export
coef.kb_kbr_hmm <- coef.kb_kbr_path

#' @export
fitted.kb_kbr_hmm <- fitted.kb_kbr_path

#' @export
residuals.kb_kbr_hmm <- residuals.kb_kbr_path

path_has_no <- function(what) {
  kb_abort(c(
    "{.fn {what}} is not defined for state-space models.",
    i = "{.fn predict} on the result of {.fn kbr_filter}, {.fn kbr_forecast} or
         {.fn kbr_smooth} gives the means of the states."
  ), "not_defined")
}
