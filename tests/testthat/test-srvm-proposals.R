# The papers' proposal next to the adapted one: its weights against enumeration
# (test 1 of the derivation) and whole runs against quadrature (test 2); for
# every exact proposal the evidence's invariances (tests 3, 4 and 6) and the
# limiting cases (test 7). Reproducibility of the same runs is in
# test-srvm-identity.R.
#
# Statistical tests have fixed seeds, state their null and fail with probability
# below 1e-4 under it. Seen to fail with the core broken on purpose: without the
# reverse probability, with m for m' in it (in its births or in its choice),
# with the size before the birth in it, with a uniform death as the reverse
# where the new candidate joined, with m' for m in the prior's odds, without
# c_{t-1}/c_t, without alpha in the forward probability, with a repeated row
# taken for a new candidate, with the first centre always the one that dies,
# with a death's likelihood ratio 2% off; printed weights without the forced
# birth or with k for k - 1; the scaled likelihood without a row in its shape,
# with z^2/2 as in the plain form, without the shift or with b for 2b.

x_plain <- c(0.3, -1.7, 2.1, -0.4, 1.2, -2.6, 0.8)
x_repeated <- c(0.3, -1.7, 0.3, 2.1, -0.4, 1.2, -1.7)
y <- c(1.05, 0.21, -0.32, 0.86, 0.55, -0.17, 0.71)
exact <- c("adapted", "birth_death")
forms <- list(plain = 0.15, scaled = list(shape = 1.5, scale = 0.2))

model_of <- function(kmax = 5, centres = "subset", repeated = FALSE,
                     intercept = TRUE, form = "plain", lambda = 1.3) {
  x <- if (repeated) x_repeated else x_plain
  c(
    list(x = x),
    oracle_model(
      x, y, kern, lambda, kmax, centres, forms[[form]], 0.6,
      intercept = intercept, scaled = form == "scaled"
    )
  )
}

# The proposal as a pure function --------------------------------------------

#' Worst defect, smallest and largest total variation over steps
identity_of <- function(transition, model, steps = 1:7) {
  res <- vapply(steps, function(t) {
    unlist(oracle_transition_defect(
      transition,
      t = t, kmax = model$kmax, model = model
    )[c("defect", "tv", "prob")])
  }, numeric(3))
  c(defect = max(res[1, ]), tv = max(res[2, ]), prob = max(res[3, ]))
}

cases <- expand.grid(
  kmax = c(5, 2, 0), centres = c("subset", "iid"),
  repeated = c(FALSE, TRUE), intercept = c(TRUE, FALSE), shift = c(0, 0.7),
  form = c("plain", "scaled"), stringsAsFactors = FALSE
)
cases <- cases[cases$intercept | cases$shift == 0, ]

test_that("the birth/death weights are exact for every set", {
  for (i in seq_len(nrow(cases))) {
    case <- cases[i, ]
    # p(k + 1)/p(k) is below 1, above it, and crosses it.
    model <- do.call(model_of, c(
      case[names(case) != "shift"],
      list(lambda = c(0.4, 1.3, 6)[i %% 5 %% 3 + 1])
    ))
    transition <- package_transition(
      model$x, y, model, "birth_death", case$shift, c(0.25, 0.5)[i %% 2 + 1]
    )
    found <- identity_of(transition, model)
    expect_lt(found[["defect"]], 1e-12)
    expect_lt(found[["prob"]], 1e-14)
  }
})

#' Next states by the key of the set
by_set <- function(states) {
  key <- vapply(states$set, set_key, "")
  by_key <- order(key, method = "radix")
  cbind(states$log_prob, states$log_weight)[by_key, , drop = FALSE]
}

#' Largest error of a transition's probabilities and weights at step t
transition_error <- function(transition, oracle, t, model) {
  error <- vapply(
    enumerate_subsets(oracle_m(t - 1, model), model$kmax),
    function(set) {
      mine <- by_set(transition(set, t))
      theirs <- by_set(oracle(set, t))
      if (nrow(mine) != nrow(theirs)) Inf else max(abs(mine - theirs))
    }, 0
  )
  max(error)
}

test_that("birth/death and printed transitions agree with the oracle", {
  for (i in seq_len(nrow(cases))) {
    case <- cases[i, ]
    model <- do.call(model_of, case[names(case) != "shift"])
    move_fraction <- c(0.25, 0.5)[i %% 2 + 1]
    for (proposal in c("birth_death", "paper")) {
      transition <- package_transition(
        model$x, y, model, proposal, case$shift, move_fraction
      )
      oracle <- function(set, t) {
        f <- get(paste0("oracle_transition_", proposal))
        f(set, t, model, move_fraction)
      }
      error <- vapply(c(1, 2, 3, 5, 7), function(t) {
        transition_error(transition, oracle, t, model)
      }, 0)
      expect_lt(max(error), 1e-12)
    }
  }
})

