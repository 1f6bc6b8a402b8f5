# Repeats the experiments of Ouyang, Clyde and Wolpert (2008), with peers:
#
#   Rscript tools/reproduce/bark.R            everything: many hours
#   Rscript tools/reproduce/bark.R --quick    two repeats, short chains: a trial
#   --cache=folder    where finished fits are kept, so that a stopped run can
#                     continue. Default: a temporary folder
#   --workers=2       number of processes (package future)
#   --repeats=20      repeats of each simulated data set
#   --real-repeats=20 repeats of five folds of each real data set
#   --cached          no new fits: tables of the finished ones
#   --data=a,b        which data sets, see bark-data.R; also figure1, figure2,
#                     figure3, circle20_scales
#   --methods=a,b     which methods: equal, different, select_equal,
#                     select_different (bark() with that prior) and the peers
#                     of tools/peers-tuned.R. Default: all, except that on real
#                     data only the default prior of the CRAN package is run
#   --chains= --warmup= --iter= --n_temps= --thin=
#                     settings of bark(); default: those of mcmc_control()
#   --output=file     instead of vignettes/precomputed/bark.rds
#
# Prints the tables and writes the file from which vignettes/bark.Rmd is built.
# Commit the file from a full run only. Installs the package and its peers
# first; unavailable peers are left out.
#
# Protocol: 20 repeats, in which all methods get the same rows. The error of a
# run is the mean squared distance to the noiseless function at 1000 further
# points (simulated), or the mean squared error or the share of wrong classes
# over the rows held out in five-fold cross-validation (real data). In table 1
# it is divided by the smallest error among the paper's six methods in that run:
# four priors, support vector machine, BART. Intervals are 90%. Seeds: see
# bark-data.R; a fit of repeat r and fold k has the seed 100 r + k.
# bark-data.R; a fit of repeat r and fold k has the seed 100 r + k.

# The paper's tables 1 and 2 (per cent), and what it reports on the probability
# that a lambda is above 0.
paper_table <- function(...) {
  out <- rbind(...)
  colnames(out) <- c(
    "equal", "different", "select_equal", "select_different", "ksvm", "dbarts"
  )
  data.frame(data = rownames(out), out, row.names = NULL)
}

published <- list(
  table1 = paper_table(
    friedman1 = c(7.31, 1.22, 2.26, 1.93, 5.36, 1.97),
    friedman2 = c(1.99, 1.07, 1.09, 1.04, 4.36, 3.64),
    friedman3 = c(3.07, 1.46, 2.30, 1.44, 2.70, 1.00),
    boston = c(1.44, 1.09, 1.23, 1.20, 1.56, 1.01),
    bodyfat = c(1.39, 1.81, 1.01, 2.19, 4.04, 1.68),
    basketball = c(1.01, 1.01, 1.01, 1.02, 1.16, 1.10)
  ),
  table2 = paper_table(
    circle2 = c(1.93, 4.91, 1.88, 1.93, 5.03, 3.97),
    circle5 = c(13.50, 4.70, 1.47, 1.65, 10.99, 6.51),
    circle20 = c(49.16, 4.84, 2.09, 3.69, 44.10, 15.10),
    bank = c(1.05, 1.25, 0.55, 0.88, 1.12, 0.50),
    wdbc = c(2.70, 4.02, 2.49, 6.09, 2.70, 3.36),
    ionosphere = c(5.33, 8.59, 5.78, 10.87, 5.17, 7.34)
  ),
  # Probabilities that lambda is above 0, in column order.
  bank_included = c(0.14, 0.252, 0.302, 0.776, 0.278, 0.962),
  circle20_included = c(1, 0.996)
)

# Fits to all rows, with each prior.
figure_sets <- c(
  figure1 = "boston", figure2 = "bodyfat", figure3 = "bank",
  circle20_scales = "circle20"
)

labels <- list(
  data = c(
    friedman1 = "Friedman 1", friedman2 = "Friedman 2",
    friedman3 = "Friedman 3", boston = "Boston", bodyfat = "Body fat",
    basketball = "Basketball", circle2 = "Circle 2", circle5 = "Circle 5",
    circle20 = "Circle 20", bank = "Bank notes", wdbc = "WDBC",
    ionosphere = "Ionosphere"
  ),
  method = c(
    equal = "bark(), equal", different = "bark(), different",
    select_equal = "bark(), select_equal",
    select_different = "bark(), select_different", ksvm = "ksvm, tuned",
    ksvm_default = "ksvm, defaults", gausspr = "gausspr, tuned",
    dbarts = "dbarts", ranger = "ranger", bark_equal = "CRAN bark, e",
    bark_different = "CRAN bark, d", bark_select_equal = "CRAN bark, se",
    bark_select_different = "CRAN bark, sd"
  )
)

