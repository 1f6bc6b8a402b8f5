# check_moves(): the verdict, and its print.

new_check_moves <- function(found, problem, steps) {
  found <- Filter(Negate(is.null), unname(found))
  found <- c(found, never_tried(found))
  # A draw of an impossible state has p-value 0 whatever the number of tests.
  tests <- sum(lengths(lapply(found, `[[`, "p")))
  found <- lapply(found, judge, tests, problem$level)
  table <- do.call(rbind, lapply(found, `[[`, "line"))
  # If the identity holds, the shares of the moves may be chosen freely.
  holds <- table$t[table$check == "identity" & table$ok]
  table$ok <- table$ok | table$check == "weight" & table$t %in% holds
  bad <- table$ok %in% FALSE
  worst <- do.call(rbind, lapply(found[bad], worst_states))
  rownames(worst) <- NULL
  structure(
    list(
      ok = all(table$ok), wrong = unique(table$move[bad]),
      table = table, worst = worst, steps = steps,
      moves = names(problem$moves), listed = problem$listed,
      lost = lost_share(found),
      untested = first_untested(table), n = problem$n
    ),
    class = "kb_check_moves"
  )
}

# What was not tested has `ok = NA`

untested <- function(t, move, check, keys = "") {
  c(finding(move, check, t, NA, NA, keys), untested = TRUE)
}

first_untested <- function(table) {
  t <- table$t[table$check == "particles"]
  if (length(t) > 0) min(t) else NA_integer_
}

# Parts of a kernel that no particle could choose at any step
never_tried <- function(found) {
  found <- Filter(function(f) !is.null(f$tried), found)
  if (length(found) == 0) {
    return(NULL)
  }
  tried <- as.double(unlist(lapply(found, `[[`, "tried")))
  parts <- unlist(lapply(found, function(f) names(f$tried)))
  total <- vapply(split(tried, parts), sum, 0)
  lapply(names(total)[total == 0], function(name) {
    untested(max(vapply(found, `[[`, 1, "t")), "(target)", "rejuvenate", name)
  })
}

# The share of draws that are not states: of all draws or, if that is more, of
# initial()
lost_share <- function(found) {
  draws <- lapply(found, `[[`, "draws")
  start <- vapply(found, `[[`, "", "check") == "initial"
  share <- function(draws) {
    total <- Reduce(`+`, Filter(Negate(is.null), draws))
    if (is.null(total)) 0 else total[["lost"]] / total[["all"]]
  }
  max(share(draws), share(draws[start]))
}

judge <- function(f, tests, level) {
  if (isTRUE(f$untested)) {
    f$line <- data.frame(
      move = f$move, check = f$check, t = f$t, discrepancy = NA_real_,
      p_value = NA_real_, ok = NA, state = f$keys
    )
    return(f)
  }
  simulated <- !is.null(f$p)
  p <- if (simulated) min(1, f$p * tests) else NA_real_
  at <- if (simulated) which.min(f$p) else which.max(f$error)
  if (length(at) == 0) {
    f$line <- data.frame(
      move = f$move, check = f$check, t = f$t, discrepancy = 0, p_value = p,
      ok = TRUE, state = ""
    )
    return(f)
  }
  f$line <- data.frame(
    move = f$move, check = f$check, t = f$t, discrepancy = f$error[[at]],
    p_value = p, ok = if (simulated) p >= level else f$error[[at]] <= 1e-8,
    state = f$keys[[at]]
  )
  f
}

worst_states <- function(f, most = 5) {
  order <- if (is.null(f$p)) order(-f$error) else order(f$p)
  at <- utils::head(order, most)
  at <- at[f$error[at] > 1e-8]
  data.frame(
    move = rep(f$move, length(at)), check = rep(f$check, length(at)),
    t = rep(f$t, length(at)), state = f$keys[at], is = f$is[at],
    should_be = f$should_be[at]
  )
}

