# partial_dependence(): means over rows against predictions of all rows.

data <- bark_data()
fits <- bark_fits()

#' The training rows with one value of x4 (or g), predicted in full
at_value <- function(fit, type, ...) {
  rows <- data
  values <- list(...)
  rows[names(values)] <- values
  predict(fit, rows, type = type)
}

test_that("means agree with predictions with the values inserted", {
  grid <- c(0.1, 0.5, 1.2)
  out <- partial_dependence(fits$plane, "x4", grid)
  expect_s3_class(out, "data.frame")
  expect_identical(names(out), c("x4", "mean", "lower", "upper"))
  expect_identical(out$x4, grid)
  for (i in 1:3) {
    expect_equal(
      out$mean[[i]], mean(at_value(fits$plane, "response", x4 = grid[[i]])),
      tolerance = 1e-10
    )
  }
  link <- partial_dependence(fits$classes, "x4", grid, type = "link")
  p <- partial_dependence(fits$classes, "x4", grid)
  for (i in 1:3) {
    expect_equal(
      link$mean[[i]], mean(at_value(fits$classes, "link", x4 = grid[[i]])),
      tolerance = 1e-10
    )
    f <- at_value(fits$classes, "draws", x4 = grid[[i]])
    each <- rowMeans(stats::pnorm(f))
    expect_equal(p$mean[[i]], mean(each))
    expect_equal(
      c(p$lower[[i]], p$upper[[i]]),
      stats::quantile(each, c(0.05, 0.95), names = FALSE)
    )
  }
})

test_that("limits are quantiles of the mean over rows", {
  # Given a draw, its variance is that of an average of correlated values: from
  # the draw's covariance matrix, by the kernel's dense algebra.
  fit <- fits$plane
  pool <- bark_pool(fit)
  value <- 0.3
  out <- partial_dependence(fit, "x4", value, level = 0.8)
  rows <- transform(data, x4 = value)[c("x1", "x2", "x4")]
  scaling <- fit$settings$scaling
  x <- scaling_x(scaling, as.matrix(rows))
  train <- scaling_x(scaling, fit$data$x)
  y <- scaling_y(scaling, data$y)
  ends <- cumsum(pool$m)
  moments <- vapply(seq_along(pool$m), function(i) {
    slots <- ends[[i]] - pool$m[[i]] + seq_len(pool$m[[i]])
    lambda <- exp(pool$log_lambda[3 * i - 2:0]) * pool$included[3 * i - 2:0]
    k <- function(at) {
      vapply(pool$location[slots], function(location) {
        if (location == 0) {
          return(rep(1, nrow(at)))
        }
        exp(-colSums(lambda * (t(at) - train[location, ])^2))
      }, numeric(nrow(at)))
    }
    v <- pool$variance[slots]
    g <- k(train)
    total <- diag(1 / pool$noise[[i]], 30) + g %*% (v * t(g))
    a <- colMeans(k(x))
    cross <- drop(a %*% (v * t(g)))
    c(
      sum(cross * solve(total, y)),
      sum(a^2 * v) - sum(cross * solve(total, cross))
    )
  }, numeric(2))
  mean <- scaling$y_center + scaling$y_scale * moments[1, ]
  sd <- scaling$y_scale * sqrt(moments[2, ])
  expect_equal(out$mean, mean(mean), tolerance = 1e-6)
  below <- function(q) mean(stats::pnorm(q, mean, sd))
  expect_equal(below(out$lower), 0.1, tolerance = 1e-4)
  expect_equal(below(out$upper), 0.9, tolerance = 1e-4)
})

test_that("factors are set through all of their indicators", {
  out <- partial_dependence(fits$factor, "g")
  expect_identical(out$g, factor(c("a", "b", "c")))
  for (i in 1:3) {
    level <- factor(levels(data$g)[[i]], levels(data$g))
    expect_equal(
      out$mean[[i]], mean(at_value(fits$factor, "response", g = level)),
      tolerance = 1e-10
    )
  }
  one <- partial_dependence(fits$factor, "g", grid = "b")
  expect_equal(one$mean, out$mean[[2]])
  expect_error(partial_dependence(fits$factor, "g", grid = "z"), "levels",
    class = "kb_error_argument"
  )
})

