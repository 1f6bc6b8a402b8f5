# calibrate(): are the posteriors of kbr() as wide as they say, and where they
# say?

#' Simulation-based calibration
#'
#' `calibrate(fit)` checks posteriors at pairs whose true states are known and were not
#' used. If the posterior is exact, the posterior probability below the true state is
#' uniform between 0 and 1 over the prior, and a central interval of level L
#' holds a share L of the true states.
#' @section What is checked:
#' The probability integral transform of a true state x is u = P(X < x) + U P(X
#' = x), with random U, and X from the distribution of
#' [`predict(type = "probability")`][predict.kb_kbr], whose quantiles all methods show.
#'
#' Without `pairs` those of the fit are used: each of `folds` blocks is predicted by
#' a fit of the others, with the same kernels, bandwidths and scaling, n times `eps`,
#' and `delta` changed as [tune_kbr()] does; learned summaries are learned again.
#' These fits have fewer pairs and may be a little worse; if settings were chosen
#' with the same pairs, the check is a little too kind. With `pairs`, which must not
#' be those of the fit, the fit itself is checked. Calibration holds over the prior,
#' not at each observation: a posterior that is always the prior is calibrated, too.
#' `skill` tells them apart.
#' @section Test:
#' The null hypothesis is that u is uniform and independent over the pairs. The
#' statistic is that of Säilynoja, Bürkner and Vehtari (2022): at up to 100 points
#' the number of u below is compared with its binomial distribution, and the smallest
#' two-sided probability is the statistic, whose distribution is known from 999
#' simulations. The plot's band contains the whole curve in 95 percent of them, and p
#' <= 0.05 if and only if the curve leaves it. `p_adjusted` is p after Holm's
#' correction for several states. A test of many pairs finds deviations that do not
#' matter: look at the coverage.
#' @param object A fit of [kbr()].
#' @param pairs `NULL`, or pairs that the fit has not seen, drawn from its
#'   prior: of [kbr_simulate()], or a list of the states `x` (m x d) and their
#'   observations `y` (m rows, as `newdata` of
#'   [`predict()`][predict.kb_kbr]).
#' @param n The largest number of pairs that are predicted, at least 20; evenly
#'   spaced rows if there are more.
#' @param folds Number of blocks, from 2 to the number of pairs; `NULL`: 5. Not
#'   with `pairs`.
#' @param seed A whole number, or `NULL` to draw from R's generator.
#' @param progress Show a progress bar? `NULL`: in interactive sessions. Blocks
#'   are divided among [workers][kb_workers].
#' @param x An object of class `kb_calibration`.
#' @inheritParams label_noise
#' @return An object of class `kb_calibration`: a list of
#' * `pit`: matrix of u, one row per pair and one column per state.
#' * `coverage`: data frame with one line per state and level: `state`, `level`
#'   (0.5, 0.8, 0.9, 0.95), `coverage` (share of the true states inside) and
#'   `se`, its binomial standard error if the level is right.
#' * `states`: data frame with one line per state: `state`, `p`, `p_adjusted`,
#'   `problem` (`""` where p_adjusted is above 0.05; otherwise such as `"too narrow"`,
#'   `"too low"` or `"of another shape"`), `crps` (mean continuous ranked probability
#'   score, in units of the state; smaller is better), `prior_crps` (that of the prior)
#'   and `skill`: 1 - crps / prior_crps, 1 is perfect, 0 no better than the prior. `NA`
#'   where only kernel values of the prior are known.
#' * `band`: data frame of the 95 percent band of the share of u below `x`:
#'   `x`, `lower`, `upper`.
#' * `lost`: number of pairs left out because their posterior is `NA`.
#' * `folds`: number of blocks, or `NULL`.
#'
#' `plot()` shows, for up to nine states, the share of u below each point minus
#' its expectation, with the band. A curve that is above 0 on the left and below
#' on the right: too narrow; the opposite: too wide; above 0 throughout: the
#' posterior is too high. It returns `x`, invisibly.
#' @section Errors: `kb_error_argument` also for fewer than 20 pairs, and for a fit
#'   with a prior of its own without `pairs`; `kb_error_not_defined` for fits of
#'   [chunks][kbr_chunks] and, without `pairs`, of kernel matrices.
#' @references
#' Säilynoja, T., Bürkner, P.-C. and Vehtari, A. (2022). Graphical test for
#' discrete uniformity and its applications in goodness-of-fit evaluation and
#' multiple sample comparison. *Statistics and Computing* 32, 32.
#' @examples
#' pairs <- kbr_simulate(
#'   function(n) rnorm(n), function(x) x + 0.7 * rnorm(length(x)),
#'   n = 300, seed = 1
#' )
#' checked <- calibrate(kbr(pairs), n = 100, folds = 2, seed = 1)
#' checked
#' plot(checked)
#' @export
calibrate <- function(object, ...) UseMethod("calibrate")

