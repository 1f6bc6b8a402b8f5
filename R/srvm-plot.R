#' Plots of a sequential relevance vector machine
#'
#' @param x A fit of [srvm()].
#' @param type What to draw:
#' * `"fit"`: with one predictor the posterior mean of f with its credible band
#'   and the prediction band, the data and, as ticks of that height, the
#'   probability of each row to be a centre; with several predictors, observed
#'   against fitted responses with prediction intervals. For two classes the
#'   probability of the second level, against the predictor or by rank.
#' * `"ess"`: effective sample size against rows taken in, with the rows at
#'   which particles were resampled.
#' * `"k"`: posterior of the number of centres, and its prior given as many
#'   rows.
#' * `"evidence"`: log evidence against rows.
#' * `"centres"`: posterior probability of each row to be a centre; of a
#'   [dictionary][kernel_dictionary] the expected number of centres at the row,
#'   a colour for each kernel.
#' * `"kernels"`: posterior over kernels, with bars of two standard errors, and
#'   their prior, see [kernel_posterior()]; `"kernel_path"`: the same against
#'   rows. Of a dictionary, `"kernels"` shows the mean share of the centres with
#'   bars of two standard deviations, and there is no `"kernel_path"`.
#' * `"trace"`: posterior means of k and of the noise standard deviation
#'   against rows, a line each replicate and kernel. For batch fits: k and the
#'   noise standard deviation at each kept iteration, a line a chain; the
#'   warmup is not kept, and the axis begins after it.
#' * `"trace_density"`, for batch fits only: the same, with the distribution of
#'   each chain's draws beside it, shares of k and a kernel density estimate.
#'
#' `"ess"`, `"evidence"`, `"kernels"` (but for a dictionary) and
#' `"kernel_path"` are not defined for batch fits.
#' @param level Probability inside bands and intervals, for `"fit"`.
#' @param n Number of points of a curve, for `"fit"`; `NULL`: 200.
#' @param ... Titles, limits and axes, as in [graphics::plot.default()], for
#'   example `main`, `xlab`, `ylim` or `cex.axis`; others are errors.
#'
#' @return `x`, invisibly.
#' @examples
#' data <- sim_sinc(50, seed = 1)
#' fit <- srvm(y ~ x, data,
#'   kernel = kernel_gaussian(0.2),
#'   control = smc_control(particles = 100), seed = 1
#' )
#' plot(fit)
#' plot(fit, type = "k")
#' @export
plot.kb_srvm <- function(x,
                         type = c(
                           "fit", "ess", "k", "evidence", "centres", "trace",
                           "kernels", "kernel_path", "trace_density"
                         ),
                         level = 0.9, n = NULL, ...) {
  x <- migrate_fit(x)
  check_plot_dots(list(...))
  type <- check_srvm_plot(x, type, "plot")
  refuse_ignored(type, "none", c(
    level = !missing(level), n = !is.null(n)
  ), srvm_plot_arguments(type), "plot.kb_srvm")
  level <- check_number(level, 0, 1, open = TRUE)
  n <- if (is.null(n)) 200 else check_count(n, 2)
  switch(type,
    fit = if (is_probit(x)) {
      plot_classes(x, level, n, ...)
    } else {
      plot_fit(x, level, n, ...)
    },
    ess = plot_ess(x, ...),
    k = plot_k(x, srvm_prior_k(x), "centres", ...),
    evidence = plot_evidence(x, ...),
    centres = if (has_dictionary(x)) {
      plot_dictionary_centres(x, ...)
    } else {
      plot_centres(x, ...)
    },
    kernels = plot_kernels(x, ...),
    kernel_path = plot_kernel_path(x, ...),
    trace_density = plot_trace_density(x, srvm_trace_labels, ...),
    trace = if (inherits(x, "kb_srvm_mcmc")) {
      plot_chains(x, srvm_trace_labels, ...)
    } else {
      plot_trace(x, ...)
    }
  )
  invisible(x)
}

