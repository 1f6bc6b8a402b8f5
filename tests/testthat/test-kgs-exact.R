# Chains of kgs() against exact posteriors: arcs of the circle, orthants, and
# importance sampling from the prior if there is no formula.
#
# Seen to fail, one mutant of src/core/kgs at a time:
# - walls: equal directions not merged, opposite ones not merged or not
#   reversed, points without features forgotten;
# - ledger: the cost of the wrong class, always-wrong data right at first;
# - circle: a direction of another length, a state that shrinks in one
#   dimension;
# - line: a slice that is not placed at random;
# - block: a standard deviation without its root, rates exchanged, too small a
#   nugget in the mean, the length of u on its own;
# - rates: counts of the other class, rates exchanged in the costs, a sum above
#   1, a rate below 1/2 with three classes;
# - chain: wrong labels of block counted for only one class.

exact_x <- matrix(c(0.2, -1, 0.7, 1.3, 0.5, 0.1, -0.9, 0.4), 4)
exact_gram <- exp(-as.matrix(stats::dist(exact_x))^2 / 2) + 0.5
exact_label <- c(1, 0, 0, 1)

exact_data <- function(m) {
  keep <- seq_len(m)
  kgs_points(t(chol(exact_gram[keep, keep])), exact_label[keep])
}

exact_patterns <- function(m, log_likelihood, nugget = 0) {
  keep <- seq_len(m)
  g <- exact_gram[keep, keep] + diag(nugget, m)
  pattern_posterior(2 * exact_label[keep] - 1, orthant_prior(g), log_likelihood)
}

# Oracles ----------------------------------------------------------------------

test_that("orthants agree with quadrature over a common factor", {
  l <- c(0.8, -0.5, 0.6, 0.3)
  for (m in 2:4) {
    r <- tcrossprod(l[seq_len(m)])
    diag(r) <- 1
    given <- Vectorize(function(z) {
      prod(stats::pnorm(l * z / sqrt(1 - l^2))[seq_len(m)]) * stats::dnorm(z)
    })
    expect_equal(
      orthant(r), stats::integrate(given, -Inf, Inf, rel.tol = 1e-10)$value,
      tolerance = 1e-9
    )
  }
})

# Ledger and angles ------------------------------------------------------------

#' Points with copies, opposites, one without direction, and any labels
mixed_points <- function(classes) {
  x <- matrix(c(1, 0.3, -1, 0.7, 0, -0.5, 0.4, 1, -0.4, 0.2, 0, 0.9), 6)
  x[3, ] <- -2 * x[1, ]
  kgs_points(x,
    label = c(1, 0, 0, 1, 1, 0, 1, 0, 0, 1) + (classes > 2) * c(1, 0, 0, 0, 1),
    point = c(1, 1, 2, 3, 3, 4, 5, 6, 2, 6), classes = classes
  )
}

test_that("the ledger counts as defined, wall by wall", {
  costs <- c(0.7, 1.9, 3.1)
  for (classes in 2:3) {
    data <- mixed_points(classes)
    dimension <- 2 * (if (classes == 2) 1 else classes)
    w <- withr::with_seed(1, matrix(stats::rnorm(dimension * 200), dimension))
    out <- kgs_ledger_cpp(data, w, costs[seq_len(classes)])
    wrong <- kgs_wrong(data, t(w))
    for (c in seq_len(classes)) {
      expect_equal(
        out$wrong[c, ], rowSums(wrong[, data$label == c - 1, drop = FALSE])
      )
    }
    expect_equal(out$energy, c(wrong %*% costs[data$label + 1]))
    expect_equal(out$change, sweep(out$after, 2, out$energy))
  }
})