#' @export
calibrate.default <- function(object, ...) {
  not_defined("calibrate", object, "kbr")
}

#' @rdname calibrate
#' @export
calibrate.kb_kbr <- function(object, pairs = NULL, n = 500, folds = NULL,
                             seed = NULL, progress = NULL, ...) {
  object <- checked_fit(object, ...)
  check_type_defined(object, "probability")
  n <- check_count(n, least_pairs)
  progress <- check_progress(progress)
  if (is.null(pairs)) {
    folds <- if (is.null(folds)) 5L else check_count(folds, 2, object$time)
    levels <- held_out_levels(object, n, folds, progress)
  } else {
    if (!is.null(folds)) {
      bad_argument(folds, "folds", "left out: all `pairs` are new to the fit")
    }
    levels <- new_pair_levels(object, pairs, n)
  }
  new_calibration(levels, folds, seed)
}

least_pairs <- 20

# The posterior at true states -------------------------------------------------

#' Where true states are in their posteriors: all that calibrate() asks of a fit
#' @param x True states, N x d.
#' @param seen Their observations, from `observe()` or `kbr_seen()`.
#' @return List of matrices N x d: `below`, P(X < x), `at`, P(X = x), and `crps`;
#'   `NA` where there is no posterior.
#' @noRd
posterior_levels <- function(fit, x, seen) UseMethod("posterior_levels")

#' @export
posterior_levels.kb_kbr_adjusted <- function(fit, x, seen) {
  bind_levels(lapply(seq_len(nrow(x)), function(i) {
    posterior_levels(posterior_at(fit, seen, i), x[i, , drop = FALSE], NULL)
  }))
}

#' @export
posterior_levels.kb_kbr <- function(fit, x, seen) {
  weighted_levels(fit$data$states, probability_weights(fit, seen), x)
}

# With the CRPS of the prior, which is the same for all observations
calibration_levels <- function(fit, x, seen) {
  prior <- prior_sample(fit)
  crps <- if (is.null(prior)) {
    NA * x
  } else {
    weighted_levels(prior$points, t(prior$weights), x)$crps
  }
  c(posterior_levels(fit, x, seen), list(prior_crps = crps))
}

#' Levels of true states x among states z
#' @param p Probabilities of z: one row per row of x, or one for all.
#' @return As `posterior_levels()`.
#' @noRd
weighted_levels <- function(z, p, x) {
  parts <- c("below", "at", "crps")
  out <- array(NA_real_, c(dim(x), 3), list(NULL, colnames(z), parts))
  row <- rep_len(seq_len(nrow(p)), nrow(x))
  for (j in seq_len(ncol(z))) {
    order <- order(z[, j])
    for (i in which(stats::complete.cases(p)[row])) {
      out[i, j, ] <- state_levels(z[order, j], p[row[[i]], order], x[i, j])
    }
  }
  lapply(stats::setNames(nm = parts), function(part) {
    matrix(out[, , part], nrow(x), dimnames = dimnames(out)[1:2])
  })
}

# Of increasing points z with weights w that sum to one, at a number x
state_levels <- function(z, w, x) {
  to <- cumsum(w)
  to <- pmin(pmax(to / to[[length(to)]], 0), 1)
  cdf <- function(count) if (count == 0) 0 else to[[count]]
  below <- cdf(findInterval(x, z, left.open = TRUE))
  spread <- to[-length(to)]
  c(
    below = below, at = cdf(findInterval(x, z)) - below,
    # E|X - x| - E|X - X'| / 2
    crps = sum(w * abs(z - x)) - sum(diff(z) * spread * (1 - spread))
  )
}

