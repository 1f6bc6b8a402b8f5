# Draws from the prior on the scale of the response: their law, what is drawn,
# and what such fits refuse.

prior_rows <- withr::with_seed(1, {
  x <- stats::runif(40, -2, 2)
  data.frame(
    x = x, z = stats::rnorm(40), number = 5 + sin(2 * x),
    class = factor(rep(c("no", "yes"), 20)),
    grade = factor(rep_len(c("c", "a", "b"), 40), ordered = TRUE),
    kind = factor(rep_len(c("r", "s", "t"), 40)),
    count = stats::rpois(40, 3), yes = stats::rbinom(40, 8, 0.4),
    time = stats::rexp(40), known = rep(c(TRUE, TRUE, FALSE), length.out = 40)
  )
})
prior_rows$no <- 8 - prior_rows$yes

# One fit of each family
prior_calls <- list(
  gaussian = list(number ~ x), varying = list(number ~ x, sigma = ~x),
  probit = list(class ~ x), ordered = list(grade ~ x),
  multinomial = list(kind ~ x), poisson = list(count ~ x, family = "poisson"),
  negbinomial = list(count ~ x, family = "negbinomial"),
  logit = list(class ~ x, family = "logit"),
  trials = list(cbind(yes, no) ~ x, family = "logit"),
  weibull = list(survival::Surv(time, known) ~ x),
  lognormal = list(time ~ x, family = "lognormal"),
  censored = list(survival::Surv(number, known) ~ x, family = "gaussian")
)

prior_fit_of <- function(call, iter = 60, ...) {
  suppressMessages(suppressWarnings(do.call(bark, c(call, list(
    data = prior_rows, prior_only = TRUE, seed = 1,
    control = mcmc_control(2, 60, iter, 1), ...
  )))))
}

needs_survival <- function(name) {
  name %in% c("weibull", "censored") &&
    !requireNamespace("survival", quietly = TRUE)
}

# The law ----------------------------------------------------------------------

# Intercept and slope without kernels, from their documented prior: normal with
# sd 2.5, the slope per standard deviation of x, the intercept around `level`
drawn_predictor <- function(n, level) {
  x <- as.vector(scale(prior_rows$x))
  stats::rnorm(n, level, 2.5) + outer(stats::rnorm(n, 0, 2.5), x)
}

# Shares of draws of row 1 up to quantiles of those drawn directly, as scores
share_scores <- function(fit, direct) {
  new <- rstantools::posterior_predict(fit, seed = 1)[, 1]
  at <- stats::quantile(direct, c(0.1, 0.3, 0.5, 0.7, 0.9), names = FALSE)
  vapply(at, function(limit) {
    chains <- matrix(new <= limit, ncol = 2)
    p <- mean(direct <= limit)
    # The largest number of successes
    if (all(chains == p)) {
      return(0)
    }
    error <- sqrt(posterior::mcse_mean(chains * 1)^2 +
      p * (1 - p) / length(direct))
    (mean(chains) - p) / error
  }, 0)
}

test_that("responses drawn from the prior have its law", {
  # Null: nearly standard normal scores, 5 in each of 3 families; |z| > 5
  # somewhere has probability 1e-5.
  skip_if_not_installed("rstantools")
  skip_if_not_installed("posterior")
  fit <- function(call) {
    prior_fit_of(call, 4000, prior = bark_prior(gamma = 0))
  }
  n <- 1e5
  withr::local_seed(2)
  mean_log <- log(mean(prior_rows$count))
  share <- (sum(prior_rows$yes) + 0.5) / (8 * 40 + 1)
  mean <- exp(drawn_predictor(n, mean_log)[, 1])
  size <- exp(stats::rnorm(n, 0, 2))
  p <- stats::plogis(drawn_predictor(n, stats::qlogis(share))[, 1])
  scores <- c(
    poisson = share_scores(fit(prior_calls$poisson), stats::rpois(n, mean)),
    negbinomial = share_scores(
      fit(prior_calls$negbinomial), stats::rnbinom(n, mu = mean, size = size)
    ),
    trials = share_scores(fit(prior_calls$trials), stats::rbinom(n, 8, p))
  )
  expect_lt(max(abs(scores)), 5, label = names(which.max(abs(scores))))
  # The checks see a prior of twice the standard deviation.
  wide <- prior_fit_of(prior_calls$poisson, 4000,
    prior = bark_prior(gamma = 0, linear_sd = 5)
  )
  expect_gt(max(abs(share_scores(wide, stats::rpois(n, mean)))), 10)
})

