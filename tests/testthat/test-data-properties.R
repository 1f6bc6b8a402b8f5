# How results change with properties of the data, equally for all engines: noise
# of the size of rounding, none at all, predictors that copy each other, more
# rows, places far from the rows.

control <- mcmc_control(chains = 2, warmup = 100, iter = 200)
quiet <- function(expr) suppressWarnings(expr)

regressions <- list(
  smc = function(x, y) {
    srvm(x, y,
      kernel = kernel_gaussian(0.5), control = smc_control(100), seed = 1
    )
  },
  batch = function(x, y) {
    srvm(x, y,
      kernel = kernel_gaussian(0.5), method = "mcmc", control = control,
      seed = 1
    )
  },
  # Kernels with scales of their own may be nearly equal, which magnifies
  # rounding until a decision differs.
  bark = function(x, y) {
    bark(x, y, prior = bark_prior_paper(), control = control, seed = 1)
  }
)

#' Rows on both sides of a gap from -1 to 1
gap <- local({
  set.seed(3)
  x <- c(runif(25, -3, -1), runif(25, 1, 3))
  data.frame(x = x, y = sin(x) + 0.1 * rnorm(50))
})
grid <- cbind(c(-2, 0, 2, 3, 4, 6))

test_that("noise of the size of rounding does not change results", {
  set.seed(1)
  noisy <- function(v) v * (1 + .Machine$double.eps * rnorm(length(v)))
  other <- data.frame(x = noisy(gap$x), y = noisy(gap$y))
  expect_false(identical(other, gap))
  for (engine in regressions) {
    bands <- function(data) {
      predict(quiet(engine(cbind(data$x), data$y)), grid,
        interval = "prediction"
      )
    }
    expect_equal(bands(other), bands(gap), tolerance = 1e-6)
  }
  means <- function(data) predict(kbr(data$y, data$x), cbind(c(-2, 0, 2)))
  expect_equal(means(other), means(gap), tolerance = 1e-5)
  # A trajectory's bounce depends on the last bits, so the chains of kgs()
  # diverge, and their probabilities agree up to Monte Carlo error: 2000 draws,
  # .5 / sqrt of an effective sample size of 200 at worst, times 5.
  p <- function(data) {
    fit <- quiet(kgs(cbind(data$x), factor(gap$y > 0),
      kernel = kernel_gaussian(0.5), seed = 1,
      control = mcmc_control(chains = 2, warmup = 200, iter = 1000)
    ))
    predict(fit, grid, type = "prob")
  }
  expect_lt(max(abs(p(other) - p(gap))), 5 * 0.5 / sqrt(200))
})

test_that("responses without noise are fitted, and the noise is small", {
  exact <- sin(gap$x)
  for (engine in regressions) {
    fit <- quiet(engine(cbind(gap$x), exact))
    expect_lt(sqrt(mean(residuals(fit)^2)), 0.03)
    expect_lt(sigma(fit), 0.1)
  }
})

test_that("a predictor given twice counts as one in a kernel twice as wide", {
  # |x - x'|^2 is twice as large: exactly the same model.
  single <- regressions$smc(cbind(gap$x), gap$y)
  double <- srvm(cbind(a = gap$x, b = gap$x), gap$y,
    kernel = kernel_gaussian(0.5 * sqrt(2)), control = smc_control(100),
    seed = 1
  )
  expect_equal(fitted(double), fitted(single), tolerance = 1e-6)
  expect_equal(
    evidence(double)$log_evidence, evidence(single)$log_evidence,
    tolerance = 1e-6
  )
  fit <- quiet(bark(cbind(a = gap$x, b = gap$x), gap$y,
    control = control, seed = 1
  ))
  expect_lt(sqrt(mean(residuals(fit)^2)), 0.15)
})

test_that("errors fall as rows are added", {
  # The noise is .1, in a mean of n rows .1 / sqrt(n): from 16 to 256 rows the
  # error would fall to a quarter if all parameters were regular. The test
  # requires a half.
  truth <- function(x) ifelse(x == 0, 1, sin(x) / x)
  at <- cbind(seq(-5, 5, length.out = 50))
  for (engine in regressions) {
    error <- vapply(c(16, 256), function(n) {
      set.seed(4)
      x <- cbind(seq(-6, 6, length.out = n))
      fit <- quiet(engine(x, truth(x[, 1]) + 0.1 * rnorm(n)))
      sqrt(mean((predict(fit, at) - truth(at))^2))
    }, 0)
    expect_lt(error[[2]], error[[1]] / 2)
  }
})

