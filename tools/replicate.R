# The numbers in README.md and in the article `league`, from one command:
#   Rscript tools/replicate.R            all steps, one after the other: days
#   --list             the steps, their scripts and times; runs nothing
#   --only=a,b         some of them
#   --quick            small versions, to see that everything runs
#   --folder=replicate logs, tables (<step>.md) and finished fits, so that a
#                      stopped run continues; a finished step is not run again
#   --sbi=folder       the reference posteriors of the step `sbi`, see
#                      tools/reproduce/sbi.R; without it that step is left out
#   --uci=folder       the whole sets of the step `rows`, see
#                      tools/bench/rows.R; without it kin40k and protein are
#                      left out there
#
# Steps and the rows of README.md's table of peers:
#   league         bark() and srvm(), sets of packages and of UCI
#   classes        bark(), two classes
#   labels_league  kgs(); 20 splits, the table has 1 to 20
#   mixture        its row; 500 rows are made, too
#   counts         its row: column "bark_nb minus it", row gam_nb
#   survival, noise   their rows
#   groups         its row; 3 splits, the table has 1 of the two large sets
#   rows           tens of thousands of rows; kin40k and protein need --uci
#   sbi            kbr(); only with --sbi
# readme and labels make the numbers above that table; readme writes them into
# README.md, tools/figures and the article `methods` of this clone. bark, bands,
# families, srvm and kbr make numbers for articles only.
#
# No step makes these; call the scripts:
#   bench/kgs-league.R --sets=choices --only=Ionosphere,Vehicle
#                  the second table of wrong labels in the article
#   bench/rows.R --long        effective draws
#   bench/classes.R --mixing   effective draws of classes
#   bench/counts.R --data=bikes,doctor,quine --methods=bark_nb,bart_star
#                  --repeats=5   trees for counts, with countSTAR
#   bench/families.R --rows=800   times with more rows
#   bench/mixture.R --methods=bark --repeats=20   cover over 20 data sets
# The results of mixture, labels, kbr and sbi are stored in
# vignettes/precomputed. The tables that other steps printed here are in
# data-raw/bench/results, to compare yours with; README.md and the article are
# typed from them.
#
# Needs R, a C++17 compiler and a package repository: what the chosen steps need
# is installed into a library of this project's own (tools/deps.R). Data are in
# packages and in data-raw/bench, with their licences and donors. Times are
# orders of magnitude, of one core.

script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1])
script <- normalizePath(gsub("~+~", " ", script, fixed = TRUE))
tools <- dirname(script)
source(file.path(tools, "arguments.R"))
source(file.path(tools, "deps.R"))

refuse_unknown(c("list", "quick"), c("only", "folder", "sbi", "uci"))

# `needs`: purpose in tools/deps.R; `results`: option for the folder or file in
# which the script keeps finished fits; `output`: it would replace results of
# the repository; `quick`: its arguments for a small version
step <- function(shows, script, time, needs, arguments = NULL, results = NULL,
                 output = FALSE, quick = "--quick") {
  list(
    shows = shows, script = script, time = time, needs = needs,
    arguments = arguments, results = results, output = output, quick = quick
  )
}

steps <- list(
  readme = step("first example, pictures, tables of methods", "readme.R",
    "minutes", "readme",
    quick = NULL
  ),
  labels = step("wrong labels of iris", "reproduce/kgs_labels.R",
    "minutes", "reproduce",
    output = TRUE
  ),
  bark = step("microseconds per iteration", "bench/bark.R", "an hour",
    "bench_bark", "--part=iteration",
    quick = c("--part=iteration", "--quick")
  ),
  league = step("default calls on 20 sets", "bench/league.R", "hours",
    "league", c(
      "--sets=packages,uci", "--methods=bark,srvm,dbarts,ranger,gausspr,gam,km"
    ),
    results = "--results"
  ),
  classes = step("two classes", "bench/classes.R", "hours", "league",
    results = "--results", quick = c("--data=crabs", "--repeats=1")
  ),
  labels_league = step("sets with wrong labels", "bench/kgs-league.R", "days",
    "league", "--methods=ksvm,gausspr,ranger,dbarts,kgs",
    results = "--results"
  ),
  bands = step("bands of smooth functions", "bench/bands.R", "hours", "league",
    results = "--results",
    quick = c("--functions=borehole", "--rows=100", "--repeats=1")
  ),
  mixture = step("mixtures of exposures", "bench/mixture.R", "a day",
    "bench_mixture",
    results = "--results",
    quick = c("--kinds=plain", "--rows=100", "--repeats=1", "--methods=bark")
  ),
  counts = step("counts", "bench/counts.R", "an hour",
    "bench_counts", "--data=bikes,doctor,quine",
    results = "--results", quick = c("--data=quine", "--repeats=1")
  ),
  families = step("times of families", "bench/families.R", "an hour",
    "bench_survival",
    results = "--results", quick = c("--families=probit", "--repeats=1")
  ),
  survival = step("censored times", "bench/survival.R", "hours",
    "bench_survival", "--data=veteran,pbc,lung",
    results = "--results", quick = c("--data=veteran", "--repeats=1")
  ),
  noise = step("noise that varies", "bench/noise.R", "hours", "bench_noise",
    results = "--results", quick = c("--data=mcycle", "--repeats=1")
  ),
  groups = step("groups", "bench/groups.R", "hours", "bench_groups",
    results = "--results"
  ),
  rows = step("tens of thousands of rows", "bench/rows.R", "hours",
    "bench_rows",
    results = "--results", quick = c("--sets=friedman", "--rows=2000")
  ),
  srvm = step("srvm() beside kernlab", "bench/srvm.R", "minutes", "reproduce",
    "--readme"
  ),
  kbr = step("kbr() with known posteriors", "reproduce/kbr.R", "half an hour",
    "reproduce_kbr",
    results = "--cache", output = TRUE
  ),
  sbi = step("kbr() on a public benchmark", "reproduce/sbi.R", "a day",
    "reproduce_sbi",
    results = "--results", output = TRUE
  )
)

