# Bad and unusual input: a defined answer, or an error whose class says what was
# wrong and whose message names the argument.

data <- sim_sinc(25, seed = 21, truth = TRUE)
quick <- smc_control(particles = 30, n_moves = 2)

#' srvm() with the settings of these tests
small <- function(..., control = quick, seed = 1) {
  suppressMessages(suppressWarnings(
    srvm(..., control = control, seed = seed), "kb_warning_no_spread"
  ), "kb_message_constant")
}

#' The call fails with this class and names the argument
refuse <- function(expr, argument, class = "kb_error_argument") {
  cnd <- rlang::catch_cnd(expr, "error")
  expect_s3_class(cnd, class)
  expect_s3_class(cnd, "kb_error")
  expect_match(conditionMessage(cnd), argument, fixed = TRUE)
}

#' A fit whose results are all finite and of the right size
expect_sound <- function(fit, n) {
  expect_s3_class(fit, c("kb_srvm", "kb_fit"), exact = TRUE)
  expect_identical(nobs(fit), as.integer(n))
  expect_length(fitted(fit), n)
  numbers <- list(
    fitted(fit), predict(fit, interval = "prediction"), sigma(fit),
    if (!learns_scales(fit$settings)) coef(fit),
    predict(fit, type = "draws"), predict(fit, type = "log_score"),
    evidence(fit)$log_evidence, evidence(fit)$path$log_predictive,
    inclusion(fit)$probability, as.matrix(tidy(fit)[, -1])
  )
  expect_true(all(vapply(numbers, function(v) all(is.finite(v)), NA)))
  expect_equal(sum(model_size(fit)$probability), 1)
  expect_output(print(fit), "Sequential relevance vector machine")
}

#' The same posterior: of the number of centres, of the rows used, of f
expect_same_posterior <- function(a, b, unit = 1, offset = 0,
                                  tolerance = 1e-8) {
  expect_equal(model_size(a), model_size(b), tolerance = tolerance)
  in_unit <- inclusion(b)
  in_unit$change <- unit * in_unit$change
  expect_equal(inclusion(a), in_unit, tolerance = tolerance)
  expect_equal((fitted(a) - offset) / unit, fitted(b), tolerance = tolerance)
  expect_equal(sigma(a) / unit, sigma(b), tolerance = tolerance)
}

# Interfaces -------------------------------------------------------------------

test_that("all interfaces give the same fit", {
  fits <- list(
    small(y ~ x, data), small(formula = y ~ x, data = data),
    small(data["x"], data$y), small(x = data["x"], y = data$y),
    small(data$x, data$y), small(as.matrix(data$x), data$y),
    small(as.matrix(data["x"]), as.matrix(data$y)),
    small(data["x"], data["y"])
  )
  for (fit in fits[-1]) {
    expect_identical(fit$runs[[1]]$weights, fits[[1]]$runs[[1]]$weights)
    expect_identical(predict(fit), predict(fits[[1]]))
  }
  expect_identical(fits[[2]]$call[[1]], quote(srvm.formula))
})

test_that("tibbles are data frames", {
  skip_if_not_installed("tibble")
  fit <- small(y ~ x, tibble::as_tibble(data))
  expect_identical(predict(fit), predict(small(y ~ x, data)))
  expect_identical(predict(fit, tibble::as_tibble(data)), predict(fit))
  fit <- small(tibble::as_tibble(data["x"]), data$y)
  expect_identical(predict(fit), predict(small(y ~ x, data)))
})

