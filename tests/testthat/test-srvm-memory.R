# Bounded memory: weights of leaving data as pure functions, then whole runs
# against quadrature given the rows that count, then properties that do not
# depend on chance.

x <- c(0.3, -1.7, 2.1, -0.4, 1.2, 0.8, -1.1, 0.5)
x_repeated <- c(0.3, -1.7, 0.3, 2.1, -0.4, 0.3, -1.7, 1.2)
y <- c(1.05, 0.21, -0.32, 0.86, 0.55, 0.71, 0.1, 0.9)

memories <- list(
  window = srvm_memory(window = 4), one = srvm_memory(window = 1),
  two = srvm_memory(window = 2), forgetting = srvm_memory(forgetting = 0.7),
  both = srvm_memory(window = 4, forgetting = 0.8),
  short = srvm_memory(window = 1, forgetting = 0.7),
  sample = srvm_memory(candidates = 3),
  thinned = srvm_memory(window = 5, candidates = 2),
  all = srvm_memory(window = 5, forgetting = 0.9, candidates = 2),
  long = srvm_memory(window = 20)
)

# Weights ----------------------------------------------------------------------

test_that("the weights of leaving data are exact for every set", {
  cases <- expand.grid(
    memory = names(memories), kmax = c(5, 2, 0), centres = c("subset", "iid"),
    stringsAsFactors = FALSE
  )
  for (i in seq_len(nrow(cases))) {
    case <- cases[i, ]
    odd <- i %% 2 == 1
    # Half of the cases have each of: the scaled form, no shared Gram matrix,
    # repeated points, an intercept and a shift.
    scaled <- i %% 4 > 1
    at <- if (i %% 3 == 0) x_repeated else x
    noise <- if (scaled) list(shape = 1.5, scale = 0.2) else 0.15
    for (t in c(2, 5, 6, 8)) {
      # With and without moves at every step and for every memory.
      n_moves <- (i %/% length(memories) + t) %% 2
      model <- oracle_model(at, y, kern, 1.3, case$kmax, case$centres, noise,
        0.6,
        intercept = odd, scaled = scaled
      )
      worst <- drop_defect(at, y, t, model, memories[[case$memory]], n_moves,
        shift = if (odd) 0.7 else 0, seed = i
      )
      label <- paste(c(unlist(case), t, n_moves), collapse = " ")
      expect_lt(worst[["defect"]], 1e-10, label = label)
      expect_lt(worst[["drift"]], 1e-10, label = label)
    }
  }
})

test_that("a repeated point leaves with its last copy", {
  # Row 1 leaves the window of 4 before row 5 comes; rows 3 and 6 repeat it.
  config <- stream_config(
    x_repeated, y, oracle_model(x_repeated, y, kern, 1.3, 5, sigma2 = 0.15,
      tau2 = 0.6
    ), srvm_memory(window = 4), 1
  )
  at <- function(t) {
    srvm_drop_cpp(
      config, as.matrix(x_repeated), y, t, integer(), 0.15, 0.6, numeric()
    )
  }
  expect_setequal(x_repeated[at(5)$before], c(0.3, -1.7, 2.1))
  expect_setequal(x_repeated[at(5)$after], c(0.3, -1.7, 2.1))
  expect_true(all(at(5)$after %in% 2:4))
  expect_setequal(x_repeated[at(6)$before], c(0.3, -1.7, 2.1, -0.4))
  expect_setequal(x_repeated[at(6)$after], c(0.3, 2.1, -0.4))
  expect_setequal(x_repeated[at(8)$after], c(0.3, -0.4, -1.7))
})

# Whole runs -------------------------------------------------------------------

# Null: unbiased estimates, each z-score nearly t with 39 degrees of freedom:
# |z| > 6.5 has probability 1.0e-7; fewer than 500 scores in this file.
expect_stream <- function(memory, control, ..., at = x) {
  z <- stream_against_oracle(at, y, control, memory, ...)
  expect_lt(max(abs(z)), 6.5)
}

control_of <- function(n_moves, ...) smc_control(400, n_moves = n_moves, ...)

test_that("runs in a window agree with quadrature given its rows", {
  expect_stream(memories$window, control_of(0))
  expect_stream(memories$window, control_of(4, resample_every_step = TRUE))
  expect_stream(memories$window, control_of(4), at = x_repeated)
  expect_stream(memories$window, control_of(0),
    at = x_repeated, intercept = FALSE, centres = "iid", kmax = 2
  )
  expect_stream(memories$window, control_of(4),
    scaled = TRUE, coef = ig(3, 12)
  )
  expect_stream(memories$window, control_of(0, sweep_every = 3))
})

