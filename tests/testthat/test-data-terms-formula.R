parts_of <- function(formula, plain = "kernels") {
  data <- data.frame(
    y = 1, x1 = 1, x2 = 1, z = 1, g = 1, h = 1, o = 1, e = 1
  )
  split_formula(formula, data, plain)
}

as_text <- function(x) gsub(" ", "", paste(deparse(x), collapse = ""))

test_that("a formula of plain terms is left alone", {
  expect_null(parts_of(y ~ x1 + x2))
  expect_null(parts_of(y ~ .))
  expect_null(parts_of("y"))
})

test_that("kernels, linear terms, groups and offsets are taken apart", {
  parts <- parts_of(y ~ kernels(x1, log(x2)) + z + (1 | g) + offset(2 * o))
  expect_equal(as_text(parts$kernels), "y~x1+log(x2)")
  expect_equal(as_text(parts$linear), "~z")
  expect_equal(lapply(parts$groups, `[[`, "label"), list("g"))
  expect_equal(parts$offsets, list(quote(2 * o)))
  expect_equal(parts$names, list(plain = c("z", "o"), groups = "g"))
  expect_null(parts$fields)
})

test_that("plain terms are kernels without kernels(), or linear", {
  expect_equal(as_text(parts_of(y ~ x1 + z + (1 | g))$kernels), "y~x1+z")
  without <- parts_of(y ~ x1 + z + (1 | g), "linear")
  expect_equal(as_text(without$kernels), "y~1")
  expect_equal(as_text(without$linear), "~x1+z")
  expect_null(parts_of(y ~ 1 + (1 | g), "linear")$linear)
})

test_that("a dot is all columns that appear nowhere else", {
  parts <- parts_of(y ~ kernels(x1, x2) + . + (1 | g) + offset(o))
  expect_equal(as_text(parts$linear), "~z+h+e")
  parts <- parts_of(y ~ kernels(.) + z + (1 | g / h))
  expect_equal(as_text(parts$kernels), "y~x1+x2+o+e")
})

test_that("several kernels() keep their inputs", {
  parts <- parts_of(y ~ kernels(x1, x2) + kernels(z))
  expect_equal(as_text(parts$kernels), "y~x1+x2+z")
  expect_named(parts$fields, c("kernels(x1, x2)", "kernels(z)"))
  expect_equal(as_text(parts$fields[[1]]), "~x1+x2")
})

test_that("groups may be nested, crossed and have slopes", {
  labels <- function(...) {
    vapply(parts_of(...)$groups, `[[`, "", "label")
  }
  slopes <- function(...) {
    vapply(parts_of(...)$groups, function(g) as_text(g$slopes), "")
  }
  expect_equal(labels(y ~ x1 + (1 | g / h)), c("g", "g:h"))
  expect_equal(labels(y ~ x1 + (1 | g) + (1 | h)), c("g", "h"))
  expect_equal(labels(y ~ x1 + (1 | g:h)), "g:h")
  expect_equal(slopes(y ~ x1 + (1 + z | g)), "~1+z")
  expect_equal(slopes(y ~ x1 + (z || g)), c("~1", "~0+z"))
  expect_equal(slopes(y ~ x1 + (0 + z || g)), "~0+z")
  expect_equal(slopes(y ~ x1 + (1 + z || g)), c("~1", "~0+z"))
})

test_that("kernels() must have inputs and kernels", {
  expect_error(parts_of(y ~ kernels() + z), class = "kb_error_formula")
  expect_error(parts_of(y ~ kernels(x1), "linear"), class = "kb_error_formula")
})

