# Checks of observations: p-values of outlier factors, and of observations that
# the posterior predicts.
#
# Null hypothesis: the new point and the others are exchangeable. Bounds on
# counts are binomial, with false alarm below 1e-4 each. Seen to fail: draws of
# pairs with equal weights, references among the others.

simulator <- function(x) {
  cbind(u = x[, 1], v = x[, 1]^2) + 0.5 * stats::rnorm(2 * nrow(x))
}

curve_pairs <- function(n, seed) {
  kbr_simulate(function(n) {
    matrix(stats::rnorm(n), n, dimnames = list(NULL, "rate"))
  }, simulator, n = n, seed = seed)
}

pairs <- curve_pairs(400, 1)
fit <- kbr(pairs)

misfit <- function(expr) {
  suppressWarnings(expr, classes = "kb_warning_misspecified")
}

test_that("the p-value is the rank of the outlier factor", {
  withr::local_seed(1)
  points <- matrix(stats::rnorm(90), 30) %*% matrix(stats::rnorm(9), 3)
  new <- matrix(stats::rnorm(6), 2)
  found <- neighbour_p(new, points, k = 4)
  near <- points[spread_over(30, 15), ]
  rest <- points[-spread_over(30, 15), ]
  # Mahalanobis distances for the covariance of the references
  inverse <- solve(stats::cov(near) * 14 / 15)
  distances <- function(a, to) {
    gaps <- t(to) - a
    sqrt(colSums(gaps * (inverse %*% gaps)))
  }
  own <- vapply(1:15, function(i) {
    sort(distances(near[i, ], near[-i, ]))[[4]]
  }, 0)
  factor <- function(a) {
    d <- distances(a, near)
    more <- mean(own) / 10
    (sort(d)[[4]] + more) / (mean(own[order(d)[1:4]]) + more)
  }
  others <- apply(rest, 1, factor)
  mine <- apply(new, 1, factor)
  expect_equal(found$factor, mine, tolerance = 1e-6)
  expect_equal(found$p, vapply(mine, function(f) {
    (1 + sum(others >= f)) / 16
  }, 0))
  expect_identical(c(found$references, found$others), c(15L, 15L))
})

test_that("p is uniform for heavy tails, few points and ties", {
  withr::local_seed(2)
  size <- 400
  draw <- list(
    heavy = function(n) matrix(stats::rt(2 * n, 1.5), n),
    wide = function(n) matrix(stats::rexp(12 * n), n),
    tied = function(n) matrix(stats::rpois(n, 1), n)
  )
  for (name in names(draw)) {
    p <- replicate(size, neighbour_p(draw[[name]](1), draw[[name]](38))$p)
    # Others are 19: 20 p is whole, and without ties uniform.
    for (level in c(0.05, 0.2, 0.5)) {
      expect_lte(sum(p <= level + 1e-9), stats::qbinom(1 - 1e-4, size, level))
      if (name == "tied") next
      expect_gte(sum(p <= level + 1e-9), stats::qbinom(1e-4, size, level))
    }
  }
})

test_that("columns have two-sided p-values of ranks", {
  points <- cbind(a = c(1:9, 9), b = 10:1)
  p <- column_p(cbind(c(5, 9, 20), c(0, 10, 5.5)), points)
  expect_equal(p[, "a"], c(1, 2 * 3 / 11, 2 / 11))
  expect_equal(p[, "b"], c(2 / 11, 4 / 11, 1))
})

test_that("a point outside the span of the others is far", {
  withr::local_seed(3)
  u <- stats::rnorm(300)
  points <- cbind(u, 2 * u, 5)
  p <- function(...) neighbour_p(rbind(c(...)), points)$p
  expect_gt(p(0.1, 0.2, 5), 0.1)
  expect_equal(p(0.1, 0.25, 5), 1 / 151)
  expect_equal(p(0.1, 0.2, 5.1), 1 / 151)
  # Scale and units do not matter.
  turned <- points %*% matrix(stats::rnorm(9), 3) * 1e-8
  expect_equal(
    neighbour_p(turned[1:9, ], turned)$p, neighbour_p(points[1:9, ], points)$p
  )
})

