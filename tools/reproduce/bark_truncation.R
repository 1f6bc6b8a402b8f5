# Compares the two finite approximations of the stable Levy field of bark():
# continuous (coefficients integrated out) and truncation (coefficients
# sampled), Ouyang, Clyde and Wolpert (2008), section 2.1:
#
#   Rscript tools/reproduce/bark_truncation.R            about 10 minutes
#   Rscript tools/reproduce/bark_truncation.R --quick    a short trial run
#   --repeats=2       repeats of each data set
#   --output=file     instead of vignettes/precomputed/bark_truncation.rds
#
# With alpha = 1, gamma fixed and eps falling, both tend to the same Cauchy
# field. Do their posteriors approach each other, and at what cost?
#
# Protocol: repeat r of "curve" is sim_sinc(50, seed = r) with f at 101 points;
# repeat r of "friedman1" is sim_friedman(100, seed = r) with f at 200 further
# points (seed 1000 + r). The responses are standardised; gamma and eps are in
# those units. Both approximations run the same number of chains and iterations.
# `rmse` is the error of the posterior mean of f divided by the standard
# deviation of the noise, `apart` the root mean squared difference of the two
# posterior means in the same units, and `noise_floor` the difference expected
# from Monte Carlo error only. Times are processor times. Effective draws are
# the bulk effective sample sizes of f at 10 of the points (their median) and
# of sigma.

sets <- list(
  curve = list(
    sample = function(r) sim_sinc(50, seed = r),
    points = function(r) data.frame(x = seq(-10, 10, length.out = 101)),
    truth = function(points, r) ifelse(points$x == 0, 1, sin(points$x) /
      points$x),
    noise = 0.1, type = "equal", gamma = 1,
    eps = c(0.5, 0.2, 0.1, 0.05, 0.02)
  ),
  friedman1 = list(
    sample = function(r) sim_friedman(100, seed = r),
    points = function(r) sim_friedman(200, seed = 1000 + r, truth = TRUE),
    truth = function(points, r) points$f,
    noise = 1, type = "different", gamma = 5, eps = c(1, 0.5, 0.25, 0.1)
  )
)

approximations <- c("continuous", "truncation")

predictors <- function(data) {
  data[setdiff(names(data), c("y", "f"))]
}

prior_of <- function(set, eps, approximation) {
  bark_prior_paper(set$type,
    gamma = set$gamma, eps = eps, approximation = approximation
  )
}

fit_one <- function(set, data, eps, approximation, plan, seed) {
  suppressWarnings(bark(predictors(data), data$y,
    prior = prior_of(set, eps, approximation), scale = "linear",
    control = plan$control, seed = seed
  ))
}

effective <- function(draws, chains) {
  posterior::ess_bulk(matrix(draws, ncol = chains))
}

# Summary of one fit, with the posterior mean of f at the points and its Monte
# Carlo variance, estimated from the spread of the chains.
describe_fit <- function(fit, seconds, set, points, r) {
  chains <- fit$control$chains
  f <- predict(fit, predictors(points), type = "draws")
  n <- nrow(f) / chains
  each <- vapply(seq_len(chains), function(k) {
    colMeans(f[(k - 1) * n + seq_len(n), , drop = FALSE])
  }, numeric(ncol(f)))
  mean <- predict(fit, predictors(points))
  some <- round(seq(1, ncol(f), length.out = 10))
  prior <- fit$settings$prior
  ess_f <- stats::median(apply(f[, some], 2, effective, chains))
  sigma <- as.data.frame(as_draws(fit))
  truth <- set$truth(points, r)
  list(
    mean = mean, variance = apply(each, 1, stats::var) / chains,
    line = data.frame(
      expected = prior$nu, discrepancy = prior$discrepancy,
      kernels = mean(sigma$J),
      rmse = sqrt(mean((mean - truth)^2)) / set$noise,
      sigma = sigma(fit) / set$noise, rhat = max(subset(
        ess(fit), variable %in% c("sigma", "J", "log_lik")
      )$rhat),
      seconds = seconds, ms_per_f = 1000 * seconds / ess_f,
      ms_per_sigma = 1000 * seconds / effective(sigma$sigma, chains)
    )
  )
}

