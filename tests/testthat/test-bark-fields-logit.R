# bark() of several classes with a logit link: its sampler, exact posteriors,
# and what users see.
#
# Seen to fail, one fault at a time: the own field among the others of (B137);
# others as they were at the start of the sweep, or derivatives of the turn
# before; a shift (B138) with the standard deviation of one field, or one that
# leaves f as it was; the spread of the pool stretched without its Jacobian;
# weights of rows ignored.

# The sampler ------------------------------------------------------------------

logit_pairs <- if (extended()) 30000 else 3000

# Terms of each of three fields, of five rows
logit_terms <- function(groups = FALSE) {
  grouping <- list(
    group = c(1, 1, 2, 2, 2), count = 2, z = matrix(1, 5), scale = 0.7
  )
  list(
    linear = cbind(1, c(0.5, -1, 1, 0.2, -0.7)), linear_sd = c(1, 0.6),
    groupings = if (groups) list(grouping) else list()
  )
}

# Scores of a move; with `again` classes are drawn before each
logit_scores <- function(prior, groups, move) {
  turns <- c(field = 6, shift = 1, sweep = 3)[[move]]
  paired_scores(bark_glm_fields_pairs_cpp(
    logit_terms(groups), prior, five_rows, 3, move, turns, logit_pairs, 5,
    move == "sweep"
  ))
}

logit_setting <- function(...) {
  bark_setting("select_different",
    own_scales = TRUE, nu = 1.5, alpha = 8, eps = 1, ...
  )
}

test_that("moves leave the joint law of fields and classes invariant", {
  # Null: sums over independent pairs over their root mean square are normal, up
  # to rare large terms; about 1000 per call in 6 calls (12 if extended).
  # |z| > 6.2 has probability 6e-10 each.
  priors <- list(
    own = logit_setting(), pooled = logit_setting(pool = pool_prior)
  )
  for (name in names(priors)) {
    for (groups in if (extended()) c(FALSE, TRUE) else name == "pooled") {
      for (move in c("field", "shift", "sweep")) {
        z <- logit_scores(priors[[name]], groups, move)
        expect_lt(max(abs(z)), 6.2, label = paste(name, groups, move))
      }
    }
  }
})

# Exact posteriors -------------------------------------------------------------

class_data <- function(n = 24) {
  withr::with_seed(7, {
    data <- data.frame(a = stats::runif(n, -1, 1), z = stats::rnorm(n))
    f <- cbind(0, 2 * data$a, 2 * data$a^2 - 0.5)
    data$class <- factor(
      c("none", "one", "two")[max.col(f - log(stats::rexp(3 * n)))]
    )
    data$g <- factor(rep(c("u", "v", "w"), length.out = n))
    data$w <- rep(c(2, 1, 1), length.out = n)
    data
  })
}

# Means of functions of normal variables: nodes with log weights, one per row
hermite_grid <- function(dimension, points = 12) {
  off <- sqrt(seq_len(points - 1))
  jacobi <- diag(0, points)
  jacobi[cbind(seq_along(off), seq_along(off) + 1)] <- off
  roots <- eigen(jacobi + t(jacobi), symmetric = TRUE)
  log_weight <- 2 * log(abs(roots$vectors[1, ]))
  grid <- as.matrix(expand.grid(rep(list(seq_len(points)), dimension)))
  list(
    at = matrix(roots$values[grid], nrow(grid)),
    log_weight = rowSums(matrix(log_weight[grid], nrow(grid)))
  )
}

