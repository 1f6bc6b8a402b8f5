# R-hat and effective sample sizes of many quantities at once.

#' Draws n x chains of a first-order autoregression
autoregression <- function(n, chains, phi) {
  matrix(replicate(chains, {
    as.double(stats::filter(stats::rnorm(n), phi, "recursive"))
  }), n)
}

test_that("they agree with package posterior", {
  withr::local_seed(1)
  # The first is more precise than independent draws, which is bounded.
  for (n in c(13, 100, 501)) {
    for (chains in c(1, 2, 4)) {
      ar <- function(phi) autoregression(n, chains, phi)
      draws <- list(
        alternating = ar(-0.9), slow = ar(0.9), coarse = round(ar(0.5)),
        apart = ar(0.9) + rep(seq_len(chains), each = n),
        rare = (ar(0.8) > 1) + 0, heavy = exp(3 * ar(0.3))
      )
      table <- mixing_table(draws)
      each <- function(f) suppressWarnings(unname(vapply(draws, f, 0)))
      expect_identical(table$variable, names(draws))
      expect_equal(table$rhat, each(posterior::rhat))
      expect_equal(table$ess_bulk, each(posterior::ess_bulk))
      expect_equal(table$ess_tail, each(posterior::ess_tail))
      expect_false(any(table$constant))
    }
  }
})

test_that("stuck chains are distinguished from constant quantities", {
  table <- mixing_table(list(
    same = matrix(1, 100, 2), stuck = cbind(rep(0, 100), rep(1, 100)),
    infinite = matrix(c(-Inf, 1:199), 100)
  ))
  expect_identical(table$constant, c(TRUE, FALSE, FALSE))
  expect_identical(table$rhat, c(NA, Inf, NA))
  expect_lt(table$ess_bulk[[2]], 3)
  expect_identical(
    beyond_thresholds(table, convergence())$variable, c("stuck", "infinite")
  )
  expect_identical(worst_first(table)$variable, c("stuck", "infinite", "same"))
  few <- mixing_table(list(a = matrix(1:6 + 0, 3)))
  expect_true(all(is.na(few[c("ess_bulk", "ess_tail", "rhat")])))
})

test_that("errors of means come from the means of chains and their halves", {
  # Null: means of white noise; an average of 4000 error estimates, each with a
  # relative standard deviation below .45, is within .04 but for 1 in 1e7.
  withr::local_seed(2)
  for (size in list(c(100, 8), c(101, 4), c(203, 2), c(400, 1), c(60, 3))) {
    draws <- matrix(stats::rnorm(prod(size) * 4000), ncol = 4000)
    parts <- ceiling(4 / size[[2]])
    by <- lapply(c(1, 2) * parts, function(parts) {
      used <- size[[1]] %/% parts * parts * size[[2]]
      error <- errors_by_parts(draws, size, parts)
      expect_equal(sqrt(mean(error^2) * used), 1, tolerance = 0.04)
      error
    })
    expect_identical(mean_errors(draws, size), do.call(pmax, by))
  }
  # Chains that are stuck apart, and chains that drift together.
  stuck <- matrix(rep(1:8 + 0, each = 50))
  expect_equal(
    mean_errors(stuck, c(50, 8)), stats::sd(1:8) / sqrt(8) / stats::sd(stuck)
  )
  drift <- matrix(rep(1:100 + 0, 4))
  halves <- rep(c(25.5, 75.5), 4)
  expect_equal(
    mean_errors(drift, c(100, 4)),
    stats::sd(halves) / sqrt(8) / stats::sd(drift)
  )
  expect_identical(mean_errors(matrix(1:3 + 0), c(3, 1)), NA_real_)
  expect_identical(mean_errors(matrix(1:7 + 0), c(7, 1)), NA_real_)
  table <- mixing_table(list("f[1]" = matrix(stats::rnorm(800), 100)))
  expect_equal(prediction_error(table), table$error)
})
