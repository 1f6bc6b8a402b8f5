# plot() of kgs fits: every type for every kind of fit; the looks were checked
# by eye (PNG of 420 x 420).

data <- kgs_example()
fits <- kgs_fits()
types <- eval(formals(plot.kb_kgs)$type)

on_paper <- function(expr) {
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  force(expr)
}

#' As coarse as possible, if a type has a grid
coarse <- function(fit, type, ...) {
  if (type == "boundary") plot(fit, type, n = 8, ...) else plot(fit, type, ...)
}

test_that("every type draws for every kind of fit, and returns the fit", {
  rows <- kgs_quick(matrix(c(0, 1)), c("a", "b"))
  flat <- kgs_quick(cbind(a = data$x1, b = 3), data$y)
  line <- kgs_quick(three ~ x1, data, chains = 1)
  for (fit in c(fits, list(rows, flat, line))) {
    on_paper({
      names <- c("mfrow", "mar", "mgp", "las", "cex", "bty", "xpd", "lwd")
      before <- graphics::par(names)
      for (type in types) {
        expect_silent(out <- withVisible(coarse(fit, type)))
        expect_identical(out$value, fit)
        expect_false(out$visible)
        expect_identical(graphics::par(names), before)
      }
    })
  }
})

test_that("titles, limits and axes are passed on, other arguments refused", {
  for (fit in fits[c("moons", "line", "three")]) {
    on_paper(for (type in types) {
      expect_silent(coarse(fit, type,
        main = "main", xlab = "x", ylab = "y", ylim = c(0, 4),
        xlim = c(-1, 30), las = 0, cex.axis = 0.7, axes = FALSE
      ))
    })
    expect_error(plot(fit, colour = 1), class = "kb_error_unknown_argument")
    expect_error(plot(fit, "ess"), "`type`", class = "kb_error_argument")
    expect_error(plot(fit, "f", level = 1), "`level`",
      class = "kb_error_argument"
    )
    expect_error(plot(fit, n = 1), "`n`", class = "kb_error_argument")
    for (variable in list(1:2, "x1", c("x1", "x1"), c("x1", "z"))) {
      if (ncol(fit$data$x) == 1) next
      expect_error(plot(fit, variable = variable), "`variable`",
        class = "kb_error_argument"
      )
    }
  }
})

test_that("arguments without effect are refused", {
  fit <- fits$moons
  expect_error(plot(fit, "noise", n = 3), "n", class = "kb_error_argument")
  expect_error(plot(fit, "f", complement = FALSE), "complement",
    class = "kb_error_argument"
  )
  expect_error(plot(fit, newdata = data), "newdata",
    class = "kb_error_argument"
  )
  expect_error(plot(fit, "trace", level = 0.5), "level",
    class = "kb_error_argument"
  )
  expect_error(plot(fit, "reject", variable = c("x1", "x2")), "variable",
    class = "kb_error_argument"
  )
  expect_error(plot(fits$line, variable = c("x", "z")), "variable",
    class = "kb_error_argument"
  )
})

test_that("the rejects drawn are for the given rows", {
  fit <- fits$low_rank
  x <- as.matrix(data[1:9, c("x1", "x2")])
  expect_identical(
    plotted_rejects(fit, x, data$side[1:9], FALSE),
    reject_curve(fit, x, data$side[1:9], complement = FALSE)
  )
  expect_identical(plotted_rejects(fit, NULL, NULL, TRUE), reject_curve(fit))
  on_paper(expect_silent(
    plot(fit, "reject", newdata = x, newy = data$side[1:9])
  ))
})

test_that("the plane has the other predictors at their median or first level", {
  fit <- fits$factor
  points <- curve_along(fit, 5, "x2")$points
  expect_equal(range(points$x2), range(data$x2))
  expect_equal(unique(points$x1), stats::median(data$x1))
  expect_identical(
    as.character(unique(points$g)), names(which.max(table(data$g)))
  )
  picture <- kgs_picture(fit, "boundary", c("x2", "x1"), NULL, NULL, NULL, 0.9,
    5, logical()
  )
  expect_identical(picture$panels[[1]]$xlab, "x2")
  expect_error(plot(fit, variable = c("gb", "x1")), "comes of \"g\"",
    class = "kb_error_argument"
  )
})

test_that("the plane is that of the variables that matter most", {
  rows <- withr::with_seed(1, matrix(stats::rnorm(240), 60))
  rows <- data.frame(rows, y = factor(rows[, 4] + rows[, 2] > 0))
  fit <- kgs(y ~ ., rows, kernel = kernel_gaussian(2), seed = 1,
    control = mcmc_control(chains = 2, warmup = 50, iter = 100)
  )
  expect_setequal(leading_of_functions(fit)[1:2], c("X2", "X4"))
})

test_that("the probabilities drawn agree with predict()", {
  new <- as.matrix(data[1:6, c("x1", "x2")])
  for (complement in c(TRUE, FALSE)) {
    # All 80 draws are among the 400.
    expect_equal(
      drawn_probability(fits$low_rank, new, complement),
      predict(fits$low_rank, new,
        type = "true_prob", complement = complement
      ),
      ignore_attr = TRUE
    )
  }
  bands <- function_bands(fits$moons, new, 0.8)
  f <- predict(fits$moons, data[1:6, ], type = "draws")
  expect_equal(
    bands, t(apply(f, 2, stats::quantile, c(0.5, 0.1, 0.9))),
    ignore_attr = TRUE
  )
})

test_that("traces show the learned parameters", {
  expect_identical(names(kgs_trace_labels(fits$moons)), c("errors", "q"))
  expect_identical(names(kgs_trace_labels(fits$line)), c("q[0]", "q[1]"))
  expect_identical(names(kgs_trace_labels(fits$hard)), c("errors", "f[1]"))
})
