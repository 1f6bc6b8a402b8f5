# kbr_hmm() and its peers with a common interface, for kbr_hmm.R: functions of
# `task`, a list of
#
#   states, y, new    training stretch, and observations to filter
#   model             the true model, for methods that know it
#   space, grid       of kbr_hmm()
#   quick
#
# They return a list of `estimates`, a named list of matrices with one row per
# row of `new`, and `setting`, a string with the settings chosen.

# ---- kbr_hmm() --------------------------------------------------------------

# Bandwidths are factors of the median distances; eps = c0 / n, delta = 2 eps.
# For rotations the kernel of states is the trace kernel, without a bandwidth.
# These are the defaults of kbr_hmm(method = "kbr"), the paper's algorithm.
hmm_default <- data.frame(
  factor_x = 0.6, factor_y = 0.6, c0 = 0.1, delta_smooth = 0.1
)

hmm_grids <- list(
  motion = expand.grid(factor = c(0.4, 0.6, 0.9, 1.4), c0 = c(0.01, 0.1, 1)),
  camera = expand.grid(factor = c(0.6, 1), c0 = 10^(-4:-1))
)
smoothing_grid <- c(0.03, 0.1, 0.3, 1)

learn_hmm_by <- function(task, rows, setting, rank = "auto") {
  states <- task$states[rows, , drop = FALSE]
  y <- task$y[rows, , drop = FALSE]
  gaussian <- function(x, factor) kernel_gaussian(factor * bandwidth_median(x))
  kbr_hmm(states, y,
    space = task$space, group = cumsum(c(1, diff(rows) != 1)),
    kernel_x = if (task$space == "euclidean") {
      gaussian(states, setting$factor_x)
    },
    kernel_y = gaussian(y, setting$factor_y),
    eps = setting$c0 / length(rows), delta_smooth = setting$delta_smooth,
    rank = rank, method = "kbr", progress = FALSE
  )
}

# Squared error over blocks of consecutive training rows, for each row of
# `settings`; `estimate` is a function of a filtered path. Low ranks warn.
hmm_losses <- function(task, settings, estimate) {
  lines <- split(settings, seq_len(nrow(settings)))
  block_losses(task$states, lines, function(rows, held, setting) {
    hmm <- suppressWarnings(
      learn_hmm_by(task, rows, setting, task$tuning_rank)
    )
    y <- task$y[held, , drop = FALSE]
    stats::predict(estimate(kbr_filter(hmm, y, progress = FALSE)))
  }, blocks = if (task$quick) 2 else task$blocks)
}

# First the filter's settings, by the error of its means; then the smoother's
# delta, by the error of the smoothed means.
choose_hmm <- function(task) {
  grid <- task$grid
  settings <- data.frame(
    factor_x = if (is.null(task$factor_x)) grid$factor else task$factor_x,
    factor_y = grid$factor, c0 = grid$c0,
    delta_smooth = hmm_default$delta_smooth
  )
  best <- settings[which.min(hmm_losses(task, settings, identity)), ]
  settings <- data.frame(
    best[c("factor_x", "factor_y", "c0")], delta_smooth = smoothing_grid,
    row.names = NULL
  )
  loss <- hmm_losses(task, settings, function(filtered) {
    kbr_smooth(filtered, progress = FALSE)
  })
  settings[which.min(loss), ]
}

describe_setting <- function(setting) {
  paste(names(setting), vapply(setting, format, ""), collapse = ", ")
}

# `smooth` is the mean given all observations; `filter` and `map` are given
# observations so far.
answer_hmm <- function(choose) {
  function(task) {
    setting <- choose(task)
    hmm <- learn_hmm_by(task, seq_len(nrow(task$states)), setting)
    filtered <- kbr_filter(hmm, task$new, progress = FALSE)
    list(
      estimates = list(
        filter = stats::predict(filtered),
        map = stats::predict(filtered, type = "map"),
        smooth = stats::predict(kbr_smooth(filtered, progress = FALSE))
      ),
      setting = describe_setting(setting)
    )
  }
}

hmm_methods <- list(
  kbr_default = answer_hmm(function(task) hmm_default),
  kbr_tuned = answer_hmm(choose_hmm)
)

# ---- peers ------------------------------------------------------------------

estimate_only <- function(filter, setting = "") {
  function(task) {
    list(estimates = list(filter = filter(task)), setting = setting)
  }
}

facts_of <- function(answer) {
  list(
    estimates = list(filter = answer$mean),
    setting = describe_setting(as.list(answer$facts))
  )
}

# These know the model. The particle filter uses R's generator with the seed of
# the cell.
motion_peers <- list(
  ekf = estimate_only(function(task) extended_filter(task$model, task$new)),
  ukf_kappa1 = estimate_only(function(task) {
    unscented_filter(task$model, task$new, ukf_settings$ukf_kappa1)
  }, "alpha 1, beta 0, kappa 1"),
  ukf_alpha0.001 = estimate_only(function(task) {
    unscented_filter(task$model, task$new, ukf_settings$ukf_alpha0.001)
  }, "alpha 0.001, beta 2, kappa 0"),
  particle = estimate_only(function(task) {
    particle_filter(task$model, task$new, if (task$quick) 500 else 5000)
  }, "5000 particles (500 in quick runs)")
)

linear_peers <- list(kalman = function(task) {
  filtered <- kalman_filter(task$model, task$new)
  list(
    estimates = list(
      filter = filtered$mean,
      smooth = kalman_smoother(task$model, filtered)$mean
    ), setting = ""
  )
})

# These learn from the same stretch. Quaternions are turned into matrices.
answer_quaternions <- function(kalman) {
  function(task) {
    answer <- facts_of(
      kalman(to_quaternions(task$states), task$y, task$new)
    )
    answer$estimates <- lapply(answer$estimates, to_rotations)
    answer
  }
}

answer_matrices <- function(kalman) {
  function(task) facts_of(kalman(task$states, task$y, task$new))
}

camera_peers <- list(
  kalman_matrix = answer_matrices(learned_kalman),
  kalman_quaternion = answer_quaternions(learned_kalman),
  kalman_matrix_diagonal = answer_matrices(diagonal_kalman),
  kalman_quaternion_diagonal = answer_quaternions(diagonal_kalman),
  nearest = estimate_only(function(task) {
    nearest_neighbour(task$states, task$y, task$new)
  }),
  ridge = function(task) {
    facts_of(tuned_kernel_ridge(task$states, task$y, task$new))
  }
)

# ---- kbr_hmm() on the camera ------------------------------------------------

# The bandwidth of states is 0.6 medians: the grid is for the frames. Tuning
# uses a lower rank than the answer.
camera_task <- function(task, space) {
  task$space <- space
  task$factor_x <- 0.6
  task$tuning_rank <- 150
  task$blocks <- 3
  task
}

camera_methods <- list(
  kbr_gauss = function(task) {
    hmm_methods$kbr_tuned(camera_task(task, "euclidean"))
  },
  kbr_trace = function(task) {
    hmm_methods$kbr_tuned(camera_task(task, "rotation"))
  },
  kbr_gauss_default = function(task) {
    hmm_methods$kbr_default(camera_task(task, "euclidean"))
  },
  kbr_trace_default = function(task) {
    hmm_methods$kbr_default(camera_task(task, "rotation"))
  }
)
