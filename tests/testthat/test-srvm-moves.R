# The reversible-jump moves and Gibbs draws of srvm() on problems small enough
# to enumerate: test 5 of its derivation. The target is the oracle's gamma_t(S)
# (helper-enumerate.R), computed by dense algebra.
#
# Statistical tests have fixed keys, state their null distribution and fail with
# probability below 1e-4 under it. Seen to fail with the moves broken on
# purpose: birth odds without 1/(k + 1) or without m - k, k instead of m - k, a
# direction that is kept if a birth or a death is refused, the subset prior's
# odds in the iid prior and the reverse, a death with the odds of k instead of k
# - 1, a swap without the product h'w or accepted only by the birth's ratio, a
# birth at kmax, a candidate drawn unevenly, acceptance 3% too often, and the
# Gibbs breaks named below.

noise <- 0.15
coef <- 0.6
bandwidth <- 0.9
x_plain <- c(0.3, -1.7, 2.1, -0.4, 1.2)
x_repeated <- c(0.3, -1.7, 0.3, 2.1, -0.4, 1.2, -1.7)
y_all <- c(1.05, 0.21, -0.32, 0.86, 0.55, -0.17, 0.71)

#' One problem: the package's configuration and the oracle's model of it
problem <- function(kmax = 9, centres = "subset", intercept = TRUE,
                    repeated = FALSE, shift = 0, lambda = 1.3,
                    move_fraction = 0.25, x = NULL, y = NULL, scaled = FALSE) {
  if (is.null(x)) x <- if (repeated) x_repeated else x_plain
  if (is.null(y)) y <- y_all[seq_along(x)]
  fixed <- function(v) list(type = "fixed", variance = v)
  noise_prior <- if (scaled) ig_prior(1.5, 0.2) else fixed(noise)
  list(
    x = as.matrix(x), y = y,
    config = list(
      kernel = kernel_gaussian(bandwidth), lambda = lambda, kmax = kmax,
      centres = centres, noise = noise_prior, coef = fixed(coef),
      intercept = intercept, linear = no_linear_part, scaled = scaled,
      shift = shift,
      move_fraction = move_fraction, response = "gaussian", df = 0
    ),
    model = oracle_model(
      x, y, oracle_kernel_gaussian(bandwidth), lambda, kmax, centres,
      if (scaled) noise_prior[c("shape", "scale")] else noise, coef, intercept,
      scaled = scaled
    )
  )
}

ig_prior <- function(shape, scale, lower = 0, upper = Inf) {
  list(type = "ig", shape = shape, scale = scale, lower = lower, upper = upper)
}

#' A state for the package: candidates count from 0 there. They are in
#' decreasing order, since nothing may depend on it.
state_of <- function(set) {
  list(set = rev(set) - 1L, noise = noise, coef = coef)
}

#' The numbers that the moves compute at `set` for its member i and candidate j
ratios <- function(p, set, i = NULL, j = NULL) {
  k <- length(set)
  # Places count in the decreasing order of state_of().
  place <- if (is.null(i)) k else k - match(i, set)
  out <- srvm_ratios_cpp(
    p$config, p$x, p$y, state_of(set), place, if (is.null(j)) -1 else j - 1
  )
  stats::setNames(
    out, c("birth", "death", "swap", "birth_odds", "death_odds")
  )
}

log_ml <- function(p, set) oracle_model_log_ml(sort(set), nrow(p$x), p$model)

