# Numbers at the limits of double precision, users' functions that fail and
# memory that is refused: errors with a class.

d <- data.frame(x1 = sin(1:30), x2 = cos(1:30))
d$y <- d$x1 + d$x2
d$class <- factor(d$y > 0)
quiet <- function(expr) suppressWarnings(expr, classes = "kb_warning")
short <- mcmc_control(chains = 1, warmup = 5, iter = 10)
few <- smc_control(particles = 20, n_moves = 1)

test_that("distances beyond double precision give an error with a class", {
  big <- 1e200 * d$x1
  refused <- function(expr) expect_error(expr, class = "kb_error_precision")
  refused(kbr(y ~ x1, transform(d, x1 = big), scale = FALSE))
  refused(kbr(x1 ~ y, transform(d, x1 = big), scale = FALSE))
  refused(kbr(big, d$y, kernel_x = kernel_linear(), method = "kbr"))
  refused(kbr(big, d$y, kernel_x = kernel_polynomial(2), method = "kbr"))
  refused(tune_kbr(big, d$y))
  refused(kbr_hmm(big, d$y))
  refused(kbr_hmm(d$x1 / 1e200, d$y))
  refused(kgs(big, d$class, scale = FALSE, control = short))
  refused(kbr(kbr_chunks(function(i) list(x = big, y = d$y), 2), rank = 5))
  # Once scaled, they are as good as any others.
  expect_s3_class(quiet(kbr(big, d$y, scale = TRUE)), "kb_kbr")
})

test_that("a failing custom kernel is reported in the user's words", {
  broken <- kernel_custom(function(x, y) stop("my {own} trouble"))
  failed <- function(expr) {
    error <- expect_error(expr, "my {own} trouble",
      fixed = TRUE, class = "kb_error_custom_kernel"
    )
    expect_identical(conditionMessage(error$parent), "my {own} trouble")
  }
  failed(kernel_matrix(broken, d$x1))
  failed(kbr(d$x1, d$y, kernel_x = broken))
  failed(kbr(d$x1, d$y, kernel_y = broken))
  failed(kgs(d$x1, d$class, kernel = broken, control = short))
  failed(kbr_hmm(d$x1, d$y, kernel_x = broken, method = "kbr"))
  failed(kbr_hmm(d$x1, d$y, kernel_x = broken))
  failed(kbr_hmm(d$x1, d$y, kernel_y = broken))
  failed(cond_embedding(d$x1, d$y, kernel_x = broken))
  failed(select_kernel(d$x1, d$class, kernels = list(broken)))
  failed(kgs(d$x1, d$class,
    kernel = kernel_gaussian() + broken, control = short
  ))
  # Failures later in the run, too.
  calls <- 0
  late <- kernel_custom(function(x, y) {
    calls <<- calls + 1
    if (calls > 100) stop("my {own} trouble")
    exp(-outer(x[, 1], y[, 1], "-")^2)
  })
  fit <- quiet(kgs(d$x1, d$class, kernel = late, control = short, seed = 1))
  calls <- 100
  failed(predict(fit, d$x1))
})

test_that("raw vectors in a formula give an error with a class", {
  d$r <- as.raw(1:30)
  refused <- function(formula, class = "kb_error_formula") {
    expect_error(srvm(formula, d, control = few), class = class)
  }
  refused(y ~ I(r))
  refused(y ~ matrix(r))
  refused(y ~ xor(r, as.raw(255)))
  refused(y ~ x1 + as.raw(x1))
  refused(y ~ r, "kb_error_data")
  expect_error(kbr(r ~ x1, d), class = "kb_error_outcome")
  # A function may turn them into numbers.
  fit <- quiet(srvm(y ~ as.integer(r), d, control = few, seed = 1))
  expect_equal(fit$data$x[, 1], 1:30, ignore_attr = TRUE)
})

test_that("warnings of a formula's functions are passed on unchanged", {
  d$f <- factor(rep(1:3, 10))
  d$above <- d$x1 + 2
  told <- function(expr) {
    out <- list()
    try(withCallingHandlers(expr, warning = function(w) {
      if (!inherits(w, "kb_warning")) out[[length(out) + 1]] <<- w
      invokeRestart("muffleWarning")
    }), silent = TRUE)
    expect_gt(length(out), 0)
    for (w in out) expect_identical(class(w)[[1]], "simpleWarning")
    unique(vapply(out, conditionMessage, ""))
  }
  fit <- function(formula) srvm(formula, d, control = few, seed = 1)
  expect_identical(
    told(fit(y ~ log(x1))), told(log(-1))
  )
  expect_identical(told(fit(y ~ I(f * 2))), told(d$f * 2))
  own <- y ~ {
    warning("mine", call. = FALSE)
    x1
  }
  expect_identical(told(fit(own)), "mine")
  good <- quiet(fit(y ~ log(above)))
  expect_identical(told(predict(good, data.frame(above = -1))), told(log(-1)))
})

test_that("refused memory is not reported as a matter of precision", {
  refused <- structure(
    list(message = "std::bad_alloc", call = NULL),
    class = c("std::bad_alloc", "C++Error", "error", "condition")
  )
  refusals <- expression(
    core_value(stop(refused)), refuse_sampler(refused)
  )
  for (refusal in refusals) {
    error <- expect_error(eval(refusal), class = "kb_error_memory")
    expect_match(conditionMessage(error), "not enough memory")
    expect_no_match(conditionMessage(error), "precision")
  }
})

