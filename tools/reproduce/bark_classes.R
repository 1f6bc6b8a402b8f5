# bark() with more than two classes, compared with other methods:
#
#   Rscript tools/reproduce/bark_classes.R          everything: about two hours
#   Rscript tools/reproduce/bark_classes.R --quick  two splits, short chains
#   --cache=folder    where finished fits are kept, so that a stopped run can
#                     continue. Default: a temporary folder
#   --workers=1       number of processes (package future)
#   --repeats=20      splits of each data set
#   --data=a,b        of wine, housing, iris, vehicle
#   --cached          no new fits: tables of the finished ones
#   --output=file     instead of vignettes/precomputed/bark_classes.rds
#
# Prints the tables and writes the file from which vignettes/articles/bark-more.Rmd is
# built. The committed version is from --data=wine,housing,iris: vehicle takes
# longer than the others together.
#
# wine      ordinal::wine: 72 ratings of bitterness in five ordered classes, by
#           temperature, contact and judge
# housing   MASS::housing: satisfaction of tenants in three ordered classes, by
#           influence, type and contact; 450 of its 1681 tenants in each split
# iris      three species by four measurements
# vehicle   mlbench::Vehicle: four kinds of silhouettes by 18 measurements; 450
#           of its 846 rows in each split
#
# Split s shuffles the rows by sample(n) after set.seed(s); two thirds of the
# rows used are for training. Fits of split s have the seed s.
#
# Methods, all with their defaults unless stated otherwise:
#   ordered   bark(), ordered classes
#   unordered bark(), which is not told the order: one function per class
#   polr      MASS::polr, probit link
#   multinom  nnet::multinom
#   ranger    ranger::ranger, probabilities
#   dbarts    dbarts::bart with one probit per class against the others;
#             probabilities are scaled to sum to 1
#
# Scores on the test rows: the share of wrong classes; minus the mean log
# probability of the class (probabilities are at least 1e-6); and for ordered
# classes the ranked probability score, the sum over cut points of the squared
# error of the probability of being below.

# ---- data -------------------------------------------------------------------

read_set <- list(
  wine = function() {
    wine <- from_package("wine", "ordinal")
    list(x = wine[c("temp", "contact", "judge")], y = wine$rating)
  },
  housing = function() {
    table <- from_package("housing", "MASS")
    rows <- table[rep(seq_len(nrow(table)), table$Freq), ]
    list(x = rows[c("Infl", "Type", "Cont")], y = rows$Sat)
  },
  iris = function() list(x = datasets::iris[1:4], y = datasets::iris$Species),
  vehicle = function() {
    vehicle <- from_package("Vehicle", "mlbench")
    list(x = vehicle[names(vehicle) != "Class"], y = vehicle$Class)
  }
)

most_rows <- 450

split_classes <- function(name, s) {
  data <- read_set[[name]]()
  set.seed(s)
  rows <- utils::head(sample(length(data$y)), most_rows)
  fit <- utils::head(rows, round(2 / 3 * length(rows)))
  test <- setdiff(rows, fit)
  list(
    x = data$x[fit, , drop = FALSE], y = data$y[fit],
    new = data$x[test, , drop = FALSE], y_new = data$y[test]
  )
}

# ---- methods: class probabilities, one column per class, and facts ----------

with_response <- function(split) data.frame(split$x, response = split$y)

by_bark <- function(split, seed, control, family) {
  fit <- withCallingHandlers(
    bark(response ~ ., with_response(split),
      family = family, control = do.call(mcmc_control, control), seed = seed,
      progress = FALSE
    ),
    kb_warning_convergence = function(w) invokeRestart("muffleWarning")
  )
  mixing <- subset(ess(fit), grepl("^J|^log_lik$", variable))
  list(
    p = predict(fit, split$new, type = "prob"),
    rhat = max(mixing$rhat, na.rm = TRUE),
    ess = min(mixing$ess_bulk, na.rm = TRUE),
    sampler = timings(fit)$sampler
  )
}

