# predict() of bark fits: each result against the normal mixture computed here
# from the means and variances of f given each draw (which agree with dense
# algebra: test-bark-chain.R, test-bark.R), and against draws.

data <- bark_data()
fits <- bark_fits()
gaussian <- Filter(Negate(is_class_fit), fits)
probit <- Filter(is_class_fit, fits)

#' Means and variances of f at training rows, in units of the response
mixture_of <- function(fit) {
  moments <- bark_moments(fit, fit$data$x, bark_pool(fit))
  scaling <- fit$settings$scaling
  noise <- scaling$y_scale^2 / bark_pool(fit)$noise
  list(
    mean = scaling$y_center + scaling$y_scale * moments$mean,
    variance = scaling$y_scale^2 * moments$variance,
    noise = outer(1 / row_weights(fit), noise)
  )
}

test_that("without newdata the training rows are predicted", {
  for (fit in fits) {
    expect_identical(fitted(fit), predict(fit))
    expect_length(predict(fit), 30)
  }
  expect_identical(
    predict(fits$plane, data[c("x4", "w", "x1", "x2")]), predict(fits$plane)
  )
  expect_identical(predict(fits$line, data$x4), predict(fits$line))
  expect_identical(predict(fits$factor, data), predict(fits$factor))
})

# Regression -------------------------------------------------------------------

test_that("means agree with the mixture, for any block size", {
  for (fit in gaussian) {
    expect_equal(predict(fit), rowMeans(mixture_of(fit)$mean),
      tolerance = 1e-10
    )
  }
  fit <- fits$plane
  many <- data[rep(1:30, 3000), ]
  expect_equal(predict(fit, many), rep(predict(fit), 3000), tolerance = 1e-12)
})

test_that("quantiles solve the mixture's distribution function", {
  probs <- c(0.03, 0.5, 0.9)
  for (fit in gaussian) {
    mixture <- mixture_of(fit)
    for (interval in c("credible", "prediction")) {
      variance <- mixture$variance +
        if (interval == "prediction") mixture$noise else 0
      q <- predict(fit, type = "quantile", probs = probs, interval = interval)
      expect_identical(colnames(q), c("3%", "50%", "90%"))
      for (j in 1:3) {
        below <- rowMeans(stats::pnorm(q[, j], mixture$mean, sqrt(variance)))
        expect_equal(below, rep(probs[[j]], 30), tolerance = 1e-6)
      }
      bands <- predict(fit, interval = interval, level = 0.94)
      expect_identical(colnames(bands), c("fit", "lwr", "upr"))
      expect_equal(bands[, "lwr"], unname(q[, 1]), tolerance = 1e-6)
      expect_equal(bands[, "fit"], predict(fit))
    }
  }
  expect_identical(
    predict(gaussian$plane, type = "quantile"),
    predict(gaussian$plane, type = "quantile", interval = "prediction")
  )
})

test_that("the log score is the mixture's density", {
  for (fit in gaussian) {
    mixture <- mixture_of(fit)
    exact <- log(rowMeans(stats::dnorm(
      data$y, mixture$mean, sqrt(mixture$variance + mixture$noise)
    )))
    expect_equal(predict(fit, type = "log_score"), exact, tolerance = 1e-8)
  }
  expect_equal(
    predict(fits$line, data$x4[1:3], "log_score", newy = data$y[1:3]),
    predict(fits$line, type = "log_score")[1:3]
  )
  expect_equal(
    predict(fits$weighted, data, "log_score", weights = data$w),
    predict(fits$weighted, type = "log_score")
  )
})

