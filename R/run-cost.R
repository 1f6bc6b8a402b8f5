# Cost of a call, estimated from a short run of the same code.

#' Estimate the cost of a fit
#'
#' Runs the call for about `pilot` seconds and estimates how long all of it
#' would take, and how large the fit would be. Data, settings and the first
#' steps are those of the call itself.
#'
#' In sequential samplers each further row takes longer: the cost per row is
#' extrapolated as a function of the number of rows, until the
#' [memory][srvm_memory()] is full. With moves, half of the pilot is spent on
#' the quantities shared by the particles of [srvm()], the sums over the data
#' for all pairs of candidates: negligible for the first rows, they take most of
#' the time for ten thousand. A pilot that stops at a few per cent of the rows
#' may be wrong by a half; use a longer one. Iterations of chains are assumed to
#' cost as much as those in the second half of the pilot; if chains start far
#' from equilibrium, as [bark()] with many kernels, a longer pilot is also
#' better. [kbr()] is run on increasing numbers of rows, and extrapolated by a
#' power of the number of rows.
#'
#' @param object A quoted call of [srvm()], [bark()], [kgs()], [tdsmc()] or
#'   [kbr()], such as `quote(bark(y ~ x, data))`. Its arguments are evaluated in
#'   `env`.
#' @param pilot Seconds that the pilot may take (a single row, iteration or fit
#'   is always finished).
#' @param env Environment of the arguments of the call.
#' @param ... Not used: unknown arguments are errors.
#'
#' @return A list of class `kb_cost`: `seconds`, of the whole call with the
#'   threads or [workers][kb_workers] that it would use now; `bytes`, of the
#'   fit; `units`, the number of rows, steps or iterations per run; `runs`, and
#'   how many of them run `at_once`; `unit`, their name; `pilot`, a list of
#'   `units` and `seconds` of the pilot.
#'
#' @section Memory:
#' Kernel matrices, features and draws of functions that cannot fit into memory
#' are refused by `kb_error_memory` before they are allocated. The limit is the
#' free memory reported by the system (on Linux), or
#' `options(kernelbayes.memory_limit = )`, a number of bytes. Where there is none,
#' or it is `Inf`, the system is asked for as much at once.
#'
#' @section Long runs:
#' If a run is expected to take more than ten further minutes after its first
#' seconds, a message of class `kb_message_long_run` says so once, unless a
#' `time_limit` ends it earlier. `options(kernelbayes.long_run = )` sets another
#' number of seconds; `Inf` means never.
#'
#' @section Errors:
#' `kb_error_argument` if the call is not of one of these functions; and the
#' errors of the call itself.
#'
#' @examples
#' data <- sim_sinc(60, seed = 1)
#' estimate_cost(
#'   quote(srvm(y ~ x, data, kernel = kernel_gaussian(0.3))),
#'   pilot = 0.2
#' )
#' @export
estimate_cost <- function(object, ...) UseMethod("estimate_cost")

#' @rdname estimate_cost
#' @export
estimate_cost.default <- function(object, ...) {
  bad_argument(object, "object", cost_wanted)
}

#' @rdname estimate_cost
#' @export
estimate_cost.call <- function(object, pilot = 2, env = parent.frame(), ...) {
  check_no_dots(...)
  force(env)
  pilot <- check_seconds(pilot)
  engine <- cost_engine(object, env)
  out <- whole_stage(if (engine == "kbr") {
    rows_cost(object, pilot, env)
  } else {
    sampler_cost(object, engine, pilot, env)
  }, "the pilot")
  structure(c(list(engine = engine), out), class = "kb_cost")
}

cost_wanted <- paste(
  "a quoted call of `srvm()`, `bark()`, `kgs()`, `tdsmc()` or `kbr()`"
)

cost_engine <- function(object, env) {
  known <- list(srvm = srvm, bark = bark, kgs = kgs, tdsmc = tdsmc, kbr = kbr)
  f <- tryCatch(eval(object[[1]], env), error = function(error) NULL)
  found <- names(Filter(function(g) identical(f, g), known))
  if (length(found) == 0) {
    bad_argument(object, "object", cost_wanted)
  }
  found
}

