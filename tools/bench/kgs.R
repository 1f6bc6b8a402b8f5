# Speed and mixing of kgs(), one core, compared with a plain implementation of
# the paper's sampler:
#
#   Rscript tools/bench/kgs.R              everything
#   Rscript tools/bench/kgs.R --quick      shorter runs, fewer sizes
#   Rscript tools/bench/kgs.R --part=a,b   of samplers, scale
#
# Prints markdown. Needs the installed package and a compiler. Machines are
# shared and noisy: compare within one run.
#
# samplers: milliseconds per step, and effective draws per second (bulk, median
#    over f at 60 fresh points; two chains, without the warmup), q known, 0.1.
#    R-hat, the largest over the points, shows whether they mean anything. Set
#    A: sim_moons, bandwidth 1. Set B: sim_quadratic, bandwidth 3. Both have 5%
#    of the labels flipped, bias 0, unscaled predictors. "block" has another
#    posterior, with a nugget of 0.5. "ratio": effective draws per second
#    divided by those of the paper's sampler (plain-circle.cpp) in the same run.
#    Target, set B: hmc 8000 effective draws per second at m = 100, 440 at 500,
#    100 at 1000; 0.2 ms per circle step at m = 1000; a ratio of 20 at m = 100
#    and 50 at 500.
# scale: rank 100 and the coordinate sampler, in its own process: seconds to set
#    up, seconds of the default call, peak memory. Target at m = 10^5: 2 s to
#    set up, 60 s for the default call.

library(kernelbayes)

script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1])
script <- normalizePath(gsub("~+~", " ", script, fixed = TRUE))
source(file.path(dirname(dirname(script)), "arguments.R"))
source(file.path(dirname(script), "report.R"))

refuse_unknown("quick", c("part", "size"))
quick <- flag("quick")
size <- option("size")
chosen <- several("part", c("samplers", "scale"), "fit")

without_expected_warnings <- function(expr) {
  withCallingHandlers(expr, warning = function(w) {
    if (inherits(w, c("kb_warning_convergence", "kb_warning_rank"))) {
      invokeRestart("muffleWarning")
    }
  })
}

# ---- data -------------------------------------------------------------------

flips <- 0.05
rate <- 0.1

sets <- list(
  A = list(
    sample = function(m, seed) sim_moons(m, flips = flips, seed = seed),
    kernel = kernel_gaussian(1)
  ),
  B = list(
    sample = function(m, seed) sim_quadratic(m, flips = flips, seed = seed),
    kernel = kernel_gaussian(3)
  )
)

fit_set <- function(name, m, method, ..., noise = rate) {
  set <- sets[[name]]
  without_expected_warnings(kgs(
    y ~ ., set$sample(m, 1),
    kernel = set$kernel, noise = noise, bias = 0, scale = FALSE,
    nugget = if (method == "block") 0.5 else 0, method = method, seed = 1,
    progress = FALSE, ...
  ))
}

# ---- samplers ---------------------------------------------------------------

budget <- if (quick) 1 else 20 # seconds for the draws of a sampler
most_draws <- 4000 # of each chain
least_steps <- 100

# The lengths of a run, warmup and further steps, that fill the budget if a step
# takes `seconds`; and the thinning.
plan_steps <- function(seconds) {
  iter <- floor(min(max(budget / 2 / seconds, least_steps), 1e5))
  list(
    chains = 2, warmup = max(50, iter %/% 4), iter = iter,
    thin = ceiling(iter / most_draws)
  )
}

# `f`: list of matrices draws x points, one per chain.
mixing <- function(f) {
  at <- lapply(seq_len(ncol(f[[1]])), function(j) {
    vapply(f, function(v) v[, j], numeric(nrow(f[[1]])))
  })
  c(
    ess = stats::median(vapply(at, posterior::ess_bulk, 0)),
    rhat = max(vapply(at, posterior::rhat, 0))
  )
}

line_of <- function(set, m, rank, method, steps, seconds, f) {
  health <- mixing(f)
  data.frame(
    set = set, m = m, rank = rank, method = method,
    "ms per step" = 1000 * seconds / steps, "ESS/s" = health[["ess"]] / seconds,
    ESS = health[["ess"]], "R-hat" = health[["rhat"]], check.names = FALSE
  )
}

# Seconds of the sampler without its warmup: the time of the whole run minus
# that of a run with the same seed that ends with the warmup.
bench_method <- function(set, m, method, new) {
  short <- fit_set(set, m, method,
    control = mcmc_control(chains = 1, warmup = 10, iter = 50)
  )
  control <- plan_steps(timings(short)$sampler / 60)
  run <- function(iter, thin) {
    control[c("iter", "thin")] <- list(iter, thin)
    fit_set(set, m, method, control = do.call(mcmc_control, control))
  }
  warmed <- timings(run(1, 1))$sampler
  measure <- function(iter, thin) {
    fit <- run(iter, thin)
    f <- stats::predict(fit, new, type = "draws")
    line_of(
      set, m, ncol(fit$settings$basis$factor), method, 2 * (iter - 1),
      timings(fit)$sampler - warmed, split_chains(f, control$chains)
    )
  }
  line <- measure(control$iter, control$thin)
  # Thinned draws that are independent say nothing about those in between.
  independent <- line$ESS > 0.8 * 2 * control$iter / control$thin
  if (independent && control$thin > 1) line <- measure(most_draws, 1)
  line
}