test_that("draws have the mean and variance of the mixture", {
  # Null: each row's draws are independent given the rest, one normal number per
  # draw with the mean and variance of the mixture; the standardised residuals
  # over 80 draws are N(0, 1), and so is their mean times sqrt(80). 150 rows,
  # two-sided: |z| < 5 fails with probability 9e-5 by Bonferroni, the sum of
  # squares (80 degrees) is outside [26, 170] with 2e-6 at most each.
  for (fit in fits) {
    mixture <- mixture_of(fit)
    f <- t(predict(fit, type = "draws"))
    expect_identical(dim(f), c(30L, 80L))
    z <- (f - mixture$mean) / sqrt(mixture$variance)
    expect_lt(max(abs(rowMeans(z))) * sqrt(80), 5)
    expect_lt(max(rowSums(z^2)), 170)
    expect_gt(min(rowSums(z^2)), 26)
  }
})

test_that("draws are ordered by chain, fewer ones evenly chosen", {
  fit <- fits$plane
  all <- predict(fit, data[1:3, ], type = "draws")
  one <- fit
  one$runs <- fit$runs[2]
  one <- sealed(one)
  expect_identical(predict(one, data[1:3, ], type = "draws"), all[41:80, ])
  few <- predict(fit, data[1:3, ], type = "draws", ndraws = 4)
  expect_identical(few, all[spread_over(80, 4), ])
})

# Classes ----------------------------------------------------------------------

test_that("probabilities average Phi over the mixture", {
  for (fit in probit) {
    mixture <- mixture_of(fit)
    exact <- rowMeans(stats::pnorm(mixture$mean / sqrt(1 + mixture$variance)))
    expect_equal(predict(fit, type = "response"), exact, tolerance = 1e-10)
    prob <- predict(fit, type = "prob")
    expect_identical(colnames(prob), c("down", "up"))
    expect_equal(prob[, "up"], exact, tolerance = 1e-10)
    expect_equal(rowSums(prob), rep(1, 30))
    expect_identical(predict(fit), predict(fit, type = "class"))
    expect_identical(
      predict(fit), factor(ifelse(exact > 0.5, "up", "down"))
    )
    expect_equal(predict(fit, type = "link"), rowMeans(mixture$mean),
      tolerance = 1e-10
    )
    own <- ifelse(data$class == "up", exact, 1 - exact)
    expect_equal(predict(fit, type = "log_score"), log(own), tolerance = 1e-6)
  }
})

# A posterior of known draws of f, the same at each row.
known <- function(f, weights) {
  structure(
    list(
      f = f, weights = weights, mould = list(levels = c("down", "up")),
      settings = list(family = "probit")
    ),
    class = "kb_known"
  )
}
namespace <- asNamespace("kernelbayes")
registerS3method("posterior_pool", "kb_known", function(fit) {
  fit["weights"]
}, namespace)
registerS3method("posterior_moments", "kb_known", function(fit, x, pool) {
  f <- matrix(fit$f, nrow(x), length(fit$f), byrow = TRUE)
  list(mean = f, variance = 0 * f)
}, namespace)

test_that("the class follows the probability, not the mean of f", {
  # The mean of f, 0.2 * 9 - 0.8 * 0.5, is positive.
  fit <- known(c(9, -0.5), c(0.2, 0.8))
  levels <- c("down", "up")
  at <- list(
    x = matrix(0, 1, 3), y = factor("down", levels), pool = posterior_pool(fit),
    levels = levels, interval = "none"
  )
  ask <- function(type) probit_types[[type]]$predict(fit, at)
  p <- 0.2 + 0.8 * stats::pnorm(-0.5)
  expect_equal(ask("prob"), cbind(down = 1 - p, up = p))
  expect_identical(as.character(ask("class")), "down")
  expect_equal(ask("log_score"), log(1 - p))
})

test_that("log scores of improbable classes keep their digits", {
  fit <- known(c(50, 40), c(0.5, 0.5))
  score <- class_log_score(fit, matrix(0, 1, 3), -1, posterior_pool(fit))
  expect_equal(score, stats::pnorm(-40, log.p = TRUE) + log(0.5))
})