#' All sets, their exact probabilities, and the transition matrix of one random
#' move assembled from the package's own numbers. States are sets with the
#' direction up, then the same with the direction down.
transition <- function(p) {
  m <- max(p$model$m)
  sets <- enumerate_subsets(m, p$config$kmax)
  n <- length(sets)
  keys <- vapply(sets, set_key, "")
  log_pi <- vapply(sets, oracle_log_gamma, 0, nrow(p$x), p$model)
  jump <- 2 * p$config$move_fraction
  prob <- matrix(0, 2 * n, 2 * n)
  for (s in seq_len(n)) {
    set <- sets[[s]]
    free <- setdiff(seq_len(m), set)
    k <- length(set)
    go <- function(from, to, choice, log_ratio) {
      accepted <- choice * min(1, exp(log_ratio))
      if (accepted > 0) {
        at <- match(set_key(to), keys) + if (from > n) n else 0
        prob[from, at] <<- prob[from, at] + accepted
      }
    }
    if (k < min(p$config$kmax, m)) {
      for (j in free) {
        r <- ratios(p, set, NULL, j)
        log_ratio <- r[["birth"]] + r[["birth_odds"]]
        go(s, c(set, j), jump / (m - k), log_ratio)
      }
    }
    for (i in set) {
      r <- ratios(p, set, i)
      go(n + s, setdiff(set, i), jump / k, r[["death"]] - r[["death_odds"]])
      for (j in free) {
        r <- ratios(p, set, i, j)
        to <- c(setdiff(set, i), j)
        for (from in c(s, n + s)) {
          go(from, to, (1 - jump) / (k * (m - k)), r[["swap"]])
        }
      }
    }
    # A refused birth or death reverses the direction; a swap does not.
    sizes <- lengths(sets)[(seq_len(2 * n) - 1) %% n + 1]
    for (from in c(s, n + s)) {
      turned <- if (from == s) n + s else s
      prob[from, turned] <- jump - sum(prob[from, sizes != k])
      prob[from, from] <- 1 - sum(prob[from, ])
    }
  }
  pi <- exp(log_pi - log_sum_exp(log_pi))
  list(sets = sets, pi = pi, prob = prob)
}

#' The law of the set after moves, with a random direction of the first one
law_of_sets <- function(chain, s, moves = 1) {
  n <- length(chain$sets)
  law <- numeric(2 * n)
  law[c(s, n + s)] <- 0.5
  for (step in seq_len(moves)) law <- drop(law %*% chain$prob)
  law[seq_len(n)] + law[n + seq_len(n)]
}

cases <- expand.grid(
  kmax = c(0, 1, 2, 9), centres = c("subset", "iid"),
  intercept = c(TRUE, FALSE), repeated = c(FALSE, TRUE), shift = c(0, 0.7),
  scaled = c(FALSE, TRUE), stringsAsFactors = FALSE
)
cases <- cases[cases$intercept | cases$shift == 0, ]

# Exact ----------------------------------------------------------------------

test_that("likelihood ratios of births, deaths and swaps are exact", {
  for (p in list(
    problem(), problem(repeated = TRUE, shift = 0.7),
    problem(intercept = FALSE), problem(scaled = TRUE),
    problem(intercept = FALSE, scaled = TRUE),
    problem(repeated = TRUE, shift = 0.7, scaled = TRUE)
  )) {
    m <- max(p$model$m)
    for (set in enumerate_subsets(m, m)) {
      here <- log_ml(p, set)
      free <- setdiff(seq_len(m), set)
      error <- c(
        vapply(free, function(j) {
          ratios(p, set, NULL, j)[["birth"]] - (log_ml(p, c(set, j)) - here)
        }, 0),
        vapply(set, function(i) {
          ratios(p, set, i)[["death"]] - (log_ml(p, setdiff(set, i)) - here)
        }, 0),
        outer(set, free, Vectorize(function(i, j) {
          other <- c(setdiff(set, i), j)
          ratios(p, set, i, j)[["swap"]] - (log_ml(p, other) - here)
        }))
      )
      expect_lt(max(abs(unlist(error))), 1e-11)
    }
  }
})

test_that("a random move and its reverse are in balance with the posterior", {
  for (i in seq_len(nrow(cases))) {
    # p(k + 1)/p(k) is below 1, above it, and crosses it; 3 and the lengths of
    # the grid have no common factor.
    case <- c(as.list(cases[i, ]), list(
      lambda = c(0.4, 1.3, 6)[[i %% 3 + 1]],
      move_fraction = c(0.2, 0.5)[[i %% 5 %% 2 + 1]]
    ))
    chain <- transition(do.call(problem, case))
    n <- length(chain$sets)
    flow <- rep(chain$pi, 2) / 2 * chain$prob
    expect_lt(max(abs(rowSums(chain$prob) - 1)), 1e-12)
    expect_gte(min(chain$prob), -1e-12)
    # The flow from one state to another equals the flow back, both reversed.
    turned <- c(n + seq_len(n), seq_len(n))
    back <- t(flow)[turned, turned]
    expect_lt(max(abs(flow - back)), 1e-12)
    # Also for improbable sets.
    moves <- flow > 1e-300
    moves[cbind(seq_along(turned), turned)] <- FALSE
    diag(moves) <- FALSE
    expect_lt(max(abs(flow / back - 1)[moves], 0), 1e-10)
    # Every set can be reached from every other.
    moves <- flow > 1e-300
    reach <- diag(nrow(flow))
    for (step in 1:20) reach <- (reach %*% (diag(nrow(flow)) + moves) > 0) * 1
    between <- (reach[seq_len(n), , drop = FALSE] +
      reach[n + seq_len(n), , drop = FALSE])
    between <- between[, seq_len(n)] + between[, n + seq_len(n)]
    expect_true(all(between > 0))
  }
})

