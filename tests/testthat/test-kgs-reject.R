# reject_curve(): error against coverage, as defined.
#
# Seen to fail: rows that are equally certain decided one after the other.

data <- kgs_example()
fits <- kgs_fits()

test_that("each row agrees with predict(threshold =)", {
  for (name in c("moons", "three", "nugget")) {
    fit <- fits[[name]]
    new <- sim_moons(60, seed = 4)
    y <- if (name == "three") {
      cut(new$x1, c(-Inf, 0, 1.5, Inf), c("low", "mid", "high"))
    } else {
      factor(ifelse(new$y == "1", "right", "left"))
    }
    new[[fit$mould$outcome_name]] <- y
    curve <- reject_curve(fit, new)
    expect_identical(names(curve), c("coverage", "error", "threshold"))
    for (i in seq_len(nrow(curve))) {
      class <- predict(fit, new, threshold = curve$threshold[[i]])
      decided <- !is.na(class)
      expect_equal(curve$coverage[[i]], mean(decided))
      expect_equal(curve$error[[i]], mean(class[decided] != y[decided]))
    }
    expect_identical(curve$coverage[[nrow(curve)]], 1)
    expect_true(all(diff(curve$coverage) > 0))
    expect_true(all(diff(curve$threshold) < 0))
  }
})

test_that("rows that are equally certain are decided together", {
  out <- error_by_certainty(
    c(0.6, 0.9, 0.9, 0.6, 1), c(TRUE, FALSE, TRUE, FALSE, FALSE)
  )
  expect_equal(as.data.frame(unclass(out)), data.frame(
    coverage = c(0.2, 0.6, 1), error = c(0, 1 / 3, 2 / 5),
    threshold = c(1, 0.9, 0.6)
  ))
})

test_that("training rows, labels apart, votes, and missing values", {
  fit <- fits$moons
  expect_identical(reject_curve(fit), reject_curve(fit, data))
  own <- fits$low_rank
  x <- as.matrix(data[c("x1", "x2")])
  expect_equal(reject_curve(own), reject_curve(own, x, data$side))
  votes <- reject_curve(own, x, data$side, complement = FALSE)
  expect_setequal(
    votes$threshold, apply(predict(own, x, type = "vote"), 1, max)
  )
  holes <- transform(data, x1 = replace(x1, 1:7, NA))
  expect_equal(reject_curve(fit, holes), reject_curve(fit, data[-(1:7), ]))
  expect_error(reject_curve(fit, transform(data, x1 = NA_real_)), "newdata",
    class = "kb_error_outcome"
  )
  expect_identical(nrow(reject_curve(fit, data[1, ])), 1L)
})

test_that("bad arguments are refused", {
  fit <- fits$low_rank
  x <- as.matrix(data[c("x1", "x2")])
  expect_error(reject_curve(1), class = "kb_error_not_defined")
  expect_error(reject_curve(fit, x), "newy", class = "kb_error_argument")
  expect_error(reject_curve(fit, newy = data$side), "newdata",
    class = "kb_error_argument"
  )
  expect_error(reject_curve(fit, x, data$side, complement = NA),
    class = "kb_error_argument"
  )
  expect_error(reject_curve(fits$moons, data, level = 1),
    class = "kb_error_unknown_argument"
  )
})

test_that("print and plot", {
  new <- sim_moons(200, seed = 4)
  new$side <- factor(ifelse(new$y == "1", "right", "left"))
  curve <- reject_curve(fits$nugget, new)
  text <- capture.output(value <- withVisible(print(curve)))
  expect_identical(value$value, curve)
  expect_false(value$visible)
  expect_length(text, 11)
  expect_output(print(curve["error"]), "error")
  grDevices::pdf(NULL)
  withr::defer(grDevices::dev.off())
  expect_silent(out <- withVisible(plot(curve, main = "m", ylim = c(0, 1))))
  expect_identical(out$value, curve)
  expect_false(out$visible)
  expect_silent(plot(reject_curve(fits$moons, new[1, ])))
  expect_error(plot(curve, lty = 1), class = "kb_error_unknown_argument")
})
