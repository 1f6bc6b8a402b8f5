# Pictures of sequential samplers: of srvm() and tdsmc().

#' @rdname autoplot.kb_srvm
#' @exportS3Method ggplot2::autoplot
autoplot.kb_tdsmc <- function(object, type = c("ess", "evidence", "moves"),
                              ...) {
  check_no_dots(...)
  object <- migrate_fit(object)
  need_package("ggplot2", "`autoplot()`")
  type <- check_choice(type, c("ess", "evidence", "moves"))
  refuse_no_step(object)
  switch(type,
    ess = gg_ess(object, "step"),
    evidence = gg_evidence(object, "step"),
    moves = gg_moves(object)
  )
}

#' @noRd
gg_moves <- function(x) {
  moves <- td_moves(x)
  of <- function(values, what) {
    data.frame(
      step = as.vector(row(values)), share = as.vector(values), of = what,
      move = factor(colnames(values)[col(values)], colnames(values))
    )
  }
  lines <- rbind(
    of(moves$chosen / rowSums(moves$chosen), "chosen"),
    of(moves$share, "weighted")
  )
  gg_start(lines, x = .data$step, y = .data$share, colour = .data$move) +
    ggplot2::geom_line(ggplot2::aes(linetype = .data$of)) +
    ggplot2::scale_colour_manual(values = class_colours(length(x$moves))) +
    ggplot2::scale_linetype_manual(
      NULL,
      values = c(chosen = 2, weighted = 1)
    ) +
    ggplot2::ylim(0, 1) +
    ggplot2::labs(x = "step", y = "share of particles")
}

#' @noRd
gg_path <- function(x) {
  runs <- fit_runs(x)
  steps <- recorded_steps(x)
  path <- function(name) {
    unlist(lapply(runs, function(run) run$path[[name]]), use.names = FALSE)
  }
  labels <- c("mean k", if (!is_probit(x)) "mean noise sd")
  lines <- data.frame(
    row = steps, run = factor(rep(seq_along(runs), each = length(steps))),
    quantity = factor(
      rep(labels, each = length(steps) * length(runs)), labels
    ),
    value = c(path("mean_k"), if (!is_probit(x)) {
      unscale_sd(x$settings$scaling, path("mean_sigma"))
    })
  )
  # The first rows leave the prior's heavy tail; they would set the scale.
  if (x$time > 20) lines <- lines[lines$row > 10, ]
  gg_start(lines, x = .data$row, y = .data$value, group = .data$run) +
    ggplot2::geom_line(colour = kb_colour("blue")) +
    ggplot2::facet_wrap("quantity", ncol = 1, scales = "free_y") +
    ggplot2::expand_limits(y = 0) +
    ggplot2::labs(x = "rows taken in", y = NULL)
}

#' @param unit What the sampler takes in: rows or steps.
#' @noRd
gg_evidence <- function(x, unit = "row") {
  value <- evidence(x)$path$log_evidence
  path <- data.frame(at = recorded_steps(x), value = value)
  gg_start(path, x = .data$at, y = .data$value) +
    ggplot2::geom_line(colour = kb_colour("blue")) +
    ggplot2::labs(x = path_label(unit), y = "log evidence")
}

#' @noRd
gg_ess <- function(x, unit = "row") {
  path <- ess(x)
  path$at <- recorded_steps(x)
  path$threshold <- x$control$ess_threshold * particles_by_row(x)
  gg_start(path, x = .data$at, y = .data$ess) +
    ggplot2::geom_line(colour = kb_colour("blue")) +
    ggplot2::geom_step(
      ggplot2::aes(y = .data$threshold),
      linetype = 2, colour = kb_colour("grey")
    ) +
    ggplot2::geom_rug(
      data = path[path$resampled, ], sides = "b", colour = kb_colour("orange")
    ) +
    ggplot2::expand_limits(y = 0) +
    ggplot2::labs(
      x = path_label(unit), y = "effective sample size",
      caption = paste("dashed: threshold; ticks: resampled before the", unit)
    )
}

#' Probabilities of kernels with bars of two standard errors; of a dictionary
#' shares of the centres with two standard deviations
#' @noRd
gg_kernels <- function(x) {
  table <- kernel_posterior(x)
  shares <- has_dictionary(x)
  value <- if (shares) table$share else table$probability
  reach <- 2 * if (shares) table$share_sd else table$probability_se
  reach[is.na(reach)] <- 0
  by_bandwidth <- !shares && differ_in_bandwidth(x)
  bars <- data.frame(
    at = if (by_bandwidth) table$bandwidth else seq_along(value),
    value = value, lower = pmax(value - reach, 0),
    upper = pmin(value + reach, 1)
  )
  plot <- gg_start(bars, x = .data$at, y = .data$value) +
    ggplot2::geom_linerange(
      ggplot2::aes(ymin = .data$lower, ymax = .data$upper),
      colour = kb_colour("sky"), linewidth = 1.5
    ) +
    ggplot2::geom_point(colour = kb_colour("blue")) +
    ggplot2::ylim(0, 1) +
    ggplot2::labs(
      x = if (by_bandwidth) "bandwidth" else "kernel",
      y = if (shares) "share of the centres" else "probability"
    )
  if (by_bandwidth) plot <- plot + ggplot2::scale_x_log10()
  if (shares) {
    return(plot)
  }
  bars$prior <- table$prior
  plot + ggplot2::geom_point(
    ggplot2::aes(y = .data$prior), bars,
    shape = 4, colour = kb_colour("grey")
  )
}

#' Probabilities of the kernels against rows
#' @noRd
gg_kernel_path <- function(x) {
  path <- as.matrix(kernel_posterior(x, by_row = TRUE)[-1])
  lines <- data.frame(
    at = recorded_steps(x)[row(path)], probability = as.vector(path),
    kernel = factor(as.vector(col(path)))
  )
  gg_start(lines, x = .data$at, y = .data$probability) +
    ggplot2::geom_line(ggplot2::aes(colour = .data$kernel)) +
    ggplot2::scale_colour_viridis_d(direction = -1) +
    ggplot2::ylim(0, 1) +
    ggplot2::labs(x = path_label("row"), y = "probability of the kernel")
}

#' Probabilities to be a centre, a colour each kernel, one upon the other
#' @noRd
gg_dictionary_centres <- function(x) {
  used <- inclusion(x)
  single <- ncol(x$data$x) == 1
  values <- as.matrix(used[-(1:2)])
  top <- t(apply(cbind(0, values), 1, cumsum))
  bars <- data.frame(
    at = if (single) x$data$x[, 1] else used$row,
    from = as.vector(top[, -ncol(top)]), to = as.vector(top[, -1]),
    kernel = factor(as.vector(col(values)))
  )
  gg_start(bars, x = .data$at) +
    ggplot2::geom_segment(ggplot2::aes(
      xend = .data$at, y = .data$from, yend = .data$to, colour = .data$kernel
    )) +
    ggplot2::scale_colour_manual(values = dictionary_colours(ncol(values))) +
    ggplot2::labs(
      x = if (single) colnames(x$data$x) else "row",
      y = "expected number of centres"
    )
}
