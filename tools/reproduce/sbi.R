# kbr() on the tasks of the benchmark of simulation-based inference of Lueckmann
# et al. (2021), beside ABC methods run here and scores published with the
# benchmark:
#
#   Rscript tools/reproduce/sbi.R --data=folder    everything: hours
#   Rscript tools/reproduce/sbi.R --data=folder --quick    a trial run
#
#   --data=folder     the benchmark's files: published.csv with the columns
#                     task, algorithm, num_simulations, num_observation, C2ST and MMD;
#                     a folder <task> per task, which has
#                     <o>-observation.csv and
#                     <o>-reference_posterior_samples.csv.bz2, o = 1 to 5
#   --results=file    csv of finished cells, one line each: a stopped run
#                     continues, and failed cells are tried again only after
#                     their lines are deleted. Default: a temporary file
#   --cached          no new runs: tables of the finished ones
#   --installed       use the packages that are installed; install nothing
#   --tasks=a,b  --methods=a,b  --budgets=a,b  --observations=a,b    a part.
#                     slcp_distractors is run only if it is named; its reference
#                     is that of slcp, its observation is drawn by its simulator
#                     around that of slcp
#   --output=file     instead of vignettes/precomputed/sbi.rds
#
# Prints the tables and writes the file from which vignettes/articles/sbi.Rmd is
# built.
#
# Protocol. The report has all cells of report_cells(), which were fixed before
# the first run. Methods without rounds share one set of pairs per task and
# budget, of seed 1, for all observations; the benchmark draws new pairs for
# each run. With rounds, observation o has pairs of seed o. Draws have seed o.
# Scores compare 4000 draws with 4000 of the reference, 2000 in tasks of 10
# parameters. Seconds are processor time, and include simulations, the fit and
# draws for one observation. The published scores are for the same
# observations, with 10 000 draws, and have other pairs.

# ---- cells ------------------------------------------------------------------

sbi_names <- c(
  "gaussian_linear", "gaussian_linear_uniform", "gaussian_mixture",
  "two_moons", "slcp", "bernoulli_glm", "sir", "lotka_volterra"
)

# Those of kbr() at the small budget first; tasks with few parameters first,
# because their scores take least time.
quick_first <- c(
  "two_moons", "gaussian_mixture", "sir", "lotka_volterra", "slcp",
  "slcp_distractors", "gaussian_linear", "gaussian_linear_uniform",
  "bernoulli_glm"
)

report_cells <- function(tasks = sbi_names, methods = names(sbi_methods),
                         budgets = c(1000, 10000), observations = 1:5) {
  tasks <- intersect(quick_first, tasks)
  ours <- intersect(c("kbr", "kbr_rounds"), methods)
  groups <- c(list(ours), as.list(setdiff(methods, ours)))
  cells <- expand.grid(
    observation = observations, method = seq_along(methods), task = tasks,
    group = seq_along(groups), budget = budgets, stringsAsFactors = FALSE
  )
  cells$method <- methods[cells$method]
  inside <- mapply(function(m, g) m %in% groups[[g]], cells$method, cells$group)
  cells[inside, c("task", "budget", "method", "observation")]
}

cell_key <- function(cells) {
  paste(cells$task, cells$budget, cells$method, cells$observation)
}

# ---- data -------------------------------------------------------------------

read_reference <- function(data, task, o) {
  if (task == "slcp_distractors") task <- "slcp"
  file <- paste0(o, "-reference_posterior_samples.csv.bz2")
  as.matrix(utils::read.csv(file.path(data, task, file)))
}

read_observation <- function(data, task, o) {
  names <- colnames(sim_sbi(task, 1, seed = 1)$y)
  if (task == "slcp_distractors") {
    inside <- c(23, 34, 24, 68, 43, 22, 17, 91)
    y <- sim_sbi(task, theta = rep(1, 5), seed = o)$y
    y[, inside] <- read_observation(data, "slcp", o)
    return(y)
  }
  y <- utils::read.csv(file.path(data, task, paste0(o, "-observation.csv")))
  matrix(as.double(y[1, ]), 1, dimnames = list(NULL, names))
}

