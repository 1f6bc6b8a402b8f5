# Labels that kgs() marks as wrong, of labels that were flipped at random:
#
#   Rscript tools/reproduce/kgs_labels.R            about 4 minutes
#   Rscript tools/reproduce/kgs_labels.R --quick    a short trial run
#   --output=file     instead of vignettes/precomputed/kgs_labels.rds
#
# README.md has the result: run tools/readme.R after this script.
#
# Protocol: the 100 flowers of `iris` that are versicolor or virginica, with
# their four measurements, and the paper's model, kgs(nugget = 0). In draw r the rows
# sample(100) after set.seed(r) are flipped in this order, so that more flips
# include fewer; the fit has seed r. A label is marked if it is more likely
# wrong than right, label_noise() > 1/2.

plan_for <- function(options) {
  quick <- "quick" %in% names(options)
  list(
    quick = quick, draws = if (quick) 5 else 100,
    flips = if (quick) c(0, 4) else c(0, 1, 2, 4, 6, 8, 10, 15, 20, 25, 30)
  )
}

two_species <- function() droplevels(datasets::iris[51:150, ])

flip_rows <- function(flowers, rows) {
  levels <- levels(flowers$Species)
  flowers$Species[rows] <- rev(levels)[flowers$Species[rows]]
  flowers
}

# Numbers of labels that are marked, and of those among them that were flipped
run_draw <- function(draw, flips) {
  set.seed(draw)
  rows <- sample(100)[seq_len(flips)]
  fit <- suppressWarnings(suppressMessages(kgs(
    Species ~ ., flip_rows(two_species(), rows),
    nugget = 0, seed = draw, progress = FALSE
  )))
  marked <- which(label_noise(fit)$probability > 0.5)
  data.frame(
    flips = flips, draw = draw, marked = length(marked),
    found = sum(marked %in% rows)
  )
}

run_all <- function(plan) {
  runs <- lapply(plan$flips, function(flips) {
    message("  ", flips, " flips")
    do.call(rbind, lapply(seq_len(plan$draws), run_draw, flips))
  })
  runs <- do.call(rbind, runs)
  list(
    about = list(
      date = format(Sys.Date()), quick = plan$quick, R = R.version.string,
      versions = package_versions("kernelbayes")
    ),
    runs = runs
  )
}

main <- function() {
  script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
  script <- normalizePath(gsub("~+~", " ", script[[1]], fixed = TRUE))
  root <- dirname(dirname(dirname(script)))
  deps <- new.env()
  sys.source(file.path(root, "tools", "deps.R"), deps)
  for (name in c("options.R", "tables.R")) {
    source(file.path(dirname(script), name))
  }
  source(file.path(root, "tools", "readme-labels.R"))
  options <- parse_options(
    commandArgs(trailingOnly = TRUE), "output", "quick", deps$fail
  )
  deps$install_needs(root, "reproduce")
  .libPaths(c(deps$install_checkout(root), .libPaths()))
  library(kernelbayes)
  results <- run_all(plan_for(options))
  show_table("shares of labels", label_rates(results$runs))
  file <- options$output
  if (is.null(file)) {
    file <- file.path(root, "vignettes", "precomputed", "kgs_labels.rds")
  }
  saveRDS(results, file, version = 2, compress = "xz")
  message("Wrote ", file)
}

if (sys.nframe() == 0) main()
