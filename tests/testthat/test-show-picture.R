# Pictures as data: what each shows, and that both renderers draw every kind of
# layer. The looks were checked by eye (PNG of 800 x 600).

on_paper <- function(expr) {
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  force(expr)
}

#' The data of a layer of a panel, by its number
shown <- function(picture, layer, panel = 1) {
  picture$panels[[panel]]$layers[[layer]]$data
}

kinds <- function(picture, panel = 1) {
  vapply(picture$panels[[panel]]$layers, `[[`, "", "kind")
}

line <- sim_sinc(30, seed = 1)
curve <- suppressWarnings(srvm(y ~ x, line,
  kernel = kernel_gaussian(0.3), control = smc_control(particles = 50),
  seed = 1
))
of_curve <- function(type) {
  fit <- type == "fit"
  srvm_picture(curve, type, 0.8, if (fit) 7, fit)
}

# Every kind of layer.
every_kind <- function() {
  at <- c(1, 2, 4)
  d <- data.frame(
    x = at, y = at, ymin = at - 1, ymax = at + 1,
    lower = at - 0.5, middle = at, upper = at + 0.5, height = 0.1, text = "a"
  )
  grid <- expand.grid(x = at, y = at)
  grid$z <- grid$x * grid$y
  list(
    tiles = layer("tiles", grid,
      palette = c("white", "black"), limits = range(grid$z), label = "z"
    ),
    contours = contour_layer(grid, labels = TRUE),
    ribbon = layer("ribbon", d), lines = layer("lines", d, label = "line"),
    points = layer("points", d, label = "point"), ranges = layer("ranges", d),
    bars = layer("bars", d, label = "bar"),
    boxes = layer("boxes", d, fill = "white", label = "box"),
    rules = rule_layer(y = 1, label = "rule"), rug = layer("rug", d),
    text = layer("text", d)
  )
}

test_that("both renderers draw every kind of layer, singly and together", {
  layers <- every_kind()
  expect_setequal(names(layers), names(base_kinds))
  expect_true(all(names(layers) %in% names(gg_kinds)))
  all <- do.call(panel, c(list("x", "y"), unname(layers)))
  pictures <- c(
    lapply(layers, function(l) {
      new_picture(panel("x", "y", l, xlim = 0:5, ylim = 0:5))
    }),
    list(
      new_picture(all), new_picture(list(all, all)),
      new_picture(panel("x", "y", rule_layer(x = 2), rule_layer(slope = 1),
        xlim = 1:3, ylim = 1:3
      ))
    )
  )
  for (picture in pictures) {
    on_paper(expect_silent(draw_picture(picture, main = "title")))
    if (!requireNamespace("ggplot2", quietly = TRUE)) next
    on_paper(expect_silent(print(gg_picture(picture))))
  }
})

test_that("limits follow the layers and the panel", {
  one <- panel("x", "y",
    lines_layer(1:3, c(5, NA, 7)), ranges_layer(2, -1, 2),
    rule_layer(y = 9), layer("rug", data.frame(x = 4)),
    xlim = 0
  )
  expect_equal(panel_limits(one, "x"), c(0, 4))
  expect_equal(panel_limits(one, "y"), c(-1, 9))
  # Space for ticks given as shares of the panel.
  one$layers[[4]]$data$height <- 0.1
  expect_equal(panel_limits(one, "y"), c(-1.8, 9))
})

test_that("the key names layers and groups once", {
  by <- groups("class", c("a", "b", "none"))
  one <- panel("x", "y",
    lines_layer(1:2, 1:2, group = c("a", "b"), by = by),
    points_layer(1:2, 1:2, group = c("b", "a"), by = by),
    lines_layer(1:2, 2:1, label = "mean"), rule_layer(y = 1)
  )
  key <- panel_key(one)
  expect_identical(vapply(key, `[[`, "", "label"), c("a", "b", "mean"))
  expect_identical(
    vapply(key[[1]]$marks, `[[`, "", "kind"), c("lines", "points")
  )
  expect_identical(names(base_key(one)), c("class:", "a", "b", "mean"))
  # One colour each, and the mark of both layers.
  expect_identical(base_key(one)$b$col, kb_colour("orange"))
  expect_identical(base_key(one)$b$pch, 16)
})

