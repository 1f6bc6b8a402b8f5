# One method on one split of real data, for tools/reproduce/kgs.R.
#
# Each method takes a numeric matrix `x` with its rows in random order, a factor
# `y` of two levels, the rows `new` and a seed. It returns a list: `class`, a
# factor; `p`, the probability that the recorded label is the second level, NULL
# if the method has none; `p_true`, for kgs() the same for the true class, which
# differs if labels are wrong; `facts`, named numbers.
#
#   kgs          the paper's model: nugget = 0, median bandwidth, learned noise
#   kgs_width    bandwidth, among multiples of the median, by select_kernel()
#   kgs_average  the average over kernels of several kinds and widths, with and
#                without standardised predictors, weighted by their evidence
#   kgs_stacked  a mixture of the same, with and without the complement's
#                variance; the weights maximise the log score of five-fold
#                cross-validation
#   ksvm         kernlab::ksvm, tuned as in tools/peers-tuned.R: width and C by
#                five-fold cross-validation; probabilities are Platt's, from a
#                second fit (prob.model = TRUE), classes those of the machine
#   gausspr      kernlab::gausspr, tuned as there: width and amplitude by the
#                log score of five-fold cross-validation
#   lssvm        kernlab::lssvm, all rows (reduced = FALSE): width and tau by
#                the error of five-fold cross-validation. No probabilities
#   dbarts, ranger  as there
#
# kernlab::rvm() is missing, since it does only regression (version 0.9-32
# refuses a factor).

library(kernlab, pos = length(search()), warn.conflicts = FALSE)

# ---- kgs() ------------------------------------------------------------------

# Results carry R-hat and the effective sample size: no warning is needed.
without_mixing_warning <- function(expr) {
  withCallingHandlers(expr, kb_warning_convergence = function(w) {
    invokeRestart("muffleWarning")
  })
}

# `control`: arguments of mcmc_control(); the rest are its defaults.
run_kgs <- function(x, y, control, seed, ...) {
  without_mixing_warning(kgs(x, y,
    control = do.call(mcmc_control, control), seed = seed, progress = FALSE,
    nugget = 0, ...
  ))
}

# ---- choices by evidence, from all training labels: no rows are held out ----

bandwidth_steps <- 2^seq(-2, 1, by = 0.5)

# The bandwidth of kernel_gaussian("median").
median_bandwidth <- function(x) {
  stats::median(stats::dist(apply_scale(x, column_scale(x))))
}

log_evidence <- function(x, y, kernels, scale, seed, ladder) {
  chosen <- without_mixing_warning(do.call(select_kernel, c(list(x, y,
    kernels = kernels, scale = scale, seed = seed, progress = FALSE,
    control = mcmc_control(chains = 1, warmup = 100, iter = 100)
  ), ladder)))
  chosen$table$log_evidence
}

# Kernels of several kinds, for predictors as scaled; all have the same prior
# probability.
kernel_family <- function(x) {
  bandwidth <- stats::median(stats::dist(x))
  offset <- mean(rowSums(sweep(x, 2, colMeans(x))^2))
  c(
    lapply(bandwidth * c(0.35, 0.5, 0.7, 1, 1.4), kernel_gaussian),
    lapply(bandwidth * c(0.7, 1, 2), kernel_matern, nu = 5 / 2),
    lapply(2:4, kernel_polynomial, offset = offset)
  )
}

# The family with standardised predictors and with unscaled ones: lists of
# `kernel` and `scale`.
kernel_candidates <- function(x) {
  of_scale <- function(scale) {
    seen <- if (scale) apply_scale(x, column_scale(x)) else x
    Map(list, kernel = kernel_family(seen), scale = scale)
  }
  c(of_scale(TRUE), of_scale(FALSE))
}