#' @rdname check_moves
#' @export
print.kb_check_moves <- function(x, ...) {
  check_no_dots(...)
  cat(
    "<check_moves> ", length(x$moves),
    if (length(x$moves) == 1) " move" else " moves", ", ",
    if (length(x$steps) == 1) "step " else "steps ",
    paste(unique(range(x$steps)), collapse = " to "), ": ",
    verdict_words(x), "\n",
    sep = ""
  )
  if (!x$listed) {
    cat("  states not listed: by simulation of", format(x$n), "particles\n")
  }
  if (x$lost > 0.5) tell_unlisted(x)
  tell_untested(x)
  bad <- x$table[x$table$ok %in% FALSE, ]
  # One line for each move and check: the step where it is worst.
  bad <- bad[order(-bad$discrepancy), ]
  bad <- bad[!duplicated(bad[c("move", "check")]), ]
  bad <- bad[order(match(bad$move, c("(target)", x$moves, "(all moves)"))), ]
  for (i in seq_len(nrow(bad))) {
    cat(strwrap(fault_in_words(bad[i, ], x), 78, exdent = 4, prefix = "",
      initial = "  "), sep = "\n")
  }
  invisible(x)
}

initial_in_words <- function(line, at, x, found) {
  if (is.na(line$p_value)) {
    return(found("gamma_0 sums to"))
  }
  if (x$listed) {
    return(found("initial() draws with frequency"))
  }
  region_in_words(at, "initial()", "gamma_0")
}

propose_in_words <- function(at, x, found) {
  if (x$listed) {
    return(found("propose() draws with frequency"))
  }
  region_in_words(at, "propose()", "exp(log_forward)")
}

region_in_words <- function(at, draws, density) {
  paste0(
    format(at$is, digits = 3), " of the draws of ", draws, " are in a region ",
    "over which ", density, " integrates to ", format(at$should_be, digits = 3)
  )
}

# "rejuvenate", or "rejuvenate at 0.5" while a datum enters
rejuvenate_in_words <- function(check, at, x, found) {
  call <- paste0("rejuvenate()", if (check != "rejuvenate") {
    sub(".* at", " at the power", check)
  })
  if (x$listed) {
    return(found(paste("after", call, "a state has frequency")))
  }
  paste(
    call, "takes a weight of", format(at$is, digits = 3), "from a part of the",
    "states and brings", format(at$should_be, digits = 3)
  )
}

verdict_words <- function(x) {
  if (is.na(x$ok)) {
    return("no fault found in what was tested")
  }
  if (!x$ok) {
    return("NOT exact")
  }
  if (x$listed) "exact" else "no fault found"
}

tell_untested <- function(x) {
  if (!is.na(x$untested)) {
    cat("  not tested from step ", x$untested,
      " on: too few particles carry the weight\n",
      sep = ""
    )
  }
  rest <- x$table[is.na(x$table$ok) & x$table$check == "rejuvenate", ]
  if (nrow(rest) == 0) {
    return(invisible())
  }
  parts <- toString(Filter(nzchar, unique(rest$state)))
  cat("  rejuvenate() not tested: ",
    if (x$n == 0) "there were no draws" else
      paste(parts, "could not be chosen by any particle"), "\n",
    sep = ""
  )
}

tell_unlisted <- function(x) {
  cat(strwrap(paste0(
    percent(x$lost), " of the draws are not among the listed states. If ",
    "states cannot be listed, because they vary continuously, leave out ",
    "`states`: simulations then test what they can."
  ), 78, exdent = 4, prefix = "", initial = "  "), sep = "\n")
}

fault_in_words <- function(line, x) {
  at <- x$worst[x$worst$move == line$move & x$worst$check == line$check &
    x$worst$t == line$t & x$worst$state == line$state, ]
  number <- function(v) format(v, digits = 3)
  found <- function(what) {
    paste0(what, " ", number(at$is), ", not ", number(at$should_be))
  }
  text <- switch(sub(" at .*", "", line$check),
    probability = found("the probabilities of the moves sum to"),
    reverse_probability = found("the reverse probabilities sum to"),
    log_forward = found("the forward density sums to"),
    log_reverse = found("the reverse density sums to"),
    support = paste(
      number(at$is), "of the reverse density is on states from which the move",
      "does not lead back"
    ),
    weight = found("its weights give the state a share of"),
    identity = found("the weights of all moves sum to"),
    propose = propose_in_words(at, x, found),
    initial = initial_in_words(line, at, x, found),
    rejuvenate = rejuvenate_in_words(line$check, at, x, found),
    balance = paste(
      "the first brings", number(at$is), "and the second", number(at$should_be),
      "of what both can bring"
    )
  )
  state <- if (nzchar(line$state)) paste0(", at ", line$state) else ""
  paste0(line$move, ": ", text, " (step ", line$t, state, ")")
}

