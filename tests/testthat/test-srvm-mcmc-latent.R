# The batch sampler with latent variables: two classes by probit, and Student's
# noise. Exact answers come from enumeration of all sets with quadrature
# (helper-srvm-stream.R, helper-student.R).
#
# Null of the comparisons: chains are independent and, after the warmup,
# stationary, so that each score is nearly t with 39 degrees of freedom. |z| > 6
# has probability 5e-7; with fewer than 150 scores a false alarm is rarer than
# 1e-4. The quadrature's error is below a hundredth of the standard errors.

limit <- 6
linear <- 2 # the scale of the linear part beside learned bandwidths
x <- c(0.3, -1.7, 2.1, -0.4, 1.2)
signs <- c(1, -1, 1, -1, 1)
numbers <- c(1.05, 0.21, -1.32, 0.86)
at <- as.matrix(c(-1, 0.5))

quiet <- function(expr) {
  suppressMessages(
    suppressWarnings(expr,
      classes = c("kb_warning_convergence", "kb_warning_offset")
    ),
    classes = "kb_message_few_draws"
  )
}

batch <- function(x, y, ..., kernel = kernel_gaussian(0.9), chains = 2,
                  warmup = 100, iter = 200, thin = 1, n_moves = 4,
                  threads = 1) {
  quiet(srvm(as.matrix(x), y,
    kernel = kernel, scale = FALSE, method = "mcmc",
    control = mcmc_control(
      chains, warmup, iter, thin, n_moves,
      threads = threads
    ), ...
  ))
}

#' The largest score of chains against exact answers
#' @param answers Function of a fit with one chain.
#' @noRd
worst_score <- function(fit, answers, truth) {
  estimates <- vapply(fit$runs, function(run) {
    one <- fit
    one$runs <- list(run)
    one <- sealed(one)
    answers(one)
  }, numeric(length(truth)))
  se <- apply(estimates, 1, stats::sd) / sqrt(length(fit$runs))
  # Fixed variances are exact up to rounding.
  max(abs(mc_z(rowMeans(estimates), pmax(se, 1e-12), truth)))
}

probit_score <- function(x, y, coef = fixed_variance(0.8), intercept = TRUE,
                         lambda = 1.3, offset = NULL, kmax = 1,
                         nodes = 60) {
  exact <- known_probit_posterior(x, y, lambda, kmax, for_oracle(coef), at,
    "subset", intercept, nodes,
    offset = if (is.null(offset)) numeric(length(y)) else offset
  )
  fit <- batch(x, factor(y, c(-1, 1)),
    prior = srvm_prior(for_package(lambda), kmax, coef = coef),
    intercept = intercept, offset = offset, chains = 40, iter = 1500, seed = 1
  )
  worst_score(fit, function(one) {
    answers_of_probit_fit(one, at, x[exact$rows])
  }, c(
    exact$k, exact$p_0, exact$inclusion, exact$f, exact$square, exact$p,
    exact$f, exact$square, exact$p, exact$coef
  ))
}

test_that("chains of classes agree with orthant probabilities of all sets", {
  # A coefficient's variance that may be large needs many nodes.
  expect_lt(probit_score(x[1:4], signs[1:4], coef = ig(3, 2)), limit)
  expect_lt(probit_score(x[1:4], signs[1:4],
    offset = c(0.5, -1, 0, 0.7), kmax = 2, nodes = 24
  ), limit)
})

test_that("so do chains with repeated points and no intercept", {
  skip_unless_extended()
  expect_lt(probit_score(
    c(0.3, -1.7, 0.3, 2.1, -0.4, -1.7), c(1, -1, 1, 1, -1, 1),
    coef = ig(3, 2), lambda = oracle_learned_lambda(1, 0.3), intercept = FALSE,
    kmax = 2
  ), limit)
})

