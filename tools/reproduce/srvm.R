# Repeats the experiments of Vermaak, Godsill and Doucet (2003), with peers:
#
#   Rscript tools/reproduce/srvm.R            everything: about an hour
#   Rscript tools/reproduce/srvm.R --quick    few data sets, short chains: a
#                                             trial of a few minutes
#   --only=a,b        parts: table1, figure1, example, boston, sensitivity,
#                     sizes, and those of srvm-claims.R: default, orders, large.
#                     The others stay as they are in the file
#   --output=file     instead of vignettes/precomputed/srvm.rds
#
# Writes vignettes/precomputed/srvm.rds, from which vignettes/srvm.Rmd is
# built, and prints its tables. Installs the package and its peers first. Commit
# the file from a full run only.
#
# Data sets and fits are seeded: number s has sim_sinc(50, seed = s) and
# seed = s. Results do not depend on the machine, except for seconds and for
# the batch runs of compare_sizes(), whose length is set by the clock.
#
# sinc: unscaled predictors and response (scale = FALSE), kernel
# exp(-r^2 / 1.6^2), error at 1000 points against the noiseless function.
# Boston: predictors and response standardised by the training rows, kernel
# exp(-r^2 / 5^2). "No moves" still has the Gibbs sweep of each step. Priors
# are the package's defaults with lambda 1 and kmax 50, unless stated:
# ig(1, 0.01 var(y)) for the noise and ig(1, 0.5 var(y)) for the coefficients.
# "Absolute" is ig(1, 0.01) and ig(1, 0.5), regardless of var(y). The papers'
# improper prior starts from a noise variance of 0.1 var(y) and a coefficients'
# variance of var(y). Peers: see tools/peers.R; their seconds are for the whole
# call, with the choice of C or of the noise variance.

sinc_kernel <- function() kernelbayes::kernel_gaussian(1.6 / sqrt(2))
sinc_rate <- 1 / 1.6^2
boston_kernel <- function() kernelbayes::kernel_gaussian(5 / sqrt(2))
boston_rate <- 1 / 5^2
level <- 0.9

# Results printed in the papers.
published <- list(
  sinc = data.frame(
    method = c("Figueiredo", "SVM", "RVM", "VRVM", "MCMC", "Sequential RVM"),
    key = c(NA, "ksvm", "rvm", NA, NA, "printed_paper"),
    rmse = c(0.0455, 0.0519, 0.0494, 0.0494, 0.0468, 0.0591),
    kernels = c(7, 28, 6.9, 7.4, 6.5, 4.5),
    sigma = c(NA, NA, 0.0943, 0.0950, NA, 0.1136)
  ),
  boston = data.frame(
    method = c("SVM", "RVM", "Sequential RVM"),
    key = c("ksvm", "rvm", "printed_paper"),
    mse = c(8.04, 7.46, 7.18), kernels = c(142.8, 39, 25.29)
  ),
  # Figure 1, right: one data set.
  example = c(rmse = 0.0309, kernels = 6.18)
)

labels <- c(
  printed_paper = "Sequential, printed weights, papers' prior",
  printed = "Sequential, printed weights",
  birth_death_0 = "Sequential, birth/death, no moves",
  birth_death_10 = "Sequential, birth/death, 10 moves",
  adapted_0 = "Sequential, adapted, no moves",
  adapted_3 = "Sequential, adapted, 3 moves",
  adapted_10 = "Sequential, adapted, 10 moves",
  adapted_10_absolute = "Sequential, adapted, 10 moves, absolute prior",
  adapted_10_lambda_10 = "Sequential, adapted, 10 moves, lambda 10",
  batch = "Batch",
  batch_1 = "Batch, lambda 1",
  batch_1_absolute = "Batch, lambda 1, absolute prior",
  batch_5 = "Batch, lambda 5",
  batch_10 = "Batch, lambda 10", batch_20 = "Batch, lambda 20",
  rvm = "kernlab::rvm", ksvm = "kernlab::ksvm", gausspr = "kernlab::gausspr",
  gam_10 = "mgcv::gam, k = 10", gam_30 = "mgcv::gam, k = 30",
  mean = "Mean of the training rows", default = "Default call",
  default_sinc = "sinc, default call",
  default_friedman = "Friedman 1, default call",
  srvm = "srvm(), all rows", srvm_candidates = "srvm(), 100 candidates",
  srvm_window = "srvm(), last 500 rows, 100 candidates",
  dbarts = "dbarts::bart", bam = "mgcv::bam, additive",
  bam_told = "mgcv::bam, told that x1 interacts with x2"
)

