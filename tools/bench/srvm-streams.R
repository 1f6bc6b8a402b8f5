# srvm() on streams, one core:
#
#   Rscript tools/bench/srvm-streams.R           everything: some minutes
#   Rscript tools/bench/srvm-streams.R --quick   a tenth of the rows
#
# 1. Two classes (probit, with separate latent responses in each particle)
#    compared with the normal model: 300 rows, 250 particles, 10 moves. Target:
#    a ratio of 5 or less.
# 2. 200 000 rows, 250 particles with about 30 kernels, a memory of the last
#    1000 rows, up to 100 of them candidates; no moves, a Gibbs sweep every 20
#    rows. Target: 120 s or less; a fit below 3 MB that grows by less than .1 MB
#    after row 10 000, and a process that does not grow. Rows come in batches of
#    a twentieth, with one line per batch.
# 3. update() with a single row after so many: median CPU milliseconds per call,
#    and the sampler's part of them, for successive calls and for repeated calls
#    with the same fit; one kernel and five. Target: 5 ms with
#    bounded memory.

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

stream_data <- function(rows, n) {
  set.seed(rows[[1]])
  x <- stats::runif(length(rows), -10, 10)
  wave <- sin(2 * x + 4 * rows / n) + cos(x)
  data.frame(x = x, y = wave + stats::rnorm(length(rows), 0, 0.3))
}

in_batches <- function(fit, data, size = 500) {
  for (rows in split(seq_len(nrow(data)), seq_len(nrow(data)) %/% size)) {
    fit <- suppressWarnings(update(fit, newdata = data[rows, ]))
  }
  fit
}

# Current memory of the process, on Linux.
resident_megabytes <- function() {
  file <- "/proc/self/status"
  if (!file.exists(file)) {
    return(NA)
  }
  line <- grep("^VmRSS", readLines(file), value = TRUE)
  as.numeric(gsub("[^0-9]", "", line)) / 1024
}

# Rows are made as needed: storing them all would itself take memory.
stream_curve <- function(n, parts = 20) {
  batches <- split(seq_len(n), rep(seq_len(parts), each = n / parts))
  out <- NULL
  before <- 0
  for (rows in batches) {
    data <- stream_data(rows, n)
    seconds <- seconds_of(if (is.null(out)) {
      fit <- first_rows(data)
    } else {
      fit <- in_batches(fit, data)
    })
    k <- mean(utils::tail(fit$runs[[1]]$path$mean_k, length(rows)))
    out <- rbind(out, data.frame(
      rows = max(rows), seconds = seconds, k = k,
      resident_mb = resident_megabytes(),
      fit_mb = as.numeric(utils::object.size(fit)) / 2^20,
      file_mb = length(serialize(fit, NULL)) / 2^20
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

# ---- single rows ------------------------------------------------------------

cpu_of <- function(call) {
  before <- proc.time()
  force(call)
  sum((proc.time() - before)[1:2])
}

update_cost <- function(fit, data, calls = 25) {
  sampler <- function(fit) timings(fit)$sampler
  chained <- numeric(calls)
  inside <- chained
  repeated <- chained
  last <- fit
  for (i in seq_len(calls)) {
    row <- data[i, ]
    chained[[i]] <- cpu_of(new <- suppressWarnings(update(last, newdata = row)))
    inside[[i]] <- sampler(new) - sampler(last)
    last <- new
  }
  for (i in seq_len(calls)) {
    row <- data[i, ]
    repeated[[i]] <- cpu_of(suppressWarnings(update(fit, newdata = row)))
  }
  1000 * c(
    chained = stats::median(chained), sampler = stats::median(inside),
    repeated = stats::median(repeated)
  )
}

update_costs <- function(bounded, unbounded) {
  cost <- function(rows, kernels, memory) {
    data <- stream_data(seq_len(rows + 25), 1e5)
    fit <- suppressWarnings(srvm(y ~ x, data[seq_len(rows), ],
      kernel = kernel_gaussian(if (kernels == 1) 0.15 else "learn"),
      prior = srvm_prior(12), memory = memory, seed = 1, progress = FALSE,
      control = if (memory$window < Inf) {
        smc_control(n_moves = 0, sweep_every = 20)
      }
    ))
    data.frame(
      rows = rows, window = memory$window, kernels = kernels,
      t(update_cost(fit, data[-seq_len(rows), ]))
    )
  }
  window <- srvm_memory(window = 1000, candidates = 100)
  do.call(rbind, c(
    lapply(bounded, cost, 1, window), list(cost(bounded[[1]], 5, window)),
    lapply(unbounded, cost, 1, srvm_memory()),
    lapply(unbounded, cost, 5, srvm_memory())
  ))
}

curve <- stream_curve(if (quick) 2e4 else 2e5)
cat("Stream, one line per twentieth; ", round(sum(curve$seconds), 1),
  " s in all\n\n",
  sep = ""
)
markdown(curve)
cat("\nA single row, CPU ms\n\n")
markdown(update_costs(
  if (quick) c(1e3, 2e3) else c(1e3, 1e4, 1e5), if (quick) 200 else c(200, 1000)
))
cat("\nTwo classes over the normal model, seconds of the sampler\n\n")
markdown(probit_ratio(if (quick) 3 else 11))
