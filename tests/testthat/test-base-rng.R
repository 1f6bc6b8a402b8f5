# The streams of random numbers.
#
# Keys are fixed. Each test_that() on random numbers fails with probability
# below 1e-4 under the null distribution stated there, with p-values corrected
# for their number (Bonferroni).

#' Whole numbers below 2^31 as the words of a key: (seed, major, minor), or
#' (seed, index) for a derived seed. A state has four words.
words <- function(...) sprintf("%x", as.integer(c(...)))

draws <- function(key, what, n, a = 0, b = 0) {
  rng_draws_cpp(key, what, n, a, b)$draws
}

state_after <- function(key, n = 0L, what = "uniform") {
  strsplit(rng_draws_cpp(key, what, n, 1, 1)$state, " ")[[1]]
}

#' The smallest of several p-values, corrected for their number
smallest <- function(p) min(1, min(p) * length(p))

ks <- function(sample, cdf, ...) stats::ks.test(sample, cdf, ...)$p.value

# Two-sided p-value of a mean with known variance, normal by the central limit
mean_p <- function(sample, mean, variance) {
  z <- (mean(sample) - mean) / sqrt(variance / length(sample))
  2 * stats::pnorm(-abs(z))
}

# Golden values --------------------------------------------------------------

# The definition: mix is splitmix64's finaliser; key = mix(mix(mix(seed) ^
# major) ^ minor); word i of the state is mix(key + i * 0x9e3779b97f4a7c15), i =
# 1..4; then xoshiro256++ (Blackman and Vigna); uniform() is the output times
# 2^-64. All of it is integer arithmetic, so that every platform must give these
# values. They were computed by a separate implementation in Python, whose
# xoshiro256++ gives the published sequence 41943041, 58720359,
# 3588806011781223, ... from the state (1, 2, 3, 4).

test_that("a key gives the state of the definition", {
  expect_identical(state_after(words(0, 0, 0)), c(
    "e220a8397b1dcdaf", "6e789e6aa1b965f4", "6c45d188009454f",
    "f88bb8a8724c81ec"
  ))
  expect_identical(state_after(words(2026, 7, 42)), c(
    "2cb070653af49f7e", "7e93810886ee1cbd", "a633574d87d9f8a4",
    "1ad912b990d06938"
  ))
  # Keys of more than 32 bits: seed 2^53, major 2^40 + 1, minor 3.
  expect_identical(state_after(c("20000000000000", "10000000001", "3")), c(
    "8c38e42b21c46f4c", "a88891ccf0f0d6b", "dd1b7a0816c65050",
    "521cef5ca7b5d149"
  ))
  # derive(2026, 3) = mix(mix(2026 ^ G) + 3 G), where G is the constant above.
  expect_identical(state_after(words(2026, 3)), c(
    "499df7ad4d6d4349", "214eb677d8a54c19", "a0e727383b74fb64",
    "6a9a0e4040d877a8"
  ))
})

test_that("the generator is xoshiro256++", {
  published <- c(
    41943041, 58720359, 3588806011781223, 3591011842654386,
    9228616714210784205, 9973669472204895162
  )
  expect_identical(draws(words(1, 2, 3, 4), "uniform", 6), published / 2^64)
  expect_identical(draws(words(2026, 7, 42), "uniform", 5), c(
    0x1.782ca5d32c30dp-1, 0x1.deea116c375b0p-2, 0x1.b5fca7db1c1cfp-1,
    0x1.db23029c36a2bp-2, 0x1.013cc6aaa9802p-1
  ))
  expect_identical(state_after(words(2026, 7, 42), 5L), c(
    "5052d4a3ffccec94", "e7cf8225ca06fa6a", "71891bfc5e7a6407",
    "1bd841840fd705b8"
  ))
})

test_that("index() is Lemire's method on the high words", {
  expect_identical(
    draws(words(2026, 7, 42), "index", 12, 10),
    c(7, 4, 8, 4, 5, 3, 9, 9, 9, 3, 3, 7)
  )
  # 3 * 2^30 rejects a quarter of the words.
  expect_identical(draws(words(2026, 7, 42), "index", 8, 3 * 2^30), c(
    2366684718, 1506534212, 2755575537, 1494651005, 1618397823, 1262746869,
    3050668460, 1073060379
  ))
})

