# Likelihood-free use of kbr(): pairs from a sampler of the prior and a
# simulator of observations.

#' Simulate pairs of states and observations
#'
#' `kbr_simulate(prior_sampler, simulator, n)` draws states from the prior and an
#' observation given each state, for [kbr()] with a likelihood that can be simulated
#' but not evaluated. The prior of the fit is then the prior of the simulation.
#' @param prior_sampler A function of the number n that returns n states: a
#'   numeric vector, or a matrix or data frame of n rows.
#' @param simulator A function of all states, in the form returned by
#'   `prior_sampler`, that returns an observation for each: a vector of length n
#'   or a matrix or data frame of n rows. Summaries of raw data are computed
#'   here.
#' @param n Number of pairs, at least 1.
#' @param batches Number of parts, at most n, that are simulated independently,
#'   on [workers][kb_workers] if there are any. The pairs depend on it, and not
#'   on the workers.
#' @param seed A whole number, or `NULL`. With a number the result is the same
#'   in every session and R's own generator is left untouched; with `NULL` the
#'   random numbers come from R's generator.
#' @param support Lower and upper bounds of the states, or `"none"`, see [kbr()].
#'   `NULL`: found in the draws of the prior.
#' @param rounds Number of rounds, each with a share of the n pairs. After the
#'   first, see below, states are drawn from where the posterior given
#'   `observation` may be.
#' @param observation With several rounds: what was observed, one row with the
#'   columns of the simulator, as in [predict.kb_kbr()].
#' @return An object of class `kb_pairs`, for [kbr()]: a list of the numeric
#'   matrices `x` (n x d) and `y` (n x d_y), and, where they apply: `support`;
#'   `failed`, states for which the simulator returned missing or infinite
#'   values; with several rounds `weights` (importance weights of the pairs,
#'   with the mean 1), `observation` and `rounds` (a data frame with one line
#'   per round: `pairs` simulated, `kept` of them, `prior_share`: share of the
#'   prior where states were drawn); `status`, `"interrupted"`. `as.data.frame()`
#'   combines x and y.
#' @section Rounds:
#' After each round [kbr()] is fitted to the pairs so far, and a region is found that
#' holds all but 0.1% of the posterior, and a margin. The next round draws 90% of its
#' states of the prior within the region, by rejection. Only pairs in the last region
#' are returned, with the density of the prior relative to that of all rounds as
#' their weights, so that the fit has the prior restricted to the region. Predict
#' only at `observation`: elsewhere the posterior is not that of the prior. The
#' article `sbi` has an example and the formula.
#' @section Errors: `kb_error_simulator` if a function does not return n rows of
#'   numbers, if states are not finite, or if the simulator fails for all states; if
#'   it fails for some there is a warning (`kb_warning_simulator`).
#'   `kb_error_argument` for an `observation` that the simulator could not return,
#'   after one simulation. Warnings of both functions are told once
#'   (`kb_warning_user_function`).
#' @examples
#' # the rate of a Poisson process from three summaries of its gaps
#' pairs <- kbr_simulate(
#'   prior_sampler = function(n) rexp(n),
#'   simulator = function(rate) {
#'     gaps <- matrix(rexp(20 * length(rate), rate), length(rate))
#'     cbind(mean = rowMeans(gaps), max = apply(gaps, 1, max), sd =
#'       apply(gaps, 1, sd))
#'   },
#'   n = 500, seed = 1
#' )
#' fit <- kbr(pairs, scale = TRUE)
#' predict(fit, c(mean = 0.5, max = 1.9, sd = 0.5), type = "quantile")
#' @export
kbr_simulate <- function(prior_sampler, simulator, n, seed = NULL,
                         batches = 1, support = NULL, rounds = 1,
                         observation = NULL) {
  check_function(prior_sampler)
  check_function(simulator)
  n <- check_size(n, 1, each = 4)
  batches <- check_count(batches, 1, n)
  rounds <- check_rounds(rounds, n, observation)
  shared <- list(prior_sampler = prior_sampler, simulator = simulator)
  pairs <- tell_once(if (rounds == 1) {
    simulate_pairs(n, seed, batches, shared)
  } else {
    simulate_rounds(n, seed, batches, shared, support, rounds, observation)
  })
  if (!is.null(support)) pairs$support <- check_support(support, pairs$x)
  warn_failed(pairs)
  structure(pairs, class = "kb_pairs")
}

