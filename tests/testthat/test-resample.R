# Resampling schemes. Properties of any unbiased scheme are tested for all in
# the registry, including schemes added to it.
#
# Keys are fixed; each test_that() on random numbers fails with probability
# below 1e-4 under the null distribution stated there (Bonferroni).

schemes <- resampling_schemes_cpp()

counts_of <- function(scheme, weights, n, repetitions = 1, key = "1") {
  resample_cpp(scheme, weights, n, c(key, "0", "0"), repetitions)
}

#' Normalised weights: uneven ones with zeros, whole numbers of copies, one
#' dominant, equal ones
weight_cases <- list(
  list(w = c(0, 0.05, 0.3, 0, 0.15, 0.02, 0.38, 0.1, 0), n = 9),
  list(w = c(0.2, 0.1, 0.4, 0.3), n = 10),
  list(w = c(0.96, 0.02, 0.02), n = 6),
  list(w = rep(1 / 8, 8), n = 5),
  list(w = c(0.11, 0.23, 0.31, 0.07, 0.28), n = 1),
  list(w = (1:40) / 820, n = 40)
)

test_that("the registry has the schemes that the help names", {
  expect_true(all(
    eval(formals(smc_control)$resampling) %in% schemes
  ))
  expect_error(
    counts_of("magic", c(0.5, 0.5), 2), "unknown resampling scheme: magic"
  )
})

test_that("counts sum to n, and zero weights are never chosen", {
  for (scheme in schemes) {
    for (case in weight_cases) {
      counts <- counts_of(scheme, case$w, case$n, 2000)
      expect_true(all(counts >= 0))
      expect_true(all(colSums(counts) == case$n))
      expect_true(all(counts[case$w == 0, ] == 0))
    }
    # Zeros at both ends, and a single particle.
    ends <- counts_of(scheme, c(0, 0, 0.5, 0.5, 0, 0), 6, 2000)
    expect_true(all(ends[c(1, 2, 5, 6), ] == 0))
    expect_identical(counts_of(scheme, 1, 4), matrix(4L))
  }
  # A uniform of exactly 0 falls into the first nonempty cell.
  zero <- c("0", "1", "2", "0")
  expect_identical(rng_draws_cpp(zero, "uniform", 1, 0, 0)$draws, 0)
  counts <- resample_cpp("systematic", c(0, 0.5, 0.5), 2, zero, 1)
  expect_identical(counts[, 1], c(0L, 1L, 1L))
})

test_that("a remainder from rounding falls on a particle with weight", {
  # The first uniform of this state is the largest, 1 - 2^-53, and
  # (10 + u) / 11 is 1 in double precision.
  last <- c("0", "1", "2", "fff001ffffffffff")
  expect_identical(rng_draws_cpp(last, "uniform", 1, 0, 0)$draws, 1 - 2^-53)
  counts <- resample_cpp("systematic", c(rep(0.1, 10), 0), 11, last, 1)
  expect_identical(counts[11, 1], 0L)
  expect_identical(sum(counts), 11L)
})

test_that("one particle with all the weight is copied n times", {
  for (scheme in schemes) {
    for (at in c(1, 3, 7)) {
      w <- as.numeric(seq_len(7) == at)
      expect_identical(
        counts_of(scheme, w, 7, 50), matrix(as.integer(7 * w), 7, 50)
      )
    }
  }
})

test_that("E[N_i] = n w_i", {
  # Null: the mean of 20000 counts is normal around n w_i with the empirical
  # standard error; counts that never vary must be exact. Each nonzero weight is
  # chosen at least 100 times, so that the limit holds in the tail.
  repetitions <- 20000
  z <- unlist(lapply(schemes, function(scheme) {
    lapply(weight_cases, function(case) {
      counts <- counts_of(scheme, case$w, case$n, repetitions, "2")
      excess <- rowMeans(counts) - case$n * case$w
      se <- apply(counts, 1, stats::sd) / sqrt(repetitions)
      expect_lt(max(abs(excess[se == 0]), 0), 1e-12)
      (excess / se)[se > 0]
    })
  }))
  expect_gt(length(z), 200)
  expect_lt(max(abs(z)), stats::qnorm(1 - 1e-4 / (2 * length(z))))
})