test_that("runs in windows of one and two rows agree", {
  expect_stream(memories$one, control_of(0))
  expect_stream(memories$two, control_of(4))
})

test_that("runs in a window agree under a learned rate and known variances", {
  expect_stream(memories$window, control_of(4),
    lambda = oracle_learned_lambda(1, 0.3)
  )
  expect_stream(memories$window, control_of(4),
    noise = fixed_variance(0.1), coef = fixed_variance(0.5)
  )
})

test_that("runs that forget agree with powers of the likelihood", {
  memory <- memories$forgetting
  expect_stream(memory, control_of(0), noise = fixed_variance(0.1), coef = fixed_variance(0.5))
  expect_stream(memory, control_of(4))
  expect_stream(memory, control_of(0), at = x_repeated, centres = "iid")
  expect_stream(memory, control_of(4), scaled = TRUE, coef = ig(3, 12))
  expect_stream(memories$both, control_of(4))
})

test_that("runs with few candidates agree, for any candidates", {
  expect_stream(memories$sample, control_of(0))
  expect_stream(memories$sample, control_of(4), at = x_repeated)
  expect_stream(memories$thinned, control_of(0))
  expect_stream(memories$all, control_of(4), scaled = TRUE, coef = ig(3, 12))
})

# Which rows are candidates ----------------------------------------------------

fit_stream <- function(memory, n = 200, seed = 1, particles = 20, n_moves = 0,
                       ...) {
  data <- sim_sinc(n, seed = 2)
  few_particles(srvm(as.matrix(data$x), data$y,
    kernel = kernel_gaussian(0.3), memory = memory, seed = seed,
    control = smc_control(particles, n_moves = n_moves, ...)
  ))
}

test_that("candidates are rows in the window, or a sample of all rows", {
  rows <- candidates_of_fit(fit_stream(srvm_memory(window = 30)))
  expect_identical(rows, 171:200)
  rows <- candidates_of_fit(
    fit_stream(srvm_memory(window = 30, candidates = 10))
  )
  expect_true(all(rows %in% 171:200))
  # One of every three rows.
  expect_true(all(tabulate((rows - 1) %/% 3 + 1) <= 1))
  sampled <- lapply(1:60, function(seed) {
    candidates_of_fit(
      fit_stream(srvm_memory(candidates = 8), 40, seed, particles = 2)
    )
  })
  expect_true(all(lengths(sampled) == 8))
  # Null: every row is in a sample with probability 1/5. By Hoeffding for
  # samples without replacement the share of the first half, 240 of 480 on
  # average, is off by 60 or more with probability below 2 exp(-2 60^2 / 480).
  expect_lt(abs(sum(unlist(sampled) <= 20) - 240), 60)
  # All rows occur: 40 x (4/5)^60 = 6e-5.
  expect_setequal(unlist(sampled), 1:40)
})

test_that("the candidates depend only on the seed", {
  memory <- srvm_memory(candidates = 6)
  a <- candidates_of_fit(fit_stream(memory, 60))
  b <- candidates_of_fit(fit_stream(memory, 60, particles = 50, n_moves = 3))
  expect_identical(a, b)
  expect_false(identical(a, candidates_of_fit(fit_stream(memory, 60, 2))))
  fit <- fit_stream(memory, 60, replicates = 3)
  rows <- lapply(fit$runs, `[[`, "candidate_rows")
  expect_identical(rows[[2]], rows[[1]])
  expect_identical(rows[[3]], rows[[1]])
})

# Invariances ------------------------------------------------------------------

test_that("bounds that are never reached change nothing", {
  free <- fit_stream(srvm_memory(), 40, n_moves = 2)
  for (memory in list(
    srvm_memory(window = 40), srvm_memory(window = 1000),
    srvm_memory(candidates = 40)
  )) {
    fit <- fit_stream(memory, 40, n_moves = 2)
    expect_identical(evidence(fit)$log_evidence, evidence(free)$log_evidence)
    expect_identical(predict(fit), predict(free))
  }
})

