# The evidence of a kgs() fit for every rate of wrong labels, from separate
# ladders between the prior and the version space.

#' Evidence of Bayesian kernel classification
#'
#' `evidence(fit)` is the log probability of a fit's labels with all that is learned
#' integrated out. Use it to compare kernels, biases and nuggets, see [select_kernel()].
#'
#' For fits of `method = "leapfrog"`, the default, it is computed from their draws by
#' bridge sampling (Meng and Wong, 1996), with a normal proposal that the first
#' halves of the chains determine. They have `log_evidence`, `mc_se`, `replicates`
#' (of each chain), `pac_bayes` and `note` only, and take class rates.
#'
#' For other fits new chains run. The likelihood of a direction depends only on the
#' number e of wrong labels. With g(e) the prior probability of directions that make
#' e errors among m labels, \deqn{p(D | q) = \sum_e g(e) (q / (C - 1))^e (1 - q)^{m -
#' e}}{p(D | q) = sum_e g(e) (q / (C - 1))^e (1 - q)^(m - e)} with C classes: one
#' density of states gives the evidence for all q. At q = 0 it is g(0), the volume of
#' the version space as a share of the sphere. The density is estimated from chains
#' at several costs of an error, from 0, where directions are drawn from the prior,
#' to a cost at which hardly any avoidable error is left; neighbours exchange their
#' states (multi-histogram equations of Ferrenberg and Swendsen, 1989). The chains
#' use the fit's sampler, but `"hmc"` (above 2500 rows `"coordinate"`) instead of
#' `"block"`.
#' @param object A fit of [kgs()]. Its own chains are not used, except without
#'   `volume` for the range of costs.
#' @param n_temps Number of costs above 0, at least 1. `NULL`: enough for
#'   neighbours to overlap well, at least about the square root of the number of
#'   rows.
#' @param warmup,iter Number of iterations at every cost that are discarded, and
#'   number that are used.
#' @param chains Number of independent ladders.
#' @param q Rates from 0 to (C - 1) / C at which `path` gives the evidence.
#'   `NULL`: 51 evenly spaced rates.
#' @param volume Also find the volume of the version space (q = 0)? If classes
#'   overlap, chains at the high costs needed for it take most of the time.
#'   `FALSE`: costs end where rates of wrong labels are too small to be likely
#'   under the fit.
#' @inheritParams label_noise
#' @inheritParams bark
#' @return A list of class `kb_evidence_kgs` and `kb_evidence`, as of
#'   [evidence()]:
#' * `log_evidence`: log probability of the labels at the rows of the fit, with
#'   q integrated over the fit's prior, or at the known rate.
#' * `mc_se`: its Monte-Carlo standard error in nats, by jackknife over 5
#'   segments of each ladder.
#' * `replicates`: the estimate of each ladder alone, `NA` if it is too short.
#' * `path`: data frame of `q`, `log_evidence` and `mc_se` (infinite if the
#'   estimate depends on states found in a single segment).
#' * `version_space`: data frame of one row, `log_volume` (of the directions
#'   without errors, as a share of the sphere; `-Inf` if none was found, `NA`
#'   without `volume`) and `mc_se`.
#' * `rate_mode`: the rate at which the labels are most probable.
#' * `log_g`: log g(e) for e = 0, ..., m, `-Inf` where never seen.
#' * `levels`: data frame with one row per cost: `beta`, the mean number of `errors`,
#'   and `swapped`, the fraction of iterations in which it exchanged its state with
#'   the next.
#' * `noise`, `classes`: the prior of q and the number of classes.
#' * `pac_bayes`: data frame of one row, the PAC-Bayes bound (Seeger, 2002): with
#'   probability `confidence` over samples of as many rows, the classifier of a
#'   random draw gets at most the share `bound` of new labels wrong, whatever their
#'   distribution; `errors` is its share of training labels, `divergence` that of the
#'   posterior from the prior in nats. It assumes that neither the kernel nor the
#'   rates in `q` were chosen by looking at the data. `NULL` without `path`, and with
#'   weights.
#' * `status`: `"complete"` or `"interrupted"`.
#' * `note`: `NULL`, or a caution: ladders that differ by more than `mc_se`
#'   suggests, or no direction without errors.
#' @section Errors: `kb_error_not_defined` with a rate for each class,
#'   [noise_class()], if there is a ladder; `kb_error_overlap` if ladders are too
#'   short or costs too few. An interrupt gives the evidence from the iterations so
#'   far, if there are 20 after the warmup.
#' @references
#' Ferrenberg, A. M. and Swendsen, R. H. (1989). Optimized Monte Carlo data
#' analysis. *Physical Review Letters* 63, 1195-1198.
#' \doi{10.1103/PhysRevLett.63.1195}
#'
#' Meng, X.-L. and Wong, W. H. (1996). Simulating ratios of normalizing
#' constants via a simple identity. *Statistica Sinica* 6, 831-860.
#'
#' Seeger, M. (2002). PAC-Bayesian generalisation error bounds for Gaussian
#' process classification. *Journal of Machine Learning Research* 3, 233-269.
#' @examples
#' moons <- sim_moons(40, flips = 0.1, seed = 1)
#' fit <- kgs(y ~ x1 + x2, moons, kernel = kernel_gaussian(0.5), seed = 1)
#' evidence(fit, seed = 1)
#' # Of the model without a nugget, for every rate of wrong labels:
#' fit <- kgs(y ~ x1 + x2, moons, nugget = 0, seed = 1)
#' plot(evidence(fit, chains = 2, iter = 200, seed = 1))
#' @export
evidence.kb_kgs <- function(object, n_temps = NULL, warmup = 100, iter = 500,
                            chains = 4, q = NULL, volume = TRUE, seed = NULL,
                            progress = NULL,
                            ...) {
  object <- checked_fit(object, ...)
  if (is_noisy(object$settings)) {
    refuse_ladder(c(
      n_temps = !missing(n_temps), warmup = !missing(warmup),
      iter = !missing(iter), chains = !missing(chains), q = !missing(q),
      volume = !missing(volume)
    ))
    return(noisy_evidence(object, draw_seed(seed)))
  }
  refuse_where(object, "evidence", "class_rates")
  settings <- check_ladder(
    list(
      n_temps = n_temps, warmup = warmup, iter = iter, chains = chains,
      volume = volume
    )
  )
  q <- check_evidence_rates(q, object$settings$classes)
  kgs_evidence(object, settings, q, draw_seed(seed), check_progress(progress))
}