# ---- one cell ---------------------------------------------------------------

run_sbi_cell <- function(cell, plan) {
  reference <- read_reference(plan$data, cell$task, cell$observation)
  draws <- min(plan$draws, if (ncol(reference) >= 10) 2000 else 4000)
  set.seed(cell$observation)
  reference <- reference[sample.int(nrow(reference), draws), , drop = FALSE]
  job <- c(as.list(cell), list(
    y = read_observation(plan$data, cell$task, cell$observation),
    draws = draws, reference = reference
  ))
  shared <- cell$method != "kbr_rounds"
  if (shared) {
    pairs <- pairs_of(job)
    job$pairs <- pairs$value
  }
  set.seed(cell$observation)
  noted <- ""
  seconds <- cpu_seconds(found <- withCallingHandlers(
    sbi_methods[[cell$method]](job),
    warning = function(w) {
      if (noted == "") noted <<- paste("warning:", conditionMessage(w))
      invokeRestart("muffleWarning")
    }
  ))
  seconds <- seconds + found$before + if (shared) pairs$seconds else 0
  fine <- rowSums(!is.finite(found$draws)) == 0
  if (!all(fine)) noted <- paste(sum(!fine), "draws are not finite")
  sample <- found$draws[fine, , drop = FALSE]
  data.frame(
    cell, c2st = c2st(reference, sample), mmd = mmd2(reference, sample),
    cpu = seconds, used = found$used, note = noted
  )
}

failed_cell <- function(cell, message) {
  data.frame(
    cell, c2st = NA, mmd = NA, cpu = NA, used = NA,
    note = paste("failed:", message)
  )
}

append_line <- function(line, file) {
  line$note <- substr(gsub("[\r\n\",]+", " ", line$note), 1, 150)
  new <- !file.exists(file)
  utils::write.table(line, file,
    append = !new, sep = ",", row.names = FALSE, col.names = new
  )
}

read_results <- function(file) {
  if (!file.exists(file)) {
    return(NULL)
  }
  runs <- utils::read.csv(file, na.strings = "NA")
  runs$note <- ifelse(is.na(runs$note), "", as.character(runs$note))
  runs
}

run_sbi_cells <- function(cells, plan) {
  done <- read_results(plan$results)
  left <- cells[!cell_key(cells) %in% cell_key(done), ]
  message(nrow(left), " of ", nrow(cells), " cells are left")
  for (i in seq_len(nrow(left))) {
    cell <- left[i, ]
    line <- tryCatch(run_sbi_cell(cell, plan), error = function(e) {
      failed_cell(cell, conditionMessage(e))
    })
    append_line(line, plan$results)
    message(
      format(Sys.time(), "%H:%M:%S "), cell_key(cell), ": c2st ",
      format(line$c2st, digits = 3), ", cpu ", format(line$cpu, digits = 3),
      if (nzchar(line$note)) paste0("; ", line$note)
    )
  }
}

# ---- tables -----------------------------------------------------------------

# Failures are counted, not averaged.
score_table <- function(runs) {
  fine <- runs[!is.na(runs$c2st), ]
  if (nrow(fine) == 0) {
    return(NULL)
  }
  mean_table(fine, c("task", "budget", "method"), c("c2st", "mmd", "cpu"))
}

published_table <- function(data, observations) {
  found <- utils::read.csv(file.path(data, "published.csv"))
  wanted <- found$task %in% c(sbi_names, "slcp_distractors") &
    found$num_simulations %in% c(1000, 10000) &
    found$num_observation %in% observations
  found <- found[wanted, ]
  names(found) <- c(
    "task", "method", "budget", "observation", "c2st", "mmd"
  )
  mean_table(found, c("task", "budget", "method"), c("c2st", "mmd"))
}

