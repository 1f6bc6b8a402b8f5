# Scales of kernels that vary around common ones, in bark(): the prior, moves by
# one-step invariance, long runs against importance sampling from the prior.

pool_setting <- function(type = "select_different", ...) {
  bark_setting(type, ...,
    own_scales = TRUE, pool = c(-0.5, 0.8, 0.7, 0.9)
  )
}
pool_w <- c(1, 0.1, 5, 1, 2.5)
pool_pairs <- if (extended()) 40000 else 1500

pool_invariance <- function(move, prior, pairs, power = 1, repeats = 4, ...) {
  out <- bark_invariance_cpp(
    prior, five_rows, pool_w, move, repeats, pairs, power, 7, ...
  )
  own <- if (nrow(out$before) > 14) 15:nrow(out$before)
  paired_scores(out, c(if (power == 0) 1:10 else 1:11, own))
}

pool_moves <- c(
  "birth_death", "relocate", "local", "gather", "varphi", "scale_all",
  "scale_any", "scale_refresh", "flip", "swap", "pool", "pool_shift",
  "pool_stretch"
)

test_that("moves leave the joint law with a pool invariant", {
  # Null: nearly standard normal scores, at most 200 per call and 39 calls; |z|
  # > 6.2 somewhere has a probability of 5e-6.
  for (prior in list(
    pool_setting(), pool_setting("different"),
    pool_setting(alpha = 1.5, centre_sd = 0.4)
  )) {
    for (move in pool_moves) {
      z <- pool_invariance(move, prior, pool_pairs)
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
    z <- pool_invariance(move, pool_setting(nu = 6), 4 * pool_pairs, 0, 16)
    expect_lt(max(abs(c(z, 0))), 6.2, label = move)
  }
})