#' @param shared List of `prior_sampler` and `simulator` and, after the first
#'   round, the `region` to which states are confined.
#' @noRd
simulate_pairs <- function(n, seed, batches, shared) {
  tasks <- if (batches == 1) list(list(n = n, seed = seed)) else {
    sizes <- as.list(tabulate(rep_len(seq_len(batches), n), batches))
    seeds <- with_local_seed(seed, sample.int(.Machine$integer.max, batches))
    Map(function(n, seed) list(n = n, seed = seed), sizes, seeds)
  }
  keep_run({
    out <- map_tasks(tasks, "simulate_batch", shared)
    report_tasks(
      sum(out$done), batches, "batch", "Their pairs are returned.", "batches"
    )
    pairs <- bind_pairs(out$values[out$done])
  })
  if (!all(out$done)) pairs$status <- "interrupted"
  pairs
}

simulate_batch <- function(task, shared) {
  sampler <- shared$prior_sampler
  with_local_seed(task$seed, {
    states <- if (is.null(shared$region)) {
      simulated(sampler, "prior_sampler", task$n)
    } else {
      region_sampler(sampler, shared$region)(task$n)
    }
    x <- simulated_rows(states, task$n, "prior_sampler")
    y <- simulated(shared$simulator, "simulator", states)
    y <- simulated_rows(y, task$n, "simulator", finite = FALSE)
  })
  keep_failures(x, y)
}

# Rows of the simulator that are missing or infinite are kept apart
keep_failures <- function(x, y) {
  fine <- rowSums(!is.finite(y)) == 0
  list(
    x = x[fine, , drop = FALSE], y = y[fine, , drop = FALSE],
    failed = if (!all(fine)) x[!fine, , drop = FALSE]
  )
}

warn_failed <- function(pairs) {
  failed <- NROW(pairs$failed)
  if (failed > 0 && nrow(pairs$x) == 0) {
    kb_abort(c(
      "{.arg simulator} must return finite numbers.",
      x = "Every row it returned has a missing or infinite value."
    ), "simulator", argument = "simulator")
  }
  if (failed > 0) {
    kb_warn(c(
      "{.arg simulator} failed for some states: it returned missing or infinite
       values.",
      x = "{failed} of {failed + nrow(pairs$x)} states failed.",
      "*" = "They are in {.field failed}, not among the pairs, whose states follow
           the prior given success.",
      i = "If failing says something about the state, return a number for it."
    ), "simulator")
  }
}

of_simulator <- function(arg) of_argument(arg, errors = "simulator")

simulated <- function(f, arg, given) {
  call_user(f, of_simulator(arg), NULL, given)
}

# n states of the prior
prior_rows <- function(prior_sampler, n) {
  states <- simulated(prior_sampler, "prior_sampler", n)
  simulated_rows(states, n, "prior_sampler")
}

simulated_rows <- function(value, n, arg, finite = TRUE) {
  if (is.data.frame(value) && all(vapply(value, is.numeric, NA))) {
    value <- as.matrix(value)
  }
  fine <- is.numeric(value) && length(dim(value)) <= 2 &&
    NROW(value) == n && NCOL(value) > 0
  lost <- if (fine) sum(rowSums(!is.finite(as.matrix(value))) > 0) else 0
  if (!fine || finite && lost > 0) {
    refuse_value(
      of_simulator(arg), NULL,
      paste(counted(n, "row"), "of finite numbers"),
      if (!fine) describe(value) else {
        paste("missing or infinite values in", counted(lost, "row"))
      }
    )
  }
  out <- matrix(as.double(value), n)
  colnames(out) <- colnames(value)
  out
}

refuse_second_y <- function(...) {
  if ("y" %in% ...names()) {
    bad_argument(list(...)$y, "y", "left out: the pairs have it")
  }
}