test_that("normals and gammas agree with Boost 1.90", {
  # These follow from the uniforms by Boost.Random's algorithms (a ziggurat;
  # rejection); the last digits also depend on the C library's exp, log and tan.
  # A change here changes every fit with a given seed.
  key <- words(2026, 7, 42)
  near <- function(got, golden) expect_lt(max(abs(got / golden - 1)), 1e-13)
  near(draws(key, "normal", 4), c(
    1.5014072241032681, 0.50377233207684524, 0.81173233157759861,
    0.74965263295361262
  ))
  near(draws(key, "gamma", 3, 2.5), c(
    1.149917912928947, 4.9587909468923357, 1.1942641488742032
  ))
  near(draws(key, "gamma", 3, 0.4), c(
    0.027979403901055772, 1.8266180944239263, 2.2296194972745251
  ))
  near(draws(key, "gamma", 2, 1), c(1.9915467213139999, 0.42925277487318869))
  near(draws(key, "inverse_gamma", 2, 3, 2), c(
    1.243320008527397, 0.34088705883967918
  ))
})

# One stream -----------------------------------------------------------------

test_that("a stream is determined by its key and continues from its state", {
  for (what in c("uniform", "normal", "gamma", "index", "inverse_gamma")) {
    key <- words(11, 2, 5)
    whole <- draws(key, what, 40, 2.5, 3)
    expect_identical(draws(key, what, 40, 2.5, 3), whole)
    # An odd number first: no distribution stores a number.
    part <- rng_draws_cpp(key, what, 7, 2.5, 3)
    state <- strsplit(part$state, " ")[[1]]
    expect_identical(draws(state, what, 33, 2.5, 3), whole[8:40])
  }
})

test_that("uniforms lie in [0, 1) and are uniform", {
  # The word of all ones rounds to 1 and is skipped.
  ones <- c("0", "1", "2", strrep("f", 16))
  expect_lt(draws(ones, "uniform", 1), 1)
  zero <- c("0", "1", "2", "0")
  expect_identical(draws(zero, "uniform", 1), 0)
  u <- draws(words(1, 0, 0), "uniform", 2e5)
  expect_gte(min(u), 0)
  expect_lt(max(u), 1)
  # Null: U(0, 1); Kolmogorov-Smirnov, chi-square of 256 equal cells for
  # leading bits and for the bits below 2^-16, and serial correlation.
  cells <- function(u) tabulate(floor(u * 256) + 1, 256)
  p <- c(
    ks(u, "punif"), stats::chisq.test(cells(u))$p.value,
    stats::chisq.test(cells((u * 2^16) %% 1))$p.value,
    stats::cor.test(u[-1], u[-2e5])$p.value
  )
  expect_gt(smallest(p), 1e-4)
})

test_that("normals are standard normal", {
  z <- draws(words(2, 0, 0), "normal", 2e5)
  # Null: N(0, 1); mean, variance (that of z^2 is 2), fourth moment (96), the
  # shape, and the tail beyond 3.6, which a ziggurat treats separately.
  tail <- 2 * stats::pnorm(-3.6)
  p <- c(
    ks(z, "pnorm"), mean_p(z, 0, 1), mean_p(z^2, 1, 2), mean_p(z^4, 3, 96),
    stats::binom.test(sum(abs(z) > 3.6), 2e5, tail)$p.value,
    stats::cor.test(z[-1], z[-2e5])$p.value
  )
  expect_gt(smallest(p), 1e-4)
})

test_that("gammas have their shape", {
  # Null: Gamma(shape, 1), with mean and variance `shape` and fourth central
  # moment 3 shape^2 + 6 shape.
  shapes <- c(0.1, 0.5, 1, 3, 100)
  p <- vapply(seq_along(shapes), function(i) {
    a <- shapes[[i]]
    g <- draws(words(3, i, 0), "gamma", 1e5, a)
    expect_gt(min(g), 0)
    c(
      ks(g, "pgamma", shape = a), mean_p(g, a, a),
      mean_p((g - a)^2, a, 2 * a^2 + 6 * a)
    )
  }, numeric(3))
  expect_gt(smallest(p), 1e-4)
})

test_that("inverse gammas have their shape and scale", {
  # Null: the reciprocal is Gamma(shape, rate = scale). Mean scale/(shape - 1)
  # and variance mean^2/(shape - 2), if they exist and are well behaved.
  cases <- list(c(0.1, 2), c(1, 0.01), c(3, 5), c(12, 3), c(100, 1e-6))
  p <- vapply(seq_along(cases), function(i) {
    shape <- cases[[i]][[1]]
    scale <- cases[[i]][[2]]
    v <- draws(words(4, i, 0), "inverse_gamma", 1e5, shape, scale)
    mean <- scale / (shape - 1)
    c(
      ks(1 / v, "pgamma", shape = shape, rate = scale),
      if (shape > 10) mean_p(v, mean, mean^2 / (shape - 2)) else 1
    )
  }, numeric(2))
  expect_gt(smallest(p), 1e-4)
})

