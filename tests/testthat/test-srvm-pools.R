# Shared sums held between calls of update() change nothing.

held <- function(name) {
  vapply(pools$held, function(entry) {
    if (name == "bytes") entry$bytes else as.double(entry$key$state$time)
  }, 0)
}

pools_data <- sim_sinc(170, seed = 1)
pools_data$class <- factor(pools_data$y > 0.2)

pools_fit <- function(formula, rows, ...) {
  few_particles(srvm(formula, pools_data[rows, ], seed = 1, ...))
}

#' Rows one by one, with or without held sums
one_by_one <- function(fit, rows, hold) {
  for (i in rows) {
    if (!hold) pools$held <- list()
    fit <- few_particles(update(fit, newdata = pools_data[i, ]))
  }
  fit
}

test_that("rows one by one equal one call, whatever is held", {
  control <- smc_control(20, n_moves = 3)
  without <- smc_control(20, n_moves = 0)
  one <- kernel_gaussian(0.3)
  two <- list(kernel_gaussian(0.2), kernel_gaussian(0.6))
  window <- srvm_memory(window = 110, candidates = 60, keep_rows = 120)
  cases <- list(
    list(y ~ x, kernel = one, control = control),
    list(y ~ x, kernel = one, control = without),
    list(y ~ x, kernel = two, control = control),
    list(y ~ x, kernel = do.call(kernel_dictionary, two), control = control),
    list(y ~ x, kernel = one, control = control, prior = srvm_prior(df = 4)),
    list(class ~ x, kernel = one, control = control),
    list(class ~ x, kernel = one, control = without, memory = window),
    list(y ~ x, kernel = one, control = control, memory = window),
    list(y ~ x,
      kernel = two, control = without, prior = srvm_prior(scaled = TRUE),
      memory = srvm_memory(window = 120, forgetting = 0.9, keep_rows = 1)
    ),
    list(y ~ x,
      kernel = one, control = control, memory = srvm_memory(candidates = 30)
    )
  )
  for (case in cases) {
    all <- do.call(pools_fit, c(case, list(rows = 1:150)))
    part <- do.call(pools_fit, list(case[[1]], 1:146,
      control = case$control, reference = all
    ))
    for (hold in c(TRUE, FALSE)) {
      expect_same_fit(one_by_one(part, 147:150, hold), all)
    }
  }
})

test_that("a fit may add other rows, and so may its copies", {
  pools$held <- list()
  fit <- pools_fit(y ~ x, 1:120,
    kernel = kernel_gaussian(0.3), control = smc_control(20, n_moves = 2)
  )
  expect_length(pools$held, 0)
  wanted <- one_by_one(fit, 121, TRUE)
  # The fit's sums, and those with another row.
  expect_setequal(held("time"), 120:121)
  other <- one_by_one(fit, 150, TRUE)
  expect_same_fit(one_by_one(fit, 121, TRUE), wanted)
  copy <- unserialize(serialize(fit, NULL))
  expect_same_fit(one_by_one(copy, 121, TRUE), wanted)
  expect_same_fit(
    one_by_one(other, 121, TRUE), one_by_one(other, 121, FALSE)
  )
  pools$held <- list()
  after <- few_particles(update(wanted, n_moves = 4))
  expect_same_fit(
    one_by_one(after, 122:123, TRUE), one_by_one(after, 122:123, FALSE)
  )
})

test_that("the held sums have a bound", {
  fit <- pools_fit(y ~ x, 1:130,
    kernel = list(kernel_gaussian(0.2), kernel_gaussian(0.6)),
    control = smc_control(10, n_moves = 1)
  )
  pools$held <- list()
  fit <- one_by_one(fit, 131:135, TRUE)
  # Of each run the last two.
  expect_identical(sort(held("time")), c(134, 134, 135, 135))
  withr::local_options(kernelbayes.held_memory = 5e5)
  fit <- one_by_one(fit, 136:138, TRUE)
  expect_lte(sum(held("bytes")), 5e5)
  withr::local_options(kernelbayes.held_memory = 0)
  pools$held <- list()
  one_by_one(fit, 139, TRUE)
  expect_length(pools$held, 0)
})
