d <- data.frame(
  y = c(1.5, 2, 3, 5, 4), v = c(1, 4, 2, 8, 6), w = c(3L, 1L, 2L, 5L, 4L),
  f = factor(c("a", "b", "a", "c", "b")),
  o = ordered(c("lo", "hi", "lo", "hi", "lo"), c("lo", "hi")),
  s = c("u", "v", "u", "v", "u"), b = c(TRUE, FALSE, TRUE, TRUE, FALSE),
  stringsAsFactors = FALSE
)

# Given again, rows of the training data come out as in fitting.
expect_same_rows <- function(mould, data, rows = c(3, 1)) {
  forged <- mould_forge(mould, data[rows, , drop = FALSE])
  expect_identical(forged$x, mould$x[rows, , drop = FALSE])
  expect_identical(forged$complete, rep(TRUE, length(rows)))
}

# What comes out ---------------------------------------------------------------

test_that("a formula gives a numeric matrix with an indicator per level", {
  m <- mould_formula(y ~ ., d)
  expect_s3_class(m, "kb_mould")
  expect_true(is.double(m$x))
  expect_identical(colnames(m$x), c(
    "v", "w", "fa", "fb", "fc", "o", "su", "sv", "b"
  ))
  expect_identical(unname(m$x[, "fb"]), c(0, 1, 0, 0, 1))
  expect_identical(unname(m$x[, "o"]), c(1, 2, 1, 2, 1))
  expect_identical(unname(m$x[, "b"]), as.double(d$b))
  expect_identical(m$y, d$y)
  expect_identical(m$interface, "formula")
  expect_identical(m$n_rows, 5L)
  expect_identical(m$omitted, integer())
  expect_identical(m$outcome_name, "y")
  expect_false(m$positional)
  expect_same_rows(m, d)
})

test_that("both interfaces give the same matrix", {
  a <- mould_formula(y ~ ., d)
  b <- mould_xy(d[-1], d$y)
  expect_identical(a$x, b$x)
  expect_identical(a$y, b$y)
  expect_same_rows(b, d)
})

test_that("matrices keep their names, or get some if they have none", {
  named <- cbind(b = 1:3, a = 4:6)
  m <- mould_xy(named, 1:3)
  expect_identical(colnames(m$x), c("b", "a"))
  expect_true(is.double(m$x) && is.double(m$y))
  expect_false(m$positional)
  expect_identical(mould_forge(m, cbind(a = 4, z = 0, b = 1))$x[1, ], m$x[1, ])
  expect_identical(mould_forge(m, data.frame(a = 4, b = 1))$x[1, ], m$x[1, ])
  bare <- mould_xy(unname(named), 1:3)
  expect_identical(colnames(bare$x), c("x1", "x2"))
  expect_true(bare$positional)
})

test_that("without names columns match by position, and are counted", {
  m <- mould_xy(matrix(as.double(1:6), 3), 1:3)
  expect_identical(unname(mould_forge(m, matrix(7:8, 1))$x), cbind(7, 8))
  expect_identical(unname(mould_forge(m, cbind(p = 7, q = 8))$x), cbind(7, 8))
  expect_identical(
    unname(mould_forge(m, data.frame(p = 7, q = 8))$x), cbind(7, 8)
  )
  # Names given in fitting are used if all are present.
  expect_identical(unname(mould_forge(m, cbind(x2 = 8, x1 = 7))$x), cbind(7, 8))
  for (bad in list(1:3, matrix(1:3, 1), matrix(1, 1))) {
    expect_error(mould_forge(m, bad), "newdata", class = "kb_error_columns")
  }
})

test_that("a vector is one column", {
  m <- mould_xy(c(3, 1, 2), 1:3)
  expect_identical(m$x, matrix(c(3, 1, 2), dimnames = list(NULL, "x")))
  expect_identical(mould_forge(m, 5:6)$x[, "x"], c(5, 6))
  expect_identical(mould_forge(m, data.frame(z = 5))$x[[1]], 5)
  expect_error(mould_forge(m, matrix(1:4, 2)), class = "kb_error_columns")
})

test_that("tibbles and one-column responses work", {
  skip_if_not_installed("tibble")
  t <- tibble::as_tibble(d)
  expect_identical(mould_formula(y ~ ., t)$x, mould_formula(y ~ ., d)$x)
  expect_identical(mould_xy(t[-1], t["y"])$x, mould_xy(d[-1], d$y)$x)
  expect_identical(mould_xy(1:3, matrix(c(2, 4, 5)))$y, c(2, 4, 5))
})

test_that("one row, constant columns and wide data work", {
  expect_identical(dim(mould_formula(y ~ ., d[1, ])$x), c(1L, 8L))
  expect_identical(dim(mould_xy(matrix(1, 1, 1), 1)$x), c(1L, 1L))
  same <- data.frame(y = 1:3, k = 5, g = "only")
  m <- suppressWarnings(mould_formula(y ~ ., same))
  expect_identical(unname(m$x), matrix(c(5, 1), 3, 2, byrow = TRUE))
  expect_identical(m$x, suppressWarnings(mould_xy(same[-1], same$y))$x)
  expect_same_rows(m, same)
  wide <- data.frame(y = 1:3, matrix(stats::rnorm(120), 3))
  m <- mould_formula(y ~ ., wide)
  expect_identical(dim(m$x), c(3L, 40L))
  expect_same_rows(m, wide)
})

test_that("matrix columns and names that are not R names work", {
  e <- data.frame(y = 1:4)
  e$m <- matrix(c(1, 2, 5, 3, 9, 8, 7, 2), 4)
  e[["a b"]] <- c(1, 0, 2, 4)
  m <- mould_formula(y ~ ., e)
  expect_identical(ncol(m$x), 3L)
  expect_same_rows(m, e)
  m <- mould_xy(e[-1], e$y)
  expect_identical(colnames(m$x), c("m1", "m2", "a b"))
  expect_same_rows(m, e)
  e$m <- e$m[, c(1, 2, 2)]
  expect_error(mould_forge(m, e), "m", class = "kb_error_columns")
})

