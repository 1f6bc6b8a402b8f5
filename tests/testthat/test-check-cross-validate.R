# Cross-validation: against fits made by hand, stacking against loo, scores
# against their definitions.

line <- sim_sinc(30, seed = 1)
moons <- sim_moons(40, flips = 0.1, seed = 1)
short <- mcmc_control(chains = 2, warmup = 50, iter = 50)

quiet_fit <- function(expr) suppressWarnings(expr, classes = "kb_warning")

fits <- local({
  made <- NULL
  function() {
    if (is.null(made)) {
      line$g <- factor(rep(c("a", "b", "c"), 10))
      line$w <- rep(c(1, 4), 15)
      made <<- quiet_fit(list(
        srvm = srvm(y ~ x, line, kernel_gaussian(0.3),
          control = smc_control(50), seed = 1
        ),
        bark = bark(y ~ x + g, line, weights = w, control = short, seed = 2),
        batch = srvm(y ~ x, line, kernel_gaussian(0.3),
          method = "mcmc", control = short, seed = 3
        )
      ))
    }
    made
  }
})

test_that("scores agree with fits without the fold", {
  fold <- rep(1:3, 10)
  out <- cross_validate(fits(), fold, seed = 5)
  expect_identical(
    names(out),
    c("model", "row", "fold", "log_score", "fit", "error", "crps", "pit")
  )
  expect_identical(levels(out$model), c("srvm", "bark", "batch"))
  expect_identical(out$row, rep(1:30, 3))
  expect_identical(out$fold, rep(fold, 3))
  # A fold's fit equals that of the fit function with the fold's seed.
  seeds <- with_local_seed(5, sample.int(.Machine$integer.max, 9))
  part <- line[fold != 2, ]
  by_hand <- quiet_fit(srvm(y ~ x, part, kernel_gaussian(0.3),
    control = smc_control(50), seed = seeds[[2]]
  ))
  left <- line[fold == 2, ]
  mine <- out[out$model == "srvm" & out$fold == 2, ]
  expect_equal(mine$log_score, predict(by_hand, left, type = "log_score"))
  expect_equal(mine$fit, predict(by_hand, left))
  expect_equal(mine$error, left$y - predict(by_hand, left))
  # Weighted, with a factor.
  part$g <- factor(rep(c("a", "b", "c"), 10))[fold != 2]
  part$w <- rep(c(1, 4), 15)[fold != 2]
  left$g <- factor(rep(c("a", "b", "c"), 10))[fold == 2]
  by_hand <- quiet_fit(
    bark(y ~ x + g, part, weights = w, control = short, seed = seeds[[5]])
  )
  mine <- out[out$model == "bark" & out$fold == 2, ]
  expect_equal(mine$log_score, predict(by_hand, left,
    type = "log_score", weights = rep(c(1, 4), 15)[fold == 2]
  ))
})

test_that("the ranked score and its cumulative probabilities are as defined", {
  fit <- fits()$srvm
  x <- matrix(c(-3, 0.5, 8), dimnames = list(NULL, "x"))
  y <- c(0.2, 1, -0.3)
  scores <- score_numbers(fit, complete_x(x, y))
  pool <- srvm_pool(fit)
  moments <- posterior_moments(fit, x, pool)
  sd <- sqrt(sweep(moments$variance, 2, noise_variance(fit, pool), "+"))
  scaling <- fit$settings$scaling
  for (i in 1:3) {
    cdf <- function(v) {
      vapply(v, function(v) {
        z <- (scaling_y(scaling, v) - moments$mean[i, ]) / sd[i, ]
        sum(moments$weights[, i] * stats::pnorm(z))
      }, 0)
    }
    exact <- stats::integrate(
      function(v) cdf(v)^2, -5, y[[i]],
      rel.tol = 1e-6
    )$value + stats::integrate(
      function(v) (1 - cdf(v))^2, y[[i]], 5,
      rel.tol = 1e-6
    )$value
    expect_equal(scores$crps[[i]], exact, tolerance = 2e-4)
    expect_lt(abs(scores$pit[[i]] - cdf(y[[i]])), 5e-5)
  }
})

test_that("classes are scored by their observed labels", {
  models <- quiet_fit(list(
    kgs(y ~ x1 + x2, moons, control = short, seed = 1),
    bark(y ~ x1 + x2, moons, control = short, seed = 1),
    srvm(y ~ x1 + x2, moons, kernel_gaussian(1),
      control = smc_control(50), seed = 1
    )
  ))
  out <- cross_validate(models, 4, seed = 1)
  expect_identical(levels(out$model), paste0("model", 1:3))
  expect_identical(colnames(out$probability), levels(moons$y))
  given <- out$probability[cbind(seq_len(120), as.integer(out$response))]
  expect_equal(out$log_score, log(given), tolerance = 1e-6)
  expect_identical(out$wrong, as.integer(out$class != out$response))
  expect_equal(out$brier, 2 * (1 - given)^2)
  # Each class is spread over the folds as evenly as possible.
  counts <- table(moons$y, out$fold[1:40])
  expect_true(all(apply(counts, 1, function(v) diff(range(v))) <= 1))
})