by_polr <- function(split, seed, control) {
  fit <- MASS::polr(response ~ ., with_response(split), method = "probit")
  list(p = stats::predict(fit, split$new, type = "probs"))
}

by_multinom <- function(split, seed, control) {
  fit <- nnet::multinom(response ~ ., with_response(split),
    trace = FALSE, maxit = 1000
  )
  list(p = stats::predict(fit, split$new, type = "probs"))
}

by_ranger <- function(split, seed, control) {
  fit <- ranger::ranger(
    x = split$x, y = split$y, probability = TRUE, num.threads = 1, seed = seed
  )
  p <- stats::predict(fit, split$new, num.threads = 1)$predictions
  list(p = p[, levels(split$y), drop = FALSE])
}

by_dbarts <- function(split, seed, control) {
  columns <- function(x) stats::model.matrix(~ . - 1, x)
  p <- vapply(levels(split$y), function(level) {
    fit <- dbarts::bart(columns(split$x), as.numeric(split$y == level),
      columns(split$new), nskip = 1000, verbose = FALSE, seed = seed
    )
    colMeans(stats::pnorm(fit$yhat.test))
  }, numeric(nrow(split$new)))
  list(p = p / rowSums(p))
}

class_methods <- list(
  ordered = function(split, seed, control) {
    by_bark(split, seed, control, "ordered")
  },
  unordered = function(split, seed, control) {
    by_bark(split, seed, control, "multinomial")
  },
  polr = by_polr, multinom = by_multinom, ranger = by_ranger,
  dbarts = by_dbarts
)

methods_for <- list(
  wine = names(class_methods), housing = names(class_methods),
  iris = setdiff(names(class_methods), c("ordered", "polr")),
  vehicle = setdiff(names(class_methods), c("ordered", "polr"))
)

# ---- scores -----------------------------------------------------------------

ranked_score <- function(p, truth) {
  below <- function(v) t(apply(v, 1, cumsum))
  hit <- diag(ncol(p))[as.integer(truth), , drop = FALSE]
  mean(rowSums((below(p) - below(hit))^2))
}

score_classes <- function(method, split, seed, control) {
  seconds <- system.time(
    answer <- class_methods[[method]](split, seed, control)
  )[[3]]
  p <- answer$p
  stopifnot(
    identical(dim(p), c(nrow(split$new), nlevels(split$y))),
    identical(colnames(p), levels(split$y))
  )
  given <- p[cbind(seq_len(nrow(p)), as.integer(split$y_new))]
  fact <- function(v) if (is.null(v)) NA_real_ else v
  data.frame(
    error = mean(max.col(p, "first") != as.integer(split$y_new)),
    log_loss = -mean(log(pmax(given, 1e-6))),
    ranked = if (is.ordered(split$y)) {
      ranked_score(p, split$y_new)
    } else {
      NA_real_
    },
    rhat = fact(answer$rhat), ess = fact(answer$ess),
    sampler = fact(answer$sampler), seconds = seconds
  )
}

# ---- cells, see cells.R -----------------------------------------------------

class_packages <- c(
  "kernelbayes", "MASS", "nnet", "ordinal", "mlbench", "ranger", "dbarts"
)

cell_settings <- function(cell, control) {
  ours <- cell$method %in% c("ordered", "unordered")
  list(if (ours) control, package_versions(class_packages))
}

fit_cell <- function(cell, control) {
  split <- split_classes(cell$data, cell$set)
  score_classes(cell$method, split, cell$set, control)
}

# ---- everything -------------------------------------------------------------

plan_for <- function(options, fail) {
  quick <- "quick" %in% names(options)
  cache <- options$cache
  if (is.null(cache)) cache <- tempfile("bark-classes")
  list(
    quick = quick, cached = "cached" %in% names(options),
    repeats = number_option(options, "repeats", if (quick) 2 else 20),
    workers = number_option(options, "workers", 1),
    control = if (quick) {
      list(chains = 1, warmup = 100, iter = 200)
    } else {
      list(chains = 1, warmup = 300, iter = 1200, thin = 3)
    },
    data = several_option(options, "data", names(read_set), fail),
    cache = cache
  )
}

