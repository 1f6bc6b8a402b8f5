# Points that differ by rounding are equal to all engines.

test_that("points are equal up to rounding, column by column", {
  x <- cbind(c(1, 1 + 1e-15, 1, 2, 2 - 1e-12), c(5, 3, 5 + 1e-14, 3, 3))
  rows <- distinct_rows(x)
  expect_identical(rows$kind, c(2L, 1L, 2L, 3L, 3L))
  expect_identical(rows$first, c(2L, 1L, 4L))
  expect_identical(equal_points(x)[3, ], x[1, ])
  expect_identical(match_points(x[2:4, ] + 1e-13, x), c(2L, 1L, 4L))
  expect_identical(match_points(x[1:2, ] + 1e-3, x), c(NA_integer_, NA))
  expect_identical(match_points(x, x[0, ]), rep(NA_integer_, 5))
  # Not by 1e-8 of the range, in any unit; times in seconds with a wide range
  for (unit in c(1e-200, 1, 1e200)) {
    expect_length(distinct_rows(cbind(unit * c(0, 1e-8, 1)))$first, 3)
    expect_length(distinct_rows(cbind(unit * c(0, 1e-10, 1)))$first, 2)
  }
  expect_length(distinct_rows(cbind(1.7e9 + 0:9))$first, 10)
  expect_identical(
    distinct_rows(cbind(c(0, -0, 1)))$kind, distinct_rows(cbind(c(0, 0, 1)))$kind
  )
  expect_identical(distinct_rows(matrix(0, 3, 0))$kind, c(1L, 1L, 1L))
})

rounded <- local({
  set.seed(2)
  data <- data.frame(x = stats::runif(30), z = round(stats::rnorm(30), 1))
  data$x[21:30] <- data$x[1:10]
  data$y <- sin(6 * data$x) + 0.1 * stats::rnorm(30)
  data$class <- factor(data$y > 0.3)
  data
})

# Computed in other ways, or read from a text
same_data <- list(
  itself = rounded, some = rounded[7:9, ],
  units = transform(rounded, x = (x + 1 / 3) - 1 / 3, z = 1000 * z / 1000),
  text = transform(rounded, x = as.double(format(x, digits = 15)))
)

quiet <- function(expr) suppressMessages(suppressWarnings(expr))
quick <- mcmc_control(1, 20, 20)
few <- smc_control(particles = 20)

test_that("predictions of training rows are fitted values", {
  of <- function(right, response = "y") {
    stats::as.formula(paste(response, "~", right))
  }
  fits <- quiet(c(
    lapply(c(
      "x + z", "poly(x, 3) + z", "poly(x, 12)", "splines::ns(x, 3)",
      "scale(x):z", "log(x)"
    ), function(right) srvm(of(right), rounded, control = few, seed = 1)),
    lapply(list(
      srvm = quote(srvm(f, rounded, method = "mcmc", control = quick)),
      srvm = quote(srvm(f, rounded, scale = FALSE, control = few)),
      srvm = quote(srvm(g, rounded, control = few)),
      bark = quote(bark(f, rounded, control = quick)),
      kgs = quote(kgs(g, rounded, control = quick)), kbr = quote(kbr(f, rounded))
    ), eval, list(
      rounded = rounded, quick = quick, few = few, f = of("poly(x, 3) + z"),
      g = of("poly(x, 3)", "class")
    ))
  ))
  for (fit in fits) {
    values <- function(...) {
      if (inherits(fit, "kb_kgs")) {
        predict(fit, ..., type = "prob")[, 1]
      } else {
        as.matrix(predict(fit, ...))[, 1]
      }
    }
    all <- if (inherits(fit, "kb_kbr")) fitted(fit)[, 1] else values()
    for (new in same_data) {
      expect_equal(values(new), all[match(rownames(new), rownames(rounded))],
        tolerance = 1e-8, ignore_attr = TRUE, info = deparse1(formula(fit))
      )
    }
  }
})

test_that("rows that are equal up to rounding are one candidate", {
  twice <- rounded
  twice$x[21:30] <- same_data$units$x[1:10]
  expect_true(any(twice$x != rounded$x))
  fits <- lapply(list(rounded, twice), function(data) {
    quiet(srvm(y ~ x, data, control = few, seed = 1))
  })
  expect_identical(fits[[2]]$runs[[1]]$candidate_rows, 1:20)
  expect_equal(fitted(fits[[2]]), fitted(fits[[1]]))
  fits <- lapply(list(rounded, twice), function(data) {
    quiet(kgs(class ~ x, data, nugget = 0, noise = 0.1, control = quick, seed = 1))
  })
  expect_equal(fitted(fits[[2]]), fitted(fits[[1]]))
})
