# The oracle is checked against itself by independent means: other formulas,
# nested adaptive quadrature, closed forms and identities.

kern <- oracle_kernel_gaussian(.9)
x7 <- c(.3, -1.7, 2.1, -.4, 1.2, -2.6, .8)
x7_dup <- c(.3, -1.7, .3, 2.1, -.4, 1.2, -1.7)
y7 <- c(1.05, .21, -.32, .86, .55, -.17, .71)
psi <- list(sigma2 = .15, tau2 = .6)

model7 <- function(x = x7, kmax = 5, centres = "subset", lambda = 1.3, ...) {
  oracle_model(x, y7, kern, lambda, kmax, centres, psi$sigma2, psi$tau2, ...)
}

#' Worst defect and tv of a transition over steps
worst <- function(transition, model, steps = 1:7) {
  res <- vapply(steps, function(t) {
    step <- function(S_prev, t) transition(S_prev, t, model)
    unlist(oracle_transition_defect(
      step,
      t = t, kmax = model$kmax, model = model
    )[c("defect", "tv", "prob")])
  }, numeric(3))
  apply(res, 1, max)
}

cases <- expand.grid(
  kmax = c(5, 2, 0), centres = c("subset", "iid"), dup = c(FALSE, TRUE),
  stringsAsFactors = FALSE
)
each_case <- function(f, cases) {
  for (i in seq_len(nrow(cases))) {
    case <- cases[i, ]
    f(
      model7(if (case$dup) x7_dup else x7, case$kmax, case$centres),
      paste(names(case), unlist(case), collapse = ", "), case
    )
  }
}

nbinom <- function(k) stats::dnbinom(k, 2, .4, log = TRUE)

test_that("subsets, candidates and small utilities are right", {
  expect_length(enumerate_subsets(7, 5), sum(choose(7, 0:5)))
  expect_equal(enumerate_subsets(3, 9)[[8]], 1:3)
  expect_identical(enumerate_subsets(4, 0), list(integer(0)))
  expect_identical(enumerate_subsets(0, 5), list(integer(0)))
  expect_identical(enumerate_subsets(1, 5), list(integer(0), 1L))
  cand <- oracle_candidates(x7_dup)
  expect_identical(cand$rows, c(1L, 2L, 4L, 5L, 6L))
  expect_identical(cand$id, c(1L, 2L, 1L, 3L, 4L, 5L, 2L))
  expect_identical(cand$m, c(1L, 2L, 2L, 3L, 4L, 5L, 5L))
  expect_equal(weighted_tv(c(a = .5, b = .5), c("a", "c", "a")), .5)
  expect_equal(weighted_tv(c(a = .5, b = .5), c("a", "b"), c(3, 1)), .25)
  expect_equal(mc_z(c(1, 2), c(.5, 0), c(2, 2)), c(-2, 0))
})

test_that("the priors of sets sum to one", {
  for (centres in c("subset", "iid")) {
    for (lambda in list(.4, 8, nbinom)) for (kmax in c(0, 2, 5, 9)) {
      total <- vapply(0:7, function(m) {
        k <- lengths(enumerate_subsets(m, kmax))
        sum(exp(oracle_log_prior_set(k, m, lambda, kmax, centres)))
      }, 0)
      expect_equal(total, rep(1, 8), tolerance = 1e-13)
    }
  }
  expect_equal(
    exp(oracle_log_prior_set(0:3, 4, 2, 2)),
    c(1, 2, 2, 0) / 5 / choose(4, 0:3)
  )
  d <- sum(choose(4, 0:2) * .5^(0:2))
  expect_equal(
    exp(oracle_log_prior_set(0:3, 4, 2, 2, "iid")), c(1, .5, .25, 0) / d
  )
})

