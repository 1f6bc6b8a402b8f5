# The posterior and prior probability that a predictor has an effect on f.
#
# Seen to fail: a threshold without the standard deviation, no permutation,
# precisions of coefficients without eps, scales without their number, shares of
# changes that are not squared.

effect_data <- local({
  out <- sim_friedman(60, p = 6, seed = 1)
  out[c("y", "x1", "x4", "x6")]
})

effect_fit <- function(..., prior = bark_prior_paper(), iter = 150) {
  suppressWarnings(bark(..., prior = prior, seed = 1,
    control = mcmc_control(2, 100, iter)
  ), classes = "kb_warning_convergence")
}

#' How much f changes in each draw when predictor l is permuted: draws take turns
#' with 20 permutations
#' @param draws From data to f, draws x rows (x fields).
#' @param size From changes of f to one number per draw (and field).
moved <- function(fit, data, column, l, draws, size) {
  p <- ncol(fit$data$x)
  orders <- with_local_seed(fit$seed, replicate(
    20, replicate(p, sample.int(nrow(data))), simplify = FALSE
  ))
  base <- draws(data)
  each <- lapply(orders, function(order) {
    other <- data
    other[[column]] <- other[[column]][order[, l]]
    as.matrix(size(draws(other) - base))
  })
  turn <- rep_len(1:20, nrow(base))
  t(vapply(seq_along(turn), function(i) {
    each[[turn[[i]]]][i, ]
  }, each[[1]][1, ]))
}

f_moved <- function(fit, data, column, l) {
  drop(moved(fit, data, column, l,
    function(new) stats::predict(fit, new, type = "draws"),
    function(change) sqrt(rowMeans(change^2))
  ))
}

test_that("effects agree with predictions for permuted rows", {
  for (scale in c(TRUE, FALSE)) {
    data <- transform(effect_data, y = 10 * (y - mean(y)))
    fit <- effect_fit(y ~ ., data, scale = scale)
    out <- importance(fit, ndraws = 1000)
    change <- vapply(1:3, function(l) {
      as.vector(f_moved(fit, data, out$variable[[l]], l))
    }, numeric(300))
    moves <- change > 0.01 * stats::sd(data$y)
    expect_equal(out$effect, colMeans(moves))
    share <- change^2 / rowSums(change^2)
    expect_equal(out$share, colMeans(share))
    expect_equal(sum(out$share), 1)
  }
  classes <- transform(effect_data, y = factor(y > 14))
  fit <- effect_fit(y ~ ., classes)
  out <- importance(fit, ndraws = 1000)
  for (l in 1:3) {
    change <- f_moved(fit, classes, out$variable[[l]], l)
    expect_equal(out$effect[[l]], mean(change > 0.01))
  }
})

test_that("with own scales shares of the change come first", {
  fit <- effect_fit(y ~ ., effect_data, prior = bark_prior())
  out <- importance(fit)
  expect_output(print(fit), "share of change: x4 0")
  shown <- capture.output(print(out))
  expect_match(shown[[1]], "share of the change of f")
  first <- out$variable[order(-out$share)]
  expect_match(shown[[3]], paste0("^ +", first[[1]], " "))
  expect_true(all(out$share > 0 & out$share_se > 0))
})

test_that("errors of shares are those over permutations", {
  # Draws alike: only the 20 permutations differ.
  turn <- permutation_turns(400)
  values <- cbind(rep(stats::qnorm((1:20) / 21), 20))
  expect_identical(turn[1:40], rep(1:20, 2))
  expect_equal(permuted_errors(values, 4), stats::sd(values[1:20]) / sqrt(20))
})

test_that("predictors in the kernel without an effect do not count", {
  fit <- effect_fit(y ~ ., effect_data, iter = 400)
  # Scales of x6 that are not 0 but tiny, as in many draws of longer chains.
  for (chain in 1:2) {
    draws <- fit$runs[[chain]]$draws
    fit$runs[[chain]]$draws$log_lambda[seq(3, 1200, 3)] <- log(1e-13)
    fit$runs[[chain]]$draws$included[seq(3, 1200, 3)] <- 1L
    fit <- sealed(fit)
  }
  out <- importance(fit)
  expect_identical(out$inclusion[[3]], 1)
  expect_identical(out$effect[[3]], 0)
  expect_gt(min(out$effect[1:2]), 0.95)
  expect_match(capture.output(print(fit)), "1, x6 0",
    fixed = TRUE, all = FALSE
  )
})