test_that("two variables make a grid", {
  out <- partial_dependence(fits$plane, c("x4", "x1"), n = 4)
  expect_identical(dim(out), c(16L, 5L))
  expect_equal(
    out$mean[[6]],
    mean(at_value(fits$plane, "response", x4 = out$x4[[6]], x1 = out$x1[[6]]))
  )
  own <- partial_dependence(
    fits$plane, c("x4", "x1"), list(x1 = c(0, 1), x4 = 0.5)
  )
  expect_identical(own$x1, c(0, 1))
  expect_identical(own$x4, c(0.5, 0.5))
})

test_that("fewer draws are evenly chosen, a larger number means all", {
  all <- partial_dependence(fits$plane, "x4", 0.5)
  expect_identical(
    partial_dependence(fits$plane, "x4", 0.5, ndraws = 1000), all
  )
  few <- partial_dependence(fits$plane, "x4", 0.5, ndraws = 8)
  f <- at_value(fits$plane, "response", x4 = 0.5)
  expect_false(isTRUE(all.equal(few$mean, mean(f))))
  expect_equal(all$mean, mean(f))
})

test_that("the grid covers the data", {
  out <- partial_dependence(fits$plane, "x4")
  expect_equal(range(out$x4), range(data$x4))
  expect_identical(nrow(out), 25L)
  expect_identical(nrow(partial_dependence(fits$plane, "x4", n = 40)), 30L)
})

test_that("variables unknown to the fit are refused", {
  fit <- fits$plane
  refused <- function(...) {
    expect_error(partial_dependence(...), class = "kb_error_argument")
  }
  refused(fit, "z")
  refused(fit, 1)
  refused(fit, c("x1", "x1"))
  refused(fit, c("x1", "x2", "x4"))
  refused(fit, "x1", grid = "a")
  refused(fit, "x1", grid = c(1, NA))
  refused(fit, "x1", grid = list(1, 2))
  refused(fit, "x1", type = "link")
  refused(fit, "x1", level = 1)
  refused(fit, "x1", n = 1)
  expect_error(partial_dependence(1, "x"), class = "kb_error_not_defined")
})

test_that("plot draws every kind", {
  kinds <- list(
    partial_dependence(fits$plane, "x4"),
    partial_dependence(fits$plane, "x4", 0.5),
    partial_dependence(fits$plane, c("x4", "x1"), n = 4),
    partial_dependence(fits$factor, "g"),
    partial_dependence(fits$factor, c("x4", "g"), n = 4),
    partial_dependence(fits$classes, "x4", n = 5)
  )
  grDevices::pdf(NULL)
  withr::defer(grDevices::dev.off())
  for (out in kinds) {
    expect_silent(value <- withVisible(plot(out)))
    expect_identical(value$value, out)
    expect_false(value$visible)
    expect_silent(plot(out, main = "a", xlab = "b", ylim = c(-1, 30)))
    expect_error(plot(out, colour = 1), class = "kb_error_unknown_argument")
  }
})

test_that("factors of linear terms are varied by their name", {
  set.seed(3)
  rows <- data.frame(
    x = runif(40), g = factor(rep(c("u", "v", "w", "t"), 10)),
    o = factor(rep(c("lo", "mid", "hi", "mid"), 10), c("lo", "mid", "hi"),
      ordered = TRUE
    )
  )
  rows$y <- sin(6 * rows$x) + as.integer(rows$g) + rnorm(40, sd = 0.2)
  fit <- suppressMessages(suppressWarnings(bark(y ~ kernels(x) + g + o, rows,
    control = mcmc_control(chains = 2, warmup = 20, iter = 30), seed = 1
  )))
  both <- suppressMessages(suppressWarnings(bark(y ~ kernels(x, o) + o, rows,
    control = mcmc_control(chains = 2, warmup = 20, iter = 30), seed = 1
  )))
  cases <- list(list(fit, "g"), list(fit, "o"), list(both, "o"))
  for (case in cases) {
    fit <- case[[1]]
    name <- case[[2]]
    found <- partial_dependence(fit, name)
    wanted <- vapply(levels(rows[[name]]), function(level) {
      changed <- rows
      changed[[name]][] <- level
      mean(predict(fit, changed))
    }, 0)
    expect_identical(as.character(found[[name]]), levels(rows[[name]]))
    expect_equal(found$mean, unname(wanted))
  }
})
