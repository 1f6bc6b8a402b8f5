# The methods of a fit: shapes, units, and their numbers computed by hand.

data <- sim_sinc(30, seed = 41)
quick <- smc_control(particles = 40, n_moves = 2)

fit_small <- function(..., kernel = kernel_gaussian(), control = quick,
                      seed = 1) {
  srvm(..., kernel = kernel, control = control, seed = seed)
}

line <- fit_small(y ~ x, data)
random <- fit_small(y ~ x, data, order = "random")
pooled <- fit_small(y ~ x, data,
  control = smc_control(particles = 15, n_moves = 2, replicates = 3)
)
stopped <- suppressWarnings(
  fit_small(y ~ x, data, order = "random", control = smc_control(
    particles = 40, n_moves = 2, time_limit = 1e-9
  )),
  classes = "kb_warning_time_limit"
)
repeated <- fit_small(y ~ x, data[c(1:20, 5, 5, 9), ])
plain <- fit_small(y ~ x, data, scale = FALSE, intercept = FALSE)
everything <- list(
  line = line, random = random, pooled = pooled, stopped = stopped,
  repeated = repeated, plain = plain,
  xy = fit_small(data$x, data$y),
  one = suppressWarnings(
    fit_small(y ~ x, data[1, ]),
    classes = "kb_warning_no_spread"
  ),
  none = fit_small(y ~ x, data, prior = srvm_prior(kmax = 0)),
  single = fit_small(y ~ x, data, control = smc_control(particles = 1))
)

#' Log mean exp by hand, for pooling
pool_log <- function(v) max(v) + log(mean(exp(v - max(v))))

# Printing ---------------------------------------------------------------------

test_that("print is short and shows what matters", {
  wide <- fit_small(y ~ ., sim_friedman(20, p = 30, seed = 1))
  for (fit in c(everything, list(wide))) {
    out <- capture.output(shown <- withVisible(print(fit)))
    expect_lte(length(out), 15)
    expect_identical(shown$value, fit)
    expect_false(shown$visible)
    text <- paste(out, collapse = "\n")
    expect_match(text, "kernel_gaussian(bandwidth = ", fixed = TRUE)
    expect_match(text, format(sigma(fit), digits = 3), fixed = TRUE)
    expect_match(text, "log evidence")
    expect_match(text, "ESS")
  }
  expect_output(print(line), "y ~ x", fixed = TRUE)
  expect_output(print(stopped), "INCOMPLETE: +[0-9]+ of 30 rows")
  expect_output(print(pooled), "15 x 3")
  expect_output(print(repeated), "23 (20 distinct)", fixed = TRUE)
  expect_false(any(grepl("formula", capture.output(print(everything$xy)))))
})

test_that("print tells of responses that are one number", {
  clipped <- data
  clipped$y[1:12] <- 0
  expect_output(print(fit_small(y ~ x, clipped)), "responses: +40% are 0:")
  expect_false(any(grepl("responses:", capture.output(print(line)))))
  clipped$y <- rep(0:1, 15)
  two <- suppressMessages(fit_small(y ~ x, clipped))
  expect_false(any(grepl("responses:", capture.output(print(two)))))
})

test_that("print fits the console", {
  wide <- fit_small(y ~ ., sim_friedman(20, p = 30, seed = 1))
  expect_lte(max(nchar(capture.output(print(wide)))), 80)
  expect_output(print(line), "1 predictor, standardised", fixed = TRUE)
  empty <- line
  empty$runs <- list(NULL)
  empty$time <- 0L
  empty <- sealed(empty)
  expect_output(print(empty), "0 of 30 rows", fixed = TRUE)
})

test_that("sigma is the same number from every accessor", {
  for (fit in everything) {
    expect_equal(tidy(fit)$estimate[[1]], sigma(fit))
    expect_identical(glance(fit)$sigma, sigma(fit))
    draws <- as_draws(fit, weighted = TRUE)
    expect_equal(sum(stats::weights(draws) * draws$sigma), sigma(fit))
  }
})

