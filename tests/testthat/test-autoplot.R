# autoplot(): each picture can be built, and shows the numbers that predict()
# and the accessors give. The looks were checked by eye.

skip_if_not_installed("ggplot2")

built <- function(plot) {
  expect_s3_class(plot, "ggplot")
  ggplot2::ggplot_build(plot)$data
}

autoplot <- function(...) ggplot2::autoplot(...)

line <- sim_sinc(30, seed = 1)
curve <- suppressWarnings(srvm(y ~ x, line,
  kernel = kernel_gaussian(0.3), control = smc_control(particles = 50),
  seed = 1
))

test_that("curves are those of predict()", {
  layers <- built(autoplot(curve, n = 5, level = 0.8))
  grid <- seq(min(line$x), max(line$x), length.out = 5)
  exact <- predict(curve, data.frame(x = grid), interval = "credible",
    level = 0.8
  )
  ribbon <- layers[[2]]
  expect_equal(ribbon$ymin, unname(exact[, "lwr"]))
  expect_equal(ribbon$ymax, unname(exact[, "upr"]))
  expect_equal(layers[[3]]$y, line$y)
  expect_equal(layers[[4]]$y, unname(exact[, "fit"]))
})

test_that("every type of every fit is drawn", {
  for (type in c("k", "trace", "ess", "evidence")) {
    built(autoplot(curve, type))
  }
  for (fit in bark_fits()[c("plane", "classes", "class_line")]) {
    for (type in c("fit", "importance", "k", "trace")) {
      built(autoplot(fit, type))
    }
  }
  moons <- sim_moons(40, flips = 0.1, seed = 1)
  fit <- suppressWarnings(kgs(y ~ x1 + x2, moons,
    control = mcmc_control(chains = 2, warmup = 50, iter = 50), seed = 1
  ))
  built(autoplot(fit, n = 10))
  built(autoplot(fit, "trace"))
  flips <- label_noise(fit)
  bars <- built(autoplot(flips, n = 5))[[1]]
  expect_equal(bars$y, sort(flips$probability, decreasing = TRUE)[1:5])
  curve <- reject_curve(fit)
  expect_equal(built(autoplot(curve))[[2]]$y, curve$error)
})

test_that("effects are drawn for numbers, factors and pairs", {
  fit <- bark_fits()$factor
  of <- function(variables) partial_dependence(fit, variables)
  effect <- of("x4")
  expect_equal(built(autoplot(effect))[[2]]$y, effect$mean)
  expect_equal(built(autoplot(of("g")))[[1]]$y, of("g")$mean)
  built(autoplot(of(c("x4", "g"))))
  built(autoplot(partial_dependence(bark_fits()$plane, c("x1", "x2"))))
})

test_that("kernel Bayes' rule and its filters are drawn", {
  seen <- sim_linear_hmm(60, seed = 1)
  fit <- kbr(seen$states, seen$observations)
  lines <- built(autoplot(fit, seen$observations[1, ], n = 20))
  expect_identical(nrow(lines[[2]]), 20L)
  path <- kbr_filter(
    kbr_hmm(seen$states, seen$observations), seen$observations[1:10, ]
  )
  expect_equal(
    built(autoplot(path))[[2]]$y, as.vector(predict(path)[, 1])
  )
  expect_error(autoplot(path, columns = "no"), class = "kb_error_argument")
})

test_that("what plot() refuses is refused", {
  expect_error(autoplot(curve, "none"), class = "kb_error_argument")
  expect_error(autoplot(curve, levle = 0.5), class = "kb_error_unknown_argument")
  batch <- suppressWarnings(srvm(y ~ x, line,
    kernel = kernel_gaussian(0.3), method = "mcmc",
    control = mcmc_control(2, 20, 20), seed = 1
  ))
  expect_error(autoplot(batch, "ess"), class = "kb_error_not_defined")
  built(autoplot(batch, "trace"))
})

test_that("several classes are drawn, with an order and without", {
  set.seed(1)
  x <- matrix(rnorm(60), 30, dimnames = list(NULL, c("a", "b")))
  y <- cut(x[, 1], c(-Inf, -0.5, 0.5, Inf), c("low", "mid", "high"))
  control <- mcmc_control(chains = 2, warmup = 30, iter = 30)
  for (ordered in c(TRUE, FALSE)) {
    response <- factor(y, ordered = ordered)
    for (columns in list(1, 1:2)) {
      fit <- suppressWarnings(bark(x[, columns, drop = FALSE], response,
        control = control, seed = 1
      ))
      for (type in c("fit", "importance", "k", "trace")) {
        built(autoplot(fit, type))
      }
    }
  }
  curves <- suppressWarnings(bark(x[, 1, drop = FALSE], factor(y),
    control = control, seed = 1
  ))
  lines <- built(autoplot(curves, n = 5))[[1]]
  grid <- matrix(unique(lines$x), dimnames = list(NULL, "a"))
  expect_equal(
    matrix(lines$y, 5), unname(predict(curves, grid, type = "prob")),
    ignore_attr = TRUE
  )
})