# Draws are ordered by chain.
split_chains <- function(f, chains) {
  rows <- split(seq_len(nrow(f)), rep(seq_len(chains), each = nrow(f) / chains))
  lapply(rows, function(r) f[r, , drop = FALSE])
}

# The paper's sampler on features that span the same space.
bench_plain <- function(set, m, new) {
  data <- sets[[set]]$sample(m, 1)
  features <- plain_features(sets[[set]]$kernel, data, new)
  sign <- 2 * as.integer(data$y) - 3
  set.seed(1)
  run <- function(warmup, iter, thin = 1) {
    plain_circle(features$fit, sign, rate, warmup, iter, thin)
  }
  control <- plan_steps(seconds_of(run(0, 20)) / 20)
  f <- list()
  seconds <- 0
  for (chain in seq_len(control$chains)) {
    warmed <- seconds_of(run(0, control$warmup))
    spent <- seconds_of(
      w <- run(control$warmup, control$iter, control$thin)
    )
    seconds <- seconds + spent - warmed
    f[[chain]] <- t(features$new %*% w)
  }
  line_of(
    set, m, ncol(features$fit), "the paper's", 2 * control$iter, seconds, f
  )
}

# phi phi' is the kernel matrix of the rows to fit.
plain_features <- function(kernel, data, new) {
  predictors <- function(data) as.matrix(data[startsWith(names(data), "x")])
  x <- predictors(data)
  parts <- eigen(kernel_matrix(kernel, x), symmetric = TRUE)
  kept <- parts$values > 1e-10 * parts$values[[1]]
  root <- sqrt(parts$values[kept])
  u <- parts$vectors[, kept, drop = FALSE]
  list(
    fit = u %*% diag(root),
    new = kernel_matrix(kernel, predictors(new), x) %*% u %*% diag(1 / root)
  )
}

bench_samplers <- function() {
  Rcpp::sourceCpp(file.path(dirname(script), "plain-circle.cpp"),
    env = globalenv()
  )
  sizes <- if (quick) 100 else c(100, 500, 1000, 2000)
  methods <- c("hmc", "circle", "coordinate", "block")
  cells <- expand.grid(m = sizes, set = names(sets), stringsAsFactors = FALSE)
  cat("\n## Samplers\n\n")
  tables <- Map(function(set, m) {
    new <- sets[[set]]$sample(60, 2)
    plain <- bench_plain(set, m, new)
    lines <- lapply(methods, function(method) bench_method(set, m, method, new))
    table <- rbind(plain, do.call(rbind, lines))
    table$ratio <- table[["ESS/s"]] / plain[["ESS/s"]]
    table
  }, cells$set, cells$m)
  markdown(do.call(rbind, unname(tables)))
}

# ---- many points ------------------------------------------------------------

# In its own process, so that no other work counts towards its memory.
bench_fit <- function() {
  m <- as.numeric(sub("[AB]", "", size))
  set <- substr(size, 1, 1)
  before <- peak_megabytes()
  fit_many <- function(...) {
    fit_set(set, m, "coordinate",
      rank = 100, noise = noise_beta(), control = mcmc_control(...)
    )
  }
  seconds <- seconds_of(one <- fit_many(chains = 1, warmup = 0, iter = 1))
  settings <- seconds - timings(one)$sampler
  seconds <- seconds_of(fit <- fit_many())
  f <- ess(fit)
  cat(sprintf(
    "| %s | %.0f | %.2f | %.1f | %.1f | %.2f | %.0f | %.0f |\n", set, m,
    settings, seconds, 100 * fit$settings$basis$unexplained,
    max(f$rhat, na.rm = TRUE), min(f$ess_bulk, na.rm = TRUE),
    peak_megabytes() - before
  ))
}

bench_scale <- function() {
  cat("\n## Many points, rank 100\n\n")
  header <- c(
    "set", "m", "set-up, s", "default call, s", "unexplained, %", "R-hat",
    "ESS", "peak MB more"
  )
  rule <- c("---", rep("---:", length(header) - 1))
  for (line in list(header, rule)) {
    cat("|", paste(line, collapse = " | "), "|\n")
  }
  sizes <- if (quick) 2000 else c(1e4, 1e5)
  for (name in paste0(rep(names(sets), length(sizes)), rep(format(sizes,
    scientific = FALSE, trim = TRUE
  ), each = 2))) {
    system2(file.path(R.home("bin"), "Rscript"),
      c(shQuote(script), "--part=fit", paste0("--size=", name)),
      env = paste0("R_LIBS=", paste(.libPaths(), collapse = .Platform$path.sep))
    )
  }
}

bench <- list(
  samplers = bench_samplers, scale = bench_scale, fit = bench_fit
)
for (name in chosen) bench[[name]]()
