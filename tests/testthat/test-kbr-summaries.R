# Learned summaries in kbr(): `summaries`.
#
# Fits with learned summaries are compared with fits to the same summaries, made
# by hand: equal numbers. Data are fixed by seeds, so nothing is left to chance.
# Seen to fail: summaries of new observations not scaled as those of the pairs;
# the sign of the gain turned round.

noisy_pairs <- function(n, noise = 28, seed = 1) {
  x <- normal_points(n, 2, seed)
  y <- cbind(x + 0.4 * normal_points(n, 2, seed + 10),
    normal_points(n, noise, seed + 20)
  )
  colnames(y) <- paste0("s", seq_len(ncol(y)))
  list(x = x, y = y)
}

quiet <- function(expr) suppressWarnings(expr, classes = "kb_warning")

test_that("summaries are those of kdr(), in every method", {
  pairs <- noisy_pairs(150, 4)
  new <- noisy_pairs(5, 4, 7)$y
  found <- kdr(pairs$x, pairs$y, k = 2)
  by_hand <- predict(found)
  for (method in c("adjusted", "kbr", "iw")) {
    fit <- kbr(pairs$x, pairs$y, method = method, summaries = found, seed = 1)
    # Logarithms are not taken of what kdr() scaled.
    own <- kbr(pairs$x, unname(by_hand), method = method, seed = 1)
    for (type in c("mean", "sd", "quantile")) {
      expect_equal(
        predict(fit, new, type), predict(own, predict(found, new), type),
        tolerance = 1e-10, ignore_attr = TRUE
      )
    }
    expect_equal(fitted(fit), fitted(own), ignore_attr = TRUE)
  }
  learned <- kbr(pairs$x, pairs$y, summaries = "learn", seed = 1)
  auto <- kdr(pairs$x, pairs$y)
  expect_identical(
    learned$settings$summaries$directions, unname(auto$directions),
    ignore_attr = TRUE
  )
  expect_output(print(learned), "summaries: .* of the observations, see kdr")
  expect_true(is.na(predict(learned, rbind(NA, new[1, ]))[1, 1]))
})

test_that("summaries are scaled, those of new observations as the pairs'", {
  pairs <- noisy_pairs(100, 4)
  new <- noisy_pairs(5, 4, 7)$y
  found <- kdr(pairs$x, pairs$y, k = 2)
  fit <- kbr(pairs$x, pairs$y, summaries = found, scale = TRUE, seed = 1)
  own <- kbr(pairs$x, unname(predict(found)), scale = TRUE, seed = 1)
  expect_equal(
    predict(fit, new), predict(own, unname(predict(found, new))),
    tolerance = 1e-10, ignore_attr = TRUE
  )
  expect_equal(predict(fit, pairs$y), fitted(fit), ignore_attr = TRUE)
})

test_that("summaries of rounds weigh as their pairs do", {
  pairs <- noisy_pairs(100, 4)
  found <- kdr(pairs$x, pairs$y, k = 2)
  w <- seq_len(100)
  fit <- kbr(pairs$x, pairs$y, summaries = found, prior = list(weights = w))
  own <- kbr(pairs$x, predict(found), prior = list(weights = w))
  expect_equal(fitted(fit), fitted(own), ignore_attr = TRUE)
})

test_that("by default many columns of noise are left out, and few are not", {
  skip_on_cran()
  pairs <- noisy_pairs(200)
  fit <- quiet(kbr(pairs$x, pairs$y, seed = 1))
  expect_lt(summarised_columns(fit), 7)
  new <- noisy_pairs(200, seed = 50)
  none <- quiet(kbr(pairs$x, pairs$y, summaries = "none", seed = 1))
  loss <- function(fit) {
    mean((new$x - quiet(predict(fit, new$y)))^2)
  }
  # The posterior variance is 0.138.
  expect_lt(loss(fit), 0.2)
  expect_lt(loss(fit), loss(none))
  few <- noisy_pairs(100, 4)
  expect_null(kbr(few$x, few$y)$settings$summaries)
})

test_that("columns that all inform about the states are kept as they are", {
  skip_on_cran()
  x <- normal_points(200, 12, 3)
  y <- x + 0.5 * normal_points(200, 12, 4)
  expect_null(quiet(kbr(x, y, seed = 1))$settings$summaries)
  # A kernel that was chosen for the columns is taken at its word.
  noisy <- noisy_pairs(60)
  fit <- quiet(kbr(noisy$x, noisy$y, kernel_y = kernel_gaussian(3)))
  expect_null(fit$settings$summaries)
})

test_that("blocks of calibrate() do not see summaries of what they leave out", {
  pairs <- noisy_pairs(100, 4)
  fit <- quiet(kbr(pairs$x, pairs$y, summaries = "learn", seed = 1))
  rows <- 1:60
  part <- quiet(fit_rows(fit, rows))
  k <- ncol(fit$settings$summaries$directions)
  expect_equal(
    part$settings$summaries$directions,
    kdr(pairs$x[rows, ], pairs$y[rows, ], k)$directions,
    ignore_attr = TRUE
  )
  found <- kdr(pairs$x, pairs$y, 2)
  given <- kbr(pairs$x, pairs$y, summaries = found, seed = 1)
  expect_identical(
    quiet(fit_rows(given, rows))$settings$summaries, given$settings$summaries
  )
})

test_that("fits with summaries are kept in files, and damage is found", {
  pairs <- noisy_pairs(60, 4)
  fit <- quiet(kbr(pairs$x, pairs$y, summaries = "learn", seed = 1))
  file <- withr::local_tempfile()
  saveRDS(fit, file)
  expect_identical(predict(readRDS(file)), predict(fit))
  broken <- fit
  broken$settings$summaries$directions <- matrix(0, 3, 2)
  expect_error(predict(broken), class = "kb_error")
})

test_that("bad summaries are errors", {
  pairs <- noisy_pairs(50, 4)
  for (bad in list("auto", 3, TRUE, pairs)) {
    expect_error(
      kbr(pairs$x, pairs$y, summaries = bad), class = "kb_error_argument"
    )
  }
  found <- kdr(pairs$x, pairs$y[, 1:4], k = 2)
  expect_error(
    kbr(pairs$x, pairs$y, summaries = found), class = "kb_error_dimension"
  )
})