# Samplers ---------------------------------------------------------------------

sampler_cost <- function(object, engine, pilot, env) {
  started <- now()
  fit <- stopped_fit(object, engine, env)
  setup <- now() - started
  # All kernels have the average number of particles.
  fit$settings$shares <- fit$sharing <- NULL
  laws <- cost_laws(fit_engine(fit))
  each <- pilot / (1 + !is.null(laws$share))
  run <- pilot_run(fit_engine(fit), each)
  shared <- if (!is.null(laws$share)) {
    pilot_run(laws$share$engine, each, max(run$done))
  }
  runs <- length(fit$runs)
  at_once <- runs_at_once(fit)
  each <- run$open + seconds_at(run, laws, shared)
  list(
    seconds = setup + runs / at_once * each,
    bytes = object_bytes(fit[setdiff(names(fit), "runs")]) +
      runs * bytes_at(fit_engine(fit), run),
    units = run$total, runs = runs, at_once = at_once,
    unit = if (inherits(fit, "kb_mcmc")) "iteration" else "step",
    pilot = list(units = max(run$done), seconds = now() - started)
  )
}

# The number of a fit's runs that threads or workers can do at a time
runs_at_once <- function(fit) {
  most <- if (has_workers()) {
    worker_count()
  } else if (inherits(fit, "kb_mcmc")) {
    threads_at_once(fit$control$threads)
  } else {
    1
  }
  min(most, length(fit$runs))
}

# The call, stopped as soon as possible, without its output and messages
stopped_fit <- function(object, engine, env) {
  control <- eval(object$control, env)
  if (is.null(control)) control <- default_control(object, engine, env)
  if (!inherits(control, c("kb_smc_control", "kb_mcmc_control"))) {
    bad_argument(control, "control", "made by a control function")
  }
  control$time_limit <- 1e-6
  control["checkpoint"] <- list(NULL)
  object$control <- control
  object$progress <- FALSE
  suppressMessages(suppressWarnings(eval(object, env)))
}

default_control <- function(object, engine, env) {
  batch <- engine == "srvm" && identical(eval(object$method, env), "mcmc")
  switch(engine,
    bark = eval(formals(bark.formula)$control),
    kgs = eval(formals(kgs.formula)$control),
    if (batch) mcmc_control() else smc_control()
  )
}

#' How the cost of a unit grows with the number of earlier units
#' @return List of `powers`, the exponents of the terms, and `full`, the number
#'   of units at which growth ends; the same for the quantities that all
#'   particles `share`, or NULL, and the `engine` that computes almost only
#'   these.
#' @noRd
cost_laws <- function(engine) UseMethod("cost_laws")
#' @export
cost_laws.default <- function(engine) list(powers = 1:2, full = Inf)

# The kernels in use grow with the rows, but ever more slowly; latent responses
# are drawn for each row that counts. Moves need the sums over the data for all
# pairs of candidates, O(t^2) for row t, however many the particles: the
# smallest part of a short pilot and the largest of a long run.
#' @export
cost_laws.kb_engine_srvm <- function(engine) {
  config <- engine$config
  # Nothing is shared; there are fewer moves per row the more rows there are.
  if (learns_scales(config)) {
    return(list(powers = c(1, 2), full = Inf))
  }
  latent <- config$response != "gaussian"
  horizon <- rows_that_count(config)
  full <- horizon
  if (is.infinite(horizon) && config$candidates > 0) full <- config$candidates
  out <- list(
    powers = if (latent) c(1, 2) else c(1, 1.5),
    full = if (latent) horizon else full
  )
  if (config$n_moves > 0 || config$proposal != "adapted") {
    engine$config$particles <- 1L
    engine$config$n_moves <- min(config$n_moves, 1L)
    out$share <- list(powers = c(1, 3), full = full, engine = engine)
    # Where a row leaves for each that comes, its products are taken out, and
    # once in a window all sums are computed anew: t^2 more on 1.5 t^2.
    if (is.finite(horizon)) out$share$after <- 5 / 3
  }
  out
}

rows_that_count <- function(config) {
  window <- if (config$window > 0) config$window else Inf
  if (config$forgetting == 1) {
    return(window)
  }
  # Older rows have weights below rounding.
  min(window, ceiling(log(1e-16) / log(config$forgetting)))
}

