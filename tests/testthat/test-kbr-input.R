# Bad and unusual input of kbr(): a defined answer, or an error whose class says
# what was wrong and whose message names the argument.

pairs <- kbr_pairs(40)
x <- pairs$x
y <- pairs$y
new <- normal_points(3, 2, 5)
data <- data.frame(
  a = x[, 1], b = x[, 2], u = y[, 1], v = y[, 2],
  g = factor(rep(c("p", "q"), 20))
)
types <- c(
  "mean", "map", "sd", "quantile", "weights", "expectation", "draws",
  "density", "embedding"
)

#' The call fails with this class and names the argument
refuse <- function(expr, argument, class = "kb_error_argument") {
  cnd <- rlang::catch_cnd(quietly(expr), "error")
  expect_s3_class(cnd, class)
  expect_s3_class(cnd, "kb_error")
  expect_match(conditionMessage(cnd), argument, fixed = TRUE)
}

quietly <- function(expr) {
  withCallingHandlers(expr, kb_warning = function(w) {
    invokeRestart("muffleWarning")
  })
}

#' Any type, with its required arguments
predict_as <- function(fit, newdata, type) {
  needs <- list(
    expectation = list(f = identity), draws = list(ndraws = 10),
    density = list(at = fit$data$states[c(1, 1), , drop = FALSE])
  )[[type]]
  do.call(predict, c(list(fit, newdata, type = type), needs))
}

#' The prediction for one observation
observation <- function(out, i, type) {
  switch(type, draws = out[, , i], quantile = out[i, , ], out[i, ])
}

#' A fit that answers every query, with finite means at its observations
expect_sound <- function(fit, n, d) {
  expect_s3_class(fit, c("kb_kbr", "kb_fit"), exact = TRUE)
  expect_identical(nobs(fit), as.integer(n))
  expect_identical(dim(fitted(fit)), as.integer(c(n, d)))
  expect_true(all(is.finite(fitted(fit))))
  expect_equal(residuals(fit), fit$data$states - fitted(fit))
  for (type in types) {
    expect_no_error(quietly(predict_as(fit, NULL, type)))
  }
  expect_equal(
    rowSums(predict(fit, type = "weights")), rep(1, n),
    tolerance = 1e-6
  )
  expect_s3_class(quietly(diagnostics(fit)), "kb_kbr_diagnostics")
  expect_output(quietly(print(summary(fit))), "Kernel Bayes' rule")
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  shown <- fit$data$observations[1, , drop = FALSE]
  if (is.null(fit$mould$formula) && !"g" %in% names(fit$mould$columns)) {
    expect_s3_class(plot(fit, shown), "data.frame")
    expect_s3_class(plot(fit, shown, type = "weights"), "data.frame")
  }
}

# Interfaces -------------------------------------------------------------------

test_that("all interfaces give the same fit", {
  fits <- list(
    kbr_rule(x, y), kbr_rule(unname(x), as.data.frame(y)), kbr_rule(x = as.data.frame(x), y),
    kbr_rule(a + b ~ u + v, data), kbr_rule(cbind(a, b) ~ u + v, data),
    kbr_rule(formula = a + b ~ u + v, data = data),
    kbr_rule(a + b ~ ., data[1:4]), kbr_rule(data[c("a", "b")], data[c("u", "v")])
  )
  for (fit in fits) {
    expect_identical(fit$mu, fits[[1]]$mu)
    expect_identical(unname(fitted(fit)), unname(fitted(fits[[1]])))
  }
  expect_identical(colnames(fitted(fits[[4]])), c("a", "b"))
  expect_identical(
    unname(predict(fits[[4]], data.frame(v = new[, 2], u = new[, 1]))),
    unname(predict(fits[[1]], new))
  )
  expect_equal(formula(fits[[4]]), a + b ~ u + v, ignore_attr = TRUE)
  expect_error(formula(fits[[1]]), class = "kb_error_not_defined")
  expect_named(fits[[1]]$mould$columns, c("y1", "y2"))
})

