# update(n_moves =, particles =): the particles are resampled and moved.

data <- sim_sinc(24, seed = 3)
small <- function(...) {
  settings <- list(particles = 40, n_moves = 3)
  do.call(smc_control, utils::modifyList(settings, list(...)))
}

fit_rows <- function(rows = 1:16, control = small(), ...) {
  few_particles(srvm(y ~ x, data[rows, ],
    kernel = kernel_gaussian(0.3), control = control, seed = 5,
    progress = FALSE, ...
  ))
}

test_that("there are as many particles as requested, with equal weights", {
  fit <- fit_rows()
  expect_gt(diff(range(fit$runs[[1]]$weights)), 0)
  for (n in c(1, 10, 40, 41, 300)) {
    changed <- update(fit, particles = n)
    run <- changed$runs[[1]]
    expect_identical(changed$control$particles, as.integer(n))
    expect_length(run$k, n)
    expect_length(run$draws$noise, n)
    expect_equal(run$weights, rep(1 / n, n))
    expect_identical(run$time, 16L)
    expect_identical(changed$status, "complete")
    expect_identical(
      evidence(changed)$log_evidence, evidence(fit)$log_evidence
    )
    expect_identical(evidence(changed)$path, evidence(fit)$path)
    # They are separate hypotheses, not copies: the variances differ.
    expect_identical(anyDuplicated(run$noise), 0L)
    expect_identical(
      model_size(changed)$k, sort(unique(run$k))
    )
    expect_output(print(changed), paste0("particles: +", n, ", ESS"))
  }
})

test_that("the record of the last row is that of the new particles", {
  fit <- fit_rows()
  changed <- update(fit, particles = 100, n_moves = 5)
  expect_identical(changed$control$n_moves, 5L)
  before <- ess(fit)
  after <- ess(changed)
  expect_identical(after[-16, ], before[-16, ])
  expect_equal(after$ess[[16]], 100)
  expect_equal(after$fraction[[16]], 1)
  expect_equal(before$fraction, before$ess / 40)
  expect_lte(after$founders[[16]], before$founders[[16]])
  expect_equal(diagnostics(changed)$ess_final, 1)
  expect_identical(
    diagnostics(changed)$resamplings, diagnostics(fit)$resamplings + 1L
  )
  path <- changed$runs[[1]]$path
  expect_equal(path$mean_k[[16]], mean(changed$runs[[1]]$k))
  expect_identical(path$mean_k[-16], fit$runs[[1]]$path$mean_k[-16])
  # 100 particles tried at most 5 moves each.
  tried <- sum(path$tried) - sum(fit$runs[[1]]$path$tried)
  expect_gt(tried, 0)
  expect_lte(tried, 500)
  # Later rows are counted by the new number.
  later <- update(changed, newdata = data[17:24, ])
  expect_identical(
    later$runs[[1]]$path$particles, rep(c(40L, 100L), c(15, 9))
  )
  expect_true(all(ess(later)$fraction <= 1 + 1e-12))
  grDevices::pdf(NULL)
  withr::defer(grDevices::dev.off())
  expect_silent(plot(later, type = "ess"))
})

test_that("equal weights need no resampling", {
  changed <- update(fit_rows(), n_moves = 2)
  again <- update(changed, n_moves = 2)
  resamplings <- function(fit) diagnostics(fit)$resamplings
  expect_identical(resamplings(again), resamplings(changed))
  expect_identical(evidence(again)$mc_se, evidence(changed)$mc_se)
  expect_false(identical(again$runs[[1]]$noise, changed$runs[[1]]$noise))
})

test_that("the result depends only on the seed and the calls", {
  grow <- function(fit, ...) update(fit, particles = 200, n_moves = 4, ...)
  one <- grow(fit_rows())
  expect_same_fit(grow(fit_rows()), one)
  expect_same_fit(grow(fit_rows(control = small(threads = 2))), one)
  # With rows in the same call, or in the next one.
  expect_same_fit(
    grow(fit_rows(), newdata = data[17:24, ]),
    update(one, newdata = data[17:24, ])
  )
  # From a file.
  file <- file.path(local_folder(), "fit.rds")
  saveRDS(fit_rows(), file)
  expect_same_fit(grow(readRDS(file)), one)
  saveRDS(one, file)
  expect_same_fit(grow(readRDS(file)), grow(one))
  expect_same_fit(
    update(readRDS(file), newdata = data[17:24, ]),
    update(one, newdata = data[17:24, ])
  )
})

