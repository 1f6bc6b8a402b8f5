# The density of states against known densities: histograms without noise return
# them exactly, those with noise within their Monte Carlo error.
#
# Seen to fail, one mutant at a time: mirrors not reversed, or at +beta; the
# start taken for the solution, or found between wrong bounds; a loose stopping
# rule; no halving of steps; all levels given the mean number of draws; one
# level's histogram in the curvature; levels not sorted with their histograms;
# exp() before the largest term is subtracted; inefficiency ignored; other
# factors in the jackknife; no check of beta = 0 or of overlap. Not visible,
# because right: n_l left out of the terms, or another level than beta = 0 held
# fixed, which only shifts log Z_l before g is normalised.
# fast, which only shifts log Z_l before g is normalised.

#' n_l g(e) exp(-beta_l e) / Z_l: one row per level
expected_counts <- function(g, beta, n) {
  e <- seq_along(g) - 1
  t(vapply(beta, function(beta) {
    log_p <- log(g) - beta * e
    n * exp(log_p - log_sum_exp(log_p))
  }, g))
}

draw_counts <- function(g, beta, n) {
  expected <- expected_counts(g, beta, n)
  t(apply(expected, 1, function(p) stats::rmultinom(1, n, p)))
}

#' Independent batches of draw_counts()
draw_batches <- function(batches, ...) {
  lapply(seq_len(batches), function(i) draw_counts(...))
}

#' Probabilities of errors of directions on a circle, from the arcs between the
#' walls of m labelled points of the plane
circle_density <- function(x, y) {
  roots <- sort((atan2(x[, 2], x[, 1]) + pi / 2) %% pi)
  roots <- c(roots, roots + pi)
  arcs <- diff(c(roots, roots[[1]] + 2 * pi))
  middle <- roots + arcs / 2
  errors <- colSums(y * (x %*% rbind(cos(middle), sin(middle))) <= 0)
  vapply(0:nrow(x), function(e) sum(arcs[errors == e]), 0) / (2 * pi)
}

lopsided <- 0.7 * stats::dbinom(0:40, 40, 0.3) +
  0.3 * stats::dbinom(0:40, 40, 0.8)
two_humps <- (lopsided + rev(lopsided)) / 2
beta <- c(0, 0.2, 0.5, 1, 2, log((1 - 1e-4) / 1e-4))

# Exact ------------------------------------------------------------------------

test_that("histograms without noise return the density", {
  binomial <- stats::dbinom(0:60, 60, 0.5)
  for (mirror in c(FALSE, TRUE)) {
    for (g in list(binomial, two_humps)) {
      counts <- expected_counts(g, beta, 1000)
      out <- density_of_states(counts, beta, length(g) - 1, mirror)
      expect_equal(out, log(g), tolerance = 1e-10)
    }
  }
  counts <- expected_counts(lopsided, beta, 1000)
  expect_equal(density_of_states(counts, beta, 40), log(lopsided),
    tolerance = 1e-10
  )
})

test_that("levels may have any size, any order, duplicates, or no draws", {
  n <- c(10, 4000, 0, 300, 50, 7)
  levels <- c(0, 2, 1, 0.5, 0.2, 0.5)
  counts <- expected_counts(lopsided, levels, 1) * n
  expect_equal(density_of_states(counts, levels, 40), log(lopsided),
    tolerance = 1e-10
  )
})

test_that("one level gives its histogram, and its mirror", {
  counts <- rbind(c(0, 3, 1, 0, 0))
  expect_equal(density_of_states(counts, 0, 4), log(c(0, 3, 1, 0, 0) / 4))
  expect_equal(
    density_of_states(counts, 0, 4, TRUE), log(c(0, 3, 2, 3, 0) / 8)
  )
})

test_that("only observed states count, at whatever level", {
  # Everything at e = 0, as in data that all classifiers get right.
  counts <- rbind(c(50, 0, 0), c(80, 0, 0))
  expect_identical(density_of_states(counts, c(0, 3), 2), c(0, -Inf, -Inf))
  # Only the second level sees e = 0: by hand, u = exp(-3) / Z.
  counts <- rbind(c(0, 60, 40), c(30, 70, 0))
  out <- exp(density_of_states(counts, c(0, 3), 2))
  z <- sum(out * exp(-3 * (0:2)))
  expect_equal(
    out, colSums(counts) / (100 + 100 * exp(-3 * (0:2)) / z)
  )
  expect_equal(sum(out), 1)
})

