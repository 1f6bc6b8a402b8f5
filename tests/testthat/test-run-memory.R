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

test_that("any number of things that would not fit is refused at once", {
  most <- .Machine$integer.max
  withr::local_options(kernelbayes.memory_limit = 1e9)
  withr::local_seed(1)
  x <- stats::rnorm(30)
  y <- x + stats::rnorm(30)
  quiet <- function(expr) suppressMessages(suppressWarnings(expr))
  kbr <- quiet(kbr(x, y))
  rule <- quiet(kbr(x, y, method = "kbr"))
  path <- quiet(kbr_filter(kbr_hmm(cumsum(x), y, seed = 1), y[1:5]))
  rule_path <- quiet(kbr_filter(kbr_hmm(cumsum(x), y, method = "kbr"), y[1:5]))
  srvm <- fuzz_cases()$srvm()$fit
  bark <- fuzz_cases()$bark()$fit
  kgs <- fuzz_cases()$kgs()$fit
  draw <- function(n) stats::rnorm(n)
  target <- td_target(
    function(x, t, data) numeric(nrow(x)), function(n, data) matrix(0, n, 1)
  )
  stay <- td_move(function(states, t, data) states,
    function(a, b, t, data) numeric(nrow(a)),
    function(a, b, t, data) numeric(nrow(a))
  )
  few <- smc_control(3)
  calls <- expression(
    simulate(kbr, nsim = most), as_draws(kbr, ndraws = most),
    predict(kbr, type = "draws", ndraws = most),
    predict(rule, type = "draws", ndraws = most),
    predict(path, type = "draws", ndraws = most),
    predict(rule_path, type = "draws", ndraws = most),
    kbr_forecast(path, h = most), kbr_forecast(rule_path, h = most),
    plot(kbr, newdata = 1, n = most),
    plot(kbr(cbind(x, y), y), newdata = 1, type = "joint", n = most),
    plot(kernel_mean(x), n = most), plot(kgs, n = most),
    posterior_predictive_check(kbr, 1, function(x) x, ndraws = most),
    kbr_simulate(draw, identity, most),
    kdr(cbind(x, y), y, direction_steps = most),
    order_spread(srvm, orders = most), importance(bark, ndraws = most),
    importance(srvm, permutations = most),
    exposure_effects(bark, n = most), exposure_effects(bark, ndraws = most),
    check_moves(target, stay, steps = 1, n = most),
    tdsmc(target, stay, steps = most, control = few),
    tdsmc(target, stay, steps = 1, control = smc_control(most)),
    mcmc_control(chains = most), smc_control(replicates = most),
    sim_sinc(most), sim_friedman(most), sim_friedman(10, p = most),
    sim_circle(most), sim_circle(10, p = most), sim_moons(most),
    sim_sphere(most), sim_quadratic(most), sim_rotation(most),
    sim_oscillation(most), sim_linear_hmm(most), sim_sbi("sir", most),
    kernel_matrix(kernel_gaussian(1), numeric(1e5))
  )
  for (call in as.list(calls)) {
    expect_error(quiet(eval(call)),
      class = "kb_error_memory", info = deparse(call)[1]
    )
  }
})

test_that("numbers beyond those that there are count as these", {
  most <- .Machine$integer.max
  data <- sim_sinc(12, seed = 1)
  with_memory <- function(...) {
    fitted(srvm(y ~ x, data, kernel = kernel_gaussian(0.3), seed = 1,
      memory = srvm_memory(...), control = smc_control(5)
    ))
  }
  expect_identical(with_memory(window = most), with_memory(window = 100))
  expect_identical(
    with_memory(window = most, candidates = most, keep_rows = most),
    with_memory(window = 100, candidates = 100, keep_rows = 100)
  )
  hmm <- suppressWarnings(kbr_hmm(cumsum(data$y), data$x, seed = 1))
  for (path in list(kbr_filter(hmm, data$x))) {
    expect_identical(
      predict(kbr_smooth(path, lag = most)), predict(kbr_smooth(path, lag = 50))
    )
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
  # Wherever numbers are drawn, and in each entry of the C++ core
  expect_error(with_local_seed(1, numeric(2^51)), class = "kb_error_memory")
  for (name in ls(asNamespace("kernelbayes"), pattern = "^[a-z].*_cpp$")) {
    entry <- body(get(name))
    expect_identical(entry[[1]], quote(memory_value), info = name)
  }
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