test_that("vectors are one column; one observation may be a vector", {
  fit <- kbr_rule(x[, 1], y[, 1])
  expect_sound(fit, 40, 1)
  expect_identical(dim(predict(fit, c(0, 1, 2))), c(3L, 1L))
  expect_equal(predict(kbr_rule(x, y), new[1, ]), predict(kbr_rule(x, y), new)[1, ,
    drop = FALSE
  ])
  named <- kbr_rule(x, data[c("u", "v")])
  expect_identical(
    predict(named, c(v = 2, u = 1)), predict(named, cbind(u = 1, v = 2))
  )
  expect_identical(kbr_rule(1:10, 11:20)$mu, kbr_rule(1:10 + 0, 11:20 + 0)$mu)
})

test_that("factors among the observations are indicators", {
  for (fit in list(
    kbr_rule(x, data[c("u", "v", "g")]), kbr_rule(a + b ~ u + v + g, data)
  )) {
    expect_sound(fit, 40, 2)
    expect_identical(colnames(fit$data$observations), c("u", "v", "gp", "gq"))
    at <- data[1:3, c("u", "v", "g")]
    expect_close(predict(fit, at), fitted(fit)[1:3, ], 1e-8)
    at$g <- c("p", "novel", "q")
    expect_warning(out <- predict(fit, at), class = "kb_warning_novel_level")
    expect_identical(unname(is.na(out[, 1])), c(FALSE, TRUE, FALSE))
  }
  same <- kbr_rule(x, cbind(y, data$g == "p", data$g == "q"))
  expect_identical(same$mu, kbr_rule(x, data[c("u", "v", "g")])$mu)
})

test_that("states are numbers", {
  outcome <- "kb_error_outcome"
  refuse(kbr_rule(data, y), "x", outcome)
  refuse(kbr_rule(a + g ~ u, data), "g", outcome)
  refuse(kbr_rule(g ~ u, data), "g", outcome)
  refuse(kbr_rule(letters, 1:26), "x")
  refuse(kbr_rule(list(1, 2), 1:2), "x")
  refuse(kbr(), "x")
  refuse(kbr_rule(NULL, y), "x")
  refuse(kbr_rule(x), "y")
  refuse(kbr_rule(x, letters), "y", "kb_error_data")
  refuse(kbr_rule(x, y[-1, ]), "x", outcome)
  refuse(kbr_rule(a ~ u), "data", "kb_error_data")
  refuse(kbr_rule(a ~ z, data), "z", "kb_error_formula")
  refuse(kbr_rule(~u, data), "formula", "kb_error_formula")
})

# Rows and columns -------------------------------------------------------------

test_that("one, two and equal rows", {
  one <- kbr_rule(matrix(1:2, 1), 3)
  expect_sound(one, 1, 2)
  for (type in types) expect_no_warning(predict_as(one, 3, type))
  expect_equal(drop(predict(one, 3)), c(x1 = 1, x2 = 2))
  expect_equal(drop(predict(one, 3, type = "map")), c(1, 2),
    ignore_attr = TRUE
  )
  expect_identical(unname(drop(predict(one, 3, type = "sd"))), c(0, 0))
  expect_sound(kbr_rule(1:2, 1:2), 2, 1)
  expect_sound(quietly(kbr_rule(rep(1, 5), rep(2, 5))), 5, 1)
  refuse(kbr_rule(x[0, ], y[0, ]), "y", "kb_error_rows")
  twice <- rep(1:20, 2)
  expect_sound(kbr_rule(x[twice, ], y[twice, ]), 40, 2)
  # Two copies are a sample of the same distribution.
  wide <- kernel_gaussian(2)
  fits <- lapply(list(1:20, twice), function(rows) {
    kbr_rule(x[rows, ], y[rows, ], wide, wide, eps = 1e-3, delta = 1e-3)
  })
  expect_close(predict(fits[[2]], new), predict(fits[[1]], new), 1e-8)
})

