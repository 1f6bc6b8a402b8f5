# tdsmc() with data that enter gradually, static targets by powers alone, and
# more particles by update().
#
# Statistical tests are those of test-tdsmc.R: Zhat, and Zhat times estimated
# probabilities, are unbiased for fixed powers; means over replicates are about
# t-distributed around the enumerated values, and p-values below 1e-6 fail. Seen
# to fail, here by replaced functions or models: particles moved at power 1
# while a datum enters, the evidence of the last increase only, weights of an
# increase that forget where it began, weights kept at resampling.

limit <- 1e-6

# States 1 to 6 on a circle; the likelihood of one datum, static.
circle <- list(
  prior = c(0.3, 0.1, 0.2, 0.1, 0.1, 0.2),
  likelihood = c(0.02, 0.5, 0.1, 1.5, 0.01, 0.4)
)

circle_target <- function(rounds = 1, kernel = circle_walk(rounds)) {
  td_target(
    function(states, t, data, power) {
      log(circle$prior[states]) + t * power * log(circle$likelihood[states])
    },
    function(n, data) sample.int(6, n, TRUE, circle$prior), kernel
  )
}

circle_walk <- function(rounds) {
  step <- function(new, old, t, data) {
    ifelse((new - old) %% 6 %in% c(1, 5), log(0.5), -Inf)
  }
  td_rejuvenate(td_move(
    function(states, t, data) {
      (states - 1 + sample(c(-1, 1), length(states), TRUE)) %% 6 + 1
    }, step, step
  ), rounds = rounds)
}

circle_exact <- stats::setNames(log(circle$prior * circle$likelihood), 1:6)

run_circle <- function(..., target = circle_target(), replicates = 200,
                       particles = 20) {
  few_particles(tdsmc(target,
    steps = 1, seed = 1,
    control = smc_control(particles, replicates = replicates, ...)
  ))
}

circle_p <- function(fit) replicate_p(fit, circle_exact, as.character)

test_that("a static target at fixed powers has its enumerated evidence", {
  fit <- run_circle(powers = c(0.1, 0.4, 1))
  expect_gt(circle_p(fit), limit)
  expect_identical(ess(fit)$increases, 3L)
  # A function of the user instead of moves
  user <- circle_target(kernel = function(states, t, data, power) {
    new <- (states - 1 + sample(c(-1, 1), length(states), TRUE)) %% 6 + 1
    ratio <- log(circle$prior[new] / circle$prior[states]) +
      power * log(circle$likelihood[new] / circle$likelihood[states])
    ifelse(log(stats::runif(length(new))) < ratio, new, states)
  })
  expect_gt(circle_p(run_circle(powers = c(0.1, 0.4, 1), target = user)), limit)
  # Without moves the datum enters at once, as one weight.
  still <- run_circle(target = circle_target(kernel = NULL), replicates = 1)
  expect_false("increases" %in% names(ess(still)))
  x <- predict(still, type = "states")
  expect_equal(
    evidence(still)$log_evidence, log(mean(circle$likelihood[x]))
  )
})

test_that("faults of the powers are seen", {
  run <- function() {
    run_circle(powers = c(0.1, 0.4, 1), replicates = 200, ess_threshold = 0.9)
  }
  expect_gt(circle_p(run()), limit)
  refresh <- kernelbayes:::td_refresh
  reweight <- kernelbayes:::td_reweight
  adopt <- kernelbayes:::td_adopt
  faults <- list(
    list(td_refresh = function(engine, state, t, power) {
      state$log_density[] <- NA
      state <- refresh(engine, state, t, 1)
      state$log_density[] <- NA
      state
    }),
    list(td_reweight = function(state, increment, t) {
      state$step$log_increment <- 0
      reweight(state, increment, t)
    }),
    list(td_reweight = function(state, increment, t) {
      if (state$step$increases > 0) {
        increment <- state$log_density - log(circle$prior[state$states])
      }
      reweight(state, increment, t)
    }),
    list(td_adopt = function(state, ancestors, control) {
      out <- adopt(state, ancestors, control)
      out[c("weights", "log_weights")] <- state[c("weights", "log_weights")]
      out
    })
  )
  lapply(faults, function(fault) {
    do.call(local_mocked, c(fault, list(frame = environment())))
    expect_lt(circle_p(run()), limit)
  })
})

