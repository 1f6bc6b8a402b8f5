# The method "adjusted" of kbr(): states that move with the observation.
#
# Closed forms are compared with refits, posteriors with exact ones: data are
# fixed by seeds, so nothing is left to chance. Seen to fail: leverage left out,
# the prior's weights left out of (K41) or (K43), residuals that vary not scaled
# back, draws or densities not shrunk, a density without the slope of the map to
# the line, twice the width of the smoothing, widths of points not shrunk, a pair
# with weight in its own score.

quiet <- function(expr) suppressWarnings(expr, classes = "kb_warning")

exact_normal <- function(y, noise = 0.7, mean = 0, sd = 1) {
  precision <- 1 / sd^2 + 1 / noise^2
  list(
    mean = (mean / sd^2 + y / noise^2) / precision, sd = sqrt(1 / precision)
  )
}

normal_pairs <- function(n, d, seed = 1, noise = 0.7) {
  x <- normal_points(n, d, seed)
  list(x = x, y = x + noise * normal_points(n, d, 500 + seed))
}

test_that("left-out predictions and ridges are those of refits", {
  n <- 25
  f <- normal_points(n, 4, 2)
  t <- cbind(sin(f[, 1]) + f[, 2], f[, 3]^2)
  w <- seq_len(n) / sum(seq_len(n))
  space <- regression_space(f, w)
  found <- ridge_left_out(space, t)
  ridges <- sum(space$spectrum) * adjustment_ridges
  center <- colSums(w * f)
  left_out <- function(i, j, ridge) {
    one <- cbind(1, sweep(f, 2, center))
    gram <- crossprod(one[-i, ] * w[-i], one[-i, ]) +
      ridge * diag(c(0, 1, 1, 1, 1))
    moment <- crossprod(one[-i, ], w[-i] * t[-i, j])
    sum(one[i, ] * solve(gram, moment))
  }
  for (j in 1:2) {
    all <- vapply(ridges[-(1:3)], function(ridge) {
      vapply(seq_len(n), left_out, 0, j, ridge)
    }, numeric(n))
    losses <- colSums(w * (t[, j] - all)^2)
    expect_equal(found$left_out[, j], all[, which.min(losses)],
      tolerance = 1e-9
    )
    expect_equal(found$loss[[j]], min(losses), tolerance = 1e-9)
  }
  expect_equal(
    ridge_predict(found, f)[1, ] - found$left_out[1, ], {
      leverage <- (found$left_out - ridge_predict(found, f))[1, ]
      -leverage
    }
  )
})

test_that("scores are energy scores of square roots of distances", {
  x <- normal_points(2, 30, 3)
  pairs <- as.matrix(stats::dist(t(x)))
  expect_equal(
    energy_score(x), mean(colSums(x^2)^0.25) - mean(sqrt(pairs)) / 2
  )
})

test_that("weights of pairs are the prior's times a Gaussian, of 20 pairs", {
  d2 <- normal_points(200, 1, 4)[, 1]^2
  w <- stats::runif(200)
  expect_equal(
    local_weights(d2, w, 0.8), proportions(w * exp(-d2 / (2 * 0.8^2)))
  )
  expect_equal(local_weights(d2, w, Inf), proportions(w))
  few <- local_weights(d2, w, 1e-3)
  expect_gte(1 / sum(few^2), 20)
  expect_equal(systematic_rows(c(0, 1, 0, 3), 4), c(2, 4, 4, 4))
})

test_that("posteriors approach the exact ones", {
  for (d in c(1, 3)) {
    pairs <- normal_pairs(3000, d)
    new <- normal_points(40, d, 9) * sqrt(1.49)
    exact <- exact_normal(new)
    fit <- kbr(pairs$x, pairs$y)
    expect_s3_class(fit, "kb_kbr_adjusted")
    expect_lt(mean((predict(fit, new) - exact$mean)^2), 2e-3)
    sd <- predict(fit, new, type = "sd")
    expect_lt(sqrt(mean((sd / exact$sd - 1)^2)), 0.06)
    ends <- predict(fit, new, type = "quantile", probs = c(0.05, 0.95))
    wanted <- exact$mean - 1.645 * exact$sd
    expect_lt(sqrt(mean((ends[, , 1] - wanted)^2)) / exact$sd, 0.12)
  }
})