test_that("constant columns of states and observations", {
  for (value in c(0.1, 1e8, -1 / 3)) {
    fit <- kbr_rule(cbind(x, value), y)
    expect_equal(unname(predict(fit, new)[, 3]), rep(value, 3))
    expect_equal(unname(predict(fit, new, type = "map")[, 3]), rep(value, 3))
    expect_identical(
      unname(quietly(predict(fit, new, type = "sd"))[, 3]), c(0, 0, 0)
    )
    constant <- kbr_rule(rep(value, 40), y)
    expect_sound(constant, 40, 1)
    expect_equal(drop(predict(constant, new)), rep(value, 3))
  }
  alone <- quietly(kbr_rule(x, rep(1, 40)))
  expect_sound(alone, 40, 2)
  expect_close(predict(alone, 1), t(colMeans(x)), 0.05)
  expect_message(beside <- kbr_rule(x, cbind(y, 7)),
    class = "kb_message_constant"
  )
  expect_identical(
    beside$features$observations$factor,
    kbr_rule(x, y)$features$observations$factor
  )
  scaled <- quietly(kbr_rule(cbind(x, 0.1), cbind(y, 3), scale = TRUE))
  expect_sound(scaled, 40, 3)
})

test_that("more columns than rows", {
  wide <- kbr_rule(normal_points(8, 30, 1), normal_points(8, 40, 2))
  expect_sound(wide, 8, 30)
  expect_sound(kbr_rule(1:8, normal_points(8, 40, 2), scale = TRUE), 8, 1)
})

test_that("missing and infinite values in fitting", {
  bad_x <- replace(x, 3, NA)
  bad_y <- replace(y, 5, NA)
  missing <- function(..., arg) {
    refuse(kbr_rule(..., na.action = "fail"), arg, "kb_error_missing")
  }
  missing(bad_x, y, arg = "x")
  missing(x, bad_y, arg = "y")
  refuse(kbr_rule(replace(x, 3, Inf), y), "x", "kb_error_infinite")
  refuse(kbr_rule(x, replace(y, 3, -Inf)), "y", "kb_error_infinite")
  omitted <- kbr_rule(bad_x, bad_y, na.action = "omit")
  expect_identical(omitted$mu, kbr_rule(x[-c(3, 5), ], y[-c(3, 5), ])$mu)
  expect_identical(omitted$mould$omitted, c(3L, 5L))
  gaps <- data
  gaps$a[3] <- gaps$v[5] <- NA
  missing(a + b ~ u + v, gaps, arg = "data")
  expect_identical(
    kbr_rule(a + b ~ u + v, gaps, na.action = "omit")$mu, omitted$mu
  )
})

# newdata ----------------------------------------------------------------------

test_that("rows of missing values are NA in their place, of every type", {
  at <- rbind(new[1, ], NA, new[2:3, ])
  at[2, 2] <- 1
  for (fit in list(kbr(x, y), kbr(x, y, method = "iw"))) {
    for (type in types) {
      out <- quietly(predict_as(fit, at, type))
      full <- quietly(predict_as(fit, new, type))
      none <- quietly(predict_as(fit, matrix(NA_real_, 2, 2), type))
      if (type == "embedding") {
        expect_identical(out[-2], full)
        expect_null(out[[2]])
        expect_identical(none, list(NULL, NULL))
        next
      }
      rows <- if (type == "draws") 3 else 1
      expect_identical(dim(out)[[rows]], 4L)
      expect_true(all(is.na(observation(out, 2, type))))
      for (i in 1:3) {
        expect_equal(
          observation(out, c(1, 3, 4)[[i]], type), observation(full, i, type)
        )
      }
      expect_identical(dim(none)[[rows]], 2L)
      expect_true(all(is.na(none)))
      if (type == "map") {
        expect_identical(attr(out, "converged")[-2], attr(full, "converged"))
        expect_identical(which(is.na(attr(out, "converged"))), 2L)
      }
    }
  }
})

