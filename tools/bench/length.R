# How long should the chains of bark() be? Error, log density and CPU of some
# lengths, beside the default and dbarts.
#
#   Rscript tools/bench/length.R --splits=2 --rows=200
#   --splits=2        of each set, or data sets of Friedman's function
#   --rows=200        of Friedman's function, with 10 predictors
#   --only=Boston     one set
#
# Sets on which lengths may be chosen: Friedman's function and sets of R and MASS.
# Error: root mean square in standard deviations of the training responses. Density:
# mean log density of test rows, in the same units. Monte Carlo error: of f, see
# ?convergence.

library(kernelbayes)

script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1])
script <- normalizePath(gsub("~+~", " ", script, fixed = TRUE))
source(file.path(dirname(dirname(script)), "arguments.R"))
source(file.path(dirname(script), "report.R"))
refuse_unknown(options = c("splits", "rows", "only"))

friedman <- function(n, seed) {
  set.seed(seed)
  x <- matrix(stats::runif(10 * n), n)
  f <- 10 * sin(pi * x[, 1] * x[, 2]) + 20 * (x[, 3] - 0.5)^2 + 10 * x[, 4] +
    5 * x[, 5]
  data.frame(y = f + stats::rnorm(n), x)
}

two_thirds <- function(data, response) {
  names(data)[names(data) == response] <- "y"
  data <- stats::na.omit(data)
  function(split) {
    set.seed(split)
    train <- sample(nrow(data), round(2 / 3 * nrow(data)))
    list(train = data[train, ], test = data[-train, ])
  }
}

rows <- as.integer(option("rows", "200"))
sets <- list(
  Friedman = function(split) {
    data <- friedman(rows + 1000, split)
    list(train = data[seq_len(rows), ], test = data[-seq_len(rows), ])
  },
  Boston = two_thirds(MASS::Boston, "medv"),
  airquality = two_thirds(datasets::airquality, "Ozone"),
  cpus = two_thirds(
    transform(MASS::cpus[2:8], perf = log(perf)), "perf"
  )
)
only <- option("only", "")
if (nzchar(only)) sets <- sets[only]

lengths <- list(
  default = NULL,
  "8 x (100 + 100)" = mcmc_control(8, 100, 100, thin = 2),
  "8 x (130 + 270)" = mcmc_control(8, 130, 270, thin = 2),
  "4 x (400 + 1200)" = mcmc_control(4, 400, 1200, thin = 4)
)

by_bark <- function(data, control, seed) {
  given <- list(y ~ ., data$train, seed = seed, progress = FALSE)
  if (!is.null(control)) given$control <- control
  fit <- do.call(bark, given)
  density <- predict(fit, data$test, type = "log_score")
  list(mean = predict(fit, data$test), density = mean(density))
}

by_dbarts <- function(data, seed) {
  x <- function(part) part[names(part) != "y"]
  set.seed(seed)
  fit <- dbarts::bart(x(data$train), data$train$y, x(data$test), verbose = FALSE)
  y <- rep(data$test$y, each = length(fit$sigma))
  each <- stats::dnorm(y, fit$yhat.test, fit$sigma)
  density <- log(colMeans(matrix(each, length(fit$sigma))))
  list(mean = fit$yhat.test.mean, density = mean(density))
}

scored <- function(set, split, method, run) {
  data <- sets[[set]](split)
  unit <- stats::sd(data$train$y)
  begun <- cpu_seconds()
  result <- with_first_warning(suppressMessages(run(data)))
  cpu <- cpu_seconds() - begun
  out <- result$value
  data.frame(
    data = set, set = paste(set, split), method = method,
    error = sqrt(mean((out$mean - data$test$y)^2)) / unit,
    density = out$density + log(unit), cpu = cpu,
    warned = !is.na(result$warning)
  )
}

results <- list()
for (set in names(sets)) {
  for (split in seq_len(as.integer(option("splits", "2")))) {
    add <- function(method, run) {
      results[[length(results) + 1]] <<- scored(set, split, method, run)
    }
    for (method in names(lengths)) {
      add(method, function(data) by_bark(data, lengths[[method]], split))
    }
    if (requireNamespace("dbarts", quietly = TRUE)) {
      add("dbarts", function(data) by_dbarts(data, split))
    }
  }
}
results <- do.call(rbind, results)
markdown(table_beside(
  results, "default", c("error" = "error", "log density" = "density")
))
cat("Warnings of the default: ",
  sum(results$warned[results$method == "default"]), " of ",
  sum(results$method == "default"), " calls\n",
  sep = ""
)
