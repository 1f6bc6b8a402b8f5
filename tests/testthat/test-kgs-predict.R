# predict() of kgs fits, by hand from the draws; shapes, rows and arguments.
#
# Seen to fail: the complement's noise drawn row by row; rates of the other
# class in probabilities of labels; no nugget in the remaining variance; a sphere
# of another dimension; the most certain rows left undecided; classes by the
# probabilities of labels.

data <- kgs_example()
fits <- kgs_fits()
new <- sim_moons(12, sd = 1, seed = 9)
new$g <- rep(c("a", "c", "b"), 4)

#' New rows in the shape that a fit requires
rows_for <- function(fit, rows = new) {
  if (fit$mould$interface == "formula") {
    return(rows)
  }
  as.matrix(rows[c("x1", "x2")])[, seq_len(ncol(fit$data$x)), drop = FALSE]
}

#' k(x, x) and K(x, training points) with bias, from the definition of the
#' gaussian kernel
dense_kernel <- function(fit, x, y) {
  scaling <- fit$settings$scaling
  kernel_matrix(
    fit$settings$kernel, scaling_x(scaling, x), scaling_x(scaling, y)
  ) + fit$settings$bias
}

# Shapes -----------------------------------------------------------------------

test_that("types have the shapes given on the help page", {
  for (fit in fits) {
    at <- rows_for(fit)
    classes <- fit$settings$classes
    levels <- fit$mould$levels
    for (type in c("class", "bpm")) {
      out <- predict(fit, at, type = type)
      expect_s3_class(out, "factor")
      expect_length(out, 12)
      expect_identical(levels(out), levels)
    }
    for (type in c("prob", "true_prob", "vote")) {
      out <- predict(fit, at, type = type)
      expect_identical(dim(out), c(12L, classes))
      expect_identical(dimnames(out), list(NULL, levels))
      expect_equal(rowSums(out), rep(1, 12))
      expect_true(all(out >= 0))
    }
    link <- predict(fit, at, type = "link")
    draws <- predict(fit, at, type = "draws", ndraws = 7)
    if (classes == 2) {
      expect_null(dim(link))
      expect_length(link, 12)
      expect_identical(dim(draws), c(7L, 12L))
    } else {
      expect_identical(dim(link), c(12L, classes))
      expect_identical(colnames(link), levels)
      expect_identical(dim(draws), c(7L, 12L, classes))
    }
    expect_identical(dim(predict(fit, at, type = "draws"))[[1]], 80L)
    y <- factor(rep(levels, length.out = 12), levels)
    p <- predict(fit, at, type = "prob")
    score <- if (is.data.frame(at)) {
      at[[fit$mould$outcome_name]] <- y
      predict(fit, at, type = "log_score")
    } else {
      predict(fit, at, type = "log_score", newy = y)
    }
    expect_equal(score, log(p[cbind(1:12, as.integer(y))]))
  }
})

test_that("training rows, one row, and rows with missing values", {
  for (fit in fits) {
    at <- rows_for(fit)
    same <- rows_for(fit, data)
    for (type in c("class", "prob", "vote", "bpm", "link", "draws")) {
      expect_equal(predict(fit, type = type), predict(fit, same, type = type))
    }
    holes <- at
    holes[c(2, 12), 1] <- NA
    full <- predict(fit, at, type = "prob")
    out <- predict(fit, holes, type = "prob")
    expect_true(all(is.na(out[c(2, 12), ])))
    expect_equal(out[-c(2, 12), ], full[-c(2, 12), ])
    expect_identical(which(is.na(predict(fit, holes))), c(2L, 12L))
    holes[, 1] <- NA_real_
    for (type in c("class", "prob", "true_prob", "vote", "bpm", "link")) {
      out <- predict(fit, holes, type = type)
      expect_identical(NROW(out), 12L)
      expect_true(all(is.na(out)))
    }
    draws <- predict(fit, holes, type = "draws", ndraws = 3)
    expect_identical(dim(draws)[1:2], c(3L, 12L))
    expect_true(all(is.na(draws)))
  }
})

test_that("a prediction does not depend on its batch", {
  for (fit in fits) {
    at <- rows_for(fit)
    for (type in c("class", "prob", "true_prob", "vote", "link")) {
      together <- predict(fit, at, type = type)
      alone <- lapply(1:12, function(i) {
        predict(fit, at[i, , drop = FALSE], type = type)
      })
      alone <- do.call(if (is.matrix(together)) rbind else c, alone)
      expect_equal(alone, together, tolerance = 1e-12)
    }
  }
})