test_that("observations without information from the data are NA", {
  at <- rbind(new[1, ], 1e6)
  for (fit in list(kbr_rule(x, y), kbr_rule(x, y, normalize = FALSE))) {
    # As in a fit that was saved before there was a rule for far observations
    fit$far <- NULL
    fit <- sealed(fit)
    full <- lapply(types, function(type) {
      quietly(predict_as(fit, new[1, ], type))
    })
    for (k in seq_along(types)) {
      type <- types[[k]]
      expect_warning(
        out <- suppressWarnings(
          predict_as(fit, at, type), "kb_warning_weights"
        ),
        class = "kb_warning_far"
      )
      raw <- !fit$settings$normalize && type %in% kbr_raw_types
      if (type == "embedding") {
        kept <- c("points", "weights", "kernel")
        expect_equal(out[[1]][kept], full[[k]][[1]][kept])
        if (!raw) expect_null(out[[2]])
      } else {
        expect_equal(
          observation(out, 1, type), observation(full[[k]], 1, type)
        )
        # Raw weights are zero, and so is their sum.
        far <- observation(out, 2, type)
        expect_true(all(if (raw) far == 0 else is.na(far)))
      }
    }
    # There is a single warning.
    quiet <- function(expr) suppressWarnings(expr, "kb_warning_far")
    expect_no_warning(quiet(predict(fit, at, type = "quantile")))
  }
  rotations <- kbr_rule(
    t(vapply(1:20, function(i) {
      c(cos(i), sin(i), 0, -sin(i), cos(i), 0, 0, 0, 1)
    }, numeric(9))),
    cos(1:20), kernel_rotation()
  )
  rotations$far <- NULL
  rotations <- sealed(rotations)
  expect_true(all(is.na(quietly(predict(rotations, 1e6)))))
  expect_equal(quietly(predict(rotations, c(1e6, 0)))[2, ],
    predict(rotations, 0)[1, ]
  )
})

test_that("states that are not rotations are refused", {
  turns <- t(vapply(1:20, function(i) {
    c(cos(i), sin(i), 0, -sin(i), cos(i), 0, 0, 0, 1)
  }, numeric(9)))
  off <- turns
  off[3, 1] <- off[3, 1] + 1e-3
  refuse(kbr_rule(off, cos(1:20), kernel_rotation()), "1 of 20 are not")
  refuse(
    kbr_rule(off, cos(1:20), kernel_rotation() + 1), "Rows of `x` must be 3 x 3"
  )
  # Determinant -1.
  refuse(kbr_rule(-turns, cos(1:20), kernel_rotation()), "20 of 20 are not")
  refuse(kbr_rule(cos(1:20), off, kernel_y = kernel_rotation()), "Rows of `y`")
  refuse(
    kbr_rule(turns[, 1:6], cos(1:20), kernel_rotation()), "9 columns",
    "kb_error_dimension"
  )
})

test_that("a prior far from all states gives a warning", {
  quiet <- function(expr) suppressWarnings(expr, "kb_warning_prior")
  expect_warning(
    fit <- kbr_rule(x, y, prior = list(points = x + 100)),
    "sum to 0",
    class = "kb_warning_prior"
  )
  expect_warning(
    update(fit, prior = list(points = x - 100)),
    class = "kb_warning_prior"
  )
  expect_no_warning(update(fit, prior = NULL))
})