test_that("summary adds parameters, centres and diagnostics", {
  for (fit in everything) {
    s <- summary(fit, level = 0.8)
    expect_s3_class(s, "summary.kb_srvm")
    expect_identical(s$parameters, tidy(fit, conf.level = 0.8))
    expect_lte(nrow(s$centres), 5)
    expect_false(is.unsorted(rev(s$centres$change)))
    expect_true(all(s$centres$probability > 0))
    out <- capture.output(print(s))
    expect_match(paste(out, collapse = "\n"), "80% intervals")
  }
})

test_that("accessors print in one to three lines", {
  expect_output(print(evidence(line)), "^log evidence: .* \\(Monte-Carlo se")
  expect_output(print(evidence(everything$single)), "NA|NaN")
  expect_length(capture.output(print(diagnostics(line))), 3)
  # Without moves nothing was tried; with at most one centre nothing swapped.
  still <- fit_small(y ~ x, data, control = smc_control(20, n_moves = 0))
  expect_length(capture.output(print(diagnostics(still))), 2)
  some <- diagnostics(line)
  some$acceptance[["swap"]] <- NaN
  expect_output(print(some), "birth [0-9]+%, death [0-9]+%, swap -")
  some$founders <- 1L
  expect_output(print(some), "1 founder left")
})

# Fitted values and coefficients -----------------------------------------------

test_that("fitted, residuals and nobs are for the processed rows", {
  for (fit in everything) {
    n <- fit$time
    expect_identical(nobs(fit), n)
    expect_identical(fitted(fit), predict(fit))
    expect_length(fitted(fit), n)
    y <- fit$data$y[sort(utils::head(fit$sequence, n))]
    expect_equal(residuals(fit), y - fitted(fit), tolerance = 1e-14)
    expect_null(names(fitted(fit)))
    expect_null(names(residuals(fit)))
  }
  expect_equal(residuals(random), data$y - predict(random, data))
  expect_lt(nobs(stopped), 30)
})

test_that("formula() gives the formula, if there is one", {
  expect_equal(formula(line), y ~ x, ignore_formula_env = TRUE)
  expect_equal(formula(fit_small(log(y + 2) ~ I(x^2), data)),
    log(y + 2) ~ I(x^2),
    ignore_formula_env = TRUE
  )
  expect_error(formula(everything$xy), "x and y",
    class = "kb_error_not_defined"
  )
})

test_that("coef() and the kernel reproduce predict()", {
  at <- data.frame(x = c(-8, -1.3, 0.1, 6))
  for (fit in everything[c(
    "line", "random", "pooled", "stopped", "repeated", "plain", "none"
  )]) {
    beta <- coef(fit)
    expect_identical(names(beta)[[1]], "(Intercept)")
    rows <- as.integer(names(beta)[-1])
    used <- inclusion(fit)
    expect_setequal(rows, used$row[used$probability > 0])
    s <- fit$settings$scaling
    scaled <- function(x) (as.matrix(x) - s$x_center) / s$x_scale
    f <- rep(beta[[1]], 4)
    if (length(rows) > 0) {
      K <- kernel_matrix(
        fit$settings$kernel, scaled(at),
        scaled(fit$data$x[rows, , drop = FALSE])
      )
      f <- f + drop(K %*% beta[-1])
    }
    expect_equal(f, of_sets(predict(fit, at)), tolerance = 1e-10)
  }
  expect_identical(coef(plain)[["(Intercept)"]], 0)
})

test_that("sigma is the posterior mean of the noise's standard deviation", {
  fixed_noise <- fit_small(y ~ x, data, scale = FALSE,
    prior = srvm_prior(noise = fixed_variance(0.09))
  )
  expect_equal(sigma(fixed_noise), 0.3, tolerance = 1e-14)
  scaled <- fit_small(y ~ x, data, prior = srvm_prior(noise = fixed_variance(0.09)))
  expect_equal(sigma(scaled), 0.3 * stats::sd(data$y), tolerance = 1e-12)
  # Stored particles and their refreshed draws have the same mean, up to Monte
  # Carlo error.
  many <- fit_small(y ~ x, data, control = smc_control(particles = 3000))
  pool <- srvm_pool(many)
  stored <- stats::sd(data$y) * sum(pool$weights * sqrt(pool$noise))
  expect_equal(sigma(many), stored, tolerance = 0.05)
})

