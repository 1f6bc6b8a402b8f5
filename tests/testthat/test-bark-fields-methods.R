# Fits of bark() to more than two classes, as seen by users.

species <- local({
  fits <- NULL
  function() {
    if (is.null(fits)) {
      rows <- c(1:14, 51:64, 101:114)
      flowers <- iris[rows, ]
      flowers$site <- factor(rep(c("a", "b", "c"), 14))
      fits <<- list(
        data = flowers,
        plane = bark_quick(
          Species ~ Sepal.Length + Petal.Width + site, flowers
        ),
        line = bark_quick(flowers["Petal.Width"], flowers$Species,
          prior = bark_prior_paper("different")
        ),
        two = bark_quick(flowers[15:42, c(1, 4)], droplevels(
          flowers$Species[15:42]
        ), family = "multinomial")
      )
    }
    fits
  }
})

levels3 <- c("setosa", "versicolor", "virginica")

test_that("classes choose the family", {
  fits <- species()
  for (fit in fits[-1]) {
    expect_s3_class(fit, c("kb_bark_multinomial", "kb_bark", "kb_mcmc"))
    expect_identical(fit$settings$family, "multinomial")
  }
  data <- fits$data
  settings <- mcmc_control(1, 5, 5)
  half <- data[15:42, ]
  half$Species <- droplevels(half$Species)
  family_of_fit <- function(...) {
    bark(Species ~ Petal.Width, ..., seed = 1)$settings$family
  }
  expect_identical(family_of_fit(half, control = settings), "logit")
  expect_identical(family_of_fit(data, control = settings), "multinomial_logit")
  # What only latent responses have asks for them.
  tempered <- mcmc_control(1, 5, 5, n_temps = 2)
  expect_identical(family_of_fit(half, control = tempered), "probit")
  expect_identical(family_of_fit(data, control = tempered), "multinomial")
  for (prior in list(
    bark_prior_paper(), bark_prior_paper(own_scales = TRUE),
    bark_prior(directions = 1), bark_prior(approximation = "truncation")
  )) {
    expect_identical(family_of_fit(half, control = settings, prior = prior), "probit")
  }
  expect_error(
    bark(Species ~ Petal.Width, data[1:10, ], family = "multinomial"),
    "at least two classes",
    class = "kb_error_outcome"
  )
  expect_error(bark(Species ~ Petal.Width, data[1:10, ]),
    class = "kb_error_outcome"
  )
  expect_error(
    bark(Species ~ Petal.Width, data, family = stats::binomial("probit")),
    "two classes",
    class = "kb_error_outcome"
  )
  expect_error(
    bark(Sepal.Length ~ Petal.Width, data, family = "multinomial"),
    class = "kb_error_outcome"
  )
  expect_error(
    bark(Species ~ Petal.Width, data, weights = rep(1, 42), family = "multinomial"),
    class = "kb_error_argument"
  )
  expect_error(
    bark(Species ~ Petal.Width, data, prior = bark_prior_paper(noise = noise_gamma(
      1, 1
    ))),
    class = "kb_error"
  )
})

test_that("levels without rows are left out with a warning", {
  data <- species()$data
  data$Species <- factor(data$Species, c("setosa", "none", levels3[-1]))
  settings <- mcmc_control(1, 5, 5)
  expect_warning(
    fit <- bark(Species ~ Petal.Width, data, control = settings, seed = 1),
    "none",
    class = "kb_warning_empty_level"
  )
  expect_warning(
    other <- bark(data["Petal.Width"], data$Species,
      control = settings, seed = 1
    ),
    class = "kb_warning_empty_level"
  )
  expect_identical(colnames(predict(fit, type = "prob")), levels3)
  expect_identical(predict(other, type = "prob"), predict(fit, type = "prob"))
})