test_that("counts stay within a scheme's bounds", {
  for (case in weight_cases) {
    expected <- case$n * case$w
    within <- function(scheme, ok) {
      counts <- counts_of(scheme, case$w, case$n, 5000, "3")
      expect_true(all(ok(counts)))
    }
    within("systematic", function(n) abs(n - expected) < 1 + 1e-12)
    within("minimum-entropy", function(n) abs(n - expected) < 1 + 1e-12)
    within("stratified", function(n) abs(n - expected) < 2)
    within("residual", function(n) n >= floor(expected + 1e-12))
  }
})

test_that("equal weights give each particle once, except multinomially", {
  for (scheme in setdiff(schemes, "multinomial")) {
    # 49 * (1 / 49) is not 1.
    for (n in c(1, 2, 8, 10, 49, 64, 250)) {
      counts <- counts_of(scheme, rep(1 / n, n), n, 100)
      expect_true(all(counts == 1))
    }
  }
  expect_false(all(counts_of("multinomial", rep(1 / 8, 8), 8, 100) == 1))
})

test_that("systematic and stratified invert the points of their papers", {
  w <- weight_cases[[6]]$w
  points <- function(u) (seq_len(40) - 1 + u) / 40
  invert <- function(u) {
    tabulate(findInterval(points(u), cumsum(w)) + 1, 40)
  }
  for (i in 1:20) {
    key <- c("4", "0", as.character(i))
    u <- rng_draws_cpp(key, "uniform", 40, 0, 0)$draws
    expect_identical(
      resample_cpp("systematic", w, 40, key, 1)[, 1], invert(u[[1]])
    )
    expect_identical(resample_cpp("stratified", w, 40, key, 1)[, 1], invert(u))
  }
})

test_that("multinomial and residual counts have their distributions", {
  # Null: the counts of three particles are multinomial; chi-square.
  w <- c(0.5, 0.2, 0.3)
  fit <- function(counts, n, w) {
    cells <- expand.grid(a = 0:n, b = 0:n)
    cells <- cells[cells$a + cells$b <= n, ]
    cells <- rbind(cells$a, cells$b, n - cells$a - cells$b)
    name <- function(counts) apply(counts, 2, paste, collapse = "-")
    observed <- table(factor(name(counts), name(cells)))
    expect_identical(sum(observed), ncol(counts))
    prob <- apply(cells, 2, stats::dmultinom, prob = w)
    possible <- prob > 0
    expect_true(all(observed[!possible] == 0))
    stats::chisq.test(observed[possible], p = prob[possible])$p.value
  }
  multinomial <- counts_of("multinomial", w, 4, 20000, "5")
  # 5 w = 2.5, 1, 1.5: (2, 1, 1) for certain, the fifth by (1/2, 0, 1/2).
  residual <- counts_of("residual", w, 5, 20000, "5")
  # 7 w = 3.5, 1.4, 2.1: (3, 1, 2), the seventh by (.5, .4, .1).
  seventh <- counts_of("residual", w, 7, 20000, "6")
  p <- c(
    fit(multinomial, 4, w), fit(residual - c(2L, 1L, 1L), 1, c(0.5, 0, 0.5)),
    fit(seventh - c(3L, 1L, 2L), 1, c(0.5, 0.4, 0.1))
  )
  expect_gt(min(p) * length(p), 1e-4)
})

#' All counts of minimum-entropy resampling, one column each, and their
#' probabilities: the remainder goes to a particle and to those after it by the
#' joint law of two numbers whose sum is also rounded without bias
enumerate_minimum_entropy <- function(weights, n) {
  counts <- matrix(0, 0, 1)
  prob <- 1
  for (i in seq_along(weights)) {
    a <- round(n * weights[[i]], 9)
    b <- round(n * sum(weights[-seq_len(i)]), 9)
    both_up <- max(a %% 1 + b %% 1 - 1, 0)
    up <- cbind(c(0, 0), c(1, 0), c(0, 1), c(1, 1))
    p <- c(max(1 - a %% 1 - b %% 1, 0), a %% 1 - both_up, b %% 1 - both_up,
      both_up
    )
    p[p < 1e-9] <- 0
    sums <- a %/% 1 + b %/% 1 + colSums(up)
    next_counts <- NULL
    next_prob <- NULL
    for (path in seq_along(prob)) {
      ok <- which(p > 0 & sums == n - sum(counts[, path]))
      for (j in ok) {
        next_counts <- cbind(
          next_counts, c(counts[, path], a %/% 1 + up[1, j])
        )
        next_prob <- c(next_prob, prob[[path]] * p[[j]] / sum(p[ok]))
      }
    }
    counts <- next_counts
    prob <- next_prob
  }
  list(counts = counts, prob = prob)
}

