noisy_pairs <- function(n, seed = 1) {
  kbr_simulate(
    function(n) matrix(rnorm(2 * n), n),
    function(x) x + 0.7 * rnorm(length(x)),
    n = n, seed = seed
  )
}

test_that("losses agree with fits without the held-out stretch", {
  pairs <- noisy_pairs(60)
  width <- c(x = bandwidth_median(pairs$x), y = bandwidth_median(pairs$y))
  tuned <- tune_kbr(pairs, bandwidths = c(0.5, 2), c0 = c(0.1, 1), folds = 3)
  block <- rep(1:3, each = 20)
  by_hand <- function(factor, c0) {
    losses <- vapply(1:3, function(k) {
      held <- block == k
      fit <- kbr_rule(pairs$x[!held, ], pairs$y[!held, ],
        kernel_x = kernel_gaussian(factor * width[["x"]]),
        kernel_y = kernel_gaussian(factor * width[["y"]]), eps = c0 / 40
      )
      gap <- predict(fit, pairs$y[held, ]) - pairs$x[held, ]
      mean(sweep(gap, 2, apply(pairs$x, 2, sd), "/")^2)
    }, 0)
    c(mean(losses), sd(losses) / sqrt(3))
  }
  for (line in 1:4) {
    wanted <- by_hand(tuned$table$bandwidth[[line]], tuned$table$c0[[line]])
    expect_equal(
      unlist(tuned$table[line, c("loss", "se")], use.names = FALSE), wanted,
      tolerance = 1e-8
    )
  }
  expect_identical(tuned$best, which.min(tuned$table$loss))
})

test_that("the kernel's loss is the distance of kernel means", {
  pairs <- noisy_pairs(40)
  kernel <- kernel_gaussian(1)
  tuned <- tune_kbr(pairs$x, pairs$y,
    kernel_x = kernel, kernel_y = kernel, bandwidths = 2, c0 = 0.1, folds = 2,
    loss = "kernel"
  )
  losses <- vapply(1:2, function(k) {
    held <- rep(1:2, each = 20) == k
    fit <- kbr_rule(pairs$x[!held, ], pairs$y[!held, ],
      kernel_x = kernel_gaussian(2), kernel_y = kernel_gaussian(2),
      eps = 0.1 / 20
    )
    w <- predict(fit, pairs$y[held, ], type = "weights")
    states <- pairs$x[!held, ]
    mean(vapply(1:20, function(i) {
      mmd(
        kernel_mean(states, kernel, w[i, ]),
        kernel_mean(pairs$x[held, ][i, , drop = FALSE], kernel)
      )^2
    }, 0))
  }, 0)
  expect_equal(tuned$table$loss, mean(losses), tolerance = 1e-6)
})

test_that("the best setting is fitted to all pairs", {
  pairs <- noisy_pairs(80)
  tuned <- tune_kbr(pairs, bandwidths = c(0.5, 1), c0 = c(0.01, 1))
  best <- tuned$table[tuned$best, ]
  fit <- kbr_rule(pairs,
    kernel_x = kernel_gaussian(best$bandwidth * bandwidth_median(pairs$x)),
    kernel_y = kernel_gaussian(best$bandwidth * bandwidth_median(pairs$y)),
    eps = best$c0 / 80
  )
  expect_equal(predict(tuned, pairs$y[1:3, ]), predict(fit, pairs$y[1:3, ]))
  expect_output(print(tuned), "tuned over 4 settings")
  expect_identical(tuned$fit$time, 80L)
})

test_that("formulas, data frames and importance weights are tuned, too", {
  pairs <- noisy_pairs(60)
  data <- as.data.frame(pairs)
  args <- list(bandwidths = 1, c0 = c(0.1, 1), folds = 3)
  table <- function(...) do.call(tune_kbr, c(list(...), args))$table
  expected <- table(pairs)
  expect_equal(table(x1 + x2 ~ y1 + y2, data), expected)
  expect_equal(table(data[c("x1", "x2")], data[c("y1", "y2")]), expected)
  iw <- table(pairs, method = "iw")
  expect_true(all(is.finite(iw$loss)) && !isTRUE(all.equal(iw, expected)))
  expect_equal(table(pairs, scale = TRUE), expected, tolerance = 0.2)
})

test_that("workers change nothing", {
  pairs <- noisy_pairs(60)
  alone <- tune_kbr(pairs, c0 = 0.1, folds = 2)
  local_workers()
  together <- tune_kbr(pairs, c0 = 0.1, folds = 2)
  expect_identical(together$table, alone$table)
})

test_that("its plot shows every setting", {
  tuned <- tune_kbr(noisy_pairs(40), c0 = c(0.1, 1), folds = 2)
  withr::local_pdf(NULL)
  expect_identical(plot(tuned), tuned)
})

test_that("bad arguments are refused", {
  pairs <- noisy_pairs(20)
  refused <- function(...) {
    expect_error(tune_kbr(pairs, ...), class = "kb_error_argument")
  }
  refused(bandwidths = 0)
  refused(bandwidths = "median")
  refused(c0 = c(1, NA))
  refused(folds = 1)
  refused(folds = 21)
  refused(loss = "mad")
  refused(kernel_x = "gaussian")
  expect_error(tune_kbr(pairs, prior = 1), class = "kb_error_unknown_argument")
  expect_error(tune_kbr("a"), class = "kb_error_argument")
  expect_error(plot(tune_kbr(pairs, folds = 2), foo = 1),
    class = "kb_error_unknown_argument"
  )
})
