# Methods of fits of kbr(): print, summary, tidy, draws, diagnostics, plots.

pairs <- kbr_pairs(60)
colnames(pairs$x) <- c("a", "b")
fit <- kbr(pairs$x, pairs$y, method = "iw", eps = 0.01, seed = 3)
new <- normal_points(3, 2, 5) / 2
prior <- list(points = normal_points(20, 2, 7), weights = 1:20)

on_paper <- function(expr) {
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  force(expr)
}

quietly <- function(expr) {
  withCallingHandlers(expr, kb_warning = function(w) {
    invokeRestart("muffleWarning")
  })
}

test_that("print() says what was done, in few lines", {
  lines <- capture.output(out <- print(fit))
  expect_identical(out, fit)
  expect_lte(length(lines), 15)
  expect_match(lines[[1]], "importance-weighted")
  text <- paste(lines, collapse = "\n")
  for (part in c(
    "60, 2 state columns, 2 observation columns", "kernel_gaussian(", "rank ",
    "that of the pairs", "eps, delta:   0.01, 0.001"
  )) {
    expect_match(text, part, fixed = TRUE)
  }
  other <- quietly(kbr_rule(a + b ~ u,
    data.frame(pairs$x, u = pairs$y[, 1]),
    prior = prior, scale = TRUE, rank = 3
  ))
  text <- paste(capture.output(print(other)), collapse = "\n")
  for (part in c(
    "a + b ~ u", "1 observation column, standardised", "20 weighted points",
    "% unexplained", "rank 3"
  )) {
    expect_match(text, part, fixed = TRUE)
  }
  gram <- kbr_rule(pairs$x, kernel_y = kernel_matrix(kernel_gaussian(1), pairs$y))
  expect_output(print(gram), "observations: kernel matrix")
})

test_that("summary() is about prior, errors and spread of each state", {
  s <- quietly(summary(fit))
  expect_s3_class(s, "summary.kb_kbr")
  expect_identical(s$states$state, c("a", "b"))
  expect_equal(s$states$prior_mean, unname(colMeans(pairs$x)))
  expect_equal(s$states$prior_sd, unname(apply(pairs$x, 2, sd)) * sqrt(59 / 60))
  expect_equal(s$states$rmse, unname(sqrt(colMeans(residuals(fit)^2))))
  w <- predict(fit, type = "weights")
  variance <- w %*% pairs$x^2 - (w %*% pairs$x)^2
  expect_equal(s$states$posterior_sd, unname(sqrt(colMeans(variance))))
  expect_output(print(s), "States, at the observations of the fit")
  # For a given prior of any kind.
  u <- prior$points
  v <- prior$weights / sum(prior$weights)
  given <- quietly(summary(update(fit, prior = prior)))$states
  expect_equal(given$prior_mean, colSums(v * u))
  expect_equal(given$prior_sd, sqrt(colSums(v * u^2) - colSums(v * u)^2))
  weighted <- quietly(summary(update(fit, prior = list(weights = 1:60))))$states
  expect_equal(weighted$prior_mean, unname(colSums(1:60 * pairs$x)) / sum(1:60))
  expect_error(summary(fit, 1), class = "kb_error_unknown_argument")
})

test_that("requests without meaning are refused", {
  for (ask in list(coef, sigma, logLik, evidence, inclusion, model_size, ess)) {
    expect_error(ask(fit), class = "kb_error_not_defined")
  }
  expect_error(fitted(fit, 1), class = "kb_error_unknown_argument")
  expect_error(residuals(fit, 1), class = "kb_error_unknown_argument")
  expect_named(timings(fit), "total")
  expect_gt(timings(fit)$total, 0)
  expect_identical(nobs(fit), 60L)
})

test_that("tidy() has one row per observation and state", {
  t <- quietly(tidy(fit, new, conf.level = 0.8))
  expect_named(t, c(
    "row", "term", "estimate", "std.error", "conf.low", "conf.high"
  ))
  expect_identical(t$row, rep(1:3, 2))
  expect_identical(t$term, rep(c("a", "b"), each = 3))
  expect_identical(t$estimate, as.vector(predict(fit, new)))
  expect_identical(
    t$std.error, as.vector(quietly(predict(fit, new, type = "sd")))
  )
  ends <- predict(fit, new, type = "quantile", probs = c(0.1, 0.9))
  expect_equal(t$conf.low, as.vector(ends[, , 1]))
  expect_equal(t$conf.high, as.vector(ends[, , 2]))
  expect_identical(nrow(quietly(tidy(fit))), 120L)
  gaps <- quietly(tidy(fit, rbind(new, NA)))
  expect_identical(which(is.na(gaps$estimate)), c(4L, 8L))
  expect_error(tidy(fit, conf.level = 1), class = "kb_error_argument")
})