# Sizes of the full and the quick run.
plan_for <- function(quick) {
  if (quick) {
    return(list(
      sets = 3, splits = 2, sensitivity = 2, curve_sets = 3,
      curve_sizes = c(25, 50, 100, 250), sizes = c("500" = 1),
      orders = 3, large = c("500" = 1),
      batch = list(iter = 1000, warmup = 500, thin = 5),
      boston_batch = list(iter = 5000, warmup = 1000, thin = 20)
    ))
  }
  list(
    sets = 25, splits = 20, sensitivity = 10, curve_sets = 25,
    curve_sizes = c(25, 50, 100, 250, 1000),
    sizes = c("1000" = 5, "10000" = 2),
    orders = 20, large = c("1000" = 3, "10000" = 3, "100000" = 1),
    batch = list(iter = 20000, warmup = 4000, thin = 20),
    # The coefficients' variance mixes slowly in these data.
    boston_batch = list(iter = 100000, warmup = 20000, thin = 200)
  )
}

# Controls of the samplers
batch <- function(iter, warmup, thin = 1, ...) {
  kernelbayes::mcmc_control(
    chains = 4, warmup = warmup, iter = iter, thin = thin, ...
  )
}

long_batch <- function(plan, ...) do.call(batch, c(plan$batch, list(...)))

sequential <- function(proposal, n_moves, particles = 250, ...) {
  kernelbayes::smc_control(
    particles = particles, n_moves = n_moves, proposal = proposal, ...
  )
}

printed_weights <- function(particles = 250) {
  sequential("paper", 0, particles)
}

# ---- one fit, and its summaries ---------------------------------------------

expected <- paste0("kb_warning_", c(
  "improper", "inexact", "low_ess", "no_moves"
))

# These warnings are the subject of the experiments; others are shown.
without_expected_warnings <- function(expr) {
  withCallingHandlers(expr, warning = function(w) {
    if (inherits(w, expected)) invokeRestart("muffleWarning")
  })
}

run_srvm <- function(formula, data, kernel, prior, control, seed, scale) {
  smc <- inherits(control, "kb_smc_control")
  without_expected_warnings(srvm(formula, data,
    method = if (smc) "smc" else "mcmc", kernel = kernel, prior = prior,
    control = control, scale = scale, seed = seed, progress = FALSE
  ))
}

sinc_fit <- function(data, prior, control, seed) {
  run_srvm(y ~ x, data, sinc_kernel(), prior, control, seed, scale = FALSE)
}

prior_with <- function(lambda, kmax = 50, ...) {
  kernelbayes::srvm_prior(lambda = lambda, kmax = kmax, ...)
}

# `v` is the variance of the response that the model sees.
papers_prior <- function(lambda, v) {
  without_expected_warnings(kernelbayes::srvm_prior_paper(
    lambda = lambda, kmax = 50, noise_start = 0.1 * v, coef_start = v
  ))
}

# The effective number of particles at the end, or the smallest effective sample
# size of the parameters that all draws share, and their largest R-hat.
fit_health <- function(fit) {
  if (inherits(fit$control, "kb_smc_control")) {
    return(c(ess = utils::tail(kernelbayes::ess(fit)$ess, 1), rhat = NA))
  }
  draws <- posterior::subset_draws(
    posterior::as_draws(fit),
    variable = c("k", "sigma", "tau")
  )
  quality <- posterior::summarise_draws(draws, "ess_bulk", "rhat")
  c(ess = min(quality$ess_bulk), rhat = max(quality$rhat))
}

mean_kernels <- function(fit) {
  k <- kernelbayes::model_size(fit)
  sum(k$k * k$probability)
}

# Returns bands (matrix fit, lwr, upr) and a data frame of one row.
answer_srvm <- function(fit, new, interval = "credible") {
  health <- fit_health(fit)
  list(
    bands = stats::predict(fit, new, interval = interval, level = level),
    facts = data.frame(
      kernels = mean_kernels(fit), sigma = stats::sigma(fit),
      ess = health[["ess"]], rhat = health[["rhat"]],
      seconds = kernelbayes::timings(fit)$sampler
    )
  )
}

