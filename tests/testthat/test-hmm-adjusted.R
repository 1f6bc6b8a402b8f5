# kbr_hmm(method = "adjusted"): its particle filter against exact filters of
# linear Gaussian models, and what it learns against them.

# A model with known regressions: x' = a x + b u + s e, y = h x + r, where r has
# standard deviation `sd` and correlation `memory` with the one before
linear_model <- function(a = 0.8, s = 0.6, sd = 0.7, memory = 0, guided = TRUE,
                         b = 0, h = 1) {
  line <- function(slope) {
    list(kernel = NULL, sets = list(list(
      along = matrix(0, 0, 1), slope = cbind(slope), intercept = 0
    )))
  }
  known <- seq(-3, 3, 0.01)
  list(
    space = state_space("euclidean", "x"), states = cbind(x = known),
    unit = list(center = 0, scale = 1), inflate = 1, ends = no_ends,
    evidence = no_evidence,
    guided = guided,
    observed = list(
      summary = if (guided) list(), error = line(if (guided) h - 1 else h),
      gain = matrix(h),
      # The second regressor is the logarithm of how little is known.
      spread = c(line(c(0, 0)), list(
        known = 1, axes = matrix(1 / sd), signal = 0
      )),
      cov = matrix(sd^2), memory = memory
    ),
    moves = list(
      lag = 0L, pace = 1, irregular = FALSE, regression = line(c(a - 1, b)),
      inputs = list(center = 0, scale = 1), cov = matrix(s^2), known = 1,
      signal = 0,
      last = matrix(0, length(known), 1)
    )
  )
}

#' Means and variances of x given y up to t: Kalman filter of (x, r)
#' @param start Variance of x at the first time, about 0.
exact_filter <- function(y, u, a = 0.8, s = 0.6, sd = 0.7, memory = 0, b = 0,
                         h = 1, start = 3) {
  move <- diag(c(a, memory))
  noise <- diag(c(s^2, sd^2 * (1 - memory^2)))
  m <- c(0, 0)
  v <- diag(c(start, sd^2))
  out <- matrix(0, length(y), 2)
  for (t in seq_along(y)) {
    if (t > 1) {
      m <- c(move %*% m) + c(b * u[[t - 1]], 0)
      v <- move %*% v %*% t(move) + noise
    }
    if (!is.na(y[[t]])) {
      seen <- c(h, 1)
      gain <- c(v %*% seen) / c(seen %*% v %*% seen)
      m <- m + gain * (y[[t]] - sum(seen * m))
      v <- v - gain %o% c(seen %*% v)
    }
    out[t, ] <- c(m[[1]], v[1, 1])
  }
  out
}

# Errors of particle means and log variances from the exact ones, in standard
# errors over independent runs
filter_errors <- function(model, y, u, wanted, size = 2000, runs = 20) {
  start <- list(points = cbind(x = stats::qnorm(ppoints(4000)) * sqrt(3)))
  start$weights <- rep(1 / 4000, 4000)
  seen <- list(
    y = cbind(y), variance = rep(1, length(y)), gap = rep(1, length(y)),
    inputs = cbind(c(0, u)[seq_along(y)])
  )
  found <- vapply(seq_len(runs), function(run) {
    clouds <- filter_particles(
      model, seen, NULL, size, 1000 * run + seq_along(y), start = start
    )
    x <- vapply(clouds, function(cloud) cloud$states[, 1], numeric(size))
    cbind(colMeans(x), log(apply(x, 2, stats::var)))
  }, matrix(0, length(y), 2))
  wanted[, 2] <- log(wanted[, 2])
  error <- apply(found, 1:2, mean) - wanted
  error / apply(found, 1:2, stats::sd) * sqrt(runs)
}

