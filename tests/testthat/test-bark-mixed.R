# Fits of bark() with terms beside kernels. The sampler's law is in
# test-bark-terms.R.

mixed_data <- function(n = 60) {
  withr::with_seed(4, {
    data <- data.frame(
      a = stats::runif(n), b = stats::runif(n), age = stats::rnorm(n, 50, 8),
      sex = sample(c("f", "m"), n, TRUE), clinic = rep(letters[1:6], n / 6),
      doc = sample(LETTERS[1:4], n, TRUE), o = stats::rnorm(n)
    )
    data$y <- 2 * sin(5 * data$a) + 0.1 * data$age + data$o +
      rep(stats::rnorm(6), n / 6) + stats::rnorm(n, sd = 0.4)
    data
  })
}

mixed_fits <- local({
  fits <- NULL
  function() {
    if (is.null(fits)) {
      data <- mixed_data()
      data$class <- factor(ifelse(data$y > mean(data$y), "up", "down"))
      data$three <- cut(data$y, 3, c("i", "j", "k"))
      formula <- y ~ kernels(a, b) + age + sex + offset(o) +
        (1 + age | clinic) + (1 | doc)
      quick <- function(...) bark_quick(..., prior = bark_prior())
      fits <<- list(
        numbers = quick(formula, data),
        classes = quick(class ~ kernels(a) + age + (1 | clinic), data),
        ordered = quick(three ~ kernels(a) + (1 | clinic), data,
          family = "ordered"
        ),
        several = quick(three ~ kernels(a) + age + (1 | clinic), data),
        plain = bark_quick(y ~ age + (1 | clinic), data,
          prior = bark_prior(gamma = 0, df = Inf)
        ),
        summed = quick(y ~ kernels(a) + kernels(b, age), data)
      )
      fits$data <<- data
    }
    fits
  }
})

test_that("components and their constant add up to the mean", {
  fits <- mixed_fits()
  for (name in c("numbers", "classes", "plain", "summed")) {
    fit <- fits[[name]]
    parts <- predict(fit, fits$data[1:7, ], type = "terms")
    mean <- if (has_classes(fit)) {
      predict(fit, fits$data[1:7, ], type = "link")
    } else {
      predict(fit, fits$data[1:7, ])
    }
    if (name == "numbers") mean <- mean - fits$data$o[1:7]
    expect_equal(
      rowSums(parts) + attr(parts, "constant"), as.double(mean),
      label = name
    )
  }
  expect_equal(
    colnames(predict(fits$numbers, type = "terms")),
    c("kernels", "age", "sex", "clinic", "doc")
  )
  banded <- predict(fits$numbers, type = "terms", interval = "credible")
  expect_equal(dim(banded), c(60, 5, 3))
  expect_equal(
    unname(banded[, , "fit"]), unname(predict(fits$numbers, type = "terms")),
    ignore_attr = TRUE
  )
  expect_true(all(banded[, , "lwr"] <= banded[, , "upr"]))
})

test_that("training rows and the same rows as new data agree", {
  fits <- mixed_fits()
  for (name in c("numbers", "classes", "ordered", "several", "plain")) {
    fit <- fits[[name]]
    type <- if (has_classes(fit)) "prob" else "response"
    if (has_classes(fit)) {
      expect_true(any(grepl("^sd\\[", names(chain_matrices(fit)))))
    }
    expect_equal(
      predict(fit, type = type), predict(fit, fits$data, type = type),
      ignore_attr = TRUE, label = name
    )
  }
})

test_that("re_formula = NA leaves groups out, as a group's mean of 0 does", {
  fits <- mixed_fits()
  new <- fits$data[1:5, ]
  without <- predict(fits$numbers, new, re_formula = NA)
  parts <- predict(fits$numbers, new, type = "terms")
  expect_equal(
    without, predict(fits$numbers, new) - parts[, "clinic"] - parts[, "doc"]
  )
  new$clinic <- "none"
  new$doc <- "none"
  expect_message(
    expect_equal(predict(fits$numbers, new), without),
    class = "kb_message_new_groups"
  )
  new$doc[[2]] <- NA
  expect_message(
    expect_identical(is.na(suppressMessages(predict(fits$numbers, new),
      "kb_message_new_groups"
    )), seq_len(5) == 2),
    "missing in 1 row,", class = "kb_message_missing_groups"
  )
  # Groups that are not looked at need not be given.
  new$clinic <- new$doc <- NULL
  expect_equal(predict(fits$numbers, new, re_formula = NA), without)
  expect_error(predict(fits$numbers, new, re_formula = ~a),
    class = "kb_error_argument"
  )
})

