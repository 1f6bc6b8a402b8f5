# Classes in bark() with the coefficients in the state and latent responses
# integrated out: derivatives, one-step invariance of every move, for two
# classes, ordered ones and fields. Whole chains, of which these moves are a
# part, are compared with importance sampling in test-bark-probit.R,
# test-bark-ordered.R and test-bark-fields.R.
#
# Seen to fail, one mutant at a time:
# - coefficient: no Jacobian; birth: J + 2 for J + 1; copies: no ratio of priors
#   on the way up; relocate, local: no ratio of centre priors; local: no
#   reverse;
# - carried scales: no determinant, no prior of the coefficients, a mode that
#   depends on the state, varphi without copies; ellipse: without the normal
#   distribution in its level;
# - trajectory: no prior of t, the rate of one of several equal scales; its
#   gradient without the amplitude, or with half of a term (energy only);
# - pooled scales: no ratio of priors of a step or a flip; carried scales: a
#   mode that cannot be computed refused after the move, but not before it;
# - return: varphi without copies, latent responses at f / 2; amplitude left out
#   of a step;
# - fields: the response of the last other class for the largest, an upper end
#   that is off by 0.3 (test-bark-fields.R).

open_moves <- function() bark_open_moves_cpp()

ordered_open <- function(...) bark_setting(..., noise_fixed = TRUE)

# Rows ------------------------------------------------------------------------

test_that("probabilities of intervals and their derivatives are right", {
  cases <- rbind(
    c(-Inf, 0, 0.3), c(0, Inf, -2), c(0.2, 1.4, 0.5), c(-1, 1, 6),
    c(0, Inf, -30), c(-Inf, 2, 45), c(3, 3.01, 0), c(0, Inf, 60),
    c(-Inf, 0, 1e4), c(10, 10.5, -20)
  )
  out <- bark_intervals_cpp(cases[, 1], cases[, 2], cases[, 3])
  log_p <- function(lower, upper, f) {
    ends <- c(lower, upper) - f
    if (is.infinite(lower)) return(stats::pnorm(ends[2], log.p = TRUE))
    if (is.infinite(upper)) {
      return(stats::pnorm(ends[1], lower.tail = FALSE, log.p = TRUE))
    }
    if (ends[1] > 0) ends <- -rev(ends)
    logs <- stats::pnorm(ends, log.p = TRUE)
    logs[2] + log1p(-exp(logs[1] - logs[2]))
  }
  exact <- mapply(log_p, cases[, 1], cases[, 2], cases[, 3])
  expect_equal(out[, 1], exact, tolerance = 1e-7)
  h <- 1e-4
  shifted <- function(step) {
    bark_intervals_cpp(cases[, 1], cases[, 2], cases[, 3] + step)
  }
  slope <- (shifted(h)[, 1] - shifted(-h)[, 1]) / (2 * h)
  expect_equal(out[, 2], slope, tolerance = 1e-5)
  curvature <- (shifted(-h)[, 2] - shifted(h)[, 2]) / (2 * h)
  # At 1e4 it is a difference of two numbers of 1e8; only its size matters.
  near <- abs(cases[, 3]) < 100
  expect_lt(max(abs(out[, 3] - curvature)[near]), 1e-4)
  expect_true(all(out[, 3] >= 0 & out[, 3] <= 1))
})

# Trajectories ----------------------------------------------------------------

test_that("trajectories with short steps keep their energy", {
  # A wrong gradient leaves the distribution invariant, but not the energy: its
  # error is then of the order of the length of the path, 0.2, and not of the
  # squared step, 1e-4.
  y <- c(1, 3, 2, 4, 1)
  more <- list(
    list(), list(own_scales = TRUE), list(centre_sd = 0.4),
    list(directions = 2)
  )
  for (type in bark_types) {
    for (shape in more) {
      setting <- do.call(ordered_open, c(list(type, 1, 4), shape))
      p <- bark_open_trajectory_cpp(
        setting, five_rows, y, 0.002, 100, 40, "ordered", 5, 0.4, 3
      )
      label <- paste(type, names(shape))
      expect_gt(length(p), 20)
      expect_gt(stats::quantile(p, 0.1), 0.995, label = label)
    }
  }
})

test_that("without kernels there is no trajectory, and its step stays", {
  fit <- bark_quick(class ~ x1 + x2, bark_data(),
    prior = bark_prior_paper("equal", gamma = 1e-9)
  )
  for (run in fit$runs) {
    expect_identical(run$tried[["trajectory"]], 0)
    step <- lapply(run$levels[[1]]$steps$shared, `[[`, 4)
    expect_identical(step, list(log_length = -2, times = 0L))
  }
})

test_that("only moves that a model has are counted", {
  counted <- function(...) {
    fit <- bark_quick(class ~ x1 + x2, bark_data(),
      prior = bark_prior_paper(...), iter = 5, warmup = 5
    )
    grep("^open_", names(fit$runs[[1]]$tried), value = TRUE)
  }
  common <- paste0("open_", c(
    "coefficient", "birth_death", "relocate", "scale"
  ))
  expect_setequal(
    counted("select_equal"), c(common, "open_local", "open_flip")
  )
  expect_setequal(counted("equal"), c(common, "open_local"))
  expect_setequal(counted("equal", centres = centre_near_rows(0.5)), common)
})

# Moves -----------------------------------------------------------------------