test_that("glance() is one row", {
  g <- glance(fit)
  expect_identical(nrow(g), 1L)
  expect_identical(g$nobs, 60L)
  expect_identical(g$rank_x, ncol(fit$features$states$factor))
  d <- fit$posterior$spectrum
  expect_equal(g$effective_rank, sum(d / (d + 1e-3)))
  plain <- kbr_rule(pairs$x, pairs$y)
  d <- plain$posterior$spectrum
  expect_equal(
    glance(plain)$effective_rank, sum(d^2 / (d^2 + plain$settings$delta))
  )
})

test_that("augment() adds means and intervals to the observations", {
  out <- quietly(augment(fit, newdata = new))
  expect_named(out, c(
    "y1", "y2", ".fitted_a", ".lower_a", ".upper_a", ".fitted_b", ".lower_b",
    ".upper_b"
  ))
  expect_equal(as.matrix(out[1:2]), new, ignore_attr = TRUE)
  expect_equal(out$.fitted_b, unname(predict(fit, new)[, "b"]))
  expect_identical(nrow(quietly(augment(fit))), 60L)
  one <- quietly(augment(fit, newdata = new[1, ]))
  expect_equal(one, out[1, ], ignore_attr = TRUE)
  named <- kbr_rule(pairs$x, data.frame(u = pairs$y[, 1], v = pairs$y[, 2]))
  swapped <- quietly(augment(named, newdata = cbind(v = 2, u = 1)))
  expect_identical(swapped$u, 1)
  expect_equal(swapped$.fitted_a, predict(named, c(u = 1, v = 2))[[1]])
  expect_error(augment(fit, data = new, newdata = new),
    class = "kb_error_argument"
  )
})

test_that("simulate() picks herded states at random, by seed", {
  set.seed(2)
  before <- .Random.seed
  draws <- simulate(fit, 5, seed = 3, newdata = new)
  expect_identical(.Random.seed, before)
  expect_identical(dim(draws), c(5L, 2L, 3L))
  expect_identical(colnames(draws), c("a", "b"))
  expect_identical(simulate(fit, 5, seed = 3, newdata = new), draws)
  other <- simulate(fit, 5, seed = 4, newdata = new)
  expect_false(identical(other, draws))
  many <- simulate(fit, 1000, newdata = new)
  herded <- predict(fit, new, type = "draws", ndraws = 1000)
  for (i in 1:3) {
    expect_equal(sort(many[, 1, i]), sort(herded[, 1, i]))
    # States stay together.
    expect_true(all(paste(many[, 1, i], many[, 2, i]) %in%
      paste(pairs$x[, 1], pairs$x[, 2])))
  }
  expect_false(identical(many, herded))
  first <- withr::with_seed(5, simulate(fit, 5, newdata = new))
  expect_identical(withr::with_seed(5, simulate(fit, 5, newdata = new)), first)
  expect_false(identical(simulate(fit, 5, newdata = new), first))
  expect_identical(dim(simulate(fit)), c(1L, 2L, 60L))
  expect_error(simulate(fit, 0), class = "kb_error_argument")
})

test_that("as_draws() names states, and observations if there are several", {
  one <- as_draws(fit, newdata = new[1, ], ndraws = 50)
  expect_s3_class(one, "draws_matrix")
  expect_identical(posterior::variables(one), c("a", "b"))
  draws <- predict(fit, new, type = "draws", ndraws = 50)
  expect_equal(as.vector(one), as.vector(draws[, , 1]))
  all <- as_draws(fit, newdata = new, ndraws = 50)
  expect_identical(
    posterior::variables(all), paste0(c("a", "b"), "[", rep(1:3, each = 2), "]")
  )
  expect_equal(as.vector(all[, "b[2]"]), draws[, "b", 2])
})