test_that("new groups widen intervals, and their draws agree with that", {
  fits <- mixed_fits()
  new <- fits$data[c(1, 1, 2), ]
  new$clinic <- c("new", "new", "other")
  draws <- predict(fits$numbers, new, type = "draws")
  # Two rows of one new group have the same coefficients.
  expect_equal(draws[, 1], draws[, 2])
  expect_gt(stats::sd(draws[, 1] - draws[, 3]), 0)
  wide <- predict(fits$numbers, new, interval = "credible")
  narrow <- predict(fits$numbers, fits$data[c(1, 1, 2), ],
    interval = "credible"
  )
  expect_true(all(wide[, 3] - wide[, 2] > narrow[, 3] - narrow[, 2]))
  again <- predict(fits$numbers, new[3:2, ], type = "draws")
  expect_equal(dim(again), c(nrow(draws), 2))
})

test_that("a linear model with known noise has its conjugate posterior", {
  data <- mixed_data()
  fit <- bark(y ~ age + sex, data,
    prior = bark_prior(gamma = 0, noise = fixed_variance(0.5), df = Inf, linear_sd = 2),
    control = mcmc_control(1, 5, 4000), seed = 1
  )
  x <- cbind(1, scale(cbind(data$age, data$sex == "m")))
  y <- drop(scale(data$y))
  precision <- crossprod(x) / 0.5 + diag(3) / 4
  mean <- solve(precision, crossprod(x, y) / 0.5)
  draws <- matrix(bark_pool(fit)$gamma, 3)
  # Null: independent draws, 9 standard normal scores: |z| > 5 somewhere has
  # probability 5e-6.
  sd <- sqrt(diag(solve(precision)))
  z <- sqrt(4000) * (rowMeans(draws) - mean) / sd
  expect_lt(max(abs(z)), 5)
  v <- stats::cov(t(draws)) - solve(precision)
  scale <- sqrt((outer(sd, sd)^2 + solve(precision)^2) / 4000)
  expect_lt(max(abs(v / scale)), 5)
})

test_that("groups agree with lme4 where priors hardly matter", {
  skip_if_not_installed("lme4")
  data <- lme4::sleepstudy
  fit <- bark(Reaction ~ Days + (1 + Days | Subject), data,
    prior = bark_prior(gamma = 0, df = Inf),
    control = mcmc_control(2, 200, 1000), seed = 1
  )
  peer <- lme4::lmer(Reaction ~ Days + (1 + Days | Subject), data)
  se <- sqrt(diag(as.matrix(stats::vcov(peer))))
  expect_lt(max(abs(fixef.kb_bark(fit) - lme4::fixef(peer)) / se), 0.2)
  b <- ranef.kb_bark(fit)$Subject
  expect_gt(stats::cor(b[[1]], lme4::ranef(peer)$Subject[[1]]), 0.99)
  expect_gt(stats::cor(b[[2]], lme4::ranef(peer)$Subject[[2]]), 0.99)
  expect_equal(rownames(b), rownames(lme4::ranef(peer)$Subject))
  expect_equal(
    sigma(fit), stats::sigma(peer), tolerance = 0.05
  )
  expect_lt(
    max(abs(predict(fit) - predict(peer))), stats::sigma(peer) / 10
  )
})

test_that("coefficients have the names and units of the data", {
  fits <- mixed_fits()
  fit <- fits$numbers
  expect_named(fixef.kb_bark(fit), c("(Intercept)", "age", "sexm"))
  b <- ranef.kb_bark(fit)
  expect_named(b, c("clinic", "doc"))
  expect_named(b$clinic, c("(Intercept)", "age"))
  expect_equal(rownames(b$doc), LETTERS[1:4])
  all <- ranef.kb_bark(fit, summary = FALSE)$clinic
  expect_equal(
    unname(colMeans(all)), unname(as.matrix(b$clinic)),
    ignore_attr = TRUE
  )
  v <- VarCorr.kb_bark(fit)
  expect_named(v, c("clinic", "doc"))
  expect_equal(nrow(as.data.frame(v)), 5)
  expect_output(print(v), "Residual")
  expect_equal(
    coef(fit)$doc[["(Intercept)"]],
    b$doc[["(Intercept)"]] + fixef.kb_bark(fit)[[1]]
  )
  expect_equal(coef(fits$summed), fixef.kb_bark(fits$summed))
  draws <- as_draws(fit)
  expect_true(all(
    c("b[age]", "sd[clinic,age]", "cor[clinic,(Intercept),age]", "sd[doc]") %in%
      posterior::variables(draws)
  ))
  expect_true("sd[doc]" %in% tidy(fit)$term)
  expect_length(fixef.kb_bark(fits$several), 3)
  expect_named(coef(fits$several), c("i", "j", "k"))
  # Differences from the mean over classes
  expect_equal(Reduce(`+`, fixef.kb_bark(fits$several)), c(0, 0),
    ignore_attr = TRUE
  )
  expect_error(fixef.kb_bark(bark_fits()$plane), class = "kb_error_not_defined")
  expect_error(ranef.kb_bark(fits$summed), class = "kb_error_not_defined")
})

