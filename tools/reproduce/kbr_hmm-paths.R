# kbr_hmm() and its peers on camera paths of several speeds, as rendered by
# data-raw/camera/render.R (see data-raw/README.md, "Other camera paths"):
#
#   Rscript tools/reproduce/kbr_hmm-paths.R --folder=paths --repeats=10
#
#   --folder=F    has report-<speed>-<seed>.rds
#   --speeds=, --seeds=, --noise=, --methods=   some of them, by commas
#   --cache=F     finished cells, to go on later
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

describe_path <- function(path) {
  list(
    mean = predict(path), map = predict(path, type = "map"),
    radius = as.vector(predict(path, type = "radius"))
  )
}

hmm_answer <- function(...) {
  function(task) {
    before <- cpu_seconds()
    hmm <- kbr_hmm(task$states, task$y,
      space = "rotation", seed = task$repeat_number, ...
    )
    filtered <- kbr_filter(hmm, task$new, progress = FALSE)
    # Without the smoother and the modes
    seconds <- cpu_seconds() - before
    structure(list(
      filter = describe_path(filtered),
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
  kbr_hmm = hmm_answer(),
  rule = hmm_answer(method = "kbr"),
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

run_path_cell <- function(task, method) {
  answers <- path_methods[[method]](task)
  do.call(rbind, lapply(names(answers), function(estimate) {
    answer <- answers[[estimate]]
    data.frame(
      estimate = estimate, error = frobenius(answer$mean, task$truth),
      map = if (is.null(answer$map)) NA else frobenius(answer$map, task$truth),
      coverage = ball_coverage(answer, task$truth),
      seconds = attr(answers, "seconds")
    )
  }))
}

path_cells <- function(plan) {
  expand.grid(
    method = plan$methods, repeat_number = seq_len(plan$repeats),
    noise = plan$noise, seed = plan$seeds, speed = plan$speeds,
    stringsAsFactors = FALSE
  )
}

run_paths <- function(plan, root) {
  dir.create(plan$cache, showWarnings = FALSE, recursive = TRUE)
  cells <- path_cells(plan)
  do.call(rbind, lapply(seq_len(nrow(cells)), function(i) {
    cell <- cells[i, ]
    kept <- file.path(plan$cache, paste0(
      paste(cell, collapse = "_"), ".rds"
    ))
    if (!file.exists(kept)) {
      camera <- camera_from_file(file.path(plan$folder, paste0(
        "report-", cell$speed, "-", cell$seed, ".rds"
      )), root)
      task <- path_task(camera, cell$noise, cell$repeat_number)
      message(paste(names(cell), cell, sep = " ", collapse = ", "))
      saveRDS(cbind(cell, run_path_cell(task, cell$method)), kept)
    }
    readRDS(kept)
  }))
}

path_table <- function(runs) {
  keys <- c("speed", "seed", "noise", "method", "estimate")
  one <- split(runs, runs[keys], drop = TRUE)
  out <- do.call(rbind, lapply(one, function(rows) {
    n <- nrow(rows)
    data.frame(rows[1, keys],
      repeats = n, error = mean(rows$error),
      error_se = stats::sd(rows$error) / sqrt(n), map = mean(rows$map),
      coverage = mean(rows$coverage), seconds = stats::median(rows$seconds)
    )
  }))
  rownames(out) <- NULL
  out[do.call(order, out[keys]), ]
}

path_plan <- function(options, fail) {
  some <- function(name, default) {
    if (is.null(options[[name]])) default else {
      strsplit(options[[name]], ",")[[1]]
    }
  }
  if (is.null(options$folder)) fail("Give --folder= of rendered paths.")
  list(
    folder = options$folder, repeats = as.integer(some("repeats", 10)),
    speeds = some("speeds", c("0.4", "1", "3", "7")),
    seeds = some("seeds", c("1", "2")),
    noise = as.numeric(some("noise", c(1e-4, 1e-3))),
    methods = some("methods", names(path_methods)),
    cache = some("cache", tempfile("paths"))
  )
}

main <- function() {
  script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
  script <- normalizePath(gsub("~+~", " ", script[[1]], fixed = TRUE))
  root <- dirname(dirname(dirname(script)))
  deps <- new.env()
  sys.source(file.path(root, "tools", "deps.R"), deps)
  source(file.path(dirname(script), "options.R"))
  options <- parse_options(commandArgs(trailingOnly = TRUE), c(
    "folder", "repeats", "speeds", "seeds", "noise", "methods", "cache",
    "output"
  ), character(), deps$fail)
  .libPaths(c(deps$install_checkout(root), .libPaths()))
  library(kernelbayes)
  plan <- path_plan(options, deps$fail)
  runs <- run_paths(plan, root)
  table <- path_table(runs)
  print(table, digits = 3, row.names = FALSE)
  file <- options$output
  if (is.null(file)) {
    file <- file.path(root, "vignettes", "precomputed", "kbr_hmm_paths.rds")
  }
  saveRDS(list(about = list(date = format(Sys.Date())), table = table), file,
    version = 2, compress = "xz"
  )
}

folder <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(),
  value = TRUE
)[1]))
source(file.path(folder, "kbr_hmm-baselines.R"))
source(file.path(folder, "..", "..", "data-raw", "camera", "read.R"))
if (sys.nframe() == 0) main()
