# Repeats the experiments of Graepel and Herbrich (2001), with peers:
#
#   Rscript tools/reproduce/kgs.R            everything: hours
#   Rscript tools/reproduce/kgs.R --quick    two repeats, short chains: a trial
#
#   --cache=folder    where finished runs are kept, so that a stopped run can
#                     continue. Default: a temporary folder
#   --workers=2       number of processes (package future)
#   --repeats=20      repeats of each real data set, and of the simulated
#                     experiments except figure 4
#   --figure4-repeats=100
#   --cached          no new fits: tables of the finished ones
#   --data=a,b        which experiments: figure1, figure3, figure4, learned_0,
#                     learned_10, learned_20, active, and the real data sets of
#                     kgs-data.R
#   --methods=a,b     which methods on real data, see kgs-methods.R
#   --chains= --warmup= --iter= --thin=
#                     settings of kgs() on real data; default: those of
#                     mcmc_control()
#   --output=file     instead of vignettes/precomputed/kgs.rds
#
# Prints the tables and writes the file from which vignettes/kgs.Rmd is built.
# Commit the file from a full run only. Installs the package and its peers
# first; unavailable peers are left out.
#
# Protocol. Figure 1: log posterior on a grid of directions, flips and q of 0.2.
# Figure 3: sim_moons(76), Gaussian kernel of bandwidth 1, q of 0, 0.1 and 0.2,
# 50 draws; errors on 2000 further points. Figure 4: sim_sphere, 100 training
# and 1000 test rows, 5% of both flipped, Bayes points of 100 draws against
# machines with quadratic slacks, whose penalty goes from below to far above the
# noise rates: the paper's axis is for both. Learned noise: sim_moons(120, 0.35)
# with flips. Repeat r has the seeds r and 1000 + r. Real data: see kgs-data.R;
# all methods get the same splits, and differences are paired.

labels <- list(
  data = c(
    sonar = "Sonar", sonar_flips = "Sonar, 10% flipped",
    ionosphere = "Ionosphere", ionosphere_flips = "Ionosphere, 10% flipped",
    pima = "Pima", pima_flips = "Pima, 10% flipped",
    learned_0 = "no flips", learned_10 = "10% flipped",
    learned_20 = "20% flipped"
  ),
  method = c(
    kgs = "kgs(nugget = 0)", kgs_width = "kgs, width by evidence",
    kgs_average = "kgs, kernels averaged by evidence",
    kgs_stacked = "kgs, kernels stacked",
    ksvm = "ksvm, tuned", gausspr = "gausspr, tuned", lssvm = "lssvm, tuned",
    dbarts = "dbarts", ranger = "ranger", learned = "learned"
  )
)

# ---- tables -----------------------------------------------------------------

figure3_measures <- c(
  "train_errors", "differ_train", "differ_test", "differ_grid", "vote", "bpm",
  "single", "reject_10", "reject_40"
)
class_measures <- c(
  "error", "log_loss", "log_loss_true", "brier", "multiple", "q", "rhat", "ess",
  "seconds"
)

# Our scores against a peer's on the same splits: means of differences.
class_versus <- function(runs, ours, peer) {
  both <- merge(
    runs[runs$method == ours, ], runs[runs$method == peer, ],
    by = c("data", "set"), suffixes = c("", "_peer")
  )
  if (nrow(both) == 0) {
    return(NULL)
  }
  both <- both[order(match(both$data, runs$data)), ]
  both$error <- both$error - both$error_peer
  both$log_loss <- both$log_loss - both$log_loss_peer
  data.frame(
    mean_table(both, "data", c("error", "log_loss")),
    method = ours, peer = peer
  )
}

all_class_versus <- function(runs) {
  pairs <- expand.grid(
    peer = names(kgs_peers), ours = our_methods, stringsAsFactors = FALSE
  )
  do.call(rbind, Map(class_versus, list(runs), pairs$ours, pairs$peer))
}

# Sums over the repeats of the counts of calibration(), one row per bin.
calibration_table <- function(runs) {
  key <- paste(runs$data, runs$method)
  groups <- split(runs, factor(key, unique(key)))
  lines <- lapply(groups, function(group) {
    sums <- function(name) {
      colSums(group[paste0(name, "_", seq_len(calibration_bins))])
    }
    data.frame(
      data = group$data[[1]], method = group$method[[1]],
      bin = seq_len(calibration_bins), rows = sums("rows"),
      share = sums("hits") / sums("rows"), mean = sums("sum") / sums("rows")
    )
  })
  out <- do.call(rbind, lines)
  rownames(out) <- NULL
  out[out$rows > 0, ]
}

# The smallest mean error over the fixed rates, next to that of the learned one.
learned_table <- function(runs) {
  mean_table(runs, c("data", "method"), c("error", "log_loss", "q"))
}

# ---- everything -------------------------------------------------------------

known_options <- c(
  "cache", "workers", "repeats", "figure4-repeats", "data", "methods", "chains",
  "warmup", "iter", "thin", "output"
)
flags <- c("quick", "cached")

