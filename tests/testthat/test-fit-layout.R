a_fit <- local({
  fits <- list()
  function(name) {
    if (is.null(fits[[name]])) fits[[name]] <<- fuzz_cases()[[name]]()$fit
    fits[[name]]
  }
})

test_that("fits of every engine agree with their layout", {
  cases <- names(Filter(is.function, fuzz_cases()))
  cases <- grep("call$|predict$|(kgs|bark|kbr|srvm)_update$", cases,
    value = TRUE, invert = TRUE
  )
  for (name in cases) {
    fit <- a_fit(name)
    expect_silent(check_object(fit))
    expect_silent(check_object(unserialize(serialize(fit, NULL))))
  }
})

test_that("a layout refers to the fields before it", {
  described <- layout(
    n = counts(), .twice = 2 * n, v = numbers(twice, 0), w = maybe(strings())
  )
  expect_silent(check_layout(list(n = 1L, v = c(0, 1)), described))
  refused <- function(x, field) {
    error <- expect_error(check_layout(x, described), class = "kb_error_fit")
    expect_identical(error$field, field)
  }
  refused(list(n = 1L, v = 1), "fit$v")
  refused(list(n = 1L, v = c(1, -1)), "fit$v")
  refused(list(n = 1L, v = c(1, NaN)), "fit$v")
  refused(list(n = 1L, v = 1:2), "fit$v")
  refused(list(n = -1L, v = numeric()), "fit$n")
  refused(list(n = 1L, v = c(0, 1), w = 1), "fit$w")
  refused(list(v = c(0, 1)), "fit$n")
  refused(3, "fit")
})

test_that("bounds of integers, diagonals and nested lists are checked", {
  expect_error(
    check_layout(list(i = c(1L, NA)), layout(i = counts(2))),
    class = "kb_error_fit"
  )
  expect_error(
    check_layout(list(i = 4L), layout(i = counts(1, 0, 3))),
    class = "kb_error_fit"
  )
  factors <- layout(l = triangles(c(1L, 2L)))
  # 1 x 1, then columns (2, 5) and (3) of a 2 x 2.
  expect_silent(check_layout(list(l = c(1, 2, -5, 3)), factors))
  for (at in c(1, 2, 4)) {
    l <- c(1, 2, -5, 3)
    l[[at]] <- -l[[at]]
    expect_error(check_layout(list(l = l), factors), class = "kb_error_fit")
  }
  inner <- layout(parts = each(holds(layout(x = numbers()))))
  error <- expect_error(
    check_layout(list(parts = list(list(x = 1), list(x = "a"))), inner),
    class = "kb_error_fit"
  )
  expect_identical(error$field, "fit$parts[[2]]$x")
})

test_that("numbers whose sum overflows are still finite", {
  expect_true(all_finite(rep(1e308, 3)))
  expect_false(all_finite(c(1e308, Inf)))
})

test_that("the message names the field, what was given and what is required", {
  fit <- a_fit("bark")
  fit$runs[[2]]$draws$location[[3]] <- 1000L
  error <- expect_error(predict(fit), class = "kb_error_fit")
  expect_match(conditionMessage(error), "runs[[2]]$draws$location",
    fixed = TRUE
  )
  expect_match(conditionMessage(error), "up to 20")
})

test_that("an edit after a call is noticed by the next one", {
  fit <- a_fit("srvm")
  predict(fit)
  fit$runs[[1]]$sets[[1]] <- 2000L
  expect_error(predict(fit), class = "kb_error_fit")
  fit <- a_fit("srvm")
  expect_silent(predict(fit))
  fit$settings$kernel$bandwidth <- -1
  expect_error(predict(fit), class = "kb_error_fit")
})

