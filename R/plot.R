# What the plots of engines share: arguments, drawing, and types that several
# engines have.

#' @srrstats {BS6.1} `plot()` of each engine.
#' @srrstats {BS6.2} `plot(type = "trace")`: the warmup is not kept, and the
#'   axis says that it begins after it.
#' @srrstats {BS6.3} `plot(type = "k")` and `plot()`; bayesplot takes
#'   `as_draws()`.
#' @srrstats {RE6.0} `plot()` of each engine.
#' @srrstats {RE6.1} They are methods of `plot()`.
#' @srrstats {RE6.2} The default is the curve of fitted values with bands, or
#'   observed against fitted responses with intervals.
#' @srrstats {RE6.3} The curve ends where the data end: nothing extrapolated is
#'   drawn with it. Forecasts of `kbr_forecast()` are objects with a plot of
#'   their own.
#' @noRd
NULL

# Arguments --------------------------------------------------------------------

#' Titles, limits and axes only: the others would be ignored by some types
#' @noRd
check_plot_dots <- function(dots, call = rlang::caller_env()) {
  given <- rlang::names2(dots)
  known <- c(
    "main", "sub", "xlab", "ylab", "xlim", "ylim", "log", "axes", "ann",
    "frame.plot", "asp", "panel.first", "panel.last", "adj", "bty", "family",
    "fg", "lab", "las", "mgp", "tck", "tcl",
    outer(c("xax", "yax"), c("p", "s", "t"), paste0),
    outer(c("cex", "col", "font"), c("axis", "lab", "main", "sub"),
      paste, sep = "."
    )
  )
  unknown <- given[!given %in% known]
  if (length(unknown) > 0) {
    unknown[unknown == ""] <- "(unnamed)"
    kb_abort(c(
      "Unknown argument{?s}: {.arg {unknown}}.",
      i = "Titles, limits and axes can be set, for example {.arg main},
           {.arg xlab} or {.arg ylim}."
    ), "unknown_argument", argument = unknown, call = call)
  }
}

# Drawing ----------------------------------------------------------------------

# Colours that colour-blind readers tell apart (Okabe and Ito, 2008).
#' @noRd
kb_colour <- function(name, alpha = 1) {
  colour <- c(
    blue = "#0072B2", orange = "#D55E00", green = "#009E73", sky = "#56B4E9",
    grey = "#5A5A5A"
  )[[name]]
  grDevices::adjustcolor(colour, alpha)
}

#' plot() with defaults that the caller's `...` replace
#' @noRd
base_plot <- function(defaults, ...) {
  given <- list(...)
  refuse_infinite_plot(defaults, given)
  limits <- c(given["ylim"], defaults["ylim"], list(range(defaults$y)))
  ticks <- format(pretty(Filter(Negate(is.null), limits)[[1]]))
  # Long labels would run into the title of their axis.
  las <- if (max(nchar(trimws(ticks))) > 4) 0 else 1
  defaults <- c(defaults, list(las = las, bty = "l", mgp = c(3, 0.7, 0)))
  do.call(
    graphics::plot,
    c(defaults[setdiff(names(defaults), names(given))], given)
  )
}

#' @noRd
refuse_infinite_plot <- function(defaults, given) {
  finite <- vapply(c("x", "y"), function(axis) {
    limits <- c(given[paste0(axis, "lim")], defaults[paste0(axis, "lim")])
    limits <- Filter(Negate(is.null), c(limits, list(defaults[[axis]])))[[1]]
    if (!is.numeric(limits)) {
      return(TRUE)
    }
    limits <- limits[!is.na(limits)]
    # The width counts, too.
    length(limits) == 0 || is.finite(diff(range(limits)))
  }, NA)
  if (!all(finite)) {
    kb_abort(c(
      "The {names(finite)[!finite]} axis of the plot would not be finite.",
      i = "The data are too large for double precision: rescale them (or use
           {.code scale = TRUE})."
    ), "precision", call = NULL)
  }
}