test_that("integer columns do not prevent fractions later", {
  expect_identical(
    mould_forge(mould_formula(y ~ w, d), data.frame(w = 1.5))$x[[1]], 1.5
  )
  e <- data.frame(y = 1:3, v = 1:3)
  m <- mould_formula(y ~ v, e)
  new <- data.frame(y = 2.5, v = 1.5)
  expect_identical(mould_forge(m, new, outcome = TRUE)$y, 2.5)
})

# Formulas ---------------------------------------------------------------------

test_that("transformations work in fitting and on new rows", {
  degree <- 2
  formulas <- list(
    log(y) ~ ., y ~ poly(v, 2), y ~ stats::poly(v, degree), y ~ I(v^2) + log(v),
    y ~ . - f, y ~ f:v, y ~ f * v, y ~ factor(w), y ~ ordered(w), y ~ I(v > 3),
    y ~ cut(v, c(0, 3, 9)), y ~ sin(2 * pi * v), y ~ I(v - 1), y ~ I(0 + v),
    y ~ scale(v), y ~ log(v + 1 - 0.5), y / 2 ~ v, log(2 * y) ~ v, y + v ~ w,
    scale(y) ~ v, sqrt(y) ~ 1 + v, y ~ as.numeric(o)
  )
  for (formula in formulas) {
    m <- mould_formula(formula, d)
    label <- deparse(formula)
    back <- mould_forge(m, d[c(4, 1), ], outcome = TRUE)
    expect_equal(back$x, m$x[c(4, 1), , drop = FALSE], info = label)
    expect_equal(back$y, m$y[c(4, 1)], info = label)
    one <- mould_forge(m, d[2, ])
    expect_equal(one$x, m$x[2, , drop = FALSE], info = label)
  }
})

test_that("the numbers agree with the formula", {
  m <- mould_formula(log(y) ~ I(v - 1) + b, d)
  expect_identical(m$y, log(d$y))
  expect_identical(unname(m$x[, "I(v - 1)"]), d$v - 1)
  expect_identical(m$outcome_name, "log(y)")
  expect_identical(mould_formula(y / 2 ~ v, d)$y, d$y / 2)
  expect_identical(mould_formula(y + v ~ w, d)$y, d$y + d$v)
  x <- mould_formula(y ~ poly(v, 2), d)$x
  expect_equal(unname(x), unclass(stats::poly(d$v, 2))[, ], ignore_attr = TRUE)
  expect_identical(
    colnames(mould_formula(y ~ factor(w), d)$x), paste0("factor(w)", 1:5)
  )
})

test_that("`. - x` does not need x afterwards", {
  m <- mould_formula(y ~ . - f, d)
  expect_false(any(grepl("^f", colnames(m$x))))
  expect_silent(mould_forge(m, d[setdiff(names(d), "f")]))
})

test_that("bad formulas give a clear error", {
  z <- 1:5
  e <- "kb_error_formula"
  expect_error(mould_formula(~v, d), "response", class = e)
  expect_error(mould_formula("y ~ v", d), "formula", class = e)
  expect_error(mould_formula(NULL, d), "formula", class = e)
  for (formula in list(y ~ v - 1, y ~ v + 0, y ~ 0 + v)) {
    expect_error(mould_formula(formula, d), "intercept = FALSE", class = e)
  }
  expect_error(mould_formula(y ~ 1, d), "predictors", class = e)
  expect_error(mould_formula(y ~ ., d["y"]), class = e)
  expect_error(mould_formula(y ~ v + offset(w), d), "offset", class = e)
  expect_error(mould_formula(y ~ nothere, d), "nothere", class = e)
  expect_error(mould_formula(nothere ~ v, d), "nothere", class = e)
  expect_error(mould_formula(y ~ v + z, d), "z", class = e)
  expect_error(mould_formula(y ~ y + v, d), "both sides", class = e)
  expect_error(mould_formula(2 ~ v, d), class = e)
  expect_error(mould_formula(y ~ log(f), d), class = e)
  local_function <- function(x) x
  expect_error(
    mould_formula(y ~ local_function(v), d), "splines::ns",
    class = e
  )
})

test_that("the error names the function that the user called", {
  cnd <- rlang::catch_cnd(srvm(y ~ 1, d), "error")
  expect_identical(as.character(cnd$call)[[1]], "srvm")
})

# Tables -----------------------------------------------------------------------

test_that("data must be a data frame with rows and distinct names", {
  for (bad in list(NULL, list(y = 1), matrix(1, 2, 2), "d", mean, 1)) {
    expect_error(mould_formula(y ~ v, bad), "data", class = "kb_error_data")
  }
  expect_error(mould_formula(y ~ v, d[0, ]), "data", class = "kb_error_rows")
  twice <- stats::setNames(d[c("y", "v", "w")], c("y", "v", "v"))
  expect_error(mould_formula(y ~ v, twice), "v", class = "kb_error_data")
  expect_error(mould_xy(twice, 1:5), "`x`", class = "kb_error_data")
  expect_error(
    mould_xy(cbind(a = 1:2, a = 3:4), 1:2), "distinct",
    class = "kb_error_data"
  )
  expect_error(
    mould_xy(matrix(1, 2, 2, dimnames = list(NULL, c("a", ""))), 1:2),
    "names",
    class = "kb_error_data"
  )
})

test_that("x must be numeric, or a data frame of known column types", {
  bad <- list(
    NULL, list(1, 2), "a", letters[1:2], factor(1:2), matrix("a", 2, 2),
    mean, array(1, c(2, 2, 2)), 1i, Sys.Date(), quote(a)
  )
  for (x in bad) {
    expect_error(mould_xy(x, 1:2), "`x`", class = "kb_error_data")
  }
  for (v in list(I(list(1, 2)), c(1i, 2i))) {
    x <- data.frame(a = 1:2)
    x$bad <- v
    expect_error(mould_xy(x, 1:2), "bad", class = "kb_error_data")
    x$y <- 1:2
    expect_error(mould_formula(y ~ ., x), "bad", class = "kb_error_data")
  }
  expect_error(mould_xy(matrix(1, 0, 2), double()), class = "kb_error_rows")
  expect_error(mould_xy(double(), double()), class = "kb_error_rows")
  expect_error(mould_xy(matrix(1, 2, 0), 1:2), class = "kb_error_data")
  expect_error(mould_xy(data.frame(a = 1:2)[0], 1:2), class = "kb_error_data")
})