test_that("every method of a fit refuses a damaged one", {
  skip_on_cran()
  table <- getNamespaceInfo("kernelbayes", "S3methods")
  inner <- c(
    "object_layout", "finish_fit", "warn_status", "warn_quality", "is_complete",
    "has_next_stage", "next_stage",
    "fit_runs", "fit_engine", "draws_in", "head_draws", "chain_matrices",
    "mixing_advice", "particle_advice", "posterior_pool", "posterior_mean",
    "posterior_moments", "posterior_draws", "mixture_size", "noise_variance",
    "noise_df",
    "noise_draws",
    "particle_weights", "path_length", "path_keys", "path_weights", "path_title",
    "path_mean", "path_sd", "path_map", "path_quantiles", "path_radius",
    "path_negative", "path_all_weights", "path_draws", "empty_path", "hmm_rows",
    "filter_rows",
    "kernel_mean_points", "function_moments", "kbr_values", "kbr_mean",
    "kbr_sd", "kbr_weights", "kbr_expectation", "kbr_map", "kbr_draws",
    "kbr_density", "kbr_effects", "probability_weights", "posterior_levels",
    "observe", "observe_rows", "one_observation", "learn_posterior",
    "warn_cancelled", "effective_rank", "rule_lines", "state_accuracy",
    "state_bands", "expected_draws",
    "response_draws", "response_log_lik", "effect_draws", "partial_bands",
    "watched_functions", "watched_scales", "class_draws", "latent_draws",
    "class_given_function", "class_given_joint", "joint_votes"
  )
  classes <- c(
    kb_srvm = "srvm", kb_srvm_mcmc = "srvm_mcmc", kb_bark = "bark",
    kb_bark_multinomial = "bark_classes", kb_kgs = "kgs", kb_kbr = "kbr",
    kb_tdsmc = "tdsmc", kb_kbr_path = "kbr_filter", kb_fit = "srvm",
    kb_mcmc = "bark", kb_bayes_point = "bayes_point", kb_kbr_hmm = "kbr_hmm",
    kb_cond_embedding = "cond_embedding", kb_kbr_filter = "kbr_filter",
    kb_hmm_adjusted = "hmm_adjusted", kb_hmm_particles = "hmm_particles"
  )
  asked <- 0
  for (i in seq_len(nrow(table))) {
    # Methods registered by other tests are functions, not names.
    class <- as.character(table[i, 2])
    method <- table[[i, 3]]
    if (!is.character(method)) next
    if (!class %in% names(classes) || table[i, 1] %in% inner) next
    fit <- a_fit(classes[[class]])
    # Fields that all layouts check.
    fit[intersect(names(fit), c("mould", "moves", "hmm", "gram"))] <- list(3)
    call <- get(method, asNamespace("kernelbayes"))
    expect_error(call(fit), class = "kb_error", info = method)
    asked <- asked + 1
  }
  expect_gt(asked, 150)
})

test_that("states are checked before runs continue from them", {
  spoil <- function(name, change, class = "kb_error_fit") {
    fit <- a_fit(name)
    fit$runs[[1]] <- change(fit$runs[[1]])
    expect_error(
      update(fit, iter = 2, progress = FALSE),
      class = class, info = name
    )
  }
  set <- function(...) {
    path <- list(...)
    function(run) {
      value <- path[[length(path)]]
      change <- function(old) if (is.function(value)) value(old) else value
      put_leaf(run, path[-length(path)], change)
    }
  }
  for (name in c("bark", "bark_classes", "bark_truncated", "kgs", "srvm_mcmc")) {
    spoil(name, set("rng", function(rng) rng[-1]))
    spoil(name, set("rng", function(rng) -rng))
  }
  spoil("bark", set("levels", 1, "location", function(at) at + 100L))
  spoil("bark", set("levels", 1, "location", as.double))
  spoil("bark", set("levels", 1, "varphi", function(v) c(v, v)))
  spoil("bark", set("levels", 1, "phi", -1))
  spoil("bark", set("levels", 1, "phi", NaN))
  spoil("bark", set("levels", 1, "included", integer()))
  spoil("bark", set("levels", 1, "steps", "scales", "times", 1:9))
  spoil("bark", set("levels", function(levels) levels[1]))
  spoil("bark", set("levels", 1, function(level) 3))
  spoil("bark", set("tried", function(v) rep(v, 9)))
  spoil("bark", set(
    "levels", 1, "copies", function(n) rep(-1L, length(n))
  ))
  spoil("kgs", set("levels", 1, "sides", function(v) v[-1]))
  spoil("kgs", set("levels", 1, "f", function(v) v[-1]))
  spoil("kgs", set("levels", 1, "g", function(v) v[-1]))
  spoil("kgs_noisy", set("levels", 1, "rates", c(0.6, 0.5)))
  spoil("kgs_noisy", set("levels", 1, "log_s", 1e300))
  spoil("kgs_noisy", set("levels", 1, "root", function(v) 0 * v))
  spoil("kgs_noisy", set("levels", 1, "drift", function(v) v[-1, ]))
  spoil("kgs_noisy_classes", set("levels", 1, "rates", 0.8))
  spoil("srvm_mcmc", set("current", "factor", function(v) -v))
  spoil("srvm_mcmc", set("current", "sets", function(v) v + 1000L))
})

