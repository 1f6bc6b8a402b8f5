# Two classes by probit: the proposal as a pure function, whole runs against
# orthant probabilities of all sets, then the results of fits.

x <- c(0.3, -1.7, 2.1, -0.4, 1.2)
x_repeated <- c(0.3, -1.7, 0.3, 2.1, -0.4, -1.7)
y <- c(1, -1, 1, -1, 1)
y_repeated <- c(1, -1, 1, 1, -1, 1)

# The oracle -------------------------------------------------------------------

test_that("the oracle's probabilities agree with closed forms", {
  phi <- cbind(1, kern(x[1:3], x[2:3]))
  orthant <- function(n) {
    v <- diag(n) + 0.8 * tcrossprod(phi[1:n, ])
    r <- stats::cov2cor(v) * outer(y[1:n], y[1:n])
    angle <- sum(asin(r[lower.tri(r)]))
    if (n == 2) 1 / 4 + angle / (2 * pi) else 1 / 8 + angle / (4 * pi)
  }
  for (n in 2:3) {
    rule <- probit_integrals(y[1:n], phi[1:n, ], 0.8, nodes = 30)
    expect_equal(rule, orthant(n), tolerance = 1e-7)
  }
  # Both classes of a further row.
  one <- probit_integrals(y[1:3], phi, 0.8, phi[2:3, ], nodes = 30)
  with <- vapply(2:3, function(i) {
    probit_integrals(c(y[1:3], 1), phi[c(1:3, i), ], 0.8, nodes = 30)
  }, 0)
  expect_equal(one[c(4, 7)], with, tolerance = 1e-5)
})

# The proposal -----------------------------------------------------------------

z_at <- c(0.4, -1.1, 0.7, -0.2, 1.3, 0.6)

test_that("the weight uses both branches, the draw only the one taken", {
  # Null: each p-value is uniform; below 1e-8 with probability 1e-8, and there
  # are fewer than 1000 of them.
  least <- 1
  for (window in c(Inf, 3)) for (centres in c("subset", "iid")) {
    for (intercept in c(TRUE, FALSE)) for (t in c(2, 4, 6)) {
      model <- oracle_model(
        x_repeated, y_repeated, kern, 1.3, 2, centres, 1, 0.8, intercept
      )
      memory <- srvm_memory(window = window)
      config <- stream_config(x_repeated, y_repeated, model, memory,
        n_moves = t %% 4, response = "probit"
      )
      now <- last_rows(t - 1, window)
      left <- setdiff(last_rows(t, window), t)
      # Remaining candidates when row t comes in, by their first row.
      points <- left[!duplicated(x_repeated[left])]
      known <- srvm_drop_cpp(config, as.matrix(x_repeated), y_repeated, t,
        integer(), 1, 0.8, by_place(z_at, now, window)
      )$after
      expect_setequal(x_repeated[known], x_repeated[points])
      for (S in row_subsets(known, 2)) {
        out <- srvm_probit_cpp(config, as.matrix(x_repeated), y_repeated, t,
          rev(S), 0.8, by_place(z_at, now, window), c("7", "0", "0"), 300
        )
        exact <- probit_branches(
          S, x_repeated, y_repeated, z_at, t, known, model, window
        )
        logs <- c(exact$stay$log, exact$join$log)
        expect_lt(max(abs(out$log_weight - log_sum_exp(logs))), 1e-11)
        expect_lt(out$drift, 1e-11)
        p <- if (length(logs) == 1) 0 else exp(logs[[2]] - log_sum_exp(logs))
        joined <- out$joined == 1
        tail <- stats::binom.test(sum(joined), 300, p)$p.value
        # Latent responses: uniform by their distribution function.
        f <- ifelse(joined, exact$join$f$mean, exact$stay$f$mean)
        sd <- ifelse(joined, exact$join$f$sd, exact$stay$f$sd)
        sign <- y_repeated[[t]]
        expect_true(all(out$latent * sign > 0))
        u <- stats::pnorm(-sign * out$latent, -sign * f, sd) /
          stats::pnorm(0, -sign * f, sd)
        least <- min(least, tail, stats::ks.test(u, "punif")$p.value)
      }
    }
  }
  expect_gt(least, 1e-8)
})

