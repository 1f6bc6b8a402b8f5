# Terms of formulas that depend on other rows are refused, in every part of a
# formula and by every engine; those whose numbers R keeps are not.

rows <- local({
  set.seed(1)
  n <- 40
  data <- data.frame(
    x = stats::runif(n, 1, 9), z = stats::rnorm(n), o = stats::rnorm(n),
    s = sample(c("u", "v", "w"), n, TRUE), k = rep(1:4, 10),
    g = factor(rep(letters[1:5], 8)), day = as.Date("2024-01-01") + 2 * 1:n,
    time = stats::rexp(n), status = rep(1:2, 20)
  )
  data$class <- ifelse(data$z > 0, "b", "a")
  data$y <- data$x + data$z
  data
})

depends <- alist(
  I(x - mean(x)), rank(x), cut(x, 3), I(x / max(x)), cumsum(x),
  c(NA, diff(x)), c(0, x[-40]), order(x), rev(x), ave(x, g),
  I(scale(x)[, 1]), I(log(x) - mean(log(x))), ifelse(x > median(x), 1, 0),
  I(x > quantile(x, 0.95)), pmin(x, quantile(x, 0.95)), as.integer(factor(s)),
  as.integer(droplevels(g)), match(s, unique(s)), ecdf(x)(x), duplicated(k),
  cut(x, quantile(x)), cut(x, 3, labels = FALSE), findInterval(x, range(x)),
  poly(rank(x), 2), scale(x - mean(x) * z), I(poly(x, 2)[, 1]), factor(x > mean(x)),
  as.numeric(day - min(day)), smooth(x), table(s)[s], I(x * c(1, 2)),
  rnorm(length(x)), sample(x), jitter(x), seq_along(x), sort(day), cummax(x)
)

alone <- alist(
  log(x), I(x^2), poly(x, 2), poly(x, 12),
  splines::ns(x, 3), splines::bs(log(x), df = 5), scale(x),
  scale(x, scale = FALSE), factor(s), as.factor(k), cut(x, c(0, 3, 6, 10)),
  interaction(s, g), droplevels(g), relevel(g, "b"), as.integer(g),
  reorder(g, x), ordered(k), months(day),
  weekdays(day), as.numeric(day), I(day - as.Date("2024-01-01")), I(x > 3),
  ifelse(x > 5, "hi", "lo"), pmin(x, 5), rowSums(cbind(x, z)), outer(x, 1:3),
  model.matrix(~ g - 1), nchar(s), paste(s, g), I(1e6 + x), I(0 * x + 1),
  match(s, c("u", "v", "w")), findInterval(x, c(2, 4)), cbind(x, z)
)

mould_part <- function(formula, outcome = "any", plain = "kernels") {
  suppressWarnings(suppressMessages(
    mould_formula(stats::as.formula(formula), rows, "omit", outcome,
      plain = if (outcome != "matrix") plain
    )
  ))
}

expect_refused <- function(object, term) {
  expect_error(object, "do not depend on other rows", class = "kb_error_formula",
    info = deparse1(term)
  )
}

test_that("terms that depend on other rows are refused", {
  for (e in depends) {
    expect_refused(mould_part(bquote(y ~ .(e) + z)), e)
  }
  for (e in depends[c(1, 2, 4:6)]) {
    for (formula in list(
      bquote(y ~ kernels(z) + .(e)), bquote(y ~ kernels(.(e)) + kernels(z)),
      bquote(y ~ z + .(e):o), bquote(.(e) ~ o), bquote(y ~ z + offset(.(e))),
      bquote(y ~ kernels(z) + (0 + .(e) | g)), bquote(y ~ z + (1 | .(e)))
    )) {
      expect_refused(mould_part(formula), e)
    }
    expect_refused(mould_part(bquote(.(e) + z ~ o), "matrix"), e)
    expect_refused(mould_part(bquote(cbind(z, a = .(e)) ~ o), "matrix"), e)
  }
})

test_that("terms of one row, or that R keeps, are those of each row alone", {
  for (e in alone) {
    for (formula in list(
      bquote(y ~ .(e):z + o), bquote(y ~ kernels(z) + .(e))
    )) {
      mould <- mould_part(formula)
      all <- cbind(mould$x, mould$mixed_x)
      mould <- mould_empty(mould)
      for (i in c(7, 40)) {
        one <- mould_forge(mould, rows[i, ])$x
        expect_equal(one, all[i, , drop = FALSE],
          ignore_attr = TRUE, info = deparse1(formula)
        )
      }
    }
  }
  expect_no_error(mould_part(y ~ relevel(factor(s), "v")))
  scaled <- mould_part(scale(y) ~ x)
  expect_equal(
    mould_forge(scaled, rows[3:4, ], outcome = TRUE)$y, scaled$y[3:4]
  )
})

test_that("every engine refuses them, and says what to write", {
  quick <- mcmc_control(1, 10, 10)
  calls <- list(
    quote(bark(y ~ rank(x), rows, control = quick)),
    quote(bark(class ~ rank(x), rows, control = quick)),
    quote(bark(s ~ rank(x), rows, control = quick)),
    quote(bark(k ~ z + rank(x), rows, prior = bark_prior(gamma = 0))),
    quote(bark(y ~ rank(x) + z, rows, sigma = ~ z)),
    quote(srvm(y ~ rank(x), rows)),
    quote(srvm(y ~ z + offset(rank(x)), rows)),
    quote(srvm(y ~ rank(x), rows, kernel = list(
      kernel_gaussian(1), kernel_gaussian(2)
    ))),
    quote(kgs(class ~ rank(x), rows)), quote(kbr(y ~ rank(x), rows)),
    quote(kbr(rank(x) + y ~ z, rows)), quote(kbr(cbind(rank(x), y) ~ z, rows)),
    quote(tune_kbr(y ~ rank(x), rows)),
    quote(select_kernel(class ~ rank(x), rows))
  )
  for (call in calls) {
    error <- expect_refused(eval(call), call)
    expect_identical(error$term, "rank(x)")
    expect_match(conditionMessage(error), "data$new <- with(data, rank(x))",
      fixed = TRUE
    )
  }
})

test_that("a status of 1 and 2 is read as in fitting, whatever rows come", {
  skip_if_not_installed("survival")
  for (formula in list(
    survival::Surv(time, status) ~ x, survival::Surv(time, event = status) ~ x
  )) {
    mould <- mould_part(formula)
    expect_identical(is.infinite(mould$y[, 2]), rows$status == 1)
    for (i in 1:2) {
      new <- mould_forge(mould_empty(mould), rows[i, ], outcome = TRUE)
      expect_identical(new$y, mould$y[i, , drop = FALSE])
    }
  }
  expect_refused(mould_part(survival::Surv(rank(time), status) ~ x), "time")
})

test_that("few rows are looked at", {
  counted <- 0
  count <- function(x) {
    counted <<- counted + length(x)
    x^2
  }
  many <- data.frame(x = stats::runif(1e5))
  e <- as.call(list(count, quote(x)))
  refuse_learned(e, e, many$x^2, many)
  expect_lt(counted, 500)
})
