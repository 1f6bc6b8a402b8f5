#' Plots of a sequential relevance vector machine
#'
#' @param x A fit of [srvm()].
#' @param type What to draw:
#' * `"fit"`: with one predictor the posterior mean of f with its credible band
#'   and the prediction band, the data and the likely centres; with several,
#'   observed against fitted responses with prediction intervals.
#' * `"ess"`: effective sample size against rows taken in, with the rows at
#'   which particles were resampled.
#' * `"k"`: posterior of the number of centres.
#' * `"evidence"`: log evidence against rows.
#' * `"centres"`: posterior probability of each row to be a centre.
#' * `"trace"`: posterior means of k and of the noise standard deviation
#'   against rows.
#' @param level Probability inside bands and intervals.
#' @param n Number of points of a curve.
#' @param ... Further arguments of [graphics::plot()], for example `main`.
#'
#' @return `x`, invisibly.
#' @examples
#' data <- sim_sinc(50, seed = 1)
#' fit <- srvm(y ~ x, data, control = smc_control(particles = 100), seed = 1)
#' plot(fit)
#' plot(fit, type = "k")
#' @export
plot.kb_srvm <- function(x,
                         type = c(
                           "fit", "ess", "k", "evidence", "centres", "trace"
                         ),
                         level = 0.9, n = 200, ...) {
  type <- check_choice(
    type, c("fit", "ess", "k", "evidence", "centres", "trace")
  )
  level <- check_number(level, 0, 1, open = TRUE)
  n <- check_count(n, 2)
  if (x$time == 0) {
    kb_abort("No row has been taken in: there is nothing to draw.",
      "not_defined"
    )
  }
  switch(type,
    fit = plot_fit(x, level, n, ...),
    ess = plot_ess(x, ...),
    k = plot_k(x, ...),
    evidence = plot_evidence(x, ...),
    centres = plot_centres(x, ...),
    trace = plot_trace(x, ...)
  )
  invisible(x)
}

# Colours that colour-blind readers tell apart (Okabe and Ito, 2008).
#' @noRd
kb_colour <- function(name, alpha = 1) {
  colour <- c(
    blue = "#0072B2", orange = "#D55E00", green = "#009E73", sky = "#56B4E9",
    grey = "#6E6E6E"
  )[[name]]
  grDevices::adjustcolor(colour, alpha)
}

#' plot() with defaults that the caller's `...` replace
#' @noRd
base_plot <- function(defaults, ...) {
  given <- list(...)
  defaults <- c(defaults, list(las = 1, bty = "l"))
  do.call(
    graphics::plot,
    c(defaults[setdiff(names(defaults), names(given))], given)
  )
}

#' @noRd
plot_fit <- function(x, level, n, ...) {
  if (ncol(x$data$x) == 1) {
    plot_curve(x, level, n, ...)
  } else {
    plot_observed(x, level, ...)
  }
}

#' @noRd
plot_curve <- function(x, level, n, ...) {
  at <- training_x(x)[, 1]
  y <- training_response(x)
  grid <- seq(min(at), max(at), length.out = n)
  pool <- srvm_pool(x)
  points <- matrix(grid, dimnames = list(NULL, colnames(x$data$x)))
  f <- srvm_response(x, points, "credible", level, pool)
  new <- srvm_response(x, points, "prediction", level, pool)
  base_plot(list(
    x = at, y = y, type = "n", xlab = colnames(x$data$x),
    ylab = x$mould$outcome_name, ylim = range(y, new)
  ), ...)
  band <- function(limits, colour) {
    graphics::polygon(
      c(grid, rev(grid)), c(limits[, "lwr"], rev(limits[, "upr"])),
      col = colour, border = NA
    )
  }
  band(new, kb_colour("sky", 0.2))
  band(f, kb_colour("sky", 0.5))
  graphics::points(at, y, pch = 16, cex = 0.7, col = kb_colour("grey"))
  graphics::lines(grid, f[, "fit"], lwd = 2, col = kb_colour("blue"))
  used <- inclusion(x)
  likely <- used$row[used$probability > 0.05]
  graphics::rug(x$data$x[likely, 1], col = kb_colour("orange"), lwd = 2)
  graphics::legend("topright",
    bty = "n", cex = 0.8, lwd = c(2, 8, 8, 2),
    legend = c(
      "mean", paste0(100 * level, "% for f"),
      paste0(100 * level, "% for y"), "likely centres"
    ),
    col = c(
      kb_colour("blue"), kb_colour("sky", 0.5), kb_colour("sky", 0.2),
      kb_colour("orange")
    )
  )
}

