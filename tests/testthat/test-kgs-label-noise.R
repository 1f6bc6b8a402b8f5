# label_noise(): which labels are wrong, counted from the draws.
#
# Seen to fail: shares of draws cut to the shortest chain.

fits <- kgs_fits()

#' Wrong labels of the draws by hand: f of the span at the training rows
wrong_by_hand <- function(fit) {
  f <- predict(fit, type = "draws")
  y <- as.integer(fit$data$y)
  if (length(dim(f)) == 3) {
    best <- apply(f, 1:2, which.max)
    return(t(best) != y)
  }
  t(f > 0) != (y == 2)
}

test_that("probabilities are shares of the draws", {
  for (name in c("moons", "line", "factor", "three", "low_rank", "hard")) {
    fit <- fits[[name]]
    wrong <- wrong_by_hand(fit)
    out <- label_noise(fit)
    expect_identical(names(out), c("row", "label", "probability"))
    expect_identical(out$row, 1:40)
    expect_identical(out$label, fit$data$y)
    expect_equal(out$probability, rowMeans(wrong), label = name)
    expect_equal(sum(out$probability), mean(as_draws(fit)$errors))
  }
  # With a nugget, labels are those of f plus the row's own term.
  out <- label_noise(fits$nugget)
  expect_equal(sum(out$probability), mean(as_draws(fits$nugget)$errors))
})

test_that("flipped labels are found", {
  # A tight cluster per class, with one flipped label in each.
  x <- matrix(c(rep(-2, 10), rep(2, 10)) + (1:10) / 100)
  y <- rep(c("a", "b"), each = 10)
  y[c(3, 14)] <- c("b", "a")
  out <- label_noise(kgs_quick(x, y, iter = 400))
  expect_true(all(out$probability[c(3, 14)] > 0.95))
  expect_true(all(out$probability[-c(3, 14)] < 0.05))
})

test_that("chains of different lengths count their own draws", {
  fit <- fits$moons
  short <- fit
  run <- head_draws(fit, fit$runs[[2]], 25L)
  # Every label was wrong in five of 25 draws.
  run$draws$flipped[] <- 5
  short$runs[[2]] <- run
  short <- sealed(short)
  expect_equal(
    label_noise(short)$probability,
    (fit$runs[[1]]$draws$flipped + 5) / (40 + 25)
  )
})

test_that("print shows the most suspicious labels, plot draws them", {
  out <- label_noise(fits$moons)
  text <- capture.output(value <- withVisible(print(out, n = 3)))
  expect_false(value$visible)
  expect_identical(value$value, out)
  expect_match(text[[1]], "of 40 expected")
  worst <- order(-out$probability)[1:3]
  expect_match(text[[3]], paste0("^ *", worst[[1]], " "))
  expect_match(text[[6]], "and 37 more rows")
  expect_output(print(out[c("row", "probability")]), "probability")
  expect_output(print(out[1, ]), "of 1 expected")
  grDevices::pdf(NULL)
  withr::defer(grDevices::dev.off())
  expect_silent(value <- withVisible(plot(out, n = 5, main = "a")))
  expect_false(value$visible)
  expect_silent(plot(out[1, ], axes = FALSE))
  expect_silent(plot(label_noise(fits$three), xaxt = "n", ylim = c(0, 0.1)))
  expect_error(plot(out, colour = 1), class = "kb_error_unknown_argument")
  expect_error(plot(out, n = 0), "`n`", class = "kb_error_argument")
  expect_error(print(out, n = 0), "`n`", class = "kb_error_argument")
})

test_that("other objects and unknown arguments are refused", {
  expect_error(label_noise(1), class = "kb_error_not_defined")
  expect_error(label_noise(fits$moons, 1), class = "kb_error_unknown_argument")
})