test_that("kernels that are zero give no posterior and no crash", {
  # k(y, y) = 0 at the origin.
  fit <- kbr_rule(x, y, kernel_y = kernel_linear())
  for (type in setdiff(types, "embedding")) {
    out <- quietly(predict_as(fit, rbind(0, new), type))
    expect_true(all(is.na(observation(out, 1, type))))
  }
  for (method in c("kbr", "iw")) {
    nothing <- quietly(
      kbr(x, 0 * y, kernel_y = kernel_linear(), method = method)
    )
    expect_identical(ncol(nothing$features$observations$factor), 0L)
    expect_true(all(is.na(quietly(predict(nothing, new)))))
    expect_output(print(nothing), "rank 0")
    expect_true(all(is.na(quietly(fitted(nothing)))))
    quietly(diagnostics(nothing))
  }
  nowhere <- quietly(kbr_rule(0 * x, y, kernel_x = kernel_linear()))
  expect_true(all(is.na(quietly(predict(nowhere, new)))))
  quietly(diagnostics(nowhere))
})

test_that("new data must have the columns of the fit", {
  fit <- kbr_rule(x, y)
  refuse(predict(fit, cbind(1, 2, 3)), "newdata", "kb_error_columns")
  refuse(predict(fit, 1), "newdata", "kb_error_columns")
  refuse(predict(fit, "a"), "newdata", "kb_error_data")
  refuse(predict(fit, new[0, ]), "newdata", "kb_error_rows")
  refuse(predict(fit, c(1, Inf)), "newdata", "kb_error_infinite")
  named <- kbr_rule(x, data[c("u", "v")])
  refuse(predict(named, data[c("u", "g")]), "v", "kb_error_columns")
  refuse(predict(named, new), "u", "kb_error_columns")
  by_formula <- kbr_rule(a ~ u + v, data)
  refuse(predict(by_formula, data["u"]), "v", "kb_error_columns")
  refuse(predict(by_formula, new), "newdata", "kb_error")
  # Extra columns do not matter, nor does the order.
  expect_identical(predict(named, data[5:1]), predict(named, data[c("u", "v")]))
})

test_that("arguments of other types are refused, not ignored", {
  fit <- kbr_rule(x, y)
  refuse(predict(fit, new, "modes"), "type")
  refuse(predict(fit, new, foo = 1), "foo", "kb_error_unknown_argument")
  refuse(predict(fit, new, f = mean), "f")
  refuse(predict(fit, new, type = "sd", probs = 0.5), "probs")
  refuse(predict(fit, new, ndraws = 3), "ndraws")
  refuse(predict(fit, new, at = x), "at")
  refuse(predict(fit, new, type = "quantile", bandwidth = 1), "bandwidth")
  refuse(predict(fit, new, type = "quantile", probs = 1.5), "probs")
  refuse(predict(fit, new, type = "draws", ndraws = 0), "ndraws")
  refuse(predict(fit, new, type = "expectation"), "f")
  for (f in list(1, function(x) 1, function(x) NULL, function(x) x / 0)) {
    refuse(predict(fit, new, type = "expectation", f = f), "f")
  }
  refuse(predict(fit, new, type = "density"), "at")
  refuse(predict(fit, new, type = "density", at = 1:3), "at",
    "kb_error_dimension"
  )
  for (bandwidth in list(0, -1, "a", c(1, NA), 1:3, Inf)) {
    refuse(
      predict(fit, new, type = "density", at = x, bandwidth = bandwidth),
      "bandwidth"
    )
  }
})

# Arguments of kbr() -----------------------------------------------------------

test_that("bad arguments are refused by name", {
  bad <- list(
    eps = list(0, -1, "a", NA, 1:2, Inf), delta = list(0, -1, "a", NA, 1:2),
    rank = list(0, -1, 1.5, "most", NULL, NA), tol = list(-1, 2, "a", NA),
    method = list("bayes", 1, NA), normalize = list(1, NA, "a"),
    scale = list(1, NA, "a"), na.action = list("keep", 1),
    seed = list("a", -1, 1.5), progress = list(1, "a"),
    kernel_x = list("gaussian", 1, NULL), kernel_y = list("gaussian", 1)
  )
  for (arg in names(bad)) {
    for (value in bad[[arg]]) {
      given <- stats::setNames(list(value), arg)
      if (is.null(value) && arg == "rank") next
      refuse(do.call(kbr, c(list(x, y), given)), arg)
    }
  }
  refuse(kbr_rule(x, y, bandwidth = 1), "bandwidth", "kb_error_unknown_argument")
  refuse(kbr_rule(a ~ u, data, foo = 1), "foo", "kb_error_unknown_argument")
  refuse(kbr_rule(x, y, rank = "full", tol = 0.1), "tol")
  refuse(kbr_rule(x, y, eps = kbr_schedule(), delta = 1), "delta")
  refuse(kbr_rule(x, y, kernel_rotation()), "9 columns", "kb_error_dimension")
  refuse(kbr_rule(x, y, kernel_gaussian(1:3)), "3 columns", "kb_error_dimension")
})