# Responses --------------------------------------------------------------------

test_that("a numeric response of the wrong kind is refused", {
  bad <- list(
    NULL, c("a", "b", "c"), factor(1:3), matrix(1, 3, 2), list(1, 2, 3),
    c(TRUE, FALSE, TRUE), 1:2, 1:4, mean, Sys.Date() + 1:3,
    data.frame(a = 1:3, b = 1:3), c(1i, 2, 3)
  )
  for (y in bad) {
    expect_error(mould_xy(1:3, y), "`y`", class = "kb_error_outcome")
  }
  expect_error(mould_formula(f ~ v, d), "`f`", class = "kb_error_outcome")
  expect_error(mould_formula(s ~ v, d), "`s`", class = "kb_error_outcome")
  expect_error(mould_formula(cbind(y, v) ~ w, d), class = "kb_error_outcome")
  expect_error(mould_xy(1:3, 1:2), "3", class = "kb_error_outcome")
})

test_that("classes come as factor, character or logical", {
  m <- mould_xy(1:3, factor(c("b", "a", "b"), c("b", "a")), outcome = "factor")
  expect_identical(m$y, factor(c("b", "a", "b"), c("b", "a")))
  expect_identical(m$levels, c("b", "a"))
  expect_identical(
    mould_xy(1:2, c("q", "p"), outcome = "factor")$levels, c("p", "q")
  )
  expect_identical(
    mould_xy(1:2, c(TRUE, FALSE), outcome = "factor")$levels,
    c("FALSE", "TRUE")
  )
  expect_identical(mould_formula(s ~ v, d, outcome = "factor")$levels,
    c("u", "v"))
  expect_error(mould_xy(1:3, 1:3, outcome = "factor"), "factor",
    class = "kb_error_outcome")
  unused <- mould_formula(f ~ v, d[1:2, ], outcome = "factor")
  expect_identical(unused$levels, c("a", "b"))
})

test_that("new classes are refused, known ones are coded as in fitting", {
  e <- d[d$f != "c", ]
  m <- mould_formula(f ~ v, e, outcome = "factor")
  new <- mould_forge(m, data.frame(v = 1, f = "b"), outcome = TRUE)
  expect_identical(new$y, factor("b", c("a", "b")))
  expect_error(mould_forge(m, data.frame(v = 1, f = "c"), outcome = TRUE),
    "c", class = "kb_error_outcome")
  m <- mould_formula(factor(b) ~ v, d, outcome = "factor")
  new <- mould_forge(m, data.frame(v = 1, b = TRUE), outcome = TRUE)
  expect_identical(new$y, factor("TRUE", c("FALSE", "TRUE")))
})

# Missing and infinite ---------------------------------------------------------

test_that("na.action = 'fail' refuses missing values, with their position", {
  e <- d[names(d) != "o"]
  e$v[2] <- NA
  e$f[4] <- NA
  cnd <- rlang::catch_cnd(mould_formula(y ~ ., e, na.action = "fail"))
  expect_s3_class(cnd, "kb_error_missing")
  expect_identical(cnd$columns, c("v", "f"))
  expect_identical(cnd$rows, c(2L, 4L))
  expect_match(conditionMessage(cnd), "`data` has missing values in 2 of 5")
  expect_match(conditionMessage(cnd), "omit")
  refuse <- function(x, y, arg) {
    expect_error(mould_xy(x, y, "fail"), arg, class = "kb_error_missing")
  }
  refuse(e[-1], e$y, "`x`")
  refuse(1:2, c(1, NA), "`y`")
  refuse(c(NA, 1), 1:2, "`x`")
  expect_identical(nrow(mould_formula(y ~ w, e)$x), 5L)
})

test_that("na.action = 'omit' drops rows and records them", {
  e <- d
  e$v[2] <- NA
  e$y[5] <- NA
  for (m in suppressWarnings(list(
    mould_formula(y ~ ., e, na.action = "omit"),
    mould_xy(e[-1], e$y, na.action = "omit")
  ))) {
    expect_identical(m$omitted, c(2L, 5L))
    expect_identical(m$n_rows, 5L)
    expect_identical(m$y, d$y[c(1, 3, 4)])
    expect_identical(nrow(m$x), 3L)
  }
  expect_identical(
    mould_formula(y ~ poly(v, 2), e, na.action = "omit")$omitted, c(2L, 5L)
  )
  e$w <- NA
  expect_error(mould_formula(y ~ ., e, na.action = "omit"), "data",
    class = "kb_error_rows")
  expect_error(mould_xy(c(1, NA), c(NA, 1), na.action = "omit"),
    class = "kb_error_rows")
  expect_error(mould_xy(1, 1, na.action = "drop"), "na.action",
    class = "kb_error_argument")
})

test_that("rows that are left out are told, R's functions are understood", {
  e <- d
  e$v[2] <- NA
  e$y[5] <- NA
  told <- rlang::catch_cnd(mould_xy(e[c("v", "w")], e$y), "message")
  expect_s3_class(told, "kb_message_omitted")
  expect_identical(told$rows, c(2L, 5L))
  expect_match(conditionMessage(told), "2 of 5 rows are left out")
  expect_match(conditionMessage(told), "\"v\" and \"y\"")
  for (same in list("omit", "na.omit", stats::na.omit)) {
    expect_message(m <- mould_formula(y ~ v, e, same),
      class = "kb_message_omitted"
    )
    expect_identical(m$omitted, c(2L, 5L))
  }
  for (same in list("fail", "na.fail", stats::na.fail)) {
    expect_error(mould_formula(y ~ v, e, same), class = "kb_error_missing")
  }
  for (padded in list("na.exclude", stats::na.exclude)) {
    expect_error(mould_formula(y ~ v, e, padded), "na.omit.*same fit",
      class = "kb_error_argument"
    )
  }
})