test_that("the prior is used: another one, and weights of the pairs", {
  pairs <- normal_pairs(3000, 1)
  new <- matrix(c(-1, 0.5, 1.5))
  exact <- exact_normal(new, mean = 0.5, sd = 0.5)
  other <- update(kbr(pairs$x, pairs$y), prior = list(
    points = stats::qnorm(stats::ppoints(500), 0.5, 0.5)
  ))
  expect_lt(max(abs(predict(other, new) - exact$mean)), 0.06)
  expect_lt(max(abs(predict(other, new, type = "sd") / exact$sd - 1)), 0.1)
  ratio <- stats::dnorm(pairs$x, 0.5, 0.5) / stats::dnorm(pairs$x)
  weighted <- kbr(pairs$x, pairs$y, prior = list(weights = ratio[, 1]))
  expect_lt(max(abs(predict(weighted, new) - exact$mean)), 0.06)
  expect_lt(max(abs(predict(weighted, new, type = "sd") / exact$sd - 1)), 0.1)
})

test_that("the spread follows the observation", {
  y <- normal_points(2000, 1, 6)
  size <- 0.3 * exp(y / 2)
  x <- y + size * normal_points(2000, 1, 7)
  fit <- kbr(x, y)
  expect_true(fit$adjustment$choice$varying)
  new <- matrix(c(0, 0.5, -1.5))
  expect_lt(max(abs(
    predict(fit, new, type = "sd") / (0.3 * exp(new / 2)) - 1
  )), 0.15)
})

test_that("two modes that move are kept apart", {
  y <- stats::qunif(stats::ppoints(2000), -2, 2)
  side <- rep(c(-1, 1), 1000)
  x <- y + side + 0.1 * normal_points(2000, 1, 8)[, 1]
  fit <- kbr(x, y)
  draws <- predict(fit, 0.5, type = "draws", ndraws = 400)[, 1, 1]
  expect_true(all(abs(abs(draws - 0.5) - 1) < 0.5))
  expect_equal(mean(draws > 0.5), 0.5, tolerance = 0.1)
})

test_that("states stay in their support, densities integrate to one", {
  x <- stats::qunif(stats::ppoints(600), 0, 2)
  y <- x + 0.5 * normal_points(600, 1, 9)[, 1]
  fit <- kbr(x, y, support = c(0, 2))
  for (at in c(-0.5, 1, 2.5)) {
    draws <- predict(fit, at, type = "draws", ndraws = 300)
    expect_true(all(draws >= 0 & draws <= 2))
  }
  grid <- seq(-0.5, 2.5, length.out = 3001)
  density <- predict(fit, c(0, 1), type = "density", at = grid)
  expect_equal(rowSums(density) * 1e-3, c(1, 1), tolerance = 0.01)
  expect_true(all(density[, grid < 0 | grid > 2] == 0))
  # Fits of earlier versions mapped states with two bounds.
  earlier <- fit
  earlier$settings$straight <- NULL
  earlier <- sealed(earlier)
  expect_error(predict(earlier, 1), class = "kb_error_fit")
  earlier$settings$support[2, ] <- Inf
  earlier <- sealed(earlier)
  expect_true(is.finite(predict(earlier, 1)))
  positive <- kbr(exp(stats::qnorm(x / 2)), y)
  expect_identical(positive$settings$support[["lower", 1]], 0)
  open <- kbr(x, y, support = "none")
  expect_true(all(is.infinite(open$settings$support)))
})

test_that("the map to the line and back is the identity, with its slope", {
  bounds <- cbind(c(-1, Inf), c(-Inf, 2), c(-Inf, Inf))
  x <- cbind(c(-0.5, 3), c(1.9, -4), c(-3, 3))
  line <- support_to_line(bounds, x)
  expect_equal(support_from_line(bounds, line), x)
  step <- 1e-6
  slopes <- rowSums(log(
    (support_to_line(bounds, x + step) - support_to_line(bounds, x - step)) /
      (2 * step)
  ))
  expect_equal(line_log_slope(bounds, line), slopes, tolerance = 1e-6)
})