test_that("credible limits of probabilities are those of f, transformed", {
  for (fit in probit) {
    link <- predict(fit, type = "link", interval = "credible", level = 0.8)
    p <- predict(fit, type = "response", interval = "credible", level = 0.8)
    expect_equal(p[, c("lwr", "upr")], stats::pnorm(link[, c("lwr", "upr")]))
    expect_equal(p[, "fit"], predict(fit, type = "response"))
    both <- predict(fit, type = "prob", interval = "credible", level = 0.8)
    expect_identical(dim(both), c(30L, 2L, 3L))
    expect_identical(
      dimnames(both)[2:3], list(c("down", "up"), c("fit", "lwr", "upr"))
    )
    expect_equal(both[, "up", ], p)
    expect_equal(both[, "down", "lwr"], 1 - p[, "upr"])
    expect_true(all(both[, , "lwr"] < both[, , "upr"]))
  }
})

# Rows -------------------------------------------------------------------------

test_that("rows with missing values keep their place", {
  holes <- data
  holes$x1[c(2, 7)] <- NA
  whole <- -c(2, 7)
  for (fit in fits[c("plane", "classes")]) {
    types <- if (is_class_fit(fit)) {
      c("class", "prob", "response", "link")
    } else {
      c("response", "quantile")
    }
    for (type in types) {
      out <- predict(fit, holes, type)
      wanted <- predict(fit, data, type)
      pick <- function(v, i) if (is.matrix(v)) v[i, ] else v[i]
      expect_identical(pick(out, whole), pick(wanted, whole))
      expect_true(all(is.na(pick(out, c(2, 7)))))
      expect_identical(NROW(out), 30L)
    }
    out <- predict(fit, holes, "draws")
    expect_identical(which(is.na(out[1, ])), c(2L, 7L))
    expect_identical(out[, whole], predict(fit, data, "draws")[, whole])
    score <- predict(fit, transform(holes, y = y, class = class), "log_score")
    expect_identical(which(is.na(score)), c(2L, 7L))
  }
  both <- predict(fits$classes, holes, "prob", interval = "credible")
  expect_identical(which(is.na(both[, 1, 1])), c(2L, 7L))
  # A row of unknown weight has a mean, but no known band.
  w <- replace(data$w, 3, NA)
  bands <- predict(fits$weighted, data, interval = "prediction", weights = w)
  expect_identical(which(is.na(bands[, 1])), 3L)
})

test_that("without any complete row the result is NA or empty", {
  none <- transform(data[1:2, ], x1 = NA_real_)
  expect_identical(predict(fits$plane, none), c(NA_real_, NA_real_))
  expect_identical(
    predict(fits$classes, none), factor(c(NA, NA), c("down", "up"))
  )
  expect_identical(dim(predict(fits$plane, none, "draws")), c(80L, 2L))
  expect_identical(dim(predict(fits$classes, none, "prob")), c(2L, 2L))
  expect_identical(
    dim(predict(fits$classes, none, "prob", interval = "credible")),
    c(2L, 2L, 3L)
  )
})

test_that("levels are matched by name; new ones give a warning", {
  fit <- fits$factor
  turned <- transform(data, g = factor(as.character(g), c("c", "a", "b")))
  expect_identical(predict(fit, turned), predict(fit))
  text <- transform(data, g = as.character(g))
  expect_identical(predict(fit, text), predict(fit))
  novel <- transform(data, g = replace(as.character(g), 4, "z"))
  expect_warning(
    out <- predict(fit, novel), "z",
    class = "kb_warning_novel_level"
  )
  expect_identical(which(is.na(out)), 4L)
})

test_that("wrong columns are refused", {
  refused <- function(expr, class) expect_error(expr, class = class)
  refused(predict(fits$plane, data["x1"]), "kb_error_columns")
  refused(predict(fits$line, data[c("x1", "x2")]), "kb_error_columns")
  refused(predict(fits$plane, transform(data, x1 = "a")), "kb_error_columns")
  refused(predict(fits$plane, transform(data, x1 = Inf)), "kb_error_infinite")
})