# Posterior probabilities of the candidates.
evidence_weights <- function(candidates, x, y, seed, ladder) {
  standard <- vapply(candidates, `[[`, NA, "scale")
  value <- numeric(length(candidates))
  for (scale in c(TRUE, FALSE)) {
    kernels <- lapply(candidates[standard == scale], `[[`, "kernel")
    value[standard == scale] <-
      log_evidence(x, y, kernels, scale, seed, ladder)
  }
  weight <- exp(value - max(value))
  weight / sum(weight)
}

run_candidate <- function(candidate, x, y, control, seed) {
  run_kgs(x, y, control, seed,
    kernel = candidate$kernel, scale = candidate$scale
  )
}

# ---- choices by cross-validation --------------------------------------------

short_runs <- list(chains = 2, warmup = 300, iter = 500)

# Probabilities that the candidates assign to held-out labels: rows x 2
# candidates, with and without the complement. Rows are in random order.
held_out_probabilities <- function(candidates, x, y, seed) {
  fold <- rep_len(1:5, nrow(x))
  out <- matrix(0, nrow(x), 2 * length(candidates))
  for (i in 1:5) {
    at <- fold == i
    own <- cbind(seq_len(sum(at)), as.integer(y[at]))
    for (k in seq_along(candidates)) {
      fit <- run_candidate(
        candidates[[k]], x[!at, ], y[!at], short_runs, seed
      )
      for (complement in 0:1) {
        p <- stats::predict(fit, x[at, ],
          type = "prob", complement = complement == 1
        )
        out[at, 2 * k - complement] <- p[own]
      }
    }
  }
  out
}

# Weights of the mixture that gives the rows the highest probability: stacking
# of predictive distributions (Yao, Vehtari, Simpson and Gelman, 2018), by the
# EM algorithm.
stacking_weights <- function(p, steps = 1000) {
  p <- pmax(p, least_probability)
  weight <- rep(1 / ncol(p), ncol(p))
  for (step in seq_len(steps)) {
    weight <- weight * colMeans(p / as.vector(p %*% weight))
  }
  weight
}

# ---- answers ----------------------------------------------------------------

class_of <- function(p, y) factor(levels(y)[1 + (p > 0.5)], levels(y))

kgs_facts <- function(fit, multiple) {
  mixing <- ess(fit)
  c(
    multiple = multiple, q = mean_draws(fit, "q"),
    rhat = max(mixing$rhat, na.rm = TRUE),
    ess = min(mixing$ess_bulk, na.rm = TRUE)
  )
}

kgs_answer <- function(fit, new, multiple, complement = TRUE) {
  probability <- function(type) {
    stats::predict(fit, new, type = type, complement = complement)[, 2]
  }
  with_classes(list(
    p = probability("prob"), p_true = probability("true_prob"),
    facts = kgs_facts(fit, multiple)
  ), fit$data$y)
}

with_classes <- function(answer, y) {
  c(list(class = class_of(answer$p_true, y)), answer)
}

answer_kgs <- function(control) {
  function(x, y, new, seed) kgs_answer(run_kgs(x, y, control, seed), new, 1)
}

# `ladder`: arguments of select_kernel(); the rest are its defaults.
answer_width <- function(control, ladder) {
  function(x, y, new, seed) {
    kernels <- lapply(median_bandwidth(x) * bandwidth_steps, kernel_gaussian)
    best <- which.max(log_evidence(x, y, kernels, TRUE, seed, ladder))
    fit <- run_kgs(x, y, control, seed, kernel = kernels[[best]])
    kgs_answer(fit, new, bandwidth_steps[[best]])
  }
}

# Mixtures of candidates, without those of weight below 1%. Facts are those of
# the candidate with the largest weight.
mixture <- function(answers, weight, y) {
  mix <- function(name) {
    p <- vapply(answers, `[[`, answers[[1]][[name]], name)
    as.vector(p %*% (weight / sum(weight)))
  }
  with_classes(list(
    p = mix("p"), p_true = mix("p_true"),
    facts = answers[[which.max(weight)]]$facts
  ), y)
}

