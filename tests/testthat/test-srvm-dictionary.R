# Dictionaries of kernels: the step of a row as a pure function, whole runs
# against enumeration of all sets of pairs, then properties that do not depend
# on chance.
#
# Seen to fail with the prior's step of another number of candidates, the weight
# of a row's second candidate left out, its sums those of the first, columns
# rebuilt with the first kernel, only the first candidate of a row leaving, and
# a swap of kernels that is more probable in one direction.

x_plain <- c(0.3, -1.7, 2.1, -0.4)
x_repeated <- c(0.3, -1.7, 0.3, 2.1)
ys <- c(1.05, 0.21, -0.32, 0.86)

# The step of a row ------------------------------------------------------------

cases <- expand.grid(
  h = 1:3, kmax = c(5, 2, 0), centres = c("subset", "iid"),
  repeated = c(FALSE, TRUE), scaled = c(FALSE, TRUE),
  stringsAsFactors = FALSE
)

#' A model of pairs with fixed variances
case_model <- function(case, lambda = 1.3, intercept = TRUE) {
  noise <- if (case$scaled) list(shape = 1.5, scale = 0.2) else 0.15
  x <- if (case$repeated) x_repeated else x_plain
  pair_model(x, ys, case$h, lambda, case$kmax, case$centres, noise, 0.6,
    intercept = intercept, scaled = case$scaled
  )
}

test_that("the weights of a row's pairs are exact for every set", {
  learned <- oracle_learned_lambda(1, 0.3)
  # A third of the cases contains all values of each setting.
  chosen <- seq_len(nrow(cases))
  if (!extended()) chosen <- chosen[chosen %% 7 %in% c(1, 4)]
  for (i in chosen) {
    case <- cases[i, ]
    x <- if (case$repeated) x_repeated else x_plain
    model <- case_model(case, if (i %% 2 == 0) learned else 1.3, i %% 3 > 0)
    config <- pair_config(x, ys, model)
    for (t in if (case$h == 3) 1:3 else 1:4) {
      sets <- enumerate_subsets(oracle_m(t - 1, model), case$kmax)
      worst <- vapply(sets, function(S) {
        pair_step(config, x, ys, S, t, model, 10, seed = i)
      }, numeric(4))
      label <- paste(c(unlist(case), t), collapse = " ")
      # The learned rate's p(k) comes from quadrature.
      expect_lt(max(worst[c("defect", "total"), ]), 1e-9, label = label)
      expect_lt(max(worst["drift", ]), 1e-10, label = label)
    }
  }
})

# Null: multinomial counts, with those expected below 5 merged; over all of them
# p < 1e-7 is rarer than 1e-5 even if chi-square is rough.
test_that("a row's pairs join with the probabilities of their weights", {
  for (h in 2:3) {
    model <- case_model(list(
      h = h, kmax = 4, centres = "subset", repeated = FALSE, scaled = FALSE
    ))
    config <- pair_config(x_plain, ys, model)
    for (S in list(integer(), 1, c(2, h + 1), 2 * h)) {
      p <- pair_step(config, x_plain, ys, S, 3, model, 3000)[["p"]]
      expect_gt(p, 1e-7)
    }
  }
})

test_that("the weights of leaving pairs are exact for every set", {
  memories <- list(
    srvm_memory(window = 3), srvm_memory(candidates = 2),
    srvm_memory(window = 2, forgetting = 0.8)
  )
  x <- c(x_repeated, 1.2, 0.3)
  y <- c(ys, 0.4, 0.9)
  for (i in seq_along(memories)) {
    for (n_moves in 0:1) for (kmax in c(5, 2)) for (t in 4:6) {
      scaled <- (i + n_moves) %% 2 == 1
      model <- pair_model(x, y, 2, 1.3, kmax, c("subset", "iid")[[1 + n_moves]],
        if (scaled) list(shape = 1.5, scale = 0.2) else 0.15, 0.6,
        scaled = scaled
      )
      worst <- pair_drop_defect(x, y, t, model, memories[[i]], n_moves)
      expect_lt(max(worst), 1e-10, label = paste(i, n_moves, kmax, t))
    }
  }
})

# Whole runs -------------------------------------------------------------------

# Null: the sampler is unbiased on the natural scale, so that each z-score is
# nearly t with 39 degrees of freedom: |z| > 6.5 has probability 1e-7, with
# fewer than 500 scores in this file. If the candidate rows depend on the seed,
# the scores are t with fewer degrees of freedom: there are few such runs.
limit <- 6.5