# The code that proposes and accepts -----------------------------------------

#' Chi-square of counts against probabilities. The rarest cells are merged up to
#' an expectation of 100, so that the tail is that of chi-square.
chi_square <- function(observed, prob) {
  expect_true(all(observed[prob == 0] == 0))
  expected <- sum(observed) * prob
  rarest <- order(expected)
  rare <- sum(cumsum(expected[rarest]) < 100)
  cell <- pmax(seq_along(rarest) - rare, 1)
  observed <- rowsum(observed[rarest], cell)
  expected <- rowsum(expected[rarest], cell)
  c(
    statistic = sum((observed - expected)^2 / expected),
    df = length(expected) - 1
  )
}

chi_square_p <- function(fit) {
  if (fit[[2]] == 0) {
    return(1)
  }
  stats::pchisq(fit[[1]], fit[[2]], lower.tail = FALSE)
}

test_that("the actual moves have the transition matrix of their formulas", {
  # Null: 40000 moves from each state are multinomial with the state's row of
  # the transition matrix; chi-square, the largest over a problem's states and
  # their sum; 1e-4 over all (Bonferroni).
  problems <- c(
    lapply(c("subset", "iid"), function(centres) {
      problem(9, centres, x = x_plain[1:4], move_fraction = 0.3)
    }),
    list(
      problem(2, "iid", intercept = FALSE, x = x_plain[1:4]),
      problem(2, "subset", x = x_plain[1:4], lambda = 0.7, shift = 0.7),
      problem(9, "subset", x = x_repeated[1:5], lambda = 3,
        move_fraction = 0.5),
      problem(1, "iid", x = x_plain[1:3], move_fraction = 0.1),
      problem(1, "subset", x = x_plain[1]),
      problem(9, "subset", x = x_repeated[1:5], shift = 0.7, scaled = TRUE),
      problem(2, "iid", x = x_plain[1:4], intercept = FALSE, scaled = TRUE)
    )
  )
  n <- 40000
  for (p in problems) {
    chain <- transition(p)
    code <- vapply(chain$sets, function(set) sum(2^(set - 1)), 0)
    fit <- vapply(seq_along(chain$sets), function(s) {
      reached <- srvm_moves_cpp(
        p$config, p$x, p$y, state_of(chain$sets[[s]]),
        c("1", "0", sprintf("%x", s)), 1, n
      )$sets
      expect_true(all(reached %in% code))
      chi_square(
        tabulate(match(reached, code), length(code)), law_of_sets(chain, s)
      )
    }, numeric(2))
    p_value <- min(
      chi_square_p(rowSums(fit)), ncol(fit) * apply(fit, 2, chi_square_p)
    )
    expect_gt(p_value * 2 * length(problems), 1e-4)
  }
})

test_that("a long run of moves visits sets in proportion to the posterior", {
  # Null: the last sets of 20000 independent runs of 60 moves from the empty
  # set follow the first row of P^60, which is near the posterior; chi-square.
  p <- problem(3, x = x_plain, move_fraction = 0.5)
  chain <- transition(p)
  law <- law_of_sets(chain, 1, 60)
  expect_lt(total_variation(law, chain$pi), 0.02)
  last <- srvm_moves_cpp(
    p$config, p$x, p$y, state_of(integer()), c("2", "0", "0"), 60, 20000
  )$sets
  code <- vapply(chain$sets, function(set) sum(2^(set - 1)), 0)
  fit <- chi_square(tabulate(match(last, code), length(code)), law)
  expect_gt(chi_square_p(fit), 1e-4)
})