chosen <- option("only")
chosen <- if (is.null(chosen)) names(steps) else strsplit(chosen, ",")[[1]]
unknown <- setdiff(chosen, names(steps))
if (length(unknown) > 0) {
  stop("--only has unknown steps: ", toString(unknown), ". Steps are ",
    toString(names(steps)), ".",
    call. = FALSE
  )
}
sbi <- option("sbi")
if (is.null(sbi) && !flag("list") && "sbi" %in% chosen) {
  message("The step `sbi` is left out: it needs --sbi=folder.")
  chosen <- setdiff(chosen, "sbi")
}

if (flag("list")) {
  for (name in chosen) {
    s <- steps[[name]]
    cat(sprintf("%-14s %-12s %-44s %s\n", name, s$time, s$shows, s$script))
  }
  quit("no")
}

folder <- option("folder")
if (is.null(folder)) folder <- "replicate"
dir.create(folder, showWarnings = FALSE, recursive = TRUE)
folder <- normalizePath(folder)

use_own_library("kernelbayes")
install_needs(dirname(tools), unique(vapply(steps[chosen], `[[`, "", "needs")))
install_checkout(dirname(tools))
Sys.setenv(R_LIBS = paste(.libPaths(), collapse = .Platform$path.sep))

run_step <- function(name) {
  s <- steps[[name]]
  kind <- if (flag("quick")) paste0(name, "-quick") else name
  done <- file.path(folder, paste0(kind, ".done"))
  if (file.exists(done)) {
    message(name, ": finished before, see ", kind, ".log")
    return(TRUE)
  }
  arguments <- if (flag("quick")) s$quick else s$arguments
  if (!is.null(s$results) && !"--quick" %in% arguments) {
    arguments <- c(arguments, paste0(s$results, "=", file.path(folder, kind)))
  }
  if (s$output) {
    file <- file.path(folder, paste0(kind, ".rds"))
    arguments <- c(arguments, paste0("--output=", file))
  }
  data <- switch(name, sbi = sbi, rows = option("uci"))
  if (!is.null(data)) arguments <- c(arguments, paste0("--data=", data))
  log <- file.path(folder, paste0(kind, ".log"))
  message(name, ": ", s$shows, " (", s$time, ") -> ", log)
  started <- proc.time()[["elapsed"]]
  # Scripts without an option for results keep them where they run.
  old <- setwd(folder)
  on.exit(setwd(old))
  status <- system2(
    file.path(R.home("bin"), "Rscript"),
    shQuote(c(file.path(tools, s$script), arguments)),
    stdout = log, stderr = log
  )
  took <- round(proc.time()[["elapsed"]] - started)
  if (status == 0) {
    lines <- readLines(log, encoding = "UTF-8")
    tables <- file.path(folder, paste0(kind, ".md"))
    writeLines(grep("^([|]|##)", lines, value = TRUE), tables, useBytes = TRUE)
    writeLines(paste(took, "seconds"), done)
  } else {
    message(name, " failed after ", took, " seconds; see ", log)
  }
  status == 0
}

fine <- vapply(chosen, run_step, NA)
if (!all(fine)) {
  stop("Failed: ", toString(chosen[!fine]), ". Run the same command again ",
    "to continue.",
    call. = FALSE
  )
}
