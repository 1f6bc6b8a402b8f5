# Explainers of DALEX get what our own functions compute.

skip_if_not_installed("DALEX")

predictors <- c("x1", "x2", "x4")

test_that("numbers are explained without a prediction function", {
  fit <- bark_fits()$plane
  data <- bark_data()
  explainer <- DALEX::explain(fit, data[predictors], data$y, verbose = FALSE)
  expect_identical(explainer$y_hat, unname(predict(fit, data)))
  expect_identical(explainer$model_info$type, "regression")
  expect_identical(explainer$model_info$package, "kernelbayes")
  expect_identical(
    explainer$model_info$ver,
    as.character(utils::packageVersion("kernelbayes"))
  )
  expect_equal(
    DALEX::model_performance(explainer)$measures$mse,
    mean(residuals(fit)^2)
  )
})

test_that("profiles equal our partial dependence", {
  fit <- bark_fits()$plane
  data <- bark_data()
  explainer <- DALEX::explain(fit, data[predictors], data$y, verbose = FALSE)
  at <- c(-0.5, 0, 0.4)
  profile <- DALEX::model_profile(explainer, "x1",
    N = NULL, variable_splits = list(x1 = at)
  )
  own <- vapply(at, function(value) {
    data$x1 <- value
    mean(predict(fit, data))
  }, 0)
  expect_equal(profile$agr_profiles$`_yhat_`, own)
})

test_that("of two classes the second is explained, or the requested one", {
  fit <- bark_fits()$classes
  data <- bark_data()
  y <- as.integer(data$class) - 1
  p <- predict(fit, data, type = "prob")
  explainer <- DALEX::explain(fit, data[predictors], y, verbose = FALSE)
  expect_identical(explainer$model_info$type, "classification")
  expect_equal(explainer$y_hat, unname(p[, 2]))
  first <- DALEX::explain(fit, data[predictors], 1 - y,
    predict_function_target_column = 1, verbose = FALSE
  )
  expect_equal(first$y_hat, unname(p[, 1]))
})

test_that("more classes have one column each", {
  fit <- suppressWarnings(bark(Species ~ ., iris,
    control = mcmc_control(chains = 1, warmup = 20, iter = 20), seed = 1
  ))
  explainer <- DALEX::explain(fit, iris[-5], iris$Species, verbose = FALSE)
  expect_identical(explainer$model_info$type, "multiclass")
  expect_equal(explainer$y_hat, predict(fit, iris, type = "prob"))
  loss <- DALEX::model_parts(explainer, B = 1, N = NULL)
  expect_setequal(
    setdiff(loss$variable, c("_full_model_", "_baseline_")), names(iris)[-5]
  )
})

test_that("damaged fits are refused", {
  fit <- bark_fits()$plane
  fit$runs <- list()
  fit <- sealed(fit)
  expect_error(DALEX::yhat(fit, bark_data()), class = "kb_error_fit")
  expect_error(DALEX::model_info(fit), class = "kb_error_fit")
})
