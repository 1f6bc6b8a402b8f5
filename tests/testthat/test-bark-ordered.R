# Ordered classes in bark(): latent responses and cut points by one-step
# invariance and exact rejection, chains of tiny problems and the evidence
# against importance sampling from the prior.
#
# Seen to fail, one mutant at a time:
# - cut points: without prior or class probabilities, twice the exponent of the
#   prior, a pair that does not keep its sum, latent responses redrawn at f = 0
#   or not at all (misplaced ones);
# - scale: accepted regardless of the prior of the gaps, gaps left alone
#   (misplaced responses only);
# - magnitude: without the prior of the gaps, gaps left alone, the old cut
#   points in the likelihood;
# - responses of a middle class without an upper bound; gaps not restored;
# - the lowest rung without moves of cut points; with the prior alone, cut
#   points that are not drawn, or with a standard deviation of 1.3.

ordered_setting <- function(...) bark_setting(..., noise_fixed = TRUE)

#' Cut points, including -Inf and Inf
cut_points <- function(log_gaps) c(-Inf, 0, cumsum(exp(log_gaps)), Inf)

test_that("updates agree with dense algebra, and keep classes", {
  y <- c(1, 3, 2, 4, 1)
  for (type in bark_types) {
    for (amplitude in c(1, 0.1)) {
      alpha <- if (amplitude == 1) 1 else 1.5
      walk <- bark_walk_cpp(
        ordered_setting(type, alpha, 6), five_rows, y, rep(1, 5), 40, 1, 3,
        "ordered", amplitude, 5
      )
      for (state in walk) {
        z <- state$response
        expect_length(state$cuts, 6)
        expect_identical(state$cuts[c(1, 2, 6)], c(-Inf, 0, Inf))
        expect_true(all(state$cuts[y] <= z & z <= state$cuts[y + 1]))
        lowered <- state
        lowered$varphi <- state$varphi / amplitude
        dense <- dense_log_likelihood(
          lowered, five_rows, z, rep(1, 5), alpha
        )
        expect_lt(abs(state$log_likelihood - dense), 1e-8)
      }
    }
  }
})

test_that("two ordered classes are a probit model, to the last bit", {
  signs <- c(1, -1, 1, 1, -1)
  run <- function(family, y) {
    out <- run_to_end(response_engine(family, five_rows, y,
      ordered_setting("select_different"), n_temps = 2
    ))
    out$draws$cuts <- NULL # all 0
    out
  }
  expect_identical(run("ordered", (signs + 3) / 2), run("probit", signs))
})

# Exact rejection --------------------------------------------------------------

#' Latent responses and gaps given the classes y, kernels fixed: draws from the
#' prior that give these classes, their statistics
rejected_statistics <- function(k, v, y, n) {
  gaps <- max(y, 3) - 2
  out <- lapply(seq_len(n), function(i) {
    g <- stats::rnorm(gaps)
    f <- drop(k %*% stats::rnorm(length(v), 0, sqrt(v)))
    z <- f + stats::rnorm(length(y))
    if (all(findInterval(z, cut_points(g)) == y)) ordered_statistics(z, g)
  })
  do.call(cbind, out)
}

ordered_statistics <- function(z, g) {
  both <- c(squashed(z), g)
  c(both, outer(both, both)[upper.tri(diag(length(both)), TRUE)])
}