student_score <- function(x, y, df = 5, noise = fixed_variance(0.1), intercept = TRUE,
                          weights = NULL) {
  value <- mean(y) + c(-0.3, 0.4)
  exact <- oracle_student(
    x, y, df, for_oracle(noise), 0.6, at, value, intercept = intercept,
    precision = if (is.null(weights)) rep(1, length(y)) else weights
  )
  fit <- batch(x, y,
    prior = srvm_prior(1.3, 5, noise = noise, coef = fixed_variance(0.6), df = df),
    intercept = intercept, weights = weights, chains = 40, iter = 1500, seed = 1
  )
  worst_score(fit, function(one) {
    student_answers_of_fit(one, at, value, exact$rows)
  }, exact$answers)
}

test_that("chains with Student's noise agree with the sum over all sets", {
  expect_lt(
    student_score(x[1:3], numbers[1:3],
      df = 4, noise = ig(3, 0.3), weights = c(2, 0.5, 3)
    ),
    limit
  )
})

test_that("so do chains with other settings", {
  skip_unless_extended()
  expect_lt(student_score(x[1:4], numbers), limit)
  expect_lt(
    student_score(c(0.3, 0.3, -1.7), numbers[1:3], noise = ig(3, 0.3)), limit
  )
  expect_lt(
    student_score(x[1:3], numbers[1:3] + 2, noise = ig(3, 0.3)), limit
  )
  expect_lt(
    student_score(x[1:4], numbers + 1, intercept = FALSE, df = 1.5), limit
  )
})

# A bandwidth that is learned -----------------------------------------------------

#' Exact means of k, of f at `at` and of the log inverse bandwidth, for three
#' rows: all sets, the trapezoid rule over the bandwidth
#' @param integrals Function of the designs at the rows and at `at`: the
#'   likelihood, alone and times f.
#' @noRd
exact_learned <- function(x, lambda, scale, integrals) {
  sets <- enumerate_subsets(3, 3)
  k <- lengths(sets)
  prior <- exp(oracle_log_prior_set(k, 3, lambda, 3))
  nodes <- seq(-6, 4, by = 0.2)
  line <- function(a) linear / bandwidth_median(as.matrix(x)) * (drop(a) - mean(x))
  sums <- 0
  for (u in nodes) {
    gram <- function(a) exp(-exp(2 * u) * outer(drop(a), x, `-`)^2 / 2)
    log_density <- stats::dt(exp(u) / scale, 4, log = TRUE) + u
    for (i in seq_along(sets)) {
      each <- integrals(
        cbind(oracle_design(gram(x), sets[[i]], TRUE), line(x)),
        cbind(oracle_design(gram(at), sets[[i]], TRUE), line(at))
      )
      sums <- sums + prior[[i]] * exp(log_density) *
        c(each[[1]], each[[1]] * k[[i]], each[-1], each[[1]] * u)
    }
  }
  sums[-1] / sums[[1]]
}

learned_score <- function(y, prior, integrals) {
  points <- x[1:3]
  truth <- exact_learned(
    points, 1.3, 1.5 / bandwidth_median(as.matrix(points)), integrals
  )
  fit <- batch(points, y,
    prior = prior, kernel = kernel_gaussian("ard"), chains = 40,
    warmup = 200, iter = 1500, seed = 1
  )
  worst_score(fit, function(one) {
    pool <- srvm_pool(one)
    f <- srvm_moments(one, at, pool)$mean
    c(mean(pool$k), rowMeans(f), -mean(log(pool$bandwidths)))
  }, truth)
}