# Null: errors are t with 19 degrees of freedom; of 80 numbers a limit of 5.5
# is passed with probability 2e-3 at most, over all models 2e-2.
test_that("the particle filter agrees with exact filters", {
  set.seed(3)
  y <- c(0.3, 1.2, -0.5, NA, 2, 1.1, NA, NA, -1, 0.2)
  u <- rnorm(10)
  for (guided in c(TRUE, FALSE)) {
    for (memory in c(0, 0.7)) {
      h <- if (memory > 0) 0.4 else 1
      model <- linear_model(memory = memory, guided = guided, b = 0.5, h = h)
      wanted <- exact_filter(y, u, memory = memory, b = 0.5, h = h)
      z <- filter_errors(model, y, u, wanted)
      expect_lt(max(abs(z)), 5.5)
      # The test sees a filter that forgets the residual before.
      if (memory > 0) {
        model$observed$memory <- 0
        expect_gt(max(abs(filter_errors(model, y, u, wanted))), 8)
      }
    }
  }
})

# Null as above, of 30 numbers.
test_that("where less is known, moves and observations vary as targets do", {
  set.seed(4)
  y <- c(0.3, 1.2, -0.5, NA, 2, 1.1, NA, NA, -1, 0.2)
  for (guided in c(TRUE, FALSE)) {
    # Linear regressions know nothing: 1 - 0 times the signal is added.
    model <- linear_model(guided = guided, b = 0)
    model$moves[c("known", "signal")] <- list(0, 3)
    wanted <- exact_filter(y, numeric(10), s = 2 * 0.6)
    expect_lt(max(abs(filter_errors(model, y, numeric(10), wanted))), 5.5)
  }
  model$observed$spread[c("known", "signal")] <- list(0, 3)
  wanted <- exact_filter(y, numeric(10), s = 2 * 0.6, sd = 2 * 0.7)
  expect_lt(max(abs(filter_errors(model, y, numeric(10), wanted))), 5.5)
})

test_that("inflated moves are not forecast at once", {
  # A random walk whose noise is inflated tenfold: variances of steps without
  # an observation are 1, 3, 5, 7, 9, 10, 10 times that of the walk.
  model <- linear_model(a = 1, s = 0.5)
  model$inflate <- 10
  start <- list(points = cbind(x = 0), weights = 1)
  seen <- list(
    y = cbind(rep(NA_real_, 8)), variance = rep(1, 8), gap = rep(1, 8),
    inputs = cbind(numeric(8))
  )
  clouds <- filter_particles(model, seen, NULL, 40000, 1:8, start = start)
  found <- vapply(clouds, function(cloud) var(cloud$states[, 1]), 0)
  wanted <- cumsum(c(0, 1, 3, 5, 7, 9, 10, 10)) * 0.5^2
  # Relative standard errors are 0.007; seven of them within 5.
  expect_equal(found[[1]], 0)
  expect_lt(max(abs(found[-1] / wanted[-1] - 1)), 0.035)
  # An observation starts the count again.
  known <- clouds[[4]]
  expect_identical(known$unseen, 3L)
  now <- list(
    y = cbind(0.1), variance = 1, gap = 1, inputs = cbind(numeric(40000))
  )
  expect_null(next_cloud(model, known, now, joint_axes(model), 0)$unseen)
})

test_that("filters spread outside of the training region and come back", {
  set.seed(5)
  at <- 0.8 * sin(seq(0, 60, 0.2)) + 0.02 * rnorm(301)
  places <- seq(-2.5, 2.5, length.out = 12)
  see <- function(x) {
    exp(-4 * outer(x, places, "-")^2) + 0.1 * rnorm(12 * length(x))
  }
  away <- c(0.8 * sin(seq(0, 6, 0.2)), seq(0, 2, 0.2), rep(2, 20),
    seq(2, 0, -0.2), 0.8 * sin(seq(0, 3, 0.2)))
  hmm <- kbr_hmm(at, see(at), seed = 1)
  expect_warning(
    path <- kbr_filter(hmm, see(away)), class = "kb_warning_improbable"
  )
  sd <- predict(path, type = "sd")[, 1]
  error <- abs(predict(path)[, 1] - away)
  outside <- away > 1.3
  inside <- seq_along(away) <= 30
  after <- seq_along(away) > length(away) - 12
  expect_true(all(path$unseen[away == 2]))
  expect_false(any(path$unseen[inside | after]))
  expect_gt(mean(sd[outside]), 3 * mean(sd[inside]))
  expect_lt(mean(error[after]), 2 * mean(error[inside]))
})

