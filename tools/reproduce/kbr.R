# Repeats the experiments on kernel Bayes' rule of Fukumizu, Song and Gretton
# (2010) that need no hidden Markov model, with package abc:
#
#   Rscript tools/reproduce/kbr.R            everything: about 13 minutes
#   Rscript tools/reproduce/kbr.R --quick    two repeats, small: a trial run
#
#   --cache=folder    where finished runs are kept, so that a stopped run can
#                     continue. Default: a temporary folder
#   --workers=1       number of processes (package future). Times are processor
#                     times, but workers that share a processor are slower
#   --repeats=10      repeats of everything
#   --cached          no new runs: tables of the finished ones
#   --data=a,b        which experiments: gauss_2, gauss_6, two_2, two_6, rate_1,
#                     rate_2, rate_6, rate_10, rank_2, rank_6
#   --output=file     instead of vignettes/precomputed/kbr.rds
#
# Prints the tables and writes the file from which vignettes/kbr.Rmd is built.
# Commit the file from a full run only. Installs the package and its peers
# first.
#
# Protocol. gauss and two: the models of kbr-data.R, with kbr() and abc() as in
# kbr-methods.R. Repeat r has the model of seed r, the observations of seed
# 1e6 + r, and the simulations of seed 2e6 + r. Only methods called "best" use
# the truth to choose settings. rate: errors against n and d. rank: low against
# full rank at n = 1000.

measures <- c("error", "seconds", "one")

# ---- tables -----------------------------------------------------------------

# Means over repeats of methods that do not use the truth. Tuning makes
# different choices in different repeats: they are counted in `chosen`.
honest_table <- function(runs) {
  tuned <- runs$variant %in% c("tuned", "rejection_cv", "loclinear_cv")
  runs$setting[tuned] <- ""
  runs <- runs[runs$variant != "grid", ]
  mean_table(runs, c("data", "variant", "size", "setting"), measures)
}

# The smallest mean error over the settings of each variant.
best_table <- function(runs, variants) {
  runs <- runs[runs$variant %in% variants, ]
  all <- mean_table(runs, c("data", "variant", "size", "setting"), measures)
  key <- paste(all$data, all$variant, all$size)
  lines <- lapply(split(all, factor(key, unique(key))), function(group) {
    group[which.min(group$error), ]
  })
  do.call(rbind, unname(lines))
}

chosen_table <- function(runs) {
  runs <- runs[runs$variant %in% c("tuned", "rejection_cv", "loclinear_cv"), ]
  counts <- stats::aggregate(
    list(times = runs$set), runs[c("data", "variant", "size", "setting")],
    length
  )
  counts[order(counts$data, counts$variant, counts$size, -counts$times), ]
}

# kbr() at one size against the best tolerance of abc(): abc()'s smallest error
# in the same time, and its time for an error as small; NA if none of its tables
# reaches it.
equal_time <- function(table, best, size) {
  ours <- table[table$variant %in% c("rank_100", "tuned") &
    table$size == size, ]
  lines <- lapply(seq_len(nrow(ours)), function(i) {
    line <- ours[i, ]
    peers <- c("rejection", "plain", "loclinear")
    per_peer <- lapply(peers, function(peer) {
      theirs <- best[best$data == line$data & best$variant == peer, ]
      fast <- theirs[theirs$seconds <= line$seconds, ]
      close <- theirs[theirs$error <= line$error, ]
      data.frame(
        data = line$data, ours = line$variant, error = line$error,
        seconds = line$seconds, peer = peer,
        peer_error = if (nrow(fast) > 0) min(fast$error) else NA,
        peer_seconds = if (nrow(close) > 0) min(close$seconds) else NA,
        most_seconds = max(theirs$seconds), least_error = min(theirs$error)
      )
    })
    do.call(rbind, per_peer)
  })
  do.call(rbind, lines)
}

