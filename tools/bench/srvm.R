# Speed of srvm(), one core, compared with other packages on the same data:
#
#   Rscript tools/bench/srvm.R             everything
#   Rscript tools/bench/srvm.R --quick     fewer repetitions, shorter streams
#   Rscript tools/bench/srvm.R --readme    only the comparison, as markdown
#
# 1. sinc, 50 points, and 300 rows of the Boston housing data: srvm() and the
#    packages of tools/peers.R, which must be installed
#    (Rscript tools/deps.R reproduce). Sampler time, timings(fit)$sampler, and
#    the time of the whole call, each divided by that of kernlab::rvm.
# 2. The cost of a step per particle as rows come in; time and peak memory at
#    3000 rows.
# 3. The default call on sim_friedman(): beside a rate of centres that is given,
#    and 1000 particles on two threads beside one. The second needs two free
#    cores.
#
# Target: a learned rate costs at most 1.5 of a given one, two threads take at most
# .6 of the time of one. For the others: sinc without moves 9 ms of sampler, Boston without moves 0.27 s; the
# cost per particle must not grow with t except through the number of centres.
# Medians over repetitions in which the methods take turns. Machines are shared
# and noisy: compare within one run.

library(kernelbayes)

script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1])
script <- normalizePath(gsub("~+~", " ", script, fixed = TRUE))
source(file.path(dirname(dirname(script)), "arguments.R"))
source(file.path(dirname(script), "report.R"))
source(file.path(dirname(dirname(script)), "peers.R"))
refuse_unknown(c("quick", "readme"))
quick <- flag("quick")
readme <- flag("readme")

# ---- package and peers ------------------------------------------------------

# Sampler and whole-call seconds of one fit; peers have no sampler time.
time_once <- function(fit_it) {
  silent <- utils::capture.output({
    started <- Sys.time() # finer than system.time()
    fit <- fit_it()
    whole <- as.numeric(Sys.time() - started, units = "secs")
  })
  ours <- inherits(fit, "kb_fit")
  c(sampler = if (ours) timings(fit)$sampler else NA, whole = whole)
}

# Each repetition runs every method once on its own data; the first is not
# counted. A method takes the data and returns its fit.
time_in_turn <- function(methods, simulate, runs) {
  times <- lapply(seq_len(runs + 1), function(run) {
    data <- simulate(run)
    vapply(methods, function(method) {
      time_once(function() method(data))
    }, c(sampler = 0, whole = 0))
  })
  times <- simplify2array(times[-1])
  data.frame(
    method = names(methods),
    sampler = apply(times["sampler", , , drop = FALSE], 2, stats::median),
    whole = apply(times["whole", , , drop = FALSE], 2, stats::median),
    row.names = NULL
  )
}

adapted <- function(n_moves) {
  smc_control(particles = 250, n_moves = n_moves, proposal = "adapted")
}

sinc_kernel <- kernel_gaussian(1.6 / sqrt(2)) # exp(-r^2 / 1.6^2)

# Data in the form for the package (`frame`) and for peers (`x`, `y`).
sinc_data <- function(run) {
  frame <- sim_sinc(50, seed = run)
  list(frame = frame, x = matrix(frame$x), y = frame$y, run = run)
}

boston_data <- function(run) {
  set.seed(run)
  frame <- MASS::Boston[sample(nrow(MASS::Boston), 300), ]
  x <- scale(as.matrix(frame[setdiff(names(frame), "medv")]))
  list(frame = frame, x = x, y = scale(frame$medv)[, 1], run = run)
}

peer <- function(fit, ...) function(data) fit(data$x, data$y, ...)

sinc_methods <- function() {
  rate <- 1 / 1.6^2
  ours <- function(method, control) {
    function(data) {
      srvm(y ~ x, data$frame,
        method = method, kernel = sinc_kernel, scale = FALSE, seed = data$run,
        prior = srvm_prior(lambda = 1, kmax = 50), control = control,
        progress = FALSE
      )
    }
  }
  batch <- mcmc_control(chains = 1, warmup = 2000, iter = 10000, n_moves = 1)
  list(
    "srvm, N = 250, no moves" = ours("smc", adapted(0)),
    "srvm, N = 250, 10 moves" = ours("smc", adapted(10)),
    "srvm, batch, 12 000 iterations" = ours("mcmc", batch),
    "kernlab::rvm" = peer(peer_rvm, rate),
    "kernlab::gausspr" = peer(peer_gausspr, rate),
    "kernlab::ksvm" = peer(peer_ksvm, rate),
    "mgcv::gam, k = 10" = peer(peer_gam, 10),
    "mgcv::gam, k = 30" = peer(peer_gam, 30)
  )
}

boston_methods <- function() {
  rate <- 1 / 5^2
  ours <- function(n_moves) {
    function(data) {
      srvm(medv ~ ., data$frame,
        kernel = kernel_gaussian(5 / sqrt(2)), seed = data$run,
        prior = srvm_prior(lambda = 5, kmax = 50), control = adapted(n_moves),
        progress = FALSE
      )
    }
  }
  list(
    "srvm, N = 250, no moves" = ours(0), "srvm, N = 250, 10 moves" = ours(10),
    "kernlab::rvm" = peer(peer_rvm, rate),
    "kernlab::gausspr" = peer(peer_gausspr, rate),
    "kernlab::ksvm" = peer(peer_ksvm, rate)
  )
}