expect_pairs <- function(control, ..., x = x_plain, y = ys, h = 2) {
  z <- pairs_against_oracle(x, y, h, control, ...)
  expect_lt(max(abs(z)), limit)
}

control_of <- function(n_moves, particles = 500, ...) {
  smc_control(particles, n_moves = n_moves, ...)
}

test_that("runs with two kernels agree with enumeration of pairs", {
  expect_pairs(control_of(0))
  expect_pairs(control_of(4, resample_every_step = TRUE), x = x_repeated)
})

test_that("runs with three kernels agree, and with other priors", {
  skip_unless_extended()
  expect_pairs(control_of(4), h = 3)
  expect_pairs(control_of(4),
    scaled = TRUE, coef = ig(3, 12), centres = "iid"
  )
  expect_pairs(control_of(4), lambda = oracle_learned_lambda(1, 0.3))
  expect_pairs(control_of(0), noise = fixed_variance(0.1), coef = fixed_variance(0.5), kmax = 2)
})

test_that("runs of a window agree: the pairs of a row leave with it", {
  memory <- srvm_memory(window = 3)
  y <- c(ys, 0.4)
  expect_pairs(control_of(3), x = c(x_repeated, 1.2), y = y, memory = memory)
  skip_unless_extended()
  # Without moves means of 500 particles are not nearly normal (with 1200 runs of
  # them all scores are below 2.5).
  expect_pairs(control_of(0, 2000), x = c(x_repeated, 1.2), y = y, memory = memory)
  expect_pairs(control_of(3),
    x = c(x_plain, 1.2), y = y, memory = srvm_memory(2, 0.8)
  )
})

test_that("runs with few candidates agree, for any candidates", {
  skip_unless_extended()
  # Groups of runs with the same candidates, about 25 each.
  for (n_moves in c(0, 3)) {
    z <- pairs_against_oracle(x_plain[1:3], ys[1:3], 2, control_of(n_moves),
      memory = srvm_memory(candidates = 2), runs = 90
    )
    expect_lt(max(abs(z)), 9)
  }
})

test_that("runs with two classes agree", {
  at <- as.matrix(c(-1, 0.5))
  y <- c(1, -1, 1)
  x <- x_plain[1:3]
  exact <- with_pairs(probit_posterior, 2)(
    x, y, 1.3, 2, for_oracle(fixed_variance(0.8)), at,
    centre_rows = rep(1:3, each = 2), nodes = 12
  )
  truth <- unlist(exact[c("k", "p_0", "inclusion", "f", "square", "p")])
  for (n_moves in c(0, 3)) {
    fits <- lapply(1:40, function(r) {
      pair_fit(x, factor(y, c(-1, 1)), 2, srvm_prior(1.3, 2, coef = fixed_variance(0.8)),
        control_of(n_moves),
        seed = r
      )
    })
    z <- pair_scores(fits, exact$log_evidence, truth, function(fit) {
      pool <- srvm_pool(fit)
      k <- model_size(fit)
      moments <- srvm_moments(fit, at, pool)
      c(
        sum(k$k * k$probability), sum(k$probability[k$k == 0]),
        pair_inclusion(fit, 1:3), predict(fit, at, type = "link"),
        drop((moments$variance + moments$mean^2) %*% pool$weights),
        predict(fit, at, type = "prob")[, 2]
      )
    })
    expect_lt(max(abs(z)), limit)
  }
})

test_that("runs with Student's noise agree", {
  at <- as.matrix(c(-1, 0.5))
  x <- x_plain[1:3]
  y <- ys[1:3]
  value <- mean(y) + c(-0.3, 0.4)
  exact <- with_pairs(oracle_student, 2)(
    x, y, 5, for_oracle(fixed_variance(0.1)), 0.6, at, value,
    kmax = 2, candidates = rep(1:3, each = 2)
  )
  # k, none, the six pairs, and the rest.
  truth <- exact$answers
  for (n_moves in c(0, 3)) {
    fits <- lapply(1:40, function(r) {
      pair_fit(x, y, 2, srvm_prior(1.3, 2,
        noise = fixed_variance(0.1), coef = fixed_variance(0.6), df = 5
      ), control_of(n_moves), seed = r)
    })
    z <- pair_scores(fits, exact$log_evidence, truth, function(fit) {
      answers <- student_answers_of_fit(fit, at, value, integer())
      append(answers, pair_inclusion(fit, 1:3), 2)
    })
    expect_lt(max(abs(z)), limit)
  }
})

