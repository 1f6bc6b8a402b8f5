# Kernels against formulas in plain R, to 1e-14 relative.

points <- function(n, d, seed = 1) {
  withr::with_seed(seed, matrix(rnorm(n * d), n, d))
}

rotations <- function(n) {
  t(apply(points(n, 9), 1, function(row) {
    q <- qr.Q(qr(matrix(row, 3)))
    q * sign(det(q))
  }))
}

pairwise <- function(x, y, f) {
  outer(seq_len(nrow(x)), seq_len(nrow(y)), Vectorize(function(i, j) {
    f(x[i, ], y[j, ])
  }))
}

scaled_distance <- function(x, y, b) sqrt(sum(((x - y) / b)^2))

# kernel, and its formula, at bandwidth b
stationary <- function(b) {
  radial <- function(f) function(x, y) f(scaled_distance(x, y, b))
  list(
    list(kernel_gaussian(b), radial(function(s) exp(-s^2 / 2))),
    list(kernel_laplace(b), radial(function(s) exp(-s))),
    list(kernel_matern(b, 1 / 2), radial(function(s) exp(-s))),
    list(
      kernel_matern(b, 3 / 2),
      radial(function(s) (1 + sqrt(3) * s) * exp(-sqrt(3) * s))
    ),
    list(
      kernel_matern(b, 5 / 2),
      radial(function(s) (1 + sqrt(5) * s + 5 * s^2 / 3) * exp(-sqrt(5) * s))
    ),
    list(
      kernel_rational_quadratic(b, 0.7),
      radial(function(s) (1 + s^2 / 1.4)^-0.7)
    ),
    list(kernel_periodic(b, 1.7), function(x, y) {
      exp(-2 * sum((sin(pi * (x - y) / 1.7) / b)^2))
    })
  )
}

inner_products <- list(
  list(kernel_linear(), function(x, y) sum(x * y)),
  list(kernel_polynomial(1, 0), function(x, y) sum(x * y)),
  list(kernel_polynomial(5, 0.3), function(x, y) (sum(x * y) + 0.3)^5),
  list(kernel_constant(2.5), function(x, y) 2.5)
)

all_kernels <- c(
  lapply(stationary(0.8), `[[`, 1),
  lapply(inner_products, `[[`, 1),
  list(
    kernel_gaussian(0.7) + kernel_linear() * kernel_laplace(2),
    (1 + kernel_linear()) * (0.5 * kernel_matern(2) + kernel_periodic())
  )
)

test_that("every kernel agrees with its formula", {
  for (d in c(1, 3)) {
    x <- points(7, d)
    y <- points(9, d, seed = 2)
    bandwidths <- list(0.8, 3, seq(0.5, 2, length.out = d))
    cases <- c(
      unlist(lapply(bandwidths, stationary), recursive = FALSE),
      inner_products
    )
    for (case in cases) {
      expect_equal(
        kernel_matrix(case[[1]], x, y), pairwise(x, y, case[[2]]),
        tolerance = 1e-14, info = format(case[[1]])
      )
    }
  }
})

test_that("the rotation kernel is Tr[A B'], of rank 9", {
  x <- rotations(20)
  k <- kernel_matrix(kernel_rotation(), x)
  trace <- function(a, b) sum(diag(matrix(a, 3) %*% t(matrix(b, 3))))
  expect_equal(k, pairwise(x, x, trace), tolerance = 1e-14)
  expect_equal(diag(k), rep(3, 20))
  expect_identical(qr(k)$rank, 9L)
})

test_that("kernels are positive semidefinite", {
  x <- points(40, 3)
  for (kernel in all_kernels) {
    values <- eigen(kernel_matrix(kernel, x), TRUE, only.values = TRUE)$values
    expect_gt(min(values), -1e-13 * max(values))
  }
})

test_that("an entry has the same bits in every block", {
  skip_on_cran()
  for (d in c(1, 2, 9, 32, 70)) {
    x <- points(141, d)
    y <- points(23, d, seed = 2)
    for (kernel in all_kernels) {
      full <- kernel_matrix(kernel, x, y)
      expect_identical(kernel_matrix(kernel, y, x), t(full))
      same <- TRUE
      for (i in list(1, 3, 4:6, 2:130, c(141, 17), 141:1)) {
        for (j in list(1, 23, 2:4, c(9, 5, 7, 1, 3))) {
          block <- kernel_matrix(
            kernel, x[i, , drop = FALSE], y[j, , drop = FALSE]
          )
          same <- same && identical(block, full[i, j, drop = FALSE])
        }
      }
      expect_true(same)
    }
  }
})

test_that("the matrix of x with itself is exact and symmetric", {
  for (n in c(1, 2, 31, 128, 129, 300)) {
    x <- points(n, 5)
    for (kernel in all_kernels) {
      k <- kernel_matrix(kernel, x)
      expect_identical(k, t(k))
      expect_identical(k, kernel_matrix(kernel, x, x))
      expect_identical(diag(k), kernel_diagonal_cpp(kernel, x))
    }
    for (case in c(stationary(0.3), stationary(c(1, 2, 3, 0.1, 7)))) {
      expect_identical(diag(kernel_matrix(case[[1]], x)), rep(1, n))
    }
  }
})