test_that("the printed weights do not target the posterior", {
  # The largest total variation over steps 1 to 7, and the largest relative
  # error of the mass of one set.
  found <- vapply(which(cases$kmax > 0), function(i) {
    model <- do.call(model_of, cases[i, names(cases) != "shift"])
    identity_of(
      package_transition(model$x, y, model, "paper", cases$shift[[i]]), model
    )
  }, numeric(3))
  expect_lt(max(found["prob", ]), 1e-14)
  expect_gt(min(found["tv", ]), 0.1)
  expect_gt(min(found["defect", ]), 0.5)
})

test_that("steps are drawn with the probabilities in their weights", {
  # Null: 40000 draws from each of 8 states and 2 proposals are multinomial;
  # chi-square each, 1e-4 over all (Bonferroni).
  n <- 40000
  p <- unlist(lapply(c("birth_death", "paper"), function(proposal) {
    model <- model_of(3)
    control <- smc_control(proposal = proposal, move_fraction = 0.4)
    config <- core_config(x_plain, y, model, control)
    sets <- list(
      integer(), 1L, 4L, 5:6, c(2L, 6L), 1:3, c(1L, 5L, 6L), c(2L, 3L, 4L)
    )
    vapply(seq_along(sets), function(s) {
      out <- srvm_birth_death_cpp(
        config, as.matrix(x_plain), y, 7, sets[[s]], 0.15, 0.6,
        c("7", "0", sprintf("%x", s)), n
      )
      expect_identical(sum(out$count), as.integer(n))
      if (length(out$count) == 1) {
        return(1)
      }
      stats::chisq.test(out$count, p = exp(out$log_prob))$p.value
    }, 0)
  }))
  expect_gt(min(p) * length(p), 1e-4)
})

# Whole runs -----------------------------------------------------------------

# Null: the sampler is unbiased on the natural scale, so each z-score below is
# nearly t with 39 degrees of freedom. |z| > 6.5 has probability 1.0e-7; with
# fewer than 500 scores in this file a false alarm is rarer than 1e-4.
limit <- 6.5

xs <- c(0.3, -1.7, 2.1, -0.4, 1.2, 0.8)
ys <- c(1.05, 0.21, -0.32, 0.86, 0.55, 0.71)

blind <- function(particles = 800, n_moves = 0, ...) {
  smc_control(particles, n_moves, "birth_death", ...)
}

expect_exact <- function(x = xs, y = ys, control = blind(), ...) {
  z <- run_against_oracle(x, y, control, ...)
  expect_lt(max(abs(z)), limit)
}

test_that("birth/death runs agree with enumeration and quadrature", {
  expect_exact()
  expect_exact(control = blind(400, 4, resample_every_step = TRUE))
  expect_exact(
    centres = "iid", kmax = 2,
    control = blind(resampling = "residual", move_fraction = 0.5)
  )
  expect_exact(
    x = c(0.3, -1.7, 0.3, 2.1, -0.4, -1.7), intercept = FALSE,
    control = blind(resampling = "multinomial")
  )
  expect_exact(noise = fixed_variance(0.1), coef = fixed_variance(0.5))
})

test_that("birth/death runs agree in the scaled form", {
  expect_exact(scaled = TRUE, coef = ig(3, 12))
  expect_exact(
    scaled = TRUE, coef = fixed_variance(6), centres = "iid",
    x = c(0.3, -1.7, 0.3, 2.1, -0.4, -1.7)
  )
  expect_exact(
    y = ys + 4, scaled = TRUE, coef = ig(3, 12), control = blind(800, 4)
  )
})

test_that("runs with the printed weights do not agree", {
  # The null of the tests above is far from true here: this shows their power.
  # (The largest score is 25, 35 and 28 with three seeds.)
  z <- run_against_oracle(xs, ys, smc_control(800, proposal = "paper"), runs = 160)
  expect_gt(max(abs(z)), 20)
})

# Evidence: order of the rows, resampling, expectation -----------------------

# Noisy and short: with a blind proposal, estimates of Z for informative data
# have no nearly normal mean. The point 0.3 occurs twice.
many <- list(x = c(x_plain, 0.3, 1.7), y = c(y, 0.6, 0.4))
rows_of_many <- seq_along(many$y)

estimates <- new.env()