# Null: |z| > 5 has probability 6e-7 if the central limit theorem holds.
test_that("the batch sampler has the posterior of pairs", {
  exact <- oracle_posterior(
    x_plain, ys, pair_kern(2), 1.3, 3, "subset", for_oracle(ig(3, 0.3)),
    for_oracle(ig(3, 2)),
    centre_rows = rep(1:4, each = 2)
  )
  fit <- pair_fit(x_plain, ys, 2,
    srvm_prior(1.3, 3, noise = ig(3, 0.3), coef = ig(3, 2)),
    mcmc_control(chains = 4, warmup = 300, iter = 4000, n_moves = 5),
    method = "mcmc"
  )
  pool <- srvm_pool(fit)
  particle <- rep(seq_along(pool$k), pool$k)
  for (j in 1:8) {
    # Candidates of the pool are in the oracle's order.
    held <- matrix(0 + seq_along(pool$k) %in% particle[pool$sets == j], 4000)
    z <- (mean(held) - exact$inclusion[[j]]) / posterior::mcse_mean(held)
    expect_lt(abs(z), 5)
  }
  expect_equal(
    pair_inclusion(fit, 1:4),
    vapply(1:8, function(j) sum(pool$sets == j), 0) / 16000
  )
})

# Invariances -----------------------------------------------------------------

data <- sim_sinc(24, seed = 3)
wide_x <- as.matrix(data$x)[c(1:5, 5:1, 3, 3, 6:9, 7, 10, 1, 1), , drop = FALSE]
wide_y <- data$y[seq_len(nrow(wide_x))]
wide_dictionary <- kernel_dictionary(
  kernel_gaussian(0.2), kernel_gaussian("median"), kernel_linear()
)

wide_fit <- function(rows, control, y = wide_y, ...) {
  few_particles(srvm(wide_x[rows, , drop = FALSE], y[rows],
    control = control, seed = 5, ...
  ))
}

test_that("update() in any split, from files and with threads, is one fit", {
  n <- nrow(wide_x)
  classes <- factor(wide_y > 0.2)
  kinds <- list(
    list(), list(n_moves = 0), list(prior = srvm_prior(centres = "iid")),
    list(y = classes), list(prior = srvm_prior(df = 4)),
    list(memory = srvm_memory(window = 6)),
    list(memory = srvm_memory(window = 6), y = classes),
    list(memory = srvm_memory(candidates = 4), n_moves = 0),
    list(memory = srvm_memory(forgetting = 0.8, candidates = 3)),
    list(memory = srvm_memory(candidates = 4), prior = srvm_prior(df = 4))
  )
  for (kind in kinds) {
    y <- if (is.null(kind$y)) wide_y else kind$y
    control <- function(...) {
      smc_control(30, n_moves = if (is.null(kind$n_moves)) 3 else 0, ...)
    }
    model <- list(kernel = wide_dictionary)
    model[c("prior", "memory")] <- kind[c("prior", "memory")]
    model <- Filter(Negate(is.null), model)
    all <- do.call(wide_fit, c(list(seq_len(n), control(), y), model))
    for (ends in list(c(1, 7, 13, n), seq_len(n))) {
      part <- wide_fit(seq_len(ends[[1]]), control(), y, reference = all)
      for (i in seq_along(ends)[-1]) {
        rows <- (ends[[i - 1]] + 1):ends[[i]]
        part <- unserialize(serialize(part, NULL))
        part <- few_particles(update(part,
          newx = wide_x[rows, , drop = FALSE], newy = y[rows]
        ))
      }
      expect_same_fit(part, all)
    }
    two <- wide_fit(seq_len(n), control(threads = 2), y, reference = all)
    expect_same_fit(two, all)
  }
})

test_that("a dictionary of one kernel is that kernel, bit by bit", {
  one <- kernel_gaussian(0.3)
  fits <- function(kernel, ...) {
    wide_fit(1:20, smc_control(40, ...), kernel = kernel)$runs
  }
  drop_time <- function(runs) {
    lapply(runs, function(run) {
      run[setdiff(names(run), c("seconds", "shared_seconds"))]
    })
  }
  for (n_moves in c(0, 3)) {
    expect_identical(
      drop_time(fits(kernel_dictionary(one), n_moves = n_moves)),
      drop_time(fits(one, n_moves = n_moves))
    )
  }
  batch <- function(kernel) {
    few_particles(srvm(wide_x, wide_y,
      kernel = kernel, method = "mcmc", seed = 2,
      control = mcmc_control(1, warmup = 20, iter = 50)
    ))
  }
  expect_identical(
    drop_time(batch(kernel_dictionary(one))$runs),
    drop_time(batch(one)$runs)
  )
})