test_that("rows whose weight is below rounding make no difference", {
  data <- sim_sinc(40, seed = 2)
  fit <- function(memory, kmax, ...) {
    few_particles(srvm(as.matrix(data$x), data$y,
      kernel = kernel_gaussian(0.3), scale = FALSE, seed = 1, memory = memory,
      prior = srvm_prior(3, kmax, noise = fixed_variance(1), coef = fixed_variance(1)),
      control = smc_control(20, n_moves = 2)
    ))
  }
  # 0.05^13 is below 1e-16.
  short <- srvm_memory(forgetting = 0.05)
  same <- fit(srvm_memory(window = 13, forgetting = 0.05), 5)
  expect_identical(predict(fit(short, 5)), predict(same))
  expect_identical(candidates_of_fit(same), 28:40)
  w <- 0.05^(39:0)
  known <- predict(fit(short, 0), c(-1, 2))
  expect_equal(known, rep(sum(w * data$y) / (sum(w) + 1), 2), tolerance = 1e-12)
})

# update() ---------------------------------------------------------------------

# Values with one decimal: points leave and return.
stream_x <- withr::with_seed(1, as.matrix(round(stats::runif(60, -3, 3), 1)))
stream_y <- sin(stream_x[, 1]) +
  withr::with_seed(2, stats::rnorm(60, 0, 0.3))

#' A fit in blocks, from a file each time, and one with two threads, equal the
#' one-shot fit
expect_same_stream <- function(y, memory, control, ...,
                               ends = c(1, 7, 8, 30, 44, 45, 59, 60)) {
  fit <- function(rows, control, ...) {
    few_particles(srvm(stream_x[rows, , drop = FALSE], y[rows],
      control = control, seed = 3, ...
    ))
  }
  all <- fit(1:60, control,
    memory = memory, kernel = kernel_gaussian(0.7), ...
  )
  part <- fit(1, control, reference = all)
  for (i in seq_along(ends)[-1]) {
    rows <- (ends[[i - 1]] + 1):ends[[i]]
    part <- unserialize(serialize(part, NULL))
    part <- few_particles(
      update(part, newx = stream_x[rows, , drop = FALSE], newy = y[rows])
    )
  }
  expect_same_fit(part, all)
  two <- control
  two$threads <- 2L
  expect_same_fit(fit(1:60, two, reference = all), all)
}

test_that("update() in any split equals one fit", {
  memories <- c(memories, list(
    few = srvm_memory(window = 12, candidates = 1),
    last = srvm_memory(candidates = 1), wide = srvm_memory(window = 10),
    slow = srvm_memory(forgetting = 0.95)
  ))
  without <- smc_control(30, n_moves = 0, sweep_every = 2)
  with <- smc_control(30, n_moves = 3)
  scaled <- srvm_prior(scaled = TRUE)
  for (memory in memories) {
    expect_same_stream(stream_y, memory, without)
    expect_same_stream(stream_y, memory, with, prior = scaled)
  }
  # Row by row, when most data leave.
  for (memory in memories[c("both", "all", "few")]) {
    expect_same_stream(stream_y, memory, without, ends = 1:60)
    expect_same_stream(stream_y, memory, with, prior = scaled, ends = 1:60)
  }
})

test_that("a pool whose last number is free is restored", {
  # The only candidate has left, and none has replaced it.
  memory <- srvm_memory(window = 6, candidates = 1)
  control <- smc_control(10, n_moves = 2)
  data <- sim_sinc(60, seed = 2)
  x <- as.matrix(data$x)
  all <- fit_stream(memory, 60, n_moves = 2, particles = 10)
  empty <- 0
  for (end in seq(10, 59, by = 3)) {
    part <- few_particles(srvm(
      x[1:end, , drop = FALSE], data$y[1:end],
      control = control, reference = all, seed = 1
    ))
    empty <- empty + (length(candidates_of_fit(part)) == 0)
    part <- few_particles(update(part,
      newx = x[(end + 1):60, , drop = FALSE], newy = data$y[(end + 1):60]
    ))
    expect_same_fit(part, all)
  }
  expect_gt(empty, 0)
})

