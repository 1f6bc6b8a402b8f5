# check_moves(): draws of moves against their stated densities.

check_draws <- function(problem, tables, from, to, live, t) {
  if (problem$n == 0) {
    return(NULL)
  }
  lapply(tables, function(table) {
    at <- rep(which(table$on), each = problem$n)
    if (length(at) == 0) {
      return(NULL)
    }
    new <- user_states(
      problem$moves[[table$name]]$propose, of_move("propose", table$name),
      length(at), t, particle_subset(from$states, at), t, problem$data
    )
    counts <- count_draws(new, at, which(table$on), to, problem, t)
    prob <- exp(table$forward[table$on, , drop = FALSE])
    compare_draws(table$name, "propose", t, counts, prob, problem$n,
      from$keys[table$on], to$keys
    )
  })
}

# How often each state was drawn: one row per group, the last column for draws
# that are not states
count_draws <- function(states, group, groups, to, problem, t) {
  cell <- match(state_keys(states, problem$key, t), to$keys,
    nomatch = to$n + 1
  )
  index <- match(group, groups) + length(groups) * (cell - 1)
  matrix(
    tabulate(index, length(groups) * (to$n + 1)), length(groups)
  )
}

compare_draws <- function(move, check, t, counts, prob, n, from, to) {
  prob <- cbind(pmin(prob, 1), 0)
  # After (T9). A draw of probability zero has p-value 0, one of probability 1
  # has 1.
  p <- 2 * pmin(
    stats::pbinom(counts, n, prob),
    stats::pbinom(counts - 1, n, prob, lower.tail = FALSE)
  )
  keys <- outer(c(to, "no state"), from, function(a, b) {
    if (all(from == "")) a else paste(b, "->", a)
  })
  out <- finding(move, check, t, as.vector(counts / n), as.vector(prob),
    as.vector(t(keys)), as.vector(p),
    error = as.vector(abs(counts / n - prob))
  )
  out$draws <- c(lost = sum(counts[, ncol(counts)]), all = sum(counts))
  out
}

check_initial <- function(problem, seed) {
  first <- enumerated(problem, 0)
  prob <- exp(first$log_density)
  found <- list(finding(
    "(target)", "initial", 0L, sum(prob), 1, "the sum over all states"
  ))
  if (problem$n == 0) {
    return(found)
  }
  n <- problem$n * first$n
  states <- with_local_seed(seed, user_states(
    problem$target$initial, of_target("initial"), n, 0, n, problem$data
  ))
  counts <- count_draws(states, rep(1, n), 1, first, problem, 0)
  c(found, list(compare_draws(
    "(target)", "initial", 0L, counts, t(prob), n, "", first$keys
  )))
}

check_rejuvenate <- function(problem, to, t) {
  if (is.null(problem$target$rejuvenate)) {
    return(NULL)
  }
  if (problem$n == 0) {
    return(list(untested(t, "(target)", "rejuvenate")))
  }
  powers <- if (is_tempered(problem$target)) c(0.5, 1) else 1
  lapply(powers, check_rejuvenate_at, problem, to, t)
}

check_rejuvenate_at <- function(power, problem, to, t) {
  n <- problem$n * to$n
  prob <- td_log_density(problem, to$states, t, power = power)
  prob <- exp(prob - max(prob))
  prob <- prob / sum(prob)
  at <- sample.int(to$n, n, TRUE, prob)
  cloud <- list(
    states = particle_subset(to$states, at), log_density = rep(NA_real_, n),
    weights = rep(1 / n, n)
  )
  bind_findings(lapply(kernel_parts(problem$target), function(part) {
    moved <- moved_often(problem, part$target, cloud, t, power)
    counts <- count_draws(moved$states, rep(1, n), 1, to, problem, t)
    part_of(compare_draws("(target)", at_power("rejuvenate", power), t, counts,
      t(prob), n, "", to$keys
    ), part$name, moved$tried)
  }))
}

# "rejuvenate", or "rejuvenate at 0.5" while a datum enters
at_power <- function(check, power) {
  if (power == 1) check else paste(check, "at", format(power, digits = 3))
}