#' A legend in one line above the plot, where it covers no data
#'
#' In a narrow panel it is smaller, so as not to run into the next one.
#' @param entries Named: a list of arguments of [graphics::legend()] each.
#' @noRd
key_above <- function(entries) {
  room <- graphics::grconvertX(1, "nfc", "npc")
  cex <- 0.8 * min(room / sum(key_widths(entries, 0.8)), 1)
  cex <- max(cex, 0.45)
  at <- cumsum(c(0, key_widths(entries, cex)))
  for (i in seq_along(entries)) key_entry(entries[i], at[[i]], cex)
}

#' One entry that begins at a fraction of the plot's width; its own width
#' @noRd
key_entry <- function(entry, at, cex, ...) {
  box <- do.call(graphics::legend, c(
    list(
      x = graphics::grconvertX(at, "npc", "user"),
      y = graphics::grconvertY(1, "npc", "user"), legend = names(entry),
      bty = "n", cex = cex, xpd = NA, xjust = 0, yjust = 0, seg.len = 1.2,
      x.intersp = 0.6, ...
    ),
    entry[[1]]
  ))$rect
  box$w / diff(graphics::par("usr")[1:2])
}

#' @noRd
key_widths <- function(entries, cex) {
  vapply(seq_along(entries), function(i) {
    key_entry(entries[i], 0, cex, plot = FALSE)
  }, 1)
}

# Types ------------------------------------------------------------------------

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
  grid <- curve_grid(x, at, n)
  points <- matrix(grid, dimnames = list(NULL, colnames(x$data$x)))
  f <- stats::predict(x, points, interval = "credible", level = level)
  new <- stats::predict(x, points, interval = "prediction", level = level)
  ylim <- range(y, new)
  ylim[[1]] <- ylim[[1]] - 0.08 * diff(ylim)
  base_plot(list(
    x = range(grid), y = range(y), type = "n", xlab = colnames(x$data$x),
    ylab = x$mould$outcome_name, ylim = ylim
  ), ...)
  draw_band(grid, new, kb_colour("sky", 0.25))
  draw_band(grid, f, kb_colour("sky", 0.6))
  draw_centres(x)
  graphics::points(at, y, pch = 16, cex = 0.7, col = kb_colour("grey", 0.8))
  graphics::lines(grid, f[, "fit"], lwd = 2, col = kb_colour("blue"))
  percent <- paste0(format(100 * level), "%")
  key_above(utils::head(n = 3 + shows_centres(x), stats::setNames(
    list(
      list(col = kb_colour("blue"), lwd = 2),
      list(col = kb_colour("sky", 0.6), lwd = 8),
      list(col = kb_colour("sky", 0.25), lwd = 8),
      list(col = kb_colour("orange"), lwd = 2)
    ),
    c("mean", paste(percent, c("f", "y")), "P(centre)")
  )))
}

#' Points of the curve; about the data where they have no range, or one in which
#' numbers of this size cannot be told apart
#' @param column The predictor.
#' @noRd
curve_grid <- function(x, at, n, column = 1) {
  ends <- range(at)
  if (diff(ends) == 0) {
    ends <- ends + c(-3, 3) * x$settings$scaling$x_scale[[column]]
  }
  apart_grid(ends, n)
}

#' n points that are all different
#' @noRd
apart_grid <- function(ends, n) {
  least <- 2 * n * .Machine$double.eps * max(abs(ends))
  if (diff(ends) < least) ends <- mean(ends) + c(-0.5, 0.5) * least
  seq(ends[[1]], ends[[2]], length.out = n)
}

#' @noRd
draw_band <- function(grid, limits, colour) {
  graphics::polygon(
    c(grid, rev(grid)), c(limits[, "lwr"], rev(limits[, "upr"])),
    col = colour, border = NA
  )
}

#' Kernels of bark() whose centres are no rows have no ticks at rows
#' @noRd
shows_centres <- function(x) !inherits(x, "kb_bark") || !has_own_centres(x)

#' Ticks at the bottom as high as each row's probability to be a centre
#' @noRd
draw_centres <- function(x) {
  if (!shows_centres(x)) {
    return(invisible())
  }
  probability <- inclusion(x)$probability
  used <- which(probability > 0)
  bottom <- rep(graphics::grconvertY(0, "npc", "user"), length(used))
  top <- graphics::grconvertY(0.1 * probability[used], "npc", "user")
  graphics::segments(x$data$x[used, 1], bottom, x$data$x[used, 1], top,
    col = kb_colour("orange"), lwd = 2, lend = 1
  )
}