test_that("rejuvenated fits of a window continue", {
  # Null as above.
  z <- vapply(1:40, function(r) {
    start <- few_particles(srvm(as.matrix(x[1:6]), y[1:6],
      kernel = kernel_gaussian(0.9), scale = FALSE, memory = memories$window,
      prior = srvm_prior(1.3, 5, noise = ig(3, 0.3), coef = ig(3, 2)),
      control = smc_control(400, n_moves = 2), seed = r
    ))
    fit <- few_particles(update(start,
      newx = as.matrix(x[7:8]), newy = y[7:8], n_moves = 4, particles = 800
    ))
    c(evidence(fit)$log_evidence, predict(fit, -1))
  }, numeric(2))
  exact <- oracle_posterior(
    x[5:8], y[5:8], kern, 1.3, 5, "subset", list(shape = 3, scale = 0.3),
    list(shape = 3, scale = 2)
  )
  ratio <- exp(z[1, ] - exact$log_evidence)
  off <- rbind(ratio - 1, ratio * (z[2, ] - oracle_predict(exact, -1)$mean))
  se <- apply(off, 1, stats::sd) / sqrt(40)
  expect_lt(max(abs(rowMeans(off) / se)), 6.5)
})

# Prequential scores -----------------------------------------------------------

test_that("prequential scores are per row, runs weighted by their evidence", {
  fit <- fit_stream(srvm_memory(), 30, particles = 60)
  score <- prequential(fit)
  expect_named(score, c("row", "log_predictive", "cumulative"))
  expect_identical(score$row, 1:30)
  expect_identical(
    score$cumulative, Reduce(`+`, score$log_predictive, accumulate = TRUE)
  )
  data <- sim_sinc(30, seed = 2)
  fit <- few_particles(srvm(y ~ x, data,
    kernel = list(kernel_gaussian(0.2), kernel_gaussian(0.5)), order = "random",
    control = smc_control(40, replicates = 2), seed = 1
  ))
  score <- prequential(fit)
  expect_setequal(score$row, 1:30)
  runs <- lapply(fit$runs, `[[`, "path")
  each <- vapply(runs, `[[`, numeric(30), "log_predictive")
  z <- vapply(runs, function(run) {
    c(0, cumsum(run$log_increment)[-30])
  }, each[, 1])
  w <- exp(z - apply(z, 1, max))
  units <- log(fit$settings$scaling$y_scale)
  expect_equal(
    score$log_predictive, log(rowSums(w * exp(each)) / rowSums(w)) - units
  )
  expect_error(prequential(1), class = "kb_error_not_defined")
})

#' A fit with one set, so there is no Monte Carlo error
known_fit <- function(memory, y, noise = 0.1, coef = 0.5, scale = FALSE) {
  srvm(as.matrix(x), y,
    kernel = kernel_gaussian(0.9), scale = scale, memory = memory,
    prior = srvm_prior(1, 0, noise = fixed_variance(noise), coef = fixed_variance(coef)),
    control = smc_control(2, n_moves = 0), seed = 1
  )
}

exact_window <- function(y) {
  weighted_log_ml(y, matrix(1, length(y)), rep(1, length(y)), 0.1, 0.5)
}

test_that("scores in a window are given its other rows", {
  exact <- function(y, w, noise = 0.1, coef = 0.5) {
    now <- w > 0
    past <- now & seq_along(w) < max(which(now))
    ml <- function(rows) {
      weighted_log_ml(y[rows], matrix(1, sum(rows)), w[rows], noise, coef)
    }
    ml(now) - if (any(past)) ml(past) else 0
  }
  for (window in c(1, 2, 4, 8)) for (forgetting in c(1, 0.7)) {
    memory <- srvm_memory(window, forgetting)
    fit <- known_fit(memory, y)
    truth <- vapply(1:8, function(t) {
      age <- t - 1:8
      exact(y, ifelse(age >= 0 & age < window, forgetting^age, 0))
    }, 0)
    expect_equal(prequential(fit)$log_predictive, truth, tolerance = 1e-10)
    if (forgetting < 1) next
    rows <- last_rows(8, window)
    expect_equal(
      evidence(fit)$log_evidence, exact_window(y[rows]),
      tolerance = 1e-10
    )
    # In units of the response.
    scaled <- known_fit(memory, 100 * y + 3, scale = TRUE)
    own <- (y - mean(y)) / stats::sd(y)
    expect_equal(
      evidence(scaled)$log_evidence,
      exact_window(own[rows]) - length(rows) * log(100 * stats::sd(y)),
      tolerance = 1e-10
    )
  }
})