test_that("integers, logicals, characters and factors are predictors", {
  fit <- small(seq_len(25), round(10 * data$y))
  whole <- small(seq_len(25), as.integer(round(10 * data$y)))
  expect_identical(predict(whole), predict(fit))
  expect_sound(small(matrix(data$x > 0), data$y), 25)
  table <- data.frame(
    y = data$y, side = ifelse(data$x > 0, "right", "left"), far = data$x > 5,
    third = cut(data$x, 3)
  )
  for (columns in list("side", "far", "third", names(table)[-1])) {
    formula <- small(stats::reformulate(columns, "y"), table)
    expect_sound(formula, 25)
    xy <- small(table[columns], table$y)
    expect_identical(predict(xy), predict(formula))
    expect_identical(predict(xy, table[3:4, ]), predict(xy)[3:4])
  }
  # Equal rows are one candidate: here there are no more than two.
  fit <- small(y ~ side, table)
  expect_length(fit$runs[[1]]$candidate_rows, 2)
  expect_true(all(inclusion(fit)$probability[duplicated(table$side)] == 0))
})

test_that("novel levels give a warning and are predicted as NA", {
  table <- data.frame(y = data$y, f = factor(rep(letters[1:5], 5)))
  fit <- small(y ~ f, table)
  new <- data.frame(f = c("a", "z", "b"))
  expect_warning(f <- predict(fit, new), "\"z\"",
    class = "kb_warning_novel_level"
  )
  expect_identical(is.na(f), c(FALSE, TRUE, FALSE))
  expect_identical(f[1:2 * 2 - 1], predict(fit, data.frame(f = c("a", "b"))))
  expect_warning(
    refuse(
      update(fit, newdata = data.frame(f = "z", y = 1), na.action = "fail"),
      "rows", "kb_error_missing"
    ),
    class = "kb_warning_novel_level"
  )
})

test_that("a transformed response is modelled on its own scale", {
  data$y <- data$y + 3
  fit <- small(log(y) ~ x, data)
  other <- small(data["x"], log(data$y))
  expect_identical(predict(fit), predict(other))
  expect_identical(residuals(fit), residuals(other))
  expect_equal(evidence(fit), evidence(other))
  expect_identical(
    predict(fit, data, "log_score"), predict(other, type = "log_score")
  )
  suppressWarnings(
    refuse(small(log(y - 10) ~ x, data), "log(y - 10)", "kb_error_infinite")
  )
})

# Missing and infinite ---------------------------------------------------------

test_that("missing values are refused or left out", {
  holes <- data
  holes$x[3] <- NA
  holes$y[7] <- NA
  missing <- function(..., arg) {
    refuse(small(..., na.action = "fail"), arg, "kb_error_missing")
  }
  missing(y ~ x, holes, arg = "`data`")
  missing(holes["x"], holes$y, arg = "`x`")
  missing(data$x, holes$y, arg = "`y`")
  kept <- small(y ~ x, data[-c(3, 7), ])
  for (fit in list(
    suppressMessages(small(y ~ x, holes)),
    small(holes$x, holes$y, na.action = "omit")
  )) {
    expect_identical(nobs(fit), 23L)
    expect_identical(predict(fit), predict(kept))
    expect_identical(fit$mould$omitted, c(3L, 7L))
  }
  # An unused column may have gaps.
  expect_identical(
    predict(small(y ~ x, transform(data, f = NA))),
    predict(small(y ~ x, data))
  )
  expect_message(small(y ~ x, holes), "2 of 25 rows are left out",
    class = "kb_message_omitted"
  )
  expect_output(print(fit), "2 left out", fixed = TRUE)
  expect_identical(
    stats::na.action(fit), structure(c(3L, 7L), class = "omit")
  )
  expect_null(stats::na.action(kept))
  refuse(small(y ~ x, data, na.action = "na.pass"), "`na.action`")
  holes$x <- NA_real_
  refuse(small(y ~ x, holes, na.action = "omit"), "`data`", "kb_error_rows")
})

