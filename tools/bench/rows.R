# Many rows: bark() beside dbarts::bart(), default calls, one thread.
#
#   Rscript tools/bench/rows.R --data=FOLDER
#   --data=FOLDER       with the files NAME-data.csv.gz and
#                       NAME-test_mask.csv.gz of the collection that
#                       data-raw/bench/uci.R describes; without it kin40k and
#                       protein are left out
#   --sets=kin40k,protein,diamonds,friedman
#   --methods=bark,dbarts
#   --splits=1          the first ones of five
#   --rows=100000       of friedman, p = 10, noise of standard deviation 1
#   --long              longer chains, to measure ESS: 300 iterations of bark(),
#                       3000 of dbarts::bart() after 1000
#   --results=rows      folder for finished fits, so that a stopped run can
#                       continue. Delete the files of a method when its code
#                       changes
#
# Each fit is a process of its own. Test rows: those of the published splits, at
# most 5000, evenly spaced; of diamonds (log price) a tenth; of friedman 5000
# new ones, compared with f. Prints markdown. RMSE: by the standard deviation of
# the training responses. CPU: seconds of the processor, predictions included.
# ESS: effective draws of f, the least of 20 test rows fixed by the seed. ESS/s:
# per second of CPU. Below 100 the two are no measure of speed: of 20 random
# walks, which never mix, the least ESS is about 5 with four chains and 1.3 with
# one.
# memory: the largest of the process, in MB. The second table has the figures of
# bark() as multiples of those of dbarts::bart(). No choice was made on these
# sets.

script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1])
script <- normalizePath(gsub("~+~", " ", script, fixed = TRUE))
tools <- dirname(dirname(script))
source(file.path(tools, "arguments.R"))
source(file.path(tools, "bench", "report.R"))
source(file.path(tools, "bench", "uci-files.R"))

refuse_unknown(c("one", "long"), c(
  "data", "sets", "methods", "splits", "rows", "results"
))

most_test_rows <- 5000
watched_rows <- 20

# ---- data -------------------------------------------------------------------

published <- function(name, split, folder) {
  data <- unname(as.matrix(read_plain(folder, name, "data")))
  test <- read_plain(folder, name, "test_mask")[[split]] == 1
  split_rows(
    as.data.frame(data[, -ncol(data)]), data[, ncol(data)],
    evenly_spaced(which(test), most_test_rows), which(!test)
  )
}

split_rows <- function(x, y, test, train = setdiff(seq_along(y), test)) {
  list(
    x = x[train, , drop = FALSE], y = y[train],
    new = x[test, , drop = FALSE], y_new = y[test]
  )
}

diamonds <- function(split) {
  data <- as.data.frame(ggplot2::diamonds)
  grades <- c("cut", "color", "clarity")
  data[grades] <- lapply(data[grades], as.integer)
  set.seed(split)
  test <- sample(nrow(data), nrow(data) %/% 10)
  split_rows(data[names(data) != "price"], log(data$price), test)
}

friedman <- function(split, rows) {
  set.seed(split)
  x <- matrix(runif((rows + most_test_rows) * 10), ncol = 10)
  f <- 10 * sin(pi * x[, 1] * x[, 2]) + 20 * (x[, 3] - 0.5)^2 + 10 * x[, 4] +
    5 * x[, 5]
  new <- seq_len(most_test_rows)
  out <- split_rows(as.data.frame(x), f + rnorm(length(f)), new)
  out$y_new <- f[new]
  out
}

set_of <- function(name, split, folder, rows) {
  switch(name,
    friedman = friedman(split, rows),
    diamonds = diamonds(split),
    published(name, split, folder)
  )
}

# ---- methods ----------------------------------------------------------------