test_that("infinite values are refused, in fitting and later", {
  for (bad in c(Inf, -Inf, NaN)) {
    e <- d
    e$v[2] <- bad
    expect_error(mould_formula(y ~ ., e), "v", class = "kb_error_infinite")
    expect_error(mould_formula(y ~ ., e, na.action = "omit"), "data",
      class = "kb_error_infinite")
    expect_error(mould_xy(e[-1], e$y), "v", class = "kb_error_infinite")
    expect_error(mould_xy(c(1, bad), 1:2), "`x`", class = "kb_error_infinite")
    expect_error(mould_xy(1:2, c(1, bad)), "`y`", class = "kb_error_infinite")
    expect_error(mould_forge(mould_formula(y ~ ., d), e), "v",
      class = "kb_error_infinite")
    expect_error(mould_forge(mould_xy(d[-1], d$y), e), "newdata",
      class = "kb_error_infinite")
  }
})

test_that("infinite values made by the formula are refused, too", {
  e <- transform(d, v = v - 1)
  expect_error(mould_formula(y ~ log(v), e), "log(v)", fixed = TRUE,
    class = "kb_error_infinite")
  expect_error(mould_formula(log(v) ~ y, e), "log(v)", fixed = TRUE,
    class = "kb_error_infinite")
  m <- mould_formula(log(y) ~ log(v), d)
  expect_error(mould_forge(m, data.frame(v = 0)), "log(v)", fixed = TRUE,
    class = "kb_error_infinite")
  expect_error(mould_forge(m, data.frame(v = 1, y = 0), outcome = TRUE),
    "log(y)", fixed = TRUE, class = "kb_error_infinite")
})

# New data ---------------------------------------------------------------------

test_that("columns may be in any order and have extras", {
  m <- mould_formula(y ~ v + f, d)
  shuffled <- cbind(extra = "q", d[rev(names(d))])
  expect_identical(mould_forge(m, shuffled)$x, m$x)
  m <- mould_formula(y ~ v + w, d)
  expect_identical(mould_forge(m, as.matrix(d[c("w", "v")]))$x, m$x)
})

test_that("missing columns are named", {
  for (m in list(mould_formula(y ~ ., d), mould_xy(d[-1], d$y))) {
    cnd <- rlang::catch_cnd(mould_forge(m, d[c("v", "s", "b", "o")]))
    expect_s3_class(cnd, "kb_error_columns")
    expect_identical(cnd$columns, c("w", "f"))
    expect_match(conditionMessage(cnd), "newdata")
  }
  named <- mould_xy(cbind(a = 1:3, b = 1:3), 1:3)
  expect_error(mould_forge(named, matrix(1, 1, 2)), "without column names",
    class = "kb_error_columns")
  m <- mould_formula(y ~ v, d)
  expect_error(mould_forge(m, d["v"], outcome = TRUE), "y",
    class = "kb_error_columns")
})

test_that("newdata of the wrong kind are refused", {
  m <- mould_formula(y ~ v + f, d)
  for (bad in list(NULL, 1:3, list(v = 1), "a", matrix(1, 1, 2))) {
    expect_error(mould_forge(m, bad), "newdata", class = "kb_error_data")
  }
  expect_error(mould_forge(m, d[0, ]), "newdata", class = "kb_error_rows")
  expect_error(mould_forge(m, data.frame(v = "1", f = "a")), "v",
    class = "kb_error_columns")
  expect_error(mould_forge(m, data.frame(v = 1, f = 1)), "f",
    class = "kb_error_columns")
  expect_error(mould_forge(m, data.frame(v = factor(1), f = "a")), "v",
    class = "kb_error_columns")
  x <- mould_xy(d[c("v", "f")], d$y)
  expect_error(mould_forge(x, data.frame(v = "1", f = "a")), "v",
    class = "kb_error_columns")
})

test_that("rows with missing values are kept as NA", {
  new <- data.frame(v = c(1, NA, 3, NA), f = c("a", "b", NA, NA))
  for (m in list(
    mould_formula(y ~ v + f, d), mould_formula(y ~ poly(v, 2) + f, d),
    mould_xy(d[c("v", "f")], d$y)
  )) {
    forged <- mould_forge(m, new)
    expect_identical(forged$complete, c(TRUE, FALSE, FALSE, FALSE))
    expect_identical(dim(forged$x), c(4L, ncol(m$x)))
    expect_false(anyNA(forged$x[1, ]))
    expect_true(all(is.na(forged$x[2:4, ])))
    none <- mould_forge(m, data.frame(v = NA, f = NA))
    expect_true(all(is.na(none$x)))
    expect_identical(colnames(none$x), colnames(m$x))
  }
})

test_that("novel levels give NA and a warning", {
  new <- data.frame(v = 1, f = c("a", "zz"), s = c("u", "v"))
  for (m in list(
    mould_formula(y ~ v + f + s, d), mould_xy(d[c("v", "f", "s")], d$y)
  )) {
    expect_warning(mould_forge(m, new), "zz", class = "kb_warning_novel_level")
    forged <- suppressWarnings(mould_forge(m, new))
    expect_identical(forged$complete, c(TRUE, FALSE))
    expect_true(all(is.na(forged$x[2, ])))
  }
  m <- mould_formula(y ~ s, d)
  expect_warning(mould_forge(m, data.frame(s = "t")), "\"t\"",
    class = "kb_warning_novel_level")
  only <- suppressWarnings(
    mould_formula(y ~ g, data.frame(y = 1:2, g = "one"))
  )
  expect_warning(mould_forge(only, data.frame(g = "two")), "two",
    class = "kb_warning_novel_level")
})