# One line per task and budget, one column per method: mean C2ST
wide_table <- function(table, methods) {
  key <- paste(table$task, table$budget)
  lines <- table[!duplicated(key), c("task", "budget")]
  at <- paste(lines$task, lines$budget)
  for (method in intersect(methods, table$method)) {
    rows <- table[table$method == method, ]
    lines[[method]] <- rows$c2st[match(at, paste(rows$task, rows$budget))]
  }
  lines[order(lines$budget, match(lines$task, sbi_names)), ]
}

about_run <- function(plan, cells, runs) {
  list(
    date = format(Sys.Date()), quick = plan$quick, R = R.version.string,
    cells = nrow(cells), finished = sum(cell_key(cells) %in% cell_key(runs)),
    versions = package_versions(c("kernelbayes", "abc", "ranger"))
  )
}

# ---- everything -------------------------------------------------------------

known_options <- c(
  "data", "results", "tasks", "methods", "budgets", "observations", "output"
)
flags <- c("quick", "cached", "installed")

plan_for <- function(options, fail) {
  if (is.null(options$data)) fail("--data= names the folder of the benchmark.")
  quick <- "quick" %in% names(options)
  if (quick && is.null(options$tasks)) options$tasks <- "two_moons"
  if (quick && is.null(options$observations)) options$observations <- "1"
  if (quick && is.null(options$budgets)) options$budgets <- "1000"
  several <- function(name, known, default = known) {
    if (is.null(options[[name]])) {
      return(default)
    }
    several_option(options, name, known, fail)
  }
  results <- options$results
  if (is.null(results)) results <- tempfile("sbi", fileext = ".csv")
  list(
    data = options$data, quick = quick, cached = "cached" %in% names(options),
    tasks = several("tasks", c(sbi_names, "slcp_distractors"), sbi_names),
    methods = several("methods", names(sbi_methods)),
    budgets = as.numeric(several("budgets", c("1000", "10000"))),
    observations = as.integer(several("observations", as.character(1:5))),
    draws = if (quick) 500 else Inf,
    results = results
  )
}

run_all <- function(plan) {
  cells <- report_cells(
    plan$tasks, plan$methods, plan$budgets, plan$observations
  )
  if (!plan$cached) run_sbi_cells(cells, plan)
  runs <- read_results(plan$results)
  runs <- runs[cell_key(runs) %in% cell_key(cells), ]
  list(
    about = about_run(plan, cells, runs), scores = score_table(runs),
    published = published_table(plan$data, plan$observations),
    notes = runs[nzchar(runs$note), ]
  )
}

show_results <- function(results) {
  show_table("Scores", results$scores)
  show_table(
    "Mean C2ST", wide_table(results$scores, unique(results$scores$method))
  )
  known <- results$published$task %in% results$scores$task
  show_table("Mean C2ST, published", wide_table(
    results$published[known, ],
    c("REJ-ABC", "RF-ABC", "SMC-ABC", "NLE", "NPE", "SNLE", "SNPE")
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
  if (!"installed" %in% names(options)) {
    deps$install_needs(root, "reproduce_sbi")
    .libPaths(c(deps$install_checkout(root), .libPaths()))
  }
  library(kernelbayes)
  # Loaded now, so that loading is not timed
  for (peer in c("abc", "ranger")) loadNamespace(peer)
  for (file in c("tables.R", "sbi-methods.R", "sbi-scores.R")) {
    source(file.path(dirname(script), file))
  }
  Rcpp::sourceCpp(file.path(dirname(script), "sbi-c2st.cpp"))
  results <- run_all(plan <- plan_for(options, deps$fail))
  show_results(results)
  file <- options$output
  if (is.null(file)) {
    file <- file.path(root, "vignettes", "precomputed", "sbi.rds")
  }
  saveRDS(results, file, version = 2, compress = "xz")
  message("Wrote ", file, " (", round(file.size(file) / 1024), " kB)")
}

if (sys.nframe() == 0) main()
