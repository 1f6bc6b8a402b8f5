# Rows that come in by degrees: every row is made to, in whole runs beside
# enumeration and quadrature, then what does not depend on chance.

x <- c(0.3, -1.7, 2.1, -0.4, 1.2, 0.8)
x_repeated <- c(0.3, -1.7, 0.3, 2.1, -0.4, -1.7)
y <- c(1.05, 0.21, -0.32, 0.86, 0.55, 0.71)

by_degrees <- function(n_moves, particles = 300, ...) {
  smc_control(particles, n_moves = n_moves, powers = c(0.1, 0.4, 1), ...)
}

# Whole runs -------------------------------------------------------------------

# Null: fixed powers leave estimates without bias on the natural scale, so each
# z-score is nearly t with 39 degrees of freedom: |z| > 6.5 has probability
# 1.0e-7, and there are fewer than 600 scores.
expect_scores <- function(z) expect_lt(max(abs(z)), 6.5)

expect_exact <- function(control, ..., at = x) {
  expect_scores(run_against_oracle(at, y, control, ...))
}

expect_stream <- function(memory, control, ..., at = x) {
  expect_scores(stream_against_oracle(at, y, control, memory, ...))
}

test_that("runs agree under known variances", {
  for (n_moves in c(0, 10)) {
    expect_exact(by_degrees(n_moves),
      noise = fixed(0.1), coef = fixed(0.5)
    )
  }
})

test_that("runs agree under unknown variances", {
  expect_exact(by_degrees(0))
  expect_exact(by_degrees(4, resample_every_step = TRUE), at = x_repeated)
})

test_that("runs agree in the scaled form", {
  expect_exact(by_degrees(0), scaled = TRUE, coef = ig(3, 12))
  expect_exact(by_degrees(4),
    scaled = TRUE, coef = ig(3, 12), centres = "iid", kmax = 2
  )
})

test_that("runs agree with repeated points, i.i.d. centres and no intercept", {
  expect_exact(by_degrees(0),
    at = x_repeated, centres = "iid", kmax = 2, intercept = FALSE
  )
  expect_exact(by_degrees(4), centres = "iid")
})

test_that("runs of blind proposals agree", {
  for (n_moves in c(0, 4)) {
    expect_exact(by_degrees(n_moves, proposal = "birth_death"),
      at = x_repeated, noise = fixed(0.3), coef = fixed(0.5)
    )
  }
})

test_that("runs with bounded memory agree", {
  expect_stream(srvm_memory(window = 3), by_degrees(4), at = x_repeated)
  expect_stream(srvm_memory(candidates = 3), by_degrees(0))
  expect_stream(srvm_memory(window = 4, forgetting = 0.8), by_degrees(2),
    scaled = TRUE, coef = ig(3, 12)
  )
  expect_stream(
    srvm_memory(window = 4, forgetting = 0.9, candidates = 2), by_degrees(2)
  )
})

test_that("runs with two classes agree", {
  signs <- c(1, -1, 1, -1)
  for (n_moves in c(0, 4)) {
    expect_scores(probit_against_oracle(x[1:4], signs, by_degrees(n_moves)))
  }
  expect_scores(probit_against_oracle(x_repeated[1:4], signs[c(1, 2, 1, 3)],
    by_degrees(2),
    memory = srvm_memory(window = 3), coef = ig(3, 2), kmax = 2
  ))
})

test_that("runs with Student's noise agree", {
  at <- as.matrix(c(-1, 0.5))
  surprise <- c(1.05, 0.21, -1.32)
  value <- mean(surprise) + c(-0.3, 0.4)
  for (noise in list(fixed(0.1), ig(3, 0.3))) {
    exact <- oracle_student(
      x[1:3], surprise, 5, for_oracle(noise), 0.6, at, value, kmax = 2
    )
    for (n_moves in c(0, 4)) {
      expect_scores(student_scores(
        function(fit) exact, x[1:3], surprise, at, value, by_degrees(n_moves),
        srvm_prior(1.3, 2, noise = noise, coef = fixed(0.6), df = 5)
      ))
    }
  }
})

test_that("runs with a dictionary of two kernels agree", {
  known <- list(noise = fixed(0.1), coef = fixed(0.5))
  expect_pairs <- function(...) expect_scores(pairs_against_oracle(...))
  for (n_moves in c(0, 4)) {
    expect_pairs(x[1:4], y[1:4], 2, by_degrees(n_moves),
      noise = fixed(0.1), coef = fixed(0.5)
    )
  }
  expect_pairs(x_repeated[1:4], y[1:4], 2, by_degrees(4),
    memory = srvm_memory(window = 3)
  )
})

test_that("runs with a list of kernels agree", {
  bandwidths <- c(0.5, 2)
  exact <- lapply(bandwidths, function(bandwidth) {
    oracle_posterior(
      x, y, oracle_kernel_gaussian(bandwidth), 1.3, 4, "subset",
      list(fixed = 0.1), list(fixed = 0.5)
    )
  })
  log_z <- vapply(exact, `[[`, 0, "log_evidence") + log(0.5)
  p <- exp(log_z - log_sum_exp(log_z))
  inclusion_of <- vapply(exact, `[[`, numeric(6), "inclusion")
  truth <- c(p[[1]], inclusion_of %*% p)
  estimates <- vapply(1:40, function(seed) {
    fit <- few_particles(srvm(as.matrix(x), y,
      kernel = lapply(bandwidths, kernel_gaussian), scale = FALSE,
      prior = srvm_prior(1.3, 4, noise = fixed(0.1), coef = fixed(0.5)),
      control = by_degrees(2), seed = seed
    ))
    ratio <- exp(evidence(fit)$log_evidence - log_sum_exp(log_z))
    answers <- c(
      kernel_posterior(fit)$probability[[1]], inclusion(fit)$probability
    )
    c(ratio, ratio * (answers - truth))
  }, numeric(8))
  se <- apply(estimates, 1, stats::sd) / sqrt(40)
  expect_scores(mc_z(rowMeans(estimates), se, c(1, numeric(7))))
})
