# srvm() with everything learned, and on streams, compared with peers:
#
#   Rscript tools/reproduce/srvm_streams.R            everything: about an hour
#   Rscript tools/reproduce/srvm_streams.R --quick    few data sets, short
#                                                     streams: a trial run
#
#   --cache=folder    where finished runs are kept, so that a stopped run can
#                     continue. Default: a temporary folder
#   --workers=2       number of processes (package future)
#   --cached          no new fits: tables of the finished ones
#   --data=a,b        which experiments: sinc, boston, outliers, drift, classes
#   --output=file     instead of vignettes/precomputed/srvm_streams.rds
#
# Prints the tables and writes the file from which vignettes/articles/streams.Rmd is
# built. Installs the package and its peers first.
#
# sinc: sim_sinc(50, seed = s), s = 1 to 200; srvm() with learned rate and
# bandwidth in random order, mgcv::gam and kernlab::rvm with theirs.
# Boston: 20 splits of 300 and 206 rows; srvm() with the same settings, tuned
# peers of tools/peers-tuned.R. Outliers: the same sinc data, with a tenth of
# the responses off by a normal error of sd 2, 25 sets. Drift: 2000 rows whose
# function changes slowly and, at row 1001, abruptly; each row is scored given
# the rows before it. Classes: 1000 rows of two classes with a turning boundary.

measures <- list(
  sinc = c("rmse", "coverage", "kernels", "seconds"),
  boston = c("mse", "log_score", "kernels", "seconds"),
  outliers = c("rmse", "coverage", "sigma", "seconds"),
  drift = c("score", "before", "after", "later", "seconds"),
  classes = c("log_score", "error", "brier", "seconds")
)

# ---- data -------------------------------------------------------------------

sinc <- function(x) ifelse(x == 0, 1, sin(x) / x)

with_outliers <- function(seed) {
  data <- sim_sinc(50, seed = seed)
  set.seed(seed)
  hit <- sample(50, 5)
  data$y[hit] <- data$y[hit] + stats::rnorm(5, 0, 2)
  data
}

# A wave whose phase drifts, and jumps half way.
drifting_stream <- function(seed, n) {
  set.seed(seed)
  t <- seq_len(n) / n
  x <- stats::runif(n, -3, 3)
  phase <- 1.5 * t + 2 * (t > 0.5)
  data.frame(x = x, y = sin(2 * x + phase) + stats::rnorm(n, 0, 0.1))
}

# The boundary of two classes turns by 90 degrees.
turning_classes <- function(seed, n) {
  set.seed(seed)
  angle <- seq_len(n) / n * pi / 2
  x1 <- stats::rnorm(n)
  x2 <- stats::rnorm(n)
  p <- stats::pnorm(3 * tanh(cos(angle) * x1 + sin(angle) * x2))
  y <- factor(ifelse(stats::runif(n) < p, "b", "a"), c("a", "b"))
  data.frame(x1 = x1, x2 = x2, y = y)
}

boston_split <- function(seed) {
  set.seed(seed)
  rows <- sample(nrow(MASS::Boston))
  list(
    train = MASS::Boston[rows[1:300], ], test = MASS::Boston[rows[-(1:300)], ]
  )
}

# ---- methods ----------------------------------------------------------------

stream_memories <- function(n) {
  # All rows are needed for their scores.
  last <- function(...) srvm_memory(..., keep_rows = Inf)
  list(
    all = srvm_memory(), window_400 = last(window = n / 5),
    window_100 = last(window = n / 20),
    forgetting_slow = last(forgetting = 1 - 5 / n),
    forgetting_fast = last(forgetting = 1 - 20 / n)
  )
}

methods_of <- list(
  sinc = c("srvm", "gam", "rvm"), boston = c("srvm", "ksvm", "gausspr"),
  outliers = c("normal", "student", "gam"),
  drift = c(
    "all", "window_400", "window_100", "forgetting_slow", "forgetting_fast"
  ),
  classes = c("all", "window_400", "window_100")
)

quietly <- function(expr) {
  withCallingHandlers(expr, kb_warning_low_ess = function(w) {
    invokeRestart("muffleWarning")
  })
}

mean_kernels <- function(fit) with(model_size(fit), sum(k * probability))