test_that("bad priors are refused", {
  refuse(kbr_rule(x, y, prior = x), "prior")
  refuse(kbr_rule(x, y, prior = as.data.frame(x)), "prior")
  refuse(kbr_rule(x, y, prior = list()), "prior")
  refuse(kbr_rule(x, y, prior = list(x)), "prior")
  refuse(kbr_rule(x, y, prior = list(points = x, gamma = 1)), "prior")
  refuse(kbr_rule(x, y, prior = list(gram = diag(40))), "prior")
  refuse(kbr_rule(x, y, prior = list(points = "a")), "prior$points")
  refuse(kbr_rule(x, y, prior = list(points = x[0, ])), "prior$points")
  refuse(kbr_rule(x, y, prior = list(points = x[, 1])), "prior$points",
    "kb_error_dimension"
  )
  refuse(kbr_rule(x, y, prior = list(points = replace(x, 3, NA))), "prior$points",
    "kb_error_not_finite"
  )
  for (weights in list(
    1:3, rep(0, 40), rep(-1, 40), rep(NA_real_, 40), rep(Inf, 40), letters
  )) {
    refuse(kbr_rule(x, y, prior = list(points = x, weights = weights)),
      "prior$weights"
    )
    refuse(kbr_rule(x, y, prior = list(weights = weights)), "prior$weights")
  }
  refuse(kbr_rule(x, y, prior = kernel_mean(1:3)), "prior", "kb_error_dimension")
  # One point: the prior is certain, up to eps.
  fit <- kbr_rule(x, y, prior = list(points = t(c(0.3, -0.2))), eps = 1e-4)
  expect_sound(fit, 40, 2)
})

# Kernel matrices --------------------------------------------------------------

test_that("kernel matrices are checked", {
  k <- kernel_matrix(kernel_gaussian(1), y)
  gram <- "kb_error_gram"
  refuse(kbr_rule(x, y, kernel_y = k[-1, -1]), "kernel_y", gram)
  refuse(kbr_rule(x, y, kernel_x = k[, -1]), "kernel_x", gram)
  refuse(kbr_rule(x, y, kernel_y = replace(k, 2, NA)), "kernel_y",
    "kb_error_not_finite"
  )
  refuse(kbr_rule(x, y, kernel_y = replace(k, 2, 9)), "kernel_y",
    "kb_error_not_symmetric"
  )
  refuse(kbr_rule(x, y, kernel_y = k - 2 * diag(40)), "kernel_y",
    "kb_error_not_positive"
  )
  refuse(kbr_rule(x, y, kernel_y = array("a", c(40, 40))), "kernel_y")
  # Rows that are omitted would have to be omitted from the matrix too.
  refuse(kbr_rule(replace(x, 3, NA), kernel_y = k, na.action = "omit"), "kernel_y",
    gram
  )
})

