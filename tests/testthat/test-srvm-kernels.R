# Several kernels in one fit: the average against enumeration, and the fit's
# handling of its grid.

three <- c(0.5, 0.9, 2)
weights <- c(1, 3, 2)

# The average against enumeration ----------------------------------------------

#' Exact answers of the average over kernels: each kernel's times p(h | y)
#' @noRd
oracle_average <- function(x, y, noise, coef, at, value) {
  each <- lapply(three, function(bandwidth) {
    oracle_posterior(
      x, y, oracle_kernel_gaussian(bandwidth), 1.3, 4, "subset",
      for_oracle(noise), for_oracle(coef)
    )
  })
  log_p <- log(weights / sum(weights)) +
    vapply(each, function(exact) exact$log_evidence, 0)
  p <- exp(log_p - log_sum_exp(log_p))
  answers <- vapply(each, function(exact) {
    answers_of_oracle(exact, at, value)
  }, numeric(length(answers_of_oracle(each[[1]], at, value))))
  list(
    log_evidence = log_sum_exp(log_p), p = p, answers = drop(answers %*% p),
    rows = each[[1]]$rows, path = each
  )
}

#' z-scores of an averaged fit's answers. Each kernel's evidence times its
#' answer is unbiased, and so is the average times its evidence; see
#' run_against_oracle().
#' @noRd
average_against_oracle <- function(x, y, noise, coef, control, runs = 40,
                                   seed = 1) {
  at <- as.matrix(c(-1, 0.5))
  value <- mean(y) + c(-0.3, 0.1)
  exact <- oracle_average(x, y, noise, coef, at, value)
  truth <- c(exact$p, exact$answers)
  estimates <- vapply(seq_len(runs), function(r) {
    fit <- suppressWarnings(srvm(as.matrix(x), y,
      kernel = lapply(three, kernel_gaussian), scale = FALSE,
      prior = srvm_prior(1.3, 4,
        noise = noise, coef = coef, kernels = weights
      ), control = control, seed = seed * 1000 + r
    ), classes = "kb_warning_low_ess")
    ratio <- exp(evidence(fit)$log_evidence - exact$log_evidence)
    answers <- c(
      kernel_posterior(fit)$probability,
      answers_of_fit(fit, at, value, exact$rows)
    )
    c(ratio, ratio * (answers - truth))
  }, numeric(1 + length(truth)))
  se <- apply(estimates, 1, stats::sd) / sqrt(runs)
  z <- mc_z(rowMeans(estimates), pmax(se, 1e-14), c(1, rep(0, length(truth))))
  # Quantities that few particles see have no normal mean over the runs.
  z[c(1, abs(truth)) > 0.005]
}

# Null: each z-score is nearly t with 39 degrees of freedom. |z| > 6.5 has
# probability 1.0e-7; with about 80 scores a false alarm is rarer than 1e-4.
limit <- 6.5

xs <- c(0.3, -1.7, 2.1, -0.4, 1.2, 0.8)
ys <- c(1.05, 0.21, -0.32, 0.86, 0.55, 0.71)

test_that("the average over kernels agrees with enumeration", {
  # The null needs an unbiased estimate: particles may not choose the powers.
  z <- average_against_oracle(
    xs, ys, fixed_variance(0.05), fixed_variance(0.5),
    smc_control(300, n_moves = 2, cess_threshold = 0)
  )
  expect_lt(max(abs(z)), limit)
  # Repeated points; replicates; unknown variances.
  z <- average_against_oracle(
    c(0.3, -1.7, 0.3, 2.1, -0.4, -1.7), ys, ig(3, 0.3), ig(3, 2),
    smc_control(200, n_moves = 3, replicates = 2, powers = c(0.3, 1))
  )
  expect_lt(max(abs(z)), limit)
})

test_that("so does the average of kernels that share the particles", {
  local_mocked(least_to_share = list(rows = 1, particles = 1))
  # Pilot results are kept for being small, which gives a bias of the order of
  # their variance: below a tenth of the error of the mean over runs.
  z <- average_against_oracle(
    xs, ys, fixed_variance(0.05), fixed_variance(0.5),
    smc_control(2000, n_moves = 2, cess_threshold = 0, pilot = 0.25)
  )
  expect_lt(max(abs(z)), limit)
})

