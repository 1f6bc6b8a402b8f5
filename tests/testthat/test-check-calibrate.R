# Calibration of posteriors: the levels of true states, the test of uniformity,
# and the fits of blocks.
#
# Null hypothesis of the tests of p: u is uniform, as for an exact posterior.
# Bounds on counts are binomial, with false alarm below 1e-4 each. Seen to fail:
# blocks predicted by fits with them, weights left out of the prior's score.

#' States a and b, observations a + e and b + e, e of sd 0.7
normal_pairs <- function(n, seed) {
  kbr_simulate(
    function(n) matrix(rnorm(2 * n), n, dimnames = list(NULL, c("a", "b"))),
    function(x) x + 0.7 * rnorm(length(x)), n = n, seed = seed
  )
}

#' The levels of true states in their exact posteriors, which may be distorted:
#' standard deviation times `wide`, mean plus `shift` standard deviations
exact_levels <- function(pairs, wide = 1, shift = 0) {
  sd <- sqrt(0.49 / 1.49)
  below <- stats::pnorm(pairs$x, pairs$y / 1.49 + shift * sd, wide * sd)
  colnames(below) <- c("a", "b")
  list(below = below, at = 0 * below, crps = 1 + below, prior_crps = 2 + below)
}

quietly <- function(expr) suppressWarnings(expr, classes = "kb_warning")

test_that("levels and scores are those of the weighted states", {
  withr::local_seed(1)
  for (trial in 1:20) {
    z <- sort(sample(5, 8, TRUE))
    w <- stats::rexp(8)
    w <- w / sum(w)
    x <- sample(c(0:6, 2.5), 1)
    spread <- sum(outer(w, w) * abs(outer(z, z, "-"))) / 2
    expect_equal(
      state_levels(z, w, x),
      c(
        below = sum(w[z < x]), at = sum(w[z == x]),
        crps = sum(w * abs(z - x)) - spread
      )
    )
  }
  expect_equal(state_levels(3, 1, 5), c(below = 1, at = 0, crps = 2))
})

test_that("the statistic is the smallest two-sided binomial probability", {
  withr::local_seed(2)
  u <- stats::runif(30)^1.5
  null <- uniform_counts(30)
  expect_equal(null$grid, (1:29) / 30)
  plain <- min(vapply(null$grid, function(z) {
    k <- sum(u <= z)
    2 * min(sum(stats::dbinom(0:k, 30, z)), sum(stats::dbinom(k:30, 30, z)))
  }, 0))
  expect_equal(
    uniform_p(u, null), (1 + sum(null$statistic <= plain + 1e-12)) / 1000
  )
})

test_that("p is 0.05 or less if and only if the curve leaves the band", {
  withr::local_seed(3)
  left <- kept <- 0
  for (trial in 1:200) {
    u <- stats::rbeta(50, 0.9, 1.2)
    null <- uniform_counts(50)
    band <- uniform_band(null)
    share <- findInterval(band$x, sort(u)) / 50
    outside <- any(share < band$lower - 1e-9 | share > band$upper + 1e-9)
    expect_identical(uniform_p(u, null) <= 0.05, outside)
    left <- left + outside
    kept <- kept + !outside
  }
  expect_gt(min(left, kept), 20)
})

test_that("the exact posterior is refused as often as the level says", {
  withr::local_seed(4)
  p <- replicate(400, {
    pairs <- list(x = matrix(rnorm(100), 50))
    pairs$y <- pairs$x + 0.7 * rnorm(100)
    found <- new_calibration(exact_levels(pairs))$states
    c(found$p, min(found$p_adjusted))
  })
  for (level in c(0.05, 0.2)) {
    for (state in 1:2) {
      # Not above the level, and near it: the statistic has many values.
      expect_lte(sum(p[state, ] <= level), stats::qbinom(1 - 1e-4, 400, level))
      expect_gte(
        sum(p[state, ] <= level), stats::qbinom(1e-4, 400, 0.8 * level)
      )
    }
    expect_lte(sum(p[3, ] <= level), stats::qbinom(1 - 1e-4, 400, level))
  }
})

