# Chains of bark() without data must give back the prior.
#
# Seen to fail: sweeps with as many moves as the state has slots (z -7 to -10
# for J; every move alone is right, and fewer than 4 slots hide it), flips that
# leave the full set too rarely, without their densities or with a_p for b_p,
# births with J for J + 1.

extended <- identical(Sys.getenv("KERNELBAYES_EXTENDED_TESTS"), "true")

prior_only_scores <- function(type, alpha) {
  more <- if (bark_selects(type)) list(selection = c(1.5, 1))
  prior <- do.call(bark_prior, c(list(type,
    alpha = alpha, n_kernels = 12, discrepancy = 3, scales = c(1.2, 0.8),
    noise = noise_gamma(3, 0.5)
  ), more))
  fit <- prior_only_fit(prior, iter = if (extended) 60000 else 4000)
  c(kernel_prior_scores(fit), scale_prior_scores(fit))
}

test_that("chains of the prior alone have its laws", {
  # Null: nearly standard normal scores, at most 29 a setting, 8 settings:
  # |z| > 5.5 somewhere has probability 1e-5.
  for (type in bark_types) {
    for (alpha in c(1, 1.5)) {
      z <- prior_only_scores(type, alpha)
      expect_lt(max(abs(z)), 5.5, label = paste(
        names(which.max(abs(z))), type, alpha
      ))
    }
  }
})
