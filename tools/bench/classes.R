# Classes: bark() beside dbarts::bart(), default calls.
#
#   Rscript tools/bench/classes.R          20 splits of each data set
#   Rscript tools/bench/classes.R --mixing effective draws per second instead
#   --data=Sonar,Ionosphere,Pima,two_class_dat,crabs,Default,attrition,spam;
#             with --mixing Sonar,iris,crabs
#   --methods=bark,dbarts; bark_probit, with the family binomial("probit"), of
#             several classes "multinomial", only by name
#   --repeats=20        splits; with --mixing seeds, 3
#   --results=classes   folder for finished fits, so that a stopped run can
#                       continue. Delete the files of a method when its code
#                       changes
#
# Needs Rscript tools/deps.R league, and with --mixing posterior and rstantools.
# Data and splits are those of the two-class sets of the league
# (league-data.R): at most 200 rows for training and 1000 for tests. No choice is
# made on them.
#
# Prints markdown; means over splits. Log loss: minus the log probability of the
# class of a test row, probabilities at least 1e-6; Brier: the squared error of
# the probability; both also for bark minus the method, with standard errors over
# splits in parentheses. error: per cent of wrong classes. CPU: seconds of the
# processor for the fit and its predictions.
#
# --mixing: all rows are for training; iris has three classes. ESS: effective
# draws (bulk) of f at 20 rows fixed by a seed, the least and the median; for
# iris of the probabilities of the classes (those that are constant are left
# out). dbarts has four chains, as bark; for iris a fit for each class, whose
# probabilities are divided by their sum. CPU/400: seconds of the processor for
# 400 effective draws of the worst. Medians over seeds.

library(kernelbayes)

script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1])
tools <- dirname(dirname(normalizePath(gsub("~+~", " ", script, fixed = TRUE))))
source(file.path(tools, "bench", "cells.R"))
source(file.path(tools, "reproduce", "bark-data.R")) # from_package()
source(file.path(tools, "bench", "league-data.R"))

refuse_unknown("mixing", c("data", "methods", "repeats", "results"))
mixing <- flag("mixing")

n_watched <- 20
n_chains <- 4

# ---- data -------------------------------------------------------------------

two_classes <- stats::setNames(league_groups$classes, league_groups$classes)

all_rows <- list(
  Sonar = function() read_package_set("Sonar"),
  iris = function() list(x = iris[1:4], y = iris$Species),
  crabs = function() read_package_set("crabs")
)

# ---- methods ----------------------------------------------------------------

# Each has `prob`: of the second class at new rows; `draws`: of f at rows, or of
# the probabilities of several classes, an array draws x chains x columns.
by_bark <- function(family) {
  fit_to <- function(x, y, seed) {
    several <- nlevels(y) > 2 && !is.null(family)
    bark(y ~ ., data.frame(x, y = y),
      family = if (several) "multinomial" else family, seed = seed
    )
  }
  list(
    prob = function(x, y, new, seed) {
      predict(fit_to(x, y, seed), data.frame(new), type = "prob")[, 2]
    },
    draws = function(x, y, rows, seed) {
      fit <- fit_to(x, y, seed)
      new <- data.frame(x[rows, , drop = FALSE])
      if (nlevels(y) > 2) {
        by_chain(rstantools::posterior_epred(fit, new))
      } else {
        by_chain(predict(fit, new, type = "draws"))
      }
    }
  )
}

# Draws of the chains are one after the other.
by_chain <- function(draws) {
  array(draws, c(nrow(draws) / n_chains, n_chains, length(draws) / nrow(draws)))
}

by_dbarts <- list(
  prob = function(x, y, new, seed) {
    fit <- dbarts::bart(x, as.numeric(y) - 1, new,
      verbose = FALSE, seed = seed
    )
    colMeans(stats::pnorm(fit$yhat.test))
  },
  draws = function(x, y, rows, seed) {
    one <- function(level) {
      fit <- dbarts::bart(x, as.numeric(y == level), x[rows, , drop = FALSE],
        verbose = FALSE, seed = seed, nchain = n_chains, nthread = 1,
        combinechains = FALSE
      )
      aperm(fit$yhat.test, c(2, 1, 3))
    }
    if (nlevels(y) == 2) {
      return(one(levels(y)[[2]]))
    }
    p <- lapply(levels(y), function(level) stats::pnorm(one(level)))
    total <- Reduce(`+`, p)
    shares <- lapply(p, `/`, total)
    array(unlist(shares), c(dim(total)[1:2], dim(total)[[3]] * length(p)))
  }
)

