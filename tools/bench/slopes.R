# How does the cost of each engine grow with the number of rows n and the number
# of predictors p?
#
#   Rscript tools/bench/slopes.R                    all engines (10 minutes)
#   Rscript tools/bench/slopes.R --engine=bark,kgs  only these
#   Rscript tools/bench/slopes.R --quick            smaller sizes
#   Rscript tools/bench/slopes.R --save=vignettes/articles/slopes.rds
#   Rscript tools/bench/slopes.R --exchanges        only what it would cost to
#                                                   divide a ladder of bark()
#
# CPU seconds per unit of work, on one thread, at four values of n and four of
# p: per sweep of a chain, per row of srvm() at row n, per call of kbr(), per
# step of kbr_filter(). The time to open a run is subtracted. The slope of a
# line through the logarithms is the power of n, or of p, in the cost; sizes
# too small for the leading term make it too low. tdsmc() is missing: its cost
# is that of the user's functions. CPU time depends less than wall time on what
# else runs, but use a quiet machine. vignettes/articles/clusters.Rmd shows the
# saved results; those of one engine replace its earlier ones in the file.

library(kernelbayes)

script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1])
script <- normalizePath(gsub("~+~", " ", script, fixed = TRUE))
tools <- dirname(dirname(script))
source(file.path(tools, "arguments.R"))
source(file.path(dirname(script), "report.R"))
source(file.path(tools, "reproduce", "tables.R"))
refuse_unknown(c("quick", "exchanges"), c("engine", "save"))
quick <- flag("quick")
options(mc.cores = 1)

# Seconds ----------------------------------------------------------------------

quiet <- function(expr) suppressWarnings(suppressMessages(expr))

# Of this process and its children; other processes do not count.
cpu_seconds <- function(expr) {
  before <- proc.time()
  quiet(expr)
  sum((proc.time() - before)[-3])
}

# Long enough to measure
enough <- if (quick) 0.2 else 0.6

# Seconds per unit of `work(m)`, whose result is not used: m doubles until it
# takes long enough. `work(1)` measures what m does not change. The least of
# three, because other processes slow this one down.
per_unit <- function(work) {
  fixed <- min(cpu_seconds(work(1)), cpu_seconds(work(1)))
  m <- 1
  repeat {
    seconds <- cpu_seconds(work(m + 1)) - fixed
    if (seconds >= enough) break
    m <- 2 * m
  }
  min(seconds, replicate(2, cpu_seconds(work(m + 1)) - fixed)) / m
}

per_sweep <- function(fit) {
  per_unit(function(m) update(fit, iter = m, progress = FALSE))
}

# A chain is timed after its warmup.
warm <- function(warmup) {
  mcmc_control(chains = 1, warmup = warmup, iter = 1, threads = 1)
}

friedman <- function(n, p) sim_friedman(n, p, seed = 1)

# The mean over the rows within a tenth of row n
row_seconds <- function(n, p) {
  more <- max(n %/% 5, 20)
  first <- n - more %/% 2
  data <- friedman(first + more, p)
  fit <- quiet(srvm(y ~ ., data[seq_len(first), ],
    kernel = kernel_gaussian(), control = smc_control(threads = 1), seed = 1,
    progress = FALSE
  ))
  spent <- function(m) {
    min(replicate(3, cpu_seconds(
      update(fit, newdata = data[first + seq_len(m), ], progress = FALSE)
    )))
  }
  (spent(more) - spent(1)) / (more - 1)
}

call_seconds <- function(n, p, rank) {
  data <- friedman(n, p)
  x <- as.matrix(data[paste0("x", seq_len(p))])
  work <- function() kbr(data$y, x, method = "kbr", rank = rank, seed = 1)
  calls <- numeric()
  while (sum(calls) < 3 * enough) calls <- c(calls, cpu_seconds(work()))
  min(calls)
}

# Every observation is the state with noise of its own.
step_seconds <- function(n, p) {
  series <- function(n, seed) {
    states <- sim_linear_hmm(n, seed = seed)$states
    set.seed(seed)
    list(
      states = states, observations = drop(states) + matrix(rnorm(n * p), n, p)
    )
  }
  seen <- series(n, 1)
  hmm <- quiet(kbr_hmm(seen$states, seen$observations,
    rank = 50, method = "kbr", seed = 1
  ))
  new <- series(2000, 2)$observations
  per_unit(function(m) {
    kbr_filter(hmm, new[rep_len(seq_len(2000), m), , drop = FALSE])
  })
}

# Engines ----------------------------------------------------------------------

