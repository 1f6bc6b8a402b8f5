# The methods compared in the experiments on kbr(), each on one repeat of a
# model of kbr-data.R. Sourced by tools/reproduce/kbr.R.
#
# The error is the squared distance of the posterior mean from the truth,
# averaged over the 10 observations and the d coordinates. Times are processor
# times, user and system:
#
#   seconds   simulations, work done once, and all 10 posterior means
#   one       the same for a single observation
#
# In all methods the 10 observations share simulations: kbr() uses one fit for
# them, abc() one table.

cpu_seconds <- function(expr) {
  started <- proc.time()
  force(expr)
  sum((proc.time() - started)[c("user.self", "sys.self")])
}

squared_error <- function(guess, truth) mean((guess - truth)^2)

# A row of results. `once`: seconds of shared work; `each`: seconds per
# observation.
line_of <- function(method, size, setting, error, once, each, count) {
  data.frame(
    variant = method, size = size, setting = setting, error = error,
    seconds = once + count * each, one = once + each
  )
}

# Ranks and bandwidths are part of the comparison: no warnings about them.
quietly <- function(expr) {
  muffle <- function(w) invokeRestart("muffleWarning")
  withCallingHandlers(expr, kb_warning_rank = muffle, kb_warning_far = muffle)
}

# ---- kbr() ------------------------------------------------------------------

# All of the slides' rule, method "kbr". default: its settings by default. rank_100: at most 100
# features. tuned: bandwidths and c0 by tune_kbr() on at most 1000 of the pairs,
# whose time is counted, then a fit to all pairs; rank 100. best: the setting of
# that grid with the smallest error, which is unknown in practice.
kbr_grid <- list(bandwidths = c(0.3, 0.5, 1, 2, 3, 5), c0 = 10^(-3:1))

kbr_variants <- list(
  default = function(pairs) kbr(pairs$x, pairs$y, method = "kbr"),
  rank_100 = function(pairs) {
    kbr(pairs$x, pairs$y, method = "kbr", rank = 100)
  },
  tuned = function(pairs) {
    some <- seq_len(min(nrow(pairs$x), 1000))
    tuning <- tune_kbr(
      pairs$x[some, ], pairs$y[some, ],
      bandwidths = kbr_grid$bandwidths, c0 = kbr_grid$c0, rank = 100,
      seed = 1, progress = FALSE
    )
    chosen <- tuning$table[tuning$best, ]
    fit <- kbr_widened(pairs, chosen$bandwidth, chosen$c0)
    attr(fit, "chosen") <- paste0(chosen$bandwidth, ", ", chosen$c0)
    fit
  }
)

# Largest number of pairs for each variant.
kbr_most <- c(default = 1e4, rank_100 = 3e4, tuned = 3e4, best = 1e4)

kbr_widened <- function(pairs, factor, c0) {
  wide <- function(x) kernel_gaussian(factor * bandwidth_median(x))
  n <- nrow(pairs$x)
  kbr(pairs$x, pairs$y,
    kernel_x = wide(pairs$x), kernel_y = wide(pairs$y), rank = 100,
    eps = c0 / n, delta = 2 * c0 / n
  )
}

kbr_line <- function(variant, n, task, pairs, simulation) {
  fitting <- cpu_seconds(fit <- quietly(kbr_variants[[variant]](pairs)))
  answering <- cpu_seconds(guess <- quietly(stats::predict(fit, task$y)))
  chosen <- attr(fit, "chosen")
  line_of(
    variant, n, if (is.null(chosen)) "" else chosen,
    squared_error(guess, task$truth), simulation + fitting,
    answering / nrow(task$y), nrow(task$y)
  )
}

# Errors of all settings of the grid. kbr.R reports only one of them.
kbr_grid_lines <- function(n, task, pairs) {
  lines <- lapply(kbr_grid$bandwidths, function(factor) {
    fit <- quietly(kbr_widened(pairs, factor, 1))
    lapply(kbr_grid$c0, function(c0) {
      fit <- stats::update(fit, eps = c0 / n, delta = 2 * c0 / n)
      line_of(
        "grid", n, paste0(factor, ", ", c0),
        squared_error(quietly(stats::predict(fit, task$y)), task$truth), NA, NA,
        1
      )
    })
  })
  do.call(rbind, unlist(lines, recursive = FALSE))
}

