# Speed and mixing of bark(), one core, compared with the CRAN package of that
# name and dbarts on the same data:
#
#   Rscript tools/bench/bark.R              everything
#   Rscript tools/bench/bark.R --quick      shorter runs, fewer sizes
#   Rscript tools/bench/bark.R --part=a,b   of iteration, mixing, default,
#                                           memory
#
# Prints markdown. The peers must be installed
# (Rscript tools/deps.R reproduce_bark). Data: Friedman 1 with p = 10, unless
# stated otherwise. Machines are shared and noisy: compare within one run.
#
# iteration: microseconds per iteration, prior "different", gamma 10 and eps 0.5
#    in both. An iteration is as in the CRAN package: one birth, death or
#    update, the noise, and with probability 0.2 the scales, i.e.
#    mcmc_control(sweep = "single", n_temps = 1); few are kept. Target: 7, 13,
#    35, 90 and 220 at n = 100, 200, 500, 1000 and 2000. Both are timed after a
#    warmup, as the difference between a longer and a shorter run; medians of
#    alternating runs.
# mixing: effective sample size (bulk) per second of the whole call, including
#    burn-in, of two chains; R-hat shows whether it means anything. The worst of
#    the five signals' lambdas and of f at 20 test points is reported. f is the
#    conditional mean given everything except the coefficients: noise in wrong
#    coefficients would look like mixing. For the CRAN package the conditional
#    means and log likelihood are computed here from its output. For dbarts
#    f(x*) is its draws, since there is nothing else.
# default: the default call of bark() with two workers. Target: R-hat below 1.05
#    and effective sample sizes above 400 for all of them within 60 s.
# memory: size of a saved fit with n = 2000 and 4000 kept draws (target: below
#    50 MB), and peak memory of a process that fits n = 20 000.

library(kernelbayes)

script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1])
script <- normalizePath(gsub("~+~", " ", script, fixed = TRUE))
tools <- dirname(dirname(script))
source(file.path(tools, "arguments.R"))
source(file.path(tools, "bench", "report.R"))
source(file.path(tools, "peers-tuned.R"))
source(file.path(tools, "reproduce", "bark-methods.R"))

refuse_unknown("quick", "part")
quick <- flag("quick")
chosen <- several("part", c("iteration", "mixing", "default", "memory"), "peak")

friedman_data <- function(n, p = 10, seed = 1, which = 1) {
  data <- sim_friedman(n, p, which, seed = seed)
  x <- paste0("x", seq_len(p))
  list(x = as.matrix(data[x]), y = data$y)
}

# ---- the cost of an iteration -----------------------------------------------

microseconds_ours <- function(data, iterations) {
  control <- mcmc_control(
    chains = 1, warmup = 2000, iter = 100, thin = 100, sweep = "single",
    n_temps = 1
  )
  fit <- without_convergence_warning(bark(data$x, data$y,
    prior = bark_prior_paper("different"), control = control, seed = 1,
    progress = FALSE
  ))
  before <- timings(fit)$sampler
  later <- without_convergence_warning(update(fit,
    iter = iterations, progress = FALSE
  ))
  1e6 * (timings(later)$sampler - before) / iterations
}

# Two and three times as many iterations: the first ones are burn-in.
microseconds_cran <- function(data, iterations) {
  run <- function(nkeep) {
    seconds_of(fit_cran_bark(data$x, data$y, data$x[1:2, ], 1, "different",
      keepevery = iterations, nburn = 1, nkeep = nkeep,
      fixed = list(gam = 10, eps = 0.5)
    ))
  }
  1e6 * (run(2) - run(1)) / iterations
}

bench_iteration <- function() {
  sizes <- if (quick) c(100, 200, 500) else c(100, 200, 500, 1000, 2000)
  runs <- if (quick) 1 else 3
  cat("\n## Microseconds for each iteration\n\n")
  rows <- lapply(sizes, function(n) {
    data <- friedman_data(n)
    data$y <- (data$y - mean(data$y)) / stats::sd(data$y)
    times <- replicate(runs, c(
      microseconds_ours(data, max(2000, 2e6 / n)),
      microseconds_cran(data, round(max(200, 2e5 / n)))
    ))
    each <- apply(times, 1, stats::median)
    data.frame(
      n = n, kernelbayes = each[[1]], CRAN = each[[2]],
      ratio = each[[2]] / each[[1]]
    )
  })
  markdown(do.call(rbind, rows))
}

# ---- mixing -----------------------------------------------------------------