test_that("log ml agrees with the p x p formula of the package", {
  K <- kern(x7, x7)
  p_by_p <- function(S, s2, t2, intercept) {
    phi <- oracle_design(K, S, intercept)
    p <- ncol(phi)
    L <- t(chol(crossprod(phi) / s2 + diag(p) / t2))
    z <- forwardsolve(L, crossprod(phi, y7)) / s2
    -7 / 2 * log(2 * pi * s2) - sum(y7^2) / (2 * s2) + sum(z^2) / 2 -
      sum(log(diag(L))) - p / 2 * log(t2)
  }
  sets <- enumerate_subsets(7, 7)[-1]
  for (intercept in c(TRUE, FALSE)) {
    exact <- vapply(sets, function(S) {
      oracle_log_ml(y7, K, S, .15, .6, intercept)
    }, 0)
    spectral <- vapply(sets, function(S) {
      sp <- oracle_spectrum(y7, oracle_design(K, S, intercept))
      oracle_spectrum_log_ml(sp, .15, .6)
    }, 0)
    expect_equal(spectral, exact, tolerance = 1e-12)
    p_route <- vapply(sets, p_by_p, 0, .15, .6, intercept)
    expect_equal(p_route, exact, tolerance = 1e-12)
  }
  expect_equal(
    oracle_log_ml(y7, K, integer(0), .15, .6, FALSE),
    sum(stats::dnorm(y7, 0, sqrt(.15), log = TRUE))
  )
  expect_identical(oracle_log_ml(numeric(0), K[0, ], integer(0), 1, 1), 0)
})

test_that("the adapted proposal is exact and its broken variants are not", {
  each_case(function(model, label, case) {
    res <- worst(oracle_transition_adapted, model)
    expect_lt(res[["defect"]], 1e-12, label = label)
    expect_lt(res[["prob"]], 1e-14, label = label)
    for (broken in c("no_c", "no_choose", "ml")) {
      res <- worst(function(S_prev, t, model) {
        oracle_transition_adapted(S_prev, t, model, broken)
      }, model)
      # without centres there is nothing to forget
      if (case$kmax == 0) {
        expect_lt(res[["defect"]], 1e-12, label = paste(broken, label))
      } else {
        expect_gt(res[["defect"]], 1e-3, label = paste(broken, label))
      }
      # a constant factor is visible only in the defect (and in log Z)
      if (broken == "no_c") expect_lt(res[["tv"]], 1e-12, label = label)
    }
  }, cases)
})

test_that("birth/death is exact with corrected weights, not as printed", {
  each_case(function(model, label, case) {
    for (c in c(.25, .5)) {
      res <- worst(function(S_prev, t, model) {
        oracle_transition_birth_death(S_prev, t, model, c)
      }, model)
      expect_lt(res[["defect"]], 1e-12, label = label)
      expect_lt(res[["prob"]], 1e-14, label = label)
    }
    if (case$kmax == 0) {
      return()
    }
    for (forced in c(TRUE, FALSE)) {
      res <- worst(function(S_prev, t, model) {
        oracle_transition_paper(S_prev, t, model, forced = forced)
      }, model)
      expect_gt(res[["defect"]], 1e-3, label = label)
      expect_gt(res[["tv"]], .1, label = label)
      expect_lt(res[["prob"]], 1e-14, label = label)
    }
  }, cases)
})

test_that("any p(k), many and few centres, and no intercept are exact too", {
  for (centres in c("subset", "iid")) for (lambda in list(.3, 6, nbinom)) {
    model <- model7(x7_dup, 3, centres, lambda, intercept = FALSE)
    expect_lt(worst(oracle_transition_adapted, model)[["defect"]], 1e-12)
    expect_lt(worst(oracle_transition_birth_death, model)[["defect"]], 1e-12)
  }
})

test_that("mass outside the support, or a lost state, is a defect", {
  model <- model7(kmax = 2)
  outside <- function(S_prev, t) {
    oracle_states(list(S_prev, 1:3), log(c(.5, .5)), c(0, 0))
  }
  expect_identical(
    oracle_transition_defect(outside, t = 3, kmax = 2, model = model)$defect,
    Inf
  )
  lost <- function(S_prev, t) oracle_states(list(S_prev), 0, 0)
  expect_gte(
    oracle_transition_defect(lost, t = 3, kmax = 2, model = model)$defect, 1
  )
  by_data <- oracle_transition_defect(
    function(S, t) oracle_transition_adapted(S, t, model), x7, y7, 3, 1.3, 2,
    "subset", psi$sigma2, psi$tau2, kern
  )
  expect_lt(by_data$defect, 1e-12)
})