# Pictures ---------------------------------------------------------------------

test_that("plot() of each family shows a prior that is named so", {
  for (name in names(prior_calls)) {
    if (needs_survival(name)) next
    fit <- prior_fit_of(prior_calls[[name]])
    picture <- bark_picture(fit, "fit", 0.9, 20, FALSE)$panels[[1]]
    labels <- c(
      unlist(lapply(picture$layers, `[[`, "label")), picture$ylab
    )
    expect_match(labels, "prior", all = FALSE, label = name)
    limits <- panel_limits(picture, "y")
    expect_true(all(is.finite(limits)), label = name)
    for (type in c("importance", "k", "centres", "trace")) {
      expect_no_error(bark_picture(fit, type, 0.9, NULL, FALSE))
    }
    expect_false(grepl("NA|Inf|NaN", paste(
      utils::capture.output(print(fit)), collapse = " "
    )), label = name)
  }
})

test_that("the axis has the data, and says what is beyond", {
  fit <- prior_fit_of(prior_calls$poisson)
  panel <- bark_picture(fit, "fit", 0.9, 20, FALSE)$panels[[1]]
  y <- range(prior_rows$count)
  expect_equal(panel$crop[[1]], 0)
  expect_lte(panel$crop[[2]], y[[2]] + 2 * diff(y))
  expect_gte(panel$crop[[2]], y[[2]])
  grid <- matrix(seq(min(prior_rows$x), max(prior_rows$x), length.out = 20),
    dimnames = list(NULL, "x")
  )
  f <- predict(fit, data.frame(grid), type = "draws")
  expect_match(panel$xlab, paste0(
    "beyond the axis: ", round(100 * mean(exp(f) > panel$crop[[2]])), "% larger"
  ), fixed = TRUE)
  # Bands are those of predict().
  band <- predict(fit, data.frame(grid), interval = "credible", level = 0.5)
  drawn <- panel$layers[[2]]$data
  seen <- drawn$ymax <= panel$crop[[2]]
  expect_equal(drawn$ymax[seen], unname(band[seen, "upr"]))
  expect_equal(drawn$ymax < panel$crop[[2]], unname(band[, "upr"]) <
    panel$crop[[2]])
})

test_that("limits are those documented", {
  y <- c(0, 10)
  expect_equal(prior_limits(y, -3:8), c(-1.9, 10))
  expect_equal(prior_limits(y, c(-1e9, 5, 1e9)), c(-20, 30))
  expect_equal(prior_limits(y, c(0, 5, Inf)), c(0, 30))
  expect_equal(prior_limits(c(2, 2), c(-10, 10)), c(-8, 8))
  expect_null(beyond_words(1:10, c(0, 11)))
  expect_equal(
    beyond_words(1:10, c(1.5, 7.5)), "beyond the axis: 10% smaller, 30% larger"
  )
  expect_equal(pull_in(c(-1e300, 0, Inf), c(0, 5)), c(-5, 0, 10))
})

test_that("several predictors: rows; several classes have no plane", {
  fit <- prior_fit_of(list(count ~ x + z, family = "poisson"))
  panel <- bark_picture(fit, "fit", 0.9, NULL, FALSE)$panels[[1]]
  points <- panel$layers[[3]]$data
  expect_setequal(points$y, prior_rows$count)
  inner <- panel$layers[[2]]$data$ymax
  expect_false(is.unsorted(inner))
  expect_error(
    plot(prior_fit_of(list(kind ~ x + z))),
    class = "kb_error_not_defined"
  )
})

