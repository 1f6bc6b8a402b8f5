# kgs(method = "leapfrog"): functions with noise, nugget and bandwidths learned.
#
# Null of each comparison with exact values: the mean of the draws is normal
# around the exact one with the Monte-Carlo standard error of package posterior.
# At most 20 comparisons per test and a bound of 5 give a false alarm with
# probability below 2e-5. Seen to fail on: the volume of whitening left out, the
# log s term of the centred move left out, autoregressive steps without their
# correction, rates without their Jacobian, also on lines. With three classes:
# the common function of another variance, or not drawn, in either move; the
# volume without that of the kernel, or of one class; the prior or H' missing in
# slopes; the size of w that of all functions; the information with a term too
# many.

# E[q^e (1 - q)^(m - e) q^k] under a Beta prior below 1/2
rate_moment <- function(e, m, a, b, k = 0) {
  log_mass <- function(a, b) stats::pbeta(0.5, a, b, log.p = TRUE) + lbeta(a, b)
  exp(log_mass(a + e + k, b + m - e) - log_mass(a, b))
}

#' Exact posterior of two classes with a Gaussian kernel, m points of one
#' predictor, nugget, rate and bandwidth learned
#' @return Means: `log_s`, `h` (of the log inverse bandwidth), `q`, `wrong`
#'   (probabilities by datum).
exact_noisy <- function(x, sign, prior, bandwidth, a, b, bias = 1, n = 7) {
  rule <- gauss_hermite(n)
  of_h <- if (prior$spread > 0) rule else list(x = 0, w = 1)
  m <- length(x)
  wrong <- all_patterns(m)
  e <- rowSums(wrong)
  out <- 0
  for (i in seq_len(n)) for (j in seq_along(of_h$x)) {
    log_s <- -log(prior$nugget) / 2 + prior$nugget_sd / 2 * rule$x[[i]]
    inverse <- exp(prior$spread * of_h$x[[j]]) / bandwidth
    gram <- exp(-outer(x, x, "-")^2 * inverse^2 / 2) + bias
    signs <- orthant_prior(exp(2 * log_s) * gram + diag(m))
    half <- seq_len(nrow(wrong) / 2) # the others are their opposites
    p <- apply(wrong[half, , drop = FALSE], 1, function(flip) {
      signs(ifelse(flip, -sign, sign))
    })
    p <- c(p, rev(p)) * rule$w[[i]] * of_h$w[[j]]
    joint <- p * rate_moment(e, m, a, b)
    out <- out + c(
      total = sum(joint), log_s = sum(joint) * log_s,
      h = sum(joint) * of_h$x[[j]], q = sum(p * rate_moment(e, m, a, b, 1)),
      wrong = unname(colSums(joint * wrong))
    )
  }
  structure(out[-1] / out[[1]], log_evidence = log(out[[1]]))
}

noisy_example <- function(m = 4) {
  x <- c(-1.1, -0.3, 0.4, 1.3)[seq_len(m)]
  list(x = x, sign = c(1, -1, 1, 1)[seq_len(m)])
}

noisy_fit <- function(d, kernel = kernel_gaussian("learn"), nugget = "learn",
                      noise = noise_beta(2, 6), iter = 8000, seed = 11, ...) {
  kgs(matrix(d$x, dimnames = list(NULL, "x")), factor(d$sign),
    kernel = kernel, nugget = nugget, noise = noise, scale = FALSE,
    method = "leapfrog", seed = seed, progress = FALSE,
    control = mcmc_control(
      chains = 4, warmup = 300, iter = iter
    ), ...
  )
}

quietly <- function(expr) suppressMessages(suppressWarnings(expr))

# The same posterior from other sites and another proposal: they must not matter
distorted <- function(fit) {
  noisy <- fit$settings$noisy
  noisy$sites$information <- 20 * noisy$sites$information + c(1, 5)
  noisy$sites$slope <- noisy$sites$slope + 1
  noisy$proposal$centre <- noisy$proposal$centre + 0.8
  noisy$proposal$slope <- noisy$proposal$slope - 0.5
  noisy$proposal$root <- 0.6 * noisy$proposal$root
  fit$settings$noisy <- noisy
  fit$runs <- vector("list", length(fit$runs))
  fit$status <- "started"
  fit <- sealed(fit)
  quietly(run_fit(fit, FALSE))
}