# The moves of a kernel leave the target invariant each with its partner, or by
# itself: a list of targets with a part of `rejuvenate`, and the part's name
kernel_parts <- function(target) {
  kernel <- target$rejuvenate
  if (is.function(kernel)) {
    return(list(list(target = target, name = "")))
  }
  lapply(kernel_pairs(kernel), function(pair) {
    kernel$moves <- kernel$moves[pair]
    kernel$reverse <- kernel$reverse[pair]
    target$rejuvenate <- kernel
    list(target = target, name = paste(pair, collapse = " / "))
  })
}

# Each move with the one that undoes it, in the order of the moves
kernel_pairs <- function(kernel) {
  names <- names(kernel$moves)
  unique(lapply(names, function(name) {
    intersect(names, c(name, kernel$reverse[[name]]))
  }))
}

# The states after several calls of rejuvenate(): its error adds up. An odd
# number, as two exchanges may undo each other.
moved_often <- function(problem, target, cloud, t, power) {
  tried <- 0
  for (call in seq_len(if (problem$listed) 3 else 5)) {
    moved <- rejuvenated(target, cloud, t, power, problem$data)
    cloud[c("states", "log_density")] <- moved[c("states", "log_density")]
    tried <- tried + sum(moved$tried)
  }
  list(states = cloud$states, tried = tried)
}

# A finding names the part of the kernel, and how often it was tried
part_of <- function(found, names, tried) {
  if (all(nzchar(names))) {
    found$keys <- paste0(names, ": ", found$keys)
    found$tried <- stats::setNames(tried, names[[1]])
  }
  found
}

bind_findings <- function(found) {
  out <- found[[1]]
  for (name in c("is", "should_be", "keys", "error", "p", "tried")) {
    out[[name]] <- unlist(lapply(found, `[[`, name))
  }
  draws <- Filter(Negate(is.null), lapply(found, `[[`, "draws"))
  out$draws <- Reduce(`+`, draws)
  out
}

# check_moves() of problems whose states cannot be listed: are gamma_0 and
# log_forward the densities of the draws of initial() and propose()? Where states
# vary continuously, the share of draws in a region is compared with the
# integral of the density over it.

check_first_draws <- function(problem, states) {
  found <- check_density(states, function(states) {
    td_log_density(problem, states, 0)
  })
  density_finding(found, "(target)", "initial", 0L)
}

# Draws from some states of the particles of weight above zero
check_proposals <- function(problem, state, t, starts = 3) {
  lapply(names(problem$moves), function(name) {
    move <- problem$moves[[name]]
    n <- problem$n %/% 2
    alpha <- user_probabilities(
      move$probability, of_move("probability", name),
      particle_count(state$states), t, state$states, t, problem$data
    )
    on <- which(alpha > 0 & state$log_weights > -Inf)
    from <- on[sample.int(length(on), min(length(on), starts))]
    found <- lapply(from, function(i) {
      old <- particle_subset(state$states, rep(i, n))
      new <- user_states(
        move$propose, of_move("propose", name), n, t, old, t, problem$data
      )
      found <- check_density(new, function(new) {
        forward_density(move, name, new,
          particle_subset(old, seq_len(particle_count(new))), t, problem$data
        )
      }, particle_subset(state$states, i))
      if (!is.null(found)) {
        found$key <- paste0("from ", shorten(particle_keys(
          particle_subset(state$states, i)
        )), ": ", found$key)
      }
      found
    })
    density_finding(do.call(rbind, found), name, "propose", t)[[1]]
  })
}

density_finding <- function(found, move, check, t) {
  if (is.null(found)) {
    return(NULL)
  }
  list(finding(move, check, t, found$is, found$should_be, found$key, found$p,
    error = abs(found$is - found$should_be)
  ))
}

#' Shares of draws in regions, and the integrals of their density
#'
#' The first half of the draws defines the regions, the second is counted.
#' @param log_density Of up to as many states as there are draws.
#' @param from The state from which they were proposed, or NULL.
#' @return Data frame: `is`, `should_be`, `key` and the p-value `p`; or NULL.
#' @noRd
check_density <- function(states, log_density, from = NULL) {
  groups <- draw_groups(states, from)
  vary <- lengths(lapply(groups, `[[`, "vary"))
  sizes <- lengths(lapply(groups, `[[`, "at"))
  largest <- order(vary == 0, -sizes)
  largest <- utils::head(largest[vary[largest] > 0], 3)
  found <- c(
    list(function() check_atoms(states, log_density, groups[vary == 0])),
    lapply(groups[largest], function(group) {
      function() check_regions(states, log_density, group)
    })
  )
  do.call(rbind, lapply(found, function(check) {
    tryCatch(
      suppressWarnings(check()),
      # The user's function fails at other states than those drawn.
      kb_error_user_function = function(error) NULL
    )
  }))
}