test_that("the summary compares models on the same rows", {
  out <- cross_validate(fits(), 3, seed = 1)
  table <- summary(out)
  scores <- matrix(out$log_score, 30)
  expect_equal(table$elpd, colSums(scores))
  best <- which.max(table$elpd)
  gap <- scores - scores[, best]
  expect_equal(table$difference_se, sqrt(30) * apply(gap, 2, sd))
  expect_identical(table$difference[[best]], 0)
  expect_equal(sum(table$weight), 1)
  expect_output(print(out), "3 folds, 30 rows")
  expect_output(print(cross_validate(fits()[1], 3, seed = 1)), "elpd")
  expect_equal(as.numeric(table$rmse[[1]]), sqrt(mean(out$error[1:30]^2)))
  inside <- out$pit[1:30] >= 0.1 & out$pit[1:30] <= 0.9
  expect_equal(summary(out, level = 0.8)$coverage[[1]], mean(inside))
  long <- tidy(out, level = 0.8)
  of <- function(term) long[long$term == term, ]
  expect_identical(of("elpd")$model, table$model)
  expect_equal(of("elpd")$estimate, table$elpd)
  expect_equal(of("difference")$std.error, table$difference_se)
  expect_equal(of("coverage")$estimate[[1]], mean(inside))
  expect_true(all(is.na(of("coverage")$std.error)))
})

test_that("stacking gives the mixture with the highest score", {
  set.seed(1)
  scores <- matrix(rnorm(150), 50)
  weight <- stack_scores(scores)
  skip_if_not_installed("loo")
  expect_equal(weight, as.vector(loo::stacking_weights(scores)),
    tolerance = 1e-3
  )
  score <- function(w) sum(log(exp(scores) %*% w))
  expect_gte(score(weight), score(as.vector(loo::stacking_weights(scores))) - 1e-6)
  expect_equal(stack_scores(cbind(scores[, 1], scores[, 1] - 5)), c(1, 0))
})

test_that("a seed determines everything", {
  one <- cross_validate(fits()[1], 3, seed = 7)
  expect_identical(one, cross_validate(fits()[1], 3, seed = 7))
  set.seed(4)
  before <- .Random.seed
  cross_validate(fits()[1], 3, seed = 7)
  expect_identical(.Random.seed, before)
})

test_that("calibration is drawn", {
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  expect_silent(plot(cross_validate(fits()[1:2], 3, seed = 1)))
  fit <- quiet_fit(srvm(y ~ x1 + x2, moons, kernel_gaussian(1),
    control = smc_control(50), seed = 1
  ))
  one <- cross_validate(fit, 3, seed = 1)
  expect_silent(plot(one, main = "calibration"))
  expect_error(plot(one, "scores"), class = "kb_error_not_defined")
})

test_that("scores are drawn as differences, the best first", {
  compared <- cross_validate(fits()[1:2], 3, seed = 1)
  table <- summary(compared)
  panel <- validation_picture(compared, "scores")$panels[[1]]
  best <- which.max(table$elpd)
  expect_identical(panel$ticks, table$model[c(best, 3 - best)])
  ranges <- panel$layers[[2]]$data
  expect_equal(
    (ranges$ymin + ranges$ymax) / 2, table$difference[c(best, 3 - best)]
  )
  expect_equal(
    (ranges$ymax - ranges$ymin)[[2]], 4 * table$difference_se[[3 - best]]
  )
})

test_that("bands of calibration hold what calibrated models give", {
  at <- pit_panel(list(a = data.frame(pit = 1:100 / 101)), groups(NULL, "a"))
  band <- at$layers[[1]]$data
  expect_equal(max(band$ymax), 0.122)
  expect_equal(band$ymax[[101]], 0)
  expect_equal(band$ymin[[1]], 0)
  # 40 rows in five groups of eight.
  p <- (1:40 - 0.5) / 40
  rows <- data.frame(response = factor(rep(c("a", "b"), 20)))
  rows$probability <- cbind(1 - p, p)
  bins <- reliability_curve(rows)
  expect_equal(bins$x, c(0.1, 0.3, 0.5, 0.7, 0.9))
  expect_equal(bins$y, rep(0.5, 5))
  expect_equal(bins$ymax, stats::qbinom(0.95, 8, bins$x) / 8)
})

