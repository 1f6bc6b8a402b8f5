# bayes_point(): the fit's own Bayes point, from one coefficient per centre.
#
# Seen to fail: coefficients from the factor instead of its transpose, a single
# draw for the mean, centres only by the size of f or without deflation.

data <- kgs_example()
fits <- kgs_fits()

new_rows <- function(fit) {
  new <- sim_moons(15, seed = 9)
  new$g <- rep(c("c", "a", "b"), 5)
  if (fit$mould$interface == "formula") {
    return(new)
  }
  as.matrix(new[c("x1", "x2")])[, seq_len(ncol(fit$data$x)), drop = FALSE]
}

test_that("it agrees with the fit", {
  for (name in names(fits)) {
    fit <- fits[[name]]
    point <- bayes_point(fit)
    new <- new_rows(fit)
    expect_s3_class(point, "kb_bayes_point")
    f <- predict(fit, new, type = "link")
    expect_equal(predict(point, new, type = "link"), f,
      tolerance = 1e-10, label = name
    )
    expect_identical(predict(point, new), predict(fit, new, type = "bpm"))
    expect_identical(point$explained, 1)
  }
})

test_that("it is the mean of the unit directions", {
  fit <- fits$moons
  f <- predict(fit, type = "draws")
  expect_equal(predict(bayes_point(fit), data, type = "link"), colMeans(f),
    tolerance = 1e-8
  )
  f <- predict(fits$three, type = "draws")
  expect_equal(
    unname(predict(bayes_point(fits$three), data, type = "link")),
    apply(f, 2:3, mean),
    tolerance = 1e-8
  )
})

test_that("coefficients times kernel give f", {
  fit <- fits$moons
  alpha <- coef(fit)
  expect_identical(unname(alpha), coef(bayes_point(fit)))
  x <- scaling_x(fit$settings$scaling, fit$data$x)
  rows <- as.integer(names(alpha))
  k <- kernel_matrix(fit$settings$kernel, x, x[rows, ]) + 1
  expect_equal(drop(k %*% alpha), predict(fit, type = "link"),
    tolerance = 1e-8
  )
  alpha <- coef(fits$three)
  expect_identical(colnames(alpha), c("low", "mid", "high"))
  rows <- as.integer(rownames(alpha))
  k <- kernel_matrix(fits$three$settings$kernel, x, x[rows, ]) + 1
  expect_equal(k %*% alpha, predict(fits$three, type = "link"),
    tolerance = 1e-8
  )
})

#' Squared norm of the projection of f on centres, by normal equations: for sets
#' of few centres
projection_by_hand <- function(fit, chosen) {
  basis <- fit$settings$basis
  w <- bayes_point_direction(fit)
  rows <- basis$factor[chosen, , drop = FALSE]
  f <- rows %*% w
  sum(f * solve(tcrossprod(rows), f)) / sum(w^2)
}

test_that("fewer centres are the projection, chosen greedily", {
  fit <- fits$low_rank
  pivots <- nrow(fit$settings$basis$factor)
  for (n in c(1, 3)) {
    point <- bayes_point(fit, centres = n)
    chosen <- nearest_centres(
      fit$settings$basis$factor, bayes_point_direction(fit), n
    )
    expect_identical(dim(point$points), c(as.integer(n), 2L))
    expect_equal(point$explained, projection_by_hand(fit, chosen))
    # The projection agrees with f at its centres.
    centres <- fit$settings$basis$points[chosen, , drop = FALSE]
    scaling <- fit$settings$scaling
    own <- sweep(
      sweep(centres, 2, scaling$x_scale, "*"), 2, scaling$x_center, "+"
    )
    expect_equal(
      predict(point, own, type = "link"), predict(fit, own, type = "link"),
      tolerance = 1e-8
    )
  }
  all <- vapply(seq_len(pivots), function(j) projection_by_hand(fit, j), 0)
  expect_equal(bayes_point(fit, centres = 1)$explained, max(all))
  first <- which.max(all)
  pairs <- vapply(setdiff(seq_len(pivots), first), function(j) {
    projection_by_hand(fit, c(first, j))
  }, 0)
  expect_equal(bayes_point(fit, centres = 2)$explained, max(pairs))
  expect_identical(bayes_point(fit, centres = 500), bayes_point(fit))
})