# Pairs of the fit, each predicted by a fit without its block
held_out_levels <- function(fit, n, folds, progress) {
  refuse_own_pairs(fit)
  rows <- calibration_rows(fit$time, n, "object")
  block <- sort(rep_len(seq_len(folds), fit$time))
  tasks <- as.list(unique(block[rows]))
  keep_run({
    out <- map_tasks(
      tasks, "calibrate_block", list(fit = fit, rows = rows, block = block),
      progress, "Calibrating"
    )
    report_tasks(
      sum(out$done), length(tasks), "block", "The result is that of these."
    )
  })
  bind_levels(out$values[out$done])
}

calibrate_block <- function(block, shared) {
  held <- shared$block == block
  rows <- shared$rows[held[shared$rows]]
  data <- shared$fit$data
  fit <- quietly_kbr(fit_rows(shared$fit, which(!held)))
  y <- scaled_observations(fit, data$observations[rows, , drop = FALSE])
  calibration_levels(
    fit, data$states[rows, , drop = FALSE], observe(fit, y)
  )
}

# The fit of some of its rows, with the same kernels; n eps stays as it is, and
# learned summaries are learned again
fit_rows <- function(fit, rows) {
  more <- fit$time / length(rows)
  fit <- take_pairs(fit, rows)
  fit$settings$eps <- more * fit$settings$eps
  if (fit$settings$method == "kbr") {
    fit$settings$delta <- more * fit$settings$delta
  }
  fit <- relearn_summaries(fit)
  fit$features <- kbr_features(
    fit, fit$features$states$kernel, fit$features$observations$kernel
  )
  fit$gram_states <- crossprod_cpp(fit$features$states$factor)
  set_prior(fit, fit$prior)
}

refuse_own_pairs <- function(fit) {
  if (!is.null(fit$prior)) {
    bad_argument(NULL, "pairs", paste(
      "given, drawn from the prior of the fit: its own pairs are not"
    ))
  }
  kernels <- lapply(fit$features, `[[`, "kernel")
  if (any(vapply(kernels, is.null, NA))) {
    kb_abort(c(
      "{.fn calibrate} of kernel matrices is not defined without {.arg pairs}.",
      i = "Give kernels to {.fn kbr}, or pairs that the fit has not seen."
    ), "not_defined")
  }
}

# Lists of matrices with the same columns as one
bind_levels <- function(levels) {
  lapply(stats::setNames(nm = names(levels[[1]])), function(part) {
    do.call(rbind, lapply(levels, `[[`, part))
  })
}

new_pair_levels <- function(fit, pairs, n) {
  fine <- is.list(pairs) && !is.data.frame(pairs) &&
    all(c("x", "y") %in% names(pairs))
  if (!fine) {
    bad_argument(pairs, "pairs", paste(
      "NULL, pairs of kbr_simulate(), or a list of states `x` and observations",
      "`y`"
    ))
  }
  x <- check_points_like(pairs$x, fit$data$states, "pairs$x")
  seen <- suppressWarnings(
    kbr_seen(fit, pairs$y),
    classes = c("kb_warning_far", "kb_warning_weights")
  )
  if (length(seen$complete) != nrow(x)) {
    bad_argument(pairs$y, "pairs$y", paste(nrow(x), "rows, one per row of `x`"))
  }
  if (!all(seen$complete)) {
    refuse("pairs$y", "missing", "must not have missing values.")
  }
  rows <- calibration_rows(nrow(x), n, "pairs")
  calibration_levels(fit, x[rows, , drop = FALSE], pick_seen(seen, rows))
}

# Some of the observations: they are columns of `coef` and rows of all others
pick_seen <- function(seen, rows) {
  out <- lapply(seen[names(seen) != "coef"], function(v) {
    if (is.matrix(v)) v[rows, , drop = FALSE] else v[rows]
  })
  if (!is.null(seen$coef)) out$coef <- seen$coef[, rows, drop = FALSE]
  out
}

calibration_rows <- function(size, n, arg) {
  if (size < least_pairs) {
    refuse(arg, "argument", "must have at least {least_pairs} pairs.",
      "It has {size}."
    )
  }
  spread_over(size, min(size, n))
}