#' @rdname kbr
#' @export
kbr.kb_pairs <- function(x, ...) {
  refuse_second_y(...)
  own <- list(
    support = x$support,
    prior = if (!is.null(x$weights)) list(weights = x$weights)
  )
  own <- own[!vapply(own, is.null, NA) & !names(own) %in% ...names()]
  out <- do.call(kbr.matrix, c(list(x$x, x$y), own, list(...)))
  out$call <- plain_call(match.call())
  out
}

#' @export
print.kb_pairs <- function(x, ...) {
  cat(
    counted(nrow(x$x), "pair"), ": ", counted(ncol(x$x), "column"),
    " of states, ", ncol(x$y), " of observations\n",
    if (!is.null(x$rounds)) {
      paste0(
        "kept of ", sum(x$rounds$pairs), " in ", nrow(x$rounds),
        " rounds; states are from ",
        format(100 * x$rounds$prior_share[[nrow(x$rounds)]], digits = 2),
        "% of the prior\n"
      )
    },
    if (!is.null(x$status)) "INCOMPLETE: interrupted\n",
    if (!is.null(x$failed)) {
      paste0("simulator failed for ", nrow(x$failed), " states\n")
    },
    sep = ""
  )
  invisible(x)
}

#' @export
as.data.frame.kb_pairs <- function(x, ...) {
  name <- function(m, letter) {
    if (is.null(colnames(m))) colnames(m) <- position_names(ncol(m), letter)
    m
  }
  data.frame(name(x$x, "x"), name(x$y, "y"))
}

# Simulations in rounds: later ones only where the posterior at one observation
# may be, with the importance weights of all, (K47) and (K48).

# Share of a round that is drawn from the whole prior
defensive_share <- 0.1
# A region holds at least this share of the prior: its states are draws of the
# prior that fall into it.
least_region <- 0.002
# Draws of the posterior from which a region is found, and draws of the prior
# from which its share is estimated
region_draws <- 2000
region_prior <- 5e4
# A region is generous, because the next fit cannot look outside: the density is
# smoothed by so much more, in its standard deviations, and goes down to a tenth
# of what all but 0.1% of the draws have.
region_smoothing <- 0.3
region_miss <- 1e-3
region_margin <- 0.1

#' Pairs simulated in rounds
#' @param shared,support,batches As in `simulate_pairs()`.
#' @param observation As in `kbr_simulate()`.
#' @return Pairs in the last region, with `weights` and `rounds`.
#' @noRd
simulate_rounds <- function(n, seed, batches, shared, support, rounds,
                            observation) {
  sizes <- tabulate(rep_len(seq_len(rounds), n), rounds)
  seeds <- with_local_seed(seed, sample.int(.Machine$integer.max, 2 * rounds))
  # One simulation shows what an observation has to be, before many are made.
  pilot <- simulate_pairs(1, seeds[[rounds + 1]], 1, shared)
  observation <- observation_like(observation, pilot$y)
  found <- is.null(support)
  if (found) {
    support <- with_local_seed(seeds[[rounds + 1]], prior_support(shared))
  }
  regions <- list()
  pairs <- NULL
  one_round <- function(r) {
    if (r > 1) {
      inside <- pairs_inside(pairs, regions)
      shared$region <- with_local_seed(seeds[[rounds + r]], {
        posterior_region(inside, observation, shared$prior_sampler, support)
      })
    }
    out <- simulate_pairs(
      sizes[[r]], seeds[[r]], min(batches, sizes[[r]]), shared
    )
    out$round <- rep(r, nrow(out$x))
    out$region <- shared$region
    out
  }
  keep_run({
    for (r in seq_len(rounds)) {
      stage <- run_stage(one_round(r))
      if (!is.null(stage$value)) {
        pairs <- bind_pairs(list(pairs, stage$value))
        if (found) support[] <- apply(rbind(support, pairs$x), 2, range)
        # The first round has none.
        regions <- c(regions, Filter(length, list(stage$value$region)))
      }
      if (stage$halted) break
    }
    if (stage$halted) report_rounds(pairs, r, rounds)
    pairs <- finish_rounds(pairs, regions, observation)
    pairs$support <- support
  })
  if (stage$halted) pairs$status <- "interrupted"
  pairs
}