test_that("index() is uniform", {
  expect_identical(draws(words(5, 0, 0), "index", 100, 1), numeric(100))
  # Null: uniform on 0..n-1; chi-square.
  p <- vapply(c(2, 3, 7, 10, 64, 1000), function(n) {
    j <- draws(words(5, n, 0), "index", 1e5, n)
    expect_true(all(j >= 0 & j < n & j == floor(j)))
    stats::chisq.test(tabulate(j + 1, n))$p.value
  }, 0)
  # If n is of the order of 2^32, a surplus word would fall on every third
  # number: multiplying without rejection gives residues (1/2, 1/4, 1/4).
  j <- draws(words(5, 0, 1), "index", 1e5, 3 * 2^30)
  expect_true(all(j >= 0 & j < 3 * 2^30))
  large <- c(
    stats::chisq.test(tabulate(j %% 3 + 1, 3))$p.value,
    stats::chisq.test(tabulate(floor(j / (3 * 2^24)) + 1, 64))$p.value
  )
  expect_gt(smallest(c(p, large)), 1e-4)
})

# Many streams ---------------------------------------------------------------

test_that("distinct keys give distinct streams", {
  grid <- expand.grid(seed = 0:3, major = 0:15, minor = 0:31)
  states <- vapply(seq_len(nrow(grid)), function(i) {
    paste(state_after(words(unlist(grid[i, ]))), collapse = " ")
  }, "")
  derived <- vapply(0:511, function(i) {
    paste(state_after(words(i %% 4, i %/% 4)), collapse = " ")
  }, "")
  expect_identical(anyDuplicated(c(states, derived)), 0L)
  # The three numbers of a key are not interchangeable.
  orders <- list(
    c(1, 2, 3), c(1, 3, 2), c(2, 1, 3), c(2, 3, 1), c(3, 1, 2), c(3, 2, 1)
  )
  first <- vapply(orders, function(key) draws(words(key), "uniform", 1), 0)
  expect_identical(anyDuplicated(first), 0L)
})

test_that("the first numbers of neighbouring streams are uniform", {
  # Null: independent U(0, 1) over keys; in the order of the keys, neighbours
  # are uncorrelated. Streams of one step differ only in the minor number.
  first <- function(n, ...) {
    vapply(seq_len(n) - 1, function(i) draws(words(..., i), "uniform", 1), 0)
  }
  by_minor <- first(4000, 7, 3)
  by_major <- vapply(0:3999, function(t) {
    draws(words(7, t, 0), "uniform", 1)
  }, 0)
  by_seed <- vapply(0:3999, function(s) draws(words(s, 0, 0), "uniform", 1), 0)
  by_derived <- first(4000, 7)
  p <- vapply(list(by_minor, by_major, by_seed, by_derived), function(u) {
    c(
      ks(u, "punif"), stats::cor.test(u[-1], u[-4000])$p.value,
      stats::chisq.test(tabulate(floor(u * 64) + 1, 64))$p.value
    )
  }, numeric(3))
  expect_gt(smallest(p), 1e-4)
})

test_that("neighbouring streams are uncorrelated", {
  # Null: independent N(0, 1). sqrt(n) r is about N(0, 1) for each pair of
  # streams and each lag -2..2.
  keys <- expand.grid(seed = 1:2, major = c(0:2, 8), minor = 0:7)
  n <- 2000
  z <- vapply(seq_len(nrow(keys)), function(i) {
    draws(words(unlist(keys[i, ])), "normal", n + 2)
  }, numeric(n + 2))
  now <- scale(z[3:(n + 2), ])
  r <- lapply(0:2, function(lag) {
    crossprod(now, scale(z[3:(n + 2) - lag, ])) / n
  })
  r <- c(r[[1]][upper.tri(r[[1]])], unlist(r[-1]))
  expect_length(r, choose(64, 2) + 2 * 64^2)
  expect_gt(smallest(2 * stats::pnorm(-abs(sqrt(n) * r))), 1e-4)
  # ... and their squares together about chi-square (mean 1, variance 2).
  expect_gt(mean_p(n * r^2, 1, 2), 1e-4)
})

test_that("R's own generator is left alone", {
  before <- withr::with_seed(1, {
    draws(words(1, 1, 1), "normal", 10)
    stats::runif(1)
  })
  expect_identical(before, withr::with_seed(1, stats::runif(1)))
})