test_that("kfold() is in loo's form", {
  skip_if_not_installed("loo")
  folds <- rep(1:3, 10)
  a <- loo::kfold(fits()$srvm, folds = folds, seed = 1)
  b <- loo::kfold(fits()$batch, folds = folds, seed = 1)
  out <- cross_validate(fits()$srvm, folds, seed = 1)
  expect_equal(a$pointwise[, "elpd_kfold"], out$log_score)
  expect_equal(unname(a$estimates["elpd_kfold", "SE"]),
    sqrt(30) * sd(out$log_score)
  )
  compared <- loo::loo_compare(list(a = a, b = b))
  expect_identical(nrow(compared), 2L)
})

test_that("wrong arguments are refused", {
  fit <- fits()$srvm
  bad <- function(...) {
    expect_error(cross_validate(...), class = "kb_error_argument")
  }
  bad(fit, 1)
  bad(fit, 31)
  bad(fit, rep(1, 30))
  bad(fit, c(NA, rep(1:2, length.out = 29)))
  bad(list())
  bad(1)
  bad(list(fit, 2))
  other <- quiet_fit(srvm(y ~ x, line[-1, ], kernel_gaussian(0.3),
    control = smc_control(50), seed = 1
  ))
  bad(list(fit, other))
  classes <- quiet_fit(srvm(y ~ x1 + x2, moons, kernel_gaussian(1),
    control = smc_control(50), seed = 1
  ))
  bad(classes, as.integer(moons$y))
  expect_error(
    cross_validate(kbr(line$x, line$y)),
    class = "kb_error_not_defined"
  )
})

mixed_rows <- function(n = 48) {
  withr::with_seed(2, {
    data <- data.frame(
      a = stats::runif(n, -1, 1), b = stats::runif(n, -1, 1),
      z = stats::rnorm(n), g = rep(letters[1:6], length.out = n),
      o = stats::runif(n), w = rep(1:2, length.out = n)
    )
    f <- sin(3 * data$a) + data$z / 2 + rep(c(-1, 0, 1), length.out = n) + data$o
    data$y <- f + stats::rnorm(n, 0, 0.3)
    data$k <- stats::rpois(n, exp(f / 2))
    data$class <- factor(ifelse(f + stats::rnorm(n) > 0, "yes", "no"))
    data$grade <- cut(f + stats::rnorm(n), c(-Inf, 0, 1, Inf), c("A", "B", "C"),
      ordered_result = TRUE
    )
    data$kind <- factor(data$grade, ordered = FALSE)
    data$time <- exp(data$y)
    data$dead <- rep(c(1, 1, 0), length.out = n)
  })
  data
}

brief_mixed <- function(formula, data, ..., seed = 1) {
  suppressMessages(quiet_fit(bark(formula, data, ...,
    control = mcmc_control(2, 20, 20), seed = seed
  )))
}

test_that("fits with terms beside kernels are scored as fits without the fold", {
  skip_if_not_installed("survival")
  data <- mixed_rows()
  of <- function(response, family = NULL, groups = quote((1 + z | g))) {
    right <- bquote(kernels(a) + kernels(b) + z + .(groups) + offset(o))
    list(rlang::new_formula(response, right, globalenv()), family)
  }
  models <- list(
    of(quote(y)), of(quote(class)), of(quote(class), stats::binomial()),
    of(quote(grade)), of(quote(k), "poisson"),
    of(quote(cbind(k, w)), stats::binomial()),
    of(quote(survival::Surv(time, dead)), "weibull")
  )
  # Some rows of each group, and whole groups
  for (fold in list(
    rep(c(1, 2, 3, 2, 3, 1, 3, 1), 6), match(data$g, letters[1:6]) %/% 3
  )) {
    seeds <- with_local_seed(5, {
      sample.int(.Machine$integer.max, length(unique(fold)))
    })
    for (model in models) {
      fit <- brief_mixed(model[[1]], data, family = model[[2]])
      out <- cross_validate(fit, fold, seed = 5)
      # Folds are numbered as they appear.
      left <- which(fold == fold[[1]])
      by_hand <- brief_mixed(model[[1]], data[-left, ],
        family = model[[2]], seed = seeds[[1]]
      )
      expect_equal(out$log_score[left], suppressMessages(
        predict(by_hand, data[left, ], type = "log_score")
      ))
    }
  }
})