test_that("latent responses and cut points agree with exact rejection", {
  # Three rows, classes 1 to 4 with the third empty, kernels fixed. 40
  # independent runs against rejection; null: t scores with at least 39 degrees
  # of freedom, |t| > 7 has probability 2e-8; 20 scores of 2 cases (3 in the
  # extended suite).
  x <- matrix(c(0, 0.8, -1), 3)
  y <- c(1, 4, 2)
  location <- c(0, 2)
  varphi <- c(0.5, 2)
  k <- cbind(1, exp(-0.7 * (x[, 1] - x[2, 1])^2))
  exact <- withr::with_seed(4, {
    rejected_statistics(k, 1 / varphi, y, 30000)
  })
  mean <- rowMeans(exact)
  se <- apply(exact, 1, stats::sd) / sqrt(ncol(exact))
  cases <- list(
    c("latent", "cuts"), c("latent_given_coefficients", "latent_scale", "cuts"),
    c("latent", "latent_scale", "cuts")
  )
  for (case in cases[seq_len(2 + extended())]) {
    means <- vapply(1:40, function(seed) {
      draws <- bark_latent_cpp(
        ordered_setting(), x, y, location, varphi, log(0.7), case, 300, seed,
        "ordered", 4
      )[, -(1:50)]
      inside <- apply(draws, 2, function(d) {
        all(findInterval(d[1:3], cut_points(d[4:5])) == y)
      })
      expect_true(all(inside))
      rowMeans(apply(draws, 2, function(d) ordered_statistics(d[1:3], d[4:5])))
    }, mean)
    own <- apply(means, 1, stats::sd) / sqrt(40)
    score <- (rowMeans(means) - mean) / sqrt(own^2 + se^2)
    expect_lt(max(abs(score)), 7, label = toString(case))
  }
})

# Moves -----------------------------------------------------------------------

test_that("every move leaves the joint law with cut points invariant", {
  # Null: at most 189 scores per call, each nearly standard normal; 42 calls
  # (168 in the extended suite): |z| > 6 somewhere has probability 5e-5 at most.
  moves <- setdiff(bark_moves_cpp(), c("none", "noise", "noise_gibbs"))
  types <- if (extended()) bark_types else "select_different"
  own <- c("cuts", "latent", "latent_scale", "magnitude",
    "latent_given_coefficients"
  )
  for (type in types) {
    for (alpha in c(1, 1.5)) {
      for (move in moves) {
        fast <- if (move %in% own) 8000 else 1500
        pairs <- if (extended()) 40000 else fast
        z <- paired_scores(bark_invariance_cpp(
          ordered_setting(type, alpha), five_rows, rep(1, 5), move, 4, pairs,
          1, 7, "ordered", if (alpha == 1) 1 else 0.2, 5
        ))
        expect_lt(max(abs(c(z, 0))), 6, label = paste(move, type, alpha))
      }
    }
  }
})

test_that("full sweeps and single moves leave the joint law invariant", {
  # Null: 189 nearly standard normal scores per setting.
  pairs <- if (extended()) 20000 else 1500
  x <- withr::with_seed(3, matrix(stats::rnorm(36), 12))
  for (single in c(FALSE, TRUE)) {
    z <- paired_scores(bark_geweke_cpp(
      ordered_setting("select_different", nu = 8), x, rep(1, 12),
      if (single) 20 else 3, pairs, 1, "ordered", single, 4
    ))
    expect_lt(max(abs(z)), 6)
  }
})

test_that("exchanges of rungs leave the law of both states invariant", {
  # Null: 72 nearly standard normal scores.
  out <- bark_exchange_cpp(
    ordered_setting("select_different"), five_rows[1:3, ], "ordered", 0.1,
    8000, 4, 4
  )
  expect_gt(mean(out$before[1, ] != out$after[1, ]), 0.2)
  d <- rbind(out$after, out$after^2) - rbind(out$before, out$before^2)
  z <- rowMeans(d) / sqrt(rowMeans(d^2)) * sqrt(ncol(d))
  expect_lt(max(abs(z), na.rm = TRUE), 6)
})

# Chains ----------------------------------------------------------------------

test_that("a chain cut anywhere continues unchanged", {
  y <- c(1, 3, 2, 4, 1)
  for (n_temps in c(1, 3)) {
    for (sweep in c("full", "single")) {
      engine <- response_engine("ordered", five_rows, y,
        ordered_setting("select_different", 1.5), n_temps = n_temps, thin = 2,
        sweep = sweep, classes = 4
      )
      expect_identical(run_parts(engine, c(7, 20, 1, 32)), run_to_end(engine))
    }
  }
})

