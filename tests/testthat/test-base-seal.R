a_fit <- local({
  fits <- list()
  function(name) {
    if (is.null(fits[[name]])) fits[[name]] <<- fuzz_cases()[[name]]()$fit
    fits[[name]]
  }
})

test_that("fits of every engine are sealed, also after a file", {
  cases <- names(Filter(is.function, fuzz_cases()))
  cases <- grep("calls?$|predict$|simulated|(kgs|bark|kbr|srvm|xy)_update$", cases,
    value = TRUE, invert = TRUE
  )
  file <- withr::local_tempfile()
  for (name in cases) {
    fit <- a_fit(name)
    expect_type(fit$seal, "character")
    saveRDS(fit, file)
    read <- readRDS(file)
    expect_identical(seal_of(read), fit$seal, info = name)
    expect_silent(check_object(read))
  }
})

test_that("any change of data changes the seal", {
  whole <- list(
    numbers = c(1, NA, NaN, -Inf), counts = 1:3, flags = c(TRUE, NA),
    words = c(a = "x", b = NA), complex = 1i, bytes = as.raw(1:2),
    matrix = matrix(1:4, 2, dimnames = list(NULL, c("a", "b"))),
    classes = factor(c("a", "b")), table = data.frame(x = 1:2, y = c("u", "v")),
    formula = y ~ x + log(z), terms = stats::terms(y ~ x * z),
    call = quote(f(x, a = 2)), nothing = NULL, nested = list(a = list(b = 1))
  )
  changes <- list(
    numbers = c(1, NA, NaN, Inf), numbers = c(1, NaN, NA, -Inf),
    numbers = c(1 + 2^-52, NA, NaN, -Inf), numbers = c(-1, NA, NaN, -Inf),
    numbers = c(1, NA, NaN), counts = c(1L, 2L, 4L), counts = c(1, 2, 3),
    counts = 1:4, counts = integer(), flags = c(TRUE, FALSE), flags = c(1L, NA),
    words = c(a = "x", b = "NA"), words = c("x", NA), words = c(a = "x", c = NA),
    words = c(a = "xy", b = ""), complex = -1i, bytes = as.raw(2:1),
    matrix = matrix(1:4, 2), matrix = t(whole$matrix), matrix = 1:4,
    classes = factor(c("a", "b"), levels = c("b", "a")),
    classes = factor(c("a", "b"), levels = c("a", "b", "c")),
    classes = unclass(whole$classes), table = as.list(whole$table),
    table = whole$table[2:1, ], formula = y ~ x + log(w), formula = y ~ x,
    terms = stats::terms(y ~ x + z), terms = y ~ x * z,
    call = quote(f(x, b = 2)), call = quote(f(x, a = 3)), nothing = 1,
    nested = list(a = list(b = 2)), nested = list(a = list(c = 1)),
    nested = list(list(b = 1)), nested = list(a = 1)
  )
  seal <- seal_of(whole)
  expect_named(seal, setdiff(names(whole), "call"))
  whole$call <- NULL
  changes <- changes[names(changes) != "call"]
  for (i in seq_along(changes)) {
    changed <- whole
    changed[names(changes)[[i]]] <- changes[i]
    expect_identical(
      names(seal)[seal_of(changed) != seal], names(changes)[[i]],
      info = deparse(changes[[i]])[[1]]
    )
  }
  expect_false(seal_cpp(list(quote(f(a = 2)))) == seal_cpp(list(quote(f(b = 2)))))
})

test_that("one changed bit anywhere changes the seal", {
  x <- with_local_seed(1, stats::rnorm(1000))
  seal <- seal_cpp(list(x))
  for (i in seq_along(x)) {
    y <- x
    y[[i]] <- y[[i]] * (1 + 2^-52)
    expect_false(seal_cpp(list(y)) == seal)
  }
})

test_that("functions, environments and times are not sealed", {
  part <- function(f, seconds, env) {
    seal_cpp(list(list(f = f, seconds = seconds, env = env, threads = seconds)))
  }
  expect_identical(
    part(function(x) x, 1, globalenv()), part(function(y) 2 * y, 2, new.env())
  )
  expect_false(part(sum, 1, globalenv()) == part(1, 1, globalenv()))
  latin <- "\u00e4"
  expect_identical(
    seal_cpp(list(latin)), seal_cpp(list(iconv(latin, "UTF-8", "latin1")))
  )
})

test_that("the error names the field", {
  fit <- a_fit("bark")
  fit$runs[[2]]$draws$location[[3]] <- 1000L
  error <- expect_error(predict(fit), class = "kb_error_fit")
  expect_identical(error$field, "fit$runs")
  expect_match(conditionMessage(error), "fit$runs", fixed = TRUE)
  fit <- a_fit("srvm")
  fit$data <- NULL
  error <- expect_error(predict(fit), class = "kb_error_fit")
  expect_identical(error$field, "fit$data")
  fit <- a_fit("srvm")
  fit$seal <- NULL
  expect_error(predict(fit), class = "kb_error_fit")
  expect_error(predict(structure(3, class = "kb_srvm")), class = "kb_error_fit")
})

test_that("what users may edit is not sealed", {
  fit <- a_fit("srvm")
  fit$call <- NULL
  fit$mine <- NULL
  fit$control$overwrite <- TRUE
  fit$control$threads <- 1L
  expect_silent(predict(fit))
  class(fit) <- c("mine", class(fit))
  expect_silent(predict(fit))
})

test_that("fits of version 2, which had no seal, are read", {
  fit <- a_fit("bark")
  expected <- predict(fit)
  fit$version <- 2L
  fit$seal <- NULL
  expect_identical(predict(fit), expected)
  longer <- suppressWarnings(update(fit, iter = 1, progress = FALSE))
  expect_identical(longer$version, fit_version)
  expect_silent(check_object(longer))
  fit$version <- 1L
  expect_error(predict(fit), class = "kb_error_version")
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
    "finish_fit", "warn_status", "warn_quality", "is_complete",
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
      update(sealed(fit), iter = 2, progress = FALSE),
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
    update(sealed(fit), iter = 2, progress = FALSE), class = "kb_error_fit"
  )
  pool <- a_fit("srvm_bounded")
  pool$runs[[1]]$pool$uses <- pool$runs[[1]]$pool$uses[-1]
  expect_error(update(sealed(pool), newdata = sim_sinc(2, seed = 3)),
    class = "kb_error_fit"
  )
})

# 5 is none because the fits below have fewer groups and classes.
no_indices <- list(1e6, -1, 0, 0.5, 5, NaN, Inf, 2^31, NA_real_, -2^31)

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

# The seal would refuse these before: without it
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
  spoil("bark_ordered", "config", "classes", among = sizes)
  spoil("bark_classes", "config", "fields", among = sizes)
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
      function() bark_partial_cpp(pool, at, varied, x, x, "moments", chosen)
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

test_that("unknown values are missing", {
  fit <- a_fit("kbr_filter")
  fit$sum[[1]] <- 0
  fit <- sealed(fit)
  expect_silent(quantiles <- predict(fit, type = "quantile"))
  expect_true(anyNA(quantiles))
})

