# A small linear model, and dense algebra with all n x n matrices.
hmm_data <- local({
  kept <- list()
  function(n, seed) {
    key <- paste(n, seed)
    if (is.null(kept[[key]])) {
      sim <- sim_linear_hmm(n, seed = seed)
      kept[[key]] <<- list(
        x = as.vector(sim$states), y = as.vector(sim$observations)
      )
    }
    kept[[key]]
  }
})

#' The recursion in n x n matrices, on Gram matrices of features, F F'
dense_hmm <- function(hmm) {
  p <- hmm$pairs$from
  list(
    n = nrow(p), gx = tcrossprod(p), gxn = tcrossprod(p, hmm$pairs$to),
    gnn = tcrossprod(hmm$pairs$to), b = hmm$pairs$observations,
    gy = tcrossprod(hmm$pairs$observations), eps = hmm$settings$eps,
    delta = hmm$settings$delta,
    delta_smooth = hmm$settings$delta_smooth * mean(rowSums(p^2)),
    size = mean(rowSums(p^2))
  )
}

dense_bayes <- function(mu, gram, k, delta) {
  l <- mu * gram
  w <- l %*% solve(l %*% l + delta * diag(nrow(gram)), mu * k)
  as.vector(w) / sum(w)
}

dense_filter <- function(d, hmm, y) {
  ridge <- d$gx + d$n * d$eps * diag(d$n)
  alpha <- matrix(0, length(y), d$n)
  for (t in seq_along(y)) {
    k <- d$b %*% t(incomplete_cholesky_features(hmm$basis_observations, matrix(y[[t]])))
    if (t == 1) {
      w <- solve(d$gy + d$n * d$eps * diag(d$n), k)
      alpha[t, ] <- w / sum(w)
    } else {
      mu <- solve(ridge, d$gxn %*% solve(ridge, d$gx %*% alpha[t - 1, ]))
      alpha[t, ] <- dense_bayes(as.vector(mu), d$gy, k, d$delta)
    }
  }
  alpha
}

test_that("the filter agrees with n x n matrices, with and without moments", {
  seen <- hmm_data(80, 1)
  new <- hmm_data(12, 2)
  hmm <- rule_hmm(seen$x, seen$y, rank = 12)
  expect_false(is.null(hmm$moments))
  wanted <- dense_filter(dense_hmm(hmm), hmm, new$y)
  weights <- function(hmm) {
    out <- predict(kbr_filter(hmm, new$y), type = "weights")
    matrix(out, nrow(out))
  }
  size <- max(abs(wanted))
  expect_lt(max(abs(weights(hmm) - wanted)) / size, 1e-9)
  direct <- hmm
  direct["moments"] <- list(NULL)
  direct <- sealed(direct)
  expect_lt(max(abs(weights(direct) - weights(hmm))) / size, 1e-11)
})

test_that("a full rank gives the recursion on the raw kernel matrices", {
  seen <- hmm_data(60, 3)
  y <- hmm_data(6, 4)$y
  hmm <- rule_hmm(seen$x, seen$y, rank = "full")
  kx <- kernel_gaussian(0.6 * bandwidth_median(seen$x[1:59]))
  ky <- kernel_gaussian(0.6 * bandwidth_median(seen$y[1:59]))
  x <- seen$x[1:59]
  d <- list(
    n = 59, gx = kernel_matrix(kx, x), gxn = kernel_matrix(kx, x, seen$x[-1]),
    gy = kernel_matrix(ky, seen$y[1:59]), eps = 0.1 / 59, delta = 0.2 / 59
  )
  ridge <- d$gx + d$n * d$eps * diag(d$n)
  k <- function(t) kernel_matrix(ky, seen$y[1:59], y[[t]])
  alpha <- solve(d$gy + d$n * d$eps * diag(d$n), k(1))
  alpha <- alpha / sum(alpha)
  for (t in 2:6) {
    mu <- solve(ridge, d$gxn %*% solve(ridge, d$gx %*% alpha))
    alpha <- dense_bayes(as.vector(mu), d$gy, k(t), d$delta)
  }
  w <- predict(kbr_filter(hmm, y), type = "weights")[6, ]
  expect_lt(max(abs(w - alpha)) / max(abs(alpha)), 1e-6)
})

test_that("filter and smoother are near the exact ones of the linear model", {
  seen <- hmm_data(500, 5)
  new <- hmm_data(300, 6)
  exact <- linear_kalman(new$y)
  filtered <- kbr_filter(rule_hmm(seen$x, seen$y), new$y)
  smooth <- kbr_smooth(filtered)
  expect_lt(mean((predict(filtered) - exact$filter)^2), 0.025)
  expect_lt(mean((predict(smooth) - exact$smoother)^2), 0.025)
  expect_lt(
    summary(smooth, truth = new$x)$mse, summary(filtered, truth = new$x)$mse
  )
  # Far from what the observations on their own say.
  expect_gt(mean((new$y - exact$filter)^2), 0.1)
})

