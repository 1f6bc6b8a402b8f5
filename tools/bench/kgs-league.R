# kgs() and other packages where some of the labels are wrong:
#
#   Rscript tools/bench/kgs-league.R       the group report
#   Rscript tools/bench/kgs-league.R --quick   split 1, at most 60 training rows
#   --sets=a,b         of report, choices and tails
#   --only=a,b         sets of these groups
#   --wrong=0,10,20    per cent of the labels that are wrong
#   --methods=a,b      of kgs-league-methods.R, or of the file of variants
#   --splits=20        the first ones of 20
#   --results=kgs-league  folder for finished fits, so that a stopped run can
#                      continue, and a further method costs only itself. Delete
#                      the files of a method when its code changes. --quick
#                      keeps none
#   --finished         only prints the tables, of the finished fits
#   --variants=file.R  further methods: an R file that defines `variants`, a
#                      named list of functions as in kgs-league-methods.R
#
# Data, in kgs-league-data.R. Settings of kgs() are chosen on the groups choices
# and tails only: Ionosphere, Vehicle, four simulated sets, and four with
# predictors that have long tails. The group report is for reports: Sonar, Pima,
# BreastCancer, Glass, crabs, two_class_dat, spam, Satellite, LetterRecognition.
# The list of report was committed before any setting was chosen, and no choice
# is made on its sets.
#
# Needs Rscript tools/deps.R league. Peers that are not installed are skipped.
# All methods have the same splits and the same wrong labels. Tables compare
# with ksvm, gausspr, ranger and dbarts, whose finished fits are used if they
# are not among --methods; dbarts of several classes has a fit for each of them.
#
# Prints markdown, for each share of wrong labels. Numbers in parentheses are
# standard errors: over splits for a set, over sets for the means of all sets,
# which are those that a method has: compare methods with the same number.
# Recorded labels are test labels of which the same share is wrong as of the
# training labels. Peers have one kind of probability, which stands for both
# that of the recorded label and that of the true class.
#
# log loss: minus the mean log probability of test rows, at least 1e-6.
# minus the best peer: the difference on the same splits to the peer whose mean
#    over them is least; for a peer, the best of the others. "within .01" and
#    "first" count the sets where it is at most .01, and at most 0.
# error: share of wrong true classes.
# calibration error: ten bins of equal width of the probability of the most
#    probable class; in each the distance of its mean to the share of rows that
#    have this class; the mean over rows.
# wrong labels found: area under the curve of precision by recall (the average
#    precision) if training rows are ordered by the probability that their label
#    is wrong.
# CPU: seconds of the processor for the call and its predictions, children
#    included; processes that were not started by the call are not counted.
# warnings: share of fits with one; the first is in the saved result.

library(kernelbayes)

script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1])
tools <- dirname(dirname(normalizePath(gsub("~+~", " ", script, fixed = TRUE))))
source(file.path(tools, "bench", "cells.R"))
source(file.path(tools, "reproduce", "bark-data.R")) # from_package()
source(file.path(tools, "bench", "league-data.R"))
source(file.path(tools, "bench", "kgs-league-data.R"))
source(file.path(tools, "bench", "league-methods.R"))
source(file.path(tools, "bench", "kgs-league-methods.R"))
source(file.path(tools, "bench", "league-tables.R"))

refuse_unknown(c("quick", "finished"), c(
  "sets", "only", "wrong", "methods", "splits", "results", "variants"
))
quick <- flag("quick")

# ---- scores -----------------------------------------------------------------

log_loss <- function(p, y) {
  own <- p[cbind(seq_along(y), as.integer(y))]
  -mean(log(pmax(own, 1e-6)))
}

calibration_error <- function(p, y) {
  guess <- max.col(p, "first")
  certain <- p[cbind(seq_along(y), guess)]
  gap <- (guess == as.integer(y)) - certain
  bin <- pmin(floor(10 * certain), 9)
  sum(abs(rowsum(gap, bin))) / length(y)
}

# Rows of equal score count together.
average_precision <- function(score, wrong) {
  by_score <- rowsum(cbind(wrong, 1), -score)
  found <- cumsum(by_score[, 1])
  seen <- cumsum(by_score[, 2])
  sum(by_score[, 1] * found / seen) / sum(wrong)
}

scores_of <- function(answer, split) {
  prob <- answer$prob
  true <- if (is.null(answer$true_prob)) prob else answer$true_prob
  if (anyNA(prob) || anyNA(true)) stop("some predictions are missing.")
  wrong <- split$y != split$clean
  found <- any(wrong) && !is.null(answer$wrong)
  data.frame(
    recorded = log_loss(prob, split$y_new),
    true = log_loss(true, split$clean_new),
    error = mean(max.col(true, "first") != as.integer(split$clean_new)),
    calibration = calibration_error(prob, split$y_new),
    true_calibration = calibration_error(true, split$clean_new),
    found = if (found) average_precision(quiet(answer$wrong()), wrong) else NA
  )
}

# ---- one method on one split ------------------------------------------------

# cell$set is the number of the split, as in cells.R.
fit_cell <- function(cell, control) {
  split <- kgs_league_split(cell$name, cell$set, cell$share, control$most)
  run <- methods[[cell$method]]$run
  started <- cpu_seconds()
  silent <- utils::capture.output({
    answer <- with_first_warning(run(split$x, split$y, split$new, cell$set))
  })
  cpu <- cpu_seconds() - started
  message(sprintf(
    "%s, split %d, %s: %.1f s", cell$data, cell$set, cell$method, cpu
  ))
  cbind(scores_of(answer$value, split), cpu = cpu, warning = answer$warning)
}

# ---- tables -----------------------------------------------------------------

