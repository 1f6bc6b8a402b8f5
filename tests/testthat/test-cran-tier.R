# The tests that run on CRAN, by tests/testthat.R and helper-cran.R.

quick_files <- function() {
  script <- as.list(parse(test_path("..", "testthat.R")))
  is_list <- vapply(script, function(line) {
    is.call(line) && identical(line[[1]], as.name("<-")) &&
      identical(line[[2]], as.name("quick"))
  }, NA)
  eval(script[is_list][[1]][[3]])
}

test_that("the files that run on CRAN exist, and do not use tests/cpp", {
  skip_if_not(file.exists(test_path("..", "testthat.R")))
  files <- paste0("test-", quick_files(), ".R")
  expect_identical(files[!file.exists(test_path(files))], character())
  expect_true("test-cran.R" %in% files)
  for (file in c(files, "helper-cran.R")) {
    called <- all.names(parse(test_path(file), keep.source = FALSE))
    expect_identical(
      intersect(called, test_entries), character(), label = file
    )
  }
})

test_that("every kind of fit runs on CRAN", {
  cases <- cran_cases()
  # Methods of fits and of objects made from them.
  kinds <- sub("^object_layout[.]", "", ls(
    asNamespace("kernelbayes"), pattern = "^object_layout[.]"
  ))
  derived <- c(
    "default", "kb_bayes_point", "kb_cond_embedding", "kb_kbr_forecast",
    "kb_kbr_smooth", "kb_kdr", "kb_kernel_mean"
  )
  fits <- lapply(cases, function(case) case$fit())
  found <- unlist(lapply(fits, class))
  # A path contains its model.
  found <- c(found, class(fits$kbr_hmm$hmm), class(fits$hmm_adjusted$hmm))
  expect_identical(setdiff(kinds, c(derived, found)), character())
  barks <- fits[startsWith(names(fits), "bark")]
  families <- vapply(barks, function(fit) fit$settings$family, "")
  expect_setequal(
    families, c("gaussian", "probit", "ordered", "multinomial")
  )
})

test_that("every case has an answer, bad input and a continuation", {
  for (case in cran_cases()) {
    expect_named(
      case,
      c("exact", "limit", "fit", "go_on", "whole", "ask", "refused")
    )
    expect_gte(length(case$refused), 4)
    expect_match(names(case$refused), "^kb_error_")
  }
})