test_that("random numbers are new each time", {
  # From one state, so that only the streams can make a difference.
  fit <- fit_rows()
  engine <- fit_engine(fit)
  config <- c(engine$config, list(replicate = 1L))
  again <- function(count) {
    state <- fit$runs[[1]]
    state$rejuvenations <- count
    srvm_rejuvenate_cpp(config, engine$x, engine$y, state)
  }
  expect_identical(again(0L)$rejuvenations, 1L)
  expect_identical(again(0L)$noise, again(0L)$noise)
  expect_false(any(again(0L)$noise %in% again(1L)$noise))
  expect_false(any(again(0L)$noise %in% again(256L)$noise))
  expect_false(any(again(0L)$draws$noise %in% again(1L)$draws$noise))
})

test_that("update() in any split equals one, after rejuvenation too", {
  changed <- update(fit_rows(1:10), particles = 60, n_moves = 1)
  all <- update(changed, newdata = data[11:24, ])
  for (cut in c(11, 17)) {
    part <- update(changed, newdata = data[11:cut, ])
    expect_same_fit(update(part, newdata = data[(cut + 1):24, ]), all)
  }
  # Between no moves and moves the shared sums differ.
  still <- update(fit_rows(1:10, small(n_moves = 0)), n_moves = 3)
  moving <- update(still, newdata = data[11:24, ])
  expect_gt(sum(moving$runs[[1]]$path$tried), 0)
  stopped <- update(moving, n_moves = 0, particles = 20)
  expect_length(stopped$runs[[1]]$k, 20)
})

test_that("the scaled form is rejuvenated as well", {
  fit <- fit_rows(1:16, prior = srvm_prior(scaled = TRUE))
  changed <- update(fit, particles = 200)
  expect_identical(evidence(changed)$log_evidence, evidence(fit)$log_evidence)
  expect_identical(anyDuplicated(changed$runs[[1]]$draws$noise), 0L)
  later <- update(changed, newdata = data[17:24, ])
  expect_same_fit(
    update(fit, particles = 200, newdata = data[17:24, ]), later
  )
  expect_equal(predict(changed), predict(fit), tolerance = 0.2)
})

test_that("an interrupted fit continues under the new settings", {
  # Two replicates: one at row 10, one not begun.
  fit <- fit_rows(control = small(replicates = 2))
  part <- few_particles(srvm(y ~ x, data[1:10, ],
    control = small(), reference = fit, seed = 5
  ))
  part <- append_rows(part, list(
    x = fit$data$x[11:16, , drop = FALSE], y = fit$data$y[11:16]
  ))
  part$control$replicates <- 2L
  part$runs <- c(part$runs, list(NULL))
  part$status <- "interrupted"
  part <- sealed(part)
  changed <- update(part, particles = 90)
  expect_identical(changed$status, "complete")
  expect_identical(
    changed$runs[[1]]$path$particles, rep(c(40L, 90L), c(9, 7))
  )
  expect_identical(changed$runs[[2]]$path$particles, rep(90L, 16))
  expect_equal(
    ess(changed)$fraction, ess(changed)$ess / rep(c(130, 180), c(9, 7))
  )
  expect_identical(
    evidence(changed)$replicates[[2]],
    evidence(fit_rows(control = small(particles = 90, replicates = 2)))$
      replicates[[2]]
  )
})

test_that("a checkpoint follows", {
  file <- file.path(local_folder(), "fit.rds")
  fit <- fit_rows(control = small(checkpoint = file))
  changed <- update(fit, particles = 60)
  expect_same_fit(read_checkpoint(file), changed)
})

test_that("ancestry is kept for the new particles, whose number is fixed", {
  for (ancestry in c("genealogy", "full")) {
    fit <- fit_rows(control = small(ancestry = ancestry))
    expect_error(update(fit, particles = 41), "ancestry",
      class = "kb_error_argument"
    )
    changed <- update(fit, particles = 40, n_moves = 2)
    changed <- update(changed, newdata = data[17:20, ])
    ancestors <- ancestry(changed)[[1]]$ancestors
    expect_identical(dim(ancestors), c(19L, 40L))
    founder <- 1:40
    for (t in 1:19) {
      founder <- founder[ancestors[t, ]]
      expect_identical(length(unique(founder)), ess(changed)$founders[[t + 1]])
    }
  }
  history <- ancestry(changed)[[1]]
  expect_equal(history$weights[16, ], rep(1 / 40, 40))
  expect_equal(1 / rowSums(history$weights^2), ess(changed)$ess)
  expect_equal(
    rowSums(history$weights * history$k), changed$runs[[1]]$path$mean_k
  )
  expect_identical(lengths(history$sets[[16]]), history$k[16, ])
  # After the first row there are no parents yet.
  one <- suppressWarnings(
    fit_rows(1, small(ancestry = "full")),
    classes = "kb_warning_no_spread"
  )
  one <- update(one, n_moves = 2)
  expect_identical(dim(ancestry(one)[[1]]$ancestors), c(0L, 40L))
})