test_that("the order of the levels only names the classes", {
  # The prior treats classes alike: another order acts like another seed. Null:
  # t score of 8 + 8 chains' mean log scores, |t| > 8.
  data <- species()$data
  turned <- data
  turned$Species <- factor(turned$Species, rev(levels3))
  scores <- vapply(list(data, turned), function(d) {
    vapply(1:8, function(seed) {
      fit <- bark(Species ~ Sepal.Length, d,
        control = mcmc_control(1, 50, 60), seed = seed
      )
      sum(predict(fit, type = "log_score"))
    }, 0)
  }, numeric(8))
  error <- sqrt(sum(apply(scores, 2, stats::var)) / 8)
  expect_lt(abs(diff(colMeans(scores))) / error, 8)
})

test_that("predictions have their shapes and agree with each other", {
  fits <- species()
  new <- rbind(fits$data[c(1, 20, 40), ], NA)
  for (name in c("plane", "line")) {
    fit <- fits[[name]]
    at <- if (name == "line") new["Petal.Width"] else new
    p <- predict(fit, at, type = "prob")
    expect_identical(dim(p), c(4L, 3L))
    expect_identical(colnames(p), levels3)
    expect_true(all(is.na(p[4, ])))
    expect_equal(rowSums(p[1:3, ]), c(1, 1, 1))
    class <- predict(fit, at)
    expect_identical(levels(class), levels3)
    expect_identical(as.integer(class), c(max.col(p[1:3, ]), NA))
    bands <- predict(fit, at, type = "prob", interval = "credible")
    expect_identical(
      dimnames(bands), list(NULL, levels3, c("fit", "lwr", "upr"))
    )
    expect_equal(bands[, , "fit"], p)
    expect_true(all(bands[1:3, , "lwr"] <= bands[1:3, , "upr"]))
    f <- predict(fit, at, type = "draws")
    expect_identical(dim(f), c(80L, 4L, 3L))
    expect_identical(dim(predict(fit, at, type = "draws", ndraws = 7)),
      c(7L, 4L, 3L)
    )
    link <- predict(fit, at, type = "link", interval = "credible")
    expect_identical(dim(link), c(4L, 3L, 3L))
    expect_equal(predict(fit, at, type = "link"), link[, , "fit"])
    one <- predict(fit, at[2, , drop = FALSE], type = "link",
      interval = "credible"
    )
    expect_equal(one[1, , ], link[2, , ])
    # Probabilities given the draws, with mean p over coefficients.
    some <- lapply(1:3, function(k) t(f[, 1:3, k]))
    given <- bark_class_probability_cpp(some, list(), FALSE)
    expect_lt(max(abs(apply(given, c(1, 3), mean) - p[1:3, ])), 0.2)
    expect_equal(
      bands[1:3, , "lwr"],
      apply(given, c(1, 3), stats::quantile, 0.05, names = FALSE),
      ignore_attr = TRUE
    )
  }
  expect_identical(fitted(fits$plane), predict(fits$plane))
  expect_equal(
    exp(predict(fits$plane, new[1:3, ], type = "log_score")),
    predict(fits$plane, new, type = "prob")[cbind(1:3, 1:3)],
    tolerance = 1e-6
  )
  expect_equal(
    predict(fits$line, new["Petal.Width"],
      type = "log_score", newy = new$Species
    )[1:3],
    log(predict(fits$line, new["Petal.Width"], type = "prob")[cbind(1:3, 1:3)]),
    tolerance = 1e-6
  )
})

test_that("a mean over coefficients equals one over many draws of them", {
  # Redraws the coefficients of a draw from its factor, 4000 times; null: normal
  # score of the probabilities of classes that are not negligible, whose means
  # are not made by a few draws; |z| > 6.
  fit <- species()$line
  at <- matrix(1.65)
  pool <- posterior_pool(fit)
  values <- fields_values(fit, at, pool, "moments", 40L)
  p <- bark_class_probability_cpp(values$mean, values$variance, TRUE)
  f <- withr::with_seed(1, Map(function(m, v) {
    matrix(stats::rnorm(4000, m, sqrt(v)), 1)
  }, values$mean, values$variance))
  given <- bark_class_probability_cpp(f, list(), FALSE)[1, , ]
  z <- (colMeans(given) - p) / apply(given, 2, stats::sd) * sqrt(4000)
  used <- p > 1e-3
  expect_gte(sum(used), 2)
  expect_lt(max(abs(z[used])), 6)
})

