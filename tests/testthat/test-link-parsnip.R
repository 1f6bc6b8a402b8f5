# parsnip: the same fits and predictions as without it, and a tuned workflow.

skip_if_not_installed("parsnip")

# The installed package: parsnip looks for its functions there.
short <- mcmc_control(chains = 2, warmup = 50, iter = 50)

engine <- function(spec, ...) {
  parsnip::set_engine(spec, "kernelbayes", seed = 1, progress = FALSE, ...)
}

quietly <- function(expr) {
  suppressWarnings(expr, classes = "kb_warning")
}

line <- sim_sinc(30, seed = 1)
moons <- sim_moons(40, flips = 0.1, seed = 1)

# Intervals and quantiles of a fit of parsnip are those of the fit function
expect_intervals <- function(fit, ours, new) {
  for (type in c("conf_int", "pred_int")) {
    band <- predict(ours, new,
      interval = c(conf_int = "credible", pred_int = "prediction")[[type]],
      level = 0.8
    )
    out <- predict(fit, new, type = type, level = 0.8)
    expect_named(out, c(".pred_lower", ".pred_upper"))
    expect_equal(as.matrix(out), band[, -1], ignore_attr = TRUE)
  }
  if (utils::packageVersion("parsnip") < "1.3.0") {
    return()
  }
  levels <- c(0.1, 0.5)
  out <- predict(fit, new, type = "quantile", quantile_levels = levels)
  expect_equal(as.matrix(out$.pred_quantile),
    predict(ours, new,
      type = "quantile", interval = "prediction", probs = levels
    ),
    ignore_attr = TRUE
  )
}

test_that("regression agrees with the fit functions", {
  specs <- list(
    bark = engine(bark_spec("regression", type = "equal"), control = short),
    srvm = engine(srvm_spec("regression", bandwidth = 0.3, particles = 50))
  )
  ours <- quietly(list(
    bark = bark(y ~ x, line,
      prior = bark_prior("equal"), control = short, seed = 1
    ),
    srvm = srvm(y ~ x, line,
      kernel = kernel_gaussian(0.3), control = smc_control(50), seed = 1
    )
  ))
  new <- line[1:4, ]
  for (name in names(specs)) {
    fit <- quietly(parsnip::fit(specs[[name]], y ~ x, line))
    expect_equal(predict(fit, new)$.pred, predict(ours[[name]], new))
    expect_intervals(fit, ours[[name]], new)
  }
})

mixed <- withr::with_seed(1, data.frame(
  x = stats::runif(30), z = stats::rnorm(30), g = rep(letters[1:5], 6),
  o = rep(0:1, 15), time = stats::rexp(30), event = rep(1:0, c(24, 6)),
  `odd name` = stats::rnorm(30), check.names = FALSE
))
mixed$y <- mixed$x + mixed$o + stats::rnorm(30, 0, 0.1)

test_that("formulas reach bark() as they are", {
  formulas <- list(
    y ~ kernels(x) + z + offset(o) + (1 | g),
    if (requireNamespace("survival", quietly = TRUE)) {
      survival::Surv(time, event) ~ kernels(x) + z + (1 | g)
    }
  )
  modes <- c("regression", "censored regression")
  for (i in which(lengths(formulas) > 0)) {
    spec <- engine(bark_spec(modes[[i]]), control = short)
    fit <- quietly(parsnip::fit(spec, formulas[[i]], mixed))
    ours <- quietly(bark(formulas[[i]], mixed, control = short, seed = 1))
    new <- replace(mixed[1:3, ], "g", c("a", "b", "new"))
    expect_intervals(fit, ours, new)
    inner <- parsnip::extract_fit_engine(fit)
    expect_equal(stats::formula(inner), formulas[[i]], ignore_attr = TRUE)
    expect_identical(inner$call$data, quote(data))
    # The environment of parsnip's formula has the data.
    size <- lengths(lapply(list(inner, ours), serialize, NULL))
    expect_lt(size[[1]], size[[2]] + 500)
  }
})

test_that("formulas with groups are those of models in workflows", {
  skip_if_not_installed("workflows")
  formula <- y ~ kernels(x) + (1 | g)
  flow <- workflows::add_model(
    workflows::add_variables(workflows::workflow(), y, c(x, g)),
    engine(bark_spec("regression", alpha = 1.5), control = short),
    formula = formula
  )
  fit <- quietly(parsnip::fit(flow, mixed))
  ours <- quietly(bark(formula, mixed,
    prior = bark_prior(alpha = 1.5), control = short, seed = 1
  ))
  expect_equal(predict(fit, mixed)$.pred, predict(ours, mixed))
})

