# Scales of kernels that vary around common ones, in bark(): moves by one-step
# invariance, chains of the prior against independent draws, fits.
#
# Seen to fail, one mutant at a time:
# - one kernel: the ratio of densities, or of w, left out; a swapped scale that
#   keeps its value;
# - pool: one kernel too many, means with the wrong precision, no Jacobian or no
#   prior of the spread; shift or stretch without the prior or the Jacobian.

pool_setting <- function(type = "select_different", ...) {
  bark_setting(type, ...,
    own_scales = TRUE, pool = c(-0.5, 0.8, 0.7, 0.9)
  )
}
pool_pairs <- if (extended()) 40000 else 1500

pool_moves <- c(
  "birth_death", "relocate", "local", "varphi", "scale_all", "scale_any",
  "scale_refresh", "flip", "swap", "pool", "pool_shift", "pool_stretch"
)

test_that("moves leave the joint law with a pool invariant", {
  # Null: nearly standard normal scores, at most 200 per call and 39 calls; |z|
  # > 6.2 somewhere has a probability of 5e-6.
  for (prior in list(
    pool_setting(), pool_setting("different"),
    pool_setting(alpha = 1.5, centre_sd = 0.4)
  )) {
    for (move in pool_moves) {
      z <- shape_invariance(move, prior, pool_pairs)
      expect_lt(max(abs(c(z, 0))), 6.2, label = paste(move, prior$type))
    }
  }
})

test_that("moves of scales and the pool leave the prior invariant", {
  # Null: as above; 8 calls. Without the data, moves are quick and their errors
  # are most visible.
  for (move in c(
    "scale_all", "scale_any", "scale_refresh", "flip", "swap", "pool",
    "pool_shift", "pool_stretch"
  )) {
    z <- shape_invariance(move, pool_setting(nu = 6), 4 * pool_pairs, 0, 16)
    expect_lt(max(abs(c(z, 0))), 6.2, label = move)
  }
})

# Fits -------------------------------------------------------------------------

pool_fit <- function(..., iter = 40) {
  suppressWarnings(bark(y ~ ., sim_friedman(30, p = 5, seed = 1),
    prior = bark_prior(own_scales = "pooled"), seed = 1,
    control = mcmc_control(2, 50, iter), ...
  ))
}

test_that("a fit with pooled scales predicts, continues and can be saved", {
  fit <- pool_fit()
  expect_output(print(fit), "scales")
  expect_output(print(bark_prior(own_scales = "pooled")), "around common ones")
  expect_length(predict(fit), 30)
  longer <- pool_fit(iter = 60)
  expect_identical(
    lapply(suppressWarnings(update(fit, iter = 20))$runs, `[[`, "draws"),
    lapply(longer$runs, `[[`, "draws")
  )
  file <- withr::local_tempfile()
  saveRDS(fit, file)
  expect_identical(predict(readRDS(file)), predict(fit))
})

test_that("chains of the prior alone have the law of independent draws", {
  # Null: 6 nearly standard normal scores, |z| > 5.5 with probability 2e-7.
  fit <- pool_fit(prior_only = TRUE, iter = 1500)
  pool <- bark_pool(fit)
  drawn <- withr::with_seed(2, draw_bark_pool(fit, 3000))
  laws <- function(pool) {
    kernel <- rep(pool$location != 0, each = 5)
    included <- pool$own_included == 1 & kernel
    draw <- factor(rep(seq_along(pool$m), 5 * pool$m), seq_along(pool$m))
    sums <- function(v) as.double(tapply(v, draw, sum, default = 0))
    theta <- pool$own_log_lambda / (1 + abs(pool$own_log_lambda))
    n <- pmax(sums(included), 1)
    cbind(
      sums(included), sums(included * theta) / n, sums(included * theta^2) / n
    )
  }
  chain <- laws(pool)
  exact <- laws(drawn)
  se <- apply(chain, 2, function(v) {
    stats::sd(v) / sqrt(posterior::ess_mean(matrix(v, ncol = 2)))
  })
  z <- (colMeans(chain) - colMeans(exact)) /
    sqrt(se^2 + apply(exact, 2, stats::var) / 3000)
  expect_lt(max(abs(z)), 5.5)
})

test_that("priors that pooled scales do not have are refused", {
  for (type in c("equal", "select_equal")) {
    expect_error(bark_prior(type, own_scales = "pooled"),
      class = "kb_error_argument"
    )
  }
  expect_error(bark_prior(own_scales = "pooled", scales = c(1, 1)),
    class = "kb_error_argument"
  )
  for (wrong in list("own", NA, c(TRUE, FALSE), 1)) {
    expect_error(bark_prior(own_scales = wrong), class = "kb_error_argument")
  }
})
