# plot(): every type draws for every kind of fit; its content is checked by the
# numbers behind it, the looks were checked by eye (PNG of 480 x 480).

data <- sim_sinc(25, seed = 31, truth = TRUE)
quick <- smc_control(particles = 30, n_moves = 2)
types <- c("fit", "ess", "k", "evidence", "centres", "trace")

fit_small <- function(...) {
  suppressWarnings(
    srvm(..., control = quick, seed = 1),
    classes = "kb_warning_no_spread"
  )
}

#' Draw on a device that leaves no file behind
on_paper <- function(expr) {
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  force(expr)
}

#' The calls that drawing records: names of graphics primitives
drawn <- function(expr) {
  on_paper({
    grDevices::dev.control("enable")
    force(expr)
    calls <- grDevices::recordPlot()[[1]]
    vapply(calls, function(call) as.character(call[[2]][[1]]$name), "")
  })
}

fits <- function() {
  plane <- sim_friedman(25, p = 5, seed = 3)[c("x1", "x4", "y")]
  stopped <- suppressWarnings(
    srvm(y ~ x, data, seed = 1,
      control = smc_control(particles = 30, n_moves = 2, time_limit = 1e-9)
    ),
    classes = "kb_warning_time_limit"
  )
  list(
    line = fit_small(y ~ x, data),
    xy = fit_small(data$x, data$y),
    plane = fit_small(y ~ ., plane),
    one_row = fit_small(y ~ x, data[1, ]),
    one_row_plane = fit_small(y ~ ., plane[1, ]),
    equal_rows = suppressWarnings(fit_small(y ~ x, data[rep(1, 9), ])),
    constant = fit_small(y ~ x, transform(data, y = 5)),
    random = fit_small(y ~ x, data, order = "random"),
    far = fit_small(y ~ x, transform(data, y = 1e6 * y), scale = FALSE),
    factor = fit_small(y ~ cut(x, c(-4, -1, 1, 4)), data),
    none = fit_small(y ~ x, data, prior = srvm_prior(kmax = 0)),
    iid = fit_small(y ~ x, data, prior = srvm_prior(4, centres = "iid")),
    replicates = srvm(y ~ x, data, seed = 1,
      control = smc_control(particles = 10, n_moves = 2, replicates = 3)
    ),
    single = srvm(y ~ x, data, seed = 1, control = smc_control(particles = 1)),
    stopped = stopped
  )
}

test_that("every type draws for every kind of fit, and returns the fit", {
  before <- file.exists("Rplots.pdf")
  all <- fits()
  for (name in names(all)) {
    for (type in types) {
      on_paper(expect_silent(out <- withVisible(plot(all[[name]], type))))
      expect_identical(out$value, all[[name]], info = paste(name, type))
      expect_false(out$visible)
    }
  }
  expect_identical(file.exists("Rplots.pdf"), before)
})

test_that("titles, limits and axes are passed on", {
  line <- fit_small(y ~ x, data)
  plane <- fit_small(y ~ x + f, data)
  for (fit in list(line, plane)) {
    for (type in types) {
      on_paper(expect_silent(plot(fit, type,
        main = "main", sub = "sub", xlab = "x", ylab = "y", ylim = c(-3, 40),
        xlim = c(-1, 30), las = 0, bty = "n", cex.axis = 0.7, axes = FALSE
      )))
    }
  }
  for (type in types) {
    on_paper(expect_silent(plot(line, type, xaxt = "n")))
  }
  on_paper({
    expect_silent(plot(line, "ess", log = "x"))
    plot(line, ylim = c(-3, 40), yaxs = "i")
    expect_equal(graphics::par("usr")[3:4], c(-3, 40))
  })
  for (level in c(0.5, 0.999)) {
    on_paper(expect_silent(plot(line, level = level)))
  }
  on_paper(expect_silent(plot(line, n = 2)))
})

test_that("unknown arguments are errors before anything is drawn", {
  fit <- fit_small(y ~ x, data)
  devices <- grDevices::dev.list()
  for (argument in list(
    list(colour = 1), list(col = "red"), list(yli = 1:2), list(call = 1),
    list(type = "fit", level = 0.9, n = 10, 5)
  )) {
    expect_error(do.call(plot, c(list(fit), argument)), "Unknown argument",
      class = "kb_error_unknown_argument"
    )
  }
  expect_error(plot(fit, "histogram"), "`type`", class = "kb_error_argument")
  expect_error(plot(fit, level = 1), "`level`", class = "kb_error_argument")
  expect_error(plot(fit, n = 1), "`n`", class = "kb_error_argument")
  expect_identical(grDevices::dev.list(), devices)
})

