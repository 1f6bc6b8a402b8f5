# Bad and unusual input of kgs(): a defined answer, or an error whose class says
# what was wrong and whose message names the argument.

data <- kgs_example()

#' The call fails with this class and names the argument
refuse <- function(expr, argument, class = "kb_error_argument") {
  cnd <- rlang::catch_cnd(expr, "error")
  expect_s3_class(cnd, class)
  expect_s3_class(cnd, "kb_error")
  expect_match(conditionMessage(cnd), argument, fixed = TRUE)
}

#' A fit whose results are all finite and of the right size
expect_sound <- function(fit, n, levels) {
  expect_s3_class(fit, "kb_kgs")
  expect_identical(nobs(fit), as.integer(n))
  expect_identical(levels(fitted(fit)), levels)
  expect_length(fitted(fit), n)
  numbers <- list(
    predict(fit, type = "prob"), predict(fit, type = "link"),
    predict(fit, type = "draws"), predict(fit, type = "log_score"),
    label_noise(fit)$probability, residuals(fit), as.matrix(tidy(fit)[, -1]),
    if (learned_bandwidths(fit$settings$kernel) == "none") {
      coef(bayes_point(fit))
    }
  )
  expect_true(all(vapply(numbers, function(v) all(is.finite(v)), NA)))
  expect_equal(rowSums(predict(fit, type = "prob")), rep(1, n))
  expect_output(print(fit), "Bayesian kernel classification")
}

# Interfaces -------------------------------------------------------------------

test_that("all interfaces give the same fit", {
  x <- as.matrix(data[c("x1", "x2")])
  fits <- list(
    kgs_quick(side ~ x1 + x2, data),
    kgs_quick(formula = side ~ x1 + x2, data = data),
    kgs_quick(data[c("x1", "x2")], data$side), kgs_quick(x, data$side),
    kgs_quick(x = unname(x), y = data$side),
    kgs_quick(unname(x), as.character(data$side)),
    kgs_quick(x, data$side == "right"), kgs_quick(x, data["side"])
  )
  for (fit in fits[-1]) {
    expect_identical(fit$runs[[1]]$draws, fits[[1]]$runs[[1]]$draws)
    expect_identical(
      unname(predict(fit, type = "prob")),
      unname(predict(fits[[1]], type = "prob"))
    )
  }
  expect_identical(fits[[7]]$mould$levels, c("FALSE", "TRUE"))
  expect_identical(predict(fits[[5]], x), predict(fits[[4]], x))
})

test_that("a vector is one column, everywhere", {
  fit <- kgs_quick(data$x1, data$side)
  expect_sound(fit, 40, c("left", "right"))
  one <- kgs_quick(side ~ x1, data)
  expect_identical(fit$runs[[1]]$draws, one$runs[[1]]$draws)
  expect_identical(
    predict(fit, data$x1, type = "link"), predict(one, data, type = "link")
  )
})

test_that("factors become indicators; novel levels are NA with a warning", {
  fit <- kgs_quick(side ~ x1 + g, data)
  expect_identical(fit$mould$x_names, c("x1", "ga", "gb", "gc"))
  new <- data[1:3, ]
  new$g <- c("a", "new", "b")
  expect_warning(out <- predict(fit, new), class = "kb_warning_novel_level")
  expect_identical(is.na(out), c(FALSE, TRUE, FALSE))
  xy <- kgs_quick(data[c("x1", "g")], data$side)
  expect_identical(xy$runs[[1]]$draws, fit$runs[[1]]$draws)
  expect_sound(kgs_quick(side ~ g, data), 40, c("left", "right"))
})

test_that("the response is a factor, a string or a logical", {
  refuse(kgs_quick(data$x1, as.numeric(data$y)), "y", "kb_error_outcome")
  refuse(kgs_quick(data$x1, rep("a", 40)), "y", "kb_error_outcome")
  refuse(kgs_quick(side ~ x1, data[data$side == "left", ]), "side",
    "kb_error_outcome"
  )
  refuse(kgs_quick(data$x1, data$y[-1]), "y", "kb_error")
  # A level without a row is no class.
  y <- factor(data$y, c("0", "2", "1"))
  expect_sound(kgs_quick(data$x1, y), 40, c("0", "1"))
})

# Rows and columns -------------------------------------------------------------