#' Estimates of Z from independent runs; computed once per setting
z_hat <- function(proposal, scaled, rows = rows_of_many, centres = "subset",
                  particles = 250, n_moves = 0, runs = 60, seed = 1, ...) {
  key <- rlang::hash(list(
    proposal, scaled, rows, centres, particles, n_moves, runs, seed, ...
  ))
  if (!is.null(estimates[[key]])) {
    return(estimates[[key]])
  }
  fit <- suppressWarnings(srvm(
    as.matrix(many$x[rows]), many$y[rows],
    kernel = kernel_gaussian(0.9), scale = FALSE, seed = seed,
    prior = srvm_prior(2, 5, centres,
      noise = ig(3, 0.6), coef = if (scaled) ig(3, 4) else ig(3, 1),
      scaled = scaled
    ),
    control = smc_control(
      particles, n_moves, proposal, replicates = runs, ...
    )
  ))
  estimates[[key]] <- evidence(fit)$replicates
}

#' z-score of the difference of two mean estimates on the natural scale
compare_evidence <- function(one, two) {
  top <- max(one, two)
  a <- exp(one - top)
  b <- exp(two - top)
  (mean(a) - mean(b)) /
    sqrt(stats::var(a) / length(a) + stats::var(b) / length(b))
}

# Null of the three tests below: means of 60 unbiased estimates differ by a
# nearly t-distributed score of 59 degrees of freedom or more; |z| > 6 has
# probability below 1.4e-7 and there are fewer than 100 of them.
same <- 6

test_that("the evidence does not depend on the order of the rows", {
  # The repeated point comes early or late.
  orders <- list(rev(rows_of_many), c(1, 8, 3, 5, 2, 9, 4, 7, 6))
  for (proposal in exact) for (scaled in c(FALSE, TRUE)) {
    # The kind of centres and the form are unrelated.
    both <- c("subset", "iid")
    for (centres in if (extended()) both else both[scaled + 1]) {
      given <- z_hat(proposal, scaled, centres = centres)
      for (i in seq_along(orders)) {
        other <- z_hat(proposal, scaled,
          rows = orders[[i]], centres = centres, seed = i + 1
        )
        expect_lt(abs(compare_evidence(given, other)), same)
      }
    }
  }
})

test_that("nor on when particles are resampled or moved", {
  for (proposal in exact) for (scaled in c(FALSE, TRUE)) {
    seldom <- z_hat(proposal, scaled)
    always <- z_hat(proposal, scaled, resample_every_step = TRUE, seed = 2)
    moved <- z_hat(proposal, scaled, n_moves = 3, seed = 3)
    expect_lt(abs(compare_evidence(seldom, always)), same)
    expect_lt(abs(compare_evidence(seldom, moved)), same)
  }
})

test_that("nor on the proposal or the number of particles, in the mean", {
  for (scaled in c(FALSE, TRUE)) {
    adapted <- z_hat("adapted", scaled, n_moves = 3, seed = 3)
    blind <- z_hat("birth_death", scaled)
    few <- z_hat("birth_death", scaled,
      particles = 100, n_moves = 3, runs = 300, seed = 4
    )
    expect_lt(abs(compare_evidence(adapted, blind)), same)
    expect_lt(abs(compare_evidence(adapted, few)), same)
  }
})

test_that("Z is unbiased on the natural scale", {
  # Null: t with 399 degrees of freedom; |z| > 5.5 has probability 7e-8, and
  # there are 8 scores. Few particles, so that a biased Z would be visible: with
  # powers that depend on them, which is only consistent, it is 3% too low.
  for (form in list(
    list(scaled = FALSE, coef = ig(3, 2)), list(scaled = TRUE, coef = ig(3, 12))
  )) {
    for (centres in c("subset", "iid")) for (proposal in exact) {
      truth <- oracle_posterior(
        xs, ys, kern, 1.3, 5, centres, for_oracle(ig(3, 0.3)),
        for_oracle(form$coef),
        scaled = form$scaled
      )
      fit <- suppressWarnings(srvm(as.matrix(xs), ys,
        kernel = kernel_gaussian(0.9), scale = FALSE, seed = 4,
        prior = srvm_prior(1.3, 5, centres, ig(3, 0.3), form$coef, form$scaled),
        control = smc_control(60, 0, proposal,
          replicates = 400, cess_threshold = 0
        )
      ))
      ratio <- exp(evidence(fit)$replicates - truth$log_evidence)
      expect_lt(abs(mean(ratio) - 1) / stats::sd(ratio) * 20, 5.5)
    }
  }
})

# Limiting cases -------------------------------------------------------------

everything <- c(exact, "paper")