test_that("each centre is the best addition to those before", {
  # Rows of very different size and direction, for one function and for three.
  for (seed in 1:6) {
    withr::local_seed(seed)
    rows <- matrix(stats::rnorm(64), 8) * exp(2 * stats::rnorm(8))
    w <- matrix(stats::rnorm(24), 8)[, if (seed < 4) 1 else 1:3, drop = FALSE]
    explained <- function(chosen) {
      sum(qr.fitted(qr(t(rows[chosen, , drop = FALSE])), w)^2)
    }
    chosen <- integer()
    for (n in 1:5) {
      others <- setdiff(1:8, chosen)
      gain <- vapply(others, function(j) explained(c(chosen, j)), 0)
      chosen <- c(chosen, others[[which.max(gain)]])
      expect_identical(nearest_centres(rows, w, n), sort(chosen))
    }
    # Rows in the span of others are never chosen.
    twice <- rbind(rows[1:3, ], 2 * rows[1:3, ])
    expect_length(nearest_centres(twice, w, 5), 3)
  }
})

test_that("more centres explain more, up to everything", {
  for (fit in fits[c("moons", "three", "nugget")]) {
    share <- vapply(c(1, 2, 5, 10, 20), function(n) {
      bayes_point(fit, centres = n)$explained
    }, 0)
    expect_true(all(diff(share) > 0))
    expect_lte(max(share), 1 + 1e-12)
  }
})

test_that("it is small, plain and works in another process", {
  big <- kgs_quick(y ~ x1 + x2, sim_moons(150, seed = 1), iter = 200)
  point <- bayes_point(big, centres = 10)
  expect_lt(as.double(object.size(point)), 40000)
  expect_lt(length(serialize(point, NULL)), 15000)
  file <- withr::local_tempfile(fileext = ".rds")
  saveRDS(point, file)
  expect_identical(predict(readRDS(file), data), predict(point, data))
})

test_that("new data are read as the fit reads them", {
  point <- bayes_point(fits$factor)
  holes <- transform(data, x1 = replace(x1, 2, NA))
  expect_identical(which(is.na(predict(point, holes))), 2L)
  expect_identical(which(is.na(predict(point, holes, type = "link"))), 2L)
  expect_true(all(is.na(predict(point, transform(data, x1 = NA_real_)))))
  novel <- transform(data, g = "new")
  expect_warning(out <- predict(point, novel),
    class = "kb_warning_novel_level"
  )
  expect_true(all(is.na(out)))
  expect_error(predict(point, data["x1"]), class = "kb_error_columns")
  expect_error(predict(point), "newdata", class = "kb_error_argument")
  expect_error(predict(point, data, type = "prob"), "`type`",
    class = "kb_error_argument"
  )
  expect_error(predict(point, data, 1, 2), class = "kb_error_unknown_argument")
})

test_that("it prints, and refuses bad input", {
  expect_output(print(bayes_point(fits$moons)), "40 centres")
  expect_output(print(bayes_point(fits$moons, centres = 1)), "1 centre\n")
  expect_output(print(bayes_point(fits$moons, centres = 9)), "explained")
  expect_error(bayes_point(fits$moons, centres = 0), "`centres`",
    class = "kb_error_argument"
  )
  expect_error(bayes_point(fits$moons, n = 3),
    class = "kb_error_unknown_argument"
  )
  expect_error(bayes_point(1), class = "kb_error_not_defined")
})

test_that("a user's own kernel works", {
  kernel <- kernel_custom(function(x, y) exp(-abs(outer(x[, 1], y[, 1], "-"))))
  fit <- kgs_quick(data$x1, data$y, kernel = kernel)
  at <- seq(-2, 3, 0.5)
  expect_equal(
    predict(bayes_point(fit, centres = NULL), at, type = "link"),
    predict(fit, at, type = "link"),
    tolerance = 1e-10
  )
})