test_that("logLik is the plug-in likelihood, with its degrees of freedom", {
  for (fit in everything[c("line", "random", "pooled", "plain", "stopped")]) {
    ll <- logLik(fit)
    expect_s3_class(ll, "logLik")
    exact <- sum(dnorm(residuals(fit), 0, sigma(fit), log = TRUE))
    expect_equal(as.double(ll), exact, tolerance = 1e-12)
    k <- model_size(fit)
    df <- sum(k$k * k$probability) + 2 + fit$settings$intercept
    expect_equal(attr(ll, "df"), df)
    expect_identical(attr(ll, "nobs"), nobs(fit))
  }
})

# Units ------------------------------------------------------------------------

test_that("another unit of y scales all results and shifts the evidence", {
  unit <- 250
  n <- 30
  for (scale in c(TRUE, FALSE)) {
    a <- fit_small(y ~ x, data, scale = scale)
    b <- fit_small(y ~ x, transform(data, y = unit * y), scale = scale)
    expect_equal(fitted(b), unit * fitted(a))
    expect_equal(residuals(b), unit * residuals(a))
    expect_equal(sigma(b), unit * sigma(a))
    expect_equal(coef(b), unit * coef(a))
    for (interval in c("credible", "prediction")) {
      expect_equal(
        predict(b, interval = interval), unit * predict(a, interval = interval)
      )
    }
    expect_equal(predict(b, type = "draws"), unit * predict(a, type = "draws"))
    expect_equal(
      predict(b, type = "log_score"), predict(a, type = "log_score") - log(unit)
    )
    expect_equal(
      simulate(b, 3, seed = 1), unit * simulate(a, 3, seed = 1),
      ignore_attr = TRUE
    )
    expect_equal(
      evidence(b)$log_evidence, evidence(a)$log_evidence - n * log(unit)
    )
    expect_equal(
      evidence(b)$path$log_predictive,
      evidence(a)$path$log_predictive - log(unit)
    )
    expect_equal(as.double(logLik(b)), as.double(logLik(a)) - n * log(unit))
    expect_equal(model_size(b), model_size(a))
    in_unit <- inclusion(a)
    in_unit$change <- unit * in_unit$change
    expect_equal(inclusion(b), in_unit)
    size <- c(unit, unit, 1)
    expect_equal(tidy(b)[, -1], tidy(a)[, -1] * size)
  }
})

# Accessors --------------------------------------------------------------------

test_that("evidence adds up along its path", {
  for (fit in everything) {
    z <- evidence(fit)
    expect_s3_class(z, "kb_evidence")
    expect_identical(nrow(z$path), fit$time)
    expect_identical(z$path$row, utils::head(fit$sequence, fit$time))
    expect_equal(utils::tail(z$path$log_evidence, 1), z$log_evidence)
    expect_equal(utils::tail(z$path$log_evidence, 1), z$log_evidence)
    expect_true(is.na(z$mc_se) || z$mc_se >= 0)
  }
})

test_that("replicates are pooled with weights proportional to Z", {
  n <- 30
  units <- n * log(pooled$settings$scaling$y_scale)
  log_z <- vapply(pooled$runs, `[[`, 0, "log_evidence")
  share <- exp(log_z) / sum(exp(log_z))
  z <- evidence(pooled)
  expect_equal(z$replicates, log_z - units)
  expect_equal(z$log_evidence, pool_log(log_z) - units)
  expect_equal(
    z$mc_se_replicates,
    stats::sd(exp(log_z) / mean(exp(log_z))) / sqrt(3)
  )
  variance <- vapply(pooled$runs, `[[`, 0, "relative_variance")
  expect_equal(z$mc_se, sqrt(sum(share^2 * variance)))
  # Every result is the mean of the runs' own results, weighted by Z.
  alone <- lapply(pooled$runs, function(run) {
    fit <- pooled
    fit$runs <- list(run)
    fit <- sealed(fit)
    fit
  })
  mean_of <- function(f) {
    drop(do.call(cbind, lapply(alone, f)) %*% share)
  }
  expect_equal(predict(pooled), mean_of(predict))
  expect_equal(
    inclusion(pooled)$probability,
    mean_of(function(fit) inclusion(fit)$probability)
  )
  expect_equal(sigma(pooled), mean_of(sigma), ignore_attr = TRUE)
  expect_equal(
    exp(predict(pooled, type = "log_score")),
    mean_of(function(fit) exp(predict(fit, type = "log_score")))
  )
  p <- model_size(pooled)
  expect_equal(p$probability, mean_of(function(fit) {
    own <- model_size(fit)
    ifelse(p$k %in% own$k, own$probability[match(p$k, own$k)], 0)
  }))
  # The first replicate equals srvm() without replicates.
  first <- fit_small(y ~ x, data, control = smc_control(15, n_moves = 2))
  expect_identical(evidence(first)$log_evidence, z$replicates[[1]])
  expect_identical(evidence(line)$mc_se_replicates, NA_real_)
})