#' Energies at the middles of arcs between all points where labels may change
brute_arcs <- function(data, g, z, costs) {
  at <- function(v) {
    f <- data$features %*% matrix(v, ncol(data$features))
    if (ncol(f) == 1) {
      return(c(f))
    }
    pairs <- utils::combn(ncol(f), 2)
    c(apply(pairs, 2, function(p) f[, p[1]] - f[, p[2]]))
  }
  root <- atan2(-at(g), at(z))
  root <- sort(unique(c(0, root, root + pi) %% (2 * pi)))
  to <- c(root[-1], 2 * pi)
  middle <- (root + to) / 2
  wrong <- kgs_wrong(data, cos(middle) %o% g + sin(middle) %o% z)
  energy <- c(wrong %*% costs[data$label + 1])
  mass <- (to - root) * exp(min(energy) - energy)
  list(from = root, to = to, mass = mass / sum(mass))
}

test_that("angles have their density, and their labels are counted right", {
  # Null: independent draws, positions in the distribution function uniform;
  # chi-square in 25 bins, 1e-4 over 8 curves.
  costs <- c(0.7, 1.9, 1.2)
  for (classes in 2:3) {
    data <- mixed_points(classes)
    dimension <- 2 * (if (classes == 2) 1 else classes)
    for (seed in 1:4) {
      v <- withr::with_seed(seed, matrix(stats::rnorm(2 * dimension), 2))
      out <- kgs_angles_cpp(
        data, v[1, ], v[2, ], costs[seq_len(classes)], 8000L, seed
      )
      expect_identical(
        out$wrong,
        kgs_wrong(data, cos(out$angle) %o% v[1, ] + sin(out$angle) %o% v[2, ])
      )
      arcs <- brute_arcs(data, v[1, ], v[2, ], costs)
      arc <- findInterval(out$angle, arcs$from)
      place <- (cumsum(arcs$mass) - arcs$mass)[arc] + arcs$mass[arc] *
        (out$angle - arcs$from[arc]) / (arcs$to - arcs$from)[arc]
      count <- tabulate(pmin(floor(place * 25) + 1, 25), 25)
      expect_gt(stats::chisq.test(count)$p.value * 8, 1e-4)
    }
  }
})

# Patterns of two classes ------------------------------------------------------

test_that("patterns of 2, 3 and 4 labels have orthant probabilities", {
  for (m in 2:4) {
    data <- exact_data(m)
    exact <- exact_patterns(m, known_rate(0.15))
    for (method in kgs_walkers) {
      out <- kgs_chain(data, method, iter = 4e5, thin = 2, kgs_known(0.15))
      wrong <- kgs_wrong(data, out$w)
      # The specification's bound; independent draws would have about .002.
      expect_lt(share_distance(pattern_share(wrong), exact), 0.006)
      expect_patterns(wrong, exact, 12, paste(method, m))
    }
  }
})

test_that("copies, contradictions and opposite points share one wall", {
  x <- t(chol(exact_gram[1:2, 1:2]))
  data <- kgs_points(rbind(x, -1.7 * x[1, ], 0.4 * x[2, ]),
    label = c(1, 1, 0, 1, 0, 0, 1), point = c(1, 1, 2, 2, 3, 4, 2)
  )
  g <- tcrossprod(x)
  # Four kinds of directions; their numbers of wrong labels by brute force.
  signs <- as.matrix(expand.grid(c(-1, 1), c(-1, 1)))
  w <- t(solve(x, t(signs)))
  wrong <- kgs_wrong(data, w)
  p <- apply(signs, 1, orthant_prior(g)) * apply(wrong, 1, function(e) {
    exp(known_rate(0.3)(e))
  })
  for (method in kgs_walkers) {
    out <- kgs_chain(data, method, kgs_known(0.3), iter = 60000)
    at <- out$w %*% t(x) > 0
    exact <- p[order(signs %*% c(1, 2))] / sum(p)
    expect_patterns(at, exact, 4, method)
    expect_equal(out$flipped, colMeans(kgs_wrong(data, out$w)))
  }
})

