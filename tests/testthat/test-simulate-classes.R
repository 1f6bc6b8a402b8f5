# Every statistical check fails with probability 1e-5 under its null, the
# documented distribution.

expect_binomial <- function(count, size, prob) {
  p <- stats::pbinom(count, size, prob)
  p_above <- stats::pbinom(count - 1, size, prob, lower.tail = FALSE)
  expect_gt(min(p, p_above), 5e-6)
}

expect_follows <- function(x, cdf, ...) {
  expect_gt(suppressWarnings(stats::ks.test(x, cdf, ...)$p.value), 1e-5)
}

flipping <- list(
  moons = sim_moons, quadratic = sim_quadratic, sphere = sim_sphere
)

test_that("sim_circle classifies by the circle that halves the square", {
  d <- sim_circle(200, p = 4, seed = 1)
  expect_identical(names(d), c(paste0("x", 1:4), "y"))
  expect_identical(levels(d$y), c("0", "1"))
  expect_identical(d$y == "1", d$x1^2 + d$x2^2 <= 2 / pi)
  expect_identical(d, sim_circle(200, p = 4, seed = 1))
  expect_identical(ncol(sim_circle(5)), 3L)
  # One row has one class, but both levels.
  expect_identical(levels(sim_circle(1, seed = 1)$y), c("0", "1"))
})

test_that("sim_circle has uniform predictors and balanced classes", {
  # Null: the count of class 1 is binomial(5000, 1 / 2), the predictors are
  # uniform; each check fails with probability 1e-5.
  d <- sim_circle(5000, p = 3, seed = 2)
  p <- stats::pbinom(sum(d$y == "1"), 5000, 0.5)
  expect_true(p > 5e-6 && p < 1 - 5e-6)
  for (x in d[1:3]) {
    expect_true(all(abs(x) <= 1))
    expect_gt(suppressWarnings(stats::ks.test(x, "punif", -1, 1)$p.value), 1e-5)
  }
})

test_that("simulated classes have both levels, and the true class if asked", {
  predictors <- list(moons = 2, quadratic = 10, sphere = 3)
  for (name in names(flipping)) {
    for (n in c(1, 7)) {
      d <- flipping[[name]](n, seed = 1, truth = TRUE)
      x <- paste0("x", seq_len(predictors[[name]]))
      expect_identical(names(d), c(x, "y", "clean"), info = name)
      expect_identical(flipping[[name]](n, seed = 1), d[c(x, "y")])
      expect_identical(nrow(d), as.integer(n))
      expect_identical(levels(d$y), c("0", "1"))
      expect_identical(d$y, d$clean)
    }
  }
})

test_that("a seed of simulated classes leaves the generator alone", {
  keep_random_state()
  set.seed(99)
  before <- .Random.seed
  for (sim in flipping) {
    d <- sim(20, flips = 0.5, seed = 3)
    expect_identical(.Random.seed, before)
    expect_identical(sim(20, flips = 0.5, seed = 3), d)
    expect_false(identical(sim(20, flips = 0.5, seed = 4), d))
  }
  set.seed(5)
  a <- sim_moons(10)
  b <- sim_moons(10)
  set.seed(5)
  expect_identical(sim_moons(10), a)
  expect_false(identical(a, b))
})

test_that("labels of both classes are flipped at the requested rate", {
  # Null: the flips of each class are binomial with its size and the rate.
  for (sim in flipping) {
    d <- sim(6000, flips = 0.05, seed = 21, truth = TRUE)
    for (rows in split(d, d$clean)) {
      expect_binomial(sum(rows$y != rows$clean), nrow(rows), 0.05)
    }
  }
})

test_that("flips change only labels, and more flips include fewer", {
  for (sim in flipping) {
    flipped_at <- function(rate) sim(300, flips = rate, seed = 2, truth = TRUE)
    none <- flipped_at(0)
    few <- flipped_at(0.1)
    many <- flipped_at(0.3)
    all <- flipped_at(1)
    for (d in list(few, many, all)) {
      expect_identical(d[names(d) != "y"], none[names(none) != "y"])
    }
    flipped <- few$y != few$clean
    expect_true(any(flipped))
    expect_true(all((many$y != many$clean)[flipped]))
    expect_true(all(all$y != all$clean))
  }
})

test_that("the truth of simulated data is no predictor", {
  moons <- sim_moons(40, flips = 0.2, seed = 1)
  fit <- suppressWarnings(kgs(y ~ ., moons,
    control = mcmc_control(chains = 1, warmup = 10, iter = 10), seed = 1
  ))
  expect_identical(colnames(model.matrix(fit)), c("x1", "x2"))
  for (sim in flipping) {
    d <- sim(9, flips = 0.5, seed = 1)
    mould <- mould_formula(y ~ ., d, outcome = "factor")
    expect_identical(mould$x_names, setdiff(names(d), "y"))
  }
})