test_that("a run that is behind the others is left out", {
  behind <- pooled
  short <- srvm(y ~ x, data[1:10, ], reference = pooled, seed = 9,
    control = smc_control(particles = 15, n_moves = 2)
  )
  behind$runs[[2]] <- short$runs[[1]]
  behind$runs[3] <- list(NULL)
  behind <- sealed(behind)
  alone <- pooled
  alone$runs <- alone$runs[1]
  alone <- sealed(alone)
  expect_identical(predict(behind), predict(alone))
  expect_identical(evidence(behind)$path, evidence(alone)$path)
  expect_identical(model_size(behind), model_size(alone))
})

test_that("inclusion has one line per row, duplicates at the first", {
  for (fit in everything) {
    used <- inclusion(fit)
    expect_identical(used$row, seq_len(nrow(fit$data$x)))
    expect_true(all(used$probability >= 0 & used$probability <= 1))
    # Expected number of centres, counted in two ways.
    k <- model_size(fit)
    expect_equal(sum(used$probability), sum(k$k * k$probability))
  }
  expect_true(all(inclusion(repeated)$probability[21:23] == 0))
  expect_true(all(inclusion(stopped)$probability[-stopped$sequence[
    seq_len(stopped$time)
  ]] == 0))
  # By hand, from sets and weights.
  run <- random$runs[[1]]
  owner <- rep(seq_along(run$k), run$k)
  row <- random$sequence[run$candidate_rows[run$sets]]
  weight <- run$weights / sum(run$weights)
  expect_equal(
    inclusion(random)$probability,
    vapply(1:30, function(i) sum(weight[owner[row == i]]), 0)
  )
})

# The change of f by definition: the coefficients fitted with all centres of a
# particle and without one.
change_by_hand <- function(fit) {
  pool <- srvm_pool(fit)
  settings <- fit$settings
  x <- scaling_x(settings$scaling, fit$data$x)
  w <- row_weights(fit)
  y <- scaling_y(settings$scaling, fit$data$y) - settings$shift
  out <- numeric(nrow(x))
  for (i in seq_along(pool$k)) {
    own <- which(rep(seq_along(pool$k), pool$k) == i)
    centres <- x[pool$rows[pool$sets[own]], , drop = FALSE]
    kernel <- settings$kernel
    if (!is.null(pool$bandwidths)) {
      kernel <- kernel_fill(kernel, "ard", pool$bandwidths[, i])
    }
    values <- kernel_matrix(kernel, x, centres)
    spread <- if (is.null(pool$spread)) rep(1, length(own)) else pool$spread[own]
    fixed <- fixed_columns(settings, x)
    design <- cbind(fixed, values)
    variance <- c(rep(1, ncol(fixed)), spread) * pool$coef[[i]]
    noise <- if (is_scaled(settings)) 1 else pool$noise[[i]]
    at_rows <- function(keep) {
      kept <- design[, keep, drop = FALSE]
      precision <- crossprod(kept * sqrt(w)) / noise +
        diag(1 / variance[keep], sum(keep))
      kept %*% solve(precision, crossprod(kept, w * y) / noise)
    }
    all <- rep(TRUE, ncol(design))
    for (j in seq_along(own)) {
      change <- at_rows(all) - at_rows(replace(all, ncol(fixed) + j, FALSE))
      row <- pool$rows[pool$sets[own[[j]]]]
      out[[row]] <- out[[row]] + pool$weights[[i]] *
        sqrt(sum(w * change^2) / sum(w)) * settings$scaling$y_scale
    }
  }
  out
}