test_that("arguments that a type would ignore are refused", {
  fit <- species()$plane
  refused <- function(...) {
    expect_error(predict(fit, ...), class = "kb_error_argument")
  }
  refused(type = "response")
  refused(type = "quantile")
  refused(type = "class", interval = "credible")
  refused(type = "prob", interval = "prediction")
  refused(type = "prob", level = 0.5)
  refused(type = "prob", probs = 0.5)
  refused(type = "link", weights = 1)
  refused(type = "link", ndraws = 3)
  refused(type = "draws", newy = 1)
  expect_error(predict(fit, reject = 0.1), class = "kb_error")
})

test_that("two classes by two fields are a probit model of their difference", {
  fit <- species()$two
  p <- predict(fit, type = "prob")
  expect_identical(dim(p), c(28L, 2L))
  pool <- posterior_pool(fit)
  at <- fields_values(fit, fit$data$x, pool, "moments")
  exact <- rowMeans(stats::pnorm(
    (at$mean[[2]] - at$mean[[1]]) /
      sqrt(2 + at$variance[[1]] + at$variance[[2]])
  ))
  expect_lt(max(abs(p[, 2] - exact)), 1e-6)
  expect_equal(residuals(fit), rep(0:1, each = 14) - p[, 2],
    ignore_attr = TRUE
  )
})

test_that("printing and summaries report every class", {
  fits <- species()
  printed <- utils::capture.output(print(fits$plane))
  expect_lte(length(printed), 15)
  expect_true(all(nchar(printed) <= 80))
  expect_match(printed[[1]], "multinomial probit")
  expect_match(printed, "setosa (14), versicolor (14)",
    fixed = TRUE, all = FALSE
  )
  out <- summary(fits$plane)
  expect_s3_class(out, "summary.kb_bark")
  expect_output(print(out), "J[setosa]", fixed = TRUE)
  expect_identical(sigma(fits$plane), 1)
  draws <- posterior::as_draws_df(fits$plane)
  names <- posterior::variables(draws)
  expect_true(all(c(
    "sigma", "J", "J[setosa]", "log_lik", "lambda[virginica,5]",
    "delta[setosa,1]"
  ) %in% names))
  each <- as.data.frame(draws)[paste0("J[", levels3, "]")]
  expect_equal(draws$J, rowSums(each))
  expect_identical(posterior::nchains(draws), 2L)
  expect_identical(
    tidy(fits$plane)$term, c(
      "J", paste0("J[", levels3, "]"), paste0("d[", levels3, "]")
    )
  )
  expect_identical(nrow(glance(fits$plane)), 1L)
  expect_false(anyNA(glance(fits$plane)))
  expect_equal(as.double(logLik(fits$line)),
    sum(predict(fits$line, type = "log_score"))
  )
  expect_identical(attr(logLik(fits$line), "nobs"), 42L)
})

test_that("importance is for a class or the largest over the fields", {
  fit <- species()$plane
  all <- importance(fit, by = "column")
  each <- lapply(levels3, function(class) {
    importance(fit, class = class, by = "column")
  })
  expect_identical(all$variable, fit$mould$x_names)
  for (one in each) {
    expect_true(all(all$mean >= one$mean & all$inclusion >= one$inclusion))
  }
  expect_equal(
    each[[2]]$mean,
    unname(colMeans(bark_scales(fit, field_pools(fit)$versicolor)))
  )
  expect_output(print(all), "Petal.Width")
  expect_error(importance(fit, class = "rose"), class = "kb_error_argument")
})