test_that("tiles have colours along their palette, and a key of numbers", {
  tiles <- every_kind()$tiles
  expect_identical(
    tile_colours(tiles, c(1, 8, 16)), c("white", "white", "black")
  )
  labels <- names(base_key(panel("x", "y", tiles)))
  expect_identical(labels, c("z:", "5", "10", "15"))
  edges <- cell_edges(c(1, 2, 4, 1))
  expect_equal(edges$low, c(0.5, 1.5, 3, 0.5))
  expect_equal(edges$high, c(1.5, 3, 5, 1.5))
})

test_that("curves have the bands, rows and centres of the fit", {
  picture <- of_curve("fit")
  grid <- seq(min(line$x), max(line$x), length.out = 7)
  at <- data.frame(x = grid)
  f <- predict(curve, at, interval = "credible", level = 0.8)
  new <- predict(curve, at, interval = "prediction", level = 0.8)
  expect_equal(shown(picture, 1)$ymax, unname(new[, "upr"]))
  expect_equal(shown(picture, 2)$ymin, unname(f[, "lwr"]))
  expect_equal(shown(picture, 3), data.frame(x = line$x, y = line$y))
  expect_equal(shown(picture, 4)$y, unname(f[, "fit"]))
  change <- inclusion(curve)$change
  expect_equal(shown(picture, 5)$height, 0.1 * change[change > 0] / max(change))
})

test_that("paths of a sampler agree with its accessors", {
  expect_equal(shown(of_curve("ess"), 1)$y, ess(curve)$ess)
  expect_equal(shown(of_curve("ess"), 3)$x, which(ess(curve)$resampled))
  expect_equal(
    shown(of_curve("evidence"), 1)$y, evidence(curve)$path$log_evidence
  )
  prior <- shown(of_curve("k"), 2)
  expect_equal(prior$y, srvm_prior_k(curve)$probability[prior$x + 1])
  trace <- of_curve("trace")
  expect_equal(shown(trace, 1)$y, curve$runs[[1]]$path$mean_k)
  # The first rows do not determine the scale of the noise.
  sigma <- shown(trace, 1, 2)$y
  expect_lte(max(sigma, na.rm = TRUE), max(sigma[11:30]))
})

test_that("rows are in the order of their values, with their classes", {
  fit <- bark_fits()$classes
  picture <- bark_picture(fit, "fit", 0.9, NULL, FALSE)
  p <- predict(fit, type = "response", interval = "credible")
  points <- shown(picture, 3)
  expect_equal(points$x, rank(p[, "fit"], ties.method = "first"))
  expect_equal(points$y, unname(p[, "fit"]))
  expect_equal(as.character(points$group), as.character(bark_data()$class))
  expect_equal(shown(picture, 1)$ymax, unname(p[, "upr"]))
})

test_that("planes show the most probable class and its certainty", {
  fit <- kgs_fits()$three
  at <- function(points) {
    cbind(0.2, rep(c(0.5, 0.1), length.out = nrow(points)), 0.3)
  }
  picture <- plane_picture(fit, fit$mould$x_names[1:2], 4, at)
  tiles <- shown(picture, 1)
  expect_identical(nrow(tiles), 16L)
  levels <- fit$mould$levels
  expect_identical(tiles$group[1:2], levels[c(2, 3)])
  expect_equal(tiles$alpha[1:2], 0.4 * (c(0.5, 0.3) - 1 / 3) / (2 / 3))
  expect_identical(utils::tail(kinds(picture), 1), "points")
  wrong <- kgs_picture(
    kgs_fits()$moons, "boundary", NULL, TRUE, NULL, NULL, 0.9, 5,
    c(complement = FALSE, level = FALSE)
  )
  circles <- shown(wrong, length(wrong$panels[[1]]$layers))
  expect_identical(
    nrow(circles), sum(flip_probability(kgs_fits()$moons) > 0.5)
  )
})