test_that("steps of cut points adapt in the warmup, and not after it", {
  engine <- response_engine("ordered", five_rows, c(1, 3, 2, 4, 1),
    ordered_setting(), classes = 4
  )
  steps <- lapply(c(10, 20, 60), function(n) {
    run_parts(engine, n)$levels[[1]]$steps$cuts
  })
  expect_identical(steps[[1]]$times, c(10L, 10L))
  expect_identical(steps[[2]]$times, c(20L, 20L))
  expect_identical(steps[[2]], steps[[3]])
})

test_that("the stored log likelihood is for the draws", {
  y <- c(1, 3, 2, 4, 1)
  engine <- response_engine("ordered", five_rows, y,
    ordered_setting("select_different"), classes = 4
  )
  draws <- run_to_end(engine)$draws
  f <- bark_values_cpp(
    draws, five_rows, five_rows, "draw", seq_along(draws$m)
  )$mean
  edge <- rbind(-Inf, matrix(draws$cuts, 3), Inf)
  p <- stats::pnorm(edge[y + 1, ] - f) - stats::pnorm(edge[y, ] - f)
  expect_equal(draws$log_likelihood, colSums(log(p)), tolerance = 1e-8)
})

#' log P(y | f) and statistics of drawn cut points, one row per draw
ordered_likelihood <- function(y, classes) {
  function(f, draws) {
    g <- matrix(stats::rnorm(nrow(f) * (classes - 2)), nrow(f))
    gaps <- split(exp(g), col(g))
    cuts <- cbind(
      -Inf, 0, do.call(cbind, Reduce(`+`, gaps, accumulate = TRUE)), Inf
    )
    log_p <- log_normal_interval(cuts[, y] - f, cuts[, y + 1] - f)
    cbind(rowSums(log_p), g[, 1], g[, ncol(g)])
  }
}

test_that("chains agree with importance sampling from the prior", {
  # Null: t scores with 19 degrees of freedom at worst; |t| > 8 has probability
  # 2e-7; 6 scores of 2 chains (6 in the extended suite). Classes without rows:
  # the first, one in the middle, the last.
  cases <- list(
    list("select_different", 1, 1, c(1, 3, 2, 3), 3),
    list("different", 1.5, 2, c(3, 5, 3, 2), 5),
    list("select_different", 1, 3, c(1, 3, 2, 3), 3),
    list("different", 1.5, 1, c(3, 5, 3, 2), 5),
    list("equal", 1, 1, c(2, 2, 1, 2), 4),
    list("select_equal", 1, 1, c(1, 3, 4, 3), 4)
  )
  if (!extended()) cases <- cases[1:2]
  n <- if (extended()) 20000 else 5000
  for (case in cases) {
    prior <- ordered_setting(case[[1]], case[[2]], eps = 1)
    x <- five_rows[1:4, 1:2]
    at <- matrix(c(0.2, -0.4), 1)
    y <- case[[4]]
    exact <- withr::with_seed(6, response_importance(
      prior, x, drop(at), n, ordered_likelihood(y, case[[5]])
    ))
    for (n_temps in case[[3]]) {
      engine <- response_engine("ordered", x, y, prior, 100, 300, n_temps,
        classes = case[[5]]
      )
      z <- response_scores(engine, exact, at, function(draws) {
        cuts <- rbind(matrix(draws$cuts, case[[5]] - 1))
        gaps <- log(apply(cuts, 2, diff))
        gaps <- matrix(gaps, case[[5]] - 2)
        c(mean(gaps[1, ]), mean(gaps[nrow(gaps), ]))
      })
      label <- toString(unlist(c(case[1:2], n_temps)))
      expect_lt(max(abs(z)), 8, label = label)
    }
  }
})

test_that("a chain of the prior alone has the prior's cut points", {
  # Null: independent draws of N(0, 1): nearly standard normal scores, |z| > 6.
  engine <- response_engine("ordered", five_rows, c(1, 1, 1, 1, 1),
    ordered_setting(), prior_only = TRUE, iter = 4000, classes = 4
  )
  for (sweep in c("full", "single")) {
    engine$config$sweep <- sweep
    cuts <- matrix(run_to_end(engine)$draws$cuts, 3)
    gaps <- log(rbind(cuts[2, ], cuts[3, ] - cuts[2, ]))
    z <- c(rowMeans(gaps), (rowMeans(gaps^2) - 1) / sqrt(2)) * sqrt(4000)
    expect_lt(max(abs(z)), 6)
  }
})