test_that("a fit without rows has nothing to draw", {
  fit <- fit_small(y ~ x, data)
  fit$runs <- list(NULL)
  fit$time <- 0L
  fit <- sealed(fit)
  for (type in types) {
    expect_error(plot(fit, type), "row", class = "kb_error_not_defined")
  }
})

test_that("the page's settings are restored", {
  fit <- fit_small(y ~ x, data)
  on_paper({
    graphics::par(mar = c(5, 5, 3, 1))
    names <- c("mfrow", "mar", "mgp", "las", "cex", "bty", "xpd", "lwd")
    before <- graphics::par(names)
    for (type in types) {
      plot(fit, type)
      expect_identical(graphics::par(names), before)
    }
  })
})

test_that("on a divided page each panel takes the next field", {
  fit <- fit_small(y ~ x, data)
  on_paper({
    graphics::par(mfrow = c(3, 3))
    fields <- lapply(types, function(type) {
      plot(fit, type)
      graphics::par("mfg")[1:2]
    })
    expect_identical(fields, lapply(
      list(c(1, 1), c(1, 2), c(1, 3), c(2, 1), c(2, 2), c(3, 1)), as.integer
    ))
    expect_identical(graphics::par("mfrow"), c(3L, 3L))
  })
})

test_that("one can draw on top of the curve", {
  fit <- fit_small(y ~ x, data)
  on_paper({
    plot(fit)
    usr <- graphics::par("usr")
    expect_lt(usr[[1]], min(data$x))
    expect_gt(usr[[2]], max(data$x))
    bands <- predict(fit, interval = "prediction")
    expect_lt(usr[[3]], min(bands))
    expect_gt(usr[[4]], max(bands))
    expect_silent(graphics::points(0, 0))
  })
})

test_that("each type draws what it says", {
  fit <- fit_small(y ~ x, data)
  curve <- drawn(plot(fit))
  expect_identical(sum(curve == "C_polygon"), 2L)
  observed <- drawn(plot(fit_small(y ~ x + f, data)))
  expect_true("C_abline" %in% observed)
  expect_false("C_polygon" %in% observed)
  alone <- fit_small(y ~ x, data, kernel = kernel_gaussian())
  trace <- drawn(plot(alone, "trace"))
  expect_identical(sum(trace == "C_plot_new"), 2L)
  three <- srvm(y ~ x, data, seed = 1,
    kernel = kernel_gaussian(),
    control = smc_control(particles = 10, n_moves = 2, replicates = 3)
  )
  # One line per replicate in each of the two panels.
  expect_identical(
    sum(drawn(plot(three, "trace")) == "C_plotXY") -
      sum(trace == "C_plotXY"), 4L
  )
})

test_that("the curve has a range even if the data have none", {
  fit <- suppressWarnings(fit_small(y ~ x, data[rep(1, 5), ]))
  grid <- curve_along(fit, 7)$at
  expect_length(grid, 7)
  expect_equal(mean(grid), data$x[[1]])
  expect_equal(diff(range(grid)), 6)
  fit <- fit_small(y ~ x, data)
  expect_equal(range(curve_along(fit, 50)$at), range(data$x))
})

test_that("the prior of k is that of sets", {
  for (centres in c("subset", "iid")) {
    for (kmax in c(0, 3, 100)) {
      fit <- fit_small(y ~ x, data[c(1:12, 1:3), ],
        prior = srvm_prior(2.5, kmax, centres)
      )
      prior <- srvm_prior_k(fit)
      expect_identical(prior$k, seq(0, min(kmax, 12)))
      exact <- exp(
        oracle_log_prior_set(prior$k, 12, 2.5, kmax, centres) +
          lchoose(12, prior$k)
      )
      expect_equal(prior$probability, exact, tolerance = 1e-12)
      expect_equal(sum(prior$probability), 1)
    }
  }
})

test_that("colours can be distinguished by colour-blind readers", {
  # Okabe and Ito's palette; the alpha of a band is kept.
  expect_identical(kb_colour("blue"), "#0072B2FF")
  expect_identical(kb_colour("orange"), "#D55E00FF")
  expect_identical(substr(kb_colour("sky", 0.5), 1, 7), "#56B4E9")
  expect_error(kb_colour("pink"))
})
