# Kernels of bark() that share scales in clusters: moves by one-step invariance,
# the number of clusters of draws of the prior, fits.
#
# Seen to fail, one mutant at a time: a birth that ignores the concentration; one
# member of a cluster that moves alone; a ratio of priors for each member; leaving
# without the weight of a new cluster, the prior of inclusion, of groups or of the
# Jacobian, the probabilities of a flip and of its input, the shape of an entering
# scale; the concentration without Gamma(c + k).

cluster_setting <- function(type = "select_different", ...) {
  bark_setting(type, ...,
    own_scales = TRUE, concentrations = concentrations
  )
}
cluster_pairs <- if (extended()) 40000 else 1500

cluster_moves <- c(
  "birth_death", "relocate", "local", "varphi", "scale_all", "scale_any",
  "scale_refresh", "scale_pair", "flip", "swap", "cluster", "cluster_leave",
  "concentration"
)

test_that("moves leave the joint law with clusters invariant", {
  # Null: nearly standard normal scores, at most 200 per call and 52 calls; |z|
  # > 6.2 somewhere has a probability of 6e-6.
  for (prior in list(
    cluster_setting(), cluster_setting("different"),
    cluster_setting("select_equal", nu = 4),
    cluster_setting(alpha = 1.5, centre_sd = 0.4)
  )) {
    for (move in cluster_moves) {
      z <- shape_invariance(move, prior, cluster_pairs)
      expect_lt(max(abs(c(z, 0))), 6.2, label = paste(move, prior$type))
    }
  }
})

test_that("moves of clusters leave the prior invariant", {
  # Null: as above; 18 calls. Without the data, moves are quick and their errors
  # are most visible.
  for (prior in list(
    cluster_setting(nu = 6), cluster_setting("equal", nu = 6),
    cluster_setting(nu = 6, groups = list(1L, 2:3))
  )) {
    for (move in c(
      "birth_death", "relocate", "scale_any", "flip", "cluster",
      "cluster_leave"
    )) {
      z <- shape_invariance(move, prior, 4 * cluster_pairs, 0, 16)
      expect_lt(max(abs(c(z, 0))), 6.2, label = paste(move, prior$type))
    }
  }
})

# Fits -------------------------------------------------------------------------

cluster_fit <- function(prior = bark_prior(own_scales = "clustered"), ...) {
  data <- sim_friedman(30, p = 5, seed = 1)
  suppressWarnings(
    bark(y ~ ., data, prior = prior, seed = 1,
      control = mcmc_control(chains = 2, warmup = 40, iter = 40), ...
    ),
    classes = "kb_warning_convergence"
  )
}

test_that("a fit with clusters predicts, continues and can be saved", {
  fit <- cluster_fit()
  expect_true(has_clusters(fit))
  expect_output(print(fit), "of their own or shared")
  expect_true(all(is.finite(predict(fit))))
  expect_equal(sum(importance(fit)$share), 1, tolerance = 1e-8)
  longer <- suppressWarnings(update(fit, iter = 20))
  file <- withr::local_tempfile(fileext = ".rds")
  saveRDS(fit, file)
  again <- suppressWarnings(update(readRDS(file), iter = 20))
  expect_identical(predict(longer), predict(again))
  # Kernels of a draw do share scales.
  pool <- bark_pool(fit)
  scales <- t(matrix(pool$own_log_lambda, 5))
  draw <- rep(seq_along(pool$m), pool$m)
  expect_gt(mean(duplicated(cbind(draw, scales))), 0.1)
})

test_that("independent draws of the prior have the right number of clusters", {
  # Null: nearly standard normal; |z| > 5 has a probability of 6e-7.
  fit <- cluster_fit(prior_only = TRUE)
  fit$settings$prior$nu <- 5
  fit <- sealed(fit)
  set.seed(1)
  drawn <- draw_bark_pool(fit, 4000)
  shares <- function(m, scales) {
    draw <- rep(seq_along(m), m)
    tabulate(draw[!duplicated(cbind(draw, t(scales)))], length(m))
  }
  p <- ncol(fit$data$x)
  clusters <- shares(drawn$m, matrix(drawn$own_log_lambda, p))
  # E of the number of clusters of m kernels, over concentrations (B110).
  expected <- vapply(drawn$m, function(m) {
    mean(vapply(concentrations, function(c) {
      sum(c / (c + seq_len(m) - 1))
    }, 0))
  }, 0)
  z <- mean(clusters - expected) / (sd(clusters - expected) / sqrt(4000))
  expect_lt(abs(z), 5)
})