# `values`: the columns of other methods on the rows of one.
minus_best <- function(own, values) {
  both <- rowSums(is.na(values)) == 0
  if (ncol(values) == 0 || !any(both)) {
    return(rep(NA, length(own)))
  }
  best <- which.min(colMeans(values[both, , drop = FALSE]))
  ifelse(both, own - values[, best], NA)
}

minus_best_peer <- function(rows, column) {
  rows$value <- NA_real_
  kinds <- split(seq_len(nrow(rows)), rows[c("name", "method")], drop = TRUE)
  for (at in kinds) {
    own <- rows[at, ]
    others <- setdiff(names(kgs_peers), own$method)
    here <- rows[rows$name == own$name[[1]] & rows$method %in% others, ]
    values <- lapply(split(here, here$method), function(peer) {
      peer[[column]][match(own$set, peer$set)]
    })
    values <- matrix(as.numeric(unlist(values)), nrow(own))
    rows$value[at] <- minus_best(own[[column]], values)
  }
  rows
}

# Numbers of sets, by method.
count_sets <- function(rows, most) {
  rows <- rows[!is.na(rows$value), ]
  means <- stats::aggregate(value ~ name + method, rows, mean)
  tapply(means$value <= most, means$method, sum)
}

print_summary <- function(rows, gaps) {
  columns <- c(
    "recorded", "true", "error", "calibration", "true_calibration", "found",
    "cpu"
  )
  means <- stats::aggregate(rows[columns], rows[c("name", "method")], mean)
  table <- stats::aggregate(means[columns], means["method"], mean)
  table <- table[match(unique(rows$method), table$method), ]
  counts <- lapply(gaps, function(gap) {
    counts <- cbind(count_sets(gap, 0.01), count_sets(gap, 0))
    counts[match(table$method, rownames(counts)), , drop = FALSE]
  })
  cat("\n### Means over sets, and numbers of sets\n\n")
  markdown(data.frame(
    method = table$method, "log loss, recorded" = table$recorded,
    "within .01" = counts$recorded[, 1], first = counts$recorded[, 2],
    "log loss, true" = table$true, "within .01" = counts$true[, 1],
    first = counts$true[, 2], error = table$error,
    "calibration, recorded" = table$calibration,
    "calibration, true" = table$true_calibration,
    "wrong found" = table$found, CPU = table$cpu,
    sets = as.vector(table(means$method)[table$method]),
    fits = as.vector(table(rows$method)[table$method]), check.names = FALSE
  ))
}

report_share <- function(group, share, rows) {
  cat(sprintf("\n## %s, %d%% of the labels wrong\n", group, 100 * share))
  losses <- c(
    recorded = "Log loss of recorded labels", true = "Log loss of true classes"
  )
  gaps <- list()
  for (kind in names(losses)) {
    title <- losses[[kind]]
    gaps[[kind]] <- minus_best_peer(rows, kind)
    print_by_set(title, plain(rows, kind), 3)
    print_by_set(paste0(title, ", minus the best peer's"), gaps[[kind]], 3)
  }
  print_by_set("Error", plain(rows, "error"), 3)
  print_by_set(
    "Calibration error, recorded labels", plain(rows, "calibration"), 3
  )
  print_by_set(
    "Calibration error, true classes", plain(rows, "true_calibration"), 3
  )
  print_by_set("Wrong labels found", plain(rows, "found"), 3)
  print_by_set("CPU seconds", plain(rows, "cpu"), 1)
  rows$warned <- as.numeric(!is.na(rows$warning))
  print_by_set("Share of fits with a warning", plain(rows, "warned"), 2)
  print_summary(rows, gaps)
}

# ---- all of them ------------------------------------------------------------

cells_of_group <- function(names, methods, splits, shares) {
  cells <- expand.grid(
    method = methods, share = shares, set = seq_len(splits), fold = 1,
    name = names, stringsAsFactors = FALSE
  )
  cells$data <- paste(cells$name, 100 * cells$share, sep = "-")
  cells
}

# The methods `fresh` are run, of others the finished fits are taken.
rows_of <- function(cells, fresh, plan) {
  wanted <- cells$method %in% fresh
  cells <- rbind(cells[wanted, ], finished_cells(cells[!wanted, ], plan))
  if (nrow(cells) == 0) {
    return(NULL)
  }
  rows <- run_cells_here(cells, plan$cache, plan$control)
  rows[order(match(rows$method, names(methods))), ]
}

# ---- the run ----------------------------------------------------------------

methods <- with_variants(kgs_league_methods, option("variants"))
chosen <- several("methods", names(methods))
methods <- installed_methods(methods[union(names(kgs_peers), chosen)])
groups <- several("sets", "report", c("choices", "tails"))
sets <- several("only", unlist(kgs_league_groups[groups], use.names = FALSE))
shares <- as.numeric(several("wrong", as.character(100 * wrong_shares))) / 100
splits <- if (quick) 1 else as.integer(option("splits", most_kgs_splits))
if (is.na(splits) || splits < 1 || splits > most_kgs_splits) {
  refuse_arguments(
    paste0("--splits is a number from 1 to ", most_kgs_splits, ".")
  )
}
if (quick && (!is.null(option("results")) || flag("finished"))) {
  refuse_arguments("--quick keeps no results.")
}
results <- if (quick) {
  tempfile("kgs-league")
} else {
  option("results", "kgs-league")
}
plan <- list(control = list(most = if (quick) 60 else Inf), cache = results)
fresh <- if (flag("finished")) character() else chosen

for (group in groups) {
  names <- intersect(kgs_league_groups[[group]], sets)
  if (length(names) == 0) next
  rows <- rows_of(
    cells_of_group(names, names(methods), splits, shares), fresh, plan
  )
  for (share in unique(rows$share)) {
    report_share(group, share, cbind(group, rows[rows$share == share, ]))
  }
}