report_rounds <- function(pairs, r, rounds) {
  if (is.null(pairs)) refuse_stop("before the first round was finished")
  kb_warn(c(
    "Stopped before all rounds were finished: interrupted.",
    x = "It was in round {r} of {rounds}.",
    i = "The pairs that were simulated are returned, with their weights."
  ), "interrupted")
}

# Bounds of the prior itself: the edges of pairs in a region are the region's
prior_support <- function(shared) {
  check_support(NULL, simulated_rows(
    shared$prior_sampler(region_prior), region_prior, "prior_sampler"
  ))
}

#' An observation as one row with the names that simulations have
#' @param y A simulation; its row may be missing.
#' @noRd
observation_like <- function(observation, y) {
  wanted <- colnames(y)
  given <- observation
  if (is.numeric(given) && is.null(dim(given))) given <- t(given)
  if (!is.null(wanted) && !is.null(colnames(given))) {
    given <- given[, intersect(wanted, colnames(given)), drop = FALSE]
  }
  if (is.data.frame(given)) given <- as.matrix(given)
  fine <- is.numeric(given) && identical(dim(given), c(1L, ncol(y))) &&
    all(is.finite(given))
  if (!fine) {
    bad_argument(observation, "observation", paste(
      "what the simulator returns for one state,",
      counted(ncol(y), "finite number"),
      if (!is.null(wanted)) paste("named", shorten(toString(wanted)))
    ))
  }
  matrix(as.double(given), 1, dimnames = list(NULL, wanted))
}

bind_pairs <- function(parts) {
  parts <- Filter(Negate(is.null), parts)
  bind <- function(side) do.call(rbind, lapply(parts, `[[`, side))
  list(
    x = bind("x"), y = bind("y"), failed = bind("failed"),
    round = unlist(lapply(parts, `[[`, "round"))
  )
}

# Pairs in the last region with their importance weights
pairs_inside <- function(pairs, regions) {
  weights <- round_weights(pairs, regions)
  inside <- if (length(regions) == 0) {
    rep(TRUE, nrow(pairs$x))
  } else {
    in_region(regions[[length(regions)]], pairs$x)
  }
  out <- lapply(pairs[c("x", "y")], function(v) v[inside, , drop = FALSE])
  out$weights <- weights[inside] / mean(weights[inside])
  out$round <- pairs$round[inside]
  out
}

#' The prior's density relative to that of the mixture of rounds, (K48)
#' @param pairs With their states `x` and `round`.
#' @noRd
round_weights <- function(pairs, regions) {
  share <- tabulate(pairs$round, length(regions) + 1) / length(pairs$round)
  density <- share[[1]]
  for (r in seq_along(regions)) {
    density <- density + share[[r + 1]] * (defensive_share +
      (1 - defensive_share) * in_region(regions[[r]], pairs$x) /
        regions[[r]]$share)
  }
  rep_len(1 / density, nrow(pairs$x))
}

# Regions ----------------------------------------------------------------------

#' Where the posterior's smooth density is high, as a part of the prior
#' @return List: what the density needs, the `least` log density inside and the
#'   `share` of the prior inside.
#' @noRd
posterior_region <- function(pairs, observation, prior_sampler, support) {
  fit <- kbr_of_rounds(pairs, support)
  seen <- observe_one(fit, observation)
  at <- posterior_at(fit, seen, 1)
  draws <- smooth_draws(at$line, as.vector(at$weights), region_draws)
  region <- c(region_density(at, draws), list(
    settings = fit$settings[c("support", "straight", "scaling")]
  ))
  prior <- prior_rows(prior_sampler, region_prior)
  values <- region_log(region, region_place(region, prior))
  drawn <- region_log(region, whiten_about(region, draws))
  region$least <- min(
    log(region_margin) + stats::quantile(drawn, region_miss),
    stats::quantile(values, 1 - least_region)
  )
  region$share <- max(mean(values >= region$least), least_region / 2)
  region
}

