# Terms, model frame and model matrix of fits; bases kept for predictions.

set.seed(1)
data <- data.frame(
  v = runif(24, 1, 3), w = rep(1:3, 8), f = factor(rep(c("a", "b"), 12)),
  s = rep(c("p", "q", "r"), each = 8), b = rep(c(TRUE, FALSE, FALSE), 8)
)
data$y <- sin(data$v) + data$w / 4
data$z <- factor(data$y > median(data$y), labels = c("low", "high"))
data$m <- matrix(rnorm(48), 24, dimnames = list(NULL, c("one", "two")))

particles <- smc_control(particles = 20)
chains <- mcmc_control(chains = 2, warmup = 10, iter = 10)
quiet <- function(expr) suppressMessages(suppressWarnings(expr))
fit_srvm <- function(formula, rows = data, ...) {
  quiet(srvm(formula, rows,
    kernel = kernel_gaussian(1), control = particles, seed = 1, ...
  ))
}
engines <- list(
  srvm = function(...) fit_srvm(...),
  chains = function(...) {
    quiet(srvm(..., kernel = kernel_gaussian(1), method = "mcmc",
      control = chains, seed = 1
    ))
  },
  bark = function(...) quiet(bark(..., control = chains, seed = 1)),
  kbr = function(...) kbr(..., seed = 1)
)

test_that("transformations keep what they learned from the training rows", {
  degree <- 2
  knots <- c(1.5, 2)
  formulas <- list(
    y ~ poly(v, 3), y ~ poly(v, degree, raw = TRUE),
    y ~ splines::ns(v, 3), y ~ splines::bs(v, df = 5),
    y ~ splines::bs(v, knots = knots), y ~ scale(v) + scale(w),
    y ~ scale(m), y ~ poly(v, 2):f, y ~ splines::ns(log(v), 2) * f,
    log(y + 1) ~ cut(v, c(0, 1.5, 2, 4)) + poly(w, 2),
    y ~ factor(w) + scale(v, scale = FALSE)
  )
  rows <- c(17, 3, 4)
  for (formula in formulas) {
    m <- mould_formula(formula, data)
    for (some in list(rows, 8)) {
      forged <- mould_forge(mould_empty(m), data[some, ])
      expect_equal(forged$x, m$x[some, , drop = FALSE],
        tolerance = 1e-12, info = deparse1(formula)
      )
    }
  }
  # With several variables poly() needs more than one row.
  m <- mould_formula(y ~ poly(v, w, degree = 2), data)
  expect_equal(mould_forge(m, data[rows, ])$x, m$x[rows, ], tolerance = 1e-12)
  m <- mould_formula(scale(y) ~ v, data)
  forged <- mould_forge(m, data[rows, ], outcome = TRUE)
  expect_equal(forged$y, m$y[rows], tolerance = 1e-12)
})

test_that("a saved fit predicts with the same basis in another process", {
  skip_without_processes()
  fit <- fit_srvm(y ~ splines::ns(v, 3) + poly(w, 2) + s)
  file <- withr::local_tempfile(fileext = ".rds")
  saveRDS(fit, file)
  elsewhere <- in_process(function(file, rows) {
    library(kernelbayes)
    fit <- readRDS(file)
    list(predict(fit, rows), model.frame(fit), attr(terms(fit), "predvars"))
  }, file, data[5:7, ])
  expect_equal(elsewhere[[1]], predict(fit, data[5:7, ]))
  expect_equal(elsewhere[[2]], model.frame(fit))
  expect_identical(elsewhere[[3]], attr(terms(fit), "predvars"))
})

test_that("terms() agree with the formula, without the workspace", {
  fit <- local({
    big <- rnorm(1e5)
    degree <- 2
    fit_srvm(y ~ . - z - m - s + poly(v, degree))
  })
  terms <- terms(fit)
  expect_s3_class(terms, "terms")
  expect_identical(
    attr(terms, "term.labels"), c("v", "w", "f", "b", "poly(v, 2)")
  )
  expect_identical(attr(terms, "response"), 1L)
  expect_identical(environment(terms), globalenv())
  expect_lt(length(serialize(fit$mould, NULL)), 2e4)
  expect_match(deparse1(attr(terms, "predvars")), "coefs")
})

test_that("model.frame() agrees with base R", {
  formula <- log(y + 1) ~ v + poly(w, 2) + f + s + I(v^2) + factor(w) + m +
    scale(v):f
  expected <- stats::model.frame(
    update(formula, . ~ . + scale(v)), transform(data, s = factor(s))
  )
  for (engine in engines) {
    fit <- engine(update(formula, . ~ . + scale(v)), data)
    frame <- model.frame(fit)
    expect_identical(names(frame)[-1], names(expected)[-1])
    expect_identical(attr(frame, "terms"), terms(fit))
    for (name in names(expected)[-1]) {
      expect_equal(frame[[name]], expected[[name]],
        ignore_attr = !is.factor(expected[[name]]), info = name
      )
    }
    expect_equal(c(frame[[1]]), expected[[1]])
    x <- model.matrix(fit)
    expect_identical(nrow(x), 24L)
    expect_identical(unname(x[, "mone"]), unname(data$m[, "one"]))
    of_s <- attr(x, "assign") == match("s", labels(terms(fit)))
    expect_identical(colnames(x)[of_s], c("sp", "sq", "sr"))
  }
})