#' The type, which the fit must have
#' @param what The function that draws.
#' @noRd
check_srvm_plot <- function(x, type, what, call = rlang::caller_env()) {
  type <- check_choice(type, c(
    "fit", "ess", "k", "evidence", "centres", "trace", "kernels",
    "kernel_path", "trace_density"
  ), call = call)
  if (x$time == 0) {
    kb_abort("No row has been taken in: there is nothing to draw.",
      "not_defined",
      call = call
    )
  }
  refused <- c("ess", "evidence", "kernels", "kernel_path")
  if (has_dictionary(x)) refused <- setdiff(refused, "kernels")
  if (inherits(x, "kb_srvm_mcmc") && type %in% refused) {
    refuse_batch(
      paste0(what, "(type = \"", type, "\")"),
      "It shows the sequential sampler", call
    )
  }
  if (!inherits(x, "kb_srvm_mcmc") && type == "trace_density") {
    kb_abort(c(
      "{.code {what}(type = \"trace_density\")} is for fits by Markov chains.",
      i = "{.code type = \"trace\"} shows the sequential sampler."
    ), "not_defined", call = call)
  }
  type
}

srvm_trace_labels <- c(k = "k", sigma = "noise sd")

#' The arguments that a type uses
#' @noRd
srvm_plot_arguments <- function(type) if (type == "fit") c("level", "n")

#' Lines need two points: one is drawn as a point
#' @noRd
path_type <- function(x) if (x$time == 1) "p" else "l"

#' @noRd
path_label <- function(unit) if (unit == "row") "rows taken in" else unit

# Types ------------------------------------------------------------------------

#' @noRd
plot_ess <- function(x, ..., unit = "row") {
  path <- ess(x)
  size <- particles_by_row(x)
  base_plot(list(
    x = recorded_steps(x), y = path$ess, type = path_type(x),
    ylim = c(0, max(size)), xlab = path_label(unit),
    ylab = "effective sample size", col = kb_colour("blue"), lwd = 1.5
  ), ...)
  threshold <- x$control$ess_threshold * size
  n <- length(size)
  at <- c(-1, recorded_steps(x), 2 * x$time + 1)
  # update() may have changed the number of particles on the way.
  graphics::lines(at, threshold[c(1, seq_len(n), n)],
    type = "s", lty = 2, col = kb_colour("grey")
  )
  if (any(path$resampled)) {
    graphics::rug(recorded_steps(x)[path$resampled],
      col = kb_colour("orange"), lwd = 1.5)
  }
  entries <- list(
    list(col = kb_colour("blue"), lwd = 1.5),
    list(col = kb_colour("grey"), lty = 2),
    list(col = kb_colour("orange"), lwd = 1.5)
  )
  resampled <- paste("resampled before the", unit)
  key_above(stats::setNames(entries, c("ESS", "threshold", resampled)))
}

#' @noRd
plot_evidence <- function(x, ..., unit = "row") {
  path <- evidence(x)$path
  base_plot(list(
    x = recorded_steps(x), y = path$log_evidence, type = path_type(x),
    xlab = path_label(unit), ylab = "log evidence", col = kb_colour("blue"),
    lwd = 1.5
  ), ...)
}

#' Two panels; in a page that the caller has divided, the next two fields
#' @noRd
plot_trace <- function(x, ...) {
  if (all(graphics::par("mfrow") == 1)) {
    old <- graphics::par(mfrow = c(2, 1), mar = c(4.2, 4.1, 1.6, 1))
    on.exit(graphics::par(old))
  }
  runs <- fit_runs(x)
  steps <- recorded_steps(x)
  path <- function(name) {
    matrix(unlist(lapply(runs, function(run) run$path[[name]])), length(steps))
  }
  sigma <- unscale_sd(x$settings$scaling, path("mean_sigma"))
  # The first rows leave the prior's heavy tail; they would set the scale.
  late <- if (x$time > 20) sigma[steps > 10, ] else sigma
  panel <- function(values, colour, defaults, ...) {
    base_plot(c(defaults, list(
      x = steps, y = values[, 1], type = "n", xlab = "rows taken in"
    )), ...)
    graphics::matlines(steps, values,
      lty = 1, type = path_type(x), pch = 1, lwd = 1.5,
      col = kb_colour(colour, if (length(runs) > 1) 0.6 else 1)
    )
  }
  dots <- list(...)
  panel(path("mean_k"), "blue", list(
    ylab = "mean k", ylim = range(path("mean_k"))
  ), ...)
  do.call(panel, c(
    list(sigma, "orange", list(ylab = "mean noise sd", ylim = c(0, max(late)))),
    dots[setdiff(names(dots), "main")]
  ))
}