test_that("fit_xy() fits to x and y", {
  x <- mixed[c("x", "g", "odd name")]
  spec <- engine(bark_spec("regression"), control = short)
  ours <- quietly(bark(x, mixed$y, control = short, seed = 1))
  fit <- quietly(parsnip::fit_xy(spec, x, mixed$y))
  expect_equal(predict(fit, x)$.pred, predict(ours, x))
  expect_error(stats::formula(parsnip::extract_fit_engine(fit)),
    class = "kb_error_not_defined"
  )
  dot <- quietly(parsnip::fit(spec, y ~ ., cbind(x, mixed["y"])))
  expect_equal(predict(dot, x), predict(fit, x))
  m <- cbind(a = mixed$x, `a:b` = mixed$z)
  fit <- quietly(parsnip::fit_xy(spec, m, mixed["y"]))
  ours <- quietly(bark(m, mixed$y, control = short, seed = 1))
  expect_equal(predict(fit, m)$.pred, predict(ours, m))
})

test_that("formulas reach srvm() and kgs() as they are", {
  spec <- engine(srvm_spec("regression", bandwidth = 1, particles = 50))
  fit <- parsnip::fit(spec, y ~ x + offset(o), mixed)
  ours <- srvm(y ~ x + offset(o), mixed,
    kernel = kernel_gaussian(1), control = smc_control(50), seed = 1
  )
  expect_equal(predict(fit, mixed)$.pred, predict(ours, mixed))
  # A reference has the prior and the family.
  plain <- srvm(y ~ x, mixed,
    kernel = kernel_gaussian(1), control = smc_control(50), seed = 1
  )
  again <- engine(srvm_spec("regression", particles = 50), reference = plain)
  expect_equal(
    predict(parsnip::fit(again, y ~ x, mixed), mixed)$.pred,
    predict(plain, mixed)
  )
  expect_error(
    parsnip::fit(spec, y ~ x + (1 | g), mixed), class = "kb_error_formula"
  )
  expect_error(
    parsnip::fit(engine(kgs_spec()), factor(o) ~ x + (1 | g), mixed),
    class = "kb_error_formula"
  )
})

test_that("rows with missing values lose their weights", {
  w <- seq(0.5, 1.5, length.out = 30)
  data <- replace(line, "y", list(replace(line$y, 2, NA)))
  spec <- engine(bark_spec("regression"), control = short)
  expect_message(
    fit <- quietly(parsnip::fit(spec, y ~ x, data,
      case_weights = parsnip::importance_weights(w)
    )),
    "1 of 30 rows is left out"
  )
  expect_equal(parsnip::extract_fit_engine(fit)$data$weights, w[-2])
})

test_that("censored regression agrees with the fit functions", {
  skip_if_not_installed("survival")
  data <- withr::with_seed(1, data.frame(
    a = stats::runif(30), time = stats::rexp(30), event = rep(1:0, c(24, 6))
  ))
  formula <- survival::Surv(time, event) ~ a
  spec <- engine(bark_spec("censored regression"), control = short)
  fit <- quietly(parsnip::fit(spec, formula, data))
  ours <- quietly(bark(formula, data, control = short, seed = 1))
  new <- data[1:3, ]
  expect_equal(predict(fit, new, type = "time")$.pred_time, predict(ours, new))
  expect_equal(
    predict(fit, new, type = "linear_pred")$.pred_linear_pred,
    predict(ours, new, type = "link")
  )
  times <- c(1 / 3, 2)
  curves <- predict(fit, new, type = "survival", eval_time = times)$.pred
  expect_equal(
    t(vapply(curves, function(v) v$.pred_survival, times)),
    predict(ours, new, type = "survival", times = times),
    ignore_attr = TRUE
  )
  expect_identical(curves[[2]]$.eval_time, times)
  curves <- predict(fit, new,
    type = "survival", eval_time = times, interval = "confidence", level = 0.8
  )$.pred
  whole <- predict(ours, new,
    type = "survival", times = times, interval = "credible", level = 0.8
  )
  expect_equal(as.matrix(curves[[3]][-1]), whole[3, , ], ignore_attr = TRUE)
  expect_intervals(fit, ours, new)
  # parsnip weights censored rows with prodlim.
  skip_if_not_installed("prodlim", "2022.10.13")
  augmented <- generics::augment(fit, new, eval_time = times)
  expect_true(".pred_time" %in% names(augmented))
})