# Result -----------------------------------------------------------------------

#' @param levels List of matrices, see `calibration_levels()`.
#' @noRd
new_calibration <- function(levels, folds = NULL, seed = NULL) {
  kept <- stats::complete.cases(levels$below)
  levels <- lapply(levels, function(m) m[kept, , drop = FALSE])
  if (sum(kept) < least_pairs) {
    refuse_no_posteriors(sum(kept), sum(!kept))
  }
  with_local_seed(seed, {
    u <- stats::runif(length(levels$below))
    pit <- levels$below + u * levels$at
    null <- uniform_counts(nrow(pit))
  })
  p <- apply(pit, 2, uniform_p, null)
  adjusted <- stats::p.adjust(p, "holm")
  crps <- colMeans(levels$crps)
  prior <- colMeans(levels$prior_crps)
  states <- data.frame(
    state = colnames(pit), p = p, p_adjusted = adjusted,
    problem = ifelse(adjusted > 0.05, "", apply(pit, 2, pit_problem)),
    crps = crps, prior_crps = prior, skill = 1 - crps / prior, row.names = NULL
  )
  structure(list(
    pit = pit, coverage = pit_coverage(pit), states = states,
    band = uniform_band(null), lost = sum(!kept), folds = folds
  ), class = "kb_calibration")
}

refuse_no_posteriors <- function(kept, lost) {
  kb_abort(c(
    "Only {kept} pair{?s} {?is/are} left: at least {least_pairs} are needed.",
    x = if (lost > 0) "{lost} {?has/have} no posterior.",
    i = if (lost > 0) "Use a wider {.arg kernel_y}, or a larger {.arg delta}."
  ), "weights")
}

pit_coverage <- function(pit, levels = c(0.5, 0.8, 0.9, 0.95)) {
  inside <- vapply(levels, function(level) {
    colMeans(abs(pit - 0.5) <= level / 2)
  }, numeric(ncol(pit)))
  data.frame(
    state = rep(colnames(pit), length(levels)),
    level = rep(levels, each = ncol(pit)), coverage = as.vector(inside),
    se = rep(sqrt(levels * (1 - levels) / nrow(pit)), each = ncol(pit))
  )
}

# What is wrong with a column of u: mean, spread and tails of normal scores that
# calibration has with probability 0.01 each
pit_problem <- function(u) {
  far <- stats::qnorm(0.995)
  n <- length(u)
  score <- stats::qnorm(pmin(pmax(u, 0.5 / n), 1 - 0.5 / n))
  shift <- mean(score) / stats::sd(score) * sqrt(n)
  spread <- (stats::var(score) - 1) * sqrt(n / 2)
  beyond <- mean(abs(score - mean(score)) > stats::qnorm(0.975)) - 0.05
  heavy <- beyond > far * sqrt(0.05 * 0.95 / n)
  found <- c(
    if (spread > far) "too narrow" else if (spread < -far && !heavy) "too wide",
    # True states far up in the posterior: it is too low.
    if (shift > far) "too low" else if (shift < -far) "too high"
  )
  if (length(found) > 0) {
    return(paste(found, collapse = ", "))
  }
  middle <- mean(abs(u - 0.5) < 0.25) - 0.5
  if (heavy) {
    "too narrow in the tails"
  } else if (middle > far * sqrt(0.25 / n)) {
    "too wide in the middle"
  } else {
    "of another shape"
  }
}

# Uniformity -------------------------------------------------------------------

#' Numbers of n uniform values below a grid, of 999 simulations
#' @return List of `grid`, `chances` (of each count, 0 to n, at each point of
#'   the grid) and `statistic`, increasing.
#' @noRd
uniform_counts <- function(n, simulations = 999) {
  cells <- min(n, 100)
  grid <- seq_len(cells - 1) / cells
  chances <- vapply(grid, count_chances, numeric(n + 1), n = n)
  drawn <- stats::rmultinom(simulations, n, rep(1, cells))
  statistic <- apply(drawn, 2, function(inside) {
    least_chance(cumsum(inside)[-cells], chances)
  })
  list(grid = grid, chances = chances, statistic = sort(statistic))
}