kbr_scores <- function(name, r, sizes) {
  task <- draw_task(name, r)
  # The first call in a process loads code, which should not be timed.
  stats::predict(kbr(task$truth, task$y, method = "kbr"), task$y)
  lines <- lapply(sizes, function(n) {
    set.seed(2e6 + r)
    simulation <- cpu_seconds(pairs <- draw_pairs(task$model, n))
    variants <- Filter(function(v) n <= kbr_most[[v]], names(kbr_variants))
    rbind(
      do.call(rbind, lapply(
        variants, kbr_line, n, task, pairs, simulation
      )),
      if (n <= kbr_most[["best"]]) kbr_grid_lines(n, task, pairs)
    )
  })
  do.call(rbind, lines)
}

# ---- abc() ------------------------------------------------------------------

# One call of abc() at the largest tolerance gives the distances, from which all
# smaller tolerances follow: the same draws that abc() would accept. So does the
# local linear regression, by the same weights as abc(method = "loclinear",
# hcorr = FALSE). The time of a call does not depend on its tolerance.
abc_tolerances <- c(1e-4, 3e-4, 1e-3, 3e-3, 0.01, 0.03, 0.1, 0.3)
abc_least <- 20

nearest <- function(y, pairs) {
  abc::abc(y, pairs$x, pairs$y,
    tol = max(abc_tolerances), method = "rejection"
  )
}

# Posterior means at every tolerance: lists of vectors; `regression` seconds.
abc_sweep <- function(y, pairs) {
  calling <- cpu_seconds(table <- nearest(y, pairs))
  distance <- table$dist[table$region]
  order <- order(distance)
  kept <- abc_kept(nrow(pairs$x))
  rejection <- lapply(kept, function(k) {
    colMeans(table$unadj.values[order[seq_len(k)], , drop = FALSE])
  })
  regression <- cpu_seconds(
    loclinear <- lapply(kept, function(k) {
      rows <- order[seq_len(k)]
      weights <- 1 - (distance[rows] / distance[rows[[k]]])^2
      x <- cbind(1, sweep(table$ss[rows, , drop = FALSE], 2, y))
      cross <- crossprod(x * weights, cbind(x, table$unadj.values[rows, ]))
      inside <- seq_len(ncol(x))
      solve(cross[, inside], cross[, -inside, drop = FALSE])[1, ]
    })
  )
  list(
    means = list(rejection = rejection, loclinear = loclinear),
    seconds = calling, regression = regression / length(kept)
  )
}

abc_kept <- function(n) {
  kept <- ceiling(n * abc_tolerances)
  names(kept) <- format(abc_tolerances, trim = TRUE, scientific = FALSE,
    drop0trailing = TRUE
  )
  kept[kept >= abc_least]
}

# Rejection in plain R, without abc()'s other work: shows how much of the time
# is the method's own.
plain_rejection <- function(y, pairs, k) {
  spread <- apply(pairs$y, 2, stats::mad)
  distance <- colSums(((t(pairs$y) - y) / spread)^2)
  cut <- sort(distance, partial = k)[[k]]
  colMeans(pairs$x[distance <= cut, , drop = FALSE])
}

abc_sweeps <- function(y, pairs) {
  lapply(seq_len(nrow(y)), function(i) abc_sweep(y[i, ], pairs))
}

abc_table_lines <- function(sweeps, n, task, pairs, simulation) {
  count <- nrow(task$y)
  seconds <- function(part) mean(vapply(sweeps, `[[`, 0, part))
  kept <- abc_kept(n)
  plain <- cpu_seconds(plain_rejection(task$y[1, ], pairs, kept[[1]]))
  lines <- lapply(c("rejection", "loclinear"), function(method) {
    each <- seconds("seconds") +
      if (method == "loclinear") seconds("regression") else 0
    lapply(names(kept), function(tolerance) {
      guess <- t(vapply(sweeps, function(sweep) {
        sweep$means[[method]][[tolerance]]
      }, task$y[1, ]))
      error <- squared_error(guess, task$truth)
      rbind(
        line_of(method, n, tolerance, error, simulation, each, count),
        if (method == "rejection") {
          line_of("plain", n, tolerance, error, simulation, plain, count)
        }
      )
    })
  })
  do.call(rbind, unlist(lines, recursive = FALSE))
}