sinc_answer <- function(method, data, new, seed) {
  if (method %in% c("srvm", "normal", "student")) {
    prior <- switch(method,
      student = srvm_prior(df = 4), srvm = srvm_prior("learn"), srvm_prior()
    )
    fit <- quietly(srvm(y ~ x, data,
      kernel = kernel_gaussian("learn"), prior = prior, order = "random", seed = seed, progress = FALSE
    ))
    return(list(
      bands = stats::predict(fit, new, interval = "credible"),
      kernels = mean_kernels(fit), sigma = stats::sigma(fit)
    ))
  }
  if (method == "gam") {
    fit <- mgcv::gam(y ~ s(x), data = data)
    out <- stats::predict(fit, new, se.fit = TRUE)
    half <- stats::qnorm(0.95) * out$se.fit
    bands <- cbind(fit = out$fit, lwr = out$fit - half, upr = out$fit + half)
    return(list(bands = bands, kernels = NA, sigma = sqrt(fit$sig2)))
  }
  utils::capture.output(fit <- kernlab::rvm(as.matrix(data$x), data$y))
  mean <- as.vector(kernlab::predict(fit, as.matrix(new$x)))
  list(
    bands = cbind(fit = mean, lwr = NA, upr = NA),
    kernels = length(kernlab::RVindex(fit)), sigma = NA
  )
}

score_sinc <- function(method, data, seed) {
  new <- data.frame(x = seq(-10, 10, length.out = 1000))
  truth <- sinc(new$x)
  seconds <- system.time(answer <- sinc_answer(method, data, new, seed))[[3]]
  bands <- answer$bands
  data.frame(
    rmse = sqrt(mean((bands[, "fit"] - truth)^2)),
    coverage = mean(bands[, "lwr"] <= truth & truth <= bands[, "upr"]),
    kernels = answer$kernels, sigma = answer$sigma, seconds = seconds
  )
}

score_boston <- function(method, seed) {
  split <- boston_split(seed)
  log_score <- kernels <- NA_real_
  seconds <- system.time(if (method == "srvm") {
    fit <- quietly(srvm(medv ~ ., split$train,
      kernel = kernel_gaussian("learn"), prior = srvm_prior("learn"),
      scale = "linear", seed = seed, progress = FALSE
    ))
    mean <- stats::predict(fit, split$test)
    log_score <- mean(stats::predict(fit, split$test, type = "log_score"))
    kernels <- mean_kernels(fit)
  } else {
    x <- as.matrix(split$train[names(split$train) != "medv"])
    new <- as.matrix(split$test[names(split$test) != "medv"])
    mean <- tuned_peers[[method]](x, split$train$medv, new, seed)$mean
  })[[3]]
  data.frame(
    mse = mean((mean - split$test$medv)^2), log_score = log_score,
    kernels = kernels, seconds = seconds
  )
}

# The kernel is known: methods differ in what they remember.
score_drift <- function(method, seed, n) {
  data <- drifting_stream(seed, n)
  seconds <- system.time(fit <- quietly(srvm(y ~ x, data,
    kernel = kernel_gaussian(0.4), memory = stream_memories(n)[[method]],
    control = smc_control(n_moves = 2), seed = seed, progress = FALSE
  )))[[3]]
  score <- prequential(fit)$log_predictive
  part <- cut(seq_len(n) / n, c(0, 0.1, 0.5, 0.6, 1), labels = FALSE)
  data.frame(
    score = mean(score[part > 1]), before = mean(score[part == 2]),
    after = mean(score[part == 3]), later = mean(score[part == 4]),
    seconds = seconds
  )
}

# Probabilities of the second class before each row's class is seen.
foreseen <- function(fit, y) {
  p <- exp(prequential(fit)$log_predictive)
  ifelse(as.integer(y) == 2, p, 1 - p)
}

score_classes <- function(method, seed, n) {
  data <- turning_classes(seed, n)
  seconds <- system.time(fit <- quietly(srvm(y ~ x1 + x2, data,
    kernel = kernel_gaussian(1), memory = stream_memories(n)[[method]],
    control = smc_control(n_moves = 2), seed = seed, progress = FALSE
  )))[[3]]
  late <- seq_len(n) > n / 10
  p <- foreseen(fit, data$y)[late]
  hit <- as.integer(data$y[late]) == 2
  bin <- cut(p, seq(0, 1, 0.1), include.lowest = TRUE, labels = FALSE)
  count <- function(v) {
    sums <- tapply(v, factor(bin, 1:10), sum, default = 0)
    as.list(stats::setNames(sums, paste0("bin", 1:10)))
  }
  data.frame(
    log_score = mean(log(ifelse(hit, p, 1 - p))),
    error = mean((p > 0.5) != hit), brier = mean((p - hit)^2),
    seconds = seconds, rows = count(0 * p + 1), hits = count(hit),
    sums = count(p)
  )
}

# ---- cells, see cells.R -----------------------------------------------------

cell_settings <- function(cell, control) {
  list(control, package_versions(c("kernelbayes", "kernlab", "mgcv")))
}

