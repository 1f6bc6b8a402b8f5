# partial_dependence() of engines other than bark(): against predictions with
# the values inserted, and functions with a known average.

quiet <- function(expr) suppressWarnings(expr)

plane <- withr::with_seed(1, {
  data <- data.frame(a = stats::rnorm(25), b = stats::rexp(25))
  data$y <- 1 + 2 * data$a - data$b + 0.3 * stats::rnorm(25)
  data
})
# Linear functions: their mean over rows is their value at the mean row.
linear <- list(
  smc = quiet(srvm(y ~ a + b, plane,
    kernel = kernel_linear(), control = smc_control(particles = 60), seed = 1
  )),
  chains = quiet(srvm(y ~ a + b, plane,
    kernel = kernel_linear(), method = "mcmc",
    control = mcmc_control(chains = 2, warmup = 30, iter = 30), seed = 1
  ))
)

test_that("means of linear functions and their limits match mean rows", {
  grid <- c(-1, 0.3, 2)
  for (fit in linear) {
    out <- partial_dependence(fit, "a", grid, level = 0.8)
    middle <- data.frame(a = grid, b = mean(plane$b))
    exact <- of_sets(
      predict(fit, middle, interval = "credible", level = 0.8)
    )
    expect_equal(
      as.matrix(out[c("mean", "lower", "upper")]), exact,
      tolerance = 1e-5, ignore_attr = TRUE
    )
    expect_equal(diff(out$mean) / diff(grid), rep(2, 2), tolerance = 0.15)
  }
})

test_that("a subset of particles is chosen by weight", {
  fit <- linear$smc
  pool <- posterior_pool(fit)
  weights <- drawn_weights(fit, pool, 20)
  expect_equal(sum(weights), 1)
  counts <- 20 * weights
  expect_true(all(counts == round(counts)))
  # Systematic resampling: within one of its expectation.
  expect_true(all(abs(counts - 20 * pool$weights) < 1))
  expect_identical(drawn_weights(fit, pool, NULL), pool$weights)
  few <- partial_dependence(fit, "a", 1, ndraws = 20)
  f <- set_moments(
    fit, cbind(a = 1, b = mean(plane$b)), pool
  )$mean %*% weights
  expect_equal(few$mean, unscale_mean(fit$settings$scaling, drop(f)))
})

test_that("quantiles of weighted draws are weighted", {
  values <- c(3, 1, 2)
  weights <- c(0.5, 0.2, 0.3)
  expect_identical(
    draw_quantiles(values, weights, c(0.1, 0.5, 0.9)), c(1, 2, 3)
  )
  expect_identical(
    draw_quantiles(values, rep(1 / 3, 3), c(0.05, 0.5)),
    stats::quantile(values, c(0.05, 0.5), names = FALSE)
  )
})

test_that("probabilities of particles are averaged by their weights", {
  data <- plane
  data$class <- factor(ifelse(data$y > 0, "up", "down"))
  fit <- quiet(srvm(class ~ a + b, data,
    kernel = kernel_gaussian(1), control = smc_control(particles = 50), seed = 1
  ))
  out <- partial_dependence(fit, "b", 0.7)
  pool <- posterior_pool(fit)
  x <- cbind(a = data$a, b = 0.7)
  each <- rowMeans(stats::pnorm(
    posterior_draws(fit, x, pool, seq_along(pool$weights))
  ))
  expect_gt(diff(range(pool$weights)), 0)
  expect_equal(out$mean, sum(pool$weights * each))
  order <- order(each)
  below <- cumsum(pool$weights[order])
  expect_equal(out$lower, each[order][which(below >= 0.05)[[1]]])
  expect_equal(out$upper, each[order][which(below >= 0.95)[[1]]])
  link <- partial_dependence(fit, "b", 0.7, type = "link")
  rows <- transform(data, b = 0.7)
  expect_equal(link$mean, mean(predict(fit, rows, type = "link")))
  expect_error(partial_dependence(fit, "b", class = "up"),
    class = "kb_error_argument"
  )
})

test_that("for kgs fits they are probabilities of labels and f", {
  fits <- kgs_fits()
  data <- kgs_example()
  rows <- transform(data, x1 = 0.4)
  fit <- fits$factor
  out <- partial_dependence(fit, "x1", 0.4)
  p <- predict(fit, rows, type = "prob")[, 2]
  expect_equal(out$mean, mean(p))
  expect_gt(abs(out$mean - mean(predict(fit, rows, type = "true_prob")[, 2])),
    1e-3
  )
  link <- partial_dependence(fit, "x1", 0.4, type = "link", level = 0.8)
  each <- rowMeans(predict(fit, rows, type = "draws"))
  expect_equal(link$mean, mean(each))
  expect_equal(
    c(link$lower, link$upper),
    stats::quantile(each, c(0.1, 0.9), names = FALSE)
  )
  expect_identical(nrow(partial_dependence(fit, "g", ndraws = 10)), 3L)
})