test_that("infinite values are refused everywhere", {
  fit <- small(y ~ x, data)
  xy <- small(data$x, data$y)
  for (bad in c(Inf, -Inf, NaN)) {
    broken <- data
    broken$x[[4]] <- bad
    refuse(small(y ~ x, broken), "\"x\"", "kb_error_infinite")
    refuse(small(data$x, c(bad, data$y[-1])), "`y`", "kb_error_infinite")
  }
  refuse(small(broken$x, broken$y), "`x`", "kb_error_infinite")
  refuse(predict(fit, broken), "`newdata`", "kb_error_infinite")
  refuse(update(fit, newdata = broken), "`newdata`", "kb_error_infinite")
  refuse(update(xy, newx = Inf, newy = 1), "`newx`", "kb_error_infinite")
  refuse(update(xy, newx = 1, newy = Inf), "`newy`", "kb_error_infinite")
})

# Sizes ------------------------------------------------------------------------

test_that("zero rows and zero columns are refused", {
  refuse(small(y ~ x, data[0, ]), "`data`", "kb_error_rows")
  refuse(small(data[0, "x"], double()), "`x`", "kb_error_rows")
  refuse(small(matrix(0, 5, 0), 1:5), "`x`", "kb_error_data")
  refuse(small(y ~ 1, data), "`formula`", "kb_error_formula")
})

test_that("one row can be fitted, and then more", {
  fit <- small(y ~ x, data[1, ])
  expect_sound(fit, 1)
  expect_identical(fit$settings$scaling$y_scale, 1)
  expect_lte(max(model_size(fit)$k), 1)
  expect_sound(update(fit, newdata = data[2:25, ]), 25)
  expect_sound(small(3, 4), 1)
})

test_that("constant columns change only the kernel's bandwidth", {
  median <- kernel_gaussian()
  fit <- small(y ~ x + a, transform(data, a = 7), kernel = median)
  expect_equal(predict(fit), predict(small(y ~ x, data, kernel = median)))
  expect_sound(small(y ~ a, transform(data, a = 7)), 25)
})

test_that("a constant response is fitted by a constant", {
  for (value in c(0, 3, -1e9)) {
    fit <- small(y ~ x, transform(data, y = value))
    expect_sound(fit, 25)
    expect_equal(predict(fit), rep(value, 25), tolerance = 1e-3)
  }
  expect_sound(small(y ~ x, transform(data, y = 0), scale = FALSE), 25)
  expect_sound(small(y ~ x, transform(data, y = 3), scale = FALSE), 25)
})

test_that("duplicated rows are one candidate, at their first occurrence", {
  fit <- small(y ~ x, data[c(1:25, 1:25), ])
  expect_sound(fit, 50)
  expect_length(fit$runs[[1]]$candidate_rows, 25)
  expect_true(all(inclusion(fit)$probability[26:50] == 0))
  equal <- small(y ~ x, data[rep(1, 20), ])
  expect_sound(equal, 20)
  expect_lte(max(model_size(equal)$k), 1)
  expect_equal(predict(equal), rep(data$y[[1]], 20), tolerance = 0.05)
  both <- transform(data, x = 1)
  expect_sound(small(y ~ x, both), 25)
})

test_that("wide data work", {
  set.seed(3)
  x <- matrix(stats::rnorm(8 * 60), 8)
  fit <- small(x, 1:8, kernel = kernel_gaussian())
  expect_sound(fit, 8)
  expect_identical(predict(fit, x), predict(fit))
  expect_lt(fit$settings$kernel$bandwidth, 20)
})

