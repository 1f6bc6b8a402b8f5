test_that("a seed gives the same data and leaves the generator alone", {
  keep_random_state()
  set.seed(99)
  before <- .Random.seed
  a <- sim_sinc(seed = 3)
  expect_identical(.Random.seed, before)
  expect_identical(a, sim_sinc(seed = 3))
  expect_false(identical(a, sim_sinc(seed = 4)))
  expect_identical(.Random.seed, before)
})

test_that("seed = NULL follows set.seed", {
  keep_random_state()
  set.seed(5)
  a <- sim_friedman(10)
  b <- sim_friedman(10)
  set.seed(5)
  expect_identical(sim_friedman(10), a)
  expect_false(identical(a, b))
})

test_that("a seed means the same for any RNGkind of the session", {
  keep_random_state()
  a <- sim_sinc(seed = 3)
  suppressWarnings(RNGkind("Wichmann-Hill", "Box-Muller", "Rounding"))
  set.seed(1)
  before <- .Random.seed
  expect_identical(sim_sinc(seed = 3), a)
  expect_identical(RNGkind(), c("Wichmann-Hill", "Box-Muller", "Rounding"))
  expect_identical(.Random.seed, before)
})

test_that("an unused generator stays unused", {
  keep_random_state()
  if (exists(".Random.seed", globalenv(), inherits = FALSE)) {
    rm(".Random.seed", envir = globalenv())
  }
  sim_sinc(seed = 3)
  expect_false(exists(".Random.seed", globalenv(), inherits = FALSE))
  draw_seed(3)
  expect_false(exists(".Random.seed", globalenv(), inherits = FALSE))
})

test_that("the generator is restored after an error", {
  keep_random_state()
  set.seed(1)
  before <- .Random.seed
  expect_error(with_local_seed(2, stop("no")), "no")
  expect_identical(.Random.seed, before)
})

test_that("known numbers: the simulators are reproducible across sessions", {
  expect_equal(sim_sinc(4, seed = 1)$x, c(-30, 10, 30, -10) / 3)
  expect_equal(sim_friedman(1, seed = 1)$x1, 0.2655086631)
})

test_that("draw_seed stores the given number, or one that it draws", {
  keep_random_state()
  expect_identical(draw_seed(7), 7L)
  set.seed(2)
  a <- draw_seed(NULL)
  expect_true(is.integer(a) && length(a) == 1)
  set.seed(2)
  expect_identical(draw_seed(NULL), a)
  expect_false(identical(draw_seed(NULL), a))
  for (bad in list(1.5, "a", NA, -1, c(1, 2), Inf)) {
    expect_error(draw_seed(bad), "seed", class = "kb_error_argument")
    expect_error(sim_sinc(seed = bad), "seed", class = "kb_error_argument")
  }
})

test_that("sim_sinc is the sinc function plus noise", {
  d <- sim_sinc(51, sd = 0, order = "given", seed = 1, truth = TRUE)
  expect_identical(names(d), c("x", "y", "f"))
  expect_equal(d$x, seq(-10, 10, length.out = 51))
  expect_identical(d$y, d$f)
  expect_identical(
    sim_sinc(51, sd = 0, order = "given", seed = 1), d[c("x", "y")]
  )
  expect_identical(d$f[d$x == 0], 1)
  away <- d$x != 0
  expect_equal(d$f[away], sin(d$x[away]) / d$x[away])
  shuffled <- sim_sinc(51, seed = 1)
  expect_false(is.unsorted(sort(shuffled$x)))
  expect_true(is.unsorted(shuffled$x))
  expect_setequal(shuffled$x, d$x)
  expect_identical(nrow(sim_sinc(1)), 1L)
  expect_equal(range(sim_sinc(9, range = c(-1, 2))$x), c(-1, 2))
})

test_that("the noise has the requested sd", {
  # (n - 1) s^2 / sd^2 is chi-squared on n - 1 degrees of freedom.
  e <- with(sim_sinc(4000, sd = 0.3, seed = 11, truth = TRUE), y - f)
  p <- stats::pchisq(3999 * stats::var(e) / 0.09, 3999)
  expect_true(p > 5e-5 && p < 1 - 5e-5)
  for (which in 1:3) {
    d <- sim_friedman(4000, which = which, seed = 11, truth = TRUE)
    e <- (d$y - d$f) / c(1, 125, 0.1)[[which]]
    p <- stats::pchisq(3999 * stats::var(e), 3999)
    expect_true(p > 5e-5 && p < 1 - 5e-5)
  }
})

