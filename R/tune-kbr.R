# Regularisation and bandwidths of kbr() by blocked cross-validation.

#' Choose bandwidths and regularisation of kernel Bayes' rule
#'
#' For the papers' rules, the methods `"kbr"` and `"iw"`, to reproduce or compare
#' them. If you want a posterior, call [kbr()]: its default method, `"adjusted"`,
#' chooses bandwidths for itself, and its intervals have the right width, which those
#' of the papers' rules often have not, tuned or not. For state-space models see
#' [tune_kbr_hmm()].
#'
#' Blocked cross-validation over a grid: pairs are divided into `folds` blocks in the
#' order given, each block is predicted from the others, and the setting with
#' the smallest mean loss is fitted to all pairs. Folds are blocks, not random
#' rows, so that neighbours in time do not predict each other.
#'
#' @param x,y Pairs, as in [kbr()]; or a formula and `data`; or pairs of
#'   [kbr_simulate()].
#' @param formula,data A formula `x1 + x2 ~ y1` and the data frame it is
#'   evaluated in.
#' @param kernel_x,kernel_y Kernels whose bandwidths are multiplied by the same
#'   factor.
#' @param bandwidths Factors, positive numbers.
#' @param c0 Regularisation: positive numbers; `eps` = c0 / n and, for `method
#'   = "kbr"`, `delta` = 2 `eps`. For `"iw"` `delta` is 0.01 c0.
#' @param folds Number of blocks, at least 2.
#' @param loss `"mse"`: squared distance of the posterior mean from the state,
#'   in units of the states' variances, averaged over columns. `"kernel"`:
#'   squared distance between the posterior's kernel mean and that of the state,
#'   under the original `kernel_x` for all bandwidths.
#' @param rank,tol,method,support,normalize,scale As in [kbr()].
#' @param seed As in [kbr()]; recorded.
#' @param progress Show a progress bar? `NULL`: in interactive sessions. The
#'   folds and bandwidths are divided among [workers][kb_workers].
#' @param ... Not used: unknown arguments are errors.
#'
#' @return List of class `kb_kbr_tuning`: `fit` ([kbr()] of all pairs with the
#'   best setting), `table` (data frame with one line per setting: `bandwidth`,
#'   `c0`, `loss`, `se` (of its mean over folds)), `best` (number of the line).
#'   `predict()` uses the fit.
#' @section Errors: As in [kbr()]. Fewer rows than folds are an error of class
#'   `kb_error_argument`. After an interrupt the choice is among the finished
#'   bandwidths (`kb_warning_interrupted`); if there are none, it is an error
#'   (`kb_error_interrupted`).
#' @examples
#' pairs <- kbr_simulate(
#'   function(n) rnorm(n), function(x) x + 0.7 * rnorm(length(x)),
#'   n = 300, seed = 1
#' )
#' tuned <- tune_kbr(pairs)
#' tuned
#' predict(tuned, 1)
#' @export
tune_kbr <- function(x, ...) UseMethod("tune_kbr")

#' @export
tune_kbr.default <- function(x, ...) refuse_data(x, missing(x))

#' @rdname tune_kbr
#' @export
tune_kbr.formula <- function(formula, data, kernel_x = kernel_gaussian(),
                             kernel_y = kernel_gaussian(),
                             bandwidths = c(0.5, 1, 2), c0 = 10^(-3:1),
                             folds = 5, loss = c("mse", "kernel"),
                             rank = "auto", tol = NULL,
                             method = c("kbr", "iw"), support = NULL,
                             normalize = TRUE, scale = FALSE, seed = NULL,
                             progress = NULL, ...) {
  check_no_dots(...)
  mould <- mould_formula(formula, data, "omit", "matrix")
  call_with(tune_mould, given_arguments(),
    mould = mould, called = match.call()
  )
}

#' @rdname tune_kbr
#' @export
tune_kbr.matrix <- function(x, y) {
  check_no_dots(...)
  mould <- mould_pairs(x, y, NULL, "omit")
  call_with(tune_mould, given_arguments(),
    mould = mould, called = match.call()
  )
}
formals(tune_kbr.matrix) <- c(
  alist(x = , y = ), formals(tune_kbr.formula)[-(1:2)]
)

#' @rdname tune_kbr
#' @export
tune_kbr.data.frame <- tune_kbr.matrix