test_that("extremes of the prior and of the sampler are defined", {
  none <- small(y ~ x, data, prior = srvm_prior(kmax = 0))
  expect_sound(none, 25)
  expect_equal(model_size(none), data.frame(k = 0L, probability = 1))
  none <- small(y ~ x, data,
    kernel = kernel_gaussian(), prior = srvm_prior(kmax = 0)
  )
  expect_identical(names(coef(none)), "(Intercept)")
  expect_lt(diff(range(predict(none))), 1e-12)
  expect_sound(small(y ~ x, data, prior = srvm_prior(1e6)), 25)
  expect_sound(small(y ~ x, data, prior = srvm_prior(1e-6)), 25)
  expect_lte(max(model_size(small(y ~ x, data,
    prior = srvm_prior(kmax = 2, centres = "iid")
  ))$k), 2)
  single <- small(y ~ x, data,
    kernel = kernel_gaussian(), control = smc_control(particles = 1)
  )
  expect_sound(single, 25)
  expect_true(is.na(evidence(single)$mc_se))
  expect_identical(nrow(model_size(single)), 1L)
  still <- small(y ~ x, data, control = smc_control(particles = 5, n_moves = 0))
  expect_sound(still, 25)
  for (kernel in list(
    kernel_linear(), kernel_constant(1), kernel_constant(0), kernel_laplace(),
    kernel_gaussian(1e-8), kernel_gaussian(1e8), kernel_periodic(2, 3),
    kernel_gaussian(1) * kernel_linear() + 1
  )) {
    expect_sound(suppressWarnings(
      small(y ~ x, data, kernel = kernel),
      classes = "kb_warning_low_ess"
    ), 25)
  }
})

test_that("replicates are separate runs, pooled", {
  fit <- small(y ~ x, data,
    kernel = kernel_gaussian(),
    control = smc_control(particles = 20, n_moves = 2, replicates = 3)
  )
  expect_sound(fit, 25)
  expect_length(fit$runs, 3)
  expect_length(evidence(fit)$replicates, 3)
  expect_length(unique(evidence(fit)$replicates), 3)
})

# Units ------------------------------------------------------------------------

test_that("the size of y does not matter", {
  for (scale in c(TRUE, FALSE)) {
    fit <- small(y ~ x, data, scale = scale)
    for (unit in c(1e-6, 1e-3, 1e6)) {
      other <- small(y ~ x, transform(data, y = y * unit), scale = scale)
      expect_same_posterior(other, fit, unit)
      expect_equal(
        evidence(other)$log_evidence,
        evidence(fit)$log_evidence - 25 * log(unit)
      )
      expect_equal(evidence(other)$mc_se, evidence(fit)$mc_se)
    }
  }
})

test_that("the units of x do not matter if x is standardised", {
  fit <- small(y ~ x, data)
  for (unit in c(1e-200, 1e-3, 1e200)) {
    expect_same_posterior(small(y ~ x, transform(data, x = x * unit)), fit)
  }
  expect_same_posterior(small(y ~ x, transform(data, x = x + 1e4)), fit)
})

test_that("the offset of y does not matter if y is standardised", {
  fit <- small(y ~ x, data)
  far <- small(y ~ x, transform(data, y = y + 1e8))
  expect_same_posterior(far, fit, offset = 1e8, tolerance = 1e-5)
  expect_equal(
    evidence(far)$log_evidence, evidence(fit)$log_evidence,
    tolerance = 1e-5
  )
})

test_that("y far from 0 keeps its digits without standardising", {
  n <- 25
  far <- transform(data, y = y + 1e8)
  noise <- 0.01
  coef <- 1e16
  expect_warning(
    fit <- small(y ~ x, far, scale = FALSE,
      prior = srvm_prior(
        kmax = 0, noise = fixed_variance(noise), coef = fixed_variance(coef), linear = 0
      )
    ),
    class = "kb_warning_offset"
  )
  mean <- mean(data$y) + 1e8
  top <- noise + n * coef
  exact <- -n / 2 * log(2 * pi) - (n - 1) / 2 * log(noise) - log(top) / 2 -
    sum((data$y - mean(data$y))^2) / noise / 2 - n * mean^2 / top / 2
  expect_equal(evidence(fit)$log_evidence, exact, tolerance = 1e-7)
  expect_equal(predict(fit) - 1e8, rep(mean(data$y), n), tolerance = 1e-5)
  expect_equal(residuals(fit), data$y - mean(data$y), tolerance = 1e-5)
})

# Arguments --------------------------------------------------------------------