test_that("moves before the latest row counts in full are in balance, too", {
  # The chance that the latest row is a candidate is multiplied by its power.
  # Null: the last sets of 40000 runs of 100 moves follow the posterior; chi-square
  # for each of two powers, 1e-4 over both. The latest response needs its own
  # centre, so that neither births nor deaths of it are always accepted. Seen to fail
  # with births or deaths that do not know how often it is tried.
  for (power in c(0.1, 0.6)) {
    p <- problem(3, x = x_plain, y = c(y_all[1:4], 2), lambda = 4)
    p$config$power <- power
    sets <- enumerate_subsets(5, 3)
    w <- c(1, 1, 1, 1, power)
    log_pi <- vapply(sets, function(set) {
      oracle_log_prior_set(length(set), 5, 4, 3) + (5 %in% set) * log(power) +
        weighted_log_ml(p$y, oracle_design(p$model$K, set), w, noise, coef)
    }, 0)
    last <- srvm_moves_cpp(
      p$config, p$x, p$y, state_of(integer()), c("2", "1", "0"), 100, 40000
    )$sets
    code <- vapply(sets, function(set) sum(2^(set - 1)), 0)
    fit <- chi_square(
      tabulate(match(last, code), length(code)), exp(log_pi - log_sum_exp(log_pi))
    )
    expect_gt(chi_square_p(fit), 5e-5)
  }
})

test_that("moves of both variances leave their posterior invariant", {
  # Null: 4000 pairs after 150 moves of each are independent and as good as
  # stationary; Kolmogorov-Smirnov for each variance, 1e-4 over both. Seen to fail
  # without the prior of the old value.
  p <- problem()
  p$config$noise <- ig_prior(3, 0.3, 1e-3, 1e3)
  p$config$coef <- ig_prior(3, 2, 1e-3, 1e3)
  set <- c(1L, 3L)
  draws <- srvm_variance_moves_cpp(
    p$config, p$x, p$y, state_of(set), c("6", "0", "0"), 150, 4000
  )
  shared <- eigen(tcrossprod(oracle_design(p$model$K, set)), symmetric = TRUE)
  z <- drop(crossprod(shared$vectors, p$y))
  u <- seq(log(1e-3), log(1e3), length.out = 500)
  log_prior <- outer(-3 * u - 0.3 * exp(-u), -3 * u - 2 * exp(-u), `+`)
  log_lik <- Map(function(d, z) {
    variance <- outer(exp(u), d * exp(u), `+`)
    -(log(variance) + z^2 / variance) / 2
  }, pmax(shared$values, 0), z)
  log_p <- log_prior + Reduce(`+`, log_lik)
  density <- exp(log_p - max(log_p))
  p_values <- vapply(1:2, function(i) {
    mass <- apply(density, i, sum) / sum(density)
    below <- stats::approxfun(u, cumsum(mass) - mass / 2, rule = 2)
    suppressWarnings(stats::ks.test(below(log(draws[i, ])), "punif")$p.value)
  }, 0)
  expect_gt(2 * min(p_values), 1e-4)
})

test_that("moves are counted", {
  p <- problem(2)
  run <- srvm_moves_cpp(
    p$config, p$x, p$y, state_of(c(1L, 3L)), c("3", "0", "0"), 5000, 1
  )
  expect_true(all(run$accepted <= run$tried & run$accepted > 0))
  expect_lte(sum(run$tried), 5000)
  expect_identical(
    run$accepted[[1]] - run$accepted[[2]], length(run$set) - 2L
  )
})

# The particle ---------------------------------------------------------------

#' Errors of a particle's own sums and factor against a rebuild by dense
#' algebra, relative to the largest entry of each
rebuild_errors <- function(p, run) {
  columns <- oracle_kernel_gaussian(bandwidth)(
    p$x, p$x[oracle_candidates(p$x)$rows, , drop = FALSE]
  )
  intercept <- p$config$intercept
  phi <- oracle_design(columns, run$set + 1, intercept)
  size <- ncol(phi)
  gram <- crossprod(phi)
  lower <- lower.tri(gram, TRUE)
  rhs <- drop(crossprod(phi, p$y - p$config$shift))
  mean <- numeric(size)
  if (intercept) mean[[1]] <- -p$config$shift
  gain <- if (p$config$scaled) 1 else 1 / noise
  l <- t(chol(gain * gram + diag(1 / coef, size)))
  z <- forwardsolve(l, gain * rhs + mean / coef)
  relative <- function(got, truth) max(abs(got - truth)) / max(abs(truth))
  c(
    gram = relative(run$gram[lower], gram[lower]),
    rhs = relative(run$rhs, rhs), factor = relative(run$factor, l),
    z = relative(run$z, z),
    log_determinant = abs(run$half_log_determinant - sum(log(diag(l))))
  )
}