test_that("the change of f without a centre is that of refitted coefficients", {
  few <- smc_control(particles = 12, n_moves = 2)
  w <- seq(0.5, 2, length.out = 30)
  fits <- list(
    line, pooled, plain,
    fit_small(y ~ x, data, prior = srvm_prior(scaled = TRUE), control = few),
    fit_small(y ~ x, data, weights = w, control = few),
    fit_small(y ~ x, data,
      kernel = kernel_matern("ard"), prior = srvm_prior(coef_df = 4),
      control = few
    )
  )
  for (fit in fits) {
    expect_equal(inclusion(fit)$change, change_by_hand(fit), tolerance = 1e-6)
  }
})

test_that("the change counts the rows in memory with their shares", {
  fit <- fit_small(y ~ x, data, memory = srvm_memory(forgetting = 0.9))
  expect_equal(rows_in_memory(fit), sum(0.9^(0:29)))
  fit <- fit_small(y ~ x, data, memory = srvm_memory(window = 12))
  expect_equal(rows_in_memory(fit), 12)
})

test_that("with order = 'random' the first equal row is the first processed", {
  twice <- data[c(1:10, 1:10), ]
  fit <- fit_small(y ~ x, twice, order = "random")
  used <- inclusion(fit)$probability
  taken_first <- vapply(1:10, function(i) {
    min(match(c(i, i + 10), fit$sequence))
  }, 0L)
  expect_true(all(used[setdiff(1:20, fit$sequence[taken_first])] == 0))
})

test_that("model_size() is a distribution", {
  for (fit in everything) {
    k <- model_size(fit)
    expect_identical(names(k), c("k", "probability"))
    expect_type(k$k, "integer")
    expect_false(is.unsorted(k$k, strictly = TRUE))
    expect_equal(sum(k$probability), 1)
    expect_true(all(k$probability > 0))
  }
})

test_that("ess() follows the weights", {
  for (fit in everything) {
    path <- ess(fit)
    total <- fit$control$particles * length(fit$runs)
    expect_identical(nrow(path), fit$time)
    expect_identical(path$row, utils::head(fit$sequence, fit$time))
    expect_true(all(path$ess >= length(fit$runs) - 1e-9 & path$ess <= total))
    expect_equal(path$fraction, path$ess / total)
    expect_true(all(path$founders >= 1 & path$founders <= total))
    expect_type(path$resampled, "logical")
  }
  weights <- line$runs[[1]]$weights
  expect_equal(
    utils::tail(ess(line)$ess, 1), sum(weights)^2 / sum(weights^2)
  )
  # A row is preceded by resampling if the ESS had fallen below half; there may
  # be more resampling if it enters gradually.
  path <- ess(line)
  low <- c(FALSE, path$fraction[-30] < 0.5)
  at_once <- line$runs[[1]]$path$increases == 1
  expect_identical(path$resampled[at_once], low[at_once])
  expect_true(all(path$resampled[low]))
})

test_that("diagnostics summarise the run", {
  for (fit in everything) {
    d <- diagnostics(fit)
    path <- ess(fit)
    expect_identical(d$ess_min, min(path$lowest))
    expect_identical(d$ess_min_row, path$row[[which.min(path$lowest)]])
    expect_identical(d$ess_final, utils::tail(path$fraction, 1))
    expect_identical(d$founders, utils::tail(path$founders, 1))
    expect_named(d$acceptance, c("birth", "death", "swap"))
    known <- d$acceptance[!is.na(d$acceptance)]
    expect_true(all(known >= 0 & known <= 1))
  }
  expect_gte(diagnostics(line)$resamplings, sum(ess(line)$resampled))
})

test_that("timings are seconds", {
  for (fit in everything) {
    seconds <- timings(fit)
    expect_named(seconds, c("sampler", "shared", "total"))
    expect_true(all(unlist(seconds) >= 0))
    expect_lte(seconds$shared, seconds$sampler)
  }
})

test_that("accessors require a fit", {
  for (f in list(evidence, inclusion, model_size, ess, timings, diagnostics)) {
    for (object in list(1, NULL, stats::lm(y ~ x, data))) {
      expect_error(f(object), "not defined", class = "kb_error_not_defined")
    }
    expect_error(f(line, 3), class = "kb_error_unknown_argument")
  }
})