# By how many standard errors means of chains (matrices) differ from `exact`
z_of <- function(chains, exact) {
  (mean(chains) - exact) / posterior::mcse_mean(chains)
}

noisy_chains <- function(fit) {
  runs <- lapply(fit$runs, `[[`, "draws")
  column <- function(name) {
    vapply(runs, function(d) d[[name]], numeric(length(runs[[1]][[name]])))
  }
  list(
    log_s = column("log_s"), q = column("rates"),
    log_inverse = column("log_inverse"), log_lik = column("log_lik")
  )
}

expect_law <- function(fit, d, exact) {
  chains <- noisy_chains(fit)
  expect_lt(abs(z_of(chains$log_s, exact[["log_s"]])), 5)
  expect_lt(abs(z_of(chains$q, exact[["q"]])), 5)
  if (!is.null(fit$settings$bandwidth)) {
    h <- (chains$log_inverse + log(fit$settings$bandwidth)) / 0.6
    expect_lt(abs(z_of(h, exact[["h"]])), 5)
  }
  # Their sums are chains; the single ones have no chain but a mean.
  by_class <- vapply(0:1, function(c) {
    wrong <- vapply(fit$runs, function(run) {
      run$draws$wrong[seq(c + 1, by = 2, length.out = 8000)]
    }, numeric(8000))
    of <- d$sign == 2 * c - 1
    z_of(wrong, sum(exact[paste0("wrong", which(of))]))
  }, 0)
  expect_lt(max(abs(by_class)), 5)
  flips <- label_noise(fit)$probability
  expect_lt(max(abs(flips - exact[paste0("wrong", 1:4)])), 0.02)
}

test_that("the nugget, the rate and a bandwidth have their law, m = 4", {
  d <- noisy_example()
  prior <- kgs_prior(nugget = 0.3, nugget_sd = 1.4, bandwidth_sd = 0.6)
  fit <- noisy_fit(d, prior = prior)
  prior$spread <- 0.6
  exact <- exact_noisy(d$x, d$sign, prior, fit$settings$bandwidth, 2, 6)
  for (fit in list(fit, distorted(fit))) expect_law(fit, d, exact)
})

test_that("how the scale follows bandwidths does not matter", {
  d <- noisy_example()
  prior <- kgs_prior(nugget = 0.3, nugget_sd = 1.4, bandwidth_sd = 0.6)
  fit <- quietly(noisy_fit(d, prior = prior, iter = 10))
  for (k in seq_along(fit$runs)) {
    fit$runs[[k]]$levels[[1]]$slope[] <- -0.7
    fit <- sealed(fit)
  }
  fit <- quietly(update(fit, iter = 7990, progress = FALSE))
  prior$spread <- 0.6
  exact <- exact_noisy(d$x, d$sign, prior, fit$settings$bandwidth, 2, 6)
  expect_law(fit, d, exact)
})

test_that("with a given kernel the nugget and the rate have their law", {
  d <- noisy_example()
  prior <- kgs_prior(nugget = 0.3, nugget_sd = 1.4)
  fit <- noisy_fit(d, kernel = kernel_gaussian(0.9), prior = prior)
  prior$spread <- 0
  exact <- exact_noisy(d$x, d$sign, prior, 0.9, 2, 6)
  for (fit in list(fit, distorted(fit))) expect_law(fit, d, exact)
})

test_that("the evidence is exact, and its error is its spread over seeds", {
  d <- noisy_example()
  prior <- kgs_prior(nugget = 0.3, nugget_sd = 1.4, bandwidth_sd = 0.6)
  fit <- noisy_fit(d, prior = prior, iter = 1000)
  prior$spread <- 0.6
  exact <- exact_noisy(d$x, d$sign, prior, fit$settings$bandwidth, 2, 6)
  exact <- attr(exact, "log_evidence")
  estimates <- lapply(1:20, function(seed) {
    fit <- quietly(noisy_fit(d, prior = prior, iter = 300, seed = seed))
    evidence(fit, seed = seed)
  })
  estimate <- vapply(estimates, `[[`, 0, "log_evidence")
  se <- vapply(estimates, `[[`, 0, "mc_se")
  # Student's t with 19 degrees of freedom: P(|t| > 5) = 8e-5
  expect_lt(abs(mean(estimate) - exact) / (sd(estimate) / sqrt(20)), 5)
  # The root of chi-square_19 / 19 is in (.5, 1.7) with probability .9999; the
  # jackknife over 20 stretches adds a little.
  expect_gt(sd(estimate) / mean(se), 0.45)
  expect_lt(sd(estimate) / mean(se), 1.9)
  expect_error(evidence(fit, iter = 10), class = "kb_error_argument")
})