#' @noRd
plot_observed <- function(x, level, ...) {
  y <- training_response(x)
  bands <- stats::predict(x, interval = "prediction", level = level)
  name <- x$mould$outcome_name
  base_plot(list(
    x = bands[, "fit"], y = y, type = "n", xlab = paste("fitted", name),
    ylab = paste("observed", name), xlim = range(bands[, "fit"]),
    ylim = range(y, bands)
  ), ...)
  graphics::segments(bands[, "fit"], bands[, "lwr"], bands[, "fit"],
    bands[, "upr"],
    col = kb_colour("sky", 0.4)
  )
  graphics::abline(0, 1, col = kb_colour("grey"), lty = 2)
  inside <- y >= bands[, "lwr"] & y <= bands[, "upr"]
  graphics::points(bands[, "fit"], y,
    pch = ifelse(inside, 16, 17), cex = 0.7,
    col = ifelse(inside, kb_colour("blue"), kb_colour("orange"))
  )
  graphics::legend("topleft",
    bty = "n", cex = 0.8, pch = c(16, 17),
    legend = paste0(c("inside ", "outside "), 100 * level, "%"),
    col = c(kb_colour("blue"), kb_colour("orange"))
  )
}

#' @noRd
plot_ess <- function(x, ...) {
  path <- ess(x)
  size <- x$control$particles * length(srvm_runs(x))
  base_plot(list(
    x = seq_len(nrow(path)), y = path$ess, type = "l", ylim = c(0, size),
    xlab = "rows taken in", ylab = "effective sample size",
    col = kb_colour("blue")
  ), ...)
  graphics::abline(
    h = x$control$ess_threshold * size, lty = 2, col = kb_colour("grey")
  )
  graphics::rug(which(path$resampled), col = kb_colour("orange"))
  graphics::legend("bottomright",
    bty = "n", cex = 0.8, lty = c(1, 2, 1),
    legend = c("ESS", "threshold", "resampled"),
    col = c(kb_colour("blue"), kb_colour("grey"), kb_colour("orange"))
  )
}

#' @noRd
plot_k <- function(x, ...) {
  posterior <- kernels(x)
  base_plot(list(
    x = posterior$k, y = posterior$probability, type = "h", lwd = 6,
    lend = 1, xlab = "number of centres", ylab = "posterior probability",
    ylim = c(0, max(posterior$probability)), col = kb_colour("blue")
  ), ...)
}

#' @noRd
plot_evidence <- function(x, ...) {
  path <- evidence(x)$path
  base_plot(list(
    x = seq_len(nrow(path)), y = path$log_evidence, type = "l",
    xlab = "rows taken in", ylab = "log evidence", col = kb_colour("blue")
  ), ...)
}

#' @noRd
plot_centres <- function(x, ...) {
  used <- inclusion(x)
  single <- ncol(x$data$x) == 1
  base_plot(list(
    x = if (single) x$data$x[, 1] else used$row, y = used$probability,
    type = "h", xlab = if (single) colnames(x$data$x) else "row",
    ylab = "probability to be a centre", ylim = c(0, max(used$probability, 0.1)),
    col = kb_colour("blue")
  ), ...)
}

#' @noRd
plot_trace <- function(x, ...) {
  old <- graphics::par(mfrow = c(2, 1), mar = c(4, 4.5, 1.5, 1))
  on.exit(graphics::par(old))
  run <- srvm_runs(x)[[1]]
  base_plot(list(
    x = seq_len(x$time), y = run$path$mean_k, type = "l",
    xlab = "rows taken in", ylab = "mean k", col = kb_colour("blue")
  ), ...)
  sigma <- unscale_sd(x$settings$scaling, run$path$mean_sigma)
  # The first rows leave the prior's heavy tail; they would set the scale.
  late <- if (x$time > 20) sigma[-seq_len(10)] else sigma
  base_plot(list(
    x = seq_len(x$time), y = sigma, type = "l", xlab = "rows taken in",
    ylab = "mean noise sd", ylim = c(0, max(late)),
    col = kb_colour("orange")
  ), ...)
}
