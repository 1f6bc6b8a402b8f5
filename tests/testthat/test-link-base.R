# Generics of base R, and the training rows as the data had them.

few <- mcmc_control(chains = 2, warmup = 20, iter = 30)
quick <- function(...) {
  suppressMessages(suppressWarnings(bark(..., control = few, seed = 1)))
}
set.seed(11)
rows <- data.frame(
  x = runif(40), z = rnorm(40), g = factor(rep(c("u", "v", "w", "t"), 10)),
  o = factor(rep(c("lo", "mid", "hi", "mid"), 10), c("lo", "mid", "hi"),
    ordered = TRUE
  ),
  day = as.Date("2026-01-01") + 1:40, s = rep(c("b", "a"), 20)
)
rows$y <- sin(6 * rows$x) + rows$z + rnorm(40, sd = 0.2)
rows$count <- rpois(40, 3)

mixed <- quick(y ~ kernels(x, day, o) + z + g + o + (1 | s), rows)
plain <- srvm(y ~ x + g, rows,
  control = smc_control(particles = 30), seed = 1
)
moons <- sim_moons(40, seed = 1)
labels <- suppressMessages(suppressWarnings(
  kgs(y ~ x1 + x2, moons, control = few, seed = 1)
))
fits <- list(mixed, plain, labels)

test_that("draws are those of as_draws(), in plain form", {
  for (fit in fits) {
    draws <- posterior::as_draws_matrix(as_draws(fit))
    m <- as.matrix(fit)
    expect_identical(class(m), c("matrix", "array"))
    expect_identical(colnames(m), posterior::variables(draws))
    expect_identical(unname(m), matrix(as.vector(draws), nrow(draws)))
    expect_identical(as.data.frame(fit), as.data.frame(m))
    expect_identical(posterior::ndraws(fit), nrow(m))
    expect_identical(posterior::variables(fit), colnames(m))
    expect_identical(posterior::nvariables(fit), ncol(m))
    expect_identical(
      posterior::nchains(fit) * posterior::niterations(fit), nrow(m)
    )
    expect_error(as.matrix(fit, a = 1), class = "kb_error_unknown_argument")
  }
})

test_that("confint() has the limits of tidy()", {
  for (fit in fits) {
    table <- tidy(fit, conf.level = 0.8)
    limits <- confint(fit, level = 0.8)
    expect_identical(rownames(limits), table$term)
    expect_identical(colnames(limits), c("10%", "90%"))
    expect_identical(unname(limits[, 2]), table$conf.high)
    expect_identical(confint(fit, 1, 0.8), limits[1, , drop = FALSE])
  }
  expect_error(confint(plain, "sgma"), "`parm`", class = "kb_error_argument")
})

test_that("vcov() is the covariance of the draws of linear coefficients", {
  expect_equal(vcov(mixed), cov(fixef(mixed, summary = FALSE)))
  expect_error(vcov(plain), class = "kb_error_not_defined")
})

test_that("families are R's own where it has them", {
  expect_identical(
    family(plain)[c("family", "link")],
    stats::gaussian()[c("family", "link")]
  )
  expect_identical(
    family(quick(count ~ x, rows, family = poisson()))$linkfun(2), log(2)
  )
  sizes <- family(quick(count ~ x, rows, family = "negbinomial"))
  expect_output(print(sizes), "negative binomial")
  three <- quick(g ~ x, rows[rows$g != "t", ])
  expect_identical(family(three)$link, "logit")
  # The default noise of numbers.
  expect_identical(family(mixed)$family, "Student's t")
  expect_error(family(labels), class = "kb_error_not_defined")
  # Each family that a fit can have has one.
  for (name in stored_families) {
    expect_s3_class(known_family(name), "family")
  }
})

test_that("what has no meaning says so", {
  for (fit in fits) {
    expect_error(deviance(fit), class = "kb_error_not_defined")
    expect_error(df.residual(fit), class = "kb_error_not_defined")
    expect_error(anova(fit), class = "kb_error_not_defined")
  }
})

test_that("names of columns and weights", {
  expect_identical(
    variable.names(plain), c("x", "gt", "gu", "gv", "gw")
  )
  expect_null(weights(plain))
  heavy <- quick(y ~ x, rows, weights = count + 1)
  expect_identical(weights(heavy), rows$count + 1)
})