test_that("particles that start again are a mixture of two posteriors", {
  # Prior after a move N(0, 1) with probability 0.99, else the training states
  # uniform on (-3, 3); y = x + N(0, 0.7^2)
  set.seed(6)
  model <- linear_model(guided = FALSE)
  size <- 20000
  for (y in c(0.5, 2.9)) {
    x <- seq(-8, 8, 0.001)
    given <- 0.99 * dnorm(x) + 0.01 / 6 * (abs(x) <= 3)
    given <- given * dnorm(y, x, 0.7)
    wanted <- sum(x * given) / sum(given)
    found <- vapply(1:60, function(run) {
      cloud <- list(
        states = cbind(x = rnorm(size)), residual = cbind(rnorm(size)),
        last = cbind(numeric(size))
      )
      now <- list(y = cbind(y), variance = 1, gap = 1)
      found <- observation_error(model, cloud$states, now, NULL, 0)
      drawn <- resample(found$log_likelihood)
      cloud$states <- cloud$states[drawn$kept, , drop = FALSE]
      cloud$evidence <- drawn$evidence
      mean(start_again(cloud, first_cloud(model, now, size, 0))$states)
    }, 0)
    # Null: t with 59 degrees of freedom; a limit of 4.5 is passed with
    # probability 3e-5.
    expect_lt(abs(mean(found) - wanted) / sd(found) * sqrt(60), 4.5)
    # Without another start the answer differs where y is far.
    if (y > 2) {
      narrow <- 0.99 * dnorm(x) * dnorm(y, x, 0.7)
      expect_gt(wanted, sum(x * narrow) / sum(narrow) + 0.02)
    }
  }
  # Those that start again may come from any particle; copies stay together.
  old <- list(
    states = cbind(x = 1:8 / 8), ancestors = rep(c(2L, 5L), each = 4),
    evidence = -100
  )
  new <- list(states = cbind(x = 11:18), evidence = -100)
  new$evidence <- old$evidence + log(99)
  half <- with_local_seed(1, start_again(old, new))
  expect_identical(sum(half$states > 10), 4L)
  expect_false(is.unsorted(half$ancestors))
  started <- half$states[, 1] > 10
  expect_identical(
    half$ancestors[started], as.integer(half$states[started, 1] - 10)
  )
  expect_true(all(half$ancestors[!started] %in% c(2, 5)))
  # Nothing explains it: the cloud stays as it is.
  none <- list(states = cbind(x = 1:3), evidence = -Inf)
  expect_identical(start_again(none, none), none)
})

test_that("smoothers look ahead as far as is best, with ends of their own", {
  seen <- sim_linear_hmm(300, seed = 3)
  new <- sim_linear_hmm(500, seed = 4)
  hmm <- kbr_hmm(seen$states, seen$observations, seed = 1)
  ends <- hmm$model$ends
  expect_true(ends$ahead >= 1)
  path <- kbr_filter(hmm, new$observations)
  same <- function(a, b) expect_equal(predict(a), predict(b))
  same(kbr_smooth(path), kbr_smooth(path, lag = ends$ahead))
  same(kbr_smooth(path, lag = 0), path)
  widths <- function(path) {
    q <- predict(path, type = "quantile")
    q[, 1, dim(q)[[3]]] - q[, 1, 1]
  }
  expect_equal(
    widths(kbr_smooth(path, lag = 0)), widths(path) * ends$smooth / ends$filter
  )
  # Of 500 dependent states the share has a standard error of about 0.02.
  q <- predict(kbr_smooth(path), type = "quantile", probs = c(0.05, 0.95))
  inside <- mean(new$states > q[, , 1] & new$states < q[, , 2])
  expect_gt(inside, 0.83)
  expect_lt(inside, 0.97)
})