test_that("large samples are thinned, evenly", {
  points <- matrix(stats::qnorm(((1:30000) * 7919) %% 30011 / 30011))
  found <- neighbour_p(matrix(0), points)
  expect_identical(c(found$references, found$others), c(1000L, 10000L))
})

test_that("observations that no state gives are told", {
  new <- rbind(c(u = 1, v = 1.2), c(3, -3), c(-2, -1.5))
  expect_warning(
    found <- prior_predictive_check(fit, new),
    "2 of 3 observations are unlike", class = "kb_warning_misspecified"
  )
  expect_identical(found$observations$row, 1:3)
  expect_gt(found$observations$p[[1]], 0.1)
  expect_equal(found$observations$p[2:3], c(1, 1) / 201)
  expect_equal(found$columns, column_p(new, pairs$y))
  expect_output(print(found), "Unlike the observations of the fit")
  expect_output(print(found, n = 1), "among 200 of the fit")
  expect_silent(good <- prior_predictive_check(fit, c(u = 1, v = 1.2)))
  expect_output(print(good), "None is unlike")
  gap <- misfit(prior_predictive_check(fit, rbind(new, c(1, NA))))
  expect_identical(gap$observations[1:3, ], found$observations)
  expect_true(is.na(gap$observations$p[[4]]))
  expect_output(print(gap), "NA")
  none <- prior_predictive_check(fit, rbind(c(u = NA_real_, v = 1)))
  expect_true(is.na(none$observations$p))
})

test_that("new observations of the simulator pass", {
  new <- curve_pairs(500, 2)
  found <- misfit(prior_predictive_check(fit, new$y))$observations
  # Given the pairs the rate of p <= 0.01 is that of a beta variable (2, 199).
  rate <- stats::qbeta(1 - 1e-5, 2, 199)
  expect_lte(sum(found$p <= 0.01), stats::qbinom(1 - 1e-5, 500, rate))
  formula <- kbr(rate ~ u + v, data.frame(pairs$x, pairs$y), scale = TRUE)
  expect_equal(
    misfit(prior_predictive_check(formula, data.frame(new$y)))$observations,
    found
  )
})

test_that("draws that are compared come from the posterior", {
  seen <- c(u = 1, v = 1.2)
  rule <- kbr_rule(pairs)
  # Pairs weigh alike in `fit`: here those nearby weigh more.
  local <- fit
  local$adjustment$choice$width <- 0.2
  local <- sealed(local)
  for (fit in list(rule, local)) {
    here <- one_observation(fit, seen)
    states <- here$fit$data$states
    p <- as.vector(predict(fit, rbind(seen), type = "probability"))
    expect_gt(max(p), 2 / 400)
    drawn <- withr::with_seed(4, posterior_states(here, 20000))
    mean <- sum(p * states)
    sd <- sqrt(sum(p * (states - mean)^2))
    expect_lt(abs(mean(drawn) - mean), 4.5 * sd / sqrt(20000))
    # Which states: by chi-squared, those that are expected at least 10 times
    often <- p * 20000 > 10
    count <- tabulate(match(drawn, states), 400)
    chi <- sum((count - 20000 * p)[often]^2 / (20000 * p[often]))
    expect_lt(chi, stats::qchisq(1 - 1e-5, sum(often)))
  }
})

test_that("the posterior predicts what it has seen, or not", {
  seen <- c(u = 1, v = 1.2)
  found <- posterior_predictive_check(fit, seen, simulator, seed = 1)
  expect_gt(found$p, 0.1)
  expect_identical(dim(found$replicated), c(1000L, 2L))
  expect_identical(found$columns$observed, c(1, 1.2))
  expect_equal(found$columns$mean, unname(colMeans(found$replicated)))
  expect_equal(found$columns$p[[1]], 2 * (1 + min(
    sum(found$replicated[, 1] >= 1), sum(found$replicated[, 1] <= 1)
  )) / 1001)
  expect_equal(
    found$p, neighbour_p(rbind(seen), found$replicated)$p
  )
  expect_output(print(found), "The observation is like those")
  # The same states, from another simulator
  off <- posterior_predictive_check(fit, seen, function(x) {
    simulator(x) + 3
  }, seed = 1)
  expect_identical(off$states, found$states)
  expect_lte(off$p, 0.01)
  expect_output(print(off), "The observation is unlike those")
  bad <- posterior_predictive_check(fit, c(u = 2, v = -2), simulator, seed = 1)
  expect_lte(bad$p, 0.02)
})

