# The function of one or two predictors, averaged over the others.

#' Partial dependence
#'
#' The function as it depends on one or two predictors, averaged over the
#' training rows with regard to all others: at each point of the grid every row
#' is given the point's values and the mean of f over the rows is taken, draw
#' by draw.
#'
#' @param object A fit of [bark()].
#' @param variable One or two names: of columns of the predictors (as in
#'   [importance()]), or of factors, whose levels are then the grid.
#' @param grid `NULL`, a vector for one variable, or a list of one vector a
#'   variable, in the units that the fit was given. By default `n` equally
#'   spaced values over the range of the training rows, or their distinct
#'   values if there are fewer.
#' @param n Number of values of each variable in the default grid; `NULL`: 25
#'   for one variable, 10 for two.
#' @param level Probability inside the credible band.
#' @param ndraws Number of draws, chosen evenly; `NULL`: all, but 500 at most
#'   for probabilities of several classes.
#' @param type In probit models the scale of the mean: `"response"` for the
#'   probability of the second level or `"link"` for f. In gaussian models
#'   `"response"`, of ordered classes `"link"`.
#' @param x An object of class `kb_partial_dependence`.
#' @param ... For `plot()` titles, limits and axes, as in
#'   [graphics::plot.default()]; otherwise not used: unknown arguments are
#'   errors.
#'
#' @return A data frame of class `kb_partial_dependence` with one line a point
#'   of the grid: a column a variable, `mean`, `lower` and `upper`, in units of
#'   the response; with several classes a line a point and `class`, unless one
#'   is chosen. Means of f integrate over the coefficients exactly, and so
#'   do their limits. `plot()` draws a curve with its band (points with
#'   intervals for the levels of a factor), or for two numeric variables the
#'   mean in colours with contours, and returns `x`, invisibly.
#' @section Errors: `kb_error_argument` for names that the fit does not know;
#'   `kb_error_not_defined` for other objects.
#' @references
#' Friedman, J. H. (2001). Greedy function approximation: a gradient boosting
#' machine. *Annals of Statistics* 29, 1189-1232. \doi{10.1214/aos/1013203451}
#' @examples
#' data <- sim_friedman(60, p = 5, seed = 1)[c("y", paste0("x", 1:5))]
#' fit <- bark(y ~ ., data,
#'   control = mcmc_control(chains = 2, warmup = 200, iter = 90), seed = 1
#' )
#' slope <- partial_dependence(fit, "x4", n = 10)
#' slope
#' plot(slope)
#' @export
partial_dependence <- function(object, ...) UseMethod("partial_dependence")

#' @export
partial_dependence.default <- function(object, ...) {
  not_defined("partial_dependence", object)
}

#' @rdname partial_dependence
#' @export
partial_dependence.kb_bark <- function(object, variable, grid = NULL, n = NULL,
                                       level = 0.9, ndraws = NULL,
                                       type = c("response", "link"), ...) {
  check_no_dots(...)
  object <- migrate_fit(object)
  level <- check_number(level, 0, 1, open = TRUE)
  type <- check_partial_type(object, type)
  check_variables_known(object, variable)
  if (is.null(n)) n <- if (length(variable) == 1) 25 else 10
  values <- partial_grid(object, variable, grid, check_count(n, 2))
  pool <- bark_pool(object)
  ndraws <- check_ndraws(ndraws)
  if (!is.null(ndraws)) ndraws <- min(ndraws, length(pool$m))
  chosen <- equal_weight_draws(object, pool, ndraws)
  points <- expand.grid(values, KEEP.OUT.ATTRS = FALSE)
  means <- if (is_probit(object) && type == "response") {
    partial_probability
  } else {
    partial_mean
  }
  out <- cbind(points, means(object, points, pool, chosen, level))
  structure(out,
    level = level, outcome = partial_label(object, type),
    class = c("kb_partial_dependence", "data.frame")
  )
}

#' @noRd
partial_label <- function(fit, type) {
  name <- fit$mould$outcome_name
  if (!has_classes(fit)) {
    return(paste("mean", name))
  }
  if (type == "link") {
    return("mean f")
  }
  paste0("mean P(", name, " = ", fit$mould$levels[[2]], ")")
}

# Means ------------------------------------------------------------------------

#' Mean of f over the rows at each point, with its exact quantiles: the mean
#' over rows is one more linear function of the coefficients
#' @noRd
partial_mean <- function(fit, points, pool, chosen, level) {
  moments <- partial_values(fit, points, pool, "moments", chosen)
  ends <- interval_ends(level)
  limits <- mixture_quantiles_cpp(
    moments$mean, moments$variance, rep(1 / length(chosen), length(chosen)),
    ends, stats::qnorm(ends)
  )
  out <- unscale_mean(
    fit$settings$scaling, cbind(rowMeans(moments$mean), limits)
  )
  data.frame(mean = out[, 1], lower = out[, 2], upper = out[, 3])
}