test_that("gaps lengthen moves and shorten memory", {
  # Two steps of gap 1 without an observation between them are as one of gap 2
  # where moves have no drift.
  y <- c(0.5, NA, 1.5, NA, -0.3)
  wanted <- exact_filter(y, numeric(5), a = 1, memory = 0.6)[c(1, 3, 5), ]
  for (guided in c(TRUE, FALSE)) {
    model <- linear_model(a = 1, memory = 0.6, guided = guided)
    start <- list(points = cbind(x = stats::qnorm(ppoints(4000)) * sqrt(3)))
    start$weights <- rep(1 / 4000, 4000)
    seen <- list(
      y = cbind(y[c(1, 3, 5)]), variance = rep(1, 3), gap = c(1, 2, 2),
      inputs = matrix(0, 3, 1)
    )
    clouds <- filter_particles(model, seen, NULL, 40000, 1:3, start = start)
    x <- vapply(clouds, function(cloud) cloud$states[, 1], numeric(40000))
    # Within six standard errors, counting resampling twice.
    expect_lt(max(abs(colMeans(x) - wanted[, 1])), 6 * sqrt(2 / 40000))
    off <- log(apply(x, 2, var) / wanted[, 2])
    expect_lt(max(abs(off)), 6 * sqrt(4 / 40000))
  }
})

hmm_case <- local({
  kept <- NULL
  function() {
    if (is.null(kept)) {
      seen <- sim_linear_hmm(500, seed = 5)
      new <- sim_linear_hmm(400, seed = 6)
      hmm <- kbr_hmm(seen$states, seen$observations, seed = 1)
      kept <<- list(
        hmm = hmm, new = new, y = new$observations[, 1],
        filtered = kbr_filter(hmm, new$observations)
      )
    }
    kept
  }
})

test_that("learned filter and smoother are near the exact ones", {
  case <- hmm_case()
  exact <- linear_kalman(case$y)
  smooth <- kbr_smooth(case$filtered)
  expect_lt(mean((predict(case$filtered) - exact$filter)^2), 0.015)
  expect_lt(mean((predict(smooth) - exact$smoother)^2), 0.015)
  mse <- function(path) summary(path, truth = case$new$states)$mse
  expect_lt(mse(smooth), mse(case$filtered))
  expect_equal(mean(predict(case$filtered, type = "sd")),
    sqrt(0.25), tolerance = 0.15
  )
  # 90% intervals; with 400 correlated times the standard error is below 0.025.
  ends <- predict(case$filtered, type = "quantile", probs = c(0.05, 0.95))
  inside <- case$new$states >= ends[, , 1] & case$new$states <= ends[, , 2]
  expect_gt(mean(inside), 0.82)
  expect_lt(mean(inside), 0.97)
})

test_that("observations one by one give the filter of all, seeds the numbers", {
  case <- hmm_case()
  path <- kbr_filter(case$hmm, case$y[1:5])
  for (t in 6:9) path <- update(path, case$y[[t]])
  expect_identical(predict(path), predict(case$filtered)[1:9, , drop = FALSE])
  expect_identical(path$spread, case$filtered$spread[, , 1:9, drop = FALSE])
  again <- kbr_filter(case$hmm, case$y[1:9])
  expect_identical(predict(again), predict(path))
  expect_equal(nobs(path), 9)
})

test_that("missing and far observations are steps without one", {
  case <- hmm_case()
  gap <- kbr_filter(case$hmm, c(case$y[1:3], NA, case$y[5]))
  expect_warning(
    far <- kbr_filter(case$hmm, c(case$y[1:3], 1e5, case$y[5])),
    class = "kb_warning_far"
  )
  expect_identical(predict(far), predict(gap))
  expect_identical(far$unseen, c(FALSE, FALSE, FALSE, TRUE, FALSE))
  sd <- predict(gap, type = "sd")
  expect_gt(sd[[4]], 1.1 * sd[[3]])
  # The largest of many may be far as 1 in 1000 are.
  expect_no_warning(kbr_filter(
    case$hmm, stats::quantile(case$new$observations, c(0.02, 0.98))
  ))
  # Without observations at all: the states' own distribution, with the factor
  # of intervals.
  blind <- kbr_filter(case$hmm, rep(NA_real_, 30))
  expect_equal(
    mean(predict(blind, type = "sd")[20:30]),
    sd(case$hmm$model$states) * case$hmm$model$ends$filter, tolerance = 0.15
  )
})

