# Does srvm() report its own error correctly? The default call over many seeds
# of the sampler, on fixed data:
#
#   Rscript tools/bench/srvm-evidence.R            the report sets, 100 seeds
#   Rscript tools/bench/srvm-evidence.R --quick    20 seeds
#   Rscript tools/bench/srvm-evidence.R --tuning   sets to choose settings on
#   Rscript tools/bench/srvm-evidence.R --only=sinc,mcycle --seeds=30 --out=file
#
# Per data set: the standard deviation of log Z over seeds; the root mean
# square of the standard error that each fit reports; their ratio (target: .8
# to 1.25); the same for the most probable kernel's probability; the lowest
# effective sample size; CPU seconds per fit. Target: sd of log Z at most .5
# (Boston with outliers: 1), sd of the kernel's probability at most 1.5 times
# the reported one.
#
# Settings are chosen on the tuning sets and reported on the others.

library(kernelbayes)

script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1])
script <- normalizePath(gsub("~+~", " ", script, fixed = TRUE))
source(file.path(dirname(dirname(script)), "arguments.R"))
source(file.path(dirname(script), "report.R"))

refuse_unknown(c("quick", "tuning"), c("only", "seeds", "out"))

boston_outliers <- function(seed) {
  set.seed(seed)
  data <- MASS::Boston[sample(nrow(MASS::Boston), 250), ]
  hit <- sample(250, 25)
  data$medv[hit] <- data$medv[hit] + stats::rnorm(25, sd = 25)
  list(formula = medv ~ ., data = data)
}

friedman <- function(seed) {
  list(formula = y ~ ., data = sim_friedman(200, p = 5, seed = seed))
}

# Long-tailed predictors and response, like prices, sizes and speeds.
skewed <- function(seed) {
  set.seed(seed)
  common <- stats::rnorm(200)
  x <- exp(0.7 * common + matrix(stats::rnorm(200 * 6, sd = 0.7), 200))
  y <- 2 * x[, 1] * x[, 2] + 10 * x[, 3] + x[, 4]^2
  data <- data.frame(x, y = y * exp(stats::rnorm(200, sd = 0.2)))
  list(formula = y ~ ., data = data)
}

report_sets <- list(
  sinc = function() list(formula = y ~ x, data = sim_sinc(50, seed = 1)),
  mcycle = function() list(formula = accel ~ times, data = MASS::mcycle),
  boston = function() boston_outliers(1),
  friedman = function() friedman(1),
  cpus = function() {
    list(
      formula = perf ~ syct + mmin + mmax + cach + chmin + chmax,
      data = MASS::cpus
    )
  }
)

tuning_sets <- list(
  sinc = function() list(formula = y ~ x, data = sim_sinc(50, seed = 101)),
  gagurine = function() list(formula = GAG ~ Age, data = MASS::GAGurine),
  boston = function() boston_outliers(101),
  friedman = function() friedman(101),
  skewed = function() skewed(101),
  airquality = function() {
    list(
      formula = Ozone ~ Solar.R + Wind + Temp,
      data = stats::na.omit(datasets::airquality)
    )
  }
)

one_fit <- function(set, seed) {
  before <- sum(proc.time()[1:2])
  fit <- suppressWarnings(
    srvm(set$formula, set$data, seed = seed, progress = FALSE)
  )
  seconds <- sum(proc.time()[1:2]) - before
  z <- evidence(fit)
  kernels <- kernel_posterior(fit)
  list(
    log_z = z$log_evidence, se = z$mc_se, seconds = seconds,
    ess = diagnostics(fit)$ess_min, probability = kernels$probability,
    probability_se = kernels$probability_se
  )
}

rms <- function(x) sqrt(mean(x^2, na.rm = TRUE))

# The kernel with the largest mean probability represents all.
summarise_set <- function(name, fits) {
  get <- function(field) vapply(fits, `[[`, 0, field)
  probability <- vapply(fits, `[[`, fits[[1]]$probability, "probability")
  reported <- vapply(fits, `[[`, fits[[1]]$probability_se, "probability_se")
  top <- which.max(rowMeans(probability))
  sd_z <- stats::sd(get("log_z"))
  sd_p <- stats::sd(probability[top, ])
  data.frame(
    data = name, seeds = length(fits), log_z = mean(get("log_z")),
    sd_log_z = sd_z, se = rms(get("se")), ratio = sd_z / rms(get("se")),
    se_missing = sum(is.na(get("se"))),
    p_top = mean(probability[top, ]), sd_p = sd_p, se_p = rms(reported[top, ]),
    ratio_p = sd_p / rms(reported[top, ]), lowest_ess = min(get("ess")),
    seconds = mean(get("seconds"))
  )
}

sets <- if (flag("tuning")) tuning_sets else report_sets
only <- several("only", names(sets))
seeds <- as.integer(option("seeds", if (flag("quick")) 20 else 100))
results <- lapply(only, function(name) {
  set <- sets[[name]]()
  fits <- lapply(seq_len(seeds), function(seed) one_fit(set, seed))
  line <- summarise_set(name, fits)
  markdown(line)
  line
})
results <- do.call(rbind, results)
markdown(results)
if (!is.null(option("out"))) saveRDS(results, option("out"))