test_that("a fit without any row is reported", {
  fit <- line
  fit$runs <- list(NULL)
  fit$time <- 0L
  fit$status <- "interrupted"
  fit <- sealed(fit)
  for (f in list(
    evidence, inclusion, model_size, ess, diagnostics, predict, fitted, residuals,
    sigma, coef, logLik, as_draws, tidy, glance, augment, simulate, summary
  )) {
    expect_error(f(fit), "row", class = "kb_error_not_defined")
  }
  expect_identical(nobs(fit), 0L)
  expect_identical(timings(fit)$sampler, 0)
  expect_identical(predict(update(fit)), predict(line))
})

# simulate() -------------------------------------------------------------------

test_that("simulate() draws responses of the training rows", {
  for (fit in everything) {
    y <- simulate(fit, 3, seed = 4)
    expect_s3_class(y, "data.frame")
    expect_identical(dim(y), c(nobs(fit), 3L))
    expect_named(y, paste0("sim_", 1:3))
    expect_true(all(is.finite(as.matrix(y))))
    expect_identical(simulate(fit, 3, seed = 4), y)
  }
  expect_error(simulate(line, 0), "`nsim`", class = "kb_error_argument")
  expect_error(simulate(line, 2, seed = "a"), "`seed`",
    class = "kb_error_argument"
  )
  expect_error(simulate(line, 2, sed = 1), "`sed`",
    class = "kb_error_unknown_argument"
  )
})

test_that("simulate() follows set.seed() or its own seed", {
  set.seed(3)
  a <- simulate(line, 2)
  b <- simulate(line, 2)
  set.seed(3)
  expect_identical(simulate(line, 2), a)
  expect_false(identical(a, b))
  before <- .Random.seed
  simulate(line, 2, seed = 1)
  expect_identical(.Random.seed, before)
  expect_false(identical(simulate(line, seed = 1), simulate(line, seed = 2)))
})

test_that("simulated responses have posterior predictive moments", {
  n <- 4000
  y <- as.matrix(simulate(line, n, seed = 6))
  pool <- srvm_pool(line)
  x <- line$data$x
  f <- srvm_draws(line, x, pool, seq_along(pool$weights))
  sigma <- srvm_sigma_draws(line, pool, seq_along(pool$weights))
  mean <- drop(pool$weights %*% f)
  variance <- drop(pool$weights %*% (f^2 + sigma^2)) - mean^2
  z <- (rowMeans(y) - mean) / sqrt(variance / n)
  # 30 correlated standard normals: P(any beyond 5) < 2e-5.
  expect_lt(max(abs(z)), 5)
  # The variance's standard error is about sqrt(2 / n) = 2.2%.
  expect_lt(max(abs(apply(y, 1, stats::var) / variance - 1)), 0.15)
})

# update() ---------------------------------------------------------------------

test_that("update() in any split equals one fit", {
  for (order in list(c(30), c(10, 20), c(1, 1, 28), rep(6, 5))) {
    ends <- cumsum(order)
    fit <- srvm(y ~ x, data[seq_len(ends[[1]]), ],
      reference = line, control = quick, seed = 1
    )
    for (i in seq_along(ends)[-1]) {
      fit <- update(fit, newdata = data[(ends[[i - 1]] + 1):ends[[i]], ])
    }
    expect_identical(evidence(fit), evidence(line))
    expect_identical(predict(fit, data), predict(line))
    expect_identical(inclusion(fit), inclusion(line))
    expect_identical(as_draws(fit), as_draws(line))
    expect_identical(ess(fit), ess(line))
  }
})

test_that("update() of a stopped fit runs it to its end", {
  whole <- stopped
  # The time limit holds per call: this continues row by row.
  for (i in seq_len(30)) {
    if (whole$status == "complete") break
    whole <- suppressWarnings(update(whole), classes = "kb_warning")
  }
  expect_identical(whole$status, "complete")
  expect_identical(predict(whole), predict(random))
  expect_identical(evidence(whole), evidence(random))
})