# `seconds` of peers are for the whole call.
answer_peer <- function(fit_it, new) {
  silent <- utils::capture.output({
    started <- Sys.time() # finer than system.time()
    fit <- fit_it()
    seconds <- as.numeric(Sys.time() - started, units = "secs")
  })
  facts <- peer_facts(fit)
  list(
    bands = peer_predict(fit, new),
    facts = data.frame(
      kernels = facts[["kernels"]], sigma = facts[["sigma"]], ess = NA_real_,
      rhat = NA_real_, seconds = seconds
    )
  )
}

rmse <- function(a, b) sqrt(mean((a - b)^2))

coverage <- function(bands, truth) {
  mean(truth >= bands[, "lwr"] & truth <= bands[, "upr"])
}

sinc_grid <- function(points = 1000) {
  x <- seq(-10, 10, length.out = points)
  data.frame(x = x, f = ifelse(x == 0, 1, sin(x) / x))
}

# Results on the grid as a data frame, one row per method.
sinc_scores <- function(answers, grid, ...) {
  rows <- lapply(answers, function(answer) {
    data.frame(
      rmse = rmse(answer$bands[, "fit"], grid$f),
      coverage = coverage(answer$bands, grid$f), answer$facts
    )
  })
  data.frame(method = names(answers), ..., do.call(rbind, rows),
    row.names = NULL
  )
}

# ---- means over data sets ---------------------------------------------------

# Each measure divided by that of method `base` on the same data set.
paired_ratio <- function(runs, measure, base) {
  reference <- runs[runs$method == base, ]
  runs[[measure]] / reference[[measure]][match(runs$set, reference$set)]
}

# ---- table 1: sinc ----------------------------------------------------------

table1_samplers <- function(plan, v) {
  one <- prior_with(1)
  absolute <- prior_with(1, noise = ig(1, 0.01), coef = ig(1, 0.5))
  list(
    printed_paper = list(papers_prior(1, v), printed_weights()),
    printed = list(one, printed_weights()),
    birth_death_0 = list(one, sequential("birth_death", 0)),
    birth_death_10 = list(one, sequential("birth_death", 10)),
    adapted_0 = list(one, sequential("adapted", 0)),
    adapted_10 = list(one, sequential("adapted", 10)),
    adapted_10_absolute = list(absolute, sequential("adapted", 10)),
    adapted_10_lambda_10 = list(prior_with(10), sequential("adapted", 10)),
    batch_1 = list(one, long_batch(plan)),
    batch_1_absolute = list(absolute, long_batch(plan)),
    batch_5 = list(prior_with(5), long_batch(plan)),
    batch_10 = list(prior_with(10), long_batch(plan)),
    batch_20 = list(prior_with(20), long_batch(plan))
  )
}

sinc_peers <- function(data) {
  x <- matrix(data$x)
  list(
    rvm = function() peer_rvm(x, data$y, sinc_rate),
    ksvm = function() peer_ksvm_cv(x, data$y, sinc_rate),
    gausspr = function() peer_gausspr(x, data$y, sinc_rate),
    gam_10 = function() peer_gam(x, data$y, 10),
    gam_30 = function() peer_gam(x, data$y, 30)
  )
}

# Methods with the same target as the batch run at lambda 1.
same_target <- c(
  "printed", "birth_death_0", "birth_death_10", "adapted_0", "adapted_10"
)

# `distance`: root mean square difference of predictive means from the batch run
# at lambda 1; for that run itself, from a second one, i.e. its own error.
table1_set <- function(set, plan, samplers = table1_samplers) {
  data <- sim_sinc(50, seed = set)
  grid <- sinc_grid()
  settings <- samplers(plan, stats::var(data$y))
  answers <- lapply(settings, function(s) {
    answer_srvm(sinc_fit(data, s[[1]], s[[2]], set), grid["x"])
  })
  answers <- c(answers, lapply(
    sinc_peers(data), answer_peer,
    new = as.matrix(grid["x"])
  ))
  out <- sinc_scores(answers, grid, set = set)
  out$distance <- NA_real_
  if ("batch_1" %in% names(answers)) {
    target <- answers$batch_1$bands[, "fit"]
    for (name in intersect(same_target, names(answers))) {
      out$distance[out$method == name] <-
        rmse(answers[[name]]$bands[, "fit"], target)
    }
    again <- sinc_fit(data, prior_with(1), long_batch(plan), 1e6 + set)
    out$distance[out$method == "batch_1"] <-
      rmse(stats::predict(again, grid["x"]), target)
  }
  message("  table 1: data set ", set, " of ", plan$sets)
  out
}

