# Repeats the experiments on nonparametric filtering of Fukumizu, Song and
# Gretton (2010), with smoothing and more peers:
#
#   Rscript tools/reproduce/kbr_hmm.R          everything: hours
#   Rscript tools/reproduce/kbr_hmm.R --quick  two repeats, short: a trial run
#
#   --cache=folder    where finished runs are kept, so that a stopped run can
#                     continue. Default: a temporary folder
#   --workers=1       number of processes (package future)
#   --repeats=10      repeats of everything
#   --cached          no new runs: tables of the finished ones
#   --data=a,b        which experiments: rotation_100 and so on for 200, 400 and
#                     1000 rows to learn from, rotation for filters that know
#                     the model; oscillation likewise; linear_500 and linear;
#                     camera_1e-04 and camera_1e-03
#   --methods=a,b     which methods, see kbr_hmm-methods.R
#   --output=file     instead of vignettes/precomputed/kbr_hmm.rds
#
# Prints the tables and writes the file from which vignettes/kbr-hmm.Rmd is
# built. Commit the file from a full run only. Installs the package and its
# peers first; KFAS, which checks our Kalman filter, is left out if unavailable.
#
# Protocol. Simulated models: repeat r learns from the stretch of seed r and
# filters 1000 observations of seed 1000 + r; filters that know the model get
# the same ones. Camera: 1800 frames to learn from and the following 1800 to
# filter, with noise of seed r on all of them. Errors are mean squared
# distances, summed over coordinates. Bandwidths and regularisation are the
# defaults or chosen on the training stretch, never by the error on test rows.
# Quick runs learn from 600 frames of the camera, a third of its path: their
# errors are not informative.

measures <- c("error", "rotation", "quaternion", "seconds")

# The authors' results on the camera. They had another room and path, and show
# pictures but no numbers for rotation and oscillation. Standard errors below
# 0.01 are given as 0.01.
slides <- data.frame(
  data = rep(c("camera_1e-04", "camera_1e-03"), each = 4),
  method = rep(
    c("kbr_gauss", "kalman_matrix", "kbr_trace", "kalman_quaternion"), 2
  ),
  error = c(0.21, 1.98, 0.15, 0.56, 0.22, 1.94, 0.21, 0.54),
  error_se = c(0.02, 0.08, 0.01, 0.02, 0.01, 0.06, 0.01, 0.02)
)

# ---- tables -----------------------------------------------------------------

error_table <- function(runs, measures) {
  mean_table(runs, c("data", "method", "estimate"), measures)
}

# Our filter's errors minus those of a peer on the same observations.
versus_table <- function(runs) {
  runs <- runs[runs$estimate == "filter", ]
  ours <- runs[startsWith(runs$method, "kbr"), ]
  theirs <- runs[!startsWith(runs$method, "kbr"), ]
  if (nrow(ours) == 0 || nrow(theirs) == 0) {
    return(NULL)
  }
  ours$model <- shared_data(ours$data)
  theirs$model <- shared_data(theirs$data)
  both <- merge(ours, theirs[c("model", "set", "method", "error")],
    by = c("model", "set"), suffixes = c("", "_peer")
  )
  both$difference <- both$error - both$error_peer
  both$log_ratio <- log(both$error / both$error_peer)
  mean_table(both, c("data", "method", "method_peer"),
    c("difference", "log_ratio")
  )
}

# The key of the peers' errors: the model, or the camera's noise.
shared_data <- function(data) {
  ifelse(hmm_model(data) == "camera", data, hmm_model(data))
}

# The smoother's error minus the filter's, on the same observations.
smoother_table <- function(runs) {
  pick <- function(estimate) runs[runs$estimate == estimate, ]
  both <- merge(pick("smooth"), pick("filter"),
    by = c("data", "set", "method"), suffixes = c("", "_filter")
  )
  if (nrow(both) == 0) {
    return(NULL)
  }
  both$difference <- both$error - both$error_filter
  mean_table(both, c("data", "method"), "difference")
}

chosen_table <- function(runs) {
  runs <- runs[runs$estimate == "filter" & nzchar(runs$setting), ]
  counts <- stats::aggregate(
    list(times = runs$set), runs[c("data", "method", "setting")], length
  )
  counts[order(counts$data, counts$method, -counts$times), ]
}

# A stretch of the camera for a figure: the filter's angles with bands, and the
# true rotations.
camera_picture <- function(quick) {
  task <- noisy_camera_task("camera_1e-03", 1, quick)
  task$space <- "rotation"
  hmm <- learn_hmm_by(task, seq_len(nrow(task$states)), hmm_default)
  filtered <- kbr_filter(hmm, task$new, progress = FALSE)
  some <- seq_len(min(300, nrow(task$new)))
  list(
    bands = generics::augment(filtered)[some, -(1 + seq_len(ncol(task$new)))],
    truth = task$truth[some, ]
  )
}