test_that("kernel Bayes' rule backwards agrees with n x n matrices", {
  seen <- hmm_data(60, 7)
  y <- hmm_data(8, 8)$y
  hmm <- rule_hmm(seen$x, seen$y, rank = 10)
  d <- dense_hmm(hmm)
  filtered <- kbr_filter(hmm, y)
  alpha <- predict(filtered, type = "weights")
  ridge <- d$gx + d$n * d$eps * diag(d$n)
  for (method in c("iw", "kbr")) {
    b <- alpha[8, ]
    for (t in 7:1) {
      mu <- as.vector(solve(ridge, d$gx %*% alpha[t, ]))
      # k of the later state's kernel mean at the next states
      k <- crossprod(d$gxn, b)
      if (method == "iw") {
        w <- pmax(mu, 0) / sum(pmax(mu, 0))
        # D N (N'DN + delta I)^-1 N' = (D G + delta I)^-1 D G, on columns
        b <- solve(w * d$gnn + d$delta_smooth * diag(d$n), w * k)
        b <- as.vector(b) / sum(b)
      } else {
        b <- dense_bayes(mu, d$gnn, k, d$delta_smooth * d$size)
      }
    }
    got <- predict(kbr_smooth(filtered, method = method), type = "weights")
    expect_lt(max(abs(got[1, ] - b)) / max(abs(b)), 1e-8)
    expect_equal(got[8, ], alpha[8, ])
  }
})

test_that("the smoother agrees with n x n matrices", {
  seen <- hmm_data(60, 7)
  hmm <- rule_hmm(seen$x, seen$y, rank = 10)
  d <- dense_hmm(hmm)
  ridge <- d$gx + d$n * d$eps * diag(d$n)
  y <- hmm_data(8, 8)$y
  for (missing in list(integer(), 3:4, 7:8)) {
    y[missing] <- NA
    filtered <- kbr_filter(hmm, y)
    alpha <- predict(filtered, type = "weights")
    on_next <- attr(alpha, "locations") == "to"
    expect_identical(which(on_next), which(is.na(y)))
    wanted <- alpha
    # Kernel means at the next states: of the filter, and smoothed
    mean <- function(t) {
      crossprod(if (on_next[[t]]) d$gnn else d$gxn, alpha[t, ])
    }
    smoothed <- mean(8)
    for (t in 7:1) {
      cross <- if (on_next[[t]]) d$gxn else d$gx
      ahead <- solve(ridge, cross %*% alpha[t, ])
      w <- if (on_next[[t]]) as.vector(ahead) / sum(ahead) else alpha[t, ]
      if (on_next[[t + 1]]) ahead <- ahead / sum(ahead)
      positive <- pmax(w, 0) / sum(pmax(w, 0))
      q <- diag(positive) - tcrossprod(positive)
      change <- q %*% solve(
        d$gnn %*% q + d$delta_smooth * diag(d$n), smoothed - d$gnn %*% ahead
      )
      wanted[t, ] <- w + change
      smoothed <- mean(t) + crossprod(d$gxn, change)
    }
    got <- predict(kbr_smooth(filtered), type = "weights")
    expect_lt(max(abs(got - wanted)) / max(abs(wanted)), 1e-8)
    expect_identical(attr(got, "locations")[1:7], rep("from", 7))
    expect_equal(rowSums(got), rep(1, 8))
  }
})

test_that("without news, or with much regularisation, a smoother is the filter", {
  seen <- hmm_data(80, 1)
  hmm <- rule_hmm(seen$x, seen$y)
  y <- hmm_data(6, 2)$y
  quiet <- kbr_filter(hmm, c(y, NA, NA, NA))
  expect_equal(predict(kbr_smooth(quiet))[6, ], predict(quiet)[6, ])
  expect_equal(
    predict(kbr_smooth(quiet))[1:6, ],
    predict(kbr_smooth(kbr_filter(hmm, y)))[, 1]
  )
  # The same kernel means, at the transitions' earlier states
  expect_lt(
    max(abs(predict(kbr_smooth(quiet))[7:8, ] - predict(quiet)[7:8, ])), 0.05
  )
  hmm$settings$delta_smooth <- 1e9
  hmm <- sealed(hmm)
  filtered <- kbr_filter(hmm, y)
  expect_equal(predict(kbr_smooth(filtered)), predict(filtered))
})

test_that("the smoother is nearer to the truth than the filter", {
  gain <- function(simulate, seed) {
    seen <- simulate(100, seed = seed)
    new <- simulate(300, seed = 1000 + seed)
    hmm <- rule_hmm(seen$states, seen$observations)
    filtered <- kbr_filter(hmm, new$observations)
    mse <- function(path) summary(path, truth = new$states)$mse
    mse(filtered) - mse(kbr_smooth(filtered))
  }
  expect_gt(gain(sim_rotation, 1) + gain(sim_rotation, 2), 0)
  expect_gt(gain(sim_oscillation, 1) + gain(sim_oscillation, 2), 0)
})

