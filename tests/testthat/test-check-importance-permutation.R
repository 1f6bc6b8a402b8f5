# Permutation importance: against expectations over all permutations of linear
# functions, and for predictors on which the function does not depend.

quiet <- function(expr) suppressWarnings(expr)

rows <- withr::with_seed(3, {
  data <- data.frame(a = stats::rnorm(20), b = stats::rexp(20))
  data$y <- 1 + 2 * data$a - data$b + 0.3 * stats::rnorm(20)
  data
})
fit <- quiet(srvm(y ~ a + b, rows,
  kernel = kernel_linear(), control = smc_control(particles = 60), seed = 1
))

#' Coefficients of the particles' linear functions, one row each
linear_draws <- function(fit) {
  pool <- posterior_pool(fit)
  at <- rbind(c(0, 0), c(1, 0), c(0, 1))
  colnames(at) <- c("a", "b")
  f <- posterior_draws(fit, at, pool, seq_along(pool$weights))
  list(
    beta = f[, 2:3] - f[, 1], base = f[, 1], weights = pool$weights
  )
}

#' Mean of v^2 around its mean, and of v w
spread <- function(v, w = v) mean((v - mean(v)) * (w - mean(w)))

test_that("the rise of a linear function is 2 beta^2 var(x) in expectation", {
  draws <- linear_draws(fit)
  # A response whose residuals carry no information: the mean function.
  x <- as.matrix(rows[c("a", "b")])
  beta <- colSums(draws$weights * draws$beta)
  y <- sum(draws$weights * draws$base) + drop(x %*% beta)
  out <- importance(fit,
    newdata = data.frame(x, y = y), permutations = 400, ndraws = 1000, seed = 1
  )
  expect_identical(out$variable, c("a", "b"))
  # Over all permutations of one column, for each draw: with residuals r = y -
  # f, 2 beta^2 var(x) + 2 beta cov(r, x).
  f <- draws$base + draws$beta %*% t(x)
  for (j in 1:2) {
    expected <- vapply(seq_along(draws$weights), function(s) {
      b <- draws$beta[s, j]
      2 * b^2 * spread(x[, j]) + 2 * b * spread(y - f[s, ], x[, j])
    }, 0)
    mean <- sum(draws$weights * expected)
    # A normal mean of 400: beyond 5 standard errors once in two million.
    expect_lt(abs(out$mean[[j]] - mean), 5 * out$mc_se[[j]])
    expect_lt(out$mc_se[[j]] / mean, 0.05)
    # The mean function has no residuals, only draws around it.
    expect_equal(mean, 2 * beta[[j]]^2 * spread(x[, j]), tolerance = 0.1)
    shares <- draws$weights[order(expected)]
    ends <- sort(expected)[vapply(c(0.05, 0.95), function(p) {
      which(cumsum(shares) >= p)[[1]]
    }, 0L)]
    expect_equal(c(out$lower[[j]], out$upper[[j]]), ends, tolerance = 0.1)
  }
  expect_equal(attr(out, "base"), sum(draws$weights * rowMeans(
    sweep(f, 2, y)^2
  )))
})

test_that("one permutation is as defined", {
  out <- importance(fit, permutations = 1, ndraws = 1000, seed = 4)
  shuffled <- with_local_seed(4, sample.int(20))
  draws <- linear_draws(fit)
  x <- as.matrix(rows[c("a", "b")])
  loss <- function(x) {
    rowMeans(sweep(draws$base + draws$beta %*% t(x), 2, rows$y)^2)
  }
  permuted <- x
  permuted[, "b"] <- x[shuffled, "b"]
  rise <- loss(permuted) - loss(x)
  expect_equal(out$mean[[2]], sum(draws$weights * rise))
  below <- cumsum(draws$weights[order(rise)])
  ends <- sort(rise)[c(which(below >= 0.05)[[1]], which(below >= 0.95)[[1]])]
  expect_equal(c(out$lower[[2]], out$upper[[2]]), ends)
  expect_identical(out$mc_se, c(NA_real_, NA_real_))
})

test_that("a predictor without effect on the function has no importance", {
  data <- rows
  data$b <- 1
  data$y <- 2 * data$a + 0.1 * data$y
  known <- quiet(srvm(y ~ a + b, data,
    kernel = kernel_linear(), control = smc_control(particles = 40), seed = 1
  ))
  out <- importance(known, seed = 1)
  expect_identical(unlist(out[2, c("mean", "lower", "upper")],
    use.names = FALSE
  ), c(0, 0, 0))
  expect_gt(out$lower[[1]], 1)
  # A noise predictor, on new rows.
  new <- withr::with_seed(5, {
    a <- stats::rnorm(200)
    data.frame(a = a, b = stats::rnorm(200), y = 2 * a)
  })
  noise <- withr::with_seed(6, transform(data, b = stats::rnorm(20)))
  fitted <- quiet(srvm(y ~ a + b, noise,
    kernel = kernel_linear(), control = smc_control(particles = 100), seed = 1
  ))
  out <- importance(fitted, newdata = new, seed = 1)
  expect_lte(out$lower[[2]], 0)
  expect_gte(out$upper[[2]], 0)
})