test_that("opposite rows of a linear kernel without bias are one direction", {
  x <- rbind(c(1, 2), c(-1, -2), c(0.5, -1), c(-1, 2))
  y <- c("b", "a", "b", "b")
  for (method in kgs_walkers) {
    fit <- kgs(x, y,
      kernel = kernel_linear(), bias = 0, noise = 0.2, scale = FALSE,
      method = method, seed = 1, control = mcmc_control(1, 10, 40000)
    )
    f <- predict(fit, x, type = "draws")
    expect_equal(f[, 2], -f[, 1], tolerance = 1e-8)
    g <- tcrossprod(x[c(1, 3), ])
    signs <- all_patterns(2) * 2 - 1
    wrong <- 2 * (signs[, 1] < 0) + 1
    p <- apply(signs, 1, orthant_prior(g)) * 0.25^wrong
    expect_patterns(f[, c(1, 3)] > 0, p / sum(p), 4, method)
  }
})

test_that("one class, one point and one dimension have their probabilities", {
  data <- exact_data(3)
  data$label <- c(1L, 1L, 1L)
  exact <- pattern_posterior(
    rep(1, 3), orthant_prior(exact_gram[1:3, 1:3]), known_rate(0.2)
  )
  for (method in kgs_walkers) {
    out <- kgs_chain(data, method, kgs_known(0.2), iter = 60000)
    expect_patterns(kgs_wrong(data, out$w), exact, 16, method)
    # One point in three dimensions: right with probability 1 - q.
    one <- kgs_points(matrix(c(1, -2, 0.5), 1), 1)
    out <- kgs_chain(one, method, kgs_known(0.2), iter = 30000)
    expect_patterns(kgs_wrong(one, out$w), c(0.8, 0.2), 16, method)
    # One dimension: two vectors, one with 1 error and one with 2.
    line <- kgs_points(matrix(c(1, 2, -1)), c(1, 1, 1))
    out <- kgs_chain(line, method, kgs_known(0.2), iter = 30000)
    expect_equal(abs(out$w), matrix(1, 30000, 1), tolerance = 1e-12)
    expect_patterns(out$w > 0, c(0.2, 0.8), 16, method)
    # One point in one dimension.
    out <- kgs_chain(
      kgs_points(matrix(3), 0), method, kgs_known(0.1), iter = 30000
    )
    expect_patterns(out$w > 0, c(0.9, 0.1), 16, method)
  }
})

test_that("a point without features is always wrong and moves nothing", {
  data <- exact_data(2)
  with_zero <- kgs_points(rbind(data$features, 0), c(1, 0, 1, 0),
    point = c(1, 2, 3, 3)
  )
  exact <- exact_patterns(2, known_rate(0.2))
  for (method in kgs_walkers) {
    out <- kgs_chain(with_zero, method, kgs_known(0.2), iter = 60000)
    expect_patterns(kgs_wrong(data, out$w), exact, 4, method)
    expect_identical(out$flipped[3:4], c(1, 1))
  }
  # All without features: only the prior remains.
  none <- kgs_points(matrix(0, 2, 2), c(1, 0))
  for (method in kgs_walkers) {
    out <- kgs_chain(none, method, list(kind = "beta", a = 1, b = 1),
      iter = 20000
    )
    expect_true(all(out$wrong == 1))
    expect_lt(abs(batch_z(out$w[, 1] > 0, 0.5)), batch_limit(8))
    # q given two wrong labels of two is Beta(3, 1) below 1/2.
    mean <- 3 / 4 * stats::pbeta(0.5, 4, 1) / stats::pbeta(0.5, 3, 1)
    expect_lt(abs(batch_z(out$rates, mean)), batch_limit(8))
  }
})

# Rank 2 -----------------------------------------------------------------------

plane_data <- function() {
  withr::with_seed(3, kgs_points(
    matrix(stats::rnorm(18), 9), c(1, 1, 0, 1, 0, 0, 1, 0, 1)
  ))
}