test_that("after 1000 moves a particle equals one built from scratch", {
  n <- 40
  x <- withr::with_seed(9, stats::runif(n, -4, 4))
  x[c(7, 20)] <- x[3]
  y <- sin(x) + 0.1 * cos(10 * x)
  for (case in list(
    list(kmax = 100, lambda = 8), list(kmax = 6, lambda = 8),
    list(kmax = 100, lambda = 8, shift = 2.5, centres = "iid"),
    list(kmax = 100, lambda = 30, intercept = FALSE, move_fraction = 0.5),
    list(kmax = 100, lambda = 8, shift = 2.5, scaled = TRUE)
  )) {
    p <- do.call(problem, c(case, list(x = x, y = y)))
    for (moves in c(100, 1000, 10000)) {
      run <- srvm_moves_cpp(
        p$config, p$x, p$y, state_of(c(2L, 5L, 30L)), c("4", "0", "0"),
        moves, 1
      )
      # With c = 1/2 all tries are births and deaths.
      swaps <- is.null(case$move_fraction)
      expect_gt(min(run$accepted[c(TRUE, TRUE, swaps)]), 2)
      expect_identical(anyDuplicated(run$set), 0L)
      expect_lte(length(run$set), case$kmax)
      expect_true(all(run$set >= 0 & run$set < 38))
      expect_true(run$ok)
      expect_lt(max(rebuild_errors(p, run)), 1e-10)
    }
  }
})

test_that("a model beyond double precision gives valid numbers", {
  # Rounding is up to 1e5 times the ridge here. The density of n responses is at
  # most (2 pi sigma^2)^(-n/2), and f cannot be far from them.
  data <- sim_sinc(60, seed = 1)
  v <- stats::var(data$y)
  for (noise in c(1e-2, 1e-4, 1e-6)) {
    for (coef in c(1, 1000)) {
      prior <- srvm_prior(20, noise = fixed_variance(noise * v), coef = fixed_variance(coef * v))
      fit <- tryCatch(
        suppressWarnings(srvm(y ~ x, data,
          kernel = kernel_polynomial(3, 1), prior = prior, scale = FALSE,
          control = smc_control(particles = 30, n_moves = 5), seed = 1
        )),
        error = function(e) expect_match(conditionMessage(e), "cannot continue")
      )
      if (inherits(fit, "kb_srvm")) {
        bound <- -30 * log(2 * pi * noise * v)
        expect_lt(evidence(fit)$log_evidence, bound)
        expect_lt(max(abs(fitted(fit) - data$y)), 50)
      }
    }
  }
})

# Gibbs ----------------------------------------------------------------------

#' Draws of a Gibbs sweep and their distributions. The shift is internal to the
#' core: here y is on its own scale, and the intercept includes the shift.
gibbs <- function(set, n, intercept, shift, priors, repeated = TRUE,
                  scaled = FALSE) {
  p <- problem(9, "subset", intercept, repeated, shift, scaled = scaled)
  p$config[c("noise", "coef")] <- priors
  draws <- srvm_gibbs_cpp(
    p$config, p$x, p$y, state_of(set), c("5", "0", "0"), n
  )
  size <- length(set) + intercept
  beta <- draws[seq_len(size), , drop = FALSE]
  if (intercept) beta[1, ] <- beta[1, ] + shift
  list(
    beta = beta, noise = draws[size + 1, ], coef = draws[size + 2, ],
    phi = oracle_design(p$model$K, rev(set), intercept), y = p$y
  )
}

#' The distribution function at v of IG(shape, scale) between the prior's
#' bounds: uniform if v has that law
inverse_gamma_uniform <- function(v, shape, scale, prior) {
  below <- function(v) {
    stats::pgamma(1 / v, shape, rate = scale, lower.tail = FALSE)
  }
  (below(v) - below(prior$lower)) / (below(prior$upper) - below(prior$lower))
}