table1 <- function(plan, ...) {
  runs <- lapply(seq_len(plan$sets), table1_set, plan = plan, ...)
  runs <- do.call(rbind, runs)
  runs$ratio <- paired_ratio(runs, "rmse", "rvm")
  runs
}

# ---- figure 1: error against N, and an example ------------------------------

curve_methods <- function(particles, v) {
  one <- prior_with(1)
  list(
    adapted_3 = list(one, sequential("adapted", 3, particles)),
    adapted_0 = list(one, sequential("adapted", 0, particles)),
    printed_paper = list(papers_prior(1, v), printed_weights(particles))
  )
}

curve_set <- function(set, particles, methods) {
  data <- sim_sinc(50, seed = set)
  grid <- sinc_grid()
  settings <- methods(particles, stats::var(data$y))
  errors <- vapply(settings, function(s) {
    fit <- sinc_fit(data, s[[1]], s[[2]], set)
    rmse(stats::predict(fit, grid["x"]), grid$f)
  }, 0)
  data.frame(
    method = names(errors), particles = particles, set = set, rmse = errors,
    row.names = NULL
  )
}

error_curve <- function(plan, methods = curve_methods) {
  out <- lapply(plan$curve_sizes, function(particles) {
    message("  error against N: ", particles, " particles")
    do.call(rbind, lapply(
      seq_len(plan$curve_sets), curve_set,
      particles = particles, methods = methods
    ))
  })
  do.call(rbind, out)
}

# Data set 1, not selected: the estimate and its 90% bands on a grid of 101
# points, and the noisy data.
example_fit <- function() {
  data <- sim_sinc(50, seed = 1, truth = TRUE)
  fit <- sinc_fit(data, prior_with(1), sequential("adapted", 10), 1)
  grid <- sinc_grid(101)
  bands <- stats::predict(fit, grid["x"], interval = "credible", level = level)
  estimate <- stats::predict(fit, data["x"])
  points <- rbind(
    data.frame(what = "curve", grid, y = NA_real_, bands),
    data.frame(
      what = "data", data[c("x", "f", "y")],
      fit = estimate, lwr = NA_real_, upr = NA_real_
    )
  )
  list(points = points, kernels = mean_kernels(fit))
}

# ---- Boston housing ---------------------------------------------------------

boston_samplers <- function(plan) {
  five <- prior_with(5)
  list(
    # The response is standardised: its variance is 1.
    printed_paper = list(papers_prior(5, 1), printed_weights()),
    birth_death_0 = list(five, sequential("birth_death", 0)),
    birth_death_10 = list(five, sequential("birth_death", 10)),
    adapted_0 = list(five, sequential("adapted", 0)),
    adapted_10 = list(five, sequential("adapted", 10)),
    batch_5 = list(five, do.call(batch, plan$boston_batch))
  )
}

# Rows are in the random order of the split.
boston_split <- function(set) {
  set.seed(set)
  rows <- sample(nrow(MASS::Boston))
  list(
    train = MASS::Boston[rows[1:300], ], test = MASS::Boston[rows[-(1:300)], ]
  )
}

# Peers get the same data as srvm(): standardised by the training rows.
boston_peers <- function(train, test) {
  predictors <- setdiff(names(train), "medv")
  x <- scale(as.matrix(train[predictors]))
  y <- scale(train$medv)
  new <- scale(
    as.matrix(test[predictors]),
    attr(x, "scaled:center"), attr(x, "scaled:scale")
  )
  peers <- list(rvm = peer_rvm, ksvm = peer_ksvm_cv, gausspr = peer_gausspr)
  lapply(peers, function(peer) {
    answer <- answer_peer(function() peer(x, y[, 1], boston_rate), new)
    answer$bands <- attr(y, "scaled:center") +
      attr(y, "scaled:scale") * answer$bands
    answer$facts$sigma <- attr(y, "scaled:scale") * answer$facts$sigma
    answer
  })
}

# Coverage of the 90% prediction intervals; peers give none.
boston_score <- function(answer, truth, intervals) {
  data.frame(
    mse = mean((answer$bands[, "fit"] - truth)^2),
    coverage = if (intervals) coverage(answer$bands, truth) else NA_real_,
    answer$facts
  )
}

