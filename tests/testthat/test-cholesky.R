# The growing and shrinking Cholesky factor against dense algebra in base R.
#
# A script works on A = gain * Phi'Phi + ridge * I with right-hand side b = gain
# * Phi'y + shift * e_1, as a sampler does: columns of Phi come and go, rows are
# added one at a time. R keeps Phi, y and the remaining shift; the check uses
# nothing of the factor's own arithmetic.

#' Dense L, lower triangular, with no pivot below the root of the ridge
dense_factor <- function(a, ridge = 0) {
  p <- nrow(a)
  l <- matrix(0, p, p)
  for (j in seq_len(p)) {
    done <- seq_len(j - 1)
    rest <- seq(j, p)
    column <- a[rest, j] - l[rest, done, drop = FALSE] %*% l[j, done]
    pivot <- sqrt(max(column[1], ridge))
    l[rest, j] <- c(pivot, column[-1] / pivot)
  }
  l
}

dense_problem <- function(phi, y, shift, gain, ridge) {
  p <- ncol(phi)
  list(
    gram = crossprod(phi), a = gain * crossprod(phi) + diag(ridge, p),
    b = gain * drop(crossprod(phi, y)) + shift
  )
}

#' A script whose sizes vary within 0..size, with the dense problem after each
#' operation
random_script <- function(n, size, gain, ridge, columns) {
  phi <- matrix(0, 25, 0)
  y <- stats::rnorm(25)
  shift <- numeric()
  script <- problems <- vector("list", n)
  up <- TRUE
  for (i in seq_len(n)) {
    p <- ncol(phi)
    if (p == size) up <- FALSE
    if (p == 0) up <- TRUE
    weights <- c(
      append = (1 + 4 * up) * (p < size), erase = (1 + 4 * !up) * (p > 0),
      rank_one = 2, factor = 0.15
    )
    op <- sample(names(weights), 1, prob = weights)
    step <- list(op = op)
    if (op == "append") {
      phi <- cbind(phi, columns(nrow(phi)), deparse.level = 0)
      shift <- c(shift, 0)
    } else if (op == "erase") {
      step$i <- sample.int(p, 1)
      phi <- phi[, -step$i, drop = FALSE]
      shift <- shift[-step$i]
    } else if (op == "rank_one") {
      u <- stats::rnorm(p)
      v <- stats::rnorm(1)
      phi <- rbind(phi, u, deparse.level = 0)
      y <- c(y, v)
      step[c("u", "v")] <- list(u * sqrt(gain), v * sqrt(gain))
    } else {
      p <- sample(0:size, 1)
      phi <- matrix(columns(nrow(phi) * p), nrow(phi), p)
      first <- if (p > 0) stats::rnorm(1) else 0
      shift <- c(first, numeric(p))[seq_len(p)]
      step$b <- drop(crossprod(phi, y))
      step$first_shift <- first
    }
    dense <- dense_problem(phi, y, shift, gain, ridge)
    if (op == "append") {
      l <- dense_factor(dense$a, ridge)
      step$h <- l[p + 1, seq_len(p)]
      step$pivot <- l[p + 1, p + 1]
      step$z <- forwardsolve(l, dense$b)[p + 1]
    }
    step$gram <- dense$gram
    script[[i]] <- step
    problems[[i]] <- dense
  }
  list(script = script, problems = problems)
}

#' Largest error relative to the largest entry of the truth
error_of <- function(got, truth) {
  if (length(truth) == 0) {
    return(if (length(got) == 0) 0 else Inf)
  }
  max(abs(got - truth)) / max(abs(truth), .Machine$double.xmin)
}

