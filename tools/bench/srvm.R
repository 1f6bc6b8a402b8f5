# Speed of srvm(), one core, sampler time (timings(fit)$sampler):
#
#   Rscript tools/bench/srvm.R
#
# sinc: 50 points, 250 particles, without moves and with 10; the cost of a
# step for each particle as rows come in; time and peak memory at 3000 rows.
# Medians over repeated runs. Machines are shared and noisy: compare within
# one run.

library(kernelbayes)

paper_kernel <- kernel_gaussian(1.6 / sqrt(2)) # exp(-r^2 / 1.6^2)

sinc_seconds <- function(n_moves, runs = 25) {
  seconds <- vapply(seq_len(runs), function(s) {
    fit <- srvm(y ~ x, sim_sinc(50, seed = s),
      kernel = paper_kernel, scale = FALSE, seed = s, progress = FALSE,
      prior = srvm_prior(lambda = 1, kmax = 50),
      control = smc_control(n_moves = n_moves)
    )
    timings(fit)$sampler
  }, 0)
  stats::median(seconds)
}

for (n_moves in c(0, 10)) {
  cat(sprintf(
    "sinc, 50 points, N = 250, %2d moves: %5.1f ms\n", n_moves,
    1000 * sinc_seconds(n_moves)
  ))
}

# A filter stopped at increasing t: what the last rows cost.
curve <- function(times, n_moves, particles = 250) {
  data <- sim_sinc(max(times), seed = 1)
  settings <- srvm(y ~ x, data[1:100, ],
    kernel = paper_kernel, scale = FALSE, seed = 1, progress = FALSE,
    prior = srvm_prior(lambda = 10, kmax = 50),
    control = smc_control(particles = particles, n_moves = n_moves)
  )
  fit <- settings
  out <- NULL
  for (t in times[-1]) {
    before <- timings(fit)
    from <- fit$time
    fit <- update(fit, newdata = data[(from + 1):t, ], progress = FALSE)
    spent <- timings(fit)
    own <- (spent$sampler - before$sampler) - (spent$shared - before$shared)
    steps <- t - from
    k <- kernels(fit)
    out <- rbind(out, data.frame(
      t = t, k = sum(k$k * k$probability),
      particle_us = 1e6 * own / steps / particles,
      shared_us = 1e6 * (spent$shared - before$shared) / steps
    ))
  }
  list(table = out, fit = fit)
}

peak_megabytes <- function() {
  status <- "/proc/self/status"
  if (!file.exists(status)) {
    return(NA)
  }
  line <- grep("^VmHWM", readLines(status), value = TRUE)
  as.numeric(gsub("[^0-9]", "", line)) / 1024
}

times <- c(100, 200, 400, 800, 1500, 2200, 3000)
for (n_moves in c(0, 10)) {
  before <- peak_megabytes()
  run <- curve(times, n_moves)
  cat(sprintf("\nN = 250, %d moves: cost of a step\n", n_moves))
  print(run$table, row.names = FALSE, digits = 3)
  cat(sprintf(
    "3000 rows: sampler %.1f s, peak memory of the process %.0f MB (%.0f MB before)\n",
    timings(run$fit)$sampler, peak_megabytes(), before
  ))
}