test_that("densities of many bounded states are products, or are refused", {
  bounds <- cbind(c(0, 1), c(0, Inf), c(-Inf, Inf), c(-2, 3))
  x <- cbind(c(0.1, 0.7), c(0.3, 2), c(-1, 1), c(-1.9, 2.5))
  at <- rbind(x + 0.05, c(0.5, 1, 0, 0), c(2, 1, 0, 0))
  widths <- c(0.2, 0.5, 1, 0.7)
  w <- c(0.7, 0.3)
  plain <- function(z) vapply(seq_len(nrow(z)), function(i) {
    sum(w * apply(x, 1, function(s) prod(stats::dnorm(z[i, ], s, widths))))
  }, 0)
  # All images: each column stays or is reflected at either bound.
  images <- as.matrix(expand.grid(0:2, 0:1, 0, 0:2))
  by_hand <- function(z) {
    moved <- t(apply(images, 1, function(side) {
      vapply(1:4, function(j) {
        if (side[[j]] == 0) z[[j]] else 2 * bounds[side[[j]], j] - z[[j]]
      }, 0)
    }))
    sum(plain(moved))
  }
  expect_equal(
    reflected_density(x, w, widths, at, bounds), c(apply(at[-4, ], 1, by_hand), 0)
  )
  reach <- matrix(Inf, 2, 4)
  expect_equal(reflected_sum(at, bounds, reach, plain), apply(at, 1, by_hand))
  expect_length(reflected_sum(at[0, ], bounds, reach, plain), 0)
  many <- matrix(0.5, 1, 12)
  expect_error(
    reflected_sum(many, matrix(0:1, 2, 12), matrix(1, 2, 12), identity),
    "bandwidth", class = "kb_error_argument"
  )
  expect_equal(
    reflected_density(many, 1, rep(0.01, 12), many, matrix(0:1, 2, 12)),
    prod(stats::dnorm(rep(0, 12), sd = 0.01))
  )
})

test_that("bounds are printed in words", {
  words <- function(...) {
    support <- cbind(...)
    bounds_line(list(settings = list(support = support, found = TRUE)))
  }
  expect_identical(
    words(c(0, Inf)), "  bounded:      the state above 0, found in the draws\n"
  )
  expect_match(words(c(-Inf, 1.02)), "the state below 1.02,", fixed = TRUE)
  expect_match(
    words(a = c(0, 2.5), b = c(-Inf, Inf), c = c(-Inf, 3)),
    "a between 0 and 2.5, c below 3, found", fixed = TRUE
  )
})

test_that("noise is as it is without bounds, and nothing is infinite", {
  withr::local_seed(12)
  x <- stats::runif(300)
  y <- x + 0.1 * stats::rnorm(300)
  inside <- c(0.4, 0.5, 0.6)
  spread <- function(...) {
    predict(kbr(x, y, seed = 1, ...), inside, type = "sd")[, 1]
  }
  expect_equal(spread(), spread(support = "none"), tolerance = 0.1)
  # Regressions of logarithms stay within those of the pairs.
  x <- stats::rexp(300)
  fit <- kbr(x, x + 0.3 * stats::rnorm(300), seed = 1)
  fit$far <- NULL
  fit <- sealed(fit)
  at <- c(max(x), 2 * max(x), 1e3)
  mean <- suppressWarnings(predict(fit, at))
  expect_true(all(mean > 0 & mean < 10 * max(x)))
})

test_that("smooth draws have the mean and covariance of the points", {
  withr::local_seed(10)
  t <- cbind(stats::rexp(400), stats::rnorm(400))
  w <- proportions(stats::runif(400))
  draws <- smooth_draws(t, w, 4e4)
  mean <- colSums(w * t)
  covariance <- crossprod(sweep(t, 2, mean) * sqrt(w))
  expect_equal(colMeans(draws), mean, tolerance = 0.03)
  expect_equal(stats::cov(draws), covariance, tolerance = 0.06)
  # In random order: the standard error of this correlation is 0.005.
  expect_lt(abs(stats::cor(draws[-1, 1], draws[-4e4, 1])), 0.025)
})

