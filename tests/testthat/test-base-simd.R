# Loops over rows for each instruction set that this processor has, compared
# with R. Seen to fail when the last rows are left out, when a product's tile is
# off by a column, when the last rows
# of a tile of distances are, when exp's series ends two terms earlier and when the result
# is not scaled by a power of 2 below 1e-308.

sets_here <- function() {
  unique(vapply(simd_sets, simd_cpp, "", USE.NAMES = FALSE))
}

with_set <- function(name, x, a, b, y) {
  arithmetic_cpp(name, x, 0.7, -0.4, rep(0.25, length(x)), a, b, y)
}

numbers_for <- function(n, p, q) {
  withr::with_seed(n + p, list(
    x = c(10^stats::runif(n - 1, -6, 2.8), 0),
    a = matrix(stats::rnorm(n * p), n), b = matrix(stats::rnorm(n * q), n),
    y = stats::rnorm(n)
  ))
}

test_that("each set has its name, the widest that the processor has", {
  expect_identical(sets_here(), utils::tail(simd_sets, length(sets_here())))
  for (name in sets_here()) expect_identical(simd_cpp(name), name)
  expect_error(simd_cpp("sse"), "no such instruction set")
})

test_that("exp(-x) is right to an ulp or two, also where it is tiny", {
  x <- c(
    10^seq(-300, 2.8, length.out = 4001), 0, -3, -600, 700:745, 746, 1e5, Inf,
    -0, -1500, -1e5, -1e300, -Inf
  )
  for (name in sets_here()) {
    out <- with_set(name, x, diag(1), diag(1), 1)$exp
    normal <- exp(-x) > 1e-307 & x > -700
    error <- abs(out / exp(-x) - 1)[normal]
    expect_lt(max(error), 2 * .Machine$double.eps)
    expect_lt(max(abs(out - exp(-x))[!normal & x > 0]), 1e-322)
    expect_true(all(out[x < -800] == Inf))
    expect_identical(out[x == 0], c(1, 1))
    expect_identical(with_set(name, c(NaN, 1), diag(1), diag(1), 1)$exp[1], NaN)
  }
})

test_that("sums and products agree with R for any numbers of rows, columns", {
  sizes <- expand.grid(
    n = c(1:9, 16, 31, 200), p = c(1, 3:5, 9), q = c(1, 4, 7)
  )
  # Thousands of comparisons: only those that fail become expectations.
  wrong <- character()
  for (i in seq_len(nrow(sizes))) {
    v <- numbers_for(sizes$n[[i]], sizes$p[[i]], sizes$q[[i]])
    l <- seq_len(ncol(v$a))
    r2 <- drop(sweep(v$a, 2, l / 10)^2 %*% l)
    radial <- cbind(
      exp(-r2 / 2), exp(-sqrt(r2)),
      (1 + sqrt(3 * r2)) * exp(-sqrt(3 * r2)),
      (1 + sqrt(5 * r2) + 5 * r2 / 3) * exp(-sqrt(5 * r2))
    )
    less <- v$a[, pmin(1:4, ncol(v$a)), drop = FALSE] %*% c(1, -2, 0.5, 3)
    portable <- with_set("portable", v$x, v$a, v$b, v$y)
    for (name in sets_here()) {
      out <- with_set(name, v$x, v$a, v$b, v$y)
      near <- function(part, value, tolerance) {
        isTRUE(all.equal(out[[part]], value, tolerance = tolerance))
      }
      right <- c(
        sum = near("sum", 0.25 + 0.7 * (v$x + 0.4)^2, 1e-14),
        distances = near("distances", r2, 1e-14),
        radial = near("radial", v$y * radial, 1e-13),
        less = near("less", v$y - drop(less), 1e-13),
        bits = identical(out$less, portable$less),
        products = near("products", crossprod(v$a, v$b), 1e-12),
        squares = near("squares", crossprod(v$a), 1e-12),
        product = near("product", drop(crossprod(v$a, v$y)), 1e-12)
      )
      where <- paste(unlist(sizes[i, ]), collapse = " x ")
      wrong <- c(wrong, paste(name, where, names(right))[!right])
    }
  }
  expect_identical(wrong, character())
})

