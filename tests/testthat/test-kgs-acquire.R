# acquire(): which points to label next.
#
# Seen to fail, one mutant at a time: the entropy of the clean label; BALD
# without its second term, or with the nugget as information; the margin of the
# smallest; the quadrature without its nodes; the remainder not updated, or
# updated without the noise, or without the labels before; clean labels'
# covariances; equal points chosen twice.

moons <- sim_moons(90, flips = 0.1, seed = 1)
labelled <- 1:30
pool <- moons[31:90, ]
three_moons <- moons
three_moons$y <- cut(moons$x1 + moons$x2, c(-Inf, 0, 2, Inf), c("a", "b", "c"))

fit_moons <- function(..., data = moons, nugget = 0, method = "hmc",
                      iter = 300) {
  suppressWarnings(kgs(y ~ x1 + x2, data[labelled, ],
    kernel = kernel_gaussian(0.7), scale = FALSE, seed = 1,
    control = mcmc_control(chains = 2, warmup = 100, iter = iter),
    progress = FALSE, nugget = nugget, method = method, ...
  ))
}

scores <- function(fit, ..., rows = pool) {
  out <- acquire(fit, rows, n = nrow(rows), diverse = FALSE, ...)
  out$score[order(out$row)]
}

binary_entropy <- function(p) -p * log(p) - (1 - p) * log(1 - p)

# Scores -----------------------------------------------------------------------

test_that("entropy and margin follow from the predicted probabilities", {
  for (fit in list(
    fit_moons(), fit_moons(nugget = 0.3, method = "block"),
    fit_moons(noise = noise_class(1, 4)), fit_moons(nugget = NULL, method = "auto")
  )) {
    for (complement in c(TRUE, FALSE)) {
      recorded <- predict(fit, pool, type = "prob", complement = complement)
      true <- predict(fit, pool, type = "true_prob", complement = complement)
      expect_equal(
        scores(fit, criterion = "entropy", complement = complement),
        binary_entropy(recorded[, 1])
      )
      expect_equal(
        scores(fit, criterion = "margin", complement = complement),
        1 - abs(true[, 1] - true[, 2])
      )
    }
  }
})

test_that("BALD is the information of a label about f", {
  # The uncertainty due to wrong labels and the nugget is subtracted.
  fit <- fit_moons(noise = 0.1)
  for (complement in c(TRUE, FALSE)) {
    expect_equal(
      scores(fit, criterion = "bald", complement = complement),
      scores(fit, criterion = "entropy", complement = complement) -
        binary_entropy(0.1)
    )
  }
  fit <- fit_moons(noise = noise_class(1, 4), iter = 1000)
  rates <- posterior_pool(fit)$rates
  votes <- t(predict(fit, pool, type = "draws") > 0)
  given <- rowMeans(ifelse(votes,
    rep(binary_entropy(rates[, 2]), each = 60),
    rep(binary_entropy(rates[, 1]), each = 60)
  ))
  expect_equal(
    scores(fit, criterion = "bald", complement = FALSE),
    scores(fit, criterion = "entropy", complement = FALSE) - given
  )
})

test_that("BALD does not count uncertainty due to the nugget", {
  # Null: with fixed draws, the mean over one draw of the rest of f for each
  # equals the mean of 200; normal z, 1e-4 over all points (Bonferroni).
  fit <- fit_moons(nugget = 0.5, method = "block", noise = 0.1, iter = 500)
  x <- as.matrix(pool[1:20, c("x1", "x2")])
  features <- kgs_features(fit, x)
  v <- matrix(kgs_function(fit, features, posterior_pool(fit)), 20)
  sd <- sqrt(complement_variance(fit, x, features) - 0.5)
  entropy <- function() {
    f <- v * rep(sqrt(rchisq(ncol(v), 30)), each = 20) + sd * rnorm(length(v))
    binary_entropy(0.1 + 0.8 * pnorm(f / sqrt(0.5)))
  }
  many <- withr::with_seed(1, replicate(200, rowMeans(entropy())))
  recorded <- predict(fit, pool[1:20, ], type = "prob")[, 1]
  z <- (binary_entropy(recorded) - scores(fit, rows = pool[1:20, ]) -
    rowMeans(many)) / (apply(many, 1, stats::sd) * sqrt(1 + 1 / 200))
  expect_lt(max(abs(z)), qnorm(1e-4 / 20 / 2, lower.tail = FALSE))
})

test_that("a point determined by the training data is uninformative", {
  separable <- moons
  separable$y <- factor(moons$x1 > 0.5)
  fit <- fit_moons(noise = 0, data = separable)
  expect_identical(scores(fit, rows = moons[labelled, ]), rep(0, 30))
})

test_that("the largest of several functions has its probability", {
  # Null: 2e5 independent draws of the index of the largest; normal z, 1e-4 over
  # all probabilities (Bonferroni).
  mean <- array(c(0.3, -1, 0, 2, 0.1, 1, -0.4, 0, 2), c(3, 1, 3))
  p <- largest_given_mean(mean, 0.7)[, 1, ]
  expect_equal(rowSums(p), rep(1, 3))
  drawn <- withr::with_seed(4, vapply(1:3, function(i) {
    f <- mean[i, 1, ] + 0.7 * matrix(rnorm(6e5), 3)
    tabulate(max.col(t(f)), 3) / 2e5
  }, numeric(3)))
  z <- (p - t(drawn)) / sqrt(p * (1 - p) / 2e5)
  expect_lt(max(abs(z)), qnorm(1e-4 / 9 / 2, lower.tail = FALSE))
})