test_that("a continued batch is one run", {
  batch <- function(iter) {
    srvm(wide_x, wide_y,
      kernel = wide_dictionary, method = "mcmc", seed = 2,
      control = mcmc_control(2, warmup = 20, iter = iter)
    )
  }
  few_particles({
    all <- batch(60)
    expect_same_fit(update(batch(25), iter = 35), all)
  })
  expect_equal(sum(kernel_posterior(all)$share), 1)
})

test_that("sums on demand equal those of all pairs", {
  # Few moves do not justify the Gram matrix of all candidates.
  data <- sim_sinc(150, seed = 1)
  fit <- function(iter) {
    suppressWarnings(srvm(as.matrix(data$x), data$y,
      kernel = wide_dictionary, method = "mcmc", seed = 3,
      control = mcmc_control(1, warmup = 0, iter = iter, n_moves = 2)
    ), "kb_warning")
  }
  short <- fit(60)
  long <- fit(2000)
  n <- length(short$runs[[1]]$k)
  expect_identical(long$runs[[1]]$k[seq_len(n)], short$runs[[1]]$k)
  expect_equal(
    long$runs[[1]]$noise[seq_len(n)], short$runs[[1]]$noise,
    tolerance = 1e-6
  )
})

# Results ----------------------------------------------------------------------

test_that("predictions agree with dense algebra", {
  prior <- srvm_prior(3, noise = fixed_variance(0.05), coef = fixed_variance(0.7))
  fit <- pair_fit(x_repeated, ys, 3, prior, smc_control(30, n_moves = 5))
  expect_identical(n_candidates(fit$runs[[1]]), 9L)
  pool <- srvm_pool(fit)
  new <- as.matrix(c(-0.7, 0, 1.1))
  points <- as.matrix(rep(x_repeated[c(1, 2, 4)], each = 3))
  K <- pair_kern(3)(x_repeated, points)
  K_new <- pair_kern(3)(new, points)
  first <- cumsum(c(0, pool$k))
  moments <- vapply(seq_along(pool$k), function(i) {
    S <- pool$sets[first[[i]] + seq_len(pool$k[[i]])]
    phi <- oracle_design(K, S)
    phi_new <- oracle_design(K_new, S)
    A <- crossprod(phi) / 0.05 + diag(1 / 0.7, ncol(phi))
    c(
      phi_new %*% solve(A, crossprod(phi, ys) / 0.05),
      rowSums(phi_new * t(solve(A, t(phi_new))))
    )
  }, numeric(6))
  expect_gt(max(pool$k), 2)
  own <- srvm_moments(fit, new, pool)
  expect_equal(own$mean, moments[1:3, ], tolerance = 1e-10)
  expect_equal(own$variance, moments[4:6, ], tolerance = 1e-10)
  expect_equal(predict(fit, new), drop(moments[1:3, ] %*% pool$weights))
  beta <- coef(fit)
  named <- names(beta)[-1]
  candidate <- as.integer(sub(":.*", "", named)) +
    3 * (match(as.integer(sub(".*:", "", named)), c(1, 2, 4)) - 1)
  expect_equal(
    unname(beta[[1]] + drop(K_new[, candidate] %*% beta[-1])),
    predict(fit, new)
  )
  draws <- predict(fit, new, type = "draws", ndraws = 4000)
  expect_equal(dim(draws), c(4000, 3))
})

test_that("shares, inclusions and numbers of centres are consistent", {
  fit <- wide_fit(1:20, smc_control(60, n_moves = 3), kernel = wide_dictionary)
  table <- kernel_posterior(fit)
  expect_named(table, c(
    "kernel", "bandwidth", "centres", "centres_sd", "probability", "share",
    "share_sd"
  ))
  expect_equal(nrow(table), 3)
  expect_equal(sum(table$share), 1)
  k <- model_size(fit)
  expect_equal(sum(table$centres), sum(k$k * k$probability))
  used <- inclusion(fit)
  expect_named(used, c("row", "probability", paste0("kernel", 1:3), "change"))
  expect_equal(unname(colSums(used[3:5])), table$centres)
  expect_true(all(used$probability <= rowSums(used[3:5]) + 1e-12))
  expect_true(all(used$probability >= do.call(pmax, used[3:5]) - 1e-12))
  draws <- as_draws(fit, weighted = TRUE)
  expect_true(all(paste0("k_kernel[", 1:3, "]") %in%
    posterior::variables(draws)))
  by_hand <- srvm_parameters(fit, srvm_pool(fit))
  expect_equal(
    rowSums(by_hand[paste0("k_kernel[", 1:3, "]")]), by_hand$k,
    ignore_attr = TRUE
  )
  # No centre at all.
  none <- wide_fit(1:5, smc_control(10),
    kernel = wide_dictionary, prior = srvm_prior(kmax = 0)
  )
  expect_true(all(is.na(kernel_posterior(none)$share)))
  expect_identical(kernel_posterior(none)$centres, c(0, 0, 0))
  expect_output(print(none), "dictionary of 3")
})