# Probabilities ----------------------------------------------------------------

test_that("without the complement probabilities are votes", {
  for (fit in fits) {
    at <- rows_for(fit)
    f <- predict(fit, at, type = "draws")
    votes <- if (length(dim(f)) == 3) {
      best <- apply(f, 1:2, which.max)
      vapply(1:3, function(c) colMeans(best == c), numeric(12))
    } else {
      cbind(colMeans(f <= 0), colMeans(f > 0))
    }
    p <- predict(fit, at, type = "true_prob", complement = FALSE)
    expect_equal(unname(p), votes)
    expect_identical(p, predict(fit, at, type = "vote"))
    expect_identical(
      predict(fit, at, complement = FALSE), most_probable(p, colnames(p))
    )
  }
})

#' Dense variance of f at new points given f at the training points
left_by_hand <- function(fit, at) {
  x <- fit$data$x
  pivots <- fit$settings$basis$points
  own <- fit$settings$scaling
  pivots <- sweep(sweep(pivots, 2, own$x_scale, "*"), 2, own$x_center, "+")
  nugget <- fit$settings$nugget
  if (nugget > 0) pivots <- x
  k <- dense_kernel(fit, at, pivots)
  gram <- dense_kernel(fit, pivots, pivots)
  diag(gram) <- diag(gram) + nugget
  solved <- solve(gram, t(k), tol = 1e-30)
  1 + fit$settings$bias + nugget - rowSums(k * t(solved))
}

test_that("the complement is the variance that training points leave", {
  # The factor's kernel is too smooth for a dense inverse.
  for (name in c("moons", "nugget", "low_rank", "hard")) {
    fit <- fits[[name]]
    at <- as.matrix(new[c("x1", "x2")])
    left <- left_by_hand(fit, at)
    expect_equal(
      complement_variance(fit, at, kgs_features(fit, at)), left,
      tolerance = 1e-5, ignore_attr = TRUE, label = name
    )
    f <- predict(fit, rows_for(fit), type = "draws")
    d <- c(moons = 40, nugget = 40, low_rank = 12, hard = 40)[[name]]
    p <- colMeans(stats::pt(sqrt(d) * t(t(f) / sqrt(left)), d))
    expect_equal(predict(fit, rows_for(fit), type = "true_prob")[, 2], p,
      tolerance = 1e-5, ignore_attr = TRUE, label = name
    )
  }
})

test_that("far from all points the bias decides the classes", {
  far <- data.frame(x1 = c(-1e3, 1e3), x2 = 0)
  p <- predict(fits$moons, far, type = "true_prob")
  expect_equal(p[1, ], p[2, ])
  apart <- kgs_quick(side ~ x1 + x2, data, bias = 0)
  for (type in c("prob", "true_prob")) {
    expect_equal(predict(apart, far, type = type), matrix(0.5, 2, 2),
      ignore_attr = TRUE
    )
  }
  three <- kgs_quick(three ~ x1 + x2, data, bias = 0, iter = 500)
  p <- predict(three, far, type = "true_prob")
  # Null: 1000 independent draws at one place; |z| < 5: 6e-7.
  expect_lt(max(abs(p - 1 / 3)) / sqrt(2 / 9 / 1000), 5)
})

test_that("with several functions the largest accounts for the complement", {
  # Two of three compete: as for two classes, their difference is Student-t.
  f <- array(rep(c(0.2, 0.1, -1e9), each = 2 * 20000), c(2, 20000, 3))
  sd <- c(0.15, 0.4)
  p <- apply(largest_draws(fits$three, f, sd), c(1, 3), mean)
  d <- 120
  exact <- stats::pt(sqrt(d) * 0.1 / (sqrt(2) * sd), d)
  # Null: binomial; |z| < 5: 6e-7.
  z <- (p[, 1] - exact) / sqrt(exact * (1 - exact) / 20000)
  expect_lt(max(abs(z)), 5)
  expect_identical(p[, 3], c(0, 0))
  expect_equal(rowSums(p), c(1, 1))
  none <- largest_draws(fits$three, f[, 1:2, , drop = FALSE], 0)
  expect_identical(none[, , 1], matrix(1, 2, 2))
})

