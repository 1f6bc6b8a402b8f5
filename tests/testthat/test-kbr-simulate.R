# Pairs from a sampler of the prior and a simulator of observations.

normal_states <- function(n) stats::rnorm(n)
noisy <- function(x) x + 0.5 * stats::rnorm(length(x))

unname_rows <- function(m) {
  rownames(m) <- NULL
  m
}

test_that("the simulator gets the states that the sampler returned", {
  seen <- NULL
  pairs <- kbr_simulate(
    function(n) data.frame(a = stats::runif(n), b = seq_len(n)),
    function(states) {
      seen <<- states
      cbind(sum = states$a + states$b, states$a)
    },
    n = 5, seed = 1
  )
  expect_s3_class(seen, "data.frame")
  expect_s3_class(pairs, "kb_pairs")
  expect_identical(pairs$x, unname_rows(as.matrix(seen) + 0))
  expect_identical(pairs$y[, 1], seen$a + seen$b)
  expect_identical(colnames(pairs$y), c("sum", ""))
  expect_type(pairs$x, "double")
})

test_that("a seed gives the same pairs and leaves R's generator alone", {
  set.seed(5)
  before <- .Random.seed
  pairs <- kbr_simulate(normal_states, noisy, 10, seed = 3)
  expect_identical(.Random.seed, before)
  expect_identical(kbr_simulate(normal_states, noisy, 10, seed = 3), pairs)
  other <- kbr_simulate(normal_states, noisy, 10, seed = 4)
  expect_false(identical(other, pairs))
  expect_identical(
    withr::with_seed(3, {
      x <- matrix(stats::rnorm(10))
      list(x = x, y = x + 0.5 * stats::rnorm(10))
    }),
    unclass(pairs)[c("x", "y")]
  )
})

test_that("without a seed, set.seed() is honoured", {
  set.seed(1)
  first <- kbr_simulate(normal_states, noisy, 4)
  second <- kbr_simulate(normal_states, noisy, 4)
  set.seed(1)
  expect_identical(kbr_simulate(normal_states, noisy, 4), first)
  expect_false(identical(first, second))
})

test_that("pairs go to kbr(), with all of its arguments", {
  pairs <- kbr_simulate(normal_states, noisy, 50, seed = 1)
  fit <- kbr(pairs, method = "iw", eps = 0.01)
  plain <- kbr(pairs$x, pairs$y, method = "iw", eps = 0.01)
  expect_identical(fit$posterior, plain$posterior)
  expect_identical(fit$call[[2]], quote(pairs))
  expect_identical(predict(fit, 1), predict(plain, 1))
  expect_error(kbr_rule(pairs, foo = 1), class = "kb_error_unknown_argument")
  expect_error(kbr_rule(pairs, y = pairs$y), class = "kb_error_argument")
  expect_error(kbr_rule(pairs, eps = 0), class = "kb_error_argument")
})

test_that("one pair is enough", {
  pairs <- kbr_simulate(normal_states, noisy, 1, seed = 1)
  expect_identical(dim(pairs$x), c(1L, 1L))
  expect_output(print(pairs), "1 pair: 1 column of states, 1 of observations")
  expect_equal(predict(kbr_rule(pairs), 0)[[1]], pairs$x[1, 1])
})

test_that("pairs side by side have names", {
  pairs <- kbr_simulate(
    function(n) matrix(stats::rnorm(2 * n), n), function(x) x[, 1], 3,
    seed = 1
  )
  expect_named(as.data.frame(pairs), c("x1", "x2", "y"))
  expect_output(print(pairs), "3 pairs: 2 columns of states, 1 of obs")
  named <- kbr_simulate(
    function(n) cbind(theta = stats::rnorm(n)), function(x) cbind(s = x[, 1]),
    3, seed = 1
  )
  expect_named(as.data.frame(named), c("theta", "s"))
  expect_identical(colnames(predict(kbr_rule(named), cbind(s = 0))), "theta")
})

test_that("functions that do not return n finite rows are refused", {
  refuse <- function(sampler, simulator, argument,
                     class = "kb_error_simulator", n = 5) {
    cnd <- rlang::catch_cnd(kbr_simulate(sampler, simulator, n), "error")
    expect_s3_class(cnd, class)
    expect_match(conditionMessage(cnd), argument, fixed = TRUE)
  }
  for (bad in list(
    function(n) NULL, function(n) letters[seq_len(n)], function(n) list(1),
    function(n) stats::rnorm(n + 1), function(n) rep(NA_real_, n),
    function(n) rep(Inf, n), function(n) array(1, c(n, 1, 2)),
    function(n) data.frame(a = letters[seq_len(n)]),
    function(n) matrix(0, n, 0)
  )) {
    refuse(bad, noisy, "prior_sampler")
    refuse(normal_states, function(x) bad(length(x)), "simulator")
  }
  argument <- "kb_error_argument"
  refuse(1, noisy, "prior_sampler", argument)
  refuse(normal_states, "f", "simulator", argument)
  refuse(normal_states, noisy, "n", argument, n = 0)
  expect_error(kbr_simulate(normal_states, noisy, 5, seed = "a"),
    class = "kb_error_argument"
  )
  # Errors inside are passed on as they are, and the generator is restored.
  set.seed(5)
  before <- .Random.seed
  expect_error(
    kbr_simulate(normal_states, function(x) stop("inside"), 5, seed = 1),
    "inside"
  )
  expect_identical(.Random.seed, before)
})
