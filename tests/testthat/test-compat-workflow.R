# Workflows of tidymodels: metrics of yardstick equal their definitions,
# computed from fits without parsnip; fitted workflows can be reduced and saved.

for (package in c(
  "parsnip", "workflows", "recipes", "rsample", "tune", "yardstick"
)) {
  skip_if_not_installed(package)
}

short <- mcmc_control(chains = 2, warmup = 30, iter = 40)

engine <- function(spec, ...) {
  parsnip::set_engine(spec, "kernelbayes", seed = 1, progress = FALSE, ...)
}

quietly <- function(expr) {
  suppressMessages(suppressWarnings(expr))
}

#' A workflow whose recipe takes out a column
flow_of <- function(formula, data, spec) {
  recipe <- recipes::step_rm(recipes::recipe(formula, data), "unused")
  workflows::workflow(recipe, spec)
}

resampled <- function(flow, folds, ...) {
  found <- quietly(tune::fit_resamples(flow, folds, ...))
  found <- tune::collect_metrics(found)
  stats::setNames(found$mean, found$.metric)
}

#' Means over the folds of scores of our own fits
own_scores <- function(folds, refit, score) {
  of_fold <- function(split) {
    fit <- quietly(refit(as.data.frame(rsample::analysis(split))))
    score(fit, as.data.frame(rsample::assessment(split)))
  }
  Reduce(`+`, lapply(folds$splits, of_fold)) / nrow(folds)
}

folds_of <- function(data) {
  withr::with_seed(1, rsample::vfold_cv(data, v = 2))
}

line <- sim_sinc(40, seed = 2)
line$unused <- rep(c(-1, 1), 20)
flowers <- iris[c(1:10, 51:60, 101:110), c(3:5)]
flowers$unused <- 1:30

fit_line <- function(data) {
  srvm(y ~ x, data, kernel_gaussian(0.3),
    control = smc_control(50), seed = 1
  )
}

test_that("errors of regression", {
  spec <- engine(srvm_spec("regression", bandwidth = 0.3, particles = 50))
  found <- resampled(flow_of(y ~ ., line, spec), folds_of(line),
    metrics = yardstick::metric_set(yardstick::rmse, yardstick::mae)
  )
  own <- own_scores(folds_of(line), fit_line, function(fit, new) {
    error <- new$y - predict(fit, new)
    c(mae = mean(abs(error)), rmse = sqrt(mean(error^2)))
  })
  expect_equal(found[names(own)], own)
})

test_that("scores of quantiles", {
  skip_if_not_installed("parsnip", "1.3.0")
  skip_if_not_installed("tune", "2.1.0")
  skip_if_not_installed("yardstick", "1.4.0")
  levels <- c(0.1, 0.5, 0.9)
  spec <- engine(srvm_spec(bandwidth = 0.3, particles = 50))
  spec <- parsnip::set_mode(spec, "quantile regression",
    quantile_levels = levels
  )
  # The metric is the default: tune 2.1.0 refuses sets of it.
  found <- resampled(flow_of(y ~ ., line, spec), folds_of(line))
  own <- own_scores(folds_of(line), fit_line, function(fit, new) {
    error <- new$y - predict(fit, new,
      type = "quantile", interval = "prediction", probs = levels
    )
    above <- error > 0
    share <- rep(levels, each = nrow(error))
    c(weighted_interval_score = mean(2 * error * (share - !above)))
  })
  expect_equal(found, own)
})