test_that("novel levels of a factor made by the formula give a warning", {
  m <- mould_formula(y ~ factor(w) + v, d)
  new <- data.frame(w = c(2, 9), v = 1)
  expect_warning(mould_forge(m, new), "factor(w)", fixed = TRUE,
    class = "kb_warning_novel_level")
  forged <- suppressWarnings(mould_forge(m, new))
  expect_identical(forged$complete, c(TRUE, FALSE))
  expect_true(all(is.na(forged$x[2, ])))
})

test_that("known levels in another order, or as characters, work", {
  m <- mould_formula(y ~ f, d)
  for (f in list(factor(c("c", "a"), c("c", "a")), c("c", "a"))) {
    x <- mould_forge(m, data.frame(f = f))$x
    expect_identical(x, m$x[c(4, 1), ])
  }
})

# Updates ----------------------------------------------------------------------

test_that("a formula mould takes the response from newdata", {
  m <- mould_formula(log(y) ~ v, d)
  forged <- mould_forge(m, data.frame(v = 1:3, y = c(1, NA, 2)), outcome = TRUE)
  expect_identical(forged$y, c(0, NA, log(2)))
  expect_identical(forged$complete, c(TRUE, FALSE, TRUE))
  expect_null(mould_forge(m, data.frame(v = 1))$y)
  none <- mould_forge(m, data.frame(v = NA_real_, y = 1), outcome = TRUE)
  expect_identical(none$y, NA_real_)
  expect_identical(none$complete, FALSE)
})

test_that("new rows as newx and newy", {
  m <- mould_xy(matrix(1:6, 3), 1:3)
  forged <- mould_forge_xy(m, matrix(7:10, 2), c(1, NA))
  expect_identical(unname(forged$x), matrix(as.double(7:10), 2))
  expect_identical(forged$y, c(1, NA))
  expect_identical(forged$complete, c(TRUE, FALSE))
  expect_error(mould_forge_xy(m, matrix(7:10, 2), 1), "newy",
    class = "kb_error_outcome")
  expect_error(mould_forge_xy(m, matrix(7:10, 2), c("a", "b")), "newy",
    class = "kb_error_outcome")
  expect_error(mould_forge_xy(m, 1, 1), "newx", class = "kb_error_columns")
  expect_error(mould_forge_xy(m, matrix(Inf, 1, 2), 1), "newx",
    class = "kb_error_infinite")
  expect_error(mould_forge_xy(m, matrix(1, 1, 2), Inf), "newy",
    class = "kb_error_infinite")
  expect_error(mould_forge(m, matrix(1, 1, 2), outcome = TRUE), "newx",
    class = "kb_error_interface")
})

test_that("newx and newy for a formula mould", {
  m <- mould_formula(y ~ v + f, d)
  forged <- mould_forge_xy(m, d[c("f", "v")], d$y)
  expect_identical(forged$x, m$x)
  expect_identical(forged$y, m$y)
  transformed <- mould_formula(log(y) ~ v, d)
  expect_error(mould_forge_xy(transformed, d["v"], d$y), "newdata",
    class = "kb_error_interface")
})

# What is stored ---------------------------------------------------------------

test_that("a mould stays small and survives saving", {
  small <- local({
    big <- stats::rnorm(1e5)
    degree <- 2
    mould_formula(log(y) ~ poly(v, degree) + factor(w) + f, d)
  })
  expect_lt(length(serialize(small, NULL)), 20000)
  expect_lt(length(serialize(mould_xy(d[-1], d$y), NULL)), 5000)
  file <- withr::local_tempfile(fileext = ".rds")
  saveRDS(mould_empty(small), file)
  back <- readRDS(file)
  expect_null(back$x)
  expect_identical(
    mould_forge(back, d, outcome = TRUE), mould_forge(small, d, outcome = TRUE)
  )
  expect_identical(back$formula, log(y) ~ poly(v, degree) + factor(w) + f,
    ignore_formula_env = TRUE)
})

test_that("a mould needs nothing from where its formula was written", {
  degree <- 2
  m <- mould_formula(log(y) ~ poly(v, degree) + f, d)
  rm(degree)
  expect_equal(mould_forge(m, d)$x, m$x)
})

# Responses of several columns -------------------------------------------------

test_that("a sum on the left gives columns, each as written", {
  data <- data.frame(a = c(1, 2, 4), b = c(3, 1, 2), x = 1:3, z = c(2, 2, 5))
  m <- mould_formula(a + b ~ x, data, outcome = "matrix")
  expect_identical(m$y, cbind(a = data$a, b = data$b))
  expect_identical(colnames(m$x), "x")
  expect_identical(m$outcome_name, "a + b")
  expect_identical(
    mould_formula(cbind(a, b) ~ x, data, outcome = "matrix")$y, m$y
  )
  logs <- mould_formula(log(a) + b ~ ., data, outcome = "matrix")
  expect_identical(logs$y, cbind(`log(a)` = log(data$a), b = data$b))
  expect_identical(colnames(logs$x), c("x", "z"))
  expect_identical(
    mould_formula(b + a + z ~ x, data, outcome = "matrix")$y,
    cbind(b = data$b, a = data$a, z = data$z)
  )
  # An actual sum is in brackets, or in I().
  for (formula in list((a + b) ~ x, I(a + b) ~ x)) {
    y <- mould_formula(formula, data, outcome = "matrix")$y
    expect_equal(unname(y), matrix(data$a + data$b))
  }
  expect_identical(
    unname(mould_formula(a - b ~ x, data, outcome = "matrix")$y),
    matrix(data$a - data$b)
  )
  one <- mould_formula(a ~ x, data, outcome = "matrix")
  expect_identical(one$y, cbind(a = data$a))
  data$m <- matrix(1:6, 3)
  wide <- mould_formula(cbind(b, p = a) + m ~ x, data, outcome = "matrix")
  expect_identical(unname(wide$y), unname(cbind(data$b, data$a, data$m) + 0))
  expect_identical(colnames(wide$y)[1:2], c("b", "p"))
  expect_false(anyDuplicated(colnames(wide$y)) > 0)
})