# Change points whose last count enters by powers
gradual_changes <- function(rounds = 2) {
  p <- change_problem(rejuvenate = NULL)
  flip <- function(new, old, t, data) {
    ifelse(rowSums(new != old) == 1, -log(t - 1), -Inf)
  }
  kernel <- td_rejuvenate(td_move(
    function(states, t, data) {
      n <- nrow(states)
      at <- cbind(seq_len(n), 1 + sample.int(t - 1, n, TRUE))
      states[at] <- 1 - states[at]
      states
    }, flip, flip,
    probability = function(states, t, data) rep(0 + (t > 1), nrow(states))
  ), rounds = rounds)
  p$target <- td_target(
    function(states, t, data, power) {
      full <- change_log_density(states, t, data)
      if (t == 0 || power == 1) return(full)
      # The prior of the last bit and the counts before it, and a part of the
      # last count
      last <- ifelse(states[, t] == 1, log(0.3), log(0.7))
      before <- if (t == 1) 0 else {
        change_log_density(states[, -t, drop = FALSE], t - 1, data) + last
      }
      ifelse(full == -Inf, -Inf, (1 - power) * before + power * full)
    }, p$target$initial, kernel
  )
  p
}

test_that("rows that enter at fixed powers have their enumerated posterior", {
  p <- gradual_changes()
  exact <- stats::setNames(
    change_log_density(p$states(6), 6, p$data),
    apply(p$states(6), 1, paste, collapse = "")
  )
  rows_of <- function(states) apply(states, 1, paste, collapse = "")
  for (powers in list(c(0.3, 1), c(0.05, 0.4, 1))) {
    fit <- run_problem(p, control = smc_control(
      40, replicates = 60, powers = powers, ess_threshold = 0.8
    ))
    expect_gt(replicate_p(fit, exact, rows_of), limit)
    expect_identical(ess(fit)$increases, rep(length(powers), 6))
  }
  result <- check_problem(p, steps = 1:4, n = 200)
  expect_true(result$ok)
  expect_true("rejuvenate at 0.5" %in% result$table$check)
  # A function that ignores the power
  flip <- change_flip()
  p$target$rejuvenate <- function(states, t, data, power) flip(states, t, data)
  result <- check_problem(p, steps = 1:4, n = 1000)
  expect_identical(
    unique(result$table$check[!result$table$ok]), "rejuvenate at 0.5"
  )
  expect_output(print(result), "after rejuvenate() at the power 0.5 a state",
    fixed = TRUE
  )
})

test_that("any split of a run with powers equals one run", {
  p <- gradual_changes()
  for (control in list(
    smc_control(30, ancestry = "full"),
    smc_control(30, powers = c(0.2, 1), replicates = 2),
    smc_control(30, powers = 1, cess_threshold = 0.95, ancestry = "genealogy")
  )) {
    all <- run_problem(p, control = control)
    steps <- run_problem(p, control = control, steps = 1)
    for (t in 2:6) steps <- few_particles(update(steps, steps = t))
    expect_same_fit(steps, all)
  }
  expect_true(any(ess(all)$increases > 1))
})

test_that("the ancestry has parents of the step before, at every stop", {
  p <- gradual_changes()
  # Particles that keep their first bits: no moves, but resampling at stops.
  none <- p$target$rejuvenate
  none$moves$move$probability <- 0
  p$target$rejuvenate <- none
  fit <- run_problem(p, control = smc_control(
    40, ancestry = "full", powers = c(0.5, 1), ess_threshold = 1
  ))
  history <- ancestry(fit)[[1]]
  for (t in 2:6) {
    parent <- history$states[[t - 1]][history$ancestors[t - 1, ], ]
    expect_identical(
      as.vector(history$states[[t]][, -t]), as.vector(parent)
    )
  }
  path <- fit$runs[[1]]$path
  expect_identical(sum(path$tried), 0L)
  expect_equal(
    colSums(matrix(path$share, 2)), rep(1, 6)
  )
})

# A normal mean with one sharp datum, static: log evidence is known.
sharp <- function(sd = 0.01) {
  flat <- function(new, old, t, data, cloud) numeric(length(new))
  walk <- td_move(
    function(states, t, data, cloud) {
      states + 2 * cloud$scale * stats::runif(length(states), -1, 1)
    }, flat, flat
  )
  td_target(
    function(states, t, data, power) {
      stats::dnorm(states, log = TRUE) +
        t * power * stats::dnorm(2, states, sd, log = TRUE)
    },
    function(n, data) stats::rnorm(n), td_rejuvenate(walk, rounds = 5)
  )
}

test_that("a datum that few particles explain enters by adaptive powers", {
  exact <- stats::dnorm(2, 0, sqrt(1 + 0.01^2), log = TRUE)
  run <- function(...) {
    few_particles(tdsmc(sharp(), steps = 1, seed = 1,
      control = smc_control(500, replicates = 10, ...)
    ))
  }
  fit <- run()
  # Null: consistent; the mean of 10 runs of 500 has an error of about the
  # standard error of the replicates, and a t of 9 degrees of freedom beyond 8
  # has probability 2e-5.
  z <- evidence(fit)
  expect_lt(abs(z$log_evidence - exact), 8 * z$mc_se_replicates)
  expect_lt(z$mc_se_replicates, 0.1)
  expect_gt(ess(fit)$increases, 4)
  expect_gt(ess(fit)$lowest, 0.2)
  # At once, few particles count.
  expect_lt(ess(run(cess_threshold = 0))$lowest, 0.03)
})