test_that("a fit to a Gram matrix of observations predicts by kernel values", {
  kernel <- kernel_gaussian(1)
  k <- kernel_matrix(kernel, y)
  fit <- kbr_rule(x, kernel_y = k)
  expect_identical(fit$mu, kbr_rule(x, y, kernel_y = k)$mu)
  values <- kernel_matrix(kernel, new, y)
  out <- predict(fit, values)
  expect_identical(predict(fit, values[1, ]), out[1, , drop = FALSE])
  expect_close(predict(fit), fitted(fit), 1e-12)
  gaps <- predict(fit, rbind(values[1, ], NA))
  expect_equal(gaps[1, ], out[1, ])
  expect_true(all(is.na(gaps[2, ])))
  refuse(predict(fit, values[, -1]), "newdata", "kb_error_columns")
  refuse(predict(fit, 1), "newdata", "kb_error_columns")
  refuse(predict(fit, replace(values, 1, Inf)), "newdata",
    "kb_error_not_finite"
  )
  expect_identical(nrow(quietly(tidy(fit))), 80L)
  expect_identical(quietly(augment(fit))$row, as.double(1:40))
  expect_s3_class(quietly(diagnostics(fit, values)), "kb_kbr_diagnostics")
})

test_that("a fit to a kernel matrix of states has no mode, draws, embedding", {
  kernel <- kernel_gaussian(1)
  fit <- kbr_rule(x, y, kernel_x = kernel_matrix(kernel, x))
  for (type in c("map", "draws", "embedding")) {
    refuse(predict(fit, new, type = type), type)
  }
  for (type in setdiff(types, c("map", "draws", "embedding"))) {
    quietly(predict_as(fit, new, type))
  }
  expect_null(diagnostics(fit)$sensitivity)
  refuse(update(fit, prior = list(points = x)), "prior")
  refuse(update(fit, prior = list(gram = diag(3))), "prior$gram",
    "kb_error_dimension"
  )
  refuse(update(fit, prior = list(gram = matrix(0, 40, 0))), "prior$gram")
  other <- update(fit, prior = list(gram = kernel_matrix(kernel, x, new)))
  shown <- quietly(summary(other))$states
  expect_true(all(is.na(shown$prior_mean)))
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  expect_true(all(is.na(plot(other, new[1, ])$prior)))
})

test_that("rotations are not standardised", {
  turns <- t(vapply(1:20, function(i) {
    c(cos(i), sin(i), 0, -sin(i), cos(i), 0, 0, 0, 1)
  }, numeric(9)))
  refuse(kbr_rule(turns, cos(1:20), kernel_rotation(), scale = TRUE), "scale")
  refuse(kbr_rule(1:20, turns, kernel_y = kernel_rotation(), scale = TRUE), "scale")
  expect_sound(kbr_rule(turns, cos(1:20), kernel_rotation()), 20, 9)
})

test_that("a rank that explains little is a warning", {
  # Warnings for both kernels.
  expect_warning(
    expect_warning(kbr_rule(x, y, rank = 2), class = "kb_warning_rank"),
    class = "kb_warning_rank"
  )
  fit <- quietly(kbr_rule(x, y, rank = 2))
  expect_identical(glance(fit)$rank_x, 2L)
  # A tolerance does not bound the rank; a given rank has no tolerance.
  large <- kbr_pairs(400)
  auto <- kbr_rule(large$x, large$y, kernel_gaussian(0.05), kernel_gaussian(0.05),
    tol = 0
  )
  expect_identical(glance(auto)$rank_x, 400L)
  loose <- kbr_rule(large$x, large$y, tol = 0.01)
  expect_lt(unexplained(loose$features$states), 0.01)
  expect_lt(glance(loose)$rank_x, 40L)
})