test_that("the evidence with rates by class is that of draws from the prior", {
  d <- noisy_example()
  fit <- noisy_fit(d,
    kernel = kernel_gaussian(0.8), nugget = 0.3, noise = noise_class(2, 6),
    iter = 1000
  )
  set.seed(1)
  n <- 1e5
  rates <- matrix(rbeta(2 * n, 2, 6), n)
  rates <- rates[rowSums(rates) < 1, ]
  gram <- exp(-outer(d$x, d$x, "-")^2 / (2 * 0.8^2)) + 1
  f <- matrix(rnorm(4 * nrow(rates)), ncol = 4) %*% chol(gram) / sqrt(0.3)
  likelihood <- 1
  for (i in 1:4) {
    up <- pnorm(f[, i])
    p <- rates[, 1] * (1 - up) + (1 - rates[, 2]) * up
    likelihood <- likelihood * if (d$sign[[i]] > 0) p else 1 - p
  }
  known <- mean(likelihood)
  z <- evidence(fit, seed = 1)
  se <- sqrt(z$mc_se^2 + var(likelihood) / nrow(rates) / known^2)
  expect_lt(abs(z$log_evidence - log(known)) / se, 5)
})

test_that("a weight of 2 is a row that comes twice", {
  moons <- sim_moons(40, flips = 0.1, seed = 3)
  ask <- function(data, ...) {
    kgs(y ~ x1 + x2, data,
      kernel = kernel_gaussian(0.7), nugget = "learn", scale = FALSE, rank = 40,
      seed = 1, progress = FALSE,
      control = mcmc_control(chains = 4, warmup = 200, iter = 1500), ...
    )
  }
  twice <- ask(rbind(moons, moons))
  fits <- list(
    ask(transform(moons, w = 2), weights = w),
    ask(moons, class_weights = c(`1` = 2, `0` = 2))
  )
  new <- sim_moons(8, seed = 6)
  for (fit in fits) {
    # Standard errors are below .01.
    expect_lt(max(abs(
      predict(fit, new, type = "prob") - predict(twice, new, type = "prob")
    )), 0.06)
    expect_lt(abs(
      mean(predict(fit, new, type = "log_score", newy = new$y)) -
        mean(predict(twice, new, type = "log_score", newy = new$y))
    ), 0.03)
  }
  expect_output(print(fits[[1]]), "40 weighted")
  expect_error(update(fits[[1]], newdata = moons[1:2, ]),
    class = "kb_error_not_defined"
  )
  expect_error(kgs(y ~ x1 + x2, moons, nugget = 0, weights = 1:40, seed = 1),
    class = "kb_error_argument"
  )
  expect_error(kgs(y ~ x1 + x2, moons, class_weights = c(a = 1), seed = 1,
    nugget = "learn"
  ), class = "kb_error_argument")
})