# A wider density through some of the draws
region_density <- function(at, draws) {
  s <- smoothing(at$line, as.vector(at$weights))
  rows <- spread_over(nrow(draws), smoothing_points)
  list(
    points = whiten_about(s, draws[rows, , drop = FALSE]),
    mean = s$mean, root = s$root,
    width = sqrt(s$width^2 + region_smoothing^2)
  )
}

# States where the region's density sees them
region_place <- function(region, x) {
  whiten_about(region, states_to_line(region, x))
}

# Log density of a region at places. Where the density underflows the nearest
# point decides: the prior may have no draw where it does not.
region_log <- function(region, z) {
  n <- nrow(region$points)
  values <- embedding_values(
    region$points, rep(1 / n, n), kernel_gaussian(region$width), z
  )
  far <- which(values < 1e-280)
  points <- t(region$points)
  nearest <- vapply(far, function(i) min(colSums((points - z[i, ])^2)), 0)
  out <- log(values)
  out[far] <- -nearest / (2 * region$width^2) - log(n)
  out
}

# The density is at most that of a point at the edge of the region's points:
# most draws of the prior are outside by that alone.
in_region <- function(region, x) {
  z <- region_place(region, x)
  reach <- sqrt(max(rowSums(region$points^2)))
  gap <- pmax(sqrt(rowSums(z^2)) - reach, 0)
  inside <- -gap^2 / (2 * region$width^2) >= region$least
  near <- which(inside)
  inside[near] <- region_log(region, z[near, , drop = FALSE]) >= region$least
  inside
}

# Draws of the prior that fall into the region, and some that may not
region_sampler <- function(prior_sampler, region) {
  force(prior_sampler)
  function(n) {
    anywhere <- stats::rbinom(1, n, defensive_share)
    first <- prior_rows(prior_sampler, max(anywhere, 1))
    parts <- list(first[seq_len(anywhere), , drop = FALSE])
    missing <- n - anywhere
    tries <- 0
    while (missing > 0) {
      m <- min(max(ceiling(1.2 * missing / region$share), 100), 1e5)
      x <- prior_rows(prior_sampler, m)
      x <- x[which(in_region(region, x)), , drop = FALSE]
      x <- x[seq_len(min(missing, nrow(x))), , drop = FALSE]
      missing <- missing - nrow(x)
      parts <- c(parts, list(x))
      tries <- tries + m
      if (tries > 1e5 + 100 * n / region$share) refuse_empty_region()
    }
    do.call(rbind, parts)
  }
}

refuse_empty_region <- function() {
  kb_abort(c(
    "Hardly any draw of {.arg prior_sampler} is where the posterior is.",
    i = "Use fewer {.arg rounds}."
  ), "simulator", argument = "prior_sampler")
}

# The result -------------------------------------------------------------------

kbr_of_rounds <- function(pairs, support) {
  quietly_kbr(kbr(pairs$x, pairs$y,
    support = support, prior = list(weights = pairs$weights),
    method = "adjusted", seed = 1
  ))
}

finish_rounds <- function(pairs, regions, observation) {
  inside <- pairs_inside(pairs, regions)
  used <- tabulate(inside$round, length(regions) + 1)
  inside$failed <- pairs$failed
  inside$observation <- observation
  inside$rounds <- data.frame(
    round = seq_along(used), pairs = tabulate(pairs$round, length(used)),
    kept = used,
    prior_share = c(1, vapply(regions, `[[`, 0, "share"))
  )
  inside$round <- NULL
  inside
}

check_rounds <- function(rounds, n, observation) {
  rounds <- check_count(rounds, 1)
  if (rounds > 1 && n < rounds * least_adjusted) {
    bad_argument(rounds, "rounds", paste(
      "so few that each has at least", least_adjusted, "pairs"
    ))
  }
  if ((rounds > 1) == is.null(observation)) {
    bad_argument(observation, "observation", if (rounds > 1) {
      "what was observed: with rounds, simulations go where its posterior is"
    } else {
      "NULL with one round"
    })
  }
  rounds
}