test_that("extreme problems have finite answers", {
  edges <- list(
    list(five_rows, rep(2, 5)), # one class, in the middle
    list(matrix(c(-2, -1, 1, 2)), c(1, 1, 4, 4)), # separated
    list(matrix(0.5), 4), # one row
    list(matrix(0, 4, 2), 1:4) # no signal
  )
  for (edge in edges) {
    for (nu in c(1e-3, 30)) {
      engine <- response_engine("ordered", edge[[1]], edge[[2]],
        ordered_setting("select_different", nu = nu, eps = 50), iter = 100,
        classes = 4
      )
      draws <- run_to_end(engine)$draws
      expect_true(all(is.finite(unlist(draws))))
      expect_true(all(draws$log_likelihood <= 0))
      expect_true(all(apply(matrix(draws$cuts, 3), 2, diff) > 0))
    }
  }
})

test_that("the core refuses weights, and values that are not classes", {
  for (y in list(c(0, 1, 2, 1, 1), c(1, 2, 2.5, 1, 1), c(1, 2, 5, 1, 1))) {
    engine <- response_engine("ordered", five_rows, y, ordered_setting(),
      classes = 4
    )
    expect_error(engine_open(engine, 1, NULL), "numbers from 1")
  }
  engine <- response_engine("ordered", five_rows, 1:5, ordered_setting(),
    classes = 5, weights = rep(2, 5)
  )
  expect_error(engine_open(engine, 1, NULL), "weights 1")
})

# Evidence ---------------------------------------------------------------------

test_that("the base of the evidence averages over the prior of cut points", {
  # Three classes: one integral. More: means over draws from the prior, nearly
  # normal, |z| > 6; and sums over all classes of one row are 1.
  for (counts in list(c(2, 3, 1), c(0, 4, 0), c(5, 0, 2), c(40, 30, 100))) {
    exact <- stats::integrate(function(g) {
      c2 <- exp(g)
      stats::dnorm(g) * exp(
        counts[2] * log(stats::pnorm(c2) - 0.5) + counts[1] * log(0.5) +
          counts[3] * stats::pnorm(c2, lower.tail = FALSE, log.p = TRUE) +
          1.1 * sum(counts)
      )
    }, -12, 9, rel.tol = 1e-10, subdivisions = 1000)$value
    expect_equal(ordered_base(counts), log(exact) - 1.1 * sum(counts),
      tolerance = 1e-7
    )
  }
  withr::local_seed(3)
  for (counts in list(c(2, 1, 3, 2), c(1, 0, 2, 0, 1), c(3, 2, 2, 1, 1, 2))) {
    p <- replicate(5000, {
      cuts <- cut_points(stats::rnorm(length(counts) - 2))
      prod(diff(stats::pnorm(cuts))^counts)
    })
    score <- (exp(ordered_base(counts)) - mean(p)) / stats::sd(p) * sqrt(5000)
    expect_lt(abs(score), 6, label = toString(counts))
  }
  one <- vapply(1:5, function(k) ordered_base(1 * (1:5 == k)), 0)
  expect_equal(sum(exp(one)), 1, tolerance = 1e-7)
})

test_that("the lowest rung has the law of cut points without a function", {
  # A ladder of this rung only. Null: t scores of 20 independent ladders, |t| >
  # 8 has probability 2e-7; 2 of them.
  y <- c(1, 2, 2, 3, 3)
  engine <- as_ladder(response_engine("ordered", five_rows, y,
    ordered_setting(), 5, 1000, classes = 3
  ), c(0, 1))
  density <- function(g) {
    stats::dnorm(g) * (stats::pnorm(exp(g)) - 0.5)^2 *
      stats::pnorm(exp(g), lower.tail = FALSE)^2
  }
  moment <- function(k) {
    stats::integrate(function(g) g^k * density(g), -12, 4, rel.tol = 1e-9)$value
  }
  exact <- c(moment(1), moment(2)) / moment(0)
  means <- vapply(1:20, function(index) {
    state <- NULL
    rowMeans(vapply(1:80, function(i) {
      handle <- engine_open(engine, index, state)
      engine_advance(engine, handle, if (i == 1) 6 else 2)
      state <<- engine_state(engine, handle)
      engine_close(engine, handle)
      state$levels[[1]]$log_gaps^(1:2)
    }, exact))
  }, exact)
  z <- (rowMeans(means) - exact) / apply(means, 1, stats::sd) * sqrt(20)
  expect_lt(max(abs(z)), 8)
})