test_that("the closed-form birth/death weights are the general law", {
  closed <- function(S, S_prev, t, model, c, lambda) {
    k <- length(S)
    k_prev <- length(S_prev)
    iid <- model$centres == "iid"
    up <- function(k, top) if (k < top) c * min(1, lambda / (k + 1)) else 0
    down <- function(k) c * min(1, k / lambda)
    stay <- (1 - down(k) - up(k, min(model$kmax, t - 1))) /
      (1 - down(k_prev) - up(k_prev, model$kmax))
    # subset -> iid: the ratio of the two prior ratios
    fix <- if (!iid) 1 else ((t - 1)^k_prev / t^k) /
      (exp(lfactorial(t - k) + lfactorial(t - 1) - lfactorial(t) -
        lfactorial(t - 1 - k_prev)))
    norm <- function(m) oracle_log_norm(m, lambda, model$kmax, model$centres)
    fix * exp(norm(t - 1) - norm(t)) * exp(oracle_log_dl(S, S_prev, t, model)) *
      if (t %in% S) (t - k_prev) / t * max(lambda, k) / c
      else if (k == k_prev) (t - k) / t * stay
      else if (k > k_prev) (t - k_prev) / t
      else (t - k) / t
  }
  for (centres in c("subset", "iid")) for (lambda in c(.5, 1.3, 4)) {
    model <- model7(kmax = 4, centres = centres, lambda = lambda)
    for (t in c(1, 2, 5, 6)) {
      error <- vapply(enumerate_subsets(t - 1, 4), function(S_prev) {
        nx <- oracle_transition_birth_death(S_prev, t, model, .4)
        spec <- vapply(nx$set, closed, 0, S_prev, t, model, .4, lambda)
        max(abs(exp(nx$log_weight) / spec - 1))
      }, 0)
      expect_lt(max(error), 1e-12)
    }
  }
})

test_that("on a repeated x birth/death loses the factors in t", {
  for (centres in c("subset", "iid")) {
    model <- model7(x7_dup, 4, centres)
    for (t in c(3, 7)) {
      m <- model$m[t]
      error <- vapply(enumerate_subsets(m, 4), function(S_prev) {
        nx <- oracle_transition_birth_death(S_prev, t, model)
        by <- lengths(nx$set) - length(S_prev)
        iid <- centres == "iid"
        fix <- ifelse(iid & by == 1, (m - length(S_prev)) / m,
          ifelse(iid & by == -1, m / (m - lengths(nx$set)), 1))
        dl <- vapply(nx$set, oracle_log_dl, 0, S_prev, t, model)
        max(abs(exp(nx$log_weight - dl) / fix - 1))
      }, 0)
      expect_lt(max(error), 1e-12)
    }
  }
})

test_that("in the scaled form the noise is integrated out of log ml", {
  K <- kern(x7, x7)
  noise <- list(shape = 1.5, scale = 0.2)
  ratio <- 4
  for (S in list(integer(0), 3L, c(1L, 4L, 6L))) {
    for (intercept in c(TRUE, FALSE)) {
      exact <- oracle_log_ml_scaled(y7, K, S, noise, ratio, intercept)
      given <- function(u) {
        vapply(exp(u), function(s2) {
          exp(oracle_log_ml(y7, K, S, s2, s2 * ratio, intercept) - exact) *
            exp(1.5 * log(0.2) - lgamma(1.5) - 1.5 * log(s2) - 0.2 / s2)
        }, 0)
      }
      expect_equal(
        stats::integrate(given, -12, 12, rel.tol = 1e-10)$value, 1,
        tolerance = 1e-9
      )
      # The p x p formula of the specification.
      phi <- oracle_design(K, S, intercept)
      p <- ncol(phi)
      if (p == 0) next
      L <- t(chol(crossprod(phi) + diag(p) / ratio))
      z <- forwardsolve(L, crossprod(phi, y7))
      rest <- sum(y7^2) - sum(z^2)
      p_by_p <- -7 / 2 * log(2 * pi) - p / 2 * log(ratio) - sum(log(diag(L))) +
        1.5 * log(0.2) - lgamma(1.5) + lgamma(5) - 5 * log(0.2 + rest / 2)
      expect_equal(exact, p_by_p, tolerance = 1e-12)
    }
  }
})

