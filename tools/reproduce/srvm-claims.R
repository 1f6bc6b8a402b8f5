# Two claims of Vermaak, Godsill and Doucet (2003) that their tables do not
# test: that the order of the rows is unimportant, and that the method suits
# large data. And the Boston splits with the default call. Sourced by srvm.R.
#
# Orders: the log evidence and the predictions over random orders of the rows,
# over seeds in one order, and over seeds with the rows sorted: by x, or by the
# response if there are several predictors. Settings are those of one fit.
#
# Large data: Friedman 1 with 5 predictors and noise of standard deviation 1;
# the error is to the noiseless function at 1000 points. Seconds are those of
# the processor, for the fit and its predictions. srvm() with a bounded memory
# learns its bandwidths from the first 500 rows. Peers: see peers-tuned.R;
# rvm has its default width, bam smooths of each predictor, or, if it is told
# what the function is, of x1 and x2 together.

# ---- orders ------------------------------------------------------------------

order_cases <- function() {
  sinc <- sim_sinc(50, seed = 1)
  grid <- sinc_grid(100)
  friedman <- sim_friedman(200, p = 5, seed = 1)
  new <- sim_friedman(100, p = 5, seed = 1e6, truth = TRUE)
  with_paper <- function(proposal, n_moves) {
    list(
      data = sinc, sorted = order(sinc$x), new = grid,
      fit = function(data, seed) {
        sinc_fit(data, prior_with(1), sequential(proposal, n_moves), seed)
      }
    )
  }
  default_call <- function(data, sorted, new) {
    list(data = data, sorted = sorted, new = new, fit = function(data, seed) {
      without_expected_warnings(
        srvm(y ~ ., data, seed = seed, progress = FALSE)
      )
    })
  }
  list(
    birth_death_0 = with_paper("birth_death", 0),
    adapted_0 = with_paper("adapted", 0),
    adapted_10 = with_paper("adapted", 10),
    default_sinc = default_call(sinc, order(sinc$x), grid),
    default_friedman = default_call(
      friedman, order(friedman$y), new
    )
  )
}

# Root mean square, over points, of the standard deviation over runs.
spread_of <- function(predictions) {
  sqrt(mean(apply(predictions, 1, stats::var)))
}

log_evidences <- function(fits) {
  vapply(fits, function(fit) evidence(fit)$log_evidence, 0)
}

# Fits with the frozen settings of `fit`, to rows in the order given.
again <- function(fit, data, seeds) {
  lapply(seeds, function(seed) {
    without_expected_warnings(srvm(stats::formula(fit), data,
      reference = fit, control = fit$control, seed = seed, progress = FALSE
    ))
  })
}

order_case <- function(name, case, runs) {
  message("  orders: ", name)
  fit <- case$fit(case$data, 1)
  orders <- without_expected_warnings(
    order_spread(fit, runs, case$new, seed = 1, progress = FALSE)
  )
  seeds <- again(fit, case$data, seq_len(runs))
  sorted <- again(fit, case$data[case$sorted, ], seq_len(runs))
  random <- orders$orders$log_evidence
  means <- sapply(seeds, stats::predict, case$new)
  late <- sapply(sorted, stats::predict, case$new)
  data.frame(
    method = name, rows = nrow(case$data), runs = runs,
    sd_orders = orders$sd_log_evidence,
    sd_seeds = stats::sd(log_evidences(seeds)), mc_se = orders$rms_mc_se,
    sd_sorted = stats::sd(log_evidences(sorted)),
    sorted_minus_random = mean(log_evidences(sorted)) - mean(random),
    sorted_se = sqrt(
      (stats::var(random) + stats::var(log_evidences(sorted))) / runs
    ),
    spread_orders = orders$rms_spread, spread_seeds = spread_of(means),
    moved = rmse(rowMeans(late), rowMeans(orders$predictions)),
    error = mean(apply(orders$predictions, 2, rmse, case$new$f)),
    error_sorted = mean(apply(late, 2, rmse, case$new$f))
  )
}

order_spreads <- function(plan) {
  cases <- order_cases()
  do.call(rbind, Map(order_case, names(cases), cases, runs = plan$orders))
}