test_that("the weights of leaving data are exact for every set", {
  for (memory in list(
    srvm_memory(window = 3), srvm_memory(window = 2), srvm_memory(window = 1),
    srvm_memory(candidates = 2), srvm_memory(window = 4, candidates = 2)
  )) for (intercept in c(TRUE, FALSE)) for (n_moves in c(0, 1)) {
    model <- oracle_model(x_repeated, y_repeated, kern, 1.3, 2,
      if (n_moves > 0) "iid" else "subset", 1, 0.8,
      intercept = intercept
    )
    for (t in 2:6) {
      # Without rows there is nothing to condition on.
      if (memory$window == 1) next
      worst <- drop_probit_defect(
        x_repeated, y_repeated, z_at, t, model, memory, n_moves
      )
      expect_lt(max(worst), 1e-10)
    }
  }
})

# Whole runs -------------------------------------------------------------------

# Null: unbiased estimates, each z-score nearly t with 39 degrees of freedom:
# |z| > 6.5 has probability 1.0e-7; fewer than 500 scores in this file. The
# quadrature's error is below a hundredth of the standard errors.
expect_probit <- function(control, ..., at = x, signs = y) {
  expect_lt(max(abs(probit_against_oracle(at, signs, control, ...))), 6.5)
}

control_of <- function(n_moves, ...) smc_control(400, n_moves = n_moves, ...)

test_that("runs agree with orthant probabilities, with and without moves", {
  expect_probit(control_of(0))
  expect_probit(control_of(4, resample_every_step = TRUE))
  expect_probit(control_of(4, sweep_every = 3), kmax = 2, centres = "iid")
})

test_that("runs agree with repeated points and no intercept", {
  for (n_moves in c(0, 4)) {
    expect_probit(control_of(n_moves),
      at = x_repeated, signs = y_repeated, intercept = FALSE
    )
  }
  expect_probit(control_of(0), at = x_repeated, signs = y_repeated, kmax = 2)
})

test_that("runs agree with an unknown variance and a learned rate", {
  expect_probit(control_of(0), coef = ig(3, 2), kmax = 2)
  expect_probit(control_of(4),
    coef = ig(3, 2), kmax = 2, lambda = oracle_learned_lambda(1, 0.3),
    at = x_repeated, signs = y_repeated, intercept = FALSE
  )
})

test_that("runs in a window agree given its rows", {
  for (n_moves in c(0, 4)) {
    expect_probit(control_of(n_moves),
      memory = srvm_memory(window = 3), at = x_repeated, signs = y_repeated
    )
  }
  expect_probit(control_of(4, sweep_every = 2),
    memory = srvm_memory(window = 4), coef = ig(3, 2), kmax = 2
  )
  expect_probit(control_of(0), memory = srvm_memory(window = 1))
  expect_probit(control_of(3),
    memory = srvm_memory(window = 2), intercept = FALSE
  )
})

test_that("prequential scores are probabilities of both classes", {
  p <- vapply(0:1, function(last) {
    classes <- factor(c(y[1:4], c(-1, 1)[last + 1]))
    fit <- few_particles(srvm(as.matrix(x), classes,
      kernel = kernel_gaussian(0.9), control = smc_control(50, n_moves = 1),
      seed = 1
    ))
    exp(prequential(fit)$log_predictive[[5]])
  }, 0)
  expect_equal(sum(p), 1)
  # Only an intercept: the first row is a coin.
  known <- srvm(as.matrix(x), factor(y),
    kernel = kernel_gaussian(0.9), control = smc_control(2, n_moves = 0),
    prior = srvm_prior(1, 0, coef = fixed_variance(1)), seed = 1
  )
  expect_equal(prequential(known)$log_predictive[[1]], log(0.5))
})

# update() ---------------------------------------------------------------------

data <- withr::with_seed(3, {
  x <- round(stats::runif(60, -3, 3), 1)
  p <- stats::pnorm(2 * sin(x))
  data.frame(x = x, class = factor(
    ifelse(stats::runif(60) < p, "yes", "no"), c("no", "yes")
  ))
})

fit_classes <- function(rows = 1:60, particles = 60, n_moves = 2, ...) {
  few_particles(srvm(class ~ x, data[rows, ],
    control = smc_control(particles, n_moves = n_moves, ...), seed = 3,
    kernel = kernel_gaussian(0.7)
  ))
}