# Summarises named matrices draws x chains in one row.
mixing_line <- function(chains, seconds, ...) {
  size <- vapply(chains, posterior::ess_bulk, 0)
  rhat <- vapply(chains, posterior::rhat, 0)
  groups <- sub("[[].*", "", names(chains))
  worst <- function(v, f) tapply(v, factor(groups, unique(groups)), f)
  rbind(
    data.frame(..., measure = "ESS/s", t(worst(size, min) / seconds)),
    data.frame(..., measure = "ESS", t(worst(size, min))),
    data.frame(..., measure = "R-hat", t(worst(rhat, max)))
  )
}

# One matrix draws x chains per quantity. `each`, `f` and `lambda` are lists
# with one element per chain: named vectors, and matrices with one column per
# test point or predictor.
as_chains <- function(each, f, lambda, signals) {
  draws <- numeric(nrow(f[[1]]))
  column <- function(chains, j) vapply(chains, function(v) v[, j], draws)
  points <- lapply(seq_len(ncol(f[[1]])), column, chains = f)
  names(points) <- paste0("f[", seq_along(points), "]")
  scales <- lapply(seq_along(signals), column, chains = lambda)
  names(scales) <- sprintf("lambda[%d]", signals)
  common <- lapply(stats::setNames(nm = names(each[[1]])), function(name) {
    vapply(each, `[[`, draws, name)
  })
  c(common, scales, points)
}

# Conditional means, draws x points, from which the package computes its
# intervals.
conditional_means <- function(fit, new) {
  internal <- asNamespace("kernelbayes")
  t(internal$bark_values(fit, new, internal$bark_pool(fit), "mean")$mean)
}

chains_ours <- function(fit, new, signals) {
  draws <- posterior::as_draws_df(as_draws(fit))
  rows <- split(seq_len(nrow(draws)), draws$.chain)
  f <- conditional_means(fit, new)
  lambda <- as.matrix(as.data.frame(draws)[paste0("lambda[", signals, "]")])
  each <- lapply(rows, function(r) {
    list(
      phi = 1 / draws$sigma[r]^2, log_lik = draws$log_lik[r], J = draws$J[r]
    )
  })
  as_chains(each, lapply(rows, function(r) f[r, ]), lapply(rows, function(r) {
    lambda[r, , drop = FALSE]
  }), signals)
}

# For a draw of the CRAN package: the conditional mean at `new`, and the log
# likelihood without the coefficients, both standardised.
cran_state <- function(fit, i, x, y, new) {
  at <- which(fit$theta.nvec[i, ] > 0)
  lambda <- fit$theta.lambda[i, ]
  phi <- fit$theta.phi[i]
  column <- function(rows) {
    gram <- exp(-weighted_distances(rows, x, lambda))
    cbind(1, gram)[, at, drop = FALSE]
  }
  k <- column(x)
  precision <- fit$theta.varphi[i, at] / fit$theta.nvec[i, at]^2
  inverse <- phi * crossprod(k) + diag(precision, length(at))
  root <- chol(inverse)
  mu <- phi * backsolve(root, backsolve(root, crossprod(k, y),
    transpose = TRUE
  ))
  fitted <- k %*% mu
  log_lik <- length(y) / 2 * log(phi / (2 * pi)) + sum(log(precision)) / 2 -
    sum(log(diag(root))) - phi * sum(y * (y - fitted)) / 2
  list(log_lik = log_lik, f = column(new) %*% mu)
}

weighted_distances <- function(a, b, lambda) {
  a <- sweep(a, 2, sqrt(lambda), "*")
  b <- sweep(b, 2, sqrt(lambda), "*")
  outer(rowSums(a^2), rowSums(b^2), "+") - 2 * tcrossprod(a, b)
}

chains_cran <- function(fits, data, new, signals) {
  by <- column_scale(data$x)
  x <- apply_scale(data$x, by)
  y <- as.vector(scale(data$y))
  states <- lapply(fits, function(fit) {
    lapply(seq_along(fit$theta.phi), function(i) {
      cran_state(fit, i, x, y, apply_scale(new, by))
    })
  })
  each <- Map(function(fit, states) {
    list(
      phi = as.vector(fit$theta.phi),
      log_lik = vapply(states, `[[`, 0, "log_lik"), J = rowSums(fit$theta.nvec)
    )
  }, fits, states)
  f <- lapply(states, function(s) t(vapply(s, `[[`, numeric(nrow(new)), "f")))
  lambda <- lapply(fits, `[[`, "theta.lambda")
  as_chains(each, f, lambda, signals)
}