test_that("jumps and powers on workers equal those in this process", {
  local_workers()
  run <- function() {
    fit <- few_particles(tdsmc(sharp(0.3), steps = 1, seed = 1,
      control = smc_control(30, replicates = 2)
    ))
    few_particles(update(fit, particles = 100))
  }
  there <- run()
  future::plan("sequential")
  expect_equal(plain_fit(run())$runs, plain_fit(there)$runs)
})

test_that("powers that cannot be used are refused", {
  expect_error(
    td_target(function(states, t, data, power) 0, identity,
      rejuvenate = function(states, t, data) states
    ), "power",
    class = "kb_error_argument"
  )
  p <- change_problem()
  expect_error(
    run_problem(p, control = smc_control(powers = c(0.5, 1))), "powers",
    class = "kb_error_argument"
  )
  expect_no_error(run_problem(p, control = smc_control(20, cess_threshold = 0)))
  p <- gradual_changes()
  p$moves$stay$log_weight <- function(new, old, t, data) 0
  expect_error(run_problem(p), "log_weight", class = "kb_error_argument")
})

# More particles -------------------------------------------------------------

test_that("more replicates equal as many from the start", {
  p <- change_problem()
  control <- function(r) smc_control(particles = 30, replicates = r)
  three <- run_problem(p, control = control(3))
  one <- run_problem(p, control = control(1))
  expect_same_fit(few_particles(update(one, replicates = 3)), three)
  # Also with further steps
  first <- run_problem(p, control = control(1), steps = 4)
  expect_same_fit(
    few_particles(update(first, replicates = 3, steps = 6)), three
  )
})

test_that("more particles are an independent run that counts by its size", {
  p <- change_problem()
  fit <- run_problem(p, control = smc_control(particles = 30))
  more <- few_particles(update(fit, particles = 100))
  expect_length(weights(more), 100)
  z <- exp(evidence(more)$replicates)
  expect_identical(
    evidence(more)$replicates[[1]], evidence(fit)$log_evidence
  )
  expect_equal(evidence(more)$log_evidence, log(sum(c(30, 70) * z) / 100))
  share <- c(30, 70) * z / sum(c(30, 70) * z)
  expect_equal(sum(weights(more)[1:30]), share[[1]])
  expect_equal(
    evidence(more)$mc_se,
    sqrt(sum(share^2 * vapply(more$runs, `[[`, 0, "relative_variance")))
  )
  expect_equal(
    utils::tail(evidence(more)$path$log_evidence, 1),
    evidence(more)$log_evidence
  )
  expect_identical(evidence(more)$mc_se_replicates, NA_real_)
  expect_output(print(more), "30 + 70", fixed = TRUE)
  expect_identical(glance(more)$particles, 100L)
  # It goes on as it is, and once more.
  expect_identical(lengths(lapply(
    few_particles(update(more, particles = 110))$runs, `[[`, "weights"
  )), c(30L, 70L, 10L))
  longer <- few_particles(update(
    run_problem(p, control = smc_control(30), steps = 3),
    particles = 100, steps = 6
  ))
  expect_same_fit(longer, more)
  expect_same_fit(update(more, particles = 100), more)
  for (few in list(20, "a", 2.5)) {
    expect_error(update(fit, particles = few), class = "kb_error_argument")
  }
  expect_error(update(more, replicates = 1), class = "kb_error_argument")
})

test_that("runs of two sizes have the enumerated posterior", {
  # Null as above; each fit is one draw of an unbiased estimate.
  p <- centre_problem()
  exact <- exact_sets(p)
  inner <- row_groups(p$states(4))[, 1]
  truth <- sum(inner * exp(exact - log_sum_exp(exact)))
  values <- vapply(1:60, function(seed) {
    fit <- run_problem(p, control = smc_control(20), seed = seed)
    fit <- few_particles(update(fit, particles = 60))
    z <- exp(evidence(fit)$log_evidence - log_sum_exp(exact))
    at <- match(sets_of(predict(fit, type = "states")), names(exact))
    c(z, z * sum(weights(fit) * inner[at]))
  }, numeric(2))
  expect_gt(stats::t.test(values[1, ], mu = 1)$p.value, limit)
  expect_gt(stats::t.test(values[2, ], mu = truth)$p.value, limit)
})
