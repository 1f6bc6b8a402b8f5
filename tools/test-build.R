# The test build: the package with the C++ entries of tests/cpp, which only
# tests call. The library that users install does not contain them.
#
# Sourced by test.R and coverage.R after deps.R, or run on its own to install:
#   Rscript tools/test-build.R library

# Copies the sources, with those of tests/cpp added; returns the path.
test_copy <- function(root, dir) {
  utils::untar(build_tarball(root, dir), exdir = dir)
  copy <- file.path(dir, package_name(root))
  src <- file.path(copy, "src")
  entries <- list.files(file.path(root, "tests", "cpp"), full.names = TRUE)
  file.copy(entries, src)
  objects <- sub("cpp$", "o", list.files(src, "^testing_.*[.]cpp$"))
  makevars <- file.path(src, "Makevars")
  first <- "^OBJECTS = "
  writeLines(
    sub(first, paste("OBJECTS =", paste(objects, collapse = " "), ""),
      readLines(makevars)
    ),
    makevars
  )
  Rcpp::compileAttributes(copy)
  copy
}

if (sys.nframe() == 0) {
  script <- grep("^--file=", commandArgs(), value = TRUE)[[1]]
  tools <- dirname(sub("^--file=", "", gsub("~+~", " ", script, fixed = TRUE)))
  source(file.path(tools, "deps.R"))
  lib <- commandArgs(trailingOnly = TRUE)
  if (length(lib) != 1) {
    fail("give the library to install into: Rscript tools/test-build.R library")
  }
  dir.create(lib, recursive = TRUE, showWarnings = FALSE)
  root <- dirname(normalizePath(tools))
  dir <- tempfile("build")
  dir.create(dir)
  install_sources(test_copy(root, dir), normalizePath(lib), "--no-docs")
  unlink(dir, recursive = TRUE)
}
