# Problems for tdsmc() with known exact answers: sets of kernel centres (by the
# oracle of helper-enumerate.R), change points of counts, and a linear Gaussian
# state-space model. `broken` spoils a problem, to show that the tests detect
# it.

#' Expand a function of one pair or state over particles: few of the particles'
#' sets differ
each <- function(f) {
  function(a, b, t, data) {
    key <- paste(sets_of(a), sets_of(b), sep = "|")
    first <- which(!duplicated(key))
    out <- vapply(first, function(i) f(a[[i]], b[[i]], t), 0)
    out[match(key, key[first])]
  }
}
each_one <- function(f) {
  function(a, t, data) {
    key <- sets_of(a)
    first <- which(!duplicated(key))
    vapply(a[first], f, 0, t)[match(key, key[first])]
  }
}

sets_of <- function(states) vapply(states, paste, "", collapse = "-")

is_plus_one <- function(big, small) {
  length(big) == length(small) + 1 && all(small %in% big)
}

# Kernel regression -----------------------------------------------------------

centre_model <- function(rows = 4, kmax = 3, lambda = 1.3) {
  x <- c(0.3, -1.7, 2.1, -0.4, 1.2)[seq_len(rows)]
  y <- c(1.05, 0.21, -0.32, 0.86, 0.55)[seq_len(rows)]
  oracle_model(x, y, oracle_kernel_gaussian(0.9), lambda, kmax, "subset",
    sigma2 = 0.15, tau2 = 0.6
  )
}

#' The papers' zero, birth and death among the rows so far
#'
#' `broken`: "printed" has the papers' weights (and their forced births);
#' "uniform_death" undoes the birth of the new row by the death of any centre;
#' "no_c" has weights without c_{t-1}/c_t; "choice" forgets the probability of a
#' death in its weight; "alpha" makes births too probable at kmax; "propose"
#' favours old rows in births; "zero" acts as if a set could only stay
#' unchanged.
centre_problem <- function(broken = "none", rows = 4, kmax = 3,
                           move_fraction = 0.25) {
  model <- centre_model(rows, kmax)
  top <- function(t) min(kmax, t)
  chance <- function(k, by, t) {
    if (broken == "printed" && k == 0) return(as.numeric(by == 1))
    oracle_alpha(k, by, top(t), model, move_fraction)
  }
  alpha <- list(
    zero = function(set, t) {
      k <- length(set)
      1 - chance(k, 1, t) - chance(k, -1, t)
    },
    birth = function(set, t) {
      extra <- if (broken == "alpha" && length(set) == kmax - 1) 0.1 else 0
      chance(length(set), 1, t) + extra
    },
    death = function(set, t) chance(length(set), -1, t)
  )
  # The reverse choice: a set with the new row has one possible ancestor.
  back_chance <- function(k, by, t) {
    oracle_alpha(k, by, top(t - 1), model, move_fraction)
  }
  back <- list(
    zero = function(set, t) {
      k <- length(set)
      if (t %in% set) return(0)
      1 - back_chance(k, 1, t) - back_chance(k, -1, t)
    },
    birth = function(set, t) {
      if (t %in% set) 1 else back_chance(length(set), -1, t)
    },
    death = function(set, t) {
      if (t %in% set) 0 else back_chance(length(set), 1, t)
    }
  )
  forward <- list(
    zero = function(new, old, t) if (setequal(new, old)) 0 else -Inf,
    birth = function(new, old, t) {
      if (is_plus_one(new, old)) -log(t - length(old)) else -Inf
    },
    death = function(new, old, t) {
      if (is_plus_one(old, new)) -log(length(old)) else -Inf
    }
  )
  reverse <- list(
    zero = function(old, new, t) if (setequal(new, old)) 0 else -Inf,
    birth = function(old, new, t) {
      if (!is_plus_one(new, old)) return(-Inf)
      if (broken != "uniform_death" && t %in% new) return(0)
      -log(length(new))
    },
    death = function(old, new, t) {
      if (is_plus_one(old, new)) -log(t - 1 - length(new)) else -Inf
    }
  )
  propose <- list(
    zero = function(set, t) set,
    birth = function(set, t) {
      free <- setdiff(seq_len(t), set)
      odds <- if (broken == "propose") rev(seq_along(free)) else NULL
      sort(c(set, free[sample.int(length(free), 1, prob = odds)]))
    },
    death = function(set, t) set[-sample.int(length(set), 1)]
  )
  moves <- lapply(c(zero = "zero", birth = "birth", death = "death"),
    function(name) {
      td_move(
        propose = function(states, t, data) lapply(states, propose[[name]], t),
        log_forward = each(forward[[name]]),
        log_reverse = each(reverse[[name]]),
        probability = each_one(alpha[[name]]),
        reverse_probability = each_one(back[[name]]),
        log_weight = centre_weight(name, broken, model, alpha, move_fraction)
      )
    }
  )
  if (broken == "zero") moves$zero$reverse_probability <- 1
  c(centre_target(model), list(moves = moves))
}