ordered_data <- function() {
  out <- bark_data()[c("x1", "x2", "x4", "y")]
  out$class <- cut(out$y, c(-Inf, 10, 14, 18, 60, Inf),
    c("none", "low", "mid", "high", "top"),
    ordered_result = TRUE
  )
  out[setdiff(names(out), "y")]
}

test_that("the evidence agrees with importance sampling from the prior", {
  # Null: as in test-bark-evidence.R; |t| > 8 has probability 2e-7.
  y <- c(1, 3, 4, 1, 3, 4)
  x <- matrix(c(
    0.3, -1.2, 1.1, -0.2, 0.9, 0.1, 0.4, -1, -0.6, 1.3, -0.5, 0.7
  ), 6)
  cases <- list(list("select_equal", 1), list("different", 1.5))
  for (case in cases[seq_len(1 + extended())]) {
    fit <- suppressWarnings(bark(x, ordered(y, 1:4),
      prior = bark_prior_paper(case[[1]], alpha = case[[2]], eps = 0.5, gamma = 1.5),
      control = mcmc_control(1, 1, 2), scale = FALSE, seed = 1
    ))
    prior <- fit$settings$prior
    prior$noise_shape <- prior$noise_rate <- 1
    exact <- withr::with_seed(8, response_importance(
      prior, x, c(0, 0), 6000, ordered_likelihood(y, 4)
    ))$weight
    z <- evidence(fit,
      n_temps = 5, warmup = 20, iter = 100, chains = 20, seed = 3
    )
    own <- stats::sd(z$replicates) / sqrt(20)
    se <- stats::sd(exact) / mean(exact) / sqrt(length(exact))
    score <- (z$log_evidence - log(mean(exact))) / sqrt(own^2 + se^2)
    expect_lt(abs(score), 8, label = case[[1]])
  }
  engine <- ladder_engine(fit, 3, 10, 30, 5)
  expect_identical(
    run_parts(engine, c(7, 3, 1, 29)), run_parts(engine, 40)
  )
})

# Fits -------------------------------------------------------------------------

ordered_fit <- local({
  fit <- NULL
  function() {
    if (is.null(fit)) {
      fit <<- bark_quick(class ~ x1 + x2 + x4, ordered_data())
    }
    fit
  }
})

test_that("an ordered factor means ordered classes, also empty ones", {
  data <- ordered_data()
  fit <- ordered_fit()
  levels <- levels(data$class)
  expect_identical(fit$mould$levels, levels)
  expect_identical(table(data$class)[["top"]], 0L)
  by_name <- bark_quick(class ~ x1 + x2 + x4, data, family = "ordered")
  expect_identical(by_name$runs[[1]]$draws, fit$runs[[1]]$draws)
  unordered <- transform(data, class = factor(class, ordered = FALSE))
  by_name <- bark_quick(class ~ x1 + x2 + x4, unordered, family = "ordered")
  expect_identical(by_name$mould$levels, levels[1:4])
  as_xy <- bark_quick(data[1:3], data$class)
  expect_identical(as_xy$runs[[1]]$draws, fit$runs[[1]]$draws)
  two <- transform(data, class = ordered(x1 > 0.5))
  expect_identical(
    bark_quick(class ~ x2, two)$settings$family, "probit"
  )
  expect_identical(
    bark_quick(class ~ x2, two, family = "ordered")$settings$family, "probit"
  )
})

