# srvm() on streams, one core:
#
#   Rscript tools/bench/srvm-streams.R           all of it: some minutes
#   Rscript tools/bench/srvm-streams.R --quick   a tenth of the rows
#
# 1. Two classes (probit, each particle with latent responses of its own)
#    beside the normal model: 300 rows, 250 particles, 10 moves. To reach: a
#    ratio of 5 or less.
# 2. 100 000 rows, 250 particles of some 30 kernels, the last 1000 rows
#    remembered, up to 100 of them candidates; no moves, a Gibbs sweep every 20
#    rows. To reach: 60 s or less, seconds and memory that grow with the rows
#    as the data do. Rows come in batches of a tenth: a line each.

library(kernelbayes)

script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1])
script <- normalizePath(gsub("~+~", " ", script, fixed = TRUE))
source(file.path(dirname(dirname(script)), "arguments.R"))
source(file.path(dirname(script), "report.R"))
quick <- flag("quick")

# ---- two classes ------------------------------------------------------------

class_data <- function(seed, n = 300) {
  set.seed(seed)
  x <- matrix(stats::rnorm(2 * n), n)
  f <- 2 * sin(2 * x[, 1]) + x[, 2]
  list(
    x = x, y = f + stats::rnorm(n),
    class = factor(f + stats::rnorm(n) > 0)
  )
}

probit_ratio <- function(runs) {
  fit <- function(x, y, seed) {
    suppressWarnings(srvm(x, y,
      kernel = kernel_gaussian(0.7), prior = srvm_prior(10), seed = seed,
      progress = FALSE
    ))
  }
  seconds <- vapply(seq_len(runs), function(seed) {
    data <- class_data(seed)
    c(
      normal = timings(fit(data$x, data$y, seed))$sampler,
      probit = timings(fit(data$x, data$class, seed))$sampler
    )
  }, c(normal = 0, probit = 0))
  middle <- apply(seconds, 1, stats::median)
  data.frame(
    t(middle), ratio = stats::median(seconds["probit", ] / seconds["normal", ])
  )
}

# ---- a long stream ----------------------------------------------------------

stream_data <- function(n) {
  set.seed(1)
  x <- stats::runif(n, -10, 10)
  wave <- sin(2 * x + 4 * seq_len(n) / n) + cos(x)
  data.frame(x = x, y = wave + stats::rnorm(n, 0, 0.3))
}

stream_curve <- function(n, parts = 10) {
  data <- stream_data(n)
  batches <- split(seq_len(n), rep(seq_len(parts), each = n / parts))
  out <- NULL
  before <- 0
  for (rows in batches) {
    seconds <- seconds_of(if (is.null(out)) {
      fit <- first_rows(data[rows, ])
    } else {
      fit <- suppressWarnings(update(fit, newdata = data[rows, ]))
    })
    k <- mean(utils::tail(fit$runs[[1]]$path$mean_k, length(rows)))
    out <- rbind(out, data.frame(
      rows = max(rows), seconds = seconds, k = k, peak_mb = peak_megabytes(),
      fit_mb = as.numeric(utils::object.size(fit)) / 2^20,
      runs_mb = as.numeric(utils::object.size(fit$runs)) / 2^20
    ))
  }
  out
}

first_rows <- function(data) {
  suppressWarnings(srvm(y ~ x, data,
    kernel = kernel_gaussian(0.15), prior = srvm_prior(12),
    memory = srvm_memory(window = 1000, candidates = 100),
    control = smc_control(n_moves = 0, sweep_every = 20), seed = 1,
    progress = FALSE
  ))
}

curve <- stream_curve(if (quick) 1e4 else 1e5)
cat("Stream, a line a tenth; ", round(sum(curve$seconds), 1), " s in all\n\n",
  sep = ""
)
markdown(curve)
cat("\nTwo classes over the normal model, seconds of the sampler\n\n")
markdown(probit_ratio(if (quick) 3 else 11))