test_that("schedules are the rates of the theorem", {
  fit <- kbr_rule(x, y, eps = kbr_schedule(0.3, 2, 0.5, 0.1))
  expect_equal(fit$settings$eps, 0.5 * 40^(-0.2))
  expect_equal(fit$settings$delta, 0.1 * 40^(-max(0.08, 0.08)))
  expect_equal(schedule_at(kbr_schedule(0.5, 0.5), 100), list(
    eps = 100^(-1 / 3), delta = 100^(-2 / 3.5 / 3)
  ))
  expect_identical(
    update(kbr_rule(x, y), eps = kbr_schedule())$settings[c("eps", "delta")],
    kbr_rule(x, y, eps = kbr_schedule())$settings[c("eps", "delta")]
  )
  refuse(kbr_schedule(0), "alpha")
  refuse(kbr_schedule(0.6), "alpha")
  refuse(kbr_schedule(nu = 0), "nu")
  refuse(kbr_schedule(constant_eps = -1), "constant_eps")
  refuse(kbr_schedule(constant_delta = NA), "constant_delta")
  expect_output(print(kbr_schedule()), "alpha = 0.5")
  defaults <- kbr_rule(x, y)$settings
  expect_equal(
    defaults[c("eps", "delta")], list(eps = 0.1 / 40, delta = 0.2 / 40)
  )
  expect_equal(kbr(x, y, method = "iw")$settings$delta, 1e-3)
})

test_that("1 in 1000 observations are far, whatever their distribution", {
  # Null: P < 0.001 given the data of 1000 by exchangeability, so the mean over
  # pairs of samples is below it. Of 40 x 500 new ones in each of three
  # distributions 20 are expected; samples of 1000 vary in their largest
  # distance, so that the count has a standard deviation of up to about 10.
  makers <- list(
    function(n) cbind(stats::rt(n, 3), 100 * stats::rexp(n)),
    function(n) cbind(stats::runif(n), 1e-6 * stats::rnorm(n), 7),
    function(n) cbind(stats::rpois(n, 30), stats::rnorm(n), stats::runif(n) > 0.5)
  )
  for (draw in makers) {
    far <- withr::with_seed(1, replicate(40, {
      sum(find_far(learn_far(draw(1000)), draw(500))$far)
    }))
    expect_lte(sum(far), 60)
    few <- withr::with_seed(2, replicate(40, {
      sum(find_far(learn_far(draw(200)), draw(500))$far)
    }))
    expect_lte(sum(few), 100)
  }
})

test_that("far observations are told and give what the nearest gives", {
  x <- withr::with_seed(2, matrix(stats::runif(600), 300))
  y <- cbind(u = x[, 1] + 0.1 * normal_points(300, 1, 3), v = 10 * x[, 2] +
    normal_points(300, 1, 4))
  far <- rbind(c(3, 50), c(-5, 5), c(1e300, -1e300))
  near <- rbind(c(0.5, 5), c(1.05, 10))
  colnames(far) <- colnames(near) <- c("u", "v")
  for (method in c("adjusted", "kbr", "iw")) for (width in c(0.2, 5)) {
    fit <- quietly_kbr(kbr(x, y,
      kernel_y = kernel_gaussian(width), scale = TRUE, method = method
    ))
    for (type in c("mean", "quantile", "draws", "sd")) {
      expect_warning(out <- predict(fit, far, type = type),
        "3 of 3 observations are far",
        class = "kb_warning_far"
      )
      expect_true(all(is.finite(out) & out >= -0.01 & out <= 1.01))
    }
    instead <- fit$far$points[find_far(fit$far, far)$nearest, ]
    colnames(instead) <- c("u", "v")
    expect_equal(suppressWarnings(predict(fit, far)), predict(fit, instead))
    expect_no_warning(predict(fit, near), class = "kb_warning_far")
  }
  matrices <- kbr(x[1:30, ], kernel_y = kernel_matrix(kernel_gaussian(1), y[1:30, ]))
  expect_null(matrices$far)
  tuned <- tune_kbr(x, y, bandwidths = 1, c0 = 0.1, folds = 2)
  expect_warning(predict(tuned, far), class = "kb_warning_far")
  chunked <- quietly_kbr(kbr(kbr_chunks(function(i) list(x = x, y = y), 2)))
  expect_warning(out <- predict(chunked, far), class = "kb_warning_far")
  expect_true(all(abs(out - 0.5) <= 0.51))
  # Fits saved before have no rule.
  old <- fit
  old$far <- NULL
  old <- sealed(old)
  expect_no_warning(predict(old, near), class = "kb_warning_far")
})
