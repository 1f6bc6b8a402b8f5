fit_with <- function(ancestry, ...) {
  srvm(y ~ x, sim_sinc(20, seed = 1),
    control = smc_control(30, n_moves = 0, ancestry = ancestry, ...),
    kernel = kernel_gaussian(0.2), seed = 1
  ) |> suppressWarnings()
}

test_that("ancestry() names what was kept", {
  expect_error(ancestry(fit_with("summary")), class = "kb_error_not_defined")
  expect_error(ancestry(lm(1 ~ 1)), class = "kb_error_not_defined")
  expect_named(ancestry(fit_with("genealogy"))[[1]], "ancestors")
  expect_length(ancestry(fit_with("genealogy", replicates = 2)), 2)
})

test_that("the genealogy leads to the founders", {
  fit <- fit_with("genealogy")
  ancestors <- ancestry(fit)[[1]]$ancestors
  expect_identical(dim(ancestors), c(19L, 30L))
  founder <- 1:30
  for (t in 1:19) {
    founder <- founder[ancestors[t, ]]
    expect_identical(length(unique(founder)), ess(fit)$founders[[t + 1]])
    resampled <- !identical(ancestors[t, ], 1:30)
    expect_true(!resampled || ess(fit)$resampled[[t + 1]])
  }
})

test_that("the full history holds every step's weighted sets", {
  fit <- fit_with("full")
  history <- ancestry(fit)[[1]]
  expect_equal(rowSums(history$weights), rep(1, 20))
  expect_equal(1 / rowSums(history$weights^2), ess(fit)$ess)
  expect_equal(
    rowSums(history$weights * history$k), fit$runs[[1]]$path$mean_k
  )
  expect_identical(lengths(history$sets[[20]]), history$k[20, ])
  for (t in 1:20) expect_true(all(unlist(history$sets[[t]]) <= t))
  # Without moves a set is its ancestor's, possibly with the newest row.
  for (t in 2:20) {
    parent <- history$sets[[t - 1]][history$ancestors[t - 1, ]]
    kept <- Map(function(set, old) set[set != t], history$sets[[t]], parent)
    expect_identical(kept, parent)
  }
  last <- history$sets[[20]]
  included <- vapply(1:20, function(row) {
    sum(history$weights[20, vapply(last, function(s) row %in% s, NA)])
  }, 0)
  expect_equal(inclusion(fit)$probability, included)
})