# Plots -----------------------------------------------------------------------

test_that("a plane with nearly equal numbers can be drawn", {
  withr::local_pdf(NULL)
  far <- transform(d, x1 = 1e15 + x1, x2 = 1e15 + x2)
  fit <- quiet(kgs(class ~ x1 + x2, far, control = short, seed = 1))
  expect_false(
    anyDuplicated(curve_along(fit, 70, "x1", 0.05)$at) > 0
  )
  expect_no_error(plot(fit))
  expect_false(anyDuplicated(apart_grid(c(1e15, 1e15), 100)) > 0)
  expect_identical(apart_grid(c(0, 1), 3), c(0, 0.5, 1))
})

test_that("an axis around a constant predictor uses the predictor's scale", {
  data <- transform(d, constant = 200, wide = 1000 * x1)
  fit <- quiet(kgs(class ~ constant + wide, data, control = short, seed = 1))
  ends <- range(curve_along(fit, 70, "constant", 0.05)$at)
  scale <- fit$settings$scaling$x_scale[["constant"]]
  expect_equal(ends, 200 + c(-3.3, 3.3) * scale)
})

test_that("a plot beyond double precision gives an error with a class", {
  withr::local_pdf(NULL)
  data <- data.frame(x = d$x1, y = 8e307 * d$y)
  fit <- quiet(srvm(y ~ x, data,
    kernel = kernel_gaussian(1), method = "mcmc", seed = 1, control = short
  ))
  # Each end is a number, but not their distance.
  expect_false(is.finite(diff(range(data$y))))
  expect_error(plot(fit), class = "kb_error_precision")
})

test_that("short and constant series of state-space models are learned", {
  finite <- function(hmm, ...) {
    found <- suppressWarnings(predict(kbr_filter(hmm, ...)), "kb_warning_far")
    expect_true(all(is.finite(found)))
  }
  finite(kbr_hmm(1:2, 1:2, seed = 1), c(1, NA, 2))
  pairs <- rep(1:15, each = 2)
  finite(kbr_hmm(d$x1, d$y, group = pairs, seed = 1), c(0, NA))
  expect_error(
    kbr_hmm(d$x1, d$y, group = pairs, lag = 1), class = "kb_error_rows"
  )
  finite(kbr_hmm(rep(1, 30), d$y, seed = 1), c(0, NA))
  # More columns than are kept, without variance
  wide <- matrix(1, 30, 25)
  hmm <- suppressMessages(kbr_hmm(d$x1, wide, seed = 1), "kb_message_constant")
  finite(hmm, wide[1:2, ])
  # Weights that are not numbers count as none.
  some <- with_local_seed(1, resample(c(NaN, 0, Inf, 0)))
  expect_setequal(some$kept, c(2, 4))
  expect_equal(some$evidence, log(1 / 2))
  none <- with_local_seed(1, resample(rep(NaN, 3)))
  expect_identical(none, list(kept = 1:3, evidence = -Inf))
})

test_that("first lines of warnings hold no numbers", {
  # Callers such as tune_grid() group warnings by their first lines: names may
  # differ, and the words for why a run stopped.
  names <- c(
    "arg", "name", "names(off)", "empty", "empty_level", "plural",
    "stop_words[[fit$status]]", "stop_words[[status]]"
  )
  warnings_in <- function(e) {
    inside <- lapply(Filter(is.call, as.list(e)), warnings_in)
    c(if (rlang::is_call(e, "kb_warn")) list(e), unlist(inside, FALSE))
  }
  texts_in <- function(e) {
    if (is.character(e)) e else if (is.call(e)) {
      unlist(lapply(as.list(e), texts_in))
    }
  }
  warnings <- 0
  for (name in ls(asNamespace("kernelbayes"))) {
    f <- getFromNamespace(name, "kernelbayes")
    for (warn in if (is.function(f)) warnings_in(body(f))) {
      warnings <- warnings + 1
      message <- warn[[2]]
      if (rlang::is_call(message, "c")) message <- message[[2]]
      # A condition may choose between texts.
      texts <- texts_in(message)
      expect_gt(length(texts), 0)
      used <- unlist(regmatches(texts, gregexpr("\\{[^{}]+\\}", texts)))
      used <- gsub("^\\{|\\}$", "", used)
      used <- grep("^[.?]|^cli::qty", used, value = TRUE, invert = TRUE)
      expect_identical(setdiff(used, names), character(), info = name)
    }
  }
  expect_gt(warnings, 30)
})

test_that("calls in messages work beside packages that mask our functions", {
  # kernlab has a convergence(), ranger an importance().
  message <- tryCatch(
    kernelbayes:::kb_warn(c(
      "Chains.",
      i = "{.code update(fit, until = convergence())}, {.fn importance},
           {.code kernelbayes::convergence(1.1)}, unimportance()"
    ), "convergence"),
    warning = conditionMessage
  )
  flat <- gsub("\\s+", " ", message)
  expect_match(flat, "until = kernelbayes::convergence()", fixed = TRUE)
  expect_match(flat, "kernelbayes::importance", fixed = TRUE)
  expect_match(flat, " unimportance()", fixed = TRUE)
  expect_no_match(flat, "kernelbayes::kernelbayes")
})
