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

test_that("warnings agree in number and leave out what is unknown", {
  fit <- suppressWarnings(suppressMessages(bark(dist ~ speed, cars,
    control = mcmc_control(chains = 2, warmup = 5, iter = 100), seed = 1
  )))
  poor <- utils::head(worst_first(chain_mixing(fit)), 2)
  poor$ess_tail[[1]] <- NA
  warned <- function(rows) {
    cnd <- rlang::catch_cnd(warn_mixing(fit, poor[rows, ]), "warning")
    gsub("\\s+", " ", conditionMessage(cnd))
  }
  expect_match(warned(1), "1 of [0-9]+ quantities is affected")
  expect_no_match(warned(1), "NA")
  expect_match(warned(1:2), "2 of [0-9]+ quantities are affected")
})