test_that("states that only C++ can check come back as errors", {
  # With common scales no two slots have one location.
  fit <- a_fit("bark_paper")
  state <- fit$runs[[1]]$levels[[1]]
  twice <- rep(state$location[[1]], length(state$location))
  expect_gt(length(twice), 1)
  fit$runs[[1]]$levels[[1]]$location <- twice
  expect_error(
    update(fit, iter = 2, progress = FALSE), class = "kb_error_fit"
  )
  pool <- a_fit("srvm_bounded")
  pool$runs[[1]]$pool$uses <- pool$runs[[1]]$pool$uses[-1]
  expect_error(update(pool, newdata = sim_sinc(2, seed = 3)),
    class = "kb_error_fit"
  )
})

# 5 is none because the fits below have fewer groups and classes.
no_indices <- list(1e6, -1, 0, 0.5, 5, NaN, Inf, 2^31, NA_real_, -2^31)

test_that("several kernels have prior weights", {
  fit <- a_fit("srvm_average")
  fit$settings$prior["kernels"] <- list(NULL)
  expect_error(model_size(fit), "of a prior weight", class = "kb_error_fit")
})

test_that("the column of the offset is a number", {
  fit <- a_fit("bark_counts")
  at <- fit$mould$mixed$offset_column
  for (value in list(as.list(at), as.character(at), factor(at), at + 0.5)) {
    fit$mould$mixed$offset_column <- value
    expect_error(logLik(fit), class = "kb_error_fit")
  }
})

test_that("numbers of groups are checked before they are indices", {
  fit <- a_fit("bark_counts")
  at <- fit$mould$mixed$group_columns[[1]][[1]]
  for (value in no_indices) {
    spoilt <- fit
    spoilt$data$mixed[3, at] <- value
    for (ask in list(update, fitted, summary, logLik, simulate)) {
      expect_error(ask(spoilt), class = "kb_error_fit")
    }
  }
})

# Layouts would refuse these before: without them
test_that("C++ itself checks what it uses as indices and sizes", {
  spoil <- function(name, ..., among = no_indices) {
    path <- list(...)
    for (value in among) {
      engine <- put_leaf(fit_engine(a_fit(name)), path, function(old) {
        one_place(old, value)
      })
      expect_error(engine_open(engine, 1, NULL), class = "kb_error_fit",
        info = paste(c(name, path, value), collapse = " ")
      )
    }
  }
  sizes <- Filter(function(v) !v %in% c(1e6, 0, 5), no_indices)
  spoil("bark_counts", "config", "terms", "groupings", 1, "group")
  for (name in c("bark", "bark_classes", "kgs", "kgs_noisy", "srvm_mcmc")) {
    for (size in c("warmup", "iter", "thin")) {
      spoil(name, "config", size, among = sizes)
    }
  }
  spoil("bark", "config", "n_temps", among = sizes)
  for (name in c("bark_ordered", "bark_classes")) {
    spoil(name, "config", "classes", among = sizes)
  }
  spoil("bark_classes", "y")
  spoil("kgs", "data", "classes", among = sizes)
  spoil("kgs", "data", "label", among = sizes)
  spoil("kgs", "data", "point", among = sizes)
  for (size in c("particles", "n_moves", "sweep_every", "kmax")) {
    spoil("srvm", "config", size, among = sizes)
  }
})

test_that("C++ checks draws before it predicts from them", {
  pool <- bark_pool(a_fit("bark"))
  x <- matrix(0, 2, 1)
  ask <- function(pool, at = x, chosen = 1L, varied = 1L) {
    c(
      lapply(c("mean", "moments", "draw"), function(what) {
        function() bark_values_cpp(pool, at, x, what, chosen)
      }),
      lapply(c(bark_partial_cpp, bark_partial_projected_cpp), function(f) {
        function() f(pool, at, varied, x, x, "moments", chosen)
      })
    )
  }
  refused <- function(...) {
    for (call in ask(...)) expect_error(call(), class = "kb_error_fit")
  }
  # More kernels than the draws have, fewer than none, and elsewhere
  for (spoilt in list(
    put_leaf(pool, list("m"), function(m) c(m[1] + 3L, m[2] - 3L, m[-(1:2)])),
    put_leaf(pool, list("m"), function(m) c(-m[1], m[-1])),
    put_leaf(pool, list("location"), function(v) v + 100L),
    put_leaf(pool, list("beta"), function(v) v[-1]),
    put_leaf(pool, list("log_lambda"), function(v) v[-1])
  )) {
    refused(spoilt)
  }
  for (none in c(-1L, 0L, 1000L, NA)) refused(pool, chosen = none)
  refused(pool, at = matrix(0, 2, 2))
})

