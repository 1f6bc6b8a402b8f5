test_that("every entry of tests/cpp is known, and none is in the package", {
  cpp <- list.files(file.path("..", "cpp"), "[.]cpp$", full.names = TRUE)
  skip_if(length(cpp) == 0, "no source tree")
  lines <- unlist(lapply(cpp, readLines))
  declared <- lines[grep("Rcpp::export", lines, fixed = TRUE) + 1]
  entries <- regmatches(declared, regexpr("[a-z_]+_cpp(?=\\()", declared,
    perl = TRUE
  ))
  expect_setequal(test_entries, entries)
  shipped <- readLines(file.path("..", "..", "R", "RcppExports.R"))
  expect_false(any(vapply(test_entries, function(entry) {
    any(startsWith(shipped, paste(entry, "<-")))
  }, NA)))
})