test_that("forecasts widen, smoothers with lag 0 are filters", {
  case <- hmm_case()
  ahead <- kbr_forecast(case$filtered, h = 25)
  sd <- predict(ahead, type = "sd")
  expect_lt(sd[[1]], sd[[25]])
  expect_equal(sd[[25]], 1, tolerance = 0.2)
  expect_output(print(ahead), "after time 400")
  path <- kbr_filter(case$hmm, case$y[1:10])
  still <- kbr_smooth(path, lag = 0)
  expect_equal(predict(still), predict(path), tolerance = 1e-10)
  ends <- case$hmm$model$ends
  expect_equal(
    still$spread, path$spread * ends$smooth / ends$filter, tolerance = 1e-8
  )
  expect_error(kbr_smooth(path, method = "iw"), class = "kb_error_argument")
})

test_that("predictions of all types agree with the draws", {
  case <- hmm_case()
  path <- kbr_filter(case$hmm, case$y[1:4])
  n <- case$hmm$settings$particles
  draws <- predict(path, type = "draws", ndraws = n)[, 1, ]
  expect_equal(unname(predict(path)[, 1]), colMeans(draws), tolerance = 0.02)
  probs <- c(0.1, 0.5, 0.8)
  found <- predict(path, type = "quantile", probs = probs)
  wanted <- t(apply(draws, 2, stats::quantile, probs, names = FALSE))
  expect_equal(matrix(found, 4), wanted, tolerance = 1e-10)
  away <- abs(draws - rep(predict(path), each = n))
  expect_equal(
    as.vector(predict(path, type = "radius")),
    apply(away, 2, stats::quantile, 0.9, names = FALSE),
    tolerance = 1e-10
  )
  expect_lt(max(abs(predict(path, type = "map") - predict(path))), 0.3)
  expect_error(predict(path, type = "weights"), class = "kb_error_not_defined")
  expect_null(summary(path)$negative)
  expect_named(
    augment(path), c("time", "y", ".fitted_x", ".lower_x", ".upper_x")
  )
  expect_output(print(path), "Filtered by particles: 4 times")
  expect_output(print(case$hmm), "energy score")
})

test_that("irregular times are taken into account", {
  # An Ornstein-Uhlenbeck process at random times, seen with noise
  simulate <- function(n, seed) {
    set.seed(seed)
    times <- cumsum(stats::rexp(n) + 0.05)
    keep <- exp(-0.4 * c(Inf, diff(times)))
    x <- numeric(n)
    for (t in seq_len(n)) {
      x[[t]] <- (if (t > 1) keep[[t]] * x[[t - 1]] else 0) +
        sqrt(1 - keep[[t]]^2) * rnorm(1)
    }
    list(times = times, x = x, y = x + 0.5 * rnorm(n), keep = keep)
  }
  seen <- simulate(800, 1)
  new <- simulate(500, 2)
  m <- v <- exact <- numeric(500)
  for (t in seq_len(500)) {
    ahead <- if (t > 1) new$keep[[t]] * exact[[t - 1]] else 0
    v0 <- 1 - new$keep[[t]]^2 + if (t > 1) new$keep[[t]]^2 * v[[t - 1]] else 0
    gain <- v0 / (v0 + 0.25)
    exact[[t]] <- ahead + gain * (new$y[[t]] - ahead)
    v[[t]] <- (1 - gain) * v0
  }
  gap <- function(...) {
    path <- kbr_filter(kbr_hmm(seen$x, seen$y, seed = 1, ...), new$y,
      times = if (...length() > 0) new$times
    )
    mean((predict(path) - exact)^2)
  }
  with <- gap(times = seen$times)
  expect_lt(with, 0.02)
  expect_lt(with, gap())
})