test_that("pp_check() shows responses drawn from the prior", {
  skip_if_not_installed("bayesplot")
  skip_if_not_installed("rstantools")
  for (name in names(prior_calls)) {
    # bayesplot draws times of censored rows with ggfortify.
    if (needs_survival(name) || name %in% c("weibull", "censored") &&
      !rlang::is_installed("ggfortify")) {
      next
    }
    fit <- prior_fit_of(prior_calls[[name]])
    plot <- bayesplot::pp_check(fit, seed = 1)
    expect_identical(plot$labels$title, "Prior predictive draws", label = name)
    expect_no_error(ggplot2::ggplot_build(plot))
  }
  fit <- prior_fit_of(prior_calls$poisson)
  plot <- bayesplot::pp_check(fit, seed = 1)
  new <- rstantools::posterior_predict(fit, ndraws = 50, seed = 1)
  new[is.na(new)] <- Inf
  limit <- plot$coordinates$limits$x
  expect_equal(plot$labels$subtitle, paste0(
    "Drawn responses beyond the axis: ", round(100 * mean(new > limit[[2]])),
    "% larger"
  ))
  inside <- plot$data$value[!plot$data$is_y & plot$data$value <= limit[[2]]]
  expect_equal(sort(inside), sort(new[new <= limit[[2]]]))
  for (type in c("bars", "rootogram", "dens_overlay", "intervals")) {
    plot <- bayesplot::pp_check(fit, type, seed = 1)
    expect_no_error(ggplot2::ggplot_build(plot))
  }
  expect_error(
    bayesplot::pp_check(fit, "loo_pit_qq"), class = "kb_error_not_defined"
  )
  expect_error(bayesplot::pp_check(fit, "stat"), class = "kb_error_not_defined")
})

# Methods ----------------------------------------------------------------------

test_that("scores of what was learned are not defined", {
  for (name in c("gaussian", "multinomial", "poisson")) {
    fit <- prior_fit_of(prior_calls[[name]])
    expect_error(logLik(fit), class = "kb_error_not_defined")
    expect_error(evidence(fit), class = "kb_error_not_defined")
    expect_error(cross_validate(fit, folds = 2), class = "kb_error_not_defined")
    if (requireNamespace("loo", quietly = TRUE)) {
      expect_error(loo::loo(fit), class = "kb_error_not_defined")
      expect_error(loo::waic(fit), "prior_only", class = "kb_error_not_defined")
    }
  }
})

test_that("predictions are medians where the prior has no mean", {
  fit <- prior_fit_of(prior_calls$poisson, 200)
  f <- predict(fit, type = "draws")
  expect_equal(unname(fitted(fit)), apply(exp(f), 2, stats::median))
  expect_equal(
    unname(predict(fit, type = "link")), apply(f, 2, stats::median)
  )
  expect_true(all(is.finite(partial_dependence(fit, "x", n = 3)$mean)))
  # Probabilities have means.
  fit <- prior_fit_of(prior_calls$trials)
  f <- predict(fit, type = "draws")
  expect_equal(unname(fitted(fit)), colMeans(stats::plogis(f)))
})

test_that("counts of any mean have quantiles", {
  withr::local_seed(3)
  mean <- exp(stats::runif(200, log(2e4), log(1e6)))
  size <- exp(stats::rnorm(200, 1))
  for (p in c(0.05, 0.5, 0.95)) {
    expect_equal(
      negbinomial_quantile(p, mean, size),
      stats::qnbinom(p, mu = mean, size = size)
    )
  }
  for (family in c("poisson", "negbinomial")) {
    fit <- prior_fit_of(prior_calls[[family]])
    q <- predict(fit, prior_rows[1:3, ], type = "quantile")
    expect_false(anyNA(q))
    expect_true(all(q[, 1] <= q[, 2] & q[, 2] <= q[, 3]))
  }
})

test_that("diagnostics of the prior leave the likelihood out", {
  fit <- prior_fit_of(prior_calls$weibull[1], 60)
  expect_false("log_lik" %in% diagnostics(fit)$convergence$variable)
  expect_identical(bark_length(100, "gaussian", prior_only = TRUE)$thin, 3L)
})
