# What rstantools requires of a fit besides predictions.

skip_if_not_installed("rstantools")

test_that("linear predictors are draws of f", {
  fits <- bark_fits()
  new <- bark_data()[1:3, ]
  expect_identical(
    rstantools::posterior_linpred(fits$classes, newdata = new),
    predict(fits$classes, new, type = "draws")
  )
  expect_identical(
    rstantools::posterior_linpred(fits$classes, TRUE, newdata = new),
    rstantools::posterior_epred(fits$classes, new)
  )
  expect_identical(
    dim(rstantools::posterior_linpred(fits$plane, ndraws = 7)), c(7L, 30L)
  )
})

test_that("predictive intervals are quantiles of new responses", {
  fit <- bark_fits()$plane
  new <- bark_data()[1:3, ]
  out <- rstantools::predictive_interval(fit, 0.5, newdata = new)
  expect_identical(colnames(out), c("25%", "75%"))
  expect_equal(
    unname(out),
    unname(predict(fit, new, interval = "prediction", level = 0.5)[, -1])
  )
  expect_error(
    rstantools::predictive_interval(bark_fits()$classes),
    class = "kb_error_not_defined"
  )
  expect_error(
    rstantools::predictive_interval(fit, 1),
    class = "kb_error_argument"
  )
})

test_that("R squared follows its definition", {
  fit <- bark_fits()$weighted
  f <- rstantools::posterior_epred(fit)
  explained <- apply(f, 1, var)
  sigma <- as.vector(chain_matrices(fit)$sigma)
  noise <- sigma^2 * mean(1 / bark_data()$w)
  expect_equal(rstantools::bayes_R2(fit), explained / (explained + noise))
  classes <- bark_fits()$classes
  p <- rstantools::posterior_epred(classes)
  v <- apply(p, 1, var)
  expect_equal(
    rstantools::bayes_R2(classes), v / (v + rowMeans(p * (1 - p)))
  )
  data <- sim_sinc(20, seed = 1)
  of_df <- function(df) {
    rstantools::bayes_R2(srvm(y ~ x, data,
      kernel = kernel_gaussian(0.3), prior = srvm_prior(df = df),
      control = smc_control(particles = 50), seed = 1
    ))
  }
  expect_error(of_df(2), class = "kb_error_not_defined")
  expect_true(all(of_df(3) > 0 & of_df(3) < 1))
})

test_that("priors print themselves", {
  fit <- bark_fits()$plane
  prior <- rstantools::prior_summary(fit)
  expect_s3_class(prior, "kb_prior_summary")
  expect_output(print(prior), "(type): select_different", fixed = TRUE)
  expect_output(print(prior), "number of kernels (nu): 20", fixed = TRUE)
  data <- sim_sinc(20, seed = 1)
  chain <- srvm(y ~ x, data,
    kernel = kernel_gaussian(0.3), control = smc_control(particles = 50),
    seed = 1
  )
  shown <- capture.output(print(rstantools::prior_summary(chain)))
  expect_match(shown, "noise variance \\(noise\\): ig\\(", all = FALSE)
  # Every option of the prior has a word.
  words <- grepl("\\(.+\\): ", shown)
  expect_identical(sum(!words), 4L)
  classes <- data.frame(x = data$x, c = factor(rep(c("a", "b"), 10)))
  given <- kgs_prior(ard_sd = 0.6)
  signs <- kgs(c ~ x, classes, prior = given, control = tiny_chains(), seed = 1)
  told <- rstantools::prior_summary(signs)
  expect_identical(told$prior$prior, unclass(given))
  expect_output(print(told), "\\(prior\\): nugget = 0.25, .*, ard_sd = 0.6")
  expect_error(
    rstantools::prior_summary(kbr(data$x, data$y)),
    class = "kb_error_not_defined"
  )
})

test_that("new responses of two classes need no labels", {
  data <- bark_data()
  fit <- suppressWarnings(bark(class ~ x1 + x4, data,
    control = mcmc_control(chains = 1, warmup = 30, iter = 20), seed = 1
  ))
  expect_identical(fit$settings$family, "logit")
  draws <- rstantools::posterior_predict(fit, seed = 2)
  for (new in list(data, data[c("x1", "x4")])) {
    expect_identical(rstantools::posterior_predict(fit, new, seed = 2), draws)
  }
})

test_that("models without groups take re_formula", {
  fits <- list(
    bark = bark_fits()$plane,
    srvm = srvm(y ~ x, sim_sinc(20, seed = 1),
      kernel = kernel_gaussian(0.3), control = smc_control(30), seed = 1
    ),
    kgs = suppressWarnings(kgs(class ~ x1 + x4, bark_data(), kernel_gaussian(1),
      control = mcmc_control(chains = 1, warmup = 20, iter = 20), seed = 1
    ))
  )
  for (fit in fits) {
    for (ask in list(
      rstantools::posterior_epred, rstantools::posterior_linpred,
      function(...) rstantools::posterior_predict(..., seed = 1)
    )) {
      expect_identical(ask(fit, re_formula = NA), ask(fit))
      expect_error(ask(fit, re_formula = ~1), class = "kb_error_argument")
      expect_error(ask(fit, draws = 5), "ndraws",
        class = "kb_error_unknown_argument"
      )
    }
  }
})