#' Posterior means of functions of differences of linear coefficients from those
#' of the first class, by quadrature around the mode
#' @param design n x q, the same for all classes.
#' @param wanted A function of a matrix with a row per point and q (C - 1)
#'   columns, class by class.
#' @noRd
class_quadrature <- function(design, y, weights, sd, wanted) {
  q <- ncol(design)
  others <- max(y) - 1
  # Of d_k = gamma_k - gamma_1
  precision <- kronecker(solve(diag(others) + 1), diag(1 / sd^2, q))
  log_p <- function(d) {
    f <- lapply(seq_len(others), function(k) {
      d[, (k - 1) * q + seq_len(q), drop = FALSE] %*% t(design)
    })
    softmax(c(list(0 * f[[1]]), f), log = TRUE)
  }
  log_posterior <- function(d) {
    each <- log_p(d)
    seen <- vapply(seq_along(y), function(i) {
      each[, i, y[[i]]]
    }, numeric(nrow(d)))
    drop(matrix(seen, nrow(d)) %*% weights) - rowSums((d %*% precision) * d) / 2
  }
  best <- stats::optim(numeric(q * others),
    function(d) -log_posterior(matrix(d, 1)),
    method = "BFGS", hessian = TRUE, control = list(reltol = 1e-12)
  )
  grid <- hermite_grid(q * others)
  d <- sweep(t(backsolve(chol(best$hessian), t(grid$at))), 2, best$par, "+")
  log_w <- log_posterior(d) + grid$log_weight + rowSums(grid$at^2) / 2
  w <- exp(log_w - max(log_w))
  colSums(w * wanted(d)) / sum(w)
}

# Scores of means of draws, chain by chain in columns
mean_scores <- function(draws, truth, chains = 4) {
  vapply(seq_along(truth), function(k) {
    v <- matrix(draws[, k], ncol = chains)
    (mean(v) - truth[[k]]) / (stats::sd(v) / sqrt(posterior::ess_mean(v)))
  }, 0)
}

long_fit <- function(formula, data, ..., iter = 1500) {
  suppressWarnings(bark(formula, data, ...,
    seed = 2, control = mcmc_control(4, 200, iter)
  ), classes = "kb_warning_convergence")
}

# Draws of the linear coefficients, of the first field in the first columns
gamma_draws <- function(fit) {
  q <- length(fit$settings$mixed$sd)
  do.call(cbind, lapply(unname(field_pools(fit)), function(pool) {
    t(matrix(pool$gamma, q))
  }))
}

test_that("linear coefficients have the posterior that quadrature gives", {
  # Null: 12 + 4 means and 4 of the common part, whose law is the prior, with
  # standard errors from their effective number; |z| > 4.5 has probability 7e-6.
  data <- class_data()
  fit <- long_fit(class ~ a, data,
    family = "multinomial_logit", prior = bark_prior(gamma = 0), weights = w
  )
  gamma <- gamma_draws(fit)
  copies <- rep(data$a, data$w)
  design <- cbind(1, (data$a - mean(copies)) / stats::sd(copies))
  # Probabilities, and their squares, at two rows
  wanted <- function(d) {
    f <- lapply(1:2, function(k) d[, 2 * k - 1:0] %*% t(design[c(1, 5), ]))
    p <- matrix(softmax(c(list(0 * f[[1]]), f)), nrow(d))
    cbind(p, p^2)
  }
  truth <- class_quadrature(design, as.integer(data$class), data$w, 2.5, wanted)
  drawn <- wanted(gamma[, 3:6] - gamma[, c(1, 2, 1, 2)])
  expect_lt(max(abs(mean_scores(drawn, truth))), 4.5)
  common <- (gamma[, 1:2] + gamma[, 3:4] + gamma[, 5:6]) / 3
  expect_lt(max(abs(mean_scores(
    cbind(common, common^2), c(0, 0, 2.5^2 / 3, 2.5^2 / 3)
  ))), 4.5)
  p <- predict(fit, data[c(1, 5), ], type = "prob")
  expect_equal(as.vector(p), colMeans(drawn)[1:6])
  # Two classes, intercepts only
  half <- droplevels(data[data$class != "two", ])
  fit <- long_fit(class ~ 1, half,
    family = "multinomial_logit", prior = bark_prior(gamma = 0, linear_sd = 1)
  )
  share <- function(d) cbind(stats::plogis(d), stats::plogis(d)^2)
  truth <- class_quadrature(
    matrix(1, nrow(half)), as.integer(half$class), rep(1, nrow(half)), 1, share
  )
  gamma <- gamma_draws(fit)
  drawn <- share(gamma[, 2, drop = FALSE] - gamma[, 1])
  expect_lt(max(abs(mean_scores(drawn, truth))), 4.5)
})