tiny <- function(x, y, proposal, particles = 20, n_moves = NULL, ...,
                 noise = ig(3, 0.3), coef = NULL, scaled = FALSE) {
  if (is.null(coef)) coef <- if (scaled) ig(3, 12) else ig(3, 2)
  suppressWarnings(srvm(as.matrix(x), y,
    kernel = kernel_gaussian(0.9), scale = FALSE, seed = 1,
    prior = srvm_prior(..., noise = noise, coef = coef, scaled = scaled),
    control = smc_control(particles, n_moves, proposal)
  ))
}

#' A defined answer: consistent numbers
expect_sane <- function(fit, kmax) {
  k <- model_size(fit)
  expect_true(is.finite(evidence(fit)$log_evidence))
  expect_equal(sum(k$probability), 1)
  expect_lte(max(k$k), kmax)
  expect_true(all(is.finite(fitted(fit))))
  expect_gt(sigma(fit), 0)
}

test_that("every proposal copes with few, many and no centres", {
  for (proposal in everything) for (scaled in c(FALSE, TRUE)) {
    for (centres in c("subset", "iid")) {
      fit <- function(kmax, lambda, x = xs, y = ys, ...) {
        out <- tiny(x, y, proposal,
          lambda = lambda, kmax = kmax, centres = centres, scaled = scaled, ...
        )
        expect_sane(out, min(kmax, length(unique(x))))
        out
      }
      # With and without moves in either form and either kind of centres.
      n_moves <- if (scaled == (centres == "iid")) 0 else 3
      fit(0, 1.3, n_moves = n_moves)
      fit(1, 1.3, n_moves = n_moves)
      fit(6, 1e-6, n_moves = n_moves)
      fit(100, 1e6, n_moves = n_moves)
      fit(5, 1.3, rep(0.3, 6), n_moves = n_moves)
      fit(5, 1.3, y = rep(2, 6), n_moves = n_moves)
      fit(5, 1.3, y = rep(0, 6), n_moves = n_moves)
      fit(5, 1.3, particles = 1, n_moves = n_moves)
      fit(5, 1.3, xs[1], ys[1], n_moves = n_moves)
    }
  }
})

test_that("without centres the evidence is known and has no variance", {
  noise <- fixed_variance(0.3)
  exact_z <- oracle_log_ml(ys, matrix(0, 6, 1), integer(), 0.3, 0.5)
  for (proposal in everything) {
    fit <- tiny(xs, ys, proposal,
      lambda = 10, kmax = 0, noise = noise, coef = fixed_variance(0.5)
    )
    expect_equal(evidence(fit)$log_evidence, exact_z, tolerance = 1e-12)
  }
  scaled_z <- oracle_log_ml_scaled(
    ys, matrix(0, 6, 1), integer(), list(shape = 3, scale = 0.3), 2
  )
  for (proposal in everything) {
    fit <- tiny(xs, ys, proposal,
      lambda = 10, kmax = 0, scaled = TRUE, coef = fixed_variance(2)
    )
    expect_equal(evidence(fit)$log_evidence, scaled_z, tolerance = 1e-12)
  }
})

test_that("sets fill up if every row is wanted", {
  # k = t at each step: the blind proposal gets there only by births.
  for (proposal in exact) {
    fit <- tiny(xs, ys, proposal, 200, lambda = 1e8, kmax = 6)
    expect_gt(sum(inclusion(fit)$probability), 5.9)
  }
})

# Settings and warnings ------------------------------------------------------

test_that("the papers' settings are resolved and shown", {
  printed <- smc_control(proposal = "paper")
  expect_identical(printed$n_moves, 0L)
  expect_true(printed$resample_every_step)
  expect_output(print(printed), "proposal: paper")
  expect_output(print(printed), "at every step")
  own <- smc_control(
    n_moves = 2, proposal = "paper", resample_every_step = FALSE
  )
  expect_identical(own$n_moves, 2L)
  expect_false(own$resample_every_step)
  for (proposal in exact) {
    control <- smc_control(proposal = proposal)
    expect_identical(control$n_moves, 10L)
    expect_false(control$resample_every_step)
    expect_output(print(control), paste("proposal:", proposal))
  }
})

test_that("the printed weights are used with a warning, once per fit", {
  fit <- function(proposal, n = 6) {
    srvm(as.matrix(xs[1:n]), ys[1:n],
      prior = srvm_prior(10),
      control = smc_control(20, proposal = proposal, ess_threshold = 1),
      seed = 1
    )
  }
  warned <- list()
  part <- withCallingHandlers(fit("paper", 4), warning = function(w) {
    warned <<- c(warned, list(w))
    invokeRestart("muffleWarning")
  })
  of_class <- vapply(warned, inherits, NA, "kb_warning_inexact")
  expect_identical(sum(of_class), 1L)
  text <- conditionMessage(warned[of_class][[1]])
  expect_match(text, "posterior")
  expect_match(text, "adapted")
  few_particles({
    expect_no_warning(
      update(part, newx = as.matrix(xs[5:6]), newy = ys[5:6])
    )
    expect_no_warning(fit("birth_death"))
  })
})