test_that("fits with a dictionary are printed as such", {
  fit <- wide_fit(1:20, smc_control(60, n_moves = 1), kernel = wide_dictionary)
  expect_output(print(fit), "dictionary of 3, by share of centres")
  expect_output(print(fit), "20 (10 distinct)", fixed = TRUE)
  expect_output(print(summary(fit)), "share_sd")
  grDevices::pdf(NULL)
  withr::defer(grDevices::dev.off())
  types <- c("fit", "ess", "k", "evidence", "centres", "kernels", "trace")
  for (type in types) {
    expect_no_error(plot(fit, type = type))
  }
  expect_error(plot(fit, type = "kernel_path"), class = "kb_error_not_defined")
  expect_error(
    kernel_posterior(fit, by_row = TRUE),
    class = "kb_error_not_defined"
  )
  batch <- few_particles(srvm(wide_x, wide_y,
    kernel = wide_dictionary, method = "mcmc", seed = 2,
    control = mcmc_control(1, warmup = 20, iter = 50)
  ))
  expect_output(print(batch), "dictionary of 3")
  expect_no_error(plot(batch, type = "kernels"))
  expect_error(plot(batch, type = "ess"), class = "kb_error_not_defined")
})

# The constructor and refused input -------------------------------------------

test_that("a dictionary is a value that prints", {
  some <- kernel_dictionary(a = kernel_gaussian(0.5), kernel_linear())
  expect_s3_class(some, "kb_kernel_dictionary")
  expect_false(inherits(some, "kb_kernel"))
  expect_output(print(some), "Dictionary of 2 kernels")
  expect_output(print(some), "kernel_gaussian(bandwidth = 0.5)", fixed = TRUE)
  expect_match(format(some), "kernel_dictionary(", fixed = TRUE)
})

test_that("bandwidths of a dictionary are found with the data", {
  bandwidths <- function(...) {
    fit <- wide_fit(1:20, smc_control(10), kernel = kernel_dictionary(...))
    vapply(fit$settings$kernel$parts, function(k) k$bandwidth, 0)
  }
  learned <- bandwidths(kernel_gaussian("learn"))
  expect_length(learned, 5)
  # "median" is one of the five.
  expect_identical(
    bandwidths(kernel_gaussian("median"), kernel_gaussian("learn")),
    unique(c(learned[[4]], learned))
  )
})

test_that("invalid dictionaries, and invalid uses of one, are refused", {
  expect_bad <- function(expr, what = "kb_error_argument") {
    expect_error(expr, class = what)
  }
  expect_bad(kernel_dictionary())
  expect_bad(kernel_dictionary(kernel_linear(), 2))
  expect_bad(kernel_dictionary(list(kernel_linear())))
  expect_bad(kernel_dictionary(kernel_linear(), kernel_linear()))
  expect_bad(kernel_dictionary(pair_dictionary(2)))
  expect_bad(pair_dictionary(2) + kernel_linear(), "kb_error_operator")
  expect_bad(2 * pair_dictionary(2), "kb_error_operator")
  expect_bad(kernel_linear() + pair_dictionary(2), "kb_error_operator")
  expect_bad(kernel_matrix(pair_dictionary(2), wide_x))
  expect_bad(kgs(wide_x, factor(wide_y > 0), kernel = pair_dictionary(2)))
  fit <- function(kernel, ...) wide_fit(1:20, kernel = kernel, ...)
  control <- smc_control(10)
  expect_bad(fit(list(pair_dictionary(2), kernel_linear()), control))
  expect_bad(fit(
    kernel_dictionary(kernel_custom(function(x, y) x %*% t(y))), control
  ))
  expect_bad(fit(
    kernel_dictionary(kernel_gaussian(1), kernel_gaussian(c(1, 2))), control
  ), "kb_error")
  expect_bad(fit(pair_dictionary(2), control,
    prior = srvm_prior(kernels = c(1, 2))
  ))
  for (proposal in c("birth_death", "paper")) {
    other <- smc_control(10, proposal = proposal)
    expect_bad(
      fit(pair_dictionary(2), other, prior = srvm_prior(2)),
      "kb_error_not_defined"
    )
  }
})