test_that("scores of classes", {
  moons <- sim_moons(40, flips = 0.1, seed = 1)
  moons$unused <- 1:40
  kernel <- kernel_gaussian(1)
  cases <- list(
    bark = list(
      engine(bark_spec("classification"), control = short), moons,
      function(data) bark(y ~ x1 + x2, data, control = short, seed = 1)
    ),
    srvm = list(
      engine(srvm_spec("classification", bandwidth = 1, particles = 50)),
      moons, function(data) {
        srvm(y ~ x1 + x2, data, kernel, control = smc_control(50), seed = 1)
      }
    ),
    kgs = list(
      engine(kgs_spec(bandwidth = 1), control = short), moons,
      function(data) kgs(y ~ x1 + x2, data, kernel, control = short, seed = 1)
    ),
    several = list(
      engine(bark_spec("classification"), control = short),
      stats::setNames(flowers, c("x1", "x2", "y", "unused")),
      function(data) bark(y ~ x1 + x2, data, control = short, seed = 1)
    )
  )
  score <- function(fit, new) {
    p <- predict(fit, new, type = "prob")
    truth <- outer(as.character(new$y), levels(new$y), "==")
    c(
      accuracy = mean(predict(fit, new, type = "class") == new$y),
      brier_class = sum((truth - p)^2) / 2 / nrow(new),
      mn_log_loss = -mean(log(p[truth]))
    )
  }
  for (case in cases) {
    folds <- folds_of(case[[2]])
    found <- resampled(flow_of(y ~ ., case[[2]], case[[1]]), folds,
      metrics = yardstick::metric_set(
        yardstick::mn_log_loss, yardstick::brier_class, yardstick::accuracy
      )
    )
    own <- own_scores(folds, case[[3]], score)
    # The order of rows differs.
    expect_equal(found[names(own)], own)
  }
})

test_that("scores of survival times", {
  # Of parsnip's weights for censored rows
  skip_if_not_installed("censored")
  skip_if_not_installed("prodlim", "2022.10.13")
  # Nothing is censored before the times of the scores: all weights are 1.
  data <- withr::with_seed(1, data.frame(
    a = stats::runif(40), unused = 1:40,
    y = survival::Surv(c(stats::rexp(30) + 0.01, rep(20, 10)),
      rep(1:0, c(30, 10)))
  ))
  times <- c(0.5, 1.5)
  spec <- engine(bark_spec("censored regression"), control = short)
  found <- quietly(tune::fit_resamples(
    flow_of(y ~ ., data, spec), folds_of(data),
    eval_time = times, metrics = yardstick::metric_set(
      yardstick::brier_survival, yardstick::concordance_survival
    )
  ))
  found <- tune::collect_metrics(found)
  own <- own_scores(folds_of(data), function(rows) {
    bark(y ~ a, rows, control = short, seed = 1)
  }, function(fit, new) {
    s <- predict(fit, new, type = "survival", times = times)
    alive <- outer(new$y[, "time"], times, ">")
    new$predicted <- predict(fit, new)
    c(
      colMeans((alive - s)^2),
      survival::concordance(y ~ predicted, new)$concordance
    )
  })
  expect_identical(found$.metric[[3]], "concordance_survival")
  expect_equal(found$mean, unname(own))
})

# Reduced and saved ------------------------------------------------------------

fitted_flows <- function() {
  quietly(list(
    parsnip::fit(flow_of(y ~ ., line, engine(
      srvm_spec("regression", bandwidth = 0.3, particles = 50)
    )), line),
    parsnip::fit(flow_of(Species ~ ., flowers, engine(
      bark_spec("classification"), control = short
    )), flowers),
    parsnip::fit(flow_of(y ~ ., line, engine(
      bark_spec("regression"), control = short, keep_data = FALSE
    )), line)
  ))
}

both <- cbind(line[1:3, ], flowers[1:3, 1:2])

test_that("butcher() changes no prediction", {
  skip_if_not_installed("butcher")
  for (flow in fitted_flows()) {
    reduced <- butcher::butcher(flow)
    expect_lt(object.size(reduced), object.size(flow))
    expect_identical(predict(reduced, both), predict(flow, both))
    fit <- parsnip::extract_fit_engine(flow)
    # It is plain data, nearly all of which predictions need.
    expect_identical(butcher::butcher(fit), fit)
  }
})

test_that("fits, bundled or saved, predict in a new process", {
  skip_if_not_installed("bundle")
  skip_if_not_installed("callr")
  flows <- fitted_flows()
  models <- lapply(flows, workflows::extract_fit_parsnip)
  file <- withr::local_tempfile(fileext = ".rds")
  saveRDS(list(
    bundles = lapply(flows, bundle::bundle), models = models
  ), file)
  found <- callr::r(function(file, new) {
    loadNamespace("workflows")
    saved <- readRDS(file)
    list(
      lapply(lapply(saved$bundles, bundle::unbundle), predict, new),
      lapply(saved$models, predict, new)
    )
  }, list(file, both))
  expect_identical(found[[1]], lapply(flows, predict, both))
  expect_identical(found[[2]], lapply(models, predict, both))
})
