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
