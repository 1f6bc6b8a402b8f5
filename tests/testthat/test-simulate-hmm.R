# The next point of the curve from each state, written with complex numbers.
next_on_curve <- function(states, step, radius) {
  z <- complex(real = states[, 1], imaginary = states[, 2])
  turned <- z / Mod(z) * exp(1i * step)
  z <- radius(Arg(turned)) * turned
  cbind(Re(z), Im(z))
}

# (n - 1) s^2 / sd^2 is chi-squared on n - 1 degrees of freedom; fails with
# probability 1e-4.
expect_sd <- function(e, sd) {
  p <- stats::pchisq((length(e) - 1) * stats::var(e) / sd^2, length(e) - 1)
  expect_true(p > 5e-5 && p < 1 - 5e-5)
}

one <- function(theta) 1
wave <- function(theta) 1 + 0.4 * sin(8 * theta)

test_that("without noise the states move around on their curve", {
  for (model in list(
    list(sim = sim_rotation, step = 0.3, radius = one),
    list(sim = sim_oscillation, step = 0.4, radius = wave)
  )) {
    d <- model$sim(60, sd_state = 0, sd_observation = 0, seed = 2)
    expect_named(d, c("states", "observations"))
    expect_identical(dimnames(d$states), list(NULL, c("u", "v")))
    expect_identical(dimnames(d$observations), list(NULL, c("y1", "y2")))
    expect_equal(d$observations, d$states, ignore_attr = TRUE)
    following <- next_on_curve(d$states[-60, ], model$step, model$radius)
    expect_equal(d$states[-1, ], following, ignore_attr = TRUE)
    theta <- atan2(d$states[, 2], d$states[, 1])
    expect_equal(sqrt(rowSums(d$states^2)), rep_len(model$radius(theta), 60))
    # The full circle, not only the half that arctan(v / u) covers.
    expect_true(all(table(cut(theta, pi * c(-1, -0.5, 0, 0.5, 1))) > 5))
  }
})

test_that("the noise of motion around the origin has the requested sd", {
  for (model in list(
    list(sim = sim_rotation, step = 0.3, radius = one),
    list(sim = sim_oscillation, step = 0.4, radius = wave)
  )) {
    d <- model$sim(3000, seed = 11)
    following <- next_on_curve(d$states[-3000, ], model$step, model$radius)
    z <- d$states[-1, ] - following
    w <- d$observations - d$states
    for (j in 1:2) {
      expect_sd(z[, j], 0.2)
      expect_sd(w[, j], 0.2)
    }
    expect_gt(stats::cor.test(z[, 1], z[, 2])$p.value, 1e-4)
    expect_gt(stats::cor.test(w[-1, 1], z[, 1])$p.value, 1e-4)
  }
  d <- sim_rotation(3000, step = -1, sd_state = 0.5, sd_observation = 2,
    seed = 12
  )
  expect_sd(d$states[-1, 2] - next_on_curve(d$states[-3000, ], -1, one)[, 2],
    0.5
  )
  expect_sd(d$observations[, 2] - d$states[, 2], 2)
})

test_that("the start of the rotation is uniform on the circle", {
  start <- vapply(1:2000, function(seed) {
    sim_rotation(1, seed = seed)$states
  }, c(0, 0))
  theta <- atan2(start[2, ], start[1, ])
  expect_gt(stats::ks.test(theta, "punif", -pi, pi)$p.value, 1e-4)
  centre <- start - rbind(cos(theta), sin(theta))
  expect_lt(max(abs(rowMeans(centre))), 0.05)
})

test_that("the linear model is an autoregression, stationary from the start", {
  d <- sim_linear_hmm(4000, seed = 3)
  expect_identical(dimnames(d$states), list(NULL, "x"))
  expect_identical(dimnames(d$observations), list(NULL, "y"))
  expect_sd(d$states[-1, ] - 0.8 * d$states[-4000, ], 0.6)
  expect_sd(d$observations - d$states, 0.7)
  start <- vapply(1:2000, function(seed) {
    sim_linear_hmm(1, coef = -0.9, sd_state = 2, seed = seed)$states[[1]]
  }, 0)
  expect_sd(start, 2 / sqrt(1 - 0.81))
  expect_gt(stats::ks.test(start, "pnorm", 0, sd(start))$p.value, 1e-4)
  x <- sim_linear_hmm(9, coef = 0.5, sd_state = 1e-8, seed = 1)$states
  expect_lt(max(abs(x)), 1e-6)
})

test_that("a seed gives the same data, and states for any observations", {
  keep_random_state()
  for (sim in list(sim_rotation, sim_oscillation, sim_linear_hmm)) {
    set.seed(99)
    before <- .Random.seed
    d <- sim(20, seed = 3)
    expect_identical(.Random.seed, before)
    expect_identical(sim(20, seed = 3), d)
    expect_false(identical(sim(20, seed = 4), d))
    expect_identical(sim(20, sd_observation = 0, seed = 3)$states, d$states)
    expect_false(identical(sim(20), sim(20)))
    set.seed(5)
    a <- sim(3)
    set.seed(5)
    expect_identical(sim(3), a)
    expect_identical(lapply(sim(1, seed = 1), nrow), list(
      states = 1L, observations = 1L
    ))
  }
})

test_that("known numbers: the same across sessions", {
  # R's first uniform number at seed 1 gives theta; no noise.
  theta <- pi * (2 * 0.2655086631 - 1)
  x <- sim_rotation(1, sd_state = 0, seed = 1)$states
  expect_equal(as.vector(x), c(cos(theta), sin(theta)))
  expect_equal(sim_linear_hmm(1, seed = 1)$states[[1]], -0.6264538107)
})

test_that("bad arguments are named", {
  error <- "kb_error_argument"
  for (sim in list(sim_rotation, sim_oscillation, sim_linear_hmm)) {
    for (bad in list(0, 1.5, NA, "a", c(1, 2), NULL)) {
      expect_error(sim(bad), "`n`", class = error)
    }
    for (bad in list(-1, NA, Inf, "a", c(1, 2), NULL)) {
      expect_error(sim(3, sd_state = bad), "sd_state", class = error)
      expect_error(sim(3, sd_observation = bad), "sd_observation",
        class = error
      )
    }
    expect_error(sim(3, seed = 0.5), "seed", class = error)
  }
  expect_error(sim_rotation(3, step = Inf), "step", class = error)
  expect_error(sim_oscillation(3, step = "a"), "step", class = error)
  for (bad in list(1, -1, NA, "a")) {
    expect_error(sim_linear_hmm(3, coef = bad), "coef", class = error)
  }
})