test_that("accessors count the kernels of all fields", {
  fit <- species()$plane
  k <- model_size(fit)
  expect_equal(sum(k$probability), 1)
  expect_equal(sum(k$centres), 1)
  expect_equal(sum(k$k * k$probability), mean(chain_matrices(fit)$J))
  used <- inclusion(fit)
  each <- vapply(field_pools(fit), function(pool) {
    bark_location_probability(fit, c(pool, weights = 1))[-1]
  }, numeric(42))
  expect_true(all(used$probability >= apply(each, 1, max) - 1e-12))
  expect_true(all(used$probability <= pmin(rowSums(each), 1) + 1e-12))
  expect_error(coef(fit), class = "kb_error_not_defined")
  expect_identical(names(coef(fit, draw = 3)), levels3)
  # f of a draw from its coefficients and scales.
  beta <- coef(fit, draw = 3)$versicolor
  x <- scaling_x(fit$settings$scaling, fit$data$x)
  lambda <- bark_scales(fit, field_pools(fit)$versicolor)[3, ]
  f <- beta[["(Intercept)"]] + 0 * x[, 1]
  for (row in names(beta)[-1]) {
    at <- x[as.integer(row), ]
    f <- f + beta[[row]] * exp(-colSums(lambda * (t(x) - at)^2))
  }
  expect_equal(predict(fit, type = "draws")[3, , 2], f, ignore_attr = TRUE)
})

test_that("new classes are drawn with their probabilities", {
  skip_if_not_installed("rstantools")
  fit <- species()$plane
  new <- species()$data[c(1, 20, 40), ]
  p <- rstantools::posterior_epred(fit, new)
  expect_identical(dim(p), c(80L, 3L, 3L))
  expect_identical(dimnames(p)[[3]], levels3)
  expect_equal(apply(p, 1:2, sum), matrix(1, 80, 3), ignore_attr = TRUE)
  y <- rstantools::posterior_predict(fit, new, seed = 1)
  expect_true(all(y %in% 1:3))
  # Null: a sum of 720 indicators minus their probabilities, |z| > 6.
  z <- vapply(1:3, function(k) {
    sum((y == k) - p[, , k]) / sqrt(sum(p[, , k] * (1 - p[, , k])))
  }, 0)
  expect_lt(max(abs(z)), 6)
  log_p <- rstantools::log_lik(fit, new)
  expect_equal(exp(log_p), vapply(1:3, function(i) p[, i, i], numeric(80)),
    tolerance = 1e-6, ignore_attr = TRUE
  )
  # log_lik of as_draws() is for all rows.
  expect_equal(
    rowSums(rstantools::log_lik(fit)), as.vector(chain_matrices(fit)$log_lik),
    tolerance = 1e-6
  )
  sets <- simulate(fit, 4, seed = 2)
  expect_identical(names(sets), paste0("sim_", 1:4))
  expect_identical(levels(sets$sim_1), levels3)
  expect_identical(sets, simulate(fit, 4, seed = 2))
  two <- rstantools::posterior_predict(species()$two, ndraws = 5, seed = 1)
  expect_true(all(two %in% 0:1))
  expect_identical(dim(rstantools::posterior_epred(species()$two)), c(80L, 28L))
})

test_that("augment() adds classes and probabilities", {
  fit <- species()$plane
  out <- augment(fit, newdata = species()$data[c(1, 20, 40), ])
  expect_true(all(c(
    ".class", paste0(".prob_", levels3), ".resid"
  ) %in% names(out)))
  p <- as.matrix(out[paste0(".prob_", levels3)])
  expect_equal(out$.resid, 1 - p[cbind(1:3, 1:3)])
  expect_identical(nrow(augment(fit)), 42L)
})