#' @rdname tune_kbr
#' @export
tune_kbr.numeric <- tune_kbr.matrix

#' @rdname tune_kbr
#' @export
tune_kbr.kb_pairs <- function(x, support = x$support, ...) {
  tune_kbr.matrix(x$x, x$y, support = support, ...)
}

tune_mould <- function(mould, kernel_x, kernel_y, bandwidths, c0, folds, loss,
                       rank, tol, method, support, normalize, scale, seed,
                       progress, called, started = now()) {
  force(started)
  progress <- check_progress(progress)
  loss <- check_choice(loss, c("mse", "kernel"))
  method <- check_choice(method, c("kbr", "iw"))
  normalize <- check_flag(normalize)
  scale <- check_flag(scale)
  bandwidths <- check_grid(bandwidths, "bandwidths")
  c0 <- check_grid(c0, "c0")
  n <- nrow(mould$y)
  folds <- check_count(folds, 2)
  if (n < folds) {
    bad_argument(folds, "folds", "at most the number of pairs")
  }
  kernels <- list(
    x = resolve_tuned(kernel_x, mould$y, scale, "kernel_x"),
    y = resolve_tuned(kernel_y, mould$x, scale, "kernel_y")
  )
  shared <- list(
    x = unname(mould$y), y = unname(mould$x), kernels = kernels, c0 = c0,
    block = sort(rep_len(seq_len(folds), n)), loss = loss, method = method,
    options = list(
      rank = rank, tol = tol, method = method,
      support = kbr_support(support, mould$y, kernel_x),
      normalize = normalize, scale = scale
    )
  )
  tasks <- split(
    expand.grid(fold = seq_len(folds), bandwidth = bandwidths),
    seq_len(folds * length(bandwidths))
  )
  keep_run({
    out <- map_tasks(tasks, "tune_cell", shared, progress, "Tuning")
    table <- finished_table(tasks, out, bandwidths, c0)
    best <- which.min(table$loss)
    chosen <- tuned_settings(table[best, ], n, method)
    given <- c(chosen[c("eps", "delta")], shared$options, list(
      kernel_x = kernel_widen(kernels$x, table$bandwidth[[best]]),
      kernel_y = kernel_widen(kernels$y, table$bandwidth[[best]]),
      prior = NULL, seed = seed, progress = FALSE
    ))
    given["support"] <- list(support)
    fit <- kbr_fit(mould, given, called, started)
  })
  structure(list(fit = fit, table = table, best = best),
    class = "kb_kbr_tuning"
  )
}

check_grid <- function(x, arg) {
  fine <- is.numeric(x) && length(x) > 0 && all(is.finite(x)) && all(x > 0)
  if (!isTRUE(fine)) bad_argument(x, arg, "positive finite numbers")
  sort(unique(as.double(x)))
}

# Bandwidths are those of all pairs, in every fold
resolve_tuned <- function(kernel, x, scale, arg) {
  kernel <- check_kernel(kernel, arg)
  check_kernel_dimension(kernel, ncol(x))
  kernel_resolve(kernel, scaling_x(scaling_learn(x, factor(), scale), x))
}

tuned_settings <- function(line, n, method) {
  eps <- line$c0 / n
  list(eps = eps, delta = if (method == "kbr") 2 * eps else 0.01 * line$c0)
}

# One fold at one bandwidth: the losses of all c0, features computed once
tune_cell <- function(task, shared) {
  held <- shared$block == task$fold
  widen <- function(kernel) kernel_widen(kernel, task$bandwidth)
  n <- sum(!held)
  settings <- lapply(shared$c0, function(c0) {
    tuned_settings(data.frame(c0 = c0), n, shared$method)
  })
  fit <- quietly_kbr(do.call(kbr, c(
    list(
      shared$x[!held, , drop = FALSE], shared$y[!held, , drop = FALSE],
      kernel_x = widen(shared$kernels$x), kernel_y = widen(shared$kernels$y),
      seed = 1
    ),
    settings[[1]], shared$options
  )))
  yard <- if (shared$loss == "mse") {
    column_moments(shared$x)$scale
  } else {
    kernel_features(shared$kernels$x, scaled_states(fit))
  }
  vapply(settings, function(setting) {
    fit <- quietly_kbr(
      stats::update(fit, eps = setting$eps, delta = setting$delta)
    )
    held_out_loss(
      fit, shared$x[held, , drop = FALSE], shared$y[held, , drop = FALSE],
      shared$loss, yard
    )
  }, 0)
}

