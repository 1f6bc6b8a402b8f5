# kbr_hmm() and its peers on camera paths of several speeds, as rendered by
# data-raw/camera/render.R (see data-raw/README.md, "Other camera paths"):
#
#   Rscript tools/reproduce/kbr_hmm-paths.R --folder=paths --repeats=10
#
#   --folder=F    has <speed>-<seed>.rds
#   --speeds=, --seeds=, --noise=, --methods=   some of them, by commas
#   --cache=F     finished cells, to go on later; --cached: no others
#   --output=F    default vignettes/precomputed/kbr_hmm_paths.rds
#
# The first half of a path is learned from, the second half is filtered. Repeat
# r adds noise with seed r. Errors are mean squared Frobenius distances of
# rotations; coverage is that of 90% balls.

path_noise <- function(y, variance, repeat_number) {
  set.seed(repeat_number, "Mersenne-Twister", "Inversion", "Rejection")
  y + sqrt(variance) * stats::rnorm(length(y))
}

path_task <- function(camera, variance, repeat_number) {
  y <- path_noise(camera$frames, variance, repeat_number)
  learn <- camera$train
  list(
    states = camera$rotations[learn, ], y = y[learn, ], new = y[!learn, ],
    truth = camera$rotations[!learn, ], repeat_number = repeat_number
  )
}

# ---- methods: functions of a task that return estimates and balls -----------

cpu_seconds <- function() sum(proc.time()[c(1, 2)])

# Modes take as long as all else: those of filters in few repeats
describe_path <- function(path, map = FALSE) {
  list(
    mean = predict(path), map = if (map) predict(path, type = "map"),
    radius = as.vector(predict(path, type = "radius"))
  )
}

hmm_answer <- function(learn) {
  function(task) {
    before <- cpu_seconds()
    hmm <- learn(task$states, task$y,
      space = "rotation", seed = task$repeat_number
    )
    filtered <- kbr_filter(hmm, task$new, progress = FALSE)
    # Without the smoother and the modes
    seconds <- cpu_seconds() - before
    structure(list(
      filter = describe_path(filtered, task$repeat_number <= 2),
      smooth = describe_path(kbr_smooth(filtered, progress = FALSE))
    ), seconds = seconds)
  }
}

peer_answer <- function(estimate) {
  function(task) {
    before <- cpu_seconds()
    mean <- estimate(task$states, task$y, task$new)
    structure(
      list(filter = list(mean = mean)), seconds = cpu_seconds() - before
    )
  }
}

path_methods <- list(
  kbr_hmm = hmm_answer(function(...) kbr_hmm(...)),
  tuned = hmm_answer(function(...) tune_kbr_hmm(..., progress = FALSE)$fit),
  rule = hmm_answer(function(...) kbr_hmm(..., method = "kbr")),
  nearest = peer_answer(nearest_neighbour),
  ridge = peer_answer(function(states, y, new) {
    nearest_rotations(tuned_kernel_ridge(states, y, new)$mean)
  }),
  kalman = peer_answer(function(states, y, new) {
    learned_kalman(states, y, new)$mean
  })
)

# ---- cells ------------------------------------------------------------------

frobenius <- function(x, truth) mean(rowSums((x - truth)^2))

ball_coverage <- function(answer, truth) {
  if (is.null(answer$radius)) {
    return(NA_real_)
  }
  # Squared Frobenius distance 4 (1 - cos angle)
  cosine <- 1 - rowSums((answer$mean - truth)^2) / 4
  mean(acos(pmax(pmin(cosine, 1), -1)) <= answer$radius)
}

# `data` is speed_seed_noise, `set` the repeat.
fit_cell <- function(cell, control) {
  part <- strsplit(cell$data, "_")[[1]]
  camera <- camera_from_file(file.path(control$folder, paste0(
    part[[1]], "-", part[[2]], ".rds"
  )), control$root)
  task <- path_task(camera, as.numeric(part[[3]]), cell$set)
  answers <- path_methods[[cell$method]](task)
  do.call(rbind, lapply(names(answers), function(estimate) {
    answer <- answers[[estimate]]
    data.frame(
      speed = part[[1]], seed = part[[2]], noise = part[[3]],
      estimate = estimate, error = frobenius(answer$mean, task$truth),
      map = if (is.null(answer$map)) NA else frobenius(answer$map, task$truth),
      coverage = ball_coverage(answer, task$truth),
      seconds = attr(answers, "seconds")
    )
  }))
}

cell_settings <- function(cell, control) cell$method

main <- function() {
  start <- start_script(c(
    "folder", "repeats", "speeds", "seeds", "noise", "methods", "cache"
  ), "cached")
  if (is.null(start$options$folder)) {
    start$fail("Give --folder= of rendered paths.")
  }
  some <- function(name, known) {
    several_option(start$options, name, known, start$fail)
  }
  paths <- expand.grid(
    some("noise", c("1e-4", "1e-3")),
    if (is.null(start$options$seeds)) c("1", "2") else {
      some("seeds", c("1", "2", "101"))
    },
    some("speeds", c("0.4", "1", "3", "7"))
  )
  repeats <- number_option(start$options, "repeats", 10)
  cells <- expand.grid(
    method = some("methods", names(path_methods)), fold = 1,
    set = seq_len(repeats),
    data = paste(paths[[3]], paths[[2]], paths[[1]], sep = "_"),
    stringsAsFactors = FALSE
  )
  # These take long and vary little between repeats.
  most <- c(tuned = 1, rule = 2, ridge = 1, kalman = 1)[cells$method]
  cells <- cells[is.na(most) | cells$set <= most, ]
  tabulate_cells(
    start, "kbr_hmm_paths", cells,
    c("speed", "seed", "noise", "method", "estimate"),
    c("error", "map", "coverage", "seconds"),
    list(folder = start$options$folder, root = start$root)
  )
}

folder <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(),
  value = TRUE
)[1]))
for (part in c("kbr_hmm-baselines.R", "options.R", "tables.R", "cells.R")) {
  source(file.path(folder, part))
}
source(file.path(folder, "..", "..", "data-raw", "camera", "read.R"))
if (sys.nframe() == 0) main()
