# The evidence of kgs() against exact probabilities and draws from the prior.
#
# Seen to fail, one mutant at a time: a mirror for three classes, costs 1.1
# times too large, the number of classes or the prior of the rate left out, rows
# without features counted among those that can be right, the nugget left out, a
# path shifted by one rate, a standard error of a quarter and four times its
# size, costs spaced by the divergence instead of its root, means of errors that
# rise, the least for the most probable rate.

evidence_points <- matrix(c(
  0.3, -1.2, 1.1, -0.2, 0.9, 0.1, 0.4, -1, -0.6, 1.3, -0.5, 0.7
), 6)
evidence_classes <- c("a", "b", "b", "a", "b", "b")

#' A fit whose own chains do not matter, on unscaled points
evidence_fit_kgs <- function(x = evidence_points, y = evidence_classes,
                             nugget = 0, method = "hmc", ...) {
  suppressWarnings(kgs(x, y,
    nugget = nugget, method = method, scale = FALSE,
    control = mcmc_control(1, 1, 2), seed = 1, ...
  ))
}

#' Probabilities of numbers of errors on the circle of directions in the plane,
#' from the arcs between the walls of labelled points
arc_density <- function(x, sign) {
  roots <- sort((atan2(x[, 2], x[, 1]) + pi / 2) %% pi)
  roots <- c(roots, roots + pi)
  arcs <- diff(c(roots, roots[[1]] + 2 * pi))
  middle <- roots + arcs / 2
  errors <- colSums(sign * (x %*% rbind(cos(middle), sin(middle))) <= 0)
  vapply(0:nrow(x), function(e) sum(arcs[errors == e]), 0) / (2 * pi)
}

#' The same for draws from the prior
#' @param gram Gram matrix of the points, including the nugget.
drawn_density <- function(gram, label, classes, n) {
  m <- nrow(gram)
  root <- t(chol(gram))
  f <- lapply(seq_len(if (classes == 2) 1 else classes), function(c) {
    root %*% matrix(stats::rnorm(m * n), m)
  })
  right <- if (classes == 2) {
    (f[[1]] > 0) == (label == 2)
  } else {
    best <- max.col(vapply(f, as.vector, numeric(m * n)))
    matrix(best == label, m)
  }
  tabulate(colSums(!right) + 1, m + 1) / n
}

signs <- function(y) ifelse(factor(y) == levels(factor(y))[[2]], 1, -1)

rate_likelihood <- function(e, m, q, classes = 2) {
  (q / (classes - 1))^e * (1 - q)^(m - e)
}

#' By how many standard errors an evidence is off: from the spread of its
#' ladders, of which there are 20 (t with 19 degrees of freedom at worst, |t| >
#' 8 has probability 2e-7), and from that of the truth
expect_evidence <- function(z, truth, se = 0, label = NULL) {
  own <- stats::sd(z$replicates) / sqrt(length(z$replicates))
  score <- (z$log_evidence - truth) / sqrt(own^2 + se^2)
  expect_lt(abs(score), 8, label = label)
  expect_lt(own, 0.05)
}

many_ladders <- function(fit, iter = 200, chains = 20, ...) {
  evidence(fit, warmup = 20, iter = iter, chains = chains, seed = 3, ...)
}

# Exact ------------------------------------------------------------------------

