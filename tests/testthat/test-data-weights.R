# Weights that mean copies give what repeated rows give: R/data-response.R.

# Rows with copies, skewed in x, and responses of all kinds
weighted_rows <- function(n = 24) {
  withr::with_seed(7, {
    data <- data.frame(
      x = exp(stats::rnorm(n)), z = stats::runif(n), o = stats::runif(n),
      g = rep(letters[1:4], length.out = n), n = sample(c(1, 2, 5, 30), n, TRUE)
    )
    f <- log(data$x) + data$z
    data$count <- stats::rpois(n, exp(f))
    data$class <- factor(ifelse(f + stats::rlogis(n) > 0.5, "b", "a"))
    data$three <- factor(sample(c("u", "v", "w"), n, TRUE))
    data$grade <- cut(f + stats::rnorm(n), c(-Inf, 0, 1, Inf), ordered_result = TRUE)
    data$yes <- stats::rbinom(n, 6, stats::plogis(f))
    data$time <- exp(f + stats::rnorm(n, sd = 0.3))
    data$known <- stats::runif(n) < 0.7
    data
  })
}

repeated <- function(data) data[rep(seq_len(nrow(data)), data$n), ]

short_chain <- mcmc_control(chains = 1, warmup = 30, iter = 20)

quick_copies <- function(fit, ..., data) {
  suppressMessages(suppressWarnings(
    fit(..., data = data, control = short_chain, seed = 1),
    classes = "kb_warning"
  ))
}

# Fits, each a function of the data and of the weights
copied_fits <- list(
  poisson = function(data, w) quick_copies(bark, count ~ x + z,
    family = poisson(), weights = w, data = data
  ),
  groups = function(data, w) quick_copies(bark,
    count ~ kernels(x) + z + (1 + z | g) + offset(o), family = "negbinomial",
    weights = w, data = data
  ),
  logit = function(data, w) quick_copies(bark, class ~ x + z,
    weights = w, data = data
  ),
  trials = function(data, w) quick_copies(bark,
    cbind(yes, 6 - yes) ~ kernels(x) + z + offset(o), weights = w, data = data,
    family = binomial("probit"), scale = FALSE
  ),
  successes = function(data, w) quick_copies(bark, cbind(yes, 6 - yes) ~ x + z,
    weights = w, data = data, family = binomial("probit")
  ),
  ordered = function(data, w) quick_copies(bark,
    grade ~ kernels(x) + z + offset(o), data = data,
    weights = if (is.null(w)) rep(1, nrow(data)) else w
  ),
  classes = function(data, w) quick_copies(bark, three ~ x + z,
    weights = w, data = data
  ),
  weibull = function(data, w) quick_copies(bark,
    survival::Surv(time, known) ~ x + z, weights = w, data = data
  ),
  lognormal = function(data, w) quick_copies(bark, time ~ kernels(x) + z + (1 | g),
    family = "lognormal", weights = w, data = data
  ),
  censored = function(data, w) quick_copies(bark,
    survival::Surv(time, known) ~ kernels(x) + z, family = gaussian(),
    weights = w, data = data, scale = FALSE,
    prior = bark_prior(centres = centre_near_rows(0.3))
  ),
  kgs = function(data, w) quick_copies(kgs, class ~ x + z,
    weights = w, data = data
  ),
  several = function(data, w) quick_copies(kgs, three ~ x + z,
    weights = w, data = data, kernel = kernel_gaussian("median")
  )
)

# Made once
both_fits <- local({
  kept <- list()
  function(name) {
    if (is.null(kept[[name]])) {
      data <- weighted_rows()
      copies <- repeated(data)
      kept[[name]] <<- list(
        weighted = copied_fits[[name]](data, data$n),
        repeated = copied_fits[[name]](copies, NULL), copies = copies
      )
    }
    kept[[name]]
  }
})

# What the data determine before the chains start
settled <- function(fit) {
  if (inherits(fit, "kb_kgs")) {
    return(fit$settings[c("scaling", "bandwidth", "prior", "noise", "nugget")])
  }
  prior <- fit$settings$prior
  copies <- if (is.null(fit$data$weights)) 1 else fit$data$weights
  rows <- prior$centre_weights[-1] / copies
  c(
    fit$settings[c("scaling", "mixed")],
    prior[setdiff(names(prior), "centre_weights")],
    intercept = intercept_expected(prior, nrow(fit$data$x)),
    even = length(rows) == 0 || diff(range(rows)) < 1e-12,
    level = list(linear_mean(fit))
  )
}