test_that("chains with learned bandwidths agree with quadrature over them", {
  classes <- learned_score(
    factor(signs[1:3], c(-1, 1)), srvm_prior(
      1.3,
      ard = 1.5, linear = linear, coef = fixed_variance(0.8)
    ),
    function(phi, phi_at) {
      probit_integrals(signs[1:3], phi, 0.8, phi_at, 14)[c(1, 2, 5)]
    }
  )
  expect_lt(classes, limit)
  rule <- student_nodes(5)
  grid <- as.matrix(expand.grid(rep(list(seq_along(rule$omega)), 3)))
  weight <- apply(matrix(rule$weight[grid], ncol = 3), 1, prod)
  grid <- grid[weight > 1e-6 * max(weight), ]
  weight <- weight[weight > 1e-6 * max(weight)]
  y <- numbers[1:3]
  student <- learned_score(
    y, srvm_prior(
      1.3,
      ard = 1.5, linear = linear, coef = fixed_variance(0.6), noise = fixed_variance(0.1), df = 5
    ),
    function(phi, phi_at) {
      sums <- student_sums(y, phi, phi_at, matrix(1 / rule$omega[grid], ncol = 3),
        weight, 0.1, 0.6, list(omega = numeric()), at
      )
      c(sums$z, sums$moments[, 1])
    }
  )
  expect_lt(student, limit)
})

# Identity ------------------------------------------------------------------------

data <- withr::with_seed(3, {
  x <- round(stats::runif(40, -3, 3), 2)
  y <- sin(2 * x) + stats::rt(40, 3) / 5
  data.frame(x = x, y = y, class = factor(ifelse(
    stats::runif(40) < stats::pnorm(2 * sin(x)), "yes", "no"
  )))
})

#' A fit of each kind: classes or Student's noise, a known or learned bandwidth
#' @noRd
of_kind <- function(kind, ..., rows = 1:40, chains = 1, seed = 3) {
  learned <- if (grepl("learned", kind)) "ard" else 0.5
  classes <- grepl("classes", kind)
  batch(data$x[rows], data[[if (classes) "class" else "y"]][rows],
    kernel = kernel_gaussian(learned),
    prior = if (classes) srvm_prior() else srvm_prior(df = 4), chains = chains,
    seed = seed, ...
  )
}

kinds <- c("classes", "student", "classes, learned", "student, learned")

expect_same_draws <- function(a, b, ...) {
  strip <- function(run) run[setdiff(names(run), "seconds")]
  expect_identical(lapply(a$runs, strip), lapply(b$runs, strip), ...)
}

resume <- function(...) quiet(update(...))

test_that("chains cut anywhere continue unchanged, with any instructions", {
  for (simd in c("avx512", "portable")) {
    withr::local_options(kernelbayes.simd = simd)
    for (kind in kinds) {
      run <- function(iter) of_kind(kind, iter = iter, warmup = 15)
      whole <- run(13)
      for (cut in c(1, 2, 6, 11, 12)) {
        part <- unserialize(serialize(run(cut), NULL))
        expect_same_draws(
          resume(part, iter = 13 - cut), whole, label = paste(kind, cut)
        )
      }
    }
  }
})

test_that("a chain stopped in the warmup continues as if it had not stopped", {
  for (kind in kinds) {
    fit <- of_kind(kind)
    engine <- fit_engine(fit)
    handle <- engine_open(engine, 1, NULL)
    engine_advance(engine, handle, 40)
    part <- fit
    part$runs <- list(engine_state(engine, handle))
    part <- sealed(part)
    engine_close(engine, handle)
    part$status <- "interrupted"
    part <- sealed(part)
    expect_same_draws(resume(part, progress = FALSE), fit, label = kind)
  }
})

test_that("threads change nothing, seeds do", {
  for (kind in kinds) {
    one <- of_kind(kind, chains = 2)
    expect_same_draws(of_kind(kind, chains = 2, threads = 2), one)
    expect_false(identical(one$runs[[1]]$k, one$runs[[2]]$k))
    expect_false(identical(of_kind(kind, seed = 4)$runs[[1]]$k, one$runs[[1]]$k))
  }
})

