# Test coverage of R and C++ code, by file and in total:
#   Rscript tools/coverage.R [--extended] [--html=file]

script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1])
script <- normalizePath(gsub("~+~", " ", script, fixed = TRUE))
source(file.path(dirname(script), "deps.R"))
source(file.path(dirname(script), "arguments.R"))
source(file.path(dirname(script), "test-build.R"))
root <- dirname(dirname(script))

main <- function() {
  install_needs(root, c("tests", "coverage"))
  html <- option("html")
  # One process: if another were killed, its counters would be lost.
  Sys.setenv(NOT_CRAN = "true", TESTTHAT_PARALLEL = "false")
  if (flag("extended")) {
    Sys.setenv(KERNELBAYES_EXTENDED_TESTS = "true")
  }
  # A copy, so that no object or coverage files remain in the checkout.
  dir <- tempfile("coverage")
  dir.create(dir)
  copy <- test_copy(root, dir)
  lib <- file.path(dir, "lib")
  # Without any optimisation the samplers take hours.
  loadNamespace("covr")
  flags <- gsub("-O0", "-O1", getOption("covr.flags"), fixed = TRUE)
  options(covr.flags = flags)
  coverage <- tryCatch(
    covr::package_coverage(
      copy,
      type = "tests", quiet = TRUE, clean = FALSE, install_path = lib
    ),
    error = function(error) {
      logs <- list.files(lib, "[.]Rout[.]fail$", recursive = TRUE)
      for (log in file.path(lib, logs)) show_log(log, 200)
      fail(conditionMessage(error))
    }
  )
  print(coverage)
  if (length(html) == 1) {
    covr::report(coverage, file = html, browse = FALSE)
  }
  unlink(dir, recursive = TRUE)
}

main()