test_that("distortions of the exact posterior are found and named", {
  pairs <- normal_pairs(1000, 5)
  found <- function(...) new_calibration(exact_levels(pairs, ...), seed = 1)
  expect_identical(found()$states$problem, c("", ""))
  expect_output(print(found()), "No deviation from calibration was found")
  for (case in list(
    list(0.7, 0, "too narrow"), list(1.5, 0, "too wide"),
    list(1, -0.4, "too low"), list(1, 0.4, "too high")
  )) {
    bad <- found(case[[1]], case[[2]])
    expect_identical(bad$states$problem, rep(case[[3]], 2))
    expect_lte(max(bad$states$p_adjusted), 0.01)
    expect_output(print(bad), paste("a: posteriors are", case[[3]]))
  }
  # Only the shape: of heavier tails, of a smaller middle
  named <- function(score) {
    u <- matrix(stats::pnorm(score), dimnames = list(NULL, "a"))
    new_calibration(
      list(below = u, at = 0 * u, crps = u, prior_crps = u), seed = 1
    )$states$problem
  }
  even <- stats::ppoints(1000)
  t3 <- stats::qt(even, 3)
  expect_identical(named(0.7 * t3), "too narrow in the tails")
  peaked <- stats::qnorm(even) * abs(stats::qnorm(even))^0.4
  light <- pmax(pmin(peaked, 1.9), -1.9)
  expect_identical(
    named(light / stats::sd(light)), "too wide in the middle"
  )
  both <- found(0.6, 0.5)
  expect_output(print(both), "too narrow and too high")
})

test_that("coverage is that of the distorted normal intervals", {
  pairs <- normal_pairs(2000, 6)
  found <- new_calibration(exact_levels(pairs, 0.5), seed = 1)$coverage
  half <- 0.5 * stats::qnorm((1 + found$level) / 2)
  exact <- 2 * stats::pnorm(half) - 1
  expect_lte(
    max(abs(found$coverage - exact) / sqrt(exact * (1 - exact) / 2000)), 4.5
  )
  expect_equal(found$se, sqrt(found$level * (1 - found$level) / 2000))
})

test_that("scores are averaged, and skill is their ratio", {
  pairs <- normal_pairs(30, 7)
  levels <- exact_levels(pairs)
  levels$below[3, 1] <- NA
  found <- new_calibration(levels, seed = 1)
  expect_identical(found$lost, 1L)
  expect_identical(nrow(found$pit), 29L)
  expect_equal(found$states$crps, unname(colMeans(levels$crps[-3, ])))
  expect_equal(
    found$states$skill, 1 - found$states$crps / (1 + found$states$crps)
  )
  levels$below[1:12, ] <- NA
  expect_error(new_calibration(levels), class = "kb_error_weights")
})

test_that("a fit of rows is kbr() of these, with the same kernels", {
  pairs <- normal_pairs(90, 8)
  for (method in c("kbr", "iw")) {
    fit <- kbr(pairs, method = method, eps = 0.01, delta = 0.02, scale = TRUE)
    rows <- 1:60
    part <- fit_rows(fit, rows)
    part$settings$scaling <- NULL
    part <- sealed(part)
    again <- kbr(pairs$x[rows, ], pairs$y[rows, ],
      kernel_x = fit$features$states$kernel,
      kernel_y = fit$features$observations$kernel, method = method,
      eps = 0.015, delta = if (method == "kbr") 0.03 else 0.02
    )
    again$data <- Map(function(m, s) scaling_x(s, m), again$data,
      fit$settings$scaling
    )
    again <- sealed(again)
    again <- kbr(again$data$states, again$data$observations,
      kernel_x = fit$features$states$kernel,
      kernel_y = fit$features$observations$kernel, method = method,
      eps = 0.015, delta = again$settings$delta
    )
    expect_equal(part$mu, again$mu)
    expect_equal(
      abs(part$posterior$gain), abs(again$posterior$gain), tolerance = 1e-6
    )
  }
})

test_that("each pair of the fit is predicted without its block", {
  pairs <- normal_pairs(60, 9)
  fit <- kbr_rule(pairs)
  found <- calibrate(fit, folds = 3, seed = 1)
  plain <- lapply(1:3, function(block) {
    held <- (20 * block - 19):(20 * block)
    part <- quietly(kbr_rule(pairs$x[-held, ], pairs$y[-held, ],
      kernel_x = fit$features$states$kernel,
      kernel_y = fit$features$observations$kernel
    ))
    p <- quietly(predict(part, pairs$y[held, ], type = "probability"))
    vapply(1:2, function(j) {
      vapply(1:20, function(i) {
        sum(p[i, part$data$states[, j] < pairs$x[held[[i]], j]])
      }, 0)
    }, numeric(20))
  })
  expect_equal(unname(found$pit), do.call(rbind, plain), tolerance = 1e-6)
  expect_identical(found$folds, 3L)
  # Blocks without a chosen pair are not predicted.
  expect_identical(nrow(calibrate(fit, n = 20, folds = 60)$pit), 20L)
})