#' Advance a new run for some seconds, but at least by some units
#' @return List of `total` units, seconds to `open` it, and after each chunk the
#'   units `done` and the `seconds` since it was open; its last state, `state`.
#' @noRd
pilot_run <- function(engine, pilot, least = 0) {
  total <- engine_total(engine)
  started <- now()
  handle <- engine_open(engine, 1, NULL)
  on.exit(engine_close(engine, handle))
  opened <- now()
  done <- seconds <- 0
  chunk <- 1
  while (max(done) < total && (max(seconds) < pilot || max(done) < least)) {
    before <- now()
    n <- min(chunk, total - max(done))
    done <- c(done, engine_advance(engine, handle, n))
    chunk <- next_chunk(chunk, now() - before)
    seconds <- c(seconds, now() - opened)
  }
  list(
    total = total, open = opened - started, done = done, seconds = seconds,
    state = engine_state(engine, handle),
    grows = !inherits(engine, "kb_engine_chain")
  )
}

#' The seconds that all units of a run take
#' @param laws Of [cost_laws()].
#' @param shared The pilot for the shared quantities, at least as far as `run`,
#'   or NULL.
#' @noRd
seconds_at <- function(run, laws, shared = NULL) {
  last <- length(run$done)
  if (run$done[[last]] >= run$total) {
    return(run$seconds[[last]])
  }
  if (!run$grows) {
    half <- which(run$seconds <= run$seconds[[last]] / 2)
    half <- half[[length(half)]]
    rate <- (run$seconds[[last]] - run$seconds[[half]]) /
      (run$done[[last]] - run$done[[half]])
    return(run$seconds[[last]] + rate * (run$total - run$done[[last]]))
  }
  grown <- function(run, law) {
    law <- law[intersect(c("powers", "full", "after"), names(law))]
    do.call(growth_at, c(list(run$done, run$seconds, run$total), law))
  }
  if (is.null(shared)) {
    return(grown(run, laws))
  }
  common <- stats::approx(shared$done, shared$seconds, run$done)$y
  run$seconds <- run$seconds - common
  grown(run, laws) + grown(shared, laws$share)
}

# The seconds that `at` units take, from those that the first n took
#
# Their sum is one of powers of n up to n = `full`, and then a straight line of
# `after` times the slope there; no coefficient is negative. The first quarter
# has additional costs: only its sum is used.
growth_at <- function(n, seconds, at, powers = 1:2, full = Inf,
                      after = 1) {
  last <- length(n)
  used <- which(n >= n[[last]] / 4)
  if (length(used) < 4) used <- seq_len(last)
  powers <- powers[seq_len(min(length(powers), length(used) - 1))]
  terms <- function(n) {
    each <- vapply(powers, summed_power, 0 * n, n, full, after)
    matrix(each, length(n))
  }
  # The clock's errors grow with the time that it measures.
  root <- sqrt(diff(n[used]))
  cost <- positive_fit(
    diff(terms(n[used])) / root, diff(seconds[used]) / root
  )
  seconds[[last]] + drop((terms(at) - terms(n[[last]])) %*% cost)
}

# n^power, continued by a straight line from `full` on: of `after` times the
# slope
summed_power <- function(power, n, full = Inf, after = 1) {
  inside <- pmin(n, full)
  slope <- after * power * inside^(power - 1)
  inside^power + ifelse(n > full, slope * (n - inside), 0)
}

# Least squares with coefficients of at least 0: the best of all subsets
positive_fit <- function(design, y) {
  scale <- sqrt(colSums(design^2))
  best <- list(cost = numeric(ncol(design)), error = sum(y^2))
  for (code in seq_len(2^ncol(design) - 1)) {
    used <- which(bitwAnd(code, 2^(seq_len(ncol(design)) - 1)) > 0)
    part <- sweep(design[, used, drop = FALSE], 2, scale[used], `/`)
    fit <- stats::.lm.fit(part, y)
    error <- sum(fit$residuals^2)
    valid <- fit$rank == length(used) && all(fit$coefficients >= 0)
    if (valid && error < best$error) {
      best$cost[] <- 0
      best$cost[used] <- fit$coefficients / scale[used]
      best$error <- error
    }
  }
  best$cost
}