test_that("the smoother of rotations stays where the filter is", {
  turn <- function(a) {
    cbind(cos(a), sin(a), 0, -sin(a), cos(a), 0, 0, 0, rep(1, length(a)))
  }
  angles <- with_local_seed(1, cumsum(0.3 + 0.1 * rnorm(350)))
  y <- with_local_seed(2, cbind(cos(angles), sin(angles)) + 0.2 * rnorm(700))
  train <- 1:200
  hmm <- rule_hmm(turn(angles[train]), y[train, ], space = "rotation")
  filtered <- kbr_filter(hmm, y[-train, ])
  truth <- turn(angles[-train])
  expect_lt(
    summary(kbr_smooth(filtered), truth = truth)$mse,
    summary(filtered, truth = truth)$mse
  )
  # The size of the kernel does not matter. (It does in the first update.)
  scaled <- rule_hmm(turn(angles[train]), y[train, ],
    space = "rotation", kernel_x = 0.25 * (kernel_rotation() + 1),
    eps = hmm$settings$eps / 4, delta = hmm$settings$delta
  )
  later <- rbind(NA, y[201:220, ])
  for (method in c("rts", "iw", "kbr")) {
    smoothed <- lapply(list(hmm, scaled), function(hmm) {
      predict(kbr_smooth(kbr_filter(hmm, later), method = method))
    })
    expect_equal(smoothed[[1]], smoothed[[2]], tolerance = 1e-6)
  }
})

test_that("a lag is a backward pass from that many steps later", {
  seen <- hmm_data(60, 7)
  y <- hmm_data(9, 8)$y
  hmm <- rule_hmm(seen$x, seen$y)
  filtered <- kbr_filter(hmm, y)
  lagged <- predict(kbr_smooth(filtered, lag = 2))
  for (t in 1:9) {
    until <- kbr_smooth(kbr_filter(hmm, y[seq_len(min(t + 2, 9))]))
    expect_equal(lagged[t, ], predict(until)[t, ])
  }
  expect_equal(predict(kbr_smooth(filtered, lag = 0)), predict(filtered))
  expect_equal(
    predict(kbr_smooth(filtered, lag = 20)), predict(kbr_smooth(filtered))
  )
})

test_that("without observations the filter is a forecast", {
  seen <- hmm_data(80, 1)
  hmm <- rule_hmm(seen$x, seen$y)
  filtered <- kbr_filter(hmm, c(0.5, 1))
  blind <- kbr_filter(hmm, c(0.5, 1, NA, NA, NA))
  expect_equal(predict(blind)[3:5, ], predict(kbr_forecast(filtered, 3))[, 1])
  d <- dense_hmm(hmm)
  ridge <- d$gx + d$n * d$eps * diag(d$n)
  alpha <- predict(filtered, type = "weights")[2, ]
  w <- solve(ridge, d$gx %*% alpha)
  w <- w / sum(w)
  got <- predict(blind, type = "weights")
  expect_identical(
    attr(got, "locations"), rep(c("seen", "to"), c(2, 3))
  )
  expect_lt(max(abs(got[3, ] - w)) / max(abs(w)), 1e-9)
  # Far ahead the chain forgets: the mean of the stationary distribution.
  expect_lt(abs(predict(kbr_forecast(filtered, 60))[60, ] - mean(seen$x)), 0.2)
  # A path that begins unobserved: all training states are alike.
  first <- kbr_filter(hmm, c(NA, NA))
  expect_equal(predict(first)[1, ], mean(seen$x[1:79]), ignore_attr = TRUE)
})

test_that("observations one by one give the filter of all", {
  seen <- hmm_data(80, 1)
  hmm <- rule_hmm(seen$x, seen$y)
  y <- c(0.5, 1, NA, -1)
  filtered <- kbr_filter(hmm, y[[1]])
  for (one in y[-1]) filtered <- update(filtered, one)
  expect_equal(predict(filtered), predict(kbr_filter(hmm, y)))
  expect_equal(
    predict(kbr_smooth(filtered)), predict(kbr_smooth(kbr_filter(hmm, y)))
  )
})

test_that("the order of training pairs changes nothing", {
  seen <- hmm_data(80, 1)
  y <- hmm_data(10, 2)$y
  pairs <- list(from = seen$x[-80], to = seen$x[-1])
  shuffle <- with_local_seed(1, sample(79))
  first <- rule_hmm(seen$x[-80], seen$y[-80], transitions = pairs)
  other <- rule_hmm(seen$x[-80][shuffle], seen$y[-80][shuffle],
    transitions = lapply(pairs, `[`, shuffle)
  )
  expect_equal(
    predict(kbr_filter(other, y)), predict(kbr_filter(first, y)),
    tolerance = 1e-8
  )
  # Pairs given separately equal those of the sequence.
  expect_equal(
    predict(kbr_smooth(kbr_filter(first, y))),
    predict(kbr_smooth(kbr_filter(rule_hmm(seen$x, seen$y), y))),
    tolerance = 1e-8
  )
})

