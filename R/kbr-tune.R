# Regularisation and bandwidths of kbr() by blocked cross-validation.

#' Choose bandwidths and regularisation of kernel Bayes' rule
#'
#' `tune_kbr(pairs)` is for the papers' rules, the methods `"kbr"` and `"iw"`, to
#' reproduce or compare them. If you want a posterior, call [kbr()]: its default
#' method chooses bandwidths for itself, and its intervals have the right width,
#' which those of the papers' rules often have not, tuned or not. For state-space
#' models see [tune_kbr_hmm()].
#'
#' Pairs are divided into `folds` blocks in the order given, so that neighbours in
#' time do not predict each other; each block is predicted from the others, and the
#' setting with the smallest mean loss is fitted to all pairs.
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
#' @return List of class `kb_kbr_tuning`: `fit` ([kbr()] of all pairs with the
#'   best setting), `table` (data frame with one line per setting: `bandwidth`,
#'   `c0`, `loss`, `se` (of its mean over folds)), `best` (number of the line).
#'   `predict()` uses the fit.
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

# Learned summaries of the observations as what kbr() conditions on.

# Learned summaries are tried with more columns than this, on so many pairs.
many_columns <- 10
summary_pairs <- 1000

check_summaries <- function(summaries, observations) {
  if (is.null(summaries) || identical(summaries, "none") ||
    identical(summaries, "learn")) {
    return(summaries)
  }
  if (!inherits(summaries, "kb_kdr")) {
    bad_argument(summaries, "summaries", paste(
      'NULL, "learn", "none" or a result of kdr()'
    ))
  }
  check_object(summaries)
  if (nrow(summaries$directions) != ncol(observations)) {
    kb_abort(c(
      "{.arg summaries} must be of the {ncol(observations)} columns of the
       observations.",
      x = "They are of {nrow(summaries$directions)}."
    ), "dimension", argument = "summaries")
  }
  summaries
}

#' Settings of the summaries, if any
#' @param given Arguments as in `kbr()`.
#' @noRd
choose_summaries <- function(fit, given) {
  wanted <- check_summaries(given$summaries, fit$data$observations)
  if (inherits(wanted, "kb_kdr")) {
    return(with_summaries(fit, wanted))
  }
  if (identical(wanted, "learn")) {
    return(with_summaries(fit, learned_summaries(fit), TRUE))
  }
  if (is.null(wanted) && summaries_possible(fit, given)) {
    return(try_summaries(fit, given))
  }
  fit
}

learned_summaries <- function(fit, k = "auto") {
  kdr(unname(fit$data$states), unname(fit$data$observations), k)
}

#' @param found A result of `kdr()`; `learned`: from the pairs of the fit?
#' @noRd
with_summaries <- function(fit, found, learned = FALSE) {
  fit$settings$summaries <- list(
    directions = found$directions, scaling = found$scaling, learned = learned
  )
  fit$settings$scaling$observations <- scaling_learn(
    summarised(fit, fit$data$observations), factor(), fit$settings$scale
  )
  fit
}

# Observations, or their summaries
summarised <- function(fit, y) {
  by <- fit$settings$summaries
  if (is.null(by)) y else kdr_scaled(by$scaling, y) %*% unname(by$directions)
}

summarised_columns <- function(fit) {
  summary_count(fit$settings$summaries, ncol(fit$data$observations))
}

# A kernel with a bandwidth of its own was chosen for the observations.
summaries_possible <- function(fit, given) {
  fit$settings$method == "adjusted" &&
    ncol(fit$data$observations) > many_columns &&
    inherits(given$kernel_y, "kb_kernel") &&
    kernel_has(given$kernel_y, "median") && takes_any_dimension(given$kernel_y)
}

# Learned summaries if they lower the energy scores of left-out pairs, (K44), by
# more than half the standard error
try_summaries <- function(fit, given) {
  rows <- spread_over(fit$time, min(fit$time, summary_pairs))
  some <- take_pairs(fit, rows)
  found <- learned_summaries(some)
  plain <- trial_adjustment(some, given)
  learned <- trial_adjustment(
    with_summaries(some, found), given, plain$mean$unit
  )
  if (simplest_choice(cbind(plain$left_out, learned$left_out)) == 1) {
    return(fit)
  }
  all <- length(rows) == fit$time
  with_summaries(fit, if (all) found else learned_summaries(fit), TRUE)
}

# For fits to some of the rows: as many, learned from these alone
relearn_summaries <- function(fit) {
  if (!isTRUE(fit$settings$summaries$learned)) {
    return(fit)
  }
  k <- summarised_columns(fit)
  with_summaries(fit, learned_summaries(fit, k), TRUE)
}

trial_adjustment <- function(fit, given, unit = NULL) {
  quietly_kbr({
    fit$features <- list(
      observations = observation_features(fit, given$kernel_y)
    )
    learn_adjustment(fit, unit)
  })
}