test_that("predictions of learned kernels have joint orthants", {
  d <- noisy_example(2)
  prior <- kgs_prior(nugget = 0.3, nugget_sd = 1.4, bandwidth_sd = 0.6)
  fit <- noisy_fit(d, prior = prior)
  new <- 0.9
  rule <- gauss_hermite(9)
  wrong <- all_patterns(2)
  total <- 0
  for (i in 1:9) for (j in 1:9) {
    s <- exp(-log(0.3) / 2 + 0.7 * rule$x[[i]])
    inverse <- exp(0.6 * rule$x[[j]]) / fit$settings$bandwidth
    at <- c(d$x, new)
    gram <- exp(-outer(at, at, "-")^2 * inverse^2 / 2) + 1
    signs <- orthant_prior(s^2 * gram + diag(3))
    weight <- rule$w[[i]] * rule$w[[j]] * rate_moment(rowSums(wrong), 2, 2, 6)
    for (side in c(-1, 1)) {
      p <- apply(wrong, 1, function(flip) {
        signs(c(ifelse(flip, -d$sign, d$sign), side))
      })
      total <- total + c(all = sum(p * weight), up = (side > 0) *
        sum(p * weight))
    }
  }
  p <- predict(fit, matrix(new, dimnames = list(NULL, "x")),
    type = "true_prob", complement = TRUE
  )
  pool <- posterior_pool(fit)
  draws <- class_draws(fit, matrix(new, dimnames = list(NULL, "x")), pool, TRUE)
  expect_lt(abs(z_of(matrix(draws[1, , 2], ncol = 4), total[["up"]] /
    total[["all"]])), 5)
  expect_equal(p[[2]], mean(draws[1, , 2]))
})

test_that("rates by class have the law given by quadrature", {
  d <- noisy_example()
  fit <- noisy_fit(d,
    kernel = kernel_gaussian(0.8), nugget = 0.3, noise = noise_class(2, 6)
  )
  gram <- exp(-outer(d$x, d$x, "-")^2 / (2 * 0.8^2)) + 1
  signs <- orthant_prior(gram + diag(0.3, 4))
  wrong <- all_patterns(4)
  p <- apply(wrong, 1, function(flip) signs(ifelse(flip, -d$sign, d$sign)))
  grid <- (seq_len(300) - 0.5) / 300
  rates <- expand.grid(low = grid, high = grid)
  rates <- rates[rowSums(rates) < 1, ]
  prior <- dbeta(rates$low, 2, 6) * dbeta(rates$high, 2, 6)
  # A label is wrong at the rate of the class that f is in.
  likelihood <- 0
  for (k in seq_len(nrow(wrong))) {
    truth <- ifelse(wrong[k, ], -d$sign, d$sign)
    own <- ifelse(truth > 0, 2, 1)
    each <- 1
    for (i in 1:4) {
      rate <- rates[[own[[i]]]]
      each <- each * if (wrong[k, i]) rate else 1 - rate
    }
    likelihood <- likelihood + p[[k]] * each
  }
  weight <- prior * likelihood
  exact <- c(sum(weight * rates$low), sum(weight * rates$high)) / sum(weight)
  for (c in 1:2) {
    chains <- vapply(fit$runs, function(run) {
      run$draws$rates[seq(c, by = 2, length.out = 8000)]
    }, numeric(8000))
    expect_lt(abs(z_of(chains, exact[[c]])), 5)
  }
})

test_that("three classes agree with draws from the prior", {
  x <- c(-1, 0.2, 0.8, 1.5)
  y <- factor(c("a", "b", "c", "b"))
  prior <- kgs_prior(nugget = 0.3, nugget_sd = 1.4, bandwidth_sd = 0.6)
  fit <- kgs(matrix(x), y,
    kernel = kernel_gaussian("learn"), nugget = "learn", prior = prior,
    noise = noise_beta(2, 6), scale = FALSE, seed = 3, progress = FALSE,
    control = mcmc_control(chains = 4, warmup = 300, iter = 2000)
  )
  set.seed(1)
  n <- 2e5
  log_s <- -log(0.3) / 2 + 0.7 * rnorm(n)
  bins <- sort(rnorm(400))
  at <- rep(seq_along(bins), each = n / 400)
  q <- qbeta(runif(n) * pbeta(2 / 3, 2, 6), 2, 6)
  label <- as.integer(y)
  f <- array(0, c(n, 4, 3))
  for (k in seq_along(bins)) {
    inverse <- exp(0.6 * bins[[k]]) / fit$settings$bandwidth
    root <- chol(exp(-outer(x, x, "-")^2 * inverse^2 / 2) + 1 + diag(1e-9, 4))
    rows <- which(at == k)
    for (c in 1:3) {
      f[rows, , c] <- matrix(rnorm(4 * length(rows)), ncol = 4) %*% root
    }
  }
  likelihood <- 1
  for (i in 1:4) {
    p <- exp(pi / sqrt(6) * exp(log_s) * f[, i, ])
    p <- p[, label[[i]]] / rowSums(p)
    likelihood <- likelihood * ((1 - q) * p + q / 2 * (1 - p))
  }
  exact <- function(v) {
    mean <- sum(likelihood * v) / sum(likelihood)
    se <- sqrt(sum(likelihood^2 * (v - mean)^2)) / sum(likelihood)
    c(mean, se)
  }
  check <- function(chains, v) {
    known <- exact(v)
    se <- sqrt(posterior::mcse_mean(chains)^2 + known[[2]]^2)
    expect_lt(abs(mean(chains) - known[[1]]) / se, 5)
  }
  chains <- noisy_chains(fit)
  check(chains$log_s, log_s)
  check(chains$q, q)
  check(chains$log_lik, log(likelihood))
  # Strata of h are those of `bins`, whose own error is not counted.
  h <- (chains$log_inverse + log(fit$settings$bandwidth)) / 0.6
  expect_lt(abs(mean(h) - exact(bins[at])[[1]]), 0.1)
})