test_that("in the plane it is a sum over arcs", {
  withr::local_seed(1)
  angle <- stats::runif(12, 0, 2 * pi)
  x <- cbind(cos(angle), sin(angle))
  y <- ifelse(x[, 1] + 0.3 * x[, 2] > 0, "b", "a")
  y[c(2, 7)] <- ifelse(y[c(2, 7)] == "a", "b", "a")
  g <- arc_density(x, signs(y))
  m <- length(y)
  at <- function(q) sum(g * rate_likelihood(0:m, m, q))
  fit <- evidence_fit_kgs(x, y, kernel = kernel_linear(), bias = 0)
  q <- c(0, 0.02, 0.1, 0.3, 0.5)
  z <- many_ladders(fit, q = q)
  expect_equal(
    exp(z$log_g)[g > 0], g[g > 0],
    tolerance = 0.1
  )
  expect_identical(z$log_g > -Inf, g > 0)
  expect_identical(z$path$q, q)
  exact <- log(vapply(q, at, 0))
  # By the jackknife over 100 stretches: |t| > 6 has probability 1e-8.
  inside <- 2:4
  score <- (z$path$log_evidence - exact)[inside] / z$path$mc_se[inside]
  expect_lt(max(abs(score)), 6)
  # No direction is without errors; at 1/2 all labels are equally likely.
  expect_identical(z$version_space$log_volume, exact[[1]])
  expect_identical(z$version_space$mc_se, NA_real_)
  expect_match(z$note, "No direction")
  expect_equal(z$path$log_evidence[[5]], -m * log(2))
  whole <- 2 * stats::integrate(Vectorize(at), 0, 0.5, rel.tol = 1e-10)$value
  expect_evidence(z, log(whole))
  best <- stats::optimise(at, c(0, 0.5), maximum = TRUE, tol = 1e-8)$maximum
  expect_lt(abs(z$rate_mode - best), 0.02)

  # Other priors of the rate, and a known rate.
  prior <- evidence_fit_kgs(x, y,
    kernel = kernel_linear(), bias = 0, noise = noise_beta(2, 9)
  )
  top <- stats::integrate(Vectorize(function(q) {
    at(q) * stats::dbeta(q, 2, 9)
  }), 0, 0.5, rel.tol = 1e-10)$value
  expect_evidence(many_ladders(prior), log(top / stats::pbeta(0.5, 2, 9)))
  known <- evidence_fit_kgs(x, y,
    kernel = kernel_linear(), bias = 0, noise = 0.07
  )
  z <- many_ladders(known, q = 0.07)
  expect_evidence(z, log(at(0.07)))
  expect_identical(z$log_evidence, z$path$log_evidence)
})

test_that("without noise it is the volume of an orthant", {
  x <- evidence_points[c(1, 3, 4), ]
  y <- c("a", "b", "a")
  kernel <- kernel_gaussian(1.5)
  fit <- evidence_fit_kgs(x, y, kernel = kernel, noise = 0)
  gram <- kernel_matrix(kernel + 1, x)
  agree <- stats::cov2cor(gram) * tcrossprod(signs(y))
  volume <- 1 / 8 + sum(asin(agree[lower.tri(agree)])) / (4 * pi)
  z <- many_ladders(fit)
  expect_evidence(z, log(volume))
  expect_identical(z$version_space$log_volume, z$log_evidence)
  expect_identical(z$version_space$mc_se, z$mc_se)
  expect_null(z$note)
})

test_that("a single label, or one that is always wrong, has known evidence", {
  one <- evidence_fit_kgs(
    rbind(1, 2), factor(c("a", "b")), kernel = kernel_linear(), bias = 0
  )
  # Opposite labels in one direction: one is always an error.
  z <- many_ladders(one, iter = 20)
  expect_equal(z$log_g, c(-Inf, 0, -Inf))
  expect_equal(z$log_evidence, log(2 * (1 / 8 - 1 / 24)))

  # A point without features has no right label, whichever it is.
  x <- rbind(evidence_points, 0)
  y <- c(evidence_classes, "a")
  fit <- evidence_fit_kgs(x, y, kernel = kernel_linear(), bias = 0)
  z <- many_ladders(fit)
  g <- c(0, arc_density(evidence_points, signs(evidence_classes)))
  expect_identical(z$log_g > -Inf, g > 0)
  at <- Vectorize(function(q) sum(g * rate_likelihood(0:7, 7, q)))
  expect_evidence(z, log(2 * stats::integrate(at, 0, 0.5)$value))
})

# Draws from the prior ---------------------------------------------------------