test_that("logicals are numbers, classes and weights are present", {
  fit <- quiet(bark(y ~ b + I(v > 2), data,
    weights = w, control = chains, seed = 1
  ))
  frame <- model.frame(fit)
  expect_identical(frame$b, as.double(data$b))
  expect_identical(frame[["I(v > 2)"]], as.double(data$v > 2))
  expect_identical(stats::model.weights(frame), as.double(data$w))
  fit <- quiet(kgs(z ~ v + f, data, control = chains, seed = 1))
  expect_identical(model.frame(fit)$z, data$z)
  expect_identical(colnames(model.matrix(fit)), c("v", "fa", "fb"))
  expect_identical(attr(model.matrix(fit), "assign"), c(1L, 2L, 2L))
})

test_that("responses of several columns are one matrix", {
  fit <- kbr(y + v ~ w + f, data, seed = 1)
  expect_identical(terms(fit)[[2]], quote(cbind(y = y, v = v)))
  response <- stats::model.response(model.frame(fit))
  expect_equal(unname(response), unname(cbind(data$y, data$v)))
  expect_identical(colnames(model.matrix(fit)), c("w", "fa", "fb"))
})

test_that("training rows are those used, with their names", {
  rows <- data
  rownames(rows) <- paste("row", letters[1:24])
  rows$v[[2]] <- NA
  fit <- fit_srvm(y ~ v + f, rows, na.action = "omit")
  expect_identical(rownames(model.frame(fit)), rownames(rows)[-2])
  expect_identical(rownames(model.matrix(fit)), rownames(rows)[-2])
  expect_identical(model.frame(fit)$v, rows$v[-2])
  more <- quiet(update(fit, newdata = data[1:2, ]))
  expect_identical(model.frame(more)$v, c(rows$v[-2], data$v[1:2]))
  expect_identical(nrow(model.matrix(more)), nobs(more))
})

test_that("requests for what a fit does not keep are refused", {
  fit <- fit_srvm(y ~ v:f)
  error <- expect_error(model.frame(fit), class = "kb_error_not_defined")
  expect_match(conditionMessage(error), "interactions")
  expect_identical(colnames(model.matrix(fit)), c("v:fa", "v:fb"))
  xy <- list(
    quiet(srvm(data["v"], data$y, kernel_gaussian(1), control = particles)),
    kbr(data$y, data["v"]),
    quiet(kgs(data["v"], data$z, control = chains)),
    quiet(bark(data["v"], data$y, control = chains))
  )
  for (fit in xy) {
    for (ask in list(formula, terms, model.frame)) {
      expect_error(ask(fit), "x and y", class = "kb_error_not_defined")
    }
    expect_identical(unname(model.matrix(fit)[, 1]), data$v)
    expect_error(model.matrix(fit, data = 1), class = "kb_error")
  }
})

test_that("edited terms, levels and assignments are refused", {
  fit <- fit_srvm(y ~ poly(v, 2) + f)
  spoil <- function(change) {
    spoilt <- fit
    spoilt$mould <- change(spoilt$mould)
    expect_error(predict(spoilt, data), class = "kb_error_fit")
  }
  set <- function(name, value) {
    spoil(function(mould) {
      attr(mould$terms, name) <- value
      mould
    })
  }
  set("variables", quote(list(y)))
  set("predvars", quote(list(y)))
  set("predvars", quote(c(y, v, f)))
  set("predvars", NULL)
  set("factors", matrix(7L, 3, 2))
  set("intercept", 3L)
  set("dataClasses", 1:3)
  set("class", "formula")
  for (field in c("terms", "assign")) {
    spoil(function(mould) {
      mould[[field]] <- NULL
      mould
    })
  }
  spoil(function(mould) {
    mould$assign[[1]] <- 9L
    mould
  })
  for (levels in list(1:2, c("a", "a"), c("a", NA))) {
    spoil(function(mould) {
      mould$xlevels <- list(f = levels)
      mould
    })
    spoil(function(mould) {
      mould$columns$f$levels <- levels
      mould
    })
  }
  fit <- quiet(srvm(data[c("v", "f")], data$y, kernel_gaussian(1),
    control = particles
  ))
  spoil(function(mould) {
    mould$columns$f$levels <- "a"
    mould
  })
})