methods <- list(
  bark = by_bark(NULL), bark_probit = by_bark(binomial("probit")),
  dbarts = by_dbarts
)

# ---- one fit ----------------------------------------------------------------

scores_of <- function(cell) {
  split <- league_split("classes", cell$data, cell$set)
  started <- cpu_seconds()
  p <- quiet(methods[[cell$method]]$prob(
    split$x, split$y, split$new, cell$set
  ))
  cpu <- cpu_seconds() - started
  second <- as.numeric(split$y_new) == 2
  given <- pmax(ifelse(second, p, 1 - p), 1e-6)
  data.frame(
    log_loss = mean(-log(given)), error = 100 * mean((p > 0.5) != second),
    brier = mean((second - p)^2), cpu = cpu
  )
}

mixing_of <- function(cell) {
  data <- all_rows[[cell$data]]()
  set.seed(1)
  watched <- sample(length(data$y), n_watched)
  started <- cpu_seconds()
  draws <- quiet(methods[[cell$method]]$draws(
    data$x, data$y, watched, cell$set
  ))
  cpu <- cpu_seconds() - started
  ess <- apply(draws, 3, posterior::ess_bulk)
  data.frame(
    worst = min(ess, na.rm = TRUE), median = median(ess, na.rm = TRUE),
    cpu = cpu, per_400 = 400 * cpu / min(ess, na.rm = TRUE)
  )
}

fit_cell <- function(cell, control) {
  if (mixing) mixing_of(cell) else scores_of(cell)
}

# ---- all of them ------------------------------------------------------------

multiple <- function(table, seconds) {
  peer <- table$method == "dbarts"
  base <- table[[seconds]][peer][match(table$data, table$data[peer])]
  table[[paste(seconds, "by dbarts'")]] <- table[[seconds]] / base
  table
}

mixing_table <- function(rows) {
  table <- stats::aggregate(
    cbind(worst, median, cpu, per_400) ~ method + data, rows, stats::median
  )
  table <- data.frame(
    data = table$data, method = table$method, "ESS, worst" = table$worst,
    "ESS, median" = table$median, CPU = table$cpu,
    "CPU/400" = table$per_400, check.names = FALSE
  )
  multiple(table, "CPU/400")
}

# A row per data set: bark beside each other method
scores_table <- function(rows) {
  kinds <- unique(rows[c("data", "method")])
  lines <- lapply(seq_len(nrow(kinds)), function(i) {
    here <- merge(rows, kinds[i, ])
    ours <- rows[rows$data == kinds$data[[i]] & rows$method == "bark", ]
    both <- match(here$set, ours$set)
    gap <- function(score) {
      v <- (ours[[score]][both] - here[[score]])[!is.na(both)]
      own <- kinds$method[[i]] == "bark"
      if (own || length(v) == 0) "" else with_error(v, 4)
    }
    data.frame(kinds[i, ],
      "log loss" = sprintf("%.3f", mean(here$log_loss)),
      "bark minus it" = gap("log_loss"),
      Brier = sprintf("%.3f", mean(here$brier)),
      "bark minus it, Brier" = gap("brier"),
      error = sprintf("%.1f", mean(here$error)), CPU = mean(here$cpu),
      splits = nrow(here), check.names = FALSE
    )
  })
  multiple(do.call(rbind, lines), "CPU")
}

sets <- if (mixing) all_rows else two_classes
repeats <- if (mixing) 3 else 20
results <- option("results", "classes")
rows <- run_cells_here(
  cells_of(methods, sets, "bark_probit", repeats),
  if (mixing) file.path(results, "mixing") else results
)
if (mixing) {
  markdown(mixing_table(rows))
} else {
  markdown(scores_table(rows))
}