test_that("x and y must be data", {
  for (bad in list(NULL, "a", list(1), factor(1:3), mean, Sys.Date())) {
    refuse(srvm(bad, 1:3), "`x`")
  }
  refuse(srvm(array(1, c(2, 2, 2)), 1:2), "`x`", "kb_error_data")
  refuse(srvm(matrix("a", 2, 2), 1:2), "`x`", "kb_error_data")
  refuse(srvm(data$x, data$y[-1]), "`y`", "kb_error_outcome")
  for (bad in list(
    NULL, letters[1:25], factor(1:25), as.list(1:25), matrix(1, 25, 2), y ~ x
  )) {
    refuse(srvm(data$x, bad), "`y`", "kb_error_outcome")
  }
  refuse(srvm(data$x), "`y`", "kb_error_outcome")
  refuse(srvm(y ~ x), "`data`", "kb_error_data")
  for (bad in list(NULL, as.list(data), as.matrix(data), "data")) {
    refuse(srvm(y ~ x, bad), "`data`", "kb_error_data")
  }
  for (formula in list(
    ~x, y ~ x - 1, y ~ nothere, y ~ 1, nothere ~ x, y ~ x | f, y ~ x + (1 || f)
  )) {
    refuse(srvm(formula, data), "`formula`", "kb_error_formula")
  }
})

test_that("each argument is checked by name", {
  refuse(small(y ~ x, data, kernel = "gaussian"), "`kernel`")
  refuse(small(y ~ x, data, kernel = kernel_gaussian), "`kernel`")
  refuse(small(y ~ x, data, prior = list(lambda = 1)), "`prior`")
  refuse(small(y ~ x, data, control = list()), "`control`")
  refuse(small(y ~ x, data, control = mcmc_control()), "`control`")
  for (bad in list("rand", 1, NULL)) {
    refuse(small(data$x, data$y, order = bad), "`order`")
  }
  for (bad in list(NA, "yes", c(TRUE, FALSE))) {
    refuse(small(data$x, data$y, scale = bad), "`scale`")
    refuse(small(data$x, data$y, intercept = bad), "`intercept`")
    refuse(small(data$x, data$y, progress = bad), "`progress`")
  }
  for (bad in list("a", 1.5, -1, NA, Inf, 1:2, TRUE, 1e10)) {
    refuse(small(data$x, data$y, seed = bad), "`seed`")
  }
})

test_that("srvm() takes kernels of the right size", {
  custom <- kernel_custom(function(x, y) x %*% t(y))
  refuse(small(y ~ x, data, kernel = list(custom, kernel_gaussian(1))), "kernel")
  refuse(small(y ~ x, data, kernel = kernel_gaussian(c(1, 2))), "kernel",
    "kb_error_dimension"
  )
  refuse(small(y ~ x, data, kernel = kernel_rotation()), "kernel",
    "kb_error_dimension"
  )
  plane <- transform(data, z = y^2)
  expect_sound(
    small(y ~ x + z, plane, kernel = kernel_gaussian(c(1, 2))), 25
  )
})

test_that("unknown arguments are errors, also misspelt ones", {
  class <- "kb_error_unknown_argument"
  refuse(small(y ~ x, data, kernal = 1), "`kernal`", class)
  refuse(small(y ~ x, data, particles = 10), "`particles`", class)
  refuse(small(data$x, data$y, data = data), "`data`", class)
  refuse(small(data["x"], data$y, Seed = 1), "`Seed`", class)
  fit <- small(y ~ x, data)
  refuse(update(fit, seed = 1), "`seed`", class)
  refuse(update(fit, newData = data), "`newData`", class)
  refuse(predict(fit, data, se.fit = TRUE), "`se.fit`", class)
  refuse(summary(fit, digits = 3), "`digits`", class)
  expect_error(srvm_prior(lamda = 3), "lamda")
})

