# Choice of a kernel for kgs() by the evidence.

#' Choose a kernel by its evidence
#'
#' `select_kernel(y ~ ., data)` computes the evidence of [kgs()] for each of several
#' bandwidths of the Gaussian kernel, or kernels, and nuggets, and chooses those under
#' which the labels are most probable. No hold-out data are needed: a kernel so narrow
#' that it can produce any labels gives none of them much probability.
#'
#' The margin of the Bayes point, which the table also reports, is the smallest
#' \eqn{y_i f(x_i) / (|w| \sqrt{k(x_i, x_i)})}{y_i f(x_i) / (|w| sqrt(k(x_i,
#' x_i)))}, negative where it contradicts a label. With more classes
#' \eqn{y_i f(x_i)} is the difference between the label's function and the
#' largest other, divided by sqrt(2). With wrong labels only the evidence is meaningful.
#' @param x As in [kgs()]; for `plot()` the value of `select_kernel()`.
#' @inheritParams label_noise
#' @inheritParams kgs
#' @inheritParams evidence.kb_kgs
#' @param bandwidths Bandwidths of [kernel_gaussian()], positive numbers in the
#'   units of the scaled predictors. `NULL`, without `kernels`: the median
#'   distance times 1/8, 1/4, 1/2, 1, 2 and 4.
#' @param kernels A list of kernels, see [kb_kernels], instead of `bandwidths`.
#' @param nugget Variances of the noise of f, numbers of at least 0: each kernel
#'   is tried with each of them. A single `"learn"` integrates the nugget out.
#' @param method Sampler, see [kgs()]; the same with all nuggets. With
#'   `"leapfrog"`, which `"auto"` chooses unless the nugget is 0, the evidence
#'   is computed from the draws of the fit, and `warmup`, `iter`, `chains` and
#'   `n_temps` are of no effect.
#' @param control Settings of the chains that find each kernel's Bayes point,
#'   see [mcmc_control()]; its `checkpoint` is ignored. Their estimate of the
#'   noise sets the range of costs for the evidence.
#' @param warmup,iter,chains,volume As in [`evidence()`][evidence.kb_kgs].
#' @return An object of class `kb_kernel_selection`, a list:
#' * `kernel`, `nugget`: those of highest evidence, the kernel without the bias,
#'   to give to [kgs()]; its bandwidth is a number.
#' * `table`: data frame with one row per kernel and nugget: `kernel` (as text),
#'   `bandwidth` (`NA` if it is not one number), `nugget` (`NA` if it is learned),
#'   `log_evidence` and `mc_se` in nats, `probability` (of the row, with equal prior
#'   probabilities), `rate_mode` (rate of wrong labels with the highest evidence),
#'   `log_volume` (of the version space, `-Inf` if no draw reached it) and `margin` of
#'   the Bayes point; `NA` where it is not known.
#' * `best`: the row of `kernel` and `nugget`.
#' * `kernels`, `evidences`: lists, one element per row.
#' * `seed`.
#'
#' The chains of each kernel run in threads, or on [workers][kb_workers];
#' kernels follow one after the other.
#' @section Errors: As in [kgs()] and [`evidence()`][evidence.kb_kgs];
#'   `kb_error_not_separable` if no label can be wrong (`noise = 0`) and no
#'   kernel has a direction without errors.
#' @examples
#' moons <- sim_moons(40, flips = 0.1, seed = 1)
#' chosen <- select_kernel(y ~ x1 + x2, moons,
#'   bandwidths = c(0.1, 0.5, 2), iter = 200, chains = 2, seed = 1
#' )
#' chosen
#' plot(chosen)
#' kgs(y ~ x1 + x2, moons,
#'   kernel = chosen$kernel, nugget = chosen$nugget, seed = 1
#' )
#' @export
select_kernel <- function(x, ...) UseMethod("select_kernel")

#' @export
select_kernel.default <- function(x, ...) refuse_data(x, missing(x))