test_that("evidence before and after each row of a window is unbiased", {
  # Null as above: 2 x 8 scores.
  log_z <- function(rows) {
    oracle_posterior(x[rows], y[rows], kern, 1.3, 5, "subset",
      list(fixed = 0.1), list(fixed = 0.5)
    )$log_evidence
  }
  after <- vapply(1:8, function(t) log_z(last_rows(t, 4)), 0)
  before <- c(0, vapply(2:8, function(t) {
    log_z(setdiff(last_rows(t, 4), t))
  }, 0))
  ratios <- vapply(1:40, function(r) {
    fit <- few_particles(srvm(as.matrix(x), y,
      kernel = kernel_gaussian(0.9), scale = FALSE, memory = memories$window,
      prior = srvm_prior(1.3, 5, noise = fixed_variance(0.1), coef = fixed_variance(0.5)),
      control = smc_control(150, n_moves = 2, replicates = 2), seed = r
    ))
    lost <- vapply(fit$runs, function(run) {
      c(0, cumsum(run$path$log_increment)[-8]) + run$path$log_lost
    }, numeric(8))
    c(
      exp(evidence(fit)$path$log_evidence - after),
      rowMeans(exp(lost - before))
    )
  }, numeric(16))
  se <- pmax(apply(ratios, 1, stats::sd) / sqrt(40), 1e-13)
  expect_lt(max(abs(mc_z(rowMeans(ratios), se, 1))), 6.5)
})

test_that("scores keep their digits next to a huge log evidence", {
  near <- known_fit(srvm_memory(window = 2), y)
  far <- srvm(as.matrix(x), y + c(0, 0, 1e6, 0, 0, 0, 0, 0),
    reference = near, control = near$control, seed = 1
  )
  expect_equal(
    utils::tail(prequential(far)$log_predictive, 3),
    utils::tail(prequential(near)$log_predictive, 3),
    tolerance = 1e-8
  )
})

# Refused input and printing ---------------------------------------------------

test_that("bad bounds are refused", {
  expect_bad <- function(expr, what = "kb_error_argument") {
    expect_error(expr, class = what)
  }
  for (bad in list(0, -1, 1.5, NA, "a", c(1, 2), NULL)) {
    expect_bad(srvm_memory(window = bad))
    expect_bad(srvm_memory(candidates = bad))
  }
  for (bad in list(0, 1.1, -0.1, NA, "a")) {
    expect_bad(srvm_memory(forgetting = bad))
  }
  expect_identical(srvm_memory(5), srvm_memory(window = 5))
  fit <- function(memory, ...) {
    srvm(stream_x, stream_y, memory = memory, seed = 1, ...)
  }
  expect_bad(fit(list(window = 3)))
  for (memory in memories[c("window", "forgetting", "sample")]) {
    expect_bad(fit(memory, method = "mcmc"))
    for (proposal in c("birth_death", "paper")) {
      expect_bad(fit(memory,
        kernel = kernel_gaussian(1), prior = srvm_prior(2),
        control = smc_control(20, proposal = proposal)
      ))
    }
  }
  known <- fit_stream(srvm_memory(window = 5), 10)
  expect_bad(srvm(stream_x, stream_y,
    memory = srvm_memory(window = 5), reference = known
  ))
  expect_error(smc_control(sweep_every = 0), class = "kb_error_argument")
  expect_error(smc_control(sweep_every = 1.5), class = "kb_error_argument")
})

with_null_device <- function(expr) {
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  force(expr)
}

test_that("a memory, and fits with one, print as such", {
  expect_output(print(srvm_memory()), "all rows")
  expect_output(
    print(srvm_memory(9, 0.9, 3)),
    "the last 9 rows, forgetting 0.9, up to 3 candidates"
  )
  fit <- fit_stream(srvm_memory(window = 12), 30)
  expect_output(print(fit), "memory: +the last 12 rows")
  expect_output(print(fit), "30 (12 candidates)", fixed = TRUE)
  expect_output(print(summary(fit)), "memory")
  expect_length(fitted(fit), 30)
  expect_true(all(inclusion(fit)$probability[1:18] == 0))
  expect_equal(sum(srvm_prior_k(fit)$probability), 1)
  for (type in c("fit", "ess", "k", "evidence", "centres", "trace")) {
    expect_no_error(with_null_device(plot(fit, type = type)))
  }
  forgets <- fit_stream(srvm_memory(forgetting = 0.9), 30)
  expect_output(print(forgets), "log evidence: none: rows are forgotten")
  expect_match(evidence(forgets)$note, "no evidence")
  expect_true(all(is.finite(prequential(forgets)$log_predictive)))
})