test_that("the mirror adds the information of the opposite classifiers", {
  counts <- rbind(c(1, 5, 9, 6, 2), c(20, 14, 3, 0, 0))
  both <- rbind(counts, counts[, 5:1])
  out <- density_of_states(counts, c(0, 1), 4, TRUE)
  expect_equal(out, density_of_states(both, c(0, 1, 0, -1), 4))
  expect_equal(out, rev(out))
  expect_gt(max(abs(out - density_of_states(counts, c(0, 1), 4))), 0.1)
})

test_that("dependent draws count as fewer draws", {
  counts <- expected_counts(lopsided, beta[1:3], 600)
  # A wrong middle level: the more it is discounted, the less it harms.
  counts[2, ] <- rev(counts[2, ])
  all <- density_of_states(counts, beta[1:3], 40)
  expect_equal(
    density_of_states(counts, beta[1:3], 40, inefficiency = c(1, 3, 2)),
    density_of_states(counts / c(1, 3, 2), beta[1:3], 40)
  )
  expect_equal(
    density_of_states(counts, beta[1:3], 40, inefficiency = 5), all
  )
  few <- density_of_states(counts, beta[1:3], 40, inefficiency = c(1, 1e4, 1))
  error <- function(out) max(abs(out - log(lopsided)))
  expect_lt(error(few), 0.05 * error(all))
})

test_that("100 000 data neither overflow nor lose digits", {
  m <- 1e5
  g <- stats::dnorm(0:m, m / 2, m / 20)
  g <- g / sum(g)
  ladder <- c(0, seq(4e-4, 0.0024, 4e-4), 0.004 * 3^(0:7))
  expect_gt(max(ladder), log((1 - 1e-4) / 1e-4) - 0.5)
  counts <- expected_counts(g, ladder, 1e4)
  q <- c(0, 1e-4, 0.01, 0.3, 0.5)
  truth <- log_evidence_rate(log(g), m, q)
  for (mirror in c(FALSE, TRUE)) {
    out <- density_of_states(counts, ladder, m, mirror)
    expect_lt(max(abs(out - log(g))), 1e-6)
    expect_lt(max(abs(log_evidence_rate(out, m, q) - truth)), 1e-6)
  }
})

test_that("the solution is found from a poor start", {
  # From errors of many nats, for which full steps diverge.
  g <- stats::dbinom(0:1000, 1000, 0.5)
  ladder <- seq(0, 9, 0.18)
  counts <- expected_counts(g, ladder, 1e5)
  levels <- pool_levels(counts, ladder, FALSE)
  levels$total <- colSums(levels$counts)
  levels$drawn <- rowSums(levels$counts)
  exact <- 1000 * log((1 + exp(-ladder)) / 2) + ladder * 500
  start <- function(off) exact + off * sin(seq_along(exact)) * (ladder > 0)
  solve <- function(off, ...) {
    solve_levels(levels, start(off), ...)
  }
  for (off in c(-2, 0, 3, 10)) {
    expect_equal(solve(off), exact, tolerance = 1e-9)
  }
  expect_error(solve(3, max_steps = 1), class = "kb_error_convergence")
  expect_error(solve(100), class = "kb_error_convergence")
})

# Monte Carlo ------------------------------------------------------------------

#' Results of the evidence functions for a density, for comparison
evidences <- function(log_g, m) {
  c(
    log_evidence_rate(log_g, m, c(0.001, 0.05, 0.2, 0.4)),
    log_evidence_beta(log_g, m)
  )
}

#' Scores of the mean evidence of independent runs, and ratio of its standard
#' deviation over runs and the root mean squared jackknife standard error
run_scores <- function(g, mirror, runs = 60, batches = 10, n = 200) {
  m <- length(g) - 1
  q <- c(0.001, 0.05, 0.2, 0.4)
  out <- replicate(runs, {
    parts <- draw_batches(batches, g, beta, n)
    log_g <- density_of_states(Reduce(`+`, parts), beta, m, mirror)
    se <- jackknife_se(parts, function(counts) {
      evidences(density_of_states(counts, beta, m, mirror), m)
    })
    c(evidences(log_g, m), se)
  })
  value <- out[1:5, ]
  sd <- apply(value, 1, stats::sd)
  list(
    score = (rowMeans(value) - evidences(log(g), m)) / sd * sqrt(runs),
    ratio = sd / sqrt(rowMeans(out[6:10, ]^2))
  )
}

