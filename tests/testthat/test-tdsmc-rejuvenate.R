# td_rejuvenate(): reversible jump by td_move()s, on problems with exact answers
# (helper-tdsmc.R and a split and merge with a Jacobian).
#
# Statistical tests: (1) check_moves() draws states from the target, applies the
# kernel once and compares counts with their exact probabilities; its
# probability of a false alarm is at most 1e-4. (2) replicate_p(), see
# test-tdsmc.R. (3) Exact draws from the target are moved once; the share of a
# dimension is binomial, coordinates are compared by the Kolmogorov-Smirnov
# test; p-values below 1e-6 fail. Seeds are fixed. Seen to fail, here by
# replaced functions or moves: a way back without its probability, without its
# density, all proposals accepted, a Jacobian left out, a log density kept after
# an accepted proposal, a move's log_forward that is not what it draws from.

limit <- 1e-6

set_moves <- function(kernel = TRUE) {
  moves <- centre_problem()$moves
  if (!kernel) {
    return(moves)
  }
  swap <- function(new, old, t) {
    out <- setdiff(old, new)
    one <- length(out) == 1 && length(setdiff(new, old)) == 1
    if (one) -log(length(old) * (t - length(old))) else -Inf
  }
  moves$swap <- td_move(
    function(states, t, data) {
      lapply(states, function(set) {
        free <- setdiff(seq_len(t), set)
        set[[sample.int(length(set), 1)]] <- free[[sample.int(length(free), 1)]]
        sort(set)
      })
    },
    each(swap), each(function(old, new, t) swap(old, new, t)),
    each_one(function(set, t) if (length(set) %in% c(0, t)) 0 else 0.3), 0
  )
  moves[c("birth", "death", "swap")]
}

set_problem <- function(moves = set_moves(), rounds = 2, ...) {
  p <- adapted_problem()
  p$target$rejuvenate <- td_rejuvenate(
    moves, c(birth = "death"), rounds = rounds
  )
  p
}

wrong_of <- function(result) unique(result$table$check[!result$table$ok])

test_that("births, deaths and swaps leave enumerated targets invariant", {
  p <- set_problem()
  result <- check_problem(p, n = 500)
  expect_true(result$ok)
  expect_true("rejuvenate" %in% result$table$check)
  fit <- run_problem(p, control = smc_control(60, replicates = 100))
  expect_gt(replicate_p(fit, exact_sets(p), sets_of), limit)
})

test_that("a wrong acceptance ratio is seen", {
  p <- set_problem()
  right <- kernelbayes:::log_way_back
  faults <- list(
    # The way back without its probability
    function(problem, name, new, old, after) {
      partner <- problem$moves[[problem$reverse[[name]]]]
      alpha <- partner$probability(new, problem$t, problem$data)
      out <- right(problem, name, new, old, after)
      ifelse(out == -Inf, out, out - log(alpha))
    },
    # without its density
    function(problem, name, new, old, after) {
      partner <- problem$moves[[problem$reverse[[name]]]]
      out <- right(problem, name, new, old, after)
      ifelse(out == -Inf, out,
        out - partner$log_forward(old, new, problem$t, problem$data)
      )
    },
    # everything accepted
    function(problem, name, new, old, after) rep(1e3, length(after))
  )
  lapply(faults, function(fault) {
    local_mocked(log_way_back = fault)
    result <- check_problem(p, steps = 4, n = 500)
    expect_identical(wrong_of(result), "rejuvenate")
  })
})

test_that("moves that extend particles may rejuvenate them, too", {
  moves <- set_moves(FALSE)
  p <- centre_problem()
  p$target$rejuvenate <- td_rejuvenate(
    moves[c("birth", "death")], c(death = "birth")
  )
  expect_true(check_problem(p, n = 200)$ok)
  # Not drawn from as stated
  broken <- centre_problem("propose")$moves[c("birth", "death")]
  p$target$rejuvenate <- td_rejuvenate(broken, c(birth = "death"), 10)
  result <- check_problem(p, steps = 4, n = 500)
  expect_true("rejuvenate" %in% wrong_of(result))
})