test_that("sequences are not joined", {
  a <- hmm_data(40, 1)
  b <- hmm_data(30, 2)
  y <- hmm_data(8, 3)$y
  hmm <- rule_hmm(c(a$x, b$x), c(a$y, b$y), group = rep(c("a", "b"), c(40, 30)))
  expect_identical(nrow(hmm$pairs$from), 68L)
  pairs <- list(from = c(a$x[-40], b$x[-30]), to = c(a$x[-1], b$x[-1]))
  by_hand <- rule_hmm(pairs$from, c(a$y[-40], b$y[-30]), transitions = pairs)
  expect_equal(
    predict(kbr_filter(hmm, y)), predict(kbr_filter(by_hand, y)),
    tolerance = 1e-8
  )
})

test_that("a known transition or observation may be given", {
  seen <- hmm_data(400, 5)
  new <- hmm_data(150, 6)
  exact <- linear_kalman(new$y)
  gap <- function(hmm, target = exact$filter, then = identity) {
    mean((predict(then(kbr_filter(hmm, new$y))) - target)^2)
  }
  simulated <- rule_hmm(seen$x, seen$y,
    transitions = function(x) 0.8 * x + 0.6 * rnorm(length(x)), seed = 3
  )
  expect_lt(gap(simulated), 0.03)
  likelihood <- rule_hmm(seen$x,
    log_likelihood = function(y, x) dnorm(y, x[, 1], 0.7, log = TRUE)
  )
  expect_lt(gap(likelihood), 0.02)
  expect_lt(gap(likelihood, exact$smoother, kbr_smooth), 0.02)
  filtered <- kbr_filter(likelihood, c(0.5, NA, 1))
  w <- predict(filtered, type = "weights")
  expect_equal(rowSums(w), rep(1, 3))
  # By hand: the prior's weights on the next states times the likelihood.
  prior <- predict(kbr_forecast(kbr_filter(likelihood, c(0.5, NA))),
    type = "weights"
  )[1, ] * dnorm(1, seen$x[-1], 0.7)
  expect_equal(w[3, ], prior / sum(prior))
})

test_that("a start is the prior of the first state", {
  seen <- hmm_data(300, 5)
  hmm <- rule_hmm(seen$x, seen$y, kernel_x = kernel_gaussian(1))
  y <- 0.5
  points <- with_local_seed(4, rnorm(400, 1, 0.3))
  got <- predict(kbr_filter(hmm, y, start = list(points = points)))
  fit <- kbr_rule(seen$x[-300], seen$y[-300],
    kernel_x = kernel_gaussian(1), kernel_y = hmm$basis_observations$kernel,
    prior = list(points = points)
  )
  expect_equal(got[1, ], predict(fit, y)[1, ], ignore_attr = TRUE,
    tolerance = 1e-6
  )
  blind <- predict(kbr_filter(hmm, NA_real_, start = list(points = points)))
  expect_lt(abs(blind[[1]] - mean(points)), 0.05)
})

test_that("angles and rotations keep their form", {
  turn <- function(a) {
    t(vapply(a, function(a) {
      c(cos(a), sin(a), 0, -sin(a), cos(a), 0, 0, 0, 1)
    }, numeric(9)))
  }
  angles <- with_local_seed(1, cumsum(0.3 + 0.1 * rnorm(250)))
  y <- with_local_seed(2, cbind(cos(angles), sin(angles)) + 0.2 * rnorm(500))
  train <- 1:200
  circle <- rule_hmm(wrap_angle(angles[train]), y[train, ], space = "circle")
  filtered <- kbr_filter(circle, y[-train, ])
  mean <- predict(filtered)
  expect_true(all(abs(mean) <= pi))
  truth <- wrap_angle(angles[-train])
  found <- summary(filtered, truth = truth)
  expect_equal(found$distance, abs(wrap_angle(mean[, 1] - truth)))
  seen <- atan2(y[-train, 2], y[-train, 1])
  expect_lt(found$mse, mean(wrap_angle(seen - truth)^2))
  rotation <- rule_hmm(turn(angles[train]), y[train, ], space = "rotation")
  expect_identical(
    rotation$basis_states$kernel, kernel_rotation() + kernel_constant()
  )
  turned <- kbr_filter(rotation, y[-train, ])
  expect_error(
    kbr_filter(rotation, y[1:2, ], start = list(points = matrix(1, 1, 9))),
    class = "kb_error_argument"
  )
  for (type in c("mean", "map")) {
    m <- predict(turned, type = type)
    expect_lt(max(abs(apply(m, 1, function(v) {
      det(matrix(v, 3)) - 1
    }))), 1e-10)
    expect_lt(max(abs(apply(m, 1, function(v) {
      max(abs(crossprod(matrix(v, 3)) - diag(3)))
    }))), 1e-10)
  }
  yaw <- space_coordinates(turned$hmm$space, predict(turned))[, "yaw"]
  expect_lt(mean(wrap_angle(yaw - truth)^2), 0.1)
  expect_equal(
    space_coordinates(turned$hmm$space, turn(truth))[, "yaw"], truth
  )
})