# Scores are densities for any prior of the next row's set; the evidence's ratio
# is not. Null: an average over particles is exact given them, so that both
# integrals are 1 up to the quadrature.
test_that("prequential scores come from normalised densities", {
  memories <- list(srvm_memory(), srvm_memory(4), srvm_memory(forgetting = 0.8))
  for (memory in memories) {
    fit_with <- function(last) {
      few_particles(srvm(as.matrix(x), c(y[1:7], last),
        kernel = kernel_gaussian(0.9), scale = FALSE, memory = memory,
        intercept = FALSE, control = smc_control(40, n_moves = 1), seed = 1,
        prior = srvm_prior(3, 5, noise = fixed_variance(0.1), coef = fixed_variance(0.5))
      ))
    }
    density <- function(last) {
      vapply(last, function(v) {
        exp(prequential(fit_with(v))$log_predictive[[8]])
      }, 0)
    }
    # No component of the mixture has a standard deviation below 0.3: for steps
    # of 0.2 the trapezoid rule is exact up to exp(-49).
    at <- seq(-6, 6, by = 0.2)
    expect_equal(sum(density(at)) * 0.2, 1, tolerance = 1e-6)
  }
})

# Huge values leave no trace ---------------------------------------------------

#' A fit of the first six rows, which freeze the settings, then of the others
go_on <- function(x, y, ...) {
  x <- as.matrix(x)
  few_particles({
    start <- srvm(x[1:6, , drop = FALSE], y[1:6],
      scale = FALSE, intercept = FALSE, seed = 1, ...
    )
    update(start, newx = x[-(1:6), , drop = FALSE], newy = y[-(1:6)])
  })
}

# Seen to fail if the sums are never recomputed.
test_that("sums forget an outlier of 1e8 once it has left the window", {
  at <- c(stream_x[1:24, 1])
  y <- stream_y[1:24]
  # A point that is always present: other candidates do not live long enough.
  at[seq(2, 24, by = 4)] <- 0.7
  at[[7]] <- 1e4
  y[[7]] <- 1e8
  y[[13]] <- -1e8
  for (n_moves in c(0, 2)) {
    fit <- go_on(at, y,
      kernel = kernel_linear(), memory = srvm_memory(window = 5),
      control = smc_control(20, n_moves = n_moves),
      prior = srvm_prior(3, 5, noise = fixed_variance(0.1), coef = fixed_variance(0.5))
    )
    run <- fit$runs[[1]]
    # Row 24 is not the last of a round of five.
    now <- 20:24
    expect_equal(run$pool$squares, sum(y[now]^2), tolerance = 1e-14)
    rows <- run$candidate_rows
    own <- at[rows]
    first <- cumsum(c(0, run$k))
    size <- cumsum(c(0, run$k * (run$k + 1) / 2))
    expect_gt(max(run$k), 1)
    for (i in seq_along(run$k)) {
      c <- own[run$sets[first[[i]] + seq_len(run$k[[i]])]]
      rhs <- run$sums$rhs[first[[i]] + seq_len(run$k[[i]])]
      expect_equal(rhs, c * sum(at[now] * y[now]), tolerance = 1e-12)
      gram <- outer(c, c) * sum(at[now]^2)
      expect_equal(
        run$sums$gram[size[[i]] + seq_len(length(c) * (length(c) + 1) / 2)],
        gram[lower.tri(gram, TRUE)],
        tolerance = 1e-12
      )
    }
    if (n_moves == 0) next
    used <- which(!is.na(rows))
    expect_equal(
      run$pool$rhs[used], own[used] * sum(at[now] * y[now]),
      tolerance = 1e-12
    )
  }
})

test_that("after an outlier has left, scores equal those without it", {
  fit <- function(outlier) {
    go_on(stream_x[1:30, ], replace(stream_y[1:30], 9, outlier),
      kernel = kernel_gaussian(0.7), memory = srvm_memory(window = 6),
      control = smc_control(2),
      # One set, so there is no Monte Carlo error; the noise is integrated out.
      prior = srvm_prior(1, 0, noise = ig(2, 0.1), coef = fixed_variance(2),
        scaled = TRUE
      )
    )
  }
  last <- function(fit) utils::tail(prequential(fit)$log_predictive, 14)
  expect_equal(
    last(fit(1e8)), last(fit(0.3)),
    tolerance = 1e-7
  )
})