boston_set <- function(set, plan, samplers) {
  split <- boston_split(set)
  ours <- lapply(samplers(plan), function(s) {
    fit <- run_srvm(medv ~ ., split$train, boston_kernel(), s[[1]], s[[2]],
      seed = set, scale = "linear"
    )
    answer_srvm(fit, split$test, "prediction")
  })
  peers <- boston_peers(split$train, split$test)
  rows <- c(
    lapply(ours, boston_score, split$test$medv, TRUE),
    lapply(peers, boston_score, split$test$medv, FALSE)
  )
  rows$mean <- rows$rvm
  rows$mean[] <- NA_real_
  rows$mean$mse <- mean((split$test$medv - mean(split$train$medv))^2)
  message("  Boston: split ", set, " of ", plan$splits)
  data.frame(method = names(rows), set = set, do.call(rbind, rows),
    row.names = NULL
  )
}

boston <- function(plan, samplers = boston_samplers) {
  runs <- do.call(rbind, lapply(
    seq_len(plan$splits), boston_set,
    plan = plan, samplers = samplers
  ))
  runs$ratio <- paired_ratio(runs, "mse", "rvm")
  runs
}

# ---- sensitivity ------------------------------------------------------------

setting <- function(what, value, ..., method) {
  default <- list(
    lambda = 1, kmax = 50, fraction = 0.25, noise = 1, coef = 1,
    absolute = FALSE
  )
  data.frame(
    what = what, value = value, utils::modifyList(default, list(...)),
    method = method
  )
}

# Hyperparameters: `noise` and `coef` multiply the scales of the default
# inverse gammas, ig(1, 0.01 var(y)) and ig(1, 0.5 var(y)).
sensitivity_settings <- function() {
  both <- c("batch", "adapted_10")
  dimension <- c("batch", "birth_death_0", "birth_death_10")
  absolute <- setting("absolute", "ig(1, .01), ig(1, .5)",
    absolute = TRUE, method = both
  )
  kmax <- function(lambda) {
    lapply(c(5, 10, 50), function(k) {
      setting(paste("kmax at lambda", lambda), format(k),
        lambda = lambda, kmax = k, method = both
      )
    })
  }
  do.call(rbind, c(
    lapply(c(1, 5, 10, 20), function(v) {
      setting("lambda", format(v), lambda = v, method = both)
    }),
    kmax(1), kmax(10),
    lapply(c(0.1, 0.25, 0.5), function(v) {
      setting("c", format(v), fraction = v, method = dimension)
    }),
    lapply(c(0.1, 1, 10), function(v) {
      setting("noise scale times", format(v), noise = v, method = both)
    }),
    lapply(c(0.1, 1, 10), function(v) {
      setting("coef scale times", format(v), coef = v, method = both)
    }),
    list(absolute)
  ))
}

sensitivity_control <- function(method, fraction, plan) {
  if (method == "batch") {
    return(long_batch(plan, move_fraction = fraction))
  }
  n_moves <- if (endsWith(method, "_10")) 10 else 0
  sequential(sub("_[0-9]+$", "", method), n_moves, move_fraction = fraction)
}

sensitivity_prior <- function(s, v) {
  if (s$absolute) {
    return(prior_with(s$lambda, s$kmax, noise = ig(1, 0.01), coef = ig(1, 0.5)))
  }
  prior_with(s$lambda, s$kmax,
    noise = ig(1, 0.01 * v * s$noise), coef = ig(1, 0.5 * v * s$coef)
  )
}

sensitivity_run <- function(s, set, plan) {
  data <- sim_sinc(50, seed = set)
  grid <- sinc_grid()
  fit <- sinc_fit(
    data, sensitivity_prior(s, stats::var(data$y)),
    sensitivity_control(s$method, s$fraction, plan), set
  )
  answers <- stats::setNames(list(answer_srvm(fit, grid["x"])), s$method)
  sinc_scores(answers, grid, what = s$what, value = s$value, set = set)
}