test_that("several classes, sigma and weights go with terms beside kernels", {
  data <- mixed_rows()
  fit <- brief_mixed(kind ~ kernels(a, b) + z + (1 | g), data)
  out <- cross_validate(fit, 3, seed = 1)
  expect_equal(rowSums(out$probability), rep(1, 48))
  fold <- rep(1:2, 24)
  fit <- brief_mixed(y ~ kernels(a, b) + z + (1 | g), data,
    sigma = ~a, weights = w
  )
  out <- cross_validate(fit, fold, seed = 5)
  seeds <- with_local_seed(5, sample.int(.Machine$integer.max, 2))
  by_hand <- brief_mixed(y ~ kernels(a, b) + z + (1 | g), data[fold == 2, ],
    sigma = ~a, weights = w, seed = seeds[[1]]
  )
  left <- data[fold == 1, ]
  expect_equal(out$log_score[fold == 1], suppressMessages(
    predict(by_hand, left, type = "log_score", weights = left$w)
  ))
  expect_equal(
    out$fit[fold == 1], suppressMessages(predict(by_hand, left))
  )
})

test_that("a linear term that is constant without the fold has no effect", {
  data <- transform(mixed_rows(), rare = as.numeric(seq_len(48) == 7))
  fold <- rep(1:3, 16)
  fit <- brief_mixed(y ~ kernels(a) + rare + z, data)
  out <- cross_validate(fit, fold, seed = 5)
  expect_lt(out$crps[[7]], 3)
  expect_true(all(is.finite(out$log_score)))
})

test_that("linear terms, groups and offsets may be given with x and y", {
  data <- mixed_rows()
  fold <- rep(1:2, 24)
  fit <- suppressMessages(quiet_fit(bark(data["a"], data$y,
    linear = data["z"], groups = data$g, offset = data$o,
    control = mcmc_control(2, 20, 20), seed = 1
  )))
  formula <- brief_mixed(y ~ kernels(a) + z + (1 | g) + offset(o), data)
  expect_equal(
    cross_validate(fit, fold, seed = 5)$log_score,
    cross_validate(formula, fold, seed = 5)$log_score
  )
})

test_that("every fold has its share of events", {
  skip_if_not_installed("survival")
  data <- transform(mixed_rows(), dead = rep(c(1, 0, 0, 0, 0, 0, 0, 0), 6))
  fit <- brief_mixed(survival::Surv(time, dead) ~ a, data)
  for (seed in 1:20) {
    counts <- table(check_folds(5, fit, seed), data$dead)
    expect_true(all(apply(counts, 2, function(v) diff(range(v))) <= 1))
  }
  sides <- with(data, cbind(
    ifelse(a < -0.5, NA, y), ifelse(a > 0.5, NA, y + (abs(a) < 0.2))
  ))
  limits <- brief_mixed(
    survival::Surv(l, u, type = "interval2") ~ b,
    transform(data, l = sides[, 1], u = sides[, 2]),
    family = stats::gaussian()
  )
  kind <- paste(is.na(sides[, 1]), is.na(sides[, 2]), sides[, 1] == sides[, 2])
  expect_identical(
    unname(tapply(response_kinds(limits), kind, function(v) length(unique(v)))),
    array(rep(1L, 4))
  )
  expect_identical(length(unique(response_kinds(limits))), 4L)
  counts <- table(check_folds(4, limits, 1), kind)
  expect_true(all(apply(counts, 2, function(v) diff(range(v))) <= 1))
  expect_error(cross_validate(fit, data$dead), class = "kb_error_argument")
  one <- brief_mixed(
    survival::Surv(time, one) ~ a,
    transform(data, one = rep(1:0, c(1, 47)))
  )
  expect_error(cross_validate(one, 3, seed = 1), class = "kb_error_argument")
})

test_that("numbers without censoring are the same in all families", {
  skip_if_not_installed("survival")
  data <- transform(mixed_rows(), all = 1)
  models <- list(
    number = brief_mixed(time ~ a + z, data),
    weibull = brief_mixed(survival::Surv(time, all) ~ a + z, data),
    lognormal = brief_mixed(time ~ a + z, data, family = "lognormal"),
    srvm = quiet_fit(srvm(time ~ a + z, data, kernel_gaussian(1),
      control = smc_control(50), seed = 1
    ))
  )
  out <- cross_validate(models, 3, seed = 1)
  alone <- cross_validate(models["weibull"], 3, seed = 1)
  expect_identical(out$fold[out$model == "weibull"], alone$fold)
  expect_identical(tapply(is.na(out$crps), out$model, mean),
    tapply(c(0, 1, 1, 0), factor(names(models), names(models)), mean)
  )
  expect_true(all(is.finite(summary(out)$elpd)))
  expect_output(print(out), "lognormal")
  other <- brief_mixed(survival::Surv(time, dead) ~ a + z, data)
  expect_error(cross_validate(list(models$number, other)),
    class = "kb_error_argument"
  )
})