#' Posterior of arcs
arc_probability <- function(arcs, log_likelihood) {
  p <- (arcs$to - arcs$from) * exp(apply(arcs$wrong, 1, log_likelihood))
  p / sum(p)
}

test_that("in the plane one circle is exact, and all samplers have its arcs", {
  data <- plane_data()
  arcs <- plane_arcs(data)
  exact <- arc_probability(arcs, known_rate(0.2))
  cost <- log(0.8 / 0.2)
  # Independent of the start: chi-square, two starts.
  for (g in list(c(1, 0), c(-0.6, -0.8))) {
    z <- c(-g[[2]], g[[1]])
    angle <- kgs_angles_cpp(data, g, z, rep(cost, 2), 20000L, 1L)$angle
    w <- cos(angle) %o% g + sin(angle) %o% z
    count <- tabulate(arc_of(arcs, w), length(exact))
    p <- suppressWarnings(stats::chisq.test(count, p = exact)$p.value)
    expect_gt(p, 1e-4 / 2)
  }
  for (method in kgs_walkers) {
    out <- kgs_chain(data, method, kgs_known(0.2), iter = 60000)
    z <- vapply(which(exact > 0.005), function(k) {
      batch_z(arc_of(arcs, out$w) == k, exact[[k]])
    }, 0)
    expect_lt(max(abs(z)), batch_limit(3 * length(z)))
  }
})

#' Log integral of q^(a - 1 + wrong) (1 - q)^(b - 1 + right) below `upper`
log_beta_below <- function(a, b, upper) {
  lbeta(a, b) + stats::pbeta(upper, a, b, log.p = TRUE)
}

test_that("a learned rate has the law given by quadrature", {
  data <- plane_data()
  arcs <- plane_arcs(data)
  m <- length(data$label)
  noise <- list(kind = "beta", a = 1.5, b = 3)
  wrong <- rowSums(arcs$wrong)
  mass <- (arcs$to - arcs$from) *
    exp(log_beta_below(1.5 + wrong, 3 + m - wrong, 0.5))
  p <- mass / sum(mass)
  below <- function(q) {
    sum(p * stats::pbeta(q, 1.5 + wrong, 3 + m - wrong) /
      stats::pbeta(0.5, 1.5 + wrong, 3 + m - wrong))
  }
  at <- c(0.1, 0.2, 0.3, 0.4)
  for (method in kgs_walkers) {
    out <- kgs_chain(data, method, noise, iter = 60000)
    z <- c(
      batch_z(rowSums(out$wrong), sum(p * wrong)),
      batch_z(rowSums(out$wrong) == 3, sum(p[wrong == 3])),
      vapply(at, function(q) batch_z(out$rates < q, below(q)), 0)
    )
    expect_lt(max(abs(z)), batch_limit(3 * length(z)))
  }
})

#' Integral over both rates, which sum to less than 1, of Beta shapes
class_integral <- function(shape, up_to = 1) {
  first <- function(q) {
    exp((shape[[1]] - 1) * log(q) + (shape[[2]] - 1) * log1p(-q) +
      log_beta_below(shape[[3]], shape[[4]], 1 - q))
  }
  stats::integrate(first, 0, up_to, rel.tol = 1e-9)$value
}

