# bark() of ordered classes with case weights: R/family-classes.R,
# glm_ordered.cpp. One-step invariance is in test-bark-glm.R, weights beside copies
# in test-bark-families.R.

# Satisfaction of tenants by the quality of their contacts: three counts per cell
weighted_grades <- function() {
  data <- expand.grid(
    grade = factor(c("low", "mid", "high"), c("low", "mid", "high"), ordered = TRUE),
    a = c(-1, 0.2, 1.3)
  )
  data$n <- c(9, 4, 2, 5, 6, 7, 2, 3, 14)
  data
}

quick_grades <- function(..., data = weighted_grades(), iter = 300) {
  suppressWarnings(
    bark(..., data = data, seed = 1, control = mcmc_control(2, 200, iter)),
    classes = "kb_warning_convergence"
  )
}

test_that("intercept, slope and gaps have the posterior that quadrature gives", {
  # Null: 3 means of 8000 draws with standard errors from their effective number;
  # |z| > 4.5 has probability 7e-6 each. Seen to fail: weights ignored; a first cut
  # point of 0.3.
  data <- weighted_grades()
  fit <- bark(grade ~ a, data,
    weights = n, prior = bark_prior(gamma = 0), seed = 3,
    control = mcmc_control(4, 200, 2000)
  )
  copies <- rep(data$a, data$n)
  z <- (data$a - mean(copies)) / stats::sd(copies)
  level <- -stats::qnorm(sum(data$n[data$grade == "low"]) / sum(data$n))
  grid <- expand.grid(
    level = level + seq(-1.2, 1.2, length.out = 61),
    slope = seq(-0.5, 1.8, length.out = 61),
    gap = exp(seq(-2.5, 1, length.out = 61))
  )
  log_posterior <- -0.5 * log(grid$gap)^2
  for (i in seq_len(nrow(data))) {
    ends <- list(-Inf, 0, grid$gap, Inf)
    k <- as.integer(data$grade[[i]])
    f <- grid$level + grid$slope * z[[i]]
    p <- stats::pnorm(ends[[k + 1]] - f) - stats::pnorm(ends[[k]] - f)
    log_posterior <- log_posterior + data$n[[i]] * log(p)
  }
  log_posterior <- log_posterior + stats::dnorm(grid$slope, 0, 2.5, log = TRUE) +
    stats::dnorm(grid$level, level, 2.5, log = TRUE)
  pool <- bark_pool(fit)
  gamma <- matrix(pool$gamma, 2)
  scores <- quadrature_scores(
    list(gamma[1, ], gamma[2, ], bark_cuts(fit, pool)[, 2]), grid, log_posterior
  )
  expect_lt(max(abs(scores)), 4.5)
})

test_that("weights of 1 give the answers of latent responses", {
  # Null: two samplers of models that differ in the intercept, which is free here:
  # with 200 rows it hardly matters. Five probabilities of 4 x 400 draws.
  skip_unless_extended()
  data <- withr::with_seed(4, {
    a <- stats::runif(200, -2, 2)
    data.frame(a = a, grade = cut(sin(a) + stats::rnorm(200), c(-Inf, -0.5, 0.6, Inf),
      ordered_result = TRUE
    ))
  })
  new <- data.frame(a = seq(-2, 2, length.out = 5))
  p <- lapply(list(NULL, rep(1, 200)), function(w) {
    fit <- suppressWarnings(bark(data["a"], data$grade,
      weights = w, seed = 1, control = mcmc_control(4, 400, 400)
    ))
    predict(fit, new, type = "prob")
  })
  expect_lt(max(abs(p[[1]] - p[[2]])), 0.06)
})

test_that("a fit with weights is a fit of ordered classes", {
  data <- weighted_grades()
  fit <- quick_grades(grade ~ a, weights = n)
  expect_identical(given_family(fit), "ordered")
  p <- predict(fit, type = "prob")
  expect_equal(unname(rowSums(p)), rep(1, 9))
  # Given each draw, from f and the cut points
  pool <- bark_pool(fit)
  f <- predict(fit, type = "draws")
  cuts <- bark_cuts(fit, pool)
  low <- colMeans(stats::pnorm(cuts[, 1] - f))
  high <- colMeans(stats::pnorm(f - cuts[, 2]))
  expect_equal(unname(p), cbind(low, 1 - low - high, high), ignore_attr = TRUE)
  expect_equal(
    predict(fit, type = "log_score"), log(p[cbind(1:9, as.integer(data$grade))]),
    ignore_attr = TRUE
  )
  expect_s3_class(predict(fit), "ordered")
  expect_output(print(fit), "9 weighted")
  expect_output(print(fit), "low|mid 0, mid|high", fixed = TRUE)
  expect_true(all(c("cut[low|mid]", "cut[mid|high]") %in% generics::tidy(fit)$term))
  expect_identical(dim(simulate(fit, 3, seed = 1)), c(9L, 3L))
  expect_identical(checked_fit(fit), fit)
  longer <- update(fit, iter = 20) |> suppressWarnings()
  expect_identical(
    bark_cuts(longer, bark_pool(longer))[1:300, ], cuts[1:300, ]
  )
  expect_identical(head_draws(fit, fit$runs[[1]], 10)$draws$cuts,
    fit$runs[[1]]$draws$cuts[1:20]
  )
})

test_that("evidence() says when it is defined", {
  fit <- quick_grades(grade ~ a, weights = n, iter = 20)
  expect_error(evidence(fit), "without `weights`", class = "kb_error_not_defined")
})