# check_moves() of problems whose states cannot be listed: tests by simulation.
#
# Independent particles are drawn from gamma_0 and extended step by step,
# without resampling. With w the product of a particle's weights, the mean of
# w f(S) is unbiased for the integral of gamma_t f, for any f; identities between
# such integrals are tested.

#' @param n Number of particles.
#' @noRd
simulated_checks <- function(problem, steps) {
  n <- problem$n
  states <- user_states(
    problem$target$initial, of_target("initial"), n, 0, n, problem$data
  )
  found <- if (1 %in% steps) check_first_draws(problem, states)
  state <- list(
    states = states, log_density = rep(NA_real_, n), log_weights = numeric(n)
  )
  for (t in seq_len(max(steps))) {
    report <- t %in% steps
    sums <- check_sums(problem, state$states, t)
    if (report) found <- c(found, list(sums), check_proposals(problem, state, t))
    # Without probabilities there are no particles of the next step.
    if (any(sums$error > 1e-8)) break
    extended <- simulated_step(problem, state, t)
    state <- extended(1)
    powers <- tested_powers(problem$target, extended, state)
    if (report) {
      found <- c(found, unlist(lapply(powers, function(power) {
        simulated_findings(problem, extended(power), t)
      }), recursive = FALSE))
    }
    if (effective_share(state) < few_simulated) {
      # Means of such weights are not about normal.
      lost <- steps[steps > t | steps == t & length(powers) == 0]
      return(c(found, lapply(lost, untested, "(simulation)", "particles")))
    }
  }
  found
}

# Below this share of effective particles p-values are not trusted. Data that
# enter gradually are tested at the largest powers that leave these shares: at
# low powers, where states differ most, most faults have the largest effect.
few_simulated <- 0.02
enough_simulated <- c(0.8, 0.1)

effective_share <- function(state) {
  w <- exp(state$log_weights - max(state$log_weights))
  if (anyNA(w)) 0 else sum(w)^2 / sum(w^2) / length(w)
}

# The powers at which a step is tested
tested_powers <- function(target, extended, whole) {
  if (!is_tempered(target)) {
    return(if (effective_share(whole) >= few_simulated) 1)
  }
  powers <- numeric()
  for (power in 2^-(0:20)) {
    share <- effective_share(extended(power))
    wanted <- enough_simulated[length(enough_simulated) - length(powers)]
    if (share >= wanted) powers <- c(power, powers)
    if (share >= max(enough_simulated)) break
  }
  # A kernel may ignore the power.
  if (identical(powers, 1)) c(0.5, 1) else powers
}

# The extended particles of a step, weighted for its target at a power
simulated_step <- function(problem, state, t) {
  dead <- state$log_weights == -Inf
  state$step <- list()
  if (any(dead)) state <- td_bury(state)
  state <- td_extend(problem, state, t)
  whole <- td_log_density(problem, state$states, t)
  # A weight of the user's own is that of the whole target.
  rest <- state$step$log_rest - ifelse(state$step$law, 0, whole)
  function(power) {
    state$power <- power
    state$log_density <- if (power == 1) whole else
      td_log_density(problem, state$states, t, power = power)
    increment <- ifelse(
      power == 1 & !state$step$law, state$step$log_rest,
      state$log_density + rest
    )
    increment[is.nan(increment) | dead] <- -Inf
    state$log_weights <- state$log_weights + increment
    state
  }
}

simulated_findings <- function(problem, state, t) {
  w <- exp(state$log_weights - max(state$log_weights))
  w <- w / mean(w)
  live <- w > 0
  back <- lapply(
    stats::setNames(nm = names(problem$moves)), back_chances, problem,
    state$states, live, t
  )
  given <- !any(vapply(back, is.null, TRUE))
  density <- ifelse(live, state$log_density, NA)
  features <- binary_features(state$states, density, w)(state$states, density)
  c(
    if (given) list(check_back_sums(back, state$states, live, t)),
    if (given) balance_findings(back, state, features, w, t),
    check_invariance(problem, state, w, t)
  )
}