test_that("weights that mean copies settle what repeated rows settle", {
  # Seen to fail: rows counted once in the scaling, in priors of the noise, of
  # centres and of the intercept, in scales of linear terms.
  skip_if_not_installed("survival")
  for (name in names(copied_fits)) {
    fits <- both_fits(name)
    expect_equal(settled(fits$weighted), settled(fits$repeated), info = name)
    expect_equal(nobs(fits$weighted), nrow(fits$copies), info = name)
  }
})

test_that("likelihoods and criteria are those of repeated rows", {
  # The same draws, at the rows with weights and at repeated rows.
  skip_if_not_installed("loo")
  skip_if_not_installed("rstantools")
  skip_if_not_installed("survival")
  for (name in names(copied_fits)) {
    both <- both_fits(name)
    fit <- both$weighted
    own <- rstantools::log_lik(fit)
    each <- rstantools::log_lik(fit, newdata = both$copies)
    expect_equal(rowSums(own), rowSums(each), info = name)
    expect_equal(unname(as.matrix(fit)[, "log_lik"]), rowSums(own), info = name)
    score <- predict(fit, both$copies, type = "log_score")
    expect_equal(as.double(logLik(fit)), sum(score), info = name)
    expect_equal(attr(logLik(fit), "nobs"), nrow(both$copies))
    suppressWarnings({
      expect_equal(loo::loo(fit), loo::loo(each,
        r_eff = relative_efficiency(fit, each)
      ), info = name)
      expect_equal(loo::waic(fit), loo::waic(each), info = name)
    })
  }
})

test_that("criteria of weights that are no whole numbers keep a line per row", {
  skip_if_not_installed("loo")
  out <- suppressWarnings(loo::waic(matrix(-stats::rexp(200), 20)))
  w <- rep(c(2, 3), 5)
  whole <- criteria_of_copies(out, w)
  parts <- criteria_of_copies(out, w, most = 0)
  expect_identical(parts$estimates, whole$estimates)
  expect_identical(dim(parts$pointwise), c(10L, 3L))
  expect_equal(colSums(parts$pointwise), colSums(whole$pointwise))
  expect_identical(criteria_of_copies(out, NULL), out)
})

test_that("quantiles, means and medians over copies are those of repeated rows", {
  withr::with_seed(3, {
    v <- stats::rexp(30)
    w <- sample(1:6, 30, TRUE)
  })
  probs <- c(0, 0.1, 0.5, 0.77, 1)
  expect_equal(copy_quantiles(v, probs, w),
    stats::quantile(rep(v, w), probs, names = FALSE)
  )
  # Weights far below one, all equal, are rows.
  expect_equal(copy_quantiles(v, probs, rep(0.01, 30)),
    copy_quantiles(v, probs, NULL)
  )
  x <- cbind(v, v^2)
  expect_equal(column_moments(x, w), column_moments(x[rep(1:30, w), ]))
  expect_equal(copy_rows(30, w, seq_len), rep(1:30, w))
  expect_equal(finite_median(x, w), finite_median(x[rep(1:30, w), ]))
})

test_that("weights that mean precision, and none, change nothing else", {
  data <- weighted_rows()
  fits <- lapply(list(NULL, data$n), function(w) {
    quick_copies(bark, count ~ x + z, family = gaussian(), weights = w, data = data)
  })
  expect_identical(fits[[1]]$settings$scaling, fits[[2]]$settings$scaling)
  expect_identical(nobs(fits[[2]]), 24L)
  expect_null(row_copies(fits[[2]]))
  meanings <- vapply(response_families, function(row) {
    if (is.null(row$weights)) "none" else row$weights
  }, "")
  expect_setequal(meanings, c("copies", "precision", "none"))
  for (name in names(meanings)) {
    expect_identical(meanings[[name]] == "copies", is_glm_family(name), info = name)
  }
})

test_that("AIC() and BIC() are not defined for any fit", {
  fits <- list(
    srvm(y ~ x, sim_sinc(20, seed = 1), kernel_gaussian(0.3), seed = 1),
    copied_fits$poisson(weighted_rows(), NULL), copied_fits$kgs(weighted_rows(), NULL),
    kbr(cbind(1:20, 1:20), 1:20)
  )
  for (fit in fits) {
    for (f in list(stats::AIC, stats::BIC)) {
      expect_error(f(fit), "loo::loo", class = "kb_error_not_defined")
    }
  }
})