test_that("workers change nothing", {
  fit <- kbr_rule(normal_pairs(60, 19))
  alone <- calibrate(fit, folds = 2, seed = 1)
  local_workers()
  expect_identical(calibrate(fit, folds = 2, seed = 1), alone)
})

test_that("new pairs check the fit itself", {
  fit <- kbr_rule(normal_pairs(80, 10))
  new <- normal_pairs(40, 11)
  found <- calibrate(fit, new, seed = 1)
  p <- predict(fit, new$y, type = "probability")
  below <- vapply(1:40, function(i) {
    sum(p[i, fit$data$states[, "b"] < new$x[i, 2]])
  }, 0)
  expect_equal(unname(found$pit[, "b"]), below)
  prior <- mean(vapply(new$x[, 2], function(x) {
    z <- fit$data$states[, "b"]
    mean(abs(z - x)) - mean(abs(outer(z, z, "-"))) / 2
  }, 0))
  expect_equal(found$states$prior_crps[[2]], prior)
  expect_null(found$folds)
  # A list, vectors, fewer pairs; the prior of an update.
  one <- kbr_rule(fit$data$states[, 1], fit$data$observations[, 1])
  fewer <- calibrate(one, list(x = new$x[, 1], y = new$y[, 1]), n = 20)
  expect_identical(nrow(fewer$pit), 20L)
  tilted <- update(one, prior = list(points = c(-1, 0, 1)))
  ask <- quietly(calibrate(tilted, list(x = new$x[, 1], y = new$y[, 1])))
  expect_s3_class(ask, "kb_calibration")
  expect_error(calibrate(tilted), class = "kb_error_argument")
})

test_that("skill is relative to the prior with its weights", {
  pairs <- normal_pairs(60, 20)
  fit <- kbr_rule(pairs$x[, 1], pairs$y[, 1])
  z <- c(-1, 0, 1)
  w <- c(1, 2, 5) / 8
  weighted <- update(fit, prior = list(points = z, weights = 8 * w))
  found <- quietly(calibrate(
    weighted, list(x = pairs$x[, 1], y = pairs$y[, 1]), seed = 1
  ))
  apart <- sum(outer(w, w) * abs(outer(z, z, "-"))) / 2
  wanted <- mean(abs(outer(pairs$x[, 1], z, "-")) %*% w) - apart
  expect_identical(found$lost, 0L)
  expect_equal(found$states$prior_crps, wanted)
})

test_that("a state that is a point of the posterior has a random level", {
  x <- rep(0:1, 30)
  y <- withr::with_seed(12, x + 0.5 * stats::rnorm(60))
  fit <- kbr_rule(x, y)
  found <- calibrate(fit, seed = 1)
  again <- calibrate(fit, seed = 2)
  expect_gt(min(abs(found$pit - again$pit)), 0)
  expect_identical(calibrate(fit, seed = 1), found)
  set.seed(5)
  before <- .Random.seed
  calibrate(fit, seed = 1)
  expect_identical(.Random.seed, before)
})

test_that("fits of kbr(): exact ones pass, overconfident ones do not", {
  pairs <- normal_pairs(400, 13)
  one <- list(x = pairs$x[, 1], y = pairs$y[, 1])
  # A constant kernel: the posterior is the prior, exact if y says nothing. The
  # levels are ranks of the pairs among themselves, more even than independent
  # ones: of 40 seeds the smallest p is 0.45.
  idle <- kbr_rule(one$x, normal_pairs(400, 14)$y[, 1],
    kernel_y = kernel_constant()
  )
  exact <- calibrate(idle, seed = 1)
  expect_identical(exact$states$problem, "")
  expect_lt(abs(exact$states$skill), 0.02)
  usual <- calibrate(kbr_rule(one$x, one$y), seed = 1)
  expect_gt(usual$states$skill, 0.3)
  narrow <- quietly(kbr_rule(one$x, one$y, kernel_y = kernel_gaussian(0.02)))
  bad <- quietly(calibrate(narrow, seed = 1))
  expect_match(bad$states$problem, "too narrow")
  expect_lt(bad$coverage$coverage[[3]], usual$coverage$coverage[[3]] - 0.15)
})