test_that("factors are permuted whole, log losses agree with log_lik()", {
  fits <- bark_fits()
  out <- importance(fits$factor,
    method = "permutation", permutations = 2, seed = 1
  )
  expect_true("g" %in% out$variable)
  expect_false("ga" %in% out$variable)
  columns <- importance(fits$factor,
    method = "permutation", permutations = 2, by = "column", seed = 1
  )
  expect_identical(columns$variable, fits$factor$mould$x_names)
  fit <- fits$classes
  out <- importance(fit, method = "permutation", ndraws = 1e4, seed = 1)
  pool <- posterior_pool(fit)
  f <- posterior_draws(fit, training_x(fit), pool, seq_along(pool$weights))
  p <- stats::pnorm(class_signs(fit$data$y) * t(f))
  expect_equal(attr(out, "base"), mean(-log(p)))
  expect_identical(attr(out, "loss"), "log")
  brier <- importance(fit, method = "permutation", loss = "squared",
    ndraws = 1e4, seed = 1
  )
  expect_equal(attr(brier, "base"), mean(2 * (1 - p)^2))
})

test_that("with several classes the losses use their probabilities", {
  fit <- kgs_fits()$three
  pool <- posterior_pool(fit)
  n <- nrow(fit$data$x)
  p <- label_probability(fit, complete_x(training_x(fit)), pool, 1:80)
  y <- as.integer(fit$data$y)
  brier <- vapply(seq_len(n), function(i) {
    mean(rowSums(sweep(p[, i, ], 2, seq_len(3) == y[[i]])^2))
  }, 0)
  out <- importance(fit, seed = 1)
  expect_equal(attr(out, "base"), mean(brier))
  log <- importance(fit, seed = 1, loss = "log")
  own <- vapply(seq_len(n), function(i) mean(-log(p[, i, y[[i]]])), 0)
  expect_equal(attr(log, "base"), mean(own))
})

test_that("weighted rows count by their weights", {
  data <- bark_data()
  weighted <- bark_fits()$weighted
  share <- weighted$data$weights / sum(weighted$data$weights)
  out <- importance(weighted, method = "permutation", seed = 1, ndraws = 1e4)
  pool <- posterior_pool(weighted)
  f <- posterior_draws(
    weighted, training_x(weighted), pool, seq_along(pool$weights)
  )
  loss <- sweep(f, 2, data$y)^2 %*% share
  expect_gt(diff(range(share)), 0)
  expect_equal(attr(out, "base"), mean(loss))
})

test_that("a seed leaves R's generator alone, no seed draws from it", {
  state <- random_state()
  one <- importance(fit, permutations = 2, seed = 1)
  expect_identical(random_state(), state)
  expect_identical(importance(fit, permutations = 2, seed = 1), one)
  withr::local_seed(8)
  first <- importance(fit, permutations = 2)
  expect_false(identical(importance(fit, permutations = 2), first))
})

test_that("it is printed and drawn", {
  out <- importance(fit, seed = 1)
  shown <- capture.output(value <- withVisible(print(out)))
  expect_identical(value$value, out)
  expect_false(value$visible)
  expect_match(shown[[1]], "Increase in squared error")
  expect_match(shown[[2]], "mc_se")
  expect_no_match(shown, "-0.0 ", fixed = TRUE)
  grDevices::pdf(NULL)
  withr::defer(grDevices::dev.off())
  expect_silent(plot(out))
  expect_silent(plot(out, "rise", "none", n = 1, main = "a", axes = FALSE))
  expect_error(plot(out, "scale"), class = "kb_error_argument")
  expect_error(plot(out, transform = "sqrt"), class = "kb_error_argument")
  skip_if_not_installed("ggplot2")
  boxes <- ggplot2::ggplot_build(ggplot2::autoplot(out))$data[[1]]
  expect_equal(boxes$ymax, out$upper)
})

test_that("requests without an answer are refused", {
  refused <- function(...) {
    expect_error(importance(...), class = "kb_error_argument")
  }
  refused(fit, loss = "log")
  refused(fit, method = "inclusion")
  refused(fit, newdata = rows[1, ])
  refused(fit, permutations = 0)
  refused(fit, level = 1)
  refused(bark_fits()$plane, method = "gain")
  undefined <- function(...) {
    expect_error(importance(...), class = "kb_error_not_defined")
  }
  undefined(structure(list(), class = c("kb_kbr", "kb_fit")))
  undefined(structure(list(), class = c("kb_tdsmc", "kb_fit")))
  expect_error(importance(fit, draws = 1), class = "kb_error_unknown_argument")
  expect_error(importance(bark_fits()$plane, permutations = 1),
    class = "kb_error_unknown_argument"
  )
  out <- importance(fit, newdata = transform(rows, a = c(NA, a[-1])), seed = 1)
  expect_false(anyNA(out$mean))
})