test_that("those of recorded labels mix classes with the rates of each draw", {
  for (name in c("line", "factor", "nugget", "three", "low_rank")) {
    fit <- fits[[name]]
    at <- rows_for(fit)
    pool <- posterior_pool(fit)
    q <- pool$rates
    x <- as.matrix(prediction_rows(fit, at, NULL, FALSE, FALSE)$x)
    p <- class_draws(fit, x, pool, TRUE)
    true <- unname(predict(fit, at, type = "true_prob"))
    expect_equal(true, apply(p, c(1, 3), mean))
    by_hand <- vapply(1:12, function(i) {
      own <- matrix(p[i, , ], nrow(q))
      if (name == "three") {
        return(colMeans(own * (1 - q[, 1]) + (1 - own) * q[, 1] / 2))
      }
      if (ncol(q) == 1) q <- cbind(q, q)
      second <- own[, 2] * (1 - q[, 2]) + own[, 1] * q[, 1]
      c(1 - mean(second), mean(second))
    }, numeric(fit$settings$classes))
    expect_equal(
      unname(predict(fit, at, type = "prob")), t(by_hand),
      label = name
    )
  }
})

# Decisions --------------------------------------------------------------------

test_that("the class is the most probable one, the first in a tie", {
  for (fit in fits) {
    p <- predict(fit, rows_for(fit), type = "true_prob")
    expect_identical(
      predict(fit, rows_for(fit)),
      factor(colnames(p)[apply(p, 1, which.max)], colnames(p))
    )
  }
  expect_identical(most_probable(matrix(0.5, 1, 2), c("a", "b")), factor(
    "a", c("a", "b")
  ))
})

test_that("classes and certainty are those of the true class", {
  fit <- kgs_by_class()
  p <- predict(fit, type = "true_prob")
  recorded <- predict(fit, type = "prob")
  class <- predict(fit)
  differ <- class != most_probable(recorded, colnames(recorded))
  expect_gt(sum(differ), 0)
  expect_identical(class, most_probable(p, colnames(p)))
  certain <- apply(p, 1, max)
  expect_identical(is.na(predict(fit, threshold = 0.9)), certain < 0.9)
  curve <- reject_curve(fit)
  expect_setequal(curve$threshold, certain)
  # Cross-validation scores labels: its class is the most probable one.
  out <- suppressWarnings(cross_validate(fit, 2, seed = 1))
  expect_identical(out$class, most_probable(out$probability, levels(class)))
})

test_that("reject leaves the least certain share undecided", {
  for (fit in fits[c("moons", "three", "nugget")]) {
    at <- rows_for(fit)
    certain <- apply(predict(fit, at, type = "true_prob"), 1, max)
    class <- predict(fit, at)
    for (share in c(0, 0.25, 0.5, 1)) {
      out <- predict(fit, at, reject = share)
      left <- is.na(out)
      expect_identical(sum(left), as.integer(12 * share))
      expect_true(share %in% 0:1 || max(certain[left]) <= min(certain[!left]))
      expect_identical(out[!left], class[!left])
    }
    for (threshold in c(0, 0.7, 1)) {
      out <- predict(fit, at, threshold = threshold)
      expect_identical(is.na(out), certain < threshold)
      expect_identical(out[!is.na(out)], class[certain >= threshold])
    }
  }
  # Rows with missing values do not count in the share.
  holes <- transform(new, x1 = replace(x1, 1:2, NA))
  expect_identical(sum(is.na(predict(fits$moons, holes, reject = 0.5))), 7L)
})

test_that("arguments are checked", {
  fit <- fits$moons
  bad <- list(
    list(type = "response"), list(reject = 2), list(threshold = -1),
    list(reject = 0.1, threshold = 0.1), list(complement = NA),
    list(type = "prob", reject = 0.1), list(type = "prob", threshold = 0.1),
    list(type = "vote", complement = FALSE), list(ndraws = 3),
    list(type = "draws", ndraws = 0), list(type = "prob", newy = new$y),
    list(type = "link", complement = TRUE)
  )
  for (arguments in bad) {
    expect_error(do.call(predict, c(list(fit, new), arguments)),
      class = "kb_error_argument", label = toString(names(arguments))
    )
  }
  expect_error(predict(fit, new, wrong = 1),
    class = "kb_error_unknown_argument"
  )
  expect_error(predict(fits$low_rank, rows_for(fits$low_rank),
    type = "log_score"
  ), "newy", class = "kb_error_argument")
})