gibbs_cases <- list(
  list(set = c(1L, 3L, 5L), intercept = TRUE, shift = 0),
  list(set = c(1L, 3L, 5L), intercept = TRUE, shift = -2.5),
  list(set = c(2L, 4L), intercept = FALSE, shift = 0),
  list(set = integer(), intercept = TRUE, shift = 1.5),
  list(set = 1:5, intercept = TRUE, shift = 0.7)
)
gibbs_n <- 20000
gibbs_priors <- list(ig_prior(2, 0.3), ig_prior(1.5, 0.8))
# Bounds that cut off a large part of each conditional.
bounded_priors <- list(
  ig_prior(2, 0.3, 0.1, 0.3), ig_prior(1.5, 0.8, 0.4, 0.9)
)

test_that("coefficients are drawn from their normal conditional", {
  # Null: L'(beta - A^-1 b) are independent N(0, 1), A = Phi'Phi / noise + I /
  # coef = LL', b = Phi'y / noise. Kolmogorov-Smirnov for all of them, the mean
  # of each by z and all products of two by z (variance 1 + [same]); 1e-4 over
  # all comparisons. Fails with L for L', without z, with a standard deviation
  # 3% too large, and without the prior mean from the shift.
  for (case in gibbs_cases) {
    draw <- gibbs(
      case$set, gibbs_n, case$intercept, case$shift, gibbs_priors
    )
    size <- nrow(draw$beta)
    a <- crossprod(draw$phi) / noise + diag(1 / coef, size)
    mean <- solve(a, crossprod(draw$phi, draw$y) / noise)
    white <- chol(a) %*% (draw$beta - drop(mean))
    products <- tcrossprod(white) / gibbs_n - diag(size)
    z <- sqrt(gibbs_n) * c(
      rowMeans(white),
      (products / sqrt(1 + diag(size)))[lower.tri(products, TRUE)]
    )
    p <- c(
      stats::ks.test(as.vector(white), "pnorm")$p.value,
      2 * stats::pnorm(-abs(z))
    )
    expect_gt(min(p) * length(p) * length(gibbs_cases), 1e-4)
  }
})

test_that("variances are drawn from their inverse-gamma conditionals", {
  # Null: the distribution functions of IG(a + t/2, b + RSS/2) and of IG(a +
  # p/2, b + beta'beta/2), for the coefficients drawn with them, are uniform at
  # each draw, and independent of each other and of the coefficients;
  # Kolmogorov-Smirnov and rank correlations, 1e-4 over all. Fails if a shape
  # has n for n/2 or one row too few, if the shift is left out of beta'beta, if
  # RSS has a wrong cross term, if p counts the set without the intercept, and
  # if a draw outside the bounds is moved to the nearer one.
  p <- lapply(gibbs_cases, function(case) {
    lapply(list(gibbs_priors, bounded_priors), function(priors) {
      draw <- gibbs(case$set, gibbs_n, case$intercept, case$shift, priors)
      rss <- colSums((draw$y - draw$phi %*% draw$beta)^2)
      squares <- colSums(draw$beta^2)
      u <- inverse_gamma_uniform(
        draw$noise, 2 + length(draw$y) / 2, 0.3 + rss / 2, priors[[1]]
      )
      v <- inverse_gamma_uniform(
        draw$coef, 1.5 + nrow(draw$beta) / 2, 0.8 + squares / 2, priors[[2]]
      )
      correlation <- function(a, b) {
        stats::cor.test(a, b, method = "spearman", exact = FALSE)$p.value
      }
      c(
        stats::ks.test(u, "punif")$p.value, stats::ks.test(v, "punif")$p.value,
        correlation(u, v), correlation(u, rss), correlation(v, squares)
      )
    })
  })
  expect_gt(min(unlist(p)) * length(unlist(p)), 1e-4)
})

