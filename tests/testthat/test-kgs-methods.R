# Methods of kgs fits, against values computed by hand from the draws.
#
# Seen to fail: rates of the label's own class for wrong labels, q instead of q
# / (C - 1), labels drawn without noise, residuals of the other class.

data <- kgs_example()
fits <- kgs_fits()

test_that("print is short", {
  for (fit in fits) {
    out <- capture.output(value <- withVisible(print(fit)))
    expect_lte(length(out), 15)
    expect_lte(max(nchar(out)), 80)
    expect_identical(value$value, fit)
    expect_false(value$visible)
    expect_match(out, "wrong labels: ", all = FALSE)
  }
  expect_match(capture.output(print(fits$line)), "q\\[0\\] ", all = FALSE)
  expect_match(capture.output(print(fits$hard)), "noise:  0$", all = FALSE)
  expect_match(capture.output(print(fits$nugget)), "nugget:       0.3", all = FALSE)
  expect_match(capture.output(print(fits$low_rank)), "unexplained", all = FALSE)
  wide <- stats::setNames(data[c("x1", "x2")], strrep(c("a", "b"), 70))
  out <- capture.output(print(kgs_quick(wide, paste0(data$y, strrep("z", 90)))))
  expect_lte(max(nchar(out)), 80)
})

test_that("summary adds parameters, labels and mixing", {
  for (fit in fits) {
    out <- summary(fit)
    expect_s3_class(out, "summary.kb_kgs")
    expect_identical(out$parameters, tidy(fit))
    expect_identical(out$label_noise, label_noise(fit))
    expect_identical(
      as.vector(out$confusion), as.vector(table(fit$data$y, predict(fit)))
    )
    expect_output(value <- withVisible(print(out)), "Training rows")
    expect_false(value$visible)
  }
  expect_identical(
    summary(fits$moons, level = 0.5)$parameters, tidy(fits$moons, conf.level = 0.5)
  )
  expect_error(summary(fits$moons, level = 2), class = "kb_error_argument")
})

test_that("fitted, residuals, nobs, formula", {
  for (fit in fits) {
    expect_identical(fitted(fit), predict(fit))
    expect_identical(nobs(fit), 40L)
  }
  expect_equal(
    residuals(fits$moons),
    (data$side == "right") - predict(fits$moons, type = "prob")[, "right"]
  )
  p <- predict(fits$three, type = "prob")
  expect_equal(
    residuals(fits$three), 1 - p[cbind(1:40, as.integer(data$three))]
  )
  expect_equal(formula(fits$moons), side ~ x1 + x2, ignore_attr = TRUE)
  expect_error(formula(fits$line), class = "kb_error_not_defined")
})

test_that("logLik is for the recorded labels", {
  for (fit in fits) {
    p <- predict(fit, type = "prob")
    exact <- sum(log(p[cbind(1:40, as.integer(fit$data$y))]))
    expect_equal(as.numeric(logLik(fit)), exact)
    expect_identical(attr(logLik(fit), "nobs"), 40L)
  }
  expect_identical(attr(logLik(fits$moons), "df"), 40)
  expect_identical(attr(logLik(fits$line), "df"), 14 - 1 + 2)
  expect_identical(attr(logLik(fits$three), "df"), 120)
})

test_that("requests without meaning are refused", {
  fit <- fits$moons
  for (f in list(sigma, inclusion, model_size, ancestry)) {
    expect_error(f(fit), class = "kb_error_not_defined")
  }
})

# Draws ------------------------------------------------------------------------

test_that("draws agree with the chains", {
  for (fit in fits) {
    draws <- as_draws(fit)
    expect_s3_class(draws, "draws_df")
    expect_identical(as_draws_df(fit), draws)
    expect_identical(posterior::nchains(draws), 2L)
    expect_identical(posterior::ndraws(draws), 80L)
    pool <- posterior_pool(fit)
    expect_equal(draws$errors, rowSums(pool$wrong))
    table <- as.data.frame(draws)
    rates <- table[startsWith(names(table), "q")]
    expect_equal(unname(as.matrix(rates)), pool$rates, ignore_attr = TRUE)
    expect_identical(table$.chain, rep(1:2, each = 40))
    expect_identical(table$.iteration, rep(1:40, 2))
    f <- predict(fit, type = "draws")
    if (length(dim(f)) == 3) f <- f[, , 1]
    expect_equal(draws[["f[18]"]], f[, 18])
  }
  expect_true(all(as_draws(fits$factor)$q == 0.15))
  expect_true(all(c("q[0]", "q[1]") %in%
    posterior::variables(as_draws(fits$line))))
})