# ---- large data --------------------------------------------------------------

cpu_seconds <- function() sum(proc.time()[c(1, 2, 4, 5)])

by_srvm <- function(memory, ...) {
  function(data, new, seed) {
    fit <- without_expected_warnings(srvm(y ~ ., data,
      kernel = kernel_matern("ard"), memory = memory,
      control = smc_control(...), seed = seed, progress = FALSE
    ))
    stats::predict(fit, new)
  }
}

by_bam <- function(formula) {
  function(data, new, seed) {
    as.vector(stats::predict(mgcv::bam(formula, data = data), new))
  }
}

# Peers that take a matrix.
on_matrix <- function(peer) {
  function(data, new, seed) {
    x <- setdiff(names(data), "y")
    set.seed(seed)
    peer(as.matrix(data[x]), data$y, as.matrix(new[x]), seed)
  }
}

large_methods <- function() {
  list(
    srvm = by_srvm(srvm_memory(), particles = 125),
    srvm_candidates = by_srvm(srvm_memory(candidates = 100),
      n_moves = 0, sweep_every = 20
    ),
    srvm_window = by_srvm(srvm_memory(window = 500, candidates = 100),
      n_moves = 0, sweep_every = 20
    ),
    gausspr = on_matrix(function(...) tuned_peers$gausspr(...)$mean),
    rvm = on_matrix(function(x, y, new, seed) {
      as.vector(kernlab::predict(kernlab::rvm(x, y), new))
    }),
    dbarts = on_matrix(function(...) tuned_peers$dbarts(...)$mean),
    bam = by_bam(y ~ s(x1) + s(x2) + s(x3) + s(x4) + s(x5)),
    bam_told = by_bam(y ~ te(x1, x2) + s(x3) + s(x4) + s(x5))
  )
}

# O(n^3) methods stop at 1000 rows; a window of 500 rows does not gain from
# more than 10 000.
largest <- c(
  srvm = 1000, gausspr = 1000, rvm = 1000, srvm_window = 10000
)

large_run <- function(method, n, set, run) {
  data <- sim_friedman(n, p = 5, seed = set)
  new <- sim_friedman(1000, p = 5, seed = 1e6 + set, truth = TRUE)
  x <- paste0("x", 1:5)
  started <- cpu_seconds()
  silent <- utils::capture.output(
    mean <- run(data, new[x], set)
  )
  seconds <- cpu_seconds() - started
  out <- data.frame(
    method = method, rows = n, set = set, rmse = rmse(mean, new$f),
    seconds = seconds
  )
  message(sprintf(
    "  large data: %s, %d rows, set %d: error %.3f, %.1f s", method, n, set,
    out$rmse, seconds
  ))
  out
}

large_data <- function(plan, methods = large_methods()) {
  cells <- expand.grid(
    method = names(methods), rows = as.numeric(names(plan$large)),
    stringsAsFactors = FALSE
  )
  limit <- largest[cells$method]
  cells <- cells[is.na(limit) | cells$rows <= limit, ]
  runs <- Map(function(method, n) {
    sets <- seq_len(plan$large[[format(n, scientific = FALSE)]])
    do.call(rbind, lapply(sets, function(set) {
      large_run(method, n, set, methods[[method]])
    }))
  }, cells$method, cells$rows)
  do.call(rbind, unname(runs))
}

# ---- Boston, the default call ------------------------------------------------

# The splits of table 2, as another sampler of boston_set().
boston_default <- function(plan) {
  runs <- lapply(seq_len(plan$splits), function(set) {
    split <- boston_split(set)
    fit <- without_expected_warnings(
      srvm(medv ~ ., split$train, seed = set, progress = FALSE)
    )
    message("  Boston, default call: split ", set, " of ", plan$splits)
    data.frame(
      method = "default", set = set,
      boston_score(answer_srvm(fit, split$test, "prediction"),
        split$test$medv, TRUE
      ),
      log_score = mean(stats::predict(fit, split$test, type = "log_score"))
    )
  })
  do.call(rbind, runs)
}