#' @noRd
plot_observed <- function(x, level, ...) {
  y <- training_response(x)
  bands <- stats::predict(x, interval = "prediction", level = level)
  name <- x$mould$outcome_name
  base_plot(list(
    x = bands[, "fit"], y = y, type = "n", xlab = paste("fitted", name),
    ylab = paste("observed", name), ylim = range(y, bands)
  ), ...)
  graphics::segments(bands[, "fit"], bands[, "lwr"], bands[, "fit"],
    bands[, "upr"],
    col = kb_colour("sky", 0.5)
  )
  graphics::abline(0, 1, col = kb_colour("grey"), lty = 2)
  inside <- y >= bands[, "lwr"] & y <= bands[, "upr"]
  graphics::points(bands[, "fit"], y,
    pch = ifelse(inside, 16, 17), cex = ifelse(inside, 0.6, 0.9),
    col = ifelse(inside, kb_colour("blue"), kb_colour("orange"))
  )
  percent <- paste0(format(100 * level), "% interval")
  key_above(stats::setNames(
    list(
      list(pch = 16, col = kb_colour("blue")),
      list(pch = 17, col = kb_colour("orange")),
      list(lty = 2, col = kb_colour("grey"))
    ),
    c(paste("inside", percent), "outside", "observed = fitted")
  ))
}

#' Posterior and prior of the number of centres
#' @param prior Data frame of `k` and `probability`.
#' @noRd
plot_k <- function(x, prior, what, ...) {
  posterior <- model_size(x)
  posterior <- posterior[posterior$probability > 0, ]
  near <- prior$k >= min(posterior$k) - 2 & prior$k <= max(posterior$k) + 2
  prior <- prior[near, ]
  base_plot(list(
    x = posterior$k, y = posterior$probability, type = "h", lwd = 6,
    lend = 1, xlab = paste("number of", what), ylab = "probability",
    xlim = range(prior$k) + c(-0.5, 0.5), xaxt = "n",
    ylim = c(0, max(posterior$probability, prior$probability)),
    col = kb_colour("blue")
  ), ...)
  if (is.null(list(...)$xaxt) && !isFALSE(list(...)$axes)) {
    ticks <- pretty(prior$k)
    graphics::axis(1, ticks[ticks == round(ticks)], mgp = c(3, 0.7, 0))
  }
  graphics::points(prior$k, prior$probability,
    pch = 21, bg = "white", col = kb_colour("orange")
  )
  key_above(list(
    posterior = list(pch = 15, col = kb_colour("blue")),
    prior = list(pch = 21, pt.bg = "white", col = kb_colour("orange"))
  ))
}

#' @noRd
plot_centres <- function(x, ...) {
  used <- inclusion(x)
  single <- ncol(x$data$x) == 1
  base_plot(list(
    x = if (single) x$data$x[, 1] else used$row, y = used$probability,
    type = "h", xlab = if (single) colnames(x$data$x) else "row",
    ylab = "probability to be a centre",
    ylim = c(0, max(used$probability, 0.1)),
    col = kb_colour("blue"), lwd = if (nrow(used) > 100) 1 else 2, lend = 1
  ), ...)
}

#' Draws of these quantities: parameters, or what else diagnostics watch
#' @noRd
traced <- function(fit, names) {
  chains <- chain_matrices(fit)
  if (!all(names %in% names(chains))) chains <- watched_matrices(fit)
  chains[names]
}

#' Traces of two quantities, a line a chain
#'
#' Two panels; in a page that the caller has divided, the next two fields.
#' @param labels Named by the quantities of `traced()`.
#' @noRd
plot_chains <- function(x, labels, ...) {
  if (all(graphics::par("mfrow") == 1)) {
    old <- graphics::par(mfrow = c(2, 1), mar = c(4.2, 4.1, 1.6, 1))
    on.exit(graphics::par(old))
  }
  dots <- list(...)
  names <- names(labels)
  chains <- traced(x, names)
  panel_trace(x, chains[[names[[1]]]], labels[[1]], ...)
  do.call(panel_trace, c(
    list(x, chains[[names[[2]]]], labels[[2]]),
    dots[setdiff(names(dots), "main")]
  ))
}