#' Exact posterior of three classes with a Gaussian kernel, two distinct points
#' of one predictor, nugget and bandwidth learned, a rate that is known
#'
#' The errors of the rule are below .003.
#' @return Means: `log_s`, `h`, `log_lik` and `squares`, of w'w.
exact_classes <- function(d, prior, bandwidth, rate) {
  rule <- gauss_hermite(7)
  grid <- normal_grid(4, 13)
  contrasts <- cbind(c(1, -1, 0) / sqrt(2), c(1, 1, -2) / sqrt(6))
  points <- unique(d$x)
  own <- match(d$x, points)
  out <- 0
  for (i in 1:7) for (j in 1:7) {
    log_s <- -log(prior$nugget) / 2 + prior$nugget_sd / 2 * rule$x[[i]]
    inverse <- exp(prior$bandwidth_sd * rule$x[[j]]) / bandwidth
    root <- t(chol(exp(-outer(points, points, "-")^2 * inverse^2 / 2) + 1))
    log_lik <- 0
    for (k in 1:2) {
      f <- cbind(grid$x[, 1:2] %*% root[k, ], grid$x[, 3:4] %*% root[k, ])
      p <- exp(pi / sqrt(6) * exp(log_s) * tcrossprod(f, contrasts))
      p <- rate / 2 + (1 - 1.5 * rate) * p / rowSums(p)
      log_lik <- log_lik + log(p)[, d$label[own == k]] %*% d$weight[own == k]
    }
    mass <- grid$w * exp(log_lik) * rule$w[[i]] * rule$w[[j]]
    out <- out + c(
      total = sum(mass), log_s = sum(mass) * log_s, h = sum(mass) * rule$x[[j]],
      log_lik = sum(mass * log_lik), squares = sum(mass * rowSums(grid$x^2))
    )
  }
  out[-1] / out[[1]]
}

# Other approximations for each chain, after the warmup: they must not matter
distort_levels <- function(fit) {
  for (k in seq_along(fit$runs)) {
    at <- fit$runs[[k]]$levels[[1]]
    factors <- rep_len(c(0.3, 4, 1), ncol(at$precision))
    at$precision <- at$precision * rep(factors, each = nrow(at$precision))
    at$pull <- at$pull + 0.7
    at$drift <- at$drift + 0.5
    at$slope <- at$slope - 0.7
    fit$runs[[k]]$levels[[1]] <- at
    fit <- sealed(fit)
  }
  fit
}