#' Groups of draws, equal in the number of coordinates and in their discrete
#' values
#' @return List of `at`, which states, `x`, their coordinates, and `vary`, those
#'   that are not discrete.
#' @noRd
draw_groups <- function(states, from = NULL) {
  x <- state_coordinates(states)
  known <- unlist(state_coordinates(from))
  groups <- split(seq_along(x), lengths(x))
  groups <- lapply(groups, function(at) {
    split_discrete(at, do.call(rbind, x[at]), known, !is.null(from))
  })
  unname(unlist(groups, recursive = FALSE))
}

split_discrete <- function(at, x, known, proposed) {
  if (is.null(x)) x <- matrix(0, length(at), 0)
  labels <- matrix(apply(x, 2, discrete_labels, known, proposed), nrow(x))
  groups <- split(seq_along(at), particle_keys(labels))
  groups <- lapply(groups, function(i) {
    list(
      at = at[i], x = x[i, , drop = FALSE],
      vary = which(labels[i[[1]], ] == "*"), moved = any(labels[i, ] == "?")
    )
  })
  Filter(function(group) !group$moved, groups)
}

# Values of a coordinate that has few or whole ones, that many draws share, or
# that the state had before; "*" for others. "?" for a proposal that is a
# function of the old state: its density has a Jacobian that draws do not show.
discrete_labels <- function(v, known, proposed) {
  shared <- tabulate(match(v, v), length(v))[match(v, v)]
  whole <- v == round(v)
  few <- length(unique(v)) <= length(v) / 10 | all(whole)
  discrete <- few | shared > max(2, length(v) / 100)
  out <- ifelse(discrete | v %in% known, as.character(v), "*")
  if (proposed) out[discrete & !whole & !v %in% known] <- "?"
  out
}

# The numbers of each state. States with others than numbers are numbered, if
# there are few of them, or there is no answer (NULL).
state_coordinates <- function(states) {
  rows <- if (has_rows(states)) seq_len(particle_count(states))
  flat <- if (is.matrix(states)) lapply(rows, function(i) states[i, ]) else
    if (is.data.frame(states)) {
      do.call(Map, c(list(f = c), unname(states)))
    } else {
      lapply(states, unlist)
    }
  numbers <- vapply(flat, function(s) is.null(s) || is.numeric(s), TRUE)
  if (all(numbers) && !any(vapply(states, is.factor, TRUE))) {
    return(lapply(flat, unname))
  }
  keys <- particle_keys(states)
  if (length(unique(keys)) <= length(keys) / 10) as.list(match(keys, keys))
}

# A state like a given one, with other coordinates
with_coordinates <- function(states, like, x) {
  if (has_rows(states)) {
    out <- particle_subset(states, rep(like, nrow(x)))
    out[] <- if (is.data.frame(out)) as.data.frame(x) else x
    return(out)
  }
  if (is.list(states)) {
    return(lapply(seq_len(nrow(x)), function(i) {
      utils::relist(x[i, ], states[[like]])
    }))
  }
  drop(x)
}

# Is a draw counted, or does it define the regions?
is_counted <- function(at, n) at > n %/% 2

# States that have a probability each: the share of draws of those seen, and the
# sum of their probabilities; and of the most frequent ones
check_atoms <- function(states, log_density, groups, most = 3) {
  n <- particle_count(states)
  at <- lapply(groups, function(group) {
    rows <- particle_keys(group$x)
    split(group$at, rows)
  })
  at <- unlist(at, recursive = FALSE)
  at <- at[vapply(at, function(i) any(!is_counted(i, n)), TRUE)]
  if (length(at) == 0) {
    return(NULL)
  }
  one <- vapply(at, `[[`, 0L, 1)
  prob <- exp(log_density(particle_subset(states, one)))
  count <- vapply(at, function(i) sum(is_counted(i, n)), 0L)
  top <- utils::head(order(-lengths(at)), most)
  later <- n - n %/% 2
  count <- c(sum(count), count[top])
  prob <- c(sum(prob), prob[top])
  data.frame(
    is = count / later, should_be = prob,
    key = c("all states drawn before", vapply(
      particle_keys(particle_subset(states, one[top])), shorten, ""
    )),
    p = mapply(two_sided, count, later, prob)
  )
}