test_that("columns of a response are numbers, not the codes of factors", {
  data <- data.frame(
    a = 1:3, f = factor(c("u", "v", "u")), s = c("u", "v", "u"),
    l = c(TRUE, FALSE, NA), t = as.Date("2020-01-01") + 0:2, x = 1:3
  )[1:2, ]
  for (formula in list(
    f ~ x, a + f ~ x, f + a ~ x, cbind(f, a) ~ x, cbind(a, cbind(f)) ~ x,
    factor(a) + a ~ x, s ~ x, a + s ~ x, a + t ~ x
  )) {
    expect_error(
      mould_formula(formula, data, outcome = "matrix"),
      class = "kb_error_outcome"
    )
  }
  expect_identical(
    unname(mould_formula(a + as.numeric(f) ~ x, data, outcome = "matrix")$y),
    cbind(c(1, 2), c(1, 2))
  )
  expect_identical(
    unname(mould_formula(a + l ~ x, data, outcome = "matrix")$y),
    cbind(c(1, 2), c(1, 0))
  )
  for (y in list(
    data["f"], data[c("a", "s")], letters[1:2], list(1, 2), NULL,
    array(1, c(2, 1, 1)), data[0], function() 1
  )) {
    expect_error(mould_xy(data$x, y, outcome = "matrix"),
      class = "kb_error_outcome"
    )
  }
  expect_error(mould_formula(z + a ~ x, data, outcome = "matrix"), "z",
    class = "kb_error_formula"
  )
  expect_error(mould_formula(x + a ~ x, data, outcome = "matrix"),
    class = "kb_error_formula"
  )
})

test_that("rows of a response matrix may be missing, not infinite", {
  data <- data.frame(a = c(1, NA, 4, 2), b = c(3, 1, 2, 0), x = c(1, 2, 3, NA))
  expect_error(mould_formula(a + b ~ x, data, "fail", outcome = "matrix"), "a",
    class = "kb_error_missing"
  )
  m <- mould_formula(a + b ~ x, data, "omit", outcome = "matrix")
  expect_identical(m$y, cbind(a = c(1, 4), b = c(3, 2)))
  expect_identical(m$omitted, c(2L, 4L))
  y <- as.matrix(data[c("a", "b")])
  expect_identical(mould_xy(data$x, y, "omit", "matrix")$y, m$y)
  expect_error(mould_xy(1:4, y, "fail", outcome = "matrix"),
    class = "kb_error_missing"
  )
  # A transformation can make them infinite.
  expect_error(
    mould_formula(a + log(b) ~ x, data[c(1, 3, 4), ], "omit", "matrix"),
    NA
  )
  data$x <- 1:4
  expect_error(mould_formula(a + log(b) ~ x, data, "omit", "matrix"),
    class = "kb_error_infinite"
  )
  expect_error(mould_xy(1:2, cbind(1:2, c(1, Inf)), outcome = "matrix"),
    class = "kb_error_infinite"
  )
})

test_that("response matrices have distinct names, otherwise those of y", {
  named <- function(y) colnames(mould_xy(1:2, y, outcome = "matrix")$y)
  expect_identical(named(1:2), "y")
  expect_identical(named(matrix(1:4, 2)), c("y1", "y2"))
  expect_identical(named(cbind(a = 1:2, 3:4)), c("a", "y2"))
  expect_identical(named(cbind(a = 1:2, a = 3:4)), c("a", "a.1"))
  expect_identical(named(data.frame(p = 1:2, q = 3:4)), c("p", "q"))
  swapped <- mould_xy(matrix(1:4, 2), 1:2,
    outcome = "matrix", args = c("y", "x")
  )
  expect_identical(colnames(swapped$x), c("y1", "y2"))
  expect_identical(colnames(swapped$y), "x")
  expect_error(mould_xy(1:3, matrix(1:4, 2), outcome = "matrix"), "y",
    class = "kb_error_outcome"
  )
})

test_that("new rows of a response matrix are read as in fitting", {
  data <- data.frame(a = c(1, 2, 4), b = c(3, 1, 2), x = 1:3)
  m <- mould_formula(log(a) + b ~ x, data, outcome = "matrix")
  again <- mould_forge(m, data[c(2, 1), ], outcome = TRUE)
  expect_identical(unname(again$y), unname(m$y[2:1, ]))
  gaps <- data
  gaps$b[2] <- NA
  again <- mould_forge(m, gaps, outcome = TRUE)
  expect_identical(again$complete, c(TRUE, FALSE, TRUE))
  expect_identical(unname(again$y[3, ]), unname(m$y[3, ]))
  expect_identical(mould_forge(m, data["x"])$x, m$x)
  xy <- mould_xy(data["x"], data[c("a", "b")], outcome = "matrix")
  expect_identical(
    unname(mould_forge_xy(xy, data["x"], data[c("a", "b")])$y), unname(xy$y)
  )
})

test_that("a level for most rows gives a warning, too many an error", {
  n <- 120
  d <- data.frame(
    y = seq_len(n), id = sprintf("no %03d", seq_len(n)), x = rep(1:2, n / 2),
    pair = factor(rep(1:60, 2))
  )
  warning <- expect_warning(mould_formula(y ~ ., d), "\"id\".*120 levels",
    class = "kb_warning_levels"
  )
  expect_identical(warning$column, "id")
  expect_warning(mould_xy(d["id"], d$y), class = "kb_warning_levels")
  # Half of the rows; few levels, in few rows.
  expect_no_warning(mould_formula(y ~ pair + x, d))
  expect_no_warning(mould_formula(y ~ id + x, d[1:50, ]))
  old <- options(kernelbayes.memory_limit = 8 * n * 180 - 1)
  on.exit(options(old))
  expect_error(mould_formula(y ~ id + pair, d), class = "kb_error_memory")
  options(kernelbayes.memory_limit = 8 * n * 180)
  expect_warning(mould_formula(y ~ id + pair, d), class = "kb_warning_levels")
})

