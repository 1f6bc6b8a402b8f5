limited <- function(bytes, expr) {
  withr::local_options(kernelbayes.memory_limit = bytes)
  expr
}

expect_too_large <- function(bytes, expr) {
  error <- expect_error(limited(bytes, expr), class = "kb_error_memory")
  expect_gt(error$bytes, bytes)
  expect_identical(error$limit, bytes)
}

test_that("kernel matrices, features and draws beyond the limit are refused", {
  x <- matrix(as.double(1:100))
  kernel <- kernel_gaussian(1)
  expect_too_large(79999, kernel_matrix(kernel, x))
  expect_identical(dim(limited(80000, kernel_matrix(kernel, x))), c(100L, 100L))
  expect_too_large(7999, kernel_matrix(kernel, x, x[1:10, , drop = FALSE]))
  expect_too_large(7999, mmd_test(x[1:50, ], x[51:100, ], kernel))
  expect_too_large(39999, kbr(x, x + 0, rank = 50))
  circle <- sim_circle(40, seed = 1)
  expect_too_large(9000, kgs(y ~ ., circle, control = tiny_chains()))
  expect_too_large(
    30000, kgs(y ~ ., circle, control = mcmc_control(iter = 1000))
  )
})

test_that("draws of f beyond the limit are refused, fewer are not", {
  for (name in c("srvm", "bark", "kgs", "bark_classes")) {
    case <- fuzz_cases()[[name]]()
    new <- case$fit$data$x[rep(1, 500), , drop = FALSE]
    new <- as.data.frame(new)
    new[c("x", "x1", "x2")] <- new[[1]]
    limit <- 16 * 500 * 5 * 3
    expect_too_large(limit, predict(case$fit, new, type = "draws", ndraws = 20))
    draws <- limited(limit, predict(case$fit, new, type = "draws", ndraws = 5))
    expect_identical(dim(draws)[1:2], c(5L, 500L))
  }
})

test_that("sizes are checked before they are allocated", {
  most <- .Machine$integer.max
  data <- sim_sinc(20, seed = 1)
  k <- kernel_gaussian(0.3)
  long <- function(...) mcmc_control(warmup = 5, ..., time_limit = 1)
  beyond <- list(
    quote(bark(y ~ x, data, control = long(iter = most))),
    quote(srvm(y ~ x, data, kernel = k, method = "mcmc",
      control = long(iter = most)
    )),
    quote(kgs(y ~ ., sim_moons(20, seed = 1), control = long(iter = most)))
  )
  for (call in beyond) expect_error(eval(call), class = "kb_error_argument")
  bark <- fuzz_cases()$bark()$fit
  srvm <- fuzz_cases()$srvm()$fit
  withr::local_options(kernelbayes.memory_limit = 1e9)
  large <- list(
    quote(bark(y ~ x, data, control = long(iter = 5, n_temps = most))),
    quote(srvm(y ~ x, data, kernel = k, control = smc_control(most))),
    quote(srvm(y ~ x, data, kernel = k,
      control = smc_control(10, replicates = 1e7)
    )),
    quote(update(srvm, particles = most)), quote(simulate(bark, nsim = 3e8)),
    quote(simulate(srvm, nsim = 3e8)),
    quote(predict(bark, type = "draws", ndraws = most)),
    quote(predict(srvm, type = "draws", ndraws = most)),
    quote(evidence(bark, n_temps = most)),
    quote(evidence(bark, n_temps = 2, chains = 1e8)),
    quote(evidence(bark, n_temps = 2, iter = 1e8))
  )
  for (call in large) {
    expect_error(eval(call), class = "kb_error_memory", info = deparse(call)[1])
  }
})

test_that("what the system refuses is an error of memory", {
  withr::local_options(kernelbayes.memory_limit = Inf)
  expect_error(memory_value(numeric(2^51)), class = "kb_error_memory")
  expect_error(memory_value(numeric(1e30)), class = "kb_error_memory")
  expect_error(
    memory_value(rlang::abort("std", class = "std::bad_alloc")),
    class = "kb_error_memory"
  )
  expect_error(memory_value(stop("another")), "another")
})

test_that("more threads than a system has do not end R", {
  fit <- function(threads) {
    srvm(y ~ x, sim_sinc(8, seed = 1),
      kernel = kernel_gaussian(0.3), seed = 1,
      control = smc_control(5, threads = threads)
    )
  }
  expect_identical(fitted(fit(1e6)), fitted(fit(1)))
})

test_that("the limit must be a number of bytes", {
  for (limit in list("1 GB", -1, c(1, 2), NA_real_)) {
    expect_error(
      limited(limit, kernel_matrix(kernel_gaussian(1), 1)),
      class = "kb_error_argument"
    )
  }
  expect_silent(limited(Inf, kernel_matrix(kernel_gaussian(1), 1)))
})

test_that("free memory is read if the system reports it", {
  file <- withr::local_tempfile(lines = c(
    "MemTotal:       16000000 kB", "MemAvailable:    2000000 kB"
  ))
  expect_identical(free_memory(file), 2048e6)
  expect_identical(free_memory("/nowhere/at/all"), Inf)
  withr::local_options(kernelbayes.memory_limit = NULL)
  if (is.finite(free_memory())) {
    expect_error(check_memory(1e15, "It"), class = "kb_error_memory")
  }
  expect_silent(check_memory(10, "It"))
})

test_that("bytes are given in a suitable unit", {
  expect_identical(
    vapply(c(1, 1500, 2e6, 3.21e9), format_bytes, ""),
    c("1 bytes", "1.5 kB", "2 MB", "3.2 GB")
  )
})