centre_target <- function(model, rejuvenate = NULL) {
  list(
    target = td_target(
      each_one(function(set, t) oracle_log_gamma(set, t, model)),
      initial = function(n, data) rep(list(integer()), n),
      rejuvenate = rejuvenate
    ),
    data = seq_along(model$y), model = model,
    states = function(t) enumerate_subsets(t, model$kmax)
  )
}

#' The weight as a separate formula: NULL for the general law
centre_weight <- function(name, broken, model, alpha, c) {
  norm <- function(t) {
    oracle_log_norm(oracle_m(t, model), model$lambda, model$kmax, "subset")
  }
  dl <- function(new, old, t) oracle_log_dl(new, old, t, model)
  printed <- function(new, old, t) {
    fact <- function(k) lfactorial(max(k - 1, 0))
    choices <- c(zero = 1, birth = t - length(old), death = length(old))
    dl(new, old, t) + (length(new) - length(old)) * log(model$lambda) +
      fact(length(old)) - fact(length(new)) + log(choices[[name]])
  }
  # The corrected weights, as derived.
  exact <- function(new, old, t) {
    k <- length(new)
    out <- dl(new, old, t)
    out <- out + switch(name,
      zero = {
        down <- oracle_alpha(k, -1, min(model$kmax, t - 1), model, c)
        up <- oracle_alpha(k, 1, min(model$kmax, t - 1), model, c)
        log((t - k) / t * (1 - up - down) / alpha$zero(old, t))
      },
      birth = log((t - length(old)) / t) +
        if (t %in% new) log(max(model$lambda, k) / c) else 0,
      death = if (broken == "choice") log((t - k) / t / c) else
        log((t - k) / t)
    )
    out + if (broken == "no_c") 0 else norm(t - 1) - norm(t)
  }
  switch(broken,
    printed = each(printed),
    no_c = each(exact), choice = each(exact), formula = each(exact)
  )
}

#' The new row joins or not, with the probabilities of the target itself
adapted_problem <- function(rows = 4, kmax = 3) {
  model <- centre_model(rows, kmax)
  join <- function(set, t) {
    if (length(set) == kmax) return(0)
    a <- c(
      oracle_log_gamma(set, t, model), oracle_log_gamma(c(set, t), t, model)
    )
    exp(a[[2]] - log_sum_exp(a))
  }
  known <- function(a, b, t) {
    if (identical(as.integer(a), as.integer(setdiff(b, t)))) 0 else -Inf
  }
  moves <- list(
    stay = td_move(
      function(states, t, data) states,
      each(function(new, old, t) known(old, new, t) - log(!t %in% new)),
      each(function(old, new, t) known(old, new, t)),
      each_one(function(set, t) 1 - join(set, t)),
      each_one(function(set, t) 1 - t %in% set)
    ),
    join = td_move(
      function(states, t, data) lapply(states, c, t),
      each(function(new, old, t) if (t %in% new) known(old, new, t) else -Inf),
      each(function(old, new, t) known(old, new, t)),
      each_one(join), each_one(function(set, t) 0 + t %in% set)
    )
  )
  moves$stay$log_forward <- each(function(new, old, t) {
    if (setequal(new, old)) 0 else -Inf
  })
  c(centre_target(model), list(moves = moves))
}