test_that("minimum-entropy counts have their distribution", {
  # Null: the columns of counts have the enumerated probabilities; chi-square,
  # over 5 cases.
  cases <- c(
    weight_cases[c(1, 2, 3, 5)], list(list(w = c(0.5, 0.2, 0.3), n = 7))
  )
  p <- vapply(cases, function(case) {
    exact <- enumerate_minimum_entropy(case$w, case$n)
    expected <- case$n * case$w
    mean <- drop(exact$counts %*% exact$prob)
    expect_equal(sum(exact$prob), 1)
    expect_equal(mean, expected)
    # The least variance that integers with that mean can have.
    variance <- drop((exact$counts - mean)^2 %*% exact$prob)
    expect_equal(variance, expected %% 1 * (1 - expected %% 1))
    counts <- counts_of("minimum-entropy", case$w, case$n, 20000, "9")
    name <- function(counts) apply(counts, 2, paste, collapse = "-")
    observed <- table(factor(name(counts), name(exact$counts)))
    expect_identical(sum(observed), 20000L)
    if (length(observed) == 1) {
      return(1)
    }
    stats::chisq.test(observed, p = exact$prob)$p.value
  }, 0)
  expect_lt(sum(p == 1), 2)
  expect_gt(min(p) * length(p), 1e-4)
})

test_that("minimum-entropy counts are rounded up or down for many weights", {
  n <- 1e5
  uneven <- (seq_len(n) %% 97 + 1)^2
  cases <- list(
    equal = rep(1 / n, n), uneven = uneven / sum(uneven),
    steep = 0.999^seq_len(n) / sum(0.999^seq_len(n))
  )
  for (w in cases) {
    for (size in c(n, 12345, 3 * n)) {
      counts <- counts_of("minimum-entropy", w, size)[, 1]
      expect_identical(sum(counts), as.integer(size))
      expect_true(all(counts[w == 0] == 0))
      expect_lt(max(abs(counts - size * w)), 1 + 1e-9)
    }
  }
  expect_true(all(counts_of("minimum-entropy", cases$equal, n) == 1))
})

test_that("multinomial counts vary most, those of finer schemes less", {
  # Null for the multinomial: Var N_i = n w_i (1 - w_i); the sum over i of the
  # empirical variances of 20000 repetitions is within 2% of it (its standard
  # error is below 0.4%). The others are below it by more than 10% here.
  for (case in weight_cases[c(1, 2, 6)]) {
    variance <- function(scheme) {
      sum(apply(counts_of(scheme, case$w, case$n, 20000, "7"), 1, stats::var))
    }
    exact <- sum(case$n * case$w * (1 - case$w))
    expect_lt(abs(variance("multinomial") / exact - 1), 0.02)
    for (scheme in setdiff(schemes, "multinomial")) {
      expect_lt(variance(scheme), 0.9 * exact)
    }
    expect_lte(variance("systematic"), variance("residual") + 1e-12)
  }
})

test_that("ancestors have the requested counts, and survivors stay", {
  expect_identical(ancestors_in_place_cpp(c(0L, 3L, 0L)), c(1L, 1L, 1L))
  expect_identical(ancestors_in_place_cpp(1L), 0L)
  expect_identical(ancestors_in_place_cpp(rep(1L, 5)), 0:4)
  for (n in c(2, 5, 30)) {
    weights <- (seq_len(n) / n)^3
    counts <- counts_of("multinomial", weights / sum(weights), n, 100, "8")
    ancestors <- apply(counts, 2, ancestors_in_place_cpp) + 1L
    expect_identical(apply(ancestors, 2, tabulate, n), counts)
    alive <- counts > 0
    expect_identical(ancestors[alive], row(counts)[alive])
  }
})