fit_cell <- function(cell, control) {
  n <- control$rows
  switch(cell$data,
    sinc = score_sinc(cell$method, sim_sinc(50, seed = cell$set), cell$set),
    outliers = score_sinc(cell$method, with_outliers(cell$set), cell$set),
    boston = score_boston(cell$method, cell$set),
    drift = score_drift(cell$method, cell$set, n),
    classes = score_classes(cell$method, cell$set, n / 2)
  )
}

# ---- everything -------------------------------------------------------------

plan_for <- function(options, fail) {
  quick <- "quick" %in% names(options)
  sets <- if (quick) {
    c(sinc = 3, boston = 2, outliers = 2, drift = 1, classes = 1)
  } else {
    c(sinc = 200, boston = 20, outliers = 25, drift = 5, classes = 5)
  }
  list(
    quick = quick, cached = "cached" %in% names(options), sets = sets,
    workers = number_option(options, "workers", 1),
    control = list(rows = if (quick) 400 else 2000),
    data = several_option(options, "data", names(measures), fail),
    cache = if (is.null(options$cache)) tempfile("streams") else options$cache
  )
}

experiment <- function(name, plan, scripts) {
  cells <- expand.grid(
    data = name, set = seq_len(plan$sets[[name]]), fold = 1L,
    method = methods_of[[name]], stringsAsFactors = FALSE
  )
  runs <- run_cells(cells, plan, scripts)
  if (is.null(runs)) {
    return(NULL)
  }
  out <- list(means = mean_table(runs, "method", measures[[name]]))
  base <- c(sinc = "gam", boston = "ksvm", outliers = "normal")
  if (name %in% names(base)) {
    out$ratio <- paired_ratios(runs, measures[[name]][[1]], base[[name]])
  }
  if (name == "boston") {
    out$ratio <- rbind(out$ratio, paired_ratios(runs, "mse", "gausspr"))
  }
  if (name == "classes") out$calibration <- calibration_of(runs)
  out
}

# Mean of the ratios on the same data, with its standard error.
paired_ratios <- function(runs, measure, base) {
  value <- split(runs[[measure]], runs$method)
  others <- setdiff(unique(runs$method), base)
  ratio <- lapply(value[others], `/`, value[[base]])
  data.frame(
    method = others, to = base, measure = measure,
    ratio = vapply(ratio, mean, 0), se = vapply(ratio, standard_error, 0),
    row.names = NULL
  )
}

calibration_of <- function(runs) {
  sums <- function(name) {
    columns <- paste0(name, ".bin", 1:10)
    rowsum(as.matrix(runs[columns]), runs$method, reorder = FALSE)
  }
  rows <- sums("rows")
  data.frame(
    method = rep(rownames(rows), each = 10), bin = 1:10,
    rows = as.vector(t(rows)), share = as.vector(t(sums("hits") / rows)),
    mean = as.vector(t(sums("sums") / rows))
  )
}

run_all <- function(plan, scripts) {
  dir.create(plan$cache, showWarnings = FALSE, recursive = TRUE)
  message("Experiments (finished runs are in ", plan$cache, ")")
  results <- lapply(
    stats::setNames(nm = plan$data), experiment,
    plan = plan, scripts = scripts
  )
  about <- list(
    date = format(Sys.Date()), quick = plan$quick, R = R.version.string,
    platform = R.version$platform, rows = plan$control$rows,
    versions = package_versions(c("kernelbayes", "kernlab", "mgcv", "MASS")),
    seeds = "set s: seed s"
  )
  c(list(about = about), results)
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
    c("cache", "workers", "data", "output"), c("quick", "cached"), deps$fail
  )
  deps$install_needs(root, "reproduce_srvm_streams")
  .libPaths(c(deps$install_checkout(root), .libPaths()))
  library(kernelbayes)
  scripts <- c(
    file.path(root, "tools", "peers-tuned.R"),
    file.path(dirname(script), c("tables.R", "cells.R")), script
  )
  for (file in setdiff(scripts, script)) source(file)
  plan <- plan_for(options, deps$fail)
  if (plan$workers > 1) {
    future::plan(future::multisession, workers = plan$workers)
    on.exit(future::plan(future::sequential))
  }
  started <- Sys.time()
  results <- run_all(plan, scripts)
  for (name in plan$data) {
    for (table in names(results[[name]])) {
      show_table(paste(name, table), results[[name]][[table]])
    }
  }
  file <- options$output
  if (is.null(file)) {
    file <- file.path(root, "vignettes", "precomputed", "srvm_streams.rds")
  }
  saveRDS(results, file, version = 2, compress = "xz")
  message(
    "Wrote ", file, " (", round(file.size(file) / 1024), " kB) after ",
    format(round(Sys.time() - started, 1))
  )
}

if (sys.nframe() == 0) main()