compare <- function() {
  runs <- if (quick) 3 else 15
  sinc <- time_in_turn(sinc_methods(), sinc_data, runs)
  boston <- time_in_turn(boston_methods(), boston_data, runs)
  out <- rbind(
    cbind(data = "sinc, 50 points", sinc),
    cbind(data = "Boston, 300 rows", boston)
  )
  base <- out$whole[out$method == "kernlab::rvm"]
  base <- rep(base, c(nrow(sinc), nrow(boston)))
  out$sampler_to_rvm <- out$sampler / base
  out$whole_to_rvm <- out$whole / base
  out
}

decimals <- function(x, digits) {
  ifelse(is.na(x), "", formatC(x, format = "f", digits = digits))
}

milliseconds <- function(seconds) decimals(1000 * seconds, 1)

show_markdown <- function(table) {
  cells <- cbind(
    table$data, ifelse(grepl("::", table$method), paste0("`", sub(
      "(,.*)?$", "`\\1", table$method
    )), table$method),
    milliseconds(table$sampler), milliseconds(table$whole),
    decimals(table$sampler_to_rvm, 2), decimals(table$whole_to_rvm, 2)
  )
  header <- c(
    "data", "method", "sampler, ms", "call, ms", "sampler / rvm", "call / rvm"
  )
  lines <- apply(rbind(
    header, c("---", "---", "---:", "---:", "---:", "---:"), cells
  ), 1, function(row) paste0("| ", paste(row, collapse = " | "), " |"))
  cat(lines, sep = "\n")
}

show_plain <- function(table) {
  wide <- options(width = 120)
  on.exit(options(wide))
  print(data.frame(
    data = table$data, method = table$method,
    sampler_ms = milliseconds(table$sampler),
    call_ms = milliseconds(table$whole),
    sampler_to_rvm = decimals(table$sampler_to_rvm, 2),
    call_to_rvm = decimals(table$whole_to_rvm, 2)
  ), row.names = FALSE, right = FALSE)
}

# ---- the cost of a step -----------------------------------------------------

# Cost of the last rows for a filter stopped at increasing t.
curve <- function(times, n_moves, particles = 250) {
  data <- sim_sinc(max(times), seed = 1)
  fit <- srvm(y ~ x, data[1:times[[1]], ],
    kernel = sinc_kernel, scale = FALSE, seed = 1, progress = FALSE,
    prior = srvm_prior(lambda = 10, kmax = 50),
    control = smc_control(particles = particles, n_moves = n_moves)
  )
  out <- NULL
  for (t in times[-1]) {
    before <- timings(fit)
    from <- fit$time
    fit <- update(fit, newdata = data[(from + 1):t, ], progress = FALSE)
    spent <- timings(fit)
    own <- (spent$sampler - before$sampler) - (spent$shared - before$shared)
    steps <- t - from
    k <- model_size(fit)
    out <- rbind(out, data.frame(
      t = t, k = sum(k$k * k$probability),
      particle_us = 1e6 * own / steps / particles,
      shared_us = 1e6 * (spent$shared - before$shared) / steps
    ))
  }
  list(table = out, fit = fit)
}

show_curves <- function() {
  times <- c(100, 200, 400, 800, if (!quick) c(1500, 2200, 3000))
  for (n_moves in c(0, 10)) {
    before <- peak_megabytes()
    run <- curve(times, n_moves)
    cat(sprintf("\nN = 250, %d moves: cost of a step\n", n_moves))
    print(run$table, row.names = FALSE, digits = 3)
    cat(sprintf(
      paste0(
        "%d rows: sampler %.1f s, peak memory of the process %.0f MB ",
        "(%.0f MB before)\n"
      ),
      max(times), timings(run$fit)$sampler, peak_megabytes(), before
    ))
  }
}

# ---- the default call --------------------------------------------------------

show_default <- function(runs = if (quick) 1 else 3) {
  friedman <- function(seed) {
    sim_friedman(if (quick) 100 else 200, p = 10, seed = seed)
  }
  fit <- function(...) function(data) srvm(y ~ ., data, seed = 1, ...)
  threads <- function(n) {
    fit(control = smc_control(particles = 1000, threads = n))
  }
  cat("\nFriedman 1, 10 predictors, default call: seconds\n")
  print(time_in_turn(list(
    "learned rate" = fit(), "rate 10" = fit(prior = srvm_prior(lambda = 10)),
    "1000 particles, 1 thread" = threads(1),
    "1000 particles, 2 threads" = threads(2)
  ), friedman, runs), row.names = FALSE, digits = 3)
}

# The curves come first, since they report the peak memory of the process.
if (!readme) {
  show_curves()
  show_default()
  cat("\n")
}
table <- compare()
if (readme) show_markdown(table) else show_plain(table)