test_that("extreme bandwidths and points give limits, not NaN", {
  x <- c(0, 1, 1e200)
  for (b in c(1e-300, 1e-160, 1, 1e160, 1e300)) {
    for (case in stationary(b)[1:6]) {
      k <- kernel_matrix(case[[1]], x)
      expect_true(all(k >= 0 & k <= 1))
      expect_identical(diag(k), rep(1, 3))
    }
  }
  expect_identical(kernel_matrix(kernel_gaussian(1e-300), 0:1), diag(2))
  expect_identical(kernel_matrix(kernel_gaussian(1e300), 0:1), matrix(1, 2, 2))
})

test_that("sums and products agree with those of the matrices", {
  x <- points(150, 2)
  y <- points(11, 2, seed = 2)
  a <- kernel_gaussian(1.2)
  b <- kernel_linear()
  ka <- kernel_matrix(a, x, y)
  kb <- kernel_matrix(b, x, y)
  expect_identical(kernel_matrix(a + b, x, y), ka + kb)
  expect_identical(kernel_matrix(a * b, x, y), ka * kb)
  expect_identical(kernel_matrix(2 * a + 1, x, y), 2 * ka + 1)
  expect_identical(kernel_matrix(a * 2, x, y), kernel_matrix(2 * a, x, y))
  expect_identical(kernel_matrix((a + b) * a, x, y), (ka + kb) * ka)
  expect_identical(kernel_matrix(a + b * a, x, y), ka + kb * ka)
})

test_that("custom kernels are evaluated by block, also in sums", {
  x <- points(6, 2)
  y <- points(4, 2, seed = 2)
  custom <- kernel_custom(function(x, y) x %*% t(y))
  expect_equal(kernel_matrix(custom, x, y), x %*% t(y))
  g <- kernel_matrix(kernel_gaussian(1), x, y)
  expect_equal(
    kernel_matrix(2 * kernel_gaussian(1) * custom + 1, x, y),
    2 * g * (x %*% t(y)) + 1
  )
  k <- kernel_matrix(custom, points(30, 7))
  expect_identical(k, t(k))
  expect_false(kernel_is_builtin(1 + custom))
  expect_true(kernel_is_builtin(kernel_linear() * kernel_constant(2)))

  wrong <- list(
    function(x, y) 1, function(x, y) t(x %*% t(y)),
    function(x, y) matrix("a", nrow(x), nrow(y)),
    function(x, y) matrix(NA_real_, nrow(x), nrow(y))
  )
  for (f in wrong) {
    expect_error(
      kernel_matrix(kernel_custom(f), x, y),
      class = "kb_error_custom_kernel"
    )
  }
})

test_that("vectors are one column, names are kept, shapes may be empty", {
  x <- c(a = 0, b = 1)
  k <- kernel_matrix(kernel_gaussian(1), x, 1:3)
  expect_identical(dimnames(k), list(c("a", "b"), NULL))
  expect_identical(rownames(kernel_matrix(kernel_linear(), x)), c("a", "b"))
  expect_null(dimnames(kernel_matrix(kernel_linear(), 1:3)))
  expect_identical(
    unname(kernel_matrix(kernel_linear(), trees)),
    unname(kernel_matrix(kernel_linear(), as.matrix(trees)))
  )
  none <- matrix(0, 0, 1)
  expect_identical(dim(kernel_matrix(kernel_gaussian(1), none, 1:3)), c(0L, 3L))
  expect_identical(dim(kernel_matrix(kernel_gaussian(), none)), c(0L, 0L))
})

test_that("the median bandwidth is the median of pairwise distances", {
  x <- points(50, 3)
  expect_identical(bandwidth_median(x), median(dist(x)))
  expect_identical(bandwidth_median(x, 2), sqrt(sum((x[1, ] - x[50, ])^2)))
  expect_identical(bandwidth_median(points(2500, 2)), bandwidth_median(
    points(2500, 2)[round(seq(1, 2500, length.out = 1000)), ]
  ))
  expect_identical(bandwidth_median(7), 1)
  expect_identical(bandwidth_median(rep(7, 5)), 1)
  expect_identical(bandwidth_median(c(rep(0, 20), 3)), 3)
  expect_error(bandwidth_median(x, 1), class = "kb_error_argument")

  k <- kernel_gaussian() + 2 * kernel_matern("median") * kernel_laplace(3)
  b <- bandwidth_median(x)
  resolved <- kernel_gaussian(b) + 2 * kernel_matern(b) * kernel_laplace(3)
  expect_identical(kernel_resolve(k, x), resolved)
  expect_identical(kernel_matrix(k, x), kernel_matrix(resolved, x))
  expect_identical(
    kernel_matrix(k, x, x[1:3, ]), kernel_matrix(resolved, x, x[1:3, ])
  )
  expect_error(kernel_matrix_cpp(k, x, NULL), "not resolved")
})