test_that("three classes have the law given by quadrature", {
  d <- list(
    x = rep(c(-0.5, 0.8), each = 3), label = rep(1:3, 2),
    weight = c(5, 2, 1, 1, 2, 4)
  )
  prior <- kgs_prior(nugget = 8, nugget_sd = 0.8, bandwidth_sd = 0.6)
  start <- quietly(kgs(matrix(d$x), factor(d$label),
    weights = d$weight, kernel = kernel_gaussian("learn"), nugget = "learn",
    prior = prior, noise = 0.1, scale = FALSE, seed = 3, progress = FALSE,
    control = mcmc_control(chains = 4, warmup = 200, iter = 10)
  ))
  exact <- exact_classes(d, prior, start$settings$bandwidth, 0.1)
  for (fit in list(start, distort_levels(start))) {
    fit <- quietly(update(fit, iter = 4990, progress = FALSE))
    chains <- noisy_chains(fit)
    squares <- vapply(fit$runs, function(run) {
      colSums(matrix(run$draws$w^2, 4))
    }, numeric(5000))
    h <- (chains$log_inverse + log(fit$settings$bandwidth)) / 0.6
    expect_lt(abs(z_of(chains$log_s, exact[["log_s"]])), 5)
    expect_lt(abs(z_of(h, exact[["h"]])), 5)
    expect_lt(abs(z_of(chains$log_lik, exact[["log_lik"]])), 5)
    expect_lt(abs(z_of(squares, exact[["squares"]])), 5)
  }
})

test_that("trajectories of three classes leave the prior as it is", {
  # Labels that weigh nothing, and another approximation for each function
  fit <- quietly(kgs(matrix(seq(-2, 2, length.out = 6)), factor(rep(1:3, 2)),
    weights = rep(1e-6, 6), kernel = kernel_gaussian(0.5), nugget = 1,
    noise = 0.1, scale = FALSE, seed = 3, progress = FALSE,
    control = mcmc_control(chains = 4, warmup = 19, iter = 10)
  ))
  for (k in seq_along(fit$runs)) {
    at <- fit$runs[[k]]$levels[[1]]
    at$precision[] <- rep(c(0.2, 10, 1), each = 6)
    at$pull <- at$pull + 0.7
    at$step <- log(0.4)
    fit$runs[[k]]$levels[[1]] <- at
    fit <- sealed(fit)
  }
  fit <- quietly(update(fit, iter = 3990, progress = FALSE))
  w <- lapply(fit$runs, function(run) array(run$draws$w, c(6, 2, 4000)))
  mean_of <- function(value) vapply(w, value, numeric(4000))
  moments <- list(
    mean_of(function(w) colSums(w[, 1, ])),
    mean_of(function(w) colSums(w[, 1, ]^2)),
    mean_of(function(w) colSums(w[, 2, ]^2)),
    mean_of(function(w) colSums(w[, 1, ] * w[, 2, ]))
  )
  exact <- c(0, 6, 6, 0)
  for (j in 1:4) expect_lt(abs(z_of(moments[[j]], exact[[j]])), 5)
})

test_that("trajectories follow the slope of the posterior", {
  # Steps that are accepted are below .01 where the slope is another, here above
  # .2.
  three <- iris[seq(1, 150, by = 4), ]
  for (kernel in list(kernel_gaussian(1), kernel_gaussian("learn"))) {
    fit <- quietly(kgs(Species ~ ., three,
      kernel = kernel, nugget = "learn", seed = 1, progress = FALSE,
      control = mcmc_control(chains = 2, warmup = 150, iter = 2)
    ))
    for (run in fit$runs) expect_gt(run$levels[[1]]$step, log(0.1))
  }
})

#' Log probabilities of labels, data x classes, from functions of all classes
log_labels <- function(f, rate) {
  classes <- max(ncol(f), 2)
  p <- if (ncol(f) == 1) cbind(pnorm(-f), pnorm(f)) else {
    exp(pi / sqrt(6) * f) / rowSums(exp(pi / sqrt(6) * f))
  }
  log(rate / (classes - 1) * (1 - p) + (1 - rate) * p)
}