test_that("classification agrees with the fit functions", {
  specs <- list(
    bark = engine(bark_spec("classification"), control = short),
    srvm = engine(srvm_spec("classification",
      bandwidth = 1, particles = 50
    )),
    kgs = engine(kgs_spec(bandwidth = 1), control = short)
  )
  ours <- quietly(list(
    bark = bark(y ~ ., moons, control = short, seed = 1),
    srvm = srvm(y ~ ., moons,
      kernel = kernel_gaussian(1), control = smc_control(50), seed = 1
    ),
    kgs = kgs(y ~ ., moons,
      kernel = kernel_gaussian(1), control = short, seed = 1
    )
  ))
  new <- moons[1:4, ]
  for (name in names(specs)) {
    fit <- quietly(parsnip::fit(specs[[name]], y ~ ., moons))
    expect_identical(
      predict(fit, new)$.pred_class, predict(ours[[name]], new)
    )
    p <- predict(fit, new, type = "prob")
    expect_named(p, paste0(".pred_", levels(moons$y)))
    expect_equal(
      unname(as.matrix(p)), unname(predict(ours[[name]], new, type = "prob")),
      ignore_attr = TRUE
    )
  }
  band <- quietly(predict(
    parsnip::fit(specs$bark, y ~ ., moons), new,
    type = "conf_int", level = 0.9
  ))
  expect_named(band, paste0(
    ".pred_", c("lower", "upper"), "_", rep(levels(moons$y), each = 2)
  ))
  whole <- predict(ours$bark, new, type = "prob", interval = "credible")
  expect_equal(band[[3]], unname(whole[, 2, "lwr"]))
  expect_equal(band[[4]], unname(whole[, 2, "upr"]))
})

test_that("no main argument is hidden by a setting of the engine", {
  refused <- function(train, argument, ...) {
    expect_error(train(y ~ x, line, ...),
      class = "kb_error_argument", regexp = paste0(argument, ".*no effect")
    )
  }
  refused(bark_train, "iter", iter = 10, control = short)
  refused(bark_train, "alpha", alpha = 1, prior = bark_prior())
  refused(srvm_train, "lambda", lambda = 3, prior = srvm_prior())
  refused(kgs_train, "bandwidth", bandwidth = 1, kernel = kernel_gaussian(1))
})

test_that("case weights reach kgs()", {
  w <- rep(1:2, 15)
  data <- transform(line, class = factor(y > 0.2))
  ours <- quietly(kgs(class ~ x, data, weights = w, control = short, seed = 1))
  fit <- quietly(parsnip::fit(engine(kgs_spec(), control = short), class ~ x,
    data,
    case_weights = parsnip::frequency_weights(w)
  ))
  fit <- parsnip::extract_fit_engine(fit)
  expect_identical(fit$data$weights, as.double(w))
  expect_identical(fit$settings$nugget, "learn")
  expect_equal(predict(fit, data["x"], type = "prob"), predict(ours, data,
    type = "prob"
  ))
})

test_that("case weights reach bark()", {
  w <- rep(1:2, 15)
  data <- withr::with_seed(1, transform(line,
    k = stats::rpois(30, 2), class = factor(y > 0.2), time = stats::rexp(30),
    event = rep(1:0, c(24, 6))
  ))
  survival <- requireNamespace("survival", quietly = TRUE)
  models <- list(
    list("regression", y ~ x, NULL), list("regression", k ~ x, "poisson"),
    list("classification", class ~ x, NULL),
    if (survival) {
      list("censored regression", survival::Surv(time, event) ~ x, NULL)
    }
  )
  for (model in Filter(length, models)) {
    spec <- engine(bark_spec(model[[1]]), control = short)
    if (!is.null(model[[3]])) {
      spec <- engine(bark_spec(model[[1]]), control = short, family = model[[3]])
    }
    ours <- quietly(bark(model[[2]], data,
      family = model[[3]], weights = w, control = short, seed = 1
    ))
    for (weights in list(
      parsnip::importance_weights(w), parsnip::frequency_weights(w)
    )) {
      fit <- quietly(parsnip::fit(spec, model[[2]], data,
        case_weights = weights
      ))
      fit <- parsnip::extract_fit_engine(fit)
      repeated <- inherits(weights, "hardhat_frequency_weights") &&
        identical(model[[2]], y ~ x)
      if (repeated) {
        ours <- quietly(
          bark(y ~ x, data[rep(1:30, w), ], control = short, seed = 1)
        )
      }
      expect_identical(fit$data$weights, if (!repeated) as.double(w))
      expect_equal(predict(fit, data["x"]), predict(ours, data))
    }
  }
  spec <- engine(bark_spec("classification"),
    control = short, family = stats::binomial("probit")
  )
  expect_error(
    parsnip::fit(spec, class ~ x, data,
      case_weights = parsnip::importance_weights(w)
    ),
    class = "kb_error_argument"
  )
})

test_that("a specification can be changed", {
  spec <- update(srvm_spec("regression", bandwidth = 1), bandwidth = 2)
  expect_identical(rlang::eval_tidy(spec$args$bandwidth), 2)
  expect_error(parsnip::set_mode(kgs_spec(), "regression"))
})