test_that("linear columns follow contrasts and new rows the fit", {
  data <- data.frame(
    y = 1:6, x = c(1, 2, 4, 1, 2, 3), f = factor(rep(c("a", "b", "c"), 2)),
    g = rep(c("u", "v"), each = 3), z = 1:6 / 2
  )
  mould <- mould_formula(y ~ kernels(x) + f + poly(z, 2) + (1 + z | g), data,
    "fail", "numeric",
    plain = "kernels"
  )
  expected <- stats::model.matrix(~ f + poly(z, 2), data)[, -1]
  linear <- mould$mixed_x[, mould$mixed$linear_columns]
  expect_equal(unname(linear), unname(expected), ignore_attr = TRUE)
  expect_equal(
    unname(mould$mixed_x[, mould$mixed$group_columns[[1]]]),
    unname(cbind(rep(1:2, each = 3), 1, data$z))
  )
  empty <- mould_empty(mould)
  new <- data[c(5, 2), ]
  new$g <- c("w", "v")
  again <- mould_forge(empty, new)
  expect_equal(again$x[, 2:5], mould$mixed_x[c(5, 2), 1:4], ignore_attr = TRUE)
  expect_equal(unname(again$x[, 6]), c(-1, 2))
  new$f <- NA
  expect_false(any(mould_forge(empty, new)$complete))
})

test_that("x and y take terms as data", {
  x <- matrix(1:6 / 7, 6)
  mixed <- list(
    linear = data.frame(a = 6:1, f = rep(c("p", "q"), 3)),
    groups = c(1, 1, 2, 2, 3, 3), offset = 1:6
  )
  mould <- mould_xy(x, 1:6, "fail", "numeric", mixed = mixed)
  expect_equal(mould$mixed$columns, c("a", "fq", "(offset)", "group",
    "group.(Intercept)"
  ))
  again <- mould_forge(mould_empty(mould), x[2:3, , drop = FALSE],
    mixed = lapply(mixed, function(v) {
      if (is.data.frame(v)) v[2:3, ] else v[2:3]
    })
  )
  expect_equal(unname(again$x[, -1]), unname(mould$mixed_x[2:3, ]))
  expect_error(mould_forge(mould_empty(mould), x, mixed = mixed["linear"]),
    class = "kb_error_argument"
  )
  mixed$groups[[2]] <- NA
  expect_error(mould_xy(x, 1:6, "fail", "numeric", mixed = mixed),
    class = "kb_error_missing"
  )
  expect_equal(
    nrow(mould_xy(x, 1:6, "omit", "numeric", mixed = mixed)$mixed_x), 5
  )
})

test_that("groups and slopes are checked", {
  data <- data.frame(
    y = 1:6, x = 1:6, one = "a", each = 1:6, f = rep(c("a", "b"), 3), g = 1:2
  )
  refused <- function(formula) {
    expect_error(
      mould_formula(formula, data, "fail", "numeric", plain = "kernels"),
      class = "kb_error_groups"
    )
  }
  refused(y ~ kernels(x) + (1 | one))
  refused(y ~ kernels(x) + (1 | each))
  refused(y ~ kernels(x) + (f | g))
  refused(y ~ kernels(x) + (0 | g))
  expect_error(
    mould_formula(y ~ kernels(x) + (1 | lost), data, "fail", "numeric",
      plain = "kernels"
    ),
    class = "kb_error_formula"
  )
  expect_error(
    mould_formula(y ~ kernels(x) + (1 | y), data, "fail", "numeric",
      plain = "kernels"
    ),
    class = "kb_error_formula"
  )
})

test_that("terms of their own, and once", {
  refused <- function(formula, class = "kb_error_formula") {
    expect_error(parts_of(formula), class = class)
  }
  refused(y ~ kernels(x1) - offset(o))
  refused(y ~ kernels(x1) + z:offset(o))
  refused(y ~ kernels(x1) * z)
  refused(y ~ kernels(x1) + 1 | g)
  refused(y ~ kernels(x1) + offset())
  refused(y ~ kernels(x1, scale = TRUE))
  refused(y ~ .^2 + (1 | g))
  refused(y ~ x1 + (1 | g + h), "kb_error_groups")
  refused(y ~ x1 + (0 || g), "kb_error_groups")
  refused(y ~ x1 + (1 | g) + (1 | g), "kb_error_groups")
  expect_null(parts_of(y ~ I(x1 | z)))
  expect_equal(as_text(parts_of(y ~ kernels(x1) + ifelse(z | h, 1, 2))$linear),
    "~ifelse(z|h,1,2)"
  )
  labels <- vapply(parts_of(y ~ x1 + (1 | g * h))$groups, `[[`, "", "label")
  expect_equal(labels, c("g", "h", "g:h"))
})