# ---- from cells to tables ---------------------------------------------------

# One row per run (data set, repeat, method): sums over folds become means over
# rows. Runs with missing folds are left out.
as_runs <- function(cells) {
  key <- do.call(paste, cells[c("data", "set", "method")])
  runs <- lapply(split(cells, factor(key, unique(key))), function(run) {
    n <- sum(run$rows)
    data.frame(
      run[1, c("data", "set", "method")], folds = nrow(run),
      error = sum(run$loss) / n, coverage_f = sum(run$inside_f) / n,
      coverage_y = sum(run$inside_y) / n, kernels = mean(run$kernels),
      rhat = max(run$rhat), ess = min(run$ess), seconds = sum(run$seconds)
    )
  })
  runs <- do.call(rbind, runs)
  rownames(runs) <- NULL
  wanted <- vapply(bark_sets[runs$data], `[[`, 0, "folds")
  runs[runs$folds == wanted, ]
}

# The error of each run divided by the smallest among the paper's methods.
add_ratio <- function(runs) {
  key <- paste(runs$data, runs$set)
  six <- runs$method %in% papers_methods
  best <- tapply(runs$error[six], key[six], min)
  runs$ratio <- runs$error / as.vector(best[match(key, names(best))])
  runs
}

measures <- c(
  "error", "ratio", "coverage_f", "coverage_y", "kernels", "rhat", "ess",
  "seconds"
)

result_table <- function(runs, data) {
  runs <- runs[runs$data %in% data, ]
  if (nrow(runs) == 0) {
    return(NULL)
  }
  mean_table(runs, c("data", "method"), measures)
}

# bark() against a peer on the same splits: the ratio of errors, or for classes
# their difference in percentage points.
versus <- function(runs, ours, peer) {
  a <- runs[runs$method == ours, ]
  b <- runs[runs$method == peer, ]
  both <- merge(a, b, by = c("data", "set"), suffixes = c("", "_peer"))
  if (nrow(both) == 0) {
    return(NULL)
  }
  classes <- is_classes(both$data)
  both$value <- ifelse(classes, 100 * (both$error - both$error_peer),
    both$error / both$error_peer
  )
  both$wins <- as.numeric(both$error < both$error_peer)
  data.frame(
    mean_table(both, "data", c("value", "wins")), method = ours, peer = peer
  )
}

is_classes <- function(data) {
  vapply(bark_sets[data], function(set) set$family == "classes", NA)
}

# Each prior against the same prior of the CRAN package, and the default prior
# against all peers.
all_versus <- function(runs) {
  pairs <- rbind(
    cbind(bark_types, paste0("bark_", bark_types)),
    cbind("select_different", setdiff(names(tuned_peers), paste0(
      "bark_", bark_types
    )))
  )
  out <- Map(versus, list(runs), pairs[, 1], pairs[, 2])
  do.call(rbind, unname(out))
}

# How far the method that is best in the paper is behind the best one here: the
# mean over the runs of the difference in `measure`, and its standard error.
behind_best <- function(runs, data, best, paper_best, measure) {
  of <- function(method) runs[runs$data == data & runs$method == method, ]
  both <- merge(of(paper_best), of(best), by = "set", suffixes = c("", "_best"))
  behind <- both[[measure]] - both[[paste0(measure, "_best")]]
  data.frame(behind = mean(behind), behind_se = standard_error(behind))
}

# Does the order of the six methods agree with the paper's? The share of pairs
# of methods in the same order (or tied in either), and the best of each.
patterns <- function(table, paper, measure, runs) {
  lines <- lapply(paper$data, function(name) {
    here <- table[table$data == name & table$method %in% papers_methods, ]
    if (length(here) == 0 || nrow(here) < 2) {
      return(NULL)
    }
    ours <- here[[measure]]
    theirs <- unlist(paper[paper$data == name, here$method])
    pairs <- utils::combn(length(ours), 2)
    step <- function(v) sign(v[pairs[1, ]] - v[pairs[2, ]])
    best <- here$method[which.min(ours)]
    paper_best <- here$method[which.min(theirs)]
    data.frame(
      data = name, best = best, paper_best = paper_best, pairs = ncol(pairs),
      same_order = mean(step(ours) * step(theirs) >= 0),
      behind_best(runs, name, best, paper_best, measure)
    )
  })
  do.call(rbind, lines)
}