test_that("few rows, one of each class, can be fitted", {
  two <- kgs_quick(c(0, 1), c("b", "a"))
  expect_sound(two, 2, c("a", "b"))
  three <- kgs_quick(matrix(1:3), c("a", "b", "c"))
  expect_sound(three, 3, c("a", "b", "c"))
  expect_sound(kgs_quick(matrix(1:3), c("a", "b", "c"), noise = 0.2), 3,
    c("a", "b", "c")
  )
  for (method in c("block", "leapfrog")) {
    expect_sound(
      kgs_quick(c(0, 1), c("b", "a"), nugget = 1, method = method), 2,
      c("a", "b")
    )
  }
  expect_sound(kgs_quick(c(0, 1), c("b", "a"), nugget = NULL), 2, c("a", "b"))
  refuse(kgs_quick(1, "a"), "y", "kb_error_outcome")
  refuse(kgs_quick(numeric(), character()), "x", "kb_error")
})

test_that("more columns than rows, and constant columns, can be fitted", {
  wide <- with_local_seed(1, matrix(stats::rnorm(10 * 50), 10))
  y <- rep(c("a", "b"), 5)
  expect_sound(kgs_quick(wide, y), 10, c("a", "b"))
  untold <- function(expr) suppressMessages(expr, "kb_message_constant")
  constant <- untold(kgs_quick(cbind(a = data$x1, b = 5), data$side))
  expect_identical(
    constant$runs[[1]]$draws, kgs_quick(data$x1, data$side)$runs[[1]]$draws
  )
  # No predictor distinguishes rows: rank one.
  none <- untold(
    kgs_quick(rep(2, 40), data$side, kernel = kernel_gaussian(1))
  )
  expect_sound(none, 40, c("left", "right"))
  expect_identical(kgs_rank(none), 1L)
  p <- predict(none, type = "prob")
  expect_true(all(p[, 1] == p[1, 1]))
})

test_that("duplicated rows may agree or contradict", {
  # A point with both labels: one of them is wrong for any f.
  x <- c(0, 0, 1, 1, 1)
  y <- c("a", "b", "b", "b", "b")
  for (method in c("hmc", "circle", "coordinate")) {
    fit <- kgs_quick(x, y, method = method, kernel = kernel_gaussian(1))
    expect_sound(fit, 5, c("a", "b"))
    expect_gte(min(as_draws(fit)$errors), 1)
    p <- label_noise(fit)$probability
    expect_equal(p[[1]] + p[[2]], 1)
    expect_identical(p[3], p[4])
  }
  refuse(
    kgs_quick(x, y, noise = 0), "noise_beta", "kb_error_not_separable"
  )
  twice <- kgs_quick(rbind(data, data)[c("x1", "x2")], rep(data$side, 2))
  expect_sound(twice, 80, c("left", "right"))
  p <- label_noise(twice)$probability
  expect_identical(p[1:40], p[41:80])
})

test_that("missing and infinite values", {
  holes <- transform(data, x1 = replace(x1, 3, NA))
  refuse(kgs_quick(side ~ x1 + x2, holes, na.action = "fail"), "x1",
    "kb_error_missing"
  )
  kept <- kgs_quick(side ~ x1 + x2, holes, na.action = "omit")
  expect_sound(kept, 39, c("left", "right"))
  expect_identical(
    kept$runs[[1]]$draws,
    kgs_quick(side ~ x1 + x2, data[-3, ])$runs[[1]]$draws
  )
  unlabelled <- transform(data, side = replace(side, 3, NA))
  refuse(kgs_quick(side ~ x1 + x2, unlabelled, na.action = "fail"), "side",
    "kb_error_missing"
  )
  for (v in c(Inf, -Inf)) {
    infinite <- transform(data, x1 = replace(x1, 3, v))
    refuse(kgs_quick(side ~ x1, infinite), "x1", "kb_error_infinite")
    refuse(kgs_quick(infinite$x1, data$side), "x", "kb_error_infinite")
    fit <- kgs_quick(side ~ x1, data)
    refuse(predict(fit, infinite), "x1", "kb_error_infinite")
  }
})