test_that("edited controls, priors and kernels are refused", {
  refused <- function(expr) {
    expect_error(expr, class = "kb_error_argument")
  }
  data <- sim_sinc(10, seed = 1)
  control <- tiny_chains()
  control$iter <- "ten"
  refused(bark(y ~ x, data, control = control))
  prior <- bark_prior_paper()
  prior$eps <- NaN
  refused(bark(y ~ x, data, prior = prior))
  kernel <- kernel_gaussian(1)
  kernel$bandwidth <- -1
  refused(srvm(y ~ x, data, kernel = kernel))
  refused(kernel_matrix(kernel, 1, 2))
  prior <- srvm_prior()
  prior$lambda <- -1
  refused(srvm(y ~ x, data, prior = prior))
})

test_that("vectors have no dimensions, and fields match by full name", {
  refused <- function(x, described) {
    expect_error(check_layout(x, described), class = "kb_error_fit")
  }
  refused(list(v = matrix(1)), layout(v = numbers()))
  refused(list(v = matrix(1L)), layout(v = counts()))
  refused(list(v = matrix(TRUE)), layout(v = flags()))
  refused(list(v = matrix("a")), layout(v = strings()))
  # list(v_other = 3)$v is 3.
  refused(list(v_other = 3), layout(v = maybe(strings())))
  expect_silent(
    check_layout(list(v_other = 3), layout(v = where(FALSE, strings())))
  )
  refused(list(n = .Machine$integer.max), layout(n = tallies()))
})

test_that("damage found by random edits is refused", {
  refused <- function(fit, f) {
    expect_error(suppressWarnings(f(fit)), class = "kb_error")
  }
  fit <- a_fit("srvm_mcmc")
  # All rows are one point then: some centres no longer exist.
  fit$settings$scaling$x_center <- 1e300
  refused(fit, function(fit) update(fit, iter = 2))
  fit <- a_fit("srvm")
  fit$settings$scaling$x_center <- 1e300
  refused(fit, function(fit) update(fit, newdata = sim_sinc(2, seed = 2)))
  fit <- a_fit("srvm")
  fit$control["checkpoint"] <- NULL
  refused(fit, predict)
  fit <- a_fit("srvm")
  fit$mould$terms <- fit$mould$terms[0]
  refused(fit, predict)
  fit <- a_fit("bark_probit")
  fit$runs[[1]]$levels[[1]]$copies[[1]] <- .Machine$integer.max
  refused(fit, function(fit) update(fit, iter = 2))
  fit <- a_fit("kbr")
  fit$features$observations$pivots <- rev(fit$features$observations$pivots)
  refused(fit, function(fit) predict(fit, 0))
  fit <- a_fit("kbr")
  fit["prior"] <- NULL
  refused(fit, diagnostics)
  fit <- a_fit("kbr_filter")
  fit$hmm$codes$seen <- fit$hmm$codes$seen[-1, , drop = FALSE]
  refused(fit, predict)
  fit <- a_fit("kbr_smooth")
  fit$filter$hmm$settings$method <- c("kbr", "kbr")
  refused(fit, predict)
  prior <- srvm_prior()
  prior["scaled"] <- list(NULL)
  refused(prior, function(prior) srvm(1:5, 1:5, prior = prior))
  fit <- a_fit("tdsmc")
  fit$moves$add$probability <- numeric()
  refused(fit, function(fit) update(fit, data = 1:3))
  fit <- a_fit("kbr_smooth")
  fit$observations <- fit$observations[0, , drop = FALSE]
  refused(fit, plot)
  fit <- a_fit("kbr")
  fit$gram_states[2, 1] <- -100
  refused(fit, function(fit) update(fit, prior = list(points = 0)))
  fit <- a_fit("cond_embedding")
  fit$gram[2, 1] <- -100
  refused(fit, function(fit) predict(fit, fit$x))
  fit <- bark(y ~ x, sim_sinc(12, seed = 1),
    prior = bark_prior_paper(approximation = "truncation"),
    control = tiny_chains(), seed = 1
  )
  fit$runs[[1]]$draws["z"] <- NULL
  refused(fit, fitted)
  fit <- a_fit("bark_probit")
  fit$settings$prior$nu <- 1e300
  refused(fit, importance)
})

test_that("unknown values are missing", {
  fit <- a_fit("kbr_filter")
  fit$sum[[1]] <- 0
  expect_silent(quantiles <- predict(fit, type = "quantile"))
  expect_true(anyNA(quantiles))
})

test_that("a fit of chains has all rows", {
  fit <- suppressWarnings(bark(y ~ x, sim_sinc(20, seed = 1),
    control = mcmc_control(chains = 1, warmup = 5, iter = 5), seed = 1
  ))
  fit$time <- 0L
  expect_error(plot(fit), "time", class = "kb_error_fit")
})