test_that("without noise the moons are half-circles, uniformly covered", {
  d <- sim_moons(2001, sd = 0, scale = 3, seed = 3)
  k <- as.integer(d$y == "1")
  expect_identical(sum(k), 1000L)
  # Relative to the moon's centre, with the second moon turned to the first.
  x1 <- (1 - 2 * k) * (d$x1 / 3 - k)
  x2 <- (1 - 2 * k) * (d$x2 / 3 - k / 2)
  expect_equal(x1^2 + x2^2, rep(1, 2001))
  expect_true(all(x2 >= 0))
  for (t in split(atan2(x2, x1), k)) {
    expect_follows(t, "punif", 0, pi)
  }
  # Random order: as many changes of class as without memory.
  expect_binomial(sum(k[2 * 1:1000] != k[2 * 1:1000 - 1]), 1000, 1001 / 2001)
})

test_that("the moons' noise is Gaussian with its sd, for any scale", {
  exact <- sim_moons(3000, sd = 0, seed = 4)
  noisy <- sim_moons(3000, seed = 4)
  for (x in c("x1", "x2")) {
    expect_follows(noisy[[x]] - exact[[x]], "pnorm", 0, 0.45)
  }
  noisier <- sim_moons(3000, sd = 0.9, seed = 4)
  expect_equal(noisier$x2 - exact$x2, 2 * (noisy$x2 - exact$x2))
  wide <- sim_moons(3000, scale = 3.2, seed = 4)
  expect_equal(wide$x1 - noisy$x1, exact$x1)
})

test_that("the moons' best classifier has the documented error", {
  # Null: its errors are binomial; densities by the midpoint rule over t.
  d <- sim_moons(4000, seed = 5)
  t <- pi * (seq_len(100) - 0.5) / 100
  density <- function(m1, m2) {
    rowSums(exp(-(outer(d$x1, m1, "-")^2 + outer(d$x2, m2, "-")^2) /
      (2 * 0.45^2)))
  }
  first <- density(1.6 * cos(t), 1.6 * sin(t))
  second <- density(1.6 * (1 - cos(t)), 1.6 * (0.5 - sin(t)))
  expect_binomial(sum((second > first) != (d$y == "1")), 4000, 0.0746)
})

test_that("sim_quadratic classifies by the quadratic function", {
  d <- sim_quadratic(4000, p = 5, seed = 6)
  expect_identical(
    d$y == "1", with(d, x1 + x2 * x3 + 0.5 * x4^2 - 0.5) > 0
  )
  for (x in d[1:5]) {
    expect_follows(x, "pnorm")
  }
  # Given x3 and x4 the function is Gaussian: two dimensions remain.
  given_x4 <- function(x4) {
    vapply(x4, function(x4) {
      stats::integrate(function(x3) {
        stats::pnorm((x4^2 - 1) / 2 / sqrt(1 + x3^2)) * stats::dnorm(x3)
      }, -Inf, Inf)$value
    }, 0) * stats::dnorm(x4)
  }
  positive <- stats::integrate(given_x4, -Inf, Inf)$value
  expect_equal(positive, 0.484022, tolerance = 1e-5)
  expect_binomial(sum(d$y == "1"), 4000, positive)
})

test_that("sim_sphere has points on the sphere and its southern half", {
  d <- sim_sphere(3000, a = 2, b = 3, seed = 7)
  x <- as.matrix(d[1:3])
  expect_equal(rowSums(x^2), rep(1, 3000), tolerance = 1e-14)
  south <- c(0, 0, -1)
  expect_identical(d$y == "1", drop(x %*% south) > 0)
  expect_follows(atan2(d$x2, d$x1) %% (2 * pi) / (2 * pi), "pbeta", 2, 2)
  expect_follows(acos(d$x3) / pi, "pbeta", 3, 3)
})

test_that("sim_sphere has the paper's shapes by default", {
  # Null: binomial counts of points near the poles, of southern points, and of
  # points in the middle quarter of longitudes.
  d <- sim_sphere(3000, seed = 8)
  expect_equal(rowSums(d[1:3]^2), rep(1, 3000), tolerance = 1e-14)
  near <- abs(d$x3) > cos(pi / 10)
  expect_binomial(sum(near), 3000, 2 * stats::pbeta(0.1, 0.1, 0.1))
  expect_binomial(sum(d$y == "1"), 3000, 0.5)
  middle <- abs(atan2(d$x2, -d$x1)) < pi / 4
  share <- diff(stats::pbeta(c(0.375, 0.625), 5, 5))
  expect_binomial(sum(middle), 3000, share)
})

test_that("bad arguments of simulated classes are named", {
  error <- "kb_error_argument"
  expect_error(sim_circle(0), "`n`", class = error)
  expect_error(sim_circle(5, p = 1), "`p`", class = error)
  expect_error(sim_circle(5, seed = 0.5), "seed", class = error)
  for (sim in flipping) {
    expect_error(sim(0), "`n`", class = error)
    expect_error(sim(5, seed = 0.5), "seed", class = error)
    for (bad in list(-0.1, 1.1, NA, "a", c(0, 0.1), NULL)) {
      expect_error(sim(5, flips = bad), "flips", class = error)
    }
  }
  expect_error(sim_moons(5, sd = -1), "sd", class = error)
  expect_error(sim_moons(5, scale = 0), "scale", class = error)
  for (sim in flipping) {
    expect_error(sim(5, truth = NA), "truth", class = error)
  }
  expect_error(sim_quadratic(5, p = 3), "`p`", class = error)
  expect_error(sim_sphere(5, a = 0), "`a`", class = error)
  expect_error(sim_sphere(5, b = -1), "`b`", class = error)
})