test_that("kernels of several kernels() have inputs of one of them", {
  fit <- mixed_fits()$summed
  used <- matrix(bark_pool(fit)$own_included, 3) > 0
  expect_false(any(used[1, ] & (used[2, ] | used[3, ])))
  expect_true(any(used[1, ]))
  expect_true(any(used[2, ] & used[3, ]))
  prior <- withr::with_seed(1, draw_bark_pool(fit, 200))
  used <- matrix(prior$own_included, 3) > 0
  expect_false(any(used[1, ] & (used[2, ] | used[3, ])))
  # Each of the two is in half of the kernels: |z| > 4.5 has probability 7e-6.
  both <- colSums(used[2:3, ]) > 0
  one <- used[1, ]
  share <- sum(one) / (sum(one) + sum(both) * 3 / 4)
  expect_lt(abs(share - 0.5), 0.1)
})

# The same terms as columns and in a formula
expect_same_methods <- function(given, formula, new) {
  x <- as.matrix(new[c("a", "b")])
  beside <- list(
    linear = new[c("age", "sex")], groups = new["clinic"], offset = new$o
  )
  methods <- list(
    posterior_epred = list(), posterior_predict = list(seed = 1),
    posterior_linpred = list(), posterior_linpred = list(transform = TRUE),
    predictive_interval = list(prob = 0.5)
  )
  for (k in seq_along(methods)) {
    f <- getExportedValue("rstantools", names(methods)[[k]])
    expect_equal(
      do.call(f, c(list(given, newdata = x), methods[[k]], beside)),
      do.call(f, c(list(formula, newdata = new), methods[[k]]))
    )
  }
  expect_equal(
    do.call(rstantools::log_lik, c(list(given, x, new$y), beside)),
    rstantools::log_lik(formula, new)
  )
  expect_equal(
    do.call(augment, c(list(given, newdata = x), beside))$.upper,
    augment(formula, newdata = new)$.upper
  )
}

test_that("x and y with terms is the model of the formula", {
  data <- mixed_data()
  given <- bark_quick(as.matrix(data[c("a", "b")]), data$y,
    linear = data[c("age", "sex")], groups = data["clinic"], offset = data$o
  )
  formula <- bark_quick(
    y ~ kernels(a, b) + age + sex + (1 | clinic) + offset(o), data
  )
  expect_equal(given$runs[[1]]$draws, formula$runs[[1]]$draws)
  expect_equal(
    predict(given, as.matrix(data[3:4, c("a", "b")]),
      linear = data[3:4, c("age", "sex")], groups = data[3:4, "clinic"],
      offset = data$o[3:4]
    ),
    predict(formula, data[3:4, ])
  )
  expect_error(predict(formula, data, linear = 1), class = "kb_error_argument")
  expect_error(predict(given, as.matrix(data[c("a", "b")])),
    class = "kb_error_argument"
  )
  expect_same_methods(given, formula, data[3:6, ])
})

test_that("terms may be left out of draws and tables", {
  fit <- mixed_fits()$numbers
  new <- mixed_fits()$data[1:4, ]
  expect_equal(
    colMeans(rstantools::posterior_epred(fit, new, re_formula = NA)),
    colMeans(predict(fit, new, type = "draws", re_formula = NA))
  )
  expect_equal(
    augment(fit, newdata = new, re_formula = NA)$.fitted,
    unname(predict(fit, new, re_formula = NA))
  )
  expect_error(augment(fit, groups = 1), class = "kb_error_argument")
  expect_error(augment(fit, other = 1), class = "kb_error_unknown_argument")
  expect_error(rstantools::posterior_linpred(fit, newdata = new, other = 1),
    class = "kb_error_unknown_argument"
  )
})