test_that("several classes have scores, too", {
  for (nugget in c(0, 0.3)) {
    fit <- fit_moons(data = three_moons, nugget = nugget, noise = 0.2)
    recorded <- predict(fit, pool, type = "prob")
    entropy <- -rowSums(recorded * log(recorded))
    expect_equal(scores(fit, criterion = "entropy"), entropy)
    known <- -0.8 * log(0.8) - 0.2 * log(0.1)
    if (nugget == 0) {
      expect_equal(scores(fit), entropy - known)
    } else {
      expect_true(all(scores(fit) < entropy - known))
    }
    true <- t(apply(predict(fit, pool, type = "true_prob"), 1, sort))
    expect_equal(
      scores(fit, criterion = "margin"), 1 - true[, 3] + true[, 2]
    )
    for (criterion in c("bald", "entropy", "margin")) {
      out <- acquire(fit, pool, n = 5, criterion = criterion)
      expect_identical(anyDuplicated(out$row), 0L)
      expect_true(all(out$score > 0 & out$score < log(3)))
    }
  }
})

# Batches ----------------------------------------------------------------------

test_that("the best rows are chosen in order", {
  fit <- fit_moons()
  all <- scores(fit)
  out <- acquire(fit, pool, n = 4, diverse = FALSE)
  expect_identical(out$row, order(-all)[1:4])
  expect_identical(out$score, all[out$row])
  expect_identical(acquire(fit, pool), acquire(fit, pool, n = 4)[1, ])
})

test_that("conditional variances remain after chosen labels", {
  fit <- fit_moons()
  x <- as.matrix(pool[c("x1", "x2")])
  spread <- label_spread(fit, x, TRUE)
  covariance <- tcrossprod(spread$deviation)
  score <- scores(fit)
  out <- diverse_batch(score, 5, spread, seq_len(60))
  for (i in 1:5) {
    given <- out$row[seq_len(i - 1)]
    left <- diag(covariance)
    if (i > 1) {
      among <- covariance[given, given] + diag(spread$noise[given], i - 1)
      left <- left - rowSums(
        covariance[, given] * t(solve(among, t(covariance[, given])))
      )
    }
    now <- score * left / diag(covariance)
    now[given] <- -Inf
    expect_identical(out$row[[i]], which.max(now))
    expect_equal(out$score[[i]], max(now))
  }
})

test_that("the labels' covariances agree with joint labels", {
  fit <- fit_moons(noise = 0.2, iter = 500)
  x <- as.matrix(pool[1:4, c("x1", "x2")])
  spread <- label_spread(fit, x, TRUE)
  labels <- transduce(fit, pool[1:4, ])$labels
  p <- 0.2 + 0.6 * (labels == 2)
  # Both classes have the same covariance; divisor S.
  wanted <- 2 * cov(p) * (nrow(p) - 1) / nrow(p)
  expect_equal(tcrossprod(spread$deviation), unname(wanted))
  expect_equal(spread$noise, rep(2 * 0.2 * 0.8, 4))
})

test_that("batches are diverse and contain no point twice", {
  fit <- fit_moons()
  best <- acquire(fit, pool)$row
  twins <- rbind(pool[best, ], pool[best, ], pool)
  plain <- acquire(fit, twins, n = 3, diverse = FALSE)
  expect_identical(sort(plain$row), c(1L, 2L, 2L + best))
  diverse <- acquire(fit, twins, n = 10)
  expect_identical(anyDuplicated(twins[diverse$row, c("x1", "x2")]), 0L)
  expect_false(is.unsorted(-diverse$score))
  # All points: copies come last.
  all <- acquire(fit, twins, n = 62)
  expect_identical(sort(all$row), 1:62)
  expect_identical(sort(all$row[61:62]), sort(c(2L, 2L + best)))
  expect_identical(all$score[61:62], c(0, 0))
})

test_that("far from the data a second label at the same place adds little", {
  fit <- fit_moons(noise = 0.05)
  far <- data.frame(
    x1 = c(20, 20.01, 20.02, -20), x2 = c(20, 20.01, 20, -20)
  )
  out <- acquire(fit, far, n = 2, criterion = "entropy")
  expect_true(4L %in% out$row)
})

test_that("rows with missing values are never chosen", {
  fit <- fit_moons()
  holes <- pool
  best <- acquire(fit, pool, n = 3)$row
  holes$x1[best] <- NA
  out <- acquire(fit, holes, n = 57)
  expect_identical(sort(out$row), setdiff(1:60, best))
  expect_error(acquire(fit, holes, n = 58), class = "kb_error_argument")
  holes$x1 <- NA_real_
  expect_error(acquire(fit, holes), class = "kb_error_missing")
})

test_that("the choice is determined by the fit", {
  keep_random_state()
  fit <- fit_moons()
  set.seed(2)
  before <- .Random.seed
  expect_identical(acquire(fit, pool, n = 5), acquire(fit, pool, n = 5))
  expect_identical(.Random.seed, before)
})

test_that("input without points to choose from is refused", {
  fit <- fit_moons()
  expect_error(acquire(fit), class = "kb_error_argument")
  expect_error(acquire(fit, pool, n = 0), class = "kb_error_argument")
  expect_error(acquire(fit, pool, criterion = "best"),
    class = "kb_error_argument"
  )
  expect_error(acquire(fit, pool, diverse = NA), class = "kb_error_argument")
  expect_error(acquire(fit, pool["x1"]), class = "kb_error_columns")
  expect_error(acquire(fit, pool, size = 2),
    class = "kb_error_unknown_argument"
  )
  expect_error(acquire(1, pool), class = "kb_error_not_defined")
})