test_that("update() in any split equals one fit", {
  for (memory in list(
    srvm_memory(), srvm_memory(window = 10), srvm_memory(window = 1),
    srvm_memory(candidates = 5), srvm_memory(window = 12, candidates = 1)
  )) for (n_moves in c(0, 2)) {
    control <- smc_control(30, n_moves = n_moves, sweep_every = 1 + n_moves)
    x <- as.matrix(data$x)
    all <- few_particles(srvm(x, data$class,
      control = control, seed = 3, memory = memory,
      kernel = kernel_gaussian(0.7)
    ))
    # The first row has only one class.
    for (ends in list(c(1, 7, 30, 60), 1:60)) {
      part <- few_particles(srvm(x[1, , drop = FALSE], data$class[1],
        control = control, reference = all, seed = 3
      ))
      for (i in seq_along(ends)[-1]) {
        rows <- (ends[[i - 1]] + 1):ends[[i]]
        part <- unserialize(serialize(part, NULL))
        part <- few_particles(
          update(part, newx = x[rows, , drop = FALSE], newy = data$class[rows])
        )
      }
      expect_same_fit(part, all)
    }
    two <- control
    two$threads <- 2L
    expect_same_fit(few_particles(srvm(x, data$class,
      control = two, reference = all, seed = 3
    )), all)
  }
})

test_that("update() takes factors, text, and rows of one class", {
  fit <- fit_classes(1:40)
  one <- data[41:60, ][data$class[41:60] == "yes", ]
  more <- few_particles(update(fit, newdata = one))
  expect_identical(nobs(more), 40L + nrow(one))
  text <- transform(one, class = as.character(class))
  expect_same_fit(few_particles(update(fit, newdata = text)), more)
  expect_error(
    update(fit, newdata = data.frame(x = 1, class = "maybe")),
    class = "kb_error_outcome"
  )
})

# Results of fits --------------------------------------------------------------

test_that("predictions of every type agree with each other", {
  fit <- fit_classes(particles = 200)
  new <- data.frame(
    x = c(-1.5, 0, NA, 1.5), class = c("no", "yes", "no", "yes")
  )
  p <- predict(fit, new, type = "response")
  expect_identical(is.na(p), c(FALSE, FALSE, TRUE, FALSE))
  both <- predict(fit, new, type = "prob")
  expect_identical(colnames(both), c("no", "yes"))
  expect_equal(both[, "yes"], p)
  expect_equal(rowSums(both)[-3], c(1, 1, 1))
  class <- predict(fit, new)
  expect_identical(class, predict(fit, new, type = "class"))
  expect_identical(levels(class), c("no", "yes"))
  expect_identical(class == "yes", p > 0.5)
  expect_equal(
    exp(predict(fit, new, type = "log_score")),
    ifelse(new$class == "yes", both[, "yes"], both[, "no"])
  )
  link <- predict(fit, new, type = "link", interval = "credible")
  expect_equal(link[, "fit"], predict(fit, new, type = "link"))
  limits <- predict(fit, new, type = "response", interval = "credible")
  expect_equal(limits[, "lwr"], stats::pnorm(link[, "lwr"]))
  expect_equal(limits[, "upr"], stats::pnorm(link[, "upr"]))
  cube <- predict(fit, new, type = "prob", interval = "credible")
  expect_identical(dim(cube), c(4L, 2L, 3L))
  draws <- predict(fit, new, type = "draws", ndraws = 50)
  expect_identical(dim(draws), c(50L, 4L))
  # The signal is strong: class "no" at -1.5, "yes" at 1.5.
  expect_lt(p[[1]], 0.3)
  expect_gt(p[[4]], 0.7)
  expect_error(predict(fit, new, type = "quantile"),
    class = "kb_error_argument"
  )
  expect_error(predict(fit, new, interval = "prediction"),
    class = "kb_error_argument"
  )
})

test_that("classes have no scale and no noise", {
  fit <- fit_classes()
  expect_identical(sigma(fit), 1)
  expect_equal(fit$settings$scaling$y_scale, 1)
  expect_equal(
    as.double(logLik(fit)), sum(predict(fit, type = "log_score"))
  )
  expect_output(print(fit), "probit")
  expect_false(any(grepl("noise sd", utils::capture.output(print(fit)))))
  expect_output(print(summary(fit)), "Most relevant centres")
  expect_false("sigma" %in% generics::tidy(fit)$term)
  for (type in c("fit", "ess", "k", "evidence", "centres", "trace")) {
    grDevices::pdf(NULL)
    expect_no_error(plot(fit, type = type))
    grDevices::dev.off()
  }
})

