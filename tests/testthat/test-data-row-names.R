# Names of rows, from the data to results.

named <- sim_sinc(24, seed = 1)
rownames(named) <- paste0("case ", letters[1:24])
names_of <- rownames(named)
plain <- sim_sinc(24, seed = 1)

control <- mcmc_control(chains = 2, warmup = 20, iter = 20)
quiet <- function(expr) suppressWarnings(expr)

engines <- list(
  smc = function(data) {
    srvm(y ~ x, data,
      kernel = kernel_gaussian(0.3), control = smc_control(20), seed = 1
    )
  },
  batch = function(data) {
    srvm(y ~ x, data,
      kernel = kernel_gaussian(0.3), method = "mcmc", control = control,
      seed = 1
    )
  },
  bark = function(data) bark(y ~ x, data, control = control, seed = 1),
  probit = function(data) {
    data$y <- factor(data$y > 0)
    bark(y ~ x, data, control = control, seed = 1)
  },
  fields = function(data) {
    data$y <- cut(data$y, c(-Inf, 0, 0.5, Inf))
    bark(y ~ x, data, control = control, seed = 1)
  },
  kgs = function(data) {
    data$y <- factor(data$y > 0)
    kgs(y ~ x, data,
      kernel = kernel_gaussian(0.5), control = control, seed = 1
    )
  },
  kbr = function(data) kbr(y ~ x, data)
)

#' The names of the rows of a result
rows_of <- function(out) if (is.null(dim(out))) names(out) else rownames(out)

name_rows_off <- function(out) {
  if (is.null(dim(out))) {
    unname(out)
  } else {
    dimnames(out)[1] <- list(NULL)
    out
  }
}

test_that("fitted(), residuals() and predict() of every engine keep them", {
  for (engine in engines) {
    fit <- quiet(engine(named))
    other <- quiet(engine(plain))
    for (f in list(fitted, residuals)) {
      expect_identical(rows_of(f(fit)), names_of)
      expect_null(rows_of(f(other)))
      expect_equal(name_rows_off(f(fit)), f(other))
    }
    expect_identical(rows_of(predict(fit, named[3:4, ])), names_of[3:4])
    expect_null(rows_of(predict(fit, plain[3:4, ])))
    expect_equal(
      name_rows_off(predict(fit, named[3:4, ])), predict(fit, plain[3:4, ])
    )
    gap <- named[1:3, ]
    gap$x[2] <- NA
    expect_identical(rows_of(predict(fit, gap)), names_of[1:3])
  }
})

test_that("results of several columns have names of rows, draws have none", {
  fit <- quiet(engines$bark(named))
  for (type in c("response", "quantile")) {
    out <- predict(fit, named, type = type, interval = "credible")
    expect_identical(rownames(out), names_of)
  }
  expect_null(dimnames(predict(fit, named, type = "draws")))
  p <- predict(quiet(engines$fields(named)), type = "prob",
    interval = "credible"
  )
  expect_identical(dimnames(p)[[1]], names_of)
  kbr_fit <- engines$kbr(named)
  expect_identical(rownames(predict(kbr_fit, type = "quantile")), names_of)
  expect_null(dimnames(predict(kbr_fit, type = "draws", ndraws = 3))[[3]])
})

test_that("matrices have them, too, and omitted rows lose theirs", {
  x <- as.matrix(named["x"])
  y <- named$y
  x[c(2, 5)] <- NA
  fit <- quiet(bark(x, y, control = control, seed = 1, na.action = "omit"))
  expect_identical(names(fitted(fit)), names_of[-c(2, 5)])
  # Only the states may be named.
  pairs <- kbr(as.matrix(named["y"]), named$x)
  expect_identical(rownames(residuals(pairs)), names_of)
})

test_that("numbers left by reordering, or from tibbles, are not names", {
  fit <- quiet(engines$bark(plain[24:1, ]))
  expect_null(names(fitted(fit)))
  x <- as.matrix(plain[24:1, ])
  expect_identical(rownames(x), as.character(24:1))
  expect_null(names(predict(fit, x)))
  expect_null(names(predict(fit, plain[c(1, 1, 2), ])))
  skip_if_not_installed("tibble")
  fit <- quiet(engines$bark(tibble::as_tibble(named)))
  expect_null(names(fitted(fit)))
})

test_that("update() appends names as rbind() does", {
  smc <- engines$smc
  expect_identical(
    names(fitted(update(smc(named[1:20, ]), newdata = named[21:24, ]))),
    names_of
  )
  for (rows in list(list(named[1:20, ], plain[21:24, ]))) {
    fit <- update(smc(rows[[1]]), newdata = rows[[2]])
    expect_identical(names(fitted(fit)), rownames(do.call(rbind, rows)))
  }
  late <- update(smc(plain[1:20, ]), newdata = named[21:24, ])
  expect_identical(names(fitted(late)), c(1:20, names_of[21:24]))
  classes <- function(data) transform(data, y = factor(y > 0))
  fit <- quiet(update(engines$kgs(named[1:20, ]),
    newdata = classes(named)[21:24, ], iter = 20, warmup = 5
  ))
  expect_identical(names(residuals(fit)), names_of)
})

test_that("rows in another order keep their names", {
  fit <- quiet(srvm(y ~ x, named,
    kernel = kernel_gaussian(0.3), control = smc_control(20), seed = 1,
    order = "random"
  ))
  expect_identical(names(fitted(fit)), names_of)
  expect_equal(unname(residuals(fit)), named$y - unname(fitted(fit)))
})

test_that("duplicate names do no harm", {
  x <- as.matrix(named["x"])
  rownames(x)[2] <- rownames(x)[1]
  fit <- quiet(bark(x, named$y, control = control, seed = 1))
  expect_identical(names(fitted(fit)), rownames(x))
  augmented <- generics::augment(fit)
  expect_equal(augmented$.fitted, unname(fitted(fit)))
  expect_identical(rownames(augmented), make.unique(rownames(x)))
  grDevices::pdf(NULL)
  withr::defer(grDevices::dev.off())
  expect_no_error(plot(fit))
})

test_that("a fit with truncated names is damaged", {
  fit <- engines$smc(named)
  fit$mould$row_names <- fit$mould$row_names[-1]
  expect_error(fitted(fit), class = "kb_error_fit")
  # Fits from before names were kept.
  fit$mould$row_names <- NULL
  fit <- sealed(fit)
  expect_null(names(fitted(fit)))
})