test_that("wrong newdata is refused", {
  fit <- kgs_quick(side ~ x1 + x2, data)
  refuse(predict(fit, data["x1"]), "x2", "kb_error_columns")
  refuse(predict(fit, 1:3), "newdata", "kb_error")
  refuse(predict(fit, transform(data, x1 = "a")), "x1", "kb_error")
  expect_identical(predict(fit, data[0, ]), predict(fit)[0])
  shuffled <- data[3:1, c("three", "x2", "side", "x1")]
  expect_identical(predict(fit, shuffled), predict(fit)[3:1])
  xy <- kgs_quick(unname(as.matrix(data[c("x1", "x2")])), data$side)
  refuse(predict(xy, matrix(0, 2, 3)), "newdata", "kb_error_columns")
  expect_identical(
    predict(xy, data.frame(a = data$x1, b = data$x2)), predict(xy)
  )
})

# Settings ---------------------------------------------------------------------

test_that("unknown arguments and wrong settings are refused", {
  wrong <- list(
    noise = list(0.5, -0.1, NA, "a", c(0.1, 0.2)),
    bias = list(-1, NA, "a", Inf), nugget = list(-1, Inf, c(1, 2)),
    method = list("gibbs", 1, c("hmc", "circle")), rank = list(0, 1.5, -2),
    kernel = list("gaussian", 1), scale = list(NA, 1), seed = list(-1, "a"),
    progress = list(NA, 1), na.action = list("drop"),
    control = list(1, list())
  )
  for (name in names(wrong)) {
    for (value in wrong[[name]]) {
      arguments <- c(
        list(data[c("x1", "x2")], data$side),
        stats::setNames(list(value), name)
      )
      refuse(do.call(kgs, arguments), name)
    }
  }
  refuse(kgs_quick(data$x1, data$side, noise_rate = 0.1), "noise_rate",
    "kb_error_unknown_argument"
  )
  refuse(kgs_quick(side ~ x1, data, weights = 1:40), "weights",
    "kb_error_argument"
  )
  refuse(kgs(), "`x`")
  refuse(kgs(list(1)), "`x`")
})

test_that("noise is below the rate of guessing among the classes", {
  refuse(kgs_quick(three ~ x1, data, noise = 2 / 3), "0.667")
  expect_s3_class(kgs_quick(three ~ x1, data, noise = 0.6), "kb_kgs")
  refuse(kgs_quick(three ~ x1, data, noise = noise_class()), "noise_class")
})

test_that("block requires a nugget and two classes", {
  refuse(kgs_quick(side ~ x1, data, method = "block"), "nugget")
  refuse(kgs_quick(three ~ x1, data, method = "block", nugget = 1), "classes")
})

test_that("what is left open follows from the nugget and the method", {
  opened <- function(...) {
    settings <- kgs_quick(side ~ x1, data, ...)$settings
    list(settings$method, settings$nugget, settings$kernel, settings$noise)
  }
  ard <- kernel_gaussian("ard")
  rare <- check_label_noise(noise_beta(1, 9), 2)
  any_rate <- check_label_noise(noise_beta(), 2)
  known <- kernel_gaussian(bandwidth_median(scale(data$x1)))
  learned <- list("leapfrog", "learn", ard, rare)
  paper <- list("hmc", 0, known, any_rate)
  expect_equal(opened(nugget = NULL), learned)
  expect_equal(opened(nugget = NULL, method = "leapfrog"), learned)
  expect_equal(opened(nugget = 0.3), list("leapfrog", 0.3, ard, rare))
  expect_equal(opened(nugget = 0), paper)
  expect_equal(opened(nugget = NULL, method = "hmc"), paper)
  expect_equal(
    opened(nugget = NULL, kernel = known, noise = 0.1)[1:3],
    list("leapfrog", "learn", known)
  )
  wide <- matrix(stats::rnorm(200), 2)
  fit <- kgs_quick(wide, c("a", "b"), nugget = NULL)
  expect_identical(fit$settings$kernel, kernel_gaussian("learn"))
  lengths <- function(...) {
    kgs(data$x1, data$side, seed = 1, ..., control = mcmc_control(
      warmup = NULL, iter = NULL, time_limit = 1e-6
    ))$control[c("warmup", "iter")]
  }
  expect_identical(
    suppressWarnings(unlist(lengths())), c(warmup = 200L, iter = 200L)
  )
  expect_identical(
    suppressWarnings(unlist(lengths(nugget = 0))),
    c(warmup = 250L, iter = 250L)
  )
})

test_that("labels without a possible direction give a helpful error", {
  linear <- kernel_linear()
  refuse(
    kgs_quick(side ~ x1, data, noise = 0, kernel = linear), "noise_beta",
    "kb_error_not_separable"
  )
  fit <- kgs_quick(side ~ x1, data,
    noise = 0, kernel = linear, nugget = 0.1, method = "block"
  )
  expect_sound(fit, 40, c("left", "right"))
})