test_that("the proposals are exact in the scaled form too", {
  for (centres in c("subset", "iid")) for (x in list(x7, x7_dup)) {
    model <- oracle_model(x, y7, kern, 1.3, 5, centres,
      list(shape = 1.5, scale = 0.2), 4,
      scaled = TRUE
    )
    expect_lt(worst(oracle_transition_adapted, model)[["defect"]], 1e-12)
    expect_lt(worst(oracle_transition_birth_death, model)[["defect"]], 1e-12)
    expect_gt(worst(oracle_transition_paper, model)[["tv"]], 0.05)
  }
})

# Quadrature -----------------------------------------------------------------

posterior <- function(x, y, lambda = 1.3, kmax = 5, centres = "subset",
                      noise = list(shape = 1, scale = .01),
                      coef = list(shape = 1, scale = .5), ...) {
  oracle_posterior(x, y, kern, lambda, kmax, centres, noise, coef, ...)
}

test_that("at fixed psi the posterior is a direct sum over subsets", {
  s2 <- .15
  t2 <- .6
  fixed <- function(v) list(fixed = v)
  x_new <- c(-1, .5)
  for (centres in c("subset", "iid")) for (x in list(x7, x7_dup)) {
    post <- posterior(x, y7, 1.3, 5, centres, fixed(s2), fixed(t2))
    model <- model7(x, 5, centres)
    lg <- vapply(post$sets, oracle_log_gamma, 0, t = 7, model = model)
    expect_equal(post$log_evidence, log(sum(exp(lg))), tolerance = 1e-12)
    p <- exp(lg) / sum(exp(lg))
    expect_equal(unname(post$p_set), p, tolerance = 1e-12)
    # mean and variance of f by the dense normal formulas
    moments <- vapply(post$sets, function(S) {
      phi <- oracle_design(model$K, S)
      phi_new <- oracle_design(kern(x_new, post$centre_x), S)
      C <- s2 * diag(7) + t2 * tcrossprod(phi)
      cross <- t2 * tcrossprod(phi_new, phi)
      c(cross %*% solve(C, y7), diag(t2 * tcrossprod(phi_new) -
        cross %*% solve(C, t(cross))))
    }, numeric(4))
    mean <- drop(moments[1:2, ] %*% p)
    var <- drop((moments[3:4, ] + moments[1:2, ]^2) %*% p) - mean^2
    pred <- oracle_predict(post, x_new)
    expect_equal(pred$mean, mean, tolerance = 1e-11)
    expect_equal(pred$var_f, var, tolerance = 1e-10)
    expect_equal(pred$var_y, var + s2, tolerance = 1e-10)
  }
})

test_that("doubling the grid leaves more than eight digits", {
  figures <- function(...) {
    post <- posterior(x7[1:5], y7[1:5], ...)
    pred <- oracle_predict(post, c(-1, .5), c(.1, .9))
    list(
      z = exp(post$log_evidence), k = post$p_k, inc = post$inclusion,
      psi = c(post$sigma2, post$sigma, post$tau2), pred = unlist(pred)
    )
  }
  base <- figures(kmax = 3)
  expect_equal(figures(kmax = 3, refine = 2), base, tolerance = 1e-10)
  expect_equal(figures(kmax = 3, tail = 40), base, tolerance = 1e-10)
  sharp <- list(shape = 60, scale = 9)
  for (centres in c("subset", "iid")) {
    expect_equal(
      figures(kmax = 2, noise = sharp, coef = sharp, refine = 2),
      figures(kmax = 2, noise = sharp, coef = sharp),
      tolerance = 1e-10
    )
  }
})

test_that("the evidence agrees with nested adaptive quadrature", {
  x <- x7[1:2]
  y <- y7[1:2]
  K <- kern(x, x)
  ig <- function(v, p) {
    exp(p$shape * log(p$scale) - lgamma(p$shape) - (p$shape + 1) * log(v) -
      p$scale / v)
  }
  line <- function(f, lo, hi) {
    stats::integrate(f, lo, hi, rel.tol = 1e-9, subdivisions = 500L)$value
  }
  noise <- list(shape = 3, scale = .5)
  coef <- list(shape = 2.5, scale = 1)
  by_set <- vapply(enumerate_subsets(2, 1), function(S) {
    inner <- function(u) {
      s2 <- exp(u)
      s2 * ig(s2, noise) * line(function(w) {
        ml <- vapply(exp(w), function(t2) oracle_log_ml(y, K, S, s2, t2), 0)
        exp(ml + w) * ig(exp(w), coef)
      }, -5, 11)
    }
    line(function(u) vapply(u, inner, 0), -6, 9)
  }, 0)
  lp <- oracle_log_prior_set(c(0, 1, 1), 2, 1.3, 1)
  post <- posterior(x, y, 1.3, 1, "subset", noise, coef)
  expect_equal(post$log_evidence, log(sum(by_set * exp(lp))), tolerance = 1e-9)
  expect_equal(
    unname(post$p_set), by_set * exp(lp) / sum(by_set * exp(lp)),
    tolerance = 1e-9
  )
})

