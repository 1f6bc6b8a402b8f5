# The compact predictor of srvm(): its loss, its path and its predictions, each
# computed again by least squares.

quick <- smc_control(particles = 60)
curve <- sim_sinc(50, seed = 3)
fits <- list(
  learned = srvm(y ~ x, curve, control = quick, seed = 1),
  given = srvm(y ~ x, curve, kernel = kernel_gaussian(0.2), control = quick, seed = 1),
  averaged = suppressWarnings(srvm(y ~ x, curve,
    kernel = list(kernel_gaussian(0.2), kernel_gaussian(0.5)), control = quick, seed = 1
  )),
  dictionary = srvm(y ~ x, curve,
    kernel = kernel_dictionary(kernel_gaussian(0.2), kernel_gaussian(0.6)),
    control = quick, seed = 1
  ),
  raw = srvm(y ~ x, curve,
    scale = FALSE, intercept = FALSE, kernel = kernel_gaussian(2),
    control = quick, seed = 1
  ),
  several = srvm(y ~ ., sim_friedman(60, p = 5, seed = 1), control = quick, seed = 1),
  chains = suppressWarnings(srvm(y ~ x, curve,
    method = "mcmc", seed = 1,
    control = mcmc_control(chains = 2, warmup = 100, iter = 200)
  ))
)

# In units of the model: mean of f at the rows, and its mean variance
posterior_by_hand <- function(fit) {
  band <- predict(fit, interval = "credible", level = 2 * pnorm(1) - 1)
  draws <- posterior_moments(fit, wide_x(fit, training_rows(fit)), posterior_pool(fit))
  w <- posterior_pool(fit)$weights
  mean <- drop(draws$mean %*% w)
  expect_equal(unscale_mean(fit$settings$scaling, mean), unname(band[, "fit"]))
  list(
    mean = mean, variance = mean(drop((draws$variance + draws$mean^2) %*% w) - mean^2)
  )
}

test_that("the loss is that of its predictions, and the smallest that was asked for", {
  for (name in names(fits)) {
    fit <- fits[[name]]
    exact <- posterior_by_hand(fit)
    few <- sparsify(fit, loss = 0.02)
    at_rows <- predict(few, if (name == "several") {
      sim_friedman(60, p = 5, seed = 1)
    } else {
      curve
    })
    scale <- fit$settings$scaling$y_scale
    loss <- mean((at_rows - predict(fit))^2) / scale^2 / exact$variance
    expect_equal(few$loss, loss, tolerance = 1e-6, label = name)
    expect_lte(few$loss, 0.02)
    expect_identical(few$path$k, 0:few$k)
    expect_true(all(few$path$loss[-(few$k + 1)] > 0.02))
    expect_false(is.unsorted(rev(few$path$loss)))
    expect_identical(nrow(few$centres), few$k)
    expect_gt(sparsify(fit, loss = 0.5)$loss, few$loss)
    expect_lte(sparsify(fit, loss = 0.5)$k, few$k)
  }
})

test_that("each centre is the best next one, by least squares", {
  set.seed(1)
  fixed <- cbind(1, rnorm(25))
  values <- matrix(rnorm(25 * 6), 25)
  values[, 6] <- values[, 1] + fixed[, 2] # no new direction after the first
  f <- rnorm(25)
  path <- matching_pursuit(fixed, values, f, 0)
  expect_length(path$chosen, 5)
  left <- function(columns) mean(lm.fit(columns, f)$residuals^2)
  so_far <- fixed
  expect_equal(path$squares[[1]], left(fixed))
  for (step in seq_along(path$chosen)) {
    next_one <- vapply(seq_len(6), function(j) left(cbind(so_far, values[, j])), 0)
    so_far <- cbind(so_far, values[, path$chosen[[step]]])
    expect_equal(path$squares[[step + 1]], min(next_one))
    expect_equal(path$squares[[step + 1]], left(so_far))
  }
  expect_equal(path$coefficients, unname(lm.fit(so_far, f)$coefficients))
})

test_that("predictions are the sum of its numbers, and survive a file", {
  few <- sparsify(fits$given)
  new <- data.frame(x = c(-9, 0.3, NA, 4))
  s <- fits$given$settings$scaling
  at <- (c(-9, 0.3, 4) - s$x_center) / s$x_scale
  centres <- (curve$x[few$centres$row] - s$x_center) / s$x_scale
  f <- few$fixed + kernel_matrix(
    kernel_gaussian(0.2), cbind(at), cbind(centres)
  ) %*% few$centres$coefficient
  expect_equal(
    predict(few, new), append(f * s$y_scale + s$y_center, NA, 2)
  )
  file <- withr::local_tempfile()
  saveRDS(few, file)
  expect_identical(predict(readRDS(file), new), predict(few, new))
  expect_lt(object.size(few), object.size(fits$given) / 3)
  few$fixed <- few$fixed + 1
  expect_error(predict(few, new), class = "kb_error_fit")
})

test_that("classes have the probabilities of the fit", {
  set.seed(2)
  data <- data.frame(x = runif(60, -2, 2))
  data$y <- factor(data$x + rnorm(60, sd = 0.5) > 0)
  fit <- srvm(y ~ x, data, control = quick, seed = 1)
  few <- sparsify(fit, loss = 1e-4)
  expect_lt(max(abs(predict(few, data) - predict(fit, type = "prob")[, 2])), 0.02)
})

test_that("printing, pictures and refusals", {
  few <- sparsify(fits$learned)
  expect_output(print(few), paste0("Compact predictor: ", few$k, " centres, loss 0.00"))
  picture <- sparse_picture(few)
  expect_equal(picture$panels[[1]]$layers[[1]]$data$y, log10(few$path$loss))
  expect_error(sparsify(fits$learned, loss = 0), "`loss`", class = "kb_error_argument")
  expect_error(sparsify(lm(y ~ x, curve)), class = "kb_error_not_defined")
  shifted <- srvm(y ~ x + offset(x), curve, control = quick, seed = 1)
  expect_error(sparsify(shifted), "offset", class = "kb_error_sparsify")
  flat <- srvm(y ~ x, curve,
    prior = srvm_prior(kmax = 0), control = quick, seed = 1
  )
  expect_identical(sparsify(flat)$k, 0L)
  expect_output(print(sparsify(flat)), "0 centres")
  # One centre only, but two kernels of it would be needed
  one <- srvm(y ~ x, curve[c(1, 1, 1), ],
    kernel = kernel_gaussian(1), intercept = FALSE, control = quick, seed = 1
  )
  expect_s3_class(sparsify(one), "kb_sparse")
})