sensitivity <- function(plan, settings = sensitivity_settings()) {
  # A fit that occurs under two names is made once.
  fields <- setdiff(names(settings), c("what", "value"))
  key <- do.call(paste, unname(settings[fields]))
  out <- lapply(seq_len(plan$sensitivity), function(set) {
    message("  sensitivity: data set ", set, " of ", plan$sensitivity)
    first <- which(!duplicated(key))
    runs <- lapply(first, function(i) sensitivity_run(settings[i, ], set, plan))
    runs <- do.call(rbind, runs)[match(key, key[first]), ]
    runs[c("what", "value")] <- settings[c("what", "value")]
    runs
  })
  out <- do.call(rbind, out)
  rownames(out) <- NULL
  out
}

# ---- sequential or batch ----------------------------------------------------

# Settings of a batch run of 4 chains that takes about `seconds` in total; a
# third of the iterations is warmup.
batch_lasting <- function(seconds, data, prior, seed) {
  pilot <- sinc_fit(data, prior, batch(iter = 25, warmup = 25), seed)
  each <- kernelbayes::timings(pilot)$sampler / (4 * 50)
  iterations <- max(60, round(seconds / each / 4))
  warmup <- iterations %/% 3
  iter <- iterations - warmup
  # At most 500 draws per chain are kept.
  batch(iter = iter, warmup = warmup, thin = max(1, iter %/% 500))
}

# Sampler seconds for each of 100 rows added after the others.
seconds_per_new_row <- function(fit, seed) {
  before <- kernelbayes::timings(fit)$sampler
  later <- stats::update(fit,
    newdata = sim_sinc(100, seed = 1e6 + seed), progress = FALSE
  )
  (kernelbayes::timings(later)$sampler - before) / 100
}

compare_size <- function(n, set, batch_too = TRUE) {
  message("  sequential or batch: ", n, " rows, data set ", set)
  data <- sim_sinc(n, seed = set)
  prior <- prior_with(10)
  moves <- if (n > 1000) 0 else c(0, 10)
  fits <- lapply(moves, function(m) {
    sinc_fit(data, prior, sequential("adapted", m), set)
  })
  names(fits) <- paste0("adapted_", moves)
  new_row <- vapply(fits, seconds_per_new_row, 0, seed = set)
  if (batch_too) {
    control <- batch_lasting(
      kernelbayes::timings(fits$adapted_0)$sampler, data, prior, set
    )
    fits$batch <- sinc_fit(data, prior, control, set)
    # A batch run has to start afresh.
    new_row[["batch"]] <- kernelbayes::timings(fits$batch)$sampler
  }
  grid <- sinc_grid()
  out <- sinc_scores(
    lapply(fits, answer_srvm, new = grid["x"]), grid,
    rows = n, set = set
  )
  out$new_row_seconds <- new_row
  out$iterations <- NA_real_
  if (batch_too) {
    out$iterations[out$method == "batch"] <- control$warmup + control$iter
  }
  out
}

compare_sizes <- function(plan, ...) {
  out <- lapply(names(plan$sizes), function(n) {
    do.call(rbind, lapply(
      seq_len(plan$sizes[[n]]), compare_size,
      n = as.numeric(n), ...
    ))
  })
  do.call(rbind, out)
}

# ---- everything -------------------------------------------------------------

sinc_measures <- c(
  "rmse", "ratio", "kernels", "sigma", "coverage", "distance", "ess", "rhat",
  "seconds"
)

batch_length <- function(control) {
  unclass(control)[c("chains", "warmup", "iter", "n_moves")]
}

about_run <- function(quick, plan) {
  packages <- c("kernelbayes", "kernlab", "mgcv", "MASS", "posterior", "dbarts")
  list(
    date = format(Sys.Date()), quick = quick, R = R.version.string,
    platform = R.version$platform,
    versions = package_versions(packages),
    seeds = c(
      sinc = "data set s: sim_sinc(n, seed = s) and seed = s in each fit",
      boston = "split s: set.seed(s); sample(506)"
    ),
    batch = batch_length(long_batch(plan)),
    boston_batch = batch_length(do.call(batch, plan$boston_batch))
  )
}

# The first call of a package is slower, so it is not timed.
warm_up <- function() {
  grid <- as.matrix(sinc_grid(10)["x"])
  invisible(lapply(sinc_peers(sim_sinc(50, seed = 1)), answer_peer, grid))
}

