# Plots of bark fits of several classes, and their partial dependence.

#' @rdname plot.kb_bark
#' @export
plot.kb_bark_multinomial <- function(x,
                                     type = c(
                                       "fit", "importance", "k", "centres",
                                       "trace"
                                     ), level = 0.9, n = NULL, ...) {
  x <- migrate_fit(x)
  check_plot_dots(list(...))
  type <- check_choice(type, c("fit", "importance", "k", "centres", "trace"))
  level <- check_number(level, 0, 1, open = TRUE)
  if (!is.null(n)) n <- check_count(n, 2)
  switch(type,
    fit = if (ncol(x$data$x) == 1) {
      plot_fields_curves(x, if (is.null(n)) 200 else n, ...)
    } else {
      plot_fields_plane(x, if (is.null(n)) 50 else n, ...)
    },
    importance = plot(importance(x, level = level), ...),
    k = plot_k(x, fields_prior_k(x), "kernels", ...),
    centres = plot_centres(x, ...),
    trace = plot_chains(x, c(
      J = "number of kernels", log_lik = "log likelihood"
    ), ...)
  )
  invisible(x)
}

#' The Poisson prior of the number of kernels of all fields
#' @noRd
fields_prior_k <- function(fit) {
  nu <- fit$settings$prior$nu * length(fit$mould$levels)
  k <- seq(0, max(kernels(fit)$k) + 2)
  data.frame(k = k, probability = stats::dpois(k, nu))
}

#' Class probabilities at points in their own units, from some of the draws
#' @noRd
fields_drawn_probability <- function(x, points, most = 400) {
  pool <- posterior_pool(x)
  draws <- length(pool$weights)
  fields_probability(x, points, pool, spread_over(draws, min(draws, most)))
}

#' @noRd
draw_fields_rows <- function(x, across, up) {
  y <- as.integer(training_response(x))
  classes <- length(x$mould$levels)
  graphics::points(across, up,
    pch = class_symbols(classes)[y], cex = 0.7, col = class_colours(classes)[y]
  )
}

#' @noRd
fields_key <- function(x) {
  classes <- length(x$mould$levels)
  class_key(
    x$mould$levels, class_symbols(classes), class_colours(classes),
    x$mould$outcome_name
  )
}

#' @noRd
plot_fields_curves <- function(x, n, ...) {
  at <- training_x(x)[, 1]
  grid <- curve_grid(x, at, n)
  points <- matrix(grid, dimnames = list(NULL, colnames(x$data$x)))
  p <- fields_drawn_probability(x, points)
  base_plot(list(
    x = range(grid), y = 0:1, type = "n", xlab = colnames(x$data$x),
    ylab = "class probability", ylim = c(-0.05, 1.05)
  ), ...)
  graphics::matlines(grid, p, lty = 1, lwd = 2, col = class_colours(ncol(p)))
  draw_centres(x)
  draw_fields_rows(x, at, rep(1.04, length(at)))
  key_above(fields_key(x))
}

#' Over the two predictors that matter most
#' @noRd
plot_fields_plane <- function(x, n, ...) {
  plane <- most_important(importance(x), 2)
  at <- training_x(x)[, plane, drop = FALSE]
  across <- plane_grid(x, plane[[1]], n)
  up <- plane_grid(x, plane[[2]], n)
  p <- fields_drawn_probability(x, plane_points(x, plane, across, up))
  base_plot(list(
    x = range(across), y = range(up), type = "n", xlab = colnames(at)[[1]],
    ylab = colnames(at)[[2]], xaxs = "i", yaxs = "i"
  ), ...)
  draw_certainty(p, across, up)
  draw_boundaries(p, across, up)
  draw_fields_rows(x, at[, 1], at[, 2])
  graphics::box(bty = "l")
  key_above(fields_key(x))
}

# Partial dependence -----------------------------------------------------------

#' @param class For fits of several classes: that of the mean, a name; `NULL`
#'   (for one variable): all, a line a point and class.
#' @rdname partial_dependence
#' @export
partial_dependence.kb_bark_multinomial <- function(object, variable,
                                                   grid = NULL, n = NULL,
                                                   level = 0.9, ndraws = NULL,
                                                   type = c("response", "link"),
                                                   class = NULL, ...) {
  check_no_dots(...)
  object <- migrate_fit(object)
  level <- check_number(level, 0, 1, open = TRUE)
  type <- check_choice(type, c("response", "link"))
  check_variables_known(object, variable)
  check_partial_class(object, class, variable)
  if (is.null(n)) n <- if (length(variable) == 1) 25 else 10
  values <- partial_grid(object, variable, grid, check_count(n, 2))
  pool <- posterior_pool(object)
  draws <- length(pool$weights)
  ndraws <- check_ndraws(ndraws)
  if (is.null(ndraws)) ndraws <- if (type == "link") draws else 500
  chosen <- spread_over(draws, min(ndraws, draws))
  points <- expand.grid(values, KEEP.OUT.ATTRS = FALSE)
  means <- if (type == "link") partial_fields else partial_classes
  out <- means(object, points, pool, chosen, level)
  all <- object$mould$levels
  out <- Map(function(one, name) {
    cbind(points, class = factor(name, all), one)
  }, out, all)
  out <- if (is.null(class)) {
    do.call(rbind, unname(out))
  } else {
    out[[match(class, all)]][, names(out[[1]]) != "class"]
  }
  structure(out,
    level = level, outcome = partial_class_label(object, type, class),
    class = c("kb_partial_dependence", "data.frame")
  )
}

#' @noRd
check_partial_class <- function(fit, class, variable,
                                call = rlang::caller_env()) {
  if (!is.null(class)) {
    return(check_choice(class, fit$mould$levels, call = call))
  }
  if (length(variable) == 2) {
    kb_abort(c(
      "{.arg class} must be given with two variables.",
      i = "It is one of {.val {fit$mould$levels}}."
    ), "argument", argument = "class", call = call)
  }
}

#' @noRd
partial_class_label <- function(fit, type, class) {
  if (type == "link") {
    return(paste0("mean f", if (!is.null(class)) paste(" of", class)))
  }
  name <- fit$mould$outcome_name
  paste0("mean P(", name, if (!is.null(class)) paste(" =", class), ")")
}

#' Mean of each field over the rows at each point
#' @noRd
partial_fields <- function(fit, points, pool, chosen, level) {
  lapply(unname(pool$fields), function(field) {
    partial_mean(fit, points, field, chosen, level)
  })
}

#' Mean probability of each class: quantiles over draws of the fields
#' @noRd
partial_classes <- function(fit, points, pool, chosen, level) {
  at <- do.call(cbind, lapply(names(points), point_columns, fit, points))
  x <- training_x(fit)
  varied <- match(colnames(at), colnames(x))
  draws <- lapply(seq_len(nrow(at)), function(i) {
    x[, varied] <- rep(at[i, ], each = nrow(x))
    f <- fields_values(fit, x, pool, "draw", chosen)$mean
    colMeans(bark_class_draws_cpp(f))
  })
  lapply(seq_along(pool$fields), function(k) {
    of <- vapply(draws, function(p) p[, k], numeric(length(chosen)))
    of <- matrix(of, length(chosen))
    q <- apply(of, 2, stats::quantile, interval_ends(level), names = FALSE)
    data.frame(mean = colMeans(of), lower = q[1, ], upper = q[2, ])
  })
}