# A split and a merge: x or (x1, x2), with x1 = x - u, x2 = x + u, whose
# Jacobian is 2. P(2) = .6.
pair_target <- function(jacobian = log(2), rounds = 3) {
  walk <- td_move(
    function(states, t, data) {
      lapply(states, function(s) s + stats::runif(length(s), -1, 1))
    },
    function(new, old, t, data) -lengths(new) * log(2),
    function(old, new, t, data) -lengths(new) * log(2), 0.3
  )
  size <- function(k) function(states, t, data) 0.7 * (lengths(states) == k)
  half_gap <- function(s) vapply(s, function(s) diff(s) / 2, 0)
  split <- td_move(
    function(states, t, data) {
      lapply(states, function(s) s + c(-1, 1) * stats::rnorm(1))
    },
    function(new, old, t, data) {
      stats::dnorm(half_gap(new), log = TRUE) - jacobian
    },
    function(old, new, t, data) numeric(length(new)), size(1)
  )
  merge <- td_move(
    function(states, t, data) lapply(states, mean),
    function(new, old, t, data) numeric(length(new)),
    function(old, new, t, data) numeric(length(new)), size(2)
  )
  td_target(
    function(states, t, data) {
      vapply(states, function(s) {
        log(if (length(s) == 1) 0.4 else 0.6) +
          sum(stats::dnorm(s, c(0, 0.5)[seq_along(s)], c(1, 2)[seq_along(s)],
            log = TRUE
          ))
      }, 0)
    },
    function(n, data) {
      lapply(1 + stats::rbinom(n, 1, 0.6), function(k) {
        stats::rnorm(k, c(0, 0.5)[seq_len(k)], c(1, 2)[seq_len(k)])
      })
    },
    td_rejuvenate(list(walk = walk, split = split, merge = merge),
      c(split = "merge"),
      rounds = rounds
    )
  )
}

moved_once <- function(target, n = 20000) {
  withr::with_seed(1, {
    states <- target$initial(n, NULL)
    kernelbayes:::rejuvenated(target, list(
      states = states, log_density = rep(NA_real_, n), weights = rep(1 / n, n)
    ), 1, 1, NULL)
  })
}

pair_p <- function(target) {
  states <- moved_once(target)$states
  k <- lengths(states)
  two <- do.call(rbind, states[k == 2])
  min(
    stats::binom.test(sum(k == 2), length(k), 0.6)$p.value,
    stats::ks.test(unlist(states[k == 1]), "pnorm")$p.value,
    stats::ks.test(two[, 1], "pnorm")$p.value,
    stats::ks.test(two[, 2], "pnorm", 0.5, 2)$p.value
  )
}

test_that("a split and a merge with a Jacobian leave their target invariant", {
  expect_gt(pair_p(pair_target()), limit)
  expect_lt(pair_p(pair_target(jacobian = 0)), limit)
  out <- moved_once(pair_target())
  # The log density is that of the states.
  expect_equal(
    out$log_density, pair_target()$log_density(out$states, 1, NULL)
  )
  expect_identical(sum(out$tried), 60000L)
  expect_true(all(out$accepted > 0 & out$accepted < out$tried))
  stale <- kernelbayes:::try_jump
  local_mocked(try_jump = function(problem, name, old, before, alpha) {
    out <- stale(problem, name, old, before, alpha)
    out$log_density <- before
    out
  })
  expect_lt(pair_p(pair_target()), limit)
})

test_that("acceptance is reported by move", {
  p <- set_problem()
  fit <- run_problem(p, control = smc_control(30, replicates = 2))
  table <- summary(fit)$rejuvenation
  expect_identical(table$move, c("birth", "death", "swap"))
  # Steps 2 to 4 begin with two rounds; what the moves leave is staying.
  expect_lt(sum(table$tried), 2 * 3 * 2 * 30)
  expect_equal(
    diagnostics(fit)$acceptance, stats::setNames(table$accepted, table$move)
  )
  expect_true(all(table$accepted > 0 & table$accepted < 1))
  expect_output(print(summary(fit)), "Rejuvenation")
  expect_output(print(diagnostics(fit)), "accepted: birth")
  expect_output(
    print(p$target$rejuvenate), "birth / death, swap; 2 rounds",
    fixed = TRUE
  )
  # It may be continued.
  expect_same_fit(
    few_particles(update(run_problem(p, steps = 2), steps = 4)), run_problem(p)
  )
})