# The papers' prior ----------------------------------------------------------

test_that("srvm_prior_paper has the papers' values, with starts", {
  prior <- srvm_prior_paper()
  expect_s3_class(prior, "kb_srvm_prior")
  expect_identical(prior[c("lambda", "kmax", "centres", "scaled")],
    list(lambda = 1, kmax = 50L, centres = "iid", scaled = FALSE)
  )
  expect_output(print(prior), "improper ig(0, 0), start 0.1 var(y)",
    fixed = TRUE
  )
  expect_output(print(srvm_prior_paper(coef_start = 3)), "start 3")
  v <- stats::var(ys)
  resolved <- prior_resolve(prior, ys)
  expect_equal(resolved$noise$start, 0.1 * v)
  expect_equal(resolved$coef$start, v)
  for (bad in list(0, -1, NA, "a", c(1, 2), Inf)) {
    expect_error(srvm_prior_paper(noise_start = bad), "noise_start",
      class = "kb_error_argument"
    )
    expect_error(srvm_prior_paper(coef_start = bad), "coef_start",
      class = "kb_error_argument"
    )
  }
  # It has no other form, and other priors have no such parts.
  expect_error(srvm_prior(noise = prior$noise), class = "kb_error_argument")
  expect_error(ig(0, 0), class = "kb_error_argument")
  expect_error(
    suppressWarnings(srvm(as.matrix(xs), ys,
      prior = srvm_prior_paper(noise_start = 1e-12)
    )),
    "noise", class = "kb_error_argument"
  )
})

test_that("every proposal runs under the papers' prior, with a warning", {
  for (proposal in everything) for (intercept in c(TRUE, FALSE)) {
    fit <- function(n) {
      few_particles(srvm(as.matrix(xs[1:n]), ys[1:n],
        prior = srvm_prior_paper(), intercept = intercept, seed = 1,
        scale = FALSE, control = smc_control(30, proposal = proposal)
      ))
    }
    expect_warning(one <- fit(6), class = "kb_warning_improper")
    expect_sane(one, 6)
    # Before the first row all particles are equal.
    expect_warning(first <- fit(1), class = "kb_warning_improper")
    expect_identical(first$runs[[1]]$noise, rep(0.1, 30))
    expect_identical(first$runs[[1]]$coef, rep(1, 30))
    expect_no_warning(
      few_particles(update(first, newx = as.matrix(xs[2:3]), newy = ys[2:3]))
    )
    expect_warning(
      few_particles(srvm(as.matrix(xs), ys,
        reference = one, seed = 1, control = smc_control(30)
      )),
      class = "kb_warning_improper"
    )
  }
})

test_that("given coefficients the improper prior's variances are known", {
  # Null: sigma^2 given beta is IG(t/2, RSS/2) and tau^2 is IG(p/2, beta'beta/2)
  # within bounds that cut off nothing here; Kolmogorov-Smirnov of 20000 draws
  # each, 1e-4 over both.
  improper <- list(type = "ig", shape = 0, scale = 0, lower = 0, upper = Inf,
    start = 1)
  model <- model_of()
  config <- core_config(x_plain, y, model, smc_control())
  config[c("noise", "coef")] <- list(improper, improper)
  state <- list(set = c(0L, 3L), noise = 0.15, coef = 0.6)
  draws <- srvm_gibbs_cpp(
    config, as.matrix(x_plain), y, state, c("5", "0", "0"), 20000
  )
  phi <- oracle_design(model$K, c(1, 4))
  rss <- colSums((y - phi %*% draws[1:3, ])^2)
  p <- c(
    stats::ks.test(rss / draws[4, ], "pchisq", 7)$p.value,
    stats::ks.test(colSums(draws[1:3, ]^2) / draws[5, ], "pchisq", 3)$p.value
  )
  expect_gt(2 * min(p), 1e-4)
  # Nothing to learn from: the variance does not change.
  config$intercept <- FALSE
  still <- srvm_gibbs_cpp(
    config, as.matrix(x_plain), y,
    list(set = integer(), noise = 0.15, coef = 0.6), c("5", "0", "0"), 10
  )
  expect_identical(still[2, ], rep(0.6, 10))
})