test_that("two fields are one with twice as many kernels", {
  # The difference of two fields has kernels of both. Null: 8 differences of
  # means with standard errors from effective numbers; |z| > 5 has probability
  # 6e-7.
  data <- class_data(30)
  data$class <- factor(data$class == "none")
  two <- long_fit(class ~ a, data,
    family = "multinomial_logit",
    prior = bark_prior(gamma = 1, own_scales = TRUE, linear = 0)
  )
  one <- long_fit(class ~ a, data,
    family = "logit",
    prior = bark_prior(
      gamma = 2, own_scales = TRUE, linear = 0, linear_sd = 2.5 * sqrt(2)
    )
  )
  expect_equal(2 * two$settings$prior$nu, one$settings$prior$nu)
  at <- data[c(1, 7, 13, 19), ]
  f <- predict(two, at, type = "draws")
  p <- list(
    stats::plogis(f[, , 2] - f[, , 1]),
    stats::plogis(predict(one, at, type = "draws"))
  )
  parts <- lapply(p, function(v) {
    v <- cbind(v, v^2)
    apply(v, 2, function(column) {
      v <- matrix(column, ncol = 4)
      c(mean(v), stats::var(column) / posterior::ess_mean(v))
    })
  })
  z <- (parts[[1]][1, ] - parts[[2]][1, ]) /
    sqrt(parts[[1]][2, ] + parts[[2]][2, ])
  expect_lt(max(abs(z)), 5)
})

test_that("a row of weight 2 is two rows", {
  # Without kernels, whose centres are numbers of rows.
  data <- class_data(20)
  fit <- suppressWarnings(bark(class ~ a + (1 | g), data,
    family = "multinomial_logit", weights = w, prior = bark_prior(gamma = 0),
    seed = 1, control = mcmc_control(1, 10, 10)
  ))
  one <- fit_engine(fit)
  rows <- c(1:20, which(data$w == 2))
  both <- one
  both$x <- one$x[rows, , drop = FALSE]
  both$y <- one$y[rows]
  both$weights <- rep(1, length(rows))
  terms <- one$config$terms
  both$config$terms$linear <- terms$linear[rows, , drop = FALSE]
  both$config$terms$groupings[[1]]$group <- terms$groupings[[1]]$group[rows]
  both$config$terms$groupings[[1]]$z <-
    terms$groupings[[1]]$z[rows, , drop = FALSE]
  drawn <- lapply(list(one, both), function(engine) {
    draws <- run_to_end(engine)$draws
    c(draws$log_likelihood, unlist(lapply(draws$fields, function(field) {
      field[c("gamma", "effects", "covariances")]
    })))
  })
  expect_equal(drawn[[1]], drawn[[2]], tolerance = 1e-6)
  error <- expect_error(
    bark(class ~ a, data, family = "multinomial", weights = w),
    class = "kb_error_argument"
  )
  expect_match(gsub("\\s+", " ", conditionMessage(error)), "multinomial_logit")
})

test_that("softmax is that of each point and draw", {
  f <- withr::with_seed(1, lapply(1:4, function(k) matrix(stats::rnorm(6), 3)))
  all <- simplify2array(f)
  brute <- aperm(apply(exp(all), 1:2, function(v) v / sum(v)), c(2, 3, 1))
  expect_equal(softmax(f), brute)
  expect_equal(softmax(f, log = TRUE), log(brute))
  # Names of classes are not arguments.
  names(f) <- c("na.rm", "f", "log", "a")
  expect_equal(softmax(f), brute)
  far <- list(matrix(c(-1e300, 0)), matrix(c(1e4, -800)), matrix(c(1e4, 800)))
  expect_equal(softmax(far)[, 1, ], rbind(c(0, 0.5, 0.5), c(0, 0, 1)))
  expect_equal(
    softmax(far, log = TRUE)[, 1, ],
    rbind(c(-1e300, -log(2), -log(2)), c(-800, -1600, 0))
  )
})