# Each returns draws of f at the test rows, chains one after the other, and the
# number of chains.
methods <- list(
  bark = function(data, seed, long) {
    length <- if (long) list(30, 300, 1) else list(NULL, NULL, NULL)
    fit <- kernelbayes::bark(data$x, data$y,
      seed = seed, progress = FALSE, control = kernelbayes::mcmc_control(
        warmup = length[[1]], iter = length[[2]], thin = length[[3]]
      )
    )
    list(
      draws = predict(fit, data$new, type = "draws"), chains = length(fit$runs)
    )
  },
  dbarts = function(data, seed, long) {
    length <- if (long) c(1000, 3000) else c(100, 1000)
    fit <- dbarts::bart(data$x, data$y, data$new,
      verbose = FALSE, seed = seed, nthread = 1, nskip = length[[1]],
      ndpost = length[[2]]
    )
    list(draws = fit$yhat.test, chains = 1)
  }
)

# ---- one fit, in a process of its own ---------------------------------------

fit_one <- function(name, method, split, folder, rows, long, file) {
  data <- set_of(name, split, folder, rows)
  started <- cpu_seconds()
  made <- suppressWarnings(suppressMessages(methods[[method]](data, split, long)))
  seconds <- cpu_seconds() - started
  set.seed(split)
  watched <- sample(ncol(made$draws), watched_rows)
  ess <- apply(made$draws[, watched], 2, function(v) {
    posterior::ess_bulk(matrix(v, ncol = made$chains))
  })
  error <- colMeans(made$draws) - data$y_new
  saveRDS(data.frame(
    set = name, split = split, method = method, rows = nrow(data$x),
    rmse = sqrt(mean(error^2)) / sd(data$y), cpu = seconds, ess = min(ess),
    speed = min(ess) / seconds, memory = peak_megabytes()
  ), file)
}

# ---- all of them ------------------------------------------------------------

headings <- c(
  rmse = "RMSE", cpu = "CPU", ess = "ESS", speed = "ESS/s", memory = "memory"
)

with_headings <- function(table) {
  at <- match(names(headings), names(table))
  names(table)[at] <- headings
  table
}

# One row per set and split that both methods have
table_of_ratios <- function(table) {
  key <- c("set", "split", "rows")
  both <- merge(
    table[table$method == "bark", ], table[table$method == "dbarts", ], key,
    suffixes = c("", "_dbarts"), sort = FALSE
  )
  data.frame(
    both[key],
    both[names(headings)] / both[paste0(names(headings), "_dbarts")]
  )
}

known <- c("kin40k", "protein", "diamonds", "friedman")
folder <- option("data")
chosen <- several("sets", known)
if (is.null(folder)) chosen <- setdiff(chosen, c("kin40k", "protein"))
chosen_methods <- several("methods", names(methods))
rows <- as.integer(option("rows", "100000"))
cache <- option("results", "rows")

if (flag("one")) {
  fit_one(
    chosen, chosen_methods, as.integer(option("splits")), folder, rows,
    flag("long"), option("results")
  )
  quit("no")
}

dir.create(cache, FALSE, TRUE)
results <- list()
for (name in chosen) {
  for (split in seq_len(as.integer(option("splits", "1")))) {
    for (method in chosen_methods) {
      size <- c(if (name == "friedman") rows, if (flag("long")) "long")
      cell <- paste0(paste(c(name, size, split, method), collapse = "-"), ".rds")
      file <- file.path(cache, cell)
      if (!file.exists(file)) {
        system2(file.path(R.home("bin"), "Rscript"), shQuote(c(
          script, "--one", paste0("--sets=", name),
          paste0("--methods=", method), paste0("--splits=", split),
          paste0("--rows=", rows),
          if (!is.null(folder)) paste0("--data=", folder),
          if (flag("long")) "--long",
          paste0("--results=", file)
        )))
      }
      if (file.exists(file)) results <- c(results, list(readRDS(file)))
    }
  }
}
if (length(results) == 0) stop("No fit was finished.")
table <- do.call(rbind, results)
markdown(with_headings(table))
ratios <- table_of_ratios(table)
if (nrow(ratios) > 0) markdown(with_headings(ratios))
