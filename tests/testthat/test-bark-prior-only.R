# Chains of bark() without data must give back the prior.
#
# Seen to fail: sweeps with as many moves as the state has slots (z -7 to -10
# for J; every single move is right, and fewer than 4 slots hide it), flips that
# leave the full set too rarely, without their densities or with a_p for b_p,
# births with J for J + 1; moves to near rows without the ratio of proposals.

prior_only_scores <- function(type, alpha) {
  more <- if (bark_selects(type)) list(selection = c(1.5, 1))
  prior <- do.call(bark_prior_paper, c(list(type,
    alpha = alpha, n_kernels = 12, discrepancy = 3, scales = c(1.2, 0.8),
    noise = noise_gamma(3, 0.5)
  ), more))
  fit <- prior_only_fit(prior, iter = if (extended()) 60000 else 4000)
  c(kernel_prior_scores(fit), scale_prior_scores(fit))
}

test_that("chains of the prior alone have its laws", {
  # Null: nearly standard normal scores, at most 29 per setting, 8 settings: |z|
  # > 5.5 somewhere has probability 1e-5.
  for (type in bark_types) {
    for (alpha in c(1, 1.5)) {
      z <- prior_only_scores(type, alpha)
      expect_lt(max(abs(z)), 5.5, label = paste(
        names(which.max(abs(z))), type, alpha
      ))
    }
  }
})

test_that("kernels do not prefer rows with near neighbours", {
  # Five rows close together and one apart. Null: one score per location, |z| >
  # 5.5 in 14 of them.
  x <- matrix(c(-2.5, -0.3, -0.1, 0, 0.1, 0.3))
  for (alpha in c(1, 1.5)) {
    fit <- bark(x, sin(x[, 1]),
      prior = bark_prior_paper("equal",
        alpha = alpha, n_kernels = 2, discrepancy = 1, scales = c(20, 20)
      ),
      prior_only = TRUE, scale = FALSE, seed = 1,
      control = mcmc_control(2, 100, 8000)
    )
    z <- vapply(0:6, function(at) {
      copies <- slot_sums(fit, function(d) d$copies * (d$location == at))
      mean_score(copies, 2 / 7)
    }, 0)
    expect_lt(max(abs(z)), 5.5, label = paste("score at alpha", alpha))
  }
})