test_that("the kernels' posterior after each row agrees with enumeration", {
  exact <- vapply(three, function(bandwidth) {
    vapply(seq_along(ys), function(t) {
      oracle_posterior(
        xs[seq_len(t)], ys[seq_len(t)], oracle_kernel_gaussian(bandwidth),
        1.3, 4, "subset", list(fixed = 0.05), list(fixed = 0.5)
      )$log_evidence
    }, 0)
  }, numeric(6))
  exact <- sweep(exact, 2, log(weights / 6), "+")
  exact <- exp(exact - apply(exact, 1, log_sum_exp))
  fit <- srvm(as.matrix(xs), ys,
    kernel = lapply(three, kernel_gaussian), scale = FALSE,
    prior = srvm_prior(1.3, 4,
      noise = fixed_variance(0.05), coef = fixed_variance(0.5), kernels = weights
    ), control = smc_control(4000, n_moves = 5), seed = 1
  )
  path <- as.matrix(kernel_posterior(fit, by_row = TRUE)[-1])
  # With 4000 particles standard errors are below 0.01: 6 of them.
  expect_lt(max(kernel_posterior(fit)$probability_se), 0.01)
  expect_lt(max(abs(path - exact)), 0.06)
  # The weights and the evidence both matter here.
  expect_gt(max(abs(exact[6, ] - weights / 6)), 0.1)
})

data <- sim_sinc(30, seed = 41)
quick <- smc_control(particles = 40, n_moves = 2)
grid <- list(kernel_gaussian(0.2), kernel_laplace(0.5), kernel_matern(0.4))

fit_quick <- function(..., control = quick, seed = 1) {
  suppressWarnings(
    srvm(..., control = control, seed = seed),
    classes = "kb_warning_low_ess"
  )
}

test_that("two equal kernels are equally probable, with the right error", {
  # Null: the mean of 40 independent probabilities is 1/2; its z-score is nearly
  # t with 39 degrees of freedom. The two standard deviations agree within a
  # factor 2: chi-square with 39 degrees of freedom exceeds it with probability
  # below 1e-5.
  p <- vapply(1:40, function(seed) {
    fit <- fit_quick(y ~ x, data,
      kernel = list(kernel_gaussian(0.3), kernel_gaussian(0.3)),
      control = smc_control(200, n_moves = 5), seed = seed
    )
    table <- kernel_posterior(fit)
    c(table$probability[[1]], table$probability_se[[1]])
  }, numeric(2))
  expect_lt(abs(mean(p[1, ]) - 0.5) / (stats::sd(p[1, ]) / sqrt(40)), limit)
  ratio <- stats::sd(p[1, ]) / sqrt(mean(p[2, ]^2, na.rm = TRUE))
  expect_gt(ratio, 0.5)
  expect_lt(ratio, 2)
})

# One kernel -------------------------------------------------------------------

test_that("a list of one kernel is that kernel", {
  alone <- fit_quick(y ~ x, data, kernel = kernel_gaussian(0.2))
  expect_same_fit(
    fit_quick(y ~ x, data, kernel = list(kernel_gaussian(0.2))), alone
  )
  # Other kernels in the list do not change a kernel's runs either.
  both <- fit_quick(y ~ x, data, kernel = grid)
  expect_identical(plain_fit(both)$runs[[1]], plain_fit(alone)$runs[[1]])
  table <- kernel_posterior(alone)
  expect_identical(table$probability, 1)
  expect_identical(table$probability_se, 0)
  expect_equal(table$log_evidence, evidence(alone)$log_evidence)
  expect_equal(table$mc_se, evidence(alone)$mc_se)
  expect_true(all(kernel_posterior(alone, by_row = TRUE)$kernel1 == 1))
})

test_that("fits saved before kernels had weights still answer", {
  old <- fit_quick(y ~ x, data, kernel = kernel_gaussian(0.2))
  new <- old
  old$settings$prior$kernels <- NULL
  old <- sealed(old)
  expect_identical(predict(old), predict(new))
  expect_identical(kernel_posterior(old), kernel_posterior(new))
  expect_identical(evidence(old), evidence(new))
  expect_identical(
    plain_fit(update(old, newdata = data[1:3, ]))$runs,
    plain_fit(update(new, newdata = data[1:3, ]))$runs
  )
})

# The grid ---------------------------------------------------------------------