test_that("diagnostics() are for the raw weights", {
  plain <- kbr_rule(pairs$x, pairs$y, prior = prior, delta = 1e-3)
  d <- quietly(diagnostics(plain, rbind(new[1, ], NA, new[2:3, ])))
  raw <- predict(update(plain, normalize = FALSE), new, type = "weights")
  o <- d$observations
  expect_identical(o$row, c(1L, 3L, 4L))
  expect_equal(o$sum, rowSums(raw))
  expect_equal(o$negative, rowSums(pmax(-raw, 0)) / rowSums(abs(raw)))
  expect_equal(o$ess, rowSums(raw)^2 / rowSums(raw^2))
  expect_true(any(o$negative > 0))
  expect_equal(o$near, rep(1, 3), tolerance = 1e-3)
  expect_equal(d$mu[["sum"]], sum(plain$mu))
  expect_equal(d$mu[["negative"]], sum(pmax(-plain$mu, 0)) / sum(abs(plain$mu)))
  expect_named(d$sensitivity, c("a", "b"))
  expect_identical(d$rank[["observations"]], ncol(plain$features$observations$factor))
  expect_output(print(d), "at 3 observations")
  expect_null(quietly(diagnostics(plain, new, sensitivity = FALSE))$sensitivity)
  own <- quietly(diagnostics(fit))$observations
  expect_identical(own$row, spread_over(60, 50))
  none <- quietly(diagnostics(fit, matrix(NA_real_, 2, 2)))
  expect_identical(nrow(none$observations), 0L)
  expect_error(diagnostics(fit, sensitivity = 1), class = "kb_error_argument")
})

test_that("half-negative weights and an ignored prior give warnings", {
  rough <- kbr_rule(pairs$x, pairs$y, kernel_y = kernel_laplace(0.3), delta = 1e-14)
  expect_warning(diagnostics(rough, new), class = "kb_warning_prior")
  quality <- function(negative) {
    warn_kbr_quality(list(
      observations = data.frame(negative = negative), sensitivity = c(a = 1)
    ))
  }
  expect_warning(quality(c(0, 0.45, 0.46)), class = "kb_warning_weights")
  expect_no_warning(quality(c(0, 0.39, 0.46)))
  expect_no_warning(diagnostics(kbr_rule(
    pairs$x, pairs$y, kernel_gaussian(1), kernel_gaussian(1),
    delta = 0.05
  )))
})

test_that("of chunks a variance below zero is NA and a warning", {
  chunk <- kbr_chunks(function(i) pairs, n_chunks = 1)
  negative <- kbr_rule(chunk, delta = 1e-9)
  variance <- kbr_variance(negative, kbr_seen(negative, pairs$y))
  expect_true(any(variance < -1e-3))
  expect_warning(sd <- predict(negative, pairs$y, type = "sd"),
    class = "kb_warning_weights"
  )
  expect_identical(unname(is.na(sd)), unname(variance < 0))
})

# Plots ------------------------------------------------------------------------

test_that("the marginal plot shows prior and posterior density", {
  drawn <- on_paper(plot(fit, new[1, ], n = 40))
  expect_named(drawn, c("state", "at", "prior", "posterior"))
  expect_identical(drawn$state, rep(c("a", "b"), each = 40))
  one <- drawn[drawn$state == "b", ]
  step <- diff(one$at[1:2])
  # The interval ends at the data, which leaves some mass outside.
  expect_gt(sum(one$posterior) * step, 0.8)
  expect_lt(sum(one$posterior) * step, 1.1)
  expect_gt(sum(one$prior) * step, 0.8)
  drawn <- on_paper(plot(update(fit, prior = prior), new[1, ], columns = "b"))
  u <- prior$points[, 2]
  v <- prior$weights / sum(prior$weights)
  width <- sqrt(sum(v * u^2) - sum(v * u)^2) * (4 / (3 / sum(v^2)))^(1 / 5)
  expect_equal(drawn$prior, vapply(drawn$at, function(at) {
    sum(v * dnorm(at, u, width))
  }, 0))
})

test_that("densities end at a prior that ends, and beyond one with tails", {
  w <- matrix(1 / 500, 1, 500)
  even <- (1:500 - 0.5) / 500
  normal <- stats::qnorm(even)
  expect_equal(density_ends(even, w, even, w), range(even))
  expect_equal(density_ends(even, w, NULL, NULL), range(even))
  expect_true(all(abs(density_ends(normal, w, normal, w, NULL)) > 3.5))
  positive <- exp(normal)
  ends <- density_ends(positive, w, positive, w, c(0, Inf))
  expect_gte(ends[[1]], 0)
  expect_gt(ends[[2]], max(positive))
})

test_that("all types draw, for all kinds of fits", {
  scaled <- kbr_rule(pairs$x, pairs$y, scale = TRUE, prior = prior)
  line <- kbr_rule(pairs$x[, 1], pairs$y[, 1])
  equal <- kbr_rule(rep(1, 9), 1:9)
  for (f in list(fit, scaled)) {
    for (type in c("marginals", "joint", "weights")) {
      out <- on_paper(plot(f, new[1, ], type = type, main = "x"))
      expect_s3_class(out, "data.frame")
      expect_true(all(is.finite(as.matrix(out[vapply(out, is.numeric, NA)]))))
    }
  }
  for (f in list(line, equal)) {
    for (type in c("marginals", "weights")) {
      expect_s3_class(on_paper(plot(f, 1, type = type)), "data.frame")
    }
  }
  weights <- on_paper(plot(fit, new[1, ], type = "weights", columns = 2))
  expect_equal(weights$weight, predict(fit, new[1, ], type = "weights")[1, ])
  expect_equal(weights$state, pairs$x[, 2])
  joint <- on_paper(plot(fit, new[1, ], type = "joint", n = 12))
  expect_identical(nrow(joint), 144L)
  expect_equal(
    joint$posterior,
    predict(fit, new[1, ], type = "density", at = cbind(
      joint$at_1, joint$at_2
    ))[1, ]
  )
})