# Chains must not depend on where a column or a row is.
test_that("a number has the same bits at each position", {
  v <- numbers_for(23, 2, 2)
  for (name in sets_here()) {
    whole <- with_set(name, v$x, v$a, v$b, v$y)
    for (first in 2:9) {
      rest <- first:23
      part <- with_set(name, v$x[rest], v$a[rest, ], v$b[rest, ], v$y[rest])
      expect_identical(part$distances, whole$distances[rest])
      expect_identical(part$radial, whole$radial[rest, ])
      expect_identical(part$exp, whole$exp[rest])
      expect_identical(part$sum, whole$sum[rest])
    }
  }
})

test_that("a fit records its set, which an option limits", {
  data <- sim_friedman(40, p = 5, seed = 1)
  draw <- function(name = NULL) {
    withr::local_options(kernelbayes.simd = name)
    suppressMessages(
      bark(y ~ ., data, control = tiny_chains(), seed = 1, progress = FALSE)
    )
  }
  usual <- draw()
  expect_identical(usual$simd, sets_here()[[1]])
  for (name in sets_here()) {
    fit <- draw(name)
    expect_identical(fit$simd, name)
    expect_identical(
      identical(as_draws(fit), as_draws(usual)), name == usual$simd
    )
  }
  # A fit continues with its own set.
  fit <- draw("portable")
  longer <- function() {
    as_draws(suppressMessages(update(fit, iter = 10, progress = FALSE)))
  }
  free <- longer()
  withr::local_options(kernelbayes.simd = "portable")
  expect_identical(longer(), free)
})

test_that("an unknown set is refused", {
  withr::local_options(kernelbayes.simd = "sse")
  expect_error(choose_simd(), "kernelbayes.simd", class = "kb_error_argument")
})

test_that("the normal distribution is right in both tails, and products", {
  x <- c(seq(-37, 37, length.out = 3001), 0, -1e-300, 1e4, -1e4)
  for (name in sets_here()) {
    out <- normal_times_cpp(name, x, diag(1), 1)
    # The rounding of x^2 / 2 adds some x^2 / 2 units, that of x in erfc() too.
    bound <- 3e-15 + x^2 * 3e-16
    near <- abs(x) < 37
    expect_true(all(abs(out$cdf / pnorm(x) - 1)[near] < bound[near]))
    expect_true(all(abs(out$bell / exp(-x^2 / 2) - 1)[near] < bound[near]))
    expect_equal(out$cdf[c(3002, 3004, 3005)], c(0.5, 1, 0), tolerance = 1e-15)
    for (n in c(1:9, 31, 32, 33, 64, 200)) {
      v <- numbers_for(n, 5, 1)
      out <- normal_times_cpp(name, v$y, v$a, 1:5 / 3)
      expect_equal(out$times, drop(v$a %*% (1:5 / 3)), tolerance = 1e-13)
      expect_equal(out$cdf, pnorm(v$y), tolerance = 1e-14)
    }
  }
})

test_that("the logistic function is right in both tails, by an ulp or two", {
  t <- c(
    seq(-40, 40, length.out = 4001), -10^seq(-300, 2.8, length.out = 500),
    log(sqrt(2) - 1) + c(-1, 0, 1) * 1e-16, 0, 1e-300, 700, -700
  )
  log_sum <- pmax(t, 0) + log1p(exp(-abs(t)))
  eps <- .Machine$double.eps
  for (name in sets_here()) {
    out <- logistic_cpp(name, t)
    expect_lt(max(abs(out$p / plogis(t) - 1)), 4 * eps)
    expect_lt(max(abs(out$variance / dlogis(t) - 1)), 8 * eps)
    expect_lt(max(abs(out$log_sum / log_sum - 1)), 4 * eps)
    ends <- logistic_cpp(name, c(Inf, -Inf, 1e4, -1e4, NaN))
    expect_identical(ends$p[1:4], c(1, 0, 1, 0))
    expect_identical(ends$variance[1:4], numeric(4))
    expect_identical(ends$log_sum[1:4], c(Inf, 0, 1e4, 0))
    expect_true(all(is.nan(unlist(lapply(ends, `[`, 5)))))
    for (n in 1:17) {
      expect_identical(logistic_cpp(name, t[seq_len(n)])$log_sum,
        out$log_sum[seq_len(n)]
      )
    }
  }
})
