#' Plots of a sequential relevance vector machine
#'
#' `plot(fit)` shows the function, or observed against fitted responses.
#' @param x A fit of [srvm()].
#' @param type What to draw:
#' * `"fit"`: with one predictor the posterior mean of f with its credible band
#'   and the prediction band, the data and, with up to 200 rows, as the height
#'   of ticks what f is expected to lose without the row as a centre; with several
#'   predictors, observed against fitted responses with prediction intervals.
#'   For two classes the probability of the second level, against the predictor
#'   or by rank.
#' * `"ess"`: effective sample size against processed rows, with the rows at
#'   which particles were resampled.
#' * `"k"`: posterior of the number of centres, and its prior for this number of
#'   rows.
#' * `"evidence"`: log evidence against rows.
#' * `"centres"`: the expected change of f without each row as a centre, see
#'   [inclusion()]; for a [dictionary][kernel_dictionary] the expected number of centres at the row,
#'   with a colour for each kernel.
#' * `"kernels"`: posterior over kernels, with bars of two standard errors, and their
#'   prior, see [kernel_posterior()] (for a dictionary the mean share of the
#'   centres); `"kernel_path"`: the same against rows, not for a dictionary.
#' * `"trace"`: posterior means of k and of the noise standard deviation against
#'   rows, one line per replicate and kernel. For batch fits: both at each kept
#'   iteration, one line per chain; the axis begins after the warmup.
#' * `"trace_density"`, for batch fits only: the same, with the distribution of
#'   each chain's draws beside it.
#'
#' `"ess"`, `"evidence"`, `"kernels"` (except with a dictionary) and
#' `"kernel_path"` are not defined for batch fits.
#' @param level Probability inside bands and intervals, for `"fit"`.
#' @param n Number of points of a curve, for `"fit"`; `NULL`: 200.
#' @param ... Titles, limits and axes, as in [graphics::plot.default()], for
#'   example `main`, `xlab`, `ylim` or `cex.axis`; others are errors.
#' @return `x`, invisibly.
#' @examples
#' data <- sim_sinc(50, seed = 1)
#' fit <- srvm(y ~ x, data, kernel = kernel_gaussian(0.2), seed = 1)
#' plot(fit)
#' plot(fit, type = "k")
#' @export
plot.kb_srvm <- function(x,
                         type = c(
                           "fit", "ess", "k", "evidence", "centres", "trace",
                           "kernels", "kernel_path", "trace_density"
                         ),
                         level = 0.9, n = NULL, ...) {
  draw_picture(srvm_picture(x, type, level, n, !missing(level)), x, ...)
}

#' @rdname autoplot.kb_srvm
#' @exportS3Method ggplot2::autoplot
autoplot.kb_srvm <- autoplot_of(plot.kb_srvm)

#' @param given Has the caller given the level?
#' @noRd
srvm_picture <- function(x, type, level, n, given) {
  x <- checked_fit(x)
  type <- check_srvm_plot(x, type)
  refuse_ignored(
    type, c(level = given, n = !is.null(n)),
    if (type == "fit") c("level", "n"), "plot.kb_srvm"
  )
  level <- check_number(level, 0, 1, open = TRUE)
  if (!is.null(n)) n <- check_size(n, 2, each = 3)
  batch <- inherits(x, "kb_srvm_mcmc")
  labels <- c(k = "k", if (!is_probit(x)) c(sigma = noise_words(x)))
  switch(type,
    fit = fit_picture(x, level, n),
    ess = ess_picture(x, "row"),
    k = k_picture(x, srvm_prior_k(x), "centres"),
    evidence = evidence_picture(x, "row"),
    centres = centres_picture(x),
    kernels = kernels_picture(x),
    kernel_path = kernel_path_picture(x),
    trace_density = chains_picture(x, labels, TRUE),
    trace = if (batch) chains_picture(x, labels) else path_means_picture(x)
  )
}

# The type, which must be defined for the fit
check_srvm_plot <- function(x, type) {
  type <- check_choice(type, eval(formals(plot.kb_srvm)$type))
  if (x$time == 0) {
    kb_abort("No row has been processed: there is nothing to draw.",
      "not_defined"
    )
  }
  batch <- inherits(x, "kb_srvm_mcmc")
  what <- paste0("type = \"", type, "\"")
  refused <- c("ess", "evidence", "kernel_path", "kernels"[!has_dictionary(x)])
  if (batch && type %in% refused) {
    refuse_batch(what, "It shows the sequential sampler")
  }
  if (!batch && type == "trace_density") {
    kb_abort(c(
      "{.code {what}} is for fits by Markov chains.",
      i = "{.code type = \"trace\"} shows the sequential sampler."
    ), "not_defined")
  }
  type
}

path_label <- function(unit) if (unit == "row") "rows taken in" else unit

# Types ------------------------------------------------------------------------

#' @param unit The unit of the sampler: row or step.
#' @noRd
ess_picture <- function(x, unit) {
  path <- ess(x)
  at <- recorded_steps(x)
  size <- particles_by_row(x)
  new_picture(do.call(panel, c(
    list(path_label(unit), "effective sample size"),
    ess_layers(at, path$ess, unit),
    list(
    # update() may have changed the number of particles during the run.
    lines_layer(at, x$control$ess_threshold * size,
      lty = 2, colour = "grey", label = "threshold"
    ),
    layer("rug", data.frame(x = at[path$resampled]),
      colour = "orange", lwd = if (length(at) > 200) 0.5 else 1.5,
      label = paste("resampled before the", unit)
    ),
    ylim = c(0, size)
  ))))
}

# A line, or mean and range of blocks
ess_layers <- function(at, ess, unit) {
  if (length(at) <= 200) {
    return(list(lines_layer(at, ess, lwd = 1.5, label = "ESS")))
  }
  blocks <- series_blocks(at, ess)
  of <- paste("of", attr(blocks, "size"), paste0(unit, "s"))
  list(
    ribbon_layer(blocks$x, blocks$ymin, blocks$ymax,
      alpha = 0.5, label = paste("range", of)
    ),
    lines_layer(blocks$x, blocks$y, lwd = 2, label = paste("mean", of))
  )
}

evidence_picture <- function(x, unit) {
  new_picture(panel(
    path_label(unit), "log evidence",
    lines_layer(recorded_steps(x), evidence(x)$path$log_evidence, lwd = 1.5)
  ))
}

# Posterior means of k and of the noise, one line per run
path_means_picture <- function(x) {
  runs <- fit_runs(x)
  steps <- recorded_steps(x)
  path <- function(name) {
    matrix(unlist(lapply(runs, function(run) run$path[[name]])), length(steps))
  }
  lines <- function(values, colour) {
    data <- matrix_lines(steps, values)
    layer("lines", data.frame(x = data$x, y = data$y, line = data$group),
      colour = colour, lwd = 1.5, alpha = if (length(runs) > 1) 0.6 else 1
    )
  }
  k <- panel("rows taken in", "mean k", lines(path("mean_k"), "blue"))
  if (is_probit(x)) {
    return(new_picture(k))
  }
  sigma <- unscale_sd(x$settings$scaling, path("mean_sigma"))
  # The first rows still show the prior's heavy tail, which would determine the
  # scale.
  late <- if (x$time > 20) sigma[steps > 10, ] else sigma
  sigma[sigma > max(late)] <- NA
  new_picture(list(k, panel(
    "rows taken in", paste("mean", noise_words(x)), lines(sigma, "orange"),
    ylim = 0, shared = "main"
  )))
}
