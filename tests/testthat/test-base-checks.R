test_that("kb_abort and kb_warn give classed conditions", {
  expect_error(kb_abort("no", "thing"), class = "kb_error_thing")
  expect_error(kb_abort("no", "thing"), class = "kb_error")
  expect_warning(kb_warn("hm", "thing"), class = "kb_warning_thing")
  expect_warning(kb_warn("hm", "thing"), class = "kb_warning")
  cnd <- rlang::catch_cnd(kb_abort("no", "thing", extra = 3))
  expect_identical(cnd$extra, 3)
})

test_that("calls without arguments are errors of the package", {
  # Those of other packages have their own.
  others <- c(
    "VarCorr", "as_draws", "augment", "fit", "fixef", "glance", "ranef", "tidy"
  )
  names <- setdiff(getNamespaceExports("kernelbayes"), others)
  for (name in grep("^param_", names, value = TRUE, invert = TRUE)) {
    f <- getExportedValue("kernelbayes", name)
    if (is.function(f)) {
      expect_identical(outcome_of(function() f()), "", info = name)
    }
  }
})

test_that("calls without a second or a first argument are, too", {
  calls <- list(
    function() tune_kbr(1:9), function() kbr(1:9), function() kdr(1:9),
    function() tune_kbr_hmm(1:9), function() tune_kbr_hmm(observations = 1:9),
    function() kbr_hmm(1:9), function() kbr_hmm(observations = 1:9),
    function() bark(1:9), function() srvm(1:9), function() kgs(1:9),
    function() select_kernel(1:9), function() cond_embedding(1:9),
    function() kernel_matrix(1:9)
  )
  for (call in calls) {
    expect_error(call(), class = "kb_error", info = deparse(body(call)))
  }
})

test_that("errors name the function that the user called", {
  named <- function(expr) {
    as.character(rlang::catch_cnd(expr, "error")$call)[[1]]
  }
  d <- data.frame(x = 1:20, y = sin(1:20))
  expect_identical(named(kbr(y ~ x, d, rank = -1)), "kbr")
  expect_identical(named(kernel_gaussian(-1)), "kernel_gaussian")
  fit <- suppressWarnings(kbr(y ~ x, d))
  expect_identical(named(predict(fit, type = "no")), "predict")
  expect_identical(named(plot(fit, level = 2)), "plot")
  expect_identical(named(kernel_gaussian() - 1), "-")
  expect_identical(named(kernel_gaussian() + -1), "+")
  # Within a function of the user's own: the one that calls it.
  own <- eval(quote(function(n) kernel_gaussian(-1)), globalenv())
  expect_identical(
    named(kbr_simulate(own, function(x) x, n = 5, seed = 1)), "kbr_simulate"
  )
})

test_that("need_package names the package", {
  expect_null(need_package("stats", "This"))
  cnd <- rlang::catch_cnd(need_package("notthere4711", "This"))
  expect_s3_class(cnd, "kb_error_package")
  expect_match(conditionMessage(cnd), "notthere4711")
})

test_that("check_number accepts its range and nothing else", {
  expect_identical(check_number(2L), 2)
  expect_identical(check_number(0, 0, 1), 0)
  for (bad in list("1", NA_real_, NaN, Inf, c(1, 2), NULL, TRUE, list(1))) {
    expect_error(check_number(bad), "bad", class = "kb_error_argument")
  }
  expect_error(check_number(0, 0, open = TRUE), class = "kb_error_argument")
  expect_error(check_number(2, 0, 1), class = "kb_error_argument")
})

test_that("check_count accepts only whole numbers", {
  expect_identical(check_count(3), 3L)
  for (bad in list(1.5, -1, "1", NA, Inf, 1:2, NULL, 1e10)) {
    expect_error(check_count(bad), "bad", class = "kb_error_argument")
  }
  expect_error(check_count(0, 1), "at least 1")
})

test_that("check_flag, check_choice and check_file", {
  expect_true(check_flag(TRUE))
  for (bad in list(NA, 1, "TRUE", c(TRUE, FALSE), NULL)) {
    expect_error(check_flag(bad), "bad", class = "kb_error_argument")
  }
  choices <- c("a", "b")
  expect_identical(check_choice(choices, choices), "a")
  expect_identical(check_choice("b", choices), "b")
  for (bad in list("c", NA_character_, 1, NULL, c("b", "a"))) {
    expect_error(check_choice(bad, choices), class = "kb_error_argument")
  }
  expect_null(check_file(NULL))
  file <- tempfile()
  expect_identical(check_file(file), file)
  lost <- file.path(tempfile(), "a", "b")
  expect_error(check_file(lost), "lost", class = "kb_error_argument")
})

test_that("a number beyond the integers gives an error with the largest one", {
  error <- expect_error(check_count(3e9), class = "kb_error_argument")
  expect_match(conditionMessage(error), "2147483647")
  error <- expect_error(check_count(-1), class = "kb_error_argument")
  expect_no_match(conditionMessage(error), "2147483647")
})