test_that("log_lik of a draw is the log likelihood of its labels", {
  # If the span holds all training points, f decides each label.
  for (name in c("moons", "line", "factor", "three", "hard")) {
    fit <- fits[[name]]
    f <- predict(fit, type = "draws")
    q <- posterior_pool(fit)$rates
    if (ncol(q) == 1) q <- cbind(q, q)
    y <- as.integer(fit$data$y)
    exact <- vapply(seq_len(nrow(q)), function(s) {
      if (name == "three") {
        right <- apply(f[s, , ], 1, which.max) == y
        return(sum(log(ifelse(right, 1 - q[s, 1], q[s, 1] / 2))))
      }
      true <- 1 + (f[s, ] > 0)
      sum(log(ifelse(true == y, 1 - q[s, true], q[s, true])))
    }, 0)
    expect_equal(as_draws(fit)$log_lik, exact, label = name)
  }
})

test_that("diagnostics, ess and timings", {
  for (fit in fits) {
    out <- diagnostics(fit)
    expect_identical(out$chains, 2L)
    expect_identical(out$draws, c(40L, 40L))
    expect_length(out$acceptance, 0)
    expect_output(print(out), "2 chains, 80 draws")
    expect_identical(out$convergence, ess(fit))
    expect_identical(names(timings(fit)), c("sampler", "chains", "total"))
    expect_identical(ess(fit)$variable[[1]], "errors")
  }
  expect_identical(ess(fits$line)$variable[2:3], c("q[0]", "q[1]"))
  one <- kgs_quick(data$x1, data$y, chains = 1)
  expect_length(diagnostics(one)$acceptance, 0)
})

test_that("tidy and glance", {
  table <- tidy(fits$moons, conf.level = 0.8)
  expect_identical(table$term, c("q", "errors"))
  draws <- as_draws(fits$moons)
  expect_equal(table$estimate, c(mean(draws$q), mean(draws$errors)))
  expect_equal(table$std.error, c(stats::sd(draws$q), stats::sd(draws$errors)))
  expect_equal(
    unlist(table[1, c("conf.low", "conf.high")], use.names = FALSE),
    stats::quantile(draws$q, c(0.1, 0.9), names = FALSE)
  )
  expect_identical(tidy(fits$factor)$term, "errors")
  expect_identical(tidy(fits$line)$term, c("q[0]", "q[1]", "errors"))
  for (fit in fits) {
    one <- glance(fit)
    expect_identical(names(one), c(
      "nobs", "classes", "rank", "q", "errors", "rhat", "ess_bulk", "draws",
      "seconds"
    ))
    expect_identical(one$draws, 80L)
    expect_equal(one$q, mean(posterior_pool(fit)$rates))
  }
  expect_identical(glance(fits$three)$classes, 3L)
  expect_identical(glance(fits$low_rank)$rank, 12L)
})

test_that("augment", {
  out <- augment(fits$moons)
  expect_identical(out$side, data$side)
  expect_identical(out$.class, predict(fits$moons))
  expect_equal(out$.prob_left, 1 - out$.prob_right)
  expect_equal(out$.resid, residuals(fits$moons))
  expect_identical(
    as.matrix(out[c(".prob_left", ".prob_right")]),
    predict(fits$moons, type = "prob"),
    ignore_attr = TRUE
  )
  same <- augment(fits$moons, newdata = data)
  expect_identical(same[names(data)], data)
  expect_equal(same$.resid, out$.resid)
  expect_identical(augment(fits$moons, data), same)
  new <- augment(fits$moons, newdata = data[c("x1", "x2")])
  expect_false(".resid" %in% names(new))
  votes <- augment(fits$low_rank, complement = FALSE)
  expect_equal(
    votes$.prob_right,
    predict(fits$low_rank, type = "prob", complement = FALSE)[, 2]
  )
  # With rates by class the most probable label may be that of the other class.
  by_class <- kgs_by_class()
  out <- augment(by_class)
  expect_identical(out$.class, predict(by_class))
  expect_equal(out$.prob_right, predict(by_class, type = "prob")[, 2],
    ignore_attr = TRUE
  )
  expect_false(identical(out$.class, factor(
    ifelse(out$.prob_right > 0.5, "right", "left")
  )))
  three <- augment(fits$three)
  expect_identical(
    names(three)[5:7], c(".prob_low", ".prob_mid", ".prob_high")
  )
  expect_equal(three$.resid, residuals(fits$three))
  holes <- transform(data, x1 = replace(x1, 2, NA))
  out <- augment(fits$moons, newdata = holes)
  expect_identical(which(is.na(out$.class)), 2L)
  expect_identical(which(is.na(out$.resid)), 2L)
  expect_error(augment(fits$moons, data, data), class = "kb_error_argument")
  expect_error(augment(fits$moons, level = 0.9),
    class = "kb_error_unknown_argument"
  )
})

# New labels -------------------------------------------------------------------

