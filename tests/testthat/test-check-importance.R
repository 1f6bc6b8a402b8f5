# importance(): numbers from the draws, print and plot.

fits <- bark_fits()

on_paper <- function(expr) {
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  force(expr)
}

test_that("scales and inclusion agree with the draws", {
  for (fit in fits) {
    out <- importance(fit, level = 0.8, by = "column")
    draws <- as.data.frame(as_draws(fit))
    p <- ncol(fit$data$x)
    expect_identical(out$variable, colnames(fit$data$x))
    for (l in seq_len(p)) {
      lambda <- draws[[paste0("lambda[", l, "]")]]
      expect_equal(out$mean[[l]], mean(lambda))
      expect_equal(
        unlist(out[l, c("lower", "q25", "median", "q75", "upper")],
          use.names = FALSE
        ),
        stats::quantile(lambda, c(0.1, 0.25, 0.5, 0.75, 0.9), names = FALSE)
      )
      delta <- draws[[paste0("delta[", l, "]")]]
      expect_equal(out$inclusion[[l]], if (is.null(delta)) 1 else mean(delta))
    }
  }
})

test_that("tidy() has the same numbers under broom's names", {
  out <- importance(fits$plane)
  tidied <- tidy(out)
  expect_true(all(c("term", "estimate", "conf.low") %in% names(tidied)))
  expect_identical(class(tidied), "data.frame")
  expect_identical(tidied$term, out$variable)
  expect_identical(tidied$estimate, out$mean)
  expect_identical(tidied$conf.high, out$upper)
  expect_identical(tidied$share, out$share)
  expect_false("conf.low" %in% names(tidy(out, conf.int = FALSE)))
})

test_that("a predictor that matters is distinguished from one that does not", {
  withr::local_seed(3)
  x <- cbind(a = stats::rnorm(60), b = stats::rnorm(60))
  fit <- bark_quick(x, sin(2 * x[, "b"]), prior = bark_prior_paper("select_equal"))
  out <- importance(fit)
  expect_gt(out$inclusion[[2]], 0.99)
  expect_lt(out$mean[[1]], out$mean[[2]])
})

test_that("print shows the most important predictors in at most 15 lines", {
  out <- importance(fits$plane)
  shown <- capture.output(value <- withVisible(print(out)))
  expect_identical(value$value, out)
  expect_false(value$visible)
  expect_match(shown[[2]], "effect +effect_se +effect_prior")
  wide <- out[rep(1:3, 10), ]
  shown <- capture.output(print(wide))
  expect_lte(length(shown), 15)
  expect_match(shown, "20 more predictors", all = FALSE)
  expect_output(print(out[c("variable", "mean")]), "variable")
})

test_that("plot draws boxes and bars, and leaves the page as it was", {
  on_paper({
    graphics::par(mar = c(5, 5, 3, 1))
    names <- c("mfrow", "mar", "mgp", "las", "cex", "bty")
    before <- graphics::par(names)
    for (fit in fits) {
      out <- importance(fit)
      for (type in list(NULL, "scale", "effect", "inclusion", "both")) {
        for (transform in c("sqrt", "none")) {
          expect_silent(value <- withVisible(plot(out, type, transform)))
          expect_identical(value$value, out)
          expect_false(value$visible)
          expect_identical(graphics::par(names), before)
        }
      }
      expect_silent(plot(out,
        main = "a", ylim = c(0, 2), xlab = "b", axes = FALSE
      ))
      expect_silent(plot(out, n = 1, xaxt = "n", yaxt = "n"))
    }
    expect_error(plot(out, colour = 1), class = "kb_error_unknown_argument")
    expect_error(plot(out, "pie"), class = "kb_error_argument")
  })
  flat <- importance(fits$plane)
  flat[c("mean", "lower", "q25", "median", "q75", "upper")] <- 0
  on_paper(expect_silent(plot(flat)))
})

test_that("Monte Carlo errors are two standard errors, within the range", {
  expect_equal(
    error_bars(c(0.5, 0.1, 0.9), c(0.1, 0.1, 0.1), 0, 1),
    list(lower = c(0.3, 0, 0.7), upper = c(0.7, 0.3, 1))
  )
  out <- importance(fits$plane)
  out$effect_se <- 0.05
  drawn <- on_paper({
    grDevices::dev.control("enable")
    plot(out, "effect")
    calls <- lapply(grDevices::recordPlot()[[1]], `[[`, 2)
    Filter(function(call) identical(call[[1]]$name, "C_segments"), calls)
  })
  lines <- Filter(function(call) is.numeric(call[[2]]), drawn)[[1]]
  expect_equal(
    as.vector(lines[[3]]), pmax(out$effect - 0.1, 0), ignore_attr = TRUE
  )
})

test_that("it is not defined for other objects", {
  expect_error(importance(1), class = "kb_error_not_defined")
  expect_error(importance(fits$plane, level = 0), class = "kb_error_argument")
})
