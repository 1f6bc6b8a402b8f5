# Methods of bark fits.

data <- bark_data()
fits <- bark_fits()

#' Parts of the draws for computations by hand: the slots of draw i
slots_of <- function(pool, i) {
  sum(pool$m[seq_len(i - 1)]) + seq_len(pool$m[[i]])
}

test_that("items that do not fit on a line are left out whole", {
  items <- paste0("predictor", 1:4, " 0.25")
  expect_identical(
    as_many_as_fit(items, "P(included): ", 62),
    paste0("P(included): ", paste(items[1:3], collapse = ", "))
  )
  expect_identical(
    as_many_as_fit(items[1:2], "", 33), "predictor1 0.25, predictor2 0.25"
  )
  expect_identical(as_many_as_fit(items[1:2], "", 31), "predictor1 0.25")
  expect_match(as_many_as_fit(items, "", 10), "^predict\\.\\.\\.$")
})

test_that("print is short, and shows what both families have", {
  for (fit in fits) {
    out <- capture.output(value <- withVisible(print(fit)))
    expect_lte(length(out), 15)
    expect_lte(max(nchar(out)), 80)
    expect_identical(value$value, fit)
    expect_false(value$visible)
    expect_match(out, "20 kernels expected, with ", all = FALSE)
    expect_match(out, "Monte Carlo error", all = FALSE)
  }
  plane <- capture.output(print(fits$plane))
  expect_match(plane, "y ~ x1 + x2 + x4", fixed = TRUE, all = FALSE)
  expect_match(plane, "noise sd", all = FALSE)
  expect_match(plane, "P\\(effect\\): x", all = FALSE)
  classes <- capture.output(print(fits$classes))
  expect_match(classes, "probit", all = FALSE)
  expect_match(classes, "down \\(15\\), up \\(15\\)", all = FALSE)
  expect_false(any(grepl("noise sd", classes)))
  expect_match(capture.output(print(fits$factor)), "mean lambda", all = FALSE)
  expect_match(capture.output(print(fits$weighted)), "weighted", all = FALSE)
  long <- bark_quick(
    stats::setNames(data[c("x1", "x2")], strrep(c("a", "b"), 70)), data$y
  )
  expect_lte(max(nchar(capture.output(print(long)))), 80)
})

test_that("summary adds parameters, predictors and centres", {
  for (fit in fits[c("plane", "classes")]) {
    out <- summary(fit)
    expect_s3_class(out, "summary.kb_bark")
    expect_identical(out$parameters, tidy(fit))
    expect_identical(out$importance, importance(fit))
    expect_output(print(out), "Most frequent centres")
    expect_output(
      print(out), "Prior: .*, alpha 1, gamma .*, eps .*\\n.*squared discrepancy 5"
    )
  }
  expect_identical(
    summary(fits$plane, level = 0.5)$parameters, tidy(fits$plane, conf.level = 0.5)
  )
  expect_error(summary(fits$plane, level = 2), class = "kb_error_argument")
})

test_that("residuals, nobs, formula and sigma", {
  expect_equal(residuals(fits$plane), data$y - predict(fits$plane))
  expect_equal(
    residuals(fits$classes),
    (data$class == "up") - predict(fits$classes, type = "response")
  )
  for (fit in fits) expect_identical(nobs(fit), 30L)
  expect_equal(formula(fits$plane), y ~ x1 + x2 + x4, ignore_attr = TRUE)
  expect_error(formula(fits$line), class = "kb_error_not_defined")
  expect_identical(sigma(fits$classes), 1)
  expect_equal(
    sigma(fits$plane),
    sd(data$y) * mean(1 / sqrt(bark_pool(fits$plane)$noise))
  )
})

test_that("coefficients of a draw give its function", {
  expect_error(coef(fits$plane), "draw", class = "kb_error_not_defined")
  expect_error(coef(fits$plane, draw = 81), class = "kb_error_argument")
  for (fit in fits[c("plane", "classes")]) {
    scaling <- fit$settings$scaling
    x <- scaling_x(scaling, fit$data$x)
    lambda <- as.matrix(as.data.frame(as_draws(fit))[paste0(
      "lambda[", 1:3, "]"
    )])
    f <- predict(fit, type = "draws")
    for (i in c(1, 50)) {
      beta <- coef(fit, draw = i)
      rows <- as.integer(names(beta)[-1])
      k <- exp(-outer(1:30, rows, Vectorize(function(a, b) {
        sum(lambda[i, ] * (x[a, ] - x[b, ])^2)
      })))
      expect_equal(beta[[1]] + drop(k %*% beta[-1]), f[i, ], tolerance = 1e-8)
    }
  }
})