test_that("noisy histograms are right within their standard errors", {
  # Null: means of 60 nearly normal numbers (t with 59 degrees of freedom: |t| >
  # 5 has probability 6e-6, of 15 scores 8e-5 at most). The ratio of standard
  # deviations has a relative error of 0.1 at most, 0.65 is 4 of them.
  withr::local_seed(1)
  angle <- stats::runif(30, 0, 2 * pi)
  x <- cbind(cos(angle), sin(angle))
  y <- ifelse(stats::runif(30) < 0.2, -1, 1) * sign(x[, 1] + 0.3 * x[, 2])
  circle <- circle_density(x, y)
  expect_equal(circle, rev(circle))
  grid <- 2 * pi * (1:20000 - 0.5) / 20000
  errors <- colSums(y * (x %*% rbind(cos(grid), sin(grid))) <= 0)
  expect_lt(max(abs(tabulate(errors + 1, 31) / 20000 - circle)), 60 / 20000)
  for (scores in list(
    run_scores(circle, TRUE), run_scores(two_humps, TRUE),
    run_scores(lopsided, FALSE)
  )) {
    expect_lt(max(abs(scores$score)), 5)
    expect_gt(min(scores$ratio), 0.65)
    expect_lt(max(scores$ratio), 1.55)
  }
})

test_that("the standard error is the jackknife's", {
  withr::local_seed(2)
  batches <- draw_batches(4, lopsided, beta, 100)
  of_counts <- function(counts) {
    log_g <- density_of_states(counts, beta, 40)
    c(log_evidence_rate(log_g, 40, 0.1), log_evidence_beta(log_g, 40, 2, 5))
  }
  se <- jackknife_se(batches, of_counts)
  left <- vapply(1:4, function(i) of_counts(Reduce(`+`, batches[-i])), c(0, 0))
  by_hand <- sqrt(3 / 4 * rowSums((left - rowMeans(left))^2))
  expect_equal(se, by_hand)
})

test_that("states seen by only one batch have no finite standard error", {
  first <- rbind(c(1, 60, 40), c(30, 70, 0))
  second <- rbind(c(0, 61, 40), c(0, 99, 1))
  se <- jackknife_se(list(first, second), function(counts) {
    log_g <- density_of_states(counts, c(0, 3), 2)
    c(log_evidence_rate(log_g, 2, c(0, 0.4)), log_evidence_beta(log_g, 2))
  })
  expect_identical(se[[1]], Inf)
  expect_lt(max(se[-1]), 1)
})

# Errors -----------------------------------------------------------------------

test_that("a ladder without the prior is refused, because it is wrong", {
  counts <- expected_counts(two_humps, beta, 1000)
  expect_error(density_of_states(counts[-1, ], beta[-1], 40),
    class = "kb_error_argument"
  )
  # Treated as one with the prior, it would be wrong by nats.
  planted <- density_of_states(counts[-1, ], beta[-1] - beta[[2]], 40)
  off <- log_evidence_rate(planted, 40, 0.1) -
    log_evidence_rate(log(two_humps), 40, 0.1)
  expect_gt(abs(off), 1)
  # Levels without draws do not help.
  counts[1, ] <- 0
  expect_error(density_of_states(counts, beta, 40),
    class = "kb_error_argument"
  )
})

test_that("a mirror that does not hold gives wrong results, and is noticed", {
  counts <- expected_counts(lopsided, beta, 1000)
  planted <- density_of_states(counts, beta, 40, TRUE)
  expect_gt(max(abs(planted - log(lopsided))), 1)
})

test_that("levels that share no states give an error that names them", {
  counts <- matrix(0, 3, 21)
  counts[1, 15:20] <- 50
  counts[2, 12:16] <- 50
  counts[3, 1:4] <- 50
  error <- expect_error(density_of_states(counts, c(0, 0.5, 9), 20),
    class = "kb_error_overlap"
  )
  expect_identical(error$beta, c(0.5, 9))
  expect_lt(error$shared, 1)
})

test_that("arguments are checked", {
  counts <- expected_counts(lopsided, beta, 1000)
  bad <- function(...) {
    expect_error(density_of_states(...), class = "kb_error_argument")
  }
  bad(counts, beta, 41)
  bad(-counts, beta, 40)
  bad(as.data.frame(counts), beta, 40)
  bad(replace(counts, 3, NA), beta, 40)
  bad(counts, beta[-1], 40)
  bad(counts, c(beta[-6], Inf), 40)
  bad(counts, beta, 40, NA)
  bad(counts, beta, 40, inefficiency = 0)
  bad(counts, beta, 40, inefficiency = c(1, 2))
  expect_error(jackknife_se(list(counts), sum), class = "kb_error_argument")
})