test_that("the smoothing has the largest left-out likelihood", {
  # Two clusters; the weights are whole multiples of 1 / 300, so that each point
  # is taken as often as it weighs.
  t <- normal_points(60, 2, 11) + 4 * rep(0:1, 60)
  w <- rep(3:7, 12) / 300
  centred <- sweep(t, 2, colSums(w * t))
  covariance <- crossprod(centred * sqrt(w))
  z <- centred %*% solve(chol(covariance))
  squares <- as.matrix(stats::dist(z))^2
  left_out <- function(width) {
    sum(w * log(vapply(1:60, function(i) {
      sum(w[-i] * exp(-squares[i, -i] / (2 * width^2))) /
        (1 - w[[i]]) / width^2
    }, 0)))
  }
  widths <- sum(w^2)^(1 / 6) * c(1, 0.7, 0.5, 0.35, 0.25, 0.18, 0.12, 0.08)
  best <- which.max(vapply(widths, left_out, 0))
  expect_true(best > 1 && best < 8)
  found <- smoothing(t, w)
  expect_equal(found$width, widths[[best]])
  expect_equal(crossprod(found$root), covariance)
})

test_that("points have widths of their own where these are likelier, (K49)", {
  # A narrow peak on a wide base; weights as above
  t <- normal_points(100, 2, 13) * rep(c(1, 0.02), 50)
  w <- rep(2:4, c(30, 40, 30)) / 300
  found <- smoothing(t, w)
  centred <- sweep(t, 2, colSums(w * t))
  covariance <- crossprod(centred * sqrt(w))
  z <- centred %*% solve(chol(covariance))
  reach <- apply(as.matrix(stats::dist(z)), 1, function(v) sort(v)[[9]])
  widths <- found$near$factor * unname(reach)
  expect_equal(own_widths(found, t), widths, tolerance = 1e-6)
  spread <- sum(w * widths^2)
  by_hand <- function(at) {
    each <- vapply(1:100, function(i) {
      shrunk <- colSums(w * t) + centred[i, ] / sqrt(1 + spread)
      size <- covariance * widths[[i]]^2 / (1 + spread)
      off <- at - shrunk
      w[[i]] * exp(-sum(off * solve(size, off)) / 2) /
        (2 * pi * sqrt(det(size)))
    }, 0)
    sum(each)
  }
  at <- rbind(c(0, 0), c(0.01, -0.02), c(1, 0.5), c(-2, 1))
  expect_equal(smooth_density(t, w, at), apply(at, 1, by_hand),
    tolerance = 1e-6
  )
  withr::local_seed(14)
  draws <- smooth_draws(t, w, 4e4)
  expect_equal(stats::cov(draws), covariance, tolerance = 0.04)
  # Half of the points are in the peak, within 4 of their sd; one width for all
  # leaves 3% there.
  expect_gt(mean(rowSums(draws^2) < 0.08^2), 0.45)
  # One width is enough for normal points.
  expect_null(smoothing(normal_points(60, 1, 15), rep(1 / 60, 60))$near)
})

test_that("smooth densities have the mean and covariance of the points", {
  t <- normal_points(30, 2, 12) %*% matrix(c(1, 0.5, 0, 0.7), 2)
  w <- proportions(seq_len(30))
  mean <- colSums(w * t)
  covariance <- crossprod(sweep(t, 2, mean) * sqrt(w))
  side <- seq(-7, 7, by = 0.1)
  grid <- as.matrix(expand.grid(side, side))
  mass <- 0.01 * as.vector(smooth_density(t, w, grid))
  expect_equal(sum(mass), 1, tolerance = 1e-6)
  expect_equal(colSums(mass * grid), mean,
    tolerance = 1e-6, ignore_attr = TRUE
  )
  expect_equal(
    crossprod(sweep(grid, 2, mean) * sqrt(mass)), covariance,
    tolerance = 1e-6, ignore_attr = TRUE
  )
})