run_pair <- function(name, eps, r, plan) {
  set <- sets[[name]]
  data <- set$sample(r)
  points <- set$points(r)
  both <- lapply(approximations, function(approximation) {
    time <- system.time(
      fit <- fit_one(set, data, eps, approximation, plan, 100 * r)
    )
    describe_fit(fit, sum(time[1:2]), set, points, r)
  })
  message(name, ", eps ", eps, ", repeat ", r)
  apart <- sqrt(mean((both[[1]]$mean - both[[2]]$mean)^2)) / set$noise
  floor <- sqrt(mean(both[[1]]$variance + both[[2]]$variance)) / set$noise
  data.frame(
    data = name, eps = eps, set = r, approximation = approximations,
    do.call(rbind, lapply(both, `[[`, "line")), apart = apart,
    noise_floor = floor
  )
}

# Root mean squares of distances, geometric means of times.
summarise_runs <- function(runs) {
  key <- paste(runs$data, runs$eps, runs$approximation)
  lines <- lapply(split(runs, factor(key, unique(key))), function(run) {
    data.frame(
      run[1, c("data", "eps", "approximation", "expected", "discrepancy")],
      kernels = mean(run$kernels), rmse = sqrt(mean(run$rmse^2)),
      sigma = mean(run$sigma), rhat = max(run$rhat),
      seconds = mean(run$seconds),
      ms_per_f = exp(mean(log(run$ms_per_f))),
      ms_per_sigma = exp(mean(log(run$ms_per_sigma))),
      apart = sqrt(mean(run$apart^2)),
      noise_floor = sqrt(mean(run$noise_floor^2))
    )
  })
  out <- do.call(rbind, lines)
  rownames(out) <- NULL
  out
}

known_options <- c("repeats", "output")
flags <- "quick"

plan_for <- function(options) {
  quick <- "quick" %in% names(options)
  list(
    quick = quick,
    repeats = number_option(options, "repeats", if (quick) 1 else 2),
    control = if (quick) {
      mcmc_control(chains = 2, warmup = 100, iter = 100)
    } else {
      mcmc_control(chains = 4, warmup = 2000, iter = 2000, thin = 2)
    }
  )
}

run_all <- function(plan) {
  cells <- do.call(rbind, lapply(names(sets), function(name) {
    expand.grid(
      r = seq_len(plan$repeats), eps = sets[[name]]$eps, name = name,
      stringsAsFactors = FALSE
    )
  }))
  runs <- do.call(rbind, Map(
    run_pair, cells$name, cells$eps, cells$r, list(plan)
  ))
  rownames(runs) <- NULL
  list(
    about = list(
      date = format(Sys.Date()), quick = plan$quick, R = R.version.string,
      platform = R.version$platform,
      versions = package_versions(c("kernelbayes", "posterior")),
      seeds = "data r and 1000 + r; fits 100 r", repeats = plan$repeats,
      control = unclass(plan$control)
    ),
    sets = lapply(sets, `[`, c("noise", "type", "gamma", "eps")),
    table = summarise_runs(runs), runs = runs
  )
}

main <- function() {
  script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
  script <- normalizePath(gsub("~+~", " ", script[[1]], fixed = TRUE))
  root <- dirname(dirname(dirname(script)))
  deps <- new.env()
  sys.source(file.path(root, "tools", "deps.R"), deps)
  source(file.path(dirname(script), "options.R"))
  source(file.path(dirname(script), "tables.R"))
  options <- parse_options(
    commandArgs(trailingOnly = TRUE), known_options, flags, deps$fail
  )
  deps$install_needs(root, "reproduce")
  .libPaths(c(deps$install_checkout(root), .libPaths()))
  library(kernelbayes)
  started <- Sys.time()
  results <- run_all(plan_for(options))
  show_table("table", results$table)
  file <- options$output
  if (is.null(file)) {
    file <- file.path(root, "vignettes", "precomputed", "bark_truncation.rds")
  }
  saveRDS(results, file, version = 2, compress = "xz")
  message(
    "Wrote ", file, " (", round(file.size(file) / 1024), " kB) after ",
    format(round(Sys.time() - started, 1))
  )
}

if (sys.nframe() == 0) main()