# `unit` of work, values of n at p[[2]], and of p at n[[2]]; seconds per unit.
engines <- list(
  srvm = list(
    unit = "row", n = c(100, 300, 1000, 3000), p = c(5, 10, 20, 40),
    seconds = row_seconds
  ),
  srvm_mcmc = list(
    unit = "sweep", n = c(100, 300, 1000, 3000), p = c(5, 10, 20, 40),
    seconds = function(n, p) {
      per_sweep(quiet(srvm(y ~ ., friedman(n, p),
        kernel = kernel_gaussian(), method = "mcmc", control = warm(200),
        seed = 1, progress = FALSE
      )))
    }
  ),
  bark = list(
    unit = "sweep", n = c(100, 300, 1000, 3000), p = c(5, 10, 20, 40),
    seconds = function(n, p) {
      per_sweep(quiet(bark(y ~ ., friedman(n, p),
        control = warm(200), seed = 1, progress = FALSE
      )))
    }
  ),
  kgs = list(
    unit = "sweep", n = c(100, 300, 1000, 2000), p = c(5, 10, 20, 40),
    seconds = function(n, p) {
      data <- sim_quadratic(n, p, flips = 0.1, seed = 1)
      per_sweep(quiet(kgs(y ~ ., data,
        method = "hmc", rank = n, control = warm(100), seed = 1,
        progress = FALSE
      )))
    }
  ),
  kbr_full = list(
    unit = "call", n = c(250, 500, 1000, 2000), p = c(5, 10, 20, 40),
    seconds = function(n, p) call_seconds(n, p, "full")
  ),
  kbr_rank_100 = list(
    unit = "call", n = c(3000, 10000, 30000, 1e5), p = c(5, 10, 20, 40),
    seconds = function(n, p) call_seconds(n, p, 100)
  ),
  kbr_filter = list(
    unit = "step", n = c(300, 1000, 3000, 10000), p = c(1, 3, 10, 30),
    seconds = step_seconds
  )
)

measure <- function(name) {
  engine <- engines[[name]]
  if (quick) engine$n <- engine$n / 5
  size <- rbind(
    data.frame(varied = "n", n = engine$n, p = engine$p[[2]]),
    data.frame(varied = "p", n = engine$n[[2]], p = engine$p)
  )
  again <- duplicated(size[c("n", "p")])
  seconds <- rep(NA_real_, nrow(size))
  seconds[!again] <- mapply(engine$seconds, size$n[!again], size$p[!again])
  same <- size$n == engine$n[[2]] & size$p == engine$p[[2]]
  seconds[again] <- seconds[same & !again]
  data.frame(engine = name, unit = engine$unit, size, seconds)
}

# The power of the size that varied, with its standard error
slope_of <- function(points, varied) {
  points <- points[points$varied == varied, ]
  line <- stats::lm(log(points$seconds) ~ log(points[[varied]]))
  found <- stats::coef(summary(line))[2, 1:2]
  sprintf("%.2f (%.2f)", found[[1]], found[[2]])
}

show <- function(points) {
  unit <- points$unit[[1]]
  table <- points[c("engine", "n", "p", "seconds")]
  names(table)[[4]] <- paste("seconds per", unit)
  table[["slope (se)"]] <- ""
  for (varied in c("n", "p")) {
    first <- which(points$varied == varied)[[1]]
    table[["slope (se)"]][[first]] <- paste0(
      varied, ": ", slope_of(points, varied)
    )
  }
  markdown(table)
}

# Exchanges between workers ----------------------------------------------------

# Milliseconds of a round trip to a worker with something to bring back
round_trip <- function(load) {
  seconds <- replicate(200, {
    seconds_of(mirai::mirai(load, load = load)[])
  })
  1000 * stats::median(seconds)
}

# Rungs on different workers would wait for a round trip after every sweep.
exchange_cost <- function(n) {
  rungs <- 8
  fit <- quiet(bark(y ~ ., friedman(n, 10),
    control = mcmc_control(
      chains = 1, warmup = 100, iter = 1, n_temps = rungs, threads = 1
    ),
    seed = 1, progress = FALSE
  ))
  states <- fit$runs[[1]]$levels
  bytes <- vapply(states, function(x) length(serialize(x, NULL)), 1)
  data.frame(
    n = n, kb_per_state = mean(bytes) / 1000,
    ms_per_sweep = 1000 * per_sweep(fit) / rungs,
    ms_empty_trip = round_trip(NULL),
    ms_trip_with_state = round_trip(states[[1]])
  )
}

# ------------------------------------------------------------------------------

show_exchanges <- function() {
  mirai::daemons(1)
  on.exit(mirai::daemons(0))
  markdown(do.call(rbind, lapply(c(200, 1000), exchange_cost)))
}

show_slopes <- function(chosen, file) {
  started <- proc.time()
  for (name in chosen) {
    points <- measure(name)
    show(points)
    if (!is.null(file)) save_points(points, file)
  }
  minutes <- sum((proc.time() - started)[-3]) / 60
  cat(format(round(minutes, 1)), "minutes of CPU time\n")
}

save_points <- function(points, file) {
  before <- if (file.exists(file)) readRDS(file)
  points <- rbind(before[!before$engine %in% points$engine, ], points)
  points <- points[order(match(points$engine, names(engines))), ]
  rownames(points) <- NULL
  attr(points, "about") <- list(
    date = format(Sys.Date()), quick = quick, R = R.version.string,
    versions = package_versions(c("kernelbayes", "RcppEigen", "BH"))
  )
  saveRDS(points, file, version = 2, compress = "xz")
}

if (flag("exchanges")) {
  show_exchanges()
} else {
  show_slopes(several("engine", names(engines)), option("save"))
}