test_that("a fit of ordered classes reports its results", {
  fit <- ordered_fit()
  expect_output(print(fit), "ordered classes")
  expect_output(print(fit), "cut points: +none\\|low 0, low\\|mid ")
  expect_output(print(fit), "top \\(0\\)")
  expect_output(print(summary(fit)), "cut[mid|high]", fixed = TRUE)
  names <- c("cut[none|low]", "cut[low|mid]", "cut[mid|high]", "cut[high|top]")
  draws <- as_draws(fit)
  expect_true(all(names %in% posterior::variables(draws)))
  expect_true(all(draws[[names[1]]] == 0))
  expect_true(all(draws[[names[4]]] > draws[[names[3]]]))
  tidied <- tidy(fit)
  expect_identical(tidied$term, c("J", "d", names))
  expect_equal(tidied$estimate[6], mean(draws[[names[4]]]))
  expect_identical(ess(fit)$variable[1:5], c("J", "log_lik", names[-1]))
  expect_true("cuts" %in% names(diagnostics(fit)$acceptance))
  expect_identical(sigma(fit), 1)
  expect_identical(glance(fit)$sigma, 1)
})

test_that("predictions of ordered classes agree with their definition", {
  fit <- ordered_fit()
  data <- ordered_data()[c(1, 7, 20), ]
  pool <- bark_pool(fit)
  moments <- bark_moments(fit, as.matrix(data[1:3]), pool)
  cuts <- bark_cuts(fit, pool)
  exact <- t(vapply(1:3, function(i) {
    edge <- cbind(-Inf, cuts, Inf)
    p <- stats::pnorm(
      (edge - moments$mean[i, ]) / sqrt(1 + moments$variance[i, ])
    )
    colMeans(p[, -1] - p[, -6])
  }, numeric(5)))
  p <- predict(fit, data, type = "prob")
  expect_equal(unname(p), unname(exact), tolerance = 1e-10)
  expect_identical(colnames(p), levels(data$class))
  expect_identical(
    predict(fit, data),
    factor(colnames(p)[max.col(p)], levels(data$class), ordered = TRUE)
  )
  expect_equal(
    predict(fit, data, type = "log_score"),
    log(p[cbind(1:3, as.integer(data$class))]),
    tolerance = 1e-10
  )
  f <- predict(fit, data, type = "draws")
  expect_identical(dim(f), c(80L, 3L))
  band <- predict(fit, data, type = "prob", interval = "credible", level = 0.5)
  expect_identical(dim(band), c(3L, 5L, 3L))
  expect_equal(band[, , "fit"], p)
  high <- stats::pnorm(cuts[, 3] - f) - stats::pnorm(cuts[, 2] - f)
  expect_equal(
    unname(t(band[, "mid", c("lwr", "upr")])),
    unname(apply(high, 2, stats::quantile, c(0.25, 0.75))),
    tolerance = 1e-8
  )
  link <- predict(fit, data, type = "link", interval = "credible")
  expect_equal(link[, "fit"], rowMeans(moments$mean), tolerance = 1e-8)
})

test_that("rows with missing values are NA in each type", {
  fit <- ordered_fit()
  data <- ordered_data()[1:3, ]
  data$x1[2] <- NA
  for (type in c("class", "prob", "link", "log_score")) {
    value <- as.matrix(predict(fit, data, type = type))
    expect_identical(which(is.na(value[, 1])), 2L)
  }
  band <- predict(fit, data, type = "prob", interval = "credible")
  expect_true(all(is.na(band[2, , ])) && !anyNA(band[-2, , ]))
  none <- predict(fit, data[2, ], type = "prob")
  expect_identical(unname(none), matrix(NA_real_, 1, 5))
})