test_that("draws follow the seed, and columns may have no names", {
  seen <- c(u = 1, v = 1.2)
  set.seed(5)
  before <- .Random.seed
  one <- posterior_predictive_check(fit, seen, simulator, 50, seed = 2)
  expect_identical(.Random.seed, before)
  again <- posterior_predictive_check(fit, seen, function(x) {
    unname(simulator(x))
  }, 50, seed = 2)
  expect_identical(again$replicated, one$replicated)
  frame <- posterior_predictive_check(fit, seen, function(x) {
    as.data.frame(simulator(x))[2:1]
  }, 50, seed = 2)
  expect_equal(frame$replicated, one$replicated)
  vector <- kbr(pairs$x, pairs$y[, "u"])
  found <- posterior_predictive_check(vector, 1, function(x) {
    x[, "rate"] + 0.5 * stats::rnorm(nrow(x))
  }, seed = 1)
  expect_gt(found$p, 0.1)
})

test_that("plots show simulated and observed values", {
  found <- posterior_predictive_check(
    fit, c(u = 2, v = -1), simulator, 100, seed = 1
  )
  panels <- predictive_picture(found)$panels
  expect_length(panels, 2)
  expect_identical(panels[[2]]$layers[[2]]$data$x, -1)
  density <- panels[[1]]$layers[[1]]$data
  expect_equal(
    sum(density$ymax) * diff(density$x[1:2]), 1, tolerance = 0.05
  )
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  expect_identical(plot(found), found)
  skip_if_not_installed("ggplot2")
  expect_s3_class(ggplot2::autoplot(found), "ggplot")
})

test_that("bad input is refused", {
  refused <- function(class, expr) {
    expect_error(expr, class = paste0("kb_error_", class))
  }
  seen <- c(u = 1, v = 1.2)
  refused("argument", prior_predictive_check(fit))
  refused("columns", prior_predictive_check(fit, c(a = 1)))
  refused("infinite", prior_predictive_check(fit, c(u = Inf, v = 1)))
  refused("unknown_argument", prior_predictive_check(fit, seen, k = 3))
  refused("not_defined", prior_predictive_check(3, seen))
  few <- suppressWarnings(kbr(pairs$x[1:9, ], pairs$y[1:9, ]))
  refused("argument", prior_predictive_check(few, seen))
  ask <- function(...) posterior_predictive_check(fit, ...)
  refused("argument", ask())
  refused("argument", ask(seen))
  refused("argument", ask(seen, 3))
  refused("argument", ask(rbind(seen, seen), simulator))
  refused("argument", ask(c(u = 1, v = NA), simulator))
  refused("argument", ask(seen, simulator, ndraws = 19))
  refused("argument", ask(seen, simulator, seed = 0.5))
  refused("simulator", ask(seen, function(x) 1:3))
  refused("simulator", ask(seen, function(x) NA * simulator(x)))
  refused("columns", ask(seen, function(x) cbind(u = x[, 1])))
  refused("unknown_argument", ask(seen, simulator, draws = 5))
  refused("not_defined", posterior_predictive_check(3, seen, simulator))
  gram <- kbr(pairs$x, kernel_y = kernel_matrix(kernel_gaussian(1), pairs$y))
  refused("not_defined", prior_predictive_check(gram, rep(0, 400)))
  chunks <- kbr(kbr_chunks(function(i) pairs, n_chunks = 1))
  refused("not_defined", prior_predictive_check(chunks, seen))
  refused("not_defined", posterior_predictive_check(chunks, seen, simulator))
})
