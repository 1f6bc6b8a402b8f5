# The linear part beside kernels that are given: against enumeration and
# quadrature, in streams too. Beside bandwidths that are learned it is in the
# oracle of test-srvm-scales.R.

x <- c(0.3, -1.7, 2.1, -0.4, 1.2, 0.8)
y <- c(1.05, 0.21, -0.32, 0.86, 0.55, 0.71)

# Null: unbiased estimates, each z-score nearly t with 39 degrees of freedom:
# |z| > 6.5 has probability 1.0e-7; fewer than 500 scores in this file.
limit <- 6.5

expect_linear <- function(n_moves, ..., linear = 0.8) {
  control <- smc_control(400, n_moves = n_moves)
  z <- run_against_oracle(x, y, control, ..., linear = linear)
  expect_lt(max(abs(z)), limit)
}

expect_linear_stream <- function(n_moves, memory, ..., linear = 0.8) {
  control <- smc_control(400, n_moves = n_moves)
  z <- stream_against_oracle(x, y, control, memory, ..., linear = linear)
  expect_lt(max(abs(z)), limit)
}

test_that("a linear part is exact beside a given kernel", {
  expect_linear(0)
  expect_linear(4, weights = c(1, 0.5, 2, 1, 1.5, 1))
  expect_linear(4, intercept = FALSE, centres = "iid")
  expect_linear(4, scaled = TRUE, coef = ig(3, 12))
  expect_linear(0, kmax = 0)
})

test_that("it is exact in streams that forget", {
  window <- srvm_memory(window = 4)
  expect_linear_stream(0, window)
  expect_linear_stream(4, window, weights = c(1, 0.5, 2, 1, 1.5, 1))
  expect_linear_stream(4, srvm_memory(forgetting = 0.8))
  expect_linear_stream(4, srvm_memory(window = 4, forgetting = 0.8))
  expect_linear_stream(0, srvm_memory(candidates = 3), intercept = FALSE)
  expect_linear_stream(4, srvm_memory(candidates = 3))
})

test_that("chains agree with the sequential sampler's oracle", {
  exact <- oracle_posterior(
    x, y, kern_beside(x, 0.8), 1.3, 5, "subset", for_oracle(ig(3, 0.3)),
    for_oracle(ig(3, 2))
  )
  at <- as.matrix(c(-1, 0.5))
  truth <- oracle_predict(exact, at)$mean
  # With sums for all pairs, and on demand.
  for (moves in c(5, 1)) {
    fit <- srvm(as.matrix(x), y,
      kernel = kernel_gaussian(0.9), scale = FALSE, method = "mcmc",
      prior = srvm_prior(1.3, 5, "subset", ig(3, 0.3), ig(3, 2), linear = 0.8),
      control = mcmc_control(
        chains = 8, warmup = 200, iter = 2000, n_moves = moves
      ),
      seed = 3
    )
    draws <- of_sets(vapply(fit_runs(fit), function(run) {
      one <- fit
      one$runs <- list(run)
      one <- sealed(one)
      predict(one, at)
    }, numeric(2)))
    z <- (rowMeans(draws) - truth) / (apply(draws, 1, sd) / sqrt(8))
    # t with 7 degrees of freedom: |z| > 15 has probability 1.5e-6.
    expect_lt(max(abs(z)), 15)
    # The chains' own spread is small enough for this to mean something.
    expect_lt(max(apply(draws, 1, sd)), 0.05)
  }
})

linear_data <- function() {
  set.seed(4)
  data <- data.frame(a = runif(40), b = runif(40))
  data$y <- 3 * data$a - data$b + rnorm(40, 0, 0.1)
  data
}

small <- smc_control(particles = 40, n_moves = 2)

test_that("coefficients, draws and partial dependence have it", {
  data <- linear_data()
  fit <- srvm(y ~ ., data,
    kernel = kernel_gaussian(0.5), prior = srvm_prior(linear = 2),
    control = small, seed = 1
  )
  beta <- coef(fit)
  expect_named(beta[1:3], c("(Intercept)", "a", "b"))
  # f is the intercept, the linear part and the kernels.
  z <- scale(as.matrix(data[c("a", "b")]))
  centres <- as.integer(names(beta)[-(1:3)])
  kernels <- kernel_matrix(kernel_gaussian(0.5), z, z[centres, , drop = FALSE])
  expect_equal(
    fitted(fit), drop(beta[[1]] + z %*% beta[2:3] + kernels %*% beta[-(1:3)]),
    ignore_attr = TRUE
  )
  f <- predict(fit, data, "draws")
  expect_equal(colMeans(f), fitted(fit), tolerance = 0.1, ignore_attr = TRUE)
  curve <- partial_dependence(fit, "a", grid = c(0.2, 0.8))
  at <- vapply(c(0.2, 0.8), function(a) {
    mean(predict(fit, replace(data, "a", a)))
  }, 0)
  expect_equal(of_sets(curve$mean), at, tolerance = 0.05)
})

test_that("without the linear part nothing has changed", {
  data <- linear_data()
  fit <- function(...) {
    srvm(y ~ ., data,
      kernel = kernel_gaussian(0.5), prior = srvm_prior(...),
      control = small, seed = 1
    )
  }
  expect_identical(predict(fit(), data), predict(fit(linear = 0), data))
})

test_that("streams continue with the same numbers", {
  data <- linear_data()
  for (memory in list(
    srvm_memory(window = 15), srvm_memory(candidates = 8),
    srvm_memory(forgetting = 0.95)
  )) {
    run <- function(rows, ...) {
      srvm(y ~ ., data[rows, ],
        kernel = kernel_gaussian(0.5), memory = memory,
        prior = srvm_prior(linear = 2), control = small, seed = 1, ...
      )
    }
    whole <- run(1:40)
    first <- srvm(y ~ ., data[1:25, ],
      reference = whole, control = small, seed = 1
    )
    expect_identical(
      predict(update(first, newdata = data[26:40, ]), data),
      predict(whole, data)
    )
  }
})

test_that("priors from before have no linear part beside given kernels", {
  data <- linear_data()
  before <- srvm_prior()
  before$linear <- 3
  before$coef_df <- NULL
  fit <- function(prior, ...) {
    srvm(y ~ ., data, prior = prior, control = small, seed = 1, ...)
  }
  given <- kernel_gaussian(0.5)
  expect_length(fit(before, kernel = given)$settings$linear$centre, 0)
  expect_length(fit(before)$settings$linear$centre, 2)
  expect_length(
    fit(srvm_prior(linear = 3), kernel = given)$settings$linear$centre, 2
  )
})

test_that("streams without fixed columns that were saved before continue", {
  data <- linear_data()
  fit <- srvm(y ~ ., data[1:30, ],
    kernel = kernel_gaussian(0.5), memory = srvm_memory(window = 15),
    intercept = FALSE, control = small, seed = 1
  )
  before <- fit
  n <- length(fit$runs[[1]]$pool$rhs)
  before$runs[[1]]$pool$column_sum <- rep(0.5, n)
  before <- sealed(before)
  expect_identical(
    predict(update(before, newdata = data[31:40, ]), data),
    predict(update(fit, newdata = data[31:40, ]), data)
  )
})
