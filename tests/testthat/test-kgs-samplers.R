# The samplers of kgs(): prior moments, agreement, arithmetic, resuming.
#
# Seen to fail, one mutant of src/core/kgs at a time:
# - walls: projections of pairs of classes without 1/sqrt(2), their sum with the
#   wrong sign, their inner products twice as large or without the losing class,
#   axes without sign, blocks of columns that begin a row late;
# - ledger: changes blind to a datum's other walls, each wall counted;
# - angle: arcs without length, their middle, the second half like the first or
#   without pi, events at the wrong half, the ledger moved too far;
# - circle: directions not tangent;
# - hmc: energy without 1/2, refraction at the old speed, no kick to other
#   walls, kicks for the time left, only the first block of walls;
# - line: the prior's mean or variance forgotten, energies not updated, widths
#   adapted after the warmup;
# - chain: sides not restored.
# Leaving out the wall just met (its component is 0 and grows), or a second
# projection on the tangent space, changes nothing except rounding.

# Moments of the uniform direction ---------------------------------------------

sphere_features <- function(m = 5) {
  x <- matrix(c(0.2, -1, 0.7, 1.3, 0.1, 0.5, 0.1, -0.9, 0.4, 1.6), 5)
  t(chol(exp(-as.matrix(stats::dist(x))^2 / 2) + 0.5))[seq_len(m), seq_len(m)]
}

#' Largest |z| of second and fourth moments of coordinates
moments_z <- function(w) {
  r <- ncol(w)
  max(abs(c(
    apply(w^2, 2, batch_z, 1 / r), apply(w^4, 2, batch_z, 3 / (r * (r + 2)))
  )))
}

#' A circle sampler of the prior, in plain R
#' @param draw_direction Of length r, not yet tangent.
plain_circle <- function(r, n, draw_direction) {
  w <- matrix(0, n, r)
  at <- c(1, rep(0, r - 1))
  for (i in seq_len(n)) {
    v <- draw_direction()
    v <- v - sum(v * at) * at
    v <- v / sqrt(sum(v^2))
    angle <- stats::runif(1, 0, 2 * pi)
    at <- cos(angle) * at + sin(angle) * v
    w[i, ] <- at
  }
  w
}

test_that("with q = .5 directions are uniform on the sphere", {
  # Null: batch means, t; the 4 standard errors of the specification hold as
  # well.
  data <- kgs_points(sphere_features(), c(1, 0, 1, 1, 0))
  z <- vapply(kgs_walkers, function(method) {
    moments_z(kgs_chain(data, method, kgs_known(0.5), iter = 40000)$w)
  }, 0)
  expect_lt(max(z), batch_limit(3 * 10))
  three <- kgs_points(sphere_features(2), c(0, 2), classes = 3)
  z <- vapply(kgs_walkers, function(method) {
    moments_z(kgs_chain(three, method, kgs_known(2 / 3), iter = 40000)$w)
  }, 0)
  expect_lt(max(z), batch_limit(3 * 12))
})

test_that("the test of moments rejects directions of iid coefficients", {
  features <- sphere_features()
  withr::local_seed(1)
  right <- plain_circle(5, 20000, \() stats::rnorm(5))
  wrong <- plain_circle(5, 20000, \() {
    crossprod(features, stats::rnorm(5))
  })
  expect_lt(moments_z(right), batch_limit(10))
  expect_gt(moments_z(wrong), 2 * batch_limit(10))
})

test_that("with a nugget and q = .5 block draws signs from the prior", {
  features <- sphere_features(3)
  data <- kgs_points(features, c(1, 0, 1))
  draws <- kgs_chain(data, "block", kgs_known(0.5), iter = 1e5, nugget = 0.4)
  sign <- c(1, -1, 1)
  prior <- orthant_prior(tcrossprod(features) + diag(0.4, 3))
  # P(label i is wrong) = 1/2, P(i and j) by arcsine: here the mean squared
  # number of wrong labels.
  wrong <- rowSums(draws$wrong)
  second <- sum(apply(all_patterns(3), 1, function(e) {
    sum(e)^2 * prior(ifelse(e, -sign, sign))
  }))
  expect_lt(abs(batch_z(wrong, 1.5)), batch_limit(2))
  expect_lt(abs(batch_z(wrong^2, second)), batch_limit(2))
})

# Agreement --------------------------------------------------------------------

agreement_data <- function(classes) {
  withr::with_seed(4, {
    x <- matrix(stats::rnorm(36), 18)
    label <- as.integer(cut(
      x[, 1] + 0.3 * x[, 2]^2, if (classes == 2) 2 else c(-9, -0.3, 0.6, 9)
    )) - 1L
    label[c(2, 11)] <- (label[c(2, 11)] + 1L) %% classes
  })
  g <- exp(-as.matrix(stats::dist(x))^2) + 0.5
  root <- suppressWarnings(chol(g, pivot = TRUE))
  order <- attr(root, "pivot")
  kgs_points(unname(t(root)), label[order], classes = classes)
}

