# tidybayes: its tables have the draws of rstantools' generics.

skip_if_not_installed("tidybayes")
skip_if_not_installed("rstantools")

short <- mcmc_control(chains = 2, warmup = 30, iter = 40)
data <- bark_data()
fits <- suppressMessages(suppressWarnings(classes = "kb_warning", list(
  bark = bark(y ~ x1 + g, data, control = short, seed = 1),
  srvm = srvm(y ~ x1 + g, data, kernel_gaussian(1),
    control = smc_control(40), seed = 1
  ),
  logit = bark(class ~ x1 + g, data, control = short, seed = 1),
  kgs = kgs(class ~ x1 + g, data, kernel_gaussian(1),
    control = short, seed = 1
  ),
  fields = bark(g ~ x1 + x4, data, control = short, seed = 1)
)))
two <- fits[names(fits) != "fields"]
new <- data[1:3, c("x1", "x4", "g")]

#' A table of tidybayes as draws x rows
wide <- function(table, value) {
  table <- table[order(table$.row, table$.draw), ]
  matrix(table[[value]], ncol = nrow(new))
}

test_that("tables have the draws of predictions", {
  for (fit in two) {
    expect_equal(
      wide(tidybayes::epred_draws(fit, new), ".epred"),
      rstantools::posterior_epred(fit, new)
    )
    expect_equal(
      wide(tidybayes::linpred_draws(fit, new), ".linpred"),
      rstantools::posterior_linpred(fit, newdata = new)
    )
    set.seed(2)
    drawn <- rstantools::posterior_predict(fit, new)
    expect_equal(
      wide(tidybayes::predicted_draws(fit, new, seed = 2), ".prediction"),
      drawn
    )
    expect_equal(
      wide(tidybayes::epred_draws(fit, new, ndraws = 7), ".epred"),
      rstantools::posterior_epred(fit, new, ndraws = 7)
    )
    # These also pass re_formula.
    added <- tidybayes::add_epred_draws(new, fit, value = "p")
    expect_equal(wide(added, "p"), rstantools::posterior_epred(fit, new))
    added <- tidybayes::add_linpred_draws(new, fit)
    expect_equal(
      wide(added, ".linpred"),
      rstantools::posterior_linpred(fit, newdata = new)
    )
    added <- tidybayes::add_predicted_draws(new, fit, seed = 2)
    expect_equal(wide(added, ".prediction"), drawn)
  }
  expect_error(tidybayes::epred_draws(fits$bark, new, ndrws = 7),
    class = "kb_error_unknown_argument"
  )
})

test_that("random variables have the same draws", {
  for (fit in two) {
    expected <- rstantools::posterior_epred(fit, new)
    found <- tidybayes::epred_rvars(fit, new)$.epred
    expect_equal(posterior::draws_of(found), expected, ignore_attr = TRUE)
    own <- posterior::rvar(rstantools::posterior_epred(fit, new))
    expect_equal(posterior::draws_of(own), expected, ignore_attr = TRUE)
  }
})

test_that("several classes have a column of their names", {
  fit <- fits$fields
  p <- rstantools::posterior_epred(fit, new)
  for (table in list(
    tidybayes::epred_draws(fit, new),
    tidybayes::add_epred_draws(new, fit),
    stats::setNames(
      tidybayes::epred_draws(fit, new, category = "class"),
      names(tidybayes::epred_draws(fit, new))
    )
  )) {
    expect_setequal(as.character(table$.category), levels(data$g))
    for (class in levels(data$g)) {
      of_class <- table[table$.category == class, ]
      expect_equal(wide(of_class, ".epred"), p[, , class])
    }
  }
  expect_named(
    tidybayes::linpred_draws(fit, new, category = "class"),
    c(names(new), ".row", ".chain", ".iteration", ".draw", "class", ".linpred"),
    ignore.order = TRUE
  )
})

test_that("parameters are those of as_draws()", {
  for (fit in fits) {
    expect_setequal(
      tidybayes::get_variables(fit), posterior::variables(as_draws(fit))
    )
    expect_equal(
      tidybayes::tidy_draws(fit)[[tidybayes::get_variables(fit)[[1]]]],
      as_draws(fit)[[tidybayes::get_variables(fit)[[1]]]]
    )
  }
  spread <- tidybayes::spread_draws(fits$bark, sigma, lambda[column])
  draws <- posterior::as_draws_matrix(as_draws(fits$bark))
  of_first <- spread[spread$column == 1, ]
  expect_equal(of_first$lambda, as.vector(draws[, "lambda[1]"]))
  expect_equal(of_first$sigma, as.vector(draws[, "sigma"]))
  gathered <- tidybayes::gather_draws(fits$kgs, q)
  expect_equal(gathered$.value, as_draws(fits$kgs)$q)
})