#' @rdname select_kernel
#' @export
select_kernel.formula <- function(formula, data, bandwidths = NULL,
                                  kernels = NULL, noise = noise_beta(),
                                  bias = 1, nugget = 0, method = "auto",
                                  rank = NULL, control = mcmc_control(
                                    warmup = 200, iter = 300
                                  ), scale = TRUE,
                                  na.action = c("omit", "fail"),
                                  n_temps = NULL, warmup = 100, iter = 500,
                                  chains = 4, volume = FALSE, seed = NULL,
                                  progress = NULL, ...) {
  check_no_dots(...)
  mould <- mould_formula(formula, data, na.action, "factor")
  choose_kernel(mould, given_arguments())
}

#' @rdname select_kernel
#' @export
select_kernel.matrix <- function(x, y) {
  check_no_dots(...)
  mould <- mould_xy(x, y, na.action, "factor")
  choose_kernel(mould, given_arguments())
}
formals(select_kernel.matrix) <- c(
  alist(x = , y = ), formals(select_kernel.formula)[-(1:2)]
)

#' @rdname select_kernel
#' @export
select_kernel.data.frame <- select_kernel.matrix

#' @rdname select_kernel
#' @export
select_kernel.numeric <- select_kernel.matrix

#' @rdname select_kernel
#' @export
select_kernel.logical <- select_kernel.matrix

#' @param given Arguments as in `select_kernel()`.
#' @noRd
choose_kernel <- function(mould, given) {
  refuse_where(list(settings = given["noise"]), "evidence", "class_rates")
  ladder <- check_ladder(
    given[c("n_temps", "warmup", "iter", "chains", "volume")]
  )
  scale <- !isFALSE(check_scale(given$scale))
  x <- scaling_x(scaling_learn(mould$x, mould$y, scale), mould$x)
  kernels <- kernel_grid(given$bandwidths, given$kernels, x)
  candidates <- with_nuggets(kernels, given$nugget)
  seed <- draw_seed(given$seed)
  progress <- check_progress(given$progress)
  keep_run({
    tried <- try_kernels(candidates, progress, function(candidate) {
      given[names(candidate)] <- candidate
      try_kernel(mould, given, ladder, seed, progress)
    })
    new_kernel_selection(tried, seed)
  })
}

#' The kernels to try
#' @param x Points as scaled.
#' @noRd
kernel_grid <- function(bandwidths, kernels, x) {
  if (!is.null(bandwidths) && !is.null(kernels)) {
    kb_abort("Give {.arg bandwidths} or {.arg kernels}, not both.", "argument",
      argument = "kernels"
    )
  }
  if (!is.null(kernels)) {
    return(check_kernels(kernels, "kernels"))
  }
  if (is.null(bandwidths)) bandwidths <- bandwidth_median(x) * 2^(-3:2)
  good <- is.numeric(bandwidths) && length(bandwidths) > 0 &&
    all(is.finite(bandwidths) & bandwidths > 0)
  if (!isTRUE(good)) {
    bad_argument(bandwidths, "bandwidths", "positive finite numbers")
  }
  lapply(as.double(bandwidths), kernel_gaussian)
}

# Each kernel with each nugget
with_nuggets <- function(kernels, nugget) {
  if (!identical(nugget, "learn")) {
    good <- is.numeric(nugget) && length(nugget) > 0 &&
      all(is.finite(nugget) & nugget >= 0)
    if (!isTRUE(good)) {
      bad_argument(nugget, "nugget", "numbers of at least 0, or \"learn\"")
    }
  }
  grid <- expand.grid(nugget = seq_along(nugget), kernel = seq_along(kernels))
  lapply(seq_len(nrow(grid)), function(i) {
    list(
      kernel = kernels[[grid$kernel[[i]]]], nugget = nugget[[grid$nugget[[i]]]]
    )
  })
}