# What users see ---------------------------------------------------------------

quick_classes <- function(formula, data = class_data(), ..., iter = 40,
                          chains = 2) {
  suppressWarnings(bark(formula, data,
    family = "multinomial_logit", seed = 1, ...,
    control = mcmc_control(chains, 60, iter)
  ), classes = "kb_warning_convergence")
}

class_fits <- local({
  fits <- NULL
  function() {
    if (is.null(fits)) {
      fits <<- list(
        pooled = quick_classes(class ~ a + z),
        terms = quick_classes(
          class ~ kernels(a) + kernels(z) + w + (1 | g)
        )
      )
    }
    fits
  }
})

test_that("scales are pooled unless there are several kernels", {
  fits <- class_fits()
  expect_false(is.null(fits$pooled$settings$prior$pool))
  expect_null(fits$terms$settings$prior$pool)
  expect_s3_class(fits$terms, c("kb_bark_multinomial", "kb_bark"))
  expect_error(
    quick_classes(class ~ a, prior = bark_prior(own_scales = FALSE)),
    class = "kb_error_not_defined"
  )
  expect_error(
    quick_classes(class ~ a + offset(z)), class = "kb_error_argument"
  )
  expect_error(
    bark(class ~ a, class_data(),
      family = "multinomial_logit", control = mcmc_control(n_temps = 2)
    ),
    class = "kb_error_not_defined"
  )
})

test_that("predictions are means over draws and agree with each other", {
  data <- class_data()
  new <- rbind(data[c(2, 9, 20), ], NA)
  for (fit in class_fits()) {
    f <- predict(fit, new, type = "draws")
    expect_identical(dim(f), c(80L, 4L, 3L))
    given <- exp(f[, 1:3, ])
    given <- given / as.vector(apply(given, 1:2, sum))
    p <- predict(fit, new, type = "prob")
    expect_equal(p[1:3, ], apply(given, 2:3, mean))
    expect_true(all(is.na(p[4, ])))
    expect_equal(
      as.integer(predict(fit, new)), c(max.col(p[1:3, ]), NA)
    )
    bands <- predict(fit, new,
      type = "prob", interval = "credible", level = 0.8
    )
    expect_equal(bands[, , "fit"], p)
    ends <- function(v) {
      apply(v, 2:3, stats::quantile, c(0.1, 0.9), names = FALSE)
    }
    limits <- ends(given)
    expect_equal(bands[1:3, , "lwr"], limits[1, , ], ignore_attr = TRUE)
    expect_equal(bands[1:3, , "upr"], limits[2, , ], ignore_attr = TRUE)
    link <- predict(fit, new,
      type = "link", interval = "credible", level = 0.8
    )
    expect_equal(predict(fit, new, type = "link"), link[, , "fit"])
    expect_equal(link[1:3, , "fit"], apply(f[, 1:3, ], 2:3, mean))
    limits <- ends(f[, 1:3, ])
    expect_equal(link[1:3, , "upr"], limits[2, , ], ignore_attr = TRUE)
    seen <- cbind(1:3, as.integer(data$class[c(2, 9, 20)]))
    expect_equal(predict(fit, new[1:3, ], type = "log_score"), log(p[seen]))
    expect_equal(predict(fit, new[2, ], type = "prob")[1, ], p[2, ])
  }
})