test_that("every move leaves the joint law of two classes invariant", {
  # Null: at most 119 scores per call, each nearly standard normal, 33 calls
  # (88 in the extended suite): |z| > 6 somewhere has a probability of 2e-5 at
  # most.
  cases <- expand.grid(
    move = open_moves(), type = bark_types, amplitude = c(1, 0.2),
    stringsAsFactors = FALSE
  )
  fast <- cases$type == "select_different" & cases$amplitude == 1 |
    cases$type == "select_equal" & cases$amplitude == 0.2 |
    cases$type == "different" & cases$amplitude == 1
  for (i in which(fast | extended())) {
    case <- cases[i, ]
    z <- paired_scores(bark_invariance_cpp(
      probit_setting(case$type, 1), five_rows, rep(1, 5), case$move, 3,
      if (extended()) 60000 else 6000, 1, 7, "probit", case$amplitude
    ))
    expect_lt(max(abs(c(z, 0))), 6, label = paste(case, collapse = " "))
  }
})

test_that("every move leaves the joint law of ordered classes invariant", {
  # Null: at most 189 scores per call, 11 calls: |z| > 6 has probability 5e-6.
  for (move in open_moves()) {
    z <- paired_scores(bark_invariance_cpp(
      ordered_open("select_different", 1), five_rows, rep(1, 5), move, 3,
      if (extended()) 40000 else 3000, 1, 8, "ordered", 0.5, 5
    ))
    expect_lt(max(abs(c(z, 0))), 6, label = move)
  }
})

test_that("places of kernels keep their prior", {
  # Where the classes say nothing: copies at each of six locations. Null: 27
  # nearly standard normal scores per call, 6 calls: |z| > 6 has probability
  # 3e-7.
  rows <- five_rows
  rows[1:2, ] <- rows[3:4, ] + 0.1
  moves <- c("open_birth_death", "open_relocate", "open_local")
  for (weights in list(NULL, c(3, 1, 0.1, 2, 1, 6))) {
    setting <- probit_setting("equal", 1, 2, centre_weights = weights)
    for (move in moves) {
      z <- paired_scores(bark_open_places_cpp(setting, rows, move, 8000, 4))
      expect_lt(max(abs(c(z, 0))), 6,
        label = paste(c(move, weights), collapse = " ")
      )
    }
  }
})

test_that("kernels with many copies leave the joint law invariant", {
  # At locations that are not equally probable, on rows some of which are close
  # together. Null: at most 119 scores per call, 10 calls: |z| > 6 has
  # probability 2e-6.
  moves <- c("open_birth_death", "open_relocate", "open_local",
    "open_carried_scales", "open_ellipse"
  )
  rows <- five_rows
  rows[1:2, ] <- rows[3:4, ] + 0.1
  for (move in moves) {
    cheap <- !grepl("carried|ellipse", move)
    for (shape in list(list(), list(centre_weights = c(3, 1, 0.1, 2, 1, 6)))) {
      setting <- do.call(
        probit_setting, c(list("equal", 1, 8, eps = 1.5), shape)
      )
      z <- paired_scores(bark_invariance_cpp(
        setting, rows, rep(1, 5), move, if (cheap) 25 else 3,
        (if (cheap) 12000 else 4000) * (1 + 5 * extended()), 1, 5, "probit"
      ))
      expect_lt(max(abs(c(z, 0))), 6,
        label = paste(c(move, shape), collapse = " ")
      )
    }
  }
})

test_that("the same with centres that are not rows, own scales, directions", {
  # Null: at most 205 scores per call, 44 calls: |z| > 6.2 has probability 5e-6.
  uneven <- c(3, 1, 0.2, 2, 1, 0.5)
  more <- list(
    list(own_scales = TRUE, centre_weights = uneven),
    list(own_scales = TRUE, centre_sd = 0.4), list(directions = 2),
    list(centre_weights = uneven)
  )
  for (shape in more) {
    setting <- do.call(probit_setting, c(list("select_different", 1), shape))
    for (move in open_moves()) {
      out <- bark_invariance_cpp(
        setting, five_rows, rep(1, 5), move, 3,
        if (extended()) 40000 else 2500, 1, 9, "probit"
      )
      expect_lt(max(abs(c(paired_scores(out), 0))), 6.2,
        label = paste(c(move, names(shape)), collapse = " ")
      )
    }
  }
})

test_that("the same with pooled scales", {
  # Null: at most 434 scores per call, 22 calls: |z| > 6.2 has probability 6e-6.
  for (type in c("different", "select_different")) {
    setting <- probit_setting(type, 1,
      own_scales = TRUE, pool = c(-0.5, 0.8, 0.7, 0.9)
    )
    for (move in open_moves()) {
      out <- bark_invariance_cpp(
        setting, five_rows, rep(1, 5), move, 3,
        if (extended()) 40000 else 2500, 1, 10, "probit"
      )
      expect_lt(max(abs(c(paired_scores(out), 0))), 6.2,
        label = paste(move, type)
      )
    }
  }
})

test_that("modes that cannot be computed are refused on either side", {
  # Columns of rows that are nearly the same, with huge variances: the scale
  # decides whether the Cholesky factor keeps its digits. About a quarter of the
  # proposals lack a mode, one in 20 on one side only. Null: at most 119 scores
  # per call, 2 calls: |z| > 6 has probability 5e-7.
  rows <- five_rows
  rows[1:2, ] <- rows[3:4, ] + 1e-3
  for (move in c("open_carried_scales", "open_ellipse")) {
    z <- paired_scores(bark_invariance_cpp(
      probit_setting("equal", 1, 4, eps = 1e5), rows, rep(1, 5), move, 3,
      if (extended()) 40000 else 12000, 1, 11, "probit"
    ))
    expect_lt(max(abs(c(z, 0))), 6, label = move)
  }
})