#' Exact log gamma_t of all sets
exact_sets <- function(problem, t = length(problem$data)) {
  sets <- problem$states(t)
  stats::setNames(
    vapply(sets, oracle_log_gamma, 0, t, problem$model),
    vapply(sets, set_key, "")
  )
}

# Change points of counts -----------------------------------------------------

change_counts <- c(2, 1, 0, 6, 5, 7)

#' States are rows of 0 and 1: does a segment begin at s? (one column per row of
#' data). Rates are Gamma(1, 0.5), each row begins one with probability 0.3.
change_log_density <- function(states, t, data) {
  n <- nrow(states)
  out <- numeric(n)
  if (t == 0) return(out)
  at <- which(t(states) == 1) - 1
  from <- at %% t + 1
  particle <- at %/% t + 1
  last <- c(diff(particle) > 0, TRUE)
  to <- ifelse(last, t, c(from[-1] - 1, t))
  sums <- c(0, cumsum(data[seq_len(t)]))
  count <- sums[to + 1] - sums[from]
  log_rate <- lgamma(1 + count) + log(0.5) -
    (1 + count) * log(0.5 + to - from + 1)
  total <- rowsum(log_rate, particle)
  out[as.integer(rownames(total))] <- total
  k <- rowSums(states) - 1
  out <- out + k * log(0.3) + (t - 1 - k) * log(0.7) -
    sum(lfactorial(data[seq_len(t)]))
  ifelse(states[, 1] == 1, out, -Inf)
}

#' Flip one of rows 2..t; "always" accepts every flip
change_flip <- function(always = FALSE) {
  function(states, t, data) {
    if (t < 2) return(states)
    n <- nrow(states)
    at <- cbind(seq_len(n), 1 + sample.int(t - 1, n, TRUE))
    new <- states
    new[at] <- 1 - new[at]
    ratio <- change_log_density(new, t, data) -
      change_log_density(states, t, data)
    yes <- always | log(stats::runif(n)) < ratio
    states[yes, ] <- new[yes, ]
    states
  }
}

change_problem <- function(data = change_counts, rejuvenate = change_flip()) {
  extend <- function(bit) {
    function(states, t, data) cbind(states, rep(bit, nrow(states)))
  }
  go <- function(bit) {
    function(new, old, t, data) {
      ifelse(rowSums(new[, -t, drop = FALSE] != old) == 0 & new[, t] == bit,
        0, -Inf
      )
    }
  }
  back <- function(bit) function(old, new, t, data) go(bit)(new, old, t, data)
  chance <- function(p) {
    function(states, t, data) rep(if (t == 1) p == 0.4 else p, nrow(states)) + 0
  }
  reverse_chance <- function(bit) {
    function(new, t, data) 0 + (new[, t] == bit)
  }
  list(
    target = td_target(change_log_density,
      initial = function(n, data) matrix(0, n, 0), rejuvenate = rejuvenate
    ),
    moves = list(
      stay = td_move(extend(0), go(0), back(0), chance(0.6), reverse_chance(0)),
      change = td_move(
        extend(1), go(1), back(1), chance(0.4), reverse_chance(1)
      )
    ),
    data = data,
    states = function(t) {
      if (t == 0) return(matrix(0, 1, 0))
      unname(as.matrix(expand.grid(c(
        list(1), rep(list(0:1), t - 1)
      ))))
    }
  )
}

# A linear Gaussian state-space model -----------------------------------------