test_that("methods handle ordered classes", {
  fit <- ordered_fit()
  data <- ordered_data()
  p <- predict(fit, type = "prob")
  expect_identical(fitted(fit), predict(fit, data))
  own <- p[cbind(seq_len(nrow(p)), as.integer(data$class))]
  expect_equal(residuals(fit), 1 - own)
  expect_equal(as.numeric(logLik(fit)), sum(log(own)))
  y <- simulate(fit, 3, seed = 1)
  expect_identical(dim(y), c(30L, 3L))
  expect_true(is.ordered(y$sim_1))
  expect_identical(levels(y$sim_1), levels(data$class))
  out <- augment(fit)
  expect_equal(out$.prob_mid, p[, "mid"])
  expect_identical(out$.class, fitted(fit))
  expect_equal(out$.resid, residuals(fit))
  expect_identical(nrow(augment(fit, newdata = data[1:2, ])), 2L)
  slope <- partial_dependence(fit, "x4", n = 3)
  expect_true(all(slope$lower <= slope$upper))
  grDevices::pdf(NULL)
  withr::defer(grDevices::dev.off())
  expect_identical(plot(fit), fit)
  expect_identical(plot(fit, type = "trace"), fit)
  line <- bark_quick(class ~ x4, data)
  expect_identical(plot(line), line)
})

test_that("draws of classes in the form of rstantools", {
  skip_if_not_installed("rstantools")
  fit <- ordered_fit()
  data <- ordered_data()
  p <- rstantools::posterior_epred(fit, data)
  expect_identical(dim(p), c(80L, 30L, 5L))
  expect_equal(unname(apply(p, 1:2, sum)), matrix(1, 80, 30))
  # Means over draws of f against the exact means: nearly normal, |z| > 6 for
  # 120 positive ones.
  off <- apply(p, 2:3, mean) - predict(fit, data, type = "prob")
  spread <- apply(p, 2:3, stats::sd) / sqrt(80)
  expect_lt(max(abs(off / pmax(spread, 1e-4))), 6)
  y <- rstantools::posterior_predict(fit, data, seed = 1)
  expect_identical(dim(y), c(80L, 30L))
  share <- vapply(1:5, function(k) mean(y == k), 0)
  expect_lt(max(abs(share - colMeans(apply(p, 2:3, mean)))), 6 * 0.5 / sqrt(80))
  l <- rstantools::log_lik(fit, data)
  pick <- cbind(
    rep(1:80, 30), rep(1:30, each = 80),
    rep(as.integer(data$class), each = 80)
  )
  expect_equal(l, matrix(log(p[pick]), 80), tolerance = 1e-8)
})

test_that("a fit continues and is read back unchanged", {
  data <- ordered_data()
  short <- bark_quick(class ~ x1 + x4, data, iter = 20)
  long <- bark_quick(class ~ x1 + x4, data, iter = 50)
  file <- withr::local_tempfile()
  saveRDS(short, file)
  on <- suppressWarnings(update(readRDS(file), iter = 30))
  expect_identical(
    lapply(on$runs, `[[`, "draws"), lapply(long$runs, `[[`, "draws")
  )
  # Stopped chains are cut to the shortest.
  cut <- long
  cut$runs[[2]]$draws <- short$runs[[2]]$draws
  cut$runs[[1]] <- head_draws(long, long$runs[[1]], 20)
  cut <- sealed(cut)
  expect_length(cut$runs[[1]]$draws$cuts, 80)
})

test_that("requests without meaning for ordered classes are refused", {
  data <- ordered_data()
  fit <- ordered_fit()
  refused <- "kb_error_argument"
  expect_error(predict(fit, type = "response"), class = refused)
  expect_error(predict(fit, interval = "prediction"), class = refused)
  expect_error(augment(fit, interval = "credible"), class = refused)
  expect_error(partial_dependence(fit, "x4", type = "response"),
    class = refused
  )
  expect_error(
    bark(class ~ x1, data, weights = rep(1, 30), prior = bark_prior_paper()),
    "latent responses", class = refused
  )
  expect_error(bark(class ~ x1, data, prior = bark_prior_paper(noise = fixed_variance(2))),
    class = refused
  )
  expect_error(bark(class ~ x1, data, prior = bark_prior_paper(df = 3)),
    class = refused
  )
  expect_error(bark(x1 ~ x2, data, family = "ordered"),
    class = "kb_error_outcome"
  )
  text <- transform(data, class = as.character(class))
  expect_error(bark(class ~ x1, text, family = "ordered"),
    class = "kb_error_outcome"
  )
  expect_error(srvm(class ~ x1, data, family = "ordered"), class = refused)
  expect_error(bark(class ~ x1, data, family = "sorted"), class = refused)
})