test_that("predictions of all types agree with the weights", {
  seen <- hmm_data(80, 1)
  y <- c(hmm_data(5, 2)$y, NA)
  filtered <- kbr_filter(rule_hmm(seen$x, seen$y), y)
  w <- predict(filtered, type = "weights")
  states <- rbind(
    matrix(seen$x[1:79], 5, 79, byrow = TRUE), seen$x[2:80]
  )
  expect_equal(rowSums(w), rep(1, 6))
  mean <- rowSums(w * states)
  expect_equal(predict(filtered)[, 1], mean)
  expect_equal(
    predict(filtered, type = "sd")[, 1], sqrt(rowSums(w * states^2) - mean^2)
  )
  q <- predict(filtered, type = "quantile", probs = 0.5)
  expect_true(all(abs(q[, 1, 1] - mean) < 0.5))
  draws <- predict(filtered, type = "draws", ndraws = 300)
  expect_identical(dim(draws), c(300L, 1L, 6L))
  expect_lt(max(abs(colMeans(draws[, 1, ]) - mean)), 0.15)
  map <- predict(filtered, type = "map")
  expect_true(all(attr(map, "converged")))
  at <- seq(-3, 3, by = 0.01)
  kernel <- filtered$hmm$basis_states$kernel
  best <- at[max.col(w %*% kernel_matrix(kernel, seen$x[1:79], at))]
  expect_lt(max(abs(map[1:5, 1] - best[1:5])), 0.02)
})

test_that("methods of paths work", {
  seen <- hmm_data(80, 1)
  filtered <- kbr_filter(rule_hmm(seen$x, seen$y), c(0.5, NA, 1))
  expect_output(print(filtered$hmm), "State-space model")
  expect_output(print(filtered), "1 without observation")
  expect_output(print(kbr_smooth(filtered)), "Smoothed")
  expect_output(print(kbr_forecast(filtered, 2)), "2 steps after time 3")
  expect_output(print(summary(filtered, truth = c(0, 0, 0))), "mean square")
  table <- generics::augment(filtered)
  expect_identical(nrow(table), 3L)
  expect_true(all(table$.lower_states <= table$.upper_states))
  expect_s3_class(posterior::as_draws(filtered, ndraws = 10), "draws_matrix")
  expect_identical(nobs(filtered), 3L)
  withr::local_pdf(NULL)
  expect_equal(plot(filtered, truth = c(0, 0, 0)), table)
  copy <- unserialize(serialize(filtered, NULL))
  expect_equal(predict(update(copy, 1)), predict(update(filtered, 1)))
})

test_that("importance weights, standardised data and several columns work", {
  seen <- hmm_data(150, 1)
  new <- hmm_data(40, 2)
  exact <- linear_kalman(new$y)
  gap <- function(...) {
    hmm <- rule_hmm(...)
    mean((predict(kbr_filter(hmm, new$y)) - exact$filter)^2)
  }
  expect_lt(gap(seen$x, seen$y, method = "iw", delta = 1e-3), 0.1)
  expect_equal(
    gap(seen$x, seen$y, scale = TRUE), gap(seen$x, seen$y), tolerance = 1e-6
  )
  two <- rule_hmm(
    cbind(a = seen$x, b = -seen$x), data.frame(u = seen$y, v = 2 * seen$y)
  )
  path <- predict(kbr_filter(two, data.frame(u = new$y, v = 2 * new$y)))
  expect_identical(colnames(path), c("a", "b"))
  expect_equal(path[, "a"], -path[, "b"])
})

test_that("bad input is refused", {
  seen <- hmm_data(40, 1)
  refused <- function(class, ...) {
    expect_error(rule_hmm(...), class = paste0("kb_error_", class))
  }
  refused("argument", seen$x)
  refused("argument", seen$x, seen$y, log_likelihood = dnorm)
  refused("argument", seen$x, log_likelihood = 1)
  refused("outcome", seen$x, seen$y[-1])
  refused("rows", seen$x[1], seen$y[1])
  refused("rows", seen$x, seen$y, group = 1:40)
  refused("argument", seen$x, seen$y, group = 1:3)
  refused("argument", seen$x, seen$y, delta_smooth = 0)
  refused("argument", seen$x, seen$y, space = "torus")
  refused("dimension", cbind(seen$x, seen$x), seen$y, space = "circle")
  refused("argument", matrix(1, 40, 9), seen$y, space = "rotation")
  refused("argument", seen$x, seen$y, transitions = list(seen$x))
  refused("dimension", seen$x, seen$y,
    transitions = list(from = 1:3, to = 1:4)
  )
  refused("unknown_argument", seen$x, seen$y, foo = 1)
  hmm <- rule_hmm(seen$x, seen$y)
  expect_error(kbr_filter(1, 2), class = "kb_error_argument")
  expect_error(kbr_filter(hmm, cbind(1, 2)), class = "kb_error_columns")
  expect_error(kbr_filter(hmm, Inf), class = "kb_error_infinite")
  expect_error(kbr_filter(hmm, 1, start = 1), class = "kb_error_argument")
  filtered <- kbr_filter(hmm, c(0, 1))
  expect_error(kbr_smooth(filtered, lag = -1), class = "kb_error_argument")
  expect_error(kbr_forecast(filtered, 0), class = "kb_error_argument")
  expect_error(kbr_smooth(hmm), class = "kb_error_argument")
  expect_error(predict(filtered, type = "mode"), class = "kb_error_argument")
  expect_error(predict(filtered, probs = 0.1), class = "kb_error_argument")
  expect_error(summary(filtered, truth = 1:3), class = "kb_error_dimension")
  expect_error(plot(filtered, columns = "z"), class = "kb_error_argument")
  flat <- rule_hmm(seen$x, log_likelihood = function(y, x) rep(-Inf, nrow(x)))
  expect_error(kbr_filter(flat, 1), class = "kb_error_likelihood")
})

