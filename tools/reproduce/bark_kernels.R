# Does bark() gain from kernels whose centres are not rows, that have their own
# scales (the outlook of Ouyang, Clyde and Wolpert, 2008, section 5), or that
# see the predictors along a few directions?
#
#   Rscript tools/reproduce/bark_kernels.R            20 splits: half an hour
#   Rscript tools/reproduce/bark_kernels.R --quick    two splits: a trial run
#   --sets=20         splits of each data set
#   --sweeps=1500     iterations, after a third as many of warmup
#   --data=a,b        which of mcycle, doppler, bumps, surface, friedman, bank,
#                     bank_more (two thirds of the rows to fit, not half)
#   --methods=a,b     which of the priors below
#   --output=file     instead of vignettes/precomputed/bark_kernels.rds
#   --library=folder  where kernelbayes is installed; otherwise it is built
#
# Prints the tables and writes the file. All methods see the same rows of a
# split; its seed is its number r (1000 + r for the noiseless points). `loss` is
# the root mean squared distance to the function if known, otherwise to the
# held-out responses, or the percentage of wrong classes. `log_loss` is minus
# the mean log predictive density (probability) of held-out responses. `ratio`
# is the loss divided by that of the default in the same split (for classes:
# the difference). One chain of 500 + 1500 sweeps; `ess_s` is the smallest
# effective sample size per second of sigma, J and the log likelihood.

methods <- list(
  default = function(types, ...) bark_prior_paper(types, ...),
  near = function(types, ...) {
    bark_prior_paper(types, centres = centre_near_rows(0.5), ...)
  },
  own = function(types, ...) bark_prior_paper(types, own_scales = TRUE, ...),
  near_own = function(types, ...) {
    bark_prior_paper(types,
      centres = centre_near_rows(0.5), own_scales = TRUE, ...
    )
  },
  select_equal = function(types, ...) bark_prior_paper("select_equal", ...),
  direction = function(types, ...) {
    bark_prior_paper("different", directions = 1, ...)
  },
  directions = function(types, ...) {
    bark_prior_paper("different", directions = 2, ...)
  },
  # The prior of common scales, which discourages single narrow kernels.
  own_ga11 = function(types, ...) {
    bark_prior_paper(types, own_scales = TRUE, scales = c(1, 1), ...)
  }
)

# ---- data -------------------------------------------------------------------

# Donoho and Johnstone (1994).
doppler <- function(x) sqrt(x * (1 - x)) * sin(2.1 * pi / (x + 0.05))

bumps <- function(x) {
  at <- c(0.1, 0.13, 0.15, 0.23, 0.25, 0.4, 0.44, 0.65, 0.76, 0.78, 0.81)
  height <- c(4, 5, 3, 4, 5, 4.2, 2.1, 4.3, 3.1, 5.1, 4.2)
  width <- c(5, 5, 6, 10, 10, 30, 10, 10, 5, 8, 5) / 1000
  drop((1 + abs(outer(x, at, "-") / rep(width, each = length(x))))^-4 %*%
    height)
}

# A constant slope, a narrow hill, and waves in one corner.
surface <- function(x) {
  one <- x[, 1]
  two <- x[, 2]
  one + 3 * exp(-80 * ((one - 0.3)^2 + (two - 0.7)^2)) +
    sin(25 * two) * (one > 0.6)
}

# The noise is a fifth of the function's standard deviation.
simulated <- function(f, p, n) {
  function(r) {
    rows <- function(n, seed) {
      set.seed(seed)
      x <- matrix(stats::runif(n * p), n, dimnames = list(
        NULL, paste0("x", seq_len(p))
      ))
      value <- if (p == 1) f(x[, 1]) else f(x)
      list(x = x, f = value, y = value + stats::sd(value) / 5 * stats::rnorm(n))
    }
    fit <- rows(n, r)
    test <- rows(1000, 1000 + r)
    list(x = fit$x, y = fit$y, new = test$x, y_new = test$y, f_new = test$f)
  }
}

friedman_split <- function(r) {
  fit <- sim_friedman(100, seed = r)
  test <- sim_friedman(1000, seed = 1000 + r, truth = TRUE)
  x <- paste0("x", 1:10)
  list(
    x = as.matrix(fit[x]), y = fit$y, new = as.matrix(test[x]),
    y_new = test$y, f_new = test$f
  )
}

# A proportion `share` of the rows to fit, the others to test.
held_out <- function(x, y, share) {
  function(r) {
    set.seed(r)
    fit <- sample(nrow(x), round(share * nrow(x)))
    list(
      x = x[fit, , drop = FALSE], y = y[fit], new = x[-fit, , drop = FALSE],
      y_new = y[-fit]
    )
  }
}

from_package <- function(name, package) {
  space <- new.env()
  utils::data(list = name, package = package, envir = space)
  space[[name]]
}

