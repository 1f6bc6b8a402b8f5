# plot() of bark fits: every type for every kind of fit; the looks were checked
# by eye (PNG of 480 x 480).

fits <- bark_fits()
types <- eval(formals(plot.kb_bark)$type)

on_paper <- function(expr) {
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  force(expr)
}

test_that("every type draws for every kind of fit, and returns the fit", {
  one_row <- bark_quick(matrix(1), 2)
  constant <- bark_quick(c(1, 2, 3), c(5, 5, 5), chains = 1)
  for (fit in c(fits, list(one_row, constant))) {
    on_paper({
      names <- c("mfrow", "mar", "mgp", "las", "cex", "bty", "xpd", "lwd")
      before <- graphics::par(names)
      for (type in types) {
        expect_silent(out <- withVisible(plot(fit, type)))
        expect_identical(out$value, fit)
        expect_false(out$visible)
        expect_identical(graphics::par(names), before)
      }
    })
  }
})

test_that("titles, limits and axes are passed on, other arguments refused", {
  for (fit in fits[c("plane", "line", "class_line", "classes")]) {
    on_paper(for (type in types) {
      expect_silent(plot(fit, type,
        main = "main", xlab = "x", ylab = "y", ylim = c(0, 40),
        xlim = c(-1, 30), las = 0, cex.axis = 0.7, axes = FALSE
      ))
    })
    expect_error(plot(fit, colour = 1), class = "kb_error_unknown_argument")
    expect_error(plot(fit, "ess"), "`type`", class = "kb_error_argument")
    expect_error(plot(fit, level = 1), "`level`", class = "kb_error_argument")
    expect_error(plot(fit, n = 1), "`n`", class = "kb_error_argument")
  }
})

test_that("the prior of the number of kernels is Poisson", {
  prior <- bark_prior_k(fits$plane)
  expect_equal(prior$probability, stats::dpois(prior$k, 20))
  expect_gte(max(prior$k), max(model_size(fits$plane)$k))
})