test_that("an observation far from all others is treated as missing", {
  seen <- hmm_data(60, 1)
  hmm <- rule_hmm(seen$x, seen$y)
  for (y in c(1e6, -20)) {
    expect_warning(
      filtered <- kbr_filter(hmm, c(0.5, y, 0.5)), "1 of 3 .* far",
      class = "kb_warning_far"
    )
    expect_identical(filtered$kind, c("regression", "next", "update"))
    expect_equal(predict(filtered), predict(kbr_filter(hmm, c(0.5, NA, 0.5))))
  }
  expect_no_warning(kbr_filter(hmm, range(seen$y)))
  # As in a model that was saved before there was a rule
  hmm$far <- NULL
  hmm <- sealed(hmm)
  expect_warning(
    filtered <- kbr_filter(hmm, c(0.5, 1e6, 0.5)), class = "kb_warning_weights"
  )
  expect_identical(filtered$kind[[2]], "next")
  expect_false(anyNA(predict(filtered)))
  # At the first time, too
  expect_warning(
    filtered <- kbr_filter(hmm, c(1e6, 0.5)), class = "kb_warning_weights"
  )
  expect_identical(filtered$kind[[1]], "flat")
})

test_that("1 in 1000 observations are far from a training period", {
  # Null: about 1 in 1000 of 8000; rows depend on each other, so that the count
  # of a series may be several times as large. Others are told.
  seen <- sim_linear_hmm(400, seed = 1)
  counts <- vapply(2:9, function(seed) {
    far <- learn_far_rows(list(), seen$observations)
    sum(find_far(far, sim_linear_hmm(1000, seed = seed)$observations)$far)
  }, 0)
  expect_lte(sum(counts), 40)
  for (method in c("adjusted", "kbr")) {
    hmm <- kbr_hmm(seen$states[1:100, , drop = FALSE],
      seen$observations[1:100, , drop = FALSE],
      method = method, seed = 1
    )
    expect_warning(out <- kbr_filter(hmm, c(0, 60, 0)),
      class = "kb_warning_far"
    )
    expect_true(all(abs(predict(out)) < 10))
  }
})

test_that("S (S^2 + delta)^-1 phi keeps its digits for any delta", {
  with_local_seed(1, {
    r <- 30
    q <- qr.Q(qr(matrix(rnorm(r * r), r)))
    d <- rnorm(r) * 10^seq(0, -6, length.out = r)
    phi <- rnorm(r)
  })
  s <- q %*% (d * t(q))
  s <- (s + t(s)) / 2
  for (delta in 10^c(0, -3, -6, -9, -12, -16)) {
    wanted <- q %*% (d / (d^2 + delta) * crossprod(q, phi))
    got <- squared_solve_cpp(s, delta, phi)
    # The problem itself loses as many digits as |S| / sqrt(delta) has.
    expect_lt(
      max(abs(got - wanted)) / max(abs(wanted)),
      100 * .Machine$double.eps * max(1, max(abs(d)) / sqrt(delta))
    )
  }
})

# Different numbers of observed states and of transitions.
apart <- function(...) {
  seen <- hmm_data(50, 1)
  moves <- hmm_data(71, 2)
  rule_hmm(seen$x, seen$y,
    transitions = list(from = moves$x[-71], to = moves$x[-1]), rank = 10, ...
  )
}