# Each part is a function of the plan that prints its tables and returns what
# the file holds of it.
parts <- list(
  table1 = function(plan) {
    message("Table 1")
    warm_up()
    sinc <- table1(plan)
    table <- mean_table(sinc, "method", sinc_measures)
    show_table("Table 1, sinc", table)
    list(table1 = table, table1_sets = sinc[c("method", "set", "rmse")])
  },
  figure1 = function(plan) {
    message("Figure 1")
    curve <- mean_table(error_curve(plan), c("method", "particles"), "rmse")
    show_table("Figure 1, error against N", curve)
    list(curve = curve)
  },
  example = function(plan) {
    example <- example_fit()
    list(example = example$points, example_kernels = example$kernels)
  },
  boston = function(plan) {
    message("Boston housing")
    splits <- boston(plan)
    housing <- mean_table(splits, "method", c(
      "mse", "ratio", "kernels", "sigma", "coverage", "ess", "rhat", "seconds"
    ))
    show_table("Table 2, Boston housing", housing)
    list(boston = housing, boston_sets = splits[c("method", "set", "mse")])
  },
  sensitivity = function(plan) {
    message("Sensitivity")
    varied <- mean_table(
      sensitivity(plan), c("what", "value", "method"),
      setdiff(sinc_measures, c("ratio", "distance"))
    )
    show_table("Sensitivity, sinc", varied)
    list(sensitivity = varied)
  },
  sizes = function(plan) {
    message("Sequential or batch")
    sizes <- mean_table(compare_sizes(plan), c("rows", "method"), c(
      "rmse", "coverage", "kernels", "ess", "rhat", "seconds",
      "new_row_seconds", "iterations"
    ))
    show_table("Sequential or batch, sinc", sizes)
    list(sizes = sizes)
  },
  default = function(plan) {
    message("Boston housing, the default call")
    splits <- boston_default(plan)
    default <- mean_table(splits, "method", c(
      "mse", "kernels", "coverage", "ess", "seconds", "log_score"
    ))
    show_table("Boston housing, default call", default)
    list(default = default, default_sets = splits[c("set", "mse")])
  },
  orders = function(plan) {
    message("Orders")
    orders <- order_spreads(plan)
    show_table("Orders of the rows", orders)
    list(orders = orders)
  },
  large = function(plan) {
    message("Large data")
    runs <- large_data(plan)
    large <- mean_table(runs, c("rows", "method"), c("rmse", "seconds"))
    show_table("Large data, Friedman 1", large)
    list(large = large)
  }
)

# `about` is that of the published experiments, `about_claims` that of these.
claims <- c("example", "default", "orders", "large")

# `before`: results of parts that are not run again.
run_all <- function(plan, quick, chosen = names(parts), before = list()) {
  about <- about_run(quick, plan)
  results <- utils::modifyList(before, list(
    labels = labels, published = published
  ))
  if (any(!chosen %in% claims)) results$about <- about
  if (any(chosen %in% claims)) results$about_claims <- about
  for (part in chosen) {
    made <- parts[[part]](plan)
    results[names(made)] <- made
  }
  results
}

main <- function() {
  script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
  script <- normalizePath(gsub("~+~", " ", script[[1]], fixed = TRUE))
  root <- dirname(dirname(dirname(script)))
  deps <- new.env()
  sys.source(file.path(root, "tools", "deps.R"), deps)
  source(file.path(dirname(script), "options.R"))
  options <- parse_options(
    commandArgs(trailingOnly = TRUE), c("only", "output"), "quick", deps$fail
  )
  chosen <- several_option(options, "only", names(parts), deps$fail)
  deps$install_needs(root, "reproduce_srvm")
  lib <- deps$install_checkout(root)
  library(kernelbayes, lib.loc = c(lib, .libPaths()))
  for (file in c("peers.R", "peers-tuned.R")) {
    source(file.path(root, "tools", file))
  }
  for (file in c("tables.R", "srvm-claims.R")) {
    source(file.path(dirname(script), file))
  }
  quick <- "quick" %in% names(options)
  file <- options$output
  if (is.null(file)) {
    file <- file.path(root, "vignettes", "precomputed", "srvm.rds")
  }
  part_only <- length(chosen) < length(parts)
  before <- if (part_only && file.exists(file)) readRDS(file) else list()
  started <- Sys.time()
  results <- run_all(plan_for(quick), quick, chosen, before)
  dir.create(dirname(file), showWarnings = FALSE)
  saveRDS(results, file, version = 2, compress = "xz")
  message(
    "Wrote ", file, " (", round(file.size(file) / 1024), " kB) after ",
    format(round(Sys.time() - started, 1))
  )
}

if (sys.nframe() == 0) main()