test_that("chains have the draws of longer ones, with sums on demand too", {
  # 20 iterations do not justify the Gram matrix of 400 rows; 1000 do.
  many <- withr::with_seed(4, {
    x <- stats::runif(400, -3, 3)
    data.frame(x = x, class = factor(stats::rnorm(400) < sin(2 * x)))
  })
  few <- batch(many$x, many$class, chains = 1, warmup = 0, iter = 20, seed = 5)
  more <- batch(many$x, many$class,
    chains = 1, warmup = 0, iter = 1000, seed = 5
  )
  expect_identical(head_draws(few, few$runs[[1]], 20)$draws,
    head_draws(more, more$runs[[1]], 20)$draws
  )
  # More columns than are held.
  long <- withr::with_seed(5, {
    x <- stats::runif(1500, -3, 3)
    data.frame(x = x, y = sin(2 * x) + stats::rt(1500, 3) / 10)
  })
  run <- function(iter) {
    batch(long$x, long$y,
      prior = srvm_prior(df = 3), chains = 1, warmup = 0, iter = iter,
      n_moves = 50, seed = 5
    )
  }
  whole <- run(80)
  expect_same_draws(resume(run(60), iter = 20), whole)
})

test_that("chains as stored before there were latent variables continue", {
  fit <- batch(data$x, data$y, chains = 1, iter = 20, seed = 1)
  state <- fit$runs[[1]]
  expect_null(state$current$latent)
  expect_null(state$draws$log_lik)
  expect_same_draws(
    resume(fit, iter = 5), batch(data$x, data$y, chains = 1, iter = 25, seed = 1)
  )
})

# Results -------------------------------------------------------------------------

fits <- local({
  known <- list()
  function(kind) {
    if (is.null(known[[kind]])) known[[kind]] <<- of_kind(kind, chains = 2)
    known[[kind]]
  }
})

test_that("the log likelihood is that given the coefficients of each draw", {
  skip_if_not_installed("rstantools")
  for (kind in kinds) {
    fit <- fits(kind)
    expect_equal(
      as.vector(chain_matrices(fit)$log_lik),
      unname(rowSums(rstantools::log_lik(fit))), label = kind
    )
  }
  w <- rep(c(0.5, 2), 20)
  weighted <- quiet(srvm(as.matrix(data$x), data$y,
    weights = w, method = "mcmc", prior = srvm_prior(df = 4), seed = 1,
    kernel = kernel_gaussian(0.5), control = mcmc_control(2, 50, 20)
  ))
  expect_equal(
    as.vector(chain_matrices(weighted)$log_lik),
    unname(rowSums(rstantools::log_lik(weighted)))
  )
  o <- rep(c(-0.5, 0, 1, 0.2), 10)
  offset <- of_kind("classes", offset = o)
  f <- predict(offset, as.matrix(data$x), type = "draws", offset = o)
  side <- ifelse(data$class == "yes", 1, -1)
  expect_equal(
    as.vector(chain_matrices(offset)$log_lik),
    rowSums(stats::pnorm(sweep(f, 2, side, `*`), log.p = TRUE))
  )
})

test_that("predictions of classes agree with each other", {
  for (kind in kinds[c(1, 3)]) {
    fit <- fits(kind)
    new <- as.matrix(c(-1.5, 0, 1.5))
    p <- predict(fit, new, type = "response")
    expect_equal(predict(fit, new, type = "prob")[, "yes"], p)
    expect_identical(predict(fit, new) == "yes", p > 0.5)
    draws <- predict(fit, new, type = "draws")
    expect_identical(dim(draws), c(400L, 3L))
    expect_equal(colMeans(stats::pnorm(draws)), p, tolerance = 0.1)
    expect_lt(p[[1]], 0.3)
    expect_gt(p[[3]], 0.7)
    expect_identical(levels(simulate(fit, 1, seed = 1)[[1]]), c("no", "yes"))
    expect_length(residuals(fit), 40)
    expect_identical(sigma(fit), 1)
    expect_false("sigma" %in% generics::tidy(fit)$term)
    expect_false("sigma" %in% ess(fit)$variable)
    expect_no_match(capture.output(print(fit)), "noise")
    expect_output(print(fit), "batch reversible jump, probit")
  }
})