test_that("inputs move states", {
  simulate <- function(n, seed) {
    set.seed(seed)
    u <- rnorm(n)
    x <- numeric(n)
    for (t in seq_len(n)[-1]) {
      x[[t]] <- 0.7 * x[[t - 1]] + u[[t - 1]] + 0.2 * rnorm(1)
    }
    list(u = cbind(u), x = x, y = x + rnorm(n))
  }
  seen <- simulate(400, 1)
  new <- simulate(300, 2)
  hmm <- kbr_hmm(seen$x, seen$y, inputs = seen$u, seed = 1)
  path <- kbr_filter(hmm, new$y, inputs = new$u)
  blind <- kbr_filter(kbr_hmm(seen$x, seen$y, seed = 1), new$y)
  mse <- function(path) mean((predict(path) - new$x)^2)
  # With the model known it is 0.07.
  expect_lt(mse(path), 0.12)
  expect_lt(mse(path), mse(blind) / 3)
  # In parts, and ahead
  parts <- kbr_filter(hmm, new$y[1:3], inputs = new$u[1:3, , drop = FALSE])
  parts <- update(parts, new$y[4:6], inputs = new$u[4:6, , drop = FALSE])
  expect_identical(predict(parts), predict(path)[1:6, , drop = FALSE])
  ahead <- kbr_forecast(parts, 2, inputs = cbind(u = 5))
  expect_gt(predict(ahead)[[2]], predict(ahead)[[1]] + 2)
  expect_error(kbr_filter(hmm, new$y), class = "kb_error")
  expect_error(kbr_filter(hmm, new$y, inputs = cbind(new$u, 1)),
    class = "kb_error_dimension"
  )
  expect_error(kbr_filter(hmm, new$y, inputs = new$u[1:3, ]),
    class = "kb_error_dimension"
  )
})

test_that("known transitions and likelihoods take the place of learned ones", {
  seen <- sim_linear_hmm(300, seed = 7)
  new <- sim_linear_hmm(300, seed = 8)
  exact <- linear_kalman(new$observations[, 1])$filter
  move <- function(x) 0.8 * x + 0.6 * rnorm(length(x))
  likelihood <- function(y, x) stats::dnorm(y, x[, 1], 0.7, log = TRUE)
  gap <- function(...) {
    hmm <- kbr_hmm(seen$states, ..., seed = 1)
    mean((predict(kbr_filter(hmm, new$observations)) - exact)^2)
  }
  expect_lt(gap(seen$observations, transitions = move), 0.015)
  expect_lt(gap(log_likelihood = likelihood), 0.015)
  both <- gap(transitions = move, log_likelihood = likelihood)
  expect_lt(both, 0.002)
  # Pairs of states in any order
  order <- sample(299)
  pairs <- list(
    from = seen$states[order, , drop = FALSE],
    to = seen$states[order + 1, , drop = FALSE]
  )
  expect_lt(gap(seen$observations, transitions = pairs), 0.02)
  expect_error(
    kbr_hmm(seen$states, seen$observations, transitions = function(x) x[1]),
    class = "kb_error_argument"
  )
  # An error of the function is told as one, whatever the method.
  broken <- function(x) stop("no such engine")
  for (method in c("adjusted", "kbr")) {
    expect_error(
      kbr_hmm(seen$states, seen$observations,
        transitions = broken, method = method
      ), "no such engine", class = "kb_error_user_function"
    )
  }
})

test_that("sequences are not joined", {
  set.seed(4)
  # Two walks far from each other: a move between them would be seen.
  walk <- function(from) from + cumsum(0.1 * rnorm(120))
  x <- c(walk(0), walk(100))
  hmm <- kbr_hmm(x, x + rnorm(240), group = rep(1:2, each = 120), seed = 1)
  expect_lt(hmm$model$moves$cov[[1]], 0.05)
  expect_identical(
    successive_rows(240, rep(1:2, each = 120)), c(1:119, 121:239)
  )
})

test_that("a last stretch may be too short for moves", {
  d <- sim_linear_hmm(150, seed = 1)
  group <- c(rep(1, 125), rep(2:13, each = 2), 14)
  hmm <- kbr_hmm(d$states, d$observations, group = group, seed = 1)
  expect_setequal(hmm$trials$lag, 0:1)
  # All that know a move before are in one stretch.
  group <- c(1:20, rep(1000, 27), 21:123)
  hmm <- kbr_hmm(d$states, d$observations, group = group, seed = 1)
  expect_true(all(is.finite(hmm$trials$score)))
})