test_that("a low rank works, and one that leaves too much gives a warning", {
  expect_warning(
    fit <- kgs_quick(side ~ x1 + x2, data,
      rank = 2, kernel = kernel_gaussian(0.2)
    ),
    class = "kb_warning_rank"
  )
  expect_identical(kgs_rank(fit), 2L)
  expect_sound(fit, 40, c("left", "right"))
  expect_sound(
    kgs_quick(side ~ x1 + x2, data, rank = 1000), 40, c("left", "right")
  )
  custom <- kernel_custom(function(x, y) tcrossprod(x, y))
  refuse(kgs_quick(side ~ x1 + x2, data, kernel = custom, rank = 3), "rank",
    "kb_error_custom_kernel"
  )
})

test_that("many points have a low rank by default, and a complete fit", {
  points <- kgs_full_points + 1
  x <- seq(-3, 3, length.out = points)
  fit <- kgs_quick(x, x > 0.1, chains = 1, warmup = 5, iter = 5)
  expect_identical(fit$settings$rank_limit, 200L)
  expect_length(predict(fit), points)
  expect_output(print(fit), "rank:")
})

test_that("refusing a bandwidth to learn without a nugget names kgs()", {
  error <- expect_error(
    kgs(c(1, 2, 3), c("a", "b", "a"),
      kernel = kernel_gaussian("learn"), nugget = 0
    ), "nugget",
    class = "kb_error_argument"
  )
  expect_match(deparse(error$call)[[1]], "^kgs")
})

test_that("a kernel that is zero is refused", {
  zero <- kernel_custom(function(x, y) matrix(0, nrow(x), nrow(y)))
  refuse(kgs_quick(side ~ x1, data, kernel = zero, bias = 0), "bias")
})

test_that("names like internal ones cause no trouble", {
  odd <- stats::setNames(
    data[c("x1", "x2", "side")], c("call", "fit", "levels")
  )
  expect_sound(kgs_quick(levels ~ ., odd), 40, c("left", "right"))
  spaced <- stats::setNames(data[c("x1", "side")], c("a b", "the class"))
  expect_sound(
    kgs_quick(`the class` ~ `a b`, spaced), 40, c("left", "right")
  )
})

# The run ----------------------------------------------------------------------

test_that("the seed decides, and leaves R's generator alone", {
  keep_random_state()
  set.seed(1)
  before <- random_state()
  a <- kgs_quick(side ~ x1 + x2, data, seed = 5)
  b <- kgs_quick(side ~ x1 + x2, data, seed = 5)
  three <- kgs_quick(three ~ x1 + x2, data, seed = 5)
  predict(three, data, type = "prob")
  simulate(a, seed = 1)
  expect_identical(random_state(), before)
  expect_same_fit(a, b)
  other <- kgs_quick(side ~ x1 + x2, data, seed = 6)
  expect_false(identical(a$runs[[1]]$draws, other$runs[[1]]$draws))
  drawn <- kgs_quick(side ~ x1 + x2, data, seed = NULL)
  set.seed(1)
  again <- kgs_quick(side ~ x1 + x2, data, seed = NULL)
  expect_same_fit(drawn, again)
})

test_that("a fit is plain data: saved, read and predicted from", {
  fit <- kgs_quick(three ~ x1 + g, data, nugget = 0.1, method = "hmc")
  file <- withr::local_tempfile(fileext = ".rds")
  saveRDS(fit, file)
  read <- readRDS(file)
  expect_equal(read, fit)
  expect_identical(
    predict(read, data, type = "prob"), predict(fit, data, type = "prob")
  )
  expect_identical(bayes_point(read)$alpha, bayes_point(fit)$alpha)
  old <- fit
  old$version <- 0L
  refuse(predict(old, data), "version", "kb_error_version")
})

