# Active learning with kgs(): labels needed on two moons with 10% wrong labels.
#
#   Rscript tools/reproduce/kgs-active.R            20 replicates
#   Rscript tools/reproduce/kgs-active.R --quick    3 replicates
#
# Functions for tools/reproduce/kgs.R, which sources this file. When run on its
# own, the script prints its tables, for the known rate of 0.1 and for a learned
# rate. Needs the installed package.
#
# Replicate s: a pool of 300 points sim_moons(flips = 0.1, seed = s), of which
# the first two of each class have labels at the start, and 2000 test points
# (seed 1000 + s) with their classes before flips. Labels are requested one at a
# time, for a random point of the pool or for the one chosen by acquire().
# Kernel exp(-|x - x'|^2 / 2), bias 1, unscaled predictors. The error is that of
# the Bayes point. "span" is the paper's entropy, of directions in the span of
# the labelled points; with one noise rate and no nugget, "bald" and "entropy"
# choose the same points.

active_plan <- function(quick) {
  list(
    replicates = if (quick) 3 else 20, pool = 300, test = 2000, flips = 0.1,
    most = 50, criteria = c("random", "bald", "entropy", "span", "margin"),
    noise = list(known = 0.1, learned = kernelbayes::noise_beta()),
    control = kernelbayes::mcmc_control(chains = 2, warmup = 200, iter = 400)
  )
}

# The curve of one replicate: data frame `seed`, `criterion`, `labels`, `error`.
active_curve <- function(seed, criterion, noise, plan) {
  pool <- kernelbayes::sim_moons(plan$pool, flips = plan$flips, seed = seed)
  test <- kernelbayes::sim_moons(plan$test, seed = 1000 + seed)
  start <- active_start(pool$y)
  fit <- quietly(kernelbayes::kgs(y ~ x1 + x2, pool[start, ],
    kernel = kernelbayes::kernel_gaussian(1), noise = noise, scale = FALSE,
    control = plan$control, seed = seed, progress = FALSE, nugget = 0
  ))
  pool <- pool[-start, ]
  labels <- seq(length(start), plan$most)
  error <- numeric(length(labels))
  set.seed(seed)
  for (i in seq_along(labels)) {
    if (i > 1) {
      chosen <- next_label(fit, pool, criterion)
      fit <- quietly(update(fit, newdata = pool[chosen, ], progress = FALSE))
      pool <- pool[-chosen, ]
    }
    error[[i]] <- mean(predict(fit, test, type = "bpm") != test$y)
  }
  data.frame(seed = seed, criterion = criterion, labels = labels, error = error)
}

active_start <- function(y) {
  sort(c(which(y == "0")[1:2], which(y == "1")[1:2]))
}

next_label <- function(fit, pool, criterion) {
  if (criterion == "random") {
    return(sample.int(nrow(pool), 1))
  }
  span <- criterion == "span"
  kernelbayes::acquire(fit, pool,
    criterion = if (span) "entropy" else criterion, complement = !span
  )$row
}

# Short chains on few points: R-hat does not matter here.
quietly <- function(expr) {
  withCallingHandlers(expr, kb_warning_convergence = function(w) {
    invokeRestart("muffleWarning")
  })
}

# All curves under one prior of the noise, or one known rate.
active_curves <- function(plan, noise) {
  cells <- expand.grid(
    criterion = plan$criteria, seed = seq_len(plan$replicates),
    stringsAsFactors = FALSE
  )
  do.call(rbind, Map(function(seed, criterion) {
    active_curve(seed, criterion, noise, plan)
  }, cells$seed, cells$criterion))
}

# Mean errors: one row per criterion, one column per number of labels.
active_errors <- function(curves, at = c(4, 10, 13, 20, 30, 39, 50)) {
  curves <- curves[curves$labels %in% at, ]
  with(curves, tapply(error, list(criterion, labels), mean))
}

# The number of labels that each criterion needs until its mean error is, and
# stays, no larger than random's mean error at `reference` labels.
labels_needed <- function(curves, reference = 39) {
  error <- with(curves, tapply(error, list(labels, criterion), mean))
  aim <- error[as.character(reference), "random"]
  vapply(colnames(error), function(criterion) {
    above <- which(error[, criterion] > aim)
    last <- if (length(above) == 0) 0 else max(above)
    as.integer(rownames(error))[last + 1]
  }, 0L)
}

if (sys.nframe() == 0) {
  library(kernelbayes)
  plan <- active_plan("--quick" %in% commandArgs(TRUE))
  for (name in names(plan$noise)) {
    curves <- active_curves(plan, plan$noise[[name]])
    cat("\nMean error, noise ", name, "\n", sep = "")
    print(active_errors(curves), digits = 3)
    cat("Labels until the error stays at or below random's at 39:\n")
    print(labels_needed(curves))
  }
}