test_that("rates by class have the law given by quadrature", {
  data <- plane_data()
  arcs <- plane_arcs(data)
  total <- tabulate(data$label + 1, 2)
  noise <- list(kind = "class", a = 1.5, b = 2)
  # First rate: f of class 0, label 1; its others are class 0's right labels.
  shapes <- apply(arcs$wrong, 1, function(e) {
    wrong <- c(sum(e[data$label == 0]), sum(e[data$label == 1]))
    c(
      1.5 + wrong[[2]], 2 + total[[1]] - wrong[[1]],
      1.5 + wrong[[1]], 2 + total[[2]] - wrong[[2]]
    )
  })
  length <- arcs$to - arcs$from
  whole <- apply(shapes, 2, class_integral)
  p <- length * whole / sum(length * whole)
  below <- function(q, shapes) {
    part <- apply(shapes, 2, class_integral, up_to = q)
    sum(length * part) / sum(length * whole)
  }
  first <- vapply(c(0.15, 0.4), below, 0, shapes = shapes)
  second <- vapply(c(0.15, 0.4), below, 0, shapes = shapes[c(3, 4, 1, 2), ])
  for (method in c(kgs_walkers)) {
    out <- kgs_chain(data, method, noise, iter = 60000)
    expect_true(all(rowSums(out$rates) <= 1))
    z <- c(
      batch_z(out$wrong[, 1], sum(p * (shapes[3, ] - 1.5))),
      batch_z(out$wrong[, 2], sum(p * (shapes[1, ] - 1.5))),
      batch_z(out$rates[, 1] < 0.15, first[[1]]),
      batch_z(out$rates[, 1] < 0.4, first[[2]]),
      batch_z(out$rates[, 2] < 0.15, second[[1]]),
      batch_z(out$rates[, 2] < 0.4, second[[2]])
    )
    expect_lt(max(abs(z)), batch_limit(3 * length(z)))
  }
})

# No wrong labels --------------------------------------------------------------

test_that("with q = 0 draws are uniform on the version space of the plane", {
  data <- plane_data()
  data$label <- as.integer(data$features %*% c(0.8, -0.4) > 0)
  arcs <- plane_arcs(data)
  home <- which(rowSums(arcs$wrong) == 0)
  expect_length(home, 1)
  for (method in kgs_walkers) {
    out <- kgs_chain(data, method, kgs_known(0), iter = 30000)
    expect_true(all(out$wrong == 0))
    expect_true(all(arc_of(arcs, out$w) == home))
    angle <- (atan2(out$w[, 2], out$w[, 1]) - arcs$from[home]) %% (2 * pi)
    share <- angle / (arcs$to - arcs$from)[home]
    z <- vapply(1:4 / 5, function(u) batch_z(share < u, u), 0)
    expect_lt(max(abs(z)), batch_limit(16))
  }
})

test_that("with q = 0 new points have ratios of orthants", {
  sign <- 2 * exact_label - 1
  up <- orthant_prior(exact_gram)(c(sign[1:3], 1))
  exact <- up / orthant_prior(exact_gram[1:3, 1:3])(sign[1:3])
  features <- t(chol(exact_gram))
  data <- kgs_points(features[1:3, ], exact_label[1:3])
  for (method in kgs_walkers) {
    out <- kgs_chain(data, method, kgs_known(0), iter = 60000)
    expect_lt(
      abs(batch_z(out$w %*% features[4, ] > 0, exact)), batch_limit(4)
    )
  }
})

test_that("labels that cannot be separated are refused with q = 0", {
  data <- kgs_points(diag(2), c(1, 0, 1), point = c(1, 1, 2))
  for (method in kgs_walkers) {
    expect_error(kgs_chain(data, method, kgs_known(0)), "separated")
  }
})

# Nugget -----------------------------------------------------------------------

#' Features with an extra one per row, as kgs() gives them to walkers
with_own <- function(data, nugget) {
  data$features <- cbind(
    data$features, diag(sqrt(nugget), nrow(data$features))
  )
  data
}