test_that("means over rows and quantiles of exposures are those of copies", {
  # Against draws at repeated rows.
  skip_if_not_installed("rstantools")
  skip_if_not_installed("survival")
  # Probabilities are those of their copies too; other families have medians.
  responses <- c("logit", "classes", "trials", "kgs", "several")
  for (name in c(names(copied_fits), responses)) {
    both <- both_fits(name)
    fit <- both$weighted
    class <- if (name %in% c("classes", "several")) "v"
    type <- if (name %in% c(responses, "censored")) "response" else "link"
    curve <- partial_dependence(fit, "z",
      grid = c(0.2, 0.7), type = type, class = class, ndraws = 20
    )
    draw <- if (name %in% responses) rstantools::posterior_epred else {
      rstantools::posterior_linpred
    }
    mean <- vapply(curve$z, function(z) {
      each <- draw(fit, newdata = replace(both$copies, "z", z))
      if (!is.null(class)) each <- each[, , class]
      mean(rowMeans(each))
    }, 0)
    expect_equal(curve$mean, mean, info = name, tolerance = 1e-12)
  }
  fit <- both_fits("poisson")$weighted
  copies <- both_fits("poisson")$copies
  effect <- exposure_effects(fit, "overall", quantiles = 0.8, at = 0.3)
  ends <- vapply(copies[c("x", "z")], stats::quantile, c(0, 0), c(0.3, 0.8))
  f <- predict(fit, as.data.frame(ends), type = "draws")
  expect_equal(effect$mean, mean(f[, 2] - f[, 1]))
  # Of the logit: variances over rows
  fit <- both_fits("logit")$weighted
  p <- rstantools::posterior_epred(fit, both_fits("logit")$copies)
  explained <- apply(p, 1, stats::var)
  expect_equal(rstantools::bayes_R2(fit),
    explained / (explained + rowMeans(p * (1 - p)))
  )
})

test_that("values are permuted among copies", {
  # All pairs of a row and the values of another, by their numbers of copies.
  for (name in c("logit", "kgs")) {
    fit <- both_fits(name)$weighted
    rows <- weighted_rows()
    n <- nrow(rows)
    share <- rows$n / sum(rows$n)
    score <- function(data) {
      p <- rstantools::posterior_epred(fit, newdata = data)
      colMeans((p - rep(data$class == "b", each = nrow(p)))^2)
    }
    pairs <- expand.grid(row = seq_len(n), other = seq_len(n))
    moved <- rows[pairs$row, ]
    moved$x <- rows$x[pairs$other]
    base <- sum(share * score(rows))
    all <- sum(share[pairs$row] * share[pairs$other] * score(moved))
    out <- importance(fit,
      method = "permutation", loss = "squared", permutations = 400, seed = 1
    )
    # Of binary classes the Brier score is twice the squared error. A normal
    # mean of 400: beyond 5 standard errors once in two million.
    expect_equal(attr(out, "base"), 2 * base, info = name)
    expect_lt(abs(out$mean[[1]] - 2 * (all - base)), 5 * out$mc_se[[1]])
    expect_lt(out$mc_se[[1]], 0.1 * (all - base))
  }
  # Without weights, and with equal ones, an order
  expect_setequal(withr::with_seed(1, permuted_order(9, rep(2, 9))), 1:9)
  expect_identical(
    withr::with_seed(1, permuted_order(9, NULL)), withr::with_seed(1, sample.int(9))
  )
})

test_that("cross-validation sums over copies", {
  fit <- both_fits("poisson")$weighted
  scores <- suppressWarnings(cross_validate(fit, 2, seed = 1))
  w <- weighted_rows()$n
  expect_identical(scores$copies, w)
  table <- summary(scores)
  all <- rep(scores$log_score, w)
  expect_equal(table$elpd, sum(all))
  expect_equal(table$elpd_se, stats::sd(all) * sqrt(length(all)))
  expect_equal(table$rmse, sqrt(mean(rep(scores$error^2, w))))
  expect_equal(table$crps, mean(rep(scores$crps, w)))
  # Fits to other numbers of copies are not fits to the same responses.
  other <- copied_fits$poisson(weighted_rows(), NULL)
  expect_error(cross_validate(list(fit, other), 2), class = "kb_error_argument")
})