#' Mean probability of the second class: quantiles over draws of f
#' @noRd
partial_probability <- function(fit, points, pool, chosen, level) {
  draws <- partial_values(fit, points, pool, "probability", chosen)$mean
  q <- apply(draws, 1, stats::quantile, interval_ends(level), names = FALSE)
  data.frame(mean = rowMeans(draws), lower = q[1, ], upper = q[2, ])
}

#' @noRd
partial_values <- function(fit, points, pool, what, chosen) {
  at <- do.call(cbind, lapply(names(points), point_columns, fit, points))
  x <- training_x(fit)
  varied <- match(colnames(at), colnames(x))
  scaling <- fit$settings$scaling
  at <- sweep(at, 2, scaling$x_center[varied])
  at <- sweep(at, 2, scaling$x_scale[varied], "/")
  # Kernels along directions are no products over predictors.
  values <- if (has_directions(fit)) {
    bark_partial_projected_cpp
  } else {
    bark_partial_cpp
  }
  values(pool, at, varied, scaling_x(scaling, x), what, chosen)
}

#' The columns of the predictors that a variable sets
#' @noRd
point_columns <- function(name, fit, points) {
  v <- points[[name]]
  columns <- indicator_columns(fit, name)
  if (is.null(columns)) {
    return(matrix(v, dimnames = list(NULL, name)))
  }
  out <- outer(as.integer(v), seq_along(columns), `==`) + 0
  colnames(out) <- columns
  out
}

# Variables --------------------------------------------------------------------

#' The indicator columns of a factor, or NULL
#' @noRd
indicator_columns <- function(fit, name) {
  column <- fit$mould$columns[[name]]
  if (is.null(column) || column$kind != "factor") {
    return(NULL)
  }
  columns <- paste0(name, column$levels)
  if (all(columns %in% fit$mould$x_names)) columns
}

#' @noRd
check_variables_known <- function(fit, variable, call = rlang::caller_env()) {
  known <- fit$mould$x_names
  factors <- Filter(
    function(name) !is.null(indicator_columns(fit, name)),
    names(fit$mould$columns)
  )
  known <- union(known, factors)
  fine <- is.character(variable) && length(variable) %in% 1:2 &&
    !anyNA(variable) && !anyDuplicated(variable) && all(variable %in% known)
  if (!fine) {
    kb_abort(c(
      "{.arg variable} must be one or two of {.val {known}}.",
      x = "It is {.val {variable}}."
    ), "argument", argument = "variable", call = call)
  }
}

#' @noRd
check_partial_type <- function(fit, type, call = rlang::caller_env()) {
  types <- c("response", "link")
  if (is_ordered(fit)) {
    return(if (identical(type, types)) "link" else {
      check_choice(type, "link", call = call)
    })
  }
  if (is_probit(fit) || identical(type, types)) {
    return(check_choice(type, types, call = call))
  }
  check_choice(type, "response", call = call)
}

#' Values of each variable
#' @noRd
partial_grid <- function(fit, variable, grid, n, call = rlang::caller_env()) {
  if (!is.null(grid) && !is.list(grid)) grid <- list(grid)
  if (!is.null(grid) && length(grid) != length(variable)) {
    bad_argument(grid, "grid", "NULL, or one vector a variable", call)
  }
  if (!is.null(names(grid))) grid <- grid[variable]
  values <- lapply(seq_along(variable), function(i) {
    name <- variable[[i]]
    if (!is.null(indicator_columns(fit, name))) {
      return(factor_grid(fit, name, grid[[i]], call))
    }
    if (is.null(grid)) {
      return(numeric_grid(training_x(fit)[, name], n))
    }
    fine <- is.numeric(grid[[i]]) && length(grid[[i]]) > 0 &&
      all(is.finite(grid[[i]]))
    if (!fine) bad_argument(grid[[i]], "grid", "finite numbers", call)
    as.double(grid[[i]])
  })
  stats::setNames(values, variable)
}

#' @noRd
numeric_grid <- function(x, n) {
  values <- sort(unique(x))
  if (length(values) <= n) {
    return(values)
  }
  seq(values[[1]], values[[length(values)]], length.out = n)
}

#' @noRd
factor_grid <- function(fit, name, given, call) {
  levels <- fit$mould$columns[[name]]$levels
  if (is.null(given)) given <- levels
  novel <- setdiff(as.character(given), levels)
  if (length(novel) > 0) {
    kb_abort(c(
      "{.arg grid} must have levels of {.val {name}}: {.val {levels}}.",
      x = "It has {.val {novel}}."
    ), "argument", argument = "grid", call = call)
  }
  factor(as.character(given), levels)
}