test_that("the information is the mean square of derivatives", {
  set.seed(1)
  weight <- c(1, 2, 0.5, 1, 3, 1, 1)
  features <- matrix(rnorm(21), 7)
  for (classes in c(2, 3, 5)) for (rate in c(0, 0.2)) {
    label <- rep_len(seq_len(classes), 7)
    config <- list(
      noise = list(kind = "fixed", rate = rate),
      scale = list(learned = FALSE, log_s = 0.7, sd = 1), learned = NULL,
      sites = NULL, proposal = list(
        centre = numeric(), slope = numeric(), root = matrix(0, 0, 0)
      ), start = list(log_s = 0.7, sd = 0, rate = 0.1)
    )
    sites <- kgs_sites_cpp(config, list(
      points = features, label = label - 1L, classes = classes, weight = weight
    ), numeric())
    to_all <- if (classes == 2) diag(1) else t(helmert(classes))
    f <- sites$eta %*% to_all
    p <- exp(log_labels(f, rate))
    slopes <- lapply(seq_len(ncol(f)), function(c) {
      d <- 1e-5 * (col(f) == c)
      (log_labels(f + d, rate) - log_labels(f - d, rate)) / 2e-5
    })
    expect_equal(
      sites$information,
      matrix(weight * vapply(slopes, function(d) {
        rowSums(p * d^2)
      }, numeric(7)), 7),
      tolerance = 1e-6
    )
    own <- weight * vapply(slopes, function(d) {
      d[cbind(seq_along(label), label)]
    }, numeric(7))
    expect_equal(sites$slope %*% to_all, matrix(own, 7), tolerance = 1e-6)
    # At the mode of w
    expect_equal(
      sites$eta, exp(1.4) * tcrossprod(features) %*% sites$slope,
      tolerance = 0.1
    )
  }
})

test_that("the likelihood of a draw is the product of its predictions", {
  three <- iris[seq(1, 150, by = 4), ]
  two <- sim_moons(40, flips = 0.1, seed = 1)
  fits <- list(
    quietly(kgs(Species ~ ., three,
      kernel = kernel_gaussian("ard"), nugget = "learn", seed = 1,
      progress = FALSE, control = mcmc_control(1, 5, 5)
    )),
    quietly(kgs(y ~ x1 + x2, two,
      kernel = kernel_gaussian("median"), nugget = "learn", seed = 1,
      noise = noise_class(1, 9), progress = FALSE, control = mcmc_control(
        1, 5, 5
      )
    ))
  )
  for (fit in fits) {
    pool <- posterior_pool(fit)
    p <- class_draws(fit, fit$data$x, pool, FALSE)
    p <- noisy_draws(fit, p, pool)
    label <- as.integer(fit$data$y)
    each <- vapply(seq_along(label), function(i) p[i, , label[[i]]], numeric(5))
    expect_equal(rowSums(log(each)), fit$runs[[1]]$draws$log_lik)
  }
})

test_that("a given nugget agrees with the sampler in blocks", {
  moons <- sim_moons(60, flips = 0.1, seed = 4)
  both <- lapply(c("block", "leapfrog"), function(method) {
    kgs(y ~ x1 + x2, moons,
      kernel = kernel_gaussian(0.7), nugget = 0.3, method = method,
      rank = 60, noise = 0.1, seed = 5, progress = FALSE,
      control = mcmc_control(chains = 4, warmup = 300, iter = 2000)
    )
  })
  new <- sim_moons(8, seed = 6)
  p <- lapply(both, predict, new, type = "true_prob", complement = TRUE)
  # Standard errors are below .006: 8 comparisons at 4 of them, both ways.
  expect_lt(max(abs(p[[1]] - p[[2]])), 0.03)
})

test_that("the approximate evidence has the derivatives that it says", {
  set.seed(2)
  x <- matrix(rnorm(60), 20, 3)
  kernels <- list(
    kernel_gaussian("ard"), kernel_laplace("ard"),
    kernel_matern("ard", nu = 1.5), kernel_matern("ard", nu = 2.5),
    kernel_rational_quadratic("ard", alpha = 2)
  )
  for (kernel in kernels) {
    for (classes in 2:3) {
      y <- factor(rep_len(letters[seq_len(classes)], 20))
      fit <- quietly(kgs(x, y,
        kernel = kernel, nugget = "learn", rank = 8, seed = 1,
        progress = FALSE, control = mcmc_control(
          chains = 1, warmup = 1, iter = 1
        )
      ))
      settings <- fit$settings
      data <- noisy_data(settings, scaling_x(settings$scaling, x), y)
      at <- c(0.5, -1.5, rnorm(4, sd = 0.3))
      value <- function(at) kgs_mode_cpp(settings$noisy, data, at)$value
      slope <- kgs_mode_cpp(settings$noisy, data, at)$slope
      numeric <- vapply(seq_along(at), function(i) {
        d <- replace(0 * at, i, 1e-5)
        (value(at + d) - value(at - d)) / 2e-5
      }, 0)
      expect_equal(slope, numeric, tolerance = 1e-5)
    }
  }
})