test_that("a reference fixes the settings that it holds", {
  fit <- small(y ~ x, data)
  for (reference in list(fit, fit$settings)) {
    again <- small(y ~ x, data, reference = reference)
    expect_identical(again$runs[[1]]$weights, fit$runs[[1]]$weights)
  }
  part <- small(y ~ x, data[1:10, ], reference = fit)
  expect_identical(part$settings, fit$settings)
  refuse(small(y ~ x, data, reference = fit, kernel = kernel_linear()),
    "`kernel`"
  )
  refuse(small(y ~ x, data, reference = fit, prior = srvm_prior()), "`prior`")
  refuse(small(y ~ x, data, reference = fit, scale = TRUE), "`scale`")
  refuse(small(data$x, data$y, reference = fit, intercept = FALSE),
    "`intercept`"
  )
  refuse(small(y ~ f, data, reference = fit), "`reference`")
  refuse(small(cbind(data$x, 1), data$y, reference = fit), "`reference`")
  for (bad in list(1, stats::lm(y ~ x, data))) {
    refuse(small(y ~ x, data, reference = bad), "`reference`")
  }
})

test_that("the prior is checked", {
  for (bad in list(0, NA, Inf, "a", c(1, 2))) {
    refuse(srvm_prior(lambda = bad), "`lambda`")
  }
  for (bad in list(-1, 1.5, NA, "a", NULL)) {
    refuse(srvm_prior(kmax = bad), "`kmax`")
  }
  refuse(srvm_prior(centres = "all"), "`centres`")
  for (bad in list(1, list(shape = 1, scale = 1))) {
    refuse(srvm_prior(noise = bad), "`noise`")
    refuse(srvm_prior(coef = bad), "`coef`")
  }
  refuse(ig(0, 1), "`shape`")
  refuse(ig(1, 0), "`scale`")
  refuse(fixed_variance(0), "`variance`")
  expect_output(print(srvm_prior(3, noise = fixed_variance(2))), "fixed_variance(2)",
    fixed = TRUE
  )
})

# Seeds ------------------------------------------------------------------------

test_that("a seed determines the fit and leaves the generator alone", {
  set.seed(5)
  before <- .Random.seed
  a <- small(y ~ x, data, order = "random")
  expect_identical(.Random.seed, before)
  expect_identical(small(y ~ x, data, order = "random")$runs[[1]]$weights,
    a$runs[[1]]$weights)
  other <- small(y ~ x, data, seed = 2)
  expect_false(identical(evidence(other), evidence(small(y ~ x, data))))
  expect_sound(small(y ~ x, data, seed = 0), 25)
  expect_sound(small(y ~ x, data, seed = .Machine$integer.max), 25)
})

test_that("without a seed the fit follows set.seed() and reports its own", {
  fit <- function() srvm(y ~ x, data, control = quick)
  set.seed(8)
  a <- fit()
  b <- fit()
  set.seed(8)
  expect_identical(predict(fit()), predict(a))
  expect_false(identical(predict(b), predict(a)))
  expect_identical(predict(small(y ~ x, data, seed = b$seed)), predict(b))
})

# update() ---------------------------------------------------------------------

test_that("update() refuses rows that do not fit", {
  fit <- small(y ~ x, data)
  xy <- small(cbind(data$x, data$f), data$y)
  refuse(update(fit, newdata = data, newx = 1), "`newdata`")
  refuse(update(fit, y ~ x), "`update()`", "kb_error_argument")
  refuse(update(fit, newdata = data[0, ]), "`newdata`", "kb_error_rows")
  refuse(update(fit, newdata = data["x"]), "`newdata`", "kb_error_columns")
  refuse(update(fit, newdata = data["y"]), "`newdata`", "kb_error_columns")
  refuse(update(fit, newx = 1, newy = 1), "`newx`", "kb_error_data")
  refuse(update(fit, newx = data["x"], newy = 1), "`newy`", "kb_error_outcome")
  refuse(update(xy, newdata = data), "newdata", "kb_error_interface")
  refuse(update(xy, newx = 1:3, newy = 1:3), "`newx`", "kb_error_columns")
  refuse(update(xy, newx = cbind(1, 2), newy = 1:2), "`newy`",
    "kb_error_outcome"
  )
  refuse(update(xy, newx = cbind(1, 2), newy = "a"), "`newy`",
    "kb_error_outcome"
  )
  refuse(update(xy, newx = cbind(1, 2)), "`newy`", "kb_error_outcome")
  holes <- transform(data[1:3, ], x = c(1, NA, 2))
  refuse(update(fit, newdata = holes, na.action = "fail"), "rows",
    "kb_error_missing"
  )
  expect_message(more <- update(fit, newdata = holes),
    "1 of 3 rows is left out",
    class = "kb_message_omitted"
  )
  expect_identical(nobs(more), 27L)
  refuse(update(fit, newdata = data, na.action = "drop"), "`na.action`")
  expect_identical(update(fit), fit)
  old <- fit
  old$version <- 0L
  refuse(update(old), "version", "kb_error_version")
  refuse(predict(old), "version", "kb_error_version")
})