test_that("logLik is the density at the posterior mean", {
  fit <- fits$weighted
  density <- stats::dnorm(
    data$y, predict(fit), sigma(fit) / sqrt(data$w),
    log = TRUE
  )
  expect_equal(as.numeric(logLik(fit)), sum(density))
  pool <- bark_pool(fit)
  d <- colSums(matrix(pool$included, 2))
  expect_equal(attr(logLik(fit), "df"), mean(pool$m) + mean(d) + 1)
  expect_equal(
    attr(logLik(fits$line), "df"), mean(bark_pool(fits$line)$m) + 2
  )
  p <- predict(fits$classes, type = "prob")
  expect_equal(
    as.numeric(logLik(fits$classes)),
    sum(log(p[cbind(1:30, as.integer(data$class))]))
  )
})

test_that("kernels and inclusion count the draws", {
  for (fit in fits[c("plane", "classes")]) {
    pool <- bark_pool(fit)
    copies <- vapply(seq_along(pool$m), function(i) {
      sum(pool$copies[slots_of(pool, i)])
    }, 0)
    k <- model_size(fit)
    share <- function(v) as.vector(table(factor(v, k$k))) / 80
    expect_equal(k$probability, share(copies))
    expect_equal(k$centres, share(pool$m))
    expect_equal(sum(k$probability), 1)
    expect_equal(sum(k$k * k$probability), mean(as_draws(fit)$J))

    used <- inclusion(fit)
    expect_identical(used$row, 1:30)
    expect_equal(used$probability, vapply(1:30, function(row) {
      mean(vapply(seq_along(pool$m), function(i) {
        row %in% pool$location[slots_of(pool, i)]
      }, NA))
    }, 0))
  }
})

test_that("draws of parameters agree with the chains, in the user's units", {
  for (fit in fits) {
    draws <- as_draws(fit)
    expect_s3_class(draws, "draws_df")
    expect_identical(as_draws_df(fit), draws)
    expect_identical(posterior::nchains(draws), 2L)
    expect_identical(posterior::ndraws(draws), 80L)
    p <- ncol(fit$data$x)
    selects <- startsWith(fit$settings$prior$type, "select")
    expect_identical(posterior::variables(draws), c(
      "sigma", "J", "log_lik", paste0("lambda[", seq_len(p), "]"),
      if (selects) paste0("delta[", seq_len(p), "]")
    ))
    pool <- bark_pool(fit)
    i <- 45
    lambda <- exp(pool$log_lambda[(i - 1) * p + seq_len(p)])
    included <- pool$included[(i - 1) * p + seq_len(p)]
    row <- as.data.frame(draws)[i, ]
    expect_equal(
      unlist(row[paste0("lambda[", seq_len(p), "]")], use.names = FALSE),
      lambda * included
    )
    if (selects) expect_equal(row[["delta[1]"]], as.double(included[[1]]))
    expect_identical(row$.chain, 2L)
    expect_identical(row$.iteration, 5L)
  }
  expect_true(all(as_draws(fits$classes)$sigma == 1))
})

test_that("the log likelihood of a draw is in units of the response", {
  # The same chain for the response in other units: the density changes by n log
  # of the factor (a power of two, for which nothing is rounded).
  twice <- bark_quick(y ~ x1 + x2 + x4, transform(data, y = 8 * y))
  expect_equal(
    as_draws(twice)$log_lik, as_draws(fits$plane)$log_lik - 30 * log(8),
    tolerance = 1e-8
  )
  expect_equal(as_draws(twice)$sigma, 8 * as_draws(fits$plane)$sigma)
})

test_that("diagnostics cover the quantities that users look at", {
  rows <- watched_rows(data[c("x1", "x2", "x4")])
  watched <- c(
    paste0("f[", rows, "]"), paste0("log_lambda[", 1:3, "]"),
    paste0("delta[", 1:3, "]")
  )
  table <- diagnostics(fits$plane)$convergence
  expect_setequal(table$variable, c("sigma", "J", "log_lik", watched))
  expect_setequal(ess(fits$classes)$variable, c("J", "log_lik", watched))
  expect_output(print(diagnostics(fits$classes)), "accepted")
  expect_identical(
    names(timings(fits$plane)), c("sampler", "chains", "total")
  )
})