test_that("bad settings are refused by class", {
  fit <- fit_rows()
  expect_error(update(fit, particles = 0), class = "kb_error_argument")
  expect_error(update(fit, particles = 1.5), class = "kb_error_argument")
  expect_error(update(fit, n_moves = -1), "n_moves",
    class = "kb_error_argument"
  )
  # Bad rows are found before the work begins.
  expect_error(
    update(fit,
      newdata = data.frame(x = NA_real_, y = 1), particles = 50,
      na.action = "fail"
    ),
    class = "kb_error_missing"
  )
})

# Exact answers ----------------------------------------------------------------

kern <- oracle_kernel_gaussian(0.9)
xs <- as.matrix(c(0.3, -1.7, 2.1, -0.4, 1.2, 0.8))
ys <- c(1.05, 0.21, -0.32, 0.86, 0.55, -0.17)
noise <- ig(3, 0.3)
coef <- ig(3, 2)
exact <- oracle_posterior(
  xs, ys, kern, 1.3, 5, "subset", unclass(noise), unclass(coef)
)

fit_exact <- function(seed, control, rows = 1:6) {
  few_particles(srvm(xs[rows, , drop = FALSE], ys[rows],
    kernel = kernel_gaussian(0.9), scale = FALSE,
    prior = srvm_prior(1.3, 5, "subset", noise, coef), control = control,
    seed = seed
  ))
}

# Null: the sampler is unbiased on the natural scale, before and after the
# particles are rejuvenated, so that each z-score is nearly t with 99 degrees of
# freedom: |z| > 6 has probability 3e-8, times 36 scores.
test_that("rejuvenation from few to many particles keeps the posterior", {
  at <- as.matrix(c(-1, 0.5))
  truth <- c(
    sum(as.numeric(names(exact$p_k)) * exact$p_k), exact$p_k[["0"]],
    exact$inclusion, exact$sigma, oracle_predict(exact, at)$mean
  )
  answers <- function(fit) {
    k <- model_size(fit)
    ratio <- exp(evidence(fit)$log_evidence - exact$log_evidence)
    value <- c(
      sum(k$k * k$probability), sum(k$probability[k$k == 0]),
      inclusion(fit)$probability[exact$rows], sigma(fit),
      of_sets(predict(fit, at))
    )
    c(ratio - 1, ratio * (value - truth))
  }
  z_scores <- function(change, n_moves) {
    errors <- vapply(1:100, function(r) {
      fit <- fit_exact(1000 + r, smc_control(60, n_moves, ess_threshold = 0))
      answers(change(fit))
    }, numeric(1 + length(truth)))
    rowMeans(errors) / (apply(errors, 1, stats::sd) / 10)
  }
  # The weights are uneven, and the next steps must account for that.
  uneven <- fit_exact(1, smc_control(60, 0, ess_threshold = 0))
  expect_lt(ess(uneven)$fraction[[6]], 0.8)
  z <- c(
    z_scores(function(fit) update(fit, particles = 500), 0),
    z_scores(function(fit) update(fit, particles = 500, n_moves = 8), 0),
    z_scores(function(fit) update(fit, particles = 25), 4)
  )
  expect_lt(max(abs(z)), 6)
})

# Null: given the particles before it, multinomial resampling leaves the mean of
# the variance's estimate unchanged, for any numbers (Lee and Whiteley, 2018):
# the mean over 400 resamplings of one state is nearly normal. |z| > 6 has
# probability 2e-9 for each of 6 scores.
test_that("the standard error is right when the number changes", {
  change <- function(state, particles, count) {
    state$rejuvenations <- as.integer(count)
    engine$config$particles <- as.integer(particles)
    srvm_rejuvenate_cpp(
      c(engine$config, list(replicate = 1L)), engine$x, engine$y, state
    )
  }
  z_score <- function(state, ...) {
    after <- vapply(1:400, function(count) {
      for (n in c(...)) state <- change(state, n, 1000L * count)
      state$relative_variance
    }, 0)
    (mean(after) - state$relative_variance) / (stats::sd(after) / sqrt(400))
  }
  settings <- list(n_moves = 1, resampling = "multinomial")
  for (every in c(FALSE, TRUE)) {
    fit <- fit_exact(3, do.call(smc_control, c(settings, list(
      particles = 12, resample_every_step = every, ess_threshold = 0
    ))), 1:3)
    engine <- fit_engine(fit)
    state <- fit$runs[[1]]
    expect_true(state$relative_variance != 0)
    expect_lt(abs(z_score(state, 60)), 6)
    expect_lt(abs(z_score(state, 8)), 6)
    expect_lt(abs(z_score(state, 9, 20)), 6)
  }
})

test_that("a single particle has no standard error, before or after", {
  fit <- fit_rows(control = small(particles = 1))
  expect_true(is.na(evidence(fit)$mc_se))
  expect_true(is.na(evidence(update(fit, particles = 50))$mc_se))
  expect_true(is.na(evidence(update(fit_rows(), particles = 1))$mc_se))
})