test_that("update() accepts what the fit function accepted", {
  vector <- small(data$x[1:20], data$y[1:20])
  formula <- small(y ~ x, data[1:20, ])
  a <- update(vector, newx = data$x[21:25], newy = data$y[21:25])
  b <- update(formula, newdata = data[25:21, 3:1][5:1, ])
  c <- update(formula, newx = data[21:25, "x", drop = FALSE],
    newy = data$y[21:25]
  )
  expect_identical(predict(b), predict(a))
  expect_identical(predict(c), predict(a))
  logged <- small(log(y + 2) ~ x, data[1:20, ])
  expect_identical(
    utils::tail(update(logged, newdata = data[21:25, ])$data$y, 5),
    log(data$y[21:25] + 2)
  )
  refuse(update(logged, newx = data["x"], newy = data$y), "`newy`",
    "kb_error_interface"
  )
})

# plot() -----------------------------------------------------------------------

test_that("plot() checks its arguments", {
  fit <- small(y ~ x, data)
  refuse(plot(fit, type = "foo"), "`type`")
  for (bad in list(0, 95, NA)) refuse(plot(fit, level = bad), "`level`")
  for (bad in list(1, 2.5)) refuse(plot(fit, n = bad), "`n`")
  refuse(plot(fit, colour = "red"), "`colour`", "kb_error_unknown_argument")
  refuse(plot(fit, "fit", 0.9, 200, 3), "unnamed", "kb_error_unknown_argument")
})

# Numbers that the sampler refuses ---------------------------------------------

test_that("numbers beyond double precision give a classed error", {
  class <- "kb_error_sampler"
  expect_error(
    small(y ~ x, data, kernel = kernel_constant(1e300)), "rescale",
    class = class
  )
  suppressWarnings(expect_error(
    small(y ~ x, transform(data, y = 1e200 * y), scale = FALSE), "scale",
    class = class
  ))
  huge <- transform(data, x = 1e200 * x)
  expect_error(
    small(y ~ x, huge, kernel = kernel_gaussian("learn"), scale = FALSE), "bandwidth",
    class = class
  )
  expect_error(small(y ~ x, huge, scale = FALSE), "rescale", class = class)
  for (variance in c(1e-14, 1e14)) {
    refuse(small(y ~ x, data, prior = srvm_prior(noise = fixed_variance(variance))),
      "`noise`"
    )
    refuse(small(y ~ x, data, prior = srvm_prior(coef = fixed_variance(variance))),
      "`coef`"
    )
  }
})

test_that("missing x, and arguments named like internal ones, are refused", {
  refuse(srvm(), "`x`")
  expect_sound(small(data$x > 0, data$y), 25)
  class <- "kb_error_unknown_argument"
  refuse(small(y ~ x, data, call = 1), "`call`", class)
  fit <- small(y ~ x, data)
  refuse(predict(fit, data, call = 1), "`call`", class)
  refuse(evidence(fit, call = 1), "`call`", class)
})