#' Errors of one reported state: of the factor itself (backward) and of the
#' solutions by it (forward)
state_errors <- function(state, dense) {
  p <- nrow(dense$a)
  l <- dense_factor(dense$a)
  scale <- sqrt(outer(diag(dense$a), diag(dense$a)))
  product <- tcrossprod(state$factor)
  backward <- if (p > 0) max(abs(product - dense$a) / scale) else 0
  c(
    backward = backward, drift = abs(state$drift - backward),
    z = error_of(state$z, if (p > 0) forwardsolve(l, dense$b)),
    inverse = error_of(state$inverse, if (p > 0) forwardsolve(l, diag(p))),
    solution = error_of(state$solution, if (p > 0) solve(dense$a, dense$b)),
    log_determinant = abs(state$half_log_determinant - sum(log(diag(l))))
  )
}

test_that("every operation of a script agrees with dense algebra", {
  for (gain in c(1, 30)) {
    run <- withr::with_seed(1, {
      random_script(400, 40, gain, 0.5, stats::rnorm)
    })
    expect_setequal(
      vapply(run$problems, function(dense) nrow(dense$a), 1L), 0:40
    )
    states <- cholesky_script_cpp(run$script, gain, 0.5)
    errors <- mapply(state_errors, states, run$problems)
    expect_true(all(vapply(states, `[[`, NA, "ok")))
    expect_lt(max(errors["backward", ], errors["drift", ]), 1e-13)
    expect_lt(max(errors), 1e-11)
  }
})

test_that("a rank-one update reports its determinant and residual", {
  run <- withr::with_seed(2, random_script(300, 40, 3, 0.5, stats::rnorm))
  states <- cholesky_script_cpp(run$script, 3, 0.5)
  updates <- which(vapply(run$script, `[[`, "", "op") == "rank_one")
  updates <- updates[updates > 1]
  expect_gt(length(updates), 50)
  error <- vapply(updates, function(i) {
    before <- run$problems[[i - 1]]
    u <- run$script[[i]]$u
    p <- length(u)
    # The update is the density of one more response: log |A_old| - log |A_new|
    # and (v - u'A^-1 b) / sqrt(1 + u'A^-1 u).
    solved <- if (p > 0) solve(before$a, cbind(u, before$b))
    inflate <- if (p > 0) 1 + sum(u * solved[, 1]) else 1
    mean <- if (p > 0) sum(u * solved[, 2]) else 0
    truth <- c(
      -log(inflate) / 2, (run$script[[i]]$v - mean) / sqrt(inflate)
    )
    max(abs(states[[i]]$update - truth))
  }, 0)
  expect_lt(max(error), 1e-11)
})

# Columns of a Gaussian kernel between nearby points: the gram matrix of 40 of
# them has numerical rank about 10.
smooth_columns <- function(n) {
  column <- function() {
    exp(-(seq(-1, 1, length.out = 25) - stats::runif(1, -1, 1))^2 / 2)
  }
  unlist(replicate(ceiling(n / 25), column(), simplify = FALSE))
}

#' As random_script(), without new rows: Phi stays smooth
smooth_script <- function(n, gain, ridge) {
  phi <- matrix(0, 25, 0)
  y <- sin(seq_len(25))
  script <- problems <- list()
  for (i in seq_len(n)) {
    p <- ncol(phi)
    grow <- p < 2 || (i %% 3 > 0 && p < 40)
    step <- list(op = if (grow) "append" else "erase")
    if (!grow) {
      step$i <- sample.int(p, 1)
      phi <- phi[, -step$i, drop = FALSE]
    } else {
      phi <- cbind(phi, smooth_columns(25), deparse.level = 0)
    }
    dense <- dense_problem(phi, y, 0, gain, ridge)
    l <- dense_factor(dense$a, ridge)
    if (grow) {
      step$h <- l[p + 1, seq_len(p)]
      step$pivot <- l[p + 1, p + 1]
      step$z <- forwardsolve(l, dense$b)[p + 1]
    }
    step$gram <- dense$gram
    factor <- list(
      op = "factor", gram = dense$gram, b = drop(crossprod(phi, y)),
      first_shift = 0
    )
    script[[i]] <- list(step, factor)
    problems[[i]] <- dense
  }
  list(
    updates = lapply(script, `[[`, 1), factors = lapply(script, `[[`, 2),
    problems = problems
  )
}