test_that("simulate draws labels, wrong ones included", {
  sims <- simulate(fits$moons, 3, seed = 2)
  expect_identical(dim(sims), c(40L, 3L))
  expect_identical(names(sims), paste0("sim_", 1:3))
  expect_identical(levels(sims$sim_1), c("left", "right"))
  expect_identical(simulate(fits$moons, 3, seed = 2), sims)
  expect_identical(levels(simulate(fits$three, seed = 1)$sim_1), c(
    "low", "mid", "high"
  ))
  # Without noise every draw has all labels right.
  hard <- simulate(fits$hard, 5, seed = 3)
  expect_true(all(vapply(hard, identical, NA, data$clean)))
  # Null: given the posterior, the share of the second label at each row has
  # probability "prob"; |z| < 5 at 40 rows: 2e-5.
  sims <- simulate(fits$moons, 2000, seed = 4)
  share <- rowMeans(vapply(sims, function(v) v == "right", logical(40)))
  p <- predict(fits$moons, type = "prob")[, "right"]
  expect_lt(max(abs(share - p) / sqrt(p * (1 - p) / 2000)), 5)
})

test_that("draws of labels follow their probabilities", {
  p <- array(c(0.2, 0.5, 0.3), c(1, 1, 3))[rep(1, 100), rep(1, 100), ]
  out <- with_local_seed(5, draw_labels(p))
  expect_identical(dim(out), c(100L, 100L))
  # Null: chi-square with 2 degrees of freedom, 1e-5.
  test <- stats::chisq.test(table(out), p = c(0.2, 0.5, 0.3))
  expect_gt(test$p.value, 1e-5)
  p[1, 1, ] <- NA
  expect_identical(which(is.na(draw_labels(p))), 1L)
})

test_that("rstantools: means agree with predict()", {
  skip_if_not_installed("rstantools")
  epred <- rstantools::posterior_epred
  new <- sim_moons(7, seed = 8)
  new$g <- "a"
  for (fit in fits[c("moons", "factor", "nugget", "hard")]) {
    p <- epred(fit, new)
    expect_identical(dim(p), c(80L, 7L))
    expect_equal(
      colMeans(p), unname(predict(fit, new, type = "prob")[, 2])
    )
    expect_identical(dim(epred(fit, ndraws = 11)), c(11L, 40L))
  }
  p <- epred(fits$three, new)
  expect_identical(dim(p), c(80L, 7L, 3L))
  expect_identical(dimnames(p)[[3]], c("low", "mid", "high"))
  expect_equal(
    apply(p, 2:3, mean), predict(fits$three, new, type = "prob")
  )
  holes <- transform(new, x1 = replace(x1, 3, NA))
  expect_identical(which(is.na(epred(fits$moons, holes)[1, ])), 3L)
})

test_that("rstantools: new labels", {
  skip_if_not_installed("rstantools")
  predict_labels <- rstantools::posterior_predict
  fit <- fits$moons
  y <- predict_labels(fit, seed = 3)
  expect_identical(dim(y), c(80L, 40L))
  expect_true(all(y %in% 0:1))
  expect_identical(predict_labels(fit, seed = 3), y)
  # Null: labels are independent given the draws; |z| < 5: 6e-7.
  p <- rstantools::posterior_epred(fit)
  expect_lt(abs(sum(y - p)) / sqrt(sum(p * (1 - p))), 5)
  expect_true(all(predict_labels(fits$three, seed = 3) %in% 1:3))
  expect_identical(dim(predict_labels(fits$three, data[1, ], 1)), c(1L, 1L))
})

test_that("rstantools: log probabilities of labels", {
  skip_if_not_installed("rstantools")
  log_lik <- rstantools::log_lik
  for (name in c("moons", "line", "factor", "three", "hard")) {
    expect_equal(
      rowSums(log_lik(fits[[name]])), as_draws(fits[[name]])$log_lik,
      label = name
    )
  }
  expect_identical(log_lik(fits$moons, data), log_lik(fits$moons))
  x <- as.matrix(data[c("x1", "x2")])
  expect_identical(log_lik(fits$low_rank, x, data$side), log_lik(fits$low_rank))
  expect_equal(
    log(colMeans(exp(log_lik(fits$nugget)))),
    predict(fits$nugget, type = "log_score")
  )
  holes <- transform(data, x1 = replace(x1, 2, NA))
  expect_identical(which(is.na(log_lik(fits$moons, holes)[1, ])), 2L)
  expect_identical(dim(log_lik(fits$three, data[1, ], ndraws = 1)), c(1L, 1L))
})

test_that("unknown arguments are errors", {
  fit <- fits$moons
  calls <- list(
    summary, fitted, residuals, logLik, coef, as_draws, tidy, glance, augment,
    simulate, ess, diagnostics, timings, label_noise, bayes_point, reject_curve
  )
  for (f in calls) {
    expect_error(f(fit, wrong = 1), class = "kb_error_unknown_argument")
  }
})