test_that("chains continue as if they had not stopped", {
  moons <- sim_moons(40, flips = 0.1, seed = 1)
  run <- function(iter) {
    quietly(kgs(y ~ x1 + x2, moons,
      kernel = kernel_gaussian("ard"), nugget = "learn", seed = 2,
      progress = FALSE, control = mcmc_control(
        chains = 2, warmup = 20, iter = iter
      )
    ))
  }
  whole <- run(40)
  parts <- quietly(update(run(15), iter = 25, progress = FALSE))
  expect_identical(
    lapply(whole$runs, `[[`, "draws"), lapply(parts$runs, `[[`, "draws")
  )
})

test_that("what cannot be learned is refused", {
  moons <- sim_moons(30, seed = 1)
  ask <- function(...) kgs(y ~ x1 + x2, moons, seed = 1, ...)
  expect_error(ask(nugget = "learn", method = "hmc"),
    class = "kb_error_argument"
  )
  expect_error(ask(kernel = kernel_gaussian("ard"), nugget = 0),
    class = "kb_error_argument"
  )
  expect_error(ask(kernel = kernel_gaussian("ard") + kernel_linear(),
    nugget = "learn"
  ), class = "kb_error_argument")
  expect_error(ask(nugget = "median"), class = "kb_error_argument")
  expect_error(ask(nugget = "learn", prior = 1), class = "kb_error_argument")
  expect_error(kgs_prior(nugget = 0), class = "kb_error_argument")
})

test_that("pivots also span kernels that are narrower than the median", {
  set.seed(1)
  x <- matrix(runif(300, -2, 2))
  y <- factor(sin(9 * x[, 1]) > 0)
  fit <- quietly(kgs(x, y,
    kernel = kernel_gaussian("learn"), nugget = "learn", seed = 1,
    progress = FALSE, control = mcmc_control(
      chains = 1, warmup = 100, iter = 100
    )
  ))
  new <- matrix(seq(-1.9, 1.9, length.out = 200))
  # A tenth of the points at the median bandwidth: .11; all in all .02.
  expect_lt(mean(predict(fit, new) != (sin(9 * new[, 1]) > 0)), 0.07)
  expect_lt(fit$settings$basis$unexplained, 0.01)
})

test_that("chains move where the log likelihood is far below the floor", {
  # Labels that cannot be wrong, and a nugget that makes each of them certain.
  set.seed(1)
  x <- matrix(stats::rnorm(60), 30)
  y <- factor(x[, 1] > 0)
  for (nugget in c(1e-4, 1e-6)) {
    fit <- quietly(kgs(x, y,
      kernel = kernel_gaussian(1), noise = 0, nugget = nugget, seed = 1,
      progress = FALSE, control = mcmc_control(
        chains = 4, warmup = 200, iter = 100
      )
    ))
    for (run in fit$runs) {
      expect_gt(length(unique(run$draws$log_lik)), 50)
      expect_gt(mean(run$draws$log_lik), -30)
    }
  }
})

test_that("rows that arrive later get pivots like those of a fresh fit", {
  moons <- sim_moons(400, seed = 1)
  ask <- function(rows) {
    quietly(kgs(y ~ x1 + x2, moons[rows, ],
      kernel = kernel_gaussian(0.3), nugget = 0.05, rank = 300, seed = 1,
      progress = FALSE, control = mcmc_control(chains = 1, warmup = 2, iter = 2)
    ))
  }
  whole <- ask(1:400)
  grown <- quietly(update(ask(1:50), newdata = moons[51:400, ], iter = 2))
  expect_lt(
    grown$settings$basis$unexplained, 2 * whole$settings$basis$unexplained
  )
})

test_that("a rate starts where its slices can move it", {
  moons <- sim_moons(40, seed = 1)
  fit <- quietly(kgs(y ~ x1 + x2, moons,
    kernel = kernel_gaussian("median"), nugget = "learn",
    noise = noise_beta(0.01, 1e4), seed = 1, progress = FALSE,
    control = mcmc_control(chains = 2, warmup = 50, iter = 50)
  ))
  for (run in fit$runs) expect_gt(length(unique(run$draws$rates)), 10)
})