read_sets <- function() {
  mcycle <- from_package("mcycle", "MASS")
  bank <- from_package("banknote", "mclust")
  list(
    mcycle = held_out(as.matrix(mcycle["times"]), mcycle$accel, 2 / 3),
    doppler = simulated(doppler, 1, 150), bumps = simulated(bumps, 1, 150),
    surface = simulated(surface, 2, 150), friedman = friedman_split,
    bank = held_out(as.matrix(bank[-1]), bank$Status, 1 / 2),
    bank_more = held_out(as.matrix(bank[-1]), bank$Status, 2 / 3)
  )
}

# ---- one fit ----------------------------------------------------------------

run_one <- function(split, prior, r, control) {
  fit <- withCallingHandlers(
    bark(split$x, split$y,
      prior = prior, scale = "linear", control = control, seed = r, progress = FALSE
    ),
    kb_warning_convergence = function(w) invokeRestart("muffleWarning")
  )
  seconds <- timings(fit)$sampler
  score <- predict(fit, split$new, type = "log_score", newy = split$y_new)
  loss <- if (is.factor(split$y)) {
    100 * mean(predict(fit, split$new) != split$y_new)
  } else {
    truth <- if (is.null(split$f_new)) split$y_new else split$f_new
    sqrt(mean((predict(fit, split$new) - truth)^2))
  }
  data.frame(
    loss = loss, log_loss = -mean(score), seconds = seconds,
    ess_s = min(subset(
      ess(fit), variable %in% c("sigma", "J", "log_lik")
    )$ess_bulk) / seconds,
    kernels = mean(posterior::extract_variable(as_draws(fit), "J"))
  )
}

run_all <- function(plan) {
  sets <- read_sets()[plan$data]
  control <- mcmc_control(
    chains = 1, warmup = plan$sweeps / 3, iter = plan$sweeps, thin = 3
  )
  cells <- expand.grid(
    method = plan$methods, set = seq_len(plan$sets), data = plan$data,
    stringsAsFactors = FALSE
  )
  # With one predictor there is nothing to select or combine.
  plain <- !cells$method %in% c("select_equal", "direction", "directions")
  cells <- cells[plain | !cells$data %in% c("mcycle", "doppler", "bumps"), ]
  lines <- lapply(seq_len(nrow(cells)), function(i) {
    cell <- cells[i, ]
    split <- sets[[cell$data]](cell$set)
    if (cell$method == plan$methods[[1]]) {
      message(cell$data, ", split ", cell$set)
    }
    one <- run_one(split, methods[[cell$method]]("select_different"), cell$set,
      control
    )
    cbind(cell[c("data", "set", "method")], one, row.names = NULL)
  })
  add_ratio(do.call(rbind, lines))
}

add_ratio <- function(runs) {
  key <- paste(runs$data, runs$set)
  base <- runs[runs$method == "default", ]
  base <- base[match(key, paste(base$data, base$set)), ]
  classes <- startsWith(runs$data, "bank")
  runs$ratio <- ifelse(
    classes, runs$loss - base$loss, runs$loss / base$loss
  )
  runs$log_gain <- base$log_loss - runs$log_loss
  runs
}

# ---- everything -------------------------------------------------------------

plan_for <- function(options, fail) {
  quick <- "quick" %in% names(options)
  known <- c(
    "mcycle", "doppler", "bumps", "surface", "friedman", "bank", "bank_more"
  )
  list(
    quick = quick, sets = number_option(options, "sets", if (quick) 2 else 20),
    sweeps = number_option(options, "sweeps", if (quick) 300 else 1500),
    data = several_option(options, "data", known, fail),
    methods = union(
      "default", several_option(options, "methods", names(methods), fail)
    )
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
    commandArgs(trailingOnly = TRUE),
    c("sets", "sweeps", "data", "methods", "output", "library"), "quick",
    deps$fail
  )
  if (is.null(options$library)) {
    deps$install_needs(root, "reproduce_bark")
    .libPaths(c(deps$install_checkout(root), .libPaths()))
  } else {
    .libPaths(c(options$library, .libPaths()))
  }
  library(kernelbayes)
  plan <- plan_for(options, deps$fail)
  runs <- run_all(plan)
  table <- mean_table(runs, c("data", "method"), c(
    "loss", "ratio", "log_loss", "log_gain", "ess_s", "seconds", "kernels"
  ))
  show_table("Kernels of bark()", table)
  results <- list(
    about = list(
      date = format(Sys.Date()), quick = plan$quick, R = R.version.string,
      versions = package_versions(c("kernelbayes", "MASS", "mclust")),
      seeds = "split r: r and 1000 + r; its fits: r", sweeps = plan$sweeps
    ),
    table = table, runs = runs
  )
  file <- options$output
  if (is.null(file)) {
    file <- file.path(root, "vignettes", "precomputed", "bark_kernels.rds")
  }
  saveRDS(results, file, version = 2, compress = "xz")
  message("Wrote ", file)
}

if (sys.nframe() == 0) main()