# One group: the share of the draws in two regions, the integrals of the density
# over them, and the p-values of their difference
check_regions <- function(states, log_density, group) {
  n <- particle_count(states)
  counted <- is_counted(group$at, n)
  x <- group$x[, group$vary, drop = FALSE]
  first <- x[!counted, , drop = FALSE]
  if (nrow(first) < 20 * ncol(x) || !fills_space(first)) {
    return(NULL)
  }
  later <- n - n %/% 2
  pairs <- later %/% 2
  found <- lapply(c(0.5, 0.9), function(part) {
    region <- ellipsoid(first, part)
    points <- group$x[rep(1, 2 * pairs), , drop = FALSE]
    points[, group$vary] <- region$draw_pairs(pairs)
    inside <- region$holds(points[, group$vary, drop = FALSE])
    values <- numeric(2 * pairs)
    values[inside] <- region$volume * exp(log_density(with_coordinates(
      states, group$at[[1]], points[inside, , drop = FALSE]
    )))
    # The mean of values of which few count is not about normal.
    if (sum(values)^2 < 100 * sum(values^2)) {
      return(NULL)
    }
    share <- sum(region$holds(x[counted, , drop = FALSE])) / later
    one <- seq_len(pairs)
    variance <- share * (1 - share) / later +
      sum((values[one] - values[pairs + one])^2) / (2 * pairs)^2
    data.frame(
      is = share, should_be = mean(values),
      key = paste0("dimension ", ncol(group$x), ", ", 100 * part, "% region"),
      p = 2 * stats::pnorm(-abs(share - mean(values)) / sqrt(variance))
    )
  })
  do.call(rbind, found)
}

# Do points lie on no surface of lower dimension? By the ratios of the distances
# to their two nearest neighbours, whose logs are exponential with the dimension
# as rate (Facco et al., 2017).
fills_space <- function(x, most = 400) {
  if (ncol(x) == 1) {
    return(TRUE)
  }
  x <- scale(x[seq_len(min(most, nrow(x))), , drop = FALSE])
  distance <- as.matrix(stats::dist(x))
  diag(distance) <- Inf
  near <- apply(distance, 1, function(d) sort(d, partial = 1:2)[1:2])
  ratio <- log(near[2, ] / near[1, ])
  isTRUE(1 / mean(ratio) > ncol(x) - 0.5)
}

two_sided <- function(count, n, prob) {
  # No probability
  if (prob > 1 + 1e-8) {
    return(0)
  }
  prob <- min(prob, 1)
  min(1, 2 * min(
    stats::pbinom(count, n, prob),
    stats::pbinom(count - 1, n, prob, lower.tail = FALSE)
  ))
}

# The ellipsoid of the normal distribution with the mean and covariance of the
# rows of x that holds a part of them, as far as the ranges of coordinates and of
# their differences reach: numbers may be sorted
ellipsoid <- function(x, part) {
  d <- ncol(x)
  centre <- colMeans(x)
  root <- chol(stats::cov(x) + 1e-12 * diag(diag(stats::cov(x)), d))
  distance <- function(x) {
    colSums(backsolve(root, t(x) - centre, transpose = TRUE)^2)
  }
  radius <- sqrt(stats::quantile(distance(x), part, names = FALSE))
  pairs <- which(upper.tri(diag(d)), arr.ind = TRUE)
  sides <- function(x) {
    rbind(t(x), t(x[, pairs[, 1], drop = FALSE] - x[, pairs[, 2], drop = FALSE]))
  }
  ends <- apply(sides(x), 1, range)
  list(
    holds = function(x) {
      y <- sides(x)
      distance(x) <= radius^2 & colSums(y < ends[1, ] | y > ends[2, ]) == 0
    },
    # Uniform draws, two in each of n shells, between which a density varies most
    draw_pairs = function(n) {
      z <- matrix(stats::rnorm(2 * n * d), 2 * n)
      shell <- (seq_len(n) - stats::runif(2 * n)) / n
      z <- z / sqrt(rowSums(z^2)) * radius * shell^(1 / d)
      sweep(z %*% root, 2, centre, `+`)
    },
    volume = exp(d / 2 * log(pi) - lgamma(d / 2 + 1) + d * log(radius) +
      sum(log(diag(root))))
  )
}