test_that("plots refuse what they cannot draw", {
  refuse <- function(expr, class = "kb_error_argument") {
    expect_error(quietly(on_paper(expr)), class = class)
  }
  refuse(plot(fit))
  refuse(plot(fit, new))
  refuse(plot(fit, c(NA, 1)))
  refuse(plot(fit, new[1, ], type = "bars"))
  refuse(plot(fit, new[1, ], columns = "z"))
  refuse(plot(fit, new[1, ], columns = 3))
  refuse(plot(fit, new[1, ], type = "joint", columns = 1))
  refuse(plot(fit, new[1, ], type = "weights", columns = 1:2))
  refuse(plot(fit, new[1, ], level = 2))
  refuse(plot(fit, new[1, ], n = 3))
  refuse(plot(fit, new[1, ], colour = 2), "kb_error_unknown_argument")
  unknown <- fit
  unknown$far <- NULL
  unknown <- sealed(unknown)
  refuse(plot(unknown, c(1e6, 1e6)), "kb_error_weights")
  one_state <- kbr_rule(pairs$x[, 1], pairs$y)
  refuse(plot(one_state, new[1, ], type = "joint"))
})

# Files ------------------------------------------------------------------------

test_that("a fit is plain data, and predicts the same in a new process", {
  skip_without_processes()
  file <- file.path(local_folder(), "fit.rds")
  by_formula <- kbr_rule(a + log(b + 9) ~ u + g,
    data.frame(pairs$x, u = pairs$y[, 1], g = rep(c("p", "q"), 30)),
    prior = list(points = cbind(prior$points[, 1], 2.2)), scale = TRUE
  )
  plain <- function(x) {
    is.null(x) || is.atomic(x) || is.language(x) ||
      is.list(x) && all(vapply(x, plain, NA))
  }
  expect_true(plain(unclass(fit)))
  at <- data.frame(g = c("q", "p"), u = 1:2)
  saveRDS(list(fit, by_formula), file)
  found <- in_process(function(file, new, at) {
    fits <- readRDS(file)
    library(kernelbayes)
    list(
      predict(fits[[1]], new), predict(fits[[1]], new, type = "map"),
      predict(fits[[2]], at),
      predict(update(fits[[1]], prior = list(points = new)), new)
    )
  }, file, new, at)
  expect_equal(found, list(
    predict(fit, new), predict(fit, new, type = "map"),
    predict(by_formula, at),
    predict(update(fit, prior = list(points = new)), new)
  ))
})

test_that("R's generator is left alone when a seed is given", {
  set.seed(1)
  before <- .Random.seed
  one <- kbr_rule(pairs$x, pairs$y, seed = 3)
  expect_identical(.Random.seed, before)
  expect_identical(one$seed, 3L)
  set.seed(1)
  first <- kbr_rule(pairs$x, pairs$y)$seed
  set.seed(1)
  expect_identical(kbr_rule(pairs$x, pairs$y)$seed, first)
})

test_that("update() refuses what it cannot change", {
  expect_error(update(fit, method = "kbr"), class = "kb_error_unknown_argument")
  expect_error(update(fit, eps = 0), class = "kb_error_argument")
  expect_error(update(fit, delta = "a"), class = "kb_error_argument")
  expect_error(update(fit, normalize = 1), class = "kb_error_argument")
  expect_error(update(fit, prior = 1), class = "kb_error_argument")
  expect_error(update(fit, eps = kbr_schedule(), delta = 1),
    class = "kb_error_argument"
  )
})

test_that("a posterior's embedding is a prior in the states' units", {
  for (scale in c(FALSE, TRUE)) {
    first <- quietly(kbr_rule(pairs$x * 10, pairs$y, scale = scale))
    w <- predict(first, new[1, ], type = "weights")[1, ]
    told <- predict(first, new[1, ], type = "embedding")[[1]]
    by_points <- quietly(
      update(first, prior = list(points = pairs$x * 10, weights = w))
    )
    expect_equal(
      quietly(predict(update(first, prior = told), new)),
      predict(by_points, new)
    )
  }
})