test_that("it agrees with a million draws from the prior", {
  kernel <- kernel_gaussian(1)
  gram <- kernel_matrix(kernel + 1, evidence_points)
  three <- c("a", "b", "c", "a", "c", "b")
  cases <- list(
    two = list(evidence_classes, nugget = 0, bias = 1),
    nugget = list(evidence_classes, nugget = 0.6, bias = 1),
    three = list(three, nugget = 0, bias = 1),
    three_nugget = list(three, nugget = 0.6, bias = 1)
  )
  for (name in names(cases)) {
    case <- cases[[name]]
    y <- factor(case[[1]])
    fit <- evidence_fit_kgs(evidence_points, y,
      kernel = kernel, nugget = case$nugget
    )
    classes <- nlevels(y)
    n <- if (classes == 2) 1e6 else 3e5
    g <- withr::with_seed(5, drawn_density(
      gram + diag(case$nugget, 6), as.integer(y), classes, n
    ))
    top <- (classes - 1) / classes
    likelihood <- vapply(0:6, function(e) {
      stats::integrate(function(q) {
        rate_likelihood(e, 6, q, classes)
      }, 0, top)$value / top
    }, 0)
    mean <- sum(g * likelihood)
    se <- sqrt((sum(g * likelihood^2) - mean^2) / n) / mean
    z <- many_ladders(fit)
    expect_evidence(z, log(mean), se, name)
    rate <- rate_likelihood(0:6, 6, 0.1, classes)
    at <- many_ladders(fit, q = 0.1, chains = 5)$path
    off <- at$log_evidence - log(sum(g * rate))
    expect_lt(abs(off) / at$mc_se, 8, label = name)
  }
})

test_that("samplers agree, and the standard error matches 20 seeds", {
  # Null: the ratio of variances is nearly chi-square with 19 degrees of freedom
  # over 19, with probability 1e-5 outside (0.21, 3.1); the bounds allow the
  # jackknife a factor of 1.5 in the standard error.
  moons <- sim_moons(40, flips = 0.1, seed = 1)
  fit <- suppressWarnings(kgs(y ~ x1 + x2, moons,
    kernel = kernel_gaussian(0.5), control = mcmc_control(1, 1, 2), seed = 1,
    nugget = 0
  ))
  runs <- vapply(1:20, function(seed) {
    z <- evidence(fit,
      chains = 2, warmup = 50, iter = 150, q = c(0.02, 0.1), seed = seed
    )
    c(z$log_evidence, z$path$log_evidence, z$mc_se, z$path$mc_se)
  }, numeric(6))
  ratio <- apply(runs[1:3, ], 1, stats::var) / rowMeans(runs[4:6, ]^2)
  expect_gt(min(ratio), 0.21 / 1.5^2)
  expect_lt(max(ratio), 3.1 * 1.5^2)
  mean <- rowMeans(runs)
  for (method in c("circle", "coordinate")) {
    fit$settings$method <- method
    fit <- sealed(fit)
    z <- evidence(fit, chains = 4, iter = 400, q = c(0.02, 0.1), seed = 1)
    off <- c(z$log_evidence, z$path$log_evidence) - mean[1:3]
    se <- sqrt(c(z$mc_se, z$path$mc_se)^2 + mean[4:6]^2 / 20)
    expect_lt(max(abs(off) / se), 7, label = method)
  }
})

# The ladder -------------------------------------------------------------------

test_that("costs are spaced according to the spread of errors", {
  beta <- pilot_costs(100, largest_cost(100, 2))
  expect_identical(beta[[1]], 0)
  expect_equal(utils::tail(beta, 1), log(1e4))
  expect_false(is.unsorted(beta, strictly = TRUE))
  # Independent labels: sd sqrt(m) / (2 cosh(beta / 2)), which integrates to
  # sqrt(m) pi / 2.
  errors <- 100 * stats::plogis(-beta)
  out <- spaced_costs(beta, errors)
  expect_lt(abs(length(out) - 1 - 10 * pi / 2 / 0.7), 2)
  sd <- 5 / cosh(out / 2)
  inner <- seq_len(length(out) - 2)
  far <- (diff(out) * (sd[-1] + sd[-length(sd)]) / 2)[inner]
  expect_lt(max(far) / min(far), 1.5)
  expect_equal(range(out), range(beta))
  expect_length(spaced_costs(beta, errors, 7), 8)
  # Errors that never change, and noisy means.
  flat <- spaced_costs(beta, rep(3, length(beta)))
  expect_false(is.unsorted(flat, strictly = TRUE))
  noisy <- spaced_costs(beta, errors + rep(c(0.5, -0.5), length.out = 31))
  expect_false(is.unsorted(noisy, strictly = TRUE))
})