test_that("states of every form are moved", {
  number <- list(
    vector = identity, matrix = function(s) s[, 1],
    frame = function(s) s$x, list = unlist
  )
  wrap <- list(
    identity, function(x) matrix(x), function(x) data.frame(x = x), as.list
  )
  out <- Map(function(number, wrap) {
    flat <- function(new, old, t, data) numeric(length(number(new)))
    walk <- td_move(function(states, t, data) {
      x <- number(states)
      wrap(x + stats::runif(length(x), -1, 1))
    }, flat, flat)
    fit <- few_particles(tdsmc(td_target(
      function(states, t, data) {
        stats::dnorm(number(states), t / 4, log = TRUE)
      },
      function(n, data) wrap(stats::rnorm(n)), td_rejuvenate(walk)
    ), steps = 3, control = smc_control(40), seed = 1))
    number(predict(fit, type = "states"))
  }, number, wrap)
  for (x in out) expect_identical(x, out$vector)
})

test_that("functions get the weights and scales of the cloud", {
  seen <- list()
  target <- td_target(
    function(states, t, data) stats::dnorm(states[, 1], t / 2, log = TRUE),
    function(n, data) cbind(stats::rnorm(n), 1),
    rejuvenate = function(states, t, data, cloud) {
      seen[[t]] <<- c(cloud, list(states = states))
      states
    }
  )
  fit <- few_particles(tdsmc(target,
    steps = 3, control = smc_control(50, ess_threshold = 0), seed = 1
  ))
  expect_named(
    seen[[1]], c("weights", "log_density", "power", "scale", "states")
  )
  x <- seen[[2]]$states[, 1]
  w <- seen[[2]]$weights
  expect_gt(diff(range(w)), 0)
  expect_equal(sum(w), 1)
  expect_equal(
    seen[[2]]$scale, c(sqrt(sum(w * (x - sum(w * x))^2)), 0)
  )
  expect_identical(seen[[2]]$power, 1)
  # The density is known from the weight of the step.
  expect_equal(seen[[2]]$log_density, stats::dnorm(x, 1, log = TRUE))
  expect_null(kernelbayes:::particle_scale(list(1, 2), c(0.5, 0.5)))

  # A random walk scaled by the cloud; and the arguments reach both densities.
  scales <- numeric()
  gap <- function(new, old, t, data, cloud) {
    stats::dnorm(new, old, 2 * cloud$scale, log = TRUE)
  }
  walk <- td_move(
    function(states, t, data, cloud) {
      scales <<- c(scales, cloud$scale)
      states + 2 * cloud$scale * stats::rnorm(length(states))
    }, gap, gap
  )
  few_particles(tdsmc(td_target(
    function(states, t, data) {
      stats::dnorm(states, 0, 1 / max(t, 1), log = TRUE)
    },
    function(n, data) stats::rnorm(n), td_rejuvenate(walk, rounds = 2)
  ), steps = 4, control = smc_control(500), seed = 1))
  # One scale for all rounds of a step; null: sd of a weighted sample, 500
  # particles, relative error about .05.
  expect_identical(scales[c(1, 3, 5)], scales[c(2, 4, 6)])
  expect_lt(max(abs(scales[c(1, 3, 5)] * 1:3 - 1)), 0.3)
})

test_that("what cannot be right is refused", {
  moves <- set_moves()
  refused <- function(...) {
    expect_error(td_rejuvenate(...), class = "kb_error_argument")
  }
  refused(NULL)
  refused(list())
  refused(moves, c("birth", "death"))
  refused(moves, c(birth = "deaths"))
  refused(moves, c(birth = "death", swap = "death"))
  refused(moves, rounds = 0)
  expect_error(td_target(identity, identity, list(1)), "td_rejuvenate",
    class = "kb_error_argument"
  )
  run <- function(moves, reverse = NULL) {
    p <- adapted_problem()
    p$target$rejuvenate <- td_rejuvenate(moves, reverse)
    run_problem(p)
  }
  error <- expect_error(run(moves), "undo itself", class = "kb_error_argument")
  expect_identical(error$argument, "reverse")
  pair <- c(birth = "death")
  moves$swap$probability <- 0.9
  expect_error(run(moves, pair), "sum to 1 at most",
    class = "kb_error_user_function"
  )
  moves <- set_moves()
  moves$birth$propose <- function(states, t, data) seq_along(states)
  expect_error(run(moves, pair), "propose.*\"birth\".*a list",
    class = "kb_error_user_function"
  )
  moves$birth$propose <- function(states, t, data) states
  expect_error(run(moves, pair), "log_forward.*\"birth\".*-Inf",
    class = "kb_error_user_function"
  )
})