# ---- everything -------------------------------------------------------------

known_options <- c("cache", "workers", "repeats", "data", "methods", "output")
flags <- c("quick", "cached")

all_methods <- function() {
  unique(unlist(lapply(hmm_experiments, function(data) {
    names(methods_of(data))
  })))
}

plan_for <- function(options, fail) {
  quick <- "quick" %in% names(options)
  number <- function(name, default) number_option(options, name, default)
  list(
    quick = quick, cached = "cached" %in% names(options),
    repeats = number("repeats", if (quick) 2 else 10),
    workers = number("workers", 1),
    control = if (quick) list(quick = TRUE),
    data = several_option(options, "data", hmm_experiments, fail),
    methods = several_option(options, "methods", all_methods(), fail),
    cache = if (is.null(options$cache)) tempfile("kbr_hmm") else options$cache
  )
}

runs_of <- function(plan, scripts) {
  results <- lapply(intersect(hmm_experiments, plan$data), function(name) {
    cells <- hmm_cells_for(name, plan$repeats, plan$methods)
    if (nrow(cells) > 0) run_cells(cells, plan, scripts)
  })
  do.call(rbind, results)
}

about_run <- function(plan) {
  list(
    date = format(Sys.Date()), quick = plan$quick, repeats = plan$repeats,
    R = R.version.string, platform = R.version$platform,
    versions = package_versions(c("kernelbayes", "KFAS")),
    seeds = "repeat r: r to learn from (camera: noise), 1000 + r to filter",
    default = hmm_default, grids = hmm_grids, smoothing = smoothing_grid,
    ukf = ukf_settings,
    kfas = differ_from_kfas(sim_linear_hmm(200, seed = 1)$observations)
  )
}

run_all <- function(plan, scripts) {
  dir.create(plan$cache, showWarnings = FALSE, recursive = TRUE)
  message("Experiments (finished runs are in ", plan$cache, ")")
  runs <- runs_of(plan, scripts)
  camera <- hmm_model(runs$data) == "camera"
  table <- function(rows, measures) {
    if (any(rows)) error_table(runs[rows, ], measures)
  }
  Filter(Negate(is.null), list(
    about = about_run(plan), slides = slides,
    simulated = table(!camera, c("error", "seconds")),
    camera = table(camera, measures),
    versus = versus_table(runs), smoother = smoother_table(runs),
    chosen = chosen_table(runs),
    picture = if (any(camera) && !plan$cached) camera_picture(plan$quick)
  ))
}

show_results <- function(results) {
  for (name in setdiff(names(results), c("about", "picture"))) {
    show_table(name, results[[name]])
  }
  if (!is.null(results$about$kfas)) {
    cat("\nlargest difference from KFAS:", max(results$about$kfas), "\n")
  }
}

script_files <- function(root) {
  file.path(root, "tools", "reproduce", c(
    "tables.R", "cells.R", "kbr_hmm-baselines.R", "kbr_hmm-methods.R",
    "kbr_hmm-cells.R", "kbr_hmm.R"
  ))
}

main <- function() {
  script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
  script <- normalizePath(gsub("~+~", " ", script[[1]], fixed = TRUE))
  root <- dirname(dirname(dirname(script)))
  deps <- new.env()
  sys.source(file.path(root, "tools", "deps.R"), deps)
  source(file.path(dirname(script), "options.R"))
  options <- commandArgs(trailingOnly = TRUE)
  options <- parse_options(options, known_options, flags, deps$fail)
  deps$install_needs(root, "reproduce_kbr_hmm")
  .libPaths(c(deps$install_checkout(root), .libPaths()))
  library(kernelbayes)
  scripts <- script_files(root)
  for (file in setdiff(scripts, script)) source(file)
  plan <- plan_for(options, deps$fail)
  if (plan$workers > 1) {
    future::plan(future::multisession, workers = plan$workers)
    on.exit(future::plan(future::sequential))
  }
  started <- Sys.time()
  results <- run_all(plan, scripts)
  show_results(results)
  file <- options$output
  if (is.null(file)) {
    file <- file.path(root, "vignettes", "precomputed", "kbr_hmm.rds")
  }
  saveRDS(results, file, version = 2, compress = "xz")
  message(
    "Wrote ", file, " (", round(file.size(file) / 1024), " kB) after ",
    format(round(Sys.time() - started, 1))
  )
}

if (sys.nframe() == 0) main()