test_that("the range of the second predictor can be the paper's", {
  a <- sim_friedman(50, which = 2, seed = 1)
  b <- sim_friedman(50, which = 2, range = c(40, 560), seed = 1)
  expect_equal(a$x2, pi * b$x2)
  expect_true(all(b$x2 >= 40 & b$x2 <= 560))
  expect_identical(a[c("x1", "x3", "x4")], b[c("x1", "x3", "x4")])
  for (wrong in list(1, c(2, 1), c(0, NA), "a")) {
    expect_error(sim_friedman(5, which = 3, range = wrong), "`range`",
      class = "kb_error_argument"
    )
  }
})

test_that("sim_friedman computes Friedman's functions", {
  d <- sim_friedman(20, which = 1, sd = 0, seed = 1, truth = TRUE)
  expect_identical(names(d), c(paste0("x", 1:10), "y", "f"))
  expect_identical(
    sim_friedman(20, which = 1, sd = 0, seed = 1), d[names(d) != "f"]
  )
  expect_identical(d$y, d$f)
  expect_equal(d$f, with(
    d, 10 * sin(pi * x1 * x2) + 20 * (x3 - 0.5)^2 + 10 * x4 + 5 * x5
  ))
  d <- sim_friedman(20, which = 2, sd = 0, seed = 1)
  expect_identical(names(d), c(paste0("x", 1:4), "y"))
  expect_equal(d$y, with(d, sqrt(x1^2 + (x2 * x3 - 1 / (x2 * x4))^2)))
  d <- sim_friedman(20, p = 6, which = 3, sd = 0, seed = 1)
  expect_identical(ncol(d), 7L)
  expect_equal(d$y, with(d, atan((x2 * x3 - 1 / (x2 * x4)) / x1)))
})

test_that("the noiseless function is no predictor", {
  expect_identical(
    mould_formula(y ~ ., sim_friedman(9, seed = 1))$x_names, paste0("x", 1:10)
  )
  expect_identical(mould_formula(y ~ ., sim_sinc(9, seed = 1))$x_names, "x")
  data <- sim_friedman(30, p = 5, seed = 1)
  kernels <- suppressWarnings(bark(y ~ ., data,
    control = mcmc_control(chains = 1, warmup = 10, iter = 10), seed = 1
  ))
  steps <- suppressWarnings(srvm(y ~ ., data,
    control = smc_control(particles = 20), seed = 1
  ))
  for (fit in list(kernels, steps)) {
    expect_identical(colnames(model.matrix(fit)), paste0("x", 1:5))
  }
})

test_that("the predictors of Friedman's functions have their ranges", {
  d <- sim_friedman(5000, p = 5, which = 2, seed = 2)
  lower <- c(0, 40 * pi, 0, 1, 0)
  upper <- c(100, 560 * pi, 1, 11, 1)
  for (j in 1:5) {
    u <- (d[[j]] - lower[[j]]) / (upper[[j]] - lower[[j]])
    expect_true(all(u >= 0 & u <= 1))
    expect_gt(suppressWarnings(stats::ks.test(u, "punif")$p.value), 1e-5)
  }
})

test_that("bad arguments are named", {
  error <- "kb_error_argument"
  expect_error(sim_sinc(0), "`n`", class = error)
  expect_error(sim_sinc(sd = -1), "sd", class = error)
  expect_error(sim_sinc(order = "sorted"), "order", class = error)
  for (bad in list(c(1, 1), c(2, 1), 1, c(0, Inf), c(NA, 1), "a", NULL)) {
    expect_error(sim_sinc(range = bad), "range", class = error)
  }
  expect_error(sim_sinc(truth = "f"), "truth", class = error)
  expect_error(sim_friedman(5, truth = NULL), "truth", class = error)
  expect_error(sim_friedman(0), "`n`", class = error)
  expect_error(sim_friedman(5, p = 4), "`p`", class = error)
  expect_error(sim_friedman(5, p = 3, which = 2), "`p`", class = error)
  expect_error(sim_friedman(5, which = 4), "which", class = error)
  expect_error(sim_friedman(5, sd = NA), "sd", class = error)
})