#' @param settings List of `n_temps`, `warmup`, `iter`, `chains` and `volume`,
#'   checked.
#' @noRd
kgs_evidence <- function(fit, settings, q, seed, progress) {
  beta <- choose_costs(fit, settings$n_temps, settings$volume, seed)
  keep_run({
    ladders <- run_ladders(
      fit, beta, settings$warmup, settings$iter, settings$chains, seed, progress
    )
    new_kgs_evidence(fit, beta, ladders, q, settings$volume)
  })
}

# Fits with noise have no ladder
refuse_ladder <- function(given) {
  ignored <- names(given)[given]
  if (length(ignored) > 0) {
    kb_abort(c(
      "{.arg {ignored}} would have no effect for fits of
       {.code method = \"leapfrog\"}.",
      i = "Their evidence is computed from the draws of the fit."
    ), "argument", argument = ignored)
  }
}

check_ladder <- function(x) {
  list(
    n_temps = if (!is.null(x$n_temps)) {
      check_count(x$n_temps, 1, arg = "n_temps")
    },
    warmup = check_count(x$warmup, 0, arg = "warmup"),
    iter = check_count(x$iter, 1, arg = "iter"),
    chains = check_count(x$chains, 1, arg = "chains"),
    volume = check_flag(x$volume, arg = "volume")
  )
}

check_evidence_rates <- function(q, classes) {
  top <- (classes - 1) / classes
  if (is.null(q)) {
    return(seq(0, top, length.out = 51))
  }
  check_rates(q, classes)
  as.double(q)
}

# From errors to the evidence --------------------------------------------------

new_kgs_evidence <- function(fit, beta, ladders, q, volume) {
  data <- list(
    m = nrow(fit$data$x), wrong = always_wrong(fit),
    classes = fit$settings$classes, noise = fit$settings$noise, beta = beta,
    q = c(0, q)
  )
  batches <- lapply(ladders$errors, histogram_batches, data)
  total <- Reduce(`+`, unlist(batches, recursive = FALSE))
  log_g <- ladder_density(total, data)
  value <- evidence_values(log_g, data)
  se <- evidence_se(unlist(batches, recursive = FALSE), data)
  # Costs that end earlier do not determine the evidence at q = 0.
  if (!volume) value[[2]] <- NA
  se[is.na(value) | value == -Inf] <- NA
  each <- vapply(batches, replicate_evidence, 0, data)
  path <- seq_along(q) + 2
  structure(
    list(
      log_evidence = value[[1]], mc_se = se[[1]], replicates = each,
      path = data.frame(q = q, log_evidence = value[path], mc_se = se[path]),
      version_space = data.frame(log_volume = value[[2]], mc_se = se[[2]]),
      rate_mode = best_rate(log_g, data), log_g = log_g,
      levels = describe_levels(ladders, beta), noise = data$noise,
      classes = data$classes,
      pac_bayes = pac_bayes_of_states(log_g, q, value[path], data),
      status = ladders$status,
      note = kgs_evidence_note(each, se[[1]], value)
    ),
    class = c("kb_evidence_kgs", "kb_evidence")
  )
}

# The number of rows without features, whose labels always count as wrong
always_wrong <- function(fit) {
  fit$settings$method <- ladder_method(fit)
  data <- kgs_data(fit)
  sum(rowSums(data$features^2)[data$point] == 0)
}

#' Histograms of errors, levels x (m + 1), of segments of a ladder: 5, or as
#' many as there are iterations
#' @param errors Levels x iterations.
#' @noRd
histogram_batches <- function(errors, data, batches = 5) {
  n <- ncol(errors)
  lapply(split(seq_len(n), ceiling(seq_len(n) * min(batches, n) / n)),
    function(used) {
      t(apply(errors[, used, drop = FALSE] - data$wrong, 1, function(e) {
        tabulate(e + 1, data$m - data$wrong + 1)
      }))
    }
  )
}

# log g(e), e = 0, ..., m
ladder_density <- function(counts, data) {
  c(rep(-Inf, data$wrong), density_of_states(
    counts, data$beta, data$m - data$wrong, mirror = data$classes == 2
  ))
}

# Log evidence: under the prior of q, at q = 0, and on the path
evidence_values <- function(log_g, data) {
  rate <- log_evidence_rate(log_g, data$m, data$q, data$classes)
  c(evidence_of_noise(log_g, data), rate)
}

evidence_of_noise <- function(log_g, data) {
  noise <- data$noise
  if (noise$kind == "fixed") {
    return(log_evidence_rate(log_g, data$m, noise$rate, data$classes))
  }
  log_evidence_beta(log_g, data$m, noise$a, noise$b, data$classes)
}

evidence_se <- function(batches, data) {
  if (length(batches) < 2) {
    return(rep(NA_real_, length(data$q) + 1))
  }
  jackknife_se(batches, function(counts) {
    evidence_values(ladder_density(counts, data), data)
  })
}

# The evidence by one ladder
replicate_evidence <- function(batches, data) {
  tryCatch(
    evidence_of_noise(ladder_density(Reduce(`+`, batches), data), data),
    kb_error_overlap = function(error) NA_real_
  )
}

# The rate at which labels are most probable
best_rate <- function(log_g, data) {
  top <- (data$classes - 1) / data$classes
  at <- function(q) log_evidence_rate(log_g, data$m, q, data$classes)
  grid <- top * c(0, exp(seq(-log(1e3 * data$m), 0, length.out = 400)))
  best <- which.max(at(grid))
  if (best == 1) {
    return(0)
  }
  ends <- grid[c(best - 1, min(best + 1, length(grid)))]
  stats::optimise(at, ends, maximum = TRUE, tol = 1e-6)$maximum
}

describe_levels <- function(ladders, beta) {
  errors <- do.call(cbind, ladders$errors)
  data.frame(
    beta = beta, errors = rowMeans(errors),
    swapped = c(ladders$swapped, NA)
  )
}

kgs_evidence_note <- function(each, se, value) {
  notes <- c(
    ladders_differ(each[is.finite(each)], se),
    if (identical(value[[2]], -Inf)) {
      "No direction without wrong labels was found: the classes cannot be
       separated, or the version space is too small."
    }
  )
  if (length(notes) > 0) gsub("\\s+", " ", paste(notes, collapse = " "))
}

# Printing -----------------------------------------------------------------

#' @export
print.kb_evidence_kgs <- function(x, digits = 4, ...) {
  check_no_dots(...)
  NextMethod()
  show <- function(v) format(v, digits = digits)
  space <- x$version_space
  cat(
    "  highest at a label noise of ", show(x$rate_mode), "\n",
    if (isTRUE(space$log_volume > -Inf)) {
      paste0(
        "  log volume of the version space: ", show(space$log_volume), " (se ",
        format(space$mc_se, digits = 2), ")\n"
      )
    },
    sep = ""
  )
  print_pac_bayes(x$pac_bayes)
  invisible(x)
}

# The evidence of kgs() against the rate of wrong labels.

#' @rdname evidence.kb_kgs
#' @param x For `plot()`, which shows the log evidence at each rate q and the posterior
#'   density of q, with the rate of the highest evidence: the value of `evidence()`.
#' @export
plot.kb_evidence_kgs <- function(x, ...) {
  draw_picture(evidence_kgs_picture(x), x, ...)
}

#' @rdname autoplot.kb_srvm
#' @exportS3Method ggplot2::autoplot
autoplot.kb_evidence_kgs <- autoplot_of(plot.kb_evidence_kgs)

evidence_kgs_picture <- function(x) {
  curve <- evidence_curve(x)
  learned <- x$noise$kind == "beta"
  # At the ends it may fall without bound.
  high <- max(curve$log_evidence)
  shown <- curve$log_evidence > high - 20
  at_rate <- rule_layer(
    x = if (learned) x$rate_mode else x$noise$rate,
    label = if (learned) "rate of the highest evidence" else "known rate"
  )
  log_evidence <- panel(
    "rate of wrong labels", "log evidence", at_rate,
    layer("lines", data.frame(x = curve$q, y = curve$log_evidence)[shown, ],
      lwd = 2
    ),
    xlim = range(curve$q)
  )
  if (!learned) {
    return(new_picture(log_evidence))
  }
  new_picture(list(log_evidence, panel(
    "rate of wrong labels", "posterior density", at_rate,
    ribbon_layer(curve$q, 0, curve$posterior, alpha = 0.5),
    xlim = range(curve$q), shared = c("main", "ylim")
  )))
}

# Log evidence and posterior density on a fine grid of rates
evidence_curve <- function(x, n = 400) {
  top <- (x$classes - 1) / x$classes
  m <- length(x$log_g) - 1
  # Ends may have densities without bound.
  q <- top * (seq_len(n) - 0.5) / n
  out <- data.frame(
    q = q, log_evidence = log_evidence_rate(x$log_g, m, q, x$classes)
  )
  if (x$noise$kind == "beta") {
    out$posterior <- posterior_of_rate(
      x$log_g, m, q, x$noise$a, x$noise$b, x$classes
    )
  }
  out
}

# Chains of kgs() under one cost of wrong labels each, from none to so much that
# hardly any is wrong, as an engine of run_engine(); and the choice of costs.

#' @param beta Costs of a wrong label, the first 0.
#' @noRd
kgs_ladder_engine <- function(fit, beta, warmup, iter, seed) {
  fit$settings$method <- ladder_method(fit)
  structure(
    list(
      config = list(
        method = fit$settings$method, beta = beta, warmup = warmup,
        iter = iter, seed = seed
      ),
      data = kgs_data(fit)
    ),
    class = c(
      "kb_engine_kgs", "kb_engine_chain", "kb_engine", "kb_engine_ladder"
    )
  )
}

# Above this size each level's Gram matrix takes long.
ladder_hmc_points <- 2500

# The fit's own sampler; "block" has no state on the sphere, and is replaced by
# the choice of "auto" without a nugget
ladder_method <- function(fit) {
  method <- fit$settings$method
  if (method != "block") {
    return(method)
  }
  if (nrow(fit$data$x) <= ladder_hmc_points) "hmc" else "coordinate"
}

#' Run independent ladders, to the end or to an interrupt
#' @return List of `errors`, for each ladder the numbers of wrong labels, levels
#'   x iterations; `swapped`, in which share of the sweeps each level exchanged
#'   its state with the next; `status`.
#' @noRd
run_ladders <- function(fit, beta, warmup, iter, chains, seed, progress) {
  engine <- kgs_ladder_engine(fit, beta, warmup, iter, seed)
  run <- run_ladder_engine(engine, chains, progress)
  levels <- length(beta)
  swapped <- lapply(run$states, `[[`, "swapped")
  list(
    errors = lapply(run$states, function(state) {
      matrix(state$observed[seq_len(levels * run$sweeps)], levels)
    }),
    swapped = Reduce(`+`, swapped) / sum(run$done), status = run$status
  )
}

# The choice of costs ----------------------------------------------------------

#' Costs of a ladder for a fit, from a short pilot run
#' @param steps Number of costs above 0, or NULL.
#' @param volume Up to where hardly any label is wrong?
#' @noRd
choose_costs <- function(fit, steps, volume, seed) {
  m <- nrow(fit$data$x)
  top <- largest_cost(m, fit$settings$classes)
  if (!volume) top <- min(top, likely_cost(fit))
  beta <- pilot_costs(m, top)
  # Random numbers that the ladders of this seed do not use.
  pilot_seed <- if (seed < .Machine$integer.max) seed + 1L else 0L
  pilot <- whole_stage(
    run_ladders(fit, beta, 50L, 100L, 1L, pilot_seed, FALSE), "the pilot run"
  )
  spaced_costs(beta, rowMeans(pilot$errors[[1]]), steps)
}

# The largest cost: at it 0.01 of m labels would be wrong on average, if each
# were so independently of the others
#
# If directions without errors exist, most draws then have none. At much larger
# costs chains only bounce in narrow cells.
largest_cost <- function(m, classes) log(100 * m * (classes - 1))

# The cost under half of the smallest rate that the fit finds likely: states
# with fewer wrong labels add nothing to the evidence
likely_cost <- function(fit) {
  q <- fit$settings$noise$rate
  if (is.null(q)) {
    q <- stats::quantile(posterior_pool(fit)$rates, 0.005, names = FALSE) / 2
  }
  log((1 - q) * (fit$settings$classes - 1) / q)
}

# Costs of a pilot run: 0, and evenly in log from 1 / m on
pilot_costs <- function(m, top, steps = 30) {
  c(0, exp(seq(-log(m), log(top), length.out = steps)))
}

#' Costs at equal distances
#'
#' Levels at beta and beta + d have a symmetric Kullback-Leibler divergence of d
#' times the difference of their mean numbers of errors, (G32). Its square root
#' is about d times the standard deviation of the errors, so that it adds up
#' along the ladder; at a distance of 0.7 neighbours accept 60 percent of
#' exchanges.
#' @param beta,errors Costs of a pilot run, increasing, and its mean errors.
#' @param steps Number of steps, or NULL: as many as make each at most `step`.
#' @noRd
spaced_costs <- function(beta, errors, steps = NULL, step = 0.7) {
  # Means decrease as beta increases, except for noise.
  step_lengths <- sqrt(diff(beta) * -diff(cummin(errors)))
  length <- sum(step_lengths)
  if (is.null(steps)) steps <- max(ceiling(length / step), 4)
  # Costs must increase even where no avoidable errors are left.
  far <- c(0, cumsum(step_lengths)) + 1e-6 * beta
  at <- seq(0, far[[length(far)]], length.out = steps + 1)
  stats::approx(far, beta, at, rule = 2)$y
}