test_that("posterior draws of classes agree with predictions", {
  data <- class_data()
  for (fit in class_fits()) {
    p <- rstantools::posterior_epred(fit)
    expect_equal(apply(p, 2:3, mean), predict(fit, type = "prob"))
    at <- cbind(
      rep(1:80, 24), rep(1:24, each = 80),
      rep(as.integer(data$class), each = 80)
    )
    log_lik <- rstantools::log_lik(fit)
    expect_equal(as.vector(log_lik), log(p[at]))
    # The sampler's own, of the fields that it keeps up to date
    expect_equal(as.vector(chain_matrices(fit)$log_lik), rowSums(log_lik))
    # Null: classes given the draws; a normal score each, |z| > 5 has
    # probability 6e-7.
    y <- rstantools::posterior_predict(fit, seed = 1)
    for (k in 1:3) {
      z <- sum((y == k) - p[, , k]) /
        sqrt(sum(p[, , k] * (1 - p[, , k])))
      expect_lt(abs(z), 5)
    }
  }
  weighted <- quick_classes(class ~ a, weights = w)
  expect_equal(
    as.vector(chain_matrices(weighted)$log_lik),
    rowSums(rstantools::log_lik(weighted))
  )
})

test_that("a fit that continues is one longer run", {
  same <- function(fit) lapply(fit$runs, `[[`, "draws")
  for (formula in list(class ~ a + z, class ~ kernels(a) + w + (1 | g))) {
    whole <- quick_classes(formula, iter = 20)
    parts <- update(quick_classes(formula, iter = 7), iter = 13)
    expect_identical(same(parts), same(whole))
  }
})

test_that("without the likelihood draws are from the prior", {
  # Null: independent draws; kernels of a field are Poisson, coefficients
  # normal. |z| > 4.5 has probability 7e-6 each, of 12.
  fit <- quick_classes(class ~ a, prior_only = TRUE, iter = 200)
  nu <- fit$settings$prior$nu
  chains <- chain_matrices(fit)
  for (k in levels(class_data()$class)) {
    j <- chains[[paste0("J[", k, "]")]]
    expect_lt(abs(mean(j) - nu) / sqrt(nu / length(j)), 4.5)
  }
  b <- gamma_draws(fit)
  expect_lt(max(abs(colMeans(b) / 2.5 * sqrt(nrow(b)))), 4.5)
  expect_lt(max(abs(colMeans(b^2) / 2.5^2 - 1) * sqrt(nrow(b) / 2)), 4.5)
  expect_lt(max(abs(stats::cor(b)[upper.tri(diag(3))])) * sqrt(nrow(b)), 4.5)
})

test_that("methods know the classes", {
  fits <- class_fits()
  expect_output(print(fits$pooled), "multinomial logit")
  expect_output(print(summary(fits$terms)), "J\\[one\\]")
  draws <- posterior::as_draws(fits$terms)
  expect_true(all(
    c("J[none]", "b[two,w]", "lambda[one,2]", "log_lik") %in%
      posterior::variables(draws)
  ))
  expect_true("sd[two,g]" %in% generics::tidy(fits$terms)$term)
  table <- importance(fits$pooled, class = "one")
  expect_setequal(table$variable, c("a", "z"))
  expect_named(coef(fits$terms), levels(class_data()$class))
  expect_identical(nrow(generics::augment(fits$pooled)), 24L)
  expect_length(residuals(fits$pooled, type = "quantile", seed = 1), 24)
  expect_lt(as.double(logLik(fits$pooled)), 0)
  expect_error(evidence(fits$pooled), class = "kb_error_not_defined")
  grDevices::pdf(NULL)
  withr::defer(grDevices::dev.off())
  expect_no_error(plot(fits$pooled, n = 8))
  expect_no_error(plot(fits$terms, type = "importance"))
  expect_error(plot(fits$terms), class = "kb_error_not_defined")
  one <- quick_classes(class ~ a, chains = 1)
  for (type in c("fit", "k", "centres", "trace")) {
    expect_no_error(plot(one, type = type))
  }
  skip_if_not_installed("loo")
  loo <- suppressWarnings(loo::loo(fits$pooled))
  expect_identical(dim(loo$pointwise), c(24L, 5L))
})