answer_average <- function(control, ladder) {
  function(x, y, new, seed) {
    candidates <- kernel_candidates(x)
    weight <- evidence_weights(candidates, x, y, seed, ladder)
    kept <- which(weight > 0.01)
    answers <- lapply(candidates[kept], function(candidate) {
      kgs_answer(run_candidate(candidate, x, y, control, seed), new, NA)
    })
    mixture(answers, weight[kept], y)
  }
}

answer_stacked <- function(control) {
  function(x, y, new, seed) {
    candidates <- kernel_candidates(x)
    p <- held_out_probabilities(candidates, x, y, seed)
    weight <- stacking_weights(p)
    kept <- which(weight > 0.01)
    answers <- lapply(kept, function(k) {
      candidate <- candidates[[(k + 1) %/% 2]]
      fit <- run_candidate(candidate, x, y, control, seed)
      kgs_answer(fit, new, NA, complement = k %% 2 == 1)
    })
    mixture(answers, weight[kept], y)
  }
}

# ---- peers ------------------------------------------------------------------

ksvm_classes <- on_standard_scale(function(x, y, new, seed) {
  best <- ksvm_choice(x, y)
  set.seed(seed)
  fit <- kernlab::ksvm(x, y,
    scaled = FALSE, kernel = "rbfdot", kpar = list(sigma = best$rate),
    C = best$cost, prob.model = TRUE
  )
  p <- kernlab::predict(fit, new, type = "probabilities")
  list(class = kernlab::predict(fit, new), p = p[, 2])
})

# kernlab's Newton iteration has no bound, and on some data it never ends. A fit
# takes a fraction of a second, so after ten seconds it counts as failed.
within_seconds <- function(expr, seconds = 10) {
  setTimeLimit(cpu = seconds)
  on.exit(setTimeLimit(cpu = Inf))
  tryCatch(expr, error = function(e) NULL)
}

gausspr_loss <- function(x, y, rate, amplitude) {
  fit <- function(x, y) fit_gausspr_classes(x, y, rate, amplitude)
  loss <- within_seconds(cv_loss(x, y, fit, gausspr_log_loss))
  if (is.null(loss)) Inf else loss
}

# Chooses the rate at amplitude 10 first, then the amplitude, as in
# tools/peers-tuned.R. Returns settings ordered by their losses.
gausspr_order <- function(x, y) {
  grid <- data.frame(rate = tuning_rates / ncol(x), amplitude = 10)
  loss <- mapply(gausspr_loss, list(x), list(y), grid$rate, grid$amplitude)
  more <- data.frame(rate = grid$rate[[which.min(loss)]], amplitude = c(1, 100))
  grid <- rbind(grid, more)
  loss <- c(loss, mapply(
    gausspr_loss, list(x), list(y), more$rate, more$amplitude
  ))
  grid[order(loss), ]
}

# The first fit that does not fail, for settings ordered by their losses.
first_fit <- function(settings, fit) {
  for (i in seq_len(nrow(settings))) {
    made <- within_seconds(fit(settings[i, ]))
    if (!is.null(made)) {
      return(made)
    }
  }
  stop("no setting could be fitted")
}

gausspr_probability <- on_standard_scale(function(x, y, new, seed) {
  fit <- first_fit(gausspr_order(x, y), function(setting) {
    fit_gausspr_classes(x, y, setting$rate, setting$amplitude)
  })
  p <- kernlab::predict(fit, new, type = "probabilities")[, 2]
  list(class = class_of(p, y), p = as.vector(p))
})

fit_lssvm <- function(x, y, rate, tau) {
  kernlab::lssvm(x, y,
    scaled = FALSE, kernel = "rbfdot", kpar = list(sigma = rate), tau = tau,
    reduced = FALSE, fit = FALSE
  )
}

# A setting with singular equations counts as failed.
lssvm_loss <- function(x, y, rate, tau) {
  fit <- function(x, y) fit_lssvm(x, y, rate, tau)
  loss <- function(fit, x, y) sum(kernlab::predict(fit, x) != y)
  tryCatch(cv_loss(x, y, fit, loss), error = function(e) Inf)
}