test_that("without coefficients everything is Student-t", {
  post <- posterior(
    x7, y7,
    kmax = 0, noise = list(shape = 1.5, scale = .2),
    coef = list(shape = 3, scale = .5), intercept = FALSE
  )
  a <- 1.5 + 7 / 2
  b <- .2 + sum(y7^2) / 2
  expect_equal(
    post$log_evidence,
    1.5 * log(.2) - lgamma(1.5) + lgamma(a) - a * log(b) - 3.5 * log(2 * pi),
    tolerance = 1e-10
  )
  expect_equal(post$sigma2, b / (a - 1), tolerance = 1e-10)
  expect_equal(
    post$sigma, sqrt(b) * exp(lgamma(a - .5) - lgamma(a)),
    tolerance = 1e-10
  )
  expect_equal(post$tau2, .5 / (3 - 1), tolerance = 1e-10) # its prior
  v <- c(-1, .1, 2)
  pred <- oracle_predict(post, c(0, 0, 0), v)
  scale <- sqrt(b / a)
  expect_equal(
    pred$density, stats::dt(v / scale, 2 * a) / scale,
    tolerance = 1e-10
  )
  expect_equal(pred$cdf, stats::pt(v / scale, 2 * a), tolerance = 1e-10)
  expect_equal(pred$var_y, rep(b / (a - 1), 3), tolerance = 1e-10)
})

test_that("one fixed variance leaves one integral", {
  fixed <- list(fixed = .3)
  ml <- function(s2, t2) {
    stats::dnorm(y7[1], 0, sqrt(s2 + t2))
  }
  dig <- function(v, a, b) b^a / gamma(a) * v^(-a - 1) * exp(-b / v)
  by_line <- function(f) {
    stats::integrate(function(u) f(exp(u)) * exp(u), -12, 40,
      rel.tol = 1e-11, subdivisions = 500L)$value
  }
  coef_only <- posterior(x7[1], y7[1], kmax = 0, noise = fixed)
  expect_equal(
    exp(coef_only$log_evidence),
    by_line(function(v) ml(.3, v) * dig(v, 1, .5)),
    tolerance = 1e-9
  )
  expect_equal(coef_only$sigma2, .3)
  noise_only <- posterior(x7[1], y7[1], kmax = 0, coef = fixed)
  expect_equal(
    exp(noise_only$log_evidence),
    by_line(function(v) ml(v, .3) * dig(v, 1, .01)),
    tolerance = 1e-9
  )
  expect_equal(noise_only$tau2, .3)
})

test_that("probabilities add up, and predictions fit the evidence", {
  for (centres in c("subset", "iid")) for (x in list(x7[1:6], x7_dup[1:6])) {
    y <- y7[1:6]
    post <- posterior(x, y, 1.3, 4, centres)
    expect_equal(sum(post$p_set), 1, tolerance = 1e-12)
    expect_equal(sum(post$p_k), 1, tolerance = 1e-12)
    k <- as.integer(names(post$p_k))
    expect_equal(sum(post$inclusion), sum(k * post$p_k), tolerance = 1e-12)
    expect_length(post$inclusion, length(unique(x)))
    # a repeated x adds no candidate: p(y* | y) = Z_{t+1} / Z_t
    next_z <- posterior(c(x, x[2]), c(y, .4), 1.3, 4, centres)$log_evidence
    pred <- oracle_predict(post, x[2], .4)
    expect_equal(
      pred$density, exp(next_z - post$log_evidence),
      tolerance = 1e-9
    )
  }
})