test_that("a bandwidth to learn stands for five around the median", {
  fit <- fit_quick(y ~ x, data, kernel = kernel_gaussian("learn"))
  x <- as.matrix(scale(data$x))
  grid <- bandwidth_median(x) * 2^(-3:1)
  expect_equal(kernel_posterior(fit)$bandwidth, grid)
  expect_equal(fit$settings$kernel, lapply(grid, kernel_gaussian))
  median <- bandwidth_median(x)
  for (make in list(
    kernel_laplace, kernel_rational_quadratic, function(b) kernel_matern(b, 1.5)
  )) {
    fit <- fit_quick(y ~ x, data[1:5, ], kernel = make("learn"))
    b <- kernel_posterior(fit)$bandwidth
    expect_identical(fit$settings$kernel, lapply(b, make))
  }
  # In sums, and next to other kernels.
  fit <- fit_quick(y ~ x, data[1:5, ], kernel = list(
    kernel_linear(), kernel_gaussian("learn") + kernel_laplace()
  ))
  kernels <- fit$settings$kernel
  expect_length(kernels, 6)
  expect_identical(kernels[[1]], kernel_linear())
  b <- bandwidth_median(as.matrix(scale(data$x[1:5])))
  expect_equal(kernels[[2]], kernel_gaussian(b / 8) + kernel_laplace(b))
  expect_true(all(is.na(kernel_posterior(fit)$bandwidth)))
})

test_that("kernels that cannot be averaged are refused", {
  refused <- function(..., class = "kb_error_argument") {
    expect_error(suppressWarnings(srvm(y ~ x, data, seed = 1, ...)),
      class = class
    )
  }
  learn <- kernel_gaussian("learn")
  refused(kernel = grid, method = "mcmc")
  refused(kernel = learn, method = "mcmc")
  refused(kernel = learn, control = smc_control(proposal = "paper"))
  refused(kernel = learn, prior = srvm_prior_paper())
  refused(kernel = list())
  refused(kernel = list(kernel_linear(), 3))
  refused(kernel = 3)
  refused(kernel = list(kernel_linear(), kernel_custom(function(x, y) 1)))
  refused(
    kernel = list(kernel_linear(), kernel_gaussian(1:2)),
    class = "kb_error_dimension"
  )
  refused(kernel = grid, prior = srvm_prior(kernels = 1:2))
  average <- fit_quick(y ~ x, data[1:4, ], kernel = learn)
  expect_error(
    srvm(y ~ x, data, method = "mcmc", reference = average, seed = 1),
    class = "kb_error_argument"
  )
  for (kernels in list("a", numeric(), c(1, -1), c(1, NA), c(0, 1))) {
    expect_error(srvm_prior(kernels = kernels), class = "kb_error_argument")
  }
  batch <- suppressWarnings(srvm(y ~ x, data,
    method = "mcmc", seed = 1,
    control = mcmc_control(chains = 1, warmup = 2, iter = 4)
  ))
  expect_error(kernel_posterior(batch), class = "kb_error_not_defined")
  expect_error(kernel_posterior(1), class = "kb_error_not_defined")
  expect_error(kernel_posterior(average, 3), class = "kb_error_argument")
})

test_that("without averaging a bandwidth cannot be learned", {
  learn <- kernel_gaussian("learn")
  x <- as.matrix(data$x)
  refused <- function(expr) expect_error(expr, class = "kb_error_learn")
  refused(kernel_matrix(learn + 1, x))
  refused(kbr(x, data$y, kernel_x = learn))
  refused(kernel_mean(x, kernel = learn))
})

# Results ----------------------------------------------------------------------

both <- fit_quick(y ~ x, data, kernel = grid, control = smc_control(
  particles = 30, n_moves = 2, replicates = 2
))

#' The fit of only one kernel, from the runs of an average
#' @noRd
part_of <- function(fit, h) {
  n <- length(fit$settings$kernel)
  fit$settings$kernel <- fit$settings$kernel[[h]]
  fit$settings$prior$kernels <- 1
  fit$runs <- fit$runs[seq(h, length(fit$runs), by = n)]
  fit <- sealed(fit)
  fit
}