test_that("fields count only by their effect on probabilities", {
  flowers <- iris[seq(1, 150, 5), c(1, 3, 5)]
  fit <- effect_fit(Species ~ ., flowers)
  draws <- function(x) {
    f <- stats::predict(fit, x, type = "draws")
    f - as.vector(apply(f, 1:2, mean))
  }
  each <- function(l) {
    moved(fit, flowers, l, l, draws, function(change) {
      sqrt(apply(change^2, c(1, 3), mean))
    }) > 0.01
  }
  for (l in 1:2) {
    found <- each(l)
    expect_equal(
      importance(fit, ndraws = 300)$effect[[l]],
      mean(rowSums(found) > 0)
    )
    expect_equal(
      importance(fit, ndraws = 300, class = "virginica")$effect[[l]],
      mean(found[, 3])
    )
  }
})

test_that("Monte Carlo errors follow from the effective sample sizes", {
  fit <- effect_fit(y ~ ., effect_data)
  out <- importance(fit)
  draws <- as_draws(fit)
  for (l in 1:3) {
    se <- function(name) {
      posterior::mcse_mean(posterior::extract_variable_matrix(draws, name))
    }
    expect_equal(out$mc_se[[l]], se(paste0("lambda[", l, "]")))
    expect_equal(out$inclusion_se[[l]], se(paste0("delta[", l, "]")))
  }
  expect_match(capture.output(print(out)), "mc_se", all = FALSE)
  # Draws that are all equal say nothing about their error.
  plain <- importance(effect_fit(y ~ ., effect_data,
    prior = bark_prior_paper("different")
  ))
  expect_true(all(is.na(plain$inclusion_se)))
})

test_that("draws from the prior have its laws", {
  # Null: Kolmogorov's and binomial tests, 5 in each of 6 cases: p < 1e-6 in one
  # of them has probability 3e-5.
  x <- matrix(stats::qnorm(stats::ppoints(36)), 12)
  y <- sin(x[, 1])
  ks <- function(...) suppressWarnings(stats::ks.test(...))$p.value
  priors <- list(
    bark_prior_paper(), bark_prior_paper("equal", alpha = 1.5),
    bark_prior_paper("select_equal", own_scales = TRUE, selection = c(2, 1)),
    bark_prior_paper("different", centres = centre_near_rows(0.3, intercept = 0.4)),
    bark_prior_paper("select_different", directions = 2),
    bark_prior_paper("different", approximation = "truncation",
      n_kernels = 20, discrepancy = 0.1
    )
  )
  for (prior in priors) {
    fit <- suppressMessages(bark(x, y, prior = prior, seed = 1,
      control = mcmc_control(1, 1, 1)
    ))
    known <- fit$settings$prior
    pool <- with_local_seed(3, draw_bark_pool(fit, 2000))
    size <- if (is_truncated(fit)) {
      (abs(pool$beta) / known$eps)^(-known$alpha)
    } else {
      stats::pt(pool$beta / known$eps, known$alpha)
    }
    own <- if (has_own_scales(fit)) "own_" else ""
    p <- n_inputs(fit)
    included <- matrix(pool[[paste0(own, "included")]], p)
    lambda <- exp(matrix(pool[[paste0(own, "log_lambda")]], p)) * included
    d <- colSums(included)
    total <- stats::pgamma(colSums(lambda)[d > 0], known$A, known$B)
    expected <- intercept_expected(known, 12)
    none <- tapply(
      c(pool$location == 0, logical(2000)),
      c(rep(1:2000, pool$m), 1:2000), any
    )
    share <- if (bark_selects(known$type)) known$a_p / (known$a_p + known$b_p)
    scores <- c(
      size = ks(size, "punif"), total = ks(total, "punif"),
      J = stats::poisson.test(sum(pool$m), 2000, known$nu)$p.value,
      intercept = stats::binom.test(sum(none), 2000, expected)$p.value,
      included = if (!is.null(share)) {
        # Predictors of a draw are dependent, so only the first is tested.
        stats::binom.test(sum(included[1, ]), ncol(included), share)$p.value
      }
    )
    expect_gt(min(scores), 1e-6, label = paste(
      known$type, names(which.min(scores))
    ))
    f <- bark_values(fit, x, pool, "draw")$mean
    expect_identical(dim(f), c(12L, 2000L))
    expect_true(all(is.finite(f)))
  }
})

test_that("the prior's share agrees with chains without data", {
  skip_unless_extended()
  # Null: differences of two means divided by their standard errors, one of them
  # from an effective sample size of some hundreds: |z| > 5.5 in one of 3
  # predictors has a probability below 1e-5. A slope would always have an effect.
  alone <- suppressWarnings(bark(y ~ ., effect_data,
    prior = bark_prior(linear = 0), prior_only = TRUE, seed = 1,
    control = mcmc_control(4, 500, 40000, thin = 10)
  ))
  out <- importance(alone, ndraws = 16000)
  share <- out$effect_prior
  se <- sqrt(out$effect_se^2 + share * (1 - share) / 16000)
  expect_lt(max(abs(out$effect - out$effect_prior) / se), 5.5)
})