object_bytes <- function(object) as.double(utils::object.size(object))

# Bytes of a run's state at its end
#
# For chains it grows with the draws, a few more of which are made right after
# the pilot; for particles with the rows.
bytes_at <- function(engine, run) {
  size <- object_bytes(run$state)
  last <- max(run$done)
  if (run$grows) {
    return(size * max(run$total / max(last, 1), 1)^0.5)
  }
  kept <- engine$config
  draws <- kept$iter %/% kept$thin
  engine$config$warmup <- 0L
  engine$config$thin <- 1L
  engine$config$iter <- .Machine$integer.max
  handle <- engine_open(engine, 1, run$state)
  on.exit(engine_close(engine, handle))
  few <- 4
  engine_advance(engine, handle, few)
  each <- (object_bytes(engine_state(engine, handle)) - size) / few
  before <- max(last - kept$warmup, 0) %/% kept$thin
  size + max(each, 0) * (draws - before)
}

# kbr() ------------------------------------------------------------------------

rows_cost <- function(object, pilot, env) {
  started <- now()
  arguments <- lapply(as.list(object)[-1], eval, env)
  n <- max(vapply(arguments, row_count, 1))
  rows <- seconds <- bytes <- numeric()
  size <- min(n, 50)
  repeat {
    used <- spread_over(n, size)
    part <- lapply(arguments, function(x) rows_of(x, used, n))
    before <- now()
    fit <- suppressWarnings(do.call(kbr, part, quote = TRUE))
    rows <- c(rows, size)
    seconds <- c(seconds, now() - before)
    bytes <- c(bytes, object_bytes(fit))
    if (size == n || now() - started > pilot) break
    size <- min(2 * size, n)
  }
  list(
    seconds = power_at(rows, seconds, n, 3),
    bytes = power_at(rows, bytes, n, 2),
    units = n, runs = 1, at_once = 1, unit = "row",
    pilot = list(units = size, seconds = now() - started)
  )
}

row_count <- function(x) {
  if (is.data.frame(x) || is.matrix(x)) nrow(x) else if (is.atomic(x)) {
    as.double(length(x))
  } else {
    0
  }
}

rows_of <- function(x, used, n) {
  if (is.data.frame(x)) {
    return(x[used, , drop = FALSE])
  }
  if (is.matrix(x) && nrow(x) == n) {
    # A kernel matrix has a row and one column per row of the data.
    square <- ncol(x) == n && n > 1
    return(if (square) x[used, used, drop = FALSE] else
      x[used, , drop = FALSE])
  }
  if (is.atomic(x) && length(x) == n && n > 1) x[used] else x
}

# Extrapolated by the power of n fitted to the last two, from 1 to `most`
power_at <- function(n, value, at, most) {
  last <- length(n)
  if (n[[last]] == at || last == 1) {
    return(value[[last]] * at / n[[last]])
  }
  ratio <- max(value[[last]], 1e-9) / max(value[[last - 1]], 1e-9)
  power <- log(ratio) / log(n[[last]] / n[[last - 1]])
  value[[last]] * (at / n[[last]])^min(max(power, 1), most)
}

#' @export
print.kb_cost <- function(x, digits = 2, ...) {
  cat(
    "Cost of ", x$engine, "(): about ", format_seconds(x$seconds, digits), ", ",
    format_bytes(x$bytes), "\n",
    "  ", counted(x$runs, "run"), " of ", counted(x$units, x$unit),
    if (x$at_once > 1) paste0(", ", x$at_once, " at a time"),
    "; the pilot made ", format(x$pilot$units), " in ",
    format_seconds(x$pilot$seconds, digits), "\n",
    sep = ""
  )
  invisible(x)
}

format_seconds <- function(seconds, digits = 2) {
  unit <- c(s = 1, min = 60, hours = 3600, days = 86400)
  used <- max(which(unit <= max(seconds / 2, 1)))
  paste(format(seconds / unit[[used]], digits = digits), names(unit)[[used]])
}
