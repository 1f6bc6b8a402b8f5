# Kernels of the user's own in srvm(): the same posterior as with the built-in
# kernel of the same values, up to rounding.

d <- sim_friedman(40, p = 5, seed = 1)
new <- sim_friedman(6, p = 5, seed = 2)
gaussian <- function(x, y) {
  apart <- outer(rowSums(x^2), rowSums(y^2), "+") - 2 * tcrossprod(x, y)
  exp(-apart / (2 * 0.8^2))
}
own <- kernel_custom(gaussian)
quick <- smc_control(particles = 60)
fit_with <- function(kernel, rows = d, ..., control = quick) {
  suppressWarnings(
    srvm(y ~ ., rows, kernel = kernel, control = control, seed = 1, ...)
  )
}

test_that("a kernel of the user's own is the built-in one of its values", {
  for (pair in list(
    list(own, kernel_gaussian(0.8)),
    list(own * kernel_constant(2) + kernel_linear(),
      kernel_gaussian(0.8) * kernel_constant(2) + kernel_linear())
  )) {
    a <- fit_with(pair[[1]])
    b <- fit_with(pair[[2]])
    expect_equal(evidence(a)$log_evidence, evidence(b)$log_evidence,
      tolerance = 1e-8
    )
    for (interval in c("none", "credible", "prediction")) {
      expect_equal(
        predict(a, new, interval = interval),
        predict(b, new, interval = interval), tolerance = 1e-6
      )
    }
    expect_equal(inclusion(a)$probability, inclusion(b)$probability)
  }
})

test_that("equal rows are one candidate", {
  twice <- d[c(1:20, 1:20), ]
  expect_equal(
    fitted(fit_with(own, twice)), fitted(fit_with(kernel_gaussian(0.8), twice)),
    tolerance = 1e-6
  )
})

test_that("a linear part sees the coordinates, also of no complete row", {
  fit <- fit_with(own, prior = srvm_prior(linear = 1))
  draws <- predict(fit, d, type = "draws")
  expect_equal(colMeans(draws), predict(fit), tolerance = 0.1)
  missing <- transform(d[1, ], x1 = NA)
  expect_true(all(is.na(predict(fit, missing, type = "draws"))))
})

test_that("chains, classes and kernels of low rank work", {
  chains <- mcmc_control(chains = 2, warmup = 50, iter = 60)
  expect_equal(
    predict(fit_with(own, method = "mcmc", control = chains), new),
    predict(fit_with(kernel_gaussian(0.8), method = "mcmc", control = chains),
      new
    ),
    tolerance = 1e-6
  )
  classes <- transform(d, y = factor(y > median(y)))
  expect_equal(
    predict(fit_with(own, classes), new, type = "prob"),
    predict(fit_with(kernel_gaussian(0.8), classes), new, type = "prob"),
    tolerance = 1e-6
  )
  # Rows in the span of the training rows can be added.
  line <- kernel_custom(function(x, y) tcrossprod(x, y))
  expect_equal(
    predict(update(fit_with(line), newdata = new), new),
    predict(update(fit_with(kernel_linear()), newdata = new), new),
    tolerance = 1e-6
  )
})

test_that("kernels of large range know their training rows", {
  wide <- data.frame(x = d$x1, z = exp(5 * d$x2), y = d$y)
  for (f in list(
    function(x, y) (1 + tcrossprod(x, y))^6,
    function(x, y) exp(tcrossprod(x, y))
  )) {
    fit <- srvm(y ~ x + z, wide, kernel = kernel_custom(f), control = quick,
      seed = 1
    )
    expect_identical(nobs(fit), 40L)
  }
})

test_that("fits with them print, are saved, and say what they cannot do", {
  fit <- fit_with(own)
  expect_output(print(fit), "kernel_custom")
  file <- withr::local_tempfile()
  saveRDS(fit, file)
  expect_identical(predict(readRDS(file), new), predict(fit, new))
  expect_error(update(fit, newdata = new), class = "kb_error_not_defined")
  expect_error(fit_with(list(own, kernel_gaussian(1))), "only kernel",
    class = "kb_error_argument"
  )
  expect_error(
    fit_with(kernel_custom(function(x, y) -tcrossprod(x, y))),
    "positive definite", class = "kb_error_argument"
  )
  expect_error(fit_with(own + kernel_gaussian("learn")), "cannot be learned",
    class = "kb_error_argument"
  )
})