test_that("a time limit gives a partial fit that update() completes", {
  whole <- kgs(side ~ x1 + x2, data,
    nugget = 0, seed = 1,
    control = mcmc_control(chains = 2, warmup = 50, iter = 20000)
  )
  for (limit in c(1e-6, 0.05)) {
    expect_warning(
      part <- kgs(side ~ x1 + x2, data,
        nugget = 0, seed = 1, control = mcmc_control(
          chains = 2, warmup = 50, iter = 20000, time_limit = limit
        )
      ),
      class = "kb_warning_time_limit"
    )
    expect_identical(part$status, "time_limit")
    expect_output(print(part), "INCOMPLETE")
    if (any(draws_in(part) > 0)) {
      expect_length(predict(part, data), 40)
      expect_length(label_noise(part)$probability, 40)
      expect_true(all(label_noise(part)$probability <= 1))
    } else {
      refuse(predict(part, data), "no posterior", "kb_error_not_defined")
    }
    expect_same_fit(update(part, time_limit = 600), whole)
  }
})

test_that("a chain cut anywhere continues unchanged", {
  for (method in c("hmc", "circle", "coordinate", "block")) {
    fit <- suppressWarnings(kgs(side ~ x1 + x2, data,
      method = method, nugget = if (method == "block") 0.2 else 0,
      control = mcmc_control(2, 150, 200, 3), seed = 2
    ))
    part <- fit
    part$runs <- list(
      run_parts(fit_engine(fit), c(37, 20)),
      run_parts(fit_engine(fit), c(149, 1, 51), index = 2)
    )
    for (i in 1:2) part$runs[[i]]$seconds <- 0
    part <- sealed(part)
    expect_same_fit(suppressWarnings(update(part)), fit)
    longer <- suppressWarnings(update(fit, iter = 100))
    whole <- suppressWarnings(kgs(side ~ x1 + x2, data,
      method = method, nugget = if (method == "block") 0.2 else 0,
      control = mcmc_control(2, 150, 300, 3), seed = 2
    ))
    expect_same_fit(longer, whole)
  }
})

test_that("chains without draws are not called usable", {
  data <- sim_moons(40, seed = 1)
  warning <- expect_warning(
    kgs(y ~ x1 + x2, data,
      seed = 1, control = mcmc_control(2, 1e6, 10, time_limit = 0.01)
    ),
    class = "kb_warning_time_limit"
  )
  expect_match(conditionMessage(warning), "no draws yet")
  expect_no_match(conditionMessage(warning), "can use")
})

test_that("an interrupt gives a partial fit that update() completes", {
  skip_without_processes()
  skip_on_os("windows")
  run <- function(iter, file = NULL) {
    data <- kernelbayes::sim_moons(200, seed = 1)
    kernelbayes::kgs(y ~ x1 + x2, data,
      kernel = kernelbayes::kernel_gaussian(0.3),
      control = kernelbayes::mcmc_control(
        chains = 1, iter = iter, checkpoint = file
      ), seed = 1
    )
  }
  # Written when the pilot is over: the interrupt must hit the chain.
  file <- file.path(local_folder(), "begun")
  process <- in_process(function(run, file, iter) {
    environment(run) <- globalenv()
    tryCatch(
      withCallingHandlers(run(iter, file),
        kb_warning_interrupted = function(w) invokeRestart("muffleWarning")
      ),
      interrupt = function(i) "lost"
    )
  }, run, file, 3e4, background = TRUE)
  withr::defer(process$kill())
  wait_until(function() file.exists(file), process)
  Sys.sleep(0.4)
  process$interrupt()
  fit <- value_of(process)
  fit$control["checkpoint"] <- list(NULL)
  fit <- sealed(fit)
  expect_s3_class(fit, "kb_kgs")
  expect_identical(fit$status, "interrupted")
  done <- fit$runs[[1]]$time
  expect_lt(done, 31000)
  # A few more are enough for the comparison.
  target <- max(done, 1000) + 50
  fit$control$iter <- as.integer(target - 1000)
  fit <- sealed(fit)
  suppressWarnings(expect_same_fit(update(fit), run(target - 1000)))
})

test_that("without a nugget \"auto\" is \"hmc\", or an error of memory", {
  # "coordinate" does not mix at this size: 3 effective draws of 2000.
  kernel <- kernel_gaussian(1)
  expect_identical(choose_kgs_method("auto", 2, 0, kernel), "hmc")
  expect_identical(choose_kgs_method("auto", 3, 0, kernel), "hmc")
  expect_identical(choose_kgs_method("auto", 2, 0.1, kernel), "leapfrog")
  withr::local_options(kernelbayes.memory_limit = 2e7)
  moons <- sim_moons(2600, seed = 1)
  expect_error(kgs(y ~ x1 + x2, moons, nugget = 0, rank = 20, seed = 1),
    "nugget = \"learn\"",
    class = "kb_error_memory"
  )
})