test_that("angles and rotations keep their form", {
  set.seed(5)
  angle <- wrap_angle(cumsum(0.3 + 0.1 * rnorm(250)))
  y <- cbind(cos(angle), sin(angle)) + 0.4 * rnorm(500)
  hmm <- kbr_hmm(angle[1:150], y[1:150, ], space = "circle", seed = 1)
  path <- kbr_filter(hmm, y[151:250, ])
  off <- wrap_angle(predict(path)[, 1] - angle[151:250])
  raw <- wrap_angle(atan2(y[151:250, 2], y[151:250, 1]) - angle[151:250])
  expect_lt(mean(off^2), 0.7 * mean(raw^2))
  expect_gt(mean(abs(off) <= predict(path, type = "radius")), 0.8)
  expect_true(all(abs(predict(path)) <= pi))
  expect_lt(max(predict(path, type = "sd")), 1)

  turn <- function(angle) {
    cbind(cos(angle), sin(angle), 0, -sin(angle), cos(angle), 0, 0, 0, 1)
  }
  x <- turn(angle)
  hmm <- kbr_hmm(x[1:150, ], y[1:150, ],
    space = "rotation", seed = 1, particles = 100
  )
  path <- kbr_filter(hmm, y[151:250, ])
  expect_lt(max(rotation_errors(predict(path))), 1e-8)
  expect_lt(max(rotation_errors(predict(path, type = "map"))), 1e-8)
  draws <- predict(path, type = "draws", ndraws = 3)
  expect_lt(max(rotation_errors(draws[2, , ] |> t())), 1e-8)
  away <- space_minus(path$hmm$space, x[151:250, ], predict(path))
  expect_lt(mean(rowSums(away^2)), 0.7 * mean(raw^2))
  radius <- predict(path, type = "radius")
  expect_gt(mean(sqrt(rowSums(away^2)) <= radius), 0.75)
  expect_equal(nrow(predict(kbr_smooth(path))), 100)
})

test_that("displacements of rotations are axes times angles", {
  space <- state_space("rotation", paste0("r", 1:9))
  set.seed(6)
  v <- matrix(rnorm(90), 30)
  v <- v / sqrt(rowSums(v^2)) * c(0, 1e-9, pi - 1e-9, runif(27, 0, pi))
  from <- space_plus(space, matrix(diag(3), 30, 9, byrow = TRUE), -2 * v)
  to <- space_plus(space, from, v)
  expect_lt(max(rotation_errors(to)), 1e-12)
  expect_lt(max(abs(space_minus(space, to, from) - v)), 1e-6)
  expect_lt(max(abs(space_minus(space, to, from)[1:2, ] - v[1:2, ])), 1e-15)
  # A quarter turn about the third axis takes the first axis to the second.
  quarter <- space_plus(space, t(as.vector(diag(3))), t(c(0, 0, pi / 2)))
  expect_equal(as.vector(quarter), c(0, 1, 0, -1, 0, 0, 0, 0, 1))
})

test_that("many columns are seen through principal components", {
  set.seed(7)
  angle <- as.vector(stats::filter(0.2 * rnorm(300), 0.95, "recursive"))
  at <- seq(-2, 2, length.out = 40)
  y <- exp(-outer(angle, at, `-`)^2) + 0.2 * rnorm(12000)
  hmm <- kbr_hmm(angle[1:200], y[1:200, ], seed = 1)
  path <- kbr_filter(hmm, y[201:300, ])
  near <- angle[nearest_rows(y[201:300, ], y[1:200, ])]
  mse <- function(x) mean((x - angle[201:300])^2)
  expect_lt(mse(predict(path)), 0.5 * mse(near))
  expect_output(print(hmm), "20 principal components of 40 columns")
  # The leading axes are those of the singular value decomposition.
  centred <- sweep(y, 2, colMeans(y))
  exact <- svd(centred, nu = 0, nv = 3)$v
  found <- score_axes(centred, 20, rounds = 30)[, 1:3]
  expect_lt(max(abs(abs(crossprod(exact, found)) - diag(3))), 1e-6)
  # An image unlike any of training, near the centre of the scores
  odd <- colMeans(y) + 3 * rep(c(-1, 1), 20)
  expect_warning(kbr_filter(hmm, t(odd)), class = "kb_warning_far")
})