test_that("predictions with Student's noise have its tails", {
  skip_if_not_installed("rstantools")
  for (kind in kinds[c(2, 4)]) {
    fit <- fits(kind)
    new <- as.matrix(c(-1.5, 0, 1.5))
    f <- predict(fit, new, type = "draws")
    scale <- srvm_sigma_draws(fit, srvm_pool(fit))
    y <- rstantools::posterior_predict(fit, new, seed = 1)
    # Under the null p is uniform: a false alarm has probability 1e-5, twice.
    expect_gt(stats::ks.test((y - f) / scale, "pt", df = 4)$p.value, 1e-5)
    limits <- predict(fit, new, interval = "prediction")
    expect_true(all(limits[, "lwr"] < limits[, "fit"]))
    expect_true(all(is.finite(
      predict(fit, new, type = "log_score", newy = c(0, 1, 9))
    )))
    expect_output(print(fit), "noise scale: .*Student's t, df 4")
    expect_true(all(c("sigma", "log_lik") %in% ess(fit)$variable))
  }
})

test_that("other accessors and packages take such fits", {
  for (kind in kinds) {
    fit <- fits(kind)
    expect_identical(checked_fit(fit), fit)
    draws <- posterior::as_draws_df(fit)
    expect_identical(posterior::nchains(draws), 2L)
    expect_identical(generics::glance(fit)$draws, 400L)
    expect_identical(nrow(generics::augment(fit)), 40L)
    expect_length(residuals(fit, type = "quantile"), 40)
    expect_true(is.finite(logLik(fit)))
    expect_output(print(summary(fit)), "ess_bulk")
    withr::local_pdf(NULL)
    for (type in c("fit", "k", "centres", "trace", "trace_density")) {
      expect_identical(plot(fit, type = type), fit)
    }
    # Chains that were stopped: draws are cut alike.
    one <- head_draws(fit, fit$runs[[1]], 7)
    expect_length(one$draws$log_lik, 7)
    skip_if_not_installed("loo")
    skip_if_not_installed("rstantools")
    suppressWarnings({
      expect_true(is.finite(loo::loo(fit)$estimates[1, 1]))
      expect_true(is.finite(loo::waic(fit)$estimates[1, 1]))
    })
  }
})

test_that("unusual data have an answer", {
  quick <- function(y, x = seq_along(y), ...) {
    suppressMessages(suppressWarnings(batch(x, y, ..., iter = 30, seed = 1)))
  }
  robust <- function(...) srvm_prior(df = 3, ...)
  known <- quick(factor(c("a", "b")))
  all <- list(
    quick(2, prior = robust()), quick(rep(3, 5), prior = robust()),
    quick(c(0, 0, 1e8, 0, 1, 1), prior = robust()),
    quick(c(1, 2, 1, 9), rep(1, 4), prior = robust()),
    quick(1:6, prior = robust(kmax = 0)), known,
    suppressWarnings(srvm(as.matrix(1:4), factor(rep("a", 4), c("a", "b")),
      reference = known, method = "mcmc", seed = 1,
      control = mcmc_control(2, 10, 30)
    )),
    quick(factor(c("a", "b", "a", "b")), rep(1, 4)),
    quick(factor(c("a", "b", "a")), prior = srvm_prior(kmax = 0)),
    quick(factor(c("a", "b", "a")), prior = srvm_prior(kmax = 0), intercept = FALSE)
  )
  for (fit in all) {
    type <- if (is_probit(fit)) "response" else "quantile"
    expect_true(all(is.finite(predict(fit, type = type))))
    expect_true(all(is.finite(chain_matrices(fit)$log_lik)))
  }
})