# Two-sided binomial probabilities of 0 to n successes
count_chances <- function(at, n) {
  below <- stats::pbinom(0:n, n, at)
  above <- stats::pbinom(-1:(n - 1), n, at, lower.tail = FALSE)
  2 * pmin(below, above)
}

least_chance <- function(counts, chances) {
  min(chances[cbind(counts + 1, seq_along(counts))])
}

uniform_p <- function(u, null) {
  found <- least_chance(findInterval(null$grid, sort(u)), null$chances)
  (1 + sum(null$statistic <= found)) / (1 + length(null$statistic))
}

# The shares below the grid with which p is above 0.05
uniform_band <- function(null, level = 0.95) {
  n <- nrow(null$chances) - 1
  # 0.05 * 1000 is a little more than 50.
  last <- floor((1 - level) * (1 + length(null$statistic)) + 1e-9)
  inside <- apply(null$chances >= null$statistic[[last]], 2, function(fine) {
    range(which(fine) - 1)
  })
  data.frame(
    x = null$grid, lower = inside[1, ] / n, upper = inside[2, ] / n
  )
}

# Methods ----------------------------------------------------------------------

#' @rdname calibrate
#' @export
print.kb_calibration <- function(x, digits = 2, ...) {
  check_no_dots(...)
  cat(
    "Calibration at ", counted(nrow(x$pit), "pair"), ", ",
    if (is.null(x$folds)) {
      "new to the fit"
    } else {
      paste("each predicted without its block, of", x$folds)
    },
    if (x$lost > 0) paste0("; without posterior, left out: ", x$lost), "\n",
    "Percent of true states in central intervals:\n",
    sep = ""
  )
  print(calibration_table(x, digits), row.names = FALSE)
  cat(strwrap(calibration_words(x), 80, exdent = 2), sep = "\n")
  invisible(x)
}

calibration_table <- function(x, digits) {
  levels <- unique(x$coverage$level)
  inside <- matrix(x$coverage$coverage, ncol = length(levels))
  first <- x$coverage$state == x$states$state[[1]]
  inside <- rbind(inside, x$coverage$se[first])
  percent <- formatC(100 * inside, 1, format = "f")
  colnames(percent) <- paste0(100 * levels, "%")
  data.frame(
    state = c(x$states$state, "(standard error)"), percent,
    p = c(format(x$states$p_adjusted, digits = digits), ""),
    skill = c(format(x$states$skill, digits = digits), ""),
    check.names = FALSE
  )
}

# One sentence per state that is off, or one for all
calibration_words <- function(x) {
  off <- which(x$states$problem != "")
  if (length(off) == 0) {
    return("No deviation from calibration was found.")
  }
  vapply(off, function(j) {
    state <- x$states$state[[j]]
    inside <- x$coverage$coverage[
      x$coverage$state == state & x$coverage$level == 0.9
    ]
    paste0(
      state, ": posteriors are ", sub(", ", " and ", x$states$problem[[j]]),
      ". 90% intervals hold ", format(100 * inside, digits = 3), "%, and ",
      format(100 * mean(x$pit[, j] > 0.5), digits = 3),
      "% of the true states are above the median."
    )
  }, "")
}

#' @rdname calibrate
#' @export
plot.kb_calibration <- function(x, ...) {
  draw_picture(pit_picture(x), x, ...)
}

#' @rdname autoplot.kb_srvm
#' @exportS3Method ggplot2::autoplot
autoplot.kb_calibration <- autoplot_of(plot.kb_calibration)

pit_picture <- function(x) {
  band <- x$band
  ends <- function(v) c(0, v, 0)
  at <- c(0, band$x, 1)
  shown <- utils::head(colnames(x$pit), 9)
  new_picture(lapply(shown, function(state) {
    u <- sort(x$pit[, state])
    panel(
      paste("posterior probability below the true", state),
      "share below minus expected",
      ribbon_layer(at, ends(band$lower - band$x), ends(band$upper - band$x),
        alpha = 0.5, label = "95% band if calibrated"
      ),
      rule_layer(y = 0),
      lines_layer(at, findInterval(at, u) / length(u) - at,
        lwd = 2, label = "true states"
      ),
      xlim = 0:1
    )
  }), columns = ceiling(sqrt(length(shown))))
}