test_that("plots show the curve and its band", {
  found <- new_calibration(exact_levels(normal_pairs(200, 15)), seed = 1)
  picture <- pit_picture(found)
  expect_length(picture$panels, 2)
  layers <- picture$panels[[2]]$layers
  curve <- layers[[3]]$data
  u <- found$pit[, "b"]
  at <- 0.37
  here <- which.min(abs(curve$x - at))
  expect_equal(curve$y[[here]], mean(u <= at) - at)
  expect_equal(range(curve$y[c(1, nrow(curve))]), c(0, 0))
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  expect_identical(plot(found), found)
  expect_error(plot(found, foo = 1), class = "kb_error_unknown_argument")
  skip_if_not_installed("ggplot2")
  expect_s3_class(ggplot2::autoplot(found), "ggplot")
})

test_that("bad input is refused", {
  pairs <- normal_pairs(30, 16)
  fit <- kbr_rule(pairs)
  refused <- function(class, ...) {
    expect_error(calibrate(fit, ...), class = paste0("kb_error_", class))
  }
  refused("argument", n = 19)
  refused("argument", folds = 1)
  refused("argument", folds = 31)
  refused("argument", pairs, folds = 2)
  refused("argument", pairs = pairs$x)
  refused("argument", pairs = list(x = pairs$x))
  refused("argument", pairs = list(x = pairs$x[1:9, ], y = pairs$y[1:9, ]))
  refused("argument", pairs = list(x = pairs$x[1:9, ], y = pairs$y))
  refused("dimension", pairs = list(x = pairs$x[, 1], y = pairs$y))
  refused("columns", pairs = list(x = pairs$x, y = pairs$y[, 1]))
  refused("missing", pairs = list(
    x = pairs$x, y = rbind(pairs$y[-1, ], NA)
  ))
  refused("argument", seed = "a")
  refused("argument", progress = 2)
  refused("unknown_argument", ndraws = 5)
  expect_error(calibrate(3), class = "kb_error_not_defined")
  expect_error(calibrate(kbr_rule(pairs$x[1:9, ], pairs$y[1:9, ])),
    class = "kb_error_argument"
  )
  gram <- kbr_rule(pairs$x, kernel_y = kernel_matrix(kernel_gaussian(1), pairs$y))
  expect_error(calibrate(gram), class = "kb_error_not_defined")
  chunks <- kbr_chunks(function(i) pairs, n_chunks = 1)
  expect_error(calibrate(kbr_rule(chunks)), class = "kb_error_not_defined")
})

test_that("kernel matrices are checked with pairs", {
  pairs <- normal_pairs(50, 17)
  new <- normal_pairs(25, 18)
  kernel <- kernel_gaussian(1)
  gram <- kbr_rule(pairs$x, kernel_y = kernel_matrix(kernel, pairs$y), eps = 0.01)
  points <- kbr_rule(pairs, kernel_y = kernel, eps = 0.01)
  expect_equal(
    calibrate(gram, list(
      x = new$x, y = kernel_matrix(kernel, new$y, pairs$y)
    ), seed = 1)$pit,
    calibrate(points, new, seed = 1)$pit,
    tolerance = 1e-6, ignore_attr = TRUE
  )
})

test_that("adjusted posteriors are checked where they are", {
  # Conjugate normal states: the posteriors are right, so that p is below 0.01
  # in one of a hundred choices of the seed.
  draw <- function(n, seed) {
    x <- normal_points(n, 2, seed)
    list(x = x, y = x + 0.7 * normal_points(n, 2, seed + 100))
  }
  pairs <- draw(600, 1)
  fit <- kbr(pairs$x, pairs$y)
  new <- draw(200, 2)
  found <- calibrate(fit, new, n = 200, seed = 1)
  expect_true(all(found$states$p_adjusted > 0.01))
  levels <- posterior_levels(fit, new$x, kbr_seen(fit, new$y))
  at <- posterior_at(fit, observe(
    fit, scaling_x(fit$settings$scaling$observations, new$y)
  ), 5)
  expect_equal(
    levels$below[5, 2],
    sum(at$weights[at$data$states[, 2] < new$x[5, 2]]),
    ignore_attr = TRUE
  )
  narrow <- fit
  narrow$adjustment$residual <- narrow$adjustment$residual / 2
  narrow <- sealed(narrow)
  expect_match(
    calibrate(narrow, new, n = 200, seed = 1)$states$problem, "too narrow"
  )
})
