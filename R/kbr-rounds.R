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
#'
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
