# The experiments of tools/reproduce/kbr_hmm.R as cells, see cells.R: one method
# on one repeat, one row per estimate.

motion_sizes <- c(100, 200, 400, 1000)
camera_noises <- c("1e-04", "1e-03")

# Peers that know the model need no training stretch: their data are "rotation"
# and so on.
hmm_experiments <- c(
  paste0("rotation_", motion_sizes), "rotation",
  paste0("oscillation_", motion_sizes), "oscillation",
  "linear_500", "linear", paste0("camera_", camera_noises)
)

hmm_model <- function(data) sub("_.*", "", data)

methods_of <- function(data) {
  if (data %in% c("rotation", "oscillation")) {
    return(motion_peers)
  }
  if (data == "linear") {
    return(linear_peers)
  }
  if (hmm_model(data) == "camera") c(camera_methods, camera_peers) else
    hmm_methods
}

hmm_cells_for <- function(data, repeats, methods) {
  chosen <- intersect(names(methods_of(data)), methods)
  expand.grid(
    data = data, set = seq_len(repeats), fold = 1L, method = chosen,
    stringsAsFactors = FALSE
  )
}

cell_settings <- function(cell, control) {
  ours <- startsWith(cell$method, "kbr")
  list(control, if (ours) package_versions("kernelbayes"))
}

# ---- data -------------------------------------------------------------------

# Repeat r learns from seed r and filters 1000 observations of seed 1000 + r,
# the same for all training data.
simulated_task <- function(data, set, quick) {
  model <- hmm_model(data)
  simulate <- list(
    rotation = sim_rotation, oscillation = sim_oscillation,
    linear = sim_linear_hmm
  )[[model]]
  n <- suppressWarnings(as.numeric(sub(".*_", "", data)))
  seen <- if (!is.na(n)) simulate(n, seed = set)
  test <- simulate(if (quick) 200 else 1000, seed = 1000 + set)
  list(
    states = seen$states, y = seen$observations, new = test$observations,
    truth = test$states, space = "euclidean", tuning_rank = "auto",
    blocks = 4,
    model = if (model == "linear") autoregression() else motion_model(model),
    grid = hmm_grids$motion, quick = quick
  )
}

# The same numbers in every process.
pin_seed <- function(seed) {
  set.seed(seed, "Mersenne-Twister", "Inversion", "Rejection")
}

# In repeat r the noise, on all frames, has seed r.
frames_with_noise <- function(frames, variance, seed) {
  pin_seed(seed)
  frames + sqrt(variance) * stats::rnorm(length(frames))
}

noisy_camera_task <- function(data, set, quick) {
  camera <- camera_data()
  y <- frames_with_noise(camera$frames, as.numeric(sub("camera_", "", data)),
    set
  )
  train <- which(camera$train)
  test <- which(!camera$train)
  if (quick) {
    train <- utils::tail(train, 600)
    test <- utils::head(test, 300)
  }
  list(
    states = camera$rotations[train, ], y = y[train, ], new = y[test, ],
    truth = camera$rotations[test, ], grid = hmm_grids$camera, quick = quick
  )
}

# ---- scores -----------------------------------------------------------------

mean_squares <- function(estimate, truth) mean(rowSums((estimate - truth)^2))

# `error` is for the estimates as they are, `rotation` for the nearest
# rotations, `quaternion` for their quaternions, whose sign is free.
camera_scores <- function(estimate, truth) {
  rotation <- nearest_rotations(estimate)
  apart <- abs(rowSums(to_quaternions(rotation) * to_quaternions(truth)))
  c(
    error = mean_squares(estimate, truth),
    rotation = mean_squares(rotation, truth), quaternion = mean(2 - 2 * apart)
  )
}

score_estimates <- function(estimates, truth, camera) {
  score <- if (camera) camera_scores else function(estimate, truth) {
    c(
      error = mean_squares(estimate, truth), rotation = NA, quaternion = NA
    )
  }
  scores <- vapply(estimates, score, c(error = 0, rotation = 0, quaternion = 0),
    truth = truth
  )
  data.frame(estimate = names(estimates), t(scores), row.names = NULL)
}

fit_cell <- function(cell, control) {
  camera <- hmm_model(cell$data) == "camera"
  make <- if (camera) noisy_camera_task else simulated_task
  task <- make(cell$data, cell$set, isTRUE(control$quick))
  pin_seed(cell$set)
  started <- proc.time()[["user.self"]]
  answer <- methods_of(cell$data)[[cell$method]](task)
  seconds <- proc.time()[["user.self"]] - started
  data.frame(
    score_estimates(answer$estimates, task$truth, camera), seconds = seconds,
    setting = answer$setting
  )
}