test_that("moments of sigma2 are ratios of evidences", {
  z <- function(a) {
    posterior(x7[1:5], y7[1:5], noise = list(shape = a, scale = .1))
  }
  post <- z(2.5)
  ratio <- function(d) {
    exp(d * log(.1) + lgamma(2.5 - d) - lgamma(2.5) +
      z(2.5 - d)$log_evidence - post$log_evidence)
  }
  expect_equal(post$sigma2, ratio(1), tolerance = 1e-9)
  expect_equal(post$sigma, ratio(.5), tolerance = 1e-9)
})

test_that("the predictive density, cdf and moments belong together", {
  post <- posterior(x7[1:4], y7[1:4], kmax = 2)
  at <- function(v) oracle_predict(post, rep(.5, length(v)), v)
  ends <- at(c(-.5, .7))
  mass <- stats::integrate(function(v) at(v)$density, -.5, .7,
    rel.tol = 1e-9)$value
  expect_equal(mass, diff(ends$cdf), tolerance = 1e-8)
  expect_lt(at(-50)$cdf, 1e-4)
  expect_gt(at(50)$cdf, 1 - 1e-4)
  # f is less uncertain than y about the same centre
  spread <- at(ends$mean[1] + c(-1, 1))
  expect_gt(diff(spread$cdf_f), diff(spread$cdf))
  expect_equal(ends$var_y - ends$var_f, rep(post$sigma2, 2))
})

test_that("without data the prior is returned", {
  post <- posterior(matrix(0, 0, 1), numeric(0))
  expect_equal(post$log_evidence, 0, tolerance = 1e-9)
  expect_equal(unname(post$p_k), 1, tolerance = 1e-9)
})

test_that("the scaled form of the spec is a one-dimensional integral", {
  K <- kern(x7, x7)
  a <- 1.5
  b <- .2
  tau <- 2
  for (S in list(integer(0), 2L, c(1L, 4L, 6L))) {
    phi <- oracle_design(K, S)
    p <- ncol(phi)
    L <- t(chol(crossprod(phi) + diag(p) / tau))
    z <- forwardsolve(L, crossprod(phi, y7))
    R <- sum(y7^2) - sum(z^2)
    closed <- -3.5 * log(2 * pi) - p / 2 * log(tau) - sum(log(diag(L))) +
      a * log(b) - lgamma(a) + lgamma(a + 3.5) - (a + 3.5) * log(b + R / 2)
    line <- stats::integrate(function(u) {
      vapply(exp(u), function(s2) {
        exp(oracle_log_ml(y7, K, S, s2, tau * s2) + a * log(b) - lgamma(a) -
          a * log(s2) - b / s2)
      }, 0)
    }, -6, 8, rel.tol = 1e-10, subdivisions = 500L)$value
    expect_equal(log(line), closed, tolerance = 1e-9)
  }
})

test_that("in the scaled form the quadrature reduces to one dimension", {
  # The noise integrated out in closed form, the ratio by integrate().
  noise <- list(shape = 2, scale = 0.2)
  coef <- list(shape = 1.5, scale = 3)
  post <- posterior(x7[1:5], y7[1:5], noise = noise, coef = coef, scaled = TRUE)
  K <- kern(x7[1:5], x7[1:5])
  direct <- vapply(post$sets, function(S) {
    stats::integrate(function(u) {
      vapply(exp(u), function(ratio) {
        exp(
          oracle_log_ml_scaled(y7[1:5], K, S, noise, ratio) +
            1.5 * log(3) - lgamma(1.5) - 1.5 * log(ratio) - 3 / ratio
        )
      }, 0)
    }, -6, 30, rel.tol = 1e-10, subdivisions = 500)$value
  }, 0)
  prior <- exp(oracle_log_prior_set(lengths(post$sets), 5, 1.3, 5))
  expect_equal(post$log_evidence, log(sum(prior * direct)), tolerance = 1e-9)
  expect_equal(unname(post$p_set), prior * direct / sum(prior * direct),
    tolerance = 1e-8
  )
  fine <- posterior(x7[1:5], y7[1:5],
    noise = noise, coef = coef, scaled = TRUE, refine = 2, tail = 40
  )
  expect_equal(fine$log_evidence, post$log_evidence, tolerance = 1e-10)
  expect_equal(fine$sigma, post$sigma, tolerance = 1e-9)
  at <- c(-1, 0.5)
  expect_equal(
    oracle_predict(fine, at, c(0.2, 0.4)), oracle_predict(post, at, c(0.2, 0.4)),
    tolerance = 1e-9
  )
})