test_that("results are averages over the fits of each kernel", {
  parts <- lapply(1:3, part_of, fit = both)
  table <- kernel_posterior(both)
  p <- table$probability
  average <- function(f) {
    Reduce(`+`, Map(function(part, p) p * f(part), parts, p))
  }
  new <- data.frame(x = c(-3, 0, 4.2), y = c(0, 1, -0.1))
  same_average <- function(f) expect_equal(f(both), average(f))
  # Where new points may be centres, weights of kernels depend on the point.
  same_average(function(fit) of_sets(predict(fit, new)))
  same_average(function(fit) of_sets(exp(predict(fit, new, "log_score"))))
  same_average(fitted)
  same_average(stats::sigma)
  same_average(function(fit) inclusion(fit)$probability)
  same_average(function(fit) {
    k <- model_size(fit)
    sum(k$k * k$probability)
  })
  same_average(function(fit) tail(ess(fit)$ess, 1))
  same_average(function(fit) tail(ess(fit)$fraction, 1))
  single <- vapply(parts, function(part) evidence(part)$log_evidence, 0)
  expect_equal(table$log_evidence, single)
  expect_equal(p, exp(single) / sum(exp(single)))
  expect_equal(
    table$mc_se, vapply(parts, function(part) evidence(part)$mc_se, 0)
  )
  expect_equal(table$kernel, vapply(grid, format, ""))
  z <- evidence(both)
  expect_equal(z$log_evidence, log(mean(exp(single))))
  expect_equal(z$mc_se, sqrt(sum(p^2 * table$mc_se^2)))
  expect_length(z$replicates, 2)
  expect_equal(z$log_evidence, log(mean(exp(z$replicates))))
  expect_equal(tail(z$path$log_evidence, 1), z$log_evidence)
  expect_equal(utils::tail(z$path$log_evidence, 1), z$log_evidence)
  path <- kernel_posterior(both, by_row = TRUE)
  expect_identical(path$row, 1:30)
  expect_equal(unlist(path[30, -1], use.names = FALSE), p)
  expect_equal(rowSums(path[-1]), rep(1, 30))
})

test_that("f is its coefficients times the kernels", {
  beta <- coef(both)
  label <- strsplit(names(beta)[-1], ":", fixed = TRUE)
  h <- as.integer(vapply(label, `[`, "", 1))
  row <- as.integer(vapply(label, `[`, "", 2))
  x <- scale(as.matrix(data$x))
  f <- beta[[1]] + drop(vapply(seq_along(h), function(j) {
    kernel_matrix(grid[[h[[j]]]], x, x[row[[j]], , drop = FALSE])[, 1]
  }, numeric(30)) %*% beta[-1])
  expect_equal(f, fitted(both))
})

test_that("draws come from the average", {
  draws <- posterior::as_draws_df(as_draws(both, weighted = TRUE))
  expect_identical(draws$kernel, rep(rep(1:3, each = 30), 2) + 0)
  w <- exp(draws$.log_weight)
  expect_equal(
    as.vector(rowsum(w / sum(w), draws$kernel)),
    kernel_posterior(both)$probability
  )
  pool <- srvm_pool(both)
  x <- as.matrix(c(x = 0.3))
  f <- srvm_draws(both, x, pool, seq_along(pool$weights))
  parts <- lapply(1:3, part_of, fit = both)
  each <- lapply(parts, function(part) {
    part_pool <- srvm_pool(part)
    srvm_draws(part, x, part_pool, seq_along(part_pool$weights))
  })
  for (h in 1:3) expect_equal(f[pool$kernel == h, ], each[[h]][, 1])
  expect_identical(dim(predict(both, type = "draws")), c(180L, 30L))
  expect_identical(dim(simulate(both, 2, seed = 1)), c(30L, 2L))
})

test_that("every method accepts an average", {
  out <- capture.output(print(both))
  expect_lte(length(out), 15)
  expect_lte(max(nchar(out)), 80)
  expect_match(out, "average of 3", all = FALSE)
  expect_match(out, "30 x 2 x 3 kernels", all = FALSE)
  expect_output(print(summary(both)), "Kernels\n")
  expect_lte(max(nchar(capture.output(print(summary(both))))), 80)
  expect_false(differ_in_bandwidth(both))
  expect_output(print(summary(fit_quick(y ~ x, data))), "bandwidth")
  expect_s3_class(diagnostics(both), "kb_diagnostics")
  expect_output(print(diagnostics(both)), "founders")
  expect_equal(generics::glance(both)$nobs, 30)
  expect_identical(nrow(generics::augment(both)), 30L)
  expect_identical(
    generics::tidy(both)$term, c("sigma", "tau", "k")
  )
  expect_true(is.finite(logLik(both)))
  expect_gt(timings(both)$sampler, 0)
  spread <- order_spread(both, 2, seed = 1)
  expect_identical(nrow(spread$orders), 2L)
  expect_true(all(is.finite(spread$predictions)))
  full <- fit_quick(y ~ x, data[1:5, ], kernel = grid, control = smc_control(
    particles = 10, replicates = 2, ancestry = "full"
  ))
  expect_length(ancestry(full), 6)
  file <- withr::local_tempfile(fileext = ".rds")
  saveRDS(both, file)
  expect_identical(predict(readRDS(file)), predict(both))
})

