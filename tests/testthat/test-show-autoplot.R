# autoplot(): each picture can be built, and shows the numbers of predict() and
# the accessors. The looks were checked by eye.

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

test_that("curves agree with predict()", {
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

test_that("importance is drawn with its errors and the prior's share", {
  out <- importance(bark_fits()$plane)
  out <- out[1:2, ]
  out$effect <- c(0.95, 0.2)
  out$effect_se <- c(0.1, NA)
  bars <- built(autoplot(out, "effect"))
  expect_equal(bars[[1]]$y, out$effect)
  expect_equal(c(bars[[2]]$ymin, bars[[2]]$ymax), c(0.75, 1))
  expect_equal(bars[[3]]$y, out$effect_prior)
  boxes <- built(autoplot(out, "scale"))
  expect_equal(
    boxes[[2]]$ymax^2, out$mean + 2 * out$mc_se
  )
  # Boxes, errors and means; bars, errors and the prior; without blank layers.
  both <- built(autoplot(out))[c(1:3, 5:7)]
  expect_identical(lengths(lapply(both, `[[`, "x")), c(2L, 2L, 2L, 2L, 1L, 2L))
  panel <- vapply(both, function(layer) unique(as.integer(layer$PANEL)), 0L)
  expect_identical(panel, rep(1:2, each = 3))
  inclusion <- importance_picture(out, "inclusion")$panels[[1]]
  expect_identical(
    vapply(inclusion$layers, `[[`, "", "kind"), c("bars", "ranges")
  )
  rise <- importance(curve, method = "permutation", seed = 1)
  expect_equal(built(autoplot(rise))[[3]]$y, rise$mean)
  expect_error(autoplot(rise, "effect"), class = "kb_error_argument")
})

test_that("effects are drawn for numbers, factors and pairs", {
  fit <- bark_fits()$factor
  of <- function(variables) partial_dependence(fit, variables)
  effect <- of("x4")
  expect_equal(built(autoplot(effect))[[2]]$y, effect$mean)
  expect_equal(built(autoplot(of("g")))[[2]]$y, of("g")$mean)
  built(autoplot(of(c("x4", "g"))))
  built(autoplot(partial_dependence(bark_fits()$plane, c("x1", "x2"))))
})

test_that("kernel Bayes' rule and its filters are drawn", {
  seen <- sim_linear_hmm(60, seed = 1)
  fit <- kbr(seen$states, seen$observations)
  lines <- built(autoplot(fit, seen$observations[1, ], n = 20))
  expect_identical(nrow(lines[[2]]), 20L)
  path <- kbr_filter(
    kbr_hmm(seen$states, seen$observations, method = "kbr"),
    seen$observations[1:10, ]
  )
  expect_equal(
    built(autoplot(path))[[2]]$y, as.vector(predict(path)[, 1])
  )
  expect_error(autoplot(path, columns = "no"), class = "kb_error_argument")
})

test_that("densities of kernel Bayes' rule agree with plot()", {
  seen <- sim_linear_hmm(60, seed = 1)
  fit <- kbr(seen$states, seen$observations)
  new <- seen$observations[1, ]
  grDevices::pdf(NULL)
  withr::defer(grDevices::dev.off())
  columns <- colnames(fit$data$x)
  drawn <- plot(fit, new, n = 20)
  layers <- built(autoplot(fit, new, n = 20, level = 0.8))
  expect_equal(layers[[2]]$y, drawn$posterior)
  expect_equal(
    layers[[5]]$x, unname(predict(fit, t(new))[1, ]), tolerance = 1e-10
  )
  ends <- predict(fit, t(new), type = "quantile", probs = c(0.1, 0.9))
  expect_equal(layers[[4]]$x, as.vector(ends[1, , ]))
  bars <- built(autoplot(fit, new, "weights"))[[1]]
  expect_equal(
    bars$ymin + bars$ymax, as.vector(predict(fit, t(new), type = "weights"))
  )
  pairs <- withr::with_seed(1, matrix(stats::rnorm(120), 60))
  both <- kbr(pairs, pairs[, 1] + 0.3 * pairs[, 2])
  joint <- plot(both, 0.5, "joint", n = 12)
  expect_identical(nrow(joint), 144L)
  built(autoplot(both, 0.5, "joint", n = 12))
  devices <- grDevices::dev.list()
  autoplot(fit, new)
  expect_identical(grDevices::dev.list(), devices)
})

test_that("each type of plot() is a type of autoplot()", {
  engines <- c("srvm", "bark", "kgs", "kbr", "tdsmc")
  for (engine in engines) {
    types <- lapply(c("plot", "autoplot"), function(f) {
      eval(formals(get(paste0(f, ".kb_", engine)))$type)
    })
    expect_identical(types[[2]], types[[1]])
  }
})

test_that("the types of sequential samplers and centres are drawn", {
  bars <- built(autoplot(curve, "centres"))[[1]]
  expect_equal(bars$ymax, inclusion(curve)$change)
  several <- suppressWarnings(srvm(y ~ x, line,
    kernel = list(kernel_gaussian(0.2), kernel_gaussian(0.6)),
    control = smc_control(particles = 30), seed = 1
  ))
  table <- kernel_posterior(several)
  expect_equal(built(autoplot(several, "kernels"))[[2]]$y, table$probability)
  path <- kernel_posterior(several, by_row = TRUE)
  expect_equal(
    built(autoplot(several, "kernel_path"))[[1]]$y, c(path[[2]], path[[3]])
  )
  mixed <- suppressWarnings(srvm(y ~ x, line,
    kernel = kernel_dictionary(kernel_gaussian(0.2), kernel_gaussian(0.6)),
    control = smc_control(particles = 30), seed = 1
  ))
  built(autoplot(mixed, "kernels"))
  sums <- built(autoplot(mixed, "centres"))[[1]]
  expect_equal(max(sums$ymax), max(rowSums(inclusion(mixed)[c("kernel1", "kernel2")])))
  expect_error(autoplot(mixed, "kernel_path"), class = "kb_error_not_defined")
  steps <- run_problem(change_problem())
  expect_equal(built(autoplot(steps))[[1]]$y, ess(steps)$ess)
  expect_equal(
    built(autoplot(steps, "evidence"))[[1]]$y,
    evidence(steps)$path$log_evidence
  )
  built(autoplot(steps, "moves"))
})

test_that("the types of kgs fits agree with plot()", {
  for (name in c("moons", "line", "three")) {
    fit <- kgs_fits()[[name]]
    for (type in c("boundary", "reject", "noise", "f")) {
      built(autoplot(fit, type))
    }
  }
  fit <- kgs_fits()$line
  band <- built(autoplot(fit, "f", n = 5, level = 0.8))
  grid <- matrix(band[[3]]$x, dimnames = list(NULL, colnames(fit$data$x)))
  f <- predict(fit, grid, type = "draws")
  expect_equal(band[[3]]$y, apply(f, 2, stats::median))
  expect_equal(
    band[[1]]$ymin, apply(f, 2, stats::quantile, 0.1, names = FALSE)
  )
})

test_that("arguments that a type does not use are refused, as in plot()", {
  refused <- function(...) {
    expect_error(autoplot(...), class = "kb_error_argument")
    expect_error(plot(...), class = "kb_error_argument")
  }
  refused(curve, "ess", level = 0.5)
  refused(curve, "k", n = 10)
  refused(bark_fits()$plane, "trace", level = 0.5)
  refused(bark_fits()$plane, "importance", n = 5)
  refused(kgs_fits()$moons, "trace", n = 5)
  fit <- kbr(line$x, line$y)
  refused(fit, 0, "weights", n = 20)
  refused(fit, 0, "joint", level = 0.5)
})

test_that("input that plot() refuses is refused", {
  expect_error(autoplot(curve, "none"), class = "kb_error_argument")
  expect_error(autoplot(curve, levle = 0.5), class = "kb_error_unknown_argument")
  batch <- suppressWarnings(srvm(y ~ x, line,
    kernel = kernel_gaussian(0.3), method = "mcmc",
    control = mcmc_control(2, 20, 20), seed = 1
  ))
  expect_error(autoplot(batch, "ess"), class = "kb_error_not_defined")
  built(autoplot(batch, "trace"))
})

test_that("several classes are drawn, with and without an order", {
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