test_that("all types are of one distribution", {
  pairs <- kbr_pairs(150)
  fit <- kbr(pairs$x, pairs$y)
  new <- pairs$y[c(3, 10), ]
  p <- predict(fit, new, type = "probability")
  expect_identical(predict(fit, new, type = "weights"), p)
  expect_equal(rowSums(p), c(1, 1))
  expect_gte(min(p), 0)
  mean <- predict(fit, new)
  expect_equal(
    predict(fit, new, type = "expectation", f = function(x) x), mean
  )
  second <- predict(fit, new, type = "expectation", f = function(x) x^2)
  expect_equal(predict(fit, new, type = "sd"), sqrt(second - mean^2))
  ends <- predict(fit, new, type = "quantile", probs = c(0.1, 0.5, 0.9))
  expect_true(all(apply(ends, 1:2, diff) > 0))
  tidied <- tidy(fit, new)
  expect_equal(tidied$estimate, as.vector(mean))
  embedding <- predict(fit, new, type = "embedding")
  expect_equal(
    unname(mean(embedding[[1]])),
    unname(scaling_x(fit$settings$scaling$states, mean)[1, ])
  )
  mode <- predict(fit, new, type = "map")
  expect_true(all(attr(mode, "converged")))
  expect_equal(
    fitted(fit)[3, ], predict(fit, pairs$y)[3, ],
    ignore_attr = TRUE
  )
  partly <- predict(fit, rbind(new, NA), type = "sd")
  expect_identical(is.na(partly[, 1]), c(FALSE, FALSE, TRUE))
  lost <- predict(fit, matrix(NA_real_, 3, 2), type = "draws", ndraws = 5)
  expect_identical(dim(lost), c(5L, 2L, 3L))
  expect_true(all(is.na(lost)))
})

test_that("partial dependence averages posteriors", {
  pairs <- kbr_pairs(80)
  colnames(pairs$y) <- c("a", "b")
  fit <- kbr(pairs$x, pairs$y)
  grid <- c(-0.5, 0.5)
  found <- quiet(partial_dependence(fit, "a",
    grid = grid, others = "average", columns = 1
  ))
  wanted <- vapply(grid, function(a) {
    mean(quiet(predict(fit, cbind(a = a, b = pairs$y[, "b"])))[, 1])
  }, 0)
  expect_equal(found$mean, wanted, tolerance = 0.05)
  middle <- quiet(partial_dependence(fit, "a", grid = grid, columns = 1))
  at <- cbind(a = grid, b = stats::median(pairs$y[, "b"]))
  expect_equal(middle$mean, unname(predict(fit, at)[, 1]))
})

test_that("it is the default where it is defined", {
  pairs <- kbr_pairs(40)
  method <- function(...) kbr(...)$settings$method
  gram <- kernel_evaluate(kernel_gaussian(1), pairs$x)
  expect_identical(method(pairs$x, pairs$y), "adjusted")
  expect_identical(method(pairs$x[1:19, ], pairs$y[1:19, ]), "kbr")
  expect_identical(method(pairs$x, pairs$y, delta = 0.1), "kbr")
  expect_identical(method(pairs$x, pairs$y, normalize = FALSE), "kbr")
  expect_identical(method(pairs$x, pairs$y, eps = kbr_schedule()), "kbr")
  expect_identical(method(gram, pairs$y, kernel_x = gram), "kbr")
  expect_error(kbr(pairs$x, pairs$y, method = "adjusted", delta = 1), "delta",
    class = "kb_error_argument"
  )
  expect_error(update(kbr(pairs$x, pairs$y), delta = 1),
    class = "kb_error_argument"
  )
})

test_that("supports that are none are refused", {
  pairs <- kbr_pairs(30)
  refuse <- function(support, ...) {
    expect_error(kbr(pairs$x, pairs$y, support = support, ...), "support",
      class = "kb_error_argument"
    )
  }
  refuse("a")
  refuse(c(1, NA))
  refuse(c(1, 0))
  refuse(c(0, 1))
  refuse(matrix(0, 3, 2))
  refuse(c(0, 1), method = "kbr")
  named <- kbr(pairs$x, pairs$y, support = c(-9, 9))
  expect_identical(dim(named$settings$support), c(2L, 2L))
  expect_output(print(named), "bounded")
})

