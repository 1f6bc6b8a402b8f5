# Default calls of bark() and of other packages on real data:
#
#   Rscript tools/bench/league.R            the groups uci, packages, classes
#   Rscript tools/bench/league.R --quick    split 1, at most 60 training rows
#   --sets=a,b         groups of league-data.R; `tuning` is not for reports
#   --only=a,b         sets of these groups
#   --methods=a,b      of league-methods.R, or of the file of variants
#   --splits=5         the first ones of five
#   --results=league   folder for finished fits, so that a stopped run can
#                      continue, and a further method costs only itself. Delete
#                      the files of a method when its code changes. --quick
#                      keeps none
#   --variants=file.R  further methods: an R file that defines `variants`, a
#                      named list of functions as in league-methods.R
#
# Prints markdown. Peers are skipped if they are not installed
# (Rscript tools/deps.R league). All methods have the same splits. Tables
# compare with dbarts and km, whose finished fits are used if they are not among
# --methods.
#
# Numbers in parentheses are standard errors: over splits for a set, over sets
# for the means of all sets. A split in which a method fails is left out of its
# column.
#
# RMSE: root mean squared error on the test rows, by the standard deviation of
#    the training responses; mean log ratio of two of them.
# log density: of a test row, in nats, minus that of the other method; the mean
#    difference in a split is clipped to +-1, since a few rows can decide it.
# cover: share of test rows in 90% prediction intervals.
# error: share of wrong classes.
# CPU: seconds of the processor for the call and its predictions, children
#    included; processes that were not started by the call are not counted.
# warnings: share of fits with one; the first is in the saved result.

library(kernelbayes)

script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1])
script <- normalizePath(gsub("~+~", " ", script, fixed = TRUE))
tools <- dirname(dirname(script))
source(file.path(tools, "arguments.R"))
source(file.path(tools, "bench", "report.R"))
source(file.path(tools, "reproduce", "bark-data.R"))
source(file.path(tools, "reproduce", "cells.R"))
source(file.path(tools, "bench", "league-data.R"))
source(file.path(tools, "bench", "league-methods.R"))
source(file.path(tools, "bench", "league-tables.R"))

refuse_unknown(
  "quick", c("sets", "only", "methods", "splits", "results", "variants")
)
quick <- flag("quick")
uci_folder <- file.path(dirname(tools), "data-raw", "bench", "uci")

# ---- one method on one split ------------------------------------------------

cell_settings <- function(cell, control) control

# Probabilities are at least 1e-6.
score_classes <- function(answer, split) {
  y <- split$y_new
  p <- answer$prob[cbind(seq_along(y), as.integer(y))]
  data.frame(
    loss = mean(max.col(answer$prob, "first") != as.integer(y)),
    log_density = mean(log(pmax(p, 1e-6))), cover = NA_real_
  )
}

score_numbers <- function(answer, split) {
  or_missing <- function(v) if (is.null(v)) NA_real_ else mean(v)
  data.frame(
    loss = sqrt(mean((answer$mean - split$y_new)^2)) / stats::sd(split$y),
    log_density = or_missing(answer$log_density),
    cover = or_missing(answer$cover)
  )
}

# cell$set is the number of the split, as in cells.R.
fit_cell <- function(cell, control) {
  split <- league_split(
    cell$group, cell$name, cell$set, uci_folder, control$most
  )
  run <- methods[[cell$method]]$run
  started <- cpu_seconds()
  silent <- utils::capture.output({
    answer <- with_first_warning(
      run(split$x, split$y, split$new, split$y_new, cell$set)
    )
  })
  cpu <- cpu_seconds() - started
  score <- if (is.factor(split$y)) score_classes else score_numbers
  result <- score(answer$value, split)
  if (is.na(result$loss)) stop("some predictions are missing.")
  cbind(result, cpu = cpu, warning = answer$warning)
}

# ---- all of them ------------------------------------------------------------

cells_of <- function(group, names, methods, splits) {
  if (group == "classes") {
    methods <- Filter(function(method) method$classes, methods)
  }
  cells <- expand.grid(
    method = names(methods), set = seq_len(splits), fold = 1, name = names,
    stringsAsFactors = FALSE
  )
  data.frame(
    group = rep(group, nrow(cells)), cells,
    data = paste(rep(group, nrow(cells)), cells$name, sep = "-")
  )
}

run_group <- function(cells, plan) {
  rows <- lapply(split(cells, seq_len(nrow(cells))), function(cell) {
    row <- run_cell(cell, plan$control, plan$cache)
    if (is.character(row)) {
      message(row)
      return(NULL)
    }
    message(sprintf(
      "%s, split %d, %s: %.1f s", row$data, row$set, row$method, row$cpu
    ))
    row
  })
  do.call(rbind, rows)
}

# Finished fits of the methods to compare with, if they are not chosen.
finished_rows <- function(cells, plan) {
  cells <- finished_cells(cells, plan)
  rows <- lapply(seq_len(nrow(cells)), function(i) {
    run_cell(cells[i, ], plan$control, plan$cache)
  })
  do.call(rbind, rows)
}

# ---- the run ----------------------------------------------------------------

methods <- with_variants(league_methods, option("variants"))
chosen <- several("methods", names(methods))
compare_with <- c("dbarts", "km")
methods <- installed_methods(methods[union(chosen, compare_with)])
groups <- several("sets", report_groups, "tuning")
sets <- several("only", unique(unlist(league_groups[groups])))
splits <- if (quick) 1 else as.integer(option("splits", most_splits))
if (is.na(splits) || splits < 1 || splits > most_splits) {
  refuse_arguments(paste0("--splits is a number from 1 to ", most_splits, "."))
}
if (quick && !is.null(option("results"))) {
  refuse_arguments("--quick keeps no results.")
}
results <- if (quick) tempfile("league") else option("results", "league")
dir.create(results, showWarnings = FALSE, recursive = TRUE)
plan <- list(control = list(most = if (quick) 60 else Inf), cache = results)

for (group in groups) {
  names <- intersect(league_groups[[group]], sets)
  if (length(names) == 0) next
  to_run <- methods[intersect(chosen, names(methods))]
  others <- methods[setdiff(intersect(compare_with, names(methods)), chosen)]
  rows <- rbind(
    run_group(cells_of(group, names, to_run, splits), plan),
    finished_rows(cells_of(group, names, others, splits), plan)
  )
  if (!is.null(rows)) report_group(group, rows)
}