test_that("augment() has the rows of the data", {
  out <- augment(mixed)
  same <- c("y", "x", "z", "o", "day")
  expect_equal(out[same], rows[same])
  # Groups and linear factors have the levels in the data, sorted.
  expect_identical(as.character(out$g), as.character(rows$g))
  expect_identical(as.character(out$s), rows$s)
  expect_false(anyDuplicated(names(out)) > 0)
  out <- augment(plain)
  expect_equal(out[c("y", "x")], rows[c("y", "x")])
  expect_identical(as.character(out$g), as.character(rows$g))

  # Fits to x and y
  fit <- suppressMessages(srvm(rows[c("g", "o", "day", "z")], rows$y,
    control = smc_control(particles = 20), seed = 1
  ))
  out <- augment(fit)
  expect_equal(out[c("o", "day", "z")], rows[c("o", "day", "z")])
  expect_identical(as.character(out$g), as.character(rows$g))
  expect_identical(out$.response, rows$y)

  # A variable that appears only in an interaction is not kept as such.
  fit <- srvm(y ~ x:z, rows, control = smc_control(particles = 20), seed = 1)
  expect_equal(augment(fit)[["x:z"]], rows$x * rows$z)
  expect_identical(augment(fit)$y, rows$y)

  trials <- quick(cbind(count, 10) ~ x, rows, family = binomial())
  out <- augment(trials)
  expect_identical(out$successes, as.double(rows$count))
  expect_equal(out$.resid, rows$count / (rows$count + 10) - out$.fitted)
})

test_that("intervals of parameters and errors of predictions", {
  skip_if_not_installed("rstantools")
  for (fit in list(plain, mixed)) {
    limits <- rstantools::posterior_interval(fit, prob = 0.5)
    m <- as.matrix(fit)
    expect_identical(rownames(limits), colnames(m))
    expect_equal(limits[["sigma", 2]], quantile(m[, "sigma"], 0.75)[[1]])
    one <- rstantools::posterior_interval(fit, pars = "sigma")
    expect_identical(dim(one), 1:2)
  }
  error <- rstantools::predictive_error(plain, ndraws = 7, seed = 3)
  drawn <- rstantools::posterior_predict(plain, ndraws = 7, seed = 3)
  expect_equal(error + drawn, matrix(rows$y, 7, 40, byrow = TRUE))
  error <- rstantools::predictive_error(mixed, rows[3:4, ], seed = 3)
  drawn <- rstantools::posterior_predict(mixed, rows[3:4, ], seed = 3)
  expect_equal(colMeans(error + drawn), rows$y[3:4])
  error <- rstantools::predictive_error(labels, seed = 3)
  expect_true(all(error %in% -1:1))
  expect_error(
    rstantools::predictive_error(quick(g ~ x, rows)),
    class = "kb_error_not_defined"
  )
})

test_that("augment() restores factors of any contrasts, and unused levels", {
  rows$o2 <- factor(rows$o, c("none", levels(rows$o)), ordered = TRUE)
  fit <- quick(y ~ kernels(x) + o2, rows)
  expect_identical(augment(fit)$o2, rows$o2)
  expect_named(fixef(fit), c("(Intercept)", "o2.L", "o2.Q"))
  for (coding in list(contr.sum(4), contr.helmert(4))) {
    contrasts(rows$g) <- coding
    fit <- quick(y ~ kernels(x) + g, rows)
    expect_identical(as.character(augment(fit)$g), as.character(rows$g))
    expect_identical(nrow(partial_dependence(fit, "g")), 4L)
  }
})

test_that("coefficients are there without another package, and beside lme4's", {
  skip_if_not_installed("callr")
  found <- callr::r(function(fit) {
    library(kernelbayes)
    list(fixef(fit), ranef(fit), class(VarCorr(fit)))
  }, list(mixed))
  expect_identical(found, list(
    fixef(mixed), ranef(mixed), class(VarCorr(mixed))
  ))
  # lme4 has the same generics.
  skip_if_not_installed("lme4")
  for (name in c("fixef", "ranef", "VarCorr")) {
    ours <- getExportedValue("kernelbayes", name)
    expect_identical(getExportedValue("lme4", name), ours)
    expect_identical(getExportedValue("nlme", name), ours)
  }
})
