# Chains: what is said when they have not come far enough.

# A fit of whose chains only the numbers in question are made up.
warned <- function(rhat, size, iter = 1000) {
  fit <- structure(
    list(
      status = "complete", runs = list(),
      control = mcmc_control(iter = iter)
    ),
    class = c("kb_bark", "kb_mcmc", "kb_fit")
  )
  chain <- function(fit) data.frame(rhat = rhat, ess_bulk = size)
  environment(warn) <- list2env(
    list(chain_mixing = chain), parent = asNamespace("kernelbayes")
  )
  warning <- rlang::catch_cnd(warn(fit, NULL), "kb_warning_convergence")
  if (is.null(warning)) "" else cli::ansi_strip(conditionMessage(warning))
}
warn <- warn_quality.kb_mcmc

test_that("chains that disagree and few draws are told apart", {
  expect_match(warned(1.2, 50), "not mixed well")
  expect_match(warned(1.01, 50), "few independent draws")
  expect_no_match(warned(1.01, 50), "not mixed")
  expect_identical(warned(1.01, 100), "")
})

test_that("the iterations that are advised lead to some 400 draws", {
  # 1000 gave 50, so that 7000 more give 350 more.
  expect_match(warned(1.01, 50), "n_iter = 7000)", fixed = TRUE)
  # At least as many again, at most ten times as many.
  expect_match(warned(1.2, 900), "n_iter = 1000)", fixed = TRUE)
  expect_match(warned(2, 4), "n_iter = 10000)", fixed = TRUE)
  expect_match(warned(2, 4, 3e5), "n_iter = 3000000)", fixed = TRUE)
  expect_match(warned(2, NA), "n_iter = 10000)", fixed = TRUE)
})