test_that("with separate transitions the filter uses both sets' matrices", {
  hmm <- apart()
  expect_identical(vapply(hmm$pairs[1:3], nrow, 1L), c(
    from = 70L, to = 70L, seen = 50L
  ))
  gram <- function(a, b) tcrossprod(hmm$pairs[[a]], hmm$pairs[[b]])
  solve_ridge <- function(set, k) {
    g <- gram(set, set)
    solve(g + nrow(g) * hmm$settings$eps * diag(nrow(g)), k)
  }
  y <- c(0.4, NA, 1.2)
  w <- kbr_filter(hmm, y[[1]])
  a <- predict(w, type = "weights")[1, 1:50]
  # The state's weights, by the transitions to the next states twice: rows two
  # and three of the filter.
  v <- solve_ridge("from", gram("from", "seen") %*% a)
  v <- v / sum(v)
  v2 <- solve_ridge("from", gram("from", "to") %*% v)
  mu <- as.vector(solve_ridge("seen", gram("seen", "to") %*% v2))
  k <- hmm$pairs$observations %*% t(incomplete_cholesky_features(hmm$basis_observations, matrix(1.2)))
  wanted <- dense_bayes(mu, tcrossprod(hmm$pairs$observations), k, hmm$settings$delta)
  found <- kbr_filter(hmm, y)
  expect_equal(predict(found)[3, ], sum(wanted * hmm$states$seen),
    ignore_attr = TRUE, tolerance = 1e-8
  )
  expect_equal(predict(found)[2, ], sum(v * hmm$states$to),
    ignore_attr = TRUE, tolerance = 1e-8
  )
  all <- predict(found, type = "weights")
  expect_identical(dim(all), c(3L, 70L))
  expect_equal(all[3, 1:50], wanted, tolerance = 1e-7)
  expect_equal(all[2, ], as.vector(v), tolerance = 1e-8)
  expect_true(all(is.na(all[c(1, 3), 51:70])))
})

test_that("features of a path agree with its weights", {
  hmm <- rule_hmm(hmm_data(60, 1)$x, hmm_data(60, 1)$y, rank = 10)
  likely <- rule_hmm(hmm_data(60, 1)$x,
    log_likelihood = function(y, x) dnorm(y, x[, 1], 0.7, log = TRUE), rank = 10
  )
  for (hmm in list(hmm, likely)) {
    for (y in list(c(0.5, NA, NA, 1), c(NA, 0.2, NA))) {
      path <- kbr_filter(hmm, y)
      for_path(path, function(w, location, t) {
        expect_equal(
          path$features[, t], t(w %*% path$hmm$pairs[[location]])[, seq_along(t)],
          tolerance = 1e-9
        )
      })
    }
  }
})

test_that("gaps leave later observations in place", {
  hmm <- rule_hmm(hmm_data(60, 1)$x, hmm_data(60, 1)$y)
  y <- c(0.5, NA, -0.7, 1.1, NA, 0.2)
  path <- kbr_filter(hmm, y[[1]])
  for (one in y[-1]) path <- update(path, one)
  expect_equal(predict(kbr_filter(hmm, y)), predict(path))
})

test_that("starts are in the states' units and have weights", {
  seen <- hmm_data(120, 5)
  points <- with_local_seed(4, rnorm(60, 1, 0.3))
  weights <- ifelse(points > 1, 3, 1)
  y <- 0.5
  for (scale in c(FALSE, TRUE)) {
    # States of another scale and position.
    x <- 5 * seen$x + 20
    hmm <- rule_hmm(x, seen$y, scale = scale)
    start <- list(points = 5 * points + 20, weights = weights)
    got <- predict(kbr_filter(hmm, y, start = start))
    fit <- kbr_rule(x[-120], seen$y[-120],
      kernel_x = hmm$basis_states$kernel, kernel_y = hmm$basis_observations$kernel,
      prior = start, scale = scale
    )
    expect_equal(got[1, ], predict(fit, y)[1, ], ignore_attr = TRUE,
      tolerance = 1e-3
    )
    unseen <- kbr_filter(hmm, NA_real_, start = start)
    expect_identical(unseen$features[, 1], unseen$start)
    equal <- predict(kbr_filter(hmm, y, start = start["points"]))
    expect_gt(abs(equal[[1]] - got[[1]]), 0.01)
  }
})

test_that("log likelihoods may have any size", {
  x <- hmm_data(60, 1)$x
  at <- function(shift) {
    predict(kbr_filter(rule_hmm(x, log_likelihood = function(y, x) {
      dnorm(y, x[, 1], 0.7, log = TRUE) + shift
    }), c(0.5, 1)))
  }
  expect_equal(at(-5000), at(0))
  expect_equal(at(5000), at(0))
})

test_that("simulated transitions do not repeat the data's random numbers", {
  draws <- with_local_seed(7, rnorm(50))
  moved <- NULL
  rule_hmm(draws, draws,
    transitions = function(x) moved <<- x + rnorm(length(x)), seed = 7
  )
  expect_gt(min(abs((moved - draws) - draws)), 0)
  expect_lt(abs(cor(moved - draws, draws)), 0.5)
})