test_that("constants are inserted, and what depends on other rows refused", {
  k <- 2
  br <- c(0, 3, 9)
  data <- data.frame(
    y = 1:8, x = 1:8 / 2, z = c(3, 1, 4, 1, 5, 9, 2, 6), o = 8:1
  )
  mould <- mould_formula(
    y ~ kernels(x) + poly(z, k) + offset(k * o) + (1 | cut(z, br)), data,
    "fail", "numeric",
    plain = "kernels"
  )
  expect_equal(mould$mixed_x[, "(offset)"], 2 * data$o)
  expect_length(mould$mixed$linear_columns, 2)
  for (formula in list(
    y ~ kernels(x) + offset(scale(o)), y ~ kernels(x) + (1 | cut(z, 2))
  )) {
    expect_error(mould_formula(formula, data, "fail", "numeric",
      plain = "kernels"
    ), class = "kb_error_formula")
  }
})

test_that("groups are in the order of levels, numbers or strings", {
  data <- data.frame(
    y = 1:12, x = 1:12, i = rep(c(10L, 2L, 33L), 4), s = rep(c("b", "B", "a"), 4),
    f = factor(rep(c("hi", "lo"), 6), c("lo", "hi")), d = rep(c(10, 2, -1), 4)
  )
  data$o <- factor(data$f, c("hi", "lo"), ordered = TRUE)
  mould <- mould_formula(
    y ~ kernels(x) + (1 | i) + (1 | s) + (1 | f) + (1 | d) + (1 | o) +
      (1 | f:i) + (1 | d > 0), data, "fail", "numeric", plain = "kernels"
  )
  expect_identical(lapply(mould$mixed$groups, `[[`, "levels"), list(
    c("2", "10", "33"), c("B", "a", "b"), c("lo", "hi"), c("-1", "2", "10"),
    c("hi", "lo"), paste0(rep(c("lo", "hi"), each = 3), c(":2", ":10", ":33")),
    c("FALSE", "TRUE")
  ))
})

test_that("contrasts of the data are used, and constant columns left out", {
  data <- data.frame(
    y = 1:6, x = 1:6, f = factor(rep(c("a", "b", "c"), 2)), one = 1,
    o = factor(rep(1:3, 2), ordered = TRUE)
  )
  stats::contrasts(data$f) <- stats::contr.sum(3)
  formula <- y ~ kernels(x) + f + o + one
  expect_message(
    mould <- mould_formula(formula, data, "fail", "numeric",
      plain = "kernels"
    ),
    "left out", class = "kb_message_constant"
  )
  expected <- stats::model.matrix(~ f + o, data)[, -1]
  expect_equal(mould$mixed_x, expected, ignore_attr = TRUE)
  expect_equal(mould$mixed$columns, colnames(expected))
  again <- mould_forge(mould_empty(mould), data[4:5, ])
  expect_equal(again$x[, -1], expected[4:5, ], ignore_attr = TRUE)
})

test_that("numbers name groups in one way", {
  expect_equal(group_names(c(1e5, 2.5, NA)), c("100000", "2.5", NA))
  expect_equal(group_names(100000L), "100000")
  key <- group_key(list(quote(g), quote(h)), data.frame(
    g = c("a", NA), h = c(1, 2)
  ))
  expect_equal(key, c("a:1", NA))
})