#' One after the other, until one is interrupted
#' @param one Function of a candidate, NULL if it was stopped.
#' @noRd
try_kernels <- function(candidates, progress, one) {
  tried <- list()
  for (candidate in candidates) {
    if (progress) {
      cli::cli_inform("Kernel {length(tried) + 1} of {length(candidates)}:
                       {.code {format(candidate$kernel)}}")
    }
    stage <- run_stage(one(candidate))
    out <- stage$value
    if (!is.null(out)) tried <- c(tried, list(out))
    if (stage$halted || is.null(out) || out$status != "complete") break
  }
  report_kernels(length(tried), length(candidates), stage$halted)
  tried
}

#' @param halted Was there an interrupt?
#' @noRd
report_kernels <- function(done, all, halted) {
  if (done == 0) {
    kb_abort(c(
      "Stopped before the first kernel was finished.",
      i = "No choice is possible."
    ), "interrupted")
  }
  if (halted || done < all) {
    kb_warn(c(
      "Stopped before all kernels were finished.",
      x = "There are {done} of {all} kernels.",
      i = "The choice is among these kernels."
    ), "interrupted")
  }
}

# The kernel resolved, its evidence and the margin of its Bayes point
try_kernel <- function(mould, given, ladder, seed, progress) {
  settings <- call_with(kgs_settings, given, mould = mould)
  control <- settled_control(
    given$control, kgs_length(settings, nrow(mould$x))
  )
  # One file cannot hold the fits of several kernels.
  control["checkpoint"] <- list(NULL)
  fit <- new_kgs(mould, settings, control, seed, now(), quote(kgs()))
  fit <- run_or_none(fit, progress)
  if (!fit$status %in% c("complete", "none")) {
    return(NULL)
  }
  noisy <- is_noisy(settings)
  evidence <- if (noisy) noisy_evidence(fit, seed) else {
    kgs_evidence(fit, ladder, numeric(), seed, progress)
  }
  known <- learned_bandwidths(settings$kernel) == "none"
  list(
    kernel = settings$kernel, nugget = settings$nugget,
    margin = if (known && fit$status != "none") bayes_point_margin(fit) else {
      NA_real_
    },
    evidence = evidence, status = if (noisy) "complete" else evidence$status
  )
}

# A run whose classes cannot be separated has the status "none"
run_or_none <- function(fit, progress) {
  stopped <- function(warning) tryInvokeRestart("muffleWarning")
  tryCatch(
    withCallingHandlers(run_fit(fit, progress),
      kb_warning_time_limit = stopped,
      # The evidence has its own chains, and its own error.
      kb_warning_convergence = stopped,
      kb_message_few_draws = function(m) tryInvokeRestart("muffleMessage")
    ),
    kb_error_not_separable = function(error) {
      fit$status <- "none"
      fit
    }
  )
}

# The smallest sine of the angle between the Bayes point and a label's wall
bayes_point_margin <- function(fit) {
  x <- scaling_x(fit$settings$scaling, fit$data$x)
  w <- bayes_point_direction(fit)
  f <- basis_features(fit$settings$basis, x) %*% (w / sqrt(sum(w^2)))
  size <- sqrt(kernel_self(fit$settings$basis$kernel, x))
  # Without features there is no right side.
  min(ifelse(size > 0, label_lead(f, as.integer(fit$data$y)) / size, 0))
}

#' The margin of each label: y f, or the distance to the boundary with another
#' class
#' @param f n x functions.
#' @noRd
label_lead <- function(f, label) {
  if (ncol(f) == 1) {
    return(f[, 1] * ifelse(label == 2, 1, -1))
  }
  own <- cbind(seq_along(label), label)
  others <- f
  others[own] <- -Inf
  (f[own] - apply(others, 1, max)) / sqrt(2)
}

# The value --------------------------------------------------------------------

new_kernel_selection <- function(tried, seed) {
  part <- function(name) lapply(tried, `[[`, name)
  kernels <- part("kernel")
  evidences <- part("evidence")
  nuggets <- part("nugget")
  each <- function(get) {
    vapply(evidences, function(z) c(get(z), NA_real_)[[1]], 0)
  }
  log_evidence <- each(function(z) z$log_evidence)
  if (all(log_evidence == -Inf)) refuse_inseparable(NULL)
  table <- data.frame(
    kernel = vapply(kernels, format, ""),
    bandwidth = vapply(kernels, single_bandwidth, 0),
    nugget = vapply(nuggets, function(v) if (is.numeric(v)) v else NA_real_, 0),
    log_evidence = log_evidence, mc_se = each(function(z) z$mc_se),
    probability = exp(log_evidence - log_sum_exp(log_evidence)),
    rate_mode = each(function(z) z$rate_mode),
    log_volume = each(function(z) z$version_space$log_volume),
    margin = unlist(part("margin"))
  )
  best <- which.max(log_evidence)
  structure(
    list(
      kernel = kernels[[best]], nugget = nuggets[[best]], table = table,
      best = best, kernels = kernels, evidences = evidences, seed = seed
    ),
    class = "kb_kernel_selection"
  )
}

single_bandwidth <- function(kernel) {
  b <- kernel$bandwidth
  if (is.numeric(b) && length(b) == 1) b else NA_real_
}

#' @export
print.kb_kernel_selection <- function(x, digits = 3, ...) {
  check_no_dots(...)
  table <- x$table
  show <- function(v) format(signif(v, digits), digits = digits)
  by_kernel <- anyNA(table$bandwidth)
  name <- if (by_kernel) table$kernel else signif(table$bandwidth, 4)
  columns <- c("mc_se", "probability", "rate_mode", "margin")
  columns <- columns[colSums(!is.na(table[columns])) > 0]
  shown <- data.frame(
    name, log_evidence = format(round(table$log_evidence, 2), nsmall = 2),
    lapply(table[columns], show),
    best = ifelse(seq_len(nrow(table)) == x$best, "<-", "")
  )
  names(shown)[c(1, ncol(shown))] <- c(
    if (by_kernel) "kernel" else "bandwidth", " "
  )
  several <- length(unique(table$nugget)) > 1
  if (several) {
    shown <- data.frame(
      shown[1], nugget = show(table$nugget), shown[-1],
      check.names = FALSE
    )
  }
  cat("Kernels by their evidence\n")
  print(shown, row.names = FALSE)
  cat("highest: ", format(x$kernel),
    if (several) paste0(", nugget ", show(x$nugget)), "\n",
    sep = ""
  )
  invisible(x)
}

# Plots ------------------------------------------------------------------------

#' @rdname select_kernel
#' @param type For `plot()`: `"evidence"`, log evidence against the bandwidth (or the
#'   number of the row, where there are other kernels or several nuggets), with bars
#'   of two standard errors; `"margin"`, against the margin of the Bayes point.
#' @export
plot.kb_kernel_selection <- function(x, type = c("evidence", "margin"), ...) {
  draw_picture(selection_picture(x, type), x, ...)
}

#' @rdname autoplot.kb_srvm
#' @exportS3Method ggplot2::autoplot
autoplot.kb_kernel_selection <- autoplot_of(plot.kb_kernel_selection)

# Log evidence with two standard errors, or against the margin
selection_picture <- function(x, type) {
  type <- check_choice(type, c("evidence", "margin"))
  by_number <- anyNA(x$table$bandwidth) || anyDuplicated(x$table$bandwidth) > 0
  table <- x$table[x$table$log_evidence > -Inf, ]
  if (type == "margin") table <- table[!is.na(table$margin), ]
  if (nrow(table) == 0) {
    kb_abort("No kernel has both an evidence and a Bayes point.", "not_defined")
  }
  number <- as.integer(rownames(table))
  at <- if (by_number) number else table$bandwidth
  if (type == "margin") at <- table$margin
  marks <- data.frame(
    x = at, y = table$log_evidence, text = rownames(table),
    group = ifelse(number == x$best, "best", "others")
  )
  by <- groups(NULL, c("best", "others"), paint(c("orange", "blue")))
  if (type == "margin") {
    return(new_picture(panel(
      "margin of the Bayes point", "log evidence",
      layer("text", marks, by = groups("kernel number", by$levels, by$colours))
    )))
  }
  reach <- 2 * ifelse(is.finite(table$mc_se), table$mc_se, 0)
  path <- marks[order(at), c("x", "y")]
  new_picture(panel(
    if (by_number) "kernel" else "bandwidth", "log evidence",
    if (!by_number) layer("lines", path, colour = "sky"),
    ranges_layer(at, marks$y - reach, marks$y + reach,
      lwd = 2, label = "two standard errors"
    ),
    layer("points", marks, size = 1, by = by),
    log = if (by_number) "" else "x", ticks = if (by_number) "whole"
  ))
}
