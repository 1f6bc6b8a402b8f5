# Simulations in rounds: importance weights (K48) and their use.
#
# Regions are random, but all is fixed by seeds. Standard errors in tests are
# exact, at least 4 of them are allowed. Seen to fail: regions without their
# share, equal weights of all pairs or of those in the last region, fits of
# rounds without weights, a region of all states where the density underflows
# at all draws of the prior.

tail_prior <- function(n) stats::rnorm(n)
noisy_state <- function(x) x + 0.2 * stats::rnorm(length(x))

# A region that is the interval from low to high
interval <- function(low, high) {
  list(
    settings = list(support = cbind(c(-Inf, Inf)), scaling = list(
      states = list(x_center = (low + high) / 2, x_scale = (high - low) / 2)
    )),
    points = matrix(0), mean = 0, root = matrix(1), width = 1,
    least = -1 / 2, share = stats::pnorm(high) - stats::pnorm(low)
  )
}

test_that("weights turn all rounds into the prior", {
  withr::local_seed(1)
  regions <- list(interval(-1, 2), interval(0.5, 1.5))
  expect_identical(
    in_region(regions[[2]], matrix(c(0.4, 0.6, 1.4, 1.6))),
    c(FALSE, TRUE, TRUE, FALSE)
  )
  n <- c(4000, 3000, 5000)
  x <- rbind(
    matrix(tail_prior(n[[1]])),
    region_sampler(tail_prior, regions[[1]])(n[[2]]),
    region_sampler(tail_prior, regions[[2]])(n[[3]])
  )
  w <- round_weights(list(x = x, round = rep(1:3, n)), regions)
  expect_null_mean <- function(values) {
    se <- stats::sd(w * values) / sqrt(sum(n))
    expect_lt(abs(mean(w * values)), 4 * se)
  }
  expect_null_mean(x)
  expect_null_mean(x^2 - 1)
  expect_null_mean((x > 1) - stats::pnorm(-1))
  expect_null_mean((abs(x - 1) < 0.5) - regions[[2]]$share)
})

test_that("pairs in the last region keep their weights, and fits use them", {
  regions <- list(interval(-1, 2), interval(0.5, 2.5))
  x <- matrix(c(0, 1, 2.2, 1.6, 2.4, 3))
  pairs <- list(x = x, y = 2 * x, round = rep(1:3, 2))
  # Only 1 and 1.6 are in both regions; a third of the pairs is of each round.
  last <- 0.1 + 0.9 / regions[[2]]$share
  both <- 3 / (1 + 0.1 + 0.9 / regions[[1]]$share + last)
  one <- 3 / (1 + 0.1 + last)
  wanted <- c(both, one, both, one)
  found <- pairs_inside(pairs, regions)
  expect_identical(found$x, x[2:5, , drop = FALSE])
  expect_identical(found$y, 2 * found$x)
  expect_identical(found$round, c(2L, 3L, 1L, 2L))
  expect_equal(found$weights, wanted / mean(wanted))
  many <- list(
    x = normal_points(40, 1), y = normal_points(40, 1, 2), weights = 1:40
  )
  expect_equal(kbr_of_rounds(many, NULL)$prior$weights, 1:40 / 820)
})

test_that("with weights the rule is Bayes' rule for discrete pairs", {
  # States and observations of three values each: as eps and delta go to 0 the
  # posterior is the weighted table of pairs. Weights depend on the state, as
  # importance weights do.
  withr::local_seed(2)
  x <- sample(3, 300, TRUE, c(0.5, 0.3, 0.2))
  y <- (x + sample(0:1, 300, TRUE)) %% 3
  w <- c(1, 2, 0.5)[x]
  equal <- kernel_gaussian(0.05)
  for (method in c("kbr", "iw")) {
    fit <- suppressWarnings(kbr(x, y, equal, equal,
      prior = list(weights = w), eps = 1e-10, delta = 1e-12, method = method
    ))
    for (at in 0:2) {
      wanted <- sum(w[y == at] * x[y == at]) / sum(w[y == at])
      expect_equal(as.vector(predict(fit, at)), wanted, tolerance = 1e-5)
    }
  }
})