test_that("bands are wider where there are no rows", {
  width <- function(fit, at, ...) {
    band <- predict(fit, cbind(at), interval = "credible", ...)
    band[, "upr"] - band[, "lwr"]
  }
  for (engine in regressions) {
    fit <- quiet(engine(cbind(gap$x), gap$y))
    near <- width(fit, gap$x)
    expect_gt(width(fit, 0), 2 * stats::median(near))
    expect_gt(width(fit, 4), 2 * stats::median(near))
  }
  # Bands widen with distance, up to the uncertainty beyond all kernels.
  for (engine in regressions[c("smc", "batch")]) {
    fit <- quiet(engine(cbind(gap$x), gap$y))
    expect_true(all(diff(width(fit, c(3, 3.5, 4, 5, 6))) > 0))
  }
})

test_that("classes are less certain farther from the rows", {
  fit <- quiet(kgs(cbind(gap$x), factor(gap$y > 0),
    kernel = kernel_gaussian(0.5), control = control, seed = 1
  ))
  p <- predict(fit, cbind(c(2, 3.5, 4, 5, 8)), type = "prob")[, 2]
  expect_true(all(diff(p) < 0))
  expect_equal(p[[5]], 0.5, tolerance = 0.1)
})

test_that("forecasts are less certain at later times", {
  seen <- sim_linear_hmm(100, seed = 1)
  filtered <- kbr_filter(
    kbr_hmm(seen$states, seen$observations, method = "kbr"),
    seen$observations[1:20, ]
  )
  sd <- predict(kbr_forecast(filtered, 3), type = "sd")[, 1]
  now <- predict(filtered, type = "sd")[20, 1]
  expect_true(all(diff(c(now, sd)) > 0))
})

test_that("rows with missing responses are predicted", {
  some <- gap
  some$y[c(2, 30)] <- NA
  fit <- srvm(y ~ x, some,
    kernel = kernel_gaussian(0.5), control = smc_control(100), seed = 1,
    na.action = "omit"
  )
  expect_identical(nobs(fit), 48L)
  values <- predict(fit, some, interval = "prediction")
  expect_false(anyNA(values))
  expect_true(all(gap$y[c(2, 30)] > values[c(2, 30), "lwr"] - 0.2))
  some$x[3] <- NA
  expect_identical(which(is.na(predict(fit, some))), 3L)
})

test_that("work and memory grow with the rows as the help pages state", {
  n <- c(200, 400, 800)
  power <- function(work) diff(log(work)) / diff(log(n))
  # Counts the kernel values requested, which measures work without times.
  count <- 0
  counted <- kernel_custom(function(x, y) {
    count <<- count + nrow(x) * nrow(y)
    exp(-outer(x[, 1], y[, 1], "-")^2)
  })
  values <- function(expr) {
    count <<- 0
    force(expr)
    count
  }
  pairs <- function(n) seq(-3, 3, length.out = n)
  fits <- lapply(n, function(n) kbr(sin(pairs(n)), pairs(n), rank = 10))
  # O(n r): linear at a fixed rank, beyond what every fit has.
  bytes <- vapply(fits, function(fit) as.double(object.size(fit)), 0)
  expect_equal(diff(bytes)[[2]], 2 * diff(bytes)[[1]], tolerance = 0.01)
  # The whole matrix of a kernel that is an R function.
  whole <- vapply(n, function(n) {
    values(kbr(sin(pairs(n)), pairs(n), kernel_y = counted, rank = 10))
  }, 0)
  expect_equal(power(whole), c(2, 2), tolerance = 0.1)
  # Each new row is read once.
  fit <- kbr(sin(pairs(50)), pairs(50), kernel_y = counted, rank = 10)
  new <- vapply(n, function(n) values(predict(fit, cbind(pairs(n)))), 0)
  expect_equal(power(new), c(1, 1))
})