# No warnings: a fold that leaves much of a kernel unexplained, or the prior
# unmatched, has a large loss
quietly_kbr <- function(expr) {
  muffle <- function(w) invokeRestart("muffleWarning")
  withCallingHandlers(expr,
    kb_warning_rank = muffle, kb_warning_prior = muffle
  )
}

#' @param yard The scale of losses: the standard deviations of the states, or
#'   their features under the original kernel, so that losses of all bandwidths
#'   are comparable.
#' @noRd
held_out_loss <- function(fit, x, y, loss, yard) {
  seen <- observe(fit, scaled_observations(fit, y))
  losses <- switch(loss,
    mse = rowMeans(sweep(kbr_mean(fit, seen) - x, 2, yard, "/")^2),
    kernel = kernel_losses(
      fit, seen, scaling_x(fit$settings$scaling$states, x), yard
    )
  )
  # Weights that cancel, or an observation far from all others, count as worse
  # than any prior.
  losses[!is.finite(losses)] <- Inf
  mean(losses)
}

#' Squared distances of kernel means from those of single states: (K28)
#' @param features Of the fit's states.
#' @noRd
kernel_losses <- function(fit, seen, states, features) {
  mean <- crossprod(features$factor, t(kbr_weights(fit, seen)))
  at <- incomplete_cholesky_features(features, states)
  colSums(mean^2) - 2 * rowSums(at * t(mean)) +
    kernel_self(features$kernel, states)
}

# The table of the finished bandwidths
finished_table <- function(tasks, out, bandwidths, c0) {
  width <- vapply(tasks, `[[`, 0, "bandwidth")
  whole <- !bandwidths %in% width[!out$done]
  report_tasks(
    sum(whole), length(bandwidths), "bandwidth", "The choice is among these."
  )
  tuning_table(tasks, out$values, bandwidths[whole], c0)
}

tuning_table <- function(tasks, losses, bandwidths, c0) {
  width <- vapply(tasks, `[[`, 0, "bandwidth")
  lines <- lapply(bandwidths, function(bandwidth) {
    folds <- do.call(rbind, losses[width == bandwidth])
    data.frame(
      bandwidth = bandwidth, c0 = c0, loss = colMeans(folds),
      se = apply(folds, 2, stats::sd) / sqrt(nrow(folds))
    )
  })
  do.call(rbind, lines)
}

#' @export
print.kb_kbr_tuning <- function(x, digits = 3, ...) {
  check_no_dots(...)
  best <- x$table[x$best, ]
  show <- function(v) format(v, digits = digits)
  cat(
    "Kernel Bayes' rule, tuned over ", nrow(x$table), " settings\n",
    "  best: bandwidths times ", show(best$bandwidth), ", c0 = ",
    show(best$c0), ": loss ", show(best$loss), " (se ", show(best$se), ")\n",
    sep = ""
  )
  print(x$fit, digits = digits)
  invisible(x)
}

#' @export
predict.kb_kbr_tuning <- function(object, ...) stats::predict(object$fit, ...)

#' @export
plot.kb_kbr_tuning <- function(x, ...) draw_picture(tuning_picture(x), x, ...)

#' @rdname autoplot.kb_srvm
#' @exportS3Method ggplot2::autoplot
autoplot.kb_kbr_tuning <- autoplot_of(plot.kb_kbr_tuning)

tuning_picture <- function(x) {
  finite <- x$table[is.finite(x$table$loss), ]
  lines <- data.frame(x = finite$c0, y = finite$loss, group = finite$bandwidth)
  best <- x$table[x$best, ]
  widths <- unique(x$table$bandwidth)
  by <- groups("bandwidth factor", widths, ordered_colours(length(widths)))
  new_picture(panel(
    "c0, where eps = c0 / n", "cross-validated loss",
    layer("lines", lines, lwd = 1.5, by = by),
    layer("points", lines, size = 1, by = by),
    points_layer(best$c0, best$loss,
      shape = 1, size = 2, colour = "orange", label = "best"
    ),
    log = "xy"
  ))
}