test_that("a fit continues, is saved and printed", {
  fit <- mixed_fits()$numbers
  data <- mixed_fits()$data
  longer <- suppressWarnings(update(fit, iter = 20))
  whole <- bark_quick(fit$mould$formula, data,
    prior = bark_prior(), iter = 60
  )
  expect_equal(longer$runs[[2]]$draws, whole$runs[[2]]$draws)
  expect_output(print(fit), "sd of groups: clinic")
  expect_output(print(fit), "2 in kernels, 2 linear, 6 groups of clinic")
  expect_output(print(summary(mixed_fits()$plain)), "b\\[age\\]")
  file <- withr::local_tempfile()
  saveRDS(fit, file)
  expect_equal(predict(readRDS(file)), predict(fit))
})

test_that("prior_only draws terms from their prior", {
  data <- mixed_data()
  fit <- suppressWarnings(bark(y ~ kernels(a) + age + (1 | clinic), data,
    prior = bark_prior(linear_sd = 3, group_sd = 2), prior_only = TRUE,
    control = mcmc_control(1, 2, 2000), seed = 1
  ))
  pool <- bark_pool(fit)
  gamma <- matrix(pool$gamma, 2)
  # Null: independent draws; tests at 1e-5 each.
  expect_gt(stats::ks.test(gamma[2, ], "pnorm", 0, 3)$p.value, 1e-5)
  expect_gt(stats::ks.test(
    sqrt(pool$covariances), function(s) 2 * stats::pt(s / 2, 3) - 1
  )$p.value, 1e-5)
})

test_that("models of classes without kernels run", {
  data <- mixed_fits()$data
  for (formula in list(class ~ age + (1 | clinic), three ~ age + (1 | doc))) {
    for (link in c("logit", "probit")) {
      prior <- if (link == "logit") bark_prior else bark_prior_paper
      fit <- bark_quick(formula, data, prior = prior(gamma = 0))
      expect_output(print(fit), link)
      expect_true(all(is.finite(predict(fit, type = "prob"))))
      expect_true(any(grepl("^sd\\[", posterior::variables(as_draws(fit)))))
    }
  }
  expect_error(bark(y ~ (1 | clinic), data), class = "kb_error_formula")
})

test_that("noise is not taken for what groups explain", {
  data <- withr::with_seed(1, {
    data <- data.frame(g = rep(1:10, each = 3), x = stats::rnorm(30))
    data$y <- stats::rnorm(10, 0, 20)[data$g] + data$x + stats::rnorm(30)
    data
  })
  fit <- bark(y ~ x + (1 | g), data,
    prior = bark_prior(gamma = 0, df = Inf),
    control = mcmc_control(2, 200, 500), seed = 1
  )
  within <- stats::lm(y ~ x + factor(g), data)
  expect_equal(sigma(fit), stats::sigma(within), tolerance = 0.1)
})

test_that("partial dependence sets a variable wherever it is", {
  data <- mixed_fits()$data
  fit <- bark_quick(y ~ kernels(a, age) + age + (1 | clinic), data)
  expect_by_hand <- function(fit) {
    at <- partial_dependence(fit, "age", grid = c(45, 55))
    expect_equal(at$mean, vapply(c(45, 55), function(v) {
      mean(predict(fit, transform(data, age = v)))
    }, 0))
  }
  expect_by_hand(fit)
  expect_by_hand(bark_quick(y ~ kernels(a) + age + (age | clinic), data))
})

test_that("what is not defined says so", {
  data <- mixed_fits()$data
  fit <- mixed_fits()$numbers
  control <- mcmc_control(2, 5, 10, n_temps = 2)
  expect_error(bark(y ~ kernels(a) + age, data, control = control),
    class = "kb_error_not_defined"
  )
  truncated <- bark_prior(approximation = "truncation")
  expect_error(bark(y ~ kernels(a) + age, data, prior = truncated),
    class = "kb_error_not_defined"
  )
  expect_error(evidence(fit), class = "kb_error_not_defined")
  expect_error(bark(y ~ a, data, groups = data$clinic),
    class = "kb_error_argument"
  )
  expect_error(bark(data["a"], data$y, prior = bark_prior(gamma = 0)),
    class = "kb_error_not_defined"
  )
  expect_error(bark(three ~ kernels(a) + offset(o), data),
    class = "kb_error_argument"
  )
  for (prior in list(
    bark_prior(own_scales = FALSE), bark_prior(n_signals = 1),
    bark_prior(own_scales = "pooled")
  )) {
    expect_error(bark(y ~ kernels(a) + kernels(b), data, prior = prior),
      class = "kb_error_not_defined"
    )
  }
  expect_error(importance(mixed_fits()$plain), class = "kb_error_not_defined")
  expect_error(srvm(y ~ a + (1 | clinic), data), "bark",
    class = "kb_error_formula"
  )
  expect_error(kgs(class ~ a + offset(o), data), "bark",
    class = "kb_error_formula"
  )
})