test_that("no rows have no predictions, in the shape of those of some", {
  of <- function(fit, rows, ...) predict(fit, data[rows, ], ...)
  empty <- function(fit, rows_at = 1, ...) {
    some <- of(fit, 1:2, ...)
    none <- of(fit, 0, ...)
    expect_identical(class(none), class(some))
    if (is.null(dim(some))) {
      expect_length(none, 0)
    } else {
      expect_identical(dim(none), replace(dim(some), rows_at, 0L))
    }
  }
  empty(fits$plane)
  empty(fits$plane, interval = "credible")
  empty(fits$plane, interval = "prediction")
  empty(fits$plane, type = "quantile")
  empty(fits$plane, 2, type = "draws")
  empty(fits$plane, type = "log_score") |>
    expect_error(class = "kb_error_rows")
  empty(fits$classes, type = "class")
  empty(fits$classes, type = "prob")
  expect_identical(nrow(augment(fits$plane, newdata = data[0, ])), 0L)
})

# Arguments --------------------------------------------------------------------

test_that("unknown types and arguments without effect are refused", {
  refused <- function(expr, what) {
    expect_error(expr, what, class = "kb_error_argument")
  }
  plane <- fits$plane
  classes <- fits$classes
  refused(predict(plane, type = "prob"), "`type`")
  refused(predict(classes, type = "quantile"), "`type`")
  refused(predict(plane, level = 0.8), "`level`")
  refused(predict(plane, type = "draws", interval = "credible"), "`interval`")
  refused(predict(plane, type = "quantile", level = 0.8), "`level`")
  refused(predict(plane, probs = 0.5), "`probs`")
  refused(predict(plane, ndraws = 3), "`ndraws`")
  refused(predict(plane, data, newy = data$y), "`newy`")
  refused(predict(plane, data, weights = data$w), "`weights`")
  refused(
    predict(plane, data, interval = "credible", weights = data$w), "`weights`"
  )
  refused(predict(plane, interval = "prediction", weights = data$w), "newdata")
  refused(
    predict(plane, data, interval = "prediction", weights = -data$w),
    "positive"
  )
  refused(predict(classes, interval = "credible"), "`interval`")
  refused(
    predict(classes, type = "response", interval = "prediction"), "`interval`"
  )
  refused(predict(classes, data, type = "prob", weights = data$w), "`weights`")
  refused(predict(fits$line, data$x1, "log_score"), "`newy`")
  expect_error(predict(plane, data, colour = 1),
    class = "kb_error_unknown_argument"
  )
  expect_error(
    predict(fits$class_line, data["x4"], "log_score", newy = rep("z", 30)), "z",
    class = "kb_error_outcome"
  )
})

test_that("types with intervals are named where the default has none", {
  for (interval in c("credible", "prediction")) {
    expect_error(predict(fits$classes, interval = interval),
      "the default.*needs `type`\\s+\"prob\", \"response\", or \"link\""
    )
  }
})

test_that("new rows of a weighted fit are said to have weight 1, once", {
  reset <- function() rlang::reset_message_verbosity("kernelbayes_weights")
  reset()
  on.exit(reset())
  said <- function(...) {
    rlang::catch_cnd(predict(fits$weighted, ...), "kb_message_weights")
  }
  expect_null(said(interval = "prediction"))
  expect_null(said(data, interval = "credible"))
  expect_null(said(data, interval = "prediction", weights = data$w))
  # Evaluated once: testthat may evaluate its argument twice.
  first <- said(data, interval = "prediction")
  expect_match(conditionMessage(first), "weight 1")
  expect_null(said(data, interval = "prediction"))
})

test_that("a fit read in a new process predicts the same", {
  skip_on_cran()
  skip_if_not_installed("callr")
  file <- withr::local_tempfile(fileext = ".rds")
  saveRDS(fits[c("plane", "classes")], file)
  out <- callr::r(function(file, data) {
    library(kernelbayes)
    lapply(readRDS(file), predict, data, type = "draws")
  }, list(file, data))
  expect_identical(
    out, lapply(fits[c("plane", "classes")], predict, data, type = "draws")
  )
})