test_that("with a nugget block and walkers have orthants of G + nugget I", {
  noises <- list(
    list(kgs_known(0.15), known_rate(0.15)),
    list(list(kind = "beta", a = 1, b = 2), function(e) {
      log_beta_below(1 + sum(e), 2 + sum(!e), 0.5)
    }),
    list(list(kind = "class", a = 1, b = 2), function(e) {
      up <- exact_label[1:3] == 1
      log(class_integral(c(
        1 + sum(e & up), 2 + sum(!e & !up), 1 + sum(e & !up), 2 + sum(!e & up)
      )))
    }),
    list(kgs_known(0), function(e) if (any(e)) -Inf else 0)
  )
  for (noise in noises) {
    exact <- exact_patterns(3, noise[[2]], 0.4)
    by_label <- colSums(exact * all_patterns(3))
    for (method in c("block", "hmc", "circle")) {
      data <- exact_data(3)
      if (method != "block") data <- with_own(data, 0.4)
      out <- kgs_chain(data, method, noise[[1]],
        iter = 60000, kept = 3, nugget = 0.4
      )
      errors <- rowSums(out$wrong)
      wanted <- c(tapply(exact, rowSums(all_patterns(3)), sum))
      expect_lt(share_distance(tabulate(errors + 1, 4) / 60000, wanted), 0.02)
      expect_lt(max(abs(out$flipped - by_label)), 0.02)
      if (max(by_label) == 0) next
      z <- vapply(1:3, function(e) batch_z(errors == e, wanted[[e + 1]]), 0)
      expect_lt(max(abs(z)), batch_limit(3 * 12))
    }
  }
})

# Predictions ------------------------------------------------------------------

test_that("the complement makes predictions agree with joint orthants", {
  # Three points and a new one: P(label up there) from four orthants.
  x <- exact_x[1:3, ]
  for (nugget in c(0, 0.4)) {
    joint <- exact_gram + 0.5 + diag(nugget, 4)
    sign <- 2 * exact_label[1:3] - 1
    like <- known_rate(0.15)
    up <- function(last) {
      sum(apply(all_patterns(3), 1, function(e) {
        orthant_prior(joint)(c(ifelse(e, -sign, sign), last)) * exp(like(e))
      }))
    }
    exact <- up(1) / (up(1) + up(-1))
    for (method in if (nugget > 0) c("block", "hmc") else kgs_walkers) {
      fit <- kgs(x, factor(exact_label[1:3]),
        kernel = kernel_gaussian(1), bias = 1, noise = 0.15, nugget = nugget,
        scale = FALSE, method = method, seed = 2,
        control = mcmc_control(1, 100, 30000)
      )
      at <- exact_x[4, , drop = FALSE]
      p <- class_draws(fit, at, posterior_pool(fit), TRUE)[1, , 2]
      expect_equal(
        mean(p), unname(predict(fit, at, type = "true_prob")[1, "1"]),
        tolerance = 1e-12
      )
      expect_lt(abs(batch_z(p, exact)), batch_limit(6))
      recorded <- predict(fit, at, type = "prob")[1, "1"]
      expect_equal(unname(recorded), 0.15 + 0.7 * mean(p), tolerance = 1e-12)
    }
  }
})

test_that("rates by class make labels of both kinds wrong", {
  fit <- kgs(exact_x, factor(exact_label),
    kernel = kernel_gaussian(1), noise = noise_class(1, 2), scale = FALSE,
    method = "hmc", seed = 2, control = mcmc_control(1, 100, 500)
  )
  new <- rbind(c(0.3, 0.3), c(-1, 2))
  pool <- posterior_pool(fit)
  p <- class_draws(fit, new, pool, TRUE)[, , 2]
  right <- sweep(p, 2, 1 - pool$rates[, 2], "*")
  wrong <- sweep(1 - p, 2, pool$rates[, 1], "*")
  exact <- rowMeans(right + wrong)
  recorded <- predict(fit, new, type = "prob")
  expect_equal(unname(recorded[, 2]), exact, tolerance = 1e-12)
  expect_equal(unname(rowSums(recorded)), c(1, 1), tolerance = 1e-12)
})

# More classes -----------------------------------------------------------------