test_that("effects are drawn apart by states, together by levels", {
  effect <- partial_dependence(bark_fits()$factor, c("x4", "g"), n = 4)
  picture <- dependence_picture(effect)
  expect_length(picture$panels, 1)
  lines <- shown(picture, 2)
  expect_equal(
    lines$y[lines$group == "b"], effect$mean[effect$g == "b"]
  )
  x <- withr::with_seed(1, matrix(stats::rnorm(120), 60))
  colnames(x) <- c("a", "b")
  states <- partial_dependence(kbr(x, x[, 1] + x[, 2]), "y", n = 4)
  picture <- dependence_picture(states)
  expect_identical(
    vapply(picture$panels, `[[`, "", "ylab"), c("mean a", "mean b")
  )
  expect_equal(shown(picture, 2, 2)$y, states$mean[states$state == "b"])
  two <- partial_dependence(bark_fits()$plane, c("x1", "x2"), n = 3)
  expect_equal(shown(dependence_picture(two), 1)$z, two$mean)
})

test_that("weights have the colour of their sign", {
  fit <- kbr(line$x, line$y)
  picture <- kbr_picture(fit, 0, "weights", NULL, 0.9, NULL, FALSE)
  w <- as.vector(predict(fit, matrix(0), type = "weights"))
  bars <- shown(picture, 1)
  expect_equal(bars$ymin + bars$ymax, w)
  expect_identical(bars$group == "negative weights", w < 0)
  expect_equal(picture$value$weight, w)
})

test_that("a band that is unknown in the middle has a gap", {
  calls <- on_paper({
    grDevices::dev.control("enable")
    band <- data.frame(x = 1:5, ymin = c(0, 0, NA, 0, 0), ymax = 1)
    draw_picture(new_picture(panel("x", "y", layer("ribbon", band))))
    vapply(grDevices::recordPlot()[[1]], function(call) {
      as.character(call[[2]][[1]]$name)
    }, "")
  })
  expect_identical(sum(calls == "C_polygon"), 2L)
})

test_that("the title is the first panel's, limits pass the root", {
  on_paper({
    draw_panel(panel("x", "y", lines_layer(1:2, c(4, 9)), root = TRUE), list(
      ylim = c(0, 16), yaxs = "i"
    ))
    expect_equal(graphics::par("usr")[3:4], c(0, 4))
  })
  expect_equal(of_curve("trace")$panels[[2]]$shared, "main")
})

test_that("arguments that no picture takes are refused", {
  for (argument in c("picture", "call", "panel")) {
    given <- stats::setNames(list(1), argument)
    expect_error(
      do.call(plot, c(list(curve), given)), argument, fixed = TRUE,
      class = "kb_error_unknown_argument"
    )
  }
  skip_if_not_installed("ggplot2")
  for (object in list(curve, reject_curve(kgs_fits()$moons))) {
    expect_error(ggplot2::autoplot(object, picture = 1), "picture",
      class = "kb_error_unknown_argument"
    )
  }
})

test_that("pictures specific to plot() are drawn by ggplot2, too", {
  skip_if_not_installed("ggplot2")
  weights <- c(1, -0.5, 0.3)
  objects <- list(
    kernel_mean(1:3, weights = weights),
    kernel_mean(cbind(1:3, c(2, 1, 4)), weights = weights),
    order_spread(curve, 3, seed = 1),
    cross_validate(curve, 3, seed = 1),
    tune_kbr(line$x, line$y, seed = 1),
    calibrate(kbr(line$x, line$y), seed = 1)
  )
  for (object in objects) {
    plot <- ggplot2::autoplot(object)
    expect_s3_class(plot, "ggplot")
    on_paper(expect_silent(print(plot)))
  }
})
