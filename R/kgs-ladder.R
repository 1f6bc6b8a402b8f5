# Chains of kgs() under one cost of wrong labels each, from none to so much that
# hardly any is wrong, as an engine of run_engine(); and the choice of costs.

#' @param beta Costs of a wrong label, the first 0.
#' @noRd
kgs_ladder_engine <- function(fit, beta, warmup, iter, seed) {
  fit$settings$method <- ladder_method(fit)
  structure(
    list(
      config = list(
        method = fit$settings$method, beta = beta, warmup = warmup,
        iter = iter, seed = seed
      ),
      data = kgs_data(fit)
    ),
    class = c(
      "kb_engine_kgs", "kb_engine_chain", "kb_engine", "kb_engine_ladder"
    )
  )
}

# Above this size each level's Gram matrix takes long.
ladder_hmc_points <- 2500

# The fit's own sampler; "block" has no state on the sphere, and is replaced by
# the choice of "auto" without a nugget
ladder_method <- function(fit) {
  method <- fit$settings$method
  if (method != "block") {
    return(method)
  }
  if (nrow(fit$data$x) <= ladder_hmc_points) "hmc" else "coordinate"
}

#' Run independent ladders, to the end or to an interrupt
#' @return List of `errors`, for each ladder the numbers of wrong labels, levels
#'   x iterations; `swapped`, in which share of the sweeps each level exchanged
#'   its state with the next; `status`.
#' @noRd
run_ladders <- function(fit, beta, warmup, iter, chains, seed, progress) {
  engine <- kgs_ladder_engine(fit, beta, warmup, iter, seed)
  run <- run_ladder_engine(engine, chains, progress)
  levels <- length(beta)
  swapped <- lapply(run$states, `[[`, "swapped")
  list(
    errors = lapply(run$states, function(state) {
      matrix(state$observed[seq_len(levels * run$sweeps)], levels)
    }),
    swapped = Reduce(`+`, swapped) / sum(run$done), status = run$status
  )
}

# The choice of costs ----------------------------------------------------------

#' Costs of a ladder for a fit, from a short pilot run
#' @param steps Number of costs above 0, or NULL.
#' @param volume Up to where hardly any label is wrong?
#' @noRd
choose_costs <- function(fit, steps, volume, seed) {
  m <- nrow(fit$data$x)
  top <- largest_cost(m, fit$settings$classes)
  if (!volume) top <- min(top, likely_cost(fit))
  beta <- pilot_costs(m, top)
  # Random numbers that the ladders of this seed do not use.
  pilot_seed <- if (seed < .Machine$integer.max) seed + 1L else 0L
  pilot <- whole_stage(
    run_ladders(fit, beta, 50L, 100L, 1L, pilot_seed, FALSE), "the pilot run"
  )
  spaced_costs(beta, rowMeans(pilot$errors[[1]]), steps)
}

# The largest cost: at it 0.01 of m labels would be wrong on average, if each
# were so independently of the others
#
# If directions without errors exist, most draws then have none. At much larger
# costs chains only bounce in narrow cells.
largest_cost <- function(m, classes) log(100 * m * (classes - 1))

# The cost under half of the smallest rate that the fit finds likely: states
# with fewer wrong labels add nothing to the evidence
likely_cost <- function(fit) {
  q <- fit$settings$noise$rate
  if (is.null(q)) {
    q <- stats::quantile(posterior_pool(fit)$rates, 0.005, names = FALSE) / 2
  }
  log((1 - q) * (fit$settings$classes - 1) / q)
}

# Costs of a pilot run: 0, and evenly in log from 1 / m on
pilot_costs <- function(m, top, steps = 30) {
  c(0, exp(seq(-log(m), log(top), length.out = steps)))
}

#' Costs at equal distances
#'
#' Levels at beta and beta + d have a symmetric Kullback-Leibler divergence of d
#' times the difference of their mean numbers of errors, (G32). Its square root
#' is about d times the standard deviation of the errors, so that it adds up
#' along the ladder; at a distance of 0.7 neighbours accept 60 percent of
#' exchanges.
#'
#' @param beta,errors Costs of a pilot run, increasing, and its mean errors.
#' @param steps Number of steps, or NULL: as many as make each at most `step`.
#' @noRd
spaced_costs <- function(beta, errors, steps = NULL, step = 0.7) {
  # Means decrease as beta increases, except for noise.
  step_lengths <- sqrt(diff(beta) * -diff(cummin(errors)))
  length <- sum(step_lengths)
  if (is.null(steps)) steps <- max(ceiling(length / step), 4)
  # Costs must increase even where no avoidable errors are left.
  far <- c(0, cumsum(step_lengths)) + 1e-6 * beta
  at <- seq(0, far[[length(far)]], length.out = steps + 1)
  stats::approx(far, beta, at, rule = 2)$y
}