class_measures <- c(
  "error", "log_loss", "ranked", "rhat", "ess", "sampler", "seconds"
)

# Our score minus a peer's, on the same splits.
paired_differences <- function(runs, ours, measure) {
  value <- split(runs[[measure]], runs$method)
  peers <- setdiff(names(value), ours)
  gap <- lapply(value[peers], function(v) value[[ours]] - v)
  data.frame(
    data = runs$data[[1]], method = ours, peer = peers, measure = measure,
    difference = vapply(gap, mean, 0), se = vapply(gap, standard_error, 0),
    row.names = NULL
  )
}

experiment <- function(name, plan, scripts) {
  cells <- expand.grid(
    data = name, set = seq_len(plan$repeats), fold = 1L,
    method = methods_for[[name]], stringsAsFactors = FALSE
  )
  runs <- run_cells(cells, plan, scripts)
  if (is.null(runs)) {
    return(NULL)
  }
  ours <- intersect(c("ordered", "unordered"), runs$method)
  gaps <- expand.grid(
    ours = ours, measure = c("error", "log_loss"), stringsAsFactors = FALSE
  )
  list(
    means = mean_table(runs, c("data", "method"), class_measures),
    differences = do.call(rbind, Map(
      paired_differences, list(runs), gaps$ours, gaps$measure
    ))
  )
}

run_all <- function(plan, scripts) {
  dir.create(plan$cache, showWarnings = FALSE, recursive = TRUE)
  message("Experiments (finished runs are in ", plan$cache, ")")
  results <- lapply(plan$data, experiment, plan = plan, scripts = scripts)
  glue <- function(part) {
    rows <- do.call(rbind, lapply(results, `[[`, part))
    rownames(rows) <- NULL
    rows
  }
  list(
    about = list(
      date = format(Sys.Date()), quick = plan$quick, R = R.version.string,
      platform = R.version$platform, control = plan$control,
      versions = package_versions(class_packages), seeds = "split s: seed s"
    ),
    means = glue("means"), differences = glue("differences")
  )
}

main <- function() {
  script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
  script <- normalizePath(gsub("~+~", " ", script[[1]], fixed = TRUE))
  root <- dirname(dirname(dirname(script)))
  deps <- new.env()
  sys.source(file.path(root, "tools", "deps.R"), deps)
  source(file.path(dirname(script), "options.R"))
  options <- parse_options(
    commandArgs(trailingOnly = TRUE),
    c("cache", "workers", "repeats", "data", "output"), c("quick", "cached"),
    deps$fail
  )
  deps$install_needs(root, "reproduce_bark_classes")
  .libPaths(c(deps$install_checkout(root), .libPaths()))
  library(kernelbayes)
  scripts <- c(
    file.path(dirname(script), c("tables.R", "cells.R", "bark-data.R")), script
  )
  for (file in setdiff(scripts, script)) source(file)
  plan <- plan_for(options, deps$fail)
  if (plan$workers > 1) {
    future::plan(future::multisession, workers = plan$workers)
    on.exit(future::plan(future::sequential))
  }
  started <- Sys.time()
  results <- run_all(plan, scripts)
  show_table("Scores", results$means)
  show_table("Differences on the same splits", results$differences)
  file <- options$output
  if (is.null(file)) {
    file <- file.path(root, "vignettes", "precomputed", "bark_classes.rds")
  }
  saveRDS(results, file, version = 2, compress = "xz")
  message(
    "Wrote ", file, " (", round(file.size(file) / 1024), " kB) after ",
    format(round(Sys.time() - started, 1))
  )
}

if (sys.nframe() == 0) main()