test_that("arguments out of range are classed errors", {
  bad_bandwidths <- list(
    0, -1, NA_real_, Inf, numeric(), "mean", NULL, c(1, 0), matrix(1), TRUE
  )
  for (b in bad_bandwidths) {
    expect_error(kernel_gaussian(b), class = "kb_error_argument")
    expect_error(kernel_periodic(b), class = "kb_error_argument")
  }
  bad <- rlang::exprs(
    kernel_periodic("median"), kernel_periodic(1, 0), kernel_matern(1, 2),
    kernel_matern(1, NA), kernel_rational_quadratic(1, 0),
    kernel_polynomial(0), kernel_polynomial(1.5), kernel_polynomial(2, -1),
    kernel_constant(-1), kernel_constant(Inf), kernel_custom("f"),
    -1 * kernel_linear(), kernel_linear() + "a", kernel_linear() + c(1, 2),
    kernel_matrix("gaussian", 1:3), kernel_matrix(kernel_linear(), "a"),
    kernel_matrix(kernel_linear(), matrix(0, 3, 0)),
    kernel_matrix(kernel_linear(), iris)
  )
  for (e in bad) {
    expect_error(eval(e), class = "kb_error_argument", info = format(e))
  }
  for (e in rlang::exprs(
    kernel_linear() - kernel_linear(), +kernel_linear(), kernel_linear()^2,
    kernel_linear() == kernel_linear()
  )) {
    expect_error(eval(e), class = "kb_error_operator", info = format(e))
  }
})

test_that("infinite points, and points of the wrong width, are refused", {
  k <- kernel_gaussian(1)
  for (x in list(NA_real_, c(1, Inf), NaN, NA_integer_)) {
    expect_error(kernel_matrix(k, x), class = "kb_error_not_finite")
    expect_error(kernel_matrix(k, 1, x), class = "kb_error_not_finite")
    expect_error(bandwidth_median(x), class = "kb_error_not_finite")
  }
  x <- points(4, 3)
  bad <- rlang::exprs(
    kernel_matrix(k, x, x[, 1:2]), kernel_matrix(kernel_gaussian(1:2), x),
    kernel_matrix(k + 2 * kernel_rotation(), x)
  )
  for (e in bad) {
    expect_error(eval(e), class = "kb_error_dimension", info = format(e))
  }
  # and the core says so too
  expect_error(kernel_matrix_cpp(kernel_rotation(), x, NULL), "9 columns")
  expect_error(kernel_matrix_cpp(kernel_laplace(c(1, 2)), x, NULL), "length 1")
  expect_error(kernel_matrix_cpp(k, x, x[, 1:2]), "disagree")
})

test_that("kernels print in one line and survive saveRDS", {
  expect_output(print(kernel_gaussian()),
    "kernel_gaussian(bandwidth = \"median\")",
    fixed = TRUE
  )
  k <- (1 + kernel_linear()) * kernel_matern(c(1, 1 / 3), 1.5) +
    kernel_custom(identity)
  expect_identical(format(k), paste(
    "(kernel_constant(value = 1) + kernel_linear()) *",
    "kernel_matern(bandwidth = c(1, 0.3333), nu = 1.5) +",
    "kernel_custom(f = <function>)"
  ))
  expect_identical(
    format(kernel_laplace(1:9)),
    "kernel_laplace(bandwidth = c(1, 2, 3, 4, ...))"
  )
  expect_s3_class(kernel_laplace(1), c("kb_kernel_laplace", "kb_kernel"),
    exact = TRUE
  )
  file <- withr::local_tempfile()
  k <- kernel_gaussian(2) * kernel_polynomial() + 1
  saveRDS(k, file)
  expect_identical(readRDS(file), k)
  x <- points(5, 2)
  expect_identical(kernel_matrix(readRDS(file), x), kernel_matrix(k, x))
})

test_that("kernlab's kernels agree", {
  skip_if_not_installed("kernlab")
  agree <- function(kernel, other, tolerance = 1e-12) {
    for (d in c(1, 4, 50)) {
      x <- points(30, d)
      y <- points(20, d, seed = 2)
      expect_equal(kernel_matrix(kernel, x, y),
        unclass(kernlab::kernelMatrix(other, x, y)),
        tolerance = tolerance, ignore_attr = TRUE
      )
    }
  }
  agree(kernel_gaussian(2), kernlab::rbfdot(1 / 8))
  # kernlab rounds these squared distances to 9 digits
  agree(kernel_laplace(2), kernlab::laplacedot(1 / 2), 1e-6)
  agree(kernel_polynomial(3, 0.5), kernlab::polydot(3, 1, 0.5))
  agree(kernel_linear(), kernlab::vanilladot())
})