test_that("an ill-conditioned kernel costs no more than its conditioning", {
  # Condition 40 * 25 * gain / ridge = 5e4: ten digits remain.
  run <- withr::with_seed(3, smooth_script(150, 10, 0.2))
  expect_identical(max(vapply(run$problems, function(d) nrow(d$a), 1L)), 40L)
  for (script in run[c("updates", "factors")]) {
    states <- cholesky_script_cpp(script, 10, 0.2)
    errors <- mapply(state_errors, states, run$problems)
    expect_lt(max(errors["backward", ]), 1e-13)
    expect_lt(max(errors), 1e-10)
  }
})

test_that("no pivot of a new factor is below the ridge", {
  # Condition 4e13: rounding moves the smallest pivots by up to 1% of the ridge.
  ridge <- 1e-3
  run <- withr::with_seed(4, smooth_script(150, 1e9, ridge))
  states <- cholesky_script_cpp(run$factors, 1e9, ridge)
  pivots <- unlist(lapply(states, function(s) diag(as.matrix(s$factor))))
  expect_true(all(vapply(states, `[[`, NA, "ok")))
  expect_gte(min(pivots), sqrt(ridge) * (1 - 1e-12))
  expect_lt(max(vapply(states, `[[`, 0, "drift")), 1e-14)
  # A gram matrix that rounding made indefinite: the last Schur complement is
  # about -1e-10.
  gram <- matrix(c(1, 1, 1, 1 - 1e-10), 2)
  script <- list(list(op = "factor", gram = gram, b = 1:2, first_shift = 0))
  state <- cholesky_script_cpp(script, 1, 1e-12)[[1]]
  expect_true(state$ok)
  expect_identical(state$factor[2, 2], 1e-6)
})

test_that("a singular gram matrix does not let rounding grow", {
  # Rounding is 20 times the ridge: its remainder in a dependent column must not
  # be divided repeatedly by a small pivot.
  ridge <- 1e-6
  run <- withr::with_seed(4, smooth_script(150, 1e8, ridge))
  states <- cholesky_script_cpp(run$factors, 1e8, ridge)
  pivots <- unlist(lapply(states, function(s) diag(as.matrix(s$factor))))
  expect_true(all(vapply(states, `[[`, NA, "ok")))
  expect_gte(min(pivots), sqrt(ridge) * (1 - 1e-12))
  expect_lt(max(vapply(states, `[[`, 0, "drift")), 1e-12)
  # z'z explains no more than the total y'y = sum(sin(1:25)^2).
  explained <- vapply(states, function(s) sum(s$z^2), 0)
  expect_lte(max(explained), 1e8 * sum(sin(1:25)^2) * (1 + 1e-8))
})

test_that("the first row, the last and the only one can be erased", {
  phi <- withr::with_seed(5, matrix(rnorm(60), 12))
  y <- cos(1:12)
  for (order in list(c(1, 1, 1, 1, 1), c(5, 4, 3, 2, 1), c(3, 4, 1, 2, 1))) {
    left <- phi
    first <- dense_problem(phi, y, 0, 1, 1)
    script <- list(
      c(first["gram"], list(op = "factor", b = first$b, first_shift = 0))
    )
    problems <- list(first)
    for (i in order) {
      left <- left[, -i, drop = FALSE]
      dense <- dense_problem(left, y, 0, 1, 1)
      script <- c(script, list(c(dense["gram"], list(op = "erase", i = i))))
      problems <- c(problems, list(dense))
    }
    states <- cholesky_script_cpp(script, 1, 1)
    expect_lt(max(mapply(state_errors, states, problems)), 1e-12)
    expect_identical(dim(states[[6]]$factor), c(0L, 0L))
    expect_identical(states[[6]]$half_log_determinant, 0)
  }
})

