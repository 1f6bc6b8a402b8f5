# Traces with densities: the numbers that are drawn. Other tests draw them for
# every fit of chains. The looks were checked by eye.

values <- cbind(c(1, 1, 2, 4), c(2, 2, 2, 2))

test_that("whole numbers have shares, those without draws have 0", {
  shares <- chain_density(values)
  expect_identical(shares$chain, rep(1:2, each = 4))
  expect_equal(shares$value, rep(1:4, 2))
  expect_equal(shares$density, c(0.5, 0.25, 0, 0.25, 0, 1, 0, 0))
})

test_that("other numbers have densities of area 1, within the draws", {
  set.seed(1)
  values <- matrix(rnorm(4000), ncol = 2)
  curves <- chain_density(values)
  for (chain in 1:2) {
    curve <- curves[curves$chain == chain, ]
    expect_equal(range(curve$value), range(values[, chain]))
    step <- diff(curve$value[1:2])
    expect_equal(sum(curve$density) * step, 1, tolerance = 0.02)
    expect_equal(curve$density, dnorm(curve$value), tolerance = 0.2)
  }
})

test_that("one draw, and draws that are all equal, are drawn", {
  expect_equal(chain_density(matrix(0.5, 1, 2))$density, c(1, 1))
  expect_true(all(is.finite(chain_density(matrix(0.5, 9, 1))$density)))
})

batch <- suppressWarnings(srvm(y ~ x, sim_sinc(30, seed = 1),
  kernel = kernel_gaussian(0.3), method = "mcmc",
  control = mcmc_control(2, 20, 40, thin = 2), seed = 1
))

test_that("autoplot() shows the draws, and densities up to their highest", {
  skip_if_not_installed("ggplot2")
  fits <- list(batch, bark_fits()$plane, kgs_fits()$moons)
  labels <- list(
    c(k = "k", sigma = "noise sd"), bark_trace_labels(fits[[2]]),
    kgs_trace_labels(fits[[3]])
  )
  for (i in seq_along(fits)) {
    fit <- fits[[i]]
    plot <- ggplot2::autoplot(fit, "trace_density")
    built <- ggplot2::ggplot_build(plot)
    expect_identical(nlevels(built$layout$layout$PANEL), 4L)
    # Per quantity: a trace, a density, and the ranges of their axes.
    layers <- built$data[c(1, 3, 5, 7)]
    panels <- vapply(layers, function(layer) {
      unique(as.integer(layer$PANEL))
    }, 0L)
    expect_identical(panels, 1:4)
    for (density in layers[c(2, 4)]) expect_equal(max(density$x), 1)
    chains <- traced(fit, names(labels[[i]]))
    for (j in 1:2) {
      trace <- layers[[2 * j - 1]]
      expect_equal(
        trace$y[order(trace$group, trace$x)], as.vector(chains[[j]])
      )
    }
  }
  lines <- ggplot2::ggplot_build(ggplot2::autoplot(batch, "trace_density"))
  k <- lines$data[[1]]
  expect_equal(k$y[order(k$group, k$x)], as.vector(chain_matrices(batch)$k))
  expect_equal(sort(unique(k$x)), 2 * 1:20)
})

test_that("plot() draws two traces and two densities, one line per chain", {
  grDevices::pdf(NULL)
  withr::defer(grDevices::dev.off())
  grDevices::dev.control("enable")
  before <- graphics::par(c("mfrow", "mar", "cex"))
  expect_silent(plot(batch, "trace_density", main = "main", ylim = c(0, 9)))
  expect_identical(graphics::par(c("mfrow", "mar", "cex")), before)
  calls <- vapply(grDevices::recordPlot()[[1]], function(call) {
    call[[2]][[1]]$name
  }, "")
  expect_identical(sum(calls == "C_plot_new"), 4L)
})

test_that("sequential fits have no draws of a chain", {
  fit <- srvm(y ~ x, sim_sinc(20, seed = 1),
    kernel = kernel_gaussian(0.3), control = smc_control(20), seed = 1
  )
  expect_error(plot(fit, "trace_density"), class = "kb_error_not_defined")
  skip_if_not_installed("ggplot2")
  expect_error(
    ggplot2::autoplot(fit, "trace_density"), class = "kb_error_not_defined"
  )
})
