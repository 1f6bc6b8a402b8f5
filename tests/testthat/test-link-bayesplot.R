# pp_check(): the plots get responses and new responses in the same units.

skip_if_not_installed("bayesplot")
skip_if_not_installed("rstantools")
# Older versions do not work with newer versions of vctrs.
skip_if_not_installed("dplyr", "1.1.0")

drawn <- function(plot) range(ggplot2::ggplot_build(plot)$data[[1]]$x)

test_that("numbers are compared in their units", {
  fit <- bark_fits()$plane
  plot <- bayesplot::pp_check(fit, seed = 1)
  expect_s3_class(plot, "ggplot")
  y <- bark_data()$y
  expect_lt(drawn(plot)[[1]], mean(y))
  expect_gt(drawn(plot)[[2]], mean(y))
  plot <- bayesplot::pp_check(fit, "intervals", x = bark_data()$x4, seed = 1)
  expect_s3_class(plot, "ggplot")
})

test_that("classes are numbered from 1", {
  fit <- bark_fits()$classes
  plot <- bayesplot::pp_check(fit, seed = 1)
  expect_setequal(round(ggplot2::ggplot_build(plot)$data[[1]]$x), 1:2)
  # So are two ordered classes.
  x <- seq(-1, 1, length.out = 40)
  y <- factor(x + rep(c(-0.6, 0.6), 20) > 0, labels = c("low", "high"),
    ordered = TRUE
  )
  fit <- suppressWarnings(bark(x, y,
    control = mcmc_control(chains = 1, warmup = 100, iter = 100), seed = 1
  ))
  plot <- bayesplot::pp_check(fit, seed = 1)
  expect_setequal(round(ggplot2::ggplot_build(plot)$data[[1]]$x), 1:2)
})

test_that("the same seed gives the same responses", {
  fit <- bark_fits()$plane
  stat <- function(seed) {
    bayesplot::pp_check(fit, "stat", seed = seed, binwidth = 0.1)$data
  }
  expect_identical(stat(1), stat(1))
  expect_false(identical(stat(1), stat(2)))
})

test_that("unknown plots and fits without a likelihood are refused", {
  fit <- bark_fits()$plane
  expect_error(bayesplot::pp_check(fit, "none"), class = "kb_error_argument")
  data <- sim_sinc(20, seed = 1)
  expect_error(
    bayesplot::pp_check(kbr(data$x, data$y)),
    class = "kb_error_not_defined"
  )
})