test_that("rounds find a posterior that few draws of the prior reach", {
  pairs <- kbr_simulate(tail_prior, noisy_state, 600,
    seed = 3, rounds = 3, observation = 2.5
  )
  expect_s3_class(pairs, "kb_pairs")
  expect_identical(sum(pairs$rounds$pairs), 600L)
  expect_identical(sum(pairs$rounds$kept), nrow(pairs$x))
  expect_equal(mean(pairs$weights), 1)
  expect_lt(pairs$rounds$prior_share[[3]], 0.1)
  fit <- kbr(pairs)
  expect_identical(fit$prior$weights, proportions(pairs$weights))
  precision <- 1 + 1 / 0.2^2
  mean <- 2.5 / 0.2^2 / precision
  sd <- 1 / sqrt(precision)
  expect_lt(abs(predict(fit, 2.5) - mean), 0.15 * sd)
  expect_equal(as.vector(predict(fit, 2.5, type = "sd")), sd, tolerance = 0.15)
  expect_output(print(pairs), "rounds")
  again <- kbr_simulate(tail_prior, noisy_state, 600,
    seed = 3, rounds = 3, observation = 2.5
  )
  expect_identical(again, pairs)
})

test_that("a region is where its density is, also where that underflows", {
  region <- list(
    settings = list(support = matrix(c(-Inf, Inf), 2, 2), scaling = list(
      states = list(x_center = c(0, 0), x_scale = c(1, 1))
    )),
    points = normal_points(30, 2, 6), mean = c(1, 0),
    root = chol(matrix(c(2, 0.5, 0.5, 1), 2)), width = 0.4, least = -3
  )
  x <- 12 * normal_points(2000, 2, 7)
  z <- region_place(region, x)
  squares <- outer(rowSums(z^2), rowSums(region$points^2), "+") -
    2 * tcrossprod(z, region$points)
  nearest <- apply(squares, 1, min)
  exact <- log(rowMeans(exp((nearest - squares) / 0.32))) - nearest / 0.32
  found <- region_log(region, z)
  near <- exact > -600
  expect_equal(found[near], exact[near])
  expect_lt(max(abs(found - exact)), log(30) + 1e-9)
  expect_gt(sum(!near), 10)
  for (least in c(-1000, -30, -3, -1)) {
    region$least <- least
    expect_identical(in_region(region, x), found >= least)
  }
})

test_that("a posterior that no draw of the prior reaches has a region", {
  prior <- function(n) matrix(stats::rnorm(4 * n), n)
  pairs <- kbr_simulate(prior, function(x) x + 1e-6 * prior(nrow(x)), 300,
    seed = 8, rounds = 3, observation = c(1, 0, -1, 0.5)
  )
  expect_lt(max(pairs$rounds$prior_share[-1]), 0.0021)
})

test_that("rounds are refused where they cannot be", {
  refuse <- function(arg, ...) {
    expect_error(kbr_simulate(tail_prior, noisy_state, 60, ...), arg,
      class = "kb_error_argument"
    )
  }
  refuse("rounds", rounds = 0)
  refuse("rounds", rounds = 4, observation = 1)
  refuse("observation", rounds = 2)
  refuse("observation", observation = 1)
})

test_that("an observation unlike simulations is refused before rounds", {
  done <- 0
  simulate <- function(x) {
    done <<- done + NROW(x)
    cbind(a = x, b = 2 * x)
  }
  for (wrong in list(1, 1:3, c(a = 1, c = 2), c(NA, 1), "a")) {
    done <- 0
    expect_error(
      kbr_simulate(tail_prior, simulate, 200, rounds = 2, observation = wrong),
      "observation", class = "kb_error_argument"
    )
    expect_lte(done, 1)
  }
  wanted <- rbind(c(a = 1, b = 2))
  given <- list(
    c(1, 2), c(b = 2, a = 1), data.frame(c = 0, a = 1, b = 2), rbind(1:2),
    data.frame(b = 2, name = "x", a = 1)
  )
  for (y in given) {
    expect_identical(observation_like(y, simulate(0)), wanted)
  }
})

test_that("failures of the simulator are kept apart", {
  fails <- function(x) ifelse(x > 1, NA, noisy_state(x))
  pairs <- NULL
  expect_warning(
    pairs <- kbr_simulate(tail_prior, fails, 200, seed = 4, batches = 3),
    "failed for", class = "kb_warning_simulator"
  )
  expect_identical(nrow(pairs$x) + nrow(pairs$failed), 200L)
  expect_true(all(pairs$failed > 1))
  expect_true(all(pairs$x <= 1))
  expect_error(kbr_simulate(tail_prior, function(x) NA * x, 20),
    class = "kb_error_simulator"
  )
})

test_that("the support of pairs is that of the fit, unless another is given", {
  prior <- function(n) stats::runif(n, 1, 3)
  pairs <- kbr_simulate(prior, noisy_state, 50, seed = 5, support = c(1, 3))
  expect_equal(unname(kbr(pairs)$settings$support[, 1]), c(1, 3))
  expect_equal(
    unname(kbr(pairs, support = c(0, 4))$settings$support[, 1]), c(0, 4)
  )
  expect_equal(
    unname(kbr(pairs, method = "iw")$settings$support[, 1]), c(1, 3)
  )
})