test_that("simulations and other packages' generics handle classes", {
  fit <- fit_classes()
  sims <- simulate(fit, 3, seed = 1)
  expect_identical(dim(sims), c(60L, 3L))
  expect_identical(levels(sims[[1]]), c("no", "yes"))
  expect_length(residuals(fit), 60)
  augmented <- generics::augment(fit, data)
  expect_identical(nrow(augmented), 60L)
  skip_if_not_installed("rstantools")
  p <- rstantools::posterior_epred(fit, data[1:3, ])
  expect_true(all(p > 0 & p < 1))
  new <- rstantools::posterior_predict(fit, data[1:3, ], seed = 1)
  expect_true(all(new %in% 0:1))
  expect_equal(dim(rstantools::log_lik(fit)), c(60L, 60L))
  # Equal-weight draws average to the predictive probability.
  expect_equal(
    colMeans(p), predict(fit, data[1:3, ], type = "response"),
    tolerance = 0.2
  )
})

test_that("requests without meaning for two classes are refused", {
  bad <- function(..., class = "kb_error_argument", y = data$class) {
    expect_error(srvm(as.matrix(data$x), y, seed = 1, ...), class = class)
  }
  bad(prior = srvm_prior(noise = ig(1, 1)))
  bad(prior = srvm_prior(noise = fixed_variance(1)))
  bad(prior = srvm_prior(scaled = TRUE))
  bad(
    kernel = kernel_gaussian(1),
    control = smc_control(20, proposal = "birth_death")
  )
  bad(
    kernel = kernel_gaussian(1), prior = srvm_prior(2),
    control = smc_control(20, proposal = "paper")
  )
  bad(memory = srvm_memory(forgetting = 0.9))
  bad(y = factor(rep(1:3, 20)), class = "kb_error_outcome")
  bad(y = factor(rep("a", 60)), class = "kb_error_outcome")
  bad(y = rep(0:1, 30), family = "probit", class = "kb_error_outcome")
  bad(family = gaussian(), class = "kb_error_outcome")
  bad(family = binomial())
  fit <- fit_classes(particles = 10)
  expect_error(
    srvm(class ~ x, transform(data, class = rep(c("a", "b"), 30)),
      reference = fit, seed = 1
    ),
    class = "kb_error_argument"
  )
  expect_error(
    srvm(class ~ x, transform(data, class = x), reference = fit, seed = 1),
    class = "kb_error_outcome"
  )
})

test_that("text and logical responses are classes", {
  fit <- function(y) {
    few_particles(srvm(as.matrix(data$x), y,
      kernel = kernel_gaussian(0.7), control = smc_control(20), seed = 1
    ))
  }
  factor <- fit(data$class)
  expect_identical(
    evidence(fit(as.character(data$class)))$path, evidence(factor)$path
  )
  expect_identical(evidence(fit(data$class == "yes"))$path,
    evidence(factor)$path
  )
})

# Calibration ------------------------------------------------------------------

test_that("f and k are calibrated", {
  skip_unless_extended()
  # Null: 600 independent uniform numbers in 12 bins, up to the error of the
  # particles; chi-square, 1e-4 over both (Bonferroni).
  at <- withr::with_seed(1, stats::runif(30, -3, 3))
  u <- withr::with_seed(21, vapply(1:600, function(r) {
    k <- min(stats::rpois(1, 2), 6)
    while (k > 6) k <- stats::rpois(1, 2)
    set <- sample(30, k)
    coef <- 1 / stats::rgamma(1, 3, 2)
    beta <- stats::rnorm(k + 1, 0, sqrt(coef))
    f <- function(x) drop(cbind(1, kern(x, at[set])) %*% beta)
    y <- ifelse(f(at) + stats::rnorm(30) > 0, 1, -1)
    if (length(unique(y)) == 1) {
      return(c(NA, NA))
    }
    fit <- suppressWarnings(srvm(as.matrix(at), factor(y, c(-1, 1)),
      kernel = kernel_gaussian(0.9), scale = FALSE, seed = r,
      prior = srvm_prior(2, 6, coef = ig(3, 2)),
      control = smc_control(500, n_moves = 5)
    ))
    pool <- srvm_pool(fit)
    m <- srvm_moments(fit, as.matrix(0.5), pool)
    c(
      sum(pool$weights *
        stats::pnorm(f(0.5), drop(m$mean), sqrt(drop(m$variance)))),
      sum(pool$weights * (pool$k < k)) +
        stats::runif(1) * sum(pool$weights * (pool$k == k))
    )
  }, numeric(2)))
  p <- apply(u, 1, function(u) {
    count <- tabulate(pmin(floor(u * 12) + 1, 12), 12)
    stats::chisq.test(count)$p.value
  })
  expect_gt(min(p) * 2, 1e-4)
})