test_that("a ladder cut anywhere continues unchanged", {
  fits <- list(
    evidence_fit_kgs(), evidence_fit_kgs(nugget = 0.2),
    evidence_fit_kgs(method = "coordinate"),
    evidence_fit_kgs(y = c("a", "b", "c", "a", "c", "b"))
  )
  for (fit in fits) {
    engine <- kgs_ladder_engine(fit, c(0, 0.5, 2), 12, 30, 5)
    expect_identical(
      run_parts(engine, c(7, 3, 1, 31)), run_parts(engine, 42)
    )
  }
})

# Results and refused input ----------------------------------------------------

test_that("the evidence of a fit of kgs() holds and prints its results", {
  fit <- evidence_fit_kgs(kernel = kernel_gaussian(0.3))
  z <- evidence(fit, n_temps = 6, iter = 50, chains = 3, seed = 1)
  expect_s3_class(z, c("kb_evidence_kgs", "kb_evidence"), exact = TRUE)
  expect_length(z$replicates, 3)
  expect_identical(nrow(z$levels), 7L)
  expect_identical(z$levels$swapped[[7]], NA_real_)
  expect_true(all(z$levels$swapped[-7] > 0 & z$levels$swapped[-7] <= 0.5))
  expect_identical(dim(z$path), c(51L, 3L))
  expect_equal(sum(exp(z$log_g)), 1)
  expect_output(print(z), "log evidence.*label noise.*space.*PAC-Bayes")
  again <- evidence(fit, n_temps = 6, iter = 50, chains = 3, seed = 1)
  expect_identical(again, z)
  other <- evidence(fit, n_temps = 6, iter = 50, chains = 3, seed = 2)
  expect_false(other$log_evidence == z$log_evidence)
  # A single stretch gives no error estimate.
  expect_identical(evidence_se(list(1), list(q = 0)), c(NA_real_, NA_real_))
  expect_identical(evidence(fit, q = numeric(), iter = 20)$path$q, numeric())
})

test_that("it is plotted against the rate", {
  withr::local_pdf(NULL)
  z <- evidence(evidence_fit_kgs(), iter = 50, chains = 2, seed = 1)
  expect_identical(expect_invisible(plot(z, main = "evidence")), z)
  curve <- evidence_curve(z)
  expect_equal(mean(curve$posterior) * 0.5, 1, tolerance = 1e-3)
  known <- evidence(evidence_fit_kgs(noise = 0.1), iter = 50, chains = 2)
  expect_invisible(plot(known))
  expect_error(plot(z, pch = 3), class = "kb_error_unknown_argument")
})

test_that("fits without such evidence, and bad arguments, are refused", {
  classed <- evidence_fit_kgs(noise = noise_class())
  expect_error(evidence(classed), class = "kb_error_not_defined")
  fit <- evidence_fit_kgs()
  expect_error(evidence(fit, steps = 2), class = "kb_error_unknown_argument")
  bad <- function(...) {
    expect_error(evidence(fit, ...), class = "kb_error_argument")
  }
  bad(n_temps = 0)
  bad(iter = 0)
  bad(chains = 1.5)
  bad(warmup = -1)
  bad(q = 0.6)
  bad(q = "a")
  bad(seed = -1)
})

test_that("too short a ladder gives an error about overlap", {
  moons <- sim_moons(60, flips = 0.1, seed = 1)
  fit <- suppressWarnings(
    kgs(y ~ x1 + x2, moons,
      nugget = 0, control = mcmc_control(1, 1, 2), seed = 1
    )
  )
  expect_error(
    evidence(fit, n_temps = 1, iter = 10, chains = 2, seed = 1),
    class = "kb_error_overlap"
  )
})