# ---- everything -------------------------------------------------------------

known_options <- c(
  "cache", "workers", "repeats", "real-repeats", "data", "methods", "chains",
  "warmup", "iter", "n_temps", "thin", "output"
)
flags <- c("quick", "cached")

plan_for <- function(options, fail) {
  quick <- "quick" %in% names(options)
  number <- function(name, default) number_option(options, name, default)
  several <- function(name, known) several_option(options, name, known, fail)
  short <- if (quick) c(chains = 2, warmup = 200, iter = 200) else numeric()
  sampler <- c("chains", "warmup", "iter", "n_temps", "thin")
  control <- lapply(stats::setNames(nm = sampler), function(name) {
    number(name, if (name %in% names(short)) short[[name]])
  })
  list(
    quick = quick, repeats = number("repeats", if (quick) 2 else 20),
    real_repeats = number("real-repeats", if (quick) 1 else 20),
    cached = "cached" %in% names(options),
    workers = number("workers", 1),
    control = Filter(Negate(is.null), control),
    data = several("data", c(names(bark_sets), names(figure_sets))),
    methods = several("methods", names(all_methods(list()))),
    named = !is.null(options$methods),
    cache = if (is.null(options$cache)) tempfile("bark") else options$cache
  )
}

run_sets <- function(plan, scripts) {
  names <- intersect(names(bark_sets), plan$data)
  results <- lapply(names, function(name) {
    real <- !is.null(bark_sets[[name]]$read)
    repeats <- if (real) plan$real_repeats else plan$repeats
    cells <- cells_for(name, repeats, plan$methods, plan$named)
    run_cells(cells, plan, scripts)
  })
  cells <- do.call(rbind, results)
  if (is.null(cells)) NULL else as_runs(cells)
}

run_figures <- function(plan, scripts) {
  names <- intersect(names(figure_sets), plan$data)
  results <- lapply(names, function(name) {
    cells <- data.frame(
      data = name, set = 1, fold = 1,
      method = intersect(bark_types, plan$methods)
    )
    run_cells(cells, plan, scripts)
  })
  do.call(rbind, results)
}

about_run <- function(plan) {
  packages <- c(
    "kernelbayes", "bark", "dbarts", "kernlab", "ranger", "MASS", "mclust",
    "mfp", "mlbench", "posterior"
  )
  list(
    date = format(Sys.Date()), quick = plan$quick, R = R.version.string,
    platform = R.version$platform, versions = package_versions(packages),
    seeds = "simulated: r and 1000 + r; real: set.seed(r); fits: 100 r + fold",
    control = unclass(do.call(mcmc_control, plan$control))
  )
}

run_all <- function(plan, scripts) {
  dir.create(plan$cache, showWarnings = FALSE, recursive = TRUE)
  message("Data sets (finished fits are in ", plan$cache, ")")
  runs <- run_sets(plan, scripts)
  figures <- run_figures(plan, scripts)
  results <- list(
    about = about_run(plan), labels = labels, published = published,
    figures = figures, figure_sets = figure_sets
  )
  if (length(runs) > 0) results <- c(results, run_tables(add_ratio(runs)))
  results
}

run_tables <- function(runs) {
  table1 <- result_table(runs, published$table1$data)
  table2 <- result_table(runs, published$table2$data)
  list(
    table1 = table1, table2 = table2, versus = all_versus(runs),
    patterns = rbind(
      patterns(table1, published$table1, "ratio", runs),
      patterns(table2, published$table2, "error", runs)
    ),
    runs = runs[c("data", "set", "method", "error")]
  )
}

show_results <- function(results) {
  for (name in c("table1", "table2", "versus", "patterns", "figures")) {
    if (!is.null(results[[name]])) show_table(name, results[[name]])
  }
}

script_files <- function(root) {
  file.path(root, "tools", c(
    "peers-tuned.R", file.path("reproduce", c(
      "tables.R", "cells.R", "bark-data.R", "bark-methods.R", "bark-cells.R",
      "bark.R"
    ))
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
  deps$install_needs(root, "reproduce_bark")
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
    file <- file.path(root, "vignettes", "precomputed", "bark.rds")
  }
  saveRDS(results, file, version = 2, compress = "xz")
  message(
    "Wrote ", file, " (", round(file.size(file) / 1024), " kB) after ",
    format(round(Sys.time() - started, 1))
  )
}

if (sys.nframe() == 0) main()