lssvm_classes <- on_standard_scale(function(x, y, new, seed) {
  grid <- expand.grid(rate = tuning_rates / ncol(x), tau = 10^(-4:-1))
  losses <- mapply(lssvm_loss, list(x), list(y), grid$rate, grid$tau)
  fit <- first_fit(grid[order(losses), ], function(setting) {
    fit_lssvm(x, y, setting$rate, setting$tau)
  })
  list(class = kernlab::predict(fit, new))
})

# A method of tools/peers-tuned.R whose mean is the probability.
with_class <- function(method) {
  function(x, y, new, seed) {
    p <- method(x, y, new, seed)$mean
    list(class = class_of(p, y), p = p)
  }
}

our_methods <- c("kgs", "kgs_width", "kgs_average", "kgs_stacked")

kgs_peers <- list(
  ksvm = ksvm_classes, gausspr = gausspr_probability, lssvm = lssvm_classes,
  dbarts = with_class(tuned_peers$dbarts),
  ranger = with_class(tuned_peers$ranger)
)

peer_package_kgs <- function(methods) {
  of_kernlab <- c("ksvm", "gausspr", "lssvm")
  ifelse(methods %in% of_kernlab, "kernlab", methods)
}

# Functions of (x, y, new, seed) by name, except those whose package is missing.
kgs_all_methods <- function(control, ladder = list()) {
  there <- !is.na(package_versions(peer_package_kgs(names(kgs_peers))))
  c(
    list(
      kgs = answer_kgs(control), kgs_width = answer_width(control, ladder),
      kgs_average = answer_average(control, ladder),
      kgs_stacked = answer_stacked(control)
    ),
    kgs_peers[there]
  )
}

# ---- scores -----------------------------------------------------------------

calibration_bins <- 10
# Probabilities are at least this, and at most 1 minus this.
least_probability <- 1e-6

# For each tenth of (0, 1): the number of rows whose probability of the second
# level is in it, how many are of that class, and the sum of the probabilities.
calibration <- function(p, second) {
  bin <- factor(
    pmin(1 + floor(calibration_bins * p), calibration_bins),
    seq_len(calibration_bins)
  )
  by_bin <- function(v) {
    sums <- tapply(v, bin, sum)
    ifelse(is.na(sums), 0, sums)
  }
  out <- c(by_bin(rep(1, length(p))), by_bin(second), by_bin(p))
  names(out) <- paste0(
    rep(c("rows_", "hits_", "sum_"), each = calibration_bins),
    seq_len(calibration_bins)
  )
  out
}

# Minus the mean log probability of the class; NA without probabilities.
log_loss <- function(p, second) {
  if (is.null(p)) {
    return(NA_real_)
  }
  p <- pmin(pmax(p, least_probability), 1 - least_probability)
  -mean(log(ifelse(second, p, 1 - p)))
}

# Means over the test rows. `log_loss_true` uses the probability of the true
# class, for methods that distinguish it from the label's.
class_scores <- function(answer, truth) {
  second <- as.integer(truth) == 2
  p <- answer$p
  if (is.null(p)) p <- rep(NA_real_, length(truth))
  data.frame(
    error = mean(answer$class != truth), log_loss = log_loss(answer$p, second),
    log_loss_true = log_loss(answer$p_true, second),
    brier = mean((p - second)^2), t(calibration(p, second))
  )
}

# `seconds`: time of the whole call, with tuning and prediction.
score_method <- function(method, split, seed) {
  started <- Sys.time()
  silent <- utils::capture.output({
    answer <- method(split$x, split$y, split$new, seed)
  })
  seconds <- as.numeric(Sys.time() - started, units = "secs")
  facts <- c(multiple = NA, q = NA, rhat = NA, ess = NA)
  facts[names(answer$facts)] <- answer$facts
  data.frame(class_scores(answer, split$y_new), t(facts), seconds = seconds)
}