test_that("constant columns are told, levels without rows are not", {
  d <- data.frame(y = 1:4, k = 3, x = 1:4, g = factor("a", c("a", "b", "c")))
  d$g[4] <- "b"
  for (mould in list(
    quote(mould_formula(y ~ ., d)), quote(mould_xy(d[-1], d$y)),
    quote(mould_xy(as.matrix(d[2:3]), d$y))
  )) {
    told <- expect_message(eval(mould), "\"k\" is constant",
      class = "kb_message_constant"
    )
    expect_identical(told$columns, "k")
  }
  expect_silent(mould_formula(y ~ ., d[1, ]))
})

test_that("dates as text are refused before they become indicators", {
  d <- data.frame(y = 1:40, x = 1:40, day = as.Date("2024-01-05") + 1:40)
  for (format in c("%Y-%m-%d", "%d.%m.%y", "%m/%d/%Y", "%Y-%m-%dT%H:%M:%S")) {
    text <- transform(d, day = format(day, format))
    for (call in list(
      quote(mould_formula(y ~ ., text)), quote(mould_xy(text[-1], text$y)),
      quote(mould_formula(y ~ kernels(x) + day, text, plain = "kernels"))
    )) {
      expect_error(eval(call), "as.Date", class = "kb_error_data")
    }
  }
  text <- transform(d, day = format(day))
  expect_identical(
    ncol(mould_formula(y ~ x + factor(day), text)$x), 41L
  )
  expect_identical(suppressMessages(
    ncol(mould_formula(y ~ x + as.Date(day), text)$x)
  ), 2L)
  few <- transform(text, day = rep(day[1:4], 10), code = sprintf("1-%02d", x))
  expect_identical(ncol(mould_formula(y ~ x + day + code, few)$x), 45L)
})

test_that("only names that a formula uses must be distinct", {
  d <- data.frame(y = 1:4, x = 4:1, a = 1, a = 2, check.names = FALSE)
  mould <- mould_formula(y ~ x, d)
  expect_identical(mould$x, cbind(x = as.double(4:1)))
  expect_identical(mould_forge(mould, d, outcome = TRUE)$y, as.double(1:4))
  refused <- function(object) expect_error(object, "\"a\"", class = "kb_error_data")
  refused(mould_formula(y ~ x + a, d))
  refused(mould_formula(y ~ ., d))
  refused(mould_formula(a ~ x, d))
  refused(mould_formula(y ~ x, d, weights = rlang::quo(a)))
  names(d)[[3]] <- "x"
  expect_error(mould_formula(y ~ x, d), "\"x\"", class = "kb_error_data")
  expect_error(mould_forge(mould, d), "\"x\"", class = "kb_error_data")
})

test_that("flags in columns of a response are numbers", {
  d <- data.frame(s = rep(c("a", "b", "c"), 2), x = 1:6)
  of <- cbind(d$s == "b", d$s == "a") + 0
  for (formula in list(
    cbind(s == "b", s == "a") ~ x, (s == "b") + (s == "a") ~ x
  )) {
    mould <- mould_formula(formula, d, outcome = "matrix")
    expect_identical(unname(mould$y), of)
  }
  flags <- data.frame(b = d$s == "b", a = d$s == "a")
  expect_identical(
    unname(mould_xy(d$x, flags, outcome = "matrix")$y), of
  )
  expect_identical(
    unname(mould_formula(cbind(s == "b", s != "b") ~ x, d,
      outcome = "binomial"
    )$y), cbind(of[, 1], 1 - of[, 1])
  )
})

test_that("new values of constant columns do not count, and it is told", {
  set.seed(1)
  d <- data.frame(
    x = stats::runif(20), k = 0.1 + 0.2, e = 1e9 * (1 + 1e-15 * rep(1:4, 5)),
    g = rep(c("a", "b"), 10), f = factor("a", c("a", "b"))
  )
  d[["dose (mg)"]] <- 7
  d$y <- sin(3 * d$x)
  d$class <- d$y > 0.5
  new <- d[1:3, ]
  moved <- new
  moved[c("k", "e", "dose (mg)")] <- list(15, 7e9, 70)
  quick <- mcmc_control(1, 10, 10)
  few <- smc_control(particles = 20)
  xy <- c("x", "k", "e", "dose (mg)")
  for (call in list(
    quote(bark(y ~ x + k + e + `dose (mg)`, d, control = quick)),
    quote(bark(class ~ x + k + e + `dose (mg)`, d, control = quick)),
    quote(bark(g ~ x + k + e + `dose (mg)`, d, scale = FALSE, control = quick)),
    quote(bark(y ~ kernels(x) + k + e + `dose (mg)`, d, control = quick)),
    quote(bark(y ~ x + (1 + k + e + `dose (mg)` | g), d, control = quick)),
    quote(bark(d[xy], d$y, control = quick)),
    quote(srvm(y ~ x + k + e + `dose (mg)` + f, d, control = few)),
    quote(srvm(y ~ x + k + e + `dose (mg)`, d, scale = FALSE, control = few)),
    quote(srvm(as.matrix(d[xy]), d$class, control = few)),
    quote(kgs(class ~ x + k + e + `dose (mg)`, d, control = quick)),
    quote(kgs(d[xy], d$g, scale = FALSE, control = quick)),
    quote(kbr(y ~ x + k + e + `dose (mg)`, d)), quote(kbr(d$y, d[xy]))
  )) {
    told <- NULL
    fit <- withCallingHandlers(suppressWarnings(eval(call)),
      kb_message_constant = function(m) told <<- m,
      message = function(m) invokeRestart("muffleMessage")
    )
    given <- if (is.null(fit$mould$formula)) xy else names(d)
    expect_identical(told$columns, c("k", "e", "dose (mg)"))
    expect_no_message(as_fitted <- predict(fit, new[given]))
    messages <- list()
    withCallingHandlers(out <- predict(fit, moved[given]), message = function(m) {
      messages <<- c(messages, list(m))
      invokeRestart("muffleMessage")
    })
    expect_identical(out, as_fitted, info = deparse1(call))
    expect_length(messages, 1)
    expect_s3_class(messages[[1]], "kb_message_constant")
    expect_identical(messages[[1]]$columns, c("k", "e", "dose (mg)"))
  }
})