test_that("print and diagnostics say how residuals are used", {
  pairs <- kbr_pairs(60)
  fit <- kbr(pairs$x, pairs$y)
  expect_output(print(fit), "regression-adjusted")
  found <- diagnostics(fit, pairs$y[1:3, ])
  expect_gte(min(found$observations$ess), 19.9)
  expect_output(print(found), "energy score")
  expect_output(print(summary(fit)), "rmse")
})

edges_of <- function(x) unname(found_support(cbind(x))[, 1])

test_that("edges of the prior's draws are found, and others are not", {
  even <- stats::ppoints(400)
  sharp <- list(
    list(even, c(0, 1)), list(stats::qunif(even, -2, 30), c(-2, 30)),
    list(stats::qexp(even), c(0, Inf)), list(-stats::qexp(even), c(-Inf, 0)),
    list(stats::qbeta(even, 1, 1) * 5, c(0, 5)),
    list(abs(stats::qnorm(even)), c(0, Inf)),
    list(stats::qnorm(0.2 + 0.8 * even), c(-0.84, Inf)),
    list(rep(0:10, 40), c(-0.5, 10.5)),
    list(rep(seq(0, 1, length.out = 21), 20), c(-0.025, 1.025)),
    list(exp(stats::qnorm(even)), c(0, Inf))
  )
  for (case in sharp) {
    expect_equal(edges_of(case[[1]]), case[[2]], tolerance = 0.02)
  }
  soft <- list(
    stats::qnorm(even), stats::qt(even, 3), stats::qlogis(even),
    c(stats::qnorm(even), 10 + 0.1 * stats::qnorm(stats::ppoints(40))),
    rep(2, 400), rep(0:1, 200), numeric(), even[1:20],
    stats::qpois(even, 9)
  )
  for (x in soft) expect_identical(edges_of(x), c(-Inf, Inf))
})

test_that("an edge where the density falls to zero is found in 1 of 100", {
  # Null: P <= 0.01 at each end of the triangular density; more than 62 of 3000
  # has probability 1e-7, and 99.9% power needs 2850 of 3000 uniform samples.
  found <- withr::with_seed(1, replicate(1500, c(
    edges_of(stats::runif(300) + stats::runif(300)), edges_of(stats::runif(300))
  )))
  expect_lte(sum(is.finite(found[1:2, ])), 62)
  expect_gte(sum(is.finite(found[3:4, ])), 2850)
})

test_that("nothing that is predicted leaves bounds that were found", {
  x <- withr::with_seed(2, matrix(stats::runif(800), 400))
  colnames(x) <- c("a", "b")
  y <- cbind(x[, 1] + 0.1 * normal_points(400, 1, 3), 10 * x[, 2] +
    normal_points(400, 1, 4))
  new <- rbind(c(1.1, 11), c(0.5, 5), c(-0.1, -1))
  inside <- function(v, name) expect_true(all(v >= -0.005 & v <= 1.005))
  for (method in c("adjusted", "kbr", "iw")) {
    fit <- quietly_kbr(
      kbr(x, y, method = method, scale = TRUE, seed = 1)
    )
    expect_equal(unname(fit$settings$support), matrix(0:1, 2, 2),
      tolerance = 0.01
    )
    expect_output(print(fit), "bounded: .*, found in the draws")
    for (type in c("mean", "quantile", "map", "draws")) {
      inside(predict(fit, new, type = type))
    }
    at <- as.matrix(expand.grid(a = seq(-0.2, 1.2, 0.02), b = c(-0.1, 1.1)))
    expect_true(all(predict(fit, new, type = "density", at = at) == 0))
    drawn <- withr::with_pdf(NULL, plot(fit, new[1, ]))
    inside(drawn$at)
    free <- quietly_kbr(kbr(x, y, method = method, support = "none"))
    expect_true(all(is.infinite(free$settings$support)))
  }
})