test_that("a saved fit equals the fit", {
  file <- withr::local_tempfile(fileext = ".rds")
  saveRDS(pooled, file)
  back <- readRDS(file)
  expect_identical(predict(back), predict(pooled))
  expect_identical(
    update(back, newdata = data[1:3, ])$runs[[1]]$weights,
    update(pooled, newdata = data[1:3, ])$runs[[1]]$weights
  )
})

test_that("update() can set another time limit", {
  control <- smc_control(50, time_limit = 1e-6)
  short <- suppressWarnings(
    srvm(y ~ x, sim_sinc(40, seed = 1), control = control, seed = 1)
  )
  expect_lt(nobs(short), 40)
  expect_identical(nobs(suppressWarnings(update(short, time_limit = Inf))), 40L)
  expect_error(update(short, time_limit = -1), class = "kb_error_argument")
})

# Notes on the evidence -------------------------------------------------------

test_that("evidence reports when it is undefined or noisy", {
  data <- sim_sinc(30, seed = 1)
  fit_with <- function(...) {
    suppressWarnings(srvm(y ~ x, data,
      kernel = kernel_gaussian(0.2), seed = 1, ...
    ))
  }
  printed <- fit_with(
    prior = srvm_prior(10), control = smc_control(50, proposal = "paper")
  )
  expect_match(evidence(printed)$note, "printed weights")
  expect_output(print(evidence(printed)), "no evidence")
  expect_output(print(printed), "log evidence: none")
  expect_identical(glance(printed)$log_evidence, NA_real_)
  improper <- fit_with(prior = srvm_prior_paper(), control = smc_control(50))
  expect_match(evidence(improper)$note, "improper")
  expect_identical(glance(improper)$mc_se, NA_real_)
  few <- fit_with(control = smc_control(100))
  few$runs[[1]]$path[c("ess", "ess_lowest")] <- list(rep(60, 30))
  few <- sealed(few)
  expect_null(evidence(few)$note)
  few$runs[[1]]$path$ess_lowest[[7]] <- 2
  few <- sealed(few)
  expect_match(evidence(few)$note, "ESS fell to 2% at row 7")
  expect_output(print(evidence(few)), "ESS fell")
  expect_output(print(few), "lowest 2% at row 7", fixed = TRUE)
  expect_output(print(diagnostics(few)), "2% at its lowest (row 7)",
    fixed = TRUE
  )
})

test_that("the limit of one update is not stored in the fit", {
  data <- sim_sinc(400, seed = 1)
  fit <- suppressWarnings(srvm(y ~ x, data[1:20, ], seed = 1))
  later <- suppressWarnings(
    update(fit, newdata = data[21:400, ], time_limit = 0.01)
  )
  expect_identical(later$status, "time_limit")
  expect_identical(later$control$time_limit, Inf)
})

test_that("the trace of the scaled form is the posterior mean at each row", {
  # Only the intercept: the posterior mean of sigma is that of a t fit.
  y <- c(0.3, -0.2, 0.1, 0.4, -0.1, 0.2, 0.1, 5)
  fit <- suppressWarnings(srvm(as.matrix(seq_along(y)), y,
    kernel = kernel_gaussian(1), scale = FALSE, seed = 1,
    prior = srvm_prior(
      kmax = 0, noise = ig(3, 1), coef = fixed_variance(2), scaled = TRUE
    ),
    control = smc_control(20)
  ))
  exact <- vapply(seq_along(y), function(t) {
    v <- diag(t) + 2
    rest <- sum(y[1:t] * solve(v, y[1:t]))
    a <- 3 + t / 2
    sqrt(1 + rest / 2) * exp(lgamma(a - 0.5) - lgamma(a))
  }, 0)
  expect_equal(fit$runs[[1]]$path$mean_sigma, exact, tolerance = 1e-12)
})

test_that("a fit from before the scaled form is a plain one", {
  data <- sim_sinc(20, seed = 1)
  fit <- suppressWarnings(srvm(y ~ x, data, seed = 1))
  old <- fit
  old$settings$prior$scaled <- NULL
  old <- sealed(old)
  expect_identical(predict(old), predict(fit))
  expect_identical(sigma(old), sigma(fit))
  expect_s3_class(
    suppressWarnings(update(old, newdata = data[1:2, ])), "kb_srvm"
  )
})