test_that("a response of numbers as text is told", {
  numbers <- as.character(1:20)
  tell <- function(y) mould_xy(1:20, y, outcome = "either")
  # expect_no_message() of testthat 3.1.6 sees no message at all.
  expect_quiet <- function(y) {
    expect_null(rlang::catch_cnd(tell(y), "kb_message_text"))
  }
  expect_message(tell(numbers), "is text, and so has 20 classes",
    class = "kb_message_text"
  )
  expect_message(tell(replace(numbers, 3, "none")), "not numbers: \"none\"")
  expect_quiet(factor(numbers))
  expect_quiet(rep(c("0", "1"), 10))
  expect_quiet(rep(c("a", "b", "3", "c"), 5))
})

test_that("columns with their own class are read by their type", {
  # As in package units: numbers with a class that is not a vector's.
  y <- c(1, 3, 2)
  of_units <- structure(c(1, 2, 4), units = "m", class = "units")
  data <- data.frame(y = y)
  data$x <- of_units
  mould <- mould_formula(y ~ x, data)
  expect_identical(mould$x[, "x"], c(1, 2, 4))
  data$y <- structure(y, units = "s", class = "units")
  expect_identical(as.numeric(mould_formula(y ~ x, data)$y), y)
  expect_identical(mould_xy(data["x"], y)$x[, "x"], c(1, 2, 4))
  labelled <- structure(c(1, 2, 4), label = "length", class = "labelled")
  data$x <- labelled
  expect_identical(mould_formula(y ~ x, data)$x[, "x"], c(1, 2, 4))
  # Their origin or unit is told.
  for (v in list(as.Date("2020-01-01") + 0:2, as.difftime(1:3, units = "mins"),
    as.POSIXct("2020-01-01", tz = "UTC") + 0:2
  )) {
    data$x <- v
    expect_message(mould <- mould_formula(y ~ x, data),
      "\"x\" in (days|mins|seconds)",
      class = "kb_message_times"
    )
    expect_identical(mould$x[, "x"], as.numeric(v))
    expect_message(other <- mould_xy(data["x"], y), class = "kb_message_times")
    expect_identical(other$x, mould$x)
    for (m in list(mould, other)) {
      expect_same_rows(m, data)
      # Numbers are taken as they are.
      expect_identical(
        mould_forge(m, data.frame(x = as.numeric(v)))$x, m$x
      )
      expect_error(mould_forge(m, data.frame(x = letters[1:3])),
        class = "kb_error_columns"
      )
    }
    expect_identical(
      mould_formula(y ~ as.numeric(x), data)$x[, 1], as.numeric(v)
    )
  }
})

test_that("kernels see the scores of ordered factors", {
  data <- data.frame(
    y = 1:6, o = factor(c("lo", "mid", "hi"), c("lo", "mid", "hi"), ordered = TRUE)
  )
  scores <- rep(c(1, 2, 3), 2)
  expect_message(by_formula <- mould_formula(y ~ o, data),
    class = "kb_message_ordered"
  )
  expect_message(by_xy <- mould_xy(data["o"], data$y),
    class = "kb_message_ordered"
  )
  for (mould in list(by_formula, by_xy)) {
    expect_identical(mould$x, cbind(o = scores))
    # Strings and single levels are read by the levels of the fit.
    expect_identical(mould_forge(mould, data.frame(o = "hi"))$x, cbind(o = 3))
    one <- data.frame(o = factor("mid"))
    expect_identical(mould_forge(mould, one)$x, cbind(o = 2))
    expect_warning(new <- mould_forge(mould, data.frame(o = "top")),
      class = "kb_warning_novel_level"
    )
    expect_identical(new$complete, FALSE)
  }
  made <- suppressMessages(mould_formula(y ~ ordered(as.character(o), c("hi", "mid", "lo")), data))
  expect_identical(unname(made$x[, 1]), rep(c(3, 2, 1), 2))
  expect_identical(
    colnames(mould_formula(y ~ factor(o, ordered = FALSE), data)$x),
    paste0("factor(o, ordered = FALSE)", c("lo", "mid", "hi"))
  )
})

test_that("64-bit integers are numbers, as predictors and as responses", {
  skip_if_not_installed("bit64")
  v <- c(-2, 0, 5, NA)
  whole <- bit64::as.integer64(v)
  data <- data.frame(x = 1:4)
  data$whole <- whole
  expect_message(mould <- mould_formula(whole ~ x, data),
    class = "kb_message_omitted"
  )
  expect_identical(mould$y, v[1:3])
  expect_message(mould <- mould_xy(data["whole"], 1:4),
    class = "kb_message_omitted"
  )
  expect_identical(mould$x, cbind(whole = v[1:3]))
  expect_identical(mould_forge(mould, data["whole"])$x[, 1], v)
  expect_identical(mould_xy(1:3, whole[1:3])$y, v[1:3])
})

test_that("times serve as numbers and inside functions at once", {
  data <- data.frame(y = 1:40, day = as.Date("2024-01-01") + 1:40)
  expect_message(
    mould <- mould_formula(y ~ day + months(day), data),
    class = "kb_message_times"
  )
  expect_identical(mould$x[, "day"], as.double(data$day))
  expect_identical(colnames(mould$x)[[2]], "months(day)February")
  expect_same_rows(mould, data)
  data$lt <- as.POSIXlt(as.POSIXct(data$day))
  mould <- suppressMessages(mould_formula(y ~ lt, data))
  expect_identical(mould$x[, "lt"], as.double(as.POSIXct(data$lt)))
  forged <- mould_formula(y ~ months(day), data)
  for (day in list(data$lt, as.character(data$day))) {
    data$day <- day
    expect_error(mould_forge(forged, data), "\"day\" that is not a Date, as in",
      class = "kb_error_columns"
    )
  }
  none <- data.frame(x = NA_real_, y = 1:3)
  expect_error(mould_formula(y ~ x, none), "without missing values",
    class = "kb_error_rows"
  )
})