mixing_ours <- function(data, new, p) {
  seconds <- seconds_of(fit <- without_convergence_warning(bark(data$x, data$y,
    prior = bark_prior_paper("different"), seed = 1, progress = FALSE,
    control = mcmc_control(chains = 2, iter = if (quick) 500 else 4000)
  )))
  mixing_line(chains_ours(fit, new, 1:5), seconds,
    p = p, method = "kernelbayes"
  )
}

mixing_cran <- function(data, new, p) {
  data$y <- as.vector(scale(data$y))
  seconds <- seconds_of(fits <- lapply(1:2, function(seed) {
    fit_cran_bark(data$x, data$y, new, seed, "different",
      keepevery = 20, nburn = if (quick) 50 else 500,
      nkeep = if (quick) 50 else 1000, fixed = list(gam = 10, eps = 0.5)
    )
  }))
  mixing_line(chains_cran(fits, data, new, 1:5), seconds,
    p = p, method = "CRAN bark"
  )
}

mixing_dbarts <- function(data, new, p) {
  seconds <- seconds_of(fits <- lapply(1:2, function(seed) {
    fit_dbarts(data$x, data$y, new, seed, ndpost = if (quick) 500 else 4000)
  }))
  each <- lapply(fits, function(fit) list(phi = 1 / fit$sigma^2))
  chains <- as_chains(each, lapply(fits, `[[`, "yhat.test"), NULL, integer())
  line <- mixing_line(chains, seconds, p = p, method = "dbarts")
  line[c("log_lik", "J", "lambda")] <- NA_real_
  line
}

bench_mixing <- function() {
  cat("\n## Mixing, n = 200, prior \"different\"\n\n")
  rows <- lapply(if (quick) 5 else c(5, 20, 100), function(p) {
    data <- friedman_data(200, p)
    new <- friedman_data(20, p, seed = 2)$x
    lines <- list(
      mixing_ours(data, new, p), mixing_cran(data, new, p),
      mixing_dbarts(data, new, p)
    )
    do.call(rbind, lapply(lines, function(line) line[names(lines[[1]])]))
  })
  markdown(do.call(rbind, rows))
}

# ---- the default call -------------------------------------------------------

bench_default <- function() {
  cat("\n## The default call, n = 200, two workers\n\n")
  future::plan(future::multisession, workers = 2)
  on.exit(future::plan(future::sequential))
  rows <- lapply(1:3, function(which) {
    p <- if (which == 1) 10 else 4
    data <- friedman_data(200, p, which = which)
    new <- friedman_data(20, p, seed = 2, which = which)$x
    seconds <- seconds_of(fit <- without_convergence_warning(
      bark(data$x, data$y, seed = 1, progress = FALSE)
    ))
    signals <- if (which == 1) 1:5 else 1:4
    line <- mixing_line(chains_ours(fit, new, signals), seconds,
      data = paste("Friedman", which)
    )
    data.frame(line[line$measure != "ESS/s", ], seconds = seconds)
  })
  markdown(do.call(rbind, rows))
}

# ---- memory -----------------------------------------------------------------

fit_memory <- function(n, ...) {
  data <- friedman_data(n)
  without_convergence_warning(bark(data$x, data$y,
    control = mcmc_control(...), seed = 1, progress = FALSE
  ))
}

# In its own process, so that no other work counts towards its memory.
show_peak <- function() {
  before <- peak_megabytes()
  fit <- fit_memory(20000, chains = 1, warmup = 10, iter = 10)
  cat(sprintf(
    "n = 20 000: peak memory %.0f MB (%.0f MB before the fit), %.1f s.\n",
    peak_megabytes(), before, timings(fit)$sampler
  ))
}

bench_memory <- function() {
  cat("\n## Memory\n\n")
  draws <- if (quick) 100 else 1000
  fit <- fit_memory(2000, chains = 4, warmup = draws, iter = draws)
  file <- tempfile(fileext = ".rds")
  saveRDS(fit, file)
  cat(sprintf(
    "n = 2000, %d draws: %.1f MB saved, %.1f MB in memory, %.0f s.\n\n",
    4 * draws, file.size(file) / 1e6, as.numeric(utils::object.size(fit)) / 1e6,
    timings(fit)$sampler
  ))
  system2(file.path(R.home("bin"), "Rscript"),
    c(shQuote(script), "--part=peak"),
    env = paste0("R_LIBS=", paste(.libPaths(), collapse = .Platform$path.sep))
  )
}

bench <- list(
  iteration = bench_iteration, mixing = bench_mixing, default = bench_default,
  memory = bench_memory, peak = show_peak
)
for (name in chosen) bench[[name]]()