# Slopes of log error on log n, per repeat.
slope_table <- function(runs) {
  key <- paste(runs$data, runs$setting, runs$set)
  groups <- split(runs, factor(key, unique(key)))
  slopes <- do.call(rbind, lapply(unname(groups), function(group) {
    line <- stats::lm.fit(cbind(1, log(group$size)), log(group$error))
    data.frame(group[1, c("data", "setting", "set")],
      slope = line$coefficients[[2]]
    )
  }))
  mean_table(slopes, c("data", "setting"), "slope")
}

# ---- everything -------------------------------------------------------------

known_options <- c("cache", "workers", "repeats", "data", "output")
flags <- c("quick", "cached")

plan_for <- function(options, fail) {
  quick <- "quick" %in% names(options)
  number <- function(name, default) number_option(options, name, default)
  list(
    quick = quick, cached = "cached" %in% names(options),
    repeats = number("repeats", if (quick) 2 else 10),
    workers = number("workers", 1),
    control = if (quick) list(quick = TRUE),
    data = several_option(options, "data", kbr_experiments, fail),
    cache = if (is.null(options$cache)) tempfile("kbr") else options$cache
  )
}

runs_of <- function(names, plan, scripts) {
  results <- lapply(intersect(names, plan$data), function(name) {
    run_cells(kbr_cells_for(name, plan$repeats), plan, scripts)
  })
  do.call(rbind, results)
}

model_results <- function(plan, scripts) {
  runs <- runs_of(models, plan, scripts)
  if (is.null(runs)) {
    return(NULL)
  }
  table <- honest_table(runs)
  best <- best_table(runs, c("grid", "rejection", "plain", "loclinear"))
  list(
    errors = table, best = best, chosen = chosen_table(runs),
    equal = equal_time(table, best, if (plan$quick) 1000 else 1e4)
  )
}

rate_results <- function(plan, scripts) {
  runs <- runs_of(paste0("rate_", rate_dimensions), plan, scripts)
  if (is.null(runs)) {
    return(NULL)
  }
  list(
    rates = mean_table(
      runs, c("data", "setting", "size"),
      c("error", "prior", "negative", "share_negative")
    ),
    slopes = slope_table(runs)
  )
}

rank_results <- function(plan, scripts) {
  runs <- runs_of(paste0("rank_", rank_dimensions), plan, scripts)
  if (is.null(runs)) {
    return(NULL)
  }
  list(
    ranks = mean_table(
      runs, c("data", "size", "setting"), c("error", "seconds")
    )
  )
}

about_run <- function(plan) {
  list(
    date = format(Sys.Date()), quick = plan$quick, repeats = plan$repeats,
    R = R.version.string, platform = R.version$platform,
    versions = package_versions(c("kernelbayes", "abc")),
    seeds = "repeat r: model r, observations 1e6 + r, simulations 2e6 + r",
    grid = kbr_grid, tolerances = abc_tolerances
  )
}

run_all <- function(plan, scripts) {
  dir.create(plan$cache, showWarnings = FALSE, recursive = TRUE)
  message("Experiments (finished runs are in ", plan$cache, ")")
  results <- c(
    list(about = about_run(plan)), model_results(plan, scripts),
    rate_results(plan, scripts), rank_results(plan, scripts)
  )
  Filter(Negate(is.null), results)
}

# Everything except abc()'s results at each tolerance.
show_results <- function(results) {
  swept <- results$errors$variant %in% c("rejection", "plain", "loclinear")
  results$errors <- results$errors[!swept, ]
  for (name in setdiff(names(results), "about")) {
    show_table(name, results[[name]])
  }
}

script_files <- function(root) {
  file.path(root, "tools", "reproduce", c(
    "tables.R", "cells.R", "kbr-data.R", "kbr-methods.R", "kbr-cells.R", "kbr.R"
  ))
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
  deps$install_needs(root, "reproduce_kbr")
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
    file <- file.path(root, "vignettes", "precomputed", "kbr.rds")
  }
  saveRDS(results, file, version = 2, compress = "xz")
  message(
    "Wrote ", file, " (", round(file.size(file) / 1024), " kB) after ",
    format(round(Sys.time() - started, 1))
  )
}

if (sys.nframe() == 0) main()