test_that("several classes have one line each", {
  fit <- kgs_fits()$three
  rows <- transform(kgs_example(), x1 = 0.4)
  out <- partial_dependence(fit, "x1", c(0.4, 1), ndraws = 80)
  expect_identical(names(out), c("x1", "class", "mean", "lower", "upper"))
  expect_identical(levels(out$class), c("low", "mid", "high"))
  p <- colMeans(predict(fit, rows, type = "prob"))
  expect_equal(out$mean[out$x1 == 0.4], unname(p))
  one <- partial_dependence(fit, "x1", 0.4, ndraws = 80, class = "mid")
  expect_equal(one$mean, p[["mid"]])
  f <- partial_dependence(fit, "x1", 0.4, type = "link")
  each <- apply(predict(fit, rows, type = "draws"), c(1, 3), mean)
  expect_equal(f$mean, unname(colMeans(each)))
  expect_error(partial_dependence(fit, c("x1", "x2")), "class",
    class = "kb_error_argument"
  )
})

pairs <- withr::with_seed(2, {
  u <- matrix(stats::rnorm(160), 80, dimnames = list(NULL, c("u", "v")))
  list(x = u, y = cbind(a = u[, 1] + u[, 2], b = u[, 1]) +
    0.4 * stats::rnorm(160))
})
bayes <- quiet(kbr(pairs$x, pairs$y, method = "kbr"))

test_that("for kernel Bayes' rule they are posteriors at medians", {
  out <- partial_dependence(bayes, "a", c(-1, 0, 1), columns = "v", level = 0.8)
  middle <- cbind(a = c(-1, 0, 1), b = stats::median(pairs$y[, "b"]))
  expect_equal(out$mean, predict(bayes, middle)[, "v"])
  q <- predict(bayes, middle, type = "quantile", probs = c(0.1, 0.9))
  expect_equal(
    as.matrix(out[c("lower", "upper")]), q[, "v", ],
    ignore_attr = TRUE
  )
  all <- partial_dependence(bayes, "a", c(-1, 0, 1))
  expect_equal(all$mean[all$state == "v"], out$mean)
  expect_identical(levels(all$state), c("u", "v"))
})

test_that("or averages over rows, with the interval of the mixture", {
  out <- partial_dependence(bayes, "a", 0.5, others = "average")
  rows <- pairs$y
  rows[, "a"] <- 0.5
  expect_equal(out$mean, unname(colMeans(quiet(predict(bayes, rows)))))
  w <- colMeans(quiet(predict(bayes, rows, type = "weights")))
  order <- order(pairs$x[, "u"])
  expect_equal(
    c(out$lower[[1]], out$upper[[1]]),
    signed_quantiles(pairs$x[order, "u"], w[order], c(0.05, 0.95))
  )
  one <- kbr(pairs$x[, "u"], pairs$y[, "b"], method = "kbr")
  name <- one$mould$x_names
  both <- lapply(c("median", "average"), function(others) {
    partial_dependence(one, name, c(-1, 1), others = others)
  })
  expect_equal(both[[1]], both[[2]])
})

test_that("fits without such a function are refused", {
  undefined <- function(...) {
    expect_error(partial_dependence(...), class = "kb_error_not_defined")
  }
  undefined(kbr_hmm(pairs$x, pairs$y, method = "kbr"), "a")
  undefined(kbr_hmm(pairs$x, pairs$y, summaries = FALSE, lag = 0), "a")
  gram <- kernel_matrix(kernel_gaussian(1), pairs$y)
  undefined(quiet(kbr(pairs$x, kernel_y = gram)), "a")
  undefined(structure(list(), class = c("kb_tdsmc", "kb_fit")), "a")
  undefined(structure(list(), class = c(
    "kb_kbr_chunked", "kb_kbr", "kb_fit"
  )), "a")
  refused <- function(...) {
    expect_error(partial_dependence(...), class = "kb_error_argument")
  }
  refused(bayes, "u")
  refused(bayes, "a", columns = "a")
  refused(bayes, c("a", "b"))
  refused(bayes, "a", others = "none")
  refused(linear$smc, "c")
  refused(linear$smc, "a", type = "link")
  refused(linear$smc, "a", class = "up")
  expect_error(partial_dependence(linear$smc, "a", draws = 3),
    class = "kb_error_unknown_argument"
  )
})

test_that("they are printed and drawn, and leave R's generator alone", {
  state <- random_state()
  kinds <- list(
    partial_dependence(linear$smc, "a", n = 4),
    partial_dependence(linear$smc, c("a", "b"), n = 3),
    partial_dependence(kgs_fits()$three, "x1", n = 3, ndraws = 10),
    partial_dependence(bayes, "a", n = 3)
  )
  expect_identical(random_state(), state)
  grDevices::pdf(NULL)
  withr::defer(grDevices::dev.off())
  for (out in kinds) {
    expect_output(
      value <- withVisible(print(out)), "Partial dependence of mean"
    )
    expect_false(value$visible)
    expect_silent(plot(out))
  }
  expect_output(print(kinds[[1]][c("a", "mean")]), "mean")
  skip_if_not_installed("ggplot2")
  for (out in kinds) {
    expect_s3_class(ggplot2::autoplot(out), "ggplot")
    expect_gt(nrow(ggplot2::ggplot_build(ggplot2::autoplot(out))$data[[1]]), 2)
  }
})