#' Posterior means from draws of the prior, with standard errors
#' @param value Function of vectors: a matrix with one row each.
by_importance <- function(data, dimension, log_likelihood, value, n = 2e5) {
  w <- matrix(stats::rnorm(n * dimension), n)
  errors <- rowSums(kgs_wrong(data, w))
  weight <- exp(log_likelihood(errors))
  v <- value(w)
  mean <- colSums(weight * v) / sum(weight)
  gap <- weight * sweep(v, 2, mean) / mean(weight)
  list(mean = mean, se = apply(gap, 2, stats::sd) / sqrt(n))
}

test_that("three classes agree with draws from the prior, copies included", {
  withr::local_seed(5)
  x <- t(chol(exact_gram[1:3, 1:3]))
  new <- c(0.4, -0.6, 0.3)
  cases <- list(
    kgs_points(x, c(0, 2, 1), classes = 3),
    kgs_points(rbind(x, -2 * x[1, ], 0),
      label = c(0, 0, 1, 2, 1, 2, 0), point = c(1, 1, 1, 2, 3, 4, 5),
      classes = 3
    )
  )
  noises <- list(
    list(kgs_known(0.2), function(e, m) e * log(0.1) + (m - e) * log(0.8)),
    list(list(kind = "beta", a = 1, b = 2), function(e, m) {
      e * log(1 / 2) + log_beta_below(1 + e, 2 + m - e, 2 / 3)
    })
  )
  for (data in cases) {
    m <- length(data$label)
    for (noise in noises) {
      value <- function(w) {
        wrong <- kgs_wrong(data, w)
        votes <- vapply(1:3, \(c) w[, 3 * c - 2:0] %*% new, numeric(nrow(w)))
        cbind(
          wrong, wrong[, 1] & wrong[, 3], rowSums(wrong) == 1,
          votes[, 1] > pmax(votes[, 2], votes[, 3]),
          votes[, 3] > pmax(votes[, 1], votes[, 2])
        ) + 0
      }
      exact <- by_importance(data, 9, \(e) noise[[2]](e, m), value)
      for (method in kgs_walkers) {
        iter <- if (method == "coordinate") 10000 else 30000
        out <- kgs_chain(data, method, noise[[1]], iter = iter)
        v <- value(out$w)
        batches <- apply(v, 2, \(v) colMeans(matrix(v, ncol = 50)))
        se <- apply(batches, 2, stats::sd) / sqrt(50)
        gap <- colMeans(v) - exact$mean
        moved <- se > 0
        expect_true(all(gap[!moved] == 0))
        z <- (gap / sqrt(se^2 + exact$se^2))[moved]
        expect_lt(max(abs(z)), batch_limit(16 * length(z)))
        expect_equal(rowSums(out$wrong), rowSums(kgs_wrong(data, out$w)))
      }
    }
  }
})

test_that("with three classes the complement agrees with joint draws", {
  withr::local_seed(6)
  root <- t(chol(exact_gram + 0.5))
  label <- c(0, 2, 1)
  data <- kgs_points(root, c(label, 0), classes = 3)
  exact <- by_importance(
    kgs_points(root[1:3, ], label, classes = 3), 12,
    \(e) e * log(0.1) + (3 - e) * log(0.8),
    \(w) vapply(0:2, function(c) {
      data$label[[4]] <- c
      1 - kgs_wrong(data, w)[, 4]
    }, numeric(nrow(w)))
  )
  fit <- kgs(exact_x[1:3, ], factor(label),
    kernel = kernel_gaussian(1), bias = 1, noise = 0.2, scale = FALSE,
    method = "hmc", seed = 3, control = mcmc_control(1, 100, 30000)
  )
  at <- exact_x[4, , drop = FALSE]
  p <- class_draws(fit, at, posterior_pool(fit), TRUE)[1, , ]
  se <- apply(p, 2, function(v) {
    stats::sd(colMeans(matrix(v, ncol = 50))) / sqrt(50)
  })
  z <- (colMeans(p) - exact$mean) / sqrt(se^2 + exact$se^2)
  expect_lt(max(abs(z)), batch_limit(3))
})