summaries_line <- function(fit) {
  if (is.null(fit$settings$summaries)) {
    return(NULL)
  }
  paste0(
    "  summaries:    ", counted(summarised_columns(fit), "direction"),
    " of the observations, see kdr()\n"
  )
}

# Which residuals count at an observation: those of pairs nearby, (K43), chosen
# by the energy score of left-out pairs, (K44).

# The effective number of pairs at an observation is at least this.
least_local <- 20

#' Weights of pairs at squared distances d2, (K43)
#' @param w Weights of the prior.
#' @noRd
local_weights <- function(d2, w, width) {
  if (!is.finite(width)) {
    return(w / sum(w))
  }
  least <- min(least_local, 0.5 * sum(w)^2 / sum(w^2))
  repeat {
    local <- log(w) - d2 / (2 * width^2)
    local <- exp(local - max(local))
    if (sum(local)^2 >= least * sum(local^2)) {
      return(local / sum(local))
    }
    width <- 1.3 * width
  }
}

# Squared distances of rows of z from a point, per column
distances_to <- function(z, at) {
  rowSums(sweep(z, 2, at)^2) / max(ncol(z), 1)
}

# What can be chosen, the simplest first: `varying` residuals are scaled by the
# variance at the observation; distances are those of predicted states, of
# predicted states and squares, or of observations.
locality_table <- function() {
  widths <- c(Inf, 1.6, 0.8, 0.4, 0.2, 0.1, 0.05)
  table <- expand.grid(
    varying = c(FALSE, TRUE), space = c("states", "moments", "observations"),
    width = widths, stringsAsFactors = FALSE
  )
  table[is.finite(table$width) | table$space == "states", ]
}

# Pairs whose scores are computed, pairs that they are predicted from, and draws
# of each prediction
scored_pairs <- 200
scored_from <- 2e4
scored_draws <- 64

#' Energy scores of all choices at left-out pairs, (K44)
#' @param model From `state_regression()`.
#' @param spaces Coordinates of the pairs in each space.
#' @param w Weights of the prior.
#' @param unit Of each state.
#' @return Matrix, pairs x choices.
#' @noRd
locality_scores <- function(model, spaces, w, table, unit) {
  n <- length(w)
  pool <- spread_over(n, min(n, scored_from))
  rows <- systematic_rows(w, min(n, scored_pairs))
  # Points are columns here, so that vectors are recycled along them.
  plain <- t(model$plain) / unit
  varying <- t(model$varying)
  sd <- model$scale * exp(t(model$log_variance$left_out) / 2) / unit
  spaces <- lapply(spaces, t)
  # Residuals that vary and those that do not share their weights.
  place <- paste(table$space, table$width)
  places <- which(!duplicated(place))
  near <- function(k, d2, prior) {
    local <- local_weights(d2[[table$space[[k]]]], prior, table$width[[k]])
    pool[systematic_rows(local, scored_draws)]
  }
  score <- function(k, i, chosen) {
    draws <- if (table$varying[[k]]) {
      varying[, chosen, drop = FALSE] * sd[, i]
    } else {
      plain[, chosen, drop = FALSE]
    }
    energy_score(draws - plain[, i])
  }
  t(vapply(rows, function(i) {
    d2 <- lapply(spaces, function(z) {
      colMeans((z[, pool, drop = FALSE] - z[, i])^2)
    })
    prior <- w[pool]
    prior[pool == i] <- 0
    chosen <- lapply(places, near, d2, prior)[match(place, place[places])]
    vapply(seq_len(nrow(table)), function(k) score(k, i, chosen[[k]]), 0)
  }, numeric(nrow(table))))
}

# E|X|^1/2 - E|X - X'|^1/2 / 2 of equally likely columns: the score of X at 0
#
# Of distances themselves, the score of separate modes hardly depends on how
# narrow each is.
energy_score <- function(x) {
  n <- ncol(x)
  mean(colSums(x^2)^0.25) - sum(sqrt(stats::dist(t(x)))) / n^2
}

# The simplest choice that is not worse than the best by more than a share of
# the standard error of the difference
simplest_choice <- function(scores, share = 0.5) {
  best <- which.min(colMeans(scores))
  behind <- scores - scores[, best]
  se <- apply(behind, 2, stats::sd) / sqrt(nrow(scores))
  which(colMeans(behind) <= share * se)[[1]]
}

# Rows with probabilities w, at even steps of their sums
systematic_rows <- function(w, n) {
  cumulative <- cumsum(w)
  cells_at((seq_len(n) - 0.5) / n * cumulative[[length(w)]], cumulative)
}

# How many columns the kernel of the observations sees
summary_count <- function(summaries, columns) {
  if (is.null(summaries)) columns else ncol(summaries$directions)
}