abc_scores <- function(name, r, sizes) {
  task <- draw_task(name, r)
  # The first call in a process loads code, which should not be timed.
  abc_sweep(task$y[1, ], draw_pairs(task$model, 100))
  lines <- lapply(sizes, function(n) {
    set.seed(2e6 + r)
    simulation <- cpu_seconds(pairs <- draw_pairs(task$model, n))
    sweeps <- abc_sweeps(task$y, pairs)
    rbind(
      abc_table_lines(sweeps, n, task, pairs, simulation),
      if (n <= 1e5) abc_chosen_lines(sweeps, n, task, pairs, simulation)
    )
  })
  do.call(rbind, lines)
}

# The tolerance by cross-validation, as in cv4abc(): 25 pairs of the table serve
# as observations and leave the table; the loss is the squared distance of the
# mean from their states. The time is counted.
abc_chosen_lines <- function(sweeps, n, task, pairs, simulation, held = 25) {
  rows <- seq_len(held)
  rest <- lapply(pairs, function(part) part[-rows, , drop = FALSE])
  choosing <- cpu_seconds(
    tried <- abc_sweeps(pairs$y[rows, , drop = FALSE], rest)
  )
  kept <- names(abc_kept(nrow(rest$x)))
  each <- mean(vapply(sweeps, `[[`, 0, "seconds"))
  lines <- lapply(c("rejection", "loclinear"), function(method) {
    losses <- vapply(kept, function(tolerance) {
      mean(vapply(rows, function(i) {
        sum((tried[[i]]$means[[method]][[tolerance]] - pairs$x[i, ])^2)
      }, 0))
    }, 0)
    best <- kept[[which.min(losses)]]
    guess <- t(vapply(
      sweeps, function(s) s$means[[method]][[best]], task$y[1, ]
    ))
    line_of(
      paste0(method, "_cv"), n, best, squared_error(guess, task$truth),
      simulation + choosing, each, nrow(task$y)
    )
  })
  do.call(rbind, lines)
}

# ---- consistency ------------------------------------------------------------

# Regularisation as in the call, `kbr(pairs, method = "kbr", rank = 100)`; at the slides' rates
# with their constant of 1; the same rates with smaller constants.
rate_settings <- list(
  default = NULL, schedule = function() kbr_schedule(),
  small = function() kbr_schedule(constant_eps = 1e-3, constant_delta = 1e-3)
)

rate_scores <- function(d, r, sizes) {
  task <- draw_task(paste0("gauss_", d), r)
  lines <- lapply(sizes, function(n) {
    set.seed(2e6 + r)
    pairs <- draw_pairs(task$model, n)
    fit <- quietly(kbr(pairs$x, pairs$y, method = "kbr", rank = 100))
    errors <- vapply(rate_settings, function(schedule) {
      if (!is.null(schedule)) fit <- stats::update(fit, eps = schedule())
      squared_error(stats::predict(fit, task$y), task$truth)
    }, 0)
    w <- stats::predict(fit, task$y, type = "weights")
    data.frame(
      size = n, setting = names(rate_settings), error = errors,
      prior = squared_error(0, task$truth),
      negative = mean(rowSums(pmax(-w, 0)) / rowSums(abs(w))),
      share_negative = mean(w < 0), row.names = NULL
    )
  })
  do.call(rbind, lines)
}

# Low rank against full rank on the same pairs: errors and times.
rank_scores <- function(d, r, n, ranks) {
  task <- draw_task(paste0("gauss_", d), r)
  set.seed(2e6 + r)
  pairs <- draw_pairs(task$model, n)
  lines <- lapply(ranks, function(rank) {
    seconds <- cpu_seconds(
      fit <- quietly(kbr(pairs$x, pairs$y, method = "kbr", rank = rank))
    )
    data.frame(
      size = n, setting = as.character(rank), seconds = seconds,
      error = squared_error(stats::predict(fit, task$y), task$truth)
    )
  })
  do.call(rbind, lines)
}