test_that("a restored factor continues bit by bit", {
  run <- withr::with_seed(6, random_script(200, 30, 2, 0.5, stats::rnorm))
  plain <- cholesky_script_cpp(run$script, 2, 0.5)
  resumed <- list()
  for (i in seq_along(run$script)) {
    l <- as.matrix(plain[[i]]$factor)
    restore <- list(
      op = "restore", gram = run$script[[i]]$gram,
      columns = l[lower.tri(l, TRUE)]
    )
    resumed <- c(resumed, run$script[i], if (i %% 3 == 0) list(restore))
  }
  states <- cholesky_script_cpp(resumed, 2, 0.5)
  restored <- vapply(resumed, `[[`, "", "op") == "restore"
  expect_identical(states[!restored], plain)
  # A restore itself reports no update.
  same <- setdiff(names(plain[[1]]), "update")
  expect_identical(
    lapply(states[restored], `[`, same),
    lapply(plain[seq_along(plain) %% 3 == 0], `[`, same)
  )
})

test_that("drift() detects an inaccurate factor", {
  phi <- withr::with_seed(7, matrix(rnorm(60), 12))
  dense <- dense_problem(phi, cos(1:12), 0, 2, 0.5)
  l <- dense_factor(dense$a)
  l[4, 2] <- l[4, 2] + 1e-6
  script <- list(
    list(op = "factor", gram = dense$gram, b = numeric(5), first_shift = 0),
    list(op = "restore", gram = dense$gram, columns = l[lower.tri(l, TRUE)])
  )
  states <- cholesky_script_cpp(script, 2, 0.5)
  scale <- sqrt(outer(diag(dense$a), diag(dense$a)))
  expect_lt(states[[1]]$drift, 1e-15)
  expect_equal(
    states[[2]]$drift, max(abs(tcrossprod(l) - dense$a) / scale),
    tolerance = 1e-8
  )
  expect_gt(states[[2]]$drift, 1e-8)
})

test_that("a determinant beyond the range of doubles still has its logarithm", {
  gram <- diag(0, 3)
  u <- c(1e151, 1, 1)
  script <- list(
    list(op = "factor", gram = gram, b = numeric(3), first_shift = 0),
    list(op = "rank_one", gram = gram, u = u, v = 1)
  )
  update <- cholesky_script_cpp(script, 1, 1)[[2]]$update
  expect_equal(update[[1]], -log(1e151), tolerance = 1e-14)
})

test_that("ok() is false once a pivot is not a positive number", {
  gram <- diag(2, 3)
  broken <- function(i, j, value) {
    gram[i, j] <- gram[j, i] <- value
    list(op = "factor", gram = gram, b = numeric(3), first_shift = 0)
  }
  sound <- broken(1, 1, 2)
  rank_one <- function(u, v) list(op = "rank_one", gram = gram, u = u, v = v)
  append <- function(pivot) {
    list(op = "append", gram = diag(2, 4), h = numeric(3), pivot = pivot, z = 0)
  }
  erase <- list(op = "erase", gram = diag(2, 2), i = 1)
  ok_of <- function(...) {
    vapply(cholesky_script_cpp(list(...), 1, 1), `[[`, NA, "ok")
  }
  expect_identical(
    ok_of(sound, rank_one(rep(1, 3), 1), append(1)), c(TRUE, TRUE, TRUE)
  )
  for (value in c(NaN, NA, Inf, -Inf)) {
    expect_false(ok_of(broken(2, 2, value)))
    expect_false(ok_of(broken(3, 1, value)))
    b <- list(op = "factor", gram = gram, b = c(0, value, 0), first_shift = 0)
    expect_false(ok_of(b))
    expect_identical(ok_of(sound, rank_one(c(1, value, 1), 1)), c(TRUE, FALSE))
    expect_identical(ok_of(sound, rank_one(rep(1, 3), value)), c(TRUE, FALSE))
  }
  for (pivot in c(NaN, Inf, 0, -1)) {
    expect_identical(ok_of(sound, append(pivot)), c(TRUE, FALSE))
  }
  # It stays false until the next factor.
  expect_identical(
    ok_of(sound, rank_one(c(1, NaN, 1), 1), erase, sound),
    c(TRUE, FALSE, FALSE, TRUE)
  )
})