test_that("settings can be fixed, arguments of other methods are refused", {
  seen <- sim_linear_hmm(60, seed = 1)
  fit <- function(...) kbr_hmm(seen$states, seen$observations, ..., seed = 1)
  hmm <- fit(summaries = TRUE, lag = 1, inflate = 4, particles = 30)
  expect_identical(nrow(hmm$trials), 1L)
  expect_identical(hmm$model$moves$lag, 1L)
  expect_identical(hmm$model$inflate, 4)
  expect_identical(dim(kbr_filter(hmm, 1:3)$spread), c(30L, 1L, 3L))
  refused <- function(class, ...) expect_error(fit(...), class = class)
  refused("kb_error_argument", eps = 0.1)
  refused("kb_error_argument", delta_smooth = 0.1)
  refused("kb_error_argument", method = "kbr", lag = 1)
  refused("kb_error_argument", method = "kbr", times = 1:60)
  refused("kb_error_argument", lag = 2)
  refused("kb_error_argument", summaries = "learn")
  refused("kb_error_argument", particles = 2)
  refused("kb_error_argument", inflate = -1)
  refused("kb_error_argument", times = 60:1)
  refused("kb_error_argument", times = 1:3)
  refused("kb_error_dimension", inputs = cbind(1:3))
  expect_error(kbr_filter(hmm, 1:3, times = 1:3), class = "kb_error_argument")
  expect_error(kbr_filter(hmm, 1:3, inputs = 1:3), class = "kb_error_argument")
})

# The differences of mean squares are 3.1 (smoother, rotation) to 8.5 standard
# errors, over blocks of 20 times: the false alarm rate is about 1e-3.
test_that("the smoother is nearer to the truth than the filter", {
  for (simulate in list(sim_rotation, sim_oscillation)) {
    seen <- simulate(200, seed = 1)
    new <- simulate(300, seed = 2)
    hmm <- kbr_hmm(seen$states, seen$observations, seed = 1)
    filtered <- kbr_filter(hmm, new$observations)
    mse <- function(path) summary(path, truth = new$states)$mse
    expect_lt(mse(kbr_smooth(filtered)), mse(filtered))
    expect_lt(mse(filtered), mean(rowSums((new$observations - new$states)^2)))
  }
})

test_that("methods of paths work, and paths can be saved", {
  seen <- sim_rotation(80, seed = 1)
  hmm <- kbr_hmm(seen$states, seen$observations, particles = 50, seed = 1)
  path <- kbr_filter(hmm, seen$observations[1:6, ])
  smooth <- kbr_smooth(path)
  ahead <- kbr_forecast(path, 2)
  for (one in list(path, smooth, ahead)) {
    again <- unserialize(serialize(one, NULL))
    expect_identical(predict(again), predict(one))
    times <- nobs(one)
    draws <- posterior::as_draws_matrix(as_draws(one, ndraws = 20))
    expect_identical(dim(draws), c(20L, 2L * times))
    expect_identical(dim(predict(one, type = "map")), c(times, 2L))
    expect_identical(nrow(generics::augment(one)), times)
    grDevices::pdf(NULL)
    plot(one)
    grDevices::dev.off()
    expect_error(coef(one), class = "kb_error_not_defined")
    expect_output(print(one), "by particles")
  }
  expect_error(coef(hmm), class = "kb_error_not_defined")
  # The end of a smoother is that of its filter.
  expect_equal(predict(smooth)[6, ], predict(path)[6, ], tolerance = 1e-10)
})

test_that("a start is the prior of the first state", {
  case <- hmm_case()
  start <- list(points = cbind(c(-4, 4)), weights = c(1, 3))
  path <- kbr_filter(case$hmm, NA_real_, start = start)
  expect_equal(predict(path)[[1]], 2, tolerance = 0.1)
  path <- kbr_filter(case$hmm, 3, start = start)
  expect_equal(predict(path)[[1]], 4)
  expect_error(
    kbr_filter(case$hmm, 3, start = list(points = cbind(1, 2))),
    class = "kb_error_dimension"
  )
})