# alpha' at the particles of weight above zero, or NULL
back_chances <- function(name, problem, states, live, t) {
  chance <- problem$moves[[name]]$reverse_probability
  if (is.null(chance)) {
    return(NULL)
  }
  out <- numeric(length(live))
  out[live] <- user_probabilities(
    chance, of_move("reverse_probability", name), sum(live), t,
    particle_subset(states, which(live)), t, problem$data
  )
  out
}

# Sums of probabilities, which are exact at every state ------------------------

check_sums <- function(problem, states, t) {
  total <- Reduce(`+`, lapply(names(problem$moves), function(name) {
    user_probabilities(
      problem$moves[[name]]$probability, of_move("probability", name),
      particle_count(states), t, states, t, problem$data
    )
  }))
  worst_sum("probability", t, total, states)
}

check_back_sums <- function(back, states, live, t) {
  total <- Reduce(`+`, back)[live]
  worst_sum(
    "reverse_probability", t, total, particle_subset(states, which(live))
  )
}

worst_sum <- function(check, t, total, states) {
  at <- which.max(abs(total - 1))
  finding("(all moves)", check, t, total[at], 1,
    shorten(particle_keys(particle_subset(states, at)))
  )
}

# Identities of integrals -----------------------------------------------------

#' The share of two moves in what both can bring: with alpha' of the other as a
#' factor, both give the integral of gamma alpha'_i alpha'_j f, see (T12)
#' @param w Weights of mean 1.
#' @noRd
balance_findings <- function(back, state, features, w, t) {
  if (length(back) < 2) {
    return(NULL)
  }
  pairs <- utils::combn(length(back), 2, simplify = FALSE)
  names <- names(back)
  found <- lapply(pairs, function(pair) {
    i <- pair[[1]]
    j <- pair[[2]]
    one <- w * (state$move == i) * back[[j]]
    other <- w * (state$move == j) * back[[i]]
    if (all(one == 0) && all(other == 0)) {
      return(NULL)
    }
    compare_means(paste(names[[i]], names[[j]], sep = " / "),
      at_power("balance", state$power), t, one * features, other * features
    )
  })
  Filter(Negate(is.null), found)
}

# As much weight leaves each part of the states as enters it.
check_invariance <- function(problem, state, w, t) {
  live <- which(w > 0)
  kernel <- problem$target$rejuvenate
  if (is.null(kernel)) {
    return(NULL)
  }
  w <- w[live]
  cloud <- list(
    states = particle_subset(state$states, live),
    log_density = state$log_density[live], weights = w / sum(w)
  )
  features <- binary_features(cloud$states, cloud$log_density, w)
  check <- at_power("rejuvenate", state$power)
  if (!is.function(kernel)) {
    return(list(bind_findings(
      flow_findings(problem, cloud, features, w, t, state$power, check)
    )))
  }
  after <- moved_often(problem, problem$target, cloud, t, state$power)$states
  from <- features(cloud$states, cloud$log_density)
  to <- features(
    after, td_log_density(problem, after, t, power = state$power)
  )
  list(compare_means("(target)", check, t, w * from * (1 - to),
    w * (1 - from) * to
  ))
}

# A kernel's moves bring as much weight into each part of the states as their
# partners take from it, (T13)
#
# Every particle tries each move, and counts by the probability that it is
# chosen and accepted.
flow_findings <- function(problem, cloud, features, w, t, power, check) {
  jumps <- jump_problem(problem$target, cloud, t, power, problem$data)
  chance <- move_chances(jumps$moves, cloud$states, t, problem$data)
  flows <- lapply(stats::setNames(nm = colnames(chance)), function(name) {
    move_flow(jumps, name, cloud, chance[, name], features, w)
  })
  lapply(kernel_pairs(jumps), function(pair) {
    i <- flows[[pair[[1]]]]
    j <- flows[[pair[[length(pair)]]]]
    names <- unique(c(paste(pair, collapse = " / "), paste(rev(pair), collapse = " / ")))
    found <- compare_means("(target)", check, t,
      do.call(cbind, list(i$from, j$from)[seq_along(names)]),
      do.call(cbind, list(j$to, i$to)[seq_along(names)])
    )
    part_of(found, rep(names, each = ncol(i$from)), i$tried + j$tried)
  })
}

