# Chains: what is said when they have not come far enough.

# A fit of whose chains only the table of mixing is made up.
warned <- function(rhat, size, iter = 1000, variable = "sigma", tail = size) {
  fit <- structure(
    list(
      status = "complete", runs = list(1, 2),
      mould = list(x_names = c("age", "sex"), levels = NULL),
      control = mcmc_control(iter = iter)
    ),
    class = c("kb_bark", "kb_mcmc", "kb_fit")
  )
  table <- data.frame(
    variable = variable, rhat = rhat, ess_bulk = size, ess_tail = tail,
    constant = FALSE
  )
  local_mocked <- list(chain_mixing = function(fit) table)
  within <- list2env(local_mocked, parent = asNamespace("kernelbayes"))
  environment(warn) <- within
  within$warn_mixing <- warn_mixing
  environment(within$warn_mixing) <- within
  warning <- rlang::catch_cnd(warn(fit, NULL), "kb_warning_convergence")
  if (is.null(warning)) {
    return("")
  }
  gsub("\\s+", " ", cli::ansi_strip(conditionMessage(warning)))
}
warn <- warn_quality.kb_mcmc

test_that("chains that disagree and few draws are told apart", {
  expect_match(warned(1.2, 50), "not mixed well")
  expect_match(warned(1.01, 50), "few independent draws")
  expect_match(warned(1.01, 500, tail = 50), "few independent draws")
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

test_that("the worst of each kind is named, and what that means", {
  names <- c("f[3]", "f[7]", "log_lambda[2]", "delta[1]", "sigma")
  said <- warned(c(1.2, 1.3, 1.8, 1.1, 1), c(50, 60, 9, 40, 500),
    variable = names
  )
  expect_match(said, "4 of 5 quantities", fixed = TRUE)
  expect_match(said, "[2] (log scale of sex): R-hat 1.8", fixed = TRUE)
  expect_match(said, "f[7] (f at row 7): R-hat 1.3", fixed = TRUE)
  expect_match(said, "delta[1] (inclusion of age): R-hat 1.1", fixed = TRUE)
  expect_no_match(said, "f[3]", fixed = TRUE)
  expect_no_match(said, "sigma", fixed = TRUE)
  expect_no_match(said, "n_temps", fixed = TRUE)
  scales <- warned(c(1, 1, 1.8, 1, 1), c(200, 200, 9, 200, 500),
    variable = names
  )
  expect_match(scales, "f mixes: predictions can be used")
  expect_no_match(said, "f mixes")
})