test_that("samplers agree on the numbers of wrong labels, rates and votes", {
  # Null: independent chains, differences of means in batch standard errors.
  for (classes in 2:3) {
    data <- agreement_data(classes)
    noise <- list(kind = "beta", a = 1, b = 3)
    summaries <- lapply(kgs_walkers, function(method) {
      iter <- if (method == "hmc") 6000 else if (classes == 2) 30000 else 15000
      draws <- kgs_chain(data, method, noise,
        warmup = 1500, iter = iter, seed = 7
      )
      first <- draws$w[, seq_len(ncol(data$features))]
      f <- tcrossprod(first, data$features)
      cbind(
        rowSums(draws$wrong), draws$wrong[, 1], draws$rates[, 1],
        f[, c(1, 5, 9, 13, 17)] > 0, f[, c(3, 7)]
      )
    })
    by_batch <- lapply(summaries, function(s) {
      n <- nrow(s) %/% 30
      apply(s, 2, function(v) colMeans(matrix(v[seq_len(n * 30)], n)))
    })
    mean_of <- vapply(by_batch, colMeans, numeric(10))
    var_of <- vapply(by_batch, \(b) apply(b, 2, stats::var) / 30, numeric(10))
    z <- (mean_of[, -3] - mean_of[, 3]) / sqrt(var_of[, -3] + var_of[, 3])
    expect_lt(max(abs(z)), batch_limit(2 * length(z), 30))
  }
})

# Arithmetic -------------------------------------------------------------------

test_that("|w| = 1 and f = Phi w to 1e-10 after many steps", {
  for (classes in 2:3) {
    data <- agreement_data(classes)
    for (method in kgs_walkers) {
      # One step before f is computed afresh.
      out <- kgs_chain(data, method, kgs_known(0.02),
        iter = if (classes == 2) 9999 else 1999
      )
      expect_lt(max(abs(rowSums(out$w^2) - 1)), 1e-10)
      g <- out$state$levels[[1]]$g
      if (classes == 2) {
        unit <- data$features / sqrt(rowSums(data$features^2))
        f <- unit %*% g
        expect_lt(max(abs(f - out$state$levels[[1]]$f)) / sqrt(sum(g^2)), 1e-10)
      }
      wrong <- kgs_wrong(data, t(g))
      last <- utils::tail(out$wrong, 1)
      expect_equal(c(last), vapply(
        seq_len(classes) - 1, \(c) sum(wrong[data$label == c]), 0
      ))
      counted <- colMeans(kgs_wrong(data, out$w))
      expect_equal(out$flipped, counted, tolerance = 1e-12)
    }
  }
})

test_that("triangular features of many blocks are correct products", {
  # More rows and columns than any block of the arithmetic.
  x <- withr::with_seed(8, matrix(stats::rnorm(600), 300))
  root <- t(chol(tcrossprod(x) + exp(-as.matrix(stats::dist(x))) + diag(300)))
  root <- rbind(unname(root), root[5, ] + root[290, ])
  label <- as.integer(root[, 1:3] %*% c(1, -0.5, 2) > 0)
  for (classes in 2:3) {
    data <- kgs_points(root, label, classes = classes)
    functions <- if (classes == 2) 1 else classes
    start <- withr::with_seed(9, stats::rnorm(300 * functions))
    for (method in kgs_walkers) {
      engine <- kgs_engine(data, method, kgs_known(0.01),
        iter = 8, start = start
      )
      expect_equal(run_parts(engine, 0)$levels[[1]]$g, start)
      state <- run_parts(engine, 8)
      level <- state$levels[[1]]
      wrong <- kgs_wrong(data, t(level$g))
      counted <- vapply(
        seq_len(classes) - 1, \(c) sum(wrong[data$label == c]), 0
      )
      expect_equal(utils::tail(state$draws$wrong, classes), counted)
      if (classes == 2) {
        f <- drop(root %*% level$g) / sqrt(rowSums(root^2))
        expect_lt(max(abs(f - level$f)) / sqrt(sum(level$g^2)), 1e-10)
      }
    }
  }
})

# Resuming ---------------------------------------------------------------------

test_that("a chain cut anywhere continues bit by bit", {
  # The thirds of the warmup, at which lines are learned, and the refresh at 200
  # lie between cuts.
  cases <- list(
    list(data = agreement_data(2), noise = list(kind = "class", a = 1, b = 2)),
    list(data = agreement_data(3), noise = list(kind = "beta", a = 1, b = 2))
  )
  for (case in cases) {
    methods <- c(kgs_walkers, if (case$data$classes == 2) "block")
    for (method in methods) {
      engine <- kgs_engine(case$data, method, case$noise,
        warmup = 150, iter = 60, thin = 3, nugget = 0.3
      )
      whole <- run_parts(engine, 210)
      same <- vapply(1:209, function(cut) {
        identical(run_parts(engine, c(cut, 210 - cut)), whole)
      }, NA)
      expect_true(all(same))
      expect_identical(run_parts(engine, rep(30, 7)), whole)
    }
  }
})

test_that("lines are learned only in the warmup", {
  # A chain that continued to adapt would have a slightly different law.
  engine <- kgs_engine(agreement_data(2), "coordinate", warmup = 60, iter = 40)
  keep <- c("width", "axes", "seen", "sum", "squares")
  warm <- run_parts(engine, 60)$levels[[1]]$lines
  expect_gt(warm$seen, 0)
  expect_gt(length(warm$axes), 0)
  expect_identical(run_parts(engine, 100)$levels[[1]]$lines[keep], warm[keep])
  expect_false(identical(run_parts(engine, 59)$levels[[1]]$lines$width, warm$width))
})

test_that("a chain starts at the given state", {
  data <- agreement_data(2)
  start <- seq_len(ncol(data$features)) / 10
  state <- run_parts(kgs_engine(data, "hmc", start = start), 0)$levels[[1]]
  expect_identical(state$g, start)
  unit <- data$features / sqrt(rowSums(data$features^2))
  expect_equal(state$f, drop(unit %*% start), tolerance = 1e-14)
})