test_that("spread on the circle and for rotations", {
  turn <- function(a) {
    t(vapply(a, function(a) {
      c(cos(a), sin(a), 0, -sin(a), cos(a), 0, 0, 0, 1)
    }, numeric(9)))
  }
  # Angles on both sides of pi.
  angles <- pi + cumsum(with_local_seed(1, rnorm(80, 0, 0.1)))
  y <- cbind(cos(angles), sin(angles)) + with_local_seed(2, rnorm(160, 0, 0.3))
  circle <- kbr_filter(rule_hmm(angles, y, space = "circle"), y[1:4, ])
  w <- predict(circle, type = "weights")
  length <- abs(w %*% exp(1i * angles[1:79]))
  expect_equal(predict(circle, type = "sd")[, 1],
    sqrt(-2 * log(pmin(length[, 1], 1))),
    ignore_attr = TRUE
  )
  ends <- predict(circle, type = "quantile", probs = c(0.05, 0.95))
  expect_true(all(ends[, 1, 2] - ends[, 1, 1] < pi))
  expect_true(all(ends[, 1, 1] <= predict(circle) &
    predict(circle) <= ends[, 1, 2]))
  rotation <- kbr_filter(
    rule_hmm(turn(angles), y, space = "rotation"), y[1:4, ]
  )
  w <- predict(rotation, type = "weights")
  mean <- predict(rotation)
  for (t in 1:4) {
    gaps <- rowSums(sweep(turn(angles[1:79]), 2, mean[t, ])^2)
    variance <- sum(w[t, ] * gaps)
    expect_equal(
      predict(rotation, type = "sd")[t],
      if (variance < 0) NA_real_ else sqrt(variance)
    )
  }
})

test_that("modes of standardised states are in their units", {
  seen <- hmm_data(100, 5)
  hmm <- function(scale, kernel) {
    rule_hmm(5 * seen$x + 20, seen$y, scale = scale, kernel_x = kernel)
  }
  map <- function(hmm) predict(kbr_filter(hmm, c(0.5, 1)), type = "map")
  scaled <- hmm(TRUE, kernel_gaussian(0.5))
  s <- scaled$settings$scaling$states$x_scale
  expect_equal(map(scaled), map(hmm(FALSE, kernel_gaussian(0.5 * s))),
    tolerance = 1e-4
  )
})

test_that("requests that stats would answer with NULL are refused", {
  seen <- sim_linear_hmm(40, seed = 1)
  hmm <- rule_hmm(seen$states, seen$observations, seed = 1)
  for (fit in list(hmm, kbr_filter(hmm, 0.3))) {
    for (method in list(coef, fitted, residuals)) {
      expect_error(method(fit), class = "kb_error_not_defined")
    }
  }
})

test_that("rows without an observation are transitions only", {
  seen <- sim_linear_hmm(90, seed = 1)
  y <- seen$observations
  out <- c(4:6, 30, 90)
  y[out] <- NA
  new <- c(0.5, NA, 1)
  for (method in c("kbr", "iw")) {
    expect_message(
      hmm <- kbr_hmm(seen$states, y, method = method, eps = 1e-3, seed = 1),
      "5 of 90 observations are missing",
      class = "kb_message_missing"
    )
    # The same from pairs: the last row is no pair of (x, y) in a sequence.
    pairs <- kbr_hmm(seen$states[-out, , drop = FALSE],
      y[-out, , drop = FALSE],
      transitions = list(
        from = seen$states[-90, , drop = FALSE],
        to = seen$states[-1, , drop = FALSE]
      ), method = method, eps = 1e-3, seed = 1
    )
    expect_equal(predict(kbr_filter(hmm, new)), predict(kbr_filter(pairs, new)))
  }
  hmm <- suppressMessages(kbr_hmm(seen$states, y, summaries = FALSE, lag = 0, seed = 1))
  expect_true(all(is.finite(predict(kbr_filter(hmm, new)))))
  expect_identical(nrow(hmm$model$states), 90L)
  tuned <- suppressMessages(tune_kbr_hmm(seen$states, y,
    settings = list(list(method = "kbr")), folds = 3, steps = 20, seed = 1
  ))
  expect_true(is.finite(tuned$table$score))
  expect_error(
    kbr_hmm(replace(seen$states, 3, NA), y), class = "kb_error_missing"
  )
})

test_that("forecasts go on with the times of the filter", {
  seen <- sim_linear_hmm(60, seed = 1)
  for (method in c("adjusted", "kbr")) {
    hmm <- kbr_hmm(seen$states, seen$observations, method = method, seed = 1)
    ahead <- kbr_forecast(kbr_filter(hmm, seen$observations[1:40]), 3)
    expect_identical(augment(ahead)$time, 41:43)
    expect_output(print(ahead), "43 ")
    drawn <- path_picture(ahead, NULL, NULL, 0.9)$panels[[1]]$layers[[1]]
    expect_identical(range(drawn$data$x), c(41L, 43L))
  }
})

test_that("observations that are no table are refused", {
  no_tables <- list(
    list(), list(1, "a"), function(x) x, quote(a + b), y ~ x, new.env(),
    as.raw(1:25), data.frame(), factor("a")
  )
  for (value in no_tables) {
    expect_error(kbr_hmm(1:25 + 0, value, seed = 1), class = "kb_error")
  }
})