plan_for <- function(options, fail) {
  quick <- "quick" %in% names(options)
  number <- function(name, default) number_option(options, name, default)
  several <- function(name, known) several_option(options, name, known, fail)
  short <- if (quick) c(chains = 2, warmup = 200, iter = 200) else numeric()
  control <- lapply(
    stats::setNames(nm = c("chains", "warmup", "iter", "thin")),
    function(name) number(name, if (name %in% names(short)) short[[name]])
  )
  list(
    quick = quick, cached = "cached" %in% names(options),
    repeats = number("repeats", if (quick) 2 else 20),
    figure4_repeats = number("figure4-repeats", if (quick) 3 else 100),
    workers = number("workers", 1),
    control = c(
      Filter(Negate(is.null), control), if (quick) list(quick = TRUE)
    ),
    data = several("data", c("figure1", kgs_experiments, "active")),
    methods = several("methods", names(kgs_all_methods(list()))),
    cache = if (is.null(options$cache)) tempfile("kgs") else options$cache
  )
}

runs_of <- function(names, plan, scripts) {
  results <- lapply(intersect(names, plan$data), function(name) {
    repeats <- if (name == "figure4") plan$figure4_repeats else plan$repeats
    cells <- kgs_cells_for(name, repeats, plan$methods)
    run_cells(cells, plan, scripts)
  })
  do.call(rbind, results)
}

figure_results <- function(plan, scripts) {
  table <- function(name, by, measures) {
    runs <- runs_of(name, plan, scripts)
    if (!is.null(runs)) mean_table(runs, by, measures)
  }
  list(
    figure1 = if ("figure1" %in% plan$data) figure1(plan$repeats),
    figure3 = table("figure3", "q", figure3_measures),
    picture = if ("figure3" %in% plan$data) figure3_picture(),
    figure4 = table("figure4", c("method", "setting"), c("error", "clean")),
    figure4_versus = if ("figure4" %in% plan$data) {
      figure4_versus(runs_of("figure4", plan, scripts))
    },
    learned = table(
      names(learned_flips), c("data", "method"), c("error", "log_loss", "q")
    )
  )
}

class_results <- function(plan, scripts) {
  runs <- runs_of(names(kgs_sets), plan, scripts)
  if (is.null(runs)) {
    return(NULL)
  }
  list(
    classes = mean_table(runs, c("data", "method"), class_measures),
    versus = all_class_versus(runs), calibration = calibration_table(runs),
    runs = runs[c("data", "set", "method", "error", "log_loss")]
  )
}

# This experiment has its own script, kgs-active.R, and no cells.
active_results <- function(plan) {
  wanted <- "active" %in% plan$data && !plan$cached
  if (!wanted || !exists("active_curves")) {
    return(NULL)
  }
  active <- active_plan(plan$quick)
  curves <- active_curves(active, active$noise$learned)
  list(active = list(
    errors = active_errors(curves), needed = labels_needed(curves)
  ))
}

about_run <- function(plan) {
  packages <- c(
    "kernelbayes", "dbarts", "kernlab", "ranger", "MASS", "mlbench", "posterior"
  )
  list(
    date = format(Sys.Date()), quick = plan$quick, R = R.version.string,
    platform = R.version$platform, versions = package_versions(packages),
    seeds = "repeat r: r to learn from, 1000 + r to test; fits: r",
    control = unclass(do.call(
      mcmc_control, plan$control[names(plan$control) != "quick"]
    ))
  )
}

run_all <- function(plan, scripts) {
  dir.create(plan$cache, showWarnings = FALSE, recursive = TRUE)
  message("Experiments (finished runs are in ", plan$cache, ")")
  results <- c(
    list(about = about_run(plan), labels = labels),
    figure_results(plan, scripts), class_results(plan, scripts),
    active_results(plan)
  )
  Filter(Negate(is.null), results)
}

show_results <- function(results) {
  for (figure in results$figure1) {
    cat(sprintf(
      "\nfigure 1, m = %d: several modes in %.2f, %.3f near the truth\n",
      figure$m, figure$several, figure$share
    ))
  }
  for (name in c(
    "figure3", "figure4", "figure4_versus", "learned", "classes", "versus"
  )) {
    if (!is.null(results[[name]])) show_table(name, results[[name]])
  }
  if (!is.null(results$active)) print(results$active)
}

script_files <- function(root) {
  file.path(root, "tools", c("peers-tuned.R", file.path("reproduce", c(
    "tables.R", "cells.R", "bark-data.R", "kgs-data.R", "kgs-methods.R",
    "kgs-figures.R", "kgs-cells.R", "kgs-active.R", "kgs.R"
  ))))
}

main <- function() {
  script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
  script <- normalizePath(gsub("~+~", " ", script[[1]], fixed = TRUE))
  root <- dirname(dirname(dirname(script)))
  deps <- new.env()
  sys.source(file.path(root, "tools", "deps.R"), deps)
  source(file.path(dirname(script), "options.R"))
  options <- parse_options(
    commandArgs(trailingOnly = TRUE), known_options, flags, deps$fail
  )
  deps$install_needs(root, "reproduce_kgs")
  .libPaths(c(deps$install_checkout(root), .libPaths()))
  library(kernelbayes)
  scripts <- Filter(file.exists, script_files(root))
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
    file <- file.path(root, "vignettes", "precomputed", "kgs.rds")
  }
  saveRDS(results, file, version = 2, compress = "xz")
  message(
    "Wrote ", file, " (", round(file.size(file) / 1024), " kB) after ",
    format(round(Sys.time() - started, 1))
  )
}

if (sys.nframe() == 0) main()