test_that("every plot accepts an average, and one kernel", {
  grDevices::pdf(NULL)
  withr::defer(grDevices::dev.off())
  one <- suppressWarnings(
    fit_quick(y ~ x, data[1, ]),
    classes = "kb_warning_no_spread"
  )
  alone <- fit_quick(y ~ x, data, kernel = grid[[1]])
  for (fit in list(both, one, alone, fit_quick(y ~ x, data))) {
    for (type in c(
      "fit", "ess", "k", "evidence", "centres", "trace", "kernels",
      "kernel_path"
    )) {
      expect_identical(plot(fit, type = type), fit)
    }
  }
})

# The run ----------------------------------------------------------------------

test_that("rows may come in any split", {
  whole <- fit_quick(y ~ x, data)
  for (cut in list(c(1, 30), c(10, 11, 30), c(29, 30))) {
    fit <- fit_quick(y ~ x, data[seq_len(cut[[1]]), ], reference = whole)
    for (i in seq_along(cut)[-1]) {
      fit <- update(fit, newdata = data[(cut[[i - 1]] + 1):cut[[i]], ])
    }
    expect_same_fit(fit, whole)
    expect_identical(predict(fit), predict(whole))
  }
})

test_that("a stopped fit has all kernels at one row", {
  whole <- fit_quick(y ~ x, data, kernel = grid)
  stopped <- suppressWarnings(fit_quick(y ~ x, data,
    kernel = grid,
    control = smc_control(particles = 40, n_moves = 2, time_limit = 1e-9)
  ))
  expect_lt(stopped$time, 30)
  expect_gt(stopped$time, 0)
  expect_true(all(vapply(stopped$runs, state_time, 0L) == stopped$time))
  expect_identical(
    plain_fit(stopped)$runs,
    plain_fit(fit_quick(y ~ x, data[seq_len(stopped$time), ],
      reference = whole
    ))$runs
  )
  expect_equal(sum(kernel_posterior(stopped)$probability), 1)
  expect_identical(
    plain_fit(update(stopped, time_limit = Inf))$runs, plain_fit(whole)$runs
  )
})

test_that("kernels at different rows give no posterior until all are there", {
  whole <- fit_quick(y ~ x, data, kernel = grid)
  part <- fit_quick(y ~ x, data[1:10, ], reference = whole)
  uneven <- whole
  uneven$runs[2] <- part$runs[2]
  uneven$runs[3] <- list(NULL)
  uneven <- sealed(finish_fit(uneven, uneven$runs, 1))
  expect_identical(uneven$time, 0L)
  expect_error(predict(uneven), class = "kb_error_not_defined")
  expect_output(print(uneven), "INCOMPLETE")
  expect_identical(plain_fit(update(uneven))$runs, plain_fit(whole)$runs)
  # Another complete replicate is used on its own.
  pair <- fit_quick(y ~ x, data, kernel = grid, control = smc_control(
    particles = 40, n_moves = 2, replicates = 2
  ))
  missing <- pair
  missing$runs[5] <- list(NULL)
  missing <- sealed(finish_fit(missing, missing$runs, 1))
  expect_identical(missing$time, 30L)
  expect_identical(predict(missing), predict(whole))
})

test_that("settings of the sampler may change", {
  more <- update(both, particles = 50, n_moves = 1)
  expect_length(srvm_pool(more)$weights, 300)
  expect_equal(
    kernel_posterior(more)$probability, kernel_posterior(both)$probability
  )
  longer <- update(more, newdata = data[1:3, ])
  expect_identical(longer$time, 33L)
  expect_same_fit(
    update(both, particles = 50, n_moves = 1, newdata = data[1:3, ]), longer
  )
})

test_that("kernels run in parallel on workers", {
  serial <- fit_quick(y ~ x, data, kernel = grid)
  local_workers()
  expect_same_fit(fit_quick(y ~ x, data, kernel = grid), serial)
  # A stop finds them at one row there, too.
  stopped <- suppressWarnings(srvm(y ~ x, long_data(3000),
    kernel = grid, seed = 1, control = long_control(time_limit = 3)
  ))
  expect_gt(stopped$time, 0)
  expect_lt(stopped$time, 3000)
  future::plan("sequential")
  rows <- few_particles(srvm(y ~ x, long_data(3000)[seq_len(stopped$time), ],
    reference = stopped, seed = 1, control = long_control()
  ))
  expect_identical(plain_fit(stopped)$runs, plain_fit(rows)$runs)
})