test_that("a Gibbs sweep of the scaled form has its three conditionals", {
  # Null: noise given the set is IG(a + t/2, b + R/2), R = y'(I + ratio
  # Phi Phi')^-1 y; beta given the noise is normal with variance noise A^-1,
  # A = Phi'Phi + I / ratio; the ratio given both is IG(a' + p/2, b' +
  # beta'beta / (2 noise)). Kolmogorov-Smirnov, rank correlations and z of
  # products; 1e-4 over all. Fails if beta has the variance A^-1, or if the
  # squares are not divided by the noise.
  p <- lapply(gibbs_cases, function(case) {
    draw <- gibbs(case$set, gibbs_n, case$intercept, case$shift, gibbs_priors,
      scaled = TRUE
    )
    size <- nrow(draw$beta)
    t <- length(draw$y)
    rest <- sum(draw$y * solve(diag(t) + coef * tcrossprod(draw$phi), draw$y))
    u <- inverse_gamma_uniform(
      draw$noise, 2 + t / 2, 0.3 + rest / 2, gibbs_priors[[1]]
    )
    a <- crossprod(draw$phi) + diag(1 / coef, size)
    mean <- drop(solve(a, crossprod(draw$phi, draw$y)))
    white <- chol(a) %*% (draw$beta - mean) / rep(sqrt(draw$noise), each = size)
    products <- tcrossprod(white) / gibbs_n - diag(size)
    z <- sqrt(gibbs_n) *
      (products / sqrt(1 + diag(size)))[lower.tri(products, TRUE)]
    squares <- colSums(draw$beta^2) / draw$noise
    v <- inverse_gamma_uniform(
      draw$coef, 1.5 + size / 2, 0.8 + squares / 2, gibbs_priors[[2]]
    )
    correlation <- function(a, b) {
      stats::cor.test(a, b, method = "spearman", exact = FALSE)$p.value
    }
    c(
      stats::ks.test(u, "punif")$p.value, stats::ks.test(v, "punif")$p.value,
      stats::ks.test(as.vector(white), "pnorm")$p.value,
      2 * stats::pnorm(-abs(z)), correlation(u, v), correlation(v, squares),
      correlation(u, colSums(white^2))
    )
  })
  expect_gt(min(unlist(p)) * length(unlist(p)), 1e-4)
})

test_that("the noise is drawn given the ratio, without the coefficients", {
  # Null: IG(a + a' + t/2, b + b' / ratio + R/2), R = y'(I + ratio Phi Phi')^-1 y;
  # Kolmogorov-Smirnov, 1e-4 over all. The state before has noise and coef; draws
  # outside the bounds leave it. Seen to fail without a', without b', without the
  # shift, and if the factor is not scaled.
  ratio <- coef / noise
  p <- lapply(gibbs_cases, function(case) {
    lapply(list(gibbs_priors, bounded_priors), function(priors) {
      p <- problem(9, "subset", case$intercept, TRUE, case$shift)
      p$config[c("noise", "coef")] <- priors
      draws <- srvm_noise_draw_cpp(
        p$config, p$x, p$y, state_of(case$set), c("5", "0", "0"), gibbs_n / 4
      )
      expect_lt(max(draws[3, ]), 1e-9)
      expect_equal(draws[2, ] / draws[1, ], rep(ratio, ncol(draws)))
      phi <- oracle_design(p$model$K, rev(case$set), case$intercept)
      t <- length(p$y)
      rest <- sum(p$y * solve(diag(t) + ratio * tcrossprod(phi), p$y))
      bounds <- list(
        lower = max(priors[[1]]$lower, priors[[2]]$lower / ratio),
        upper = min(priors[[1]]$upper, priors[[2]]$upper / ratio)
      )
      moved <- draws[1, draws[1, ] != noise]
      u <- inverse_gamma_uniform(
        moved, 3.5 + t / 2, 0.3 + 0.8 / ratio + rest / 2, bounds
      )
      stats::ks.test(u, "punif")$p.value
    })
  })
  expect_gt(min(unlist(p)) * length(unlist(p)), 1e-4)
})

test_that("a fixed variance stays, and the other is still drawn", {
  fixed <- list(type = "fixed", variance = 0.4)
  one <- gibbs(1:2, 50, TRUE, 0, list(fixed, gibbs_priors[[2]]))
  expect_identical(one$noise, rep(0.4, 50))
  expect_identical(anyDuplicated(one$coef), 0L)
  two <- gibbs(1:2, 50, TRUE, 0, list(gibbs_priors[[1]], fixed))
  expect_identical(two$coef, rep(0.4, 50))
  expect_identical(anyDuplicated(two$noise), 0L)
})

test_that("the shift changes the arithmetic, not the draws", {
  # Centring is only for accuracy: the same stream gives the same coefficients
  # and variances up to rounding.
  plain <- gibbs(c(1L, 4L), 100, TRUE, 0, gibbs_priors)
  for (shift in c(-3, 0.5, 100)) {
    shifted <- gibbs(c(1L, 4L), 100, TRUE, shift, gibbs_priors)
    for (what in c("beta", "noise", "coef")) {
      expect_equal(shifted[[what]], plain[[what]], tolerance = 1e-9)
    }
  }
})