test_that("tidy, glance and augment", {
  fit <- fits$plane
  table <- tidy(fit, conf.level = 0.8)
  expect_identical(table$term, c("sigma", "J", "d"))
  draws <- as_draws(fit)
  expect_equal(table$estimate[1:2], c(mean(draws$sigma), mean(draws$J)))
  expect_equal(
    unlist(table[1, c("conf.low", "conf.high")], use.names = FALSE),
    stats::quantile(draws$sigma, c(0.1, 0.9), names = FALSE)
  )
  expect_identical(tidy(fits$class_line)$term, c("J", "d"))
  expect_identical(tidy(fits$factor)$term, c("sigma", "J"))
  one <- glance(fit)
  expect_identical(
    names(one), c("nobs", "J", "sigma", "rhat", "ess_bulk", "draws", "seconds")
  )
  expect_identical(one$draws, 80L)

  out <- augment(fit)
  bands <- predict(fit, interval = "prediction")
  expect_equal(out$.fitted, bands[, "fit"])
  expect_equal(out$.upper, bands[, "upr"])
  expect_equal(out$.resid, data$y - out$.fitted)
  same <- augment(fit, newdata = data)
  expect_equal(same$.fitted, out$.fitted)
  expect_equal(same$.resid, out$.resid)
  expect_identical(same[names(data)], data)
  new <- augment(fit, newdata = data[c("x1", "x2", "x4")])
  expect_false(".resid" %in% names(new))

  out <- augment(fits$classes, newdata = data)
  expect_equal(out$.fitted, predict(fits$classes, type = "response"))
  expect_identical(out$.class, predict(fits$classes))
  expect_equal(out$.resid, residuals(fits$classes))
  expect_error(augment(fits$classes, interval = "prediction"),
    class = "kb_error_argument"
  )
})

test_that("simulate draws responses of the model", {
  sims <- simulate(fits$plane, 3, seed = 2)
  expect_identical(dim(sims), c(30L, 3L))
  expect_identical(simulate(fits$plane, 3, seed = 2), sims)
  classes <- simulate(fits$classes, 2, seed = 2)
  expect_identical(levels(classes$sim_1), c("down", "up"))
})

# rstantools -------------------------------------------------------------------

test_that("draws of the expected and of new responses", {
  skip_if_not_installed("rstantools")
  epred <- rstantools::posterior_epred
  for (fit in fits) {
    f <- predict(fit, type = "draws")
    expect_equal(epred(fit), if (is_class_fit(fit)) stats::pnorm(f) else f)
    y <- rstantools::posterior_predict(fit, seed = 3, ndraws = 20)
    expect_identical(dim(y), c(20L, 30L))
  }
  # Null: given the draws of f, new responses are independent; their squared
  # standardised residuals sum to a chi-square with 2400 degrees of freedom
  # (gaussian, 1e-5 in each tail), and the residuals to nearly N(0, 2400) for
  # both families (|z| < 5: 6e-7).
  fit <- fits$weighted
  z <- (rstantools::posterior_predict(fit, seed = 4) - epred(fit)) /
    outer(as_draws(fit)$sigma, 1 / sqrt(data$w))
  limits <- stats::qchisq(c(1e-5, 1 - 1e-5), 2400)
  expect_gt(sum(z^2), limits[[1]])
  expect_lt(sum(z^2), limits[[2]])
  expect_lt(abs(sum(z)) / sqrt(2400), 5)
  fit <- fits$classes
  y <- rstantools::posterior_predict(fit, seed = 4)
  expect_true(all(y %in% 0:1))
  p <- epred(fit)
  expect_lt(abs(sum(y - p)) / sqrt(sum(p * (1 - p))), 5)
  # (y - p)^2 has mean p (1 - p) and variance p (1 - p) (1 - 2 p)^2: the signs
  # of f on their own would vary less.
  excess <- sum((y - p)^2 - p * (1 - p))
  expect_lt(abs(excess) / sqrt(sum(p * (1 - p) * (1 - 2 * p)^2)), 5)
})

test_that("pointwise log likelihoods", {
  skip_if_not_installed("rstantools")
  fit <- fits$weighted
  f <- predict(fit, type = "draws")
  sd <- outer(as_draws(fit)$sigma, 1 / sqrt(data$w))
  exact <- stats::dnorm(rep(data$y, each = 80), f, sd, log = TRUE)
  expect_equal(rstantools::log_lik(fit), matrix(exact, 80))
  expect_equal(
    rstantools::log_lik(fit, data, weights = data$w), matrix(exact, 80)
  )
  fit <- fits$classes
  f <- predict(fit, type = "draws")
  sign <- rep(ifelse(data$class == "up", 1, -1), each = 80)
  expect_equal(
    rstantools::log_lik(fit),
    matrix(stats::pnorm(sign * f, log.p = TRUE), 80)
  )
  # Given the coefficients, the chain's own log likelihood is their sum.
  expect_equal(
    as_draws(fit)$log_lik, rowSums(rstantools::log_lik(fit)),
    tolerance = 1e-8
  )
  holes <- transform(data, x1 = replace(x1, 2, NA))
  expect_identical(
    which(is.na(rstantools::log_lik(fit, holes)[1, ])), 2L
  )
  expect_error(rstantools::log_lik(fit, data, weights = data$w),
    class = "kb_error_argument"
  )
})
