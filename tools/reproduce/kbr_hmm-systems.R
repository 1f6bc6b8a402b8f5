# kbr_hmm() on simulated systems, beside filters that know the system:
#
#   Rscript tools/reproduce/kbr_hmm-systems.R [--seeds=901,902] [--systems=]
#     [--methods=] [--cache=F] [--output=F]
#
#   --systems=    some of linear, rotation, oscillation_200, oscillation_1000,
#                 pendulum
#   --methods=    some of kbr_hmm, tuned, rule, known, nearest
#   --cache=F     finished cells, to go on later; --cached: no others
#   --output=F    default vignettes/precomputed/kbr_hmm_systems.rds
#
# Seed s: learn from seed s, filter 1000 observations of seed 10000 + s. Methods
# were chosen with seeds 511 to 520. Reports use 901 to 910, which nobody looks
# at to choose.
#
# `error` is the mean squared distance from the states, summed over columns,
# `gap` that from the exact mean (linear system only), `coverage` that of 90%
# intervals, mean over columns.

report_seeds <- 901:910

# ---- systems ----------------------------------------------------------------

# A pendulum in images of 12 x 12 pixels: angle and angular velocity, pushed at
# random; an image shows where the bob is, not how fast it moves.
sim_pendulum <- function(n, seed, step = 0.1, push = 0.2, noise = 0.2) {
  set.seed(seed, "Mersenne-Twister", "Inversion", "Rejection")
  states <- matrix(0, n, 2, dimnames = list(NULL, c("angle", "velocity")))
  now <- c(1, 0)
  for (t in seq_len(n)) {
    now[[2]] <- 0.98 * now[[2]] - step * 4 * sin(now[[1]]) +
      push * stats::rnorm(1)
    now[[1]] <- now[[1]] + step * now[[2]]
    states[t, ] <- now
  }
  at <- seq(-1.3, 1.3, length.out = 12)
  pixels <- expand.grid(x = at, y = at)
  clean <- exp(-(outer(sin(states[, 1]), pixels$x, "-")^2 +
    outer(-cos(states[, 1]), pixels$y, "-")^2) / (2 * 0.4^2))
  list(
    states = states, observations = clean + noise * stats::rnorm(length(clean))
  )
}

path_systems <- list(
  linear = list(simulate = "sim_linear_hmm", n = 500),
  rotation = list(simulate = "sim_rotation", n = 200),
  oscillation_200 = list(simulate = "sim_oscillation", n = 200),
  oscillation_1000 = list(simulate = "sim_oscillation", n = 1000),
  pendulum = list(simulate = "sim_pendulum", n = 500)
)

system_task <- function(name, seed) {
  system <- path_systems[[name]]
  simulate <- match.fun(system$simulate)
  seen <- simulate(system$n, seed = seed)
  new <- simulate(1000, seed = 10000 + seed)
  list(
    name = name, seed = seed, states = seen$states, y = seen$observations,
    new = new$observations, truth = new$states
  )
}

# ---- methods: functions of a task that return estimates ----------------------

describe_estimate <- function(path) {
  list(
    mean = predict(path),
    ends = predict(path, type = "quantile", probs = c(0.05, 0.95))
  )
}

hmm_paths_of <- function(hmm, task) {
  filtered <- kbr_filter(hmm, task$new, progress = FALSE)
  list(
    filter = describe_estimate(filtered),
    smooth = describe_estimate(kbr_smooth(filtered, progress = FALSE))
  )
}

learned_answer <- function(...) {
  function(task) {
    hmm_paths_of(kbr_hmm(task$states, task$y, seed = task$seed, ...), task)
  }
}

tuned_answer <- function(task) {
  tuned <- tune_kbr_hmm(task$states, task$y, seed = task$seed, progress = FALSE)
  hmm_paths_of(tuned$fit, task)
}

# Filters that know the system, by name
known_answers <- function(task) {
  system <- sub("_.*", "", task$name)
  if (system == "linear") {
    filtered <- kalman_filter(autoregression(), task$new)
    smoothed <- kalman_smoother(autoregression(), filtered)
    return(list(filter = filtered["mean"], smooth = smoothed["mean"]))
  }
  model <- motion_model(system)
  set.seed(task$seed)
  list(
    ekf = list(mean = extended_filter(model, task$new)),
    ukf = list(mean = unscented_filter(
      model, task$new, ukf_settings$ukf_kappa1
    )),
    particle = list(mean = particle_filter(model, task$new))
  )
}

system_methods <- list(
  kbr_hmm = learned_answer(), tuned = tuned_answer,
  rule = learned_answer(method = "kbr"), known = known_answers,
  nearest = function(task) {
    list(filter = list(mean = nearest_neighbour(task$states, task$y, task$new)))
  }
)

# ---- cells ------------------------------------------------------------------

score_estimate <- function(answer, exact, truth) {
  ends <- answer$ends
  data.frame(
    error = mean(rowSums((answer$mean - truth)^2)),
    gap = if (is.null(exact)) NA else mean((answer$mean - exact$mean)^2),
    coverage = if (is.null(ends)) {
      NA
    } else {
      mean(truth >= ends[, , 1] & truth <= ends[, , 2])
    }
  )
}

fit_cell <- function(cell, control) {
  task <- system_task(cell$data, cell$set)
  before <- sum(proc.time()[c(1, 2)])
  answers <- system_methods[[cell$method]](task)
  seconds <- sum(proc.time()[c(1, 2)]) - before
  exact <- if (cell$data == "linear") known_answers(task)
  do.call(rbind, lapply(names(answers), function(estimate) {
    cbind(
      estimate = estimate,
      score_estimate(answers[[estimate]], exact[[estimate]], task$truth),
      seconds = seconds
    )
  }))
}

cell_settings <- function(cell, control) control

main <- function() {
  start <- start_script(c("seeds", "systems", "methods", "cache"), "cached")
  some <- function(name, known) {
    several_option(start$options, name, known, start$fail)
  }
  seeds <- some("seeds", c(report_seeds, 511:520))
  if (is.null(start$options$seeds)) seeds <- report_seeds
  cells <- expand.grid(
    method = some("methods", names(system_methods)), fold = 1,
    set = as.integer(seeds), data = some("systems", names(path_systems)),
    stringsAsFactors = FALSE
  )
  # Nothing knows the pendulum.
  cells <- cells[cells$method != "known" | cells$data != "pendulum", ]
  tabulate_cells(
    start, "kbr_hmm_systems", cells, c("data", "method", "estimate"),
    c("error", "gap", "coverage", "seconds")
  )
}

folder <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(),
  value = TRUE
)[1]))
for (part in c("kbr_hmm-baselines.R", "options.R", "tables.R", "cells.R")) {
  source(file.path(folder, part))
}
if (sys.nframe() == 0) main()