#' @return List of `from` and `to`, the features before and after an accepted
#'   move, weighted, and how many `tried`.
#' @noRd
move_flow <- function(jumps, name, cloud, alpha, features, w) {
  on <- which(alpha > 0)
  from <- features(cloud$states, cloud$log_density)
  to <- from
  accepted <- numeric(length(w))
  if (length(on) > 0) {
    old <- particle_subset(cloud$states, on)
    tried <- try_jump(jumps, name, old, cloud$log_density[on], alpha[on])
    accepted[on] <- w[on] * alpha[on] * pmin(1, exp(tried$log_ratio))
    to[on, ] <- features(tried$states, tried$log_density)
  }
  list(from = accepted * from, to = accepted * to, tried = length(on))
}

# Paired t-tests of columns of equal means
compare_means <- function(move, check, t, one, other) {
  n <- nrow(one)
  difference <- one - other
  se <- apply(difference, 2, stats::sd) / sqrt(n)
  mean <- colMeans(difference)
  # Without any variance a difference is certain, apart from rounding.
  same <- abs(mean) <= 1e-10 * pmax(colMeans(one), colMeans(other))
  p <- ifelse(se > 0, 2 * stats::pt(-abs(mean / se), n - 1), 0)
  p[same] <- 1
  finding(move, check, t, colMeans(one), colMeans(other), colnames(one), p,
    error = abs(mean)
  )
}

# Features: the numbers of a state, made binary so that means are about normal.

#' @param log_density,w Of the states; weights.
#' @return A function of states and their log densities: a matrix of 0 and 1 with
#'   named columns.
#' @noRd
binary_features <- function(states, log_density, w) {
  numbers <- function(states, log_density) {
    x <- cbind(state_numbers(states), `log density` = log_density)
    x[is.na(x)] <- -Inf
    x
  }
  x <- numbers(states, log_density)
  cuts <- lapply(seq_len(ncol(x)), function(j) cut_points(x[, j], w))
  names <- unlist(Map(function(cut, name) {
    paste(name, if (cut$equal) "=" else ">", format(cut$at, digits = 3))
  }, cuts, colnames(x)))
  function(states, log_density) {
    x <- numbers(states, log_density)
    parts <- lapply(seq_along(cuts), function(j) {
      outer(x[, j], cuts[[j]]$at, if (cuts[[j]]$equal) `==` else `>`)
    })
    out <- do.call(cbind, c(list(rep(1, nrow(x))), parts)) + 0
    colnames(out) <- c("all states", names)
    out
  }
}

# All values if there are few, or the weighted quartiles
cut_points <- function(x, w) {
  values <- unique(x)
  if (length(values) <= 6) {
    return(list(at = sort(values), equal = TRUE))
  }
  order <- order(x)
  below <- cumsum(w[order]) / sum(w)
  at <- vapply(1:3 / 4, function(q) x[order][[which(below >= q)[[1]]]], 0)
  list(at = unique(at), equal = FALSE)
}

# Numbers that describe states: columns, or `number_summaries`
state_numbers <- function(states, most = 10) {
  if (is.data.frame(states)) {
    states <- as.matrix(states[vapply(states, is.numeric, TRUE)])
  }
  if (is.list(states)) {
    flat <- lapply(states, function(s) {
      s <- unlist(s)
      if (is.numeric(s)) s else numeric()
    })
    return(number_summaries(flat))
  }
  if (is.matrix(states)) {
    x <- states[, seq_len(min(ncol(states), most)), drop = FALSE]
    colnames(x) <- if (ncol(x) > 0) paste("column", seq_len(ncol(x)))
    return(x + 0)
  }
  if (is.numeric(states)) {
    return(cbind(state = as.double(states)))
  }
  cbind(state = as.integer(factor(states)))
}

# Of the numbers of each state in a list; NA of none
number_summaries <- function(flat) {
  k <- lengths(flat)
  id <- rep(seq_along(k), k)
  x <- as.double(unlist(flat))
  last <- cumsum(k)
  total <- function(x) {
    out <- numeric(length(k))
    if (length(x) > 0) out[k > 0] <- rowsum(x, id, reorder = FALSE)
    out
  }
  at <- function(x, i) ifelse(k > 0, x[pmax(i, 1)], NA)
  sorted <- x[order(id, x)]
  cbind(
    dimension = k, sum = total(x), `sum of squares` = total(x^2),
    first = at(x, last - k + 1), last = at(x, last),
    smallest = at(sorted, last - k + 1), largest = at(sorted, last)
  )
}