test_that("a workflow with a recipe is resampled and tuned", {
  for (package in c("workflows", "recipes", "rsample", "tune")) {
    skip_if_not_installed(package)
  }
  data <- sim_sinc(60, seed = 2)
  # Too many columns for the kernel, unless the recipe removes one.
  data$z <- rep(c(-1, 1), 30)
  recipe <- recipes::step_rm(recipes::recipe(y ~ ., data), "z")
  spec <- engine(srvm_spec("regression",
    bandwidth = parsnip::tune(), particles = 50
  ))
  flow <- workflows::workflow(recipe, spec)
  set.seed(1)
  folds <- rsample::vfold_cv(data, 3)
  out <- quietly(tune::tune_grid(flow, folds,
    grid = data.frame(bandwidth = c(0.01, 0.3, 30))
  ))
  best <- tune::select_best(out, metric = "rmse")
  expect_identical(best$bandwidth, 0.3)
  fit <- quietly(parsnip::fit(tune::finalize_workflow(flow, best), data))
  ours <- quietly(srvm(y ~ x, data,
    kernel = kernel_gaussian(0.3), control = smc_control(50), seed = 1
  ))
  expect_equal(predict(fit, data)$.pred, predict(ours, data))
})

test_that("tuned arguments have ranges", {
  skip_if_not_installed("dials")
  specs <- list(
    bark = bark_spec("regression",
      type = parsnip::tune(), alpha = parsnip::tune(), eps = parsnip::tune(),
      gamma = parsnip::tune(), iter = parsnip::tune()
    ),
    srvm = srvm_spec("regression",
      bandwidth = parsnip::tune(), lambda = parsnip::tune(),
      particles = parsnip::tune()
    ),
    kgs = kgs_spec(
      bandwidth = parsnip::tune(), bias = parsnip::tune(),
      nugget = parsnip::tune(), iter = parsnip::tune()
    )
  )
  for (spec in specs) {
    set <- parsnip::extract_parameter_set_dials(engine(spec))
    expect_identical(set$name, names(spec$args))
    for (param in set$object) expect_s3_class(param, "param")
    grid <- dials::grid_random(set, size = 20)
    expect_identical(sort(names(grid)), sort(names(spec$args)))
    expect_false(anyNA(grid))
  }
  # Values are in their own units, and the prior accepts the ranges.
  grid <- dials::grid_regular(param_bandwidth(), levels = 3)
  expect_equal(grid$bandwidth, c(0.1, 1, 10))
  corners <- expand.grid(
    alpha = c(0.5, 1.5), gamma = 10^c(0, 1.5), eps = c(0.2, 1)
  )
  nu <- apply(corners, 1, function(v) {
    levy_size(v[["alpha"]], v[["gamma"]], v[["eps"]])$nu
  })
  expect_true(all(nu > 0.5 & nu < 190))
  expect_setequal(param_type()$values, bark_types)
})

test_that("a grid is made of the ranges if none is given", {
  for (package in c("dials", "workflows", "rsample", "tune")) {
    skip_if_not_installed(package)
  }
  flow <- workflows::workflow(
    y ~ x, engine(srvm_spec("regression",
      bandwidth = parsnip::tune(), particles = 50
    ))
  )
  set.seed(2)
  folds <- rsample::vfold_cv(line, v = 2)
  out <- quietly(tune::tune_grid(flow, folds, grid = 3))
  tried <- tune::collect_metrics(out)$bandwidth
  expect_identical(length(unique(tried)), 3L)
  expect_true(all(tried >= 0.1 & tried <= 10))
})

test_that("quantiles are those of new responses", {
  skip_if_not_installed("parsnip", "1.3.0")
  levels <- c(0.1, 0.5, 0.9)
  spec <- parsnip::set_engine(srvm_spec(), "kernelbayes", seed = 1)
  by_mode <- parsnip::set_mode(spec, "quantile regression",
    quantile_levels = levels
  )
  fit <- parsnip::fit(by_mode, y ~ x, line)
  wanted <- predict(parsnip::extract_fit_engine(fit), line[1:4, "x", drop = FALSE],
    type = "quantile", interval = "prediction", probs = levels
  )
  found <- predict(fit, line[1:4, ])
  expect_named(found, ".pred_quantile")
  expect_equal(as.matrix(found$.pred_quantile), wanted, ignore_attr = TRUE)
  usual <- parsnip::fit(parsnip::set_mode(spec, "regression"), y ~ x, line)
  again <- predict(usual, line[1:4, ],
    type = "quantile", quantile_levels = levels
  )
  expect_equal(again, found)
})

test_that("unknown modes and engines are errors of the package", {
  for (f in list(bark_spec, srvm_spec, kgs_spec)) {
    expect_error(f(mode = "a"), "mode", class = "kb_error_argument")
    expect_error(f(engine = "a"), "ngine", class = "kb_error_argument")
  }
})
