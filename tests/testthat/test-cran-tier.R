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
  kinds <- c(
    "kb_srvm", "kb_srvm_mcmc", "kb_bark", "kb_bark_multinomial", "kb_kgs",
    "kb_kgs_noisy", "kb_tdsmc", "kb_kbr", "kb_kbr_hmm", "kb_hmm_adjusted",
    "kb_hmm_particles", "kb_kbr_filter"
  )
  fits <- lapply(cases, function(case) case$fit())
  found <- unlist(lapply(fits, class))
  # A path contains its model.
  found <- c(found, class(fits$kbr_hmm$hmm), class(fits$hmm_adjusted$hmm))
  expect_identical(setdiff(kinds, found), character())
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