kalman <- list(
  y = c(0.4, 1.1, 0.2, -0.7, -1.5, -0.9, 0.1, 0.8), a = 0.9, q = 0.5, r = 0.4
)

kalman_log_evidence <- function(m = kalman) {
  mean <- 0
  variance <- 1
  total <- 0
  for (y in m$y) {
    mean <- m$a * mean
    variance <- m$a^2 * variance + m$q
    total <- total + stats::dnorm(y, mean, sqrt(variance + m$r), log = TRUE)
    gain <- variance / (variance + m$r)
    mean <- mean + gain * (y - mean)
    variance <- (1 - gain) * variance
  }
  list(log_evidence = total, mean = mean, variance = variance)
}

#' Paths, one column per step; "density" gives the proposal's density a wrong sd
kalman_problem <- function(broken = "none", m = kalman) {
  log_normal <- function(x, mean, v) stats::dnorm(x, mean, sqrt(v), log = TRUE)
  proposal <- function(old, t, data) (m$a * old[, t] + data[[t]]) / 2
  wide <- if (broken == "density") 0.6 else 0.5
  list(
    target = td_target(
      function(states, t, data) {
        out <- log_normal(states[, 1], 0, 1)
        for (s in seq_len(t)) {
          out <- out + log_normal(states[, s + 1], m$a * states[, s], m$q) +
            log_normal(data[[s]], states[, s + 1], m$r)
        }
        out
      },
      initial = function(n, data) matrix(stats::rnorm(n))
    ),
    moves = list(go = td_move(
      function(states, t, data) {
        cbind(states, stats::rnorm(
          nrow(states), proposal(states, t, data), sqrt(0.5)
        ))
      },
      function(new, old, t, data) {
        log_normal(new[, t + 1], proposal(old, t, data), wide)
      },
      function(old, new, t, data) numeric(nrow(new))
    )),
    data = m$y
  )
}

# Running and judging ---------------------------------------------------------

run_problem <- function(p, ..., control = smc_control(particles = 60),
                        seed = 1, data = p$data) {
  few_particles(
    tdsmc(p$target, p$moves, data, ..., control = control, seed = seed)
  )
}

check_problem <- function(p, ..., n = 200, seed = 1) {
  check_moves(p$target, p$moves, p$data, p$states, ..., n = n, seed = seed)
}

#' p-value of a fit with replicates: Zhat and Zhat times the probability of
#' each group of states are means of independent unbiased estimates. The
#' smallest of the t-test's p-values, times their number.
#' @param exact log gamma of all states, named by key.
#' @param groups A matrix of 0 and 1, one row per state and one column per
#'   group; NULL: each state separately. Groups of probability below .05 are
#'   left out.
replicate_p <- function(fit, exact, key = NULL, groups = NULL) {
  z <- exp(evidence(fit)$replicates - log_sum_exp(exact))
  values <- matrix(z)
  truth <- 1
  if (!is.null(key)) {
    share <- vapply(fit$runs, function(run) {
      keys <- factor(key(run$states), levels = names(exact))
      as.vector(tapply(run$weights, keys, sum, default = 0))
    }, numeric(length(exact)))
    if (is.null(groups)) groups <- diag(length(exact))
    values <- cbind(z, crossprod(share, groups) * z)
    truth <- c(1, exp(exact - log_sum_exp(exact)) %*% groups)
  }
  n <- nrow(values)
  t <- (colMeans(values) - truth) / (apply(values, 2, stats::sd) / sqrt(n))
  ok <- truth > 0.05
  min(1, 2 * stats::pt(-abs(t[ok]), n - 1) * sum(ok))
}

#' Does a set hold row 1, 2, ...?
row_groups <- function(sets, rows = max(unlist(sets))) {
  vapply(seq_len(rows), function(row) {
    vapply(sets, function(set) as.numeric(row %in% set), 0)
  }, numeric(length(sets)))
}