test_that("a run continues unchanged: update, files, checkpoints", {
  data <- species()$data
  fit <- function(iter, ...) {
    bark(Species ~ Petal.Width, data,
      control = mcmc_control(2, 10, iter, thin = 2, n_temps = 2, ...), seed = 4
    )
  }
  same <- function(fit) {
    lapply(fit$runs, function(run) run[setdiff(names(run), "seconds")])
  }
  whole <- suppressWarnings(fit(30))
  part <- suppressWarnings(fit(11))
  file <- withr::local_tempfile()
  saveRDS(part, file)
  later <- suppressWarnings(update(readRDS(file), iter = 19))
  expect_identical(same(later), same(whole))
  expect_identical(predict(later, type = "prob"), predict(whole, type = "prob"))
  checkpoint <- withr::local_tempfile()
  suppressWarnings(fit(11, checkpoint = checkpoint))
  again <- suppressWarnings(update(readRDS(checkpoint), iter = 19))
  expect_identical(same(again), same(whole))
  # Chains are cut to the shortest.
  cut <- head_draws(whole, whole$runs[[1]], 4)$draws
  for (k in 1:3) {
    all <- whole$runs[[1]]$draws$fields[[k]]
    expect_identical(cut$fields[[k]]$beta, all$beta[seq_len(sum(all$m[1:4]))])
  }
  single <- suppressWarnings(bark(Species ~ Petal.Width, data,
    control = mcmc_control(1, 20, 40, sweep = "single"), seed = 4
  ))
  expect_equal(rowSums(predict(single, type = "prob")), rep(1, 42))
})

test_that("evidence is for classes", {
  fit <- species()$line
  out <- evidence(fit,
    n_temps = 4, warmup = 10, iter = 40, chains = 2, seed = 1
  )
  expect_identical(nrow(out$path), 4L)
  expect_equal(out$log_evidence,
    sum(out$path$log_ratio) - 42 * log(3)
  )
  # A predictor separates the classes.
  expect_gt(out$log_evidence, -42 * log(3))
  prior <- bark_quick(species()$data["Petal.Width"], species()$data$Species,
    prior_only = TRUE
  )
  expect_error(evidence(prior), class = "kb_error_not_defined")
  expect_output(print(prior), "PRIOR ONLY")
})

test_that("partial dependence is a mean over rows of predictions", {
  fits <- species()
  grid <- c(0.5, 1.5)
  out <- partial_dependence(fits$plane, "Petal.Width", grid, ndraws = 20)
  expect_identical(names(out), c(
    "Petal.Width", "class", "mean", "lower", "upper"
  ))
  at <- fits$data
  at$Petal.Width <- 1.5
  pool <- posterior_pool(fits$plane)
  f <- predict(fits$plane, at, type = "draws", ndraws = 20)
  each <- lapply(1:3, function(k) t(f[, , k]))
  p <- bark_class_probability_cpp(each, list(), FALSE)
  expect_equal(out$mean[c(2, 4, 6)], apply(p, 3, mean))
  link <- partial_dependence(fits$plane, "Petal.Width", grid, type = "link")
  expect_equal(link$mean[c(2, 4, 6)],
    unname(colMeans(predict(fits$plane, at, type = "link")))
  )
  one <- partial_dependence(fits$plane, c("Petal.Width", "site"),
    n = 2, ndraws = 5, class = "setosa"
  )
  expect_identical(names(one)[1:2], c("Petal.Width", "site"))
  expect_identical(nrow(one), 6L)
  expect_error(partial_dependence(fits$plane, c("Petal.Width", "site")),
    class = "kb_error_argument"
  )
  expect_error(partial_dependence(fits$plane, "site", class = "rose"),
    class = "kb_error_argument"
  )
})

test_that("plots draw", {
  fits <- species()
  file <- withr::local_tempfile(fileext = ".pdf")
  grDevices::pdf(file)
  withr::defer(grDevices::dev.off())
  for (fit in fits[c("plane", "line")]) {
    for (type in c("fit", "importance", "k", "centres", "trace")) {
      expect_identical(
        if (type == "fit") plot(fit, n = 8) else plot(fit, type = type), fit
      )
    }
  }
  expect_invisible(plot(partial_dependence(
    fits$plane, "Petal.Width", n = 3, ndraws = 5
  )))
  expect_error(plot(fits$line, colour = 2), class = "kb_error")
  expect_error(plot(fits$line, level = 0.5), class = "kb_error_argument")
})