# Drawing ----------------------------------------------------------------------

#' @rdname partial_dependence
#' @export
plot.kb_partial_dependence <- function(x, ...) {
  check_plot_dots(list(...))
  variables <- dependence_variables(x)
  numeric <- vapply(unclass(x)[variables], is.numeric, NA)
  if (length(variables) == 1) {
    if (numeric) draw_dependence(x, ...) else draw_levels(x, ...)
  } else if (all(numeric)) {
    draw_surface(x, ...)
  } else {
    draw_groups(x, variables[order(!numeric)], ...)
  }
  invisible(x)
}

#' @noRd
dependence_variables <- function(x) {
  setdiff(names(x), c("mean", "lower", "upper"))
}

#' @noRd
draw_dependence <- function(x, ...) {
  name <- dependence_variables(x)
  x <- x[order(x[[name]]), ]
  base_plot(list(
    x = x[[name]], y = x$mean, type = "n", xlab = name,
    ylab = attr(x, "outcome"), ylim = range(x$lower, x$upper)
  ), ...)
  draw_band(x[[name]], cbind(lwr = x$lower, upr = x$upper),
    kb_colour("sky", 0.6)
  )
  graphics::lines(x[[name]], x$mean, lwd = 2, col = kb_colour("blue"))
}

#' @noRd
draw_levels <- function(x, ...) {
  at <- seq_len(nrow(x))
  base_plot(list(
    x = at, y = x$mean, type = "n", xlab = dependence_variables(x),
    ylab = attr(x, "outcome"), ylim = range(x$lower, x$upper), xaxt = "n",
    xlim = range(at) + c(-0.6, 0.6)
  ), ...)
  graphics::segments(at, x$lower, at, x$upper,
    lwd = 6, lend = 1, col = kb_colour("sky", 0.6)
  )
  graphics::points(at, x$mean, pch = 16, col = kb_colour("blue"))
  dots <- list(...)
  if (is.null(dots$xaxt) && !isFALSE(dots$axes)) {
    variable_axis(at, as.character(x[[dependence_variables(x)]]))
  }
}

#' The mean in colours, with contours
#' @noRd
draw_surface <- function(x, ...) {
  variables <- dependence_variables(x)
  x <- x[order(x[[variables[[2]]]], x[[variables[[1]]]]), ]
  across <- unique(x[[variables[[1]]]])
  up <- unique(x[[variables[[2]]]])
  mean <- matrix(x$mean, length(across))
  base_plot(list(
    x = range(across), y = range(up), type = "n", xlab = variables[[1]],
    ylab = variables[[2]], main = attr(x, "outcome"), xaxs = "i", yaxs = "i"
  ), ...)
  colours <- grDevices::colorRampPalette(
    c("white", kb_colour("sky"), kb_colour("blue"))
  )(64)
  if (length(across) > 1 && length(up) > 1) {
    graphics::image(across, up, mean, col = colours, add = TRUE)
    if (diff(range(mean)) > 0) {
      graphics::contour(across, up, mean,
        add = TRUE, labcex = 0.8, col = kb_colour("grey")
      )
    }
  }
  graphics::box(bty = "l")
}

#' A curve for each level of a factor; levels alone as one axis
#' @noRd
draw_groups <- function(x, variables, ...) {
  along <- x[[variables[[1]]]]
  groups <- split(seq_len(nrow(x)), x[[variables[[2]]]], drop = TRUE)
  at <- if (is.numeric(along)) along else as.integer(along)
  colours <- rep_len(c("blue", "orange", "green", "sky", "grey"),
    length(groups)
  )
  base_plot(list(
    x = at, y = x$mean, type = "n", xlab = variables[[1]],
    ylab = attr(x, "outcome"), ylim = range(x$lower, x$upper),
    xaxt = if (is.numeric(along)) "s" else "n"
  ), ...)
  for (i in seq_along(groups)) {
    rows <- groups[[i]][order(at[groups[[i]]])]
    draw_band(at[rows], cbind(lwr = x$lower[rows], upr = x$upper[rows]),
      kb_colour(colours[[i]], 0.2)
    )
    graphics::lines(at[rows], x$mean[rows],
      type = "o", pch = 16, cex = 0.6, lwd = 2, col = kb_colour(colours[[i]])
    )
  }
  if (!is.numeric(along)) variable_axis(seq_along(levels(along)), levels(along))
  key_above(stats::setNames(
    lapply(colours, function(colour) list(lwd = 2, col = kb_colour(colour))),
    paste(variables[[2]], names(groups))
  ))
}
